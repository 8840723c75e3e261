//! The race: rounds of trials, who stays, who joins, who wins.

use std::collections::HashMap;
use std::time::Duration;

use brisk_act::{Actuator, Outcome as Became};
use brisk_core::stats::median;
use brisk_sense::Sense;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::contest::{self, Outcome, Trial, Writers};
use super::race::{self, Score};
use super::space::{Candidate, Space};
use super::{Options, SIZE_BYTES};
use crate::address::mix;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::study::{Bed, summary};
use brisk_results::{FrontierLoad, FrontierMeasure, FrontierPoint};

/// Share of the device's time that all readers of a load ask for together. An app that is launched asks for more, but then
/// a setting that serves it in time would take the device away from the writers, and seem to be worse to them.
const READ_SHARE: f64 = 0.1;
/// Rounds between the first and the last: how many stay, how many of the best bring neighbours, how many new ones join.
const ROUNDS: [(usize, usize, usize); 3] = [(10, 4, 12), (8, 3, 8), (6, 2, 5)];
/// Settings in the last rounds, besides those found.
const FINALISTS: usize = 4;
/// What a trial of one load takes besides its length: a head start for the writers, and draining what they left.
const OVERHEAD_S: f64 = 0.35;
/// Shortest and longest trial of one load.
const TRIAL_S: (f64, f64) = (0.25, 5.0);
/// Trials before a setting can be on the frontier: a single one may only have been lucky.
const TRIALS_MIN: usize = 2;

/// A load without what depends on the device.
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

/// What was seen of a setting under one load, trial by trial.
#[derive(Debug, Clone, Default)]
struct Seen {
    read_us: Vec<f64>,
    read_us_p99: Vec<f64>,
    write_bytes_per_s: Vec<f64>,
    write_us_max: Vec<f64>,
}

/// The search and what it knows so far.
pub(super) struct Search<'a> {
    sense: &'a Sense,
    bed: &'a Bed,
    disk: &'a str,
    control: &'a Control<'a>,
    options: &'a Options,
    space: Space,
    pub(super) actuator: Actuator,
    trial: Duration,
    loads: Vec<FrontierLoad>,
    /// In the order of first trials; the settings found are the first.
    tried: Vec<Candidate>,
    /// Place in `tried`, then load.
    seen: Vec<[Seen; LOADS.len()]>,
    refused: HashMap<Candidate, String>,
    random: ChaCha8Rng,
    trials_done: usize,
    trials_all: usize,
    winner: Option<usize>,
}

/// What the search found.
pub(super) struct Found {
    pub(super) trial: Duration,
    pub(super) loads: Vec<FrontierLoad>,
    pub(super) points: Vec<FrontierPoint>,
    pub(super) found: String,
    pub(super) chosen: Option<String>,
    pub(super) refused: Vec<(String, String)>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        (sense, bed, disk): (&'a Sense, &'a Bed, &'a str),
        options: &'a Options,
        space: Space,
        actuator: Actuator,
        control: &'a Control<'a>,
    ) -> Self {
        let last = options.common.runs as usize * (FINALISTS + 1);
        let between: usize = ROUNDS.iter().map(|(keep, _, fresh)| keep + fresh + 1).sum();
        let trials_all = space.beginning().len() + 1 + between + last;
        let each_s = options.budget.as_secs_f64() / (trials_all * LOADS.len()) as f64 - OVERHEAD_S;
        Self {
            sense,
            bed,
            disk,
            control,
            options,
            space,
            actuator,
            trial: Duration::from_secs_f64(each_s.clamp(TRIAL_S.0, TRIAL_S.1)),
            loads: Vec::new(),
            tried: vec![Space::found()],
            seen: vec![Default::default()],
            refused: HashMap::new(),
            random: ChaCha8Rng::seed_from_u64(options.common.seed),
            trials_done: 0,
            trials_all,
            winner: None,
        }
    }

    /// Runs all rounds.
    pub(super) fn run(&mut self) -> Result<()> {
        self.calibrate()?;
        self.round(self.space.beginning())?;
        for (keep, parents, fresh) in ROUNDS {
            let mut field = self.best(keep);
            let mut joining: Vec<Candidate> = Vec::new();
            for candidate in field.iter().take(parents).flat_map(|parent| self.space.neighbours(parent)) {
                if !self.tried.contains(&candidate) && !joining.contains(&candidate) {
                    joining.push(candidate);
                }
            }
            joining.shuffle(&mut self.random);
            joining.truncate(fresh);
            field.extend(joining);
            self.round(field)?;
        }
        let finalists = self.best(FINALISTS);
        for _ in 0..self.options.common.runs {
            self.round(finalists.clone())?;
        }
        let scored: Vec<(usize, Score, usize)> = finalists
            .iter()
            .filter_map(|finalist| {
                let index = self.tried.iter().position(|tried| tried == finalist)?;
                Some((index, self.score(index)?, self.space.changes(finalist)))
            })
            .collect();
        self.winner = race::winner(&scored, self.options.write_min_percent);
        Ok(())
    }

    /// How long a read takes alone, from which the readers' appointments follow.
    fn calibrate(&mut self) -> Result<()> {
        for kind in &LOADS {
            self.control.report(0.0, "reads alone");
            let trial = Trial { readers: 1, interval: Duration::ZERO, writers: Writers::None, ..self.trial(0, 0) };
            let alone = contest::run(self.sense, self.bed, self.disk, &trial, self.control)?;
            let read_alone_us =
                alone.reads.mean_us().ok_or_else(|| Error::BadLoad("no read was measured".to_owned()))?;
            self.loads.push(FrontierLoad {
                name: kind.name.to_owned(),
                readers: kind.readers,
                read_interval_us: read_alone_us * f64::from(kind.readers) / READ_SHARE,
                read_alone_us,
                writers: kind.words.to_owned(),
            });
        }
        Ok(())
    }

    fn trial(&self, load: usize, number: usize) -> Trial {
        let interval_us = self.loads.get(load).map_or(0.0, |load| load.read_interval_us);
        Trial {
            readers: LOADS[load].readers,
            interval: Duration::from_secs_f64(interval_us / 1e6),
            realtime: false,
            writers: LOADS[load].writers,
            length: self.trial,
            block_bytes: self.options.common.block_bytes,
            // The same for every setting of a round: each gets the very same requests.
            seed: mix(self.options.common.seed ^ ((number as u64) << 32) ^ load as u64),
        }
    }

    /// One trial of each load for each of `field` and for the settings found, in drawn order.
    fn round(&mut self, mut field: Vec<Candidate>) -> Result<()> {
        field.push(Space::found());
        field.shuffle(&mut self.random);
        for candidate in field {
            let label = self.space.label(&candidate);
            self.control.report(self.trials_done as f64 / self.trials_all as f64, &label);
            self.trials_done += 1;
            if self.refused.contains_key(&candidate) {
                continue;
            }
            if let Some(why) = self.apply(&candidate) {
                self.refused.insert(candidate, why);
                continue;
            }
            let index = self.tried.iter().position(|tried| *tried == candidate).unwrap_or_else(|| {
                self.tried.push(candidate.clone());
                self.seen.push(Default::default());
                self.tried.len() - 1
            });
            for load in 0..LOADS.len() {
                let number = self.seen[index][load].read_us.len();
                let trial = Trial { realtime: self.space.priorities(&candidate), ..self.trial(load, number) };
                let outcome = contest::run(self.sense, self.bed, self.disk, &trial, self.control)?;
                self.bed.wrote((outcome.write_bytes_per_s * trial.length.as_secs_f64()) as u64);
                self.seen[index][load].add(&outcome, trial.length);
            }
        }
        Ok(())
    }

    /// Sets what `candidate` asks for, and puts everything else back. Gives why that cannot be, if it cannot.
    fn apply(&mut self, candidate: &Candidate) -> Option<String> {
        let applied = self.actuator.apply(&self.space.targets(candidate, self.disk));
        applied.into_iter().find_map(|applied| match applied.outcome {
            Became::Refused { why } => Some(why),
            Became::Left { found } => Some(format!(
                "somebody else set {} to {}",
                applied.knob,
                found.as_deref().unwrap_or("something unreadable")
            )),
            _ => None,
        })
    }

    /// Of number `index`, relative to the settings found.
    fn score(&self, index: usize) -> Option<Score> {
        let (of, found) = (&self.seen[index], &self.seen[0]);
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

    /// The best of all that were tried, the settings found apart.
    fn best(&self, keep: usize) -> Vec<Candidate> {
        let scores: Vec<Option<Score>> =
            (0..self.tried.len()).map(|index| if index == 0 { None } else { self.score(index) }).collect();
        race::best(&scores, keep, self.options.write_min_percent)
            .into_iter()
            .map(|index| self.tried[index].clone())
            .collect()
    }

    /// What is to be told.
    pub(super) fn outcome(self) -> Result<Found> {
        let scored: Vec<(usize, Score)> =
            (0..self.tried.len()).filter_map(|index| Some((index, self.score(index)?))).collect();
        let often = |index: usize| self.seen[index].iter().all(|seen| seen.read_us.len() >= TRIALS_MIN);
        let known: Vec<(usize, Score)> = scored.iter().copied().filter(|(index, _)| often(*index)).collect();
        let on: Vec<usize> = known
            .iter()
            .zip(race::frontier(&known.iter().map(|(_, score)| *score).collect::<Vec<_>>()))
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
                    loads: self.seen[index].iter().map(Seen::measure).collect::<Result<_>>()?,
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
            found: self.space.label(&Space::found()),
            chosen: self.winner.map(|index| self.space.label(&self.tried[index])),
            loads: self.loads,
            points,
            refused,
        })
    }
}

impl Seen {
    fn add(&mut self, outcome: &Outcome, length: Duration) {
        self.read_us.extend(outcome.reads.mean_us());
        self.read_us_p99.push(outcome.reads.quantile_us(0.99));
        self.write_bytes_per_s.push(outcome.write_bytes_per_s);
        // When no write came back at all, the longest wait was at least the whole trial.
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

// A work file that is too small would let writers overwrite in the device's buffer what they wrote just before.
const _: () = assert!(SIZE_BYTES / 4 >= 16 << 20);
