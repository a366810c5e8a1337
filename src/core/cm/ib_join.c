/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memberships on InfiniBand (spec/kernel 3.2 to 3.4, 3.6): a join starts from the record
 * of the interface's broadcast group and goes through the subnet administrator. What
 * comes of it arrives from the SA client and takes its turn among the node's events.
 */
#include <endian.h>
#include <string.h>

#include "core/cm/cma_priv.h"
#include "wire/sa.h"

#define SIGNATURE_UDP 0x01 /* in the place of 0x1b, for RDMA_PS_UDP */

/* A group that an administrator has assigned: ff1x:a01b:... */
static bool is_assigned_group(const struct sockaddr *addr)
{
	const u8 *raw = ((const struct sockaddr_in6 *)addr)->sin6_addr.s6_addr;

	return addr->sa_family == AF_INET6 && raw[0] == 0xff && (raw[1] & 0xf0) == 0x10 &&
	       raw[2] == 0xa0 && raw[3] == 0x1b;
}

/* Spec/kernel 3.2: the first row that fits. */
static void ib_mgid(const struct cma_id *id, const struct sockaddr *addr, u8 mgid[16])
{
	memset(mgid, 0, 16);
	if (addr_is_any(addr) || addr_is_loopback(addr))
		return;
	if (is_assigned_group(addr) || addr->sa_family == AF_IB) {
		addr_to_gid(addr, mgid);
		return;
	}
	ipoib_map_group(id->broadcast, addr, mgid);
	if (id->config.ps == CMA_PS_UDP)
		mgid[3] = SIGNATURE_UDP;
}

int cma_broadcast_rec(const struct cma_id *id, struct ib_sa_mcmember_rec *ret)
{
	union ib_gid mgid;

	if (!cma_is_infiniband(id))
		return -EADDRNOTAVAIL;
	memcpy(mgid.raw, id->broadcast + 4, sizeof(mgid.raw));
	return ib_sa_get_mcmember_rec(id->device, id->port_num, &mgid, ret);
}

/* -- what came of it ---------------------------------------------------------------- */

static void deliver_reset(struct cma_work *work)
{
	struct cma_multicast *mc = container_of(work, struct cma_multicast, reset_work);
	struct cma_event event = {
		.event = CMA_EVENT_MULTICAST_ERROR,
		.status = -ENETRESET,
		.multicast = mc,
		.context = mc->event.context,
	};

	mc->id->config.event(mc->id, &event);
}

/* Spec/kernel 3.6. An address handle that cannot be made turns the event into an error
 * with status 0, as Linux has it. */
static void build_join_event(struct cma_multicast *mc,
			     const struct ib_sa_mcmember_rec *rec)
{
	struct cma_event *event = &mc->event;
	struct cma_id *id = mc->id;

	event->event = CMA_EVENT_MULTICAST_ERROR;
	if (ib_init_ah_from_mcmember(id->device, id->port_num, rec, 0, IB_GID_TYPE_IB,
				     &event->ah) < 0)
		return;
	event->event = CMA_EVENT_MULTICAST_JOIN;
	event->qp_num = CMA_MULTICAST_QPN;
	event->qkey = id->qkey;
}

static void build_error_event(struct cma_multicast *mc, int status)
{
	mc->event.event = CMA_EVENT_MULTICAST_ERROR;
	mc->event.status = status;
}

/* Spec/kernel 3.3. Differs: Linux says nothing at all where the Q_Key is another than the
 * id's; here the member hears why it will never receive (7.1). */
static int joined(int status, struct ib_sa_multicast *sa)
{
	struct cma_multicast *mc = sa->context;
	struct cma_id *id = mc->id;
	u32 qkey = be32toh(sa->rec.qkey);

	if (id->state == CMA_DEVICE_REMOVAL)
		return 0;
	if (status == -ENETRESET) {
		cma_work_queue(id->cma, &mc->reset_work);
		return 0;
	}
	if (status == 0 && (qkey == 0 || (id->qkey && qkey != id->qkey)))
		status = -EINVAL;
	if (status == 0)
		build_join_event(mc, &sa->rec);
	else
		build_error_event(mc, status);
	cma_work_queue(id->cma, &mc->work);
	return 0;
}

/* -- the join ----------------------------------------------------------------------- */

static u64 ib_join_mask(const struct cma_id *id)
{
	u64 mask = SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_PKEY | SA_MCM_JOIN_STATE |
		   SA_MCM_QKEY | SA_MCM_SL | SA_MCM_FLOW_LABEL | SA_MCM_TCLASS;

	if (id->config.ps == CMA_PS_IPOIB)
		mask |= SA_MCM_RATE | SA_MCM_RATE_SELECTOR | SA_MCM_MTU_SELECTOR |
			SA_MCM_MTU | SA_MCM_HOP_LIMIT;
	return mask;
}

int cma_ib_join(struct cma_multicast *mc)
{
	struct cma_id *id = mc->id;
	struct ib_sa_mcmember_rec rec;
	struct ib_sa_multicast *sa;
	int r;

	r = cma_broadcast_rec(id, &rec);
	if (r < 0)
		return r;
	r = cma_default_qkey(id);
	if (r < 0)
		return r;
	ib_mgid(id, cma_sockaddr(&mc->addr), rec.mgid.raw);
	rec.qkey = htobe32(id->qkey);
	rec.port_gid = id->sgid.gid;
	rec.pkey = htobe16(cma_id_pkey(id));
	rec.join_state = mc->join_state;
	cma_work_init(&mc->reset_work, deliver_reset);
	sa = ib_sa_join_multicast(&id->cma->sa_client, id->device, id->port_num, &rec,
				  ib_sa_comp_mask_from_host(ib_join_mask(id)), joined,
				  mc);
	if (IS_ERR(sa))
		return (int)PTR_ERR(sa);
	mc->sa = sa;
	return 0;
}

void cma_ib_leave(struct cma_multicast *mc)
{
	if (mc->sa)
		ib_sa_free_multicast(mc->sa);
}
