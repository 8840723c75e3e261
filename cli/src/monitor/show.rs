//! `brisk monitor show`: the sessions of a record in a few numbers.

use std::path::Path;
use std::process::ExitCode;

use brisk_core::text::one_line;
use brisk_record::{End, Item, Lost, Session};
use serde::Serialize;

use super::session::{LinesJson, print};
use super::summary::{Collector, OwnCost, Summary};
use super::view::{self, SCHEMA_VERSION};

/// One session as it is read.
#[derive(Default)]
struct Reading {
    session: Option<Session>,
    collector: Collector,
    end: Option<End>,
}

/// Shows the record at `path`.
pub(super) fn run(path: &Path, json: Option<&Path>) -> anyhow::Result<ExitCode> {
    let mut current = Reading::default();
    let mut shown = 0;
    let mut lines_json = LinesJson::open(json, Some(path))?;
    let mut show = |reading: Reading| -> anyhow::Result<()> {
        if reading.session.is_none() && reading.collector.samples() == 0 {
            return Ok(());
        }
        shown += 1;
        if lines_json.is_wanted() {
            lines_json.line(&as_json(&reading)?)?;
        }
        if lines_json.is_printed() { Ok(()) } else { print(&as_text(&reading, shown)).map(drop) }
    };
    let lost = super::read(path, &mut |item| {
        match item {
            // The next file of the same session continues it.
            Item::Session(next) => {
                let goes_on = |session: &Session| {
                    next.part > 0 && session.started_unix_ms == next.started_unix_ms && current.end.is_none()
                };
                if !current.session.as_ref().is_some_and(goes_on) {
                    let next = Reading { session: Some(next), ..Reading::default() };
                    show(std::mem::replace(&mut current, next))?;
                }
            }
            Item::Snapshot(snapshot) => drop(current.collector.add(*snapshot)),
            Item::End(end) => current.end = Some(end),
            _ => {}
        }
        Ok(())
    })?;
    show(current)?;
    if lines_json.is_wanted() {
        lines_json.line(&lost_json(lost)?)?;
    }
    if !lines_json.is_printed() {
        print(
            "Disks are counted by requests and bytes, so sizes are means; a histogram of sizes needs each request to \
             be seen.\n",
        )?;
    }
    Ok(super::report(path, lost))
}

fn own_cost(end: &End, summary: &Summary) -> OwnCost {
    let cpu_percent = if summary.elapsed_s > 0.0 { end.own_cpu_us as f64 / 1e4 / summary.elapsed_s } else { 0.0 };
    OwnCost { cpu_us: end.own_cpu_us, cpu_percent, rss_bytes: end.own_rss_bytes }
}

fn as_text(reading: &Reading, number: u64) -> String {
    let head = reading.session.as_ref().map_or_else(
        || format!("Session {number}: its beginning is lost\n"),
        |session| {
            format!(
                "Session {number}: {}, one sample each {} s\n{}, kernel {}, brisk {}\n",
                view::moment(session.started_unix_ms),
                session.interval_ms as f64 / 1e3,
                one_line(&session.machine),
                one_line(&session.kernel_release),
                one_line(&session.brisk_version),
            )
        },
    );
    let summary = reading.collector.summary();
    let ending = reading.end.as_ref().map(|end| view::Ending {
        missed_samples: end.missed_samples,
        own: own_cost(end, &summary),
        record: None,
    });
    let tail = if ending.is_none() { "The session has no end: it runs still, or was killed.\n\n" } else { "\n" };
    head + &view::summary(&summary, ending.as_ref()) + tail
}

fn as_json(reading: &Reading) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        kind: &'static str,
        schema_version: u32,
        session: Option<&'a Session>,
        #[serde(flatten)]
        summary: Summary,
        end: Option<&'a End>,
    }
    let document = Document {
        kind: "monitor_session",
        schema_version: SCHEMA_VERSION,
        session: reading.session.as_ref(),
        summary: reading.collector.summary(),
        end: reading.end.as_ref(),
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

fn lost_json(lost: Lost) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Document {
        kind: &'static str,
        schema_version: u32,
        #[serde(flatten)]
        lost: Lost,
    }
    Ok(serde_json::to_string(&Document { kind: "monitor_lost", schema_version: SCHEMA_VERSION, lost })? + "\n")
}
