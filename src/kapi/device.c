// SPDX-License-Identifier: BSD-2-Clause
/*
 * The list of devices, the clients that hear of them, and the handlers of their events.
 *
 * Context: any thread. Clients are called with `clients_mutex` held, one at a time, from
 * who registers or from kapi-events; they may call everything but (un)registration.
 */
#include "kapi/device.h"

#include <verbcast/kapi.h>

#include "kapi/calls.h"
#include "kapi/events.h"
#include "kapi/host.h"

/* What a client keeps with a device. */
struct client_data {
	struct list_head link;
	struct ib_client *client;
	void *data;
	bool added; /* `add` was called, and did not refuse */
};

static DEFINE_MUTEX(clients_mutex); /* held over calls of clients */
static LIST_HEAD(clients);          /* struct ib_client, guarded by clients_mutex */
static LIST_HEAD(devices);          /* struct kapi_device, guarded by devices_lock */
/* Below clients_mutex; nothing is called under it. */
static DEFINE_MUTEX(devices_lock);
static unsigned int next_index; /* guarded by devices_lock */

/* -- life --------------------------------------------------------------------------- */

struct ib_device *_ib_alloc_device(size_t size)
{
	struct ib_device *device = kzalloc(size, GFP_KERNEL);
	struct kapi_device *k = kzalloc(sizeof(*k), GFP_KERNEL);

	if (!device || !k) {
		kfree(k);
		kfree(device);
		return NULL;
	}
	k->ib = device;
	INIT_LIST_HEAD(&k->link);
	INIT_LIST_HEAD(&k->data);
	INIT_LIST_HEAD(&k->handlers);
	init_completion(&k->unused);
	device->core = k;
	device->dev.name = device->name;
	device->dev.numa_node = NUMA_NO_NODE;
	return device;
}

void ib_dealloc_device(struct ib_device *device)
{
	struct kapi_device *k = device->core;

	WARN_ON(k->registered);
	kfree(k->ports);
	kfree(k);
	kfree(device);
}

/* All of a table of operations is pointers and sizes, each of which counts when set. */
void ib_set_device_ops(struct ib_device *device, const struct ib_device_ops *ops)
{
	const size_t first = offsetof(struct ib_device_ops, post_send);
	const unsigned long *from = (const void *)((const char *)ops + first);
	unsigned long *to = (void *)((char *)&device->ops + first);

	BUILD_BUG_ON(sizeof(long) != sizeof(void *) || sizeof(size_t) != sizeof(long));
	for (size_t i = 0; i < (sizeof(*ops) - first) / sizeof(*from); i++)
		if (from[i])
			to[i] = from[i];
	if (ops->owner)
		device->ops.owner = ops->owner;
	if (ops->driver_id)
		device->ops.driver_id = ops->driver_id;
	if (ops->uverbs_abi_ver)
		device->ops.uverbs_abi_ver = ops->uverbs_abi_ver;
}

void *device_core(const struct ib_device *device)
{
	return device->core->core;
}

struct ib_device *device_of_core(const void *core)
{
	struct ib_device *found = NULL;
	struct kapi_device *k;

	if (!core)
		return NULL;
	mutex_lock(&devices_lock);
	list_for_each_entry(k, &devices, link)
		if (k->core == core)
			found = k->ib;
	mutex_unlock(&devices_lock);
	return found;
}

/* -- clients' data ------------------------------------------------------------------ */

static struct client_data *find_data_locked(struct ib_device *device,
					    const struct ib_client *client)
{
	struct client_data *d;

	list_for_each_entry(d, &device->core->data, link)
		if (d->client == client)
			return d;
	return NULL;
}

void *ib_get_client_data(struct ib_device *device, struct ib_client *client)
{
	struct client_data *d;
	void *data;

	mutex_lock(&devices_lock);
	d = find_data_locked(device, client);
	data = d ? d->data : NULL;
	mutex_unlock(&devices_lock);
	return data;
}

void ib_set_client_data(struct ib_device *device, struct ib_client *client, void *data)
{
	struct client_data *d;

	mutex_lock(&devices_lock);
	d = find_data_locked(device, client);
	if (d)
		d->data = data;
	mutex_unlock(&devices_lock);
	WARN(!d, "%s: client %s was not told of it\n", device->name, client->name);
}

/* -- telling clients; clients_mutex is held ----------------------------------------- */

static void tell_add(struct ib_client *client, struct ib_device *device)
{
	struct client_data *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return;
	d->client = client;
	mutex_lock(&devices_lock);
	list_add_tail(&d->link, &device->core->data);
	mutex_unlock(&devices_lock);
	d->added = !client->add || client->add(device) == 0;
}

static void tell_remove(struct ib_client *client, struct ib_device *device)
{
	struct client_data *d;

	mutex_lock(&devices_lock);
	d = find_data_locked(device, client);
	mutex_unlock(&devices_lock);
	if (!d)
		return;
	if (d->added && client->remove)
		client->remove(device, d->data);
	mutex_lock(&devices_lock);
	list_del(&d->link);
	mutex_unlock(&devices_lock);
	kfree(d);
}

static bool is_of(const struct kapi_device *k, unsigned int node)
{
	return node == KAPI_ALL_NODES || k->node == node;
}

/* The n-th registered device of a node, or of all; null past the end. */
static struct ib_device *nth_device(unsigned int node, unsigned int n)
{
	struct ib_device *found = NULL;
	struct kapi_device *k;

	mutex_lock(&devices_lock);
	list_for_each_entry(k, &devices, link) {
		if (!is_of(k, node) || n--)
			continue;
		found = k->ib;
		break;
	}
	mutex_unlock(&devices_lock);
	return found;
}

/* What holds the mutex may be waiting for the loop. */
static int take_clients(const char *what)
{
	if (!kapi_on_loop()) {
		mutex_lock(&clients_mutex);
		return 0;
	}
	if (mutex_trylock(&clients_mutex))
		return 0;
	kapi_report("%s from a callback, while clients are told of devices", what);
	return -EDEADLK;
}

int ib_register_client(struct ib_client *client)
{
	struct ib_device *device;
	int r = kapi_host_need();

	if (r == 0)
		r = take_clients("ib_register_client");
	if (r < 0)
		return r;
	client->node = kapi_clients_node();
	list_add_tail(&client->list, &clients);
	for (unsigned int n = 0; (device = nth_device(client->node, n)) != NULL; n++)
		tell_add(client, device);
	mutex_unlock(&clients_mutex);
	return 0;
}

void ib_unregister_client(struct ib_client *client)
{
	struct ib_device *device;

	if (take_clients("ib_unregister_client") < 0)
		return;
	for (unsigned int n = 0; (device = nth_device(client->node, n)) != NULL; n++)
		tell_remove(client, device);
	list_del(&client->list);
	mutex_unlock(&clients_mutex);
}

bool device_no_clients(void)
{
	bool none;

	mutex_lock(&clients_mutex);
	none = list_empty(&clients);
	mutex_unlock(&clients_mutex);
	return none;
}

/* -- registration ------------------------------------------------------------------- */

static void derive_port(struct ib_device *device, u32 port_num,
			struct ib_port_immutable *p)
{
	struct ib_port_attr attr;

	if (device->ops.get_port_immutable &&
	    device->ops.get_port_immutable(device, port_num, p) == 0)
		return;
	p->core_cap_flags =
		rdma_port_get_link_layer(device, port_num) == IB_LINK_LAYER_INFINIBAND
			? RDMA_CORE_PORT_IBA_IB
			: RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	p->max_mad_size = RDMA_MAX_MAD_SIZE;
	if (!device->ops.query_port)
		return;
	memset(&attr, 0, sizeof(attr));
	if (device->ops.query_port(device, port_num, &attr) == 0) {
		p->gid_tbl_len = attr.gid_tbl_len;
		p->pkey_tbl_len = attr.pkey_tbl_len;
	}
}

static int derive_ports(struct ib_device *device)
{
	u32 port;

	kfree(device->core->ports);
	device->core->ports = kcalloc(rdma_end_port(device) + 1,
				      sizeof(*device->core->ports), GFP_KERNEL);
	if (!device->core->ports)
		return -ENOMEM;
	rdma_for_each_port(device, port)
		derive_port(device, port, &device->core->ports[port]);
	return 0;
}

static struct kapi_device *find_name_locked(const char *name, unsigned int node)
{
	struct kapi_device *k;

	list_for_each_entry(k, &devices, link)
		if (k->node == node && strcmp(k->ib->name, name) == 0)
			return k;
	return NULL;
}

static int enlist(struct ib_device *device, unsigned int node)
{
	struct kapi_device *k = device->core;
	int r = 0;

	mutex_lock(&devices_lock);
	if (find_name_locked(device->name, node)) {
		r = -EEXIST;
	} else {
		k->node = node;
		k->registered = true;
		k->refs = 0;
		reinit_completion(&k->unused);
		device->index = next_index++;
		list_add_tail(&k->link, &devices);
	}
	mutex_unlock(&devices_lock);
	return r;
}

int device_register(struct ib_device *device, unsigned int node)
{
	struct ib_client *client;
	int r;

	r = derive_ports(device);
	if (r < 0)
		return r;
	r = take_clients("ib_register_device");
	if (r < 0)
		return r;
	r = enlist(device, node);
	if (r == 0)
		list_for_each_entry(client, &clients, list)
			if (is_of(device->core, client->node))
				tell_add(client, device);
	mutex_unlock(&clients_mutex);
	return r;
}

/* One %d in a name is the first number that is free. */
static int choose_name(struct ib_device *device, const char *name, unsigned int node)
{
	const char *number = strstr(name, "%d");
	int r = -ENFILE;

	if (strlen(name) + 8 >= sizeof(device->name))
		return -EINVAL;
	if (!number) {
		strscpy(device->name, name, sizeof(device->name));
		return 0;
	}
	mutex_lock(&devices_lock);
	for (int i = 0; i < 1000 && r < 0; i++) {
		snprintf(device->name, sizeof(device->name), "%.*s%d%s",
			 (int)(number - name), name, i, number + 2);
		if (!find_name_locked(device->name, node))
			r = 0;
	}
	mutex_unlock(&devices_lock);
	return r;
}

int ib_register_device(struct ib_device *device, const char *name,
		       struct device *dma_device)
{
	int r = kapi_host_need();

	if (r < 0)
		return r;
	r = choose_name(device, name, kapi_this_node());
	if (r < 0)
		return r;
	device->dma_device = dma_device;
	if (device->ops.query_device) {
		memset(&device->attrs, 0, sizeof(device->attrs));
		r = device->ops.query_device(device, &device->attrs, NULL);
		if (r < 0)
			return r;
	}
	return device_register(device, kapi_this_node());
}

/* No new references; true: there are some. */
static bool unlist(struct kapi_device *k)
{
	bool held;

	mutex_lock(&devices_lock);
	k->registered = false;
	list_del_init(&k->link);
	held = k->refs;
	mutex_unlock(&devices_lock);
	return held;
}

void ib_unregister_device(struct ib_device *device)
{
	struct kapi_device *k = device->core;
	struct ib_client *client;

	if (!k->registered || take_clients("ib_unregister_device") < 0)
		return;
	list_for_each_entry_reverse(client, &clients, list)
		tell_remove(client, device);
	if (unlist(k))
		wait_for_completion(&k->unused);
	mutex_unlock(&clients_mutex);
	events_flush();
	if (device->ops.dealloc_driver)
		device->ops.dealloc_driver(device);
}

bool ib_device_try_get(struct ib_device *dev)
{
	bool registered;

	mutex_lock(&devices_lock);
	registered = dev->core->registered;
	if (registered)
		dev->core->refs++;
	mutex_unlock(&devices_lock);
	return registered;
}

void ib_device_put(struct ib_device *device)
{
	struct kapi_device *k = device->core;
	bool last;

	mutex_lock(&devices_lock);
	last = --k->refs == 0 && !k->registered;
	if (last)
		complete(&k->unused);
	mutex_unlock(&devices_lock);
}

unsigned int kapi_device_node(const struct ib_device *device)
{
	return device->core->node;
}

struct ib_device *ib_device_get_by_name(const char *name, enum rdma_driver_id driver_id)
{
	struct kapi_device *k;

	if (kapi_host_need() < 0)
		return NULL;
	mutex_lock(&devices_lock);
	k = find_name_locked(name, kapi_this_node());
	if (k && driver_id != RDMA_DRIVER_UNKNOWN && k->ib->ops.driver_id != driver_id)
		k = NULL;
	if (k)
		k->refs++;
	mutex_unlock(&devices_lock);
	return k ? k->ib : NULL;
}

/* -- events ------------------------------------------------------------------------- */

void ib_register_event_handler(struct ib_event_handler *handler)
{
	mutex_lock(&devices_lock);
	list_add_tail(&handler->list, &handler->device->core->handlers);
	mutex_unlock(&devices_lock);
}

void ib_unregister_event_handler(struct ib_event_handler *handler)
{
	mutex_lock(&devices_lock);
	list_del_init(&handler->list);
	mutex_unlock(&devices_lock);
	if (!events_flush() && kapi_on_loop())
		kapi_report("ib_unregister_event_handler from a callback: the handler "
			    "may be running yet");
}

/* Handlers may unregister themselves: the place in the list is remembered by a mark. */
static void call_handlers(struct ib_event *event, void *context)
{
	struct kapi_device *k = context;
	struct ib_event_handler mark = { .device = NULL }, *h;

	mutex_lock(&devices_lock);
	list_add(&mark.list, &k->handlers);
	while (!list_is_last(&mark.list, &k->handlers)) {
		h = list_next_entry(&mark, list);
		list_move(&mark.list, &h->list);
		if (!h->device)
			continue; /* somebody else's mark */
		mutex_unlock(&devices_lock);
		h->handler(h, event);
		mutex_lock(&devices_lock);
	}
	list_del(&mark.list);
	mutex_unlock(&devices_lock);
}

void ib_dispatch_event(const struct ib_event *event)
{
	events_tell(call_handlers, event->device->core, event);
}
