//! What a person sees and does: damage, windows, pictures and input, of X11 and Wayland behind one interface.
//!
//! A [`Screen`] reports what the display server says, with the monotonic time at which it came in; it judges nothing. [`X11`]
//! and [`Wayland`] are such. A [`Watcher`] tells which of what a screen reports can be seen. [`VirtualX`] and
//! [`VirtualSway`] are display servers of one's own.

mod clock;
mod keys;
mod screen;
mod shared_memory;
mod virtual_display;
mod wait;
mod watch;
mod wayland;
mod x11;

pub use clock::{monotonic_ns, thread_cpu_ns};
pub use screen::{Change, Error, Input, Kind, Picture, Rect, Result, Screen, WindowInfo};
pub use virtual_display::{VirtualSway, VirtualX};
pub use watch::{Seen, TILE_SIDE, Tile, Visible, Watcher};
pub use wayland::Wayland;
pub use x11::X11;
