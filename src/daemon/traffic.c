/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/traffic.h"

/* LRH, BTH, DETH and ICRC. Datagrams with a GRH do not tell, so it is not counted. */
#define HEADER_BYTES 32u

struct reading {
	const struct slots *slots;
	struct traffic_sum sum;
};

static void add(struct traffic_sum *sum, const struct shm_counters *counters,
		uint32_t index)
{
	const struct shm_qp_counters *c;

	if (index >= SHM_QP_COUNTERS)
		return;
	c = &counters->qps[index];
	sum->sent += shm_count(&c->sent);
	sum->sent_bytes += shm_count(&c->sent_bytes);
	sum->received += shm_count(&c->received);
	sum->received_bytes += shm_count(&c->received_bytes);
}

void traffic_qp_left(struct traffic *t, const struct shm_counters *counters,
		     uint32_t index)
{
	add(&t->left, counters, index);
}

static void read_qp(void *arg, const struct hca_qp_view *qp)
{
	struct reading *r = arg;
	struct slot_view p;

	if (slots_view(r->slots, qp->slot, &p))
		add(&r->sum, p.counters, qp->counters);
}

/* What a program wrote over its counters may be less than it was. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void traffic_tell(struct traffic *t, const struct slots *slots,
		  const struct hca_device *device, struct fabric_port *port)
{
	struct reading r = { .slots = slots, .sum = t->left };
	const struct traffic_sum *now = &r.sum, *told = &t->told;
	uint64_t sent, received;

	hca_device_each_qp(device, read_qp, &r);
	sent = since(now->sent, told->sent);
	received = since(now->received, told->received);
	fabric_port_count(port,
			  since(now->sent_bytes, told->sent_bytes) + sent * HEADER_BYTES,
			  sent,
			  since(now->received_bytes, told->received_bytes) +
				  received * HEADER_BYTES,
			  received);
	t->told = r.sum;
}
