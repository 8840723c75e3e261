//! Store of measured cases: with virtual time a case is a pure function of its inputs, so a cancelled run can be
//! continued, and a repeated run measures only what has changed.
//!
//! A record's key is the text of all inputs: the kernel, the emulator, the guest's functions, the case's paragraph of
//! the plan, and digests of the programs and modules that it uses. The file name is a digest of the key; the key is
//! stored in the file, so that a collision is detected. Only boots within all bounds are kept, each record with its
//! boot's fidelity.
//!
//! Properties, each with a test: a stored case is found; any change of the key gives another record; a damaged record
//! is ignored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::vm::case::Case;
use crate::vm::console::CaseOutput;
use crate::vm::error::{Error, Result};
use crate::vm::image;
use crate::vm::plan;
use crate::vm::refuse::Fidelity;
use crate::vm::scenario::Scenario;
use crate::vm::schedulers::Schedulers;
use crate::vm::sources::Kernel;

/// A case with its boot's fidelity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    key: String,
    pub output: CaseOutput,
    pub fidelity: Fidelity,
}

/// The records of one kernel.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    /// Common part of all keys.
    common: String,
    /// Digests of the schedulers' modules; without built-in ones.
    modules: BTreeMap<String, String>,
}

impl Store {
    /// The store in `folder` for cases of `schedulers` on `kernel`.
    ///
    /// # Errors
    /// When a program or module of the guest cannot be read, or there is no emulator.
    pub fn of(folder: PathBuf, kernel: &Kernel, init: &Path, schedulers: &Schedulers) -> Result<Self> {
        let version = Command::new("qemu-system-x86_64").arg("--version").output();
        let version =
            version.map_err(|_| Error::NoProgram { program: "qemu-system-x86_64", package: "qemu-system-x86" })?;
        let version = String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or_default().to_owned();
        let mut common = format!("{}\n{version}\n", kernel.release);
        for path in [init, &kernel.built().join("probe"), &kernel.built().join("brisk_flash.ko")] {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            common.push_str(&format!("{name} {}\n", digest(&std::fs::read(path).map_err(Error::io("read", path))?)));
        }
        common.push_str(&format!("functions {}\n", digest(plan::FUNCTIONS.as_bytes())));
        let mut modules = BTreeMap::new();
        for scheduler in schedulers.iter() {
            if let Some(name) = &scheduler.module
                && let Some(content) = image::module(kernel, name)?
            {
                modules.insert(scheduler.name.clone(), digest(&content));
            }
        }
        Ok(Self { folder, common, modules })
    }

    #[must_use]
    pub fn key(&self, scenario: &Scenario, case: &Case, scale: f64) -> String {
        let module = self.modules.get(&case.setup.scheduler).map_or("built in", String::as_str);
        // The number of a case in its boot is not part of the key.
        let paragraph = plan::paragraph(scenario, 0, case, scale);
        format!("{}module {module}\nmemory {}\n{paragraph}", self.common, scenario.memory_bytes())
    }

    /// The record of this key, if its boot was reproduced; see [`Fidelity::repeated`].
    #[must_use]
    pub fn get(&self, key: &str, repeat_percent_max: f64) -> Option<Record> {
        let text = std::fs::read_to_string(self.file(key)).ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        (record.key == key && record.fidelity.repeated(repeat_percent_max)).then_some(record)
    }

    /// Stores a case.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn put(&self, key: String, output: &CaseOutput, fidelity: Fidelity) -> Result<()> {
        let file = self.file(&key);
        let record = Record { key, output: output.clone(), fidelity };
        let text = serde_json::to_string(&record).expect("numbers and text are JSON");
        std::fs::create_dir_all(&self.folder).map_err(Error::io("make", &self.folder))?;
        // Atomic, even for concurrent writers.
        brisk_program::files::replace(&file, text.as_bytes()).map_err(Error::io("write", &file))
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{}.json", digest(key.as_bytes())))
    }
}

/// FNV-1a of 64 bits in hexadecimal digits; not for security.
fn digest(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::case::{Setup, cases};

    fn store(dir: &Path) -> Store {
        Store { folder: dir.join("cases"), common: "6.12\n".to_owned(), modules: BTreeMap::new() }
    }

    fn fidelity(repeat_percent: f64) -> Fidelity {
        Fidelity { repeat_percent, ..Fidelity::default() }
    }

    fn scenario() -> Scenario {
        let text = "title = \"t\"\nquestion = \"q?\"\ndevice = { preset = \"ufs-3.1\", size = \"64MiB\" }\n\
            [[load]]\nname = \"l\"\nseconds = 5\n[[load.job]]\nname = \"j\"\nside = \"read\"\nprobe = \"op=read\"\n";
        Scenario::parse("t", text, Path::new("/nowhere")).expect("valid")
    }

    #[test]
    fn a_stored_case_is_found_if_its_boot_was_good_enough() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(dir.path());
        let output = CaseOutput { ended: true, ..CaseOutput::default() };
        assert_eq!(store.get("key", 1.0), None);
        store.put("key".to_owned(), &output, fidelity(0.5)).expect("kept");
        assert_eq!(store.get("key", 1.0).expect("found").output, output);
        assert_eq!(store.get("key", 0.4), None, "a stricter run measures again");
        assert_eq!(store.get("other", 1.0), None);
    }

    #[test]
    fn damaged_records_and_records_of_other_keys_are_ignored() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(dir.path());
        store.put("key".to_owned(), &CaseOutput::default(), fidelity(0.0)).expect("kept");
        std::fs::copy(store.file("key"), store.file("other")).expect("copied");
        assert_eq!(store.get("other", 1.0), None);
        std::fs::write(store.file("key"), "{\"key\":\"key\"").expect("written");
        assert_eq!(store.get("key", 1.0), None);
    }

    #[test]
    fn every_input_is_part_of_the_key() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(dir.path());
        let scenario = scenario();
        let setup = |scheduler: &str| Setup { scheduler: scheduler.to_owned(), settings: Default::default() };
        let none = cases(&scenario, &setup("none"), &[1, 2]);
        let other = cases(&scenario, &setup("bfq"), &[1]);
        let newer = Store { common: "6.13\n".to_owned(), ..store.clone() };
        let with = |digest: &str| {
            let modules = [("none".to_owned(), digest.to_owned())].into();
            Store { modules, ..store.clone() }.key(&scenario, &none[0], 1.0)
        };
        let keys = [
            store.key(&scenario, &none[0], 1.0),
            store.key(&scenario, &none[1], 1.0),
            store.key(&scenario, &none[0], 2.0),
            with("a module"),
            with("another"),
            store.key(&scenario, &other[0], 1.0),
            newer.key(&scenario, &none[0], 1.0),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "key {i} is one of those before");
        }
        assert_eq!(keys[0], store.key(&scenario, &none[0], 1.0));
    }
}
