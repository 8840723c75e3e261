//! Energy counters of processors: /sys/class/powercap (Documentation/power/powercap/powercap.rst).

use serde::{Deserialize, Serialize};

use crate::Sense;
use crate::error::{Error, Result};
use crate::fields;

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

impl Sense {
    /// The zones that count energy, from /sys/class/powercap; empty where there is none.
    ///
    /// # Errors
    /// When a file is not understood, or not readable for another reason than permission.
    pub fn powercap_zones(&self) -> Result<Vec<PowercapZone>> {
        let mut zones = Vec::new();
        for zone in self.names_in("/sys/class/powercap")? {
            let dir = format!("/sys/class/powercap/{zone}");
            if !self.path(format!("{dir}/energy_uj")).exists() {
                continue;
            }
            let number = |file: &'static str| match self
                .parse_optional(format!("{dir}/{file}"), |bytes| fields::only_number(file, bytes))
            {
                Err(Error::Denied { .. }) => Ok(None),
                other => other,
            };
            let (energy_uj, max_energy_range_uj) = (number("energy_uj")?, number("max_energy_range_uj")?);
            let name = self.text_optional(format!("{dir}/name"))?.unwrap_or_else(|| zone.clone());
            zones.push(PowercapZone { zone, name, energy_uj, max_energy_range_uj });
        }
        Ok(zones)
    }
}
