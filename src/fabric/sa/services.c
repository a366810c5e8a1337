/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ServiceRecord: who offers what, for how long (spec/sa-sm 4.4).
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

#define SECOND_NS     1000000000ull
#define LEASE_FOREVER UINT32_MAX

#define COMPONENT_ID    (1ull << 0)
#define COMPONENT_GID   (1ull << 1)
#define COMPONENT_PKEY  (1ull << 2)
#define COMPONENT_LEASE (1ull << 4)
#define COMPONENT_KEY   (1ull << 5)

#define KEY_OFFSET 32u /* in the record */

#define DATA8(i)                            \
	{                                   \
		7 + (i), 8 * (112 + (i)), 8 \
	}
#define DATA16(i)                                 \
	{                                         \
		23 + (i), 8 * (128 + 2 * (i)), 16 \
	}
#define DATA32(i)                                 \
	{                                         \
		31 + (i), 8 * (144 + 4 * (i)), 32 \
	}
#define DATA64(i)                                 \
	{                                         \
		35 + (i), 8 * (160 + 8 * (i)), 64 \
	}
static const struct sa_component components[] = {
	{ 0, 0, 64 },    /* ServiceID */
	{ 1, 64, 128 },  /* ServiceGID */
	{ 2, 192, 16 },  /* P_Key */
	{ 4, 224, 32 },  /* lease */
	{ 5, 256, 128 }, /* key */
	{ 6, 384, 512 }, /* name */
	DATA8(0),        DATA8(1),  DATA8(2),  DATA8(3),  DATA8(4),  DATA8(5),
	DATA8(6),        DATA8(7),  DATA8(8),  DATA8(9),  DATA8(10), DATA8(11),
	DATA8(12),       DATA8(13), DATA8(14), DATA8(15), DATA16(0), DATA16(1),
	DATA16(2),       DATA16(3), DATA16(4), DATA16(5), DATA16(6), DATA16(7),
	DATA32(0),       DATA32(1), DATA32(2), DATA32(3), DATA64(0), DATA64(1),
};

static uint32_t service_hash(const struct sa_service *rec)
{
	uint32_t value = hash_bytes(rec->pkey, &rec->id, sizeof(rec->id));

	return hash_bytes(value, rec->gid.raw, sizeof(rec->gid.raw));
}

static struct sa_service_entry *find(const struct sa_server *s,
				     const struct sa_service *rec)
{
	hash_for_each_match(node, &s->services, service_hash(rec)) {
		struct sa_service_entry *entry =
			container_of(node, struct sa_service_entry, by_key);

		if (entry->rec.id == rec->id && entry->rec.pkey == rec->pkey &&
		    gid_equal(entry->rec.gid.raw, rec->gid.raw))
			return entry;
	}
	return NULL;
}

static void service_destroy(struct sa_service_entry *entry)
{
	sa_walks_skip(entry->server, &entry->link);
	hash_remove(&entry->server->services, &entry->by_key);
	list_remove(&entry->link);
	timer_disarm(&entry->timer);
	sa_share_give(entry->server, entry->lid, SA_SHARE_SERVICES, 1);
	free(entry);
}

void sa_services_forget(struct sa_server *s)
{
	while (!list_empty(&s->service_list))
		service_destroy(container_of(s->service_list.next,
					     struct sa_service_entry, link));
}

static void lease_ends(struct timer *timer)
{
	service_destroy(container_of(timer, struct sa_service_entry, timer));
}

static struct sa_service_entry *service_create(struct sa_server *s,
					       const struct sa_service *rec, uint16_t lid)
{
	struct sa_service_entry *entry;

	if (s->services.count >= SA_SERVICES_MAX ||
	    !sa_share_take(s, lid, SA_SHARE_SERVICES, 1))
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry) {
		sa_share_give(s, lid, SA_SHARE_SERVICES, 1);
		return NULL;
	}
	entry->server = s;
	entry->lid = lid;
	timer_init(&entry->timer, s->timers, lease_ends);
	list_append(&s->service_list, &entry->link);
	hash_insert(&s->services, &entry->by_key, service_hash(rec));
	return entry;
}

int sa_service_keep(struct sa_server *s, const struct sa_service *rec, uint16_t lid)
{
	struct sa_service_entry *entry = find(s, rec);

	if (!entry)
		entry = service_create(s, rec, lid);
	if (!entry)
		return -ENOSPC;
	entry->rec = *rec;
	timer_disarm(&entry->timer);
	if (rec->lease == LEASE_FOREVER)
		return 0;
	entry->until_ns = s->timers->now_ns + rec->lease * SECOND_NS;
	timer_arm(&entry->timer, rec->lease * SECOND_NS);
	return 0;
}

uint32_t sa_service_lease_left(const struct sa_service_entry *entry)
{
	uint64_t now = entry->server->timers->now_ns;

	if (entry->rec.lease == LEASE_FOREVER)
		return LEASE_FOREVER;
	if (now >= entry->until_ns)
		return 0;
	return (uint32_t)((entry->until_ns - now + SECOND_NS - 1) / SECOND_NS);
}

/*
 * Differs: OpenSM compares no keys here, so anybody ends anybody's service. A service
 * with a key is its own port's, whose GUID its GID names with whatever prefix, and of
 * those who show the key.
 */
static bool may_change(const struct sa_service_entry *entry,
		       const struct subnet_port *requester, const struct sa_service *rec)
{
	const struct sa_server *s = entry->server;
	static const uint8_t none[16];

	return memcmp(entry->rec.key, none, sizeof(none)) == 0 ||
	       memcmp(entry->rec.key, rec->key, sizeof(none)) == 0 ||
	       sa_port_guid_of(s, sa_gid_guid(&entry->rec.gid)) ==
		       subnet_port_guid(requester);
}

/* Keys are shown to those who show ours. */
static void answer(struct sa_request *req, const struct sa_service *rec)
{
	uint8_t data[SA_SERVICE_BYTES];

	sa_service_put(data, rec);
	if (!req->trusted)
		memset(data + KEY_OFFSET, 0, sizeof(rec->key));
	sa_request_answer(req, data, sizeof(data));
}

/* The requester is in the service's partition, and so is the port that offers it. */
static bool pkey_is_shared(const struct sa_server *s, const struct subnet_port *requester,
			   const struct sa_service *rec)
{
	const struct subnet_port *port;

	if (!(rec->pkey & 0x7fff))
		return true;
	if (!sa_port_has_base(requester, rec->pkey))
		return false;
	if (rec->gid.raw[0] == 0xff || !sa_gid_is_here(s, &rec->gid))
		return true;
	port = sa_port_of_guid(s, sa_gid_guid(&rec->gid));
	return port && sa_port_has_base(port, rec->pkey);
}

int sa_service_set(struct sa_request *req)
{
	const struct subnet_port *requester = sa_request_port(req);
	struct sa_server *s = req->server;
	struct sa_service_entry *entry;
	uint64_t mask = req->sa.comp_mask;
	struct sa_service rec;

	if (!requester)
		return SA_SILENT;
	if (!(mask & COMPONENT_ID) || !(mask & COMPONENT_GID))
		return SA_REQ_INVALID;
	sa_service_get(sa_request_data(req), &rec);
	if (!(mask & COMPONENT_LEASE))
		rec.lease = LEASE_FOREVER;
	if (!(mask & COMPONENT_PKEY))
		rec.pkey = IB_PKEY_DEFAULT_FULL;
	else if (!pkey_is_shared(s, requester, &rec))
		return SA_REQ_INVALID;
	entry = find(s, &rec);
	if (entry && !may_change(entry, requester, &rec))
		return SA_REQ_INVALID;
	if (sa_service_keep(s, &rec, req->from.port_lid) < 0)
		return SA_NO_RESOURCES;
	sa_journal_renew(s);
	answer(req, &rec);
	return 0;
}

int sa_service_delete(struct sa_request *req)
{
	const struct subnet_port *requester = sa_request_port(req);
	struct sa_service_entry *entry;
	struct sa_service rec;

	if (!requester)
		return SA_SILENT;
	sa_service_get(sa_request_data(req), &rec);
	if (req->sa.comp_mask & COMPONENT_PKEY &&
	    !pkey_is_shared(req->server, requester, &rec))
		return SA_REQ_INVALID;
	/* Who deletes what he found has it whole, whatever components he names. */
	entry = find(req->server, &rec);
	if (!entry && !(req->sa.comp_mask & COMPONENT_PKEY)) {
		rec.pkey = IB_PKEY_DEFAULT_FULL;
		entry = find(req->server, &rec);
	}
	if (!entry)
		return SA_NO_RECORDS;
	if (!may_change(entry, requester, &rec))
		return SA_REQ_INVALID;
	answer(req, &entry->rec);
	service_destroy(entry);
	sa_journal_renew(req->server);
	return 0;
}

static bool visit(struct sa_request *req, const struct sa_service_entry *entry)
{
	uint8_t data[SA_SERVICE_BYTES];
	struct sa_service rec = entry->rec;

	rec.lease = sa_service_lease_left(entry);
	sa_service_put(data, &rec);
	if (!sa_components_match(components, sizeof(components) / sizeof(components[0]),
				 req->sa.comp_mask, sa_request_data(req), data))
		return true;
	/* The key is shown to those who show ours, or it itself. */
	if (!req->trusted && !(req->sa.comp_mask & COMPONENT_KEY))
		memset(data + KEY_OFFSET, 0, sizeof(rec.key));
	return sa_request_add(req, data, sizeof(data));
}

int sa_service_query(struct sa_request *req)
{
	const struct subnet_port *requester = sa_request_port(req);
	struct sa_server *s = req->server;

	if (!requester)
		return SA_SILENT;
	for (struct list *l = sa_walk_begin(req, &s->service_list); l != &s->service_list;
	     l = l->next) {
		const struct sa_service_entry *entry =
			container_of(l, struct sa_service_entry, link);

		if (sa_request_worked(req, 0)) {
			sa_walk_pause(req, l);
			return SA_GOES_ON;
		}
		sa_request_worked(req, 1);
		if (pkey_is_shared(s, requester, &entry->rec) && !visit(req, entry))
			break;
	}
	return 0;
}
