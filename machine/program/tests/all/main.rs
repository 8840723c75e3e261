//! Tests of brisk-program from outside, a module for each subject.

mod attributes;
mod full_disk;
