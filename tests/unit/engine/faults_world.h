/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of faults: one sender, two receivers in processes of their own, one group, on
 * RoCE or on InfiniBand; rules; and the numbers of what comes.
 */
#ifndef ENGINE_FAULTS_WORLD_H
#define ENGINE_FAULTS_WORLD_H

#include "engine/faults.h"
#include "world.h"

#define GROUP 1u
#define MLID  0xc005
#define DEPTH 256u
#define MANY  200u

static struct world world;
static struct world_process *alice, *bob, *carol;
static struct world_qp sender, receiver, other;
static struct engine_verbs_ah ah;
static bool infiniband;
static uint32_t next_id;

/* -- the site ------------------------------------------------------------------------- */

static inline void make_infiniband(void)
{
	struct shm_port *port = &world.tables->ports[0];

	port->link_layer = SHM_LINK_INFINIBAND;
	atomic_store(&port->lid, 0x10);
	memset(port->gids[0].gid, 0, 16);
	port->gids[0].gid[0] = 0xfe;
	port->gids[0].gid[1] = 0x80;
	port->gids[0].gid[15] = 1;
	port->gids[0].type = SHM_GID_IB;
}

static inline void join(struct world_qp *q)
{
	uint8_t mgid[16];
	uint32_t entry;

	if (!infiniband) {
		world_attach(q, GROUP);
		return;
	}
	world_mgid(GROUP, mgid);
	entry = shm_group_find(world.tables, 0, mgid, MLID);
	if (entry == SHM_NONE)
		assert_int_equal(shm_group_link(world.tables, 0, mgid, MLID, &entry), 0);
	q->member = q->process->next_member++;
	assert_int_equal(engine_qp_attach_group(
				 q->qp, mgid, MLID,
				 shm_group_set(world.tables, entry, q->process->slot),
				 q->member),
			 0);
}

static inline void make_ah(struct engine_verbs_ah *to, const struct world_qp *unicast)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

	memset(to, 0, sizeof(*to));
	attr.grh.hop_limit = 64;
	attr.dlid = infiniband ? (unicast ? 0x10 : MLID) : 0;
	if (unicast)
		memcpy(attr.grh.dgid.raw, world.tables->ports[0].gids[0].gid, 16);
	else
		world_mgid(GROUP, attr.grh.dgid.raw);
	assert_int_equal(engine_ah_create(alice->engine, WORLD_PD, 0, &attr, &to->engine),
			 0);
}

static inline void open_all(void)
{
	world_open(&world);
	if (infiniband)
		make_infiniband();
	alice = world_start(&world, 1);
	bob = world_start(&world, 2);
	carol = world_start(&world, 3);
	world_qp_create(&sender, alice, (struct world_qp_options){ .depth = 1 });
	world_qp_create(&receiver, bob, (struct world_qp_options){ .depth = DEPTH });
	world_qp_create(&other, carol, (struct world_qp_options){ .depth = DEPTH });
	make_ah(&ah, NULL);
	join(&receiver);
	join(&other);
	world_post_recv(&receiver, DEPTH);
	world_post_recv(&other, DEPTH);
	next_id = 0;
}

static inline int set_up_roce(void **state)
{
	infiniband = false;
	open_all();
	return 0;
}

static inline int set_up_infiniband(void **state)
{
	infiniband = true;
	open_all();
	return 0;
}

static inline int tear_down(void **state)
{
	engine_ah_destroy(ah.engine);
	if (sender.qp)
		world_qp_destroy(&sender);
	if (receiver.qp)
		world_qp_destroy(&receiver);
	world_qp_destroy(&other);
	world_close(&world);
	return 0;
}

/* -- rules ---------------------------------------------------------------------------- */

static inline struct shm_fault nth(enum shm_fault_kind kind,
				   enum shm_fault_direction direction, uint64_t first,
				   uint64_t last)
{
	return (struct shm_fault){
		.id = ++next_id,
		.kind = kind,
		.direction = direction,
		.node = SHM_NONE,
		.device = SHM_NONE,
		.first = first,
		.last = last,
		.by = 1,
	};
}

static inline struct shm_fault rate(enum shm_fault_kind kind,
				    enum shm_fault_direction direction,
				    uint32_t millionths, uint64_t seed)
{
	struct shm_fault f = nth(kind, direction, 0, 0);

	f.rate = millionths;
	f.seed = seed;
	return f;
}

static inline void set(struct shm_fault f)
{
	shm_fault_write(world.tables, f.id - 1, &f);
}

static inline void clear(uint32_t id)
{
	shm_fault_write(world.tables, id - 1, NULL);
}

static inline struct shm_fault_counters *counted(struct world_process *p, uint32_t id)
{
	return &p->counters->faults[id - 1];
}

static inline void expect_counts(struct world_process *p, uint32_t id, uint64_t matched,
				 uint64_t applied, uint64_t skipped)
{
	struct shm_fault_counters *c = counted(p, id);

	assert_int_equal(atomic_load(&c->rule), id);
	assert_int_equal(atomic_load(&c->matched), matched);
	assert_int_equal(atomic_load(&c->applied), applied);
	assert_int_equal(atomic_load(&c->skipped), skipped);
}

/* -- traffic -------------------------------------------------------------------------- */

struct got {
	uint32_t count;
	uint32_t numbers[DEPTH];
};

static inline void send_numbers(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		assert_int_equal(world_send_number(&sender, &ah, i, 100), 0);
}

/* What there is just now. The first look at a sender only asks for its log. */
static inline void take(struct world_qp *q, struct got *g)
{
	struct ibv_wc wc[16];

	for (int empty = 0; empty < 3;) {
		int n = world_poll(q, 16, wc);

		empty = n ? 0 : empty + 1;
		for (int i = 0; i < n; i++) {
			const uint8_t *payload = world_buffer(q, wc[i].wr_id) + 40;

			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			memcpy(&g->numbers[g->count], payload, 4);
			assert_int_equal(wc[i].byte_len, 140);
			assert_true(world_filled(payload, g->numbers[g->count], 100));
			g->count++;
		}
	}
}

static inline void await(struct world_qp *q, struct got *g, uint32_t count)
{
	harness_until((take(q, g), g->count >= count), 10000, harness_pause());
	assert_int_equal(g->count, count);
}

static inline void expect(const struct got *g, const uint32_t *numbers, uint32_t count)
{
	assert_int_equal(g->count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(g->numbers[i], numbers[i]);
}
#define EXPECT(g, ...)                                 \
	expect((g), (const uint32_t[]){ __VA_ARGS__ }, \
	       sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

/* A test on both. */
#define T(f)                                                              \
	{ #f " (RoCE)", f, set_up_roce, tear_down, NULL },                \
	{                                                                 \
#f " (InfiniBand)", f, set_up_infiniband, tear_down, NULL \
	}

#endif
