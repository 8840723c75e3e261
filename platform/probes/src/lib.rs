//! eBPF programs that watch a group of processes, and their loader.
//!
//! What they see becomes a list of [`Event`]s, each with the kernel's monotonic time. They decide nothing: who ran, waited or
//! read is found later from the list, by pure functions that a recorded list can be given to again.
//!
//! ```text
//! tracepoints ─> programs (bpf/) ─> ring buffer ─> reader: record ─> collector ─┬─> Activity, at any time
//!                                                                               └─> Recording, in the end
//! ```
//!
//! - The programs find out first whether a thread is watched; for all others that is their whole cost.
//! - Nobody is woken by an event: a thread empties the buffer every 100 ms, and who asks for the [`Activity`] empties it too.
//! - What was lost is counted and said.
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
mod trace;

pub use collector::Activity;
pub use error::Error;
pub use event::{Connection, Event, Inode, Kind, Operation, Request, Wait, major_minor};
pub use support::Support;
pub use trace::{Cost, Options, Recording, Trace};
