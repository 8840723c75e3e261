//! `--json[=FILE]` of commands that show facts: one JSON document with its kind and version, instead of text or in a
//! file.
//!
//! Documents of measurements are those of `brisk_report::results`, and [`crate::output`] writes them; their form is the
//! same.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use serde::Serialize;

use crate::output::{check_file, is_standard, replace};
use crate::{print, print_exactly};

/// The option.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Json {
    /// Print one JSON document for programs instead of text, or write it into FILE as well
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,
}

/// A document: its kind and the version of its form, then the facts.
#[derive(Debug, Serialize)]
pub struct Document<T> {
    kind: &'static str,
    schema_version: u32,
    #[serde(flatten)]
    facts: T,
}

impl<T: Serialize> Document<T> {
    /// The first version of this kind. `facts` is a struct or a map.
    pub fn new(kind: &'static str, facts: T) -> Self {
        Self { kind, schema_version: 1, facts }
    }

    /// A later version: to be raised with each change that breaks readers.
    #[must_use]
    pub fn version(self, schema_version: u32) -> Self {
        Self { schema_version, ..self }
    }

    fn text(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self).context("cannot write JSON")? + "\n")
    }
}

impl From<Option<PathBuf>> for Json {
    fn from(json: Option<PathBuf>) -> Self {
        Self { json }
    }
}

impl Json {
    /// Refuses a file that could not be written later, before minutes are spent, and one of the `inputs` of the
    /// command.
    ///
    /// # Errors
    /// When it cannot be made, or is one of them.
    pub fn check(&self, inputs: &[PathBuf]) -> anyhow::Result<()> {
        let Some(file) = self.json.as_deref().filter(|file| !is_standard(file)) else { return Ok(()) };
        if let Ok(file) = file.canonicalize()
            && inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == file))
        {
            bail!("--json={} is the file to read: name another one", file.display());
        }
        check_file(file).with_context(|| format!("cannot write --json={}", file.display()))
    }

    /// Whether the document goes to standard output, in place of text.
    #[must_use]
    pub fn is_printed(&self) -> bool {
        self.json.as_deref().is_some_and(is_standard)
    }

    /// Shows documents that have a kind and version already: as text, or as a list of them where that was asked for.
    ///
    /// # Errors
    /// When the file or standard output cannot be written.
    pub fn show_list(&self, documents: &[impl Serialize], text: impl FnOnce() -> String) -> anyhow::Result<()> {
        let list = || Ok(serde_json::to_string_pretty(documents).context("cannot write JSON")? + "\n");
        if self.put(list)? { Ok(()) } else { print(&text()) }
    }

    /// The same for a text that programs read as well, such as TOML.
    ///
    /// # Errors
    /// When the file or standard output cannot be written.
    pub fn show_exactly<T: Serialize>(&self, document: &Document<T>, text: &str) -> anyhow::Result<()> {
        if self.put(|| document.text())? { Ok(()) } else { print_exactly(text) }
    }

    /// Writes JSON where it is to go; gives whether it took the place of text.
    fn put(&self, json: impl FnOnce() -> anyhow::Result<String>) -> anyhow::Result<bool> {
        match &self.json {
            Some(file) if is_standard(file) => print_exactly(&json()?).map(|()| true),
            Some(file) => {
                self.check(&[])?;
                replace(file, json()?.as_bytes()).map(|()| false)
            }
            None => Ok(false),
        }
    }

    /// Shows facts: as text, or as a document where that was asked for.
    ///
    /// # Errors
    /// When the file or standard output cannot be written.
    pub fn show<T: Serialize>(&self, document: &Document<T>, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        if self.put(|| document.text())? { Ok(()) } else { print(&text()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_document_has_its_kind_and_version_before_the_facts() {
        let text = Document::new("test", json!({ "devices": [1] })).version(2).text().expect("JSON");
        let read: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, json!({ "kind": "test", "schema_version": 2, "devices": [1] }));
        assert!(text.find("kind") < text.find("schema_version") && text.find("schema_version") < text.find("devices"));
    }

    #[test]
    fn a_file_is_written_whole_and_text_is_printed_as_well() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("facts.json");
        let json = Json { json: Some(file.clone()) };
        let mut asked = false;
        json.show(&Document::new("test", json!({})), || {
            asked = true;
            String::new()
        })
        .expect("written");
        let read: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
        assert!(asked && !json.is_printed() && read["kind"] == "test");
    }
}
