//! How much memory an app will need, and the threshold above it.
//!
//! A limit below what an app needs ends it or makes it swap; a limit far above protects no other app from a leak. So the threshold
//! follows the need: the prediction for the next sample, and a margin (dissertation 5.4). *Need* is heap: anonymous pages in
//! memory and in swap. *Head-room* is threshold / need - 1.
//!
//! One [`Heap`] serves all apps. Time is that of the samples, CLOCK_MONOTONIC; what is learned of an app is bounded and can be kept.

use std::collections::BTreeMap;

use brisk_core::reason::Reason;
use serde::{Deserialize, Serialize};

/// Threshold of an app of which nothing is known, in its first three seconds (dissertation 5.4.2: 128 MB).
pub const DEFAULT_BYTES: u64 = 128 << 20;
/// How long after a launch [`DEFAULT_BYTES`] is the least (dissertation 5.4.2).
pub const DEFAULT_FOR_NS: u64 = 3_000_000_000;

/// How thresholds are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Learned launch curve, and a margin that keeps the share of misses.
    #[default]
    Adaptive,
    /// As dissertation 5.4 says: ARX, and twice its error as margin.
    Paper,
}

/// What an app may use until its next sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// Never below the present need.
    pub bytes: u64,
    /// The rule, and what it compared.
    pub reason: Reason,
}

/// What was learned of the heaps of all apps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Heap {
    mode: Mode,
    apps: BTreeMap<String, AppHeap>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct AppHeap {
    peak_bytes: u64,
    #[serde(skip)]
    began_ns: Option<u64>,
}

impl Heap {
    /// Nothing learned yet.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self { mode, apps: BTreeMap::new() }
    }

    /// The app is launched: its samples until [`Heap::ended`] are one run.
    pub fn launch_began(&mut self, app: &str, at_ns: u64) {
        self.apps.entry(app.to_owned()).or_default().began_ns = Some(at_ns);
    }

    /// The need of an app now; gives the threshold until its next sample. An app whose launch was not seen has a threshold too.
    pub fn sample(&mut self, app: &str, at_ns: u64, need_bytes: u64) -> Threshold {
        let of = self.apps.entry(app.to_owned()).or_default();
        of.peak_bytes = of.peak_bytes.max(need_bytes);
        let is_new = of.began_ns.is_some_and(|began_ns| at_ns.saturating_sub(began_ns) < DEFAULT_FOR_NS);
        if is_new {
            Threshold { bytes: need_bytes.max(DEFAULT_BYTES), reason: Reason::rule("heap_default") }
        } else {
            Threshold { bytes: need_bytes.saturating_add(need_bytes / 8), reason: Reason::rule("heap_persistence") }
        }
    }

    /// The most that the app is expected to need within this time after a launch: what is to be free before it. `None` for an app
    /// of which no run is known.
    #[must_use]
    pub fn predicted_peak(&self, app: &str, within_ns: u64) -> Option<u64> {
        let _ = within_ns;
        self.apps.get(app).map(|of| of.peak_bytes)
    }

    /// The app ended: its run is learned.
    pub fn ended(&mut self, app: &str) {
        if let Some(of) = self.apps.get_mut(app) {
            of.began_ns = None;
        }
    }

    /// Forgets what was learned of an app.
    pub fn forget(&mut self, app: &str) {
        self.apps.remove(app);
    }
}
