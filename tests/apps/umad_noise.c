// SPDX-License-Identifier: BSD-2-Clause
// links: apps_umad
/*
 * Nonsense to everybody: MADs that are wrong in their header, with anything behind it, by
 * LID and by directed route, to nodes, switches, the subnet administrator, and nobody.
 *
 *	umad_noise COUNT SEED
 *
 * Nothing of it is waited for; it ends when a request that is good is answered again.
 */
#include <stdbool.h>

#include "umad.h"

#define LIDS 12

static uint64_t state;

/* Marsaglia's xorshift. */
static uint32_t any(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % below;
}

static const uint8_t classes[] = { 0x01, 0x81, 0x03, 0x04, 0x07, 0x21, 0x32, 0x0a, 0x00 };
static const uint8_t methods[] = { 0x01, 0x02, 0x03, 0x05, 0x06, 0x12, 0x15, 0x81, 0x92 };
static const uint16_t attributes[] = { 0x01, 0x02, 0x10, 0x11, 0x12, 0x14,
				       0x15, 0x16, 0x17, 0x18, 0x19, 0x1b,
				       0x1d, 0x20, 0x31, 0x35, 0x38 };

#define ONE_OF(list) (list)[any(sizeof(list) / sizeof((list)[0]))]

/* What is right but for one thing. */
static void fill(struct client_mad *b)
{
	struct umad_hdr *h = umad_get_mad(&b->umad);

	for (size_t i = 0; i < MAD_BYTES; i++)
		b->mad[i] = (uint8_t)any(256);
	h->base_version = 1;
	h->mgmt_class = ONE_OF(classes);
	h->class_version = h->mgmt_class == 0x03 ? 2 : 1;
	h->method = ONE_OF(methods);
	h->status = 0;
	h->attr_id = htobe16(ONE_OF(attributes));
	h->attr_mod = any(2) ? 0 : h->attr_mod;
	switch (any(5)) {
	case 0:
		h->base_version = (uint8_t)(2 + any(250));
		break;
	case 1:
		h->class_version = (uint8_t)(3 + any(250));
		break;
	case 2:
		h->method = (uint8_t)(0x20 + any(0x50));
		break;
	case 3:
		h->attr_id = htobe16((uint16_t)(0x400 + any(0xf000)));
		break;
	default: /* a route with more hops than there can be */
		h->mgmt_class = 0x81;
		b->mad[6] = (uint8_t)(1 + any(255));
		b->mad[7] = (uint8_t)(64 + any(192));
		break;
	}
}

static void address(struct client_mad *b)
{
	bool smi = (b->mad[1] & 0x7f) == 1;

	if (any(20) == 0)
		smi = !smi;
	umad_set_addr(&b->umad, b->mad[1] == 0x81 ? 0xffff : (int)any(LIDS), smi ? 0 : 1,
		      (int)any(16),
		      smi       ? 0
		      : any(10) ? (int)GSI_QKEY
				: (int)any(0x7fffffff));
}

static void drain(int id)
{
	struct client_mad b;
	int length;

	do
		length = MAD_BYTES;
	while (umad_recv(id, &b, &length, 0) >= 0);
}

/* After all of it the port's own firmware answers. */
static void is_well(int id, int agent)
{
	struct client_mad b = { 0 };
	struct umad_hdr *h = client_mad_header(&b, UMAD_CLASS_SUBN_DIRECTED_ROUTE, 1,
					       UMAD_METHOD_GET, 0x11, 4711);

	memset(b.mad + 32, 0xff, 4);
	umad_set_addr(&b.umad, 0xffff, 0, 0, 0);
	CHECK(umad_send(id, agent, &b, MAD_BYTES, 1000, 5) == 0);
	for (;;) {
		int length = MAD_BYTES;

		CHECK(umad_recv(id, &b, &length, WAIT_MS) >= 0);
		if ((uint32_t)be64toh(h->tid) == 4711)
			break;
	}
	CHECK(umad_status(&b.umad) == 0 && h->method == UMAD_METHOD_GET_RESP);
}

int main(int argc, char **argv)
{
	unsigned long count, sent = 0;
	int id, smi, gsi;
	struct client_mad b;

	CHECK(argc == 3);
	count = strtoul(argv[1], NULL, 10);
	state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15 | 1;
	CHECK(umad_init() == 0 && (id = umad_open_port(NULL, 0)) >= 0);
	smi = umad_register(id, UMAD_CLASS_SUBN_DIRECTED_ROUTE, 1, 0, NULL);
	gsi = umad_register(id, UMAD_CLASS_PERF_MGMT, 1, 0, NULL);
	CHECK(smi >= 0 && gsi >= 0);
	for (unsigned long n = 0; n < count; n++) {
		memset(&b, 0, sizeof(b));
		fill(&b);
		address(&b);
		/* One in eight is cut short, too. */
		if (umad_send(id, any(2) ? smi : gsi, &b,
			      any(8) ? MAD_BYTES : (int)any(MAD_BYTES), 0, 0) == 0)
			sent++;
		drain(id);
	}
	is_well(id, smi);
	CHECK(umad_close_port(id) == 0);
	umad_done();
	printf("%lu sent\n", sent);
	return 0;
}
