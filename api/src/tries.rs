//! What `brisk tune` tried to measure of a model of device and does not know yet, or never will: so that it is neither
//! repeated each hour, which wears flash, nor given up. Pure.
//!
//! Properties: `a_device_where_nothing_is_better_is_measured_once`; `each_failure_in_a_row_doubles_the_wait`;
//! `a_clock_that_was_set_back_makes_it_due`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// How a measurement ended that left nothing for engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It found that the settings of this device are the best: known for good.
    NothingBetter,
    /// Its time for once was over; the next step continues from there.
    Partly,
    /// Others needed the device.
    Stopped,
    /// It could not be measured.
    Failed,
}

/// The last try of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Try {
    pub at_unix_ms: u64,
    pub ended: Ended,
    /// In a few words.
    pub why: String,
    /// How often in a row it ended so.
    pub times: u32,
    /// Written to the device by all tries.
    pub written_bytes: u64,
}

/// The tries of all parts of a model of device. The form of `/var/lib/brisk/profiles/tries/MODEL.toml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tries {
    /// By name, as in [`crate::PARTS`].
    pub parts: BTreeMap<String, Try>,
}

/// A part of a device that is not known, and when it is tried next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    pub part: String,
    pub at_unix_ms: u64,
    pub ended: Ended,
    pub why: String,
    pub again_unix_ms: u64,
}

impl Try {
    /// When it is due again; never where there is nothing to find.
    #[must_use]
    pub fn again_unix_ms(&self) -> Option<u64> {
        let doubled = |first_ms: u64, most_ms: u64| (first_ms << self.times.saturating_sub(1).min(10)).min(most_ms);
        let wait_ms = match self.ended {
            Ended::NothingBetter => return None,
            Ended::Partly => 0,
            Ended::Stopped => doubled(HOUR_MS, DAY_MS),
            Ended::Failed => doubled(DAY_MS, 32 * DAY_MS),
        };
        Some(self.at_unix_ms.saturating_add(wait_ms))
    }
}

impl Tries {
    /// Whether a part need not be measured, although nothing came of it.
    #[must_use]
    pub fn is_settled(&self, part: &str) -> bool {
        self.parts.get(part).is_some_and(|tried| tried.ended == Ended::NothingBetter)
    }

    #[must_use]
    pub fn is_due(&self, part: &str, now_unix_ms: u64) -> bool {
        let Some(tried) = self.parts.get(part) else { return true };
        let set_back = tried.at_unix_ms > now_unix_ms.saturating_add(DAY_MS);
        set_back || tried.again_unix_ms().is_some_and(|again_ms| again_ms <= now_unix_ms)
    }

    #[must_use]
    pub fn written_bytes(&self, part: &str) -> u64 {
        self.parts.get(part).map_or(0, |tried| tried.written_bytes)
    }

    /// Keeps how a try ended; `None` where the part is known now.
    pub fn end(&mut self, part: &str, at_unix_ms: u64, written_bytes: u64, ended: Option<(Ended, String)>) {
        let before = self.parts.remove(part);
        let Some((ended, why)) = ended else { return };
        let (mut times, mut all_bytes) = (1, written_bytes);
        if let Some(before) = before {
            all_bytes = all_bytes.saturating_add(before.written_bytes);
            if before.ended == ended {
                times = before.times.saturating_add(1);
            }
        }
        self.parts.insert(part.to_owned(), Try { at_unix_ms, ended, why, times, written_bytes: all_bytes });
    }

    /// The parts that are not known, for people.
    #[must_use]
    pub fn shown(&self) -> Vec<Tried> {
        let shown = self.parts.iter().filter_map(|(part, tried)| {
            Some(Tried {
                part: part.clone(),
                at_unix_ms: tried.at_unix_ms,
                ended: tried.ended,
                why: tried.why.clone(),
                again_unix_ms: tried.again_unix_ms()?,
            })
        });
        shown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(ends: &[Ended]) -> Tries {
        let mut tries = Tries::default();
        ends.iter().for_each(|ended| tries.end("settings", DAY_MS, 10, Some((*ended, "so".to_owned()))));
        tries
    }

    #[test]
    fn a_device_where_nothing_is_better_is_measured_once() {
        let tries = after(&[Ended::Failed, Ended::NothingBetter]);
        assert!(tries.is_settled("settings") && !tries.is_due("settings", u64::MAX / 2));
        assert_eq!((tries.written_bytes("settings"), tries.shown()), (20, Vec::new()));
        assert!(tries.is_due("costs", 0) && !tries.is_settled("costs"));
    }

    #[test]
    fn each_failure_in_a_row_doubles_the_wait() {
        let waits = |ended, times: usize| {
            let tries = after(&vec![ended; times]);
            let again_ms = tries.parts["settings"].again_unix_ms().expect("some time");
            assert!(tries.is_due("settings", again_ms) && (again_ms == DAY_MS || !tries.is_due("settings", DAY_MS)));
            (again_ms - DAY_MS) / HOUR_MS
        };
        assert_eq!([1, 2, 3, 9].map(|times| waits(Ended::Stopped, times)), [1, 2, 4, 24]);
        assert_eq!([1, 2, 9, 99].map(|times| waits(Ended::Failed, times)), [24, 48, 32 * 24, 32 * 24]);
        assert_eq!(waits(Ended::Partly, 5), 0);
        assert_eq!(after(&[Ended::Failed, Ended::Failed, Ended::Stopped]).parts["settings"].times, 1);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_it_due() {
        let mut tries = Tries::default();
        tries.end("costs", 100 * DAY_MS, 0, Some((Ended::Failed, "so".to_owned())));
        assert!(!tries.is_due("costs", 100 * DAY_MS) && tries.is_due("costs", 10 * DAY_MS));
        tries.end("costs", 100 * DAY_MS, 0, None);
        assert_eq!(tries, Tries::default());
    }
}
