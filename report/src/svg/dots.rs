//! Dots on horizontal lines: many quantities of one unit, each with its interval and a published figure.

use maud::{Markup, html};

use super::clip::{arrow, beyond, held};
use super::frame::{Axis, readable};
use super::labels::{Label, Way, lines, settle};
use super::scale::{Law, Scale};
use super::{Canvas, LINE, Marker, Tone, drawing, px, text_width};

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name on the left.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Its interval, where there is one.
    pub range: Option<(f64, f64)>,
    /// The value as it stands above the mark.
    pub label: String,
    /// Smaller words below the mark.
    pub below: String,
    /// Colour.
    pub tone: Tone,
    /// Shape.
    pub marker: Marker,
    /// What a paper published.
    pub published: Vec<f64>,
    /// From where the value changed: a hollow mark, joined to the value.
    pub from: Option<f64>,
    /// Further places of the same quantity, drawn as small strokes: percentiles.
    pub strokes: Vec<f64>,
    /// The runs behind the value, each as a small dot below it.
    pub runs: Vec<Run>,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Its value.
    pub value: f64,
    /// Whether it is far from the others: drawn larger and hollow, never left out.
    pub outlier: bool,
}

/// A chart of dots.
#[derive(Debug, Clone)]
pub struct DotChart {
    /// What it shows.
    pub title: String,
    /// The chart in words, for screen readers.
    pub description: String,
    /// The common axis.
    pub x: Axis,
    /// Values that matter, with a word: "as alone" at 1.
    pub levels: Vec<(f64, String)>,
    /// Further values that the axis has to hold: so that charts side by side share one.
    pub holds: Vec<f64>,
    /// Lines from top to bottom.
    pub rows: Vec<Row>,
}

/// Height of a line with words below its mark.
const TALL_ROW: f64 = 47.0;
/// Height of one without.
const ROW: f64 = 38.0;
/// How far below the marks the words stand.
const BELOW: f64 = 18.0;
/// How much further below where there are runs between them.
const RUNS: f64 = 8.0;

/// Where everything stands.
struct Layout {
    scale: Scale,
    width: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    pitch: f64,
    /// Words at the levels.
    levels: Vec<Label>,
    /// Words at the marks of each line: the value, what stands below it, the ends of a cut interval.
    rows: Vec<Vec<Label>>,
}

impl DotChart {
    /// The drawing; as high as its rows need.
    pub(crate) fn draw(&self, on: Canvas<'_>) -> Markup {
        let layout = self.layout(on.width);
        let Layout { scale, left, right, top, bottom, .. } = &layout;
        let content = html! {
            @for (x, text) in readable(scale, 6, self.x.show) {
                path.rule d=(format!("M{} {}V{}", px(x), px(*top), px(*bottom))) {}
                text.tick.mid x=(px(x)) y=(px(bottom + LINE + 1.0)) { (text) }
            }
            @for (value, _) in &self.levels {
                path.level d=(format!("M{} {}V{}", px(scale.at(*value)), px(top - 6.0), px(*bottom))) {}
            }
            @for label in &layout.levels { (label.draw()) }
            @for (i, row) in self.rows.iter().enumerate() {
                (draw_row(row, &layout, layout.middle(i)))
                @for label in &layout.rows[i] { (label.draw()) }
            }
            text.axis.mid x=(px(f64::midpoint(*left, *right))) y=(px(bottom + 2.0 * LINE + 6.0)) { (self.x.words()) }
        };
        drawing(on, bottom + 2.0 * LINE + 14.0, &self.title, &self.description, &content)
    }

    /// All words of the drawing but ticks and names.
    fn layout(&self, width: f64) -> Layout {
        let names = self.rows.iter().map(|r| text_width(&r.name)).fold(20.0, f64::max).min(width * 0.34);
        let (left, right) = (names + 14.0, width - 14.0);
        let scale = self.scale().over(left + 8.0, right - 8.0);
        // Below a mark stand its words, or the end of an interval that is cut.
        let is_cut = |row: &Row| row.range.is_some_and(|(low, high)| beyond(&scale, low) || beyond(&scale, high));
        let tall = self.rows.iter().any(|row| !row.below.is_empty() || is_cut(row));
        let runs = tall && self.rows.iter().any(|row| !row.runs.is_empty());
        let pitch = if tall { TALL_ROW + if runs { RUNS } else { 0.0 } } else { ROW };
        let bounds = [left, width];
        let level = |(value, word): &(f64, String)| Label::centred(scale.at(*value), 0.0, word, "note", bounds);
        let levels = settle(self.levels.iter().map(level).collect(), Way::Up, [-60.0, 0.0]);
        let highest = levels.iter().map(|label| label.baseline).fold(0.0, f64::min);
        let top = if levels.is_empty() { 6.0 } else { 26.0 - highest };
        let levels = levels.into_iter().map(|label| Label { baseline: label.baseline + top - 10.0, ..label }).collect();
        let mut layout = Layout {
            top,
            bottom: top + pitch * self.rows.len().max(1) as f64,
            rows: Vec::new(),
            scale,
            width,
            left,
            right,
            pitch,
            levels,
        };
        layout.rows = self.rows.iter().enumerate().map(|(i, row)| self.words(row, &layout, layout.middle(i))).collect();
        layout
    }

    fn scale(&self) -> Scale {
        let law = self.x.law;
        let values = self.rows.iter().flat_map(|row| {
            let further = row.published.iter().chain(&row.strokes).chain(&row.from).copied();
            std::iter::once(row.value).chain(further).chain(row.runs.iter().map(|run| run.value))
        });
        let values = values.chain(self.levels.iter().map(|level| level.0)).chain(self.holds.iter().copied());
        // Charts side by side share what they hold: which intervals those are was chosen over all of them.
        let ranges: Vec<(f64, f64)> =
            if self.holds.is_empty() { self.rows.iter().filter_map(|row| row.range).collect() } else { Vec::new() };
        Scale::around(law, held(law, values, &ranges))
    }

    /// The words at one line's marks.
    fn words(&self, row: &Row, layout: &Layout, y: f64) -> Vec<Label> {
        let class = row.tone.class();
        let bounds = [layout.left, layout.width];
        let at = layout.scale.at(row.value);
        let value = Label::centred(at, y - 8.0, &row.label, format!("name {class}"), bounds);
        let low = y + BELOW + if row.runs.is_empty() { 0.0 } else { RUNS };
        let below = Label::centred(at, low, &row.below, "note", bounds);
        let mut words = vec![value, below];
        words.retain(|label| !label.text.is_empty());
        // The ends of a cut interval: at its arrow, below the line, pushed aside where words stand there.
        let ends = row.range.iter().flat_map(|(low, high)| [*low, *high]);
        for end in ends.filter(|end| beyond(&layout.scale, *end)) {
            let text = (self.x.show)(end);
            let mut label = Label::centred(layout.scale.at(end), low, text, "note", bounds);
            if let Some(other) = words.iter().find(|other| label.overlaps(other)) {
                let before = other.left - label.width - 6.0;
                label.left = if before >= layout.left { before } else { other.right() + 6.0 };
            }
            words.push(label);
        }
        words
    }
}

impl Layout {
    /// The height of a line's marks.
    fn middle(&self, row: usize) -> f64 {
        self.top + self.pitch * row as f64 + if self.pitch > ROW { 22.0 } else { 21.0 }
    }
}

fn draw_row(row: &Row, layout: &Layout, y: f64) -> Markup {
    let class = row.tone.class();
    let scale = &layout.scale;
    let name = lines(&row.name, layout.left - 8.0, 3);
    let first = y + 4.0 - 6.5 * (name.len() as f64 - 1.0);
    html! {
        @for (i, line) in name.iter().enumerate() {
            text.tick.strong.end x=(px(layout.left - 6.0)) y=(px(first + 13.0 * i as f64)) { (line) }
        }
        @if scale.law() == Law::Linear && row.from.is_none() {
            path class=(format!("line thin {class}")) d=(format!("M{} {}H{}", px(scale.at(scale.low())), px(y),
                px(scale.at(row.value)))) {}
        }
        @if let Some((low, high)) = row.range { (interval(scale, [low, high], y, &class)) }
        @for stroke in row.strokes.iter().filter(|s| scale.shows(**s)) {
            path class=(format!("whisker {class}")) d=(format!("M{} {}v10", px(scale.at(*stroke)), px(y - 5.0))) {}
        }
        @if let Some(from) = row.from.filter(|from| scale.shows(*from)) {
            path class=(format!("line {class}")) d=(format!("M{} {}H{}", px(scale.at(from)), px(y),
                px(scale.at(row.value)))) {}
            (before_mark(scale.at(from), y, &class))
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
    }
}

/// A level whisker with caps; where it is cut an arrow instead of a cap.
fn interval(scale: &Scale, ends: [f64; 2], y: f64, class: &str) -> Markup {
    let [a, b] = ends.map(|end| scale.at(end));
    let cut = ends.map(|end| beyond(scale, end));
    let cap = |x: f64, cut: bool| if cut { String::new() } else { format!("M{} {}v6", px(x), px(y - 3.0)) };
    html! {
        path class=(format!("whisker {class}"))
            d=(format!("M{} {}H{}{}{}", px(a), px(y), px(b), cap(a, cut[0]), cap(b, cut[1]))) {}
        @if cut[0] { (arrow(a, y, [-1.0, 0.0], class)) }
        @if cut[1] { (arrow(b, y, [1.0, 0.0], class)) }
    }
}

/// The hollow mark of a value before a change.
pub(crate) fn before_mark(x: f64, y: f64, class: &str) -> Markup {
    html! { path class=(format!("point published {class}")) d=(Marker::Circle.path(x, y, 4.2)) {} }
}

/// The mark of one run.
pub(crate) fn run_mark(x: f64, y: f64, outlier: bool, class: &str) -> Markup {
    let (kind, r) = if outlier { ("run outlier", 3.2) } else { ("run", 2.0) };
    html! { path class=(format!("{kind} {class}")) d=(Marker::Circle.path(x, y, r)) {} }
}

#[cfg(test)]
mod tests {
    use super::super::WIDTH;
    use super::*;
    use proptest::prelude::*;

    fn row(name: &str, value: f64, range: (f64, f64), below: &str) -> Row {
        Row {
            name: name.to_owned(),
            value,
            range: Some(range),
            label: format!("{value:.2}x ({:.2} to {:.2})", range.0, range.1),
            below: below.to_owned(),
            tone: Tone::Read,
            marker: Marker::Circle,
            published: Vec::new(),
            from: None,
            strokes: Vec::new(),
            runs: Vec::new(),
        }
    }

    fn chart(rows: Vec<Row>, law: Law) -> DotChart {
        DotChart {
            title: "t".to_owned(),
            description: "d".to_owned(),
            x: Axis::new("x", law, crate::format::tick),
            levels: [1.0, 1.05, 10.0].map(|at| (at, "no change".to_owned())).into(),
            holds: Vec::new(),
            rows,
        }
    }

    #[test]
    fn a_label_stands_at_its_mark() {
        let chart = chart(vec![row("evince", 0.7, (0.65, 0.75), "improved")], Law::Window);
        let layout = chart.layout(WIDTH);
        let label = &layout.rows[0][0];
        let at = layout.scale.at(0.7);
        assert!(label.left <= at && at <= label.right(), "{label:?} at {at}");
    }

    #[test]
    fn a_cut_whisker_has_an_arrow_and_its_value() {
        let rows = [("a", 0.7, 0.75), ("b", 0.8, 0.85), ("c", 0.9, 42.6)];
        let mut chart = chart(rows.map(|(name, at, high)| row(name, at, (at - 0.05, high), "")).into(), Law::Window);
        chart.levels.truncate(1);
        let layout = chart.layout(WIDTH);
        assert!(layout.scale.high() < 2.0, "{:?}", layout.scale);
        let texts: Vec<&str> = layout.rows[2].iter().map(|label| label.text.as_str()).collect();
        assert!(texts.contains(&"42.6"), "{texts:?}");
        assert_eq!(chart.draw("x".into()).into_string().matches("clip read").count(), 1);
    }

    #[test]
    fn words_below_a_mark_leave_room_for_its_runs() {
        let mut with_runs = row("evince", 0.7, (0.65, 0.75), "most 8 %");
        with_runs.runs = vec![Run { value: 0.7, outlier: true }];
        let chart = chart(vec![with_runs.clone(), with_runs], Law::Window);
        let layout = chart.layout(WIDTH);
        let below = layout.rows[0].last().expect("words");
        assert_eq!(below.text, "most 8 %");
        // A run is drawn 9 units below the marks and is 3.2 large.
        assert!(below.baseline - 10.5 > layout.middle(0) + 9.0 + 3.2, "{below:?}");
        assert!(!below.overlaps(&layout.rows[1][0]));
    }

    #[test]
    fn the_end_of_a_cut_interval_has_room_above_the_next_line() {
        let rows =
            [("app-with-a-name-0", 4.765_024_602, 78.553_765), ("app-with-a-name-1", 2.780_668_855, 5.600_650_562)];
        let rows = rows.map(|(name, value, wide)| row(name, value, (value / wide, value * wide), ""));
        let layout = chart(rows.into(), Law::Log10).layout(WIDTH);
        let end = layout.rows[0].last().expect("words");
        assert_eq!(end.text, "374");
        assert!(layout.rows[1].iter().all(|label| !label.overlaps(end)), "{:?}", layout.rows);
    }

    proptest! {
        #[test]
        fn no_two_labels_of_dots_overlap(
            marks in prop::collection::vec((0.01f64..50.0, 1.0f64..100.0, any::<bool>()), 1..13), log in any::<bool>(),
        ) {
            let rows = marks.iter().enumerate().map(|(i, (value, wide, below))| {
                let below = if *below { "no significant difference" } else { "" };
                row(&format!("app-with-a-name-{i}"), *value, (value / wide, value * wide), below)
            });
            let layout = chart(rows.collect(), if log { Law::Log10 } else { Law::Window }).layout(WIDTH);
            let all: Vec<&Label> = layout.levels.iter().chain(layout.rows.iter().flatten()).collect();
            for (i, a) in all.iter().enumerate() {
                prop_assert!(a.left >= layout.left - 0.1 && a.right() <= WIDTH + 0.1, "{:?}", a);
                for b in &all[..i] {
                    prop_assert!(!a.overlaps(b), "{:?} {:?}", a, b);
                }
            }
        }
    }
}
