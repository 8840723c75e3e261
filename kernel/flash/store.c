// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data of a device, in RAM: allocated page by page when written, or in memory
 * of its own, which the kernel does not use and which has the data of a disk when
 * the machine starts.
 *
 * Data is copied while the model processes the request, outside of any lock: it
 * costs the guest's processor time, unlike DMA, but no device time. Requests
 * that overlap while both are in the device may see each other's data in part,
 * as on any disk. Pages are freed after a grace period, since they may still be
 * copied from.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/vmalloc.h>

#include "flash.h"

/* Flag in a pointer to a page: it reads as zeroes, as it was discarded or never written. */
#define FLASH_ZEROES	1ul

static struct page *flash_data_page(unsigned long data)
{
	return (struct page *)(data & ~FLASH_ZEROES);
}

static void flash_free_page(struct rcu_head *head)
{
	__free_page(container_of(head, struct page, rcu_head));
}

/**
 * flash_store_drop - frees what flash_store_swap returned
 * @data: may be 0
 */
void flash_store_drop(unsigned long data)
{
	if (flash_data_page(data))
		call_rcu(&flash_data_page(data)->rcu_head, flash_free_page);
}

/**
 * flash_store_swap - replaces the data of a page
 * @store: of the device
 * @page: its number
 * @data: a struct page, or what an earlier call returned
 *
 * Return: the previous data.
 */
unsigned long flash_store_swap(struct flash_store *store, u64 page, unsigned long data)
{
	return xchg(&store->page[page], data);
}

int flash_store_init(struct flash_store *store, u64 pages, bool prealloc)
{
	u64 i;

	store->page = kvcalloc(pages, sizeof(*store->page), GFP_KERNEL);
	if (!store->page)
		return -ENOMEM;
	store->pages = pages;
	for (i = 0; prealloc && i < pages; i++) {
		struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

		if (!page) {
			flash_store_free(store);
			return -ENOMEM;
		}
		store->page[i] = (unsigned long)page;
		cond_resched();
	}
	return 0;
}

/* There must be no copiers any more. */
void flash_store_free(struct flash_store *store)
{
	u64 i;

	for (i = 0; store->page && i < store->pages; i++)
		if (flash_data_page(store->page[i]))
			__free_page(flash_data_page(store->page[i]));
	kvfree(store->page);
	store->page = NULL;
}

/**
 * flash_store_reserve - allocates memory for a write, so that its copy cannot fail
 * @store: of the device
 * @page: first page
 * @pages: number of pages
 *
 * Return: 0 or -ENOMEM.
 */
int flash_store_reserve(struct flash_store *store, u64 page, u64 pages)
{
	struct page *fresh;

	if (store->memory)
		return 0;
	for (; pages--; page++) {
		if (READ_ONCE(store->page[page]))
			continue;
		fresh = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!fresh)
			return -ENOMEM;
		if (cmpxchg(&store->page[page], 0, (unsigned long)fresh | FLASH_ZEROES))
			__free_page(fresh);
	}
	return 0;
}

static void flash_store_copy(struct flash_store *store, u64 at, char *buffer,
			     u32 bytes, bool write)
{
	unsigned long *place, data;
	char *kept;

	if (store->memory) {
		kept = store->memory + at;
		memcpy(write ? kept : buffer, write ? buffer : kept, bytes);
		return;
	}
	place = &store->page[at >> BF_PAGE_SHIFT];
	data = READ_ONCE(*place);
	kept = data ? page_address(flash_data_page(data)) + offset_in_page(at) : NULL;
	if (write) {
		memcpy(kept, buffer, bytes);
		if (data & FLASH_ZEROES)
			WRITE_ONCE(*place, data & ~FLASH_ZEROES);
	} else if (data && !(data & FLASH_ZEROES)) {
		memcpy(buffer, kept, bytes);
	} else {
		memset(buffer, 0, bytes);
	}
}

/**
 * flash_store_transfer - copies the data of a read, or of a reserved write
 * @store: of the device
 * @rq: whole pages
 */
void flash_store_transfer(struct flash_store *store, struct request *rq)
{
	u64 at = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	bool write = op_is_write(req_op(rq));
	struct req_iterator iter;
	struct bio_vec bv;

	rcu_read_lock();
	rq_for_each_segment(bv, rq, iter) {
		char *buffer = bvec_kmap_local(&bv);
		u32 done, part;

		/* Memory of direct I/O may be unaligned. */
		for (done = 0; done < bv.bv_len; done += part) {
			part = min_t(u32, bv.bv_len - done,
				     BF_PAGE_BYTES - offset_in_page(at));
			flash_store_copy(store, at, buffer + done, part, write);
			at += part;
		}
		kunmap_local(buffer);
	}
	rcu_read_unlock();
}

/**
 * flash_store_discard - makes pages read as zeroes
 * @store: of the device
 * @page: first page
 * @pages: number of pages
 *
 * Their memory is kept for later writes; memory of the device's own is cleared.
 */
void flash_store_discard(struct flash_store *store, u64 page, u64 pages)
{
	unsigned long data;

	if (store->memory) {
		memset(store->memory + (page << BF_PAGE_SHIFT), 0, pages << BF_PAGE_SHIFT);
		return;
	}
	for (; pages--; page++) {
		data = READ_ONCE(store->page[page]);
		if (data)
			cmpxchg(&store->page[page], data, data | FLASH_ZEROES);
	}
}
