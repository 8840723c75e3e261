/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Minimal replacement of the kernel's interfaces, with which insert.c and sched.c
 * are compiled for tests outside of the kernel. Tests set the time,
 * there are no locks (one thread has one scheduler), sorted lists replace trees,
 * and merging is done only on request. build.rs creates files with the kernel's
 * names that include this one.
 */
#ifndef SMARTIO_HOST_KERNEL_H
#define SMARTIO_HOST_KERNEL_H

#include <stddef.h>

#include "smartio_policy.h"

#define KERNEL_VERSION(a, b, c)	(((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 12, 0)
#define BITS_PER_LONG		64
#define NSEC_PER_MSEC		1000000ull

typedef unsigned char u8;
typedef unsigned short u16;
typedef u64 sector_t;
typedef u32 blk_opf_t, blk_insert_t, dev_t;
typedef int pid_t;

/* ---- numbers ---- */

#define BIT(n)			(1u << (n))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, value)	((x) = (value))
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

static inline u32 __ffs(u32 x)
{
	return __builtin_ctz(x);
}

static inline u32 hash_32(u32 value, u32 bits)
{
	return value * 0x61c88647u >> (32 - bits);
}

/* ---- time, set by tests; a jiffy is four milliseconds ---- */

extern _Thread_local u64 host_now_ns;

#define JIFFY_NS		4000000ull
#define jiffies			((unsigned long)(host_now_ns / JIFFY_NS))
#define HZ			(1000000000ull / JIFFY_NS)
#define time_before(a, b)	((long)((a) - (b)) < 0)

static inline unsigned long nsecs_to_jiffies(u64 ns)
{
	return ns / JIFFY_NS;
}

static inline u64 ktime_get_ns(void)
{
	return host_now_ns;
}

enum hrtimer_restart { HRTIMER_NORESTART };

#define HRTIMER_MODE_ABS	0

struct hrtimer {
	u64 at_ns;
	bool armed;
};

static inline u64 ns_to_ktime(u64 ns)
{
	return ns;
}

static inline void hrtimer_start(struct hrtimer *timer, u64 at_ns, int mode)
{
	(void)mode;
	timer->at_ns = at_ns;
	timer->armed = true;
}

/* ---- locks ---- */

typedef struct {
	int nobody;
} spinlock_t;

#define spin_lock_irq(lock)			((void)(lock))
#define spin_unlock_irq(lock)			((void)(lock))
#define spin_lock_irqsave(lock, flags)		((void)(lock), (flags) = 0)
#define spin_unlock_irqrestore(lock, flags)	((void)(lock), (void)(flags))
#define lockdep_assert_held(lock)		((void)(lock))

/* ---- lists ---- */

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD(name)			struct list_head name = { &(name), &(name) }
#define list_first_entry(head, type, member) container_of((head)->next, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_empty_careful		list_empty

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	entry->next = head->next;
	entry->prev = head;
	head->next->prev = entry;
	head->next = entry;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	list_add(entry, head->prev);
}

static inline void list_del_init(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	INIT_LIST_HEAD(entry);
}

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	list_del_init(entry);
	list_add(entry, head);
}

/* ---- block layer ---- */

struct rb_node {
	struct list_head order;
	bool in;
};

struct rb_root {
	struct list_head order;
};

#define RB_EMPTY_NODE(node)	(!(node)->in)

enum {
	REQ_OP_READ = 0,
	REQ_OP_WRITE = 1,
	REQ_OP_DISCARD = 3,
	REQ_OP_SECURE_ERASE = 5,
	REQ_OP_ZONE_APPEND = 7,
	REQ_OP_WRITE_ZEROES = 9,
	REQ_OP_MASK = 0xff,
	REQ_SYNC = 1 << 11,
	REQ_META = 1 << 12,
	REQ_PRIO = 1 << 13,
	REQ_IDLE = 1 << 16,
	REQ_FUA = 1 << 17,
	REQ_SWAP = 1 << 23,
};

enum { IOPRIO_CLASS_NONE, IOPRIO_CLASS_RT, IOPRIO_CLASS_BE, IOPRIO_CLASS_IDLE };

enum elv_merge {
	ELEVATOR_NO_MERGE,
	ELEVATOR_FRONT_MERGE,
	ELEVATOR_BACK_MERGE,
	ELEVATOR_DISCARD_MERGE,
};

#define IOPRIO_BE_NORM		4
#define IOPRIO_PRIO_CLASS(prio)	((prio) >> 13)
#define IOPRIO_PRIO_LEVEL(prio)	((prio) & 7)
#define BLK_MQ_INSERT_AT_HEAD	1
#define RQF_STARTED		1
#define RQF_USE_SCHED		2
#define PF_KTHREAD		1

struct bio {
	blk_opf_t bi_opf;
	struct {
		u32 bi_size;
	} bi_iter;
};

struct elevator_queue {
	void *elevator_data;
};

struct request_queue {
	struct elevator_queue *elevator;
	struct request *last_merge;
	struct request *merges;	/* target of the next bio's merge */
	struct request *joins;	/* request that then merges as well, or NULL */
	unsigned long nr_requests;
	bool run;
};

struct blk_mq_hw_ctx {
	struct request_queue *queue;
	bool restart;
};

struct blk_mq_alloc_data {
	struct request_queue *q;
	u32 shallow_depth;
};

struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	struct list_head queuelist;
	struct rb_node rb_node;
	struct bio *bio, *biotail;
	struct {
		void *priv[2];
	} elv;
	u64 start_time_ns;
	sector_t sector;
	u32 bytes;
	blk_opf_t cmd_flags;
	u32 rq_flags;
	u16 ioprio;
};

struct task_struct {
	pid_t pid;
	u32 flags;
};

extern _Thread_local struct task_struct host_task;

#define current				(&host_task)
#define op_is_write(opf)		((opf) & 1)
#define req_op(rq)		((rq)->cmd_flags & REQ_OP_MASK)
#define blk_rq_bytes(rq)		((rq)->bytes)
#define req_get_ioprio(rq)		((rq)->ioprio)
#define get_current_ioprio()		0
#define trace_block_rq_insert(rq)	((void)(rq))

static inline void blk_mq_sched_mark_restart_hctx(struct blk_mq_hw_ctx *hctx)
{
	hctx->restart = true;
}

static inline void blk_mq_run_hw_queues(struct request_queue *q, bool async)
{
	(void)async;
	q->run = true;
}

/* A bio merges as a test requests; the block layer's own merging is tested in the guest. */
#define rq_mergeable(rq)			false
#define elv_rqhash_add(q, rq)			((void)(q), (void)(rq))
#define elv_rqhash_del(q, rq)			((void)(q), (void)(rq))
#define elv_bio_merge_ok(rq, bio)		((void)(rq), (void)(bio), false)
#define bio_end_sector(bio)			((void)(bio), (sector_t)0)
#define blk_discard_mergable(rq)		((void)(rq), false)
#define blk_mq_sched_try_insert_merge(q, rq, free) ((void)(q), (void)(rq), (void)(free), false)
bool blk_mq_sched_try_merge(struct request_queue *q, struct bio *bio, unsigned int segs,
			    struct request **free);
#define blk_mq_free_request(rq)			((void)(rq))
#define blk_mq_free_requests(list)		((void)(list))

struct request *elv_rb_find(struct rb_root *root, sector_t sector);
void elv_rb_add(struct rb_root *root, struct request *rq);
void elv_rb_del(struct rb_root *root, struct request *rq);
struct request *elv_rb_latter_request(struct request_queue *q, struct request *rq);

struct elv_fs_entry {
	const char *name;
};

#endif
