//! A made-up machine: /proc and /sys of disks, of what stands on them, and of mounts. Nodes below /dev are plain files.

#![allow(dead_code, reason = "each crate of tests uses a part of it")]

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use brisk_sense::Sense;

/// Files of a queue with a scheduler.
const QUEUE: [(&str, &str); 20] = [
    ("scheduler", "none [mq-deadline]"),
    ("nr_requests", "64"),
    ("rotational", "0"),
    ("read_ahead_kb", "128"),
    ("max_sectors_kb", "512"),
    ("max_hw_sectors_kb", "512"),
    ("nr_zones", "0"),
    ("logical_block_size", "512"),
    ("physical_block_size", "4096"),
    ("discard_granularity", "4096"),
    ("discard_max_bytes", "4096"),
    ("nomerges", "0"),
    ("rq_affinity", "1"),
    ("zoned", "none"),
    ("wbt_lat_usec", "0"),
    ("write_cache", "write back"),
    ("fua", "0"),
    ("minimum_io_size", "4096"),
    ("optimal_io_size", "0"),
    ("iostats", "1"),
];

/// A machine; gone when dropped.
pub(crate) struct Machine {
    root: tempfile::TempDir,
    minors: Cell<u32>,
}

impl Machine {
    /// A machine with `/` in memory, and no disk.
    pub(crate) fn new() -> Self {
        let machine = Self { root: tempfile::tempdir().expect("a directory"), minors: Cell::new(0) };
        for dir in ["sys/block", "sys/dev/block", "proc"] {
            fs::create_dir_all(machine.root.path().join(dir)).expect("a directory");
        }
        machine.write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
        machine.mounts(&[])
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn sense(&self) -> Sense {
        Sense::new(self.root.path())
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("written");
    }

    /// Adds a file to it.
    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    /// Adds a whole device at this place below /sys/devices, such as `pci0000:00/nvme/nvme0`, with these partitions.
    pub(crate) fn disk(self, place: &str, name: &str, partitions: &[&str]) -> Self {
        let dir = format!("sys/devices/{place}/{name}");
        self.device(&dir, name, 2_000_000);
        QUEUE.iter().for_each(|(file, value)| self.write(&format!("{dir}/queue/{file}"), &format!("{value}\n")));
        let link = self.root.path().join("sys/block").join(name);
        symlink(self.root.path().join(&dir), link).expect("linked");
        for (number, partition) in partitions.iter().enumerate() {
            let dir = format!("{dir}/{partition}");
            self.device(&dir, partition, 100_000);
            self.write(&format!("{dir}/partition"), &format!("{}\n", number + 1));
            self.write(&format!("{dir}/start"), &format!("{}\n", 2048 + 100_000 * number));
        }
        self
    }

    /// Adds a virtual device that is built on these devices and partitions.
    pub(crate) fn stacked(self, name: &str, on: &[&str]) -> Self {
        let machine = self.disk("virtual/block", name, &[]);
        for below in on {
            machine.write(&format!("sys/devices/virtual/block/{name}/slaves/{below}/x"), "");
        }
        machine
    }

    /// Sets a file of the device `name`.
    pub(crate) fn set(self, name: &str, file: &str, value: &str) -> Self {
        self.with(&format!("sys/block/{name}/{file}"), &format!("{value}\n"))
    }

    /// Gives a device another number, such as that of files of the machine that runs the test.
    pub(crate) fn renumbered(self, name: &str, number: &str) -> Self {
        let table = self.root.path().join("sys/dev/block");
        fs::rename(table.join(self.number(name)), table.join(number)).expect("renamed");
        self.set(name, "dev", number)
    }

    /// The number of a device or partition.
    pub(crate) fn number(&self, name: &str) -> String {
        let table = self.root.path().join("sys/dev/block");
        let is_it = |entry: &fs::DirEntry| fs::read_link(entry.path()).is_ok_and(|to| to.ends_with(name));
        let entry = fs::read_dir(table).expect("a table").flatten().find(is_it).expect("a device of this name");
        entry.file_name().into_string().expect("a number")
    }

    /// Sets the table of mounts: what is mounted (a device of this machine, or a word), where, its type, and its
    /// options. `/` is in memory.
    pub(crate) fn mounts(self, mounts: &[(&str, &str, &str, &str)]) -> Self {
        let mut text = "1 0 0:1 / / rw - tmpfs tmpfs rw\n".to_owned();
        for (id, (source, at, fs_type, options)) in mounts.iter().enumerate() {
            let device = source.strip_prefix("/dev/").filter(|_| !["btrfs", "bcachefs", "zfs"].contains(fs_type));
            let number = device.map_or_else(|| format!("0:{}", 40 + id), |device| self.number(device));
            let word = options.split(',').next().unwrap_or_default();
            text += &format!("{} 1 {number} / {at} {word} shared:1 - {fs_type} {source} {options}\n", 10 + id);
        }
        self.with("proc/self/mountinfo", &text)
    }

    /// Sets the table of swap areas.
    pub(crate) fn swaps(self, areas: &[&str]) -> Self {
        let lines: String = areas.iter().map(|area| format!("{area}\tpartition\t1024\t0\t-2\n")).collect();
        self.with("proc/swaps", &format!("Filename\tType\tSize\tUsed\tPriority\n{lines}"))
    }

    fn device(&self, dir: &str, name: &str, sectors: u64) {
        let minor = self.minors.replace(self.minors.get() + 1);
        // No driver of the machine that runs the test has this number.
        let number = format!("1500:{minor}");
        for (file, value) in [("dev", number.as_str()), ("size", &sectors.to_string()), ("ro", "0"), ("removable", "0")]
        {
            self.write(&format!("{dir}/{file}"), &format!("{value}\n"));
        }
        symlink(self.root.path().join(dir), self.root.path().join("sys/dev/block").join(&number)).expect("linked");
        self.write(&format!("dev/{name}"), "");
    }
}
