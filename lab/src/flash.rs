//! Timing model of flash devices: pure and deterministic.
//!
//! It computes when a device would finish a request. The model is a queueing network (controller, host bus, write
//! buffer, units) in freestanding C, so that a kernel module can use the same source; this crate wraps it safely,
//! describes devices as data ([`Preset`]) and compares them with published figures ([`calibration`]).
//!
//! ```text
//! request ─> controller (FIFO) ─┬─ read:  units of its pages ──> host bus ──> done
//!                               └─ write: host bus ─> buffer ──> done, with a volatile cache
//!                                                    └─ groups ─> idle unit: program (merges, erase) ─> done, without
//! ```
//!
//! Pending reads and programs of a unit take turns; a program may be suspended. A read that continues a run gets
//! cheaper with the length of the run; a program that continues no run costs extra. Pages are mapped by page with
//! greedy garbage collection, by log blocks with merges, or in place. Data in the buffer is lost in a power cut; a
//! flush waits for it.
//!
//! Terms: a *page* is 4 KiB. A *unit* is a die or plane that does one operation at a time. A *program* writes a group
//! of pages to one unit. A *run* is a sequence of adjacent addresses. Time is in nanoseconds on the caller's clock.
//!
//! Properties, each with a test of that name:
//! - the same requests give the same times, in Rust and in C (a C harness, `tests/harness.c`);
//! - every request finishes, once, and not before it arrived;
//! - nothing in flight means nothing to wait for;
//! - what was flushed is never at risk.

pub mod calibration;
mod device;
mod parameters;
mod preset;
mod raw;
#[cfg(test)]
mod tests;

pub use device::{Completion, Device, DeviceError, Fault, Kind, Request, Status, SubmitError};
pub use parameters::{ParameterError, Unit};
pub use preset::{Parameter, Preset, PresetError};
pub use raw::Counters;

/// The unit of addresses, mapping and transfer in bytes.
pub const PAGE_BYTES: u64 = 4096;
