//! What a person sees and does: damage, windows, pictures and input, of X11 and Wayland behind one interface.
//!
//! A [`Screen`] reports what the display server says, with the monotonic time at which it came in; it judges nothing.

mod screen;

pub use screen::{Change, Error, Input, Kind, Picture, Rect, Result, Screen, WindowInfo};
