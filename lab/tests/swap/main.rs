//! Tests of the laboratory that own the swap areas and the memory of this machine.

#[path = "../shared/lab_guard/mod.rs"]
mod lab_guard;
mod memory_ground;
#[path = "../shared/phone_bench/mod.rs"]
mod phone_bench;
mod phone_memory;
mod phone_memory_faults;
#[path = "../shared/player/mod.rs"]
mod player;
#[path = "../shared/swap_areas/mod.rs"]
mod swap_areas;
mod swap_real;
mod swap_record;
