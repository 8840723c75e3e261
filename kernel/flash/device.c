// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a request: it is submitted to the model on arrival, its data is
 * copied while the model processes it, and the timer at the model's next event
 * finishes requests that are due.
 */
#include <linux/ktime.h>

#include "flash.h"

static struct flash *flash_of(const struct request *rq)
{
	return rq->q->queuedata;
}

/* ---- the model and its timer, under the lock ---- */

static void flash_arm(struct flash *flash)
{
	u64 next = bf_next_event(flash->model);

	if (next == flash->armed_ns)
		return;
	flash->armed_ns = next;
	/* A timer that fires too early has no effect. */
	if (next != BF_NEVER)
		hrtimer_start(&flash->timer, ns_to_ktime(next), HRTIMER_MODE_ABS);
}

static void flash_count_event(struct flash *flash, u64 late_ns)
{
	flash->totals.timer_events++;
	flash->totals.lateness_ns += late_ns;
	flash->totals.lateness_max_ns = max(flash->totals.lateness_max_ns, late_ns);
}

/**
 * flash_count_busy - updates the busy time
 * @flash: the device, locked; its requests have changed since the last call
 * @now_ns: time of the change
 */
void flash_count_busy(struct flash *flash, u64 now_ns)
{
	lockdep_assert_held(&flash->lock);
	if (flash->busy)
		flash->totals.busy_ns += now_ns - flash->looked_ns;
	flash->looked_ns = now_ns;
	flash->busy = bf_in_flight(flash->model) > 0;
}

static blk_status_t flash_status(u32 status)
{
	switch (status) {
	case BF_OK:
		return BLK_STS_OK;
	case BF_TIMED_OUT:
		return BLK_STS_TIMEOUT;
	default:
		return BLK_STS_IOERR;
	}
}

/* The device has finished a request; the last holder completes it. */
static void flash_finish(struct request *rq, blk_status_t status, struct list_head *done)
{
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);
	struct flash *flash = flash_of(rq);

	flash->by_tag[rq->tag] = NULL;
	fr->requeue = false;
	if (status == BLK_STS_OK) {
		flash->nr_finished++;
		if (flash->error_every && flash->nr_finished % flash->error_every == 0)
			status = BLK_STS_IOERR;
	}
	fr->status = status;
	if (status == BLK_STS_OK) {
		if (fr->staged)
			flash_undo_apply(flash, rq);
		if (req_op(rq) == REQ_OP_FLUSH)
			flash->undo.flushed = max(flash->undo.flushed, fr->asked);
		fr->requeue = flash->requeue_every &&
			      flash->nr_finished % flash->requeue_every == 0;
	}
	if (fr->requeue)
		flash->totals.requeues++;
	else
		flash->totals.requests++;
	if (status != BLK_STS_OK)
		flash->totals.errors++;
	if (atomic_dec_and_test(&fr->holders))
		list_add_tail(&fr->done, done);
}

static void flash_collect(struct flash *flash, struct list_head *done)
{
	struct bf_completion completion;

	while (bf_collect(flash->model, &completion))
		flash_finish(flash->by_tag[completion.tag], flash_status(completion.status), done);
}

/* ---- without the lock ---- */

static void flash_complete_all(struct list_head *done)
{
	struct flash_request *fr, *next;

	list_for_each_entry_safe(fr, next, done, done)
		blk_mq_complete_request(blk_mq_rq_from_pdu(fr));
}

/**
 * flash_timer - the device's interrupt
 * @timer: of the device
 *
 * Return: HRTIMER_NORESTART; it is armed again when the model has more work.
 */
enum hrtimer_restart flash_timer(struct hrtimer *timer)
{
	struct flash *flash = container_of(timer, struct flash, timer);
	LIST_HEAD(done);
	u64 now, next;

	spin_lock(&flash->lock);
	flash->armed_ns = BF_NEVER;
	/* Events that became due meanwhile are handled in the same interrupt. */
	while ((next = bf_next_event(flash->model)) <= (now = ktime_get_ns())) {
		flash_count_event(flash, now - next);
		bf_run(flash->model, now);
		flash_collect(flash, &done);
		flash_count_busy(flash, now);
	}
	flash_arm(flash);
	spin_unlock(&flash->lock);
	flash_complete_all(&done);
	return HRTIMER_NORESTART;
}

/* ---- operations, in the order of a request's life ---- */

static int flash_op(const struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return BF_READ;
	case REQ_OP_WRITE:
		return BF_WRITE;
	case REQ_OP_FLUSH:
		return BF_FLUSH;
	case REQ_OP_DISCARD:
		return BF_DISCARD;
	default:
		return -EOPNOTSUPP;
	}
}

/* Prepares a request's data before the device accepts the request. */
static int flash_prepare(struct flash *flash, struct request *rq)
{
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);

	fr->staged = NULL;
	if (req_op(rq) != REQ_OP_WRITE || !flash->config.store)
		return 0;
	if (flash->config.power_cut)
		return flash_undo_stage(rq);
	return flash_store_reserve(&flash->store, flash_first_page(rq), flash_pages(rq));
}

/* Whether a request's data is copied while the device processes it. */
static bool flash_moves_data(const struct flash *flash, struct request *rq)
{
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);

	return flash->config.store && req_op(rq) != REQ_OP_FLUSH && !fr->staged;
}

static void flash_move_data(struct flash *flash, struct request *rq)
{
	if (req_op(rq) == REQ_OP_DISCARD)
		flash_store_discard(&flash->store, flash_first_page(rq), flash_pages(rq));
	else
		flash_store_transfer(&flash->store, rq);
}

static blk_status_t flash_submit(struct flash *flash, struct request *rq)
{
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);
	const struct bf_request request = {
		.tag = rq->tag,
		.page = req_op(rq) == REQ_OP_FLUSH ? 0 : flash_first_page(rq),
		.pages = req_op(rq) == REQ_OP_FLUSH ? 0 : flash_pages(rq),
		.op = flash_op(rq),
		.fua = !!(rq->cmd_flags & REQ_FUA),
	};

	lockdep_assert_held(&flash->lock);
	if (flash->busy_every && ++flash->nr_dispatched % flash->busy_every == 0) {
		flash->totals.busies++;
		return BLK_STS_RESOURCE;
	}
	if (flash->dead) {
		flash->totals.errors++;
		return BLK_STS_IOERR;
	}
	blk_mq_start_request(rq);
	fr->asked = flash->undo.writes;
	if (req_op(rq) == REQ_OP_FLUSH)
		flash->undo.asked = fr->asked;
	flash->by_tag[rq->tag] = rq;
	if (!bf_submit(flash->model, ktime_get_ns(), &request))
		return BLK_STS_OK;
	flash->by_tag[rq->tag] = NULL;
	flash->totals.errors++;
	return BLK_STS_IOERR;
}

static blk_status_t flash_queue_rq(struct blk_mq_hw_ctx *hctx,
				   const struct blk_mq_queue_data *bd)
{
	struct flash *flash = hctx->queue->queuedata;
	struct request *rq = bd->rq;
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);
	blk_status_t status;
	unsigned long flags;
	LIST_HEAD(done);
	bool moves;

	if (flash_op(rq) < 0)
		return BLK_STS_NOTSUPP;
	if (flash_prepare(flash, rq))
		return BLK_STS_RESOURCE;
	moves = flash_moves_data(flash, rq);
	atomic_set(&fr->holders, moves ? 2 : 1);
	spin_lock_irqsave(&flash->lock, flags);
	status = flash_submit(flash, rq);
	flash_collect(flash, &done);
	flash_count_busy(flash, ktime_get_ns());
	flash_arm(flash);
	spin_unlock_irqrestore(&flash->lock, flags);
	flash_complete_all(&done);
	if (status != BLK_STS_OK) {
		flash_undo_unstage(rq);
		return status;
	}
	if (moves) {
		flash_move_data(flash, rq);
		if (atomic_dec_and_test(&fr->holders))
			blk_mq_complete_request(rq);
	}
	return BLK_STS_OK;
}

static void flash_complete(struct request *rq)
{
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);

	flash_undo_unstage(rq);
	if (fr->requeue)
		blk_mq_requeue_request(rq, true);
	else
		blk_mq_end_request(rq, fr->status);
}

/* A hanging request is aborted; a slow one is awaited. */
static enum blk_eh_timer_return flash_timeout(struct request *rq)
{
	enum blk_eh_timer_return answer = BLK_EH_DONE;
	struct flash *flash = flash_of(rq);
	unsigned long flags;
	LIST_HEAD(done);

	spin_lock_irqsave(&flash->lock, flags);
	if (flash->by_tag[rq->tag] == rq) {
		if (bf_abort(flash->model, ktime_get_ns(), rq->tag))
			answer = BLK_EH_RESET_TIMER;
		else
			flash->totals.timeouts++;
		flash_collect(flash, &done);
		flash_arm(flash);
	}
	spin_unlock_irqrestore(&flash->lock, flags);
	flash_complete_all(&done);
	return answer;
}

const struct blk_mq_ops flash_mq_ops = {
	.queue_rq	= flash_queue_rq,
	.complete	= flash_complete,
	.timeout	= flash_timeout,
};

/* ---- faults ---- */

/**
 * flash_fault - injects a fault of the model
 * @flash: the device
 * @page: first page of its range
 * @pages: number of pages
 * @fault: bf_fault_read_error() or bf_fault_timeout()
 *
 * Return: 0, -ERANGE, or -ENOSPC when the model's limit is reached.
 */
int flash_fault(struct flash *flash, u64 page, u64 pages,
		int (*fault)(struct bf_device *model, u64 page, u64 pages))
{
	int error;

	spin_lock_irq(&flash->lock);
	error = fault(flash->model, page, pages);
	spin_unlock_irq(&flash->lock);
	if (error == BF_ERR_FULL)
		return -ENOSPC;
	return error ? -ERANGE : 0;
}

/**
 * flash_clear_faults - ends all faults but a power cut
 * @flash: the device; its hanging requests finish now
 */
void flash_clear_faults(struct flash *flash)
{
	LIST_HEAD(done);

	spin_lock_irq(&flash->lock);
	flash->requeue_every = 0;
	flash->error_every = 0;
	flash->busy_every = 0;
	bf_clear_faults(flash->model, ktime_get_ns());
	flash_collect(flash, &done);
	flash_arm(flash);
	spin_unlock_irq(&flash->lock);
	flash_complete_all(&done);
}

static void flash_lose(void *context, uint64_t page)
{
	struct flash *flash = context;

	flash_undo_revert(flash, page);
	flash->lost[flash->nr_lost++] = page;
}

/**
 * flash_cut_power - power fails
 * @flash: the device
 * @seed: determines the losses
 *
 * All requests fail, both those in the device and new ones, until the power is
 * restored.
 *
 * Return: 0, or -EOPNOTSUPP for a device that keeps no images.
 */
int flash_cut_power(struct flash *flash, u64 seed)
{
	LIST_HEAD(done);
	u32 tag;

	if (!flash->config.power_cut)
		return -EOPNOTSUPP;
	spin_lock_irq(&flash->lock);
	bf_run(flash->model, ktime_get_ns());
	flash_collect(flash, &done);
	flash->dead = true;
	flash->nr_lost = 0;
	bf_power_cut(flash->model, ktime_get_ns(), seed, flash_lose, flash);
	flash->totals.lost_pages += flash->nr_lost;
	for (tag = 0; tag < flash->config.depth; tag++) {
		struct request *rq = flash->by_tag[tag];

		if (!rq)
			continue;
		if (((struct flash_request *)blk_mq_rq_to_pdu(rq))->staged)
			flash_undo_tear(flash, rq, seed);
		flash_finish(rq, BLK_STS_IOERR, &done);
	}
	flash_undo_forget(&flash->undo);
	flash_arm(flash);
	spin_unlock_irq(&flash->lock);
	flash_complete_all(&done);
	return 0;
}

/**
 * flash_new_times - changes the times of a device in use
 * @flash: the device
 * @times: its parameters; those that determine its memory must be unchanged
 *
 * Return: 0, or -EINVAL.
 */
int flash_new_times(struct flash *flash, const struct bf_params *times)
{
	int error;

	/* The limits of the block layer stay. */
	if (times->write_cache != flash->config.model.write_cache)
		return -EINVAL;
	spin_lock_irq(&flash->lock);
	error = bf_reconfigure(flash->model, times);
	if (!error)
		flash->config.model = *times;
	spin_unlock_irq(&flash->lock);
	return error ? -EINVAL : 0;
}
