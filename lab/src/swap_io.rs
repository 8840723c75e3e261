//! Records swapping of this machine as a trace for `crate::swap`.
//!
//! A recording has which app's page went to which slot, or came from it, and when. Two sources are joined. Events of
//! the block layer and of page faults ([`crate::probes::SwapTrace`]) have the slot, the time, and the memory group that
//! is charged for a page. Page tables ([`brisk_sense::Sense::process_pages`]), read at intervals, have the process and
//! virtual page of each slot, and show which slots are no longer needed:
//!
//! ```text
//! block events, faults ──┐
//!                        ├─> Join (pure): owner of each slot ─> Trace + Counts
//! page tables ───────────┘
//! ```
//!
//! A page is used when it faults: when it is read for that, or later, when it was read with a neighbour. A slot's owner
//! is the process which faults on it, or has it in its page table, and so is its page; apps are processes by their
//! names. A page that no process had is of the app `unknown`, has a number of its own, and is counted.
//!
//! What a recording does not know: pages of shared memory (tmpfs, memfd) have no faults here, so each read of one
//! counts as a use; pages of zeroes, and pages that zswap holds, never reach the device; a page that is changed after
//! its return gives its slot up without an event, and is written again under another slot.
//!
//! Properties of the join, each with a test of the same name:
//! - `a_slot_that_was_written_and_read_has_its_owner`;
//! - `a_neighbour_that_was_read_is_used_only_where_it_faults`;
//! - `a_page_that_is_gone_from_the_page_tables_frees_its_slot`;
//! - `a_slot_that_changes_during_a_scan_is_not_taken_from_it`;
//! - `every_page_of_the_block_layer_is_in_the_trace_once`, for any events.

mod area;
mod error;
mod join;
mod recorder;

pub use area::Area;
pub use error::{Error, Result};
pub use join::{Counts, Join, Process, Scan, SwappedRun};
pub use recorder::{Options, Recorded, Recorder};
