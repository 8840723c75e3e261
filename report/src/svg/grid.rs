//! A table of shares: rows and columns that were tried with each other, each cell coloured by how often it went well.
//!
//! The number stands in each cell, so that colour is not alone in telling cells apart; letters keep their contrast
//! because the colour stays pale.

use maud::{Markup, html};

use super::{Canvas, LINE, Tone, drawing, fit, px, text_width};

/// Opacity of a cell without and with all successes.
const OPACITY: [f64; 2] = [0.04, 0.5];
/// Height of a cell: two lines of text.
const HEIGHT: f64 = 40.0;
/// Above the cells: the label of the columns and their names.
const TOP: f64 = 40.0;

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub struct GridCell {
    /// 0 to 1.
    pub share: f64,
    /// The number.
    pub text: String,
    /// A word below it; empty for none.
    pub below: String,
    /// The cell in words, shown when pointed at.
    pub words: String,
}

/// A row of cells; `None` where nothing was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct GridRow {
    /// Name on the left.
    pub name: String,
    /// A cell for each column.
    pub cells: Vec<Option<GridCell>>,
}

/// A table of shares.
#[derive(Debug, Clone)]
pub struct GridChart {
    /// What it shows.
    pub title: String,
    /// The chart in words, for screen readers.
    pub description: String,
    /// What the columns are.
    pub across: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows from top to bottom.
    pub rows: Vec<GridRow>,
}

impl GridChart {
    /// The drawing.
    pub(crate) fn draw(&self, on: Canvas<'_>) -> Markup {
        let left = self.left(on.width);
        let width = (on.width - left) / self.columns.len().max(1) as f64;
        let height = TOP + HEIGHT * self.rows.len() as f64 + 2.0;
        let content = html! {
            text.axis x=(px(left)) y="12" { (fit(&self.across, on.width - left)) }
            @for (i, name) in self.columns.iter().enumerate() {
                text.tick.mid x=(px(left + width * (i as f64 + 0.5))) y=(px(TOP - 8.0)) { (fit(name, width - 2.0)) }
            }
            @for (j, row) in self.rows.iter().enumerate() {
                @let top = TOP + HEIGHT * j as f64;
                text.end x=(px(left - 8.0)) y=(px(top + HEIGHT / 2.0 + 4.0)) { (fit(&row.name, left - 10.0)) }
                @for (i, cell) in row.cells.iter().enumerate() {
                    @if let Some(cell) = cell { (draw_cell(cell, left + width * i as f64, top, width)) }
                }
            }
        };
        drawing(on, height, &self.title, &self.description, &content)
    }

    /// Width of the names on the left.
    fn left(&self, width: f64) -> f64 {
        let widest = self.rows.iter().map(|row| text_width(&row.name)).fold(0.0, f64::max);
        (widest + 12.0).clamp(30.0, width * 0.35)
    }
}

fn draw_cell(cell: &GridCell, left: f64, top: f64, width: f64) -> Markup {
    let share = if cell.share.is_finite() { cell.share.clamp(0.0, 1.0) } else { 0.0 };
    let opacity = OPACITY[0] + (OPACITY[1] - OPACITY[0]) * share;
    let middle = left + width / 2.0;
    let first = top + HEIGHT / 2.0 + if cell.below.is_empty() { 4.0 } else { -2.0 };
    html! {
        path class=(format!("cell {}", Tone::Read.class())) fill-opacity=(format!("{opacity:.2}"))
            d=(format!("M{} {}h{}v{}h{}z", px(left + 1.0), px(top + 1.0), px(width - 2.0), px(HEIGHT - 2.0),
                px(2.0 - width))) {
            title { (cell.words) }
        }
        text.strong.mid x=(px(middle)) y=(px(first)) { (fit(&cell.text, width - 2.0)) }
        @if !cell.below.is_empty() {
            text.mid x=(px(middle)) y=(px(first + LINE)) { (fit(&cell.below, width - 2.0)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_as_dark_as_its_share_and_has_its_number() {
        let cell = |share: f64| {
            let cell =
                GridCell { share, text: format!("{share}"), below: "slow".to_owned(), words: "words".to_owned() };
            draw_cell(&cell, 0.0, 0.0, 50.0).into_string()
        };
        let opacity = |markup: &str| -> f64 {
            let value = markup.split("fill-opacity=\"").nth(1).and_then(|rest| rest.split('"').next());
            value.expect("it has one").parse().expect("a number")
        };
        let [none, half, all, wrong] = [0.0, 0.5, 1.0, f64::NAN].map(cell);
        assert!(opacity(&none) < opacity(&half) && opacity(&half) < opacity(&all));
        assert!((opacity(&wrong) - opacity(&none)).abs() < 1e-9);
        assert!(half.contains(">0.5<") && half.contains(">slow<") && half.contains("<title>words</title>"), "{half}");
    }

    #[test]
    fn what_was_not_tried_has_no_cell() {
        let cell = GridCell { share: 1.0, text: "3/3".to_owned(), below: String::new(), words: String::new() };
        let rows = vec![GridRow { name: "evince".to_owned(), cells: vec![None, Some(cell)] }];
        let chart = GridChart {
            title: "Starts".to_owned(),
            description: String::new(),
            across: "limit".to_owned(),
            columns: vec!["16 MiB".to_owned(), "32 MiB".to_owned()],
            rows,
        };
        let markup = chart.draw("g".into()).into_string();
        assert_eq!(markup.matches("class=\"cell").count(), 1);
        assert!(markup.contains("16 MiB") && markup.contains("evince"));
    }
}
