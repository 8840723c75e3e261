// SPDX-License-Identifier: GPL-2.0-only
/*
 * Creation and removal of a device: the model, the store and the disk.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/io.h>
#include <linux/ioport.h>
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

/* Maps memory that the kernel does not use: for the data, and then for the model. */
static int flash_map_memory(struct flash *flash, size_t model_bytes)
{
	u64 at = (u64)flash->config.memory_at_mib << 20;
	u64 data_bytes = flash->config.model.pages << BF_PAGE_SHIFT;
	u64 bytes = data_bytes + PAGE_ALIGN(model_bytes);

	if (region_intersects(at, bytes, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) !=
	    REGION_DISJOINT) {
		pr_err("the kernel uses memory at %u MiB: start it with less (mem=)\n",
		       flash->config.memory_at_mib);
		return -EBUSY;
	}
	flash->store.memory = memremap(at, bytes, MEMREMAP_WB);
	if (!flash->store.memory)
		return -ENOMEM;
	flash->memory = flash->store.memory + data_bytes;
	memset(flash->memory, 0, model_bytes);
	return 0;
}

static int flash_init_memory(struct flash *flash, size_t model_bytes)
{
	const struct flash_config *config = &flash->config;

	if (config->memory_at_mib)
		return flash_map_memory(flash, model_bytes);
	flash->memory = vzalloc(model_bytes);
	if (!flash->memory)
		return -ENOMEM;
	if (!config->store)
		return 0;
	return flash_store_init(&flash->store, config->model.pages, config->prealloc);
}

static int flash_init_model(struct flash *flash)
{
	const struct bf_params *model = &flash->config.model;
	size_t bytes = bf_memory_bytes(model);
	int error;

	if (!bytes) {
		pr_err("%s is too large for the model\n", flash->config.name);
		return -EINVAL;
	}
	error = flash_init_memory(flash, bytes);
	if (error)
		return error;
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
	if (flash->store.memory) {
		memunmap(flash->store.memory);
	} else {
		flash_store_free(&flash->store);
		vfree(flash->memory);
	}
	kvfree(flash->lost);
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
