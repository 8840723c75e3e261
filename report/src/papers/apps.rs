//! What the papers published about whole apps: launches, answers, and what other storage could give them.

use super::{PERCEIVED, REVISITING_WHAT_IF};

/// How many times as many transactions SQLite completed after a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SqliteSpeedup {
    /// Our condition.
    pub condition: &'static str,
    /// The change by its name in the paper.
    pub change: &'static str,
    /// The phone.
    pub device: &'static str,
    /// Transactions of one insert, over those without the change.
    pub insert: f64,
    /// Of one update.
    pub update: f64,
    /// Of one delete.
    pub delete: f64,
    /// Paper and section.
    pub source: &'static str,
}

/// A gain as it is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gain {
    /// The time is shorter by so many percent.
    Percent(f64),
    /// It runs so many times as fast.
    Factor(f64),
}

impl Gain {
    /// The share of the time that is saved, in percent.
    #[must_use]
    pub fn saved_percent(self) -> f64 {
        match self {
            Self::Percent(percent) => percent,
            Self::Factor(factor) => 100.0 * (1.0 - 1.0 / factor),
        }
    }
}

/// How much less an app let people wait after a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AppGain {
    /// Our condition; `None` for what has no counterpart here.
    pub condition: Option<&'static str>,
    /// The change in the paper's words.
    pub change: &'static str,
    /// The phone, or the card in it.
    pub device: &'static str,
    /// The app and what it did.
    pub app: &'static str,
    /// The gain.
    pub gain: Gain,
    /// Paper and section.
    pub source: &'static str,
}

/// How much less time launches take that find their files in memory, in percent: mean of 40 apps (Nguyen,
/// dissertation, section 4.5.4).
pub const WARM_SAVES_PERCENT: f64 = 65.0;
/// The preset of the phone on which [`WARM_SAVES_PERCENT`] was measured.
pub const WARM_PRESET: &str = "galaxy-s5-emmc";

/// Why gains of launches differ from those of other tasks.
pub const LAUNCH_REMARK: &str = "Of launches Revisiting Storage (section 4.2) says that their times do not change \
     significantly with all data of the apps in RAM.";

const S4: &str = "Galaxy S4";
const N5X: &str = "Nexus 5X";
const NO_SYNC: &str = "SQLITE_NO_SYNC";
const NO_JOURNAL: &str = "EXT4_NO_JOURNAL";

const fn sqlite(
    condition: &'static str,
    change: &'static str,
    device: &'static str,
    [insert, update, delete]: [f64; 3],
) -> SqliteSpeedup {
    SqliteSpeedup { condition, change, device, insert, update, delete, source: PERCEIVED }
}

/// Figure 2 of the user-perceived latency paper, as its text gives it.
pub static SQLITE: &[SqliteSpeedup] = &[
    sqlite("sync_off", NO_SYNC, S4, [15.0, 17.6, 16.8]),
    sqlite("sync_off", NO_SYNC, N5X, [14.4, 15.0, 15.1]),
    sqlite("no_journal", NO_JOURNAL, S4, [1.5, 1.2, 1.2]),
    sqlite("no_journal", NO_JOURNAL, N5X, [2.15, 2.32, 2.22]),
];

const fn perceived(
    condition: Option<&'static str>,
    change: &'static str,
    device: &'static str,
    app: &'static str,
    percent: f64,
) -> AppGain {
    AppGain { condition, change, device, app, gain: Gain::Percent(percent), source: PERCEIVED }
}

const fn card(condition: &'static str, change: &'static str, app: &'static str, gain: Gain) -> AppGain {
    AppGain { condition: Some(condition), change, device: "RiData card", app, gain, source: REVISITING_WHAT_IF }
}

const BOTH: &str = "both";

/// Figure 3 of the user-perceived latency paper and figure 13 of Revisiting Storage, as their texts give them.
pub static GAINS: &[AppGain] = &[
    card("cache_in_ram", "cache in RAM", "WebBench", Gain::Percent(5.0)),
    card("cache_in_ram", "cache in RAM", "Facebook", Gain::Percent(15.0)),
    card("databases_in_ram", "DB in RAM", "WebBench", Gain::Factor(3.0)),
    card("databases_in_ram", "DB in RAM", "Facebook", Gain::Factor(2.0)),
    perceived(Some("sync_off"), NO_SYNC, S4, "Web", 5.5),
    perceived(Some("sync_off"), NO_SYNC, S4, "Facebook", 7.2),
    perceived(Some("sync_off"), NO_SYNC, S4, "Messenger", 2.7),
    perceived(Some("sync_off"), NO_SYNC, S4, "Twitter", 6.7),
    perceived(Some("sync_off"), NO_SYNC, N5X, "Web", 0.6),
    perceived(Some("sync_off"), NO_SYNC, N5X, "Facebook", 2.8),
    perceived(Some("sync_off"), NO_SYNC, N5X, "Messenger", 0.5),
    perceived(Some("sync_off"), NO_SYNC, N5X, "Twitter", 7.8),
    perceived(Some("no_journal"), NO_JOURNAL, S4, "Web", 5.3),
    perceived(Some("no_journal"), NO_JOURNAL, S4, "Facebook", 2.1),
    perceived(Some("no_journal"), NO_JOURNAL, S4, "Messenger", 3.0),
    perceived(Some("no_journal"), NO_JOURNAL, S4, "Twitter", 6.7),
    perceived(Some("no_journal"), NO_JOURNAL, N5X, "Web", 1.4),
    perceived(Some("no_journal"), NO_JOURNAL, N5X, "Facebook", 3.6),
    perceived(Some("no_journal"), NO_JOURNAL, N5X, "Messenger", 0.4),
    perceived(Some("no_journal"), NO_JOURNAL, N5X, "Twitter", 3.0),
    perceived(None, BOTH, S4, "Web", 6.3),
    perceived(None, BOTH, S4, "Facebook", 7.2),
    perceived(None, BOTH, S4, "Messenger", 2.6),
    perceived(None, BOTH, S4, "Twitter", 11.8),
    perceived(None, BOTH, N5X, "Web", 1.2),
    perceived(None, BOTH, N5X, "Facebook", 5.0),
    perceived(None, BOTH, N5X, "Messenger", 1.1),
    perceived(None, BOTH, N5X, "Twitter", 11.5),
];

/// What to know when comparing with [`GAINS`], contradictions included.
pub static GAIN_REMARKS: &[&str] = &[
    "The Messenger of the Galaxy S4 gains less from both changes (2.6 %) than from either alone (2.7 and 3.0 %), and \
     the Web of the Nexus 5X less from both (1.2 %) than from one (1.4 %): below the runs' deviation of up to 5 %.",
    "The tasks differ: theirs load pages, feeds and messages over a network.",
];

/// What was published about SQLite under one of our conditions.
pub fn sqlite_under(condition: &str) -> impl Iterator<Item = &'static SqliteSpeedup> {
    SQLITE.iter().filter(move |s| s.condition == condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(change: &str, device: &str) -> f64 {
        GAINS
            .iter()
            .filter(|g| (g.change, g.device) == (change, device))
            .map(|g| g.gain.saved_percent())
            .fold(0.0, f64::max)
    }

    #[test]
    fn the_largest_gains_are_those_of_the_abstract() {
        let of = |change| (most(change, S4), most(change, N5X));
        assert_eq!((of(NO_SYNC), of(NO_JOURNAL), of(BOTH)), ((7.2, 7.8), (6.7, 3.6), (11.8, 11.5)));
    }

    #[test]
    fn every_change_has_four_apps_on_each_phone() {
        for change in [NO_SYNC, NO_JOURNAL, BOTH] {
            for device in [S4, N5X] {
                assert_eq!(GAINS.iter().filter(|g| (g.change, g.device) == (change, device)).count(), 4);
            }
        }
    }

    #[test]
    fn both_changes_together_gain_less_than_one_where_the_remark_says_so() {
        let gain = |change, device, app| {
            let found = GAINS.iter().find(|g| (g.change, g.device, g.app) == (change, device, app));
            found.expect("printed").gain.saved_percent()
        };
        let mut contradictions = Vec::new();
        for device in [S4, N5X] {
            for app in ["Web", "Facebook", "Messenger", "Twitter"] {
                if gain(BOTH, device, app) < gain(NO_SYNC, device, app).max(gain(NO_JOURNAL, device, app)) {
                    contradictions.push((device, app));
                }
            }
        }
        assert_eq!(contradictions, [(S4, "Messenger"), (N5X, "Web")]);
        for (device, app) in contradictions {
            assert!(GAIN_REMARKS[0].contains(device) && GAIN_REMARKS[0].contains(app));
        }
    }

    #[test]
    fn a_factor_of_3_saves_two_thirds() {
        assert!((Gain::Factor(3.0).saved_percent() - 66.67).abs() < 0.01);
        assert!((Gain::Factor(2.0).saved_percent() - 50.0).abs() < 1e-9);
    }

    #[test]
    fn not_syncing_speeds_sqlite_up_far_more_than_no_journal() {
        for device in [S4, N5X] {
            let of = |condition| sqlite_under(condition).find(|s| s.device == device).expect("printed");
            assert!(of("sync_off").insert > 6.0 * of("no_journal").insert);
        }
    }
}
