// SPDX-License-Identifier: GPL-2.0
/*
 * Second half of a request's life: selection, dispatch, completion.
 */
#include "smartio.h"

/* Queues of the real-time class, of best effort, and of the idle class. */
static const u32 smartio_section_mask[SMARTIO_NR_SECTIONS] = {
	0x000ff, 0x0ff00, 0x10000,
};

static inline struct request *smartio_head(struct smartio_data *sd, u32 kind, u32 queue)
{
	return list_first_entry(&sd->queues[queue].fifo[kind], struct request, queuelist);
}

static u64 smartio_age(struct request *rq, u64 now)
{
	return smartio_since(rq->start_time_ns, now);
}

/* Service time of the request without others, as far as known. */
static u32 smartio_service(struct smartio_data *sd, struct request *rq)
{
	return smartio_known(sd->learned.service_ns[smartio_table(smartio_rq_kind(rq))],
			     smartio_size(blk_rq_bytes(rq)));
}

static void smartio_arm(struct smartio_data *sd, u64 at)
{
	if (sd->timer_armed && sd->timer_ns <= at)
		return;
	sd->timer_armed = true;
	sd->timer_ns = at;
	hrtimer_start(&sd->timer, ns_to_ktime(at), HRTIMER_MODE_ABS);
}

/*
 * Time until which an asynchronous write is deferred for synchronous ones: for
 * one in the device, and for the next one of a commit; 0 if it is not. A small
 * write is deferred for at most half of the slice, so that no large number of
 * them reaches the slice at once; a part of a large file for at most the slice,
 * unless it has waited for other such parts.
 */
static u64 smartio_kept_until(struct smartio_data *sd, struct request *rq, u64 now)
{
	bool content = blk_rq_bytes(rq) > SMARTIO_COMMIT_BYTES;
	u64 until = sd->urgent_in_flight ? SMARTIO_NEVER : sd->commit.until_ns;

	if (!content)
		until = min(until, rq->start_time_ns + sd->slice_ns / 2);
	if (now >= until || !sd->commit.patience_ns || sd->commit.turn_left)
		return 0;
	if (sd->write_share_percent >= 100)
		return 0;
	if (smartio_age(rq, now) >= sd->slice_ns &&
	    smartio_since(sd->commit.plain_at_ns, now) >= sd->slice_ns / 2)
		return 0;
	return min(until, now + sd->commit.patience_ns);
}

/* The time for which other writes were deferred reduces patience. */
static void smartio_charge_kept(struct smartio_data *sd, u64 now)
{
	u64 kept;

	if (!sd->commit.kept_at_ns)
		return;
	kept = smartio_since(sd->commit.kept_at_ns, now);
	sd->commit.patience_ns = smartio_patience(sd->commit.patience_ns, kept);
	sd->window.other_ns += kept;
	sd->commit.kept_at_ns = now;
}

/* Whether the first reads with concurrent writes wait for the cache to drain. */
static bool smartio_drains(struct smartio_data *sd, u64 now)
{
	return now < sd->drain.until_ns;
}

/* The share of a device with a cache is used up, or settled. */
static void smartio_turned(struct smartio_data *sd, bool spent)
{
	if (!spent) {
		smartio_settled(sd, false);
	} else if (sd->lost.long_holds < SMARTIO_LONG_HOLDS) {
		u64 share_ns = div_u64(sd->slice_ns * sd->write_share_percent, 100);

		sd->lost.long_holds++;
		sd->share.debt_ns = max(sd->share.debt_ns, share_ns);
	}
}

/* Whether reads of the section, or of an earlier one, wait. */
static bool smartio_reads_wait(struct smartio_data *sd, u32 section)
{
	u32 i;

	for (i = 0; i <= section; i++)
		if (sd->waiting[SMARTIO_READ] & smartio_section_mask[i])
			return true;
	return false;
}

/* Whether reads of the section, or of an earlier one, are waiting, in flight or expected. */
static bool smartio_beside_reads(struct smartio_data *sd, u32 section, u64 now)
{
	return smartio_reads_wait(sd, section) || smartio_reads(sd, section) ||
	       (sd->reader.section <= section && now < sd->reader.until_ns);
}

/* Whether a write that has waited for its slice still leaves reads their share. */
static bool smartio_yields(struct smartio_data *sd, struct request *rq, u64 now)
{
	if (sd->write_share_percent >= 100)
		return false;
	if (smartio_rq_kind(rq) == SMARTIO_URGENT && !smartio_crowd(sd))
		return false;
	return smartio_beside_reads(sd, smartio_section(smartio_rq_queue(rq)), now);
}

/* Whether all writes, those that wait included, leave reads half of the device. */
static bool smartio_few_writes(struct smartio_data *sd, u32 size)
{
	u32 kind, all = sd->writes_in_flight;

	for (kind = SMARTIO_URGENT; kind < SMARTIO_NR_KINDS; kind++)
		all += sd->nr_waiting[kind];
	return smartio_few(all, smartio_occupied_by(sd->learned.occupied, size));
}

/* Settles a part of the debt, and begins or ends a burst on a device with a cache. */
static void smartio_pay(struct smartio_data *sd, struct request *rq, u64 now)
{
	u32 size = smartio_size(blk_rq_bytes(rq)), pace = smartio_scaled(sd->learned.pace_ns, size);
	u32 share = smartio_share(sd->write_share_percent, smartio_age(rq, now), sd->slice_ns);
	u32 section = smartio_section(smartio_rq_queue(rq));
	bool cached = smartio_cached(sd), spent;

	sd->share.debt_ns = smartio_debt(sd->share.debt_ns,
					 smartio_since(sd->share.paid_at_ns, now), share);
	sd->share.paid_at_ns = now;
	if (cached && pace && !sd->drain.until_ns &&
	    (smartio_reads_wait(sd, section) || smartio_reads(sd, section)))
		sd->drain.until_ns = now + SMARTIO_DRAIN_NS;
	if (smartio_drains(sd, now))
		sd->share.debt_ns = max(sd->share.debt_ns, (u64)SMARTIO_BURST_NS);
	spent = smartio_spent(sd->share.spent, sd->share.debt_ns, share,
			      smartio_write_cost(sd, smartio_rq_kind(rq), size, now),
			      smartio_burst_ns(cached, pace));
	/* A write without limit settles no debt. */
	if (cached && pace && spent != sd->share.spent && share < 100)
		smartio_turned(sd, spent);
	else if (cached && pace && spent && sd->lost.writes >= SMARTIO_LOST_WRITES)
		smartio_settled(sd, true);
	/* Unknown costs show in a full burst, but not in a part of one. */
	if (cached && !pace && sd->share.spent && !spent)
		sd->window.count = 0;
	sd->share.spent = spent;
}

/* The rule by which a write is judged when its turn among the kinds is that of @as. */
static u32 smartio_rule(struct smartio_data *sd, u32 as)
{
	if ((as == SMARTIO_URGENT && smartio_crowd(sd)) ||
	    (as == SMARTIO_OWN && !smartio_mixed(sd)))
		return SMARTIO_BULK;
	return as;
}

/* What the decision on an asynchronous write depends on. */
static void smartio_view_reads(struct smartio_data *sd, struct smartio_view *view,
			       struct request *rq)
{
	u32 kind = smartio_rq_kind(rq), section = smartio_section(smartio_rq_queue(rq));
	u32 size = smartio_size(blk_rq_bytes(rq));
	u64 cost = smartio_write_cost(sd, kind, size, view->now_ns);

	view->reads_waiting = smartio_reads_wait(sd, section);
	view->reads_in_flight = smartio_reads(sd, section);
	if (sd->reader.section <= section)
		view->hold_until_ns = sd->reader.until_ns;
	view->share_percent = smartio_share(sd->write_share_percent, view->age_ns, sd->slice_ns);
	view->debt_ns = sd->share.debt_ns;
	view->spent = sd->share.spent;
	if (!smartio_cached(sd) && cost && view->share_percent < 100) {
		view->behind = sd->share.refused_reads == sd->counters.dispatched[SMARTIO_READ];
		view->few = kind != SMARTIO_TRIM && smartio_few_writes(sd, size);
	}
}

static struct smartio_view smartio_view_of(struct smartio_data *sd, struct request *rq, u32 as,
					   u64 now)
{
	struct smartio_view view = {
		.now_ns = now,
		.age_ns = smartio_age(rq, now),
		.slice_ns = sd->slice_ns,
		.due_at_ns = smartio_yields(sd, rq, now) ? sd->share.due_at_ns : 0,
		.writes_in_flight = sd->writes_in_flight,
		.kind = smartio_rule(sd, as),
	};

	if (as == SMARTIO_URGENT)
		smartio_caps_widest(sd, &view.cap, &view.cap_alone);
	else
		smartio_caps(sd, smartio_size(blk_rq_bytes(rq)), &view.cap, &view.cap_alone);
	if (view.kind == SMARTIO_URGENT)
		return view;
	if (sd->share.next)
		view.cap = view.cap_alone = 0;
	if (smartio_lately(sd, sd->commit.seen) ||
	    (view.kind != SMARTIO_OWN && smartio_crosses_reads(sd))) {
		u32 most = smartio_cap_awaited(view.cap, view.cap_alone, smartio_service(sd, rq));

		/* The same number concurrent with synchronous writes. */
		view.cap_alone = min(view.cap_alone, most + sd->urgent_in_flight);
	}
	if (smartio_rq_kind(rq) != SMARTIO_URGENT)
		view.awaited_until_ns = smartio_kept_until(sd, rq, now);
	if (view.kind != SMARTIO_OWN)
		smartio_view_reads(sd, &view, rq);
	return view;
}

/* A write has to wait: for what, and when it is judged again. */
static void smartio_waits(struct smartio_data *sd, const struct smartio_view *view,
			  enum smartio_verdict verdict)
{
	u64 wake = smartio_wake_ns(view, verdict);

	sd->counters.waits[verdict]++;
	if (verdict == SMARTIO_WAIT_SHARE) {
		sd->window.held = true;
		sd->share.refused_reads = sd->counters.dispatched[SMARTIO_READ];
	}
	if (wake != SMARTIO_NEVER)
		smartio_arm(sd, wake);
}

/* Decides on a write by the rules of its kind. */
static bool smartio_may_write(struct smartio_data *sd, struct request *rq, u32 as, u64 now)
{
	u32 rule = smartio_rule(sd, as);
	enum smartio_verdict verdict;
	struct smartio_view view;

	smartio_charge_kept(sd, now);
	if (rule == SMARTIO_BULK || rule == SMARTIO_TRIM)
		smartio_pay(sd, rq, now);
	view = smartio_view_of(sd, rq, as, now);
	/* While one of its kind is in the device, others wait for that. */
	if (smartio_rq_kind(rq) != SMARTIO_URGENT)
		sd->commit.kept_at_ns = view.awaited_until_ns &&
				 sd->writes_in_flight == sd->urgent_in_flight ? now : 0;
	verdict = smartio_judge(&view);
	if (verdict != SMARTIO_GO)
		smartio_waits(sd, &view, verdict);
	return verdict == SMARTIO_GO;
}

/* First request of a kind in the given queues: by level, then in order of arrival. */
static struct request *smartio_first(struct smartio_data *sd, u32 kind, u32 queues, u32 others)
{
	while (queues) {
		u32 queue = __ffs(queues);

		queues &= queues - 1;
		/* At most a quantum of one queue when others wait. */
		if (sd->queues[queue].in_flight >= sd->quantum && (others & ~BIT(queue)))
			continue;
		return smartio_head(sd, kind, queue);
	}
	return NULL;
}

/* Whether there is a free slot in the device for a write that has expired. */
static bool smartio_room(struct smartio_data *sd, struct request *rq)
{
	u32 cap, alone, most;

	smartio_caps_widest(sd, &cap, &alone);
	if (sd->writes_in_flight >= alone)
		return false;
	if (smartio_rq_kind(rq) == SMARTIO_URGENT || smartio_mixed(sd))
		return true;
	if (smartio_crosses_reads(sd)) {
		smartio_caps(sd, smartio_size(blk_rq_bytes(rq)), &most, &alone);
		most = smartio_cap_awaited(most, alone, smartio_service(sd, rq));
		return sd->writes_in_flight - sd->urgent_in_flight < most;
	}
	/* Only long writes must leave slots to synchronous ones even then. */
	if (blk_rq_bytes(rq) <= SMARTIO_COMMIT_BYTES || !smartio_lately(sd, sd->commit.seen))
		return true;
	most = smartio_cap_awaited(cap, alone, 0);
	return sd->writes_in_flight - sd->urgent_in_flight < most;
}

/* Time of the next check, if an expired write leaves others the device; else 0. */
static u64 smartio_put_off(struct smartio_data *sd, struct request *rq, u64 now)
{
	u32 kind = smartio_rq_kind(rq);
	u64 kept = 0;

	if (kind == SMARTIO_READ)
		return 0;
	if (kind != SMARTIO_URGENT)
		kept = smartio_kept_until(sd, rq, now);
	if (now < sd->share.due_at_ns && smartio_yields(sd, rq, now))
		kept = max(kept, sd->share.due_at_ns);
	return kept ? min(kept, now + SMARTIO_RECHECK_NS) : 0;
}

/* The one that has waited longer. */
static struct request *smartio_older(struct request *a, struct request *b)
{
	return a && (!b || a->start_time_ns <= b->start_time_ns) ? a : b;
}

/*
 * The oldest expired request. The oldest write that is no commit gets the next free slot: others
 * with a larger limit would take it again and again.
 */
static struct request *smartio_expired(struct smartio_data *sd, u64 now)
{
	struct request *oldest = NULL, *plain = NULL;
	u64 scan = now + sd->slice_ns;
	u32 kind, queue, mask;

	smartio_charge_kept(sd, now);
	for (kind = 0; kind < SMARTIO_NR_KINDS; kind++) {
		for (mask = sd->waiting[kind]; mask; mask &= mask - 1) {
			struct request *rq;
			u64 due, later;

			queue = __ffs(mask);
			rq = smartio_head(sd, kind, queue);
			due = rq->start_time_ns + sd->slice_ns;
			if (queue == SMARTIO_IDLE_QUEUE)
				due += (SMARTIO_IDLE_SLICES - 1) * sd->slice_ns;
			later = due > now ? due : smartio_put_off(sd, rq, now);
			if (later)
				scan = min(scan, later);
			else if (kind > SMARTIO_URGENT || (kind == SMARTIO_URGENT && smartio_crowd(sd)))
				plain = smartio_older(plain, rq);
			else if (kind == SMARTIO_READ || smartio_room(sd, rq))
				oldest = smartio_older(oldest, rq);
			else
				scan = now;
		}
	}
	sd->share.next = plain && !smartio_room(sd, plain);
	if (sd->share.next)
		scan = now;
	else
		oldest = smartio_older(oldest, plain);
	if (!oldest) {
		sd->scan_ns = scan;
		return NULL;
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
		if (rq && smartio_may_write(sd, rq, kind, now))
			return rq;
	}
	return NULL;
}

/* The oldest of the next writes, except those of reading threads. */
static struct request *smartio_oldest_other(struct smartio_data *sd, u32 mask, u32 others)
{
	struct request *oldest = NULL, *rq;
	u32 kind;

	for (kind = SMARTIO_URGENT; kind < SMARTIO_NR_KINDS; kind++) {
		if (kind == SMARTIO_OWN)
			continue;
		rq = smartio_first(sd, kind, sd->waiting[kind] & mask, others);
		if (rq && (!oldest || rq->start_time_ns < oldest->start_time_ns))
			oldest = rq;
	}
	return oldest;
}

/*
 * Threads that both read and write get batches of either in turn: the device
 * works best on many of a kind, and a read that went first would only wait for
 * the writes of its thread. After a quantum of their writes, one of others is dispatched.
 */
static struct request *smartio_pick_mixed(struct smartio_data *sd, u32 mask, u32 others, u64 now)
{
	u32 reads = sd->waiting[SMARTIO_READ] & mask;
	struct request *rq;

	if (!reads || sd->mixed.reads >= 4 * sd->quantum) {
		sd->mixed.reads = 0;
		sd->mixed.writes = 2 * sd->quantum;
	}
	if (sd->mixed.own >= sd->quantum) {
		rq = smartio_oldest_other(sd, mask, others);
		if (rq && smartio_may_write(sd, rq, SMARTIO_OWN, now)) {
			sd->mixed.own = 0;
			return rq;
		}
	}
	if (sd->mixed.writes && (sd->waiting[SMARTIO_OWN] & mask)) {
		rq = smartio_first(sd, SMARTIO_OWN, sd->waiting[SMARTIO_OWN] & mask, others);
		if (rq && smartio_may_write(sd, rq, SMARTIO_OWN, now)) {
			sd->mixed.writes--;
			sd->mixed.own++;
			return rq;
		}
	}
	rq = reads ? smartio_first(sd, SMARTIO_READ, reads, others) : NULL;
	if (rq)
		sd->mixed.reads++;
	return rq;
}

static u32 smartio_waiting(struct smartio_data *sd)
{
	return READ_ONCE(sd->waiting[SMARTIO_READ]) | READ_ONCE(sd->waiting[SMARTIO_URGENT]) |
	       READ_ONCE(sd->waiting[SMARTIO_OWN]) | READ_ONCE(sd->waiting[SMARTIO_BULK]) |
	       READ_ONCE(sd->waiting[SMARTIO_TRIM]);
}

/*
 * While nothing of an earlier section may go, reads of a later one do, unless a read of the
 * earlier one is expected: writes that wait for the device do not wait for those.
 */
static struct request *smartio_pick_later(struct smartio_data *sd, u32 section, u64 now)
{
	struct request *rq = NULL;
	u32 mask, reads;

	if (sd->reader.section <= section && now < sd->reader.until_ns)
		return NULL;
	while (!rq && ++section < 2) {
		mask = smartio_section_mask[section];
		reads = sd->waiting[SMARTIO_READ] & mask;
		rq = smartio_first(sd, SMARTIO_READ, reads, smartio_waiting(sd) & mask);
	}
	return rq;
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

	/* The idle class waits until no other thread reads. */
	if (section == 2 && (smartio_reads(sd, 1) || now < sd->reader.until_ns)) {
		smartio_arm(sd, smartio_reads(sd, 1) ? now + SMARTIO_RECHECK_NS :
						       sd->reader.until_ns);
		return NULL;
	}
	if ((sd->waiting[SMARTIO_URGENT] & mask) && !smartio_crowd(sd)) {
		rq = smartio_first(sd, SMARTIO_URGENT, sd->waiting[SMARTIO_URGENT] & mask, all);
		if (rq && smartio_may_write(sd, rq, SMARTIO_URGENT, now))
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
		/* An expired write follows one read, not all. */
		if (sd->share.owed && writes) {
			rq = smartio_pick_write(sd, mask, all, now);
			if (rq)
				return rq;
		}
		rq = smartio_first(sd, SMARTIO_READ, sd->waiting[SMARTIO_READ] & mask, all);
		if (rq) {
			sd->share.owed = writes;
			return rq;
		}
	}
	rq = writes ? smartio_pick_write(sd, mask, all, now) : NULL;
	return rq ? rq : smartio_pick_later(sd, section, now);
}

/*
 * An asynchronous write is dispatched. As many as the device processes in
 * parallel share a turn, and earn patience once.
 */
static void smartio_take_turn(struct smartio_data *sd, u32 size, u64 cost)
{
	u32 cap = 1, alone;

	if (sd->commit.turn_left) {
		sd->commit.turn_left--;
		return;
	}
	if (sd->learned.occupied[size])
		smartio_caps(sd, size, &cap, &alone);
	sd->commit.turn_left = cap - 1;
	sd->commit.patience_ns = smartio_earn(sd->commit.patience_ns, cost, sd->slice_ns);
}

/* Whether a write that is dispatched now takes device time from reads. */
static bool smartio_takes_from_reads(struct smartio_data *sd, u32 kind, u64 now)
{
	return kind != SMARTIO_OWN && (smartio_reads(sd, 2) || sd->waiting[SMARTIO_READ] ||
				       now < sd->reader.until_ns);
}

/* What a write takes from others; once, also if the driver gives it back. */
static void smartio_account(struct smartio_data *sd, struct request *rq, u32 kind, u64 now)
{
	u32 size = smartio_size(blk_rq_bytes(rq));
	u64 cost = smartio_write_cost(sd, kind, size, now), due_cost = cost;

	/* Its real cost is not known yet; those that waited a quarter of the slice longer are late. */
	if (smartio_drains(sd, now) && smartio_age(rq, now) < sd->slice_ns + sd->slice_ns / 4)
		due_cost = max(cost, sd->slice_ns / 8);
	/* A write that is dispatched early does not defer the oldest. */
	if (now >= sd->share.due_at_ns && smartio_age(rq, now) >= sd->slice_ns &&
	    (kind != SMARTIO_URGENT || smartio_crowd(sd)))
		sd->share.due_at_ns = now + smartio_due_ns(due_cost, sd->write_share_percent,
						     sd->slice_ns);
	if (kind != SMARTIO_URGENT)
		smartio_take_turn(sd, size, cost);
	if (kind == SMARTIO_OWN || kind == SMARTIO_BULK)
		sd->share.cost_ns = smartio_mean(sd->share.cost_ns, cost);
	/* A mix of sizes gives no sample for one size. */
	if (!sd->lost.writes++)
		sd->lost.size = size;
	if (sd->lost.size != size || kind == SMARTIO_TRIM)
		sd->lost.size = SMARTIO_NR_SIZES;
	if (smartio_takes_from_reads(sd, kind, now))
		sd->share.debt_ns = min(sd->share.debt_ns + cost, sd->slice_ns);
}

static void smartio_start_write(struct smartio_data *sd, struct request *rq, u32 kind, u64 now)
{
	sd->writes_in_flight++;
	if (!(smartio_state(rq) & SMARTIO_RQ_CHARGED))
		smartio_account(sd, rq, kind, now);
	sd->race.pair = kind != SMARTIO_TRIM && sd->race.last_write && sd->writes_in_flight == 2 &&
			smartio_rq_size(sd->race.last_write) == smartio_size(blk_rq_bytes(rq));
	sd->race.gap_ns = smartio_since(sd->race.went_ns, now);
	sd->race.went_ns = now;
	if (kind == SMARTIO_URGENT) {
		sd->urgent_in_flight++;
	} else {
		sd->commit.plain_at_ns = now;
		sd->commit.kept_at_ns = 0;
	}
	sd->share.owed = false;
	if (kind != SMARTIO_TRIM)
		sd->race.last_write = rq;
}

/* The request leaves the scheduler. */
static void smartio_start(struct smartio_data *sd, struct request *rq, u64 now)
{
	u32 kind = smartio_rq_kind(rq), queue = smartio_rq_queue(rq);
	u32 size = smartio_size(blk_rq_bytes(rq)), reads = smartio_reads(sd, 2);
	unsigned long state = kind | queue << SMARTIO_RQ_QUEUE_SHIFT |
			      size << SMARTIO_RQ_SIZE_SHIFT | SMARTIO_RQ_IN_FLIGHT |
			      SMARTIO_RQ_CHARGED;

	if (!(reads + sd->writes_in_flight))
		state |= SMARTIO_RQ_CLEAN;
	if (kind == SMARTIO_READ ? !(reads + sd->writes_in_flight) : !sd->writes_in_flight)
		state |= SMARTIO_RQ_ALONE;
	if (kind == SMARTIO_READ) {
		smartio_race_begins(sd, rq, now);
		sd->reads_in_flight[smartio_section(queue)]++;
		sd->window.reads = true;
	} else {
		smartio_start_write(sd, rq, kind, now);
	}
	sd->queues[queue].in_flight++;
	sd->counters.dispatched[kind]++;
	smartio_set_state(rq, state);
	smartio_set_stamp(rq, now);
}

/* No request may be dispatched until a completion, an arrival or the timer. */
static void smartio_block(struct smartio_data *sd, u64 now)
{
	WRITE_ONCE(sd->blocked, true);
	if (!sd->writes_in_flight)
		smartio_arm(sd, now + SMARTIO_RECHECK_NS);
	else if (sd->waiting[SMARTIO_READ] && !smartio_reads(sd, 2))
		/* Reads behind a section or a quantum of writes expire as well. */
		smartio_arm(sd, max(now + SMARTIO_RECHECK_NS, sd->scan_ns));
	if (sd->share.due_at_ns > now)
		smartio_arm(sd, sd->share.due_at_ns);
}

struct request *smartio_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct smartio_data *sd = hctx->queue->elevator->elevator_data;
	struct request *rq;
	unsigned long flags;
	u64 now;

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
	smartio_remove(sd, rq);
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

/* ---- completion ---- */

/* A request is no longer in flight, for whatever reason. */
static void smartio_leave(struct smartio_data *sd, struct request *rq, u64 now)
{
	unsigned long state = smartio_state(rq);
	u32 kind = state & SMARTIO_RQ_KIND, queue = smartio_rq_queue(rq);
	u32 section = smartio_section(queue);
	bool more = sd->blocked;

	smartio_set_state(rq, state & ~SMARTIO_RQ_IN_FLIGHT);
	smartio_race_ends(sd, rq, now);
	sd->queues[queue].in_flight--;
	if (kind == SMARTIO_READ) {
		u32 waiting = sd->waiting[SMARTIO_READ];

		/* Reads of the idle class do not end the wait for other readers. */
		if (section < 2)
			waiting &= ~smartio_section_mask[2];
		sd->reads_in_flight[section]--;
		if (smartio_reads(sd, max(section, 1u)) || waiting) {
			more = more && sd->waiting[SMARTIO_READ];
		} else if (section < 2 && now) {
			u64 most = smartio_hold_limit(sd);
			u64 hold = smartio_hold_ns(sd->reader.pause_ns, sd->reader.hits, most);

			/* Pauses of several readers vary, and a long write ends all of them at once. */
			if (hold && most > sd->hold_max_ns)
				hold = most;
			sd->reader.open = true;
			sd->reader.done_ns = now;
			sd->reader.until_ns = now + hold;
			sd->reader.section = section;
			/* Otherwise the timer or a write's completion will follow. */
			more = more && !hold;
		}
	} else {
		sd->writes_in_flight--;
		if (kind == SMARTIO_URGENT && !--sd->urgent_in_flight && now)
			sd->commit.until_ns = now + SMARTIO_COMMIT_NS;
	}
	if (more) {
		/* The block layer runs the queue after it has freed the request. */
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

/* Requests also end without completion: merged ones, and those of a dead device. */
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
