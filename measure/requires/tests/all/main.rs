//! Tests of brisk-requires from outside, a module for each subject.

mod rights;
mod skip;
