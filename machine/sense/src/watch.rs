//! Notifications of the kernel: sources of events that poll(2) waits on.
//!
//! Each source has a descriptor (`AsFd`) and says which of poll's flags mean something. None is read without an
//! announced event, so a process that waits on them sleeps until one comes.
//!
//! - [`GroupWatch`]: control groups that come to life and go (inotify).
//! - [`BlockWatch`]: block devices that come, go and change (netlink, kobject uevents).
//! - [`SessionWatch`]: sessions of processes in which a program begins (netlink, process connector).
//! - [`FrontWatch`]: another app is in front (inotify).
//! - [`QueueWatch`]: a setting of a block queue was written (inotify).
//! - [`TableWatch`]: something was mounted or swap was switched on (poll on /proc).
//! - [`PressureWatch`]: tasks stood still for longer than allowed (PSI trigger).

mod blocks;
mod front;
mod groups;
mod inotify;
mod netlink;
mod pressure;
mod queues;
mod sessions;
mod socket_filter;
mod tables;

pub use blocks::BlockWatch;
pub use front::FrontWatch;
pub use groups::{Group, GroupChange, GroupWatch};
pub use pressure::PressureWatch;
pub use queues::QueueWatch;
pub use sessions::{ProcessSession, SessionChange, SessionWatch};
pub use tables::TableWatch;
