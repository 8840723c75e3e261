//! Memory by app over the day: what is in memory, and above it what is in swap.

use std::collections::BTreeMap;

use crate::results::{DayPolicy, DayReport, DayRun};
use brisk_core::units::format_bytes;

use super::columns::*;
use super::page::{measured, name};
use brisk_report::declare::Texture;
use brisk_report::declare::*;
use brisk_report::format::{self, shorten};

/// Apps that have a colour of their own; the others are one layer.
const APPS_MAX: usize = 6;
const OTHERS: &str = "others";
const SWAPPED: &str = " in swap";
const MIB: f64 = 1_048_576.0;

pub(super) const BYTES_OF_MIB: Unit = unit::of("", |mib| format::bytes(mib * MIB), format::tick);

/// A chart for each policy.
pub(super) fn over_time(report: &DayReport) -> Figure {
    let measured = measured(report);
    let names = largest(&measured);
    let title = "Memory by app over the day";
    let rows: Vec<Row> = measured.iter().flat_map(|(policy, run)| rows(&name(policy), run, &names)).collect();
    let highest = rows_highest(&rows);
    let limit_mib = report.memory.limit_bytes as f64 / MIB;
    let face = |layer: &str| {
        let texture = if layer.ends_with(SWAPPED) { Texture::Half } else { Texture::Full };
        let app = layer.strip_suffix(SWAPPED).unwrap_or(layer);
        let tone = names.iter().position(|known| known == app).map_or(Tone::Plain, Tone::Nth);
        (tone, texture)
    };
    let caption = "Anonymous and mapped file pages of each app in memory (full colour), and its pages in swap above \
                   them (pale), after \
                   each dwell. Pages that several processes map count for each, so the sum may be above the limit.";
    let draw = |policy: &str| {
        let areas = Areas {
            x: TIME.into(),
            y: MEMORY.into(),
            layer: LAYER.into(),
            levels: level(limit_mib, format!("limit {}", format_bytes(report.memory.limit_bytes))),
            holds: vec![highest],
            unnamed: false,
        };
        let axes =
            [Axis::new("time of the run, s", Law::Linear, unit::S.tick), Axis::new("MiB", Law::Linear, format::tick)];
        areas.draw(format!("{title}, {policy}"), axes, &only(&rows, POLICY, policy), face)
    };
    // Names of policies are those of options: they keep their letters.
    let figure = places(&rows, POLICY)
        .iter()
        .fold(Figure::new(title, caption), |figure, policy| figure.chart(policy.as_str(), draw(policy)));
    let most: Vec<Row> = measured.iter().map(|(policy, run)| at_most(&name(policy), run)).collect();
    figure.table(Table::of(
        "Memory at most, and at the end",
        &most,
        columns![POLICY, IN_MEMORY, IN_SWAP, APPS, IN_MEMORY_AT_THE_END, IN_SWAP_AT_THE_END],
    ))
}

/// The apps with most memory at any moment, the largest at the bottom.
fn largest(measured: &[(&DayPolicy, &DayRun)]) -> Vec<String> {
    let mut most: BTreeMap<String, u64> = BTreeMap::new();
    for memory in measured.iter().flat_map(|(_, run)| &run.switches).flat_map(|switch| &switch.memory) {
        let census = &memory.census;
        let bytes = census.anonymous_bytes.saturating_add(census.file_bytes).saturating_add(census.swapped_bytes);
        let known = most.entry(shorten(memory.app.trim(), 40)).or_default();
        *known = bytes.max(*known);
    }
    let mut ranked: Vec<(String, u64)> = most.into_iter().collect();
    ranked.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    ranked.into_iter().take(APPS_MAX).map(|(app, _)| app).collect()
}

/// A row for each layer after each dwell: first all that is in memory, then all that is in swap.
fn rows(policy: &str, run: &DayRun, names: &[String]) -> Vec<Row> {
    let layers: Vec<&str> = names.iter().map(String::as_str).chain([OTHERS]).collect();
    let mut rows = Vec::new();
    for in_swap in [false, true] {
        for layer in &layers {
            let of_layer =
                |app: &str| if names.iter().any(|known| known == app) { app == *layer } else { *layer == OTHERS };
            let heights: Vec<(f64, f64)> = run
                .switches
                .iter()
                .map(|switch| {
                    let here = switch.memory.iter().filter(|memory| of_layer(&shorten(memory.app.trim(), 40)));
                    let bytes: f64 = here
                        .map(|memory| {
                            let census = &memory.census;
                            if in_swap {
                                census.swapped_bytes as f64
                            } else {
                                census.anonymous_bytes as f64 + census.file_bytes as f64
                            }
                        })
                        .sum();
                    (switch.at_s + (switch.wait_ms + switch.dwell_ms) / 1e3, bytes / MIB)
                })
                .collect();
            if heights.iter().all(|(_, mib)| *mib == 0.0) {
                continue;
            }
            let name = format!("{layer}{}", if in_swap { SWAPPED } else { "" });
            rows.extend(heights.into_iter().map(|(at_s, mib)| {
                let time = Place { text: format::seconds(at_s), number: Some(at_s) };
                Row::at(POLICY, policy).by(LAYER, name.clone()).by(TIME, time).put(MEMORY, mib)
            }));
        }
    }
    rows
}

/// The highest sum over all policies and times: charts side by side share their axis.
fn rows_highest(rows: &[Row]) -> f64 {
    let mut sums: BTreeMap<(String, u64), f64> = BTreeMap::new();
    for row in rows {
        let at = row.number(TIME).unwrap_or(0.0);
        *sums.entry((row.text(POLICY), at.to_bits())).or_default() += row.number(MEMORY).unwrap_or(0.0);
    }
    sums.into_values().filter(|sum| sum.is_finite()).fold(0.0, f64::max)
}

fn at_most(policy: &str, run: &DayRun) -> Row {
    let sum = |of: fn(&crate::results::MemoryCensus) -> f64| {
        let at = move |switch: &crate::results::DaySwitch| switch.memory.iter().map(|one| of(&one.census)).sum::<f64>();
        let sums: Vec<f64> = run.switches.iter().map(at).collect();
        (sums.iter().copied().reduce(f64::max), sums.last().copied())
    };
    let (in_memory, in_memory_last) = sum(|census| census.anonymous_bytes as f64 + census.file_bytes as f64);
    let (in_swap, in_swap_last) = sum(|census| census.swapped_bytes as f64);
    let apps = run.switches.iter().map(|switch| switch.memory.len() as u64).max();
    Row::at(POLICY, policy)
        .put(IN_MEMORY, in_memory)
        .put(IN_SWAP, in_swap)
        .put(APPS, apps)
        .put(IN_MEMORY_AT_THE_END, in_memory_last)
        .put(IN_SWAP_AT_THE_END, in_swap_last)
}
