//! Lines over two axes: measured points with whiskers, joined; names at the ends of the lines.

use maud::{Markup, html};

use super::frame::{Axis, Frame};
use super::{LINE, Marker, Tone, drawing, fit, px, spread_labels, text_width};

/// A measured point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    /// Abscissa.
    pub(crate) x: f64,
    /// Ordinate: the median.
    pub(crate) y: f64,
    /// Its interval, where there is one.
    pub(crate) range: Option<(f64, f64)>,
    /// The point in words, shown when pointed at.
    pub(crate) words: String,
    /// Whether it is marked, and the words there.
    pub(crate) mark: Option<String>,
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    /// Name at its end; empty for none.
    pub(crate) name: String,
    /// Colour.
    pub(crate) tone: Tone,
    /// Shape of its points.
    pub(crate) marker: Marker,
    /// Whether it is dashed: random loads are.
    pub(crate) dashed: bool,
    /// Whether its points are joined and full; published figures are neither.
    pub(crate) published: bool,
    /// Points in the order of the abscissa.
    pub(crate) points: Vec<Point>,
}

/// Something at a value of the abscissa: a fall, a limit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// Where.
    pub(crate) x: f64,
    /// What.
    pub(crate) words: String,
}

/// A chart of lines.
#[derive(Debug, Clone)]
pub(crate) struct LineChart {
    /// What it shows.
    pub(crate) title: String,
    /// The chart in words, for screen readers.
    pub(crate) description: String,
    /// Abscissa.
    pub(crate) x: Axis,
    /// Ordinate.
    pub(crate) y: Axis,
    /// Lines.
    pub(crate) series: Vec<Series>,
    /// Rules at values of the ordinate, with a word.
    pub(crate) levels: Vec<(f64, String)>,
    /// Marks along the abscissa.
    pub(crate) events: Vec<Event>,
    /// The end at which lines are named: where they are farther apart.
    pub(crate) names: Names,
}

/// An end of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Before the first points.
    First,
    /// Behind the last points.
    Last,
}

impl LineChart {
    /// Whether there is more than one place along the abscissa: a single one is better read in a table.
    pub(crate) fn has_shape(&self) -> bool {
        let mut places = self.series.iter().filter(|s| !s.published).flat_map(|s| &s.points).map(|p| p.x);
        places.next().is_some_and(|first| places.any(|x| (x - first).abs() > 0.0))
    }

    /// The drawing.
    pub(crate) fn draw(&self, id: &str) -> Markup {
        let points = || self.series.iter().flat_map(|s| &s.points);
        let names = self.series.iter().map(|s| text_width(&s.name)).fold(0.0, f64::max);
        let frame = Frame::new(
            &self.x,
            &self.y,
            points().map(|p| p.x),
            points()
                .flat_map(|p| [Some(p.y), p.range.map(|r| r.0), p.range.map(|r| r.1)])
                .flatten()
                .chain(self.levels.iter().map(|l| l.0)),
            match self.names {
                _ if names == 0.0 => [0.0, 12.0],
                Names::First => [names + 16.0, 12.0],
                Names::Last => [0.0, names + 18.0],
            },
        );
        let content = html! {
            (frame.draw_y(&self.y))
            (frame.draw_x(&self.x))
            @for (value, word) in &self.levels { (frame.draw_level(*value, word)) }
            (self.draw_events(&frame))
            @for series in &self.series { (draw_series(series, &frame)) }
            @for series in &self.series { (draw_marks(series, &frame)) }
            (self.draw_names(&frame))
        };
        drawing(id, super::HEIGHT, &self.title, &self.description, &content)
    }

    fn draw_events(&self, frame: &Frame) -> Markup {
        html! { @for (i, event) in self.events.iter().filter(|e| frame.x.shows(e.x)).enumerate() {
            @let x = frame.x.at(event.x);
            @let room = text_width(&event.words);
            @let (class, at) = if x + room + 6.0 > frame.right { ("note strong end", x - 5.0) } else { ("note strong", x + 5.0) };
            path.event d=(format!("M{} {}V{}", px(x), px(frame.top), px(frame.bottom))) {}
            text class=(class) x=(px(at)) y=(px(frame.top + 11.0 + LINE * (i % 4) as f64)) { (event.words) }
        } }
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
        let wanted: Vec<f64> = named.iter().map(|(_, _, y)| *y).collect();
        let placed = spread_labels(&wanted, LINE - 1.0, frame.top + 4.0, frame.bottom);
        let first = named.iter().map(|(_, x, _)| *x).fold(frame.right, f64::min);
        let (at, side, from, room) = match self.names {
            Names::First => (first - 16.0, " end", -5.0, first - 16.0 - frame.left),
            Names::Last => (frame.right + 12.0, "", 5.0, super::WIDTH - frame.right - 12.0),
        };
        let to = at - 3.0 * f64::signum(from);
        html! { @for ((series, x, y), label_y) in named.iter().zip(placed) {
            path class=(format!("leader {}", series.tone.class()))
                d=(format!("M{} {}L{} {}", px(x + from), px(*y), px(to), px(label_y))) {}
            text class=(format!("name {}{side}", series.tone.class())) x=(px(at)) y=(px(label_y + 4.0)) {
                (fit(&series.name, room))
            }
        } }
    }
}

fn draw_series(series: &Series, frame: &Frame) -> Markup {
    let shown: Vec<&Point> = series.points.iter().filter(|p| frame.x.shows(p.x) && frame.y.shows(p.y)).collect();
    let places: Vec<String> =
        shown.iter().map(|p| format!("{} {}", px(frame.x.at(p.x)), px(frame.y.at(p.y)))).collect();
    let class = series.tone.class();
    // Many points are a curve already: their markers would only hide it.
    let few = shown.len() <= 14;
    html! {
        @if places.len() > 1 && !series.published {
            path class=(format!("line {class}{}", if series.dashed { " dashed" } else { "" })) d=(format!("M{}", places.join("L"))) {}
        }
        @for point in shown {
            @let (x, y) = (frame.x.at(point.x), frame.y.at(point.y));
            @if let Some((low, high)) = point.range { (whisker(x, frame.y.at(low), frame.y.at(high), &class)) }
            @if few || point.mark.is_some() {
                path class=(format!("point {class}{}", if series.published { " published" } else { "" })) d=(series.marker.path(x, y, 3.6)) {
                    title { (point.words) }
                }
            }
        }
    }
}

/// A ring and a word at the marked points.
fn draw_marks(series: &Series, frame: &Frame) -> Markup {
    html! { @for point in series.points.iter().filter(|p| frame.x.shows(p.x) && frame.y.shows(p.y)) {
        @if let Some(word) = &point.mark {
            @let (x, y) = (frame.x.at(point.x), frame.y.at(point.y));
            @let top = point.range.map_or(y, |r| frame.y.at(r.1)).min(y);
            @let label_y = if top - 12.0 < frame.top { y + 22.0 } else { top - 9.0 };
            @let half = text_width(word) / 2.0;
            @if !series.published { path class=(format!("ring {}", series.tone.class())) d=(Marker::Circle.path(x, y, 7.5)) {} }
            text class=(format!("name mid {}", series.tone.class())) x=(px(x.clamp(frame.left + half, (frame.right - half).max(frame.left + half)))) y=(px(label_y)) { (word) }
        }
    } }
}

/// An upright whisker with caps, also where they fall together: a narrow interval is not a lacking one.
pub(crate) fn whisker(x: f64, low_y: f64, high_y: f64, class: &str) -> Markup {
    html! {
        path class=(format!("whisker {class}"))
            d=(format!("M{} {}h6m-3 0V{}m-3 0h6", px(x - 3.0), px(low_y), px(high_y))) {}
    }
}
