//! When memory is short for returns, and by how much.
//!
//! ```text
//! wanted = need of the likely returns, between reserve_min_percent and reserve_max_percent of the memory
//! need   = 1.5 x what the app's last return read + 8 MiB        (measured: what a return takes is what it reads)
//! ```
//!
//! Memory is short when less is available than is wanted, and when tasks stall on memory while less than twice that is
//! available. It is *severe* when half of what is wanted is missing, or tasks stall. The likely returns are those to
//! the three apps that were in front last ([`likely`]). How much memory a launch needs, and which app ends, is the
//! matter of the engine for memory.
//!
//! Properties: `the_reserve_is_that_of_the_largest_likely_return`; `nothing_is_short_with_enough_memory_and_no_stalls`.

use crate::kit::check::share_bytes;
use brisk_core::decision::Observed;
use brisk_core::event::EventKind;
use brisk_core::reason::Reason;
use brisk_core::snapshot::MemoryLevels;

use crate::mars::config::Config;
use crate::mars::{State, back};

/// Likely returns: those to the apps that were in front last.
const LIKELY: usize = 3;
/// What was short is freed a little beyond: this part of the wanted memory.
const BEYOND: u64 = 8;
/// Least shortage that stalls stand for.
const STALL_STEP_PERCENT: f64 = 2.0;

/// What is wanted and what is there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Need {
    pub(crate) wanted_bytes: u64,
    pub(crate) available_bytes: u64,
    /// How much is to be freed; 0 when nothing is short.
    pub(crate) short_bytes: u64,
    /// Tasks stall on memory.
    pub(crate) stalls: bool,
}

impl Need {
    /// Whether more than cold pages may go.
    pub(crate) fn is_severe(&self) -> bool {
        self.short_bytes > 0 && (self.stalls || self.available_bytes < self.wanted_bytes / 2)
    }

    /// Whether there is so much memory that frozen apps may run again.
    pub(crate) fn is_plenty(&self) -> bool {
        self.short_bytes == 0 && self.available_bytes >= self.wanted_bytes.saturating_mul(2)
    }

    pub(crate) fn reason(&self, rule: &'static str) -> Reason {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        Reason::rule(rule)
            .number("wanted_mib", mib(self.wanted_bytes))
            .number("available_mib", mib(self.available_bytes))
            .number("short_mib", mib(self.short_bytes))
    }
}

/// Memory that programs can have without swapping: the kernel's estimate, or, before Linux 3.14, what is free and clean
/// files.
pub(crate) fn available_bytes(memory: &MemoryLevels) -> u64 {
    let clean = memory.cached_bytes.saturating_sub(memory.dirty_bytes.saturating_add(memory.writeback_bytes));
    memory.available_bytes.unwrap_or_else(|| memory.free_bytes.saturating_add(clean)).min(memory.total_bytes)
}

/// Ids of the apps to which a return is likely: those that were in front last, and all that were left at the same time
/// as the last of them, as after a restart.
pub(crate) fn likely(state: &State) -> Vec<&str> {
    let mut away: Vec<(u64, &str)> = state
        .groups
        .iter()
        .filter(|(group, _)| state.front.as_ref() != Some(group))
        .map(|(_, of)| (of.left_ns, of.id.as_str()))
        .collect();
    away.sort_unstable_by(|a, b| b.cmp(a));
    let least_ns = away.get(LIKELY - 1).or(away.last()).map_or(0, |(left_ns, _)| *left_ns);
    away.into_iter().take_while(|(left_ns, _)| *left_ns >= least_ns).map(|(_, id)| id).collect()
}

/// What is wanted and how much is short.
pub(crate) fn need(config: &Config, state: &State, observed: &Observed<'_>) -> Need {
    let memory = &observed.now.memory;
    let total_bytes = memory.total_bytes;
    let needs = likely(state).into_iter().filter_map(|id| state.learned.app(id)).map(back::need_bytes);
    let most_bytes = share_bytes(total_bytes, config.reserve_max_percent);
    let least_bytes = share_bytes(total_bytes, config.reserve_min_percent).min(most_bytes);
    let wanted_bytes = needs.max().unwrap_or(0).clamp(least_bytes, most_bytes);
    let available_bytes = available_bytes(memory);
    // Rates across a suspend are void.
    let is_void = observed.events.iter().any(|event| matches!(event.kind, EventKind::Resumed { .. }));
    let interval = observed.previous.filter(|_| !is_void).and_then(|previous| observed.now.since(previous));
    let stall_percent = interval.and_then(|interval| interval.pressure.memory).map_or(0.0, |stall| stall.some_percent);
    let is_long = stall_percent > 0.0 && stall_percent >= config.stall_min_percent;
    let stalls = is_long && available_bytes < wanted_bytes.saturating_mul(2);
    let mut short_bytes = wanted_bytes.saturating_sub(available_bytes);
    if stalls {
        short_bytes = short_bytes.max(share_bytes(total_bytes, STALL_STEP_PERCENT));
    }
    if short_bytes > 0 {
        short_bytes = short_bytes.saturating_add(wanted_bytes / BEYOND);
    }
    Need { wanted_bytes, available_bytes, short_bytes, stalls }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mars::tests::{MIB, Machine, focused};

    #[test]
    fn the_reserve_is_that_of_the_largest_likely_return() {
        let mut machine = Machine::new(Config::default(), &["a", "b", "c", "d", "front"]);
        for (id, read_mib) in [("a", 100), ("b", 40), ("c", 60), ("d", 1)] {
            machine.after(1_000, 400, &[focused(id)]);
            machine.state.learned.returned(id).read_bytes = Some(read_mib * MIB);
        }
        machine.step(400, &[focused("front")]);
        let need = need(&machine.config, &machine.state, &machine.observed(&[]));
        assert_eq!(need.wanted_bytes, 98 * MIB, "that of c; a was left too long ago");
        assert_eq!((need.short_bytes, need.is_plenty()), (0, true));
        machine.now.memory.available_bytes = Some(48 * MIB);
        let need = super::need(&machine.config, &machine.state, &machine.observed(&[]));
        assert_eq!(need.short_bytes, (50 * MIB) + 98 * MIB / 8);
        assert!(need.is_severe() && !need.is_plenty());
    }

    #[test]
    fn stalls_count_unless_memory_is_plenty() {
        let mut machine = Machine::new(Config::default(), &["a"]);
        let mut short = |stall_percent, available_mib| {
            machine.stall_percent = stall_percent;
            machine.step(available_mib, &[]);
            let need = need(&machine.config, &machine.state, &machine.observed(&[]));
            (need.short_bytes > 0, need.stalls)
        };
        assert_eq!(short(9, 60), (false, false));
        assert_eq!(short(10, 60), (true, true));
        assert_eq!(short(50, 90), (false, false), "those of a group under its own limit");
    }

    proptest! {
        #[test]
        fn nothing_is_short_with_enough_memory_and_no_stalls(available_mib in 0_u64..1000, read_mib in 0_u64..900) {
            let mut machine = Machine::new(Config::default(), &["a", "b"]);
            machine.state.learned.returned("a").read_bytes = Some(read_mib * MIB);
            machine.step(available_mib, &[]);
            let need = need(&machine.config, &machine.state, &machine.observed(&[]));
            prop_assert_eq!(need.short_bytes == 0, need.available_bytes >= need.wanted_bytes);
            prop_assert!((40 * MIB..=250 * MIB).contains(&need.wanted_bytes));
        }
    }
}
