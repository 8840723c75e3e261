// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of a device, under brisk_flash/NAME in debugfs:
 *
 *   params    its parameters; writing name=value changes its times
 *   counters  its counters, as lines of "name value"; writing anything resets them
 *   control   one command a line: see flash_command()
 *   lost      pages that the last power cut reverted
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "flash.h"

static struct flash *flash_of_file(struct file *file)
{
	return ((struct seq_file *)file->private_data)->private;
}

/* ---- params ---- */

static int params_show(struct seq_file *to, void *unused)
{
	struct flash *flash = to->private;

	flash_config_show(to, &flash->config);
	return 0;
}

static ssize_t params_write(struct file *file, const char __user *from, size_t bytes,
			    loff_t *offset)
{
	struct flash *flash = flash_of_file(file);
	struct bf_params times = flash->config.model;
	char *text = memdup_user_nul(from, min_t(size_t, bytes, PAGE_SIZE));
	int error;

	if (IS_ERR(text))
		return PTR_ERR(text);
	error = flash_config_set_times(&times, text);
	if (!error) {
		error = flash_new_times(flash, &times);
		if (error)
			pr_err("%s: what shapes its memory cannot change in use\n",
			       flash->config.name);
	}
	kfree(text);
	return error ?: bytes;
}

/* ---- counters ---- */

static int counters_show(struct seq_file *to, void *unused)
{
	struct flash *flash = to->private;
	struct flash_totals totals;
	struct bf_counters counted;
	u32 in_flight;

	spin_lock_irq(&flash->lock);
	flash_count_busy(flash, ktime_get_ns());
	counted = *bf_counters(flash->model);
	totals = flash->totals;
	in_flight = bf_in_flight(flash->model);
	spin_unlock_irq(&flash->lock);

#define SHOW(from, name) seq_printf(to, #name " %llu\n", (from).name)
	SHOW(totals, requests);
	SHOW(totals, errors);
	SHOW(totals, timeouts);
	SHOW(totals, requeues);
	SHOW(totals, busies);
	SHOW(totals, lost_pages);
	seq_printf(to, "in_flight %u\n", in_flight);
	SHOW(totals, timer_events);
	seq_printf(to, "lateness_mean_ns %llu\n", totals.timer_events ?
		   div64_u64(totals.lateness_ns, totals.timer_events) : 0);
	SHOW(totals, lateness_max_ns);
	SHOW(totals, busy_ns);
	SHOW(counted, reads);
	SHOW(counted, writes);
	SHOW(counted, flushes);
	SHOW(counted, discards);
	SHOW(counted, pages_read);
	SHOW(counted, pages_written);
	SHOW(counted, pages_discarded);
	SHOW(counted, buffer_hits);
	SHOW(counted, run_reads);
	SHOW(counted, programs);
	SHOW(counted, programs_partial);
	SHOW(counted, programs_stray);
	SHOW(counted, programs_slc);
	SHOW(counted, pages_programmed);
	SHOW(counted, pages_moved);
	SHOW(counted, erases);
	SHOW(counted, merges_full);
	SHOW(counted, merges_partial);
	SHOW(counted, merges_switch);
	SHOW(counted, map_loads);
	SHOW(counted, suspends);
	SHOW(counted, in_flight_max);
	SHOW(counted, energy_nj);
#undef SHOW
	return 0;
}

static ssize_t counters_write(struct file *file, const char __user *from, size_t bytes,
			      loff_t *offset)
{
	struct flash *flash = flash_of_file(file);

	spin_lock_irq(&flash->lock);
	bf_reset_counters(flash->model);
	flash_count_busy(flash, ktime_get_ns());
	flash->totals = (struct flash_totals) { 0 };
	spin_unlock_irq(&flash->lock);
	return bytes;
}

/* ---- control ---- */

static int control_show(struct seq_file *to, void *unused)
{
	struct flash *flash = to->private;

	seq_printf(to, "power %s\nrequeue %u\nerror %u\nbusy %u\n", flash->dead ? "off" : "on",
		   flash->requeue_every, flash->error_every, flash->busy_every);
	return 0;
}

/*
 * read_error PAGE PAGES   reads of the range fail
 * timeout PAGE PAGES      requests to the range never finish
 * requeue N               requeues each N-th finished request; 0: none
 * error N                 fails each N-th finished request; 0: none
 * busy N                  refuses each N-th dispatch temporarily; 0: none
 * clear                   ends all of the above
 * power_cut SEED          see flash_cut_power()
 * power_on                ends the power cut
 */
static int flash_command(struct flash *flash, const char *line)
{
	u64 page, pages, seed;
	u32 every;
	char rest;

	if (sscanf(line, "read_error %llu %llu %c", &page, &pages, &rest) == 2)
		return flash_fault(flash, page, pages, bf_fault_read_error);
	if (sscanf(line, "timeout %llu %llu %c", &page, &pages, &rest) == 2)
		return flash_fault(flash, page, pages, bf_fault_timeout);
	if (sscanf(line, "power_cut %llu %c", &seed, &rest) == 1)
		return flash_cut_power(flash, seed);
	/* With 1 no request would ever pass. */
	if (sscanf(line, "requeue %u %c", &every, &rest) == 1 && every != 1) {
		WRITE_ONCE(flash->requeue_every, every);
		return 0;
	}
	if (sscanf(line, "error %u %c", &every, &rest) == 1 && every != 1) {
		WRITE_ONCE(flash->error_every, every);
		return 0;
	}
	if (sscanf(line, "busy %u %c", &every, &rest) == 1 && every != 1) {
		WRITE_ONCE(flash->busy_every, every);
		return 0;
	}
	if (!strcmp(line, "clear")) {
		flash_clear_faults(flash);
		return 0;
	}
	if (!strcmp(line, "power_on")) {
		WRITE_ONCE(flash->dead, false);
		return 0;
	}
	return -EINVAL;
}

static ssize_t control_write(struct file *file, const char __user *from, size_t bytes,
			     loff_t *offset)
{
	struct flash *flash = flash_of_file(file);
	char *text = memdup_user_nul(from, min_t(size_t, bytes, PAGE_SIZE));
	char *rest = text, *line;
	int error = 0;

	if (IS_ERR(text))
		return PTR_ERR(text);
	while (!error && (line = strsep(&rest, "\n"))) {
		line = strim(line);
		if (!*line)
			continue;
		error = flash_command(flash, line);
		if (error)
			pr_err("%s: cannot do '%s' (%d)\n", flash->config.name, line, error);
	}
	kfree(text);
	return error ?: bytes;
}

/* ---- lost ---- */

static int lost_show(struct seq_file *to, void *unused)
{
	struct flash *flash = to->private;
	u32 i;

	/* Written only by power_cut, which the reader of this file has completed. */
	for (i = 0; i < flash->nr_lost; i++)
		seq_printf(to, "%llu\n", flash->lost[i]);
	return 0;
}

static ssize_t lost_write(struct file *file, const char __user *from, size_t bytes,
			  loff_t *offset)
{
	return -EPERM;
}

#define FLASH_FILE(name) \
static int name##_open(struct inode *inode, struct file *file) \
{ \
	return single_open(file, name##_show, inode->i_private); \
} \
static const struct file_operations name##_fops = { \
	.owner		= THIS_MODULE, \
	.open		= name##_open, \
	.read		= seq_read, \
	.write		= name##_write, \
	.llseek		= seq_lseek, \
	.release	= single_release, \
}

FLASH_FILE(params);
FLASH_FILE(counters);
FLASH_FILE(control);
FLASH_FILE(lost);

/**
 * flash_debugfs_add - creates the files of a device
 * @flash: the device
 * @parent: the module's directory
 */
void flash_debugfs_add(struct flash *flash, struct dentry *parent)
{
	flash->folder = debugfs_create_dir(flash->config.name, parent);
	debugfs_create_file("params", 0600, flash->folder, flash, &params_fops);
	debugfs_create_file("counters", 0600, flash->folder, flash, &counters_fops);
	debugfs_create_file("control", 0600, flash->folder, flash, &control_fops);
	debugfs_create_file("lost", 0400, flash->folder, flash, &lost_fops);
}
