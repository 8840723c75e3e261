// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the policy, on the compiler and machine of the kernel. Random
 * inputs and whole loads are tested outside of the kernel: see tests/.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "smartio_policy.h"

/* A background write concurrent with reads, with credit to hold it. */
static struct smartio_view smartio_view_beside(void)
{
	return (struct smartio_view) {
		.now_ns = 1000000000,
		.credit_ns = 5000000,
		.beside = true,
		.holding = true,
	};
}

static void one_background_write_is_in_the_device_beside_reads(struct kunit *test)
{
	struct smartio_view view = smartio_view_beside();

	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
	view.writes = 1;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_CAP);
}

static void one_background_write_goes_a_read_behind_a_cache(struct kunit *test)
{
	struct smartio_view view = smartio_view_beside();

	view.overtaken = true;
	view.credit_ns = 0;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_CAP);
	KUNIT_EXPECT_EQ(test, smartio_hidden(300000, 100000, 1), 100000);
	KUNIT_EXPECT_EQ(test, smartio_hidden(300000, 100000, 2), 0);
	KUNIT_EXPECT_EQ(test, smartio_shortest(0, 100000), 100000);
	KUNIT_EXPECT_EQ(test, smartio_shortest(100000, 90000), 90000);
	KUNIT_EXPECT_EQ(test, smartio_shortest(102400, 900000), 102501);
}

static void writes_alone_wait_for_plenty_in_the_device(struct kunit *test)
{
	struct smartio_view view = smartio_view_beside();

	view.beside = false;
	view.writes = SMARTIO_ALONE_WRITES;
	view.bytes = SMARTIO_ALONE_BYTES - 1;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
	view.bytes++;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_CAP);
	view.writes--;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
}

static void a_write_is_held_for_the_next_read(struct kunit *test)
{
	struct smartio_view view = smartio_view_beside();

	view.read_until_ns = view.now_ns + 30000;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_HOLD);
	KUNIT_EXPECT_EQ(test, smartio_wake_ns(&view, 77), view.read_until_ns);
	view.now_ns = view.read_until_ns;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
}

static void a_write_is_held_for_the_next_step_of_a_commit(struct kunit *test)
{
	struct smartio_view view = smartio_view_beside();

	view.commit_until_ns = SMARTIO_NEVER;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_WAIT_HOLD);
	/* Until the credit is used: 5 ms, of which 50 percent are earned meanwhile. */
	KUNIT_EXPECT_EQ(test, smartio_wake_ns(&view, 50), view.now_ns + 10000001);
}

static void a_write_is_held_no_longer_than_there_is_credit(struct kunit *test)
{
	struct smartio_view view = smartio_view_beside();

	view.read_until_ns = SMARTIO_NEVER;
	view.holding = false;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
	view.holding = true;
	view.credit_ns = 0;
	KUNIT_EXPECT_EQ(test, smartio_judge(&view), SMARTIO_GO);
}

static void credit_is_earned_beside_writes_and_used_without(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smartio_credit(0, 10000000, true, false, 77), 2300000);
	KUNIT_EXPECT_EQ(test, smartio_credit(5000000, 1000000, true, true, 77), 4230000);
	KUNIT_EXPECT_EQ(test, smartio_credit(5000000, 1000000, false, false, 77), 5000000);
	KUNIT_EXPECT_EQ(test, smartio_credit(0, 10000000, true, false, 100), 0);
	KUNIT_EXPECT_EQ(test, smartio_credit(1000, 10000000, true, true, 77), 0);
	KUNIT_EXPECT_EQ(test, smartio_credit(0, 10000000000, true, false, 1), SMARTIO_CREDIT_NS);
	KUNIT_EXPECT_EQ(test, smartio_credit(0, SMARTIO_NEVER, true, false, 1), SMARTIO_CREDIT_NS);
}

static void credit_is_used_in_turns(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, smartio_holding(false, SMARTIO_CREDIT_NS / 2 - 1));
	KUNIT_EXPECT_TRUE(test, smartio_holding(false, SMARTIO_CREDIT_NS / 2));
	KUNIT_EXPECT_TRUE(test, smartio_holding(true, 1));
	KUNIT_EXPECT_FALSE(test, smartio_holding(true, 0));
}

static void reads_are_expected_for_as_long_as_they_keep_coming(struct kunit *test)
{
	u32 hits = 0, i;

	for (i = 0; i < 6; i++)
		hits = smartio_learn_hits(hits, 10000, 1000000);
	KUNIT_EXPECT_TRUE(test, smartio_continuous(hits));
	KUNIT_EXPECT_EQ(test, smartio_hold_ns(10000, hits, 1000000), 40000);
	KUNIT_EXPECT_EQ(test, smartio_hold_ns(900000, hits, 1000000), 1000000);
	for (i = 0; i < 6; i++)
		hits = smartio_learn_hits(hits, 2000000, 1000000);
	KUNIT_EXPECT_EQ(test, smartio_hold_ns(10000, hits, 1000000), 0);
}

static void a_hold_may_last_for_a_quarter_of_a_write(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smartio_hold_most(1000000, 400000), 1000000);
	KUNIT_EXPECT_EQ(test, smartio_hold_most(1000000, 12800000), 3200000);
	KUNIT_EXPECT_EQ(test, smartio_hold_most(0, 12800000), 0);
}

static void one_of_several_tags_is_for_reads(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smartio_tags(1, 25), 1);
	KUNIT_EXPECT_EQ(test, smartio_tags(2, 25), 1);
	KUNIT_EXPECT_EQ(test, smartio_tags(4, 25), 3);
	KUNIT_EXPECT_EQ(test, smartio_tags(32, 0), 32);
}

static void means_hold_to_their_range(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, smartio_mean(0, 800), 800);
	KUNIT_EXPECT_EQ(test, smartio_mean(800, 1600), 900);
	KUNIT_EXPECT_EQ(test, smartio_mean(0, SMARTIO_NEVER), 0xffffffffu);
	KUNIT_EXPECT_EQ(test, smartio_mean(0, 0), 1);
	KUNIT_EXPECT_EQ(test, smartio_since(2000, 1000), 0);
}

static struct kunit_case smartio_cases[] = {
	KUNIT_CASE(one_background_write_is_in_the_device_beside_reads),
	KUNIT_CASE(one_background_write_goes_a_read_behind_a_cache),
	KUNIT_CASE(writes_alone_wait_for_plenty_in_the_device),
	KUNIT_CASE(a_write_is_held_for_the_next_read),
	KUNIT_CASE(a_write_is_held_for_the_next_step_of_a_commit),
	KUNIT_CASE(a_write_is_held_no_longer_than_there_is_credit),
	KUNIT_CASE(credit_is_earned_beside_writes_and_used_without),
	KUNIT_CASE(credit_is_used_in_turns),
	KUNIT_CASE(reads_are_expected_for_as_long_as_they_keep_coming),
	KUNIT_CASE(a_hold_may_last_for_a_quarter_of_a_write),
	KUNIT_CASE(one_of_several_tags_is_for_reads),
	KUNIT_CASE(means_hold_to_their_range),
	{}
};

static struct kunit_suite smartio_suite = {
	.name = "smartio",
	.test_cases = smartio_cases,
};

kunit_test_suite(smartio_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the SmartIO I/O scheduler's policy");
