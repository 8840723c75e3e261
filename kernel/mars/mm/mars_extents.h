/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Swap slots by memory group: which slot a page of a group gets.
 *
 * A swap area is divided into extents of equal size. An extent belongs to one
 * group, so that the pages of a group lie together and come back in large
 * sequential reads, even when several groups are swapped out at the same time
 * (MARS, 3.3). Slots are taken in address order. A slot that was freed is not
 * taken again while free extents last: the remaining pages of the extent keep
 * their order, and clean pages their slots. Empty extents are discarded in
 * batches (MARS, 3.4). Without a free extent, a group fills the holes of its
 * own extents; after that the kernel's own allocator decides.
 *
 * This part is pure: integers and one array, no lock, clock or allocation. The
 * caller knows which slots are free, serializes all calls, and reports each
 * slot that is taken or freed, by whichever allocator. Slots and extents are
 * numbers; owner 0 is "no group". It compiles in the kernel and on the host.
 *
 * Properties (each is a test):
 *  - an extent with slots of a group gets none of another from here;
 *  - the slots of a group are consecutive within an extent;
 *  - no extent with holes is begun anew while more extents than the reserve
 *    are free;
 *  - only empty extents are trimmed, and at most half of the free ones;
 *  - slots that were never empty (header, bad pages) stay out of it.
 */
#ifndef _MARS_EXTENTS_H
#define _MARS_EXTENTS_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define MARS_NONE	0xffffffffu	/* no slot, no extent */
#define MARS_BUCKETS	256		/* owners by hash */
#define MARS_LOOKS	32		/* extents with holes that are compared */

enum mars_state {
	MARS_TRIMMED,		/* empty, nothing to discard */
	MARS_STALE,		/* empty, to be discarded */
	MARS_TRIMMING,		/* being discarded: must not be taken */
	MARS_CURRENT,		/* takes the swap-outs of its owner */
	MARS_LEFT,		/* has an owner, took its swap-outs before */
	MARS_STOCK,		/* used by the kernel's allocator alone */
	MARS_NR_STATES,
};

struct mars_extent {
	u32 prev, next;		/* in the list of its state, and bucket */
	u32 nr_used;		/* slots */
	u32 cursor;		/* of a current one: next slot, from its first */
	u16 owner;
	u8 state;
	u8 listed;
};

struct mars_list {
	u32 first, last;
};

struct mars_area {
	struct mars_extent *extents;
	u32 nr_extents;
	u32 extent_slots;
	u32 reserve;		/* free extents below which holes are filled */
	u32 nr_in[MARS_NR_STATES];
	struct mars_list trimmed, stale;
	struct mars_list current_of[MARS_BUCKETS];
	struct mars_list holes_of[MARS_BUCKETS];
	u64 nr_began;		/* free extents given to groups */
	u64 nr_filled;		/* extents whose holes were filled */
	u64 nr_refused;		/* calls left to the kernel's allocator */
};

void mars_area_init(struct mars_area *area, struct mars_extent *extents,
		    u32 nr_extents, u32 extent_slots, u32 reserve);
u32 mars_next(struct mars_area *area, u16 owner);
void mars_advance(struct mars_area *area, u16 owner, u32 slot);
void mars_taken(struct mars_area *area, u32 slot, u32 nr_slots);
void mars_freed(struct mars_area *area, u32 slot, u32 nr_slots);
bool mars_covers(const struct mars_area *area, u32 slot);
bool mars_reserved(const struct mars_area *area, u32 slot);
u32 mars_nr_free(const struct mars_area *area);
bool mars_plenty(const struct mars_area *area);
u32 mars_trim_begin(struct mars_area *area, u32 *batch, u32 nr_max);
void mars_trim_end(struct mars_area *area, u32 extent);

#endif /* _MARS_EXTENTS_H */
