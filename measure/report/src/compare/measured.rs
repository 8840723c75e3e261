//! What of each kind of document is compared: tidy rows of independent measures, and what has to be alike.
//!
//! A row names a place by what was asked for (load, depth, app, condition), never by what was found, so that rows of two
//! documents join. Measures that say the same in another form (throughput and requests a second of one load) are there once:
//! each further one takes power from all others ([`super::false_alarms`]). Where a document has the single runs, they are the
//! value; else its summary.

mod apps;
mod cures;
mod day;
mod heap;
mod hunt;
mod kernel;
mod memory;
mod prediction;
mod storage;
mod swap;

use brisk_results::{Better, Document};

use crate::rows::{BANDWIDTH, BYTES, COUNT, MS, NUMBER, PERCENT, Row, S, TIMES, US, Unit};
use crate::section::Facts;

/// What of a kind of document is compared.
pub(super) trait Measured {
    /// A row for each place of the study, with the measures of [`MEASURES`].
    fn measured(&self) -> Vec<Row>;

    /// How it was measured, as far as that changes what is found: budget, sizes, commands. Where two conditions differ in it,
    /// their ratios are doubtful.
    fn mode(&self) -> Facts;

    /// On what it was measured, beyond the head of the document: what two conditions may be meant to differ in.
    fn setting(&self) -> Facts {
        Facts::new()
    }
}

/// See [`Measured::measured`].
pub(crate) fn rows(document: &Document) -> Vec<Row> {
    brisk_results::with_report!(document, report => report.measured())
}

/// See [`Measured::mode`].
pub(super) fn mode(document: &Document) -> Facts {
    brisk_results::with_report!(document, report => report.mode())
}

/// See [`Measured::setting`].
pub(super) fn setting(document: &Document) -> Facts {
    brisk_results::with_report!(document, report => report.setting())
}

/// A measure: its unit in documents, and which way it improves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    /// Its name in rows.
    pub(crate) name: &'static str,
    /// Its unit in documents.
    pub(crate) unit: &'static str,
    /// Which way it improves.
    pub(crate) better: Better,
}

const fn lower(name: &'static str, unit: &'static str) -> Measure {
    Measure { name, unit, better: Better::Lower }
}

const fn higher(name: &'static str, unit: &'static str) -> Measure {
    Measure { name, unit, better: Better::Higher }
}

const fn neither(name: &'static str, unit: &'static str) -> Measure {
    Measure { name, unit, better: Better::Neither }
}

/// All measures that are compared.
pub(super) const MEASURES: &[Measure] = &[
    // Storage.
    higher("throughput", "bytes_per_s"),
    higher("write throughput", "bytes_per_s"),
    higher("transactions/s", "per_s"),
    lower("mean latency", "us"),
    lower("p50 latency", "us"),
    lower("p99 latency", "us"),
    lower("longest latency", "us"),
    lower("read latency", "us"),
    lower("p99 read latency", "us"),
    lower("write latency", "us"),
    lower("longest write", "us"),
    lower("latency alone", "us"),
    lower("latency among peers", "us"),
    lower("latency in mixed load", "us"),
    lower("slowdown", "ratio"),
    lower("CPU/request", "us"),
    lower("serial time", "s"),
    lower("concurrent time", "s"),
    higher("speed-up", "ratio"),
    lower("time of the mix", "s"),
    lower("time of a job", "s"),
    lower("energy", "uj"),
    lower("energy/request", "uj"),
    neither("CPUs busy", "percent"),
    neither("requests/s", "per_s"),
    // Apps.
    lower("first process", "ms"),
    lower("first window", "ms"),
    lower("first frame", "ms"),
    lower("settled", "ms"),
    lower("idle", "ms"),
    lower("settled less CPU wait", "ms"),
    lower("read from storage", "bytes"),
    lower("latency", "ms"),
    lower("first change", "ms"),
    lower("time of all events", "ms"),
    lower("with brisk over without", "ratio"),
    // A day of use.
    lower("sum of waits", "ms"),
    lower("median wait", "ms"),
    lower("switches to killed apps", "ratio"),
    lower("processor time", "ms"),
    lower("programmed", "bytes"),
    // Swapping.
    lower("mean swap-in latency", "ms"),
    lower("longest swap-in latency", "ms"),
    lower("wait of a launch", "ms"),
    lower("return to an app", "ms"),
    lower("written to storage", "bytes"),
    lower("read in", "bytes"),
    lower("written out", "bytes"),
    higher("read in sequence", "bytes"),
    // Memory.
    higher("memory available", "bytes"),
    lower("most heap", "bytes"),
    higher("starts", "percent"),
    lower("resident, by share", "bytes"),
    lower("used in a second", "bytes"),
    lower("heap touched by a return", "bytes"),
    lower("files touched by a return", "bytes"),
    lower("time of a return", "ms"),
    higher("time covered", "percent"),
    lower("head-room", "percent"),
    lower("error of predictions", "bytes"),
    // Cures of slow storage.
    lower("run time", "s"),
    // The hunt.
    higher("loads that hold", "percent"),
    // Prediction.
    higher("launches predicted by nine apps", "percent"),
    lower("calibration error", "percent"),
    lower("time of an update", "us"),
    neither("background writes", "bytes_per_s"),
    neither("background syncs", "per_s"),
];

/// The measure of that name.
pub(crate) fn measure(name: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.name == name)
}

/// How values of a unit read.
pub(crate) fn unit(name: &str) -> Unit {
    match name {
        "us" => US,
        "ms" => MS,
        "s" => S,
        "bytes" => BYTES,
        "bytes_per_s" => BANDWIDTH,
        "per_s" => COUNT,
        "uj" => ENERGY,
        "ratio" => TIMES,
        "percent" => PERCENT,
        _ => NUMBER,
    }
}

/// Microjoules.
const ENERGY: Unit = Unit { show: energy, tick: crate::format::tick };

fn energy(uj: f64) -> String {
    let number = crate::format::number;
    match uj.abs() {
        large if large >= 1e6 => format!("{} J", number(uj / 1e6)),
        middle if middle >= 1e3 => format!("{} mJ", number(uj / 1e3)),
        _ => format!("{} uJ", number(uj)),
    }
}
