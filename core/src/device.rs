//! A block device as engines see it.

use serde::{Deserialize, Serialize};

use crate::knob::{Knob, QueueSetting};

/// A block device as engines see it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name.
    pub name: String,
    /// Model name that the device reports, firmware included: measured parameters are stored under this name.
    pub model: String,
    /// Emulated or real: `emmc`, `sd`, `ufs`, `nvme`, `usb`, `virtual` or `disk`.
    pub kind: String,
    /// Schedulers that this kernel offers for it.
    pub schedulers: Vec<String>,
    /// Settings that it has and their values before brisk changed any.
    pub originals: Vec<(QueueSettingText, String)>,
    /// Whether programs are read from it.
    #[serde(default)]
    pub has_programs: bool,
    /// Whether a swap area is on it.
    #[serde(default)]
    pub has_swap: bool,
    /// How fast it is, where that was measured.
    #[serde(default)]
    pub speeds: Option<Speeds>,
}

/// How fast a device is: what engines weigh reading ahead and writing out by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speeds {
    /// Latency of a random read of 4 KiB, one at a time.
    pub random_read_us: f64,
    /// Bandwidth of sequential reads.
    pub read_mib_per_s: f64,
    /// Bandwidth of sequential writes.
    pub write_mib_per_s: f64,
    /// Throughput of many random reads at once as a multiple of that of one: the reads that it serves at the same time.
    pub parallel_reads: f64,
}

impl Speeds {
    /// What is assumed of a device of this kind until it is measured: the median over the presets of the laboratory's
    /// flash model. Unknown kinds count as eMMC.
    #[must_use]
    pub fn of_kind(kind: &str) -> Self {
        let (random_read_us, read_mib_per_s, write_mib_per_s, parallel_reads) = match kind {
            "sd" => (1_250.0, 13.0, 8.0, 1.0),
            "ufs" | "nvme" => (57.0, 2_000.0, 1_150.0, 3.9),
            _ => (187.0, 80.0, 20.0, 1.5),
        };
        Self { random_read_us, read_mib_per_s, write_mib_per_s, parallel_reads }
    }

    /// The first value that is no speed, by name.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, f64)> {
        let all = [
            ("random_read_us", self.random_read_us),
            ("read_mib_per_s", self.read_mib_per_s),
            ("write_mib_per_s", self.write_mib_per_s),
            ("parallel_reads", self.parallel_reads),
        ];
        all.into_iter().find(|(_, value)| !value.is_finite() || *value <= 0.0)
    }
}

/// A setting in its text form: as part of a record it must stay readable when settings are added.
pub type QueueSettingText = String;

/// Separates the model name from the firmware revision.
const FIRMWARE: &str = ", firmware ";

/// The model name of a device with its firmware revision.
#[must_use]
pub fn with_firmware(model: &str, revision: &str) -> String {
    format!("{model}{FIRMWARE}{revision}")
}

impl Device {
    /// The model name without the firmware revision: a file of that name holds for all revisions that have none of
    /// their own. `None` where the device reports no firmware revision.
    #[must_use]
    pub fn model_of_any_firmware(&self) -> Option<&str> {
        self.model.rsplit_once(FIRMWARE).map(|(model, _)| model)
    }

    /// How fast it is: as measured, or as its kind is.
    #[must_use]
    pub fn speeds(&self) -> Speeds {
        self.speeds.unwrap_or_else(|| Speeds::of_kind(&self.kind))
    }

    /// Value of a setting before brisk changed it.
    #[must_use]
    pub fn original(&self, setting: &QueueSetting) -> Option<&str> {
        let name = setting.to_string();
        self.originals.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Value of a knob of one of the `devices` before brisk changed it.
    #[must_use]
    pub fn original_of<'a>(devices: &'a [Self], knob: &Knob) -> Option<&'a str> {
        let (name, setting) = knob.queue_setting()?;
        devices.iter().find(|device| device.name == name)?.original(setting)
    }

    /// Whether the kernel offers this scheduler for the device.
    #[must_use]
    pub fn has_scheduler(&self, name: &str) -> bool {
        self.schedulers.iter().any(|known| known == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_has_a_form_with_and_without_firmware() {
        let model = with_firmware("KLUDG8V1EE", "0100");
        assert_eq!(model, "KLUDG8V1EE, firmware 0100");
        let named = |model: &str| Device { model: model.to_owned(), ..Device::default() };
        assert_eq!(named(&model).model_of_any_firmware(), Some("KLUDG8V1EE"));
        assert_eq!(named("galaxy-s5-emmc").model_of_any_firmware(), None);
    }

    #[test]
    fn a_device_has_the_values_from_before_brisk() {
        let tunable = QueueSetting::tunable("mq-deadline", "fifo_batch");
        let originals = vec![("scheduler".to_owned(), "bfq".to_owned()), (tunable.to_string(), "16".to_owned())];
        let device = Device { originals, ..Device::default() };
        assert_eq!(device.original(&QueueSetting::Scheduler), Some("bfq"));
        assert_eq!(device.original(&tunable), Some("16"));
        assert_eq!(device.original(&QueueSetting::NrRequests), None);
        let devices =
            [Device { name: "sda".to_owned(), ..Device::default() }, Device { name: "sdb".to_owned(), ..device }];
        assert_eq!(Device::original_of(&devices, &Knob::queue("sdb", tunable.clone())), Some("16"));
        assert_eq!(Device::original_of(&devices, &Knob::queue("sda", tunable)), None);
        assert_eq!(Device::original_of(&devices, &Knob::IoPriority { group: "sdb".to_owned() }), None);
    }
}
