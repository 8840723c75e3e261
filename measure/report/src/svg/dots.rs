//! Dots on horizontal lines: many quantities of one unit, each with its interval and a published figure.

use maud::{Markup, html};

use super::frame::{Axis, readable};
use super::scale::{Law, Scale};
use super::{LINE, Marker, Tone, WIDTH, drawing, fit, px, text_width};

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// Name on the left.
    pub(crate) name: String,
    /// Value.
    pub(crate) value: f64,
    /// Its interval, where there is one.
    pub(crate) range: Option<(f64, f64)>,
    /// The value as it stands on the right.
    pub(crate) label: String,
    /// Smaller words below the value.
    pub(crate) below: String,
    /// Colour.
    pub(crate) tone: Tone,
    /// Shape.
    pub(crate) marker: Marker,
    /// What a paper published.
    pub(crate) published: Vec<f64>,
    /// Further places of the same quantity, drawn as small strokes: percentiles.
    pub(crate) strokes: Vec<f64>,
    /// The runs behind the value, each as a small dot below it.
    pub(crate) runs: Vec<Run>,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Run {
    /// Its value.
    pub(crate) value: f64,
    /// Whether it is far from the others: drawn larger and hollow, never left out.
    pub(crate) outlier: bool,
}

/// A chart of dots.
#[derive(Debug, Clone)]
pub(crate) struct DotChart {
    /// What it shows.
    pub(crate) title: String,
    /// The chart in words, for screen readers.
    pub(crate) description: String,
    /// The common axis.
    pub(crate) x: Axis,
    /// Values that matter, with a word: "as alone" at 1.
    pub(crate) levels: Vec<(f64, String)>,
    /// Further values that the axis has to hold: so that charts side by side share one.
    pub(crate) holds: Vec<f64>,
    /// Lines from top to bottom.
    pub(crate) rows: Vec<Row>,
}

const ROW: f64 = 36.0;

impl DotChart {
    /// The drawing; as high as its rows need.
    pub(crate) fn draw(&self, id: &str) -> Markup {
        let names = self.rows.iter().map(|r| text_width(&r.name)).fold(20.0, f64::max).min(WIDTH * 0.36);
        let labels = self
            .rows
            .iter()
            .map(|r| text_width(&r.label).max(text_width(&r.below) * 0.9))
            .fold(20.0, f64::max)
            .min(WIDTH * 0.3);
        let (left, right) = (names + 12.0, WIDTH - labels - 14.0);
        let top = if self.levels.is_empty() { 6.0 } else { 26.0 };
        let bottom = top + ROW * self.rows.len().max(1) as f64;
        let values = self.rows.iter().flat_map(|r| {
            [Some(r.value), r.range.map(|x| x.0), r.range.map(|x| x.1)]
                .into_iter()
                .flatten()
                .chain(r.published.iter().chain(&r.strokes).copied())
                .chain(r.runs.iter().map(|run| run.value))
        });
        let scale =
            Scale::around(self.x.law, values.chain(self.levels.iter().map(|l| l.0)).chain(self.holds.iter().copied()))
                .over(left + 6.0, right - 6.0);
        let content = html! {
            @for (x, text) in readable(&scale, 6, self.x.show) {
                path.rule d=(format!("M{} {}V{}", px(x), px(top), px(bottom))) {}
                text.tick.mid x=(px(x)) y=(px(bottom + LINE + 1.0)) { (text) }
            }
            @for (value, word) in &self.levels {
                path.level d=(format!("M{} {}V{}", px(scale.at(*value)), px(top - 6.0), px(bottom))) {}
                text.note x=(px(scale.at(*value) + 3.0)) y=(px(top - 10.0)) { (word) }
            }
            @for (i, row) in self.rows.iter().enumerate() {
                (draw_row(row, &scale, top + ROW * (i as f64 + 0.5), left, right))
            }
            text.axis.mid x=(px(f64::midpoint(left, right))) y=(px(bottom + 2.0 * LINE + 6.0)) { (self.x.words()) }
        };
        drawing(id, bottom + 2.0 * LINE + 14.0, &self.title, &self.description, &content)
    }
}

fn draw_row(row: &Row, scale: &Scale, y: f64, left: f64, right: f64) -> Markup {
    let class = row.tone.class();
    html! {
        text.tick.strong.end x=(px(left - 6.0)) y=(px(y + 4.0)) { (fit(&row.name, left - 8.0)) }
        @if scale.law() == Law::Linear {
            path class=(format!("line thin {class}")) d=(format!("M{} {}H{}", px(scale.at(scale.low())), px(y), px(scale.at(row.value)))) {}
        }
        @if let Some((low, high)) = row.range {
            @let (a, b) = (scale.at(low), scale.at(high));
            path class=(format!("whisker {class}")) d=(format!("M{} {}v6m0 -3H{}m0 -3v6", px(a), px(y - 3.0), px(b))) {}
        }
        @for stroke in row.strokes.iter().filter(|s| scale.shows(**s)) {
            path class=(format!("whisker {class}")) d=(format!("M{} {}v10", px(scale.at(*stroke)), px(y - 5.0))) {}
        }
        @for published in row.published.iter().filter(|p| scale.shows(**p)) {
            path.point.published.plain d=(Marker::Diamond.path(scale.at(*published), y, 4.6)) {}
        }
        @if scale.shows(row.value) {
            path class=(format!("point {class}")) d=(row.marker.path(scale.at(row.value), y, 4.2)) {
                title { (row.name) ": " (row.label) }
            }
        }
        @for run in row.runs.iter().filter(|run| scale.shows(run.value)) {
            (run_mark(scale.at(run.value), y + 9.0, run.outlier, &class))
        }
        text class=(format!("name {class}")) x=(px(right + 6.0)) y=(px(if row.below.is_empty() { y + 4.0 } else { y - 2.0 })) { (row.label) }
        @if !row.below.is_empty() { text.note x=(px(right + 6.0)) y=(px(y + 12.0)) { (row.below) } }
    }
}

/// The mark of one run.
pub(crate) fn run_mark(x: f64, y: f64, outlier: bool, class: &str) -> Markup {
    let (kind, r) = if outlier { ("run outlier", 3.2) } else { ("run", 2.0) };
    html! { path class=(format!("{kind} {class}")) d=(Marker::Circle.path(x, y, r)) {} }
}
