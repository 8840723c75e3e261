// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images of pages for power cuts.
 *
 * A write's data is staged in pages of its own and becomes the device's data
 * when the write finishes. The replaced image is kept as long as the model holds
 * the page in its volatile buffer. When power fails, pages that the model loses
 * revert to the newest image that a flush has made durable:
 *
 *   base    content before the first write that is not durable yet
 *   middle  a newer one that the pending flush will make durable
 *
 * Each finished write has a number. A flush covers all writes that were finished
 * when it arrived; so an image is durable when its number is at most that of a
 * finished flush. A write in flight when power fails is torn: any of its pages
 * may have been written.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "flash.h"

/**
 * struct flash_image - earlier content of a page
 * @link: in the list of images
 * @page: its number
 * @base: data to revert to
 * @middle: newer data, valid when @has_middle
 * @middle_write: the write of @middle
 * @newest_write: the write of the data in the store
 * @has_middle: whether @middle is valid
 */
struct flash_image {
	struct list_head link;
	u64 page;
	unsigned long base;
	unsigned long middle;
	u64 middle_write;
	u64 newest_write;
	bool has_middle;
};

void flash_undo_init(struct flash_undo *undo)
{
	xa_init(&undo->images);
	INIT_LIST_HEAD(&undo->oldest);
}

static void flash_image_free(struct flash_undo *undo, struct flash_image *image)
{
	xa_erase(&undo->images, image->page);
	list_del(&image->link);
	flash_store_drop(image->base);
	if (image->has_middle)
		flash_store_drop(image->middle);
	kfree(image);
}

/**
 * flash_undo_forget - drops all images: the data in the store is durable
 * @undo: of the device
 */
void flash_undo_forget(struct flash_undo *undo)
{
	struct flash_image *image, *next;

	list_for_each_entry_safe(image, next, &undo->oldest, link)
		flash_image_free(undo, image);
}

void flash_undo_free(struct flash_undo *undo)
{
	flash_undo_forget(undo);
	xa_destroy(&undo->images);
}

/**
 * flash_undo_stage - copies the data of a write aside
 * @rq: the write
 *
 * Return: 0 or -ENOMEM.
 */
int flash_undo_stage(struct request *rq)
{
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);
	u32 pages = flash_pages(rq), i, done, part;
	struct req_iterator iter;
	struct bio_vec bv;
	u64 at = 0;

	fr->staged = kcalloc(pages, sizeof(*fr->staged), GFP_NOWAIT | __GFP_NOWARN);
	if (!fr->staged)
		return -ENOMEM;
	for (i = 0; i < pages; i++) {
		fr->staged[i] = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!fr->staged[i]) {
			flash_undo_unstage(rq);
			return -ENOMEM;
		}
	}
	rq_for_each_segment(bv, rq, iter) {
		char *buffer = bvec_kmap_local(&bv);

		for (done = 0; done < bv.bv_len; done += part) {
			part = min_t(u32, bv.bv_len - done,
				     BF_PAGE_BYTES - offset_in_page(at));
			memcpy(page_address(fr->staged[at >> BF_PAGE_SHIFT]) +
			       offset_in_page(at), buffer + done, part);
			at += part;
		}
		kunmap_local(buffer);
	}
	return 0;
}

/**
 * flash_undo_unstage - gives up what was not made the device's data
 * @rq: a request, of any kind
 */
void flash_undo_unstage(struct request *rq)
{
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);
	u32 i;

	if (!fr->staged)
		return;
	for (i = 0; i < flash_pages(rq); i++)
		if (fr->staged[i])
			__free_page(fr->staged[i]);
	kfree(fr->staged);
	fr->staged = NULL;
}

/* Images of pages that have left the buffer meanwhile are of no use. */
static void flash_undo_prune(struct flash *flash, u32 looks)
{
	struct flash_undo *undo = &flash->undo;
	struct flash_image *image;

	while (looks-- && !list_empty(&undo->oldest)) {
		image = list_first_entry(&undo->oldest, struct flash_image, link);
		if (bf_is_volatile(flash->model, image->page))
			list_move_tail(&image->link, &undo->oldest);
		else
			flash_image_free(undo, image);
	}
}

/* Keeps @before, which the write of the page has just replaced. */
static void flash_undo_keep(struct flash_undo *undo, u64 page, unsigned long before)
{
	struct flash_image *image = xa_load(&undo->images, page);

	if (!image) {
		image = kzalloc(sizeof(*image), GFP_NOWAIT | __GFP_NOWARN);
		/* Without memory for it the write counts as safe at once. */
		if (!image || xa_err(xa_store(&undo->images, page, image,
					      GFP_NOWAIT | __GFP_NOWARN))) {
			kfree(image);
			flash_store_drop(before);
			return;
		}
		image->page = page;
		image->base = before;
		list_add_tail(&image->link, &undo->oldest);
		image->newest_write = undo->writes;
		return;
	}
	if (image->has_middle && image->middle_write <= undo->flushed) {
		flash_store_drop(image->base);
		image->base = image->middle;
		image->has_middle = false;
	}
	if (image->newest_write <= undo->flushed) {
		flash_store_drop(image->base);
		image->base = before;
		if (image->has_middle)
			flash_store_drop(image->middle);
		image->has_middle = false;
	} else if (image->newest_write <= undo->asked) {
		if (image->has_middle)
			flash_store_drop(image->middle);
		image->middle = before;
		image->middle_write = image->newest_write;
		image->has_middle = true;
	} else {
		flash_store_drop(before);
	}
	image->newest_write = undo->writes;
}

/* Makes one staged page the device's data. */
static void flash_undo_place(struct flash *flash, u64 page, struct page *staged, bool safe)
{
	struct flash_image *image;
	unsigned long before;

	before = flash_store_swap(&flash->store, page, (unsigned long)staged);
	if (!safe) {
		flash_undo_keep(&flash->undo, page, before);
		return;
	}
	flash_store_drop(before);
	image = xa_load(&flash->undo.images, page);
	if (image)
		flash_image_free(&flash->undo, image);
}

/**
 * flash_undo_apply - a staged write has finished
 * @flash: the device
 * @rq: the write
 */
void flash_undo_apply(struct flash *flash, struct request *rq)
{
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);
	bool safe = (rq->cmd_flags & REQ_FUA) || !flash->config.model.write_cache;
	u32 i, pages = flash_pages(rq);

	flash->undo.writes++;
	for (i = 0; i < pages; i++) {
		flash_undo_place(flash, flash_first_page(rq) + i, fr->staged[i], safe);
		fr->staged[i] = NULL;
	}
	flash_undo_unstage(rq);
	flash_undo_prune(flash, 2 * pages);
}

/**
 * flash_undo_tear - power failed with this write under way
 * @flash: the device
 * @rq: the write
 * @seed: chooses the pages that have arrived
 */
void flash_undo_tear(struct flash *flash, struct request *rq, u64 seed)
{
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);
	u64 page = flash_first_page(rq);
	u32 i;

	for (i = 0; i < flash_pages(rq); i++, page++) {
		if (hash_64(page ^ hash_64(seed, 64), 1))
			continue;
		flash_undo_place(flash, page, fr->staged[i], true);
		fr->staged[i] = NULL;
	}
	flash_undo_unstage(rq);
}

/**
 * flash_undo_revert - power failed and the model gave this page up
 * @flash: the device
 * @page: its number
 */
void flash_undo_revert(struct flash *flash, u64 page)
{
	struct flash_undo *undo = &flash->undo;
	struct flash_image *image = xa_load(&undo->images, page);
	unsigned long *back;

	if (!image)
		return;
	if (image->newest_write > undo->flushed) {
		back = &image->base;
		if (image->has_middle && image->middle_write <= undo->flushed)
			back = &image->middle;
		*back = flash_store_swap(&flash->store, page, *back);
	}
	flash_image_free(undo, image);
}
