// SPDX-License-Identifier: GPL-2.0
/*
 * Learned properties of the device: service times by size, pace and parallelism
 * of consecutive writes, and the resulting limits of writes in flight.
 */
#include "smartio.h"

/* Limits of writes in flight of which each occupies a part of the device. */
static void smartio_caps_of(struct smartio_data *sd, u32 occupied, u32 *cap, u32 *alone)
{
	u32 depth = sd->depth;

	if (smartio_lately(sd, sd->reader.seen))
		depth = smartio_tags(depth, sd->read_reserve_percent);
	if (sd->write_cap) {
		*cap = min(sd->write_cap, depth);
		*alone = *cap;
		return;
	}
	*cap = smartio_cap(occupied, depth);
	/* Most of the device is theirs only if the next write is there when one ends. */
	if (occupied && sd->write_share_percent > SMARTIO_DUE_PERCENT)
		*cap = min(*cap + 1, depth);
	/* All kinds share one limit, otherwise one would wait for slots that another fills. */
	*alone = smartio_mixed(sd) ? sd->depth : smartio_cap_alone(occupied, depth);
}

/* Limits of writes in flight for a size, with and without concurrent reads. */
void smartio_caps(struct smartio_data *sd, u32 size, u32 *cap, u32 *alone)
{
	smartio_caps_of(sd, smartio_occupied_by(sd->learned.occupied, size), cap, alone);
}

/*
 * The same for the size with the largest limit: an urgent write may use that limit,
 * otherwise it would wait for slots that smaller ones take again and again.
 */
void smartio_caps_widest(struct smartio_data *sd, u32 *cap, u32 *alone)
{
	u32 occupied = 0, size;

	for (size = 0; size < SMARTIO_NR_SIZES; size++) {
		u32 part = sd->learned.occupied[size];

		if (part && (!occupied || part < occupied))
			occupied = part;
	}
	smartio_caps_of(sd, occupied, cap, alone);
}

/* Device time that a write takes from reads. */
u64 smartio_write_cost(struct smartio_data *sd, u32 kind, u32 size, u64 now)
{
	u32 table = smartio_table(kind);
	u32 service = smartio_known(sd->learned.service_ns[table], size), pace;

	if (kind == SMARTIO_TRIM)
		return smartio_trim_cost(service, smartio_known(sd->learned.service_ns[0], 0));
	if (!smartio_cached(sd))
		return smartio_cost(service, smartio_occupied_by(sd->learned.occupied, size));
	pace = smartio_scaled(sd->learned.pace_ns, size);
	if (!pace)
		return smartio_cost_hidden(smartio_since(sd->race.went_ns, now), service);
	/* The values of another size are a lower bound. */
	return sd->learned.pace_ns[size] ? pace : max(pace, sd->learned.service_ns[table][size]);
}

/* Upper bound of a raised pace, with the value of the previous window. */
static u64 smartio_raises(u32 *before, u32 pace, u32 size, u64 sample)
{
	u64 last = before[size];

	before[size] = min(sample, 0xffffffffull);
	return smartio_confirmed(pace, sample, last);
}

/* Consecutive writes of one size show their pace, and how many the device works on at once. */
static void smartio_window(struct smartio_data *sd, struct request *rq, u32 size, u64 now)
{
	u32 writes = sd->writes_in_flight + sd->nr_waiting[SMARTIO_URGENT] +
		     sd->nr_waiting[SMARTIO_OWN] + sd->nr_waiting[SMARTIO_BULK];
	u32 service = sd->learned.service_ns[1][size], pace = sd->learned.pace_ns[size];
	u32 count, part;
	u64 elapsed = smartio_since(sd->window.began_ns, now), least = 0;
	u64 interval = smartio_interval_ns(smartio_since(sd->window.done_ns, now),
					   smartio_since_stamp(rq, now));

	sd->window.done_ns = now;
	if (!sd->window.count || sd->window.size != size) {
		sd->window.count = 1;
		sd->window.size = size;
		sd->window.began_ns = now;
		sd->window.ns = 0;
		sd->window.other_ns = 0;
		sd->window.reads = smartio_reads(sd, 2);
		sd->window.writes = writes;
		sd->window.held = false;
		return;
	}
	sd->window.writes = min(sd->window.writes, writes);
	sd->window.ns += interval;
	count = sd->window.count++;
	if (count < SMARTIO_WINDOW_WRITES || elapsed < SMARTIO_WINDOW_NS)
		return;
	sd->window.count = 0;
	if (smartio_cached(sd)) {
		least = smartio_since(sd->window.other_ns, sd->window.ns);
		least = smartio_raises(sd->window.before, pace, size, div_u64(least, count));
		/* If reads took most of the window, the rest is uncertain. */
		if (!sd->window.held || (pace && sd->window.other_ns <= sd->window.ns / 2))
			sd->learned.pace_ns[size] =
				smartio_learn_pace(pace, least, div_u64(sd->window.ns, count));
	}
	/* Reads, and fewer writes than it has room for, leave a part of the device without work. */
	part = smartio_occupied((u64)service * count, elapsed);
	if (service && !sd->window.held && !sd->window.reads &&
	    sd->window.writes * part > SMARTIO_WHOLE)
		sd->learned.occupied[size] = smartio_mean(sd->learned.occupied[size], part);
}

/*
 * A read is sent behind the last write. Which of them is done first shows whether the
 * device works on both at once, as long as the write cannot be done by then anyhow.
 */
void smartio_race_begins(struct smartio_data *sd, struct request *rq, u64 now)
{
	u32 read = smartio_known(sd->learned.service_ns[0], smartio_size(blk_rq_bytes(rq))), size;
	u32 writes = 1;

	if (sd->race.read || !sd->race.last_write || smartio_cached(sd))
		return;
	/* Another one sent shortly before it is done at the same time: two count together. */
	if (sd->writes_in_flight > 1 && sd->race.gap_ns < read + read / 4) {
		if (!sd->race.pair || sd->race.gap_ns >= read)
			return;
		writes = 2;
	}
	size = smartio_rq_size(sd->race.last_write);
	/* Parts of a large one reach the device behind the read, which passes only these. */
	if (size > smartio_size(SMARTIO_COMMIT_BYTES)) {
		if (!sd->learned.occupied[size])
			sd->learned.occupied[size] = SMARTIO_WHOLE;
		return;
	}
	/* Another read may delay this one by as much as it takes. */
	if (smartio_since_stamp(sd->race.last_write, now) + read +
	    (smartio_reads(sd, 2) ? read : read / 4) > sd->learned.service_ns[1][size])
		return;
	sd->race.read = rq;
	sd->race.write = sd->race.last_write;
	sd->race.size = size;
	sd->race.writes = writes;
}

/* A request is no longer in flight; what is not @done has shown nothing. */
void smartio_race_ends(struct smartio_data *sd, struct request *rq, bool done)
{
	u32 *occupied = &sd->learned.occupied[sd->race.size];

	if (rq == sd->race.last_write)
		sd->race.last_write = NULL;
	if (rq == sd->race.read) {
		if (done)
			*occupied = smartio_learn_passed(*occupied, sd->race.write,
							 sd->race.writes);
		sd->race.read = NULL;
		sd->race.write = NULL;
	} else if (rq == sd->race.write) {
		sd->race.write = NULL;
		if (!done)
			sd->race.read = NULL;
	}
}

/*
 * Time that reads have lost to the writes since the last call. If reads never
 * paused (@steady), it is the cost of these writes.
 */
void smartio_settled(struct smartio_data *sd, bool steady)
{
	u32 size = sd->lost.size;

	if (sd->lost.writes && size < SMARTIO_NR_SIZES) {
		u64 seen = div_u64(sd->lost.ns, sd->lost.writes), lost;
		u32 pace = sd->learned.pace_ns[size];

		lost = smartio_raises(sd->lost.before, pace, size, seen);
		/* At first the cache is empty, and its hidden cost appears all at once. */
		if (sd->lost.long_holds < SMARTIO_LONG_HOLDS)
			lost = max(lost, min(seen, (u64)SMARTIO_BURST_NS));
		sd->learned.pace_ns[size] = smartio_learn_lost(pace, lost, steady);
	}
	sd->lost.ns = 0;
	sd->lost.writes = 0;
}

/* A read has completed, and no other did for some time while the device had it. */
static void smartio_lost(struct smartio_data *sd, u32 size, u64 took, u64 now)
{
	u64 silence = min(took, smartio_since(sd->lost.silent_ns, now));

	sd->lost.silent_ns = now;
	sd->learned.read_base_ns[size] = smartio_learn_base(sd->learned.read_base_ns[size], took);
	sd->lost.ns += smartio_lost_ns(sd->learned.read_base_ns[size], silence);
	if (now >= sd->drain.until_ns)
		return;
	sd->drain.longest_ns = max(sd->drain.longest_ns, silence);
	sd->drain.quick = smartio_quick(silence, sd->drain.longest_ns) ? sd->drain.quick + 1 : 0;
	if (sd->drain.quick >= SMARTIO_DRAIN_READS)
		sd->drain.until_ns = now;
}

/* A request has completed. */
void smartio_learn(struct smartio_data *sd, struct request *rq, u64 now)
{
	unsigned long state = smartio_state(rq);
	u32 kind = state & SMARTIO_RQ_KIND, table = smartio_table(kind);
	u32 size = smartio_rq_size(rq);
	u64 took = smartio_since_stamp(rq, now);
	bool clean = state & SMARTIO_RQ_CLEAN;

	/* Writes that bypass the cache show its hidden cost, but are not typical. */
	if (rq->cmd_flags & REQ_FUA)
		return;
	/* Nor is one behind an error; but a large number of queued writes is evidence. */
	if (took >= SMARTIO_LOST_NS &&
	    (state & SMARTIO_RQ_ALONE || table != 1)) {
		sd->lost.silent_ns = now;
		sd->window.count = 0;
		return;
	}
	if (kind == SMARTIO_READ) {
		smartio_lost(sd, size, took, now);
	} else if (table == 1 && !smartio_cached(sd) &&
		   sd->learned.occupied[size] > SMARTIO_WHOLE / 8 * 7) {
		/* Reads that no write lets pass were done before this one began. */
		took = min(took, smartio_since(sd->lost.silent_ns, now));
		clean = true;
	}
	if (state & SMARTIO_RQ_ALONE)
		sd->learned.service_ns[table][size] =
			smartio_learn_service(sd->learned.service_ns[table][size], took, clean);
	if (table == 1)
		smartio_window(sd, rq, size, now);
	else if (table == 0)
		sd->window.other_ns += smartio_known(sd->learned.service_ns[0], size) +
				       sd->reader.pause_ns;
}
