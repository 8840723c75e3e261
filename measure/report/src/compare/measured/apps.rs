//! Launches, answers to input, and what runs many of them: the suite, what-if and the proof.

use brisk_core::units::format_bytes;
use brisk_results::prove::conditions;
use brisk_results::{
    Condition, Gain, LatencyReport, LatencyRun, LatencyStep, LaunchReport, LaunchRun, LaunchSet, PhoneFacts, ProveJobs,
    ProveReport, ScreenFacts, Stage, SuiteApp, SuiteReport, WhatIfReport,
};

use super::{ENERGY, Measured};
use crate::rows::{BANDWIDTH, BYTES, COUNT, MS, Row, TIMES, US};
use crate::section::Facts;
use crate::svg::dots::Run;
use crate::{chart, format, sets};

/// All stages of one app.
const STAGES: [Stage; 5] = [Stage::FirstProcess, Stage::FirstWindow, Stage::FirstFrame, Stage::Settled, Stage::Idle];

/// What counts where apps are many: that something shows, and that the screen is final.
const STAGES_OF_MANY: [Stage; 2] = [Stage::FirstWindow, Stage::Settled];

/// The launches of a set, with each run.
fn launches(app: &str, set: &LaunchSet, among: &[LaunchSet], stages: &[Stage]) -> Row {
    // A single condition may have the app's command as its label.
    let condition = if among.iter().all(|other| other.label == set.label) { "" } else { &set.label };
    let row = Row::at("app", app.trim())
        .by("start", sets::temperature(set.temperature))
        .by("condition", condition.trim().replace('_', " "));
    // Without a screen the end of the work counts.
    let headless = set.stage(Stage::Settled).is_none().then_some(Stage::Idle).filter(|idle| !stages.contains(idle));
    stages
        .iter()
        .copied()
        .chain(headless)
        .fold(row, |row, stage| row.put(sets::stage_words(stage), MS, sets::runs_at(set, |run| run.at_ms(stage))))
}

/// What one app's launches took besides stages.
fn costs(row: Row, set: &LaunchSet) -> Row {
    let read = |run: &LaunchRun| run.storage.as_ref().map(|storage| storage.read.bytes as f64);
    row.put("settled less CPU wait", MS, sets::runs_at(set, |run| run.settled_less_cpu_wait_ms)).put(
        "read from storage",
        BYTES,
        sets::runs_at(set, read),
    )
}

fn screen(screen: &ScreenFacts) -> (&'static str, String) {
    let (width, height) = screen.size_px;
    ("Screen", format!("{}, {width} x {height}", screen.protocol))
}

/// The phone, as far as it is not named after its preset.
pub(super) fn phone(phone: &PhoneFacts) -> Facts {
    let or_unknown = |known: Option<String>| known.unwrap_or_else(|| "unknown".to_owned());
    vec![
        ("Scheduler of the phone", or_unknown(phone.scheduler.clone())),
        ("Requests at once", or_unknown(phone.driver_tags.map(|tags| tags.to_string()))),
        ("Size of the phone", format_bytes(phone.size_bytes)),
        ("File system of the phone", phone.file_system.clone()),
    ]
}

impl Measured for LaunchReport {
    fn measured(&self) -> Vec<Row> {
        self.sets.iter().map(|set| costs(launches(&self.app, set, &self.sets, &STAGES), set)).collect()
    }

    fn mode(&self) -> Facts {
        vec![("Command", format::shorten(&self.command.join(" "), 120)), screen(&self.screen)]
    }

    fn setting(&self) -> Facts {
        self.phone.as_ref().map(phone).unwrap_or_default()
    }
}

impl Measured for LatencyReport {
    fn measured(&self) -> Vec<Row> {
        let app = |step: &str| Row::at("app", self.app.trim()).by("script", self.script.trim()).by("step", step.trim());
        let runs = |step: &LatencyStep, of: fn(&LatencyRun) -> Option<f64>| -> Vec<Run> {
            chart::runs(step.runs.iter().filter_map(of))
        };
        let steps = self.steps.iter().map(|step| {
            app(&step.name).put("latency", MS, runs(step, |run| Some(run.latency_ms))).put(
                "first change",
                MS,
                runs(step, |run| run.first_change_ms),
            )
        });
        let events = self.runtime_delay.iter().map(|delay| {
            let step = format!("{} with seed {}", format::plural(delay.events, "event"), delay.seed);
            app(&step).put("time of all events", MS, delay.total_ms)
        });
        steps.chain(events).collect()
    }

    fn mode(&self) -> Facts {
        vec![("Command", format::shorten(&self.command.join(" "), 120)), screen(&self.screen)]
    }

    fn setting(&self) -> Facts {
        self.phone.as_ref().map(phone).unwrap_or_default()
    }
}

/// All launches of many apps.
fn suite(apps: &[SuiteApp]) -> impl Iterator<Item = Row> {
    apps.iter().flat_map(|app| app.sets.iter().map(move |set| launches(&app.name, set, &app.sets, &STAGES_OF_MANY)))
}

/// What the writers of the conditions reached.
fn writers(conditions: &[Condition]) -> impl Iterator<Item = Row> {
    conditions.iter().filter_map(|condition| {
        let writer = condition.writer.as_ref()?;
        let row = Row::at("condition", sets::label_words(&condition.name));
        let row = row.put("background writes", BANDWIDTH, writer.reached_bytes_per_s);
        Some(row.put("background syncs", COUNT, writer.syncs_per_s))
    })
}

/// The load that each condition aims at.
fn background_load(conditions: &[Condition]) -> (&'static str, String) {
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

impl Measured for SuiteReport {
    fn measured(&self) -> Vec<Row> {
        suite(&self.apps).chain(writers(&self.conditions)).collect()
    }

    fn mode(&self) -> Facts {
        vec![background_load(&self.conditions)]
    }

    fn setting(&self) -> Facts {
        phone(&self.phone)
    }
}

impl Measured for WhatIfReport {
    fn measured(&self) -> Vec<Row> {
        let sqlite = self.sqlite.iter().flat_map(|result| {
            let operations =
                [("insert", result.insert_per_s), ("update", result.update_per_s), ("delete", result.delete_per_s)];
            operations.map(|(operation, rate)| {
                Row::at("database", "SQLite")
                    .by("operation", operation)
                    .by("condition", sets::label_words(&result.condition))
                    .put("transactions/s", COUNT, rate)
            })
        });
        suite(&self.apps).chain(sqlite).chain(writers(&self.conditions)).collect()
    }

    fn mode(&self) -> Facts {
        vec![background_load(&self.conditions)]
    }

    fn setting(&self) -> Facts {
        phone(&self.phone)
    }
}

impl Measured for ProveReport {
    fn measured(&self) -> Vec<Row> {
        let gains = self.gains.iter().flat_map(|gain: &Gain| {
            let row = |condition: &str, ratio| {
                Row::at("app", gain.app.trim())
                    .by("start", sets::temperature(gain.temperature))
                    .by("condition", sets::label_words(condition))
                    .put("with brisk over without", TIMES, ratio)
            };
            [row(conditions::WRITERS, gain.loaded_ratio), row(conditions::IDLE, gain.idle_ratio)]
        });
        let jobs = self.storage.iter().flat_map(|storage| storage.jobs.iter()).flat_map(jobs);
        suite(&self.apps).chain(gains).chain(jobs).chain(writers(&self.conditions)).collect()
    }

    fn mode(&self) -> Facts {
        let mut mode = vec![background_load(&self.conditions)];
        let sizes = |storage: &brisk_results::ProveStorage| {
            let streams = storage.jobs.iter().map(|jobs| format_bytes(jobs.stream_bytes)).collect::<Vec<_>>();
            format!("{} of {}, energy {}", streams.join(", "), format_bytes(storage.block_bytes), storage.meter.name)
        };
        mode.extend(self.storage.as_ref().map(|storage| ("Streams", sizes(storage))));
        mode
    }

    fn setting(&self) -> Facts {
        phone(&self.phone).into_iter().chain([("Profile", self.set_ups.join("; "))]).collect()
    }
}

/// Readers concurrent with writers, without brisk and with it.
fn jobs(jobs: &ProveJobs) -> [Row; 2] {
    let both = [
        ("read latency", US, &jobs.read_us),
        ("write latency", US, &jobs.write_us),
        ("throughput", BANDWIDTH, &jobs.bytes_per_s),
        ("energy", ENERGY, &jobs.energy_uj),
    ];
    ["without brisk", "with brisk"].map(|condition| {
        let row = Row::at("jobs", format!("{} {1} + {1}", format::pattern(jobs.pattern), jobs.streams));
        both.iter().fold(row.by("condition", condition), |row, (measure, unit, found)| {
            row.put(measure, *unit, if condition == "with brisk" { found.with } else { found.without })
        })
    })
}
