//! Scenarios: files with device, loads and bounds.
//!
//! A load is a set of concurrent jobs; a job is a line of arguments for the guest's probe, and belongs to a *side*.
//! Names, seeds and lengths are added by the host. With `alone = true` each side is also run without the others, for
//! the slowdowns. A file with `base = "NAME"` has all of the scenario NAME in the same directory but for the keys that
//! it gives itself; loads and jobs are matched by name.

use std::fmt;
use std::path::{Path, PathBuf};

use brisk_core::units::{format_bytes, parse_bytes};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::vm::aims::Aim;
use crate::vm::device::{Device, DeviceSpec};
use crate::vm::error::{Error, Result};
use crate::vm::refuse::REPEAT_PERCENT_MAX;

/// Class of jobs of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Synchronous writes: fsync or commits.
    Sync,
    Read,
    /// Reads and writes of one job.
    Mixed,
    Write,
    Trim,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sync => "sync",
            Self::Read => "read",
            Self::Mixed => "mixed",
            Self::Write => "write",
            Self::Trim => "trim",
        })
    }
}

/// A file system on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSystem {
    Ext4,
    F2fs,
    /// Swap space instead of a file system.
    Swap,
}

impl FileSystem {
    /// Its name for mkfs and mount.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::F2fs => "f2fs",
            Self::Swap => "swap",
        }
    }
}

/// A set of equal jobs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// Unique in its load.
    pub name: String,
    pub side: Side,
    /// Number of jobs; with `size`, each gets its own part, one after the other.
    #[serde(default = "one")]
    pub count: u32,
    /// Arguments of the probe: `key=value`, separated by spaces; sizes may have units.
    pub probe: String,
}

fn one() -> u32 {
    1
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Unique in its scenario.
    pub name: String,
    /// Length, for jobs without `stop_bytes`.
    #[serde(default)]
    pub seconds: f64,
    /// Initial time that is not counted.
    #[serde(default)]
    pub warm_seconds: f64,
    /// Whether each side is also measured alone.
    #[serde(default)]
    pub alone: bool,
    /// Whether a search uses it; if no load says so, it uses all.
    #[serde(default)]
    pub search: bool,
    #[serde(rename = "job")]
    pub jobs: Vec<JobSpec>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The file's name without its ending.
    #[serde(skip)]
    pub name: String,
    pub title: String,
    /// The question that it answers.
    pub question: String,
    #[serde(rename = "device")]
    pub spec: DeviceSpec,
    /// File system for the jobs; the raw device where absent.
    #[serde(default)]
    pub file_system: Option<FileSystem>,
    /// Memory of the guest, without the device's data.
    #[serde(default = "memory")]
    pub memory: String,
    /// Least write throughput of tuned settings, in percent of the best defaults.
    #[serde(default = "write_min")]
    pub write_min_percent: f64,
    /// Most difference between the first case of a boot and its repeat: larger for loads that depend on chance in the
    /// guest.
    #[serde(default = "repeat_max")]
    pub repeat_percent_max: f64,
    #[serde(rename = "load")]
    pub loads: Vec<Load>,
    /// The scheduler that the file's aims are about; absent in files without aims of their own.
    #[serde(default)]
    pub judged: Option<String>,
    /// Aims of the file's own: those of the hunt are regression bounds.
    #[serde(default, rename = "aim")]
    pub aims: Vec<Aim>,
    /// The device with all parameters.
    #[serde(skip)]
    device: Option<Device>,
}

/// Default memory of a guest.
const MEMORY_BYTES: u64 = 384 << 20;

fn memory() -> String {
    MEMORY_BYTES.to_string()
}

fn write_min() -> f64 {
    90.0
}

fn repeat_max() -> f64 {
    REPEAT_PERCENT_MAX
}

/// Arguments of a probe's job that a scenario may set, and whether they are sizes.
const KEYS: [(&str, bool); 16] = [
    ("op", false),
    ("bytes", true),
    ("depth", false),
    ("direct", false),
    ("size", true),
    ("offset", true),
    ("stop_bytes", true),
    ("think_ns", false),
    ("burst", false),
    ("cold", false),
    ("fsync_every", false),
    ("dsync", false),
    ("prio", false),
    ("file", false),
    ("resident", true),
    ("engine", false),
];

/// Parses the `key=value` pairs of a job; sizes in bytes.
///
/// # Errors
/// When a word is no pair, the key is unknown or reserved for the host, or the value contains shell syntax.
pub fn arguments(probe: &str) -> std::result::Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for word in probe.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("'{word}' is not key=value"))?;
        let known = KEYS.iter().find(|(known, _)| *known == key);
        let Some((_, is_size)) = known else {
            let known: Vec<&str> = KEYS.iter().map(|(known, _)| *known).collect();
            return Err(format!("'{key}' cannot be given: it is one of {}", known.join(", ")));
        };
        if pairs.iter().any(|(other, _)| other == key) {
            return Err(format!("'{key}' is given twice"));
        }
        if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || "._:/-".contains(c)) {
            return Err(format!("{key}: '{value}' is not a value"));
        }
        let value = match is_size {
            true => parse_bytes(value).map_err(|error| format!("{key}: {error}"))?.to_string(),
            false => value.to_owned(),
        };
        pairs.push((key.to_owned(), value));
    }
    if !pairs.iter().any(|(key, _)| key == "op") {
        return Err("'op' is missing: what does the job do?".to_owned());
    }
    Ok(pairs)
}

impl JobSpec {
    /// A pair's value.
    #[must_use]
    pub fn argument(&self, key: &str) -> Option<String> {
        arguments(&self.probe).ok()?.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Whether it ends by itself.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.argument("stop_bytes").is_some()
    }
}

impl Load {
    #[must_use]
    pub fn sides(&self) -> Vec<Side> {
        let mut sides: Vec<Side> = self.jobs.iter().map(|job| job.side).collect();
        sides.sort_unstable();
        sides.dedup();
        sides
    }

    /// Description of its jobs.
    #[must_use]
    pub fn words(&self) -> String {
        let jobs: Vec<String> =
            self.jobs.iter().map(|job| format!("{} x {} ({})", job.count, job.name, job.probe.trim())).collect();
        jobs.join(", ")
    }

    /// Estimated length in the guest.
    #[must_use]
    pub fn estimate_s(&self, scale: f64) -> f64 {
        // For jobs that end after a number of bytes, at a phone's random write rate.
        let finite = self
            .jobs
            .iter()
            .filter_map(|job| Some(job.argument("stop_bytes")?.parse::<f64>().ok()? * f64::from(job.count) / 10e6));
        (self.warm_seconds + self.seconds * scale).max(finite.sum::<f64>() * scale)
    }
}

impl Scenario {
    /// Parses a scenario. `devices` is the directory of preset files.
    ///
    /// # Errors
    /// When the text is invalid; the message has the place.
    pub fn parse(name: &str, text: &str, devices: &Path) -> std::result::Result<Self, String> {
        Self::checked(name, toml::from_str(text).map_err(|error| error.to_string())?, devices)
    }

    fn checked(name: &str, mut scenario: Self, devices: &Path) -> std::result::Result<Self, String> {
        name.clone_into(&mut scenario.name);
        scenario.device = Some(scenario.spec.resolve(devices).map_err(|why| format!("device: {why}"))?);
        scenario.check()?;
        Ok(scenario)
    }

    /// The device with all its numbers.
    ///
    /// # Panics
    /// Never: a scenario is only made by [`Scenario::parse`].
    #[must_use]
    pub fn device(&self) -> &Device {
        self.device.as_ref().expect("parsing a scenario resolves its device")
    }

    /// Memory of the guest; includes the device's data, where it is stored.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let content = if self.file_system.is_some() { self.device().size_bytes } else { 0 };
        parse_bytes(&self.memory).unwrap_or(MEMORY_BYTES) + content
    }

    fn check(&self) -> std::result::Result<(), String> {
        parse_bytes(&self.memory).map_err(|error| format!("memory: {error}"))?;
        if !(1.0..=100.0).contains(&self.write_min_percent) {
            return Err(format!("write_min_percent: {} is not from 1 to 100", self.write_min_percent));
        }
        if !(0.1..=5.0).contains(&self.repeat_percent_max) {
            return Err(format!("repeat_percent_max: {} is not from 0.1 to 5", self.repeat_percent_max));
        }
        if self.loads.is_empty() {
            return Err("it has no [[load]]".to_owned());
        }
        if self.judged.is_none() && !self.aims.is_empty() {
            return Err("it has an [[aim]], but does not say which scheduler is judged".to_owned());
        }
        if let Some(judged) = &self.judged {
            crate::vm::schedulers::plain(judged).map_err(|why| format!("judged: {why}"))?;
        }
        for (i, load) in self.loads.iter().enumerate() {
            let wrong = |why: String| format!("load '{}': {why}", load.name);
            if load.name.is_empty() || self.loads[..i].iter().any(|other| other.name == load.name) {
                return Err(wrong("its name is missing or not unique".to_owned()));
            }
            if load.jobs.is_empty() {
                return Err(wrong("it has no [[load.job]]".to_owned()));
            }
            let length = [load.seconds, load.warm_seconds];
            if length.iter().any(|s| !(0.0..=600.0).contains(s)) {
                return Err(wrong("seconds and warm_seconds are 0 to 600".to_owned()));
            }
            if load.seconds <= 0.0 && !load.jobs.iter().all(JobSpec::is_finite) {
                return Err(wrong("a job without stop_bytes needs seconds".to_owned()));
            }
            for (j, job) in load.jobs.iter().enumerate() {
                let wrong = |why: String| wrong(format!("job '{}': {why}", job.name));
                let plain = job.name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
                if job.name.is_empty() || !plain || load.jobs[..j].iter().any(|other| other.name == job.name) {
                    return Err(wrong("its name is missing, not unique or not a plain word".to_owned()));
                }
                if !(1..=64).contains(&job.count) {
                    return Err(wrong(format!("count {} is not from 1 to 64", job.count)));
                }
                arguments(&job.probe).map_err(wrong)?;
                self.check_place(job).map_err(wrong)?;
            }
        }
        Ok(())
    }

    /// Whether the places of a job lie on the device: each of `count` has `size` bytes behind the one before.
    fn check_place(&self, job: &JobSpec) -> std::result::Result<(), String> {
        if self.file_system.is_some() {
            return Ok(());
        }
        let number = |key: &str| job.argument(key).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let (offset, size, device) = (number("offset"), number("size"), self.device().size_bytes);
        let end = offset.saturating_add(size.saturating_mul(u64::from(job.count)));
        if end <= device {
            return Ok(());
        }
        let [size, end, device] = [size, end, device].map(format_bytes);
        Err(format!("{} places of {size}, one behind the other, end at {end}, behind the device's {device}", job.count))
    }

    /// All scenarios of a directory, by name.
    ///
    /// # Errors
    /// When the directory or one of the files cannot be read.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        Self::read_all(folder, &folder.join("devices"))
    }

    /// The scenarios that hunts have left in the directory `hunted` of the scenarios, by name; none without that
    /// directory.
    ///
    /// # Errors
    /// When one of the files cannot be read.
    pub fn hunted(folder: &Path) -> Result<Vec<Self>> {
        let hunted = folder.join("hunted");
        if hunted.is_dir() { Self::read_all(&hunted, &folder.join("devices")) } else { Ok(Vec::new()) }
    }

    fn read_all(folder: &Path, devices: &Path) -> Result<Vec<Self>> {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
            .map_err(Error::io("read", folder))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<_>>()
            .map_err(Error::io("read", folder))?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
        paths.sort();
        paths.iter().map(|path| Self::read(path, devices)).collect()
    }

    /// Reads the scenario of a file.
    ///
    /// # Errors
    /// When it cannot be read or is invalid.
    pub fn read(path: &Path, devices: &Path) -> Result<Self> {
        let text = brisk_program::files::read_text(path, brisk_program::files::TEXT_BYTES_MAX)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let bad = |why: String| Error::BadFile { path: path.to_owned(), why };
        let mut table: Table = toml::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let Some(base) = table.remove("base") else { return Self::parse(&name, &text, devices).map_err(bad) };
        let base = base.as_str().ok_or_else(|| bad("base is not the name of a scenario".to_owned()))?;
        let base = path.with_file_name(base).with_extension("toml");
        let base_text = brisk_program::files::read_text(&base, brisk_program::files::TEXT_BYTES_MAX)?;
        let mut merged: Table = toml::from_str(&base_text).map_err(|error| bad(error.to_string()))?;
        overlay(&mut merged, table);
        let scenario = merged.try_into().map_err(|error| bad(error.to_string()))?;
        Self::checked(&name, scenario, devices).map_err(bad)
    }

    /// The scenario with this name in a directory, or in this file.
    ///
    /// # Errors
    /// When there is none; the error names the most similar one.
    pub fn find(folder: &Path, name: &str) -> Result<Self> {
        if name.contains('/') || Path::new(name).extension().is_some_and(|ending| ending == "toml") {
            return Self::read(Path::new(name), &folder.join("devices"));
        }
        let path = folder.join(format!("{name}.toml"));
        if path.exists() {
            return Self::read(&path, &folder.join("devices"));
        }
        let all = Self::all(folder)?;
        let nearest = all
            .iter()
            .map(|scenario| (strsim::jaro_winkler(&scenario.name, name), &scenario.name))
            .filter(|(likeness, _)| *likeness > 0.7)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| name.clone());
        Err(Error::NoScenario { name: name.to_owned(), nearest })
    }
}

/// Replaces keys of `base` by those of `over`. Tables are merged, as are entries of arrays with the same `name`.
fn overlay(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(over)) => overlay(base, over),
            (Some(Value::Array(entries)), Value::Array(over)) => {
                for entry in over {
                    let name = entry.get("name").cloned();
                    match (entries.iter_mut().find(|known| known.get("name") == name.as_ref()), entry) {
                        (Some(Value::Table(known)), Value::Table(entry)) => overlay(known, entry),
                        (_, entry) => entries.push(entry),
                    }
                }
            }
            (_, value) => drop(base.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests;
