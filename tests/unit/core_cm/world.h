/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small world for the tests of rdma_cm: one node, devices with tables that a test
 * writes, a host that a test configures, and a record of events.
 *
 *   vroce0  Ethernet, interface 1: fe80::1 (v2), 127.0.0.1 and ::1 (v1 and v2)
 *   vroce1  Ethernet, interface 2: 10.0.0.1 (v2), made on request
 */
#ifndef CORE_CM_WORLD_H
#define CORE_CM_WORLD_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/addr/sockaddr.h"
#include "core/cm/cma.h"
#include "harness/harness.h"

#define WORLD_GIDS   8
#define WORLD_EVENTS 64

struct world_device {
	struct ib_device ib;
	struct ib_gid_attr gids[WORLD_GIDS];
	int gid_count;
	enum rdma_link_layer link_layer;
	u16 pkey;
};

struct world_event {
	struct cma_id *id;
	struct cma_event event;
};

struct world {
	struct ib_node *node;
	struct world_device devices[2];
	struct cma *cma;
	unsigned int scheduled;
	/* the host */
	struct addr_ports ports;
	uint32_t mtu[4];      /* by ifindex; 0: no such interface */
	struct in_addr owned; /* an address on an interface without device */
	int route_result;
	struct addr_route route;
	/* what came */
	struct world_event events[WORLD_EVENTS];
	unsigned int event_count;
	void (*on_event)(struct world *w, struct cma_id *id);
};

static struct world *world_now; /* of the running test */

static inline const struct sockaddr *at(const char *text, uint16_t port)
{
	static struct sockaddr_storage storage[8];
	static unsigned int next;
	struct sockaddr_storage *ss = &storage[next++ % 8];
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, text, &((struct sockaddr_in *)ss)->sin_addr) == 1) {
		ss->ss_family = AF_INET;
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		ss->ss_family = AF_INET6;
	}
	addr_set_port((struct sockaddr *)ss, port);
	return (const struct sockaddr *)ss;
}

static inline struct world_device *world_device_of(struct ib_device *ib)
{
	return container_of(ib, struct world_device, ib);
}

static inline int world_query_port(struct ib_device *ib, u32 port,
				   struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->max_mtu = attr->active_mtu = 5;
	attr->gid_tbl_len = WORLD_GIDS;
	attr->pkey_tbl_len = 1;
	attr->active_width = 2;
	attr->active_speed = 32;
	return 0;
}

static inline enum rdma_link_layer world_link_layer(struct ib_device *ib, u32 port)
{
	return world_device_of(ib)->link_layer;
}

static inline int world_query_gid(struct ib_device *ib, u32 port, int index,
				  struct ib_gid_attr *attr)
{
	struct world_device *d = world_device_of(ib);

	if (index >= WORLD_GIDS)
		return -EINVAL;
	if (index >= d->gid_count)
		return -ENODATA;
	*attr = d->gids[index];
	return 0;
}

static inline int world_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = world_device_of(ib)->pkey;
	return 0;
}

static inline void world_add_gid(struct world_device *d, const char *text,
				 enum ib_gid_type type, u32 ifindex)
{
	struct ib_gid_attr *gid = &d->gids[d->gid_count];

	gid->gid_type = type;
	gid->index = (u16)d->gid_count++;
	gid->port_num = 1;
	gid->ifindex = ifindex;
	addr_to_gid(at(text, 0), gid->gid.raw);
}

static inline void world_add_device(struct world *w, int n, const char *name)
{
	struct world_device *d = &w->devices[n];

	d->ib.ops.query_port = world_query_port;
	d->ib.ops.get_link_layer = world_link_layer;
	d->ib.ops.query_gid = world_query_gid;
	d->ib.ops.query_pkey = world_query_pkey;
	d->ib.node_type = RDMA_NODE_IB_CA;
	d->ib.phys_port_cnt = 1;
	strcpy(d->ib.name, name);
	d->link_layer = IB_LINK_LAYER_ETHERNET;
	d->pkey = 0xffff;
	assert_int_equal(ib_register_device(&d->ib, w->node), 0);
}

static inline void world_add_second_device(struct world *w)
{
	world_add_device(w, 1, "vroce1");
	world_add_gid(&w->devices[1], "10.0.0.1", IB_GID_TYPE_ROCE_UDP_ENCAP, 2);
}

static inline int world_find_owner(void *arg, const struct sockaddr *addr,
				   uint32_t *ret_ifindex)
{
	struct world *w = arg;
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

	if (addr->sa_family != AF_INET || in->sin_addr.s_addr != w->owned.s_addr)
		return -EADDRNOTAVAIL;
	*ret_ifindex = 3;
	return 0;
}

static inline int world_find_route(void *arg, const struct sockaddr *dst,
				   struct addr_route *ret)
{
	struct world *w = arg;

	*ret = w->route;
	return w->route_result;
}

static inline int world_link_mtu(void *arg, uint32_t ifindex, uint32_t *ret_mtu)
{
	struct world *w = arg;

	if (ifindex >= 4 || !w->mtu[ifindex])
		return -ENODEV;
	*ret_mtu = w->mtu[ifindex];
	return 0;
}

static inline void world_ports(void *arg, struct addr_ports *ret)
{
	*ret = ((struct world *)arg)->ports;
}

static inline void world_schedule(void *arg)
{
	((struct world *)arg)->scheduled++;
}

static inline void world_event(struct cma_id *id, const struct cma_event *event)
{
	struct world *w = world_now;

	assert_true(w->event_count < WORLD_EVENTS);
	w->events[w->event_count].id = id;
	w->events[w->event_count++].event = *event;
	if (w->on_event)
		w->on_event(w, id);
}

static const struct addr_host_ops world_host = {
	.find_owner = world_find_owner,
	.find_route = world_find_route,
	.link_mtu = world_link_mtu,
	.ports = world_ports,
};

static inline void world_open_cma(struct world *w, bool ipv6_multicast)
{
	struct cma_config config = {
		.node = w->node,
		.host = &world_host,
		.host_arg = w,
		.schedule = world_schedule,
		.arg = w,
		.ipv6_multicast = ipv6_multicast,
	};

	cma_destroy(w->cma);
	assert_int_equal(cma_create(&config, &w->cma), 0);
}

static inline int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	world_now = w;
	*state = w;
	w->ports = (struct addr_ports){ 40000, 40003, 1024 };
	w->mtu[1] = 65536;
	w->mtu[2] = 1500;
	w->mtu[3] = 1500;
	w->owned.s_addr = inet_addr("192.0.2.9");
	w->route_result = -ENETUNREACH;
	w->node = ib_node_create("machine", 0);
	assert_non_null(w->node);
	world_add_device(w, 0, "vroce0");
	world_add_gid(&w->devices[0], "fe80::1", IB_GID_TYPE_ROCE_UDP_ENCAP, 1);
	world_add_gid(&w->devices[0], "127.0.0.1", IB_GID_TYPE_ROCE, 1);
	world_add_gid(&w->devices[0], "127.0.0.1", IB_GID_TYPE_ROCE_UDP_ENCAP, 1);
	world_add_gid(&w->devices[0], "::1", IB_GID_TYPE_ROCE_UDP_ENCAP, 1);
	world_open_cma(w, false);
	return 0;
}

static inline int world_teardown(void **state)
{
	struct world *w = *state;

	cma_destroy(w->cma);
	for (int i = 0; i < 2; i++)
		if (w->devices[i].ib.node)
			assert_int_equal(ib_unregister_device(&w->devices[i].ib), 0);
	ib_node_destroy(w->node);
	free(w);
	return 0;
}

static inline struct cma_id *world_id(struct world *w, enum cma_port_space ps)
{
	struct cma_id_config config = {
		.ps = ps,
		.qp_type = ps == CMA_PS_TCP ? IB_QPT_RC : IB_QPT_UD,
		.event = world_event,
		.context = w,
	};
	struct cma_id *id;

	assert_int_equal(cma_id_create(w->cma, &config, &id), 0);
	return id;
}

/* Deliver until nothing waits. */
static inline void world_run(struct world *w)
{
	while (w->scheduled) {
		w->scheduled = 0;
		cma_run(w->cma);
	}
}

/* The one event that came since the last look. */
static inline struct cma_event *world_only_event(struct world *w)
{
	world_run(w);
	assert_int_equal(w->event_count, 1);
	w->event_count = 0;
	return &w->events[0].event;
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, world_setup, world_teardown)

#endif
