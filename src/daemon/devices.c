/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/devices.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "path/roce/roce.h"
#include "wire/mtu.h"

#define SETTLE_MS 20   /* changes come in flocks */
#define RETRY_MS  1000 /* where the kernel did not answer */

/*
 * A device and its interface. Created when the interface comes into use; in `live` until
 * it is removed, then in `removed` until nobody uses it.
 */
struct roce_device {
	struct list link;
	struct hca_device *hca;
	uint32_t ifindex;     /* 0: vroce0, if there is no loopback interface */
	uint32_t number;      /* of its name */
	uint32_t place;       /* of the device and its port in the tables */
	uint64_t unwanted_ns; /* since when out of use; 0: in use */
};

struct devices {
	struct devices_config config;
	struct list live, removed;
	/* The interface that last had the number; empty: nobody had. */
	char names[DEVICES_MAX][ADDR_LINK_NAME_MAX];
	struct addr_monitor *monitor;
	struct loop_io *monitor_io;
	struct loop_timer *follow_timer, *sweep_timer;
	bool settling; /* a look is near */
	bool changed;  /* in the present look */
};

/* A port's link, with memory for what it points to. */
struct port_link {
	struct hca_port_link link;
	struct hca_gid gids[HCA_GIDS_MAX];
};

/* -- what an interface is to a port -------------------------------------------------- */

static void add_gid(struct port_link *p, const uint8_t gid[16], uint32_t ifindex)
{
	struct hca_gid *g;

	for (unsigned int i = 0; i < p->link.gid_count; i++)
		if (gid_equal(p->gids[i].gid.raw, gid))
			return;
	if (p->link.gid_count == HCA_GIDS_MAX)
		return;
	g = &p->gids[p->link.gid_count++];
	memcpy(g->gid.raw, gid, sizeof(g->gid.raw));
	g->type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	g->ifindex = ifindex;
}

static void add_locals(struct port_link *p, const struct addr_links *links,
		       uint32_t ifindex)
{
	for (size_t i = 0; i < links->local_count; i++)
		if (links->locals[i].ifindex == ifindex)
			add_gid(p, links->locals[i].gid, ifindex);
}

/* The port of rdma_rxe has 256 where the interface is too small for even that. */
static int port_mtu(const struct addr_link *from)
{
	int mtu = mtu_enum_from_roce_link(from->mtu);

	return mtu ? mtu : MTU_ENUM_256;
}

static void describe_interface(struct port_link *p, const struct addr_links *links,
			       const struct addr_link *from)
{
	uint8_t gid[16];

	memset(p, 0, sizeof(*p));
	p->link = (struct hca_port_link){
		.netdev = from->name,
		.gids = p->gids,
		.default_gid = from->has_mac,
		.down = !from->carrier,
		.mtu = port_mtu(from),
	};
	if (from->has_mac) {
		addr_gid_from_mac(from->mac, gid);
		add_gid(p, gid, from->ifindex);
	}
	add_locals(p, links, from->ifindex);
}

/* Always up, and never without an address: the site's traffic does not pass the
 * interface, which in a fresh network namespace has nothing. */
static void describe_loopback(struct port_link *p, const struct addr_links *links,
			      const struct addr_link *from)
{
	static const struct in6_addr loopback6 = IN6ADDR_LOOPBACK_INIT;
	uint32_t ifindex = from ? from->ifindex : 1;
	uint8_t gid[16];

	memset(p, 0, sizeof(*p));
	p->link = (struct hca_port_link){ .netdev = from ? from->name : "lo",
					  .gids = p->gids };
	if (from)
		add_locals(p, links, ifindex);
	if (p->link.gid_count)
		return;
	gid_from_ipv4(gid, htonl(INADDR_LOOPBACK));
	add_gid(p, gid, ifindex);
	add_gid(p, loopback6.s6_addr, ifindex);
}

static const struct addr_link *find_loopback(const struct addr_links *links)
{
	for (size_t i = 0; i < links->link_count; i++)
		if (links->links[i].loopback)
			return &links->links[i];
	return NULL;
}

/* -- numbers ------------------------------------------------------------------------- */

static struct roce_device *find_number(const struct devices *d, uint32_t number)
{
	list_for_each(pos, &d->live) {
		struct roce_device *dev = container_of(pos, struct roce_device, link);

		if (dev->number == number)
			return dev;
	}
	return NULL;
}

/* The number the interface had, one that nobody had, or one that nobody has now. */
static int choose_number(const struct devices *d, const char *name, uint32_t *ret)
{
	uint32_t unused = 0, vacant = 0;

	for (uint32_t n = DEVICES_MAX - 1; n > 0; n--) {
		if (find_number(d, n))
			continue;
		vacant = n;
		if (!d->names[n][0])
			unused = n;
		if (!strcmp(d->names[n], name)) {
			*ret = n;
			return 0;
		}
	}
	*ret = unused ? unused : vacant;
	return *ret ? 0 : -ENOSPC;
}

static bool list_has_place(const struct list *list, uint32_t place)
{
	list_for_each(pos, list) {
		if (container_of(pos, struct roce_device, link)->place == place)
			return true;
	}
	return false;
}

static bool is_free(const struct devices *d, uint32_t place)
{
	return d->config.tables->ports[place].link_layer != SHM_LINK_INFINIBAND &&
	       !list_has_place(&d->live, place) && !list_has_place(&d->removed, place);
}

/* That of the number, unless a removed device holds it yet; then any that the nodes' own
 * ports, which come from the end of the table, have left. */
static int choose_place(const struct devices *d, uint32_t number, uint32_t *ret)
{
	for (uint32_t n = number; n < SHM_PORTS_MAX;
	     n = n < DEVICES_MAX ? DEVICES_MAX : n + 1) {
		if (!is_free(d, n))
			continue;
		*ret = n;
		return 0;
	}
	return -ENOSPC;
}

/* -- life of a device ---------------------------------------------------------------- */

static int register_device(struct devices *d, struct roce_device *dev,
			   const struct port_link *p)
{
	const struct devices_config *c = &d->config;
	char name[32];
	const struct hca_device_config config = {
		.site = c->hca,
		.path = &path_roce_loopback,
		.name = name,
		.site_device = dev->place,
		.port_index = dev->place,
		.place = dev->number,
		.guid = hca_guid(c->guid_seed, dev->number),
		.network = dev->number > 0,
		.link = p->link,
		.limits = *c->limits,
		.ops = c->ops,
		.arg = c->arg,
	};

	snprintf(name, sizeof(name), "vroce%u", dev->number);
	return hca_device_create(c->node, &config, &dev->hca);
}

/* In the order of the numbers. */
static void list_device(struct devices *d, struct roce_device *dev)
{
	struct list *before = &d->live;

	while (before->prev != &d->live &&
	       container_of(before->prev, struct roce_device, link)->number > dev->number)
		before = before->prev;
	list_insert_before(&dev->link, before);
}

static int add_device(struct devices *d, uint32_t number, uint32_t ifindex,
		      const struct port_link *p)
{
	struct roce_device *dev = calloc(1, sizeof(*dev));
	int r;

	if (!dev)
		return -ENOMEM;
	dev->number = number;
	dev->ifindex = ifindex;
	r = choose_place(d, number, &dev->place);
	if (r == 0)
		r = register_device(d, dev, p);
	if (r < 0) {
		free(dev);
		return r;
	}
	list_device(d, dev);
	snprintf(d->names[number], sizeof(d->names[number]), "%s", p->link.netdev);
	d->changed = true;
	log_info("vroce%u is %s", number, p->link.netdev);
	return 0;
}

static void add_interface(struct devices *d, const struct addr_links *links,
			  const struct addr_link *from)
{
	struct port_link p;
	uint32_t number;
	int r;

	describe_interface(&p, links, from);
	r = choose_number(d, from->name, &number);
	if (r == 0)
		r = add_device(d, number, from->ifindex, &p);
	if (r < 0)
		log_error("no RoCE device for %s: %s", from->name, strerror(-r));
}

static void remove_device(struct devices *d, struct roce_device *dev)
{
	log_info("vroce%u, which was %s, goes", dev->number, d->names[dev->number]);
	list_remove(&dev->link);
	list_append(&d->removed, &dev->link);
	hca_device_remove(dev->hca);
	d->changed = true;
	devices_sweep(d);
}

int devices_unplug(struct devices *d, const struct ib_device *ib)
{
	list_for_each(pos, &d->live) {
		struct roce_device *dev = container_of(pos, struct roce_device, link);

		if (hca_device_ib(dev->hca) != ib)
			continue;
		remove_device(d, dev);
		return 0;
	}
	return -ENODEV;
}

static void update_device(struct devices *d, struct roce_device *dev,
			  const struct port_link *p)
{
	_Atomic uint32_t *generation = &d->config.tables->ports[dev->place].generation;
	char *name = d->names[dev->number];
	uint32_t before = atomic_load(generation);

	if (hca_device_follow(dev->hca, &p->link) < 0)
		return;
	if (atomic_load(generation) != before || strcmp(name, p->link.netdev))
		d->changed = true;
	snprintf(name, ADDR_LINK_NAME_MAX, "%s", p->link.netdev);
}

/* -- which interfaces ---------------------------------------------------------------- */

static bool is_wanted(const struct devices *d, const struct addr_links *links,
		      const struct addr_link *link)
{
	if (link->loopback)
		return false;
	if (link->ifindex == links->default_ifindex)
		return true;
	for (unsigned int i = 0; i < d->config.wire_count; i++)
		if (!strcmp(d->config.wires[i], link->name))
			return true;
	return false;
}

/* True: it has been out of use for long enough. */
static bool is_over(struct devices *d, struct roce_device *dev, bool in_use)
{
	uint64_t now = loop_now_ns(d->config.loop);

	if (in_use) {
		dev->unwanted_ns = 0;
		return false;
	}
	if (!dev->unwanted_ns)
		dev->unwanted_ns = now;
	if (now - dev->unwanted_ns >= d->config.grace_ms * 1000000ull)
		return true;
	loop_timer_arm(d->follow_timer, d->config.grace_ms);
	return false;
}

static void follow_interface(struct devices *d, const struct addr_links *links,
			     struct roce_device *dev)
{
	const struct addr_link *link = addr_links_find(links, dev->ifindex);
	struct port_link p;

	if (!link || is_over(d, dev, !link->up || is_wanted(d, links, link))) {
		remove_device(d, dev);
		return;
	}
	describe_interface(&p, links, link);
	update_device(d, dev, &p);
}

static int follow_loopback(struct devices *d, const struct addr_links *links)
{
	const struct addr_link *link = find_loopback(links);
	struct roce_device *dev = find_number(d, 0);
	struct port_link p;

	describe_loopback(&p, links, link);
	if (!dev)
		return add_device(d, 0, link ? link->ifindex : 0, &p);
	dev->ifindex = link ? link->ifindex : 0;
	update_device(d, dev, &p);
	return 0;
}

static bool has_device(const struct devices *d, uint32_t ifindex)
{
	list_for_each(pos, &d->live) {
		if (container_of(pos, struct roce_device, link)->ifindex == ifindex)
			return true;
	}
	return false;
}

static void consider(struct devices *d, const struct addr_links *links,
		     const struct addr_link *link)
{
	if (link && is_wanted(d, links, link) && !has_device(d, link->ifindex))
		add_interface(d, links, link);
}

/* First what goes, so that its name is free for what comes. */
static int follow(struct devices *d, const struct addr_links *links)
{
	int r;

	list_for_each_safe(pos, &d->live) {
		struct roce_device *dev = container_of(pos, struct roce_device, link);

		if (dev->number)
			follow_interface(d, links, dev);
	}
	r = follow_loopback(d, links);
	consider(d, links, addr_links_find(links, links->default_ifindex));
	for (unsigned int i = 0; i < d->config.wire_count; i++)
		consider(d, links, addr_links_named(links, d->config.wires[i]));
	return r;
}

static int look(struct devices *d)
{
	struct addr_links links = { 0 };
	int r;

	d->settling = false;
	r = d->config.read(&links);
	if (r < 0)
		log_info("cannot ask for the interfaces: %s", strerror(-r));
	if (r < 0 && !list_empty(&d->live)) {
		loop_timer_arm(d->follow_timer, RETRY_MS);
		return r;
	}
	d->changed = false;
	r = follow(d, &links);
	addr_links_free(&links);
	if (d->changed) {
		d->config.changed(d->config.arg);
		atomic_fetch_add(&d->config.tables->h.devices_generation, 1);
	}
	return r;
}

void devices_follow(struct devices *d)
{
	look(d);
}

/* -- life ---------------------------------------------------------------------------- */

static void follow_due(void *arg)
{
	look(arg);
}

static void heard(void *arg, unsigned int events)
{
	struct devices *d = arg;

	/* Once: where changes never end, the look is not to be put off for ever. */
	if (!addr_monitor_read(d->monitor) || d->settling)
		return;
	d->settling = true;
	loop_timer_arm(d->follow_timer, SETTLE_MS);
}

static void sweep(void *arg)
{
	struct devices *d = arg;

	list_for_each_safe(pos, &d->removed) {
		struct roce_device *dev = container_of(pos, struct roce_device, link);

		if (hca_device_destroy(dev->hca) < 0)
			continue;
		list_remove(&dev->link);
		free(dev);
	}
}

void devices_sweep(struct devices *d)
{
	loop_timer_arm(d->sweep_timer, 0);
}

/* Where the kernel says nothing of changes, the devices stay as they are; there are
 * sandboxes that have no rtnetlink, and programs run in them by the loopback. */
static void listen_to_kernel(struct devices *d)
{
	int r;

	r = addr_monitor_open(&d->monitor);
	if (!r)
		r = loop_io_create(d->config.loop, addr_monitor_fd(d->monitor), LOOP_READ,
				   heard, d, &d->monitor_io);
	if (r < 0)
		log_info("changes of the interfaces will not be followed: %s",
			 strerror(-r));
}

int devices_create(const struct devices_config *config, struct devices **ret)
{
	struct devices *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->config = *config;
	list_init(&d->live);
	list_init(&d->removed);
	r = loop_timer_create(config->loop, follow_due, d, &d->follow_timer);
	if (!r)
		r = loop_timer_create(config->loop, sweep, d, &d->sweep_timer);
	if (!r) {
		/* Before the first look, so that nothing is missed after it. */
		listen_to_kernel(d);
		r = look(d);
	}
	if (r < 0) {
		devices_destroy(d);
		return r;
	}
	*ret = d;
	return 0;
}

static void destroy_all(struct list *list)
{
	list_for_each_safe(pos, list) {
		struct roce_device *dev = container_of(pos, struct roce_device, link);

		hca_device_destroy(dev->hca);
		free(dev);
	}
}

void devices_destroy(struct devices *d)
{
	if (!d)
		return;
	loop_io_destroy(d->monitor_io);
	addr_monitor_close(d->monitor);
	destroy_all(&d->live);
	destroy_all(&d->removed);
	loop_timer_destroy(d->follow_timer);
	loop_timer_destroy(d->sweep_timer);
	free(d);
}

struct hca_device *devices_nth(const struct devices *d, unsigned int n)
{
	const struct list *lists[] = { &d->live, &d->removed };

	for (int i = 0; i < 2; i++)
		list_for_each(pos, lists[i]) {
			if (n-- == 0)
				return container_of(pos, struct roce_device, link)->hca;
		}
	return NULL;
}
