// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * rdma_cm around multicast: synchronous ids, resolution, rdma_getaddrinfo, options,
 * migration, and events that are waited for (spec/userland 3.2, 3.3).
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdatomic.h>

#include "client.h"

static struct rdma_event_channel *events;
static struct sockaddr_in here;

static struct rdma_cm_id *new_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	CHECK(!rdma_create_id(channel, &id, NULL, RDMA_PS_UDP));
	return id;
}

static void join(struct rdma_cm_id *id, const char *group, void *context)
{
	struct sockaddr_in addr = client_ipv4(group);

	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&addr, context));
}

static int leave(struct rdma_cm_id *id, const char *group)
{
	struct sockaddr_in addr = client_ipv4(group);

	return rdma_leave_multicast(id, (struct sockaddr *)&addr);
}

/* -- synchronous ids ---------------------------------------------------------------- */

static void a_synchronous_id_has_its_event_on_return(void)
{
	struct sockaddr_in group = client_ipv4("239.1.27.1");
	struct rdma_cm_id *id = new_id(NULL);

	CHECK(!id->event && !id->verbs);
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&group, 2000));
	CHECK(id->event && id->event->event == RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(id->verbs && id->port_num == 1 && id->pd);
	client_id_qp(id, 1);
	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&group, &group));
	CHECK(id->event && id->event->event == RDMA_CM_EVENT_MULTICAST_JOIN);
	CHECK(id->event->id == id && id->event->param.ud.private_data == &group);
	/* It is attached: the event has been handed out. */
	CHECK(ibv_destroy_qp(id->qp) == EBUSY);
	/* The event that was left does not hold the leave up. */
	CHECK(leave(id, "239.1.27.1") == 0);
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
}

static void a_synchronous_failure_is_its_calls(void)
{
	struct sockaddr_in group = client_ipv4("239.1.27.2");
	struct sockaddr_in nobody = client_ipv4("203.0.113.77");
	struct rdma_cm_id *id;

	/* On RoCE port space 2 fails by an event, which is the call's failure here. */
	if (!client_infiniband()) {
		CHECK(!rdma_create_id(NULL, &id, NULL, RDMA_PS_IPOIB));
		CHECK_FAILS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&group, 2000),
			    EINVAL);
		CHECK(id->event && id->event->event == RDMA_CM_EVENT_ADDR_ERROR);
		CHECK(!rdma_destroy_id(id));
	}
	id = new_id(NULL);
	CHECK_FAILS(rdma_resolve_addr(id, (struct sockaddr *)&nobody,
				      (struct sockaddr *)&group, 2000),
		    EADDRNOTAVAIL);
	CHECK(!id->event);
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&here));
	client_id_qp(id, 1);
	if (client_infiniband()) {
		/* Any IPv4 address makes an MGID (spec/kernel 3.2). */
		CHECK(!rdma_join_multicast(id, (struct sockaddr *)&here, NULL));
		CHECK(id->event->param.ud.ah_attr.grh.dgid.raw[0] == 0xff);
	} else {
		/* A group that is none: joined, but nothing can be attached to it. */
		CHECK(rdma_join_multicast(id, (struct sockaddr *)&here, NULL) == -1);
		CHECK(id->event && id->event->event == RDMA_CM_EVENT_MULTICAST_ERROR);
	}
	CHECK(rdma_leave_multicast(id, (struct sockaddr *)&here) == 0);
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
}

static void synchronous_ids_join_many_groups(void)
{
	struct sockaddr_in group = client_ipv4("239.1.27.3");
	struct rdma_cm_id *id = client_bound_id(NULL);

	for (int i = 0; i < 50; i++) {
		group.sin_port = htons((uint16_t)i);
		CHECK(!rdma_join_multicast(id, (struct sockaddr *)&group, &group));
		CHECK(id->event->event == RDMA_CM_EVENT_MULTICAST_JOIN);
	}
	for (int i = 0; i < 50; i += 2) {
		group.sin_port = htons((uint16_t)i);
		CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&group));
	}
	CHECK(!rdma_destroy_id(id)); /* and leaves the rest */
}

/* -- resolution --------------------------------------------------------------------- */

static void expect_resolved(struct rdma_cm_id *id, struct sockaddr_in *dst)
{
	client_expect(events, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	CHECK(id->verbs && id->pd && id->port_num == 1);
	CHECK(!memcmp(&id->route.addr.dst_sin, dst, sizeof(*dst)));
	CHECK(id->route.addr.src_sin.sin_family == AF_INET);
}

static void groups_resolve_with_and_without_source(void)
{
	struct sockaddr_in group = client_ipv4("239.1.27.4");
	struct rdma_cm_id *id = new_id(events);

	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&group, 2000));
	expect_resolved(id, &group);
	join(id, "239.1.27.4", NULL);
	client_expect(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(!rdma_destroy_id(id));

	id = new_id(events);
	CHECK(!rdma_resolve_addr(id, (struct sockaddr *)&here, (struct sockaddr *)&group,
				 2000));
	expect_resolved(id, &group);
	CHECK(id->route.addr.src_sin.sin_addr.s_addr == here.sin_addr.s_addr);
	CHECK(id->route.addr.src_sin.sin_port); /* one was chosen */
	join(id, "239.1.27.4", NULL);
	client_expect(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(!rdma_destroy_id(id));
}

/* Once bound the source does not count, not even a wrong one. */
static void a_bound_id_ignores_the_source(void)
{
	struct sockaddr_in group = client_ipv4("239.1.27.5");
	struct sockaddr_in nobody = client_ipv4("203.0.113.77");
	struct rdma_cm_id *id = client_bound_id(events);
	struct ibv_context *verbs = id->verbs;

	CHECK(!rdma_resolve_addr(id, (struct sockaddr *)&nobody,
				 (struct sockaddr *)&group, 2000));
	expect_resolved(id, &group);
	CHECK(id->verbs == verbs);
	CHECK(id->route.addr.src_sin.sin_addr.s_addr == here.sin_addr.s_addr);
	/* Resolved is no state to resolve from. */
	CHECK_FAILS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&group, 2000), EINVAL);
	CHECK(!rdma_destroy_id(id));
}

/* To oneself: on InfiniBand the administrator's path from a port to itself. */
static void check_route(const struct rdma_cm_id *id)
{
	const struct ibv_sa_path_rec *path = id->route.path_rec;
	struct ibv_port_attr port;

	CHECK(id->route.num_paths == 1);
	if (!client_infiniband()) {
		CHECK(path->hop_limit == 64);
		return;
	}
	CHECK(!ibv_query_port(id->verbs, id->port_num, &port));
	CHECK(path->slid == htons(port.lid) && path->dlid == htons(port.lid));
	CHECK(path->pkey == htons(0xffff) && path->mtu == port.active_mtu);
	CHECK(!memcmp(&path->sgid, &path->dgid, sizeof(path->sgid)));
}

static void unicast_destinations_resolve(void)
{
	struct sockaddr_in any = client_ipv4("0.0.0.0");
	struct rdma_cm_id *id = new_id(events);

	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, 2000));
	expect_resolved(id, &here);
	CHECK(!rdma_resolve_route(id, 2000));
	client_expect(events, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	check_route(id);
	CHECK(!rdma_destroy_id(id));
	/* A wildcard destination is oneself. */
	id = new_id(events);
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&any, 2000));
	client_expect(events, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	CHECK(!rdma_destroy_id(id));
}

static void wrong_resolutions_are_refused(void)
{
	struct sockaddr_in group = client_ipv4("239.1.27.6"), odd = group;
	struct sockaddr_in6 six = client_ipv6("ff0e::1");
	struct sockaddr_in nobody = client_ipv4("203.0.113.77");
	struct rdma_cm_id *id = new_id(events);

	odd.sin_family = AF_UNIX;
	CHECK_FAILS(rdma_resolve_addr(id, NULL, NULL, 2000), EINVAL);
	CHECK_FAILS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&odd, 2000), EINVAL);
	CHECK_FAILS(rdma_resolve_addr(id, (struct sockaddr *)&odd,
				      (struct sockaddr *)&group, 2000),
		    EINVAL);
	CHECK_FAILS(rdma_resolve_addr(id, (struct sockaddr *)&nobody,
				      (struct sockaddr *)&group, 2000),
		    EADDRNOTAVAIL);
	CHECK_FAILS(rdma_resolve_route(id, 2000), EINVAL);
	CHECK(client_no_event(events));
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&here));
	CHECK_FAILS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&six, 2000), EINVAL);
	CHECK_FAILS(rdma_bind_addr(id, (struct sockaddr *)&here), EINVAL);
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&group, 2000));
	client_expect(events, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	CHECK_FAILS(rdma_resolve_route(id, 0), EINVAL);
	CHECK(!rdma_destroy_id(id));
}

static void wrong_binds_are_refused(void)
{
	struct sockaddr_in odd = here, nobody = client_ipv4("203.0.113.77");
	struct sockaddr_in6 scopeless = client_ipv6("fe80::1");
	struct rdma_cm_id *id = new_id(events);

	odd.sin_family = AF_UNIX;
	CHECK_FAILS(rdma_bind_addr(id, NULL), EINVAL);
	CHECK_FAILS(rdma_bind_addr(id, (struct sockaddr *)&odd), EINVAL);
	CHECK_FAILS(rdma_bind_addr(id, (struct sockaddr *)&nobody), EADDRNOTAVAIL);
	CHECK_FAILS(rdma_bind_addr(id, (struct sockaddr *)&scopeless), EINVAL);
	/* Each left it as it was. */
	CHECK(!id->verbs && !rdma_bind_addr(id, (struct sockaddr *)&here));
	CHECK(id->verbs && rdma_get_src_port(id));
	CHECK(!rdma_destroy_id(id));
}

/* -- rdma_getaddrinfo --------------------------------------------------------------- */

static void names_become_addresses(void)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_UDP,
				       .ai_flags = RAI_NUMERICHOST },
			     *rai;
	struct rdma_cm_id *id = new_id(events);
	struct sockaddr_in *group;

	CHECK(!rdma_getaddrinfo("239.1.27.7", "7174", &hints, &rai));
	CHECK(rai->ai_family == AF_INET && rai->ai_port_space == RDMA_PS_UDP);
	CHECK(rai->ai_dst_len == sizeof(*group) && !rai->ai_src_len);
	group = (struct sockaddr_in *)rai->ai_dst_addr;
	CHECK(group->sin_port == htons(7174));
	CHECK(!rdma_resolve_addr(id, rai->ai_src_addr, rai->ai_dst_addr, 2000));
	client_expect(events, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	CHECK(!rdma_join_multicast(id, rai->ai_dst_addr, NULL));
	client_expect(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(!rdma_leave_multicast(id, rai->ai_dst_addr));
	CHECK(!rdma_destroy_id(id));
	rdma_freeaddrinfo(rai);

	hints.ai_flags = RAI_PASSIVE | RAI_NUMERICHOST;
	CHECK(!rdma_getaddrinfo("127.0.0.1", NULL, &hints, &rai));
	CHECK(rai->ai_src_len == sizeof(*group) && !rai->ai_dst_len);
	rdma_freeaddrinfo(rai);
	rdma_freeaddrinfo(NULL);
}

static void what_is_no_address_is_told(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST }, *rai = NULL;

	CHECK_FAILS(rdma_getaddrinfo(NULL, NULL, NULL, &rai), EINVAL);
	CHECK(rdma_getaddrinfo("239.1.27.256", NULL, &hints, &rai) == EAI_NONAME);
	CHECK(rdma_getaddrinfo("no address", NULL, &hints, &rai) == EAI_NONAME);
	CHECK(!rai);
}

static void hints_alone_are_copied(void)
{
	struct sockaddr_in group = client_ipv4("239.1.27.8");
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_UDP,
				       .ai_qp_type = IBV_QPT_UD,
				       .ai_family = AF_INET,
				       .ai_src_len = sizeof(here),
				       .ai_src_addr = (struct sockaddr *)&here,
				       .ai_dst_len = sizeof(group),
				       .ai_dst_addr = (struct sockaddr *)&group },
			     *rai;

	CHECK(!rdma_getaddrinfo(NULL, NULL, &hints, &rai));
	CHECK(rai->ai_qp_type == IBV_QPT_UD && rai->ai_port_space == RDMA_PS_UDP);
	CHECK(rai->ai_src_len == sizeof(here) && rai->ai_dst_len == sizeof(group));
	CHECK(rai->ai_src_addr != hints.ai_src_addr);
	CHECK(!memcmp(rai->ai_src_addr, &here, sizeof(here)));
	CHECK(!memcmp(rai->ai_dst_addr, &group, sizeof(group)));
	rdma_freeaddrinfo(rai);
}

/* -- options ------------------------------------------------------------------------ */

static void options_have_their_lengths_and_levels(void)
{
	struct rdma_cm_id *id = new_id(events);
	uint8_t value[8] = { 1 };

	CHECK(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, value, 1));
	CHECK(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, value, 4));
	CHECK(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, value, 4));
	CHECK_FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, value, 4),
		    EINVAL);
	CHECK_FAILS(
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, value, 1),
		EINVAL);
	CHECK_FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, value, 8),
		    EINVAL);
	CHECK_FAILS(rdma_set_option(id, RDMA_OPTION_ID, 77, value, 1), ENOSYS);
	CHECK_FAILS(rdma_set_option(id, 77, RDMA_OPTION_ID_TOS, value, 1), ENOSYS);
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&here));
	CHECK_FAILS(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, value, 4),
		    EINVAL);
	CHECK(!rdma_destroy_id(id));
}

static void a_port_is_shared_by_those_who_reuse(void)
{
	struct rdma_cm_id *one = client_bound_id(events), *two = new_id(events);
	struct sockaddr_in same = here;
	int reuse = 1;

	same.sin_port = rdma_get_src_port(one);
	CHECK_FAILS(rdma_bind_addr(two, (struct sockaddr *)&same), EADDRINUSE);
	CHECK(!rdma_set_option(two, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &reuse,
			       sizeof(reuse)));
	CHECK_FAILS(rdma_bind_addr(two, (struct sockaddr *)&same), EADDRINUSE);
	CHECK(!rdma_set_option(one, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &reuse,
			       sizeof(reuse)));
	CHECK(!rdma_bind_addr(two, (struct sockaddr *)&same));
	CHECK(rdma_get_src_port(two) == rdma_get_src_port(one));
	CHECK(!rdma_destroy_id(one) && !rdma_destroy_id(two));
}

/* -- migration ---------------------------------------------------------------------- */

static bool has_event(struct rdma_event_channel *channel)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };

	return poll(&p, 1, CLIENT_LONG_MS) == 1;
}

/* What is queued goes along; what comes later comes to the new channel. */
static void events_migrate_with_their_id(void)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_cm_id *id = client_bound_id(events);
	int contexts[2];

	join(id, "239.1.27.9", &contexts[0]);
	CHECK(has_event(events));
	CHECK(!rdma_migrate_id(id, other));
	CHECK(id->channel == other && client_no_event(events));
	join(id, "239.1.27.10", &contexts[1]);
	for (int i = 0; i < 2; i++) {
		struct rdma_cm_event *event =
			client_event(other, RDMA_CM_EVENT_MULTICAST_JOIN, 0);

		CHECK(event->param.ud.private_data == &contexts[i]);
		CHECK(!rdma_ack_cm_event(event));
	}
	CHECK(leave(id, "239.1.27.9") == 0 && leave(id, "239.1.27.10") == 0);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(other);
}

static void an_id_becomes_synchronous_and_back(void)
{
	struct rdma_cm_id *id = client_bound_id(events);

	CHECK(!rdma_migrate_id(id, NULL));
	CHECK(id->channel && id->channel != events);
	join(id, "239.1.27.11", NULL);
	CHECK(id->event && id->event->event == RDMA_CM_EVENT_MULTICAST_JOIN);
	CHECK_FAILS(rdma_migrate_id(id, NULL), EINVAL);
	CHECK(!rdma_migrate_id(id, events));
	CHECK(id->channel == events && !id->event);
	join(id, "239.1.27.12", NULL);
	client_expect(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(leave(id, "239.1.27.11") == 0 && leave(id, "239.1.27.12") == 0);
	CHECK(!rdma_destroy_id(id));
}

struct migrant {
	struct rdma_cm_id *id;
	struct rdma_event_channel *to;
	atomic_int result; /* 1: still waiting */
};

static void *migrate(void *arg)
{
	struct migrant *m = arg;

	m->result = rdma_migrate_id(m->id, m->to);
	return NULL;
}

static void a_fetched_event_holds_migration_up(void)
{
	struct migrant m = { .id = client_bound_id(events),
			     .to = rdma_create_event_channel(),
			     .result = 1 };
	struct rdma_cm_event *event;
	pthread_t thread;

	join(m.id, "239.1.27.13", NULL);
	event = client_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(!pthread_create(&thread, NULL, migrate, &m));
	for (int i = 0; i < 100; i++) {
		client_pause();
		CHECK(m.result == 1);
	}
	CHECK(!rdma_ack_cm_event(event));
	CHECK(!pthread_join(thread, NULL) && m.result == 0);
	CHECK(!rdma_destroy_id(m.id));
	rdma_destroy_event_channel(m.to);
}

/* -- channels ----------------------------------------------------------------------- */

static void an_empty_channel_says_so(void)
{
	int flags = fcntl(events->fd, F_GETFL);
	struct rdma_cm_event *event;

	CHECK(fcntl(events->fd, F_GETFD) & FD_CLOEXEC);
	CHECK(!fcntl(events->fd, F_SETFL, flags | O_NONBLOCK));
	CHECK_FAILS(rdma_get_cm_event(events, &event), EAGAIN);
	CHECK_FAILS(rdma_get_cm_event(events, NULL), EINVAL);
	CHECK_FAILS(rdma_ack_cm_event(NULL), EINVAL);
	CHECK(!fcntl(events->fd, F_SETFL, flags));
}

static void events_have_names(void)
{
	CHECK(!strcmp(rdma_event_str(RDMA_CM_EVENT_MULTICAST_JOIN),
		      "RDMA_CM_EVENT_MULTICAST_JOIN"));
	for (int i = -1; i < 40; i++)
		CHECK(rdma_event_str((enum rdma_cm_event_type)i));
}

/* -- queue pairs of ids ------------------------------------------------------------- */

static void queue_pairs_of_ids_are_checked(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD,
					 .cap = { 1, 1, 1, 1, 0 } };
	struct rdma_cm_id *id = new_id(events);
	struct ibv_qp_attr state;
	struct ibv_qp_init_attr init;

	CHECK_FAILS(rdma_create_qp(id, NULL, &attr), EINVAL); /* on no device yet */
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&here));
	CHECK(!rdma_create_qp(id, NULL, &attr));
	CHECK_FAILS(rdma_create_qp(id, NULL, &attr), EINVAL); /* has one */
	CHECK(id->send_cq && id->recv_cq && id->send_cq_channel && id->recv_cq_channel);
	CHECK(id->send_cq->cq_context == id && id->qp->pd == id->pd);
	CHECK(!ibv_query_qp(id->qp, &state, IBV_QP_STATE | IBV_QP_QKEY, &init));
	CHECK(state.qp_state == IBV_QPS_RTS && state.qkey == 0x01234567);
	CHECK(state.port_num == id->port_num && state.sq_psn == 0);
	rdma_destroy_qp(id);
	CHECK(!id->qp && !id->send_cq && !id->recv_cq && !id->send_cq_channel);
	CHECK(!rdma_destroy_id(id));
}

int main(void)
{
	here = client_ipv4(client_address());
	CHECK(events = rdma_create_event_channel());
	CHECK(!rdma_destroy_id(client_bound_id(events))); /* and know the link layer */
	a_synchronous_id_has_its_event_on_return();
	a_synchronous_failure_is_its_calls();
	synchronous_ids_join_many_groups();
	groups_resolve_with_and_without_source();
	a_bound_id_ignores_the_source();
	unicast_destinations_resolve();
	wrong_resolutions_are_refused();
	wrong_binds_are_refused();
	names_become_addresses();
	what_is_no_address_is_told();
	hints_alone_are_copied();
	options_have_their_lengths_and_levels();
	a_port_is_shared_by_those_who_reuse();
	events_migrate_with_their_id();
	an_id_becomes_synchronous_and_back();
	a_fetched_event_holds_migration_up();
	an_empty_channel_says_so();
	events_have_names();
	queue_pairs_of_ids_are_checked();
	rdma_destroy_event_channel(events);
	return 0;
}
