//! Tests of brisk from outside, a module for each subject.

mod arrows;
mod audit;
mod bench;
mod compare;
mod daemon;
mod defaults;
mod doctor;
mod exports;
mod foreign_text;
mod generate;
mod hand_over;
mod json;
mod missing_files;
mod monitor;
mod profile;
mod promises;
mod refusals;
mod report;
mod reset;
mod streams;
mod submit;
mod swap_setup;
mod sync_entries;
mod sync_run;
mod terminal;
mod tune;
