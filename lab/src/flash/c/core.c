// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * The life of a request: controller, units or buffer, bus, completion.
 *
 * The model jumps from event to event: the end of a command, of a transfer, of
 * a unit's operation. Nothing changes between events, so the caller needs one
 * timer. Everything that is due at an instant is handled before units begin new
 * work at that instant, in a fixed order; that makes the model deterministic.
 */
#include "internal.h"

#define bf_min(a, b) ((a) < (b) ? (a) : (b))
#define bf_max(a, b) ((a) > (b) ? (a) : (b))

/* ---- requests ---- */

static void bf_done(struct bf_device *d, struct bf_req *req, uint32_t status)
{
	req->state = BF_REQ_DONE;
	req->status = status;
	req->at_ns = d->now;
	req->order = ++d->done_order;
	d->in_flight--;
	d->done++;
	d->last_active = d->now;
}

static int bf_fault_hits(const struct bf_device *d, const struct bf_request *r,
			 uint32_t kind)
{
	uint32_t i;

	for (i = 0; i < d->fault_count; i++)
		if (d->faults[i].kind == kind && r->pages &&
		    r->page < d->faults[i].page + d->faults[i].pages &&
		    d->faults[i].page < r->page + r->pages)
			return 1;
	return 0;
}

/* Read time of the i-th page of a run, which decreases with the length of the run. */
static uint64_t bf_run_page_ns(const struct bf_device *d, uint64_t i)
{
	uint64_t ramp = d->p.read_ramp_pages;

	return bf_max(d->p.read_floor_ns,
		      bf_div(d->p.read_next_ns * ramp, ramp + i));
}

static void bf_read_transfer(struct bf_device *d, struct bf_req *req)
{
	uint64_t bus = bf_max(d->bus_free, req->first_ready_ns);
	uint64_t page_ns = d->p.bus_page_ns;

	/* Transfers overlap with later reads; the last page is transferred last. */
	req->at_ns = bf_max(d->now + page_ns, bus + req->r.pages * page_ns);
	d->bus_free = req->at_ns;
	req->state = BF_REQ_BUS;
}

static void bf_suspend(struct bf_device *d, struct bf_unit *u)
{
	uint64_t left;

	if (u->work != BF_WORK_PROGRAM || !d->p.suspend_ns || !u->suspends_left)
		return;
	left = u->busy_until - d->now;
	if (left <= d->p.suspend_ns)
		return;
	u->suspended_left_ns = left;
	u->suspended_work = u->work;
	u->suspended_reads = 0;
	u->suspends_left--;
	u->work = BF_WORK_SUSPEND;
	u->busy_until = d->now + d->p.suspend_ns;
	d->counters.suspends++;
}

static void bf_enqueue_read(struct bf_device *d, uint32_t req, uint32_t unit,
			    uint64_t duration, uint32_t pages)
{
	struct bf_unit *u = &d->units[unit];
	uint32_t o = d->op_free;

	d->op_free = d->ops[o].next;
	d->ops[o].req = req;
	d->ops[o].duration_ns = duration;
	d->ops[o].pages = pages;
	d->ops[o].next = BF_NONE;
	if (u->read_tail != BF_NONE)
		d->ops[u->read_tail].next = o;
	else
		u->read_head = o;
	u->read_tail = o;
	d->reqs[req].ops_left++;
	bf_suspend(d, u);
}

/* Divides a read among the units that hold its pages. */
static void bf_begin_read(struct bf_device *d, uint32_t index)
{
	struct bf_req *req = &d->reqs[index];
	uint64_t duration[BF_MAX_UNITS];
	uint32_t pages[BF_MAX_UNITS], i, unit;

	for (unit = 0; unit < d->p.units; unit++) {
		duration[unit] = 0;
		pages[unit] = 0;
	}
	for (i = 0; i < req->r.pages; i++) {
		uint64_t page = req->r.page + i;

		if (d->slots_used && bf_buffer_find(d, page) != BF_NONE) {
			d->counters.buffer_hits++;
			continue;
		}
		unit = bf_mapping_unit(d, page);
		if (!pages[unit] && !req->run_pages)
			duration[unit] += d->p.read_ns;
		else
			duration[unit] += bf_run_page_ns(d, req->run_pages + i);
		pages[unit]++;
		d->counters.energy_nj += d->p.read_page_nj;
	}
	req->state = BF_REQ_UNITS;
	req->ops_left = 0;
	req->first_ready_ns = BF_NEVER;
	for (unit = 0; unit < d->p.units; unit++)
		if (pages[unit])
			bf_enqueue_read(d, index, unit, duration[unit], pages[unit]);
	if (!req->ops_left) {
		req->first_ready_ns = d->now;
		bf_read_transfer(d, req);
	}
}

static void bf_begin_discard(struct bf_device *d, const struct bf_request *r)
{
	uint32_t i, s;

	for (i = 0; i < r->pages && d->slots_used; i++) {
		s = bf_buffer_find(d, r->page + i);
		if (s != BF_NONE && d->slots[s].state == BF_SLOT_DIRTY &&
		    d->slots[s].waiter == BF_NONE)
			bf_buffer_release(d, s);
	}
	bf_mapping_discard(d, r->page, r->pages);
}

/* The controller has processed the command. */
static void bf_begin(struct bf_device *d, uint32_t index)
{
	struct bf_req *req = &d->reqs[index];

	if (bf_fault_hits(d, &req->r, 2)) {
		req->state = BF_REQ_HUNG;
		return;
	}
	req->status = BF_OK;
	switch (req->r.op) {
	case BF_READ:
		if (bf_fault_hits(d, &req->r, 1))
			req->status = BF_READ_ERROR;
		bf_begin_read(d, index);
		break;
	case BF_WRITE:
		req->state = BF_REQ_ROOM;
		req->next = BF_NONE;
		if (d->waiting_tail != BF_NONE)
			d->reqs[d->waiting_tail].next = index;
		else
			d->waiting_head = index;
		d->waiting_tail = index;
		break;
	case BF_FLUSH:
		req->state = BF_REQ_PROGRAM;
		req->flush_order = d->order;
		d->flushes_waiting++;
		break;
	default:
		bf_begin_discard(d, &req->r);
		bf_done(d, req, BF_OK);
	}
}

/* Transfers pages of the oldest waiting write while there is space in the buffer. */
static void bf_admit(struct bf_device *d)
{
	struct bf_req *req;
	uint32_t index = d->waiting_head, count = 0, s, left;

	if (d->bus_write != BF_NONE || index == BF_NONE)
		return;
	req = &d->reqs[index];
	left = req->r.pages - req->admitted;
	while (count < left && count < d->p.program_pages) {
		s = bf_buffer_take(d, req->r.page + req->admitted + count);
		if (s == BF_NONE)
			break;
		d->slots[s].end_page = req->r.page + req->r.pages;
		if (!d->p.write_cache || req->r.fua) {
			d->slots[s].waiter = index;
			req->unprogrammed++;
		}
		d->bus_slots[count++] = s;
	}
	if (!count)
		return;
	req->chunk = count;
	req->state = BF_REQ_BUS;
	req->at_ns = bf_max(d->now, d->bus_free) + count * d->p.bus_page_ns;
	d->bus_free = req->at_ns;
	d->bus_write = index;
}

static void bf_write_arrived(struct bf_device *d, struct bf_req *req)
{
	uint32_t i;

	for (i = 0; i < req->chunk; i++)
		bf_buffer_fill_done(d, d->bus_slots[i]);
	d->bus_write = BF_NONE;
	req->admitted += req->chunk;
	if (req->admitted < req->r.pages) {
		req->state = BF_REQ_ROOM;
		return;
	}
	d->waiting_head = req->next;
	if (d->waiting_head == BF_NONE)
		d->waiting_tail = BF_NONE;
	if (req->unprogrammed)
		req->state = BF_REQ_PROGRAM;
	else
		bf_done(d, req, BF_OK);
}

/* Starts the commit of flushes whose data is programmed. */
static void bf_check_flushes(struct bf_device *d)
{
	uint64_t oldest;
	uint32_t i;

	if (!d->flushes_waiting)
		return;
	oldest = bf_buffer_oldest(d);
	for (i = 0; i < d->p.queue_depth; i++) {
		struct bf_req *req = &d->reqs[i];

		if (req->state == BF_REQ_PROGRAM && req->r.op == BF_FLUSH &&
		    oldest > req->flush_order) {
			req->state = BF_REQ_COMMIT;
			req->at_ns = d->now + d->p.flush_ns;
			d->flushes_waiting--;
		}
	}
}

/* ---- units ---- */

static void bf_work(struct bf_device *d, struct bf_unit *u, uint32_t work,
		    uint64_t duration)
{
	u->work = work;
	u->busy_until = d->now + duration;
}

/* Whether a stray write is in progress: in the cells, or with more in the buffer. */
static int bf_stray_unmapped(const struct bf_device *d, const struct bf_unit *u)
{
	if (!u->stray_open)
		return 0;
	return u->group_size || (u->group_last + 1 < u->stray_end &&
				 bf_buffer_find(d, u->group_last + 1) != BF_NONE);
}

/* First read of the unit that may start, and its predecessor in the list. */
static uint32_t bf_next_read(const struct bf_device *d, const struct bf_unit *u,
			     uint32_t *before)
{
	uint32_t o = u->read_head;

	*before = BF_NONE;
	if (!bf_stray_unmapped(d, u))
		return o;
	/* A lookup waits until then. */
	while (o != BF_NONE && !d->reqs[d->ops[o].req].run_pages) {
		*before = o;
		o = d->ops[o].next;
	}
	return o;
}

static void bf_start_read(struct bf_device *d, struct bf_unit *u, uint32_t o,
			  uint32_t before)
{
	struct bf_read_op *op = &d->ops[o];
	struct bf_req *req = &d->reqs[op->req];
	uint32_t pages = bf_min(op->pages, d->p.read_chunk_pages);
	uint64_t time = bf_div(op->duration_ns * pages, op->pages);

	if (before == BF_NONE)
		u->read_head = op->next;
	else
		d->ops[before].next = op->next;
	if (u->read_tail == o)
		u->read_tail = before;
	req->first_ready_ns = bf_min(req->first_ready_ns,
				     d->now + bf_div(time, pages));
	op->duration_ns -= time;
	op->pages -= pages;
	u->read_op = o;
	bf_work(d, u, BF_WORK_READ, time);
}

static uint64_t bf_program_time(struct bf_device *d, uint32_t count)
{
	uint64_t time = d->p.program_ns;

	if (d->slc_used + count <= d->p.slc_pages) {
		d->slc_used += count;
		d->counters.programs_slc++;
		time = d->p.slc_program_ns;
	}
	return time + count * d->p.channel_page_ns;
}

static void bf_program_next(struct bf_device *d, struct bf_unit *u)
{
	if (u->extra_left_ns) {
		uint64_t slice = u->extra_left_ns;

		/* Slices may have been disabled since it began. */
		if (d->p.stray_slice_ns)
			slice = bf_min(slice, d->p.stray_slice_ns);
		u->extra_left_ns -= slice;
		bf_work(d, u, BF_WORK_EXTRA, slice);
		return;
	}
	u->suspends_left = d->p.suspends_max;
	bf_work(d, u, BF_WORK_PROGRAM, u->program_left_ns);
	u->program_left_ns = 0;
}

static void bf_prepare_program(struct bf_device *d, uint32_t unit, uint32_t count)
{
	struct bf_unit *u = &d->units[unit];
	const struct bf_slot *first = &d->slots[u->group[0]];
	uint64_t extra, follows = u->group_last + 1;
	uint32_t i;

	u->group_size = count;
	for (i = 0; i < count; i++)
		bf_buffer_start(d, u->group[i]);
	extra = bf_mapping_program(d, unit, u->group, count);
	if (extra && d->p.stray_slice_ns) {
		u->stray_open = 1;
		u->stray_end = first->end_page;
	} else if (first->page != follows) {
		u->stray_open = 0;
	}
	u->group_last = d->slots[u->group[count - 1]].page;
	d->counters.programs++;
	d->counters.pages_programmed += count;
	if (count < d->p.program_pages)
		d->counters.programs_partial++;
	d->counters.energy_nj += count * d->p.program_page_nj;
	u->program_left_ns = bf_program_time(d, count);
	if (d->p.stray_slice_ns) {
		u->extra_left_ns = extra;
	} else {
		u->extra_left_ns = 0;
		u->program_left_ns += extra;
	}
	bf_program_next(d, u);
}

/* Without turns: whether the read arrived before all data that the unit has to program. */
static int bf_read_is_first(const struct bf_device *d, uint32_t unit, uint32_t o)
{
	uint64_t written;

	if (d->p.reads_per_turn)
		return 0;
	written = d->units[unit].group_size ? 0 : bf_buffer_first(d, unit);
	return d->reqs[d->ops[o].req].order < written;
}

/* Starts the next operation of an idle unit: reads and programs take turns. */
static void bf_kick(struct bf_device *d, uint32_t unit)
{
	struct bf_unit *u = &d->units[unit];
	uint32_t before, o, count = 0;
	int collect, prepared;

	if (u->work != BF_IDLE)
		return;
	o = bf_next_read(d, u, &before);
	if (u->suspended_left_ns) {
		if (o != BF_NONE && u->suspended_reads < BF_SUSPENDED_READS) {
			u->suspended_reads++;
			bf_start_read(d, u, o, before);
			return;
		}
		bf_work(d, u, u->suspended_work, u->suspended_left_ns);
		u->suspended_left_ns = 0;
		return;
	}
	if (o != BF_NONE && (u->reads_in_turn < d->p.reads_per_turn ||
			     bf_read_is_first(d, unit, o))) {
		u->reads_in_turn++;
		bf_start_read(d, u, o, before);
		return;
	}
	prepared = u->group_size != 0;
	collect = !prepared && bf_mapping_wants_collect(d, unit);
	if (!prepared && bf_mapping_may_program(d, unit) &&
	    !(collect && u->work_collected == 0))
		count = bf_buffer_group(d, unit, u->group);
	if (!prepared && !collect && !count) {
		/* Nothing to take turns with. */
		if (o != BF_NONE)
			bf_start_read(d, u, o, before);
		return;
	}
	u->reads_in_turn = 0;
	if (prepared) {
		bf_program_next(d, u);
	} else if (count) {
		u->work_collected = 0;
		bf_prepare_program(d, unit, count);
	} else {
		u->work_collected = 1;
		bf_work(d, u, BF_WORK_COLLECT, bf_mapping_collect(d, unit));
	}
}

static void bf_programmed(struct bf_device *d, struct bf_unit *u)
{
	uint32_t i;

	for (i = 0; i < u->group_size; i++) {
		uint32_t waiter = d->slots[u->group[i]].waiter;

		bf_buffer_release(d, u->group[i]);
		if (waiter == BF_NONE)
			continue;
		d->reqs[waiter].unprogrammed--;
		if (!d->reqs[waiter].unprogrammed &&
		    d->reqs[waiter].state == BF_REQ_PROGRAM)
			bf_done(d, &d->reqs[waiter], BF_OK);
	}
	u->group_size = 0;
	d->last_active = d->now;
}

/* A chunk was read: the rest of the request is first at the next turn of reads. */
static void bf_chunk_read(struct bf_device *d, struct bf_unit *u)
{
	struct bf_read_op *op = &d->ops[u->read_op];
	struct bf_req *req = &d->reqs[op->req];

	if (op->pages) {
		op->next = u->read_head;
		u->read_head = u->read_op;
		if (u->read_tail == BF_NONE)
			u->read_tail = u->read_op;
		return;
	}
	op->next = d->op_free;
	d->op_free = u->read_op;
	if (--req->ops_left == 0)
		bf_read_transfer(d, req);
}

static void bf_finish(struct bf_device *d, struct bf_unit *u)
{
	uint32_t work = u->work;

	u->work = BF_IDLE;
	if (work == BF_WORK_PROGRAM)
		bf_programmed(d, u);
	else if (work == BF_WORK_READ)
		bf_chunk_read(d, u);
}

/* ---- time ---- */

uint64_t bf_next_event(const struct bf_device *d)
{
	return d->next_event;
}

/* The time of the next event changes only by a step and a new request. */
static uint64_t bf_find_next_event(const struct bf_device *d)
{
	uint64_t next = BF_NEVER;
	uint32_t i;

	for (i = 0; i < d->p.units; i++)
		if (d->units[i].work != BF_IDLE)
			next = bf_min(next, d->units[i].busy_until);
	for (i = 0; i < d->p.queue_depth; i++) {
		uint32_t state = d->reqs[i].state;

		if (state == BF_REQ_COMMAND || state == BF_REQ_BUS ||
		    state == BF_REQ_COMMIT)
			next = bf_min(next, d->reqs[i].at_ns);
	}
	return next;
}

/* The request in the controller that is processed first, of those that are done by now. */
static uint32_t bf_next_command(const struct bf_device *d)
{
	uint32_t i, best = BF_NONE;

	for (i = 0; i < d->p.queue_depth; i++)
		if (d->reqs[i].state == BF_REQ_COMMAND &&
		    d->reqs[i].at_ns <= d->now &&
		    (best == BF_NONE || d->reqs[i].order < d->reqs[best].order))
			best = i;
	return best;
}

static void bf_step(struct bf_device *d)
{
	uint32_t i, commands = 0;

	for (i = 0; i < d->p.units; i++)
		if (d->units[i].work != BF_IDLE && d->units[i].busy_until <= d->now)
			bf_finish(d, &d->units[i]);
	for (i = 0; i < d->p.queue_depth; i++) {
		struct bf_req *req = &d->reqs[i];

		if (req->at_ns > d->now)
			continue;
		if (req->state == BF_REQ_COMMIT)
			bf_done(d, req, BF_OK);
		else if (req->state == BF_REQ_BUS && req->r.op == BF_WRITE)
			bf_write_arrived(d, req);
		else if (req->state == BF_REQ_BUS)
			bf_done(d, req, req->status);
		else if (req->state == BF_REQ_COMMAND)
			commands++;
	}
	while (commands--)
		bf_begin(d, bf_next_command(d));
	bf_check_flushes(d);
	bf_admit(d);
	for (i = 0; i < d->p.units; i++)
		bf_kick(d, i);
	d->next_event = bf_find_next_event(d);
}

void bf_run(struct bf_device *d, uint64_t now)
{
	while (d->next_event <= now) {
		d->now = bf_max(d->now, d->next_event);
		bf_step(d);
	}
	d->now = bf_max(d->now, now);
}

/* While the host is idle the device empties its fast cache. */
static void bf_fold(struct bf_device *d)
{
	uint64_t idle, pages;

	if (!d->slc_used || bf_in_flight(d) || d->slots_used || !d->p.fold_page_ns)
		return;
	idle = d->now - d->last_active;
	if (idle <= d->p.fold_idle_ns)
		return;
	pages = bf_min(d->slc_used, bf_div(idle - d->p.fold_idle_ns, d->p.fold_page_ns));
	d->slc_used -= pages;
	d->last_active += pages * d->p.fold_page_ns;
	d->counters.pages_moved += pages;
	d->counters.energy_nj += pages * (d->p.read_page_nj + d->p.program_page_nj);
}

static void bf_count(struct bf_device *d, const struct bf_request *r)
{
	struct bf_counters *c = &d->counters;

	c->energy_nj += d->p.command_nj;
	switch (r->op) {
	case BF_READ:
		c->reads++;
		c->pages_read += r->pages;
		c->energy_nj += r->pages * d->p.bus_page_nj;
		break;
	case BF_WRITE:
		c->writes++;
		c->pages_written += r->pages;
		c->energy_nj += r->pages * d->p.bus_page_nj;
		break;
	case BF_FLUSH:
		c->flushes++;
		break;
	default:
		c->discards++;
		c->pages_discarded += r->pages;
	}
	c->in_flight_max = bf_max(c->in_flight_max, bf_in_flight(d));
}

int bf_submit(struct bf_device *d, uint64_t now, const struct bf_request *r)
{
	struct bf_req *req = 0;
	uint64_t cost;
	uint32_t i;

	bf_run(d, now);
	if (r->op > BF_DISCARD || (r->op != BF_FLUSH && !r->pages) ||
	    r->page > d->p.pages || r->pages > d->p.pages - r->page)
		return BF_ERR_RANGE;
	for (i = 0; i < d->p.queue_depth && !req; i++)
		if (d->reqs[i].state == BF_REQ_FREE)
			req = &d->reqs[i];
	if (!req)
		return BF_ERR_FULL;
	bf_fold(d);
	req->r = *r;
	req->order = ++d->order;
	req->admitted = 0;
	req->unprogrammed = 0;
	req->ops_left = 0;
	req->run_pages = 0;
	req->state = BF_REQ_COMMAND;
	cost = d->p.command_ns;
	if (r->op == BF_READ) {
		req->run_pages = bf_run_match(d->read_runs, BF_READ_RUNS, r->page,
					      r->pages, &d->stamp);
		if (req->run_pages)
			d->counters.run_reads++;
		else
			cost += d->p.read_lookup_ns;
	} else if (r->op == BF_DISCARD) {
		cost += d->p.discard_ns;
	}
	req->at_ns = bf_max(d->now, d->controller_free) + cost;
	d->controller_free = req->at_ns;
	d->next_event = bf_min(d->next_event, req->at_ns);
	d->in_flight++;
	bf_count(d, r);
	bf_run(d, now);
	return 0;
}

int bf_collect(struct bf_device *d, struct bf_completion *completion)
{
	struct bf_req *best = 0;
	uint32_t i;

	if (!d->done)
		return 0;
	for (i = 0; i < d->p.queue_depth; i++)
		if (d->reqs[i].state == BF_REQ_DONE &&
		    (!best || d->reqs[i].order < best->order))
			best = &d->reqs[i];
	completion->tag = best->r.tag;
	completion->at_ns = best->at_ns;
	completion->status = best->status;
	completion->reserved = 0;
	best->state = BF_REQ_FREE;
	d->done--;
	return 1;
}

uint32_t bf_in_flight(const struct bf_device *d)
{
	return d->in_flight;
}

const struct bf_counters *bf_counters(const struct bf_device *d)
{
	return &d->counters;
}

void bf_reset_counters(struct bf_device *d)
{
	static const struct bf_counters zero;

	d->counters = zero;
}

/* ---- faults ---- */

static int bf_fault_add(struct bf_device *d, uint64_t page, uint64_t pages,
			uint32_t kind)
{
	if (!pages || page >= d->p.pages || pages > d->p.pages - page)
		return BF_ERR_RANGE;
	if (d->fault_count == BF_MAX_FAULTS)
		return BF_ERR_FULL;
	d->faults[d->fault_count].page = page;
	d->faults[d->fault_count].pages = pages;
	d->faults[d->fault_count].kind = kind;
	d->fault_count++;
	return 0;
}

int bf_fault_read_error(struct bf_device *d, uint64_t page, uint64_t pages)
{
	return bf_fault_add(d, page, pages, 1);
}

int bf_fault_timeout(struct bf_device *d, uint64_t page, uint64_t pages)
{
	return bf_fault_add(d, page, pages, 2);
}

void bf_clear_faults(struct bf_device *d, uint64_t now)
{
	uint32_t i;

	bf_run(d, now);
	d->fault_count = 0;
	for (i = 0; i < d->p.queue_depth; i++)
		if (d->reqs[i].state == BF_REQ_HUNG)
			bf_done(d, &d->reqs[i], BF_TIMED_OUT);
}

int bf_abort(struct bf_device *d, uint64_t now, uint64_t tag)
{
	uint32_t i;

	bf_run(d, now);
	for (i = 0; i < d->p.queue_depth; i++)
		if (d->reqs[i].state == BF_REQ_HUNG && d->reqs[i].r.tag == tag) {
			bf_done(d, &d->reqs[i], BF_TIMED_OUT);
			return 0;
		}
	return BF_ERR_RANGE;
}

int bf_is_volatile(const struct bf_device *d, uint64_t page)
{
	return bf_buffer_find(d, page) != BF_NONE;
}

uint32_t bf_power_cut(struct bf_device *d, uint64_t now, uint64_t seed,
		      void (*lost)(void *context, uint64_t page), void *context)
{
	uint64_t x = seed * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull;
	uint32_t i, count = 0;

	bf_run(d, now);
	for (i = 0; i < d->p.buffer_pages; i++) {
		if (d->slots[i].state == BF_SLOT_FREE)
			continue;
		/* splitmix64: every seed gives its own subset. */
		x += 0x9E3779B97F4A7C15ull;
		{
			uint64_t z = x;

			z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
			z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
			if ((z ^ (z >> 31)) & 1)
				continue;
		}
		lost(context, d->slots[i].page);
		count++;
	}
	bf_power_on(d);
	return count;
}

size_t bf_params_bytes(void)
{
	return sizeof(struct bf_params);
}

size_t bf_counters_bytes(void)
{
	return sizeof(struct bf_counters);
}
