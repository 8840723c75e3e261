//! What a launch comes to, in sentences: the time and its parts, and every reason to doubt them.

use crate::results::{Cause, Ending, LaunchComparison, LaunchReport, LaunchSet, Stage, Temperature};

use super::reads;
use crate::study::shown::{endings, sets};
use brisk_report::format::shorten;
use brisk_report::ratio::Judgement;
use brisk_report::{causes, format, ratio};

/// Waiting for a processor is worth a sentence from this share of the time on.
const CPU_WAIT_SHARE: f64 = 0.05;
/// Of what was in memory, so much may stay for a launch to count as cold.
const STAYED_SHARE: f64 = 0.05;
/// Resolution of the end of work from which on it is reported.
const RESOLUTION_MS: f64 = 2.0;
/// Cost of monitoring from which on it is reported, in percent of one core.
const WATCH_PERCENT: f64 = 1.0;

/// The sentences, most important first.
pub(super) fn verdict(report: &LaunchReport) -> Vec<String> {
    let app = shorten(report.app.trim(), 40);
    let mut said = Vec::new();
    let mut first: Option<&LaunchSet> = None;
    for set in &report.sets {
        let Some((stage, at)) = sets::end(set) else { continue };
        let name = format::sentence(&sets::name(set, &report.sets));
        let parts = set.split.as_ref().and_then(causes::sentence).map_or_else(String::new, |p| format!(": {p}"));
        said.push(match first {
            None => {
                // A set is called by the app where that is what differs.
                let subject = if format::has_words(&name, &app) { name } else { format!("{name}, {app}") };
                format!("{subject} {} {}{parts}.", words(stage, set), format::ms(at.median))
            }
            Some(first) => {
                let less = against(report, first, set).map_or_else(String::new, |less| format!(", {less}"));
                let it = if name.contains(',') { ": it" } else { ", it" };
                format!("{name}{it} {} {}{less}{parts}.", words(stage, set), format::ms(at.median))
            }
        });
        first = first.or(Some(set));
    }
    if said.is_empty() {
        let runs: usize = report.sets.iter().map(|s| s.runs.len()).sum();
        said.push(if runs == 0 {
            format!("Nothing was measured: the document has no launch of {app}.")
        } else {
            format!("No launch of {app} got as far as running its program.")
        });
    }
    let first_lines: Vec<&LaunchComparison> = first.map_or_else(Vec::new, |first| {
        report.sets.iter().filter_map(|set| of_temperatures(report, first, set)).collect()
    });
    for comparison in report.comparisons.iter().filter(|c| !first_lines.contains(c)) {
        let (one, base) = sets::sides(comparison);
        said.push(format!("{}.", format::sentence(&ratio::sentence(&one, &base, &comparison.settled_ratio))));
    }
    said.extend(first.and_then(window));
    said.extend(cpu_wait(report));
    said.extend(first.and_then(|set| read(report, set)));
    said.extend(cold(report, true));
    said
}

/// Every reason to doubt them.
pub(super) fn cautions(report: &LaunchReport) -> Vec<String> {
    let mut said: Vec<String> = report.sets.iter().flat_map(|set| doubts(report, set)).collect();
    said.extend(resolution(report));
    said.extend(cold(report, false));
    said.extend(causes::all_lost(report.sets.iter().filter_map(|s| s.split.as_ref()), ""));
    let timed = || report.sets.iter().filter(|set| sets::end(set).is_some());
    if timed().next().is_some() && timed().all(|set| set.split.is_none()) {
        said.push("There is no split of the time into its causes.".to_owned());
    }
    said.extend(watching(report));
    said
}

/// What an app has done at the moment that counts.
fn words(stage: Stage, set: &LaunchSet) -> &'static str {
    let ended = || set.runs.iter().all(|run| matches!(run.ending, Ending::Exited { .. }));
    match stage {
        Stage::Idle if ended() => "ends after",
        Stage::Settled => "settles after",
        Stage::Idle => "has done its work after",
        Stage::FirstFrame => "never settles; it draws first after",
        Stage::FirstWindow => "never draws; it shows a window after",
        Stage::FirstProcess => "shows no window; its program runs after",
    }
}

/// The comparison of a set with the same label at another temperature, where there is one.
fn of_temperatures<'a>(report: &'a LaunchReport, first: &LaunchSet, set: &LaunchSet) -> Option<&'a LaunchComparison> {
    let (word, base) = (sets::temperature(set.temperature), sets::temperature(first.temperature));
    report.comparisons.iter().find(|c| first.label == set.label && c.label == word && c.base == base)
}

/// How much less, or more, the same label takes at another temperature: by pairs of launches where the document has
/// them, else by the medians.
fn against(report: &LaunchReport, first: &LaunchSet, set: &LaunchSet) -> Option<String> {
    let ((stage, base), (same, at)) = (sets::end(first)?, sets::end(set)?);
    if stage != same || first.label != set.label || first.temperature == set.temperature {
        return None;
    }
    let cold = sets::temperature(first.temperature);
    let (saved, seen) = match of_temperatures(report, first, set) {
        Some(comparison) => {
            let saved = ratio::saved_percent(&comparison.settled_ratio);
            let seen = matches!(ratio::judge(&comparison.settled_ratio), Judgement::Shorter | Judgement::Longer);
            (saved.median, seen)
        }
        None => ((1.0 - at.median / base.median) * 100.0, format::seem_apart(base, at)),
    };
    if !seen {
        return Some(format!("no significant difference to {cold}"));
    }
    let word = if saved > 0.0 { "less" } else { "more" };
    Some(format!("{} {word} than {cold}", format::share(saved.abs(), 100.0)))
}

/// Endings that are not settled, and runs far from the others.
fn doubts(report: &LaunchReport, set: &LaunchSet) -> Vec<String> {
    let name = sets::name(set, &report.sets);
    // Without a screen a program is expected to end, or to be idle.
    let is_expected = |ending: &Ending| {
        let ends = [Ending::Headless, Ending::Exited { code: Some(0), signal: None }].contains(ending);
        report.idle_limit_ms.is_some() && ends
    };
    let endings = set.runs.iter().map(|run| &run.ending);
    let mut said = match set.runs.iter().all(|run| is_expected(&run.ending)) {
        true => Vec::new(),
        false => endings::sentences("launch", &format!("({name})"), endings),
    };
    let far: Vec<String> = set
        .runs
        .iter()
        .filter(|run| run.outlier)
        .map(|run| {
            run.at_ms(Stage::Settled).or(run.at_ms(Stage::Idle)).map_or_else(|| "no time".to_owned(), format::ms)
        })
        .collect();
    if !far.is_empty() {
        said.push(format!(
            "{} of {} launches ({name}) {} ({}): shown, and part of all figures.",
            far.len(),
            set.runs.len(),
            if far.len() == 1 { "is an outlier" } else { "are outliers" },
            format::list(&far)
        ));
    }
    said
}

/// The coarsest resolution of the end of work; `None` where it is not known.
pub(super) fn resolution_ms(report: &LaunchReport) -> Option<f64> {
    let idle = report.sets.iter().flat_map(|set| &set.runs).flat_map(|run| &run.stages);
    idle.filter(|time| time.stage == Stage::Idle).filter_map(|time| time.resolution_ms).reduce(f64::max)
}

/// How exactly the end of work is known, where that may matter.
fn resolution(report: &LaunchReport) -> Option<String> {
    report.idle_limit_ms?;
    let resolution_ms = resolution_ms(report).filter(|ms| *ms >= RESOLUTION_MS)?;
    Some(format!("The end of work may be up to {} earlier: it comes from samples.", format::ms(resolution_ms)))
}

/// What a first window is worth.
fn window(set: &LaunchSet) -> Option<String> {
    let (window, settled) = (set.stage(Stage::FirstWindow)?, set.stage(Stage::Settled)?);
    (settled.median > window.median * 1.1).then(|| {
        format!(
            "The first window appears after {}, the screen is final {} later.",
            format::ms(window.median),
            format::ms(settled.median - window.median)
        )
    })
}

/// What the times are without the wait for a processor, where that wait is long.
fn cpu_wait(report: &LaunchReport) -> Option<String> {
    let parts: Vec<String> = report
        .sets
        .iter()
        .filter_map(|set| {
            let split = set.split.as_ref()?;
            let (less, settled) = (set.settled_less_cpu_wait_ms.as_ref()?, set.stage(Stage::Settled)?);
            (split.time_ms(Cause::CpuWait)? / split.wall_ms >= CPU_WAIT_SHARE).then(|| {
                format!(
                    "{} {}, spread {} instead of {}",
                    sets::name(set, &report.sets),
                    format::ms(less.median),
                    format::variation(less),
                    format::variation(settled)
                )
            })
        })
        .collect();
    (!parts.is_empty()).then(|| format!("Less the wait for a processor: {}.", parts.join("; ")))
}

fn read(report: &LaunchReport, set: &LaunchSet) -> Option<String> {
    let storage = reads::middle(set)?;
    let name = format::sentence(&sets::name(set, &report.sets));
    if storage.read.requests == 0 {
        return Some(format!("{name}, it reads nothing from the storage."));
    }
    // The medians that the table has; what is in sequence, and of which files, is that of a run in the middle.
    let median = |of: fn(&crate::results::StorageUse) -> u64| {
        sets::over_runs(set, |run| run.storage.as_ref().map(|s| of(s) as f64)).map_or(f64::NAN, |all| all.median)
    };
    Some(format!(
        "{name}, it reads {} in {} requests, {} of them in sequence, of {}.",
        format::bytes(median(|storage| storage.read.bytes)),
        format::tally(median(|storage| storage.read.requests)),
        reads::sequential(&storage.read),
        format::plural(storage.files_count, "file")
    ))
}

/// Of which cold launches it is verified that they were cold, or of which it is not; sets of which the same is to be
/// said share a sentence.
fn cold(report: &LaunchReport, verified: bool) -> Vec<String> {
    let mut found: Vec<(&str, String, Vec<String>)> = Vec::new();
    for set in report.sets.iter().filter(|set| set.temperature == Temperature::Cold) {
        let Some((how, evidence)) = coldness(set).filter(|(how, _)| (*how == VERIFIED) == verified) else { continue };
        let name = sets::name(set, &report.sets);
        match found.iter_mut().find(|(same, text, _)| *same == how && *text == evidence) {
            Some((_, _, names)) => names.push(name),
            None => found.push((how, evidence, vec![name])),
        }
    }
    found
        .into_iter()
        .map(|(how, evidence, names)| match names.as_slice() {
            [only] if !only.contains(',') => format!("{how}: {evidence}."),
            names => format!("{how} ({}): {evidence}.", names.join("; ")),
        })
        .collect()
}

/// The judgement that is no reason for doubt.
const VERIFIED: &str = "Cold is verified";

/// A judgement and its evidence.
fn coldness(set: &LaunchSet) -> Option<(&'static str, String)> {
    let unchecked = set.runs.iter().filter(|run| run.cold.is_none()).count();
    if unchecked > 0 {
        return Some((
            "Cold is not verified",
            format!("for {unchecked} of {} launches it is unknown what was in memory", set.runs.len()),
        ));
    }
    let check = reads::worst(set)?;
    let (before, stayed) = (check.cached_before_bytes as f64, check.cached_after_bytes as f64);
    let files = format::plural(check.files, "file");
    if stayed == 0.0 {
        return Some((VERIFIED, format!("nothing of the app's {files} stayed in memory")));
    }
    let why = check.stayed.first().map_or_else(String::new, |file| {
        format!(", most of {} ({})", shorten(&file.path, 60), shorten(&file.reason, 60))
    });
    let evidence = format!(
        "of {} in memory of the app's {files}, {} stayed there{why}",
        format::bytes(before),
        format::bytes(stayed)
    );
    Some((if stayed <= STAYED_SHARE * before { VERIFIED } else { "Not wholly cold" }, evidence))
}

/// What monitoring cost, when it is not negligible.
fn watching(report: &LaunchReport) -> Option<String> {
    let all = || report.sets.iter().flat_map(|s| &s.runs).map(|r| r.watch_cpu_percent).filter(|p| p.is_finite());
    let most = all().fold(0.0, f64::max);
    (most > WATCH_PERCENT)
        .then(|| format!("Monitoring took up to {} of one core, which is part of the figures.", format::percent(most)))
}
