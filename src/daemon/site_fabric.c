/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/site_fabric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fabric/sm/partitions.h"

struct site_fabric {
	struct site_fabric_config config;
	struct fabric *net;
	struct path_fabric *path;
	struct fabric_port **hosts;
	unsigned int host_count;
	struct sm_partitions *partitions; /* null: none were given */
	struct managers *managers;        /* null: no SM of ours */
	char sm_node[64];                 /* of the first */
	uint8_t lmc_max;                  /* there are LIDs enough up to it */
};

/* -- topology ------------------------------------------------------------------------ */

static int read_file(const struct site_fabric_config *c, struct topology **ret)
{
	char error[256] = "";
	int r = topology_parse(c->topology, c->topology_bytes, ret, error, sizeof(error));

	if (r < 0)
		log_error("%s: %s", c->shape->file, *error ? error : strerror(-r));
	return r;
}

static int make_topology(const struct site_fabric_config *c, struct topology **ret)
{
	const struct admin_shape *s = c->shape;

	switch (s->kind) {
	case ADMIN_SHAPE_NODES:
		return topology_star(s->count, c->guid_seed, ret);
	case ADMIN_SHAPE_RING:
		return topology_ring(s->count, s->hosts, c->guid_seed, ret);
	case ADMIN_SHAPE_FAT_TREE:
		return topology_fat_tree(s->count, c->guid_seed, ret);
	case ADMIN_SHAPE_FILE:
		return read_file(c, ret);
	default:
		return topology_star(1, c->guid_seed, ret);
	}
}

static unsigned int count_nodes(const struct topology *t, bool switches)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < t->count; i++)
		n += t->nodes[i].is_switch == switches;
	return n;
}

/* So many adapters have somebody behind them. */
static unsigned int node_count(const struct topology *t)
{
	unsigned int hosts = count_nodes(t, false);

	return hosts < ADMIN_NODES_MAX ? hosts : ADMIN_NODES_MAX;
}

/* Adapters' LIDs begin at the first multiple of their number that is none of 0. */
static uint8_t find_lmc_max(const struct topology *t)
{
	uint32_t ports = 0;
	uint8_t lmc = ADMIN_LMC_MAX;

	for (uint32_t i = 0; i < t->count; i++)
		ports += t->nodes[i].is_switch ? 0 : t->nodes[i].ports;
	while (lmc && (ports << lmc) + count_nodes(t, true) >
			      IB_LID_MULTICAST_BASE - (1u << lmc))
		lmc--;
	return lmc;
}

static int check_lmc(const struct site_fabric *f)
{
	const struct admin_shape *s = f->config.shape;

	if (s->lmc && s->no_sm) {
		log_error("--lmc is the subnet manager's, and --no-sm leaves it out");
		return -EINVAL;
	}
	if (s->lmc > f->lmc_max) {
		log_error("--lmc %u: there are 49151 LIDs, which is enough for this "
			  "fabric with up to --lmc %u",
			  s->lmc, f->lmc_max);
		return -EINVAL;
	}
	return 0;
}

static int check_topology(const struct site_fabric_config *c, const struct topology *t)
{
	unsigned int hosts = count_nodes(t, false);

	if (!hosts) {
		log_error("a fabric without an adapter: nobody could be on it");
		return -EINVAL;
	}
	/* The others are there, for whoever manages the subnet, and nobody is behind. */
	if (hosts > ADMIN_NODES_MAX)
		log_warning("the first %u of %u adapters are nodes", ADMIN_NODES_MAX,
			    hosts);
	if (!c->shape->no_sm && !count_nodes(t, true)) {
		log_error("a fabric without a switch: the subnet manager is behind one "
			  "(or --no-sm)");
		return -EINVAL;
	}
	return 0;
}

static void name_only_host(const struct site_fabric_config *c, struct topology *t)
{
	if (c->shape->kind != ADMIN_SHAPE_DEFAULT)
		return;
	for (uint32_t i = 0; i < t->count; i++)
		if (!t->nodes[i].is_switch)
			snprintf(t->nodes[i].name, sizeof(t->nodes[i].name), "%s",
				 c->only_name);
}

/* -- subnet managers ------------------------------------------------------------------ */

int site_fabric_start_sm(struct site_fabric *f, const char *node, uint8_t priority,
			 uint8_t lmc)
{
	if (!f->managers)
		return -ENODEV;
	if (lmc == ADMIN_LMC_DEFAULT)
		lmc = f->config.shape->lmc;
	if (lmc > f->lmc_max)
		return -ERANGE;
	return managers_start(f->managers, node ? node : f->sm_node, priority, lmc);
}

int site_fabric_stop_sm(struct site_fabric *f, const char *node)
{
	if (!f->managers)
		return -ENODEV;
	return managers_stop(f->managers, node ? node : f->sm_node);
}

bool site_fabric_is_up(const struct site_fabric *f)
{
	struct manager_view m;

	return !f->managers || !managers_master(f->managers, &m) || sm_is_up(m.sm);
}

bool site_fabric_sm_nth(const struct site_fabric *f, unsigned int n,
			struct manager_view *ret)
{
	return f->managers && managers_nth(f->managers, n, ret);
}

static uint64_t guid_of(void *arg, const char *name)
{
	const struct site_fabric *f = arg;
	struct fabric_port *port = fabric_find_port(f->net, name, 0);
	struct fabric_port_info info;

	if (!port && f->config.shape->kind == ADMIN_SHAPE_DEFAULT &&
	    !strcmp(name, f->config.only_name))
		port = fabric_hca_port(f->net, 0);
	if (!port)
		return 0;
	fabric_port_info(port, &info);
	return info.port_guid;
}

static int read_partitions(struct site_fabric *f)
{
	const struct site_fabric_config *c = &f->config;
	char error[256] = "";
	int r;

	if (!c->partitions)
		return 0;
	r = sm_partitions_parse(c->partitions, c->partitions_bytes, guid_of, f,
				&f->partitions, error, sizeof(error));
	if (r < 0)
		log_error("%s: %s", c->shape->partitions, *error ? error : strerror(-r));
	return r;
}

/* The first one is behind the first switch. */
static int create_managers(struct site_fabric *f)
{
	struct managers_config config = {
		.timers = f->config.timers,
		.random = f->config.random,
		.net = f->net,
		.path = f->path,
	};
	struct fabric_port_info info;
	int r = read_partitions(f);

	if (r < 0)
		return r;
	/* An empty file is as none. */
	if (f->partitions && f->partitions->count) {
		config.partitions = f->partitions->list;
		config.partition_count = f->partitions->count;
	}
	r = managers_create(&config, &f->managers);
	if (r < 0)
		return r;
	fabric_port_info(fabric_switch_port(f->net, 0), &info);
	snprintf(f->sm_node, sizeof(f->sm_node), "%s", info.node);
	return site_fabric_start_sm(f, NULL, 0, ADMIN_LMC_DEFAULT);
}

/* -- life ---------------------------------------------------------------------------- */

static void routes_changed(void *arg)
{
	path_fabric_routes_changed(((struct site_fabric *)arg)->path);
}

static void multicast_changed(void *arg, uint16_t first_mlid, uint32_t rows)
{
	path_fabric_multicast_changed(((struct site_fabric *)arg)->path, first_mlid,
				      rows);
}

static void carry(void *arg, uint16_t first_lid, uint16_t last_lid)
{
	const struct site_fabric *f = arg;

	if (f->config.carry)
		f->config.carry(f->config.arg, first_lid, last_lid);
}

static int create_net(struct site_fabric *f, const struct topology *t)
{
	const struct fabric_config config = {
		.timers = f->config.timers,
		.random = f->config.random,
		.topology = t,
		.routes_changed = routes_changed,
		.multicast_changed = multicast_changed,
		.carry = carry,
		.arg = f,
	};

	return fabric_create(&config, &f->net);
}

static int find_hosts(struct site_fabric *f, unsigned int count)
{
	struct fabric_port *port;

	f->hosts = calloc(count, sizeof(struct fabric_port *));
	if (!f->hosts)
		return -ENOMEM;
	for (unsigned int n = 0; (port = fabric_hca_port(f->net, n)); n++) {
		struct fabric_port_info info;

		fabric_port_info(port, &info);
		if (info.port_num == 1 && f->host_count < count)
			f->hosts[f->host_count++] = port;
	}
	return 0;
}

static int create_path(struct site_fabric *f)
{
	const struct path_fabric_config config = {
		.fabric = f->net,
		.timers = f->config.timers,
		.follow = f->config.follow,
		.follow_mlid = f->config.follow_mlid,
		.arg = f->config.arg,
	};

	return path_fabric_create(&config, &f->path);
}

static int create_all(struct site_fabric *f)
{
	struct topology *t;
	int r;

	r = make_topology(&f->config, &t);
	if (r < 0)
		return r;
	r = check_topology(&f->config, t);
	f->lmc_max = find_lmc_max(t);
	if (!r)
		r = check_lmc(f);
	name_only_host(&f->config, t);
	if (!r)
		r = create_net(f, t);
	if (!r)
		r = find_hosts(f, node_count(t));
	topology_destroy(t);
	if (!r)
		r = create_path(f);
	if (!r && !f->config.shape->no_sm)
		r = create_managers(f);
	return r;
}

int site_fabric_create(const struct site_fabric_config *config, struct site_fabric **ret)
{
	struct site_fabric *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->config = *config;
	r = create_all(f);
	if (r < 0) {
		site_fabric_destroy(f);
		return r;
	}
	*ret = f;
	return 0;
}

void site_fabric_destroy(struct site_fabric *f)
{
	if (!f)
		return;
	managers_destroy(f->managers);
	sm_partitions_destroy(f->partitions);
	path_fabric_destroy(f->path);
	f->path = NULL; /* the end of the net changes routes, too */
	if (f->net)
		fabric_destroy(f->net);
	free(f->hosts);
	free(f);
}

struct fabric *site_fabric_net(struct site_fabric *f)
{
	return f->net;
}

struct path_fabric *site_fabric_path(struct site_fabric *f)
{
	return f->path;
}

struct fabric_port *site_fabric_host(struct site_fabric *f, unsigned int n)
{
	return n < f->host_count ? f->hosts[n] : NULL;
}

struct sm *site_fabric_sm(struct site_fabric *f)
{
	struct manager_view m;

	return f->managers && managers_master(f->managers, &m) ? m.sm : NULL;
}

struct sa_server *site_fabric_sa(struct site_fabric *f)
{
	struct manager_view m;

	return f->managers && managers_master(f->managers, &m) ? m.sa : NULL;
}
