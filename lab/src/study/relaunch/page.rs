//! Its page.

use std::collections::BTreeMap;

use crate::results::{AppReturns, AppState, Cause, Ending, PolicyReturns, RelaunchReport};
use brisk_core::stats::{self, Bootstrapped, Summary};
use brisk_core::units::format_bytes;

use super::columns::*;
use crate::study::shown::apps::shown;
use crate::study::shown::{facts, starts};
use brisk_report::declare::*;
use brisk_report::format;
use brisk_report::ratio::judge;

/// Sums by policy.
const SUMS: &str = "Returns by policy";
const BY_APP: &str = "Returns by app";
/// Of all apps together.
const ALL: &str = "All returns";

pub(super) fn section(report: &RelaunchReport) -> Section {
    let apps = report.policies.first().map_or(0, |one| one.apps.len());
    let question = format!(
        "How long does it take to go back to {} with {} of memory, under each policy?",
        format::plural(apps as u64, "app"),
        format_bytes(report.memory.limit_bytes)
    );
    let mut facts = vec![("Phone", facts::phone(&report.phone)), ("Memory", format_bytes(report.memory.limit_bytes))];
    facts.push(("Swap area", format_bytes(report.memory.swap_bytes)));
    facts.push(("Time limit", format::ms(report.limit_ms)));
    let figures =
        [sums(report), all(report), by_app(report), policies(&report.policies), starts::figure(&report.phone)];
    Section::new("Returns to apps", question, verdict(report))
        .cautions(facts::virtual_time(&report.phone))
        .cautions(cautions(report))
        .facts(facts)
        .on(Some(facts::phone_name(&report.phone)))
        .figures(figures)
}

/// A bootstrapped value as rows have values: its spread is that of the interval.
fn summary(of: Bootstrapped, count: usize) -> Summary {
    let Bootstrapped { median, low, high } = of;
    Summary { count, median, low, high, confidence: 0.95, min: low, max: high, variation: 0.0 }
}

fn runs(policy: &PolicyReturns) -> usize {
    policy.apps.iter().map(|app| app.visits.len()).max().unwrap_or(0)
}

fn verdict(report: &RelaunchReport) -> Vec<String> {
    let summed: Vec<_> = report.policies.iter().filter_map(|policy| Some((policy, policy.sum_ms?))).collect();
    let Some((first, base)) = summed.first() else {
        return vec!["Nothing can be said: no policy has three returns to each app.".to_owned()];
    };
    // Only a difference that is no chance: the interval of the ratio excludes 1.
    let faster = summed.iter().filter(|(policy, _)| policy.ratio.is_some_and(|ratio| ratio.high < 1.0));
    let best = faster.min_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let apps = format::plural(first.apps.len() as u64, "app");
    let begin = format!("Going back to {apps} takes {} in all with {}", format::ms(base.median), first.policy);
    let mut said = vec![match best {
        None if summed.len() == 1 => format!("{begin}."),
        None => format!("{begin}, and no other policy takes less, as far as so few returns tell."),
        Some((best, least)) => format!(
            "{begin}, and {} with {}{}.",
            format::ms(least.median),
            best.policy,
            best.ratio.map_or_else(String::new, |ratio| format!(" ({})", format::times(ratio.median)))
        ),
    }];
    said.extend(stats::median(&shares(first)).map(|share| {
        format!(
            "The median return with {} waits {} of its time for storage or memory.",
            first.policy,
            format::share(share, 1.0)
        )
    }));
    said
}

/// The causes that are memory's or storage's.
const WAITS: [Cause; 5] = [Cause::SwapIn, Cause::StorageRead, Cause::StorageWrite, Cause::Storage, Cause::Reclaim];

fn shares(policy: &PolicyReturns) -> Vec<f64> {
    let splits = policy.apps.iter().flat_map(|app| &app.visits).filter_map(|visit| visit.run.split.as_ref());
    let share = |split: &crate::results::Split| {
        let waited: f64 = WAITS.into_iter().filter_map(|cause| split.time_ms(cause)).sum();
        (split.wall_ms > 0.0).then_some(waited / split.wall_ms)
    };
    splits.filter_map(share).collect()
}

fn cautions(report: &RelaunchReport) -> Vec<String> {
    let mut said = Vec::new();
    for policy in &report.policies {
        let visits = || policy.apps.iter().flat_map(|app| &app.visits).filter(|visit| !visit.answered());
        let is_slow = |ending: &Ending| matches!(ending, Ending::StillWorking | Ending::Animating);
        let slow = visits().filter(|visit| is_slow(&visit.run.ending)).count();
        let failed = visits().count() - slow;
        let what = [
            (slow, "did not answer in time, and counts with the time that was waited, so the truth is longer"),
            (failed, "failed, since the app ended or showed no window, and counts with the time limit"),
        ];
        for (count, words_of) in what.into_iter().filter(|(count, _)| *count > 0) {
            said.push(format!("Of the returns with {}, {count} {words_of}.", policy.policy));
        }
    }
    said
}

fn sums(report: &RelaunchReport) -> Figure {
    let rows: Vec<Row> = report
        .policies
        .iter()
        .enumerate()
        .map(|(n, policy)| {
            let count = runs(policy);
            let effect = policy.ratio.map(|ratio| judge(&summary(ratio, count)).effect()).filter(|_| n > 0);
            let judged = |row: Row| match effect {
                Some(effect) => row.look(effect.look()).judge(EFFECT, effect, effect.words()),
                None => row,
            };
            let ended: usize = policy.apps.iter().flat_map(|app| &app.visits).map(|visit| visit.ended.len()).sum();
            judged(Row::at(POLICY, policy.policy.clone()))
                .put(SUM_OF_MEDIANS, policy.sum_ms.map(|sum| summary(sum, count)))
                .put(OVER_THE_FIRST, policy.ratio.map(|ratio| summary(ratio, count)))
                .put(READ, policy.read_bytes)
                .put(WRITTEN, policy.written_bytes)
                .put(FLASH_BUSY, policy.busy_ms)
                .put(ENDED_APPS, ended as u64)
                .put(RETURNS_TO_EACH, count as u64)
        })
        .collect();
    let dots = Dots { name: POLICY.into(), value: SUM_OF_MEDIANS.into(), below: EFFECT.into(), ..Dots::default() };
    let axis = Axis::new("time in all", law_for(sums_of(&rows)), unit::MS.tick);
    let caption = "The sum of the apps' median times until they answer a key, with its 95 % interval (bootstrap). \
                   Read, written and busy are the flash's, as sums of medians.";
    let title = SUMS;
    Figure::new(title, caption)
        .chart("Time", dots.draw(title, axis, &rows))
        .table(
            Table::of(
                title,
                &rows,
                columns![
                    POLICY,
                    SUM_OF_MEDIANS,
                    OVER_THE_FIRST,
                    EFFECT,
                    READ,
                    WRITTEN,
                    FLASH_BUSY,
                    ENDED_APPS,
                    RETURNS_TO_EACH
                ],
            )
            .dispensable(columns![ENDED_APPS, FLASH_BUSY, RETURNS_TO_EACH]),
        )
        .open()
}

/// All returns of a policy, whichever the app.
fn all(report: &RelaunchReport) -> Figure {
    let row = |policy: &PolicyReturns| {
        let visits = || policy.apps.iter().flat_map(|app| &app.visits);
        let over =
            |of: &dyn Fn(&crate::results::AppVisit) -> Option<f64>| -> Vec<f64> { visits().filter_map(of).collect() };
        let times = over(&|visit| Some(visit.counted_ms(report.limit_ms)));
        let count = |of: fn(&crate::results::AppVisit) -> bool| visits().filter(|visit| of(visit)).count() as u64;
        Row::at(POLICY, policy.policy.clone())
            .put(RETURNS, times.len() as u64)
            .put(LAUNCHED_ANEW, count(|visit| visit.run.state == AppState::Killed))
            .put(FIRST_DRAWN, stats::median(&over(&|visit| visit.run.first_change_ms)))
            .put(ANSWERED, stats::median(&times))
            .put(NINE_OF_TEN, nine_of_ten(&times))
            .put(IN_SWAP, stats::median(&over(&|visit| Some(visit.run.before?.swapped_bytes as f64))))
    };
    let rows: Vec<Row> = report.policies.iter().map(row).collect();
    let caption = "All returns: medians, and the time within which nine of ten had answered. In swap is what of the \
                   app was swapped out before its return; an app that had been ended is launched anew.";
    Figure::new(ALL, caption)
        .table(Table::of(
            ALL,
            &rows,
            columns![POLICY, RETURNS, LAUNCHED_ANEW, FIRST_DRAWN, ANSWERED, NINE_OF_TEN, IN_SWAP],
        ))
        .open()
}

/// The least value that nine of ten do not exceed.
fn nine_of_ten(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() * 9).div_ceil(10).saturating_sub(1)).copied()
}

/// The sentence of a run: what the first policy takes, and each other.
pub(super) fn gist(report: &RelaunchReport) -> Option<String> {
    let times = |policy: &PolicyReturns| {
        let ratio = policy.ratio.map_or_else(String::new, |ratio| format!(" ({})", format::times(ratio.median)));
        Some(format!("{}{ratio} with {}", format::ms(policy.sum_ms?.median), format::shorten(policy.policy.trim(), 60)))
    };
    let found: Vec<String> = report.policies.iter().filter_map(times).collect();
    let apps = report.policies.first().map_or(0, |first| first.apps.len());
    (!found.is_empty()).then(|| {
        format!(
            "With {} of memory an emulated {} comes back to each of {} in {} in all.",
            format_bytes(report.memory.limit_bytes),
            facts::phone_of_year(&report.phone.preset),
            format::plural(apps as u64, "open app"),
            format::list(&found),
        )
    })
}

fn policies(policies: &[PolicyReturns]) -> Figure {
    let row = |policy: &PolicyReturns| Row::at(POLICY, policy.policy.clone()).put(WHAT_IT_IS, policy.text.clone());
    let rows: Vec<Row> = policies.iter().map(row).collect();
    Figure::new("Policies", "What is compared.").table(Table::of("Policies", &rows, columns![POLICY, WHAT_IT_IS]))
}

fn sums_of(rows: &[Row]) -> Vec<f64> {
    rows.iter().filter_map(|row| row.number(SUM_OF_MEDIANS)).collect()
}

/// `4 swapped, 1 hot`.
fn states(app: &AppReturns) -> String {
    let mut counts: BTreeMap<AppState, usize> = BTreeMap::new();
    for visit in &app.visits {
        *counts.entry(visit.run.state).or_default() += 1;
    }
    let word = |state: &AppState| match state {
        AppState::Hot => "hot",
        AppState::Swapped => "swapped",
        AppState::Killed => "killed",
    };
    counts.iter().map(|(state, count)| format!("{count} {}", word(state))).collect::<Vec<_>>().join(", ")
}

fn by_app(report: &RelaunchReport) -> Figure {
    let mut rows = Vec::new();
    let names: Vec<&String> =
        report.policies.first().map(|one| one.apps.iter().map(|app| &app.app).collect()).unwrap_or_default();
    for name in names {
        let mut of_app = Vec::new();
        for policy in &report.policies {
            let Some(app) = policy.apps.iter().find(|app| app.app == *name && !app.visits.is_empty()) else { continue };
            let over = |of: &dyn Fn(&crate::results::AppVisit) -> Option<f64>| {
                stats::median(&app.visits.iter().filter_map(of).collect::<Vec<_>>())
            };
            let cause =
                |cause: Cause| over(&|visit| visit.run.split.as_ref().map(|split| split.time_ms(cause).unwrap_or(0.0)));
            of_app.push(
                Row::at(APP, shown(&app.app))
                    .by(POLICY, policy.policy.clone())
                    .by(APP_AND_POLICY, format!("{}, {}", shown(&app.app), policy.policy))
                    .put(ANSWERED, app.end_ms)
                    .put(STATES, states(app))
                    .put(SWAP_IN_MEASURE, cause(Cause::SwapIn))
                    .put(FILE_READS, cause(Cause::StorageRead))
                    .put(RECLAIM, cause(Cause::Reclaim))
                    .put(READ, over(&|visit| Some(visit.flash_read_bytes as f64)))
                    .put(HEAP_TOUCHED, over(&|visit| visit.run.touched.map(|touched| touched.swapped_bytes as f64)))
                    .put(SCREEN_ALONE, over(&|visit| visit.run.screen_ms)),
            );
        }
        rows.extend(against_first(of_app, ANSWERED, false).into_iter().map(|row| {
            let said = format::joined([row.text(STATES).as_str(), &row.text(EFFECT)]);
            row.put(SAID, said)
        }));
    }
    let values: Vec<f64> = rows.iter().filter_map(|row| row.number(ANSWERED)).collect();
    let dots = Dots { name: APP_AND_POLICY.into(), value: ANSWERED.into(), below: SAID.into(), ..Dots::default() };
    let axis = Axis::new("time until it answers", law_for(values), unit::MS.tick);
    let caption = "Until the last change of the screen, wait for storage or memory, and work: medians with intervals. \
                   Screen alone is when the screen stood still, which is too early for an app that is painted before \
                   its memory is back. Heap touched came back from swap.";
    Figure::new(BY_APP, caption).chart("Time", dots.draw(BY_APP, axis, &rows)).table(
        Table::of(
            BY_APP,
            &rows,
            columns![
                APP,
                POLICY,
                ANSWERED,
                EFFECT,
                STATES,
                SWAP_IN_MEASURE,
                FILE_READS,
                RECLAIM,
                SCREEN_ALONE,
                HEAP_TOUCHED,
                READ
            ],
        )
        .dispensable(columns![HEAP_TOUCHED, SCREEN_ALONE, READ, RECLAIM, FILE_READS, SWAP_IN_MEASURE]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_values_are_not_above_it() {
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(nine_of_ten(&values), Some(18.0));
        assert_eq!((nine_of_ten(&[7.0]), nine_of_ten(&[])), (Some(7.0), None));
    }
}
