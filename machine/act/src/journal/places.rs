//! What a journal may name: the files of knobs, below the mounts that they are on.
//!
//! A journal is what `brisk reset` does as root, without the limits of the service. One that was written by a daemon
//! that others have taken over must not name any other file.

use std::path::{Component, Path, PathBuf};

use brisk_core::knob::{Knob, QueueSetting};
use brisk_formats::parse_mounts;
use rustix::fs::statfs;

use super::{Entry, Record};
use crate::Paths;
use crate::actuator::vm_file;
use crate::once::files_of_groups;
use crate::setting_file::{By, FileEntry, Identity};

/// Where knobs are.
pub(super) struct Places<'a> {
    paths: &'a Paths,
    /// Mounts of control groups, of both versions.
    groups: Vec<PathBuf>,
}

impl<'a> Places<'a> {
    pub(super) fn of(paths: &'a Paths) -> Self {
        let text = std::fs::read(paths.proc.join("self/mountinfo")).unwrap_or_default();
        let mounts = parse_mounts(&text).unwrap_or_default().into_iter();
        let groups = mounts.filter(|mount| matches!(mount.fs_type.as_str(), "cgroup" | "cgroup2"));
        Self { paths, groups: groups.map(|mount| mount.mount_point).collect() }
    }

    /// Drops all of a record that names something else; gives how many.
    pub(super) fn drop_others(&self, record: &mut Record) -> usize {
        let before = record.len();
        record.entries.retain(|entry| self.has_queue(entry));
        record.files.retain(|entry| self.has_file(entry));
        before - record.len()
    }

    fn has_queue(&self, entry: &Entry) -> bool {
        let block = self.paths.sysfs.join("block");
        let is_plain = |name: &str| !matches!(name, "." | "..");
        entry.device.strip_prefix(&block).is_ok_and(|name| name.components().count() == 1 && is_below(name))
            && entry.device.parent() == Some(&block)
            && !matches!(&entry.setting, QueueSetting::Tunable { name, .. } if !is_plain(name))
            && is_on(&entry.device, &self.paths.sysfs)
    }

    fn has_file(&self, entry: &FileEntry) -> bool {
        let (Some(dir), Some(name)) = (entry.file.parent(), entry.file.file_name()) else { return false };
        let is_named = match &entry.by {
            By::Knob(Knob::Vm { setting }) => {
                let file = vm_file(self.paths, *setting);
                let root = [&self.paths.proc, &self.paths.sysfs].into_iter().find(|root| file.starts_with(root));
                return entry.of == Identity::Kernel && entry.file == file && root.is_some_and(|root| is_on(dir, root));
            }
            By::Knob(Knob::Group { setting, .. }) => name == setting.name(),
            By::Knob(_) => false,
            By::Group(_) => files_of_groups().into_iter().any(|known| name == known),
        };
        let is_in = |mount: &PathBuf| dir.strip_prefix(mount).is_ok_and(is_below) && is_on(dir, mount);
        is_named && matches!(entry.of, Identity::Inode(_)) && self.groups.iter().any(is_in)
    }
}

/// Whether a relative path goes down alone.
fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a directory is on a file system of the same type as another; one that is gone has nothing that is written.
fn is_on(dir: &Path, mount: &Path) -> bool {
    match (statfs(dir), statfs(mount)) {
        (Ok(here), Ok(there)) => here.f_type == there.f_type,
        (Err(error), _) => error == rustix::io::Errno::NOENT,
        _ => false,
    }
}
