//! The client's side of the emulated flash devices of this machine.
//!
//! A lab device is a server process with a directory under the run directory. This crate finds the directory that
//! belongs to a block device and asks its server for the status: model time, counted operations and energy, fidelity.
//! It makes, changes and removes nothing, and links no flash model, so that programs for devices may use it.
//! `lab/src/device` is the other side: it makes the devices and serves them.
//!
//! Files: `client` finds and asks, `control` has the messages and the connection, `state` and `numbered` the
//! directories, `statistics` and `fidelity` what a status holds.

mod client;
pub mod control;
mod error;
mod fidelity;
pub mod numbered;
pub mod state;
mod statistics;

pub use client::{Client, Device};
pub use control::{FaultOrder, Status};
pub use error::{Error, Result};
pub use fidelity::{CpuPressure, Fidelity, Overhead};
pub use statistics::{KindCount, Lateness, Requests};
