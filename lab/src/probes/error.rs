//! Errors of watching, with remedies.

use std::io;
use std::path::PathBuf;

/// Failure of the probes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("this brisk was built without its eBPF programs (BRISK_NO_BPF); build it with clang installed")]
    NotBuiltIn,
    #[error(
        "watching threads with eBPF needs CAP_BPF and CAP_PERFMON: run as root, in a container with --cap-add=BPF \
         --cap-add=PERFMON"
    )]
    NotPermitted,
    #[error(
        "cannot read the kernel's types from /sys/kernel/btf/vmlinux; a kernel with CONFIG_DEBUG_INFO_BTF is needed"
    )]
    NoTypes(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot use the control group {path}")]
    Group { path: PathBuf, source: io::Error },
    #[error("{path} is no control group of the second version (cgroup2); only those can be watched")]
    NotAGroup { path: PathBuf },
    #[error("a buffer of {bytes} bytes cannot be: {smallest} to {largest} are possible")]
    Buffer { bytes: u32, smallest: u32, largest: u32 },
    #[error("cannot set up the eBPF programs; is the kernel at least 5.15, and is eBPF allowed (lockdown, seccomp)?")]
    SetUp(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the kernel refused the eBPF program {program} on {tracepoint}: {reason}")]
    Refused { program: &'static str, tracepoint: &'static str, reason: String },
    #[error("cannot start the thread that collects events")]
    Thread(#[source] io::Error),
}
