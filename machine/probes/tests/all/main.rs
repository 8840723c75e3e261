//! Tests of brisk-probes from outside, a module for each subject.

mod processors;
mod watched;
