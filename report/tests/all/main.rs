//! Tests of brisk-report from outside, a module for each subject.

mod any_document;
mod apps;
mod compare;
mod lead;
mod pages;
mod run;
mod samples;
mod schema;
mod tables;
mod terminal;
mod wording;
