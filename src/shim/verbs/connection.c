// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a generation begins and ends: say hello to verbcastd, map what it hands out, open
 * the engine, learn the devices; and all of that backwards. process.c calls it, with its
 * lock held while connecting.
 *
 * Environment: VERBCAST_SOCKET names verbcastd's socket, VERBCAST_NODE the node to be on.
 * Without the former there is nothing to connect to: a library never starts anything.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "context.h"
#include "device.h"
#include "ah.h"
#include "process_priv.h"

/* The one thing this library ever says unasked: nothing else could tell the user. */
static void report_version(const struct uapi_hello_reply *reply)
{
	static bool reported; /* guarded by process_lock */

	if (reported || !reply->version)
		return;
	reported = true;
	dprintf(STDERR_FILENO,
		"verbcast: this program's libibverbs speaks protocol %u.%u, but "
		"verbcastd %.*s "
		"speaks %u.%u; restart it by `verbcast stop`\n",
		UAPI_VERSION, SHM_LAYOUT_VERSION, (int)sizeof(reply->release),
		reply->release, reply->version, reply->layout_version);
}

static int map_tables(struct process *p, int fd, uint64_t bytes)
{
	struct stat st;
	void *map;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (bytes < sizeof(struct shm_tables) || (uint64_t)st.st_size < bytes)
		return -EPROTO;
	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	p->tables = map;
	p->tables_bytes = bytes;
	r = shm_tables_check(map, bytes);
	if (r < 0)
		return r;
	madvise(map, bytes, MADV_DONTFORK);
	return 0;
}

static int map_memory(struct process *p, const struct uapi_welcome *w)
{
	int r;

	r = map_tables(p, w->tables_fd, w->reply.tables_bytes);
	if (r < 0)
		return r;
	r = shm_doorbell_map(w->doorbell_fd, &p->doorbell);
	if (r < 0)
		return r;
	return shm_counters_map(w->counters_fd, 1, &p->counters);
}

static int open_engine(struct process *p)
{
	struct engine_config config = {
		.tables = p->tables,
		.doorbell = p->doorbell,
		.counters = p->counters,
		.slot = p->slot,
		.incarnation = p->incarnation,
		.ops = &process_engine_ops,
		.arg = p,
	};

	return engine_open(&config, &p->engine);
}

static int say_hello(struct process *p, struct uapi_welcome *w)
{
	struct uapi_introduction who = {
		.path = secure_getenv("VERBCAST_SOCKET"),
		.layout_version = SHM_LAYOUT_VERSION,
		.node = secure_getenv("VERBCAST_NODE"),
	};
	int r;

	if (!who.path || !who.path[0])
		return -ENODEV;
	r = uapi_connection_open(&who, &p->connection, w);
	if (r == -EPROTO)
		report_version(&w->reply);
	if (r < 0)
		log_info("%s: no connection to verbcastd (%d)", who.path, r);
	return r;
}

static void close_memory(struct uapi_welcome *w)
{
	if (w->tables_fd >= 0)
		close(w->tables_fd);
	if (w->doorbell_fd >= 0)
		close(w->doorbell_fd);
	if (w->counters_fd >= 0)
		close(w->counters_fd);
}

int process_create(struct process **ret)
{
	struct uapi_welcome w = { .tables_fd = -1, .doorbell_fd = -1, .counters_fd = -1 };
	struct process *p;
	int r;

	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	descriptor_hold(&p->events, -1);
	atomic_init(&p->refs, 1);
	list_init(&p->link);
	list_init(&p->contexts);
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->devices_lock, NULL);
	pool_init(&p->ahs, ah_bytes());
	r = say_hello(p, &w);
	if (r < 0)
		goto destroy;
	descriptor_hold(&p->events, w.event_fd);
	p->slot = w.reply.slot;
	p->incarnation = w.reply.incarnation;
	r = map_memory(p, &w);
	close_memory(&w);
	if (r < 0)
		goto destroy;
	r = open_engine(p);
	if (r < 0)
		goto destroy;
	r = devices_learn(p);
	if (r < 0)
		goto destroy;
	*ret = p;
	return 0;

destroy:
	log_info("cannot become a client of verbcastd (%d)", r);
	process_destroy(p);
	return r;
}

/* Not in a child: its mappings were not inherited, the addresses may be others' by now. */
static void unmap_memory(struct process *p)
{
	if (p->counters)
		shm_counters_unmap(p->counters);
	if (p->doorbell)
		shm_doorbell_unmap(p->doorbell);
	if (p->tables)
		munmap((void *)p->tables, p->tables_bytes);
}

void process_destroy(struct process *p)
{
	devices_forget(p);
	if (!process_forked(p)) {
		if (p->engine)
			engine_close(p->engine);
		unmap_memory(p);
		uapi_connection_close(p->connection);
		descriptor_close(&p->events);
	}
	pool_fini(&p->ahs);
	pthread_mutex_destroy(&p->devices_lock);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void process_abandon(struct process *p)
{
	atomic_store_explicit(&p->state, PROCESS_FORKED, memory_order_relaxed);
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->devices_lock, NULL);
	list_for_each(pos, &p->contexts) {
		struct device_context *c = container_of(pos, struct device_context, link);

		pthread_mutex_init(&c->verbs.context.mutex, NULL);
	}
	uapi_connection_close(p->connection);
	p->connection = NULL;
	descriptor_close(&p->events);
	engine_abandon(p->engine);
	p->engine = NULL;
	p->tables = NULL;
	p->doorbell = NULL;
	p->counters = NULL;
}
