// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler outside of the kernel, for tests of dispatch: the module's own
 * insert.c and sched.c; the test acts as block layer, device and clock.
 */
#include "smartio.h"

void *calloc(size_t count, size_t bytes);
void free(void *memory);

#define HOST_REQUESTS	256
#define HOST_NONE	(~0u)

_Thread_local u64 host_now_ns;
_Thread_local struct task_struct host_task;

struct host {
	struct smartio_data sd;
	struct request_queue q;
	struct elevator_queue eq;
	struct blk_mq_hw_ctx hctx;
	struct request requests[HOST_REQUESTS];
};

/* As in lib.rs. */
struct host_tunables {
	u64 slice_ns;
	u64 hold_max_ns;
	u32 quantum;
	u32 write_share_percent;
};

struct host_request {
	u64 sector;
	u32 bytes;
	u32 op;
	u32 pid;
	u16 ioprio;
	bool awaited;
	bool at_head;
};

struct host *host_new(const struct host_tunables *tunables, u32 depth);
void host_free(struct host *host);
void host_insert(struct host *host, u64 now, u32 id, const struct host_request *request);
u32 host_dispatch(struct host *host, u64 now);
bool host_complete(struct host *host, u64 now, u32 id);
bool host_requeue(struct host *host, u64 now, u32 id);
bool host_merge(struct host *host, u64 now, u32 id, u32 next, u32 bytes, bool awaited);
u64 host_timer_ns(const struct host *host);
void host_fire(struct host *host, u64 now);

/* ---- replacement of trees ---- */

static struct request *host_sorted(struct list_head *order)
{
	return container_of(order, struct request, rb_node.order);
}

void elv_rb_add(struct rb_root *root, struct request *rq)
{
	struct list_head *at = root->order.prev;

	while (at != &root->order && host_sorted(at)->sector > rq->sector)
		at = at->prev;
	list_add(&rq->rb_node.order, at);
	rq->rb_node.in = true;
}

void elv_rb_del(struct rb_root *root, struct request *rq)
{
	(void)root;
	list_del_init(&rq->rb_node.order);
	rq->rb_node.in = false;
}

struct request *elv_rb_find(struct rb_root *root, sector_t sector)
{
	struct list_head *at;

	for (at = root->order.next; at != &root->order; at = at->next)
		if (host_sorted(at)->sector == sector)
			return host_sorted(at);
	return NULL;
}

/* The heads of the lists are in the scheduler's data, requests elsewhere. */
struct request *elv_rb_latter_request(struct request_queue *q, struct request *rq)
{
	struct smartio_data *sd = q->elevator->elevator_data;
	struct list_head *next = rq->rb_node.order.next;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sd->sorted); i++)
		if (next == &sd->sorted[i].order)
			return NULL;
	return host_sorted(next);
}

/* ---- life of the scheduler, as in main.c ---- */

struct host *host_new(const struct host_tunables *tunables, u32 depth)
{
	struct host *host = calloc(1, sizeof(*host));
	struct smartio_data *sd;
	u32 i, kind;

	if (!host)
		return NULL;
	sd = &host->sd;
	sd->q = &host->q;
	sd->slice_ns = tunables->slice_ns;
	sd->hold_max_ns = tunables->hold_max_ns;
	sd->quantum = tunables->quantum;
	sd->write_share_percent = tunables->write_share_percent;
	sd->read_reserve_percent = SMARTIO_READ_RESERVE;
	sd->background.credit_ns = SMARTIO_CREDIT_NS;
	host->q.nr_requests = depth;
	INIT_LIST_HEAD(&sd->dispatch);
	for (i = 0; i < SMARTIO_NR_QUEUES; i++)
		for (kind = 0; kind < SMARTIO_NR_KINDS; kind++)
			INIT_LIST_HEAD(&sd->queues[i].fifo[kind]);
	for (i = 0; i < ARRAY_SIZE(sd->sorted); i++)
		INIT_LIST_HEAD(&sd->sorted[i].order);
	host->eq.elevator_data = sd;
	host->q.elevator = &host->eq;
	host->hctx.queue = &host->q;
	return host;
}

void host_free(struct host *host)
{
	free(host);
}

/* ---- life of a request ---- */

void host_insert(struct host *host, u64 now, u32 id, const struct host_request *request)
{
	struct request *rq = &host->requests[id];
	LIST_HEAD(list);

	host_now_ns = now;
	host_task.pid = request->pid;
	/* A requeued request is unchanged; one after a flush is inserted at the head. */
	if (!request->at_head || !rq->q) {
		*rq = (struct request) {
			.q = &host->q,
			.mq_hctx = &host->hctx,
			.start_time_ns = now,
			.sector = request->sector,
			.bytes = request->bytes,
			.cmd_flags = request->op | (request->awaited ? REQ_SYNC : 0),
			.rq_flags = RQF_USE_SCHED,
			.ioprio = request->ioprio,
		};
		smartio_prepare_request(rq);
	}
	list_add_tail(&rq->queuelist, &list);
	smartio_insert_requests(&host->hctx, &list, request->at_head ? SMARTIO_AT_HEAD : 0);
}

/* The next request, or HOST_NONE. */
u32 host_dispatch(struct host *host, u64 now)
{
	struct request *rq;

	host_now_ns = now;
	if (!smartio_has_work(&host->hctx))
		return HOST_NONE;
	rq = smartio_dispatch_request(&host->hctx);
	return rq ? (u32)(rq - host->requests) : HOST_NONE;
}

static bool host_restarts(struct host *host)
{
	bool restart = host->hctx.restart;

	host->hctx.restart = false;
	return restart;
}

/* Whether the block layer polls for more requests now. */
bool host_complete(struct host *host, u64 now, u32 id)
{
	struct request *rq = &host->requests[id];

	host_now_ns = now;
	smartio_completed_request(rq, now);
	smartio_finish_request(rq);
	return host_restarts(host);
}

/* The driver requeues it; host_insert() then inserts it at the head. */
bool host_requeue(struct host *host, u64 now, u32 id)
{
	host_now_ns = now;
	smartio_requeue_request(&host->requests[id]);
	return host_restarts(host);
}

bool blk_mq_sched_try_merge(struct request_queue *q, struct bio *bio, unsigned int segs,
			    struct request **free)
{
	struct request *rq = q->merges, *next = q->joins;

	rq->bytes += segs;
	if (next) {
		rq->bytes += next->bytes;
		smartio_requests_merged(q, rq, next);
		*free = next;
	} else {
		smartio_request_merged(q, rq, ELEVATOR_BACK_MERGE);
	}
	q->last_merge = rq;
	return true;
}

/*
 * A bio merges into a waiting write, which then merges with the next one, unless
 * that is HOST_NONE. Returns whether the block layer polls for more requests.
 */
bool host_merge(struct host *host, u64 now, u32 id, u32 next, u32 bytes, bool awaited)
{
	struct bio bio = { .bi_opf = REQ_OP_WRITE | (awaited ? REQ_SYNC : 0) };

	host_now_ns = now;
	host->q.run = false;
	host->q.merges = &host->requests[id];
	host->q.joins = next == HOST_NONE ? NULL : &host->requests[next];
	smartio_bio_merge(&host->q, &bio, bytes);
	return host->q.run;
}

u64 host_timer_ns(const struct host *host)
{
	return host->sd.timer.armed ? host->sd.timer.at_ns : SMARTIO_NEVER;
}

void host_fire(struct host *host, u64 now)
{
	host_now_ns = now;
	host->sd.timer.armed = false;
	smartio_timer(&host->sd.timer);
}
