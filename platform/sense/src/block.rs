//! Which block devices there are, and which one stands behind a device number: /sys/block and /sys/dev/block.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::diskstats::SECTOR_BYTES;
use crate::error::{Error, ParseError, Result};
use crate::fields::{self, lines};
use crate::{Sense, error};

/// Major and minor number of a device, written `179:2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeviceNumber {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// From the `st_dev` or `st_rdev` of stat(2).
    #[must_use]
    pub fn from_dev(dev: u64) -> Self {
        Self { major: rustix::fs::major(dev), minor: rustix::fs::minor(dev) }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// The text is not two numbers with a colon between them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a device number is written as major:minor, such as 179:2")]
pub struct DeviceNumberError;

impl FromStr for DeviceNumber {
    type Err = DeviceNumberError;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let (major, minor) = text.split_once(':').ok_or(DeviceNumberError)?;
        let number = |part: &str| part.parse().map_err(|_| DeviceNumberError);
        Ok(Self { major: number(major)?, minor: number(minor)? })
    }
}

/// Wear that an eMMC or SD device reports of one kind of its cells: tenths of its life that are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "tenths")]
pub enum WearTenths {
    /// The device does not say (value 0).
    Unknown,
    /// So many tenths have begun: 1 means up to 10 % used.
    Begun(u8),
    /// Beyond its specified life (value 0x0b).
    Exceeded,
}

impl WearTenths {
    /// From the device's own number: JESD84-B51, EXT_CSD registers 268 and 269.
    #[must_use]
    pub fn from_register(value: u32) -> Self {
        match value {
            1..=10 => Self::Begun(value as u8),
            11 => Self::Exceeded,
            _ => Self::Unknown,
        }
    }
}

/// What an eMMC or SD card tells about itself (Documentation/driver-api/mmc/mmc-dev-attrs.rst).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mmc {
    /// `MMC` or `SD`.
    pub kind: Option<String>,
    /// Product name of the card.
    pub name: Option<String>,
    /// Number of its maker.
    pub manufacturer_id: Option<u32>,
    /// Wear of the cells of type A (SLC) and type B (MLC or more); eMMC from 5.0 on.
    pub life_time: Option<(WearTenths, WearTenths)>,
    /// Reserved blocks used up: 1 normal, 2 beyond 80 %, 3 beyond 90 %; eMMC from 5.0 on.
    pub pre_eol: Option<u32>,
}

/// A partition of a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Kernel name, such as `mmcblk0p2`.
    pub name: String,
    /// Its number on the disk.
    pub number: u32,
    /// Where it begins.
    pub start_bytes: u64,
    /// Its size.
    pub size_bytes: u64,
}

/// A whole block device.
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
    /// Its partitions.
    pub partitions: Vec<Partition>,
}

impl BlockDevice {
    /// Its node below /dev.
    #[must_use]
    pub fn node(&self) -> PathBuf {
        node(&self.name)
    }
}

impl Partition {
    /// Its node below /dev.
    #[must_use]
    pub fn node(&self) -> PathBuf {
        node(&self.name)
    }
}

fn node(name: &str) -> PathBuf {
    PathBuf::from("/dev").join(name.replace('!', "/"))
}

/// What stands behind a device number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Located {
    /// The whole disk.
    pub disk: BlockDevice,
    /// Its partition, when the number is a partition's.
    pub partition: Option<Partition>,
}

/// Reads the two estimates of `life_time`: `0x01 0x02`.
fn parse_life_time(bytes: &[u8]) -> std::result::Result<(WearTenths, WearTenths), ParseError> {
    let mut words = lines(bytes).next().ok_or(ParseError::MissingLine("life_time"))?;
    let mut estimate = |field| {
        let line = words.line;
        words.word(field).and_then(|word| fields::only_hex(line, field, word)).map(WearTenths::from_register)
    };
    Ok((estimate("type A")?, estimate("type B")?))
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
            match self.block_device(&name) {
                Ok(device) => devices.push(device),
                Err(error) if error.is_absent() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(devices)
    }

    /// The whole block device `name`, from /sys/block/NAME.
    ///
    /// # Errors
    /// When there is no such device or its files are not readable or not understood.
    pub fn block_device(&self, name: &str) -> Result<BlockDevice> {
        let dir = format!("/sys/block/{}", checked_name(name)?);
        let sectors: u64 = self.parse(format!("{dir}/size"), |bytes| fields::only_number("size", bytes))?;
        Ok(BlockDevice {
            name: name.to_owned(),
            device: self.parse(format!("{dir}/dev"), |bytes| fields::only_number("dev", bytes))?,
            size_bytes: sectors.saturating_mul(SECTOR_BYTES),
            read_only: self.parse(format!("{dir}/ro"), |bytes| fields::only_flag("ro", bytes))?,
            vendor: self.text_optional(format!("{dir}/device/vendor"))?,
            model: match self.text_optional(format!("{dir}/device/model"))? {
                Some(model) => Some(model),
                None => self.text_optional(format!("{dir}/device/name"))?,
            },
            mmc: self.mmc(name, &dir)?,
            holders: self.names_in(format!("{dir}/holders"))?,
            slaves: self.names_in(format!("{dir}/slaves"))?,
            partitions: self.partitions(name, &dir)?,
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
        Ok(place.zip(sys).and_then(|(place, sys)| place.strip_prefix(sys).map(std::path::Path::to_owned).ok()))
    }

    fn partitions(&self, disk: &str, dir: &str) -> Result<Vec<Partition>> {
        let mut partitions = Vec::new();
        for name in self.names_in(dir)? {
            if name.starts_with(disk) {
                partitions.extend(self.partition(&name, &format!("{dir}/{name}"))?);
            }
        }
        Ok(partitions)
    }

    fn partition(&self, name: &str, dir: &str) -> Result<Option<Partition>> {
        let number = |file: &'static str| -> Result<Option<u64>> {
            self.parse_optional(format!("{dir}/{file}"), |bytes| fields::only_number(file, bytes))
        };
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

    fn mmc(&self, name: &str, dir: &str) -> Result<Option<Mmc>> {
        if !name.starts_with("mmcblk") {
            return Ok(None);
        }
        let hex = |file: &'static str| {
            self.parse_optional(format!("{dir}/device/{file}"), |bytes| fields::only_hex(1, file, bytes))
        };
        Ok(Some(Mmc {
            kind: self.text_optional(format!("{dir}/device/type"))?,
            name: self.text_optional(format!("{dir}/device/name"))?,
            manufacturer_id: hex("manfid")?,
            life_time: self.parse_optional(format!("{dir}/device/life_time"), parse_life_time)?,
            pre_eol: hex("pre_eol_info")?,
        }))
    }

    /// The disk, and the partition if it is one, with the number `device`: the way from the `st_dev` of a file to the
    /// queue that serves it.
    ///
    /// `None` where no block device has this number: tmpfs, network file systems, btrfs and overlays, whose files have
    /// numbers of major 0.
    ///
    /// # Errors
    /// When /sys is missing, not readable or not understood.
    pub fn block_device_of(&self, device: DeviceNumber) -> Result<Option<Located>> {
        let table = self.path("/sys/dev/block");
        if !table.is_dir() {
            return Err(Error::Missing { path: table });
        }
        let link = table.join(device.to_string());
        // The link leads to .../block/DISK or .../block/DISK/PARTITION.
        let target = match std::fs::canonicalize(&link) {
            Ok(target) => target,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(error::Error::reading(link, source)),
        };
        let last_of = |path: &std::path::Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = last_of(&target).ok_or_else(|| Error::Missing { path: link.clone() })?;
        if !target.join("partition").exists() {
            return Ok(Some(Located { disk: self.block_device(&name)?, partition: None }));
        }
        let disk = target.parent().and_then(last_of).ok_or(Error::Missing { path: link })?;
        let partition = self.partition(&name, &format!("/sys/block/{}/{name}", checked_name(&disk)?))?;
        Ok(Some(Located { disk: self.block_device(&disk)?, partition }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wear_is_told_in_tenths() {
        use WearTenths::{Begun, Exceeded, Unknown};
        assert_eq!(parse_life_time(b"0x01 0x0b\n"), Ok((Begun(1), Exceeded)));
        assert_eq!(parse_life_time(b"0x00 0x0a\n"), Ok((Unknown, Begun(10))));
        assert_eq!(WearTenths::from_register(12), Unknown);
        assert!(parse_life_time(b"0x01\n").is_err());
        assert!(parse_life_time(b"").is_err());
    }

    #[test]
    fn names_cannot_leave_their_directory() {
        let sense = Sense::new("/nonexistent");
        for name in ["", ".", "..", "../../etc", "a/b", "a\0b"] {
            assert!(matches!(sense.block_device(name), Err(Error::Name { .. })), "{name:?}");
        }
    }

    #[test]
    fn nodes_with_a_directory_are_found() {
        assert_eq!(node("cciss!c0d0p1"), PathBuf::from("/dev/cciss/c0d0p1"));
    }

    #[test]
    fn device_numbers_are_two_numbers() {
        assert_eq!("179:2".parse(), Ok(DeviceNumber { major: 179, minor: 2 }));
        for bad in ["179", "179:", ":2", "a:2", "1:2:3", "-1:2"] {
            assert_eq!(bad.parse::<DeviceNumber>(), Err(DeviceNumberError), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse_life_time(&bytes);
        }

        #[test]
        fn a_device_number_comes_back(major in any::<u32>(), minor in any::<u32>()) {
            let device = DeviceNumber { major, minor };
            prop_assert_eq!(device.to_string().parse(), Ok(device));
        }
    }
}
