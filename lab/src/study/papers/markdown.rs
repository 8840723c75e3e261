//! `docs/papers.md`: the page of the documentation. Values in, text out: a test holds that the file is this text.

use std::fmt::Write as _;

use brisk_report::format::wrap;

use super::judge::{Judged, JudgedFigure, WITHIN};
use super::page::{by_paper, counted, expected, found, sources, why};
use super::table::{Paper, Row, Run};

/// Columns of a line of text, and of a command.
const COLUMNS: usize = 116;

/// The whole page.
pub(super) fn page(rows: &[Judged<'_>]) -> String {
    let mut text = String::from("# The papers, figure by figure\n\n");
    let mut paragraph = |words: &str| {
        text.push_str(&wrap(words, COLUMNS, ""));
        text.push('\n');
    };
    paragraph(&format!(
        "brisk implements five papers ([sources](sources.md)). A row here is a figure or table of one of them: what it \
         says, what comes out here, and whether that agrees. {}",
        counted(rows)
    ));
    paragraph(
        "`brisk papers` shows the same table, `brisk papers ROW` a row in full, `brisk papers run` measures what rows \
         need and judges them; `brisk papers run --save` and `brisk papers --markdown=docs/papers.md` make this page. \
         Figures of emulated devices are those of a model in virtual time.",
    );
    text.push_str("| verdict | meaning |\n|---|---|\n");
    let _ = writeln!(
        text,
        "| agrees | the figure is within the range of its row: by default a factor of {WITHIN} of the published one |\n\
         | differs | another value, and nothing against the claim |\n\
         | contradicted | the whole interval is on the other side of the claim (above or below a bound) |\n\
         | not here | it takes devices, apps or people that are not here; the row says what stands in its place |\n\
         | not measured | there could be a figure, and there is none yet |\n"
    );
    let brackets = "In brackets are 95 % intervals of medians and numbers of runs, as far as the source has them; of a \
                    ratio, its ends over each other's. Sources stand below the figures.";
    text.push_str(&wrap(brackets, COLUMNS, ""));
    for of_paper in by_paper(rows) {
        text.push_str(&section(of_paper));
    }
    list(&mut text, "Where a paper's way does worse than the default here", rows, |row| &row.worse);
    list(&mut text, "Where the papers contradict themselves", rows, |row| &row.itself);
    text
}

/// The table of a paper, and its commands.
fn section(rows: &[Judged<'_>]) -> String {
    let paper = rows[0].paper;
    let head = "| in the paper | what it says | here | verdict |\n|---|---|---|---|\n";
    let mut text = format!("\n## {}\n\n{head}", paper.name);
    for one in rows {
        let verdict = format!("**{}**: {}", one.verdict.words(), why(one));
        let cells = [place(one), one.row.says.clone(), here(one), verdict];
        let _ = writeln!(text, "| {} |", cells.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    let runs: Vec<&Run> = paper.runs.iter().collect();
    if !runs.is_empty() {
        text.push_str("\nWhat measures these rows (`brisk papers run NAME`):\n\n```sh\n");
        runs.iter().for_each(|run| text.push_str(&example(paper, run)));
        text.push_str("```\n");
    }
    text
}

/// Where it stands, and its name on the command line.
fn place(one: &Judged<'_>) -> String {
    format!("{} (`{}`)", one.row.place, one.row.id)
}

fn here(one: &Judged<'_>) -> String {
    let own = (!one.row.here.is_empty()).then(|| one.row.here.clone());
    let from = sources(one).join("; ");
    let from = (!from.is_empty()).then(|| format!("*{from}*"));
    own.into_iter().chain(one.figures.iter().map(figure)).chain(from).collect::<Vec<_>>().join("<br>")
}

fn figure(one: &JudgedFigure<'_>) -> String {
    let value = one.found.map_or_else(|| "no figure yet".to_owned(), |value| found(value, &one.figure.unit));
    let verdict = one.found.map_or_else(String::new, |_| format!("; {}", one.verdict.words()));
    let note = Some(&one.figure.note).filter(|note| !note.is_empty() && one.found.is_some());
    let note = note.map_or_else(String::new, |note| format!("; {note}"));
    format!("**{value}**, {} ({}{note}{verdict})", one.figure.words, expected(one))
}

/// A run as a line of shell, with its name and rows.
fn example(paper: &Paper, run: &Run) -> String {
    let rows: Vec<&str> =
        paper.rows.iter().filter(|row| row.runs().any(|id| id == run.id)).map(|row| row.id.as_str()).collect();
    let mut text = String::new();
    let for_rows = if rows.is_empty() { String::new() } else { format!(", for {}", rows.join(", ")) };
    for line in wrap(&format!("{}: {} min{for_rows}", run.id, run.minutes), COLUMNS, "").lines() {
        let _ = writeln!(text, "# {line}");
    }
    for command in run.before.iter().chain([&run.command]) {
        let command = command
            .replace("{dir}", "target/papers")
            .replace("{usage}", "usage.csv.gz")
            .replace("{heap}", "heap.csv.gz");
        text.push_str(&continued(&command));
    }
    text
}

/// A command in lines that end in a backslash.
fn continued(command: &str) -> String {
    let lines = wrap(command, COLUMNS - 4, "");
    lines.lines().collect::<Vec<_>>().join(" \\\n    ") + "\n"
}

fn list(text: &mut String, title: &str, rows: &[Judged<'_>], of: fn(&Row) -> &String) {
    let _ = write!(text, "\n## {title}\n\n");
    for one in rows.iter().filter(|one| !of(one.row).is_empty()) {
        let words = format!("{}, {}: {}", one.paper.work, one.row.place, of(one.row));
        text.push_str(&wrap(&words, COLUMNS, "- "));
    }
}
