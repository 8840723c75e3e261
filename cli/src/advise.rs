//! `brisk advise`: cures of slow storage for a device and an app, ranked by what measurements know of them.

mod cures;
mod rank;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_api::init::Init;
use brisk_bench::results::{FootprintReport, SlowdownReport};
use brisk_command::documents::KINDS;
use brisk_command::json::{Document as Shown, Json};
use brisk_core::units::three_digits;
use brisk_report::ReadError;
use brisk_sync::advice::Advice;
use serde_json::{Value, json};

use cures::Cures;
use rank::{Basis, Broken, Cure, Evidence, broken, rank};

const DOCUMENT_BYTES_MAX: u64 = 64 << 20;

const AFTER_HELP: &str = "\
Documents are results of 'brisk suite cures' (gains, and with --cuts what power cuts leave), 'brisk study footprint' \
and 'brisk study slowdown' of the device, and 'brisk sync advise --json' of the app; others are left out with a \
remark. A gain is measured, a bound (the time in syncs that goes) or modelled (a factor of the device that the cure \
can at most take away). What one command applies and undoes is shown with both.

Example:
  brisk study footprint --json=footprint.json /home
  brisk sync advise --json=reader.json -- reader paper.pdf
  brisk suite cures --presets sd-ridata --json=cures.json
  brisk advise --app org.example.Reader footprint.json reader.json cures.json

Exit codes: 0 shown, 2 a document cannot be read, or none says anything about cures.";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Results of the device and of the app
    #[arg(required = true, value_name = "DOCUMENT")]
    files: Vec<PathBuf>,
    /// Id of the app, as its desktop entry has it: for the commands
    #[arg(long, value_name = "APP")]
    app: Option<String>,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.json.check(&args.files)?;
    let mut known = Evidence { init: Init::of_machine(), ..Evidence::default() };
    let mut used = 0;
    for file in &args.files {
        used += add(&mut known, file)?;
    }
    if used == 0 {
        bail!(
            "no document says anything about cures: give results of suite cures, study footprint, study slowdown or \
             sync advise --json"
        );
    }
    let cures = rank(&known, args.app.as_deref());
    let broken = broken(&known, &cures);
    let document = Shown::new("advice", json!({ "app": args.app, "cures": cures, "broken": broken }));
    args.json.show(&document, || text(&cures, &broken))?;
    Ok(ExitCode::SUCCESS)
}

/// Adds what a file says; returns how many of its documents say something.
fn add(known: &mut Evidence, file: &Path) -> anyhow::Result<usize> {
    let text = brisk_program::files::read(file, DOCUMENT_BYTES_MAX)?;
    let failed = || format!("cannot read {}", file.display());
    let mut used = 0;
    for value in serde_json::Deserializer::from_slice(&text).into_iter::<Value>() {
        let documents = match value.with_context(failed)? {
            Value::Array(list) => list,
            one => vec![one],
        };
        for document in documents {
            let is_used = add_one(known, document).with_context(failed)?;
            used += usize::from(is_used);
            if !is_used {
                let left_out = "a document without anything about cures is left out";
                brisk_command::terminal::remark(&format!("{}: {left_out}", file.display()));
            }
        }
    }
    Ok(used)
}

/// Adds what a document says; returns whether it says something.
fn add_one(known: &mut Evidence, document: Value) -> anyhow::Result<bool> {
    match document["kind"].as_str() {
        Some("sync_advice") => {
            let waits = serde_json::from_value::<Vec<Advice>>(document["files"].clone());
            known.waits.extend(waits.context("it is no advice of brisk sync advise")?);
            return Ok(true);
        }
        Some("cures") => {
            let cures: Cures = serde_json::from_value(document).context("it is no result of brisk suite cures")?;
            known.rows.extend(cures.rows);
            known.crashes.extend(cures.crashes);
            return Ok(true);
        }
        _ => {}
    }
    let read = match brisk_report::parse(KINDS, document.to_string().as_bytes()) {
        // Other results of the laboratory.
        Err(ReadError::UnknownKind { .. }) => return Ok(false),
        read => read?,
    };
    for document in &read {
        if let Some(footprint) = document.get::<FootprintReport>() {
            known.drops.extend(footprint.drops.iter().cloned());
        } else if let Some(slowdown) = document.get::<SlowdownReport>() {
            let found = slowdown.rows.iter().map(|row| row.read_slowdown.median);
            known.read_slowdown = found.chain(known.read_slowdown).filter(|x| x.is_finite()).max_by(f64::total_cmp);
        } else {
            return Ok(false);
        }
    }
    Ok(true)
}

fn text(cures: &[Cure], broken: &[Broken]) -> String {
    let mut text = String::new();
    if cures.is_empty() {
        text.push_str("no cure gains anything by what these documents know\n");
    }
    for (place, cure) in (1..).zip(cures) {
        let gain = match (cure.gain, cure.basis) {
            (Some(gain), Basis::Measured) => format!("{}x, measured", three_digits(gain)),
            (Some(gain), Basis::Bound) => format!("at most {}x, a bound", three_digits(gain)),
            (Some(gain), Basis::Modelled) => format!("at most {}x, modelled", three_digits(gain)),
            (None, _) => "all of it".to_owned(),
        };
        let _ = writeln!(text, "{place}. {}: {gain}: {}", cure.name.replace('_', " "), cure.of);
        let _ = writeln!(text, "   cost: {}; risk: {}", cure.cost, cure.risk);
        if let (Some(apply), Some(undo)) = (&cure.apply, &cure.undo) {
            let _ = writeln!(text, "   apply: {apply}; undo: {undo}");
        }
        if !cure.steps.is_empty() {
            let _ = writeln!(text, "   {}", cure.steps);
        }
    }
    for Broken { name, why } in broken {
        let _ = writeln!(text, "Not advised: {}: a power cut broke what it promises ({why})", name.replace('_', " "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dir: &Path, content: &str) -> PathBuf {
        let path = dir.join("document.json");
        std::fs::write(&path, content).expect("a file");
        path
    }

    #[test]
    fn the_advice_of_an_app_is_read_as_brisk_sync_writes_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let one = "{\"path\":\"/c/x\",\"syncs\":2,\"waited_us\":9000,\"class\":\"cache\",\"reason\":\"r\",\
                   \"gain_us_max\":9000,\"risk\":\"the file\"}";
        let mut known = Evidence::default();
        let advice = format!("{{\"kind\":\"sync_advice\",\"schema_version\":1,\"success\":true,\"files\":[{one}]}}");
        assert_eq!(add(&mut known, &file(dir.path(), &advice)).expect("read"), 1);
        let shown = text(&rank(&known, Some("a.b")), &[]);
        assert!(shown.starts_with("1. selective sync: all of it: 9.0 ms in syncs"), "{shown}");
        assert!(shown.contains("apply: brisk sync on a.b; undo: brisk sync off a.b"), "{shown}");
        let spoilt = advice.replace("9000,\"class\"", "\"x\",\"class\"");
        let refused = add(&mut known, &file(dir.path(), &spoilt)).expect_err("no number");
        assert!(format!("{refused:#}").contains("no advice"), "{refused:#}");
    }

    #[test]
    fn files_that_are_no_documents_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(add(&mut Evidence::default(), &file(dir.path(), "{}")).is_err());
        assert!(add(&mut Evidence::default(), Path::new("/nowhere.json")).is_err());
        assert!(text(&[], &[]).contains("no cure"));
    }
}
