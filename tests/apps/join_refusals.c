// SPDX-License-Identifier: BSD-2-Clause
/* What rdma_join_multicast refuses, how, and that a refusal leaves the id as it was. */
#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "client/check.h"

static struct rdma_event_channel *events;

static struct sockaddr_in ipv4(const char *text)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	CHECK(inet_pton(AF_INET, text, &a.sin_addr) == 1);
	return a;
}

static struct rdma_cm_id *new_id(bool bound)
{
	struct sockaddr_in here = ipv4("127.0.0.1");
	struct rdma_cm_id *id;

	CHECK(!rdma_create_id(events, &id, NULL, RDMA_PS_UDP));
	if (bound)
		CHECK(!rdma_bind_addr(id, (struct sockaddr *)&here));
	return id;
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	CHECK(!rdma_create_qp(id, NULL, &attr));
}

static bool join_refused(struct rdma_cm_id *id, struct sockaddr *group, int with)
{
	errno = 0;
	return rdma_join_multicast(id, group, NULL) == -1 && errno == with;
}

static void an_id_without_a_device_is_refused(void)
{
	struct sockaddr_in group = ipv4("239.1.6.3");
	struct rdma_cm_id *id = new_id(false);

	CHECK(join_refused(id, (struct sockaddr *)&group, EINVAL));
	CHECK(!rdma_destroy_id(id));
}

static void an_address_of_no_family_is_refused(void)
{
	struct sockaddr_in group = ipv4("239.1.6.3");
	struct rdma_cm_id *id = new_id(true);

	group.sin_family = AF_UNIX;
	CHECK(join_refused(id, (struct sockaddr *)&group, EINVAL));
	CHECK(!rdma_destroy_id(id));
}

static void masks_and_flags_are_checked_in_order(void)
{
	struct sockaddr_in group = ipv4("239.1.6.3");
	struct rdma_cm_join_mc_attr_ex attr = { .addr = (struct sockaddr *)&group };
	struct rdma_cm_id *id = new_id(true);

	attr.comp_mask = 1u << 2 | RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	CHECK(rdma_join_multicast_ex(id, &attr, NULL) == -1 && errno == ENOTSUP);
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	CHECK(rdma_join_multicast_ex(id, &attr, NULL) == -1 && errno == EINVAL);
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	CHECK(rdma_join_multicast_ex(id, &attr, NULL) == -1 && errno == EINVAL);
	attr.comp_mask |= RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	attr.join_flags = 2;
	CHECK(rdma_join_multicast_ex(id, &attr, NULL) == -1 && errno == EINVAL);
	CHECK(!rdma_destroy_id(id));
}

static void leaving_what_was_not_joined_is_refused(void)
{
	struct sockaddr_in group = ipv4("239.1.6.3");
	struct rdma_cm_id *id = new_id(true);

	CHECK(rdma_leave_multicast(id, (struct sockaddr *)&group) == -1);
	CHECK(errno == EADDRNOTAVAIL);
	CHECK(!rdma_destroy_id(id));
}

/* The join is asynchronous; the attach of the queue pair is what finds it wrong. */
static void a_unicast_address_is_an_event(void)
{
	struct sockaddr_in group = ipv4("127.0.0.1");
	struct rdma_cm_id *id = new_id(true);
	struct rdma_cm_event *event;

	create_qp(id);
	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&group, &group));
	errno = 0;
	CHECK(!rdma_get_cm_event(events, &event));
	CHECK(errno == EINVAL);
	CHECK(event->event == RDMA_CM_EVENT_MULTICAST_ERROR);
	CHECK(event->status == -1);
	CHECK(event->id == id);
	CHECK(event->param.ud.private_data == &group);
	CHECK(!rdma_ack_cm_event(event));
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
}

static void a_refused_id_can_still_join(void)
{
	struct sockaddr_in bad = ipv4("239.1.6.3"), good = bad;
	struct rdma_cm_id *id = new_id(true);
	struct rdma_cm_event *event;

	bad.sin_family = AF_UNIX;
	CHECK(join_refused(id, (struct sockaddr *)&bad, EINVAL));
	create_qp(id);
	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&good, &good));
	CHECK(!rdma_get_cm_event(events, &event));
	CHECK(event->event == RDMA_CM_EVENT_MULTICAST_JOIN && !event->status);
	CHECK(event->param.ud.private_data == &good);
	CHECK(!event->param.ud.private_data_len);
	CHECK(event->param.ud.qp_num == 0xffffff);
	CHECK(event->param.ud.qkey == 0x01234567);
	CHECK(event->param.ud.ah_attr.is_global);
	CHECK(event->param.ud.ah_attr.grh.hop_limit == 64);
	CHECK(!event->param.ud.ah_attr.dlid);
	CHECK(!rdma_ack_cm_event(event));
	CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&good));
	CHECK(rdma_leave_multicast(id, (struct sockaddr *)&good) == -1);
	CHECK(errno == EADDRNOTAVAIL);
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
}

int main(void)
{
	events = rdma_create_event_channel();
	CHECK(events);
	an_id_without_a_device_is_refused();
	an_address_of_no_family_is_refused();
	masks_and_flags_are_checked_in_order();
	leaving_what_was_not_joined_is_refused();
	a_unicast_address_is_an_event();
	a_refused_id_can_still_join();
	rdma_destroy_event_channel(events);
	return 0;
}
