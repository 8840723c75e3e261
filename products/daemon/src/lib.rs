//! The daemon: senses, decides and acts while the device runs.
//!
//! ```text
//! sources ──> events ─┐
//! sampler ──> snapshot ┴─> engines ──> arbiter ──> actuator ──> settings ──> record, control socket
//! ```
//!
//! The loop (`daemon`) sleeps in one poll(2); what wakes it is in `sources`. What is decided is a function of what was seen
//! (`engines`), which is why `replay` can do it again from a record. `devices` and `apps` say what is there; `control` is
//! the socket, and its client for the command.
//!
//! Properties, each with a test: nothing is changed that cannot be put back, and everything is put back at the end, also
//! after a kill; idle is asleep; a bad configuration changes nothing; no client can make it wait or grow.

pub mod apps;
pub mod clocks;
pub mod command;
pub mod config;
pub mod control;
pub mod daemon;
pub mod devices;
pub mod engines;
pub mod explain;
pub mod happenings;
pub mod profiles;
pub mod recorder;
pub mod replay;
pub mod savings;
pub mod service;
pub mod settings;
pub mod sources;

use std::path::PathBuf;

/// Where lock, socket and journals are: as chosen, else as the environment says (`BRISK_RUN_DIR`), else `/run/brisk`.
#[must_use]
pub fn run_dir(chosen: Option<PathBuf>) -> PathBuf {
    let of_environment = || std::env::var_os("BRISK_RUN_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    chosen.or_else(of_environment).unwrap_or_else(|| "/run/brisk".into())
}
