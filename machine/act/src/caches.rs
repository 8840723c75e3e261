//! Caches that can be dropped without undo, hence without a journal.

use std::io;

/// Drops clean pages of all files, and folders and inodes, from memory (Documentation/admin-guide/sysctl/vm.rst,
/// `drop_caches`, value 3). The whole machine reads them again from its storage when it needs them.
///
/// # Errors
/// Without root, or where /proc/sys is read-only.
pub fn drop_caches() -> io::Result<()> {
    std::fs::write("/proc/sys/vm/drop_caches", "3")
}
