// SPDX-License-Identifier: BSD-2-Clause
/*
 * Completion queues: those with a handler, which is called on kapi-comp and has to arm
 * them again, and those of ib_alloc_cq, whose requests carry functions.
 */
#include "kapi/events.h"
#include "kapi/objects.h"

#define BATCH  16
#define BUDGET 256 /* completions of a turn, before other queues get theirs */

static void call_handler(struct work_struct *w)
{
	struct ib_cq *cq = container_of(w, struct ib_cq, work);

	if (cq->comp_handler)
		cq->comp_handler(cq, cq->cq_context);
}

static struct ib_cq *create(struct ib_device *device, const struct ib_cq_init_attr *attr,
			    void *context, ib_comp_handler handler,
			    void (*event_handler)(struct ib_event *, void *),
			    enum ib_poll_context poll_ctx, work_func_t work)
{
	struct ib_cq *cq;
	int r;

	if (!device->ops.create_cq)
		return ERR_PTR(-EOPNOTSUPP);
	cq = object_alloc(device->ops.size_ib_cq, sizeof(*cq));
	if (!cq)
		return ERR_PTR(-ENOMEM);
	cq->device = device;
	cq->cq_context = context;
	cq->comp_handler = handler;
	cq->event_handler = event_handler;
	cq->poll_ctx = poll_ctx;
	cq->comp_vector = attr->comp_vector;
	INIT_WORK(&cq->work, work);
	r = device->ops.create_cq(cq, attr, NULL);
	if (r < 0) {
		kfree(cq);
		return ERR_PTR(r);
	}
	return cq;
}

struct ib_cq *__ib_create_cq(struct ib_device *device, ib_comp_handler comp_handler,
			     void (*event_handler)(struct ib_event *, void *),
			     void *cq_context, const struct ib_cq_init_attr *cq_attr,
			     const char *caller)
{
	return create(device, cq_attr, cq_context, comp_handler, event_handler,
		      IB_POLL_DIRECT, call_handler);
}

int ib_resize_cq(struct ib_cq *cq, int cqe)
{
	if (cq->shared)
		return -EOPNOTSUPP;
	if (!cq->device->ops.resize_cq)
		return -EOPNOTSUPP;
	return cq->device->ops.resize_cq(cq, cqe, NULL);
}

int rdma_set_cq_moderation(struct ib_cq *cq, u16 cq_count, u16 cq_period)
{
	if (cq->shared || !cq->device->ops.modify_cq)
		return -EOPNOTSUPP;
	return cq->device->ops.modify_cq(cq, cq_count, cq_period);
}

int ib_destroy_cq_user(struct ib_cq *cq, struct ib_udata *udata)
{
	int r;

	if (WARN_ON_ONCE(cq->shared))
		return -EOPNOTSUPP;
	if (atomic_read(&cq->usecnt))
		return -EBUSY;
	if (!cq->device->ops.destroy_cq)
		return -EOPNOTSUPP;
	r = cq->device->ops.destroy_cq(cq, udata);
	if (r)
		return r;
	/* Nobody queues it any more, and an event that was on its way has been told. */
	cancel_work_sync(&cq->work);
	if (cq->event_handler)
		events_flush();
	kfree(cq->wc);
	kfree(cq);
	return 0;
}

int ib_poll_cq(struct ib_cq *cq, int num_entries, struct ib_wc *wc)
{
	if (!cq->device->ops.poll_cq)
		return -EOPNOTSUPP;
	return cq->device->ops.poll_cq(cq, num_entries, wc);
}

int ib_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	if (!cq->device->ops.req_notify_cq)
		return -EOPNOTSUPP;
	return cq->device->ops.req_notify_cq(cq, flags);
}

/* -- queues of ib_alloc_cq ---------------------------------------------------------- */

static int process(struct ib_cq *cq, int budget, struct ib_wc *wcs)
{
	int done = 0, want, n;

	do {
		want = min(BATCH, budget - done);
		n = ib_poll_cq(cq, want, wcs);
		for (int i = 0; i < n; i++) {
			if (wcs[i].wr_cqe)
				wcs[i].wr_cqe->done(cq, &wcs[i]);
			else
				WARN_ON_ONCE(wcs[i].status == IB_WC_SUCCESS);
		}
		done += max(n, 0);
	} while (n == want && done < budget);
	return done;
}

static void poll_work(struct work_struct *w)
{
	struct ib_cq *cq = container_of(w, struct ib_cq, work);
	int done = process(cq, BUDGET, cq->wc);

	if (done >= BUDGET ||
	    ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		completions_queue(&cq->work);
}

bool cq_calls_functions(const struct ib_cq *cq)
{
	return cq->work.func == poll_work;
}

void cq_work_off(struct ib_cq *cq)
{
	if (cq->poll_ctx == IB_POLL_DIRECT) {
		ib_process_cq_direct(cq, cq->cqe);
		return;
	}
	/* Turns enough for all that it can hold, and one that is held back: others may fill
	 * it as fast as it is worked off. */
	for (int turns = cq->cqe / BUDGET + 1; turns > 0; turns--) {
		completions_queue(&cq->work);
		completions_pass();
		if (!work_pending(&cq->work))
			break; /* it has left nothing */
	}
}

int ib_process_cq_direct(struct ib_cq *cq, int budget)
{
	struct ib_wc wcs[BATCH];

	return process(cq, budget < 0 ? INT_MAX : budget, wcs);
}

struct ib_cq *__ib_alloc_cq(struct ib_device *dev, void *private, int nr_cqe,
			    int comp_vector, enum ib_poll_context poll_ctx,
			    const char *caller)
{
	const struct ib_cq_init_attr attr = {
		.cqe = nr_cqe,
		.comp_vector = comp_vector,
	};
	struct ib_cq *cq;

	if (poll_ctx > IB_POLL_DIRECT)
		return ERR_PTR(-EINVAL);
	cq = create(dev, &attr, private, NULL, NULL, poll_ctx, poll_work);
	if (IS_ERR(cq) || poll_ctx == IB_POLL_DIRECT)
		return cq;
	cq->wc = kcalloc(BATCH, sizeof(*cq->wc), GFP_KERNEL);
	if (!cq->wc) {
		ib_destroy_cq(cq);
		return ERR_PTR(-ENOMEM);
	}
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	return cq;
}

/* There is one vector. */
struct ib_cq *__ib_alloc_cq_any(struct ib_device *dev, void *private, int nr_cqe,
				enum ib_poll_context poll_ctx, const char *caller)
{
	static atomic_t next;
	int vectors = max(dev->num_comp_vectors, 1);
	int vector = (unsigned int)atomic_inc_return(&next) % (unsigned int)vectors;

	return __ib_alloc_cq(dev, private, nr_cqe, vector, poll_ctx, caller);
}

void ib_free_cq(struct ib_cq *cq)
{
	int r;

	/* A work that runs may queue itself again. */
	cancel_work_sync(&cq->work);
	r = ib_destroy_cq_user(cq, NULL);
	WARN_ONCE(r, "freeing a completion queue failed: %d\n", r);
}
