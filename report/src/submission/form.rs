//! The form of what may leave: a list of fields, each with where it comes from.
//!
//! A kind declares what of its result is taken ([`Form`]). Figures are taken by their measure, which has to be declared
//! with `.leaves()` and from which unit, limits and description follow; other fields are words of brisk or of the
//! kernel, counts, or lists of parts with a form of their own. What no form names stays on the device. Values and JSON
//! Schema derive from the same list.

use std::collections::BTreeMap;
use std::rc::Rc;

use brisk_core::stats::Summary;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::number::{MAX, rounded};
use super::text::Word;
use crate::kind::Report;
use crate::measures::Measure;

/// Largest ratio and percentage.
const RATIO_MAX: f64 = 1e6;
/// Most codes of warnings.
const WARNINGS_MAX: usize = 32;

/// A value that leaves, its fields in the order of the form.
#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// A number, word or flag.
    One(Value),
    /// A part with fields.
    Fields(Vec<(String, Taken)>),
    /// Parts of the same form.
    List(Vec<Taken>),
}

impl Serialize for Taken {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(value) => value.serialize(to),
            Self::List(parts) => parts.serialize(to),
            Self::Fields(fields) => {
                let mut map = to.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
        }
    }
}

/// A figure: a number, or a summary of repetitions, or either where there is one.
pub trait Figure {
    /// Whether all results have it.
    const IS_REQUIRED: bool = true;

    /// What leaves of it, with four digits and at most `most`; the value that is wrong otherwise.
    ///
    /// # Errors
    /// A value that no measurement has.
    fn taken(self, most: f64) -> Result<Option<Taken>, f64>;

    /// Its JSON Schema.
    fn schema(most: f64, generator: &mut SchemaGenerator) -> Schema;
}

fn number(value: f64, most: f64) -> Result<Taken, f64> {
    rounded(value).filter(|rounded| *rounded <= most).map(|number| Taken::One(number.into())).ok_or(value)
}

impl Figure for f64 {
    fn taken(self, most: f64) -> Result<Option<Taken>, f64> {
        number(self, most).map(Some)
    }

    fn schema(most: f64, _: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": most })
    }
}

impl Figure for Summary {
    fn taken(self, most: f64) -> Result<Option<Taken>, f64> {
        let count = Taken::One(self.count.clamp(1, 100_000).into());
        let mut fields = vec![("count".to_owned(), count)];
        for (name, value) in [("median", self.median), ("low", self.low), ("high", self.high)] {
            fields.push((name.to_owned(), number(value, most)?));
        }
        Ok(Some(Taken::Fields(fields)))
    }

    fn schema(_: f64, generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Spread>()
    }
}

impl<F: Figure> Figure for Option<F> {
    const IS_REQUIRED: bool = false;

    fn taken(self, most: f64) -> Result<Option<Taken>, f64> {
        self.map_or(Ok(None), |figure| figure.taken(most))
    }

    fn schema(most: f64, generator: &mut SchemaGenerator) -> Schema {
        F::schema(most, generator)
    }
}

/// Median of repeated measurements, and its interval of at most 95 %, in the unit of the field.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its schema is what counts: values are made of summaries")]
struct Spread {
    /// Repetitions.
    #[schemars(range(min = 1, max = 100_000))]
    count: u32,
    /// The middle value.
    #[schemars(range(min = 0, max = 1e15))]
    median: f64,
    /// Lower end of its interval.
    #[schemars(range(min = 0, max = 1e15))]
    low: f64,
    /// Upper end of its interval.
    #[schemars(range(min = 0, max = 1e15))]
    high: f64,
}

type Take<T> = Box<dyn Fn(&T) -> Result<Option<Taken>, String>>;
type Describe = Box<dyn Fn(&mut SchemaGenerator) -> Schema>;

struct Field<T> {
    name: &'static str,
    about: String,
    is_required: bool,
    describe: Describe,
    take: Take<T>,
}

/// What of a result, or of a part of it, may leave.
pub struct Form<T> {
    fields: Vec<Field<T>>,
}

impl<T: 'static> Default for Form<T> {
    fn default() -> Self {
        Self { fields: Vec::new() }
    }
}

impl<T: 'static> Form<T> {
    /// A form without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn field(
        mut self,
        (name, about): (&'static str, impl Into<String>),
        describe: impl Fn(&mut SchemaGenerator) -> Schema + 'static,
        take: impl Fn(&T) -> Result<Taken, String> + 'static,
    ) -> Self {
        let take = Box::new(move |of: &T| take(of).map(Some));
        self.fields.push(Field { name, about: about.into(), is_required: true, describe: Box::new(describe), take });
        self
    }

    /// The same with a figure of a measure that may leave.
    ///
    /// # Panics
    /// When the measure is not declared to leave.
    #[must_use]
    pub fn figure<F: Figure>(mut self, name: &'static str, measure: Measure, of: impl Fn(&T) -> F + 'static) -> Self {
        assert!(measure.may_leave(), "{name} is taken: declare its measure \"{}\" with `.leaves()`", measure.name);
        let most = if ["ratio", "percent"].contains(&measure.unit.name) { RATIO_MAX } else { MAX };
        let unit = match measure.unit.name {
            "" => String::new(),
            "ratio" => ", a ratio".to_owned(),
            unit => format!(", in {}", unit.replace("_per_s", "/s")),
        };
        let about = format!("{}{unit}.", crate::format::sentence(measure.name));
        let take: Take<T> = Box::new(move |from| of(from).taken(most).map_err(|value| format!("{name} {value}")));
        let describe: Describe = Box::new(move |generator| F::schema(most, generator));
        self.fields.push(Field { name, about, is_required: F::IS_REQUIRED, describe, take });
        self
    }

    /// The same with a number that was asked for, of 1 to `most`.
    #[must_use]
    pub fn count(self, name: &'static str, about: &str, most: u64, of: impl Fn(&T) -> u64 + 'static) -> Self {
        let describe = move |_: &mut _| json_schema!({ "type": "integer", "minimum": 1, "maximum": most });
        self.field((name, about), describe, move |from| {
            let value = of(from);
            let is_allowed = (1..=most).contains(&value);
            if is_allowed { Ok(Taken::One(value.into())) } else { Err(format!("{name} {value}")) }
        })
    }

    /// The same with a place in a list, of 0 to `most`.
    #[must_use]
    pub fn place(self, name: &'static str, about: &str, most: u32, of: impl Fn(&T) -> u32 + 'static) -> Self {
        let describe = move |_: &mut _| json_schema!({ "type": "integer", "minimum": 0, "maximum": most });
        self.field((name, about), describe, move |from| Ok(Taken::One(of(from).min(most).into())))
    }

    /// The same with an identifier of brisk or of the kernel.
    #[must_use]
    pub fn word(self, name: &'static str, about: &str, of: impl Fn(&T) -> &str + 'static) -> Self {
        self.field((name, about), SchemaGenerator::subschema_for::<Word>, move |from| {
            let text = of(from);
            word(text).map(Taken::One).ok_or_else(|| format!("{name} \"{text}\""))
        })
    }

    /// The same with one of the words of an enum.
    ///
    /// # Panics
    /// Never: unit variants are strings.
    #[must_use]
    pub fn choice<E: Serialize + JsonSchema + 'static>(
        self,
        name: &'static str,
        about: &str,
        of: impl Fn(&T) -> E + 'static,
    ) -> Self {
        self.field((name, about), words_of::<E>, move |from| {
            Ok(Taken::One(serde_json::to_value(of(from)).expect("a variant without fields is a string")))
        })
    }

    /// The same with a fact that holds or not.
    #[must_use]
    pub fn flag(self, name: &'static str, about: &str, of: impl Fn(&T) -> bool + 'static) -> Self {
        let describe = |_: &mut _| json_schema!({ "type": "boolean" });
        self.field((name, about), describe, move |from| Ok(Taken::One(of(from).into())))
    }

    /// The same with at most `most` words, each under a word.
    #[must_use]
    pub fn words(
        self,
        name: &'static str,
        about: &str,
        most: usize,
        of: impl Fn(&T) -> Vec<(String, String)> + 'static,
    ) -> Self {
        let describe = |generator: &mut SchemaGenerator| {
            let words = generator.subschema_for::<BTreeMap<Word, Word>>();
            let pattern = words.get("patternProperties").cloned();
            json_schema!({ "type": "object", "additionalProperties": false, "patternProperties": pattern })
        };
        self.field((name, about), describe, move |from| {
            let words = of(from);
            if words.len() > most {
                return Err(format!("{} {name}", words.len()));
            }
            let of_one = |(knob, value): &(String, String)| {
                let value = word(value).map(Taken::One).ok_or_else(|| format!("{knob} \"{value}\""))?;
                Word::of(knob).map(|knob| (knob.as_str().to_owned(), value)).ok_or_else(|| format!("knob \"{knob}\""))
            };
            words.iter().map(of_one).collect::<Result<_, _>>().map(Taken::Fields)
        })
    }

    /// The same with a list of at most `most` parts.
    #[must_use]
    pub fn list<U: 'static>(
        self,
        name: &'static str,
        about: &str,
        most: usize,
        form: Form<U>,
        of: impl Fn(&T) -> Vec<U> + 'static,
    ) -> Self {
        let form = Rc::new(form);
        let items = form.clone();
        let describe = move |generator: &mut SchemaGenerator| {
            json_schema!({ "type": "array", "maxItems": most,
            "items": items.schema(generator) })
        };
        self.field((name, about), describe, move |from| {
            let parts = of(from);
            if parts.len() > most {
                return Err(format!("{} {name}", parts.len()));
            }
            parts.iter().map(|part| form.taken(part)).collect::<Result<_, _>>().map(Taken::List)
        })
    }

    /// What of `from` leaves.
    ///
    /// # Errors
    /// A field and its value that no measurement has.
    pub(crate) fn taken(&self, from: &T) -> Result<Taken, String> {
        let mut taken = Vec::new();
        for field in &self.fields {
            taken.extend((field.take)(from)?.map(|value| (field.name.to_owned(), value)));
        }
        Ok(Taken::Fields(taken))
    }

    /// The JSON Schema of what leaves.
    pub(crate) fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for field in &self.fields {
            let mut schema = (field.describe)(generator);
            schema.insert("description".to_owned(), field.about.clone().into());
            properties.insert(field.name.to_owned(), schema.into());
        }
        let required: Vec<&str> =
            self.fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
        json_schema!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
            "required": required,
        })
    }
}

impl<R: Report> Form<R> {
    /// The same with the codes of warnings; their texts stay.
    #[must_use]
    pub fn warnings(self) -> Self {
        let describe = |generator: &mut SchemaGenerator| {
            let items = generator.subschema_for::<Word>();
            json_schema!({ "type": "array", "maxItems": WARNINGS_MAX, "items": items })
        };
        self.field(("warnings", "Codes of warnings."), describe, |report| {
            let warnings = &report.header().warnings;
            let mut codes: Vec<&str> = warnings.iter().map(|one| one.code.as_str()).collect();
            codes.sort_unstable();
            codes.dedup();
            Ok(Taken::List(codes.into_iter().filter_map(word).take(WARNINGS_MAX).map(Taken::One).collect()))
        })
    }
}

fn word(text: &str) -> Option<Value> {
    Word::of(text).map(|word| word.as_str().into())
}

/// The words of an enum, whose variants have descriptions of their own elsewhere.
fn words_of<E: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let schema = E::json_schema(generator);
    let variants = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let documented = variants.filter_map(|one| one.get("const").cloned());
    let plain = schema.get("enum").and_then(Value::as_array).into_iter().flatten().cloned();
    json_schema!({ "type": "string", "enum": plain.chain(documented).collect::<Vec<_>>() })
}
