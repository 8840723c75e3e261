//! eBPF programs that watch a group of processes, and their loader.
//!
//! What they see becomes a list of [`Event`]s, each with the kernel's monotonic time. They decide nothing: who ran, waited or
//! read is found later from the list, by pure functions that a recorded list can be given to again.

mod event;

pub use event::{Connection, Event, Inode, Kind, Operation, Request, Wait};
