//! Kinds of documents, and documents of any kind.
//!
//! A study implements [`Kind`] for its result, and the program that makes or shows it lists the result in
//! [`kinds!`](crate::kinds): one line, from which reading, heads, JSON Schema and dispatch derive. Nothing here knows
//! a kind by name; [`parse`](crate::parse), [`schema()`](crate::schema()) and [`verdict()`](crate::verdict()) take the
//! program's list.

use std::any::Any;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::results::Header;
use crate::rows::Row;
use crate::section::{Facts, Figure, Section};
use crate::submission::{Form, Taken};

/// The struct of a result: what the list of kinds says of it.
pub trait Report:
    Serialize + DeserializeOwned + JsonSchema + Clone + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// The name of its kind, as it stands in the field `kind`.
    const NAME: &'static str;

    /// The head that all documents have.
    fn header(&self) -> &Header;

    /// The same, to be completed by a caller that knows more of the machine.
    fn header_mut(&mut self) -> &mut Header;
}

/// Where a document stands on a page: those of the first rank come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// What a change gained.
    Proof,
    /// What users wait for.
    App,
    /// What a device does under some load.
    Study,
    /// What a device does under all of them: that of the own disk where it is not emulated.
    Benchmark,
}

/// A kind of document: implemented once, in the folder of its study.
pub trait Kind: Report {
    /// Where its documents stand on a page.
    const RANK: Rank = Rank::Study;

    /// The document, ready to be shown.
    fn section(&self) -> Section;

    /// What is compared: a row for each place of the study. A row names its place by what was asked for (load, depth,
    /// app), never by what was found, so that rows of two documents join. Measures that say the same in another form
    /// (throughput and requests a second of one load) are there once: each further one takes power from all others
    /// (`compare/false_alarms.rs`). Where a document has the single runs, they are the value; else its summary.
    fn rows(&self) -> Vec<Row>;

    /// How it was measured, as far as that changes what is found: budget, sizes, commands. Where two conditions differ
    /// in it, their ratios are doubtful.
    fn mode(&self) -> Facts;

    /// On what it was measured, beyond the head of the document: what two conditions may be meant to differ in.
    fn setting(&self) -> Facts {
        Facts::new()
    }

    /// What several documents of the kind show together.
    fn together(_documents: &[&Self]) -> Option<Figure> {
        None
    }

    /// The kind's sentences of the verdict over a run: of all its documents, which may be none, in a run with so many
    /// warnings.
    fn verdict(_documents: &[&Self], _warnings: u64) -> Vec<String> {
        Vec::new()
    }

    /// What of it may leave the device; `None` where it cannot be submitted.
    fn form() -> Option<Form<Self>> {
        None
    }
}

/// A kind in the list of a program.
#[derive(Clone, Copy)]
pub struct Entry {
    /// As it stands in the field `kind`.
    pub name: &'static str,
    /// What writes it.
    about: &'static str,
    read: fn(&str) -> serde_json::Result<Document>,
    #[cfg(feature = "values")]
    value: fn(toml::Value) -> Result<Document, toml::de::Error>,
    schema: fn(&mut SchemaGenerator) -> Schema,
    verdict: fn(&[Document], u64) -> Vec<String>,
    form: fn(&mut SchemaGenerator) -> Option<Schema>,
}

impl Entry {
    /// The entry of a kind; `about` says what writes its documents.
    #[must_use]
    pub const fn of<K: Kind>(about: &'static str) -> Self {
        Self {
            name: K::NAME,
            about,
            read: |text| serde_json::from_str::<K>(text).map(Document::from),
            #[cfg(feature = "values")]
            value: |value| value.try_into::<K>().map(Document::from),
            schema: SchemaGenerator::subschema_for::<K>,
            verdict: |documents, warnings| K::verdict(&all_of::<K>(documents), warnings),
            form: |generator| K::form().map(|form| form.schema(generator)),
        }
    }
}

/// The kinds that a program knows: its own list, and those of the crates that it is made of.
#[derive(Clone, Copy)]
pub struct Kinds(pub &'static [&'static [Entry]]);

impl Kinds {
    pub(crate) fn entries(self) -> impl Iterator<Item = &'static Entry> {
        self.0.iter().copied().flatten()
    }

    /// The document of the kind with this name in `text`, a JSON object; `None` where the kind is unknown.
    ///
    /// # Errors
    /// When `text` is no report of that kind.
    pub fn read(self, name: &str, text: &str) -> serde_json::Result<Option<Document>> {
        self.entries().find(|entry| entry.name == name).map(|entry| (entry.read)(text)).transpose()
    }

    /// The same of a value of TOML, which has the numbers that JSON lacks: for tests.
    ///
    /// # Errors
    /// When `value` is no report of that kind.
    #[cfg(feature = "values")]
    pub fn read_value(self, name: &str, value: toml::Value) -> Result<Option<Document>, toml::de::Error> {
        self.entries().find(|entry| entry.name == name).map(|entry| (entry.value)(value)).transpose()
    }

    /// The kind's sentences of a verdict over all documents, kind by kind.
    pub(crate) fn verdict(self, documents: &[Document]) -> Vec<String> {
        let warnings = documents.iter().map(|document| document.header().warnings.len()).sum::<usize>() as u64;
        self.entries().flat_map(|entry| (entry.verdict)(documents, warnings)).collect()
    }

    /// The JSON Schema of a document of any of them.
    pub(crate) fn schema(self) -> Schema {
        let mut generator = SchemaGenerator::default();
        let one = |entry: &Entry, generator: &mut SchemaGenerator| {
            let mut schema = (entry.schema)(generator);
            schema.insert("description".to_owned(), entry.about.trim().into());
            schema.insert("type".to_owned(), "object".into());
            schema.insert("properties".to_owned(), json!({ "kind": { "type": "string", "const": entry.name } }));
            schema.insert("required".to_owned(), json!(["kind"]));
            schema
        };
        let of_kinds: Vec<Schema> = self.entries().map(|entry| one(entry, &mut generator)).collect();
        json_schema!({
            "$schema": generator.settings().meta_schema.as_deref(),
            "title": "Document",
            "description": "Any document that brisk writes.",
            "oneOf": of_kinds,
            "$defs": generator.take_definitions(true),
        })
    }

    /// The JSON Schemas of what of them may leave the device.
    pub(crate) fn forms(self, generator: &mut SchemaGenerator) -> impl Iterator<Item = Schema> {
        self.entries().filter_map(|entry| {
            let mut schema = (entry.form)(generator)?;
            schema.insert("description".to_owned(), format!("Of {}", entry.about.trim()).into());
            let kind = json!({ "type": "string", "const": entry.name });
            schema.get_mut("properties")?.as_object_mut()?.insert("kind".to_owned(), kind);
            schema.get_mut("required")?.as_array_mut()?.insert(0, "kind".into());
            Some(schema)
        })
    }

    /// The names of the kinds that can be submitted.
    pub(crate) fn submitted(self) -> Vec<&'static str> {
        let mut generator = SchemaGenerator::default();
        self.entries().filter(|entry| (entry.form)(&mut generator).is_some()).map(|entry| entry.name).collect()
    }

    /// The names of all kinds.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        self.entries().map(|entry| entry.name).collect()
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// What a document does whatever its kind.
trait AnyKind: Any + fmt::Debug + Send + Sync + erased_serde::Serialize {
    fn name(&self) -> &'static str;
    fn rank(&self) -> Rank;
    fn header(&self) -> &Header;
    fn header_mut(&mut self) -> &mut Header;
    fn section(&self) -> Section;
    fn rows(&self) -> Vec<Row>;
    fn mode(&self) -> Facts;
    fn setting(&self) -> Facts;
    fn together(&self, documents: &[&Document]) -> Option<Figure>;
    fn taken(&self) -> Option<Result<Taken, String>>;
    fn is(&self, other: &dyn Any) -> bool;
    fn copy(&self) -> Box<dyn AnyKind>;
}

impl<K: Kind> AnyKind for K {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn rank(&self) -> Rank {
        K::RANK
    }

    fn header(&self) -> &Header {
        Report::header(self)
    }

    fn header_mut(&mut self) -> &mut Header {
        Report::header_mut(self)
    }

    fn section(&self) -> Section {
        Kind::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        Kind::rows(self)
    }

    fn mode(&self) -> Facts {
        Kind::mode(self)
    }

    fn setting(&self) -> Facts {
        Kind::setting(self)
    }

    fn together(&self, documents: &[&Document]) -> Option<Figure> {
        K::together(&all_of(documents.iter().copied()))
    }

    fn taken(&self) -> Option<Result<Taken, String>> {
        Some(K::form()?.taken(self))
    }

    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<K>() == Some(self)
    }

    fn copy(&self) -> Box<dyn AnyKind> {
        Box::new(self.clone())
    }
}

/// A document of any kind. Its JSON has the name of the kind in the field `kind`, before all others.
#[derive(Debug)]
pub struct Document(Box<dyn AnyKind>);

impl<K: Kind> From<K> for Document {
    fn from(report: K) -> Self {
        Self(Box::new(report))
    }
}

impl Document {
    /// The name of its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.0.name()
    }

    /// The head that all documents have.
    #[must_use]
    pub fn header(&self) -> &Header {
        self.0.header()
    }

    /// The same, to be completed by a caller that knows more of the machine.
    pub fn header_mut(&mut self) -> &mut Header {
        self.0.header_mut()
    }

    /// The result, where it is of this kind.
    #[must_use]
    pub fn get<K: Kind>(&self) -> Option<&K> {
        let report: &dyn Any = &*self.0;
        report.downcast_ref()
    }

    pub(crate) fn rank(&self) -> Rank {
        self.0.rank()
    }

    pub(crate) fn section(&self) -> Section {
        self.0.section()
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        self.0.rows()
    }

    pub(crate) fn mode(&self) -> Facts {
        self.0.mode()
    }

    pub(crate) fn setting(&self) -> Facts {
        self.0.setting()
    }

    /// What of it leaves the device; `None` where it cannot be submitted.
    ///
    /// # Errors
    /// A field and its value that no measurement has.
    pub(crate) fn taken(&self) -> Option<Result<Taken, String>> {
        let kind = ("kind".to_owned(), Taken::One(self.kind().into()));
        let taken = self.0.taken()?;
        Some(taken.map(|taken| match taken {
            Taken::Fields(fields) => Taken::Fields(std::iter::once(kind).chain(fields).collect()),
            other => other,
        }))
    }
}

/// The results of one kind among documents.
fn all_of<'a, K: Kind>(documents: impl IntoIterator<Item = &'a Document>) -> Vec<&'a K> {
    documents.into_iter().filter_map(Document::get).collect()
}

/// What documents of the same kind show together, kind by kind.
pub(crate) fn together(documents: &[&Document]) -> Vec<Figure> {
    let is_first =
        |(i, document): &(usize, &&Document)| documents[..*i].iter().all(|one| one.kind() != document.kind());
    let kinds = documents.iter().enumerate().filter(is_first);
    kinds.filter_map(|(_, document)| document.0.together(documents)).collect()
}

impl Clone for Document {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(&*other.0)
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Named<'a> {
            kind: &'static str,
            #[serde(flatten)]
            report: &'a dyn erased_serde::Serialize,
        }
        let report: &dyn erased_serde::Serialize = &*self.0;
        Named { kind: self.kind(), report }.serialize(to)
    }
}

/// The list of a crate's kinds: the module of each study's result, `Result = "name"`, and what writes it. The results
/// are exported where the list stands.
#[macro_export]
macro_rules! kinds {
    ($($(#[doc = $about:literal])+ $($module:ident)::+ { $report:ident = $name:literal })+) => {
        $(pub use $($module)::+::*;)+

        $(impl $crate::Report for $report {
            const NAME: &'static str = $name;

            fn header(&self) -> &$crate::results::Header {
                &self.header
            }

            fn header_mut(&mut self) -> &mut $crate::results::Header {
                &mut self.header
            }
        })+

        /// The kinds of documents that are made here.
        pub const KINDS: &[$crate::Entry] = &[$($crate::Entry::of::<$report>(concat!($($about),+))),+];
    };
}
