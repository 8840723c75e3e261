//! Coordinate search for settings beyond scheduler and depth, from the best of these.
//!
//! Read-ahead and write-back throttling affect requests through the page cache, so they are tried on such workloads
//! only: first the read-ahead, then, with its result, the throttling. Each step measures the device's own setting, the
//! best so far, and the candidates, in rounds as for the grid. The kernel's treatment of the device's cache is not
//! searched: the only safe choice costs flushes and saves nothing.

use brisk_engine::smartstorage::model::Workload;
use brisk_engine::smartstorage::{Config, Setting};
use brisk_sense::Sense;

use super::table::table;
use super::{Bench, PHASE_ROUNDS, Plan, Stand, Todo, Unfinished};
use crate::error::Result;

/// Read-ahead that is tried, in KiB: the kernel's 128 and four times less and more.
const READ_AHEAD_KB: [u32; 4] = [32, 128, 512, 2_048];
/// Targets of write-back throttling that are tried, in us: none, the kernel's for flash, its for disks
/// (block/blk-wbt.c).
const WBT_US: [u32; 3] = [0, 2_000, 75_000];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    ReadAhead,
    Throttling,
}

const STEPS: [Step; 2] = [Step::ReadAhead, Step::Throttling];

/// What the device has before anything is changed.
#[derive(Debug, Clone, Copy)]
struct Found {
    read_ahead_kb: u64,
    wbt_us: Option<u64>,
}

/// All workloads under all settings, to begin with.
pub(super) fn grid(plan: &Plan) -> Todo {
    let cached = plan.workloads.iter().filter(|workload| workload.cached).count() as u64;
    // The device's own, the best, and the others, at each step.
    let later = cached * u64::from(plan.rounds) * (READ_AHEAD_KB.len() + WBT_US.len() + 2) as u64;
    Todo {
        first: 0,
        settings: (0..plan.settings.len()).collect(),
        workloads: (0..plan.workloads.len()).collect(),
        later_cells: later,
    }
}

impl Bench<'_> {
    /// Searches for each workload through the page cache. Tried settings are added to the plan in an order that follows
    /// from the measurements, so that a continued run repeats it. Returns the bytes written.
    pub(super) fn search(&mut self, sense: &Sense, plan: &mut Plan, stand: &mut Stand<'_>) -> Result<u64> {
        let queue = sense.block_queue(&self.disk)?;
        let found = Found { read_ahead_kb: queue.read_ahead_kib, wbt_us: queue.writeback_throttle_us };
        let mut written_bytes = 0;
        let mut first = PHASE_ROUNDS;
        for workload in 0..plan.workloads.len() {
            if !plan.workloads[workload].cached {
                continue;
            }
            for step in STEPS {
                let best = best(plan, stand.unfinished, workload);
                let tried = candidates(step, &best, found);
                if !tried.is_empty() {
                    let own = index(plan, plan.own.clone());
                    let mut settings = vec![own, index(plan, best)];
                    settings.extend(tried.into_iter().map(|setting| index(plan, setting)).collect::<Vec<_>>());
                    settings.dedup();
                    let todo = Todo { first, settings, workloads: vec![workload], later_cells: 0 };
                    written_bytes += self.rounds(plan, &todo, stand)?;
                }
                first += PHASE_ROUNDS;
            }
        }
        Ok(written_bytes)
    }
}

/// The number of a setting in the plan, which has it then.
fn index(plan: &mut Plan, setting: Setting) -> usize {
    match plan.settings.iter().position(|known| *known == setting) {
        Some(index) => index,
        None => {
            plan.settings.push(setting);
            plan.settings.len() - 1
        }
    }
}

/// The setting of least energy that is not slower, of what was measured so far.
fn best(plan: &Plan, unfinished: &Unfinished, workload: usize) -> Setting {
    let (model, _) = table(plan, unfinished, String::new(), String::new());
    let best =
        model.workloads.get(workload).map(|of: &Workload| crate::report::best(&Config::default(), of, &plan.own));
    best.unwrap_or(&plan.own).clone()
}

/// Candidates of a step: all values except that of `best`.
fn candidates(step: Step, best: &Setting, found: Found) -> Vec<Setting> {
    match step {
        Step::ReadAhead => {
            let now = best.read_ahead_kb.map_or(found.read_ahead_kb, u64::from);
            let others = READ_AHEAD_KB.into_iter().filter(|kb| u64::from(*kb) != now);
            others.map(|kb| Setting { read_ahead_kb: Some(kb), ..best.clone() }).collect()
        }
        // bfq disables it by itself.
        Step::Throttling if best.scheduler == "bfq" => Vec::new(),
        Step::Throttling => {
            let Some(own_us) = found.wbt_us else { return Vec::new() };
            let now = best.wbt_lat_usec.map_or(own_us, u64::from);
            let others = WBT_US.into_iter().filter(|us| u64::from(*us) != now);
            others.map(|us| Setting { wbt_lat_usec: Some(us), ..best.clone() }).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_tries_all_values_but_the_one_in_force() {
        let found = Found { read_ahead_kb: 128, wbt_us: Some(2_000) };
        let names = |step, best: &Setting, found| {
            candidates(step, best, found).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let own = Setting::new("mq-deadline", 8);
        assert_eq!(
            names(Step::ReadAhead, &own, found),
            ["mq-deadline/8 ra32", "mq-deadline/8 ra512", "mq-deadline/8 ra2048"]
        );
        let further = Setting { read_ahead_kb: Some(512), ..own.clone() };
        assert_eq!(
            names(Step::Throttling, &further, found),
            ["mq-deadline/8 ra512 wbt0", "mq-deadline/8 ra512 wbt75000"]
        );
        assert!(names(Step::Throttling, &own, Found { wbt_us: None, ..found }).is_empty());
        assert!(names(Step::Throttling, &Setting::new("bfq", 4), found).is_empty());
    }
}
