// SPDX-License-Identifier: BSD-2-Clause
/* A sender against a receiver, over channels good and bad (spec/sa-sm 1.2). */
#include <errno.h>

#include "world.h"

#define SA_ROOM 200u

static void transfer(uint8_t mgmt_class, size_t data)
{
	struct world w;
	size_t length;
	uint8_t *message = world_message(mgmt_class, data, &length);

	world_open(&w, 1);
	world_receive(&w, TIMEOUT_NS, 0);
	world_send(&w, message, length, 0);
	world_run(&w);
	world_assert_received(&w, message, length);
	world_close(&w);
	free(message);
}

static void every_length_of_up_to_five_segments_arrives(void **state)
{
	for (size_t data = 0; data <= 5 * SA_ROOM; data++)
		transfer(MAD_CLASS_SUBN_ADM, data);
	for (size_t data = 0; data <= 5 * 192; data += 32)
		transfer(MAD_CLASS_DEVICE, data);
	for (size_t data = 0; data <= 5 * 216; data += 36)
		transfer(0x30, data);
}

static void a_table_of_thousands_of_records_arrives(void **state)
{
	transfer(MAD_CLASS_SUBN_ADM, 5000 * 56);
	transfer(MAD_CLASS_SUBN_ADM, 11664 * 112);
}

static void every_segment_is_sent_once_and_few_are_acknowledged(void **state)
{
	struct world w;
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, 1000 * SA_ROOM, &length);

	world_open(&w, 1);
	world_receive(&w, TIMEOUT_NS, 0);
	world_send(&w, message, length, 0);
	world_run(&w);
	world_assert_received(&w, message, length);
	assert_int_equal(w.to_receiver, 1000);
	/* The first, the end of each window of 64, the last. */
	assert_int_equal(w.to_sender, 1 + (1000 - 1) / 64 + 1);
	world_close(&w);
	free(message);
}

static void a_bad_channel(uint64_t seed, uint32_t loss, size_t data)
{
	struct world w;
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, data, &length);

	world_open(&w, seed);
	w.loss = loss;
	w.doubling = (uint32_t)random_below(&w.random, 300000);
	w.jitter_ns = random_below(&w.random, 2) ? 3 * TIMEOUT_NS : DELAY_NS;
	world_receive(&w, 1000 * TIMEOUT_NS, 0);
	world_send(&w, message, length, 100);
	world_run_until(&w, w.sent.calls && w.received.calls);
	world_assert_received(&w, message, length);
	/* What is still under way is not heard any more. */
	world_run(&w);
	world_assert_received(&w, message, length);
	world_close(&w);
	free(message);
}

static void loss_reordering_and_doubles_change_nothing(void **state)
{
	unsigned int seeds = harness_count(300, 30000);

	for (unsigned int seed = 0; seed < seeds; seed++) {
		struct random r;

		random_seed(&r, seed);
		a_bad_channel(seed, (uint32_t)random_below(&r, 300000),
			      random_below(&r, 40 * SA_ROOM));
	}
	for (unsigned int seed = 0; seed < seeds / 30; seed++)
		a_bad_channel(seed, 50000, 2000 * 56);
}

static const uint8_t *first_segment(struct world *w, size_t data)
{
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, data, &length);

	/* What OpenSM hands over: Active and nothing else. */
	memset(message + MAD_HEADER_BYTES, 0, 12);
	message[26] = RMPP_ACTIVE;
	world_open(w, 1);
	world_send(w, message, length, 0);
	free(message);
	return w->last_to_receiver;
}

/* spec/sa-sm 1.2: ten NodeRecords, one MCMemberRecord, none. */
static void a_first_segment_has_these_bytes(void **state)
{
	static const struct {
		size_t data;
		uint8_t rmpp[12];
	} cases[] = {
		{ 1120, { 1, 1, 0xfb, 0, 0, 0, 0, 1, 0, 0, 4, 0xd8 } }, /* 6 x 220 - 80 */
		{ 56, { 1, 1, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 76 } },
		{ 0, { 1, 1, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 20 } },
		{ 200, { 1, 1, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 220 } },
		{ 201, { 1, 1, 0xfb, 0, 0, 0, 0, 1, 0, 0, 0, 241 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t length;
		uint8_t *message =
			world_message(MAD_CLASS_SUBN_ADM, cases[i].data, &length);
		struct world w;
		const uint8_t *mad = first_segment(&w, cases[i].data);

		assert_int_equal(w.to_receiver, 1);
		assert_memory_equal(mad, message, MAD_HEADER_BYTES);
		assert_memory_equal(mad + 24, cases[i].rmpp, 12);
		for (size_t n = RMPP_HEADER_BYTES; n < MAD_BYTES; n++)
			assert_int_equal(mad[n], n < length ? message[n] : 0);
		world_close(&w);
		free(message);
	}
}

/* ... and what its six segments say. */
static void the_last_segment_tells_its_own_length(void **state)
{
	struct world w;
	struct rmpp_header h;
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, 1120, &length);

	world_open(&w, 1);
	world_receive(&w, TIMEOUT_NS, 0);
	world_send(&w, message, length, 0);
	world_run(&w);
	assert_int_equal(w.to_receiver, 6);
	rmpp_header_get(w.last_to_receiver, &h);
	assert_int_equal(h.flags, RMPP_ACTIVE | RMPP_LAST);
	assert_int_equal(h.segment, 6);
	assert_int_equal(h.payload_length, 220 - 80);
	assert_memory_equal(w.last_to_receiver + 36, message + 36, 20);
	world_close(&w);
	free(message);
}

static void an_ack_is_the_other_sides_method_and_the_same_header(void **state)
{
	struct world w;
	struct rmpp_header h;
	struct mad_header m;
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, 300, &length);

	world_open(&w, 1);
	world_receive(&w, TIMEOUT_NS, 0);
	world_send(&w, message, length, 0);
	world_run_until(&w, w.to_sender == 1);
	rmpp_header_get(w.last_to_sender, &h);
	mad_header_get(w.last_to_sender, &m);
	assert_int_equal(h.version, 1);
	assert_int_equal(h.type, RMPP_ACK);
	assert_int_equal(h.flags, RMPP_ACTIVE);
	assert_int_equal(h.status, 0);
	assert_int_equal(h.segment, 1);
	assert_int_equal(h.payload_length, 65);
	assert_int_equal(m.method, MAD_METHOD_GET_TABLE);
	assert_true(m.tid == 0x1122334455667788ull);
	assert_int_equal(m.attr_id, 0x38);
	for (size_t i = 56; i < MAD_BYTES; i++)
		assert_int_equal(w.last_to_sender[i], 0);
	world_close(&w);
	free(message);
}

static void a_sender_without_an_answer_gives_up_after_its_tries(void **state)
{
	struct world w;
	struct rmpp_header h;
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, 1000, &length);

	world_open(&w, 1);
	w.loss = 1000000;
	world_send(&w, message, length, 3);
	world_run(&w);
	assert_int_equal(w.sent.calls, 1);
	assert_int_equal(w.sent.error, -ETIMEDOUT);
	assert_int_equal(w.sent.status, RMPP_STATUS_TOO_MANY_RETRIES);
	assert_int_equal(w.timers->now_ns, 1000 + 4 * TIMEOUT_NS);
	assert_int_equal(w.to_receiver, 4 + 1);
	rmpp_header_get(w.last_to_receiver, &h);
	assert_int_equal(h.type, RMPP_ABORT);
	assert_int_equal(h.status, RMPP_STATUS_TOO_MANY_RETRIES);
	/* Its own method: it is the sender's word. */
	assert_int_equal(w.last_to_receiver[3], MAD_METHOD_GET_TABLE_RESP);
	world_close(&w);
	free(message);
}

static void a_receiver_without_segments_gives_up(void **state)
{
	struct world w;
	struct rmpp_header h;
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, 1000, &length);

	world_open(&w, 1);
	world_receive(&w, 5 * TIMEOUT_NS, 0);
	world_run(&w);
	assert_int_equal(w.received.calls, 1);
	assert_int_equal(w.received.error, -ETIMEDOUT);
	assert_int_equal(w.to_sender, 0);
	world_close(&w);

	world_open(&w, 1);
	world_receive(&w, 5 * TIMEOUT_NS, 0);
	world_send(&w, message, length, 0);
	world_run_until(&w, w.to_sender == 1);
	rmpp_sender_destroy(w.sender);
	w.sender = NULL;
	world_run(&w);
	assert_int_equal(w.received.calls, 1);
	assert_int_equal(w.received.error, -ETIMEDOUT);
	assert_null(w.received.message);
	rmpp_header_get(w.last_to_sender, &h);
	assert_int_equal(h.type, RMPP_ABORT);
	assert_int_equal(h.status, RMPP_STATUS_T2L);
	world_close(&w);
	free(message);
}

/* Its ACK of the last segment was lost: it says it again, for as long as it is there. */
static void a_finished_receiver_acknowledges_what_comes_again(void **state)
{
	struct world w;
	struct rmpp_header h;
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, 500, &length);

	world_open(&w, 1);
	world_receive(&w, TIMEOUT_NS, 0);
	world_send(&w, message, length, 0);
	world_run(&w);
	world_assert_received(&w, message, length);
	world_to_receiver(&w, w.last_to_receiver);
	world_to_receiver(&w, w.last_to_receiver);
	assert_int_equal(w.to_sender, 2 + 2);
	rmpp_header_get(w.last_to_sender, &h);
	assert_int_equal(h.type, RMPP_ACK);
	assert_int_equal(h.segment, 3);
	world_run(&w);
	world_assert_received(&w, message, length);
	world_close(&w);
	free(message);
}

static void a_message_larger_than_the_receiver_takes_is_stopped(void **state)
{
	struct world w;
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, 1000, &length);

	for (int too_large = 0; too_large < 2; too_large++) {
		world_open(&w, 1);
		world_receive(&w, TIMEOUT_NS, length - (size_t)too_large);
		world_send(&w, message, length, 0);
		world_run(&w);
		if (!too_large) {
			world_assert_received(&w, message, length);
		} else {
			assert_int_equal(w.received.error, -EMSGSIZE);
			assert_int_equal(w.sent.error, -ECONNABORTED);
			assert_int_equal(w.sent.status, RMPP_STATUS_RESX);
			assert_int_equal(w.to_receiver, 1);
		}
		world_close(&w);
	}
	free(message);
}

static void a_message_that_is_none_is_refused(void **state)
{
	const struct rmpp_sender_config config = { 0 };
	uint8_t message[56] = { 1, MAD_CLASS_SUBN_ADM };
	struct rmpp_sender *s;

	assert_int_equal(rmpp_sender_create(&config, message, 55, &s), -EINVAL);
	assert_int_equal(rmpp_sender_create(&config, message, 0, &s), -EINVAL);
	assert_int_equal(rmpp_sender_create(&config, message, RMPP_MESSAGE_MAX + 1, &s),
			 -EINVAL);
	message[1] = MAD_CLASS_PERF;
	assert_int_equal(rmpp_sender_create(&config, message, 56, &s), -EINVAL);
	rmpp_sender_destroy(NULL);
	rmpp_receiver_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_of_up_to_five_segments_arrives),
		cmocka_unit_test(a_table_of_thousands_of_records_arrives),
		cmocka_unit_test(every_segment_is_sent_once_and_few_are_acknowledged),
		cmocka_unit_test(loss_reordering_and_doubles_change_nothing),
		cmocka_unit_test(a_first_segment_has_these_bytes),
		cmocka_unit_test(the_last_segment_tells_its_own_length),
		cmocka_unit_test(an_ack_is_the_other_sides_method_and_the_same_header),
		cmocka_unit_test(a_sender_without_an_answer_gives_up_after_its_tries),
		cmocka_unit_test(a_receiver_without_segments_gives_up),
		cmocka_unit_test(a_finished_receiver_acknowledges_what_comes_again),
		cmocka_unit_test(a_message_larger_than_the_receiver_takes_is_stopped),
		cmocka_unit_test(a_message_that_is_none_is_refused),
	};

	return harness_run(tests);
}
