//! Lines over two axes: measured points with whiskers, joined; names at the ends of the lines.

use maud::{Markup, html};

use super::clip::{arrow, beyond, held};
use super::frame::{Axis, Frame};
use super::labels::{Label, Way, settle};
use super::scale::Scale;
use super::{Canvas, LINE, Marker, Tone, drawing, fit, px, spread_labels, text_width};

/// A measured point.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Abscissa.
    pub x: f64,
    /// Ordinate: the median.
    pub y: f64,
    /// Its interval, where there is one.
    pub range: Option<(f64, f64)>,
    /// The point in words, shown when pointed at.
    pub words: String,
    /// Whether it is marked, and the words there.
    pub mark: Option<String>,
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name at its end; empty for none.
    pub name: String,
    /// Colour.
    pub tone: Tone,
    /// Shape of its points.
    pub marker: Marker,
    /// Whether it is dashed: random loads are.
    pub dashed: bool,
    /// Whether its points are joined and full; published figures are neither.
    pub published: bool,
    /// Whether its points are full and not joined.
    pub scattered: bool,
    /// Points in the order of the abscissa.
    pub points: Vec<Point>,
}

/// Something at a value of the abscissa: a fall, a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Where.
    pub x: f64,
    /// What.
    pub words: String,
}

/// A chart of lines.
#[derive(Debug, Clone)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// The chart in words, for screen readers.
    pub description: String,
    /// Abscissa.
    pub x: Axis,
    /// Ordinate.
    pub y: Axis,
    /// Lines.
    pub series: Vec<Series>,
    /// Rules at values of the ordinate, with a word.
    pub levels: Vec<(f64, String)>,
    /// Marks along the abscissa.
    pub events: Vec<Event>,
    /// The end at which lines are named: where they are farther apart.
    pub names: Names,
}

/// An end of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Before the first points.
    First,
    /// Behind the last points.
    Last,
}

/// How much wider than others the letters of names are, which are bold and a little larger on a phone.
const BOLD: f64 = 1.18;

impl LineChart {
    /// Whether there is more than one place along the abscissa: a single one is better read in a table.
    pub(crate) fn has_shape(&self) -> bool {
        let mut places = self.series.iter().filter(|s| !s.published).flat_map(|s| &s.points).map(|p| p.x);
        places.next().is_some_and(|first| places.any(|x| (x - first).abs() > 0.0))
    }

    /// The drawing.
    pub(crate) fn draw(&self, on: Canvas<'_>) -> Markup {
        let frame = self.frame(on.width);
        let is_scattered = self.series.iter().any(|series| series.scattered);
        let content = html! {
            (frame.draw_y(&self.y))
            (frame.draw_x(&self.x))
            @for (value, _) in &self.levels { (frame.draw_level(*value)) }
            @for event in self.events.iter().filter(|event| frame.x.shows(event.x)) {
                path.event d=(format!("M{} {}V{}", px(frame.x.at(event.x)), px(frame.top), px(frame.bottom))) {}
            }
            @for series in &self.series { (draw_series(series, &frame, is_scattered)) }
            @for series in &self.series { (draw_rings(series, &frame)) }
            @for label in self.labels(&frame) { (label.draw()) }
            (self.draw_names(&frame))
        };
        drawing(on, super::HEIGHT, &self.title, &self.description, &content)
    }

    fn frame(&self, width: f64) -> Frame {
        let points = || self.series.iter().flat_map(|s| &s.points);
        let names = self.series.iter().map(|s| text_width(&s.name) * BOLD).fold(0.0, f64::max);
        let ranges: Vec<(f64, f64)> = points().filter_map(|point| point.range).collect();
        let values = points().map(|p| p.y).chain(self.levels.iter().map(|l| l.0));
        Frame::new(
            &self.x,
            &self.y,
            points().map(|p| p.x),
            held(self.y.law, values, &ranges),
            match self.names {
                _ if names == 0.0 => [0.0, 12.0],
                Names::First => [names + 16.0, 12.0],
                Names::Last => [0.0, names + 18.0],
            },
            width,
        )
    }

    /// The words within the plot: at marked points, at events, at levels, at intervals that are cut.
    fn labels(&self, frame: &Frame) -> Vec<Label> {
        let bounds = [frame.left, frame.right];
        let mut labels = Vec::new();
        for series in &self.series {
            let class = format!("name {}", series.tone.class());
            for point in series.points.iter().filter(|p| frame.x.shows(p.x) && frame.y.shows(p.y)) {
                let Some(word) = &point.mark else { continue };
                let (x, y) = (frame.x.at(point.x), frame.y.at(point.y));
                let top = point.range.map_or(y, |range| frame.y.at(range.1)).min(y);
                let baseline = if top - 12.0 < frame.top { y + 22.0 } else { top - 9.0 };
                labels.push(Label::centred(x, baseline, word, class.as_str(), bounds));
            }
        }
        for event in self.events.iter().filter(|event| frame.x.shows(event.x)) {
            let x = frame.x.at(event.x);
            let mut label = Label::from(x + 5.0, frame.top + 11.0, event.words.as_str(), "note strong");
            if label.right() > frame.right {
                label.left = (x - 5.0 - label.width).max(frame.left);
            }
            labels.push(label);
        }
        for (value, word) in &self.levels {
            labels.push(Label::from(frame.left + 3.0, frame.y.at(*value) + 13.0, word.as_str(), "note"));
        }
        for point in self.series.iter().flat_map(|series| &series.points).filter(|p| frame.x.shows(p.x)) {
            let ends = point.range.iter().flat_map(|(low, high)| [*low, *high]);
            for end in ends.filter(|end| beyond(&frame.y, *end)) {
                let up = end > frame.y.high();
                let baseline = if up { frame.top + 11.0 } else { frame.bottom - 4.0 };
                labels.push(Label::centred(frame.x.at(point.x) + 14.0, baseline, (self.y.show)(end), "note", bounds));
            }
        }
        settle(labels, Way::Both, [frame.top + 2.0, frame.bottom - 3.0])
    }

    /// Names at one end of the lines, moved apart where they would touch.
    fn draw_names(&self, frame: &Frame) -> Markup {
        let named: Vec<(&Series, f64, f64)> = self
            .series
            .iter()
            .filter(|s| !s.name.is_empty())
            .filter_map(|s| {
                let mut shown = s.points.iter().filter(|p| frame.x.shows(p.x) && frame.y.shows(p.y));
                let end = if self.names == Names::First { shown.next() } else { shown.next_back() }?;
                Some((s, frame.x.at(end.x), frame.y.at(end.y)))
            })
            .collect();
        let named = once(named);
        let wanted: Vec<f64> = named.iter().map(|(_, _, y)| *y).collect();
        let placed = spread_labels(&wanted, LINE - 1.0, frame.top + 4.0, frame.bottom);
        let first = named.iter().map(|(_, x, _)| *x).fold(frame.right, f64::min);
        let (at, side, from, room) = match self.names {
            Names::First => (first - 16.0, " end", -5.0, first - 16.0 - frame.left),
            Names::Last => (frame.right + 12.0, "", 5.0, frame.width - frame.right - 12.0),
        };
        let to = at - 3.0 * f64::signum(from);
        html! { @for ((series, x, y), label_y) in named.iter().zip(placed) {
            path class=(format!("leader {}", series.tone.class()))
                d=(format!("M{} {}L{} {}", px(x + from), px(*y), px(to), px(label_y))) {}
            text class=(format!("name {}{side}", series.tone.class())) x=(px(at)) y=(px(label_y + 4.0)) {
                (fit(&series.name, room / BOLD))
            }
        } }
    }
}

/// Names without those that stand next to their like: a solid and a dashed line of one scheduler, say.
fn once(named: Vec<(&Series, f64, f64)>) -> Vec<(&Series, f64, f64)> {
    let mut kept: Vec<(&Series, f64, f64)> = Vec::with_capacity(named.len());
    for (series, x, y) in named {
        let same = |(other, _, at): &(&Series, f64, f64)| {
            (other.name.as_str(), other.tone) == (series.name.as_str(), series.tone) && (at - y).abs() < 2.0 * LINE
        };
        if !kept.iter().any(same) {
            kept.push((series, x, y));
        }
    }
    kept
}

fn draw_series(series: &Series, frame: &Frame, is_scattered: bool) -> Markup {
    let shown: Vec<&Point> = series.points.iter().filter(|p| frame.x.shows(p.x) && frame.y.shows(p.y)).collect();
    let places: Vec<String> =
        shown.iter().map(|p| format!("{} {}", px(frame.x.at(p.x)), px(frame.y.at(p.y)))).collect();
    let class = series.tone.class();
    // Many points are a curve already: their markers would only hide it. Among single points so would any.
    let few = if is_scattered { series.scattered } else { shown.len() <= 14 };
    html! {
        @if places.len() > 1 && !series.published && !series.scattered {
            path class=(format!("line {class}{}", if series.dashed { " dashed" } else { "" })) d=(format!("M{}",
                places.join("L"))) {}
        }
        @for point in shown {
            @let (x, y) = (frame.x.at(point.x), frame.y.at(point.y));
            @if let Some((low, high)) = point.range { (whisker(&frame.y, x, [low, high], &class)) }
            @if few || point.mark.is_some() {
                path class=(format!("point {class}{}", if series.published { " \
                    published" } else { "" })) d=(series.marker.path(x, y, 3.6)) {
                    title { (point.words) }
                }
            }
        }
    }
}

/// A ring at the marked points; their words stand among the labels.
fn draw_rings(series: &Series, frame: &Frame) -> Markup {
    let marked = series.points.iter().filter(|p| p.mark.is_some() && frame.x.shows(p.x) && frame.y.shows(p.y));
    html! { @for point in marked.filter(|_| !series.published) {
        path class=(format!("ring {}", series.tone.class())) d=(Marker::Circle.path(frame.x.at(point.x),
            frame.y.at(point.y), 7.5)) {}
    } }
}

/// An upright whisker with caps, also where they fall together: a narrow interval is not a lacking one. Where it is cut
/// it has an arrow instead of a cap.
pub(crate) fn whisker(scale: &Scale, x: f64, ends: [f64; 2], class: &str) -> Markup {
    let [low, high] = ends.map(|end| scale.at(end));
    let cut = ends.map(|end| beyond(scale, end));
    let cap = |y: f64, cut: bool| if cut { String::new() } else { format!("M{} {}h6", px(x - 3.0), px(y)) };
    html! {
        path class=(format!("whisker {class}"))
            d=(format!("M{} {}V{}{}{}", px(x), px(low), px(high), cap(low, cut[0]), cap(high, cut[1]))) {}
        @if cut[0] { (arrow(x, low, [0.0, 1.0], class)) }
        @if cut[1] { (arrow(x, high, [0.0, -1.0], class)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::WIDTH;
    use super::*;
    use crate::svg::scale::Law;
    use proptest::prelude::*;

    fn chart(points: Vec<Point>) -> LineChart {
        LineChart {
            title: String::new(),
            description: String::new(),
            x: Axis::new("streams", Law::Log2, crate::format::tick),
            y: Axis::new("ratio", Law::Window, crate::format::tick),
            series: points
                .into_iter()
                .map(|point| Series {
                    name: "sequential".to_owned(),
                    tone: Tone::Read,
                    marker: Marker::Circle,
                    dashed: false,
                    published: false,
                    scattered: false,
                    points: vec![point],
                })
                .collect(),
            levels: vec![(1.0, "no gain".to_owned())],
            events: vec![Event { x: 4.0, words: "then divided by 3.8".to_owned() }],
            names: Names::Last,
        }
    }

    #[test]
    fn lines_that_end_together_and_have_one_name_are_named_once() {
        let at = |y: f64| Point { x: 1.0, y, range: None, words: String::new(), mark: None };
        let far = Point { x: 32.0, ..at(2.0) };
        let named = |points| chart(points).draw("x".into()).into_string().matches(">sequential<").count();
        assert_eq!(named(vec![at(1.0), at(1.01), far.clone()]), 2);
        assert_eq!(named(vec![at(1.0), at(1.5), far]), 3);
    }

    proptest! {
        #[test]
        fn no_two_labels_of_lines_overlap(
            marks in prop::collection::vec((0i32..6, 0.5f64..2.0, 1.0f64..40.0), 1..8),
        ) {
            let point = |(x, y, wide): &(i32, f64, f64)| Point {
                x: 2f64.powi(*x),
                y: *y,
                range: Some((y / wide, y * wide)),
                words: String::new(),
                mark: Some(format!("{}: {y:.2}x", 1 << x)),
            };
            let chart = chart(marks.iter().map(point).collect());
            let labels = chart.labels(&chart.frame(WIDTH));
            for (i, a) in labels.iter().enumerate() {
                prop_assert!(labels[..i].iter().all(|b| !a.overlaps(b)), "{:?}", labels);
            }
        }
    }
}
