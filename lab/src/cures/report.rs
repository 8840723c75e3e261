//! From cases and their outcomes to rows of a document. Pure.

use crate::results::{CureRow, CureWorkload};
use brisk_core::stats::Summary;

use crate::cures::guest::{Case, Outcome, Ran};
use crate::cures::paper;
use crate::cures::workload::App;

/// A workload of so many pages.
#[must_use]
pub fn workload(app: App, pages: u32) -> CureWorkload {
    let shape = app.shape();
    let share = f64::from(pages) / f64::from(shape.pages);
    let written = paper::written(app);
    CureWorkload {
        name: app.name().to_owned(),
        pages,
        pages_whole: shape.pages,
        think_s: shape.think_s * share,
        published_sequential_bytes: written.sequential_mb * 1e6 * share,
        published_random_bytes: written.random_mb * 1e6 * share,
    }
}

/// A row for each app, card and solution, in the order of the cases.
#[must_use]
pub fn rows(cases: &[Case<'_>], outcomes: &[Outcome]) -> Vec<CureRow> {
    let all: Vec<(&Case<'_>, &Outcome)> = cases.iter().zip(outcomes).collect();
    let mut rows: Vec<CureRow> = Vec::new();
    for (case, _) in &all {
        let is_known = |row: &CureRow| {
            row.workload == case.app.name() && row.preset == case.preset && row.solution == case.solution.name
        };
        if !rows.iter().any(is_known) {
            rows.push(row(case, &all));
        }
    }
    rows
}

fn row(of: &Case<'_>, all: &[(&Case<'_>, &Outcome)]) -> CureRow {
    let here = |case: &Case<'_>| case.app == of.app && case.preset == of.preset;
    let mine: Vec<(&Case<'_>, &Outcome)> =
        all.iter().copied().filter(|(case, _)| here(case) && case.solution.name == of.solution.name).collect();
    let ran: Vec<(u64, &Ran)> = mine.iter().filter_map(|(case, out)| Some((case.seed, out.as_ref().ok()?))).collect();
    let summary = |value: &dyn Fn(&Ran) -> f64| Summary::of(&ran.iter().map(|(_, ran)| value(ran)).collect::<Vec<_>>());
    let baseline_ns = |seed: u64| {
        let base = all.iter().find(|(case, _)| here(case) && case.seed == seed && case.solution.name == "baseline")?;
        Some(base.1.as_ref().ok()?.app.run_ns)
    };
    let gains: Vec<f64> =
        ran.iter().filter_map(|(seed, ran)| Some(baseline_ns(*seed)? as f64 / ran.app.run_ns.max(1) as f64)).collect();
    let published = paper::gain(of.preset, of.app, of.solution.name);
    CureRow {
        workload: of.app.name().to_owned(),
        preset: of.preset.to_owned(),
        solution: of.solution.name.to_owned(),
        text: of.solution.text.to_owned(),
        risk: of.solution.risk.to_owned(),
        run_s: summary(&|ran| ran.app.run_ns as f64 / 1e9),
        gain: Summary::of(&gains),
        storage_s: summary(&|ran| (ran.app.file_ns + ran.app.database_ns) as f64 / 1e9),
        sequential_bytes: summary(&|ran| ran.traffic.sequential_bytes as f64),
        random_bytes: summary(&|ran| ran.traffic.random_bytes as f64),
        published_gain_low: published.map(|gain| gain.factor.0),
        published_gain_high: published.map(|gain| gain.factor.1).filter(|high| high.is_finite()),
        published_place: published.map(|gain| gain.place.to_owned()),
        failure: mine.iter().find_map(|(_, out)| out.as_ref().err().cloned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cures::guest::AppRan;
    use crate::cures::solution::find;

    fn case(solution: &str, seed: u64) -> Case<'static> {
        let solution = find(solution).expect("it is there");
        Case { app: App::Facebook, seed, pages: 8, preset: "sd-ridata", solution }
    }

    fn ran(run_s: u64) -> Outcome {
        let app = AppRan { run_ns: run_s * 1_000_000_000, ..AppRan::default() };
        Ok(Ran { app, ..Ran::default() })
    }

    #[test]
    fn gains_are_formed_seed_by_seed_and_failures_are_kept() {
        let cases = [
            case("baseline", 1),
            case("wal", 1),
            case("baseline", 2),
            case("wal", 2),
            case("wal", 3),
            case("btrfs", 1),
        ];
        let outcomes = [ran(10), ran(5), ran(30), ran(10), ran(1), Err("no module".to_owned())];
        let rows = rows(&cases, &outcomes);
        assert_eq!(rows.iter().map(|row| row.solution.as_str()).collect::<Vec<_>>(), ["baseline", "wal", "btrfs"]);
        // Seed 3 has no baseline.
        let gain = rows[1].gain.expect("two pairs");
        assert_eq!((gain.median, rows[1].run_s.expect("three runs").median), (2.5, 5.0));
        assert_eq!(rows[0].gain.expect("itself").median, 1.0);
        assert_eq!((rows[2].run_s, rows[2].failure.as_deref()), (None, Some("no module")));
    }

    #[test]
    fn the_papers_gains_stand_beside_ours() {
        let rows = rows(&[case("databases_in_ram", 1), case("nilfs2_databases", 1)], &[ran(1), ran(1)]);
        assert_eq!((rows[0].published_gain_low, rows[0].published_gain_high), (Some(2.0), Some(2.0)));
        assert_eq!((rows[1].published_gain_low, rows[1].published_gain_high), (Some(1.2), None));
    }

    #[test]
    fn a_part_of_the_pages_is_expected_to_write_a_part() {
        let (whole, part) = (workload(App::WebBench, 50), workload(App::WebBench, 10));
        assert!((whole.published_random_bytes - 32.2e6).abs() < 1.0);
        assert!((part.published_random_bytes * 5.0 / whole.published_random_bytes - 1.0).abs() < 1e-9);
        assert!((part.think_s * 5.0 / whole.think_s - 1.0).abs() < 1e-9);
    }
}
