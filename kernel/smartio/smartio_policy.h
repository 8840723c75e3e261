/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Policy of the SmartIO scheduler: learning and decisions, as pure functions on
 * plain integers. No clock, no lock, no allocation, no floating point; the
 * module calls them under its lock, KUnit tests them in the kernel and a
 * user-space build tests them with random inputs.
 *
 * Terms:
 *  service   time of a request in the device without others of its direction,
 *            by size
 *  pace      device time from one write of a size to the next when many follow;
 *            unlike the service time it includes the hidden cost of a cache
 *  occupied  part of the device that a write of a size occupies, in 1/4096: all of a
 *            device of one unit, a sixteenth of one with sixteen dies
 *  share     part of the device's time for writes while there are reads, in
 *            percent
 *  debt      device time of writes beyond their share
 *  hold      time after a read in which the next read of its process is expected
 *  slice     longest time that a request waits for others before it expires
 *  awaited   a synchronous write: fsync, a log, swap
 *  patience  time for which other writes may still be deferred for awaited ones
 */
#ifndef SMARTIO_POLICY_H
#define SMARTIO_POLICY_H

#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/types.h>
#else
#include <stdbool.h>
typedef unsigned int u32;
typedef unsigned long long u64;
static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}
#endif

#define SMARTIO_NEVER (~0ULL)

/* Size classes of requests: powers of two from 4 KiB to 512 KiB. */
#define SMARTIO_NR_SIZES 8

/*
 * Consecutive writes of one size are evaluated after this number and time: caches
 * in the device absorb the first ones.
 */
#define SMARTIO_WINDOW_WRITES 8
#define SMARTIO_WINDOW_NS 20000000

/*
 * Writes are consecutive when at most this time passes between the completion of
 * one and the arrival of the next. With concurrent reads it may be longer, as
 * writers wait for a tag.
 */
#define SMARTIO_GAP_NS 100000
#define SMARTIO_GAP_READS_NS 5000000

/* Most writes, waiting or in the device, that are not throttled. */
#define SMARTIO_FEW 4

/* All of the device, as the unit of what a write occupies; and the least part of it. */
#define SMARTIO_WHOLE 4096
#define SMARTIO_LEAST 16

/* Assumed device time of a write without known cost. */
#define SMARTIO_UNKNOWN_NS 500000

/* Added to twice the usual pause of a reader: wake-up and submission. */
#define SMARTIO_HOLD_SLACK_NS 20000

/*
 * With concurrent reads, a device with a volatile cache gets writes in bursts of
 * this device time. It programs the data gathered in the cache, and single writes
 * would leave most of a program empty: in bursts the same share costs reads less.
 * Without a cache bursts gain nothing, and writes are dispatched one by one.
 */
#define SMARTIO_BURST_NS 4000000

/*
 * A commit is a few writes in a row, each sent after the completion of the
 * previous one, with a flush between them. The next one is expected for this time.
 */
#define SMARTIO_COMMIT_NS 2000000

/* Larger writes are the content of a file: its fsync waits for the last of many. */
#define SMARTIO_COMMIT_BYTES 65536

/* During a write of this length, no pause of the software matters. */
#define SMARTIO_LONG_NS 2000000

/*
 * Once, when reads first arrive during writes, writes are dispatched as slowly as
 * the slice allows: a full cache drains, and reads show their own service time.
 * Some cards take 8 ms for each of 32 small writes. It ends after this number of
 * quick reads in a row, and in any case after this time.
 */
#define SMARTIO_DRAIN_READS 16
#define SMARTIO_DRAIN_NS 1000000000

/*
 * At first, writes that have used up their share wait for a whole slice this
 * often: the device drains its cache, and reads show their own service time.
 */
#define SMARTIO_LONG_HOLDS 4

/* Time lost by reads is evaluated after this number of writes, also while the share is used up. */
#define SMARTIO_LOST_WRITES 32

/* A share is re-evaluated at least this often while writes wait for it. */
#define SMARTIO_RECHECK_NS 1000000

/*
 * Share of the device's time, in percent, for expired writes while there are
 * reads. With more of them than the device can process in a slice all would be
 * expired all the time, and reads would have no preference left.
 */
#define SMARTIO_DUE_PERCENT 50

/* Upper bound of a write's cost in slices, whatever was learned. */
#define SMARTIO_DUE_SLICES 2

/* A longer time is no work of the device: an error, or its recovery. */
#define SMARTIO_LOST_NS 1000000000

enum smartio_kind {
	SMARTIO_READ = 0,
	SMARTIO_URGENT = 1,	/* a synchronous write: fsync, log, swap */
	SMARTIO_OWN = 2,	/* a write of a thread that reads as well */
	SMARTIO_BULK = 3,	/* any other write */
	SMARTIO_TRIM = 4,	/* discard, erase, write of zeroes */
	SMARTIO_NR_KINDS = 5,
};

enum smartio_verdict {
	SMARTIO_GO = 0,
	SMARTIO_WAIT_CAP = 1,	/* enough writes are in flight */
	SMARTIO_WAIT_HOLD = 2,	/* a read is awaited */
	SMARTIO_WAIT_SHARE = 3,	/* writes have had their share */
	SMARTIO_NR_VERDICTS = 4,
};

/* Input of the decision on a write. */
struct smartio_view {
	u64 now_ns;
	u64 age_ns;		/* how long the write has waited */
	u64 slice_ns;
	u64 hold_until_ns;
	u64 awaited_until_ns;	/* it is deferred for awaited writes until then */
	u64 due_at_ns;		/* expired writes go from then on */
	bool spent;		/* the share is used up */
	bool behind;		/* it was, and no read was dispatched since */
	bool few;		/* all writes leave reads half of the device */
	u64 debt_ns;
	u32 share_percent;
	u32 reads_waiting;
	u32 reads_in_flight;
	u32 writes_in_flight;
	u32 cap;		/* limit of writes in flight with concurrent reads */
	u32 cap_alone;		/* limit of writes in flight without reads */
	u32 kind;
};

/* Time since then; 0 when timestamps were taken in another order. */
static inline u64 smartio_since(u64 then_ns, u64 now_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* Size class of a request, 0 to SMARTIO_NR_SIZES - 1. */
static inline u32 smartio_size(u32 bytes)
{
	u32 size = 0;

	while (size < SMARTIO_NR_SIZES - 1 && bytes > (4096u << size))
		size++;
	return size;
}

/* Exponential moving average with weight 1/8. 0 means unknown. */
static inline u32 smartio_mean(u32 old, u64 sample)
{
	u64 mixed;

	if (sample > 0xffffffffu)
		sample = 0xffffffffu;
	mixed = old ? ((u64)old * 7 + sample) / 8 : sample;
	return mixed ? (u32)mixed : 1;
}

/*
 * Service time with a new sample. A sample that other requests may have
 * lengthened counts only as the first one or if it shortens the mean.
 */
static inline u32 smartio_learn_service(u32 old, u64 sample, bool clean)
{
	if (old && !clean && sample >= old)
		return old;
	return smartio_mean(old, sample);
}

/*
 * Limits a pace that would more than double to the value of the previous window,
 * as a single one may include a pause of the device. 0 means no sample.
 */
static inline u64 smartio_confirmed(u32 old, u64 sample_ns, u64 before_ns)
{
	u64 twice = 2 * (u64)old;

	if (!old || sample_ns <= twice || before_ns >= sample_ns)
		return sample_ns;
	return before_ns > twice ? before_ns : 0;
}

/*
 * Pace with a new window, given an upper bound (the whole time of a write) and a
 * lower bound (without any time of reads and pauses). In between it is unchanged.
 */
static inline u32 smartio_learn_pace(u32 old, u64 least_ns, u64 most_ns)
{
	if (!old || old > most_ns)
		return smartio_mean(old, most_ns);
	return old < least_ns ? smartio_mean(old, least_ns) : old;
}

/*
 * Pace from the time that reads have lost to each write: a lower bound, or exact
 * (@steady). Windows that began with an empty cache gave too little: this is
 * corrected at once. 0 means no sample.
 */
static inline u32 smartio_learn_lost(u32 old, u64 lost_ns, bool steady)
{
	if (!old || !lost_ns || (lost_ns <= old && !steady))
		return old;
	if (lost_ns > 2 * (u64)old)
		return lost_ns > 0xffffffffu ? 0xffffffffu : (u32)lost_ns;
	return smartio_mean(old, lost_ns);
}

/* Shortest time of a read; it rises slowly, since devices change. 0 means unknown. */
static inline u32 smartio_learn_base(u32 old, u64 sample)
{
	if (sample > 0xffffffffu)
		sample = 0xffffffffu;
	if (!old || sample < old)
		return sample ? (u32)sample : 1;
	return old + (u32)((sample - old) / 1024);
}

/*
 * Time lost by reads to writes that the device had accepted before, from the time
 * without completions. Reads vary too, so that only long times count.
 */
static inline u64 smartio_lost_ns(u32 base_ns, u64 silence_ns)
{
	u64 most = (u64)base_ns + 2 * SMARTIO_UNKNOWN_NS;

	return silence_ns > most ? silence_ns - base_ns : 0;
}

/*
 * Whether a read that completed after this silence was quick: no program of cached
 * data preceded it, as the longest silence was another one.
 */
static inline bool smartio_quick(u64 silence_ns, u64 longest_ns)
{
	return silence_ns < 2 * SMARTIO_UNKNOWN_NS || silence_ns < longest_ns / 2;
}

/* The nearest size with an entry in a table; SMARTIO_NR_SIZES without any. */
static inline u32 smartio_nearest(const u32 *table, u32 size)
{
	u32 i;

	for (i = 0; i < SMARTIO_NR_SIZES; i++) {
		if (i <= size && table[size - i])
			return size - i;
		if (size + i < SMARTIO_NR_SIZES && table[size + i])
			return size + i;
	}
	return SMARTIO_NR_SIZES;
}

/* Entry of a table by size: that of the nearest size with one, 0 without any. */
static inline u32 smartio_known(const u32 *table, u32 size)
{
	u32 at = smartio_nearest(table, size);

	return at < SMARTIO_NR_SIZES ? table[at] : 0;
}

/* The same for device times: in proportion from a larger size, unchanged from a smaller one. */
static inline u32 smartio_scaled(const u32 *table, u32 size)
{
	u32 at = smartio_nearest(table, size), less;

	if (at == SMARTIO_NR_SIZES)
		return 0;
	less = at > size ? table[at] >> (at - size) : table[at];
	return less ? less : 1;
}

/* Part of the device that each write of a window occupied, from their service and its length. */
static inline u32 smartio_occupied(u64 work_ns, u64 elapsed_ns)
{
	u64 part;

	if (elapsed_ns >= work_ns || work_ns > SMARTIO_NEVER / SMARTIO_WHOLE)
		return SMARTIO_WHOLE;
	part = div64_u64(elapsed_ns * SMARTIO_WHOLE, work_ns);
	return part > SMARTIO_LEAST ? (u32)part : SMARTIO_LEAST;
}

/*
 * The same with a read that was sent behind @writes of them and was done before the last (@passed),
 * or not: a device that works on one at a time lets none pass, and one of N equal units all
 * but one of N behind one write. Behind two it does not show which one delayed it.
 */
static inline u32 smartio_learn_passed(u32 old, bool passed, u32 writes)
{
	u32 weight, part = SMARTIO_WHOLE / writes;

	if (!old)
		old = SMARTIO_WHOLE;
	/* The rarer reads are delayed, the more of them it takes to tell how rarely. */
	weight = old / 8;
	if (passed)
		old -= old * weight / SMARTIO_WHOLE;
	else if (old < part)
		old += (part - old) * weight / SMARTIO_WHOLE;
	return old > SMARTIO_LEAST ? old : SMARTIO_LEAST;
}

/* The same of a size without an entry: from the nearest one; 0 without any. */
static inline u32 smartio_occupied_by(const u32 *table, u32 size)
{
	u32 at = smartio_nearest(table, size);
	u64 part;

	if (at == SMARTIO_NR_SIZES)
		return 0;
	part = at < size ? (u64)table[at] << (size - at) : table[at];
	return part < SMARTIO_WHOLE ? (u32)part : SMARTIO_WHOLE;
}

/* Tags for writes: all but the reserve of reads, which is at least one of several. */
static inline u32 smartio_tags(u32 tags, u32 reserve_percent)
{
	u32 reserve = (tags * reserve_percent + 99) / 100;

	return tags > reserve ? tags - reserve : 1;
}

/* Limit of writes in flight with concurrent reads: as many as the device has room for. */
static inline u32 smartio_cap(u32 occupied, u32 depth)
{
	u32 cap = occupied ? (SMARTIO_WHOLE + occupied / 2) / occupied : 2;

	if (cap > depth)
		cap = depth;
	return cap ? cap : 1;
}

/* Limit of writes in flight without reads: no queue beyond the gain. */
static inline u32 smartio_cap_alone(u32 occupied, u32 depth)
{
	u32 cap = occupied ? 2 * smartio_cap(occupied, depth) + 2 : depth;

	if (cap > depth)
		cap = depth;
	return cap ? cap : 1;
}

/*
 * Whether so few writes leave half of the device to reads, so that none needs to wait. They
 * are those of threads that wait for each of them: more would follow each other without end.
 */
static inline bool smartio_few(u32 writes, u32 occupied)
{
	return occupied && writes <= SMARTIO_FEW && writes <= SMARTIO_WHOLE / 2 / occupied;
}

/*
 * Device time that a discard takes from reads; 0 if it takes about as long as a
 * read: holding it would gain reads little and cost discards most. A tolerance of
 * half a read is allowed, since both times are learned and vary.
 */
static inline u64 smartio_trim_cost(u32 trim_ns, u32 read_ns)
{
	if (trim_ns && trim_ns <= (u64)read_ns + read_ns / 2)
		return 0;
	return trim_ns ? trim_ns : SMARTIO_UNKNOWN_NS;
}

/* Device time that a write takes from others, where nothing caches it. */
static inline u64 smartio_cost(u32 service_ns, u32 occupied)
{
	if (!service_ns)
		return SMARTIO_UNKNOWN_NS;
	if (!occupied)
		return service_ns;
	return (u64)service_ns * occupied / SMARTIO_WHOLE;
}

/*
 * The same while the pace is unknown and a cache hides it, but the time
 * since the previous write is an upper bound. Pauses are not counted.
 */
static inline u64 smartio_cost_hidden(u64 since_ns, u32 service_ns)
{
	u64 most = since_ns < 2 * SMARTIO_UNKNOWN_NS ? since_ns : 2 * SMARTIO_UNKNOWN_NS;

	return service_ns > most ? service_ns : most;
}

/* A write's part of a window: the time since the previous one, without a pause. */
static inline u64 smartio_interval_ns(u64 since_ns, u64 took_ns)
{
	u64 most = took_ns > 2 * SMARTIO_UNKNOWN_NS ? took_ns : 2 * SMARTIO_UNKNOWN_NS;

	return since_ns < most ? since_ns : most;
}

/* Share of expired writes. */
static inline u32 smartio_share_due(u32 share_percent)
{
	return share_percent > SMARTIO_DUE_PERCENT ? share_percent : SMARTIO_DUE_PERCENT;
}

/* Share of a write by its age: it grows from half of the slice on. */
static inline u32 smartio_share(u32 share_percent, u64 age_ns, u64 slice_ns)
{
	u32 due = smartio_share_due(share_percent);
	u64 half = slice_ns / 2;

	if (age_ns >= slice_ns)
		return due;
	if (age_ns <= half)
		return share_percent;
	return share_percent + (u32)div64_u64((due - share_percent) *
					      (age_ns - half), slice_ns - half);
}

/* Time from one expired write to the next with concurrent reads. */
static inline u64 smartio_due_ns(u64 cost_ns, u32 share_percent, u64 slice_ns)
{
	if (share_percent >= 100)
		return 0;
	if (cost_ns > SMARTIO_DUE_SLICES * slice_ns)
		cost_ns = SMARTIO_DUE_SLICES * slice_ns;
	return div_u64(cost_ns * 100, smartio_share_due(share_percent));
}

/* Remaining debt after some time. */
static inline u64 smartio_debt(u64 debt_ns, u64 elapsed_ns, u32 share_percent)
{
	u64 paid;

	if (elapsed_ns > SMARTIO_NEVER / 100)
		return 0;
	paid = div_u64(elapsed_ns * share_percent, 100);
	return paid < debt_ns ? debt_ns - paid : 0;
}

/*
 * Whether the share is used up. With a cache (@burst_ns): from a full burst on
 * until the debt is settled. Without: as long as the debt exceeds the cost of one
 * write, so that a delayed write is compensated by the next one.
 */
static inline bool smartio_spent(bool spent, u64 debt_ns, u32 share_percent,
				 u64 cost_ns, u64 burst_ns)
{
	if (share_percent >= 100)
		return false;
	if (!burst_ns)
		return debt_ns > cost_ns;
	return debt_ns && (spent || debt_ns >= burst_ns);
}

/*
 * Device time of a burst; 0 without a cache. While a cache hides the cost of
 * writes, a burst is long enough to show it, even if it does not begin with a window.
 */
static inline u64 smartio_burst_ns(bool cached, u32 pace_ns)
{
	if (!cached)
		return 0;
	return pace_ns ? SMARTIO_BURST_NS : 2 * SMARTIO_WINDOW_NS;
}

/* Time in which a debt is settled. */
static inline u64 smartio_settle_ns(u64 debt_ns, u32 share_percent)
{
	if (!debt_ns)
		return 0;
	if (!share_percent || debt_ns > SMARTIO_NEVER / 200)
		return SMARTIO_NEVER;
	return div_u64(debt_ns * 100 + share_percent - 1, share_percent);
}

/*
 * Whether reads keep coming: hits counts in 1/256 how many of the last reads
 * arrived within the longest hold after the previous one.
 */
static inline u32 smartio_learn_hits(u32 hits, u64 pause_ns, u64 hold_max_ns)
{
	if (pause_ns <= hold_max_ns)
		return hits + (256 - hits) / 8;
	return hits - (hits + 7) / 8;
}

/*
 * Longest hold: as set, or a quarter of what a write takes where that is longer, since a read
 * that comes during the write waits for all of it.
 */
static inline u64 smartio_hold_most(u64 hold_max_ns, u32 write_ns)
{
	if (!hold_max_ns)
		return 0;
	return hold_max_ns > write_ns / 4 ? hold_max_ns : write_ns / 4;
}

/* How long to hold writes for the next read; 0 where that has not paid. */
static inline u64 smartio_hold_ns(u32 pause_ns, u32 hits, u64 hold_max_ns)
{
	u64 hold = 2 * (u64)pause_ns + SMARTIO_HOLD_SLACK_NS;

	if (hits < 128)
		return 0;
	return hold < hold_max_ns ? hold : hold_max_ns;
}

/*
 * Limit of asynchronous writes in the device when a synchronous one is likely to
 * arrive, which would wait for them: the device's parallelism, and one more for
 * short writes.
 */
static inline u32 smartio_cap_awaited(u32 cap, u32 cap_alone, u32 service_ns)
{
	u32 most = service_ns >= SMARTIO_LONG_NS ? cap : cap + 1;

	return most < cap_alone ? most : cap_alone;
}

/* Remaining patience after others were deferred for this time. */
static inline u64 smartio_patience(u64 patience_ns, u64 held_ns)
{
	return held_ns < patience_ns ? patience_ns - held_ns : 0;
}

/*
 * Patience earned by a dispatched write: its device time, so that endless commits
 * leave half of the device to others; at most half of the slice, so that no
 * request waits for all of it.
 */
static inline u64 smartio_earn(u64 patience_ns, u64 cost_ns, u64 slice_ns)
{
	u64 most = slice_ns / 2;

	if (patience_ns >= most || cost_ns >= most - patience_ns)
		return most;
	return patience_ns + cost_ns;
}

/* Decides whether a write may be dispatched now. */
static inline enum smartio_verdict smartio_judge(const struct smartio_view *v)
{
	bool reading = v->reads_waiting || v->reads_in_flight;
	bool due = v->age_ns >= v->slice_ns && v->now_ns >= v->due_at_ns;
	u32 cap = v->cap;

	if (v->now_ns < v->awaited_until_ns)
		return SMARTIO_WAIT_HOLD;
	if (due || v->few || v->kind == SMARTIO_URGENT || v->kind == SMARTIO_OWN ||
	    (!reading && v->now_ns >= v->hold_until_ns))
		return v->writes_in_flight < v->cap_alone ? SMARTIO_GO :
							    SMARTIO_WAIT_CAP;
	if (v->kind == SMARTIO_TRIM)
		cap = 1;
	if (v->writes_in_flight >= cap)
		return SMARTIO_WAIT_CAP;
	if (!reading)
		return SMARTIO_WAIT_HOLD;
	/* Right after a read it delays the next one least. */
	if (v->spent || v->behind)
		return SMARTIO_WAIT_SHARE;
	return SMARTIO_GO;
}

/* Time of the next decision on a waiting write, without an earlier event. */
static inline u64 smartio_wake_ns(const struct smartio_view *v,
				  enum smartio_verdict verdict)
{
	u64 wait;

	if (verdict == SMARTIO_WAIT_HOLD)
		return v->now_ns < v->awaited_until_ns ? v->awaited_until_ns : v->hold_until_ns;
	if (verdict != SMARTIO_WAIT_SHARE)
		return SMARTIO_NEVER;
	wait = smartio_settle_ns(v->debt_ns, v->share_percent);
	if (v->behind || wait > SMARTIO_RECHECK_NS)
		wait = SMARTIO_RECHECK_NS;
	return v->now_ns + (wait ? wait : 1);
}

#endif
