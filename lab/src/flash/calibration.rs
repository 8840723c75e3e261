//! Comparison of the model with published figures, in model time.
//!
//! Each figure has the paper's value, the model's, and the error. Figures marked *fit* were used to set the presets;
//! those marked *validation* were not, and show the quality of the model. The split was fixed before fitting, by rule:
//!
//! - Galaxy S5 (dissertation 4.2.3, 4.2.4): response times alone are fit, slowdowns under concurrent load are
//!   validation.
//! - Nexus 4 (MARS table 1): record sizes 4 KB, 64 KB and 1 MB are fit, 16 KB and 256 KB are validation.
//! - Nexus 4 (MARS table 2): writes alone and the two pairs of one kind (both sequential, both scattered) are fit, the
//!   two mixed pairs are validation.
//! - SD cards (Revisiting storage table III): every card is fit to its figures on the *desktop*. The additional cost of
//!   the phone is fit on the phone's figures of the first, third, fifth and seventh card; those of the other four cards
//!   are validation.
//! - eMMC 5.1 and UFS 3.1 are fit to their maker's table, without validation.
//! - Galaxy S5, several streams (4.2.5, 4.5.2) are *beyond* the model: shown, but not modelled.
//!
//! The loads are those of the papers as far as described: synchronous requests of 4 KiB for the S5; for the Nexus 4
//! records read through a page cache with 128 KiB of read-ahead, sequential reads one window ahead; for the cards
//! sequential requests of 128 KiB and random ones of 4 KiB.

mod figures;
mod load;
mod table;

pub use figures::{Errors, Figure, Half, Summary, all, footprint, summarize};
pub use load::{Load, Order, Outcome, simulate};
pub use table::markdown;
