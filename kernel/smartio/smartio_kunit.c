// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the policy, on the compiler and machine of the kernel. Random
 * inputs and whole loads are tested outside of the kernel: see tests/.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "smartio_policy.h"

/* A write concurrent with a read in flight, with free slots and share. */
static struct smartio_view smartio_view_mixed(void)
{
	return (struct smartio_view) {
		.now_ns = 1000000000,
		.slice_ns = 100000000,
		.share_percent = 10,
		.reads_in_flight = 1,
		.cap = 2,
		.cap_alone = 6,
		.kind = SMARTIO_BULK,
	};
}

static void a_write_within_its_share_is_dispatched_under_reads(struct kunit *test)
{
	struct smartio_view view = smartio_view_mixed();

	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
	view.writes_in_flight = 2;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_CAP);
}

static void a_write_beyond_its_share_waits(struct kunit *test)
{
	struct smartio_view view = smartio_view_mixed();

	view.debt_ns = 50000;
	view.spent = true;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_SHARE);
	KUNIT_EXPECT_EQ(test, smartio_wake_ns(&view, SMARTIO_WAIT_SHARE), view.now_ns + 500000);
	view.age_ns = view.slice_ns;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
}

static void a_write_is_held_for_the_next_read(struct kunit *test)
{
	struct smartio_view view = smartio_view_mixed();

	view.reads_in_flight = 0;
	view.hold_until_ns = view.now_ns + 30000;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_HOLD);
	KUNIT_EXPECT_EQ(test, smartio_wake_ns(&view, SMARTIO_WAIT_HOLD), view.hold_until_ns);
	view.now_ns = view.hold_until_ns;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
}

static void a_write_is_kept_out_of_the_way_of_a_commit(struct kunit *test)
{
	struct smartio_view view = smartio_view_mixed();

	view.reads_in_flight = 0;
	view.age_ns = view.slice_ns;
	view.awaited_until_ns = view.now_ns + 4000000;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_HOLD);
	KUNIT_EXPECT_EQ(test, smartio_wake_ns(&view, SMARTIO_WAIT_HOLD), view.awaited_until_ns);
	view.now_ns = view.awaited_until_ns;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
	/* As much as its device time, and half of the slice at most. */
	KUNIT_EXPECT_EQ(test, smartio_earn(1000000, 24000000, view.slice_ns), 25000000);
	KUNIT_EXPECT_EQ(test, smartio_earn(40000000, 24000000, view.slice_ns), 50000000);
	KUNIT_EXPECT_EQ(test, smartio_patience(3000000, 4000000), 0);
	KUNIT_EXPECT_EQ(test, smartio_cap_awaited(2, 6, 24000000), 2);
	KUNIT_EXPECT_EQ(test, smartio_cap_awaited(2, 6, 400000), 3);
}

static void synchronous_writes_are_not_throttled(struct kunit *test)
{
	struct smartio_view view = smartio_view_mixed();

	view.spent = true;
	view.debt_ns = 1000000;
	view.writes_in_flight = 3;
	view.kind = SMARTIO_URGENT;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
	view.kind = SMARTIO_OWN;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
	view.writes_in_flight = view.cap_alone;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_CAP);
}

static void trims_go_one_at_a_time_under_reads(struct kunit *test)
{
	struct smartio_view view = smartio_view_mixed();

	view.kind = SMARTIO_TRIM;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
	view.writes_in_flight = 1;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_CAP);
	view.reads_in_flight = 0;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
}

static void the_share_grows_from_half_of_the_slice_on(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smartio_share(10, 0, 100000000), 10);
	KUNIT_EXPECT_EQ(test, smartio_share(10, 50000000, 100000000), 10);
	KUNIT_EXPECT_EQ(test, smartio_share(10, 75000000, 100000000), 30);
	KUNIT_EXPECT_EQ(test, smartio_share(10, 100000000, 100000000), 50);
	KUNIT_EXPECT_EQ(test, smartio_share(70, 100000000, 100000000), 70);
	KUNIT_EXPECT_EQ(test, smartio_share(100, 0, 100000000), 100);
	KUNIT_EXPECT_EQ(test, smartio_due_ns(400000, 10, 100000000), 800000);
	KUNIT_EXPECT_EQ(test, smartio_due_ns(400000, 80, 100000000), 500000);
	KUNIT_EXPECT_EQ(test, smartio_due_ns(SMARTIO_NEVER, 10, 100000000), 400000000);
	KUNIT_EXPECT_EQ(test, smartio_due_ns(400000, 100, 100000000), 0);
}

static void a_debt_is_settled_at_the_pace_of_the_share(struct kunit *test)
{
	const u64 burst = SMARTIO_BURST_NS;

	KUNIT_EXPECT_EQ(test, smartio_debt(1000000, 1000000, 10), 900000);
	KUNIT_EXPECT_EQ(test, smartio_debt(1000000, 10000000, 10), 0);
	KUNIT_EXPECT_EQ(test, smartio_settle_ns(1000000, 10), 10000000);
	KUNIT_EXPECT_EQ(test, smartio_settle_ns(1, 0), SMARTIO_NEVER);
	KUNIT_EXPECT_FALSE(test, smartio_spent(false, burst - 1, 10, 400000, burst));
	KUNIT_EXPECT_TRUE(test, smartio_spent(false, burst, 10, 400000, burst));
	KUNIT_EXPECT_TRUE(test, smartio_spent(true, 1, 10, 400000, burst));
	KUNIT_EXPECT_FALSE(test, smartio_spent(true, 0, 10, 400000, burst));
	KUNIT_EXPECT_TRUE(test, smartio_quick(999999, 0));
	KUNIT_EXPECT_FALSE(test, smartio_quick(8000000, 8000000));
	KUNIT_EXPECT_TRUE(test, smartio_quick(3999999, 8000000));
}

static void caps_follow_what_a_write_occupies(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smartio_cap(0, 32), 2);
	KUNIT_EXPECT_EQ(test, smartio_cap(SMARTIO_WHOLE, 32), 1);
	KUNIT_EXPECT_EQ(test, smartio_cap(SMARTIO_WHOLE / 4, 32), 4);
	KUNIT_EXPECT_EQ(test, smartio_cap(SMARTIO_WHOLE / 4, 1), 1);
	KUNIT_EXPECT_EQ(test, smartio_cap_alone(0, 32), 32);
	KUNIT_EXPECT_EQ(test, smartio_cap_alone(SMARTIO_WHOLE, 32), 4);
	KUNIT_EXPECT_EQ(test, smartio_cap_alone(SMARTIO_LEAST, 32), 32);
	KUNIT_EXPECT_TRUE(test, smartio_few(2, SMARTIO_WHOLE / 4));
	KUNIT_EXPECT_FALSE(test, smartio_few(3, SMARTIO_WHOLE / 4));
	KUNIT_EXPECT_FALSE(test, smartio_few(1, SMARTIO_WHOLE));
}

static void what_is_learned_holds_to_its_range(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smartio_mean(0, 800), 800);
	KUNIT_EXPECT_EQ(test, smartio_mean(800, 1600), 900);
	KUNIT_EXPECT_EQ(test, smartio_mean(0, SMARTIO_NEVER), 0xffffffffu);
	KUNIT_EXPECT_EQ(test, smartio_learn_service(800, 1600, false), 800);
	KUNIT_EXPECT_EQ(test, smartio_occupied(4000, 1000), SMARTIO_WHOLE / 4);
	KUNIT_EXPECT_EQ(test, smartio_occupied(SMARTIO_NEVER, 1), SMARTIO_WHOLE);
	KUNIT_EXPECT_EQ(test, smartio_occupied(1000, 0), SMARTIO_LEAST);
	KUNIT_EXPECT_EQ(test, smartio_learn_passed(0, false, 1), SMARTIO_WHOLE);
	KUNIT_EXPECT_EQ(test, smartio_learn_passed(SMARTIO_WHOLE, true, 1), SMARTIO_WHOLE * 7 / 8);
	KUNIT_EXPECT_EQ(test, smartio_size(4096), 0);
	KUNIT_EXPECT_EQ(test, smartio_size(4097), 1);
	KUNIT_EXPECT_EQ(test, smartio_size(~0u), SMARTIO_NR_SIZES - 1);
}

static void reads_are_awaited_as_long_as_they_come(struct kunit *test)
{
	u32 hits = 0, i;

	for (i = 0; i < 6; i++)
		hits = smartio_learn_hits(hits, 10000, 1000000);
	KUNIT_EXPECT_EQ(test, smartio_hold_ns(10000, hits, 1000000), 40000);
	KUNIT_EXPECT_EQ(test, smartio_hold_ns(900000, hits, 1000000), 1000000);
	for (i = 0; i < 6; i++)
		hits = smartio_learn_hits(hits, 2000000, 1000000);
	KUNIT_EXPECT_EQ(test, smartio_hold_ns(10000, hits, 1000000), 0);
}

static struct kunit_case smartio_cases[] = {
	KUNIT_CASE(a_write_within_its_share_is_dispatched_under_reads),
	KUNIT_CASE(a_write_beyond_its_share_waits),
	KUNIT_CASE(a_write_is_held_for_the_next_read),
	KUNIT_CASE(a_write_is_kept_out_of_the_way_of_a_commit),
	KUNIT_CASE(synchronous_writes_are_not_throttled),
	KUNIT_CASE(trims_go_one_at_a_time_under_reads),
	KUNIT_CASE(the_share_grows_from_half_of_the_slice_on),
	KUNIT_CASE(a_debt_is_settled_at_the_pace_of_the_share),
	KUNIT_CASE(caps_follow_what_a_write_occupies),
	KUNIT_CASE(what_is_learned_holds_to_its_range),
	KUNIT_CASE(reads_are_awaited_as_long_as_they_come),
	{}
};

static struct kunit_suite smartio_suite = {
	.name = "smartio",
	.test_cases = smartio_cases,
};

kunit_test_suite(smartio_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the SmartIO I/O scheduler's policy");
