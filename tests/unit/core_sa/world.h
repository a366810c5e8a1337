/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node with an SA client and an adapter behind which the test is the SA: it takes each
 * request from the wire and answers it, or not. Joiners remember what they are told.
 */
#ifndef CORE_SA_WORLD_H
#define CORE_SA_WORLD_H

#include <endian.h>

#include "core/sa/ib_sa.h"
#include "harness/harness.h"
#include "unit/core_mad/fake_hca.h"
#include "wire/sa.h"

struct world {
	struct timer_queue timers;
	struct random random;
	struct ib_node *node;
	struct ib_mad *mad;
	struct ib_sa *sa;
	struct fake_hca hca;
	struct ib_sa_client client;
	unsigned int idle; /* calls of client.idle */
};

static struct world world;

static inline void client_is_idle(struct ib_sa_client *client)
{
	world.idle++;
}

/* Until nothing is due: what is armed for now waits for the next run. */
static inline void settle(void)
{
	while (timer_queue_next(&world.timers) <= world.timers.now_ns)
		timer_queue_run(&world.timers, world.timers.now_ns);
}

/* What is due meanwhile happens at its time. */
static inline void run_ms(u64 ms)
{
	u64 end = world.timers.now_ns + ms * TIMER_MS;

	settle();
	while (timer_queue_next(&world.timers) <= end)
		timer_queue_run(&world.timers, timer_queue_next(&world.timers));
	timer_queue_run(&world.timers, end);
	settle();
}

static inline void world_begin_on(enum rdma_link_layer link_layer)
{
	struct ib_mad_config mad;
	struct ib_sa_config sa;

	memset(&world, 0, sizeof(world));
	timer_queue_init(&world.timers, 1000, NULL, NULL);
	random_seed(&world.random, 1);
	world.node = ib_node_create("here", 0);
	fake_hca_init(&world.hca, "ib0", link_layer);
	assert_int_equal(ib_register_device(&world.hca.ib, world.node), 0);
	mad = (struct ib_mad_config){ .node = world.node,
				      .timers = &world.timers,
				      .random = &world.random };
	assert_int_equal(ib_mad_create(&mad, &world.mad), 0);
	sa = (struct ib_sa_config){ .node = world.node,
				    .mad = world.mad,
				    .timers = &world.timers,
				    .random = &world.random };
	assert_int_equal(ib_sa_create(&sa, &world.sa), 0);
	world.client.idle = client_is_idle;
	ib_sa_register_client(&world.client);
}

static inline int world_begin(void **state)
{
	world_begin_on(IB_LINK_LAYER_INFINIBAND);
	return 0;
}

static inline int world_end(void **state)
{
	assert_int_equal(world.client.users, 1);
	assert_true(ib_sa_unregister_client(&world.client));
	ib_sa_destroy(world.sa);
	ib_mad_destroy(world.mad);
	if (world.hca.ib.node)
		assert_int_equal(ib_unregister_device(&world.hca.ib), 0);
	fake_hca_fini(&world.hca);
	ib_node_destroy(world.node);
	assert_true(timer_queue_next(&world.timers) == UINT64_MAX);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_begin, world_end)

/* -- the SA's side -------------------------------------------------------------------- */

struct request {
	struct fake_mad mad;
	struct mad_header header;
	u64 comp_mask;
	struct sa_mcmember rec;
};

static inline bool take_request(struct request *ret)
{
	struct fake_mad *mad = fake_hca_take(&world.hca);
	struct sa_header sa;

	if (!mad)
		return false;
	ret->mad = *mad;
	ret->mad.packet.payload = ret->mad.bytes;
	mad_header_get(mad->bytes, &ret->header);
	sa_header_get(mad->bytes, &sa);
	ret->comp_mask = sa.comp_mask;
	sa_mcmember_get(mad->bytes + SA_DATA, &ret->rec);
	return true;
}

static inline void assert_silence(void)
{
	settle();
	assert_int_equal(fake_hca_waiting(&world.hca), 0);
}

/* The next request is a join or leave with that join state. */
static inline struct request expect(u8 method, u8 join_state)
{
	struct request request;

	settle();
	assert_true(take_request(&request));
	assert_int_equal(request.header.method, method);
	assert_int_equal(request.header.attr_id, SA_MCMEMBER_RECORD);
	assert_int_equal(request.rec.join_state, join_state);
	return request;
}

/* With this record, or what the request has. */
static inline void answer(const struct request *request, u16 status,
			  const struct sa_mcmember *rec)
{
	struct mad_header header = request->header;
	u8 bytes[MAD_BYTES];

	memcpy(bytes, request->mad.bytes, MAD_BYTES);
	header.status = status;
	header.method = header.method == MAD_METHOD_SET
				? MAD_METHOD_GET_RESP
				: (u8)(header.method | MAD_METHOD_RESPONSE);
	mad_header_put(bytes, &header);
	if (rec)
		sa_mcmember_put(bytes + SA_DATA, rec);
	fake_hca_answer(&world.hca, request->mad.port_num, &request->mad.packet, bytes);
	settle();
}

/* A group as the SA has it, for a port with that join state. */
static inline struct sa_mcmember group_record(u8 id, u8 join_state)
{
	return (struct sa_mcmember){
		.mgid = { .raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = id } },
		.port_gid = fake_hca_gid(1, 0),
		.qkey = 0x11223344,
		.mlid = (u16)(0xc000 + id),
		.mtu_selector = SA_SELECT_EQ,
		.mtu = 4,
		.tclass = 5,
		.pkey = 0xffff,
		.rate_selector = SA_SELECT_EQ,
		.rate = 7,
		.lifetime_selector = SA_SELECT_EQ,
		.lifetime = 18,
		.sl = 3,
		.flow_label = 0x54321,
		.hop_limit = 9,
		.scope = 2,
		.join_state = join_state,
	};
}

static inline void grant(const struct request *request, u8 id, u8 join_state)
{
	struct sa_mcmember rec = group_record(id, join_state);

	answer(request, 0, &rec);
}

/* A leave is expected, and granted. */
static inline void let_leave(u8 join_state)
{
	struct request request = expect(MAD_METHOD_DELETE, join_state);

	answer(&request, 0, NULL);
}

/* -- joiners -------------------------------------------------------------------------- */

struct joiner {
	struct ib_sa_multicast *multicast;
	unsigned int calls;
	int statuses[8];
	struct ib_sa_mcmember_rec rec; /* at the last call */
	int returns;
	void (*hook)(struct joiner *joiner, int status);
};

static inline int joiner_hears(int status, struct ib_sa_multicast *multicast)
{
	struct joiner *joiner = multicast->context;

	assert_true(joiner->calls < 8);
	/* It knows its handle from the argument, if the call is not over (item 25). */
	if (!joiner->multicast)
		joiner->multicast = multicast;
	assert_ptr_equal(joiner->multicast, multicast);
	joiner->rec = multicast->rec;
	joiner->statuses[joiner->calls++] = status;
	if (joiner->hook)
		joiner->hook(joiner, status);
	return joiner->returns;
}

static inline int last_status(const struct joiner *joiner)
{
	assert_true(joiner->calls > 0);
	return joiner->statuses[joiner->calls - 1];
}

#define MASK_MINIMAL (SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_JOIN_STATE)

static inline struct ib_sa_mcmember_rec wanted(u8 id, u8 join_state)
{
	struct sa_mcmember wire = group_record(id, join_state);

	return (struct ib_sa_mcmember_rec){
		.mgid = wire.mgid,
		.port_gid = wire.port_gid,
		.join_state = join_state,
	};
}

static inline void join_record(struct joiner *joiner,
			       const struct ib_sa_mcmember_rec *rec, u64 mask)
{
	joiner->multicast = NULL;
	joiner->multicast = ib_sa_join_multicast(&world.client, &world.hca.ib, 1, rec,
						 ib_sa_comp_mask_from_host(mask),
						 joiner_hears, joiner);
	assert_false(IS_ERR(joiner->multicast));
}

static inline void join(struct joiner *joiner, u8 id, u8 join_state)
{
	struct ib_sa_mcmember_rec rec = wanted(id, join_state);

	join_record(joiner, &rec, MASK_MINIMAL);
}

/* Joined, with the SA's consent. */
static inline void join_granted(struct joiner *joiner, u8 id, u8 join_state)
{
	struct request request;

	join(joiner, id, join_state);
	request = expect(MAD_METHOD_SET, join_state);
	grant(&request, id, join_state);
	assert_int_equal(last_status(joiner), 0);
}

static inline void leave(struct joiner *joiner)
{
	ib_sa_free_multicast(joiner->multicast);
	joiner->multicast = NULL;
}

static inline int find_group(u8 id, struct ib_sa_mcmember_rec *rec)
{
	struct sa_mcmember wire = group_record(id, 0);

	return ib_sa_get_mcmember_rec(&world.hca.ib, 1, &wire.mgid, rec);
}

static inline void count_group(void *arg, const struct ib_sa_group_view *group)
{
	++*(unsigned int *)arg;
}

/* Groups that are there, whatever their state. */
static inline unsigned int group_count(void)
{
	unsigned int count = 0;

	ib_sa_each_group(&world.hca.ib, count_group, &count);
	return count;
}

#endif
