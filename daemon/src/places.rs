//! Disks that the requests of an app may go to, as far as the kernel tells.
//!
//! Its control group counts requests by device where it has the io controller (`io.stat`). Otherwise, and while an app
//! is launched, the program and the open files of its processes name their file systems, and those their disks; swap
//! belongs to every app. A process that has not executed its program yet, a file system that hides its disk (overlay,
//! FUSE), a process that the kernel does not show and groups below that of the app make the answer unknown: an app is
//! never wrongly said to be elsewhere because something could not be read.
//!
//! Limits: a file that is opened and closed between two samples, or only mapped, is not seen, unless its program is on
//! the same disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brisk_formats::device_name;
use brisk_sense::{DeviceNumber, Sense, Stack, Storage};

/// Processes of an app that are asked at most.
const PROCESSES_MAX: usize = 64;

/// Device numbers that are known: each file system that a user mounts in a namespace of its own has another one.
const KNOWN_MAX: usize = 1024;

/// What is known of the disks under files. To be forgotten when devices or mounts change.
#[derive(Debug, Default)]
pub struct Places {
    /// Disks under each device number; `None` when unknown.
    known: BTreeMap<DeviceNumber, Option<BTreeSet<String>>>,
    swap: Option<BTreeSet<String>>,
    /// `None` until it is needed.
    storage: Option<Storage>,
}

impl Places {
    /// Devices or mounts have changed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Disks of the app whose control group is at `dir`; `None` when unknown. Once all of `managed` are among them no
    /// others are searched for.
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
            let storage = self.storage(sense)?;
            self.swap = devices_in(storage, &storage.below_swap());
        }
        self.swap.clone()
    }

    fn of_number(&mut self, sense: &Sense, number: DeviceNumber) -> Option<BTreeSet<String>> {
        if let Some(known) = self.known.get(&number) {
            return known.clone();
        }
        let storage = self.storage(sense)?;
        let disks = devices_in(storage, &storage.below_number(number));
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(number, disks.clone());
        disks
    }

    fn storage(&mut self, sense: &Sense) -> Option<&Storage> {
        if self.storage.is_none() {
            self.storage = sense.storage().ok();
        }
        self.storage.as_ref()
    }
}

/// The whole devices of a stack, since any of them may be managed; `None` where it hides some.
fn devices_in(storage: &Storage, stack: &Stack) -> Option<BTreeSet<String>> {
    let all = storage.devices().iter().filter(|device| stack.parts.contains(&device.name));
    (!stack.hides).then(|| all.map(|device| device_name(&device.name)).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::machine_tree::Machine;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
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
        let own = Places::default().of_number(&sense, DeviceNumber::from_dev(own));
        let Some(disks) = own.filter(|disks| !disks.is_empty()) else {
            return brisk_requires::skip(brisk_requires::Capability::Disk, "this program is on no disk that is known");
        };
        let other = ["no such disk".to_owned()];
        let found = of_group(&format!("{}\n", std::process::id()), &other).expect("known");
        assert!(disks.is_subset(&found), "{disks:?} {found:?}");
        assert_eq!(of_group("", &other), None, "no process, no answer");
    }

    fn under(machine: &Machine, number: DeviceNumber) -> Option<BTreeSet<String>> {
        Places::default().of_number(&machine.sense(), number)
    }

    #[test]
    fn what_is_on_no_disk_is_known_to_be_and_what_hides_its_disk_is_unknown() {
        let machine = Machine::new();
        let mounts = |more: &str| {
            let text = format!("21 1 0:20 / /proc rw - proc proc rw\n22 1 0:30 / /run rw - tmpfs tmpfs rw\n{more}");
            machine.write("proc/self/mountinfo", &text);
        };
        let under = |minor| under(&machine, DeviceNumber { major: 0, minor });
        let none = || Some(BTreeSet::new());
        mounts("");
        assert_eq!((under(20), under(30), under(1)), (none(), none(), none()));
        mounts("23 1 0:40 / /x rw - overlay overlay rw\n24 1 0:41 / /y rw - fuse.sshfs a:b rw\n");
        assert_eq!((under(30), under(40), under(41), under(1)), (none(), None, None, None));
    }

    #[test]
    fn file_systems_without_end_are_not_all_known() {
        let machine = Machine::new();
        machine.write("proc/self/mountinfo", "21 1 0:20 / /proc rw - proc proc rw\n");
        let (mut places, sense) = (Places::default(), machine.sense());
        for minor in 0..3 * KNOWN_MAX as u32 {
            assert_eq!(places.of_number(&sense, DeviceNumber { major: 0, minor }), Some(BTreeSet::new()));
        }
        assert!((1..=KNOWN_MAX).contains(&places.known.len()), "{}", places.known.len());
    }

    #[test]
    fn a_process_that_has_not_executed_its_program_is_of_unknown_place() {
        // Its program is a file of the disk that holds the test's directory, or of memory.
        let number = DeviceNumber::from_dev(std::fs::metadata(std::env::temp_dir()).expect("there").dev());
        let machine = Machine::new().disk("platform", "sda", &[]).renumbered("sda", &number.to_string());
        machine.write("c/app-x.scope/cgroup.procs", "7\n");
        std::fs::create_dir_all(machine.root().join("proc/7/fd")).expect("made");
        machine.write("proc/7/exe", "");
        let stat = |flags: u32| {
            let text = format!("7 (x) S 1 7 8 0 -1 {flags} 0 0 0 0 1 3 0 0 20 0 2 0 11 31 41 0\n");
            machine.write("proc/7/stat", &text);
            Places::default().of_group(&machine.sense(), Path::new("/c/app-x.scope"), true, &["sda".to_owned()])
        };
        assert_eq!(stat(0x40), None);
        let disks = ["sda"].into_iter().filter(|_| number.major != 0).map(str::to_owned).collect();
        assert_eq!(stat(0), Some(disks));
    }

    #[test]
    fn every_device_on_the_way_to_a_disk_is_a_place_of_the_app() {
        let machine = Machine::new()
            .disk("platform", "nvme0n1", &["nvme0n1p3"])
            .disk("virtual/block", "loop3", &[])
            .set("loop3", "loop/backing_file", "/var/image")
            .stacked("dm-0", &["nvme0n1p3"])
            .mounts(&[("/dev/dm-0", "/var", "ext4", "rw")]);
        let number = machine.number("loop3").parse().expect("a number");
        let expected = ["dm-0", "loop3", "nvme0n1"].map(str::to_owned);
        assert_eq!(under(&machine, number), Some(BTreeSet::from(expected)));
    }

    #[test]
    fn requests_that_the_group_counts_name_its_disks() {
        let machine = Machine::new().disk("platform", "sda", &[]).disk("platform", "sdb", &[]);
        let (a, b) = (machine.number("sda"), machine.number("sdb"));
        let counted = format!("{a} rbytes=0 wbytes=0 rios=0 wios=0\n{b} rbytes=4096 wbytes=0\n");
        machine.write("c/backup.service/io.stat", &counted);
        let found = Places::default().of_group(&machine.sense(), Path::new("/c/backup.service"), false, &[]);
        assert_eq!(found, Some(BTreeSet::from(["sdb".to_owned()])));
    }
}
