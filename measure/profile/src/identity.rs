//! Under which name a device's profile is kept.

use brisk_lab::Lab;
use brisk_sense::{BlockDevice, Sense};

/// What a device calls itself, and its kind, in the words of [`brisk_core::decision::Device`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Maker, model and number of the maker for cards; the preset for a device of the lab; the kernel's name for what has
    /// neither.
    pub model: String,
    /// `emmc`, `sd`, `ufs`, `nvme`, `usb`, `virtual` or `disk`.
    pub kind: String,
    /// Whether the lab emulates it.
    pub is_lab: bool,
}

/// The identity of `disk`.
#[must_use]
pub fn of(sense: &Sense, lab: &Lab, disk: &BlockDevice) -> Identity {
    let node = disk.node();
    if let Some(emulated) = lab.list().into_iter().find(|listed| listed.device.as_ref() == Some(&node)) {
        let kind = kind_of_preset(&emulated.preset);
        return Identity { model: emulated.preset, kind: kind.to_owned(), is_lab: true };
    }
    let rotational = sense.block_queue(&disk.name).is_ok_and(|queue| queue.rotational);
    Identity { model: model(disk), kind: kind(disk, rotational).to_owned(), is_lab: false }
}

fn kind_of_preset(preset: &str) -> &'static str {
    let words: Vec<&str> = preset.split(['-', '/', '.']).collect();
    ["emmc", "ufs", "sd"].into_iter().find(|kind| words.contains(kind)).unwrap_or("virtual")
}

fn model(disk: &BlockDevice) -> String {
    let maker = disk.mmc.as_ref().and_then(|mmc| mmc.manufacturer_id).map(|id| format!("{id:06x}"));
    let words: Vec<&str> = [maker.as_deref(), disk.vendor.as_deref(), disk.model.as_deref()]
        .into_iter()
        .flatten()
        .map(str::trim)
        .collect();
    let words = words.join(" ");
    if words.is_empty() { disk.name.clone() } else { words }
}

fn kind(disk: &BlockDevice, rotational: bool) -> &'static str {
    match &disk.mmc {
        Some(mmc) if mmc.kind.as_deref() == Some("SD") => "sd",
        Some(_) => "emmc",
        None if disk.name.starts_with("nvme") => "nvme",
        None if ["vd", "xvd", "loop", "zram", "ram", "nbd", "ublk"].iter().any(|stem| disk.name.starts_with(stem)) => {
            "virtual"
        }
        // UFS speaks SCSI; the kernel shows no more of it than the model.
        None if !rotational && disk.model.as_deref().is_some_and(|model| model.starts_with("KLU")) => "ufs",
        None => "disk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_sense::{DeviceNumber, Mmc};

    fn disk(name: &str, model: Option<&str>, mmc: Option<&str>) -> BlockDevice {
        BlockDevice {
            name: name.to_owned(),
            device: DeviceNumber { major: 179, minor: 0 },
            size_bytes: 0,
            read_only: false,
            vendor: None,
            model: model.map(str::to_owned),
            mmc: mmc.map(|kind| Mmc {
                kind: Some(kind.to_owned()),
                name: None,
                manufacturer_id: Some(0x15),
                life_time: None,
                pre_eol: None,
            }),
            holders: vec![],
            slaves: vec![],
            partitions: vec![],
        }
    }

    #[test]
    fn devices_are_told_apart_by_what_they_say() {
        for (disk, name, of_kind) in [
            (disk("mmcblk0", Some("BGND3R"), Some("MMC")), "000015 BGND3R", "emmc"),
            (disk("mmcblk1", Some("SC64G"), Some("SD")), "000015 SC64G", "sd"),
            (disk("nvme0n1", Some("X 1TB"), None), "X 1TB", "nvme"),
            (disk("vda", None, None), "vda", "virtual"),
            (disk("sda", Some("KLUDG8V1EE"), None), "KLUDG8V1EE", "ufs"),
        ] {
            assert_eq!((model(&disk).as_str(), kind(&disk, false)), (name, of_kind));
        }
        assert_eq!(kind_of_preset("galaxy-s5-emmc"), "emmc");
        assert_eq!(kind_of_preset("emmc-5.1"), "emmc");
        assert_eq!(kind_of_preset("sd-ridata"), "sd");
        assert_eq!(kind_of_preset("pcm"), "virtual");
    }
}
