//! The two libraries that apply rules, as files, in a place from which the loader of programs takes them.
//!
//! `LD_PRELOAD` separates names by blanks and colons and replaces `$ORIGIN` and its like (ld.so(8)), without any way to
//! write such a sign, and a file system that is mounted `noexec` gives no library. A home may have either. So the
//! libraries go into the first directory from which they can be loaded, and where there is none that is an error: a
//! rule that does not hold is never taken for one that does.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::mm::{MapFlags, ProtFlags};

/// The library for `LD_PRELOAD`: `c/preload.c` says what it does.
pub const PRELOAD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/brisk_sync.so"));

/// The extension for SQLite: `c/sqlite_vfs.c` says what it does.
pub const SQLITE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/brisk_sync_sqlite.so"));

/// Variable with the rules of a process, in the form of [`crate::policy::Rules::encode`].
pub const RULES_VARIABLE: &str = "BRISK_SYNC_RULES";

/// Variable with the absolute path of a file to which each sync of a process is appended.
pub const LOG_VARIABLE: &str = "BRISK_SYNC_LOG";

/// Where packages have the libraries.
const OF_THE_SYSTEM: &str = "/usr/lib/brisk";

/// Why no library can be loaded.
#[derive(Debug, thiserror::Error)]
#[error("no directory for the library can be used: {}", .tried.join("; "))]
pub struct NoPlace {
    tried: Vec<String>,
}

/// Writes both libraries into a directory: `brisk_sync.so` and `brisk_sync_sqlite.so`. Files with the same content
/// stay.
///
/// # Errors
/// When a file cannot be written.
pub fn install(directory: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let preload = directory.join("brisk_sync.so");
    for (path, content) in [(&preload, PRELOAD), (&directory.join("brisk_sync_sqlite.so"), SQLITE)] {
        if fs::read(path).is_ok_and(|there| there == content) {
            continue;
        }
        // A process that has the old one mapped keeps it.
        let new = path.with_extension(format!("new{}", std::process::id()));
        fs::write(&new, content)?;
        fs::rename(&new, path)?;
    }
    Ok(preload)
}

/// A preload library that the loader takes, in `wanted` if that can be, else where the package has it, in `runtime`
/// (the user's own directory for as long as the session lasts), or in a directory of this user for temporary files.
///
/// # Errors
/// When none of them can be used.
pub fn loadable(wanted: &Path, runtime: Option<&Path>) -> Result<PathBuf, NoPlace> {
    let user = rustix::process::getuid().as_raw();
    let own = |parent: &Path| parent.join(format!("brisk-sync-{user}"));
    let mut tried = Vec::new();
    let mut attempt = |directory: PathBuf, outcome: Result<PathBuf, String>| match outcome {
        Ok(library) => Some(library),
        Err(why) => {
            tried.push(format!("{}: {why}", directory.display()));
            None
        }
    };
    let in_wanted = || named(wanted).and_then(|()| install(wanted).map_err(|error| error.to_string())).and_then(mapped);
    let of_package = || {
        let library = Path::new(OF_THE_SYSTEM).join("brisk_sync.so");
        match fs::read(&library) {
            Ok(there) if there == PRELOAD => mapped(library),
            Ok(_) => Err("it is of another version".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    };
    let in_own = |directory: &Path| {
        let private = named(directory).and_then(|()| private(directory, user));
        private.and_then(|()| install(directory).map_err(|error| error.to_string())).and_then(mapped)
    };
    let found = attempt(wanted.to_owned(), in_wanted())
        .or_else(|| attempt(OF_THE_SYSTEM.into(), of_package()))
        .or_else(|| runtime.and_then(|runtime| attempt(own(runtime), in_own(&own(runtime)))))
        .or_else(|| {
            ["/tmp", "/var/tmp"].into_iter().find_map(|parent| {
                let directory = own(Path::new(parent));
                attempt(directory.clone(), in_own(&directory))
            })
        });
    found.ok_or(NoPlace { tried })
}

/// Whether `LD_PRELOAD` can name a file in this directory.
fn named(directory: &Path) -> Result<(), String> {
    let bytes = directory.as_os_str().as_bytes();
    let sign = bytes.iter().find(|byte| b": \t\n$".contains(byte));
    match sign {
        _ if !directory.is_absolute() => Err("it is no absolute path".to_owned()),
        Some(sign) => Err(format!("LD_PRELOAD cannot name a path with {:?}", char::from(*sign))),
        None => Ok(()),
    }
}

/// Makes a directory that only this user can write, unless it is there: a directory of another user is refused, as that
/// user could replace the library.
fn private(directory: &Path, user: u32) -> Result<(), String> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.to_string()),
        _ => {}
    }
    let about = fs::symlink_metadata(directory).map_err(|error| error.to_string())?;
    if !about.is_dir() || about.uid() != user || about.mode() & 0o022 != 0 {
        return Err("it is of another user, or others can write to it".to_owned());
    }
    Ok(())
}

/// Checks that a program can be loaded from there.
fn mapped(library: PathBuf) -> Result<PathBuf, String> {
    let file = fs::File::open(&library).map_err(|error| error.to_string())?;
    let protection = ProtFlags::READ | ProtFlags::EXEC;
    // SAFETY: a new mapping at a place that the kernel chooses overlaps nothing; it is removed below, and nothing
    // refers to it.
    let map = unsafe { rustix::mm::mmap(std::ptr::null_mut(), 1, protection, MapFlags::PRIVATE, &file, 0) };
    let map = map.map_err(|error| format!("nothing can be run from there (mounted noexec?): {error}"))?;
    // SAFETY: the mapping made above, of which this is the only user.
    let _ = unsafe { rustix::mm::munmap(map, 1) };
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_library_is_where_the_loader_takes_it_whatever_the_home_is_called() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["plain", "a b", "a:b", "a\tb", "$ORIGIN", "é", "a'b\"c"] {
            let wanted = dir.path().join(name).join("brisk/sync");
            let library = loadable(&wanted, Some(dir.path())).expect("a place");
            let bytes = library.as_os_str().as_bytes();
            assert!(!bytes.iter().any(|byte| b": \t$".contains(byte)), "{}", library.display());
            assert_eq!(library.starts_with(&wanted), ["plain", "é", "a'b\"c"].contains(&name), "{name}");
            assert_eq!(fs::read(&library).expect("there"), PRELOAD);
            assert!(library.with_file_name("brisk_sync_sqlite.so").is_file());
        }
    }

    #[test]
    fn a_directory_that_others_can_write_is_not_used() {
        let dir = tempfile::tempdir().expect("a directory");
        let user = rustix::process::getuid().as_raw();
        let own = dir.path().join(format!("brisk-sync-{user}"));
        fs::create_dir(&own).expect("made");
        fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).expect("a mode");
        assert!(private(&own, user).is_err());
        let library = loadable(Path::new("/a b"), Some(dir.path())).expect("another place");
        assert!(!library.starts_with(dir.path()), "{}", library.display());
        fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).expect("a mode");
        assert!(private(&own, user).is_ok() && private(&own, user + 1).is_err());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&own, &link).expect("a link");
        assert!(private(&link, user).is_err());
    }
}
