//! The model held against published figures, in model time.
//!
//! Each figure is the paper's number, ours, and the error. Figures marked *fit* shaped the presets; those marked
//! *validation* did not and say what the model is worth. The split was fixed before fitting, by rule:
//!
//! - Galaxy S5 (dissertation 4.2.3, 4.2.4): response times alone are fit, slowdowns beside each other are validation.
//! - Nexus 4 (MARS table 1): record sizes 4 KB, 64 KB and 1 MB are fit, 16 KB and 256 KB are validation.
//! - Nexus 4 (MARS table 2): writes alone and the two pairs of one kind (sequential beside sequential, scattered beside
//!   scattered) are fit, the two mixed pairs are validation.
//! - SD cards (Revisiting storage table III): every card is fit to its figures on the *desktop*. What the phone adds is
//!   fit on the phone's figures of the first, third, fifth and seventh card; the phone's figures of the other four cards
//!   are validation.
//! - eMMC 5.1 and UFS 3.1 are fit to their maker's table; nothing validates them.
//! - Galaxy S5, several streams (4.2.5, 4.5.2) are *beyond*: shown, not promised.
//!
//! The loads are those of the papers as far as they say: sync requests of 4 KiB for the S5; for the Nexus 4 records read
//! through a page cache with 128 KiB of read-ahead, sequential reads one window ahead; for the cards 128 KiB requests
//! in sequence and 4 KiB at random.

mod figures;
mod load;
mod table;

pub use figures::{Errors, Figure, Half, Summary, all, footprint, summarize};
#[cfg(test)]
pub(crate) use load::splitmix;
pub use load::{Load, Order, Outcome, simulate};
pub use table::markdown;
