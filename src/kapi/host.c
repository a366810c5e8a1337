// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the parts of the kernel API share while there is a site: the engine of this
 * process, and the site's devices (driver.c). Set up once, before anybody uses it.
 */
#include <linux/err.h>
#include <linux/netdevice.h>
#include <linux/mutex.h>
#include <verbcast/kapi.h>

#include "engine/engine.h"
#include "kapi/calls.h"
#include "kapi/driver.h"
#include "kapi/events.h"
#include "kapi/host.h"

static struct kapi_host host; /* set while `begun` */
/* One a node; made before, and freed after, `begun`. */
static struct host_node {
	unsigned int n;
	struct kapi_process process;
	struct engine *engine;
} * nodes;
static bool begun; /* atomic; published last */
static DEFINE_MUTEX(need_lock);
static _Thread_local unsigned int this_node;
static _Thread_local bool node_chosen;

struct net init_net;

/* -- what the engine asks ----------------------------------------------------------- */

struct question {
	const struct host_node *asking;
	uint32_t slot, incarnation;
	struct engine_peer *peer;
	int fd;
	int r;
};

static void ask_map_peer(void *arg)
{
	struct question *q = arg;

	q->r = host.map_peer(host.arg, q->asking->n, q->slot, q->peer);
}

static int map_peer(void *arg, uint32_t slot, struct engine_peer *ret)
{
	struct question q = { .asking = arg, .slot = slot, .peer = ret };

	kapi_call(ask_map_peer, &q);
	return q.r;
}

static void ask_publish_log(void *arg)
{
	struct question *q = arg;

	q->r = host.publish_log(host.arg, q->asking->n, q->fd);
}

static int publish_log(void *arg, int fd)
{
	struct question q = { .asking = arg, .fd = fd };

	kapi_call(ask_publish_log, &q);
	return q.r;
}

static void ask_drained(void *arg)
{
	struct question *q = arg;

	host.drained(host.arg, q->asking->n, q->slot, q->incarnation);
}

static void drained(void *arg, uint32_t slot, uint32_t incarnation)
{
	struct question q = { .asking = arg, .slot = slot, .incarnation = incarnation };

	kapi_call(ask_drained, &q);
}

static const struct engine_ops engine_ops = {
	.map_peer = map_peer,
	.publish_log = publish_log,
	.drained = drained,
	.cq_event = driver_cq_event,
	.async_event = driver_async_event,
};

/* -- life --------------------------------------------------------------------------- */

static int open_engine(struct host_node *node)
{
	struct engine_config config = {
		.tables = host.tables,
		.ops = &engine_ops,
		.arg = node,
		.tell_networks = true,
	};
	int r = host.process(host.arg, node->n, &node->process);

	if (r < 0)
		return r;
	config.doorbell = node->process.doorbell;
	config.counters = node->process.counters;
	config.slot = node->process.slot;
	config.incarnation = node->process.incarnation;
	return engine_open(&config, &node->engine);
}

static void close_engines(void)
{
	for (unsigned int n = 0; nodes && n < kapi_host_nodes(); n++)
		if (nodes[n].engine)
			engine_close(nodes[n].engine);
	kfree(nodes);
	nodes = NULL;
}

static int create_nodes(void)
{
	nodes = kcalloc(kapi_host_nodes(), sizeof(*nodes), GFP_KERNEL);
	for (unsigned int n = 0; nodes && n < kapi_host_nodes(); n++)
		nodes[n].n = n;
	return nodes ? 0 : -ENOMEM;
}

int kapi_host_use(unsigned int n)
{
	return nodes[n].engine ? 0 : open_engine(&nodes[n]);
}

int kapi_host_begin(const struct kapi_host *h)
{
	int r;

	if (READ_ONCE(begun))
		return -EBUSY;
	host = *h;
	r = kapi_calls_begin(host.loop);
	if (r < 0)
		return r;
	r = events_begin();
	if (r < 0)
		goto end_calls;
	r = create_nodes();
	if (r < 0)
		goto end_events;
	if (!host.watch_later)
		driver_watch_now();
	smp_store_release(&begun, true);
	return 0;

end_events:
	events_end();
end_calls:
	kapi_calls_end();
	return r;
}

void kapi_host_watch(void)
{
	driver_watch();
}

int kapi_host_may_end(void)
{
	return driver_may_end();
}

void kapi_host_end(void)
{
	/* Devices that come or go at the very end are waiting for the loop. */
	kapi_calls_stop();
	events_drain();
	smp_store_release(&begun, false);
	driver_end();
	events_end();
	close_engines();
	kapi_calls_end();
}

int kapi_host_need(void)
{
	int r = 0;

	if (smp_load_acquire(&begun))
		return 0;
	mutex_lock(&need_lock);
	if (!smp_load_acquire(&begun))
		r = kapi_site_open(NULL);
	mutex_unlock(&need_lock);
	return r == -EBUSY ? 0 : r;
}

const struct kapi_host *kapi_host(void)
{
	return smp_load_acquire(&begun) ? &host : NULL;
}

bool kapi_host_logs(void)
{
	return smp_load_acquire(&begun) && host.logs;
}

const struct kapi_process *kapi_host_process(unsigned int n)
{
	return &nodes[n].process;
}

struct engine *kapi_host_engine(unsigned int n)
{
	return nodes[n].engine;
}

unsigned int kapi_host_nodes(void)
{
	return min(host.nodes, KAPI_NODES_MAX);
}

void *kapi_host_node(unsigned int n)
{
	return host.node(host.arg, n);
}

/* -- nodes -------------------------------------------------------------------------- */

unsigned int kapi_site_nodes(void)
{
	return kapi_host_need() == 0 ? host.nodes : 0;
}

int kapi_node_enter(unsigned int node)
{
	int r = kapi_host_need();

	if (r < 0)
		return r;
	if (node >= host.nodes)
		return -EINVAL;
	this_node = node;
	node_chosen = true;
	return 0;
}

unsigned int kapi_this_node(void)
{
	return this_node;
}

unsigned int kapi_clients_node(void)
{
	return host.clients_see_all && !node_chosen ? KAPI_ALL_NODES : this_node;
}

struct net *kapi_node_net(unsigned int node)
{
	static struct net nets[KAPI_NODES_MAX]; /* each holds its own index, always */

	if (node >= kapi_site_nodes() || node >= KAPI_NODES_MAX)
		return NULL;
	if (!node)
		return &init_net;
	WRITE_ONCE(nets[node].node, node);
	return &nets[node];
}
