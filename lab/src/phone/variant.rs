//! What-if variants by name; [`crate::phone::Phone::set_variant`] applies them.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

/// Path of the preload library that disables syncs, in the phone: in memory.
pub(crate) const NOSYNC_PLACE: &str = "/run/brisk/nosync.so";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// The unchanged phone.
    #[default]
    Baseline,
    /// The user's `~/.cache` in memory.
    CacheInRam,
    /// The user's SQLite and LevelDB databases in memory.
    DatabasesInRam,
    /// All files in memory.
    AllInRam,
    SyncOff,
    /// The file system has no journal.
    NoJournal,
}

impl Variant {
    /// All variants, the baseline first.
    pub const ALL: [Self; 6] =
        [Self::Baseline, Self::CacheInRam, Self::DatabasesInRam, Self::AllInRam, Self::SyncOff, Self::NoJournal];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::CacheInRam => "cache_in_ram",
            Self::DatabasesInRam => "databases_in_ram",
            Self::AllInRam => "all_in_ram",
            Self::SyncOff => "sync_off",
            Self::NoJournal => "no_journal",
        }
    }

    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Baseline => "the phone as it is",
            Self::CacheInRam => "the user's ~/.cache is in memory",
            Self::DatabasesInRam => "the user's SQLite and LevelDB databases are in memory",
            Self::AllInRam => "all files are in memory",
            Self::SyncOff => "requests to write through to storage do nothing",
            Self::NoJournal => "the ext4 file system has no journal",
        }
    }

    /// Additional environment of apps.
    pub(crate) fn environment(self) -> Vec<(OsString, OsString)> {
        let preload = (self == Self::SyncOff).then(|| ("LD_PRELOAD".into(), NOSYNC_PLACE.into()));
        preload.into_iter().collect()
    }
}
