//! Tests of brisk-smartio-kernel from outside, a module for each subject.

mod dispatch;
mod policy;
mod requests;
mod share;
mod simulation;
