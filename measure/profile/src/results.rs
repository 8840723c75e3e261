//! Results that are made here, and what all results share.

pub use brisk_report::results::*;

pub use crate::report::result::*;

brisk_report::kinds! {
    /// `brisk profile`.
    ProfileReport = "profile",
}
