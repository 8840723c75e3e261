/* SPDX-License-Identifier: GPL-2.0-only */
/* Life cycle of threads: born, runnable, running, waiting, died; and their direct reclaim. */
#ifndef BRISK_PROBES_THREADS_H
#define BRISK_PROBES_THREADS_H

#include "group.h"

/* include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE 0x0002u
#define TASK_DEAD 0x0080u
#define PF_IO_WORKER 0x00000010u
#define PF_USER_WORKER 0x00004000u
#define PF_KTHREAD 0x00200000u
/* arch/x86/include/asm/thread_info.h: in a system call of a 32-bit program, with other numbers. */
#define TS_COMPAT 0x0002u
/* arch/arm64: the same. */
#define PSR_MODE32_BIT 0x00000010ull

/* The system call of a thread, -1 when it is in none or in one with a number of another table. */
INLINE s32 system_call_of(struct task_struct *task)
{
	struct pt_regs *regs;

	/* These have no user registers. */
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_x86)
	/* Set to -1 at every kernel entry that is not a system call. */
	if (task->thread_info.status & TS_COMPAT)
		return -1;
	return (s32)regs->orig_ax;
#else
	if (regs->pstate & PSR_MODE32_BIT)
		return -1;
	return regs->syscallno;
#endif
}

/* A bit field cannot be read by name: its position differs between kernels. */
INLINE bool waits_for_io(struct task_struct *task)
{
	const u8 *word = (const u8 *)task + __builtin_preserve_field_info(task->in_iowait, FIELD_BYTE_OFFSET);
	u64 value = 0;

	bpf_probe_read_kernel(&value, __builtin_preserve_field_info(task->in_iowait, FIELD_BYTE_SIZE), word);
	value <<= __builtin_preserve_field_info(task->in_iowait, FIELD_LSHIFT_U64);
	value >>= __builtin_preserve_field_info(task->in_iowait, FIELD_RSHIFT_U64);
	return value;
}

INLINE void leaves(u64 now, struct task_struct *task, bool preempted, u32 state)
{
	struct waiting *record;
	s32 call;
	u16 flags;

	if (state & TASK_DEAD) {
		say(now, task->pid, KIND_DIED);
		return;
	}
	/* Preempted or woken between setting its state and waiting: it is still runnable. */
	if (preempted || !state) {
		say(now, task->pid, KIND_RUNNABLE);
		return;
	}
	call = system_call_of(task);
	flags = waits_for_io(task) ? WAITING_IO : 0;
	if (state & TASK_UNINTERRUPTIBLE)
		flags |= WAITING_UNINTERRUPTIBLE;
	if (call >= 0)
		flags |= WAITING_IN_CALL;
	record = new_record(struct waiting, now, task->pid, KIND_WAITING, flags);
	if (!record)
		return;
	record->system_call = call;
	record->zero = 0;
	submit(record);
}

INLINE void switches(u64 *ctx, struct task_struct *prev, u32 state)
{
	struct task_struct *next = (struct task_struct *)ctx[2];
	bool leaving = watched(prev), coming = watched(next);
	u64 now;

	if (!leaving && !coming)
		return;
	now = bpf_ktime_get_ns();
	if (leaving)
		leaves(now, prev, (u8)ctx[0], state);
	if (coming)
		say(now, next->pid, KIND_RUNNING);
}

/* Since Linux 5.18 the tracepoint passes the state that the scheduler used. */
SEC("tp_btf/sched_switch")
int switch_with_state(u64 *ctx)
{
	switches(ctx, (struct task_struct *)ctx[1], (u32)ctx[3]);
	return 0;
}

/* Before, only the thread's current state is available, which a waker may have changed. */
SEC("tp_btf/sched_switch")
int switch_without_state(u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1];

	switches(ctx, prev, prev->__state);
	return 0;
}

INLINE int wakes(struct task_struct *task)
{
	if (!watched(task))
		return 0;
	/* Woken before it left the processor: it stays running. */
	if (field_exists(struct task_struct, on_cpu) && task->on_cpu)
		return 0;
	say(bpf_ktime_get_ns(), task->pid, KIND_RUNNABLE);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int woken(u64 *ctx)
{
	return wakes((struct task_struct *)ctx[0]);
}

SEC("tp_btf/sched_wakeup_new")
int woken_new(u64 *ctx)
{
	return wakes((struct task_struct *)ctx[0]);
}

INLINE void appears(struct task_struct *task, u32 parent_tid, u16 kind, u16 flags)
{
	struct born *record = new_record(struct born, bpf_ktime_get_ns(), task->pid, kind, flags);

	if (!record)
		return;
	record->pid = task->tgid;
	record->parent_tid = parent_tid;
	bpf_probe_read_kernel(record->name, sizeof(record->name), task->comm);
	submit(record);
}

SEC("tp_btf/sched_process_fork")
int forked(u64 *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx[0];
	struct task_struct *child = (struct task_struct *)ctx[1];

	if (watched(child))
		appears(child, parent->pid, KIND_BORN, 0);
	return 0;
}

/* A process moved to another group; its group is already the new one. */
SEC("tp_btf/cgroup_attach_task")
int moved(u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[2];
	struct moved_out *record;

	if (watched(task)) {
		appears(task, task->real_parent->pid, KIND_MOVED_IN, task->on_cpu ? MOVED_IN_RUNNING : 0);
		return 0;
	}
	record = new_record(struct moved_out, bpf_ktime_get_ns(), task->pid, KIND_MOVED_OUT, 0);
	if (record) {
		record->pid = task->tgid;
		record->whole = (u8)ctx[3];
		submit(record);
	}
	return 0;
}

INLINE void takes_name(struct task_struct *task, u16 kind, u32 old_tid, const char *name)
{
	struct named *record = new_record(struct named, bpf_ktime_get_ns(), task->pid, kind, 0);

	if (!record)
		return;
	record->old_tid = old_tid;
	record->zero = 0;
	bpf_probe_read_kernel_str(record->name, sizeof(record->name), name);
	submit(record);
}

SEC("tp_btf/sched_process_exec")
int executed(u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];

	if (watched(task))
		takes_name(task, KIND_EXEC, (u32)ctx[1], task->comm);
	return 0;
}

SEC("tp_btf/task_rename")
int renamed(u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];

	if (watched(task))
		takes_name(task, KIND_RENAMED, task->pid, (const char *)ctx[1]);
	return 0;
}

INLINE int reclaims(u16 kind)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (watched(task))
		say(bpf_ktime_get_ns(), task->pid, kind);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int reclaim_began(void *ctx)
{
	return reclaims(KIND_RECLAIM_BEGAN);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int reclaim_ended(void *ctx)
{
	return reclaims(KIND_RECLAIM_ENDED);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int group_reclaim_began(void *ctx)
{
	return reclaims(KIND_RECLAIM_BEGAN);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int group_reclaim_ended(void *ctx)
{
	return reclaims(KIND_RECLAIM_ENDED);
}

#endif
