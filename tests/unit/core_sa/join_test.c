// SPDX-License-Identifier: BSD-2-Clause
/*
 * Joining and leaving, as long as nothing happens to the port: what reaches the SA, what
 * is decided without it, and whom it tells (spec/kernel 2.4 to 2.8; the numbers are those
 * of spec/kernel 6).
 */
#include "unit/core_sa/world.h"

/* -- what reaches the SA -------------------------------------------------------------- */

static void a_join_is_a_set_with_the_member_s_own_record(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(1, SA_JOIN_FULL);
	struct joiner joiner = { 0 };
	struct request request;

	rec.qkey = htobe32(0x11223344);
	join_record(&joiner, &rec, MASK_MINIMAL | SA_MCM_QKEY);
	memset(&rec, 0xaa, sizeof(rec)); /* it was copied */
	assert_int_equal(fake_hca_waiting(&world.hca), 0);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	assert_int_equal(request.mad.port_num, 1);
	assert_int_equal(request.mad.packet.dlid, 1); /* the SM's */
	assert_int_equal(request.mad.packet.sl, 2);
	assert_int_equal(request.mad.packet.dest_qp, 1);
	assert_int_equal(request.mad.packet.qkey, IB_GSI_QKEY);
	assert_int_equal(request.mad.packet.pkey, 0xffff);
	assert_int_equal(request.header.base_version, 1);
	assert_int_equal(request.header.mgmt_class, MAD_CLASS_SUBN_ADM);
	assert_int_equal(request.header.class_version, 2);
	assert_int_equal(request.comp_mask, MASK_MINIMAL | SA_MCM_QKEY);
	assert_int_equal(request.rec.qkey, 0x11223344);
	assert_int_equal(joiner.calls, 0);

	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(joiner.calls, 1);
	assert_int_equal(joiner.statuses[0], 0);
	/* The member's record is the group's (2.6). */
	assert_int_equal(be16toh(joiner.rec.mlid), 0xc001);
	assert_int_equal(be32toh(joiner.rec.flow_label), 0x54321);
	assert_int_equal(joiner.rec.rate, 7);
	assert_int_equal(joiner.rec.join_state, SA_JOIN_FULL);
	assert_silence();

	leave(&joiner);
	request = expect(MAD_METHOD_DELETE, SA_JOIN_FULL);
	assert_int_equal(request.comp_mask, MASK_MINIMAL);
	answer(&request, 0, NULL);
	assert_silence();
	assert_int_equal(joiner.calls, 1);
	assert_int_equal(group_count(), 0);
}

static void item_15_two_joins_are_one_set_and_one_delete(void **state)
{
	struct joiner one = { 0 }, two = { 0 };

	join_granted(&one, 1, SA_JOIN_FULL);
	join(&two, 1, SA_JOIN_FULL);
	assert_silence();
	assert_int_equal(last_status(&two), 0);
	assert_int_equal(group_count(), 1);
	leave(&one);
	assert_silence();
	leave(&two);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static void joins_of_one_group_wait_for_each_other(void **state)
{
	struct joiner one = { 0 }, two = { 0 }, other = { 0 };
	struct request request, of_other;

	join(&one, 1, SA_JOIN_FULL);
	join(&two, 1, SA_JOIN_FULL);
	join(&other, 2, SA_JOIN_FULL); /* and not for those of another */
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	of_other = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	assert_silence();
	grant(&of_other, 2, SA_JOIN_FULL);
	assert_int_equal(last_status(&other), 0);
	assert_int_equal(one.calls + two.calls, 0);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(last_status(&one), 0);
	assert_int_equal(last_status(&two), 0);
	leave(&one);
	leave(&two);
	leave(&other);
	let_leave(SA_JOIN_FULL);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static void item_16_join_states_are_counted_by_bit(void **state)
{
	struct joiner full = { 0 }, send_only = { 0 };
	struct request request;

	join_granted(&full, 1, SA_JOIN_FULL);
	join(&send_only, 1, SA_JOIN_SEND_ONLY_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_SEND_ONLY_FULL);
	grant(&request, 1, SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL);
	assert_int_equal(last_status(&send_only), 0);
	assert_int_equal(send_only.rec.join_state, SA_JOIN_SEND_ONLY_FULL);
	leave(&full);
	let_leave(SA_JOIN_FULL);
	leave(&send_only);
	let_leave(SA_JOIN_SEND_ONLY_FULL);
	assert_silence();
	assert_int_equal(group_count(), 0);
}

/* The n-th of the 24 orders of four. */
static void order_of(unsigned int n, unsigned int order[4])
{
	unsigned int left[4] = { 0, 1, 2, 3 };

	for (unsigned int i = 0; i < 4; i++) {
		unsigned int of = n % (4 - i);

		n /= 4 - i;
		order[i] = left[of];
		for (; of + 1 < 4 - i; of++)
			left[of] = left[of + 1];
	}
}

/* Two members of each kind: the first of a kind is told to the SA, and the last. */
static void join_and_leave(unsigned int in, unsigned int out)
{
	struct joiner first[4], second[4];
	unsigned int order[4];
	struct request request;
	u8 held = 0;

	memset(first, 0, sizeof(first));
	memset(second, 0, sizeof(second));
	order_of(in, order);
	for (unsigned int i = 0; i < 4; i++) {
		u8 bit = (u8)(1u << order[i]);

		held |= bit;
		join(&first[order[i]], 1, bit);
		request = expect(MAD_METHOD_SET, bit);
		grant(&request, 1, held);
		join(&second[order[i]], 1, bit);
		assert_silence();
		assert_int_equal(last_status(&first[order[i]]), 0);
		assert_int_equal(last_status(&second[order[i]]), 0);
		assert_int_equal(second[order[i]].rec.join_state, bit);
	}
	order_of(out, order);
	for (unsigned int i = 0; i < 4; i++) {
		leave(&second[order[i]]);
		assert_silence();
		leave(&first[order[i]]);
		let_leave((u8)(1u << order[i]));
	}
	assert_silence();
	assert_int_equal(group_count(), 0);
}

static void item_16_in_all_orders(void **state)
{
	for (unsigned int in = 0; in < 24; in++)
		for (unsigned int out = 0; out < 24; out++)
			join_and_leave(in, out);
}

static void several_bits_leave_together(void **state)
{
	struct joiner both = { 0 }, one = { 0 };

	join_granted(&both, 1, SA_JOIN_FULL | SA_JOIN_NON);
	join(&one, 1, SA_JOIN_NON);
	assert_silence();
	leave(&one);
	assert_silence();
	leave(&both);
	let_leave(SA_JOIN_FULL | SA_JOIN_NON);
	assert_silence();
}

/* What such an SA makes the port forget it never leaves: so the SA must answer with the
 * union (2.12). */
static void item_17_an_answer_with_the_new_bit_alone_loses_the_others(void **state)
{
	struct joiner full = { 0 }, send_only = { 0 };
	struct request request;

	join_granted(&full, 1, SA_JOIN_FULL);
	join(&send_only, 1, SA_JOIN_SEND_ONLY_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_SEND_ONLY_FULL);
	grant(&request, 1, SA_JOIN_SEND_ONLY_FULL);
	assert_int_equal(last_status(&send_only), 0);
	leave(&full);
	assert_silence();
	leave(&send_only);
	let_leave(SA_JOIN_SEND_ONLY_FULL);
	assert_silence();
}

static void an_answer_without_the_wanted_bit_is_a_refusal(void **state)
{
	struct joiner joiner = { 0 };
	struct request request;

	join(&joiner, 1, SA_JOIN_SEND_ONLY_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_SEND_ONLY_FULL);
	grant(&request, 1, SA_JOIN_NON);
	assert_int_equal(joiner.calls, 1);
	assert_int_equal(last_status(&joiner), -EINVAL);
	let_leave(SA_JOIN_NON); /* which nobody wanted */
	leave(&joiner);
	assert_silence();
}

static void item_35_nothing_wanted_is_judged_by_an_empty_record(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(1, 0);
	struct joiner fits = { 0 }, differs = { 0 };

	memset(&rec.port_gid, 0, sizeof(rec.port_gid));
	join_record(&fits, &rec, MASK_MINIMAL | SA_MCM_QKEY);
	assert_silence();
	assert_int_equal(last_status(&fits), 0);
	assert_int_equal(fits.rec.join_state, 0);
	rec.qkey = htobe32(1);
	join_record(&differs, &rec, MASK_MINIMAL | SA_MCM_QKEY);
	assert_silence();
	assert_int_equal(last_status(&differs), -EINVAL);
	leave(&fits);
	leave(&differs);
	assert_silence();
	assert_int_equal(group_count(), 0);
}

static void item_36_a_limited_key_is_not_the_full_one(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(1, SA_JOIN_FULL);
	struct sa_mcmember has = group_record(1, SA_JOIN_FULL);
	struct joiner joiner = { 0 };
	struct request request;

	rec.pkey = htobe16(0x0001);
	has.pkey = 0x8001;
	join_record(&joiner, &rec, MASK_MINIMAL | SA_MCM_PKEY);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	answer(&request, 0, &has);
	assert_int_equal(last_status(&joiner), -EINVAL);
	let_leave(SA_JOIN_FULL);
	leave(&joiner);
	assert_silence();
}

/* -- what is decided without it ------------------------------------------------------- */

static void item_18_who_wants_another_key_is_refused_here(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(1, SA_JOIN_FULL);
	struct joiner one = { 0 }, other = { 0 }, easy = { 0 };

	join_granted(&one, 1, SA_JOIN_FULL);
	rec.qkey = htobe32(0x11223345);
	join_record(&other, &rec, MASK_MINIMAL | SA_MCM_QKEY);
	join_record(&easy, &rec, MASK_MINIMAL);
	assert_int_equal(other.calls, 0); /* never from inside (item 25) */
	assert_silence();
	assert_int_equal(last_status(&other), -EINVAL);
	assert_int_equal(last_status(&easy), 0);
	assert_int_equal(be32toh(easy.rec.qkey), 0x11223344);
	leave(&other); /* it counts for nothing */
	leave(&one);
	assert_silence();
	leave(&easy);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

/* -- MGID 0 --------------------------------------------------------------------------- */

static void item_20_no_mgid_is_a_new_group_each_time(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(0, SA_JOIN_FULL), found;
	struct joiner one = { 0 }, two = { 0 }, three = { 0 };
	struct request first, second;
	union ib_gid zero = { { 0 } };

	memset(&rec.mgid, 0, sizeof(rec.mgid));
	join_record(&one, &rec, MASK_MINIMAL);
	join_record(&two, &rec, MASK_MINIMAL);
	first = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	second = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	assert_true(gid_is_zero(second.rec.mgid.raw));
	assert_int_equal(find_group(1, &found), -EADDRNOTAVAIL);
	grant(&second, 2, SA_JOIN_FULL);
	grant(&first, 1, SA_JOIN_FULL);
	assert_int_equal(one.rec.mgid.raw[15], 1);
	assert_int_equal(two.rec.mgid.raw[15], 2);
	assert_int_equal(find_group(1, &found), 0);
	assert_int_equal(found.mgid.raw[15], 1);
	assert_int_equal(find_group(2, &found), 0);
	assert_int_equal(ib_sa_get_mcmember_rec(&world.hca.ib, 1, &zero, &found),
			 -EADDRNOTAVAIL);
	/* By its name it is the same group from now on. */
	join(&three, 2, SA_JOIN_FULL);
	assert_silence();
	assert_int_equal(last_status(&three), 0);
	leave(&three);
	leave(&two);
	leave(&one);
	let_leave(SA_JOIN_FULL);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static void item_21_a_chosen_mgid_that_we_have_is_asked_for_again(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(0, SA_JOIN_FULL), found;
	struct joiner old = { 0 }, new = { 0 };
	struct sa_mcmember forgotten = group_record(1, SA_JOIN_FULL);
	struct request request;

	join_granted(&old, 1, SA_JOIN_SEND_ONLY_FULL);
	memset(&rec.mgid, 0, sizeof(rec.mgid));
	join_record(&new, &rec, MASK_MINIMAL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	forgotten.mlid = 0xc077;
	answer(&request, 0, &forgotten);
	assert_int_equal(new.calls, 0);
	/* Again; and what the other group got that way is given back. */
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	assert_true(gid_is_zero(request.rec.mgid.raw));
	let_leave(SA_JOIN_FULL);
	grant(&request, 2, SA_JOIN_FULL);
	assert_int_equal(last_status(&new), 0);
	assert_int_equal(new.rec.mgid.raw[15], 2);
	/* Nobody is lost. */
	assert_int_equal(group_count(), 2);
	assert_int_equal(find_group(1, &found), 0);
	assert_int_equal(be16toh(found.mlid), 0xc077);
	assert_int_equal(find_group(2, &found), 0);
	leave(&old);
	leave(&new);
	let_leave(SA_JOIN_SEND_ONLY_FULL);
	let_leave(SA_JOIN_FULL);
	assert_silence();
	assert_int_equal(group_count(), 0);
}

static void an_sa_that_knows_no_other_mgid_is_given_up(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(0, SA_JOIN_FULL);
	struct joiner old = { 0 }, new = { 0 };

	join_granted(&old, 1, SA_JOIN_FULL);
	memset(&rec.mgid, 0, sizeof(rec.mgid));
	join_record(&new, &rec, MASK_MINIMAL);
	for (int i = 0; i < 4; i++) {
		struct request request = expect(MAD_METHOD_SET, SA_JOIN_FULL);

		assert_int_equal(new.calls, 0);
		grant(&request, 1, SA_JOIN_FULL);
	}
	assert_silence();
	assert_int_equal(last_status(&new), -EINVAL);
	leave(&new);
	assert_silence();
	leave(&old);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static void another_mgid_than_asked_for_is_the_group_s_name(void **state)
{
	struct ib_sa_mcmember_rec found;
	struct joiner joiner = { 0 };
	struct request request;

	join(&joiner, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	grant(&request, 2, SA_JOIN_FULL);
	assert_int_equal(last_status(&joiner), 0);
	assert_int_equal(find_group(1, &found), -EADDRNOTAVAIL);
	assert_int_equal(find_group(2, &found), 0);
	leave(&joiner);
	request = expect(MAD_METHOD_DELETE, SA_JOIN_FULL);
	assert_int_equal(request.rec.mgid.raw[15], 2);
	answer(&request, 0, NULL);
	assert_silence();
}

/* -- callbacks ------------------------------------------------------------------------ */

static void item_22_a_callback_that_says_no_frees_its_member(void **state)
{
	struct joiner joiner = { .returns = 1 }, refused = { .returns = -1 };
	struct request request;

	join(&joiner, 1, SA_JOIN_FULL);
	join(&refused, 2, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(joiner.calls, 1);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	assert_int_equal(world.client.users, 2);
	answer(&request, SA_REQ_INVALID, NULL);
	assert_int_equal(last_status(&refused), -EINVAL);
	let_leave(SA_JOIN_FULL); /* of the first; the second has nothing to leave */
	assert_silence();
	assert_int_equal(joiner.calls, 1);
	assert_int_equal(refused.calls, 1);
	assert_int_equal(world.client.users, 1);
	assert_int_equal(group_count(), 0);
}

static void item_23_who_goes_while_he_joins_hears_nothing(void **state)
{
	struct joiner gone = { 0 }, refused = { 0 };
	struct request request;

	join(&gone, 1, SA_JOIN_FULL);
	join(&refused, 2, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	leave(&gone);
	assert_int_equal(world.client.users, 2);
	grant(&request, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	leave(&refused);
	answer(&request, SA_REQ_INVALID, NULL);
	let_leave(SA_JOIN_FULL);
	assert_silence();
	assert_int_equal(gone.calls + refused.calls, 0);
	assert_int_equal(group_count(), 0);
}

/* The member behind it is not taken for it, wherever it lies in memory. */
static void an_error_is_told_to_whom_it_belongs(void **state)
{
	struct joiner gone = { 0 }, next = { 0 };
	struct request request;

	join(&gone, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	leave(&gone);
	join(&next, 1, SA_JOIN_FULL);
	answer(&request, SA_REQ_INVALID, NULL);
	assert_int_equal(next.calls, 0);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(last_status(&next), 0);
	leave(&next);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static void who_goes_before_anything_was_sent_leaves_no_trace(void **state)
{
	struct joiner joiner = { 0 };

	join(&joiner, 1, SA_JOIN_FULL);
	leave(&joiner);
	assert_silence();
	assert_int_equal(joiner.calls, 0);
	assert_int_equal(group_count(), 0);
}

static void free_it(struct joiner *joiner, int status)
{
	ib_sa_free_multicast(joiner->multicast);
}

static void item_24_a_member_freed_in_its_callback_goes_after_it(void **state)
{
	struct joiner joiner = { .hook = free_it },
		      twice = { .hook = free_it, .returns = 1 };

	join_granted(&joiner, 1, SA_JOIN_FULL);
	assert_int_equal(joiner.calls, 1);
	let_leave(SA_JOIN_FULL);
	join_granted(&twice, 1, SA_JOIN_FULL);
	let_leave(SA_JOIN_FULL);
	assert_silence();
	assert_int_equal(world.client.users, 1);
}

static struct joiner *victim;

static void free_the_victim(struct joiner *joiner, int status)
{
	leave(victim);
}

static void a_callback_may_free_another_of_its_group(void **state)
{
	struct joiner one = { .hook = free_the_victim }, two = { 0 }, three = { 0 };
	struct request request;

	victim = &two;
	join(&one, 1, SA_JOIN_FULL);
	join(&two, 1, SA_JOIN_FULL);
	join(&three, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(one.calls, 1);
	assert_int_equal(two.calls, 0);
	assert_int_equal(last_status(&three), 0);
	leave(&one);
	leave(&three);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static struct joiner second_joiner;

static void join_another(struct joiner *joiner, int status)
{
	join(&second_joiner, status ? 2 : 1, SA_JOIN_FULL);
}

static void a_callback_may_join(void **state)
{
	struct joiner one = { .hook = join_another };
	struct request request;

	memset(&second_joiner, 0, sizeof(second_joiner));
	join_granted(&one, 1, SA_JOIN_FULL);
	settle();
	assert_int_equal(last_status(&second_joiner), 0);
	leave(&one);
	leave(&second_joiner);
	let_leave(SA_JOIN_FULL);

	/* With an answer of no, to another group. */
	memset(&second_joiner, 0, sizeof(second_joiner));
	join(&one, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	answer(&request, SA_NO_RESOURCES, NULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	assert_int_equal(request.rec.mgid.raw[15], 2);
	grant(&request, 2, SA_JOIN_FULL);
	leave(&one);
	leave(&second_joiner);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static void who_changes_its_record_still_leaves_what_it_joined(void **state)
{
	struct joiner joiner = { 0 };

	join_granted(&joiner, 1, SA_JOIN_FULL);
	joiner.multicast->rec.join_state = 0;
	leave(&joiner);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static void members_of_one_group_are_many(void **state)
{
	enum {
		MANY = 200
	};
	static struct joiner joiners[MANY];
	struct request request;

	memset(joiners, 0, sizeof(joiners));
	for (int i = 0; i < MANY; i++)
		join(&joiners[i], 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	grant(&request, 1, SA_JOIN_FULL);
	assert_silence();
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(last_status(&joiners[i]), 0);
		leave(&joiners[i]);
	}
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

/* -- errors ---------------------------------------------------------------------------- */

static void an_sa_that_says_no_is_einval(void **state)
{
	static const u16 statuses[] = {
		SA_NO_RESOURCES, SA_REQ_INVALID,  SA_REQ_INVALID_GID,
		SA_REQ_DENIED,   MAD_STATUS_BUSY, MAD_STATUS_BAD_ATTRIBUTE,
	};

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		struct joiner joiner = { 0 };
		struct request request;

		join(&joiner, 1, SA_JOIN_FULL);
		request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
		answer(&request, statuses[i], NULL);
		assert_int_equal(joiner.calls, 1);
		assert_int_equal(last_status(&joiner), -EINVAL);
		/* The handle is still there to be freed, and nothing to be left. */
		leave(&joiner);
		assert_silence();
	}
	assert_int_equal(group_count(), 0);
}

static void item_32_a_silent_sa_is_asked_eleven_times(void **state)
{
	struct joiner joiner = { 0 };
	struct request request, again;
	unsigned int tries = 1;
	u64 began;

	join(&joiner, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	began = world.timers.now_ns;
	while (joiner.calls == 0) {
		run_ms(10);
		while (take_request(&again)) {
			assert_memory_equal(again.mad.bytes, request.mad.bytes,
					    MAD_BYTES);
			tries++;
		}
		assert_true(world.timers.now_ns - began <= 3600 * TIMER_MS);
	}
	assert_int_equal(tries, 11);
	assert_true(world.timers.now_ns - began >= 3000 * TIMER_MS);
	assert_int_equal(last_status(&joiner), -ETIMEDOUT);
	/* An answer is too late now. */
	grant(&request, 1, SA_JOIN_FULL);
	leave(&joiner);
	assert_silence();
	assert_int_equal(joiner.calls, 1);
}

static void an_answer_to_the_last_try_is_one(void **state)
{
	struct joiner joiner = { 0 };
	struct request request;

	join(&joiner, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	run_ms(3200);
	while (take_request(&request))
		;
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(last_status(&joiner), 0);
	leave(&joiner);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static void without_an_sm_it_is_eagain(void **state)
{
	static const u16 lids[] = { 0, 0xc000, 0xffff };
	struct joiner joiner = { 0 };

	for (size_t i = 0; i < sizeof(lids) / sizeof(lids[0]); i++) {
		memset(&joiner, 0, sizeof(joiner));
		world.hca.port.sm_lid = lids[i];
		fake_hca_event(&world.hca, 1, IB_EVENT_SM_CHANGE);
		join(&joiner, 1, SA_JOIN_FULL);
		assert_int_equal(joiner.calls, 0);
		assert_silence();
		assert_int_equal(last_status(&joiner), -EAGAIN);
		leave(&joiner);
		assert_silence();
	}
	/* One that comes is found, were nobody told. */
	world.hca.port.sm_lid = 0xbfff;
	memset(&joiner, 0, sizeof(joiner));
	join_granted(&joiner, 1, SA_JOIN_FULL);
	leave(&joiner);
	let_leave(SA_JOIN_FULL);
}

static void what_cannot_be_sent_is_eio(void **state)
{
	static const int errors[] = { -ENETDOWN, -EIO };

	for (int i = 0; i < 2; i++) {
		struct joiner joiner = { 0 };

		world.hca.refuse = errors[i];
		join(&joiner, 1, SA_JOIN_FULL);
		assert_int_equal(joiner.calls, 0);
		settle();
		assert_int_equal(joiner.calls, 1);
		assert_int_equal(last_status(&joiner), -EIO);
		leave(&joiner);
		settle();
	}
	world.hca.refuse = 0;
	assert_int_equal(group_count(), 0);
}

static struct ib_sa_multicast *try_join(struct ib_device *device, u32 port_num)
{
	struct ib_sa_mcmember_rec rec = wanted(1, SA_JOIN_FULL);

	return ib_sa_join_multicast(&world.client, device, port_num, &rec,
				    ib_sa_comp_mask_from_host(MASK_MINIMAL), joiner_hears,
				    NULL);
}

static void a_port_without_an_sa_has_no_groups(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(1, SA_JOIN_FULL);
	struct fake_hca roce, mixed;

	fake_hca_init(&roce, "roce0", IB_LINK_LAYER_ETHERNET);
	fake_hca_init(&mixed, "mixed0", IB_LINK_LAYER_INFINIBAND);
	mixed.link_layer[2] = IB_LINK_LAYER_ETHERNET;
	assert_int_equal(ib_register_device(&roce.ib, world.node), 0);
	assert_int_equal(ib_register_device(&mixed.ib, world.node), 0);
	assert_int_equal(PTR_ERR(try_join(&roce.ib, 1)), -ENODEV);
	assert_int_equal(ib_sa_get_mcmember_rec(&roce.ib, 1, &rec.mgid, &rec), -ENODEV);
	assert_int_equal(PTR_ERR(try_join(&mixed.ib, 2)), -ENODEV);
	assert_int_equal(PTR_ERR(try_join(&world.hca.ib, 0)), -EINVAL);
	assert_int_equal(PTR_ERR(try_join(&world.hca.ib, FAKE_HCA_PORTS + 1)), -EINVAL);
	assert_int_equal(world.client.users, 1);
	assert_int_equal(ib_unregister_device(&roce.ib), 0);
	assert_int_equal(ib_unregister_device(&mixed.ib), 0);
}

static void the_same_group_on_two_ports_is_two(void **state)
{
	struct ib_sa_mcmember_rec rec = wanted(1, SA_JOIN_FULL), found;
	struct joiner one = { 0 }, two = { 0 };
	struct request request;

	join_granted(&one, 1, SA_JOIN_FULL);
	assert_int_equal(ib_sa_get_mcmember_rec(&world.hca.ib, 2, &rec.mgid, &found),
			 -EADDRNOTAVAIL);
	two.multicast = ib_sa_join_multicast(&world.client, &world.hca.ib, 2, &rec,
					     ib_sa_comp_mask_from_host(MASK_MINIMAL),
					     joiner_hears, &two);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	assert_int_equal(request.mad.port_num, 2);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(last_status(&two), 0);
	leave(&one);
	leave(&two);
	let_leave(SA_JOIN_FULL);
	let_leave(SA_JOIN_FULL);
}

static void a_group_is_not_known_before_its_answer(void **state)
{
	struct ib_sa_mcmember_rec found;
	struct joiner joiner = { 0 };
	struct request request;

	join(&joiner, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	assert_int_equal(find_group(1, &found), -EADDRNOTAVAIL);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(find_group(1, &found), 0);
	assert_int_equal(be16toh(found.mlid), 0xc001);
	leave(&joiner);
	request = expect(MAD_METHOD_DELETE, SA_JOIN_FULL);
	assert_int_equal(find_group(1, &found), -EADDRNOTAVAIL);
	answer(&request, 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_join_is_a_set_with_the_member_s_own_record),
		TEST(item_15_two_joins_are_one_set_and_one_delete),
		TEST(joins_of_one_group_wait_for_each_other),
		TEST(item_16_join_states_are_counted_by_bit),
		TEST(item_16_in_all_orders),
		TEST(several_bits_leave_together),
		TEST(item_17_an_answer_with_the_new_bit_alone_loses_the_others),
		TEST(an_answer_without_the_wanted_bit_is_a_refusal),
		TEST(item_35_nothing_wanted_is_judged_by_an_empty_record),
		TEST(item_36_a_limited_key_is_not_the_full_one),
		TEST(item_18_who_wants_another_key_is_refused_here),
		TEST(item_20_no_mgid_is_a_new_group_each_time),
		TEST(item_21_a_chosen_mgid_that_we_have_is_asked_for_again),
		TEST(an_sa_that_knows_no_other_mgid_is_given_up),
		TEST(another_mgid_than_asked_for_is_the_group_s_name),
		TEST(item_22_a_callback_that_says_no_frees_its_member),
		TEST(item_23_who_goes_while_he_joins_hears_nothing),
		TEST(an_error_is_told_to_whom_it_belongs),
		TEST(who_goes_before_anything_was_sent_leaves_no_trace),
		TEST(item_24_a_member_freed_in_its_callback_goes_after_it),
		TEST(a_callback_may_free_another_of_its_group),
		TEST(a_callback_may_join),
		TEST(who_changes_its_record_still_leaves_what_it_joined),
		TEST(members_of_one_group_are_many),
		TEST(an_sa_that_says_no_is_einval),
		TEST(item_32_a_silent_sa_is_asked_eleven_times),
		TEST(an_answer_to_the_last_try_is_one),
		TEST(without_an_sm_it_is_eagain),
		TEST(what_cannot_be_sent_is_eio),
		TEST(a_port_without_an_sa_has_no_groups),
		TEST(the_same_group_on_two_ports_is_two),
		TEST(a_group_is_not_known_before_its_answer),
	};

	return harness_run(tests);
}
