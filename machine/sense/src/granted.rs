//! Rights that a service may lack, each found by using it once in a way that changes nothing.
//!
//! Neither a unit file nor a set of capabilities tells what a filter of system calls, a mount, a container or a
//! security module lets through; the attempt does. What this machine gives no occasion for, such as a process of
//! another user, is not known. System calls that a filter may answer with death are made by a child.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, Mode, fchmod, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, geteuid, getpid, pidfd_open, test_kill_process, waitpid};

use crate::Sense;

/// A right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// CAP_SYS_NICE: real-time I/O priority.
    Nice,
    /// CAP_KILL: signals to processes of other users.
    Kill,
    /// CAP_DAC_OVERRIDE: files whatever their mode.
    DacOverride,
    /// CAP_FOWNER: files of others without a change of their time of access.
    Fowner,
    /// CAP_SYS_PTRACE: what processes of others map and open.
    Ptrace,
    /// CAP_SYS_ADMIN: opens of files by all processes.
    Admin,
    /// Writing below /sys/devices: queues of disks.
    QueueFiles,
    /// Writing below /proc/sys/vm.
    VmFiles,
    /// Writing to control groups.
    GroupFiles,
    /// The system call ioprio_set.
    IoPriority,
    /// The system call process_madvise.
    ProcessMadvise,
    /// The system call mincore.
    Mincore,
    /// The system call capset.
    Capset,
    /// Sockets of AF_NETLINK: announcements of devices.
    Netlink,
}

impl Right {
    /// All.
    pub const ALL: [Self; 14] = [
        Self::Nice,
        Self::Kill,
        Self::DacOverride,
        Self::Fowner,
        Self::Ptrace,
        Self::Admin,
        Self::QueueFiles,
        Self::VmFiles,
        Self::GroupFiles,
        Self::IoPriority,
        Self::ProcessMadvise,
        Self::Mincore,
        Self::Capset,
        Self::Netlink,
    ];

    /// As units and manuals name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nice => "CAP_SYS_NICE",
            Self::Kill => "CAP_KILL",
            Self::DacOverride => "CAP_DAC_OVERRIDE",
            Self::Fowner => "CAP_FOWNER",
            Self::Ptrace => "CAP_SYS_PTRACE",
            Self::Admin => "CAP_SYS_ADMIN",
            Self::QueueFiles => "write access below /sys/devices",
            Self::VmFiles => "write access to /proc/sys/vm",
            Self::GroupFiles => "write access to control groups",
            Self::IoPriority => "the system call ioprio_set",
            Self::ProcessMadvise => "the system call process_madvise",
            Self::Mincore => "the system call mincore",
            Self::Capset => "the system call capset",
            Self::Netlink => "sockets of AF_NETLINK",
        }
    }
}

impl Sense {
    /// Whether this process has a right; `None` where this machine gives no occasion to try it.
    #[must_use]
    pub fn is_granted(&self, right: Right) -> Option<bool> {
        let opens_to_write = |path: PathBuf| granted(File::options().write(true).open(path).map(drop));
        match right {
            Right::IoPriority => apart(|| io_priority(BEST_EFFORT)),
            // Where the call itself is refused, that is the right that is lacking.
            Right::Nice if self.is_granted(Right::IoPriority) != Some(true) => None,
            Right::Nice => apart(|| io_priority(REALTIME)),
            Right::Kill => {
                let (pid, _) = self.process_of_another()?;
                granted(test_kill_process(Pid::from_raw(pid.cast_signed())?).map_err(io::Error::from))
            }
            Right::Ptrace => {
                let (pid, _) = self.process_of_another()?;
                granted(std::fs::read_link(self.path(format!("/proc/{pid}/exe"))).map(drop))
            }
            Right::Fowner => {
                let (pid, uid) = self.process_of_another()?;
                let path = self.path(format!("/proc/{pid}/status"));
                // One that may not be dumped has files of root.
                std::fs::metadata(&path).ok().filter(|metadata| metadata.uid() == uid)?;
                granted(File::options().read(true).custom_flags(libc::O_NOATIME).open(path).map(drop))
            }
            Right::DacOverride => granted(open_without_mode()),
            Right::Admin => apart(watch_opens),
            Right::QueueFiles => {
                let names = self.block_device_names().ok()?;
                let file = |name: &String| self.path(format!("/sys/block/{name}/queue/nr_requests"));
                opens_to_write(names.iter().map(file).find(|path| path.exists())?)
            }
            Right::VmFiles => opens_to_write(self.path("/proc/sys/vm/swappiness")),
            Right::GroupFiles => opens_to_write(self.app_groups().ok()??.mount_point.join("cgroup.procs")),
            Right::ProcessMadvise => apart(advise_nothing),
            Right::Mincore => apart(own_page_in_memory),
            Right::Capset => apart(same_capabilities),
            Right::Netlink => apart(netlink_socket),
        }
    }

    /// A process of a user who is neither root nor this one, with that user.
    fn process_of_another(&self) -> Option<(u32, u32)> {
        let own = geteuid().as_raw();
        let of = |pid: u32| Some((pid, self.status_of(pid).ok()??.effective_uid));
        let pids = self.process_ids().ok()?;
        pids.into_iter().filter_map(of).find(|(pid, uid)| {
            let has_program = || self.path(format!("/proc/{pid}/cmdline"));
            *uid != 0 && *uid != own && std::fs::read(has_program()).is_ok_and(|words| !words.is_empty())
        })
    }
}

/// What an attempt tells of the right.
fn granted(outcome: io::Result<()>) -> Option<bool> {
    match outcome {
        Ok(()) => Some(true),
        Err(error) => match error.raw_os_error()? {
            libc::EPERM | libc::EACCES | libc::EROFS | libc::EAFNOSUPPORT => Some(false),
            // The kernel lacks it, or the process has ended.
            _ => None,
        },
    }
}

fn done(returned: libc::c_long) -> io::Result<()> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Class and level: real time and best effort, 4.
const REALTIME: libc::c_int = 1 << 13 | 4;
const BEST_EFFORT: libc::c_int = 2 << 13 | 4;

/// Sets the own I/O priority.
fn io_priority(priority: libc::c_int) -> io::Result<()> {
    const WHO_PROCESS: libc::c_int = 1;
    // SAFETY: takes three integers; 0 is this thread.
    done(unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, priority) })
}

/// Sets the capabilities that it has.
fn same_capabilities() -> io::Result<()> {
    let same = rustix::thread::capabilities(None)?;
    Ok(rustix::thread::set_capabilities(None, same)?)
}

fn netlink_socket() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::NETLINK,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        Some(rustix::net::netlink::KOBJECT_UEVENT),
    );
    Ok(socket.map(drop)?)
}

/// Makes an attempt in a child, which it may kill and of which it may change what it likes. The attempt allocates
/// nothing and takes no lock: other threads may hold one at this moment.
fn apart(attempt: impl FnOnce() -> io::Result<()>) -> Option<bool> {
    // SAFETY: the child makes system calls only, and ends without unwinding.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: takes integers. No core of a child that a filter kills.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
        let errno = attempt().map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0);
        // SAFETY: takes an integer, and does not return.
        unsafe { libc::_exit(errno) };
    }
    let (_, status) = waitpid(Some(Pid::from_raw(child)?), WaitOptions::empty()).ok()??;
    match status.exit_status() {
        Some(0) => Some(true),
        Some(errno) => granted(Err(io::Error::from_raw_os_error(errno))),
        None => Some(false),
    }
}

/// Opens a file in memory that no mode lets anyone open.
fn open_without_mode() -> io::Result<()> {
    let file = memfd_create(c"right", MemfdFlags::CLOEXEC)?;
    fchmod(&file, Mode::empty())?;
    File::open(Path::new("/proc/self/fd").join(file.as_raw_fd().to_string())).map(drop)
}

fn watch_opens() -> io::Result<()> {
    let flags = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK | libc::FAN_UNLIMITED_QUEUE;
    // SAFETY: takes two integers and returns a descriptor or an error.
    let returned = unsafe { libc::fanotify_init(flags, libc::O_RDONLY as libc::c_uint) };
    done(returned.into())?;
    // SAFETY: the kernel just made this descriptor, and no other code knows its number.
    done(unsafe { libc::close(returned) }.into())
}

/// Advice on no range of the own memory.
fn advise_nothing() -> io::Result<()> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let none: *const libc::iovec = std::ptr::null();
    let (count, flags): (libc::c_ulong, libc::c_uint) = (0, 0);
    // SAFETY: no range is read.
    done(unsafe { libc::syscall(libc::SYS_process_madvise, own.as_raw_fd(), none, count, libc::MADV_COLD, flags) })
}

fn own_page_in_memory() -> io::Result<()> {
    let mut state = [0_u8; 1];
    let page = rustix::param::page_size();
    let at = (&raw const state as usize) & !(page - 1);
    // SAFETY: writes one byte for the one page of the stack that holds `state`.
    done(unsafe { libc::syscall(libc::SYS_mincore, at, page, state.as_mut_ptr()) })
        .or_else(|error| if error.raw_os_error() == Some(Errno::NOMEM.raw_os_error()) { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_right_has_its_name_and_trying_all_leaves_nothing_open() {
        let names: BTreeSet<&str> = Right::ALL.iter().map(|right| right.name()).collect();
        assert_eq!(names.len(), Right::ALL.len());
        let sense = Sense::default();
        let open = || std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or(0);
        let before = open();
        for _ in 0..20 {
            for right in Right::ALL {
                let _ = sense.is_granted(right);
            }
        }
        assert!(open() < before + 50, "other tests open some, not hundreds");
    }

    #[test]
    fn attempts_agree_with_the_capabilities_of_this_process() {
        let sense = Sense::default();
        let status = sense.process_status().expect("Linux");
        if let Some(granted) = sense.is_granted(Right::Admin) {
            assert_eq!(granted, status.has(brisk_formats::Capability::SysAdmin));
        }
        assert_ne!(sense.is_granted(Right::Mincore), Some(false));
    }

    #[test]
    fn refusals_are_told_from_what_a_kernel_lacks() {
        let of = |errno| granted(Err(io::Error::from_raw_os_error(errno)));
        assert_eq!([libc::EPERM, libc::EROFS, libc::EACCES].map(of), [Some(false); 3]);
        assert_eq!([libc::ENOSYS, libc::ESRCH, libc::ENOENT].map(of), [None; 3]);
        assert_eq!(granted(Ok(())), Some(true));
    }
}
