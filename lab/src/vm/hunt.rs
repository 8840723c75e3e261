//! Hunt for the loads under which a scheduler is worse than others: loads and devices drawn by a seed, the search for
//! worse ones, and their shrinking.
//!
//! A [`load`] is a number for each dimension of device and jobs. Loads are drawn independently, so that the share of
//! those that hold a [`score::Bound`] estimates that of all loads that the dimensions can express. [`mod@search`]
//! changes the worst ones, and shrinks what is found to the smallest load that still shows it. That becomes a scenario
//! file, whose aims are regression bounds: the ratios at that time (`file`). Everything but [`Hunt`] is pure.
//!
//! Each load runs under the scheduler and all stock ones, with their defaults (and as rivals at their best) and the
//! same addresses; many loads share
//! a boot, which a steady load of its own begins and ends to check that the boot is reproduced. The same seed gives the
//! same loads. What a search or shrinking finds is measured again with other seeds, since the worst of many is partly
//! chance.

pub mod load;
pub mod score;
pub mod search;
mod text;

use std::path::PathBuf;

use crate::results::{HuntBound, HuntFound, HuntLoad, HuntRatio, HuntRow, KernelFidelity};
use brisk_core::stats::Summary;

use self::load::{DIMENSIONS, Levels};
use self::score::{Bound, BySchedulers, Figures, NONE, over_seeds};
use self::search::{Shrink, Tried};
pub use self::text::LOAD;
use crate::vm::Watch;
use crate::vm::case::{Case, Setup};
use crate::vm::error::{Error, Result};
use crate::vm::lab::{Lab, Length, Task};
use crate::vm::refuse::{LATENESS_NS_MEAN_MAX, REPEAT_PERCENT_MAX};
use crate::vm::scenario::Scenario;
use crate::vm::schedulers::{STOCK, Settings, words};

/// Share of the excess over 1 that a shrunk load keeps, and that is beyond the bound.
const KEPT: f64 = 0.5;
/// Seeds with which what was found is confirmed.
const SEEDS_OF_FOUND: [u64; 3] = [1_000_001, 1_000_002, 1_000_003];
/// Added to the ratio in a regression bound: the variation of repeats.
const MARGIN: f64 = 1.05;
/// Most rounds of shrinking a load: each takes a boot.
const ROUNDS_MAX: usize = 16;

/// Parameters of a hunt.
#[derive(Debug, Clone)]
pub struct Options {
    /// The scheduler that the hunt is about.
    pub scheduler: String,
    /// Whether the stock schedulers are rivals at their best, too: with the settings of the table.
    pub rivals: bool,
    pub seed: u64,
    /// Seeds of the addresses of each load.
    pub seeds: Vec<u64>,
    /// Kinds of devices, as [`Levels::kind`] has them; loads on others are passed over. Empty: all.
    pub kinds: Vec<String>,
    /// Preset files of devices.
    pub devices: PathBuf,
}

impl Options {
    /// The first `count` loads of the seed, from number `first` on, that are on the chosen kinds of devices; with their
    /// numbers.
    fn drawn_from(&self, first: u64, count: usize) -> Vec<(u64, Levels)> {
        let is_chosen =
            |load: &Levels| self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.as_str() == load.kind());
        let all = (first..).map(|number| (number, Levels::draw(self.seed, number)));
        all.filter(|(_, load)| is_chosen(load)).take(count).collect()
    }
}

/// One load and its figures.
#[derive(Debug, Clone)]
struct Measured {
    load: Levels,
    number: u32,
    drawn: bool,
    /// By seed, or why there are none.
    figures: std::result::Result<Vec<BySchedulers>, String>,
}

#[derive(Debug)]
pub struct Hunt {
    options: Options,
    /// The scheduler first, then those that it is held against.
    setups: Vec<Setup>,
    /// The steady load of all boots.
    check: (Scenario, Case),
    measured: Vec<Measured>,
    drawn: u64,
    steps: u64,
}

/// A worst case with its scenario file.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub found: HuntFound,
    /// Name of the file, without directory.
    pub name: String,
    pub text: String,
}

impl Hunt {
    /// A hunt that has measured nothing yet.
    ///
    /// # Errors
    /// When the kernel lacks one of the schedulers.
    pub fn new(lab: &Lab, options: Options) -> Result<Self> {
        let peers = STOCK.iter().filter(|name| **name != options.scheduler).map(|name| (*name).to_owned());
        let mut setups = Vec::new();
        for scheduler in std::iter::once(options.scheduler.clone()).chain(peers) {
            let rivals =
                lab.check_scheduler(&scheduler)?.rivals.iter().filter(|_| options.rivals && !setups.is_empty());
            let all: Vec<Settings> = std::iter::once(Settings::new()).chain(rivals.cloned()).collect();
            setups.extend(all.into_iter().map(|settings| Setup { scheduler: scheduler.clone(), settings }));
        }
        let steady = scenario(Levels::new([0; DIMENSIONS]), "hunt", &options)?;
        let none = Setup { scheduler: NONE.to_owned(), settings: Settings::new() };
        let check = (steady, case(&none, 1));
        Ok(Self { options, setups, check, measured: Vec::new(), drawn: 0, steps: 0 })
    }

    /// The stock schedulers that it is held against, with their settings.
    #[must_use]
    pub fn peers(&self) -> Vec<String> {
        self.setups[1..].iter().map(name).collect()
    }

    /// Draws `count` more loads, and measures them.
    ///
    /// # Errors
    /// When a boot cannot be made, or the user cancels.
    pub fn draw(&mut self, lab: &mut Lab, count: usize, watch: Watch<'_>) -> Result<()> {
        let loads = self.options.drawn_from(self.drawn, count);
        self.add(lab, &loads, true, watch)?;
        self.drawn = loads.last().map_or(self.drawn, |(number, _)| number + 1);
        Ok(())
    }

    /// Changes the worst loads so far, and measures up to `count` new ones.
    ///
    /// # Errors
    /// When a boot cannot be made, or the user cancels.
    pub fn search(&mut self, lab: &mut Lab, count: usize, watch: Watch<'_>) -> Result<()> {
        let loads = search::next(&self.tried(), self.options.seed, self.steps, count);
        self.steps += 1;
        let from = self.measured.iter().filter(|one| !one.drawn).count() as u64;
        let loads: Vec<(u64, Levels)> = (from..).zip(loads).collect();
        self.add(lab, &loads, false, watch)
    }

    /// Measures loads with their numbers.
    fn add(&mut self, lab: &mut Lab, numbered: &[(u64, Levels)], drawn: bool, watch: Watch<'_>) -> Result<()> {
        let all = self.setups.clone();
        let loads: Vec<Levels> = numbered.iter().map(|(_, load)| *load).collect();
        let figures = self.measure(lab, &loads, &all, &self.options.seeds, watch)?;
        self.measured.extend(numbered.iter().zip(figures).map(|((number, load), figures)| Measured {
            load: *load,
            number: u32::try_from(*number).unwrap_or(u32::MAX),
            drawn,
            figures,
        }));
        Ok(())
    }

    /// Figures of each load by seed, or why there are none.
    fn measure(
        &self,
        lab: &mut Lab,
        loads: &[Levels],
        setups: &[Setup],
        seeds: &[u64],
        watch: Watch<'_>,
    ) -> Result<Vec<std::result::Result<Vec<BySchedulers>, String>>> {
        let scenarios: Vec<Scenario> =
            loads.iter().map(|load| scenario(*load, "hunt", &self.options)).collect::<Result<_>>()?;
        let cases: Vec<Case> =
            seeds.iter().flat_map(|seed| setups.iter().map(move |setup| case(setup, *seed))).collect();
        let tasks: Vec<Task<'_>> =
            scenarios.iter().flat_map(|scenario| cases.iter().map(move |case| Task { scenario, case })).collect();
        let length = Length { scale: 1.0, repeat_percent_max: REPEAT_PERCENT_MAX };
        let check = Task { scenario: &self.check.0, case: &self.check.1 };
        let outcomes = lab.run_each(&tasks, check, length, watch)?;
        let by_load = outcomes.chunks(cases.len().max(1)).map(|of_load| {
            let by_seed = of_load.chunks(setups.len().max(1)).map(|of_seed| {
                let of_one = of_seed.iter().map(|outcome| {
                    let name = name(&outcome.case.setup);
                    Figures::of(outcome).map_err(|why| format!("{name}: {why}")).map(|figures| (name, figures))
                });
                of_one.collect::<std::result::Result<BySchedulers, String>>()
            });
            by_seed.collect()
        });
        Ok(by_load.collect())
    }

    fn tried(&self) -> Vec<Tried> {
        let tried = |one: &Measured| {
            let seeds = one.figures.as_ref().ok()?;
            let excess = Bound::ALL.iter().filter_map(|bound| {
                let (ratio, _) = over_seeds(*bound, one.load, &self.options.scheduler, seeds)?;
                Some((*bound, ratio.median / bound.at_most()))
            });
            Some(Tried { load: one.load, excess: excess.collect() })
        };
        self.measured.iter().filter_map(tried).collect()
    }

    /// The worst load of each missed bound, and by how much it misses: the worst first.
    #[must_use]
    pub fn missed(&self) -> Vec<(Bound, Levels, f64)> {
        let tried = self.tried();
        let mut missed: Vec<(Bound, Levels, f64)> = Bound::ALL
            .iter()
            .filter_map(|bound| {
                let load = *search::worst(&tried, *bound, 1).first()?;
                let of = tried.iter().find(|one| one.load == load)?;
                let (_, excess) = of.excess.iter().find(|(other, _)| other == bound)?;
                (*excess > 1.0).then_some((*bound, load, *excess))
            })
            .collect();
        missed.sort_by(|a, b| b.2.total_cmp(&a.2));
        missed
    }

    /// Shrinks a load that misses a bound, and confirms the result with other seeds; none for a load without a ratio.
    ///
    /// # Errors
    /// When a boot cannot be made, or the user cancels.
    pub fn shrink(&self, lab: &mut Lab, bound: Bound, load: Levels, watch: Watch<'_>) -> Result<Option<Found>> {
        let seeds = &self.options.seeds;
        let known = self.measured.iter().find(|one| one.load == load).and_then(|one| one.figures.as_ref().ok());
        let Some(figures) = known else { return Ok(None) };
        let Some((from, against)) = over_seeds(bound, load, &self.options.scheduler, figures) else { return Ok(None) };
        let least = least_shown(bound, from.median);
        // Commits are held against the best of all; other bounds against one scheduler, so that two runs tell.
        let is_needed = |setup: &&Setup| {
            bound == Bound::CommitP99 || name(setup) == self.options.scheduler || name(setup) == against
        };
        let setups: Vec<Setup> = self.setups.iter().filter(is_needed).cloned().collect();
        let mut shrink = Shrink::new(load);
        for round in 0..ROUNDS_MAX {
            let next = shrink.next();
            if next.is_empty() {
                break;
            }
            let progress = |done: f64, doing: &str| {
                (watch.progress)(
                    (round as f64 + done) / ROUNDS_MAX as f64,
                    &format!("shrinking {}: {doing}", bound.word()),
                );
            };
            let figures = self.measure(lab, &next, &setups, seeds, Watch { progress: &progress, ..watch })?;
            let shows = next.iter().zip(figures).map(|(load, figures)| {
                let ratio = figures.ok().and_then(|of| over_seeds(bound, *load, &self.options.scheduler, &of));
                (*load, ratio.is_some_and(|(ratio, _)| ratio.median >= least))
            });
            shrink.tell(&shows.collect::<Vec<_>>());
        }
        self.confirmed(lab, bound, (load, from.median), &shrink, watch).map(Some)
    }

    fn confirmed(
        &self,
        lab: &mut Lab,
        bound: Bound,
        from: (Levels, f64),
        shrink: &Shrink,
        watch: Watch<'_>,
    ) -> Result<Found> {
        let best = shrink.best();
        let figures = self.measure(lab, &[best], &self.setups, &SEEDS_OF_FOUND, watch)?.pop();
        let seeds = figures.and_then(std::result::Result::ok).unwrap_or_default();
        let value = over_seeds(bound, best, &self.options.scheduler, &seeds);
        let confirmed = value.as_ref().is_some_and(|(ratio, _)| ratio.median > bound.at_most());
        let name = format!("{}-{}-{}", self.options.scheduler, bound.word(), self.options.seed);
        let text = match &value {
            Some((ratio, against)) => file(best, bound, ratio, against, &seeds, &self.options, &lab.kernel.series),
            None => String::new(),
        };
        // Without figures the summary is that of the load it was made of.
        let (ratio, against) = value.or_else(|| Some((Summary::of(&[from.1])?, String::new()))).ok_or_else(|| {
            Error::Failed { what: "shrinking".to_owned(), words: "a ratio that is no number".to_owned() }
        })?;
        let found = HuntFound {
            bound: bound.word().to_owned(),
            words: best.words(),
            from: from.0.words(),
            from_ratio: from.1,
            ratio,
            against,
            tried: u32::try_from(shrink.tried()).unwrap_or(u32::MAX),
            confirmed,
            file: None,
        };
        Ok(Found { found, name, text })
    }

    /// The bounds over the drawn loads, and how many of these hold all that apply.
    #[must_use]
    pub fn bounds(&self) -> (Vec<HuntBound>, u32) {
        let loads: Vec<HuntLoad> =
            self.loads().into_iter().filter(|load| load.drawn && load.refused.is_none()).collect();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let bounds = Bound::ALL.map(|bound| {
            let of = |load: &HuntLoad| load.ratios.iter().find(|of| of.bound == bound.word()).cloned();
            let ratios: Vec<HuntRatio> = loads.iter().filter_map(of).collect();
            let medians: Vec<f64> = ratios.iter().map(|of| of.ratio.median).collect();
            HuntBound {
                bound: bound.word().to_owned(),
                words: bound.words().to_owned(),
                at_most: bound.at_most(),
                loads: count(ratios.len()),
                hold: count(ratios.iter().filter(|of| of.holds).count()),
                ratio: Summary::of(&medians),
            }
        });
        let hold = loads.iter().filter(|load| load.ratios.iter().all(|of| of.holds)).count();
        (bounds.to_vec(), count(hold))
    }

    /// All loads with their figures.
    #[must_use]
    pub fn loads(&self) -> Vec<HuntLoad> {
        self.measured.iter().map(|one| self.of_load(one)).collect()
    }

    fn of_load(&self, one: &Measured) -> HuntLoad {
        let seeds: &[BySchedulers] = one.figures.as_deref().unwrap_or_default();
        let ratios = Bound::ALL.iter().filter_map(|bound| {
            let (ratio, against) = over_seeds(*bound, one.load, &self.options.scheduler, seeds)?;
            let holds = ratio.median <= bound.at_most();
            Some(HuntRatio { bound: bound.word().to_owned(), ratio, against, holds })
        });
        let rows = self.setups.iter().filter(|_| !seeds.is_empty()).map(|setup| row(&name(setup), seeds));
        HuntLoad {
            number: one.number,
            drawn: one.drawn,
            words: one.load.words(),
            kind: Some(one.load.kind().to_owned()),
            rows: rows.collect(),
            ratios: ratios.collect(),
            refused: one.figures.as_ref().err().cloned(),
        }
    }
}

fn row(name: &str, seeds: &[BySchedulers]) -> HuntRow {
    let own: Vec<&Figures> = seeds.iter().filter_map(|by| by.get(name)).collect();
    let median = |of: fn(&Figures) -> Option<f64>| {
        let values: Vec<f64> = own.iter().filter_map(|figures| of(figures)).collect();
        Summary::of(&values).map(|summary| summary.median)
    };
    HuntRow {
        scheduler: name.to_owned(),
        read_us_mean: median(|figures| figures.read_us_mean),
        read_us_p99: median(|figures| figures.read_us_p99),
        commit_us_p99: median(|figures| figures.commit_us_p99),
        write_us_mean: median(|figures| figures.write_us_mean),
        write_bytes_per_s: median(|figures| figures.write_bytes_per_s),
        discards_per_s: median(|figures| figures.discards_per_s),
        starved: own.iter().any(|figures| figures.starved),
    }
}

/// The least ratio of a shrunk load: beyond the bound, with a share of what was found.
fn least_shown(bound: Bound, found: f64) -> f64 {
    (1.0 + (found - 1.0) * KEPT).max(bound.at_most() * (1.0 + (MARGIN - 1.0) / 2.0)).min(found)
}

fn case(setup: &Setup, seed: u64) -> Case {
    Case { setup: setup.clone(), load: 0, alone: None, seed }
}

/// A scheduler and its settings in words: with its defaults its name.
fn name(setup: &Setup) -> String {
    format!("{} {}", setup.scheduler, words(&setup.settings)).trim_end().to_owned()
}

fn scenario(load: Levels, name: &str, options: &Options) -> Result<Scenario> {
    let text = load.scenario("Does the scheduler hold its bounds?");
    Scenario::parse(name, &text, &options.devices)
        .map_err(|why| Error::BadOption(format!("the load '{}' is not a scenario: {why}", load.words())))
}

/// The scenario file of what was found: the load, and its ratios as regression bounds.
fn file(
    load: Levels,
    bound: Bound,
    ratio: &Summary,
    against: &str,
    seeds: &[BySchedulers],
    options: &Options,
    series: &str,
) -> String {
    let scheduler = &options.scheduler;
    let head = format!(
        "# Found by `brisk kernel hunt --scheduler {scheduler} --seed {}` on Linux {series}, and shrunk: {}, {:.2} \
         against\n\
         # {against} (median of {} seeds; at most {} would hold). The aims are regression bounds: the ratios at that \
         time and {:.0} %\n\
         # more. Lower them when the scheduler gets better.\n",
        options.seed,
        bound.words(),
        ratio.median,
        ratio.count,
        bound.at_most(),
        (MARGIN - 1.0) * 100.0,
    );
    let question = format!("Does {scheduler} get worse in a load where it is worse than others?");
    let text = load.scenario_with(&question, &format!("judged = \"{scheduler}\"\n"));
    let median = |of: &dyn Fn(&BySchedulers) -> Option<f64>| {
        let values: Vec<f64> = seeds.iter().filter_map(of).collect();
        Summary::of(&values).map_or(ratio.median, |summary| summary.median)
    };
    let own =
        |by: &BySchedulers, of: fn(&Figures) -> Option<f64>| Some((of(by.get(scheduler)?)?, of(by.get(against)?)?));
    let aims = match bound {
        Bound::Domination => {
            let read = median(&|by| own(by, |figures| figures.read_us_mean).map(|(own, peer)| own / peer));
            let write = median(&|by| own(by, |figures| figures.write_bytes_per_s).map(|(own, peer)| peer / own));
            vec![("read", "delay_mean", against, read), ("write", "requests", against, write)]
        }
        Bound::ReadMean => vec![("read", "delay_mean", NONE, ratio.median)],
        Bound::ReadP99 => vec![("read", "delay_p99", NONE, ratio.median)],
        Bound::CommitP99 => vec![("sync", "delay_p99", "peers", ratio.median)],
        Bound::SyncWrite => vec![("write", "delay_mean", NONE, ratio.median)],
        Bound::ReadsOnly => vec![("read", "requests", NONE, ratio.median)],
        Bound::WritesOnly => vec![("write", "requests", NONE, ratio.median)],
        Bound::Discards => vec![("trim", "requests", NONE, ratio.median)],
    };
    let aims = aims.into_iter().map(|(side, figure, against, ratio)| {
        format!(
            "\n[[aim]]\nwords = \"hunted: {}\"\nside = \"{side}\"\nfigure = \"{figure}\"\nagainst = \
             \"{against}\"\nat_most = {}\n",
            bound.words(),
            (ratio * MARGIN * 100.0).round() / 100.0,
        )
    });
    head + &text + &aims.collect::<String>()
}

/// Fidelity of all boots so far, as far as `lab` counts them.
#[must_use]
pub fn fidelity(seen: &crate::vm::lab::Seen) -> KernelFidelity {
    KernelFidelity {
        lateness_ns_mean: seen.fidelity.lateness_ns_mean,
        lateness_ns_bound: LATENESS_NS_MEAN_MAX,
        repeat_percent: seen.fidelity.repeat_percent,
        repeat_percent_bound: REPEAT_PERCENT_MAX,
        repeat_percent_of_jobs: seen.fidelity.repeat_percent_of_jobs,
        boots: seen.boots,
        cases: seen.cases + seen.kept,
        kept: seen.kept,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::vm::aims::judge;

    fn devices() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/scenarios/devices")
    }

    fn options() -> Options {
        Options {
            scheduler: "kyber".to_owned(),
            rivals: false,
            seed: 7,
            seeds: vec![1],
            kinds: Vec::new(),
            devices: devices(),
        }
    }

    fn seeds() -> Vec<BySchedulers> {
        let figures = |read: f64, write: f64| Figures {
            read_us_mean: Some(read),
            read_us_p99: Some(2.0 * read),
            reads_per_s: Some(1e6 / read),
            commit_us_p99: Some(read),
            write_us_mean: Some(1e9 / write),
            write_bytes_per_s: Some(write),
            discards_per_s: Some(write),
            starved: false,
        };
        vec![[("kyber".to_owned(), figures(300.0, 50.0)), ("none".to_owned(), figures(100.0, 60.0))].into()]
    }

    #[test]
    fn loads_of_chosen_kinds_of_devices_keep_their_numbers() {
        let all = options().drawn_from(0, 200);
        assert_eq!(all.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (0..200).collect::<Vec<_>>());
        let chosen = Options { kinds: vec!["ufs".to_owned(), "sd".to_owned()], ..options() };
        let expected: Vec<_> = all.into_iter().filter(|(_, load)| ["ufs", "sd"].contains(&load.kind())).collect();
        assert!(expected.len() > 5, "{}", expected.len());
        assert_eq!(chosen.drawn_from(0, expected.len()), expected);
        // It goes on behind the last one.
        assert_eq!(chosen.drawn_from(expected[2].0 + 1, 2), expected[3..5]);
    }

    #[test]
    fn the_file_of_a_find_is_a_scenario_whose_aims_are_its_ratios() {
        let load = (0..).map(|number| Levels::draw(1, number)).find(|load| {
            [load::Dim::Readers, load::Dim::Writers, load::Dim::Commits].iter().all(|dim| load.value(*dim) > 0)
        });
        let load = load.expect("one of many");
        for bound in Bound::ALL {
            let ratio = Summary::of(&[3.0]).expect("a number");
            let text = file(load, bound, &ratio, "none", &seeds(), &options(), "6.12");
            let scenario = Scenario::parse("found", &text, &devices()).unwrap_or_else(|why| panic!("{why}:\n{text}"));
            assert_eq!(scenario.judged.as_deref(), Some("kyber"));
            let bounds: Vec<f64> = scenario.aims.iter().map(|aim| aim.at_most).collect();
            match bound {
                // Reads 3 times as long, writes 1.2 times as slow.
                Bound::Domination => assert_eq!(bounds, [3.15, 1.26]),
                _ => assert_eq!(bounds, [3.15]),
            }
            let without = crate::results::KernelScenario {
                name: "found".to_owned(),
                title: String::new(),
                question: String::new(),
                device: crate::results::KernelDevice {
                    preset: String::new(),
                    changed: Default::default(),
                    size_bytes: 1,
                    depth_requests: 1,
                    queues: 1,
                    file_system: None,
                },
                seeds: vec![1],
                scale: 1.0,
                write_min_percent: 90.0,
                loads: vec![crate::results::KernelLoad { name: LOAD.to_owned(), words: String::new() }],
                rows: Vec::new(),
                refused: Vec::new(),
                fidelity: fidelity(&crate::vm::lab::Seen::default()),
            };
            let judged = judge(&scenario.aims[0], "kyber", &without);
            assert_eq!(judged.loads.len(), 1, "the aim is about the load of the file");
        }
    }

    #[test]
    fn a_shrunk_load_keeps_half_of_the_effect_and_misses_the_bound() {
        assert_eq!(least_shown(Bound::ReadMean, 3.0), 2.0);
        let small = least_shown(Bound::ReadMean, 1.1);
        assert!((1.05..1.1).contains(&small), "{small}");
        assert_eq!(least_shown(Bound::ReadMean, 1.06), 1.06, "no more than there was");
    }
}
