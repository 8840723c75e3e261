//! Memory for the app in front and for the apps that come next (dissertation, chapter 5 and "Advanced iRAM" in chapter 6).
//!
//! - [`predict`]: which apps are likely next; the others may be ended first.
//! - [`heap`]: how much memory an app will need, and the threshold above it.
//!
//! Pure: what is observed comes in, a decision goes out.

pub mod heap;
pub mod predict;

/// Name of this engine in configurations and records.
pub const NAME: &str = "iram";
