//! A day of use: a person's switches between apps, replayed on a phone in compressed time.
//!
//! ```text
//! usage trace (CSV, or synthetic) ─> plan: user, span, apps, dwell times ─> replay on a Visitor ─> switches
//! ```
//!
//! A trace has *sessions*: an app was brought to the foreground at a time, and stayed there for another. The plan takes
//! those of one user in a span of time, and gives the most used apps of the span to the apps of the phone, by rank;
//! sessions of other apps are left out and counted. Sessions of the same app that then follow each other are one
//! *visit*. Between visits lies a *switch*. *Dwell* is the time that an app stays in front after it has answered: that
//! of the trace over the speed, between a least and a most time. The least leaves time to write pages out, as a real
//! dwell does. Times with the screen off are not replayed.
//!
//! The replay loop knows no phone: it drives a [`Visitor`], which is a phone but in tests. Properties: the same
//! trace and choice give the same plan; the loop calls each visit's steps in order, and ends in order when it is asked
//! to stop.

mod plan;
mod replay;
mod synthetic;
mod usage;

pub use plan::{Choice, PastUse, Plan, PlanError, PlannedVisit, RankedApp, plan};
pub use replay::{Arrival, Came, Dwelt, Paging, ReplayError, Visitor, replay};
pub use synthetic::Synthetic;
pub use usage::{Session, UsageError, UsageTrace, UserTrace};
