//! What if.

use brisk_results::WhatIfReport;

use crate::section::Section;

pub(crate) fn section(_report: &WhatIfReport) -> Section {
    Section { title: "What if", question: String::new(), verdict: Vec::new(), figures: Vec::new() }
}
