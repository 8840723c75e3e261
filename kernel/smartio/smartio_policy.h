/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Policy of the SmartIO scheduler: what it learns and how it decides, as pure
 * functions on plain integers. No clock, no lock, no allocation, no floating
 * point; the module calls them under its lock, KUnit tests them in the kernel
 * and a user-space build tests them with random inputs.
 *
 * Terms:
 *  service   time a request takes in the device with no other of its direction
 *            there, by size
 *  pace      device time from one write of a size to the next when many follow;
 *            other than the service time it knows of caches in the device
 *  parallel  writes of a size that the device works on at once, in 1/256
 *  share     part of the device's time that writes are given while reads go on,
 *            in percent
 *  debt      device time that writes have had beyond their share
 *  hold      time after a read in which the next read of its process is awaited
 *  slice     longest time that a request waits for others before it goes ahead
 *  turn      when the device is about to be through with the write before
 *  awaited   a write that somebody waits for: fsync, a log, swap
 *  patience  time that other writes still leave the device to what is awaited
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

/* Request sizes are told apart by powers of two from 4 KiB to 512 KiB. */
#define SMARTIO_NR_SIZES 8

/*
 * Writes of one size that follow each other are judged when so many are done and
 * so much time has passed: caches in the device take the first ones for nothing.
 */
#define SMARTIO_WINDOW_WRITES 8
#define SMARTIO_WINDOW_NS 20000000

/*
 * Writes follow each other when no more time lies between one's end and the next's
 * arrival. While something is read that may be longer: writers wait for a tag.
 */
#define SMARTIO_GAP_NS 100000
#define SMARTIO_GAP_READS_NS 5000000

/* Parallelism in units of 1/256; no device of interest works on more writes. */
#define SMARTIO_PARALLEL_ONE 256
#define SMARTIO_PARALLEL_MAX (256 * SMARTIO_PARALLEL_ONE)

/* A write that nothing is known about counts as so much device time. */
#define SMARTIO_UNKNOWN_NS 500000

/* Added to twice the usual pause of a reader: wake-up and submission. */
#define SMARTIO_HOLD_SLACK_NS 20000

/*
 * Beside reads, a device with a volatile cache gets writes in bursts of so much
 * device time. It programs what has gathered in the cache, and single writes
 * would leave most of a program empty: the same share costs reads less. Where a
 * write is done when it is programmed, bursts gain nothing, and writes go one by
 * one.
 */
#define SMARTIO_BURST_NS 4000000

/*
 * A commit is a few writes in a row, each sent when the one before is done, with
 * a flush between them. The next one is awaited for so long at most.
 */
#define SMARTIO_COMMIT_NS 8000000

/* What is larger is the content of a file: its fsync waits for the last of many. */
#define SMARTIO_COMMIT_BYTES 65536

/* While the device is at a write of so much, no pause of the software matters. */
#define SMARTIO_LONG_NS 2000000

/*
 * Once, when reads come beside writes for the first time, writes go as slowly as the
 * slice allows: a cache that is full by then gets empty, and reads show what they
 * take alone. Some cards take 8 ms for each of 32 small writes. That is over when so
 * many reads in a row were quick, and in any case after so long.
 */
#define SMARTIO_DRAIN_READS 16
#define SMARTIO_DRAIN_NS 1000000000

/*
 * So often at first, writes that have had their share wait for a whole slice: the
 * device gets done with what its cache holds, and reads show what they take alone.
 */
#define SMARTIO_LONG_HOLDS 4

/* What reads have lost is looked at after so many writes, also while the share is used up. */
#define SMARTIO_LOST_WRITES 32

/* A share is judged anew at least so often while writes wait for it. */
#define SMARTIO_RECHECK_NS 1000000

/*
 * Percent of the device's time that writes which have waited for their slice get
 * while something is read. With more of them than the device can do in a slice all
 * are due all the time, and reads would have no preference left.
 */
#define SMARTIO_DUE_PERCENT 50

/* No write counts as more than so many slices there, whatever was learned. */
#define SMARTIO_DUE_SLICES 2

/* What took longer was no work of the device: an error, or its recovery. */
#define SMARTIO_LOST_NS 1000000000

enum smartio_kind {
	SMARTIO_READ = 0,
	SMARTIO_URGENT = 1,	/* a write that somebody waits for: fsync, log, swap */
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
	SMARTIO_WAIT_TURN = 4,	/* the write before is not yet near its end */
	SMARTIO_NR_VERDICTS = 5,
};

/* What the verdict on a write depends on. */
struct smartio_view {
	u64 now_ns;
	u64 age_ns;		/* how long the write has waited */
	u64 slice_ns;
	u64 hold_until_ns;
	u64 awaited_until_ns;	/* it is kept out of the way of what is awaited */
	u64 turn_ns;		/* 0: any time */
	u64 due_at_ns;		/* what has waited for its slice goes from then on */
	bool spent;		/* the share is used up */
	bool behind;		/* it has been, and no read has gone since */
	u64 debt_ns;
	u32 share_percent;
	u32 reads_waiting;
	u32 reads_in_flight;
	u32 writes_in_flight;
	u32 cap;		/* writes in flight beside reads */
	u32 cap_alone;		/* writes in flight when nothing is read */
	u32 kind;
};

/* Time since then; none when clocks were read in another order than they are told. */
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

/* A mean that forgets: an eighth of the new sample. 0 stands for not known. */
static inline u32 smartio_mean(u32 old, u64 sample)
{
	u64 mixed;

	if (sample > 0xffffffffu)
		sample = 0xffffffffu;
	mixed = old ? ((u64)old * 7 + sample) / 8 : sample;
	return mixed ? (u32)mixed : 1;
}

/*
 * Service time with a new sample. A sample that other requests may have made
 * longer counts only where it is the first one or shortens the mean.
 */
static inline u32 smartio_learn_service(u32 old, u64 sample, bool clean)
{
	if (old && !clean && sample >= old)
		return old;
	return smartio_mean(old, sample);
}

/*
 * What is to raise a pace to more than twice: only as much as the time before it said,
 * since once it may have been a pause of the device's own. 0 tells nothing.
 */
static inline u64 smartio_confirmed(u32 old, u64 sample_ns, u64 before_ns)
{
	u64 twice = 2 * (u64)old;

	if (!old || sample_ns <= twice || before_ns >= sample_ns)
		return sample_ns;
	return before_ns > twice ? before_ns : 0;
}

/*
 * Pace with a new window: so much time passed for each write at most, and so
 * much if neither reads nor pauses took any of it. In between all is as it was.
 */
static inline u32 smartio_learn_pace(u32 old, u64 least_ns, u64 most_ns)
{
	if (!old || old > most_ns)
		return smartio_mean(old, most_ns);
	return old < least_ns ? smartio_mean(old, least_ns) : old;
}

/*
 * Pace when reads have lost so much to each write at least, or just so much (@steady).
 * Windows that began with an empty cache have told too little: this is made up for at
 * once. 0 tells nothing.
 */
static inline u32 smartio_learn_lost(u32 old, u64 lost_ns, bool steady)
{
	if (!old || !lost_ns || (lost_ns <= old && !steady))
		return old;
	if (lost_ns > 2 * (u64)old)
		return lost_ns > 0xffffffffu ? 0xffffffffu : (u32)lost_ns;
	return smartio_mean(old, lost_ns);
}

/* Shortest time of a read; it rises slowly, since devices change. 0 stands for not known. */
static inline u32 smartio_learn_base(u32 old, u64 sample)
{
	if (sample > 0xffffffffu)
		sample = 0xffffffffu;
	if (!old || sample < old)
		return sample ? (u32)sample : 1;
	return old + (u32)((sample - old) / 1024);
}

/*
 * What reads have lost to writes that the device had taken before, when for so
 * long none was done. Reads differ among themselves, too, so that only what is
 * long counts.
 */
static inline u64 smartio_lost_ns(u32 base_ns, u64 silence_ns)
{
	u64 most = (u64)base_ns + 2 * SMARTIO_UNKNOWN_NS;

	return silence_ns > most ? silence_ns - base_ns : 0;
}

/*
 * Whether a read that was done after so long a silence was quick: no program of what
 * the cache holds stood before it, or the longest silence has been another one.
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

/* The same of device times: of a larger size in proportion, of a smaller one as it is. */
static inline u32 smartio_scaled(const u32 *table, u32 size)
{
	u32 at = smartio_nearest(table, size), less;

	if (at == SMARTIO_NR_SIZES)
		return 0;
	less = at > size ? table[at] >> (at - size) : table[at];
	return less ? less : 1;
}

/* Work of so much service time was done in the time elapsed. */
static inline u32 smartio_parallel(u64 work_ns, u64 elapsed_ns)
{
	u64 parallel;

	if (!elapsed_ns || work_ns > SMARTIO_NEVER / SMARTIO_PARALLEL_ONE)
		return SMARTIO_PARALLEL_ONE;
	parallel = div64_u64(work_ns * SMARTIO_PARALLEL_ONE, elapsed_ns);
	if (parallel > SMARTIO_PARALLEL_MAX)
		return SMARTIO_PARALLEL_MAX;
	return parallel ? (u32)parallel : 1;
}

/*
 * Parallelism with a new sample that was taken with up to @cap writes in flight.
 * A sample that used up its cap may hide more, so it is taken for a quarter more.
 * One of less than one write tells of time that went to others. Beside reads a
 * device shows less than it has: such a sample never lowers.
 */
static inline u32 smartio_learn_parallel(u32 old, u32 sample, u32 cap, bool reads)
{
	if ((u64)sample * 16 >= (u64)cap * SMARTIO_PARALLEL_ONE * 15)
		sample += sample / 4;
	if (sample < SMARTIO_PARALLEL_ONE)
		sample = SMARTIO_PARALLEL_ONE;
	if (sample > SMARTIO_PARALLEL_MAX)
		sample = SMARTIO_PARALLEL_MAX;
	if (old && reads && sample <= old)
		return old;
	return smartio_mean(old, sample);
}

/*
 * Writes in flight beside reads: as many as the device works on at once. What
 * is within measurement of a whole number is that number.
 */
static inline u32 smartio_cap(u32 parallel, u32 depth)
{
	u32 cap;

	if (!parallel)
		parallel = 2 * SMARTIO_PARALLEL_ONE;
	cap = (parallel - parallel / 64 + SMARTIO_PARALLEL_ONE - 1) /
	      SMARTIO_PARALLEL_ONE;
	if (cap > depth)
		cap = depth;
	return cap ? cap : 1;
}

/* Writes in flight when nothing is read: no queue that gives nothing. */
static inline u32 smartio_cap_alone(u32 parallel, u32 depth)
{
	u32 cap = depth;

	if (parallel)
		cap = 2 * ((parallel + SMARTIO_PARALLEL_ONE - 1) /
			   SMARTIO_PARALLEL_ONE) + 2;
	if (cap > depth)
		cap = depth;
	return cap ? cap : 1;
}

/*
 * Device time that a discard takes from reads; none where it takes about as long as
 * a read does: holding it would gain reads little and cost discards most. Half of a
 * read more is allowed, since both times are learned and vary: where they are equal,
 * one or the other would win by chance.
 */
static inline u64 smartio_trim_cost(u32 trim_ns, u32 read_ns)
{
	if (trim_ns && trim_ns <= (u64)read_ns + read_ns / 2)
		return 0;
	return trim_ns ? trim_ns : SMARTIO_UNKNOWN_NS;
}

/* Device time that a write takes from others. */
static inline u64 smartio_cost(u32 pace_ns, u32 service_ns)
{
	if (pace_ns)
		return pace_ns;
	return service_ns ? service_ns : SMARTIO_UNKNOWN_NS;
}

/*
 * Device time that a write takes while its pace is not known: a cache hides it, but
 * it is no more than what has passed since the write before. A pause is not counted.
 */
static inline u64 smartio_cost_hidden(u64 since_ns, u32 service_ns)
{
	u64 most = since_ns < 2 * SMARTIO_UNKNOWN_NS ? since_ns : 2 * SMARTIO_UNKNOWN_NS;

	return service_ns > most ? service_ns : most;
}

/* What a write took of a window: the time since the one before, but for a pause. */
static inline u64 smartio_interval_ns(u64 since_ns, u64 took_ns)
{
	u64 most = took_ns > 2 * SMARTIO_UNKNOWN_NS ? took_ns : 2 * SMARTIO_UNKNOWN_NS;

	return since_ns < most ? since_ns : most;
}

/* Share of writes that are due. */
static inline u32 smartio_share_due(u32 share_percent)
{
	return share_percent > SMARTIO_DUE_PERCENT ? share_percent : SMARTIO_DUE_PERCENT;
}

/* Share of a write that has waited so long: it grows from half of the slice on. */
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

/* How long after one write that was due the next may go, if something is read. */
static inline u64 smartio_due_ns(u64 cost_ns, u32 share_percent, u64 slice_ns)
{
	if (share_percent >= 100)
		return 0;
	if (cost_ns > SMARTIO_DUE_SLICES * slice_ns)
		cost_ns = SMARTIO_DUE_SLICES * slice_ns;
	return div_u64(cost_ns * 100, smartio_share_due(share_percent));
}

/* What is left of a debt after some time. */
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
 * until the debt is settled. Without: as long as more is owed than one write
 * costs, so that what comes a moment late is made up for by the next one.
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
 * When the next write is to follow one that began then: a sixteenth before the
 * device is through with it. Sooner, and a read would stand behind both; later,
 * and the device would wait.
 */
static inline u64 smartio_turn_ns(u64 began_ns, u32 pace_ns, u32 service_ns)
{
	u64 took = pace_ns && pace_ns < service_ns ? pace_ns : service_ns;

	return began_ns + took - took / 16;
}

/*
 * Device time of a burst; none without a cache. While a cache hides what writes
 * cost, a burst is long enough to see it, also when it does not begin with a window.
 */
static inline u64 smartio_burst_ns(bool cached, u32 pace_ns)
{
	if (!cached)
		return 0;
	return pace_ns ? SMARTIO_BURST_NS : 2 * SMARTIO_WINDOW_NS;
}

/* How long a debt takes to settle. */
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
 * came within the longest hold after the one before.
 */
static inline u32 smartio_learn_hits(u32 hits, u64 pause_ns, u64 hold_max_ns)
{
	if (pause_ns <= hold_max_ns)
		return hits + (256 - hits) / 8;
	return hits - (hits + 7) / 8;
}

/* How long to await the next read; 0 where that has not paid. */
static inline u64 smartio_hold_ns(u32 pause_ns, u32 hits, u64 hold_max_ns)
{
	u64 hold = 2 * (u64)pause_ns + SMARTIO_HOLD_SLACK_NS;

	if (hits < 128)
		return 0;
	return hold < hold_max_ns ? hold : hold_max_ns;
}

/*
 * How many writes that nobody waits for may be in the device when one that
 * somebody waits for is likely to come, since it has to stand behind them: what
 * the device works on at once, and of short ones one more.
 */
static inline u32 smartio_cap_awaited(u32 cap, u32 cap_alone, u32 service_ns)
{
	u32 most = service_ns >= SMARTIO_LONG_NS ? cap : cap + 1;

	return most < cap_alone ? most : cap_alone;
}

/*
 * Longest usual pause between the steps of a commit: some have a flush between
 * them and most do not, so that a mean would tell of neither.
 */
static inline u32 smartio_learn_step(u32 old, u64 pause_ns)
{
	if (pause_ns >= old)
		return pause_ns > SMARTIO_COMMIT_NS ? SMARTIO_COMMIT_NS : (u32)pause_ns;
	return old - (old - (u32)pause_ns) / 32;
}

/* How long to await the next step of a commit; 0 where that has not paid. */
static inline u64 smartio_await_ns(u32 step_ns, u32 hits)
{
	u64 hold = 2 * (u64)step_ns + SMARTIO_HOLD_SLACK_NS;

	if (hits < 128)
		return 0;
	return hold < SMARTIO_COMMIT_NS ? hold : SMARTIO_COMMIT_NS;
}

/* Patience that is left when others were kept waiting for so long. */
static inline u64 smartio_patience(u64 patience_ns, u64 held_ns)
{
	return held_ns < patience_ns ? patience_ns - held_ns : 0;
}

/*
 * Patience with a write that went: as much as it has had of the device, so that
 * commits without end leave half of it to others; at most half of the slice, so
 * that nobody waits for all of it.
 */
static inline u64 smartio_earn(u64 patience_ns, u64 cost_ns, u64 slice_ns)
{
	u64 most = slice_ns / 2;

	if (patience_ns >= most || cost_ns >= most - patience_ns)
		return most;
	return patience_ns + cost_ns;
}

/* Whether a write may go now. */
static inline enum smartio_verdict smartio_judge(const struct smartio_view *v)
{
	bool reading = v->reads_waiting || v->reads_in_flight;
	bool due = v->age_ns >= v->slice_ns && v->now_ns >= v->due_at_ns;
	u32 cap = v->cap;

	if (v->now_ns < v->awaited_until_ns)
		return SMARTIO_WAIT_HOLD;
	if (due || v->kind == SMARTIO_URGENT ||
	    v->kind == SMARTIO_OWN ||
	    (!reading && v->now_ns >= v->hold_until_ns))
		return v->writes_in_flight < v->cap_alone ? SMARTIO_GO :
							    SMARTIO_WAIT_CAP;
	if (v->kind == SMARTIO_TRIM)
		cap = 1;
	if (v->writes_in_flight >= cap)
		return SMARTIO_WAIT_CAP;
	if (!reading)
		return SMARTIO_WAIT_HOLD;
	/* Right behind a read it delays the next one least. */
	if (v->spent || v->behind)
		return SMARTIO_WAIT_SHARE;
	if (v->writes_in_flight && v->writes_in_flight + 1 >= cap &&
	    v->now_ns < v->turn_ns)
		return SMARTIO_WAIT_TURN;
	return SMARTIO_GO;
}

/* When a write that waits is to be judged anew, if nothing happens before. */
static inline u64 smartio_wake_ns(const struct smartio_view *v,
				  enum smartio_verdict verdict)
{
	u64 wait;

	if (verdict == SMARTIO_WAIT_HOLD)
		return v->now_ns < v->awaited_until_ns ? v->awaited_until_ns : v->hold_until_ns;
	if (verdict == SMARTIO_WAIT_TURN)
		return v->turn_ns;
	if (verdict != SMARTIO_WAIT_SHARE)
		return SMARTIO_NEVER;
	wait = smartio_settle_ns(v->debt_ns, v->share_percent);
	if (v->behind || wait > SMARTIO_RECHECK_NS)
		wait = SMARTIO_RECHECK_NS;
	return v->now_ns + (wait ? wait : 1);
}

#endif
