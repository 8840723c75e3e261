/* SPDX-License-Identifier: GPL-2.0-only */
/* The watched threads. */
#ifndef BRISK_PROBES_GROUP_H
#define BRISK_PROBES_GROUP_H

#include "ring.h"

/* Groups below the watched one are watched too, down to this depth. */
#define DEPTH_BELOW 4

/* Set by the loader. */
const volatile u64 watched_group;	/* id of the control group: inode of its directory */
const volatile u32 watched_level;	/* lower bound of its depth in the tree of groups */

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

INLINE void say(u64 at_ns, u32 tid, u16 kind)
{
	struct plain *record = new_record(struct plain, at_ns, tid, kind, 0);

	if (record)
		submit(record);
}

#endif
