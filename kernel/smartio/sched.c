// SPDX-License-Identifier: GPL-2.0
/*
 * Life of a request: it may be merged, arrives, is dispatched and completes.
 */
#include <linux/hash.h>
#include <linux/ioprio.h>
#include <linux/sched.h>

#include <trace/events/block.h>

#include "smartio.h"

#include "smartio_trace.h"

/* Queues of the real-time class, of best effort, and of the idle class. */
static const u32 smartio_section_mask[SMARTIO_NR_SECTIONS] = {
	0x000ff, 0x0ff00, 0x10000,
};

/* ---- requests ---- */

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
		/* Management of zones and the like. */
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
		/* Others may wait for the log that it belongs to. */
		return kind == SMARTIO_URGENT ? SMARTIO_IDLE_QUEUE - 1 :
						SMARTIO_IDLE_QUEUE;
	default:
		return 8 + IOPRIO_BE_NORM;
	}
}

static struct smartio_reader *smartio_reader(struct smartio_data *sd)
{
	return &sd->readers[hash_32(current->pid, SMARTIO_READER_BITS)];
}

/* Notes who reads, and whether it writes as well. */
static void smartio_note_reader(struct smartio_data *sd)
{
	struct smartio_reader *reader = smartio_reader(sd);

	sd->read_seen = jiffies | 1;
	if (reader->pid != current->pid) {
		/* The place is that of the last one who read. */
		reader->pid = current->pid;
		reader->wrote = 0;
	}
	reader->read = sd->read_seen;
	if (!smartio_lately(sd, reader->wrote)) {
		sd->pure_seen = sd->read_seen;
		sd->pure = reader->pid;
	}
}

/* Whether the thread that writes has read within the slice; kernel threads serve others. */
static bool smartio_reads_too(struct smartio_data *sd)
{
	struct smartio_reader *reader = smartio_reader(sd);

	if (current->flags & PF_KTHREAD || reader->pid != current->pid ||
	    !smartio_lately(sd, reader->read))
		return false;
	reader->wrote = jiffies | 1;
	if (sd->pure == reader->pid)
		sd->pure_seen = 0;
	return true;
}

/* Whether all who read lately write as well: then pace counts, not who is first. */
static bool smartio_mixed(struct smartio_data *sd)
{
	return sd->waiting[SMARTIO_OWN] && !smartio_lately(sd, sd->pure_seen);
}

static void smartio_enqueue(struct smartio_data *sd, struct request *rq, u32 kind, u32 queue)
{
	list_add_tail(&rq->queuelist, &sd->queues[queue].fifo[kind]);
	sd->waiting[kind] |= BIT(queue);
	sd->nr_waiting[kind]++;
	smartio_set_state(rq, kind | queue << SMARTIO_RQ_QUEUE_SHIFT);
}

static void smartio_unlink(struct smartio_data *sd, struct request *rq)
{
	u32 kind = smartio_rq_kind(rq), queue = smartio_rq_queue(rq);

	list_del_init(&rq->queuelist);
	if (list_empty(&sd->queues[queue].fifo[kind]))
		sd->waiting[kind] &= ~BIT(queue);
	sd->nr_waiting[kind]--;
	if (sd->next[kind] == rq)
		sd->next[kind] = NULL;
}

static void smartio_remove(struct smartio_data *sd, struct request *rq)
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

/* A write that somebody waits for has joined one that was in no hurry. */
static void smartio_promote(struct smartio_data *sd, struct request *rq)
{
	u32 queue = smartio_rq_queue(rq);

	if (smartio_rq_kind(rq) != SMARTIO_BULK && smartio_rq_kind(rq) != SMARTIO_OWN)
		return;
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
	struct bio *bio = type == ELEVATOR_FRONT_MERGE ? rq->bio : rq->biotail;

	sd->counters.merged++;
	if (type == ELEVATOR_FRONT_MERGE) {
		elv_rb_del(root, rq);
		elv_rb_add(root, rq);
	}
	if (smartio_awaited(bio->bi_opf))
		smartio_promote(sd, rq);
}

/* @next has become a part of @rq. */
void smartio_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	struct smartio_data *sd = q->elevator->elevator_data;
	bool managed = smartio_managed(rq) && !list_empty(&rq->queuelist);

	lockdep_assert_held(&sd->lock);
	sd->counters.merged++;
	if (list_empty(&next->queuelist))
		return;
	if (managed && (smartio_state(rq) & ~SMARTIO_RQ_SIZE) ==
		       (smartio_state(next) & ~SMARTIO_RQ_SIZE)) {
		/* The block layer has given rq the older start of both. */
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
	bool merged;

	spin_lock_irq(&sd->lock);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock_irq(&sd->lock);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* ---- a request arrives ---- */

/* Reads may take all tags, and so may writes that somebody waits for. */
void smartio_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct smartio_data *sd = data->q->elevator->elevator_data;

	if (op_is_write(opf) && smartio_kind_of(opf) != SMARTIO_URGENT)
		data->shallow_depth = sd->write_tags;
}

void smartio_prepare_request(struct request *rq)
{
	rq->elv.priv[0] = NULL;
	rq->elv.priv[1] = NULL;
}

static void smartio_read_arrives(struct smartio_data *sd, struct request *rq)
{
	smartio_note_reader(sd);
	if (sd->pause_open) {
		u64 pause = smartio_since(sd->read_done_ns, rq->start_time_ns);

		sd->pause_open = false;
		sd->hits = smartio_learn_hits(sd->hits, pause, sd->hold_max_ns);
		if (pause <= sd->hold_max_ns)
			sd->pause_ns = smartio_mean(sd->pause_ns, pause);
		if (sd->blocked && rq->start_time_ns < sd->hold_until_ns)
			sd->counters.reads_held_for++;
	}
}

static bool smartio_writes_wait(struct smartio_data *sd)
{
	return sd->waiting[SMARTIO_URGENT] | sd->waiting[SMARTIO_OWN] |
	       sd->waiting[SMARTIO_BULK];
}

static void smartio_write_arrives(struct smartio_data *sd, struct request *rq)
{
	u64 gap = smartio_since(sd->write_done_ns, rq->start_time_ns);

	if (sd->writes_in_flight || smartio_writes_wait(sd))
		return;
	sd->window_other_ns += gap;
	if (gap > SMARTIO_GAP_NS)
		sd->window_count = 0;	/* it does not follow the last one */
}

static void smartio_insert(struct smartio_data *sd, struct request *rq, bool at_head,
			   struct list_head *free)
{
	struct request_queue *q = rq->q;
	u32 kind, queue;

	/*
	 * Requeued requests were dispatched once and go next. So do requests
	 * that the block layer does not let a scheduler manage (FUA).
	 */
	if (at_head || !smartio_managed(rq)) {
		trace_block_rq_insert(rq);
		if (at_head)
			list_add(&rq->queuelist, &sd->dispatch);
		else
			list_add_tail(&rq->queuelist, &sd->dispatch);
		return;
	}
	kind = smartio_kind_of(rq->cmd_flags);
	if (kind == SMARTIO_READ)
		smartio_read_arrives(sd, rq);
	else if (kind != SMARTIO_TRIM)
		smartio_write_arrives(sd, rq);
	if (kind == SMARTIO_URGENT)
		sd->urgent_seen = jiffies | 1;
	else if (kind == SMARTIO_BULK && smartio_reads_too(sd))
		kind = SMARTIO_OWN;
	queue = smartio_queue_of(rq, kind);
	smartio_set_state(rq, kind | queue << SMARTIO_RQ_QUEUE_SHIFT);
	if (blk_mq_sched_try_insert_merge(q, rq, free))
		return;
	trace_block_rq_insert(rq);
	/* More of what is held already changes nothing. */
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
	while (!list_empty(list)) {
		struct request *rq = list_first_entry(list, struct request, queuelist);

		list_del_init(&rq->queuelist);
		smartio_insert(sd, rq, at_head, &free);
	}
	spin_unlock_irqrestore(&sd->lock, irq);
	blk_mq_free_requests(&free);
}

/* ---- dispatch ---- */

static inline struct request *smartio_head(struct smartio_data *sd, u32 kind, u32 queue)
{
	return list_first_entry(&sd->queues[queue].fifo[kind], struct request, queuelist);
}

static u64 smartio_age(struct request *rq, u64 now)
{
	return smartio_since(rq->start_time_ns, now);
}

static void smartio_arm(struct smartio_data *sd, u64 at)
{
	if (sd->timer_armed && sd->timer_ns <= at)
		return;
	sd->timer_armed = true;
	sd->timer_ns = at;
	hrtimer_start(&sd->timer, ns_to_ktime(at), HRTIMER_MODE_ABS);
}

/* Judges a write; when it has to wait, sees to it that it is judged again. */
static bool smartio_may_write(struct smartio_data *sd, struct request *rq, u64 now)
{
	u32 kind = smartio_rq_kind(rq), section = smartio_section(smartio_rq_queue(rq));
	u32 size = smartio_size(blk_rq_bytes(rq));
	enum smartio_verdict verdict;
	struct smartio_view view = {
		.now_ns = now,
		.age_ns = smartio_age(rq, now),
		.slice_ns = sd->slice_ns,
		.writes_in_flight = sd->writes_in_flight,
		.kind = kind,
	};
	bool cached;
	u64 wake;
	u32 i;

	smartio_caps(sd, size, &view.cap, &view.cap_alone);
	if (sd->favour == SMARTIO_FAVOUR_READ) {
		for (i = 0; i <= section; i++)
			if (sd->waiting[SMARTIO_READ] & smartio_section_mask[i])
				view.reads_waiting = 1;
		view.reads_in_flight = smartio_reads(sd, section);
		if (sd->hold_section <= section)
			view.hold_until_ns = sd->hold_until_ns;
		view.share_percent = smartio_share(section == 2 ? 0 : sd->write_share_percent,
						   view.age_ns, sd->slice_ns);
		sd->debt_ns = smartio_debt(sd->debt_ns, smartio_since(sd->debt_at_ns, now),
					   view.share_percent);
		sd->debt_at_ns = now;
		cached = smartio_cached(sd);
		sd->spent = smartio_spent(sd->spent, sd->debt_ns, view.share_percent,
					  smartio_write_cost(sd, kind, size),
					  cached ? SMARTIO_BURST_NS : 0);
		view.debt_ns = sd->debt_ns;
		view.spent = sd->spent;
		if (!cached && view.share_percent < 100) {
			view.behind = sd->refused_reads == sd->counters.dispatched[SMARTIO_READ];
			view.turn_ns = smartio_turn_ns(sd->write_began_ns,
						       smartio_known(sd->pace_ns, size),
						       smartio_known(sd->service_ns[1], size));
		}
		if (kind == SMARTIO_URGENT &&
		    sd->nr_waiting[kind] + sd->urgent_in_flight > sd->quantum)
			view.kind = SMARTIO_BULK;
		/* The next one that is awaited is not to stand behind a crowd. */
		if (view.kind != SMARTIO_URGENT && smartio_lately(sd, sd->urgent_seen))
			view.cap_alone = min(view.cap_alone, view.cap + 1);
		if (kind == SMARTIO_OWN) {
			if (smartio_mixed(sd))
				view.cap_alone = sd->depth;
			else
				view.kind = SMARTIO_BULK;
		}
	}
	verdict = smartio_judge(&view);
	if (verdict == SMARTIO_GO)
		return true;
	sd->counters.waits[verdict]++;
	if (verdict == SMARTIO_WAIT_SHARE) {
		sd->window_count = 0;
		sd->refused_reads = sd->counters.dispatched[SMARTIO_READ];
	}
	wake = smartio_wake_ns(&view, verdict);
	if (wake != SMARTIO_NEVER)
		smartio_arm(sd, wake);
	trace_smartio_wait(disk_devt(rq->q->disk), kind, verdict, view.debt_ns,
			   wake > now ? wake - now : 0);
	return false;
}

/* Whether the request continues one of the last runs of its direction. */
static bool smartio_continues(struct smartio_data *sd, struct request *rq, u32 dir)
{
	u32 i;

	for (i = 0; i < SMARTIO_RUNS; i++)
		if (sd->run_end[dir][i] == blk_rq_pos(rq))
			return true;
	return false;
}

static void smartio_note_run(struct smartio_data *sd, struct request *rq, u32 dir)
{
	sector_t end = blk_rq_pos(rq) + blk_rq_sectors(rq);
	u32 i;

	for (i = 0; i < SMARTIO_RUNS; i++)
		if (sd->run_end[dir][i] == blk_rq_pos(rq)) {
			sd->run_end[dir][i] = end;
			return;
		}
	sd->run_end[dir][sd->run_oldest[dir]] = end;
	sd->run_oldest[dir] = (sd->run_oldest[dir] + 1) % SMARTIO_RUNS;
}

/* The device's own best concurrency, where the profiler has told it. */
static bool smartio_within_depth(struct smartio_data *sd, struct request *rq, u32 kind)
{
	u32 dir = kind == SMARTIO_READ ? 0 : 1, limit, in_flight;

	if (!sd->run_depth[dir][0] && !sd->run_depth[dir][1])
		return true;
	limit = sd->run_depth[dir][smartio_continues(sd, rq, dir)];
	in_flight = dir ? sd->writes_in_flight : smartio_reads(sd, 2);
	return !limit || in_flight < limit;
}

/*
 * First request of a kind among the queues given: by level, then in order of
 * arrival, but up to a quantum of neighbours in a row.
 */
static struct request *smartio_first(struct smartio_data *sd, u32 kind, u32 queues, u32 others)
{
	struct request *rq;

	while (queues) {
		u32 queue = __ffs(queues);

		queues &= queues - 1;
		/* At most a quantum of one queue when others wait. */
		if (sd->queues[queue].in_flight >= sd->quantum && (others & ~BIT(queue)))
			continue;
		rq = sd->next[kind];
		if (!rq || sd->batch >= sd->quantum || smartio_rq_queue(rq) != queue)
			rq = smartio_head(sd, kind, queue);
		if (smartio_within_depth(sd, rq, kind))
			return rq;
	}
	return NULL;
}

/* What has waited longer than it has to, the oldest first. */
static struct request *smartio_expired(struct smartio_data *sd, u64 now)
{
	struct request *oldest = NULL;
	u64 scan = now + sd->slice_ns;
	u32 kind, queue, mask;

	for (kind = 0; kind < SMARTIO_NR_KINDS; kind++) {
		for (mask = sd->waiting[kind]; mask; mask &= mask - 1) {
			struct request *rq;
			u64 due;

			queue = __ffs(mask);
			rq = smartio_head(sd, kind, queue);
			due = rq->start_time_ns + sd->slice_ns;
			if (queue == SMARTIO_IDLE_QUEUE)
				due += (SMARTIO_IDLE_SLICES - 1) * sd->slice_ns;
			if (due > now)
				scan = min(scan, due);
			else if (!oldest || rq->start_time_ns < oldest->start_time_ns)
				oldest = rq;
		}
	}
	if (!oldest) {
		sd->scan_ns = scan;
		return NULL;
	}
	if (smartio_rq_kind(oldest) != SMARTIO_READ) {
		u32 cap, alone;

		smartio_caps(sd, smartio_size(blk_rq_bytes(oldest)), &cap, &alone);
		if (sd->writes_in_flight >= alone) {
			sd->scan_ns = now + SMARTIO_RECHECK_NS;
			return NULL;
		}
	}
	sd->counters.expired++;
	return oldest;
}

static struct request *smartio_pick_write(struct smartio_data *sd, u32 mask, u32 others, u64 now)
{
	u32 kind;

	for (kind = SMARTIO_URGENT; kind < SMARTIO_NR_KINDS; kind++) {
		struct request *rq;

		if (!(sd->waiting[kind] & mask))
			continue;
		rq = smartio_first(sd, kind, sd->waiting[kind] & mask, others);
		if (rq && smartio_may_write(sd, rq, now))
			return rq;
	}
	return NULL;
}

/* Without a favour, whichever of both came first. */
static struct request *smartio_pick_fair(struct smartio_data *sd, u32 mask, u32 others, u64 now)
{
	struct request *read = NULL, *write;

	if (sd->waiting[SMARTIO_READ] & mask)
		read = smartio_first(sd, SMARTIO_READ, sd->waiting[SMARTIO_READ] & mask, others);
	write = smartio_pick_write(sd, mask, others, now);
	if (!read || !write)
		return read ? read : write;
	if (sd->favour == SMARTIO_FAVOUR_WRITE)
		return write;
	return read->start_time_ns <= write->start_time_ns ? read : write;
}

/*
 * Threads that both read and write get batches of either in turn: the device
 * works best on many of a kind, and a read that went first would but wait for
 * the writes of its thread.
 */
static struct request *smartio_pick_mixed(struct smartio_data *sd, u32 mask, u32 others, u64 now)
{
	u32 reads = sd->waiting[SMARTIO_READ] & mask;
	struct request *rq;

	if (!reads || sd->mixed_reads >= 4 * sd->quantum) {
		sd->mixed_reads = 0;
		sd->mixed_writes = 2 * sd->quantum;
	}
	if (sd->mixed_writes && (sd->waiting[SMARTIO_OWN] & mask)) {
		rq = smartio_first(sd, SMARTIO_OWN, sd->waiting[SMARTIO_OWN] & mask, others);
		if (rq && smartio_may_write(sd, rq, now)) {
			sd->mixed_writes--;
			return rq;
		}
	}
	rq = reads ? smartio_first(sd, SMARTIO_READ, reads, others) : NULL;
	if (rq)
		sd->mixed_reads++;
	return rq;
}

static u32 smartio_waiting(struct smartio_data *sd)
{
	return READ_ONCE(sd->waiting[SMARTIO_READ]) | READ_ONCE(sd->waiting[SMARTIO_URGENT]) |
	       READ_ONCE(sd->waiting[SMARTIO_OWN]) | READ_ONCE(sd->waiting[SMARTIO_BULK]) |
	       READ_ONCE(sd->waiting[SMARTIO_TRIM]);
}

static struct request *smartio_pick(struct smartio_data *sd, u64 now)
{
	u32 all = smartio_waiting(sd), section, mask, writes;
	struct request *rq;

	if (now >= sd->scan_ns) {
		rq = smartio_expired(sd, now);
		if (rq)
			return rq;
	}
	section = smartio_section(__ffs(all));
	mask = smartio_section_mask[section];
	all &= mask;

	/* The idle class waits until nobody else reads. */
	if (section == 2 && (smartio_reads(sd, 1) || now < sd->hold_until_ns)) {
		smartio_arm(sd, smartio_reads(sd, 1) ? now + SMARTIO_RECHECK_NS :
						       sd->hold_until_ns);
		return NULL;
	}
	if (sd->favour != SMARTIO_FAVOUR_READ)
		return smartio_pick_fair(sd, mask, all, now);

	if ((sd->waiting[SMARTIO_URGENT] & mask) &&
	    sd->nr_waiting[SMARTIO_URGENT] + sd->urgent_in_flight <= sd->quantum) {
		rq = smartio_first(sd, SMARTIO_URGENT, sd->waiting[SMARTIO_URGENT] & mask, all);
		if (rq && smartio_may_write(sd, rq, now))
			return rq;
	}
	if (smartio_mixed(sd)) {
		rq = smartio_pick_mixed(sd, mask, all, now);
		if (rq)
			return rq;
	}
	writes = (sd->waiting[SMARTIO_URGENT] | sd->waiting[SMARTIO_OWN] |
		  sd->waiting[SMARTIO_BULK] | sd->waiting[SMARTIO_TRIM]) & mask;
	if (sd->waiting[SMARTIO_READ] & mask) {
		/* A write that is due comes behind one read, not behind all. */
		if (sd->owed && writes) {
			rq = smartio_pick_write(sd, mask, all, now);
			if (rq)
				return rq;
		}
		rq = smartio_first(sd, SMARTIO_READ, sd->waiting[SMARTIO_READ] & mask, all);
		if (rq) {
			sd->owed = writes;
			return rq;
		}
	}
	return writes ? smartio_pick_write(sd, mask, all, now) : NULL;
}

/* The request leaves the scheduler. */
static void smartio_start(struct smartio_data *sd, struct request *rq, u64 now)
{
	u32 kind = smartio_rq_kind(rq), queue = smartio_rq_queue(rq);
	u32 size = smartio_size(blk_rq_bytes(rq)), reads = smartio_reads(sd, 2);
	unsigned long state = kind | queue << SMARTIO_RQ_QUEUE_SHIFT |
			      size << SMARTIO_RQ_SIZE_SHIFT | SMARTIO_RQ_IN_FLIGHT;

	if (!(reads + sd->writes_in_flight))
		state |= SMARTIO_RQ_CLEAN | SMARTIO_RQ_ALONE;
	if (kind == SMARTIO_READ) {
		sd->reads_in_flight[smartio_section(queue)]++;
		sd->window_reads = true;
	} else {
		if (!sd->writes_in_flight)
			state |= SMARTIO_RQ_ALONE;
		sd->writes_in_flight++;
		sd->write_began_ns = now;
		sd->urgent_in_flight += kind == SMARTIO_URGENT;
		sd->owed = false;
		if (kind != SMARTIO_OWN && (reads || sd->waiting[SMARTIO_READ] ||
					    now < sd->hold_until_ns)) {
			sd->debt_ns += smartio_write_cost(sd, kind, size);
			if (sd->debt_ns > sd->slice_ns)
				sd->debt_ns = sd->slice_ns;
		}
	}
	sd->queues[queue].in_flight++;
	sd->counters.dispatched[kind]++;
	smartio_set_state(rq, state);
	smartio_set_stamp(rq, now);
	trace_smartio_dispatch(disk_devt(rq->q->disk), kind, queue, blk_rq_pos(rq),
			       blk_rq_bytes(rq), smartio_age(rq, now), reads,
			       sd->writes_in_flight);
}

/* Nothing may go. A completion, an arrival or the timer changes that. */
static void smartio_block(struct smartio_data *sd, u64 now)
{
	WRITE_ONCE(sd->blocked, true);
	if (!sd->writes_in_flight)
		smartio_arm(sd, now + SMARTIO_RECHECK_NS);
}

struct request *smartio_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct smartio_data *sd = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	unsigned long flags;
	u64 now;
	u32 kind;

	spin_lock_irqsave(&sd->lock, flags);
	now = ktime_get_ns();
	rq = list_first_entry_or_null(&sd->dispatch, struct request, queuelist);
	if (rq) {
		list_del_init(&rq->queuelist);
		if (smartio_managed(rq))
			smartio_start(sd, rq, now);
		goto out;
	}
	if (!smartio_waiting(sd))
		goto unlock;
	rq = smartio_pick(sd, now);
	if (!rq) {
		smartio_block(sd, now);
		goto unlock;
	}
	kind = smartio_rq_kind(rq);
	next = elv_rb_latter_request(rq->q, rq);
	sd->batch = sd->next[kind] == rq ? sd->batch + 1 : 0;
	smartio_remove(sd, rq);
	if (next && blk_rq_pos(next) == blk_rq_pos(rq) + blk_rq_sectors(rq) &&
	    smartio_rq_kind(next) == kind)
		sd->next[kind] = next;
	if (sd->run_depth[kind != SMARTIO_READ][0] || sd->run_depth[kind != SMARTIO_READ][1])
		smartio_note_run(sd, rq, kind != SMARTIO_READ);
	smartio_start(sd, rq, now);
out:
	rq->rq_flags |= RQF_STARTED;
unlock:
	spin_unlock_irqrestore(&sd->lock, flags);
	return rq;
}

bool smartio_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct smartio_data *sd = hctx->queue->elevator->elevator_data;

	if (!list_empty_careful(&sd->dispatch))
		return true;
	return !READ_ONCE(sd->blocked) && smartio_waiting(sd);
}

enum hrtimer_restart smartio_timer(struct hrtimer *timer)
{
	struct smartio_data *sd = container_of(timer, struct smartio_data, timer);
	unsigned long flags;

	spin_lock_irqsave(&sd->lock, flags);
	sd->timer_armed = false;
	sd->blocked = false;
	sd->counters.timer++;
	spin_unlock_irqrestore(&sd->lock, flags);
	blk_mq_run_hw_queues(sd->q, true);
	return HRTIMER_NORESTART;
}

/* ---- a request is done ---- */

/* A request is no longer in flight, whatever became of it. */
static void smartio_leave(struct smartio_data *sd, struct request *rq, u64 now)
{
	unsigned long state = smartio_state(rq);
	u32 kind = state & SMARTIO_RQ_KIND, queue = smartio_rq_queue(rq);
	u32 section = smartio_section(queue);
	bool more = sd->blocked;

	smartio_set_state(rq, state & ~SMARTIO_RQ_IN_FLIGHT);
	sd->queues[queue].in_flight--;
	if (kind == SMARTIO_READ) {
		sd->reads_in_flight[section]--;
		if (smartio_reads(sd, 2) || sd->waiting[SMARTIO_READ]) {
			more = more && sd->waiting[SMARTIO_READ];
		} else if (section < 2 && now) {
			u64 hold = smartio_hold_ns(sd->pause_ns, sd->hits, sd->hold_max_ns);

			sd->pause_open = true;
			sd->read_done_ns = now;
			sd->hold_until_ns = now + hold;
			sd->hold_section = section;
			/* Else the timer or a write's completion is on its way. */
			more = more && !hold;
		}
	} else {
		sd->writes_in_flight--;
		/* The next one may have stood behind it. */
		sd->write_began_ns = max(sd->write_began_ns, now);
		sd->urgent_in_flight -= kind == SMARTIO_URGENT;
	}
	if (more) {
		/* The block layer runs the queue once it has freed the request. */
		sd->blocked = false;
		blk_mq_sched_mark_restart_hctx(rq->mq_hctx);
	}
}

void smartio_completed_request(struct request *rq, u64 now)
{
	struct smartio_data *sd = rq->q->elevator->elevator_data;
	unsigned long flags;

	if (!smartio_managed(rq) || !(smartio_state(rq) & SMARTIO_RQ_IN_FLIGHT))
		return;
	spin_lock_irqsave(&sd->lock, flags);
	smartio_learn(sd, rq, now);
	smartio_leave(sd, rq, now);
	spin_unlock_irqrestore(&sd->lock, flags);
}

/* Requests also end without completing: merged ones, and those of a dead device. */
void smartio_finish_request(struct request *rq)
{
	struct smartio_data *sd = rq->q->elevator->elevator_data;
	unsigned long flags;

	if (!smartio_managed(rq) || !(smartio_state(rq) & SMARTIO_RQ_IN_FLIGHT))
		return;
	spin_lock_irqsave(&sd->lock, flags);
	smartio_leave(sd, rq, 0);
	spin_unlock_irqrestore(&sd->lock, flags);
}

void smartio_requeue_request(struct request *rq)
{
	struct smartio_data *sd = rq->q->elevator->elevator_data;
	unsigned long flags;

	if (!smartio_managed(rq) || !(smartio_state(rq) & SMARTIO_RQ_IN_FLIGHT))
		return;
	spin_lock_irqsave(&sd->lock, flags);
	sd->counters.requeued++;
	smartio_leave(sd, rq, 0);
	spin_unlock_irqrestore(&sd->lock, flags);
}
