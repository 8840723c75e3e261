//! The emulated phone under memory pressure: what it costs to go back to an app, under policies of swapping.
//!
//! ```text
//! Policy ─> Ground (phone with limit, apps, balloon, killer) ─ go_to(app) ─> Visit (state, time, traffic, ended apps)
//!            └─ regimes: tight (apps used in turn), full (apps evicted, a memory hog in front) ─> RelaunchReport
//! ```
//!
//! [`Ground`] owns what happens to memory: launching, freezing, evicting, filling, ending. [`suite`] decides what is
//! measured in which order; its order and sums are pure. Device time is off while a state is made, and on while a
//! return is measured.
//!
//! Files: `policy` has the table of policies, `answers` the keys that apps answer; `balloon` fills memory, `killer`
//! ends apps when memory has run out, `roster` is what the two know of the apps; `ground` puts them together; `suite`
//! measures returns; [`day`] replays a usage trace, and [`prediction`] scores predictors of the next app on one.
//! [`study`] asks what apps take of memory without pressure, and stands on the phone itself; [`heap`] evaluates
//! predictors on what it recorded, and needs no phone.

mod answers;
mod balloon;
pub mod day;
mod error;
mod ground;
pub mod heap;
mod killer;
mod policy;
pub mod prediction;
mod roster;
pub mod study;
pub mod suite;

pub use answers::Answer;
pub use balloon::serve_balloon;
pub use error::{Error, Result};
pub use ground::{Engine, Ground, Moment, Programs};
pub use killer::check_earlyoom;
pub use policy::{Brisk, Killer, Policy};
