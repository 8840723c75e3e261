//! Observation and input of a display: damage, windows, pictures and input, for X11 and Wayland behind one interface.
//!
//! A [`Screen`] ([`X11`] or [`Wayland`]) reports the display server's events with their monotonic arrival time, without
//! evaluation. A [`Watcher`] finds the visible changes among them. [`VirtualX`] and [`VirtualSway`] start display
//! servers.

mod clock;
mod interface;
mod keys;
mod shared_memory;
mod virtual_display;
mod wait;
mod watch;
mod wayland;
mod x11;

pub use clock::{monotonic_ns, thread_cpu_ns};
pub use interface::{Change, Error, Input, Kind, Picture, Rect, Result, Screen, WindowInfo};
pub use virtual_display::{VirtualSway, VirtualX};
pub use watch::{Seen, TILE_SIDE, Tile, Visible, Watcher};
pub use wayland::Wayland;
pub use x11::X11;
