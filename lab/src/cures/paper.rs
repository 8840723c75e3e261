//! What the paper publishes about these workloads: Revisiting storage, tables III and V, sect. 4.1, 5.1 to 5.5.
//!
//! Bars of figures 13 and 14 are drawings: only gains that the text states are here.

use crate::cures::workload::App;

/// Bytes that a run wrote, in MB (table V).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Written {
    /// In sequence: a request begins where the one before ended.
    pub sequential_mb: f64,
    pub random_mb: f64,
}

/// Table V.
#[must_use]
pub fn written(app: App) -> Written {
    match app {
        App::WebBench => Written { sequential_mb: 41.3, random_mb: 32.2 },
        App::Facebook => Written { sequential_mb: 2.0, random_mb: 3.1 },
    }
}

/// Bytes of the 315 files of the browser's cache (sect. 4.1).
pub const CACHE_BYTES: u64 = 6_000_000;
/// The index of the browser's cache, and its other database.
pub const DATABASE_BYTES: (u64, u64) = (137_000, 34_000);

/// How much faster a solution made a run, as the text says it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    pub preset: &'static str,
    /// Workload; both without.
    pub app: Option<App>,
    /// Solution by its name here.
    pub solution: &'static str,
    /// Lowest and highest factor; the highest is infinite for "more than".
    pub factor: (f64, f64),
    pub place: &'static str,
}

const RIDATA: &str = "sd-ridata";
const KINGSTON: &str = "sd-kingston";
const NO_BOUND: f64 = f64::INFINITY;

/// All gains that the text states for these two cards.
pub const GAINS: &[Gain] = &[
    Gain {
        preset: RIDATA,
        app: Some(App::WebBench),
        solution: "cache_in_ram",
        factor: (1.05, 1.05),
        place: "figure 13, bar B",
    },
    Gain {
        preset: RIDATA,
        app: Some(App::Facebook),
        solution: "cache_in_ram",
        factor: (1.15, 1.15),
        place: "figure 13, bar B",
    },
    Gain {
        preset: RIDATA,
        app: Some(App::WebBench),
        solution: "databases_in_ram",
        factor: (3.0, 3.0),
        place: "figure 13, bar C",
    },
    Gain {
        preset: RIDATA,
        app: Some(App::Facebook),
        solution: "databases_in_ram",
        factor: (2.0, 2.0),
        place: "figure 13, bar C",
    },
    Gain {
        preset: RIDATA,
        app: Some(App::WebBench),
        solution: "all_in_ram",
        factor: (3.0, 3.0),
        place: "figure 13, bar D: no significant additional benefit",
    },
    Gain {
        preset: RIDATA,
        app: Some(App::Facebook),
        solution: "all_in_ram",
        factor: (2.0, 2.0),
        place: "figure 13, bar D: no significant additional benefit",
    },
    Gain {
        preset: RIDATA,
        app: Some(App::WebBench),
        solution: "sync_off",
        factor: (3.0, 3.0),
        place: "figure 13, bar E: comparable to C",
    },
    Gain {
        preset: RIDATA,
        app: Some(App::Facebook),
        solution: "sync_off",
        factor: (2.0, 2.0),
        place: "figure 13, bar E: comparable to C",
    },
    Gain {
        preset: RIDATA,
        app: None,
        solution: "nilfs2_databases",
        factor: (1.2, NO_BOUND),
        place: "sect. 5.4: more than 20 %",
    },
    Gain {
        preset: KINGSTON,
        app: None,
        solution: "nilfs2_databases",
        factor: (4.0, NO_BOUND),
        place: "sect. 5.4: more than a factor of 4",
    },
    Gain { preset: RIDATA, app: None, solution: "raid0_4k", factor: (1.0, 2.0), place: "sect. 5.3: between 1 and 2" },
    Gain { preset: KINGSTON, app: None, solution: "raid0_4k", factor: (1.0, 2.0), place: "sect. 5.3: between 1 and 2" },
];

/// The paper's gain of a solution.
#[must_use]
pub fn gain(preset: &str, app: App, solution: &str) -> Option<&'static Gain> {
    GAINS
        .iter()
        .find(|gain| gain.preset == preset && gain.solution == solution && gain.app.is_none_or(|other| other == app))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gain_is_of_a_solution_that_is_measured() {
        for gain in GAINS {
            assert!(crate::cures::solution::find(gain.solution).is_some(), "{}", gain.solution);
            assert!(gain.factor.0 >= 1.0 && gain.factor.1 >= gain.factor.0, "{gain:?}");
        }
        assert!(gain(RIDATA, App::WebBench, "raid0_4k").is_some());
        assert_eq!(gain("emmc-5.1", App::WebBench, "raid0_4k"), None);
    }
}
