//! A control group in the place of the machine (`--memory-group`), for measurements: it has no watermarks, so that the
//! daemon does what kswapd would do.
//!
//! | setting | machine | group |
//! |---|---|---|
//! | `vm/watermark_scale_factor` | kswapd reclaims below *low*, up to twice that | the same, of the memory below the group's limit, in pieces of 4 MiB |
//! | `vm/min_free_kbytes` | the same, from 1.25 to 1.5 times the value | the same |
//!
//! These settings of the machine itself stay as they are. The other settings of virtual memory go to the machine.

use brisk_core::action::{Once, Setting};
use brisk_core::arbiter::Resolution;
use brisk_core::knob::{Knob, VmSetting};
use brisk_core::outcome::Outcome;
use brisk_core::snapshot::MemoryLevels;

use super::Daemon;

/// Memory that is reclaimed at once.
const PIECE_BYTES: u64 = 4 << 20;

/// From below which free memory reclaim begins, and up to which it goes on.
fn watermarks(setting: &Setting, total_bytes: u64) -> Option<(u64, u64)> {
    let value: u64 = setting.value.parse().ok()?;
    match setting.knob {
        Knob::Vm { setting: VmSetting::WatermarkScaleFactor } => {
            let low_bytes = (total_bytes / 10_000).saturating_mul(value);
            Some((low_bytes, low_bytes.saturating_mul(2)))
        }
        Knob::Vm { setting: VmSetting::MinFreeKbytes } => {
            let min_bytes = value.saturating_mul(1 << 10);
            Some((min_bytes.saturating_add(min_bytes / 4), min_bytes.saturating_add(min_bytes / 2)))
        }
        _ => None,
    }
}

impl Daemon {
    /// Takes the watermarks out of a resolution where a group stands for the machine, and reclaims by them.
    pub(super) fn stand_in_for_kswapd(&mut self, resolution: &mut Resolution, memory: &MemoryLevels) {
        let Some(name) = self.options.memory_group.as_ref().and_then(|dir| dir.file_name()) else { return };
        let group = name.to_string_lossy().into_owned();
        let is_watermark = |setting: &Setting| watermarks(setting, memory.total_bytes);
        let wanted = resolution.settings.iter().filter_map(|one| is_watermark(&one.what)).max();
        resolution.settings.retain(|one| is_watermark(&one.what).is_none());
        let Some((low_bytes, high_bytes)) = wanted.filter(|_| !self.state.is_paused) else {
            self.state.reclaims = false;
            return;
        };
        let limit_bytes = if self.state.reclaims { high_bytes } else { low_bytes };
        self.state.reclaims = memory.free_bytes < limit_bytes;
        if self.state.reclaims {
            let size_bytes = (high_bytes - memory.free_bytes).min(PIECE_BYTES);
            let outcome = self.perform(&Once::Reclaim { group, size_bytes });
            if let Outcome::Refused { why } = outcome {
                self.report_trouble(format!("the group that stands for the machine is not reclaimed: {why}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_the_watermarks_that_the_machine_would_have() {
        let of = |setting, value: &str| {
            watermarks(&Setting { knob: Knob::Vm { setting }, value: value.to_owned() }, 1_000_000_000)
        };
        assert_eq!(of(VmSetting::WatermarkScaleFactor, "500"), Some((50_000_000, 100_000_000)));
        assert_eq!(of(VmSetting::MinFreeKbytes, "8192"), Some((10 << 20, 12 << 20)));
        assert_eq!(of(VmSetting::WatermarkScaleFactor, "many"), None);
        assert_eq!(of(VmSetting::Swappiness, "1"), None);
    }
}
