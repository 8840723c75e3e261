//! One file per kind of document: its verdict, its charts, its tables.

mod apps;
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod concurrency;
pub(crate) mod footprint;
pub(crate) mod frontier;
pub(crate) mod kernel;
pub(crate) mod latency;
pub(crate) mod launch;
pub(crate) mod profile;
pub(crate) mod prove;
pub(crate) mod schedulers;
pub(crate) mod slowdown;
pub(crate) mod suite;
pub(crate) mod whatif;
