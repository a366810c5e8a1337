// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client apps_umad
/*
 * Path bits, from one node to another: by which of its LIDs a port sends, and by which it
 * was reached. Datagrams and management datagrams are answered to where they came from, as
 * their completions and addresses say, and each answer comes by the same two LIDs.
 *
 *	path_bits hear COUNT		says "at QPN", and answers so many datagrams
 *	path_bits say LID LMC QPN GID	sends 2 * 4^LMC of them, and wants answers
 *	path_bits manage LID LMC	gets what every port has, by QP0 and QP1
 */
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "umad.h"

#define DEPTH 4

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct client_qp q;

static void open_all(void)
{
	context = client_open();
	CHECK(client_infiniband());
	pd = ibv_alloc_pd(context);
	CHECK(pd);
	client_qp_open(&q, pd, DEPTH);
}

static void close_all(void)
{
	client_qp_close(&q);
	CHECK(!ibv_dealloc_pd(pd));
	CHECK(!ibv_close_device(context));
}

/* -- datagrams --------------------------------------------------------------------------- */

static void hear(unsigned int count)
{
	open_all();
	client_post_recvs(&q, DEPTH);
	printf("at %u\n", q.qp->qp_num);
	fflush(stdout);
	for (unsigned int i = 0; i < count; i++) {
		struct ibv_wc wc = client_wait(&q);
		struct ibv_grh *grh =
			(struct ibv_grh *)(q.memory +
					   wc.wr_id * (CLIENT_GRH + CLIENT_BYTES));
		struct ibv_ah *ah = ibv_create_ah_from_wc(pd, &wc, grh, 1);

		CHECK(ah);
		client_send(&q, ah, wc.src_qp, client_got(&q, (unsigned int)wc.wr_id));
		CHECK(!ibv_destroy_ah(ah));
		CHECK(!client_post_recv(&q, (unsigned int)wc.wr_id));
	}
	close_all();
}

static struct ibv_ah *create_ah(uint16_t dlid, uint8_t bits, const union ibv_gid *dgid)
{
	struct ibv_ah_attr attr = {
		.dlid = dlid,
		.src_path_bits = bits,
		.port_num = 1,
		.is_global = dgid != NULL,
		.grh = { .hop_limit = 1 },
	};
	struct ibv_ah *ah;

	if (dgid)
		attr.grh.dgid = *dgid;
	ah = ibv_create_ah(pd, &attr);
	CHECK(ah);
	return ah;
}

static void say_by(uint16_t lid, uint8_t to, uint8_t from, uint32_t qpn,
		   const union ibv_gid *dgid)
{
	struct ibv_ah *ah = create_ah((uint16_t)(lid + to), from, dgid);
	struct ibv_wc wc;

	client_send(&q, ah, qpn, (char)(to * 16 + from));
	wc = client_wait(&q);
	CHECK(client_got(&q, (unsigned int)wc.wr_id) == (char)(to * 16 + from));
	CHECK(wc.src_qp == qpn);
	CHECK(wc.slid == lid + to);
	CHECK(wc.dlid_path_bits == from);
	CHECK(!!(wc.wc_flags & IBV_WC_GRH) == !!dgid);
	CHECK(!client_post_recv(&q, (unsigned int)wc.wr_id));
	CHECK(!ibv_destroy_ah(ah));
}

/* `dgid`: where the LIDs are. */
static void say(uint16_t lid, unsigned int lmc, uint32_t qpn, const union ibv_gid *dgid)
{
	struct ibv_port_attr attr;

	open_all();
	CHECK(!ibv_query_port(context, 1, &attr));
	CHECK(attr.lmc == lmc);
	CHECK(attr.lid % (1u << lmc) == 0);
	client_post_recvs(&q, DEPTH);
	for (unsigned int i = 0; i < 1u << 2 * lmc; i++) {
		uint8_t to = (uint8_t)(i >> lmc), from = (uint8_t)(i & ((1u << lmc) - 1));

		say_by(lid, to, from, qpn, NULL);
		say_by(lid, to, from, qpn, dgid);
	}
	CHECK(client_idle(&q));
	close_all();
}

/* -- management datagrams ------------------------------------------------------------------ */

#define NODE_INFO     0x11
#define PORT_COUNTERS 0x12
#define PERF          0x04
#define SUBN_LID      0x01

static void ask(const struct client_port *p, int agent, uint8_t mgmt_class, uint32_t qpn,
		uint16_t lid, uint8_t bits)
{
	static struct client_mad sent, got;
	static uint32_t tid;
	int length = MAD_BYTES;

	memset(&sent, 0, sizeof(sent));
	memset(&got, 0, sizeof(got));
	client_mad_header(&sent, mgmt_class, 1, UMAD_METHOD_GET,
			  mgmt_class == PERF ? PORT_COUNTERS : NODE_INFO, ++tid);
	sent.mad[65] = 1; /* of port counters: the port */
	umad_set_addr(&sent, lid, (int)qpn, 0, qpn ? (int)GSI_QKEY : 0);
	sent.umad.addr.path_bits = bits;
	CHECK(!umad_send(p->id, agent, &sent, MAD_BYTES, WAIT_MS, 0));
	CHECK(umad_recv(p->id, &got, &length, WAIT_MS) == agent);
	CHECK(umad_status(&got) == 0);
	CHECK(length == MAD_BYTES);
	CHECK(be16toh(got.umad.addr.lid) == lid);
	CHECK(got.umad.addr.path_bits == bits);
}

static void manage(uint16_t lid, unsigned int lmc)
{
	struct client_port p;
	int smi, gsi;

	client_port_open(&p);
	CHECK(p.attr.lmc == lmc);
	smi = umad_register(p.id, SUBN_LID, 1, 0, NULL);
	gsi = umad_register(p.id, PERF, 1, 0, NULL);
	CHECK(smi >= 0 && gsi >= 0);
	for (unsigned int i = 0; i < 1u << 2 * lmc; i++) {
		uint8_t bits = (uint8_t)(i & ((1u << lmc) - 1));

		ask(&p, smi, SUBN_LID, 0, (uint16_t)(lid + (i >> lmc)), bits);
		ask(&p, gsi, PERF, 1, (uint16_t)(lid + (i >> lmc)), bits);
	}
	client_port_close(&p);
}

static unsigned int number(const char *text)
{
	return (unsigned int)strtoul(text, NULL, 0);
}

int main(int argc, char **argv)
{
	union ibv_gid gid;

	if (argc == 3 && !strcmp(argv[1], "hear")) {
		hear(number(argv[2]));
	} else if (argc == 6 && !strcmp(argv[1], "say")) {
		gid = client_gid(argv[5]);
		say((uint16_t)number(argv[2]), number(argv[3]), number(argv[4]), &gid);
	} else if (argc == 4 && !strcmp(argv[1], "manage")) {
		manage((uint16_t)number(argv[2]), number(argv[3]));
	} else {
		return 2;
	}
	return 0;
}
