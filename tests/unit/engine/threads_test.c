// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * Several engines over one mapping, a thread each or more, so that ThreadSanitizer sees
 * both ends of every shared word: streams in all directions, attaching and detaching under
 * them, waiting, and processes that come and go.
 *
 * This program has memory files of its own (the functions of shm/memfile.h), which give
 * everybody the same mapping of a file; the archive's are not linked.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "world.h"
#include "shm/memfile.h"

/* -- memory files with one mapping ------------------------------------------------- */

#define FILES 256

static struct file {
	ino_t inode;
	void *mapping;
	size_t bytes;
	unsigned int users;
} files[FILES];
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;

int shm_memfile_create(const char *name, size_t bytes, int *ret_fd)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int shm_memfile_seal(int fd, int kind)
{
	return 0;
}

int shm_memfile_verify(int fd, size_t bytes, int kind)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (size_t)st.st_size == bytes ? 0 : -EPROTO;
}

static struct file *file_of(ino_t inode)
{
	struct file *free_one = NULL;

	for (int i = 0; i < FILES; i++) {
		if (files[i].users && files[i].inode == inode)
			return &files[i];
		if (!files[i].users)
			free_one = &files[i];
	}
	assert_non_null(free_one);
	return free_one;
}

int shm_memfile_map(int fd, size_t bytes, bool writable, void **ret)
{
	struct stat st;
	struct file *f;

	if (fstat(fd, &st) < 0)
		return -errno;
	pthread_mutex_lock(&files_lock);
	f = file_of(st.st_ino);
	if (!f->users++) {
		f->inode = st.st_ino;
		f->bytes = (size_t)st.st_size;
		f->mapping =
			mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	*ret = f->mapping;
	pthread_mutex_unlock(&files_lock);
	return 0;
}

void shm_memfile_unmap(const void *mapping, size_t bytes)
{
	pthread_mutex_lock(&files_lock);
	for (int i = 0; mapping && i < FILES; i++)
		if (files[i].users && files[i].mapping == mapping && !--files[i].users)
			munmap(files[i].mapping, files[i].bytes);
	pthread_mutex_unlock(&files_lock);
}

void shm_memfile_prefault(const void *from, size_t bytes, bool writable)
{
}

int shm_memfile_create_mapped(const char *name, size_t bytes, int *ret_fd, void **ret)
{
	int r = shm_memfile_create(name, bytes, ret_fd);

	return r < 0 ? r : shm_memfile_map(*ret_fd, bytes, true, ret);
}

/* -- a crowd ------------------------------------------------------------------------ */

#define CROWD 4u
#define GROUP 1u

static struct world world;

struct one {
	struct world_process *process;
	struct world_qp qp;
	struct engine_verbs_ah ah;
	uint32_t index, count, bytes;
	uint32_t next[CROWD]; /* number expected from each sender */
	_Atomic uint32_t received;
	_Atomic bool stop;
	pthread_t sender, receiver;
	bool blocking;
};

static struct one crowd[CROWD];

static void one_open(struct one *o, uint32_t i)
{
	memset(o, 0, sizeof(*o));
	o->index = i;
	o->process = world_start(&world, i + 1);
	world_qp_create(&o->qp, o->process, (struct world_qp_options){ .depth = 1024 });
	world_group_ah(o->process, GROUP, &o->ah);
}

static void one_close(struct one *o)
{
	engine_ah_destroy(o->ah.engine);
	world_qp_destroy(&o->qp);
}

static void crowd_open(void)
{
	world_open(&world);
	for (uint32_t i = 0; i < CROWD; i++)
		one_open(&crowd[i], i);
}

static void crowd_close(void)
{
	for (uint32_t i = 0; i < CROWD; i++)
		one_close(&crowd[i]);
	world_close(&world);
}

static uint64_t accounted(struct one *o)
{
	return atomic_load(&o->received) + world_dropped_any(&o->qp);
}

/* The first of everybody reaches everybody before the flood begins: what is lost before
 * that is nobody's to count, since a receiver cannot know that it was sent. */
static void *send_all(void *arg)
{
	struct one *o = arg;

	world_send_number(&o->qp, &o->ah, 0, o->bytes);
	for (uint32_t i = 0; i < CROWD; i++)
		harness_until(accounted(&crowd[i]) >= CROWD, 60000, harness_pause());
	for (uint32_t i = 1; i < o->count; i++)
		world_send_number(&o->qp, &o->ah, i, o->bytes);
	return NULL;
}

static struct one *who_sent(uint32_t src_qpn)
{
	for (uint32_t i = 0; i < CROWD; i++)
		if (crowd[i].qp.qpn == src_qpn)
			return &crowd[i];
	return NULL;
}

/* Whole, and behind what came from that sender before. */
static void check(struct one *o, const struct ibv_wc *wc)
{
	const uint8_t *payload = world_buffer(&o->qp, wc->wr_id) + 40;
	struct one *from = who_sent(wc->src_qp);
	uint32_t number;

	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_non_null(from);
	memcpy(&number, payload, 4);
	assert_true(number >= o->next[from->index]);
	assert_true(world_filled(payload, number, from->bytes));
	o->next[from->index] = number + 1;
}

static int receive_some(struct one *o)
{
	struct ibv_wc wc[16];
	int n = world_try_poll(&o->qp, 16, wc);

	for (int i = 0; i < n; i++)
		check(o, &wc[i]);
	if (n)
		world_post_recv(&o->qp, (uint32_t)n);
	atomic_fetch_add(&o->received, (uint32_t)n);
	return n;
}

static void *receive_all(void *arg)
{
	struct one *o = arg;

	while (!atomic_load(&o->stop)) {
		uint32_t seen = engine_wait_prepare(o->process->engine);

		if (receive_some(o))
			continue;
		if (!o->blocking) {
			harness_pause();
			continue;
		}
		engine_cq_arm(o->qp.recv_cq, false);
		if (!receive_some(o))
			engine_wait(o->process->engine, &seen, 1000);
	}
	return NULL;
}

static void run_crowd(uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < CROWD; i++) {
		crowd[i].count = count;
		crowd[i].bytes = bytes;
		world_attach(&crowd[i].qp, GROUP);
		world_post_recv(&crowd[i].qp, 1024);
		pthread_create(&crowd[i].receiver, NULL, receive_all, &crowd[i]);
	}
	for (uint32_t i = 0; i < CROWD; i++)
		pthread_create(&crowd[i].sender, NULL, send_all, &crowd[i]);
	for (uint32_t i = 0; i < CROWD; i++)
		pthread_join(crowd[i].sender, NULL);
	for (uint32_t i = 0; i < CROWD; i++)
		harness_until(accounted(&crowd[i]) == CROWD * (uint64_t)count, 60000,
			      harness_pause());
	for (uint32_t i = 0; i < CROWD; i++) {
		atomic_store(&crowd[i].stop, true);
		engine_wake(crowd[i].process->engine);
		pthread_join(crowd[i].receiver, NULL);
	}
}

static void all_hear_all_while_they_poll(void **state)
{
	crowd_open();
	run_crowd(harness_count(1000, 100000), 200);
	crowd_close();
}

static void all_hear_all_while_they_block(void **state)
{
	crowd_open();
	for (uint32_t i = 0; i < CROWD; i++)
		crowd[i].blocking = true;
	run_crowd(harness_count(500, 50000), 1500);
	crowd_close();
}

/* -- attaching and detaching under traffic ------------------------------------------- */

#define RECEIVES 4096

/* Receives that chatter may still use up: there is always one for the marker, whoever of
 * its receiver's threads gets the CPUs. */
static _Atomic int room;

static bool take_room(void)
{
	if (atomic_fetch_sub(&room, 1) > 0)
		return true;
	atomic_fetch_add(&room, 1);
	return false;
}

static void *chatter(void *arg)
{
	struct one *o = arg;

	for (uint32_t i = 0; !atomic_load(&o->stop);) {
		if (take_room())
			world_send_number(&o->qp, &o->ah, i++, 64);
		else
			harness_pause();
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

/* A marker sent after the attach returned arrives; one sent after the detach does not. */
static void attach_and_detach_are_exact_under_traffic(void **state)
{
	unsigned int rounds = harness_count(50, 20000);
	struct world_qp q;
	struct ibv_wc wc[16];

	crowd_open();
	for (uint32_t i = 0; i < 2; i++)
		pthread_create(&crowd[i].sender, NULL, chatter, &crowd[i]);
	for (unsigned int r = 0; r < rounds; r++) {
		bool found = false;

		world_qp_create(&q, crowd[2].process,
				(struct world_qp_options){ .depth = RECEIVES });
		world_post_recv(&q, RECEIVES);
		atomic_store(&room, RECEIVES / 2);
		harness_until(atomic_load(&room) < RECEIVES / 2, 20000, sched_yield());
		world_attach(&q, GROUP);
		world_send_number(&crowd[3].qp, &crowd[3].ah, r, 100);
		harness_until(found, 20000, {
			int n = world_poll(&q, 16, wc);

			for (int i = 0; i < n; i++)
				found |= wc[i].src_qp == crowd[3].qp.qpn;
			world_post_recv(&q, (uint32_t)n);
			atomic_fetch_add(&room, n);
		});
		world_detach(&q, GROUP, true);
		while (world_poll(&q, 16, wc))
			;
		engine_turn(crowd[2].process->engine);
		assert_int_equal(world_poll(&q, 16, wc), 0);
		world_qp_destroy(&q);
	}
	for (uint32_t i = 0; i < 2; i++) {
		atomic_store(&crowd[i].stop, true);
		pthread_join(crowd[i].sender, NULL);
	}
	crowd_close();
}

/* -- processes that come and go -------------------------------------------------------- */

#define BEHIND 5u /* rounds, and receives for twice as many */

static void *take_all(void *arg)
{
	struct one *o = arg;
	struct ibv_wc wc[16];

	while (!atomic_load(&o->stop)) {
		int n = world_try_poll(&o->qp, 16, wc);

		if (n)
			world_post_recv(&o->qp, (uint32_t)n);
		else
			harness_pause();
		atomic_fetch_add(&o->received, (uint32_t)n);
	}
	return NULL;
}

/* Told of it may be twice, where two threads of a process asked. */
static bool is_drained_by_all(const struct world_process *dead)
{
	for (uint32_t i = 1; i < CROWD; i++)
		if (atomic_load(&crowd[i].process->last_drained) < dead->incarnation)
			return false;
	return true;
}

static bool have_all_received(uint32_t count)
{
	for (uint32_t i = 1; i < CROWD; i++)
		if (atomic_load(&crowd[i].received) < count)
			return false;
	return true;
}

/* Slot 1 is used by one process after another; each sends, dies, and is buried, while
 * the others hear it and one of them talks. What it sent before it died all arrives. */
static void slots_change_hands_under_traffic(void **state)
{
	unsigned int rounds = harness_count(20, 2000);

	crowd_open();
	for (uint32_t i = 1; i < CROWD; i++) {
		world_attach(&crowd[i].qp, GROUP);
		world_post_recv(&crowd[i].qp, 1024);
		pthread_create(&crowd[i].receiver, NULL, take_all, &crowd[i]);
	}
	for (unsigned int r = 0; r < rounds; r++) {
		struct one *o = &crowd[0];

		/* What nobody has polled yet finds receives. */
		if (r > BEHIND)
			harness_until(have_all_received(101 * (r - BEHIND)), 20000,
				      harness_pause());
		for (uint32_t i = 0; i < 100; i++)
			world_send_number(&o->qp, &o->ah, i, 64);
		world_send_number(&crowd[3].qp, &crowd[3].ah, r, 64);
		one_close(o);
		world_stop(o->process);
		world_bury(&world, o->process);
		harness_until(is_drained_by_all(o->process), 20000, harness_pause());
		world_forget(o->process);
		one_open(o, 0);
	}
	for (uint32_t i = 1; i < CROWD; i++) {
		harness_until(atomic_load(&crowd[i].received) == 101 * rounds, 20000,
			      harness_pause());
		atomic_store(&crowd[i].stop, true);
		pthread_join(crowd[i].receiver, NULL);
	}
	crowd_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_hear_all_while_they_poll),
		cmocka_unit_test(all_hear_all_while_they_block),
		cmocka_unit_test(attach_and_detach_are_exact_under_traffic),
		cmocka_unit_test(slots_change_hands_under_traffic),
	};

	return harness_run(tests);
}
