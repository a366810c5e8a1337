/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memberships (spec/kernel 3.1, 3.5 to 3.7); those of InfiniBand are in ib_join.c.
 *
 * On RoCE nobody is asked: a join is checked, its event is built and queued, and that is
 * the membership. The same address may be joined any number of times; each join leaves
 * by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "core/cm/cma_priv.h"
#include "wire/mtu.h"

static void deliver_multicast(struct cma_work *work)
{
	struct cma_multicast *mc = container_of(work, struct cma_multicast, work);

	/* The function may leave the group, and the event is in it. */
	struct cma_event event = mc->event;

	mc->id->config.event(mc->id, &event);
}

/* Spec/kernel 3.5, second table. An unmapped AF_IB address is taken as it is (spec/
 * userland 3.4). */
static void roce_mgid(const struct sockaddr *addr, enum ib_gid_type type, u8 mgid[16])
{
	memset(mgid, 0, 16);
	if (addr_is_loopback(addr))
		return;
	addr_to_gid(addr, mgid);
	if (addr->sa_family == AF_INET && type == IB_GID_TYPE_ROCE) {
		mgid[0] = 0xff;
		mgid[1] = 0x0e;
	}
}

/* Spec/kernel 3.6. An address handle that cannot be made turns the event into an error
 * with status 0, as Linux has it. */
static void build_event(struct cma_multicast *mc, enum ib_gid_type type,
			const u8 mgid[16])
{
	struct cma_id *id = mc->id;
	struct cma_event *event = &mc->event;
	struct ib_gid_attr sgid;

	event->event = CMA_EVENT_MULTICAST_ERROR;
	if (rdma_find_gid_by_port(id->device, &id->sgid.gid, type, id->port_num, &sgid) <
	    0)
		return;
	event->event = CMA_EVENT_MULTICAST_JOIN;
	event->qp_num = CMA_MULTICAST_QPN;
	event->qkey = id->qkey;
	event->ah.has_grh = true;
	event->ah.port_num = id->port_num;
	event->ah.grh.sgid_index = (u8)sgid.index;
	event->ah.grh.hop_limit = type == IB_GID_TYPE_ROCE ? 1 : CMA_ROCE_V2_HOP_LIMIT;
	/* Differs: Linux has the option for connections alone, and 0 here. */
	event->ah.grh.traffic_class = id->tos;
	memcpy(event->ah.grh.dgid.raw, mgid, 16);
}

/* Spec/kernel 3.5, in its order. There is no IGMP to speak: who listens to a group on
 * this machine is known, and no device of ours reaches farther yet. */
static int roce_join(struct cma_multicast *mc)
{
	const struct sockaddr *addr = cma_sockaddr(&mc->addr);
	struct cma_id *id = mc->id;
	enum ib_gid_type type = cma_default_gid_type(id->device, id->port_num);
	u8 mgid[16];
	u32 mtu;
	int r;

	if (addr_is_any(addr))
		return -EINVAL;
	roce_mgid(addr, type, mgid);
	r = cma_link_mtu(id->cma, id->sgid.ifindex, &mtu);
	if (r < 0)
		return r;
	if (type == IB_GID_TYPE_ROCE_UDP_ENCAP && addr->sa_family != AF_INET &&
	    !id->cma->config.ipv6_multicast)
		return -CMA_ENOTSUPP;
	if (mtu_enum_from_roce_link(mtu) == 0)
		return -EINVAL;
	r = cma_default_qkey(id);
	if (r < 0)
		return r;
	build_event(mc, type, mgid);
	cma_work_queue(id->cma, &mc->work);
	return 0;
}

/* Spec/kernel 3.1, checks 2 and 3. */
static int check_join(const struct cma_id *id, const struct sockaddr *addr)
{
	if (!id->device)
		return -EINVAL;
	if (id->state != CMA_ADDR_BOUND && id->state != CMA_ADDR_RESOLVED)
		return -EINVAL;
	if (id->config.qp_type != IB_QPT_UD)
		return -EINVAL;
	return addr_size(addr) == 0 ? -EINVAL : 0;
}

int cma_join_multicast(struct cma_id *id, const struct sockaddr *addr, u8 join_state,
		       void *context, struct cma_multicast **ret)
{
	struct cma_multicast *mc;
	int r;

	r = check_join(id, addr);
	if (r < 0)
		return r;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -ENOMEM;
	mc->id = id;
	memcpy(&mc->addr, addr, addr_size(addr));
	mc->join_state = join_state;
	mc->event.multicast = mc;
	mc->event.context = context;
	cma_work_init(&mc->work, deliver_multicast);
	cma_work_init(&mc->reset_work, NULL);
	r = -ENOSYS; /* spec/kernel 3.1 check 5: a port that does not do multicast */
	if (rdma_port_get_link_layer(id->device, id->port_num) == IB_LINK_LAYER_ETHERNET)
		r = roce_join(mc);
	else if (rdma_cap_ib_mcast(id->device, id->port_num))
		r = cma_ib_join(mc);
	if (r < 0) {
		free(mc);
		return r;
	}
	list_prepend(&id->multicasts, &mc->link);
	*ret = mc;
	return 0;
}

void cma_multicast_leave(struct cma_multicast *mc)
{
	cma_work_cancel(&mc->work);
	cma_work_cancel(&mc->reset_work);
	cma_ib_leave(mc);
	list_remove(&mc->link);
	free(mc);
}

/* All bytes of the address count: port, flow and scope too (spec/kernel 3.1). */
void cma_leave_multicast(struct cma_id *id, const struct sockaddr *addr)
{
	size_t size = addr_size(addr);

	if (size == 0)
		return;
	list_for_each(pos, &id->multicasts) {
		struct cma_multicast *mc = container_of(pos, struct cma_multicast, link);

		if (memcmp(&mc->addr, addr, size) == 0) {
			cma_multicast_leave(mc);
			return;
		}
	}
}

void cma_multicast_leave_all(struct cma_id *id)
{
	while (!list_empty(&id->multicasts))
		cma_multicast_leave(
			container_of(id->multicasts.next, struct cma_multicast, link));
}

void cma_multicast_silence_all(struct cma_id *id)
{
	list_for_each(pos, &id->multicasts) {
		struct cma_multicast *mc = container_of(pos, struct cma_multicast, link);

		cma_work_cancel(&mc->work);
		cma_work_cancel(&mc->reset_work);
	}
}
