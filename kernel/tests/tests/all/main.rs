//! Tests of the kernel parts outside of the kernel, a module for each subject.

mod dispatch;
mod extents;
mod policy;
mod requests;
mod simulation;
