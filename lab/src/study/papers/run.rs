//! `brisk papers` and `brisk papers run`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use brisk_command::documents;
use brisk_command::json::Document as Facts;
use brisk_command::output::{check, is_standard, replace};
use brisk_command::signals::Signals;
use brisk_command::terminal::{self, remark};
use brisk_command::{print, print_exactly};
use brisk_program::{error, info};
use brisk_report::Document;

use super::arguments::{Args, Command, RunArgs};
use super::children::{self, Ended};
use super::judge::{self, Judged, Taken};
use super::table::{self, Paper, Run};
use super::{markdown, page, recorded, take};
use crate::results::ALL_KINDS;
use crate::vm::sources::Source;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Some(Command::Run(args)) => measure(args),
        None => show(args),
    }
}

fn show(args: &Args) -> anyhow::Result<ExitCode> {
    args.shown.json.check(&[])?;
    let files = [("--html", &args.shown.html), ("--markdown", &args.shown.markdown)];
    for (option, file) in files {
        file.as_deref().filter(|file| !is_standard(file)).map_or(Ok(()), |file| check(option, file))?;
    }
    let papers = table::read()?;
    chosen(&papers, &args.rows)?;
    let recorded = recorded::read(recorded::TEXT)?;
    if let Some(file) = &args.shown.markdown {
        let text = markdown::page(&judge::all(&papers, &recorded));
        put(file, &text)?;
        if is_standard(file) {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let taken = with_documents(&papers, recorded, &args.results);
    let mut rows = judge::all(&papers, &taken);
    let is_named = |one: &Judged<'_>| {
        let is = |name: &String| *name == one.row.id || name == one.paper.id || one.row.runs().any(|run| run == name);
        args.rows.iter().any(is)
    };
    rows.retain(|one| args.rows.is_empty() || is_named(one));
    rows.retain(|one| args.judged.is_empty() || args.judged.contains(&one.verdict));
    if let Some(file) = &args.shown.html {
        put(file, &page::html(&rows))?;
        if is_standard(file) {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let document = Facts::new("papers", page::facts(&rows));
    let view = terminal::view();
    args.shown.json.show(&document, || {
        if args.rows.is_empty() { page::terminal(&rows, view) } else { page::in_full(&rows, view) }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn put(file: &Path, text: &str) -> anyhow::Result<()> {
    if is_standard(file) { print_exactly(text) } else { replace(file, text.as_bytes()) }
}

/// Refuses names that are none of the table.
fn chosen(papers: &[Paper], names: &[String]) -> anyhow::Result<()> {
    let known: BTreeSet<&str> = papers
        .iter()
        .flat_map(|paper| paper.rows.iter().map(|row| row.id.as_str()).chain([paper.id]))
        .chain(papers.iter().flat_map(|paper| paper.runs.iter().map(|run| run.id.as_str())))
        .collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name.as_str())) {
        let nearest = known.iter().map(|one| (strsim::damerau_levenshtein(name, one), *one)).min();
        let hint = nearest.filter(|(distance, _)| *distance <= 3).map(|(_, one)| format!("; did you mean '{one}'?"));
        bail!("there is no row, paper or run '{name}': 'brisk papers' lists them{}", hint.unwrap_or_default());
    }
    Ok(())
}

/// The document of a run in the directory of results.
fn file(dir: &Path, run: &Run) -> PathBuf {
    dir.join(format!("{}.json", run.id))
}

/// The document of a run, where it is there and of its kind.
fn document(dir: &Path, run: &Run) -> anyhow::Result<Option<Document>> {
    let file = file(dir, run);
    if !file.is_file() {
        return Ok(None);
    }
    let mut documents = documents::read(ALL_KINDS, &file)?;
    match documents.pop() {
        Some(document) if documents.is_empty() && document.kind() == run.kind => Ok(Some(document)),
        _ => bail!("{} is no single document of kind {}: remove it, or run it --again", file.display(), run.kind),
    }
}

/// Where a figure is from: the run, its day, and the commit of the program that made it.
fn origin(run: &Run, document: &Document) -> String {
    let header = document.header();
    let day = header.started.split('T').next().unwrap_or_default();
    let commit = header.environment.commit.as_deref().map(|commit| format!(", commit {commit}")).unwrap_or_default();
    format!("brisk papers run {}, {day}{commit}", run.id)
}

/// The figures of a paper's documents; what they lack is said.
fn taken(paper: &Paper, documents: &BTreeMap<&str, (&Run, Document)>) -> Taken {
    let mut taken = Taken::new();
    for row in &paper.rows {
        for figure in &row.figures {
            let of = |run: &Option<String>| run.as_deref().map(|run| documents.get(run));
            let (Some(Some((run, document))), other) = (of(&figure.run), of(&figure.over_run)) else { continue };
            // What it is over was not measured yet.
            if other.is_some_and(|other| other.is_none()) {
                continue;
            }
            let other = other.flatten().map(|(_, document)| document);
            match take::take(figure, document, other, &origin(run, document)) {
                Ok(found) => drop(taken.insert((row.id.clone(), figure.words.clone()), found)),
                Err(error) => remark(&format!("{}, {}: {error}", row.id, figure.words)),
            }
        }
    }
    taken
}

/// The recorded figures, with those of documents in their place. A document that cannot be read is said and left out.
fn with_documents(papers: &[Paper], mut all: Taken, dir: &Path) -> Taken {
    let mut documents = BTreeMap::new();
    for run in papers.iter().flat_map(|paper| &paper.runs) {
        match document(dir, run) {
            Ok(Some(document)) => drop(documents.insert(run.id.as_str(), (run, document))),
            Ok(None) => {}
            Err(error) => remark(&format!("{error:#}")),
        }
    }
    papers.iter().for_each(|paper| all.extend(taken(paper, &documents)));
    all
}

/// A run of the list, and its paper.
type Part<'a> = (&'a Paper, &'a Run);

fn measure(args: &RunArgs) -> anyhow::Result<ExitCode> {
    args.json.check(&[])?;
    let papers = table::read()?;
    chosen(&papers, &args.rows)?;
    let is_meant = |paper: &Paper, run: &Run| {
        let of_rows = || paper.rows.iter().filter(|row| row.runs().any(|id| id == run.id)).map(|row| &row.id);
        args.rows.is_empty()
            || args.rows.iter().any(|name| *name == run.id || name == paper.id || of_rows().any(|id| id == name))
    };
    let is_short = |run: &Run| args.at_most.is_none_or(|most| Duration::from_secs(u64::from(run.minutes) * 60) <= most);
    let all = papers.iter().flat_map(|paper| paper.runs.iter().map(move |run| (paper, run)));
    let parts: Vec<Part<'_>> = all.filter(|(paper, run)| is_meant(paper, run) && is_short(run)).collect();
    if args.list {
        print(&listed(&parts, &args.results))?;
        return Ok(ExitCode::SUCCESS);
    }
    if parts.is_empty() {
        bail!("nothing to run: these rows have no run{}", if args.at_most.is_some() { " so short" } else { "" });
    }
    fs::create_dir_all(&args.results).with_context(|| format!("cannot make {}", args.results.display()))?;
    let signals = Signals::watch()?;
    let mut failed = false;
    for (nth, part) in parts.iter().enumerate() {
        let at = format!("{} of {}: {}", nth + 1, parts.len(), part.1.id);
        match one(args, part.1, &at, signals.stop_flag()) {
            Ok(Outcome::Stopped) => return Ok(signals.was_stopped()),
            Ok(Outcome::There) => {}
            Ok(Outcome::Skipped) => failed = true,
            Err(error) => {
                error!("brisk: {at}: {error:#}");
                failed = true;
            }
        }
    }
    let taken = with_documents(&papers, recorded::read(recorded::TEXT)?, &args.results);
    if args.save {
        let here = std::env::current_dir().context("cannot tell where this is")?;
        let file = Source::find(args.source.as_deref().unwrap_or(&here), None)?.path(recorded::PLACE);
        replace(&file, recorded::text(&taken)?.as_bytes())?;
        let place = file.display();
        remark(&format!("figures kept in {place}: build brisk-lab, then brisk papers --markdown=docs/papers.md"));
    }
    let mut rows = judge::all(&papers, &taken);
    let is_made = |run: &Run| parts.iter().any(|(_, made)| made.id == run.id);
    rows.retain(|one| one.paper.runs_of(one.row).any(is_made));
    args.json.show(&Facts::new("papers", page::facts(&rows)), || page::terminal(&rows, terminal::view()))?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn listed(parts: &[Part<'_>], dir: &Path) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(["run", "minutes", "document", "for rows"]);
    for (paper, run) in parts {
        let rows = paper.rows.iter().filter(|row| row.runs().any(|id| id == run.id)).map(|row| row.id.as_str());
        let there = if file(dir, run).is_file() { "there" } else { "-" };
        table.add_row([run.id.clone(), run.minutes.to_string(), there.to_owned(), rows.collect::<Vec<_>>().join(", ")]);
    }
    format!("{table}\n")
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Its document is there.
    There,
    /// It needs a table that was not given.
    Skipped,
    Stopped,
}

/// Makes the document of a run, unless it is there.
fn one(args: &RunArgs, run: &Run, at: &str, stop: &AtomicBool) -> anyhow::Result<Outcome> {
    let file = file(&args.results, run);
    if !args.again && document(&args.results, run)?.is_some() {
        info!("{at}: is there ({})", file.display());
        return Ok(Outcome::There);
    }
    for (key, option, given) in [("{usage}", "--usage", &args.usage), ("{heap}", "--heap", &args.heap)] {
        if run.command.contains(key) && given.is_none() {
            remark(&format!("{at}: not run: give {option} FILE (brisk papers run --help)"));
            return Ok(Outcome::Skipped);
        }
    }
    info!("{at}: about {} min", run.minutes);
    steps(args, run, &file, stop)
}

fn steps(args: &RunArgs, run: &Run, file: &Path, stop: &AtomicBool) -> anyhow::Result<Outcome> {
    // A measurement may write what it has so far: under its own name it would count as the whole.
    let part = file.with_extension("part.json");
    let mut commands = run.before.iter().map(|command| words(command, args)).collect::<Result<Vec<_>, _>>()?;
    let mut last = words(&run.command, args)?;
    last.push(if run.prints { "--json".to_owned() } else { format!("--json={}", part.display()) });
    commands.push(last);
    for (nth, words) in commands.iter().enumerate() {
        let ended = if run.prints && nth + 1 == commands.len() {
            let (ended, text) = children::printed(words, stop)?;
            fs::write(&part, text).with_context(|| format!("cannot write {}", part.display()))?;
            ended
        } else {
            children::run(words, stop)?
        };
        match ended {
            Ended::Code(0) if stop.load(Ordering::Relaxed) => return Ok(Outcome::Stopped),
            Ended::Stopped => return Ok(Outcome::Stopped),
            Ended::Code(0) => {}
            // Measured, but not all of it.
            Ended::Code(1) if part.is_file() => {}
            Ended::Code(code) => bail!("'{}' ended with exit code {code}", words.join(" ")),
        }
    }
    fs::rename(&part, file).with_context(|| format!("cannot keep {}", file.display()))?;
    Ok(Outcome::There)
}

/// The words of a command, with what its placeholders stand for.
fn words(command: &str, args: &RunArgs) -> anyhow::Result<Vec<String>> {
    let path = |path: Option<&PathBuf>| path.map(|path| path.display().to_string()).unwrap_or_default();
    let put = |word: String| {
        word.replace("{dir}", &args.results.display().to_string())
            .replace("{usage}", &path(args.usage.as_ref()))
            .replace("{heap}", &path(args.heap.as_ref()))
    };
    let words = shlex::split(command).with_context(|| format!("'{command}' is no line of a shell"))?;
    Ok(words.into_iter().map(put).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::replays;
    use super::*;

    fn arguments(results: &Path) -> RunArgs {
        RunArgs {
            rows: Vec::new(),
            list: false,
            again: false,
            at_most: None,
            usage: None,
            heap: None,
            results: results.to_owned(),
            save: false,
            source: None,
            json: brisk_command::json::Json::default(),
        }
    }

    fn with_run<T>(id: &str, of: impl FnOnce(&Run) -> T) -> T {
        let papers = table::read().expect("the table");
        of(papers.iter().flat_map(|paper| &paper.runs).find(|run| run.id == id).expect("a run"))
    }

    #[test]
    fn a_run_with_a_document_is_not_made_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let (args, never) = (arguments(dir.path()), AtomicBool::new(false));
        with_run("swap-replay", |run| {
            let text = serde_json::to_string(&replays(&[("linux", [1.0, 1.0, 1.0])])).expect("JSON");
            fs::write(file(dir.path(), run), text).expect("written");
            assert_eq!(one(&args, run, "1 of 1", &never).expect("it is there"), Outcome::There);
            // One of another kind is no document of the run.
            let other = Run { kind: "kernel".to_owned(), ..run.clone() };
            let refused = one(&args, &other, "1 of 1", &never).expect_err("another kind");
            assert!(refused.to_string().contains("--again"), "{refused:#}");
        });
    }

    #[test]
    fn a_run_without_its_table_is_skipped() {
        let dir = tempfile::tempdir().expect("a directory");
        let never = AtomicBool::new(false);
        let outcome = with_run("predict", |run| one(&arguments(dir.path()), run, "1 of 1", &never));
        assert_eq!(outcome.expect("skipped"), Outcome::Skipped);
    }

    #[test]
    fn placeholders_are_words_of_the_caller() {
        let args = RunArgs { usage: Some("my usage.csv".into()), ..arguments(Path::new("results")) };
        let words = words("brisk predict eval {usage} --json={dir}/a.json", &args);
        let expected = ["brisk", "predict", "eval", "my usage.csv", "--json=results/a.json"];
        assert_eq!(words.expect("words"), expected);
    }

    #[test]
    fn a_name_that_is_none_is_refused_with_the_nearest_one() {
        let papers = table::read().expect("the table");
        let refused = chosen(&papers, &["mars-99".to_owned()]).expect_err("no row");
        assert!(refused.to_string().contains("did you mean 'mars-9'?"), "{refused:#}");
        chosen(&papers, &["mars".to_owned(), "4.10".to_owned(), "cures".to_owned()]).expect("known");
    }
}
