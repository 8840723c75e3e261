//! `brisk study memory`: what apps take of a phone's memory, and with how little they start.
//!
//! Parts that need no swap run on a phone without, so that all of an app is in memory; the part `sets` gets a phone
//! with swap on its flash, last and for as short as possible, since swap areas are the machine's.

use std::cell::Cell;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::launch::{Launcher, Settings};
use crate::memory::Error;
use crate::memory::study::{self, Bed, FreeOptions, GrowthOptions, LimitOptions, SetOptions};
use crate::phone::{App, Catalogue, MemorySpec, Phone, Phones, SwapKind};
use crate::results::{
    AppGrowth, AppSets, Document, FreeMemory, MemoryFailure, MemoryPart, MemoryPartDone, MemoryStudyReport, PhoneFacts,
    SplitMethod, StartLimits, Warning,
};
use crate::study::memory_study::arguments::{Args, PartName};
use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_command::duration;
use brisk_command::output::{self, replace};
use brisk_command::session::{Session, lab_late};
use brisk_core::units::format_bytes;

use crate::study::display::{self, Display};
use crate::study::launch;
use crate::study::on_phone::{self, Brought, Wanted};
use crate::study::other_daemons;

/// Flash where none was named: that of the phone in the dissertation and in MARS.
const PRESET: &str = "nexus4-emmc";
/// With less no program can be loaded.
const LIMIT_MIN_BYTES: u64 = 1 << 20;

/// The refusal of the part that needs swap.
const WITHOUT_SETS: &str = "the part sets is not possible (name the other parts in --parts)";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let parts: Vec<MemoryPart> =
        MemoryPart::ALL.into_iter().filter(|part| args.parts.iter().any(|name| part_of(*name) == *part)).collect();
    let apps = apps(args)?;
    check(args, &parts, &apps)?;
    let mut display = display::of_phone(&args.display)?;
    let session = launch::begin()?;
    let phones = phones(args, &session, &parts)?;
    session.say(&announced(args, &parts, apps.len()));
    let mut study = Study::new(args, &session, apps, &parts);
    let outcome = study.run(phones, &mut display);
    session.clear();
    let why = match &outcome {
        Ok(None) => return study.finish(),
        Ok(Some(_)) => "it was stopped".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    // What is complete took minutes, and is not lost.
    if !study.parts.is_empty() {
        study.left_out(&parts, &why);
        study.finish()?;
    }
    outcome.map(|stopped| stopped.unwrap_or(ExitCode::SUCCESS))
}

fn part_of(name: PartName) -> MemoryPart {
    match name {
        PartName::Free => MemoryPart::Free,
        PartName::Growth => MemoryPart::Growth,
        PartName::Limits => MemoryPart::Limits,
        PartName::Sets => MemoryPart::Sets,
    }
}

/// The apps in the order in which they were named.
fn apps(args: &Args) -> anyhow::Result<Vec<&'static App>> {
    let catalogue = Catalogue::builtin();
    if args.apps.iter().map(String::as_str).eq(["all"]) {
        return Ok(catalogue.apps.iter().collect());
    }
    let mut apps: Vec<&'static App> = Vec::new();
    for name in &args.apps {
        let app = catalogue.app(name)?;
        if apps.iter().any(|known| known.name == app.name) {
            bail!("--apps names {name} twice");
        }
        apps.push(app);
    }
    Ok(apps)
}

/// Refuses what cannot work, before a phone is made.
fn check(args: &Args, parts: &[MemoryPart], apps: &[&App]) -> anyhow::Result<()> {
    args.outputs.check(Path::new("/"))?;
    if let Some(file) = &args.traces {
        if !parts.contains(&MemoryPart::Growth) {
            bail!("--traces has the samples of the part growth: name it in --parts");
        }
        output::check("--traces", file)?;
    }
    if parts.contains(&MemoryPart::Sets) && apps.len() < 2 {
        bail!("the part sets needs two apps or more, as each comes back from behind another: name them in --apps");
    }
    if parts.contains(&MemoryPart::Limits) {
        for &limit_bytes in &args.limits {
            if limit_bytes < LIMIT_MIN_BYTES {
                let [limit, least] = [limit_bytes, LIMIT_MIN_BYTES].map(format_bytes);
                bail!("--limits {limit} is too small for any program: at least {least}");
            }
            if args.phone.phone.is_none() && limit_bytes > args.memory {
                let [limit, memory] = [limit_bytes, args.memory].map(format_bytes);
                bail!("--limits {limit} is more than the phone has ({memory}): give less, or more --memory");
            }
        }
    }
    Ok(())
}

/// The memory of the phones that are needed, in turn, each with its parts; `None` is a phone that is up.
type InTurn = Vec<(Option<MemorySpec>, Vec<MemoryPart>)>;

fn phones(args: &Args, session: &Session, parts: &[MemoryPart]) -> anyhow::Result<InTurn> {
    if let Some(id) = &args.phone.phone {
        let phone = Phones::new(session.run_dir()).find(Some(id))?;
        let Some(memory) = phone.memory() else { return Err(Error::NoLimit(phone.id()).into()) };
        if parts.contains(&MemoryPart::Sets) && memory.swap != SwapKind::Flash {
            return Err(Error::NoSwap(phone.id())).context(WITHOUT_SETS);
        }
        return Ok(vec![(None, parts.to_vec())]);
    }
    let (with_swap, without): (Vec<_>, Vec<_>) = parts.iter().partition(|part| **part == MemoryPart::Sets);
    let spec = |swap| MemorySpec { limit_bytes: args.memory, swap, swap_bytes: args.memory.saturating_mul(2) };
    let mut phones = Vec::new();
    for (swap, parts) in [(SwapKind::None, without), (SwapKind::Flash, with_swap)] {
        if !parts.is_empty() {
            let checked = wanted(args, Some(spec(swap))).check(session);
            if swap == SwapKind::None { checked } else { checked.context(WITHOUT_SETS) }?;
            phones.push((Some(spec(swap)), parts));
        }
    }
    Ok(phones)
}

fn wanted(args: &Args, memory: Option<MemorySpec>) -> Wanted<'_> {
    Wanted {
        preset: args.phone.preset.as_deref().unwrap_or(PRESET),
        size_bytes: args.phone.size,
        scheduler: args.phone.scheduler.as_deref(),
        cache_dir: args.phone.cache_dir.as_ref(),
        memory,
    }
}

fn on_phone(args: &Args, session: &Session, memory: Option<MemorySpec>, apps: &[&App]) -> anyhow::Result<Brought> {
    if memory.is_none() {
        return on_phone::bring(&args.phone, session, apps);
    }
    let names: Vec<String> = apps.iter().map(|app| app.name.clone()).collect();
    wanted(args, memory).up(session, &names)
}

/// Takes a phone down that was brought up; one that stays keeps time again.
fn leave(args: &Args, phone: Phone) -> anyhow::Result<()> {
    if args.phone.phone.is_some() {
        phone.set_timed(true)?;
    }
    on_phone::leave(&args.phone, phone)
}

/// How long a part takes when all goes well.
fn estimate(args: &Args, part: MemoryPart, apps: usize) -> Duration {
    let apps = u32::try_from(apps).unwrap_or(u32::MAX);
    let seconds = Duration::from_secs;
    match part {
        MemoryPart::Free => (args.dwell + seconds(1)).saturating_mul(args.rounds.saturating_mul(apps)),
        MemoryPart::Growth => (args.length + seconds(3)).saturating_mul(args.runs.saturating_mul(apps)),
        MemoryPart::Limits => {
            let limits = u32::try_from(args.limits.len()).unwrap_or(u32::MAX);
            seconds(7).min(args.timeout).saturating_mul(args.tries.saturating_mul(apps).saturating_mul(limits))
        }
        MemoryPart::Sets => seconds(8).saturating_mul(args.runs.saturating_add(1).saturating_mul(apps)),
    }
}

fn announced(args: &Args, parts: &[MemoryPart], apps: usize) -> String {
    // Whole minutes, or whole tens of seconds: more would promise too much.
    let rounded = |time: Duration| {
        let step_s = if time.as_secs() < 90 { 10 } else { 60 };
        duration::written(Duration::from_secs(time.as_secs().div_ceil(step_s) * step_s))
    };
    let times: Vec<Duration> = parts.iter().map(|part| estimate(args, *part, apps)).collect();
    let words: Vec<String> =
        parts.iter().zip(&times).map(|(part, time)| format!("{} {}", part.name(), rounded(*time))).collect();
    format!("this takes about {}: {}", rounded(times.iter().sum()), words.join(", "))
}

/// What was found so far.
struct Study<'a> {
    args: &'a Args,
    session: &'a Session,
    apps: Vec<&'static App>,
    /// Sum of all estimates, and of those of parts that are done.
    all: Duration,
    done: Duration,
    head: Option<(Run, PhoneFacts, u64)>,
    parts: Vec<MemoryPartDone>,
    free: Option<FreeMemory>,
    growth: Vec<AppGrowth>,
    limits: Option<StartLimits>,
    sets: Vec<AppSets>,
    failures: Vec<MemoryFailure>,
}

impl<'a> Study<'a> {
    fn new(args: &'a Args, session: &'a Session, apps: Vec<&'static App>, parts: &[MemoryPart]) -> Self {
        Self {
            all: parts.iter().map(|part| estimate(args, *part, apps.len())).sum(),
            args,
            session,
            apps,
            done: Duration::ZERO,
            head: None,
            parts: Vec::new(),
            free: None,
            growth: Vec::new(),
            limits: None,
            sets: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Does all parts; gives the exit code when it was stopped.
    fn run(&mut self, phones: InTurn, display: &mut Display) -> anyhow::Result<Option<ExitCode>> {
        for (memory, parts) in phones {
            let phone = match on_phone(self.args, self.session, memory, &self.apps)? {
                Brought::Up(phone) => *phone,
                Brought::Stopped => return Ok(Some(self.session.was_stopped())),
            };
            let mut outcome = self.measure(&phone, display, &parts);
            self.session.clear();
            let is_there = || Phones::new(self.session.run_dir()).find(Some(&phone.id().to_string())).is_ok();
            if outcome.is_err() && !is_there() {
                outcome = outcome.with_context(|| format!("phone {} was taken down meanwhile", phone.id()));
            }
            let left = leave(self.args, phone);
            match outcome {
                Err(error) if matches!(error.downcast_ref(), Some(Error::Stopped)) => {
                    left?;
                    return Ok(Some(self.session.was_stopped()));
                }
                outcome => outcome.and(left)?,
            }
        }
        Ok(None)
    }

    /// Warns of the parts that were not done.
    fn left_out(&mut self, parts: &[MemoryPart], why: &str) {
        let left: Vec<&str> = parts
            .iter()
            .filter(|part| self.parts.iter().all(|done| done.part != **part))
            .map(|part| part.name())
            .collect();
        let text = format!("Not done: {}, since {why}.", left.join(", "));
        if let Some((head, ..)) = &mut self.head {
            head.warn([Warning { code: "incomplete".to_owned(), text }]);
        }
    }

    /// Does these parts on a phone.
    fn measure(&mut self, phone: &Phone, display: &mut Display, parts: &[MemoryPart]) -> anyhow::Result<()> {
        let (args, session) = (self.args, self.session);
        let sense = session.sense();
        let Some(memory) = phone.memory() else { return Err(Error::NoLimit(phone.id()).into()) };
        if self.head.is_none() {
            let head = Run::begin(&sense, &Place::find(&sense, &phone.root(), false)?, 0)?;
            self.head = Some((head, phone.facts()?, memory.limit_bytes));
        }
        // Nothing of a launch is split by cause, so no events are needed.
        let settings = Settings { method: SplitMethod::Cgroup, ..Settings::default() };
        let launcher = Launcher { sense: &sense, settings, stop: session.stop_flag() };
        let whole = self.all;
        // Where the present part stands among all: when it begins, and how long it takes.
        let place = Cell::new((self.done, Duration::ZERO));
        let mut progress = |share: f64, doing: &str| {
            let (before, took) = place.get();
            session.show((before + took.mul_f64(share)).as_secs_f64() / whole.as_secs_f64(), doing);
        };
        let mut bed = Bed::new(phone, launcher, display.needed()?, &self.apps, &mut progress)?;
        let swap = swap_name(memory.swap);
        let outcome = parts.iter().try_for_each(|&part| {
            place.set((self.done, estimate(args, part, self.apps.len())));
            self.part(&mut bed, part, swap)
        });
        // A phone that stays is left as it was, also when it was stopped.
        let left = bed.leave();
        outcome?;
        left?;
        if let Some((head, ..)) = &mut self.head {
            head.warn(other_daemons::warnings(&sense, phone)?);
            if args.phone.phone.is_none() {
                head.warn(lab_late(&phone.flash()?));
            }
        }
        Ok(())
    }

    fn part(&mut self, bed: &mut Bed<'_>, part: MemoryPart, swap: &str) -> anyhow::Result<()> {
        let (args, begin) = (self.args, Instant::now());
        match part {
            MemoryPart::Free => {
                let options = FreeOptions { dwell: args.dwell, rounds: args.rounds, interval: args.interval };
                self.free = Some(study::free(bed, &options)?);
            }
            MemoryPart::Growth => {
                let options = GrowthOptions { runs: args.runs, length: args.length, interval: args.interval };
                self.growth = study::growth(bed, &options)?;
            }
            MemoryPart::Limits => {
                let limits_bytes = args.limits.clone();
                let options = LimitOptions { limits_bytes, tries: args.tries, timeout: args.timeout };
                self.limits = Some(study::limits(bed, &options)?);
            }
            MemoryPart::Sets => self.sets = study::sets(bed, &SetOptions { runs: args.runs })?,
        }
        self.failures.extend(bed.take_failures());
        self.done += estimate(args, part, self.apps.len());
        self.parts.push(MemoryPartDone { part, swap: swap.to_owned(), took_s: begin.elapsed().as_secs_f64() });
        Ok(())
    }

    /// Shows the result; the exit code says whether all apps have figures.
    fn finish(self) -> anyhow::Result<ExitCode> {
        let Some((mut head, phone, limit_bytes)) = self.head else { bail!("--parts names no part") };
        if self.parts.iter().any(|done| [MemoryPart::Growth, MemoryPart::Sets].contains(&done.part))
            && self.args.runs < 6
        {
            head.warn([launch::few_runs(self.args.runs as usize)]);
        }
        let mut header = head.end(None, 0);
        if let Some(device) = &mut header.environment.device {
            device.lab_preset = Some(phone.preset.clone());
        }
        let is_done = |part| self.parts.iter().any(|done| done.part == part);
        let traces = self.args.traces.as_ref().filter(|_| is_done(MemoryPart::Growth));
        let traces = traces.map(|file| replace(file, study::traces(&self.growth)?.as_bytes()));
        let failed = !self.failures.is_empty();
        let report = MemoryStudyReport {
            header,
            phone,
            limit_bytes,
            apps: self.apps.iter().map(|app| app.name.clone()).collect(),
            parts: self.parts,
            free: self.free,
            growth: self.growth,
            limits: self.limits,
            sets: self.sets,
            failures: self.failures,
        };
        // When the traces cannot be written the result is still shown: it took minutes.
        let shown = self.session.finish(Document::from(report), &self.args.outputs);
        traces.transpose()?;
        shown.map(|()| ExitCode::from(u8::from(failed)))
    }
}

fn swap_name(swap: SwapKind) -> &'static str {
    match swap {
        SwapKind::None => "none",
        SwapKind::Flash => "flash",
        SwapKind::Zram => "zram",
        SwapKind::ZramFlash => "zram_flash",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, FromArgMatches as _};

    fn args(words: &[&str]) -> Args {
        let matches = Args::augment_args(clap::Command::new("memory")).get_matches_from([&["memory"], words].concat());
        Args::from_arg_matches(&matches).expect("understood")
    }

    #[test]
    fn the_default_apps_are_in_the_catalogue_and_keep_their_order() {
        let names = |args: &Args| apps(args).expect("known").iter().map(|app| app.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(&args(&[])).len(), 5);
        assert_eq!(names(&args(&["--apps", "xterm,evince"])), ["xterm", "evince"]);
        assert_eq!(names(&args(&["--apps", "all"])).len(), Catalogue::builtin().apps.len());
    }

    #[test]
    fn the_time_of_the_slow_part_grows_with_limits_and_tries() {
        let of = |words: &[&str]| estimate(&args(words), MemoryPart::Limits, 5);
        assert_eq!(of(&["--tries", "20"]), 2 * of(&["--tries", "10"]));
        assert_eq!(of(&["--limits", "16M,32M"]) * 2, of(&["--limits", "16M,32M,64M,128M"]));
        let said = announced(&args(&["--runs", "1", "--length", "20s"]), &[MemoryPart::Growth, MemoryPart::Free], 1);
        assert_eq!(said, "this takes about 50s: growth 30s, free 30s");
    }
}
