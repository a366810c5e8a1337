/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ib_attach_mcast and ib_detach_mcast: the core's checks of spec/kernel 1.1 and 1.2, in
 * that order, and the use count that keeps an attached queue pair from being destroyed.
 *
 * Differs: the kernel counts calls, so that a group attached twice and detached once
 * leaves a queue pair that can never be destroyed (spec/kernel 1.4, 7.1). Here the core
 * remembers which groups a queue pair is attached to and counts those.
 */
#include <stdlib.h>

#include "core/verbs/core_priv.h"

#define MLID_FIRST 0xc000
#define MLID_LAST  0xfffe

/* One queue pair in one group; in device->attached from the attach to the detach. */
struct ib_qp_mcast {
	struct hash_node node;
	struct ib_qp *qp;
	union ib_gid gid;
};

static u32 attached_hash(const struct ib_qp *qp, const union ib_gid *gid)
{
	return hash_bytes(hash_bytes(0, &qp, sizeof(qp)), gid->raw, sizeof(gid->raw));
}

static struct ib_qp_mcast *attached_find(struct ib_qp *qp, const union ib_gid *gid)
{
	u32 value = attached_hash(qp, gid);

	hash_for_each_match(node, &qp->device->attached, value) {
		struct ib_qp_mcast *m = container_of(node, struct ib_qp_mcast, node);

		if (m->qp == qp && gid_equal(m->gid.raw, gid->raw))
			return m;
	}
	return NULL;
}

static void attached_remove(struct ib_qp_mcast *m)
{
	m->qp->usecnt--;
	hash_remove(&m->qp->device->attached, &m->node);
	free(m);
}

static bool port_takes_any_lid(struct ib_device *device, u32 port_num)
{
	return rdma_port_get_link_layer(device, port_num) != IB_LINK_LAYER_INFINIBAND;
}

static bool some_port_takes_any_lid(struct ib_device *device)
{
	for (u32 port = rdma_start_port(device); port <= rdma_end_port(device); port++) {
		if (port_takes_any_lid(device, port))
			return true;
	}
	return false;
}

/* Spec/kernel 1.2: the queue pair's own port decides, and before it has one, whether
 * all ports are InfiniBand. */
static bool lid_is_acceptable(struct ib_qp *qp, u16 lid)
{
	struct ib_qp_init_attr init_attr;
	struct ib_qp_attr attr;
	bool any;
	int r;

	r = ib_query_qp(qp, &attr, IB_QP_STATE | IB_QP_PORT, &init_attr);
	if (r == 0 && attr.qp_state >= IB_QPS_INIT)
		any = port_takes_any_lid(qp->device, attr.port_num);
	else
		any = some_port_takes_any_lid(qp->device);
	return any || (lid >= MLID_FIRST && lid <= MLID_LAST);
}

/* Spec/kernel 1.1, checks 2 to 4. */
static int check(struct ib_qp *qp, const union ib_gid *gid, u16 lid)
{
	if (!gid_is_multicast(gid->raw))
		return -EINVAL;
	if (qp->qp_type != IB_QPT_UD)
		return -EINVAL;
	if (!lid_is_acceptable(qp, lid))
		return -EINVAL;
	return 0;
}

int ib_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	struct ib_qp_mcast *m;
	int r;

	if (!qp->device->ops.attach_mcast)
		return -EOPNOTSUPP;
	r = core_device_check(qp->device);
	if (r == 0)
		r = check(qp, gid, lid);
	if (r < 0)
		return r;
	if (attached_find(qp, gid))
		return qp->device->ops.attach_mcast(qp, gid, lid);

	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	r = qp->device->ops.attach_mcast(qp, gid, lid);
	if (r < 0) {
		free(m);
		return r;
	}
	m->qp = qp;
	m->gid = *gid;
	hash_insert(&qp->device->attached, &m->node, attached_hash(qp, gid));
	qp->usecnt++;
	return 0;
}

int ib_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	struct ib_qp_mcast *m;
	int r;

	if (!qp->device->ops.detach_mcast)
		return -EOPNOTSUPP;
	r = check(qp, gid, lid);
	if (r < 0)
		return r;
	r = qp->device->ops.detach_mcast(qp, gid, lid);
	if (r < 0)
		return r;
	m = attached_find(qp, gid);
	if (m)
		attached_remove(m);
	return 0;
}

int ib_describe_mcast(struct ib_qp *qp, const union ib_gid *gid,
		      struct ib_mcast_info *info)
{
	if (!qp->device->ops.describe_mcast)
		return -EOPNOTSUPP;
	return qp->device->ops.describe_mcast(qp, gid, info);
}
