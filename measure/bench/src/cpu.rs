//! CPU cost of a measurement, and CPU pressure during it.

use std::time::Instant;

use brisk_core::snapshot::CpuTotals;
use brisk_core::units::three_digits;
use brisk_sense::{Resource, Sense};

use crate::results::Warning;

/// CPU pressure (share of the run in which a task waited for a CPU, in percent) above which results carry a warning.
/// Response times of a fast device grow by about the time that the measuring thread waits.
pub const CPU_PRESSURE_LIMIT_PERCENT: f64 = 10.0;

/// CPU time of all threads of this process, user and system, in nanoseconds (getrusage).
#[must_use]
pub fn process_cpu_ns() -> u64 {
    // SAFETY: rusage is plain numbers, for which zeros are valid; the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// Use of the CPUs during parts of a run (/proc/stat). Summed, so that the coarse ticks average out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuShares {
    total_us: u64,
    busy_us: u64,
    iowait_us: u64,
}

impl CpuShares {
    /// Runs `work` and adds the CPU times meanwhile; adds nothing when /proc/stat cannot be read.
    pub fn during<T>(&mut self, sense: &Sense, work: impl FnOnce() -> T) -> T {
        let before = sense.cpu_stat();
        let result = work();
        if let (Ok(before), Ok(after)) = (before, sense.cpu_stat()) {
            self.add(&before, &after);
        }
        result
    }

    fn add(&mut self, before: &CpuTotals, after: &CpuTotals) {
        let [busy @ .., idle_us, iowait_us] = after.states_us_since(before);
        let busy_us: u64 = busy.iter().sum();
        self.total_us += busy_us + idle_us + iowait_us;
        self.busy_us += busy_us;
        self.iowait_us += iowait_us;
    }

    /// Share of time that CPUs were idle with storage requests in flight.
    #[must_use]
    pub fn iowait_percent(&self) -> f64 {
        percent(self.iowait_us, self.total_us)
    }

    /// Share of time that CPUs were busy.
    #[must_use]
    pub fn busy_percent(&self) -> f64 {
        percent(self.busy_us, self.total_us)
    }
}

/// A share in percent; 0 when `whole` is 0.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// CPU pressure (pressure stall information) over a whole run, that of brisk included.
#[derive(Debug)]
pub(crate) struct PressureMeter {
    since: Instant,
    total_us: Option<u64>,
}

impl PressureMeter {
    pub(crate) fn start(sense: &Sense) -> Self {
        Self { since: Instant::now(), total_us: total_us(sense) }
    }

    /// A warning, when tasks waited for a CPU for more than [`CPU_PRESSURE_LIMIT_PERCENT`] of the time.
    pub(crate) fn warning(&self, sense: &Sense) -> Option<Warning> {
        let waited_us = total_us(sense)?.saturating_sub(self.total_us?);
        pressure_warning(waited_us, self.since.elapsed().as_micros() as u64)
    }
}

fn total_us(sense: &Sense) -> Option<u64> {
    sense.pressure(Resource::Cpu).ok().map(|pressure| pressure.some.total_us)
}

fn pressure_warning(waited_us: u64, wall_us: u64) -> Option<Warning> {
    let share = percent(waited_us, wall_us);
    (share > CPU_PRESSURE_LIMIT_PERCENT).then(|| Warning {
        code: "cpu_pressure".to_owned(),
        text: format!(
            "Tasks, including brisk's own, waited for a CPU during {} % of the run (limit \
             {CPU_PRESSURE_LIMIT_PERCENT:.0} %): response times may contain part of that wait. If other programs run, \
             close them and measure again.",
            three_digits(share)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_cpus_time() {
        let mut shares = CpuShares::default();
        let none = CpuTotals::default();
        shares.add(&none, &CpuTotals { user_us: 10, system_us: 20, idle_us: 60, iowait_us: 10, ..none });
        shares.add(&none, &CpuTotals { idle_us: 60, iowait_us: 40, ..none });
        assert_eq!((shares.busy_percent(), shares.iowait_percent()), (15.0, 25.0));
        assert_eq!(CpuShares::default().busy_percent(), 0.0);
    }

    #[test]
    fn the_pressure_warning_starts_at_the_limit_and_states_the_value() {
        assert_eq!(pressure_warning(100, 1_000), None);
        let warning = pressure_warning(213, 1_000).expect("above");
        assert_eq!(warning.code, "cpu_pressure");
        assert!(warning.text.contains("21.3 %"), "{}", warning.text);
        assert_eq!(pressure_warning(5, 0), None);
    }

    #[test]
    fn work_shows_in_the_cpu_time_of_the_process() {
        let before = process_cpu_ns();
        let mut x = 0u64;
        while process_cpu_ns() < before + 2_000_000 {
            x = std::hint::black_box(x + 1);
        }
        assert!(x > 0);
    }
}
