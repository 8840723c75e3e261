//! Measures all cells of a device, and computes the table.
//!
//! A round goes through the workloads in random order, three at a time; for these, through the settings in random
//! order. A setting and the device's own are thus measured within half a minute of each other, and their ratio is free
//! of slower drift of the machine. Arrivals of a workload are the same in all its cells. The cost of a setting is the
//! median of its rounds' ratios, with a bootstrap interval: noise widens the intervals, and the engine ignores savings
//! whose interval is too wide. After each setting the state is saved, and a cancelled run is continued from there, if
//! device, kernel, meter, settings and workloads are the same.

mod cell;
mod search;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::results::Header;
use brisk_act::{BlockQueue, Journal, Paths};
use brisk_bench::control::Control;
use brisk_bench::engine::Engine;
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_bench::work_file::{Size, WorkFile};
use brisk_bench::{Sense, cache};
use brisk_core::random::Random;
use brisk_engine::smartstorage::model::MODEL_VERSION;
use brisk_engine::smartstorage::{Model, Setting};
use brisk_sense::{Identity, SampleChoice, Sampler};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::meter::{self, About, Meter, MeterKind};
use crate::open_loop::OpenLoop;
use crate::store;
use crate::workload::Workload;
use cell::{Sums, reopened};
use table::{fewer_rounds, is_noisy, mean, noisy, saturated, spread_share, table, take_unmeasured, unmeasured};

/// Depths to try, as far as the device supports them; `none` has the driver's.
pub const DEPTHS_REQUESTS: [u32; 4] = [4, 16, 64, 128];
/// Least number of rounds: fewer give no intervals.
const ROUNDS_MIN: u32 = 3;
/// Overhead of switching and draining relative to the cells' time, for the estimate of the remaining time.
const AROUND: f64 = 1.25;
#[derive(Debug, Clone)]
pub struct Options {
    /// Directory on the device, or the device itself with `destroy_data`.
    pub path: PathBuf,
    /// Permission to destroy the content of the device.
    pub destroy_data: bool,
    pub workloads: Vec<Workload>,
    pub depths_requests: Vec<u32>,
    /// Schedulers; none: all that the kernel offers.
    pub schedulers: Vec<String>,
    /// Length of a cell in each round.
    pub cell: Duration,
    pub rounds: u32,
    /// Total time: rounds beyond the third are skipped when they would exceed it.
    pub budget: Duration,
    pub size: Size,
    /// The meter; none: the best that there is.
    pub meter: Option<MeterKind>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Directory of profiles: for what an unfinished run has measured.
    pub profiles: PathBuf,
    /// Whether this is to judge a profile, and not one.
    pub held_out: bool,
}

/// By workload and setting: requests a second, and whether the device kept up.
pub type Rates = BTreeMap<(String, Setting), (f64, bool)>;

/// The measurements. As JSON, a run in the virtual machine passes them to the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub model: Model,
    #[serde(with = "as_list")]
    pub rates: Rates,
    pub meter: About,
    /// Half the distance between the rounds of a cell over their middle, in the middle of all cells: of energy, and of
    /// delay. Nothing where there is one round.
    pub spread_share: (f64, f64),
    /// Cells of an earlier run that was stopped.
    pub taken_over: usize,
    pub header: Header,
}

/// Serialisation as a list, as keys of JSON objects are strings.
mod as_list {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{Rates, Setting};

    pub(super) fn serialize<S: Serializer>(rates: &Rates, to: S) -> Result<S::Ok, S::Error> {
        rates.iter().collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Rates, D::Error> {
        Ok(Vec::<((String, Setting), (f64, bool))>::deserialize(from)?.into_iter().collect())
    }
}

/// Identity of a run: a cancelled run is continued only by one with the same plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Plan {
    version: u32,
    device: String,
    kernel: String,
    meter: About,
    own: Setting,
    settings: Vec<Setting>,
    workloads: Vec<Workload>,
    cell_ms: u64,
    rounds: u32,
    seed: u64,
}

/// Saved state of an unfinished run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Unfinished {
    /// The plan as text: numbers may not be read back to their last digit.
    plan: String,
    /// By round, setting and workload.
    cells: Vec<(u32, usize, usize, Sums)>,
}

/// Cells to measure; rounds of the same number are paired.
struct Todo {
    /// The number of the first round: a multiple of [`PHASE_ROUNDS`].
    first: u32,
    settings: Vec<usize>,
    workloads: Vec<usize>,
    /// Cells that come after these, about.
    later_cells: u64,
}

/// State that a round changes.
struct Stand<'a> {
    queue: &'a mut BlockQueue,
    journal: &'a mut Journal,
    unfinished: &'a mut Unfinished,
    file: &'a Path,
}

/// Number of workloads under a setting before the next switch: switching takes as long as half a cell, and the device's
/// own setting is still measured within half a minute of every other.
const WORKLOADS_TOGETHER: usize = 3;

/// Rounds of one phase have numbers up to this from each other.
const PHASE_ROUNDS: u32 = 1_000;

fn phase(round: u32) -> u32 {
    round / PHASE_ROUNDS
}

struct Bench<'a> {
    options: &'a Options,
    control: &'a Control<'a>,
    disk: String,
    place: Place,
    work: WorkFile,
    /// The same through the page cache.
    cached: std::fs::File,
    engine: Engine,
    open_loop: OpenLoop,
    meter: Box<dyn Meter>,
    sampler: Sampler,
    begun: Instant,
    /// Cells measured since then.
    cells: u64,
    /// Rounds that there was no time for.
    left_out_rounds: u32,
}

/// Whether another round ends in time, by the mean length of the cells so far.
fn is_affordable(elapsed: Duration, cells: u64, more_cells: u64, budget: Duration) -> bool {
    cells == 0 || elapsed.as_secs_f64() * (1.0 + more_cells as f64 / cells as f64) <= budget.as_secs_f64()
}

/// Runs the profile.
///
/// # Errors
/// When the place cannot be measured, has no single device or no scheduler to choose, a setting is refused, a request
/// fails, or the stop flag is set. The settings are restored in every case; completed measurements are kept.
pub fn run(sense: &Sense, paths: &Paths, options: &Options, control: &Control<'_>) -> Result<Measured> {
    if let Some(Workload { name, .. }) = options.workloads.iter().find(|workload| workload.ask.is_empty()) {
        return Err(Error::Workload { name: name.clone(), why: "it neither reads nor writes".to_owned() });
    }
    let begun = Instant::now();
    let place = Place::find(sense, &options.path, options.destroy_data)?;
    let located = sole(&place)?;
    let disk = located.disk.name.clone();
    let Identity { model, kind, .. } = sense.identity(&located.disk)?;
    let mut queue = BlockQueue::new(&paths.sysfs, &disk);
    let own = own(sense, &disk)?;
    let settings = settings(sense, &disk, &own, options)?;
    let meter = meter::choose(sense, &disk, options.meter)?;
    if options.cell < meter.cell_min() {
        let least = meter.cell_min().as_secs_f64();
        return Err(meter.about().kind.unusable(format!("it needs cells of {least} s: use a longer --cell")));
    }
    let about = meter.about();
    let unfinished_file = store::unfinished_of(&options.profiles, &model, options.held_out);
    let mut plan = Plan {
        version: MODEL_VERSION,
        device: model.clone(),
        kernel: sense.kernel_release()?,
        meter: about.clone(),
        own: own.clone(),
        settings: settings.clone(),
        workloads: options.workloads.clone(),
        cell_ms: u64::try_from(options.cell.as_millis()).unwrap_or(u64::MAX),
        rounds: options.rounds,
        seed: options.seed,
    };
    let mut unfinished = Unfinished::of(&plan, &unfinished_file);
    let taken_over = unfinished.cells.len();

    let mut head = Run::begin(sense, &place, options.seed)?;
    let engine = Engine::choose(None)?;
    let work = WorkFile::prepare(&place, options.size, &engine, options.seed, control)?;
    head.warn(cache::warning(&cache::check(sense, &place, &work, &engine, control)?));
    let sampler = Sampler::new(sense.clone(), SampleChoice { devices: vec![disk.clone()], ..SampleChoice::default() })?;
    let cached = reopened(&work).map_err(|source| Error::File { doing: "reopen", path: place.path.clone(), source })?;
    let (open_loop, cells, left_out_rounds) = (OpenLoop::default(), 0, 0);
    let mut bench = Bench {
        options,
        control,
        disk,
        place,
        work,
        cached,
        engine,
        open_loop,
        meter,
        sampler,
        begun,
        cells,
        left_out_rounds,
    };
    let mut journal = Journal::open("profile", paths).map_err(act("open the journal of changes"))?;
    let mut stand =
        Stand { queue: &mut queue, journal: &mut journal, unfinished: &mut unfinished, file: &unfinished_file };
    let mut written_bytes = bench.rounds(&plan, &search::grid(&plan), &mut stand)?;
    written_bytes += bench.search(sense, &mut plan, &mut stand)?;

    let (mut model, rates) = table(&plan, &unfinished, model, kind);
    let without_requests = take_unmeasured(&mut model);
    if model.workloads.is_empty() {
        let why = "none of its requests was done in its cells: use a longer --cell".to_owned();
        return Err(Error::Workload { name: without_requests.join(", "), why });
    }
    if !without_requests.is_empty() {
        head.warn([unmeasured(&without_requests)]);
    }
    if rates.values().any(|(_, kept_up)| !kept_up) {
        head.warn([saturated(&rates)]);
    }
    let spread_share = (
        spread_share(&plan, &unfinished, |sums| mean(sums.energy_uj, sums.reads + sums.writes)),
        spread_share(&plan, &unfinished, |sums| mean(sums.read_us, sums.reads).or(mean(sums.write_us, sums.writes))),
    );
    if bench.left_out_rounds > 0 {
        head.warn([fewer_rounds(bench.left_out_rounds, options)]);
    }
    if is_noisy(spread_share) {
        head.warn([noisy(spread_share)]);
    }
    let written_bytes = bench.work.written_bytes + written_bytes;
    let header = head.end(Some(bench.engine.description()), written_bytes);
    store::remove(&unfinished_file)?;
    Ok(Measured { model, rates, meter: about, spread_share, taken_over, header })
}

/// What the device under `path` is called.
///
/// # Errors
/// When the place cannot be measured or has no single device.
pub fn device_of(sense: &Sense, path: &Path, destroy_data: bool) -> Result<Identity> {
    let place = Place::find(sense, path, destroy_data)?;
    let located = sole(&place)?;
    Ok(sense.identity(&located.disk)?)
}

/// The disk below a place.
fn sole(place: &Place) -> Result<&brisk_sense::Located> {
    let none = || Error::NoDevice { path: place.path.clone(), disks: place.several() };
    place.device.as_ref().ok_or_else(none)
}

/// The device's original settings.
fn own(sense: &Sense, disk: &str) -> Result<Setting> {
    let queue = sense.block_queue(disk)?;
    match (queue.schedulers.current, queue.depth_requests) {
        (Some(scheduler), Some(depth)) => Ok(Setting::new(&scheduler, depth)),
        _ => Err(Error::NoChoice { device: disk.to_owned() }),
    }
}

/// All settings, the device's own first. Under `none` the depth is that of the driver's tags.
fn settings(sense: &Sense, disk: &str, own: &Setting, options: &Options) -> Result<Vec<Setting>> {
    let offered = sense.block_queue(disk)?.schedulers.available;
    if let Some(unknown) = options.schedulers.iter().find(|name| !offered.contains(name)) {
        let why = format!("this kernel has no scheduler '{unknown}' for {disk}: it offers {}", offered.join(", "));
        return Err(brisk_bench::Error::BadLoad(why).into());
    }
    if options.depths_requests.iter().any(|depth| !(4..=100_000).contains(depth)) {
        let why = "queue depths must be 4 or more, which is the least that the kernel leaves a queue".to_owned();
        return Err(brisk_bench::Error::BadLoad(why).into());
    }
    let wanted = if options.schedulers.is_empty() { &offered } else { &options.schedulers };
    let tags = (own.scheduler == "none").then_some(own.depth_requests);
    let mut settings = vec![own.clone()];
    for scheduler in wanted {
        for depth in &options.depths_requests {
            let depth = if scheduler == "none" { tags.map_or(*depth, |tags| tags.min(*depth)) } else { *depth };
            let setting = Setting::new(scheduler, depth);
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
    }
    Ok(settings)
}

fn act(doing: &str) -> impl FnOnce(brisk_act::Error) -> Error {
    move |source| Error::Act { doing: doing.to_owned(), source }
}

impl Unfinished {
    /// The state in `file`, if it is of the same plan and intact.
    fn of(plan: &Plan, file: &Path) -> Self {
        let plan = serde_json::to_string(plan).unwrap_or_default();
        match store::read::<Self>(file) {
            Ok(Some(earlier)) if earlier.plan == plan => earlier,
            _ => Self { plan, cells: Vec::new() },
        }
    }

    fn has(&self, round: u32, setting: usize, workload: usize) -> bool {
        self.cells.iter().any(|(r, s, w, _)| (*r, *s, *w) == (round, setting, workload))
    }

    /// The rounds of a cell with completed requests.
    fn rounds(&self, setting: usize, workload: usize) -> Vec<&Sums> {
        let of_cell = self.cells.iter().filter(|(_, s, w, _)| (*s, *w) == (setting, workload));
        of_cell.map(|(.., sums)| sums).filter(|sums| sums.reads + sums.writes > 0).collect()
    }
}

impl Bench<'_> {
    /// Goes through rounds of these workloads and settings, as far as cells are missing. Rounds are counted from
    /// `first` on. Gives the bytes that were written.
    pub(super) fn rounds(&mut self, plan: &Plan, todo: &Todo, stand: &mut Stand<'_>) -> Result<u64> {
        let (queue, journal) = (&mut *stand.queue, &mut *stand.journal);
        let (unfinished, file) = (&mut *stand.unfinished, stand.file);
        let (settings, workloads) = (&plan.settings, &plan.workloads);
        let cells = |todo: &Todo| u64::from(self.options.rounds) * (todo.settings.len() * todo.workloads.len()) as u64;
        let begun = unfinished.cells.iter().filter(|(round, ..)| phase(*round) < phase(todo.first)).count() as u64;
        let all = begun + cells(todo) + todo.later_cells;
        let mut random = Random(self.options.seed ^ u64::from(todo.first));
        let mut written_bytes = 0;
        for round in todo.first..todo.first + self.options.rounds {
            let of_round = cells(todo) / u64::from(self.options.rounds.max(1));
            let more = of_round + todo.later_cells;
            if round - todo.first >= ROUNDS_MIN
                && !is_affordable(self.begun.elapsed(), self.cells, more, self.options.budget)
            {
                self.left_out_rounds = self.left_out_rounds.max(todo.first + self.options.rounds - round);
                break;
            }
            let mut order = todo.settings.clone();
            random.shuffle(&mut order);
            let mut inner = todo.workloads.clone();
            random.shuffle(&mut inner);
            let together: Vec<Vec<usize>> = inner.chunks(WORKLOADS_TOGETHER).map(<[usize]>::to_vec).collect();
            let pairs = together.iter().flat_map(|some| order.iter().map(move |&setting| (some, setting)));
            for (some, setting) in pairs {
                let missing: Vec<usize> =
                    some.iter().copied().filter(|workload| !unfinished.has(round, setting, *workload)).collect();
                if missing.is_empty() {
                    continue;
                }
                let applied = apply(queue, journal, &settings[setting], &plan.own);
                // More than the driver has is refused under `none`, and not every device has all that a setting may
                // say; the cells of that setting stay away.
                let may_be_refused = settings[setting].scheduler == "none" || !settings[setting].is_plain();
                if may_be_refused && matches!(applied, Err(Error::Act { .. })) {
                    journal.restore().map_err(act(&format!("restore the settings of {}", self.disk)))?;
                    continue;
                }
                let measured = applied.and_then(|()| {
                    for workload in missing {
                        let done = unfinished.cells.len() as u64;
                        self.tell(done, all, &settings[setting], &workloads[workload].name);
                        let (sums, bytes) = self.cell(&workloads[workload])?;
                        written_bytes += bytes;
                        unfinished.cells.push((round, setting, workload, sums));
                        self.cells += 1;
                    }
                    Ok(())
                });
                // Also after a stop or an error.
                let kept = store::write(file, unfinished);
                // A depth under `none` is the driver's, and would persist for all later settings.
                let undone = journal.restore().map_err(act(&format!("restore the settings of {}", self.disk)));
                measured?;
                kept?;
                let left = undone?.left;
                if !left.is_empty() {
                    let left = left.iter().map(|l| format!("{}: {}", l.knob, l.reason)).collect::<Vec<_>>().join("; ");
                    return Err(Error::LeftBehind { device: self.disk.clone(), left });
                }
            }
        }
        Ok(written_bytes)
    }

    fn tell(&self, done: u64, all: u64, setting: &Setting, workload: &str) {
        let left_s = (all - done) as f64 * self.options.cell.as_secs_f64() * AROUND;
        let left = if left_s >= 90.0 { format!("{:.0} min", left_s / 60.0) } else { format!("{left_s:.0} s") };
        (self.control.progress)(done as f64 / all.max(1) as f64, &format!("{setting}: {workload}, about {left} left"));
    }
}

/// Puts `setting` in force, from the device's own.
fn apply(queue: &mut BlockQueue, journal: &mut Journal, setting: &Setting, own: &Setting) -> Result<()> {
    if setting == own {
        return Ok(());
    }
    let doing = format!("set {setting}");
    if (&setting.scheduler, setting.depth_requests) != (&own.scheduler, own.depth_requests) {
        queue.set_scheduler(journal, &setting.scheduler).map_err(act(&doing))?;
        queue.set_nr_requests(journal, setting.depth_requests).map_err(act(&doing))?;
    }
    if let Some(kb) = setting.read_ahead_kb {
        queue.set_read_ahead_kb(journal, kb.into()).map_err(act(&doing))?;
    }
    if let Some(us) = setting.wbt_lat_usec {
        queue.set_wbt_lat_usec(journal, us.into()).map_err(act(&doing))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
