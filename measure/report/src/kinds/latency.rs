//! Latency.

use brisk_results::LatencyReport;

use crate::section::Section;

pub(crate) fn section(_report: &LatencyReport) -> Section {
    Section { title: "Latency", question: String::new(), verdict: Vec::new(), figures: Vec::new() }
}
