// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of devices. Under brisk_flash in debugfs:
 *
 *   create  writing "name=flash0,pages=65536,..." makes /dev/flash0
 *   remove  writing its name removes it, in use or not
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "flash.h"

/* Protects the list of devices. */
static DEFINE_MUTEX(flash_mutex);
static LIST_HEAD(flash_devices);
static struct dentry *flash_folder;

static struct flash *flash_find(const char *name)
{
	struct flash *flash;

	lockdep_assert_held(&flash_mutex);
	list_for_each_entry(flash, &flash_devices, link)
		if (!strcmp(flash->config.name, name))
			return flash;
	return NULL;
}

/* The first unused name of flash0, flash1, ... */
static void flash_choose_name(struct flash_config *config)
{
	u32 number = 0;

	do {
		snprintf(config->name, sizeof(config->name), "flash%u", number++);
	} while (flash_find(config->name));
}

static int flash_add(char *text)
{
	struct flash_config config;
	struct flash *flash;
	int error;

	error = flash_config_parse(&config, text);
	if (error)
		return error;
	if (!config.name[0])
		flash_choose_name(&config);
	if (flash_find(config.name)) {
		pr_err("there is a device %s already\n", config.name);
		return -EEXIST;
	}
	flash = flash_create(&config);
	if (IS_ERR(flash)) {
		pr_err("could not create %s (%ld)\n", config.name, PTR_ERR(flash));
		return PTR_ERR(flash);
	}
	list_add_tail(&flash->link, &flash_devices);
	flash_debugfs_add(flash, flash_folder);
	return 0;
}

static void flash_drop(struct flash *flash)
{
	/* Waits for users of its files. */
	debugfs_remove(flash->folder);
	list_del(&flash->link);
	flash_remove(flash);
}

static ssize_t create_write(struct file *file, const char __user *from, size_t bytes,
			    loff_t *offset)
{
	char *text = memdup_user_nul(from, min_t(size_t, bytes, PAGE_SIZE));
	int error;

	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&flash_mutex);
	error = flash_add(text);
	mutex_unlock(&flash_mutex);
	kfree(text);
	return error ?: bytes;
}

static ssize_t remove_write(struct file *file, const char __user *from, size_t bytes,
			    loff_t *offset)
{
	char *text = memdup_user_nul(from, min_t(size_t, bytes, PAGE_SIZE));
	struct flash *flash;

	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&flash_mutex);
	flash = flash_find(strim(text));
	if (flash)
		flash_drop(flash);
	mutex_unlock(&flash_mutex);
	kfree(text);
	return flash ? bytes : -ENODEV;
}

static const struct file_operations create_fops = {
	.owner	= THIS_MODULE,
	.write	= create_write,
};

static const struct file_operations remove_fops = {
	.owner	= THIS_MODULE,
	.write	= remove_write,
};

static int __init flash_init(void)
{
	flash_folder = debugfs_create_dir(KBUILD_MODNAME, NULL);
	if (IS_ERR(flash_folder))
		return PTR_ERR(flash_folder);
	debugfs_create_file("create", 0200, flash_folder, NULL, &create_fops);
	debugfs_create_file("remove", 0200, flash_folder, NULL, &remove_fops);
	return 0;
}

static void __exit flash_exit(void)
{
	struct flash *flash, *next;

	/* Without these files no device can be created or removed any more. */
	debugfs_lookup_and_remove("create", flash_folder);
	debugfs_lookup_and_remove("remove", flash_folder);
	list_for_each_entry_safe(flash, next, &flash_devices, link)
		flash_drop(flash);
	debugfs_remove(flash_folder);
	/* RCU callbacks that free pages are code of this module. */
	rcu_barrier();
}

module_init(flash_init);
module_exit(flash_exit);

MODULE_DESCRIPTION("Block device with the timing of a phone's flash");
MODULE_LICENSE("GPL");
