/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of the fabric at their places, and what they are.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "path/fabric/fabric_path_priv.h"

#define PLACES_FIRST 16u
#define PLACES_MAX   65536u

/* -- ports at their places ------------------------------------------------------------ */

static uint32_t port_hash(const struct fabric_port *port)
{
	return hash_bytes(0, &port, sizeof(port));
}

struct bound_port *bound_at(const struct path_fabric *pf, uint32_t place)
{
	return place < pf->room ? pf->places[place] : NULL;
}

struct bound_port *bound_of(const struct path_fabric *pf, const struct fabric_port *port)
{
	uint32_t value = port_hash(port);

	hash_for_each_match(node, &pf->ports, value) {
		struct bound_port *b = container_of(node, struct bound_port, node);

		if (b->port == port)
			return b;
	}
	return NULL;
}

static void receive(void *arg, const struct ib_packet *packet)
{
	const struct bound_port *b = arg;

	if (b->listener && b->listener->receive(b->listener_arg, packet))
		return;
	if (b->ops->receive)
		b->ops->receive(b->arg, packet);
}

/* Its LIDs and P_Keys are part of the questions. Told last: the port may be unbound. */
static void changed(void *arg, unsigned int changes)
{
	struct bound_port *b = arg;

	if (changes & FABRIC_PORT_PKEYS)
		bound_pkeys_read(b);
	if (changes & (FABRIC_PORT_STATE | FABRIC_PORT_LID | FABRIC_PORT_PKEYS))
		path_answers_changed(b->pf);
	if (b->listener && b->listener->changed)
		b->listener->changed(b->listener_arg, changes);
	if (b->ops->changed)
		b->ops->changed(b->arg, changes);
}

static const struct fabric_port_ops port_ops = {
	.receive = receive,
	.changed = changed,
};

static int make_room(struct path_fabric *pf, uint32_t place)
{
	uint32_t room = pf->room ? pf->room : PLACES_FIRST;
	struct bound_port **places;

	if (place < pf->room)
		return 0;
	if (place >= PLACES_MAX)
		return -EINVAL;
	while (room <= place)
		room *= 2;
	places = realloc(pf->places, room * sizeof(struct bound_port *));
	if (!places)
		return -ENOMEM;
	memset(places + pf->room, 0, (room - pf->room) * sizeof(struct bound_port *));
	pf->places = places;
	pf->room = room;
	return 0;
}

int path_fabric_bind(struct path_fabric *pf, uint32_t place, struct fabric_port *port,
		     const struct path_fabric_port_ops *ops, void *arg)
{
	struct bound_port *b;
	int r;

	r = make_room(pf, place);
	if (r < 0)
		return r;
	if (pf->places[place] || bound_of(pf, port))
		return -EEXIST;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct bound_port){
		.pf = pf, .place = place, .port = port, .ops = ops, .arg = arg
	};
	hash_insert(&pf->ports, &b->node, port_hash(port));
	pf->places[place] = b;
	bound_pkeys_read(b);
	fabric_port_attach(port, &port_ops, b);
	path_answers_changed(pf);
	return 0;
}

int path_fabric_listen(struct path_fabric *pf, struct fabric_port *port,
		       const struct path_fabric_listener *listener, void *arg)
{
	struct bound_port *b = bound_of(pf, port);

	if (!b)
		return -ENOENT;
	b->listener = listener;
	b->listener_arg = arg;
	return 0;
}

void path_fabric_unbind(struct path_fabric *pf, uint32_t place)
{
	struct bound_port *b = bound_at(pf, place);

	if (!b)
		return;
	fabric_port_attach(b->port, NULL, NULL);
	hash_remove(&pf->ports, &b->node);
	pf->places[place] = NULL;
	sources_forget(pf);
	free(b);
	path_answers_changed(pf);
}

struct fabric_port *path_fabric_port(const struct path_fabric *pf, uint32_t place)
{
	const struct bound_port *b = bound_at(pf, place);

	return b ? b->port : NULL;
}

/* -- what a port is --------------------------------------------------------------------- */

static unsigned int at_most(unsigned int n, unsigned int max)
{
	return n < max ? n : max;
}

static union ib_gid gid_of(uint64_t prefix, uint64_t guid)
{
	uint64_t words[2] = { htobe64(prefix), htobe64(guid) };
	union ib_gid gid;

	memcpy(gid.raw, words, sizeof(gid.raw));
	return gid;
}

/* Verbs count speeds on where PortInfo begins its extended ones. */
static uint16_t speed_of(const struct smp_port_info *info)
{
	return info->speed_ext_active ? (uint16_t)(info->speed_ext_active << 4)
				      : info->speed_active;
}

static void describe_tables(struct path_ib_port *ret, const struct fabric_port_info *from)
{
	ret->pkey_count = at_most(from->pkey_count, PATH_PKEYS_MAX);
	memcpy(ret->pkeys, from->pkeys, ret->pkey_count * sizeof(ret->pkeys[0]));
	ret->gid_count = PATH_GIDS_MAX;
	for (unsigned int i = 0; i < PATH_GIDS_MAX; i++)
		if (from->guids[i])
			ret->gids[i] = gid_of(from->info.gid_prefix, from->guids[i]);
}
static_assert(PATH_GIDS_MAX == sizeof(((struct fabric_port_info *)0)->guids) / 8,
	      "a block of GUIDs");

int path_fabric_describe(const struct path_fabric *pf, uint32_t place,
			 struct path_ib_port *ret)
{
	const struct bound_port *b = bound_at(pf, place);
	struct fabric_port_info from;

	if (!b)
		return -ENOENT;
	fabric_port_info(b->port, &from);
	*ret = (struct path_ib_port){
		.state = from.info.state,
		.phys_state = from.info.phys_state,
		.lid = from.info.lid,
		.lmc = from.info.lmc,
		.sm_lid = from.info.sm_lid,
		.sm_sl = from.info.sm_sl,
		.subnet_timeout = from.info.subnet_timeout,
		.init_type_reply = from.info.init_type_reply,
		.max_mtu = from.info.mtu_cap,
		/* Of a link that is down, none; verbs have no such value. */
		.active_mtu = from.info.neighbor_mtu ? from.info.neighbor_mtu : 1,
		.max_vl_num = from.info.vl_cap,
		.active_width = from.info.width_active,
		.active_speed = speed_of(&from.info),
		.cap_mask = from.info.cap_mask,
		.pkey_violations = from.info.pkey_violations,
		.qkey_violations = from.info.qkey_violations,
	};
	describe_tables(ret, &from);
	return 0;
}

/* -- management datagrams ---------------------------------------------------------------- */

static int send_mad(void *arg, uint32_t place, const struct ib_packet *packet)
{
	const struct bound_port *b = bound_at(arg, place);

	return b ? fabric_port_send(b->port, packet) : -ENETDOWN;
}

static const struct path_ops ops = {
	.ingress_ports = path_ingress_ports,
	.senders = path_senders,
	.generation = path_generation,
	.senders_generation = path_senders_generation,
	.mlid_generation = path_mlid_generation,
	.send_mad = send_mad,
};

/* -- life ---------------------------------------------------------------------------------- */

int path_fabric_create(const struct path_fabric_config *config, struct path_fabric **ret)
{
	struct path_fabric *pf = calloc(1, sizeof(*pf));
	int r;

	if (!pf)
		return -ENOMEM;
	pf->config = *config;
	pf->path = (struct path){ .ops = &ops, .arg = pf };
	changes_init(pf);
	r = hash_init(&pf->ports);
	if (r == 0)
		r = hash_init(&pf->trees);
	if (r < 0) {
		hash_fini(&pf->ports);
		free(pf);
		return r;
	}
	*ret = pf;
	return 0;
}

void path_fabric_destroy(struct path_fabric *pf)
{
	if (!pf)
		return;
	for (uint32_t place = 0; place < pf->room; place++)
		path_fabric_unbind(pf, place);
	changes_fini(pf);
	trees_forget(pf);
	hash_fini(&pf->trees);
	hash_fini(&pf->ports);
	sources_forget(pf);
	free(pf->places);
	free(pf);
}

const struct path *path_fabric_path(struct path_fabric *pf)
{
	return &pf->path;
}
