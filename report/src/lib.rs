//! Tables and self-contained pages drawn from results.
//!
//! A [`Document`] goes in, text comes out: [`terminal`] for a shell, [`html`] for a page that can be shared. Nothing
//! here measures, and nothing here reads or writes a file.
//!
//! ```text
//! Document ─> its study  ─┬─> sentences ───────────────────────────────────────────────────┐
//!             (Kind)      └─> [Row] ─┬─> Table::of(columns![LOAD, DEPTH, RATE]) ─> Figure ─┼─> Section ─┬─> terminal
//!                                    └─> Dots, Lines, bars, stacks ────────────────────────┘            ├─> page
//!                                                                                                       └─> markdown
//! ```
//!
//! - *A measure is declared once* (`measures`, `vocabulary`, `columns.rs` of each kind): name, unit, which way it
//!   improves, whether it may leave the device. Rows, tables, charts, comparisons, CSV and [`schema`] name it by
//!   identifier: a slip does not compile.
//! - *Rows are tidy* (`rows`): a row is one place of a study. It has places along dimensions (load, depth, app), and
//!   values of measures: a summary with its interval, a number, a word, runs, or the parts of a time. The unit says how
//!   a value reads, in tables, at marks and at axes.
//! - *A kind is part of a study's folder*, elsewhere: the struct of its result, its measures, and [`Kind`] with the
//!   rows that are compared, its page (tables, charts, captions, notes, and sentences, which are functions of the
//!   result) and what of it may leave the device ([`submission`]). Spreads, intervals, legends, descriptions and what
//!   the intervals promise are not its business. [`declare`] has the words for all of that.
//! - *One renderer each*: `columns` and `chart` make tables and drawings (`svg`) of rows, `table` is text or markup,
//!   `terminal` and `page` put a `Section` together: one sentence that leads and a picture, three sentences at most,
//!   warnings, figures, what else was found, facts.
//! - *Programs read values* ([`csv()`]): the rows that are compared, one value a line, with the same columns for all
//!   kinds.
//! - *A run has many documents*: [`pages`] gives a page for each device with an index, [`verdict`] the sentences
//!   that its kinds have over all.
//! - *Kinds are listed once*, by [`kinds!`] in the crate that makes them, from which reading, heads, schema and
//!   dispatch derive. Nothing here knows one by name, but for the comparison, which is made here.
//! - *Documents are compared* (`compare`): which rows of a kind join with those of another document, the ratio of each
//!   measure with its interval, and a verdict that holds for many measures. The result is a document too.
//! - Code that several kinds share: causes of waiting ([`causes`]), rows of loads ([`storage`]), ratios in words
//!   ([`ratio`]), published figures ([`papers`]).
//!
//! Properties, each with a test of the same name over samples of all kinds (`lab/tests/all/documents`):
//! - no document makes it panic, whatever its numbers are;
//! - nothing prints `NaN`;
//! - the page needs nothing from outside;
//! - text from the machine (a device's model) can neither become markup nor move the cursor of a terminal.

pub mod causes;
mod chart;
mod columns;
mod compare;
mod comparison;
pub mod declare;
mod effect;
mod facts;
pub mod format;
mod kind;
mod markdown;
pub mod measures;
mod page;
pub mod papers;
pub mod ratio;
mod read;
pub mod results;
mod rows;
mod section;
pub mod storage;
pub mod submission;
mod svg;
mod table;
mod terminal;
mod tidy;
pub mod vocabulary;
mod warnings;

pub use compare::{CompareError, Condition, compare};
pub use kind::{Document, Entry, Kind, Kinds, Rank, Report};
pub use read::{ReadError, parse};
pub use terminal::{Meaning, View};

/// The text for a terminal: the verdict in words, then warnings, tables, and device and run.
#[must_use]
pub fn terminal(document: &Document, view: impl Into<View>) -> String {
    terminal::render(document, view.into())
}

/// A comparison as [`terminal()`] shows it, with all measures: those without a change too.
#[must_use]
pub fn terminal_of_all(report: &results::ComparisonReport, view: impl Into<View>) -> String {
    terminal::show(&report.header, &comparison::page::section(report, true), view.into())
}

/// What several documents of a kind show together, such as benchmarks of the same loads, as texts.
#[must_use]
pub fn together(documents: &[Document], view: impl Into<View>) -> Vec<String> {
    terminal::of_several(documents, view.into())
}

/// One page without any outside reference, for one document or for many: proofs first, then studies, then benchmarks.
/// Several benchmarks are also compared.
#[must_use]
pub fn html(documents: &[Document]) -> String {
    page::render(documents, &[])
}

/// One page of the same form for what no measurement made, such as the state of a service.
#[must_use]
pub fn html_of_state(title: &str, sections: &[declare::Section], footer: &str) -> String {
    page::of_state(title, sections, footer)
}

/// How charts and tables look on a page that is made elsewhere, as pages of brisk do.
pub const STYLE: &str = page::STYLE;

/// A chart of such a page, for narrow and for wide screens: [`STYLE`] shows the one that there is room for. `id` is
/// unique on the page.
#[must_use]
pub fn chart(chart: &declare::Chart, id: &str) -> maud::Markup {
    page::panel(chart, id)
}

/// All values of the documents, one a line with its place, measure and unit, as CSV with a line of heads. Columns do
/// not depend on the documents.
#[must_use]
pub fn csv(documents: &[Document]) -> String {
    tidy::csv(documents)
}

/// The documents as Markdown, with all tables.
#[must_use]
pub fn markdown(documents: &[Document]) -> String {
    markdown::render(documents)
}

/// The JSON Schema (draft 2020-12) of documents of these kinds. A measured field has what its measure is declared with
/// in `measure`: name, unit, which way it improves, and whether it may leave the device.
#[must_use]
pub fn schema(kinds: Kinds) -> String {
    serde_json::to_string_pretty(&kinds.schema()).expect("a schema is JSON") + "\n"
}

/// What each page has near its beginning, and files that are no page of brisk have not.
pub const MARK: &str = "<meta name=\"generator\" content=\"brisk\"/>";

/// A sentence in lines of at most `columns` characters, broken between words.
#[must_use]
pub fn wrapped(sentence: &str, columns: usize) -> String {
    format::wrap(sentence, columns.max(20), "")
}

/// A place to go from a page: a file next to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Name of the file.
    pub href: String,
    /// What is there.
    pub words: String,
}

/// A page of several that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Name of the file: lower-case letters, digits and hyphens, and `.html`.
    pub name: String,
    /// The page.
    pub html: String,
}

/// One page for each device among the documents, and `index.html` before them, which leads with the [`verdict`]. Each
/// page links to the index and to the others.
#[must_use]
pub fn pages(kinds: Kinds, documents: &[Document]) -> Vec<Page> {
    page::index::pages(kinds, documents)
}

/// The sentences over a run that its kinds have, in their order: what the disk of this machine is good for, how opening
/// apps feels on the emulated phones, and what brisk changes there. A sentence whose documents are lacking says so.
#[must_use]
pub fn verdict(kinds: Kinds, documents: &[Document]) -> Vec<String> {
    kinds.verdict(documents).iter().map(|sentence| format::harmless(sentence)).collect()
}
