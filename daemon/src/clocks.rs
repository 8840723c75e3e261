//! Clocks, and when measurements across two of their readings are void.
//!
//! CLOCK_MONOTONIC stands still while the machine is suspended, CLOCK_BOOTTIME goes on, and the clock on the wall may
//! be set. So a suspend shows between the first two, a set clock between the last two, and a machine that stood still
//! (a virtual one that was stopped, or one so busy that nothing ran) wakes up far too late.

use rustix::time::{ClockId, clock_gettime};

/// Less than this between two clocks is the time that reading them takes, and corrections by time servers.
const STEP_MS_MIN: u64 = 1000;
/// Waking up later than this is standing still.
const LATE_MS_MIN: u64 = 5000;

/// All clocks at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Since boot, without suspend.
    pub monotonic_ns: u64,
    /// Since boot, with suspend.
    pub boot_ns: u64,
    pub wall_ns: u64,
}

impl Reading {
    #[must_use]
    pub fn now() -> Self {
        Self {
            monotonic_ns: clock_ns(ClockId::Monotonic),
            boot_ns: clock_ns(ClockId::Boottime),
            wall_ns: clock_ns(ClockId::Realtime),
        }
    }

    /// The clock on the wall since 1970 in UTC.
    #[must_use]
    pub fn wall_unix_ms(&self) -> u64 {
        self.wall_ns / 1_000_000
    }

    /// Time that the machine was suspended, or by which its clock was set, since `before`, if that makes the
    /// measurements in between void; `due_ns` is when this reading was due, if it had a due time. What was due before
    /// `before` was due at once: it stood still no longer than since then.
    #[must_use]
    pub fn gap_ms(&self, before: &Self, due_ns: Option<u64>) -> Option<u64> {
        let ahead = |a: u64, b: u64| i128::from(a) - i128::from(b);
        let ms = |ns: i128| u64::try_from(ns.unsigned_abs() / 1_000_000).unwrap_or(u64::MAX);
        let suspended_ms = ms(ahead(self.boot_ns, self.monotonic_ns) - ahead(before.boot_ns, before.monotonic_ns));
        let set_ms = ms(ahead(self.wall_ns, self.boot_ns) - ahead(before.wall_ns, before.boot_ns));
        let late_ms =
            due_ns.map_or(0, |due_ns| self.monotonic_ns.saturating_sub(due_ns.max(before.monotonic_ns)) / 1_000_000);
        let late_ms = if late_ms < LATE_MS_MIN { 0 } else { late_ms };
        let gap_ms = suspended_ms.max(set_ms).max(late_ms);
        (gap_ms >= STEP_MS_MIN).then_some(gap_ms)
    }
}

fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let whole_ns = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000);
    whole_ns.saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_suspend_a_set_clock_and_a_stopped_machine_are_gaps() {
        let before = Reading { monotonic_ns: 100 * S, boot_ns: 150 * S, wall_ns: 1_000_000 * S };
        let after = |monotonic: u64, boot: u64, wall: i64| Reading {
            monotonic_ns: before.monotonic_ns + monotonic * S,
            boot_ns: before.boot_ns + boot * S,
            wall_ns: before.wall_ns.saturating_add_signed(wall * 1_000_000_000),
        };
        let due_ns = Some(before.monotonic_ns + 60 * S);
        assert_eq!(after(60, 60, 60).gap_ms(&before, due_ns), None);
        assert_eq!(after(60, 360, 360).gap_ms(&before, due_ns), Some(300_000));
        assert_eq!(after(60, 60, -40).gap_ms(&before, due_ns), Some(100_000));
        assert_eq!(after(60, 60, 90).gap_ms(&before, due_ns), Some(30_000));
        assert_eq!(after(63, 63, 63).gap_ms(&before, due_ns), None);
        assert_eq!(after(80, 80, 80).gap_ms(&before, due_ns), Some(20_000));
        // Due at once, as when an action has ended.
        assert_eq!(after(0, 0, 0).gap_ms(&before, Some(0)), None);
        assert_eq!(after(80, 80, 80).gap_ms(&before, Some(0)), Some(80_000));
        // An event may come at any time.
        assert_eq!(after(3600, 3600, 3600).gap_ms(&before, None), None);
    }

    #[test]
    fn two_readings_of_this_machine_have_no_gap() {
        let before = Reading::now();
        assert_eq!(Reading::now().gap_ms(&before, None), None);
    }
}
