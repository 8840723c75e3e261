// SPDX-License-Identifier: GPL-2.0-only
/*
 * Creation and removal of a device: the model, the store and the disk.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "flash.h"

static const struct block_device_operations flash_fops = {
	.owner		= THIS_MODULE,
};

/* Since 6.11 limits are passed at creation of a queue; until 6.8 they are set later. */
#ifdef BLK_FEAT_WRITE_CACHE
static struct gendisk *flash_alloc_disk(struct flash *flash)
{
	const struct flash_config *config = &flash->config;
	struct queue_limits limits = {
		.logical_block_size	= BF_PAGE_BYTES,
		.physical_block_size	= BF_PAGE_BYTES,
		.max_hw_sectors		= config->max_kb * 2,
		.max_segments		= config->max_kb / 2 + 1,
		.max_segment_size	= UINT_MAX,
		.discard_granularity	= BF_PAGE_BYTES,
		.max_hw_discard_sectors	= config->discard_pages_max * BF_PAGE_SECTORS,
	};

	if (config->model.write_cache)
		limits.features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
	return blk_mq_alloc_disk(&flash->tags, &limits, flash);
}
#else
static struct gendisk *flash_alloc_disk(struct flash *flash)
{
	const struct flash_config *config = &flash->config;
	struct gendisk *disk = blk_mq_alloc_disk(&flash->tags, flash);
	struct request_queue *q;

	if (IS_ERR(disk))
		return disk;
	q = disk->queue;
	blk_queue_logical_block_size(q, BF_PAGE_BYTES);
	blk_queue_physical_block_size(q, BF_PAGE_BYTES);
	blk_queue_max_hw_sectors(q, config->max_kb * 2);
	blk_queue_max_segments(q, config->max_kb / 2 + 1);
	blk_queue_max_segment_size(q, UINT_MAX);
	q->limits.discard_granularity = BF_PAGE_BYTES;
	blk_queue_max_discard_sectors(q, config->discard_pages_max * BF_PAGE_SECTORS);
	blk_queue_write_cache(q, config->model.write_cache, config->model.write_cache);
	blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	return disk;
}
#endif

static int flash_init_tags(struct flash *flash)
{
	const struct flash_config *config = &flash->config;

	flash->tags.ops = &flash_mq_ops;
	flash->tags.nr_hw_queues = config->queues;
	flash->tags.queue_depth = config->depth;
	flash->tags.numa_node = NUMA_NO_NODE;
	flash->tags.cmd_size = sizeof(struct flash_request);
	flash->tags.timeout = msecs_to_jiffies(config->timeout_ms);
#if KERNEL_VERSION(6, 14, 0) > LINUX_VERSION_CODE
	/* Later kernels always merge. */
	flash->tags.flags = BLK_MQ_F_SHOULD_MERGE;
#endif
	/* The device has one command queue, shared by all hardware queues. */
	if (config->queues > 1)
		flash->tags.flags |= BLK_MQ_F_TAG_HCTX_SHARED;
	return blk_mq_alloc_tag_set(&flash->tags);
}

static int flash_init_model(struct flash *flash)
{
	const struct bf_params *model = &flash->config.model;
	size_t bytes = bf_memory_bytes(model);

	if (!bytes) {
		pr_err("%s is too large for the model\n", flash->config.name);
		return -EINVAL;
	}
	flash->memory = vzalloc(bytes);
	if (!flash->memory)
		return -ENOMEM;
	if (bf_init(flash->memory, bytes, model, &flash->model))
		return -EINVAL;
	/* A power cut can revert at most the slots of the buffer. */
	flash->lost = kvcalloc(model->buffer_pages, sizeof(*flash->lost), GFP_KERNEL);
	return flash->lost ? 0 : -ENOMEM;
}

static void flash_free(struct flash *flash)
{
	spin_lock_irq(&flash->lock);
	flash_undo_free(&flash->undo);
	spin_unlock_irq(&flash->lock);
	flash_store_free(&flash->store);
	kvfree(flash->lost);
	vfree(flash->memory);
	kfree(flash);
}

static int flash_init_disk(struct flash *flash)
{
	int error;

	flash->disk = flash_alloc_disk(flash);
	if (IS_ERR(flash->disk))
		return PTR_ERR(flash->disk);
	strscpy(flash->disk->disk_name, flash->config.name, sizeof(flash->disk->disk_name));
	flash->disk->fops = &flash_fops;
	flash->disk->private_data = flash;
	set_capacity(flash->disk, flash->config.model.pages * BF_PAGE_SECTORS);
	error = add_disk(flash->disk);
	if (error)
		put_disk(flash->disk);
	return error;
}

/**
 * flash_create - creates a device
 * @config: its parameters
 *
 * Return: the device, or an error pointer.
 */
struct flash *flash_create(const struct flash_config *config)
{
	struct flash *flash = kzalloc(sizeof(*flash), GFP_KERNEL);
	int error;

	if (!flash)
		return ERR_PTR(-ENOMEM);
	flash->config = *config;
	flash->armed_ns = BF_NEVER;
	INIT_LIST_HEAD(&flash->link);
	spin_lock_init(&flash->lock);
#if KERNEL_VERSION(6, 13, 0) <= LINUX_VERSION_CODE
	hrtimer_setup(&flash->timer, flash_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(&flash->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	flash->timer.function = flash_timer;
#endif
	flash_undo_init(&flash->undo);
	error = flash_init_model(flash);
	if (!error && config->store)
		error = flash_store_init(&flash->store, config->model.pages, config->prealloc);
	if (error)
		goto no_device;
	error = flash_init_tags(flash);
	if (error)
		goto no_device;
	error = flash_init_disk(flash);
	if (error)
		goto no_disk;
	return flash;

no_disk:
	blk_mq_free_tag_set(&flash->tags);
no_device:
	flash_free(flash);
	return ERR_PTR(error);
}

/**
 * flash_remove - removes a device
 * @flash: may be in use; requests in the device are finished, others fail
 */
void flash_remove(struct flash *flash)
{
	/* Hanging requests must not block the removal. */
	flash_clear_faults(flash);
	del_gendisk(flash->disk);
	hrtimer_cancel(&flash->timer);
	put_disk(flash->disk);
	blk_mq_free_tag_set(&flash->tags);
	flash_free(flash);
}
