//! Storage benchmark and studies: what the storage of this machine costs the people who use it.
//!
//! The way of one measurement: a [`target`] is found under a path and prepared, an [`engine`] drives a [`load`] on it,
//! response times end in histograms ([`latency`]), repetitions in summaries, and those in [`results`].

pub mod address;
pub mod buffer;
pub mod cpu;
pub mod engine;
pub mod error;
pub mod latency;
pub mod load;
pub mod results;

pub use error::{Error, Result};
