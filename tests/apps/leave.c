// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * rdma_leave_multicast: what it compares, which membership it takes, for whom it waits,
 * and who goes on receiving (spec/userland 3.4, spec/kernel 3.9).
 *
 *	leave PID-OF-VERBCASTD
 */
#include <stdatomic.h>

#include "client.h"

#define JOINS 1000u
#define SLACK (16u << 10)
#define DEPTH 4

static struct rdma_event_channel *events;
/* Of the groups that were joined, by the last byte of their address. */
static struct ibv_ah_attr addresses[256];

static void join(struct rdma_cm_id *id, struct sockaddr_in *group, bool send_only,
		 void *context)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask =
			RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = send_only ? RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
					: RDMA_MC_JOIN_FLAG_FULLMEMBER,
		.addr = (struct sockaddr *)group,
	};

	CHECK(!rdma_join_multicast_ex(id, &attr, context));
}

static void hear(void)
{
	struct rdma_cm_event *event =
		client_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	const struct ibv_ah_attr *ah = &event->param.ud.ah_attr;

	addresses[ah->grh.dgid.raw[15]] = *ah;
	CHECK(!rdma_ack_cm_event(event));
}

static void join_and_hear(struct rdma_cm_id *id, struct sockaddr_in *group,
			  bool send_only)
{
	join(id, group, send_only, NULL);
	hear();
}

static struct ibv_ah_attr *address_of(const struct sockaddr_in *group)
{
	return &addresses[ntohl(group->sin_addr.s_addr) & 0xff];
}

static int leave(struct rdma_cm_id *id, struct sockaddr_in *group)
{
	errno = 0;
	return rdma_leave_multicast(id, (struct sockaddr *)group);
}

/* -- what is compared --------------------------------------------------------------- */

static void what_was_not_joined_is_not_left(void)
{
	struct sockaddr_in group = client_ipv4("239.1.24.1"), odd = group;
	struct rdma_cm_id *id = client_bound_id(events), *unbound;

	CHECK_FAILS(leave(id, &group), EADDRNOTAVAIL);
	odd.sin_family = AF_UNIX;
	CHECK_FAILS(leave(id, &odd), EINVAL);
	CHECK_FAILS(rdma_leave_multicast(id, NULL), EINVAL);
	join_and_hear(id, &group, false);
	CHECK(leave(id, &group) == 0);
	CHECK_FAILS(leave(id, &group), EADDRNOTAVAIL);
	CHECK(!rdma_destroy_id(id));
	CHECK(!rdma_create_id(events, &unbound, NULL, RDMA_PS_UDP));
	CHECK_FAILS(leave(unbound, &group), EADDRNOTAVAIL);
	CHECK(!rdma_destroy_id(unbound));
}

/* Another id's membership is no business of this one. */
static void each_id_leaves_its_own(void)
{
	struct sockaddr_in group = client_ipv4("239.1.24.1");
	struct rdma_cm_id *id = client_bound_id(events), *other = client_bound_id(events);

	join_and_hear(id, &group, false);
	CHECK_FAILS(leave(other, &group), EADDRNOTAVAIL);
	CHECK(leave(id, &group) == 0);
	CHECK(!rdma_destroy_id(id) && !rdma_destroy_id(other));
}

static void the_port_is_part_of_the_address(void)
{
	struct sockaddr_in group = client_ipv4("239.1.24.2"), other = group;
	struct rdma_cm_id *id = client_bound_id(events);

	other.sin_port = htons(7174);
	join_and_hear(id, &group, false);
	CHECK_FAILS(leave(id, &other), EADDRNOTAVAIL);
	join_and_hear(id, &other, false);
	CHECK(leave(id, &group) == 0);
	CHECK_FAILS(leave(id, &group), EADDRNOTAVAIL);
	CHECK(leave(id, &other) == 0);
	CHECK(!rdma_destroy_id(id));
}

static void the_newest_is_left_first(void)
{
	struct sockaddr_in group = client_ipv4("239.1.24.3");
	struct rdma_cm_id *id = client_bound_id(events);
	struct rdma_cm_event *event;
	int contexts[3];

	for (int i = 0; i < 3; i++)
		join(id, &group, false, &contexts[i]);
	CHECK(leave(id, &group) == 0);
	CHECK(leave(id, &group) == 0);
	event = client_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(event->param.ud.private_data == &contexts[0]);
	CHECK(!rdma_ack_cm_event(event));
	CHECK(client_no_event(events));
	CHECK(leave(id, &group) == 0);
	CHECK_FAILS(leave(id, &group), EADDRNOTAVAIL);
	CHECK(!rdma_destroy_id(id));
}

/* -- for whom it waits -------------------------------------------------------------- */

struct leaver {
	struct rdma_cm_id *id;
	struct sockaddr_in group;
	bool destroy;      /* instead of leave */
	atomic_int result; /* 1: still waiting */
};

static void *leave_in_thread(void *arg)
{
	struct leaver *l = arg;

	l->result = l->destroy ? rdma_destroy_id(l->id) : leave(l->id, &l->group);
	return NULL;
}

/* Both block until the event that was fetched is acknowledged, and no longer. */
static void an_unacknowledged_event_is_waited_for(bool destroy)
{
	struct leaver l = { .id = client_bound_id(events),
			    .group = client_ipv4("239.1.24.4"),
			    .destroy = destroy,
			    .result = 1 };
	struct rdma_cm_event *event;
	pthread_t thread;

	join(l.id, &l.group, false, NULL);
	event = client_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(!pthread_create(&thread, NULL, leave_in_thread, &l));
	for (int i = 0; i < 250; i++) {
		client_pause();
		CHECK(l.result == 1);
	}
	CHECK(event->param.ud.qp_num == 0xffffff); /* still ours to look at */
	CHECK(!rdma_ack_cm_event(event));
	CHECK(!pthread_join(thread, NULL) && l.result == 0);
	if (!destroy)
		CHECK(!rdma_destroy_id(l.id));
}

static void an_acknowledged_event_is_not(void)
{
	struct sockaddr_in group = client_ipv4("239.1.24.5");
	struct rdma_cm_id *id = client_bound_id(events);

	join_and_hear(id, &group, false);
	CHECK(leave(id, &group) == 0);
	CHECK(client_no_event(events));
	CHECK(!rdma_destroy_id(id));
}

/* What nobody has fetched goes with the membership. */
static void an_unfetched_event_is_not(void)
{
	struct sockaddr_in group = client_ipv4("239.1.24.5");
	struct rdma_cm_id *id = client_bound_id(events);

	for (int i = 0; i < 20; i++) {
		join(id, &group, false, NULL);
		while (i % 2 && client_no_event(events))
			client_pause();
		CHECK(leave(id, &group) == 0);
		CHECK(client_no_event(events));
	}
	CHECK(!rdma_destroy_id(id));
}

/* The event of another membership of the id does not hold a leave up. */
static void another_groups_event_is_not(void)
{
	struct sockaddr_in one = client_ipv4("239.1.24.6"),
			   two = client_ipv4("239.1.24.7");
	struct rdma_cm_id *id = client_bound_id(events);
	struct rdma_cm_event *event;

	join(id, &one, false, NULL);
	event = client_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	join_and_hear(id, &two, false);
	CHECK(leave(id, &two) == 0);
	CHECK(!rdma_ack_cm_event(event));
	CHECK(leave(id, &one) == 0);
	CHECK(!rdma_destroy_id(id));
}

/* -- who goes on receiving ---------------------------------------------------------- */

/* An id with a queue pair that has room for some datagrams, and memory for them. */
struct receiver {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char memory[DEPTH][CLIENT_GRH + CLIENT_BYTES];
};

static void receiver_open(struct receiver *r)
{
	r->id = client_bound_id(events);
	client_id_qp(r->id, DEPTH);
	CHECK(r->mr = ibv_reg_mr(r->id->pd, r->memory, sizeof(r->memory),
				 IBV_ACCESS_LOCAL_WRITE));
}

static void receiver_close(struct receiver *r)
{
	CHECK(!ibv_dereg_mr(r->mr));
	rdma_destroy_qp(r->id);
	CHECK(!rdma_destroy_id(r->id));
}

static void post_receive(struct receiver *r, uint64_t n)
{
	struct ibv_sge sge = { .addr = (uintptr_t)r->memory[n],
			       .length = sizeof(r->memory[n]),
			       .lkey = r->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK(!ibv_post_recv(r->id->qp, &wr, &bad));
}

/* Its port's, as the group's is reached. */
static struct ibv_ah *own_ah(const struct receiver *r, const struct ibv_ah_attr *group)
{
	struct ibv_ah_attr attr = *group;
	struct ibv_port_attr port;
	struct ibv_ah *ah;

	CHECK(!ibv_query_port(r->id->verbs, r->id->port_num, &port));
	CHECK(!ibv_query_gid(r->id->verbs, r->id->port_num, attr.grh.sgid_index,
			     &attr.grh.dgid));
	attr.dlid = port.lid;
	CHECK(ah = ibv_create_ah(r->id->pd, &attr));
	return ah;
}

static char next_byte(struct receiver *r)
{
	struct ibv_wc wc = client_poll(r->id->recv_cq);

	CHECK(wc.status == IBV_WC_SUCCESS);
	return r->memory[wc.wr_id][CLIENT_GRH];
}

/* One datagram to the group and then one to the receiver alone: does the former come? */
static bool comes_first(struct receiver *r, struct client_qp *sender,
			const struct sockaddr_in *group)
{
	static char byte;
	struct ibv_ah *ah, *own;
	char first;

	CHECK(ah = ibv_create_ah(r->id->pd, address_of(group)));
	own = own_ah(r, address_of(group));
	byte = (char)(byte % 64 + 2);
	client_cast(sender, ah, byte);
	client_send(sender, own, r->id->qp->qp_num, (char)(byte + 1));
	first = next_byte(r);
	if (first == byte)
		CHECK(next_byte(r) == byte + 1);
	else
		CHECK(first == byte + 1);
	CHECK(!ibv_destroy_ah(ah) && !ibv_destroy_ah(own));
	return first == byte;
}

/* Does it get what is sent to the group now? */
static bool hears(struct receiver *r, struct sockaddr_in *group)
{
	struct ibv_qp_attr attr = { 0 };
	struct client_qp sender;
	bool heard;

	client_qp_open(&sender, r->id->pd, 1);
	post_receive(r, 0);
	post_receive(r, 1);
	attr.qkey = CLIENT_QKEY; /* instead of rdma_cm's */
	CHECK(!ibv_modify_qp(r->id->qp, &attr, IBV_QP_QKEY));
	heard = comes_first(r, &sender, group);
	client_qp_close(&sender);
	/* What was not used up. */
	attr.qp_state = IBV_QPS_RESET;
	CHECK(!ibv_modify_qp(r->id->qp, &attr, IBV_QP_STATE));
	client_to_state(r->id->qp, IBV_QPS_RTS, CLIENT_QKEY);
	return heard;
}

static void a_leave_ends_delivery(void)
{
	struct sockaddr_in group = client_ipv4("239.1.24.10");
	struct rdma_cm_id *other = client_bound_id(events);
	struct receiver r;

	receiver_open(&r);
	join_and_hear(other, &group, false);
	join(r.id, &group, false, NULL);
	CHECK(!hears(&r, &group)); /* attached when the event is fetched, not before */
	hear();
	CHECK(hears(&r, &group));
	CHECK(leave(r.id, &group) == 0);
	CHECK(!hears(&r, &group));
	receiver_close(&r);
	CHECK(!rdma_destroy_id(other));
}

static void a_send_only_member_hears_nothing(void)
{
	struct sockaddr_in group = client_ipv4("239.1.24.11");
	struct receiver r;

	receiver_open(&r);
	join_and_hear(r.id, &group, true);
	CHECK(!hears(&r, &group));
	CHECK(leave(r.id, &group) == 0);
	receiver_close(&r);
}

/* Of the same id, of another one, joined before or after the receiver. */
static void a_send_only_leave_unsubscribes_nobody(void)
{
	struct sockaddr_in group = client_ipv4("239.1.24.12");
	struct receiver r, other;

	receiver_open(&r);
	receiver_open(&other);
	join_and_hear(other.id, &group, true);
	join_and_hear(r.id, &group, false);
	join_and_hear(r.id, &group, true);
	CHECK(leave(r.id, &group) == 0); /* the newest: send-only */
	CHECK(hears(&r, &group));
	CHECK(leave(other.id, &group) == 0);
	CHECK(hears(&r, &group) && !hears(&other, &group));
	CHECK(leave(r.id, &group) == 0);
	CHECK(!hears(&r, &group));
	receiver_close(&other);
	receiver_close(&r);
}

static void several_groups_of_one_id_are_left_one_by_one(void)
{
	struct sockaddr_in groups[10];
	struct receiver r;

	receiver_open(&r);
	for (int i = 0; i < 10; i++) {
		groups[i] = client_ipv4("239.1.25.0");
		groups[i].sin_addr.s_addr += htonl((uint32_t)i);
		join(r.id, &groups[i], false, NULL);
	}
	for (int i = 0; i < 10; i++)
		hear();
	for (int i = 0; i < 10; i += 2)
		CHECK(leave(r.id, &groups[i]) == 0);
	for (int i = 0; i < 10; i++)
		CHECK(hears(&r, &groups[i]) == (i % 2 == 1));
	/* The others go with the queue pair and the id. */
	receiver_close(&r);
}

/* The program may attach by itself, too (spec/userland 3.4); leave detaches the same. */
static void a_join_without_a_queue_pair_attaches_none(void)
{
	struct sockaddr_in group = client_ipv4("239.1.24.13");
	struct ibv_ah_attr *at = address_of(&group);
	struct receiver r;

	r.id = client_bound_id(events);
	join_and_hear(r.id, &group, false);
	client_id_qp(r.id, DEPTH);
	CHECK(r.mr = ibv_reg_mr(r.id->pd, r.memory, sizeof(r.memory),
				IBV_ACCESS_LOCAL_WRITE));
	CHECK(!hears(&r, &group));
	CHECK(!ibv_attach_mcast(r.id->qp, &at->grh.dgid, at->dlid));
	CHECK(hears(&r, &group));
	CHECK(leave(r.id, &group) == 0);
	CHECK(ibv_detach_mcast(r.id->qp, &at->grh.dgid, at->dlid) == EINVAL);
	CHECK(!hears(&r, &group));
	receiver_close(&r);
}

/* -- many --------------------------------------------------------------------------- */

static void join_in_turn(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct sockaddr_in group = client_ipv4("239.2.0.0");
		struct rdma_cm_id *id = client_bound_id(events);

		group.sin_addr.s_addr += htonl(i);
		join_and_hear(id, &group, false);
		CHECK(leave(id, &group) == 0);
		CHECK(!rdma_destroy_id(id));
	}
}

static void a_thousand_joins_leave_nothing(pid_t verbcastd)
{
	struct client_holdings before;

	join_in_turn(100);
	before = client_hold(verbcastd);
	join_in_turn(JOINS);
	client_check_flat(&before, SLACK);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	CHECK(events = rdma_create_event_channel());
	what_was_not_joined_is_not_left();
	each_id_leaves_its_own();
	the_port_is_part_of_the_address();
	the_newest_is_left_first();
	an_unacknowledged_event_is_waited_for(false);
	an_unacknowledged_event_is_waited_for(true);
	an_acknowledged_event_is_not();
	an_unfetched_event_is_not();
	another_groups_event_is_not();
	a_leave_ends_delivery();
	a_send_only_member_hears_nothing();
	a_send_only_leave_unsubscribes_nobody();
	several_groups_of_one_id_are_left_one_by_one();
	a_join_without_a_queue_pair_attaches_none();
	a_thousand_joins_leave_nothing(atoi(argv[1]));
	rdma_destroy_event_channel(events);
	return 0;
}
