// SPDX-License-Identifier: BSD-2-Clause
// links: vc_fabric_net
/*
 * A small fabric against whoever sits at its ports: whatever MADs he sends, and whatever
 * cables are pulled meanwhile, it stays whole, and every walk through its tables ends.
 *
 * The input is a list of acts, 96 bytes each: who, what, a LID, a header of 24 bytes, the
 * first hops of both paths, and attribute data.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/net/fabric.h"

#define ACT_BYTES 96u
#define ACTS_MAX  200u
#define HOSTS     4u
#define SWITCHES  2u

enum act_kind {
	ACT_SMP,
	ACT_GMP,
	ACT_LINK,
	ACT_POWER,
	ACT_KINDS
};

struct world {
	struct timer_queue timers;
	struct random random;
	struct fabric *fabric;
};

static void count_one(void *arg, struct fabric_port *reached)
{
	struct fabric_port_info info;

	fabric_port_info(reached, &info);
	++*(unsigned int *)arg;
}

static void receive(void *arg, const struct ib_packet *packet)
{
	if (packet->length != MAD_BYTES)
		abort();
}

static void changed(void *arg, unsigned int changes)
{
	if (!changes)
		abort();
}

static const struct fabric_port_ops ops = { .receive = receive, .changed = changed };

static struct fabric_port *port_of(struct fabric *f, uint8_t who)
{
	who %= HOSTS + SWITCHES;
	return who < HOSTS ? fabric_hca_port(f, who) : fabric_switch_port(f, who - HOSTS);
}

static void send_mad(struct world *w, const uint8_t *act, uint32_t qp)
{
	uint8_t mad[MAD_BYTES] = { 0 };
	struct ib_packet packet = {
		.dlid = (uint16_t)(act[2] << 8 | act[3]),
		.pkey = 0xffff,
		.dest_qp = qp,
		.payload = mad,
		.length = sizeof(mad),
	};

	memcpy(mad, act + 4, MAD_HEADER_BYTES);
	mad[0] = mad[2] = 1;
	mad[1] = qp ? MAD_CLASS_PERF : mad[1] & 0x80 ? 0x81 : 0x01;
	memset(mad + SMP_DR_SLID, 0xff, 4);
	memcpy(mad + SMP_INITIAL_PATH, act + 28, 4);
	memcpy(mad + SMP_RETURN_PATH, act + 32, 4);
	memcpy(mad + SMP_DATA, act + 36, ACT_BYTES - 36);
	fabric_port_send(port_of(w->fabric, act[0]), &packet);
}

static void perform(struct world *w, const uint8_t *act)
{
	static const char *const names[] = { "h1", "h2", "h3", "h4", "s1", "s2" };
	const char *name = names[act[0] % (HOSTS + SWITCHES)];

	switch (act[1] % ACT_KINDS) {
	case ACT_SMP:
		send_mad(w, act, IB_QP_SMI);
		break;
	case ACT_GMP:
		send_mad(w, act, IB_QP_GSI);
		break;
	case ACT_LINK:
		fabric_link_set(w->fabric, name, act[2], act[3] & 1);
		break;
	case ACT_POWER:
		fabric_power_set(w->fabric, name, act[3] & 1);
		break;
	}
}

static void run(struct world *w)
{
	/* Firmware answers once, and hears of a repress once: no more than so many. */
	for (int i = 0; i < 10 && timer_queue_next(&w->timers) <= w->timers.now_ns; i++)
		timer_queue_run(&w->timers, w->timers.now_ns);
	if (timer_queue_next(&w->timers) <= w->timers.now_ns)
		abort();
}

static void walk_all(struct world *w)
{
	for (uint8_t who = 0; who < HOSTS + SWITCHES; who++) {
		struct fabric_port *p = port_of(w->fabric, who);
		unsigned int copies = 0;

		for (uint16_t lid = 0; lid < 64; lid++)
			fabric_walk_unicast(p, lid, 0xffff);
		for (uint16_t mlid = 0xc000; mlid < 0xc020; mlid++)
			fabric_walk_multicast(p, mlid, 0xffff, count_one, &copies);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { 0 };
	struct fabric_config config = { .timers = &w.timers, .random = &w.random };
	struct topology *t;

	timer_queue_init(&w.timers, 0, NULL, NULL);
	random_seed(&w.random, size);
	if (topology_ring(SWITCHES, HOSTS / SWITCHES, 1, &t) < 0)
		abort();
	config.topology = t;
	if (fabric_create(&config, &w.fabric) < 0)
		abort();
	topology_destroy(t);
	for (uint8_t who = 0; who < HOSTS + SWITCHES; who++)
		fabric_port_attach(port_of(w.fabric, who), &ops, NULL);
	for (size_t i = 0; i < size / ACT_BYTES && i < ACTS_MAX; i++) {
		perform(&w, data + i * ACT_BYTES);
		run(&w);
		timer_queue_run(&w.timers, w.timers.now_ns + 100 * TIMER_MS);
	}
	walk_all(&w);
	fabric_destroy(w.fabric);
	return 0;
}
