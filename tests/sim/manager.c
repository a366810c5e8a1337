// SPDX-License-Identifier: BSD-2-Clause
/*
 * The subnet managers, each with its SA: where they are, what reaches them and when. The
 * datagrams of the SA may be late, come twice and overtake each other; traps may be lost.
 * The SM's own must not be late: they stay in order on their way, and a table that is
 * written late would remain so.
 */
#include "sim.h"

static bool is_sa(const struct ib_packet *packet)
{
	struct mad_header header;

	if (packet->dest_qp != IB_QP_GSI)
		return false;
	mad_header_get(packet->payload, &header);
	return header.mgmt_class == MAD_CLASS_SUBN_ADM;
}

static bool is_trap(const struct ib_packet *packet)
{
	struct mad_header header;

	mad_header_get(packet->payload, &header);
	return packet->dest_qp == IB_QP_SMI && header.method == MAD_METHOD_TRAP;
}

struct sim_manager *sim_master(void)
{
	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++)
		if (sim.managers[i].serving)
			return &sim.managers[i];
	return NULL;
}

/* -- what reaches an SA ----------------------------------------------------------------- */

static uint64_t dropped(const struct sim_manager *m)
{
	struct sa_counters c;

	sa_server_counters(m->server, &c);
	return c.dropped_fault + c.dropped_repeated + c.dropped_full + c.dropped_down +
	       c.dropped_stranger;
}

static void hand_to_sm(struct sim_manager *m, const struct ib_packet *packet)
{
	uint64_t before;

	if (!m->sm)
		return;
	if (!is_sa(packet)) {
		sm_receive(m->sm, packet);
		return;
	}
	if (!m->serving)
		return;
	sim_ledger_arrived(packet->payload);
	before = dropped(m);
	sm_receive(m->sm, packet);
	if (dropped(m) > before)
		sim_ledger_dropped();
}

/* A request or answer that takes its time, past others and past its own repetition. */
struct late {
	struct list link;
	struct timer timer;
	struct sim_manager *manager;
	struct ib_packet packet;
	bool is_answer;
	uint8_t mad[MAD_BYTES];
};
static struct list all_late = LIST_INIT(all_late);

static void late_arrives(struct timer *timer)
{
	struct late *late = container_of(timer, struct late, timer);

	if (late->is_answer)
		fabric_port_send(late->manager->port, &late->packet);
	else
		hand_to_sm(late->manager, &late->packet);
	list_remove(&late->link);
	free(late);
}

static bool happens(const struct ib_packet *packet, uint32_t rate)
{
	return rate && !sim.quiet && is_sa(packet) && random_chance(&sim.random, rate);
}

static void hold_back(struct sim_manager *m, const struct ib_packet *packet,
		      bool is_answer)
{
	struct late *late = malloc(sizeof(*late));

	assert_non_null(late);
	late->manager = m;
	late->is_answer = is_answer;
	late->packet = *packet;
	memcpy(late->mad, packet->payload, MAD_BYTES);
	late->packet.payload = late->mad;
	timer_init(&late->timer, &sim.timers, late_arrives);
	timer_arm(&late->timer, sim_below(2000) * TIMER_MS);
	list_append(&all_late, &late->link);
}

void sim_managers_forget_late(void)
{
	list_for_each_safe(l, &all_late) {
		struct late *late = container_of(l, struct late, link);

		timer_disarm(&late->timer);
		free(late);
	}
	list_init(&all_late);
}

static void arrive(void *arg, const struct ib_packet *packet)
{
	struct sim_manager *m = arg;

	if (sim.profile.deaf && !sim.quiet && is_trap(packet) &&
	    random_chance(&sim.random, sim.profile.deaf))
		return;
	if (happens(packet, sim.profile.twice))
		hold_back(m, packet, false);
	if (happens(packet, sim.profile.late))
		hold_back(m, packet, false);
	else
		hand_to_sm(m, packet);
}

/* Of SMs among themselves, or a request to an SA. */
static bool is_for_sm(const struct ib_packet *packet)
{
	struct mad_header header;

	mad_header_get(packet->payload, &header);
	if (packet->dest_qp == IB_QP_SMI || header.mgmt_class == SM_PEER_CLASS)
		return true;
	return is_sa(packet) && !(header.method & MAD_METHOD_RESPONSE);
}

bool sim_manager_takes(struct sim_host *host, const struct ib_packet *packet)
{
	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++) {
		struct sim_manager *m = &sim.managers[i];

		if (m->host != host || !m->sm || !is_for_sm(packet))
			continue;
		arrive(m, packet);
		return true;
	}
	return false;
}

/* -- what the managers say -------------------------------------------------------------- */

static int sm_send(void *arg, const struct ib_packet *packet)
{
	struct sim_manager *m = arg;

	if (is_sa(packet))
		sim_ledger_answered(packet->payload, m->server);
	if (happens(packet, sim.profile.twice))
		hold_back(m, packet, true);
	if (!happens(packet, sim.profile.late))
		return fabric_port_send(m->port, packet);
	hold_back(m, packet, true);
	return 0;
}

static void set_issm(void *arg, bool issm)
{
	fabric_port_set_issm(((struct sim_manager *)arg)->port, FABRIC_ISSM_OURS, issm);
}

static void count_member(void *arg, const struct sa_group_view *group,
			 const struct sa_member_view *member)
{
	++*(unsigned int *)arg;
}

/* What other SAs held before is over, unless one of them still serves. */
static void up(void *arg)
{
	struct sim_manager *m = arg, *other = sim_master();
	unsigned int members = 0;

	sa_server_sm_ops.up(m->server);
	m->serving = true;
	sim_ledger_choices_are_over();
	sa_server_each_group(m->server, NULL, count_member, &members);
	sim_trace("SM %u is master, with %u members%s", (unsigned int)(m - sim.managers),
		  members, other ? ", beside another" : "");
	sim.was_split |= other != NULL;
	if (!other && !members)
		sim_ledger_sa_is_new();
}

static void down(void *arg)
{
	struct sim_manager *m = arg;

	sim_trace("SM %u is no master any more", (unsigned int)(m - sim.managers));
	sim_ledger_sa_is_silent();
	m->serving = false;
	sa_server_sm_ops.down(m->server);
}

static void port_in(void *arg, uint64_t port_guid)
{
	sa_server_sm_ops.port_in(((struct sim_manager *)arg)->server, port_guid);
}

static bool is_alone(const struct sim_manager *m)
{
	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++)
		if (sim.managers[i].serving != (m == &sim.managers[i]))
			return false;
	return true;
}

static void note_out(const struct sim_manager *m, uint64_t port_guid, const char *what)
{
	union ib_gid gid = { { 0 } };
	struct sim_host *host;

	port_guid = htobe64(port_guid);
	memcpy(gid.raw + 8, &port_guid, 8);
	host = sim_host_by_gid(&gid);
	if (!host)
		return;
	sim_trace("SM %u: host %u %s", (unsigned int)(m - sim.managers), host->number,
		  what);
	if (is_alone(m))
		sim_ledger_port_out(host);
}

static void port_out(void *arg, uint64_t port_guid)
{
	struct sim_manager *m = arg;

	sa_server_sm_ops.port_out(m->server, port_guid);
	note_out(m, port_guid, "is out");
}

static void port_anew(void *arg, uint64_t port_guid)
{
	struct sim_manager *m = arg;

	sa_server_sm_ops.port_anew(m->server, port_guid);
	note_out(m, port_guid, "begins anew");
}

static void receive_gsi(void *arg, const struct ib_packet *packet)
{
	sa_server_sm_ops.receive(((struct sim_manager *)arg)->server, packet);
}

static void trap(void *arg, const uint8_t *notice)
{
	sa_server_sm_ops.trap(((struct sim_manager *)arg)->server, notice);
}

static void receive_peer(void *arg, const struct ib_packet *packet)
{
	sa_server_sm_ops.receive_peer(((struct sim_manager *)arg)->server, packet);
}

static void follow(void *arg, uint16_t lid, uint16_t master_lid)
{
	sa_server_sm_ops.follow(((struct sim_manager *)arg)->server, lid, master_lid);
}

static bool inherit(void *arg)
{
	struct sim_manager *m = arg;
	bool inherits = sa_server_sm_ops.inherit(m->server);

	if (inherits)
		sim_trace("SM %u inherits", (unsigned int)(m - sim.managers));
	sim.inherited += inherits;
	return inherits;
}

static bool is_followed(void *arg, uint64_t port_guid)
{
	return sa_server_sm_ops.is_followed(((struct sim_manager *)arg)->server,
					    port_guid);
}

/* -- their lives ------------------------------------------------------------------------ */

static void port_changed(void *arg, unsigned int changes)
{
}

static bool is_taken(const struct fabric_port *port)
{
	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++)
		if (sim.managers[i].sm && sim.managers[i].port == port)
			return true;
	return false;
}

/* Behind a switch's port 0, or beside a host's programs. */
static bool choose_place(struct sim_manager *m)
{
	m->host = NULL;
	if (sim.profile.managers_on_hosts && sim_chance(50)) {
		struct sim_host *host = &sim.hosts[sim_below(sim.host_count)];

		m->port = host->port;
		m->host = host;
		return host->alive && !is_taken(m->port);
	}
	m->port = fabric_switch_port(sim.fabric, sim_below(sim.profile.switches));
	return !is_taken(m->port);
}

uint8_t sim_manager_lmc(const struct sim_manager *m)
{
	unsigned int more =
		sim.profile.lmcs_differ ? (unsigned int)(m - sim.managers) : 0;

	return (uint8_t)((sim.profile.lmc + more) % 4);
}

void sim_manager_start(struct sim_manager *m)
{
	static const struct sm_port_ops port = { .send = sm_send, .set_issm = set_issm };
	static const struct sm_client_ops client = { .up = up,
						     .down = down,
						     .port_in = port_in,
						     .port_out = port_out,
						     .port_anew = port_anew,
						     .receive = receive_gsi,
						     .trap = trap,
						     .receive_peer = receive_peer,
						     .follow = follow,
						     .inherit = inherit,
						     .is_followed = is_followed };
	static const struct fabric_port_ops ops = { .receive = arrive,
						    .changed = port_changed };
	struct sa_server_config server = { .timers = &sim.timers, .random = &sim.random };
	struct sm_config config = { .timers = &sim.timers,
				    .random = &sim.random,
				    .port = &port,
				    .port_arg = m,
				    .client = &client,
				    .client_arg = m };
	struct fabric_port_info info;

	for (unsigned int tries = 10; !choose_place(m); tries--)
		if (!tries)
			return;
	fabric_port_info(m->port, &info);
	config.port_guid = info.port_guid;
	if (sim.profile.managers > 1)
		config.priority = (uint8_t)sim_below(4);
	config.lmc = sim_manager_lmc(m);
	sim_disturb();
	sim_trace("SM %u starts on %s, priority %u, LMC %u",
		  (unsigned int)(m - sim.managers), info.node, config.priority,
		  config.lmc);
	config.partitions = server.partitions = sim_partitions(&config.partition_count);
	server.partition_count = config.partition_count;
	assert_int_equal(sa_server_create(&server, &m->server), 0);
	if (!m->host)
		fabric_port_attach(m->port, &ops, m);
	assert_int_equal(sm_create(&config, &m->sm), 0);
	sa_server_set_sm(m->server, m->sm);
}

void sim_manager_stop(struct sim_manager *m)
{
	sim_trace("SM %u dies", (unsigned int)(m - sim.managers));
	sim_takeover_watch(m);
	if (m->serving)
		sim_ledger_sa_is_silent();
	sm_destroy(m->sm);
	sa_server_destroy(m->server);
	if (!m->host)
		fabric_port_attach(m->port, NULL, NULL);
	fabric_port_set_issm(m->port, FABRIC_ISSM_OURS, false);
	m->sm = NULL;
	m->server = NULL;
	m->host = NULL;
	m->serving = false;
}

void sim_managers_host_stops(const struct sim_host *host)
{
	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++)
		if (sim.managers[i].sm && sim.managers[i].host == host)
			sim_manager_stop(&sim.managers[i]);
}
