//! What is compared of launches: of one app, of the apps of a suite, and of the writers beside them.

use brisk_core::units::format_bytes;

use crate::results::{Condition, LaunchRun, LaunchSet, PhoneFacts, ScreenFacts, Stage, SuiteApp};
use crate::study::shown::sets;
use brisk_report::declare::*;
use brisk_report::format;

/// All stages of one app.
pub(crate) const STAGES: [Stage; 5] =
    [Stage::FirstProcess, Stage::FirstWindow, Stage::FirstFrame, Stage::Settled, Stage::Idle];

/// What counts where apps are many: that something shows, and that the screen is final.
pub(crate) const STAGES_OF_MANY: [Stage; 2] = [Stage::FirstWindow, Stage::Settled];

/// The launches of a set, with each run.
pub(crate) fn launches(app: &str, set: &LaunchSet, among: &[LaunchSet], stages: &[Stage]) -> Row {
    // A single condition may have the app's command as its label.
    let condition = if among.iter().all(|other| other.label == set.label) { "" } else { &set.label };
    let row = Row::at(APP, app.trim())
        .by(START, sets::temperature(set.temperature))
        .by(CONDITION, condition.trim().replace('_', " "));
    // Without a screen the end of the work counts.
    let headless = set.stage(Stage::Settled).is_none().then_some(Stage::Idle).filter(|idle| !stages.contains(idle));
    stages
        .iter()
        .copied()
        .chain(headless)
        .fold(row, |row, stage| row.put(sets::stage(stage), sets::runs_at(set, |run| run.at_ms(stage))))
}

/// What one app's launches took besides stages.
pub(crate) fn costs(row: Row, set: &LaunchSet) -> Row {
    let read = |run: &LaunchRun| run.storage.as_ref().map(|storage| storage.read.bytes as f64);
    row.put(SETTLED_LESS_CPU_WAIT, sets::runs_at(set, |run| run.settled_less_cpu_wait_ms))
        .put(READ_FROM_STORAGE, sets::runs_at(set, read))
}

pub(crate) fn screen(screen: &ScreenFacts) -> (&'static str, String) {
    let (width, height) = screen.size_px;
    ("Screen", format!("{}, {width} x {height}", screen.protocol))
}

/// The phone, as far as it is not named after its preset.
pub(crate) fn phone(phone: &PhoneFacts) -> Facts {
    let or_unknown = |known: Option<String>| known.unwrap_or_else(|| "unknown".to_owned());
    vec![
        ("Scheduler of the phone", or_unknown(phone.scheduler.clone())),
        ("Requests at once", or_unknown(phone.driver_tags.map(|tags| tags.to_string()))),
        ("Size of the phone", format_bytes(phone.size_bytes)),
        ("File system of the phone", phone.file_system.clone()),
        ("Brisk", phone.virtual_time.as_ref().map(|of| of.brisk.clone()).unwrap_or_default()),
    ]
}

/// All launches of many apps.
pub(crate) fn suite(apps: &[SuiteApp]) -> impl Iterator<Item = Row> {
    apps.iter().flat_map(|app| app.sets.iter().map(move |set| launches(&app.name, set, &app.sets, &STAGES_OF_MANY)))
}

/// What the writers of the conditions reached.
pub(crate) fn writers(conditions: &[Condition]) -> impl Iterator<Item = Row> {
    conditions.iter().filter_map(|condition| {
        let writer = condition.writer.as_ref()?;
        let row = Row::at(CONDITION, sets::label_words(&condition.name));
        let row = row.put(BACKGROUND_WRITES, writer.reached_bytes_per_s);
        Some(row.put(BACKGROUND_SYNCS, writer.syncs_per_s))
    })
}

/// The load that each condition aims at.
pub(crate) fn background_load(conditions: &[Condition]) -> (&'static str, String) {
    let loads: Vec<String> = conditions
        .iter()
        .filter_map(|condition| {
            let writer = condition.writer.as_ref()?;
            let target = format::bandwidth(writer.target_bytes_per_s);
            Some(format!("{}: {}, {target}", sets::label_words(&condition.name), writer.text.trim()))
        })
        .collect();
    ("Background load", loads.join("; "))
}
