//! Upright bars in groups: what is compared stands side by side from a common zero.

use maud::{Markup, html};

use super::clip::{beyond, held};
use super::frame::{Axis, Frame};
use super::labels::{Label, STEP, Way, lines, settle};
use super::lines::whisker;
use super::scale::Law;
use super::{Canvas, HEIGHT, LINE, Tone, drawing, px};

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Value.
    pub value: f64,
    /// Its interval, where there is one.
    pub range: Option<(f64, f64)>,
    /// The value as it stands above the bar.
    pub label: String,
    /// The bar in words, shown when pointed at.
    pub words: String,
    /// Colour.
    pub tone: Tone,
    /// How it is filled.
    pub fill: Fill,
}

/// How full a bar is: tells bars of a group apart without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Outlined: the reference.
    Hollow,
    /// Pale: between.
    Half,
    /// Solid: what the group is about.
    Full,
}

impl Fill {
    /// The class.
    pub fn class(self) -> &'static str {
        match self {
            Self::Hollow => "hollow",
            Self::Half => "half",
            Self::Full => "full",
        }
    }
}

/// Bars that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Name below, in at most two lines.
    pub name: [String; 2],
    /// Bars from left to right.
    pub bars: Vec<Bar>,
}

/// A chart of grouped bars.
#[derive(Debug, Clone)]
pub struct BarChart {
    /// What it shows.
    pub title: String,
    /// The chart in words, for screen readers.
    pub description: String,
    /// Ordinate; always linear from zero, because bars are lengths.
    pub y: Axis,
    /// Groups from left to right.
    pub groups: Vec<Group>,
}

/// Where everything stands.
struct Layout {
    frame: Frame,
    group_width: f64,
    /// Values above bars, and the ends of cut intervals.
    labels: Vec<Label>,
}

impl BarChart {
    /// The drawing.
    pub(crate) fn draw(&self, on: Canvas<'_>) -> Markup {
        let Layout { frame, group_width, labels } = self.layout(on.width);
        let content = html! {
            (frame.draw_y(&self.y))
            @for (i, group) in self.groups.iter().enumerate() {
                (draw_group(group, &frame, frame.left + group_width * i as f64, group_width))
            }
            path.base d=(format!("M{} {}H{}", px(frame.left), px(frame.y.at(0.0)), px(frame.right))) {}
            @for label in labels { (label.draw()) }
        };
        drawing(on, HEIGHT, &self.title, &self.description, &content)
    }

    fn layout(&self, width: f64) -> Layout {
        let bars = || self.groups.iter().flat_map(|g| &g.bars);
        let x = Axis::new("", Law::Linear, |_| String::new());
        let ranges: Vec<(f64, f64)> = bars().filter_map(|bar| bar.range).collect();
        let values = held(Law::Linear, bars().map(|bar| bar.value), &ranges);
        let frame = Frame::new(&x, &self.y, [], values, [0.0, 8.0], width);
        let group_width = (frame.right - frame.left) / self.groups.len().max(1) as f64;
        let bounds = [frame.left, frame.right + 8.0];
        // The ends of cut intervals find room after the numbers of the bars.
        let (mut labels, mut ends) = (Vec::new(), Vec::new());
        for (i, group) in self.groups.iter().enumerate() {
            for (bar, centre) in group.bars.iter().zip(centres(group, frame.left + group_width * i as f64, group_width))
            {
                let y = frame.y.at(bar.value);
                let end = bar.range.map_or(y, |range| frame.y.at(range.1)).min(y);
                // Above a short whisker; at the end of a long one the number would be read as the whisker's.
                let top = if y - end < STEP { end } else { y };
                labels.push(Label::centred(centre, top - 4.0, bar.label.as_str(), "value", bounds));
                if bar.range.is_some_and(|(_, high)| beyond(&frame.y, high)) {
                    let high = bar.range.map_or(0.0, |range| range.1);
                    ends.push(Label::centred(centre + 12.0, frame.top + 8.0, (self.y.show)(high), "note", bounds));
                }
            }
        }
        labels.append(&mut ends);
        labels.retain(|label| !label.text.is_empty());
        let labels = settle(labels, Way::Up, [frame.top - 6.0, frame.bottom]);
        Layout { frame, group_width, labels }
    }
}

/// Width of the bars of a group.
fn bar_width(group: &Group, width: f64) -> f64 {
    (width * 0.8 / group.bars.len().max(1) as f64).min(44.0)
}

/// The middles of the bars of a group.
fn centres(group: &Group, left: f64, width: f64) -> impl Iterator<Item = f64> {
    let bar = bar_width(group, width);
    let first = left + width / 2.0 - bar * group.bars.len() as f64 / 2.0;
    (0..group.bars.len()).map(move |i| first + bar * (i as f64 + 0.5))
}

fn draw_group(group: &Group, frame: &Frame, left: f64, width: f64) -> Markup {
    let middle = left + width / 2.0;
    let bar_width = bar_width(group, width);
    let zero = frame.y.at(0.0);
    let names = group.name.iter().flat_map(|name| lines(name, width, 2)).take(2);
    html! {
        @for (bar, centre) in group.bars.iter().zip(centres(group, left, width)) {
            @let y = frame.y.at(bar.value);
            path class=(format!("bar {} {}", bar.tone.class(), bar.fill.class()))
                d=(format!("M{} {}V{}h{}V{}z", px(centre - bar_width / 2.0 + 1.5), px(zero), px(y),
                    px(bar_width - 3.0), px(zero))) {
                title { (bar.words) }
            }
            @if let Some((low, high)) = bar.range { (whisker(&frame.y, centre, [low, high], "ink")) }
        }
        @for (i, line) in names.enumerate() {
            text.tick.mid x=(px(middle)) y=(px(frame.bottom + LINE * (i + 1) as f64 + 2.0)) { (line) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::WIDTH;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_number_of_a_bar_stands_at_the_bar_however_long_its_whisker_is() {
        let bar = |high: f64| Bar {
            value: 300.0,
            range: Some((250.0, high)),
            label: "300".to_owned(),
            words: String::new(),
            tone: Tone::Read,
            fill: Fill::Full,
        };
        let groups = vec![Group { name: Default::default(), bars: vec![bar(320.0), bar(1_900.0)] }];
        let y = Axis::new("us", Law::Linear, crate::format::tick);
        let layout = BarChart { title: String::new(), description: String::new(), y, groups }.layout(WIDTH);
        let top = layout.frame.y.at(300.0);
        assert_eq!(layout.labels.iter().map(|label| label.text.as_str()).collect::<Vec<_>>(), ["300", "300", "1900"]);
        for label in &layout.labels[..2] {
            assert!((0.0..2.0 * STEP).contains(&(top - label.baseline)), "{label:?} at {top}");
        }
    }

    proptest! {
        #[test]
        fn no_two_labels_of_bars_overlap(groups in prop::collection::vec(prop::collection::vec(0.0f64..5e4, 1..4),
            1..5)) {
            let bar = |value: &f64| Bar {
                value: *value,
                range: Some((value * 0.9, value * 1.1)),
                label: crate::format::count(*value),
                words: String::new(),
                tone: Tone::Read,
                fill: Fill::Full,
            };
            let groups = groups.iter().map(|bars| Group {
                name: ["sequential".to_owned(), "read".to_owned()],
                bars: bars.iter().map(bar).collect(),
            });
            let y = Axis::new("time, us", Law::Linear, crate::format::tick);
            let chart = BarChart { title: String::new(), description: String::new(), y, groups: groups.collect() };
            let labels = chart.layout(WIDTH).labels;
            for (i, a) in labels.iter().enumerate() {
                prop_assert!(labels[..i].iter().all(|b| !a.overlaps(b)), "{:?}", labels);
            }
        }
    }
}
