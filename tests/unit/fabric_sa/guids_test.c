/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GUIDs that a port has beside its own: GUIDInfoRecord Set and Delete.
 */
#include "unit/fabric_sa/world.h"

#define MASK_LID   1ull
#define MASK_BLOCK 2ull
#define PLACE(i)   (1ull << (4 + (i)))
#define NEEDED     (MASK_LID | MASK_BLOCK)
#define LOCAL      (1ull << 57)

static int setup(void **state)
{
	*state = world_create(6);
	return 0;
}

static int teardown(void **state)
{
	world_destroy(*state);
	return 0;
}

/* Of the port of that LID. */
static struct world_ask ask_of(struct world *w, const char *text, unsigned int lid,
			       uint64_t mask)
{
	struct world_ask ask;

	world_ask_parse(w, &ask, text);
	ask.raw = true;
	ask.sa.comp_mask = mask;
	ask.data[1] = (uint8_t)lid;
	return ask;
}

static void wish(struct world_ask *ask, unsigned int place, uint64_t guid)
{
	for (unsigned int i = 0; i < 8; i++)
		ask->data[8 + 8 * place + i] = (uint8_t)(guid >> 8 * (7 - i));
}

static uint64_t guid_in(const struct world_mad *m, unsigned int place)
{
	uint64_t guid = 0;

	for (unsigned int i = 0; i < 8; i++)
		guid = guid << 8 | m->bytes[SA_DATA + 8 + 8 * place + i];
	return guid;
}

static const struct world_mad *answer(struct world *w, const struct world_ask *ask,
				      int status)
{
	const struct world_mad *m = world_do(w, ask);

	assert_non_null(m);
	assert_int_equal(m->mad.status, status);
	assert_int_equal(m->sa.attr_offset, status ? 0 : 9);
	return m;
}

static int status_of(struct world *w, const char *text, unsigned int lid, uint64_t mask)
{
	struct world_ask ask = ask_of(w, text, lid, mask);
	const struct world_mad *m = world_do(w, &ask);

	assert_non_null(m);
	return m->mad.status;
}

static void one_is_chosen_kept_and_given_back(void **state)
{
	struct world *w = *state;
	struct world_ask ask = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(3));
	const struct world_mad *m = answer(w, &ask, 0);
	uint64_t guid = guid_in(m, 3);

	assert_true(guid & LOCAL);
	assert_int_equal(m->bytes[SA_DATA + 1], 2);
	assert_int_equal(guid_in(m, 0), small_guid(2));
	assert_int_equal(guid_in(m, 1), 0);
	assert_int_equal(w->sm.guids[2][3], guid);
	/* Asked again, with another transaction: the same. */
	ask = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(3) | PLACE(1));
	m = answer(w, &ask, 0);
	assert_int_equal(guid_in(m, 3), guid);
	assert_true(guid_in(m, 1) && guid_in(m, 1) != guid);
	ask = ask_of(w, "H2 delete attr=30", 2, NEEDED | PLACE(3));
	m = answer(w, &ask, 0);
	assert_int_equal(guid_in(m, 3), 0);
	assert_true(guid_in(m, 1));
	assert_int_equal(w->sm.guids[2][3], 0);
}

static void a_guid_is_one_ports(void **state)
{
	struct world *w = *state;
	struct world_ask ask = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(1));

	wish(&ask, 1, 0x1234);
	assert_int_equal(guid_in(answer(w, &ask, 0), 1), 0x1234);
	ask = ask_of(w, "H3 set attr=30", 3, NEEDED | PLACE(1) | PLACE(2));
	wish(&ask, 1, 0x5678);
	wish(&ask, 2, 0x1234);
	answer(w, &ask, SA_REQ_DENIED);
	assert_int_equal(w->sm.guids[3][1], 0);
	ask = ask_of(w, "H3 set attr=30", 3, NEEDED | PLACE(1));
	wish(&ask, 1, small_guid(4));
	answer(w, &ask, SA_REQ_DENIED);
	/* Nor twice the port's own; and what was refused is free. */
	ask = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(2));
	wish(&ask, 2, 0x1234);
	answer(w, &ask, SA_REQ_DENIED);
	wish(&ask, 2, 0x5678);
	ask.mad.tid++;
	answer(w, &ask, 0);
	/* Free when it is given back, or its port goes. */
	assert_int_equal(status_of(w, "H2 delete attr=30", 2, NEEDED | PLACE(1)), 0);
	sa_server_sm_ops.port_out(w->server, small_guid(2));
	ask = ask_of(w, "H3 set attr=30", 3, NEEDED | PLACE(1) | PLACE(2));
	wish(&ask, 1, 0x5678);
	wish(&ask, 2, 0x1234);
	answer(w, &ask, 0);
}

static void a_ports_own_stays(void **state)
{
	struct world *w = *state;
	struct world_ask ask = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(0));

	wish(&ask, 0, 0x1234);
	assert_int_equal(guid_in(answer(w, &ask, 0), 0), small_guid(2));
	assert_int_equal(status_of(w, "H2 delete attr=30", 2, NEEDED | PLACE(0)), 0);
}

static void what_is_refused(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	assert_int_equal(status_of(w, "H2 set attr=30", 2, MASK_LID | PLACE(1)),
			 SA_REQ_INVALID);
	assert_int_equal(status_of(w, "H2 set attr=30", 2, MASK_BLOCK | PLACE(1)),
			 SA_REQ_INVALID);
	assert_int_equal(status_of(w, "H2 set attr=30", 77, NEEDED | PLACE(1)),
			 SA_REQ_INVALID);
	ask = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(1));
	ask.data[2] = 1; /* there is one block */
	answer(w, &ask, SA_REQ_INVALID);
	/* Another's, but for who knows the key. */
	assert_int_equal(status_of(w, "H3 set attr=30", 2, NEEDED | PLACE(1)),
			 SA_REQ_DENIED);
	assert_int_equal(status_of(w, "H3 delete attr=30", 2, NEEDED | PLACE(1)),
			 SA_REQ_DENIED);
	assert_int_equal(status_of(w, "H3 set key=1 attr=30", 2, NEEDED | PLACE(1)), 0);
	/* A switch has its own alone. */
	w->sm.nodes[0].ports[0].info.guid_cap = 1;
	assert_int_equal(
		status_of(w, "H3 set key=1 attr=30", SMALL_SWITCH_LID, NEEDED | PLACE(1)),
		SA_REQ_INVALID);
}

static void a_port_that_does_not_answer_changes_nothing(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	w->sm.ask_error = -ETIMEDOUT;
	assert_int_equal(status_of(w, "H2 set attr=30", 2, NEEDED | PLACE(1)),
			 SA_NO_RESOURCES);
	w->sm.ask_error = -EREMOTEIO;
	assert_int_equal(status_of(w, "H2 set attr=30", 2, NEEDED | PLACE(1)),
			 SA_REQ_DENIED);
	w->sm.ask_error = 0;
	ask = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(1));
	answer(w, &ask, 0);
}

/* Two at once, of which neither undoes the other. */
static void changes_of_a_port_follow_each_other(void **state)
{
	struct world *w = *state;
	struct world_ask a = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(1));
	struct world_ask b = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(2));
	struct world_ask c = ask_of(w, "H3 set attr=30", 3, NEEDED | PLACE(2));

	w->sm.ask_ns = 1000;
	wish(&a, 1, 0x1111);
	wish(&b, 2, 0x2222);
	wish(&c, 2, 0x1111); /* at another port, at the same time */
	world_ask_send(w, &a);
	world_ask_send(w, &b);
	world_ask_send(w, &c);
	world_run(w, 100000);
	assert_int_equal(w->sent_count, 3);
	assert_int_equal(w->sm.guids[2][1], 0x1111);
	assert_int_equal(w->sm.guids[2][2], 0x2222);
	assert_int_equal(w->sm.guids[3][2], 0);
}

static void one_port_does_not_take_all_room(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	w->sm.ask_ns = 1000;
	for (unsigned int i = 0; i < 9; i++) {
		ask = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(1));
		world_ask_send(w, &ask);
	}
	assert_int_equal(w->sent_count, 1);
	assert_int_equal(w->sent[0].mad.status, MAD_STATUS_BUSY);
	ask = ask_of(w, "H3 set attr=30", 3, NEEDED | PLACE(1));
	world_ask_send(w, &ask);
	world_run(w, 100000);
	assert_int_equal(w->sent_count, 10);
	for (unsigned int i = 1; i < 10; i++)
		assert_int_equal(w->sent[i].mad.status, 0);
}

static void the_manager_goes_meanwhile(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	w->sm.ask_ns = 1000;
	for (unsigned int i = 1; i < 4; i++) {
		ask = ask_of(w, "H2 set attr=30", 2, NEEDED | PLACE(i));
		world_ask_send(w, &ask);
	}
	world_run(w, 500);
	sa_server_sm_ops.down(w->server);
	world_run(w, 100000);
	assert_int_equal(w->sent_count, 0);
	assert_null(w->sm.asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_is_chosen_kept_and_given_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_guid_is_one_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(a_ports_own_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_port_that_does_not_answer_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_of_a_port_follow_each_other,
						setup, teardown),
		cmocka_unit_test_setup_teardown(one_port_does_not_take_all_room, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_manager_goes_meanwhile, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
