/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast-bench-umad-joins: joins a second through libibumad, whosever it is, with
 * whatever subnet administrator answers. Prints one line of NAME=VALUE.
 *
 *	--window W	requests under way (8)
 *	--count N	joins and leaves of the port itself, the same few groups again (4000)
 *	--groups G --members M --leaves L --hosts H --spines S
 *			instead: G groups of M hosts of a two-level fabric, joined by this
 *			port for them; then the leaves' multicast tables are read until each
 *			member's bit is set, by directed routes over the first spine
 *
 * Hosts are those of a netlist without GUIDs: the n-th has the port GUID that ibsim gives.
 */
#include <endian.h>
#include <getopt.h>
#include <infiniband/umad.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_sm.h>
#include <infiniband/umad_types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MAD_BYTES   256
#define GSI_QKEY    0x80010000
#define TIMEOUT_MS  2000
#define RETRIES     3
#define WAIT_MS     20000
#define FIRST_GUID  0x100001u
#define OWN_GROUPS  16u
#define ATTR_MFT    0x1b
#define ROWS        32u
#define FIRST_MLID  0xc000u
#define BY_MGID     (1 << 0 | 1 << 1 | 1 << 16) /* MGID, port GID, join state */
#define WITH_VALUES (1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13)

struct buffer {
	struct ib_user_mad umad;
	uint8_t mad[MAD_BYTES];
};

static struct {
	unsigned int window, count, groups, members, leaves, hosts, spines;
} options = { .window = 8, .count = 4000 };

static umad_port_t port;
static int id, sa_agent, smp_agent;
static uint16_t *mlids; /* by group */

static void die(const char *why)
{
	fprintf(stderr, "verbcast-bench-umad-joins: %s\n", why);
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* -- members ------------------------------------------------------------------------ */

struct member {
	uint32_t group;
	uint64_t port_guid;
};

/* The n-th of a run: of the port itself, or of a host, groups by turns. */
static struct member member_of(unsigned int n)
{
	struct member m = { n % OWN_GROUPS, be64toh(port.port_guid) };

	if (!options.groups)
		return m;
	m.group = n / options.members;
	m.port_guid = FIRST_GUID + 2ull * ((m.group * 7 + n % options.members * 11) %
					   (options.leaves * options.hosts));
	return m;
}

static void send_member(unsigned int n, uint8_t method)
{
	struct member m = member_of(n);
	struct buffer b = { .mad = { 1, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION,
				     method } };
	struct umad_sa_packet *sa = (void *)b.mad;
	uint64_t guid = htobe64(m.port_guid);
	uint32_t number = htobe32(m.group);
	bool joins = method == UMAD_METHOD_SET;

	sa->mad_hdr.tid = htobe64(n);
	sa->mad_hdr.attr_id = htobe16(UMAD_SA_ATTR_MCMEMBER_REC);
	sa->comp_mask = htobe64(joins ? BY_MGID | WITH_VALUES : BY_MGID);
	memcpy(sa->data, "\xff\x12\xa0\x1c\xbe", 5);
	memcpy(sa->data + 12, &number, 4);
	memcpy(sa->data + 16, &port.gid_prefix, 8);
	memcpy(sa->data + 24, &guid, 8);
	if (joins)
		memcpy(sa->data + 32, "\x00\x00\x12\x34", 4);
	memcpy(sa->data + 40, "\xff\xff", 2);
	sa->data[48] = 1;
	umad_set_addr(&b, port.sm_lid, 1, port.sm_sl, (int)GSI_QKEY);
	if (umad_send(id, sa_agent, &b, MAD_BYTES, TIMEOUT_MS, RETRIES) < 0)
		die("cannot send");
}

static void take_answer(void)
{
	struct buffer b;
	struct umad_sa_packet *sa = (void *)b.mad;
	int length = MAD_BYTES;
	uint16_t mlid;

	if (umad_recv(id, &b, &length, WAIT_MS) < 0)
		die("no answer");
	if (umad_status(&b.umad) || sa->mad_hdr.status) {
		fprintf(stderr, "status %d, 0x%04x\n", umad_status(&b.umad),
			be16toh(sa->mad_hdr.status));
		die("refused");
	}
	if (!options.groups)
		return;
	memcpy(&mlid, sa->data + 36, 2);
	mlids[member_of((uint32_t)be64toh(sa->mad_hdr.tid)).group] = be16toh(mlid);
}

static unsigned int asked; /* so far */

static void ask_all(unsigned int count, uint8_t method)
{
	unsigned int sent = 0, answered = 0;

	asked += count;
	while (answered < count) {
		while (sent < count && sent - answered < options.window)
			send_member(sent++, method);
		take_answer();
		answered++;
	}
}

static void measure(const char *name, unsigned int count, uint8_t method)
{
	double began = now_s(), cpu = cpu_s();

	ask_all(count, method);
	printf("%s_per_s=%.0f %s_cpu_us=%.2f ", name, count / (now_s() - began), name,
	       (cpu_s() - cpu) / count * 1e6);
}

/* -- multicast tables --------------------------------------------------------------- */

/* Rows of 32 MLIDs, of 16 ports each. */
static void read_table(unsigned int leaf, uint32_t block, unsigned int position,
		       uint16_t rows[ROWS])
{
	struct buffer b = { .mad = { 1, UMAD_CLASS_SUBN_DIRECTED_ROUTE, 1,
				     UMAD_METHOD_GET } };
	struct umad_smp *smp = (void *)b.mad;
	int length = MAD_BYTES;

	smp->hop_cnt = leaf ? 3 : 1;
	smp->tid = htobe64(1);
	smp->attr_id = htobe16(ATTR_MFT);
	smp->attr_mod = htobe32(position << 28 | block);
	smp->dr_slid = smp->dr_dlid = 0xffff;
	smp->initial_path[1] = 1;
	smp->initial_path[2] = (uint8_t)(options.hosts + 1);
	smp->initial_path[3] = (uint8_t)(leaf + 1);
	umad_set_addr(&b, 0xffff, 0, 0, 0);
	if (umad_send(id, smp_agent, &b, MAD_BYTES, TIMEOUT_MS, RETRIES) < 0 ||
	    umad_recv(id, &b, &length, WAIT_MS) < 0 || umad_status(&b.umad) ||
	    smp->status & htobe16(0x7fff))
		die("a table cannot be read");
	memcpy(rows, smp->data, ROWS * sizeof(*rows));
}

static uint16_t (*wanted)[2][ROWS]; /* [block * leaves + leaf][position] */

static void want_all(void)
{
	unsigned int blocks = options.groups / ROWS + 2;

	wanted = calloc((size_t)blocks * options.leaves, sizeof(*wanted));
	for (unsigned int n = 0; n < options.groups * options.members; n++) {
		struct member m = member_of(n);
		unsigned int host = (unsigned int)(m.port_guid - FIRST_GUID) / 2;
		unsigned int out = host % options.hosts + 1;
		unsigned int row = mlids[m.group] - FIRST_MLID;

		if (row / ROWS >= blocks || out / 16 > 1)
			die("a table is larger than expected");
		wanted[row / ROWS * options.leaves + host / options.hosts][out / 16]
		      [row % ROWS] |= htobe16((uint16_t)(1u << out % 16));
	}
}

static bool is_set(unsigned int i)
{
	for (unsigned int position = 0; position < 2; position++) {
		static const uint16_t nothing[ROWS];
		uint16_t rows[ROWS];

		/* Nor need the switch have such a position. */
		if (memcmp(wanted[i][position], nothing, sizeof(nothing)) == 0)
			continue;
		read_table(i % options.leaves, i / options.leaves, position, rows);
		for (unsigned int r = 0; r < ROWS; r++)
			if (wanted[i][position][r] & ~rows[r])
				return false;
	}
	return true;
}

/* When, after the last answer, a table was last seen that was not as it should be; 0: none
 * was, and whatever is later is our own reading. */
static void measure_tables(void)
{
	unsigned int count = (options.groups / ROWS + 2) * options.leaves;
	double answered = now_s(), unset = answered;

	want_all();
	for (unsigned int i = 0; i < count; i++) {
		while (!is_set(i)) {
			unset = now_s();
			if (unset - answered > 60)
				die("a table is not as it should be");
		}
	}
	printf("tables_ms=%.2f ", (unset - answered) * 1e3);
}

/* ------------------------------------------------------------------------------------ */

static void read_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "window", 1, NULL, 'w' }, { "count", 1, NULL, 'c' },
		{ "groups", 1, NULL, 'g' }, { "members", 1, NULL, 'm' },
		{ "leaves", 1, NULL, 'l' }, { "hosts", 1, NULL, 'h' },
		{ "spines", 1, NULL, 's' }, { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		unsigned int *const fields[] = {
			['w'] = &options.window, ['c'] = &options.count,
			['g'] = &options.groups, ['m'] = &options.members,
			['l'] = &options.leaves, ['h'] = &options.hosts,
			['s'] = &options.spines,
		};

		if (c == '?')
			exit(2);
		*fields[c] = (unsigned int)strtoul(optarg, NULL, 10);
	}
	if (!options.window || (options.groups && !options.leaves))
		die("wrong use");
}

int main(int argc, char **argv)
{
	unsigned int count;

	read_options(argc, argv);
	if (umad_init() < 0 || umad_get_port(NULL, 0, &port) < 0)
		die("no port");
	id = umad_open_port(port.ca_name, port.portnum);
	if (id < 0)
		die("the port cannot be opened");
	sa_agent = umad_register(id, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION, 0, NULL);
	smp_agent = umad_register(id, UMAD_CLASS_SUBN_DIRECTED_ROUTE, 1, 0, NULL);
	if (sa_agent < 0 || smp_agent < 0)
		die("no agent");
	count = options.groups ? options.groups * options.members : options.count;
	mlids = calloc(options.groups + 1, sizeof(*mlids));
	measure("join", count, UMAD_METHOD_SET);
	if (options.groups)
		measure_tables();
	else
		measure("rejoin", count, UMAD_METHOD_SET);
	printf("window=%u asked=%u own_cpu_us=%.2f\n", options.window, asked,
	       cpu_s() / asked * 1e6);
	ask_all(options.groups ? 0 : OWN_GROUPS, UMAD_SA_METHOD_DELETE);
	umad_close_port(id);
	return 0;
}
