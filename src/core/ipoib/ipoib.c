/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interfaces of a node and their membership in the broadcast group. An interface
 * lives as long as its device; its membership from the port's going up until the port or
 * the SA takes it away.
 */
#include "core/ipoib/ipoib.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "wire/mtu.h"
#include "wire/sa.h"

#define FIRST_PAUSE_NS   (1000 * TIMER_MS)
#define LONGEST_PAUSE_NS (16000 * TIMER_MS)
#define ENCAPSULATION    4u /* bytes in front of every IP packet */

struct interface {
	struct ipoib *ipoib;
	struct list link; /* in ipoib->interfaces */
	struct ib_device *device;
	u32 port_num;
	struct ipoib_addresses addresses;
	u8 broadcast[IPOIB_HWADDR_BYTES];
	struct ib_sa_multicast *member; /* of the broadcast group; null: none asked for */
	bool up;                        /* joined */
	bool lost;                      /* the member is to be freed: reset or refused */
	u8 mtu;                         /* enum, while up */
	u64 pause_ns;                   /* before the next try, if this one fails */
	struct timer timer;             /* the next step */
};

struct ipoib {
	struct ipoib_config config;
	struct ib_client client;
	struct ib_sa_client sa_client;
	struct list interfaces;
};

/* -- the membership ----------------------------------------------------------------- */

static bool port_is_active(const struct interface *i)
{
	struct ib_port_attr attr;

	return ib_query_port(i->device, i->port_num, &attr) == 0 &&
	       attr.state == IB_PORT_ACTIVE;
}

static void give_up_member(struct interface *i)
{
	if (i->member)
		ib_sa_free_multicast(i->member);
	i->member = NULL;
	i->up = false;
	i->lost = false;
}

static void try_later(struct interface *i)
{
	timer_arm(&i->timer, i->pause_ns);
	i->pause_ns *= 2;
	if (i->pause_ns > LONGEST_PAUSE_NS)
		i->pause_ns = LONGEST_PAUSE_NS;
}

/* The member stays until the timer frees it: not from inside its own callback. After a
 * reset the next try comes at once, after a refusal with a pause. */
static int joined(int status, struct ib_sa_multicast *member)
{
	struct interface *i = member->context;

	if (status == 0) {
		i->up = true;
		i->mtu = member->rec.mtu;
		i->pause_ns = FIRST_PAUSE_NS;
		return 0;
	}
	i->up = false;
	i->lost = true;
	if (status == -ENETRESET)
		timer_arm(&i->timer, 0);
	else
		try_later(i);
	return 0;
}

/* Spec/kernel 2.13: a pure join, so the group must be there. */
static int join(struct interface *i)
{
	const u64 mask = SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_PKEY | SA_MCM_JOIN_STATE;
	struct ib_sa_mcmember_rec rec = { .join_state = SA_JOIN_FULL };
	struct ib_gid_attr gid;
	int r;

	r = rdma_query_gid(i->device, i->port_num, 0, &gid);
	if (r < 0)
		return r;
	memcpy(rec.mgid.raw, i->broadcast + 4, 16);
	rec.port_gid = gid.gid;
	memcpy(&rec.pkey, i->broadcast + 8, sizeof(rec.pkey));
	i->member =
		ib_sa_join_multicast(&i->ipoib->sa_client, i->device, i->port_num, &rec,
				     ib_sa_comp_mask_from_host(mask), joined, i);
	if (!IS_ERR(i->member))
		return 0;
	r = (int)PTR_ERR(i->member);
	i->member = NULL;
	return r;
}

static void step(struct timer *timer)
{
	struct interface *i = container_of(timer, struct interface, timer);

	if (i->lost)
		give_up_member(i);
	if (i->member || !port_is_active(i))
		return;
	if (join(i) < 0)
		try_later(i);
}

/* -- devices and events ------------------------------------------------------------- */

static void add_interface(struct ipoib *ipoib, struct ib_device *device, u32 port_num)
{
	struct interface *i = calloc(1, sizeof(*i));

	if (!i)
		return; /* a port without addresses: rdma_cm does not find it */
	i->ipoib = ipoib;
	i->device = device;
	i->port_num = port_num;
	i->pause_ns = FIRST_PAUSE_NS;
	ipoib_broadcast(IB_PKEY_DEFAULT_FULL, i->broadcast);
	ipoib->config.addresses(ipoib->config.arg, device, port_num, &i->addresses);
	timer_init(&i->timer, ipoib->config.timers, step);
	list_append(&ipoib->interfaces, &i->link);
	timer_arm(&i->timer, 0);
}

static void remove_interface(struct interface *i)
{
	timer_disarm(&i->timer);
	give_up_member(i);
	list_remove(&i->link);
	free(i);
}

static void add_device(struct ib_client *client, struct ib_device *device)
{
	struct ipoib *ipoib = container_of(client, struct ipoib, client);

	for (u32 p = rdma_start_port(device); p <= rdma_end_port(device); p++)
		if (rdma_cap_ib_mcast(device, p))
			add_interface(ipoib, device, p);
}

static void remove_device(struct ib_client *client, struct ib_device *device)
{
	struct ipoib *ipoib = container_of(client, struct ipoib, client);

	list_for_each_safe(l, &ipoib->interfaces) {
		struct interface *i = container_of(l, struct interface, link);

		if (i->device == device)
			remove_interface(i);
	}
}

/* Something may be possible now that was not: no need to sit out the pause. */
static void look_again(struct ib_client *client, const struct ib_event *event)
{
	struct ipoib *ipoib = container_of(client, struct ipoib, client);

	switch (event->event) {
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
		break;
	default:
		return;
	}
	list_for_each(l, &ipoib->interfaces) {
		struct interface *i = container_of(l, struct interface, link);

		if (i->device != event->device ||
		    i->port_num != event->element.port_num || i->up)
			continue;
		i->pause_ns = FIRST_PAUSE_NS;
		timer_arm(&i->timer, 0);
	}
}

int ipoib_create(const struct ipoib_config *config, struct ipoib **ret)
{
	struct ipoib *ipoib = calloc(1, sizeof(*ipoib));
	struct ib_device *device;

	if (!ipoib)
		return -ENOMEM;
	ipoib->config = *config;
	list_init(&ipoib->interfaces);
	ib_sa_register_client(&ipoib->sa_client);
	ipoib->client.add = add_device;
	ipoib->client.remove = remove_device;
	ipoib->client.event = look_again;
	ib_register_client(&ipoib->client, config->node);
	for (u32 n = 0; (device = ib_node_device(config->node, n)); n++)
		add_device(&ipoib->client, device);
	*ret = ipoib;
	return 0;
}

void ipoib_destroy(struct ipoib *ipoib)
{
	if (!ipoib)
		return;
	ib_unregister_client(&ipoib->client);
	while (!list_empty(&ipoib->interfaces))
		remove_interface(
			container_of(ipoib->interfaces.next, struct interface, link));
	ib_sa_unregister_client(&ipoib->sa_client);
	free(ipoib);
}

/* -- questions ---------------------------------------------------------------------- */

static void describe(const struct interface *i, struct ipoib_interface *ret)
{
	*ret = (struct ipoib_interface){
		.device = i->device,
		.port_num = i->port_num,
		.pkey = (u16)(i->broadcast[8] << 8 | i->broadcast[9]),
		.up = i->up,
		.mtu = i->up ? mtu_enum_to_bytes(i->mtu) - ENCAPSULATION : 0,
		.addresses = i->addresses,
	};
	memcpy(ret->broadcast, i->broadcast, sizeof(ret->broadcast));
}

static bool has_address(const struct interface *i, const struct sockaddr *addr)
{
	const struct sockaddr *ip4 = (const struct sockaddr *)&i->addresses.ip4;
	const struct sockaddr *ip6 = (const struct sockaddr *)&i->addresses.ip6;

	return (ip4->sa_family && addr_equal_host(ip4, addr)) ||
	       (ip6->sa_family && addr_equal_host(ip6, addr));
}

int ipoib_find_by_addr(const struct ipoib *ipoib, const struct sockaddr *addr,
		       struct ipoib_interface *ret)
{
	list_for_each(l, &ipoib->interfaces) {
		const struct interface *i = container_of(l, struct interface, link);

		if (!has_address(i, addr))
			continue;
		describe(i, ret);
		return 0;
	}
	return -EADDRNOTAVAIL;
}

int ipoib_find_by_port(const struct ipoib *ipoib, const struct ib_device *device,
		       u32 port_num, struct ipoib_interface *ret)
{
	list_for_each(l, &ipoib->interfaces) {
		const struct interface *i = container_of(l, struct interface, link);

		if (i->device != device || i->port_num != port_num)
			continue;
		describe(i, ret);
		return 0;
	}
	return -ENODEV;
}

int ipoib_find_neighbour(const struct ipoib *ipoib, const struct sockaddr *addr,
			 union ib_gid *ret)
{
	struct ipoib_interface own;
	struct ib_gid_attr gid;

	if (ipoib_find_by_addr(ipoib, addr, &own) == 0 &&
	    rdma_query_gid(own.device, own.port_num, 0, &gid) == 0) {
		*ret = gid.gid;
		return 0;
	}
	if (!ipoib->config.neighbour)
		return -EHOSTUNREACH;
	return ipoib->config.neighbour(ipoib->config.arg, addr, ret);
}

bool ipoib_is_on_link(const struct ipoib *ipoib, const struct sockaddr *addr)
{
	return !list_empty(&ipoib->interfaces) && ipoib_default_host(addr) != 0;
}
