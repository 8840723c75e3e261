// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that are written to a swap area and read from it, and faults of pages that are not mapped.
 *
 * Reclaim is done by any process for any other. Whose a page is, is therefore taken from the page: the memory group
 * that is charged, and its place in its mapping.
 */
#include "pages.h"

/* Set by the loader: device number of the swap area, as the kernel encodes it. */
const volatile u32 watched_device;

/* The flags of folio->memcg_data, in its lowest bits. */
#define MEMCG_DATA_FLAGS 7ul

INLINE u64 group_of(struct page *head)
{
	unsigned long data = 0;
	struct mem_cgroup *memcg;
	struct cgroup *group;

	if (field_exists(struct folio, memcg_data))
		data = read((struct folio *)head, memcg_data);
	else if (field_exists(struct page, memcg_data))
		data = read(head, memcg_data);
	memcg = (struct mem_cgroup *)(data & ~MEMCG_DATA_FLAGS);
	if (!memcg)
		return 0;
	group = read(memcg, css.cgroup);
	if (!group)
		return 0;
	return read(read(group, kn), id);
}

SEC("tp_btf/block_bio_queue")
int swap_queued(u64 *ctx)
{
	struct bio *bio = (struct bio *)ctx[0];
	struct task_struct *task = bpf_get_current_task_btf();
	u32 opf = bio->bi_opf, op = opf & REQ_OP_MASK, bytes = bio->bi_iter.bi_size;
	struct swap_pages *record;
	struct first_page first;
	u64 entry, group;
	u16 flags;

	if (bio->bi_bdev->bd_dev != watched_device || !bytes)
		return 0;
	if (op != REQ_OP_READ && !(op == REQ_OP_WRITE && has_flag(opf, __REQ_SWAP)))
		return 0;
	first = first_page_of(bio);
	if (!first.head || !first.swap_backed)
		return 0;
	/* A page that is being swapped in has no owner yet; one with an owner is a buffer of direct I/O. */
	if (op == REQ_OP_READ && first.mapping)
		return 0;
	flags = op == REQ_OP_WRITE ? SWAP_OUT : 0;
	if ((unsigned long)first.mapping & PAGE_MAPPING_FLAGS)
		flags |= SWAP_ANONYMOUS;
	if (field_exists(struct folio, swap))
		entry = read((struct folio *)first.head, swap.val);
	else
		entry = read(first.head, private);
	entry += first.number;
	group = group_of(first.head);
	record = new_record(struct swap_pages, bpf_ktime_get_ns(), task->pid, KIND_SWAP_PAGES, flags);
	if (!record)
		return 0;
	record->entry = entry;
	record->group = group;
	record->index = first.index + first.number;
	record->pages = bytes / page_bytes;
	record->pid = task->tgid;
	submit(record);
	return 0;
}

/* X86_PF_PROT: the page is there, and its rights do not suffice. */
#define FAULT_OF_RIGHTS 1ul

/* The memory group that the current thread charges: of the process, in either version of control groups. */
INLINE struct cgroup_subsys_state *own_memory(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 first = (u64)task->cgroups + field_offset(struct css_set, subsys);
	u64 at = enum_value(enum cgroup_subsys_id, memory_cgrp_id) * sizeof(void *);
	struct cgroup_subsys_state *css = NULL;

	bpf_probe_read_kernel(&css, sizeof(css), (void *)(first + at));
	return css;
}

INLINE u64 id_of(struct cgroup_subsys_state *css)
{
	struct cgroup *group = css ? read(css, cgroup) : NULL;

	return group ? read(read(group, kn), id) : 0;
}

INLINE int fault(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 address = as_number(&ctx[0]), error_code = as_number(&ctx[2]);
	struct swap_fault *record;

	if (error_code & FAULT_OF_RIGHTS)
		return 0;
	record = new_record(struct swap_fault, bpf_ktime_get_ns(), task->pid, KIND_SWAP_FAULT, 0);
	if (!record)
		return 0;
	record->page = address / page_bytes;
	record->group = id_of(own_memory());
	record->pid = task->tgid;
	record->zero = 0;
	submit(record);
	return 0;
}

/* Before the fault is handled. */
SEC("tp_btf/page_fault_user")
int user_fault(u64 *ctx)
{
	return fault(ctx);
}

/* In a system call that reads or writes memory of the process. */
SEC("tp_btf/page_fault_kernel")
int kernel_fault(u64 *ctx)
{
	return fault(ctx);
}

/* The helpers that read the kernel require this licence. */
char _license[] SEC("license") = "GPL";
