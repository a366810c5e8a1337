/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots of processes: their memory, and what happens when one has died. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pidfd.h"
#include "daemon/slots.h"
#include "harness/harness.h"
#include "shm/doorbell.h"
#include "shm/log.h"

struct world {
	struct loop *loop;
	struct ib_node *node;
	struct shm_tables *tables;
	int tables_fd;
	struct slots *slots;
};

static struct world w;

static int set_up(void **state)
{
	assert_int_equal(loop_create(&w.loop), 0);
	w.node = ib_node_create("local", 0);
	assert_int_equal(shm_tables_create(&w.tables_fd, &w.tables), 0);
	assert_int_equal(slots_create(w.loop, w.tables, &w.slots), 0);
	return 0;
}

static int tear_down(void **state)
{
	slots_destroy(w.slots);
	shm_tables_destroy(w.tables_fd, w.tables);
	ib_node_destroy(w.node);
	loop_destroy(w.loop);
	return 0;
}

static struct uapi_process open_one(void)
{
	struct uapi_process p;

	assert_int_equal(slots_open(w.slots, w.node, 4711, "program", &p), 0);
	return p;
}

static void publish(const struct uapi_process *p)
{
	struct shm_log *log;
	int fd;

	assert_int_equal(shm_log_create(p->slot, p->incarnation, &fd, &log), 0);
	shm_log_unmap(log);
	assert_int_equal(slots_publish_log(w.slots, p->slot, fd), 0);
}

static uint32_t state_of(uint32_t slot)
{
	return atomic_load(&w.tables->slots[slot].state);
}

static bool is_rung(const struct uapi_process *p, uint32_t sender)
{
	struct shm_doorbell *d;
	bool rung;

	assert_int_equal(shm_doorbell_map(p->doorbell_fd, &d), 0);
	rung = atomic_load(&d->words[sender / 64]) >> sender % 64 & 1 &&
	       atomic_load(&d->kicks) > 0;
	shm_doorbell_unmap(d);
	return rung;
}

static void a_process_is_live_and_has_memory(void **state)
{
	struct uapi_process p = open_one(), q = open_one();
	struct slot_view v;

	assert_int_not_equal(p.slot, q.slot);
	assert_int_equal(p.incarnation, 1);
	assert_int_equal(state_of(p.slot), SHM_SLOT_LIVE);
	assert_true(slots_view(w.slots, p.slot, &v));
	assert_int_equal(v.pid, 4711);
	assert_string_equal(v.program, "program");
	assert_string_equal(v.node, "local");
	assert_int_equal(v.counters->slot, p.slot);
	assert_false(slots_view(w.slots, SHM_SLOTS_MAX, &v));
}

static void peers_memory_is_handed_out_while_there_is_any(void **state)
{
	struct uapi_process p = open_one(), q = open_one();
	struct uapi_peer peer;

	assert_int_equal(slots_map_peer(w.slots, q.slot, p.slot, &peer), 0);
	assert_int_equal(peer.doorbell_fd, p.doorbell_fd);
	assert_int_equal(peer.log_fd, -1);
	assert_false(peer.dead);
	publish(&p);
	assert_int_equal(slots_map_peer(w.slots, q.slot, p.slot, &peer), 0);
	assert_true(peer.log_fd >= 0);
	assert_int_equal(slots_map_peer(w.slots, q.slot, 1000, &peer), -ENOENT);
	assert_int_equal(slots_map_peer(w.slots, q.slot, SHM_SLOTS_MAX, &peer), -EINVAL);
	assert_int_equal(slots_map_peer(w.slots, q.slot, UINT32_MAX, &peer), -EINVAL);
}

static void a_peers_process_is_shown_while_it_lives(void **state)
{
	struct uapi_process p, q = open_one();
	struct uapi_peer peer;
	pid_t pid, inner;

	if (pidfd_open_process(0x7fffffff) == -ENOSYS)
		harness_skip("this kernel has no process descriptors");
	assert_int_equal(slots_open(w.slots, w.node, getpid(), "program", &p), 0);
	publish(&p);
	assert_int_equal(slots_map_peer(w.slots, q.slot, p.slot, &peer), 0);
	assert_int_equal(pidfd_owner(peer.process_fd, &pid, &inner), 0);
	assert_int_equal(pid, getpid());
	slots_close(w.slots, p.slot);
	assert_int_equal(slots_map_peer(w.slots, q.slot, p.slot, &peer), 0);
	assert_true(peer.dead);
	assert_int_equal(peer.process_fd, -1);
}

static void only_ones_own_log_can_be_published_and_once(void **state)
{
	struct uapi_process p = open_one(), q = open_one();
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), other;
	struct shm_log *log;

	assert_true(slots_publish_log(w.slots, p.slot, fd) < 0);
	close(fd);
	assert_int_equal(shm_log_create(q.slot, q.incarnation, &other, &log), 0);
	shm_log_unmap(log);
	assert_true(slots_publish_log(w.slots, p.slot, other) < 0);
	assert_int_equal(slots_publish_log(w.slots, q.slot, other), 0);
	assert_int_equal(slots_publish_log(w.slots, q.slot, other), -EEXIST);
}

static void without_a_log_the_slot_is_free_at_once(void **state)
{
	struct uapi_process p = open_one();

	open_one();
	slots_close(w.slots, p.slot);
	assert_int_equal(state_of(p.slot), SHM_SLOT_FREE);
	assert_int_equal(slots_funerals(w.slots), 0);
}

static void the_living_are_kicked_and_the_log_stays_until_all_answered(void **state)
{
	struct uapi_process dead = open_one(), a = open_one(), b = open_one(), late;
	struct uapi_peer peer;

	publish(&dead);
	slots_close(w.slots, dead.slot);
	assert_int_equal(state_of(dead.slot), SHM_SLOT_DEAD);
	assert_true(is_rung(&a, dead.slot));
	assert_true(is_rung(&b, dead.slot));
	/* One who has not followed it yet can still ask. */
	assert_int_equal(slots_map_peer(w.slots, b.slot, dead.slot, &peer), 0);
	assert_true(peer.dead);
	assert_true(peer.log_fd >= 0);
	assert_int_equal(peer.doorbell_fd, -1);
	assert_int_equal(slots_drained(w.slots, a.slot, dead.slot, dead.incarnation), 0);
	assert_int_equal(state_of(dead.slot), SHM_SLOT_DEAD);
	/* Nobody gets it twice, nor one who came after the death. */
	assert_int_equal(slots_map_peer(w.slots, a.slot, dead.slot, &peer), -ENOENT);
	late = open_one();
	assert_int_equal(slots_map_peer(w.slots, late.slot, dead.slot, &peer), -ENOENT);
	slots_close(w.slots, late.slot);
	assert_int_equal(slots_drained(w.slots, a.slot, dead.slot, dead.incarnation), 0);
	assert_int_equal(state_of(dead.slot), SHM_SLOT_DEAD);
	/* Of an earlier life: does not count. */
	assert_int_equal(slots_drained(w.slots, b.slot, dead.slot, dead.incarnation - 1),
			 0);
	assert_int_equal(state_of(dead.slot), SHM_SLOT_DEAD);
	assert_int_equal(slots_drained(w.slots, b.slot, dead.slot, dead.incarnation), 0);
	assert_int_equal(state_of(dead.slot), SHM_SLOT_FREE);
	assert_int_equal(slots_map_peer(w.slots, b.slot, dead.slot, &peer), -ENOENT);
	assert_int_equal(slots_drained(w.slots, b.slot, SHM_SLOTS_MAX, 1), -EINVAL);
}

static void one_who_dies_is_not_waited_for(void **state)
{
	struct uapi_process dead = open_one(), a = open_one();

	publish(&dead);
	slots_close(w.slots, dead.slot);
	assert_int_equal(slots_funerals(w.slots), 1);
	slots_close(w.slots, a.slot);
	assert_int_equal(state_of(dead.slot), SHM_SLOT_FREE);
	assert_int_equal(slots_funerals(w.slots), 0);
}

static void the_logs_that_are_kept_are_bounded(void **state)
{
	uint32_t first = SHM_NONE;

	open_one(); /* answers never */
	for (int i = 0; i < 65; i++) {
		struct uapi_process p = open_one();

		publish(&p);
		slots_close(w.slots, p.slot);
		if (!i)
			first = p.slot;
	}
	assert_int_equal(slots_funerals(w.slots), 64);
	assert_int_equal(state_of(first), SHM_SLOT_FREE);
}

static void a_slot_that_is_used_again_has_another_incarnation(void **state)
{
	struct uapi_process p = open_one();
	uint32_t slot = p.slot;

	slots_close(w.slots, slot);
	for (unsigned int i = 0; i < SHM_SLOTS_MAX; i++) {
		p = open_one();
		if (p.slot == slot)
			break;
		slots_close(w.slots, p.slot);
	}
	assert_int_equal(p.slot, slot);
	assert_int_equal(p.incarnation, 2);
}

static void when_all_are_live_there_is_no_more(void **state)
{
	struct uapi_process p;

	/* Descriptors of the test are fewer than slots: mark them as taken. */
	for (uint32_t i = 0; i < SHM_SLOTS_MAX; i++)
		atomic_store(&w.tables->slots[i].state, SHM_SLOT_LIVE);
	assert_int_equal(slots_open(w.slots, w.node, 1, "x", &p), -EUSERS);
	for (uint32_t i = 0; i < SHM_SLOTS_MAX; i++)
		atomic_store(&w.tables->slots[i].state, SHM_SLOT_FREE);
	open_one();
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_process_is_live_and_has_memory),
		T(peers_memory_is_handed_out_while_there_is_any),
		T(a_peers_process_is_shown_while_it_lives),
		T(only_ones_own_log_can_be_published_and_once),
		T(without_a_log_the_slot_is_free_at_once),
		T(the_living_are_kicked_and_the_log_stays_until_all_answered),
		T(one_who_dies_is_not_waited_for),
		T(the_logs_that_are_kept_are_bounded),
		T(a_slot_that_is_used_again_has_another_incarnation),
		T(when_all_are_live_there_is_no_more),
	};

	return harness_run(tests);
}
