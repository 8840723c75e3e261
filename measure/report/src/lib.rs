//! Tables and self-contained pages drawn from results.
//!
//! A [`Document`] goes in, text comes out: [`terminal`] for the eyes in front of a shell, [`html`] for a page that can be
//! sent to somebody. Nothing here measures, and nothing here reads or writes a file.
//!
//! Inside, every kind of document becomes the same thing first: sentences, charts and tables (`section`, one file for
//! each kind in `kinds`). The terminal prints the sentences and the tables; the page adds the charts (`svg`).
//!
//! Properties, each with a test of the same name:
//! - no document makes it panic, whatever its numbers are;
//! - nothing prints `NaN`;
//! - the page needs nothing from outside;
//! - text from the machine (a device's model) can neither become markup nor move the cursor of a terminal.

mod causes;
mod endings;
mod facts;
mod format;
mod kinds;
mod page;
pub mod papers;
mod ratio;
mod read;
mod section;
mod sets;
mod svg;
mod table;
mod terminal;
mod warnings;

use brisk_results::Document;
pub use read::{ReadError, parse};

/// What a person reads in a terminal: the verdict in words, then warnings, then tables. `width` is the number of columns;
/// without it tables take what they need.
#[must_use]
pub fn terminal(document: &Document, width: Option<u16>) -> String {
    terminal::render(document, width)
}

/// Several benchmarks side by side, as a terminal shows it; `None` when there are fewer than two, or when they have no
/// load in common.
#[must_use]
pub fn comparison(documents: &[Document], width: Option<u16>) -> Option<String> {
    terminal::comparison(documents, width)
}

/// One page without any outside reference, for one document or for many. Several benchmarks are also set side by side.
#[must_use]
pub fn html(documents: &[Document]) -> String {
    page::render(documents)
}
