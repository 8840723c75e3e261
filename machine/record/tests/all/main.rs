//! Tests of brisk-record from outside, a module for each subject.

mod daemon;
mod format;
mod record;
