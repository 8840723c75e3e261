//! A map: what happened in which part of time and of a space, in cells.

use maud::{Markup, html};

use super::frame::{Axis, Frame};
use super::{Canvas, HEIGHT, LINE, Tone, drawing, fit, px, text_width};

/// Distance of two names of the legend.
const GAP: f64 = 16.0;
/// Side of the square before a name.
const SQUARE: f64 = 10.0;

/// Cells of one colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Colour.
    pub tone: Tone,
    /// Class that says how they are filled: `full` or `half`.
    pub fill: &'static str,
    /// What they are in words, shown when pointed at.
    pub words: String,
    /// Column and row of each.
    pub cells: Vec<(u32, u32)>,
}

/// A map.
#[derive(Debug, Clone)]
pub struct MapChart {
    /// What it shows.
    pub title: String,
    /// The map in words, for screen readers.
    pub description: String,
    /// Abscissa.
    pub x: Axis,
    /// Ordinate.
    pub y: Axis,
    /// Width and height of a cell on the axes.
    pub cell: (f64, f64),
    /// Cells, the undermost first.
    pub layers: Vec<Layer>,
    /// Names of colours, with how each is filled.
    pub legend: Vec<(Tone, &'static str, String)>,
}

impl MapChart {
    /// The drawing. Its size grows with the number of cells, whose number the document limits.
    pub(crate) fn draw(&self, on: Canvas<'_>) -> Markup {
        let cells = || self.layers.iter().flat_map(|layer| &layer.cells);
        let xs = [0.0, cells().map(|cell| f64::from(cell.0) + 1.0).fold(1.0, f64::max) * self.cell.0];
        let ys = [0.0, cells().map(|cell| f64::from(cell.1) + 1.0).fold(1.0, f64::max) * self.cell.1];
        let frame = Frame::new(&self.x, &self.y, xs, ys, [0.0, 12.0], on.width);
        let legend = self.legend_lines([frame.left, on.width]);
        let height = HEIGHT + LINE * legend.len() as f64 + if legend.is_empty() { 0.0 } else { 6.0 };
        let content = html! {
            (frame.draw_y(&self.y))
            @for layer in &self.layers {
                path class=(format!("part {} {}", layer.tone.class(), layer.fill)) d=(self.path(layer, &frame)) {
                    title { (layer.words) }
                }
            }
            (frame.draw_x(&self.x))
            @for (n, line) in legend.iter().enumerate() {
                @let y = HEIGHT + LINE * (n + 1) as f64;
                @for (x, tone, fill, name) in line {
                    path class=(format!("part {} {fill}", tone.class()))
                        d=(format!("M{} {}h{SQUARE}v-{SQUARE}h-{SQUARE}z", px(*x), px(y))) {}
                    text.tick x=(px(x + SQUARE + 5.0)) y=(px(y)) { (name) }
                }
            }
        };
        drawing(on, height, &self.title, &self.description, &content)
    }

    /// The outline of all cells; cells side by side are one.
    fn path(&self, layer: &Layer, frame: &Frame) -> String {
        let mut cells = layer.cells.clone();
        cells.sort_unstable_by_key(|&(column, row)| (row, column));
        cells.dedup();
        let mut path = String::new();
        let mut at = 0;
        while at < cells.len() {
            let (column, row) = cells[at];
            let joined =
                (at..cells.len()).take_while(|&n| cells[n] == (column.saturating_add((n - at) as u32), row)).count();
            let (left, right) = (f64::from(column) * self.cell.0, (f64::from(column) + joined as f64) * self.cell.0);
            let (low, high) = (f64::from(row) * self.cell.1, f64::from(row + 1) * self.cell.1);
            let (left, right) = (frame.x.at(left), frame.x.at(right));
            let (low, high) = (frame.y.at(low), frame.y.at(high));
            path += &format!("M{} {}H{}V{}H{}z", px(left), px(low), px(right), px(high), px(left));
            at += joined;
        }
        path
    }

    /// The legend in lines, with the left end of each name.
    fn legend_lines(&self, [left, right]: [f64; 2]) -> Vec<Vec<(f64, Tone, &'static str, String)>> {
        let mut lines: Vec<Vec<_>> = Vec::new();
        let mut x = f64::INFINITY;
        for (tone, fill, name) in &self.legend {
            let name = fit(name, right - left - SQUARE - 10.0);
            let width = SQUARE + 5.0 + text_width(&name);
            if x + width > right - 4.0 {
                lines.push(Vec::new());
                x = left;
            }
            if let Some(line) = lines.last_mut() {
                line.push((x, *tone, *fill, name));
            }
            x += width + GAP;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::super::WIDTH;
    use super::*;
    use crate::svg::scale::Law;

    fn chart(cells: Vec<(u32, u32)>, names: &[&str]) -> MapChart {
        let axis = || Axis::new("x", Law::Linear, crate::format::tick);
        let layer = Layer { tone: Tone::Read, fill: "full", words: String::new(), cells };
        MapChart {
            title: String::new(),
            description: String::new(),
            x: axis(),
            y: axis(),
            cell: (1.0, 1.0),
            layers: vec![layer],
            legend: names.iter().map(|name| (Tone::Read, "full", (*name).to_owned())).collect(),
        }
    }

    #[test]
    fn cells_side_by_side_are_one_outline() {
        let map = chart(vec![(2, 0), (0, 0), (1, 0), (5, 0), (0, 1), (0, 1)], &[]);
        let frame = Frame::new(&map.x, &map.y, [0.0, 6.0], [0.0, 2.0], [0.0, 12.0], WIDTH);
        let path = map.path(&map.layers[0], &frame);
        assert_eq!(path.matches('M').count(), 3, "{path}");
    }

    #[test]
    fn names_of_the_legend_stay_within_the_drawing() {
        let names =
            ["evince", "gnumeric", "a name that is very long and has no room at all beside the others", "x", "xterm"];
        let map = chart(vec![(0, 0)], &names);
        let lines = map.legend_lines([40.0, WIDTH]);
        assert_eq!(lines.iter().map(Vec::len).sum::<usize>(), names.len());
        for (x, _, _, name) in lines.iter().flatten() {
            assert!(*x >= 40.0 && x + SQUARE + 5.0 + text_width(name) <= WIDTH, "{name} at {x}");
        }
    }
}
