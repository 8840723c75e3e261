/* SPDX-License-Identifier: GPL-2.0-only */
/* File names: reported once for each file and directory; user space composes paths from them. */
#ifndef BRISK_PROBES_FILES_H
#define BRISK_PROBES_FILES_H

#include "group.h"

#define PATH_DEPTH 32

struct file {
	u64 inode;
	u64 device;
};

/* Reported names. May forget some: a name is then reported again, which is harmless. */
struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_LRU_HASH);
	MAP_NUMBER(max_entries, 16384);
	MAP_TYPE(key, struct file);
	MAP_TYPE(value, u8);
} reported SEC(".maps");

INLINE bool tell_name(u64 now, struct dentry *entry, struct dentry *parent, const struct file *file)
{
	struct file_name *record = new_record(struct file_name, now, 0, KIND_FILE_NAME, 0);
	struct inode *parent_inode;
	u32 length;

	if (!record)
		return false;
	parent_inode = read(parent, d_inode);
	record->inode = file->inode;
	record->parent_inode = read(parent_inode, i_ino);
	record->device = file->device;
	length = read(entry, d_name.len);
	if (length > NAME_BYTES - 1)
		length = NAME_BYTES - 1;
	record->name_bytes = length;
	bpf_probe_read_kernel(record->name, length, read(entry, d_name.name));
	submit(record);
	return true;
}

/* Reports the names of a file and of the directories above it, as far as not yet reported. */
INLINE void tell_path(u64 now, struct inode *inode, u32 device)
{
	struct hlist_node *node = read(inode, i_dentry.first);
	struct dentry *entry;

	/* A file without a name: removed, or internal to the file system. */
	if (!node)
		return;
	entry = (struct dentry *)((u8 *)node - field_offset(struct dentry, d_u.d_alias));
	for (int i = 0; i < PATH_DEPTH; i++) {
		struct inode *at = read(entry, d_inode);
		struct dentry *parent = read(entry, d_parent);
		struct file file = { .inode = read(at, i_ino), .device = device };
		u8 yes = 1;

		if (!at || bpf_map_lookup_elem(&reported, &file))
			return;
		if (!tell_name(now, entry, parent, &file))
			return;
		bpf_map_update_elem(&reported, &file, &yes, BPF_ANY);
		if (parent == entry)
			return;
		entry = parent;
	}
}

#endif
