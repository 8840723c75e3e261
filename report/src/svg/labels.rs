//! Words in a drawing: where they stand, so that none overlaps another.
//!
//! A label stands at its mark: at the wanted place, or as near above or below it as no label before it is covered.
//! Widths are estimates, a little larger than the letters of common fonts.

use maud::{Markup, html};

use super::{px, text_width};

/// How far letters reach above their baseline, in units.
const ASCENT: f64 = 10.5;
/// How far letters reach below it.
const DESCENT: f64 = 3.0;
/// From one line to the next.
pub(crate) const STEP: f64 = 14.0;

/// Words at a place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Label {
    /// Left end.
    pub(crate) left: f64,
    /// Height of the line that letters stand on.
    pub(crate) baseline: f64,
    /// Width, as far as it can be known without a font.
    pub(crate) width: f64,
    /// The words.
    pub(crate) text: String,
    /// Class in the stylesheet.
    pub(crate) class: String,
}

impl Label {
    /// Words whose middle stands at `x`, or as near to it as they lie between `low` and `high`.
    pub(crate) fn centred(
        x: f64,
        baseline: f64,
        text: impl Into<String>,
        class: impl Into<String>,
        [low, high]: [f64; 2],
    ) -> Self {
        let (text, class) = (text.into(), class.into());
        let width = text_width(&text) * weight(&class);
        let left = (x - width / 2.0).clamp(low, (high - width).max(low));
        Self { left, baseline, width, text, class }
    }

    /// Words that begin at `x`.
    pub(crate) fn from(x: f64, baseline: f64, text: impl Into<String>, class: impl Into<String>) -> Self {
        let (text, class) = (text.into(), class.into());
        Self { left: x, baseline, width: text_width(&text) * weight(&class), text, class }
    }

    /// Right end.
    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Whether it covers part of another.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right()
            && other.left < self.right()
            && self.baseline - ASCENT < other.baseline + DESCENT
            && other.baseline - ASCENT < self.baseline + DESCENT
    }

    /// The words: anchored in their middle, so that a font of another width is wrong by half of the difference only.
    pub(crate) fn draw(&self) -> Markup {
        html! {
            @if !self.text.is_empty() {
                text class=(format!("mid {}",
                    self.class)) x=(px(self.left + self.width / 2.0)) y=(px(self.baseline)) { (self.text) }
            }
        }
    }
}

/// Size and weight of letters of a class, relative to those that [`text_width`] estimates.
fn weight(class: &str) -> f64 {
    if class.contains("name") { 1.12 } else { 1.03 }
}

/// Where a label may go when its place is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Upward first: above bars.
    Up,
    /// To the nearest free line above or below.
    Both,
}

/// Places labels one after the other, first come first served, with their baselines between `low` and `high` as far as
/// there is room.
pub(crate) fn settle(wanted: Vec<Label>, way: Way, [low, high]: [f64; 2]) -> Vec<Label> {
    let mut placed: Vec<Label> = Vec::with_capacity(wanted.len());
    let most = ((high - low) / STEP).ceil().clamp(1.0, 60.0) as i32;
    let steps: Vec<i32> = match way {
        Way::Up => (0..=most).map(|n| -n).chain(1..=most).collect(),
        Way::Both => std::iter::once(0).chain((1..=most).flat_map(|n| [-n, n])).collect(),
    };
    for label in wanted {
        let at = |n: &i32| Label { baseline: label.baseline + STEP * f64::from(*n), ..label.clone() };
        let inside = |label: &Label| (low..=high).contains(&label.baseline);
        let free = |label: &Label| placed.iter().all(|other| !label.overlaps(other));
        let found = steps.iter().map(at).find(|label| inside(label) && free(label));
        placed.push(found.unwrap_or(label));
    }
    placed
}

/// `text` in lines of at most `width` units, broken between words and after hyphens; of a text that needs more than
/// `most` lines the last is cut.
pub(crate) fn lines(text: &str, width: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for piece in text.split_inclusive([' ', '-', '/']) {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() || text_width(&format!("{line}{}", piece.trim_end())) <= width {
            line.push_str(piece);
        } else {
            lines.push(piece.to_owned());
        }
    }
    if lines.len() > most.max(1) {
        let rest: String = lines.split_off(most.max(1) - 1).concat();
        lines.push(rest);
    }
    lines.iter().map(|line| super::fit(line.trim(), width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_label_with_room_stays_at_its_mark() {
        let label = Label::centred(100.0, 50.0, "1.02x", "name", [0.0, 400.0]);
        assert!((label.left + label.width / 2.0 - 100.0).abs() < 1e-9);
        assert_eq!(settle(vec![label.clone()], Way::Both, [0.0, 100.0]), [label]);
        assert_eq!(Label::centred(3.0, 50.0, "1.02x", "name", [0.0, 400.0]).left, 0.0);
    }

    #[test]
    fn names_break_between_words_and_not_within() {
        assert_eq!(lines("writers with brisk", 90.0, 2), ["writers with", "brisk"]);
        assert_eq!(lines("gnome-mines", 60.0, 2), ["gnome-", "mines"]);
        assert_eq!(lines("evince", 90.0, 2), ["evince"]);
        let cut = lines(&"word ".repeat(30), 90.0, 2);
        assert!(cut.len() == 2 && cut[1].ends_with('…'), "{cut:?}");
    }

    proptest! {
        #[test]
        fn settled_labels_do_not_overlap(marks in prop::collection::vec((0.0f64..400.0, 0.0f64..280.0, 1usize..12),
            0..16)) {
            for way in [Way::Up, Way::Both] {
                let wanted = marks.iter().map(|(x, y, n)| Label::centred(*x, *y, "m".repeat(*n), "name", [0.0, 420.0]));
                let placed = settle(wanted.collect(), way, [0.0, 280.0]);
                for (i, a) in placed.iter().enumerate() {
                    prop_assert!(a.left >= 0.0 && a.right() <= 420.0, "{:?}", a);
                    for b in &placed[..i] {
                        prop_assert!(!a.overlaps(b), "{:?} {:?}", a, b);
                    }
                }
            }
        }
    }
}
