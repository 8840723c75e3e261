//! Settings that other devices of the same model have found: what of them is taken, and when a comparison here agrees
//! with them.
//!
//! They come from a file. So only settings that the search itself tries are taken, with values between the least and
//! the greatest that it tries ([`super::space`]), and they are kept only where this device confirms them.

use std::collections::BTreeMap;

use brisk_core::knob::{Knob, QueueSetting};
use brisk_core::stats::Summary;
use thiserror::Error;

use super::ranking::{Score, is_gain};
use super::space::{Bounds, bounds};

/// Settings that were found elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub(super) scheduler: String,
    /// Without the scheduler.
    pub(super) settings: BTreeMap<QueueSetting, String>,
    pub(super) priorities: bool,
}

/// Why settings are not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GivenError {
    #[error("they name no scheduler")]
    NoScheduler,
    #[error("they are of scheduler '{of}' and set '{set}'")]
    TwoSchedulers { of: String, set: String },
    #[error("'{setting}' is no setting that a search tries with scheduler {scheduler}")]
    Unknown { setting: String, scheduler: String },
    #[error("{setting} = {value} is out of range: {least} to {most}")]
    OutOfRange { setting: String, value: String, least: u64, most: u64 },
    #[error("scheduler {0} has no priorities")]
    NoPriorities(String),
}

impl Given {
    /// Takes settings in the words of knobs (`nr_requests`, `mq-deadline/fifo_batch`), with or without `scheduler`.
    /// `writes_wait_max_ms` is the longest time that priorities may defer a write.
    ///
    /// # Errors
    /// When a setting is none that the search tries, or a value is out of its range.
    pub fn parse(
        scheduler: &str,
        settings: &BTreeMap<String, String>,
        priorities: bool,
        writes_wait_max_ms: u32,
    ) -> Result<Self, GivenError> {
        if scheduler.is_empty() {
            return Err(GivenError::NoScheduler);
        }
        let Bounds { settings: known, priorities: has_priorities, .. } = bounds(scheduler, writes_wait_max_ms);
        if priorities && !has_priorities {
            return Err(GivenError::NoPriorities(scheduler.to_owned()));
        }
        let mut taken = BTreeMap::new();
        for (name, value) in settings {
            let unknown = || GivenError::Unknown { setting: name.clone(), scheduler: scheduler.to_owned() };
            let setting = queue_setting(name).ok_or_else(unknown)?;
            if setting == QueueSetting::Scheduler {
                if value != scheduler {
                    return Err(GivenError::TwoSchedulers { of: scheduler.to_owned(), set: value.clone() });
                }
                continue;
            }
            let &(least, most) = known.get(&setting).ok_or_else(unknown)?;
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            let number = value.parse().ok().filter(|number| is_number && (least..=most).contains(number));
            let number: u64 = number.ok_or_else(|| GivenError::OutOfRange {
                setting: name.clone(),
                value: value.clone(),
                least,
                most,
            })?;
            taken.insert(setting, number.to_string());
        }
        Ok(Self { scheduler: scheduler.to_owned(), settings: taken, priorities })
    }

    #[must_use]
    pub fn scheduler(&self) -> &str {
        &self.scheduler
    }
}

fn queue_setting(name: &str) -> Option<QueueSetting> {
    match format!("queue/any/{name}").parse() {
        Ok(Knob::Queue { setting, .. }) => Some(setting),
        _ => None,
    }
}

/// Fewest pairs of trials: six give an interval of 95 % for their median.
pub(super) const PAIRS_MIN: usize = 6;

/// What a comparison of the given settings with those found says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Reads are faster for certain, and writes keep the share that was asked for.
    Agrees,
    /// Reads are not faster, or it is not certain.
    NoGain,
    /// Writes lose too much.
    SlowWrites,
    /// Too few trials fitted into the time.
    TooFewTrials,
}

/// A comparison of given settings with those found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Mean read latency over that with the settings found, pair by pair of trials: geometric mean over the loads.
    /// `None` where no pair of trials was measured.
    pub read_ratio: Option<Summary>,
    /// Write throughput in percent of that with the settings found.
    pub write_percent: Option<f64>,
    pub verdict: Verdict,
}

impl Comparison {
    /// Of the ratios of pairs, and the score of all trials.
    pub(super) fn of(pairs: &[f64], score: Option<Score>, write_min_percent: f64) -> Self {
        let read_ratio = Summary::of(pairs);
        let verdict = match (read_ratio, score) {
            (Some(ratio), Some(score)) if ratio.count >= PAIRS_MIN => match () {
                () if !score.is_feasible(write_min_percent) => Verdict::SlowWrites,
                () if ratio.high < 1.0 && is_gain(score.read_ratio) => Verdict::Agrees,
                () => Verdict::NoGain,
            },
            _ => Verdict::TooFewTrials,
        };
        Self { read_ratio, write_percent: score.map(|score| score.write_percent), verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(scheduler: &str, settings: &[(&str, &str)], priorities: bool) -> Result<Given, String> {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Given::parse(scheduler, &settings, priorities, 100).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_of_the_search_are_taken() {
        let settings = [("scheduler", "mq-deadline"), ("nr_requests", "4"), ("mq-deadline/prio_aging_expire", "100")];
        let given = parse("mq-deadline", &settings, true).expect("taken");
        assert_eq!(given.settings.len(), 2);
        assert!(given.priorities && given.scheduler() == "mq-deadline");
        // Between the values that it tries, too.
        assert!(parse("mq-deadline", &[("mq-deadline/fifo_batch", "3")], false).is_ok());
        assert!(parse("adios", &[("nr_requests", "8")], false).is_ok());
    }

    #[test]
    fn all_other_settings_are_refused_with_the_reason() {
        type Case = (&'static str, &'static [(&'static str, &'static str)], bool, &'static str);
        let cases: [Case; 10] = [
            ("", &[], false, "they name no scheduler"),
            ("kyber", &[("scheduler", "bfq")], false, "they are of scheduler 'kyber' and set 'bfq'"),
            (
                "none",
                &[("read_ahead_kb", "4")],
                false,
                "'read_ahead_kb' is no setting that a search tries with scheduler none",
            ),
            (
                "kyber",
                &[("bfq/slice_idle", "0")],
                false,
                "'bfq/slice_idle' is no setting that a search tries with scheduler kyber",
            ),
            ("bfq", &[("bfq/../x", "0")], false, "'bfq/../x' is no setting that a search tries with scheduler bfq"),
            ("mq-deadline", &[("nr_requests", "1")], false, "nr_requests = 1 is out of range: 4 to 16"),
            ("mq-deadline", &[("nr_requests", "4096")], false, "nr_requests = 4096 is out of range: 4 to 16"),
            ("mq-deadline", &[("nr_requests", "+4")], false, "nr_requests = +4 is out of range: 4 to 16"),
            (
                "mq-deadline",
                &[("mq-deadline/prio_aging_expire", "10000")],
                true,
                "mq-deadline/prio_aging_expire = 10000 is out of range: 25 to 100",
            ),
            ("kyber", &[], true, "scheduler kyber has no priorities"),
        ];
        for (scheduler, settings, priorities, words) in cases {
            assert_eq!(parse(scheduler, settings, priorities), Err(words.to_owned()));
        }
    }

    #[test]
    fn a_comparison_agrees_only_where_reads_gain_for_certain_and_writes_stay() {
        let score =
            |read_ratio, write_percent| Some(Score { read_ratio, write_percent, write_percent_min: write_percent });
        let of = |pairs: &[f64], score| Comparison::of(pairs, score, 90.0).verdict;
        let faster = [0.4, 0.5, 0.45, 0.6, 0.5, 0.7];
        assert_eq!(of(&faster, score(0.5, 97.0)), Verdict::Agrees);
        assert_eq!(of(&faster, score(0.5, 80.0)), Verdict::SlowWrites);
        assert_eq!(of(&faster[..5], score(0.5, 97.0)), Verdict::TooFewTrials);
        assert_eq!(of(&[], None), Verdict::TooFewTrials);
        // One of six slower: the interval of 95 % holds it.
        assert_eq!(of(&[0.4, 0.5, 0.45, 0.6, 0.5, 1.1], score(0.5, 97.0)), Verdict::NoGain);
        // Within noise.
        assert_eq!(of(&[0.97; 6], score(0.97, 100.0)), Verdict::NoGain);
    }
}
