//! Errors of watching, with remedies.

use std::io;
use std::path::PathBuf;

/// Failure of the probes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This binary was built without the programs.
    #[error("this brisk was built without its eBPF programs (BRISK_NO_BPF); build it with clang installed")]
    NotBuiltIn,
    /// The process may not load programs.
    #[error(
        "watching threads with eBPF needs CAP_BPF and CAP_PERFMON: run as root, in a container with --cap-add=BPF --cap-add=PERFMON"
    )]
    NotPermitted,
    /// The kernel has no type information.
    #[error(
        "cannot read the kernel's types from /sys/kernel/btf/vmlinux; a kernel with CONFIG_DEBUG_INFO_BTF is needed"
    )]
    NoTypes(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The control group cannot be used.
    #[error("cannot use the control group {path}")]
    Group {
        /// Its directory.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The directory is not in cgroup2.
    #[error("{path} is no control group of the second version (cgroup2); only those can be watched")]
    NotAGroup {
        /// The directory.
        path: PathBuf,
    },
    /// Invalid size of the buffer.
    #[error("a buffer of {bytes} bytes cannot be: {smallest} to {largest} are possible")]
    Buffer {
        /// Requested size.
        bytes: u32,
        /// The smallest.
        smallest: u32,
        /// The largest.
        largest: u32,
    },
    /// The programs or their maps could not be set up.
    #[error("cannot set up the eBPF programs; is the kernel at least 5.15, and is eBPF allowed (lockdown, seccomp)?")]
    SetUp(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The kernel refused an essential program.
    #[error("the kernel refused the eBPF program {program} on {tracepoint}: {reason}")]
    Refused {
        /// Name of the program.
        program: &'static str,
        /// Its tracepoint.
        tracepoint: &'static str,
        /// The kernel's error, and the last lines of the verifier's log.
        reason: String,
    },
    /// The thread that collects events could not be started.
    #[error("cannot start the thread that collects events")]
    Thread(#[source] io::Error),
}
