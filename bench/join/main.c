/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast-bench-join: CPU time of joins and leaves on InfiniBand, from the SA client's call
 * to its callback: client, MADs, a switch, SA, SM and the switch's tables, in one process and
 * in virtual time without latency. The question is whether a join costs more where much is
 * joined already. `--short` stops before the large rows.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/sa/ib_sa.h"
#include "fabric/net/fabric.h"
#include "fabric/sa/sa_server.h"
#include "fabric/sm/sm.h"

#define STANDING 100u /* hosts of the members that stay */
#define COMING   28u  /* hosts of those that come and go */
#define HOSTS    (STANDING + COMING)
#define BATCH    280u /* that join together */
#define JOINS    14000u
#define LIMIT_NS (600000 * TIMER_MS)
#define MASK                                                                             \
	(SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_JOIN_STATE | SA_MCM_QKEY | SA_MCM_PKEY | \
	 SA_MCM_TCLASS | SA_MCM_FLOW_LABEL | SA_MCM_SL)

struct row {
	unsigned int groups, hosts; /* that have each group joined */
};
static const struct row rows[] = {
	{ 1, 1 }, { 1, 100 }, { 100, 100 }, { 10000, 1 }, { 10000, 10 }
};
#define SHORT_ROWS 2u

struct host {
	struct ib_device ib;
	struct ib_node *node;
	struct ib_mad *mad;
	struct ib_sa *sa;
	struct ib_sa_client client;
	struct fabric_port *port;
	union ib_gid gid;
};

static struct bench {
	struct timer_queue timers;
	struct random random;
	struct topology *topology;
	struct fabric *fabric;
	struct fabric_port *sm_port;
	struct sa_server *server;
	struct sm *sm;
	struct host hosts[HOSTS];
	struct ib_sa_multicast **standing;
	struct ib_sa_multicast *coming[BATCH];
	unsigned int answered, refused;
} b;

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* -- hosts ------------------------------------------------------------------------------ */

static struct host *host_of(struct ib_device *ib)
{
	return container_of(ib, struct host, ib);
}

static int query_port(struct ib_device *ib, u32 port_num, struct ib_port_attr *attr)
{
	struct fabric_port_info info;

	fabric_port_info(host_of(ib)->port, &info);
	attr->state = (enum ib_port_state)info.info.state;
	attr->lid = info.info.lid;
	attr->sm_lid = info.info.sm_lid;
	attr->gid_tbl_len = attr->pkey_tbl_len = 1;
	return 0;
}

static int query_gid(struct ib_device *ib, u32 port_num, int index,
		     struct ib_gid_attr *attr)
{
	*attr = (struct ib_gid_attr){ .gid = host_of(ib)->gid, .port_num = port_num };
	return index ? -EINVAL : 0;
}

static int query_pkey(struct ib_device *ib, u32 port_num, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return index ? -EINVAL : 0;
}

static int post_mad(struct ib_device *ib, u32 port_num, const struct ib_packet *packet)
{
	return fabric_port_send(host_of(ib)->port, packet);
}

static void host_receive(void *arg, const struct ib_packet *packet)
{
	ib_receive_mad(&((struct host *)arg)->ib, 1, packet);
}

static void changed(void *arg, unsigned int changes)
{
}

static const struct fabric_port_ops host_ops = { .receive = host_receive,
						 .changed = changed };

static int host_begin(struct host *host, unsigned int n)
{
	struct ib_mad_config mad = { .timers = &b.timers, .random = &b.random };
	struct ib_sa_config sa = { .timers = &b.timers, .random = &b.random };
	struct fabric_port_info info;
	uint64_t guid;
	int r;

	host->port = fabric_hca_port(b.fabric, n);
	host->node = mad.node = sa.node = ib_node_create("h", n);
	host->ib = (struct ib_device){ .name = "vib0",
				       .node_type = RDMA_NODE_IB_CA,
				       .phys_port_cnt = 1,
				       .ops = { .query_port = query_port,
						.query_gid = query_gid,
						.query_pkey = query_pkey,
						.post_mad = post_mad } };
	r = host->node ? ib_register_device(&host->ib, host->node) : -ENOMEM;
	if (r == 0)
		r = ib_mad_create(&mad, &host->mad);
	sa.mad = host->mad;
	if (r == 0)
		r = ib_sa_create(&sa, &host->sa);
	ib_sa_register_client(&host->client);
	fabric_port_info(host->port, &info);
	guid = htobe64(info.port_guid);
	host->gid = (union ib_gid){ .raw = { 0xfe, 0x80 } };
	memcpy(host->gid.raw + 8, &guid, 8);
	fabric_port_attach(host->port, &host_ops, host);
	return r;
}

static void host_end(struct host *host)
{
	ib_sa_unregister_client(&host->client);
	ib_sa_destroy(host->sa);
	ib_mad_destroy(host->mad);
	fabric_port_attach(host->port, NULL, NULL);
	ib_unregister_device(&host->ib);
	ib_node_destroy(host->node);
}

/* -- the SM and its SA ------------------------------------------------------------------ */

static int sm_send(void *arg, const struct ib_packet *packet)
{
	return fabric_port_send(b.sm_port, packet);
}

static void sm_port_receive(void *arg, const struct ib_packet *packet)
{
	if (b.sm)
		sm_receive(b.sm, packet);
}

static int sm_begin(void)
{
	static const struct sm_port_ops port = { .send = sm_send };
	static const struct fabric_port_ops ops = { .receive = sm_port_receive,
						    .changed = changed };
	struct sa_server_config server = { .timers = &b.timers, .random = &b.random };
	struct sm_config config = { .timers = &b.timers,
				    .random = &b.random,
				    .port = &port,
				    .port_guid = 1,
				    .light_sweep_ns = LIMIT_NS,
				    .client = &sa_server_sm_ops };
	int r = sa_server_create(&server, &b.server);

	if (r < 0)
		return r;
	b.sm_port = fabric_switch_port(b.fabric, 0);
	fabric_port_attach(b.sm_port, &ops, NULL);
	config.client_arg = b.server;
	r = sm_create(&config, &b.sm);
	sa_server_set_sm(b.server, b.sm);
	return r;
}

/* All is quiet: what was asked is answered, and what was left is known. */
static void settle(void)
{
	while (timer_queue_next(&b.timers) <= b.timers.now_ns + 10000 * TIMER_MS)
		timer_queue_run(&b.timers, timer_queue_next(&b.timers));
}

/* -- members ---------------------------------------------------------------------------- */

static int outcome(int status, struct ib_sa_multicast *multicast)
{
	b.answered++;
	b.refused += status != 0;
	return 0;
}

static struct ib_sa_multicast *join(struct host *host, unsigned int group)
{
	struct ib_sa_mcmember_rec rec = { .qkey = htobe32(0x1234),
					  .pkey = htobe16(0xffff),
					  .port_gid = host->gid,
					  .join_state = SA_JOIN_FULL };
	be32 number = htobe32(group);

	rec.mgid = (union ib_gid){ .raw = { 0xff, 0x12 } };
	memcpy(rec.mgid.raw + 12, &number, sizeof(number));
	return ib_sa_join_multicast(&host->client, &host->ib, 1, &rec,
				    ib_sa_comp_mask_from_host(MASK), outcome, NULL);
}

static double stand(const struct row *row)
{
	double begin = cpu_s();

	b.standing = calloc((size_t)row->groups * row->hosts, sizeof(*b.standing));
	for (unsigned int g = 0; b.standing && g < row->groups; g++) {
		for (unsigned int h = 0; h < row->hosts; h++)
			b.standing[g * row->hosts + h] =
				join(&b.hosts[(g + h) % STANDING], g);
		if (g % BATCH == 0)
			settle();
	}
	settle();
	return cpu_s() - begin;
}

/* Every host of those that come joins ten groups, or as many as there are. */
static void come_and_go(const struct row *row, double *ret_join, double *ret_leave)
{
	unsigned int some = row->groups < BATCH / COMING ? row->groups : BATCH / COMING;

	*ret_join = *ret_leave = 0;
	for (unsigned int done = 0; done < JOINS; done += some * COMING) {
		unsigned int from = (unsigned int)random_below(&b.random, row->groups);
		double t[3];

		t[0] = cpu_s();
		for (unsigned int i = 0; i < some * COMING; i++)
			b.coming[i] = join(&b.hosts[STANDING + i / some],
					   (from + i % some) % row->groups);
		settle();
		t[1] = cpu_s();
		for (unsigned int i = 0; i < some * COMING; i++)
			ib_sa_free_multicast(b.coming[i]);
		settle();
		t[2] = cpu_s();
		*ret_join += t[1] - t[0];
		*ret_leave += t[2] - t[1];
	}
}

/* The second member of a port, which the SA need not hear of. */
static double join_again(const struct row *row)
{
	double begin = cpu_s();

	for (unsigned int done = 0; done < JOINS; done += BATCH) {
		for (unsigned int i = 0; i < BATCH; i++)
			b.coming[i] = join(&b.hosts[i % row->groups % STANDING],
					   i % row->groups);
		settle();
		for (unsigned int i = 0; i < BATCH; i++)
			ib_sa_free_multicast(b.coming[i]);
	}
	settle();
	return cpu_s() - begin;
}

/* -- a row ------------------------------------------------------------------------------ */

static int make(void)
{
	struct fabric_config config = { .timers = &b.timers, .random = &b.random };
	int r = topology_star(HOSTS, 1, &b.topology);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < b.topology->count; i++)
		if (b.topology->nodes[i].is_switch)
			b.topology->nodes[i].mft_cap = 16383;
	config.topology = b.topology;
	timer_queue_init(&b.timers, 0, NULL, NULL);
	random_seed(&b.random, 1);
	r = fabric_create(&config, &b.fabric);
	for (unsigned int n = 0; r == 0 && n < HOSTS; n++)
		r = host_begin(&b.hosts[n], n);
	if (r == 0)
		r = sm_begin();
	settle();
	return r;
}

static void end(const struct row *row)
{
	for (unsigned int i = 0; b.standing && i < row->groups * row->hosts; i++)
		ib_sa_free_multicast(b.standing[i]);
	free(b.standing);
	settle();
	for (unsigned int n = 0; n < HOSTS; n++)
		host_end(&b.hosts[n]);
	sm_destroy(b.sm);
	sa_server_destroy(b.server);
	fabric_destroy(b.fabric);
	topology_destroy(b.topology);
}

static bool run(const struct row *row)
{
	double standing, joining, leaving, again;
	unsigned int members = row->groups * row->hosts;
	bool good;

	memset(&b, 0, sizeof(b));
	if (make() < 0) {
		fprintf(stderr, "verbcast-bench-join: the subnet cannot be made\n");
		return false;
	}
	standing = stand(row);
	come_and_go(row, &joining, &leaving);
	again = join_again(row);
	good = b.answered >= members + 2 * JOINS && !b.refused;
	printf("%8u %8u %12.0f %12.0f %12.0f %12.0f%s\n", row->groups, members,
	       members / standing, JOINS / joining, JOINS / leaving, JOINS / again,
	       good ? "" : "  REFUSED");
	fflush(stdout);
	end(row);
	return good;
}

int main(int argc, char **argv)
{
	bool shorter = argc > 1 && strcmp(argv[1], "--short") == 0, good = true;

	printf("a CPU second; client, fabric, SA and SM together; %s\n", BENCH_BUILD);
	printf("%8s %8s %12s %12s %12s %12s\n", "groups", "members", "first joins",
	       "joins", "leaves", "local joins");
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (i < SHORT_ROWS || !shorter)
			good &= run(&rows[i]);
	return good ? 0 : 1;
}
