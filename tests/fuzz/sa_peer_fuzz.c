// SPDX-License-Identifier: BSD-2-Clause
// links: vc_fabric_sa vc_harness
/*
 * The administrators of two subnet managers, of which one follows the other, against what
 * may come on their way: theirs, whatever it has become, and whatever else. They stay
 * inside, and give everything back at the end.
 *
 * The input is a list of steps: a byte that says what, a byte for its argument, and for
 * some of them a length and so many bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "unit/fabric_sa/small_subnet.h"

#define HOSTS       6u
#define STEPS_MAX   256u
#define MADS_MAX    64u
#define PEER_HEAD   40u /* of a peer's datagram: session at 48, position at 56 */
#define FIELDS      40u
#define CHANGES     0x11u
#define DATABASE    0x12u
#define CREATE_MASK 0x130c7u

struct peer {
	struct world *world;
	struct sm sm;
	struct sa_server *server;
	uint16_t lid;
	bool up;
};

struct mad_on_way {
	uint16_t from, to;
	uint8_t bytes[MAD_BYTES];
};

struct world {
	struct timer_queue timers;
	struct random random;
	struct peer peers[2];
	struct mad_on_way ways[MADS_MAX];
	unsigned int way_count;
	uint8_t follow[MAD_BYTES]; /* the last that the second has asked */
	uint64_t tid;
};

static void sent(void *arg, const struct ib_packet *packet)
{
	struct peer *from = arg;
	struct world *w = from->world;
	struct mad_on_way *m;

	if (packet->length != MAD_BYTES)
		abort();
	if (from->lid == 2)
		memcpy(w->follow, packet->payload, MAD_BYTES);
	if (w->way_count == MADS_MAX || packet->dlid > 2)
		return;
	m = &w->ways[w->way_count++];
	m->from = from->lid;
	m->to = packet->dlid;
	memcpy(m->bytes, packet->payload, MAD_BYTES);
}

static void deliver(struct peer *to, uint16_t from, const uint8_t *bytes, size_t length)
{
	uint8_t *exact = fuzz_exact(bytes, length);
	struct ib_packet packet = small_packet(from, to->lid, exact, length);
	struct mad_header h = { 0 };

	if (length >= MAD_HEADER_BYTES)
		mad_header_get(exact, &h);
	if (h.mgmt_class == MAD_CLASS_SUBN_ADM)
		sa_server_sm_ops.receive(to->server, &packet);
	else if (length == MAD_BYTES) /* what the SM lets through */
		sa_server_sm_ops.receive_peer(to->server, &packet);
	free(exact);
}

static void pass_on(struct world *w, uint8_t damage)
{
	struct mad_on_way ways[MADS_MAX];
	unsigned int count = w->way_count;

	memcpy(ways, w->ways, sizeof(ways));
	w->way_count = 0;
	for (unsigned int i = 0; i < count; i++) {
		if (damage & 1)
			ways[i].bytes[damage] ^= damage;
		if (ways[i].to == 1 || ways[i].to == 2)
			deliver(&w->peers[ways[i].to - 1], ways[i].from, ways[i].bytes,
				MAD_BYTES);
	}
}

/* What fits on what it has asked, of one segment. */
static void feed(struct world *w, struct fuzz_input *in, uint8_t attribute)
{
	uint8_t mad[MAD_BYTES] = { 0 };
	struct mad_header h = { .base_version = 1,
				.mgmt_class = SM_PEER_CLASS,
				.class_version = 1,
				.method = MAD_METHOD_SEND,
				.tid = 0x1000 + ++w->tid,
				.attr_id = attribute };
	struct rmpp_header rmpp = { .version = 1,
				    .type = RMPP_DATA,
				    .flags = RMPP_ACTIVE | RMPP_FIRST | RMPP_LAST,
				    .segment = 1 };
	size_t n;

	mad_header_put(mad, &h);
	memcpy(mad + PEER_HEAD, w->follow + PEER_HEAD, FIELDS);
	n = fuzz_bytes(in, mad + PEER_HEAD + FIELDS, MAD_BYTES - PEER_HEAD - FIELDS);
	mad[PEER_HEAD + 31] = (uint8_t)n;
	rmpp.payload_length = (uint32_t)(PEER_HEAD - RMPP_HEADER_BYTES + FIELDS + n);
	rmpp_header_put(mad, &rmpp);
	deliver(&w->peers[1], 1, mad, sizeof(mad));
}

static void raw(struct world *w, struct fuzz_input *in, uint8_t how)
{
	uint8_t bytes[MAD_BYTES] = { 0 };

	fuzz_bytes(in, bytes, sizeof(bytes));
	bytes[1] = how & 8 ? SM_PEER_CLASS : bytes[1];
	deliver(&w->peers[how & 1], how >> 4, bytes, sizeof(bytes));
}

static void change(struct world *w, uint8_t how)
{
	uint8_t mad[MAD_BYTES] = { 0 };
	struct mad_header h = { .base_version = 1,
				.mgmt_class = MAD_CLASS_SUBN_ADM,
				.class_version = 2,
				.method = how & 8 ? MAD_METHOD_DELETE : MAD_METHOD_SET,
				.tid = ++w->tid,
				.attr_id = SA_MCMEMBER_RECORD };
	struct sa_header sa = { .comp_mask = CREATE_MASK };
	struct sa_mcmember rec = { .mgid = { .raw = { 0xff, 0x12, [15] = how & 3 } },
				   .pkey = 0xffff,
				   .join_state = 1 + (how >> 4) % 8 };
	uint16_t host = (uint16_t)(1 + how % HOSTS);

	small_gid(&rec.port_gid, SMALL_PREFIX, small_guid(host));
	mad_header_put(mad, &h);
	sa_header_put(mad, &sa);
	sa_mcmember_put(mad + SA_DATA, &rec);
	deliver(&w->peers[0], host, mad, sizeof(mad));
}

static void turn(struct peer *p, bool up)
{
	if (up == p->up)
		return;
	p->up = up;
	if (up) {
		sa_server_sm_ops.inherit(p->server);
		sa_server_sm_ops.up(p->server);
	} else {
		sa_server_sm_ops.down(p->server);
	}
}

static void pass_time(struct world *w, uint64_t ns)
{
	uint64_t end = w->timers.now_ns + ns;

	while (timer_queue_next(&w->timers) <= end)
		timer_queue_run(&w->timers, timer_queue_next(&w->timers));
	timer_queue_run(&w->timers, end);
}

static void step(struct world *w, struct fuzz_input *in)
{
	uint8_t what = fuzz_byte(in), how = fuzz_byte(in);

	switch (what % 9) {
	case 0:
		raw(w, in, how);
		break;
	case 1:
		if (!w->peers[1].up)
			sa_server_sm_ops.follow(w->peers[1].server, 2, 1);
		break;
	case 2:
		feed(w, in, CHANGES);
		break;
	case 3:
		feed(w, in, DATABASE);
		break;
	case 4:
		change(w, how);
		break;
	case 5:
		pass_on(w, how);
		break;
	case 6:
		pass_time(w, how * 10 * TIMER_MS);
		break;
	case 7:
		turn(&w->peers[how & 1], how & 2);
		break;
	default:
		if (w->peers[how & 1].up)
			sa_server_sm_ops.port_out(w->peers[how & 1].server,
						  small_guid(1 + how % HOSTS));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct world *w = calloc(1, sizeof(*w));
	struct sa_server_config config = { 0 };

	if (!w)
		abort();
	timer_queue_init(&w->timers, 0, NULL, NULL);
	random_seed(&w->random, 1);
	config.timers = &w->timers;
	config.random = &w->random;
	for (unsigned int i = 0; i < 2; i++) {
		struct peer *p = &w->peers[i];

		p->world = w;
		p->lid = (uint16_t)(1 + i);
		small_subnet_init(&p->sm, HOSTS, &w->timers);
		p->sm.host_ports[2][1].info.cap_mask |= SMP_CAP_SM;
		p->sm.sent = sent;
		p->sm.arg = p;
		if (sa_server_create(&config, &p->server) < 0)
			abort();
		sa_server_set_sm(p->server, &p->sm);
	}
	turn(&w->peers[0], true);
	for (unsigned int i = 0; i < STEPS_MAX && in.size; i++)
		step(w, &in);
	for (unsigned int i = 0; i < 2; i++)
		sa_server_destroy(w->peers[i].server);
	for (unsigned int i = 0; i < 2; i++)
		small_subnet_fini(&w->peers[i].sm);
	if (timer_queue_next(&w->timers) != UINT64_MAX)
		abort();
	free(w);
	return 0;
}
