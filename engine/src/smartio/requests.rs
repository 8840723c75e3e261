//! From a profile to requests.

use std::collections::BTreeSet;

use brisk_core::decision::{Objective, Request};
use brisk_core::device::Device;
use brisk_core::knob::{Knob, QueueSetting};
use brisk_core::reason::Reason;

use crate::smartio::KERNEL_SCHEDULER;
use crate::smartio::hunted;
use crate::smartio::profile::QueueSettings;

/// Collects requests; knobs that the kernel refused before are left out.
pub(crate) struct Requests<'a> {
    refused: &'a BTreeSet<Knob>,
    pub(crate) all: Vec<Request>,
}

impl<'a> Requests<'a> {
    pub(crate) fn new(refused: &'a BTreeSet<Knob>) -> Self {
        Self { refused, all: Vec::new() }
    }

    pub(crate) fn is_refused(&self, knob: &Knob) -> bool {
        self.refused.contains(knob)
    }

    pub(crate) fn add(&mut self, knob: Knob, value: impl Into<String>, objective: Objective, reason: &Reason) {
        if !self.is_refused(&knob) {
            self.all.push(Request::set(knob, value, objective, reason.clone()));
        }
    }

    /// The kernel's own scheduler for this; false where the kernel lacks it, or the device is of a kind for which it is
    /// not used. Background writes have a smaller share while the foreground waits.
    /// `writes_wait_max_ms` is its slice: after that time a write has its turn.
    pub(crate) fn kernel_scheduler(
        &mut self,
        device: &Device,
        foreground_waits: bool,
        writes_wait_max_ms: u32,
        objective: Objective,
        reason: &Reason,
    ) -> bool {
        if !device.has_scheduler(KERNEL_SCHEDULER) || hunted::objection(device).is_some() {
            return false;
        }
        let mut add = |setting, value: String| self.add(Knob::queue(&device.name, setting), value, objective, reason);
        add(QueueSetting::Scheduler, KERNEL_SCHEDULER.to_owned());
        add(QueueSetting::tunable(KERNEL_SCHEDULER, "slice_ms"), writes_wait_max_ms.to_string());
        let share_percent = if foreground_waits { WRITE_SHARE_WAITING_PERCENT } else { WRITE_SHARE_PERCENT };
        add(QueueSetting::tunable(KERNEL_SCHEDULER, "write_share_percent"), share_percent.to_string());
        true
    }

    /// The whole of `setup` on `device`. `writes_wait_max_ms` bounds what priorities may do to writes.
    pub(crate) fn setup(
        &mut self,
        device: &Device,
        setup: &QueueSettings,
        writes_wait_max_ms: u32,
        objective: Objective,
        reason: &Reason,
    ) {
        let Some(scheduler) = setup.scheduler.as_deref().filter(|name| device.has_scheduler(name)) else { return };
        let mut add = |setting, value: String| self.add(Knob::queue(&device.name, setting), value, objective, reason);
        add(QueueSetting::Scheduler, scheduler.to_owned());
        // Under `none` this would resize the driver's own tags.
        if let Some(depth_requests) = setup.nr_requests.filter(|_| scheduler != "none") {
            add(QueueSetting::NrRequests, depth_requests.to_string());
        }
        let mut tunables = setup.tunables.clone();
        if setup.priorities && scheduler == "mq-deadline" {
            let chosen_ms = tunables.get(AGING).and_then(|value| value.parse().ok()).unwrap_or(u32::MAX);
            tunables.insert(AGING.to_owned(), chosen_ms.min(writes_wait_max_ms).to_string());
        }
        for (name, value) in tunables {
            add(QueueSetting::tunable(scheduler, &name), value);
        }
        if let Some(target_us) = setup.wbt_lat_usec {
            add(QueueSetting::WbtLatUsec, target_us.to_string());
        }
    }
}

/// Least share of the device's time for background writes while the foreground waits: readers of an eMMC take at most
/// 1.2 times, and writers 1.5 times as long as alone (`brisk kernel run slowdown-s5 --scheduler smartio --set
/// write_share_percent=10`).
const WRITE_SHARE_WAITING_PERCENT: u32 = 10;
/// Otherwise: the scheduler's default, with which a copy takes at most 1.3 times as long on a device that serves one
/// request at a time. On parallel devices it is longer: with one read of 4 KiB each 50 ms writers on UFS go from 115 to
/// 16 MB/s.
const WRITE_SHARE_PERCENT: u32 = 77;

/// After how many ms mq-deadline serves a request in spite of requests of a higher class.
const AGING: &str = "prio_aging_expire";
