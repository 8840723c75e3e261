//! The two axes of a chart: light rules, few ticks, the unit above the ordinate where it is read first.

use maud::{Markup, html};

use super::scale::{Law, Scale};
use super::{HEIGHT, LINE, px, text_width};

/// One axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// How values go over it.
    pub law: Law,
    /// How a tick reads.
    pub show: fn(f64) -> String,
    /// Ticks with their words instead of computed ones, and the range with them.
    pub fixed: Vec<(f64, String)>,
}

impl Axis {
    /// An axis whose ticks are computed.
    pub fn new(label: impl Into<String>, law: Law, show: fn(f64) -> String) -> Self {
        Self { label: label.into(), law, show, fixed: Vec::new() }
    }

    /// The label, and the law where it is not the expected one.
    pub fn words(&self) -> String {
        if self.law == Law::Log10 { format!("{} · log scale", self.label) } else { self.label.clone() }
    }

    fn scale(&self, values: impl IntoIterator<Item = f64>) -> Scale {
        match (self.fixed.first(), self.fixed.last()) {
            (Some((low, _)), Some((high, _))) => Scale::exactly(self.law, *low, *high),
            _ => Scale::around(self.law, values),
        }
    }

    fn ticks(&self, scale: &Scale, wanted: usize) -> Vec<(f64, String)> {
        if self.fixed.is_empty() {
            scale.ticks(wanted).into_iter().map(|t| (t, (self.show)(t))).collect()
        } else {
            self.fixed.clone()
        }
    }
}

/// Those ticks whose words do not touch, with their places.
pub(crate) fn legible(scale: &Scale, ticks: Vec<(f64, String)>) -> Vec<(f64, String)> {
    let mut free_from = f64::NEG_INFINITY;
    let mut kept = Vec::with_capacity(ticks.len());
    for (value, text) in ticks {
        let (x, half) = (scale.at(value), text_width(&text) / 2.0);
        if x - half >= free_from {
            free_from = x + half + 6.0;
            kept.push((x, text));
        }
    }
    kept
}

/// As many computed ticks as can be read, with their places and words.
pub(crate) fn readable(scale: &Scale, most: usize, show: fn(f64) -> String) -> Vec<(f64, String)> {
    for wanted in (3..=most).rev() {
        let ticks: Vec<(f64, String)> = scale.ticks(wanted).into_iter().map(|t| (t, show(t))).collect();
        let all = ticks.len();
        let kept = legible(scale, ticks);
        if kept.len() == all {
            return kept;
        }
    }
    legible(scale, scale.ticks(2).into_iter().map(|t| (t, show(t))).collect())
}

/// Scales laid out in the drawing, with room for labels.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// Abscissa.
    pub x: Scale,
    /// Ordinate.
    pub y: Scale,
    /// Width of the drawing.
    pub width: f64,
    /// Left end of the plot.
    pub left: f64,
    /// Right end.
    pub right: f64,
    /// Upper end.
    pub top: f64,
    /// Lower end.
    pub bottom: f64,
    y_ticks: Vec<(f64, String)>,
}

impl Frame {
    /// Lays out a plot that leaves room for names before the first and behind the last point.
    pub(crate) fn new(
        x: &Axis,
        y: &Axis,
        xs: impl IntoIterator<Item = f64>,
        ys: impl IntoIterator<Item = f64>,
        [left_room, right_room]: [f64; 2],
        width: f64,
    ) -> Self {
        let y_scale = y.scale(ys);
        let y_ticks = y.ticks(&y_scale, 6);
        let widest = y_ticks.iter().map(|(_, text)| text_width(text)).fold(14.0, f64::max);
        let (left, right) = ((widest + 10.0).min(110.0), width - right_room.clamp(10.0, 190.0));
        let (top, bottom) = (30.0, HEIGHT - 2.0 * LINE - 10.0);
        Self {
            x: x.scale(xs).over(left + 8.0 + left_room.clamp(0.0, 120.0), right - 4.0),
            y: y_scale.over(bottom, top),
            width,
            left,
            right,
            top,
            bottom,
            y_ticks,
        }
    }

    /// Ordinate: rules and ticks, with the unit on top.
    pub(crate) fn draw_y(&self, axis: &Axis) -> Markup {
        html! {
            text.axis x="0" y="13" { (axis.words()) }
            @for (value, text) in &self.y_ticks {
                @let y = self.y.at(*value);
                path.rule d=(format!("M{} {}H{}", px(self.left), px(y), px(self.right))) {}
                text.tick.end x=(px(self.left - 5.0)) y=(px(y + 4.0)) { (text) }
            }
        }
    }

    /// Abscissa: ticks and quantity.
    pub(crate) fn draw_x(&self, axis: &Axis) -> Markup {
        let ticks = legible(&self.x, axis.ticks(&self.x, 7));
        html! {
            path.base d=(format!("M{} {}H{}", px(self.left), px(self.bottom), px(self.right))) {}
            @for (x, text) in ticks {
                path.base d=(format!("M{} {}v4", px(x), px(self.bottom))) {}
                text.tick.mid x=(px(x)) y=(px(self.bottom + LINE + 3.0)) { (text) }
            }
            text.axis.mid x=(px(f64::midpoint(self.left, self.right))) y=(px(HEIGHT - 4.0)) { (axis.label) }
        }
    }

    /// A rule at a value of the ordinate that matters; its word stands among the labels.
    pub(crate) fn draw_level(&self, value: f64) -> Markup {
        let y = self.y.at(value);
        html! { path.level d=(format!("M{} {}H{}", px(self.left), px(y), px(self.right))) {} }
    }
}
