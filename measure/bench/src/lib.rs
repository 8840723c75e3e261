//! Storage benchmark and studies.

pub mod results;
