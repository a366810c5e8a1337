// SPDX-License-Identifier: BSD-2-Clause
// links: apps_umad
/*
 * A program that manages, with libibumad as anybody has it: what its man pages promise of
 * agents, timeouts, answers and of messages of many segments.
 *
 *	manager GROUPS
 *
 * makes so many groups with its port as their member, by SubnAdmSet, and leaves them there.
 */
#include <poll.h>
#include <pthread.h>

#include "umad.h"

#define LONG_BYTES 300
#define SA_DATA    56 /* offset of a record in its MAD */
#define UNDER_WAY  32 /* requests at once */
#define NOBODY     0xbeef
/* The lower half is the program's, and comes back. */
#define TID(n)     (0xabcdef0100000000ull | (n))

static struct client_port port;

struct buffer {
	struct ib_user_mad umad;
	uint8_t mad[LONG_BYTES];
};

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

	agent = umad_register(port.id, 0x0a, 1, 0, mask);
	CHECK(agent == 0);
	CHECK(umad_register(port.id, 0x0a, 1, 0, mask) == -EPERM && errno == EINVAL);
	other = umad_open_port(NULL, 0);
	CHECK(other >= 0 && other != port.id);
	CHECK(umad_register(other, 0x0a, 1, 0, mask) == -EPERM && errno == EINVAL);
	CHECK(umad_unregister(port.id, agent) == 0);
	CHECK(umad_unregister(port.id, agent) == -1 && errno == EINVAL);
	CHECK(umad_register(other, 0x0a, 1, 0, mask) == 0);
	CHECK(umad_close_port(other) == 0);
	CHECK(umad_close_port(other) == -EINVAL);

	while ((agent = umad_register(port.id, 3, 2, 1, NULL)) >= 0) {
		CHECK(agent == count && count < 32);
		ids[count++] = agent;
	}
	CHECK(agent == -EPERM && errno == ENOMEM && count == 32);
	while (count)
		CHECK(umad_unregister(port.id, ids[--count]) == 0);
	CHECK(umad_register(port.id, 0x50, 1, 0, NULL) == -EPERM && errno == EINVAL);
	CHECK(umad_register(port.id, 1, 1, 1, NULL) == -EPERM && errno == EINVAL);
}

/* -- timeouts ----------------------------------------------------------------------- */

static void what_nobody_answers_comes_back(void)
{
	int agent = umad_register(port.id, UMAD_CLASS_PERF_MGMT, 1, 0, NULL);
	struct pollfd p = { .fd = umad_get_fd(port.id), .events = POLLIN };
	struct buffer b;
	int length = MAD_BYTES;

	CHECK(agent == 0);
	CHECK(umad_recv(port.id, &b, &length, 0) == -EAGAIN);
	CHECK(umad_recv(port.id, &b, &length, 10) == -ETIMEDOUT);
	CHECK(umad_poll(port.id, 0) == -ETIMEDOUT);
	memset(&b, 0, sizeof(b));
	client_mad_header(&b, UMAD_CLASS_PERF_MGMT, 1, UMAD_METHOD_GET, 0x12, TID(77));
	umad_set_addr(&b, NOBODY, 1, 0, (int)GSI_QKEY);
	CHECK(umad_send(port.id, 5, &b, MAD_BYTES, 50, 0) == -EIO && errno == EIO);
	CHECK(umad_send(port.id, 32, &b, MAD_BYTES, 50, 0) == -EIO && errno == EINVAL);
	CHECK(umad_send(port.id, agent, &b, 20, 50, 0) == -EIO && errno == EINVAL);
	/* Longer than one MAD, and not marked as a message of segments. */
	CHECK(umad_send(port.id, agent, &b, LONG_BYTES, 50, 0) == -EIO &&
	      errno == EINVAL);
	CHECK(umad_send(port.id, agent, &b, MAD_BYTES, 50, 2) == 0);
	/* No transaction twice at once; this one is under way to the end. */
	client_mad_header(&b, UMAD_CLASS_PERF_MGMT, 1, UMAD_METHOD_GET, 0x12, TID(78));
	CHECK(umad_send(port.id, agent, &b, MAD_BYTES, WAIT_MS, 0) == 0);
	CHECK(umad_send(port.id, agent, &b, MAD_BYTES, 50, 0) == -EIO && errno == EINVAL);
	CHECK(poll(&p, 1, WAIT_MS) == 1);
	CHECK(umad_poll(port.id, 0) == 0);
	length = MAD_BYTES;
	CHECK(umad_recv(port.id, &b, &length, WAIT_MS) == agent);
	CHECK(umad_status(&b) == ETIMEDOUT && length == 24 && tid_of(&b) == 77);
	CHECK(umad_recv(port.id, &b, &length, 0) == -EAGAIN);
	CHECK(umad_unregister(port.id, agent) == 0);
}

/* -- a thread that waits for ever --------------------------------------------------- */

static void *wait_for_ever(void *arg)
{
	struct buffer b;
	int length = MAD_BYTES;

	umad_recv(port.id, &b, &length, -1);
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
	struct buffer b = { 0 };
	struct umad_sa_packet *sa =
		client_sa_request(&port, &b, UMAD_METHOD_SET, UMAD_SA_ATTR_MCMEMBER_REC,
				  TID(n), CLIENT_CREATE_MASK);

	client_sa_member(&port, sa, 0x1c, n, 1);
	umad_set_pkey(&b, 0);
	CHECK(umad_send(port.id, agent, &b, MAD_BYTES, 5000, 2) == 0);
}

static void make_groups(int agent, uint32_t count)
{
	uint32_t sent = 0, answered = 0;

	while (answered < count) {
		int length = MAD_BYTES;
		struct buffer b;

		while (sent < count && sent - answered < UNDER_WAY)
			join(agent, ++sent);
		CHECK(umad_recv(port.id, &b, &length, WAIT_MS) == agent);
		CHECK(umad_status(&b) == 0 && length == MAD_BYTES);
		CHECK(status_of(&b) == 0 && tid_of(&b) >= 1 && tid_of(&b) <= sent);
		CHECK(be16toh(umad_get_mad_addr(&b)->lid) == port.attr.sm_lid);
		CHECK(be32toh(umad_get_mad_addr(&b)->qpn) == 1);
		answered++;
	}
}

/* The table is longer than the buffer of the first try, and stays for the second. */
static void the_table_has_them(int agent, uint32_t count)
{
	struct umad_sa_packet *sa;
	struct buffer b = { 0 }, again;
	int length = MAD_BYTES, needed;
	void *all;

	client_sa_request(&port, &b, UMAD_SA_METHOD_GET_TABLE, UMAD_SA_ATTR_MCMEMBER_REC,
			  TID(4711), 0);
	CHECK(umad_send(port.id, agent, &b, MAD_BYTES, 5000, 3) == 0);
	/* Longer than its retries take, so that a failure says what failed. */
	CHECK(umad_recv(port.id, &b, &length, 2 * WAIT_MS) == -ENOSPC && errno == ENOSPC);
	needed = length;
	CHECK(needed >= (int)(SA_DATA + count * 52));
	CHECK(tid_of(&b) == 4711 && umad_poll(port.id, 0) == 0);
	length = MAD_BYTES;
	CHECK(umad_recv(port.id, &again, &length, 0) == -ENOSPC && length == needed);
	CHECK(memcmp(&b, &again, umad_size() + MAD_BYTES) == 0);
	all = calloc(1, umad_size() + (size_t)needed);
	CHECK(all != NULL);
	length = needed;
	CHECK(umad_recv(port.id, all, &length, 0) == agent && length == needed);
	CHECK(memcmp(umad_get_mad(all), umad_get_mad(&b), MAD_BYTES) == 0);
	sa = umad_get_mad(all);
	CHECK((uint32_t)(needed - SA_DATA) / (be16toh(sa->attr_offset) * 8u) >= count);
	free(all);
	length = MAD_BYTES;
	CHECK(umad_recv(port.id, &b, &length, 0) == -EAGAIN);
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	int agent;

	client_port_open(&port);
	agents_are_few_and_apart();
	what_nobody_answers_comes_back();
	a_waiting_thread_can_be_cancelled();
	agent = client_sa_agent(&port);
	make_groups(agent, count);
	the_table_has_them(agent, count);
	client_port_close(&port);
	printf("%u groups\n", count);
	return 0;
}
