/*
 * Inodes that were mapped shared from a writable descriptor, as hashes; two with the same hash are taken for one, which
 * makes both durable. Zero is an empty place.
 */
#ifndef BRISK_MAPPED_H
#define BRISK_MAPPED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define MAPPED_MAX 256
static _Atomic uint64_t mapped[MAPPED_MAX];
static atomic_bool too_many_mapped;

static inline uint64_t inode_hash(uint64_t device, uint64_t inode)
{
	uint64_t hash = (inode + 1) * 0x9E3779B97F4A7C15u ^ (device + 1) * 0xC2B2AE3D27D4EB4Fu;

	return hash ? hash : 1;
}

static inline void remember_mapped(const struct stat *about)
{
	uint64_t hash = inode_hash(about->st_dev, about->st_ino);
	size_t i;

	for (i = 0; i < MAPPED_MAX; i++) {
		uint64_t empty = 0;

		if (atomic_compare_exchange_strong(&mapped[i], &empty, hash) || empty == hash)
			return;
	}
	atomic_store(&too_many_mapped, true);
}

static inline bool was_mapped(const struct stat *about)
{
	uint64_t hash = inode_hash(about->st_dev, about->st_ino);
	size_t i;

	for (i = 0; i < MAPPED_MAX; i++) {
		uint64_t one = atomic_load_explicit(&mapped[i], memory_order_acquire);

		if (one == hash)
			return true;
		if (!one)
			return atomic_load(&too_many_mapped);
	}
	return true;
}

#endif
