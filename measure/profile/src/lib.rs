//! `brisk profile`: cost of each setting of a block device in energy and latency.
//!
//! Reference [`workload`]s run under every scheduler and queue depth that the kernel offers for the device ([`run`]).
//! Each is a mix of reads, writes and flushes that arrive at given rates, independent of the device ([`open_loop`]), or
//! a number of requests in flight. A [`meter`] measures the energy, the counters of the kernel what the engine will
//! observe. The result is a [`brisk_engine::smartstorage::Model`], kept by [`store`], and a report.
//!
//! Terms: a *cell* is one workload under one setting; a *round* is all cells once, settings in random order. *Due* is
//! the planned arrival of a request: its latency counts from there, so an overloaded device shows.
//!
//! Properties: settings are restored after each cell group, on an error and on a stop; completed measurements are kept
//! and continued from; a profile uses a single meter.

mod cross_validation;
pub mod error;
pub mod fio;
pub mod meter;
pub mod open_loop;
pub mod recording;
pub mod report;
pub mod results;
pub mod run;
pub mod store;
pub mod workload;

pub use error::{Error, Result};
