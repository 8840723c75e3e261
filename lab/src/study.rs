//! What the subcommands of `brisk-lab` run.

pub(crate) mod briskd;
pub(crate) mod candidates;
pub(crate) mod display;
pub(crate) mod heap_study;
pub(crate) mod kernel;
pub(crate) mod latency;
pub(crate) mod launch;
pub(crate) mod memory_study;
pub(crate) mod on_phone;
pub(crate) mod other_daemons;
pub(crate) mod papers;
pub(crate) mod predict;
pub(crate) mod prefetch;
pub(crate) mod profile;
pub(crate) mod prove;
pub(crate) mod shown;
pub(crate) mod suite;
pub(crate) mod swap;
pub(crate) mod usage_trace;
