// SPDX-License-Identifier: GPL-2.0-only
/* Swap slots by memory group, see mars_extents.h. */
#include "mars_extents.h"

static struct mars_list *list_of(struct mars_area *area, u32 extent)
{
	const struct mars_extent *e = &area->extents[extent];

	switch (e->state) {
	case MARS_TRIMMED:
		return &area->trimmed;
	case MARS_STALE:
		return &area->stale;
	case MARS_CURRENT:
		return &area->current_of[e->owner % MARS_BUCKETS];
	case MARS_LEFT:
		/* Full ones are in no list: they are not searched. */
		return e->nr_used < area->extent_slots ?
			&area->holes_of[e->owner % MARS_BUCKETS] : NULL;
	default:
		return NULL;
	}
}

static void unlist(struct mars_area *area, u32 extent, struct mars_list *list)
{
	struct mars_extent *e = &area->extents[extent];

	if (!e->listed)
		return;
	if (e->prev == MARS_NONE)
		list->first = e->next;
	else
		area->extents[e->prev].next = e->next;
	if (e->next == MARS_NONE)
		list->last = e->prev;
	else
		area->extents[e->next].prev = e->prev;
	e->listed = false;
}

static void enlist(struct mars_area *area, u32 extent, struct mars_list *list)
{
	struct mars_extent *e = &area->extents[extent];

	if (!list)
		return;
	e->prev = list->last;
	e->next = MARS_NONE;
	if (list->last == MARS_NONE)
		list->first = extent;
	else
		area->extents[list->last].next = extent;
	list->last = extent;
	e->listed = true;
}

/* The only place where an extent changes its state, its owner or its use. */
static void change(struct mars_area *area, u32 extent, u8 state, u16 owner,
		   u32 nr_used)
{
	struct mars_extent *e = &area->extents[extent];

	/* Which list it leaves depends on the values before. */
	unlist(area, extent, list_of(area, extent));
	area->nr_in[e->state]--;
	area->nr_in[state]++;
	if (e->state != MARS_CURRENT)
		e->cursor = 0;
	e->state = state;
	e->owner = owner;
	e->nr_used = nr_used;
	enlist(area, extent, list_of(area, extent));
}

static bool is_free(const struct mars_extent *e)
{
	return e->state == MARS_TRIMMED || e->state == MARS_STALE;
}

static u32 find(const struct mars_area *area, const struct mars_list *list,
		u16 owner)
{
	u32 at = list->first;

	while (at != MARS_NONE && area->extents[at].owner != owner)
		at = area->extents[at].next;
	return at;
}

/* Of the owner's extents with holes, the emptiest of the first ones. */
static u32 find_holes(const struct mars_area *area, u16 owner)
{
	u32 at = area->holes_of[owner % MARS_BUCKETS].first;
	u32 best = MARS_NONE, looks = MARS_LOOKS;

	for (; at != MARS_NONE && looks; at = area->extents[at].next) {
		if (area->extents[at].owner != owner)
			continue;
		looks--;
		if (best == MARS_NONE ||
		    area->extents[at].nr_used < area->extents[best].nr_used)
			best = at;
	}
	return best;
}

/* A free extent: the one behind @after makes a longer run, then trimmed ones. */
static u32 find_free(const struct mars_area *area, u32 after)
{
	if (after != MARS_NONE && after + 1 < area->nr_extents &&
	    is_free(&area->extents[after + 1]))
		return after + 1;
	if (area->trimmed.first != MARS_NONE)
		return area->trimmed.first;
	return area->stale.first;
}

void mars_area_init(struct mars_area *area, struct mars_extent *extents,
		    u32 nr_extents, u32 extent_slots, u32 reserve)
{
	const struct mars_list empty = { MARS_NONE, MARS_NONE };
	u32 i;

	area->extents = extents;
	area->nr_extents = nr_extents;
	area->extent_slots = extent_slots;
	area->reserve = reserve;
	area->trimmed = empty;
	area->stale = empty;
	area->nr_began = 0;
	area->nr_filled = 0;
	area->nr_refused = 0;
	for (i = 0; i < MARS_NR_STATES; i++)
		area->nr_in[i] = 0;
	for (i = 0; i < MARS_BUCKETS; i++) {
		area->current_of[i] = empty;
		area->holes_of[i] = empty;
	}
	area->nr_in[MARS_TRIMMED] = nr_extents;
	for (i = 0; i < nr_extents; i++) {
		extents[i] = (struct mars_extent) { .state = MARS_TRIMMED };
		enlist(area, i, &area->trimmed);
	}
}

/* Whether a slot is in an extent. The rest behind the last one is not. */
bool mars_covers(const struct mars_area *area, u32 slot)
{
	return slot / area->extent_slots < area->nr_extents;
}

/* Extents that are empty, including those being discarded. */
u32 mars_nr_free(const struct mars_area *area)
{
	return area->nr_in[MARS_TRIMMED] + area->nr_in[MARS_STALE] +
	       area->nr_in[MARS_TRIMMING];
}

/* Whether extents last: clean pages keep their slots, and holes stay holes. */
bool mars_plenty(const struct mars_area *area)
{
	return mars_nr_free(area) > area->reserve;
}

/*
 * The first slot that a page of the owner may get: the caller takes the first
 * free one from there to the end of the extent, and says so by mars_advance().
 * MARS_NONE leaves the choice to the kernel's allocator.
 */
u32 mars_next(struct mars_area *area, u16 owner)
{
	u32 at = find(area, &area->current_of[owner % MARS_BUCKETS], owner);
	u32 after = at, found;

	if (at != MARS_NONE) {
		struct mars_extent *e = &area->extents[at];

		if (e->cursor < area->extent_slots)
			return at * area->extent_slots + e->cursor;
		change(area, at, MARS_LEFT, owner, e->nr_used);
	}
	found = find_free(area, after);
	/* Below the reserve, holes are filled if at least half is empty. */
	if (found == MARS_NONE || !mars_plenty(area)) {
		at = find_holes(area, owner);
		if (at != MARS_NONE &&
		    (found == MARS_NONE ||
		     area->extents[at].nr_used <= area->extent_slots / 2)) {
			area->nr_filled++;
			change(area, at, MARS_CURRENT, owner,
			       area->extents[at].nr_used);
			return at * area->extent_slots;
		}
	}
	if (found == MARS_NONE) {
		area->nr_refused++;
		return MARS_NONE;
	}
	area->nr_began++;
	change(area, found, MARS_CURRENT, owner, 0);
	return found * area->extent_slots;
}

/* The owner's extent has no free slot for it before @slot. */
void mars_advance(struct mars_area *area, u16 owner, u32 slot)
{
	u32 extent = (slot - 1) / area->extent_slots;
	u32 cursor = slot - extent * area->extent_slots;
	struct mars_extent *e;

	if (!slot || extent >= area->nr_extents)
		return;
	e = &area->extents[extent];
	if (e->state == MARS_CURRENT && e->owner == owner && cursor > e->cursor)
		e->cursor = cursor;
}

/* Slots of one extent were taken, by whichever allocator. */
void mars_taken(struct mars_area *area, u32 slot, u32 nr_slots)
{
	u32 extent = slot / area->extent_slots;
	struct mars_extent *e;

	if (extent >= area->nr_extents)
		return;
	e = &area->extents[extent];
	change(area, extent, is_free(e) ? MARS_STOCK : e->state, e->owner,
	       e->nr_used + nr_slots);
}

/* Slots of one extent were freed. The last one makes it free. */
void mars_freed(struct mars_area *area, u32 slot, u32 nr_slots)
{
	u32 extent = slot / area->extent_slots;
	struct mars_extent *e;

	if (extent >= area->nr_extents)
		return;
	e = &area->extents[extent];
	if (e->nr_used > nr_slots)
		change(area, extent, e->state, e->owner, e->nr_used - nr_slots);
	else
		change(area, extent, MARS_STALE, 0, 0);
}

/* Whether the kernel's allocator should look elsewhere than in this slot. */
bool mars_reserved(const struct mars_area *area, u32 slot)
{
	u32 extent = slot / area->extent_slots;

	return extent < area->nr_extents && area->extents[extent].owner &&
	       mars_nr_free(area);
}

/*
 * Chooses extents to discard, in address order. At most half of the free ones,
 * so that swap-out finds others meanwhile. Each is returned by mars_trim_end().
 */
u32 mars_trim_begin(struct mars_area *area, u32 *batch, u32 nr_max)
{
	u32 nr_most = mars_nr_free(area) / 2, nr = 0, i;

	nr_most -= area->nr_in[MARS_TRIMMING] < nr_most ?
		   area->nr_in[MARS_TRIMMING] : nr_most;
	for (i = 0; i < area->nr_extents && nr < nr_max && nr < nr_most; i++) {
		if (area->extents[i].state != MARS_STALE)
			continue;
		change(area, i, MARS_TRIMMING, 0, 0);
		batch[nr++] = i;
	}
	return nr;
}

/* An extent of a batch was discarded. */
void mars_trim_end(struct mars_area *area, u32 extent)
{
	change(area, extent, MARS_TRIMMED, 0, 0);
}
