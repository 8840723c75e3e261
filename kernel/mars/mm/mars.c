// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swapping laid out for relaunch.
 *
 * On flash an app that was swapped out returns slowly when its pages lie
 * scattered and when writes mix with its reads. Two parts remove that, after
 * MARS (Guo et al.):
 *  - slots of a swap area come from extents by memory group: mars_extents.c
 *    decides, swapfile.c asks it under si->lock;
 *  - while a group is launched, kswapd swaps nothing out, memory.reclaim of
 *    other groups is refused, and the watermarks are lowered by a reserve that
 *    is kept free at all other times.
 *
 * /sys/kernel/mm/mars has the settings, with units in their names;
 * /sys/kernel/debug/mars the state; memory.swap.launch begins and ends a launch.
 */
#include <linux/debugfs.h>
#include <linux/kobject.h>
#include <linux/memcontrol.h>
#include <linux/seq_file.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/vmstat.h>

#include "internal.h"
#include "mars.h"

static DEFINE_MUTEX(mars_lock);
static LIST_HEAD(mars_areas);
unsigned int mars_nr_areas;

static unsigned long mars_enabled = 1;			/* from the next swapon */
static unsigned long mars_extent_bytes = 1 << 20;	/* from the next swapon */
static unsigned long mars_keep_percent = 6;		/* from the next swapon */
static unsigned long mars_reserve_bytes;
static unsigned long mars_trim_delay_ms = 1000;
static unsigned long mars_launch_cap_ms = 10000;

/* The group that is launched, 0 for none, and launches so far. */
static unsigned short mars_launching;
static unsigned long mars_nr_launches;
static unsigned long mars_launch_until;	/* jiffies */
static void mars_launch_ends(struct work_struct *work);
static DECLARE_DELAYED_WORK(mars_launch_work, mars_launch_ends);

/*
 * Gives an area extents; @map describes its slots. Without memory for them the
 * stock path serves it. Extents with a slot that is never free stay out: they
 * are in use from here.
 */
void mars_swapon(struct swap_info_struct *si, const unsigned char *map,
		 unsigned int cluster, work_func_t trim)
{
	u32 slots = round_up(READ_ONCE(mars_extent_bytes) >> PAGE_SHIFT, cluster);
	u32 nr_extents = si->max / slots, i;
	struct mars_swap *mars;

	if (!READ_ONCE(mars_enabled) || !nr_extents)
		return;
	mars = kvzalloc(struct_size(mars, extents, nr_extents), GFP_KERNEL);
	if (!mars)
		return;
	mars->si = si;
	INIT_DELAYED_WORK(&mars->trim_work, trim);
	mars_area_init(&mars->area, mars->extents, nr_extents, slots,
		       nr_extents * READ_ONCE(mars_keep_percent) / 100);
	for (i = 0; i < nr_extents * slots; i++)
		if (map[i])
			mars_taken(&mars->area, i, 1);
	mutex_lock(&mars_lock);
	list_add_tail(&mars->list, &mars_areas);
	WRITE_ONCE(mars_nr_areas, mars_nr_areas + 1);
	mutex_unlock(&mars_lock);
	si->mars = mars;
}

/* The area is no longer written to: its clusters are about to be freed. */
void mars_trim_stop(struct swap_info_struct *si)
{
	if (si->mars)
		cancel_delayed_work_sync(&si->mars->trim_work);
}

/* No slot of the area is in use, and no allocation is under way. */
void mars_swapoff(struct swap_info_struct *si)
{
	struct mars_swap *mars = si->mars;

	if (!mars)
		return;
	mutex_lock(&mars_lock);
	list_del(&mars->list);
	WRITE_ONCE(mars_nr_areas, mars_nr_areas - 1);
	mutex_unlock(&mars_lock);
	si->mars = NULL;
	kvfree(mars);
}

/* The group whose extents a locked folio goes to; 0 for none. */
unsigned short mars_owner(struct folio *folio)
{
	struct mem_cgroup *memcg = mars_active() ? folio_memcg(folio) : NULL;

	return memcg ? mem_cgroup_id(memcg) : 0;
}

/* Whether a locked folio keeps its slot although it is in memory. */
bool mars_keeps_slot(struct folio *folio)
{
	struct mars_swap *mars;

	if (!folio_test_swapcache(folio))
		return false;
	mars = READ_ONCE(swp_swap_info(folio->swap)->mars);
	/* Without si->lock: a count that is about to change only shifts the choice. */
	return mars && data_race(mars_plenty(&mars->area));
}

static unsigned long mars_swap_events(void)
{
	unsigned long events = 0;
#ifdef CONFIG_VM_EVENT_COUNTERS
	int cpu;

	for_each_online_cpu(cpu)
		events += per_cpu(vm_event_states, cpu).event[PSWPIN] +
			  per_cpu(vm_event_states, cpu).event[PSWPOUT];
#endif
	return events;
}

/* Whether nothing was swapped since the last call, and nothing is launched. */
bool mars_trim_due(struct mars_swap *mars)
{
	unsigned long before = mars->swap_events;

	mars->swap_events = mars_swap_events();
	return mars->swap_events == before && !READ_ONCE(mars_launching);
}

void mars_trim_later(struct mars_swap *mars)
{
	queue_delayed_work(system_unbound_wq, &mars->trim_work,
			   msecs_to_jiffies(READ_ONCE(mars_trim_delay_ms)));
}

/* Part of a zone in the reserve, by which its low watermark is raised. */
unsigned long mars_zone_reserve(unsigned long zone_pages, unsigned long pages)
{
	u64 reserve = READ_ONCE(mars_reserve_bytes) >> PAGE_SHIFT;

	if (READ_ONCE(mars_launching) || !pages)
		return 0;
	return div64_ul(min_t(u64, reserve, pages / 4) * zone_pages, pages);
}

/* Whether kswapd leaves anonymous pages alone: it does until it finds no other. */
bool mars_holds_swap_out(int priority)
{
	return READ_ONCE(mars_launching) && priority > DEF_PRIORITY - 4;
}

bool mars_holds_reclaim_of(struct mem_cgroup *memcg)
{
	return READ_ONCE(mars_launching) && !mars_is_launching(memcg);
}

bool mars_is_launching(struct mem_cgroup *memcg)
{
	return READ_ONCE(mars_launching) == mem_cgroup_id(memcg);
}

static void mars_set_launching(unsigned short id)
{
	lockdep_assert_held(&mars_lock);
	mars_nr_launches += !!id;
	mars_launch_until = jiffies + msecs_to_jiffies(READ_ONCE(mars_launch_cap_ms));
	WRITE_ONCE(mars_launching, id);
	setup_per_zone_wmarks();
	if (id)
		mod_delayed_work(system_wq, &mars_launch_work,
				 mars_launch_until - jiffies);
}

static void mars_launch_ends(struct work_struct *work)
{
	mutex_lock(&mars_lock);
	if (mars_launching && time_after_eq(jiffies, mars_launch_until))
		mars_set_launching(0);
	mutex_unlock(&mars_lock);
}

/* The last launch that began counts. It ends by itself after launch_cap_ms. */
void mars_launch(struct mem_cgroup *memcg, bool begins)
{
	mutex_lock(&mars_lock);
	if (begins)
		mars_set_launching(mem_cgroup_id(memcg));
	else if (mars_is_launching(memcg))
		mars_set_launching(0);
	mutex_unlock(&mars_lock);
}

struct mars_setting {
	struct kobj_attribute attr;
	unsigned long *value, min, max;
};

static ssize_t mars_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *page)
{
	struct mars_setting *s = container_of(attr, struct mars_setting, attr);

	return sysfs_emit(page, "%lu\n", READ_ONCE(*s->value));
}

static ssize_t mars_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *page, size_t count)
{
	struct mars_setting *s = container_of(attr, struct mars_setting, attr);
	unsigned long value;
	int error = kstrtoul(page, 0, &value);

	if (error)
		return error;
	if (value < s->min || value > s->max)
		return -EINVAL;
	WRITE_ONCE(*s->value, value);
	if (s->value == &mars_reserve_bytes)
		setup_per_zone_wmarks();
	return count;
}

#define MARS_SETTING(_name, _min, _max)					\
static struct mars_setting _name##_setting = {				\
	.attr = __ATTR(_name, 0644, mars_show, mars_store),		\
	.value = &mars_##_name, .min = _min, .max = _max,		\
}
MARS_SETTING(enabled, 0, 1);
MARS_SETTING(extent_bytes, 1 << 16, 1 << 30);
MARS_SETTING(keep_percent, 0, 100);
MARS_SETTING(reserve_bytes, 0, ULONG_MAX);
MARS_SETTING(trim_delay_ms, 1, 3600000);
MARS_SETTING(launch_cap_ms, 1, 60000);

static struct attribute *mars_attrs[] = {
	&enabled_setting.attr.attr,
	&extent_bytes_setting.attr.attr,
	&keep_percent_setting.attr.attr,
	&reserve_bytes_setting.attr.attr,
	&trim_delay_ms_setting.attr.attr,
	&launch_cap_ms_setting.attr.attr,
	NULL,
};

static const struct attribute_group mars_group = {
	.name = "mars",
	.attrs = mars_attrs,
};

static int areas_show(struct seq_file *m, void *unused)
{
	struct mars_swap *mars;

	mutex_lock(&mars_lock);
	seq_printf(m, "launching %u\nlaunches %lu\n", mars_launching,
		   mars_nr_launches);
	list_for_each_entry(mars, &mars_areas, list) {
		const struct mars_area *a = &mars->area;

		spin_lock(&mars->si->lock);
		seq_printf(m, "area %d extents %u extent_slots %u reserve %u", mars->si->type,
			   a->nr_extents, a->extent_slots, a->reserve);
		seq_printf(m, " trimmed %u stale %u trimming %u current %u left %u stock %u",
			   a->nr_in[MARS_TRIMMED], a->nr_in[MARS_STALE], a->nr_in[MARS_TRIMMING],
			   a->nr_in[MARS_CURRENT], a->nr_in[MARS_LEFT], a->nr_in[MARS_STOCK]);
		seq_printf(m, " began %llu filled %llu refused %llu trims %llu trim_requests %llu\n",
			   a->nr_began, a->nr_filled, a->nr_refused, mars->nr_trimmed,
			   mars->nr_requests);
		spin_unlock(&mars->si->lock);
	}
	mutex_unlock(&mars_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(areas);

/* One line for each extent with a group: area, extent, group, slots in use. */
static int extents_show(struct seq_file *m, void *unused)
{
	struct mars_swap *mars;
	struct mars_extent e;
	u32 i;

	mutex_lock(&mars_lock);
	list_for_each_entry(mars, &mars_areas, list)
		for (i = 0; i < mars->area.nr_extents; i++) {
			/* For people: without si->lock for so many lines. */
			e = data_race(mars->extents[i]);
			if (e.owner)
				seq_printf(m, "%d %u %u %u\n", mars->si->type, i,
					   e.owner, e.nr_used);
		}
	mutex_unlock(&mars_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(extents);

static int __init mars_init(void)
{
	struct dentry *dir = debugfs_create_dir("mars", NULL);

	debugfs_create_file("areas", 0444, dir, NULL, &areas_fops);
	debugfs_create_file("extents", 0444, dir, NULL, &extents_fops);
	return sysfs_create_group(mm_kobj, &mars_group);
}
late_initcall(mars_init);
