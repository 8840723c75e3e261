/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared declarations of the SmartIO scheduler: its data, and its data in a
 * request. insert.c and sched.c have the life of a request, attrs.c the files of
 * sysfs and debugfs, main.c the life of the scheduler.
 */
#ifndef SMARTIO_H
#define SMARTIO_H

#include <linux/blkdev.h>
#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/rbtree.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-debugfs.h"
#include "blk-mq-sched.h"
#include "smartio_policy.h"

/* Flag of insert_requests for insertion at the head; a bool before Linux 6.4. */
#ifdef BLK_MQ_INSERT_AT_HEAD
#define smartio_insert_t	blk_insert_t
#define SMARTIO_AT_HEAD		BLK_MQ_INSERT_AT_HEAD
#else
#define smartio_insert_t	bool
#define SMARTIO_AT_HEAD		true
#endif

#define SMARTIO_SLICE_MS	100
#define SMARTIO_QUANTUM		8
#define SMARTIO_WRITE_SHARE	77	/* percent: on serial devices a copy takes 1.3 times as long */
#define SMARTIO_HOLD_MAX_US	1000
#define SMARTIO_READ_RESERVE	25	/* percent of tags */

/* Most slices that the idle class waits. */
#define SMARTIO_IDLE_SLICES	10

/* Eight levels of real-time, eight of best effort, and idle. */
#define SMARTIO_NR_QUEUES	17
#define SMARTIO_IDLE_QUEUE	16
#define SMARTIO_NR_SECTIONS	3

/* Threads, by a hash of their id; one in a slot. */
#define SMARTIO_THREAD_BITS	6

/* Writes for which a device that was seen to program one later is expected to do so again. */
#define SMARTIO_CACHED		8

/* How long a thread that wrote the content of files is expected to do so again. */
#define SMARTIO_FILLER_JIFFIES	(10 * HZ)

/* Content of elv.priv[0] of a request. */
#define SMARTIO_RQ_KIND		0x0007ul
#define SMARTIO_RQ_QUEUE_SHIFT	3
#define SMARTIO_RQ_QUEUE	0x00f8ul
#define SMARTIO_RQ_IN_FLIGHT	0x0100ul
#define SMARTIO_RQ_BACKGROUND	0x0200ul	/* counted in background.in_flight */
#define SMARTIO_RQ_PAGES_SHIFT	10		/* of 4 KiB, when it was counted */

struct smartio_queue {
	struct list_head fifo[SMARTIO_NR_KINDS];
	u32 in_flight;
};

/* When a thread last did what decides about its writes, in jiffies; 0: not that is known. */
struct smartio_thread {
	pid_t pid;
	unsigned long read;
	unsigned long wrote;	/* as well */
	unsigned long filled;	/* content of a file, for all of which it waits */
};

struct smartio_counters {
	u64 dispatched[SMARTIO_NR_KINDS];
	u64 waits[SMARTIO_NR_VERDICTS];
	u64 merged;
	u64 expired;
	u64 requeued;
	u64 reads_held_for;	/* reads that arrived while writes were held */
	u64 timer;
};

/* Whether the next read is expected: smartio_leave(), smartio_read_arrives(). */
struct smartio_pauses {
	u64 until_ns;		/* it is until then */
	u64 done_ns;
	u32 section;
	u32 pause_ns;
	u32 shortest_ns;	/* of reads in the device */
	u32 hits;
	bool open;		/* a read completed and none has arrived since */
	unsigned long seen;	/* jiffies */
	unsigned long pure_seen;	/* the same of threads that do not write */
};

/* Commits. */
struct smartio_commit {
	u64 until_ns;		/* the next step is likely until then */
	unsigned long seen;	/* jiffies */
};

/* Background writes: what they do and may. */
struct smartio_background {
	u64 credit_ns;		/* time for which they may still be held */
	u64 at_ns;		/* of the account */
	u64 idle_ns;		/* the idle class may not before */
	u32 in_flight;
	u32 bytes;		/* in flight */
	u32 took_ns;		/* mean of one alone */
	bool holding;
	u32 cached;		/* after so many more without that, none is expected to be hidden */
	bool overtook;		/* one is, and no read has completed since the last one went */
	bool fresh;		/* the same, since the last one was done */
	u64 hidden_ns;		/* still charged to them for that, in this turn of holds */
	u64 done_ns;
};

struct smartio_data {
	/* Tunables: written under the lock, so that a decision sees one state. */
	u64 slice_ns;
	u64 hold_max_ns;
	u32 quantum;
	u32 write_share_percent;
	u32 read_reserve_percent;

	u32 word_tags;		/* unit of limit_depth, if not the whole bitmap */

	spinlock_t lock;	/* all below; taken in completions, too */

	/* Waiting requests. */
	struct list_head dispatch;	/* requeued and unmanaged ones: first */
	struct smartio_queue queues[SMARTIO_NR_QUEUES];
	u32 waiting[SMARTIO_NR_KINDS];	/* bitmap of queues */
	u32 nr_waiting[SMARTIO_NR_KINDS];
	u32 urgent_waiting_bytes;
	struct rb_root sorted[3];	/* reads, writes, trims by sector */

	/* Requests in flight. */
	u32 reads_in_flight[SMARTIO_NR_SECTIONS];
	u32 urgent_in_flight;
	u32 urgent_bytes;	/* in flight */
	u32 turn;		/* dispatched since the oldest had its turn */

	/* Why no waiting request is dispatched. */
	bool blocked;
	bool timer_armed;
	u64 timer_ns;
	struct hrtimer timer;
	struct request_queue *q;

	struct smartio_thread threads[1 << SMARTIO_THREAD_BITS];
	struct smartio_pauses reader;
	struct smartio_commit commit;
	struct smartio_background background;
	struct smartio_counters counters;
};

static inline bool smartio_managed(struct request *rq)
{
#ifdef RQF_USE_SCHED
	return rq->rq_flags & RQF_USE_SCHED;
#else
	/* Passthrough commands arrive here as well, from a plug. */
	return rq->rq_flags & RQF_ELVPRIV && !blk_rq_is_passthrough(rq);
#endif
}

static inline unsigned long smartio_state(struct request *rq)
{
	return (unsigned long)rq->elv.priv[0];
}

static inline void smartio_set_state(struct request *rq, unsigned long state)
{
	rq->elv.priv[0] = (void *)state;
}

static inline u32 smartio_rq_kind(struct request *rq)
{
	return smartio_state(rq) & SMARTIO_RQ_KIND;
}

static inline u32 smartio_rq_queue(struct request *rq)
{
	return (smartio_state(rq) & SMARTIO_RQ_QUEUE) >> SMARTIO_RQ_QUEUE_SHIFT;
}

/* Bytes of a request, whose own number falls to 0 until it is complete. */
static inline u32 smartio_rq_bytes(struct request *rq)
{
	return smartio_state(rq) >> SMARTIO_RQ_PAGES_SHIFT << 12;
}

/* Keeps the bytes of a request in its state; up to 4 GiB on 32 bits, as blk_rq_bytes() has them. */
static inline unsigned long smartio_size_bits(struct request *rq)
{
	return (unsigned long)DIV_ROUND_UP(blk_rq_bytes(rq), 4096u) << SMARTIO_RQ_PAGES_SHIFT;
}

/* elv.priv[1]: dispatch time, truncated to a pointer. */
#define SMARTIO_STAMP_SHIFT (BITS_PER_LONG == 64 ? 0 : 10)

static inline void smartio_set_stamp(struct request *rq, u64 now)
{
	rq->elv.priv[1] = (void *)(unsigned long)(now >> SMARTIO_STAMP_SHIFT);
}

static inline u64 smartio_since_stamp(struct request *rq, u64 now)
{
	unsigned long ticks = (unsigned long)(now >> SMARTIO_STAMP_SHIFT) -
			      (unsigned long)rq->elv.priv[1];

	/* Timestamps of completions may precede those of dispatches. */
	return (long)ticks < 0 ? 0 : (u64)ticks << SMARTIO_STAMP_SHIFT;
}

static inline u32 smartio_section(u32 queue)
{
	return queue >> 3;
}

static inline u32 smartio_table(u32 kind)
{
	return kind == SMARTIO_READ ? 0 : kind == SMARTIO_TRIM ? 2 : 1;
}

static inline bool smartio_awaited(blk_opf_t opf)
{
	return (opf & (REQ_SYNC | REQ_IDLE)) == REQ_SYNC ||
	       opf & (REQ_META | REQ_PRIO | REQ_SWAP);
}

/* Reads in flight of a section and earlier ones. */
static inline u32 smartio_reads(struct smartio_data *sd, u32 section)
{
	u32 reads = sd->reads_in_flight[0];

	if (section > 0)
		reads += sd->reads_in_flight[1];
	if (section > 1)
		reads += sd->reads_in_flight[2];
	return reads;
}

/* Queues of the real-time class, of best effort, and of the idle class. */
static const u32 smartio_section_mask[SMARTIO_NR_SECTIONS] = {
	0x000ff, 0x0ff00, 0x10000,
};

/* Whether reads of the section, or of an earlier one, wait. */
static inline bool smartio_reads_wait(struct smartio_data *sd, u32 section)
{
	u32 i;

	for (i = 0; i <= section; i++)
		if (sd->waiting[SMARTIO_READ] & smartio_section_mask[i])
			return true;
	return false;
}

/* Longest time for which a read is expected. */
static inline u64 smartio_hold_limit(struct smartio_data *sd)
{
	return smartio_hold_most(sd->hold_max_ns, sd->background.took_ns);
}

/* Whether a time, in jiffies, lies within the last slice. */
static inline bool smartio_lately(struct smartio_data *sd, unsigned long seen)
{
	return seen && time_before(jiffies, seen + nsecs_to_jiffies(sd->slice_ns) + 1);
}

/* Whether all recent readers write as well: then throughput matters more than order. */
static inline bool smartio_mixed(struct smartio_data *sd)
{
	return sd->waiting[SMARTIO_OWN] && !smartio_lately(sd, sd->reader.pure_seen);
}

/* So many synchronous writes at once, or such long ones, are the end of a large fsync. */
static inline bool smartio_crowd(struct smartio_data *sd)
{
	return sd->nr_waiting[SMARTIO_URGENT] + sd->urgent_in_flight > sd->quantum ||
	       sd->urgent_waiting_bytes + sd->urgent_bytes > SMARTIO_COMMIT_BYTES;
}

/* insert.c */
u32 smartio_write_tags(struct smartio_data *sd, bool idle);
void smartio_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data);
void smartio_prepare_request(struct request *rq);
bool smartio_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs);
bool smartio_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio);
int smartio_request_merge(struct request_queue *q, struct request **rq, struct bio *bio);
void smartio_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type);
void smartio_requests_merged(struct request_queue *q, struct request *rq, struct request *next);
void smartio_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
			     smartio_insert_t flags);
void smartio_remove(struct smartio_data *sd, struct request *rq);

/* sched.c */
void smartio_account(struct smartio_data *sd, u64 now);
enum hrtimer_restart smartio_timer(struct hrtimer *timer);
struct request *smartio_dispatch_request(struct blk_mq_hw_ctx *hctx);
bool smartio_has_work(struct blk_mq_hw_ctx *hctx);
void smartio_completed_request(struct request *rq, u64 now);
void smartio_finish_request(struct request *rq);
void smartio_requeue_request(struct request *rq);

/* attrs.c */
extern struct elv_fs_entry smartio_attrs[];
#ifdef CONFIG_BLK_DEBUG_FS
extern const struct blk_mq_debugfs_attr smartio_queue_debugfs_attrs[];
#endif

#endif
