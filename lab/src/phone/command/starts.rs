//! Starts of phones that are compared: without brisk and with it, with different seeds, side by side.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use brisk_api::Trials;
use brisk_command::session::Session;
use serde_json::{Map, Value};

use super::arguments::{Compared, Phone};
use super::{Ready, ready};
use crate::phone::architecture::Architecture;
use crate::phone::image::Images;
use crate::phone::measure::{self, Brisk, Conditions};
use crate::phone::memory_map::FLASH_MIB;
use crate::phone::plan::{Surroundings, Task};
use crate::phone::port::{Output, Port};
use crate::results::{
    BlockDevice, Environment, Header, PhoneFacts, SCHEMA_VERSION, VirtualStart, VirtualTime, VirtualTrial, Warning,
};
use crate::vm::device::Device;
use crate::vm::sources::Source;
use crate::vm::{Error, Watch, worker_pool};

/// Reads what a task printed; `None` for one that does not count, or else why it is of no use.
type Read<'a, T> = &'a (dyn Fn(&Output) -> Result<Option<T>, String> + Sync);

/// The phone's clock at each start.
const STARTED: &str = "2026-01-01T00:00:00Z";
/// The kernel's name of the flash.
const FLASH: &str = "flash0";
/// Mean lateness of the flash above which its times are doubtful.
const LATENESS_NS_MAX: f64 = 2_000.0;
/// The task that tells what brisk's trials have found.
const TRIALS: &str = "trials";

/// What starts are to do and to say.
pub(super) struct Study<'a, T> {
    /// Of the command, for the names of logs.
    pub(super) command: &'a str,
    pub(super) phone: &'a Phone,
    pub(super) compared: &'a Compared,
    /// There are starts with each of them.
    pub(super) arounds: Vec<Surroundings>,
    /// The name of a start in the result, by what runs of brisk, and whether something writes in the background.
    pub(super) name: &'a (dyn Fn(&Brisk, bool) -> String + Sync),
    /// Launches of each app that do not count.
    pub(super) warm_up: u16,
    /// How long after a start apps are launched.
    pub(super) after_start: Option<Duration>,
    pub(super) tasks: &'a (dyn Fn(&Brisk, u64) -> Vec<Task> + Sync),
    pub(super) read: Read<'a, T>,
}

/// A start of a phone, and what it measured.
#[derive(Debug, Clone)]
pub(super) struct Start<T> {
    pub(super) about: VirtualStart,
    pub(super) results: Vec<T>,
}

/// All starts, and the head of a document about them.
pub(super) struct Measured<T> {
    pub(super) starts: Vec<Start<T>>,
    pub(super) header: Header,
    pub(super) phone: PhoneFacts,
}

impl<T: Send> Study<'_, T> {
    /// Starts phones and has them do their tasks.
    pub(super) fn measure(&self, source: &Source, session: &Session) -> anyhow::Result<Measured<T>> {
        let (phone, compared) = (self.phone, self.compared);
        let flash = phone.flash(&source.path("kernel/scenarios/devices"))?;
        let Ready { kernel, made } = ready(source, session, &phone.image)?;
        let images = Images { source, architecture: phone.image.arch, kernel: &kernel };
        let mut starts: Vec<(u64, Surroundings, &Brisk)> = Vec::new();
        for seed in (0..u64::from(compared.seeds)).map(|n| compared.seed + n) {
            for around in &self.arounds {
                starts.extend(compared.brisk.iter().map(|brisk| (seed, *around, brisk)));
            }
        }
        let planned: usize = starts.iter().map(|(seed, _, brisk)| self.all_tasks(brisk, *seed).len()).sum();
        let begun = AtomicUsize::new(0);
        let stop = session.stop_flag();
        let measured = worker_pool::each(
            &starts,
            crate::study::kernel::machines(compared.jobs),
            |_, &(seed, around, brisk), tell: &dyn Fn(String)| {
                let conditions = Conditions {
                    flash: flash.clone(),
                    memory_mib: phone.memory_mib(),
                    around,
                    brisk: brisk.clone(),
                    seed,
                    shift: phone.shift,
                    without: phone.without.clone(),
                };
                let name = (self.name)(brisk, around.writers_bytes_per_s.is_some());
                // Of this process: another may measure phones of the same name at the same time.
                let (of, arch) = (std::process::id(), phone.image.arch.name());
                let file = format!("{}-{arch}-{}-{seed}-{of}.log", self.command, name.replace(' ', "-"));
                let log = source.phones().join(file);
                let progress = |_: f64, doing: &str| tell(format!("{}, seed {seed}: {doing}", name.replace('_', " ")));
                let watch = Watch { stop, progress: &progress };
                let tasks = self.all_tasks(brisk, seed);
                let port = measure::run(&images, &made, &conditions, &tasks, &log, phone.time_limit, watch)?;
                match self.start(name, seed, port) {
                    // It is kept where it tells why there is no result.
                    Err(why) => Err(Error::Refused { why, log }),
                    Ok(start) => std::fs::remove_file(&log).map(|()| start).map_err(Error::io("remove", &log)),
                }
            },
            |_, doing| {
                let before = begun.fetch_add(1, Ordering::Relaxed);
                session.show((before as f64 / planned as f64).min(1.0), &doing);
            },
        )?;
        session.clear();
        let abouts: Vec<VirtualStart> = measured.iter().map(|start| start.about.clone()).collect();
        let header = header(&flash, phone.image.arch, &made.about.kernel, compared.seed, &abouts);
        let virtual_time = VirtualTime {
            image: made.about.content,
            memory_bytes: phone.memory,
            swap: phone.swap_words(),
            instruction_ns: 1 << phone.shift,
            brisk: brisk_words(&compared.brisk, self.warm_up),
            after_start_s: self.after_start.map(|time| time.as_secs_f64()),
            starts: abouts,
        };
        Ok(Measured { starts: measured, header, phone: facts(&flash, virtual_time) })
    }

    fn all_tasks(&self, brisk: &Brisk, seed: u64) -> Vec<Task> {
        let mut tasks = (self.tasks)(brisk, seed);
        if *brisk != Brisk::Off {
            let command = ["brisk", "trial", "--json"].map(str::to_owned).to_vec();
            tasks.push(Task { name: TRIALS.to_owned(), command });
        }
        tasks
    }

    /// The results of a start; or why there are none.
    fn start(&self, name: String, seed: u64, port: Port) -> Result<Start<T>, String> {
        let (mut results, mut trials) = (Vec::new(), Vec::new());
        for output in &port.outputs {
            let trouble = |why: String| {
                let short = short_of_memory(&port.facts, self.phone.memory_mib());
                format!("{} ({:?}): {why} {}{short}", output.name, output.code, output.errors.trim())
            };
            if output.name == TRIALS {
                trials = trials_of(&read(output).map_err(trouble)?);
            } else {
                results.extend((self.read)(output).map_err(trouble)?);
            }
        }
        Ok(Start { about: VirtualStart { name, seed, counters: numbers(&port.facts), trials }, results })
    }
}

/// What to do where the phone's kernel ended programs because memory was short.
fn short_of_memory(facts: &Map<String, Value>, memory_mib: u64) -> String {
    match facts.get("oom_kill").and_then(Value::as_u64) {
        None | Some(0) => String::new(),
        Some(count) => format!(
            "; its kernel ended {count} programs, as {memory_mib} MiB were too little: give it more --memory, or --swap"
        ),
    }
}

/// A document's text of T, or why it is none.
pub(super) fn read<T: serde::de::DeserializeOwned>(output: &Output) -> Result<T, String> {
    serde_json::from_str(&output.text).map_err(|error| format!("no document: {error}"))
}

fn numbers(facts: &Map<String, Value>) -> BTreeMap<String, f64> {
    facts.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// The trials of engines that have a subject.
fn trials_of(trials: &Trials) -> Vec<VirtualTrial> {
    let of_engine = |engine: &brisk_api::EngineTrial| {
        let name = engine.engine.clone();
        engine.subjects.clone().into_iter().map(move |subject| VirtualTrial {
            engine: name.clone(),
            subject: subject.subject,
            phase: subject.phase.words().to_owned(),
            pairs: subject.pairs,
            ratio: subject.effect.map(|effect| effect.ratio),
            ratio_low: subject.effect.map(|effect| effect.low),
            ratio_high: subject.effect.map(|effect| effect.high),
        })
    };
    trials.engines.iter().flat_map(of_engine).collect()
}

/// How brisk ran, in words that continue `brisk runs`.
fn brisk_words(brisk: &[Brisk], warm_up: u16) -> String {
    let after = match warm_up {
        0 => String::new(),
        1 => ", after a launch of each app that does not count".to_owned(),
        n => format!(", after {n} launches of each app that do not count"),
    };
    let words = |brisk: &Brisk| match brisk {
        Brisk::Off => None,
        Brisk::Default => {
            Some(format!("as its package comes, with each engine tried first and held out in between{after}"))
        }
        Brisk::Engines(engines) => {
            Some(format!("with {} named, which act without trials{after}", brisk_report::format::list(engines)))
        }
    };
    brisk.iter().filter_map(words).collect::<Vec<_>>().join("; ")
}

fn facts(flash: &Device, virtual_time: VirtualTime) -> PhoneFacts {
    let changed: Vec<String> = flash.changed.iter().map(|(name, value)| format!("{name}={value}")).collect();
    PhoneFacts {
        preset: flash.preset.clone(),
        device: std::iter::once(format!("/dev/{FLASH}")).chain(changed).collect::<Vec<_>>().join(" "),
        scheduler: None,
        driver_tags: Some(flash.depth_requests),
        size_bytes: FLASH_MIB << 20,
        file_system: "ext4 rw,noatime".to_owned(),
        virtual_time: Some(virtual_time),
    }
}

/// The head of a document: the machine is the phone, and times are those of its clock, so that a repeat gives the same
/// document.
fn header(flash: &Device, architecture: Architecture, kernel: &str, seed: u64, starts: &[VirtualStart]) -> Header {
    let device = BlockDevice {
        name: FLASH.to_owned(),
        partition: None,
        kind: None,
        model: None,
        firmware: None,
        size_bytes: FLASH_MIB << 20,
        rotational: false,
        scheduler: None,
        schedulers_available: Vec::new(),
        queue_depth_requests: None,
        read_ahead_kib: None,
        max_request_kib: None,
        write_cache: None,
        logical_block_bytes: 4_096,
        lab_preset: Some(flash.preset.clone()),
    };
    let architecture = match architecture {
        Architecture::Arm64 => "aarch64",
        Architecture::Amd64 => "x86_64",
    };
    let up_s = |start: &VirtualStart| start.counters.get("uptime_s").copied().unwrap_or_default();
    Header {
        schema_version: SCHEMA_VERSION,
        started: STARTED.to_owned(),
        duration_s: starts.iter().map(up_s).sum(),
        environment: Environment {
            brisk_version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: crate::results::commit(),
            kernel: kernel.to_owned(),
            architecture: architecture.to_owned(),
            cpus: 1,
            path: "/".to_owned(),
            file_system: Some("ext4".to_owned()),
            mount_options: Some("rw,noatime".to_owned()),
            device: Some(device),
            disks: Vec::new(),
        },
        io_engine: None,
        seed,
        written_bytes: 0,
        warnings: warnings(starts),
    }
}

/// What happened in starts that makes their figures doubtful, one warning of each kind.
fn warnings(starts: &[VirtualStart]) -> Vec<Warning> {
    let worst = |counter: &str| {
        let of = |start: &VirtualStart| start.counters.get(counter).copied();
        starts.iter().filter_map(of).fold(0.0, f64::max)
    };
    let mut found = Vec::new();
    let mut warn = |code: &str, text: String| found.push(Warning { code: code.to_owned(), text });
    let complaints = worst("kernel_complaints");
    if complaints > 0.0 {
        warn("kernel_complaints", format!("The phone's kernel complained {complaints} times: read its log."));
    }
    let restarts = worst("briskd_restarts");
    if restarts > 0.0 {
        warn("daemon_restarted", format!("The service of brisk was restarted {restarts} times: read the phone's log."));
    }
    let late_ns = worst("flash_lateness_mean_ns");
    if late_ns > LATENESS_NS_MAX {
        warn("lab_late", format!("Requests of the flash ended {:.1} us late on average.", late_ns / 1e3));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_api::{EngineTrial, SubjectTrial};

    fn counted(counters: &[(&str, f64)]) -> VirtualStart {
        VirtualStart {
            name: "idle".to_owned(),
            seed: 1,
            counters: counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            trials: Vec::new(),
        }
    }

    #[test]
    fn a_command_without_a_document_is_a_trouble_that_cites_it() {
        let output =
            Output { name: "evince".to_owned(), code: Some(2), text: String::new(), errors: "no display\n".to_owned() };
        assert!(read::<Value>(&output).is_err());
        let line = crate::phone::command::launches::tests::args(&[]);
        let study = Study::<Value> {
            command: "launch",
            phone: &line.phone,
            compared: &line.compared,
            arounds: vec![line.phone.surroundings(None)],
            name: &|brisk, _| brisk.name(),
            warm_up: 0,
            after_start: None,
            tasks: &|_, _| Vec::new(),
            read: &|output| read(output).map(Some),
        };
        let port = |oom_kill: u64| Port {
            outputs: vec![output.clone()],
            facts: [("oom_kill".to_owned(), oom_kill.into())].into_iter().collect(),
            ..Port::default()
        };
        let why = |oom_kill| study.start("off".to_owned(), 1, port(oom_kill)).expect_err("no document");
        assert!(why(0).contains("evince") && why(0).ends_with("no display"), "{}", why(0));
        assert!(why(2).ends_with("ended 2 programs, as 1024 MiB were too little: give it more --memory, or --swap"));
        assert!(study.all_tasks(&Brisk::Off, 1).is_empty(), "nothing is tried");
        assert_eq!(study.all_tasks(&Brisk::Default, 1)[0].name, "trials");
    }

    #[test]
    fn each_subject_of_a_trial_is_told() {
        let subject = SubjectTrial { subject: "app evince".to_owned(), pairs: 3, ..SubjectTrial::default() };
        let engine = |name: &str, subjects| EngineTrial { engine: name.to_owned(), subjects, ..EngineTrial::default() };
        let engines = vec![engine("prefetch", vec![subject]), engine("mars", Vec::new())];
        let found = trials_of(&Trials { engines, ..Trials::default() });
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].engine.as_str(), found[0].phase.as_str(), found[0].pairs), ("prefetch", "observing", 3));
        assert_eq!(found[0].ratio, None);
    }

    #[test]
    fn what_makes_figures_doubtful_is_a_warning() {
        let good = counted(&[("kernel_complaints", 0.0), ("briskd_restarts", 0.0), ("flash_lateness_mean_ns", 900.0)]);
        assert_eq!(warnings(std::slice::from_ref(&good)), []);
        let bad = counted(&[("kernel_complaints", 1.0), ("briskd_restarts", 2.0), ("flash_lateness_mean_ns", 2_100.0)]);
        let found = warnings(&[good, bad]);
        let codes: Vec<&str> = found.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, ["kernel_complaints", "daemon_restarted", "lab_late"]);
    }

    #[test]
    fn how_brisk_ran_is_said_honestly() {
        let named = Brisk::Engines(["prefetch", "smartio", "mars"].map(str::to_owned).to_vec());
        let words = brisk_words(&[Brisk::Off, named], 0);
        assert_eq!(words, "with prefetch, smartio and mars named, which act without trials");
        assert!(brisk_words(&[Brisk::Off, Brisk::Default], 30).contains("tried first"));
        assert_eq!(brisk_words(&[Brisk::Off], 30), "");
    }
}
