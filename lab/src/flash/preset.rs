//! Devices as data: a preset gives each parameter of a device with the source of its value.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::flash::parameters::{self, FIELDS, Field, ParameterError, Unit};
use crate::flash::raw::Params;

/// Why a preset is invalid.
#[derive(Debug, Error)]
pub enum PresetError {
    #[error("line {line}: {reason}")]
    Syntax { line: usize, reason: String },
    #[error("preset '{preset}': {error}")]
    Parameter { preset: String, error: ParameterError },
    #[error(
        "there is no preset '{name}'{} `brisk phone presets` lists them, and a file of your own has a / in its path or \
         ends in .toml",
        near.map_or_else(|| ":".to_owned(), |near| format!("; did you mean '{near}'?"))
    )]
    Unknown { name: String, near: Option<&'static str> },
}

/// One parameter of a preset, for listings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; the last word is the unit.
    pub name: &'static str,
    pub unit: Unit,
    pub value: String,
    pub about: &'static str,
    /// Source of the value; empty for the neutral default.
    pub source: String,
}

/// Parameters of a device, without its capacity.
#[derive(Debug, Clone)]
pub struct Preset {
    /// Short name, such as `galaxy-s5-emmc`.
    pub name: String,
    /// Description in one line.
    pub title: String,
    /// Basis of the values, and limits of their validity.
    pub note: String,
    params: Params,
    sources: BTreeMap<&'static str, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    #[serde(default)]
    note: String,
    parameters: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    value: toml::Value,
    source: String,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        const BUILT_IN: &[(&str, &str)] = &[$(($name, include_str!(concat!("presets/", $name, ".toml")))),*];
    };
}

built_in!(
    "galaxy-s5-emmc",
    "nexus4-emmc",
    "emmc-5.1",
    "ufs-3.1",
    "pcm",
    "sd-transcend",
    "sd-ridata",
    "sd-sandisk",
    "sd-kingston",
    "sd-wintec",
    "sd-adata",
    "sd-patriot",
    "sd-pny",
);

impl Preset {
    /// The built-in preset of that name.
    ///
    /// # Errors
    /// When there is none; the error has a similar name, if there is one.
    pub fn builtin(name: &str) -> Result<Self, PresetError> {
        match BUILT_IN.iter().find(|(n, _)| *n == name) {
            Some((_, text)) => Self::from_toml(text),
            None => Err(PresetError::Unknown {
                name: name.to_owned(),
                near: parameters::near(name, BUILT_IN.iter().map(|(n, _)| *n)),
            }),
        }
    }

    /// Names of the built-in presets.
    #[must_use]
    pub fn builtin_names() -> Vec<&'static str> {
        BUILT_IN.iter().map(|(name, _)| *name).collect()
    }

    /// Parses a preset from TOML.
    ///
    /// # Errors
    /// When the text is invalid TOML, or a parameter is unknown or outside of its range.
    pub fn from_toml(text: &str) -> Result<Self, PresetError> {
        let file: File = toml::from_str(text).map_err(|error| PresetError::Syntax {
            line: 1 + text
                .bytes()
                .take(error.span().map_or(0, |span| span.start))
                .filter(|byte| *byte == b'\n')
                .count(),
            reason: error.message().trim().replace('\n', ", "),
        })?;
        let mut preset = Self {
            name: file.name,
            title: file.title,
            note: file.note,
            params: parameters::neutral(),
            sources: BTreeMap::new(),
        };
        for (name, entry) in &file.parameters {
            let text = match &entry.value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let set = Field::find(name).and_then(|field| {
                (field.set)(&mut preset.params, field.parse(&text)?);
                preset.sources.insert(field.name, entry.source.clone());
                Ok(())
            });
            set.map_err(|error| PresetError::Parameter { preset: preset.name.clone(), error })?;
        }
        // Any capacity serves to check the others.
        preset.raw(1 << 18).map_err(|error| PresetError::Parameter { preset: preset.name.clone(), error })?;
        Ok(preset)
    }

    /// Changes one parameter by its name; unchanged when the value is refused.
    ///
    /// # Errors
    /// When the name is unknown or the value is not one that the model accepts.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParameterError> {
        let field = Field::find(name)?;
        let mut params = self.params.clone();
        (field.set)(&mut params, field.parse(value)?);
        parameters::check(&Params { pages: 1 << 18, ..params.clone() })?;
        self.params = params;
        self.sources.insert(field.name, "set by hand".to_owned());
        Ok(())
    }

    /// Queue depth of the device.
    #[must_use]
    pub fn queue_depth_requests(&self) -> u32 {
        self.params.queue_depth
    }

    /// Whether the device has a volatile write cache.
    #[must_use]
    pub fn write_cache(&self) -> bool {
        self.params.write_cache != 0
    }

    /// All parameters with their values.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        FIELDS
            .iter()
            .map(|field| Parameter {
                name: field.name,
                unit: field.unit,
                value: field.format((field.get)(&self.params)),
                about: field.about,
                source: self.sources.get(field.name).cloned().unwrap_or_default(),
            })
            .collect()
    }

    pub(crate) fn raw(&self, pages: u64) -> Result<Params, ParameterError> {
        let params = Params { pages, ..self.params.clone() };
        parameters::check(&params)?;
        Ok(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_preset_is_valid_and_named_as_its_file() {
        for name in Preset::builtin_names() {
            let preset = Preset::builtin(name).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(preset.name, name);
            assert!(!preset.title.is_empty() && !preset.note.is_empty(), "{name} lacks title or note");
        }
    }

    #[test]
    fn every_number_of_a_built_in_preset_has_a_source() {
        for name in Preset::builtin_names() {
            let preset = Preset::builtin(name).expect("valid");
            let neutral = Preset { params: parameters::neutral(), sources: BTreeMap::new(), ..preset.clone() };
            for (parameter, neutral) in preset.parameters().iter().zip(neutral.parameters()) {
                assert!(
                    parameter.value == neutral.value || parameter.source.len() > 6,
                    "{name}: {} has no source",
                    parameter.name
                );
            }
        }
    }

    #[test]
    fn mistakes_in_a_preset_are_named() {
        let head = "name = \"x\"\ntitle = \"y\"\n";
        let wrong = [
            ("name = 1", "line 1: "),
            ("name = \"x\"\ntitle = [", "line 2: "),
            (&format!("{head}colour = 1\n[parameters]"), "colour"),
            (&format!("{head}[parameters]\nreed_us = {{ value = 1, source = \"guess\" }}"), "read_us"),
            (&format!("{head}[parameters]\nunits = {{ value = -1, source = \"guess\" }}"), "a whole number"),
            (&format!("{head}[parameters]\nunits = {{ value = 500, source = \"guess\" }}"), "units is outside"),
            (&format!("{head}[parameters]\nunits = {{ value = 5 }}"), "source"),
        ];
        for (text, expected) in wrong {
            let error = Preset::from_toml(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn only_a_similar_name_is_suggested() {
        let said = |name: &str| Preset::builtin(name).expect_err(name).to_string();
        for (name, meant) in [
            ("galaxy-s5-emcm", "galaxy-s5-emmc"),
            ("Nexus4-eMMC", "nexus4-emmc"),
            ("galaxy", "galaxy-s5-emmc"),
            ("galaxy-s9", "galaxy-s5-emmc"),
            ("pmc", "pcm"),
            ("ufs", "ufs-3.1"),
        ] {
            assert!(said(name).contains(&format!("did you mean '{meant}'?")), "{}", said(name));
        }
        for name in ["", "x", "ssd", "nvme", "hello", "a-name-that-is-like-none-of-them"] {
            assert!(!said(name).contains("did you mean"), "{}", said(name));
            assert!(said(name).contains("brisk phone presets"), "{}", said(name));
        }
    }

    #[test]
    fn a_refused_value_leaves_the_preset_as_it_was() {
        let mut preset = Preset::builtin("galaxy-s5-emmc").expect("built in");
        let before = preset.parameters();
        assert!(preset.set("units", "1000").is_err());
        assert!(preset.set("units", "many").is_err());
        assert_eq!(preset.parameters(), before);
    }
}
