/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel interface of the programs: helpers, and the fields of kernel structures that they read.
 *
 * The structures here only name fields; their offsets are resolved at load time (CO-RE) from the kernel's own type
 * information. One object therefore works on every kernel that has these fields, and no kernel headers are needed to
 * build it.
 */
#ifndef BRISK_PROBES_KERNEL_H
#define BRISK_PROBES_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

/* Numbers of enum bpf_func_id (include/uapi/linux/bpf.h), which never change. */
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u64 (*bpf_get_socket_cookie)(void *sk) = (void *)46;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void *(*bpf_get_current_task_btf)(void) = (void *)158;
static long (*bpf_task_pt_regs)(void *task) = (void *)175;

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
};
#define BPF_ANY 0
#define BPF_RB_NO_WAKEUP 1

/* Description of a map for the loader. */
#define MAP_NUMBER(name, value) int(*name)[value]
#define MAP_TYPE(name, value) typeof(value) *name

/* Queries of the running kernel's type information (clang's CO-RE builtins). */
#define FIELD_BYTE_OFFSET 0
#define FIELD_BYTE_SIZE 1
#define FIELD_EXISTS 2
#define FIELD_LSHIFT_U64 4
#define FIELD_RSHIFT_U64 5
#define field_exists(type, field) __builtin_preserve_field_info(((type *)0)->field, FIELD_EXISTS)
#define field_offset(type, field) __builtin_preserve_field_info(((type *)0)->field, FIELD_BYTE_OFFSET)
#define type_size(type) __builtin_preserve_type_info(*(type *)0, 1)
#define enum_value(type, name) __builtin_preserve_enum_value(*(type *)name, 1)

/* Reads a field through an untrusted pointer; zero where it cannot be read. */
#define read(pointer, field)                                                                        \
	({                                                                                          \
		typeof(pointer) from_ = (pointer);                                                  \
		typeof(from_->field) value_; /* the helper fills it in, either way */               \
		bpf_probe_read_kernel(&value_, sizeof(value_),                                      \
				      __builtin_preserve_access_index(&from_->field));              \
		value_;                                                                             \
	})

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];	/* one for each controller */
	struct cgroup *dfl_cgrp;
};

struct thread_info {
	u32 status;
};

struct bio_list;

struct task_struct {
	struct thread_info thread_info;
	u32 __state;
	u32 flags;
	int on_cpu;
	int pid;
	int tgid;
	u32 in_iowait : 1;
	struct task_struct *real_parent;
	char comm[16];
	struct css_set *cgroups;
	struct bio_list *bio_list;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long orig_ax;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	u64 pstate;
	s32 syscallno;
};
#else
#error "where this processor keeps the number of a system call is unknown: add it in kernel.h and threads.h"
#endif

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	struct hlist_head i_dentry;
};

struct qstr {
	u32 len;
	const u8 *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct address_space {
	struct inode *host;
};

typedef struct {
	unsigned long val;
} swp_entry_t;

struct page {
	unsigned long flags;
	unsigned long compound_head;
	struct address_space *mapping;
	unsigned long index;
	unsigned long private;
	unsigned long memcg_data;
};

/* Since Linux 5.16; before, its fields are those of struct page. `swap` is since 6.6; before, it is in `private`. */
struct folio {
	struct address_space *mapping;
	unsigned long index;
	swp_entry_t swap;
	unsigned long memcg_data;
};

struct bio_vec {
	struct page *bv_page;
	u32 bv_len;
	u32 bv_offset;
};

struct bvec_iter {
	u64 bi_sector;
	u32 bi_size;
	u32 bi_idx;
};

struct gendisk {
	struct block_device *part0;
};

struct block_device {
	struct gendisk *bd_disk;
	u32 bd_dev;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	u32 bi_opf;
	struct bvec_iter bi_iter;
	struct bio_vec *bi_io_vec;
};

struct request {
	struct bio *bio;
};

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	int sk_err;
};

#pragma clang attribute pop

/* The values below are this machine's; enum_value() gives those of the running kernel. */
enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
	__REQ_SWAP = 24,
};

enum pageflags {
	PG_swapbacked = 17,
};

enum cgroup_subsys_id {
	memory_cgrp_id = 4,
};

#endif
