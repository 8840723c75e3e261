/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * brisk_flash: a block device with the timing of a phone's flash.
 *
 * The timing model (lab/src/flash/c) computes when a request finishes; one
 * hrtimer at the model's next event acts as the device's interrupt. There is no
 * polling, and every completion time comes from the model.
 *
 * main.c     the list of devices; create and remove
 * config.c   parameters from text
 * disk.c     creation and removal of a device
 * device.c   the life of a request: queue, timer, completion, time-out; faults
 * store.c    the data
 * undo.c     data that a power cut reverts
 * debugfs.c  counters, faults, parameters of a device in use
 */
#ifndef BRISK_FLASH_DEVICE_H
#define BRISK_FLASH_DEVICE_H

#include <linux/atomic.h>
#include <linux/blk-mq.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include "brisk_flash.h"

#define BF_PAGE_SHIFT		12
#define BF_PAGE_SECTORS		(BF_PAGE_BYTES >> SECTOR_SHIFT)

static_assert(BF_PAGE_BYTES == 1u << BF_PAGE_SHIFT);
static_assert(BF_PAGE_BYTES == PAGE_SIZE);

/**
 * struct flash_config - parameters of a device
 * @model: parameters of the timing model, times in nanoseconds
 * @name: of the disk
 * @depth: tags of the driver, at most the model's queue depth
 * @queues: hardware queues, which share the tags
 * @store: whether data is stored
 * @prealloc: whether memory is allocated at once, so that writes need none
 * @power_cut: whether images for power cuts are kept
 * @memory_at_mib: address of memory that the kernel does not use, in MiB, which
 *	holds the data and then the model; 0: the kernel's memory
 * @max_kb: largest request
 * @discard_pages_max: largest discard
 * @timeout_ms: the block layer's request timeout
 */
struct flash_config {
	struct bf_params model;
	char name[DISK_NAME_LEN];
	u32 depth;
	u32 queues;
	u32 store;
	u32 prealloc;
	u32 power_cut;
	u32 memory_at_mib;
	u32 max_kb;
	u32 discard_pages_max;
	u32 timeout_ms;
};

/**
 * struct flash_store - data in RAM
 * @memory: all of it, where the device has memory of its own; else it is
 *	allocated page by page when written
 * @pages: capacity
 * @page: struct page by number; FLASH_ZEROES set: reads as zeroes
 */
struct flash_store {
	char *memory;
	u64 pages;
	unsigned long *page;
};

/**
 * struct flash_undo - images of pages that a power cut may restore
 * @images: struct flash_image by page
 * @oldest: the images in order of their next check
 * @writes: number of finished writes
 * @asked: value of @writes when the last flush arrived
 * @flushed: writes up to this one are durable
 */
struct flash_undo {
	struct xarray images;
	struct list_head oldest;
	u64 writes;
	u64 asked;
	u64 flushed;
};

/**
 * struct flash_totals - counters of the driver
 * @requests: finished, of all kinds
 * @errors: of these, with an error
 * @timeouts: aborted by the block layer
 * @requeues: returned to the block layer instead of being finished
 * @busies: refused at dispatch
 * @lost_pages: by power cuts
 * @timer_events: events of the model handled by the timer
 * @lateness_ns: sum of their lateness
 * @lateness_max_ns: their largest lateness
 * @busy_ns: time with at least one request in the device
 */
struct flash_totals {
	u64 requests;
	u64 errors;
	u64 timeouts;
	u64 requeues;
	u64 busies;
	u64 lost_pages;
	u64 timer_events;
	u64 lateness_ns;
	u64 lateness_max_ns;
	u64 busy_ns;
};

/**
 * struct flash - a device
 * @link: in the list of devices
 * @config: its parameters, with the current times
 * @disk: for the block layer
 * @tags: for the block layer
 * @folder: in debugfs
 * @store: its data
 * @lock: protects all below
 * @model: computes completion times
 * @memory: of the model
 * @timer: fires at the model's next event
 * @armed_ns: time of that event; BF_NEVER: not armed
 * @looked_ns: time of the last update of the busy time in @totals
 * @busy: whether a request was in the device at that time
 * @by_tag: requests in the device
 * @undo: images for a power cut
 * @lost: pages that the last power cut reverted
 * @nr_lost: number of these pages
 * @dead: without power
 * @requeue_every: requeues each N-th finished request; 0: none
 * @error_every: fails each N-th finished request; 0: none
 * @busy_every: refuses each N-th dispatch; 0: none
 * @nr_finished: for @requeue_every and @error_every
 * @nr_dispatched: for @busy_every
 * @totals: counters
 */
struct flash {
	struct list_head link;
	struct flash_config config;
	struct gendisk *disk;
	struct blk_mq_tag_set tags;
	struct dentry *folder;
	struct flash_store store;

	/* Protects all below; taken in interrupts. */
	spinlock_t lock;
	struct bf_device *model;
	void *memory;
	struct hrtimer timer;
	u64 armed_ns;
	u64 looked_ns;
	bool busy;
	struct request *by_tag[BF_MAX_DEPTH];
	struct flash_undo undo;
	u64 *lost;
	u32 nr_lost;
	bool dead;
	u32 requeue_every;
	u32 error_every;
	u32 busy_every;
	u64 nr_finished;
	u64 nr_dispatched;
	struct flash_totals totals;
};

/**
 * struct flash_request - the driver's data of a request
 * @done: in a list of finished requests
 * @staged: pages of a write that become the data when it finishes
 * @asked: of a flush, see struct flash_undo
 * @holders: the device, and a copier of its data; the last one completes it
 * @status: result
 * @requeue: it is requeued instead
 */
struct flash_request {
	struct list_head done;
	struct page **staged;
	u64 asked;
	atomic_t holders;
	blk_status_t status;
	bool requeue;
};

/* config.c */
int flash_config_parse(struct flash_config *config, char *text);
int flash_config_set_times(struct bf_params *model, char *text);
void flash_config_show(struct seq_file *to, const struct flash_config *config);

/* disk.c */
struct flash *flash_create(const struct flash_config *config);
void flash_remove(struct flash *flash);

/* device.c */
extern const struct blk_mq_ops flash_mq_ops;
enum hrtimer_restart flash_timer(struct hrtimer *timer);
void flash_count_busy(struct flash *flash, u64 now_ns);
int flash_new_times(struct flash *flash, const struct bf_params *times);
int flash_fault(struct flash *flash, u64 page, u64 pages,
		int (*fault)(struct bf_device *model, u64 page, u64 pages));
void flash_clear_faults(struct flash *flash);
int flash_cut_power(struct flash *flash, u64 seed);

/* store.c */
int flash_store_init(struct flash_store *store, u64 pages, bool prealloc);
void flash_store_free(struct flash_store *store);
int flash_store_reserve(struct flash_store *store, u64 page, u64 pages);
void flash_store_transfer(struct flash_store *store, struct request *rq);
void flash_store_discard(struct flash_store *store, u64 page, u64 pages);
unsigned long flash_store_swap(struct flash_store *store, u64 page, unsigned long data);
void flash_store_drop(unsigned long data);

/* undo.c; all but staging under the device's lock */
void flash_undo_init(struct flash_undo *undo);
void flash_undo_free(struct flash_undo *undo);
int flash_undo_stage(struct request *rq);
void flash_undo_unstage(struct request *rq);
void flash_undo_apply(struct flash *flash, struct request *rq);
void flash_undo_tear(struct flash *flash, struct request *rq, u64 seed);
void flash_undo_revert(struct flash *flash, u64 page);
void flash_undo_forget(struct flash_undo *undo);

/* debugfs.c */
void flash_debugfs_add(struct flash *flash, struct dentry *parent);

static inline u64 flash_first_page(const struct request *rq)
{
	return blk_rq_pos(rq) / BF_PAGE_SECTORS;
}

static inline u32 flash_pages(const struct request *rq)
{
	return blk_rq_bytes(rq) >> BF_PAGE_SHIFT;
}

#endif
