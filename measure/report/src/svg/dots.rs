//! Dots on lying lines: many quantities of one unit, each with its interval, and a published figure beside it.

use maud::{Markup, html};

use super::frame::{Axis, legible};
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
    pub(crate) published: Option<f64>,
    /// Further places of the same quantity, drawn as small strokes: percentiles.
    pub(crate) strokes: Vec<f64>,
}

/// A chart of dots.
#[derive(Debug, Clone)]
pub(crate) struct DotChart {
    /// What it shows.
    pub(crate) title: String,
    /// What there is to see, for those who do not.
    pub(crate) description: String,
    /// The common axis.
    pub(crate) x: Axis,
    /// A value that matters, with a word: "as alone" at 1.
    pub(crate) level: Option<(f64, String)>,
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
        let top = if self.level.is_some() { 26.0 } else { 6.0 };
        let bottom = top + ROW * self.rows.len().max(1) as f64;
        let values = self.rows.iter().flat_map(|r| {
            [Some(r.value), r.range.map(|x| x.0), r.range.map(|x| x.1), r.published]
                .into_iter()
                .flatten()
                .chain(r.strokes.iter().copied())
        });
        let scale =
            Scale::around(self.x.law, values.chain(self.level.iter().map(|l| l.0))).over(left + 6.0, right - 6.0);
        let content = html! {
            @for tick in scale.ticks(6) {
                @let x = scale.at(tick);
                path.rule d=(format!("M{} {}V{}", px(x), px(top), px(bottom))) {}
            }
            @for (x, text) in legible(&scale, scale.ticks(6).into_iter().map(|t| (t, (self.x.show)(t))).collect()) {
                text.tick.mid x=(px(x)) y=(px(bottom + LINE + 1.0)) { (text) }
            }
            @if let Some((value, word)) = &self.level {
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
        @if let Some(published) = row.published.filter(|p| scale.shows(*p)) {
            path.point.published.plain d=(Marker::Diamond.path(scale.at(published), y, 4.6)) {}
        }
        @if scale.shows(row.value) {
            path class=(format!("point {class}")) d=(row.marker.path(scale.at(row.value), y, 4.2)) {
                title { (row.name) ": " (row.label) }
            }
        }
        text class=(format!("name {class}")) x=(px(right + 6.0)) y=(px(if row.below.is_empty() { y + 4.0 } else { y - 2.0 })) { (row.label) }
        @if !row.below.is_empty() { text.note x=(px(right + 6.0)) y=(px(y + 12.0)) { (row.below) } }
    }
}
