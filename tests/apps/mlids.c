// SPDX-License-Identifier: BSD-2-Clause
// links: ibumad
/*
 * A member that leaves by halves:
 *
 *	mlids TIMES
 *
 * creates a group of its own as full and send-only full member at once (0x9), leaves as the
 * one, then as the other, and does so for TIMES groups. It ends early when the subnet
 * administrator has no resources left, and with failure at anything else that is not
 * success.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAD_BYTES 256
#define SA_QKEY   0x80010000
#define WAIT_MS   20000

#define JOIN_BOTH       0x9
#define LEAVE_FULL      0x1
#define LEAVE_SEND_ONLY 0x8
#define NO_RESOURCES    0x0100

/* MGID, port GID, join state; and what creation takes besides. */
#define LEAVE_MASK  (1 << 0 | 1 << 1 | 1 << 16)
#define CREATE_MASK (LEAVE_MASK | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13)

#define CHECK(condition)                                                           \
	do {                                                                       \
		if (!(condition)) {                                                \
			fprintf(stderr, "%d: not true: %s (errno %d)\n", __LINE__, \
				#condition, errno);                                \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

static umad_port_t port;
static int id, agent;
static uint32_t tid;

struct buffer {
	struct ib_user_mad umad;
	uint8_t mad[MAD_BYTES];
};

static void ask(uint8_t method, uint64_t mask, uint32_t group, uint8_t join_state)
{
	struct buffer b = { 0 };
	struct umad_sa_packet *sa = umad_get_mad(&b.umad);
	uint8_t *record = sa->data;

	sa->mad_hdr.base_version = 1;
	sa->mad_hdr.mgmt_class = UMAD_CLASS_SUBN_ADM;
	sa->mad_hdr.class_version = UMAD_SA_CLASS_VERSION;
	sa->mad_hdr.method = method;
	sa->mad_hdr.attr_id = htobe16(UMAD_SA_ATTR_MCMEMBER_REC);
	sa->mad_hdr.tid = htobe64(++tid);
	sa->comp_mask = htobe64(mask);
	memcpy(record, "\xff\x12\xa0\x1d", 4);
	memcpy(record + 12, &(uint32_t){ htobe32(group) }, 4);
	memcpy(record + 16, &port.gid_prefix, 8);
	memcpy(record + 24, &port.port_guid, 8);
	memcpy(record + 32, "\x00\x00\x12\x34", 4);
	memcpy(record + 40, "\xff\xff", 2);
	record[48] = join_state;
	umad_set_addr(&b, (int)port.sm_lid, 1, (int)port.sm_sl, SA_QKEY);
	CHECK(umad_send(id, agent, &b, MAD_BYTES, 1000, 5) == 0);
}

/* The status that the administrator answers with. */
static uint16_t answer(uint8_t method, uint64_t mask, uint32_t group, uint8_t join_state)
{
	int length = MAD_BYTES;
	struct umad_sa_packet *sa;
	struct buffer b;

	ask(method, mask, group, join_state);
	CHECK(umad_recv(id, &b, &length, WAIT_MS) == agent);
	CHECK(umad_status(&b) == 0);
	sa = umad_get_mad(&b.umad);
	CHECK((uint32_t)be64toh(sa->mad_hdr.tid) == tid);
	return be16toh(sa->mad_hdr.status);
}

/* False: there are no resources. */
static int once(uint32_t group)
{
	uint16_t status = answer(UMAD_METHOD_SET, CREATE_MASK, group, JOIN_BOTH);

	if (status == NO_RESOURCES)
		return 0;
	CHECK(status == 0);
	CHECK(answer(UMAD_SA_METHOD_DELETE, LEAVE_MASK, group, LEAVE_FULL) == 0);
	status = answer(UMAD_SA_METHOD_DELETE, LEAVE_MASK, group, LEAVE_SEND_ONLY);
	CHECK(status == 0 || status == 0x0200); /* OpenSM has lost the member by now */
	return 1;
}

int main(int argc, char **argv)
{
	uint32_t times = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0, n = 0;

	CHECK(umad_init() == 0);
	CHECK(umad_get_port(NULL, 0, &port) == 0);
	id = umad_open_port(port.ca_name, port.portnum);
	CHECK(id >= 0);
	agent = umad_register(id, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION, 1, NULL);
	CHECK(agent == 0);
	while (n < times && once(n + 1))
		n++;
	printf("%u times%s\n", n, n < times ? ", then no resources" : "");
	CHECK(umad_close_port(id) == 0);
	CHECK(umad_release_port(&port) == 0);
	umad_done();
	return 0;
}
