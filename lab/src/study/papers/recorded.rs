//! Figures of the last run of each command, kept in the source tree: `recorded.toml`, from which the page is made.

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::judge::Taken;
use super::table::Found;

/// Where it is, from the root of the source tree.
pub(super) const PLACE: &str = "lab/src/study/papers/recorded.toml";
/// As it was when this program was built.
pub(super) const TEXT: &str = include_str!("recorded.toml");
const HEAD: &str = "# Made by `brisk papers run --save`: figures of rows, from the documents of their runs.\n";

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    figure: Vec<Line>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    row: String,
    words: String,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
    from: String,
}

/// The figures of a text.
///
/// # Errors
/// When it is damaged.
pub(super) fn read(text: &str) -> anyhow::Result<Taken> {
    let file: File = toml::from_str(text).context("cannot read the recorded figures")?;
    let one = |line: Line| {
        let Line { row, words, value, low, high, runs, from } = line;
        ((row, words), Found { value, low, high, runs, from })
    };
    Ok(file.figure.into_iter().map(one).collect())
}

/// The text of figures.
///
/// # Errors
/// Numbers that TOML has no form for.
pub(super) fn text(taken: &Taken) -> anyhow::Result<String> {
    let line = |((row, words), found): (&(String, String), &Found)| {
        let Found { value, low, high, runs, from } = found.clone();
        Line { row: row.clone(), words: words.clone(), value, low, high, runs, from }
    };
    let file = File { figure: taken.iter().map(line).collect() };
    Ok(format!("{HEAD}\n{}", toml::to_string(&file).context("cannot write the recorded figures")?))
}
