//! The words that a kind is declared with: rows and units, tables, charts and their axes, figures and sections.

pub(crate) use crate::chart::{Areas, Dots, Lines, Strips, bars, level, runs, span, stacks};
pub(crate) use crate::effect::{Effect, against_first};
pub(crate) use crate::measures::{Column, Dimension, Measure, Unit, columns, unit};
pub(crate) use crate::rows::{Look, Place, Row, Value, only, places, schedulers, size};
pub(crate) use crate::section::{Facts, Figure, Glyph, Kind, Section, published};
pub(crate) use crate::svg::bars::Fill;
pub(crate) use crate::svg::frame::Axis;
pub(crate) use crate::svg::scale::{Law, law_for};
pub(crate) use crate::svg::{Marker, Tone};
pub(crate) use crate::table::Table;
pub(crate) use crate::vocabulary::*;
