//! When memory is freed, and how much.
//!
//! *Paper* (dissertation 5.3, Scheduler): each 20 s with the screen on and each 60 s with it off, free memory is
//! compared with MIN_MEM, 60 % by default; below it, all candidates are cleaned. Free memory is what programs can have
//! without swapping (MemAvailable): Linux fills the rest with files that it can drop.
//!
//! *Adaptive*: memory is short when less is available than is *wanted*:
//!
//! ```text
//! wanted = max(reserve_min_percent of all, front reserve, demand of launches) + falling trend x 5 s
//! ```
//!
//! - *Front reserve*: head-room for the next launch, freed before it is asked for. With a chance of 80 % the next app
//!   needs no more; an app that was never used is presumed to need the default of [`crate::iram::heap`].
//! - *Demand of launches*: what apps that are being launched will need by their launch curves, less what they have.
//! - *Trend*: how fast available memory falls, a mean over a few seconds. During a launch it is that of the launch, and
//!   not counted twice.
//!
//! It is also short when tasks stalled on memory for `stall_min_percent` of the time, or all of them for a quarter of
//! that, while less than twice the wanted memory is available; with more, the stalls are those of one group under its
//! own limit. While the screen is off, nothing is freed and nothing asks for the next call.
//!
//! Properties: `the_paper_checks_every_20_s_and_every_60_s`; `nothing_is_short_with_enough_memory_and_no_stalls`;
//! `more_demand_never_wants_less`; `no_more_than_half_of_the_memory_is_wanted`;
//! `the_next_call_comes_sooner_the_faster_memory_falls`.

use brisk_core::reason::Reason;
use brisk_core::snapshot::{Interval, MemoryLevels};

use crate::kit::check::share_bytes;

use crate::iram::config::Config;
use crate::iram::context::Context;
use crate::iram::heap;

pub(crate) use crate::kit::S_NS;
/// Head-room covers the need of the next app with this chance.
const RESERVE_CHANCE: f64 = 0.8;
/// Memory of all that launches may claim at the most.
const WANTED_MAX_PERCENT: f64 = 50.0;
/// How far the trend is carried on.
const TREND_S: f64 = 5.0;
/// Time constant of the mean of the trend.
const TREND_MEAN_S: f64 = 5.0;
/// Least shortage that stalls stand for.
const STALL_STEP_PERCENT: f64 = 2.0;
/// Share of `stall_min_percent` for stalls of all tasks.
const FULL_SHARE: f64 = 0.25;
/// What was short is freed a little beyond: this part of the wanted memory.
const BEYOND: u64 = 8;
/// Swap that has to be free to reclaim to it.
const SWAP_BYTES_MIN: u64 = 16 << 20;
/// Time to the next call: while memory is short or a launch goes on; otherwise at the most; while the user is idle.
const LOOK_SHORT_NS: u64 = S_NS;
const LOOK_CALM_NS: u64 = 30 * S_NS;
const LOOK_IDLE_NS: u64 = 120 * S_NS;

/// Paper: whether a check is due.
#[must_use]
pub fn is_check_due(config: &Config, context: &Context, checked_ns: Option<u64>, now_ns: u64) -> bool {
    checked_ns.is_none_or(|checked_ns| now_ns >= next_check_ns(config, context, checked_ns))
}

/// Paper: when the next check is due.
#[must_use]
pub fn next_check_ns(config: &Config, context: &Context, checked_ns: u64) -> u64 {
    let period_s = if context.is_screen_off() { config.period_screen_off_s } else { config.period_s };
    checked_ns.saturating_add(period_s.saturating_mul(S_NS))
}

/// Memory that programs can have without swapping: the kernel's estimate, or, before Linux 3.14, what is free and clean
/// files.
#[must_use]
pub fn available_bytes(memory: &MemoryLevels) -> u64 {
    let clean = memory.cached_bytes.saturating_sub(memory.dirty_bytes.saturating_add(memory.writeback_bytes));
    memory.available_bytes.unwrap_or_else(|| memory.free_bytes.saturating_add(clean)).min(memory.total_bytes)
}

/// Paper: bytes below MIN_MEM; 0 when there is enough.
#[must_use]
pub fn below_min_bytes(config: &Config, memory: &MemoryLevels) -> u64 {
    share_bytes(memory.total_bytes, config.free_min_percent).saturating_sub(available_bytes(memory))
}

/// The mean by which available memory falls, in bytes a second; below zero while it grows.
#[must_use]
pub fn trend(before_bytes_per_s: f64, fell_bytes: f64, elapsed_s: f64) -> f64 {
    if elapsed_s <= 0.0 {
        return before_bytes_per_s;
    }
    let weight = 1.0 - (-elapsed_s / TREND_MEAN_S).exp();
    before_bytes_per_s + weight * (fell_bytes / elapsed_s - before_bytes_per_s)
}

/// Head-room for the next launch: the least memory that is enough for it with a chance of 80 %. `next` has chance and
/// need of the likely next apps; the rest of the chance is that of apps that were never used.
#[must_use]
pub fn front_reserve_bytes(config: &Config, total_bytes: u64, next: impl Iterator<Item = (f64, u64)>) -> u64 {
    let mut needs: Vec<(u64, f64)> = next.map(|(chance, need_bytes)| (need_bytes, chance)).collect();
    let known: f64 = needs.iter().map(|(_, chance)| chance).sum();
    needs.push((heap::DEFAULT_BYTES, (1.0 - known).max(0.0)));
    needs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let all: f64 = needs.iter().map(|(_, chance)| chance).sum();
    let mut covered = 0.0;
    let enough = needs.iter().find(|(_, chance)| {
        covered += chance;
        covered >= RESERVE_CHANCE * all
    });
    let most_bytes = share_bytes(total_bytes, config.reserve_max_percent);
    let least_bytes = share_bytes(total_bytes, config.reserve_min_percent).min(most_bytes);
    enough.map_or(0, |(need_bytes, _)| *need_bytes).clamp(least_bytes, most_bytes)
}

/// What is wanted and what is there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Need {
    /// Memory that is to be available.
    pub wanted_bytes: u64,
    pub available_bytes: u64,
    /// How much is to be freed; 0 when nothing is short.
    pub short_bytes: u64,
    /// Tasks stalled on memory so long that it counts as short.
    pub stalls: bool,
    /// Share of the time in which some task stalled on memory.
    pub stall_percent: f64,
    /// What launches ask for of which a run is known; the others are presumed.
    pub known_launch_bytes: u64,
    pub swap_free_bytes: u64,
}

/// What is expected to be needed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Demand {
    /// Head-room for the next launch.
    pub reserve_bytes: u64,
    /// What launches that go on will still take.
    pub launch_bytes: u64,
    /// The same of apps of which a run is known.
    pub known_launch_bytes: u64,
}

impl Need {
    /// Whether there is swap to reclaim to.
    #[must_use]
    pub fn has_swap(&self) -> bool {
        self.swap_free_bytes >= SWAP_BYTES_MIN
    }

    /// Whether apps may be ended for it: tasks stall; or no swap is left, and half of the wanted memory is missing or a
    /// launch that is known will not fit. While there is swap, a return from it costs less than a relaunch.
    #[must_use]
    pub fn is_severe(&self) -> bool {
        let lacks_half = self.available_bytes < self.wanted_bytes / 2;
        let will_lack = lacks_half || self.known_launch_bytes > self.available_bytes;
        self.short_bytes > 0 && (self.stalls || (will_lack && !self.has_swap()))
    }

    #[must_use]
    pub fn reason(&self, rule: &'static str) -> Reason {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        Reason::rule(rule)
            .number("wanted_mib", mib(self.wanted_bytes))
            .number("available_mib", mib(self.available_bytes))
            .number("short_mib", mib(self.short_bytes))
            .number("stall_percent", self.stall_percent)
    }
}

/// Adaptive: what is wanted and how much is short.
#[must_use]
pub fn need(
    config: &Config,
    memory: &MemoryLevels,
    interval: Option<&Interval>,
    falls_bytes_per_s: f64,
    demand: Demand,
) -> Need {
    let Demand { reserve_bytes, launch_bytes, known_launch_bytes } = demand;
    let swap_free_bytes = memory.swap_free_bytes;
    let total_bytes = memory.total_bytes;
    let available_bytes = available_bytes(memory);
    let falls_bytes_per_s = if launch_bytes > 0 { 0.0 } else { falls_bytes_per_s.max(0.0) };
    let trend_bytes = (falls_bytes_per_s * TREND_S) as u64;
    let trend_bytes = trend_bytes.min(share_bytes(total_bytes, config.reserve_max_percent));
    let least_bytes = share_bytes(total_bytes, config.reserve_min_percent);
    let wanted_bytes = least_bytes.max(reserve_bytes).max(launch_bytes).saturating_add(trend_bytes);
    let wanted_bytes = wanted_bytes.min(share_bytes(total_bytes, WANTED_MAX_PERCENT));
    let stall = interval.and_then(|interval| interval.pressure.memory);
    let stall_percent = stall.map_or(0.0, |stall| stall.some_percent);
    let full_percent = stall.and_then(|stall| stall.full_percent).unwrap_or(0.0);
    let is_long = stall_percent >= config.stall_min_percent || full_percent >= config.stall_min_percent * FULL_SHARE;
    // A limit of 0 would count every machine as stalled.
    let stalls = is_long && stall_percent > 0.0 && available_bytes < wanted_bytes.saturating_mul(2);
    let mut short_bytes = wanted_bytes.saturating_sub(available_bytes);
    if stalls {
        short_bytes = short_bytes.max(share_bytes(total_bytes, STALL_STEP_PERCENT));
    }
    if short_bytes > 0 {
        short_bytes = short_bytes.saturating_add(wanted_bytes / BEYOND);
    }
    Need { wanted_bytes, available_bytes, short_bytes, stalls, stall_percent, known_launch_bytes, swap_free_bytes }
}

/// Adaptive: when the engine wants to be asked again; `None` while nothing can be seen and nothing is under way.
#[must_use]
pub fn next_look_ns(context: &Context, need: &Need, falls_bytes_per_s: f64, is_busy: bool, now_ns: u64) -> Option<u64> {
    if context.is_screen_off() {
        return None;
    }
    if need.short_bytes > 0 || is_busy {
        return Some(now_ns.saturating_add(LOOK_SHORT_NS));
    }
    let spare_bytes = need.available_bytes.saturating_sub(need.wanted_bytes) as f64;
    // Half of the time until it is short, if it goes on like that.
    let until_ns = if falls_bytes_per_s > 0.0 { spare_bytes / falls_bytes_per_s / 2.0 * 1e9 } else { f64::INFINITY };
    let most_ns = if context.is_idle() { LOOK_IDLE_NS } else { LOOK_CALM_NS };
    let until_ns = if until_ns < most_ns as f64 { until_ns as u64 } else { most_ns };
    Some(now_ns.saturating_add(until_ns.max(LOOK_SHORT_NS)))
}

#[cfg(test)]
mod tests {
    use brisk_core::event::{Event, EventKind};
    use brisk_core::snapshot::{PressureShares, StallShares};
    use proptest::prelude::*;

    use super::*;

    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;

    fn memory(available_bytes: u64) -> MemoryLevels {
        MemoryLevels { total_bytes: GIB, available_bytes: Some(available_bytes), ..MemoryLevels::default() }
    }

    fn stalled(some_percent: f64) -> Interval {
        let memory = Some(StallShares { some_percent, full_percent: Some(0.0) });
        Interval { pressure: PressureShares { memory, ..PressureShares::default() }, ..Interval::default() }
    }

    fn demand(reserve_bytes: u64, launch_bytes: u64) -> Demand {
        Demand { reserve_bytes, launch_bytes, known_launch_bytes: launch_bytes }
    }

    #[test]
    fn while_there_is_swap_only_stalls_are_severe() {
        let config = Config::default();
        let is_severe = |available_mib: u64, swap_free_mib: u64, some_percent, launch_mib: u64| {
            let memory = MemoryLevels { swap_free_bytes: swap_free_mib * MIB, ..memory(available_mib * MIB) };
            let demand = demand(100 * MIB, launch_mib * MIB);
            need(&config, &memory, Some(&stalled(some_percent)), 0.0, demand).is_severe()
        };
        assert!(!is_severe(10, 500, 0.0, 300) && is_severe(10, 500, 20.0, 0));
        assert!(is_severe(49, 0, 0.0, 0) && !is_severe(51, 0, 0.0, 0) && is_severe(51, 0, 0.0, 60));
        assert!(!is_severe(200, 0, 0.0, 60), "nothing is short");
        // A launch of which no run is known is presumed, which is no reason to end an app.
        let presumed = Demand { known_launch_bytes: 0, ..demand(0, 60 * MIB) };
        let memory = MemoryLevels { swap_free_bytes: 0, ..memory(51 * MIB) };
        assert!(!need(&config, &memory, None, 0.0, presumed).is_severe());
    }

    #[test]
    fn the_paper_checks_every_20_s_and_every_60_s() {
        let (config, mut context) = (Config::default(), Context::default());
        let due = |context: &Context, after_s: u64| is_check_due(&config, context, Some(7), 7 + after_s * S_NS);
        assert!(is_check_due(&config, &context, None, 0));
        assert!(!due(&context, 19) && due(&context, 20));
        context.take(&Event { at_ns: 0, kind: EventKind::Screen { on: false } });
        assert!(!due(&context, 59) && due(&context, 60));
        context.take(&Event { at_ns: 0, kind: EventKind::Screen { on: true } });
        assert!(due(&context, 20));
    }

    #[test]
    fn the_paper_frees_below_60_percent() {
        let config = Config::default();
        for (available_mib, below_mib) in [(1024, 0), (615, 0), (512, 102), (0, 614)] {
            assert_eq!(below_min_bytes(&config, &memory(available_mib * MIB)) / MIB, below_mib, "{available_mib}");
        }
        // Before Linux 3.14: free memory and clean files.
        let old = MemoryLevels {
            total_bytes: GIB,
            free_bytes: 100 * MIB,
            cached_bytes: 300 * MIB,
            dirty_bytes: 50 * MIB,
            ..MemoryLevels::default()
        };
        assert_eq!(available_bytes(&old) / MIB, 350);
    }

    #[test]
    fn the_reserve_is_enough_for_the_next_app_in_four_cases_of_five() {
        let config = Config { reserve_min_percent: 1.0, ..Config::default() };
        let reserve = |next: &[(f64, u64)]| {
            let next = next.iter().map(|(chance, mib)| (*chance, mib * MIB));
            front_reserve_bytes(&config, GIB, next) / MIB
        };
        assert_eq!(reserve(&[(0.5, 30), (0.35, 60), (0.15, 200)]), 60);
        assert_eq!(reserve(&[(0.5, 30), (0.2, 60), (0.3, 200)]), 200);
        assert_eq!(reserve(&[]), 128, "an app that was never used");
        assert_eq!(reserve(&[(1.0, 900)]), 256, "a quarter of the memory at the most");
        assert_eq!(reserve(&[(1.0, 0)]), 10, "one percent at the least");
    }

    #[test]
    fn stalls_count_unless_memory_is_plenty() {
        let config = Config::default();
        let short = |available_mib: u64, some_percent| {
            let interval = stalled(some_percent);
            let need = need(&config, &memory(available_mib * MIB), Some(&interval), 0.0, demand(100 * MIB, 0));
            (need.short_bytes / MIB, need.stalls)
        };
        assert_eq!(short(150, 9.0), (0, false));
        assert_eq!(short(150, 10.0), (20 + 12, true));
        assert_eq!(short(250, 50.0), (0, false), "a group under its own limit");
        assert_eq!(short(40, 0.0), (60 + 12, false));
    }

    #[test]
    fn a_launch_and_a_trend_are_wanted_in_advance() {
        let config = Config::default();
        let wanted = |falls_mib_per_s: f64, launch_mib: u64| {
            let demand = demand(50 * MIB, launch_mib * MIB);
            need(&config, &memory(GIB), None, falls_mib_per_s * MIB as f64, demand).wanted_bytes / MIB
        };
        assert_eq!((wanted(0.0, 0), wanted(9.0, 300), wanted(6.0, 0), wanted(-3.0, 0)), (50, 300, 80, 50));
        assert_eq!(wanted(1000.0, 0), 50 + 256, "the trend is carried on to the largest reserve only");
    }

    #[test]
    fn the_next_call_comes_sooner_the_faster_memory_falls() {
        let mut context = Context::default();
        let of = |available_mib: u64| Need {
            wanted_bytes: 100 * MIB,
            available_bytes: available_mib * MIB,
            ..Need::default()
        };
        let after_s = |context: &Context, need: &Need, falls_mib: f64, busy| {
            next_look_ns(context, need, falls_mib * MIB as f64, busy, 5 * S_NS).map(|at_ns| at_ns / S_NS - 5)
        };
        assert_eq!(after_s(&context, &of(200), 0.0, false), Some(30));
        assert_eq!(after_s(&context, &of(200), 5.0, false), Some(10));
        assert_eq!(after_s(&context, &of(200), 500.0, false), Some(1));
        assert_eq!(after_s(&context, &of(200), 0.0, true), Some(1));
        assert_eq!(after_s(&context, &Need { short_bytes: 1, ..of(200) }, 0.0, false), Some(1));
        context.take(&Event { at_ns: 0, kind: EventKind::UserIdle { idle: true } });
        assert_eq!(after_s(&context, &of(200), 0.0, false), Some(120));
        context.take(&Event { at_ns: 0, kind: EventKind::Screen { on: false } });
        assert_eq!(after_s(&context, &Need { short_bytes: 1, ..of(200) }, 500.0, true), None);
    }

    #[test]
    fn the_trend_follows_within_seconds() {
        let mut falls = 0.0;
        (0..20).for_each(|_| falls = trend(falls, 2.0, 1.0));
        assert!((1.9..=2.0).contains(&falls), "{falls}");
        assert_eq!(trend(3.0, 1.0, 0.0), 3.0);
    }

    proptest! {
        #[test]
        fn nothing_is_short_with_enough_memory_and_no_stalls(
            available_bytes in 0..GIB,
            reserve_bytes in 0..GIB / 2,
            launch_bytes in 0..GIB,
        ) {
            let demand = demand(reserve_bytes, launch_bytes);
            let need = need(&Config::default(), &memory(available_bytes), Some(&stalled(0.0)), 0.0, demand);
            prop_assert_eq!(need.short_bytes == 0, need.available_bytes >= need.wanted_bytes);
        }

        #[test]
        fn more_demand_never_wants_less(
            available_bytes in 0..GIB,
            reserve in 0..GIB,
            more in 0..GIB,
            falls in -1e9f64..1e9,
        ) {
            let memory = memory(available_bytes);
            let of = |reserve, launch, falls| need(&Config::default(), &memory, None, falls, demand(reserve, launch));
            let base = of(reserve, 0, falls);
            prop_assert!(of(reserve + more, 0, falls).short_bytes >= base.short_bytes);
            prop_assert!(of(reserve, more, -falls.abs()).short_bytes >= of(reserve, 0, -falls.abs()).short_bytes);
            prop_assert!(of(reserve, 0, falls + more as f64).short_bytes >= base.short_bytes);
        }

        #[test]
        fn no_more_than_half_of_the_memory_is_wanted(
            available_bytes in 0..GIB,
            reserve in 0..GIB,
            launch in any::<u64>(),
            falls in -1e12f64..1e12,
        ) {
            let need = need(&Config::default(), &memory(available_bytes), None, falls, demand(reserve, launch));
            prop_assert!(need.wanted_bytes <= GIB / 2);
        }
    }
}
