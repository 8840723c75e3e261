//! Stacked areas: parts of a whole over time. Layers lie on each other in the order that the caller gives, from the
//! bottom; a layer is named at its right end where it is high enough there.

use maud::{Markup, html};

use super::frame::{Axis, Frame};
use super::labels::{Label, Way, settle};
use super::stacks::Texture;
use super::{Canvas, LINE, Tone, drawing, fit, px, spread_labels, text_width};

/// One layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Name at its right end; empty for none.
    pub name: String,
    /// Colour.
    pub tone: Tone,
    /// Face: full or half.
    pub texture: Texture,
    /// The layer in words, shown when pointed at.
    pub words: String,
    /// Heights, one for each place of [`AreaChart::places`].
    pub heights: Vec<f64>,
}

/// A chart of stacked areas.
#[derive(Debug, Clone)]
pub struct AreaChart {
    /// What it shows.
    pub title: String,
    /// The chart in words, for screen readers.
    pub description: String,
    /// Abscissa.
    pub x: Axis,
    /// Ordinate: linear from zero, because layers are heights.
    pub y: Axis,
    /// Where the layers have their heights, ascending.
    pub places: Vec<f64>,
    /// Layers from the bottom.
    pub layers: Vec<Layer>,
    /// Values that matter, with a word.
    pub levels: Vec<(f64, String)>,
    /// Further values that the ordinate has to hold.
    pub holds: Vec<f64>,
}

/// A layer that is lower than this at its end has no name there.
const NAMED: f64 = 3.0;

impl AreaChart {
    /// Whether there is more than one place.
    pub(crate) fn has_shape(&self) -> bool {
        self.places.len() > 1 && !self.layers.is_empty()
    }

    /// Lower and upper edge of each layer at each place.
    fn edges(&self) -> Vec<Vec<(f64, f64)>> {
        let mut top = vec![0.0; self.places.len()];
        let edge = |layer: &Layer| {
            let heights = layer.heights.iter().copied().chain(std::iter::repeat(0.0));
            let added = heights.map(|height| if height.is_finite() { height.max(0.0) } else { 0.0 });
            let both = top.iter_mut().zip(added).map(|(top, height)| {
                let low = *top;
                *top += height;
                (low, *top)
            });
            both.collect()
        };
        self.layers.iter().map(edge).collect()
    }

    /// The drawing.
    pub(crate) fn draw(&self, on: Canvas<'_>) -> Markup {
        let edges = self.edges();
        let highest = edges.last().into_iter().flatten().map(|(_, high)| *high);
        let names = self.layers.iter().map(|layer| text_width(&layer.name) * 1.18).fold(0.0, f64::max);
        let frame = Frame::new(
            &self.x,
            &self.y,
            self.places.iter().copied(),
            highest.chain(self.levels.iter().map(|level| level.0)).chain(self.holds.iter().copied()).chain([0.0]),
            [0.0, if names == 0.0 { 12.0 } else { names + 18.0 }],
            on.width,
        );
        let words = self.levels.iter().map(|(value, word)| {
            Label::from(frame.left + 12.0, frame.y.at(*value) - 4.0, word.as_str(), "note strong")
        });
        let words = settle(words.collect(), Way::Both, [frame.top + 2.0, frame.bottom - 3.0]);
        let content = html! {
            (frame.draw_y(&self.y))
            @for (layer, edge) in self.layers.iter().zip(&edges) {
                path class=(format!("area {} {}", layer.tone.class(), layer.texture.class())) d=(self.outline(edge,
                    &frame)) {
                    @if !layer.words.is_empty() { title { (layer.words) } }
                }
            }
            (frame.draw_x(&self.x))
            @for (value, _) in &self.levels { (frame.draw_level(*value)) }
            @for label in &words { (label.draw()) }
            (self.draw_names(&edges, &frame))
        };
        drawing(on, super::HEIGHT, &self.title, &self.description, &content)
    }

    /// Along the upper edge and back along the lower one.
    fn outline(&self, edge: &[(f64, f64)], frame: &Frame) -> String {
        let at = |x: &f64, y: f64| format!("{} {}", px(frame.x.at(*x)), px(frame.y.at(y)));
        let upper = self.places.iter().zip(edge).map(|(x, (_, high))| at(x, *high));
        let lower = self.places.iter().zip(edge).rev().map(|(x, (low, _))| at(x, *low));
        let corners: Vec<String> = upper.chain(lower).collect();
        if corners.is_empty() { String::new() } else { format!("M{}z", corners.join("L")) }
    }

    fn draw_names(&self, edges: &[Vec<(f64, f64)>], frame: &Frame) -> Markup {
        let ends = self.layers.iter().zip(edges).filter_map(|(layer, edge)| {
            let (low, high) = edge.last()?;
            let (low, high) = (frame.y.at(*low), frame.y.at(*high));
            (!layer.name.is_empty() && low - high >= NAMED).then_some((layer, f64::midpoint(low, high)))
        });
        let named: Vec<(&Layer, f64)> = ends.collect();
        let wanted: Vec<f64> = named.iter().map(|(_, y)| *y).collect();
        let placed = spread_labels(&wanted, LINE - 1.0, frame.top + 4.0, frame.bottom);
        let (from, at) = (frame.x.at(self.places.last().copied().unwrap_or(0.0)), frame.right + 12.0);
        html! { @for ((layer, y), label_y) in named.iter().zip(placed) {
            path class=(format!("leader {}", layer.tone.class()))
                d=(format!("M{} {}L{} {}", px(from + 2.0), px(*y), px(at - 3.0), px(label_y))) {}
            text class=(format!("name {}", layer.tone.class())) x=(px(at)) y=(px(label_y + 4.0)) {
                (fit(&layer.name, (frame.width - at) / 1.1))
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::scale::Law;
    use proptest::prelude::*;

    fn chart(layers: &[Vec<f64>]) -> AreaChart {
        let layer = |heights: &Vec<f64>| Layer {
            name: "xterm".to_owned(),
            tone: Tone::Nth(0),
            texture: Texture::Full,
            words: String::new(),
            heights: heights.clone(),
        };
        AreaChart {
            title: "memory".to_owned(),
            description: "memory".to_owned(),
            x: Axis::new("time", Law::Linear, crate::format::tick),
            y: Axis::new("bytes", Law::Linear, crate::format::tick),
            places: (0..3).map(f64::from).collect(),
            layers: layers.iter().map(layer).collect(),
            levels: vec![(5.0, "limit".to_owned())],
            holds: Vec::new(),
        }
    }

    #[test]
    fn layers_lie_on_each_other_and_nonsense_has_no_height() {
        let edges = chart(&[vec![1.0, 2.0, 3.0], vec![f64::NAN, -1.0, 2.0], vec![1.0]]).edges();
        assert_eq!(edges[0], [(0.0, 1.0), (0.0, 2.0), (0.0, 3.0)]);
        assert_eq!(edges[1], [(1.0, 1.0), (2.0, 2.0), (3.0, 5.0)]);
        assert_eq!(edges[2], [(1.0, 2.0), (2.0, 2.0), (5.0, 5.0)]);
    }

    #[test]
    fn a_layer_is_named_where_it_ends_high_enough() {
        let names = |layers: &[Vec<f64>]| chart(layers).draw("x".into()).into_string().matches(">xterm<").count();
        assert_eq!(names(&[vec![1.0, 1.0, 3.0], vec![3.0, 3.0, 0.0]]), 1);
    }

    proptest! {
        #[test]
        fn any_heights_are_drawn(heights in prop::collection::vec(any::<f64>(), 0..5)) {
            let text = chart(&[heights.clone(), heights]).draw("x".into()).into_string();
            prop_assert!(!text.contains("NaN") && !text.contains("inf"));
        }
    }
}
