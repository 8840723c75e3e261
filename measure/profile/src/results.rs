//! Results that are made here, and what all results share.

pub use brisk_report::results::*;

brisk_report::kinds! {
    /// `brisk profile`.
    crate::report::result { ProfileReport = "profile" }
}
