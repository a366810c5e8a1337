// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * What a join needs and what its event says (spec/kernel 3, spec/userland 3.4).
 *
 *	join          on a site as it is
 *	join ipv6     on one that lets rdma_cm join IPv6 groups on RoCE
 */
#include <malloc.h>

#include "client.h"

#define ENOTSUPP_OF_LINUX 524 /* no C library has a name for it */
#define DIRT              0xa5

static struct rdma_event_channel *events;

/* -- what an event says ------------------------------------------------------------- */

/* Leave nothing but dirt where the library's variables will be. */
static __attribute__((noinline)) void dirty_stack(void)
{
	volatile uint8_t dirt[16384];

	for (size_t i = 0; i < sizeof(dirt); i++)
		dirt[i] = DIRT;
}

static void dirty_heap(void)
{
	void *dirt[64];

	for (size_t i = 0; i < 64; i++) {
		CHECK(dirt[i] = malloc(16 * (i + 1)));
		memset(dirt[i], DIRT, 16 * (i + 1));
	}
	for (size_t i = 0; i < 64; i++)
		free(dirt[i]);
}

static void check_ah(const struct rdma_cm_id *id, const struct ibv_ah_attr *ah,
		     const union ibv_gid *gid, uint8_t traffic_class)
{
	union ibv_gid own;

	CHECK(!memcmp(&ah->grh.dgid, gid, sizeof(*gid)));
	CHECK(ah->is_global == 1 && ah->port_num == id->port_num);
	CHECK(ah->sl == 0 && ah->dlid == 0);
	CHECK(ah->src_path_bits == 0 && ah->static_rate == 0);
	CHECK(ah->grh.flow_label == 0 && ah->grh.hop_limit == 64);
	CHECK(ah->grh.traffic_class == traffic_class);
	/* The index is that of the address it is bound to. */
	CHECK(!ibv_query_gid(id->verbs, id->port_num, ah->grh.sgid_index, &own));
	CHECK(!memcmp(&own, &id->route.addr.addr.ibaddr.sgid, sizeof(own)));
}

static void join_and_check(uint8_t tos, bool send_only)
{
	struct sockaddr_in group = client_ipv4("239.1.26.1");
	union ibv_gid gid = client_gid("239.1.26.1");
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask =
			RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = send_only,
		.addr = (struct sockaddr *)&group,
	};
	struct rdma_cm_id *id = client_bound_id(events);
	struct rdma_cm_event *event;
	const struct rdma_ud_param *ud;

	if (tos)
		CHECK(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1));
	dirty_heap();
	dirty_stack();
	CHECK(!rdma_join_multicast_ex(id, &attr, &group));
	dirty_heap();
	dirty_stack();
	event = client_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(event->id == id && !event->listen_id);
	ud = &event->param.ud;
	CHECK(ud->private_data == &group && !ud->private_data_len);
	CHECK(ud->qp_num == 0xffffff && ud->qkey == 0x01234567);
	check_ah(id, &ud->ah_attr, &gid, tos);
	CHECK(!rdma_ack_cm_event(event));
	CHECK(!rdma_destroy_id(id));
}

static void the_event_is_clean_over_dirt(void)
{
	mallopt(M_PERTURB, DIRT);
	for (int i = 0; i < 8; i++) {
		join_and_check(0, false);
		join_and_check(0, true);
	}
	mallopt(M_PERTURB, 0);
}

static void the_type_of_service_is_the_traffic_class(void)
{
	join_and_check(0x28, false);
	join_and_check(0xff, true);
}

/* What was asked for with a type of service arrives with it, in its IP header. */
static void the_address_of_the_event_works(void)
{
	struct sockaddr_in group = client_ipv4("239.1.26.2");
	struct rdma_cm_id *id = client_bound_id(events);
	uint8_t memory[CLIENT_GRH + CLIENT_BYTES] = { 0 }, sent[CLIENT_BYTES], tos = 0x28;
	struct ibv_sge get = { .addr = (uintptr_t)memory, .length = sizeof(memory) },
		       put = { .addr = (uintptr_t)sent, .length = sizeof(sent) };
	struct ibv_recv_wr recv = { .sg_list = &get, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr *bad_send, send = { .sg_list = &put,
					       .num_sge = 1,
					       .opcode = IBV_WR_SEND,
					       .send_flags = IBV_SEND_INLINE };
	struct rdma_cm_event *event;
	struct ibv_qp_init_attr qp = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = CLIENT_BYTES },
	};
	struct ibv_mr *mr;

	memset(sent, 'e', sizeof(sent));
	CHECK(!rdma_create_qp(id, NULL, &qp));
	CHECK(mr = ibv_reg_mr(id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	get.lkey = mr->lkey;
	CHECK(!ibv_post_recv(id->qp, &recv, &bad_recv));
	CHECK(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1));
	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	event = client_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(send.wr.ud.ah = ibv_create_ah(id->pd, &event->param.ud.ah_attr));
	send.wr.ud.remote_qpn = event->param.ud.qp_num;
	send.wr.ud.remote_qkey = event->param.ud.qkey;
	CHECK(!rdma_ack_cm_event(event));
	CHECK(!ibv_post_send(id->qp, &send, &bad_send));
	CHECK(client_poll(id->recv_cq).status == IBV_WC_SUCCESS);
	CHECK(!memcmp(memory + CLIENT_GRH, sent, 64));
	CHECK(memory[20] == 0x45 && memory[21] == tos && memory[28] == 64);
	CHECK(!ibv_destroy_ah(send.wr.ud.ah) && !ibv_dereg_mr(mr));
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
}

/* Events of several ids come in the order of the calls (spec/kernel 6, 57). */
static void events_come_in_the_order_of_the_joins(void)
{
	struct sockaddr_in group = client_ipv4("239.1.26.3");
	struct rdma_cm_id *ids[20];

	for (int i = 0; i < 20; i++)
		ids[i] = client_bound_id(events);
	for (int i = 0; i < 20; i++)
		CHECK(!rdma_join_multicast(ids[i], (struct sockaddr *)&group, NULL));
	for (int i = 0; i < 20; i++) {
		struct rdma_cm_event *event =
			client_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);

		CHECK(event->id == ids[i]);
		CHECK(!rdma_ack_cm_event(event));
	}
	for (int i = 0; i < 20; i++)
		CHECK(!rdma_destroy_id(ids[i]));
}

/* -- port spaces -------------------------------------------------------------------- */

/* Refused, with no event and nothing left to leave. */
static void join_is_refused(struct rdma_cm_id *id, struct sockaddr *group, int with)
{
	CHECK_FAILS(rdma_join_multicast(id, group, NULL), with);
	CHECK(client_no_event(events));
	CHECK_FAILS(rdma_leave_multicast(id, group), EADDRNOTAVAIL);
}

static void connected_port_spaces_do_not_join(void)
{
	static const enum rdma_port_space spaces[] = { RDMA_PS_TCP, RDMA_PS_IB };
	struct sockaddr_in group = client_ipv4("239.1.26.4");
	struct sockaddr_in here = client_ipv4("127.0.0.1");
	struct rdma_cm_id *id;

	for (int i = 0; i < 2; i++) {
		CHECK(!rdma_create_id(events, &id, NULL, spaces[i]));
		CHECK(id->qp_type == IBV_QPT_RC);
		CHECK(!rdma_bind_addr(id, (struct sockaddr *)&here));
		join_is_refused(id, (struct sockaddr *)&group, EINVAL);
		CHECK(!rdma_destroy_id(id));
	}
}

static void udp_joins(void)
{
	struct sockaddr_in group = client_ipv4("239.1.26.4");
	struct rdma_cm_id *id = client_bound_id(events);

	CHECK(id->ps == 0x0111 && id->qp_type == IBV_QPT_UD);
	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	client_expect(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&group));
	CHECK(!rdma_destroy_id(id));
}

/* Only InfiniBand has it: told at once where the call knows the device, else by event. */
static void ipoib_is_not_for_roce(void)
{
	struct sockaddr_in group = client_ipv4("239.1.26.4");
	struct sockaddr_in here = client_ipv4("127.0.0.1");
	struct rdma_cm_id *id;

	CHECK(!rdma_create_id(events, &id, NULL, RDMA_PS_IPOIB));
	CHECK_FAILS(rdma_bind_addr(id, (struct sockaddr *)&here), EINVAL);
	CHECK(!id->verbs);
	join_is_refused(id, (struct sockaddr *)&group, EINVAL);
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&group, 2000));
	client_expect(events, RDMA_CM_EVENT_ADDR_ERROR, -EINVAL);
	CHECK(!id->verbs);
	join_is_refused(id, (struct sockaddr *)&group, EINVAL);
	CHECK(!rdma_destroy_id(id));
}

static void other_port_spaces_are_unknown(void)
{
	struct rdma_cm_id *id;

	CHECK_FAILS(rdma_create_id(events, &id, NULL, (enum rdma_port_space)0x0107),
		    EINVAL);
	CHECK_FAILS(rdma_create_id(events, &id, NULL, (enum rdma_port_space)0), EINVAL);
}

/* -- what does not join ------------------------------------------------------------- */

/* In the order of the checks: with more than one thing wrong, the first is told. */
static void the_attributes_are_checked_in_order(void)
{
	struct sockaddr_in good = client_ipv4("239.1.26.5"), bad = good;
	struct rdma_cm_id *id = client_bound_id(events);
	const struct {
		uint32_t mask, flags;
		struct sockaddr_in *addr;
		int error;
	} cases[] = {
		{ 1u << 2, 2, NULL, ENOTSUP },
		{ 1u << 31, 0, &good, ENOTSUP },
		{ 3u | 1u << 2, 0, &good, ENOTSUP },
		{ 0, 0, &good, EINVAL },
		{ 2, 0, &good, EINVAL },
		{ 1, 0, &good, EINVAL },
		{ 3, 2, &good, EINVAL },
		{ 3, UINT32_MAX, &good, EINVAL },
		{ 3, 0, NULL, EINVAL },
		{ 3, 0, &bad, EINVAL },
	};

	bad.sin_family = AF_UNIX;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rdma_cm_join_mc_attr_ex attr = {
			.comp_mask = cases[i].mask,
			.join_flags = cases[i].flags,
			.addr = (struct sockaddr *)cases[i].addr,
		};

		CHECK_FAILS(rdma_join_multicast_ex(id, &attr, NULL), cases[i].error);
		CHECK(client_no_event(events));
	}
	CHECK_FAILS(rdma_join_multicast(id, NULL, NULL), EINVAL);
	CHECK_FAILS(rdma_join_multicast(id, (struct sockaddr *)&bad, NULL), EINVAL);
	CHECK(!rdma_destroy_id(id));
}

/* Spec/kernel 3.1: bound to a device, or resolved, and nothing later. */
static void only_bound_and_resolved_ids_join(void)
{
	struct sockaddr_in any = client_ipv4("0.0.0.0"),
			   group = client_ipv4("239.1.26.6");
	struct rdma_cm_id *id;

	CHECK(!rdma_create_id(events, &id, NULL, RDMA_PS_UDP));
	join_is_refused(id, (struct sockaddr *)&group, EINVAL);
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&any));
	join_is_refused(id, (struct sockaddr *)&group, EINVAL);
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&group, 2000));
	client_expect(events, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	join_is_refused(id, (struct sockaddr *)&any, EINVAL); /* no group is the SA's */
	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	client_expect(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(!rdma_resolve_route(id, 2000));
	client_expect(events, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	CHECK_FAILS(rdma_join_multicast(id, (struct sockaddr *)&group, NULL), EINVAL);
	CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&group));
	CHECK(!rdma_destroy_id(id));
}

/* -- IPv6 --------------------------------------------------------------------------- */

static struct rdma_cm_id *ipv6_id(void)
{
	struct sockaddr_in6 here = client_ipv6("::1");
	struct rdma_cm_id *id;

	CHECK(!rdma_create_id(events, &id, NULL, RDMA_PS_UDP));
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&here));
	return id;
}

static void ipv6_groups_are_refused_as_linux_does(void)
{
	struct sockaddr_in6 group = client_ipv6("ff0e::1:2:3");
	struct rdma_cm_id *id = ipv6_id();
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD,
					 .cap = { 1, 1, 1, 1, 0 } };

	join_is_refused(id, (struct sockaddr *)&group, ENOTSUPP_OF_LINUX);
	/* The plain attach does not ask rdma_cm. */
	CHECK(!rdma_create_qp(id, NULL, &attr));
	CHECK(!ibv_attach_mcast(id->qp, (union ibv_gid *)&group.sin6_addr, 0));
	CHECK(!ibv_detach_mcast(id->qp, (union ibv_gid *)&group.sin6_addr, 0));
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
}

static void an_ipv6_group_is_joined(void)
{
	struct sockaddr_in6 group = client_ipv6("ff0e::1:2:3");
	struct rdma_cm_id *id = ipv6_id();
	struct rdma_cm_event *event;
	union ibv_gid gid;

	memcpy(&gid, &group.sin6_addr, sizeof(gid));
	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	event = client_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	check_ah(id, &event->param.ud.ah_attr, &gid, 0);
	CHECK(!rdma_ack_cm_event(event));
	CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&group));
	CHECK(!rdma_destroy_id(id));
}

/* Flow and scope too (spec/kernel 3.1). */
static void all_of_an_ipv6_address_is_compared(void)
{
	struct sockaddr_in6 group = client_ipv6("ff0e::1:2:4"), other = group;
	struct rdma_cm_id *id = ipv6_id();

	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	client_expect(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	other.sin6_flowinfo = htonl(1);
	CHECK_FAILS(rdma_leave_multicast(id, (struct sockaddr *)&other), EADDRNOTAVAIL);
	other.sin6_flowinfo = 0;
	other.sin6_scope_id = 1;
	CHECK_FAILS(rdma_leave_multicast(id, (struct sockaddr *)&other), EADDRNOTAVAIL);
	other.sin6_scope_id = 0;
	other.sin6_port = htons(1);
	CHECK_FAILS(rdma_leave_multicast(id, (struct sockaddr *)&other), EADDRNOTAVAIL);
	CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&group));
	CHECK(!rdma_destroy_id(id));
}

int main(int argc, char **argv)
{
	CHECK(events = rdma_create_event_channel());
	if (argc == 2 && !strcmp(argv[1], "ipv6")) {
		an_ipv6_group_is_joined();
		all_of_an_ipv6_address_is_compared();
	} else {
		the_event_is_clean_over_dirt();
		the_type_of_service_is_the_traffic_class();
		the_address_of_the_event_works();
		events_come_in_the_order_of_the_joins();
		connected_port_spaces_do_not_join();
		udp_joins();
		ipoib_is_not_for_roce();
		other_port_spaces_are_unknown();
		the_attributes_are_checked_in_order();
		only_bound_and_resolved_ids_join();
		ipv6_groups_are_refused_as_linux_does();
	}
	rdma_destroy_event_channel(events);
	return 0;
}
