//! The daemon's interface: the varlink protocol, what its methods take and return, and a client.
//!
//! Varlink (varlink.org) is JSON objects with a zero byte after each; every service describes itself, so that
//! `varlinkctl` and its like work without knowing brisk. The protocol is so small, and the crates for it either block a
//! thread for each client or bring an async runtime, that it is written here.
//!
//! ```text
//! client ──Call──> socket ──> Method (`method`) ──> the daemon ──> Reply, or a Fault ──> client
//! ```
//!
//! `org.brisk.Daemon.varlink` describes the interface. What methods return is in `status` (the daemon at one moment)
//! and `surveys` (what engines make of apps); settings and actions are those of `brisk_core::state`. `dirs` says where
//! a daemon has its files, `resting` which parts of it can rest, `init` how a service is started on this machine;
//! `render` turns events, outcomes and rules into sentences.
//!
//! Properties: `the_description_names_what_is_sent`; `no_call_makes_it_panic`.

mod client;
pub mod dirs;
pub mod init;
mod job;
mod loss;
mod message;
mod method;
mod pressure;
pub mod render;
pub mod resting;
mod rights;
mod said;
mod status;
mod surveys;
#[cfg(test)]
mod tests;
mod trial;
mod tries;

pub use client::{Client, ClientError};
pub use dirs::{SESSION_SOCKET, SOCKET, run_dir};
pub use job::{JOB_SOCKET, Job, JobEnd, JobKind};
pub use loss::{Loss, LossKind};
pub use message::{CALL_BYTES_MAX, Call, DESCRIPTION, INTERFACE, Reply, SERVICE, SERVICE_DESCRIPTION, reply_with};
pub use method::{Fault, Method, Target, understand};
pub use pressure::{Pressure, PressureSpan};
pub use resting::Resting;
pub use rights::LackingRight;
pub use said::{Part, Said};
pub use status::{
    Cost, Counts, DEVICES_UNREAD, Device, Estimate, FoundBy, Happening, LeftAlone, MemoryProgram, PARTS, Prefetched,
    Record, Saved, Status, SwapWrites, Why,
};
pub use surveys::{AppLaunches, AppMemory, AppPages, Apps, Launches, MemorySurvey, Pages, PagesSurvey, Readiness};
pub use trial::{Effect, EngineTrial, Figure, Ladder, Phase, StageOfTrial, SubjectTrial, Sums, Trials};
pub use tries::{Ended, Tried, Tries, Try};
