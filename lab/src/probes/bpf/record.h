/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records in the ring buffer, parsed by src/record.rs; both must be changed together.
 *
 * Every record begins with struct head and has the size of its struct, a multiple of 8 bytes without hidden padding.
 */
#ifndef BRISK_PROBES_RECORD_H
#define BRISK_PROBES_RECORD_H

#include "kernel.h"

enum kind {
	KIND_BORN = 1,
	KIND_EXEC,
	KIND_DIED,
	KIND_RUNNABLE,
	KIND_RUNNING,
	KIND_WAITING,
	KIND_RECLAIM_BEGAN,
	KIND_RECLAIM_ENDED,
	KIND_OPENING,
	KIND_OPENED,
	KIND_SENT,
	KIND_RECEIVED,
	KIND_SUBMITTED,
	KIND_COMPLETED,
	KIND_RENAMED,
	KIND_MOVED_IN,
	KIND_MOVED_OUT,
	KIND_FILE_NAME,
	KIND_SWAP_PAGES,
	KIND_SWAP_FAULT,
};

struct head {
	u64 at_ns;	/* CLOCK_MONOTONIC */
	u32 tid;	/* in the first pid namespace */
	u16 kind;
	u16 flags;	/* by kind, below */
};

#define WAITING_IO 1u			/* in_iowait */
#define WAITING_UNINTERRUPTIBLE 2u
#define WAITING_IN_CALL 4u		/* system_call says in which */
#define MOVED_IN_RUNNING 1u
#define SENT_LOOPBACK 1u
#define SUBMITTED_OPERATION 0x0fu	/* enum operation */
#define SUBMITTED_SYNC 0x10u
#define SUBMITTED_READ_AHEAD 0x20u
#define SUBMITTED_FILE 0x40u		/* file_device, inode and offset say which */

#define COMPLETED_LATE 1u		/* completed unseen at an earlier time */

enum operation {
	OPERATION_READ,
	OPERATION_SWAP_IN,
	OPERATION_WRITE,
	OPERATION_SWAP_OUT,
	OPERATION_FLUSH,
	OPERATION_DISCARD,
};

/* RUNNABLE, RUNNING, DIED, RECLAIM_BEGAN, RECLAIM_ENDED */
struct plain {
	struct head head;
};

struct waiting {
	struct head head;
	u32 system_call;
	u32 zero;
};

/* BORN, MOVED_IN */
struct born {
	struct head head;
	u32 pid;
	u32 parent_tid;
	char name[16];
};

/* EXEC; RENAMED, where old_tid has no meaning */
struct named {
	struct head head;
	u32 old_tid;	/* of the calling thread, which becomes the only one of its process */
	u32 zero;
	char name[16];
};

struct moved_out {
	struct head head;
	u32 pid;
	u32 whole;	/* all threads of the process left */
};

/* OPENING, OPENED, SENT, RECEIVED */
struct network {
	struct head head;
	u64 socket;
	u64 bytes;
};

struct submitted {
	struct head head;
	u64 sector;
	u32 device;
	u32 bytes;
	u64 inode;
	u64 offset_bytes;
	u32 file_device;
	u32 zero;
};

struct completed {
	struct head head;
	u64 sector;
	u32 device;
	u32 zero;
};

#define SWAP_OUT 1u			/* written; else read */
#define SWAP_ANONYMOUS 2u		/* pages of a process; else of shared memory, or not known (read) */

/* Adjacent slots of a swap area that are written or read. */
struct swap_pages {
	struct head head;
	u64 entry;	/* swp_entry_t of the first: slot, and number of the area in the highest 5 of 63 bits */
	u64 group;	/* id of the memory group that is charged; 0: not known */
	u64 index;	/* of the first in its mapping: mostly its virtual page number */
	u32 pages;
	u32 pid;	/* of the submitting process */
};

/* A process uses a page that is not mapped. */
struct swap_fault {
	struct head head;
	u64 page;	/* its virtual page number */
	u64 group;	/* id of its memory group; 0: not known */
	u32 pid;
	u32 zero;
};

#define NAME_BYTES 256

/* A name in a directory. Its tid has no meaning. */
struct file_name {
	struct head head;
	u64 inode;
	u64 parent_inode;	/* the same as inode in the root of a file system */
	u32 device;
	u32 name_bytes;
	u8 name[NAME_BYTES];
};

#endif
