// SPDX-License-Identifier: GPL-2.0
/*
 * SmartIO: an I/O scheduler for flash storage of small devices.
 *
 * Flash reads are short and mostly in the foreground; writes are long, and a read
 * behind a few of them waits many times its own service time. Therefore:
 *
 *  - Requests have three levels of priority: class (real-time, best effort,
 *    idle), level in the class, and reads before writes. Each class is a
 *    section that is dispatched before the next one.
 *  - With concurrent reads or commits at most one background write is in the
 *    device: what a read may have to wait for.
 *  - That one is held while a reader that keeps reading, or the next step of a
 *    commit, is expected. Holds are paid from a credit, which writes earn for
 *    readers while they wait or run, so that they keep a share of the time.
 *  - Where reads wait for a cache that programs writes later, that is time of the
 *    writes, too, up to a bound.
 *  - Steps of a commit (fsync, logs, swap) precede reads.
 *  - Threads that both read and write are served in the order of arrival, as long
 *    as no other thread reads: holding their writes would delay their own reads.
 *  - One of a quantum of requests is the oldest, if it has waited for a slice.
 *
 * The arithmetic is in smartio_policy.h. See README.rst for the tunables.
 *
 * After "SmartIO" of D. T. Nguyen et al. (2014), which has the levels, the
 * sections, the slice and the quantum.
 */
#include <linux/module.h>
#include <linux/sbitmap.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "smartio.h"
/* After blkdev.h, which it does not include where there is no throttling. */
#include "blk-wbt.h"

/* Whether depths of limit_depth apply to a word of the bitmap; see smartio_probe_shallow(). */
static bool smartio_shallow_per_word __read_mostly;

static int smartio_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	struct request_queue *q = hctx->queue;
	struct smartio_data *sd = q->elevator->elevator_data;
	struct sbitmap_queue *tags = &hctx->sched_tags->bitmap_tags;

	sd->word_tags = smartio_shallow_per_word ? 1u << tags->sb.shift : 0;
	sbitmap_queue_min_shallow_depth(tags, 1);
	return 0;
}

/* Called before the number of requests changes, so the number must be read later. */
static void smartio_hctx_depth_updated(struct blk_mq_hw_ctx *hctx)
{
	smartio_init_hctx(hctx, hctx->queue_num);
}

static void smartio_queue_depth_updated(struct request_queue *q)
{
	struct blk_mq_hw_ctx *hctx;
	unsigned long i;

	queue_for_each_hw_ctx(q, hctx, i)
		smartio_init_hctx(hctx, i);
}

/* For each hardware queue; in later kernels, and updates of earlier ones, for all at once. */
#define smartio_depth_updated								\
	_Generic(((struct elevator_mq_ops *)NULL)->depth_updated,			\
		 void (*)(struct blk_mq_hw_ctx *) : smartio_hctx_depth_updated,		\
		 default : smartio_queue_depth_updated)

/* Argument of writeback throttling's functions: the queue, in later kernels the disk. */
#define smartio_wbt(function, q)						\
	function(_Generic(&function, void (*)(struct request_queue *) : (q), default : (q)->disk))

/*
 * Writeback throttling counts all buffered writes alike, so a commit would wait
 * for a copy before it arrives here, where they are distinguished.
 */
static void smartio_throttling(struct request_queue *q, struct elevator_queue *eq, bool on)
{
#ifdef ELEVATOR_FLAG_DISABLE_WBT
	assign_bit(ELEVATOR_FLAG_DISABLE_WBT, &eq->flags, !on);
#elif defined(blk_queue_disable_wbt)
	assign_bit(QUEUE_FLAG_DISABLE_WBT_DEF, &q->queue_flags, !on);
#endif
	if (on)
		smartio_wbt(wbt_enable_default, q);
	else
		smartio_wbt(wbt_disable_default, q);
}

static int smartio_init_sched(struct request_queue *q, struct elevator_queue *eq)
{
	struct smartio_data *sd = kzalloc_node(sizeof(*sd), GFP_KERNEL, q->node);
	u32 i, kind;

	if (!sd)
		return -ENOMEM;
	eq->elevator_data = sd;
	sd->q = q;
	sd->slice_ns = SMARTIO_SLICE_MS * NSEC_PER_MSEC;
	sd->hold_max_ns = SMARTIO_HOLD_MAX_US * NSEC_PER_USEC;
	sd->quantum = SMARTIO_QUANTUM;
	sd->write_share_percent = SMARTIO_WRITE_SHARE;
	sd->read_reserve_percent = SMARTIO_READ_RESERVE;
	sd->background.credit_ns = SMARTIO_CREDIT_NS;
	spin_lock_init(&sd->lock);
	INIT_LIST_HEAD(&sd->dispatch);
	for (i = 0; i < SMARTIO_NR_QUEUES; i++)
		for (kind = 0; kind < SMARTIO_NR_KINDS; kind++)
			INIT_LIST_HEAD(&sd->queues[i].fifo[kind]);
	for (i = 0; i < ARRAY_SIZE(sd->sorted); i++)
		sd->sorted[i] = RB_ROOT;
#if KERNEL_VERSION(6, 13, 0) <= LINUX_VERSION_CODE
	hrtimer_setup(&sd->timer, smartio_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(&sd->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	sd->timer.function = smartio_timer;
#endif

	/* One order for the device, independent of its number of hardware queues. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	smartio_throttling(q, eq, false);
	return 0;
}

/* Before Linux 6.17 a scheduler allocates its queue. */
#if KERNEL_VERSION(6, 17, 0) > LINUX_VERSION_CODE
static int smartio_init_type(struct request_queue *q, struct elevator_type *type)
{
	struct elevator_queue *eq = elevator_alloc(q, type);
	int error;

	if (!eq)
		return -ENOMEM;
	error = smartio_init_sched(q, eq);
	if (error)
		kobject_put(&eq->kobj);
	return error;
}
#else
#define smartio_init_type	smartio_init_sched
#endif

static void smartio_exit_sched(struct elevator_queue *eq)
{
	struct smartio_data *sd = eq->elevator_data;
	u32 kind;

	hrtimer_cancel(&sd->timer);
	for (kind = 0; kind < SMARTIO_NR_KINDS; kind++)
		WARN_ON_ONCE(sd->waiting[kind]);
	WARN_ON_ONCE(!list_empty(&sd->dispatch));
	WARN_ON_ONCE(smartio_reads(sd, 2) || sd->urgent_in_flight || sd->background.in_flight);
	smartio_throttling(sd->q, eq, true);
	kfree(sd);
}

static struct elevator_type smartio_sched = {
	.ops = {
		.init_sched		= smartio_init_type,
		.exit_sched		= smartio_exit_sched,
		.init_hctx		= smartio_init_hctx,
		.depth_updated		= smartio_depth_updated,
		.limit_depth		= smartio_limit_depth,
		.prepare_request	= smartio_prepare_request,
		.allow_merge		= smartio_allow_merge,
		.bio_merge		= smartio_bio_merge,
		.request_merge		= smartio_request_merge,
		.request_merged		= smartio_request_merged,
		.requests_merged	= smartio_requests_merged,
		.former_request		= elv_rb_former_request,
		.next_request		= elv_rb_latter_request,
		.insert_requests	= smartio_insert_requests,
		.dispatch_request	= smartio_dispatch_request,
		.has_work		= smartio_has_work,
		.completed_request	= smartio_completed_request,
		.finish_request		= smartio_finish_request,
		.requeue_request	= smartio_requeue_request,
	},
#ifdef CONFIG_BLK_DEBUG_FS
	.queue_debugfs_attrs = smartio_queue_debugfs_attrs,
#endif
	.elevator_attrs = smartio_attrs,
	.elevator_name = "smartio",
	.elevator_owner = THIS_MODULE,
};

/*
 * A depth of limit_depth applied to a word of the tags' bitmap in early kernels,
 * and applies to the whole bitmap in later kernels and updates. A small bitmap
 * shows which: one of 16 tags in words of four gives four or sixteen.
 */
static int smartio_probe_shallow(void)
{
	struct sbitmap_queue tags;
	int error = sbitmap_queue_init_node(&tags, 16, 2, false, GFP_KERNEL, NUMA_NO_NODE);
	u32 got = 0;

	if (error)
		return error;
	sbitmap_queue_min_shallow_depth(&tags, 1);
	while (got < 16 && sbitmap_queue_get_shallow(&tags, 4) >= 0)
		got++;
	smartio_shallow_per_word = got > 4;
	sbitmap_queue_free(&tags);
	return 0;
}

static int __init smartio_init(void)
{
	int error = smartio_probe_shallow();

	return error ? error : elv_register(&smartio_sched);
}

static void __exit smartio_exit(void)
{
	elv_unregister(&smartio_sched);
}

module_init(smartio_init);
module_exit(smartio_exit);

MODULE_AUTHOR("The brisk developers");
MODULE_LICENSE("GPL");
MODULE_ALIAS("smartio-iosched");
MODULE_DESCRIPTION("SmartIO I/O scheduler");
