// SPDX-License-Identifier: BSD-2-Clause
/*
 * Attaching queue pairs to multicast groups (spec/kernel 1.1 to 1.6). verbcastd judges
 * and counts, by (GID, LID); the engine delivers, by group entry.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/export.h"
#include "context.h"
#include "qp.h"

/* Known while verbcastd has it; on RoCE several LIDs of a GID share an entry, on
 * InfiniBand a GID has one LID. */
struct attachment {
	struct hash_node node; /* in qp->attachments by GID, guarded by qp->lock */
	uint8_t gid[16];
	uint32_t entry;
	uint16_t lid;
};

static struct attachment *attachment_of(struct hash_node *node)
{
	return container_of(node, struct attachment, node);
}

static uint32_t gid_hash(const uint8_t gid[16])
{
	return hash_bytes(0, gid, 16);
}

/* One of this GID, and of this LID unless `any_lid`. */
static struct attachment *find_locked(struct verbs_qp *qp, const uint8_t gid[16],
				      uint16_t lid, bool any_lid)
{
	if (!qp->attachments.count)
		return NULL;
	hash_for_each_match(node, &qp->attachments, gid_hash(gid)) {
		struct attachment *a = attachment_of(node);

		if ((any_lid || a->lid == lid) && memcmp(a->gid, gid, 16) == 0)
			return a;
	}
	return NULL;
}

/* Most queue pairs are never attached: the table is made by the first attach. */
static struct attachment *create_locked(struct verbs_qp *qp, const struct uapi_mcast *m)
{
	struct attachment *a;

	if (!qp->attachments.buckets && hash_init(&qp->attachments) < 0)
		return NULL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	memcpy(a->gid, m->gid, sizeof(a->gid));
	a->lid = m->lid;
	return a;
}

static struct uapi_mcast request(const struct ibv_qp *qp, const union ibv_gid *gid,
				 uint16_t lid)
{
	struct uapi_mcast m = { .qp = qp->handle, .lid = lid };

	memcpy(m.gid, gid->raw, sizeof(m.gid));
	return m;
}

/* On InfiniBand no entry is the group's: it is known by its name. */
static int engine_attach(struct verbs_qp *qp, const struct uapi_mcast *m,
			 const struct uapi_attach_reply *rep)
{
	if (rep->entry == SHM_NONE)
		return engine_qp_attach_group(qp->engine, m->gid, m->lid, rep->generation,
					      rep->counters);
	return engine_qp_attach(qp->engine, rep->entry, rep->generation, rep->counters);
}

static void engine_detach(struct verbs_qp *qp, const struct attachment *a)
{
	if (a->entry == SHM_NONE)
		engine_qp_detach_group(qp->engine, a->gid, a->lid);
	else
		engine_qp_detach(qp->engine, a->entry);
}

static int attach_locked(struct verbs_qp *qp, const struct uapi_mcast *m)
{
	struct uapi_attach_reply rep;
	struct attachment *a;
	int r;

	a = create_locked(qp, m);
	if (!a)
		return -ENOMEM;
	r = process_rpc(qp->process, UAPI_ATTACH_MCAST, m, sizeof(*m), &rep, sizeof(rep));
	if (r < 0 || rep.again || find_locked(qp, m->gid, m->lid, false))
		goto free_attachment;
	a->entry = rep.entry;
	if (!find_locked(qp, m->gid, 0, true)) {
		r = engine_attach(qp, m, &rep);
		if (r < 0)
			goto detach;
	}
	hash_insert(&qp->attachments, &a->node, gid_hash(a->gid));
	return 0;

detach:
	process_rpc(qp->process, UAPI_DETACH_MCAST, m, sizeof(*m), NULL, 0);
free_attachment:
	free(a);
	return r;
}

/* Here first: when the call returns nothing more is delivered, whatever verbcastd says.
 * The pair is gone even if it says no (spec/kernel 1.5). */
static int detach_locked(struct verbs_qp *qp, const struct uapi_mcast *m)
{
	struct attachment *a = find_locked(qp, m->gid, m->lid, false);

	if (!a)
		return -EINVAL;
	hash_remove(&qp->attachments, &a->node);
	if (!find_locked(qp, m->gid, 0, true))
		engine_detach(qp, a);
	free(a);
	return process_rpc(qp->process, UAPI_DETACH_MCAST, m, sizeof(*m), NULL, 0);
}

VC_EXPORT int ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct verbs_qp *qp = qp_of(ibv);
	struct uapi_mcast m = request(ibv, gid, lid);
	int r;

	if (process_state(qp->process) != PROCESS_LIVE)
		return ENODEV;
	pthread_mutex_lock(&qp->lock);
	r = attach_locked(qp, &m);
	pthread_mutex_unlock(&qp->lock);
	return -r;
}

VC_EXPORT int ibv_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct verbs_qp *qp = qp_of(ibv);
	struct uapi_mcast m = request(ibv, gid, lid);
	int r;

	if (process_forked(qp->process))
		return ENODEV;
	pthread_mutex_lock(&qp->lock);
	r = detach_locked(qp, &m);
	pthread_mutex_unlock(&qp->lock);
	return -r;
}

static void forget(struct hash_node *node)
{
	free(attachment_of(node));
}

void qp_attachments_forget(struct verbs_qp *qp)
{
	hash_drain(&qp->attachments, forget);
	hash_fini(&qp->attachments);
}
