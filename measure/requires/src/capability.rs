//! The capabilities, their words, and how each is detected.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;

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
    /// The user is root.
    Root,
    /// File systems can be mounted (CAP_SYS_ADMIN).
    Mount,
    /// Loop devices can be made.
    Loop,
    /// /dev/fuse can be opened.
    Fuse,
    /// Control groups of version 2 are mounted. With [`Root`](Self::Root), groups can be made.
    Cgroup2,
    /// The memory controller, of either version, enabled for groups.
    MemoryController,
    /// The memory controller of version 1, which a machine with version 2 alone has not.
    MemoryV1,
    /// Compressed memory as block devices.
    Zram,
    /// The freezer controller of version 1, which a machine with version 2 alone has not.
    FreezerV1,
    /// eBPF programs load and see what the test needs.
    Bpf,
    /// io_uring.
    Uring,
    /// Triggers on pressure (PSI) can be set.
    Pressure,
    /// The process connector can be listened to.
    Connector,
    /// More than one I/O scheduler.
    Schedulers,
    /// A program in PATH.
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
    /// No ublk, for the test of its absence.
    NoUblk,
    /// A loopback interface in this network namespace.
    Loopback,
    /// Recorded traces of real devices at `../shared/data`, which the project does not distribute.
    RealTraces,
}

/// All but the programs, with the words for them.
const WORDS: &[(Capability, &str)] = &[
    (Capability::Root, "root"),
    (Capability::Mount, "mount"),
    (Capability::Loop, "loop"),
    (Capability::Fuse, "fuse"),
    (Capability::Cgroup2, "cgroup2"),
    (Capability::MemoryController, "memory_controller"),
    (Capability::MemoryV1, "memory_v1"),
    (Capability::Zram, "zram"),
    (Capability::FreezerV1, "freezer_v1"),
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
    (Capability::NoUblk, "no_ublk"),
    (Capability::Loopback, "loopback"),
    (Capability::RealTraces, "real_traces"),
];

/// CAP_SYS_ADMIN (capabilities(7)).
const CAP_SYS_ADMIN: u32 = 21;

impl Capability {
    /// Whether root has it on each machine that `scripts/setup test` has prepared and whose kernel lacks nothing. Not implied
    /// is what depends on the place of the tree (disk, chroot) and on the network.
    #[must_use]
    pub fn is_implied_by_root(self) -> bool {
        use Capability as C;
        match self {
            C::Program(name) => INSTALLED.contains(&name),
            C::Root | C::Mount | C::Loop | C::Fuse | C::Cgroup2 | C::MemoryController | C::Bpf => true,
            C::Uring | C::Pressure | C::Connector | C::Schedulers => true,
            C::Disk | C::Shm | C::RootMount | C::SwapFile | C::Kernel | C::NoUblk | C::Loopback | C::FreezerV1 => false,
            C::MemoryV1 | C::Zram | C::RealTraces => false,
        }
    }

    /// Whether this machine has it, as far as that can be found out without trying; else the reason.
    ///
    /// # Errors
    /// The reason why it is missing.
    pub fn detect(self) -> Result<(), String> {
        let opens = |path: &str| match File::options().read(true).write(true).open(path) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("cannot open {path}: {error}")),
        };
        let lacks = |lacking: bool, reason: &str| if lacking { Err(reason.to_owned()) } else { Ok(()) };
        match self {
            Self::Root => lacks(!rustix::process::geteuid().is_root(), "the user is not root"),
            Self::Mount => lacks(!has_admin_capability(), "no right to mount (CAP_SYS_ADMIN)"),
            Self::Loop => opens("/dev/loop-control"),
            Self::Fuse => opens("/dev/fuse"),
            Self::Cgroup2 => {
                lacks(!mount_line(|fields| fields.contains(&"cgroup2")), "no cgroup2 file system is mounted")
            }
            Self::Program(name) => lacks(!is_in_path(name), &format!("there is no program {name} in PATH")),
            Self::Shm => lacks(!Path::new("/dev/shm").is_dir(), "there is no /dev/shm"),
            Self::RootMount => {
                lacks(!mount_line(|fields| fields.get(4) == Some(&"/")), "/ is no mount point (a chroot)")
            }
            Self::NoUblk => lacks(Path::new("/dev/ublk-control").exists(), "this kernel has ublk"),
            Self::Loopback => lacks(!Path::new("/sys/class/net/lo").exists(), "no loopback interface"),
            Self::FreezerV1 => lacks(!has_v1("freezer"), "no freezer controller of version 1 is mounted"),
            Self::MemoryController => lacks(!has_v1("memory") && !has_v2("memory"), "no memory controller is enabled"),
            Self::MemoryV1 => lacks(!has_v1("memory"), "no memory controller of version 1 is mounted"),
            Self::Zram => lacks(!Path::new("/sys/class/zram-control").exists(), "this kernel has no zram"),
            // The test tries these, and gives the reason to `skip`.
            Self::Bpf | Self::Uring | Self::Pressure | Self::Connector => Ok(()),
            Self::Schedulers | Self::Disk | Self::SwapFile | Self::Kernel | Self::RealTraces => Ok(()),
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

/// Whether a line of /proc/self/mountinfo, in fields, is as wanted.
fn mount_line(wanted: impl Fn(&[&str]) -> bool) -> bool {
    static MOUNTS: OnceLock<String> = OnceLock::new();
    let mounts = MOUNTS.get_or_init(|| std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default());
    mounts.lines().any(|line| wanted(&line.split(' ').collect::<Vec<_>>()))
}

/// Whether a controller of version 1 is mounted.
fn has_v1(controller: &str) -> bool {
    mount_line(|fields| fields.contains(&"cgroup") && fields.last().is_some_and(|end| end.contains(controller)))
}

/// Whether the groups of version 2 have a controller.
fn has_v2(controller: &str) -> bool {
    let has_it = |fields: &[&str]| {
        // Mount point, before the separator; type, after it.
        let is_v2 = fields.iter().skip_while(|field| **field != "-").nth(1) == Some(&"cgroup2");
        let enabled = || std::fs::read_to_string(Path::new(fields.get(4)?).join("cgroup.subtree_control")).ok();
        is_v2 && enabled().is_some_and(|text| text.split_whitespace().any(|name| name == controller))
    };
    mount_line(has_it)
}

fn has_admin_capability() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .is_some_and(|bits| bits >> CAP_SYS_ADMIN & 1 == 1)
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
