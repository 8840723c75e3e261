//! The verdict over a run: how apps open on the phones, and what brisk changes there.

use crate::results::conditions::{IDLE, WRITERS};
use crate::results::{Gain, ProveReport, Temperature};
use brisk_core::stats;
use brisk_report::format::{self, list, shorten};
use brisk_report::papers;
use brisk_report::ratio::{Judgement, geometric_mean, judge};

use crate::study::shown::facts::{idle_words, phone_of_year};
use crate::study::shown::{apps, opening};

/// The sentences of all proofs of a run with so many warnings.
pub(super) fn sentences(proofs: &[&ProveReport], warnings: u64) -> Vec<String> {
    let mut proofs = proofs.to_vec();
    proofs.sort_by_key(|proof| papers::for_preset(&proof.phone.preset).and_then(|phone| phone.year));
    vec![phones(&proofs), changes(&proofs, warnings)]
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
        Some(format!("an emulated {} opens apps in {range}{slower}", phone_of_year(&proof.phone.preset)))
    };
    let found: Vec<String> = proofs.iter().filter_map(of).collect();
    if found.is_empty() {
        return "No app was opened on an emulated phone: brisk phone launch does that, in a source tree of brisk."
            .to_owned();
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
        format!("{} {word} on the {}", format::share((1.0 - ratio).abs(), 1.0), phone_of_year(&proof.phone.preset))
    };
    let all = |of: fn(&Gain) -> Option<f64>| -> Vec<String> {
        proofs.iter().filter_map(|proof| Some(on(proof, mean(proof, of)?))).collect()
    };
    let loaded = all(|gain| Some(gain.loaded_ratio.as_ref()?.median));
    // Each way in which nothing else disturbed the launches; those after a start, as people do it, go first.
    let mut idle: Vec<(bool, String, Vec<String>)> = Vec::new();
    for proof in proofs {
        let Some(ratio) = mean(proof, |gain| Some(gain.idle_ratio.as_ref()?.median)) else { continue };
        let words = idle_words(&proof.phone);
        let is_plain = proof.phone.virtual_time.as_ref().is_none_or(|of| of.after_start_s.is_none());
        match idle.iter_mut().find(|(_, of, _)| *of == words) {
            Some((.., found)) => found.push(on(proof, ratio)),
            None => idle.push((is_plain, words, vec![on(proof, ratio)])),
        }
    }
    if loaded.is_empty() && idle.is_empty() {
        return format!("What brisk changes was not measured: no proof is among the documents{warnings}.");
    }
    let mut loads: Vec<&str> = proofs.iter().map(|proof| opening::load_words(&proof.conditions, WRITERS)).collect();
    loads.dedup();
    let load = if let [one] = loads[..] { one } else { "with background writes" };
    let mut parts = Vec::new();
    let mut say = |when: &str, changes: &[String]| {
        let opened = if parts.is_empty() { ", the time to open an app with brisk is" } else { "" };
        parts.push(format!("{when}{opened} {}", list(changes)));
    };
    let (plain, started): (Vec<_>, Vec<_>) = idle.iter().partition(|(is_plain, ..)| *is_plain);
    started.iter().for_each(|(_, when, changes)| say(when, changes));
    if !loaded.is_empty() {
        say(load, &loaded);
    }
    plain.iter().for_each(|(_, when, changes)| say(when, changes));
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
    let mut ran: Vec<&str> =
        proofs.iter().filter_map(|proof| Some(proof.phone.virtual_time.as_ref()?.brisk.trim())).collect();
    ran.dedup();
    if let [ran] = ran[..]
        && !ran.is_empty()
    {
        parts.push(format!("brisk ran {}", shorten(ran, 200)));
    }
    format!("{}{warnings}.", format::sentence(&parts.join("; ")))
}
