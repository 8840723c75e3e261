//! Hunt for the loads under which a scheduler is worse than others.

pub mod load;
pub mod score;
mod text;

pub use text::LOAD;
