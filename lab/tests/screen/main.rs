//! Tests of the laboratory on displays of their own.

#[path = "../shared/common/mod.rs"]
mod common;
#[path = "../shared/painter/mod.rs"]
mod painter;
mod watch;
mod wayland;
#[path = "../shared/wayland_app/mod.rs"]
mod wayland_app;
mod x11;
