//! What stands on what: which disks are below a path, and what uses a disk. Measuring, tuning, managing and the checks
//! before data is destroyed all ask here, so that they name the same device for the same path.
//!
//! A [`Stack`] leads from a file system, a swap area or a device down to disks: through partitions, device mapper
//! (LUKS, LVM, verity), md, bcache, the write-back device of zram, files of loop devices, and file systems on several
//! devices (btrfs, bcachefs, external journals) or on others (overlay, eCryptfs). A *disk* is a whole device that is
//! built on no other one of this machine. A multipath device is one, since its paths lead to one and the same; so is a
//! loop device of the laboratory, and one whose file is on no disk.
//!
//! Properties, each with a test (`machine/sense/tests/all/storage.rs`): stacks of any height end at their disks; what
//! hides its disks is not whole; everything that uses a disk is named; cycles end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use brisk_formats::{DeviceNumber, Mount, Swap, parse_mounts, sysfs_name};
use rustix::fs::{Mode, OFlags};

use crate::block::{BlockDevice, Located};
use crate::error::{Absent as _, Result};
use crate::identity::MULTIPATH;
use crate::machine::Sense;

/// File systems in user space and others whose files are on devices that neither number nor source names.
const HIDE_THEIR_DISKS: [&str; 3] = ["fuse", "zfs", "bcachefs"];
/// File systems on directories of others, which their source names.
const ON_DIRECTORIES: [&str; 3] = ["ecryptfs", "sdcardfs", "esdfs"];
/// Options of overlay that name directories. `lowerdir` of `a::b` and `datadir+` name such that only hold data
/// (Documentation/filesystems/overlayfs.rst, "Data-only lower layers"), as composefs has them.
const LAYERS: [&str; 4] = ["lowerdir", "upperdir", "lowerdir+", "datadir+"];
/// Layers upon layers that are followed.
const LAYERS_MAX: usize = 8;
/// Where the kernel lists the devices of each btrfs.
const BTRFS: &str = "/sys/fs/btrfs";

/// The devices below something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stack {
    /// Every device and partition on the way, disks too, by names of /sys.
    pub parts: BTreeSet<String>,
    /// The disks at its ends, by names of /sys.
    pub disks: BTreeSet<String>,
    /// Whether there may be disks that the kernel does not name.
    pub hides: bool,
}

impl Stack {
    /// Its disk, where there is a single one.
    #[must_use]
    pub fn sole_disk(&self) -> Option<&str> {
        let mut disks = self.disks.iter();
        disks.next().filter(|_| disks.next().is_none()).map(String::as_str)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// A file system on it is mounted.
    Mounted {
        at: PathBuf,
        /// Whether it cannot be written there.
        read_only: bool,
        /// The process that sees the mount, where this one does not.
        by_process: Option<u32>,
    },
    /// It holds this swap area.
    Swap(PathBuf),
    /// Another device is built on it.
    Under {
        device: String,
        /// What the device mapper calls it.
        volume: Option<String>,
    },
    /// It belongs to a mounted file system of this type.
    Member(&'static str),
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { at, read_only, by_process } => {
                let how = if *read_only { "mounted read-only" } else { "mounted" };
                write!(f, "{how} at {}", at.display())?;
                by_process.map_or(Ok(()), |pid| write!(f, " for process {pid}"))
            }
            Self::Swap(path) => write!(f, "swap area {}", path.display()),
            Self::Under { device, volume: None } => write!(f, "under {device}"),
            Self::Under { device, volume: Some(volume) } => write!(f, "under {device} ({volume})"),
            Self::Member(fs_type) => write!(f, "part of a {fs_type}"),
        }
    }
}

/// Whether a device can be opened exclusively.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Nothing holds it.
    Free,
    /// Something holds it.
    Held,
    /// It has no node, or this process may not open it.
    Unknown,
}

/// The devices, mounts and swap areas of a machine at one moment.
#[derive(Debug, Clone)]
pub struct Storage {
    sense: Sense,
    devices: Vec<BlockDevice>,
    mounts: Vec<Mount>,
    swaps: Vec<Swap>,
    /// What the device mapper calls its devices.
    volumes: BTreeMap<String, String>,
    /// Devices of which each path leads to the same disk.
    multipaths: BTreeSet<String>,
    /// Files of loop devices that are followed, and devices that zram writes back to.
    files: BTreeMap<String, PathBuf>,
    /// The devices of each mounted btrfs.
    btrfs: Vec<BTreeSet<String>>,
}

impl Sense {
    /// What stands on what at this moment.
    ///
    /// # Errors
    /// When /sys or the table of mounts is missing, not readable or not understood.
    pub fn storage(&self) -> Result<Storage> {
        let devices: Vec<BlockDevice> =
            self.block_devices()?.into_iter().filter(|device| !self.is_hidden(&device.name)).collect();
        let (mut volumes, mut multipaths, mut files) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        for device in &devices {
            let (name, dir) = (&device.name, format!("/sys/block/{}", device.name));
            if let Some(volume) = self.text_if_any(format!("{dir}/dm/name")) {
                volumes.insert(name.clone(), volume);
            }
            if self.text_if_any(format!("{dir}/dm/uuid")).is_some_and(|uuid| uuid.starts_with(MULTIPATH)) {
                multipaths.insert(name.clone());
            }
            let backing = if name.starts_with("loop") { self.loop_backing(name).ok().flatten() } else { None };
            if let Some(backing) = backing.filter(|backing| !backing.deleted)
                && !self.identity(device)?.is_lab
            {
                files.insert(name.clone(), backing.file);
            }
            let written_back = self.text_if_any(format!("{dir}/backing_dev"));
            if let Some(node) = written_back.filter(|node| node.starts_with('/') && name.starts_with("zram")) {
                files.insert(name.clone(), node.into());
            }
        }
        let mut btrfs = Vec::new();
        for uuid in self.names_in(BTRFS)? {
            btrfs.push(self.names_in(format!("{BTRFS}/{uuid}/devices"))?.into_iter().collect());
        }
        btrfs.retain(|of: &BTreeSet<String>| !of.is_empty());
        let (mounts, swaps) = (self.mounts()?, self.swaps().or_absent()?.unwrap_or_default());
        Ok(Storage { sense: self.clone(), devices, mounts, swaps, volumes, multipaths, files, btrfs })
    }

    /// A path of a multipath device of NVMe, which serves no requests of its own.
    fn is_hidden(&self, name: &str) -> bool {
        self.text_if_any(format!("/sys/block/{name}/hidden")).is_some_and(|hidden| hidden == "1")
    }

    /// Tries to open the device `name` exclusively, as file systems, swap and volume managers hold theirs: the one
    /// answer that also covers what no table names, such as the disks of a ZFS pool.
    #[must_use]
    pub fn claim(&self, name: &str) -> Claim {
        let node = self.path(brisk_formats::device_node(name));
        // O_EXCL on what is no block device has no meaning, and a pipe or a terminal is not to be opened.
        if !fs::metadata(&node).is_ok_and(|found| found.file_type().is_block_device()) {
            return Claim::Unknown;
        }
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::open(&node, flags, Mode::empty()) {
            Ok(_) => Claim::Free,
            Err(rustix::io::Errno::BUSY) => Claim::Held,
            Err(_) => Claim::Unknown,
        }
    }

    /// Mounts that only processes in other mount namespaces see, each with such a process; those of processes that this
    /// one may not look into are left out.
    fn mounts_elsewhere(&self) -> Vec<(u32, Mount)> {
        let namespace = |pid: &str| fs::read_link(self.path(format!("/proc/{pid}/ns/mnt"))).ok();
        let mut seen: BTreeSet<PathBuf> = namespace("self").into_iter().collect();
        let mut found = Vec::new();
        for pid in self.process_ids().unwrap_or_default() {
            if !namespace(&pid.to_string()).is_some_and(|namespace| seen.insert(namespace)) {
                continue;
            }
            let mounts = self.parse(format!("/proc/{pid}/mountinfo"), parse_mounts).unwrap_or_default();
            found.extend(mounts.into_iter().map(|mount| (pid, mount)));
        }
        found
    }
}

impl Storage {
    /// The same, where a device that keeps its content in a file (loop, write-back of zram) is a disk of its own.
    #[must_use]
    pub fn with_files_as_disks(mut self) -> Self {
        self.files.clear();
        self
    }

    #[must_use]
    pub fn devices(&self) -> &[BlockDevice] {
        &self.devices
    }

    /// The whole device of this name, or the one that this is a partition of.
    #[must_use]
    pub fn device_of(&self, name: &str) -> Option<&BlockDevice> {
        let is_it =
            |device: &&BlockDevice| device.name == name || device.partitions.iter().any(|part| part.name == name);
        self.devices.iter().find(is_it)
    }

    /// The mounts that this process sees.
    #[must_use]
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// The swap areas in use.
    #[must_use]
    pub fn swaps(&self) -> &[Swap] {
        &self.swaps
    }

    /// Below the device or partition with this name.
    #[must_use]
    pub fn below_device(&self, name: &str) -> Stack {
        self.collect(|walk| walk.device(name))
    }

    /// Below the files whose `st_dev` is this, or below the device whose `st_rdev` it is. Subvolumes of a btrfs have
    /// numbers that no table names: for these the disks of all.
    #[must_use]
    pub fn below_number(&self, number: DeviceNumber) -> Stack {
        self.collect(|walk| walk.number(number))
    }

    /// Below a mounted file system.
    #[must_use]
    pub fn below_mount(&self, mount: &Mount) -> Stack {
        self.collect(|walk| walk.mount(mount))
    }

    /// Below a file or directory; its path has to be absolute and free of links. For the node of a device, below that
    /// device.
    #[must_use]
    pub fn below_path(&self, path: &Path) -> Stack {
        self.collect(|walk| walk.path(path))
    }

    /// Below everything that is swapped to.
    #[must_use]
    pub fn below_swap(&self) -> Stack {
        self.collect(|walk| self.swaps.iter().for_each(|swap| walk.path(&swap.path)))
    }

    /// The single disk of a stack, and the partition where all goes through a single one of it.
    #[must_use]
    pub fn located(&self, stack: &Stack) -> Option<Located> {
        let disk = self.device_of(stack.sole_disk()?)?.clone();
        let mut through = disk.partitions.iter().filter(|partition| stack.parts.contains(&partition.name));
        let partition = through.next().filter(|_| through.next().is_none()).cloned();
        Some(Located { disk, partition })
    }

    /// Everything that uses the device or partition `name`, or a part of it, as far as this process can see.
    #[must_use]
    pub fn uses_of(&self, name: &str) -> Vec<Use> {
        let mut uses = Vec::new();
        let mut mounted = |mount: &Mount, by_process| {
            if self.below_mount(mount).parts.contains(name) {
                let (at, read_only) = (mount.mount_point.clone(), mount.is_read_only());
                uses.push(Use::Mounted { at, read_only, by_process });
            }
        };
        self.mounts.iter().for_each(|mount| mounted(mount, None));
        let is_seen = |mount: &Mount| self.mounts.iter().any(|own| own.device == mount.device);
        let elsewhere = self.sense.mounts_elsewhere();
        elsewhere.iter().filter(|(_, mount)| !is_seen(mount)).for_each(|(pid, mount)| mounted(mount, Some(*pid)));
        for swap in &self.swaps {
            if self.collect(|walk| walk.path(&swap.path)).parts.contains(name) {
                uses.push(Use::Swap(swap.path.clone()));
            }
        }
        let own = self.device_of(name).map(|device| device.name.as_str());
        for device in self.devices.iter().filter(|device| Some(device.name.as_str()) != own) {
            if self.below_device(&device.name).parts.contains(name) {
                uses.push(Use::Under { device: device.name.clone(), volume: self.volumes.get(&device.name).cloned() });
            }
        }
        if self.btrfs.iter().any(|of| of.iter().any(|member| self.below_device(member).parts.contains(name))) {
            uses.push(Use::Member("btrfs"));
        }
        uses
    }

    /// The kernel's name of what is at `path`, if that is a node of a block device: below /dev, on Android below
    /// /dev/block.
    #[must_use]
    pub fn name_of(&self, path: &Path) -> Option<String> {
        // No other path is looked up: a server that does not answer would cause a delay.
        let found = path.starts_with("/dev").then(|| self.sense.path(path))?;
        // Names of volumes are links to the kernel's names.
        let real = fs::canonicalize(&found).unwrap_or(found);
        let root = fs::canonicalize(self.sense.path("/")).unwrap_or_else(|_| "/".into());
        let real = real.strip_prefix(root).map_or_else(|_| real.clone(), |below| Path::new("/").join(below));
        let below = real.strip_prefix("/dev/block").or_else(|_| real.strip_prefix("/dev")).ok()?;
        let name = sysfs_name(below.to_str()?);
        if self.device_of(&name).is_some() {
            return Some(name);
        }
        let of_volume = self
            .volumes
            .iter()
            .find(|(_, volume)| below.strip_prefix("mapper").is_ok_and(|it| it == Path::new(volume)));
        let by_number = || {
            let found = fs::metadata(self.sense.path(path)).ok().filter(|found| found.file_type().is_block_device())?;
            self.name_of_number(DeviceNumber::from_dev(found.rdev()))
        };
        of_volume.map(|(name, _)| name.clone()).or_else(by_number)
    }

    /// Whether a mount names one of these devices of a btrfs.
    fn is_mounted_by_name(&self, members: &BTreeSet<String>) -> bool {
        let names = |mount: &Mount| {
            let source = mount.source.to_string_lossy();
            source.split(':').any(|node| self.name_of(Path::new(node)).is_some_and(|name| members.contains(&name)))
        };
        self.mounts.iter().filter(|mount| mount.fs_type == "btrfs").any(names)
    }

    fn name_of_number(&self, number: DeviceNumber) -> Option<String> {
        let known = self.devices.iter().find(|device| device.device == number).map(|device| device.name.clone());
        known.or_else(|| {
            self.sense.block_name_of(number).ok().flatten().map(|(disk, partition)| partition.unwrap_or(disk))
        })
    }

    fn collect(&self, begin: impl FnOnce(&mut Walk<'_>)) -> Stack {
        let mut walk = Walk { of: self, stack: Stack::default(), above: Vec::new(), layers: 0 };
        begin(&mut walk);
        walk.stack
    }
}

/// A way down.
struct Walk<'a> {
    of: &'a Storage,
    stack: Stack,
    /// Devices between the beginning and here.
    above: Vec<String>,
    layers: usize,
}

impl Walk<'_> {
    fn device(&mut self, name: &str) {
        if self.above.iter().any(|above| above == name) {
            return;
        }
        let Some(device) = self.of.device_of(name) else {
            self.stack.hides = true;
            return;
        };
        self.stack.parts.extend([name.to_owned(), device.name.clone()]);
        if device.name == name {
            // What is on the whole device is on its partitions too.
            self.stack.parts.extend(device.partitions.iter().map(|partition| partition.name.clone()));
        }
        self.above.push(name.to_owned());
        if self.of.multipaths.contains(&device.name) {
            self.stack.parts.extend(device.slaves.iter().cloned());
            self.stack.disks.insert(device.name.clone());
        } else if !device.slaves.is_empty() {
            device.slaves.iter().for_each(|slave| self.device(slave));
        } else if !self.file_of(&device.name) {
            self.stack.disks.insert(device.name.clone());
        }
        self.above.pop();
    }

    /// Goes on below the file or device that this device keeps its content in; false where that is on no disk that is
    /// known.
    fn file_of(&mut self, name: &str) -> bool {
        let Some(file) = self.of.files.get(name) else { return false };
        let (above, layers) = (self.above.clone(), self.layers);
        let mut walk = Walk { of: self.of, stack: Stack::default(), above, layers };
        walk.path(file);
        if walk.stack.disks.is_empty() {
            return false;
        }
        self.stack.parts.extend(walk.stack.parts);
        self.stack.disks.extend(walk.stack.disks);
        self.stack.hides |= walk.stack.hides;
        true
    }

    fn number(&mut self, number: DeviceNumber) {
        if number.major != 0 {
            match self.of.name_of_number(number) {
                Some(name) => self.device(&name),
                None => self.stack.hides = true,
            }
            return;
        }
        if let Some(mount) = self.of.mounts.iter().find(|mount| mount.device == number) {
            return self.mount(mount);
        }
        // Memory without a mount, or a subvolume.
        let of = self.of;
        let has_own_numbers = |mount: &&Mount| {
            let is_of_devices = mount.source.starts_with("/dev") && mount.fs_type != "devtmpfs";
            mount.device.major == 0 && (is_of_devices || mount.fs_type == "bcachefs" || is_on_directories(mount))
        };
        of.mounts.iter().filter(has_own_numbers).for_each(|mount| self.mount(mount));
    }

    fn mount(&mut self, mount: &Mount) {
        let of = self.of;
        // External journals, logs and real-time parts.
        let more = mount.super_options.iter().filter_map(|option| option.split_once('=')).map(|(_, value)| value);
        more.filter(|value| value.starts_with("/dev/"))
            .filter_map(|node| of.name_of(Path::new(node)))
            .for_each(|name| self.device(&name));
        if mount.device.major != 0 {
            return self.number(mount.device);
        }
        let source = mount.source.to_string_lossy();
        let sources: Vec<Option<String>> = source.split(':').map(|node| of.name_of(Path::new(node))).collect();
        let known = sources.iter().all(Option::is_some);
        let names: BTreeSet<String> = sources.into_iter().flatten().collect();
        match mount.fs_type.as_str() {
            "btrfs" => {
                let is_it = |members: &&BTreeSet<String>| members.iter().any(|member| names.contains(member));
                let found = of.btrfs.iter().find(is_it);
                // `/dev/root` has no node. It is the one that no other mount names.
                let mut nameless =
                    of.btrfs.iter().filter(|members| names.is_empty() && !of.is_mounted_by_name(members));
                let sole = nameless.next().filter(|_| nameless.next().is_none());
                match found.or(sole) {
                    Some(members) => members.iter().for_each(|member| self.device(member)),
                    None => {
                        names.iter().for_each(|name| self.device(name));
                        self.stack.hides = true;
                    }
                }
            }
            "overlay" => {
                let options = mount.super_options.iter().filter_map(|option| option.split_once('='));
                let layers: Vec<&str> =
                    options.filter(|(name, _)| LAYERS.contains(name)).map(|(_, value)| value).collect();
                let has_data = |option: &String| option.starts_with("datadir+=") || option.contains("::");
                let is_metadata = mount.super_options.iter().any(has_data);
                // One that is in another namespace or below another root is not to be found; metadata hide no disk
                // where the data are known.
                let (mut found, mut lost) = (false, layers.is_empty());
                for layer in layers.iter().flat_map(|layers| layers.split(':')).filter(|layer| !layer.is_empty()) {
                    let is_found = self.layer(Path::new(layer));
                    (found, lost) = (found || is_found, lost || !is_found);
                }
                self.stack.hides |= lost && !(is_metadata && found);
            }
            fs_type if ON_DIRECTORIES.contains(&fs_type) => self.stack.hides |= !self.layer(&mount.source),
            _ => {
                names.iter().for_each(|name| self.device(name));
                let family = mount.fs_type.split('.').next().unwrap_or_default();
                self.stack.hides |= HIDE_THEIR_DISKS.contains(&family) && !known;
            }
        }
    }

    /// A directory that another file system lies on; false where it is not to be found.
    fn layer(&mut self, path: &Path) -> bool {
        self.layers += 1;
        let is_there = self.layers <= LAYERS_MAX && path.is_absolute() && self.of.sense.path(path).exists();
        if is_there {
            self.path(path);
        }
        is_there
    }

    fn path(&mut self, path: &Path) {
        if let Some(name) = self.of.name_of(path) {
            return self.device(&name);
        }
        let number = self.of.sense.file_device(path).ok().flatten();
        // The number of a file is the truth; the table of mounts is by names.
        if let Some(name) = number.filter(|number| number.major != 0).and_then(|number| self.of.name_of_number(number))
        {
            return self.device(&name);
        }
        let depth = |mount: &&Mount| mount.mount_point.components().count();
        let mount = self.of.mounts.iter().filter(|mount| path.starts_with(&mount.mount_point)).max_by_key(depth);
        match (mount, number) {
            (Some(mount), _) => self.mount(mount),
            (None, Some(number)) => self.number(number),
            (None, None) => self.stack.hides = true,
        }
    }
}

fn is_on_directories(mount: &Mount) -> bool {
    mount.fs_type == "overlay" || ON_DIRECTORIES.contains(&mount.fs_type.as_str())
}
