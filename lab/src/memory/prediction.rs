//! How well next apps are predicted: predictors replay a usage trace and are scored at each launch.
//!
//! The protocol is prequential, for each user alone, from a cold start: before each launch the predictor names the
//! likeliest apps, which is a hit where the launched app is among them; then it learns the launch. An app never used
//! before is a miss. Two ways: *uncollapsed*, each row is a launch; *collapsed*, a row of the app in front is none, and
//! that app is never predicted. Rows of one app that follow each other within [`JOIN_S`] are joined for users whose log
//! has one visit in several rows ([`Choice::joined`]).
//!
//! A predictor knows the time of the launch, and context events up to it: what brisk knows when it decides at that
//! moment. Properties, each with a test of the same name: `the_same_trace_gives_the_same_hits`,
//! `a_hit_is_scored_before_it_is_learned`, `the_app_in_front_is_never_predicted_when_collapsed`.

mod baseline;
mod calibration;
mod context;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::results::{PredictionCost, PredictionResult, PredictionUser, PredictionWay};
use brisk_engine::iram::Mode;
use brisk_engine::kit::predict::{Moment, Note, Predictor, Repeats, Use};

use crate::memory::day::{Session, UserTrace};
use baseline::Baseline;
use calibration::Reliability;
pub use context::{ContextEvent, ContextKind, ContextTrace};

/// Numbers of predicted apps for which hits are counted.
pub const PREDICTED_APPS: [u32; 5] = [1, 3, 5, 9, 10];
const PREDICTED_MOST: usize = 10;
/// Rows of one app that begin within this time of the row before are joined, s. Logs need it that have a row for each
/// screen of an app; of the users that were at hand that is u5, whose rows in `../shared/data` are joined already.
pub const JOIN_S: u64 = 30;
/// Returns of all apps are checked at each so-many-th launch, for these times.
const RETURNS_EACH: usize = 16;
const RETURN_TIMES: [(f64, &str); 2] = [(600.0, "within 10 min"), (3_600.0, "within 1 h")];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scored {
    /// The mixture of experts.
    Adaptive,
    /// Prediction by partial matching.
    Paper,
    /// The most recently used apps.
    Lru,
    /// The most often used apps.
    Frequency,
}

impl Scored {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Paper => "paper",
            Self::Lru => "lru",
            Self::Frequency => "frequency",
        }
    }
}

/// How users are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Users whose rows of one app are joined.
    pub joined: BTreeSet<String>,
    /// Local time less UTC of users, in minutes.
    pub offsets_minutes: BTreeMap<String, i32>,
}

/// A user, ready to be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed<'a> {
    pub user: &'a str,
    launches: Vec<&'a Session>,
    /// Rows that were joined with one before.
    pub joined_rows: u64,
    events: &'a [ContextEvent],
    offset_minutes: Option<i32>,
}

impl<'a> Replayed<'a> {
    /// Reads a user as chosen.
    #[must_use]
    pub fn new(of: &'a UserTrace, context: Option<&'a ContextTrace>, choice: &Choice) -> Self {
        let is_joined = choice.joined.contains(&of.user);
        let mut launches: Vec<&Session> = Vec::new();
        let mut last: Option<&Session> = None;
        for session in &of.sessions {
            let before = last.replace(session);
            let is_same = |one: &&Session| one.app == session.app && session.at_ms - one.at_ms < JOIN_S * 1_000;
            if !(is_joined && before.as_ref().is_some_and(is_same)) {
                launches.push(session);
            }
        }
        let joined_rows = (of.sessions.len() - launches.len()) as u64;
        let events = context.map_or(&[][..], |context| context.of_user(&of.user));
        Self {
            user: &of.user,
            launches,
            joined_rows,
            events,
            offset_minutes: choice.offsets_minutes.get(&of.user).copied(),
        }
    }

    /// Whether its time zone is known.
    #[must_use]
    pub fn has_offset(&self) -> bool {
        self.offset_minutes.is_some()
    }

    /// Unlocks and notifications.
    #[must_use]
    pub fn context_events(&self) -> u64 {
        self.events.len() as u64
    }

    fn launches(&self, way: PredictionWay) -> Vec<&'a Session> {
        let mut launches = self.launches.clone();
        if way == PredictionWay::Collapsed {
            launches.dedup_by(|later, earlier| later.app == earlier.app);
        }
        launches
    }

    fn moment(&self, at_ms: u64) -> Moment {
        let local = self.offset_minutes.map(|offset| {
            // 1970-01-01 was a Thursday.
            let minutes = (at_ms / 60_000) as i64 + i64::from(offset) + 3 * 1_440;
            u16::try_from(minutes.rem_euclid(10_080)).expect("a week has 10,080 minutes")
        });
        Moment { at_unix_ms: at_ms, local_minute_of_week: local }
    }
}

/// What is learned, or counted.
enum Any<'a> {
    Learned(Box<Predictor>),
    Counted(Baseline<'a>),
}

/// Scores a predictor over users; `None` when it was stopped.
#[must_use]
pub fn score(
    scored: Scored,
    way: PredictionWay,
    users: &[Replayed<'_>],
    stop: &AtomicBool,
) -> Option<PredictionResult> {
    let mut found = Vec::new();
    let mut tally = Tally::default();
    for user in users {
        found.push(score_user(scored, way, user, &mut tally, stop)?);
    }
    let learned = matches!(scored, Scored::Adaptive | Scored::Paper);
    let calibration =
        if learned { tally.reliability.iter().filter_map(Reliability::sum).collect() } else { Vec::new() };
    Some(PredictionResult {
        predictor: scored.name().to_owned(),
        way,
        users: found,
        calibration,
        cost: if learned { tally.cost() } else { None },
    })
}

/// What is summed over users.
struct Tally {
    /// Of the next app, and of returns.
    reliability: [Reliability; 1 + RETURN_TIMES.len()],
    updates_us: Vec<f64>,
    state_bytes_max: u64,
}

impl Default for Tally {
    fn default() -> Self {
        let [ten_minutes, hour] = RETURN_TIMES.map(|(_, name)| Reliability::new(name));
        Self { reliability: [Reliability::new("next"), ten_minutes, hour], updates_us: Vec::new(), state_bytes_max: 0 }
    }
}

impl Tally {
    fn cost(mut self) -> Option<PredictionCost> {
        self.updates_us.sort_by(f64::total_cmp);
        let count = self.updates_us.len();
        let at = |percent: usize| self.updates_us.get(count * percent / 100).copied();
        Some(PredictionCost { update_us_p50: at(50)?, update_us_p99: at(99)?, state_bytes_max: self.state_bytes_max })
    }
}

fn score_user(
    scored: Scored,
    way: PredictionWay,
    user: &Replayed<'_>,
    tally: &mut Tally,
    stop: &AtomicBool,
) -> Option<PredictionUser> {
    let launches = user.launches(way);
    let repeats = match way {
        PredictionWay::Collapsed => Repeats::Collapsed,
        PredictionWay::Uncollapsed => Repeats::Kept,
    };
    let mut any = match scored {
        Scored::Adaptive => Any::Learned(Box::new(Predictor::new(Mode::Adaptive, repeats))),
        Scored::Paper => Any::Learned(Box::new(Predictor::new(Mode::Paper, repeats))),
        Scored::Lru => Any::Counted(Baseline::lru(way)),
        Scored::Frequency => Any::Counted(Baseline::frequency(way)),
    };
    let mut events = user.events.iter().peekable();
    let mut hits = vec![0; PREDICTED_APPS.len()];
    for (nth, launch) in launches.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let place = match &mut any {
            Any::Counted(baseline) => {
                let place = baseline.predicted(PREDICTED_MOST).iter().position(|app| *app == launch.app);
                baseline.learn(&launch.app);
                place
            }
            Any::Learned(predictor) => {
                while let Some(event) = events.next_if(|event| event.at_ms <= launch.at_ms) {
                    let note = match &event.kind {
                        ContextKind::Unlocked => Note::Unlocked,
                        ContextKind::Notified { app } => Note::Notified { app },
                    };
                    predictor.note(user.moment(event.at_ms), note);
                }
                if nth % RETURNS_EACH == 0 {
                    returns(predictor, user, &launches, nth, &mut tally.reliability[1..]);
                }
                step(predictor, user.moment(launch.at_ms), launch, tally)
            }
        };
        let within = |most: &u32| place.is_some_and(|place| place < *most as usize);
        hits.iter_mut().zip(&PREDICTED_APPS).for_each(|(hits, most)| *hits += u64::from(within(most)));
    }
    if let Any::Learned(predictor) = &any {
        let bytes = serde_json::to_vec(predictor).expect("a predictor is plain numbers and names").len() as u64;
        tally.state_bytes_max = tally.state_bytes_max.max(bytes);
    }
    let apps: BTreeSet<&str> = launches.iter().map(|launch| launch.app.as_str()).collect();
    Some(PredictionUser { user: user.user.to_owned(), launches: launches.len() as u64, apps: apps.len() as u64, hits })
}

/// Predicts and learns a launch; gives its place among the predicted apps.
fn step(predictor: &mut Predictor, at: Moment, launch: &Session, tally: &mut Tally) -> Option<usize> {
    let begin = Instant::now();
    let predicted = predictor.next(at, PREDICTED_MOST);
    let predicting = begin.elapsed();
    let place = predicted.iter().position(|chance| chance.app == launch.app);
    for chance in &predicted {
        tally.reliability[0].add(chance.probability, chance.app == launch.app);
    }
    let begin = Instant::now();
    predictor.observe(&Use { app: &launch.app, at });
    tally.updates_us.push((predicting + begin.elapsed()).as_secs_f64() * 1e6);
    place
}

/// Checks, before the `nth` launch, how likely the return of each app is against what happened.
fn returns(predictor: &Predictor, user: &Replayed<'_>, launches: &[&Session], nth: usize, into: &mut [Reliability]) {
    let Some(before) = nth.checked_sub(1).and_then(|nth| launches.get(nth)) else { return };
    let now_ms = before.at_ms;
    let end_ms = launches.last().map_or(0, |launch| launch.at_ms);
    let now = user.moment(now_ms);
    let apps: Vec<String> = predictor.chances(now).into_iter().map(|chance| chance.app.to_owned()).collect();
    for ((horizon_s, _), reliability) in RETURN_TIMES.iter().zip(into) {
        let until_ms = now_ms + (horizon_s * 1e3) as u64;
        if until_ms > end_ms {
            continue;
        }
        let later = launches[nth..].iter().take_while(|launch| launch.at_ms <= until_ms);
        let used: BTreeSet<&str> = later.map(|launch| launch.app.as_str()).collect();
        for app in apps.iter().filter(|app| **app != before.app) {
            reliability.add(predictor.chance_within(app, now, *horizon_s), used.contains(app.as_str()));
        }
    }
}

#[cfg(test)]
mod tests;
