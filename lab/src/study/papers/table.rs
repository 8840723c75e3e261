//! The table: papers with their rows and runs, as the files in `table` have them.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::{Deserialize, Deserializer};

use super::judge::Verdict;

/// The files, in the order of the page: the word by which the command line names a paper, and its text.
const FILES: [(&str, &str); 7] = [
    ("smartstorage", include_str!("table/smartstorage.toml")),
    ("smartio", include_str!("table/smartio.toml")),
    ("iram", include_str!("table/iram.toml")),
    ("revisiting", include_str!("table/revisiting.toml")),
    ("latency", include_str!("table/latency.toml")),
    ("poster", include_str!("table/poster.toml")),
    ("mars", include_str!("table/mars.toml")),
];

/// A paper, or a part of one that is about one system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paper {
    #[serde(skip)]
    pub(super) id: &'static str,
    /// For headings.
    pub(super) name: String,
    /// As `docs/sources.md` names it.
    pub(super) work: String,
    #[serde(default, rename = "run")]
    pub(super) runs: Vec<Run>,
    #[serde(rename = "row")]
    pub(super) rows: Vec<Row>,
}

/// A command that makes one document.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub(super) id: String,
    /// Commands before it, which print no document.
    #[serde(default)]
    pub(super) before: Vec<String>,
    /// `{dir}` stands for the directory of results, `{usage}` and `{heap}` for tables of the caller.
    #[serde(deserialize_with = "prose")]
    pub(super) command: String,
    /// Kind of the document.
    pub(super) kind: String,
    /// It runs a command in a phone, which prints the document.
    #[serde(default)]
    pub(super) prints: bool,
    /// About so long it takes on two processors.
    pub(super) minutes: u32,
}

/// A figure or table of a paper.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) id: String,
    /// Where it stands in the paper.
    pub(super) place: String,
    /// What it says, with its numbers.
    #[serde(deserialize_with = "prose")]
    pub(super) says: String,
    /// What shows it here, or stands in its place.
    #[serde(default, deserialize_with = "prose")]
    pub(super) here: String,
    /// Of a row without figures.
    pub(super) verdict: Option<Verdict>,
    /// Why it comes out so.
    #[serde(deserialize_with = "prose")]
    pub(super) why: String,
    /// Where the paper's way does worse than the default here.
    #[serde(default, deserialize_with = "prose")]
    pub(super) worse: String,
    /// Where the paper contradicts itself, or another of these papers.
    #[serde(default, deserialize_with = "prose")]
    pub(super) itself: String,
    #[serde(default, rename = "figure")]
    pub(super) figures: Vec<Figure>,
}

/// A number that is compared.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    pub(super) words: String,
    pub(super) published: Option<f64>,
    /// Empty for a ratio.
    #[serde(default)]
    pub(super) unit: String,
    /// Values that agree; by default those within a factor of 1.25 of the published one.
    pub(super) agrees: Option<(f64, f64)>,
    /// The claim is that it is above this.
    pub(super) above: Option<f64>,
    /// The claim is that it is below this.
    pub(super) below: Option<f64>,
    /// What its interval is, where that is none of the median.
    #[serde(default)]
    pub(super) note: String,
    /// The figure as a document of the tree has it, until a run has been made.
    pub(super) found: Option<Found>,
    /// The run whose document has the value: that of `measure` at one place, or over that of another place.
    pub(super) run: Option<String>,
    /// Columns of `--csv` and their values, or several with ` | ` between them; rows that have others in further
    /// columns all count.
    #[serde(default)]
    pub(super) at: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) over: BTreeMap<String, String>,
    /// The run whose document has the other place, where that is another one; without `over` it is the same place.
    pub(super) over_run: Option<String>,
    /// What is taken there, where that is another measure.
    pub(super) over_measure: Option<String>,
    #[serde(default)]
    pub(super) measure: String,
    /// How several rows become one value; without it there has to be one.
    pub(super) fold: Option<Fold>,
    /// JSON pointers in place of columns and measure.
    pub(super) pointer: Option<String>,
    pub(super) over_pointer: Option<String>,
    /// Units of the document in a unit of the figure.
    pub(super) divide: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fold {
    Mean,
    Sum,
    Max,
}

/// A value that was measured here.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Found {
    pub(super) value: f64,
    /// Ends of its interval of 95 %, or of what `note` says.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    pub(super) runs: Option<u64>,
    /// The document of the tree that has it, or the run and its commit.
    pub(super) from: String,
}

/// A text of several lines as one.
fn prose<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// All papers.
///
/// # Errors
/// When a file of the table is damaged; a test reads them all.
pub(super) fn read() -> anyhow::Result<Vec<Paper>> {
    let one = |(id, text): (&'static str, &str)| {
        let paper: Paper = toml::from_str(text).with_context(|| format!("cannot read the table of {id}"))?;
        Ok(Paper { id, ..paper })
    };
    FILES.into_iter().map(one).collect()
}

/// What the command line takes: papers and rows.
pub(crate) fn names() -> Vec<String> {
    let papers = read().unwrap_or_default();
    let rows = papers.iter().flat_map(|paper| paper.rows.iter().map(|row| row.id.clone()));
    papers.iter().map(|paper| paper.id.to_owned()).chain(rows).collect()
}

impl Paper {
    /// The runs that a row takes figures from.
    pub(super) fn runs_of(&self, row: &Row) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| row.runs().any(|id| id == run.id))
    }
}

impl Row {
    /// The runs that it takes figures from.
    pub(super) fn runs(&self) -> impl Iterator<Item = &str> {
        self.figures.iter().flat_map(|figure| [figure.run.as_deref(), figure.over_run.as_deref()]).flatten()
    }
}
