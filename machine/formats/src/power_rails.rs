//! Energy counters of single supply rails, as some phones have (on-device power monitors, such as those of Pixel
//! phones): an IIO device with a file `energy_value`.

use serde::{Deserialize, Serialize};

use crate::ParseError;

/// A rail, and what went through it since the monitor began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerRail {
    /// The IIO device that monitors it, such as `iio:device0`.
    pub monitor: String,
    /// Its channel there, from 0.
    pub channel: u32,
    /// The name in the board's plan, such as `VSYS_PWR_DISPLAY`.
    pub name: String,
    pub energy_uj: u64,
}

const ENERGY_VALUE: &str = "energy_value";

/// Reads the text of an `energy_value`: a line for the time, then one for each channel, `CH0(T=1234)[NAME], 5678`, the
/// last in uWs, which are uJ. Older monitors leave the duration out.
///
/// # Errors
/// When a line of a channel has another form.
pub fn parse_power_rails(monitor: &str, bytes: &[u8]) -> Result<Vec<PowerRail>, ParseError> {
    let text = String::from_utf8_lossy(bytes);
    let channels = text.lines().enumerate().filter(|(_, line)| line.starts_with("CH"));
    channels
        .map(|(number, line)| {
            let rail = || {
                let (head, energy) = line.strip_prefix("CH")?.rsplit_once("],")?;
                let (head, name) = head.split_once('[')?;
                let channel = head.split('(').next()?.trim().parse().ok()?;
                let energy_uj = energy.trim().parse().ok()?;
                Some(PowerRail { monitor: monitor.to_owned(), channel, name: name.to_owned(), energy_uj })
            };
            rail().ok_or_else(|| ParseError::BadField { field: ENERGY_VALUE, line: number + 1, text: line.to_owned() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "t=473848\nCH0(T=473848)[S10M_VDD_TPU], 3679\nCH1(T=473848)[VSYS_PWR_MODEM], 48\nCH2[OLD], 7\n";

    #[test]
    fn each_channel_is_a_rail() {
        let rails = parse_power_rails("iio:device1", TEXT.as_bytes()).expect("rails");
        let found: Vec<_> = rails.iter().map(|rail| (rail.channel, rail.name.as_str(), rail.energy_uj)).collect();
        assert_eq!(found, [(0, "S10M_VDD_TPU", 3679), (1, "VSYS_PWR_MODEM", 48), (2, "OLD", 7)]);
        assert!(rails.iter().all(|rail| rail.monitor == "iio:device1"));
        for bad in ["CH0(T=1)[X] 5", "CHx[X], 5", "CH0[X], many", "CH0"] {
            assert!(parse_power_rails("m", bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
