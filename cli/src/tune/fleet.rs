//! Settings of a fleet: the file that `brisk-fleet profiles` writes and signs.
//!
//! The signature (Ed25519, in the format of minisign) is verified over the whole file before any of it is read. A
//! profile is for one model and one revision of firmware, by the names that submissions have: both sides clean them
//! with `brisk_report::submission`. Emulated and real devices are never mixed. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use brisk_report::submission::text::Name;
use minisign_verify::{Error as Refusal, PublicKey, Signature};
use serde::{Deserialize, Serialize};

const KIND: &str = "fleet_profiles";
const SCHEMA_VERSION: u32 = 1;

/// A public key, and the file that it is from.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) file: PathBuf,
    key: PublicKey,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Fleet {
    kind: String,
    schema_version: u32,
    /// Day on which they were made.
    pub(super) made: String,
    pub(super) emulated: bool,
    profiles: Vec<FleetProfile>,
}

/// The best settings of a model and firmware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FleetProfile {
    kind: String,
    /// Its model, as submissions name it.
    model: String,
    /// Its firmware; absent where devices tell none.
    firmware: Option<String>,
    pub(super) scheduler: String,
    /// Settings by the names of knobs.
    pub(super) settings: BTreeMap<String, String>,
    /// Readers have a higher priority.
    pub(super) priorities: bool,
    pub(super) evidence: Evidence,
}

/// What devices of a fleet gained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Evidence {
    pub(super) devices: u32,
    /// Mean read latency over that with the settings found, median of devices.
    pub(super) read_ratio: f64,
    /// Interval of 95 % of the median.
    read_ratio_low: f64,
    read_ratio_high: f64,
    /// Write throughput in percent of that with the settings found, median of devices.
    pub(super) write_percent: f64,
}

/// A device of this machine, by the names that submissions have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Here {
    kind: String,
    /// `None` where it reports none.
    model: Option<Name>,
    firmware: Option<Name>,
    emulated: bool,
}

impl Here {
    /// From what the kernel reports; of an emulated device the model is its preset.
    pub(super) fn of(kind: &str, model: Option<&str>, firmware: Option<&str>, emulated: bool) -> Self {
        let clean = |text: &str| Name::of(text, &[]);
        Self {
            kind: kind.to_owned(),
            model: model.and_then(clean),
            firmware: firmware.filter(|_| !emulated).and_then(clean),
            emulated,
        }
    }
}

impl Key {
    /// Reads a public key file of minisign.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn parse(file: PathBuf, text: &str) -> anyhow::Result<Self> {
        let wrong = || {
            format!(
                "{} is no public key of minisign: it has a comment and a line of 56 letters and digits",
                file.display()
            )
        };
        let key = PublicKey::decode(text).with_context(wrong)?;
        Ok(Self { file, key })
    }
}

/// The key among `keys` by which `signature` signs `content`.
///
/// # Errors
/// When it is by none of them, or the content was changed.
pub(super) fn signer<'a>(content: &[u8], signature: &str, keys: &'a [Key]) -> anyhow::Result<&'a Key> {
    let signature = Signature::decode(signature).context("it is no signature of minisign")?;
    for key in keys {
        match key.key.verify(content, &signature, false) {
            Ok(()) => return Ok(key),
            Err(Refusal::UnexpectedKeyId) => {}
            Err(Refusal::InvalidSignature) => bail!(
                "it does not fit: the file, or its signature, is damaged or was changed after {} signed it",
                key.file.display()
            ),
            Err(error) => return Err(error).context(format!("it cannot be verified with {}", key.file.display())),
        }
    }
    let known: Vec<String> = keys.iter().map(|key| key.file.display().to_string()).collect();
    bail!("it is by another key than {}", known.join(", "))
}

impl Fleet {
    /// Reads the content of a file.
    ///
    /// # Errors
    /// When it is damaged, of another kind or version, or names a device twice.
    pub(super) fn parse(content: &[u8]) -> anyhow::Result<Self> {
        let fleet: Self = serde_json::from_slice(content).context("it does not have the form of fleet profiles")?;
        if fleet.kind != KIND {
            bail!("it holds '{}', not '{KIND}'", fleet.kind);
        }
        if fleet.schema_version != SCHEMA_VERSION {
            bail!("it is of version {}; this brisk reads version {SCHEMA_VERSION}", fleet.schema_version);
        }
        let mut seen = BTreeSet::new();
        for one in &fleet.profiles {
            if !seen.insert((&one.kind, &one.model, &one.firmware)) {
                bail!("it has two profiles for {}", one.name());
            }
            if !one.evidence.is_possible() {
                bail!("its evidence for {} is no measurement", one.name());
            }
        }
        Ok(fleet)
    }

    /// The profile for a device.
    ///
    /// # Errors
    /// When there is none: why.
    pub(super) fn of(&self, here: &Here) -> anyhow::Result<&FleetProfile> {
        let words = |emulated| if emulated { "emulated" } else { "real" };
        if self.emulated != here.emulated {
            bail!("the file is for {} devices, and this one is {}", words(self.emulated), words(here.emulated));
        }
        let Some(model) = &here.model else {
            bail!("the device reports no model, and settings are found by it");
        };
        let model = model.as_str();
        // The preset of an emulated device says its kind.
        let is_kind = |one: &&FleetProfile| here.emulated || one.kind == here.kind;
        let of_model: Vec<&FleetProfile> =
            self.profiles.iter().filter(|one| one.model == model).filter(is_kind).collect();
        if of_model.is_empty() {
            bail!(
                "the file has no settings for model {model} ({}); it has {} of others",
                here.kind,
                self.profiles.len()
            );
        }
        let firmware = here.firmware.as_ref().map(Name::as_str);
        let found = of_model.iter().find(|one| one.firmware.as_deref() == firmware);
        found.copied().with_context(|| {
            let known: Vec<&str> = of_model.iter().map(|one| one.firmware.as_deref().unwrap_or("none")).collect();
            let known = known.join(", ");
            format!(
                "the file has settings for model {model} with firmware {known}, and this one has {}",
                firmware.unwrap_or("none")
            )
        })
    }
}

impl FleetProfile {
    /// Model and firmware in words.
    pub(super) fn name(&self) -> String {
        match &self.firmware {
            Some(firmware) => format!("{}, firmware {firmware}", self.model),
            None => self.model.clone(),
        }
    }
}

impl Evidence {
    fn is_possible(&self) -> bool {
        let is_ratio = |value: f64| value.is_finite() && value > 0.0;
        [self.read_ratio, self.read_ratio_low, self.read_ratio_high, self.write_percent].into_iter().all(is_ratio)
            && self.read_ratio_low <= self.read_ratio
            && self.read_ratio <= self.read_ratio_high
            && self.devices > 0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn profile(model: &str, firmware: Option<&str>) -> Value {
        json!({
            "kind": "emmc", "model": model, "firmware": firmware, "scheduler": "mq-deadline", "priorities": false,
            "settings": { "scheduler": "mq-deadline", "nr_requests": "4" },
            "evidence": {
                "devices": 6, "read_ratio": 0.4, "read_ratio_low": 0.3, "read_ratio_high": 0.5, "write_percent": 95.0,
            },
        })
    }

    fn document(profiles: &[Value]) -> Value {
        json!({
            "kind": "fleet_profiles", "schema_version": 1, "made": "2026-11-25", "emulated": false,
            "write_min_percent": 90.0, "devices_min": 5, "profiles": profiles,
        })
    }

    fn fleet(document: &Value) -> anyhow::Result<Fleet> {
        Fleet::parse(document.to_string().as_bytes())
    }

    fn here(model: Option<&str>, firmware: Option<&str>) -> Here {
        Here::of("emmc", model, firmware, false)
    }

    #[test]
    fn a_device_gets_the_settings_of_its_model_and_firmware_alone() {
        let fleet = fleet(&document(&[
            profile("BGND3R", Some("0x07")),
            profile("BGND3R", Some("0x08")),
            profile("SEM16G", None),
        ]))
        .expect("usable");
        let found = |here: &Here| fleet.of(here).map(FleetProfile::name).map_err(|error| error.to_string());
        assert_eq!(found(&here(Some("BGND3R "), Some("0x08"))), Ok("BGND3R, firmware 0x08".to_owned()));
        assert_eq!(found(&here(Some("SEM16G"), None)), Ok("SEM16G".to_owned()));
        let refused = [
            (
                here(Some("BGND3R"), Some("0x09")),
                "the file has settings for model BGND3R with firmware 0x07, 0x08, and this one has 0x09",
            ),
            (
                here(Some("SEM16G"), Some("1")),
                "the file has settings for model SEM16G with firmware none, and this one has 1",
            ),
            (here(Some("HBG4a2"), None), "the file has no settings for model HBG4a2 (emmc); it has 3 of others"),
            (
                Here::of("sd", Some("SEM16G"), None, false),
                "the file has no settings for model SEM16G (sd); it has 3 of others",
            ),
            (here(None, None), "the device reports no model, and settings are found by it"),
            (Here::of("emmc", Some("SEM16G"), None, true), "the file is for real devices, and this one is emulated"),
        ];
        for (here, why) in refused {
            assert_eq!(found(&here), Err(why.to_owned()));
        }
    }

    #[test]
    fn a_damaged_file_is_refused_with_the_reason() {
        let wrong = |change: &dyn Fn(&mut Value)| {
            let mut document = document(&[profile("A1", None), profile("A2", None)]);
            change(&mut document);
            format!("{:#}", fleet(&document).expect_err("refused"))
        };
        let set = |key: &'static str, value: Value| move |document: &mut Value| document[key] = value.clone();
        assert_eq!(wrong(&set("kind", json!("bench"))), "it holds 'bench', not 'fleet_profiles'");
        assert_eq!(wrong(&set("schema_version", json!(2))), "it is of version 2; this brisk reads version 1");
        assert_eq!(wrong(&|d| d["profiles"][1] = d["profiles"][0].clone()), "it has two profiles for A1");
        for bad in [json!(0.0), json!(0.6), json!(-1.0)] {
            let said = wrong(&|d| d["profiles"][1]["evidence"]["read_ratio"] = bad.clone());
            assert_eq!(said, "its evidence for A2 is no measurement");
        }
        for damage in [json!(null), json!("x"), json!({"nr_requests": 4})] {
            let said = wrong(&|d| d["profiles"][0]["settings"] = damage.clone());
            assert!(said.starts_with("it does not have the form of fleet profiles: "), "{said}");
        }
        let cut = document(&[]).to_string();
        assert!(Fleet::parse(&cut.as_bytes()[..cut.len() - 1]).is_err());
    }

    /// Made by minisign: `minisign -G -W`, and its signature over `content`. The second key has the same number and
    /// other bytes.
    const PUBLIC: &str = include_str!("../../tests/fleet/minisign.pub");
    const CONTENT: &[u8] = include_bytes!("../../tests/fleet/signed.txt");
    const SIGNATURE: &str = include_str!("../../tests/fleet/signed.txt.minisig");

    fn key(name: &str, text: &str) -> Key {
        Key::parse(name.into(), text).expect("a key")
    }

    #[test]
    fn a_signature_of_minisign_is_verified_by_the_key_that_made_it() {
        let other = "untrusted comment: x\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n";
        let keys = [key("other.pub", other), key("fleet.pub", PUBLIC)];
        let found = |content: &[u8], signature: &str, keys: &[Key]| {
            signer(content, signature, keys).map(|key| key.file.clone()).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(found(CONTENT, SIGNATURE, &keys), Ok("fleet.pub".into()));
        assert_eq!(found(CONTENT, SIGNATURE, &keys[..1]), Err("it is by another key than other.pub".to_owned()));
        let changed =
            "it does not fit: the file, or its signature, is damaged or was changed after fleet.pub signed it";
        assert_eq!(found(b"other\n", SIGNATURE, &keys), Err(changed.to_owned()));
        let comment = SIGNATURE.replace("timestamp", "timestamq");
        assert_ne!(comment, SIGNATURE);
        assert_eq!(found(CONTENT, &comment, &keys), Err(changed.to_owned()));
        for damaged in ["", "x", SIGNATURE.split('\n').next().expect("a line")] {
            let said = found(CONTENT, damaged, &keys).expect_err("refused");
            assert!(said.starts_with("it is no signature of minisign"), "{said}");
        }
        for damaged in ["", "x\n", "x\nAAAA\n", SIGNATURE] {
            let said = format!("{:#}", Key::parse("a.pub".into(), damaged).expect_err("refused"));
            assert!(said.starts_with("a.pub is no public key of minisign"), "{said}");
        }
    }
}
