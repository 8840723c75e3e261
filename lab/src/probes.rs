//! eBPF programs that watch a group of processes, and their loader.
//!
//! Their observations become a list of [`Event`]s with the kernel's monotonic time. The programs make no decisions:
//! which thread ran, waited or read is evaluated later from the list, by pure functions that also work on a recorded
//! list.
//!
//! ```text
//! tracepoints ─> programs (bpf/) ─> ring buffer ─> reader: record ─> collector ─┬─> Activity, at any time
//!                                                                               └─> Recording, in the end
//! ```
//!
//! - The programs first check whether a thread is watched; for all others that is the whole cost.
//! - Events cause no wake-up: a thread drains the buffer every 100 ms, as does each query of the [`Activity`].
//! - Lost events are counted and reported.
//!
//! [`SwapTrace`] is apart from that: it watches one swap area, whichever process is the cause.
//!
//! Linux 5.15 or newer with CONFIG_DEBUG_INFO_BTF, x86-64 or arm64.

mod collector;
mod error;
mod event;
mod files;
mod group;
mod load;
mod record;
mod support;
mod swap;
mod trace;

pub use collector::Activity;
pub use error::Error;
pub use event::{Connection, Event, Inode, Kind, Operation, Request, Wait, major_minor};
pub use support::Support;
pub use swap::{SwapEvent, SwapPlace, SwapTrace, SwapWhat};
pub use trace::{Cost, Options, Recording, Trace};
