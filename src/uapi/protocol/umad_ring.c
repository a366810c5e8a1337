/* SPDX-License-Identifier: BSD-2-Clause */
#include "uapi/protocol/umad_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map(int fd, struct uapi_umad_rings **ret)
{
	void *p = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int r;

	if (p == MAP_FAILED)
		return -errno;
	if (madvise(p, sizeof(**ret), MADV_DONTFORK) < 0) {
		r = -errno;
		munmap(p, sizeof(**ret));
		return r;
	}
	*ret = p;
	return 0;
}

int uapi_umad_rings_create(int *ret_fd, struct uapi_umad_rings **ret)
{
	int fd = memfd_create("verbcast-umad", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(**ret)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		r = -errno;
	if (!r)
		r = map(fd, ret);
	if (r < 0)
		close(fd);
	else
		*ret_fd = fd;
	return r;
}

int uapi_umad_rings_map(int fd, struct uapi_umad_rings **ret)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EPROTO;
	if (fstat(fd, &st) < 0 || st.st_size != sizeof(**ret))
		return -EPROTO;
	return map(fd, ret);
}

void uapi_umad_rings_unmap(struct uapi_umad_rings *rings)
{
	if (rings)
		munmap(rings, sizeof(*rings));
}

/* -- put ---------------------------------------------------------------------------- */

static uint32_t in_use(const struct uapi_umad_end *e)
{
	return e->count -
	       atomic_load_explicit(&e->ring->tail, memory_order_acquire); /* B */
}

bool uapi_umad_ring_put(struct uapi_umad_end *e, const struct uapi_umad_message *m)
{
	struct uapi_umad_ring *ring = e->ring;

	if (in_use(e) >= UAPI_UMAD_SLOTS)
		return false;
	ring->slots[e->count % UAPI_UMAD_SLOTS].message = *m;
	e->count++;
	atomic_store_explicit(&ring->head, e->count, memory_order_release); /* A */
	return true;
}

bool uapi_umad_ring_is_heard(struct uapi_umad_end *e)
{
	_Atomic uint32_t *listens = &e->ring->listens;

	atomic_thread_fence(memory_order_seq_cst); /* C */
	return atomic_load_explicit(listens, memory_order_acquire) /* C */ && in_use(e) &&
	       atomic_exchange(listens, 0);
}

bool uapi_umad_ring_await_room(struct uapi_umad_end *e)
{
	atomic_store_explicit(&e->ring->wants_room, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst); /* D */
	if (in_use(e) > UAPI_UMAD_SLOTS / 2)
		return true;
	atomic_store_explicit(&e->ring->wants_room, 0, memory_order_relaxed);
	return false;
}

/* -- take --------------------------------------------------------------------------- */

static uint32_t pending(const struct uapi_umad_end *e)
{
	return atomic_load_explicit(&e->ring->head, memory_order_acquire) -
	       e->count; /* A */
}

int uapi_umad_ring_look(const struct uapi_umad_end *e, struct uapi_umad_message *ret)
{
	uint32_t n = pending(e);

	if (n > UAPI_UMAD_SLOTS)
		return -EPROTO;
	if (n)
		*ret = e->ring->slots[e->count % UAPI_UMAD_SLOTS].message;
	return n != 0;
}

bool uapi_umad_ring_is_empty(const struct uapi_umad_end *e)
{
	return pending(e) == 0;
}

bool uapi_umad_ring_drop(struct uapi_umad_end *e)
{
	_Atomic uint32_t *wants_room = &e->ring->wants_room;

	e->count++;
	atomic_store_explicit(&e->ring->tail, e->count, memory_order_release); /* B */
	atomic_thread_fence(memory_order_seq_cst);                             /* D */
	return atomic_load_explicit(wants_room, memory_order_relaxed) &&
	       pending(e) <= UAPI_UMAD_SLOTS / 2 && atomic_exchange(wants_room, 0);
}

bool uapi_umad_ring_listen(struct uapi_umad_end *e)
{
	atomic_store_explicit(&e->ring->listens, 1, memory_order_release); /* C */
	atomic_thread_fence(memory_order_seq_cst);                         /* C */
	return !pending(e);
}
