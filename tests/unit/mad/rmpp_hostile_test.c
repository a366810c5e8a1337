// SPDX-License-Identifier: BSD-2-Clause
/* What no honest peer sends: each field wrong, and noise (spec/sa-sm 1.2). */
#include <errno.h>

#include "world.h"

#define SEGMENTS 3u
#define DATA     (2 * 200u + 120u)
#define PAYLOAD  (3 * 220u - 80u)

/* An answer, or a segment, that would be right. */
static void mad_make(uint8_t *mad, uint8_t type, uint32_t segment, uint32_t number)
{
	const struct rmpp_header h = {
		.version = 1,
		.type = type,
		.resp_time = 31,
		.flags = (uint8_t)(RMPP_ACTIVE |
				   (type == RMPP_DATA && segment == 1 ? RMPP_FIRST : 0) |
				   (type == RMPP_DATA && segment == SEGMENTS ? RMPP_LAST
									     : 0)),
		.segment = segment,
		.payload_length = number,
	};
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, 200, &length);

	memcpy(mad, message, MAD_BYTES);
	free(message);
	rmpp_header_put(mad, &h);
}

static void world_open_sending(struct world *w)
{
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, DATA, &length);

	world_open(w, 1);
	w->loss = 1000000; /* the test speaks for the other side */
	world_send(w, message, length, 1);
	free(message);
}

static void world_open_receiving(struct world *w)
{
	world_open(w, 1);
	w->loss = 1000000;
	world_receive(w, TIMEOUT_NS, 0);
}

static void say_to_sender(struct world *w, uint8_t type, uint32_t segment,
			  uint32_t number)
{
	uint8_t mad[MAD_BYTES];

	mad_make(mad, type, segment, number);
	world_to_sender(w, mad);
}

static void say_to_receiver(struct world *w, uint32_t segment, uint32_t payload)
{
	uint8_t mad[MAD_BYTES];

	mad_make(mad, RMPP_DATA, segment, payload);
	world_to_receiver(w, mad);
}

static struct rmpp_header said(const uint8_t *mad)
{
	struct rmpp_header h;

	rmpp_header_get(mad, &h);
	return h;
}

/* One byte of a MAD changed, and what comes of it. 0: nothing at all. */
struct wrong {
	const char *what;
	unsigned int byte;
	uint8_t value;
	uint8_t status;
};

static void a_wrong_ack_aborts_with_the_status_that_names_it(void **state)
{
	static const struct wrong wrongs[] = {
		{ "status", 27, 1, RMPP_STATUS_BAD_STATUS },
		{ "a window behind the segment", 35, 0, RMPP_STATUS_NEWWINDOWLAST_SMALL },
		{ "a segment that was not sent", 31, 2, RMPP_STATUS_SEGMENT_TOO_BIG },
		{ "a segment that is not there", 28, 0xff,
		  RMPP_STATUS_NEWWINDOWLAST_SMALL },
		{ "version", 24, 2, RMPP_STATUS_UNSUPPORTED_VERSION },
		{ "version 0", 24, 0, RMPP_STATUS_UNSUPPORTED_VERSION },
		{ "no type", 25, 0, RMPP_STATUS_BAD_TYPE },
		{ "type", 25, 5, RMPP_STATUS_BAD_TYPE },
		{ "not active", 26, 0xf8, 0 },
		{ "data", 25, RMPP_DATA, 0 },
	};

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		uint8_t mad[MAD_BYTES];
		struct world w;

		world_open_sending(&w);
		mad_make(mad, RMPP_ACK, 1, 2);
		mad[wrongs[i].byte] = wrongs[i].value;
		world_to_sender(&w, mad);
		if (wrongs[i].status) {
			assert_int_equal(w.to_receiver, 2);
			assert_int_equal(said(w.last_to_receiver).type, RMPP_ABORT);
			assert_int_equal(said(w.last_to_receiver).status,
					 wrongs[i].status);
			/* What comes afterwards is not heard. */
			say_to_sender(&w, RMPP_ACK, 1, 2);
			world_run(&w);
			assert_int_equal(w.to_receiver, 2);
			assert_int_equal(w.sent.error, -EPROTO);
			assert_int_equal(w.sent.status, wrongs[i].status);
		} else {
			assert_int_equal(w.to_receiver, 1);
			say_to_sender(&w, RMPP_ACK, 1, 2);
			assert_int_equal(w.to_receiver, 2);
			say_to_sender(&w, RMPP_ACK, 2, 3);
			say_to_sender(&w, RMPP_ACK, 3, 3);
			world_run(&w);
			assert_int_equal(w.sent.error, 0);
		}
		assert_int_equal(w.sent.calls, 1);
		world_close(&w);
	}
}

static void a_stop_and_an_abort_end_the_transfer_unanswered(void **state)
{
	static const uint8_t types[] = { RMPP_STOP, RMPP_ABORT };
	static const uint8_t statuses[] = { 0, RMPP_STATUS_RESX, RMPP_STATUS_T2L,
					    RMPP_STATUS_UNSPECIFIED, 0xff };
	uint8_t mad[MAD_BYTES];
	struct world w;

	for (size_t i = 0; i < sizeof(types) * sizeof(statuses); i++) {
		mad_make(mad, types[i % 2], 0, 0);
		mad[24] = (uint8_t)i; /* any version */
		mad[27] = statuses[i / 2];
		world_open_sending(&w);
		world_to_sender(&w, mad);
		world_run(&w);
		assert_int_equal(w.to_receiver, 1);
		assert_int_equal(w.sent.calls, 1);
		assert_int_equal(w.sent.error, -ECONNABORTED);
		assert_int_equal(w.sent.status, mad[27]);
		world_close(&w);

		world_open_receiving(&w);
		world_to_receiver(&w, mad);
		say_to_receiver(&w, 1, PAYLOAD);
		world_run(&w);
		assert_int_equal(w.to_sender, 0);
		assert_int_equal(w.received.calls, 1);
		assert_int_equal(w.received.error, -ECONNABORTED);
		world_close(&w);
	}
}

static void an_overtaken_ack_takes_nothing_back(void **state)
{
	struct world w;

	world_open_sending(&w);
	say_to_sender(&w, RMPP_ACK, 1, 3);
	assert_int_equal(w.to_receiver, 3);
	say_to_sender(&w, RMPP_ACK, 2, 3);
	say_to_sender(&w, RMPP_ACK, 1, 2);
	say_to_sender(&w, RMPP_ACK, 2, 2);
	assert_int_equal(w.to_receiver, 3);
	/* The next try begins behind what is acknowledged. */
	timer_queue_run(w.timers, timer_queue_next(w.timers));
	assert_int_equal(w.to_receiver, 4);
	assert_int_equal(said(w.last_to_receiver).segment, 3);
	world_close(&w);
}

static void progress_renews_the_tries(void **state)
{
	struct world w;

	world_open_sending(&w);
	for (uint32_t acked = 1; acked <= SEGMENTS; acked++) {
		timer_queue_run(w.timers, timer_queue_next(w.timers));
		say_to_sender(&w, RMPP_ACK, acked, acked + 1);
	}
	world_run(&w);
	assert_int_equal(w.sent.error, 0);
	assert_int_equal(w.to_receiver, 2 * SEGMENTS);
	world_close(&w);
}

static void the_window_opens_as_far_as_the_receiver_says(void **state)
{
	struct world w;

	world_open_sending(&w);
	assert_int_equal(w.to_receiver, 1);
	say_to_sender(&w, RMPP_ACK, 1, 2);
	assert_int_equal(w.to_receiver, 2);
	say_to_sender(&w, RMPP_ACK, 1, UINT32_MAX);
	assert_int_equal(w.to_receiver, SEGMENTS);
	world_close(&w);
}

/* A thousand segments are allowed at once, and again as nothing arrives. */
static void a_wide_window_is_filled_in_bursts(void **state)
{
	struct world w;
	size_t length;
	uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, 1000 * 200, &length);
	unsigned int before;

	world_open(&w, 1);
	w.loss = 1000000;
	world_send(&w, message, length, 1);
	say_to_sender(&w, RMPP_ACK, 1, 1000);
	assert_in_range(w.to_receiver, 2, 1 + RMPP_BURST);
	/* Acknowledged before all are out: those are not sent, the rest is. */
	before = w.to_receiver;
	say_to_sender(&w, RMPP_ACK, 400, 1000);
	assert_int_equal(w.to_receiver, before);
	while (timer_queue_next(w.timers) <= w.timers->now_ns) {
		before = w.to_receiver;
		timer_queue_run_some(w.timers, w.timers->now_ns, 1);
		assert_in_range(w.to_receiver - before, 1, RMPP_BURST);
	}
	assert_int_equal(said(w.last_to_receiver).segment, 1000);
	assert_int_equal(w.to_receiver, 1 + RMPP_BURST + 600);
	/* No answer for the timeout: from the first that is missing on. */
	timer_queue_run_some(w.timers, timer_queue_next(w.timers), 1);
	assert_int_equal(w.to_receiver, 1 + RMPP_BURST + 600 + RMPP_BURST);
	assert_int_equal(said(w.last_to_receiver).segment, 400 + RMPP_BURST);
	say_to_sender(&w, RMPP_ACK, 1000, 1000);
	world_run(&w);
	assert_int_equal(w.sent.calls, 1);
	assert_int_equal(w.sent.error, 0);
	assert_int_equal(w.to_receiver, 1 + RMPP_BURST + 600 + RMPP_BURST);
	world_close(&w);
	free(message);
}

static void a_closed_window_is_asked_about(void **state)
{
	struct world w;

	world_open_sending(&w);
	say_to_sender(&w, RMPP_ACK, 1, 1);
	assert_int_equal(w.to_receiver, 1);
	timer_queue_run(w.timers, timer_queue_next(w.timers));
	assert_int_equal(w.to_receiver, 2);
	assert_int_equal(said(w.last_to_receiver).segment, 1);
	say_to_sender(&w, RMPP_ACK, 1, 3);
	assert_int_equal(w.to_receiver, 4);
	say_to_sender(&w, RMPP_ACK, 3, 3);
	world_run(&w);
	assert_int_equal(w.sent.error, 0);
	world_close(&w);
}

static void assert_ended(struct world *w, const char *what, int error, uint8_t type,
			 uint8_t status)
{
	const struct rmpp_header h = said(w->last_to_sender);

	if (h.type != type || h.status != status)
		fail_msg("%s: type %u, status %u", what, h.type, h.status);
	assert_int_equal(w->last_to_sender[3], MAD_METHOD_GET_TABLE);
	world_run(w);
	assert_int_equal(w->received.calls, 1);
	assert_int_equal(w->received.error, error);
	assert_null(w->received.message);
}

static void a_wrong_first_segment_is_answered_by_what_is_wrong(void **state)
{
	static const struct wrong wrongs[] = {
		{ "version", 24, 2, RMPP_STATUS_UNSUPPORTED_VERSION },
		{ "no type", 25, 0, RMPP_STATUS_BAD_TYPE },
		{ "type", 25, 5, RMPP_STATUS_BAD_TYPE },
		{ "not first", 26, RMPP_ACTIVE, RMPP_STATUS_BAD_SEGMENT },
		{ "status", 27, 1, RMPP_STATUS_BAD_STATUS },
		{ "segment 0", 31, 0, RMPP_STATUS_BAD_SEGMENT },
		{ "first, and the second", 31, 2, RMPP_STATUS_BAD_SEGMENT },
		/* PayloadLength 580, 0x244. */
		{ "a length of one segment", 34, 0, RMPP_STATUS_BAD_LENGTH },
		{ "the last, with the length of three", 26, 7, RMPP_STATUS_BAD_LENGTH },
		{ "class", 1, MAD_CLASS_PERF, RMPP_STATUS_UNSPECIFIED },
		{ "not active", 26, 0, 0 },
		{ "an ACK", 25, RMPP_ACK, 0 },
	};

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		uint8_t mad[MAD_BYTES];
		struct world w;

		world_open_receiving(&w);
		mad_make(mad, RMPP_DATA, 1, PAYLOAD);
		mad[wrongs[i].byte] = wrongs[i].value;
		world_to_receiver(&w, mad);
		if (wrongs[i].status)
			assert_ended(&w, wrongs[i].what, -EPROTO, RMPP_ABORT,
				     wrongs[i].status);
		else
			assert_int_equal(w.to_sender, 0);
		world_close(&w);
	}
}

static void announce(uint32_t payload, int error, uint8_t type, uint8_t status)
{
	struct world w;

	world_open_receiving(&w);
	say_to_receiver(&w, 1, payload);
	if (error)
		assert_ended(&w, "announcement", error, type, status);
	else
		assert_int_equal(said(w.last_to_sender).type, RMPP_ACK);
	world_close(&w);
}

static void an_announced_length_is_one_that_segments_can_have(void **state)
{
	announce(1, -EPROTO, RMPP_ABORT, RMPP_STATUS_BAD_LENGTH);
	announce(220, -EPROTO, RMPP_ABORT, RMPP_STATUS_BAD_LENGTH);
	/* The second segment would have no data: 20 bytes are its header. */
	announce(240, -EPROTO, RMPP_ABORT, RMPP_STATUS_BAD_LENGTH);
	announce(241, 0, 0, 0);
	announce(440, 0, 0, 0);
	announce(0, 0, 0, 0); /* the sender does not know yet */
	announce(UINT32_MAX - 120, -EPROTO, RMPP_ABORT, RMPP_STATUS_BAD_LENGTH);
	announce(UINT32_MAX, -EMSGSIZE, RMPP_STOP, RMPP_STATUS_RESX);
}

/* A segment in the middle of a transfer of three. */
static void continue_with(const char *what, uint32_t segment, uint8_t flags,
			  uint32_t payload, uint8_t status)
{
	uint8_t mad[MAD_BYTES];
	struct world w;

	world_open_receiving(&w);
	say_to_receiver(&w, 1, PAYLOAD);
	assert_int_equal(w.to_sender, 1);
	mad_make(mad, RMPP_DATA, segment, payload);
	mad[26] = flags;
	world_to_receiver(&w, mad);
	if (status) {
		assert_ended(&w, what, -EPROTO, RMPP_ABORT, status);
		/* It may be lost: the same again for whoever goes on. */
		say_to_receiver(&w, 2, 0);
		assert_int_equal(w.to_sender, 3);
		assert_int_equal(said(w.last_to_sender).type, RMPP_ABORT);
		assert_int_equal(said(w.last_to_sender).status, status);
	} else {
		assert_int_equal(w.to_sender, 1);
	}
	world_run(&w);
	assert_int_equal(w.received.calls, 1);
	world_close(&w);
}

static void a_wrong_segment_is_answered_by_what_is_wrong(void **state)
{
	const uint8_t on = RMPP_ACTIVE, first = on | RMPP_FIRST, last = on | RMPP_LAST;

	continue_with("first again", 2, first, 0, RMPP_STATUS_BAD_SEGMENT);
	continue_with("0", 0, on, 0, RMPP_STATUS_BAD_SEGMENT);
	continue_with("behind the last", 4, on, 0, RMPP_STATUS_BAD_SEGMENT);
	continue_with("the last too early", 2, last, 140, RMPP_STATUS_BAD_LENGTH);
	continue_with("the last is none", 3, on, 140, RMPP_STATUS_BAD_LENGTH);
	continue_with("another length", 3, last, 139, RMPP_STATUS_BAD_LENGTH);
	continue_with("no length", 3, last, 0, RMPP_STATUS_BAD_LENGTH);
	continue_with("too long", 3, last, 221, RMPP_STATUS_BAD_LENGTH);
	continue_with("outside the window", 66, on, 0, 0);
	continue_with("far outside", UINT32_MAX, on, 0, 0);
	continue_with("in order", 2, on, 12345, 0);
	continue_with("out of order", 3, last, 140, 0);
}

/* Without an announcement the last segment ends the message, unless others went before. */
static void a_message_of_unknown_length_ends_with_its_last_segment(void **state)
{
	uint8_t mad[MAD_BYTES];
	struct world w;

	for (int beyond = 0; beyond < 2; beyond++) {
		world_open_receiving(&w);
		say_to_receiver(&w, 1, 0);
		if (beyond) {
			mad_make(mad, RMPP_DATA, 4, 0);
			world_to_receiver(&w, mad);
		}
		say_to_receiver(&w, 3, 140);
		if (beyond) {
			assert_ended(&w, "beyond the last", -EPROTO, RMPP_ABORT,
				     RMPP_STATUS_BAD_SEGMENT);
		} else {
			say_to_receiver(&w, 2, 0);
			world_run(&w);
			assert_int_equal(w.received.error, 0);
			assert_int_equal(w.received.length, 56 + DATA);
		}
		world_close(&w);
	}
}

static void an_endless_message_is_stopped(void **state)
{
	uint8_t mad[MAD_BYTES];
	struct world w;

	world_open(&w, 1);
	w.loss = 1000000;
	world_receive(&w, TIMEOUT_NS, 100000);
	for (uint32_t i = 1; i < 1000 && said(w.last_to_sender).type != RMPP_STOP; i++) {
		mad_make(mad, RMPP_DATA, i, 0);
		mad[26] = i == 1 ? RMPP_ACTIVE | RMPP_FIRST : RMPP_ACTIVE;
		world_to_receiver(&w, mad);
		assert_true(i <= 500);
	}
	assert_ended(&w, "endless", -EMSGSIZE, RMPP_STOP, RMPP_STATUS_RESX);
	world_close(&w);
}

/* What comes again is acknowledged with what is there, in order or ahead. */
static void a_doubled_segment_is_acknowledged_again(void **state)
{
	struct world w;

	world_open_receiving(&w);
	say_to_receiver(&w, 1, PAYLOAD);
	say_to_receiver(&w, 3, 140);
	assert_int_equal(w.to_sender, 1);
	say_to_receiver(&w, 3, 140);
	assert_int_equal(w.to_sender, 2);
	assert_int_equal(said(w.last_to_sender).segment, 1);
	say_to_receiver(&w, 1, 1); /* its lie does not count any more */
	assert_int_equal(w.to_sender, 3);
	say_to_receiver(&w, 2, 0);
	assert_int_equal(w.to_sender, 4);
	assert_int_equal(said(w.last_to_sender).segment, 3);
	world_run(&w);
	assert_int_equal(w.received.error, 0);
	assert_int_equal(w.received.length, 56 + DATA);
	world_close(&w);
}

static void noise(struct world *w, struct random *r)
{
	uint8_t mad[MAD_BYTES];

	mad_make(mad, (uint8_t)random_below(r, 6), (uint32_t)random_below(r, 8),
		 (uint32_t)random_below(r, 1000));
	for (unsigned int n = (unsigned int)random_below(r, 4); n > 0; n--)
		mad[random_below(r, 37)] = (uint8_t)random_u64(r);
	if (random_below(r, 2))
		world_to_sender(w, mad);
	else
		world_to_receiver(w, mad);
}

/* Two transfers share the timers; one of them meets nothing but lies. */
static void noise_disturbs_nobody_but_its_own_transfer(void **state)
{
	unsigned int seeds = harness_count(300, 30000);

	for (unsigned int seed = 0; seed < seeds; seed++) {
		struct world good, bad;
		struct random r;
		size_t length;
		uint8_t *message = world_message(MAD_CLASS_SUBN_ADM, 1000, &length);

		random_seed(&r, seed);
		world_open(&good, seed);
		world_open(&bad, seed);
		bad.timers = good.timers;
		world_send(&bad, message, length, 1);
		world_receive(&bad, 3 * TIMEOUT_NS, 0);
		world_receive(&good, TIMEOUT_NS, 0);
		world_send(&good, message, length, 0);
		for (unsigned int i = 0; i < 20; i++) {
			noise(&bad, &r);
			timer_queue_run(good.timers, good.timers->now_ns + TIMER_MS);
		}
		world_run(&good);
		assert_int_equal(bad.sent.calls, 1);
		assert_int_equal(bad.received.calls, 1);
		world_assert_received(&good, message, length);
		world_close(&bad);
		world_close(&good);
		free(message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_ack_aborts_with_the_status_that_names_it),
		cmocka_unit_test(a_stop_and_an_abort_end_the_transfer_unanswered),
		cmocka_unit_test(an_overtaken_ack_takes_nothing_back),
		cmocka_unit_test(progress_renews_the_tries),
		cmocka_unit_test(the_window_opens_as_far_as_the_receiver_says),
		cmocka_unit_test(a_wide_window_is_filled_in_bursts),
		cmocka_unit_test(a_closed_window_is_asked_about),
		cmocka_unit_test(a_wrong_first_segment_is_answered_by_what_is_wrong),
		cmocka_unit_test(an_announced_length_is_one_that_segments_can_have),
		cmocka_unit_test(a_wrong_segment_is_answered_by_what_is_wrong),
		cmocka_unit_test(a_message_of_unknown_length_ends_with_its_last_segment),
		cmocka_unit_test(an_endless_message_is_stopped),
		cmocka_unit_test(a_doubled_segment_is_acknowledged_again),
		cmocka_unit_test(noise_disturbs_nobody_but_its_own_transfer),
	};

	return harness_run(tests);
}
