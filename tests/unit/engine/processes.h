/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A site of real processes: the test is the daemon, a thread of it answers the children's
 * requests over a socket each. Children are engines that can be killed and stopped.
 *
 * Only a child looks at `struct world_process` of its own world; the parent keeps what it
 * knows of each child in struct child.
 */
#ifndef ENGINE_PROCESSES_H
#define ENGINE_PROCESSES_H

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "world.h"

#define CHILDREN 32u

enum request_op {
	ASK_MAP,
	ASK_PUBLISH,
	ASK_DRAINED,
	ASK_ATTACH,
};

struct request {
	uint32_t op, slot, incarnation, group;
};

struct reply {
	int32_t error;
	uint32_t incarnation, dead, doorbell,
		log; /* the latter two: descriptors that come along */
	uint32_t entry;
	pid_t pid;
	uint64_t generation;
};

struct child {
	pid_t pid;  /* 0: none */
	int socket; /* the parent's end */
	uint32_t incarnation;
	bool alive;
	bool ended; /* its socket is at its end */
	int doorbell_fd, counters_fd, log_fd;
	struct shm_doorbell *doorbell;
	uint64_t awaited; /* dead: who lived then, and has not read its log to the end */
};

/* What children tell the test, in memory that all have. */
struct results {
	_Atomic uint64_t received[CHILDREN], lagged[CHILDREN], other_drops[CHILDREN];
	_Atomic uint64_t sent[CHILDREN];
	_Atomic uint32_t wrong[CHILDREN], ready[CHILDREN];
	_Atomic uint32_t seen[CHILDREN][CHILDREN]; /* receiver, sender: behind the last */
	_Atomic uint32_t stop;
};

struct site {
	struct shm_tables *tables;
	int tables_fd;
	struct results *results;
	struct child children[CHILDREN];
	pthread_mutex_t lock; /* guards children[] and the tables */
	pthread_t server;
	_Atomic bool stop;
};

/* -- sockets ------------------------------------------------------------------------ */

static inline void send_with(int socket, const void *data, size_t bytes, const int *fds,
			     int n)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec iov = { (void *)(uintptr_t)data, bytes };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		struct cmsghdr *c;

		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	}
	sendmsg(socket, &m, MSG_NOSIGNAL);
}

/* Bytes received, 0 or less at the end. Descriptors not sent are -1. */
static inline ssize_t receive_with(int socket, void *data, size_t bytes, int fds[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))];
	struct iovec iov = { data, bytes };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	fds[0] = fds[1] = -1;
	if (c)
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n;
}

/* -- the daemon's part -------------------------------------------------------------- */

static inline void answer_map(struct site *s, uint32_t asking, uint32_t slot, int socket)
{
	struct child *c = &s->children[slot % CHILDREN];
	struct reply rep = { .error = -ENOENT };
	int fds[2], n = 0;

	/* Who has read a dead one's log would read it again (as daemon/slots.c). */
	if (c->incarnation && (c->alive || c->awaited >> asking & 1)) {
		rep = (struct reply){ .incarnation = c->incarnation, .dead = !c->alive };
		if (c->alive) {
			rep.doorbell = 1;
			rep.pid = c->pid;
			fds[n++] = c->doorbell_fd;
		}
		if (c->log_fd >= 0) {
			rep.log = 1;
			fds[n++] = c->log_fd;
		}
	}
	send_with(socket, &rep, sizeof(rep), fds, n);
}

static inline void answer(struct site *s, uint32_t asking, const struct request *req,
			  int fd)
{
	struct child *c = &s->children[asking],
		     *other = &s->children[req->slot % CHILDREN];
	struct reply rep = { 0 };
	uint8_t mgid[16];

	switch (req->op) {
	case ASK_MAP:
		answer_map(s, asking, req->slot, c->socket);
		return;
	case ASK_PUBLISH:
		c->log_fd = fd;
		break;
	case ASK_DRAINED:
		if (other->incarnation == req->incarnation)
			other->awaited &= ~(1ull << asking);
		break;
	case ASK_ATTACH:
		world_mgid(req->group, mgid);
		rep.entry = shm_group_find(s->tables, 0, mgid, 0);
		if (rep.entry == SHM_NONE)
			shm_group_link(s->tables, 0, mgid, 0, &rep.entry);
		rep.generation = shm_group_set(s->tables, rep.entry, asking);
		break;
	}
	send_with(c->socket, &rep, sizeof(rep), NULL, 0);
}

static inline void *serve(void *arg)
{
	struct site *s = arg;

	while (!atomic_load(&s->stop)) {
		struct pollfd polled[CHILDREN];

		pthread_mutex_lock(&s->lock);
		for (uint32_t i = 0; i < CHILDREN; i++)
			polled[i] = (struct pollfd){ s->children[i].alive &&
								     !s->children[i].ended
							     ? s->children[i].socket
							     : -1,
						     POLLIN, 0 };
		pthread_mutex_unlock(&s->lock);
		if (poll(polled, CHILDREN, 1) <= 0)
			continue;
		pthread_mutex_lock(&s->lock);
		for (uint32_t i = 0; i < CHILDREN; i++) {
			struct request req;
			int fds[2];

			if (!polled[i].revents || !s->children[i].alive)
				continue;
			if (receive_with(s->children[i].socket, &req, sizeof(req), fds) ==
			    (ssize_t)sizeof(req))
				answer(s, i, &req, fds[0]);
			else
				s->children[i].ended = true;
		}
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

static inline void site_open(struct site *s)
{
	struct world ports = { 0 };

	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
	assert_int_equal(shm_tables_create(&s->tables_fd, &s->tables), 0);
	ports.tables = s->tables;
	world_port(&ports, 0, "10.0.0.1");
	s->results = mmap(NULL, sizeof(*s->results), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(s->results != MAP_FAILED);
	for (uint32_t i = 0; i < CHILDREN; i++)
		s->children[i].log_fd = -1;
	pthread_create(&s->server, NULL, serve, s);
}

static inline void child_forget(struct child *c)
{
	if (!c->doorbell)
		return;
	shm_doorbell_unmap(c->doorbell);
	close(c->doorbell_fd);
	close(c->counters_fd);
	if (c->log_fd >= 0)
		close(c->log_fd);
	c->log_fd = -1;
	c->doorbell = NULL;
}

/* The funeral (spec/dataplane 7). */
static inline void site_bury(struct site *s, uint32_t slot)
{
	struct child *c = &s->children[slot];

	pthread_mutex_lock(&s->lock);
	c->alive = false;
	c->pid = 0;
	close(c->socket);
	atomic_store(&s->tables->slots[slot].state, SHM_SLOT_DEAD);
	for (uint32_t i = 0; i < s->tables->h.groups_used; i++)
		shm_group_clear(s->tables, i, slot);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		s->children[i].awaited &= ~(1ull << slot);
		if (!s->children[i].alive)
			continue;
		if (c->log_fd >= 0)
			c->awaited |= 1ull << i;
		shm_doorbell_kick(s->children[i].doorbell, slot);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Nobody follows its log any more: the slot is free. */
static inline bool site_drained(struct site *s, uint32_t slot)
{
	struct child *c = &s->children[slot];
	bool drained;

	pthread_mutex_lock(&s->lock);
	drained = !c->awaited;
	if (drained) {
		atomic_store(&s->tables->slots[slot].state, SHM_SLOT_FREE);
		child_forget(c);
	}
	pthread_mutex_unlock(&s->lock);
	return drained;
}

static inline void site_end(struct site *s, uint32_t slot, int sig)
{
	int status;

	if (!s->children[slot].pid)
		return;
	kill(s->children[slot].pid, sig);
	waitpid(s->children[slot].pid, &status, 0);
	site_bury(s, slot);
}

static inline void site_close(struct site *s)
{
	for (uint32_t i = 0; i < CHILDREN; i++)
		site_end(s, i, SIGKILL);
	atomic_store(&s->stop, true);
	pthread_join(s->server, NULL);
	for (uint32_t i = 0; i < CHILDREN; i++)
		child_forget(&s->children[i]);
	munmap(s->results, sizeof(*s->results));
	shm_tables_destroy(s->tables_fd, s->tables);
	pthread_mutex_destroy(&s->lock);
}

/* -- in a child --------------------------------------------------------------------- */

struct self {
	struct world world;
	struct world_process *process;
	struct results *results;
	uint32_t slot;
	int socket;
	pthread_mutex_t lock; /* guards the socket */
	struct world_qp qp;
};

static struct self self;

static inline int child_ask(const struct request *req, int fd, struct reply *rep,
			    int fds[2])
{
	ssize_t n;

	pthread_mutex_lock(&self.lock);
	send_with(self.socket, req, sizeof(*req), &fd, fd >= 0);
	n = receive_with(self.socket, rep, sizeof(*rep), fds);
	pthread_mutex_unlock(&self.lock);
	return n == (ssize_t)sizeof(*rep) ? rep->error : -EPIPE;
}

static inline int child_map_peer(void *arg, uint32_t slot, struct engine_peer *ret)
{
	const struct request req = { .op = ASK_MAP, .slot = slot };
	struct reply rep;
	int fds[2], r = child_ask(&req, -1, &rep, fds);

	if (r < 0)
		return r;
	*ret = (struct engine_peer){ .incarnation = rep.incarnation,
				     .dead = rep.dead,
				     .pid = rep.pid,
				     .doorbell_fd = rep.doorbell ? fds[0] : -1,
				     .log_fd = rep.log ? fds[rep.doorbell] : -1 };
	return 0;
}

static inline int child_publish_log(void *arg, int fd)
{
	const struct request req = { .op = ASK_PUBLISH };
	struct reply rep;
	int fds[2];

	return child_ask(&req, fd, &rep, fds);
}

static inline void child_drained(void *arg, uint32_t slot, uint32_t incarnation)
{
	const struct request req = { .op = ASK_DRAINED,
				     .slot = slot,
				     .incarnation = incarnation };
	struct reply rep;
	int fds[2];

	child_ask(&req, -1, &rep, fds);
}

static const struct engine_ops child_ops = {
	.map_peer = child_map_peer,
	.publish_log = child_publish_log,
	.drained = child_drained,
	.cq_event = world_cq_event,
	.async_event = world_async_event,
};

static inline void child_attach(uint32_t group)
{
	const struct request req = { .op = ASK_ATTACH, .group = group };
	struct reply rep;
	int fds[2];

	if (child_ask(&req, -1, &rep, fds) < 0 ||
	    engine_qp_attach(self.qp.qp, rep.entry, rep.generation, 0) < 0)
		_exit(3);
}

static inline void child_start(struct site *s, uint32_t slot, int socket, uint32_t depth)
{
	struct child *c = &s->children[slot];
	struct world_process *p = &self.world.processes[slot];
	void *tables;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_mutex_init(&self.lock, NULL);
	self.slot = slot;
	self.socket = socket;
	self.results = s->results;
	tables = mmap(NULL, sizeof(struct shm_tables), PROT_READ, MAP_SHARED,
		      s->tables_fd, 0);
	if (tables == MAP_FAILED || shm_doorbell_map(c->doorbell_fd, &p->doorbell) < 0 ||
	    shm_counters_map(c->counters_fd, 1, &p->counters) < 0)
		_exit(4);
	self.world.tables = tables;
	self.world.reads_only = true;
	self.world.next_qpn = 0x100 + slot;
	p->world = &self.world;
	p->slot = slot;
	self.process = p;
	const struct engine_config config = { .tables = self.world.tables,
					      .doorbell = p->doorbell,
					      .counters = p->counters,
					      .slot = slot,
					      .incarnation = c->incarnation,
					      .ops = &child_ops,
					      .arg = p };
	if (engine_open(&config, &p->engine) < 0)
		_exit(5);
	world_qp_create(&self.qp, p, (struct world_qp_options){ .depth = depth });
	world_post_recv(&self.qp, depth);
}

/* Under the lock: the memory of a new process. */
static inline void site_prepare(struct site *s, uint32_t slot)
{
	struct child *c = &s->children[slot];
	uint32_t incarnation = c->incarnation + 1;

	child_forget(c);
	*c = (struct child){ .socket = -1, .incarnation = incarnation, .log_fd = -1 };
	assert_int_equal(shm_doorbell_create(slot, incarnation, &c->doorbell_fd), 0);
	assert_int_equal(shm_doorbell_map(c->doorbell_fd, &c->doorbell), 0);
	assert_int_equal(shm_counters_create(slot, &c->counters_fd), 0);
	atomic_store(&s->tables->slots[slot].incarnation, incarnation);
	atomic_store(&s->tables->slots[slot].state, SHM_SLOT_LIVE);
	c->alive = true;
}

/* Fork a process of the site that runs `child_main`, which need not return. */
static inline pid_t site_fork(struct site *s, uint32_t slot, void (*child_main)(void),
			      uint32_t depth)
{
	struct child *c = &s->children[slot];
	int sockets[2];
	pid_t pid;

	pthread_mutex_lock(&s->lock);
	site_prepare(s, slot);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets),
			 0);
	c->socket = sockets[0];
	pid = fork();
	if (!pid) {
		child_start(s, slot, sockets[1], depth);
		child_main();
		_exit(0);
	}
	assert_true(pid > 0);
	c->pid = pid;
	close(sockets[1]);
	pthread_mutex_unlock(&s->lock);
	return pid;
}

#endif
