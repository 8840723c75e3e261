/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Timing model of a managed flash device (eMMC, UFS, SD card, or a memory
 * without erase), as seen by the host.
 *
 * A device consists of a controller, a host bus, a write buffer and units (dies
 * x planes), each of which does one operation at a time. A request passes the
 * controller; then its pages wait for their units (reads) or for space in the
 * buffer (writes); buffered pages are programmed in groups when units are idle.
 * The latencies of real devices follow from this queueing.
 *
 * Terms: a page is 4 KiB, the unit of addresses and of mapping. A program
 * writes up to program_pages pages of one unit at once. A stray program does
 * not continue a sequence of writes. All times are in nanoseconds on the
 * caller's clock; energy is in nanojoules.
 *
 * Properties: no allocation (the caller provides bf_memory_bytes() bytes), no
 * floating point, no clock, no library. Same parameters, seed and requests give
 * the same completions on every machine. Not thread-safe.
 *
 * Use: bf_init, then for each request bf_submit; whenever the clock reaches
 * bf_next_event(), call bf_run. Each of bf_run, bf_submit and bf_clear_faults
 * may finish requests: after each, call bf_collect until it returns 0.
 */
#ifndef BRISK_FLASH_H
#define BRISK_FLASH_H

#ifdef __KERNEL__
#include <linux/limits.h>
#include <linux/types.h>
#ifndef UINT64_MAX
#define UINT64_MAX U64_MAX
#endif
#ifndef UINT32_MAX
#define UINT32_MAX U32_MAX
#endif
#else
#include <stddef.h>
#include <stdint.h>
#endif

#define BF_PAGE_BYTES 4096u
#define BF_NEVER UINT64_MAX
#define BF_MAX_UNITS 64u
#define BF_MAX_DEPTH 128u
#define BF_MAX_PROGRAM_PAGES 64u
#define BF_MAX_FAULTS 16u

/* Mapping of logical pages. */
enum bf_mapping {
	BF_MAP_PAGE = 0,	/* any page anywhere; garbage collection */
	BF_MAP_LOG_BLOCK = 1,	/* fixed blocks, few log blocks; merges */
	BF_MAP_IN_PLACE = 2,	/* overwritten where it stands; no erase */
};

enum bf_op {
	BF_READ = 0,
	BF_WRITE = 1,
	BF_FLUSH = 2,
	BF_DISCARD = 3,
};

enum bf_status {
	BF_OK = 0,
	BF_READ_ERROR = 1,
	BF_TIMED_OUT = 2,
};

/* Errors of bf_init and bf_submit. */
enum bf_error {
	BF_ERR_PARAM = -1,	/* a parameter is outside its range */
	BF_ERR_MEMORY = -2,	/* too little memory was given */
	BF_ERR_FULL = -3,	/* the device's queue is full: collect first */
	BF_ERR_RANGE = -4,	/* beyond the device, or no pages at all */
};

/*
 * All parameters of a device. u64 fields first, so that there is no padding;
 * every field is checked by bf_check. Presets name the sources of the values.
 */
struct bf_params {
	uint64_t pages;			/* capacity, in pages of 4 KiB */

	/* Controller and host bus. */
	uint64_t command_ns;		/* firmware work per command */
	uint64_t read_lookup_ns;	/* additional for a read that continues no run */
	uint64_t bus_page_ns;		/* one page over the host bus */
	uint64_t flush_ns;		/* commit of a flush after the last program */
	uint64_t discard_ns;		/* per discard command */

	/* Reads of the cells. */
	uint64_t read_ns;		/* first page of a read without a run */
	uint64_t read_next_ns;		/* further pages, at the start of a run */
	uint64_t read_floor_ns;		/* further pages, deep in a run */

	/* Programs and erases. */
	uint64_t program_ns;		/* one program, however full */
	uint64_t channel_page_ns;	/* per page moved into the unit's register */
	uint64_t stray_ns;		/* additional for a program that continues no run */
	uint64_t stray_slice_ns;	/* reads of a run may come in after so much,
					 * others when it is mapped; 0: it is one
					 * piece with its program */
	uint64_t erase_ns;		/* one block */
	uint64_t copy_page_ns;		/* one page moved by a merge */
	uint64_t suspend_ns;		/* to suspend and resume a program; 0: never */

	/* Fast (SLC) cache in front of the dense cells. */
	uint64_t slc_pages;		/* its size; 0: none */
	uint64_t slc_program_ns;	/* a program into it */
	uint64_t fold_page_ns;		/* moving a page out of it */
	uint64_t fold_idle_ns;		/* idle time until folding starts */

	/* Mapping tables held in the controller. */
	uint64_t map_zone_pages;	/* pages covered by one table; 0: all in memory */
	uint64_t map_load_ns;		/* to load another table for a write */

	/* Energy. */
	uint64_t command_nj;
	uint64_t bus_page_nj;
	uint64_t read_page_nj;
	uint64_t program_page_nj;
	uint64_t erase_nj;

	uint32_t queue_depth;		/* commands that the device holds, 1..128 */
	uint32_t units;			/* dies x planes, 1..64 */
	uint32_t program_pages;		/* pages of one program, 1..64 */
	uint32_t program_any;		/* 1: any pages share a program; 0: only adjacent ones */
	uint32_t read_ramp_pages;	/* run length at which read_next_ns has halved */
	uint32_t reads_per_turn;	/* reads that may pass a waiting program;
					 * 0: a unit works in order of arrival */
	uint32_t read_chunk_pages;	/* a longer read takes several turns */
	uint32_t buffer_pages;		/* write buffer; at least program_pages */
	uint32_t write_cache;		/* 1: a write completes when buffered; 0: when programmed */
	uint32_t suspends_max;		/* suspensions of one program */
	uint32_t mapping;		/* enum bf_mapping */
	uint32_t block_pages;		/* pages of an erase block (of a log block) */
	uint32_t spare_percent;		/* over-provisioning of page mapping */
	uint32_t gc_low_blocks;		/* collect when a unit has fewer free blocks */
	uint32_t log_blocks;		/* log blocks of BF_MAP_LOG_BLOCK */
	uint32_t map_zones;		/* tables in memory at once */
	uint32_t filled_percent;	/* part that holds data from the start */
};

struct bf_request {
	uint64_t tag;		/* the caller's; returned with the completion */
	uint64_t page;		/* first page */
	uint32_t pages;		/* 0 for a flush */
	uint32_t op;		/* enum bf_op */
	uint32_t fua;		/* completes only when programmed */
	uint32_t reserved;
};

struct bf_completion {
	uint64_t tag;
	uint64_t at_ns;
	uint32_t status;	/* enum bf_status */
	uint32_t reserved;
};

struct bf_counters {
	uint64_t reads, writes, flushes, discards;	/* requests */
	uint64_t pages_read, pages_written, pages_discarded;
	uint64_t buffer_hits;		/* pages read from, or overwritten in, the buffer */
	uint64_t run_reads;		/* reads that continued a run */
	uint64_t programs, programs_partial, programs_stray, programs_slc;
	uint64_t pages_programmed;	/* for the host */
	uint64_t pages_moved;		/* by garbage collection, merges and folding */
	uint64_t erases;
	uint64_t merges_full, merges_partial, merges_switch;
	uint64_t map_loads;
	uint64_t suspends;
	uint64_t in_flight_max;
	uint64_t energy_nj;		/* of the operations; idle power is the caller's */
};

struct bf_device;

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or BF_ERR_PARAM with *field naming the invalid parameter. */
int bf_check(const struct bf_params *params, const char **field);

/* Bytes that bf_init needs for these parameters, 0 when they are invalid. */
size_t bf_memory_bytes(const struct bf_params *params);

/* Creates a device in the given memory (8-byte aligned). */
int bf_init(void *memory, size_t bytes, const struct bf_params *params,
	    struct bf_device **device);

/*
 * Changes the times of a device in use. Parameters that determine its memory (pages, units,
 * depth, program_pages, buffer, mapping, blocks, spare, log blocks, zones) must stay.
 */
int bf_reconfigure(struct bf_device *device, const struct bf_params *params);

/*
 * Submits a request that arrives now. Time must not decrease between calls. A
 * finished request occupies its slot until it is collected: run and collect first.
 */
int bf_submit(struct bf_device *device, uint64_t now,
	      const struct bf_request *request);

/* Time of the next work for bf_run; BF_NEVER for an idle device. */
uint64_t bf_next_event(const struct bf_device *device);

/* Advances the device to now. */
void bf_run(struct bf_device *device, uint64_t now);

/* Next finished request in order of completion; 0 when there is none. */
int bf_collect(struct bf_device *device, struct bf_completion *completion);

/* Requests that are neither finished nor collected. */
uint32_t bf_in_flight(const struct bf_device *device);

const struct bf_counters *bf_counters(const struct bf_device *device);
void bf_reset_counters(struct bf_device *device);

/* Faults: reads of the range fail; requests to the range never finish. */
int bf_fault_read_error(struct bf_device *device, uint64_t page, uint64_t pages);
int bf_fault_timeout(struct bf_device *device, uint64_t page, uint64_t pages);
/* Clears all faults; hanging requests finish now with BF_TIMED_OUT. */
void bf_clear_faults(struct bf_device *device, uint64_t now);

/*
 * Aborts the hanging request with that tag: it finishes now with BF_TIMED_OUT.
 * Returns BF_ERR_RANGE, without effect, when it does not hang.
 */
int bf_abort(struct bf_device *device, uint64_t now, uint64_t tag);

/* Whether the newest data of the page would be at risk in a power cut. */
int bf_is_volatile(const struct bf_device *device, uint64_t page);

/*
 * Power fails: the queue is dropped; of the pages at risk a subset determined
 * by the seed survives, the others are passed to lost() and revert to their
 * earlier content. Returns the number of lost pages.
 */
uint32_t bf_power_cut(struct bf_device *device, uint64_t now, uint64_t seed,
		      void (*lost)(void *context, uint64_t page), void *context);

/* For the wrapper's check of its own declarations. */
size_t bf_params_bytes(void);
size_t bf_counters_bytes(void);

#ifdef __cplusplus
}
#endif
#endif
