//! The only writer of the machine's settings: plan, apply, read back, journal.
//!
//! Whoever wants to know what brisk can do to a machine reads this crate. Each change goes the same way: the value that
//! stands is put into a [`Journal`] on disk, then the new one is written, then what the kernel made of it is read back.
//! The journal puts everything back on request, when it is dropped, and, after a crash, from the next process that calls
//! [`restore_leftovers`].
//!
//! Two ways in: [`Actuator`] is told what is wanted and finds out the rest; [`BlockQueue`] changes one setting at a time.
//!
//! Actions that happen once ([`Actuator::perform`]) are listed in `once.rs`, with the file that each of them is. What they leave
//! behind (frozen groups, protections, limits) is journaled like a knob, and undone on exit, by the next process after a crash, and
//! by `brisk reset`.
//!
//! Terms: a *knob* is one setting (`brisk_core::knob`); an *owner* is the process that changed it; *driver tags* are the requests
//! that a block driver accepts at once, the queue depth that a device shows to the schedulers above it.
//!
//! Properties: `undo_after_apply_is_identity`; `a_knob_that_someone_else_changed_is_left` (and reported);
//! `the_journal_is_on_disk_before_the_change`; `a_live_owner_keeps_its_changes`.

mod actuator;
mod caches;
mod error;
mod groups;
mod ioprio;
mod journal;
mod lock;
mod once;
mod owner;
mod paths;
mod queue;
mod setting_file;
mod undo;

pub use actuator::{Actuator, ChangedExternally};
pub use caches::drop_caches;
pub use error::Error;
pub use journal::Journal;
pub use lock::Lock;
pub use paths::Paths;
pub use queue::BlockQueue;
pub use undo::{DamagedJournal, Left, Report, damaged_journals, restore_leftovers};
