//! What a decision of the memory engine costs, by number of apps: `cargo run --release -p brisk-daemon --example iram_cost`.
//!
//! All engines' way through arbiter included. The median of many decisions is printed, never compared: a loaded machine takes longer.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::collections::BTreeMap;
use std::time::Instant;

use brisk_core::app::{App, AppFacts, Role, classify};
use brisk_core::decision::Observed;
use brisk_core::event::{Event, EventKind};
use brisk_core::knob::GroupSetting;
use brisk_core::snapshot::{AppTotals, MemoryLevels, Snapshot};
use brisk_core::survey::Topic;
use brisk_daemon::config::Config;
use brisk_daemon::engines::Engines;

const MIB: u64 = 1 << 20;
const ROUNDS: u64 = 60;

fn main() {
    println!(
        "{:>6} {:>14} {:>14} {:>14} {:>14} {:>12}",
        "apps", "calm us", "short us", "launch us", "survey us", "learned KiB"
    );
    for count in [10, 100, 1_000, 5_000] {
        let [calm_us, short_us, launch_us, survey_us, learned_kib] = measure(count);
        println!("{count:>6} {calm_us:>14} {short_us:>14} {launch_us:>14} {survey_us:>14} {learned_kib:>12}");
    }
}

fn apps(count: usize) -> Vec<App> {
    let app = |number: usize| {
        classify(&AppFacts {
            group: format!("app-org.example.App{number}-{number}.scope"),
            id: format!("org.example.App{number}"),
            of_user: true,
            role: Role::App,
            focused: Some(number == 0),
            offers: vec![GroupSetting::MemoryHigh, GroupSetting::MemoryLow],
            ..AppFacts::default()
        })
    };
    (0..count).map(app).collect()
}

/// Medians in us of decisions while nothing is short, while memory is, and while an app is launched, and of an answer to `brisk apps`;
/// size of what is learned in KiB.
fn measure(count: usize) -> [u64; 5] {
    let config = Config::parse("[engines]\norder = [\"iram\"]\n").expect("usable");
    let (mut engines, _) = Engines::new(&config, &BTreeMap::new());
    let mut apps = apps(count);
    let totals = |(number, app): (usize, &App)| AppTotals {
        name: app.group.clone(),
        memory_bytes: Some((20 + number as u64 % 200) * MIB),
        anon_bytes: Some((10 + number as u64 % 100) * MIB),
        swap_bytes: Some(0),
        ..AppTotals::default()
    };
    let mut now = Snapshot { apps: apps.iter().enumerate().map(totals).collect(), ..Snapshot::default() };
    now.wall_unix_ms = 1_795_312_800_000;
    let mut previous = now.clone();
    let mut decide = |apps: &[App], available_mib: u64, kind: Option<EventKind>| {
        previous.clone_from(&now);
        now.at_ns += 1_000_000_000;
        now.wall_unix_ms += 1_000;
        now.memory = MemoryLevels {
            total_bytes: 4_000 * MIB,
            available_bytes: Some(available_mib * MIB),
            swap_total_bytes: 4_000 * MIB,
            swap_free_bytes: 3_000 * MIB,
            ..MemoryLevels::default()
        };
        let events: Vec<Event> = kind.into_iter().map(|kind| Event { at_ns: now.at_ns, kind }).collect();
        let observed = Observed { previous: Some(&previous), now: &now, events: &events, devices: &[], apps };
        let begun = Instant::now();
        std::hint::black_box(engines.decide(&config, &observed));
        u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    };
    let focused = |number: u64, apps: &[App]| {
        // A person uses few of many apps.
        let group = apps[(number * number % 37) as usize % apps.len()].group.clone();
        Some(EventKind::Focused { group })
    };
    for number in 0..200 {
        decide(&apps, 2_000, focused(number, &apps));
    }
    let calm_us = median((0..ROUNDS).map(|number| decide(&apps, 2_000, focused(number, &apps))).collect());
    let short_us = median((0..ROUNDS).map(|_| decide(&apps, 100, None)).collect());
    apps[count / 2].launching = true;
    let launch_us = median((0..ROUNDS).map(|_| decide(&apps, 2_000, None)).collect());
    let observed = Observed { previous: Some(&previous), now: &now, events: &[], devices: &[], apps: &apps };
    let survey = |_| {
        let begun = Instant::now();
        std::hint::black_box(engines.show(Topic::Memory(&observed)).count());
        u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    };
    let survey_us = median((0..ROUNDS).map(survey).collect());
    let learned_bytes: usize = engines.learned().values().map(String::len).sum();
    [calm_us, short_us, launch_us, survey_us, learned_bytes as u64 >> 10]
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}
