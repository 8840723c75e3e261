//! Runs cases on a kernel, boot by boot; stores each console and checks it against the bounds.
//!
//! The cases of a boot may belong to several scenarios whose guests have the same memory: [`Lab::run_each`]. Then one
//! steady case is the check of every boot, and a boot that is refused is run again in smaller ones, until the case that
//! causes it is alone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::vm::Watch;
use crate::vm::case::Case;
use crate::vm::console::{self, Progress};
use crate::vm::error::{Error, Result};
use crate::vm::figures::{Outcome, outcome};
use crate::vm::image::{self, Wanted};
use crate::vm::plan;
use crate::vm::qemu::{self, Machine};
use crate::vm::refuse::{Fidelity, Judged, judge};
use crate::vm::scenario::{FileSystem, Scenario};
use crate::vm::schedulers::{Scheduler, Schedulers};
use crate::vm::sources::{Kernel, Source};
use crate::vm::store::Store;
use crate::vm::worker_pool;

/// Most cases of one boot, which limits the loss by a refused boot.
const CASES_MAX: usize = 120;
/// Most estimated length of one boot in guest time.
const BOOT_S_MAX: f64 = 180.0;
/// Below this, a boot of its own costs more than it saves.
const BOOT_S_MIN: f64 = 40.0;
/// Guest time for creating a device and setting a scheduler.
const CASE_S: f64 = 0.2;
/// Time limit of a boot: this multiple of the guest time, plus a constant.
const PATIENCE: (f64, f64) = (60.0, 900.0);

/// A kernel ready to run cases.
#[derive(Debug)]
pub struct Lab {
    source: Source,
    pub kernel: Kernel,
    pub schedulers: Schedulers,
    /// Wall-clock limit of one boot, if given by the user.
    pub time_limit: Option<Duration>,
    /// Virtual machines at the same time; the number does not affect the figures.
    pub jobs: usize,
    /// Cases measured before, if they may be reused.
    store: Option<Store>,
    /// Whether to measure all cases again.
    again: bool,
    seen: Seen,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    pub boots: u32,
    /// Cases in the boots, without repeats.
    pub cases: u32,
    /// Reused cases.
    pub kept: u32,
    /// Worst fidelity of the boots.
    pub fidelity: Fidelity,
}

/// Length of cases, and the bound that depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    /// Scale of the lengths in the scenario's file.
    pub scale: f64,
    /// Most difference of a case from its repeat.
    pub repeat_percent_max: f64,
}

#[derive(Debug)]
struct Booted {
    /// Outcomes by index of the case; none of a boot that has to be divided.
    outcomes: Vec<(usize, Outcome)>,
    /// Absent when the first case was not reproduced.
    fidelity: Option<Fidelity>,
}

/// A case of a scenario.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Task<'a> {
    pub scenario: &'a Scenario,
    pub case: &'a Case,
}

/// A case to measure, and its index.
type Open<'a> = (usize, Task<'a>);

/// How a run's boots are checked.
#[derive(Debug, Clone, Copy)]
struct Checks<'a> {
    length: Length,
    /// Begins and ends every boot; without it the first case is repeated.
    check: Option<Task<'a>>,
}

impl Seen {
    fn add(&mut self, booted: &Booted) {
        self.boots += 1;
        self.cases += u32::try_from(booted.outcomes.len()).unwrap_or(u32::MAX);
        if let Some(fidelity) = &booted.fidelity {
            self.held_against(fidelity);
        }
    }

    fn held_against(&mut self, fidelity: &Fidelity) {
        let worst = &mut self.fidelity;
        worst.lateness_ns_mean = worst.lateness_ns_mean.max(fidelity.lateness_ns_mean);
        if fidelity.repeat_percent > worst.repeat_percent {
            (worst.repeat_percent, worst.seeds_percent) = (fidelity.repeat_percent, fidelity.seeds_percent);
        }
        worst.repeat_percent_of_jobs = worst.repeat_percent_of_jobs.max(fidelity.repeat_percent_of_jobs);
    }
}

impl Lab {
    /// Fetches and builds everything for a series.
    ///
    /// # Errors
    /// When a script fails, or the table of schedulers is damaged.
    pub fn prepare(source: &Source, series: &str, watch: Watch<'_>) -> Result<Self> {
        let schedulers = Schedulers::read(&source.path("kernel/schedulers.toml"))?;
        let kernel = source.kernel(series, watch)?;
        Ok(Self {
            source: source.clone(),
            kernel,
            schedulers,
            time_limit: None,
            jobs: 1,
            store: None,
            again: false,
            seen: Seen::default(),
        })
    }

    /// Enables the store: measured cases are kept; kept ones are reused unless `again`.
    ///
    /// # Errors
    /// When the guest's files cannot be read, or there is no emulator.
    pub fn remember(&mut self, again: bool) -> Result<()> {
        let folder = self.source.work().join("cases").join(&self.kernel.series);
        let init = self.source.path("kernel/guest/init");
        self.again = again;
        self.store = Some(Store::of(folder, &self.kernel, &init, &self.schedulers)?);
        Ok(())
    }

    /// Returns and resets the statistics.
    pub fn take_seen(&mut self) -> Seen {
        std::mem::take(&mut self.seen)
    }

    /// The statistics so far.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// Checks that this kernel has a scheduler; the error names the missing part.
    ///
    /// # Errors
    /// When the kernel has no module for it, or the table does not list it.
    pub fn check_scheduler(&self, name: &str) -> Result<&Scheduler> {
        let scheduler = self.schedulers.get(name)?;
        match &scheduler.module {
            Some(module) if !image::has_module(&self.kernel, module) => Err(Error::NoScheduler {
                scheduler: name.to_owned(),
                release: self.kernel.release.clone(),
                why: format!("module {module} is neither part of the kernel nor built by kernel/build"),
            }),
            _ => Ok(scheduler),
        }
    }

    /// Directory of consoles and plans, the last of each kind.
    #[must_use]
    pub fn consoles(&self) -> PathBuf {
        self.source.work().join("consoles")
    }

    /// Runs all cases in as few boots as length and processors allow. A setting that is not reproduced has no figures;
    /// the other cases of its boot are run again, in a boot that begins with another case.
    ///
    /// # Errors
    /// When a boot fails, or is refused for another reason: there are then no figures.
    pub fn run(
        &mut self,
        scenario: &Scenario,
        cases: &[Case],
        length: Length,
        watch: Watch<'_>,
    ) -> Result<Vec<Outcome>> {
        let tasks: Vec<Task<'_>> = cases.iter().map(|case| Task { scenario, case }).collect();
        self.run_all(&tasks, Checks { length, check: None }, watch)
    }

    /// Runs cases of several scenarios, in order; scenarios share boots where their guests have the same memory.
    /// `check` begins and ends each boot, and must be reproduced. A boot that is refused is divided; a case that is
    /// refused alone has no figures.
    ///
    /// # Errors
    /// When a boot cannot be made, or the run is cancelled.
    pub fn run_each(
        &mut self,
        tasks: &[Task<'_>],
        check: Task<'_>,
        length: Length,
        watch: Watch<'_>,
    ) -> Result<Vec<Outcome>> {
        self.run_all(tasks, Checks { length, check: Some(check) }, watch)
    }

    fn run_all(&mut self, tasks: &[Task<'_>], checks: Checks<'_>, watch: Watch<'_>) -> Result<Vec<Outcome>> {
        let length = checks.length;
        let mut outcomes: BTreeMap<usize, Outcome> = BTreeMap::new();
        for (place, task) in tasks.iter().enumerate() {
            let Some(store) = self.store.as_ref().filter(|_| !self.again) else { break };
            let key = store.key(task.scenario, task.case, length.scale);
            if let Some(record) = store.get(&key, length.repeat_percent_max) {
                outcomes.insert(place, outcome(task.scenario, task.case, &record.output));
                self.seen.kept += 1;
                self.seen.held_against(&record.fidelity);
            }
        }
        let (mut booted, mut most) = (0, CASES_MAX);
        loop {
            let open: Vec<Open<'_>> =
                tasks.iter().copied().enumerate().filter(|(place, _)| !outcomes.contains_key(place)).collect();
            if open.is_empty() {
                return Ok(outcomes.into_values().collect());
            }
            // Each boot gives an outcome of at least its first case, or the next ones are shorter: so this loop ends.
            let round = self.round(&open, most, checks, booted, &mut outcomes, watch)?;
            booted += round.boots;
            if round.divided {
                most = (most.min(open.len()) / 2).max(1);
            }
        }
    }

    /// Boots the open cases, at most `most` in each boot, the first boot with the number `from`.
    fn round(
        &mut self,
        open: &[Open<'_>],
        most: usize,
        checks: Checks<'_>,
        from: usize,
        outcomes: &mut BTreeMap<usize, Outcome>,
        watch: Watch<'_>,
    ) -> Result<Round> {
        let all = outcomes.len() + open.len();
        let portions = boots(open, checks.length.scale, self.jobs, most);
        let mut done = vec![0; portions.len()];
        let lab = &*self;
        let booted = worker_pool::each(
            &portions,
            self.jobs,
            |place, portion, tell: &dyn Fn((usize, String))| {
                let progress = |index, doing| tell((index, doing));
                lab.boot_or_divide(portion, from + place, checks, watch.stop, &progress)
            },
            |place, (index, doing)| {
                done[place] = index;
                let of_all = (outcomes.len() + done.iter().sum::<usize>()) as f64 / all.max(1) as f64;
                (watch.progress)(of_all.min(1.0), &doing);
            },
        )?;
        let divided = booted.iter().any(|booted| booted.outcomes.is_empty());
        for booted in booted {
            self.seen.add(&booted);
            outcomes.extend(booted.outcomes);
        }
        watch.check()?;
        Ok(Round { boots: portions.len(), divided })
    }

    /// Boots cases; where all boots have a check, a boot that is refused or fails has no outcome, unless it has a
    /// single case.
    fn boot_or_divide(
        &self,
        cases: &[Open<'_>],
        place: usize,
        checks: Checks<'_>,
        stop: &AtomicBool,
        progress: &dyn Fn(usize, String),
    ) -> Result<Booted> {
        let booted = self.boot(cases, place, checks, stop, progress);
        if checks.check.is_none() {
            return booted;
        }
        let why = match booted {
            Err(error @ (Error::Refused { .. } | Error::TimeLimit { .. } | Error::Failed { .. })) => error.to_string(),
            Ok(Booted { fidelity: None, outcomes }) => {
                outcomes.first().and_then(|(_, of)| of.sides.clone().err()).unwrap_or_default()
            }
            other => return other,
        };
        let outcomes = match cases {
            [(place, task)] => vec![(*place, Outcome::refused(task.case, &why))],
            _ => Vec::new(),
        };
        Ok(Booted { outcomes, fidelity: None })
    }

    fn boot(
        &self,
        cases: &[Open<'_>],
        place: usize,
        checks: Checks<'_>,
        stop: &AtomicBool,
        progress: &dyn Fn(usize, String),
    ) -> Result<Booted> {
        let Checks { length, check } = checks;
        let watch = Watch { stop, progress: &|_, _| {} };
        // The first case is repeated, to check the boot's reproducibility.
        let before = usize::from(check.is_some());
        let tasks = cases.iter().map(|(_, task)| *task);
        let repeated = check.or_else(|| tasks.clone().next());
        let planned: Vec<Task<'_>> = check.into_iter().chain(tasks).chain(repeated).collect();
        let Some(Task { scenario, .. }) = repeated else { return Ok(Booted { outcomes: Vec::new(), fidelity: None }) };
        let script = plan::script(&scenario.name, &planned, length.scale);
        let estimate_s: f64 = planned.iter().map(|task| case_s(task.scenario, task.case, length.scale)).sum();
        let nth = if place == 0 { String::new() } else { format!("-{}", place + 1) };
        let name = format!("{}-{}{nth}", self.kernel.series, scenario.name);
        let wanted = self.wanted(&planned)?;
        let memory_bytes = cases.first().map_or(0, |(_, task)| task.scenario.memory_bytes());
        let (console, log) =
            self.console(&name, &script, &wanted, memory_bytes, 1, estimate_s, watch, |line| match console::progress(
                line,
            ) {
                Some(Progress::Case(index)) => {
                    let doing = planned.get(index).map(|task| task.case.words(task.scenario)).unwrap_or_default();
                    progress(index.saturating_sub(before).min(cases.len()), doing);
                }
                Some(Progress::End) => progress(cases.len(), "done".to_owned()),
                None => {}
            })?;
        let console = console::parse(&console);
        let seeds = if check.is_some() { vec![0] } else { seeds_of_first(cases) };
        let judged = judge(&console, planned.len(), &seeds, length.repeat_percent_max);
        let fidelity = match judged.map_err(|why| Error::Refused { why, log: log.clone() })? {
            Judged::Good(fidelity) => fidelity,
            Judged::NotRepeated(why) => {
                let console = log.file_name().unwrap_or_default().to_string_lossy();
                let why = format!("{why} (console {console})");
                return Ok(Booted { outcomes: not_repeated(cases, &why), fidelity: None });
            }
        };
        let mut outcomes = Vec::new();
        for ((place, Task { scenario, case }), output) in cases.iter().zip(&console.cases[before..]) {
            // A failure may have a cause outside of the key, so it is not stored.
            if let Some(store) = self.store.as_ref().filter(|_| output.failed.is_none()) {
                store.put(store.key(scenario, case, length.scale), output, fidelity)?;
            }
            outcomes.push((*place, outcome(scenario, case, output)));
        }
        Ok(Booted { outcomes, fidelity: Some(fidelity) })
    }

    /// Boots a script, which follows the guest's functions and is not judged; returns the console and its path.
    ///
    /// # Errors
    /// When a file of the guest is missing, or the virtual machine fails or exceeds its limit.
    #[allow(clippy::too_many_arguments, reason = "one call site for each kind of measurement and one for tests")]
    pub fn console(
        &self,
        name: &str,
        script: &str,
        wanted: &Wanted,
        memory_bytes: u64,
        cpus: u32,
        estimate_s: f64,
        watch: Watch<'_>,
        on_line: impl FnMut(&str),
    ) -> Result<(String, PathBuf)> {
        let logs = self.consoles();
        std::fs::create_dir_all(&logs).map_err(Error::io("make", &logs))?;
        // A unique name for concurrent boots.
        let file = |ending: &str| logs.join(format!("{name}.{}.{ending}", std::process::id()));
        let log = logs.join(format!("{name}.log"));
        let archive = image::initramfs(&self.kernel, wanted, &self.source.path("kernel/guest/init"), script)?;
        let initramfs = Temporary(file("initramfs"));
        std::fs::write(&initramfs.0, &archive).map_err(Error::io("write", &initramfs.0))?;
        let machine = Machine {
            image: &self.kernel.image(),
            initramfs: &initramfs.0,
            // The archive is unpacked into memory, and stays there during that.
            memory_bytes: memory_bytes + 3 * archive.len() as u64,
            cpus,
            // On a busy host the kernel's timer check gets late interrupts and would fail.
            append: if cpus > 1 { "no_timer_check" } else { "" },
        };
        let limit = self.time_limit.unwrap_or_else(|| Duration::from_secs_f64(PATIENCE.1 + PATIENCE.0 * estimate_s));
        let plan = logs.join(format!("{name}.plan"));
        std::fs::write(&plan, script).map_err(Error::io("write", &plan))?;
        let console = qemu::boot(machine, &log, limit, watch, on_line)?;
        Ok((console, log))
    }

    /// Content of the initramfs for these cases.
    fn wanted(&self, tasks: &[Task<'_>]) -> Result<Wanted> {
        let mut wanted = Wanted::default();
        for Task { case, .. } in tasks {
            if let Some(module) = &self.check_scheduler(&case.setup.scheduler)?.module
                && !wanted.modules.contains(module)
            {
                wanted.modules.push(module.clone());
            }
        }
        wanted.modules.push("brisk_flash".to_owned());
        let mut kinds: Vec<FileSystem> = Vec::new();
        for kind in tasks.iter().filter_map(|task| task.scenario.file_system) {
            if !kinds.contains(&kind) {
                wanted.file_system(Some(kind));
                kinds.push(kind);
            }
        }
        Ok(wanted)
    }
}

/// Result of a round of boots.
#[derive(Debug, Clone, Copy)]
struct Round {
    boots: usize,
    /// Whether a boot has to be divided.
    divided: bool,
}

impl Wanted {
    /// Adds the modules and programs of a file system.
    pub fn file_system(&mut self, file_system: Option<FileSystem>) {
        match file_system {
            Some(FileSystem::Ext4) => {
                self.modules.push("ext4".to_owned());
                self.modules_if_there.push("crc32c_generic".to_owned());
                self.programs.push(("mkfs.ext4", "e2fsprogs"));
            }
            Some(FileSystem::F2fs) => {
                self.modules.push("f2fs".to_owned());
                self.modules_if_there.push("crc32_generic".to_owned());
                self.programs.push(("mkfs.f2fs", "f2fs-tools"));
            }
            // busybox has mkswap and swapon.
            Some(FileSystem::Swap) | None => {}
        }
    }
}

/// A file that is removed on drop.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Estimated length of a case in the guest.
pub(crate) fn case_s(scenario: &Scenario, case: &Case, scale: f64) -> f64 {
    let prepare_s = if scenario.file_system.is_some() { 2.0 } else { 0.0 };
    case.load(scenario).estimate_s(scale) + CASE_S + prepare_s
}

/// Indices of all seeds of the boot's first case.
fn seeds_of_first(cases: &[Open<'_>]) -> Vec<usize> {
    let Some((_, first)) = cases.first() else { return Vec::new() };
    (0..cases.len()).filter(|place| first.same_but_seed(&cases[*place].1)).collect()
}

/// Outcomes of a boot whose first case was not reproduced: cases with the same setting have no figures, others no
/// outcome.
fn not_repeated(cases: &[Open<'_>], why: &str) -> Vec<(usize, Outcome)> {
    let Some((_, first)) = cases.first() else { return Vec::new() };
    let same = cases
        .iter()
        .filter(|(_, task)| task.case.setup == first.case.setup && std::ptr::eq(task.scenario, first.scenario));
    same.map(|(place, task)| (*place, Outcome::refused(task.case, why))).collect()
}

impl Task<'_> {
    fn same_but_seed(&self, other: &Self) -> bool {
        std::ptr::eq(self.scenario, other.scenario) && self.case.same_but_seed(other.case)
    }
}

/// Divides the cases into boots of equal length for the number of machines, if they are worth a boot, with at most
/// `most` cases. Seeds of one load stay together if they fit, since their spread bounds the difference of a repeat. All
/// guests of a boot have the same memory.
fn boots<'a, 'b>(cases: &'a [Open<'b>], scale: f64, jobs: usize, most: usize) -> Vec<&'a [Open<'b>]> {
    let length_s = |cases: &[Open<'_>]| cases.iter().map(|(_, of)| case_s(of.scenario, of.case, scale)).sum::<f64>();
    let longest_s = (length_s(cases) / jobs.max(1) as f64).clamp(BOOT_S_MIN, BOOT_S_MAX) * 1.001;
    let memory = |case: &Open<'_>| case.1.scenario.memory_bytes();
    let fits = |portion: &[Open<'_>]| {
        portion.len() <= most
            && length_s(portion) <= longest_s
            && portion.first().map(memory) == portion.last().map(memory)
    };
    let mut portions = Vec::new();
    let (mut from, mut to) = (0, 0);
    for seeds in cases.chunk_by(|(_, a), (_, b)| a.same_but_seed(b)) {
        let step = if fits(seeds) { seeds.len() } else { 1 };
        for case in seeds.chunks(step) {
            if to > from && !fits(&cases[from..to + case.len()]) {
                portions.push(&cases[from..to]);
                from = to;
            }
            to += case.len();
        }
    }
    if from < to {
        portions.push(&cases[from..to]);
    }
    portions
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::vm::case::{Setup, cases};

    fn open<'a>(scenario: &'a Scenario, cases: &'a [Case]) -> Vec<Open<'a>> {
        cases.iter().map(|case| Task { scenario, case }).enumerate().collect()
    }

    #[test]
    fn an_unreproduced_setting_does_not_affect_others() {
        let text = "title = \"t\"\nquestion = \"q?\"\ndevice = { preset = \"ufs-3.1\", size = \"64MiB\" }\n\
            [[load]]\nname = \"l\"\nseconds = 1\n[[load.job]]\nname = \"j\"\nside = \"read\"\nprobe = \"op=read\"\n";
        let scenario = Scenario::parse("t", text, Path::new("/nowhere")).expect("valid");
        let of = |scheduler: &str| Setup { scheduler: scheduler.to_owned(), settings: Default::default() };
        let all = [cases(&scenario, &of("bfq"), &[1, 2]), cases(&scenario, &of("none"), &[1, 2])].concat();
        let open = open(&scenario, &all);
        assert_eq!(seeds_of_first(&open), [0, 1], "of one setting");
        let refused = not_repeated(&open[1..], "why");
        assert_eq!(refused.iter().map(|(place, outcome)| (*place, &outcome.case)).collect::<Vec<_>>(), [(1, &all[1])]);
        let other = scenario.clone();
        let two = [open[0], (7, Task { scenario: &other, case: &all[1] })];
        assert_eq!(not_repeated(&two, "why").len(), 1, "nor another scenario");
        assert_eq!(refused[0].1.sides, Err("why".to_owned()));
        let measured = crate::vm::figures::measures(&scenario, &of("bfq"), &[refused[0].1.clone()]);
        assert_eq!(measured, Err("why".to_owned()), "one of its cases is enough");
    }

    #[test]
    fn every_case_runs_once_and_no_boot_is_too_long() {
        let text = "title = \"t\"\nquestion = \"q?\"\ndevice = { preset = \"ufs-3.1\", size = \"64MiB\" }\n\
            [[load]]\nname = \"l\"\nseconds = 50\n[[load.job]]\nname = \"j\"\nside = \"read\"\nprobe = \"op=read\"\n";
        let scenario = Scenario::parse("t", text, Path::new("/nowhere")).expect("valid");
        let setup = Setup { scheduler: "none".to_owned(), settings: Default::default() };
        let seeds: Vec<u64> = (0..11).collect();
        let cases_of = cases(&scenario, &setup, &seeds);
        let all = open(&scenario, &cases_of);
        let lengths = |portions: Vec<&[Open<'_>]>| portions.iter().map(|portion| portion.len()).collect::<Vec<_>>();
        assert_eq!(lengths(boots(&all, 1.0, 1, CASES_MAX)), [3, 3, 3, 2]);
        assert_eq!(boots(&all, 1.0, 1, CASES_MAX).concat(), all);
        // Two machines share what one would do alone, unless it is not worth it.
        assert_eq!(lengths(boots(&all[..4], 1.0, 2, CASES_MAX)), [2, 2]);
        assert_eq!(lengths(boots(&all[..4], 0.01, 2, CASES_MAX)), [4]);
        // Seeds of a load share a boot, even if another load would fit some of them.
        let two = cases(&scenario, &Setup { scheduler: "bfq".to_owned(), settings: Default::default() }, &[1, 2]);
        let mixed = [open(&scenario, &two), all[..2].to_vec()].concat();
        assert_eq!(lengths(boots(&mixed, 1.0, 1, CASES_MAX)), [2, 2]);
        // A case that is longer than a boot still runs.
        assert_eq!(boots(&all, 100.0, 1, CASES_MAX).len(), 11);
        assert_eq!(boots(&all, 0.001, 1, CASES_MAX).len(), 1);
        assert_eq!(boots(&[], 1.0, 4, CASES_MAX).len(), 0);
        // After a refused boot the next ones are smaller.
        assert_eq!(lengths(boots(&all[..5], 0.001, 1, 2)), [2, 2, 1]);
    }

    #[test]
    fn only_guests_with_the_same_memory_share_a_boot() {
        let of = |memory: &str| {
            let text = format!(
                "title = \"t\"\nquestion = \"q?\"\nmemory = \"{memory}\"\n\
                 device = {{ preset = \"ufs-3.1\", size = \"64MiB\" }}\n\
                 [[load]]\nname = \"l\"\nseconds = 1\n[[load.job]]\nname = \"j\"\nside = \"read\"\nprobe = \
                 \"op=read\"\n"
            );
            Scenario::parse("t", &text, Path::new("/nowhere")).expect("valid")
        };
        let scenarios = [of("256MiB"), of("256MiB"), of("512MiB")];
        let setup = Setup { scheduler: "none".to_owned(), settings: Default::default() };
        let one = cases(&scenarios[0], &setup, &[1]);
        let all: Vec<Open<'_>> =
            scenarios.iter().map(|scenario| Task { scenario, case: &one[0] }).enumerate().collect();
        let lengths: Vec<usize> = boots(&all, 1.0, 1, CASES_MAX).iter().map(|portion| portion.len()).collect();
        assert_eq!(lengths, [2, 1]);
    }
}
