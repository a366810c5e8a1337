// SPDX-License-Identifier: BSD-2-Clause
// links: ibumad
/*
 * A program that manages, with libibumad as anybody has it: what its man pages promise of
 * agents, timeouts, answers and of messages of many segments.
 *
 *	manager GROUPS
 *
 * makes so many groups with its port as their member, by SubnAdmSet, and leaves them there.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_types.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAD_BYTES  256
#define LONG_BYTES 300
#define SA_QKEY    0x80010000
#define SA_DATA    56 /* offset of a record in its MAD */
#define UNDER_WAY  32 /* requests at once */
#define NOBODY     0xbeef
#define WAIT_MS    20000

#define CHECK(condition)                                                           \
	do {                                                                       \
		if (!(condition)) {                                                \
			fprintf(stderr, "%d: not true: %s (errno %d)\n", __LINE__, \
				#condition, errno);                                \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

static umad_port_t port;
static int id;

struct buffer {
	struct ib_user_mad umad;
	uint8_t mad[LONG_BYTES];
};

static uint8_t *request(struct buffer *b, uint8_t mgmt_class, uint8_t version,
			uint8_t method, uint16_t attribute, uint32_t tid)
{
	struct umad_hdr *header = umad_get_mad(&b->umad);

	memset(b, 0, sizeof(*b));
	header->base_version = 1;
	header->mgmt_class = mgmt_class;
	header->class_version = version;
	header->method = method;
	header->tid = htobe64(0xabcdef0100000000ull | tid);
	header->attr_id = htobe16(attribute);
	return (uint8_t *)header;
}

static uint32_t tid_of(struct buffer *b)
{
	return (uint32_t)be64toh(((struct umad_hdr *)umad_get_mad(&b->umad))->tid);
}

static uint16_t status_of(struct buffer *b)
{
	return be16toh(((struct umad_hdr *)umad_get_mad(&b->umad))->status);
}

/* -- agents ------------------------------------------------------------------------- */

static void agents_are_few_and_apart(void)
{
	long mask[16 / sizeof(long)] = { 1 << UMAD_METHOD_GET };
	int other, ids[UMAD_CA_MAX_PORTS * 4], count = 0, agent;

	agent = umad_register(id, 0x0a, 1, 0, mask);
	CHECK(agent == 0);
	CHECK(umad_register(id, 0x0a, 1, 0, mask) == -EPERM && errno == EINVAL);
	other = umad_open_port(NULL, 0);
	CHECK(other >= 0 && other != id);
	CHECK(umad_register(other, 0x0a, 1, 0, mask) == -EPERM && errno == EINVAL);
	CHECK(umad_unregister(id, agent) == 0);
	CHECK(umad_unregister(id, agent) == -1 && errno == EINVAL);
	CHECK(umad_register(other, 0x0a, 1, 0, mask) == 0);
	CHECK(umad_close_port(other) == 0);
	CHECK(umad_close_port(other) == -EINVAL);

	while ((agent = umad_register(id, 3, 2, 1, NULL)) >= 0) {
		CHECK(agent == count && count < 32);
		ids[count++] = agent;
	}
	CHECK(agent == -EPERM && errno == ENOMEM && count == 32);
	while (count)
		CHECK(umad_unregister(id, ids[--count]) == 0);
	CHECK(umad_register(id, 0x50, 1, 0, NULL) == -EPERM && errno == EINVAL);
	CHECK(umad_register(id, 1, 1, 1, NULL) == -EPERM && errno == EINVAL);
}

/* -- timeouts ----------------------------------------------------------------------- */

static void what_nobody_answers_comes_back(void)
{
	int agent = umad_register(id, UMAD_CLASS_PERF_MGMT, 1, 0, NULL);
	struct pollfd p = { .fd = umad_get_fd(id), .events = POLLIN };
	struct buffer b;
	int length = MAD_BYTES;

	CHECK(agent == 0);
	CHECK(umad_recv(id, &b, &length, 0) == -EAGAIN);
	CHECK(umad_recv(id, &b, &length, 10) == -ETIMEDOUT);
	CHECK(umad_poll(id, 0) == -ETIMEDOUT);
	request(&b, UMAD_CLASS_PERF_MGMT, 1, UMAD_METHOD_GET, 0x12, 77);
	umad_set_addr(&b, NOBODY, 1, 0, SA_QKEY);
	CHECK(umad_send(id, 5, &b, MAD_BYTES, 50, 0) == -EIO && errno == EIO);
	CHECK(umad_send(id, 32, &b, MAD_BYTES, 50, 0) == -EIO && errno == EINVAL);
	CHECK(umad_send(id, agent, &b, 20, 50, 0) == -EIO && errno == EINVAL);
	/* Longer than one MAD, and not marked as a message of segments. */
	CHECK(umad_send(id, agent, &b, LONG_BYTES, 50, 0) == -EIO && errno == EINVAL);
	CHECK(umad_send(id, agent, &b, MAD_BYTES, 50, 2) == 0);
	CHECK(umad_send(id, agent, &b, MAD_BYTES, 50, 0) == -EIO && errno == EINVAL);
	CHECK(poll(&p, 1, WAIT_MS) == 1);
	CHECK(umad_poll(id, 0) == 0);
	length = MAD_BYTES;
	CHECK(umad_recv(id, &b, &length, WAIT_MS) == agent);
	CHECK(umad_status(&b) == ETIMEDOUT && length == 24 && tid_of(&b) == 77);
	CHECK(umad_recv(id, &b, &length, 0) == -EAGAIN);
	CHECK(umad_unregister(id, agent) == 0);
}

/* -- a thread that waits for ever --------------------------------------------------- */

static void *wait_for_ever(void *arg)
{
	struct buffer b;
	int length = MAD_BYTES;

	umad_recv(id, &b, &length, -1);
	return NULL;
}

static void a_waiting_thread_can_be_cancelled(void)
{
	pthread_t thread;
	void *result;

	CHECK(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
	CHECK(pthread_cancel(thread) == 0);
	CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
}

/* -- the subnet administrator ------------------------------------------------------- */

static void join(int agent, uint32_t n)
{
	struct buffer b;
	struct umad_sa_packet *sa;
	uint8_t *record;

	sa = (void *)request(&b, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION,
			     UMAD_METHOD_SET, UMAD_SA_ATTR_MCMEMBER_REC, n);
	/* MGID, port GID, Q_Key, traffic class, P_Key, SL, flow label, join state */
	sa->comp_mask = htobe64(1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 |
				1 << 13 | 1 << 16);
	record = sa->data;
	memcpy(record, "\xff\x12\xa0\x1c", 4);
	memcpy(record + 12, &(uint32_t){ htobe32(n) }, 4);
	memcpy(record + 16, &port.gid_prefix, 8);
	memcpy(record + 24, &port.port_guid, 8);
	memcpy(record + 32, "\x00\x00\x12\x34", 4);
	memcpy(record + 40, "\xff\xff", 2);
	record[48] = 1;
	umad_set_addr(&b, (int)port.sm_lid, 1, (int)port.sm_sl, SA_QKEY);
	umad_set_pkey(&b, 0);
	CHECK(umad_send(id, agent, &b, MAD_BYTES, 1000, 5) == 0);
}

static void make_groups(int agent, uint32_t count)
{
	uint32_t sent = 0, answered = 0;

	while (answered < count) {
		int length = MAD_BYTES;
		struct buffer b;

		while (sent < count && sent - answered < UNDER_WAY)
			join(agent, ++sent);
		CHECK(umad_recv(id, &b, &length, WAIT_MS) == agent);
		CHECK(umad_status(&b) == 0 && length == MAD_BYTES);
		CHECK(status_of(&b) == 0 && tid_of(&b) >= 1 && tid_of(&b) <= sent);
		CHECK(be16toh(umad_get_mad_addr(&b)->lid) == port.sm_lid);
		CHECK(be32toh(umad_get_mad_addr(&b)->qpn) == 1);
		answered++;
	}
}

/* The table is longer than the buffer of the first try, and stays for the second. */
static void the_table_has_them(int agent, uint32_t count)
{
	struct umad_sa_packet *sa;
	struct buffer b, again;
	int length = MAD_BYTES, needed;
	void *all;

	sa = (void *)request(&b, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION,
			     UMAD_SA_METHOD_GET_TABLE, UMAD_SA_ATTR_MCMEMBER_REC, 4711);
	CHECK(sa != NULL);
	umad_set_addr(&b, (int)port.sm_lid, 1, 0, SA_QKEY);
	CHECK(umad_send(id, agent, &b, MAD_BYTES, 5000, 3) == 0);
	CHECK(umad_recv(id, &b, &length, WAIT_MS) == -ENOSPC && errno == ENOSPC);
	needed = length;
	CHECK(needed >= (int)(SA_DATA + count * 52));
	CHECK(tid_of(&b) == 4711 && umad_poll(id, 0) == 0);
	length = MAD_BYTES;
	CHECK(umad_recv(id, &again, &length, 0) == -ENOSPC && length == needed);
	CHECK(memcmp(&b, &again, umad_size() + MAD_BYTES) == 0);
	all = calloc(1, umad_size() + (size_t)needed);
	CHECK(all != NULL);
	length = needed;
	CHECK(umad_recv(id, all, &length, 0) == agent && length == needed);
	CHECK(memcmp(umad_get_mad(all), umad_get_mad(&b), MAD_BYTES) == 0);
	sa = umad_get_mad(all);
	CHECK((uint32_t)(needed - SA_DATA) / (be16toh(sa->attr_offset) * 8u) >= count);
	free(all);
	length = MAD_BYTES;
	CHECK(umad_recv(id, &b, &length, 0) == -EAGAIN);
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	int agent;

	CHECK(umad_init() == 0);
	CHECK(umad_get_port(NULL, 0, &port) == 0);
	id = umad_open_port(port.ca_name, port.portnum);
	CHECK(id >= 0);
	agents_are_few_and_apart();
	what_nobody_answers_comes_back();
	a_waiting_thread_can_be_cancelled();
	agent = umad_register(id, UMAD_CLASS_SUBN_ADM, UMAD_SA_CLASS_VERSION, 1, NULL);
	CHECK(agent == 0);
	make_groups(agent, count);
	the_table_has_them(agent, count);
	CHECK(umad_close_port(id) == 0);
	CHECK(umad_release_port(&port) == 0);
	umad_done();
	printf("%u groups\n", count);
	return 0;
}
