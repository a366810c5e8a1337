/* SPDX-License-Identifier: BSD-2-Clause */
/* What the SA asks of ports by way of the SM is answered once, whoever goes first. */
// uses: fabric_net
#include <errno.h>

#include "world.h"

struct asker {
	struct sm_question q;
	unsigned int answers;
	int error;
	uint8_t data[SMP_DATA_BYTES];
};

static void answered(struct sm_question *q, int error, const uint8_t *data)
{
	struct asker *a = container_of(q, struct asker, q);

	assert_null(q->smp);
	a->answers++;
	a->error = error;
	if (!error)
		memcpy(a->data, data, SMP_DATA_BYTES);
}

static const struct subnet_port *a_port(struct world *w, unsigned int host)
{
	return subnet_port_by_lid(sm_subnet(w->sms[0].sm), world_lid(w, host));
}

static struct world *star(unsigned int hosts)
{
	struct topology *t = NULL;

	assert_int_equal(topology_star(hosts, 1, &t), 0);
	return world_up(t, 1);
}

static void tables_are_read_and_written(void **state)
{
	struct world *w = star(3);
	struct asker get = { .q.answered = answered }, set = get, again = get;
	uint8_t data[SMP_DATA_BYTES] = { 0 };

	assert_int_equal(
		sm_ask(w->sms[0].sm, &get.q, a_port(w, 2), SMP_SL_TO_VL, 0, NULL), 0);
	assert_int_equal(get.answers, 0); /* not from inside */
	world_run(w, TIMER_MS);
	assert_int_equal(get.answers, 1);
	assert_int_equal(get.error, 0);
	assert_int_equal(get.data[0], 0x01);
	data[8 + 7] = 5;
	sm_ask(w->sms[0].sm, &set.q, a_port(w, 2), SMP_GUID_INFO, 0, data);
	sm_ask(w->sms[0].sm, &again.q, a_port(w, 2), SMP_GUID_INFO, 0, NULL);
	world_run(w, TIMER_MS);
	assert_int_equal(set.answers, 1);
	assert_int_equal(again.data[8 + 7], 5);
	world_destroy(w);
}

static void refusal_and_silence_are_told_apart(void **state)
{
	struct world *w = star(3);
	struct asker bad = { .q.answered = answered }, silent = bad;

	sm_ask(w->sms[0].sm, &bad.q, a_port(w, 2), SMP_SWITCH_INFO, 0, NULL);
	world_run(w, TIMER_MS);
	assert_int_equal(bad.error, -EREMOTEIO);
	fabric_link_set(w->fabric, "h3", 1, false);
	sm_ask(w->sms[0].sm, &silent.q, a_port(w, 2), SMP_NODE_INFO, 0, NULL);
	world_run(w, 30 * SECOND);
	assert_int_equal(silent.answers, 1);
	assert_true(silent.error == -ETIMEDOUT || silent.error == -ECANCELED);
	world_destroy(w);
}

static void either_side_may_go_first(void **state)
{
	struct world *w = star(3);
	struct asker many[300];

	/* More than are on the wire at once. */
	for (unsigned int i = 0; i < 300; i++) {
		many[i] = (struct asker){ .q.answered = answered };
		assert_int_equal(sm_ask(w->sms[0].sm, &many[i].q, a_port(w, i % 3),
					SMP_NODE_INFO, 0, NULL),
				 0);
	}
	for (unsigned int i = 0; i < 300; i += 2)
		sm_question_drop(&many[i].q);
	world_run(w, 10 * TIMER_MS);
	for (unsigned int i = 0; i < 300; i++) {
		assert_int_equal(many[i].answers, i % 2);
		sm_question_drop(&many[i].q); /* of nothing */
	}
	for (unsigned int i = 0; i < 300; i++)
		sm_ask(w->sms[0].sm, &many[i].q, a_port(w, i % 3), SMP_NODE_INFO, 0,
		       NULL);
	world_sm_kill(w, 0);
	for (unsigned int i = 0; i < 300; i++)
		assert_null(many[i].q.smp);
	world_destroy(w);
}

/* Of those whose datagrams are lost too often, silence is the answer. */
static void loss_leaves_no_question_open(void **state)
{
	struct world *w = star(3);
	const struct fabric_trouble trouble = { .loss = 200000,
						.reorder = 200000,
						.delay_ns = 500 * TIMER_MS };
	struct asker many[300];
	unsigned int well = 0;

	fabric_trouble_set(w->fabric, &trouble);
	for (unsigned int i = 0; i < 300; i++) {
		many[i] = (struct asker){ .q.answered = answered };
		sm_ask(w->sms[0].sm, &many[i].q, a_port(w, i % 3), SMP_SL_TO_VL, 0, NULL);
	}
	world_run(w, 60 * SECOND);
	for (unsigned int i = 0; i < 300; i++) {
		assert_int_equal(many[i].answers, 1);
		well += !many[i].error;
		if (!many[i].error)
			assert_int_equal(many[i].data[0], 0x01);
	}
	assert_true(well > 150);
	world_destroy(w);
}

static const char *switch_of(struct world *w, unsigned int host)
{
	const struct topology *t = w->topology;
	struct fabric_port_info info;

	fabric_port_info(w->hosts[host], &info);
	for (uint32_t i = 0; i < t->count; i++)
		if (strcmp(t->nodes[i].name, info.node) == 0)
			return t->nodes[t->nodes[i].links[1].node].name;
	return NULL;
}

/* So many that they are dropped in several steps, the switch on the way to them first. */
static void who_is_about_to_be_dropped_is_not_asked(void **state)
{
	enum {
		HOSTS = 200
	};
	struct asker last = { .q.answered = answered };
	const struct subnet_port *port = NULL;
	struct topology *t = NULL;
	struct world *w;

	assert_int_equal(topology_two_level(2, 1, HOSTS, 1, &t), 0);
	w = world_up(t, 1);
	fabric_power_set(w->fabric, switch_of(w, 2 * HOSTS - 1), false);
	world_until(w, w->sms[0].outs > 1, 30 * SECOND);
	for (unsigned int i = HOSTS; i < 2 * HOSTS && !port; i++)
		port = subnet_port_by_guid(sm_subnet(w->sms[0].sm), world_guid(w, i));
	assert_non_null(port);
	assert_int_equal(
		sm_ask(w->sms[0].sm, &last.q, port, SMP_NODE_DESCRIPTION, 0, NULL), 0);
	world_run(w, 10 * TIMER_MS);
	assert_int_equal(last.answers, 1);
	assert_int_equal(last.error, -ECANCELED);
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_read_and_written),
		cmocka_unit_test(refusal_and_silence_are_told_apart),
		cmocka_unit_test(either_side_may_go_first),
		cmocka_unit_test(loss_leaves_no_question_open),
		cmocka_unit_test(who_is_about_to_be_dropped_is_not_asked),
	};

	return harness_run(tests);
}
