//! Selective sync: which files of an app may lose their last seconds in a power cut, and what applies that to unmodified apps.
//!
//! [`policy`] is pure: a checked policy, and the rules for one user.

pub mod policy;
