//! Tests of the laboratory that time launches and returns: nothing else of the suite runs beside them.

mod launch;
mod launch_launch;
mod relaunch;
mod relaunch_wayland;
#[path = "../shared/swapped/mod.rs"]
mod swapped;
