// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * The write buffer: slots of one page, found by page through a hash, programmed
 * oldest first.
 *
 * A page that is written again while it waits reuses its slot; one that is being
 * programmed, or that a request waits for, gets a second slot. Lookups find the
 * newest slot, and the oldest one is programmed first.
 */
#include "internal.h"

static uint32_t bf_hash(const struct bf_device *d, uint64_t page)
{
	return (uint32_t)((page * 0x9E3779B97F4A7C15ull) >> 40) & d->hash_mask;
}

void bf_buffer_init(struct bf_device *d)
{
	uint32_t i;

	for (i = 0; i <= d->hash_mask; i++)
		d->hash[i] = BF_NONE;
	for (i = 0; i < d->p.buffer_pages; i++) {
		d->slots[i].state = BF_SLOT_FREE;
		d->slots[i].next = i + 1 < d->p.buffer_pages ? i + 1 : BF_NONE;
	}
	d->slot_free = 0;
	d->slots_used = 0;
	d->dirty_head = BF_NONE;
	d->dirty_tail = BF_NONE;
}

/* The slot with the newest data of the page, or BF_NONE. */
uint32_t bf_buffer_find(const struct bf_device *d, uint64_t page)
{
	uint32_t s = d->hash[bf_hash(d, page)];

	while (s != BF_NONE && d->slots[s].page != page)
		s = d->slots[s].hash_next;
	return s;
}

static void bf_dirty_remove(struct bf_device *d, struct bf_slot *slot)
{
	if (slot->prev != BF_NONE)
		d->slots[slot->prev].next = slot->next;
	else
		d->dirty_head = slot->next;
	if (slot->next != BF_NONE)
		d->slots[slot->next].prev = slot->prev;
	else
		d->dirty_tail = slot->prev;
}

/* A slot for new data of the page: its waiting one, or a free one, or none. */
uint32_t bf_buffer_take(struct bf_device *d, uint64_t page)
{
	uint32_t s = bf_buffer_find(d, page);
	struct bf_slot *slot;
	uint32_t h;

	if (s != BF_NONE && d->slots[s].state == BF_SLOT_DIRTY &&
	    d->slots[s].waiter == BF_NONE) {
		/* No unit may program it while half of it is new. */
		bf_dirty_remove(d, &d->slots[s]);
		d->slots[s].state = BF_SLOT_FILLING;
		d->counters.buffer_hits++;
		return s;
	}
	s = d->slot_free;
	if (s == BF_NONE)
		return BF_NONE;
	slot = &d->slots[s];
	d->slot_free = slot->next;
	d->slots_used++;
	h = bf_hash(d, page);
	slot->page = page;
	slot->order = ++d->order;
	slot->state = BF_SLOT_FILLING;
	slot->waiter = BF_NONE;
	slot->hash_next = d->hash[h];
	d->hash[h] = s;
	return s;
}

/* The page has arrived: it may be programmed from now on. */
void bf_buffer_fill_done(struct bf_device *d, uint32_t s)
{
	struct bf_slot *slot = &d->slots[s];

	if (slot->state != BF_SLOT_FILLING)
		return;
	slot->state = BF_SLOT_DIRTY;
	slot->next = BF_NONE;
	slot->prev = d->dirty_tail;
	if (d->dirty_tail != BF_NONE)
		d->slots[d->dirty_tail].next = s;
	else
		d->dirty_head = s;
	d->dirty_tail = s;
}

/* The page's program begins. */
void bf_buffer_start(struct bf_device *d, uint32_t s)
{
	bf_dirty_remove(d, &d->slots[s]);
	d->slots[s].state = BF_SLOT_PROGRAMMING;
}

/* The page is durable, or dropped: its slot is free again. */
void bf_buffer_release(struct bf_device *d, uint32_t s)
{
	struct bf_slot *slot = &d->slots[s];
	uint32_t *link = &d->hash[bf_hash(d, slot->page)];

	while (*link != s)
		link = &d->slots[*link].hash_next;
	*link = slot->hash_next;
	if (slot->state == BF_SLOT_DIRTY)
		bf_dirty_remove(d, slot);
	slot->state = BF_SLOT_FREE;
	slot->waiter = BF_NONE;
	slot->next = d->slot_free;
	d->slot_free = s;
	d->slots_used--;
}

/* Order of the oldest data in the buffer; UINT64_MAX when it is empty. */
uint64_t bf_buffer_oldest(const struct bf_device *d)
{
	uint64_t oldest = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < d->p.buffer_pages; i++)
		if (d->slots[i].state != BF_SLOT_FREE &&
		    d->slots[i].order < oldest)
			oldest = d->slots[i].order;
	return oldest;
}

/* Whether the unit may program this page: page mapping places pages anywhere. */
static int bf_unit_takes(const struct bf_device *d, uint32_t unit, uint64_t page)
{
	return d->p.mapping == BF_MAP_PAGE || bf_mapping_unit(d, page) == unit;
}

/* Order of the oldest waiting data for the unit; UINT64_MAX: none. */
uint64_t bf_buffer_first(const struct bf_device *d, uint32_t unit)
{
	uint32_t s = d->dirty_head;

	while (s != BF_NONE && !bf_unit_takes(d, unit, d->slots[s].page))
		s = d->slots[s].next;
	return s == BF_NONE ? UINT64_MAX : d->slots[s].order;
}

/* Whether older data of the slot's page also waits for its program. */
static int bf_older_waits(const struct bf_device *d, uint32_t s)
{
	uint64_t page = d->slots[s].page;

	for (s = d->slots[s].hash_next; s != BF_NONE; s = d->slots[s].hash_next)
		if (d->slots[s].page == page &&
		    d->slots[s].state == BF_SLOT_DIRTY)
			return 1;
	return 0;
}

/*
 * The next program of the unit: the oldest waiting page for it, together with
 * its waiting neighbours or any waiting pages. Returns the number of pages.
 */
uint32_t bf_buffer_group(struct bf_device *d, uint32_t unit, uint32_t *group)
{
	uint32_t s = d->dirty_head, count = 0;
	uint64_t first;

	while (s != BF_NONE && !bf_unit_takes(d, unit, d->slots[s].page))
		s = d->slots[s].next;
	if (s == BF_NONE)
		return 0;
	first = d->slots[s].page;
	group[count++] = s;
	if (d->p.program_any) {
		for (s = d->slots[s].next;
		     s != BF_NONE && count < d->p.program_pages;
		     s = d->slots[s].next)
			if (bf_unit_takes(d, unit, d->slots[s].page))
				group[count++] = s;
		return count;
	}
	while (count < d->p.program_pages) {
		uint64_t page = first + count;

		/* A group stays inside its block, and a unit inside its own. */
		if (d->p.mapping == BF_MAP_LOG_BLOCK &&
		    bf_mod(page, d->p.block_pages) == 0)
			break;
		if (page >= d->p.pages || !bf_unit_takes(d, unit, page))
			break;
		s = bf_buffer_find(d, page);
		if (s == BF_NONE || d->slots[s].state != BF_SLOT_DIRTY ||
		    bf_older_waits(d, s))
			break;
		group[count++] = s;
	}
	return count;
}
