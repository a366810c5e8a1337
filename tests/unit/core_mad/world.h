/* SPDX-License-Identifier: BSD-2-Clause */
/* A node with a MAD layer and an adapter, and agents that remember what they hear. */
#ifndef CORE_MAD_WORLD_H
#define CORE_MAD_WORLD_H

#include "core/mad/ib_mad.h"
#include "harness/harness.h"
#include "unit/core_mad/fake_hca.h"

struct world {
	struct timer_queue timers;
	struct random random;
	struct ib_node *node;
	struct ib_mad *mad;
	struct fake_hca hca;
};

static struct world world;

enum heard_kind {
	HEARD_RECV = 1,
	HEARD_DONE
};

struct heard {
	enum heard_kind kind;
	struct ib_mad_agent *agent;
	void *context;
	enum ib_wc_status_mad status;
	struct ib_mad_addr from;
	u8 bytes[8192];
	size_t length;
};

/* What agents have heard, oldest first. */
static struct heard heard[64];
static size_t heard_count;
/* Called at the end of the agents' functions, if set. */
static void (*heard_hook)(const struct heard *what);

static inline void hear(struct heard what, const u8 *bytes)
{
	struct heard *to = &heard[heard_count++];

	assert_true(heard_count < sizeof(heard) / sizeof(heard[0]));
	assert_true(what.length <= sizeof(to->bytes));
	*to = what;
	memcpy(to->bytes, bytes, what.length);
	if (heard_hook)
		heard_hook(to);
}

static inline void hear_done(struct ib_mad_agent *agent, void *context,
			     enum ib_wc_status_mad status, const u8 *message,
			     size_t length)
{
	hear((struct heard){ .kind = HEARD_DONE,
			     .agent = agent,
			     .context = context,
			     .status = status,
			     .length = length },
	     message);
}

static inline void hear_recv(struct ib_mad_agent *agent, const struct ib_mad_recv *recv)
{
	hear((struct heard){ .kind = HEARD_RECV,
			     .agent = agent,
			     .context = recv->context,
			     .from = recv->from,
			     .length = recv->length },
	     recv->message);
}

static const struct ib_mad_agent_ops hear_ops = { .send_done = hear_done,
						  .recv = hear_recv };

static inline void run_ms(u64 ms)
{
	timer_queue_run(&world.timers, world.timers.now_ns + ms * TIMER_MS);
}

static inline int world_begin(void **state)
{
	struct ib_mad_config config;

	memset(&world, 0, sizeof(world));
	heard_count = 0;
	heard_hook = NULL;
	timer_queue_init(&world.timers, 1000, NULL, NULL);
	random_seed(&world.random, 1);
	world.node = ib_node_create("here", 0);
	fake_hca_init(&world.hca, "ib0", IB_LINK_LAYER_INFINIBAND);
	assert_int_equal(ib_register_device(&world.hca.ib, world.node), 0);
	config = (struct ib_mad_config){ .node = world.node,
					 .timers = &world.timers,
					 .random = &world.random };
	assert_int_equal(ib_mad_create(&config, &world.mad), 0);
	return 0;
}

static inline int world_end(void **state)
{
	ib_mad_destroy(world.mad);
	assert_ptr_equal(world.hca.ib.mad, NULL);
	if (world.hca.ib.node)
		assert_int_equal(ib_unregister_device(&world.hca.ib), 0);
	fake_hca_fini(&world.hca);
	ib_node_destroy(world.node);
	assert_true(timer_queue_next(&world.timers) == UINT64_MAX);
	return 0;
}

static inline struct ib_mad_agent *add_agent(u32 port, u32 qpn,
					     const struct ib_mad_reg_req *reg, u8 rmpp)
{
	struct ib_mad_agent *agent = ib_register_mad_agent(&world.hca.ib, port, qpn, reg,
							   rmpp, &hear_ops, &world);

	assert_false(IS_ERR(agent));
	return agent;
}

static inline void build_mad(u8 mad[MAD_BYTES], u8 mgmt_class, u8 version, u8 method,
			     u64 tid)
{
	struct mad_header header = {
		.base_version = 1,
		.mgmt_class = mgmt_class,
		.class_version = version,
		.method = method,
		.tid = tid,
		.attr_id = 0x38,
	};

	for (unsigned int i = 0; i < MAD_BYTES; i++)
		mad[i] = (u8)i;
	memset(mad + MAD_HEADER_BYTES, 0, RMPP_HEADER_BYTES - MAD_HEADER_BYTES);
	mad_header_put(mad, &header);
}

static inline u64 tid_of(const u8 *mad)
{
	struct mad_header header;

	mad_header_get(mad, &header);
	return header.tid;
}

/* Where requests go. */
static const struct ib_mad_addr peer = {
	.lid = 9,
	.sl = 3,
	.qpn = 1,
	.qkey = IB_GSI_QKEY,
};

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_begin, world_end)

#endif
