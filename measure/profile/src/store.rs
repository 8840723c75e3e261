//! Storage of profiles: one file for each model of device, and one for the state of an unfinished run.
//!
//! Files are replaced atomically. A damaged file is reported and left unchanged. The daemon reads them itself, and
//! identifies a device by the same name ([`brisk_sense::Identity`]).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use brisk_engine::smartstorage::Model;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use crate::error::{Error, Result};

/// Where profiles of all engines are.
pub const PROFILES: &str = "/var/lib/brisk/profiles";
/// Larger files briskd leaves out.
pub const FILE_BYTES_MAX: u64 = 256 << 10;
/// Most bytes that are read here, where the state of an unfinished run has every sample.
const READ_BYTES_MAX: u64 = 64 << 20;
const ENGINE: &str = "smartstorage";
/// Digits of a number that are kept.
const DIGITS: usize = 6;
/// A longer name is cut.
const NAME_CHARACTERS_MAX: usize = 120;

/// The file of the profile of `device` (a [`brisk_core::device::Device::model`]) in the directory of profiles.
#[must_use]
pub fn file_of(profiles: &Path, device: &str) -> PathBuf {
    profiles.join(ENGINE).join(format!("{}.json", file_name(device)))
}

/// The file of an unfinished run's state: for a profile, or for a judgement.
#[must_use]
pub fn unfinished_of(profiles: &Path, device: &str, held_out: bool) -> PathBuf {
    let what = if held_out { "judgement" } else { "profile" };
    profiles.join(ENGINE).join(format!("{}.{what}.unfinished", file_name(device)))
}

/// A plain file name: everything else becomes `_`.
fn file_name(device: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '_' };
    let name: String = device.trim().chars().map(plain).take(NAME_CHARACTERS_MAX).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "unknown".to_owned() } else { name.to_owned() }
}

/// The profile of `device`; `None` when there is none.
///
/// # Errors
/// When its file is damaged or cannot be read.
pub fn load(profiles: &Path, device: &str) -> Result<Option<Model>> {
    let path = file_of(profiles, device);
    let Some(model) = read::<Model>(&path)? else { return Ok(None) };
    checked(&path, model).map(Some)
}

fn checked(path: &Path, model: Model) -> Result<Model> {
    match model.check() {
        Ok(()) => Ok(model),
        Err(error) => Err(Error::Damaged { path: path.to_owned(), why: error.why }),
    }
}

/// Stores a profile, with numbers of six digits. Returns its file.
///
/// # Errors
/// When the file cannot be written.
pub fn save(profiles: &Path, model: &Model) -> Result<PathBuf> {
    let path = file_of(profiles, &model.device);
    let failed = |error: serde_json::Error| Error::File { doing: "write", path: path.clone(), source: error.into() };
    let mut value = serde_json::to_value(model).map_err(failed)?;
    shorten(&mut value);
    write(&path, &value)?;
    Ok(path)
}

/// Rounds all fractions: rounds of a cell differ in the third digit at best, and the size of profiles is limited.
fn shorten(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let exact = number.as_f64().unwrap_or(0.0);
            if let Some(short) = format!("{exact:.*e}", DIGITS - 1).parse().ok().and_then(Number::from_f64) {
                *number = short;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(values) => values.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Reads a file; `None` when it is not there.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match brisk_program::files::read(path, READ_BYTES_MAX) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| Error::Damaged { path: path.to_owned(), why: error.to_string() }),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Replaces a file as a whole.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let failed = |source| Error::File { doing: "write", path: path.to_owned(), source };
    let bytes = serde_json::to_vec(value).map_err(|error| failed(error.into()))?;
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(failed)?;
    }
    brisk_program::files::replace(path, &bytes).map_err(failed)
}

/// Removes a file that may not be there.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(Error::File { doing: "remove", path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_engine::smartstorage::Setting;
    use brisk_engine::smartstorage::model::{Cell, MODEL_VERSION, Workload};
    use brisk_engine::smartstorage::pattern::Pattern;
    use proptest::prelude::*;

    fn model() -> Model {
        let own = Setting::new("mq-deadline", 8);
        let cell = Cell {
            setting: own.clone(),
            pattern: Pattern::default(),
            request_uj_mean: 1.5,
            read_us_mean: Some(3.0),
            write_us_mean: None,
            rounds: std::collections::BTreeMap::new(),
            high: None,
        };
        Model {
            version: MODEL_VERSION,
            device: "000015 BGND3R".to_owned(),
            kind: "emmc".to_owned(),
            meter: "test".to_owned(),
            own,
            workloads: vec![Workload { name: "mail".to_owned(), cells: vec![cell] }],
        }
    }

    #[test]
    fn a_profile_is_stored_and_found_and_a_damaged_one_is_reported() {
        let dir = tempfile::tempdir().expect("directory");
        assert_eq!(load(dir.path(), "000015 BGND3R").expect("none"), None);
        let path = save(dir.path(), &model()).expect("kept");
        assert!(path.ends_with("smartstorage/000015_BGND3R.json"));
        assert_eq!(load(dir.path(), "000015 BGND3R").expect("read"), Some(model()));
        let mut old = model();
        old.version = 0;
        write(&file_of(dir.path(), "old"), &old).expect("written");
        let error = load(dir.path(), "old").expect_err("of another version").to_string();
        assert!(error.contains("old.json") && error.contains("version 0"), "{error}");
    }

    #[test]
    fn numbers_have_six_digits() {
        let mut value =
            serde_json::json!({"a": [1.0 / 3.0, 2e-9 / 3.0, 123_456.789, 0.0], "b": 7, "c": {"d": 1e12 / 7.0}});
        shorten(&mut value);
        let short = serde_json::json!({"a": [0.333333, 6.66667e-10, 123_457.0, 0.0], "b": 7, "c": {"d": 1.42857e11}});
        assert_eq!(value, short);
    }

    #[test]
    fn no_device_name_leaves_the_directory() {
        for name in ["", "..", "../../etc/passwd", ".hidden", "a/b"] {
            let path = file_of(Path::new("/p"), name);
            assert_eq!(path.parent(), Some(Path::new("/p/smartstorage")), "{name}");
            assert!(!path.file_name().expect("a name").to_string_lossy().starts_with('.'), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let dir = tempfile::tempdir().expect("directory");
            fs::create_dir_all(dir.path().join(ENGINE)).expect("directory");
            fs::write(file_of(dir.path(), "x"), bytes).expect("written");
            prop_assert!(load(dir.path(), "x").is_err());
        }
    }
}
