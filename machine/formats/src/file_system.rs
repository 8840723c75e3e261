//! Kinds of file systems by their magic numbers (statfs(2), include/uapi/linux/magic.h).

/// Magic numbers of file systems on one local block device, whose files are read by that device alone: ext2 to ext4,
/// f2fs, btrfs, xfs, erofs, squashfs, vfat, exfat, nilfs2.
const ON_BLOCK_DEVICES: [u32; 9] =
    [0xef53, 0xf2f5_2010, 0x9123_683e, 0x5846_5342, 0xe0f5_e1e2, 0x7371_7368, 0x4d44, 0x2011_bab0, 0x3434];

/// Whether a file system of this magic number is on a local block device. Network file systems, FUSE, those in memory,
/// and overlays, whose layers may be any of these, are not.
#[must_use]
pub fn is_on_block_device(magic: u64) -> bool {
    // Some architectures extend the sign.
    ON_BLOCK_DEVICES.contains(&(magic as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_and_user_space_file_systems_are_not_on_block_devices() {
        assert!(is_on_block_device(0xef53) && is_on_block_device(0xf2f5_2010));
        assert!(is_on_block_device(0xffff_ffff_9123_683e), "btrfs, extended");
        // nfs, fuse, cifs, smb2, 9p, tmpfs, proc, overlay.
        for magic in [0x6969, 0x6573_5546, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x0102_1994, 0x9fa0, 0x794c_7630] {
            assert!(!is_on_block_device(magic), "{magic:x}");
        }
    }
}
