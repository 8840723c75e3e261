//! Tests of the laboratory from outside that may run beside each other.

mod app;
mod calibration;
mod called;
mod crash;
mod documents;
mod guest;
mod heap_study;
mod json;
mod kernel;
mod lab_words;
mod predict;
mod prove;
mod run_words;
mod setup;
mod suite;
mod swap;
mod tables;
