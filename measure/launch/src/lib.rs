//! Launch, run-time and user-perceived latency of any app, measured from outside.

mod app;
pub mod clock;
pub mod cold;
pub mod desktop;
mod error;
pub mod monkey;
pub mod observation;
mod opened;
pub mod samples;
pub mod scope;
pub mod script;
pub mod series;
pub mod settle;
pub mod split;
pub mod storage_use;
pub mod work;

pub use app::{App, User};
pub use error::{Error, Result};
pub use scope::Scope;
