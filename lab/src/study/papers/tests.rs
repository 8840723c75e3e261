//! Tests over the table as a whole, and of its rules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brisk_report::vocabulary::DIMENSIONS;
use serde_json::json;

use super::judge::{self, Taken, Verdict};
use super::table::{self, Figure, Fold, Found, Paper};
use super::{markdown, page, recorded, take};
use crate::results::ALL_KINDS;

fn papers() -> Vec<Paper> {
    table::read().expect("the table is whole")
}

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn found(value: f64, low: f64, high: f64) -> Found {
    Found { value, low: Some(low), high: Some(high), runs: Some(5), from: "a test".to_owned() }
}

#[test]
fn every_row_is_complete() {
    let mut names = BTreeSet::new();
    for paper in papers() {
        for row in &paper.rows {
            let id = &row.id;
            assert!(names.insert(id.clone()), "{id} stands twice");
            assert_ne!(row.verdict.is_some(), !row.figures.is_empty(), "{id}: a verdict, or figures that give it");
            for text in [&row.says, &row.why] {
                assert!(text.ends_with('.') || text.ends_with(')'), "{id}: '{text}' is no sentence");
            }
            let mut words = BTreeSet::new();
            for figure in &row.figures {
                assert!(words.insert(&figure.words), "{id}: '{}' stands twice", figure.words);
                let rule = judge::range(figure).is_some() || figure.above.is_some() || figure.below.is_some();
                assert!(rule, "{id}: '{}' has no rule", figure.words);
                let is_owed = row.here.to_lowercase().contains("not measured on the whole phone yet");
                let has_source = figure.run.is_some() || figure.found.is_some();
                assert!(has_source || is_owed, "{id}: '{}' has no source", figure.words);
            }
        }
        for run in &paper.runs {
            assert!(names.insert(run.id.clone()), "{} is the name of a row or run", run.id);
        }
    }
    let papers = papers();
    let used: BTreeSet<&str> = papers.iter().flat_map(|paper| &paper.rows).flat_map(table::Row::runs).collect();
    let runs: BTreeSet<&str> = papers.iter().flat_map(|paper| &paper.runs).map(|run| run.id.as_str()).collect();
    assert_eq!(used, runs, "each run is there and used");
    assert!(names.len() > 90, "{} rows and runs", names.len());
}

/// Each figure and table that the papers have, counted by hand: none is left out.
#[test]
fn every_figure_and_table_of_the_papers_has_a_row() {
    let counts = [
        ("smartstorage", 11 + 5),
        ("smartio", 14),
        ("iram", 11 + 2),
        ("revisiting", 15 + 6),
        ("latency", 5 + 1),
        ("poster", 4),
        ("mars", 14 + 2),
    ];
    for (id, count) in counts {
        let paper = papers().into_iter().find(|paper| paper.id == id).expect("there");
        // A figure may have several rows, for its panels, and a row two figures that show one thing.
        let mut places = BTreeSet::new();
        for row in &paper.rows {
            let (kind, rest) = row.place.split_once(' ').expect("a kind and a number");
            if !["figure", "figures", "table"].contains(&kind) {
                continue;
            }
            for part in rest.split(", ") {
                let number: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '.').collect();
                if part.starts_with(|c: char| c.is_ascii_digit() || "IV".contains(c)) {
                    places.insert((kind.trim_end_matches('s').to_owned(), number));
                }
            }
        }
        assert_eq!(places.len(), count, "{id}: {places:?}");
    }
}

#[test]
fn every_path_names_what_documents_have() {
    let columns: BTreeSet<&str> = DIMENSIONS.iter().filter_map(|one| Some(one.csv?.0)).collect();
    for paper in papers() {
        for run in &paper.runs {
            assert!(ALL_KINDS.names().contains(&run.kind.as_str()), "{}: no kind {}", run.id, run.kind);
        }
        for (id, figure) in paper.rows.iter().flat_map(|row| row.figures.iter().map(move |figure| (&row.id, figure))) {
            for column in figure.at.keys().chain(figure.over.keys()) {
                assert!(columns.contains(column.as_str()), "{id}: no column {column}");
            }
            let has_path = figure.pointer.is_some() == figure.measure.is_empty();
            assert_eq!(has_path, figure.run.is_some(), "{id}: '{}' has a measure or a pointer", figure.words);
            assert!(figure.pointer.as_ref().is_none_or(|pointer| pointer.starts_with('/')), "{id}");
        }
    }
}

#[test]
fn every_command_is_accepted() {
    let mut seen = 0;
    for run in papers().iter().flat_map(|paper| &paper.runs) {
        for command in run.before.iter().chain([&run.command]) {
            let words = shlex::split(command).expect("words of a shell");
            assert_eq!(words[0], "brisk");
            if brisk_command::lab::called(&words[1..]).is_some() {
                let parsed = crate::command::command().try_get_matches_from(&words);
                assert!(parsed.is_ok(), "{}: {}", run.id, parsed.err().map_or_else(String::new, |e| e.to_string()));
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen} commands");
}

#[test]
fn files_that_figures_are_from_are_there() {
    for (id, found) in papers()
        .iter()
        .flat_map(|paper| &paper.rows)
        .flat_map(|row| row.figures.iter().filter_map(move |figure| Some((&row.id, figure.found.as_ref()?))))
    {
        let is_there = found.from.starts_with("commit ") || tree().join(&found.from).is_file();
        assert!(is_there, "{id}: no {}", found.from);
    }
}

#[test]
fn the_page_is_what_the_data_say() {
    let (papers, recorded) = (papers(), recorded::read(recorded::TEXT).expect("recorded figures"));
    let text = markdown::page(&judge::all(&papers, &recorded));
    let file = tree().join("docs/papers.md");
    snapbox::assert_data_eq!(text, snapbox::Data::read_from(&file, None).raw());
}

#[test]
fn no_recorded_figure_is_of_a_row_that_is_gone() {
    let papers = papers();
    let known: BTreeSet<(String, String)> = papers
        .iter()
        .flat_map(|paper| &paper.rows)
        .flat_map(|row| row.figures.iter().map(|figure| (row.id.clone(), figure.words.clone())))
        .collect();
    for key in recorded::read(recorded::TEXT).expect("recorded figures").keys() {
        assert!(known.contains(key), "{key:?}");
    }
}

#[test]
fn a_claim_is_contradicted_only_by_its_whole_interval() {
    let below = Figure { published: Some(0.8), below: Some(1.0), ..Figure::default() };
    for (value, low, high, verdict) in [
        (0.75, 0.7, 0.8, Verdict::Agrees),
        (0.5, 0.4, 0.6, Verdict::Differs),
        // It may be either side of 1.
        (1.1, 0.99, 1.2, Verdict::Differs),
        (1.1, 1.0, 1.2, Verdict::Contradicted),
        // Within a factor of 1.25, and not below 1: the claim decides.
        (0.99, 1.0, 1.0, Verdict::Contradicted),
    ] {
        assert_eq!(judge::of_figure(&below, &found(value, low, high)), verdict, "{value} ({low} to {high})");
    }
    let above = Figure { above: Some(1.0), ..Figure::default() };
    assert_eq!(judge::of_figure(&above, &found(1.2, 1.1, 1.3)), Verdict::Agrees);
    assert_eq!(judge::of_figure(&above, &found(1.2, 0.9, 1.3)), Verdict::Differs);
    assert_eq!(judge::of_figure(&above, &found(0.8, 0.7, 0.9)), Verdict::Contradicted);
    let one = Found { value: 0.9, low: None, high: None, runs: None, from: String::new() };
    assert_eq!(judge::of_figure(&above, &one), Verdict::Contradicted);
}

#[test]
fn the_worst_of_its_figures_is_the_verdict_of_a_row() {
    let papers = papers();
    let row = |id: &str, taken: &Taken| {
        let rows = judge::all(&papers, taken);
        rows.iter().find(|one| one.row.id == id).expect("there").verdict
    };
    assert_eq!(row("4.12a", &Taken::new()), Verdict::NotMeasured);
    let idle = ("4.12a".to_owned(), "idle: launch with SmartIO over without".to_owned());
    let taken: Taken = [(idle, found(0.8, 0.78, 0.82))].into();
    assert_eq!(row("4.12a", &taken), Verdict::Agrees, "a document goes before what the table has");
    assert_eq!(row("5.11a", &taken), Verdict::NotHere);
    assert_eq!(row("mars-9", &taken), Verdict::NotMeasured, "no figure of it was taken");
}

#[test]
fn what_was_recorded_is_read_as_it_was_written() {
    let one = Found { value: 3.82, low: None, high: None, runs: None, from: "papers run".to_owned() };
    let key = |row: &str| (row.to_owned(), "a \"ratio\", of two".to_owned());
    let taken: Taken = [(key("mars-9"), one), (key("4.10"), found(1.12, 1.11, 1.13))].into();
    let text = recorded::text(&taken).expect("TOML");
    assert_eq!(recorded::read(&text).expect("read"), taken);
    assert!(recorded::read("figure = 7").is_err());
}

/// A document of replays with these bandwidths: median, low and high.
pub(super) fn replays(of: &[(&str, [f64; 3])]) -> brisk_report::Document {
    let summary = |[median, low, high]: [f64; 3]| {
        json!({ "count": 5, "median": median, "low": low, "high": high, "confidence": 0.95, "min": low, "max": high,
            "variation": 0.1 })
    };
    let replay = |(policy, bandwidth): &(&str, [f64; 3])| {
        let mut replay = json!({ "policy": policy, "swap_in": "app", "in_bytes_per_s": summary(*bandwidth) });
        let other = ["read_ms_mean", "read_ms_max", "device_ms_mean", "device_ms_max", "request_bytes_mean"]
            .into_iter()
            .chain(["launch_wait_ms_mean", "in_bytes", "used_percent", "out_bytes", "with_writes_percent"])
            .chain(["reserve_bytes_max", "stray_pages", "unknown_pages"]);
        let fields = replay.as_object_mut().expect("an object");
        other.for_each(|name| drop(fields.insert(name.to_owned(), summary([2.0, 1.0, 3.0]))));
        replay
    };
    let report: crate::results::SwapReport = serde_json::from_value(json!({
        "schema_version": 1, "started": "2026-11-27T01:45:30Z", "duration_s": 1.0, "seed": 0, "written_bytes": 0,
        "warnings": [], "traces": [], "replays": of.iter().map(replay).collect::<Vec<_>>(),
        "environment": { "brisk_version": "0.1.0", "kernel": "6.12", "architecture": "x86_64", "cpus": 2, "path": "/" },
    }))
    .expect("a document");
    report.into()
}

fn at(policy: &str) -> BTreeMap<String, String> {
    [("policy", policy), ("swap_in", "app")].map(|(column, place)| (column.to_owned(), place.to_owned())).into()
}

#[test]
fn a_value_is_taken_by_its_path() {
    let document = replays(&[("linux", [10e6, 8e6, 12e6]), ("mars", [30e6, 24e6, 36e6])]);
    let figure = Figure { measure: "throughput".to_owned(), at: at("linux"), divide: Some(1e6), ..Figure::default() };
    let one = take::take(&figure, &document, None, "here").expect("there");
    assert_eq!((one.value, one.low, one.high, one.runs), (10.0, Some(8.0), Some(12.0), Some(5)));
    // A ratio has the ends that lie furthest apart.
    let ratio = Figure { at: at("mars"), over: at("linux"), divide: None, ..figure.clone() };
    let ratio = take::take(&ratio, &document, None, "here").expect("there");
    assert_eq!((ratio.value, ratio.low, ratio.high), (3.0, Some(2.0), Some(4.5)));
    let all = Figure { at: BTreeMap::new(), ..figure.clone() };
    let several = take::take(&all, &document, None, "here").expect_err("two rows");
    assert!(several.to_string().contains("2 rows have 'throughput'"), "{several}");
    let either = Figure { at: at("mars | linux"), fold: Some(Fold::Sum), ..figure.clone() };
    assert_eq!(take::take(&either, &document, None, "here").expect("folded").value, 40.0);
    let of =
        |fold| take::take(&Figure { fold: Some(fold), ..all.clone() }, &document, None, "here").expect("folded").value;
    assert_eq!([of(Fold::Sum), of(Fold::Mean), of(Fold::Max)], [40.0, 20.0, 30.0]);
    // Over the same place of another document.
    let other = replays(&[("linux", [5e6, 4e6, 5e6])]);
    let over = Figure { divide: None, ..figure.clone() };
    let over = take::take(&over, &document, Some(&other), "here").expect("there");
    assert_eq!((over.value, over.low, over.high), (2.0, Some(1.6), Some(3.0)));
    let pointer = Figure { pointer: Some("/replays/1/in_bytes_per_s/low".to_owned()), ..Figure::default() };
    assert_eq!(take::take(&pointer, &document, None, "here").map(|found| found.value), Ok(24e6));
    let none = take::take(&Figure { at: at("zram"), ..figure }, &document, None, "here").expect_err("no such row");
    assert!(none.to_string().contains("policy zram"), "{none}");
}

/// Dissertation, table 3.4, in the order of the apps.
const PROPORTIONS: [f64; 20] = [
    2.6, 0.09, 0.28, 14.7, 12.29, 4.0, 9.09, 0.79, 0.24, 1.36, 1.27, 0.28, 2.03, 11.2, 0.02, 2.5, 0.26, 0.0, 0.81, 4.94,
];

#[test]
fn the_apps_of_smartstorage_ask_in_their_published_proportions() {
    use brisk_profile::workload::{Action, Ask};
    let file = tree().join("lab/src/study/papers/table/apps.fio");
    let text = std::fs::read_to_string(&file).expect("readable");
    let jobs = brisk_profile::fio::read(&file, &text).expect("understood");
    assert_eq!(jobs.workloads.len(), 20 + 3);
    for (workload, published) in jobs.workloads.iter().zip(PROPORTIONS) {
        let Ask::Open(streams) = &workload.ask else { panic!("{} has no rates", workload.name) };
        let rate = |action| -> f64 {
            streams.iter().filter(|stream| stream.action == action).map(|stream| stream.requests_per_s).sum()
        };
        let (reads, writes) = (rate(Action::Read), rate(Action::Write));
        assert_eq!(reads + writes, 400.0, "{}", workload.name);
        // Rates are whole numbers.
        assert!((reads - published * writes).abs() <= 0.5 * (1.0 + published), "{}: {reads}", workload.name);
    }
}

#[test]
fn every_view_has_every_row() {
    let papers = papers();
    let taken = Taken::new();
    let rows = judge::all(&papers, &taken);
    let texts = [
        page::terminal(&rows, brisk_report::View::from(Some(100))),
        page::in_full(&rows, brisk_report::View::from(Some(80))),
        page::html(&rows),
        page::facts(&rows).to_string(),
    ];
    for text in texts {
        assert!(!text.contains("NaN"));
        for one in &rows {
            assert!(text.contains(&one.row.id), "{} is missing", one.row.id);
        }
    }
}
