/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * InformInfo: who wants to hear of what (spec/sa-sm 2.2). Subscriptions are found by the
 * trap they name, so that those to other traps cost a report nothing.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

#define ANY_TRAP             0xffffu
#define SUBSCRIBER_BYTES     24u /* of a record, in front of the InformInfo */
#define COMPONENT_SUBSCRIBER (1ull << 0)
#define COMPONENT_ENUM       (1ull << 1)

static uint32_t trap_hash(uint16_t trap)
{
	return hash_bytes(0, &trap, sizeof(trap));
}

/* Who is told, where, of what: spec/sa-sm 2.2. */
static bool is_same(const struct sa_subscription *sub, const struct sa_address *to,
		    uint64_t port_guid, const struct sa_inform_info *info)
{
	const struct sa_inform_info *a = &sub->info;

	return sub->port_guid == port_guid && sub->to.lid == to->lid &&
	       sub->to.qp == to->qp && sub->to.sl == to->sl && sub->to.pkey == to->pkey &&
	       gid_equal(a->gid.raw, info->gid.raw) && a->lid_begin == info->lid_begin &&
	       a->lid_end == info->lid_end && a->is_generic == info->is_generic &&
	       a->type == info->type && a->trap == info->trap && a->qpn == info->qpn &&
	       a->producer_type == info->producer_type;
}

static struct sa_subscription *find(struct sa_server *s, const struct sa_address *to,
				    uint64_t port_guid, const struct sa_inform_info *info)
{
	hash_for_each_match(node, &s->subscriptions, trap_hash(info->trap)) {
		struct sa_subscription *sub =
			container_of(node, struct sa_subscription, by_trap);

		if (is_same(sub, to, port_guid, info))
			return sub;
	}
	return NULL;
}

int sa_subscription_keep(struct sa_server *s, const struct sa_address *to,
			 uint64_t port_guid, const struct sa_inform_info *info)
{
	struct sa_subscription *sub;

	if (find(s, to, port_guid, info))
		return 0;
	if (s->subscriptions.count >= SA_SUBSCRIPTIONS_MAX ||
	    !sa_share_take(s, to->port_lid, SA_SHARE_SUBSCRIPTIONS, 1))
		return -ENOSPC;
	sub = calloc(1, sizeof(*sub));
	if (!sub) {
		sa_share_give(s, to->port_lid, SA_SHARE_SUBSCRIPTIONS, 1);
		return -ENOMEM;
	}
	sub->to = *to;
	sub->to.at = 0;
	sub->port_guid = port_guid;
	sub->info = *info;
	sub->number = s->next_subscription++;
	list_append(&s->subscription_list, &sub->link);
	hash_insert(&s->subscriptions, &sub->by_trap, trap_hash(info->trap));
	return 0;
}

static void subscription_destroy(struct sa_server *s, struct sa_subscription *sub)
{
	sa_walks_skip(s, &sub->link);
	hash_remove(&s->subscriptions, &sub->by_trap);
	list_remove(&sub->link);
	sa_share_give(s, sub->to.port_lid, SA_SHARE_SUBSCRIPTIONS, 1);
	free(sub);
}

void sa_subscriptions_forget(struct sa_server *s)
{
	while (!list_empty(&s->subscription_list))
		subscription_destroy(s, container_of(s->subscription_list.next,
						     struct sa_subscription, link));
}

void sa_subscriptions_forget_port(struct sa_server *s, uint64_t port_guid)
{
	list_for_each_safe(l, &s->subscription_list) {
		struct sa_subscription *sub =
			container_of(l, struct sa_subscription, link);

		if (sub->port_guid != port_guid)
			continue;
		subscription_destroy(s, sub);
		sa_journal_renew(s);
	}
}

/* -- Set(InformInfo) ----------------------------------------------------------------- */

static bool is_acceptable(const struct sa_request *req, const struct sa_inform_info *info)
{
	struct sa_server *s = req->server;

	if (info->subscribe > 1)
		return false;
	if (!gid_is_zero(info->gid.raw) && !sa_port_of_gid(s, &info->gid))
		return false;
	/* Security traps may be named by the trusted alone, though "all" has them too. */
	return req->trusted || !info->is_generic || info->trap < TRAP_BAD_MKEY ||
	       info->trap > TRAP_SWITCH_BAD_PKEY;
}

int sa_inform_set(struct sa_request *req)
{
	const struct subnet_port *requester = sa_request_port(req);
	struct sa_server *s = req->server;
	struct sa_subscription *sub;
	struct sa_inform_info info;
	uint64_t guid;
	int r = 0;

	if (!requester)
		return SA_SILENT;
	sa_inform_info_get(sa_request_data(req), &info);
	if (!is_acceptable(req, &info))
		return SA_REQ_INVALID;
	guid = subnet_port_guid(requester);
	if (info.subscribe) {
		/* Whatever it says, reports go to where it came from, and who ends it names
		 * that queue pair, as with OpenSM. */
		info.qpn = req->from.qp;
		r = sa_subscription_keep(s, &req->from, guid, &info);
	} else {
		sub = find(s, &req->from, guid, &info);
		if (!sub)
			return SA_REQ_INVALID;
		subscription_destroy(s, sub);
	}
	if (r < 0)
		return SA_NO_RESOURCES;
	sa_journal_renew(s);
	sa_request_answer(req, sa_request_data(req), SA_INFORM_BYTES);
	return 0;
}

/* -- InformInfoRecord ---------------------------------------------------------------- */

static void record_put(const struct sa_request *req, const struct sa_subscription *sub,
		       uint8_t data[SA_INFORM_RECORD_BYTES])
{
	struct sa_inform_info info = sub->info;
	union ib_gid gid;

	if (!req->trusted)
		info.qpn = 0;
	memset(data, 0, SA_INFORM_RECORD_BYTES);
	sa_gid_put(&gid, sm_subnet(req->server->sm)->prefix, sub->port_guid);
	memcpy(data, gid.raw, sizeof(gid.raw));
	wire_put16(data + 16, sub->number);
	sa_inform_info_put(data + SUBSCRIBER_BYTES, &info);
}

static bool is_asked_for(const struct sa_request *req, const uint8_t *data)
{
	const uint8_t *asked = sa_request_data(req);

	if ((req->sa.comp_mask & COMPONENT_SUBSCRIBER) && memcmp(asked, data, 16) != 0)
		return false;
	return !(req->sa.comp_mask & COMPONENT_ENUM) ||
	       memcmp(asked + 16, data + 16, 2) == 0;
}

int sa_inform_query(struct sa_request *req)
{
	const struct subnet_port *requester = sa_request_port(req);
	struct sa_server *s = req->server;
	uint8_t data[SA_INFORM_RECORD_BYTES];

	if (!requester)
		return SA_SILENT;
	for (struct list *l = sa_walk_begin(req, &s->subscription_list);
	     l != &s->subscription_list; l = l->next) {
		const struct sa_subscription *sub =
			container_of(l, struct sa_subscription, link);
		const struct subnet_port *port = sa_port_by_guid(s, sub->port_guid);

		if (sa_request_worked(req, 0)) {
			sa_walk_pause(req, l);
			return SA_GOES_ON;
		}
		sa_request_worked(req, 1);
		if (!port || !subnet_ports_share_pkey(requester, port))
			continue;
		record_put(req, sub, data);
		if (is_asked_for(req, data) && !sa_request_add(req, data, sizeof(data)))
			break;
	}
	return 0;
}
