//! Asking the kernel by calling it: each probe makes one harmless call and reads the answer.
//!
//! A version number does not tell what a vendor's kernel, a container or a security policy lets through; the call does.
//! No probe changes a setting or outlives its function: what it opens is closed, what it maps is unmapped.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Works,
    /// This kernel does not know it.
    Unknown,
    /// Known, but not for this process.
    Refused,
    /// Something else, in the kernel's words.
    Failed(String),
}

impl Answer {
    fn of<T>(outcome: io::Result<T>) -> Self {
        match outcome {
            Ok(_) => Self::Works,
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOSYS | libc::ENOENT | libc::ENODEV | libc::ENXIO) => Self::Unknown,
                Some(libc::EPERM | libc::EACCES) => Self::Refused,
                _ => Self::Failed(error.to_string()),
            },
        }
    }
}

/// Owns the descriptor that a system call returned, or says why there is none.
fn descriptor(returned: libc::c_long) -> io::Result<OwnedFd> {
    match RawFd::try_from(returned) {
        // SAFETY: the kernel just made this descriptor for us and no other code knows its number.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether io_uring rings can be made.
pub(crate) fn io_uring() -> Answer {
    // struct io_uring_params is 120 bytes, all zero asks for nothing special.
    let mut params = [0u64; 15];
    let entries: libc::c_uint = 4;
    // SAFETY: the kernel writes at most the 120 bytes of `params`, which lives longer than the call.
    Answer::of(descriptor(unsafe { libc::syscall(libc::SYS_io_uring_setup, entries, params.as_mut_ptr()) }))
}

fn own_pidfd() -> io::Result<OwnedFd> {
    let flags: libc::c_uint = 0;
    // SAFETY: takes two integers and returns a descriptor or an error.
    descriptor(unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), flags) })
}

/// Whether processes can be held by a descriptor.
pub(crate) fn pidfd() -> Answer {
    Answer::of(own_pidfd())
}

/// Whether the opens of other processes can be watched, as many as there are.
pub(crate) fn fanotify() -> Answer {
    let flags = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK | libc::FAN_UNLIMITED_QUEUE;
    // SAFETY: takes two integers and returns a descriptor or an error.
    Answer::of(descriptor(unsafe { libc::fanotify_init(flags, libc::O_RDONLY as libc::c_uint) }.into()))
}

/// Whether the memory of a process can be advised from outside with `advice`, tried on a page of our own.
fn process_madvise(advice: libc::c_int) -> Answer {
    const SIZE: usize = 4096;
    let pidfd = match own_pidfd() {
        Ok(pidfd) => pidfd,
        Err(error) => return Answer::of::<()>(Err(error)),
    };
    // SAFETY: a new private mapping at an address of the kernel's choice touches no memory of ours.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return Answer::of::<()>(Err(io::Error::last_os_error()));
    }
    let range = libc::iovec { iov_base: page, iov_len: SIZE };
    let (count, flags): (libc::c_ulong, libc::c_uint) = (1, 0);
    // SAFETY: `range` is one valid iovec over a page that is mapped until munmap below; the advice may move that page
    // out of memory, where nothing of ours lies.
    let advised =
        unsafe { libc::syscall(libc::SYS_process_madvise, pidfd.as_raw_fd(), &raw const range, count, advice, flags) };
    let outcome = if advised < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: exactly the mapping made above, and no reference to it remains.
    unsafe { libc::munmap(page, SIZE) };
    match outcome {
        // The call is there, this advice is not.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Answer::Unknown,
        outcome => Answer::of(outcome),
    }
}

/// Whether another process's pages can be paged out (Linux 5.10).
pub(crate) fn madvise_page_out() -> Answer {
    process_madvise(libc::MADV_PAGEOUT)
}

/// Whether another process's pages can be brought back (Linux 5.14).
pub(crate) fn madvise_will_need() -> Answer {
    process_madvise(libc::MADV_WILLNEED)
}

/// Head of `union bpf_attr` for BPF_PROG_LOAD.
#[repr(C)]
struct ProgramLoad {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buffer: u64,
    kernel_version: u32,
    flags: u32,
}

/// Whether tracing programs can be loaded: a program for tracepoints that returns 0.
pub(crate) fn bpf_tracing() -> Answer {
    const PROG_LOAD: libc::c_int = 5;
    const TYPE_TRACEPOINT: u32 = 5;
    // r0 = 0; exit
    let instructions: [u64; 2] = [0x0000_0000_0000_00b7, 0x0000_0000_0000_0095];
    let load = ProgramLoad {
        program_type: TYPE_TRACEPOINT,
        instruction_count: 2,
        instructions: instructions.as_ptr() as u64,
        license: c"GPL".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log_buffer: 0,
        kernel_version: 0,
        flags: 0,
    };
    // SAFETY: the kernel reads `load` of the size given, two instructions and a terminated string, all alive here.
    Answer::of(descriptor(unsafe {
        libc::syscall(libc::SYS_bpf, PROG_LOAD, &raw const load, size_of::<ProgramLoad>())
    }))
}

/// Whether the kernel would wake us on memory pressure in windows of `window_us`. The trigger goes with the file.
pub(crate) fn pressure_trigger(file: &Path, window_us: u32) -> Answer {
    let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(file);
    let trigger = format!("some {} {window_us}\0", window_us / 10);
    match opened.and_then(|mut file| file.write_all(trigger.as_bytes())) {
        // Windows that need privilege are answered with EINVAL.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Answer::Refused,
        outcome => Answer::of(outcome),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sorted_by_what_helps() {
        let of = |errno| Answer::of::<()>(Err(io::Error::from_raw_os_error(errno)));
        assert_eq!(of(libc::ENOSYS), Answer::Unknown);
        assert_eq!(of(libc::ENOENT), Answer::Unknown);
        assert_eq!(of(libc::EACCES), Answer::Refused);
        assert!(matches!(of(libc::EIO), Answer::Failed(_)));
        assert_eq!(Answer::of(Ok(())), Answer::Works);
    }

    #[test]
    fn a_node_that_is_not_there_is_unknown() {
        assert_eq!(pressure_trigger(Path::new("/proc/pressure/no-such-file"), 1_000_000), Answer::Unknown);
    }

    #[test]
    fn an_advice_that_no_kernel_has_is_unknown() {
        if pidfd() == Answer::Works {
            assert_ne!(process_madvise(12_345), Answer::Works);
        }
    }

    #[test]
    fn probes_leave_no_descriptor_behind() {
        let open = || std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or(0);
        let all = || (io_uring(), pidfd(), madvise_page_out(), madvise_will_need(), bpf_tracing());
        // The first round may leave what libraries keep; later rounds must not add to it by the hundred. Other tests
        // of this binary open files at the same time, so the bound is loose and the number of rounds high.
        all();
        let before = open();
        for _ in 0..100 {
            all();
        }
        assert!(open() < before + 50, "{before} descriptors before, {} after", open());
    }
}
