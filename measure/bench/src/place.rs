//! The place to measure: a directory or a block device, the device below it, and whether it may be measured.
//!
//! All checks run before the first write.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use brisk_sense::{DeviceNumber, Located, Mount, Sense, Stack};

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// A work file is created in it.
    Directory,
    Device,
}

/// A place that may be measured.
#[derive(Debug, Clone)]
pub struct Place {
    pub path: PathBuf,
    /// Directory or device.
    pub kind: PlaceKind,
    pub mount: Option<Mount>,
    /// The disk below it, and the partition of that, where there is a single one.
    pub device: Option<Located>,
    /// Whether all requests go to that disk alone. False where there may be others that the kernel does not name.
    pub device_is_sole: bool,
    /// All devices below it.
    pub stack: Stack,
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
            return Self::device(sense, path, metadata.rdev(), destroy_data);
        }
        if !metadata.is_dir() {
            return Err(Error::NotADirectory(path));
        }
        if destroy_data {
            return Err(Error::DestroyOfDirectory(path));
        }
        Self::directory(sense, path)
    }

    /// The disk below it.
    ///
    /// # Errors
    /// When there is none, or there are several.
    pub fn sole(&self) -> Result<&Located> {
        self.device.as_ref().ok_or_else(|| Error::NoDevice { path: self.path.clone(), disks: self.several() })
    }

    /// The disks below it, where there are several.
    #[must_use]
    pub fn several(&self) -> Vec<String> {
        let disks = self.stack.disks.iter().map(|name| brisk_sense::device_name(name));
        if self.stack.disks.len() > 1 { disks.collect() } else { Vec::new() }
    }

    /// The disk whose counters have the requests to this place as they are made: where a file system lies in a file,
    /// the loop device, since the kernel passes them on to the disk of the file at another time and in other pieces.
    pub(crate) fn counted(&self, sense: &Sense) -> Option<Located> {
        match self.kind {
            PlaceKind::Directory => {
                let storage = sense.storage().ok()?.with_files_as_disks();
                storage.located(&storage.below_path(&self.path))
            }
            PlaceKind::Device => self.device.clone(),
        }
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

    fn directory(sense: &Sense, path: PathBuf) -> Result<Self> {
        let mount = sense.mount_of(&path)?;
        if let Some(file_system) = mount.as_ref().map(|mount| &mount.fs_type)
            && KERNEL_FILE_SYSTEMS.contains(&file_system.as_str())
        {
            return Err(Error::NoStorage { path, file_system: file_system.clone() });
        }
        if mount.as_ref().is_some_and(Mount::is_read_only) {
            return Err(Error::ReadOnly(path));
        }
        let storage = sense.storage()?;
        let stack = storage.below_path(&path);
        let device = storage.located(&stack);
        let device_is_sole = device.is_some() && !stack.hides;
        Ok(Self { path, kind: PlaceKind::Directory, mount, device, device_is_sole, stack })
    }

    fn device(sense: &Sense, path: PathBuf, rdev: u64, destroy_data: bool) -> Result<Self> {
        let Some(named) = sense.block_device_of(DeviceNumber::from_dev(rdev))? else {
            return Err(Error::Missing(path));
        };
        if named.disk.size_bytes == 0 {
            return Err(Error::NoMedium(path));
        }
        let storage = sense.storage()?;
        let name = named.partition.as_ref().map_or(&named.disk.name, |partition| &partition.name);
        if let Some(by) = storage.uses_of(name).first() {
            return Err(Error::InUse { path, by: by.to_string() });
        }
        if !destroy_data {
            return Err(Error::NeedsDestroy(path));
        }
        if named.disk.read_only {
            return Err(Error::ReadOnly(path));
        }
        let mut stack = storage.below_device(name);
        // A loop device that is named is meant itself, and not the disk of its file.
        if named.disk.slaves.is_empty() {
            stack.disks = [named.disk.name.clone()].into();
        }
        let device = storage.located(&stack);
        let device_is_sole = device.is_some();
        Ok(Self { path, kind: PlaceKind::Device, mount: None, device, device_is_sole, stack })
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
        if let Some(name) = self.stack.parts.iter().find(|name| is_memory_device(name)) {
            return Ok(Some(name.clone()));
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
    use crate::machine_tree::Machine;

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

    const NVME: &str = "pci0000:00/nvme/nvme0";

    /// A machine on whose /dev/dm-0 a directory of this one is; with what a head of a result says of it.
    fn with_volume(machine: Machine, dir: &Path) -> Machine {
        let dir = fs::canonicalize(dir).expect("there");
        machine
            .with("proc/sys/kernel/osrelease", "6.12.0\n")
            .with("sys/devices/system/cpu/online", "0-3\n")
            .mounts(&[("/dev/dm-0", dir.to_str().expect("UTF-8"), "ext4", "rw")])
    }

    #[test]
    fn what_is_measured_below_a_volume_is_its_disk_by_its_own_words() {
        let dir = tempfile::tempdir().expect("a directory");
        let machine = Machine::new()
            .disk(NVME, "nvme0n1", &["nvme0n1p1", "nvme0n1p3"])
            .set("nvme0n1", "device/model", "EXAMPLE 512GB")
            .set("nvme0n1", "device/firmware_rev", "1B2Q")
            .stacked("dm-0", &["nvme0n1p3"]);
        let machine = with_volume(machine, dir.path());
        let sense = machine.sense();
        let place = Place::find(&sense, dir.path(), false).expect("a place");
        assert!(place.device_is_sole && place.several().is_empty());
        let device = crate::environment::environment(&sense, &place).expect("read").device.expect("one");
        assert_eq!((device.name.as_str(), device.partition.as_deref()), ("nvme0n1", Some("nvme0n1p3")));
        assert_eq!((device.kind.as_deref(), device.firmware.as_deref()), (Some("nvme"), Some("1B2Q")));
        assert_eq!((device.model.as_deref(), device.size_bytes), (Some("EXAMPLE 512GB"), 2_000_000 * 512));
        assert_eq!(device.scheduler.as_deref(), Some("mq-deadline"));
    }

    #[test]
    fn a_place_on_several_disks_has_no_device_and_names_them() {
        let dir = tempfile::tempdir().expect("a directory");
        let machine = Machine::new()
            .disk(NVME, "nvme0n1", &["nvme0n1p1"])
            .disk("pci0000:00/nvme/nvme1", "nvme1n1", &[])
            .stacked("md0", &["nvme0n1p1", "nvme1n1"])
            .stacked("dm-0", &["md0"]);
        let machine = with_volume(machine, dir.path());
        let sense = machine.sense();
        let place = Place::find(&sense, dir.path(), false).expect("a place");
        let refused = place.sole().expect_err("two").to_string();
        assert!(refused.contains("no single block device") && refused.contains("on nvme0n1 and nvme1n1"), "{refused}");
        let environment = crate::environment::environment(&sense, &place).expect("read");
        assert_eq!((environment.device, environment.disks), (None, place.several()));
    }

    /// A node of this number; `None` where this process may not make one.
    fn node(dir: &Path, name: &str, number: &str) -> Option<PathBuf> {
        use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
        let number: DeviceNumber = number.parse().expect("a number");
        let (path, mode) = (dir.join(name), Mode::from_raw_mode(0o600));
        match mknodat(CWD, &path, FileType::BlockDevice, mode, makedev(number.major, number.minor)) {
            Ok(()) => Some(path),
            Err(errno) => {
                brisk_requires::skip(brisk_requires::Capability::Root, format!("no nodes of devices: {errno}"));
                None
            }
        }
    }

    #[test]
    fn a_device_that_is_named_is_measured_as_its_disk_unless_it_is_in_use() {
        let dir = tempfile::tempdir().expect("a directory");
        let machine = Machine::new()
            .disk(NVME, "nvme0n1", &["nvme0n1p1", "nvme0n1p2"])
            .disk("virtual/block", "loop3", &[])
            .set("loop3", "loop/backing_file", "/data/image")
            .stacked("dm-0", &["nvme0n1p2"])
            .mounts(&[("/dev/nvme0n1p1", "/data", "ext4", "ro")]);
        let node = |name: &str| node(dir.path(), name, &machine.number(name));
        let Some(volume) = node("dm-0") else { return };
        let [disk, first, second, image] =
            ["nvme0n1", "nvme0n1p1", "nvme0n1p2", "loop3"].map(|name| node(name).expect("root"));
        let find = |path: &Path, destroy_data| Place::find(&machine.sense(), path, destroy_data);
        let found = |path: &Path| {
            let located = find(path, true).expect("a place").device.expect("one disk");
            (located.disk.name, located.partition.map(|partition| partition.name))
        };
        assert_eq!(found(&volume), ("nvme0n1".to_owned(), Some("nvme0n1p2".to_owned())));
        assert_eq!(found(&image), ("loop3".to_owned(), None), "it is meant itself");
        assert!(matches!(find(&volume, false), Err(Error::NeedsDestroy(_))));
        for (path, user) in
            [(&disk, "mounted read-only at /data"), (&first, "mounted read-only at /data"), (&second, "under dm-0")]
        {
            for destroy_data in [true, false] {
                let refused = find(path, destroy_data).expect_err("in use").to_string();
                assert!(refused.contains(user) && !refused.contains("--destroy-data"), "{refused}");
            }
        }
        let machine = machine.mounts(&[]);
        let free = |name: &str| Place::find(&machine.sense(), &dir.path().join(name), true).expect("a place");
        assert_eq!(
            free("nvme0n1p1").device.and_then(|it| it.partition).map(|it| it.name).as_deref(),
            Some("nvme0n1p1")
        );
    }

    #[test]
    fn a_loop_device_on_the_way_is_not_the_disk_and_its_cache_is_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        let machine = Machine::new()
            .disk(NVME, "nvme0n1", &["nvme0n1p1"])
            .disk("virtual/block", "loop7", &[])
            .set("loop7", "loop/backing_file", "/home/x.home")
            .stacked("dm-0", &["loop7"]);
        let at = fs::canonicalize(dir.path()).expect("there");
        let at = at.to_str().expect("UTF-8");
        let machine = machine.mounts(&[("/dev/nvme0n1p1", "/home", "ext4", "rw"), ("/dev/dm-0", at, "ext4", "rw")]);
        let place = Place::find(&machine.sense(), dir.path(), false).expect("a place");
        assert_eq!(place.sole().expect("one").disk.name, "nvme0n1");
        assert_eq!(crate::cache::cached_loop(&machine.sense(), &place).expect("read").as_deref(), Some("loop7"));
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
