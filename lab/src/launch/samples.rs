//! Samples of a control group's and a disk's counters during the observation, and the coarse splits computed from them.
//!
//! With eBPF the samples only divide running time into user and system time. Without it they are the only source:
//! - *cgroup*: cpu.stat gives user and system time, io.pressure `full` the time in which all processes with work waited
//!   for storage. Reads, swap and writes are not separated, nor waits for a processor and the network. Two threads that
//!   run concurrently count twice, so CPU time is scaled down to fit into the wall time.
//! - *paper*: formulas 4.1 and 4.2 of the dissertation (4.5.4). Storage delay is bytes read and written over the rates
//!   of reading and writing; network delay is the remaining time that is neither user nor system. With iostat's rates
//!   (bytes over the length of the interval), formula 4.1 always gives the length of the interval, as numerator and
//!   denominator differ by that factor alone. Rates here are therefore those of a busy device (bytes over its busy
//!   time), and the formula gives the busy time of the device. It includes the I/O of other processes, and counts all
//!   sleep as network.

use crate::results::{Cause, Part, Split, SplitMethod};
use brisk_sense::{CgroupMeter, Sense};

use crate::launch::error::Result;

/// Counters at one moment; all are monotonic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    pub at_ns: u64,
    /// CPU time in user mode.
    pub user_us: u64,
    /// CPU time in the kernel.
    pub system_us: u64,
    /// Time in which all processes with work waited for storage; `None` without pressure files.
    pub io_full_us: Option<u64>,
    /// Busy time of the app's disk; `None` where there is no single disk.
    pub disk_busy_ms: Option<u64>,
}

impl Sample {
    /// Samples the group that `meter` reads, and `disk` (kernel name).
    ///
    /// # Errors
    /// When the kernel's files are not readable or not understood.
    pub fn take(sense: &Sense, meter: &mut CgroupMeter, disk: Option<&str>) -> Result<Self> {
        let (cpu, io) = meter.read()?;
        let cpu = cpu.unwrap_or_default();
        let disk = disk.map(|name| sense.disk_stats_of(name)).transpose()?.flatten();
        Ok(Self {
            at_ns: crate::launch::clock::now_ns(),
            user_us: cpu.user_us,
            system_us: cpu.system_us,
            io_full_us: io.and_then(|pressure| pressure.full).map(|full| full.total_us),
            disk_busy_ms: disk.map(|disk| disk.busy_ms),
        })
    }
}

/// End of the last work within `window`, with the precision of the samples: the last interval in which the group ran,
/// or all its processes waited for storage, for [`crate::launch::work::BUSY_PERCENT`] or more.
#[must_use]
pub fn last_work_ns(samples: &[Sample], window: std::ops::Range<u64>) -> Option<u64> {
    last_busy_ns(samples, window, |a, b| {
        (b.user_us + b.system_us).saturating_sub(a.user_us + a.system_us) + io_us(a, b)
    })
}

/// Resolution of a time that samples gave: the interval that ended there, in ns; 0 without one.
#[must_use]
pub fn resolution_ns(samples: &[Sample], at_ns: u64) -> u64 {
    let of_interval = samples.windows(2).find(|pair| pair[1].at_ns >= at_ns);
    of_interval.map_or(0, |pair| pair[1].at_ns - pair[0].at_ns)
}

/// End of the last wait for storage, computed likewise.
#[must_use]
pub fn last_storage_ns(samples: &[Sample], window: std::ops::Range<u64>) -> Option<u64> {
    last_busy_ns(samples, window, io_us)
}

fn io_us(a: &Sample, b: &Sample) -> u64 {
    b.io_full_us.unwrap_or_default().saturating_sub(a.io_full_us.unwrap_or_default())
}

fn last_busy_ns(samples: &[Sample], window: std::ops::Range<u64>, busy_us: fn(&Sample, &Sample) -> u64) -> Option<u64> {
    let last = samples.windows(2).rfind(|pair| {
        let (a, b) = (&pair[0], &pair[1]);
        let inside = b.at_ns > window.start && a.at_ns < window.end;
        inside && busy_us(a, b) * 100_000 >= crate::launch::work::BUSY_PERCENT * (b.at_ns - a.at_ns).max(1)
    })?;
    Some(last[1].at_ns.clamp(window.start, window.end))
}

/// Growth of the counters from `from_ns` to `to_ns`, interpolated linearly between samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Growth {
    pub wall_ms: f64,
    pub user_ms: f64,
    pub system_ms: f64,
    /// See [`Sample::io_full_us`].
    pub io_full_ms: Option<f64>,
    /// See [`Sample::disk_busy_ms`].
    pub disk_busy_ms: Option<f64>,
}

/// Growth of the counters; they are constant outside of the samples.
#[must_use]
pub fn growth(samples: &[Sample], from_ns: u64, to_ns: u64) -> Growth {
    let between = |value: fn(&Sample) -> u64| (at(samples, to_ns, value) - at(samples, from_ns, value)).max(0.0);
    let has = |value: fn(&Sample) -> bool| !samples.is_empty() && samples.iter().all(value);
    Growth {
        wall_ms: to_ns.saturating_sub(from_ns) as f64 / 1e6,
        user_ms: between(|s| s.user_us) / 1e3,
        system_ms: between(|s| s.system_us) / 1e3,
        io_full_ms: has(|s| s.io_full_us.is_some()).then(|| between(|s| s.io_full_us.unwrap_or_default()) / 1e3),
        disk_busy_ms: has(|s| s.disk_busy_ms.is_some()).then(|| between(|s| s.disk_busy_ms.unwrap_or_default())),
    }
}

fn at(samples: &[Sample], at_ns: u64, value: fn(&Sample) -> u64) -> f64 {
    let after = samples.partition_point(|sample| sample.at_ns <= at_ns);
    match (after.checked_sub(1).and_then(|before| samples.get(before)), samples.get(after)) {
        (Some(a), Some(b)) => {
            let share = (at_ns - a.at_ns) as f64 / (b.at_ns - a.at_ns) as f64;
            value(a) as f64 + share * (value(b) as f64 - value(a) as f64)
        }
        (Some(only), None) | (None, Some(only)) => value(only) as f64,
        (None, None) => 0.0,
    }
}

impl Growth {
    /// Share of user time in CPU time; 1 without CPU time.
    #[must_use]
    pub fn user_share(&self) -> f64 {
        let cpu = self.user_ms + self.system_ms;
        if cpu > 0.0 { self.user_ms / cpu } else { 1.0 }
    }

    /// The split by control group.
    #[must_use]
    pub fn cgroup_split(&self) -> Split {
        let storage = self.io_full_ms.map_or(0.0, |full| full.min(self.wall_ms));
        let (user, system) = self.cpu_within(self.wall_ms - storage);
        let mut parts = vec![(Cause::UserCpu, user), (Cause::SystemCpu, system)];
        if self.io_full_ms.is_some() {
            parts.push((Cause::Storage, storage));
        }
        parts.push((Cause::Other, self.wall_ms - user - system - storage));
        self.split(SplitMethod::Cgroup, parts)
    }

    /// The split of formulas 4.1 and 4.2; without a disk, all waits count as network, as in the formula.
    #[must_use]
    pub fn paper_split(&self) -> Split {
        let (user, system) = self.cpu_within(self.wall_ms);
        let total_io = self.wall_ms - user - system;
        let storage = self.disk_busy_ms.unwrap_or_default().min(total_io);
        let parts = vec![
            (Cause::UserCpu, user),
            (Cause::SystemCpu, system),
            (Cause::Storage, storage),
            (Cause::Network, total_io - storage),
        ];
        self.split(SplitMethod::Paper, parts)
    }

    /// User and system time, scaled down together to fit: several processors may have worked at once.
    fn cpu_within(&self, room_ms: f64) -> (f64, f64) {
        let cpu = self.user_ms + self.system_ms;
        let scale = if cpu > room_ms { room_ms.max(0.0) / cpu } else { 1.0 };
        (self.user_ms * scale, self.system_ms * scale)
    }

    fn split(&self, method: SplitMethod, parts: Vec<(Cause, f64)>) -> Split {
        let parts = parts.into_iter().map(|(cause, time_ms)| Part { cause, time_ms: time_ms.max(0.0) }).collect();
        Split { method, wall_ms: self.wall_ms, parts, lost_events: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(at_ms: u64, user_us: u64, system_us: u64, io_full_us: u64, busy: u64) -> Sample {
        Sample { at_ns: at_ms * 1_000_000, user_us, system_us, io_full_us: Some(io_full_us), disk_busy_ms: Some(busy) }
    }

    #[test]
    fn growth_is_read_between_samples() {
        let samples =
            [sample(0, 0, 0, 0, 0), sample(100, 40_000, 10_000, 30_000, 50), sample(200, 40_000, 10_000, 0, 0)];
        let growth = growth(&samples, 0, 50_000_000);
        assert_eq!((growth.wall_ms, growth.user_ms, growth.system_ms), (50.0, 20.0, 5.0));
        assert_eq!((growth.io_full_ms, growth.disk_busy_ms), (Some(15.0), Some(25.0)));
        assert_eq!(growth.user_share(), 0.8);
        assert_eq!(super::growth(&[], 0, 50_000_000).io_full_ms, None);
    }

    #[test]
    fn formula_4_1_gives_the_busy_time_and_4_2_the_rest() {
        let growth =
            Growth { wall_ms: 1_000.0, user_ms: 300.0, system_ms: 100.0, io_full_ms: None, disk_busy_ms: Some(450.0) };
        let split = growth.paper_split();
        assert_eq!(split.time_ms(Cause::Storage), Some(450.0));
        assert_eq!(split.time_ms(Cause::Network), Some(150.0));
        assert_eq!(growth.cgroup_split().time_ms(Cause::Storage), None);
    }

    #[test]
    fn work_ends_with_the_last_busy_interval() {
        let samples = [sample(0, 0, 0, 0, 0), sample(100, 40_000, 0, 0, 0), sample(200, 41_000, 0, 0, 0)];
        assert_eq!(last_work_ns(&samples, 0..300_000_000), Some(100_000_000));
        assert_eq!(last_work_ns(&samples, 110_000_000..300_000_000), None);
        // A wait for storage.
        let waits = [sample(0, 0, 0, 0, 0), sample(100, 0, 0, 0, 0), sample(200, 0, 0, 50_000, 0)];
        assert_eq!(last_work_ns(&waits, 0..300_000_000), Some(200_000_000));
    }

    proptest! {
        #[test]
        fn coarse_splits_add_up_too(
            wall in 0.0f64..1e4, user in 0.0f64..2e4, system in 0.0f64..2e4,
            io in proptest::option::of(0.0f64..2e4), busy in proptest::option::of(0.0f64..2e4),
        ) {
            let growth = Growth { wall_ms: wall, user_ms: user, system_ms: system, io_full_ms: io, disk_busy_ms: busy };
            for split in [growth.cgroup_split(), growth.paper_split()] {
                let sum: f64 = split.parts.iter().map(|part| part.time_ms).sum();
                prop_assert!((sum - wall).abs() < 1e-6 * wall.max(1.0), "{sum} of {wall}");
            }
        }
    }
}
