//! The whole text of one document of each kind. After a wanted change:
//! `SNAPSHOTS=overwrite cargo test -p brisk-lab --test all documents`.

use crate::documents::samples;
use std::path::Path;

use brisk_lab::results::Document;
use brisk_report::{Meaning, View};
use snapbox::{Data, assert_data_eq};

/// Documents by the name of their snapshot, with the width of the terminal.
fn named() -> Vec<(String, u16, Document)> {
    let width = |name: &str| if name.starts_with("kernel") { 130 } else { 110 };
    let good = samples::named().into_iter().map(|(name, d)| (name.to_owned(), width(name), d));
    let ugly = samples::ugly();
    let bench = ugly.first().cloned().map(|d| ("ugly".to_owned(), 72, d));
    let launch = ugly.into_iter().find(|d| d.kind() == "launch");
    good.chain(bench).chain(launch.map(|d| ("ugly-launch".to_owned(), 72, d))).collect()
}

#[test]
fn every_kind_reads_well_and_ugly_documents_on_a_narrow_terminal_too() {
    for (name, width, document) in named() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/all/documents/snapshots/{name}.txt"));
        assert_data_eq!(brisk_report::terminal(&document, Some(width)), Data::read_from(&file, None));
    }
}

#[test]
fn no_line_about_apps_is_wider_than_the_terminal() {
    let about_apps = |d: &Document| ["launch", "latency", "prove"].contains(&d.kind());
    for width in [60, 72, 80, 100, 132, 200] {
        for document in samples::all().iter().chain(&samples::ugly()).filter(|d| about_apps(d)) {
            let text = brisk_report::terminal(document, Some(width));
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > usize::from(width)).collect();
            assert!(wide.is_empty(), "wider than {width}: {wide:#?}");
        }
    }
}

#[test]
fn no_line_of_an_ugly_benchmark_is_wider_than_the_terminal() {
    let text = brisk_report::terminal(&samples::ugly()[0], Some(72));
    assert!(text.lines().all(|line| line.chars().count() <= 72), "{text}");
}

#[test]
fn a_report_has_a_style_where_it_means_something() {
    let (_, width, document) = named().into_iter().find(|(name, ..)| name == "prove").expect("a sample");
    let style = |meaning: Meaning, text: &str| format!("\x1b[{}m{text}\x1b[m", meaning as u8);
    let shown = |style| brisk_report::terminal(&document, View { width: Some(width), style });
    let (plain, styled) = (shown(None), shown(Some(style)));
    for (meaning, text) in [(Meaning::Heading, "Proof"), (Meaning::Improved, "✓ improved")] {
        assert!(styled.contains(&format!("\x1b[{}m{text}", meaning as u8)), "{meaning:?}: {styled}");
    }
    let codes = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[m"];
    assert_eq!(codes.iter().fold(styled, |text, code| text.replace(code, "")), plain);
}
