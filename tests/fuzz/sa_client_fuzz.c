// SPDX-License-Identifier: BSD-2-Clause
// links: vc_core_sa vc_harness
/*
 * The SA client and the MAD layer below it against whoever answers from the wire, while
 * members come and go, questions are asked and cancelled, the port and the device have
 * their events, and time passes. Whatever arrives, each member and each question is told
 * what its contract says, once; and everything is given back at the end.
 *
 * The input is a list of steps of two bytes, what and its argument, and for answers a
 * length and so many pairs of place and value to change in them.
 */
#include <stdlib.h>

#include "core/sa/ib_sa.h"
#include "harness/harness.h"
#include "input.h"
#include "unit/core_mad/fake_hca.h"
#include "wire/sa.h"

#define MEMBERS   8u
#define QUERIES   4u
#define REQUESTS  8u
#define STEPS_MAX 512u

struct member {
	struct ib_sa_multicast *multicast; /* null: free */
	bool joined, over;
};

struct question {
	struct ib_sa_query *query;
	int id;
	bool under_way;
};

static struct world {
	struct timer_queue timers;
	struct random random;
	struct ib_node *node;
	struct ib_mad *mad;
	struct ib_sa *sa;
	struct fake_hca hca;
	struct ib_sa_client client;
	struct member members[MEMBERS];
	struct question questions[QUERIES];
	struct fake_mad requests[REQUESTS]; /* the latest */
	unsigned int request_count;
	u8 callback_says;
} world;

static void check(bool good)
{
	if (!good)
		abort();
}

/* -- who joins and asks ------------------------------------------------------------------ */

static int hear(int status, struct ib_sa_multicast *multicast)
{
	struct member *m = multicast->context;
	bool free_it = world.callback_says & 1;

	check(m->multicast == NULL || m->multicast == multicast);
	check(!m->over);
	if (status == -ENETRESET)
		check(m->joined);
	else
		check(!m->joined);
	m->joined = status == 0;
	m->over = status != 0;
	if (free_it)
		m->multicast = NULL;
	return free_it;
}

static void answered(struct question *q)
{
	check(q->under_way);
	q->under_way = false;
}

static void hear_path(int status, const struct sa_path_rec *rec, void *context)
{
	check(status == 0 || status == -EINVAL || !rec);
	answered(context);
}

static void hear_services(int status, const struct sa_service_rec *recs,
			  unsigned int count, void *context)
{
	for (unsigned int i = 0; i < count; i++)
		check(recs[i].reserved[0] == 0);
	answered(context);
}

static void join(struct member *m, u8 argument)
{
	struct ib_sa_mcmember_rec rec = { .mgid = { .raw = { 0xff, 0x12 } },
					  .port_gid = fake_hca_gid(1, 0),
					  .join_state = argument >> 2 & 0x1f };
	ib_sa_comp_mask mask = { .mask = ~0ull };
	struct ib_sa_multicast *multicast;

	rec.mgid.raw[15] = argument & 3;
	if ((argument & 3) == 0)
		memset(&rec.mgid, 0, sizeof(rec.mgid));
	if (argument & 0x80)
		mask = ib_sa_comp_mask_from_host(SA_MCM_MGID | SA_MCM_PORT_GID |
						 SA_MCM_JOIN_STATE);
	*m = (struct member){ 0 };
	multicast = ib_sa_join_multicast(&world.client, &world.hca.ib, 1, &rec, mask,
					 hear, m);
	if (!IS_ERR(multicast))
		m->multicast = multicast;
}

static void join_or_leave(u8 argument)
{
	struct member *m = &world.members[argument % MEMBERS];
	struct ib_sa_multicast *multicast = m->multicast;

	m->multicast = NULL;
	if (multicast)
		ib_sa_free_multicast(multicast);
	else
		join(m, argument);
}

static void ask_or_cancel(u8 argument)
{
	struct question *q = &world.questions[argument % QUERIES];
	ib_sa_comp_mask mask = { 0 };
	struct sa_service_rec service = { 0 };
	struct sa_path_rec path = { 0 };

	if (q->under_way) {
		ib_sa_cancel_query(q->id, q->query);
		return;
	}
	if (argument & 0x80)
		q->id = ib_sa_service_rec_get(&world.client, &world.hca.ib, 1, &service,
					      mask, argument * 8, hear_services, q,
					      &q->query);
	else
		q->id = ib_sa_path_rec_get(&world.client, &world.hca.ib, 1, &path, mask,
					   argument * 8, hear_path, q, &q->query);
	q->under_way = q->id >= 0;
}

/* -- the other side ---------------------------------------------------------------------- */

static void collect(void)
{
	struct fake_mad *mad;

	while ((mad = fake_hca_take(&world.hca)))
		world.requests[world.request_count++ % REQUESTS] = *mad;
}

/* A request comes back as its answer, changed as the input says. */
static void answer(u8 argument, struct fuzz_input *in)
{
	struct fake_mad mad = world.requests[argument % REQUESTS];
	u8 *exact = fuzz_exact(mad.bytes, MAD_BYTES);
	u8 changes = fuzz_byte(in);

	exact[3] = exact[3] == MAD_METHOD_SET ? MAD_METHOD_GET_RESP
					      : exact[3] | MAD_METHOD_RESPONSE;
	if (argument & 0x40) /* a segment of a table */
		rmpp_header_put(exact,
				&(struct rmpp_header){ .version = 1,
						       .type = RMPP_DATA,
						       .flags = RMPP_ACTIVE | RMPP_FIRST |
								RMPP_LAST,
						       .segment = 1,
						       .payload_length = 220 });
	for (u8 i = 0; i < changes && in->size; i++) {
		u8 place = fuzz_byte(in);

		exact[place] = fuzz_byte(in);
	}
	fake_hca_answer(&world.hca, argument & 0x80 ? 2 : 1, &mad.packet, exact);
	free(exact);
}

static void happen(u8 argument)
{
	world.hca.port.sm_lid = argument & 0x40 ? 0 : 1;
	world.hca.refuse = argument & 0x80 ? -ENETDOWN : 0;
	world.hca.pkeys[argument >> 4 & 1] = argument & 0x20 ? 0xffff : 0;
	if (!world.hca.ib.removed)
		fake_hca_event(
			&world.hca, 1,
			(enum ib_event_type)(IB_EVENT_DEVICE_FATAL + argument % 11));
}

static void remove_or_add(void)
{
	if (world.hca.ib.node)
		check(ib_unregister_device(&world.hca.ib) == 0);
	else
		check(ib_register_device(&world.hca.ib, world.node) == 0);
}

static void pass(u64 ns)
{
	timer_queue_run(&world.timers, world.timers.now_ns + ns);
}

/* -- life -------------------------------------------------------------------------------- */

static void begin(void)
{
	struct ib_mad_config mad = { .timers = &world.timers, .random = &world.random };
	struct ib_sa_config sa = { .timers = &world.timers, .random = &world.random };

	memset(&world, 0, sizeof(world));
	timer_queue_init(&world.timers, 1000, NULL, NULL);
	random_seed(&world.random, 1);
	world.node = ib_node_create("fuzz", 0);
	fake_hca_init(&world.hca, "ib0", IB_LINK_LAYER_INFINIBAND);
	mad.node = sa.node = world.node;
	check(ib_register_device(&world.hca.ib, world.node) == 0);
	check(ib_mad_create(&mad, &world.mad) == 0);
	sa.mad = world.mad;
	check(ib_sa_create(&sa, &world.sa) == 0);
	ib_sa_register_client(&world.client);
}

static void end(void)
{
	world.callback_says = 0;
	for (unsigned int i = 0; i < MEMBERS; i++)
		if (world.members[i].multicast)
			ib_sa_free_multicast(world.members[i].multicast);
	for (unsigned int i = 0; i < 100000; i++) {
		bool quiet = timer_queue_next(&world.timers) == UINT64_MAX;

		if (quiet)
			break;
		timer_queue_run(&world.timers, timer_queue_next(&world.timers));
		collect();
	}
	check(timer_queue_next(&world.timers) == UINT64_MAX);
	for (unsigned int i = 0; i < QUERIES; i++)
		check(!world.questions[i].under_way);
	check(ib_sa_unregister_client(&world.client));
	ib_sa_destroy(world.sa);
	ib_mad_destroy(world.mad);
	if (world.hca.ib.node)
		check(ib_unregister_device(&world.hca.ib) == 0);
	fake_hca_fini(&world.hca);
	ib_node_destroy(world.node);
}

static void step(u8 what, u8 argument, struct fuzz_input *in)
{
	switch (what % 8) {
	case 0:
		join_or_leave(argument);
		break;
	case 1:
		ask_or_cancel(argument);
		break;
	case 2:
	case 3:
		answer(argument, in);
		break;
	case 4:
		happen(argument);
		break;
	case 5:
		pass(argument * 10 * TIMER_MS);
		break;
	case 6:
		world.callback_says = argument;
		break;
	default:
		if (argument > 0xf0)
			remove_or_add();
		else
			pass(0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	begin();
	for (unsigned int i = 0; i < STEPS_MAX && in.size; i++) {
		u8 what = fuzz_byte(&in);

		step(what, fuzz_byte(&in), &in);
		collect();
	}
	end();
	return 0;
}
