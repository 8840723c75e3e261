// SPDX-License-Identifier: GPL-2.0-only
/* Slots by memory group, with the compiler of the kernel. Random loads are tested on the host. */
#include <kunit/test.h>

#include "mars_extents.h"

#define SLOTS	4u
#define EXTENTS	8u

static struct mars_area *mars_new(struct kunit *test, u32 reserve)
{
	struct mars_area *area = kunit_kzalloc(test, sizeof(*area), GFP_KERNEL);
	struct mars_extent *extents = kunit_kcalloc(test, EXTENTS, sizeof(*extents),
						    GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, area);
	KUNIT_ASSERT_NOT_NULL(test, extents);
	mars_area_init(area, extents, EXTENTS, SLOTS, reserve);
	return area;
}

static u32 mars_take(struct mars_area *area, u16 owner)
{
	u32 slot = mars_next(area, owner);

	if (slot != MARS_NONE) {
		mars_taken(area, slot, 1);
		mars_advance(area, owner, slot + 1);
	}
	return slot;
}

static void two_groups_swapped_out_in_turn_get_consecutive_slots(struct kunit *test)
{
	struct mars_area *area = mars_new(test, 0);
	u32 first = mars_take(area, 1), second = mars_take(area, 2), i;

	for (i = 1; i < SLOTS; i++) {
		KUNIT_EXPECT_EQ(test, mars_take(area, 1), first + i);
		KUNIT_EXPECT_EQ(test, mars_take(area, 2), second + i);
	}
	KUNIT_EXPECT_NE(test, first / SLOTS, second / SLOTS);
}

static void a_freed_slot_is_not_taken_while_extents_last(struct kunit *test)
{
	struct mars_area *area = mars_new(test, 0);
	u32 first = mars_take(area, 1), i;

	mars_take(area, 1);
	mars_freed(area, first, 1);
	for (i = 0; i < (EXTENTS - 1) * SLOTS; i++)
		KUNIT_EXPECT_NE(test, mars_take(area, 1), first);
}

static void without_a_free_extent_the_stock_path_decides(struct kunit *test)
{
	struct mars_area *area = mars_new(test, 0);
	u32 i;

	for (i = 0; i < EXTENTS * SLOTS; i++)
		KUNIT_EXPECT_NE(test, mars_take(area, 1), MARS_NONE);
	KUNIT_EXPECT_EQ(test, mars_take(area, 2), MARS_NONE);
	KUNIT_EXPECT_EQ(test, area->nr_refused, 1);
}

static void only_empty_extents_are_trimmed(struct kunit *test)
{
	struct mars_area *area = mars_new(test, 0);
	u32 slot = mars_take(area, 1), batch[EXTENTS];

	KUNIT_EXPECT_EQ(test, mars_trim_begin(area, batch, EXTENTS), 0);
	mars_freed(area, slot, 1);
	KUNIT_EXPECT_EQ(test, mars_trim_begin(area, batch, EXTENTS), 1);
	KUNIT_EXPECT_EQ(test, batch[0], slot / SLOTS);
	mars_trim_end(area, batch[0]);
	KUNIT_EXPECT_EQ(test, mars_nr_free(area), EXTENTS);
}

static struct kunit_case mars_cases[] = {
	KUNIT_CASE(two_groups_swapped_out_in_turn_get_consecutive_slots),
	KUNIT_CASE(a_freed_slot_is_not_taken_while_extents_last),
	KUNIT_CASE(without_a_free_extent_the_stock_path_decides),
	KUNIT_CASE(only_empty_extents_are_trimmed),
	{ }
};

static struct kunit_suite mars_suite = {
	.name = "mars",
	.test_cases = mars_cases,
};
kunit_test_suite(mars_suite);
