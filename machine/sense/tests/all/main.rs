//! Tests of brisk-sense from outside, a module for each subject.

mod android;
mod app_pages;
mod failing_sources;
mod fixtures;
mod garbage;
mod launch_files;
mod machine_tree;
mod readers;
mod storage;
mod this_machine;
mod watch;
