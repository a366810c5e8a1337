// SPDX-License-Identifier: BSD-2-Clause
/*
 * Address handles, and the addresses in them (spec/kernel 2.10, 4.9, 5.1).
 */
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "kapi/device.h"
#include "kapi/objects.h"

#define SA_WELL_KNOWN_GUID 0x0200000000000002ull

enum rdma_ah_attr_type rdma_ah_find_type(struct ib_device *dev, u32 port_num)
{
	u32 caps = kapi_port_caps(dev, port_num);

	if (rdma_protocol_roce(dev, port_num))
		return RDMA_AH_ATTR_TYPE_ROCE;
	if (!(caps & RDMA_CORE_CAP_PROT_IB))
		return RDMA_AH_ATTR_TYPE_UNDEFINED;
	return caps & RDMA_CORE_CAP_OPA_AH ? RDMA_AH_ATTR_TYPE_OPA : RDMA_AH_ATTR_TYPE_IB;
}

void rdma_destroy_ah_attr(struct rdma_ah_attr *attr)
{
	if (attr->grh.sgid_attr)
		rdma_put_gid_attr(attr->grh.sgid_attr);
	attr->grh.sgid_attr = NULL;
}

void rdma_copy_ah_attr(struct rdma_ah_attr *dest, const struct rdma_ah_attr *src)
{
	*dest = *src;
	if (dest->grh.sgid_attr)
		rdma_hold_gid_attr(dest->grh.sgid_attr);
}

void rdma_move_grh_sgid_attr(struct rdma_ah_attr *attr, union ib_gid *dgid,
			     u32 flow_label, u8 hop_limit, u8 traffic_class,
			     const struct ib_gid_attr *sgid_attr)
{
	rdma_ah_set_grh(attr, dgid, flow_label, sgid_attr->index, hop_limit,
			traffic_class);
	attr->grh.sgid_attr = sgid_attr;
}

/* -- handles ------------------------------------------------------------------------ */

/* The source GID, with a reference that the caller drops; null: no header. */
static int take_sgid(struct ib_device *device, const struct rdma_ah_attr *attr,
		     const struct ib_gid_attr **ret)
{
	const struct ib_gid_attr *sgid = attr->grh.sgid_attr;

	*ret = NULL;
	if (!rdma_is_port_valid(device, attr->port_num))
		return -EINVAL;
	if (!(attr->ah_flags & IB_AH_GRH))
		return rdma_ah_grh_required(device, attr->port_num) ? -EINVAL : 0;
	if (sgid) {
		if (sgid->index != attr->grh.sgid_index ||
		    sgid->port_num != attr->port_num || sgid->device != device)
			return -EINVAL;
		rdma_hold_gid_attr(sgid);
	} else {
		sgid = rdma_get_gid_attr(device, attr->port_num, attr->grh.sgid_index);
		if (IS_ERR(sgid))
			return -EINVAL;
	}
	*ret = sgid;
	return 0;
}

static struct ib_ah *create(struct ib_pd *pd, struct rdma_ah_attr *attr, u32 flags,
			    bool user)
{
	const struct ib_gid_attr *sgid, *before = attr->grh.sgid_attr;
	struct rdma_ah_init_attr init = { .ah_attr = attr, .flags = flags };
	struct ib_device *device = pd->device;
	int (*op)(struct ib_ah *, struct rdma_ah_init_attr *, struct ib_udata *);
	struct ib_ah *ah;
	int r;

	r = take_sgid(device, attr, &sgid);
	if (r < 0)
		return ERR_PTR(r);
	op = user && device->ops.create_user_ah ? device->ops.create_user_ah
						: device->ops.create_ah;
	r = op ? -ENOMEM : -EOPNOTSUPP;
	ah = op ? object_alloc(device->ops.size_ib_ah, sizeof(*ah)) : NULL;
	if (!ah)
		goto put_sgid;
	ah->device = device;
	ah->pd = pd;
	ah->type = attr->type;
	ah->sgid_attr = sgid;
	attr->grh.sgid_attr = sgid;
	r = op(ah, &init, NULL);
	attr->grh.sgid_attr = before;
	if (r < 0)
		goto free_ah;
	atomic_inc(&pd->usecnt);
	return ah;

free_ah:
	kfree(ah);
put_sgid:
	if (sgid)
		rdma_put_gid_attr(sgid);
	return ERR_PTR(r);
}

struct ib_ah *rdma_create_ah(struct ib_pd *pd, struct rdma_ah_attr *ah_attr, u32 flags)
{
	return create(pd, ah_attr, flags, false);
}

/* The MAC address of a group (spec/kernel 4.9); there is no Ethernet header here that a
 * neighbour's would be written to. */
static void resolve_dmac(struct rdma_ah_attr *attr)
{
	const u8 *gid = attr->grh.dgid.raw;
	u8 *mac = rdma_ah_retrieve_dmac(attr);

	if (!mac || !rdma_is_multicast_addr((struct in6_addr *)&attr->grh.dgid))
		return;
	if (gid[0] == 0xff) {
		rdma_get_mcast_mac((struct in6_addr *)&attr->grh.dgid, mac);
		return;
	}
	mac[0] = 0x01;
	mac[1] = 0x00;
	mac[2] = 0x5e;
	mac[3] = gid[13] & 0x7f;
	mac[4] = gid[14];
	mac[5] = gid[15];
}

struct ib_ah *rdma_create_user_ah(struct ib_pd *pd, struct rdma_ah_attr *ah_attr,
				  struct ib_udata *udata)
{
	if (ah_attr->ah_flags & IB_AH_GRH)
		resolve_dmac(ah_attr);
	return create(pd, ah_attr, RDMA_CREATE_AH_SLEEPABLE, true);
}

int rdma_modify_ah(struct ib_ah *ah, struct rdma_ah_attr *attr)
{
	const struct ib_gid_attr *sgid, *before = attr->grh.sgid_attr;
	int r;

	if (ah->type != attr->type)
		return -EINVAL;
	if (!ah->device->ops.modify_ah)
		return -EOPNOTSUPP;
	r = take_sgid(ah->device, attr, &sgid);
	if (r < 0)
		return r;
	attr->grh.sgid_attr = sgid;
	r = ah->device->ops.modify_ah(ah, attr);
	attr->grh.sgid_attr = before;
	if (r == 0)
		swap(ah->sgid_attr, sgid);
	if (sgid)
		rdma_put_gid_attr(sgid);
	return r;
}

int rdma_query_ah(struct ib_ah *ah, struct rdma_ah_attr *ah_attr)
{
	ah_attr->grh.sgid_attr = NULL;
	if (!ah->device->ops.query_ah)
		return -EOPNOTSUPP;
	return ah->device->ops.query_ah(ah, ah_attr);
}

int rdma_destroy_ah_user(struct ib_ah *ah, u32 flags, struct ib_udata *udata)
{
	const struct ib_gid_attr *sgid = ah->sgid_attr;
	struct ib_pd *pd = ah->pd;
	int r = 0;

	if (ah->device->ops.destroy_ah)
		r = ah->device->ops.destroy_ah(ah, flags);
	if (r)
		return r;
	atomic_dec(&pd->usecnt);
	if (sgid)
		rdma_put_gid_attr(sgid);
	kfree(ah);
	return 0;
}

/* -- the address of whoever sent ---------------------------------------------------- */

static enum rdma_network_type network_of(struct ib_device *device, u32 port_num,
					 const struct ib_wc *wc, const struct ib_grh *grh)
{
	const union rdma_network_hdr *hdr = (const void *)grh;

	if (wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE)
		return wc->network_hdr_type;
	if (rdma_protocol_ib(device, port_num))
		return RDMA_NETWORK_IB;
	switch (ib_get_rdma_header_version(hdr)) {
	case 4:
		return RDMA_NETWORK_IPV4;
	case 6:
		return rdma_protocol_roce_udp_encap(device, port_num)
			       ? RDMA_NETWORK_IPV6
			       : RDMA_NETWORK_ROCE_V1;
	default:
		return RDMA_NETWORK_ROCE_V1;
	}
}

static enum ib_gid_type type_of(enum rdma_network_type network)
{
	switch (network) {
	case RDMA_NETWORK_IPV4:
	case RDMA_NETWORK_IPV6:
		return IB_GID_TYPE_ROCE_UDP_ENCAP;
	case RDMA_NETWORK_ROCE_V1:
		return IB_GID_TYPE_ROCE;
	default:
		return IB_GID_TYPE_IB;
	}
}

/* The GID of ours that it was sent to: a group's is in no table. */
static const struct ib_gid_attr *local_gid(struct ib_device *device, u32 port_num,
					   const union ib_gid *gid, enum ib_gid_type type)
{
	if (type == IB_GID_TYPE_IB &&
	    gid->global.interface_id == cpu_to_be64(SA_WELL_KNOWN_GUID))
		return rdma_get_gid_attr(device, port_num, 0);
	return rdma_find_gid_by_port(device, gid, type, port_num, NULL);
}

int ib_init_ah_attr_from_wc(struct ib_device *device, u32 port_num,
			    const struct ib_wc *wc, const struct ib_grh *grh,
			    struct rdma_ah_attr *attr)
{
	const struct ib_gid_attr *sgid_attr;
	enum rdma_network_type network;
	union ib_gid sgid, dgid;
	u32 word;
	int r;

	memset(attr, 0, sizeof(*attr));
	attr->type = rdma_ah_find_type(device, port_num);
	attr->port_num = port_num;
	if (attr->type == RDMA_AH_ATTR_TYPE_ROCE && !(wc->wc_flags & IB_WC_GRH))
		return -EPROTOTYPE;
	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE) {
		rdma_ah_set_dlid(attr, wc->slid);
		rdma_ah_set_path_bits(attr, wc->dlid_path_bits);
	}
	attr->sl = wc->sl;
	if (!(wc->wc_flags & IB_WC_GRH))
		return 0;
	network = network_of(device, port_num, wc, grh);
	r = ib_get_gids_from_rdma_hdr((const void *)grh, network, &sgid, &dgid);
	if (r < 0)
		return r;
	sgid_attr = local_gid(device, port_num, &dgid, type_of(network));
	if (IS_ERR(sgid_attr))
		return PTR_ERR(sgid_attr);
	word = be32_to_cpu(grh->version_tclass_flow);
	rdma_move_grh_sgid_attr(attr, &sgid, word & 0xfffff, 0xff, word >> 20 & 0xff,
				sgid_attr);
	return 0;
}

struct ib_ah *ib_create_ah_from_wc(struct ib_pd *pd, const struct ib_wc *wc,
				   const struct ib_grh *grh, u32 port_num)
{
	struct rdma_ah_attr attr;
	struct ib_ah *ah;
	int r;

	r = ib_init_ah_attr_from_wc(pd->device, port_num, wc, grh, &attr);
	if (r < 0)
		return ERR_PTR(r);
	ah = rdma_create_ah(pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	rdma_destroy_ah_attr(&attr);
	return ah;
}
