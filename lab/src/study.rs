//! What the subcommands of `brisk-lab` run.

pub(crate) mod candidates;
pub(crate) mod cures;
pub(crate) mod day;
pub(crate) mod display;
pub(crate) mod heap_study;
pub(crate) mod kernel;
pub(crate) mod latency;
pub(crate) mod launch;
pub(crate) mod papers;
pub(crate) mod predict;
pub(crate) mod profile;
pub(crate) mod prove;
pub(crate) mod relaunch;
pub(crate) mod shown;
pub(crate) mod swap;
pub(crate) mod usage_trace;
