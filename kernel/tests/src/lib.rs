//! The pure parts of what runs inside the kernel, callable from tests outside of it: the scheduler smartio, and swap
//! slots by memory group. Only tests use this crate.

pub mod mars;
pub mod smartio;
