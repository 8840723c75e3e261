//! Charts from rows: a declaration names dimensions and measures, the values, intervals, labels and descriptions
//! follow.

use crate::causes;
use crate::format;
use crate::measures::{Column, Dimension, Measure};
use crate::rows::{Look, Row, Value, places};
use crate::section::Chart;
use crate::svg::Tone;
use crate::svg::areas::{AreaChart, Layer};
use crate::svg::bars::{Bar, BarChart, Fill, Group};
use crate::svg::clip::held;
use crate::svg::dots::{self, DotChart, Run};
use crate::svg::frame::Axis;
use crate::svg::grid::{GridCell, GridChart, GridRow};
use crate::svg::lines::{Event, LineChart, Names, Point, Series};
use crate::svg::scale::Law;
use crate::svg::stacks::{StackChart, StackGroup, StackRow, Texture};
use crate::svg::strips::{Strip, StripCell, StripChart, beginnings};

/// A value behind the name of its dimension or measure, unless it says that itself.
fn labelled(column: Column, text: &str) -> String {
    let name = column.head();
    if format::has_words(text, name) { text.to_owned() } else { format!("{name} {text}") }
}

/// Values that matter on an axis, with a word.
pub(crate) type Levels = Vec<(f64, String)>;

/// A level at one value.
pub fn level(at: f64, words: impl Into<String>) -> Levels {
    vec![(at, words.into())]
}

/// Dots on horizontal lines, one for each row.
#[derive(Debug, Default)]
pub struct Dots<'a> {
    /// Dimension or measure that names a line.
    pub name: Column,
    /// Measure.
    pub value: Column,
    /// Measure that is printed at the line instead of the value, where it differs.
    pub label: Column,
    /// Measure that stands below the value.
    pub below: Column,
    /// Measure of published figures.
    pub published: Column,
    /// Measure from which the value changed, drawn hollow.
    pub from: Column,
    /// Measures drawn as strokes.
    pub strokes: &'a [Measure],
    /// Measure of the runs.
    pub runs: Column,
    /// Values that matter.
    pub levels: Levels,
    /// Further values that the axis has to hold.
    pub holds: Vec<f64>,
}

impl Dots<'_> {
    /// The chart.
    pub fn draw(self, title: impl Into<String>, x: Axis, rows: &[Row]) -> Chart {
        let rows: Vec<dots::Row> = rows
            .iter()
            .filter_map(|row| {
                Some(dots::Row {
                    name: row.text(self.name),
                    value: row.number(self.value)?,
                    range: row.range(self.value),
                    label: row.label(if row.get(self.label).is_some() { self.label } else { self.value }),
                    below: match row.text(self.below) {
                        text if text.is_empty()
                            || row.number(self.below).is_none() && row.numbers(self.below).is_empty() =>
                        {
                            text
                        }
                        text => labelled(self.below, &text),
                    },
                    tone: row.look.tone,
                    marker: row.look.marker,
                    published: row.numbers(self.published),
                    from: row.number(self.from),
                    strokes: self.strokes.iter().flat_map(|stroke| row.numbers(*stroke)).collect(),
                    runs: match row.get(self.runs) {
                        Some((_, Value::Runs(runs))) => runs.clone(),
                        _ => Vec::new(),
                    },
                })
            })
            .collect();
        let words = rows.iter().map(|r| format!("{}: {} {}", format::sentence(&r.name), r.label, r.below));
        Chart::Dots(DotChart {
            title: title.into(),
            description: words.map(|words| format!("{}.", words.trim_end())).collect::<Vec<_>>().join(" "),
            x,
            levels: self.levels,
            holds: self.holds,
            rows,
        })
    }
}

/// Lines over an axis, one for each place of a dimension.
#[derive(Debug, Default)]
pub struct Lines {
    /// Dimension or measure along the abscissa.
    pub x: Column,
    /// Measure.
    pub y: Column,
    /// Dimension that tells lines apart.
    pub series: Column,
    /// Dimension whose text names a line at its end; none is named without it.
    pub named: Column,
    /// Measure in words that marks a point.
    pub mark: Column,
    /// Whether names stand before the lines, and not behind them.
    pub names_first: bool,
    /// Values of the ordinate that matter.
    pub levels: Levels,
    /// Something at a value of the abscissa.
    pub events: Levels,
}

impl Lines {
    /// The chart.
    pub fn draw(self, title: impl Into<String>, [x, y]: [Axis; 2], rows: &[Row]) -> Chart {
        let mut series: Vec<(String, Series)> = Vec::new();
        for row in rows {
            let (Some(at), Some(value)) = (row.number(self.x), row.number(self.y)) else { continue };
            let key = format!("{}{:?}", row.text(self.series), row.look);
            let line = match series.iter().position(|(known, _)| *known == key) {
                Some(i) => &mut series[i].1,
                None => {
                    let name = if row.look.published { String::new() } else { row.text(self.named) };
                    let (tone, marker) = (row.look.tone, row.look.marker);
                    let points = Vec::new();
                    let Look { dashed, published, scattered, .. } = row.look;
                    series.push((key, Series { name, tone, marker, dashed, published, scattered, points }));
                    &mut series.last_mut().expect("one was pushed just now").1
                }
            };
            let subject = if row.look.published {
                format!("published: {}", row.text(self.series))
            } else {
                row.text(self.series)
            };
            let mark = Some(row.text(self.mark)).filter(|mark| !mark.is_empty());
            let place = if row.get(self.x).is_none() { row.text(self.x) } else { labelled(self.x, &row.text(self.x)) };
            // A measure such as `MB/s` is its own unit.
            let unit = if self.y.head().contains('/') { format!(" {}", self.y.head()) } else { String::new() };
            let words = format!("{subject} at {place}: {}{unit}", row.text(self.y));
            line.points.push(Point { x: at, y: value, range: row.range(self.y), words, mark });
        }
        let mut series: Vec<Series> = series.into_iter().map(|(_, series)| series).collect();
        for line in &mut series {
            line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        let ends = series.iter().filter_map(|line| Some([line.points.first()?, line.points.last()?]));
        let words = ends.map(|[first, last]| {
            if first == last { format!("{}.", first.words) } else { format!("{}; {}.", first.words, last.words) }
        });
        Chart::Lines(LineChart {
            title: title.into(),
            description: words.map(|words| format::sentence(words.trim())).collect::<Vec<_>>().join(" "),
            x,
            y,
            series,
            levels: self.levels,
            events: self.events.into_iter().map(|(x, words)| Event { x, words }).collect(),
            names: if self.names_first { Names::First } else { Names::Last },
        })
    }
}

/// Upright bars, one for each measure in a group for each row, with a label above.
pub fn bars(
    title: impl Into<String>,
    y: Axis,
    rows: &[Row],
    group: [Column; 2],
    measures: &[(Measure, Fill)],
    label: impl Fn(&Row, f64) -> String,
) -> Chart {
    let groups: Vec<Group> = rows
        .iter()
        .map(|row| Group {
            name: group.map(|name| row.text(name)),
            bars: measures
                .iter()
                .filter_map(|(measure, fill)| {
                    let value = row.number(*measure)?;
                    Some(Bar {
                        value,
                        range: row.range(*measure),
                        // Between its neighbours a number has no room; the table and the pointer have it.
                        label: if *fill == Fill::Half { String::new() } else { label(row, value) },
                        words: format!(
                            "{} {}: {}",
                            group.map(|name| row.text(name)).join(" "),
                            measure.name,
                            row.text(*measure)
                        ),
                        tone: row.look.tone,
                        fill: *fill,
                    })
                })
                .collect(),
        })
        .collect();
    let words = groups.iter().flat_map(|g| &g.bars).map(|bar| format!("{}.", format::sentence(&bar.words)));
    Chart::Bars(BarChart { title: title.into(), description: words.collect::<Vec<_>>().join(" "), y, groups })
}

/// Horizontal bars of the parts of a time: a group for each place along a dimension, a bar for each row, with the
/// limits of patience that lie on the axis. `time` is the whole, `split` has its parts.
pub fn stacks(
    title: impl Into<String>,
    rows: &[Row],
    group: Column,
    name: impl Into<Column>,
    [time, split]: [Measure; 2],
) -> Chart {
    let name = name.into();
    let mut groups: Vec<StackGroup> =
        places(rows, group).into_iter().map(|name| StackGroup { name, rows: Vec::new() }).collect();
    if groups.is_empty() {
        groups.push(StackGroup { name: String::new(), rows: Vec::new() });
    }
    for row in rows {
        let Some(total) = row.number(time) else { continue };
        let of = groups.iter().position(|one| one.name == row.text(group)).unwrap_or(0);
        groups[of].rows.push(StackRow {
            name: row.text(name),
            parts: if let Some((_, Value::Split(split, _))) = row.get(split) {
                causes::parts(split)
            } else {
                Vec::new()
            },
            total,
            range: row.range(time),
            label: row.label(time),
        });
    }
    groups.retain(|group| !group.rows.is_empty());
    let words = groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row))).map(|(group, row)| {
        let name = format::joined([group.name.as_str(), &row.name]);
        let parts: Vec<&str> = row.parts.iter().filter(|p| p.value > 0.0).map(|p| p.words.as_str()).collect();
        format!("{}: {}; {}.", format::sentence(&name), row.label, parts.join(", "))
    });
    Chart::Stacks(StackChart {
        title: title.into(),
        description: words.collect::<Vec<_>>().join(" "),
        x: Axis::new(time.name, Law::Linear, format::ms_tick),
        limits: causes::HCI_LIMITS_MS.map(|ms| (ms, format::ms_tick(ms))).into(),
        groups,
    })
}

/// Strips of cells: one strip for each place along a dimension, one cell for each of its rows.
#[derive(Debug, Default)]
pub struct Strips {
    /// Dimension that tells strips apart.
    pub strip: Column,
    /// Dimension that cells follow each other along.
    pub cell: Column,
    /// Dimension whose places have letters below the cells.
    pub letters: Column,
    /// Measure that is a bar's height.
    pub value: Column,
    /// Measure in words that says what a cell is.
    pub state: Column,
    /// Sum of each strip, by the strip's name.
    pub labels: Vec<(String, String)>,
}

impl Strips {
    /// The chart; `face` is the look of a state.
    pub fn draw(
        self,
        title: impl Into<String>,
        y: Axis,
        rows: &[Row],
        face: impl Fn(&str) -> (Tone, Texture),
    ) -> Chart {
        let named = places(rows, self.letters);
        let letters = beginnings(&named);
        let cell = |row: &Row| {
            let (tone, texture) = face(&row.text(self.state));
            let name = row.text(self.letters);
            let known = named.iter().position(|known| *known == name);
            StripCell {
                value: row.number(self.value).unwrap_or(f64::NAN),
                tone,
                texture,
                words: format!(
                    "{}: {}",
                    labelled(self.cell, &row.text(self.cell)),
                    format::joined([
                        name.as_str(),
                        &row.text(self.state),
                        &labelled(self.value, &row.text(self.value))
                    ])
                ),
                letters: known.map_or_else(String::new, |n| letters[n].clone()),
            }
        };
        let strips: Vec<Strip> = places(rows, self.strip)
            .into_iter()
            .map(|name| Strip {
                cells: rows.iter().filter(|row| row.text(self.strip) == name).map(cell).collect(),
                label: self
                    .labels
                    .iter()
                    .find(|(strip, _)| *strip == name)
                    .map_or_else(String::new, |one| one.1.clone()),
                name,
            })
            .collect();
        let words = strips.iter().map(|strip| {
            let cells = strip.cells.iter().map(|cell| cell.words.as_str()).collect::<Vec<_>>().join("; ");
            format!("{}: {}. {cells}.", format::sentence(&strip.name), strip.label)
        });
        let description = words.collect::<Vec<_>>().join(" ");
        Chart::Strips(StripChart { title: title.into(), description, y, x: self.cell.head().to_owned(), strips })
    }
}

/// Stacked areas: one layer for each place along a dimension, from the bottom.
#[derive(Debug, Default)]
pub struct Areas {
    /// Dimension along the abscissa.
    pub x: Column,
    /// Measure that is a layer's height.
    pub y: Column,
    /// Dimension that tells layers apart.
    pub layer: Column,
    /// Values of the ordinate that matter.
    pub levels: Levels,
    /// Further values that the ordinate has to hold.
    pub holds: Vec<f64>,
    /// Whether no layer is named at its end: where the title of the chart names the only one.
    pub unnamed: bool,
}

impl Areas {
    /// The chart; `face` is the look of a layer.
    pub fn draw(
        self,
        title: impl Into<String>,
        [x, y]: [Axis; 2],
        rows: &[Row],
        face: impl Fn(&str) -> (Tone, Texture),
    ) -> Chart {
        let mut along: Vec<f64> = Vec::new();
        for at in rows.iter().filter_map(|row| row.number(self.x)).filter(|at| at.is_finite()) {
            if !along.contains(&at) {
                along.push(at);
            }
        }
        along.sort_by(f64::total_cmp);
        let layer = |name: String| {
            let of: Vec<&Row> = rows.iter().filter(|row| row.text(self.layer) == name).collect();
            let height = |at: &f64| {
                let here = of.iter().filter(|row| row.number(self.x) == Some(*at));
                here.filter_map(|row| row.number(self.y)).filter(|height| height.is_finite()).sum()
            };
            let heights: Vec<f64> = along.iter().map(height).collect();
            let most = of.iter().max_by(|a, b| {
                let [a, b] = [a, b].map(|row| row.number(self.y).unwrap_or(0.0));
                a.total_cmp(&b)
            });
            let words = most.map_or_else(String::new, |row| format!("{name}: at most {}", row.text(self.y)));
            let (tone, texture) = face(&name);
            Layer { name: if self.unnamed { String::new() } else { name }, tone, texture, words, heights }
        };
        let layers: Vec<Layer> = places(rows, self.layer).into_iter().map(layer).collect();
        let description =
            layers.iter().map(|layer| format!("{}.", format::sentence(&layer.words))).collect::<Vec<_>>().join(" ");
        let (levels, holds) = (self.levels, self.holds);
        Chart::Areas(AreaChart { title: title.into(), description, x, y, places: along, layers, levels, holds })
    }
}

/// A table of shares: a row and a column for each place along two dimensions. The measures are the share of successes
/// (0 to 1), the text of a cell, and the word below it.
pub fn grid(
    title: impl Into<String>,
    across: &str,
    rows: &[Row],
    [down_name, across_name]: [Dimension; 2],
    [share, text, below]: [Measure; 3],
) -> Chart {
    let mut columns: Vec<(String, Option<f64>)> = Vec::new();
    for place in rows.iter().filter_map(|row| row.place(across_name)) {
        if columns.iter().all(|(known, _)| *known != place.text) {
            columns.push((place.text.clone(), place.number));
        }
    }
    columns.sort_by(|a, b| a.1.unwrap_or_default().total_cmp(&b.1.unwrap_or_default()));
    let cell = |down: &str, column: &str| {
        let row = rows.iter().find(|row| row.text(down_name) == down && row.text(across_name) == column)?;
        let (text, below) = (row.text(text), row.text(below));
        let words = format!("{down}, {column}: {text} {below}").trim_end().to_owned();
        Some(GridCell { share: row.number(share)?, text, below, words })
    };
    let found: Vec<GridRow> = places(rows, down_name)
        .into_iter()
        .map(|name| GridRow { cells: columns.iter().map(|(column, _)| cell(&name, column)).collect(), name })
        .collect();
    let words = found.iter().flat_map(|row| row.cells.iter().flatten()).map(|cell| format!("{}.", cell.words));
    Chart::Grid(GridChart {
        title: title.into(),
        description: words.collect::<Vec<_>>().join(" "),
        across: across.to_owned(),
        columns: columns.into_iter().map(|(name, _)| name).collect(),
        rows: found,
    })
}

/// Runs without outliers.
pub fn runs(values: impl Iterator<Item = f64>) -> Vec<Run> {
    values.map(|value| Run { value, outlier: false }).collect()
}

/// What charts side by side have to hold to share an axis: the middles of a measure over all their rows, and the ends
/// of its intervals that are no outliers.
pub fn span(rows: &[Row], measure: Measure, law: Law) -> Vec<f64> {
    let ranges: Vec<(f64, f64)> = rows.iter().filter_map(|row| row.range(measure)).collect();
    held(law, rows.iter().filter_map(|row| row.number(measure)).chain([1.0]), &ranges)
}
