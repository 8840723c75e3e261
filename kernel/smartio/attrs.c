// SPDX-License-Identifier: GPL-2.0
/*
 * Files of the SmartIO scheduler: tunables and counters in sysfs
 * (queue/iosched), state and learned values in debugfs (block/DEVICE/sched).
 */
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include "smartio.h"

struct smartio_range {
	u32 min, max;
};

/* Re-evaluates waiting requests with the new settings. */
static void smartio_look_again(struct smartio_data *sd)
{
	spin_lock_irq(&sd->lock);
	sd->blocked = false;
	spin_unlock_irq(&sd->lock);
	blk_mq_run_hw_queues(sd->q, true);
}

static int smartio_parse(const char *page, struct smartio_range range, u32 *value)
{
	if (kstrtou32(page, 10, value))
		return -EINVAL;
	return *value < range.min || *value > range.max ? -EINVAL : 0;
}

#define SMARTIO_TUNABLE(_name, _field, _unit, _min, _max)				\
static ssize_t smartio_##_name##_show(struct elevator_queue *eq, char *page)		\
{											\
	struct smartio_data *sd = eq->elevator_data;					\
											\
	return sysfs_emit(page, "%llu\n", div_u64((u64)sd->_field, _unit));		\
}											\
											\
static ssize_t smartio_##_name##_store(struct elevator_queue *eq, const char *page,	\
				       size_t count)					\
{											\
	const struct smartio_range range = { _min, _max };				\
	struct smartio_data *sd = eq->elevator_data;					\
	u32 value;									\
	int error = smartio_parse(page, range, &value);					\
											\
	if (error)									\
		return error;								\
	spin_lock_irq(&sd->lock);							\
	sd->_field = (u64)value * (_unit);						\
	spin_unlock_irq(&sd->lock);							\
	smartio_look_again(sd);								\
	return count;									\
}

SMARTIO_TUNABLE(slice_ms, slice_ns, NSEC_PER_MSEC, 1, 10000)
SMARTIO_TUNABLE(hold_max_us, hold_max_ns, NSEC_PER_USEC, 0, 10000)
SMARTIO_TUNABLE(quantum_requests, quantum, 1, 1, 1024)
SMARTIO_TUNABLE(write_share_percent, write_share_percent, 1, 1, 100)
SMARTIO_TUNABLE(read_reserve_percent, read_reserve_percent, 1, 0, 75)
#undef SMARTIO_TUNABLE

/* Names of the counters, in the order of the struct; dispatched writes wait for nothing. */
static const char *const smartio_counter_names[] = {
	"dispatched_reads", "dispatched_writes_urgent", "dispatched_writes_own",
	"dispatched_writes_bulk", "dispatched_trims", NULL, "waits_cap", "waits_hold",
	"merged", "expired", "requeued", "reads_held_for", "timer_fires",
};

static ssize_t smartio_counters_show(struct elevator_queue *eq, char *page)
{
	struct smartio_data *sd = eq->elevator_data;
	u64 values[ARRAY_SIZE(smartio_counter_names)];
	ssize_t length = 0;
	u32 i;

	BUILD_BUG_ON(sizeof(values) != sizeof(sd->counters));
	spin_lock_irq(&sd->lock);
	memcpy(values, &sd->counters, sizeof(values));
	spin_unlock_irq(&sd->lock);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		if (smartio_counter_names[i])
			length += sysfs_emit_at(page, length, "%s %llu\n",
						smartio_counter_names[i], values[i]);
	return length;
}

#define SMARTIO_ATTR(name) __ATTR(name, 0644, smartio_##name##_show, smartio_##name##_store)

struct elv_fs_entry smartio_attrs[] = {
	SMARTIO_ATTR(slice_ms),
	SMARTIO_ATTR(hold_max_us),
	SMARTIO_ATTR(quantum_requests),
	SMARTIO_ATTR(write_share_percent),
	SMARTIO_ATTR(read_reserve_percent),
	__ATTR(counters, 0444, smartio_counters_show, NULL),
	__ATTR_NULL
};

/* ---- debugfs ---- */

#ifdef CONFIG_BLK_DEBUG_FS
static int smartio_state_show(void *data, struct seq_file *m)
{
	struct request_queue *q = data;
	struct smartio_data *sd = q->elevator->elevator_data;
	u64 now = ktime_get_ns();

	spin_lock_irq(&sd->lock);
	seq_printf(m, "waiting_reads %u\n", sd->nr_waiting[SMARTIO_READ]);
	seq_printf(m, "waiting_writes_urgent %u\n", sd->nr_waiting[SMARTIO_URGENT]);
	seq_printf(m, "waiting_writes_own %u\n", sd->nr_waiting[SMARTIO_OWN]);
	seq_printf(m, "waiting_writes_bulk %u\n", sd->nr_waiting[SMARTIO_BULK]);
	seq_printf(m, "waiting_trims %u\n", sd->nr_waiting[SMARTIO_TRIM]);
	seq_printf(m, "reads_in_flight %u\n", smartio_reads(sd, 2));
	seq_printf(m, "writes_in_flight %u\n", sd->urgent_in_flight + sd->background.in_flight);
	seq_printf(m, "blocked %u\n", sd->blocked);
	seq_printf(m, "timer_armed %u\n", sd->timer_armed);
	seq_printf(m, "credit_ns %llu\n", sd->background.credit_ns);
	seq_printf(m, "write_ns %u\n", sd->background.took_ns);
	seq_printf(m, "hold_left_ns %llu\n",
		   sd->reader.until_ns > now ? sd->reader.until_ns - now : 0);
	seq_printf(m, "pause_ns %u\n", sd->reader.pause_ns);
	seq_printf(m, "hits %u/256\n", sd->reader.hits);
	seq_printf(m, "write_tags %u\n", smartio_write_tags(sd, false));
	spin_unlock_irq(&sd->lock);
	return 0;
}

const struct blk_mq_debugfs_attr smartio_queue_debugfs_attrs[] = {
	{ "state", 0400, smartio_state_show },
	{ },
};
#endif
