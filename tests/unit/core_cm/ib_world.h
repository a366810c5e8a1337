/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world of world.h with an InfiniBand port, vib0, its interface, and an SA client that
 * the test plays: it records what is asked of it, and answers when told to.
 *
 *   vib0  InfiniBand, GID fe80::5, addresses 198.18.0.1 and fdc6:1200::1
 */
#ifndef CORE_CM_IB_WORLD_H
#define CORE_CM_IB_WORLD_H

#include <endian.h>

#include "world.h"

#define FAKE_MEMBERS 8

/* What the SA client was asked for, the oldest first; freed ones leave a hole. */
struct fake_sa {
	struct ib_sa_multicast *members[FAKE_MEMBERS];
	unsigned int joins, frees;
	int join_result; /* of the next join */
	struct ib_sa_mcmember_rec broadcast;
	bool has_broadcast;
	/* the path query under way */
	void (*path_callback)(int status, const struct sa_path_rec *rec, void *context);
	void *path_context;
	struct sa_path_rec path_asked;
	unsigned int cancels;
};

static struct fake_sa fake_sa;

ib_sa_comp_mask ib_sa_comp_mask_from_host(u64 mask)
{
	return (ib_sa_comp_mask){ htobe64(mask) };
}

void ib_sa_register_client(struct ib_sa_client *client)
{
	client->users = 1;
}

bool ib_sa_unregister_client(struct ib_sa_client *client)
{
	assert_int_equal(client->users, 1);
	return true;
}

struct ib_sa_multicast *
ib_sa_join_multicast(struct ib_sa_client *client, struct ib_device *device, u32 port_num,
		     const struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask comp_mask,
		     int (*callback)(int status, struct ib_sa_multicast *multicast),
		     void *context)
{
	struct ib_sa_multicast *m;

	if (fake_sa.join_result < 0)
		return ERR_PTR(fake_sa.join_result);
	m = calloc(1, sizeof(*m));
	assert_non_null(m);
	assert_true(fake_sa.joins < FAKE_MEMBERS);
	*m = (struct ib_sa_multicast){ *rec, comp_mask, callback, context };
	fake_sa.members[fake_sa.joins++] = m;
	return m;
}

void ib_sa_free_multicast(struct ib_sa_multicast *multicast)
{
	for (unsigned int i = 0; i < FAKE_MEMBERS; i++)
		if (fake_sa.members[i] == multicast)
			fake_sa.members[i] = NULL;
	fake_sa.frees++;
	free(multicast);
}

int ib_sa_get_mcmember_rec(struct ib_device *device, u32 port_num,
			   const union ib_gid *mgid, struct ib_sa_mcmember_rec *rec)
{
	if (!fake_sa.has_broadcast || !gid_equal(mgid->raw, fake_sa.broadcast.mgid.raw))
		return -EADDRNOTAVAIL;
	*rec = fake_sa.broadcast;
	return 0;
}

int ib_init_ah_from_mcmember(struct ib_device *device, u32 port_num,
			     const struct ib_sa_mcmember_rec *rec, u32 ifindex,
			     enum ib_gid_type gid_type, struct rdma_ah_attr *ah_attr)
{
	struct ib_gid_attr gid;

	if (rdma_find_gid_by_port(device, &rec->port_gid, gid_type, port_num, &gid) < 0)
		return -ENOENT;
	*ah_attr = (struct rdma_ah_attr){ .has_grh = true,
					  .port_num = port_num,
					  .dlid = be16toh(rec->mlid),
					  .sl = rec->sl };
	ah_attr->grh.dgid = rec->mgid;
	ah_attr->grh.sgid_index = (u8)gid.index;
	return 0;
}

int ib_sa_path_rec_get(struct ib_sa_client *client, struct ib_device *device,
		       u32 port_num, const struct sa_path_rec *rec,
		       ib_sa_comp_mask comp_mask, u32 timeout_ms,
		       void (*callback)(int status, const struct sa_path_rec *rec,
					void *context),
		       void *context, struct ib_sa_query **query)
{
	fake_sa.path_callback = callback;
	fake_sa.path_context = context;
	fake_sa.path_asked = *rec;
	*query = NULL;
	return 3;
}

void ib_sa_cancel_query(int id, struct ib_sa_query *query)
{
	assert_int_equal(id, 3);
	fake_sa.cancels++;
}

/* -- the world ---------------------------------------------------------------------- */

struct ib_world {
	struct world *w;
	struct timer_queue timers;
	struct ipoib *ipoib;
	struct world_device vib;
};

static struct ib_world ib_world;

static inline void ib_world_addresses(void *arg, struct ib_device *device, u32 port_num,
				      struct ipoib_addresses *ret)
{
	ipoib_default_addresses(1, ret);
}

static inline int ib_world_neighbour(void *arg, const struct sockaddr *addr,
				     union ib_gid *ret)
{
	if (ipoib_default_host(addr) != 2)
		return -EHOSTUNREACH;
	addr_to_gid(at("fe80::6", 0), ret->raw);
	return 0;
}

static inline void ib_world_run_timers(u64 ns)
{
	timer_queue_run(&ib_world.timers, ib_world.timers.now_ns + ns);
}

/* The SA has taken the port into the broadcast group. */
static inline void ib_world_up(void)
{
	struct ib_sa_multicast *m = fake_sa.members[fake_sa.joins - 1];

	assert_non_null(m);
	m->rec.mtu = 4;
	m->rec.mtu_selector = 2;
	m->rec.rate = 3;
	m->rec.qkey = htobe32(0x0b1b);
	m->rec.sl = 2;
	m->rec.flow_label = htobe32(0x123);
	m->rec.traffic_class = 7;
	m->rec.mlid = htobe16(0xc000);
	fake_sa.broadcast = m->rec;
	fake_sa.has_broadcast = true;
	assert_int_equal(m->callback(0, m), 0);
}

static inline int ib_world_setup(void **state)
{
	struct ipoib_config config = {
		.timers = &ib_world.timers,
		.addresses = ib_world_addresses,
		.neighbour = ib_world_neighbour,
	};
	struct cma_config cm = {
		.host = &world_host,
		.schedule = world_schedule,
	};
	struct world_device *d = &ib_world.vib;

	memset(&fake_sa, 0, sizeof(fake_sa));
	memset(&ib_world, 0, sizeof(ib_world));
	assert_int_equal(world_setup(state), 0);
	ib_world.w = *state;
	timer_queue_init(&ib_world.timers, 0, NULL, NULL);
	config.node = cm.node = ib_world.w->node;
	assert_int_equal(ipoib_create(&config, &ib_world.ipoib), 0);
	d->ib = (struct ib_device){ .node_type = RDMA_NODE_IB_CA, .phys_port_cnt = 1 };
	d->ib.ops = ib_world.w->devices[0].ib.ops;
	strcpy(d->ib.name, "vib0");
	d->link_layer = IB_LINK_LAYER_INFINIBAND;
	d->pkey = 0xffff;
	world_add_gid(d, "fe80::5", IB_GID_TYPE_IB, 0);
	assert_int_equal(ib_register_device(&d->ib, ib_world.w->node), 0);
	cma_destroy(ib_world.w->cma);
	cm.host_arg = cm.arg = ib_world.w;
	cm.ipoib = ib_world.ipoib;
	assert_int_equal(cma_create(&cm, &ib_world.w->cma), 0);
	ib_world_run_timers(0);
	return 0;
}

static inline int ib_world_teardown(void **state)
{
	cma_destroy(ib_world.w->cma);
	ib_world.w->cma = NULL;
	ipoib_destroy(ib_world.ipoib);
	if (ib_world.vib.ib.node)
		ib_unregister_device(&ib_world.vib.ib);
	for (unsigned int i = 0; i < FAKE_MEMBERS; i++)
		assert_null(fake_sa.members[i]);
	return world_teardown(state);
}

#define ib_test(fn) cmocka_unit_test_setup_teardown(fn, ib_world_setup, ib_world_teardown)

#endif
