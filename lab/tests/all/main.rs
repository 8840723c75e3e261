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
mod predict;
mod processors;
mod run_words;
mod setup;
mod swap;
mod tables;
mod watched;
