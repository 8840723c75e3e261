//! The search: rounds of trials, selection, winner.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use brisk_act::Actuator;
use brisk_core::outcome::Outcome as Became;
use brisk_core::random::{Random, mix};
use brisk_core::stats::median;
use brisk_sense::Sense;

use super::given::{Comparison, PAIRS_MIN, Verdict};
use super::plan::{BETWEEN, Plan};
use super::ranking::{self, Score};
use super::space::{Candidate, Space};
use super::trial::{self, Outcome, Trial, Writers};
use super::{Options, SIZE_BYTES};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::results::{FrontierLoad, FrontierMeasure, FrontierPoint};
use crate::study::{Testbed, summary};

/// Share of the device's time that all readers of a load use together. A launching app uses more, but then a setting
/// that serves it in time would take the device from the writers and appear worse for them.
const READ_SHARE: f64 = 0.1;
/// Time of a trial beyond its length, until measured: start of the writers, and draining their writes.
const OVERHEAD_S: f64 = 0.35;
/// Trials of reads alone.
const CALIBRATIONS: usize = 3;
/// Shortest and longest trial of one load.
const TRIAL_S: (f64, f64) = (0.25, 5.0);
/// A comparison may take this many times its budget, on a device that is slow to settle, before it ends with fewer
/// pairs.
const OVERRUN: u32 = 3;
/// Fewest trials of a setting on the frontier: a single one may be an outlier.
const TRIALS_MIN: usize = 2;

/// The device-independent part of a load.
struct LoadKind {
    name: &'static str,
    readers: u32,
    writers: Writers,
    words: &'static str,
}

const LOADS: [LoadKind; 2] = [
    LoadKind {
        name: "1 reader beside an install",
        readers: 1,
        writers: Writers::InstallAndSync,
        words: "buffered writes of 512 KiB, durable every 2 MiB, and 120 durable pages of 4 KiB a second",
    },
    LoadKind {
        name: "4 readers beside 4 writers",
        readers: 4,
        writers: Writers::Direct(4),
        words: "4 writers at random past the page cache, one request at a time each",
    },
];

/// Measurements of a setting under one load, trial by trial.
#[derive(Debug, Clone, Default)]
struct Samples {
    read_us: Vec<f64>,
    read_us_p99: Vec<f64>,
    write_bytes_per_s: Vec<f64>,
    write_us_max: Vec<f64>,
}

pub(super) struct Search<'a> {
    sense: &'a Sense,
    bed: &'a Testbed,
    disk: &'a str,
    control: &'a Control<'a>,
    options: &'a Options,
    space: Space,
    pub(super) actuator: Actuator,
    trial: Duration,
    loads: Vec<FrontierLoad>,
    /// In the order of first trials; the baseline is the first.
    tried: Vec<Candidate>,
    /// By index in `tried`, then load.
    samples: Vec<[Samples; LOADS.len()]>,
    refused: HashMap<Candidate, String>,
    random: Random,
    began: Instant,
    /// The search ends after this many times its budget.
    overrun: u32,
    /// Time of trials beyond their length, in seconds.
    overheads_s: Vec<f64>,
    winner: Option<usize>,
}

pub(super) struct Found {
    pub(super) trial: Duration,
    pub(super) loads: Vec<FrontierLoad>,
    pub(super) points: Vec<FrontierPoint>,
    pub(super) found: String,
    pub(super) chosen: Option<String>,
    pub(super) refused: Vec<(String, String)>,
}

impl<'a> Search<'a> {
    /// A search whose budget starts at `began`.
    pub(super) fn new(
        (sense, bed, disk): (&'a Sense, &'a Testbed, &'a str),
        options: &'a Options,
        space: Space,
        actuator: Actuator,
        control: &'a Control<'a>,
        began: Instant,
    ) -> Self {
        Self {
            sense,
            bed,
            disk,
            control,
            options,
            space,
            actuator,
            trial: Duration::from_secs_f64(TRIAL_S.0),
            loads: Vec::new(),
            tried: vec![Space::baseline()],
            samples: vec![Default::default()],
            refused: HashMap::new(),
            random: Random(options.common.seed),
            began,
            overrun: 1,
            overheads_s: Vec::new(),
            winner: None,
        }
    }

    /// Runs as many rounds and settings as the time allows.
    pub(super) fn run(&mut self) -> Result<()> {
        self.calibrate()?;
        if self.options.written_bytes_max.is_some() {
            // The baseline first, which tells the rate of writes.
            self.round(Vec::new())?;
        }
        let beginning = self.space.beginning();
        let full = Plan::full(beginning.len(), self.options.common.runs as usize);
        let each_s = self.left().as_secs_f64() / (full.turns(0) * LOADS.len()) as f64 - self.overhead_s();
        self.trial = Duration::from_secs_f64(each_s.clamp(TRIAL_S.0, TRIAL_S.1));
        let beginning = self.opening(beginning, self.replan(&full, 0).beginning);
        self.round(beginning)?;
        for number in 0..BETWEEN {
            let Some(round) = self.replan(&full, number + 1).between[number] else { continue };
            let mut field = self.best(round.keep);
            let mut joining: Vec<Candidate> = Vec::new();
            for candidate in field.iter().take(round.parents).flat_map(|parent| self.space.neighbours(parent)) {
                if !self.tried.contains(&candidate) && !joining.contains(&candidate) {
                    joining.push(candidate);
                }
            }
            self.random.shuffle(&mut joining);
            joining.truncate(round.fresh);
            field.extend(joining);
            self.round(field)?;
        }
        let plan = self.replan(&full, BETWEEN + 1);
        let finalists = self.best(plan.finalists);
        for _ in 0..plan.last {
            self.round(finalists.clone())?;
        }
        let scored: Vec<(usize, Score, usize)> = finalists
            .iter()
            .filter_map(|finalist| {
                let index = self.tried.iter().position(|tried| tried == finalist)?;
                Some((index, self.score(index)?, self.space.changes(finalist)))
            })
            .collect();
        self.winner = ranking::winner(&scored, self.options.write_min_percent);
        Ok(())
    }

    /// Compares `given` with the settings found in pairs of trials, which are as long as the budget allows, and takes
    /// it as the winner where they agree.
    ///
    /// # Errors
    /// When a trial fails, or this kernel or device refuses the settings.
    pub(super) fn compare(&mut self, given: &Candidate) -> Result<Comparison> {
        self.calibrate()?;
        let turns = self.pairs() * 2 * LOADS.len();
        let each_s = self.left().as_secs_f64() / turns as f64 - self.overhead_s();
        self.trial = Duration::from_secs_f64(each_s.clamp(TRIAL_S.0, TRIAL_S.1));
        self.overrun = OVERRUN;
        for _ in 0..self.pairs() {
            self.round(vec![given.clone()])?;
            if let Some(why) = self.refused.get(given) {
                return Err(Error::BadLoad(format!(
                    "{} does not take the settings \"{}\" here: {why}",
                    self.disk,
                    self.space.label(given)
                )));
            }
        }
        let ratios = match self.samples.as_slice() {
            [found, given] => pair_ratios(found, given),
            _ => Vec::new(),
        };
        let score = if self.samples.len() > 1 { self.score(1) } else { None };
        let comparison = Comparison::of(&ratios, score, self.options.write_min_percent);
        self.winner = (comparison.verdict == Verdict::Agrees).then_some(1);
        Ok(comparison)
    }

    fn pairs(&self) -> usize {
        (self.options.common.runs as usize).max(PAIRS_MIN)
    }

    /// Remaining budget, of time or of writes.
    fn left(&self) -> Duration {
        let elapsed = self.began.elapsed();
        let left = (self.options.budget * self.overrun).saturating_sub(elapsed);
        match self.options.written_bytes_max {
            Some(most_bytes) => left.min(time_of_writes(elapsed, self.bed.written_bytes(), most_bytes)),
            None => left,
        }
    }

    /// Time of a trial beyond its length: on a slow device, mostly draining its buffer.
    fn overhead_s(&self) -> f64 {
        median(&self.overheads_s).unwrap_or(OVERHEAD_S)
    }

    /// The `full` plan from round `from` on, scaled down to the remaining time.
    fn replan(&self, full: &Plan, from: usize) -> Plan {
        let turn_s = (self.trial.as_secs_f64() + self.overhead_s()) * LOADS.len() as f64;
        full.within((self.left().as_secs_f64() / turn_s) as usize, from, self.space.schedulers())
    }

    /// `count` of the initial settings: plain schedulers first, then a random choice.
    fn opening(&mut self, mut all: Vec<Candidate>, count: usize) -> Vec<Candidate> {
        if all.len() > count {
            self.random.shuffle(&mut all);
            all.sort_by_key(|candidate| self.space.changes(candidate) > 0);
            all.truncate(count);
        }
        all
    }

    /// Measures the latency of a read alone, from which the readers' intervals follow. Uses the median of medians: a
    /// mean would include disturbances of single reads, and make all loads lighter.
    fn calibrate(&mut self) -> Result<()> {
        let mut medians_us = Vec::new();
        for number in 0..CALIBRATIONS {
            self.report("reads alone");
            let trial = Trial { readers: 1, interval: Duration::ZERO, writers: Writers::None, ..self.trial(0, number) };
            let alone = self.run_trial(&trial)?;
            medians_us.extend((alone.reads.count() > 0).then(|| alone.reads.quantile_us(0.5)));
        }
        let read_alone_us = median(&medians_us).ok_or_else(|| Error::BadLoad("no read was measured".to_owned()))?;
        self.loads = LOADS
            .iter()
            .map(|kind| FrontierLoad {
                name: kind.name.to_owned(),
                readers: kind.readers,
                read_interval_us: read_alone_us * f64::from(kind.readers) / READ_SHARE,
                read_alone_us,
                writers: kind.words.to_owned(),
            })
            .collect();
        Ok(())
    }

    /// One trial of one load; records its overhead, and what it wrote: what its buffer left behind is written after its
    /// length, so that the disk tells more than the outcome.
    fn run_trial(&mut self, trial: &Trial) -> Result<Outcome> {
        let (began, before_bytes) = (Instant::now(), self.disk_written_bytes());
        let outcome = trial::run(self.sense, self.bed, self.disk, trial, self.control)?;
        if trial.writers != Writers::None {
            let of_trial = (outcome.write_bytes_per_s * trial.length.as_secs_f64()) as u64;
            self.bed.wrote(of_trial.max(self.disk_written_bytes().saturating_sub(before_bytes)));
        }
        // Reads alone leave nothing to drain.
        if trial.writers != Writers::None {
            self.overheads_s.push(began.elapsed().saturating_sub(trial.length).as_secs_f64());
        }
        Ok(outcome)
    }

    /// Bytes that the disk has written; 0 where it does not tell.
    fn disk_written_bytes(&self) -> u64 {
        self.sense.disk_stats_of(self.disk).ok().flatten().map_or(0, |disk| disk.write.bytes)
    }

    /// Reports progress by the clock, and the remaining time.
    fn report(&self, doing: &str) {
        let left = self.left();
        let share = 1.0 - left.as_secs_f64() / self.options.budget.as_secs_f64();
        self.control.report(share.max(0.0), &format!("{doing}, {}", time_left(left)));
    }

    fn trial(&self, load: usize, number: usize) -> Trial {
        let interval_us = self.loads.get(load).map_or(0.0, |load| load.read_interval_us);
        Trial {
            readers: LOADS[load].readers,
            interval: Duration::from_secs_f64(interval_us / 1e6),
            prioritised: false,
            writers: LOADS[load].writers,
            length: self.trial,
            block_bytes: self.options.common.block_bytes,
            // The same for every setting of a round: each gets the same requests.
            seed: mix(self.options.common.seed ^ ((number as u64) << 32) ^ load as u64),
        }
    }

    /// One trial of each load for each of `field` and for the baseline, in random order, until the time is over. The
    /// baseline always runs in the first round, as all figures are relative to it.
    fn round(&mut self, mut field: Vec<Candidate>) -> Result<()> {
        field.push(Space::baseline());
        self.random.shuffle(&mut field);
        for candidate in field {
            let needed =
                candidate == Space::baseline() && self.samples[0].iter().any(|samples| samples.read_us.is_empty());
            if self.left().is_zero() && !needed {
                continue;
            }
            self.report(&self.space.label(&candidate));
            if self.refused.contains_key(&candidate) {
                continue;
            }
            if let Some(why) = self.apply(&candidate) {
                self.refused.insert(candidate, why);
                continue;
            }
            let index = self.tried.iter().position(|tried| *tried == candidate).unwrap_or_else(|| {
                self.tried.push(candidate.clone());
                self.samples.push(Default::default());
                self.tried.len() - 1
            });
            for load in 0..LOADS.len() {
                let number = self.samples[index][load].read_us.len();
                let trial = Trial { prioritised: self.space.priorities(&candidate), ..self.trial(load, number) };
                let outcome = self.run_trial(&trial)?;
                self.samples[index][load].add(&outcome, trial.length);
            }
        }
        Ok(())
    }

    /// Applies `candidate` and restores all other settings. Returns the reason if that fails.
    fn apply(&mut self, candidate: &Candidate) -> Option<String> {
        let outcomes = self.actuator.apply(&self.space.targets(candidate, self.disk));
        outcomes.into_iter().find_map(|(knob, outcome)| match outcome {
            Became::Refused { why } => Some(why),
            Became::Left { found } => Some(format!("{knob} was changed externally to {found}")),
            Became::Gone => Some(format!("{knob} is gone")),
            _ => None,
        })
    }

    /// Score of setting `index`, relative to the baseline.
    fn score(&self, index: usize) -> Option<Score> {
        let (of, found) = (&self.samples[index], &self.samples[0]);
        let ratios: Option<Vec<(f64, f64)>> = of
            .iter()
            .zip(found)
            .map(|(of, found)| {
                Some((
                    median(&of.read_us)? / median(&found.read_us)?,
                    median(&of.write_bytes_per_s)? / median(&found.write_bytes_per_s)?,
                ))
            })
            .collect();
        Score::of(&ratios?)
    }

    /// The best settings tried so far, without the baseline.
    fn best(&self, keep: usize) -> Vec<Candidate> {
        let scores: Vec<Option<Score>> =
            (0..self.tried.len()).map(|index| if index == 0 { None } else { self.score(index) }).collect();
        ranking::best(&scores, keep, self.options.write_min_percent)
            .into_iter()
            .map(|index| self.tried[index].clone())
            .collect()
    }

    pub(super) fn outcome(self) -> Result<Found> {
        let scored: Vec<(usize, Score)> =
            (0..self.tried.len()).filter_map(|index| Some((index, self.score(index)?))).collect();
        let often = |index: usize| self.samples[index].iter().all(|samples| samples.read_us.len() >= TRIALS_MIN);
        let known: Vec<(usize, Score)> = scored.iter().copied().filter(|(index, _)| often(*index)).collect();
        let on: Vec<usize> = known
            .iter()
            .zip(ranking::frontier(&known.iter().map(|(_, score)| *score).collect::<Vec<_>>()))
            .filter_map(|((index, _), on)| on.then_some(*index))
            .collect();
        let points = scored
            .iter()
            .map(|&(index, score)| {
                let candidate = &self.tried[index];
                let settings = self.space.settings(candidate).into_iter();
                Ok(FrontierPoint {
                    label: self.space.label(candidate),
                    scheduler: self.space.scheduler(candidate).to_owned(),
                    settings: settings.map(|(setting, value)| (setting.to_string(), value)).collect(),
                    priorities: self.space.priorities(candidate),
                    loads: self.samples[index].iter().map(Samples::measure).collect::<Result<_>>()?,
                    read_ratio: score.read_ratio,
                    write_percent: score.write_percent,
                    on_frontier: on.contains(&index),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        if points.is_empty() {
            let text = format!("nothing was written to {} in any trial: use a larger --budget", self.disk);
            return Err(Error::BadLoad(text));
        }
        let mut refused: Vec<(String, String)> =
            self.refused.iter().map(|(candidate, why)| (self.space.label(candidate), why.clone())).collect();
        refused.sort();
        Ok(Found {
            trial: self.trial,
            found: self.space.label(&Space::baseline()),
            chosen: self.winner.map(|index| self.space.label(&self.tried[index])),
            loads: self.loads,
            points,
            refused,
        })
    }
}

/// Read latency under `given` over that under `found`, of each pair of trials: geometric mean over the loads.
fn pair_ratios(found: &[Samples], given: &[Samples]) -> Vec<f64> {
    let pairs = found.iter().zip(given).map(|(a, b)| a.read_us.len().min(b.read_us.len())).min().unwrap_or(0);
    let ratio = |number: usize| {
        let logs = found.iter().zip(given).map(|(found, given)| (given.read_us[number] / found.read_us[number]).ln());
        (logs.sum::<f64>() / found.len() as f64).exp()
    };
    (0..pairs).map(ratio).filter(|ratio| ratio.is_finite()).collect()
}

/// How long the rest of `most_bytes` lasts at the rate so far; without end before anything is written.
fn time_of_writes(elapsed: Duration, written_bytes: u64, most_bytes: u64) -> Duration {
    let left_bytes = most_bytes.saturating_sub(written_bytes);
    match written_bytes {
        0 => Duration::MAX,
        _ => elapsed.mul_f64((left_bytes as f64 / written_bytes as f64).min(1e6)),
    }
}

/// Remaining time as text, with the precision of the estimate.
fn time_left(left: Duration) -> String {
    match left.as_secs() {
        0 => "nearly done".to_owned(),
        seconds @ 1..90 => format!("about {seconds} s left"),
        seconds => format!("about {} min left", (seconds + 30) / 60),
    }
}

impl Samples {
    fn add(&mut self, outcome: &Outcome, length: Duration) {
        self.read_us.extend(outcome.reads.mean_us());
        self.read_us_p99.push(outcome.reads.quantile_us(0.99));
        self.write_bytes_per_s.push(outcome.write_bytes_per_s);
        // If no write completed, the longest latency was at least the whole trial.
        let waited_us = if outcome.writes.count() > 0 { outcome.writes.quantile_us(1.0) } else { 0.0 };
        self.write_us_max.push(if waited_us > 0.0 { waited_us } else { length.as_secs_f64() * 1e6 });
    }

    fn measure(&self) -> Result<FrontierMeasure> {
        Ok(FrontierMeasure {
            read_us: summary(&self.read_us)?,
            read_us_p99: summary(&self.read_us_p99)?,
            write_bytes_per_s: summary(&self.write_bytes_per_s)?,
            write_us_max: summary(&self.write_us_max)?,
        })
    }
}

// In a smaller work file, writers would overwrite data that is still in the device's buffer.
const _: () = assert!(SIZE_BYTES / 4 >= 16 << 20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_as_many_as_the_load_with_fewest_trials_has() {
        let of = |read_us: &[f64]| Samples { read_us: read_us.to_vec(), ..Samples::default() };
        let found = [of(&[100.0, 100.0, 80.0]), of(&[400.0, 400.0])];
        let given = [of(&[25.0, 50.0, 10.0]), of(&[400.0, 200.0])];
        let ratios = pair_ratios(&found, &given);
        assert_eq!(ratios.len(), 2);
        assert!((ratios[0] - 0.5).abs() < 1e-9 && (ratios[1] - 0.5).abs() < 1e-9, "{ratios:?}");
        assert!(pair_ratios(&[], &[]).is_empty());
    }

    #[test]
    fn a_limit_of_writes_ends_the_search() {
        let left_s = |written, most| time_of_writes(Duration::from_secs(10), written, most).as_secs_f64();
        assert_eq!([left_s(1, 4), left_s(2, 4), left_s(4, 4), left_s(9, 4)], [30.0, 10.0, 0.0, 0.0]);
        assert_eq!(time_of_writes(Duration::from_secs(10), 0, 4), Duration::MAX);
    }

    #[test]
    fn the_remaining_time_is_in_seconds_and_then_in_minutes() {
        for (seconds, words) in [
            (0, "nearly done"),
            (1, "about 1 s left"),
            (89, "about 89 s left"),
            (90, "about 2 min left"),
            (600, "about 10 min left"),
        ] {
            assert_eq!(time_left(Duration::from_secs(seconds)), words);
        }
    }
}
