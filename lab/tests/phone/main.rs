//! Tests of emulated devices and phones from outside.

mod lab;
#[path = "../shared/lab_guard/mod.rs"]
mod lab_guard;
mod memory_study;
mod phone;
#[path = "../shared/phone_bench/mod.rs"]
mod phone_bench;
mod phone_owner;
#[path = "../shared/swap_areas/mod.rs"]
mod swap_areas;
