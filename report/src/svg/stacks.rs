//! Horizontal bars whose parts follow each other: what a whole consists of, and how long the whole is.
//!
//! Parts come in the order that the caller gives, which is the same for all bars of a page. Each has a colour and a
//! texture, so that neighbours differ without colour too, and its share in words where there is room for them. The
//! strokes of a texture are computed and not a pattern of the drawing: a pattern is referred to by a name, and one page
//! holds many drawings.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::clip::{arrow, beyond, held};
use super::frame::{Axis, readable};
use super::labels::{Label, Way, lines, settle};
use super::scale::{Law, Scale};
use super::{Canvas, LINE, Tone, drawing, fit, px, text_width};

/// How the face of a part looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texture {
    /// The whole colour.
    Full,
    /// The pale colour.
    Half,
    /// Strokes that rise to the right.
    Rising,
    /// Strokes that fall to the right.
    Falling,
    /// Both.
    Crossed,
    /// The outline alone.
    Hollow,
}

impl Texture {
    /// The class of the face.
    pub fn class(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Half => "half",
            Self::Rising | Self::Falling | Self::Crossed => "hatched",
            Self::Hollow => "hollow",
        }
    }

    /// A rectangle with this face.
    pub fn face(self, tone: Tone, [x, y, width, height]: [f64; 4], words: &str) -> Markup {
        // Half a unit of paper on each side parts neighbours; a sliver needs all of its width.
        let gap = if width > 2.0 { 0.5 } else { 0.0 };
        let (x, width) = (x + gap, width - 2.0 * gap);
        let rising = if matches!(self, Self::Rising | Self::Crossed) {
            hatch([x, y, width, height], true)
        } else {
            String::new()
        };
        let falling = if matches!(self, Self::Falling | Self::Crossed) {
            hatch([x, y, width, height], false)
        } else {
            String::new()
        };
        html! {
            path class=(format!("part {} {}", tone.class(), self.class()))
                d=(format!("M{} {}h{}v{}h{}z", px(x), px(y), px2(width), px(height), px2(-width))) {
                @if !words.is_empty() { title { (words) } }
            }
            @if !(rising.is_empty() && falling.is_empty()) {
                path class=(format!("hatch {}", tone.class())) d=(format!("{rising}{falling}")) {}
            }
        }
    }
}

/// Distance of the strokes of a texture along the bar.
const STROKES: f64 = 4.6;

/// Strokes at 45 degrees, cut at the rectangle's edges, on a grid that all rectangles of a drawing share.
fn hatch([x, y, width, height]: [f64; 4], rising: bool) -> String {
    let mut path = String::new();
    let first = ((x - height) / STROKES).ceil() as i64;
    let last = ((x + width) / STROKES).floor() as i64;
    for k in first..=last {
        // Where the stroke leaves the lower edge (or the upper one), relative to the left edge.
        let start = k as f64 * STROKES - x;
        let (from, to) = ((-start).max(0.0), (width - start).min(height));
        if to - from < 0.3 {
            continue;
        }
        let (y_from, y_to) = if rising { (y + height - from, y + height - to) } else { (y + from, y + to) };
        let _ = write!(path, "M{} {}L{} {}", px(x + start + from), px(y_from), px(x + start + to), px(y_to));
    }
    path
}

/// A length: slivers need a digit more than places.
fn px2(value: f64) -> String {
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

/// A part of a bar.
#[derive(Debug, Clone, PartialEq)]
pub struct StackPart {
    /// Its length.
    pub value: f64,
    /// Colour.
    pub tone: Tone,
    /// Face.
    pub texture: Texture,
    /// One or two words, written into the part where there is room.
    pub word: &'static str,
    /// The part in words, shown when pointed at.
    pub words: String,
}

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct StackRow {
    /// Name on the left.
    pub name: String,
    /// Parts from left to right; without any the whole is an outline.
    pub parts: Vec<StackPart>,
    /// The whole.
    pub total: f64,
    /// Its interval, where there is one.
    pub range: Option<(f64, f64)>,
    /// The whole as it stands behind the bar.
    pub label: String,
}

/// Bars that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct StackGroup {
    /// Name above its bars; empty for none.
    pub name: String,
    /// Bars from top to bottom.
    pub rows: Vec<StackRow>,
}

/// A chart of bars of parts.
#[derive(Debug, Clone)]
pub struct StackChart {
    /// What it shows.
    pub title: String,
    /// The chart in words, for screen readers.
    pub description: String,
    /// The common axis; always linear from zero, because parts are lengths.
    pub x: Axis,
    /// Values that matter, with a word; those too near to zero to be told from it are left out.
    pub limits: Vec<(f64, String)>,
    /// Groups from top to bottom.
    pub groups: Vec<StackGroup>,
}

/// Height of a bar.
const BAR: f64 = 15.0;
/// From one bar to the next.
const PITCH: f64 = 23.0;
/// The same where a name takes two lines.
const TALL_PITCH: f64 = 31.0;

/// Where everything stands.
struct Layout {
    scale: Scale,
    left: f64,
    pitch: f64,
    /// Words at the limits.
    limits: Vec<Label>,
    top: f64,
}

impl StackChart {
    /// The drawing; as high as its bars need.
    pub(crate) fn draw(&self, on: Canvas<'_>) -> Markup {
        let layout = self.layout(on.width);
        let Layout { scale, left, pitch, top, .. } = &layout;
        let mut y = *top;
        let mut placed = Vec::new();
        for group in &self.groups {
            let heading = (!group.name.is_empty()).then_some(y + 13.0);
            y += if heading.is_some() { 19.0 } else { 2.0 };
            let first = y;
            y += pitch * group.rows.len() as f64 + 5.0;
            placed.push((group, heading, first));
        }
        let bottom = y;
        let content = html! {
            @for (x, text) in readable(scale, 5, self.x.show) {
                path.rule d=(format!("M{} {}V{}", px(x), px(*top), px(bottom))) {}
                text.tick.mid x=(px(x)) y=(px(bottom + LINE)) { (text) }
            }
            @for (at, _) in self.limits.iter().filter(|(at, _)| Self::is_far_enough(*at, scale)) {
                path.level d=(format!("M{} {}V{}", px(scale.at(*at)), px(top - 6.0), px(bottom))) {}
            }
            @for label in &layout.limits { (label.draw()) }
            path.base d=(format!("M{} {}V{}", px(*left), px(*top), px(bottom))) {}
            @for (group, heading, first) in &placed {
                @if let Some(at) = heading { text.tick.strong.group x="0" y=(px(*at)) { (fit(&group.name, on.width)) } }
                @for (i, row) in group.rows.iter().enumerate() {
                    (draw_row(row, scale, first + pitch * i as f64, *left))
                }
            }
            text.axis.mid x=(px(f64::midpoint(*left, on.width))) y=(px(bottom + 2.0 * LINE + 5.0)) { (self.x.words()) }
        };
        drawing(on, bottom + 2.0 * LINE + 13.0, &self.title, &self.description, &content)
    }

    fn layout(&self, width: f64) -> Layout {
        let rows = || self.groups.iter().flat_map(|g| &g.rows);
        let widest = rows().map(|r| text_width(&r.name)).fold(20.0, f64::max);
        let names = widest.min(width * 0.34);
        let pitch = if widest > names { TALL_PITCH } else { PITCH };
        let left = names + 12.0;
        let ranges: Vec<(f64, f64)> = rows().filter_map(|row| row.range).collect();
        let held = held(Law::Linear, rows().map(StackRow::length), &ranges);
        // No rounding up to a tick: the room is better spent on the parts.
        let longest = held.into_iter().fold(0.0, f64::max);
        // Each label stands behind its bar, so the longest bar need not leave room for the longest label.
        let room = |row: &StackRow| {
            let end = row.end(longest);
            if end > 0.0 { (width - left - label(row, 0.0, 0.0).width - GAP) * longest / end } else { f64::INFINITY }
        };
        let right = rows().map(room).fold(width - 12.0 - left, f64::min).max(60.0) + left;
        let scale = Scale::exactly(Law::Linear, 0.0, longest).over(left, right);
        let limits = self.limits.iter().filter(|(at, _)| Self::is_far_enough(*at, &scale));
        let limits = limits.map(|(at, word)| Label::centred(scale.at(*at), 13.0, word, "note", [left, width]));
        let limits = settle(limits.collect(), Way::Up, [-30.0, 13.0]);
        let top = if limits.is_empty() { 4.0 } else { 22.0 };
        Layout { scale, left, pitch, limits, top }
    }

    /// Whether a limit lies on the axis, and can be told from its beginning.
    fn is_far_enough(at: f64, scale: &Scale) -> bool {
        let share = (scale.at(at) - scale.at(0.0)) / (scale.at(scale.high()) - scale.at(0.0));
        at <= scale.high() && share > 0.08
    }
}

/// From the end of a bar or its interval to the label.
const GAP: f64 = 6.0;

impl StackRow {
    /// The whole, or its parts where they are longer.
    fn length(&self) -> f64 {
        ends_of(&self.parts).last().map_or(0.0, |end| end.1).max(if self.total.is_finite() { self.total } else { 0.0 })
    }

    /// Where the bar and its interval end on an axis up to `longest`.
    fn end(&self, longest: f64) -> f64 {
        let high = self.range.map_or(0.0, |(_, high)| high).min(longest);
        self.length().max(if high.is_finite() { high } else { 0.0 })
    }
}

/// The whole of a bar in words, behind its end.
fn label(row: &StackRow, x: f64, baseline: f64) -> Label {
    Label::from(x, baseline, row.label.as_str(), "value")
}

/// Where each part begins and ends.
fn ends_of(parts: &[StackPart]) -> Vec<(f64, f64)> {
    let mut end = 0.0;
    parts
        .iter()
        .map(|part| {
            let start = end;
            if part.value.is_finite() && part.value > 0.0 {
                end += part.value;
            }
            (start, end)
        })
        .collect()
}

fn draw_row(row: &StackRow, scale: &Scale, y: f64, left: f64) -> Markup {
    let ends = ends_of(&row.parts);
    let sum = ends.last().map_or(0.0, |end| end.1);
    let middle = y + BAR / 2.0;
    // Words stand before the whisker: neither may hide the other.
    let whisker_begins = row.range.map_or(f64::INFINITY, |(low, _)| scale.at(low) - 2.0);
    let name = lines(&row.name, left - 8.0, 2);
    let first = middle + 4.0 - 6.0 * (name.len() as f64 - 1.0);
    html! {
        @for (i, line) in name.iter().enumerate() {
            text.tick.strong.end x=(px(left - 6.0)) y=(px(first + 12.0 * i as f64)) { (line) }
        }
        @if sum <= 0.0 && scale.at(row.total) - left > 0.5 {
            (Texture::Hollow.face(Tone::Plain, [left, y, scale.at(row.total) - left, BAR], &row.label))
        }
        @for (part, (start, end)) in row.parts.iter().zip(&ends).filter(|(_, (start, end))| end > start) {
            @let (x, width) = (scale.at(*start), scale.at(*end) - scale.at(*start));
            @if width > 0.02 {
                (part.texture.face(part.tone, [x, y, width, BAR], &part.words))
                @let room = width.min(whisker_begins - x);
                @if let Some(word) = word_within(part, sum, room) {
                    text class=(format!("share mid {}",
                        part.texture.class())) x=(px(x + room / 2.0)) y=(px(middle + 3.9)) { (word) }
                }
            }
        }
        @if let Some((low, high)) = row.range {
            @let (a, b) = (scale.at(low), scale.at(high));
            @if beyond(scale, high) {
                path.whisker.ink d=(format!("M{} {}v7m0 -3.5H{}", px(a), px(middle - 3.5), px(b))) {}
                (arrow(b, middle, [1.0, 0.0], "ink"))
            } @else {
                path.whisker.ink d=(format!("M{} {}v7m0 -3.5H{}m0 -3.5v7", px(a), px(middle - 3.5), px(b))) {}
            }
        }
        (label(row, scale.at(row.end(scale.high())) + GAP, middle + 4.0).draw())
    }
}

/// The share of a part, with its word where both fit.
fn word_within(part: &StackPart, sum: f64, width: f64) -> Option<String> {
    let percent = part.value / sum * 100.0;
    if !percent.is_finite() {
        return None;
    }
    let share = format!("{percent:.0} %");
    let long = format!("{} {share}", part.word);
    // Letters in parts are a little smaller than labels.
    [long, share].into_iter().find(|text| text_width(text) * 0.88 + 8.0 <= width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(value: f64) -> StackPart {
        StackPart { value, tone: Tone::Read, texture: Texture::Full, word: "read", words: String::new() }
    }

    #[test]
    fn parts_follow_each_other_and_nonsense_takes_no_room() {
        let ends = ends_of(&[part(2.0), part(f64::NAN), part(-1.0), part(3.0)]);
        assert_eq!(ends, [(0.0, 2.0), (2.0, 2.0), (2.0, 2.0), (2.0, 5.0)]);
    }

    #[test]
    fn a_part_says_what_fits_into_it() {
        assert_eq!(word_within(&part(48.0), 100.0, 120.0).as_deref(), Some("read 48 %"));
        assert_eq!(word_within(&part(48.0), 100.0, 40.0).as_deref(), Some("48 %"));
        assert_eq!(word_within(&part(48.0), 100.0, 8.0), None);
    }

    #[test]
    fn strokes_stay_inside_their_rectangle() {
        for (rising, width) in [(true, 40.0), (false, 40.0), (true, 3.0), (false, 0.4)] {
            let path = hatch([101.3, 20.0, width, 15.0], rising);
            for pair in path.split(['M', 'L']).filter(|pair| !pair.is_empty()) {
                let (x, y) = pair.split_once(' ').expect("two numbers");
                let (x, y): (f64, f64) = (x.parse().expect("a number"), y.parse().expect("a number"));
                assert!((101.2..=101.4 + width).contains(&x) && (19.9..=35.1).contains(&y), "{pair} of {path}");
            }
        }
        assert!(hatch([0.0, 0.0, 40.0, 15.0], true).matches('M').count() >= 9);
    }
}
