//! Swap traces: how pages lie in the swap area, and what another allocation of slots would make of the same swapping.
//!
//! Swapping on flash is slow for two reasons (MARS 2.3): the pages that an app needs when it returns lie scattered, and
//! swap-out of others is concurrent with its swap-in. A [`Trace`] has what was swapped, when and by which app.
//! [`layout`] shows how sequential that was, and [`map`] where and when (MARS figures 8 to 10). [`replay`] repeats it
//! on a flash model with another [`Policy`]:
//!
//! ```text
//! Trace ─> Area (Policy: slot of a page) ─> Queue (block layer: merges, reads first) ─> Target: crate::flash::Device
//!   └── faults wait in its time; the trace stands still meanwhile ──> Outcome: bandwidth, latency, launches
//! ```
//!
//! Everything here is pure and deterministic: the same trace, policy and preset give the same figures. Another
//! [`Target`] may be a real device with a clock of its own.
//!
//! Terms: a *slot* is one page (4 KiB) of the swap area. *Out* and *in* are the write of a page to its slot and the
//! read back. A *cluster* is 256 adjacent slots (1 MiB), from which Linux allocates in sequence; an *extent* is the
//! same for one app alone (MARS 3.3). A *launch* begins when an app comes to the front and ends when it is ready for
//! input. A page in the *swap cache* was read with a neighbour and has not been used yet.
//!
//! Properties, each with a test of the same name:
//! - `every_page_has_one_slot_and_every_slot_one_page`, under each policy;
//! - `an_extent_holds_pages_of_one_app`, as long as a free extent exists;
//! - `the_same_trace_gives_the_same_figures`;
//! - `no_write_starts_during_a_launch_under_mars`;
//! - `a_trace_is_read_back_as_it_was_written`, and never panics on damaged text.

mod area;
mod launches;
pub mod layout;
pub mod map;
mod outcome;
mod queue;
mod replay;
mod target;
mod trace;
mod workload;

pub use area::{Area, CLUSTER_SLOTS, Occupant, Policy, with_slots};
pub use outcome::{Launch, Outcome};
pub use replay::{ReplayError, Settings, SwapIn, area_bytes, replay, replay_on};
pub use target::Target;
pub use trace::{Action, Event, Trace, TraceError};
pub use workload::{AppSize, Workload, WorkloadError};
