//! Documents from JSON: one, an array of them, or several one behind the other as `cat` makes them.

use std::fmt;

use crate::kind::Kinds;
use crate::results::{Document, SCHEMA_VERSION};
use serde::Deserialize;
use serde::de::{self, Deserializer as _, SeqAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

/// Why a text is not a document of brisk.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Nothing but white space.
    #[error("there is nothing in it: write it with `brisk bench --json` or `brisk study ... --json`")]
    Empty,
    /// An array without elements.
    #[error("the list of documents is empty")]
    EmptyList,
    /// The text does not parse.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// JSON, but not one of our documents.
    #[error("it is JSON, but not a document of brisk: there is no \"kind\"")]
    NoKind,
    /// A kind that this version does not know.
    #[error("it is of kind \"{kind}\", which this version does not know; it knows {known}")]
    UnknownKind {
        /// What stands in the document.
        kind: String,
        /// What might stand there.
        known: String,
    },
    /// Written by a version whose fields mean something else.
    #[error("it has schema version {found}, and this version of brisk reads {SCHEMA_VERSION}: {}", remedy(.found))]
    WrongVersion {
        /// What stands in the document.
        found: String,
    },
    /// The right kind and version, but a field lacks or has the wrong type.
    #[error("the {kind} document is damaged: {reason}")]
    Damaged {
        /// Its kind.
        kind: String,
        /// What is wrong where.
        reason: String,
    },
}

fn remedy(found: &str) -> &'static str {
    if found.parse::<u64>().is_ok_and(|v| v > u64::from(SCHEMA_VERSION)) {
        "update brisk, or measure again with this one"
    } else {
        "measure again, or read it with the version that wrote it"
    }
}

/// All documents in `text`, which are of `kinds`. Takes little memory beyond the documents' own: a file of another
/// program is refused at its first value, whatever follows.
///
/// # Errors
/// When there is none, or one of them is not a document that this version understands.
pub fn parse(kinds: Kinds, text: &[u8]) -> Result<Vec<Document>, ReadError> {
    let mut documents = Vec::new();
    let mut values = 0;
    for value in serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>() {
        values += 1;
        let value = value.map_err(not_json)?;
        if value.get().starts_with('[') {
            let mut refused = None;
            let each = Each { kinds, documents: &mut documents, refused: &mut refused };
            let read = serde_json::Deserializer::from_str(value.get()).deserialize_seq(each);
            match (refused, read) {
                (Some(error), _) => return Err(error),
                (None, read) => read.map_err(not_json)?,
            }
        } else {
            documents.push(document(kinds, value)?);
        }
    }
    match (values, documents.is_empty()) {
        (0, _) => Err(ReadError::Empty),
        (_, true) => Err(ReadError::EmptyList),
        _ => Ok(documents),
    }
}

fn not_json(error: serde_json::Error) -> ReadError {
    ReadError::NotJson(error.to_string())
}

/// Reads a list document by document, and stops at the first that is none.
struct Each<'a> {
    kinds: Kinds,
    documents: &'a mut Vec<Document>,
    refused: &'a mut Option<ReadError>,
}

impl<'de> Visitor<'de> for Each<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of documents")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element::<&'de RawValue>()? {
            match document(self.kinds, value) {
                Ok(document) => self.documents.push(document),
                Err(error) => {
                    *self.refused = Some(error);
                    return Err(de::Error::custom("no document"));
                }
            }
        }
        Ok(())
    }
}

/// What is read of a document before all else.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    schema_version: Option<&'a RawValue>,
}

fn document(kinds: Kinds, value: &RawValue) -> Result<Document, ReadError> {
    let text = value.get();
    if !text.starts_with('{') {
        return Err(ReadError::NoKind);
    }
    let Head { kind, schema_version } = serde_json::from_str(text).map_err(not_json)?;
    let kind = kind.and_then(|kind| serde_json::from_str::<String>(kind.get()).ok()).ok_or(ReadError::NoKind)?;
    // The version goes first: a later one may have kinds that we do not know.
    let version = schema_version.and_then(|version| serde_json::from_str::<u64>(version.get()).ok());
    if version != Some(u64::from(SCHEMA_VERSION)) {
        let found = schema_version.map_or_else(|| "none".to_owned(), |v| v.get().chars().take(40).collect());
        return Err(ReadError::WrongVersion { found });
    }
    match kinds.read(&kind, text) {
        Ok(Some(document)) => Ok(document),
        Ok(None) => {
            let kind = kind.chars().take(40).collect();
            Err(ReadError::UnknownKind { kind, known: kinds.names().join(", ") })
        }
        Err(error) => Err(ReadError::Damaged { kind, reason: error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KINDS: Kinds = Kinds(&[crate::results::KINDS]);

    #[test]
    fn what_is_not_a_document_is_named() {
        let fails = |text: &str| parse(KINDS, text.as_bytes()).expect_err(text).to_string();
        assert!(matches!(parse(KINDS, b" \n"), Err(ReadError::Empty)));
        assert!(matches!(parse(KINDS, b"[]"), Err(ReadError::EmptyList)));
        assert!(fails("hello").contains("not JSON"));
        assert!(fails("{\"a\": 1}").contains("no \"kind\""));
        assert!(fails("7").contains("no \"kind\""));
        let poem = fails("{\"kind\": \"poem\", \"schema_version\": 1}");
        assert!(poem.contains("\"poem\"") && poem.contains("it knows comparison"), "{poem}");
        assert!(fails("{\"kind\": \"comparison\", \"schema_version\": 2}").contains("update brisk"));
        assert!(fails("{\"kind\": \"comparison\", \"schema_version\": \"one\"}").contains("schema version \"one\""));
        assert!(fails("{\"kind\": \"comparison\"}").contains("schema version none"));
        assert!(fails("{\"kind\": \"comparison\", \"schema_version\": 1}").contains("missing field"));
        assert!(fails("{\"kind\": \"comparison\", \"schema_").contains("not JSON"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(KINDS, &text);
        }
    }
}
