//! The table for people: in a terminal, and as a page. Values in, text out.

use std::fmt::Write as _;

use brisk_core::units::three_digits;
use brisk_report::declare::{Dimension, Effect, Measure, Row as Line, Section, Table, columns, dimension, words};
use brisk_report::format::wrap;
use brisk_report::{View, declare};
use serde_json::{Value, json};

use super::judge::{self, Judged, JudgedFigure, Verdict};
use super::table::Found;

const ROW: Dimension = dimension("row");
const PLACE: Measure = words("in the paper");
const SAYS: Measure = words("what it says");
const HERE: Measure = words("here");
const VERDICT: Measure = words("verdict");
const WHY: Measure = words("why");

/// Columns of a terminal whose width is not known.
const COLUMNS: usize = 100;

/// How many rows have each verdict: `31 agree, 12 differ, ...`.
pub(super) fn counted(rows: &[Judged<'_>]) -> String {
    let of = |verdict: &Verdict| {
        let count = rows.iter().filter(|one| one.verdict == *verdict).count();
        let words = match verdict {
            Verdict::Agrees if count != 1 => "agree",
            Verdict::Differs if count != 1 => "differ",
            Verdict::Contradicted if count != 1 => "are contradicted",
            Verdict::Contradicted => "is contradicted",
            Verdict::NotHere if count != 1 => "are not here",
            Verdict::NotHere => "is not here",
            Verdict::NotMeasured if count != 1 => "are not measured",
            Verdict::NotMeasured => "is not measured",
            other => other.words(),
        };
        (count > 0).then(|| format!("{count} {words}"))
    };
    let parts: Vec<String> = Verdict::ALL.iter().filter_map(of).collect();
    format!("Of {} rows {}.", rows.len(), brisk_report::format::list(&parts))
}

/// A number with three digits; a whole one without a point.
fn digits(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e6 { format!("{value}") } else { three_digits(value) }
}

/// A value with its unit.
fn with_unit(value: f64, unit: &str) -> String {
    let value = digits(value);
    if unit.is_empty() { value } else { format!("{value} {unit}") }
}

/// A value as it was found: `5.96`, `0.51 (0.12 to 0.91; 7 runs)`.
pub(super) fn found(found: &Found, unit: &str) -> String {
    let mut more = Vec::new();
    if let (Some(low), Some(high)) = (found.low, found.high) {
        more.push(format!("{} to {}", digits(low), digits(high)));
    }
    more.extend(found.runs.map(|runs| brisk_report::format::plural(runs, "run")));
    let value = with_unit(found.value, unit);
    if more.is_empty() { value } else { format!("{value} ({})", more.join("; ")) }
}

/// What was published of a figure, or the range that agrees.
pub(super) fn expected(one: &JudgedFigure<'_>) -> String {
    let figure = one.figure;
    if let Some(published) = figure.published {
        return format!("published {}", with_unit(published, &figure.unit));
    }
    match (judge::range(figure), figure.above, figure.below) {
        (Some((least, most)), ..) => {
            format!("agrees from {} to {}", digits(least), with_unit(most, &figure.unit))
        }
        (None, Some(bound), _) => format!("claimed above {}", with_unit(bound, &figure.unit)),
        (None, None, Some(bound)) => format!("claimed below {}", with_unit(bound, &figure.unit)),
        (None, None, None) => "no claim".to_owned(),
    }
}

/// A figure in a line: words, value, what was published, verdict.
pub(super) fn figure_line(one: &JudgedFigure<'_>) -> String {
    let value = one.found.map_or_else(|| "no figure yet".to_owned(), |value| found(value, &one.figure.unit));
    let note = if one.figure.note.is_empty() || one.found.is_none() {
        String::new()
    } else {
        format!(", {}", one.figure.note)
    };
    let verdict = one.found.map_or_else(String::new, |_| format!(": {}", one.verdict.words()));
    format!("{}: {value}{note}, {}{verdict}", one.figure.words, expected(one))
}

/// Where the figures of a row are from, each place once.
pub(super) fn sources<'a>(one: &Judged<'a>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for found in one.figures.iter().filter_map(|figure| figure.found) {
        if !all.contains(&found.from.as_str()) {
            all.push(&found.from);
        }
    }
    all
}

fn effect(verdict: Verdict) -> Effect {
    match verdict {
        Verdict::Agrees => Effect::Improved,
        Verdict::Contradicted => Effect::Regressed,
        Verdict::Differs => Effect::Unclear,
        Verdict::NotHere | Verdict::NotMeasured => Effect::NotJudged,
    }
}

/// Why a row comes out so; of one that was not run, what is expected.
pub(super) fn why(one: &Judged<'_>) -> String {
    let run = one.paper.runs_of(one.row).next().filter(|_| one.verdict == Verdict::NotMeasured);
    match run {
        Some(run) => format!("`brisk papers run {}` was not made for this table. Expected: {}", run.id, one.row.why),
        None => one.row.why.clone(),
    }
}

/// Text of the table without the signs of Markdown.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// What stands here, in words: the row's own, then its figures.
fn here(one: &Judged<'_>) -> String {
    let own = (!one.row.here.is_empty()).then(|| plain(&one.row.here));
    let figures = one.figures.iter().map(|figure| format!("{}.", brisk_report::format::sentence(&figure_line(figure))));
    own.into_iter().chain(figures).collect::<Vec<_>>().join(" ")
}

/// The rows, one a line, with their verdicts.
pub(super) fn terminal(rows: &[Judged<'_>], view: View) -> String {
    let mut text = String::new();
    for of_paper in by_paper(rows) {
        let lines: Vec<Line> = of_paper
            .iter()
            .map(|one| {
                let first = one.figures.iter().find(|figure| figure.verdict == one.verdict);
                let said = first.map_or_else(|| plain(&one.row.why), figure_line);
                Line::at(ROW, one.row.id.as_str())
                    .judge(VERDICT, effect(one.verdict), one.verdict.words())
                    .put(HERE, said)
            })
            .collect();
        let table = Table::of(of_paper[0].paper.name.clone(), &lines, columns![ROW, VERDICT, HERE]);
        let _ = writeln!(text, "{}\n{}", heading(&of_paper[0].paper.name, view), table.text(view));
    }
    text + &counted(rows) + "\n"
}

fn heading(name: &str, view: View) -> String {
    view.style.map_or_else(|| name.to_owned(), |style| style(brisk_report::Meaning::Heading, name))
}

/// Each row in full.
pub(super) fn in_full(rows: &[Judged<'_>], view: View) -> String {
    let columns = view.width.map_or(COLUMNS, |width| usize::from(width).clamp(40, 120));
    let mut text = String::new();
    for one in rows {
        let name = format!("{}: {}, {}", one.row.id, one.paper.name, one.row.place);
        let _ = writeln!(text, "{}", heading(&name, view));
        let mut part = |head: &str, said: &str| {
            if !said.is_empty() {
                text.push_str(&wrap(&format!("{head}: {}", plain(said)), columns, "  "));
            }
        };
        part("It says", &one.row.says);
        part("Here", &one.row.here);
        one.figures.iter().for_each(|figure| part("Figure", &figure_line(figure)));
        part("Verdict", one.verdict.words());
        part("Why", &why(one));
        part("Worse than the default here", &one.row.worse);
        part("The paper contradicts itself", &one.row.itself);
        part("From", &sources(one).join("; "));
        for run in one.paper.runs_of(one.row) {
            part("Run", &format!("brisk papers run {} (about {} min): {}", run.id, run.minutes, run.command));
        }
        text.push('\n');
    }
    text
}

/// The rows of each paper, in order.
pub(super) fn by_paper<'a, 'b>(rows: &'b [Judged<'a>]) -> impl Iterator<Item = &'b [Judged<'a>]> {
    rows.chunk_by(|one, other| one.paper.id == other.paper.id)
}

/// One page that needs nothing from outside.
pub(super) fn html(rows: &[Judged<'_>]) -> String {
    let sections: Vec<Section> = by_paper(rows).map(section).collect();
    let footer = format!(
        "{} A figure agrees when it is within the range of its row, by default a factor of {} of the published one; it \
         is contradicted when its whole interval is on the other side of the claim.",
        counted(rows),
        judge::WITHIN
    );
    brisk_report::html_of_state("The papers, figure by figure", &sections, &footer)
}

fn section(rows: &[Judged<'_>]) -> Section {
    let line = |one: &Judged<'_>| {
        Line::at(ROW, one.row.id.as_str())
            .put(PLACE, one.row.place.as_str())
            .put(SAYS, plain(&one.row.says))
            .put(HERE, here(one))
            .judge(VERDICT, effect(one.verdict), one.verdict.words())
            .put(WHY, plain(&why(one)))
    };
    let lines: Vec<Line> = rows.iter().map(line).collect();
    let table = Table::of("Rows", &lines, columns![ROW, PLACE, SAYS, HERE, VERDICT, WHY]);
    let name = rows[0].paper.name.clone();
    let question = "What does each figure and table claim, what comes out here, and does it agree?";
    let mut section =
        Section::new(name, question, vec![counted(rows)])
            .figures([declare::Figure::new("Figures and tables", "").table(table).open()]);
    let place = |one: &Judged<'_>, text: &str| format!("{}: {}", one.row.place, plain(text));
    let worse = rows.iter().filter(|one| !one.row.worse.is_empty());
    section.notes.extend(worse.map(|one| format!("Worse than the default here, {}", place(one, &one.row.worse))));
    let itself = rows.iter().filter(|one| !one.row.itself.is_empty());
    section.notes.extend(itself.map(|one| format!("The paper contradicts itself, {}", place(one, &one.row.itself))));
    section
}

/// The rows for programs.
pub(super) fn facts(rows: &[Judged<'_>]) -> Value {
    let figure = |one: &JudgedFigure<'_>| {
        let found = one.found.map(|found| {
            let Found { value, low, high, runs, from } = found;
            json!({ "value": value, "low": low, "high": high, "runs": runs, "from": from })
        });
        json!({
            "words": one.figure.words, "unit": one.figure.unit, "published": one.figure.published,
            "agrees": judge::range(one.figure), "above": one.figure.above, "below": one.figure.below,
            "run": one.figure.run, "found": found, "verdict": one.verdict,
        })
    };
    let row = |one: &Judged<'_>| {
        json!({
            "row": one.row.id, "paper": one.paper.id, "place": one.row.place, "says": one.row.says,
            "here": one.row.here, "verdict": one.verdict, "why": one.row.why,
            "worse": one.row.worse, "contradicts_itself": one.row.itself,
            "figures": one.figures.iter().map(figure).collect::<Vec<_>>(),
        })
    };
    json!({ "rows": rows.iter().map(row).collect::<Vec<_>>() })
}
