/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/site.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "daemon/admin.h"
#include "daemon/status.h"
#include "daemon/tree.h"

#define FIRST_GRACE_MS 10000u           /* for whoever started us to come */
#define SETTLE_NS      (200 * TIMER_MS) /* for the fabric, before they do */

/* -- processes ---------------------------------------------------------------------- */

int site_process_open(struct site *s, struct ib_node *node, pid_t pid,
		      const char *program, struct uapi_process *ret)
{
	int r = slots_open(s->slots, node, pid, program, ret);
	struct slot_view p;

	if (r < 0 || !slots_view(s->slots, ret->slot, &p))
		return r;
	if (traffic_process_began(s->traffic, p.slot, p.counters,
				  nodes_find_ib(s->nodes, node)->port) < 0)
		log_warning("no memory to count what process %d sends", (int)pid);
	return 0;
}

void site_process_close(struct site *s, uint32_t slot)
{
	traffic_process_ended(s->traffic, slot);
	slots_close(s->slots, slot);
}

static void carry(void *arg, uint16_t first_lid, uint16_t last_lid)
{
	struct site *s = arg;

	if (s->traffic)
		traffic_carry(s->traffic, first_lid, last_lid);
}

/* -- what the server asks of a site ------------------------------------------------- */

static int process_open(void *arg, struct ib_node *node, pid_t pid, const char *program,
			struct uapi_process *ret)
{
	struct site *s = arg;
	int r = site_process_open(s, node, pid, program, ret);

	if (!r)
		log_debug("process %d (%s) has slot %u", (int)pid, program, ret->slot);
	return r;
}

static void process_close(void *arg, uint32_t slot)
{
	struct site *s = arg;
	struct slot_view p;

	if (!slots_view(s->slots, slot, &p))
		return;
	log_debug("process %d (%s) is gone from slot %u", (int)p.pid, p.program, slot);
	history_process_ended(&s->history, &p);
	fault_rules_process_ended(&s->faults, p.counters);
	site_process_close(s, slot);
}

static int map_peer(void *arg, uint32_t asking_slot, uint32_t slot, struct uapi_peer *ret)
{
	return slots_map_peer(((struct site *)arg)->slots, asking_slot, slot, ret);
}

static int publish_log(void *arg, uint32_t slot, int fd)
{
	return slots_publish_log(((struct site *)arg)->slots, slot, fd);
}

static int drained(void *arg, uint32_t asking_slot, uint32_t slot, uint32_t incarnation)
{
	return slots_drained(((struct site *)arg)->slots, asking_slot, slot, incarnation);
}

static int status(void *arg, int *ret_fd, uint64_t *ret_bytes)
{
	return status_file(arg, ret_fd, ret_bytes);
}

static void admin(void *arg, struct uapi_admin_call *call, int argc, char **argv)
{
	admin_command(arg, call, argc, argv);
}

static void asker_gone(void *arg, struct uapi_admin_call *call)
{
	admin_gone(arg, call);
}

/* Not from inside a request: its reply goes first. */
static void end_soon(struct site *s)
{
	s->ending = true;
	loop_timer_arm(s->end_timer, 0);
}

static void stop(void *arg)
{
	end_soon(arg);
}

static void presence(void *arg, unsigned int clients, bool ended_private)
{
	struct site *s = arg;

	s->clients = clients;
	if (s->ending)
		return;
	if (ended_private && s->options->is_private)
		end_soon(s);
	else if (clients || s->stay)
		loop_timer_disarm(s->end_timer);
	else
		loop_timer_arm(s->end_timer, s->options->linger_s * 1000ull);
}

static struct ib_node *find_node(void *arg, const char *name)
{
	struct site *s = arg;
	struct node *node = nodes_find(s->nodes, name);

	/* Whoever comes will look at it. */
	if (node && !node->in_tree)
		tree_write(s, node);
	return node ? node->ib : NULL;
}

static const struct ipoib *node_ipoib(void *arg, const struct ib_node *ib)
{
	return nodes_find_ib(((struct site *)arg)->nodes, ib)->ipoib;
}

static int issm_path(void *arg, const struct ib_device *device, char *path, size_t size)
{
	struct site *s = arg;
	struct node *node = nodes_find_ib(s->nodes, device->node);

	if (!node || !node->port)
		return -ENODEV;
	return issm_files_path(s->issm, node->index, path, size);
}

static void issm_changed(void *arg, unsigned int index, bool held)
{
	struct node *node = nodes_nth(((struct site *)arg)->nodes, index);

	fabric_port_set_issm(node->port, FABRIC_ISSM_PROGRAM, held);
}

static const char *site_name(void *arg)
{
	return ((struct site *)arg)->paths->name;
}

static int tables_fd(void *arg)
{
	return ((struct site *)arg)->tables_fd;
}

static uint64_t tables_bytes(void *arg)
{
	return sizeof(struct shm_tables);
}

static const struct uapi_site_ops site_ops = {
	.process_open = process_open,
	.process_close = process_close,
	.map_peer = map_peer,
	.publish_log = publish_log,
	.drained = drained,
	.status = status,
	.admin = admin,
	.admin_gone = asker_gone,
	.stop = stop,
	.presence = presence,
	.find_node = find_node,
	.ipoib = node_ipoib,
	.issm_path = issm_path,
	.site_name = site_name,
	.tables_fd = tables_fd,
	.tables_bytes = tables_bytes,
};

/* -- what the device tells ---------------------------------------------------------- */

static void member_left(void *arg, struct ib_device *device, const union ib_gid *mgid,
			uint32_t slot, uint32_t qpn, uint32_t counters)
{
	struct site *s = arg;
	struct slot_view p;

	if (slots_view(s->slots, slot, &p))
		history_member_left(&s->history, &p, device, mgid->raw, qpn, counters);
}

static void qp_left(void *arg, struct ib_device *device, uint32_t slot, uint32_t qpn,
		    uint32_t counters)
{
	struct site *s = arg;
	struct slot_view p;

	if (!slots_view(s->slots, slot, &p))
		return;
	history_qp_left(&s->history, &p, device, qpn, counters);
}

static void unused(void *arg, struct ib_device *device)
{
	devices_sweep(((struct site *)arg)->devices);
}

static const struct hca_device_ops device_ops = {
	.member_left = member_left,
	.qp_left = qp_left,
	.unused = unused,
};

/* -- devices ------------------------------------------------------------------------ */

/* The same at every start of this site of this user on this machine. */
static uint64_t guid_seed(const struct site *s)
{
	char id[64] = "";
	uint32_t high, low, uid = geteuid();
	ssize_t n = -1;
	int fd;

	fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, id, sizeof(id));
		close(fd);
	}
	high = hash_bytes(1, id, n > 0 ? (size_t)n : 0);
	high = hash_bytes(high, &uid, sizeof(uid));
	low = hash_bytes(high ^ 0x76626373u, s->paths->name, strlen(s->paths->name));
	return (uint64_t)high << 32 | low;
}

/* Programs look again when this has been told, and the tree must be right by then. What
 * cannot be written is missing from it, and is logged; the site goes on. */
static void devices_changed(void *arg)
{
	struct site *s = arg;

	fault_rules_devices_changed(s);
	if (s->server) /* else it is not whole yet */
		tree_write(s, nodes_nth(s->nodes, 0));
}

/* The SM changes a port in many steps. */
static void node_changed(void *arg, struct node *node)
{
	struct site *s = arg;

	node->tree_stale = true;
	if (s->server)
		loop_timer_arm(s->tree_timer, 0);
}

/* One a turn. */
static void write_stale_tree(void *arg)
{
	struct site *s = arg;
	struct node *node;

	for (unsigned int n = 0; (node = nodes_nth(s->nodes, n)); n++) {
		if (!node->in_tree || !node->tree_stale)
			continue;
		tree_write(s, node);
		loop_timer_arm(s->tree_timer, 0);
		return;
	}
}

static int create_devices(struct site *s)
{
	const struct devices_config config = {
		.loop = s->loop,
		.tables = s->tables,
		.hca = s->hca,
		.node = nodes_nth(s->nodes, 0)->ib,
		.limits = &s->options->hca,
		.ops = &device_ops,
		.guid_seed = guid_seed(s),
		.wires = s->options->wires,
		.wire_count = s->options->wire_count,
		.grace_ms = DEVICES_GRACE_MS,
		.read = addr_links_read,
		.changed = devices_changed,
		.arg = s,
	};

	return devices_create(&config, &s->devices);
}

/* -- life --------------------------------------------------------------------------- */

static void end(void *arg)
{
	struct site *s = arg;

	/* Modules are somebody; and at the end they go first. An administrator who does not
	 * answer could keep their members for minutes, one after the other. */
	if (modules_any(s->modules)) {
		if (s->ending) {
			nodes_silence(s->nodes);
			modules_end(s->modules);
		}
		return;
	}
	if (!s->ending)
		log_info("nobody is here any more: site %s ends", s->paths->name);
	s->ending = true;
	loop_stop(s->loop);
}

static int create_memory(struct site *s)
{
	int r;

	r = shm_tables_create(&s->tables_fd, &s->tables);
	if (!r)
		r = slots_create(s->loop, s->tables, &s->slots);
	if (!r)
		r = traffic_create(timers_queue(s->timers), &s->traffic);
	if (!r)
		r = history_init(&s->history);
	if (!r)
		r = hca_site_create(s->tables, &s->hca);
	if (r < 0)
		log_error("no memory for the site: %s", strerror(-r));
	return r;
}

static bool recompile(void *arg)
{
	return hca_site_recompile(((struct site *)arg)->hca);
}

static uint32_t recompile_mlid(void *arg, uint16_t mlid)
{
	return hca_site_recompile_mlid(((struct site *)arg)->hca, mlid);
}

static int create_fabric(struct site *s)
{
	const struct site_fabric_config config = {
		.timers = timers_queue(s->timers),
		.random = &s->random,
		.shape = &s->options->shape,
		.topology = s->options->topology,
		.topology_bytes = s->options->topology_bytes,
		.partitions = s->options->partitions,
		.partitions_bytes = s->options->partitions_bytes,
		.only_name = NODES_FIRST_NAME,
		.guid_seed = guid_seed(s),
		.follow = recompile,
		.follow_mlid = recompile_mlid,
		.carry = carry,
		.arg = s,
	};
	int r;

	if (s->options->shape.kind == ADMIN_SHAPE_NONE)
		return 0;
	r = site_fabric_create(&config, &s->fabric);
	if (r < 0)
		log_error("cannot make the fabric: %s", strerror(-r));
	return r;
}

static int create_nodes(struct site *s)
{
	const struct nodes_config config = {
		.timers = timers_queue(s->timers),
		.random = &s->random,
		.hca = s->hca,
		.fabric = s->fabric,
		.limits = &s->options->hca,
		.ops = &device_ops,
		.changed = node_changed,
		.arg = s,
	};
	const struct issm_config issm = {
		.loop = s->loop,
		.folder = s->paths->sys,
		.changed = issm_changed,
		.arg = s,
	};
	int r;

	r = nodes_create(&config, &s->nodes);
	if (!r)
		r = issm_files_create(&issm, &s->issm);
	if (!r)
		r = create_devices(s);
	if (!r)
		r = nodes_start(s->nodes);
	if (r < 0)
		log_error("cannot make the devices: %s", strerror(-r));
	return r;
}

static bool is_up(void *arg)
{
	struct site *s = arg;

	return site_fabric_is_up(s->fabric) &&
	       (!site_fabric_sm(s->fabric) || nodes_are_up(s->nodes));
}

/* Programs find vib0 active; what takes longer goes on while the loop runs. */
static void settle(struct site *s)
{
	if (s->fabric)
		timers_settle(s->timers, SETTLE_NS, is_up, s);
	tree_write(s, nodes_nth(s->nodes, 0));
}

static int create_server(struct site *s, int *listen_fd)
{
	const struct uapi_server_config config = {
		.loop = s->loop,
		.listen_fd = *listen_fd,
		.ops = &site_ops,
		.arg = s,
		.limits = s->options->server,
		.uid = geteuid(),
		.gid = s->options->gid,
		.ipv6_multicast = s->options->ipv6_multicast,
		.layout_version = SHM_LAYOUT_VERSION,
	};
	int r = uapi_server_create(&config, &s->server);

	if (!r)
		*listen_fd = -1;
	return r;
}

static int create_loop(struct site *s)
{
	int r;

	r = loop_create(&s->loop);
	if (!r)
		r = loop_timer_create(s->loop, end, s, &s->end_timer);
	if (!r)
		r = loop_timer_create(s->loop, write_stale_tree, s, &s->tree_timer);
	if (!r)
		r = timers_create(s->loop, &s->timers);
	return r;
}

int site_create(const struct daemon_options *options, const struct site_paths *paths,
		int listen_fd, struct site **ret)
{
	struct site *s;
	int r = -ENOMEM;

	s = calloc(1, sizeof(*s));
	if (!s)
		goto close_listen;
	s->options = options;
	s->paths = paths;
	s->tables_fd = -1;
	s->stay = options->stay;
	admin_site_init(&s->admin);
	fault_rules_init(&s->faults);
	random_seed(&s->random, guid_seed(s) ^ clock_now_ns());
	r = create_loop(s);
	if (!r)
		r = create_memory(s);
	if (!r)
		r = create_fabric(s);
	if (!r)
		r = create_nodes(s);
	if (!r)
		r = modules_create(s, &s->modules);
	if (!r)
		settle(s);
	if (!r)
		r = create_server(s, &listen_fd);
	if (!r) {
		*ret = s;
		return 0;
	}
	site_destroy(s);
close_listen:
	if (listen_fd >= 0)
		close(listen_fd);
	return r;
}

void site_idle(struct site *s)
{
	if (s->ending)
		loop_timer_arm(s->end_timer, 0);
	else if (!s->stay && !s->clients)
		loop_timer_arm(s->end_timer, s->options->linger_s * 1000ull);
}

void site_stay(struct site *s)
{
	s->stay = true;
	if (!s->ending)
		loop_timer_disarm(s->end_timer);
}

bool site_yield(struct site *s, struct uapi_admin_call *call)
{
	if (!s->options->yields || s->stay || s->ending || modules_any(s->modules) ||
	    uapi_server_has_others(s->server, call))
		return false;
	log_info("nobody is here any more, and another fabric is wanted: site %s ends",
		 s->paths->name);
	uapi_admin_put_off(call);
	/* At once: whose lease has not been granted by now, his never is. */
	s->ending = true;
	loop_stop(s->loop);
	return true;
}

void site_each_device(const struct site *s,
		      void (*fn)(void *arg, struct hca_device *device), void *arg)
{
	struct hca_device *device;
	struct node *node;

	for (unsigned int n = 0; (device = devices_nth(s->devices, n)); n++)
		fn(arg, device);
	for (unsigned int n = 0; (node = nodes_nth(s->nodes, n)); n++)
		if (node->vib)
			fn(arg, node->vib);
}

static void told_to_end(void *arg)
{
	struct site *s = arg;

	log_info("ended by a signal");
	end_soon(s);
}

int site_run(struct site *s)
{
	static const int signums[] = { SIGTERM, SIGINT, SIGHUP };
	struct loop_signal *signals[3] = { NULL };
	uint64_t grace_ms = s->options->linger_s * 1000ull;
	int r = 0;

	for (int i = 0; i < 3 && !r; i++)
		r = loop_signal_create(s->loop, signums[i], told_to_end, s, &signals[i]);
	if (!s->stay)
		loop_timer_arm(s->end_timer,
			       grace_ms > FIRST_GRACE_MS ? grace_ms : FIRST_GRACE_MS);
	if (!r)
		r = loop_run(s->loop);
	for (int i = 0; i < 3; i++)
		loop_signal_destroy(signals[i]);
	return r;
}

void site_destroy(struct site *s)
{
	if (!s)
		return;
	s->ending = true;
	/* Those who have the tables mapped learn that nobody will change them any more. */
	if (s->tables)
		atomic_store(&s->tables->h.dead, 1);
	uapi_server_destroy(s->server);
	modules_destroy(s->modules);
	admin_site_fini(&s->admin);
	issm_files_destroy(s->issm);
	nodes_stop(s->nodes);
	devices_destroy(s->devices);
	nodes_destroy(s->nodes);
	traffic_destroy(s->traffic);
	s->traffic = NULL;
	site_fabric_destroy(s->fabric);
	hca_site_destroy(s->hca);
	slots_destroy(s->slots);
	history_fini(&s->history);
	fault_rules_fini(&s->faults);
	if (s->tables)
		shm_tables_destroy(s->tables_fd, s->tables);
	timers_destroy(s->timers);
	loop_timer_destroy(s->tree_timer);
	loop_timer_destroy(s->end_timer);
	loop_destroy(s->loop);
	free(s);
}
