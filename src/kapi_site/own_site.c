/* SPDX-License-Identifier: BSD-2-Clause */
#include "kapi_site/own_site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/addr/links.h"
#include "core/cm/cma.h"
#include "daemon/devices.h"
#include "daemon/nodes.h"
#include "daemon/site_fabric.h"
#include "daemon/timers.h"
#include "hca/hca.h"
#include "loop/loop.h"
#include "shm/counters.h"
#include "shm/doorbell.h"
#include "shm/tables.h"

#define INCARNATION 1u
#define SETTLE_NS   (2000 * TIMER_MS) /* for the fabric, before the first call */

/* A node as a process of the site. */
struct own_slot {
	int doorbell_fd, counters_fd, log_fd; /* -1: none */
	struct shm_doorbell *doorbell;
	struct shm_counters *counters;
};

/* rdma_cm of a node, and what delivers its events. */
struct own_cm {
	struct cma *cma;
	struct loop_timer *timer;
};

struct own_site {
	struct own_site_config config;
	struct loop *loop;
	struct timers *timers;
	int tables_fd;
	struct shm_tables *tables;
	struct own_slot *slots; /* one a node */
	struct hca_site *hca;
	struct hca_limits limits;
	struct random random;
	struct site_fabric *fabric;
	struct nodes *nodes;
	struct devices *devices; /* of the first node */
	struct own_cm *cms;      /* one a node */
};

/* -- memory ------------------------------------------------------------------------- */

static void occupy(struct own_site *s, uint32_t n)
{
	struct shm_slot *slot = &s->tables->slots[n];

	slot->node = n;
	atomic_store_explicit(&slot->incarnation, INCARNATION, memory_order_release);
	atomic_store_explicit(&slot->state, SHM_SLOT_LIVE, memory_order_release);
}

static int create_slot(struct own_site *s, uint32_t n)
{
	struct own_slot *slot = &s->slots[n];
	int r;

	r = shm_doorbell_create(n, INCARNATION, &slot->doorbell_fd);
	if (!r)
		r = shm_doorbell_map(slot->doorbell_fd, &slot->doorbell);
	if (!r)
		r = shm_counters_create(n, &slot->counters_fd);
	if (!r)
		r = shm_counters_map(slot->counters_fd, 1, &slot->counters);
	if (!r)
		occupy(s, n);
	return r;
}

static int create_slots(struct own_site *s)
{
	int r = 0;

	s->slots = calloc(s->config.nodes, sizeof(s->slots[0]));
	if (!s->slots)
		return -ENOMEM;
	for (unsigned int n = 0; n < s->config.nodes; n++)
		s->slots[n].doorbell_fd = s->slots[n].counters_fd = s->slots[n].log_fd =
			-1;
	for (unsigned int n = 0; n < s->config.nodes && !r; n++)
		r = create_slot(s, n);
	return r;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void destroy_slots(struct own_site *s)
{
	for (unsigned int n = 0; s->slots && n < s->config.nodes; n++) {
		struct own_slot *slot = &s->slots[n];

		if (slot->counters)
			shm_counters_unmap(slot->counters);
		if (slot->doorbell)
			shm_doorbell_unmap(slot->doorbell);
		close_fd(slot->counters_fd);
		close_fd(slot->doorbell_fd);
		close_fd(slot->log_fd);
	}
	free(s->slots);
}

static int create_memory(struct own_site *s)
{
	int r;

	r = shm_tables_create(&s->tables_fd, &s->tables);
	if (!r)
		r = create_slots(s);
	return r < 0 ? r : hca_site_create(s->tables, &s->hca);
}

static void destroy_memory(struct own_site *s)
{
	destroy_slots(s);
	if (s->tables)
		shm_tables_destroy(s->tables_fd, s->tables);
}

int own_site_process(const struct own_site *s, unsigned int n, struct kapi_process *ret)
{
	*ret = (struct kapi_process){
		.doorbell = s->slots[n].doorbell,
		.counters = s->slots[n].counters,
		.slot = n,
		.incarnation = INCARNATION,
	};
	return 0;
}

static int copy_fd(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int own_site_map_peer(const struct own_site *s, uint32_t slot, struct engine_peer *ret)
{
	if (slot >= s->config.nodes)
		return -ENOENT;
	*ret = (struct engine_peer){
		.incarnation = INCARNATION,
		.pid = getpid(),
		.doorbell_fd = copy_fd(s->slots[slot].doorbell_fd),
		.log_fd = copy_fd(s->slots[slot].log_fd),
	};
	return 0;
}

int own_site_publish_log(struct own_site *s, unsigned int n, int fd)
{
	s->slots[n].log_fd = copy_fd(fd);
	return s->slots[n].log_fd < 0 ? -EMFILE : 0;
}

/* -- nodes and devices -------------------------------------------------------------- */

static void unused(void *arg, struct ib_device *device)
{
	devices_sweep(((struct own_site *)arg)->devices);
}

/* The kernel API hears of it from the core. */
static void devices_changed(void *arg)
{
}

static void node_changed(void *arg, struct node *node)
{
}

static const struct hca_device_ops device_ops = {
	.unused = unused,
};

static int create_devices(struct own_site *s)
{
	const struct devices_config config = {
		.loop = s->loop,
		.tables = s->tables,
		.hca = s->hca,
		.node = nodes_nth(s->nodes, 0)->ib,
		.limits = &s->limits,
		.ops = &device_ops,
		.guid_seed = s->config.seed,
		.grace_ms = DEVICES_GRACE_MS,
		.read = addr_links_read,
		.changed = devices_changed,
		.arg = s,
	};

	return devices_create(&config, &s->devices);
}

static bool recompile(void *arg)
{
	return hca_site_recompile(((struct own_site *)arg)->hca);
}

static uint32_t recompile_mlid(void *arg, uint16_t mlid)
{
	return hca_site_recompile_mlid(((struct own_site *)arg)->hca, mlid);
}

static int create_fabric(struct own_site *s)
{
	const struct admin_shape shape = {
		.kind = s->config.nodes > 1 ? ADMIN_SHAPE_NODES : ADMIN_SHAPE_DEFAULT,
		.count = s->config.nodes,
	};
	const struct site_fabric_config config = {
		.timers = timers_queue(s->timers),
		.random = &s->random,
		.shape = &shape,
		.only_name = NODES_FIRST_NAME,
		.guid_seed = s->config.seed,
		.follow = recompile,
		.follow_mlid = recompile_mlid,
		.arg = s,
	};

	return site_fabric_create(&config, &s->fabric);
}

static int create_nodes(struct own_site *s)
{
	const struct nodes_config config = {
		.timers = timers_queue(s->timers),
		.random = &s->random,
		.hca = s->hca,
		.fabric = s->fabric,
		.limits = &s->limits,
		.ops = &device_ops,
		.changed = node_changed,
		.arg = s,
	};
	int r = nodes_create(&config, &s->nodes);

	if (!r)
		r = create_devices(s);
	return r ? r : nodes_start(s->nodes);
}

static bool is_up(void *arg)
{
	struct own_site *s = arg;

	return site_fabric_is_up(s->fabric) && nodes_are_up(s->nodes);
}

/* -- rdma_cm ------------------------------------------------------------------------ */

static void events_wait(void *arg)
{
	loop_timer_arm(((struct own_cm *)arg)->timer, 0);
}

static void deliver(void *arg)
{
	cma_run(((struct own_cm *)arg)->cma);
}

static int create_cm(struct own_site *s, unsigned int n)
{
	struct own_cm *cm = &s->cms[n];
	const struct cma_config config = {
		.node = own_site_node(s, n),
		.host = &addr_linux_ops,
		.ipoib = nodes_nth(s->nodes, n)->ipoib,
		.schedule = events_wait,
		.arg = cm,
	};
	int r = loop_timer_create(s->loop, deliver, cm, &cm->timer);

	return r < 0 ? r : cma_create(&config, &cm->cma);
}

static int create_cms(struct own_site *s)
{
	int r = 0;

	s->cms = calloc(s->config.nodes, sizeof(s->cms[0]));
	if (!s->cms)
		return -ENOMEM;
	for (unsigned int n = 0; n < s->config.nodes && !r; n++)
		r = create_cm(s, n);
	return r;
}

static void destroy_cms(struct own_site *s)
{
	for (unsigned int n = 0; s->cms && n < s->config.nodes; n++) {
		if (s->cms[n].cma)
			cma_destroy(s->cms[n].cma);
		loop_timer_destroy(s->cms[n].timer);
	}
	free(s->cms);
}

/* -- life --------------------------------------------------------------------------- */

int own_site_create(const struct own_site_config *config, struct own_site **ret)
{
	struct own_site *s;
	int r;

	if (!config->nodes || config->nodes > OWN_SITE_NODES_MAX)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = *config;
	s->tables_fd = -1;
	hca_limits_init(&s->limits);
	random_seed(&s->random, config->seed);
	r = loop_create(&s->loop);
	if (!r)
		r = timers_create(s->loop, &s->timers);
	if (!r)
		r = create_memory(s);
	if (!r)
		r = create_fabric(s);
	if (!r)
		r = create_nodes(s);
	if (!r)
		r = create_cms(s);
	if (r < 0) {
		own_site_destroy(s);
		return r;
	}
	timers_settle(s->timers, SETTLE_NS, is_up, s);
	*ret = s;
	return 0;
}

void own_site_destroy(struct own_site *s)
{
	if (!s)
		return;
	destroy_cms(s);
	nodes_stop(s->nodes);
	devices_destroy(s->devices);
	nodes_destroy(s->nodes);
	site_fabric_destroy(s->fabric);
	hca_site_destroy(s->hca);
	destroy_memory(s);
	timers_destroy(s->timers);
	loop_destroy(s->loop);
	free(s);
}

struct loop *own_site_loop(const struct own_site *s)
{
	return s->loop;
}

const struct shm_tables *own_site_tables(const struct own_site *s)
{
	return s->tables;
}

struct ib_node *own_site_node(const struct own_site *s, unsigned int n)
{
	struct node *node = nodes_nth(s->nodes, n);

	return node ? node->ib : NULL;
}

struct cma *own_site_cma(const struct own_site *s, unsigned int n)
{
	return n < s->config.nodes ? s->cms[n].cma : NULL;
}

int own_site_unplug(struct own_site *s, unsigned int n, const struct ib_device *device)
{
	struct node *node = nodes_nth(s->nodes, n);

	if (!node->vib || hca_device_ib(node->vib) != device)
		return devices_unplug(s->devices, device);
	fabric_power_set(site_fabric_net(s->fabric), ib_node_name(node->ib), false);
	hca_device_remove(node->vib);
	return 0;
}

void own_site_rescan(struct own_site *s)
{
	devices_follow(s->devices);
}
