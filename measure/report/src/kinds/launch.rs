//! Launch.

use brisk_results::LaunchReport;

use crate::section::Section;

pub(crate) fn section(_report: &LaunchReport) -> Section {
    Section { title: "Launch", question: String::new(), verdict: Vec::new(), figures: Vec::new() }
}
