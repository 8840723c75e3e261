//! Names, numbers and wear of block devices.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::fields::{self, lines};

/// Major and minor number of a device, written `179:2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

impl DeviceNumber {
    /// From the `st_dev` or `st_rdev` of stat(2), whose bits are as in makedev(3).
    #[must_use]
    pub fn from_dev(dev: u64) -> Self {
        let bits = |shift: u32, mask: u64| (dev >> shift & mask) as u32;
        Self { major: bits(8, 0xfff) | bits(32, 0xffff_f000), minor: bits(0, 0xff) | bits(12, 0xffff_ff00) }
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

    fn from_str(text: &str) -> Result<Self, Self::Err> {
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

/// The name of a device in /sys, where `!` stands for `/`.
#[must_use]
pub fn sysfs_name(device: &str) -> String {
    device.replace('/', "!")
}

/// The kernel's name of the device that /sys calls `name`.
#[must_use]
pub fn device_name(name: &str) -> String {
    name.replace('!', "/")
}

/// The node below /dev of the device that /sys calls `name`.
#[must_use]
pub fn device_node(name: &str) -> PathBuf {
    PathBuf::from("/dev").join(device_name(name))
}

/// Reads the two estimates of `life_time`: `0x01 0x02`.
///
/// # Errors
/// When one of them is missing or not a number.
pub fn parse_life_time(bytes: &[u8]) -> Result<(WearTenths, WearTenths), ParseError> {
    let mut words = lines(bytes).next().ok_or(ParseError::MissingLine("life_time"))?;
    let mut estimate = |field| {
        let line = words.line;
        words.word(field).and_then(|word| fields::only_hex(line, field, word)).map(WearTenths::from_register)
    };
    Ok((estimate("type A")?, estimate("type B")?))
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
    fn a_slash_in_a_name_is_an_exclamation_mark_in_sys() {
        assert_eq!(
            (sysfs_name("cciss/c0d0").as_str(), device_name("cciss!c0d0").as_str()),
            ("cciss!c0d0", "cciss/c0d0")
        );
        assert_eq!(device_node("cciss!c0d0p1"), PathBuf::from("/dev/cciss/c0d0p1"));
    }

    #[test]
    fn the_bits_of_a_number_are_those_of_makedev() {
        assert_eq!(DeviceNumber::from_dev(0x0801), DeviceNumber { major: 8, minor: 1 });
        assert_eq!(DeviceNumber::from_dev(0x10_0301), DeviceNumber { major: 3, minor: 0x101 });
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
        fn a_device_number_comes_back(major in any::<u32>(), minor in any::<u32>()) {
            let device = DeviceNumber { major, minor };
            prop_assert_eq!(device.to_string().parse(), Ok(device));
        }
    }
}
