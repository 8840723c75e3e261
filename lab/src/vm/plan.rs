//! The plan: a shell script for the guest, one paragraph for each case.
//!
//! Its functions are in `kernel/guest` (`functions.sh`, `init`), and can be run by hand. All parameters are written out
//! in the plan, so a plan with its console is a complete record of a boot.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use brisk_core::random::mix;

use crate::vm::case::Case;
use crate::vm::device::Device;
use crate::vm::lab::Task;
use crate::vm::scenario::{FileSystem, JobSpec, Scenario, arguments};

/// The functions of the guest.
pub const FUNCTIONS: &str = include_str!("../../../kernel/guest/functions.sh");

/// The script of a boot with this name.
#[must_use]
pub fn script(name: &str, tasks: &[Task<'_>], scale: f64) -> String {
    let mut script = format!("{FUNCTIONS}\n# ---- {name}\nsettle\n");
    for (index, task) in tasks.iter().enumerate() {
        script.push_str(&paragraph(task.scenario, index, task.case, scale));
    }
    script.push_str("\nfinish\n");
    script
}

#[must_use]
pub fn paragraph(scenario: &Scenario, index: usize, case: &Case, scale: f64) -> String {
    let mut script = String::new();
    let _ = writeln!(script, "\ncase_begin {index}");
    let _ = writeln!(script, "device_up {}", device(scenario));
    let _ = writeln!(script, "use_scheduler {}", case.setup.scheduler);
    // nr_requests first: some tunables have defaults that depend on it.
    let settings = &case.setup.settings;
    if let Some(value) = settings.get("nr_requests") {
        let _ = writeln!(script, "setting nr_requests {value}");
    }
    for (name, value) in settings.iter().filter(|(name, _)| *name != "nr_requests") {
        let _ = writeln!(script, "setting {name} {value}");
    }
    if let Some(kind) = scenario.file_system {
        let _ = writeln!(script, "file_system_up {}", kind.name());
        for (name, size_bytes) in files(case.jobs(scenario)) {
            let _ = writeln!(script, "file_up {name} {}", size_bytes.div_ceil(1 << 20));
        }
    }
    let _ = writeln!(script, "run_probe {}", probe(scenario, case, scale));
    if scenario.file_system.is_some() {
        script.push_str("file_system_down\n");
    }
    script.push_str("device_down\ncase_end\n");
    script
}

/// Arguments of `device_up`. A raw device stores no data, which is never read, to save memory and time of the guest.
#[must_use]
pub fn device(scenario: &Scenario) -> String {
    let store = match scenario.file_system {
        None => "raw",
        Some(FileSystem::Ext4 | FileSystem::F2fs) => "kept",
        Some(FileSystem::Swap) => "prepared",
    };
    device_words(scenario.device(), store)
}

/// The same for a given device.
#[must_use]
pub fn device_words(device: &Device, store: &str) -> String {
    let fields: Vec<String> = device.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{} {} {store} {}", device.depth_requests, device.queues, fields.join(","))
}

/// Files that the jobs read and that must exist before: each once, with the largest requested size.
fn files<'a>(jobs: impl Iterator<Item = &'a JobSpec>) -> BTreeMap<String, u64> {
    let mut files = BTreeMap::new();
    for job in jobs {
        let op = job.argument("op").unwrap_or_default();
        if !["read", "randread", "mix", "randmix", "fault", "randfault"]
            .contains(&op.split(':').next().unwrap_or_default())
        {
            continue;
        }
        if let (Some(name), Some(size)) = (job.argument("file"), job.argument("size")) {
            let last = size.parse::<u64>().unwrap_or(0) * u64::from(job.count);
            let end = last + job.argument("offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
            let known: &mut u64 = files.entry(name).or_default();
            *known = end.max(*known);
        }
    }
    files
}

/// The jobs of a case as arguments of the probe.
fn probe(scenario: &Scenario, case: &Case, scale: f64) -> String {
    let load = case.load(scenario);
    let mut jobs = Vec::new();
    for (place, spec) in load.jobs.iter().enumerate() {
        // The index among all jobs of the load, so that a side alone uses the same addresses.
        if case.alone.is_some_and(|side| side != spec.side) {
            continue;
        }
        let Ok(mut pairs) = arguments(&spec.probe) else { continue };
        let number = |key: &str| pairs.iter().find(|(name, _)| name == key).and_then(|(_, v)| v.parse::<u64>().ok());
        let (size, offset, stop) = (number("size"), number("offset").unwrap_or(0), number("stop_bytes"));
        let bytes = number("bytes").unwrap_or(4096).max(1);
        pairs.retain(|(key, _)| !matches!(key.as_str(), "offset" | "stop_bytes"));
        for k in 0..spec.count {
            let mut words = vec![format!("name={}.{k}", spec.name)];
            words.extend(pairs.iter().map(|(key, value)| format!("{key}={value}")));
            let at = offset + size.unwrap_or(0) * u64::from(k);
            if at > 0 {
                words.push(format!("offset={at}"));
            }
            match stop {
                Some(stop) => {
                    let scaled = ((stop as f64 * scale / bytes as f64).round() as u64).max(1) * bytes;
                    words.push(format!("stop_bytes={scaled}"));
                }
                None => {
                    words.push(format!("stop={:.0}", (load.seconds * scale + load.warm_seconds) * 1e9));
                    words.push(format!("warm_ns={:.0}", load.warm_seconds * 1e9));
                }
            }
            words.push(format!("seed={}", seed(case.seed, place, k)));
            jobs.push(words.join(" "));
        }
    }
    jobs.join(" -- ")
}

/// Mixes a seed, so that adjacent seeds give unrelated streams.
fn seed(seed: u64, place: usize, k: u32) -> u64 {
    // Shells and C's signed numbers have 63 bits.
    mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add((place as u64) << 32 | u64::from(k))) >> 1
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::vm::case::{Setup, cases};

    const TEXT: &str = r#"
title = "t"
question = "q?"
device = { preset = "ufs-3.1", size = "256MiB", depth_requests = 8 }
[[load]]
name = "beside"
seconds = 2
warm_seconds = 0.5
alone = true
[[load.job]]
name = "reader"
side = "read"
probe = "op=randread bytes=4KiB depth=1"
[[load.job]]
name = "writer"
side = "write"
count = 2
probe = "op=write bytes=16KiB size=32MiB offset=64MiB stop_bytes=1MiB"
"#;

    fn scenario() -> Scenario {
        Scenario::parse("t", TEXT, Path::new("/nowhere")).expect("valid")
    }

    fn setup() -> Setup {
        let settings = [("fifo_batch", "1"), ("nr_requests", "4"), ("async_depth", "2")];
        Setup {
            scheduler: "mq-deadline".to_owned(),
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        }
    }

    fn plan(cases: &[Case]) -> String {
        let scenario = scenario();
        let tasks: Vec<Task<'_>> = cases.iter().map(|case| Task { scenario: &scenario, case }).collect();
        script("t", &tasks, 1.0)
    }

    #[test]
    fn the_same_scenario_gives_the_same_plan() {
        let all = cases(&scenario(), &setup(), &[1, 2]);
        assert_eq!(all.len(), 6, "two seeds, together and each side alone");
        assert_eq!(plan(&all), plan(&all));
    }

    #[test]
    fn the_number_of_requests_is_set_before_what_follows_from_it() {
        let plan = plan(&cases(&scenario(), &setup(), &[1])[..1]);
        let at = |word: &str| plan.find(&format!("\nsetting {word} ")).unwrap_or_else(|| panic!("{word} lacks"));
        assert!(at("nr_requests") < at("async_depth") && at("nr_requests") < at("fifo_batch"));
        assert!(plan.contains("\ndevice_up 8 1 raw pages=65536,"));
    }

    #[test]
    fn jobs_get_their_own_parts_lengths_and_seeds() {
        let all = cases(&scenario(), &setup(), &[7]);
        let both = probe(&scenario(), &all[0], 2.0);
        let jobs: Vec<&str> = both.split(" -- ").collect();
        assert_eq!(jobs.len(), 3);
        assert!(jobs[0].starts_with("name=reader.0 op=randread bytes=4096 depth=1 stop=4500000000 warm_ns=500000000"));
        assert!(jobs[1].contains("offset=67108864 stop_bytes=2097152"), "{}", jobs[1]);
        assert!(jobs[2].contains("offset=100663296 stop_bytes=2097152"), "{}", jobs[2]);
        let seed_of = |job: &str| job.rsplit_once("seed=").expect("a seed").1.to_owned();
        assert_ne!(seed_of(jobs[1]), seed_of(jobs[2]));
        // Alone, a job does the same as in the mix.
        assert_eq!(probe(&scenario(), &all[1], 2.0), jobs[0]);
        assert_eq!(probe(&scenario(), &all[2], 2.0), jobs[1..].join(" -- "));
    }
}
