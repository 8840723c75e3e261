//! Upright bars in groups: what is compared stands side by side from a common zero.

use maud::{Markup, html};

use super::frame::{Axis, Frame};
use super::lines::whisker;
use super::scale::Law;
use super::{HEIGHT, LINE, Tone, drawing, fit, px};

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    /// Value.
    pub(crate) value: f64,
    /// Its interval, where there is one.
    pub(crate) range: Option<(f64, f64)>,
    /// The value as it stands above the bar.
    pub(crate) label: String,
    /// The bar in words, shown when pointed at.
    pub(crate) words: String,
    /// Colour.
    pub(crate) tone: Tone,
    /// How it is filled.
    pub(crate) fill: Fill,
}

/// How full a bar is: tells bars of a group apart without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Outlined: the reference.
    Hollow,
    /// Pale: between.
    Half,
    /// Solid: what the group is about.
    Full,
}

impl Fill {
    /// The class.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Hollow => "hollow",
            Self::Half => "half",
            Self::Full => "full",
        }
    }
}

/// Bars that belong together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    /// Name below, in at most two lines.
    pub(crate) name: [String; 2],
    /// Bars from left to right.
    pub(crate) bars: Vec<Bar>,
}

/// A chart of grouped bars.
#[derive(Debug, Clone)]
pub(crate) struct BarChart {
    /// What it shows.
    pub(crate) title: String,
    /// The chart in words, for screen readers.
    pub(crate) description: String,
    /// Ordinate; always linear from zero, because bars are lengths.
    pub(crate) y: Axis,
    /// Groups from left to right.
    pub(crate) groups: Vec<Group>,
}

impl BarChart {
    /// The drawing.
    pub(crate) fn draw(&self, id: &str) -> Markup {
        let bars = || self.groups.iter().flat_map(|g| &g.bars);
        let x = Axis::new("", Law::Linear, |_| String::new());
        let frame = Frame::new(
            &x,
            &self.y,
            [],
            bars().flat_map(|b| [Some(b.value), b.range.map(|r| r.0), b.range.map(|r| r.1)]).flatten(),
            [0.0, 8.0],
        );
        let group_width = (frame.right - frame.left) / self.groups.len().max(1) as f64;
        let content = html! {
            (frame.draw_y(&self.y))
            @for (i, group) in self.groups.iter().enumerate() {
                (draw_group(group, &frame, frame.left + group_width * i as f64, group_width))
            }
            path.base d=(format!("M{} {}H{}", px(frame.left), px(frame.y.at(0.0)), px(frame.right))) {}
        };
        drawing(id, HEIGHT, &self.title, &self.description, &content)
    }
}

fn draw_group(group: &Group, frame: &Frame, left: f64, width: f64) -> Markup {
    let middle = left + width / 2.0;
    let bar_width = (width * 0.8 / group.bars.len().max(1) as f64).min(44.0);
    let first = middle - bar_width * group.bars.len() as f64 / 2.0;
    let zero = frame.y.at(0.0);
    html! {
        @for (i, bar) in group.bars.iter().enumerate() {
            @let x = first + bar_width * i as f64;
            @let y = frame.y.at(bar.value);
            @let centre = x + bar_width / 2.0;
            @let top = bar.range.map_or(y, |r| frame.y.at(r.1)).min(y);
            path class=(format!("bar {} {}", bar.tone.class(), bar.fill.class()))
                d=(format!("M{} {}V{}h{}V{}z", px(x + 1.5), px(zero), px(y), px(bar_width - 3.0), px(zero))) {
                title { (bar.words) }
            }
            @if let Some((low, high)) = bar.range { (whisker(centre, frame.y.at(low), frame.y.at(high), "ink")) }
            // The first of three has its room on the left.
            @let (class, at) = if i == 0 && group.bars.len() > 2 { ("value end", x + bar_width) } else { ("value mid", centre) };
            text class=(class) x=(px(at)) y=(px(top - 4.0)) { (bar.label) }
        }
        @for (i, line) in group.name.iter().enumerate() {
            text.tick.mid x=(px(middle)) y=(px(frame.bottom + LINE * (i + 1) as f64 + 2.0)) { (fit(line, width)) }
        }
    }
}
