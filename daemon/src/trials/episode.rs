//! An episode that goes on: the moment at which it began, whether the engine had something to request in it, and its
//! outcome by the kernel's counters.

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::action::Once;
use brisk_core::app::{App, Tolerance};
use brisk_core::decision::Observed;
use brisk_core::event::EventKind;
use brisk_core::outcome::Outcome;
use brisk_core::snapshot::{AppTotals, DiskTotals, Snapshot, StallTotals};
use brisk_core::trial::{Ended, Figure, Span, Subject, Sums};

/// A stretch with fewer requests of the disk is none of load.
const REQUESTS_MIN: u64 = 16;
/// What counts of a block of time that the end of the daemon cuts short.
const CUT_SHORT_MIN_S: u64 = 600;
const S_NS: u64 = 1_000_000_000;
const MIB: f64 = 1_048_576.0;

#[derive(Debug)]
pub(super) struct Episode {
    span: Span,
    began_ns: u64,
    /// The moment from which its outcome counts.
    from: Box<Snapshot>,
    /// Groups whose waits count: that of the launch, or those in front at any time of it.
    groups: BTreeSet<String>,
    /// Those of these that run, as they were seen last.
    last: BTreeMap<String, AppTotals>,
    /// What those did that have ended since: apps come and go without end.
    ended: WaitsOfApps,
    /// Kernel names of the disks that it is about.
    disks: BTreeSet<String>,
    /// Of a launch, the user and id of its app.
    launch: Option<String>,
    touched: bool,
    touched_now: bool,
    washed_out: bool,
    /// Of a block of time, whether an app was launched or came to the foreground in what counts of it. Alike in both
    /// arms but for apps that were ended; nights and absences tell nothing, and would dilute what days tell.
    used: bool,
    /// The outcome so far of a block that is long enough.
    so_far: Option<(f64, Sums)>,
    ended_apps: u64,
}

impl Episode {
    pub(super) fn begin(span: Span, subject: &Subject, observed: &Observed<'_>) -> Self {
        let is_meant = |device: &brisk_core::device::Device| Subject::disk(device) == *subject;
        let disks = observed.devices.iter().filter(|device| is_meant(device)).map(|device| device.name.clone());
        Self {
            span,
            began_ns: observed.now.at_ns,
            from: Box::new(Snapshot { nets: Vec::new(), ..observed.now.clone() }),
            groups: BTreeSet::new(),
            last: BTreeMap::new(),
            ended: WaitsOfApps::default(),
            disks: disks.collect(),
            launch: match (span, subject) {
                (Span::Launch | Span::Prepared, Subject::App(id)) => Some(id.clone()),
                _ => None,
            },
            touched: false,
            touched_now: false,
            washed_out: !matches!(span, Span::Time { .. }),
            used: !matches!(span, Span::Time { .. }),
            so_far: None,
            ended_apps: 0,
        }
    }

    /// A round goes by, in which the engine had something to request for the subject, or nothing.
    pub(super) fn go_on(&mut self, touched: bool, figure: Figure, observed: &Observed<'_>) {
        self.touched |= touched;
        self.touched_now = touched;
        let counts = |app: &&App| match &self.launch {
            // A launcher may have told of it before it had a group.
            Some(id) => app.launching && app.owned_id() == *id,
            None => app.launching || app.tolerance == Tolerance::Interactive,
        };
        self.groups.extend(observed.apps.iter().filter(counts).map(|app| app.group.clone()));
        let is_end = |kind: &EventKind| match kind {
            EventKind::Performed { once: Once::EndApp { .. } | Once::EndProcess { .. }, outcome } => {
                *outcome == Outcome::Done
            }
            EventKind::OutOfMemory { .. } => true,
            _ => false,
        };
        self.ended_apps += observed.events.iter().filter(|event| is_end(&event.kind)).count() as u64;
        if let Span::Time { wash_out_s, .. } = self.span
            && !self.washed_out
            && self.age_ns(observed) >= wash_out_s * S_NS
        {
            self.washed_out = true;
            *self.from = Snapshot { nets: Vec::new(), ..observed.now.clone() };
            self.last.clear();
            self.ended = WaitsOfApps::default();
        }
        let of_groups = observed.now.apps.iter().filter(|app| self.groups.contains(&app.name));
        self.last.extend(of_groups.map(|app| (app.name.clone(), app.clone())));
        self.drop_ended(observed);
        let is_use = |kind: &EventKind| matches!(kind, EventKind::LaunchBegan { .. } | EventKind::Focused { .. });
        self.used |= self.washed_out && observed.events.iter().any(|event| is_use(&event.kind));
        if let Span::Time { wash_out_s, .. } = self.span
            && self.age_ns(observed) >= (wash_out_s + CUT_SHORT_MIN_S) * S_NS
        {
            self.so_far = self.outcome(figure, observed);
        }
    }

    /// Sums up the apps that have ended.
    fn drop_ended(&mut self, observed: &Observed<'_>) {
        let there: BTreeSet<&str> = observed.apps.iter().map(|app| app.group.as_str()).collect();
        let has_ended = |group: &String| !there.contains(group.as_str());
        for (_, app) in self.last.extract_if(.., |group, _| has_ended(group)) {
            self.ended.add(&app, &self.from);
        }
        if self.launch.is_none() {
            self.groups.retain(|group| !has_ended(group));
        }
    }

    /// The engine had something to request for it before it began.
    pub(super) fn was_prepared(&mut self) {
        self.touched = true;
    }

    pub(super) fn is_of_time(&self) -> bool {
        matches!(self.span, Span::Time { .. })
    }

    /// What a block of time tells where it ends now.
    pub(super) fn cut_short(&self) -> Option<Ended> {
        let (value, sums) = self.so_far.filter(|_| self.counts())?;
        Some(Ended::Counts { value, sums })
    }

    /// Whether what was done before it still carries over at this time.
    pub(super) fn is_in_wash_out(&self, now_ns: u64) -> bool {
        let Span::Time { wash_out_s, .. } = self.span else { return false };
        now_ns.saturating_sub(self.began_ns) < wash_out_s * S_NS
    }

    /// Whether the engine had something to request in it, and a person something to wait for.
    pub(super) fn counts(&self) -> bool {
        self.touched && self.used
    }

    /// Whether its disks did next to nothing, in which case it tells nothing of them: an engine may request a setting
    /// for as long as it knows no better, and a disk rests most of the time. If such a stretch took the place of a half
    /// of a pair, hardly any pair would be completed. `false` where its disks are gone.
    pub(super) fn is_at_rest(&self, observed: &Observed<'_>) -> bool {
        matches!(self.span, Span::Load { .. })
            && self.disk(observed.now).is_some_and(|disk| disk.requests < REQUESTS_MIN)
    }

    /// When it ends by time, or its first part does.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let after_s = match self.span {
            Span::Launch | Span::Prepared => return None,
            Span::Load { most_s } => most_s,
            Span::Time { wash_out_s, .. } if !self.washed_out => wash_out_s,
            Span::Time { block_s, .. } => block_s,
        };
        Some(self.began_ns.saturating_add(after_s * S_NS))
    }

    /// `None` while it goes on; else whether it is whole.
    pub(super) fn has_ended(&self, observed: &Observed<'_>) -> Option<bool> {
        match self.span {
            Span::Launch | Span::Prepared => {
                let is_it = |group: &String| self.groups.contains(group);
                let ended = observed.events.iter().find_map(|event| match &event.kind {
                    EventKind::LaunchEnded { group } if is_it(group) => Some(true),
                    EventKind::AppGone { group } if is_it(group) => Some(false),
                    _ => None,
                });
                // One that began and ended since the round before was never seen.
                ended.or_else(|| self.groups.is_empty().then_some(false))
            }
            Span::Load { most_s } => (!self.touched_now || self.age_ns(observed) >= most_s * S_NS).then_some(true),
            Span::Time { block_s, .. } => (self.age_ns(observed) >= block_s * S_NS).then_some(self.washed_out),
        }
    }

    /// Value of the figure, and what else is known; `None` where it tells nothing.
    pub(super) fn outcome(&self, figure: Figure, observed: &Observed<'_>) -> Option<(f64, Sums)> {
        let (from, now) = (self.from.as_ref(), observed.now);
        let length_us = now.at_ns.checked_sub(from.at_ns).filter(|ns| *ns > 0)? as f64 / 1e3;
        let mut sums = Sums { episodes: 1, length_s: length_us / 1e6, ended_apps: self.ended_apps, ..Sums::default() };
        let mut waits = self.ended;
        self.last.values().for_each(|app| waits.add(app, from));
        sums.add(&waits.sums);
        let waits_known = waits.known;
        let refaults =
            |of: &Snapshot| of.paging.refault_file_pages.unwrap_or(0) + of.paging.refault_anon_pages.unwrap_or(0);
        sums.refault_pages = refaults(now).saturating_sub(refaults(from));
        let disk = self.disk(now);
        if let Some(disk) = &disk {
            (sums.read_mib, sums.written_mib) = (disk.read_bytes as f64 / MIB, disk.write_bytes as f64 / MIB);
        }
        if !waits_known {
            // Groups have no counters of pressure: the machine's stand for them.
            let some = |of: &Snapshot| of.pressure.io.map_or(0, |stall| stall.some_us);
            let of_memory = |of: &Snapshot| of.pressure.memory.map_or(0, |stall| stall.some_us);
            sums.storage_s = some(now).saturating_sub(some(from)) as f64 / 1e6;
            sums.memory_s = of_memory(now).saturating_sub(of_memory(from)) as f64 / 1e6;
        }
        let value = match figure {
            // Without any pressure, the length of the launch has to do.
            Figure::StorageWait if !waits_known => length_us,
            Figure::StorageWait => sums.storage_s * 1e6,
            Figure::StorageShare => {
                disk?;
                sums.storage_s / sums.length_s
            }
            Figure::StallShare => (sums.storage_s + sums.memory_s) / sums.length_s,
            Figure::BusyTime => {
                let disk = disk?;
                disk.busy_ms as f64 / disk.requests.max(1) as f64
            }
        };
        Some((value, sums))
    }

    fn age_ns(&self, observed: &Observed<'_>) -> u64 {
        observed.now.at_ns.saturating_sub(self.began_ns)
    }

    /// What its disks did; `None` where it is about none, or one is gone or began to count anew.
    fn disk(&self, now: &Snapshot) -> Option<Work> {
        let mut sum = Work::default();
        for name in &self.disks {
            let of = |snapshot: &Snapshot| snapshot.disks.iter().find(|disk| disk.name == *name).map(Work::of);
            let (before, after) = (of(&self.from)?, of(now)?);
            sum.requests += after.requests.checked_sub(before.requests)?;
            sum.read_bytes += after.read_bytes.checked_sub(before.read_bytes)?;
            sum.write_bytes += after.write_bytes.checked_sub(before.write_bytes)?;
            sum.busy_ms += after.busy_ms.checked_sub(before.busy_ms)?;
        }
        (!self.disks.is_empty()).then_some(sum)
    }
}

/// What apps waited, read and wrote since a moment.
#[derive(Debug, Clone, Copy, Default)]
struct WaitsOfApps {
    sums: Sums,
    /// Whether the kernel counts how long one of them waits.
    known: bool,
}

impl WaitsOfApps {
    /// An app that came after that moment counts from its beginning.
    fn add(&mut self, app: &AppTotals, from: &Snapshot) {
        let none = AppTotals::default();
        let before = from.apps.iter().find(|before| before.name == app.name).unwrap_or(&none);
        let grown = |now: Option<u64>, before: Option<u64>| now.unwrap_or(0).saturating_sub(before.unwrap_or(0));
        let some = |of: Option<StallTotals>| of.map(|stall| stall.some_us);
        let sums = &mut self.sums;
        self.known |= app.io_pressure.is_some();
        sums.storage_s += grown(some(app.io_pressure), some(before.io_pressure)) as f64 / 1e6;
        sums.memory_s += grown(some(app.memory_pressure), some(before.memory_pressure)) as f64 / 1e6;
        sums.processor_s += grown(app.cpu_stall_us, before.cpu_stall_us) as f64 / 1e6;
        sums.read_mib += grown(app.read_bytes, before.read_bytes) as f64 / MIB;
        sums.written_mib += grown(app.write_bytes, before.write_bytes) as f64 / MIB;
    }
}

/// What a disk did.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    requests: u64,
    read_bytes: u64,
    write_bytes: u64,
    busy_ms: u64,
}

impl Work {
    fn of(disk: &DiskTotals) -> Self {
        Self {
            requests: disk.read.requests + disk.write.requests,
            read_bytes: disk.read.bytes,
            write_bytes: disk.write.bytes,
            busy_ms: disk.busy_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use brisk_core::app::{AppFacts, classify};
    use brisk_core::event::Event;

    use super::*;

    #[test]
    fn apps_that_come_and_go_leave_what_they_waited_and_nothing_else() {
        const APPS: u64 = 1_000;
        let (span, subject) = (Span::Time { block_s: 100_000, wash_out_s: 10 }, Subject::Machine);
        let mut now = Snapshot::default();
        let mut episode: Option<Episode> = None;
        let mut value = None;
        for nth in 0..APPS {
            now.at_ns += S_NS;
            let group = format!("app-{nth}-1.scope");
            let stalled = Some(StallTotals { some_us: 1_000, full_us: None });
            now.apps = vec![AppTotals { name: group.clone(), io_pressure: stalled, ..AppTotals::default() }];
            let facts = AppFacts { group: group.clone(), of_user: true, launching: true, ..AppFacts::default() };
            let apps = [classify(&facts)];
            let events = [Event { at_ns: now.at_ns, kind: EventKind::LaunchBegan { group } }];
            let observed = Observed { previous: None, now: &now, events: &events, devices: &[], apps: &apps };
            let open = episode.get_or_insert_with(|| Episode::begin(span, &subject, &observed));
            open.go_on(true, Figure::StallShare, &observed);
            assert!(open.groups.len() <= 1 && open.last.len() <= 1, "{} of {}", open.last.len(), open.groups.len());
            value = open.outcome(Figure::StallShare, &observed);
        }
        // Those that began before the wash-out was over do not count.
        let (share, sums) = value.expect("an outcome");
        let expected_s = (APPS - 11) as f64 / 1e3;
        assert!((sums.storage_s - expected_s).abs() < 1e-9, "{} of {expected_s}", sums.storage_s);
        assert!(share > 0.0);
    }
}
