//! App suite.

use brisk_results::SuiteReport;

use crate::section::Section;

pub(crate) fn section(_report: &SuiteReport) -> Section {
    Section { title: "App suite", question: String::new(), verdict: Vec::new(), figures: Vec::new() }
}
