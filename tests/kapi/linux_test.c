// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * What the kernel's own headers give beside RDMA: waiting, timers, works, lists.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "site.h"

struct counted {
	struct work_struct work;
	struct delayed_work delayed;
	struct completion done;
	atomic_t runs;
	int requeue;
	struct workqueue_struct *wq;
};

static void count_work(struct work_struct *w)
{
	struct counted *c = container_of(w, struct counted, work);

	atomic_inc(&c->runs);
	if (c->requeue-- > 0)
		queue_work(c->wq, w);
	else
		complete(&c->done);
}

static void count_delayed(struct work_struct *w)
{
	struct counted *c = container_of(to_delayed_work(w), struct counted, delayed);

	atomic_inc(&c->runs);
	complete(&c->done);
}

static void counted_init(struct counted *c, struct workqueue_struct *wq)
{
	memset(c, 0, sizeof(*c));
	INIT_WORK(&c->work, count_work);
	INIT_DELAYED_WORK(&c->delayed, count_delayed);
	init_completion(&c->done);
	c->wq = wq;
}

static void works_run_once_a_queueing(void **state)
{
	struct workqueue_struct *wq = alloc_ordered_workqueue("test", 0);
	struct counted c;

	counted_init(&c, wq);
	c.requeue = 9;
	assert_true(queue_work(wq, &c.work));
	wait_for_completion(&c.done);
	flush_workqueue(wq);
	assert_int_equal(atomic_read(&c.runs), 10);
	assert_false(flush_work(&c.work));
	assert_true(schedule_work(&c.work));
	wait_for_completion(&c.done);
	cancel_work_sync(&c.work);
	assert_int_equal(atomic_read(&c.runs), 11);
	destroy_workqueue(wq);
}

static void delayed_works_wait_and_can_be_cancelled(void **state)
{
	struct workqueue_struct *wq = alloc_workqueue("test", 0, 4);
	unsigned long began = jiffies;
	struct counted c;

	counted_init(&c, wq);
	assert_true(queue_delayed_work(wq, &c.delayed, msecs_to_jiffies(20)));
	wait_for_completion(&c.done);
	assert_true(time_after_eq(jiffies, began + 20));
	assert_true(queue_delayed_work(wq, &c.delayed, 1000 * HZ));
	assert_false(queue_delayed_work(wq, &c.delayed, 0));
	assert_true(cancel_delayed_work_sync(&c.delayed));
	assert_false(cancel_delayed_work_sync(&c.delayed));
	assert_true(queue_delayed_work(wq, &c.delayed, 1000 * HZ));
	assert_true(mod_delayed_work(wq, &c.delayed, 1));
	wait_for_completion(&c.done);
	assert_true(queue_delayed_work(wq, &c.delayed, 1000 * HZ));
	assert_true(flush_delayed_work(&c.delayed));
	assert_int_equal(atomic_read(&c.runs), 3);
	destroy_workqueue(wq);
}

static void waiting_ends_in_time(void **state)
{
	DECLARE_WAIT_QUEUE_HEAD(queue);
	struct completion c;

	init_completion(&c);
	assert_int_equal(wait_for_completion_timeout(&c, 10), 0);
	complete(&c);
	assert_true(wait_for_completion_timeout(&c, 10) >= 1);
	assert_false(try_wait_for_completion(&c));
	complete_all(&c);
	wait_for_completion(&c);
	wait_for_completion(&c);
	assert_int_equal(wait_event_timeout(queue, false, 10), 0);
	assert_true(wait_event_timeout(queue, true, 10) >= 1);
}

struct thing {
	struct list_head link;
	int n;
	struct kref ref;
	bool *freed;
};

static void thing_free(struct kref *ref)
{
	*container_of(ref, struct thing, ref)->freed = true;
}

static void lists_and_references_are_the_kernels(void **state)
{
	struct thing things[3], *t, *next;
	bool freed = false;
	LIST_HEAD(list);
	int sum = 0;

	for (int i = 0; i < 3; i++) {
		things[i].n = i;
		list_add_tail(&things[i].link, &list);
	}
	list_for_each_entry_safe(t, next, &list, link) {
		sum = sum * 10 + t->n;
		list_del(&t->link);
	}
	assert_int_equal(sum, 12);
	assert_true(list_empty(&list));
	kref_init(&things[0].ref);
	things[0].freed = &freed;
	kref_get(&things[0].ref);
	assert_int_equal(kref_put(&things[0].ref, thing_free), 0);
	assert_int_equal(kref_put(&things[0].ref, thing_free), 1);
	assert_true(freed);
}

static void small_helpers_do_what_they_say(void **state)
{
	DECLARE_BITMAP(bits, 70) = { 0 };
	char text[4];
	u64 a, b;

	set_bit(69, bits);
	assert_int_equal(find_first_bit(bits, 70), 69);
	assert_true(test_and_clear_bit(69, bits));
	assert_int_equal(strscpy(text, "long", sizeof(text)), -E2BIG);
	assert_string_equal(text, "lon");
	assert_int_equal(roundup_pow_of_two(5), 8);
	assert_int_equal(ilog2(1024), 10);
	assert_int_equal(scnprintf(text, sizeof(text), "%u", jiffies > 0 ? 12345 : 0), 3);
	get_random_bytes(&a, sizeof(a));
	get_random_bytes(&b, sizeof(b));
	assert_true(a != b);
	assert_true(IS_ERR(ERR_PTR(-EINVAL)) && PTR_ERR(ERR_PTR(-EINVAL)) == -EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, site_setup, site_teardown)
	const struct CMUnitTest tests[] = {
		TEST(works_run_once_a_queueing),
		TEST(delayed_works_wait_and_can_be_cancelled),
		TEST(waiting_ends_in_time),
		TEST(lists_and_references_are_the_kernels),
		TEST(small_helpers_do_what_they_say),
	};

	return harness_run(tests);
}
