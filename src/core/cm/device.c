/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which device and port an address means (spec/kernel 3.10).
 *
 * On InfiniBand an address is that of an interface (core/ipoib), or, of family AF_IB, the
 * port's GID. Else an address belongs to the port that has it in its GID table, with the
 * port's default type. Only where no port has it the host is asked, to tell an address of the host
 * without a device from one that is not the host's at all; so binding to a GID works
 * even where the host has not configured it.
 */
#include <endian.h>
#include <string.h>

#include "core/cm/cma_priv.h"

/* Calls `fn` for every port of the node, in order; stops where it returns true. */
typedef bool (*port_fn)(struct ib_device *device, u32 port_num, void *arg);

static bool each_port(struct ib_node *node, port_fn fn, void *arg)
{
	struct ib_device *device;

	for (u32 n = 0; (device = ib_node_device(node, n)); n++)
		for (u32 p = rdma_start_port(device); p <= rdma_end_port(device); p++)
			if (fn(device, p, arg))
				return true;
	return false;
}

static int gid_table_len(struct ib_device *device, u32 port_num)
{
	struct ib_port_attr attr;

	if (ib_query_port(device, port_num, &attr) < 0)
		return 0;
	return attr.gid_tbl_len;
}

enum ib_gid_type cma_default_gid_type(struct ib_device *device, u32 port_num)
{
	int len = gid_table_len(device, port_num);
	enum ib_gid_type type = IB_GID_TYPE_ROCE;
	struct ib_gid_attr gid;

	if (rdma_port_get_link_layer(device, port_num) != IB_LINK_LAYER_ETHERNET)
		return IB_GID_TYPE_IB;
	for (int i = 0; i < len; i++) {
		if (rdma_query_gid(device, port_num, i, &gid) < 0)
			continue;
		if (gid.gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP)
			type = gid.gid_type;
	}
	return type;
}

struct gid_search {
	union ib_gid gid;
	u32 scope;       /* interface that a link-local address names; 0: any */
	bool infiniband; /* look at such ports, or else at all others */
	struct cma_source *ret;
};

static bool port_has_gid(struct ib_device *device, u32 port_num, void *arg)
{
	struct gid_search *search = arg;
	bool infiniband = rdma_cap_ib_sa(device, port_num);

	if (infiniband != search->infiniband)
		return false;
	if (rdma_find_gid_by_port(device, &search->gid,
				  cma_default_gid_type(device, port_num), port_num,
				  &search->ret->sgid) < 0)
		return false;
	if (search->scope && search->scope != search->ret->sgid.ifindex)
		return false;
	search->ret->device = device;
	search->ret->port_num = port_num;
	return true;
}

/* Of an interface that is bound to by GID only the P_Key is known (spec/kernel 3.3). */
static void set_ib_pkey(const struct sockaddr *addr, struct cma_source *ret)
{
	u16 pkey = be16toh(((const struct addr_sockaddr_ib *)addr)->pkey);

	memset(ret->broadcast, 0, sizeof(ret->broadcast));
	pkey = pkey ? pkey : IB_PKEY_DEFAULT_FULL;
	ret->broadcast[8] = (u8)(pkey >> 8);
	ret->broadcast[9] = (u8)pkey;
}

static bool find_by_gid(struct cma *cma, const struct sockaddr *addr,
			struct cma_source *ret)
{
	struct gid_search search = { .ret = ret };

	addr_to_gid(addr, search.gid.raw);
	search.infiniband = addr->sa_family == AF_IB;
	if (addr_is_link_local(addr))
		search.scope = ((const struct sockaddr_in6 *)addr)->sin6_scope_id;
	if (!each_port(cma->config.node, port_has_gid, &search))
		return false;
	memcpy(&ret->addr, addr, addr_size(addr));
	if (search.infiniband)
		set_ib_pkey(addr, ret);
	return true;
}

/* -- InfiniBand interfaces ---------------------------------------------------------- */

/* The interface's address of that family; its GID for AF_IB. */
static int set_ib_address(const struct ipoib_interface *i, sa_family_t family,
			  struct cma_source *ret)
{
	if (family == AF_INET && i->addresses.ip4.sin_family)
		memcpy(&ret->addr, &i->addresses.ip4, sizeof(i->addresses.ip4));
	else if (family == AF_INET6 && i->addresses.ip6.sin6_family)
		memcpy(&ret->addr, &i->addresses.ip6, sizeof(i->addresses.ip6));
	else
		return -EADDRNOTAVAIL;
	return 0;
}

static int source_on_interface(const struct ipoib_interface *i, sa_family_t family,
			       struct cma_source *ret)
{
	int r = set_ib_address(i, family, ret);

	if (r < 0)
		return r;
	ret->device = i->device;
	ret->port_num = i->port_num;
	memcpy(ret->broadcast, i->broadcast, sizeof(ret->broadcast));
	return rdma_query_gid(i->device, i->port_num, 0, &ret->sgid);
}

static int find_interface(struct cma *cma, const struct sockaddr *addr,
			  struct cma_source *ret)
{
	struct ipoib_interface i;
	int r = -EADDRNOTAVAIL;

	if (cma->config.ipoib)
		r = ipoib_find_by_addr(cma->config.ipoib, addr, &i);
	return r < 0 ? r : source_on_interface(&i, addr->sa_family, ret);
}

int cma_find_source(struct cma *cma, const struct sockaddr *addr, struct cma_source *ret)
{
	u32 ifindex;
	int r;

	if (find_interface(cma, addr, ret) == 0 || find_by_gid(cma, addr, ret))
		return 0;
	if (addr->sa_family == AF_IB)
		return -ENODEV;
	r = cma->config.host->find_owner(cma->config.host_arg, addr, &ifindex);
	return r < 0 ? r : -ENODEV;
}

struct interface_search {
	u32 ifindex;     /* 0: any */
	bool infiniband; /* such ports alone */
	struct ib_device *device;
	u32 port_num;
};

static bool port_is_on_interface(struct ib_device *device, u32 port_num, void *arg)
{
	struct interface_search *search = arg;

	if (search->ifindex && ib_device_ifindex(device, port_num) != search->ifindex)
		return false;
	if (search->infiniband && !rdma_cap_ib_sa(device, port_num))
		return false;
	search->device = device;
	search->port_num = port_num;
	return true;
}

static bool is_link_local(const union ib_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* The first GID of a family and of the port's default type; one that is good beyond the
 * link, if there is one. */
static int first_gid(struct ib_device *device, u32 port_num, sa_family_t family,
		     struct ib_gid_attr *ret)
{
	enum ib_gid_type type = cma_default_gid_type(device, port_num);
	int len = gid_table_len(device, port_num);
	int r = -EADDRNOTAVAIL;
	struct ib_gid_attr gid;

	for (int i = 0; i < len; i++) {
		if (rdma_query_gid(device, port_num, i, &gid) < 0 || gid.gid_type != type)
			continue;
		if (gid_is_zero(gid.gid.raw) ||
		    gid_is_v4_mapped(gid.gid.raw) != (family == AF_INET))
			continue;
		if (r < 0 || is_link_local(&ret->gid))
			*ret = gid;
		r = 0;
		if (!is_link_local(&gid.gid))
			break;
	}
	return r;
}

static int source_on_port(struct cma *cma, struct ib_device *device, u32 port_num,
			  sa_family_t family, struct cma_source *ret)
{
	struct ipoib_interface i;
	int r;

	if (cma->config.ipoib &&
	    ipoib_find_by_port(cma->config.ipoib, device, port_num, &i) == 0)
		return source_on_interface(&i, family, ret);
	ret->device = device;
	ret->port_num = port_num;
	r = first_gid(device, port_num, family, &ret->sgid);
	if (r == 0)
		addr_from_gid(&ret->addr, ret->sgid.gid.raw, ret->sgid.ifindex);
	return r;
}

/* The port on the route's interface, with the source that the machine prefers there. */
static int source_by_route(struct cma *cma, const struct addr_route *route,
			   sa_family_t family, struct cma_source *ret)
{
	struct interface_search search = { .ifindex = route->ifindex };

	if (!search.ifindex ||
	    !each_port(cma->config.node, port_is_on_interface, &search))
		return -ENODEV;
	if (route->source.ss_family &&
	    find_by_gid(cma, cma_sockaddr(&route->source), ret) &&
	    ret->device == search.device && ret->port_num == search.port_num)
		return 0;
	return source_on_port(cma, search.device, search.port_num, family, ret);
}

/* The machine's route, if it leads over an interface with a device; else the node's
 * first device, so that a group can be joined on a host without network. */
static int source_for_group(struct cma *cma, const struct sockaddr *dst,
			    struct cma_source *ret)
{
	struct interface_search first = { 0 };
	struct addr_route route;

	if (cma->config.host->find_route(cma->config.host_arg, dst, &route) == 0 &&
	    source_by_route(cma, &route, dst->sa_family, ret) == 0)
		return 0;
	if (!each_port(cma->config.node, port_is_on_interface, &first))
		return -ENODEV;
	return source_on_port(cma, first.device, first.port_num, dst->sa_family, ret);
}

/* Any or loopback: the node itself. */
static int source_for_self(struct cma *cma, const struct sockaddr *dst,
			   struct cma_source *ret)
{
	struct interface_search first = { 0 };

	if (!each_port(cma->config.node, port_is_on_interface, &first))
		return -ENODEV;
	return source_on_port(cma, first.device, first.port_num, dst->sa_family, ret);
}

/* An address of the InfiniBand interfaces' network: over the first of them. */
static int source_for_neighbour(struct cma *cma, const struct sockaddr *dst,
				struct cma_source *ret)
{
	struct interface_search first = { .infiniband = true };

	if (!each_port(cma->config.node, port_is_on_interface, &first))
		return -ENODEV;
	return source_on_port(cma, first.device, first.port_num, dst->sa_family, ret);
}

/* An address that no port has: over the device behind the machine's route. */
static int source_for_stranger(struct cma *cma, const struct sockaddr *dst,
			       struct cma_source *ret)
{
	struct addr_route route;
	u32 ifindex;

	/* An address of the host on an interface without a device. */
	if (cma->config.host->find_owner(cma->config.host_arg, dst, &ifindex) == 0)
		return -ENODEV;
	if (cma->config.host->find_route(cma->config.host_arg, dst, &route) < 0)
		return -EHOSTUNREACH;
	return source_by_route(cma, &route, dst->sa_family, ret);
}

int cma_find_source_for(struct cma *cma, const struct sockaddr *dst,
			struct cma_source *ret)
{
	if (addr_is_multicast(dst))
		return source_for_group(cma, dst, ret);
	if (find_interface(cma, dst, ret) == 0 || find_by_gid(cma, dst, ret))
		return 0;
	if (cma->config.ipoib && ipoib_is_on_link(cma->config.ipoib, dst))
		return source_for_neighbour(cma, dst, ret);
	if (addr_is_any(dst) || addr_is_loopback(dst))
		return source_for_self(cma, dst, ret);
	return source_for_stranger(cma, dst, ret);
}

int cma_check_port_space(const struct cma_id *id, const struct cma_source *source)
{
	if (id->config.ps != CMA_PS_IPOIB)
		return 0;
	if (rdma_port_get_link_layer(source->device, source->port_num) ==
	    IB_LINK_LAYER_INFINIBAND)
		return 0;
	return -EINVAL;
}

void cma_id_set_source(struct cma_id *id, const struct cma_source *source)
{
	id->device = source->device;
	id->port_num = source->port_num;
	id->sgid = source->sgid;
	memcpy(id->broadcast, source->broadcast, sizeof(id->broadcast));
}

bool cma_is_infiniband(const struct cma_id *id)
{
	return rdma_cap_ib_sa(id->device, id->port_num);
}

u16 cma_id_pkey(const struct cma_id *id)
{
	if (!cma_is_infiniband(id))
		return IB_PKEY_DEFAULT_FULL;
	return (u16)(id->broadcast[8] << 8 | id->broadcast[9]);
}

int cma_link_mtu(struct cma *cma, u32 ifindex, u32 *ret_mtu)
{
	int r;

	if (!ifindex)
		return -ENODEV;
	r = cma->config.host->link_mtu(cma->config.host_arg, ifindex, ret_mtu);
	return r < 0 && r != -ENOMEM ? -ENODEV : r;
}

/* Rate enum by speed and width of the port; 0: no such combination has a number. */
int cma_port_rate(struct ib_device *device, u32 port_num)
{
	static const struct {
		u16 speed;
		u8 rate[4]; /* at width 1, 4, 8, 12 */
	} rates[] = {
		{ 1, { 2, 3, 6, 4 } },      { 2, { 5, 6, 7, 8 } },
		{ 4, { 3, 7, 9, 10 } },     { 8, { 3, 7, 9, 10 } },
		{ 16, { 11, 12, 13, 14 } }, { 32, { 15, 16, 17, 18 } },
		{ 64, { 20, 17, 21, 22 } },
	};
	struct ib_port_attr attr;
	int width = 0;

	if (ib_query_port(device, port_num, &attr) < 0)
		return 0;
	while (width < 3 && attr.active_width > 1 << width)
		width++;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (rates[i].speed == attr.active_speed)
			return rates[i].rate[width];
	return 0;
}
