//! Which block devices there are, and which one stands behind a device number: /sys/block and /sys/dev/block.

use std::path::{Path, PathBuf};

use brisk_formats::{DeviceNumber, SECTOR_BYTES, WearTenths, device_node, fields, parse_life_time};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::machine::Sense;

/// What an eMMC or SD card tells about itself (Documentation/driver-api/mmc/mmc-dev-attrs.rst).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mmc {
    /// `MMC` or `SD`.
    pub kind: Option<String>,
    /// Product name of the card.
    pub name: Option<String>,
    pub manufacturer_id: Option<u32>,
    /// Wear of the cells of type A (SLC) and type B (MLC or more); eMMC from 5.0 on.
    pub life_time: Option<(WearTenths, WearTenths)>,
    /// Reserved blocks used up: 1 normal, 2 beyond 80 %, 3 beyond 90 %; eMMC from 5.0 on.
    pub pre_eol: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Kernel name, such as `mmcblk0p2`.
    pub name: String,
    pub number: u32,
    pub start_bytes: u64,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Kernel name, such as `mmcblk0`; `!` stands where the path below /dev has `/`.
    pub name: String,
    /// Major and minor number.
    pub device: DeviceNumber,
    /// Capacity; 0 for a loop device without file or a drive without medium.
    pub size_bytes: u64,
    /// Whether the device refuses writes.
    pub read_only: bool,
    /// Who made it, where the bus tells.
    pub vendor: Option<String>,
    /// What its maker calls it, where the bus tells.
    pub model: Option<String>,
    /// For eMMC and SD.
    pub mmc: Option<Mmc>,
    /// Devices built on this one: device mapper, RAID.
    pub holders: Vec<String>,
    /// Devices that this one is built on.
    pub slaves: Vec<String>,
    pub partitions: Vec<Partition>,
}

impl BlockDevice {
    #[must_use]
    pub fn node(&self) -> PathBuf {
        device_node(&self.name)
    }
}

impl Partition {
    /// Its node below /dev.
    #[must_use]
    pub fn node(&self) -> PathBuf {
        device_node(&self.name)
    }
}

/// What stands behind a device number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Located {
    pub disk: BlockDevice,
    /// Its partition, when the number is a partition's.
    pub partition: Option<Partition>,
}

/// A name that stays inside its directory.
pub(crate) fn checked_name(name: &str) -> Result<&str> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(Error::Name { name: name.to_owned() });
    }
    Ok(name)
}

impl Sense {
    /// The names of all whole block devices, from /sys/block.
    ///
    /// # Errors
    /// When /sys is missing or not readable.
    pub fn block_device_names(&self) -> Result<Vec<String>> {
        let path = self.path("/sys/block");
        if !path.is_dir() {
            return Err(Error::Missing { path });
        }
        self.names_in("/sys/block")
    }

    /// All whole block devices, loop devices without a file included. One that vanishes meanwhile is left out.
    ///
    /// # Errors
    /// When /sys is missing, not readable or not understood.
    pub fn block_devices(&self) -> Result<Vec<BlockDevice>> {
        let mut devices = Vec::new();
        for name in self.block_device_names()? {
            // One that cannot be read is on its way in or out, or its driver is broken: the others are there.
            devices.extend(self.block_device(&name).ok());
        }
        Ok(devices)
    }

    /// The whole block device `name`, from /sys/block/NAME. What its driver or firmware tells in odd words, or not at
    /// all, is unknown.
    ///
    /// # Errors
    /// When there is no such device, or its number and size are not readable or not understood.
    pub fn block_device(&self, name: &str) -> Result<BlockDevice> {
        let dir = format!("/sys/block/{}", checked_name(name)?);
        let sectors: u64 = self.number(&dir, "size")?;
        Ok(BlockDevice {
            name: name.to_owned(),
            device: self.number(&dir, "dev")?,
            size_bytes: sectors.saturating_mul(SECTOR_BYTES),
            read_only: self.text_if_any(format!("{dir}/ro")).is_some_and(|text| text == "1"),
            vendor: self.text_if_any(format!("{dir}/device/vendor")),
            model: ["model", "name"].into_iter().find_map(|file| self.text_if_any(format!("{dir}/device/{file}"))),
            mmc: name.starts_with("mmcblk").then(|| self.mmc(&dir)),
            holders: self.names_in(format!("{dir}/holders"))?,
            slaves: self.names_in(format!("{dir}/slaves"))?,
            partitions: self.partitions(&dir)?,
        })
    }

    /// Where the whole device `name` hangs in the tree of devices, from the root of /sys: the buses between it and the
    /// processor are part of it. `None` when there is no such device.
    ///
    /// # Errors
    /// When the name cannot be one.
    pub fn block_device_place(&self, name: &str) -> Result<Option<PathBuf>> {
        let link = self.path(format!("/sys/block/{}", checked_name(name)?));
        let place = std::fs::canonicalize(link).ok();
        let sys = std::fs::canonicalize(self.path("/sys")).ok();
        Ok(place.zip(sys).and_then(|(place, sys)| place.strip_prefix(sys).map(Path::to_owned).ok()))
    }

    /// The directories in that of a disk that are partitions, whatever they are called.
    fn partitions(&self, dir: &str) -> Result<Vec<Partition>> {
        let mut partitions = Vec::new();
        for name in self.names_in(dir)? {
            partitions.extend(self.partition(&name, &format!("{dir}/{name}")).ok().flatten());
        }
        Ok(partitions)
    }

    fn partition(&self, name: &str, dir: &str) -> Result<Option<Partition>> {
        let number = |file: &'static str| self.number_optional::<u64>(dir, file);
        let (Some(partition), Some(start), Some(size)) = (number("partition")?, number("start")?, number("size")?)
        else {
            return Ok(None);
        };
        Ok(Some(Partition {
            name: name.to_owned(),
            number: u32::try_from(partition).unwrap_or(u32::MAX),
            start_bytes: start.saturating_mul(SECTOR_BYTES),
            size_bytes: size.saturating_mul(SECTOR_BYTES),
        }))
    }

    fn mmc(&self, dir: &str) -> Mmc {
        let path = |file: &str| format!("{dir}/device/{file}");
        let hex = |file: &'static str| self.parse(path(file), |bytes| fields::only_hex(1, file, bytes)).ok();
        Mmc {
            kind: self.text_if_any(path("type")),
            name: self.text_if_any(path("name")),
            manufacturer_id: hex("manfid"),
            life_time: self.parse(path("life_time"), parse_life_time).ok(),
            pre_eol: hex("pre_eol_info"),
        }
    }

    /// The disk, and the partition if it is one, with the number `device`.
    ///
    /// `None` where no block device has this number: tmpfs, network file systems, btrfs and overlays, whose files have
    /// numbers of major 0.
    ///
    /// # Errors
    /// When /sys is missing, not readable or not understood.
    pub fn block_device_of(&self, device: DeviceNumber) -> Result<Option<Located>> {
        let Some((disk, partition)) = self.block_name_of(device)? else { return Ok(None) };
        let partition = match partition {
            Some(name) => self.partition(&name, &format!("/sys/block/{}/{name}", checked_name(&disk)?))?,
            None => None,
        };
        Ok(Some(Located { disk: self.block_device(&disk)?, partition }))
    }

    /// The names of the disk, and of the partition if it is one, with the number `device`.
    pub(crate) fn block_name_of(&self, device: DeviceNumber) -> Result<Option<(String, Option<String>)>> {
        let table = self.path("/sys/dev/block");
        if !table.is_dir() {
            return Err(Error::Missing { path: table });
        }
        let link = table.join(device.to_string());
        // The link leads to .../block/DISK or .../block/DISK/PARTITION.
        let target = match std::fs::canonicalize(&link) {
            Ok(target) => target,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::reading(link, source)),
        };
        let last_of = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = last_of(&target).ok_or_else(|| Error::Missing { path: link.clone() })?;
        if !target.join("partition").exists() {
            return Ok(Some((name, None)));
        }
        let disk = target.parent().and_then(last_of).ok_or(Error::Missing { path: link })?;
        Ok(Some((disk, Some(name))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_directory() {
        let sense = Sense::new("/nonexistent");
        for name in ["", ".", "..", "../../etc", "a/b", "a\0b"] {
            assert!(matches!(sense.block_device(name), Err(Error::Name { .. })), "{name:?}");
        }
    }
}
