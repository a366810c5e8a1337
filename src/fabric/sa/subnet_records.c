/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of what the SM found: nodes, ports, switches, links, P_Key tables, the SM
 * (spec/sa-sm 4.1). A requester sees the ports that share a partition with his.
 */
#include "fabric/sa/server_priv.h"

#define SWITCH_RECORD_BYTES 24u
#define SM_RECORD_BYTES     25u
#define LINK_RECORD_BYTES   6u
#define BLOCK_RECORD_BYTES  72u
#define SWITCH_INFO_BYTES   20u

#define MATCH_CAPABILITIES (1u << 31) /* of the modifier: as subsets */
#define PIR_CAP_MASK       (1ull << 7)
#define PIR_CAP_MASK2      (1ull << 53)

struct query {
	struct sa_request *req;
	const struct subnet_port *requester;
	const struct sa_component *components;
	unsigned int count;
	uint8_t asked[SA_DATA_BYTES]; /* with first LIDs */
};

#define LID              \
	{                \
		0, 0, 16 \
	} /* of the port that the record is about */

/* A port is asked for by any of its LIDs, and its records have the first. */
static void name_by_first_lid(struct query *q, unsigned int bit)
{
	uint8_t *p = q->asked + bit / 8;

	wire_put16(p, sa_first_lid(q->req->server, wire_get16(p)));
}

static struct query query_of(struct sa_request *req,
			     const struct sa_component *components, unsigned int count)
{
	struct query q = { .req = req,
			   .requester = sa_request_port(req),
			   .components = components,
			   .count = count };

	memcpy(q.asked, sa_request_data(req), sizeof(q.asked));
	name_by_first_lid(&q, 0);
	return q;
}

#define QUERY(req_, components_) \
	query_of(req_, components_, sizeof(components_) / sizeof((components_)[0]))

static bool may_see(const struct query *q, const struct subnet_port *port)
{
	return q->requester == port || subnet_ports_share_pkey(q->requester, port);
}

/* The port whose partitions count for this one: a switch has them at port 0. */
static const struct subnet_port *keeper(const struct subnet_port *port)
{
	return port->node->info.node_type == SMP_NODE_SWITCH ? &port->node->ports[0]
							     : port;
}

/* False: enough. */
static bool add(const struct query *q, const uint8_t *record, uint32_t bytes)
{
	sa_request_worked(q->req, 1);
	if (!sa_components_match(q->components, q->count, q->req->sa.comp_mask, q->asked,
				 record))
		return true;
	return sa_request_add(q->req, record, bytes);
}

/* Ports with a LID of their own: those of adapters, and of a switch port 0. */
static unsigned int first_port(const struct subnet_node *node)
{
	return node->info.node_type == SMP_NODE_SWITCH ? 0 : 1;
}

static unsigned int last_end_port(const struct subnet_node *node)
{
	return node->info.node_type == SMP_NODE_SWITCH ? 0 : node->info.num_ports;
}

/* A switch's ports are there without a link, too. */
static bool is_there(const struct subnet_port *port)
{
	return port->seen || port->node->info.node_type == SMP_NODE_SWITCH;
}

typedef bool (*visit_fn)(const struct query *q, const struct subnet_port *port);

/* False: enough. */
static bool each_port_of(const struct query *q, const struct subnet_node *node,
			 bool end_ports, visit_fn visit)
{
	unsigned int last = end_ports ? last_end_port(node) : node->info.num_ports;

	for (unsigned int i = first_port(node); i <= last; i++) {
		const struct subnet_port *port = &node->ports[i];

		sa_request_worked(q->req, 1);
		if (is_there(port) && may_see(q, keeper(port)) && !visit(q, port))
			return false;
	}
	return true;
}

/* at.place nodes have been looked at. A sweep between two steps may move them by those that
 * it took away; so does one between two questions. */
static int each_port(const struct query *q, bool end_ports, visit_fn visit)
{
	struct sa_cursor *at = &q->req->at;
	uint32_t place = 0;

	if (!q->requester)
		return SA_SILENT;
	list_for_each(l, &sm_subnet(q->req->server->sm)->nodes) {
		if (place++ < at->place)
			continue;
		if (!each_port_of(q, container_of(l, struct subnet_node, link), end_ports,
				  visit))
			return 0;
		at->place = place;
		if (sa_request_worked(q->req, 0))
			return SA_GOES_ON;
	}
	return 0;
}

/* -- NodeRecord ---------------------------------------------------------------------- */

static const struct sa_component node_components[] = {
	LID,
	{ 2, 32, 8 },    /* BaseVersion */
	{ 3, 40, 8 },    /* ClassVersion */
	{ 4, 48, 8 },    /* NodeType */
	{ 5, 56, 8 },    /* NumPorts */
	{ 6, 64, 64 },   /* SystemImageGUID */
	{ 7, 128, 64 },  /* NodeGUID */
	{ 8, 192, 64 },  /* PortGUID */
	{ 9, 256, 16 },  /* PartitionCap */
	{ 10, 272, 16 }, /* DeviceID */
	{ 11, 288, 32 }, /* Revision */
	{ 12, 320, 8 },  /* LocalPortNum */
	{ 13, 328, 24 }, /* VendorID */
	{ 14, 352, 512 },
};

static bool visit_node(const struct query *q, const struct subnet_port *port)
{
	struct sa_node_record rec = { .lid = subnet_port_lid(port),
				      .info = port->node->info };
	uint8_t data[SA_NODE_RECORD_BYTES];

	rec.info.port_guid = subnet_port_guid(port);
	rec.info.local_port = port->num;
	memcpy(rec.description, port->node->description, sizeof(rec.description));
	sa_node_record_put(data, &rec);
	return add(q, data, sizeof(data));
}

int sa_node_query(struct sa_request *req)
{
	const struct query q = QUERY(req, node_components);

	return each_port(&q, true, visit_node);
}

/* -- PortInfoRecord ------------------------------------------------------------------ */

/* Bits of the PortInfo, behind the four bytes of the record's own. */
#define INFO(bit) (32 + (bit))
static const struct sa_component port_components[] = {
	LID,
	{ 1, 16, 8 },          /* port */
	{ 3, INFO(0), 64 },    /* M_Key */
	{ 4, INFO(64), 64 },   /* GidPrefix */
	{ 5, INFO(128), 16 },  /* base LID */
	{ 6, INFO(144), 16 },  /* MasterSMLID */
	{ 8, INFO(192), 16 },  /* DiagCode */
	{ 9, INFO(208), 16 },  /* M_KeyLeasePeriod */
	{ 10, INFO(224), 8 },  /* LocalPortNum */
	{ 11, INFO(232), 8 },  /* LinkWidthEnabled */
	{ 12, INFO(240), 8 },  /* LinkWidthSupported */
	{ 13, INFO(248), 8 },  /* LinkWidthActive */
	{ 14, INFO(256), 4 },  /* LinkSpeedSupported */
	{ 15, INFO(260), 4 },  /* PortState */
	{ 16, INFO(264), 4 },  /* PortPhysicalState */
	{ 17, INFO(268), 4 },  /* LinkDownDefaultState */
	{ 18, INFO(272), 2 },  /* M_KeyProtectBits */
	{ 19, INFO(277), 3 },  /* LMC */
	{ 20, INFO(280), 4 },  /* LinkSpeedActive */
	{ 21, INFO(284), 4 },  /* LinkSpeedEnabled */
	{ 22, INFO(288), 4 },  /* NeighborMTU */
	{ 23, INFO(292), 4 },  /* MasterSMSL */
	{ 24, INFO(296), 4 },  /* VLCap */
	{ 25, INFO(300), 4 },  /* InitType */
	{ 26, INFO(304), 8 },  /* VLHighLimit */
	{ 27, INFO(312), 8 },  /* VLArbitrationHighCap */
	{ 28, INFO(320), 8 },  /* VLArbitrationLowCap */
	{ 29, INFO(328), 4 },  /* InitTypeReply */
	{ 30, INFO(332), 4 },  /* MTUCap */
	{ 31, INFO(336), 3 },  /* VLStallCount */
	{ 32, INFO(339), 5 },  /* HOQLife */
	{ 33, INFO(344), 4 },  /* OperationalVLs */
	{ 34, INFO(348), 1 },  /* PartitionEnforcementInbound */
	{ 35, INFO(349), 1 },  /* PartitionEnforcementOutbound */
	{ 36, INFO(350), 1 },  /* FilterRawInbound */
	{ 37, INFO(351), 1 },  /* FilterRawOutbound */
	{ 38, INFO(352), 16 }, /* M_KeyViolations */
	{ 39, INFO(368), 16 }, /* P_KeyViolations */
	{ 40, INFO(384), 16 }, /* Q_KeyViolations */
	{ 41, INFO(400), 8 },  /* GUIDCap */
};

/* Of these the modifier says whether they are compared as sets. */
static bool capabilities_match(const struct query *q, const struct smp_port_info *info)
{
	bool subset = q->req->mad.attr_mod & MATCH_CAPABILITIES;
	uint64_t mask = q->req->sa.comp_mask;
	struct sa_port_record asked;
	uint32_t caps, caps2;

	if (!(mask & (PIR_CAP_MASK | PIR_CAP_MASK2)))
		return true;
	sa_port_record_get(sa_request_data(q->req), &asked);
	caps = subset ? info->cap_mask & asked.info.cap_mask : info->cap_mask;
	caps2 = subset ? info->cap_mask2 & asked.info.cap_mask2 : info->cap_mask2;
	return (!(mask & PIR_CAP_MASK) || caps == asked.info.cap_mask) &&
	       (!(mask & PIR_CAP_MASK2) || caps2 == asked.info.cap_mask2);
}

static bool visit_port(const struct query *q, const struct subnet_port *port)
{
	struct sa_port_record rec = { .lid = subnet_port_lid(port),
				      .port = port->num,
				      .info = port->info };
	uint8_t data[SA_PORT_RECORD_BYTES];

	if (!capabilities_match(q, &port->info))
		return true;
	rec.info.mkey = 0; /* nobody's business */
	sa_port_record_put(data, &rec);
	return add(q, data, sizeof(data));
}

int sa_port_query(struct sa_request *req)
{
	const struct query q = QUERY(req, port_components);

	return each_port(&q, false, visit_port);
}

/* -- SwitchInfoRecord ---------------------------------------------------------------- */

static const struct sa_component lid_component[] = { LID };

static bool visit_switch(const struct query *q, const struct subnet_port *port)
{
	uint8_t data[SWITCH_RECORD_BYTES] = { 0 };

	if (port->node->info.node_type != SMP_NODE_SWITCH)
		return true;
	wire_put16(data, subnet_port_lid(port));
	smp_switch_info_put(data + 4, &port->node->switch_info);
	return add(q, data, sizeof(data));
}

int sa_switch_query(struct sa_request *req)
{
	const struct query q = QUERY(req, lid_component);

	return each_port(&q, true, visit_switch);
}

/* -- LFTRecord, MFTRecord -------------------------------------------------------------- */

#define LFT_BLOCKS_MAX    768u /* of all unicast LIDs */
#define MFT_BLOCKS_MAX    512u
#define MFT_POSITIONS_MAX 16u
#define MFT_WORK          100u /* what looking at all of them takes, if none is there */

static const struct sa_component lft_components[] = {
	LID, { 1, 16, 16 }, /* block */
};

static bool visit_lft(const struct query *q, const struct subnet_port *port)
{
	if (port->node->info.node_type != SMP_NODE_SWITCH)
		return true;
	for (unsigned int block = 0; block < LFT_BLOCKS_MAX; block++) {
		const uint8_t *table = sm_lft_block(port->node, block);
		uint8_t data[BLOCK_RECORD_BYTES] = { 0 };

		if (!table)
			continue;
		wire_put16(data, subnet_port_lid(port));
		wire_put16(data + 2, (uint16_t)block);
		memcpy(data + 8, table, SM_LFT_BLOCK_LIDS);
		if (!add(q, data, sizeof(data)))
			return false;
	}
	return true;
}

int sa_lft_query(struct sa_request *req)
{
	const struct query q = QUERY(req, lft_components);

	return each_port(&q, true, visit_lft);
}

static const struct sa_component mft_components[] = {
	LID,
	{ 1, 16, 4 }, /* position */
	{ 3, 23, 9 }, /* block */
};

static bool add_mft_block(const struct query *q, const struct subnet_port *port,
			  unsigned int block, unsigned int position)
{
	const uint16_t *table = sm_mft_block(port->node, block, position);
	uint8_t data[BLOCK_RECORD_BYTES] = { 0 };

	if (!table)
		return true;
	wire_put16(data, subnet_port_lid(port));
	wire_put16(data + 2, (uint16_t)(position << 12 | block));
	wire_put16s(data + 8, table, SM_MFT_BLOCK_MLIDS);
	return add(q, data, sizeof(data));
}

static bool visit_mft(const struct query *q, const struct subnet_port *port)
{
	if (port->node->info.node_type != SMP_NODE_SWITCH)
		return true;
	sa_request_worked(q->req, MFT_WORK);
	for (unsigned int block = 0; block < MFT_BLOCKS_MAX; block++) {
		for (unsigned int i = 0; i < MFT_POSITIONS_MAX; i++) {
			if (!add_mft_block(q, port, block, i))
				return false;
		}
	}
	return true;
}

int sa_mft_query(struct sa_request *req)
{
	const struct query q = QUERY(req, mft_components);

	return each_port(&q, true, visit_mft);
}

/* -- LinkRecord ---------------------------------------------------------------------- */

#define LINK_TO 32 /* the bit at which the LID of the other end begins */

static const struct sa_component link_components[] = {
	LID,          /* from there */
	{ 1, 16, 8 }, /* by this port */
	{ 2, 24, 8 }, /* to port */
	{ 3, LINK_TO, 16 },
};

static bool visit_link(const struct query *q, const struct subnet_port *port)
{
	const struct subnet_port *peer = port->peer;
	uint8_t data[LINK_RECORD_BYTES];

	if (!peer || !is_there(peer) || !may_see(q, keeper(peer)))
		return true;
	wire_put16(data, subnet_port_lid(port));
	data[2] = port->num;
	data[3] = peer->num;
	wire_put16(data + 4, subnet_port_lid(peer));
	return add(q, data, sizeof(data));
}

int sa_link_query(struct sa_request *req)
{
	struct query q = QUERY(req, link_components);

	name_by_first_lid(&q, LINK_TO);
	return each_port(&q, false, visit_link);
}

/* -- P_KeyTableRecord ---------------------------------------------------------------- */

static const struct sa_component pkey_components[] = {
	LID,
	{ 1, 16, 16 }, /* block */
	{ 2, 32, 8 },  /* port */
};

static bool visit_pkeys(const struct query *q, const struct subnet_port *port)
{
	for (unsigned int first = 0; first < port->pkey_count;
	     first += SUBNET_PKEYS_BLOCK) {
		uint8_t data[BLOCK_RECORD_BYTES] = { 0 };

		wire_put16(data, subnet_port_lid(port));
		wire_put16(data + 2, (uint16_t)(first / SUBNET_PKEYS_BLOCK));
		data[4] = port->num;
		for (unsigned int i = 0; i < SUBNET_PKEYS_BLOCK; i++) {
			if (first + i < port->pkey_count)
				wire_put16(data + 8 + 2 * i, port->pkeys[first + i]);
		}
		if (!add(q, data, sizeof(data)))
			return false;
	}
	return true;
}

/* Who is in which partition is told to those with the key alone, as OpenSM has it. */
int sa_pkey_query(struct sa_request *req)
{
	const struct query q = QUERY(req, pkey_components);

	if (!req->trusted)
		return SA_REQ_INVALID;
	return each_port(&q, false, visit_pkeys);
}

/* -- SMInfoRecord -------------------------------------------------------------------- */

static const struct sa_component sm_components[] = {
	LID,
	{ 2, 32, 64 },  /* GUID */
	{ 3, 96, 64 },  /* SM_Key */
	{ 4, 160, 32 }, /* ActCount */
	{ 5, 192, 4 },  /* priority */
	{ 6, 196, 4 },  /* state */
};

/* Ours alone: it is master, or nobody would be asking us. */
int sa_sm_query(struct sa_request *req)
{
	const struct query q = QUERY(req, sm_components);
	const struct subnet_port *port = sm_subnet(req->server->sm)->sm_port;
	struct smp_sm_info info;
	uint8_t data[SM_RECORD_BYTES] = { 0 };

	if (!q.requester)
		return SA_SILENT;
	if (!port || !may_see(&q, port))
		return 0;
	wire_put16(data, subnet_port_lid(port));
	sm_own_info(req->server->sm, &info);
	if (!req->trusted)
		info.sm_key = 0;
	smp_sm_info_put(data + 4, &info);
	add(&q, data, sizeof(data));
	return 0;
}
