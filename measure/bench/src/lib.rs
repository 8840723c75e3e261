//! Storage benchmark and studies.
//!
//! A measurement finds a [`place`] under a path and prepares a [`work_file`] on it; an [`engine`] runs a [`load`]
//! there; response times are collected in histograms ([`latency`]) and summarised over repetitions in
//! `crate::results`.

pub mod address;
pub mod buffer;
pub mod cache;
pub mod control;
pub mod cpu;
pub mod engine;
pub mod environment;
pub mod error;
pub mod foreign;
pub mod latency;
pub mod load;
#[cfg(test)]
#[path = "../../../machine/sense/tests/all/machine_tree/mod.rs"]
mod machine_tree;
pub mod place;
pub mod repeats;
pub mod results;
pub mod storebench;
pub mod streams;
pub mod study;
pub mod verdict;
pub mod work_file;

pub use brisk_sense::Sense;
pub use control::Control;
pub use error::{Error, Result, several};
