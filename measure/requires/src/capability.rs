//! The capabilities, their words, and how each is detected: rights by trying them, since user 0 of a container may have
//! none.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::attempt;

/// The programs that `scripts/setup test` installs, and those of each Debian.
const INSTALLED: &[&str] = &[
    "Xvfb",
    "blkdiscard",
    "busybox",
    "clang",
    "debootstrap",
    "dumpe2fs",
    "e2fsck",
    "foot",
    "losetup",
    "matchbox-window-manager",
    "mke2fs",
    "mkfs.ext4",
    "mkswap",
    "mount",
    "perl",
    "qemu-system-x86_64",
    "resize2fs",
    "setpriv",
    "setsid",
    "sqlite3",
    "sway",
    "swapon",
    "tune2fs",
    "unshare",
    "xz",
];

/// What a test may require of its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// The user is 0 and may act as other users do (CAP_SETUID, CAP_SETGID). It implies no right to change the machine:
    /// those have words of their own.
    Root,
    /// File systems can be mounted (CAP_SYS_ADMIN).
    Mount,
    /// Swap can be switched on and off (CAP_SYS_ADMIN).
    Swap,
    /// Loop devices can be made.
    Loop,
    /// Settings of block queues can be written; in a container /sys is often read-only.
    Queue,
    /// Settings in /proc/sys can be written; in a container they are often read-only.
    Sysctl,
    /// Control groups of version 2 are mounted.
    Cgroup2,
    /// Control groups of version 2 can be made, and processes moved to them.
    Groups,
    /// Groups of the memory controller, of either version, can be made.
    MemoryController,
    /// The same of version 1, which a machine with version 2 alone has not.
    MemoryV1,
    /// Compressed memory as block devices.
    Zram,
    /// Groups of the freezer controller of version 1, which a machine with version 2 alone has not, can be made.
    FreezerV1,
    /// Real-time priorities, and memory of other processes may be written to swap (CAP_SYS_NICE).
    Nice,
    /// Opened files of a whole file system can be watched (CAP_SYS_ADMIN).
    Fanotify,
    /// Frames and swap slots of pages are shown in /proc/PID/pagemap (CAP_SYS_ADMIN).
    PageMap,
    /// eBPF programs load and see what the test needs.
    Bpf,
    Uring,
    /// Triggers on pressure (PSI) can be set.
    Pressure,
    /// The process connector can be listened to.
    Connector,
    /// More than one I/O scheduler.
    Schedulers,
    Program(&'static str),
    /// The folder of the test is on a block device.
    Disk,
    /// A tmpfs at /dev/shm.
    Shm,
    /// The root directory is a mount point, as it is not in a chroot.
    RootMount,
    /// A file on the disk can be swap.
    SwapFile,
    /// Packages with kernels can be fetched, or are there.
    Kernel,
    /// An image that `brisk phone image` made; making it takes minutes and the network.
    PhoneImage,
    /// A loopback interface in this network namespace.
    Loopback,
    /// Recorded traces of real devices at `../shared/data`, which the project does not distribute.
    RealTraces,
}

/// All but the programs, with the words for them.
const WORDS: &[(Capability, &str)] = &[
    (Capability::Root, "root"),
    (Capability::Mount, "mount"),
    (Capability::Swap, "swap"),
    (Capability::Loop, "loop"),
    (Capability::Queue, "queue"),
    (Capability::Sysctl, "sysctl"),
    (Capability::Cgroup2, "cgroup2"),
    (Capability::Groups, "groups"),
    (Capability::MemoryController, "memory_controller"),
    (Capability::MemoryV1, "memory_v1"),
    (Capability::Zram, "zram"),
    (Capability::FreezerV1, "freezer_v1"),
    (Capability::Nice, "nice"),
    (Capability::Fanotify, "fanotify"),
    (Capability::PageMap, "page_map"),
    (Capability::Bpf, "bpf"),
    (Capability::Uring, "io_uring"),
    (Capability::Pressure, "pressure"),
    (Capability::Connector, "connector"),
    (Capability::Schedulers, "schedulers"),
    (Capability::Disk, "disk"),
    (Capability::Shm, "shm"),
    (Capability::RootMount, "root_mount"),
    (Capability::SwapFile, "swap_file"),
    (Capability::Kernel, "kernel"),
    (Capability::PhoneImage, "phone_image"),
    (Capability::Loopback, "loopback"),
    (Capability::RealTraces, "real_traces"),
];

impl Capability {
    /// Whether root has it on each machine that `scripts/setup test` has prepared and whose kernel lacks nothing. Not
    /// implied is what depends on the place of the tree (disk, chroot) and on the network.
    #[must_use]
    pub fn is_implied_by_root(self) -> bool {
        use Capability as C;
        match self {
            C::Program(name) => INSTALLED.contains(&name),
            C::Root | C::Mount | C::Swap | C::Loop | C::Queue | C::Sysctl | C::Nice | C::Fanotify => true,
            C::Cgroup2 | C::Groups | C::MemoryController | C::PageMap => true,
            C::Bpf | C::Uring | C::Pressure | C::Connector | C::Schedulers => true,
            C::Disk | C::Shm | C::RootMount | C::SwapFile | C::Kernel | C::Loopback | C::FreezerV1 => false,
            C::MemoryV1 | C::Zram | C::RealTraces | C::PhoneImage => false,
        }
    }

    /// Whether this process has it, as far as that can be found out without the code under test; else the reason. Found
    /// out once in each process.
    ///
    /// # Errors
    /// The reason why it is missing.
    pub fn detect(self) -> Result<(), String> {
        static FOUND: Mutex<Vec<(Capability, Result<(), String>)>> = Mutex::new(Vec::new());
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = found.iter().find(|(capability, _)| *capability == self) {
            return known.clone();
        }
        let outcome = self.attempt();
        found.push((self, outcome.clone()));
        outcome
    }

    fn attempt(self) -> Result<(), String> {
        let lacks = |lacking: bool, reason: &str| if lacking { Err(reason.to_owned()) } else { Ok(()) };
        match self {
            Self::Root => attempt::become_another_user(),
            Self::Mount => attempt::mount(),
            Self::Swap => attempt::swap(),
            Self::Loop => attempt::loop_device(),
            Self::Queue => attempt::queue_setting(),
            Self::Sysctl => attempt::opens_for_writing("/proc/sys/vm/page-cluster"),
            Self::Nice => attempt::realtime_io(),
            Self::Fanotify => attempt::fanotify(),
            Self::PageMap => attempt::page_frames(),
            Self::Cgroup2 => v2_root().map(drop),
            Self::Groups => v2_root().and_then(|root| attempt::group(&root)),
            Self::FreezerV1 => v1_root("freezer").and_then(|root| attempt::group(&root)),
            Self::MemoryV1 => v1_root("memory").and_then(|root| attempt::group(&root)),
            Self::MemoryController => {
                let root = v1_root("memory").or_else(|_| v2_root_with("memory"));
                root.map_err(|_| "no memory controller is enabled".to_owned()).and_then(|root| attempt::group(&root))
            }
            Self::Program(name) => lacks(!is_in_path(name), &format!("there is no program {name} in PATH")),
            Self::Shm => lacks(!Path::new("/dev/shm").is_dir(), "there is no /dev/shm"),
            Self::RootMount => {
                lacks(mount_line(|fields| fields.get(4) == Some(&"/")).is_none(), "/ is no mount point (a chroot)")
            }
            Self::Loopback => lacks(!Path::new("/sys/class/net/lo").exists(), "no loopback interface"),
            Self::Zram => attempt::zram(),
            // The test tries these, and gives the reason to `skip`.
            Self::Bpf | Self::Uring | Self::Pressure | Self::Connector => Ok(()),
            Self::Schedulers | Self::Disk | Self::SwapFile | Self::Kernel | Self::RealTraces | Self::PhoneImage => {
                Ok(())
            }
        }
    }

    /// The capability that a word of `BRISK_REQUIRE` names; programs are not among them.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        WORDS.iter().find(|(_, known)| *known == word).map(|(capability, _)| *capability)
    }

    /// The words that `BRISK_REQUIRE` knows.
    pub(crate) fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(_, word)| *word)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(name) => write!(f, "program:{name}"),
            other => {
                let found = WORDS.iter().find(|(capability, _)| capability == other);
                f.write_str(found.map_or("?", |(_, word)| word))
            }
        }
    }
}

/// The mount point in the first line of /proc/self/mountinfo, in fields, that is as wanted.
fn mount_line(wanted: impl Fn(&[&str]) -> bool) -> Option<PathBuf> {
    static MOUNTS: OnceLock<String> = OnceLock::new();
    let mounts = MOUNTS.get_or_init(|| std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default());
    let lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    lines.filter(|fields| wanted(fields)).find_map(|fields| fields.get(4).map(PathBuf::from))
}

/// Where a controller of version 1 is mounted.
fn v1_root(controller: &str) -> Result<PathBuf, String> {
    let is_it = |fields: &[&str]| {
        let options = fields.last().is_some_and(|end| end.split(',').any(|option| option == controller));
        fields.contains(&"cgroup") && options
    };
    mount_line(is_it).ok_or_else(|| format!("no {controller} controller of version 1 is mounted"))
}

/// Whether a line of mountinfo is of control groups of version 2: the type follows the lone hyphen.
fn is_v2(fields: &[&str]) -> bool {
    fields.iter().skip_while(|field| **field != "-").nth(1) == Some(&"cgroup2")
}

fn v2_root() -> Result<PathBuf, String> {
    mount_line(is_v2).ok_or_else(|| "no cgroup2 file system is mounted".to_owned())
}

/// Where groups of version 2 are mounted that have a controller.
fn v2_root_with(controller: &str) -> Result<PathBuf, String> {
    let enabled = |fields: &[&str]| {
        let read = || std::fs::read_to_string(Path::new(fields.get(4)?).join("cgroup.subtree_control")).ok();
        is_v2(fields) && read().is_some_and(|text| text.split_whitespace().any(|name| name == controller))
    };
    mount_line(enabled).ok_or_else(|| format!("groups of version 2 have no {controller} controller"))
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_names_one_capability_and_is_what_is_shown() {
        for (capability, word) in WORDS {
            assert_eq!(Capability::of_word(word), Some(*capability));
            assert_eq!(capability.to_string(), *word);
        }
        assert_eq!(Capability::Program("xz").to_string(), "program:xz");
    }

    #[test]
    fn what_each_machine_has_is_detected_and_what_none_has_is_not() {
        Capability::Program("sh").detect().expect("a shell is everywhere");
        let reason = Capability::Program("no-such-program").detect().expect_err("nowhere");
        assert_eq!(reason, "there is no program no-such-program in PATH");
    }
}
