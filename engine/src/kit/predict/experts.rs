//! What each expert thinks of each app: chances over the candidates that sum up to 1.
//!
//! Candidates are the apps used most recently, [`CANDIDATES_MAX`] at most, without the app in front where repeats do
//! not count: the time of a prediction then does not grow with the number of apps. All experts are smoothed by the
//! frequency of use, so that none excludes an app. The constants are round numbers, not fitted ones.

use super::history::{HALF_LIVES_LAUNCHES, Here, History, SLOT_MINUTES, SLOTS, SLOTS_A_DAY, magnitude, slot};
use super::returns::{self, Hazards};

pub(super) const CANDIDATES_MAX: usize = 64;
pub(super) const EXPERTS: usize = 16;
/// Number of facts about an app that are no chances.
pub(super) const FACTS: usize = 9;
/// Ranks by recency that are counted apart; later ones share the last count.
pub(super) const RANKS: usize = 32;

// Indices of the experts.
const RANK: usize = 0;
const RETURN_LAUNCHES: usize = 1;
const RETURN_TIME: usize = 2;
const FREQUENCY: usize = 3;
const AFTER_ONE: usize = FREQUENCY + HALF_LIVES_LAUNCHES.len();
const AFTER_ONE_LATELY: usize = AFTER_ONE + 1;
const AFTER_PAUSE: usize = AFTER_ONE + 2;
const AFTER_TWO: usize = AFTER_ONE + 3;
const AFTER_THREE: usize = AFTER_ONE + 4;
const SESSION: usize = AFTER_ONE + 5;
const HOUR: usize = AFTER_ONE + 6;
const ALIKE: usize = AFTER_ONE + 7;
const TOGETHER: usize = AFTER_ONE + 8;

/// How many earlier uses of the app in front, and begins of sessions, are followed.
const FOLLOWED_MAX: usize = 256;
/// Weight of a launch relative to the next one of its kind: transitions, the latest transitions, after two apps, begins
/// of sessions.
const KEPT_TRANSITION: f32 = 0.98;
const KEPT_LATELY: f32 = 0.75;
const KEPT_AFTER_TWO: f32 = 0.96;
const KEPT_SESSION: f32 = 0.98;
const KEPT_HOUR: f32 = 0.9995;
/// What an app counts that was not used for long, next to its decayed count.
const FREQUENCY_LEAST: f32 = 0.02;
/// Launches that the smoothing stands for.
const SMOOTHING: f32 = 3.0;
/// Width of the bell over the time of day.
const HOUR_WIDTH_MINUTES: f32 = 45.0;
/// The same bell in circumstances that are alike, and what each other time of day counts.
const ALIKE_WIDTH_MINUTES: f32 = 90.0;
const ALIKE_ANY_HOUR: f32 = 0.2;
const KEPT_ALIKE: f32 = 0.9985;
/// Launches that are compared, of those with which the time of day is.
const HOUR_LAUNCHES: usize = 2_048;
const ALIKE_LAUNCHES: usize = 1_024;
/// Apps that count as used together: how many of the latest, how many uses of each, the weights of the launches after
/// each, and within what time.
const TOGETHER_APPS: usize = 4;
const TOGETHER_USES: usize = 40;
const TOGETHER_SHARES: [f32; 5] = [1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0, 1.0 / 5.0, 1.0 / 6.0];
const TOGETHER_S: u64 = 1_800;
/// Weight of a launch on a weekend for a working day, and the reverse.
const OTHER_DAY: f32 = 0.4;
/// Power by which the chance falls with the rank by recency before ranks were counted, and for how many launches that
/// stands.
const RANK_POWER: f32 = 1.2;
const RANK_LAUNCHES: f32 = 10.0;
/// A notification counts less after this time.
const NOTIFIED_S: f32 = 1_800.0;

/// Counts of ranks before the first launch.
pub(super) fn first_ranks() -> [f32; RANKS] {
    let mut ranks = [0.0; RANKS];
    for (rank, count) in ranks.iter_mut().enumerate() {
        *count = power_law(rank);
    }
    let total: f32 = ranks.iter().sum();
    ranks.map(|count| count / total * RANK_LAUNCHES)
}

fn power_law(rank: usize) -> f32 {
    (rank as f32 + 1.0).powf(-RANK_POWER)
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) app: u16,
    /// Its chance by each expert.
    pub(super) chances: [f32; EXPERTS],
    pub(super) facts: [f32; FACTS],
}

/// Chances by candidate, from counts of launches. Other apps share the last place, which counts nothing.
#[derive(Clone, Copy)]
struct Tally([f32; CANDIDATES_MAX + 1]);

impl Tally {
    const NONE: Self = Self([0.0; CANDIDATES_MAX + 1]);

    /// Smoothed by `base`, chances that sum up to 1.
    fn smoothed(mut self, base: &Self, smoothing: f32) -> Self {
        self.0[CANDIDATES_MAX] = 0.0;
        let total = self.0.iter().sum::<f32>() + smoothing;
        self.0.iter_mut().zip(base.0).for_each(|(count, base)| *count = (*count + smoothing * base) / total);
        self
    }
}

/// The candidates at a moment.
struct View<'a> {
    history: &'a History,
    here: Here,
    /// Candidates, the most recently used first.
    ids: Vec<u16>,
    /// Place of each app among them, or [`CANDIDATES_MAX`].
    places: Vec<u8>,
    /// Chances by the decayed frequency of use.
    base: Tally,
}

/// The candidates with the chances by each expert, the most recently used first. `ranks` counts how often the app of
/// each rank by recency was next.
pub(super) fn candidates(history: &History, here: Here, excluded: Option<u16>, ranks: &[f32; RANKS]) -> Vec<Candidate> {
    let view = View::new(history, here, excluded);
    let [hour, alike] = view.hours_and_alike();
    let [one, lately, pause, two, three] = view.after();
    let tallies = [
        (AFTER_ONE, one),
        (AFTER_ONE_LATELY, lately),
        (AFTER_PAUSE, pause),
        (AFTER_TWO, two),
        (AFTER_THREE, three),
        (SESSION, view.sessions()),
        (HOUR, hour),
        (ALIKE, alike),
        (TOGETHER, view.together()),
    ];
    let known = |id: &u16| &history.apps[usize::from(*id)];
    let away: Vec<(u64, u64)> = view
        .ids
        .iter()
        .map(|id| (history.nth + 1 - known(id).last_nth, here.at_s.saturating_sub(known(id).last_s)))
        .collect();
    let by_launches = away.iter().map(|(launches, _)| returns::bin(&returns::LAUNCHES, *launches));
    let by_time = away.iter().map(|(_, time_s)| returns::bin(&returns::TIMES_S, *time_s));
    let launches = Hazards::new(returns::LAUNCHES, &history.returns.launches, by_launches);
    let times = Hazards::new(returns::TIMES_S, &history.returns.times, by_time);
    // Later ranks have one count together.
    let late = view.ids.len().saturating_sub(RANKS - 1).max(1) as f32;

    let mut sums = [0.0_f32; EXPERTS];
    let mut found = Vec::with_capacity(view.ids.len());
    for (rank, (id, away)) in view.ids.iter().zip(&away).enumerate() {
        let app = known(id);
        let mut chances = [0.0; EXPERTS];
        chances[RANK] = if rank < RANKS - 1 { ranks[rank] } else { ranks[RANKS - 1] / late };
        chances[RETURN_LAUNCHES] = launches.rate(&app.returns.launches, away.0);
        chances[RETURN_TIME] = times.rate(&app.returns.times, away.1);
        chances[FREQUENCY..AFTER_ONE].copy_from_slice(&app.counts);
        tallies.iter().for_each(|(expert, tally)| chances[*expert] = tally.0[rank]);
        sums.iter_mut().zip(chances).for_each(|(sum, chance)| *sum += chance);
        found.push(Candidate { app: *id, chances, facts: facts(history, here, *id, rank) });
    }
    let even = 1.0 / found.len().max(1) as f32;
    for one in &mut found {
        for (chance, sum) in one.chances.iter_mut().zip(sums) {
            *chance = if sum > 0.0 { *chance / sum } else { even };
        }
    }
    found
}

impl<'a> View<'a> {
    fn new(history: &'a History, here: Here, excluded: Option<u16>) -> Self {
        let others = history.recent.iter().copied().filter(|id| Some(*id) != excluded);
        let ids: Vec<u16> = others.take(CANDIDATES_MAX).collect();
        let mut places = vec![CANDIDATES_MAX as u8; history.apps.len()];
        let mut base = Tally::NONE;
        for (place, id) in (0_u8..).zip(&ids) {
            places[usize::from(*id)] = place;
            base.0[usize::from(place)] = history.apps[usize::from(*id)].counts[2] + FREQUENCY_LEAST;
        }
        let base = base.smoothed(&Tally::NONE, 1e-6);
        Self { history, here, ids, places, base }
    }

    fn of<'b>(&self, tally: &'b mut Tally, app: u16) -> &'b mut f32 {
        &mut tally.0[usize::from(self.places[usize::from(app)])]
    }

    /// What followed the app in front: at any time, lately, after as long a pause, after the same two and three apps.
    fn after(&self) -> [Tally; 5] {
        let [mut one, mut lately, mut paused, mut two, mut three] = [Tally::NONE; 5];
        let launches = &self.history.launches;
        let pause = magnitude(self.here.pause_s);
        let [mut weight, mut weight_lately, mut weight_two, mut weight_three] = [1.0_f32; 4];
        for position in self.history.earlier_uses().take(FOLLOWED_MAX) {
            let next = launches[position + 1];
            *self.of(&mut one, next.app) += weight;
            *self.of(&mut lately, next.app) += weight_lately;
            let alike = match next.pause.abs_diff(pause) {
                0 => 1.0,
                1 => 0.6,
                2 => 0.2,
                _ => 0.05,
            };
            *self.of(&mut paused, next.app) += alike * weight;
            weight *= KEPT_TRANSITION;
            weight_lately *= KEPT_LATELY;
            let matched = self.history.matched(position, 3);
            if matched >= 2 {
                *self.of(&mut two, next.app) += weight_two;
                weight_two *= KEPT_AFTER_TWO;
            }
            if matched >= 3 {
                *self.of(&mut three, next.app) += weight_three;
                weight_three *= KEPT_AFTER_TWO;
            }
        }
        let one = one.smoothed(&self.base, SMOOTHING);
        let two = two.smoothed(&one, 1.0);
        [one, lately.smoothed(&self.base, 1.0), paused.smoothed(&one, 1.0), two, three.smoothed(&two, 1.0)]
    }

    fn sessions(&self) -> Tally {
        let mut tally = Tally::NONE;
        let mut weight = 1.0;
        for &position in self.history.begins.iter().rev().take(FOLLOWED_MAX) {
            *self.of(&mut tally, self.history.launches[position as usize].app) += weight;
            weight *= KEPT_SESSION;
        }
        tally.smoothed(&self.base, SMOOTHING)
    }

    /// What is used at this time of day; and what was launched in circumstances like these: there each earlier launch
    /// counts with the product of how alike the time of day, the kind of day, the two apps before, the pause, and the
    /// begin of a session are. What depends on several of them at once shows there alone.
    fn hours_and_alike(&self) -> [Tally; 2] {
        // Tables, and no branches, which would be mispredicted.
        let near = time_of_day(self.here.minute, HOUR_WIDTH_MINUTES, [1.0, OTHER_DAY], 0.0);
        let far = time_of_day(self.here.minute, ALIKE_WIDTH_MINUTES, [1.0, 0.5], ALIKE_ANY_HOUR);
        let [mut hour, mut alike] = [Tally::NONE; 2];
        let launches = &self.history.launches;
        let mut age = 1.0;
        for launch in launches.iter().rev().take(HOUR_LAUNCHES) {
            *self.of(&mut hour, launch.app) += age * near[usize::from(launch.slot)];
            age *= KEPT_HOUR;
        }
        if let [.., second, first] = launches[..] {
            let pause = magnitude(self.here.pause_s);
            let mut age = 1.0;
            for before in launches.windows(3).rev().take(ALIKE_LAUNCHES) {
                let [two, one, launch] = before else { break };
                let weight = age
                    * far[usize::from(launch.slot)]
                    * [0.15, 1.0][usize::from(one.app == first.app)]
                    * [0.4, 1.0][usize::from(two.app == second.app)]
                    * [0.3, 1.0][usize::from(launch.begins == self.here.begins)]
                    * [1.0, 0.7, 0.45, 0.3][usize::from(launch.pause.abs_diff(pause).min(3))];
                *self.of(&mut alike, launch.app) += weight;
                age *= KEPT_ALIKE;
            }
        }
        [hour.smoothed(&self.base, SMOOTHING), alike.smoothed(&self.base, 0.5)]
    }

    /// What came within a few launches of those apps that were in front lately, in whatever order.
    fn together(&self) -> Tally {
        let launches = &self.history.launches;
        let mut tally = Tally::NONE;
        for (lag, of) in (1_u16..).zip(launches.iter().rev()).take(TOGETHER_APPS) {
            let mut weight = 1.0 / f32::from(lag);
            let mut position = of.before as usize;
            for _ in 0..TOGETHER_USES {
                let Some(launch) = launches.get(position) else { break };
                for (later, share) in launches[position + 1..].iter().zip(TOGETHER_SHARES) {
                    if later.at_s.saturating_sub(launch.at_s) > TOGETHER_S {
                        break;
                    }
                    *self.of(&mut tally, later.app) += weight * share;
                }
                weight *= KEPT_AFTER_TWO;
                position = launch.before as usize;
            }
        }
        tally.smoothed(&self.base, SMOOTHING)
    }
}

/// A bell over the distance in time of day, for each slot; `kinds` are the weights of the same kind of day and of the
/// other one, and `least` is added to the bell.
fn time_of_day(minute: u16, width_minutes: f32, kinds: [f32; 2], least: f32) -> [f32; SLOTS] {
    let now = slot(minute);
    let (day, is_weekend) = (now % SLOTS_A_DAY, now >= SLOTS_A_DAY);
    let mut weights = [0.0_f32; SLOTS];
    for of_day in 0..SLOTS_A_DAY {
        let off = of_day.abs_diff(day);
        let off = f32::from(off.min(SLOTS_A_DAY - off) * SLOT_MINUTES) / width_minutes;
        let weight = least + (-0.5 * off * off).exp();
        weights[usize::from(of_day)] = weight * kinds[usize::from(is_weekend)];
        weights[usize::from(of_day + SLOTS_A_DAY)] = weight * kinds[usize::from(!is_weekend)];
    }
    weights
}

/// Facts: of the first ranks, few uses, a notification, and whether it is in front or was used in this session.
fn facts(history: &History, here: Here, id: u16, rank: usize) -> [f32; FACTS] {
    let app = &history.apps[usize::from(id)];
    let is = |yes: bool| f32::from(u8::from(yes));
    let notified = app.notified_s.map_or(0.0, |at_s| {
        let ago_s = here.at_s.saturating_sub(at_s) as f32;
        1.0 / (1.0 + ago_s / NOTIFIED_S)
    });
    let answered = app.uses as f32 / (app.uses as f32 + app.notes as f32 + 1.0);
    [
        is(rank == 0),
        is(rank == 1),
        is(rank == 2),
        is(app.uses == 1),
        1.0 / (app.uses.max(1) as f32).sqrt(),
        notified,
        notified * answered,
        is(history.front() == Some(id)),
        is(!here.begins && history.nth - app.last_nth <= u64::from(history.in_session)),
    ]
}
