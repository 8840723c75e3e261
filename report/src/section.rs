//! What a document has to say, before it becomes text or a page: sentences, charts and tables.

use crate::results::{Cause, Header};
use maud::Markup;

use crate::causes;
use crate::format;
use crate::measures::Dimension;
use crate::papers::{self, Published};
use crate::rows::{Row, only, places};
use crate::svg::areas::AreaChart;
use crate::svg::bars::{BarChart, Fill};
use crate::svg::dots::DotChart;
use crate::svg::grid::GridChart;
use crate::svg::lines::LineChart;
use crate::svg::map::MapChart;
use crate::svg::stacks::{StackChart, Texture};
use crate::svg::strips::StripChart;
use crate::svg::{Canvas, Marker, Tone};
use crate::table::Table;

/// One document, ready to be shown.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// What was done, in a few words.
    pub title: String,
    /// What it asked, in a sentence.
    pub question: String,
    /// What came out, in one sentence.
    pub lead: String,
    /// What supports it: three sentences at most.
    pub points: Vec<String>,
    /// Reasons to doubt it: they stand with the warnings of the document.
    pub cautions: Vec<String>,
    /// What else came out: below the figures.
    pub notes: Vec<String>,
    /// The picture that shows the lead; without one it is the first chart of the figures.
    pub picture: Option<Figure>,
    /// Charts and tables; those without rows are left out.
    pub figures: Vec<Figure>,
    /// The device for headings, where it is not the block device of the head.
    pub device: Option<String>,
    /// Facts that documents of the same machine do not share.
    pub facts: Facts,
    /// Facts instead of those of the head, for what did not run on this machine.
    pub machine: Option<Facts>,
}

/// As many sentences support a lead: more are read by few, and stand below the figures.
pub(crate) const POINTS: usize = 3;

/// Pairs of a word and a value.
pub type Facts = Vec<(&'static str, String)>;

/// Charts that belong together, and all their numbers.
#[derive(Debug, Clone, Default)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// What marks mean, where names at the marks do not say it.
    pub keys: Vec<Key>,
    /// Charts, side by side where there is room.
    pub panels: Vec<Panel>,
    /// All numbers.
    pub tables: Vec<Table>,
    /// Whether the tables are part of the story, and not only its evidence.
    pub tables_open: bool,
}

/// An entry of a legend.
#[derive(Debug, Clone)]
pub struct Key {
    /// Colour.
    pub tone: Tone,
    /// How it is drawn.
    pub glyph: Glyph,
    /// What it means.
    pub words: String,
}

/// What stands in a legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyph {
    /// A point.
    Point(Marker),
    /// A point that is not joined to others.
    Single,
    /// A point before a change.
    Before,
    /// A stroke across a line.
    Stroke,
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
pub struct Panel {
    /// Heading.
    pub title: String,
    /// Chart.
    pub chart: Chart,
}

/// A chart of one of several kinds.
#[derive(Debug, Clone)]
pub enum Chart {
    /// Lines over two axes.
    Lines(LineChart),
    /// Grouped bars.
    Bars(BarChart),
    /// Dots on horizontal lines.
    Dots(DotChart),
    /// Horizontal bars of parts.
    Stacks(StackChart),
    /// Cells of time and space.
    Map(MapChart),
    /// Strips of cells.
    Strips(StripChart),
    /// Stacked areas.
    Areas(AreaChart),
    /// A table of shares.
    Grid(GridChart),
}

impl Chart {
    /// Whether a drawing says more than a table.
    pub(crate) fn has_shape(&self) -> bool {
        match self {
            Self::Lines(chart) => chart.has_shape(),
            Self::Bars(chart) => !chart.groups.is_empty(),
            Self::Dots(chart) => !chart.rows.is_empty(),
            Self::Stacks(chart) => !chart.groups.is_empty(),
            Self::Map(chart) => !chart.layers.is_empty(),
            Self::Strips(chart) => chart.has_shape(),
            Self::Areas(chart) => chart.has_shape(),
            Self::Grid(chart) => !chart.rows.is_empty(),
        }
    }

    /// The drawing.
    pub(crate) fn draw(&self, on: Canvas<'_>) -> Markup {
        match self {
            Self::Lines(chart) => chart.draw(on),
            Self::Bars(chart) => chart.draw(on),
            Self::Dots(chart) => chart.draw(on),
            Self::Stacks(chart) => chart.draw(on),
            Self::Map(chart) => chart.draw(on),
            Self::Strips(chart) => chart.draw(on),
            Self::Areas(chart) => chart.draw(on),
            Self::Grid(chart) => chart.draw(on),
        }
    }
}

impl Section {
    /// A section without figures yet. Of its sentences, most important first, one leads, three support it, and the
    /// others stand below the figures.
    pub fn new(title: impl Into<String>, question: impl Into<String>, sentences: Vec<String>) -> Self {
        let mut sentences = sentences.into_iter();
        let lead = sentences.next().unwrap_or_default();
        let points = sentences.by_ref().take(POINTS).collect();
        Self {
            title: title.into(),
            question: question.into(),
            lead,
            points,
            notes: sentences.collect(),
            ..Self::default()
        }
    }

    /// The same with reasons to doubt it.
    pub fn cautions(mut self, cautions: impl IntoIterator<Item = String>) -> Self {
        self.cautions.extend(cautions);
        self
    }

    /// The same with a picture that shows the lead.
    pub fn picture(self, figure: Figure) -> Self {
        Self { picture: kept(figure), ..self }
    }

    /// The figure that stands next to the lead, and the others: with no picture of its own it is the first with a
    /// chart.
    pub(crate) fn pictured(&self) -> (Option<&Figure>, Vec<&Figure>) {
        if let Some(picture) = &self.picture {
            return (Some(picture), self.figures.iter().collect());
        }
        let first = self.figures.iter().position(|figure| !figure.panels.is_empty());
        let others = self.figures.iter().enumerate().filter(|(i, _)| Some(*i) != first);
        (first.map(|i| &self.figures[i]), others.map(|(_, figure)| figure).collect())
    }

    /// All reasons to doubt the figures that are not among the warnings of the document.
    pub fn doubts(&self, header: &Header) -> Vec<String> {
        let mut doubts = self.cautions.clone();
        let known = header.warnings.iter().any(|warning| warning.code == "few_repeats");
        let weak = self.figures.iter().flat_map(|figure| &figure.tables).filter_map(|table| table.weakest);
        if let Some((count, confidence)) = weak.min_by_key(|(count, _)| *count).filter(|_| !known) {
            doubts.push(format::few_runs(count, confidence));
        }
        doubts
    }

    /// The same with facts of its own.
    pub fn facts(self, facts: Facts) -> Self {
        Self { facts, ..self }
    }

    /// The same on a device of that name.
    pub fn on(self, device: Option<String>) -> Self {
        Self { device, ..self }
    }

    /// The same with figures.
    pub fn figures(mut self, figures: impl IntoIterator<Item = Figure>) -> Self {
        self.figures.extend(figures.into_iter().filter_map(kept));
        self
    }
}

/// A figure without empty tables and charts, where anything is left of it.
fn kept(mut figure: Figure) -> Option<Figure> {
    figure.tables.retain(|table| !table.rows.is_empty());
    figure.panels.retain(|panel| panel.chart.has_shape());
    (!(figure.tables.is_empty() && figure.panels.is_empty())).then_some(figure)
}

impl Figure {
    /// A figure without charts and tables yet.
    pub fn new(title: impl Into<String>, caption: impl Into<String>) -> Self {
        Self { title: title.into(), caption: caption.into(), ..Self::default() }
    }

    /// The same with an entry of the legend.
    pub fn key(mut self, tone: Tone, glyph: Glyph, words: impl Into<String>) -> Self {
        self.keys.push(Key { tone, glyph, words: words.into() });
        self
    }

    /// The same with an entry for each of several, by name.
    pub fn named<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        names
            .into_iter()
            .enumerate()
            .fold(self, |figure, (i, name)| figure.key(Tone::Nth(i), Glyph::Point(Marker::nth(i)), name))
    }

    /// The same with an entry for each cause of a time.
    pub fn causes(self, causes: &[Cause]) -> Self {
        causes
            .iter()
            .map(|cause| causes::look(*cause))
            .fold(self, |figure, look| figure.key(look.tone, Glyph::Part(look.texture), look.phrase))
    }

    /// The same with an entry for published figures, where there are any.
    pub fn published(self, words: Option<String>) -> Self {
        match words {
            Some(words) => self.key(Tone::Plain, Glyph::Published, words),
            None => self,
        }
    }

    /// The same with a chart.
    pub fn chart(mut self, title: impl Into<String>, chart: Chart) -> Self {
        self.panels.push(Panel { title: title.into(), chart });
        self
    }

    /// The same with a chart for each place of the rows along a dimension.
    pub fn charts(self, rows: &[Row], dimension: Dimension, draw: impl Fn(&str, &[Row]) -> Chart) -> Self {
        let of = |place: &String| (format::sentence(place), draw(place, &only(rows, dimension, place)));
        places(rows, dimension).iter().map(of).fold(self, |figure, (title, chart)| figure.chart(title, chart))
    }

    /// The same with a table. A note that the table before has is not repeated.
    pub fn table(mut self, mut table: Table) -> Self {
        if let Some(last) = self.tables.last()
            && last.note == table.note
        {
            table.note = None;
        }
        self.tables.push(table);
        self
    }

    /// Whether a page shows any of its tables.
    pub(crate) fn has_tables_in_page(&self) -> bool {
        self.tables.iter().any(|table| table.in_page)
    }

    /// The same with its tables shown, not folded away.
    pub fn open(self) -> Self {
        Self { tables_open: true, ..self }
    }
}

/// What was published about the device, where it is a preset with published figures.
pub fn published(header: &Header) -> Option<&'static Published> {
    papers::for_preset(header.environment.device.as_ref()?.lab_preset.as_deref()?)
}
