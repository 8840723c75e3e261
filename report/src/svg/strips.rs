//! Strips of cells: what happened at each step of several runs of one sequence, one strip below the other. A cell has
//! the colour and texture of its state along the base, and a bar in the same face above it for a value. All strips
//! share one logarithmic axis, so that a tenth of a second and a minute are both seen.

use maud::{Markup, html};

use super::frame::{Axis, legible};
use super::scale::{Law, Scale};
use super::stacks::Texture;
use super::{Canvas, LINE, Tone, drawing, fit, px, text_width};

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub struct StripCell {
    /// Height of its bar; no bar where it is no number.
    pub value: f64,
    /// Colour.
    pub tone: Tone,
    /// Face.
    pub texture: Texture,
    /// The cell in words, shown when pointed at.
    pub words: String,
    /// A few letters below the cell, where all cells have room for theirs.
    pub letters: String,
}

/// One strip.
#[derive(Debug, Clone, PartialEq)]
pub struct Strip {
    /// Name above it.
    pub name: String,
    /// Its sum, at the right.
    pub label: String,
    /// Cells in order.
    pub cells: Vec<StripCell>,
}

/// Strips that belong together.
#[derive(Debug, Clone)]
pub struct StripChart {
    /// What it shows.
    pub title: String,
    /// The chart in words, for screen readers.
    pub description: String,
    /// Axis of the bars, the same for all strips.
    pub y: Axis,
    /// What cells are, such as `switch`.
    pub x: String,
    /// Strips from top to bottom.
    pub strips: Vec<Strip>,
}

/// Height of a strip's bars.
const BARS: f64 = 58.0;
/// Height of the band of states.
const BAND: f64 = 9.0;
/// Between band and bars.
const GAP: f64 = 2.0;
/// From one strip to the next, without bars and band.
const BETWEEN: f64 = 30.0;

impl StripChart {
    /// Whether there is more than one cell.
    pub(crate) fn has_shape(&self) -> bool {
        self.strips.iter().any(|strip| strip.cells.len() > 1)
    }

    /// The drawing; as high as its strips need.
    pub(crate) fn draw(&self, on: Canvas<'_>) -> Markup {
        let values = || self.strips.iter().flat_map(|strip| &strip.cells).map(|cell| cell.value);
        // The base is below the least value, which else had no bar.
        let least = values().filter(|value| value.is_finite() && *value > 0.0).reduce(f64::min);
        let scale = Scale::around(self.y.law, values().chain(least.map(|least| least / 2.0)));
        let ticks: Vec<(f64, String)> = scale.ticks(4).into_iter().map(|tick| (tick, (self.y.show)(tick))).collect();
        let widest = ticks.iter().map(|(_, text)| text_width(text)).fold(14.0, f64::max);
        let left = (widest + 10.0).min(90.0);
        let longest = self.strips.iter().map(|strip| strip.cells.len()).max().unwrap_or(0).max(1);
        let pitch = (on.width - left - 2.0) / longest as f64;
        let lettered = self
            .strips
            .iter()
            .flat_map(|strip| &strip.cells)
            .all(|cell| !cell.letters.is_empty() && text_width(&cell.letters) * 0.84 <= pitch);
        let first = 19.0;
        let height = BARS + GAP + BAND + if lettered { LINE } else { 2.0 } + BETWEEN;
        let bottom = first + height * self.strips.len() as f64 - BETWEEN + LINE;
        let content = html! {
            text.axis x="0" y="13" { (self.y.words()) }
            @for (i, strip) in self.strips.iter().enumerate() {
                (draw_strip(strip, &scale, &ticks, [left, first + height * i as f64 + LINE, pitch, on.width], lettered))
            }
            @let numbers = Scale::exactly(Law::Linear, 0.5, longest as f64 + 0.5).over(left, on.width - 2.0);
            @let every = numbers_along(longest);
            @for (x, text) in legible(&numbers, every) {
                text.tick.mid x=(px(x)) y=(px(bottom + LINE)) { (text) }
            }
            text.axis.mid x=(px(f64::midpoint(left, on.width))) y=(px(bottom + 2.0 * LINE + 3.0)) { (self.x) }
        };
        drawing(on, bottom + 2.0 * LINE + 10.0, &self.title, &self.description, &content)
    }
}

/// Which cells get a number: the first, and round ones.
fn numbers_along(cells: usize) -> Vec<(f64, String)> {
    let step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].into_iter().find(|step| cells / step <= 8).unwrap_or(5_000);
    let numbers = std::iter::once(1).chain((1..=cells).filter(|n| n.is_multiple_of(step) && *n > 1));
    numbers.map(|n| (n as f64, n.to_string())).collect()
}

fn draw_strip(
    strip: &Strip,
    scale: &Scale,
    ticks: &[(f64, String)],
    [left, top, pitch, width]: [f64; 4],
    lettered: bool,
) -> Markup {
    let foot = top + BARS;
    let scale = scale.clone().over(foot, top + 4.0);
    let label_width = text_width(&strip.label) * 1.15;
    let name = fit(&strip.name, (width - left - label_width - 12.0).max(40.0));
    html! {
        text.tick.strong.group x=(px(left)) y=(px(top - 3.0)) { (name) }
        text.value.end x=(px(width - 2.0)) y=(px(top - 3.0)) { (strip.label) }
        @for (value, text) in ticks {
            @let y = scale.at(*value);
            path.rule d=(format!("M{} {}H{}", px(left), px(y), px(width))) {}
            text.tick.end x=(px(left - 5.0)) y=(px(y + 4.0)) { (text) }
        }
        path.base d=(format!("M{} {}H{}", px(left), px(foot), px(width))) {}
        @for (n, cell) in strip.cells.iter().enumerate() {
            @let x = left + pitch * n as f64;
            // A gap between cells, where there is room for one.
            @let wide = if pitch > 6.0 { pitch - 1.6 } else { pitch };
            @if scale.shows(cell.value) {
                @let y = scale.at(cell.value);
                @if foot - y > 0.3 { (cell.texture.face(cell.tone, [x, y, wide, foot - y], &cell.words)) }
            }
            (cell.texture.face(cell.tone, [x, foot + GAP, wide, BAND], &cell.words))
            @if lettered {
                text.note.mid x=(px(x + wide / 2.0)) y=(px(foot + GAP + BAND + 11.0)) { (cell.letters) }
            }
        }
    }
}

/// The shortest beginnings of `names` that tell them apart.
pub(crate) fn beginnings(names: &[String]) -> Vec<String> {
    let begin = |name: &String, length: usize| name.chars().take(length).collect::<String>();
    let shortest = |name: &String| {
        let alone = |length: &usize| {
            let own = begin(name, *length);
            names.iter().filter(|other| *other != name).all(|other| begin(other, *length) != own)
        };
        let most = name.chars().count();
        begin(name, (1..=most).find(alone).unwrap_or(most))
    };
    names.iter().map(shortest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chart(values: &[f64], letters: &str) -> StripChart {
        let cell = |value: &f64| StripCell {
            value: *value,
            tone: Tone::Read,
            texture: Texture::Full,
            words: String::new(),
            letters: letters.to_owned(),
        };
        StripChart {
            title: "waits".to_owned(),
            description: "waits".to_owned(),
            y: Axis::new("wait", Law::Log10, crate::format::ms_tick),
            x: "switch".to_owned(),
            strips: vec![Strip {
                name: "default".to_owned(),
                label: "3 s".to_owned(),
                cells: values.iter().map(cell).collect(),
            }],
        }
    }

    #[test]
    fn names_are_told_apart_by_their_beginnings() {
        let names = ["gnumeric", "galculator", "gimp", "xterm", "gim"].map(str::to_owned);
        assert_eq!(beginnings(&names), ["gn", "ga", "gimp", "x", "gim"]);
        assert_eq!(beginnings(&[]), Vec::<String>::new());
    }

    #[test]
    fn letters_stand_below_all_cells_or_below_none() {
        let drawn =
            |cells: usize| chart(&vec![100.0; cells], "mo").draw("x".into()).into_string().matches(">mo<").count();
        assert_eq!((drawn(12), drawn(90)), (12, 0));
    }

    #[test]
    fn a_value_that_is_none_has_its_state_and_no_bar() {
        let parts = |values: &[f64]| chart(values, "").draw("x".into()).into_string().matches("class=\"part").count();
        assert_eq!((parts(&[200.0, 3_000.0]), parts(&[200.0, f64::NAN])), (4, 3));
    }

    #[test]
    fn the_first_and_round_cells_have_numbers() {
        let texts = |cells| numbers_along(cells).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ");
        assert_eq!(texts(6), "1 2 3 4 5 6");
        assert_eq!(texts(24), "1 5 10 15 20");
        assert_eq!(texts(60), "1 10 20 30 40 50 60");
    }

    proptest! {
        #[test]
        fn bars_stand_on_their_base_whatever_their_values(values in prop::collection::vec(any::<f64>(), 0..40)) {
            let text = chart(&values, "").draw("x".into()).into_string();
            prop_assert!(!text.contains("NaN") && !text.contains("inf"));
            prop_assert!(!text.contains("v-"), "a bar has a negative height: {}", text);
        }
    }
}
