// SPDX-License-Identifier: BSD-2-Clause
/*
 * kapi_site_open and kapi_site_close: the site of this process and the thread that runs
 * its loop.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <verbcast/kapi.h>

#include "kapi/calls.h"
#include "kapi/host.h"
#include "kapi_site/own_site.h"
#include "kapi/threads.h"
#include "loop/loop.h"

#define SEED 0x766272636173ull /* GUIDs are the same at every start */

static struct {
	pthread_mutex_t lock; /* over opening and closing */
	pthread_t thread;     /* while there is a site; guarded by lock */
	struct own_site *site;
	/* What the thread says of its beginning. */
	pthread_mutex_t begun_lock;
	pthread_cond_t begun_cond;
	int begun; /* 1: not yet; 0, or negative errno; guarded by begun_lock */
} own = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.begun_lock = PTHREAD_MUTEX_INITIALIZER,
	.begun_cond = PTHREAD_COND_INITIALIZER,
};

static void *node(void *arg, unsigned int n)
{
	return own_site_node(arg, n);
}

static void *cma(void *arg, unsigned int n)
{
	return own_site_cma(arg, n);
}

static int process(void *arg, unsigned int n, struct kapi_process *ret)
{
	return own_site_process(arg, n, ret);
}

static int map_peer(void *arg, unsigned int n, uint32_t slot, struct engine_peer *ret)
{
	return own_site_map_peer(arg, slot, ret);
}

static int publish_log(void *arg, unsigned int n, int fd)
{
	return own_site_publish_log(arg, n, fd);
}

/* Nobody dies before all do. */
static void drained(void *arg, unsigned int n, uint32_t slot, uint32_t incarnation)
{
}

static int unplug(void *arg, unsigned int n, void *device)
{
	return own_site_unplug(arg, n, device);
}

static void rescan(void *arg)
{
	own_site_rescan(arg);
}

static int host_begin(struct own_site *s, unsigned int nodes)
{
	const struct kapi_host host = {
		.loop = own_site_loop(s),
		.tables = own_site_tables(s),
		.nodes = nodes,
		.node = node,
		.cma = cma,
		.process = process,
		.map_peer = map_peer,
		.publish_log = publish_log,
		.drained = drained,
		.unplug = unplug,
		.rescan = rescan,
		.arg = s,
	};

	return kapi_host_begin(&host);
}

static void say_begun(int r)
{
	pthread_mutex_lock(&own.begun_lock);
	own.begun = r;
	pthread_cond_signal(&own.begun_cond);
	pthread_mutex_unlock(&own.begun_lock);
}

static int await_begun(void)
{
	int r;

	pthread_mutex_lock(&own.begun_lock);
	while (own.begun > 0)
		pthread_cond_wait(&own.begun_cond, &own.begun_lock);
	r = own.begun;
	pthread_mutex_unlock(&own.begun_lock);
	return r;
}

/* All of the site's life is this thread's. */
static void *run(void *arg)
{
	const struct own_site_config *config = arg;
	unsigned int nodes = config->nodes;
	struct own_site *s;
	int r;

	kapi_calls_claim();
	r = own_site_create(config, &s);
	if (r == 0) {
		r = host_begin(s, nodes);
		if (r < 0)
			own_site_destroy(s);
	}
	if (r == 0)
		own.site = s;
	say_begun(r);
	if (r < 0)
		return NULL;
	loop_run(own_site_loop(s));
	kapi_host_end();
	own_site_destroy(s);
	return NULL;
}

int kapi_site_open(const struct kapi_site_config *config)
{
	struct own_site_config c = {
		.nodes = config && config->nodes ? config->nodes : 1,
		.seed = config && config->seed ? config->seed : SEED,
	};
	int r = -EBUSY;

	pthread_mutex_lock(&own.lock);
	if (!kapi_host()) {
		own.begun = 1;
		r = kapi_thread_start(&own.thread, "kapi-loop", run, &c);
		if (r == 0) {
			r = await_begun();
			if (r < 0)
				pthread_join(own.thread, NULL);
		}
	}
	pthread_mutex_unlock(&own.lock);
	return r;
}

static void stop(void *arg)
{
	loop_stop(own_site_loop(own.site));
}

int kapi_site_close(void)
{
	int r = 0;

	if (kapi_on_loop()) {
		kapi_report("kapi_site_close from a callback");
		return -EDEADLK;
	}
	pthread_mutex_lock(&own.lock);
	if (kapi_host()) {
		r = kapi_host_may_end();
		if (r == 0) {
			kapi_call(stop, NULL);
			pthread_join(own.thread, NULL);
			kapi_works_end();
			kapi_timers_end();
		}
	}
	pthread_mutex_unlock(&own.lock);
	return r;
}
