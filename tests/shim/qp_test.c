// SPDX-License-Identifier: BSD-2-Clause
/* Spec/userland 3.2: queue pairs of ids, endpoints, options, rdma_getaddrinfo. */
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <infiniband/ib.h>
#include <rdma/rdma_verbs.h>

#include "fake.h"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

static int setup(void **state)
{
	assert_int_equal(fake_setup(state), 0);
	channel = rdma_create_event_channel();
	assert_non_null(channel);
	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), 0);
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
	return fake_teardown(state);
}

static void bind_id(void)
{
	assert_int_equal(rdma_bind_addr(id, fake_addr("127.0.0.1", 0)), 0);
}

static struct ibv_qp_init_attr ud_attr(void)
{
	return (struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 8,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
}

static void a_datagram_queue_pair_is_ready_at_once(void **state)
{
	struct ibv_qp_init_attr attr = ud_attr();
	const struct fake_call *calls;

	bind_id();
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_non_null(id->qp);
	assert_ptr_equal(id->qp->pd, id->pd);
	assert_int_equal(attr.cap.max_inline_data, 99); /* what was granted */
	assert_int_equal(fake_count_verb("modify_qp"), 3);
	calls = &fake.calls[fake.call_count - 3];
	assert_int_equal(calls[0].attr.qp_state, IBV_QPS_INIT);
	assert_int_equal(calls[0].mask,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	assert_int_equal(calls[0].attr.qkey, RDMA_UDP_QKEY);
	assert_int_equal(calls[0].attr.port_num, 1);
	assert_int_equal(calls[1].attr.qp_state, IBV_QPS_RTR);
	assert_int_equal(calls[1].mask, IBV_QP_STATE);
	assert_int_equal(calls[2].attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(calls[2].mask, IBV_QP_STATE | IBV_QP_SQ_PSN);
	assert_int_equal(calls[2].attr.sq_psn, 0);
	rdma_destroy_qp(id);
	assert_null(id->qp);
}

static void completion_queues_come_with_it(void **state)
{
	struct ibv_qp_init_attr attr = ud_attr();

	bind_id();
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_ptr_equal(attr.send_cq, id->send_cq);
	assert_ptr_equal(attr.recv_cq, id->recv_cq);
	assert_int_equal(id->send_cq->cqe, 4);
	assert_int_equal(id->recv_cq->cqe, 8);
	assert_ptr_equal(id->send_cq->cq_context, id);
	assert_ptr_equal(id->recv_cq->channel, id->recv_cq_channel);
	rdma_destroy_qp(id);
	assert_null(id->send_cq);
	assert_null(id->recv_cq_channel);
}

static void completion_queues_of_the_program_stay_its_own(void **state)
{
	struct ibv_qp_init_attr attr = ud_attr();
	struct ibv_cq cq = { .cqe = 1 };

	bind_id();
	attr.send_cq = &cq;
	attr.cap.max_recv_wr = 0; /* and none for a queue that is not used */
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(fake_count_verb("create_cq"), 0);
	assert_null(id->send_cq);
	assert_ptr_equal(id->qp->send_cq, &cq);
	rdma_destroy_qp(id);
}

static void wrong_queue_pairs_are_refused(void **state)
{
	struct ibv_qp_init_attr attr = ud_attr();
	struct ibv_context other;
	struct ibv_pd pd = { .context = &other };
	struct ibv_cq mine = { .cqe = 1 }, cq = { .cqe = 1 };

	assert_int_equal(rdma_create_qp(id, NULL, &attr), -1); /* not bound */
	assert_int_equal(errno, EINVAL);
	bind_id();
	assert_int_equal(rdma_create_qp(id, &pd, &attr), -1);
	assert_int_equal(errno, EINVAL);
	id->recv_cq = &mine;
	attr.recv_cq = &cq;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), -1);
	assert_int_equal(errno, EINVAL);
	id->recv_cq = NULL;
	attr = ud_attr();
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(rdma_create_qp(id, NULL, &attr), -1); /* has one */
	assert_int_equal(errno, EINVAL);
	rdma_destroy_qp(id);
}

static void a_failure_leaves_nothing(void **state)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR,
						    IBV_QPS_RTS };
	struct ibv_qp_init_attr attr;
	int before;

	bind_id();
	before = fake.objects;
	fake.modify_result = EPERM;
	for (int i = 0; i < 3; i++) {
		attr = ud_attr();
		fake.modify_fails = states[i];
		assert_int_equal(rdma_create_qp(id, NULL, &attr), -1);
		assert_int_equal(errno, EPERM);
		assert_null(id->qp);
		assert_null(id->send_cq);
		assert_int_equal(fake.objects, before);
	}
	fake.create_qp_fails = true;
	attr = ud_attr();
	assert_int_equal(rdma_create_qp(id, NULL, &attr), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(fake.objects, before);
}

static void the_longer_attributes_are_filled_in(void **state)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};

	bind_id();
	assert_int_equal(rdma_create_qp_ex(id, &attr), 0);
	assert_true(attr.comp_mask & IBV_QP_INIT_ATTR_PD);
	assert_ptr_equal(attr.pd, id->pd);
	assert_ptr_equal(attr.send_cq, id->send_cq);
	rdma_destroy_qp(id);
}

/* Differs from stock, see multicast.c. */
static void destroying_the_queue_pair_detaches_it(void **state)
{
	struct ibv_qp_init_attr attr = ud_attr();
	struct rdma_cm_event *event;

	bind_id();
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	fake.event_in_join = true;
	assert_int_equal(rdma_join_multicast(id, fake_addr("239.1.2.3", 0), NULL), 0);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	rdma_ack_cm_event(event);
	rdma_destroy_qp(id);
	assert_int_equal(fake_count_verb("detach_mcast"), 1);
	assert_int_equal(fake.daemon_joins, 1); /* the membership stays */
}

static void attributes_are_asked_for(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask = 0;

	assert_int_equal(rdma_init_qp_attr(id, &attr, &mask), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTR);
	assert_int_equal(attr.qkey, RDMA_UDP_QKEY);
	assert_true(mask & IBV_QP_QKEY);
	fake.result = -EINVAL;
	assert_int_equal(rdma_init_qp_attr(id, &attr, &mask), -1);
	assert_int_equal(errno, EINVAL);
	fake.result = 0;
}

static void ids_of_one_device_share_context_and_domain(void **state)
{
	struct rdma_cm_id *other;

	bind_id();
	assert_int_equal(rdma_create_id(channel, &other, NULL, RDMA_PS_UDP), 0);
	assert_int_equal(rdma_bind_addr(other, fake_addr("127.0.0.1", 0)), 0);
	assert_ptr_equal(other->verbs, id->verbs);
	assert_ptr_equal(other->pd, id->pd);
	assert_int_equal(rdma_destroy_id(other), 0);
	assert_int_equal(fake.objects, 1); /* the domain, for `id` */
}

static void an_endpoint_is_resolved_and_has_its_queue_pair(void **state)
{
	struct ibv_qp_init_attr attr = ud_attr();
	struct rdma_addrinfo hints = {
		.ai_qp_type = IBV_QPT_UD,
		.ai_port_space = RDMA_PS_UDP,
	};
	struct rdma_addrinfo *res;
	struct rdma_cm_id *ep;

	fake.answer_sync = true;
	assert_int_equal(rdma_getaddrinfo("127.0.0.1", "7174", &hints, &res), 0);
	assert_int_equal(rdma_create_ep(&ep, res, NULL, &attr), 0);
	assert_non_null(ep->qp);
	assert_int_equal(ep->qp->qp_type, IBV_QPT_UD);
	assert_int_equal(ep->route.num_paths, 1);
	rdma_destroy_ep(ep);
	fake.answer_status = -ENODEV;
	assert_int_equal(rdma_create_ep(&ep, res, NULL, &attr), -1);
	assert_int_equal(errno, ENODEV);
	rdma_freeaddrinfo(res);
}

static void options_reach_verbcastd_or_are_refused(void **state)
{
	uint8_t byte = 1, big[128] = { 0 };
	int number = 1;

	assert_int_equal(
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1), 0);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
					 &number, sizeof(number)),
			 0);
	assert_int_equal(fake_count(UAPI_CM_SET_OPTION), 2);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, 0, big, sizeof(big)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_set_option(id, 7, 0, big, sizeof(big)), -1);
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_IB, 9, big, 1), -1);
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(
		rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, big, 72), -1);
	assert_int_equal(errno, EOPNOTSUPP);
}

static void ece_is_kept(void **state)
{
	struct ibv_ece ece = { .vendor_id = 1, .options = 7 };

	assert_int_equal(rdma_set_local_ece(id, &ece), 0);
	ece.vendor_id = 0;
	assert_int_equal(rdma_set_local_ece(id, &ece), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_set_local_ece(id, NULL), -1);
	assert_int_equal(rdma_get_remote_ece(id, &ece), 0);
	assert_int_equal(ece.options, 0);
	assert_int_equal(rdma_get_remote_ece(id, NULL), -1);
}

/* -- rdma_getaddrinfo --------------------------------------------------------------- */

static void nothing_to_look_up_is_einval(void **state)
{
	struct rdma_addrinfo *res;

	assert_int_equal(rdma_getaddrinfo(NULL, NULL, NULL, &res), -1);
	assert_int_equal(errno, EINVAL);
	rdma_freeaddrinfo(NULL);
}

static void a_name_error_is_getaddrinfos_own(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST }, *res;

	assert_int_equal(rdma_getaddrinfo("no.such.number", NULL, &hints, &res),
			 EAI_NONAME);
}

static void without_hints_it_is_a_connection(void **state)
{
	struct rdma_addrinfo *res;

	assert_int_equal(rdma_getaddrinfo("127.0.0.1", "7174", NULL, &res), 0);
	assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
	assert_int_equal(res->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(res->ai_family, AF_INET);
	assert_int_equal(res->ai_dst_len, sizeof(struct sockaddr_in));
	assert_int_equal(((struct sockaddr_in *)res->ai_dst_addr)->sin_port, htons(7174));
	assert_null(res->ai_src_addr);
	assert_null(res->ai_next);
	rdma_freeaddrinfo(res);
}

static void a_passive_answer_is_a_source(void **state)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_PASSIVE,
		.ai_port_space = RDMA_PS_UDP,
		.ai_qp_type = IBV_QPT_UD,
	};
	struct rdma_addrinfo *res;

	assert_int_equal(rdma_getaddrinfo("127.0.0.1", "7174", &hints, &res), 0);
	assert_non_null(res->ai_src_addr);
	assert_null(res->ai_dst_addr);
	assert_int_equal(res->ai_qp_type, IBV_QPT_UD);
	assert_int_equal(res->ai_port_space, RDMA_PS_UDP);
	rdma_freeaddrinfo(res);
}

static void the_family_asked_for_counts_with_its_flag(void **state)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_FAMILY | RAI_NUMERICHOST,
		.ai_family = AF_INET6,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *res;

	assert_int_equal(rdma_getaddrinfo("::1", NULL, &hints, &res), 0);
	assert_int_equal(res->ai_family, AF_INET6);
	rdma_freeaddrinfo(res);
	assert_true(rdma_getaddrinfo("127.0.0.1", NULL, &hints, &res) != 0);
}

static void the_source_of_the_hints_is_taken_over(void **state)
{
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_UDP,
		.ai_qp_type = IBV_QPT_UD,
		.ai_src_len = sizeof(struct sockaddr_in),
		.ai_src_addr = fake_addr("127.0.0.1", 9),
	};
	struct rdma_addrinfo *res;

	assert_int_equal(rdma_getaddrinfo("239.1.2.3", NULL, &hints, &res), 0);
	assert_memory_equal(res->ai_src_addr, hints.ai_src_addr, hints.ai_src_len);
	assert_ptr_not_equal(res->ai_src_addr, hints.ai_src_addr);
	rdma_freeaddrinfo(res);
	hints.ai_dst_len = sizeof(struct sockaddr_in);
	hints.ai_dst_addr = fake_addr("239.1.2.3", 9);
	assert_int_equal(rdma_getaddrinfo(NULL, NULL, &hints, &res), 0);
	assert_memory_equal(res->ai_dst_addr, hints.ai_dst_addr, hints.ai_dst_len);
	rdma_freeaddrinfo(res);
}

static void a_gid_is_written_like_an_ipv6_address(void **state)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_FAMILY | RAI_NUMERICHOST,
		.ai_family = AF_IB,
		.ai_port_space = RDMA_PS_IB,
		.ai_qp_type = IBV_QPT_UD,
	};
	struct rdma_addrinfo *res;
	struct sockaddr_ib *ib;

	assert_int_equal(rdma_getaddrinfo("fe80::1234", "18515", &hints, &res), 0);
	assert_int_equal(res->ai_family, AF_IB);
	assert_int_equal(res->ai_dst_len, sizeof(struct sockaddr_ib));
	ib = (struct sockaddr_ib *)res->ai_dst_addr;
	assert_int_equal(ib->sib_family, AF_IB);
	assert_int_equal(ib->sib_addr.sib_raw[0], 0xfe);
	assert_true(be64toh(ib->sib_sid) == (((uint64_t)RDMA_PS_IB << 16) | 18515));
	rdma_freeaddrinfo(res);
}

#define qp_test(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		qp_test(a_datagram_queue_pair_is_ready_at_once),
		qp_test(completion_queues_come_with_it),
		qp_test(completion_queues_of_the_program_stay_its_own),
		qp_test(wrong_queue_pairs_are_refused),
		qp_test(a_failure_leaves_nothing),
		qp_test(the_longer_attributes_are_filled_in),
		qp_test(destroying_the_queue_pair_detaches_it),
		qp_test(attributes_are_asked_for),
		qp_test(ids_of_one_device_share_context_and_domain),
		qp_test(an_endpoint_is_resolved_and_has_its_queue_pair),
		qp_test(options_reach_verbcastd_or_are_refused),
		qp_test(ece_is_kept),
		qp_test(nothing_to_look_up_is_einval),
		qp_test(a_name_error_is_getaddrinfos_own),
		qp_test(without_hints_it_is_a_connection),
		qp_test(a_passive_answer_is_a_source),
		qp_test(the_family_asked_for_counts_with_its_flag),
		qp_test(the_source_of_the_hints_is_taken_over),
		qp_test(a_gid_is_written_like_an_ipv6_address),
	};

	return harness_run(tests);
}
