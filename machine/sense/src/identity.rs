//! The name and kind under which a block device is known: what was measured on a device is kept under this name, and
//! read again by it. So there is one place that says it.
//!
//! An emulated device is known by what its server says that it stands for, in a file of the server's directory
//! (`RUN_DIR/lab/ID/state.json`).

use std::path::{Path, PathBuf};

use brisk_core::device::with_firmware;
use brisk_formats::DeviceNumber;
use serde::{Deserialize, Serialize};

use crate::block::BlockDevice;
use crate::error::{Absent as _, Result};
use crate::machine::Sense;

/// Where directories of emulated devices are found that no loop device leads to.
const EMULATED: &str = "/run/brisk/lab";
/// What the device mapper's name for a device of several paths to one disk begins with.
pub(crate) const MULTIPATH: &str = "mpath-";
/// Makers of disks of virtual machines, as their disks call themselves on SCSI and ATA.
const VIRTUAL_MAKERS: [&str; 5] = ["QEMU", "VBOX", "VMware", "Msft", "Google"];

/// What a device calls itself, and its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Number of the maker for cards, maker, model and revision of the firmware; what an emulated device stands for;
    /// the kernel's name for what has neither.
    pub model: String,
    /// `emmc`, `sd`, `ufs`, `nvme`, `usb`, `virtual` or `disk`.
    pub kind: String,
    /// Whether it is emulated in the laboratory.
    pub is_lab: bool,
    /// Revision of the firmware, where the device tells it; part of the name too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
}

/// What a disk keeps its data on, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    Flash,
    /// A disk of a virtual machine: whatever the host has. It neither spins down nor has a head to move here.
    Virtual,
    /// A rotating disk, which says so itself.
    Rotating,
    /// Flash or a rotating disk behind a bridge of USB.
    Unknown,
}

impl Medium {
    /// Whether it is served as flash is.
    #[must_use]
    pub fn is_like_flash(self) -> bool {
        matches!(self, Self::Flash | Self::Virtual)
    }
}

/// What is needed of the file about an emulated device.
#[derive(Debug, Deserialize)]
struct Emulated {
    identity: Identity,
    #[serde(default)]
    ublk_number: Option<DeviceNumber>,
}

impl Sense {
    /// The identity of `disk`.
    ///
    /// # Errors
    /// When its files in /sys are not readable or not understood.
    pub fn identity(&self, disk: &BlockDevice) -> Result<Identity> {
        if let Some(emulated) = self.emulated(disk)? {
            return Ok(emulated.identity);
        }
        let whole = self.described_by(disk)?;
        let disk = whole.as_ref().unwrap_or(disk);
        let place = self.block_device_place(&disk.name)?;
        let place = place.map(|place| place.to_string_lossy().into_owned()).unwrap_or_default();
        let firmware = self.firmware(&disk.name);
        let model = firmware.as_ref().map_or_else(|| model(disk), |revision| with_firmware(&model(disk), revision));
        Ok(Identity { model, kind: kind(disk, &place).to_owned(), is_lab: false, firmware })
    }

    /// What `disk` keeps its data on. `rotational` of /sys is what the disk itself says on ATA and SCSI. Virtual disks
    /// set it whatever they are, and for USB it is the kernel's default: bridges are not asked (`skip_vpd_pages`), so
    /// that only its absence is a fact there.
    ///
    /// # Errors
    /// When its files in /sys are not readable or not understood.
    pub fn medium(&self, disk: &BlockDevice) -> Result<Medium> {
        let kind = self.identity(disk)?.kind;
        let is_set =
            |file: &str| self.text_if_any(format!("/sys/block/{}/{file}", disk.name)).is_some_and(|text| text == "1");
        Ok(match kind.as_str() {
            "emmc" | "sd" | "ufs" | "nvme" => Medium::Flash,
            _ if !is_set("queue/rotational") => Medium::Flash,
            "virtual" => Medium::Virtual,
            // Sticks and card readers have removable media, boxes with a disk have not.
            "usb" if is_set("removable") => Medium::Flash,
            "usb" => Medium::Unknown,
            _ => Medium::Rotating,
        })
    }

    /// The disk that a hardware partition of a card (`mmcblk0boot0`, `mmcblk0gp0`) is a part of.
    ///
    /// # Errors
    /// When its files in /sys are not readable or not understood.
    pub fn card_of(&self, device: &BlockDevice) -> Result<Option<BlockDevice>> {
        let place = self.block_device_place(&device.name)?;
        let above =
            place.as_deref().and_then(Path::parent).and_then(Path::file_name).map(|name| name.to_string_lossy());
        match above {
            Some(above) => self.block_device(&above).or_absent(),
            None => Ok(None),
        }
    }

    /// The disk whose words describe `device` where it has none of its own: the card of a hardware partition, a path of
    /// a multipath device.
    fn described_by(&self, device: &BlockDevice) -> Result<Option<BlockDevice>> {
        let uuid = self.text_if_any(format!("/sys/block/{}/dm/uuid", device.name));
        match device.slaves.first().filter(|_| uuid.is_some_and(|uuid| uuid.starts_with(MULTIPATH))) {
            Some(path) => self.block_device(path).or_absent(),
            None => self.card_of(device),
        }
    }

    /// Revision of the firmware of a device: of NVMe `firmware_rev`, of SCSI and UFS `rev`, of cards `fwrev`, and of
    /// eMMC before 5.0, which have none, the revision of the product, `prv`
    /// (Documentation/driver-api/mmc/mmc-dev-attrs.rst).
    fn firmware(&self, name: &str) -> Option<String> {
        for file in ["firmware_rev", "rev", "fwrev", "prv"] {
            let text = self.text_if_any(format!("/sys/block/{name}/device/{file}"));
            // Cards show zeros for what they do not tell.
            let is_nothing = |text: &str| text.trim_start_matches("0x").chars().all(|c| c == '0');
            let text = text.map(|text| text.trim().replace(char::is_control, "")).filter(|text| !is_nothing(text));
            if text.is_some() {
                return text;
            }
        }
        None
    }

    /// What the server of an emulated device says of it: its directory is that of the mount in which the file behind
    /// the loop device is, or the one whose file has the device's number.
    fn emulated(&self, disk: &BlockDevice) -> Result<Option<Emulated>> {
        if let Some(backing) = self.loop_backing(&disk.name)? {
            let of_mount = backing.file.parent().and_then(Path::parent);
            return Ok(of_mount.and_then(|dir| self.emulated_in(dir)));
        }
        if !disk.name.starts_with("ublk") {
            return Ok(None);
        }
        let dirs = self.names_in(EMULATED)?.into_iter().map(|name| PathBuf::from(EMULATED).join(name));
        let is_it = |found: &Emulated| found.ublk_number == Some(disk.device);
        Ok(dirs.filter_map(|dir| self.emulated_in(&dir)).find(is_it))
    }

    fn emulated_in(&self, dir: &Path) -> Option<Emulated> {
        serde_json::from_slice(&self.read(dir.join("state.json")).ok()?).ok()
    }
}

/// What a device calls itself.
fn model(disk: &BlockDevice) -> String {
    let maker = disk.mmc.as_ref().and_then(|mmc| mmc.manufacturer_id).map(|id| format!("{id:06x}"));
    // Of virtio it is the number of the bus, and the same for every disk.
    let vendor = disk.vendor.as_deref().filter(|vendor| !vendor.starts_with("0x"));
    let words = [maker.as_deref(), vendor, disk.model.as_deref()];
    let words: Vec<&str> = words.into_iter().flatten().map(str::trim).collect();
    let words = words.join(" ");
    if words.is_empty() { disk.name.clone() } else { words }
}

/// Sort of device, by what the kernel calls it and the buses that it hangs on.
fn kind(disk: &BlockDevice, place: &str) -> &'static str {
    let on = |bus: &str| place.split('/').any(|part| part.contains(bus));
    let stems = ["vd", "xvd", "loop", "zram", "ram", "nbd", "ublk"];
    let words = [disk.vendor.as_deref(), disk.model.as_deref()];
    let is_of_machine = words.iter().flatten().any(|word| VIRTUAL_MAKERS.iter().any(|maker| word.starts_with(maker)));
    let is_virtual = is_of_machine || stems.iter().any(|stem| disk.name.starts_with(stem));
    match &disk.mmc {
        Some(mmc) if mmc.kind.as_deref() == Some("SD") => "sd",
        Some(_) => "emmc",
        None if disk.name.starts_with("nvme") => "nvme",
        None if is_virtual || on("virtio") || on("vmbus") || on("vbd-") => "virtual",
        None if on("ufs") => "ufs",
        None if on("usb") => "usb",
        None => "disk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Mmc;

    fn disk(name: &str, model: Option<&str>, mmc: Option<&str>) -> BlockDevice {
        let card = |kind: &str| Mmc {
            kind: Some(kind.to_owned()),
            name: None,
            manufacturer_id: Some(0x15),
            life_time: None,
            pre_eol: None,
        };
        BlockDevice {
            name: name.to_owned(),
            device: DeviceNumber { major: 259, minor: 3 },
            size_bytes: 1,
            read_only: false,
            vendor: None,
            model: model.map(str::to_owned),
            mmc: mmc.map(card),
            holders: Vec::new(),
            slaves: Vec::new(),
            partitions: Vec::new(),
        }
    }

    #[test]
    fn a_device_is_known_by_what_it_says_and_its_buses() {
        let ufs = "devices/platform/soc/1d84000.ufshc/host0/target0:0:0/0:0:0:0/block/sda";
        let usb = "devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host1/block/sda";
        for (disk, place, name, of_kind) in [
            (disk("mmcblk0", Some("BGND3R"), Some("MMC")), "", "000015 BGND3R", "emmc"),
            (disk("mmcblk1", Some("SC64G"), Some("SD")), "", "000015 SC64G", "sd"),
            (disk("nvme0n1", Some("X 1TB"), None), "devices/pci/nvme/nvme0/nvme0n1", "X 1TB", "nvme"),
            (disk("vda", None, None), "devices/pci/virtio2/block/vda", "vda", "virtual"),
            (
                BlockDevice { vendor: Some("0x1af4".into()), ..disk("vdb", None, None) },
                "devices/pci/virtio3/block/vdb",
                "vdb",
                "virtual",
            ),
            (disk("sda", Some("KLUDG8V1EE"), None), ufs, "KLUDG8V1EE", "ufs"),
            (disk("sda", Some("Stick"), None), usb, "Stick", "usb"),
            (disk("sda", None, None), "devices/pci0000:00/0000:00:17.0/ata1/host0/block/sda", "sda", "disk"),
            (
                disk("sda", Some("VMware Virtual S"), None),
                "devices/pci0000:00/host2/block/sda",
                "VMware Virtual S",
                "virtual",
            ),
            (disk("sda", None, None), "devices/LNXSYSTM:00/vmbus_0/f8b3781a/host0/block/sda", "sda", "virtual"),
        ] {
            assert_eq!((model(&disk).as_str(), kind(&disk, place)), (name, of_kind));
        }
    }

    #[test]
    fn firmware_is_told_apart_where_the_device_names_it() {
        let root = tempfile::tempdir().expect("a directory");
        let sense = Sense::new(root.path());
        for (path, text) in [
            ("nvme0n1/device/firmware_rev", "EXA7301Q\n"),
            ("sda/device/rev", "0100\n"),
            ("mmcblk0/device/fwrev", "0x0700000000000000\n"),
            ("mmcblk0/device/prv", "0x7\n"),
            ("mmcblk1/device/fwrev", "0x0\n"),
            ("mmcblk1/device/prv", "0x9\n"),
            ("mmcblk2/device/fwrev", "0x0000000000000000\n"),
            ("sdb/device/rev", "    \n"),
        ] {
            let path = sense.path("/sys/block").join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text).expect("written");
        }
        for (name, expected) in [
            ("nvme0n1", "M, firmware EXA7301Q"),
            ("sda", "M, firmware 0100"),
            ("mmcblk0", "M, firmware 0x0700000000000000"),
            ("mmcblk1", "M, firmware 0x9"),
            ("mmcblk2", "M"),
            ("sdb", "M"),
            ("vda", "M"),
        ] {
            let identity = sense.identity(&disk(name, Some("M"), None)).expect("readable");
            assert_eq!(identity.model, expected, "{name}");
        }
    }

    #[test]
    fn an_emulated_device_is_known_by_what_it_stands_for() {
        let root = tempfile::tempdir().expect("a directory");
        let sense = Sense::new(root.path());
        let write = |path: &str, text: &str| {
            let path = sense.path(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text).expect("written");
        };
        let declared = |model: &str, kind: &str, number: &str| {
            let identity = format!(r#"{{"model": "{model}", "kind": "{kind}", "is_lab": true}}"#);
            format!(r#"{{"identity": {identity}, "ublk_number": {number}, "size_bytes": 7}}"#)
        };
        write("/sys/block/loop3/loop/backing_file", "/run/b/lab/1/mnt/device\n");
        write("/sys/block/loop4/loop/backing_file", "/home/x/disk.img\n");
        write("/run/b/lab/1/state.json", &declared("galaxy-s5-emmc", "emmc", "null"));
        write("/run/brisk/lab/2/state.json", &declared("ufs-3.1", "ufs", r#"{"major": 259, "minor": 3}"#));
        write("/run/brisk/lab/3/state.json", "damaged");
        let known = |name: &str| {
            let Identity { model, kind, is_lab, .. } = sense.identity(&disk(name, None, None)).expect("readable");
            (model, kind, is_lab)
        };
        let lab = |model: &str, kind: &str| (model.to_owned(), kind.to_owned(), true);
        assert_eq!(known("loop3"), lab("galaxy-s5-emmc", "emmc"));
        assert_eq!(known("ublkb0"), lab("ufs-3.1", "ufs"));
        assert_eq!(known("loop4"), ("loop4".to_owned(), "virtual".to_owned(), false));
    }
}
