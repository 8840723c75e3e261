//! `brisk profile`: what each setting of a block device costs, in energy and in delay.
//!
//! Reference [`workload`]s run under every scheduler and queue depth that the kernel offers for the device ([`run`]). Each is
//! a mix of reads, writes and flushes that arrive at a rate of their own, however slow the device is ([`open_loop`]), or a
//! number of requests kept in flight. A [`meter`] says what energy that took, the counters of the kernel what the engine will
//! see of it. The outcome is a [`brisk_smartstorage::Model`], kept by [`store`], and a document for people.
//!
//! Terms: a *cell* is one workload under one setting; a *round* is all cells once, settings in an order drawn anew. *Due* is
//! the instant at which a request arrives by plan: its delay counts from there, so a device that cannot keep up shows.
//!
//! Properties: settings are put back after each setting, on an error and on a stop; what was measured before a stop is kept
//! and gone on from; a cell's numbers come from one meter, and meters are never mixed in a profile.

mod cross_validation;
pub mod error;
pub mod fio;
pub mod meter;
pub mod open_loop;
pub mod recording;
pub mod report;
pub mod run;
pub mod store;
pub mod workload;

pub use error::{Error, Result};
