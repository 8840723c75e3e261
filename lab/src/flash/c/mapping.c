// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Placement of pages and its cost.
 *
 * Page mapping: each unit appends to its active block; when it runs short of
 * free blocks it moves the valid pages of the block with the fewest (greedy) and
 * erases it, one group at a time between the host's programs.
 *
 * Log blocks (Kim et al. 2002, the scheme that Revisiting storage 5.3 suspects):
 * a logical block has one physical block; rewrites go to one of a few log
 * blocks. Without a free one the least recently used is merged: by an erase only
 * if it was written sequentially to its end, by copying the rest if it was
 * written sequentially, else by copying all of it.
 */
#include "internal.h"

/* ---- sequences ---- */

/*
 * Length of the sequence that these pages continue; 0 when they continue none
 * and start a new one in place of the oldest.
 */
uint64_t bf_run_match(struct bf_run *runs, uint32_t count, uint64_t page,
		      uint64_t pages, uint64_t *stamp)
{
	uint32_t i, oldest = 0;
	uint64_t length;

	for (i = 0; i < count; i++) {
		if (runs[i].length_pages && runs[i].next_page == page) {
			length = runs[i].length_pages;
			runs[i].next_page += pages;
			runs[i].length_pages += pages;
			runs[i].stamp = ++*stamp;
			return length;
		}
		if (runs[i].stamp < runs[oldest].stamp)
			oldest = i;
	}
	runs[oldest].next_page = page + pages;
	runs[oldest].length_pages = pages;
	runs[oldest].stamp = ++*stamp;
	return 0;
}

/* Cost of loading the table of the page's zone; evicts the least recently used. */
static uint64_t bf_zone_load(struct bf_device *d, uint64_t page)
{
	uint64_t zone;
	uint32_t i, oldest = 0;

	if (!d->p.map_zone_pages)
		return 0;
	zone = bf_div(page, d->p.map_zone_pages);
	for (i = 0; i < d->p.map_zones; i++) {
		if (d->zones[i].length_pages && d->zones[i].next_page == zone) {
			d->zones[i].stamp = ++d->stamp;
			return 0;
		}
		if (d->zones[i].stamp < d->zones[oldest].stamp)
			oldest = i;
	}
	d->zones[oldest].next_page = zone;
	d->zones[oldest].length_pages = 1;
	d->zones[oldest].stamp = ++d->stamp;
	d->counters.map_loads++;
	return d->p.map_load_ns;
}

static void bf_moved(struct bf_device *d, uint64_t pages)
{
	d->counters.pages_moved += pages;
	d->counters.energy_nj +=
		pages * (d->p.read_page_nj + d->p.program_page_nj);
}

static void bf_erased(struct bf_device *d, uint64_t blocks)
{
	d->counters.erases += blocks;
	d->counters.energy_nj += blocks * d->p.erase_nj;
}

/* ---- page mapping ---- */

static struct bf_block *bf_block_at(struct bf_device *d, uint32_t unit, uint32_t block)
{
	return &d->blocks[unit * d->unit_blocks + block];
}

static uint32_t bf_unit_of_ppn(const struct bf_device *d, uint32_t ppn)
{
	return ppn / d->p.block_pages / d->unit_blocks;
}

static void bf_forget(struct bf_device *d, uint64_t page)
{
	uint32_t ppn = d->l2p[page];

	if (ppn == BF_NONE)
		return;
	d->blocks[ppn / d->p.block_pages].valid--;
	d->units[bf_unit_of_ppn(d, ppn)].valid_pages--;
	d->l2p[page] = BF_NONE;
}

static void bf_open_block(struct bf_device *d, uint32_t unit)
{
	struct bf_unit *u = &d->units[unit];
	uint32_t b;

	bf_block_at(d, unit, u->active_block)->state = BF_BLOCK_FULL;
	for (b = 0; b < d->unit_blocks; b++)
		if (bf_block_at(d, unit, b)->state == BF_BLOCK_FREE)
			break;
	bf_block_at(d, unit, b)->state = BF_BLOCK_ACTIVE;
	u->active_block = b;
	u->active_used = 0;
	u->free_blocks--;
}

static void bf_place(struct bf_device *d, uint32_t unit, uint64_t page)
{
	struct bf_unit *u = &d->units[unit];
	uint32_t ppn;

	bf_forget(d, page);
	if (u->active_used == d->p.block_pages)
		bf_open_block(d, unit);
	ppn = (unit * d->unit_blocks + u->active_block) * d->p.block_pages +
	      u->active_used++;
	d->l2p[page] = ppn;
	d->p2l[ppn] = (uint32_t)page;
	bf_block_at(d, unit, u->active_block)->valid++;
	u->valid_pages++;
}

/* The full block with the fewest valid pages, or BF_NONE when all are valid. */
static uint32_t bf_victim(const struct bf_device *d, uint32_t unit)
{
	uint32_t b, best = BF_NONE, fewest = d->p.block_pages;
	const struct bf_block *block = &d->blocks[unit * d->unit_blocks];

	for (b = 0; b < d->unit_blocks; b++)
		if (block[b].state == BF_BLOCK_FULL && block[b].valid < fewest) {
			fewest = block[b].valid;
			best = b;
		}
	return best;
}

int bf_mapping_wants_collect(const struct bf_device *d, uint32_t unit)
{
	const struct bf_unit *u = &d->units[unit];

	if (d->p.mapping != BF_MAP_PAGE)
		return 0;
	if (u->victim != BF_NONE)
		return 1;
	return u->free_blocks < d->p.gc_low_blocks && bf_victim(d, unit) != BF_NONE;
}

/* Performs one step of garbage collection and returns its time. */
uint64_t bf_mapping_collect(struct bf_device *d, uint32_t unit)
{
	struct bf_unit *u = &d->units[unit];
	struct bf_block *block;
	uint32_t ppn, base, moved = 0;

	if (u->victim == BF_NONE) {
		u->victim = bf_victim(d, unit);
		u->victim_next = 0;
	}
	block = bf_block_at(d, unit, u->victim);
	base = (unit * d->unit_blocks + u->victim) * d->p.block_pages;
	while (block->valid && u->victim_next < d->p.block_pages &&
	       moved < d->p.program_pages) {
		ppn = base + u->victim_next++;
		if (d->l2p[d->p2l[ppn]] == ppn) {
			bf_place(d, unit, d->p2l[ppn]);
			moved++;
		}
	}
	if (moved) {
		bf_moved(d, moved);
		return d->p.read_ns + d->p.program_ns +
		       2 * moved * d->p.channel_page_ns;
	}
	block->state = BF_BLOCK_FREE;
	u->free_blocks++;
	u->victim = BF_NONE;
	bf_erased(d, 1);
	return d->p.erase_ns;
}

/* Host programs leave the last free block to garbage collection. */
int bf_mapping_may_program(struct bf_device *d, uint32_t unit)
{
	const struct bf_unit *u = &d->units[unit];

	if (d->p.mapping != BF_MAP_PAGE)
		return 1;
	return u->free_blocks > 1 ||
	       (u->free_blocks == 1 &&
		d->p.block_pages - u->active_used >= d->p.program_pages);
}

/* ---- log blocks ---- */

static uint64_t bf_merge(struct bf_device *d, struct bf_log *log)
{
	uint64_t copied = d->p.block_pages, erased = 2;

	if (log->in_order) {
		copied = d->p.block_pages - log->used;
		erased = 1;
	}
	if (!log->in_order)
		d->counters.merges_full++;
	else if (copied)
		d->counters.merges_partial++;
	else
		d->counters.merges_switch++;
	bf_moved(d, copied);
	bf_erased(d, erased);
	d->log_of[log->block] = BF_NONE;
	log->block = UINT64_MAX;
	return copied * d->p.copy_page_ns + erased * d->p.erase_ns;
}

static uint64_t bf_log_append(struct bf_device *d, uint64_t page, uint32_t count)
{
	uint64_t block = bf_div(page, d->p.block_pages), cost = 0;
	uint32_t i, l = d->log_of[block], offset;
	struct bf_log *log;

	offset = (uint32_t)(page - block * d->p.block_pages);
	if (l != BF_NONE && d->logs[l].used + count > d->p.block_pages) {
		cost += bf_merge(d, &d->logs[l]);
		l = BF_NONE;
	}
	if (l == BF_NONE) {
		l = 0;
		for (i = 0; i < d->p.log_blocks; i++) {
			if (d->logs[i].block == UINT64_MAX) {
				l = i;
				break;
			}
			if (d->logs[i].stamp < d->logs[l].stamp)
				l = i;
		}
		log = &d->logs[l];
		if (log->block != UINT64_MAX)
			cost += bf_merge(d, log);
		log->block = block;
		log->used = 0;
		log->in_order = 1;
		d->log_of[block] = l;
	}
	log = &d->logs[l];
	if (offset != log->used)
		log->in_order = 0;
	log->used += count;
	log->stamp = ++d->stamp;
	if (log->in_order && log->used == d->p.block_pages)
		cost += bf_merge(d, log);
	return cost;
}

/* ---- all mappings ---- */

void bf_mapping_init(struct bf_device *d)
{
	uint64_t page, filled;
	uint32_t i;

	if (d->p.mapping == BF_MAP_PAGE) {
		for (page = 0; page < d->p.pages; page++)
			d->l2p[page] = BF_NONE;
		for (i = 0; i < d->p.units * d->unit_blocks; i++) {
			d->blocks[i].valid = 0;
			d->blocks[i].state = BF_BLOCK_FREE;
		}
		for (i = 0; i < d->p.units; i++) {
			d->units[i].active_block = 0;
			d->units[i].active_used = 0;
			d->units[i].free_blocks = d->unit_blocks - 1;
			d->units[i].victim = BF_NONE;
			d->units[i].valid_pages = 0;
			bf_block_at(d, i, 0)->state = BF_BLOCK_ACTIVE;
		}
		filled = bf_div(d->p.pages * d->p.filled_percent, 100);
		for (page = 0; page < filled; page++)
			bf_place(d, bf_mapping_unit(d, page), page);
	}
	if (d->p.mapping == BF_MAP_LOG_BLOCK) {
		for (i = 0; i < d->p.log_blocks; i++)
			d->logs[i].block = UINT64_MAX;
		for (page = 0; page < d->logical_blocks; page++)
			d->log_of[page] = BF_NONE;
	}
}

/* The unit that holds the page; a page that was never written is placed as if sequential. */
uint32_t bf_mapping_unit(const struct bf_device *d, uint64_t page)
{
	if (d->p.units == 1)
		return 0;
	if (d->p.mapping == BF_MAP_PAGE && d->l2p[page] != BF_NONE)
		return bf_unit_of_ppn(d, d->l2p[page]);
	if (d->p.mapping == BF_MAP_LOG_BLOCK)
		return (uint32_t)bf_mod(bf_div(page, d->p.block_pages), d->p.units);
	return (uint32_t)bf_mod(bf_div(page, d->p.program_pages), d->p.units);
}

/*
 * Maps the group to the unit and returns the additional time beyond the
 * program: stray, merges, erases, tables.
 */
uint64_t bf_mapping_program(struct bf_device *d, uint32_t unit,
			    const uint32_t *group, uint32_t count)
{
	uint64_t page = d->slots[group[0]].page, extra;
	uint32_t i;

	extra = bf_zone_load(d, page);
	if (!bf_run_match(d->write_runs, BF_WRITE_RUNS, page, count, &d->stamp)) {
		d->counters.programs_stray++;
		extra += d->p.stray_ns;
	}
	if (d->p.mapping == BF_MAP_LOG_BLOCK)
		return extra + bf_log_append(d, page, count);
	if (d->p.mapping == BF_MAP_PAGE)
		for (i = 0; i < count; i++)
			bf_place(d, unit, d->slots[group[i]].page);
	return extra;
}

void bf_mapping_discard(struct bf_device *d, uint64_t page, uint64_t pages)
{
	uint64_t i;

	if (d->p.mapping == BF_MAP_PAGE)
		for (i = 0; i < pages; i++)
			bf_forget(d, page + i);
}
