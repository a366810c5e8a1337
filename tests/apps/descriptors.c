// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * Programs that are hard on descriptors: one closes all it does not know and opens files
 * of its own under our numbers; one has no number left when a new sender is heard.
 *
 *	descriptors closed | full
 */
#include "client.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES      64
#define FULL_AT    64
#define GROUP      "239.1.31.1"
#define DATAGRAMS  5
#define LOOKS_FULL 100

static void look_for_devices(void)
{
	struct ibv_device **list;
	int count = 0;

	CHECK((list = ibv_get_device_list(&count)) && count > 0);
	ibv_free_device_list(list);
}

static void check_files(const int *fds)
{
	for (int i = 0; i < FILES; i++)
		CHECK(fcntl(fds[i], F_GETFD) >= 0);
}

static void end_of_child(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* The files of a child must be those of its parent. */
static void check_files_in_child(const int *fds)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		check_files(fds);
		_exit(0);
	}
	end_of_child(child);
}

/* Nothing of ours is ever sent into a socket of the program's. */
static void check_silence(const int *fds)
{
	char byte;

	for (int i = 0; i < FILES; i++)
		CHECK_FAILS(recv(fds[i], &byte, 1, MSG_DONTWAIT), EAGAIN);
}

static void closed(void)
{
	int fds[FILES];

	look_for_devices();
	for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < FILES; i += 2)
		CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds + i));
	check_files_in_child(fds);
	look_for_devices();
	check_files(fds);
	check_silence(fds);
	check_files_in_child(fds);
}

/* -- no number left ------------------------------------------------------------------ */

static void tell(int fd)
{
	CHECK(write(fd, "", 1) == 1);
}

static void await(int fd)
{
	char byte;

	CHECK(read(fd, &byte, 1) == 1);
}

static void sender(int from, int to)
{
	struct ibv_context *context = client_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	union ibv_gid group = client_gid(GROUP);
	struct client_qp q;
	struct ibv_ah *ah;

	client_qp_open(&q, pd, 1);
	CHECK((ah = client_ah(pd, &group)));
	await(from);
	for (char i = 0; i < DATAGRAMS; i++)
		client_cast(&q, ah, i);
	tell(to);
	await(from);
	_exit(0);
}

static void take_all_numbers(void)
{
	struct rlimit limit = { FULL_AT, FULL_AT };

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	CHECK(errno == EMFILE);
}

static void receiver(int from, int to)
{
	struct ibv_context *context = client_open();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	union ibv_gid group = client_gid(GROUP), other = client_gid("239.1.31.2");
	struct client_qp q;

	client_qp_open(&q, pd, DATAGRAMS);
	CHECK(!client_attach(q.qp, &group));
	client_post_recvs(&q, DATAGRAMS);
	take_all_numbers();
	tell(to);
	await(from);
	for (int i = 0; i < LOOKS_FULL; i++) {
		CHECK(client_idle(&q));
		client_pause();
	}
	for (int fd = FULL_AT - 4; fd < FULL_AT; fd++)
		close(fd);
	for (char i = 0; i < DATAGRAMS; i++) {
		struct ibv_wc wc = client_wait(&q);

		CHECK(client_got(&q, (unsigned int)wc.wr_id) == i);
	}
	CHECK(!client_attach(q.qp, &other));
	tell(to);
}

static void full(void)
{
	int there[2], back[2];
	pid_t child;

	CHECK(!pipe(there) && !pipe(back));
	child = fork();
	CHECK(child >= 0);
	if (!child)
		sender(there[0], back[1]);
	receiver(back[0], there[1]);
	end_of_child(child);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "closed"))
		closed();
	else if (!strcmp(what, "full"))
		full();
	else
		return 2;
	return 0;
}
