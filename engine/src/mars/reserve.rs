//! Memory that the kernel keeps free for the next return (MARS 3.4: watermarks are raised by delta, and lowered in a
//! launch).
//!
//! A return that finds no free memory has to write before it can read. (Measured: below 6 MiB free, two in five returns
//! write; from 6 to 40 MiB, none does.) So that what the return will read is free before, the kernel's own reclaim
//! works in the background: `vm/watermark_scale_factor` wakes kswapd below two thirds of what is wanted, and lets it
//! rest at four thirds. Which pages go is the kernel's choice, the front app's included. While an app returns, the
//! level is released, so that the return has all that was kept.
//!
//! *Wanted* is what the likely returns need, of apps alone whose hot sets the kernel does not keep by itself: where
//! memory is merely tight, nothing is reserved. Where tasks stall on memory while it is reserved for longer than ten
//! seconds, what is in use fills the memory, and reclaim works against it: the reserve is given up, at first for
//! `retry_after_s`, doubled each time.
//!
//! Properties: `memory_is_reserved_for_apps_that_lose_their_hot_sets_alone`; `the_reserve_is_released_in_a_return`;
//! `a_reserve_that_stalls_the_app_in_front_is_given_up`.

use crate::kit::BackOff;
use crate::kit::check::share_bytes;
use brisk_core::decision::{Objective, Request};
use brisk_core::knob::{Knob, VmSetting};
use serde::{Deserialize, Serialize};

use crate::mars::config::Config;
use crate::mars::out::LOST_MIN;
use crate::mars::pressure::{self, Need};
use crate::mars::{LEFT_ALONE_MAX_S, S_NS, State, back};

/// Stalls count from this time on: reclaim of what was short at first has ended by then.
const STALLS_AFTER_NS: u64 = 10 * S_NS;
/// The kernel's default; a smaller value is no reserve.
const FACTOR_MIN: u64 = 10;
/// The kernel takes no more.
const FACTOR_MAX: u64 = 3000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reserve {
    /// Since when; `None` while nothing is.
    pub since_ns: Option<u64>,
    /// It was given up: nothing is reserved as long as this is on.
    pub given_up: BackOff,
}

/// What returns need that will have to read their hot sets: the largest of the likely ones.
fn wanted_bytes(config: &Config, next: &State, total_bytes: u64) -> u64 {
    let loses = |id: &str| next.learned.app(id).filter(|known| known.lost.is_some_and(|lost| lost >= LOST_MIN));
    let needs = pressure::likely(next).into_iter().filter_map(loses).map(back::need_bytes);
    let most_bytes = share_bytes(total_bytes, config.reserve_max_percent);
    needs.max().unwrap_or(0).min(most_bytes)
}

/// The level outside of returns, where one is wanted.
pub(crate) fn request(config: &Config, next: &mut State, need: &Need, total_bytes: u64) -> Option<Request> {
    let knob = Knob::Vm { setting: VmSetting::WatermarkScaleFactor };
    let now_ns = next.at_ns;
    let wanted_bytes = wanted_bytes(config, next, total_bytes);
    let factor = (wanted_bytes.saturating_mul(20_000 / 3) / total_bytes.max(1)).min(FACTOR_MAX);
    let is_left_alone = next.reserve.given_up.is_on(now_ns);
    let is_wanted = factor > FACTOR_MIN && !is_left_alone && !next.refused.contains(&knob);
    let lasts = next.reserve.since_ns.is_some() && need.available_bytes < wanted_bytes.saturating_mul(2);
    if !config.page_out || !is_wanted || !(lasts || need.available_bytes < wanted_bytes) {
        next.reserve.since_ns = None;
        return None;
    }
    let since_ns = *next.reserve.since_ns.get_or_insert(now_ns);
    if need.stalls && now_ns.saturating_sub(since_ns) >= STALLS_AFTER_NS {
        next.reserve.since_ns = None;
        next.reserve.given_up.begin(now_ns, config.retry_after_s, LEFT_ALONE_MAX_S);
        return None;
    }
    let mib = wanted_bytes as f64 / f64::from(1 << 20);
    let reason = need.reason("reserve_for_the_next_return").number("reserve_mib", mib);
    Some(Request::set(knob, factor.to_string(), Objective::Delay, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mars::tests::{MIB, Machine, focused};
    use brisk_core::event::EventKind;

    /// A machine with two apps in the background whose returns read 40 MiB; one of them loses its hot set to this
    /// extent.
    fn machine(lost: f64) -> Machine {
        let mut machine = Machine::new(Config::default(), &["a", "b", "front"]);
        for id in ["a", "b", "front"] {
            machine.after(60_000, 400, &[focused(id)]);
        }
        for (id, lost) in [("a", Some(lost)), ("b", None)] {
            let known = machine.state.learned.returned(id);
            (known.read_bytes, known.lost) = (Some(40 * MIB), lost);
        }
        let ended = EventKind::LaunchEnded { group: "app-front.scope".to_owned() };
        machine.after(60_000, 400, &[ended]);
        machine
    }

    fn factor(machine: &mut Machine, ms: u64, available_mib: u64, events: &[EventKind]) -> Option<u64> {
        let decision = machine.after(ms, available_mib, events);
        let mut settings = decision.settings();
        let of = settings.find(|set| set.knob == Knob::Vm { setting: VmSetting::WatermarkScaleFactor })?;
        Some(of.value.parse().expect("a number"))
    }

    #[test]
    fn memory_is_reserved_for_apps_that_lose_their_hot_sets_alone() {
        let mut loses = machine(0.8);
        assert_eq!(factor(&mut loses, 1_000, 400, &[]), None, "enough is free");
        // 1.5 x 40 + 8 = 68 of 1000 MiB; kswapd keeps from two thirds to four thirds of it.
        assert_eq!(factor(&mut loses, 1_000, 60, &[]), Some(68 * 20_000 / 3 / 1000));
        assert_eq!(factor(&mut loses, 1_000, 100, &[]), Some(453), "it lasts");
        assert_eq!(factor(&mut loses, 1_000, 140, &[]), None, "until twice as much is there");
        assert_eq!(factor(&mut machine(0.4), 1_000, 60, &[]), None, "the kernel keeps its hot set");
        let mut reads_only = machine(0.8);
        reads_only.config.page_out = false;
        assert_eq!(factor(&mut reads_only, 1_000, 60, &[]), None);
    }

    #[test]
    fn the_reserve_is_released_in_a_return() {
        let mut machine = machine(0.8);
        assert!(factor(&mut machine, 1_000, 60, &[]).is_some());
        assert_eq!(factor(&mut machine, 1_000, 60, &[focused("b")]), None);
        assert_eq!(factor(&mut machine, 1_000, 20, &[]), None);
        let ended = EventKind::LaunchEnded { group: "app-b.scope".to_owned() };
        assert_eq!(factor(&mut machine, 100, 20, &[ended]), None, "not at once");
        assert!(factor(&mut machine, 2_000, 20, &[]).is_some());
    }

    #[test]
    fn a_reserve_that_stalls_the_app_in_front_is_given_up() {
        let mut machine = machine(0.8);
        machine.stall_percent = 50;
        assert!(factor(&mut machine, 1_000, 60, &[]).is_some());
        assert!(factor(&mut machine, 9_000, 60, &[]).is_some());
        assert_eq!(factor(&mut machine, 1_000, 60, &[]), None);
        machine.stall_percent = 0;
        assert_eq!(factor(&mut machine, 299_000, 60, &[]), None, "for five minutes");
        assert!(factor(&mut machine, 1_000, 60, &[]).is_some());
        machine.stall_percent = 50;
        assert_eq!(factor(&mut machine, 10_000, 60, &[]), None);
        machine.stall_percent = 0;
        assert_eq!(factor(&mut machine, 599_000, 60, &[]), None, "then for ten");
        assert!(factor(&mut machine, 1_000, 60, &[]).is_some());
    }
}
