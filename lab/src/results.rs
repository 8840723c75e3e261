//! Results of the laboratory, and what all results share.
//!
//! Here is what several studies have in common: launches, the emulated phone, its memory, fidelity of the kernel lab.
//! The result of a study is in its folder in `study`.

mod kernel;
mod launch;
mod memory;
mod phone;

use brisk_command::documents::OF_DEVICES;
use brisk_report::Kinds;

pub use brisk_bench::results::*;
pub use brisk_profile::results::*;

pub use crate::study::results::*;
pub use kernel::*;
pub use launch::*;
pub use memory::*;
pub use phone::*;

/// The kinds of documents that `brisk-lab` knows: those that it makes, and those of devices.
pub const KINDS: Kinds = {
    let [bench, profile, comparison] = OF_DEVICES else { panic!("three lists") };
    Kinds(&[*bench, *profile, *comparison, crate::study::KINDS])
};
