//! The two libraries that apply rules, as files.

use std::io;
use std::path::{Path, PathBuf};

/// The library for `LD_PRELOAD`: `c/preload.c` says what it does.
pub const PRELOAD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/brisk_sync.so"));

/// The extension for SQLite: `c/sqlite_vfs.c` says what it does.
pub const SQLITE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/brisk_sync_sqlite.so"));

/// Variable with the rules of a process, in the form of [`crate::policy::Rules::encode`].
pub const RULES_VARIABLE: &str = "BRISK_SYNC_RULES";

/// Variable with the absolute path of a file to which each sync of a process is appended.
pub const LOG_VARIABLE: &str = "BRISK_SYNC_LOG";

/// Writes both libraries into a directory: `brisk_sync.so` and `brisk_sync_sqlite.so`. Files with the same content stay.
///
/// # Errors
/// When a file cannot be written.
pub fn install(directory: &Path) -> io::Result<PathBuf> {
    std::fs::create_dir_all(directory)?;
    let preload = directory.join("brisk_sync.so");
    for (path, content) in [(&preload, PRELOAD), (&directory.join("brisk_sync_sqlite.so"), SQLITE)] {
        if std::fs::read(path).is_ok_and(|there| there == content) {
            continue;
        }
        // A process that has the old one mapped keeps it.
        let new = path.with_extension(format!("new{}", std::process::id()));
        std::fs::write(&new, content)?;
        std::fs::rename(&new, path)?;
    }
    Ok(preload)
}
