// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Creation of a device: check of parameters, memory size, layout of arrays, and
 * the state at power-on.
 */
#include "internal.h"

static int bf_outside(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low || value > high;
}

int bf_check(const struct bf_params *p, const char **field)
{
	const uint64_t longest = 3600ull * 1000000000ull;
	const char *bad = 0;

#define CHECK(name, low, high) \
	do { \
		if (!bad && bf_outside(p->name, low, high)) \
			bad = #name; \
	} while (0)
#define CHECK_TIME(name) CHECK(name, 0u, longest)
	CHECK(pages, 1u, 1ull << 31);
	CHECK_TIME(command_ns);
	CHECK_TIME(read_lookup_ns);
	CHECK_TIME(bus_page_ns);
	CHECK_TIME(flush_ns);
	CHECK_TIME(discard_ns);
	CHECK_TIME(read_ns);
	CHECK_TIME(read_next_ns);
	CHECK_TIME(read_floor_ns);
	CHECK_TIME(program_ns);
	CHECK_TIME(channel_page_ns);
	CHECK_TIME(stray_ns);
	CHECK_TIME(stray_slice_ns);
	CHECK_TIME(erase_ns);
	CHECK_TIME(copy_page_ns);
	CHECK_TIME(suspend_ns);
	CHECK_TIME(slc_program_ns);
	CHECK_TIME(fold_page_ns);
	CHECK_TIME(fold_idle_ns);
	CHECK_TIME(map_load_ns);
	CHECK(command_nj, 0u, 1ull << 40);
	CHECK(bus_page_nj, 0u, 1ull << 40);
	CHECK(read_page_nj, 0u, 1ull << 40);
	CHECK(program_page_nj, 0u, 1ull << 40);
	CHECK(erase_nj, 0u, 1ull << 40);
	CHECK(queue_depth, 1u, BF_MAX_DEPTH);
	CHECK(units, 1u, BF_MAX_UNITS);
	CHECK(program_pages, 1u, BF_MAX_PROGRAM_PAGES);
	CHECK(program_any, 0u, 1u);
	CHECK(read_ramp_pages, 1u, 1u << 20);
	CHECK(reads_per_turn, 0u, 1u << 20);
	CHECK(read_chunk_pages, 1u, 1u << 20);
	CHECK(buffer_pages, p->program_pages, 1u << 16);
	CHECK(write_cache, 0u, 1u);
	CHECK(suspends_max, 0u, 1u << 20);
	CHECK(mapping, BF_MAP_PAGE, BF_MAP_IN_PLACE);
	CHECK(block_pages, p->program_pages, 1u << 20);
	CHECK(spare_percent, 0u, 100u);
	CHECK(gc_low_blocks, 2u, 1u << 16);
	CHECK(log_blocks, p->mapping == BF_MAP_LOG_BLOCK, 1u << 16);
	CHECK(map_zones, p->map_zone_pages != 0, 1u << 12);
	CHECK(filled_percent, 0u, 100u);
#undef CHECK_TIME
#undef CHECK
	if (field)
		*field = bad;
	return bad ? BF_ERR_PARAM : 0;
}

static uint64_t bf_unit_blocks(const struct bf_params *p)
{
	uint64_t group = (uint64_t)p->block_pages * p->units;
	uint64_t blocks = bf_div(p->pages + group - 1, group);

	return blocks + bf_div(blocks * p->spare_percent, 100) +
	       p->gc_low_blocks + 2;
}

static uint32_t bf_hash_size(const struct bf_params *p)
{
	uint32_t size = 16;

	while (size < 2 * p->buffer_pages)
		size *= 2;
	return size;
}

/* Divides the caller's memory into arrays; without memory it only computes the size. */
static size_t bf_layout(const struct bf_params *p, struct bf_device *d, char *memory)
{
	uint64_t used = (sizeof(struct bf_device) + 7) & ~7ull;
	uint64_t flash_pages = 0, logical_blocks = 0;

#define TAKE(member, count) \
	do { \
		if (d) \
			d->member = (void *)(memory + used); \
		used += ((uint64_t)(count) * sizeof(*((struct bf_device *)0)->member) + 7) & \
			~7ull; \
	} while (0)
	if (p->mapping == BF_MAP_PAGE)
		flash_pages = bf_unit_blocks(p) * p->units * p->block_pages;
	if (p->mapping == BF_MAP_LOG_BLOCK)
		logical_blocks = bf_div(p->pages + p->block_pages - 1, p->block_pages);
	TAKE(reqs, p->queue_depth);
	TAKE(slots, p->buffer_pages);
	TAKE(units, p->units);
	TAKE(ops, p->queue_depth * p->units);
	TAKE(logs, logical_blocks ? p->log_blocks : 0);
	TAKE(zones, p->map_zones);
	TAKE(hash, bf_hash_size(p));
	TAKE(log_of, logical_blocks);
	TAKE(l2p, flash_pages ? p->pages : 0);
	TAKE(p2l, flash_pages);
	TAKE(blocks, flash_pages ? bf_unit_blocks(p) * p->units : 0);
#undef TAKE
	if (d) {
		d->logical_blocks = logical_blocks;
		d->unit_blocks = (uint32_t)bf_unit_blocks(p);
		d->hash_mask = bf_hash_size(p) - 1;
	}
	/* Page numbers of the flash are 32 bits wide. */
	return flash_pages < UINT32_MAX && used <= SIZE_MAX ? (size_t)used : 0;
}

size_t bf_memory_bytes(const struct bf_params *p)
{
	return bf_check(p, 0) ? 0 : bf_layout(p, 0, 0);
}

/* Empties queue, buffer and units: power-on. */
void bf_power_on(struct bf_device *d)
{
	uint32_t i, ops = d->p.queue_depth * d->p.units;

	for (i = 0; i < d->p.queue_depth; i++)
		d->reqs[i].state = BF_REQ_FREE;
	for (i = 0; i < ops; i++)
		d->ops[i].next = i + 1 < ops ? i + 1 : BF_NONE;
	for (i = 0; i < d->p.units; i++) {
		struct bf_unit *u = &d->units[i];

		u->work = BF_IDLE;
		u->read_head = BF_NONE;
		u->read_tail = BF_NONE;
		u->extra_left_ns = 0;
		u->program_left_ns = 0;
		u->suspended_left_ns = 0;
		u->group_size = 0;
		u->stray_open = 0;
		u->reads_in_turn = 0;
		u->suspended_reads = 0;
	}
	d->op_free = 0;
	d->next_event = BF_NEVER;
	d->in_flight = 0;
	d->done = 0;
	d->waiting_head = BF_NONE;
	d->waiting_tail = BF_NONE;
	d->bus_write = BF_NONE;
	d->flushes_waiting = 0;
	d->controller_free = d->now;
	d->bus_free = d->now;
	bf_buffer_init(d);
}

int bf_init(void *memory, size_t bytes, const struct bf_params *params,
	    struct bf_device **device)
{
	struct bf_device *d = memory;
	size_t i, need;

	if (bf_check(params, 0))
		return BF_ERR_PARAM;
	need = bf_layout(params, 0, 0);
	if (!need || bytes < need || !memory)
		return BF_ERR_MEMORY;
	for (i = 0; i < need; i++)
		((volatile char *)memory)[i] = 0;
	d->p = *params;
	bf_layout(params, d, memory);
	bf_mapping_init(d);
	bf_power_on(d);
	*device = d;
	return 0;
}

int bf_reconfigure(struct bf_device *d, const struct bf_params *p)
{
	const struct bf_params *q = &d->p;

	if (bf_check(p, 0))
		return BF_ERR_PARAM;
	if (p->pages != q->pages || p->queue_depth != q->queue_depth ||
	    p->units != q->units || p->program_pages != q->program_pages ||
	    p->buffer_pages != q->buffer_pages || p->mapping != q->mapping ||
	    p->block_pages != q->block_pages ||
	    p->spare_percent != q->spare_percent ||
	    p->gc_low_blocks != q->gc_low_blocks ||
	    p->log_blocks != q->log_blocks || p->map_zones != q->map_zones ||
	    p->map_zone_pages != q->map_zone_pages)
		return BF_ERR_PARAM;
	d->p = *p;
	return 0;
}
