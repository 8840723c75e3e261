//! Runs cases on a kernel, boot by boot; stores each console and checks it against the bounds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::Watch;
use crate::case::Case;
use crate::console::{self, Progress};
use crate::error::{Error, Result};
use crate::figures::{Outcome, outcome};
use crate::image::{self, Wanted};
use crate::plan;
use crate::qemu::{self, Machine};
use crate::refuse::{Fidelity, Judged, judge};
use crate::scenario::{FileSystem, Scenario};
use crate::schedulers::{Scheduler, Schedulers};
use crate::sources::{Kernel, Source};
use crate::store::Store;
use crate::worker_pool;

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
    /// The kernel.
    pub kernel: Kernel,
    /// The known schedulers.
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

/// Statistics of the runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Boots.
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

/// Result of a boot.
#[derive(Debug)]
struct Booted {
    /// Outcomes by index of the case.
    outcomes: Vec<(usize, Outcome)>,
    /// Default when the first case was not reproduced.
    fidelity: Option<Fidelity>,
}

/// A case to measure, and its index.
type Open<'a> = (usize, &'a Case);

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

    /// Runs all cases in as few boots as length and processors allow. A setting that is not reproduced has no figures; the other
    /// cases of its boot are run again, in a boot that begins with another case.
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
        let mut outcomes: BTreeMap<usize, Outcome> = BTreeMap::new();
        for (place, case) in cases.iter().enumerate() {
            let Some(store) = self.store.as_ref().filter(|_| !self.again) else { break };
            if let Some(record) = store.get(&store.key(scenario, case, length.scale), length.repeat_percent_max) {
                outcomes.insert(place, outcome(scenario, case, &record.output));
                self.seen.kept += 1;
                self.seen.held_against(&record.fidelity);
            }
        }
        let mut booted = 0;
        loop {
            let open: Vec<Open<'_>> =
                cases.iter().enumerate().filter(|(place, _)| !outcomes.contains_key(place)).collect();
            if open.is_empty() {
                return Ok(outcomes.into_values().collect());
            }
            // Each boot gives an outcome of at least its first case, so this loop ends.
            booted += self.round(scenario, &open, length, booted, &mut outcomes, watch)?;
        }
    }

    /// Boots the open cases, the first boot with the number `from`; returns the number of boots.
    fn round(
        &mut self,
        scenario: &Scenario,
        open: &[Open<'_>],
        length: Length,
        from: usize,
        outcomes: &mut BTreeMap<usize, Outcome>,
        watch: Watch<'_>,
    ) -> Result<usize> {
        let all = outcomes.len() + open.len();
        let portions = boots(scenario, open, length.scale, self.jobs);
        let mut done = vec![0; portions.len()];
        let lab = &*self;
        let booted = worker_pool::each(
            &portions,
            self.jobs,
            |place, portion, tell: &dyn Fn((usize, String))| {
                let progress = |index, doing| tell((index, doing));
                lab.boot(scenario, portion, from + place, length, watch.stop, &progress)
            },
            |place, (index, doing)| {
                done[place] = index;
                let of_all = (outcomes.len() + done.iter().sum::<usize>()) as f64 / all.max(1) as f64;
                (watch.progress)(of_all.min(1.0), &doing);
            },
        )?;
        for booted in booted {
            self.seen.add(&booted);
            outcomes.extend(booted.outcomes);
        }
        watch.check()?;
        Ok(portions.len())
    }

    fn boot(
        &self,
        scenario: &Scenario,
        cases: &[Open<'_>],
        place: usize,
        length: Length,
        stop: &AtomicBool,
        progress: &dyn Fn(usize, String),
    ) -> Result<Booted> {
        let watch = Watch { stop, progress: &|_, _| {} };
        // The first case is repeated, to check the boot's reproducibility.
        let planned: Vec<Case> = cases.iter().chain(cases.first()).map(|(_, case)| (*case).clone()).collect();
        let script = plan::script(scenario, &planned, length.scale);
        let estimate_s: f64 = planned.iter().map(|case| case_s(scenario, case, length.scale)).sum();
        let nth = if place == 0 { String::new() } else { format!("-{}", place + 1) };
        let name = format!("{}-{}{nth}", self.kernel.series, scenario.name);
        let wanted = self.wanted(scenario.file_system, &planned)?;
        let (console, log) =
            self.console(&name, &script, &wanted, scenario.memory_bytes(), 1, estimate_s, watch, |line| {
                match console::progress(line) {
                    Some(Progress::Case(index)) => {
                        let doing = planned.get(index).map(|case| case.words(scenario)).unwrap_or_default();
                        progress(index.min(cases.len()), doing);
                    }
                    Some(Progress::End) => progress(cases.len(), "done".to_owned()),
                    None => {}
                }
            })?;
        let console = console::parse(&console);
        let judged = judge(&console, planned.len(), &seeds_of_first(cases), length.repeat_percent_max);
        let fidelity = match judged.map_err(|why| Error::Refused { why, log: log.clone() })? {
            Judged::Good(fidelity) => fidelity,
            Judged::NotRepeated(why) => {
                let console = log.file_name().unwrap_or_default().to_string_lossy();
                let why = format!("{why} (console {console})");
                return Ok(Booted { outcomes: not_repeated(cases, &why), fidelity: None });
            }
        };
        let mut outcomes = Vec::new();
        for ((place, case), output) in cases.iter().zip(&console.cases) {
            // A failure may have a cause outside of the key, so it is not stored.
            if let Some(store) = self.store.as_ref().filter(|_| output.failed.is_none()) {
                store.put(store.key(scenario, case, length.scale), output, fidelity)?;
            }
            outcomes.push((*place, outcome(scenario, case, output)));
        }
        Ok(Booted { outcomes, fidelity: Some(fidelity) })
    }

    /// Boots a script; returns the console and its path.
    #[allow(clippy::too_many_arguments, reason = "one call site for measurements and one for tests")]
    pub(crate) fn console(
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
    fn wanted(&self, file_system: Option<FileSystem>, cases: &[Case]) -> Result<Wanted> {
        let mut wanted = Wanted::default();
        for case in cases {
            if let Some(module) = &self.check_scheduler(&case.setup.scheduler)?.module
                && !wanted.modules.contains(module)
            {
                wanted.modules.push(module.clone());
            }
        }
        wanted.modules.push("brisk_flash".to_owned());
        wanted.file_system(file_system);
        Ok(wanted)
    }
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
    (0..cases.len()).filter(|place| cases[*place].1.same_but_seed(first)).collect()
}

/// Outcomes of a boot whose first case was not reproduced: cases with the same setting have no figures, others no outcome.
fn not_repeated(cases: &[Open<'_>], why: &str) -> Vec<(usize, Outcome)> {
    let Some((_, first)) = cases.first() else { return Vec::new() };
    let same = cases.iter().filter(|(_, case)| case.setup == first.setup);
    same.map(|(place, case)| (*place, Outcome { case: (*case).clone(), sides: Err(why.to_owned()), starved: None }))
        .collect()
}

/// Divides the cases into boots of equal length for the number of machines, if they are worth a boot. Seeds of one load stay
/// together if they fit, since their spread bounds the difference of a repeat.
fn boots<'a, 'b>(scenario: &Scenario, cases: &'a [Open<'b>], scale: f64, jobs: usize) -> Vec<&'a [Open<'b>]> {
    let length_s = |cases: &[Open<'_>]| cases.iter().map(|(_, case)| case_s(scenario, case, scale)).sum::<f64>();
    let longest_s = (length_s(cases) / jobs.max(1) as f64).clamp(BOOT_S_MIN, BOOT_S_MAX) * 1.001;
    let fits = |portion: &[Open<'_>]| portion.len() <= CASES_MAX && length_s(portion) <= longest_s;
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
    use crate::case::{Setup, cases};

    #[test]
    fn an_unreproduced_setting_does_not_affect_others() {
        let text = "title = \"t\"\nquestion = \"q?\"\ndevice = { preset = \"ufs-3.1\", size = \"64MiB\" }\n\
            [[load]]\nname = \"l\"\nseconds = 1\n[[load.job]]\nname = \"j\"\nside = \"read\"\nprobe = \"op=read\"\n";
        let scenario = Scenario::parse("t", text, Path::new("/nowhere")).expect("valid");
        let of = |scheduler: &str| Setup { scheduler: scheduler.to_owned(), settings: Default::default() };
        let all = [cases(&scenario, &of("bfq"), &[1, 2]), cases(&scenario, &of("none"), &[1, 2])].concat();
        let open: Vec<Open<'_>> = all.iter().enumerate().skip(1).collect();
        assert_eq!(seeds_of_first(&all.iter().enumerate().collect::<Vec<_>>()), [0, 1], "of one setting");
        let refused = not_repeated(&open, "why");
        assert_eq!(refused.iter().map(|(place, outcome)| (*place, &outcome.case)).collect::<Vec<_>>(), [(1, &all[1])]);
        assert_eq!(refused[0].1.sides, Err("why".to_owned()));
        let measured = crate::figures::measures(&scenario, &of("bfq"), &[refused[0].1.clone()]);
        assert_eq!(measured, Err("why".to_owned()), "one of its cases is enough");
    }

    #[test]
    fn every_case_runs_once_and_no_boot_is_too_long() {
        let text = "title = \"t\"\nquestion = \"q?\"\ndevice = { preset = \"ufs-3.1\", size = \"64MiB\" }\n\
            [[load]]\nname = \"l\"\nseconds = 50\n[[load.job]]\nname = \"j\"\nside = \"read\"\nprobe = \"op=read\"\n";
        let scenario = Scenario::parse("t", text, Path::new("/nowhere")).expect("valid");
        let setup = Setup { scheduler: "none".to_owned(), settings: Default::default() };
        let seeds: Vec<u64> = (0..11).collect();
        let all = cases(&scenario, &setup, &seeds);
        let all: Vec<Open<'_>> = all.iter().enumerate().collect();
        let lengths = |portions: Vec<&[Open<'_>]>| portions.iter().map(|portion| portion.len()).collect::<Vec<_>>();
        assert_eq!(lengths(boots(&scenario, &all, 1.0, 1)), [3, 3, 3, 2]);
        assert_eq!(boots(&scenario, &all, 1.0, 1).concat(), all);
        // Two machines share what one would do alone, unless it is not worth it.
        assert_eq!(lengths(boots(&scenario, &all[..4], 1.0, 2)), [2, 2]);
        assert_eq!(lengths(boots(&scenario, &all[..4], 0.01, 2)), [4]);
        // Seeds of a load share a boot, even if another load would fit some of them.
        let two = cases(&scenario, &Setup { scheduler: "bfq".to_owned(), settings: Default::default() }, &[1, 2]);
        let mixed: Vec<Open<'_>> = two.iter().enumerate().chain(all[..2].iter().copied()).collect();
        assert_eq!(lengths(boots(&scenario, &mixed, 1.0, 1)), [2, 2]);
        // A case that is longer than a boot still runs.
        assert_eq!(boots(&scenario, &all, 100.0, 1).len(), 11);
        assert_eq!(boots(&scenario, &all, 0.001, 1).len(), 1);
        assert_eq!(boots(&scenario, &[], 1.0, 4).len(), 0);
    }
}
