//! Charts as inline SVG that a stylesheet colours.
//!
//! Every colour is a class, so that one drawing serves light, dark and paper; every series has a marker and a name next
//! to it, so that colour is never alone in telling two apart; every measured value shows its interval as a whisker;
//! every chart has a title and a description for those who do not see it. A label stands at its mark and overlaps no
//! other ([`labels`]); an interval far longer than the others is cut ([`clip`]). A chart is drawn for a width of
//! [`WIDTH`] units, which is about a phone's, and pages set two of them side by side: letters stay readable everywhere.
//! A chart without a neighbour is drawn a second time, [`WIDE`], and the stylesheet shows the one that the screen has
//! room for.
//!
//! A chart library was tried first. Those at hand fix colours as numbers while drawing (no dark mode by stylesheet),
//! take categories instead of values along the abscissa, and have no whiskers.

pub(crate) mod areas;
pub(crate) mod bars;
pub(crate) mod clip;
pub(crate) mod dots;
pub(crate) mod frame;
pub(crate) mod grid;
pub(crate) mod labels;
pub(crate) mod lines;
pub(crate) mod map;
pub(crate) mod scale;
pub(crate) mod stacks;
pub(crate) mod strips;

use maud::{Markup, html};

/// Width of a chart in its own units.
pub(crate) const WIDTH: f64 = 420.0;
/// Width of a chart that has the page to itself.
pub(crate) const WIDE: f64 = 860.0;
/// Height of a chart with two axes.
pub(crate) const HEIGHT: f64 = 290.0;
/// Distance of two lines of text.
pub(crate) const LINE: f64 = 15.0;

/// What a colour stands for; the stylesheet has the colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Whatever has no side; also published figures.
    Plain,
    /// One of several schedulers or devices, in order.
    Nth(usize),
    /// What improved.
    Better,
    /// What regressed.
    Worse,
    /// What neither improved nor regressed.
    Unclear,
}

impl Tone {
    /// The class.
    pub fn class(self) -> String {
        match self {
            Self::Read => "read".to_owned(),
            Self::Write => "write".to_owned(),
            Self::Plain => "plain".to_owned(),
            Self::Nth(n) => format!("c{}", n % 6),
            Self::Better => "better".to_owned(),
            Self::Worse => "worse".to_owned(),
            Self::Unclear => "unclear".to_owned(),
        }
    }
}

/// The shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// Reads.
    Circle,
    /// Writes.
    Square,
    /// Third of many.
    Triangle,
    /// Fourth of many.
    Cross,
    /// Fifth of many.
    Star,
    /// Sixth of many.
    Bar,
    /// What a paper published, always hollow.
    Diamond,
}

impl Marker {
    /// The marker of the n-th of many.
    pub fn nth(n: usize) -> Self {
        [Self::Circle, Self::Square, Self::Triangle, Self::Cross, Self::Star, Self::Bar][n % 6]
    }

    /// Its outline around a place.
    pub fn path(self, x: f64, y: f64, r: f64) -> String {
        match self {
            Self::Circle => {
                format!("M{} {}a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 {} 0z", px(x - r), px(y), px(2.0 * r), px(-2.0 * r))
            }
            Self::Square => {
                let s = r * 0.9;
                polygon(&[(x - s, y - s), (x + s, y - s), (x + s, y + s), (x - s, y + s)])
            }
            Self::Triangle => {
                let s = r * 1.2;
                polygon(&[(x, y - s), (x + s, y + s * 0.8), (x - s, y + s * 0.8)])
            }
            Self::Cross => {
                let (s, t) = (r * 1.1, r * 0.4);
                polygon(&[
                    (x - t, y - s),
                    (x + t, y - s),
                    (x + t, y - t),
                    (x + s, y - t),
                    (x + s, y + t),
                    (x + t, y + t),
                    (x + t, y + s),
                    (x - t, y + s),
                    (x - t, y + t),
                    (x - s, y + t),
                    (x - s, y - t),
                    (x - t, y - t),
                ])
            }
            Self::Star => {
                let s = r * 1.2;
                polygon(&[(x, y + s), (x - s, y - s * 0.8), (x + s, y - s * 0.8)])
            }
            Self::Bar => polygon(&[
                (x - r * 1.2, y - r * 0.5),
                (x + r * 1.2, y - r * 0.5),
                (x + r * 1.2, y + r * 0.5),
                (x - r * 1.2, y + r * 0.5),
            ]),
            Self::Diamond => {
                let s = r * 1.35;
                polygon(&[(x, y - s), (x + s, y), (x, y + s), (x - s, y)])
            }
        }
    }
}

fn polygon(corners: &[(f64, f64)]) -> String {
    let points: Vec<String> = corners.iter().map(|(x, y)| format!("{} {}", px(*x), px(*y))).collect();
    format!("M{}z", points.join("L"))
}

/// A coordinate: a tenth of a unit is finer than any screen shows.
pub(crate) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let short = text.strip_suffix(".0").unwrap_or(&text);
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

/// About how wide `text` is at the size of labels, in units.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars()
        .map(|c| match c {
            'i' | 'l' | 'j' | '.' | ',' | ':' | '\'' | '|' | 'I' => 3.9,
            'm' | 'w' | 'M' | 'W' | '%' => 11.5,
            ' ' | 'f' | 'r' | 't' | '-' | '(' | ')' => 5.2,
            c if c.is_ascii() => 7.9,
            _ => 10.5,
        })
        .sum()
}

/// `text` cut to at most `width` units.
pub(crate) fn fit(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        if text_width(&cut) + 18.0 > width {
            break;
        }
        cut.push(c);
    }
    format!("{}…", cut.trim_end())
}

/// Where a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Canvas<'a> {
    /// Unique on the page.
    pub id: &'a str,
    /// Width in units: [`WIDTH`] or [`WIDE`].
    pub width: f64,
}

impl<'a> From<&'a str> for Canvas<'a> {
    fn from(id: &'a str) -> Self {
        Self { id, width: WIDTH }
    }
}

/// A whole drawing with its words for screen readers.
pub(crate) fn drawing(on: Canvas<'_>, height: f64, title: &str, description: &str, content: &Markup) -> Markup {
    let (title_id, description_id) = (format!("{}-t", on.id), format!("{}-d", on.id));
    html! {
        svg class=[(on.width > WIDTH).then_some("wide")] viewBox=(format!("0 0 {} \
            {}", px(on.width), px(height))) role="img"
            aria-labelledby=(format!("{title_id} {description_id}")) {
            title id=(title_id) { (title) }
            desc id=(description_id) { (description) }
            (content)
        }
    }
}

/// Moves the wanted places of labels apart until none is nearer than `gap` to the next, within `low..high` as far as
/// there is room. Keeps their order.
pub(crate) fn spread_labels(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut placed: Vec<f64> = order.iter().map(|i| wanted[*i].clamp(low, high.max(low))).collect();
    // Clusters of touching labels share their mean: repeated passes of pushing neighbours apart by half the lack.
    for _ in 0..200 {
        let mut moved = false;
        for i in 1..placed.len() {
            let lack = gap - (placed[i] - placed[i - 1]);
            if lack > 0.01 {
                placed[i - 1] -= lack / 2.0;
                placed[i] += lack / 2.0;
                moved = true;
            }
        }
        if let Some(first) = placed.first_mut() {
            *first = first.max(low);
        }
        if let Some(last) = placed.last_mut() {
            *last = last.min(high.max(low));
        }
        if !moved {
            break;
        }
    }
    let mut result = vec![0.0; wanted.len()];
    for (place, index) in placed.into_iter().zip(order) {
        result[index] = place;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn labels_that_have_room_stay_where_they_belong() {
        assert_eq!(spread_labels(&[10.0, 50.0, 30.0], 15.0, 0.0, 100.0), [10.0, 50.0, 30.0]);
    }

    #[test]
    fn labels_that_collide_share_the_room() {
        let placed = spread_labels(&[50.0, 50.0, 51.0], 14.0, 0.0, 100.0);
        assert!((placed[1] - placed[0]).abs() > 13.5 && (placed[2] - placed[1]).abs() > 13.5, "{placed:?}");
        assert!(
            (placed.iter().sum::<f64>() / 3.0 - 50.3).abs() < 1.0,
            "they stay around their wanted places: {placed:?}"
        );
    }

    #[test]
    fn long_names_are_cut_and_short_ones_are_not() {
        assert_eq!(fit("kyber", 60.0), "kyber");
        let cut = fit("an-unreasonably-long-scheduler-name", 80.0);
        assert!(cut.ends_with('…') && text_width(&cut) <= 85.0, "{cut}");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!((px(1.0), px(1.25), px(-0.01)), ("1".to_owned(), "1.2".to_owned(), "0".to_owned()));
    }

    proptest! {
        #[test]
        fn labels_keep_their_order_and_bounds(wanted in prop::collection::vec(0.0f64..200.0, 0..9)) {
            let placed = spread_labels(&wanted, 14.0, 0.0, 200.0);
            for (i, a) in wanted.iter().enumerate() {
                prop_assert!((-0.1..=200.1).contains(&placed[i]));
                for (j, b) in wanted.iter().enumerate() {
                    prop_assert!(a >= b || placed[i] <= placed[j], "{:?} {:?}", wanted, placed);
                }
            }
        }
    }
}
