//! The engines of brisk: what decides, pure.
//!
//! Each is a folder: configuration, state and what was observed give a decision. No engine knows another, nor how a
//! setting is written; conflicts between them are resolved by `brisk_core::arbiter`. What they repeat is in [`kit`].

pub mod iram;
pub mod kit;
pub mod mars;
pub mod prefetch;
pub mod smartio;
pub mod smartstorage;
