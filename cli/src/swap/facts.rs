//! What a set-up of swap depends on.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use brisk_act::{FlashArea, SwapPlan};
use brisk_bench::{Error, place::Place as Measurable};
use brisk_sense::{Capability, DeviceNumber, Sense, Swap};

use super::plan::FILE_SYSTEMS;

const DAY_S: f64 = 86_400.0;
/// Files for an area that is not named, the best place first: the root, and what can be written where the root cannot.
const FILES: [&str; 3] = ["/swapfile", "/var/swapfile", "/home/swapfile"];

/// The machine, and the place of the area.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Facts {
    pub(crate) is_root: bool,
    pub(crate) memory_bytes: u64,
    pub(crate) areas: Vec<Swap>,
    /// Where it may be: one that the user named, or several.
    pub(crate) places: Vec<AreaLocation>,
    pub(crate) has_zram: bool,
    /// What was swapped out since the start of the machine.
    pub(crate) swapped_out_bytes: u64,
    pub(crate) up_s: f64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AreaLocation {
    File {
        path: PathBuf,
        exists: bool,
        fs_type: String,
        fs_bytes: u64,
        free_bytes: u64,
    },
    Partition {
        /// As the user named it: a name of udev stays when those of the kernel move.
        path: PathBuf,
        size_bytes: u64,
        used_by: Option<String>,
        content: Content,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    Nothing,
    /// Partitions, or a table of them.
    Partitions,
    /// A file system, an encrypted volume, a part of a RAID or of LVM, in words.
    Known(String),
    /// It could not be found out.
    Unknown,
}

impl Facts {
    /// Reads them for an area at `path`, or where there is place for one.
    pub(crate) fn read(sense: &Sense, path: Option<&Path>) -> anyhow::Result<Self> {
        let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let page_bytes = rustix::param::page_size() as u64;
        let places = match path {
            Some(path) => vec![AreaLocation::of(sense, path)?],
            None => default_places(sense)?,
        };
        Ok(Self {
            is_root: sense.require_rights("swap", &[Capability::SysAdmin]).is_ok(),
            memory_bytes: sense.mem_info()?.total_bytes,
            areas: sense.swaps().context("this kernel has no swap (CONFIG_SWAP)")?,
            has_zram: sense.has_zram(),
            swapped_out_bytes: sense.paging()?.swap_out_pages.saturating_mul(page_bytes),
            up_s: up.tv_sec as f64,
            places,
        })
    }

    /// Size of the area of a plan.
    pub(crate) fn size_bytes(&self, plan: &SwapPlan) -> u64 {
        match (&plan.area, self.places.first()) {
            (FlashArea::File { size_bytes, .. }, _) | (_, Some(AreaLocation::Partition { size_bytes, .. })) => {
                *size_bytes
            }
            _ => 0,
        }
    }

    /// What of a plan's partition is lost.
    pub(crate) fn lost(&self, plan: &SwapPlan) -> Option<String> {
        match (&plan.area, self.places.first()) {
            (FlashArea::Partition { .. }, Some(AreaLocation::Partition { content, .. })) => content.words(),
            _ => None,
        }
    }

    /// What was swapped out in a day; `None` when nothing was.
    pub(crate) fn written_bytes_per_day(&self) -> Option<u64> {
        (self.swapped_out_bytes > 0 && self.up_s > 0.0)
            .then(|| (self.swapped_out_bytes as f64 / self.up_s * DAY_S) as u64)
    }
}

/// Where a file can be made that can hold swap.
fn default_places(sense: &Sense) -> anyhow::Result<Vec<AreaLocation>> {
    let mut usable = Vec::new();
    let mut others = Vec::new();
    for path in FILES {
        match AreaLocation::of(sense, Path::new(path)).and_then(|place| place.check().map(|()| place)) {
            Ok(place) => usable.push(place),
            Err(why) => others.push(format!("{path}: {why:#}")),
        }
    }
    if usable.is_empty() {
        bail!("there is no place for a swap file; name a file elsewhere, or a partition. {}", others.join(". "));
    }
    Ok(usable)
}

impl AreaLocation {
    fn of(sense: &Sense, path: &Path) -> anyhow::Result<Self> {
        use std::os::unix::fs::FileTypeExt as _;
        let named = path;
        let path = std::path::absolute(path).with_context(|| format!("'{}' is no path", path.display()))?;
        match path.metadata() {
            Ok(found) if found.file_type().is_block_device() => return Self::device(sense, path),
            Ok(found) if found.is_dir() => bail!("{} is a directory: name a new file in it", named.display()),
            Ok(found) if !found.is_file() => {
                bail!("{} is no block device: name a partition or a new file", named.display())
            }
            _ => {}
        }
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            bail!("{} is a directory: name a new file in it", named.display());
        };
        let no_device = || format!("there is no device {}: 'lsblk' lists those of this machine", named.display());
        let dir = dir.canonicalize().with_context(|| {
            if dir.starts_with("/dev") {
                no_device()
            } else {
                format!("there is no directory {}: make it first", dir.display())
            }
        })?;
        let mount = sense.mount_of(&dir)?;
        if mount.as_ref().is_some_and(|mount| mount.fs_type == "devtmpfs") {
            bail!(no_device());
        }
        let space =
            rustix::fs::statvfs(&dir).with_context(|| format!("cannot ask for the space of {}", dir.display()))?;
        let path = dir.join(name);
        Ok(Self::File {
            exists: path.symlink_metadata().is_ok(),
            path,
            fs_type: mount.map_or_else(String::new, |mount| mount.fs_type),
            fs_bytes: space.f_blocks.saturating_mul(space.f_frsize),
            free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
        })
    }

    /// Whether a file there can hold swap, and can be made.
    fn check(&self) -> anyhow::Result<()> {
        let Self::File { path, fs_type, .. } = self else { return Ok(()) };
        if !FILE_SYSTEMS.contains(&fs_type.as_str()) {
            bail!("files on {fs_type} cannot hold swap here");
        }
        match brisk_program::files::check_directory(path.parent().unwrap_or(path)) {
            // Without the right to try it is not known.
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => Ok(()),
            made => made.context("no file can be made there"),
        }
    }

    fn device(sense: &Sense, path: PathBuf) -> anyhow::Result<Self> {
        let whole = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
        let unknown =
            |used_by| Self::Partition { path: path.clone(), size_bytes: 0, used_by, content: Content::Unknown };
        match Measurable::find(sense, &whole, true) {
            Ok(_) => {}
            Err(Error::InUse { by, .. }) => return Ok(unknown(Some(by))),
            Err(error) => return Err(error.into()),
        }
        // The device itself: a volume lies on a disk, and has a size of its own.
        let number = DeviceNumber::from_dev(std::os::unix::fs::MetadataExt::rdev(&whole.metadata()?));
        let Some(located) = sense.block_device_of(number)? else { return Ok(unknown(None)) };
        if brisk_bench::place::is_memory_device(&located.disk.name) {
            bail!(
                "{} is memory: --zram makes compressed memory, name a partition or a file for the flash",
                path.display()
            );
        }
        let size_bytes = located.partition.as_ref().map_or(located.disk.size_bytes, |partition| partition.size_bytes);
        let has_partitions = located.partition.is_none() && !located.disk.partitions.is_empty();
        let content = if has_partitions { Content::Partitions } else { Content::of(&whole) };
        Ok(Self::Partition { path, size_bytes, used_by: None, content })
    }
}

impl Content {
    /// By the program `blkid`, which knows the signatures of all.
    fn of(device: &Path) -> Self {
        let asked = std::process::Command::new("blkid").args(["--probe", "--output", "export"]).arg(device).output();
        match asked {
            Ok(found) if found.status.success() => Self::parse(&String::from_utf8_lossy(&found.stdout)),
            // blkid(8): nothing was found. A device that cannot be opened has that code too.
            Ok(found) if found.status.code() == Some(2) && std::fs::File::open(device).is_ok() => Self::Nothing,
            _ => Self::Unknown,
        }
    }

    fn parse(export: &str) -> Self {
        let value = |key: &str| {
            let values = export.lines().filter_map(|line| line.split_once('='));
            values.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value.replace('\\', ""))
        };
        match (value("TYPE"), value("PTTYPE")) {
            (Some(kind), _) => {
                let label = value("LABEL").map_or_else(String::new, |label| format!(" '{label}'"));
                Self::Known(format!("{kind}{label}"))
            }
            (None, Some(_)) => Self::Partitions,
            (None, None) => Self::Nothing,
        }
    }

    /// What would be lost with it.
    pub(crate) fn words(&self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Partitions => Some("partitions".to_owned()),
            Self::Known(what) => Some(what.clone()),
            Self::Unknown => Some("data of a kind that could not be found out".to_owned()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A phone with 2 GiB of memory, whose data partition has 10 of 16 GiB free.
    pub(crate) fn phone() -> Facts {
        Facts {
            is_root: true,
            memory_bytes: 2 << 30,
            areas: Vec::new(),
            places: vec![AreaLocation::File {
                path: "/data/swapfile".into(),
                exists: false,
                fs_type: "f2fs".to_owned(),
                fs_bytes: 16 << 30,
                free_bytes: 10 << 30,
            }],
            has_zram: true,
            swapped_out_bytes: 0,
            up_s: 3_600.0,
        }
    }

    #[test]
    fn this_machine_has_a_place() {
        let dir = tempfile::tempdir().expect("a directory");
        let read = |path: &Path| Facts::read(&Sense::default(), Some(path));
        let facts = read(&dir.path().join("swap")).expect("readable");
        let [AreaLocation::File { exists, fs_type, fs_bytes, free_bytes, .. }] = &facts.places[..] else {
            panic!("a file")
        };
        assert!(!exists && !fs_type.is_empty() && fs_bytes >= free_bytes && facts.memory_bytes > 0);
        for (path, expected) in [
            (dir.path().join("gone/swap"), "make it first"),
            (dir.path().to_owned(), "is a directory"),
            ("/".into(), "is a directory"),
            ("/dev/null".into(), "is no block device"),
            ("/dev/disk/by-id/none".into(), "there is no device"),
        ] {
            let wrong = read(&path).expect_err(expected).to_string();
            assert!(wrong.contains(expected), "{wrong}");
        }
        assert!(!Facts::read(&Sense::default(), None).expect("readable").places.is_empty());
    }

    #[test]
    fn what_is_on_a_device_is_named() {
        for (export, expected) in [
            (
                "DEVNAME=/dev/x\nLABEL=my\\ data\nUUID=1\nTYPE=ext4\nUSAGE=filesystem\n",
                Content::Known("ext4 'my data'".to_owned()),
            ),
            ("TYPE=LVM2_member\n", Content::Known("LVM2_member".to_owned())),
            ("PTUUID=1\nPTTYPE=gpt\n", Content::Partitions),
            ("PTTYPE=dos\nTYPE=vfat\n", Content::Known("vfat".to_owned())),
            ("DEVNAME=/dev/x\n", Content::Nothing),
        ] {
            assert_eq!(Content::parse(export), expected);
        }
    }
}
