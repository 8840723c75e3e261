//! What a launch used of files: the pages that the processes of an app have mapped, by file, with version and place.
//!
//! A page of a file that a process has in its page tables was used by it, or mapped around one that was (fault-around,
//! 16 pages of those that are in memory). A private copy of a page counts too, since the page was read for it. What was
//! read by read(2) alone is in no page table: of files that an app opened and did not map ([`crate::OpenedFiles`]), the
//! pages that are in memory count.
//!
//! Left out: files that were deleted or replaced, private ones (`is_private`, by the path from the root directory of
//! the app), and those that do not lie on a local block device that stays: of network file systems, FUSE, in memory; on
//! a removable device, and on one that rotates, which may have spun down. Files are opened for their extents by O_PATH
//! and an identity check, as in `brisk-act`, so that no pipe or device is.
//!
//! Properties, with a real process (`machine/sense/tests/all/launch_files.rs`):
//! `mapped_pages_are_used_and_others_are_not`; `private_and_deleted_files_are_left_out`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use brisk_core::launch::{FileVersion, LaunchFiles, UsedFile};
use brisk_core::pages::{AppPages, Identity, MappedFile, MappingPages, PageRange};
use brisk_formats::{DeviceNumber, is_on_block_device};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, fstatfs, openat};

use crate::closing::{Closing, is_stuck};
use crate::error::{Error, Result};
use crate::identity::Medium;
use crate::machine::Sense;
use crate::{extents, resident};

/// A larger file that is opened is hardly read as a whole, and what was in memory of it before would count.
const OPENED_BYTES_MAX: u64 = 4 << 20;

/// Files of one launch that are opened here at most, mapped ones and others: a program can have any number.
pub const FILES_MAX: usize = 2048;

/// A mapped file, before it was looked up.
#[derive(Debug, Default)]
struct Mapped {
    used: Vec<PageRange>,
    /// A process that maps it.
    pid: u32,
    path: String,
}

impl Sense {
    /// What the processes `pids`, those of an app, have mapped of files on local block devices, and what is in memory
    /// of those that they `opened` without that; `None` where opens were not watched, as which too many count.
    ///
    /// # Errors
    /// As [`Sense::app_pages`], and when more files are mapped than [`FILES_MAX`], or some of a launch before still
    /// wait to be closed.
    pub fn launch_files(
        &self,
        pids: &[u32],
        opened: Option<&BTreeSet<PathBuf>>,
        is_private: &dyn Fn(&str) -> bool,
    ) -> Result<LaunchFiles> {
        let pages = self.app_pages(pids)?;
        let mapped_files = by_file(&pages);
        if is_stuck() {
            return Err(Error::StillClosing);
        }
        if mapped_files.len() > FILES_MAX {
            return Err(Error::TooMuch { what: "the files of a launch", limit: "2048" });
        }
        let opened = opened.filter(|opened| mapped_files.len() + opened.len() <= FILES_MAX);
        let roots: BTreeMap<u32, String> = pids.iter().filter_map(|&pid| Some((pid, self.root_of(pid)?))).collect();
        let mut stays: BTreeMap<u64, bool> = BTreeMap::new();
        let (mut files, mut closing) = (Vec::new(), Closing::default());
        for ((_, inode), mapped) in mapped_files {
            let root = roots.get(&mapped.pid).map_or("/", String::as_str);
            let path = from_root(&mapped.path, root);
            if is_private(path) {
                continue;
            }
            let Some(file) = self.open_mapped(&mapped, path, inode) else { continue };
            let (version, device) = (version_of(&file), fstat(&file).map(|stat| stat.st_dev).unwrap_or(0));
            let is_kept = *stays.entry(device).or_insert_with(|| self.stays(device));
            let placed = version.filter(|_| is_kept).map(|version| (version, extents::placed(&file, pages.page_bytes)));
            closing.close(file);
            let Some((version, placed)) = placed else { continue };
            let file = MappedFile { device, inode, path: path.to_owned() };
            files.push(UsedFile { file, version, used: joined(mapped.used), opened: false, placed });
        }
        let known: BTreeSet<(u64, u64)> = files.iter().map(|one| (one.file.device, one.file.inode)).collect();
        for path in opened.into_iter().flatten() {
            let Some(name) = path.to_str() else { continue };
            let path = roots.values().map(|root| from_root(name, root)).min_by_key(|path| path.len()).unwrap_or(name);
            if is_private(path) {
                continue;
            }
            let Some(one) = self.opened_file(name, path, pids, pages.page_bytes, &mut closing) else { continue };
            let device = one.file.device;
            if !known.contains(&(device, one.file.inode)) && *stays.entry(device).or_insert_with(|| self.stays(device))
            {
                files.push(one);
            }
        }
        files.sort_by(|a, b| a.file.cmp(&b.file));
        files.sort_by(|a, b| a.file.path.cmp(&b.file.path));
        Ok(LaunchFiles { page_bytes: pages.page_bytes, opens: opened.is_some(), files })
    }

    /// What is in memory of a file that was opened; `None` for one that is not small, or of which nothing is.
    fn opened_file(
        &self,
        name: &str,
        from_root: &str,
        pids: &[u32],
        page_bytes: u64,
        closing: &mut Closing,
    ) -> Option<UsedFile> {
        let of_process = |pid: &u32| open(&self.path(format!("/proc/{pid}/root{from_root}")), None);
        let file = open(&self.path(name), None).or_else(|| pids.iter().find_map(of_process))?;
        let used = used_of_opened(&file, from_root, page_bytes);
        closing.close(file);
        used
    }

    /// The root directory of a process, as this process sees it.
    fn root_of(&self, pid: u32) -> Option<String> {
        let root = fs::read_link(self.path(format!("/proc/{pid}/root"))).ok()?;
        root.into_os_string().into_string().ok()
    }

    /// The file of that inode at the path of a mapping; `None` when it is another one by now, no regular file, or not
    /// on a local block device.
    fn open_mapped(&self, mapped: &Mapped, from_root: &str, inode: u64) -> Option<File> {
        let own = self.path(&mapped.path);
        let of_process = self.path(format!("/proc/{}/root{from_root}", mapped.pid));
        [own, of_process].iter().find_map(|path| open(path, Some(inode)))
    }

    /// Whether the disks of a file system neither rotate nor are removable; where none is known it counts.
    fn stays(&self, device: u64) -> bool {
        let Ok(storage) = self.storage() else { return true };
        let disks = storage.below_number(DeviceNumber::from_dev(device)).disks;
        disks.iter().filter_map(|name| storage.device_of(name)).all(|disk| {
            let is_removable = self.text_optional(format!("/sys/block/{}/removable", disk.name)).ok().flatten();
            is_removable.as_deref() != Some("1") && self.medium(disk).is_ok_and(Medium::is_like_flash)
        })
    }
}

/// What is in memory of an opened file; `None` for one that is not small, or of which nothing is.
fn used_of_opened(file: &File, from_root: &str, page_bytes: u64) -> Option<UsedFile> {
    let stat = fstat(file).ok()?;
    let version = version_of(file).filter(|version| version.size_bytes <= OPENED_BYTES_MAX)?;
    let used = resident::ranges(file, version.size_bytes, page_bytes)?;
    let of = MappedFile { device: stat.st_dev, inode: stat.st_ino, path: from_root.to_owned() };
    let placed = extents::placed(file, page_bytes);
    (!used.is_empty()).then_some(UsedFile { file: of, version, used, opened: true, placed })
}

/// The file at a path, if it is a regular one on a local block device, of that inode where one is given.
fn open(path: &Path, inode: Option<u64>) -> Option<File> {
    let found = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let stat = fstat(&found).ok()?;
    let is_it = inode.is_none_or(|inode| stat.st_ino == inode)
        && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let is_local = is_it && fstatfs(&found).is_ok_and(|fs| is_on_block_device(fs.f_type as u64));
    // It is held by the descriptor, so that this is the same file.
    let again = format!("/proc/self/fd/{}", found.as_raw_fd());
    is_local
        .then(|| openat(CWD, again, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok())?
        .map(File::from)
}

fn version_of(file: &File) -> Option<FileVersion> {
    let found = file.metadata().ok()?;
    let changed_ns = found.ctime().checked_mul(1_000_000_000)?.checked_add(found.ctime_nsec())?;
    Some(FileVersion { changed_ns, size_bytes: found.len() })
}

/// The path from a root directory.
fn from_root<'a>(path: &'a str, root: &str) -> &'a str {
    let rest = path.strip_prefix(root.trim_end_matches('/')).filter(|rest| rest.starts_with('/'));
    rest.unwrap_or(path)
}

/// Mapped pages by device and inode of the mapping.
fn by_file(pages: &AppPages) -> BTreeMap<(u64, u64), Mapped> {
    let mut files: BTreeMap<(u64, u64), Mapped> = BTreeMap::new();
    for process in &pages.processes {
        for MappingPages { mapping, private, file, .. } in &process.mappings {
            let Identity::File(of) = &mapping.identity else { continue };
            let mapped = files.entry((of.device, of.inode)).or_default();
            (mapped.pid, mapped.path) = (process.process.pid, of.path.clone());
            mapped.used.extend(private.iter().chain(file));
        }
    }
    files.retain(|_, mapped| !mapped.used.is_empty());
    files
}

/// Ascending ranges without overlap of the same pages.
fn joined(mut ranges: Vec<PageRange>) -> Vec<PageRange> {
    ranges.sort();
    let mut all: Vec<PageRange> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.first_page <= last.end_page() => {
                last.pages = last.end_page().max(range.end_page()) - last.first_page;
            }
            _ => all.push(range),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_that_from_the_root_of_the_app() {
        assert_eq!(from_root("/run/phone/root/usr/lib/x", "/run/phone/root"), "/usr/lib/x");
        assert_eq!(from_root("/usr/lib/x", "/"), "/usr/lib/x");
        assert_eq!(from_root("/run/phone/rootless/x", "/run/phone/root"), "/run/phone/rootless/x");
    }

    #[test]
    fn ranges_of_several_mappings_are_joined() {
        let ranges = |pairs: &[(u64, u64)]| pairs.iter().copied().map(PageRange::from).collect::<Vec<_>>();
        assert_eq!(joined(ranges(&[(8, 2), (0, 4), (2, 4), (6, 2), (20, 1)])), ranges(&[(0, 10), (20, 1)]));
        assert_eq!(joined(ranges(&[(0, 10), (2, 3)])), ranges(&[(0, 10)]));
    }

    #[test]
    fn a_rotating_or_removable_device_does_not_stay() {
        let root = tempfile::tempdir().expect("a directory");
        let sense = Sense::new(root.path());
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, format!("{text}\n")).expect("written");
        };
        for (file, text) in [("sda/dev", "8:0"), ("sda/size", "8"), ("sda/ro", "0"), ("dm-0/dev", "253:0")] {
            write(&format!("sys/block/{file}"), text);
        }
        for (file, text) in [("dm-0/size", "8"), ("dm-0/ro", "0"), ("dm-0/slaves/sda/dev", "8:0")] {
            write(&format!("sys/block/{file}"), text);
        }
        fs::create_dir_all(root.path().join("sys/dev/block")).expect("made");
        write("proc/self/mountinfo", "1 0 0:44 / / rw - tmpfs tmpfs rw");
        for (rotational, removable, stays) in [("0", "0", true), ("1", "0", false), ("0", "1", false)] {
            write("sys/block/sda/queue/rotational", rotational);
            write("sys/block/sda/removable", removable);
            for (major, minor) in [(8, 0), (253, 0)] {
                assert_eq!(sense.stays(rustix::fs::makedev(major, minor)), stays, "{major}: {rotational} {removable}");
            }
        }
        assert!(sense.stays(rustix::fs::makedev(0, 44)), "no block device of its own");
    }
}
