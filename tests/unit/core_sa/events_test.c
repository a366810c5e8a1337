// SPDX-License-Identifier: BSD-2-Clause
/*
 * What happens to ports and to devices, and what members hear of it (spec/kernel 2.9,
 * 2.10; the numbers are those of spec/kernel 6).
 */
#include "unit/core_sa/world.h"

static void happens(enum ib_event_type type)
{
	fake_hca_event(&world.hca, 1, type);
}

static void item_26_a_reset_is_told_to_every_member(void **state)
{
	static const enum ib_event_type resets[] = { IB_EVENT_PORT_ERR,
						     IB_EVENT_LID_CHANGE,
						     IB_EVENT_CLIENT_REREGISTER };

	for (size_t i = 0; i < sizeof(resets) / sizeof(resets[0]); i++) {
		struct joiner one = { 0 }, two = { 0 }, other = { 0 };
		struct ib_sa_mcmember_rec found;

		join_granted(&one, 1, SA_JOIN_FULL);
		join(&two, 1, SA_JOIN_FULL);
		join_granted(&other, 2, SA_JOIN_SEND_ONLY_FULL);
		happens(resets[i]);
		assert_int_equal(one.calls, 1); /* not from inside */
		assert_silence();
		assert_int_equal(one.calls, 2);
		assert_int_equal(last_status(&one), -ENETRESET);
		assert_int_equal(last_status(&two), -ENETRESET);
		assert_int_equal(last_status(&other), -ENETRESET);
		assert_int_equal(find_group(1, &found), -EADDRNOTAVAIL);
		/* Once, and nobody rejoins or leaves by himself. */
		happens(resets[i]);
		run_ms(10000);
		assert_int_equal(one.calls, 2);
		leave(&one);
		leave(&two);
		leave(&other);
		assert_silence();
		assert_int_equal(group_count(), 0);
	}
}

static void item_26_other_events_are_nothing_to_members(void **state)
{
	static const enum ib_event_type others[] = {
		IB_EVENT_SM_CHANGE,    IB_EVENT_PORT_ACTIVE, IB_EVENT_GID_CHANGE,
		IB_EVENT_DEVICE_FATAL, IB_EVENT_CQ_ERR,
	};
	struct joiner joiner = { 0 };

	join_granted(&joiner, 1, SA_JOIN_FULL);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		happens(others[i]);
		assert_silence();
		assert_int_equal(joiner.calls, 1);
	}
	/* Nor is what happens to another port. */
	fake_hca_event(&world.hca, 2, IB_EVENT_PORT_ERR);
	fake_hca_event(&world.hca, FAKE_HCA_PORTS + 1, IB_EVENT_PORT_ERR);
	assert_silence();
	assert_int_equal(joiner.calls, 1);
	leave(&joiner);
	let_leave(SA_JOIN_FULL);
}

static void who_says_no_to_a_reset_is_freed(void **state)
{
	struct joiner joiner = { 0 };

	join_granted(&joiner, 1, SA_JOIN_FULL);
	joiner.returns = 1;
	happens(IB_EVENT_CLIENT_REREGISTER);
	assert_silence();
	assert_int_equal(joiner.calls, 2);
	assert_int_equal(world.client.users, 1);
	assert_int_equal(group_count(), 0);
}

static void after_a_reset_the_next_join_asks_the_sa(void **state)
{
	struct joiner old = { 0 }, new = { 0 };

	join_granted(&old, 1, SA_JOIN_FULL);
	happens(IB_EVENT_CLIENT_REREGISTER);
	settle();
	join_granted(&new, 1, SA_JOIN_FULL);
	/* The old handle counts for nothing any more. */
	leave(&old);
	assert_silence();
	leave(&new);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static struct joiner rejoiner;

static void rejoin(struct joiner *joiner, int status)
{
	if (status == -ENETRESET)
		join(&rejoiner, 1, SA_JOIN_FULL);
}

/* Linux would say -EAGAIN here, since it looks for the SA later (7.1). */
static void item_30_a_rejoin_from_the_callback_finds_the_new_sm(void **state)
{
	struct joiner joiner = { .hook = rejoin };
	struct request request;

	memset(&rejoiner, 0, sizeof(rejoiner));
	join_granted(&joiner, 1, SA_JOIN_FULL);
	world.hca.port.sm_lid = 33;
	world.hca.port.sm_sl = 5;
	joiner.returns = 1;
	happens(IB_EVENT_LID_CHANGE);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	assert_int_equal(request.mad.packet.dlid, 33);
	assert_int_equal(request.mad.packet.sl, 5);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(last_status(&rejoiner), 0);
	leave(&rejoiner);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static void item_30_without_an_sm_it_is_eagain_until_one_comes(void **state)
{
	struct joiner joiner = { .hook = rejoin };

	memset(&rejoiner, 0, sizeof(rejoiner));
	join_granted(&joiner, 1, SA_JOIN_FULL);
	world.hca.port.sm_lid = 0;
	happens(IB_EVENT_PORT_ERR);
	assert_silence();
	assert_int_equal(last_status(&joiner), -ENETRESET);
	assert_int_equal(last_status(&rejoiner), -EAGAIN);
	leave(&rejoiner);
	leave(&joiner);
	assert_silence();
	world.hca.port.sm_lid = 4;
	happens(IB_EVENT_SM_CHANGE);
	memset(&joiner, 0, sizeof(joiner));
	join_granted(&joiner, 1, SA_JOIN_FULL);
	leave(&joiner);
	let_leave(SA_JOIN_FULL);
}

static void item_27_a_key_that_stays_is_nothing(void **state)
{
	struct joiner joiner = { 0 };

	world.hca.pkeys[2] = 0x8001;
	join_granted(&joiner, 1, SA_JOIN_FULL);
	world.hca.pkeys[1] = 0x8002; /* another's */
	happens(IB_EVENT_PKEY_CHANGE);
	assert_silence();
	assert_int_equal(joiner.calls, 1);
	leave(&joiner);
	let_leave(SA_JOIN_FULL);
}

static void item_27_a_key_that_moves_or_goes_is_a_loss(void **state)
{
	for (int goes = 0; goes < 2; goes++) {
		struct joiner joiner = { 0 };

		world.hca.pkeys[0] = 0xffff;
		world.hca.pkeys[1] = 0;
		happens(IB_EVENT_PKEY_CHANGE);
		join_granted(&joiner, 1, SA_JOIN_FULL);
		world.hca.pkeys[0] = 0x8001;
		world.hca.pkeys[1] = goes ? 0 : 0xffff;
		happens(IB_EVENT_PKEY_CHANGE);
		assert_silence();
		assert_int_equal(joiner.calls, 2);
		assert_int_equal(last_status(&joiner), -ENETRESET);
		leave(&joiner);
		assert_silence();
	}
}

static void item_27_an_unknown_key_is_not_some_index(void **state)
{
	struct sa_mcmember has = group_record(1, SA_JOIN_FULL);
	struct joiner joiner = { 0 };
	struct request request;

	has.pkey = 0x8009; /* not in the port's table */
	join(&joiner, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	answer(&request, 0, &has);
	assert_int_equal(last_status(&joiner), 0);
	happens(IB_EVENT_PKEY_CHANGE);
	assert_silence();
	assert_int_equal(last_status(&joiner), -ENETRESET);
	leave(&joiner);
	assert_silence();
}

/* In Linux the object remembers the old place, and every later change is an error (7.1). */
static void a_key_that_has_moved_once_may_stay_there(void **state)
{
	struct joiner old = { 0 }, new = { 0 };

	join_granted(&old, 1, SA_JOIN_FULL);
	world.hca.pkeys[0] = 0x8001;
	world.hca.pkeys[1] = 0xffff;
	happens(IB_EVENT_PKEY_CHANGE);
	settle();
	join_granted(&new, 1, SA_JOIN_FULL);
	happens(IB_EVENT_PKEY_CHANGE);
	assert_silence();
	assert_int_equal(new.calls, 1);
	leave(&old);
	leave(&new);
	let_leave(SA_JOIN_FULL);
}

static void item_28_a_join_under_way_is_sent_again(void **state)
{
	static const enum ib_event_type events[] = { IB_EVENT_PORT_ERR,
						     IB_EVENT_PKEY_CHANGE };

	for (int i = 0; i < 2; i++) {
		struct joiner active = { 0 }, joiner = { 0 };
		struct request request;

		join_granted(&active, 1, SA_JOIN_FULL);
		join(&joiner, 1, SA_JOIN_SEND_ONLY_FULL);
		request = expect(MAD_METHOD_SET, SA_JOIN_SEND_ONLY_FULL);
		if (events[i] == IB_EVENT_PKEY_CHANGE) {
			world.hca.pkeys[1] = 0xffff;
			world.hca.pkeys[0] = 0;
		}
		happens(events[i]);
		assert_silence();
		assert_int_equal(active.calls, 1); /* it waits for the answer */
		grant(&request, 1, SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL);
		assert_int_equal(last_status(&active), -ENETRESET);
		assert_int_equal(joiner.calls, 0);
		request = expect(MAD_METHOD_SET, SA_JOIN_SEND_ONLY_FULL);
		grant(&request, 1, SA_JOIN_SEND_ONLY_FULL);
		assert_int_equal(joiner.calls, 1);
		assert_int_equal(last_status(&joiner), 0);
		leave(&active);
		leave(&joiner);
		let_leave(SA_JOIN_SEND_ONLY_FULL);
		assert_silence();
	}
}

static void item_28_a_check_meets_the_first_join_of_all(void **state)
{
	struct joiner joiner = { 0 };
	struct request request;

	join(&joiner, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	happens(IB_EVENT_PKEY_CHANGE);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(joiner.calls, 0);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(joiner.calls, 1);
	assert_int_equal(last_status(&joiner), 0);
	leave(&joiner);
	let_leave(SA_JOIN_FULL);
}

static void item_29_a_loss_is_a_loss_before_and_after_a_check(void **state)
{
	for (int order = 0; order < 2; order++) {
		struct joiner joiner = { 0 };

		join_granted(&joiner, 1, SA_JOIN_FULL);
		happens(order ? IB_EVENT_PKEY_CHANGE : IB_EVENT_PORT_ERR);
		happens(order ? IB_EVENT_PORT_ERR : IB_EVENT_PKEY_CHANGE);
		assert_silence();
		assert_int_equal(joiner.calls, 2);
		assert_int_equal(last_status(&joiner), -ENETRESET);
		leave(&joiner);
		assert_silence();
	}
}

static void a_reset_while_a_leave_is_under_way(void **state)
{
	struct joiner one = { 0 }, two = { 0 };
	struct request request;

	join_granted(&one, 1, SA_JOIN_FULL);
	leave(&one);
	request = expect(MAD_METHOD_DELETE, SA_JOIN_FULL);
	join(&two, 1, SA_JOIN_FULL);
	happens(IB_EVENT_CLIENT_REREGISTER);
	answer(&request, 0, NULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(last_status(&two), 0);
	leave(&two);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

static struct joiner *victim;

static void free_the_victim(struct joiner *joiner, int status)
{
	if (status == -ENETRESET && victim)
		leave(victim);
	victim = NULL;
}

static void a_member_freed_by_another_s_loss_hears_nothing(void **state)
{
	struct joiner one = { .hook = free_the_victim }, two = { 0 };

	join_granted(&one, 1, SA_JOIN_FULL);
	join(&two, 1, SA_JOIN_FULL);
	settle();
	victim = &two;
	happens(IB_EVENT_PORT_ERR);
	assert_silence();
	assert_int_equal(one.calls, 2);
	assert_int_equal(two.calls, 1);
	leave(&one);
	assert_silence();
}

/* -- leaving -------------------------------------------------------------------------- */

static void item_31_a_lost_leave_is_given_up_after_three_more(void **state)
{
	struct joiner joiner = { 0 };
	unsigned int transmissions = 0;
	struct request request;
	u64 tid = 0, tids = 0;

	join_granted(&joiner, 1, SA_JOIN_FULL);
	leave(&joiner);
	for (int i = 0; i < 1500; i++) {
		run_ms(10);
		while (take_request(&request)) {
			assert_int_equal(request.header.method, MAD_METHOD_DELETE);
			assert_int_equal(request.rec.join_state, SA_JOIN_FULL);
			tids += request.header.tid != tid;
			tid = request.header.tid;
			transmissions++;
		}
	}
	assert_int_equal(tids, 4);
	assert_int_equal(transmissions, 4 * 11);
	assert_int_equal(group_count(), 0);
	/* The next join works. */
	memset(&joiner, 0, sizeof(joiner));
	join_granted(&joiner, 1, SA_JOIN_FULL);
	leave(&joiner);
	let_leave(SA_JOIN_FULL);
}

static void three_more_are_all_that_an_object_has(void **state)
{
	struct joiner one = { 0 }, two = { 0 };
	struct request request;

	join_granted(&one, 1, SA_JOIN_FULL);
	join(&two, 1, SA_JOIN_NON);
	request = expect(MAD_METHOD_SET, SA_JOIN_NON);
	grant(&request, 1, SA_JOIN_FULL | SA_JOIN_NON);
	leave(&one);
	for (int i = 0; i < 3; i++) {
		request = expect(MAD_METHOD_DELETE, SA_JOIN_FULL);
		answer(&request, SA_REQ_INVALID, NULL); /* refused or lost, the same */
	}
	request = expect(MAD_METHOD_DELETE, SA_JOIN_FULL);
	answer(&request, 0, NULL);
	leave(&two);
	request = expect(MAD_METHOD_DELETE, SA_JOIN_NON);
	answer(&request, SA_REQ_INVALID, NULL);
	assert_silence();
	assert_int_equal(group_count(), 0);
}

static void a_leave_that_cannot_be_sent_is_done_with(void **state)
{
	struct joiner joiner = { 0 };

	join_granted(&joiner, 1, SA_JOIN_FULL);
	world.hca.port.sm_lid = 0;
	happens(IB_EVENT_SM_CHANGE);
	leave(&joiner);
	assert_silence();
	assert_int_equal(group_count(), 0);
}

static void who_joins_while_a_leave_is_under_way_waits_for_it(void **state)
{
	struct joiner one = { 0 }, two = { 0 };
	struct request request;

	join_granted(&one, 1, SA_JOIN_FULL);
	leave(&one);
	request = expect(MAD_METHOD_DELETE, SA_JOIN_FULL);
	join(&two, 1, SA_JOIN_FULL);
	assert_silence();
	answer(&request, 0, NULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(last_status(&two), 0);
	leave(&two);
	let_leave(SA_JOIN_FULL);
	assert_silence();
}

/* -- clients and devices that go ------------------------------------------------------- */

static void item_33_a_client_is_idle_when_its_last_member_has_gone(void **state)
{
	struct joiner one = { 0 }, two = { 0 };

	join_granted(&one, 1, SA_JOIN_FULL);
	join_granted(&two, 2, SA_JOIN_FULL);
	assert_false(ib_sa_unregister_client(&world.client));
	leave(&one);
	assert_int_equal(world.idle, 0);
	leave(&two); /* free does not wait for the SA */
	assert_int_equal(world.idle, 1);
	let_leave(SA_JOIN_FULL);
	let_leave(SA_JOIN_FULL);
	assert_int_equal(world.idle, 1);
	ib_sa_register_client(&world.client);
}

static void item_33_a_removed_device_lets_its_members_go(void **state)
{
	struct joiner active = { 0 }, asking = { 0 }, waiting = { 0 }, kept = { 0 };
	struct ib_sa_mcmember_rec found;
	struct request request;

	join_granted(&active, 1, SA_JOIN_FULL);
	join_granted(&kept, 2, SA_JOIN_FULL);
	join(&asking, 1, SA_JOIN_NON);
	join(&waiting, 1, SA_JOIN_NON);
	request = expect(MAD_METHOD_SET, SA_JOIN_NON);
	ib_remove_device(&world.hca.ib);
	assert_int_equal(active.calls + asking.calls + waiting.calls, 1);
	/* From here on nobody touches the device. */
	assert_int_equal(ib_unregister_device(&world.hca.ib), 0);
	settle();
	assert_int_equal(last_status(&active), -ENETRESET);
	assert_int_equal(last_status(&kept), -ENETRESET);
	assert_int_equal(last_status(&asking), -EINTR);
	assert_int_equal(last_status(&waiting), -ENODEV);
	assert_int_equal(fake_hca_waiting(&world.hca), 0);
	assert_int_equal(PTR_ERR(ib_sa_join_multicast(
				 &world.client, &world.hca.ib, 1, &active.rec,
				 ib_sa_comp_mask_from_host(0), joiner_hears, NULL)),
			 -ENODEV);
	assert_int_equal(find_group(1, &found), -ENODEV);
	leave(&active);
	leave(&asking);
	leave(&waiting);
	settle();
	/* It may come back before the last handle of its former life has gone. */
	assert_int_equal(ib_register_device(&world.hca.ib, world.node), 0);
	memset(&active, 0, sizeof(active));
	join_granted(&active, 2, SA_JOIN_FULL);
	leave(&kept);
	assert_silence();
	leave(&active);
	let_leave(SA_JOIN_FULL);
	(void)request;
}

static int must_not_be_asked(struct ib_device *ib, u32 port_num,
			     struct ib_port_attr *attr)
{
	fail_msg("a device that is gone is asked");
	return -EIO;
}

static void a_removed_device_is_left_alone(void **state)
{
	struct joiner one = { 0 };

	world.hca.port.sm_lid = 0;
	fake_hca_event(&world.hca, 1, IB_EVENT_SM_CHANGE);
	join(&one, 1, SA_JOIN_FULL);
	assert_int_equal(ib_unregister_device(&world.hca.ib), 0);
	world.hca.ib.ops.query_port = must_not_be_asked;
	settle();
	assert_int_equal(last_status(&one), -ENODEV);
	leave(&one);
	settle();
}

static void remove_it(struct joiner *joiner, int status)
{
	if (!world.hca.ib.removed)
		ib_remove_device(&world.hca.ib);
}

static void a_callback_may_remove_the_device(void **state)
{
	struct joiner joiner = { .hook = remove_it, .returns = 1 }, other = { 0 };
	struct request request;

	join(&other, 2, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	join(&joiner, 1, SA_JOIN_FULL);
	(void)request;
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(joiner.calls, 1);
	assert_int_equal(last_status(&other), -EINTR);
	leave(&other);
	settle();
	assert_int_equal(world.client.users, 1);
	/* Once more with nobody else there: the last group goes in the same breath. */
	assert_int_equal(ib_unregister_device(&world.hca.ib), 0);
	assert_int_equal(ib_register_device(&world.hca.ib, world.node), 0);
	joiner.calls = 0;
	join(&joiner, 1, SA_JOIN_FULL);
	request = expect(MAD_METHOD_SET, SA_JOIN_FULL);
	grant(&request, 1, SA_JOIN_FULL);
	assert_int_equal(joiner.calls, 1);
}

static void what_is_under_way_at_the_end_is_forgotten(void **state)
{
	struct joiner one = { 0 }, two = { 0 };

	join_granted(&one, 1, SA_JOIN_FULL);
	join(&two, 2, SA_JOIN_FULL);
	expect(MAD_METHOD_SET, SA_JOIN_FULL);
	leave(&two);
	leave(&one);
	expect(MAD_METHOD_DELETE, SA_JOIN_FULL);
	assert_int_equal(group_count(), 2);
	/* The end of the test ends the SA client. */
}

static void devices_may_come_later(void **state)
{
	struct fake_hca later;
	struct joiner joiner = { 0 };
	struct ib_sa_mcmember_rec rec = wanted(1, SA_JOIN_FULL);

	fake_hca_init(&later, "ib1", IB_LINK_LAYER_INFINIBAND);
	assert_int_equal(ib_register_device(&later.ib, world.node), 0);
	joiner.multicast = ib_sa_join_multicast(&world.client, &later.ib, 1, &rec,
						ib_sa_comp_mask_from_host(MASK_MINIMAL),
						joiner_hears, &joiner);
	assert_false(IS_ERR(joiner.multicast));
	settle();
	assert_int_equal(fake_hca_waiting(&later), 1);
	assert_int_equal(ib_unregister_device(&later.ib), 0);
	settle();
	assert_int_equal(last_status(&joiner), -EINTR);
	leave(&joiner);
	fake_hca_fini(&later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(item_26_a_reset_is_told_to_every_member),
		TEST(item_26_other_events_are_nothing_to_members),
		TEST(who_says_no_to_a_reset_is_freed),
		TEST(after_a_reset_the_next_join_asks_the_sa),
		TEST(item_30_a_rejoin_from_the_callback_finds_the_new_sm),
		TEST(item_30_without_an_sm_it_is_eagain_until_one_comes),
		TEST(item_27_a_key_that_stays_is_nothing),
		TEST(item_27_a_key_that_moves_or_goes_is_a_loss),
		TEST(item_27_an_unknown_key_is_not_some_index),
		TEST(a_key_that_has_moved_once_may_stay_there),
		TEST(item_28_a_join_under_way_is_sent_again),
		TEST(item_28_a_check_meets_the_first_join_of_all),
		TEST(item_29_a_loss_is_a_loss_before_and_after_a_check),
		TEST(a_reset_while_a_leave_is_under_way),
		TEST(a_member_freed_by_another_s_loss_hears_nothing),
		TEST(item_31_a_lost_leave_is_given_up_after_three_more),
		TEST(three_more_are_all_that_an_object_has),
		TEST(a_leave_that_cannot_be_sent_is_done_with),
		TEST(who_joins_while_a_leave_is_under_way_waits_for_it),
		TEST(item_33_a_client_is_idle_when_its_last_member_has_gone),
		TEST(item_33_a_removed_device_lets_its_members_go),
		TEST(a_removed_device_is_left_alone),
		TEST(a_callback_may_remove_the_device),
		TEST(what_is_under_way_at_the_end_is_forgotten),
		TEST(devices_may_come_later),
	};

	return harness_run(tests);
}
