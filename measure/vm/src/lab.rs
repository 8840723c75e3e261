//! A kernel that runs cases: boot by boot, each with its console on disk and held against the bounds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::Watch;
use crate::case::Case;
use crate::console::{self, Progress};
use crate::crew;
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

/// Cases of one boot: a boot that is refused costs no more than these.
const CASES_MAX: usize = 120;
/// Estimated length of one boot's loads in the guest's time.
const BOOT_S_MAX: f64 = 180.0;
/// Below this a boot of its own costs more than it saves.
const BOOT_S_MIN: f64 = 40.0;
/// What making a device and a scheduler takes in the guest.
const CASE_S: f64 = 0.2;
/// How much longer than the guest's time a run may take here, and what is granted besides.
const PATIENCE: (f64, f64) = (60.0, 900.0);

/// A kernel ready to run cases.
#[derive(Debug)]
pub struct Lab {
    source: Source,
    /// The kernel.
    pub kernel: Kernel,
    /// What it may be asked to compare.
    pub schedulers: Schedulers,
    /// Limit of one boot in wall time, when the person gave one.
    pub time_limit: Option<Duration>,
    /// Virtual machines at the same time; how many there are does not show in them.
    pub jobs: usize,
    /// Cases that were measured before, when they may be taken instead of measured.
    store: Option<Store>,
    /// Whether they are measured all the same.
    again: bool,
    seen: Seen,
}

/// What was run so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Boots.
    pub boots: u32,
    /// Cases in them, repeats left out.
    pub cases: u32,
    /// Cases of earlier boots.
    pub kept: u32,
    /// The worst of the boots.
    pub fidelity: Fidelity,
}

/// How long cases are, and what follows from that.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    /// Over those of the scenario's file.
    pub scale: f64,
    /// How far a case may differ from its repeat.
    pub repeat_percent_max: f64,
}

/// What a boot gave.
#[derive(Debug)]
struct Booted {
    /// By the place of the case.
    outcomes: Vec<(usize, Outcome)>,
    /// Of nothing where its first case was not repeated.
    fidelity: Option<Fidelity>,
}

/// A case that has to be measured, and its place among all.
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
    /// Fetches and builds what a series needs.
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

    /// From now on, cases that are measured are kept, and unless all is wanted `again`, those that were kept are not measured.
    ///
    /// # Errors
    /// When what goes into the guest cannot be read, or there is no emulator.
    pub fn remember(&mut self, again: bool) -> Result<()> {
        let folder = self.source.work().join("cases").join(&self.kernel.series);
        let init = self.source.path("kernel/guest/init");
        self.again = again;
        self.store = Some(Store::of(folder, &self.kernel, &init, &self.schedulers)?);
        Ok(())
    }

    /// What was run since it was last asked.
    pub fn take_seen(&mut self) -> Seen {
        std::mem::take(&mut self.seen)
    }

    /// Whether this kernel has a scheduler; an error says what was looked for.
    ///
    /// # Errors
    /// When the kernel has no module of it, or the table does not know it.
    pub fn check_scheduler(&self, name: &str) -> Result<&Scheduler> {
        let scheduler = self.schedulers.get(name)?;
        match &scheduler.module {
            Some(module) if !image::has_module(&self.kernel, module) => Err(Error::NoScheduler {
                scheduler: name.to_owned(),
                release: self.kernel.release.clone(),
                why: format!("there is no module {module}, neither its own nor one that kernel/build made"),
            }),
            _ => Ok(scheduler),
        }
    }

    /// Where consoles and plans are kept, the last of each kind.
    #[must_use]
    pub fn consoles(&self) -> PathBuf {
        self.source.work().join("consoles")
    }

    /// Runs all cases, in as few boots as their length and the processors here allow. A setting that does not repeat has no
    /// figures; what shared a boot with it is run again, in a boot that another one begins.
    ///
    /// # Errors
    /// When a boot fails or is refused for more than that: no figure is given of any.
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
            // Each boot has an outcome of its first case at least, so that this ends.
            booted += self.round(scenario, &open, length, booted, &mut outcomes, watch)?;
        }
    }

    /// Boots what is open, the first of the boots with the number `from`; gives how many there were.
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
        let booted = crew::each(
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
        // The first case again, to see that the boot agrees with itself.
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
            // What failed may be mended outside of what the key holds.
            if let Some(store) = self.store.as_ref().filter(|_| output.failed.is_none()) {
                store.put(store.key(scenario, case, length.scale), output, fidelity)?;
            }
            outcomes.push((*place, outcome(scenario, case, output)));
        }
        Ok(Booted { outcomes, fidelity: Some(fidelity) })
    }

    /// Boots a script; gives the console and where it is kept.
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
        hear: impl FnMut(&str),
    ) -> Result<(String, PathBuf)> {
        let logs = self.consoles();
        std::fs::create_dir_all(&logs).map_err(Error::io("make", &logs))?;
        // Two that run at the same time do not write the same file.
        let file = |ending: &str| logs.join(format!("{name}.{}.{ending}", std::process::id()));
        let log = logs.join(format!("{name}.log"));
        let archive = image::initramfs(&self.kernel, wanted, &self.source.path("kernel/guest/init"), script)?;
        let initramfs = Temporary(file("initramfs"));
        std::fs::write(&initramfs.0, &archive).map_err(Error::io("write", &initramfs.0))?;
        let machine = Machine {
            image: &self.kernel.image(),
            initramfs: &initramfs.0,
            // The archive is unpacked into memory, and lies there until then.
            memory_bytes: memory_bytes + 3 * archive.len() as u64,
            cpus,
            // On a busy host the interrupts by which a kernel tries its timers come late, and it would stop there.
            append: if cpus > 1 { "no_timer_check" } else { "" },
        };
        let limit = self.time_limit.unwrap_or_else(|| Duration::from_secs_f64(PATIENCE.1 + PATIENCE.0 * estimate_s));
        let plan = logs.join(format!("{name}.plan"));
        std::fs::write(&plan, script).map_err(Error::io("write", &plan))?;
        let console = qemu::boot(machine, &log, limit, watch, hear)?;
        Ok((console, log))
    }

    /// What the guest needs for these cases.
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

/// A file that goes with this value.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// About how long a case takes in the guest.
pub(crate) fn case_s(scenario: &Scenario, case: &Case, scale: f64) -> f64 {
    let prepare_s = if scenario.file_system.is_some() { 2.0 } else { 0.0 };
    case.load(scenario).estimate_s(scale) + CASE_S + prepare_s
}

/// The first case of a boot with whatever seed: the places of these.
fn seeds_of_first(cases: &[Open<'_>]) -> Vec<usize> {
    let Some((_, first)) = cases.first() else { return Vec::new() };
    (0..cases.len()).filter(|place| cases[*place].1.same_but_seed(first)).collect()
}

/// Outcomes of a boot whose first case was not repeated: of all with the same setting that it has no figures, of others none.
fn not_repeated(cases: &[Open<'_>], why: &str) -> Vec<(usize, Outcome)> {
    let Some((_, first)) = cases.first() else { return Vec::new() };
    let same = cases.iter().filter(|(_, case)| case.setup == first.setup);
    same.map(|(place, case)| (*place, Outcome { case: (*case).clone(), sides: Err(why.to_owned()), starved: None }))
        .collect()
}

/// The cases in portions of a boot: of equal length for as many machines as there are, where they are worth a boot. Seeds of
/// the same load stay together where they fit, since they tell how far a repeat of the first may differ.
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
    fn who_does_not_repeat_takes_no_other_along() {
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
        // Seeds of a load share a boot that holds them, though another load would still have room for some.
        let two = cases(&scenario, &Setup { scheduler: "bfq".to_owned(), settings: Default::default() }, &[1, 2]);
        let mixed: Vec<Open<'_>> = two.iter().enumerate().chain(all[..2].iter().copied()).collect();
        assert_eq!(lengths(boots(&scenario, &mixed, 1.0, 1)), [2, 2]);
        // One that is longer than a boot should be still runs.
        assert_eq!(boots(&scenario, &all, 100.0, 1).len(), 11);
        assert_eq!(boots(&scenario, &all, 0.001, 1).len(), 1);
        assert_eq!(boots(&scenario, &[], 1.0, 4).len(), 0);
    }
}
