// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the whole library shares: one lock, the ids by their numbers, and the way from
 * verbcastd's event thread to the channels.
 *
 * cm_lock is held for a few stores at a time; never over a request, never while verbs
 * are called. The device lock (device.c) is taken before it. Over a fork both are held,
 * so that the child finds everything whole.
 */
#include <stdlib.h>

#include "cm.h"

#define BUCKETS 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t acked = PTHREAD_COND_INITIALIZER;

static int cancel_state;               /* the holder's, to be restored; guarded by lock */
static struct list ids[BUCKETS];       /* struct cm_id.link; guarded by lock */
static struct list addresses[BUCKETS]; /* struct cm_id.address_link; guarded by lock */
static uint64_t last_uid;              /* guarded by lock */
static unsigned int era;               /* changed by the one thread of a forked child */
static unsigned int seen_generation;   /* in which a device was found; guarded by lock */

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Who holds the lock is not cancelled: nobody could give it back. */
void cm_lock(void)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_mutex_lock(&lock);
	cancel_state = old;
}

void cm_unlock(void)
{
	int old = cancel_state;

	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(old, NULL);
}

void cm_wait_ack_locked(void)
{
	int old = cancel_state;

	pthread_cond_wait(&acked, &lock);
	cancel_state = old;
}

void cm_acked_locked(void)
{
	pthread_cond_broadcast(&acked);
}

unsigned int cm_era(void)
{
	return era;
}

/* -- ids by number ------------------------------------------------------------------ */

uint64_t cm_new_uid_locked(void)
{
	return ++last_uid;
}

static struct list *address_bucket(const struct cm_id *id)
{
	return &addresses[((uintptr_t)id >> 4) % BUCKETS];
}

/* The pointer is compared, not followed: there may be nothing behind it any more. */
static bool is_published_locked(const struct cm_id *id)
{
	list_for_each(pos, address_bucket(id))
		if (container_of(pos, struct cm_id, address_link) == id)
			return true;
	return false;
}

void cm_publish_locked(struct cm_id *id)
{
	list_append(&ids[id->uid % BUCKETS], &id->link);
	list_append(address_bucket(id), &id->address_link);
}

bool cm_unpublish_locked(struct cm_id *id)
{
	if (!is_published_locked(id))
		return false;
	list_remove(&id->link);
	list_remove(&id->address_link);
	return true;
}

struct cm_id *cm_id_enter(struct rdma_cm_id *rdma_id)
{
	struct cm_id *id = cm_id_of(rdma_id);

	cm_lock();
	if (is_published_locked(id))
		id->calls++;
	else
		id = NULL;
	cm_unlock();
	return id;
}

void cm_id_exit(struct cm_id *id)
{
	cm_lock();
	id->calls--;
	cm_acked_locked();
	cm_unlock();
}

static struct cm_id *find_id_locked(uint64_t uid)
{
	list_for_each(pos, &ids[uid % BUCKETS]) {
		struct cm_id *id = container_of(pos, struct cm_id, link);

		if (id->uid == uid)
			return id;
	}
	return NULL;
}

static struct cm_join *find_join_locked(struct cm_id *id, uint64_t uid)
{
	list_for_each(pos, &id->joins) {
		struct cm_join *join = container_of(pos, struct cm_join, link);

		if (join->uid == uid)
			return join;
	}
	return NULL;
}

/* -- from verbcastd ----------------------------------------------------------------- */

/* Queue an event of an id. Without memory it is lost, as in Linux (spec/kernel 3.8). */
static void post_locked(struct cm_id *id, struct cm_join *join,
			const struct uapi_cm_event *said)
{
	struct cm_event *e = calloc(1, sizeof(*e));

	if (!e)
		return;
	list_init(&e->link);
	e->id = id;
	e->join = join;
	e->said = *said;
	if (join)
		join->pending = false;
	else if (said->event != RDMA_CM_EVENT_ADDR_CHANGE)
		id->pending = CM_PENDING_NONE;
	id->removed |= said->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
	cm_channel_post_locked(cm_channel_of(id->id.channel), e);
}

/* What has left or is destroyed meanwhile is unknown here, and so is its event. */
static void hear(const struct uapi_cm_event *said, void *arg)
{
	struct cm_join *join = NULL;
	struct cm_id *id;

	cm_lock();
	id = find_id_locked(said->id_uid);
	if (id && said->join_uid)
		join = find_join_locked(id, said->join_uid);
	if (id && (join || !said->join_uid))
		post_locked(id, join, said);
	cm_unlock();
}

static void post_plain_locked(struct cm_id *id, struct cm_join *join,
			      enum rdma_cm_event_type type, int status)
{
	struct uapi_cm_event said = { .event = type, .status = status };

	post_locked(id, join, &said);
}

/* What the id waits for will not come: say so, that nobody waits for ever. */
static void bury_locked(struct cm_id *id)
{
	if (id->pending == CM_PENDING_ADDR)
		post_plain_locked(id, NULL, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	else if (id->pending == CM_PENDING_ROUTE)
		post_plain_locked(id, NULL, RDMA_CM_EVENT_ROUTE_ERROR, -ENODEV);
	list_for_each(pos, &id->joins) {
		struct cm_join *join = container_of(pos, struct cm_join, link);

		if (join->pending)
			post_plain_locked(id, join, RDMA_CM_EVENT_MULTICAST_ERROR,
					  -ENODEV);
	}
	if (id->device && !id->removed)
		post_plain_locked(id, NULL, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
}

static void go_down(unsigned int generation, void *arg)
{
	cm_lock();
	for (int i = 0; i < BUCKETS; i++) {
		list_for_each(pos, &ids[i]) {
			struct cm_id *id = container_of(pos, struct cm_id, link);

			if (id->generation == generation)
				bury_locked(id);
		}
	}
	cm_unlock();
}

/* -- first use ---------------------------------------------------------------------- */

static void fork_prepare(void)
{
	cm_device_lock();
	cm_lock();
}

static void fork_parent(void)
{
	cm_unlock();
	cm_device_unlock();
}

/* The one thread of the child holds both locks; waiters of the condition are not here.
 * What is of the parent stays where it is found, and is of an older era. */
static void fork_child(void)
{
	era++;
	seen_generation = 0;
	pthread_cond_init(&acked, NULL);
	cm_unlock();
	cm_device_unlock();
}

/* After libibverbs has connected, and so has set up its own handlers: a fork takes our
 * locks before its, as our calls do. */
static void init(void)
{
	for (int i = 0; i < BUCKETS; i++) {
		list_init(&ids[i]);
		list_init(&addresses[i]);
	}
	pthread_atfork(fork_prepare, fork_parent, fork_child);
	vc_set_cm_handler(hear, NULL);
	vc_set_down_handler(go_down, NULL);
}

static bool has_device(void)
{
	struct ibv_device **list;
	int count = 0;

	list = ibv_get_device_list(&count);
	if (list)
		ibv_free_device_list(list);
	return count > 0;
}

static int open_generation(void)
{
	unsigned int generation, seen;
	int r;

	r = vc_process_open();
	if (r < 0)
		return r;
	pthread_once(&once, init);
	generation = vc_generation();
	cm_lock();
	seen = seen_generation;
	cm_unlock();
	if (seen == generation)
		return 0;
	if (!has_device())
		return -ENODEV;
	cm_lock();
	seen_generation = generation;
	cm_unlock();
	return 0;
}

int cm_open(void)
{
	int old, r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	r = open_generation();
	pthread_setcancelstate(old, NULL);
	return r;
}

int cm_rpc(unsigned int generation, unsigned int op, const void *request, size_t length,
	   void *reply, size_t reply_length)
{
	int old, r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	r = vc_rpc_in(generation, op, request, length, reply, reply_length);
	pthread_setcancelstate(old, NULL);
	return r;
}
