// SPDX-License-Identifier: GPL-2.0
/*
 * Second half of a request's life: selection, dispatch, completion.
 */
#include "smartio.h"

static inline struct request *smartio_head(struct smartio_data *sd, u32 kind, u32 queue)
{
	return list_first_entry(&sd->queues[queue].fifo[kind], struct request, queuelist);
}

static u32 smartio_waiting(struct smartio_data *sd)
{
	u32 kind, all = 0;

	for (kind = 0; kind < SMARTIO_NR_KINDS; kind++)
		all |= READ_ONCE(sd->waiting[kind]);
	return all;
}

/* Queues in which background writes wait. */
static u32 smartio_background_waits(struct smartio_data *sd)
{
	u32 queues = sd->waiting[SMARTIO_BULK] | sd->waiting[SMARTIO_OWN] |
		     sd->waiting[SMARTIO_TRIM];

	if (smartio_crowd(sd))
		queues |= sd->waiting[SMARTIO_URGENT];
	/* The idle class has a limit of its own. */
	return queues & ~BIT(SMARTIO_IDLE_QUEUE);
}

static void smartio_arm(struct smartio_data *sd, u64 at)
{
	if (sd->timer_armed && sd->timer_ns <= at)
		return;
	sd->timer_armed = true;
	sd->timer_ns = at;
	hrtimer_start(&sd->timer, ns_to_ktime(at), HRTIMER_MODE_ABS);
}

/* Brings the credit up to now; before each change of what it depends on. */
void smartio_account(struct smartio_data *sd, u64 now)
{
	bool waits = smartio_background_waits(sd);
	/* What a cache still does for an earlier write delays the read that this one waits for. */
	bool in_flight = sd->background.in_flight || sd->background.overtook;

	sd->background.credit_ns =
		smartio_credit(sd->background.credit_ns, smartio_since(sd->background.at_ns, now),
			       waits || in_flight, waits && !in_flight, sd->write_share_percent);
	sd->background.at_ns = now;
	if (!sd->background.holding)
		sd->background.hidden_ns = SMARTIO_HIDDEN_NS;
	sd->background.holding = smartio_holding(sd->background.holding, sd->background.credit_ns);
}

static struct smartio_view smartio_view_of(struct smartio_data *sd, u32 section, u64 now)
{
	bool reads = smartio_reads_wait(sd, section) || smartio_reads(sd, section);
	struct smartio_view view = {
		.now_ns = now,
		.commit_until_ns = sd->urgent_in_flight ? SMARTIO_NEVER : sd->commit.until_ns,
		.credit_ns = sd->background.credit_ns,
		.writes = sd->background.in_flight,
		.bytes = sd->background.bytes,
		.holding = sd->background.holding,
		.overtaken = sd->background.overtook && smartio_reads(sd, section),
		.beside = reads || sd->urgent_in_flight ||
			  smartio_lately(sd, sd->reader.seen) ||
			  smartio_lately(sd, sd->commit.seen),
	};

	if (reads && smartio_continuous(sd->reader.hits))
		view.read_until_ns = SMARTIO_NEVER;
	else if (sd->reader.section <= section)
		view.read_until_ns = sd->reader.until_ns;
	return view;
}

static bool smartio_may_write(struct smartio_data *sd, struct request *rq, u64 now)
{
	u32 section = smartio_section(smartio_rq_queue(rq));
	struct smartio_view view = smartio_view_of(sd, section, now);
	enum smartio_verdict verdict;

	if (section == 2 && now >= sd->background.idle_ns)
		view.credit_ns = 0;
	verdict = smartio_judge(&view);
	if (verdict != SMARTIO_GO)
		sd->counters.waits[verdict]++;
	if (verdict == SMARTIO_WAIT_HOLD)
		smartio_arm(sd, smartio_wake_ns(&view, sd->write_share_percent));
	return verdict == SMARTIO_GO;
}

/* The first level with room: at most a quantum of one is in flight when others wait. */
static u32 smartio_level(struct smartio_data *sd, u32 queues)
{
	u32 others = smartio_waiting(sd);

	for (; queues; queues &= queues - 1) {
		u32 queue = __ffs(queues);

		if (sd->queues[queue].in_flight < sd->quantum || !(others & ~BIT(queue)))
			return BIT(queue);
	}
	return 0;
}

/* First request of a kind in the given queues: by level, then in order of arrival. */
static struct request *smartio_first(struct smartio_data *sd, u32 kind, u32 queues)
{
	u32 level = smartio_level(sd, queues & sd->waiting[kind]);

	return level ? smartio_head(sd, kind, __ffs(level)) : NULL;
}

/* The one that has waited longer. */
static struct request *smartio_older(struct request *a, struct request *b)
{
	return a && (!b || a->start_time_ns <= b->start_time_ns) ? a : b;
}

/* The next background write: by level, then the oldest; discards when they are old or alone. */
static struct request *smartio_first_background(struct smartio_data *sd, u32 queues, u64 now)
{
	struct request *rq = smartio_older(smartio_first(sd, SMARTIO_BULK, queues),
					   smartio_first(sd, SMARTIO_OWN, queues)), *trim;

	if (smartio_crowd(sd))
		rq = smartio_older(smartio_first(sd, SMARTIO_URGENT, queues), rq);
	trim = smartio_first(sd, SMARTIO_TRIM, queues);
	if (rq && trim && smartio_since(trim->start_time_ns, now) < sd->slice_ns)
		return rq;
	return smartio_older(trim, rq);
}

/* The oldest that waits in the given queues. */
static struct request *smartio_oldest(struct smartio_data *sd, u32 queues)
{
	struct request *rq = NULL;
	u32 kind, left;

	for (kind = 0; kind < SMARTIO_NR_KINDS; kind++)
		for (left = sd->waiting[kind] & queues; left; left &= left - 1)
			rq = smartio_older(smartio_head(sd, kind, __ffs(left)), rq);
	return rq;
}

/* The same, if it has waited for so long. */
static struct request *smartio_older_than(struct smartio_data *sd, u32 queues, u64 age, u64 now)
{
	struct request *rq = smartio_oldest(sd, queues);

	return rq && smartio_since(rq->start_time_ns, now) >= age ? rq : NULL;
}

/*
 * One of a quantum is the oldest, whatever its class and level, if it has waited for its slice:
 * nothing starves, and nothing gains more than its turn by that. A write that may not go yet
 * is @owed its turn: no other background write goes before it.
 */
static struct request *smartio_expired(struct smartio_data *sd, u64 now, bool *owed)
{
	struct request *rq;

	if (sd->turn < sd->quantum)
		return NULL;
	rq = smartio_older_than(sd, BIT(SMARTIO_IDLE_QUEUE),
				SMARTIO_IDLE_SLICES * sd->slice_ns, now);
	if (!rq)
		rq = smartio_older_than(sd, BIT(SMARTIO_IDLE_QUEUE) - 1, sd->slice_ns, now);
	if (!rq) {
		sd->turn = 0;
		return NULL;
	}
	*owed = smartio_rq_kind(rq) > SMARTIO_URGENT && !smartio_may_write(sd, rq, now);
	if (*owed)
		return NULL;
	sd->turn = 0;
	sd->counters.expired++;
	return rq;
}

/* Whether the idle class has to wait: for anything of others, but for no longer than its part. */
static bool smartio_idle_waits(struct smartio_data *sd, u64 now)
{
	u64 until = max(sd->reader.until_ns, sd->commit.until_ns);

	if (smartio_reads(sd, 1) || sd->urgent_in_flight || sd->background.in_flight)
		until = sd->background.idle_ns;
	until = min(until, sd->background.idle_ns);
	if (now >= until)
		return false;
	smartio_arm(sd, until);
	return true;
}

static struct request *smartio_pick(struct smartio_data *sd, u64 now)
{
	u32 all = smartio_waiting(sd), section = smartio_section(__ffs(all)), mask;
	bool owed = false;
	struct request *rq = smartio_expired(sd, now, &owed), *write;

	if (rq)
		return rq;
	for (; section < SMARTIO_NR_SECTIONS; section++) {
		mask = all & smartio_section_mask[section];
		if (!mask || (section == 2 && smartio_idle_waits(sd, now)))
			continue;
		if (smartio_mixed(sd) && !owed) {
			rq = smartio_oldest(sd, smartio_level(sd, mask));
			if (rq)
				return rq;
			continue;
		}
		if (!smartio_crowd(sd)) {
			rq = smartio_first(sd, SMARTIO_URGENT, mask);
			if (rq)
				return rq;
		}
		rq = smartio_first(sd, SMARTIO_READ, mask);
		write = owed ? NULL : smartio_first_background(sd, mask, now);
		/* Reads go first for as long as writes have credit. */
		if (rq && (!write || sd->background.in_flight || sd->background.credit_ns))
			return rq;
		if (write && smartio_may_write(sd, write, now))
			return write;
		if (rq)
			return rq;
		/* What is expected here is not delayed by later sections. */
		if (now < sd->reader.until_ns && sd->reader.section <= section)
			return NULL;
	}
	return NULL;
}

/* The request leaves the scheduler. */
static void smartio_start(struct smartio_data *sd, struct request *rq, u64 now)
{
	u32 kind = smartio_rq_kind(rq), queue = smartio_rq_queue(rq);
	unsigned long state = kind | queue << SMARTIO_RQ_QUEUE_SHIFT | SMARTIO_RQ_IN_FLIGHT |
			      smartio_size_bits(rq);

	if (kind == SMARTIO_READ) {
		sd->reads_in_flight[smartio_section(queue)]++;
	} else if (kind == SMARTIO_URGENT && !smartio_crowd(sd)) {
		sd->urgent_in_flight++;
	} else {
		state |= SMARTIO_RQ_BACKGROUND;
		sd->background.in_flight++;
		sd->background.overtook = sd->background.cached;
	}
	sd->turn++;
	sd->queues[queue].in_flight++;
	sd->counters.dispatched[kind]++;
	smartio_set_state(rq, state);
	smartio_set_stamp(rq, now);
	if (state & SMARTIO_RQ_BACKGROUND)
		sd->background.bytes += smartio_rq_bytes(rq);
	else if (kind == SMARTIO_URGENT)
		sd->urgent_bytes += smartio_rq_bytes(rq);
}

struct request *smartio_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct smartio_data *sd = hctx->queue->elevator->elevator_data;
	struct request *rq;
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&sd->lock, flags);
	now = ktime_get_ns();
	smartio_account(sd, now);
	rq = list_first_entry_or_null(&sd->dispatch, struct request, queuelist);
	if (rq) {
		list_del_init(&rq->queuelist);
	} else if (smartio_waiting(sd)) {
		rq = smartio_pick(sd, now);
		if (rq)
			smartio_remove(sd, rq);
		else
			WRITE_ONCE(sd->blocked, true);
	}
	if (rq && smartio_managed(rq))
		smartio_start(sd, rq, now);
	if (rq)
		rq->rq_flags |= RQF_STARTED;
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

/* ---- completion ---- */

/* The last read in the device is done: whether another one is expected. */
static void smartio_read_done(struct smartio_data *sd, u32 section, u64 now)
{
	u64 most = smartio_hold_limit(sd);
	u64 hold = smartio_hold_ns(sd->reader.pause_ns, sd->reader.hits, most);

	/* Pauses of several readers vary, and a long write ends all of them at once. */
	if (hold && most > sd->hold_max_ns)
		hold = most;
	sd->reader.until_ns = now + hold;
	sd->reader.section = section;
}

/*
 * A read is done. What it took beyond its own time is time of the background writes before it, as
 * if they were in the device: no hold, for which they would pay.
 */
static void smartio_charge_hidden(struct smartio_data *sd, struct request *rq, u64 now)
{
	struct smartio_background *bg = &sd->background;
	u64 took = smartio_since_stamp(rq, now), hidden;

	sd->reader.shortest_ns = smartio_shortest(sd->reader.shortest_ns, took);
	if (bg->in_flight || sd->urgent_in_flight)
		return;
	took = min(took, smartio_since(max(sd->reader.done_ns, bg->done_ns), now));
	hidden = smartio_hidden(took, sd->reader.shortest_ns, smartio_rq_bytes(rq) >> 12);
	if (hidden)
		bg->cached = SMARTIO_CACHED;
	else if (bg->cached && bg->fresh)
		bg->cached--;
	bg->fresh = false;
	if (bg->overtook)
		return;
	hidden = min(hidden, bg->hidden_ns);
	bg->hidden_ns -= hidden;
	bg->credit_ns = min(bg->credit_ns + hidden, SMARTIO_CREDIT_NS);
}

/* A request is no longer in flight, for whatever reason; @now 0: it is not done. */
static void smartio_leave(struct smartio_data *sd, struct request *rq, u64 now)
{
	unsigned long state = smartio_state(rq);
	u32 kind = state & SMARTIO_RQ_KIND, queue = smartio_rq_queue(rq);
	u32 section = smartio_section(queue);

	smartio_account(sd, now ? now : ktime_get_ns());
	smartio_set_state(rq, state & ~(SMARTIO_RQ_IN_FLIGHT | SMARTIO_RQ_BACKGROUND));
	sd->queues[queue].in_flight--;
	if (section == 2 && now)
		sd->background.idle_ns = now + SMARTIO_IDLE_PART *
					 smartio_since_stamp(rq, now);
	if (kind == SMARTIO_READ) {
		sd->reads_in_flight[section]--;
		if (now && section < 2) {
			smartio_charge_hidden(sd, rq, now);
			sd->reader.open = true;
			sd->reader.done_ns = now;
			if (!smartio_reads(sd, 1) && !smartio_reads_wait(sd, 1))
				smartio_read_done(sd, section, now);
		}
		sd->background.overtook = false;
	} else if (state & SMARTIO_RQ_BACKGROUND) {
		sd->background.in_flight--;
		sd->background.bytes -= smartio_rq_bytes(rq);
		sd->background.done_ns = now;
		sd->background.fresh = true;
		if (now && !sd->background.in_flight && kind != SMARTIO_TRIM)
			sd->background.took_ns = smartio_mean(sd->background.took_ns,
							      smartio_since_stamp(rq, now));
	} else {
		sd->urgent_bytes -= smartio_rq_bytes(rq);
		if (!--sd->urgent_in_flight && now)
			sd->commit.until_ns = now + SMARTIO_COMMIT_NS;
	}
	if (sd->blocked) {
		/* The block layer runs the queue after it has freed the request. */
		sd->blocked = false;
		blk_mq_sched_mark_restart_hctx(rq->mq_hctx);
	}
}

static void smartio_end(struct request *rq, u64 now, bool requeued)
{
	struct smartio_data *sd = rq->q->elevator->elevator_data;
	unsigned long flags;

	if (!smartio_managed(rq) || !(smartio_state(rq) & SMARTIO_RQ_IN_FLIGHT))
		return;
	spin_lock_irqsave(&sd->lock, flags);
	sd->counters.requeued += requeued;
	smartio_leave(sd, rq, now);
	spin_unlock_irqrestore(&sd->lock, flags);
}

void smartio_completed_request(struct request *rq, u64 now)
{
	smartio_end(rq, now, false);
}

/* Requests also end without completion: merged ones, and those of a dead device. */
void smartio_finish_request(struct request *rq)
{
	smartio_end(rq, 0, false);
}

void smartio_requeue_request(struct request *rq)
{
	smartio_end(rq, 0, true);
}
