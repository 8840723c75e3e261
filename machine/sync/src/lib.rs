//! Selective sync: which files of an app may lose their last seconds in a power cut, and what applies that to
//! unmodified apps.
//!
//! [`policy`] is pure: a checked policy, and the rules for one user. [`library`] has what applies rules: a preload
//! library for any dynamic program (`c/preload.c`) and a VFS for SQLite (`c/sqlite_vfs.c`), both in C, since they live
//! in processes of others. What each class promises, and on which file systems, stands at the head of these files and
//! of `c/order.h`.

pub mod advice;
pub mod desktop;
pub mod library;
pub mod policy;
pub mod program;
