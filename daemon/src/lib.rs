//! The daemon: senses, decides and acts while the device runs.
//!
//! ```text
//! sources ──> events ─┐
//! sampler ──> snapshot ┴─> engines ──> arbiter ──> actuator ──> settings ──> record, control socket
//! ```
//!
//! The loop (`daemon`) sleeps in one poll(2) until a source (`sources`) or a timer (`timers`) is due. A decision is a
//! function of what was observed (`engines`), so `replay` can repeat it from a record. `devices` and `apps` list what
//! is managed and runs; `control` is the socket (protocol, client and the words for events and outcomes are
//! `brisk_api`).
//!
//! Properties, each with a test: every change can be undone, and is undone at the end and after a kill; an idle daemon
//! sleeps; an invalid configuration changes nothing; no client can block the daemon or make it grow.

pub mod account;
pub mod apps;
pub mod attempts;
pub mod clocks;
pub mod command;
pub mod config;
pub mod control;
pub mod daemon;
pub mod devices;
pub mod engines;
pub mod explain;
pub mod hook;
pub mod jobs;
pub mod killers;
pub mod learned;
#[cfg(test)]
#[path = "../../machine/sense/tests/all/machine_tree/mod.rs"]
mod machine_tree;
pub mod places;
mod pressure;
pub mod profiles;
pub mod recorder;
pub mod replay;
pub mod returns;
pub mod rights;
pub mod savings;
pub mod screen;
pub mod service;
pub mod settings;
pub mod sources;
pub mod timers;
pub mod trials;
pub mod writer;
