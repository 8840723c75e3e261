//! The papers, figure by figure: what each figure and table claims, which command shows it here, what comes out, and
//! whether it agrees.
//!
//! ```text
//! table/*.toml ─> Paper: rows (claim, figures: path and rule), runs (commands) ┐
//! recorded.toml ─> figures of earlier runs ───────────────────────────────────┤
//! papers run: command ─> document ─> take: value at the figure's path ────────┴> judge ─> terminal, page, docs
//! ```
//!
//! - A *row* is a figure or table of a paper. It has *figures*: numbers that are compared, each with what was published
//!   and a rule by which it agrees. A row without figures states its verdict and why.
//! - A *run* is a command of brisk that makes one document; several rows may take figures from it.
//! - A *path* names a value of a document: dimensions and measure as `--csv` has them, or a JSON pointer.
//!
//! No verdict of a figure is written down: it follows from the value and the rule, each time it is shown.
//!
//! Properties, each with a test of the same name: `every_row_is_complete`,
//! `every_figure_and_table_of_the_papers_has_a_row`, `every_path_names_what_documents_have`,
//! `every_command_is_accepted`, `a_value_is_taken_by_its_path`, `the_page_is_what_the_data_say`,
//! `a_claim_is_contradicted_only_by_its_whole_interval`, `what_was_recorded_is_read_as_it_was_written`.

pub(crate) mod arguments;
mod children;
mod judge;
mod markdown;
mod page;
mod recorded;
mod run;
mod table;
mod take;
#[cfg(test)]
mod tests;

pub(crate) use run::run;
pub(crate) use table::names;
