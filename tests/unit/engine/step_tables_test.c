// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS noasan
/*
 * Death at every instruction (spec/dataplane 2), of verbcastd while it writes the tables:
 * attaching, detaching, making and giving up groups and queue pair numbers, burying. It is
 * stepped through them; wherever the tables differ from the step before, that is copied,
 * and clients live on with the copy, which stands still: what their datagrams do not
 * concern arrives once and whole, what they concern reaches nobody who is not a member,
 * and no call hangs. Those who were told of an attach hear from then on, and those who
 * were told of a detach no more. The same on InfiniBand, where an entry is replaced when
 * a route comes or goes (shm_group_relink): whom it leads to all the time hears all.
 */
#include "engine/engine_priv.h" /* helper_stop */
#include "processes.h"
#include "steps.h"

#define SENDER    1u
#define STEADY    2u /* member of STILL and CHANGED throughout */
#define GUEST     3u /* comes and goes */
#define DEAD      4u /* member of both; is buried */
#define STILL     1u /* the groups, by number */
#define CHANGED   2u
#define DEPTH     256u
#define HOME_QPN  0x300u /* lies where the number of the steady one belongs */
#define MLID      0xc009u
#define LINES_MAX 4096u /* lines of the tables that the daemon writes */
#define WAIT_MS   5000u

/* What the daemon tells the test of each act: shared with it. */
struct told {
	_Atomic uint32_t done;
	uint64_t generation;
	uint32_t entry;
};

static struct world world;
static struct shm_tables *daemons; /* its own tables, which the clients' follow */
static struct told *told;
static uint32_t brief; /* a group that shares its chain with STILL */
static const uint8_t routed_mgid[16] = { 0xff, 0x12, 0xa0, 0x1b, [15] = 9 };

/* -- what the daemon does --------------------------------------------------------------- */

static uint32_t entry_of(struct shm_tables *t, uint32_t group)
{
	uint8_t mgid[16];

	world_mgid(group, mgid);
	return shm_group_find(t, 0, mgid, 0);
}

static void attach_guest(struct shm_tables *t)
{
	told->entry = entry_of(t, CHANGED);
	told->generation = shm_group_set(t, told->entry, GUEST);
}

static void detach_guest(struct shm_tables *t)
{
	shm_group_clear(t, entry_of(t, CHANGED), GUEST);
}

static void make_brief(struct shm_tables *t)
{
	uint8_t mgid[16];

	world_mgid(brief, mgid);
	if (shm_group_link(t, 0, mgid, 0, &told->entry))
		_exit(1);
	told->generation = shm_group_set(t, told->entry, GUEST);
}

static void end_brief(struct shm_tables *t)
{
	uint32_t entry = entry_of(t, brief);

	shm_group_clear(t, entry, GUEST);
	shm_group_unlink(t, entry);
}

static void change_numbers(struct shm_tables *t)
{
	shm_qp_unlink(t, 0, HOME_QPN);
	if (shm_qp_link(t, 0, HOME_QPN, GUEST))
		_exit(1);
	shm_qp_unlink(t, 0, HOME_QPN);
}

static void bury(struct shm_tables *t)
{
	atomic_store(&t->slots[DEAD].state, SHM_SLOT_DEAD);
	for (uint32_t i = 0; i < t->h.groups_used; i++)
		shm_group_clear(t, i, DEAD);
}

static void reuse_slot(struct shm_tables *t)
{
	atomic_store(&t->slots[DEAD].state, SHM_SLOT_FREE);
	atomic_fetch_add(&t->slots[DEAD].incarnation, 1);
	atomic_store(&t->slots[DEAD].state, SHM_SLOT_LIVE);
}

/* A route from the sender's port to the guest appears, or goes. */
static void change_route(struct shm_tables *t, bool in)
{
	const uint64_t changed[SHM_SLOT_WORDS] = { [GUEST / 64] = 1ull << GUEST % 64 };
	uint32_t to;

	if (shm_group_relink(t, shm_group_find(t, 0, routed_mgid, MLID), changed, in,
			     &to))
		_exit(1);
}

static void lead(struct shm_tables *t)
{
	change_route(t, true);
}

static void lead_no_more(struct shm_tables *t)
{
	change_route(t, false);
}

typedef void (*act_fn)(struct shm_tables *t);

static const act_fn roce_acts[] = {
	attach_guest, detach_guest, make_brief,   end_brief,    make_brief,     end_brief,
	bury,         reuse_slot,   attach_guest, detach_guest, change_numbers,
};
static const act_fn route_acts[] = { lead, lead_no_more, lead, lead_no_more };

static const act_fn *acts; /* those of the test */
static uint32_t act_count;

static void daemon_main(void)
{
	steps_begin();
	for (uint32_t i = 0; i < act_count; i++) {
		acts[i](daemons);
		atomic_store(&told->done, i + 1);
	}
	steps_end();
}

/* -- which lines that touches ------------------------------------------------------------ */

static uint32_t lines[LINES_MAX], line_count;

static void *line(struct shm_tables *t, uint32_t i)
{
	return (uint8_t *)t + (size_t)lines[i] * SHM_CACHE_LINE;
}

static void lines_note(const struct shm_tables *before, const struct shm_tables *after)
{
	const size_t count = sizeof(*before) / SHM_CACHE_LINE;
	const uint8_t *a = (const uint8_t *)before, *b = (const uint8_t *)after;

	for (uint32_t i = 0; i < count; i++) {
		if (!memcmp(a + i * SHM_CACHE_LINE, b + i * SHM_CACHE_LINE,
			    SHM_CACHE_LINE))
			continue;
		assert_true(line_count < LINES_MAX);
		lines[line_count++] = i;
	}
}

static struct shm_tables *memory_new(void)
{
	void *p = mmap(NULL, sizeof(struct shm_tables), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

/* By doing it all once, elsewhere. That none is missing is seen at the end. */
static void lines_find(void)
{
	struct shm_tables *before = memory_new(), *t = memory_new();

	line_count = 0;
	memcpy(t, world.tables, sizeof(*t));
	for (uint32_t i = 0; i < act_count; i++) {
		memcpy(before, t, sizeof(*t));
		acts[i](t);
		lines_note(before, t);
	}
	munmap(before, sizeof(*before));
	munmap(t, sizeof(*t));
}

static bool tables_follow(void)
{
	bool changed = false;

	for (uint32_t i = 0; i < line_count; i++) {
		if (!memcmp(line(world.tables, i), line(daemons, i), SHM_CACHE_LINE))
			continue;
		memcpy(line(world.tables, i), line(daemons, i), SHM_CACHE_LINE);
		changed = true;
	}
	return changed;
}

/* -- numbers that collide ----------------------------------------------------------------- */

/* A group whose entry lies in one chain with that of STILL. */
static uint32_t colliding_group(struct shm_tables *t)
{
	uint8_t mgid[16];
	uint32_t entry;

	for (uint32_t n = 100;; n++) {
		bool collides;

		world_mgid(n, mgid);
		assert_int_equal(shm_group_link(t, 0, mgid, 0, &entry), 0);
		collides = atomic_load(&t->groups[entry].next) == entry_of(t, STILL);
		shm_group_unlink(t, entry);
		if (collides)
			return n;
	}
}

static uint32_t place_of_qp(const struct shm_tables *t, uint32_t qpn)
{
	const uint64_t word = shm_qp_pack(0, qpn, STEADY);
	uint32_t i = 0;

	while (atomic_load(&t->qps[i]) != word)
		i++;
	return i;
}

/* A number whose place is that of `qpn`, so that who comes second lies behind. */
static uint32_t colliding_qpn(struct shm_tables *t, uint32_t qpn)
{
	uint32_t at, n = 0x100000;
	bool collides;

	assert_int_equal(shm_qp_link(t, 0, qpn, STEADY), 0);
	at = place_of_qp(t, qpn);
	shm_qp_unlink(t, 0, qpn);
	do {
		assert_int_equal(shm_qp_link(t, 0, ++n, STEADY), 0);
		collides = atomic_load(&t->qps[at]) != 0;
		shm_qp_unlink(t, 0, n);
	} while (!collides);
	return n;
}

/* -- the clients --------------------------------------------------------------------------- */

static struct world_qp sender, steady, guest;
static uint8_t unicast_gid[16];
static uint32_t number; /* of the next datagram */
static bool guest_told, guest_may;
static uint32_t guest_entry;

enum purpose {
	TO_STILL,
	TO_CHANGED,
	TO_BRIEF,
	TO_STEADY,
	PURPOSES
};

/* Kept from the beginning to the end; others are made anew each time. */
static struct engine_verbs_ah kept[PURPOSES];

static void ah_open(enum purpose to, struct engine_verbs_ah *ah)
{
	if (to == TO_STILL)
		world_group_ah(sender.process, STILL, ah);
	else if (to == TO_CHANGED)
		world_group_ah(sender.process, CHANGED, ah);
	else if (to == TO_BRIEF)
		world_group_ah(sender.process, brief, ah);
	else
		world_ah(sender.process, unicast_gid, ah);
}

/* Its first word is its number, the second what it is for. */
static void post(enum purpose to, struct engine_verbs_ah *ah)
{
	uint32_t words[2] = { number++, to };
	struct ibv_sge sge = { (uintptr_t)words, sizeof(words), 0 };
	struct ibv_send_wr wr = world_wr(ah, &sge), *bad;

	wr.send_flags = IBV_SEND_INLINE;
	if (to == TO_STEADY)
		wr.wr.ud.remote_qpn = steady.qpn;
	assert_int_equal(engine_qp_post_send(sender.qp, &wr, &bad), 0);
}

static void post_all(void)
{
	for (enum purpose to = 0; to < PURPOSES; to++) {
		struct engine_verbs_ah fresh;

		post(to, &kept[to]);
		ah_open(to, &fresh);
		post(to, &fresh);
		engine_ah_destroy(fresh.engine);
	}
}

/* Poll one; returns its purpose. */
static uint32_t take(struct world_qp *q, const struct ibv_wc *wc)
{
	uint32_t words[2];

	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(wc->byte_len, 40 + sizeof(words));
	memcpy(words, world_buffer(q, wc->wr_id) + 40, sizeof(words));
	world_post_recv(q, 1);
	assert_in_range(words[0], number - 2 * PURPOSES, number - 1);
	return words[1];
}

/* Two of each, in order, and nothing of the brief group. */
static void expect_steady_gets_its_own(void)
{
	static const uint32_t expected[] = { TO_STILL,   TO_STILL,  TO_CHANGED,
					     TO_CHANGED, TO_STEADY, TO_STEADY };
	struct ibv_wc wc;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		harness_until(world_poll(&steady, 1, &wc), WAIT_MS, harness_pause());
		assert_int_equal(take(&steady, &wc), expected[i]);
	}
	assert_int_equal(world_poll(&steady, 1, &wc), 0);
}

/* What was sent to it before its attach returned does not come; what was sent behind it
 * does, twice, until its detach begins; and then it may. */
static void expect_guest_gets_no_more(uint32_t purpose)
{
	struct ibv_wc wc;
	uint32_t got = 0;

	if (guest_told)
		harness_until(got == 2, WAIT_MS, {
			if (!world_poll(&guest, 1, &wc))
				continue;
			assert_int_equal(take(&guest, &wc), purpose);
			got++;
		});
	else
		engine_turn(guest.process->engine);
	while (world_poll(&guest, 1, &wc)) {
		assert_true(guest_may && ++got <= 2);
		assert_int_equal(take(&guest, &wc), purpose);
	}
}

static void live_on(uint32_t purpose)
{
	post_all();
	expect_steady_gets_its_own();
	expect_guest_gets_no_more(purpose);
}

/* The daemon's answer arrives: an attach or a detach is over. */
static uint32_t hear_of(uint32_t done, uint32_t purpose)
{
	act_fn act = acts[done - 1];

	if (act == attach_guest || act == make_brief) {
		guest_entry = told->entry;
		assert_int_equal(
			engine_qp_attach(guest.qp, guest_entry, told->generation, 0), 0);
		guest_told = guest_may = true;
		purpose = act == make_brief ? TO_BRIEF : TO_CHANGED;
		live_on(purpose);
		guest_told = false; /* the next act may be the detach */
	} else if (act == detach_guest || act == end_brief) {
		assert_int_equal(engine_qp_detach(guest.qp, guest_entry), 0);
		guest_may = false;
		live_on(purpose);
	}
	return purpose;
}

static void client_open(struct world_qp *q, uint32_t slot)
{
	struct world_process *p = world_start(&world, slot);

	world_qp_create(q, p, (struct world_qp_options){ .depth = DEPTH });
	helper_stop(p->engine);
	world_post_recv(q, DEPTH);
}

static void acts_begin(const act_fn *of_test, uint32_t count)
{
	acts = of_test;
	act_count = count;
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(told != MAP_FAILED);
	daemons = memory_new();
	memcpy(daemons, world.tables, sizeof(*daemons));
	lines_find();
	memset(told, 0, sizeof(*told));
}

static void acts_end(void)
{
	munmap(daemons, sizeof(*daemons));
	munmap(told, sizeof(*told));
}

static int set_up(void **state)
{
	world_open(&world);
	memcpy(unicast_gid, world.tables->ports[0].gids[0].gid, 16);
	client_open(&sender, SENDER);
	client_open(&guest, GUEST);
	world_group(&world, STILL);
	world_group(&world, CHANGED);
	brief = colliding_group(world.tables);
	world.next_qpn = colliding_qpn(world.tables, HOME_QPN);
	assert_int_equal(shm_qp_link(world.tables, 0, HOME_QPN, STEADY), 0);
	client_open(&steady, STEADY);
	world_attach(&steady, STILL);
	world_attach(&steady, CHANGED);
	world_start(&world, DEAD);
	shm_group_set(world.tables, world_group(&world, STILL), DEAD);
	shm_group_set(world.tables, world_group(&world, CHANGED), DEAD);
	for (enum purpose to = 0; to < PURPOSES; to++)
		ah_open(to, &kept[to]);
	acts_begin(roce_acts, sizeof(roce_acts) / sizeof(roce_acts[0]));
	return 0;
}

static int tear_down(void **state)
{
	for (enum purpose to = 0; to < PURPOSES; to++)
		engine_ah_destroy(kept[to].engine);
	memset(kept, 0, sizeof(kept)); /* another test may not open them all */
	world_qp_destroy(&steady);
	world_qp_destroy(&guest);
	world_qp_destroy(&sender);
	acts_end();
	world_close(&world);
	return 0;
}

static pid_t daemon_start(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		daemon_main();
	}
	assert_true(pid > 0);
	steps_await(pid);
	return pid;
}

static void the_daemon_may_die_at_every_instruction(void **state)
{
	unsigned int steps = 0, states = 0;
	uint32_t done = 0, purpose = TO_CHANGED;
	pid_t pid = daemon_start();

	while (steps_next(pid)) {
		steps++;
		if (tables_follow()) {
			states++;
			live_on(purpose);
		}
		if (atomic_load(&told->done) != done)
			purpose = hear_of(++done, purpose);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(done, act_count);
	assert_memory_equal(world.tables, daemons, sizeof(*daemons));
	assert_true(states > 60);
	print_message("%u instructions, %u states of the tables\n", steps, states);
}

/* -- routes ------------------------------------------------------------------------------- */

static void infiniband_port(uint32_t p)
{
	struct shm_port *port = &world.tables->ports[p];

	world_port(&world, p, "10.0.0.1");
	port->link_layer = SHM_LINK_INFINIBAND;
	atomic_store(&port->lid, 0x10 + p);
	memset(port->gids[0].gid, 0, 16);
	port->gids[0].gid[0] = 0xfe;
	port->gids[0].gid[1] = 0x80;
	port->gids[0].gid[15] = (uint8_t)(p + 1);
	port->gids[0].type = SHM_GID_IB;
}

static void client_open_on(struct world_qp *q, uint32_t slot, uint32_t port)
{
	const struct engine_qp_attr attr = { .state = IBV_QPS_RTS,
					     .port_index = port,
					     .port_num = 1,
					     .qkey = WORLD_QKEY };
	struct world_process *p;

	world.tables->slots[slot].node = port;
	p = world_start(&world, slot);
	world_qp_create_on(q, p, port, (struct world_qp_options){ .depth = DEPTH });
	engine_qp_modify(q->qp, &attr);
	helper_stop(p->engine);
	world_post_recv(q, DEPTH);
}

/* A member by what comes from its own port. */
static void routed_attach(struct world_qp *q, uint32_t port)
{
	uint64_t generation;
	uint32_t entry;

	assert_int_equal(shm_group_link(world.tables, port, routed_mgid, MLID, &entry),
			 0);
	generation = shm_group_set(world.tables, entry, q->process->slot);
	assert_int_equal(engine_qp_attach_group(q->qp, routed_mgid, MLID, generation, 0),
			 0);
}

static void routed_ah(struct engine_verbs_ah *ah)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .dlid = MLID };

	memcpy(attr.grh.dgid.raw, routed_mgid, 16);
	memset(ah, 0, sizeof(*ah));
	assert_int_equal(
		engine_ah_create(sender.process->engine, WORLD_PD, 0, &attr, &ah->engine),
		0);
}

static int routes_set_up(void **state)
{
	world_open(&world);
	infiniband_port(0);
	infiniband_port(1);
	client_open_on(&sender, SENDER, 0);
	client_open_on(&steady, STEADY, 0);
	client_open_on(&guest, GUEST, 1);
	routed_attach(&steady, 0);
	routed_attach(&guest, 1);
	routed_ah(&kept[0]);
	acts_begin(route_acts, sizeof(route_acts) / sizeof(route_acts[0]));
	return 0;
}

/* By a handle that is kept, and by one made now. */
static void routed_post(void)
{
	struct engine_verbs_ah fresh;

	post(TO_STILL, &kept[0]);
	routed_ah(&fresh);
	post(TO_STILL, &fresh);
	engine_ah_destroy(fresh.engine);
}

static void expect_guest_gets(uint32_t least, uint32_t most)
{
	struct ibv_wc wc;
	uint32_t got = 0;

	harness_until(got >= least, WAIT_MS, {
		if (!world_poll(&guest, 1, &wc))
			continue;
		assert_int_equal(take(&guest, &wc), TO_STILL);
		got++;
	});
	engine_turn(guest.process->engine);
	while (world_poll(&guest, 1, &wc)) {
		assert_true(++got <= most);
		assert_int_equal(take(&guest, &wc), TO_STILL);
	}
}

static void route_on(uint32_t least, uint32_t most)
{
	struct ibv_wc wc;

	routed_post();
	for (int i = 0; i < 2; i++) {
		harness_until(world_poll(&steady, 1, &wc), WAIT_MS, harness_pause());
		assert_int_equal(take(&steady, &wc), TO_STILL);
	}
	assert_int_equal(world_poll(&steady, 1, &wc), 0);
	expect_guest_gets(least, most);
}

static void a_route_may_be_left_half_changed(void **state)
{
	unsigned int steps = 0, states = 0;
	uint32_t done = 0;
	pid_t pid = daemon_start();

	route_on(0, 0);
	while (steps_next(pid)) {
		steps++;
		if (tables_follow()) {
			states++;
			route_on(0, 2);
		}
		if (atomic_load(&told->done) == done)
			continue;
		if (acts[done++] == lead)
			route_on(2, 2);
		else
			route_on(0, 0);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(done, act_count);
	assert_memory_equal(world.tables, daemons, sizeof(*daemons));
	assert_true(states > 40);
	print_message("%u instructions, %u states of the tables\n", steps, states);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_daemon_may_die_at_every_instruction,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_route_may_be_left_half_changed,
						routes_set_up, tear_down),
	};

	return harness_run(tests);
}
