//! Batteries and chargers: /sys/class/power_supply (Documentation/ABI/testing/sysfs-class-power).

use serde::{Deserialize, Serialize};

use crate::Sense;
use crate::error::Result;
use crate::fields;

/// One battery or charger. What a driver does not tell is `None`; which values there are differs from device to device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerSupply {
    /// Name in /sys/class/power_supply.
    pub name: String,
    /// `Battery`, `Mains`, `USB`, ...
    pub kind: String,
    /// `Charging`, `Discharging`, `Full`, ...
    pub status: Option<String>,
    /// Charge.
    pub capacity_percent: Option<u32>,
    /// Current; whether discharge is below zero differs between drivers.
    pub current_now_ua: Option<i64>,
    /// Voltage.
    pub voltage_now_uv: Option<i64>,
    /// Power, from drivers that measure it.
    pub power_now_uw: Option<i64>,
}

impl PowerSupply {
    /// Whether its power can be followed: either told, or told as current and voltage.
    #[must_use]
    pub fn measures_power(&self) -> bool {
        self.power_now_uw.is_some() || (self.current_now_ua.is_some() && self.voltage_now_uv.is_some())
    }

    /// Power at this moment without its sign; `None` when it is not told.
    #[must_use]
    pub fn power_uw(&self) -> Option<u64> {
        if let Some(power) = self.power_now_uw {
            return Some(power.unsigned_abs());
        }
        let (current, voltage) = (self.current_now_ua?, self.voltage_now_uv?);
        let power = u128::from(current.unsigned_abs()) * u128::from(voltage.unsigned_abs()) / 1_000_000;
        u64::try_from(power).ok()
    }
}

impl Sense {
    /// The batteries and chargers, from /sys/class/power_supply; empty where there is none.
    ///
    /// # Errors
    /// When a file is not readable or not understood.
    pub fn power_supplies(&self) -> Result<Vec<PowerSupply>> {
        let mut supplies = Vec::new();
        for name in self.names_in("/sys/class/power_supply")? {
            let dir = format!("/sys/class/power_supply/{name}");
            let Some(kind) = self.text_optional(format!("{dir}/type"))? else { continue };
            let number = |file: &'static str| {
                self.parse_optional(format!("{dir}/{file}"), |bytes| fields::only_number::<i64>(file, bytes))
            };
            supplies.push(PowerSupply {
                name,
                kind,
                status: self.text_optional(format!("{dir}/status"))?,
                capacity_percent: number("capacity")?.and_then(|percent| u32::try_from(percent).ok()),
                current_now_ua: number("current_now")?,
                voltage_now_uv: number("voltage_now")?,
                power_now_uw: number("power_now")?,
            });
        }
        Ok(supplies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn battery(current: Option<i64>, voltage: Option<i64>, power: Option<i64>) -> PowerSupply {
        PowerSupply {
            name: "battery".into(),
            kind: "Battery".into(),
            status: None,
            capacity_percent: None,
            current_now_ua: current,
            voltage_now_uv: voltage,
            power_now_uw: power,
        }
    }

    #[test]
    fn power_is_told_or_computed() {
        assert_eq!(battery(Some(-250_000), Some(4_000_000), None).power_uw(), Some(1_000_000));
        assert_eq!(battery(None, None, Some(-5)).power_uw(), Some(5));
        assert_eq!(battery(Some(1), None, None).power_uw(), None);
        assert!(!battery(Some(1), None, None).measures_power());
    }

    proptest! {
        #[test]
        fn no_numbers_overflow(current in any::<i64>(), voltage in any::<i64>(), power in any::<Option<i64>>()) {
            let battery = battery(Some(current), Some(voltage), power);
            prop_assert!(battery.measures_power());
            let _ = battery.power_uw();
        }
    }
}
