// SPDX-License-Identifier: GPL-2.0
/*
 * First half of a request's life: classification by sender and kind, merging,
 * insertion.
 */
#include <linux/hash.h>
#include <linux/ioprio.h>
#include <linux/sched.h>

#include <trace/events/block.h>

#include "smartio.h"

/* ---- requests ---- */

/*
 * Whether a synchronous write is the content of a file and no commit: its
 * sender waits for many such writes, which must not delay other commits.
 */
static bool smartio_content(struct request *rq)
{
	return blk_rq_bytes(rq) > SMARTIO_COMMIT_BYTES && req_op(rq) == REQ_OP_WRITE &&
	       !(rq->cmd_flags & (REQ_META | REQ_PRIO | REQ_SWAP));
}

static u32 smartio_kind_of(blk_opf_t opf)
{
	switch (opf & REQ_OP_MASK) {
	case REQ_OP_READ:
		return SMARTIO_READ;
	case REQ_OP_WRITE:
	case REQ_OP_ZONE_APPEND:
		return smartio_awaited(opf) ? SMARTIO_URGENT : SMARTIO_BULK;
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
	case REQ_OP_WRITE_ZEROES:
		return SMARTIO_TRIM;
	default:
		/* Zone management and similar. */
		return SMARTIO_URGENT;
	}
}

static u32 smartio_queue_of(struct request *rq, u32 kind)
{
	u16 ioprio = req_get_ioprio(rq);

	switch (IOPRIO_PRIO_CLASS(ioprio)) {
	case IOPRIO_CLASS_RT:
		return IOPRIO_PRIO_LEVEL(ioprio) & 7;
	case IOPRIO_CLASS_BE:
		return 8 + (IOPRIO_PRIO_LEVEL(ioprio) & 7);
	case IOPRIO_CLASS_IDLE:
		/* Other threads may wait for the log that it belongs to. */
		return kind == SMARTIO_URGENT ? SMARTIO_IDLE_QUEUE - 1 :
						SMARTIO_IDLE_QUEUE;
	default:
		return 8 + IOPRIO_BE_NORM;
	}
}

static bool smartio_sender_is_idle(void)
{
	return IOPRIO_PRIO_CLASS(get_current_ioprio()) == IOPRIO_CLASS_IDLE;
}

/* What is known of the current thread; a slot is that of the last one with its hash. */
static struct smartio_thread *smartio_thread(struct smartio_data *sd)
{
	return &sd->threads[hash_32(current->pid, SMARTIO_THREAD_BITS)];
}

static struct smartio_thread *smartio_note_thread(struct smartio_data *sd)
{
	struct smartio_thread *thread = smartio_thread(sd);

	if (thread->pid != current->pid) {
		WRITE_ONCE(thread->filled, 0);
		thread->read = 0;
		thread->wrote = 0;
		WRITE_ONCE(thread->pid, current->pid);
	}
	return thread;
}

/*
 * Records a reading thread, and whether it writes as well. For the idle class no others wait but
 * its own.
 */
static void smartio_note_reader(struct smartio_data *sd, bool idle)
{
	struct smartio_thread *thread = smartio_note_thread(sd);

	thread->read = jiffies | 1;
	if (!idle)
		sd->reader.seen = thread->read;
	if (!idle && !smartio_lately(sd, thread->wrote))
		sd->reader.pure_seen = thread->read;
}

/* Whether the writing thread has read within the slice; kernel threads write for others. */
static bool smartio_reads_too(struct smartio_data *sd)
{
	struct smartio_thread *thread = smartio_thread(sd);

	if (current->flags & PF_KTHREAD || thread->pid != current->pid ||
	    !smartio_lately(sd, thread->read))
		return false;
	thread->wrote = jiffies | 1;
	return true;
}

/*
 * Whether the thread has sent the content of files before; a guess, without the
 * lock. Copies write one file after another, with pauses in which they fill memory.
 */
static bool smartio_fills(struct smartio_data *sd)
{
	struct smartio_thread *thread = smartio_thread(sd);
	unsigned long filled = READ_ONCE(thread->filled);

	return READ_ONCE(thread->pid) == current->pid && filled &&
	       time_before(jiffies, filled + SMARTIO_FILLER_JIFFIES);
}

static void smartio_enqueue(struct smartio_data *sd, struct request *rq, u32 kind, u32 queue)
{
	list_add_tail(&rq->queuelist, &sd->queues[queue].fifo[kind]);
	sd->waiting[kind] |= BIT(queue);
	sd->nr_waiting[kind]++;
	smartio_set_state(rq, kind | queue << SMARTIO_RQ_QUEUE_SHIFT | smartio_size_bits(rq));
	if (kind == SMARTIO_URGENT)
		sd->urgent_waiting_bytes += smartio_rq_bytes(rq);
}

static void smartio_unlink(struct smartio_data *sd, struct request *rq)
{
	u32 kind = smartio_rq_kind(rq), queue = smartio_rq_queue(rq);

	list_del_init(&rq->queuelist);
	if (list_empty(&sd->queues[queue].fifo[kind]))
		sd->waiting[kind] &= ~BIT(queue);
	sd->nr_waiting[kind]--;
	/* As it was when it arrived: merges count with the request that they join. */
	if (kind == SMARTIO_URGENT)
		sd->urgent_waiting_bytes -= smartio_rq_bytes(rq);
}

void smartio_remove(struct smartio_data *sd, struct request *rq)
{
	struct request_queue *q = rq->q;

	smartio_unlink(sd, rq);
	if (!RB_EMPTY_NODE(&rq->rb_node))
		elv_rb_del(&sd->sorted[smartio_table(smartio_rq_kind(rq))], rq);
	elv_rqhash_del(q, rq);
	if (q->last_merge == rq)
		q->last_merge = NULL;
}

/* ---- merging ---- */

/* With concurrent reads a background write does not grow: the next read waits for all of it. */
bool smartio_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio)
{
	struct smartio_data *sd = q->elevator->elevator_data;

	return !op_is_write(rq->cmd_flags) || !smartio_lately(sd, sd->reader.seen) ||
	       blk_rq_bytes(rq) + bio->bi_iter.bi_size <= SMARTIO_COMMIT_BYTES;
}

int smartio_request_merge(struct request_queue *q, struct request **rq, struct bio *bio)
{
	struct smartio_data *sd = q->elevator->elevator_data;
	u32 table = smartio_table(smartio_kind_of(bio->bi_opf));
	struct request *found;

	found = elv_rb_find(&sd->sorted[table], bio_end_sector(bio));
	if (!found || !elv_bio_merge_ok(found, bio))
		return ELEVATOR_NO_MERGE;
	*rq = found;
	return blk_discard_mergable(found) ? ELEVATOR_DISCARD_MERGE : ELEVATOR_FRONT_MERGE;
}

/* A synchronous write has merged into an asynchronous one. */
static void smartio_promote(struct smartio_data *sd, struct request *rq)
{
	u32 queue = smartio_rq_queue(rq);

	if (smartio_rq_kind(rq) != SMARTIO_BULK && smartio_rq_kind(rq) != SMARTIO_OWN)
		return;
	if (smartio_content(rq))
		return;
	sd->commit.seen = jiffies | 1;
	smartio_unlink(sd, rq);
	if (queue == SMARTIO_IDLE_QUEUE)
		queue--;
	smartio_enqueue(sd, rq, SMARTIO_URGENT, queue);
	sd->blocked = false;
}

void smartio_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type)
{
	struct smartio_data *sd = q->elevator->elevator_data;
	struct rb_root *root = &sd->sorted[smartio_table(smartio_rq_kind(rq))];

	sd->counters.merged++;
	if (type == ELEVATOR_FRONT_MERGE) {
		elv_rb_del(root, rq);
		elv_rb_add(root, rq);
	}
}

/* @next has merged into @rq. */
void smartio_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	struct smartio_data *sd = q->elevator->elevator_data;
	bool managed = smartio_managed(rq) && !list_empty(&rq->queuelist);

	lockdep_assert_held(&sd->lock);
	sd->counters.merged++;
	if (list_empty(&next->queuelist)) {
		/* It merged before insertion, so it is in no list. */
		if (managed && smartio_rq_kind(next) == SMARTIO_URGENT)
			smartio_promote(sd, rq);
		return;
	}
	if (managed && smartio_rq_kind(rq) == smartio_rq_kind(next) &&
	    smartio_rq_queue(rq) == smartio_rq_queue(next)) {
		/* The block layer has given rq the earlier start time of both. */
		if (rq->start_time_ns == next->start_time_ns)
			list_move(&rq->queuelist, &next->queuelist);
	} else if (managed && smartio_rq_kind(next) == SMARTIO_URGENT) {
		smartio_promote(sd, rq);
	}
	smartio_remove(sd, next);
}

bool smartio_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct smartio_data *sd = q->elevator->elevator_data;
	struct request *free = NULL;
	blk_opf_t opf = bio->bi_opf;
	bool merged, blocked;

	spin_lock_irq(&sd->lock);
	blocked = sd->blocked;
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	/* The block layer stores the merged request, also when two requests merged. */
	if (merged && q->last_merge && smartio_kind_of(opf) == SMARTIO_URGENT)
		smartio_promote(sd, q->last_merge);
	blocked = blocked && !sd->blocked;
	spin_unlock_irq(&sd->lock);
	if (free)
		blk_mq_free_request(free);
	/* A merge causes no dispatch by itself, even if it made a request urgent. */
	if (blocked)
		blk_mq_run_hw_queues(q, true);
	return merged;
}

/* ---- a request arrives ---- */

/*
 * Tags available to writes, in the unit of limit_depth. Beside reads twice the reserve is kept from
 * them, and three quarters from the idle class: waiting writes must leave reads as many as the
 * device accepts, which are half of all.
 */
u32 smartio_write_tags(struct smartio_data *sd, bool idle)
{
	u32 all = sd->q->nr_requests, percent = sd->read_reserve_percent;

	if (sd->word_tags)
		all = min(all, sd->word_tags);
	if (smartio_lately(sd, sd->reader.seen))
		percent = idle ? 75 : min(2 * percent, 75u);
	return smartio_tags(all, percent);
}

/*
 * Reads and synchronous writes may take all tags. The size of a write is not known
 * yet, but a sender of large ones will send more of them.
 */
void smartio_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct smartio_data *sd = data->q->elevator->elevator_data;

	if (op_is_write(opf) &&
	    (smartio_kind_of(opf) != SMARTIO_URGENT ||
	     (!(opf & (REQ_META | REQ_PRIO | REQ_SWAP)) && smartio_fills(sd))))
		data->shallow_depth = smartio_write_tags(sd, smartio_sender_is_idle());
}

void smartio_prepare_request(struct request *rq)
{
	rq->elv.priv[0] = NULL;
	rq->elv.priv[1] = NULL;
}

static void smartio_read_arrives(struct smartio_data *sd, struct request *rq, u32 queue)
{
	bool idle = queue == SMARTIO_IDLE_QUEUE;

	smartio_note_reader(sd, idle);
	if (sd->reader.open && !idle) {
		u64 pause = smartio_since(sd->reader.done_ns, rq->start_time_ns);
		u64 most = smartio_hold_limit(sd);

		sd->reader.open = false;
		sd->reader.hits = smartio_learn_hits(sd->reader.hits, pause, most);
		/* Beside other reads it tells that reads go on, and not how long a pause is. */
		if (pause <= most && !smartio_reads(sd, 1) && !smartio_reads_wait(sd, 1))
			sd->reader.pause_ns = smartio_mean(sd->reader.pause_ns, pause);
		if (sd->blocked && rq->start_time_ns < sd->reader.until_ns)
			sd->counters.reads_held_for++;
	}
}

/*
 * The block layer flushes the device's cache by itself; the write after the flush
 * arrives here for the first time, and must be dispatched next, as it is the last
 * step of a commit. Earlier kernels do not pass it to the scheduler.
 */
static void smartio_behind_flush(struct smartio_data *sd, struct request *rq)
{
	u32 kind = smartio_kind_of(rq->cmd_flags);

	if (kind == SMARTIO_URGENT)
		sd->commit.seen = jiffies | 1;
	smartio_set_state(rq, kind | smartio_queue_of(rq, kind) << SMARTIO_RQ_QUEUE_SHIFT);
}

static void smartio_insert(struct smartio_data *sd, struct request *rq, bool at_head,
			   struct list_head *free)
{
	struct request_queue *q = rq->q;
	u32 kind, queue;

	/*
	 * Requeued requests were dispatched once and go next. So do requests
	 * that the block layer does not let a scheduler manage.
	 */
	if (at_head || !smartio_managed(rq)) {
		if (smartio_managed(rq) && !smartio_state(rq))
			smartio_behind_flush(sd, rq);
		trace_block_rq_insert(rq);
		if (at_head)
			list_add(&rq->queuelist, &sd->dispatch);
		else
			list_add_tail(&rq->queuelist, &sd->dispatch);
		return;
	}
	kind = smartio_kind_of(rq->cmd_flags);
	if (kind == SMARTIO_URGENT && smartio_content(rq)) {
		WRITE_ONCE(smartio_note_thread(sd)->filled, jiffies | 1);
		kind = SMARTIO_BULK;
	}
	if (kind == SMARTIO_URGENT)
		sd->commit.seen = jiffies | 1;
	else if (kind == SMARTIO_BULK && smartio_reads_too(sd))
		kind = SMARTIO_OWN;
	queue = smartio_queue_of(rq, kind);
	if (kind == SMARTIO_READ)
		smartio_read_arrives(sd, rq, queue);
	smartio_set_state(rq, kind | queue << SMARTIO_RQ_QUEUE_SHIFT);
	/* When discards merge twice, the block layer loses that one waits here. */
	if (!blk_discard_mergable(rq) && blk_mq_sched_try_insert_merge(q, rq, free))
		return;
	trace_block_rq_insert(rq);
	/* Further requests of a held kind change nothing. */
	if (kind < SMARTIO_BULK || !(sd->waiting[kind] & BIT(queue)))
		sd->blocked = false;
	smartio_enqueue(sd, rq, kind, queue);
	elv_rb_add(&sd->sorted[smartio_table(kind)], rq);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(q, rq);
		if (!q->last_merge)
			q->last_merge = rq;
	}
}

void smartio_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
			     smartio_insert_t flags)
{
	struct smartio_data *sd = hctx->queue->elevator->elevator_data;
	bool at_head = flags & SMARTIO_AT_HEAD;
	unsigned long irq;
	LIST_HEAD(free);

	spin_lock_irqsave(&sd->lock, irq);
	smartio_account(sd, ktime_get_ns());
	while (!list_empty(list)) {
		struct request *rq = list_first_entry(list, struct request, queuelist);

		list_del_init(&rq->queuelist);
		smartio_insert(sd, rq, at_head, &free);
	}
	spin_unlock_irqrestore(&sd->lock, irq);
	blk_mq_free_requests(&free);
}
