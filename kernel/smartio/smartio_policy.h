/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Policy of the SmartIO scheduler, as pure functions on plain integers: no clock,
 * no lock, no allocation, no floating point. The module calls them under its lock;
 * KUnit and a build in user space test them with random inputs.
 *
 * Terms:
 *  background  an asynchronous write: neither a step of a commit nor of a thread that reads
 *  beside      reads or commits wait, are in the device, or were seen within a slice
 *  hold        time in which background writes wait for a read or a commit that is expected
 *  credit      how long they may still be held
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
#endif

#define SMARTIO_NEVER (~0ULL)

/* Added to twice the usual pause of a reader: wake-up and submission. */
#define SMARTIO_HOLD_SLACK_NS 20000

/*
 * A commit is a few writes in a row, each sent after the completion of the
 * previous one, with a flush between them. The next one is expected for this time.
 */
#define SMARTIO_COMMIT_NS 2000000

/* Larger synchronous writes are the content of a file: its fsync waits for the last of many. */
#define SMARTIO_COMMIT_BYTES 32768

/* Without reads and commits, background writes in the device beyond this keep it no busier. */
#define SMARTIO_ALONE_BYTES 1048576
#define SMARTIO_ALONE_WRITES 2

/* Longest hold in a row. */
#define SMARTIO_CREDIT_NS 20000000ULL

/* Of what reads wait for a cache that programs later, so much is charged in a turn of holds. */
#define SMARTIO_HIDDEN_NS 5000000

/* The idle class gets this part of the time that others would. */
#define SMARTIO_IDLE_PART 8

enum smartio_kind {
	SMARTIO_READ = 0,
	SMARTIO_URGENT = 1,	/* a step of a commit: fsync, log, swap */
	SMARTIO_OWN = 2,	/* a write of a thread that reads as well */
	SMARTIO_BULK = 3,	/* any other write */
	SMARTIO_TRIM = 4,	/* discard, erase, write of zeroes */
	SMARTIO_NR_KINDS = 5,
};

enum smartio_verdict {
	SMARTIO_GO = 0,
	SMARTIO_WAIT_CAP = 1,	/* one is in the device */
	SMARTIO_WAIT_HOLD = 2,	/* a read or a commit is expected */
	SMARTIO_NR_VERDICTS = 3,
};

/* What the decision on a background write depends on. */
struct smartio_view {
	u64 now_ns;
	u64 read_until_ns;	/* a read is expected until then */
	u64 commit_until_ns;	/* the same for the next step of a commit */
	u64 credit_ns;
	u32 writes;		/* background writes in the device */
	u32 bytes;		/* theirs */
	bool beside;
	bool holding;		/* the credit is being used */
	bool overtaken;		/* a read is in the device since before the last one went */
};

/* Time since then; 0 when timestamps were taken in another order. */
static inline u64 smartio_since(u64 then_ns, u64 now_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
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

/* Tags for writes: all but the reserve of reads, which is at least one of several. */
static inline u32 smartio_tags(u32 tags, u32 reserve_percent)
{
	u32 reserve = (tags * reserve_percent + 99) / 100;

	return tags > reserve ? tags - reserve : 1;
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

/* The shortest of the last thousand or so. 0 means unknown. */
static inline u32 smartio_shortest(u32 old, u64 sample)
{
	if (old && sample > old)
		return old + old / 1024 + (old < 0xf0000000u);
	return sample < 0xf0000000u ? (u32)sample : 0xf0000000u;
}

/*
 * What a read took beyond its own time, while no background write was in the device: a cache
 * programs an earlier one. A page takes at most twice as long as the shortest read of any size.
 */
static inline u64 smartio_hidden(u64 took_ns, u32 shortest_ns, u32 pages)
{
	u64 own = 2 * (u64)shortest_ns * pages;

	return took_ns > own ? took_ns - own : 0;
}

/* Whether most reads follow one another. */
static inline bool smartio_continuous(u32 hits)
{
	return hits >= 128;
}

/*
 * Longest hold for a read: as set, or a quarter of what a write takes where that is longer,
 * since a read that comes during the write waits for all of it.
 */
static inline u64 smartio_hold_most(u64 hold_max_ns, u32 write_ns)
{
	if (!hold_max_ns)
		return 0;
	return hold_max_ns > write_ns / 4 ? hold_max_ns : write_ns / 4;
}

/* How long to expect the next read; 0 where that has not paid. */
static inline u64 smartio_hold_ns(u32 pause_ns, u32 hits, u64 hold_max_ns)
{
	u64 hold = 2 * (u64)pause_ns + SMARTIO_HOLD_SLACK_NS;

	if (!smartio_continuous(hits))
		return 0;
	return hold < hold_max_ns ? hold : hold_max_ns;
}

/*
 * Credit after a time in which background writes waited or were in the device (@busy), all of it
 * without any in the device (@idle). They get share_percent of that time at least.
 */
static inline u64 smartio_credit(u64 credit_ns, u64 elapsed_ns, bool busy, bool idle,
				 u32 share_percent)
{
	u64 earned;

	if (elapsed_ns > SMARTIO_NEVER / 200)
		return SMARTIO_CREDIT_NS;
	earned = busy ? div_u64(elapsed_ns * (100 - share_percent), 100) : 0;
	credit_ns += earned;
	if (idle)
		credit_ns = credit_ns > elapsed_ns ? credit_ns - elapsed_ns : 0;
	return credit_ns < SMARTIO_CREDIT_NS ? credit_ns : SMARTIO_CREDIT_NS;
}

/*
 * Whether writes are held, with hysteresis: each turn begins with the reads that waited for a
 * write, and only the later ones of it find the device free.
 */
static inline bool smartio_holding(bool holding, u64 credit_ns)
{
	return holding ? credit_ns > 0 : credit_ns >= SMARTIO_CREDIT_NS / 2;
}

/* Decides whether a background write may go to the device. */
static inline enum smartio_verdict smartio_judge(const struct smartio_view *v)
{
	if (!v->beside)
		return v->writes < SMARTIO_ALONE_WRITES || v->bytes < SMARTIO_ALONE_BYTES ?
			SMARTIO_GO : SMARTIO_WAIT_CAP;
	/* The floor: what a read may have to wait for is one write. */
	if (v->writes || v->overtaken)
		return SMARTIO_WAIT_CAP;
	if (v->holding && v->credit_ns &&
	    (v->now_ns < v->read_until_ns || v->now_ns < v->commit_until_ns))
		return SMARTIO_WAIT_HOLD;
	return SMARTIO_GO;
}

/* Time of the next decision on a held write, without an earlier event. */
static inline u64 smartio_wake_ns(const struct smartio_view *v, u32 share_percent)
{
	u64 until = v->read_until_ns > v->commit_until_ns ? v->read_until_ns : v->commit_until_ns;
	/* Credit is earned while it is used. */
	u64 used = v->now_ns + div_u64(v->credit_ns * 100, share_percent) + 1;

	return until < used ? until : used;
}

#endif
