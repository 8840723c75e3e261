//! Verdicts: of a figure by its value and its rule, of a row by its figures. Pure.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::table::{Figure, Found, Paper, Row};

/// A figure agrees without a range of its own when it is within this factor of the published one.
pub(super) const WITHIN: f64 = 1.25;

/// How a figure here stands to the paper's. In the order of [`of_row`]: the last of a row's figures is the row's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// There is no figure yet, and there could be one
    NotMeasured,
    /// It takes devices, apps or people that are not here
    NotHere,
    /// As published: within the range that the row names
    Agrees,
    /// Another value, and nothing against the claim
    Differs,
    /// The claim does not hold here
    Contradicted,
}

impl Verdict {
    pub(super) const ALL: [Self; 5] =
        [Self::Agrees, Self::Differs, Self::Contradicted, Self::NotHere, Self::NotMeasured];

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Contradicted => "contradicted",
            Self::NotHere => "not here",
            Self::NotMeasured => "not measured",
        }
    }
}

/// Figures that were taken from runs: by row and words.
pub(super) type Taken = BTreeMap<(String, String), Found>;

/// A row with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged<'a> {
    pub(super) paper: &'a Paper,
    pub(super) row: &'a Row,
    pub(super) figures: Vec<JudgedFigure<'a>>,
    pub(super) verdict: Verdict,
}

/// A figure with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JudgedFigure<'a> {
    pub(super) figure: &'a Figure,
    pub(super) found: Option<&'a Found>,
    pub(super) verdict: Verdict,
}

/// All rows in order. What was taken from a run goes before what the table has of earlier ones.
pub(super) fn all<'a>(papers: &'a [Paper], taken: &'a Taken) -> Vec<Judged<'a>> {
    papers.iter().flat_map(|paper| paper.rows.iter().map(|row| of_row(paper, row, taken))).collect()
}

fn of_row<'a>(paper: &'a Paper, row: &'a Row, taken: &'a Taken) -> Judged<'a> {
    let one = |figure: &'a Figure| {
        let found = taken.get(&(row.id.clone(), figure.words.clone())).or(figure.found.as_ref());
        let verdict = found.map_or(Verdict::NotMeasured, |found| of_figure(figure, found));
        JudgedFigure { figure, found, verdict }
    };
    let figures: Vec<JudgedFigure<'a>> = row.figures.iter().map(one).collect();
    let worst = figures.iter().map(|one| one.verdict).max();
    let verdict = worst.or(row.verdict).unwrap_or(Verdict::NotMeasured);
    Judged { paper, row, figures, verdict }
}

/// The values with which a figure agrees; `None` where its claim is a direction alone.
pub(super) fn range(figure: &Figure) -> Option<(f64, f64)> {
    figure.agrees.or_else(|| figure.published.map(|value| (value / WITHIN, value * WITHIN)))
}

/// A claim (above, below) is contradicted when the whole interval is on its other side. A value within the range
/// agrees; where there is no range, a whole interval on the side of the claim does.
pub(super) fn of_figure(figure: &Figure, found: &Found) -> Verdict {
    let (low, high) = (found.low.unwrap_or(found.value), found.high.unwrap_or(found.value));
    let against = figure.above.is_some_and(|bound| high <= bound) || figure.below.is_some_and(|bound| low >= bound);
    let holds = figure.above.is_none_or(|bound| low > bound) && figure.below.is_none_or(|bound| high < bound);
    let agrees = match range(figure) {
        Some((least, most)) => (least..=most).contains(&found.value),
        None => holds,
    };
    match (against, agrees) {
        (true, _) => Verdict::Contradicted,
        (false, true) => Verdict::Agrees,
        (false, false) => Verdict::Differs,
    }
}
