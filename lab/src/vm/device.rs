//! The guest's flash device as parameters of its kernel module: fields of `struct bf_params`.
//!
//! A preset has parameters with convenient units (`read_us = 70`); the module takes the core's fields
//! (`read_ns=70000`). The names differ only in the unit, so the table of [`crate::flash`] is the only list of them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::flash::{PAGE_BYTES, Preset, Unit};
use serde::Deserialize;

use crate::vm::error::{Error, Result};

/// Smallest capacity for the presets' blocks.
const SIZE_MIN_BYTES: u64 = 64 << 20;
/// Largest capacity: the guest holds the data in memory.
const SIZE_MAX_BYTES: u64 = 4 << 30;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpec {
    /// A built-in preset, or a file in `kernel/scenarios/devices`.
    pub preset: String,
    /// Capacity, such as `512MiB`.
    pub size: String,
    /// Driver tags; the preset's by default.
    #[serde(default)]
    pub depth_requests: Option<u32>,
    #[serde(default = "one")]
    pub queues: u32,
    /// Overrides of the preset's parameters.
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
}

fn one() -> u32 {
    1
}

/// A device with all parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub preset: String,
    pub changed: BTreeMap<String, String>,
    pub size_bytes: u64,
    /// Driver tags.
    pub depth_requests: u32,
    pub queues: u32,
    /// Fields of `struct bf_params` and their values, the capacity included.
    pub fields: Vec<(String, String)>,
}

impl DeviceSpec {
    /// Loads the preset (`devices` holds preset files) and computes the parameters.
    ///
    /// # Errors
    /// When the preset, the capacity or a change is not valid.
    pub fn resolve(&self, devices: &Path) -> std::result::Result<Device, String> {
        let mut preset = self.find(devices).map_err(|error| error.to_string())?;
        let mut changed = BTreeMap::new();
        for (name, value) in &self.set {
            let text = match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            preset.set(name, &text).map_err(|error| error.to_string())?;
            changed.insert(name.clone(), text);
        }
        let size_bytes = brisk_core::units::parse_bytes(&self.size).map_err(|error| format!("size: {error}"))?;
        if !(SIZE_MIN_BYTES..=SIZE_MAX_BYTES).contains(&size_bytes) || !size_bytes.is_multiple_of(PAGE_BYTES) {
            return Err(format!("size: {} is not from 64 MiB to 4 GiB in pages of 4 KiB", self.size));
        }
        if let Some(depth) = self.depth_requests {
            if !(1..=128).contains(&depth) {
                return Err(format!("depth_requests: {depth} is not from 1 to 128"));
            }
            preset.set("queue_depth_requests", &depth.to_string()).map_err(|error| error.to_string())?;
        }
        if !(1..=64).contains(&self.queues) {
            return Err(format!("queues: {} is not from 1 to 64", self.queues));
        }
        crate::flash::Device::new(&preset, size_bytes).map_err(|error| error.to_string())?;
        Ok(Device {
            preset: self.preset.clone(),
            changed,
            size_bytes,
            depth_requests: preset.queue_depth_requests(),
            queues: self.queues,
            fields: fields(&preset, size_bytes),
        })
    }

    fn find(&self, devices: &Path) -> Result<Preset> {
        let name = &self.preset;
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        let path = devices.join(format!("{name}.toml"));
        let bad = |why: String| Error::BadFile { path: path.clone(), why };
        if plain && path.exists() {
            let text = brisk_program::files::read_text(&path, brisk_program::files::TEXT_BYTES_MAX)?;
            return Preset::from_toml(&text).map_err(|error| bad(error.to_string()));
        }
        Preset::builtin(name).map_err(|error| Error::BadOption(error.to_string()))
    }
}

/// The core's fields: times in nanoseconds, numbers for words.
fn fields(preset: &Preset, size_bytes: u64) -> Vec<(String, String)> {
    let mut fields = vec![("pages".to_owned(), (size_bytes / PAGE_BYTES).to_string())];
    for parameter in preset.parameters() {
        let name = parameter.name;
        let (field, value) = match parameter.unit {
            Unit::Microseconds => {
                let us: f64 = parameter.value.parse().unwrap_or_default();
                let stem = name.strip_suffix("_us").unwrap_or(name);
                (format!("{stem}_ns"), format!("{:.0}", us * 1e3))
            }
            Unit::Flag => (name.to_owned(), u8::from(parameter.value == "true").to_string()),
            Unit::Mapping => {
                let of = ["page", "log_block", "in_place"].iter().position(|word| *word == parameter.value);
                (name.to_owned(), of.unwrap_or_default().to_string())
            }
            Unit::Nanojoules | Unit::Count => {
                (name.strip_suffix("_requests").unwrap_or(name).to_owned(), parameter.value)
            }
        };
        fields.push((field, value));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> DeviceSpec {
        toml::from_str(text).expect("TOML")
    }

    #[test]
    fn the_fields_are_exactly_those_of_the_core() {
        let header = include_str!("../flash/c/brisk_flash.h");
        let body = header.split_once("struct bf_params {").expect("the struct").1.split_once("};").expect("its end").0;
        let mut declared: Vec<&str> = body
            .lines()
            .filter_map(|line| line.trim().strip_prefix("uint64_t").or_else(|| line.trim().strip_prefix("uint32_t")))
            .flat_map(|line| line.split_once(';').expect("a field ends").0.split(','))
            .map(str::trim)
            .collect();
        let device = spec("preset = \"galaxy-s5-emmc\"\nsize = \"256MiB\"").resolve(Path::new("/nowhere")).expect("ok");
        let mut ours: Vec<&str> = device.fields.iter().map(|(name, _)| name.as_str()).collect();
        declared.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, declared);
    }

    #[test]
    fn units_become_those_of_the_core() {
        let device =
            spec("preset = \"galaxy-s5-emmc\"\nsize = \"256MiB\"\ndepth_requests = 8\nset = { read_us = 1.5 }")
                .resolve(Path::new("/nowhere"))
                .expect("valid");
        let value = |name: &str| device.fields.iter().find(|(field, _)| field == name).expect(name).1.as_str();
        assert_eq!((value("read_ns"), value("queue_depth"), value("write_cache")), ("1500", "8", "1"));
        assert_eq!((value("pages"), value("program_ns"), device.depth_requests), ("65536", "380000", 8));
        assert_eq!(device.changed["read_us"], "1.5");
    }

    #[test]
    fn invalid_devices_are_named() {
        let nowhere = Path::new("/nowhere");
        for (text, word) in [
            ("preset = \"galaxy-s9\"\nsize = \"1GiB\"", "galaxy-s5-emmc"),
            ("preset = \"ufs-3.1\"\nsize = \"1MiB\"", "64 MiB"),
            ("preset = \"ufs-3.1\"\nsize = \"1GiB\"\nqueues = 0", "queues"),
            ("preset = \"ufs-3.1\"\nsize = \"1GiB\"\ndepth_requests = 500", "depth_requests"),
            ("preset = \"ufs-3.1\"\nsize = \"1GiB\"\nset = { reed_us = 1 }", "read_us"),
        ] {
            let error = spec(text).resolve(nowhere).expect_err(text);
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
