//! Disks that the requests of an app may go to, as far as the kernel tells.
//!
//! Its control group counts requests by device where it has the io controller (`io.stat`). Otherwise, and while an app is launched, the
//! program and the open files of its processes name their file systems, and those their disks; swap belongs to every app. A process
//! that has not executed its program yet, a file system that hides its disk (overlay, FUSE), a process that the kernel does not show
//! and groups below that of the app make the answer unknown: an app is never wrongly said to be elsewhere because something could not be read.
//!
//! Limits: a file that is opened and closed between two samples, or only mapped, is not seen, unless its program is on the same disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brisk_formats::{device_name, sysfs_name};
use brisk_sense::{DeviceNumber, Sense};

use crate::devices::{disks_below, name_of};

/// Processes of an app that are asked at most.
const PROCESSES_MAX: usize = 64;
/// File systems without a device of their own, whose files are on disks that they do not name.
const HIDE_THEIR_DISK: [&str; 6] = ["overlay", "fuse", "zfs", "bcachefs", "ecryptfs", "sdcardfs"];

/// What is known of the disks under files. To be forgotten when devices or mounts change.
#[derive(Debug, Default)]
pub struct Places {
    /// Disks under each device number; `None` when unknown.
    known: BTreeMap<DeviceNumber, Option<BTreeSet<String>>>,
    swap: Option<BTreeSet<String>>,
}

impl Places {
    /// Devices or mounts have changed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Disks of the app whose control group is at `dir`; `None` when unknown. Once all of `managed` are among them no others are
    /// searched for.
    pub fn of_group(
        &mut self,
        sense: &Sense,
        dir: &Path,
        launching: bool,
        managed: &[String],
    ) -> Option<BTreeSet<String>> {
        let mut disks = self.of_swap(sense)?;
        if let Some(counted) = sense.cgroup_io(dir).ok()? {
            for (number, _) in counted {
                disks.extend(self.of_number(sense, number)?);
            }
            if !launching {
                return Some(disks);
            }
        }
        if sense.has_groups_below(dir) {
            return None;
        }
        let pids = sense.cgroup_processes(dir).ok()?.filter(|pids| !pids.is_empty())?;
        if pids.len() > PROCESSES_MAX {
            return None;
        }
        for pid in pids {
            if managed.iter().all(|disk| disks.contains(disk)) {
                break;
            }
            // One that ends meanwhile has no more requests.
            let Some(process) = sense.process_stat(pid).ok()? else { continue };
            if process.is_before_exec() {
                return None;
            }
            for number in sense.file_devices(pid).ok()?.into_iter().flatten() {
                disks.extend(self.of_number(sense, number)?);
            }
        }
        Some(disks)
    }

    fn of_swap(&mut self, sense: &Sense) -> Option<BTreeSet<String>> {
        if self.swap.is_none() {
            let mut disks = BTreeSet::new();
            // Kernels without swap have no such file.
            for swap in sense.swaps().unwrap_or_default() {
                let number = sense.file_device(&swap.path).ok()??;
                disks.extend(self.of_number(sense, number)?);
            }
            self.swap = Some(disks);
        }
        self.swap.clone()
    }

    fn of_number(&mut self, sense: &Sense, number: DeviceNumber) -> Option<BTreeSet<String>> {
        self.known.entry(number).or_insert_with(|| with_backing(sense, disks_under(sense, number)?)).clone()
    }
}

/// The same with the disks under the files of loop devices, where they are known.
fn with_backing(sense: &Sense, mut disks: BTreeSet<String>) -> Option<BTreeSet<String>> {
    let mut to_look: Vec<String> = disks.iter().cloned().collect();
    while let Some(name) = to_look.pop() {
        let Ok(Some(backing)) = sense.loop_backing(&sysfs_name(&name)) else { continue };
        let number = sense.file_device(&backing.file).ok().flatten().filter(|_| !backing.deleted);
        let below = number.and_then(|number| disks_under(sense, number)).unwrap_or_default();
        to_look.extend(below.into_iter().filter(|disk| disks.insert(disk.clone())));
    }
    Some(disks)
}

/// The disks under the files of a device number, by kernel name; none where they are not on disks of this machine.
fn disks_under(sense: &Sense, number: DeviceNumber) -> Option<BTreeSet<String>> {
    let name = if number.major != 0 {
        let located = sense.block_device_of(number).ok()??.disk;
        if located.slaves.is_empty() {
            return Some(BTreeSet::from([device_name(&located.name)]));
        }
        located.name
    } else {
        let mounts = sense.mounts().ok()?;
        let hides = |fs_type: &str| HIDE_THEIR_DISK.iter().any(|hiding| fs_type.split('.').next() == Some(*hiding));
        let Some(mount) = mounts.iter().find(|mount| mount.device == number) else {
            // Memory without a mount; subvolumes have numbers of their own too, which no table names.
            let has_subvolumes = mounts.iter().any(|mount| mount.device.major == 0 && mount.source.starts_with("/dev"));
            return (!has_subvolumes && !mounts.iter().any(|mount| hides(&mount.fs_type))).then(BTreeSet::new);
        };
        match name_of(&mount.source) {
            Some(name) => name,
            None => return (!hides(&mount.fs_type)).then(BTreeSet::new),
        }
    };
    let all = sense.block_devices().ok()?;
    let disks = disks_below(&all, BTreeSet::from([name]));
    (!disks.is_empty()).then(|| disks.iter().map(|name| device_name(name)).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    /// A disk in a tree of /sys.
    fn disk(root: &Path, number: &str, name: &str) {
        let dir = format!("sys/devices/{name}/block/{name}");
        for (file, text) in [("dev", number), ("size", "100"), ("ro", "0")] {
            write(root, &format!("{dir}/{file}"), text);
        }
        for link in [format!("sys/dev/block/{number}"), format!("sys/block/{name}")] {
            let link = root.join(link);
            std::fs::create_dir_all(link.parent().expect("a directory")).expect("made");
            std::os::unix::fs::symlink(root.join(&dir), link).expect("linked");
        }
    }

    #[test]
    fn a_group_of_this_machine_is_on_the_disk_of_its_program() {
        let root = tempfile::tempdir().expect("a directory");
        let sense = Sense::default();
        // The group is a directory of the test, and its processes are of this machine.
        let of_group = |pids: &str, managed: &[String]| {
            write(root.path(), "app-x.scope/cgroup.procs", pids);
            Places::default().of_group(&sense, &root.path().join("app-x.scope"), true, managed)
        };
        let own = std::fs::metadata(std::env::current_exe().expect("a path")).expect("there").dev();
        let Some(disks) = disks_under(&sense, DeviceNumber::from_dev(own)).filter(|disks| !disks.is_empty()) else {
            return brisk_requires::skip(brisk_requires::Capability::Disk, "this program is on no disk that is known");
        };
        let other = ["no such disk".to_owned()];
        let found = of_group(&format!("{}\n", std::process::id()), &other).expect("known");
        assert!(disks.is_subset(&found), "{disks:?} {found:?}");
        assert_eq!(of_group("", &other), None, "no process, no answer");
    }

    #[test]
    fn what_is_on_no_disk_is_known_to_be_and_what_hides_its_disk_is_unknown() {
        let root = tempfile::tempdir().expect("a directory");
        let mounts = |more: &str| {
            let text = format!("21 1 0:20 / /proc rw - proc proc rw\n22 1 0:30 / /run rw - tmpfs tmpfs rw\n{more}");
            write(root.path(), "proc/self/mountinfo", &text);
        };
        let under = |minor| disks_under(&Sense::new(root.path()), DeviceNumber { major: 0, minor });
        mounts("");
        assert_eq!(
            (under(20), under(30), under(1)),
            (Some(BTreeSet::new()), Some(BTreeSet::new()), Some(BTreeSet::new()))
        );
        mounts("23 1 0:40 / /x rw - overlay overlay rw\n24 1 0:41 / /y rw - fuse.sshfs a:b rw\n");
        assert_eq!((under(30), under(40), under(41), under(1)), (Some(BTreeSet::new()), None, None, None));
    }

    #[test]
    fn a_process_that_has_not_executed_its_program_is_of_unknown_place() {
        let root = tempfile::tempdir().expect("a directory");
        let sense = Sense::new(root.path());
        write(root.path(), "proc/self/mountinfo", "");
        write(root.path(), "proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
        write(root.path(), "c/app-x.scope/cgroup.procs", "7\n");
        std::fs::create_dir_all(root.path().join("proc/7/fd")).expect("made");
        write(root.path(), "proc/7/exe", "");
        let stat = |flags: u32| {
            let text = format!("7 (x) S 1 7 8 0 -1 {flags} 0 0 0 0 1 3 0 0 20 0 2 0 11 31 41 0\n");
            write(root.path(), "proc/7/stat", &text);
            Places::default().of_group(&sense, Path::new("/c/app-x.scope"), true, &["sda".to_owned()])
        };
        assert_eq!(stat(0x40), None);
        // Its program is a file of the disk that holds the test's directory, or of memory.
        let number = DeviceNumber::from_dev(std::fs::metadata(root.path()).expect("there").dev());
        let expected = disks_under(&sense, number);
        assert_eq!(stat(0), expected);
    }

    #[test]
    fn a_loop_device_is_on_the_disk_of_its_file_too() {
        let root = tempfile::tempdir().expect("a directory");
        let sense = Sense::new(root.path());
        write(root.path(), "var/image", "");
        let number = DeviceNumber::from_dev(std::fs::metadata(root.path()).expect("there").dev());
        disk(root.path(), &number.to_string(), "sdz");
        disk(root.path(), "7:3", "loop3");
        write(root.path(), "sys/devices/loop3/block/loop3/loop/backing_file", "/var/image\n");
        let under = with_backing(&sense, BTreeSet::from(["loop3".to_owned()]));
        assert_eq!(under, Some(BTreeSet::from(["loop3".to_owned(), "sdz".to_owned()])));
    }

    #[test]
    fn requests_that_the_group_counts_name_its_disks() {
        let root = tempfile::tempdir().expect("a directory");
        let sense = Sense::new(root.path());
        write(root.path(), "proc/self/mountinfo", "");
        write(
            root.path(),
            "c/backup.service/io.stat",
            "8:0 rbytes=0 wbytes=0 rios=0 wios=0\n8:16 rbytes=4096 wbytes=0\n",
        );
        for (number, name) in [("8:0", "sda"), ("8:16", "sdb")] {
            disk(root.path(), number, name);
        }
        let found = Places::default().of_group(&sense, Path::new("/c/backup.service"), false, &[]);
        assert_eq!(found, Some(BTreeSet::from(["sdb".to_owned()])));
    }
}
