//! Display servers without a screen, for measurements and tests; they end with their creator.
//!
//! A server reports its own readiness and address, so no fixed time or number is needed.

mod child;
mod manager;
mod sway;
mod xvfb;

pub use sway::VirtualSway;
pub use xvfb::VirtualX;
