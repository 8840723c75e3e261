//! Tests of brisk-sync from outside, a module for each subject.

mod preload;
mod sqlite;
