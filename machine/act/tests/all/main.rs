//! Tests of brisk-act from outside, a module for each subject.

mod actuator;
mod apps;
mod fixture_tree;
mod group;
mod group_settings;
mod journal;
mod journal_lines;
mod journal_places;
mod keeper;
mod kills;
mod loop_device;
mod machine;
mod once;
mod once_machine;
mod once_tree;
mod plain_tree;
mod priorities;
mod swap_area;
mod swap_areas;
mod vm_settings;
