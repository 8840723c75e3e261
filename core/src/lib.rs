//! The vocabulary that all parts of brisk share.
//!
//! Nothing here reads a file, a clock or the environment: values in, values out.
//!
//! - [`action`]: what brisk can do to a machine: settings and one-shot actions.
//! - [`app`]: apps, and how much delay each tolerates.
//! - [`arbiter`]: resolves what several engines request.
//! - [`causes`]: an error with its sources, in one line.
//! - [`decision`]: what engines see and what they request.
//! - [`device`]: block devices as engines see them.
//! - [`energy`]: assumptions about energy where nothing measures it.
//! - [`event`]: what happened on the machine.
//! - [`group`]: the key of a control group, and its name.
//! - [`knob`]: settings of the machine, under one name each.
//! - [`launch`]: files of a launch: what it used, what is read ahead.
//! - [`outcome`]: what became of a requested action.
//! - [`pages`]: pages of apps: where they are, which a return touched.
//! - [`reason`]: why something was decided.
//! - [`snapshot`]: one moment of the machine, and the rates between two.
//! - [`survey`]: what engines show of apps, pages and launches.
//! - [`text`]: text of others on a terminal, and the styles of brisk's own.
//! - [`token_bucket`]: a rate limit.
//! - [`trial`]: whether an engine pays, by episodes of which some are held out.
//! - [`state`]: requests with what became of them.
//! - [`units`]: sizes, durations and rates as people write and read them.
//! - [`stats`]: the statistics that brisk reports, each with its interval.
//! - [`random`]: seeded pseudo-random numbers.

#![warn(missing_docs)]

pub mod action;
pub mod app;
pub mod arbiter;
pub mod causes;
pub mod decision;
pub mod device;
pub mod energy;
pub mod event;
pub mod group;
pub mod knob;
pub mod launch;
pub mod outcome;
pub mod pages;
pub mod random;
pub mod reason;
pub mod snapshot;
pub mod state;
pub mod stats;
pub mod survey;
pub mod text;
pub mod token_bucket;
pub mod trial;
pub mod units;
