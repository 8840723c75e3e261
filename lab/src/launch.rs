//! Launch, run-time and user-perceived latency of any app, measured from outside.
//!
//! ```text
//! command ─> scope ─┬─ probes (eBPF): scheduler, block, socket, reclaim events ─> [Event] ─> split(events, window)
//!       (own cgroup) └─ screen (X11, Wayland): damage, windows, pictures ─> [Change] ─> settle(changes) ─> stages
//! ```
//!
//! - *Recording and evaluation are separate.* During a launch, events and changes are only collected. When it is over
//!   (`over.rs`: the screen and the app were quiet for 500 ms; without a screen, the app ended or was idle for 5 s; or
//!   a limit passed), pure functions find the stages in the lists, and then the split of the time up to each stage. A
//!   rule about carets or waits is therefore a function with cheap tests.
//! - *The split is exclusive* (`split.rs`): its parts add up to the wall time. User and system time share the running
//!   part in the ratio of the scope's cpu.stat.
//! - *Settled* is the last visible change that is not periodic (`settle.rs`). Damage that changed no pixel is no
//!   change.
//! - *A return is a launch too* (`relaunch.rs`): an app in the background comes to the front and answers; what it
//!   needed of swap and files is read from its page tables.
//! - *Cold is verified.* The files of an app are known from its last launch and its libraries; they are evicted one by
//!   one, counted, and files that stayed are named with the process that maps them.

mod app;
pub mod census;
pub mod clock;
pub mod cold;
mod compare;
pub mod desktop;
mod error;
pub mod latency;
mod launcher;
pub mod monkey;
pub mod observation;
pub mod over;
#[cfg(test)]
mod recorded;
pub mod relaunch;
pub mod samples;
pub mod scope;
pub mod script;
pub mod series;
pub mod settle;
pub mod split;
pub mod storage_use;
mod view;
mod watch;
pub mod work;

pub use app::{App, User};
pub use compare::{Plan, Progress, Series, Setup};
pub use error::{Error, Result};
pub use launcher::{Launched, Launcher, Settings, Start};
pub use relaunch::{Relaunched, Resident};
pub use scope::Scope;
