/* SPDX-License-Identifier: GPL-2.0-only */
/* The buffer that user space drains, and new records in it. */
#ifndef BRISK_PROBES_RING_H
#define BRISK_PROBES_RING_H

#include "record.h"

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

#endif
