//! Documents of all kinds, samples of each: how they read, compare, and what of them leaves the device.

mod any_document;
mod apps;
mod compare;
mod lead;
mod pages;
mod run;
mod samples;
mod schema;
mod submission;
mod tables;
mod terminal;
mod wording;
