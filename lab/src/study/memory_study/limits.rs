//! Limits under which apps start (table 5.1).

use crate::results::{LimitCell, MemoryStudyReport};
use brisk_core::units::format_bytes;

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format;

const TITLE: &str = "Starts by limit of memory";

/// The least limit from which on all tries of an app started.
fn enough<'a>(cells: &[&'a LimitCell]) -> Option<&'a LimitCell> {
    let mut ascending: Vec<&LimitCell> = cells.to_vec();
    ascending.sort_by_key(|cell| cell.limit_bytes);
    let all_started = |cell: &&&LimitCell| cell.tries() > 0 && cell.started == cell.tries();
    ascending.iter().rev().take_while(all_started).last().copied()
}

pub(super) fn verdict(report: &MemoryStudyReport) -> Option<String> {
    let limits = report.limits.as_ref()?;
    let apps: Vec<&String> = report.apps.iter().filter(|app| limits.cells.iter().any(|c| c.app == **app)).collect();
    let of = |app: &String| limits.cells.iter().filter(|cell| cell.app == *app).collect::<Vec<_>>();
    let mut found: Vec<(&String, Option<&LimitCell>)> = apps.iter().map(|app| (*app, enough(&of(app)))).collect();
    found.sort_by_key(|(_, cell)| cell.map_or(u64::MAX, |cell| cell.limit_bytes));
    let words: Vec<String> = found
        .iter()
        .map(|(app, cell)| match cell {
            Some(cell) => format!("{app} {}", format_bytes(cell.limit_bytes)),
            None => format!("{app} none of these"),
        })
        .collect();
    (!words.is_empty()).then(|| format!("Least memory with which every try starts: {}.", words.join(", ")))
}

/// Why most of those did not start that did not.
fn reason(cell: &LimitCell) -> &'static str {
    let reasons = [(cell.killed, "killed"), (cell.slow, "slow"), (cell.ended, "ended")];
    reasons.into_iter().filter(|(count, _)| *count > 0).max_by_key(|(count, _)| *count).map_or("", |(_, word)| word)
}

pub(super) fn figure(report: &MemoryStudyReport) -> Option<Figure> {
    let limits = report.limits.as_ref()?;
    let rows: Vec<Row> = limits
        .cells
        .iter()
        .map(|cell| {
            let tries = cell.tries();
            let below = match (reason(cell), &cell.settled_ms) {
                ("", Some(settled)) => format::ms(settled.median),
                (reason, _) => reason.to_owned(),
            };
            Row::at(APP, cell.app.clone())
                .by(LIMIT, size(cell.limit_bytes))
                .put(STARTED, u64::from(cell.started))
                .put(KILLED, u64::from(cell.killed))
                .put(SLOW, u64::from(cell.slow))
                .put(ENDED, u64::from(cell.ended))
                .put(TRIES, u64::from(tries))
                .put(TIME_TO_SETTLE, cell.settled_ms)
                .put(SHARE_MEASURE, f64::from(cell.started) / f64::from(tries))
                .put(COUNT_MEASURE, format!("{}/{tries}", cell.started))
                .put(BELOW, below)
        })
        .collect();
    let caption = format!(
        "Cold launches of each app alone, with its processes and the page cache that they fill within the limit. \
         Started: settled within {}, all processes alive; killed: the kernel ended a process for lack of memory; slow: \
         not settled in time. After table 5.1 of the dissertation.",
        format::seconds(limits.timeout_s)
    );
    let grid = grid(TITLE, "limit of memory", &rows, [APP, LIMIT], [SHARE_MEASURE, COUNT_MEASURE, BELOW]);
    Some(Figure::new(TITLE, caption).chart("Starts", grid).table(Table::of(
        TITLE,
        &rows,
        columns![APP, LIMIT, STARTED, KILLED, SLOW, ENDED, TRIES, TIME_TO_SETTLE],
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(limit_bytes: u64, started: u32, killed: u32, slow: u32) -> LimitCell {
        LimitCell { app: "evince".to_owned(), limit_bytes, started, killed, slow, ended: 0, settled_ms: None }
    }

    #[test]
    fn enough_is_the_least_limit_above_which_no_try_fails() {
        let limit = |cells: &[LimitCell]| enough(&cells.iter().collect::<Vec<_>>()).map(|cell| cell.limit_bytes);
        assert_eq!(limit(&[cell(64, 10, 0, 0), cell(16, 0, 10, 0), cell(32, 10, 0, 0)]), Some(32));
        // A success between failures may be chance.
        assert_eq!(limit(&[cell(16, 10, 0, 0), cell(32, 9, 0, 1), cell(64, 10, 0, 0)]), Some(64));
        assert_eq!(limit(&[cell(16, 10, 0, 0), cell(32, 9, 1, 0)]), None);
        assert_eq!(limit(&[cell(16, 0, 0, 0)]), None, "nothing was tried");
    }

    #[test]
    fn the_reason_is_that_of_most_failures() {
        assert_eq!(reason(&cell(16, 1, 3, 6)), "slow");
        assert_eq!(reason(&cell(16, 1, 6, 3)), "killed");
        assert_eq!(reason(&cell(16, 10, 0, 0)), "");
    }
}
