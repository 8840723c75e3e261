/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests at the block layer.
 *
 * A request is a bio as its first submitter made it. Bios that a stacking driver (dm, md, zoned) derives from it are
 * submitted while that driver runs, and are ignored, as the same bytes would count twice. If the block layer splits a
 * bio, the completion of its last part in order of sectors counts. Device and sector are those of the whole disk, not
 * of the partition. Before Linux 6.3, zram and pmem process single pages of swap outside of the block layer; these are
 * not seen.
 */
#ifndef BRISK_PROBES_REQUESTS_H
#define BRISK_PROBES_REQUESTS_H

#include "files.h"
#include "pages.h"

/* More of enum req_op (include/linux/blk_types.h). */
#define REQ_OP_FLUSH 2u
#define REQ_OP_DISCARD 3u
#define REQ_OP_SECURE_ERASE 5u
#define REQ_OP_ZONE_APPEND 7u
#define REQ_OP_WRITE_ZEROES 9u

#define S_IFMT 0170000u
#define S_IFBLK 0060000u

/* More than any device accepts at once. */
#define BIOS_IN_REQUEST 1024

struct in_flight {
	u64 sector;
	u32 device;
	u32 tid;
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
	MAP_NUMBER(max_entries, 16384);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct in_flight);
} in_flight SEC(".maps");

struct target {
	struct inode *inode;	/* NULL: not a file */
	u64 offset_bytes;
	bool swap;
};

/* Owner of a request's first page. */
INLINE struct target target_of(struct bio *bio)
{
	struct first_page first = first_page_of(bio);
	struct target target = {};
	struct inode *host;

	if (!first.head)
		return target;
	if (first.swap_backed) {
		/* A page that is being swapped in has no owner yet; one with an owner is a buffer of direct I/O. */
		target.swap = !first.mapping;
		return target;
	}
	if (!first.mapping || (unsigned long)first.mapping & PAGE_MAPPING_FLAGS)
		return target;
	host = read(first.mapping, host);
	/* The block device's own cache: the file system's metadata. */
	if (!host || (read(host, i_mode) & S_IFMT) == S_IFBLK)
		return target;
	target.inode = host;
	target.offset_bytes = (first.index + first.number) * page_bytes + first.offset_bytes;
	return target;
}

INLINE int operation_of(u32 opf, u32 bytes, bool swap_page)
{
	bool swap = has_flag(opf, __REQ_SWAP);

	switch (opf & REQ_OP_MASK) {
	case REQ_OP_READ:
		return swap || swap_page ? OPERATION_SWAP_IN : OPERATION_READ;
	case REQ_OP_WRITE:
		if (!bytes && has_flag(opf, __REQ_PREFLUSH))
			return OPERATION_FLUSH;
		return swap ? OPERATION_SWAP_OUT : OPERATION_WRITE;
	case REQ_OP_ZONE_APPEND:
		return OPERATION_WRITE;
	case REQ_OP_FLUSH:
		return OPERATION_FLUSH;
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
	case REQ_OP_WRITE_ZEROES:
		return OPERATION_DISCARD;
	default:
		return -1;
	}
}

/* Not inlined, so that it is verified once and not for every bio of a request. */
__attribute__((noinline)) int ends(u64 key, u16 flags)
{
	struct in_flight *entry = bpf_map_lookup_elem(&in_flight, &key);
	struct completed *record;

	if (!entry)
		return 0;
	record = new_record(struct completed, bpf_ktime_get_ns(), entry->tid, KIND_COMPLETED, flags);
	if (record) {
		record->sector = entry->sector;
		record->device = entry->device;
		record->zero = 0;
		submit(record);
	}
	bpf_map_delete_elem(&in_flight, &key);
	return 0;
}

SEC("tp_btf/block_bio_queue")
int queued(u64 *ctx)
{
	struct bio *bio = (struct bio *)ctx[0];
	struct task_struct *task = bpf_get_current_task_btf();
	struct in_flight entry = {};
	struct target target = {};
	struct submitted *record;
	u64 key = as_number(&ctx[0]), now;
	u32 opf, op, bytes, file_device = 0;
	int operation;
	u16 flags;

	/* With a bio list, the thread is in a stacking driver. */
	if (!watched(task) || task->bio_list)
		return 0;
	opf = bio->bi_opf;
	op = opf & REQ_OP_MASK;
	bytes = bio->bi_iter.bi_size;
	if (bytes && (op == REQ_OP_READ || op == REQ_OP_WRITE || op == REQ_OP_ZONE_APPEND))
		target = target_of(bio);
	operation = operation_of(opf, bytes, target.swap);
	if (operation < 0)
		return 0;
	now = bpf_ktime_get_ns();
	flags = operation;
	if (has_flag(opf, __REQ_SYNC))
		flags |= SUBMITTED_SYNC;
	if (has_flag(opf, __REQ_RAHEAD))
		flags |= SUBMITTED_READ_AHEAD;
	if (target.inode) {
		struct super_block *super = read(target.inode, i_sb);

		flags |= SUBMITTED_FILE;
		file_device = read(super, s_dev);
		tell_path(now, target.inode, file_device);
	}
	entry.sector = bio->bi_iter.bi_sector;
	entry.device = bio->bi_bdev->bd_disk->part0->bd_dev;
	entry.tid = task->pid;
	/* The memory of a request that completed unseen may be reused by the next. */
	ends(key, COMPLETED_LATE);
	if (bpf_map_update_elem(&in_flight, &key, &entry, BPF_ANY)) {
		count_lost();
		return 0;
	}
	record = new_record(struct submitted, now, entry.tid, KIND_SUBMITTED, flags);
	if (!record) {
		bpf_map_delete_elem(&in_flight, &key);
		return 0;
	}
	record->sector = entry.sector;
	record->device = entry.device;
	record->bytes = bytes;
	record->inode = target.inode ? read(target.inode, i_ino) : 0;
	record->offset_bytes = target.offset_bytes;
	record->file_device = file_device;
	record->zero = 0;
	submit(record);
	return 0;
}

/* Drivers without a queue: zram, dm, md. */
SEC("tp_btf/block_bio_complete")
int bio_completed(u64 *ctx)
{
	return ends(as_number(&ctx[1]), 0);
}

/* All others: a queue's request, with merged bios of adjacent sectors, completes up to some byte. */
SEC("tp_btf/block_rq_complete")
int request_completed(u64 *ctx)
{
	struct request *request = (struct request *)ctx[0];
	struct bio *bio = read(request, bio);
	u64 left_bytes = (u32)ctx[2];

	for (int i = 0; i < BIOS_IN_REQUEST && bio; i++) {
		u32 bytes = read(bio, bi_iter.bi_size);

		if (bytes > left_bytes)
			break;
		left_bytes -= bytes;
		ends((u64)bio, 0);
		bio = read(bio, bi_next);
	}
	return 0;
}

#endif
