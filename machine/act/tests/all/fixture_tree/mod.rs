//! A tree of files in place of /sys and /proc.

use brisk_act::{Actuator, Paths};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

pub(crate) const FILES: [(&str, &str); 12] = [
    ("queue/scheduler", "none [mq-deadline] kyber bfq\n"),
    ("queue/nr_requests", "256\n"),
    ("queue/read_ahead_kb", "128\n"),
    ("queue/max_sectors_kb", "1280\n"),
    ("queue/wbt_lat_usec", "2000\n"),
    ("queue/write_cache", "write back\n"),
    ("queue/iosched/async_depth", "256\n"),
    ("queue/iosched/fifo_batch", "16\n"),
    ("queue/iosched/slice_idle", "8\n"),
    ("queue/iosched/slice_idle_us", "8000\n"),
    ("mq/0/nr_tags", "128\n"),
    ("mq/1/nr_tags", "128\n"),
];

pub(crate) struct FixtureTree {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) paths: Paths,
}

impl FixtureTree {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let at = |name: &str| dir.path().join(name);
        let paths = Paths { sysfs: at("sys"), proc: at("proc"), journal: at("run/journal") };
        for device in ["sda", "sdb"] {
            for (file, text) in FILES {
                let path = at("sys/block").join(device).join(file);
                fs::create_dir_all(path.parent().expect("below the root")).expect("fixture");
                fs::write(path, text).expect("fixture");
            }
        }
        fs::create_dir_all(at("proc/self")).expect("fixture");
        fs::create_dir_all(at("cgroup/user.slice")).expect("fixture");
        let mounts = format!("1 0 0:1 / {} rw - cgroup2 cgroup2 rw\n", at("cgroup").display());
        fs::write(at("proc/self/mountinfo"), mounts).expect("fixture");
        Self { dir, paths }
    }

    pub(crate) fn actuator(&self) -> Actuator {
        Actuator::new(&self.paths, "briskd", false).expect("a journal")
    }

    pub(crate) fn path(&self, device: &str, file: &str) -> PathBuf {
        self.paths.sysfs.join("block").join(device).join(file)
    }

    pub(crate) fn write(&self, device: &str, file: &str, text: &str) {
        fs::write(self.path(device, file), text).expect("fixture");
    }

    pub(crate) fn read(&self, device: &str, file: &str) -> String {
        let text = fs::read_to_string(self.path(device, file)).expect("fixture");
        let chosen = text.split_whitespace().find(|word| word.starts_with('['));
        chosen.map_or_else(|| text.trim().to_owned(), |word| word.trim_matches(['[', ']']).to_owned())
    }

    pub(crate) fn all(&self) -> Vec<String> {
        ["sda", "sdb"].iter().flat_map(|device| FILES.map(|(file, _)| self.read(device, file))).collect()
    }

    pub(crate) fn journals(&self) -> usize {
        fs::read_dir(&self.paths.journal).map_or(0, Iterator::count)
    }

    /// The text of the I/O priority of a group.
    pub(crate) fn io_priority(&self, name: &str) -> String {
        let dir = self.dir.path().join("cgroup/user.slice").join(name);
        let inode = fs::metadata(dir).map_or(1, |found| found.ino());
        format!("io_priority/{inode}/user.slice/{name}")
    }

    pub(crate) fn group(&self, name: &str, threads: &[u32]) {
        let dir = self.dir.path().join("cgroup/user.slice").join(name);
        fs::create_dir_all(&dir).expect("fixture");
        let text: String = threads.iter().map(|thread| format!("{thread}\n")).collect();
        fs::write(dir.join("cgroup.threads"), text).expect("fixture");
    }
}
