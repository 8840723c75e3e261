//! The words that a kind is declared with: rows and units, tables, charts and their axes, figures and sections.

pub use crate::chart::{Areas, Dots, Lines, Strips, bars, grid, level, runs, span, stacks};
pub use crate::effect::{Effect, against_first};
pub use crate::kind::{Kind, Rank};
pub use crate::measures::{
    Column, Dimension, Measure, Unit, columns, dimension, higher, lower, neither, shown, unit, words,
};
pub use crate::rows::{Look, Place, Row, Value, only, places, schedulers, size};
pub use crate::section::{Chart, Facts, Figure, Glyph, Section, published};
pub use crate::submission::Form;
pub use crate::svg::bars::Fill;
pub use crate::svg::dots::Run;
pub use crate::svg::frame::Axis;
pub use crate::svg::map::{Layer, MapChart};
pub use crate::svg::scale::{Law, law_for};
pub use crate::svg::stacks::Texture;
pub use crate::svg::{Marker, Tone};
pub use crate::table::Table;
pub use crate::vocabulary::*;
