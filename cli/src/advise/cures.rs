//! What is read of a result of `brisk suite cures`, which the laboratory makes.

use brisk_core::stats::Summary;
use serde::Deserialize;

/// The fields of the document.
#[derive(Debug, Deserialize)]
pub(super) struct Cures {
    pub(super) rows: Vec<CureRow>,
    #[serde(default)]
    pub(super) crashes: Vec<CureCrash>,
}

/// An app on a card under a solution.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CureRow {
    pub(super) workload: String,
    pub(super) preset: String,
    pub(super) solution: String,
    /// What the solution risks.
    pub(super) risk: String,
    /// Run time of the baseline over this one.
    pub(super) gain: Option<Summary>,
}

/// Power cuts under a solution.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CureCrash {
    pub(super) solution: String,
    pub(super) cuts: u32,
    /// Cuts after which a file system did not mount.
    pub(super) unmountable: u32,
    /// Cuts after which the check of a file system found errors.
    pub(super) unclean: u32,
    /// Pages of a pulled device that were read and wrong.
    pub(super) pulled_wrong: u64,
    pub(super) parts: Vec<CureCrashPart>,
    /// The first finding, in words.
    pub(super) example: Option<String>,
    /// Why there are fewer cuts than asked for.
    pub(super) failure: Option<String>,
}

/// A part of an app's data.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CureCrashPart {
    /// Cuts in which its promise was broken.
    pub(super) broken: u32,
}

impl CureCrash {
    /// Whether a promise was broken, a file system was not whole, wrong data was read, or cuts are missing.
    pub(super) fn is_broken(&self) -> bool {
        self.failure.is_some()
            || self.unmountable > 0
            || self.unclean > 0
            || self.pulled_wrong > 0
            || self.parts.iter().any(|part| part.broken > 0)
    }
}
