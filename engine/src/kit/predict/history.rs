//! What is remembered of uses: the last launches in order, and for each app its counts.
//!
//! Everything has a bound: [`LAUNCHES_MAX`] launches, [`APPS_MAX`] apps, [`NAMES_BYTES_MAX`] of names. Where a bound is
//! reached the oldest launches, or the apps that were used least recently, of the user who has most are forgotten.

use std::collections::BTreeMap;

use brisk_core::app::user_of;

use crate::kit::learned::to_make_room;

use super::Moment;
use super::returns::{self, Returns};

pub(super) const APPS_MAX: usize = 512;
/// Bytes of all names together.
pub(super) const NAMES_BYTES_MAX: usize = 48 << 10;
/// Launches that are remembered, and how many of them are dropped at once when there are more.
pub(super) const LAUNCHES_MAX: usize = 4_096;
const LAUNCHES_DROPPED: usize = 512;

/// Half-lives of the decayed counts, in launches: the last few, an hour or two, a day or two, and weeks of use.
pub(super) const HALF_LIVES_LAUNCHES: [f32; 4] = [6.0, 30.0, 150.0, 1_000.0];
/// Decayed counts below this are 0: they would only become slow numbers.
const COUNT_LEAST: f32 = 1e-6;

/// A launch after so long a pause begins a session, as one after an unlock does.
pub(super) const SESSION_PAUSE_S: u64 = 300;

pub(super) const NONE: u32 = u32::MAX;

const MINUTES_A_WEEK: u64 = 10_080;

/// An app was brought to the foreground.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Launch {
    pub(super) app: u16,
    pub(super) at_s: u64,
    /// Local time since Monday 00:00.
    pub(super) minute: u16,
    /// Whether it began a session.
    pub(super) begins: bool,
    /// The launch of the same app before, or [`NONE`].
    pub(super) before: u32,
    /// The [`magnitude`] of the pause since the launch before.
    pub(super) pause: u8,
    /// Ten minutes of the day, of a working day or of a weekend: below [`SLOTS`].
    pub(super) slot: u16,
}

/// See [`Launch::slot`].
pub(super) const SLOT_MINUTES: u16 = 10;
pub(super) const SLOTS_A_DAY: u16 = 1_440 / SLOT_MINUTES;
pub(super) const SLOTS: usize = 2 * SLOTS_A_DAY as usize;
/// From Monday 00:00 to Saturday 00:00.
const MINUTES_OF_WORKING_DAYS: u16 = 5 * 1_440;

/// Binary magnitude of a pause.
pub(super) fn magnitude(pause_s: u64) -> u8 {
    (u64::BITS - pause_s.saturating_add(1).leading_zeros()) as u8
}

/// See [`Launch::slot`].
pub(super) fn slot(minute_of_week: u16) -> u16 {
    let weekend = u16::from(minute_of_week >= MINUTES_OF_WORKING_DAYS);
    minute_of_week % 1_440 / SLOT_MINUTES + weekend * SLOTS_A_DAY
}

impl Launch {
    /// One whose place among the others is not known yet.
    pub(super) fn new(app: u16, at_s: u64, minute: u16, begins: bool) -> Self {
        Self { app, at_s, minute, begins, before: NONE, pause: 0, slot: slot(minute) }
    }
}

/// What is remembered of an app.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    pub(super) name: String,
    /// How often it was used.
    pub(super) uses: u32,
    /// Its last use, Unix time.
    pub(super) last_s: u64,
    /// Number of its last use among all launches.
    pub(super) last_nth: u64,
    /// Decayed counts of uses, by [`HALF_LIVES_LAUNCHES`].
    pub(super) counts: [f32; HALF_LIVES_LAUNCHES.len()],
    pub(super) returns: Returns,
    /// Its last notification since its last use, Unix time.
    pub(super) notified_s: Option<u64>,
    /// How often it notified.
    pub(super) notes: u32,
}

/// What is remembered of uses.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct History {
    /// Apps; launches and `recent` have their indices.
    pub(super) apps: Vec<Known>,
    /// Indices of apps, the most recently used first.
    pub(super) recent: Vec<u16>,
    pub(super) launches: Vec<Launch>,
    /// Positions of those launches that began sessions, in order.
    pub(super) begins: Vec<u32>,
    /// Number of all launches ever.
    pub(super) nth: u64,
    /// When the app in front was seen there last, Unix time.
    pub(super) front_s: u64,
    /// The device was unlocked since the last launch.
    pub(super) unlocked: bool,
    /// Launches in this session before the last one.
    pub(super) in_session: u32,
    pub(super) returns: returns::Pooled,
    /// Decayed counts, by the middle half-life, of: all launches, those of apps never seen, those of apps used long
    /// ago.
    pub(super) rare: [f32; 3],
}

/// Where the user is at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Here {
    /// Unix time, not before the last launch.
    pub(super) at_s: u64,
    /// Local time since Monday 00:00.
    pub(super) minute: u16,
    /// Time since the app in front was seen there last.
    pub(super) pause_s: u64,
    /// Whether a launch now begins a session.
    pub(super) begins: bool,
    /// Which weights count, below [`CONTEXTS`]: begin of a session, the launch after, later within [`QUICK_S`] of the
    /// last, later.
    pub(super) context: usize,
}

/// Contexts in which weights differ.
pub(super) const CONTEXTS: usize = 4;
/// See [`Here::context`].
const QUICK_S: u64 = 15;

impl History {
    /// Index of an app.
    pub(super) fn find(&self, name: &str) -> Option<u16> {
        self.find_by(|other| other == name)
    }

    /// The first app whose name is such a one.
    pub(super) fn find_by(&self, is_it: impl Fn(&str) -> bool) -> Option<u16> {
        self.recent.iter().copied().find(|&id| is_it(&self.apps[usize::from(id)].name))
    }

    pub(super) fn front(&self) -> Option<u16> {
        self.recent.first().copied()
    }

    /// The moment as seen from the last launch.
    pub(super) fn here(&self, now: Moment) -> Here {
        let at_s = (now.at_unix_ms / 1_000).max(self.front_s);
        let of_utc = || {
            // 1970-01-01 was a Thursday.
            ((at_s / 60 + 3 * 1_440) % MINUTES_A_WEEK) as u16
        };
        let minute = now.local_minute_of_week.map_or_else(of_utc, |minute| minute % MINUTES_A_WEEK as u16);
        let pause_s = if self.launches.is_empty() { 0 } else { at_s - self.front_s };
        let begins = self.launches.is_empty() || self.unlocked || pause_s >= SESSION_PAUSE_S;
        let context = match self.in_session {
            _ if begins => 0,
            0 => 1,
            _ if pause_s < QUICK_S => 2,
            _ => 3,
        };
        Here { at_s, minute, pause_s, begins, context }
    }

    /// Adds a launch; returns the index of its app. `far` is the rank by recency from which on an app was used long
    /// ago.
    pub(super) fn add(&mut self, name: &str, here: Here, far: usize) -> u16 {
        let rank = self.recent.iter().position(|&id| self.apps[usize::from(id)].name == name);
        decay(&mut self.rare, [kept_share(HALF_LIVES_LAUNCHES[2]); 3]);
        self.rare[0] += 1.0;
        self.rare[1] += f32::from(u8::from(rank.is_none()));
        self.rare[2] += f32::from(u8::from(rank.is_some_and(|rank| rank >= far)));
        let id = match rank {
            Some(rank) => self.recent.remove(rank),
            None => self.make_known(name, here),
        };
        self.recent.insert(0, id);
        self.nth += 1;
        let kept = HALF_LIVES_LAUNCHES.map(kept_share);
        self.apps.iter_mut().for_each(|app| decay(&mut app.counts, kept));
        let app = &mut self.apps[usize::from(id)];
        if app.uses > 0 {
            let (launches, time_s) = (self.nth - app.last_nth, here.at_s.saturating_sub(app.last_s));
            app.returns.add(launches, time_s);
            self.returns.add(launches, time_s);
        }
        app.uses = app.uses.saturating_add(1);
        (app.last_s, app.last_nth, app.notified_s) = (here.at_s, self.nth, None);
        app.counts.iter_mut().for_each(|count| *count += 1.0);
        self.in_session = if here.begins { 0 } else { self.in_session.saturating_add(1) };
        (self.front_s, self.unlocked) = (here.at_s, false);
        self.launches.push(Launch::new(id, here.at_s, here.minute, here.begins));
        if self.launches.len() > LAUNCHES_MAX {
            self.drop_launches();
            self.link();
        } else {
            self.link_last();
        }
        id
    }

    /// The app in front was used again, where that is no new use.
    pub(super) fn still_in_front(&mut self, here: Here) {
        if here.begins {
            self.in_session = 0;
        }
        (self.front_s, self.unlocked) = (here.at_s, false);
        if let Some(id) = self.front() {
            self.apps[usize::from(id)].notified_s = None;
        }
    }

    /// Makes place for an app, and adds it.
    fn make_known(&mut self, name: &str, here: Here) -> u16 {
        let bytes = |apps: &[Known]| apps.iter().map(|app| app.name.len()).sum::<usize>();
        while self.apps.len() >= APPS_MAX || !self.apps.is_empty() && bytes(&self.apps) + name.len() > NAMES_BYTES_MAX {
            let weight = |app: &Known| if self.apps.len() >= APPS_MAX { 1 } else { app.name.len() };
            let all = (0_u16..).zip(&self.apps).map(|(id, app)| (user_of(&app.name), id, app.last_nth, weight(app)));
            let Some(oldest) = to_make_room(all).or_else(|| self.front()) else { break };
            self.forget(oldest);
        }
        let known = Known {
            name: name.to_owned(),
            uses: 0,
            last_s: here.at_s,
            last_nth: 0,
            counts: [0.0; HALF_LIVES_LAUNCHES.len()],
            returns: Returns::default(),
            notified_s: None,
            notes: 0,
        };
        self.apps.push(known);
        u16::try_from(self.apps.len() - 1).expect("there are at most APPS_MAX apps")
    }

    /// Drops the oldest launches of the user who has most. The last launch stays.
    fn drop_launches(&mut self) {
        let Self { apps, launches, .. } = self;
        let user = |launch: &Launch| user_of(&apps[usize::from(launch.app)].name);
        let mut counts = BTreeMap::new();
        launches.iter().for_each(|launch| *counts.entry(user(launch)).or_insert(0_usize) += 1);
        let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(user, _)| user);
        let last = launches.pop();
        let mut dropped = 0;
        launches.retain(|launch| {
            let is_dropped = dropped < LAUNCHES_DROPPED && Some(user(launch)) == most;
            dropped += usize::from(is_dropped);
            !is_dropped
        });
        launches.extend(last);
    }

    /// Forgets an app and its launches.
    pub(super) fn forget(&mut self, id: u16) {
        self.apps.remove(usize::from(id));
        self.recent.retain(|&other| other != id);
        self.launches.retain(|launch| launch.app != id);
        let closed = |other: &mut u16| *other -= u16::from(*other > id);
        self.recent.iter_mut().for_each(closed);
        self.launches.iter_mut().for_each(|launch| closed(&mut launch.app));
        self.link();
    }

    /// Finds what a launch has from those before, and those that begin sessions.
    pub(super) fn link(&mut self) {
        let mut last = vec![NONE; self.apps.len()];
        let mut last_s = None;
        self.begins.clear();
        for (position, launch) in (0_u32..).zip(&mut self.launches) {
            launch.before = std::mem::replace(&mut last[usize::from(launch.app)], position);
            launch.pause = pause(last_s.replace(launch.at_s), launch.at_s);
            if launch.begins {
                self.begins.push(position);
            }
        }
    }

    /// The same for the last launch alone.
    fn link_last(&mut self) {
        let Some((last, earlier)) = self.launches.split_last_mut() else { return };
        let position = |index: usize| u32::try_from(index).expect("there are at most LAUNCHES_MAX launches");
        last.pause = pause(earlier.last().map(|launch| launch.at_s), last.at_s);
        last.before = earlier.iter().rposition(|launch| launch.app == last.app).map_or(NONE, position);
        if last.begins {
            self.begins.push(position(earlier.len()));
        }
    }

    /// Earlier launches of the app in front, the latest first; each has one after it.
    pub(super) fn earlier_uses(&self) -> impl Iterator<Item = usize> {
        let first = self.launches.last().map_or(NONE, |launch| launch.before);
        std::iter::successors((first != NONE).then_some(first as usize), |&position| {
            let before = self.launches[position].before;
            (before != NONE).then_some(before as usize)
        })
    }

    /// How many launches up to that at `position` are those up to the last one, `most` at most.
    pub(super) fn matched(&self, position: usize, most: usize) -> usize {
        let latest = self.launches.iter().rev().map(|launch| launch.app);
        let earlier = self.launches[..=position].iter().rev().map(|launch| launch.app);
        latest.zip(earlier).take(most).take_while(|(a, b)| a == b).count()
    }

    /// Chance that the next app was never seen.
    pub(super) fn new_chance(&self) -> f32 {
        (self.rare[1] + 0.2) / (self.rare[0] + 1.0)
    }

    /// Chance that the next app was used long ago.
    pub(super) fn far_chance(&self) -> f32 {
        (self.rare[2] + 0.05) / (self.rare[0] + 1.0)
    }
}

/// Magnitude of the pause after a launch, if there was one before.
fn pause(last_s: Option<u64>, at_s: u64) -> u8 {
    magnitude(at_s.saturating_sub(last_s.unwrap_or(at_s)))
}

/// What one launch leaves of a count with this half-life.
fn kept_share(half_life_launches: f32) -> f32 {
    (-std::f32::consts::LN_2 / half_life_launches).exp()
}

fn decay<const N: usize>(counts: &mut [f32; N], kept: [f32; N]) {
    for (count, kept) in counts.iter_mut().zip(kept) {
        *count *= kept;
        if *count < COUNT_LEAST {
            *count = 0.0;
        }
    }
}
