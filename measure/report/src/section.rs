//! What a document has to say, before it becomes text or a page: sentences, charts and tables.

use brisk_core::stats::Summary;
use brisk_results::{Document, Header};
use maud::Markup;

use crate::kinds;
use crate::papers::{self, Published};
use crate::svg::bars::{BarChart, Fill};
use crate::svg::dots::DotChart;
use crate::svg::lines::{LineChart, Point};
use crate::svg::stacks::{StackChart, Texture};
use crate::svg::{Marker, Tone};
use crate::table::Table;

/// One document, ready to be shown.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// What was done, in a few words.
    pub(crate) title: String,
    /// What it asked, in a sentence.
    pub(crate) question: String,
    /// What came out, most important first.
    pub(crate) verdict: Vec<String>,
    /// Charts and tables.
    pub(crate) figures: Vec<Figure>,
}

/// Charts that belong together, and all their numbers.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    /// What it shows.
    pub(crate) title: String,
    /// How to read it.
    pub(crate) caption: String,
    /// What marks mean, where names at the marks do not say it.
    pub(crate) keys: Vec<Key>,
    /// Charts, side by side where there is room.
    pub(crate) panels: Vec<Panel>,
    /// All numbers.
    pub(crate) tables: Vec<Table>,
    /// Whether the tables are part of the story, and not only its evidence.
    pub(crate) tables_open: bool,
}

/// An entry of a legend.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// Colour.
    pub(crate) tone: Tone,
    /// How it is drawn.
    pub(crate) glyph: Glyph,
    /// What it means.
    pub(crate) words: String,
}

/// What stands in a legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Glyph {
    /// A point.
    Point(Marker),
    /// A published figure.
    Published,
    /// A solid line.
    Solid,
    /// A dashed line.
    Dashed,
    /// A bar.
    Bar(Fill),
    /// A part of a bar.
    Part(Texture),
    /// One run.
    Run,
    /// A run far from the others.
    Outlier,
}

/// A chart with a heading.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    /// Heading.
    pub(crate) title: String,
    /// Chart.
    pub(crate) chart: Chart,
}

/// A chart of one of four kinds.
#[derive(Debug, Clone)]
pub(crate) enum Chart {
    /// Lines over two axes.
    Lines(LineChart),
    /// Grouped bars.
    Bars(BarChart),
    /// Dots on lying lines.
    Dots(DotChart),
    /// Lying bars of parts.
    Stacks(StackChart),
}

impl Chart {
    /// Whether a drawing says more than a table.
    pub(crate) fn has_shape(&self) -> bool {
        match self {
            Self::Lines(chart) => chart.has_shape(),
            Self::Bars(chart) => !chart.groups.is_empty(),
            Self::Dots(chart) => !chart.rows.is_empty(),
            Self::Stacks(chart) => chart.groups.iter().any(|group| !group.rows.is_empty()),
        }
    }

    /// The drawing.
    pub(crate) fn draw(&self, id: &str) -> Markup {
        match self {
            Self::Lines(chart) => chart.draw(id),
            Self::Bars(chart) => chart.draw(id),
            Self::Dots(chart) => chart.draw(id),
            Self::Stacks(chart) => chart.draw(id),
        }
    }
}

impl Section {
    /// The section of a document.
    pub(crate) fn of(document: &Document) -> Self {
        match document {
            Document::Bench(report) => kinds::bench::section(report),
            Document::Slowdown(report) => kinds::slowdown::section(report),
            Document::Concurrency(report) => kinds::concurrency::section(report),
            Document::Schedulers(report) => kinds::schedulers::section(report),
            Document::Footprint(report) => kinds::footprint::section(report),
            Document::Frontier(report) => kinds::frontier::section(report),
            Document::Launch(report) => kinds::launch::section(report),
            Document::Latency(report) => kinds::latency::section(report),
            Document::Suite(report) => kinds::suite::section(report),
            Document::WhatIf(report) => kinds::whatif::section(report),
            Document::Prove(report) => kinds::prove::section(report),
            Document::Profile(report) => kinds::profile::section(report),
            Document::Kernel(report) => kinds::kernel::section(report),
        }
    }
}

impl Key {
    /// The entry for published figures.
    pub(crate) fn published(words: impl Into<String>) -> Self {
        Self { tone: Tone::Plain, glyph: Glyph::Published, words: words.into() }
    }
}

/// What was published about the device, where it is a preset with published figures.
pub(crate) fn published(header: &Header) -> Option<&'static Published> {
    papers::for_preset(header.environment.device.as_ref()?.lab_preset.as_deref()?)
}

/// A summary's interval, where more than one run gives one.
pub(crate) fn range(summary: &Summary) -> Option<(f64, f64)> {
    (summary.count > 1 && summary.low.is_finite() && summary.high.is_finite()).then_some((summary.low, summary.high))
}

/// A measured point with its interval.
pub(crate) fn point(x: f64, summary: &Summary, words: String) -> Point {
    Point { x, y: summary.median, range: range(summary), words, mark: None }
}
