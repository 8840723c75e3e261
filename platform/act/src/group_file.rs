//! Files of control groups that hold a setting for all that runs in the group (kernel: Documentation/admin-guide/cgroup-v2.rst,
//! "IO Priority" and "IO Interface Files").
//!
//! `io.prio.class` gives requests of the group a class when they are submitted, those included that the kernel writes back
//! for it later, which no priority of a thread reaches. `io.weight` and `io.bfq.weight` divide a busy device between groups
//! beside each other. They are there when the io controller is enabled for the group and the kernel was built with the policy.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use brisk_core::knob::GroupSetting;
use brisk_formats::common_value;

use crate::Error;
use crate::journal::GroupEntry;

/// What kernels before 6.5 call `promote-to-rt`; later ones know both names.
const OLD_NAME: (&str, &str) = ("promote-to-rt", "none-to-rt");

/// What became of a file that was to be as before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PutBack {
    Done,
    /// The group is gone, or is a later one of its name.
    Gone,
    /// Somebody else has written this.
    Theirs(String),
}

/// The files of a setting in these groups; those that have none are left out.
pub(crate) fn files(groups: &[PathBuf], setting: GroupSetting) -> Vec<PathBuf> {
    groups.iter().map(|dir| dir.join(setting.to_string())).filter(|file| file.is_file()).collect()
}

/// Number that tells the file from one of a later group of the same name.
pub(crate) fn inode(file: &Path) -> Option<u64> {
    fs::metadata(file).ok().map(|metadata| metadata.ino())
}

/// What a file says, for all devices that have no line of their own.
///
/// # Errors
/// When it cannot be read, as when the group has gone.
pub(crate) fn get(file: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(file).map_err(|source| Error::Read { path: file.to_owned(), source })?;
    Ok(common_value(&text).to_owned())
}

/// Writes `value`; what stands then.
///
/// # Errors
/// When the kernel refuses it, or shows another one afterwards.
pub(crate) fn put(file: &Path, value: &str) -> Result<String, Error> {
    let write = |value: &str| fs::write(file, value);
    let written = match write(value) {
        Err(error) if value == OLD_NAME.0 && error.raw_os_error() == Some(libc::EINVAL) => write(OLD_NAME.1),
        written => written,
    };
    let (path, wanted) = (file.to_owned(), value.to_owned());
    if let Err(source) = written {
        let hint = "a class of io.prio.class, or a weight from 1 to 10000 (1000 for bfq)".to_owned();
        return Err(Error::Write { path, value: wanted, hint, source });
    }
    let found = get(file)?;
    if is_same(value, &found) { Ok(found) } else { Err(Error::NotTaken { path, wanted, found }) }
}

/// Whether the kernel means the same by both.
pub(crate) fn is_same(wanted: &str, found: &str) -> bool {
    wanted == found || (wanted, found) == OLD_NAME || (found, wanted) == OLD_NAME
}

/// Puts back what an entry says.
///
/// # Errors
/// When the kernel refuses it.
pub(crate) fn put_back(entry: &GroupEntry) -> Result<PutBack, Error> {
    let gone = || inode(&entry.file) != Some(entry.inode);
    let put = |value: &str| put(&entry.file, value).map(drop);
    put_back_value(entry.ours.as_ref(), &entry.original, gone, || get(&entry.file), put)
}

/// Gives a file the `original` value if it still has the one that brisk wrote; without `ours` a change was under way.
///
/// # Errors
/// When the kernel refuses it.
pub(crate) fn put_back_value(
    ours: Option<&String>,
    original: &str,
    gone: impl Fn() -> bool,
    get: impl Fn() -> Result<String, Error>,
    put: impl Fn(&str) -> Result<(), Error>,
) -> Result<PutBack, Error> {
    if gone() {
        return Ok(PutBack::Gone);
    }
    let outcome = get().and_then(|now| match ours {
        _ if now == original => Ok(PutBack::Done),
        Some(ours) if now != *ours => Ok(PutBack::Theirs(now)),
        _ => put(original).map(|()| PutBack::Done),
    });
    // It may have gone meanwhile.
    if outcome.is_err() && gone() { Ok(PutBack::Gone) } else { outcome }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_of_a_class_are_the_same() {
        assert!(is_same("promote-to-rt", "none-to-rt") && is_same("none-to-rt", "promote-to-rt"));
        assert!(is_same("idle", "idle") && !is_same("idle", "no-change"));
    }
}
