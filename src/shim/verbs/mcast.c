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

/* Listed while verbcastd has it; several LIDs of a GID share an entry. */
struct attachment {
	struct list link; /* in qp->attachments, guarded by qp->lock */
	uint8_t gid[16];
	uint16_t lid;
	uint32_t entry;
};

static struct attachment *find_locked(struct verbs_qp *qp, const struct uapi_mcast *m)
{
	list_for_each(pos, &qp->attachments) {
		struct attachment *a = container_of(pos, struct attachment, link);

		if (a->lid == m->lid && memcmp(a->gid, m->gid, sizeof(a->gid)) == 0)
			return a;
	}
	return NULL;
}

static bool entry_used_locked(struct verbs_qp *qp, uint32_t entry)
{
	list_for_each(pos, &qp->attachments)
		if (container_of(pos, struct attachment, link)->entry == entry)
			return true;
	return false;
}

static struct uapi_mcast request(const struct ibv_qp *qp, const union ibv_gid *gid,
				 uint16_t lid)
{
	struct uapi_mcast m = { .qp = qp->handle, .lid = lid };

	memcpy(m.gid, gid->raw, sizeof(m.gid));
	return m;
}

static int attach_locked(struct verbs_qp *qp, const struct uapi_mcast *m)
{
	struct uapi_attach_reply rep;
	struct attachment *a;
	int r;

	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	memcpy(a->gid, m->gid, sizeof(a->gid));
	a->lid = m->lid;
	r = process_rpc(qp->process, UAPI_ATTACH_MCAST, m, sizeof(*m), &rep, sizeof(rep));
	if (r < 0 || rep.again || find_locked(qp, m))
		goto free_attachment;
	a->entry = rep.entry;
	if (!entry_used_locked(qp, rep.entry)) {
		r = engine_qp_attach(qp->engine, rep.entry, rep.generation, rep.counters);
		if (r < 0)
			goto detach;
	}
	list_append(&qp->attachments, &a->link);
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
	struct attachment *a = find_locked(qp, m);

	if (!a)
		return -EINVAL;
	list_remove(&a->link);
	if (!entry_used_locked(qp, a->entry))
		engine_qp_detach(qp->engine, a->entry);
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

void qp_attachments_forget(struct verbs_qp *qp)
{
	list_for_each_safe(pos, &qp->attachments)
		free(container_of(pos, struct attachment, link));
}
