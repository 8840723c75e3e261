//! Three sentences over all documents of a run: the disk, the phones, brisk.

use crate::results::conditions::{IDLE, WRITERS};
use crate::results::{BenchReport, CacheVerdict, Direction, Document, Gain, Pattern, ProveReport, Temperature};
use brisk_core::stats;

use crate::format::{self, list, shorten};
use crate::papers;
use crate::ratio::{Judgement, geometric_mean, judge};
use crate::{apps, opening};

/// Bytes that a text editor with its toolkit reads at a cold start.
const LAUNCH_READ_BYTES: f64 = 35e6;
/// A wait from this on breaks the train of thought (user-perceived latency paper, section 2).
const THOUGHT_S: f64 = 1.0;
/// One frame of a screen of 60 Hz.
const FRAME_US: f64 = 16_667.0;
/// A copy of large files at this rate is no cause for waiting.
const LARGE_FILES_BYTES_PER_S: f64 = 50e6;

/// See [`crate::verdict`].
pub(crate) fn sentences(documents: &[Document]) -> [String; 3] {
    let bench = documents.iter().find_map(|document| match document {
        Document::Bench(bench) => Some(bench.as_ref()),
        _ => None,
    });
    let mut proofs: Vec<&ProveReport> = documents
        .iter()
        .filter_map(|document| match document {
            Document::Prove(proof) => Some(proof.as_ref()),
            _ => None,
        })
        .collect();
    proofs.sort_by_key(|proof| papers::for_preset(&proof.phone.preset).and_then(|phone| phone.year));
    let warnings: usize = documents.iter().map(|document| document.header().warnings.len()).sum();
    [
        bench.map_or_else(|| "The disk of this machine was not measured.".to_owned(), disk),
        phones(&proofs),
        changes(&proofs, warnings as u64),
    ]
}

/// What the disk is good for, and what not, each with its figure.
fn disk(bench: &BenchReport) -> String {
    let name = bench.header.environment.device.as_ref().map_or_else(
        || shorten(&bench.header.environment.path, 60),
        |device| shorten(device.model.as_deref().unwrap_or(&device.name).trim(), 60),
    );
    if matches!(bench.cache.verdict, CacheVerdict::Memory | CacheVerdict::Lying) {
        return format!("What the disk of this machine ({name}) is good for is unknown: {}", bench.cache.text);
    }
    let mut uses: Vec<(bool, String)> = Vec::new();
    let reads = |pattern| {
        let all = bench.jobs.iter().chain(&bench.block_sweep).chain(&bench.depth_sweep);
        all.filter(move |job| job.pattern == pattern && job.direction == Direction::Read)
    };
    let rate = |job: &crate::results::JobResult| job.bandwidth_bytes_per_s.median;
    let fastest = reads(Pattern::Sequential).map(rate).filter(|rate| *rate > 0.0).max_by(f64::total_cmp);
    if let Some(random) =
        reads(Pattern::Random).find(|job| job.depth_requests == 1).map(rate).filter(|rate| *rate > 0.0)
    {
        let slow_s = LAUNCH_READ_BYTES / random;
        let fast_s = fastest.map_or(slow_s, |rate| (LAUNCH_READ_BYTES / rate).min(slow_s));
        let waits = format!(
            "opening apps (a cold start of 35 MB waits {} to {})",
            format::seconds(fast_s),
            format::seconds(slow_s)
        );
        uses.push((slow_s < THOUGHT_S, waits));
    }
    if let Some(sync) = bench.syncs.iter().find(|sync| sync.call == "fsync").or(bench.syncs.first()) {
        let us = sync.latency.p50_us;
        uses.push((us < FRAME_US, format!("databases (a durable write takes {})", format::us(us))));
    }
    if let Some(rate) = fastest {
        uses.push((rate >= LARGE_FILES_BYTES_PER_S, format!("large files ({})", format::bandwidth(rate))));
    }
    let of =
        |good: bool| list(&uses.iter().filter(|(is, _)| *is == good).map(|(_, text)| text.clone()).collect::<Vec<_>>());
    match (of(true), of(false)) {
        (good, bad) if good.is_empty() && bad.is_empty() => {
            format!("The benchmark of this machine's disk ({name}) has no figures.")
        }
        (good, bad) if bad.is_empty() => format!("The disk of this machine ({name}) is good for {good}."),
        (good, bad) if good.is_empty() => format!("The disk of this machine ({name}) is too slow for {bad}."),
        (good, bad) => format!("The disk of this machine ({name}) is good for {good}, and slow for {bad}."),
    }
}

/// A phone as people know it: `Samsung Galaxy S5 of 2014`.
fn phone(proof: &ProveReport) -> String {
    match papers::for_preset(&proof.phone.preset) {
        Some(known) => {
            let year = known.year.map_or_else(String::new, |year| format!(" of {year}"));
            format!("{}{year}", known.name())
        }
        None => shorten(proof.phone.preset.trim(), 40),
    }
}

/// How long apps take to open on each phone, and how much longer while something writes.
fn phones(proofs: &[&ProveReport]) -> String {
    let of = |proof: &&ProveReport| {
        let at = |condition, app| apps::settled_ms(app, condition, Temperature::Cold);
        let times: Vec<f64> = proof.apps.iter().filter_map(|app| at(IDLE, app)).collect();
        let (least, most) = times.iter().fold((f64::INFINITY, 0.0f64), |(l, m), v| (l.min(*v), m.max(*v)));
        if times.is_empty() {
            return None;
        }
        let (least, most) = (format::ms(least), format::ms(most));
        let range = if least == most { most } else { format!("{least} to {most}") };
        let slower = geometric_mean(proof.apps.iter().filter_map(|app| Some(at(WRITERS, app)? / at(IDLE, app)?)));
        let load = opening::load_words(&proof.conditions, WRITERS);
        let slower = match slower {
            Some((mean, _)) if mean > 1.0 => format!(" ({} times as long {load})", format::number(mean)),
            Some(_) => format!(" (no slower {load})"),
            None => String::new(),
        };
        Some(format!("an emulated {} opens apps in {range}{slower}", phone(proof)))
    };
    let found: Vec<String> = proofs.iter().filter_map(of).collect();
    if found.is_empty() {
        return "No app was opened on an emulated phone: brisk prove does that, and needs CAP_SYS_ADMIN for mounts and block devices.".to_owned();
    }
    format!("{}.", format::sentence(&list(&found)))
}

/// What brisk changes on each phone: with the load, without it, and every regression.
fn changes(proofs: &[&ProveReport], warnings: u64) -> String {
    let warnings = match warnings {
        0 => String::new(),
        n => format!("; {} to read with it", format::plural(n, "warning")),
    };
    let mean = |proof: &ProveReport, of: fn(&Gain) -> Option<f64>| {
        geometric_mean(proof.gains.iter().filter_map(of)).map(|(mean, _)| mean)
    };
    let on = |proof: &&ProveReport, ratio: f64| {
        let word = if ratio <= 1.0 { "less" } else { "more" };
        format!("{} {word} on the {}", format::share((1.0 - ratio).abs(), 1.0), phone(proof))
    };
    let all = |of: fn(&Gain) -> Option<f64>| -> Vec<String> {
        proofs.iter().filter_map(|proof| Some(on(proof, mean(proof, of)?))).collect()
    };
    let loaded = all(|gain| Some(gain.loaded_ratio.as_ref()?.median));
    let idle = all(|gain| Some(gain.idle_ratio.as_ref()?.median));
    if loaded.is_empty() && idle.is_empty() {
        return format!("What brisk changes was not measured: no proof is among the documents{warnings}.");
    }
    let mut loads: Vec<&str> = proofs.iter().map(|proof| opening::load_words(&proof.conditions, WRITERS)).collect();
    loads.dedup();
    let load = if let [one] = loads[..] { one } else { "with background writes" };
    let mut parts = Vec::new();
    if !loaded.is_empty() {
        parts.push(format!("{load}, the time to open an app with brisk is {}", list(&loaded)));
    }
    if !idle.is_empty() {
        parts.push(format!("without load {}", list(&idle)));
    }
    let regressed = |proof: &&ProveReport| -> Vec<String> {
        let longer =
            |ratio: &Option<stats::Summary>| ratio.as_ref().is_some_and(|ratio| judge(ratio) == Judgement::Longer);
        let worse = proof.gains.iter().filter(|gain| longer(&gain.loaded_ratio) || longer(&gain.idle_ratio));
        worse.map(|gain| apps::shown(&gain.app)).collect()
    };
    let mut regressed: Vec<String> = proofs.iter().flat_map(regressed).collect();
    regressed.sort_unstable();
    regressed.dedup();
    parts.push(if regressed.is_empty() {
        "no app regressed".to_owned()
    } else {
        format!("regressed: {}", list(&regressed))
    });
    format!("{}{warnings}.", format::sentence(&parts.join("; ")))
}
