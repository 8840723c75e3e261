//! Storage benchmark and studies: what the storage of this machine costs the people who use it.
//!
//! The way of one measurement: a [`place`] is found under a path and a [`work_file`] prepared on it, an [`engine`] drives
//! a [`load`] there, response times end in histograms ([`latency`]), repetitions in summaries, and those in `brisk_results`.

pub mod address;
pub mod buffer;
pub mod cache;
pub mod control;
pub mod cpu;
pub mod crew;
pub mod engine;
pub mod environment;
pub mod error;
pub mod latency;
pub mod load;
pub mod place;
pub mod repeats;
pub mod storebench;
pub mod streams;
pub mod study;
pub mod verdict;
pub mod work_file;

pub use brisk_sense::Sense;
pub use control::Control;
pub use error::{Error, Result};
