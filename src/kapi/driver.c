// SPDX-License-Identifier: BSD-2-Clause
/*
 * The site's devices as they come and go, and what they tell.
 *
 * The core says so on the loop; consumers are told on kapi-events, in the same order.
 */
#include <verbcast/kapi.h>

#include "kapi/driver_priv.h"
#include "kapi/events.h"

/* Who watches one node. Lives while the site does. */
struct watch {
	struct core_ib_client client;
	unsigned int node;
};

static struct watch watches[KAPI_NODES_MAX];
static unsigned int watched; /* so many; written on the loop, or before it runs */
static LIST_HEAD(all);       /* struct drv_device, in the order of creation; the loop's */

/* -- one device --------------------------------------------------------------------- */

static void device_free(void *arg)
{
	struct drv_device *d = arg;

	if (d->context && core_ib_dealloc_ucontext(d->context) < 0)
		kapi_report("%s: objects of it were never destroyed", d->ib.name);
	list_del(&d->link);
	mutex_destroy(&d->qps_lock);
	ib_dealloc_device(&d->ib);
}

static void take_operations(struct drv_device *d)
{
	ib_set_device_ops(&d->ib, &driver_port_ops);
	ib_set_device_ops(&d->ib, &driver_object_ops);
	ib_set_device_ops(&d->ib, &driver_qp_ops);
	ib_set_device_ops(&d->ib, &driver_post_ops);
	ib_set_device_ops(&d->ib, &driver_stat_ops);
	d->ib.core->query_gid = driver_query_gid;
}

static int device_describe(struct drv_device *d)
{
	struct core_ib_device *core = d->core;
	struct core_ib_device_info info;
	int r;

	r = core_ib_describe_device(core, &info);
	if (r < 0)
		return r;
	d->site_device = info.site_device;
	d->first_port = info.first_port;
	strscpy(d->ib.name, core->name, sizeof(d->ib.name));
	strscpy(d->ib.node_desc, core->name, sizeof(d->ib.node_desc));
	d->ib.node_guid = core->node_guid;
	d->ib.node_type = core->node_type;
	d->ib.phys_port_cnt = core->phys_port_cnt;
	d->ib.num_comp_vectors = core->num_comp_vectors;
	d->ib.core->core = core;
	return d->ib.ops.query_device(&d->ib, &d->ib.attrs, NULL);
}

static struct drv_device *device_new(struct core_ib_device *core, unsigned int node)
{
	struct drv_device *d = ib_alloc_device(drv_device, ib);

	/* ib is the first member. */
	if (!d)
		return NULL;
	d->core = core;
	d->node = node;
	INIT_LIST_HEAD(&d->qps);
	mutex_init(&d->qps_lock);
	list_add_tail(&d->link, &all);
	take_operations(d);
	/* It keeps the core's device as long as ours is there; whose it is driver_use
	 * says. */
	d->context = core_ib_alloc_ucontext(core, 0);
	if (core_IS_ERR(d->context))
		d->context = NULL;
	if (!d->context || device_describe(d) < 0) {
		kapi_report("device %s cannot be had", core->name);
		device_free(d);
		return NULL;
	}
	return d;
}

int driver_use(struct drv_device *d)
{
	int r;

	if (d->engine)
		return 0;
	if (d->removed)
		return -EIO; /* as whatever is asked of a device that has gone */
	r = kapi_host_use(d->node);
	if (r < 0)
		return r;
	d->engine = kapi_host_engine(d->node);
	d->context->process = kapi_host_process(d->node)->slot;
	return 0;
}

static void do_register(struct work_struct *w)
{
	struct drv_device *d = container_of(w, struct drv_device, arrival);

	if (device_register(&d->ib, d->node) < 0)
		kapi_report("device %s cannot be registered", d->ib.name);
}

static void do_unregister(struct work_struct *w)
{
	struct drv_device *d = container_of(w, struct drv_device, departure);

	ib_unregister_device(&d->ib);
	kapi_call(device_free, d);
}

/* -- what the core tells ------------------------------------------------------------ */

static struct watch *to_watch(struct core_ib_client *client)
{
	return container_of(client, struct watch, client);
}

static struct drv_device *find(const struct core_ib_device *core)
{
	struct drv_device *d;

	list_for_each_entry(d, &all, link)
		if (d->core == core && !d->removed)
			return d;
	return NULL;
}

static void added(struct core_ib_client *client, struct core_ib_device *core)
{
	struct drv_device *d = device_new(core, to_watch(client)->node);

	if (!d)
		return;
	INIT_WORK(&d->arrival, do_register);
	events_queue(&d->arrival);
}

static void removed(struct core_ib_client *client, struct core_ib_device *core)
{
	struct drv_device *d = find(core);

	if (!d)
		return;
	d->removed = true;
	if (d->engine)
		engine_fail_device(d->engine, d->site_device);
	INIT_WORK(&d->departure, do_unregister);
	events_queue(&d->departure);
}

/* Events of single objects come from the engine; the core has those of ports. */
static void happened(struct core_ib_client *client, const struct core_ib_event *event)
{
	struct drv_device *d = find(event->device);
	struct ib_event copy = {
		.event = (enum ib_event_type)event->event,
		.element.port_num = event->element.port_num,
	};

	if (!d)
		return;
	copy.device = &d->ib;
	ib_dispatch_event(&copy);
}

static int unplug_here(struct ib_device *ib)
{
	const struct kapi_host *host = kapi_host();
	struct drv_device *d;

	list_for_each_entry(d, &all, link) {
		if (&d->ib != ib)
			continue;
		if (d->removed)
			return -ENODEV;
		if (!host || !host->unplug)
			return -EOPNOTSUPP;
		return host->unplug(host->arg, d->node, d->core);
	}
	return -EOPNOTSUPP;
}
KAPI_ON_LOOP1(int, unplug_here, struct ib_device *)

int kapi_device_unplug(struct ib_device *device)
{
	return on_loop_unplug_here(device);
}

/* -- what the engine tells ---------------------------------------------------------- */

void driver_cq_event(void *arg, void *cq_context)
{
	struct drv_cq *cq = cq_context;

	completions_queue(&cq->ib.work);
}

/* The numbers of users' events are the kernel's. */
void driver_async_event(void *arg, enum ibv_event_type type, void *context)
{
	struct ib_event event = { .event = (enum ib_event_type)type };

	if (type == IBV_EVENT_CQ_ERR) {
		struct drv_cq *cq = context;

		event.device = cq->ib.device;
		event.element.cq = &cq->ib;
		events_tell(cq->ib.event_handler, cq->ib.cq_context, &event);
	} else if (type == IBV_EVENT_SRQ_LIMIT_REACHED || type == IBV_EVENT_SRQ_ERR) {
		struct drv_srq *srq = context;

		event.device = srq->ib.device;
		event.element.srq = &srq->ib;
		events_tell(srq->ib.event_handler, srq->ib.srq_context, &event);
	} else {
		struct drv_qp *qp = context;

		event.device = qp->ib.device;
		event.element.qp = &qp->ib;
		events_tell(qp->ib.event_handler, qp->ib.qp_context, &event);
	}
}

/* -- life --------------------------------------------------------------------------- */

static void watch_node(struct watch *w)
{
	w->client = (struct core_ib_client){
		.add = added,
		.remove = removed,
		.event = happened,
	};
	core_ib_register_client(&w->client, kapi_host_node(w->node));
}

void driver_watch_now(void)
{
	for (; watched < kapi_host_nodes(); watched++) {
		struct watch *w = &watches[watched];
		struct core_ib_device *core;

		w->node = watched;
		watch_node(w);
		for (u32 n = 0; (core = core_ib_node_device(kapi_host_node(w->node), n));
		     n++) {
			struct drv_device *d = device_new(core, w->node);

			if (d && device_register(&d->ib, d->node) < 0)
				kapi_report("device %s cannot be registered", d->ib.name);
		}
	}
}

/* As if they came just now. */
static void watch_next(void *arg)
{
	struct watch *w = &watches[watched];
	struct core_ib_device *core;

	w->node = watched++;
	watch_node(w);
	for (u32 n = 0; (core = core_ib_node_device(kapi_host_node(w->node), n)); n++)
		added(&w->client, core);
}

void driver_watch(void)
{
	static DEFINE_MUTEX(one); /* at a time */

	mutex_lock(&one);
	while (watched < kapi_host_nodes())
		kapi_call(watch_next, NULL);
	mutex_unlock(&one);
	events_flush();
}

static void look_for_users(void *arg)
{
	struct drv_device *d;
	int *r = arg;

	list_for_each_entry(d, &all, link)
		if (d->context->usecnt)
			*r = -EBUSY;
}

int driver_may_end(void)
{
	int r = 0;

	if (!device_no_clients())
		return -EBUSY;
	events_flush();
	kapi_call(look_for_users, &r);
	return r;
}

/* Nobody is left who would have to be told. */
void driver_end(void)
{
	struct drv_device *d, *next;

	for (; watched > 0; watched--)
		core_ib_unregister_client(&watches[watched - 1].client);
	list_for_each_entry_safe(d, next, &all, link) {
		ib_unregister_device(&d->ib);
		device_free(d);
	}
}
