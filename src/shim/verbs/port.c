// SPDX-License-Identifier: BSD-2-Clause
/*
 * Querying a port and its GID and P_Key tables. verbcastd keeps them current in the
 * site's tables, which are mapped here: a query is a few loads, in any thread.
 */
#include <arpa/inet.h>
#include <string.h>

#include "shim/export.h"
#include "port.h"

/* Of a port of this software device, whatever carries it. */
#define MAX_MESSAGE_BYTES 0x800000u

const struct shm_port *port_find(const struct ibv_context *context, uint32_t port_num)
{
	const struct device_context *c = context_of(context);
	uint32_t index = port_index(c, port_num);

	if (index == SHM_NONE || process_forked(c->process))
		return NULL;
	return &c->process->tables->ports[index];
}

static int no_port(const struct ibv_context *context)
{
	return process_forked(process_of(context)) ? ENODEV : EINVAL;
}

/* `valid` is a serial number that is never used again: the same before and after means
 * that the entry did not change in between. */
bool port_gid(const struct shm_port *port, uint32_t index, struct shm_gid_entry *ret)
{
	const struct shm_gid_entry *e;
	uint32_t valid;

	if (index >= SHM_GIDS_MAX)
		return false;
	e = &port->gids[index];
	do {
		valid = atomic_load_explicit(&e->valid, memory_order_acquire);
		if (!valid)
			return false;
		memcpy(ret->gid, e->gid, sizeof(ret->gid));
		ret->type = e->type;
		ret->ifindex = e->ifindex;
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(&e->valid, memory_order_relaxed) != valid);
	return true;
}

static uint32_t load(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Lengths are verbcastd's word, and checked all the same. */
static uint32_t pkey_table_length(const struct shm_port *port)
{
	uint32_t n = load(&port->pkey_count);

	return n < SHM_PKEYS_MAX ? n : SHM_PKEYS_MAX;
}

static uint32_t gid_table_length(const struct shm_port *port)
{
	uint32_t n = load(&port->gid_count);

	return n < SHM_GIDS_MAX ? n : SHM_GIDS_MAX;
}

/* The state first: what an active port is active with was there before. */
static void fill(const struct shm_port *port, struct ibv_port_attr *a)
{
	bool ethernet = port->link_layer == SHM_LINK_ETHERNET;

	a->state = atomic_load_explicit(&port->state, memory_order_acquire);
	a->max_mtu = load(&port->max_mtu);
	a->active_mtu = load(&port->active_mtu);
	a->gid_tbl_len = (int)gid_table_length(port);
	a->port_cap_flags = load(&port->cap_mask);
	a->max_msg_sz = MAX_MESSAGE_BYTES;
	a->bad_pkey_cntr = load(&port->pkey_violations);
	a->qkey_viol_cntr = load(&port->qkey_violations);
	a->pkey_tbl_len = pkey_table_length(port);
	a->lid = load(&port->lid);
	a->sm_lid = load(&port->sm_lid);
	a->lmc = load(&port->lmc);
	a->max_vl_num = load(&port->max_vl_num);
	a->sm_sl = load(&port->sm_sl);
	a->subnet_timeout = load(&port->subnet_timeout);
	a->init_type_reply = load(&port->init_type_reply);
	a->active_width = load(&port->active_width);
	a->active_speed = load(&port->active_speed);
	a->phys_state = load(&port->phys_state);
	a->link_layer = ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
	a->flags = ethernet ? IBV_QPF_GRH_REQUIRED : 0;
}

int port_query(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
	       size_t length)
{
	const struct shm_port *port = port_find(context, port_num);
	struct ibv_port_attr full = { 0 };

	if (process_state(process_of(context)) != PROCESS_LIVE)
		return ENODEV;
	if (atomic_load_explicit(&context_of(context)->device->gone,
				 memory_order_relaxed))
		return EIO;
	if (!port)
		return EINVAL;
	fill(port, &full);
	/* A newer header's struct is longer: what we do not know of is zero. */
	memset(attr, 0, length);
	memcpy(attr, &full, length < sizeof(full) ? length : sizeof(full));
	return 0;
}

/* The exported function serves binaries older than the slot: their struct ended after
 * `flags` (spec/userland 2.4). */
#undef ibv_query_port
VC_EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port_num,
			     struct _compat_ibv_port_attr *attr)
{
	return port_query(context, port_num, (struct ibv_port_attr *)attr,
			  offsetof(struct ibv_port_attr, port_cap_flags2));
}

VC_EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
			    union ibv_gid *gid)
{
	const struct shm_port *port = port_find(context, port_num);
	struct shm_gid_entry e;

	if (!port || index < 0 || index >= (int)gid_table_length(port))
		return minus_errno(-no_port(context));
	memset(gid, 0, sizeof(*gid));
	if (port_gid(port, index, &e))
		memcpy(gid, e.gid, sizeof(*gid));
	return 0;
}

static void public_entry(const struct shm_gid_entry *e, uint32_t port_num, uint32_t index,
			 struct ibv_gid_entry *ret)
{
	memset(ret, 0, sizeof(*ret));
	memcpy(&ret->gid, e->gid, sizeof(ret->gid));
	ret->gid_index = index;
	ret->port_num = port_num;
	ret->gid_type =
		e->type; /* enum shm_gid_type has the values of enum ibv_gid_type */
	ret->ndev_ifindex = e->ifindex;
}
static_assert((int)SHM_GID_IB == (int)IBV_GID_TYPE_IB &&
		      (int)SHM_GID_ROCE_V1 == (int)IBV_GID_TYPE_ROCE_V1 &&
		      (int)SHM_GID_ROCE_V2 == (int)IBV_GID_TYPE_ROCE_V2,
	      "GID types are passed on as they are");

static void copy_sized(void *to, size_t to_size, const void *from, size_t from_size)
{
	memset(to, 0, to_size);
	memcpy(to, from, to_size < from_size ? to_size : from_size);
}

VC_EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
				uint32_t gid_index, struct ibv_gid_entry *entry,
				uint32_t flags, size_t entry_size)
{
	const struct shm_port *port = port_find(context, port_num);
	struct ibv_gid_entry full;
	struct shm_gid_entry e;

	if (flags || !port || gid_index >= gid_table_length(port))
		return EINVAL;
	if (!port_gid(port, gid_index, &e))
		return ENODATA;
	public_entry(&e, port_num, gid_index, &full);
	copy_sized(entry, entry_size, &full, sizeof(full));
	return 0;
}

VC_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context,
				       struct ibv_gid_entry *entries, size_t max_entries,
				       uint32_t flags, size_t entry_size)
{
	uint32_t ports = context_of(context)->device->attr.phys_port_cnt;
	struct ibv_gid_entry full;
	struct shm_gid_entry e;
	size_t n = 0;

	if (flags || !max_entries)
		return -EINVAL;
	for (uint32_t port_num = 1; port_num <= ports; port_num++) {
		const struct shm_port *port = port_find(context, port_num);

		for (uint32_t i = 0; port && i < SHM_GIDS_MAX && n < max_entries; i++) {
			if (!port_gid(port, i, &e))
				continue;
			public_entry(&e, port_num, i, &full);
			copy_sized((char *)entries + n++ * entry_size, entry_size, &full,
				   sizeof(full));
		}
	}
	return n;
}

VC_EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
				 unsigned int index, unsigned int *type)
{
	const struct shm_port *port = port_find(context, port_num);
	struct shm_gid_entry e;

	if (!port || index >= gid_table_length(port))
		return minus_errno(-no_port(context));
	*type = port_gid(port, index, &e) && e.type == SHM_GID_ROCE_V2;
	return 0;
}

VC_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index,
			     __be16 *pkey)
{
	const struct shm_port *port = port_find(context, port_num);

	if (!port || index < 0 || index >= (int)pkey_table_length(port))
		return minus_errno(-no_port(context));
	*pkey = htons(atomic_load_explicit(&port->pkeys[index], memory_order_relaxed));
	return 0;
}

/* An exact match: the membership bit counts (spec/userland 2.4). */
VC_EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num,
				 __be16 pkey)
{
	__be16 found;

	for (int i = 0; ibv_query_pkey(context, port_num, i, &found) == 0; i++)
		if (found == pkey)
			return i;
	return -1;
}
