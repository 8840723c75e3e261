/* SPDX-License-Identifier: GPL-2.0-only */
/* Swapping laid out for relaunch: see mars.c. */
#ifndef _MM_MARS_H
#define _MM_MARS_H

#include <linux/swap.h>
#include <linux/workqueue.h>

#include "mars_extents.h"

/* Extents that one pass of the worker discards. */
#define MARS_BATCH	16
/* Clusters that are tried before the stock path decides. */
#define MARS_TRIES	8

#ifdef CONFIG_MARS_SWAP
/* Of one swap area, protected by its si->lock, except for what is named. */
struct mars_swap {
	struct mars_area area;
	struct swap_info_struct *si;
	struct list_head list;		/* in mars_areas, under mars_lock */
	struct delayed_work trim_work;
	unsigned long swap_events;	/* seen by the worker the last time */
	u64 nr_trimmed;			/* extents */
	u64 nr_requests;		/* discards for them */
	struct mars_extent extents[];
};

extern unsigned int mars_nr_areas;

static inline bool mars_active(void)
{
	return READ_ONCE(mars_nr_areas);
}

static inline void mars_slots_taken(struct swap_info_struct *si,
				    unsigned int slot, unsigned int nr)
{
	if (si->mars)
		mars_taken(&si->mars->area, slot, nr);
}

static inline void mars_slots_freed(struct swap_info_struct *si,
				    unsigned int slot, unsigned int nr)
{
	if (si->mars)
		mars_freed(&si->mars->area, slot, nr);
}

/* Whether the stock path should look elsewhere than in this slot. */
static inline bool mars_reserves(struct swap_info_struct *si, unsigned int slot)
{
	return si->mars && mars_reserved(&si->mars->area, slot);
}

void mars_swapon(struct swap_info_struct *si, const unsigned char *map,
		 unsigned int cluster, work_func_t trim);
void mars_trim_stop(struct swap_info_struct *si);
void mars_swapoff(struct swap_info_struct *si);
unsigned short mars_owner(struct folio *folio);
bool mars_keeps_slot(struct folio *folio);
bool mars_trim_due(struct mars_swap *mars);
void mars_trim_later(struct mars_swap *mars);
unsigned long mars_zone_reserve(unsigned long zone_pages, unsigned long pages);
bool mars_holds_swap_out(int priority);
bool mars_holds_reclaim_of(struct mem_cgroup *memcg);
bool mars_is_launching(struct mem_cgroup *memcg);
void mars_launch(struct mem_cgroup *memcg, bool begins);
#else
static inline void mars_slots_taken(struct swap_info_struct *si,
				    unsigned int slot, unsigned int nr) { }
static inline void mars_slots_freed(struct swap_info_struct *si,
				    unsigned int slot, unsigned int nr) { }
static inline bool mars_reserves(struct swap_info_struct *si, unsigned int slot)
{
	return false;
}
static inline void mars_swapon(struct swap_info_struct *si,
			       const unsigned char *map, unsigned int cluster,
			       work_func_t trim) { }
static inline void mars_trim_stop(struct swap_info_struct *si) { }
static inline void mars_swapoff(struct swap_info_struct *si) { }
static inline bool mars_active(void) { return false; }
static inline unsigned short mars_owner(struct folio *folio) { return 0; }
static inline bool mars_keeps_slot(struct folio *folio) { return false; }
static inline unsigned long mars_zone_reserve(unsigned long zone_pages,
					      unsigned long pages) { return 0; }
static inline bool mars_holds_swap_out(int priority) { return false; }
static inline bool mars_holds_reclaim_of(struct mem_cgroup *memcg)
{
	return false;
}
#endif

#endif /* _MM_MARS_H */
