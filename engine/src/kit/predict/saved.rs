//! The stored form of a predictor: columns, so that it is small, and checked, so that a damaged file is an error and no
//! crash.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::experts::{EXPERTS, RANKS};
use super::history::{APPS_MAX, CONTEXTS, HALF_LIVES_LAUNCHES, History, Known, LAUNCHES_MAX, Launch, NAMES_BYTES_MAX};
use super::mixture::{Mixture, Weights};
use super::returns::{LAUNCHES, Pooled, Returns, TIMES_S};
use super::{APP_BYTES_MAX, Mode, Predictor, Repeats};

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;
/// More launches than any device sees.
const NTH_MAX: u64 = 1 << 40;
const MINUTES_A_WEEK: u16 = 10_080;

/// Why a stored form is no predictor.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StateError {
    #[error(
        "the learned state of the predictor has version {version}, and this brisk reads {VERSION}: begin with a new one"
    )]
    Version { version: u32 },
    #[error("the learned state of the predictor is damaged ({part}): begin with a new one")]
    Damaged { part: &'static str },
}

/// Version number, which is read first.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
struct Version;

impl TryFrom<u32> for Version {
    type Error = StateError;

    fn try_from(version: u32) -> Result<Self, StateError> {
        if version == VERSION { Ok(Self) } else { Err(StateError::Version { version }) }
    }
}

impl From<Version> for u32 {
    fn from(Version: Version) -> Self {
        VERSION
    }
}

/// The stored form. Columns of apps have one entry for each name, those of launches one for each launch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Saved {
    version: Version,
    mode: Mode,
    repeats: Repeats,
    names: Vec<String>,
    uses: Vec<u32>,
    last_s: Vec<u64>,
    last_nth: Vec<u64>,
    counts: Vec<[f32; HALF_LIVES_LAUNCHES.len()]>,
    returns_by_launches: Vec<[u8; LAUNCHES.len()]>,
    returns_by_time: Vec<[u8; TIMES_S.len()]>,
    notified_s: Vec<Option<u64>>,
    notes: Vec<u32>,
    recent: Vec<u16>,
    launched: Vec<u16>,
    /// Time since the launch before; of the first, since 1970.
    pauses_s: Vec<u64>,
    minutes: Vec<u16>,
    begins: Vec<u32>,
    nth: u64,
    front_s: u64,
    unlocked: bool,
    in_session: u32,
    pooled_by_launches: [u32; LAUNCHES.len()],
    pooled_by_time: [u32; TIMES_S.len()],
    rare: [f32; 3],
    weights: Weights,
    squares: Weights,
    shares: [[f32; EXPERTS]; CONTEXTS],
    ranks: [[f32; RANKS]; CONTEXTS],
}

impl From<Predictor> for Saved {
    fn from(predictor: Predictor) -> Self {
        let Predictor { mode, repeats, history, mixture } = predictor;
        let apps = &history.apps;
        let mut before_s = 0;
        let pauses_s =
            history.launches.iter().map(|launch| launch.at_s - std::mem::replace(&mut before_s, launch.at_s));
        Self {
            version: Version,
            mode,
            repeats,
            names: apps.iter().map(|app| app.name.clone()).collect(),
            uses: apps.iter().map(|app| app.uses).collect(),
            last_s: apps.iter().map(|app| app.last_s).collect(),
            last_nth: apps.iter().map(|app| app.last_nth).collect(),
            counts: apps.iter().map(|app| app.counts).collect(),
            returns_by_launches: apps.iter().map(|app| app.returns.launches).collect(),
            returns_by_time: apps.iter().map(|app| app.returns.times).collect(),
            notified_s: apps.iter().map(|app| app.notified_s).collect(),
            notes: apps.iter().map(|app| app.notes).collect(),
            launched: history.launches.iter().map(|launch| launch.app).collect(),
            pauses_s: pauses_s.collect(),
            minutes: history.launches.iter().map(|launch| launch.minute).collect(),
            nth: history.nth,
            front_s: history.front_s,
            unlocked: history.unlocked,
            in_session: history.in_session,
            pooled_by_launches: history.returns.launches,
            pooled_by_time: history.returns.times,
            rare: history.rare,
            recent: history.recent,
            begins: history.begins,
            weights: mixture.weights,
            squares: mixture.squares,
            shares: mixture.shares,
            ranks: mixture.ranks,
        }
    }
}

impl TryFrom<Saved> for Predictor {
    type Error = StateError;

    fn try_from(saved: Saved) -> Result<Self, StateError> {
        let apps = known(&saved)?;
        let launches = launches(&saved, apps.len())?;
        let mut recent = saved.recent.clone();
        recent.sort_unstable();
        sound("recent", recent.iter().copied().eq((0_u16..).take(apps.len())))?;
        let last = launches.last().map(|launch| launch.app);
        sound("recent", last.is_none() || last == saved.recent.first().copied())?;
        sound("nth", saved.nth <= NTH_MAX)?;
        sound("front_s", launches.last().is_none_or(|launch| launch.at_s <= saved.front_s))?;
        sound("rare", saved.rare.iter().all(|count| is_count(*count)))?;
        let mut history = History {
            apps,
            recent: saved.recent,
            launches,
            begins: Vec::new(),
            nth: saved.nth,
            front_s: saved.front_s,
            unlocked: saved.unlocked,
            in_session: saved.in_session,
            returns: Pooled { launches: saved.pooled_by_launches, times: saved.pooled_by_time },
            rare: saved.rare,
        };
        let pooled = [&history.returns.launches[..], &history.returns.times[..]];
        sound("pooled", pooled.iter().all(|counts| counts.iter().all(|count| *count <= 1 << 24)))?;
        history.link();
        let mixture =
            Mixture { weights: saved.weights, squares: saved.squares, shares: saved.shares, ranks: saved.ranks };
        sound("weights", mixture.is_sound())?;
        Ok(Self { mode: saved.mode, repeats: saved.repeats, history, mixture: mixture.within_reach() })
    }
}

fn sound(part: &'static str, is_sound: bool) -> Result<(), StateError> {
    if is_sound { Ok(()) } else { Err(StateError::Damaged { part }) }
}

fn is_count(count: f32) -> bool {
    (0.0..1e6).contains(&count)
}

fn known(saved: &Saved) -> Result<Vec<Known>, StateError> {
    let n = saved.names.len();
    let lengths = [
        saved.uses.len(),
        saved.last_s.len(),
        saved.last_nth.len(),
        saved.counts.len(),
        saved.returns_by_launches.len(),
        saved.returns_by_time.len(),
        saved.notified_s.len(),
        saved.notes.len(),
        saved.recent.len(),
    ];
    sound("columns of apps", n <= APPS_MAX && lengths.iter().all(|length| *length == n))?;
    let mut sorted: Vec<&String> = saved.names.iter().collect();
    sorted.sort_unstable();
    sound("names", sorted.windows(2).all(|pair| pair[0] != pair[1]))?;
    sound("names", saved.names.iter().all(|name| (1..=APP_BYTES_MAX).contains(&name.len())))?;
    sound("names", saved.names.iter().map(String::len).sum::<usize>() <= NAMES_BYTES_MAX)?;
    sound("counts", saved.counts.iter().flatten().all(|count| is_count(*count)))?;
    sound("last_nth", saved.last_nth.iter().all(|nth| *nth <= saved.nth))?;
    let app = |n: usize| Known {
        name: saved.names[n].clone(),
        uses: saved.uses[n],
        last_s: saved.last_s[n],
        last_nth: saved.last_nth[n],
        counts: saved.counts[n],
        returns: Returns { launches: saved.returns_by_launches[n], times: saved.returns_by_time[n] },
        notified_s: saved.notified_s[n],
        notes: saved.notes[n],
    };
    Ok((0..n).map(app).collect())
}

fn launches(saved: &Saved, apps: usize) -> Result<Vec<Launch>, StateError> {
    let n = saved.launched.len();
    sound("columns of launches", n <= LAUNCHES_MAX && saved.pauses_s.len() == n && saved.minutes.len() == n)?;
    sound("launched", saved.launched.iter().all(|id| usize::from(*id) < apps))?;
    sound("minutes", saved.minutes.iter().all(|minute| *minute < MINUTES_A_WEEK))?;
    sound("begins", saved.begins.is_sorted() && saved.begins.iter().all(|position| (*position as usize) < n))?;
    let mut at_s = 0_u64;
    let mut launches = Vec::with_capacity(n);
    for ((&app, &pause_s), &minute) in saved.launched.iter().zip(&saved.pauses_s).zip(&saved.minutes) {
        at_s = at_s.checked_add(pause_s).ok_or(StateError::Damaged { part: "pauses_s" })?;
        launches.push(Launch::new(app, at_s, minute, false));
    }
    saved.begins.iter().for_each(|position| launches[*position as usize].begins = true);
    Ok(launches)
}
