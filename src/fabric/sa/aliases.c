/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GUIDs that ports have beside their own, as far as they were given by us or by the
 * master that we followed: whose each is, and which one stands where. A port is reached and
 * joined by any of them as by its own (spec/sa-sm 1.6 step 4). What is the own GUID of a port
 * that is there, or comes, is nobody's alias, whoever was given it before.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "fabric/sa/server_priv.h"

static uint32_t guid_hash(uint64_t guid)
{
	return hash_bytes(0, &guid, sizeof(guid));
}

struct sa_alias *sa_alias_find(const struct sa_server *s, uint64_t guid)
{
	hash_for_each_match(node, &s->aliases, guid_hash(guid)) {
		struct sa_alias *a = container_of(node, struct sa_alias, by_guid);

		if (a->guid == guid)
			return a;
	}
	return NULL;
}

const struct sa_alias *sa_alias_after(const struct sa_server *s, uint64_t port_guid,
				      unsigned int place)
{
	const struct sa_alias *first = NULL;

	hash_for_each_match(node, &s->aliases_by_port, guid_hash(port_guid)) {
		const struct sa_alias *a = container_of(node, struct sa_alias, by_port);

		if (a->port_guid == port_guid && a->place >= place &&
		    (!first || a->place < first->place))
			first = a;
	}
	return first;
}

const struct sa_alias *sa_alias_astray(const struct sa_server *s, uint64_t port_guid,
				       unsigned int first, unsigned int count,
				       const uint64_t *guids)
{
	hash_for_each_match(node, &s->aliases_by_port, guid_hash(port_guid)) {
		const struct sa_alias *a = container_of(node, struct sa_alias, by_port);

		if (a->port_guid == port_guid && a->place >= first &&
		    a->place < first + count && guids[a->place - first] != a->guid)
			return a;
	}
	return NULL;
}

static void alias_destroy(struct sa_server *s, struct sa_alias *a)
{
	sa_journal_alias(s, a, false);
	list_remove(&a->link);
	hash_remove(&s->aliases, &a->by_guid);
	hash_remove(&s->aliases_by_port, &a->by_port);
	free(a);
}

int sa_alias_keep(struct sa_server *s, uint64_t port_guid, unsigned int place,
		  uint64_t guid)
{
	struct sa_alias *a = sa_alias_find(s, guid);

	if (a)
		return 0;
	if (s->aliases.count >= SA_ALIASES_MAX)
		return -ENOSPC;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->guid = guid;
	a->port_guid = port_guid;
	a->place = (uint16_t)place;
	hash_insert(&s->aliases, &a->by_guid, guid_hash(guid));
	hash_insert(&s->aliases_by_port, &a->by_port, guid_hash(port_guid));
	list_append(&s->alias_list, &a->link);
	sa_journal_alias(s, a, true);
	return 0;
}

void sa_alias_forget(struct sa_server *s, uint64_t guid)
{
	struct sa_alias *a = sa_alias_find(s, guid);

	if (a)
		alias_destroy(s, a);
}

void sa_alias_yield(struct sa_server *s, uint64_t port_guid)
{
	struct sa_alias *a = sa_alias_find(s, port_guid);

	if (!a)
		return;
	log_info("sa: port %016llx has come, whose GUID port %016llx had as an alias",
		 (unsigned long long)port_guid, (unsigned long long)a->port_guid);
	sa_guid_leave(s, a->port_guid, port_guid);
	sa_guid_take(s, a->port_guid, a->place);
	alias_destroy(s, a);
}

void sa_aliases_forget_port(struct sa_server *s, uint64_t port_guid)
{
	const struct sa_alias *a;

	while ((a = sa_alias_after(s, port_guid, 0)))
		sa_alias_forget(s, a->guid);
}

void sa_aliases_forget(struct sa_server *s)
{
	list_for_each_safe(l, &s->alias_list)
		alias_destroy(s, container_of(l, struct sa_alias, link));
}

void sa_aliases_forget_lost(struct sa_server *s)
{
	list_for_each_safe(l, &s->alias_list) {
		struct sa_alias *a = container_of(l, struct sa_alias, link);

		if (!sa_port_by_guid(s, a->port_guid))
			alias_destroy(s, a);
		else if (sa_port_by_guid(s, a->guid))
			sa_alias_yield(s, a->guid);
	}
}

/* -- whose it is --------------------------------------------------------------------- */

uint64_t sa_port_guid_of(const struct sa_server *s, uint64_t guid)
{
	const struct sa_alias *a =
		sa_port_by_guid(s, guid) ? NULL : sa_alias_find(s, guid);

	return a ? a->port_guid : guid;
}

const struct subnet_port *sa_port_of_guid(const struct sa_server *s, uint64_t guid)
{
	const struct subnet_port *port = sa_port_by_guid(s, guid);
	const struct sa_alias *a = port ? NULL : sa_alias_find(s, guid);

	return a && !a->leaves ? sa_port_by_guid(s, a->port_guid) : port;
}

const struct subnet_port *sa_port_of_gid(const struct sa_server *s,
					 const union ib_gid *gid)
{
	return sa_gid_is_here(s, gid) ? sa_port_of_guid(s, sa_gid_guid(gid)) : NULL;
}
