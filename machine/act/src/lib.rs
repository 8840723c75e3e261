//! The only writer of the machine's settings: plan, apply, read back, journal.
//!
//! All settings that brisk changes on a machine are written by this crate. Each change has the same steps: the present
//! value is written to a [`Journal`] on disk, then the new value is written, then the value in force is read back. The
//! journal restores all settings on request and when it is dropped; after a crash, the next process that calls
//! [`restore_leftovers`] does so.
//!
//! Two ways in: [`Actuator`] gets all requested settings and finds the changes; [`BlockQueue`] changes one setting at a
//! time.
//!
//! Actions that happen once ([`Actuator::perform`]) are listed in `once.rs`, with a file for each mechanism. Their
//! effects (frozen groups, protections, limits) are journaled like a knob, and undone on exit, by the next process
//! after a crash, and by `brisk reset`. A keeper, a process of its own (`keeper.rs`), thaws what is frozen as soon as
//! brisk dies.
//!
//! Terms: a *knob* is one setting (`brisk_core::knob`); an *owner* is the process that changed it; *driver tags* are
//! the requests that a block driver accepts at once, the queue depth that a device shows to the schedulers above it.
//!
//! Properties: `undo_after_apply_is_identity`; `a_knob_that_someone_else_changed_is_left` (and reported);
//! `the_journal_is_on_disk_before_the_change`; `a_live_owner_keeps_its_changes`.

mod actuator;
mod caches;
mod error;
mod groups;
mod ioprio;
mod journal;
mod keeper;
mod lock;
mod once;
mod owner;
mod paths;
mod pending;
mod queue;
mod run_dir;
mod setting_file;
mod swap_area;
mod undo;
mod worker;

pub use actuator::Actuator;
pub use caches::drop_caches;
pub use error::Error;
pub use journal::Journal;
pub use keeper::{KEEPER_NAME, Keeper, Tended, keep};
pub use lock::Lock;
pub use once::stops::{ENDS_PER_MINUTE_MAX, Sensed};
pub use paths::Paths;
pub use pending::{Restored, RunningOwner, restore_all};
pub use queue::BlockQueue;
pub use run_dir::make_run_dir;
pub use swap_area::kernel as swap_kernel;
pub use swap_area::{
    AtBoot, FLASH_PRIORITY, FlashArea, LeftArea, Prepared, SWAP_RECORD, SwapAreaError, SwapAreas, SwapPlaces, SwapPlan,
    Undone, ZRAM_PRIORITY,
};
pub use undo::{DamagedJournal, LeftSetting, Report, damaged_journals, restore_leftovers};
