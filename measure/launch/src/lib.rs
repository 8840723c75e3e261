//! Launch, run-time and user-perceived latency of any app, measured from outside.

pub mod settle;
pub mod split;
