//! The place to measure: a directory or a block device, the device below it, and whether it may be measured.
//!
//! All checks run before the first write.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use brisk_sense::{DeviceNumber, Located, Mount, Sense};

use crate::error::{Error, Result};

/// File systems whose files live in memory.
const MEMORY_FILE_SYSTEMS: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "rootfs"];
/// File systems that show state of the kernel (Documentation/filesystems) and keep no files of users.
const KERNEL_FILE_SYSTEMS: [&str; 20] = [
    "autofs",
    "binder",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "cpuset",
    "debugfs",
    "devpts",
    "efivarfs",
    "functionfs",
    "fusectl",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "securityfs",
    "sysfs",
    "tracefs",
];
/// Kernel names of block devices in memory: compressed memory and the RAM disk.
const MEMORY_DEVICES: [&str; 2] = ["zram", "ram"];

/// Kind of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// A work file is created in it.
    Directory,
    /// It is overwritten.
    Device,
}

/// A place that may be measured.
#[derive(Debug, Clone)]
pub struct Place {
    /// Canonical path.
    pub path: PathBuf,
    /// Directory or device.
    pub kind: PlaceKind,
    /// The mount of a directory.
    pub mount: Option<Mount>,
    /// The block device below it, if it is a single one.
    pub device: Option<Located>,
    /// Whether the device was found by the file's device number. False for file systems on several devices, of which the
    /// mount table names only one.
    pub device_is_sole: bool,
}

impl Place {
    /// Examines `path`, and refuses what cannot or must not be measured.
    ///
    /// # Errors
    /// When it is missing, a plain file, a block device without `destroy_data` or in use, or read-only.
    pub fn find(sense: &Sense, path: &Path, destroy_data: bool) -> Result<Self> {
        let path = fs::canonicalize(path).map_err(|e| refused(path, "find", e))?;
        let metadata = fs::metadata(&path).map_err(|e| refused(&path, "examine", e))?;
        if metadata.file_type().is_block_device() {
            return if destroy_data {
                Self::device(sense, path, metadata.rdev())
            } else {
                Err(Error::NeedsDestroy(path))
            };
        }
        if !metadata.is_dir() {
            return Err(Error::NotADirectory(path));
        }
        if destroy_data {
            return Err(Error::DestroyOfDirectory(path));
        }
        Self::directory(sense, path, metadata.dev())
    }

    /// Refuses requests smaller than the sectors of the device.
    pub(crate) fn check_sectors(&self, sense: &Sense, block_bytes: u64) -> Result<()> {
        let Some(located) = &self.device else { return Ok(()) };
        let sector_bytes = u64::from(sense.block_queue(&located.disk.name)?.logical_block_bytes);
        if block_bytes < sector_bytes {
            return Err(Error::BadLoad(format!(
                "requests of {block_bytes} bytes are smaller than the {sector_bytes} bytes of a sector of {}: \
                 use a larger --block",
                located.disk.name
            )));
        }
        Ok(())
    }

    fn directory(sense: &Sense, path: PathBuf, dev: u64) -> Result<Self> {
        let mount = sense.mount_of(&path)?;
        if let Some(file_system) = mount.as_ref().map(|mount| &mount.fs_type)
            && KERNEL_FILE_SYSTEMS.contains(&file_system.as_str())
        {
            return Err(Error::NoStorage { path, file_system: file_system.clone() });
        }
        if mount.as_ref().is_some_and(Mount::is_read_only) {
            return Err(Error::ReadOnly(path));
        }
        let mut device = sense.block_device_of(DeviceNumber::from_dev(dev))?;
        let device_is_sole = device.is_some();
        if device.is_none()
            && let Some(source) = mount.as_ref().map(|mount| &mount.source).filter(|source| source.is_absolute())
            && let Ok(metadata) = fs::metadata(source)
            && metadata.file_type().is_block_device()
        {
            device = sense.block_device_of(DeviceNumber::from_dev(metadata.rdev()))?;
        }
        Ok(Self { path, kind: PlaceKind::Directory, mount, device, device_is_sole })
    }

    fn device(sense: &Sense, path: PathBuf, rdev: u64) -> Result<Self> {
        let Some(located) = sense.block_device_of(DeviceNumber::from_dev(rdev))? else {
            return Err(Error::Missing(path));
        };
        if located.disk.size_bytes == 0 {
            return Err(Error::NoMedium(path));
        }
        if located.disk.read_only {
            return Err(Error::ReadOnly(path));
        }
        if let Some(by) = user_of(sense, &path, rdev, &located)? {
            return Err(Error::InUse { path, by });
        }
        Ok(Self { path, kind: PlaceKind::Device, mount: None, device: Some(located), device_is_sole: true })
    }

    /// File system type of a directory.
    #[must_use]
    pub fn file_system(&self) -> Option<&str> {
        self.mount.as_ref().map(|mount| mount.fs_type.as_str())
    }

    /// The file system or device in memory that holds this place, if any: `tmpfs`, `zram0`, `loop0 over tmpfs`.
    ///
    /// # Errors
    /// When /proc or /sys cannot be read.
    pub fn memory(&self, sense: &Sense) -> Result<Option<String>> {
        if let Some(name) = self.file_system().filter(|name| MEMORY_FILE_SYSTEMS.contains(name)) {
            return Ok(Some(name.to_owned()));
        }
        let Some(disk) = self.device.as_ref().map(|located| &located.disk) else { return Ok(None) };
        if is_memory_device(&disk.name) {
            return Ok(Some(disk.name.clone()));
        }
        let Some(backing) = sense.loop_backing(&disk.name)? else { return Ok(None) };
        let under = sense.mount_of(&backing.file)?;
        Ok(under
            .filter(|mount| MEMORY_FILE_SYSTEMS.contains(&mount.fs_type.as_str()))
            .map(|mount| format!("{} over {}", disk.name, mount.fs_type)))
    }
}

/// Whether a kernel name is that of a block device in memory: `zram0` and `ram3`, not `ramdisk`.
#[must_use]
pub fn is_memory_device(name: &str) -> bool {
    MEMORY_DEVICES.iter().any(|stem| {
        name.strip_prefix(stem).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// The user of a block device, of one of its partitions, or of the disk that holds it as a partition.
fn user_of(sense: &Sense, path: &Path, rdev: u64, located: &Located) -> Result<Option<String>> {
    let mut numbers = vec![rdev];
    if located.partition.is_none() {
        let nodes = located.disk.partitions.iter().map(brisk_sense::Partition::node);
        numbers.extend(nodes.filter_map(|node| fs::metadata(node).ok()).map(|metadata| metadata.rdev()));
    } else {
        numbers.extend(fs::metadata(located.disk.node()).ok().map(|metadata| metadata.rdev()));
    }
    let is_it =
        |path: &Path| fs::metadata(path).is_ok_and(|m| m.file_type().is_block_device() && numbers.contains(&m.rdev()));
    for mount in sense.mounts()? {
        if numbers.iter().any(|dev| DeviceNumber::from_dev(*dev) == mount.device) || is_it(&mount.source) {
            return Ok(Some(format!("mounted on {}", mount.mount_point.display())));
        }
    }
    if sense.swaps()?.iter().any(|swap| is_it(&swap.path)) {
        return Ok(Some("swap".to_owned()));
    }
    if let Some(holder) = located.disk.holders.first() {
        return Ok(Some(format!("part of {holder}")));
    }
    for name in sense.block_device_names()?.iter().filter(|name| name.starts_with("loop")) {
        if let Some(backing) = sense.loop_backing(name)?
            && (backing.file == path || is_it(&backing.file))
        {
            return Ok(Some(format!("under {name}")));
        }
    }
    Ok(None)
}

/// The error for a path that cannot be examined or opened.
pub(crate) fn refused(path: &Path, doing: &'static str, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::ENXIO | libc::ENODEV | libc::ENOMEDIUM) => {
            Error::Missing(path.to_owned())
        }
        Some(libc::EACCES | libc::EPERM) => Error::Permission(path.to_owned()),
        Some(libc::EROFS) => Error::ReadOnly(path.to_owned()),
        Some(libc::EBUSY) => {
            Error::InUse { path: path.to_owned(), by: "mounted, swap, RAID or device mapper".to_owned() }
        }
        _ => Error::system(doing, path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_paths_and_plain_files_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let sense = Sense::default();
        let missing = dir.path().join("nothing");
        assert!(matches!(Place::find(&sense, &missing, false), Err(Error::Missing(p)) if p == missing));
        let file = dir.path().join("file");
        fs::write(&file, "x").expect("written");
        assert!(matches!(Place::find(&sense, &file, false), Err(Error::NotADirectory(_))));
        assert!(matches!(Place::find(&sense, &file.join("below"), false), Err(Error::Missing(_))));
        assert!(matches!(Place::find(&sense, Path::new("/dev/null"), false), Err(Error::NotADirectory(_))));
        assert!(matches!(Place::find(&sense, dir.path(), true), Err(Error::DestroyOfDirectory(_))));
    }

    #[test]
    fn file_systems_of_the_kernel_are_no_storage() {
        for (path, name) in [("/proc", "proc"), ("/proc/self/task", "proc"), ("/sys/block", "sysfs")] {
            let refused = Place::find(&Sense::default(), Path::new(path), false).expect_err("no storage");
            let is_named = matches!(&refused, Error::NoStorage { file_system, .. } if file_system == name);
            assert!(is_named && !refused.to_string().contains("does not exist"), "{path}: {refused}");
        }
    }

    #[test]
    fn a_directory_has_its_file_system() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = Place::find(&Sense::default(), dir.path(), false).expect("a place");
        assert_eq!(place.kind, PlaceKind::Directory);
        brisk_requires::requires!(RootMount);
        assert!(place.file_system().is_some());
    }

    #[test]
    fn tmpfs_is_memory() {
        brisk_requires::requires!(Shm);
        let shm = Path::new("/dev/shm");
        let sense = Sense::default();
        let place = Place::find(&sense, shm, false).expect("a place");
        assert_eq!(place.memory(&sense).expect("read").as_deref(), Some("tmpfs"));
    }

    #[test]
    fn only_numbered_memory_devices_are_memory() {
        for (name, memory) in [("zram0", true), ("ram15", true), ("ram", false), ("ramdisk0", false), ("sda", false)] {
            assert_eq!(is_memory_device(name), memory, "{name}");
        }
    }
}
