//! Energy and power: batteries and chargers in /sys/class/power_supply (Documentation/ABI/testing/sysfs-class-power),
//! counters of processors in /sys/class/powercap (Documentation/power/powercap/powercap.rst), and of single supply
//! rails, as some phones have: IIO devices with a file `energy_value`.

use brisk_formats::{PowerRail, parse_power_rails};
use serde::{Deserialize, Serialize};

use crate::error::{Absent as _, Result};
use crate::machine::Sense;

/// One battery or charger. What a driver does not tell is `None`; which values there are differs from device to device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerSupply {
    /// Name in /sys/class/power_supply.
    pub name: String,
    /// `Battery`, `Mains`, `USB`, ...
    pub kind: String,
    /// `Charging`, `Discharging`, `Full`, ...
    pub status: Option<String>,
    pub capacity_percent: Option<u32>,
    /// Current; whether discharge is below zero differs between drivers.
    pub current_now_ua: Option<i64>,
    pub voltage_now_uv: Option<i64>,
    /// Power, from drivers that measure it.
    pub power_now_uw: Option<i64>,
}

impl PowerSupply {
    /// Whether its power is reported, directly or as current and voltage.
    #[must_use]
    pub fn measures_power(&self) -> bool {
        self.power_now_uw.is_some() || (self.current_now_ua.is_some() && self.voltage_now_uv.is_some())
    }

    /// Power at this moment without its sign; `None` when it is not reported.
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

/// One zone that counts energy, such as a package of processors or its memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowercapZone {
    /// Name of the directory, such as `intel-rapl:0:1`.
    pub zone: String,
    /// What it counts: `package-0`, `core`, `dram`, ...
    pub name: String,
    /// The counter; `None` when only root may read it, as is usual.
    pub energy_uj: Option<u64>,
    /// Where the counter begins anew.
    pub max_energy_range_uj: Option<u64>,
}

/// A battery that discharges below this charge is kept for what a person does.
const LOW_PERCENT: u32 = 15;
/// A battery above this is hot, in tenths of a degree Celsius.
const HOT_DECIDEGREES: i64 = 450;

impl Sense {
    /// Why work that can wait is to wait: a battery is nearly empty and discharges, or is hot. `None` where it is not,
    /// or where the device does not tell.
    #[must_use]
    pub fn spares_battery(&self) -> Option<String> {
        let names = self.names_in("/sys/class/power_supply").ok()?;
        names.into_iter().find_map(|name| {
            let dir = format!("/sys/class/power_supply/{name}");
            let text = |file: &str| self.text_optional(format!("{dir}/{file}")).ok().flatten();
            let number = |file: &'static str| self.number_optional::<i64>(&dir, file).ok().flatten();
            // Others are those of mice and pens.
            if text("type")? != "Battery" || text("scope").is_some_and(|scope| scope == "Device") {
                return None;
            }
            if number("temp").is_some_and(|temp| temp >= HOT_DECIDEGREES)
                || text("health").is_some_and(|health| matches!(health.as_str(), "Overheat" | "Hot"))
            {
                return Some(format!("the battery {name} is hot"));
            }
            let percent = number("capacity").and_then(|percent| u32::try_from(percent).ok())?;
            let is_low = percent <= LOW_PERCENT && text("status")? == "Discharging";
            is_low.then(|| format!("the battery {name} is at {percent} %"))
        })
    }

    /// The batteries and chargers, from /sys/class/power_supply; empty where there is none.
    ///
    /// # Errors
    /// When the directory is not readable.
    pub fn power_supplies(&self) -> Result<Vec<PowerSupply>> {
        let mut supplies = Vec::new();
        for name in self.names_in("/sys/class/power_supply")? {
            let dir = format!("/sys/class/power_supply/{name}");
            let Some(kind) = self.text_if_any(format!("{dir}/type")) else { continue };
            // A charger that answers in odd words hides neither itself nor the battery.
            let number = |file| self.number_optional::<i64>(&dir, file).ok().flatten();
            supplies.push(PowerSupply {
                name,
                kind,
                status: self.text_if_any(format!("{dir}/status")),
                capacity_percent: number("capacity").and_then(|percent| u32::try_from(percent).ok()),
                current_now_ua: number("current_now"),
                voltage_now_uv: number("voltage_now"),
                power_now_uw: number("power_now"),
            });
        }
        Ok(supplies)
    }

    /// The zones that count energy, from /sys/class/powercap; empty where there is none.
    ///
    /// # Errors
    /// When the directory is not readable.
    pub fn powercap_zones(&self) -> Result<Vec<PowercapZone>> {
        let mut zones = Vec::new();
        for zone in self.names_in("/sys/class/powercap")? {
            let dir = format!("/sys/class/powercap/{zone}");
            if !self.path(format!("{dir}/energy_uj")).exists() {
                continue;
            }
            let number = |file| self.number_optional(&dir, file).ok().flatten();
            let (energy_uj, max_energy_range_uj) = (number("energy_uj"), number("max_energy_range_uj"));
            let name = self.text_if_any(format!("{dir}/name")).unwrap_or_else(|| zone.clone());
            zones.push(PowercapZone { zone, name, energy_uj, max_energy_range_uj });
        }
        Ok(zones)
    }

    /// The rails that are monitored, from /sys/bus/iio/devices; empty where none is, or where only root may read them.
    ///
    /// # Errors
    /// When a file is not understood, or not readable for another reason than permission.
    pub fn power_rails(&self) -> Result<Vec<PowerRail>> {
        let mut rails = Vec::new();
        for monitor in self.names_in("/sys/bus/iio/devices")? {
            let path = format!("/sys/bus/iio/devices/{monitor}/energy_value");
            rails.extend(
                self.parse(path, |bytes| parse_power_rails(&monitor, bytes)).or_hidden()?.into_iter().flatten(),
            );
        }
        Ok(rails)
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

    #[test]
    fn other_devices_of_the_bus_are_left_out() {
        let root = tempfile::tempdir().expect("directory");
        let bus = root.path().join("sys/bus/iio/devices");
        std::fs::create_dir_all(bus.join("iio:device0")).expect("an accelerometer");
        std::fs::create_dir_all(bus.join("iio:device1")).expect("a monitor");
        std::fs::write(bus.join("iio:device1/energy_value"), "CH0(T=473848)[S10M_VDD_TPU], 3679\nCH1[OLD], 7\n")
            .expect("written");
        assert_eq!(Sense::new(root.path()).power_rails().expect("rails").len(), 2);
        assert_eq!(Sense::new("/nonexistent").power_rails().expect("none"), []);
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
