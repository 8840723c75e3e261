//! CPU budget of watching: when to receive events and when to compare pixels, for at most half a percent of a
//! processor.
//!
//! Two token buckets earn CPU time as wall time passes, and pay for events and comparisons. With a positive balance,
//! events are received as they arrive, and drawing is compared one frame after it began. In debt, events wait a little,
//! and comparisons wait until the debt is paid, or until drawing has stopped for a while: the last state of the screen
//! matters most. Events may spend only a part, so that comparisons never starve.

/// Wall time in which one unit of CPU time is earned: 0.4 % of a processor in all, 0.25 % for events. With the saved
/// balance, the busiest 20 s cost 0.5 %.
const WALL_PER_CPU: i64 = 250;
const WALL_PER_REPORTS_CPU: i64 = 400;
/// Largest balance: a few pictures of a whole screen, some thirty events.
const SAVED_MAX_NS: i64 = 10_000_000;
const REPORTS_SAVED_MAX_NS: i64 = 2_000_000;
/// Largest debt, so that one expensive picture does not stop watching for long.
const DEBT_MAX_NS: i64 = 20_000_000;
/// Debt from which on even drawing that stopped waits longer.
const DEBT_DEEP_NS: i64 = 5_000_000;
/// Longest delay of events, and largest error of their times.
const REST_MAX_NS: u64 = 50_000_000;
/// Drawing within this time is compared together; a frame at 60 Hz.
const FRAME_NS: u64 = 16_000_000;
/// Time without drawing after which it has stopped.
const QUIET_NS: u64 = 80_000_000;
/// The same in deep debt, which lasts only when large areas are drawn several times a second.
const QUIET_DEEP_NS: u64 = 350_000_000;

/// Balance: earned less spent.
#[derive(Debug, Clone)]
struct Account {
    balance_ns: i64,
    at_ns: u64,
    wall_per_cpu: i64,
    saved_max_ns: i64,
}

impl Account {
    fn new(now_ns: u64, wall_per_cpu: i64, saved_max_ns: i64) -> Self {
        Self { balance_ns: saved_max_ns, at_ns: now_ns, wall_per_cpu, saved_max_ns }
    }

    fn book(&mut self, now_ns: u64, used_ns: u64) {
        let earned = signed(now_ns.saturating_sub(self.at_ns)) / self.wall_per_cpu;
        self.balance_ns = (self.balance_ns + earned).min(self.saved_max_ns);
        self.balance_ns = (self.balance_ns - signed(used_ns)).max(-DEBT_MAX_NS);
        self.at_ns = now_ns.max(self.at_ns);
    }

    /// Time when the debt is paid; in the past without debt.
    fn paid_ns(&self) -> u64 {
        self.at_ns + (-self.balance_ns.min(0) * self.wall_per_cpu).unsigned_abs()
    }
}

/// The two balances.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    all: Account,
    reports: Account,
}

impl Budget {
    pub(super) fn new(now_ns: u64) -> Self {
        Self {
            all: Account::new(now_ns, WALL_PER_CPU, SAVED_MAX_NS),
            reports: Account::new(now_ns, WALL_PER_REPORTS_CPU, REPORTS_SAVED_MAX_NS),
        }
    }

    /// Charges CPU time of events until `now_ns`.
    pub(super) fn book_reports(&mut self, now_ns: u64, used_ns: u64) {
        self.reports.book(now_ns, used_ns);
        self.all.book(now_ns, used_ns);
    }

    /// Charges CPU time of a comparison until `now_ns`.
    pub(super) fn book_look(&mut self, now_ns: u64, used_ns: u64) {
        self.all.book(now_ns, used_ns);
    }

    /// Time to wait at `now_ns` before receiving events.
    pub(super) fn rest_ns(&self, now_ns: u64) -> u64 {
        self.reports.paid_ns().saturating_sub(now_ns).min(REST_MAX_NS)
    }

    /// Time to compare drawing that began at `first_ns` and last occurred at `last_ns`.
    pub(super) fn due_ns(&self, first_ns: u64, last_ns: u64) -> u64 {
        let frame = first_ns + FRAME_NS;
        let balance_ns = self.all.balance_ns;
        if balance_ns >= 0 {
            return frame;
        }
        let quiet = last_ns + if balance_ns < -DEBT_DEEP_NS { QUIET_DEEP_NS } else { QUIET_NS };
        frame.max(self.all.paid_ns().min(quiet))
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Draws every `gap_ns` for a minute with comparisons that cost `cost_ns`; returns their share of a processor and
    /// the longest time from drawing to a comparison.
    fn draw(gap_ns: u64, cost_ns: u64) -> (f64, u64) {
        let mut budget = Budget::new(0);
        let (mut looks, mut longest) = (0, 0);
        let (mut first, mut last): (Option<u64>, u64) = (None, 0);
        for tick in 0..60_000u64 {
            let now = tick * MS;
            if now.is_multiple_of(gap_ns) {
                first.get_or_insert(now);
                last = now;
            }
            if let Some(began) = first
                && now >= budget.due_ns(began, last)
            {
                budget.book_look(now, cost_ns);
                longest = longest.max(now - began);
                looks += 1;
                first = None;
            }
        }
        (looks as f64 * cost_ns as f64 / 60e9 * 100.0, longest)
    }

    #[test]
    fn continuous_drawing_costs_less_than_half_a_percent() {
        for cost_ns in [100_000, 1_000_000, 5_000_000] {
            let (percent, longest) = draw(10 * MS, cost_ns);
            assert!((0.38..0.5).contains(&percent), "{percent} % at {cost_ns}");
            assert!(longest <= 250 * cost_ns + 20 * MS, "{longest} at {cost_ns}");
        }
    }

    #[test]
    fn a_caret_is_compared_one_frame_after_each_blink() {
        let (percent, longest) = draw(500 * MS, 150_000);
        assert!(percent < 0.04, "{percent} %");
        assert_eq!(longest, 16 * MS);
    }

    #[test]
    fn large_areas_several_times_a_second_stay_near_the_budget() {
        let (percent, longest) = draw(150 * MS, 3 * MS);
        assert!(percent < 0.5, "{percent} %");
        assert!(longest <= 2_000 * MS, "{longest}");
    }

    #[test]
    fn in_debt_drawing_that_stopped_is_compared_within_100_ms() {
        let mut budget = Budget::new(0);
        budget.book_look(0, (SAVED_MAX_NS + DEBT_DEEP_NS).unsigned_abs());
        assert_eq!(budget.due_ns(10 * MS, 50 * MS), 130 * MS);
        // In deep debt the time is longer, but bounded.
        budget.book_look(0, 100 * MS);
        assert_eq!(budget.due_ns(10 * MS, 50 * MS), 400 * MS);
    }

    #[test]
    fn continuous_events_cost_a_quarter_of_a_percent_after_a_burst() {
        let mut budget = Budget::new(0);
        let (mut now, mut used, mut at_once, mut longest) = (0, 0, 0, 0);
        while now < 60_000 * MS {
            let rest = budget.rest_ns(now);
            longest = longest.max(rest);
            at_once += u64::from(rest == 0 && now < 100 * MS);
            now += rest + MS;
            used += 100_000;
            budget.book_reports(now, 100_000);
        }
        let percent = used as f64 / now as f64 * 100.0;
        assert!((0.24..0.27).contains(&percent), "{percent} %");
        assert!((15..30).contains(&at_once), "{at_once} at once");
        assert!(longest <= REST_MAX_NS);
        // Comparisons do not starve.
        assert!(budget.all.balance_ns > 0);
    }

    #[test]
    fn irregular_clocks_do_no_harm() {
        let mut budget = Budget::new(100);
        budget.book_look(50, u64::MAX);
        budget.book_look(u64::MAX / 2, 0);
        assert_eq!(budget.due_ns(1, 1), 1 + FRAME_NS);
    }
}
