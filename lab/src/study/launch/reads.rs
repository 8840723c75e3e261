//! What a launch asked of the storage, and the evidence that a cold launch was cold.

use crate::results::{ColdCheck, Direction, LaunchReport, LaunchSet, StorageFlow, StorageUse, Temperature};
use brisk_core::units::format_bytes;

use super::columns::*;
use crate::study::shown::sets;
use brisk_report::declare::*;
use brisk_report::format::{self, shorten};

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
pub(super) fn storage(report: &LaunchReport) -> Figure {
    let flows: Vec<Row> = report.sets.iter().flat_map(|set| flow_rows(set, sets::name(set, &report.sets))).collect();
    let columns = columns![LAUNCH, KIND, BYTES_MEASURE, REQUESTS, IN_SEQUENCE, MEAN_SIZE, AT_THE_DEVICE];
    let mut figure = Figure::new(
        "Storage requests",
        "Requests of the app's own threads as the block layer saw them. In sequence means that a request began where \
         the one before on that device ended. Sizes and files are of the run nearest to the median.",
    )
    .table(
        Table::of("Requests to the storage", &flows, columns)
            .dispensable(columns![MEAN_SIZE])
            .noted("At the device: time in which at least one request of any kind was there."),
    );
    for set in &report.sets {
        let Some(storage) = middle(set) else { continue };
        let name = sets::name(set, &report.sets);
        if figure.panels.len() < SIZE_CHARTS && storage.read.by_size_bytes.iter().any(|(_, requests)| *requests > 0) {
            let rows: Vec<Row> =
                storage.read.by_size_bytes.iter().map(|of| size_row(*of, storage.read.requests)).collect();
            let y = Axis::new("requests up to a size", Law::Linear, unit::COUNT.tick);
            let title = format!("Requests of reads by size, {name}");
            let chart =
                bars(title, y, &rows, [NUMBER_PLACE.into(), UNIT.into()], &[(REQUESTS, Fill::Full)], |row, _| {
                    row.text(SHARE_MEASURE)
                });
            let table = Table::of(format!("Reads by size, {name}"), &rows, columns![UP_TO, REQUESTS, SHARE_MEASURE]);
            figure = figure.chart(format!("Reads by size, {name}"), chart).table(table.page_only());
        }
        if storage.read.bytes > 0 {
            // A terminal shows the files of the first set that read any: the others' are hardly different.
            let table = file_table(storage, &name);
            let first = !figure.tables.iter().skip(1).any(|table| table.in_terminal);
            figure = figure.table(if first { table } else { table.page_only() });
        }
    }
    figure
}

fn size_row((bytes, requests): (u64, u64), all: u64) -> Row {
    let text = format_bytes(bytes);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    Row::at(NUMBER_PLACE, number)
        .by(UNIT, unit)
        .by(UP_TO, size(bytes))
        .look(Look::side(Direction::Read))
        .put(REQUESTS, requests)
        .put(SHARE_MEASURE, format::share(requests as f64, all as f64))
}

fn flow_rows(set: &LaunchSet, name: String) -> Vec<Row> {
    let Some(shown) = middle(set) else { return Vec::new() };
    let row = |(i, (kind, flow)): (usize, (&'static str, &StorageFlow))| {
        let of = |pick: fn(&StorageFlow) -> u64| {
            sets::over_runs(set, |run| run.storage.as_ref().map(|s| pick(flows(s)[i].1) as f64))
        };
        let (bytes, requests) = of(|f| f.bytes).zip(of(|f| f.requests))?;
        if requests.max == 0.0 && i > 0 {
            return None;
        }
        let in_flight = sets::over_runs(set, |run| run.storage.as_ref().map(|s| s.in_flight_ms));
        let in_sequence = (flow.requests > 0).then(|| sequential(flow));
        let row = Row::at(LAUNCH, name.clone()).by(KIND, kind).put(BYTES_MEASURE, bytes).put(REQUESTS, requests);
        Some(
            row.figure(IN_SEQUENCE, in_sequence)
                .put(MEAN_SIZE, flow.bytes.checked_div(flow.requests))
                .put(AT_THE_DEVICE, in_flight.filter(|_| i == 0)),
        )
    };
    flows(shown).into_iter().enumerate().filter_map(row).collect()
}

fn file_table(storage: &StorageUse, name: &str) -> Table {
    let row = |file: &crate::results::FileRead| {
        let share = format::share(file.bytes as f64, storage.read.bytes as f64);
        Row::at(FILE, shorten(&file.path, 60))
            .put(READ, file.bytes)
            .figure(SHARE_MEASURE, share)
            .put(REQUESTS, file.requests)
            .put(FIRST_AT, file.first_ms)
    };
    let rows: Vec<Row> = storage.files.iter().map(row).collect();
    let shown = storage.files.len() as u64;
    let all = format::tally(storage.files_count as f64);
    let more = storage.files_count > shown;
    let note = if more { format!("{shown} of {all} files, the largest by bytes read.") } else { String::new() };
    Table::of(
        format!("Files by bytes read, {name}"),
        &rows,
        columns![FILE, READ, SHARE_MEASURE, REQUESTS, FIRST_AT, READ.bar()],
    )
    .dispensable(columns![SHARE_MEASURE, FIRST_AT])
    .first_in_terminal(FILES_IN_TERMINAL)
    .noted(note)
}

/// The check of the run in which most stayed in memory: the set is no colder than that.
pub(super) fn worst(set: &LaunchSet) -> Option<&ColdCheck> {
    set.runs.iter().filter_map(|run| run.cold.as_ref()).max_by_key(|check| check.cached_after_bytes)
}

/// What was evicted, what stayed, and why.
pub(super) fn cold(report: &LaunchReport) -> Figure {
    let (mut checks, mut stayed): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
    for set in report.sets.iter().filter(|set| set.temperature == Temperature::Cold) {
        let Some(check) = worst(set) else { continue };
        let checked = set.runs.iter().filter(|r| r.cold.is_some()).count();
        checks.push(
            Row::at(LAUNCH, sets::name(set, &report.sets))
                .put(FILES, check.files)
                .put(IN_MEMORY_BEFORE, check.cached_before_bytes)
                .put(STAYED, check.cached_after_bytes)
                .figure(RUNS_CHECKED, format!("{checked} of {}", set.runs.len()))
                .put(OTHER_CACHES, if check.dropped_all { "dropped too" } else { "not dropped" }),
        );
        for file in &check.stayed {
            let row = Row::at(FILE, shorten(&file.path, 60))
                .by(STAYED_PLACE, size(file.cached_bytes))
                .by(REASON, shorten(&file.reason, 80));
            let same = |known: &Row| [FILE, STAYED_PLACE, REASON].into_iter().all(|of| known.text(of) == row.text(of));
            if !stayed.iter().any(same) {
                stayed.push(row);
            }
        }
    }
    let columns = columns![LAUNCH, FILES, IN_MEMORY_BEFORE, STAYED, RUNS_CHECKED, OTHER_CACHES];
    Figure::new(
        "Verification of cold launches",
        "The files of the app were evicted one by one and counted afterwards. Figures are of the run in which most \
         stayed.",
    )
    .table(Table::of("Evicted before each cold launch", &checks, columns).dispensable(columns![RUNS_CHECKED]))
    .table(
        Table::of("What stayed in memory", &stayed, columns![FILE, STAYED_PLACE, REASON])
            .first_in_terminal(FILES_IN_TERMINAL),
    )
    .open()
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
