//! What of results leaves a device when its owner submits them to a fleet.
//!
//! A [`Submission`] is built field by field: it is a list of what is taken, not of what is removed. What of a result is
//! taken is in the [`Form`] of its kind; figures leave by their measures, which are declared to leave or stay. Free
//! text never passes: words are identifiers of brisk or of the kernel, names of devices lose what identifies one device
//! or person ([`text`]), numbers are rounded to four digits, times to the day.
//!
//! Terms: a *submission* has the results of one storage device; its *id* is the SHA-256 of its canonical JSON (RFC
//! 8785), so what is sent twice is stored once; an [`Envelope`] is the file, or the body of the request: submission,
//! id, and the digest of the secret by which its sender can delete it.
//!
//! [`schema()`] has the JSON Schema of an envelope; the receiver (`fleet`) has a copy, which a test keeps fresh, and
//! validates by it. What is optional is left out where it is missing, never null.
//!
//! Properties, each with a test of that name:
//! - no path, host, serial or address leaves;
//! - the same results have the same id, whatever their order;
//! - every submission is valid by the schema's limits.

mod form;
mod head;
mod number;
pub mod text;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::kind::{Document, Kinds};
pub use form::{Form, Taken};
use text::{Day, Hex, Name, Release, Word};

/// Version of [`Submission`].
pub const SCHEMA_VERSION: u32 = 1;

/// Most results of a submission.
pub const RESULTS_MAX: usize = 16;

/// The results of one storage device.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// [`SCHEMA_VERSION`].
    #[schemars(range(min = 1, max = 1))]
    pub schema_version: u32,
    /// Day of the newest result, in UTC.
    pub day: Day,
    /// Version of brisk that measured.
    pub brisk_version: Release,
    /// The machine, as far as it is told.
    pub machine: Machine,
    /// The storage device.
    pub storage: Storage,
    /// What was measured.
    #[schemars(length(min = 1, max = 16))]
    pub results: Vec<Taken>,
}

/// Any value: what a result has is in its form.
impl JsonSchema for Taken {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Submitted".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

/// The machine: what many of its model share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Maker and model, when the sender gave them, such as `Samsung SM-G900F`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub model: Option<Name>,
    /// Version of the kernel, the first two numbers.
    pub kernel: Release,
    /// Such as `aarch64`.
    pub architecture: Word,
    /// Processors online, at most 256.
    #[schemars(range(min = 1, max = 256))]
    pub cpus: u32,
}

/// Sort of a storage device: the class within which models are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Soldered flash of phones and boards.
    Emmc,
    /// SD card.
    Sd,
    /// Universal Flash Storage.
    Ufs,
    /// NVMe drive.
    Nvme,
    /// Stick or drive on USB.
    Usb,
    /// Disk of a virtual machine.
    Virtual,
    /// Other disk.
    Disk,
}

/// The storage device: what many of its model share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// What the device calls itself, without its firmware; for an emulated one, the preset.
    pub model: Name,
    /// Revision of the firmware, where the device tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    pub firmware: Option<Name>,
    /// Its sort.
    pub kind: Kind,
    /// Capacity in GiB, up to the next power of two.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub size_gib: u32,
    /// The device is emulated, in real or model time: such results are never mixed with those of real devices.
    pub emulated: bool,
}

/// What a file of `brisk submit` holds, and the body of its request.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// SHA-256 of the canonical JSON (RFC 8785) of `submission`, in hexadecimal digits.
    pub id: Hex,
    /// SHA-256 of the secret that deletes the submission, in hexadecimal digits.
    pub deletion_key_sha256: Hex,
    /// The results.
    pub submission: Submission,
}

/// Why documents are no submission.
#[derive(Debug, Error)]
pub enum SubmissionError {
    /// A kind without a form here.
    #[error("a document of kind \"{0}\" cannot be submitted; these can: {1}")]
    Kind(&'static str, String),
    /// The document names no block device.
    #[error("the {0} document names no single block device{1}: results without one cannot be compared")]
    NoDevice(&'static str, String),
    /// Nothing tells which sort of storage it is.
    #[error("the sort of the device {0} is not known here: give it with --kind")]
    NoKind(String),
    /// More than one device.
    #[error("the documents are of different devices ({0} and {1}): submit those of one device at a time")]
    Devices(String, String),
    /// None or too many results.
    #[error("{0} results: a submission has 1 to {RESULTS_MAX}")]
    Count(usize),
    /// A time that is no time.
    #[error("the start \"{0}\" is no time")]
    Started(String),
    /// A value that a submission cannot hold.
    #[error("the {kind} document has {what}, which no measurement gives: it may be damaged")]
    Value {
        /// Kind of the document.
        kind: &'static str,
        /// The field and value.
        what: String,
    },
}

/// What the documents do not tell, and the caller may know.
#[derive(Debug, Clone, Default)]
pub struct Known<'a> {
    /// Model of the machine.
    pub machine: Option<&'a str>,
    /// Sort of the storage device.
    pub kind: Option<Kind>,
    /// Firmware of the storage device.
    pub firmware: Option<&'a str>,
    /// Words that identify this machine (its host name): removed from what a person wrote, the model of the machine.
    /// What hardware says of itself is not personal, and may have any word.
    pub private: &'a [String],
}

impl Submission {
    /// The submission of `documents`, all of one device.
    ///
    /// # Errors
    /// When a document cannot be submitted, or they are of different devices.
    pub fn of(kinds: Kinds, documents: &[Document], known: &Known<'_>) -> Result<Self, SubmissionError> {
        head::submission(kinds, documents, known)
    }

    /// SHA-256 of its canonical JSON, in hexadecimal digits.
    ///
    /// # Panics
    /// Never: all numbers are finite.
    #[must_use]
    pub fn id(&self) -> Hex {
        let canonical = serde_json_canonicalizer::to_vec(self).expect("all numbers are finite");
        Hex::of(&Sha256::digest(canonical).into())
    }

    /// The file or body, deletable by `secret`.
    #[must_use]
    pub fn into_envelope(self, secret: &str) -> Envelope {
        let deletion_key_sha256 = Hex::of(&Sha256::digest(secret.as_bytes()).into());
        Envelope { id: self.id(), deletion_key_sha256, submission: self }
    }
}

/// The JSON Schema (draft 2020-12) of an envelope with results of these kinds.
#[must_use]
pub fn schema(kinds: Kinds) -> String {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let of_kinds: Vec<Schema> = kinds.forms(&mut generator).collect();
    let submitted = json!({ "description": "One document, reduced.", "oneOf": of_kinds });
    let mut schema = generator.into_root_schema_for::<Envelope>();
    if let Some(definition) = schema.pointer_mut("/$defs/Submitted") {
        *definition = submitted;
    }
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}
