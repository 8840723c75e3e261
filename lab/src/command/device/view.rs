//! How lab devices look on a terminal. Values in, text out.

use std::fmt::Write as _;

use crate::device::{KindCount, Listed, Status};
use crate::flash::Preset;
use brisk_core::units::{format_bytes, three_digits};
use comfy_table::{CellAlignment, Table, TableStyle};

pub(super) fn table(heading: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_header(heading);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

pub(super) fn lines(table: &Table) -> String {
    table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// What `up` prints in addition to the path.
pub(super) fn made(status: &Status) -> String {
    let overhead = status.overhead.unwrap_or_default();
    let mut text = format!(
        "{}, {}, queue depth {}; the lab's own overhead of {} us is taken off{}\n",
        status.preset,
        format_bytes(status.size_bytes),
        status.depth_requests,
        three_digits(overhead.overhead_us_p50),
        if status.timed { "" } else { "; time is off" },
    );
    for reason in status.fidelity.reasons.iter().filter(|_| status.timed) {
        let _ = writeln!(text, "not reliable: {reason}");
    }
    text
}

/// `brisk lab list`.
pub(super) fn list(devices: &[Listed]) -> String {
    if devices.is_empty() {
        return "no lab devices; make one with: brisk lab up --preset galaxy-s5-emmc --size 1G\n".to_owned();
    }
    let mut table = table(&["id", "device", "preset", "size", "memory", "time", "fidelity"]);
    for listed in devices {
        let device = listed.device.as_ref().map_or_else(|| "-".to_owned(), |node| node.display().to_string());
        let (memory, time, fidelity) = match (&listed.status, &listed.trouble) {
            (_, Some(trouble)) => ("-".to_owned(), "-", trouble.as_str()),
            (Some(status), None) => (
                format_bytes(status.data_bytes),
                match (status.powered, status.timed) {
                    (false, _) => "power cut",
                    (true, true) => "on",
                    (true, false) => "off",
                },
                if status.fidelity.reliable { "reliable" } else { "not reliable" },
            ),
            (None, None) => ("-".to_owned(), "-", "-"),
        };
        let preset = listed.status.as_ref().map_or(&listed.preset, |status| &status.preset);
        table.add_row([
            &listed.id.to_string(),
            &device,
            preset,
            &format_bytes(listed.size_bytes),
            &memory,
            time,
            fidelity,
        ]);
    }
    lines(&table)
}

/// `brisk lab presets`.
pub(super) fn presets(all: &[Preset]) -> String {
    let mut table = table(&["preset", "queue depth", "what it is"]);
    for preset in all {
        table.add_row([&preset.name, &preset.queue_depth_requests().to_string(), &preset.title]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    lines(&table)
}

/// `brisk lab ctl` without a change.
pub(super) fn status(status: &Status) -> String {
    let mut text = format!(
        "{} (number {}): {}, {}, {} in memory, queue depth {}, {}\n\n",
        status.device,
        status.id,
        status.preset,
        format_bytes(status.size_bytes),
        format_bytes(status.data_bytes),
        status.depth_requests,
        match (status.powered, status.timed) {
            (false, _) => "power cut",
            (true, true) => "time on",
            (true, false) => "time off",
        },
    );
    text += &fidelity(status);
    text += "\n";
    text += &requests(status);
    text += "\n";
    text += &model(status);
    text += "\n";
    let mut parameters = table(&["parameter", "value"]);
    for (name, value) in &status.parameters {
        parameters.add_row([name, value]);
    }
    text + &lines(&parameters)
}

fn fidelity(status: &Status) -> String {
    let mut text = format!("fidelity: {}\n", if status.fidelity.reliable { "reliable" } else { "NOT RELIABLE" });
    for reason in &status.fidelity.reasons {
        let _ = writeln!(text, "  because {reason}");
    }
    for note in &status.fidelity.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    if let Some(overhead) = status.overhead {
        let _ = writeln!(
            text,
            "  overhead {} us (spread {} us; {} us when the model takes no time), taken off each request",
            three_digits(overhead.overhead_us_p50),
            three_digits(overhead.overhead_us_spread),
            three_digits(overhead.read_at_zero_us_p50),
        );
    }
    let late = &status.lateness;
    if late.count > 0 {
        let _ = writeln!(
            text,
            "  lateness of {} replies: p50 {} us, p99 {} us, max {} us",
            late.count,
            three_digits(late.lateness_us_p50),
            three_digits(late.lateness_us_p99),
            three_digits(late.lateness_us_max),
        );
    }
    if let Some(pressure) = status.cpu_pressure {
        let _ = writeln!(
            text,
            "  tasks waited for a processor in {} % of the time",
            three_digits(pressure.percent_since_reset)
        );
    }
    text
}

fn requests(status: &Status) -> String {
    let all = &status.requests;
    let mut table = table(&["requests", "count", "bytes", "by size"]);
    for (name, kind) in [("read", &all.read), ("write", &all.write), ("flush", &all.flush), ("discard", &all.discard)] {
        table.add_row([name, &kind.requests.to_string(), &format_bytes(kind.bytes), &sizes(kind)]);
    }
    format!(
        "{}busy {:.1} ms, in flight at most {}, waited for the device's queue {}, failed {}\n",
        lines(&table),
        all.busy_ns as f64 / 1e6,
        all.in_flight_max,
        all.parked,
        all.failed
    )
}

fn sizes(kind: &KindCount) -> String {
    kind.by_size_bytes
        .iter()
        .map(|(size, count)| format!("{}: {count}", format_bytes(*size)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The model's counters: operations, energy, wear.
fn model(status: &Status) -> String {
    let mut table = table(&["model", "since reset"]);
    let counter = |name: &str| status.model.get(name).and_then(serde_json::Value::as_u64);
    for (name, value) in status.model.as_object().into_iter().flatten() {
        match (name.as_str(), value.as_u64()) {
            (_, Some(0)) | (_, None) => {}
            ("energy_nj", Some(nj)) => {
                table.add_row(["energy", &format!("{} mJ", three_digits(nj as f64 / 1e6))]);
            }
            (name, Some(count)) => {
                table.add_row([name, &count.to_string()]);
            }
        }
    }
    if let (Some(host @ 1..), Some(moved)) = (counter("pages_programmed"), counter("pages_moved")) {
        let amplification = (host + moved) as f64 / host as f64;
        table.add_row(["write amplification", &format!("{amplification:.2}")]);
    }
    lines(&table)
}
