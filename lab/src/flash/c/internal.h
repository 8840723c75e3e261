/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* State of the model, and interfaces between its files. */
#ifndef BRISK_FLASH_INTERNAL_H
#define BRISK_FLASH_INTERNAL_H

#include "brisk_flash.h"

#ifdef __KERNEL__
#include <linux/math64.h>
#define bf_div(n, d) div64_u64(n, d)
#define bf_mod(n, d) ((n) - div64_u64(n, d) * (d))
#else
#define bf_div(n, d) ((n) / (d))
#define bf_mod(n, d) ((n) % (d))
#endif

#define BF_NONE UINT32_MAX
#define BF_READ_RUNS 32u	/* sequences of reads followed at once */
#define BF_WRITE_RUNS 32u	/* sequences of writes followed at once */
#define BF_SUSPENDED_READS 16u	/* reads served before a suspended program goes on */

enum bf_request_state {
	BF_REQ_FREE = 0,
	BF_REQ_COMMAND,		/* in the controller until at_ns */
	BF_REQ_UNITS,		/* waits for its units */
	BF_REQ_ROOM,		/* a write that waits for the bus or for room */
	BF_REQ_BUS,		/* its last transfer ends at at_ns */
	BF_REQ_PROGRAM,		/* waits until its pages are programmed */
	BF_REQ_COMMIT,		/* a flush that ends at at_ns */
	BF_REQ_HUNG,		/* caught by a time-out fault */
	BF_REQ_DONE,		/* finished at at_ns, not collected */
};

struct bf_req {
	struct bf_request r;
	uint64_t at_ns;
	uint64_t first_ready_ns;	/* when its first page was read from the cells */
	uint64_t order;			/* of arrival; of completion when done */
	uint64_t flush_order;		/* a flush waits for slots up to this */
	uint64_t run_pages;		/* of the run that a read continues; 0: none */
	uint32_t state;
	uint32_t status;
	uint32_t ops_left;		/* reads of units outstanding */
	uint32_t admitted;		/* pages of a write that have a slot */
	uint32_t chunk;			/* pages on the bus now */
	uint32_t unprogrammed;		/* pages that a write-through waits for */
	uint32_t next;			/* in the list of waiting writes */
};

enum bf_slot_state {
	BF_SLOT_FREE = 0,
	BF_SLOT_FILLING,	/* on the bus */
	BF_SLOT_DIRTY,		/* waits for a unit */
	BF_SLOT_PROGRAMMING,
};

struct bf_slot {
	uint64_t page;
	uint64_t end_page;	/* end of its request (exclusive) */
	uint64_t order;
	uint32_t state;
	uint32_t waiter;	/* request that waits for its program, or BF_NONE */
	uint32_t hash_next;
	uint32_t prev, next;	/* dirty list, oldest first; free list by next */
};

enum bf_unit_work {
	BF_IDLE = 0,
	BF_WORK_READ,
	BF_WORK_PROGRAM,
	BF_WORK_EXTRA,		/* a slice of a stray program's extra work */
	BF_WORK_COLLECT,	/* garbage collection: one group, or an erase */
	BF_WORK_SUSPEND,
};

struct bf_read_op {
	uint64_t duration_ns;
	uint32_t req;
	uint32_t pages;
	uint32_t next;
};

struct bf_unit {
	uint64_t busy_until;
	uint64_t extra_left_ns;		/* of the prepared program */
	uint64_t program_left_ns;	/* the program itself, after the extra */
	uint64_t suspended_left_ns;
	uint64_t stray_end;		/* its request's end; lookups wait until then */
	uint64_t group_last;		/* last page of the group */
	uint32_t work;			/* enum bf_unit_work */
	uint32_t read_op;
	uint32_t read_head, read_tail;
	uint32_t reads_in_turn;
	uint32_t stray_open;
	uint32_t suspended_work;
	uint32_t suspends_left;
	uint32_t suspended_reads;
	uint32_t work_collected;	/* its last turn of writing was garbage collection */
	uint32_t group_size;
	uint32_t group[BF_MAX_PROGRAM_PAGES];

	/* Page mapping: blocks of this unit. */
	uint32_t active_block, active_used;
	uint32_t free_blocks;
	uint32_t victim, victim_next;
	uint64_t valid_pages;
};

struct bf_run {
	uint64_t next_page;
	uint64_t length_pages;
	uint64_t stamp;
};

struct bf_block {
	uint32_t valid;
	uint32_t state;		/* enum bf_block_state */
};

enum bf_block_state { BF_BLOCK_FREE = 0, BF_BLOCK_ACTIVE, BF_BLOCK_FULL };

struct bf_log {
	uint64_t block;		/* logical block, or UINT64_MAX */
	uint64_t stamp;
	uint32_t used;
	uint32_t in_order;	/* written sequentially from its start */
};

struct bf_fault {
	uint64_t page, pages;
	uint32_t kind;		/* 1 read error, 2 time-out */
};

struct bf_device {
	struct bf_params p;
	struct bf_counters counters;
	uint64_t now;
	uint64_t controller_free, bus_free;
	uint64_t last_active;		/* for folding while idle */
	uint64_t slc_used;
	uint64_t order;			/* of requests and slots */
	uint64_t done_order;
	uint64_t stamp;

	struct bf_run read_runs[BF_READ_RUNS];
	struct bf_run write_runs[BF_WRITE_RUNS];
	struct bf_fault faults[BF_MAX_FAULTS];
	uint32_t fault_count;

	uint64_t next_event;		/* as of the last step or request */
	struct bf_req *reqs;		/* queue_depth */
	uint32_t in_flight;		/* neither free nor done */
	uint32_t done;			/* finished, not collected */
	uint32_t waiting_head, waiting_tail;	/* writes that wait for space */
	uint32_t bus_write;			/* the write on the bus, or BF_NONE */
	uint32_t bus_slots[BF_MAX_PROGRAM_PAGES];
	uint32_t flushes_waiting;

	struct bf_slot *slots;		/* buffer_pages */
	uint32_t *hash;			/* slot by page, hash_mask + 1 heads */
	uint32_t hash_mask;
	uint32_t slot_free, slots_used;
	uint32_t dirty_head, dirty_tail;

	struct bf_read_op *ops;		/* queue_depth x units */
	uint32_t op_free;
	struct bf_unit *units;

	/* Page mapping. */
	uint32_t *l2p;			/* pages; BF_NONE: not written */
	uint32_t *p2l;			/* units x unit_blocks x block_pages */
	struct bf_block *blocks;	/* units x unit_blocks */
	uint32_t unit_blocks;

	/* Log blocks. */
	struct bf_log *logs;
	uint32_t *log_of;		/* by logical block; BF_NONE */
	uint64_t logical_blocks;

	struct bf_run *zones;		/* map_zones tables by last use */
};

/* setup.c */
void bf_power_on(struct bf_device *d);

/* buffer.c: the write buffer. */
void bf_buffer_init(struct bf_device *d);
uint32_t bf_buffer_find(const struct bf_device *d, uint64_t page);
uint32_t bf_buffer_take(struct bf_device *d, uint64_t page);
void bf_buffer_fill_done(struct bf_device *d, uint32_t slot);
void bf_buffer_start(struct bf_device *d, uint32_t slot);
void bf_buffer_release(struct bf_device *d, uint32_t slot);
uint64_t bf_buffer_oldest(const struct bf_device *d);
uint64_t bf_buffer_first(const struct bf_device *d, uint32_t unit);
uint32_t bf_buffer_group(struct bf_device *d, uint32_t unit, uint32_t *group);

/* mapping.c: placement of pages and its cost. */
void bf_mapping_init(struct bf_device *d);
uint32_t bf_mapping_unit(const struct bf_device *d, uint64_t page);
int bf_mapping_may_program(struct bf_device *d, uint32_t unit);
uint64_t bf_mapping_program(struct bf_device *d, uint32_t unit,
			    const uint32_t *group, uint32_t count);
uint64_t bf_mapping_collect(struct bf_device *d, uint32_t unit);
int bf_mapping_wants_collect(const struct bf_device *d, uint32_t unit);
void bf_mapping_discard(struct bf_device *d, uint64_t page, uint64_t pages);
uint64_t bf_run_match(struct bf_run *runs, uint32_t count, uint64_t page,
		      uint64_t pages, uint64_t *stamp);

#endif
