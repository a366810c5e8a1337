/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue of a node's events: one for all ids, so that they come in the order in which
 * they were caused (spec/kernel 3.7, 6 no. 57). Work is embedded in what it is about, so
 * queueing cannot fail, and cancelling is unlinking.
 */
#include "core/cm/cma_priv.h"

void cma_work_init(struct cma_work *work, void (*fn)(struct cma_work *work))
{
	list_init(&work->link);
	work->fn = fn;
}

void cma_work_queue(struct cma *cma, struct cma_work *work)
{
	bool idle = list_empty(&cma->queue);

	list_append(&cma->queue, &work->link);
	if (idle)
		cma->config.schedule(cma->config.arg);
}

void cma_work_cancel(struct cma_work *work)
{
	list_remove(&work->link);
}

/*
 * A delivery may cancel any other work, and queue new work. The queue is therefore moved
 * aside as a whole, and emptied from its head; what is queued meanwhile finds an empty
 * queue and schedules the next run.
 */
void cma_run(struct cma *cma)
{
	struct list due;

	if (list_empty(&cma->queue))
		return;
	list_prepend(&cma->queue, &due);
	list_remove(&cma->queue);
	while (!list_empty(&due)) {
		struct cma_work *work = container_of(due.next, struct cma_work, link);

		list_remove(&work->link);
		work->fn(work);
	}
}
