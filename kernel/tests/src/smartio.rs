//! The policy of the kernel scheduler `smartio`, callable from tests outside of the kernel.
//!
//! `smartio_policy.h` has learning and decisions as pure functions on plain integers. The module calls them under its
//! lock; this crate compiles the same header with the system's compiler and wraps each function safely, to test
//! properties with random inputs (`policy.rs` of the tests) and whole loads with a simple device (`share.rs`). The
//! scheduler around it is compiled as well, with `host/kernel.h` in place of the kernel: [`scheduler`] wraps it
//! (`dispatch.rs` with loads, `requests.rs` with single requests). Units and meanings are those of the header.

pub mod scheduler;

/// "Never", for times.
pub const NEVER: u64 = u64::MAX;
/// The most credit: the longest hold in a row.
pub const CREDIT_NS: u64 = 20_000_000;
/// Of what reads wait for a cache, so much is charged to writes in a turn of holds.
pub const HIDDEN_NS: u64 = 5_000_000;
/// How long the next step of a commit is expected.
pub const COMMIT_NS: u64 = 2_000_000;
/// Without reads and commits, background writes in the device beyond both of these wait.
pub const ALONE_BYTES: u32 = 1 << 20;
pub const ALONE_WRITES: u32 = 2;

/// Decision on a background write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Verdict {
    Go = 0,
    /// As many as allowed are in the device.
    WaitCap = 1,
    /// A read or a commit is expected.
    WaitHold = 2,
}

/// Input of the decision on a background write: `struct smartio_view`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct View {
    pub now_ns: u64,
    /// Time until which a read is expected.
    pub read_until_ns: u64,
    /// The same for the next step of a commit.
    pub commit_until_ns: u64,
    /// How long background writes may still be held.
    pub credit_ns: u64,
    /// Background writes in the device.
    pub writes: u32,
    /// Theirs.
    pub bytes: u32,
    /// Whether reads or commits are there, or were within a slice.
    pub beside: bool,
    /// Whether the credit is being used.
    pub holding: bool,
    /// Whether a read is in the device since before the last write went, whose program it waits for.
    pub overtaken: bool,
}

mod raw {
    use super::{Verdict, View};

    // Verdict is returned by C as one of its values.
    unsafe extern "C" {
        /// A mean that forgets: an eighth of the new sample; 0 stands for not known.
        pub safe fn host_mean(old: u32, sample: u64) -> u32;
        /// Tags for writes, without the reserve of reads; at least one.
        pub safe fn host_tags(tags: u32, reserve_percent: u32) -> u32;
        /// Readiness of readers to go on, 0 to 256, after a pause.
        pub safe fn host_learn_hits(hits: u32, pause_ns: u64, most_ns: u64) -> u32;
        /// Whether most reads follow one another.
        pub safe fn host_continuous(hits: u32) -> bool;
        /// Longest hold for a read, with what a write takes.
        pub safe fn host_hold_most(most_ns: u64, write_ns: u32) -> u64;
        /// How long the next read is expected.
        pub safe fn host_hold_ns(pause_ns: u32, hits: u32, most_ns: u64) -> u64;
        /// Credit after a time with background writes, or without any in the device.
        pub safe fn host_credit(credit_ns: u64, elapsed_ns: u64, busy: bool, idle: bool, share_percent: u32) -> u64;
        /// The shortest of the last thousand or so; 0 stands for not known.
        pub safe fn host_shortest(old: u32, sample: u64) -> u32;
        /// What a read took beyond its own time.
        pub safe fn host_hidden(took_ns: u64, shortest_ns: u32, pages: u32) -> u64;
        /// Whether the credit is being used.
        pub safe fn host_holding(holding: bool, credit_ns: u64) -> bool;
        /// Whether a background write may go now.
        pub safe fn host_judge(view: &View) -> Verdict;
        /// When a write that is held is judged anew at the latest.
        pub safe fn host_wake_ns(view: &View, share_percent: u32) -> u64;
        /// Size of the view in C, to hold [`super::View`] against.
        pub safe fn host_view_bytes() -> u32;
    }
}

pub use raw::{
    host_continuous as continuous, host_credit as credit_ns, host_hidden as hidden_ns, host_hold_most as hold_most_ns,
    host_hold_ns as hold_ns, host_holding as holding, host_judge as judge, host_learn_hits as learn_hits,
    host_mean as mean, host_shortest as shortest, host_tags as tags, host_view_bytes as view_bytes,
    host_wake_ns as wake_ns,
};
