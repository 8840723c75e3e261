//! The findings for people and for programs.

use std::fmt::Write;

use brisk_command::json::Document;
use brisk_command::terminal::{bad, caution, good};
use brisk_core::text::one_line;
use brisk_core::units::format_bytes;
use serde::Serialize;

use super::facts::Facts;
use super::finding::{Finding, Part, State, worst};

/// The facts of the JSON document.
#[derive(Serialize)]
pub(super) struct Doctor<'a> {
    brisk_version: &'static str,
    state: State,
    machine: MachineSummary<'a>,
    parts: Vec<PartFindings<'a>>,
}

#[derive(Serialize)]
struct MachineSummary<'a> {
    kernel: Option<&'a str>,
    architecture: &'static str,
    cpus: Option<u32>,
    memory_bytes: Option<u64>,
    memory_available_bytes: Option<u64>,
    swap_bytes: Option<u64>,
    devices: Vec<Device<'a>>,
}

#[derive(Serialize)]
struct Device<'a> {
    name: &'a str,
    scheduler: Option<&'a str>,
    schedulers_available: &'a [String],
    queue_depth_requests: Option<u32>,
    read_ahead_kib: u64,
    rotational: bool,
    write_cache: Option<&'a str>,
}

#[derive(Serialize)]
struct PartFindings<'a> {
    part: Part,
    state: State,
    findings: Vec<&'a Finding>,
}

pub(super) fn document<'a>(facts: &'a Facts, findings: &'a [Finding], state: State) -> Document<Doctor<'a>> {
    let memory = facts.memory.as_ref().ok();
    let devices = facts.queues.as_deref().unwrap_or_default().iter().map(|queue| Device {
        name: &queue.name,
        scheduler: queue.schedulers.current.as_deref(),
        schedulers_available: &queue.schedulers.available,
        queue_depth_requests: queue.depth_requests,
        read_ahead_kib: queue.read_ahead_kib,
        rotational: queue.rotational,
        write_cache: queue.write_cache.as_deref(),
    });
    let doctor = Doctor {
        brisk_version: env!("CARGO_PKG_VERSION"),
        state,
        machine: MachineSummary {
            kernel: facts.kernel_release.as_deref().ok(),
            architecture: std::env::consts::ARCH,
            cpus: facts.cpus.as_ref().ok().copied(),
            memory_bytes: memory.map(|memory| memory.total_bytes),
            memory_available_bytes: memory.and_then(|memory| memory.available_bytes),
            swap_bytes: memory.map(|memory| memory.swap_total_bytes),
            devices: devices.collect(),
        },
        parts: by_part(findings)
            .map(|(part, findings)| PartFindings { part, state: worst(findings.iter().copied()), findings })
            .collect(),
    };
    Document::new("doctor", doctor)
}

/// A report for people, in lines of at most `width` columns where that is given.
pub(super) fn terminal(facts: &Facts, findings: &[Finding], state: State, width: Option<usize>) -> String {
    let width = width.unwrap_or(110).clamp(60, 140);
    let mut out = String::new();
    let paint = |state: State, text: &str| match state {
        State::Ok => good(text),
        State::Degraded => caution(text),
        State::Missing => bad(text),
    };
    let kernel = facts.kernel_release.as_deref().unwrap_or("of unknown release");
    let cpus = facts.cpus.as_ref().map_or_else(|_| "unknown".to_owned(), u32::to_string);
    let memory = facts.memory.as_ref().map_or("unknown".to_owned(), |memory| format_bytes(memory.total_bytes));
    let _ = writeln!(
        out,
        "brisk {} on Linux {kernel} ({}), processors: {cpus}, memory: {memory}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH
    );
    for (part, findings) in by_part(findings) {
        let (name, what) = part.title();
        let part_state = worst(findings.iter().copied());
        let _ = writeln!(out, "\n{name:<14}{}  {what}", paint(part_state, &format!("{:<9}", part_state.word())));
        for finding in findings {
            let word = paint(finding.state, &format!("{:<9}", finding.state.word()));
            let _ = writeln!(out, "  {word} {:<16}{}", finding.check, wrap(&finding.seen, 28, width));
            for (label, text) in [("why: ", &finding.reason), ("do:  ", &finding.remedy)] {
                if let Some(text) = text {
                    let _ = writeln!(out, "{:28}{label}{}", "", wrap(text, 33, width));
                }
            }
        }
    }
    let verdict = match state {
        State::Ok => "all is there",
        State::Degraded => "usable; the marked checks limit it",
        State::Missing => "not usable until the missing requirements above are met",
    };
    let _ = writeln!(out, "\n{}", paint(state, verdict));
    out
}

fn by_part(findings: &[Finding]) -> impl Iterator<Item = (Part, Vec<&Finding>)> {
    Part::ALL.into_iter().filter_map(|part| {
        let own: Vec<_> = findings.iter().filter(|finding| finding.part == part).collect();
        (!own.is_empty()).then_some((part, own))
    })
}

/// `text` broken between words at `width`, following lines indented by `indent`.
fn wrap(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut column = indent;
    for word in one_line(text).split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_between_words() {
        assert_eq!(wrap("one two three", 2, 9), "one two\n  three");
        assert_eq!(wrap("unbreakable", 2, 5), "unbreakable");
        assert_eq!(wrap("", 2, 5), "");
    }
}
