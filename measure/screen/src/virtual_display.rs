//! Display servers without a screen, for measurements and tests: they come up with their caller and go with it.
//!
//! A server says itself when it is ready and where, so nothing waits for a time or picks a number that another may have.

mod child;
mod manager;
mod sway;
mod xvfb;

pub use sway::VirtualSway;
pub use xvfb::VirtualX;
