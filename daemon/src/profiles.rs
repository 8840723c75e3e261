//! What was measured on devices, by `brisk tune`: files of the engines and one of speeds, for each model of device.

use std::collections::BTreeMap;
use std::path::Path;

use brisk_api::{PARTS, Tried, Tries};
use brisk_core::device::{Device, Speeds};
use brisk_engine::smartio::{self, file_name};
use brisk_engine::smartstorage;
use serde::{Deserialize, Serialize};

/// Folder of [`MeasuredSpeeds`].
pub const SPEEDS: &str = "speeds";

/// Folder of [`Tries`].
pub const TRIES: &str = "tries";

/// Larger files are none of ours, and left out.
pub const FILE_BYTES_MAX: u64 = 256 << 10;
/// A record holds all of them in one piece.
const ALL_BYTES_MAX: usize = 512 << 10;

/// How fast devices of a model are. The form of `/var/lib/brisk/profiles/speeds/MODEL.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredSpeeds {
    /// The device's own name, firmware included.
    pub model: String,
    /// When, RFC 3339.
    pub measured_at: String,
    pub speeds: Speeds,
}

impl MeasuredSpeeds {
    /// Reads it from its text.
    ///
    /// # Errors
    /// When it is none, or has values that are no speeds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found: Self = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        match found.speeds.fault() {
            None => Ok(found),
            Some((name, value)) => Err(format!("{name} = {value} is no speed")),
        }
    }
}

/// Tells each device how fast it is, from files as [`read`] returns them; complaints about those that cannot be used.
pub fn add_speeds(devices: &mut [Device], files: &BTreeMap<String, String>) -> Vec<String> {
    let mut complaints = Vec::new();
    for device in devices {
        let file_of = |model: &str| format!("{SPEEDS}/{}", file_name(model));
        let models = [Some(device.model.as_str()), device.model_of_any_firmware()].into_iter().flatten();
        let name = models.filter(|model| !model.is_empty()).map(file_of).find(|name| files.contains_key(name));
        device.speeds = name.and_then(|name| {
            MeasuredSpeeds::parse(&files[&name])
                .map_err(|why| complaints.push(format!("{name} cannot be used, so speeds are assumed: {why}")))
                .ok()
                .map(|measured| measured.speeds)
        });
    }
    complaints
}

/// What of [`brisk_api::PARTS`] was measured of a device, by the files that [`read`] returns.
#[must_use]
pub fn measured(device: &Device, files: &BTreeMap<String, String>) -> Vec<String> {
    let toml = file_name(&device.model);
    let json = format!("{}.json", toml.trim_end_matches(".toml"));
    // Settings that were shipped or given have no evidence.
    let has = |name: String, mark: &str| files.get(&name).is_some_and(|text| text.contains(mark));
    let parts = [
        device.speeds.is_some(),
        has(format!("{}/{toml}", smartio::NAME), "[evidence]"),
        has(format!("{}/{json}", smartstorage::NAME), ""),
    ];
    let tries = tries(device, files);
    let is_known = |(part, is_measured): &(&str, bool)| *is_measured || tries.is_settled(part);
    PARTS.into_iter().zip(parts).filter(is_known).map(|(part, _)| part.to_owned()).collect()
}

/// What `brisk tune` tried to measure of a device, and when it tries again.
#[must_use]
pub fn tried(device: &Device, files: &BTreeMap<String, String>) -> Vec<Tried> {
    let known = measured(device, files);
    let tried = tries(device, files).shown();
    tried.into_iter().filter(|tried| !known.contains(&tried.part)).collect()
}

/// Whether a file is of [`Tries`], which no engine reads.
#[must_use]
pub fn is_of_tries(name: &str) -> bool {
    name.split_once('/').is_some_and(|(folder, _)| folder == TRIES)
}

/// A damaged file is as none: it only keeps measurements from being repeated.
fn tries(device: &Device, files: &BTreeMap<String, String>) -> Tries {
    let text = files.get(&format!("{TRIES}/{}", file_name(&device.model)));
    text.and_then(|text| toml::from_str(text).ok()).unwrap_or_default()
}

/// Texts of all finished files (`.toml`, `.json`) in the folders of `dir`, by folder and name: `smartio/MODEL.toml`.
/// What cannot be read is left out, and so is what is beyond half a megabyte in all.
#[must_use]
pub fn read(dir: &Path) -> BTreeMap<String, String> {
    let mut found: Vec<(String, std::path::PathBuf)> = Vec::new();
    for folder in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let (folder, name) = (folder.file_name(), file.file_name());
            if let (Some(folder), Some(name)) = (folder.to_str(), name.to_str())
                && !name.starts_with('.')
                && (name.ends_with(".toml") || name.ends_with(".json"))
            {
                found.push((format!("{folder}/{name}"), file.path()));
            }
        }
    }
    found.sort();
    let mut files = BTreeMap::new();
    let mut bytes = 0;
    for (name, path) in found {
        if let Ok(text) = brisk_program::files::read_text(&path, FILE_BYTES_MAX) {
            bytes += name.len() + text.len();
            if bytes > ALL_BYTES_MAX {
                brisk_program::warn!(
                    "briskd: {} holds more than {ALL_BYTES_MAX} bytes; {name} and later ones are left out",
                    dir.display()
                );
                break;
            }
            files.insert(name, text);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_as_fast_as_was_measured_on_its_model() {
        let speeds = Speeds { random_read_us: 321.0, ..Speeds::of_kind("sd") };
        let measured = MeasuredSpeeds { model: "X, firmware 2".into(), measured_at: "2026-11-26".into(), speeds };
        let text = toml::to_string(&measured).expect("TOML");
        assert_eq!(MeasuredSpeeds::parse(&text), Ok(measured));
        let of = |model: &str| Device { model: model.to_owned(), kind: "sd".to_owned(), ..Device::default() };
        let broken = text.replace("321.0", "0.0");
        let files = BTreeMap::from([
            (format!("{SPEEDS}/{}", file_name("X, firmware 2")), text),
            (format!("{SPEEDS}/{}", file_name("Y")), broken),
        ]);
        let mut devices = ["X, firmware 2", "X, firmware 3", "Y, firmware 1", ""].map(of);
        let complaints = add_speeds(&mut devices, &files);
        assert_eq!(devices.map(|device| device.speeds().random_read_us), [321.0, 1_250.0, 1_250.0, 1_250.0]);
        assert_eq!(complaints, ["speeds/Y.toml cannot be used, so speeds are assumed: random_read_us = 0 is no speed"]);
    }

    #[test]
    fn a_part_where_nothing_is_better_is_known_and_one_that_failed_is_tried_again() {
        use brisk_api::Ended;

        let device = Device { model: "X".to_owned(), kind: "sd".to_owned(), ..Device::default() };
        let mut tries = Tries::default();
        for (part, ended) in [("settings", Ended::NothingBetter), ("costs", Ended::Failed)] {
            tries.end(part, 7, 1, Some((ended, "so".to_owned())));
        }
        let text = toml::to_string(&tries).expect("TOML");
        let files = BTreeMap::from([(format!("{TRIES}/{}", file_name("X")), text.clone())]);
        assert_eq!(measured(&device, &files), ["settings"]);
        assert_eq!(tried(&device, &files).iter().map(|tried| tried.part.as_str()).collect::<Vec<_>>(), ["costs"]);
        let costs = format!("{}/{}", smartstorage::NAME, file_name("X").replace(".toml", ".json"));
        let known = BTreeMap::from([(costs, String::new()), (format!("{TRIES}/{}", file_name("X")), text)]);
        assert_eq!(tried(&device, &known), []);
        let damaged = BTreeMap::from([(format!("{TRIES}/{}", file_name("X")), "x".to_owned())]);
        assert_eq!((measured(&device, &damaged), tried(&device, &damaged)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn files_are_known_by_folder_and_name() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(dir.path().join("smartio")).expect("made");
        std::fs::write(dir.path().join("smartio/a b.toml"), "x = 1\n").expect("written");
        std::fs::write(dir.path().join("smartio/.tmp"), "half").expect("written");
        std::fs::write(dir.path().join("smartio/large.json"), vec![b'x'; 300 << 10]).expect("written");
        std::fs::write(dir.path().join("smartio/half.unfinished"), "half").expect("written");
        std::fs::write(dir.path().join("loose"), "x").expect("written");
        let expected = BTreeMap::from([("smartio/a b.toml".to_owned(), "x = 1\n".to_owned())]);
        assert_eq!(read(dir.path()), expected);
        assert_eq!(read(&dir.path().join("none")), BTreeMap::new());
    }
}
