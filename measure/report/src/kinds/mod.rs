//! One file for each kind of document: its rows, its charts and tables, its verdict.
//!
//! The kinds are listed in one place, `brisk_results::documents!`: what is there has to implement
//! [`Kind`](crate::section::Kind) here.

pub(crate) mod apps;
mod bench;
pub(crate) mod compare;
pub(crate) mod comparison;
mod concurrency;
mod cures;
mod day;
mod footprint;
mod frontier;
mod heap_study;
mod hunt;
mod kernel;
mod latency;
mod launch;
mod memory_study;
pub(crate) mod opening;
mod prediction;
mod profile;
mod prove;
mod relaunch;
mod schedulers;
mod slowdown;
mod suite;
mod swap;
mod whatif;

use crate::section::{Kind, Section};

/// A document, ready to be shown.
pub(crate) fn section(document: &brisk_results::Document) -> Section {
    brisk_results::with_report!(document, report => report.section())
}
