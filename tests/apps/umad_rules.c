// SPDX-License-Identifier: BSD-2-Clause
// links: apps_umad
/*
 * Programs with libibumad among each other, of one node and by its own port: transaction
 * ids, messages of many segments both ways, P_Keys, polling, many ports, and what is left
 * of a program that is killed.
 *
 *	umad_rules KILLS
 *	umad_rules end		is told of the site's
 */
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "umad.h"

#define VENDOR      0x3a /* a class with segments; who made it stands behind them */
#define VENDOR_DATA 40
#define RMPP        24 /* offset in the MAD */
#define OUI         37
#define LONG_BYTES  (300 * 1024)
#define PORTS       100

static uint8_t oui[3] = { 0x00, 0x12, 0x34 };
static umad_port_t port;

struct buffer {
	struct ib_user_mad umad;
	uint8_t mad[LONG_BYTES];
};
static struct buffer ask, heard, answer;

static int open_port(void)
{
	int id = umad_open_port(port.ca_name, port.portnum);

	CHECK(id >= 0);
	return id;
}

/* Of our vendor's Get and Set. */
static int serve(int id, uint8_t rmpp)
{
	long methods[16 / sizeof(long)] = { 1 << UMAD_METHOD_GET | 1 << UMAD_METHOD_SET };

	return umad_register_oui(id, VENDOR, rmpp, oui, methods);
}

static int client(int id, uint8_t rmpp)
{
	int agent = umad_register_oui(id, VENDOR, rmpp, oui, NULL);

	CHECK(agent >= 0);
	return agent;
}

static struct umad_hdr *header(struct buffer *b)
{
	return umad_get_mad(&b->umad);
}

/* To our own port. `length` beyond a MAD, or marked so: by segments. */
static void fill(struct buffer *b, uint8_t method, uint64_t tid, int length)
{
	uint8_t *mad = umad_get_mad(&b->umad);

	memset(b, 0, sizeof(*b));
	for (int i = VENDOR_DATA; i < length; i++)
		mad[i] = (uint8_t)(i * 7 + i / 251);
	client_mad_header(b, VENDOR, 1, method, 0, tid);
	memcpy(mad + OUI, oui, 3);
	if (length > MAD_BYTES) {
		mad[RMPP] = 1;
		mad[RMPP + 2] = 1; /* active */
	}
	umad_set_addr(&b->umad, (int)port.base_lid, 1, 0, (int)GSI_QKEY);
}

static int receive(int id, struct buffer *b, int timeout_ms)
{
	int length = LONG_BYTES, agent = umad_recv(id, b, &length, timeout_ms);

	return agent < 0 ? agent : length;
}

/* -- a question and its answer ------------------------------------------------------ */

static void transactions_are_told_apart(void)
{
	int one = open_port(), other = open_port(), server = open_port();
	int a = client(one, 0), b = client(other, 0), s = serve(server, 0);
	uint64_t tids[2];

	CHECK(a >= 0 && b >= 0 && s >= 0);
	fill(&ask, UMAD_METHOD_GET, 0xfeedfeed00000007, MAD_BYTES);
	CHECK(umad_send(one, a, &ask, MAD_BYTES, WAIT_MS, 0) == 0);
	CHECK(umad_send(other, b, &ask, MAD_BYTES, WAIT_MS, 0) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(receive(server, &heard, WAIT_MS) == MAD_BYTES);
		tids[i] = be64toh(header(&heard)->tid);
		/* The lower half is the program's, the upper one is not. */
		CHECK((uint32_t)tids[i] == 7 && tids[i] >> 32 != 0xfeedfeed);
		CHECK(memcmp(heard.mad + VENDOR_DATA, ask.mad + VENDOR_DATA,
			     MAD_BYTES - VENDOR_DATA) == 0);
		CHECK(be16toh(umad_get_mad_addr(&heard)->lid) == port.base_lid);
		CHECK(be32toh(umad_get_mad_addr(&heard)->qpn) == 1);
		CHECK(umad_get_pkey(&heard) == 0);
	}
	CHECK(tids[0] >> 32 != tids[1] >> 32);
	/* The answer to the second: whoever asked it has it, the other one has not. */
	fill(&answer, UMAD_METHOD_GET_RESP, tids[1], MAD_BYTES);
	CHECK(umad_send(server, s, &answer, MAD_BYTES, 0, 0) == 0);
	CHECK(receive(other, &heard, WAIT_MS) == MAD_BYTES);
	CHECK(umad_status(&heard) == 0 && be64toh(header(&heard)->tid) == tids[1]);
	/* An answer is told once, and an answer to nothing not at all. */
	CHECK(umad_send(server, s, &answer, MAD_BYTES, 0, 0) == 0);
	fill(&answer, UMAD_METHOD_GET_RESP, tids[0], MAD_BYTES);
	CHECK(umad_send(server, s, &answer, MAD_BYTES, 0, 0) == 0);
	CHECK(receive(one, &heard, WAIT_MS) == MAD_BYTES);
	CHECK(receive(other, &heard, 0) == -EAGAIN);
	/* What goes out without a timeout is not told of. */
	CHECK(receive(server, &heard, 0) == -EAGAIN);
	CHECK(umad_close_port(one) == 0 && umad_close_port(other) == 0 &&
	      umad_close_port(server) == 0);
}

static void long_messages_go_both_ways(void)
{
	int here = open_port(), there = open_port(), length;
	int c = client(here, 1), s = serve(there, 1);
	struct pollfd p = { .fd = umad_get_fd(there), .events = POLLIN };

	CHECK(s >= 0);
	fill(&ask, UMAD_METHOD_SET, 99, LONG_BYTES);
	CHECK(umad_send(here, c, &ask, LONG_BYTES, WAIT_MS, 0) == 0);
	CHECK(poll(&p, 1, WAIT_MS) == 1 && p.revents & POLLIN);
	length = MAD_BYTES;
	CHECK(umad_recv(there, &heard, &length, WAIT_MS) == -ENOSPC);
	CHECK(length >= LONG_BYTES && (uint32_t)be64toh(header(&heard)->tid) == 99);
	length = 100;
	CHECK(umad_recv(there, &heard, &length, WAIT_MS) == -EINVAL);
	CHECK(receive(there, &heard, 0) >= LONG_BYTES);
	CHECK(memcmp(heard.mad + VENDOR_DATA, ask.mad + VENDOR_DATA,
		     LONG_BYTES - VENDOR_DATA) == 0);
	fill(&answer, UMAD_METHOD_GET_RESP, be64toh(header(&heard)->tid), LONG_BYTES);
	answer.mad[LONG_BYTES - 1] = 0x5a;
	CHECK(umad_send(there, s, &answer, LONG_BYTES, 0, 0) == 0);
	CHECK(receive(here, &heard, WAIT_MS) >= LONG_BYTES);
	CHECK(memcmp(heard.mad + VENDOR_DATA, answer.mad + VENDOR_DATA,
		     LONG_BYTES - VENDOR_DATA) == 0);
	CHECK(umad_close_port(here) == 0 && umad_close_port(there) == 0);
}

/* -- what fails --------------------------------------------------------------------- */

static void a_pkey_that_is_not_there_sends_nothing(void)
{
	int id = open_port(), server = open_port();
	int c = client(id, 0);

	CHECK(serve(server, 0) >= 0);
	fill(&ask, UMAD_METHOD_GET, 1, MAD_BYTES);
	umad_set_pkey(&ask, 500);
	if (umad_send(id, c, &ask, MAD_BYTES, WAIT_MS, 0) == 0) {
		CHECK(receive(id, &heard, WAIT_MS) == 24);
		CHECK(umad_status(&heard) != 0 && umad_status(&heard) != ETIMEDOUT);
	}
	CHECK(receive(server, &heard, 0) == -EAGAIN);
	CHECK(umad_close_port(id) == 0 && umad_close_port(server) == 0);
}

static void an_agent_may_go_before_its_answer(void)
{
	int id = open_port(), server = open_port();
	int c = client(id, 0), s = serve(server, 0);

	CHECK(s >= 0);
	fill(&ask, UMAD_METHOD_GET, 5, MAD_BYTES);
	CHECK(umad_send(id, c, &ask, MAD_BYTES, 50, 0) == 0);
	CHECK(receive(server, &heard, WAIT_MS) == MAD_BYTES);
	fill(&answer, UMAD_METHOD_GET_RESP, be64toh(header(&heard)->tid), MAD_BYTES);
	CHECK(umad_unregister(id, c) == 0);
	/* On a busy machine the agent was told of the timeout before it went. */
	while (receive(id, &heard, 0) != -EAGAIN)
		;
	CHECK(client(id, 0) == c);
	CHECK(umad_send(server, s, &answer, MAD_BYTES, 0, 0) == 0);
	/* Neither the answer nor the timeout is the new agent's. */
	CHECK(receive(id, &heard, 200) == -ETIMEDOUT);
	CHECK(umad_close_port(id) == 0 && umad_close_port(server) == 0);
}

static void whoever_made_it_owns_it(void)
{
	int id = open_port(), other = open_port();
	uint8_t mine[3];

	memcpy(mine, oui, 3);
	CHECK(serve(id, 0) == 0);
	CHECK(serve(other, 0) == -EPERM && errno == EINVAL);
	oui[2]++;
	CHECK(serve(other, 0) == 0);
	memcpy(oui, mine, 3);
	CHECK(umad_unregister(id, 0) == 0);
	CHECK(serve(other, 0) == 1);
	CHECK(umad_close_port(id) == 0 && umad_close_port(other) == 0);
}

/* -- many --------------------------------------------------------------------------- */

static void many_ports_may_be_open(void)
{
	int ids[PORTS], ready = epoll_create1(EPOLL_CLOEXEC), server = open_port(), s;

	CHECK(ready >= 0);
	s = serve(server, 0);
	for (int i = 0; i < PORTS; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)i };

		ids[i] = open_port();
		CHECK(client(ids[i], 0) == 0);
		CHECK(epoll_ctl(ready, EPOLL_CTL_ADD, umad_get_fd(ids[i]), &event) == 0);
	}
	for (int i = 0; i < PORTS; i++) {
		struct epoll_event event;

		CHECK(epoll_wait(ready, &event, 1, 0) == 0);
		fill(&ask, UMAD_METHOD_GET, 3, MAD_BYTES);
		CHECK(umad_send(ids[i], 0, &ask, MAD_BYTES, WAIT_MS, 0) == 0);
		CHECK(receive(server, &heard, WAIT_MS) == MAD_BYTES);
		header(&heard)->method = UMAD_METHOD_GET_RESP;
		CHECK(umad_send(server, s, &heard, MAD_BYTES, 0, 0) == 0);
		CHECK(epoll_wait(ready, &event, 1, WAIT_MS) == 1);
		CHECK(event.data.u32 == (uint32_t)i);
		CHECK(receive(ids[i], &heard, 0) == MAD_BYTES);
	}
	for (int i = 0; i < PORTS; i++)
		CHECK(umad_close_port(ids[i]) == 0);
	CHECK(umad_close_port(server) == 0);
	close(ready);
}

/* -- death -------------------------------------------------------------------------- */

/* Asks itself long questions until it is killed; says when it begins. */
static void talk(int said)
{
	int id = open_port();
	int c = client(id, 1), s = serve(id, 1);

	if (c < 0 || s < 0 || write(said, "", 1) != 1)
		_exit(1);
	for (uint64_t tid = 1;; tid++) {
		fill(&ask, UMAD_METHOD_SET, tid, LONG_BYTES);
		umad_send(id, c, &ask, LONG_BYTES, WAIT_MS, 0);
		while (receive(id, &heard, tid % 3 ? 1 : 0) > 0)
			;
	}
}

static void pause_us(unsigned int us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000l }, NULL);
}

static void the_dead_give_back_what_they_had(unsigned int kills)
{
	int id = open_port();

	for (unsigned int n = 0; n < kills; n++) {
		int pipe_fds[2], status, tries = 0;
		char word;
		pid_t child;

		CHECK(pipe(pipe_fds) == 0);
		child = fork();
		CHECK(child >= 0);
		if (child == 0)
			talk(pipe_fds[1]);
		close(pipe_fds[1]);
		CHECK(read(pipe_fds[0], &word, 1) == 1);
		close(pipe_fds[0]);
		CHECK(serve(id, 0) == -EPERM);
		pause_us(n * 7919 % 20000);
		CHECK(kill(child, SIGKILL) == 0);
		CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
		while (serve(id, 0) != 0) {
			CHECK(errno == EINVAL && tries++ < WAIT_MS);
			pause_us(1000);
		}
		CHECK(umad_unregister(id, 0) == 0);
	}
	CHECK(umad_close_port(id) == 0);
}

/* -- later releases ----------------------------------------------------------------- */

struct pair {
	char smi_name[UMAD_CA_NAME_LEN];
	uint32_t smi_port;
	char gsi_name[UMAD_CA_NAME_LEN];
	uint32_t gsi_port;
};

static void *symbol(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	CHECK(found != NULL);
	return found;
}

static bool is_whole(const struct pair *pair)
{
	return strcmp(pair->smi_name, port.ca_name) == 0 &&
	       strcmp(pair->gsi_name, port.ca_name) == 0 &&
	       pair->smi_port == (uint32_t)port.portnum &&
	       pair->gsi_port == pair->smi_port;
}

static void what_later_releases_have_is_there(void)
{
	int (*open_smi)(const char *, int) = symbol("umad_open_smi_port");
	int (*pairs)(struct pair[], size_t) = symbol("umad_get_smi_gsi_pairs");
	int (*pair_of)(const char *, uint8_t, struct pair *, unsigned int) =
		symbol("umad_get_smi_gsi_pair_by_ca_name");
	struct pair found[4];
	int id = open_smi(port.ca_name, port.portnum);

	CHECK(id >= 0 && umad_register(id, 0x81, 1, 0, NULL) == 0);
	CHECK(umad_close_port(id) == 0);
	CHECK(open_smi("none", 1) == -ENODEV);
	CHECK(pairs(found, 0) == 0 && pairs(found, 4) == 1 && is_whole(&found[0]));
	memset(found, 0xff, sizeof(found));
	CHECK(pair_of(port.ca_name, (uint8_t)port.portnum, found, 1) == 0);
	CHECK(is_whole(&found[0]));
	CHECK(pair_of(NULL, 0, found, 0) == 0 && is_whole(&found[0]));
	CHECK(pair_of("none", 1, found, 0) < 0);
	CHECK(pair_of(port.ca_name, 9, found, 0) < 0);
}

/* -- the end of the site ------------------------------------------------------------ */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* Who asks again and again is told at leisure, so that OpenSM's log does not fill a disk. */
static void the_end_is_told_slowly(void)
{
	int id = open_port();
	int64_t begin;

	printf("open\n");
	fflush(stdout);
	CHECK(receive(id, &heard, -1) == -EIO && errno == ENODEV);
	begin = now_ms();
	CHECK(receive(id, &heard, 0) == -EIO && errno == ENODEV);
	CHECK(receive(id, &heard, -1) == -EIO && errno == ENODEV);
	CHECK(receive(id, &heard, -1) == -EIO && errno == ENODEV);
	CHECK(now_ms() - begin >= 1900);
	fill(&ask, UMAD_METHOD_GET, 1, MAD_BYTES);
	CHECK(umad_send(id, 0, &ask, MAD_BYTES, 0, 0) == -EIO);
	CHECK(umad_register(id, 3, 2, 1, NULL) == -EPERM);
	CHECK(umad_close_port(id) == 0);
	CHECK(umad_open_port(NULL, 0) == -ENODEV);
}

int main(int argc, char **argv)
{
	CHECK(umad_init() == 0);
	CHECK(umad_get_port(NULL, 0, &port) == 0);
	if (argc > 1 && strcmp(argv[1], "end") == 0) {
		the_end_is_told_slowly();
		return 0;
	}
	transactions_are_told_apart();
	long_messages_go_both_ways();
	a_pkey_that_is_not_there_sends_nothing();
	an_agent_may_go_before_its_answer();
	whoever_made_it_owns_it();
	many_ports_may_be_open();
	what_later_releases_have_is_there();
	the_dead_give_back_what_they_had(
		argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0);
	CHECK(umad_release_port(&port) == 0);
	umad_done();
	printf("all of it\n");
	return 0;
}
