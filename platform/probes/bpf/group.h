/* SPDX-License-Identifier: GPL-2.0-only */
/* The watched threads, and new records. */
#ifndef BRISK_PROBES_GROUP_H
#define BRISK_PROBES_GROUP_H

#include "record.h"

/* Groups below the watched one are watched too, down to this depth. */
#define DEPTH_BELOW 4

/* Set by the loader. */
const volatile u64 watched_group;	/* id of the control group: inode of its directory */
const volatile u32 watched_level;	/* lower bound of its depth in the tree of groups */

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_RINGBUF);
	MAP_NUMBER(max_entries, 1 << 24);
} ring SEC(".maps");

/* [0]: records that did not fit into the buffer. */
struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} lost SEC(".maps");

INLINE bool in_watched_group(struct cgroup *group)
{
	if (group->kn->id == watched_group)
		return true;
#pragma unroll
	for (int i = 0; i < DEPTH_BELOW; i++) {
		struct cgroup_subsys_state *parent;

		/* Same depth as the watched group, but not equal: the usual exit for unwatched threads. */
		if (group->level <= (int)watched_level)
			return false;
		parent = group->self.parent;
		if (!parent)
			return false;
		group = parent->cgroup;
		if (group->kn->id == watched_group)
			return true;
	}
	return false;
}

INLINE bool watched(struct task_struct *task)
{
	return in_watched_group(task->cgroups->dfl_cgrp);
}

INLINE void count_lost(void)
{
	u32 zero = 0;
	u64 *count = bpf_map_lookup_elem(&lost, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
}

/*
 * A record of `type` with its head filled in, or NULL, which has been counted. The caller must check the pointer first:
 * the check is then merged with the one in here. With two checks, the verifier of Linux 6.1 follows an impossible path.
 */
#define new_record(type, at_ns_, tid_, kind_, flags_)                           \
	({                                                                      \
		type *record_ = bpf_ringbuf_reserve(&ring, sizeof(type), 0);    \
		if (record_) {                                                  \
			record_->head.at_ns = (at_ns_);                         \
			record_->head.tid = (tid_);                             \
			record_->head.kind = (kind_);                           \
			record_->head.flags = (flags_);                         \
		} else {                                                        \
			count_lost();                                           \
		}                                                               \
		record_;                                                        \
	})

/* No wake-up: user space polls, which is cheaper. */
#define submit(record) bpf_ringbuf_submit((record), BPF_RB_NO_WAKEUP)

INLINE void say(u64 at_ns, u32 tid, u16 kind)
{
	struct plain *record = new_record(struct plain, at_ns, tid, kind, 0);

	if (record)
		submit(record);
}

#endif
