//! Launch, run-time and user-perceived latency of any app, measured from outside.

mod app;
pub mod clock;
pub mod cold;
mod compare;
pub mod desktop;
mod error;
pub mod latency;
mod launcher;
pub mod monkey;
pub mod observation;
mod opened;
pub mod over;
#[cfg(test)]
mod recorded;
pub mod samples;
pub mod scope;
pub mod script;
pub mod series;
pub mod settle;
pub mod split;
pub mod storage_use;
mod view;
mod watch;
pub mod work;

pub use app::{App, User};
pub use compare::{Plan, Series, Setup, Surroundings};
pub use error::{Error, Result};
pub use launcher::{Launched, Launcher, Settings, Start};
pub use scope::Scope;
