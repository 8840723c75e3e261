//! One moment of the machine, and what happened between two of them.
//!
//! A [`Snapshot`] holds totals as the kernel counts them (they only grow, until they wrap or their device goes) and
//! levels as they stand. What people ask for are rates: [`Snapshot::since`] gives an [`Interval`] of shares, rates and
//! means. So nothing is lost by recording snapshots, and a missed one costs resolution only.
//!
//! Terms: a *total* is since boot or since the device, interface or group was made; a *level* is at this moment. Times
//! of processors are in us though the kernel counts in steps of 10 ms. Disks are named as in /sys/block, interfaces as
//! in /sys/class/net, apps by their control group.
//!
//! All counters stand in one table (`table.rs`): their structs, the rules of their rates, what a record holds of them
//! and the values that are exported follow from it.
//!
//! Properties: shares are between 0 and 100 %; no rate is negative or infinite; what appeared, went, or began to count
//! anew has no rate for that interval rather than a wrong one; a wall clock that was set changes no rate.

mod counters;
mod rates;
mod table;
#[cfg(test)]
mod tests;
mod unread;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use counters::Counted;
use counters::Valued;
use rates::{Rated, Span, both};
pub use table::{
    AppRates, AppTotals, CpuShares, CpuTotals, DiskRates, DiskTotals, FlushRates, FlushTotals, IoRates, IoTotals,
    MemoryLevels, NetRates, NetTotals, PagingRates, PagingTotals, PressureShares, PressureTotals, StallShares,
    StallTotals, TICK_US,
};
pub use unread::Unread;

/// A part of a snapshot that comes from a file of its own, and may be missing while the others are there. Pressure and
/// what is known of apps are optional by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// [`Snapshot::cpu`].
    Cpu,
    /// [`Snapshot::memory`].
    Memory,
    /// [`Snapshot::paging`].
    Paging,
    /// [`Snapshot::disks`].
    Disks,
    /// [`Snapshot::nets`].
    Nets,
}

/// One moment of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When, by the clock that cannot be set (CLOCK_MONOTONIC: since boot, without suspend).
    pub at_ns: u64,
    /// When, by the wall clock: since 1970 in UTC.
    pub wall_unix_ms: u64,
    /// Processors.
    pub cpu: CpuTotals,
    /// Memory.
    pub memory: MemoryLevels,
    /// Reclaim and swap.
    pub paging: PagingTotals,
    /// Time that tasks stood still.
    pub pressure: PressureTotals,
    /// Disks.
    pub disks: Vec<DiskTotals>,
    /// Network interfaces.
    pub nets: Vec<NetTotals>,
    /// Apps.
    pub apps: Vec<AppTotals>,
    /// Parts that could not be read.
    pub unread: Unread,
}

/// What happened between two snapshots.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// How long it was.
    pub elapsed_ns: u64,
    /// How far the wall clock ran ahead of time meanwhile: it was set, or the machine was suspended.
    pub wall_step_ms: i64,
    /// Processors.
    pub cpu: CpuShares,
    /// Reclaim and swap.
    pub paging: PagingRates,
    /// Time that tasks stood still.
    pub pressure: PressureShares,
    /// Disks that were there all the time.
    pub disks: Vec<DiskRates>,
    /// Interfaces that were there all the time.
    pub nets: Vec<NetRates>,
    /// Apps that were there all the time.
    pub apps: Vec<AppRates>,
    /// Parts that could not be read at its beginning or at its end, and have no rates.
    #[serde(skip)]
    pub unread: Unread,
}

impl Snapshot {
    /// What happened since `previous`; `None` when that is not earlier, as after a restart of the machine.
    #[must_use]
    pub fn since(&self, previous: &Self) -> Option<Interval> {
        let elapsed_ns = self.at_ns.checked_sub(previous.at_ns).filter(|&elapsed| elapsed > 0)?;
        let span = Span { elapsed_s: elapsed_ns as f64 / 1e9, processors: self.cpu.processors.max(1) };
        let wall_ms = i128::from(self.wall_unix_ms) - i128::from(previous.wall_unix_ms);
        let wall_step_ms = wall_ms - i128::from(elapsed_ns / 1_000_000);
        let unread = self.unread.or(previous.unread);
        let (cpu, paging) = (!unread.has(Part::Cpu), !unread.has(Part::Paging));
        Some(Interval {
            elapsed_ns,
            wall_step_ms: i64::try_from(wall_step_ms).unwrap_or(if wall_step_ms < 0 { i64::MIN } else { i64::MAX }),
            cpu: cpu.then(|| self.cpu.rates(&previous.cpu, &span)).flatten().unwrap_or_default(),
            // These count from boot and never begin anew while time goes forward.
            paging: paging.then(|| self.paging.rates(&previous.paging, &span)).flatten().unwrap_or_default(),
            pressure: self.pressure.rates(&previous.pressure, &span).unwrap_or_default(),
            disks: both(&self.disks, &previous.disks, |disk| &disk.name, &span),
            nets: both(&self.nets, &previous.nets, |net| &net.name, &span),
            apps: both(&self.apps, &previous.apps, |app| &app.name, &span),
            unread,
        })
    }
}

impl Counted for Snapshot {
    fn each_number(&mut self, step: u64, visit: &mut dyn FnMut(&mut u64, u64)) {
        let Self { at_ns, wall_unix_ms, cpu, memory, paging, pressure, disks, nets, apps, unread } = self;
        visit(at_ns, 1);
        visit(wall_unix_ms, 1);
        cpu.each_number(step, visit);
        memory.each_number(step, visit);
        paging.each_number(step, visit);
        pressure.each_number(step, visit);
        disks.iter_mut().for_each(|disk| disk.each_number(step, visit));
        nets.iter_mut().for_each(|net| net.each_number(step, visit));
        apps.iter_mut().for_each(|app| app.each_number(step, visit));
        unread.bits.each_number(1, visit);
    }
}

impl CpuTotals {
    /// The time of each state since `earlier`, idle and iowait last. One that ran backwards (iowait does, now and then)
    /// had none.
    #[must_use]
    pub fn states_us_since(&self, earlier: &Self) -> [u64; 8] {
        let states = |of: &Self| {
            [of.user_us, of.nice_us, of.system_us, of.irq_us, of.softirq_us, of.steal_us, of.idle_us, of.iowait_us]
        };
        let (mut passed, earlier) = (states(self), states(earlier));
        passed.iter_mut().zip(earlier).for_each(|(now, then)| *now = now.saturating_sub(then));
        passed
    }
}

impl MemoryLevels {
    /// Swap that holds pages.
    #[must_use]
    pub fn swap_used_bytes(&self) -> u64 {
        self.swap_total_bytes.saturating_sub(self.swap_free_bytes)
    }

    /// Each level that is known, with its name.
    pub fn each_value(&self, put: &mut dyn FnMut(Cow<'static, str>, f64)) {
        Valued::each_value(self, "", "", put);
        Valued::each_value(&self.swap_used_bytes(), "", "swap_used_bytes", put);
    }
}

impl DiskRates {
    /// Merged requests of both directions, where both are known.
    #[must_use]
    pub fn merged_per_s(&self) -> Option<f64> {
        Some(self.merged_reads_per_s? + self.merged_writes_per_s?)
    }
}

/// Takes a value: the kind of part (`cpu`, `memory`, `paging`, `pressure`, `disk`, `net` or `app`), which disk,
/// interface or app (empty for the machine), the name of the value, whose last word is the unit, and the value.
pub type PutValue<'a> = &'a mut dyn FnMut(&'static str, &str, Cow<'static, str>, f64);

impl Interval {
    /// Each value that is known, and the levels of `now`, at which the interval ends.
    pub fn each_value(&self, now: &Snapshot, put: PutValue<'_>) {
        let mut part = |kind, part: &str, values: &dyn Valued| {
            values.each_value("", "", &mut |name, value| put(kind, part, name, value));
        };
        if !self.unread.has(Part::Cpu) {
            part("cpu", "", &self.cpu);
        }
        if !self.unread.has(Part::Paging) {
            part("paging", "", &self.paging);
        }
        part("pressure", "", &self.pressure);
        self.disks.iter().for_each(|disk| part("disk", &disk.name, disk));
        self.nets.iter().for_each(|net| part("net", &net.name, net));
        self.apps.iter().for_each(|app| part("app", &app.name, app));
        if !now.unread.has(Part::Memory) {
            now.memory.each_value(&mut |name, value| put("memory", "", name, value));
        }
    }
}
