//! The space of settings.
//!
//! A [`Candidate`] is a scheduler and a step on each of its dimensions; step zero is the scheduler's default. The
//! search begins with every plain scheduler, with single changes, and with pairs of changes that are known to matter.
//! It continues with neighbours of good settings: one step on one dimension.

use std::collections::BTreeMap;

use brisk_core::action::Setting;
use brisk_core::knob::{Knob, QueueSetting};

use super::given::Given;

/// One dimension, and its values in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dimension {
    what: What,
    values: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Setting(QueueSetting),
    /// Readers get the I/O priority best effort 0; writes then wait for at most so many ms.
    Priorities,
}

/// A point in the space of settings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Candidate {
    /// Index of the scheduler; `None` for the baseline.
    scheduler: Option<usize>,
    /// Step on each dimension of the scheduler.
    steps: Vec<usize>,
}

/// All settings of one device.
#[derive(Debug, Clone)]
pub(super) struct Space {
    found: String,
    schedulers: Vec<(String, Vec<Dimension>)>,
}

/// The tunable of mq-deadline that bounds the time for which priorities defer writes.
const AGING: &str = "prio_aging_expire";

fn dimensions(scheduler: &str, writes_wait_max_ms: u32) -> Vec<Dimension> {
    let of = |setting: QueueSetting, values: &[&str]| Dimension {
        what: What::Setting(setting),
        values: values.iter().map(|&value| value.to_owned()).collect(),
    };
    let tunable = |name: &str, values: &[&str]| of(QueueSetting::tunable(scheduler, name), values);
    let mut waits = [4, 2, 1].map(|share| (writes_wait_max_ms / share).max(1).to_string()).to_vec();
    waits.dedup();
    let priorities = |values: Vec<String>| Dimension { what: What::Priorities, values };
    let depth = |values: &[&str]| of(QueueSetting::NrRequests, values);
    let mut all = match scheduler {
        "none" => vec![],
        "mq-deadline" => vec![
            tunable("async_depth", &["4", "2", "1"]),
            priorities(waits),
            tunable("fifo_batch", &["4", "1"]),
            tunable("writes_starved", &["8", "16", "64"]),
            depth(&["16", "8", "4"]),
        ],
        "kyber" => vec![
            depth(&["16", "8", "4"]),
            tunable("read_lat_nsec", &["1000000", "300000"]),
            tunable("write_lat_nsec", &["50000000", "500000000"]),
        ],
        "bfq" => vec![
            depth(&["16", "8", "4"]),
            // bfq bounds the effect of the class by itself.
            priorities(vec!["on".to_owned()]),
            tunable("slice_idle", &["2", "0"]),
            tunable("low_latency", &["0"]),
        ],
        _ => vec![depth(&["16", "8", "4"])],
    };
    all.push(of(QueueSetting::WbtLatUsec, &["500", "0"]));
    all.push(of(QueueSetting::MaxSectorsKb, &["256", "128", "64", "32"]));
    all
}

/// What the search tries with one scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Least and greatest value of each setting.
    pub(super) settings: BTreeMap<QueueSetting, (u64, u64)>,
    /// Whether readers may have a higher priority.
    pub(super) priorities: bool,
}

/// Bounds of all that the search tries with `scheduler`.
pub(super) fn bounds(scheduler: &str, writes_wait_max_ms: u32) -> Bounds {
    let mut found = Bounds { settings: BTreeMap::new(), priorities: false };
    for Dimension { what, values } in dimensions(scheduler, writes_wait_max_ms) {
        let numbers = || values.iter().filter_map(|value| value.parse().ok());
        let range = numbers().min().zip(numbers().max());
        let setting = match what {
            What::Setting(setting) => Some(setting),
            What::Priorities => {
                found.priorities = true;
                // Under bfq they have no number.
                range.is_some().then(|| QueueSetting::tunable(scheduler, AGING))
            }
        };
        found.settings.extend(setting.zip(range));
    }
    found
}

impl Space {
    /// The space of given settings alone, and its only point.
    pub(super) fn of_given(found: &str, given: &Given, writes_wait_max_ms: u32) -> (Self, Candidate) {
        let Given { scheduler, settings, priorities } = given;
        let aging = QueueSetting::tunable(scheduler, AGING);
        let mut dimensions: Vec<Dimension> = Vec::new();
        for (setting, value) in settings.iter().filter(|(setting, _)| !priorities || **setting != aging) {
            dimensions.push(Dimension { what: What::Setting(setting.clone()), values: vec![value.clone()] });
        }
        if *priorities {
            let wait = settings.get(&aging).cloned().unwrap_or_else(|| writes_wait_max_ms.to_string());
            dimensions.push(Dimension { what: What::Priorities, values: vec![wait] });
        }
        let candidate = Candidate { scheduler: Some(0), steps: vec![1; dimensions.len()] };
        (Self { found: found.to_owned(), schedulers: vec![(scheduler.clone(), dimensions)] }, candidate)
    }

    /// The space of a device that was found with scheduler `found` and whose kernel offers `schedulers`.
    pub(super) fn new(found: &str, schedulers: &[String], writes_wait_max_ms: u32) -> Self {
        let schedulers =
            schedulers.iter().map(|name| (name.clone(), dimensions(name, writes_wait_max_ms))).collect::<Vec<_>>();
        Self { found: found.to_owned(), schedulers }
    }

    /// The baseline: the settings that were found.
    pub(super) fn baseline() -> Candidate {
        Candidate { scheduler: None, steps: Vec::new() }
    }

    pub(super) fn schedulers(&self) -> usize {
        self.schedulers.len()
    }

    /// Initial settings: every plain scheduler, the last step of each dimension alone, and each pair of last steps of
    /// the first three dimensions, which control the writes in flight, the priority of reads, and batching.
    pub(super) fn beginning(&self) -> Vec<Candidate> {
        let mut all = Vec::new();
        for (number, (_, dimensions)) in self.schedulers.iter().enumerate() {
            let with = |changed: &[usize]| {
                let step = |at| if changed.contains(&at) { dimensions[at].values.len() } else { 0 };
                Candidate { scheduler: Some(number), steps: (0..dimensions.len()).map(step).collect() }
            };
            all.push(with(&[]));
            all.extend((0..dimensions.len()).map(|at| with(&[at])));
            let main = dimensions.len().saturating_sub(2).min(3);
            all.extend((0..main).flat_map(|a| (0..a).map(move |b| [a, b])).map(|pair| with(&pair)));
        }
        all
    }

    /// One step on one dimension from `candidate`.
    pub(super) fn neighbours(&self, candidate: &Candidate) -> Vec<Candidate> {
        let Some((_, dimensions)) = candidate.scheduler.and_then(|number| self.schedulers.get(number)) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (at, dimension) in dimensions.iter().enumerate() {
            let step = candidate.steps[at];
            let last = dimension.values.len();
            // From the default, the last step is as near as the first.
            let next = if step == 0 { vec![last, 1] } else { vec![step - 1, step + 1] };
            for step in next.into_iter().filter(|&step| step <= last) {
                let mut steps = candidate.steps.clone();
                steps[at] = step;
                all.push(Candidate { scheduler: candidate.scheduler, steps });
            }
        }
        all.dedup();
        all
    }

    fn changed<'a>(&'a self, candidate: &'a Candidate) -> impl Iterator<Item = (&'a What, &'a str)> {
        let dimensions = candidate.scheduler.and_then(|number| self.schedulers.get(number)).map(|(_, all)| all);
        let steps = dimensions.into_iter().flatten().zip(&candidate.steps);
        steps
            .filter(|(_, step)| **step > 0)
            .map(|(dimension, step)| (&dimension.what, dimension.values[step - 1].as_str()))
    }

    /// Number of changes from the scheduler's default.
    pub(super) fn changes(&self, candidate: &Candidate) -> usize {
        self.changed(candidate).count()
    }

    pub(super) fn scheduler<'a>(&'a self, candidate: &Candidate) -> &'a str {
        candidate.scheduler.and_then(|number| self.schedulers.get(number)).map_or(&self.found, |(name, _)| name)
    }

    /// Whether readers get the I/O priority best effort 0.
    pub(super) fn priorities(&self, candidate: &Candidate) -> bool {
        self.changed(candidate).any(|(what, _)| *what == What::Priorities)
    }

    /// Settings to apply; none for the baseline.
    pub(super) fn settings(&self, candidate: &Candidate) -> BTreeMap<QueueSetting, String> {
        let Some(number) = candidate.scheduler else { return BTreeMap::new() };
        let scheduler = self.schedulers[number].0.as_str();
        let mut settings = BTreeMap::from([(QueueSetting::Scheduler, scheduler.to_owned())]);
        for (what, value) in self.changed(candidate) {
            match what {
                What::Setting(setting) => drop(settings.insert(setting.clone(), value.to_owned())),
                What::Priorities if scheduler == "mq-deadline" => {
                    settings.insert(QueueSetting::tunable(scheduler, AGING), value.to_owned());
                }
                What::Priorities => {}
            }
        }
        settings
    }

    /// The same as knobs of `disk`.
    pub(super) fn targets(&self, candidate: &Candidate, disk: &str) -> Vec<Setting> {
        self.settings(candidate)
            .into_iter()
            .map(|(setting, value)| Setting::new(Knob::queue(disk, setting), value))
            .collect()
    }

    pub(super) fn label(&self, candidate: &Candidate) -> String {
        if candidate.scheduler.is_none() {
            return format!("as found ({})", self.found);
        }
        let mut words = vec![self.scheduler(candidate).to_owned()];
        for (what, value) in self.changed(candidate) {
            words.push(match what {
                What::Setting(QueueSetting::Tunable { name, .. }) => format!("{name} {value}"),
                What::Setting(setting) => format!("{setting} {value}"),
                What::Priorities if self.scheduler(candidate) == "mq-deadline" => {
                    format!("readers real-time ({AGING} {value})")
                }
                What::Priorities => "readers real-time".to_owned(),
            });
        }
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn space() -> Space {
        let all = ["none", "mq-deadline", "kyber", "bfq", "adios"].map(str::to_owned);
        Space::new("mq-deadline", &all, 100)
    }

    #[test]
    fn the_search_begins_with_every_plain_scheduler_and_no_setting_twice() {
        let space = space();
        let all = space.beginning();
        let labels: BTreeSet<String> = all.iter().map(|candidate| space.label(candidate)).collect();
        assert_eq!(labels.len(), all.len());
        for plain in ["none", "mq-deadline", "kyber", "bfq", "adios"] {
            assert!(labels.contains(plain), "{labels:?}");
        }
        assert!(labels.contains("mq-deadline, async_depth 1, readers real-time (prio_aging_expire 100)"), "{labels:?}");
        assert!((20..60).contains(&all.len()), "{}", all.len());
    }

    #[test]
    fn a_setting_becomes_knobs_in_the_order_of_writing() {
        let space = space();
        let wanted = "mq-deadline, async_depth 1, readers real-time (prio_aging_expire 100)";
        let candidate = space.beginning().into_iter().find(|c| space.label(c) == wanted).expect("begun with");
        let targets: Vec<_> =
            space.targets(&candidate, "sda").into_iter().map(|set| format!("{}={}", set.knob, set.value)).collect();
        let expected = [
            "queue/sda/scheduler=mq-deadline",
            "queue/sda/mq-deadline/async_depth=1",
            "queue/sda/mq-deadline/prio_aging_expire=100",
        ];
        assert_eq!(targets, expected);
        assert!(space.priorities(&candidate) && space.changes(&candidate) == 2);
        assert!(space.targets(&Space::baseline(), "sda").is_empty());
    }

    #[test]
    fn what_one_device_found_is_applied_alike_on_another() {
        let space = space();
        for candidate in space.beginning() {
            let settings = space.settings(&candidate);
            let texts = settings.iter().map(|(setting, value)| (setting.to_string(), value.clone())).collect();
            let scheduler = space.scheduler(&candidate);
            let given = Given::parse(scheduler, &texts, space.priorities(&candidate), 100).expect("within its bounds");
            let (alone, same) = Space::of_given("none", &given, 100);
            assert_eq!(alone.settings(&same), settings, "{}", space.label(&candidate));
            assert_eq!(alone.priorities(&same), space.priorities(&candidate));
        }
    }

    #[test]
    fn neighbours_differ_in_one_step_and_reach_the_whole_space() {
        let space = space();
        let mut seen: BTreeSet<Candidate> = BTreeSet::new();
        let mut ahead = vec![space.beginning().into_iter().find(|c| space.label(c) == "kyber").expect("plain")];
        while let Some(candidate) = ahead.pop() {
            for next in space.neighbours(&candidate) {
                let differ = next.steps.iter().zip(&candidate.steps).filter(|(a, b)| a != b).count();
                assert_eq!(differ, 1, "{} {}", space.label(&candidate), space.label(&next));
                if seen.insert(next.clone()) {
                    ahead.push(next);
                }
            }
        }
        assert_eq!(seen.len(), 4 * 3 * 3 * 3 * 5);
        assert!(space.neighbours(&Space::baseline()).is_empty());
    }
}
