//! Predictors of memory needs and thresholds above them, on recorded runs of apps (dissertation 5.4): what
//! `brisk study heap` does.
//!
//! ```text
//! Table (growth, dumpsys, rss) ─> Runs on a grid of times ─> errors by p and q, coverage by alpha, thresholds by rule
//! ```
//!
//! Tables differ in their sampling: values are taken at equal intervals, each the last sample at or before its time.
//! The interval is a second, as in the dissertation, or the table's own where that is longer.

mod evaluate;
mod table;

use crate::results::{HeapAim, HeapAlpha, HeapApp, HeapThreshold};

pub use table::{Form, Table, TableError, Trace};

/// Interval of the dissertation (5.4.2).
const INTERVAL_S: f64 = 1.0;
/// Fewer values have nothing to predict with all orders and to judge.
const VALUES_MIN: usize = 5;
/// More values of one run are not evaluated: more than two hours at a second each.
const VALUES_MAX: usize = 10_000;

/// All runs of an app, with a value at each interval.
#[derive(Debug, Clone, PartialEq)]
struct Runs {
    app: String,
    runs: Vec<Vec<u64>>,
    /// Whether each begins with the launch.
    from_launch: Vec<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Time between two values.
    pub interval_s: f64,
    /// Runs with too few values.
    pub short_runs: u64,
    /// By app, in the order of the table.
    pub apps: Vec<HeapApp>,
    pub alphas: Vec<HeapAlpha>,
    pub thresholds: Vec<HeapThreshold>,
    pub aims: Vec<HeapAim>,
}

/// Evaluates all runs of a table, at this interval or the one that the table allows. `progress` gets the share that is
/// done and the next app, and says whether to go on; `None` when it said no.
#[must_use]
pub fn evaluate(table: &Table, interval_s: Option<f64>, progress: &mut dyn FnMut(f64, &str) -> bool) -> Option<Found> {
    let allowed_s = (table.sampled_s().unwrap_or(INTERVAL_S) * 10.0).round() / 10.0;
    let interval_s = interval_s.unwrap_or(allowed_s.max(INTERVAL_S));
    let (apps, short_runs) = runs(table, interval_s);
    let (mut all, mut found) = (evaluate::All::default(), Vec::new());
    let (mut done, whole) = (0, apps.iter().map(|of| of.runs.len()).sum::<usize>());
    for (place, of) in apps.iter().enumerate() {
        if !progress(done as f64 / whole as f64, &of.app) {
            return None;
        }
        found.push(all.app(&apps, place, interval_s));
        done += of.runs.len();
    }
    let (alphas, thresholds, aims) = (all.alphas(), all.thresholds(), all.aims());
    Some(Found { interval_s, short_runs, apps: found, alphas, thresholds, aims })
}

/// The runs by app, and how many were too short.
fn runs(table: &Table, interval_s: f64) -> (Vec<Runs>, u64) {
    let (mut apps, mut short) = (Vec::<Runs>::new(), 0);
    for trace in &table.traces {
        let values = at_intervals(&trace.samples, interval_s);
        if values.len() < VALUES_MIN {
            short += 1;
            continue;
        }
        let place = apps.iter().position(|of| of.app == trace.app).unwrap_or_else(|| {
            apps.push(Runs { app: trace.app.clone(), runs: Vec::new(), from_launch: Vec::new() });
            apps.len() - 1
        });
        apps[place].runs.push(values);
        apps[place].from_launch.push(trace.from_launch);
    }
    (apps, short)
}

/// The last sample at or before each time, from the first sample on.
fn at_intervals(samples: &[(f64, u64)], interval_s: f64) -> Vec<u64> {
    let last_s = samples.last().map_or(0.0, |(at_s, _)| *at_s);
    let (mut values, mut next) = (Vec::new(), 0);
    while values.len() < VALUES_MAX {
        // A sample a little late, as all are, counts for its time.
        let until_s = (values.len() as f64 + 0.1) * interval_s;
        if values.len() as f64 * interval_s > last_s {
            break;
        }
        while samples.get(next).is_some_and(|(at_s, _)| *at_s <= until_s) {
            next += 1;
        }
        let Some((_, need_bytes)) = next.checked_sub(1).and_then(|n| samples.get(n)) else { break };
        values.push(*need_bytes);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sample_is_held_at_equal_intervals() {
        let samples = [(0.0, 1), (0.25, 2), (1.03, 3), (3.4, 4), (3.9, 5), (4.2, 6)];
        assert_eq!(at_intervals(&samples, 1.0), [1, 3, 3, 3, 5]);
        assert_eq!(at_intervals(&samples, 2.0), [1, 3, 6], "0.2 s late is in time for an interval of two");
        assert_eq!(at_intervals(&[(0.0, 7)], 1.0), [7]);
        assert!(at_intervals(&[], 1.0).is_empty());
        assert_eq!(at_intervals(&[(0.0, 1), (1e11, 2)], 0.02).len(), VALUES_MAX);
    }

    fn table(text: &str) -> Table {
        Table::parse(&format!("app,run,time_ms,anonymous_bytes,swapped_bytes\n{text}")).expect("read")
    }

    #[test]
    fn runs_of_an_app_are_evaluated_together_and_short_ones_are_counted() {
        let run = |app: &str, run: u32, seconds: u32| {
            (0..seconds * 4).map(|n| format!("{app},{run},{},{},0\n", n * 250, 1_000_000)).collect::<String>()
        };
        let text = [run("a", 1, 20), run("b", 1, 20), run("a", 2, 20), run("a", 3, 20), run("b", 2, 3)].concat();
        let mut seen = Vec::new();
        let found = evaluate(&table(&text), None, &mut |_, app| {
            seen.push(app.to_owned());
            true
        });
        let found = found.expect("not stopped");
        assert_eq!((found.interval_s, found.short_runs, seen), (1.0, 1, vec!["a".to_owned(), "b".to_owned()]));
        let of: Vec<(u64, usize)> = found.apps.iter().map(|app| (app.runs, app.thresholds.len())).collect();
        assert_eq!(of, [(3, 5), (1, 0)]);
        assert_eq!(found.thresholds[0].values, 3 * 19);
        assert_eq!(evaluate(&table(&text), None, &mut |_, _| false), None);
    }

    #[test]
    fn a_table_that_is_sampled_slowly_has_its_own_interval() {
        let text: String = (0..10).map(|n| format!("a,1,{},1,0\n", n * 5_160)).collect();
        let found = evaluate(&table(&text), None, &mut |_, _| true).expect("not stopped");
        assert_eq!(found.interval_s, 5.2);
        let found = evaluate(&table(&text), Some(2.0), &mut |_, _| true).expect("not stopped");
        assert_eq!(found.interval_s, 2.0);
    }
}
