//! Writes the requested settings, and restores settings that are released.
//!
//! The caller names all requested settings in each call ([`Actuator::apply`]); a setting that it named before and does
//! not name now is released: it gets its *original* value, the one from before brisk. A setting is *in force* when its
//! knob has the requested value, as the kernel rounded it. A setting that was *changed externally* meanwhile is left
//! alone until [`Actuator::forgive`]. A dry run reads and compares, and writes neither settings nor a journal.
//!
//! Properties: `undo_after_apply_is_identity`, `what_stands_already_is_not_written`,
//! `an_external_change_is_left_until_forgiven`, `a_dry_run_changes_nothing`,
//! `a_change_of_scheduler_keeps_requested_and_original_values`,
//! `with_announced_changes_nothing_is_read_twice`.

mod files;
mod keeping;
mod priorities;
mod queues;

use std::collections::BTreeMap;
use std::path::PathBuf;

use brisk_core::action::{Once, Setting};
use brisk_core::causes::in_one_line;
use brisk_core::group::{self, GroupKey};
use brisk_core::knob::{Knob, QueueSetting};
use brisk_core::outcome::{Outcome, Outcomes};
use brisk_core::state::ChangedExternally;
pub(crate) use files::vm_file;

use crate::keeper::Keeper;
use crate::once::stops::{Limit, Sensed};
use crate::once::{self, Ending, Means};
use crate::setting_file::By;
use crate::worker::Worker;
use crate::{BlockQueue, Error, Journal, Paths, Report, groups};

/// Announced changes make [`Actuator::invalidate`] due; the kernel's own changes are not announced, so devices are read
/// again after this time.
const QUEUES_FRESH_NS: u64 = 60_000_000_000;
/// Threads that an app makes inherit its priority, but what enters a group from elsewhere has none: groups are read
/// again after this time.
const GROUPS_FRESH_NS: u64 = 1_000_000_000;
/// A queue that is busy for longer refuses the write.
const BUSY_NS_MAX: u64 = 1_000_000_000;

/// The value of a setting that is in force, which the kernel may have rounded.
#[derive(Debug, Clone)]
struct InForce {
    requested: String,
    value: String,
}

#[derive(Debug, Clone)]
struct ExternalChange {
    written: String,
    found: String,
    /// Whether [`Actuator::check`] has reported it.
    reported: bool,
}

/// Values that a scheduler starts with.
#[derive(Debug, Clone)]
struct Fresh {
    nr_requests: Option<String>,
}

/// Tells a device from another one of the same name: [`BlockQueue::instance`] and what a loop device carries.
type Identity = (Option<u64>, Option<String>);

/// Writes knobs, and keeps their original values.
#[derive(Debug)]
pub struct Actuator {
    paths: Paths,
    /// Absent in a dry run.
    journal: Option<Journal>,
    in_force: BTreeMap<Knob, InForce>,
    changed_externally: BTreeMap<Knob, ExternalChange>,
    fresh: BTreeMap<String, Fresh>,
    identities: BTreeMap<String, Identity>,
    /// Where control groups are, by key.
    groups: BTreeMap<String, PathBuf>,
    /// Knobs other than of queues that need no read, with the requested value and the outcome to repeat.
    verified_knobs: BTreeMap<Knob, (String, Outcome)>,
    /// Devices that need no read, with the requested values and the outcomes to repeat.
    verified: BTreeMap<String, Verified>,
    /// When all devices were read by [`Self::apply_changed`], by the caller's clock.
    queues_read_ns: u64,
    groups_read_ns: u64,
    /// Since when the queue of a knob is busy.
    busy_since_ns: BTreeMap<Knob, u64>,
    /// Whether a write waits while a queue is busy.
    waits: bool,
    /// Apps that were asked to end.
    endings: Vec<Ending>,
    limit: Limit,
    /// Does what takes time; without it the caller waits.
    worker: Option<Worker>,
    /// After the journal, so that a drop thaws before the keeper is left.
    keeper: Option<Keeper>,
}

#[derive(Debug, Clone)]
struct Verified {
    requested: BTreeMap<QueueSetting, String>,
    outcomes: BTreeMap<QueueSetting, Outcome>,
}

impl Actuator {
    /// Starts with nothing changed; `name` is that of the journal. In a dry run nothing is ever written.
    ///
    /// # Errors
    /// When the journal cannot be opened.
    pub fn new(paths: &Paths, name: &str, dry_run: bool) -> Result<Self, Error> {
        let journal = if dry_run { None } else { Some(Journal::open(name, paths)?) };
        Ok(Self {
            paths: paths.clone(),
            journal,
            in_force: BTreeMap::new(),
            changed_externally: BTreeMap::new(),
            fresh: BTreeMap::new(),
            identities: BTreeMap::new(),
            groups: BTreeMap::new(),
            verified_knobs: BTreeMap::new(),
            verified: BTreeMap::new(),
            queues_read_ns: 0,
            groups_read_ns: 0,
            busy_since_ns: BTreeMap::new(),
            waits: true,
            endings: Vec::new(),
            limit: Limit::default(),
            worker: None,
            keeper: None,
        })
    }

    /// Whether nothing is written.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.journal.is_none()
    }

    /// Writes the requested `settings`, and restores everything else that this actuator changed. A failure is an
    /// outcome, not an error: the rest is done. Waits while a queue is busy.
    pub fn apply(&mut self, settings: &[Setting]) -> Outcomes {
        self.invalidate();
        self.waits = true;
        self.apply_all(settings)
    }

    /// Makes [`Self::apply_changed`] read every device and group again: a setting may have been changed externally.
    pub fn invalidate(&mut self) {
        self.verified.clear();
        self.verified_knobs.clear();
    }

    /// As [`Self::apply`], for an event loop; `now_ns` is its clock. It never waits: a write to a busy queue is
    /// [`Outcome::Pending`], to be repeated by the next call, and refused after a second. A device whose settings are
    /// those of the last call is not read again, and neither is a group whose threads all had the priority: that would
    /// cost more than everything else. The caller calls [`Self::invalidate`] when external changes are announced;
    /// without that, devices are read again after a minute, and groups after a second.
    pub fn apply_changed(&mut self, settings: &[Setting], now_ns: u64) -> Outcomes {
        let is_stale = |read_ns: u64, fresh_ns: u64| now_ns.saturating_sub(read_ns) >= fresh_ns;
        if is_stale(self.queues_read_ns, QUEUES_FRESH_NS) {
            self.invalidate();
            self.queues_read_ns = now_ns;
        }
        if is_stale(self.groups_read_ns, GROUPS_FRESH_NS) {
            self.verified_knobs.clear();
            self.groups_read_ns = now_ns;
        }
        self.waits = false;
        let mut outcomes = self.apply_all(settings);
        let is_pending = |outcome: &Outcome| matches!(outcome, Outcome::Pending { .. });
        self.busy_since_ns.retain(|knob, _| outcomes.get(knob).is_some_and(is_pending));
        for (knob, outcome) in &mut outcomes {
            if let Outcome::Pending { why } = outcome {
                let since_ns = *self.busy_since_ns.entry(knob.clone()).or_insert(now_ns);
                if now_ns.saturating_sub(since_ns) >= BUSY_NS_MAX {
                    *outcome = Outcome::Refused { why: std::mem::take(why) };
                }
            }
        }
        outcomes
    }

    fn queue(&self, device: &str) -> BlockQueue {
        let queue = BlockQueue::new(&self.paths.sysfs, device);
        if self.waits { queue } else { queue.without_waiting() }
    }

    fn apply_all(&mut self, settings: &[Setting]) -> Outcomes {
        let mut queues: BTreeMap<String, BTreeMap<QueueSetting, String>> = BTreeMap::new();
        let mut priorities: BTreeMap<String, String> = BTreeMap::new();
        let mut files: BTreeMap<Knob, String> = BTreeMap::new();
        // What was changed before and is not named now has to be read as well.
        for device in self.devices() {
            queues.entry(device).or_default();
        }
        let mut outcomes = Outcomes::new();
        for Setting { knob, value } in settings {
            let value = value.trim().to_owned();
            if value.is_empty() || value.contains(char::is_control) {
                let why = "the value is empty or has control characters".to_owned();
                outcomes.insert(knob.clone(), Outcome::Refused { why });
                continue;
            }
            match knob {
                Knob::Queue { device, .. } if matches!(device.as_str(), "" | "." | "..") => {
                    outcomes.insert(knob.clone(), refused(&Error::Name(device.clone())));
                }
                Knob::Queue { device, setting } => {
                    queues.entry(device.clone()).or_default().insert(setting.clone(), value);
                }
                Knob::IoPriority { group } => {
                    priorities.insert(group.clone(), value);
                }
                _ => {
                    files.insert(knob.clone(), value);
                }
            }
        }
        // Before the queues, whose settings take longer: an app may be about to read.
        outcomes.extend(self.apply_priorities(&priorities));
        for (device, requested) in &queues {
            let known = self.verified.get(device).filter(|verified| verified.requested == *requested);
            let applied = match known {
                Some(verified) => verified.outcomes.clone(),
                None => self.apply_and_verify(device, requested),
            };
            outcomes.extend(applied.into_iter().map(|(setting, outcome)| (Knob::queue(device, setting), outcome)));
        }
        outcomes.extend(self.apply_files(&files));
        let is_named =
            |group: &str| priorities.contains_key(group) || files.keys().any(|knob| knob.group() == Some(group));
        self.groups.retain(|group, _| is_named(group));
        self.verified_knobs.retain(|knob, _| files.contains_key(knob) || knob.group().is_some_and(is_named));
        outcomes
    }

    /// The outcome to repeat for a knob that needs no read.
    fn verified_knob(&self, knob: &Knob, value: &str) -> Option<Outcome> {
        self.verified_knobs.get(knob).filter(|(requested, _)| requested == value).map(|(_, outcome)| outcome.clone())
    }

    /// Where the group of a key is. Of a control group that is remembered while it is there: the mounts are not read
    /// again for it.
    fn dirs_of(&mut self, key: &str) -> Result<Vec<PathBuf>, Error> {
        let Some(GroupKey::Control { inode, .. }) = group::parse(key) else { return groups::dirs(&self.paths, key) };
        if let Some(dir) = self.groups.get(key).filter(|dir| groups::is_group(dir, inode)) {
            return Ok(vec![dir.clone()]);
        }
        self.groups.remove(key);
        let dirs = groups::dirs(&self.paths, key)?;
        self.groups.extend(dirs.first().map(|dir| (key.to_owned(), dir.clone())));
        Ok(dirs)
    }

    fn apply_and_verify(
        &mut self,
        device: &str,
        requested: &BTreeMap<QueueSetting, String>,
    ) -> BTreeMap<QueueSetting, Outcome> {
        let applied = self.apply_queue(device, requested);
        let is_open = |outcome: &Outcome| matches!(outcome, Outcome::Gone | Outcome::Pending { .. });
        let is_open = applied.values().any(is_open);
        let mut outcomes = applied.clone();
        outcomes.retain(|_, outcome| !matches!(outcome, Outcome::Restored { .. }));
        for outcome in outcomes.values_mut().filter(|outcome| matches!(outcome, Outcome::Written { .. })) {
            *outcome = Outcome::Unchanged;
        }
        if is_open {
            self.verified.remove(device);
        } else {
            self.verified.insert(device.to_owned(), Verified { requested: requested.clone(), outcomes });
        }
        applied
    }

    /// Reads every setting that was written, and gives those that were changed externally since the last check; they
    /// are left alone from then on. The size of driver tags shows nowhere, and threads with another I/O priority are
    /// passed over as such.
    pub fn check(&mut self) -> Vec<ChangedExternally> {
        self.invalidate();
        for device in self.devices() {
            let queue = BlockQueue::new(&self.paths.sysfs, &device);
            if queue.exists() && !queue.is_empty() && self.identities.get(&device) == Some(&identity(&queue)) {
                self.notice(&device, &queue);
            }
        }
        let unreported = self.changed_externally.iter_mut().filter(|(_, change)| !change.reported);
        unreported
            .map(|(knob, change)| {
                change.reported = true;
                ChangedExternally { knob: knob.clone(), written: change.written.clone(), found: change.found.clone() }
            })
            .collect()
    }

    /// Restores the settings of a device that has lost its medium, at once: a loop device without file gets its next
    /// file with the original settings in force. Gives whether that was needed; a device that is at work is not
    /// touched.
    ///
    /// # Errors
    /// When the journal cannot be written. What could not be put back is tried again with the rest.
    pub fn vacate(&mut self, device: &str) -> Result<bool, Error> {
        self.verified.remove(device);
        let queue = BlockQueue::new(&self.paths.sysfs, device).without_waiting();
        let Some(journal) = self.journal.as_mut().filter(|_| queue.exists() && queue.is_empty()) else {
            return Ok(false);
        };
        if journal.entries(&queue).next().is_none() {
            return Ok(false);
        }
        let restored = journal.restore_device(&queue);
        self.forget(device, &queue);
        restored.map(|()| true)
    }

    /// Allows settings that were changed externally to be written again; the external values become the original ones.
    pub fn forgive(&mut self) {
        self.invalidate();
        for (knob, change) in std::mem::take(&mut self.changed_externally) {
            self.in_force.remove(&knob);
            let Some(journal) = &mut self.journal else { continue };
            match knob.queue_setting() {
                Some((device, setting)) => {
                    journal.adopt(&BlockQueue::new(&self.paths.sysfs, device), setting, &change.found);
                }
                None => journal.files().retain(|entry| !matches!(&entry.by, By::Knob(of) if *of == knob)),
            }
        }
    }

    /// Value of a knob from before brisk, where the journal has it: of queues the caller knows it.
    #[must_use]
    pub fn original(&self, knob: &Knob) -> Option<&str> {
        self.journal.as_ref()?.original(knob)
    }

    /// Does what happens once; see `once.rs` for what each outcome means. With a worker ([`Self::start_worker`])
    /// nothing is waited for; without one, memory is written and read when this returns. `sensed` is what the caller
    /// knows at this moment: an app that is in use is not stopped. `now_ns` is CLOCK_MONOTONIC.
    pub fn perform(&mut self, once: &Once, sensed: &Sensed<'_>, now_ns: u64) -> Outcome {
        let means = Means {
            paths: &self.paths,
            journal: self.journal.as_mut(),
            keeper: self.keeper.as_mut(),
            endings: &mut self.endings,
            limit: &mut self.limit,
            worker: self.worker.as_mut(),
        };
        once::perform(means, once, sensed, now_ns).unwrap_or_else(|error| refused(&error))
    }

    /// When [`Self::advance`] is to be called at the latest, CLOCK_MONOTONIC; `None` when nothing takes time.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        let has_ended_some = self.worker.as_ref().is_some_and(Worker::has_ended_some);
        if has_ended_some { Some(0) } else { once::next_ns(&self.endings) }
    }

    /// Continues actions that take time, and gives those that ended: an app that was asked to end is `Gone` when it
    /// exited by itself, `Done` when its remaining processes were killed. What the worker did comes with its final
    /// outcome.
    pub fn advance(&mut self, now_ns: u64) -> Vec<(Once, Outcome)> {
        let mut performed = self.worker.as_mut().map_or_else(Vec::new, Worker::take);
        performed.extend(once::advance(&self.paths, &mut self.endings, now_ns));
        performed
    }

    /// Restores all settings, and ends page-outs: what was frozen runs again. May be called again, and be followed by
    /// [`Self::apply`].
    ///
    /// # Errors
    /// When something could not be put back. The rest is, and the journal keeps what is not.
    pub fn restore(&mut self) -> Result<Report, Error> {
        self.app_returns();
        self.end_ready();
        self.invalidate();
        self.in_force.clear();
        self.changed_externally.clear();
        self.fresh.clear();
        self.identities.clear();
        self.groups.clear();
        self.endings.clear();
        let restored = self.journal.as_mut().map_or_else(|| Ok(Report::default()), Journal::restore);
        self.release_thawed();
        restored
    }

    /// Devices of which a setting is in force or changed.
    fn devices(&self) -> Vec<String> {
        let changed = self.journal.iter().flat_map(Journal::devices);
        let changed = changed.filter_map(|dir| Some(brisk_formats::device_name(dir.file_name()?.to_str()?)));
        let mut devices: Vec<String> =
            self.in_force.keys().filter_map(|knob| knob.device().map(str::to_owned)).chain(changed).collect();
        devices.sort();
        devices.dedup();
        devices
    }
}

fn identity(queue: &BlockQueue) -> Identity {
    (queue.instance(), queue.backing_file())
}

pub(crate) fn refused(error: &Error) -> Outcome {
    let why = in_one_line(error);
    if error.is_busy() { Outcome::Pending { why } } else { Outcome::Refused { why } }
}
