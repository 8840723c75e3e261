//! What a launch asked of the storage, and the evidence that a cold launch was cold.

use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;
use brisk_results::{ColdCheck, LaunchReport, LaunchSet, StorageFlow, StorageUse, Temperature};

use crate::section::{Chart, Figure, Panel};
use crate::svg::Tone;
use crate::svg::bars::{Bar, BarChart, Fill, Group};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::table::{Cell, Kind, Table};
use crate::{facts, format, sets};

/// Files that a terminal lists.
const FILES_IN_TERMINAL: usize = 8;
/// Charts of sizes at most: more say nothing new.
const SIZE_CHARTS: usize = 4;

/// The flows of a storage use by name.
fn flows(storage: &StorageUse) -> [(&'static str, &StorageFlow); 3] {
    [("file reads", &storage.read), ("swap-in", &storage.swap_in), ("writes", &storage.write)]
}

/// Share of requests that continued the one before.
pub(super) fn sequential(flow: &StorageFlow) -> String {
    format::share(flow.sequential_requests as f64, flow.requests as f64)
}

/// The run that stands for a set, as far as it has a storage use.
pub(super) fn middle(set: &LaunchSet) -> Option<&StorageUse> {
    sets::middle_run(set)
        .and_then(|run| run.storage.as_ref())
        .or_else(|| set.runs.iter().find_map(|run| run.storage.as_ref()))
}

/// What was read and written.
pub(super) fn storage(report: &LaunchReport) -> Option<Figure> {
    let mut tables = vec![flow_table(report)];
    let mut panels = Vec::new();
    for set in &report.sets {
        let Some(storage) = middle(set) else { continue };
        let name = sets::name(set, &report.sets);
        if panels.len() < SIZE_CHARTS && storage.read.by_size_bytes.iter().any(|(_, requests)| *requests > 0) {
            panels.push(Panel { title: format!("Reads by size, {name}"), chart: sizes(storage, &name) });
        }
        if storage.read.bytes > 0 {
            // A terminal shows the files of the first set that read any: the others' are hardly different.
            let table = file_table(storage, &name);
            tables.push(if tables.len() > 1 { table.page_only() } else { table });
        }
    }
    tables.retain(|table| !table.rows.is_empty());
    (!tables.is_empty()).then(|| Figure {
        title: "What it asked of the storage".to_owned(),
        caption: "Requests of the app's own threads as the block layer saw them. In sequence means that a request began where \
                  the one before on that device ended. Sizes and files are of the run nearest to the median."
            .to_owned(),
        keys: Vec::new(),
        panels,
        tables,
        tables_open: false,
    })
}

fn sizes(storage: &StorageUse, name: &str) -> Chart {
    let all = storage.read.requests as f64;
    let groups: Vec<Group> = storage
        .read
        .by_size_bytes
        .iter()
        .map(|(bytes, requests)| {
            let size = format_bytes(*bytes);
            let (number, unit) = size.split_once(' ').unwrap_or((&size, ""));
            Group {
                name: [number.to_owned(), unit.to_owned()],
                bars: vec![Bar {
                    value: *requests as f64,
                    range: None,
                    label: format::share(*requests as f64, all),
                    words: format!("up to {size}: {} requests", format::tally(*requests as f64)),
                    tone: Tone::Read,
                    fill: Fill::Full,
                }],
            }
        })
        .collect();
    Chart::Bars(BarChart {
        title: format!("Requests of reads by size, {name}"),
        description: groups
            .iter()
            .flat_map(|g| &g.bars)
            .map(|b| format!("{}.", format::sentence(&b.words)))
            .collect::<Vec<_>>()
            .join(" "),
        y: Axis::new("requests up to a size", Law::Linear, |n| {
            if n < 1_000.0 { format::tick(n) } else { format::count(n) }
        }),
        groups,
    })
}

fn flow_table(report: &LaunchReport) -> Table {
    let mut table = Table::new(
        "Requests to the storage",
        &[
            ("launch", Kind::Words),
            ("kind", Kind::Words),
            ("bytes", Kind::Numbers),
            ("requests", Kind::Numbers),
            ("in sequence", Kind::Numbers),
            ("mean size", Kind::Numbers),
            ("at the device", Kind::Numbers),
        ],
    )
    .dispensable(&[5]);
    for set in &report.sets {
        let Some(shown) = middle(set) else { continue };
        for (i, (kind, flow)) in flows(shown).into_iter().enumerate() {
            let of = |pick: fn(&StorageFlow) -> u64| {
                sets::over_runs(set, |run| run.storage.as_ref().map(|s| pick(flows(s)[i].1) as f64))
            };
            let Some((bytes, requests)) = of(|f| f.bytes).zip(of(|f| f.requests)) else { continue };
            if requests.max == 0.0 && i > 0 {
                continue;
            }
            let in_flight = sets::over_runs(set, |run| run.storage.as_ref().map(|s| s.in_flight_ms));
            table.rows.push(vec![
                sets::name(set, &report.sets).into(),
                kind.into(),
                measured(&bytes, format::bytes),
                measured(&requests, format::tally),
                if flow.requests == 0 { Cell::Empty } else { sequential(flow).into() },
                flow.bytes.checked_div(flow.requests).map_or(Cell::Empty, |mean| format_bytes(mean).into()),
                in_flight.filter(|_| i == 0).map_or(Cell::Empty, |s| measured(&s, format::ms)),
            ]);
        }
    }
    table.with_note(Some("At the device: time in which at least one request of any kind was there.".to_owned()))
}

/// A median with its spread; of nothing at all there is none.
fn measured(summary: &Summary, show: fn(f64) -> String) -> Cell {
    if summary.max == 0.0 { Cell::Measure(show(0.0), String::new()) } else { Cell::measure(summary, show) }
}

fn file_table(storage: &StorageUse, name: &str) -> Table {
    let mut table = Table::new(
        format!("Files by bytes read, {name}"),
        &[
            ("file", Kind::Words),
            ("read", Kind::Numbers),
            ("share", Kind::Numbers),
            ("requests", Kind::Numbers),
            ("first at", Kind::Numbers),
            ("", Kind::Bars),
        ],
    )
    .dispensable(&[2, 4])
    .first_in_terminal(FILES_IN_TERMINAL);
    for file in &storage.files {
        table.rows.push(vec![
            facts::shorten(&file.path, 60).into(),
            format_bytes(file.bytes).into(),
            format::share(file.bytes as f64, storage.read.bytes as f64).into(),
            format::tally(file.requests as f64).into(),
            format::ms(file.first_ms).into(),
            Cell::Bar(file.bytes as f64),
        ]);
    }
    let shown = storage.files.len() as u64;
    let note = (storage.files_count > shown).then(|| {
        format!("{} of {} files, the largest by bytes read.", shown, format::tally(storage.files_count as f64))
    });
    table.with_note(note)
}

/// The check of the run in which most stayed in memory: the set is no colder than that.
pub(super) fn worst(set: &LaunchSet) -> Option<&ColdCheck> {
    set.runs.iter().filter_map(|run| run.cold.as_ref()).max_by_key(|check| check.cached_after_bytes)
}

/// What was evicted, what stayed, and why.
pub(super) fn cold(report: &LaunchReport) -> Option<Figure> {
    let mut checks = Table::new(
        "Evicted before each cold launch",
        &[
            ("launch", Kind::Words),
            ("files", Kind::Numbers),
            ("in memory before", Kind::Numbers),
            ("stayed", Kind::Numbers),
            ("runs checked", Kind::Numbers),
            ("other caches", Kind::Words),
        ],
    )
    .dispensable(&[4]);
    let mut stayed =
        Table::new("What stayed in memory", &[("file", Kind::Words), ("stayed", Kind::Numbers), ("why", Kind::Words)])
            .first_in_terminal(FILES_IN_TERMINAL);
    for set in report.sets.iter().filter(|set| set.temperature == Temperature::Cold) {
        let Some(check) = worst(set) else { continue };
        checks.rows.push(vec![
            sets::name(set, &report.sets).into(),
            format::tally(check.files as f64).into(),
            format_bytes(check.cached_before_bytes).into(),
            format_bytes(check.cached_after_bytes).into(),
            format!("{} of {}", set.runs.iter().filter(|r| r.cold.is_some()).count(), set.runs.len()).into(),
            if check.dropped_all { "dropped too" } else { "left alone" }.into(),
        ]);
        for file in &check.stayed {
            let row = vec![
                facts::shorten(&file.path, 60).into(),
                format_bytes(file.cached_bytes).into(),
                facts::shorten(&file.reason, 80).into(),
            ];
            if !stayed.rows.contains(&row) {
                stayed.rows.push(row);
            }
        }
    }
    let tables: Vec<Table> = [checks, stayed].into_iter().filter(|t| !t.rows.is_empty()).collect();
    (!tables.is_empty()).then(|| Figure {
        title: "How cold it was".to_owned(),
        caption:
            "The files of the app were evicted one by one and counted afterwards. Figures are of the run in which most \
                  stayed."
                .to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables,
        tables_open: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_in_sequence_of_no_request_is_no_number() {
        assert_eq!(sequential(&StorageFlow::default()), "-");
        let flow = StorageFlow { requests: 4, sequential_requests: 3, ..StorageFlow::default() };
        assert_eq!(sequential(&flow), "75 %");
    }
}
