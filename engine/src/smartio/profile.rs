//! Settings of a block queue that belong together, and where they come from.
//!
//! A profile is data: it is found by search for each device model, because the best settings depend on the queue depth
//! of the device and on how long its programs last. The numbers behind the shipped ones are in [`shipped`].

use std::collections::BTreeMap;

use brisk_core::device::Device;
use serde::{Deserialize, Serialize};

/// Settings of a block queue that belong together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueSettings {
    /// The scheduler; without one all of the queue's settings stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Requests that the scheduler holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u32>,
    /// Target of write-back throttling in us; 0 is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wbt_lat_usec: Option<u32>,
    /// Whether the foreground gets a higher I/O priority: not all schedulers support it.
    pub priorities: bool,
    /// Tunables of the scheduler.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tunables: BTreeMap<String, String>,
}

/// Measurement behind a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// When, RFC 3339.
    pub measured_at: String,
    pub kernel: String,
    /// Mean read latency with concurrent writers under the settings that the device had.
    pub default_read_us: f64,
    /// The same under this profile.
    pub read_us: f64,
    /// Write throughput under this profile in percent of that under the settings that the device had.
    pub write_percent: f64,
}

/// Measured parameters of a device model. The form of `/var/lib/brisk/profiles/smartio/MODEL.toml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// The device's own name, firmware included.
    pub model: String,
    /// Whether this is the shipped default of the kind of device, and not measured.
    pub is_default: bool,
    /// Largest request in KiB, at all times: a change waits until all queued requests are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_sectors_kb: Option<u32>,
    /// While the foreground waits.
    pub waiting: QueueSettings,
    /// Otherwise; empty for the settings from before brisk.
    #[serde(skip_serializing_if = "is_empty")]
    pub calm: QueueSettings,
    /// How `waiting` was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

fn is_empty(setup: &QueueSettings) -> bool {
    *setup == QueueSettings::default()
}

impl QueueSettings {
    fn mq_deadline(tunables: &[(&str, &str)]) -> Self {
        Self {
            scheduler: Some("mq-deadline".to_owned()),
            priorities: true,
            tunables: tunables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..Self::default()
        }
    }
}

/// The default profile for devices of this kind.
///
/// mq-deadline with one asynchronous write in flight (`async_depth`): a phone's device has few tags, and a read waits
/// for each one that a write holds. `fifo_batch` 1 checks for reads after every request; writes are dispatched after 16
/// reads or 100 ms. Deeper devices (UFS, NVMe) keep some more writes in flight, because
/// their throughput needs it.
#[must_use]
pub fn shipped(kind: &str) -> Profile {
    let async_depth = match kind {
        "ufs" => "2",
        "nvme" => "4",
        _ => "1",
    };
    let tunables =
        [("async_depth", async_depth), ("fifo_batch", "1"), ("writes_starved", "16"), ("prio_aging_expire", "100")];
    Profile { is_default: true, waiting: QueueSettings::mq_deadline(&tunables), ..Profile::default() }
}

/// The profile that was measured on the model and firmware of a device, or else on its model, for profiles without
/// firmware.
pub(crate) fn measured<'a>(profiles: &'a BTreeMap<String, Profile>, device: &Device) -> Option<&'a Profile> {
    let of = |model: &str| profiles.get(model).filter(|_| !model.is_empty());
    of(&device.model).or_else(|| device.model_of_any_firmware().and_then(of))
}

/// The profile for a device: the one that was measured on it, or the default of its kind.
pub(crate) fn of(profiles: &BTreeMap<String, Profile>, device: &Device) -> Profile {
    // A profile for a scheduler that this kernel lacks cannot be used.
    let usable = |profile: &&Profile| profile.waiting.scheduler.as_ref().is_none_or(|name| device.has_scheduler(name));
    measured(profiles, device).filter(usable).cloned().unwrap_or_else(|| shipped(&device.kind))
}

/// Name of the file that keeps the profile of `model`: everything that is not plain becomes `_`.
#[must_use]
pub fn file_name(model: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '_' };
    let name: String = model.trim().chars().map(plain).take(120).collect();
    let name = name.trim_start_matches('.');
    format!("{}.toml", if name.is_empty() { "unknown" } else { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_back_from_its_file() {
        let evidence = Evidence {
            measured_at: "2026-11-22T03:00:00Z".to_owned(),
            kernel: "6.18.4".to_owned(),
            default_read_us: 16_300.0,
            read_us: 1_300.0,
            write_percent: 98.0,
        };
        let profile = Profile { model: "SEM16G 07".to_owned(), evidence: Some(evidence), ..shipped("emmc") };
        let text = toml::to_string(&profile).expect("TOML");
        assert_eq!(toml::from_str::<Profile>(&text).expect("the same"), profile, "{text}");
        assert!(toml::from_str::<Profile>("modle = 'x'").is_err());
    }

    #[test]
    fn no_model_makes_a_path() {
        for (model, name) in
            [("SEM16G 07", "SEM16G_07.toml"), ("../../etc/passwd", "_.._etc_passwd.toml"), ("", "unknown.toml")]
        {
            assert_eq!(file_name(model), name);
        }
    }

    #[test]
    fn a_profile_from_before_firmware_was_told_apart_holds_until_there_is_another() {
        let profile = |model: &str, nr_requests| {
            let waiting = QueueSettings { nr_requests, ..QueueSettings::default() };
            (model.to_owned(), Profile { model: model.to_owned(), waiting, ..Profile::default() })
        };
        let device = Device { model: "X, firmware 2".to_owned(), ..Device::default() };
        let mut profiles = BTreeMap::from([profile("X", Some(4)), profile("X, firmware 1", Some(8))]);
        assert_eq!(of(&profiles, &device).waiting.nr_requests, Some(4));
        profiles.extend([profile("X, firmware 2", Some(16))]);
        assert_eq!(of(&profiles, &device).waiting.nr_requests, Some(16));
    }

    #[test]
    fn a_profile_whose_scheduler_is_gone_gives_way_to_the_default() {
        let setup = QueueSettings { scheduler: Some("adios".to_owned()), ..QueueSettings::default() };
        let profile = Profile { model: "X".to_owned(), waiting: setup, ..Profile::default() };
        let profiles = BTreeMap::from([("X".to_owned(), profile)]);
        let device = |schedulers: &[&str]| Device {
            model: "X".to_owned(),
            schedulers: schedulers.iter().map(|&name| name.to_owned()).collect(),
            ..Device::default()
        };
        assert!(!of(&profiles, &device(&["adios"])).is_default);
        assert!(of(&profiles, &device(&["mq-deadline"])).is_default);
        assert!(of(&profiles, &Device::default()).is_default);
    }
}
