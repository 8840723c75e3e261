/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory of a request at the block layer. */
#ifndef BRISK_PROBES_PAGES_H
#define BRISK_PROBES_PAGES_H

#include "ring.h"

/* enum req_op (include/linux/blk_types.h), in the low 8 bits. */
#define REQ_OP_MASK 0xffu
#define REQ_OP_READ 0u
#define REQ_OP_WRITE 1u

#define PAGE_MAPPING_FLAGS 3ul

/* Set by the loader. */
const volatile u64 page_bytes;

#define has_flag(opf, name) ((opf) & (1u << enum_value(enum req_flag_bits, name)))

/* An argument of a tracepoint as a number: the verifier allows no pointer arguments of functions. */
INLINE u64 as_number(u64 *argument)
{
	u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), argument);
	return number;
}

struct first_page {
	struct page *head;		/* first page of its folio; NULL: none */
	struct address_space *mapping;
	u64 index;			/* of the folio in its mapping */
	u64 number;			/* of the page in the folio */
	u32 offset_bytes;
	bool swap_backed;
};

/* The first page of a request. */
INLINE struct first_page first_page_of(struct bio *bio)
{
	struct first_page first = {};
	/* Not bio->bi_io_vec: the verifier forbids arithmetic on a typed pointer. */
	struct bio_vec *vector = read(bio, bi_io_vec);
	unsigned long compound, flags = 0;
	struct page *page;

	if (!vector)
		return first;
	vector = (struct bio_vec *)((u8 *)vector + (u64)bio->bi_iter.bi_idx * type_size(struct bio_vec));
	page = read(vector, bv_page);
	if (!page)
		return first;
	compound = read(page, compound_head);
	first.head = compound & 1 ? (struct page *)(compound - 1) : page;
	/* The first field of every page; a number here, a structure of one number elsewhere. */
	bpf_probe_read_kernel(&flags, sizeof(flags), first.head);
	first.swap_backed = flags & (1ul << enum_value(enum pageflags, PG_swapbacked));
	if (field_exists(struct folio, mapping)) {
		struct folio *folio = (struct folio *)first.head;

		first.mapping = read(folio, mapping);
		first.index = read(folio, index);
	} else {
		first.mapping = read(first.head, mapping);
		first.index = read(first.head, index);
	}
	first.number = ((u64)page - (u64)first.head) / type_size(struct page);
	first.offset_bytes = read(vector, bv_offset);
	return first;
}

#endif
