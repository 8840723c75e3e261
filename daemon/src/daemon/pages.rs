//! Where the pages of apps are: scans of page tables that engines want, and what returns touch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use brisk_api::resting::part;
use brisk_api::{Fault, Pages, Reply, render, reply_with};
use brisk_core::causes::in_one_line;
use brisk_core::decision::Observed;
use brisk_core::event::{Event, EventKind};
use brisk_core::group::is_meant;
use brisk_core::launch::{LaunchFiles, is_private};
use brisk_core::pages::AppPages;
use brisk_core::survey::{PagesSurvey, Shown, Topic};
use brisk_sense::{FILES_MAX, Group, Opened, OpenedFiles, ProcessMemory};

use super::people::processes;
use super::{Daemon, Machine, timer};
use crate::returns::{AWAY_MIN_BYTES, StorageUse};
use crate::trials::{Acts, Scans};

/// Least time between scans by which nothing would be done.
const SCANS_NS: u64 = 20_000_000_000;

/// Files that apps open while they are launched.
#[derive(Debug, Default)]
pub(super) struct Opens {
    /// There while an engine learns from a launch.
    watch: Option<OpenedFiles>,
    /// This kernel has no fanotify, the daemon may not use it, or its list could not be read.
    is_refused: bool,
    /// Whether some of what was opened so far was not taken yet.
    has_more: bool,
    /// By group; `None` where opens were lost, or are more than are kept: such a launch counts as unwatched.
    files: BTreeMap<String, Option<BTreeSet<PathBuf>>>,
}

impl Opens {
    /// What the launch of that group opened, where that is known.
    fn of(&self, group: &str) -> Option<&BTreeSet<PathBuf>> {
        self.files.get(group).filter(|_| !self.has_more)?.as_ref()
    }

    fn refuse(&mut self) {
        *self = Self { is_refused: true, ..Self::default() };
    }

    /// Adds what was opened; `of` says of which group a process is.
    fn add(&mut self, opened: Opened, of: &BTreeMap<u32, String>) {
        self.has_more = opened.has_more;
        for (pid, path) in opened.files {
            let Some(found) = of.get(&pid).and_then(|group| self.files.get_mut(group)) else { continue };
            let is_full = found.as_mut().is_some_and(|files| files.insert(path) && files.len() > FILES_MAX);
            if is_full {
                *found = None;
            }
        }
        if opened.has_lost {
            self.files.values_mut().for_each(|found| *found = None);
        }
    }
}

impl Daemon {
    /// Takes in an event that concerns a return: one may begin or end by it. The group of one that ends as it begins,
    /// since nothing of the app was away.
    pub(super) fn note_return(&mut self, kind: &EventKind) -> Option<String> {
        match kind {
            EventKind::Focused { group } | EventKind::LaunchBegan { group } => return self.begin_return(group),
            EventKind::AppGone { group } => self.machine.returns.gone(group),
            _ => {}
        }
        None
    }

    /// Someone may want the device now: what is read to make apps ready ends, without waiting for a round.
    pub(super) fn yield_device(&self, kind: &EventKind) {
        let is_wanted = match kind {
            EventKind::LaunchBegan { .. } | EventKind::Focused { .. } | EventKind::OutOfMemory { .. } => true,
            EventKind::Pressure { resource } => resource == "memory",
            _ => false,
        };
        if is_wanted {
            self.actuator.end_ready();
        }
    }

    /// An app comes to the foreground. Where engines read back, its page tables are scanned at once, before it runs,
    /// and engines hear of that in the same round; else nothing is read before it has answered.
    fn begin_return(&mut self, name: &str) -> Option<String> {
        self.actuator.in_front(Some(name));
        let scans = self.scans();
        if scans == Scans::None || self.machine.returns.group().is_some_and(|of| of.key == name) {
            return None;
        }
        let now_ns = self.moment.now.monotonic_ns;
        if scans == Scans::AtRest {
            if let Some(pages) = self.machine.returns.answers(name, now_ns) {
                self.push_event(EventKind::Scanned { group: name.to_owned(), pages });
                return None;
            }
            return self.machine.apps.that_returns(name).map(|group| group.key.clone());
        }
        // Now, as long as the pages of the app before are where it left them.
        self.end_return();
        self.actuator.app_returns();
        let before = self.machine.returns.comes(name);
        if let Some(left) = before.and_then(|before| self.machine.apps.of_key(&before).cloned()) {
            let memory = self.memory(&left);
            self.machine.returns.leaves(left.key, memory);
        }
        let group = self.machine.apps.that_returns(name).cloned()?;
        if !self.machine.returns.is_away(&group.key, self.memory(&group)) {
            return Some(group.key);
        }
        let used = self.used(&group);
        let pages = self.scan(&group)?;
        self.push_event(EventKind::Scanned { group: group.key.clone(), pages: pages.clone() });
        self.machine.returns.begin(group, pages, used, now_ns);
        None
    }

    /// When page tables are scanned at present.
    fn scans(&mut self) -> Scans {
        let (engines, trials) = (&self.policy.engines, &mut self.policy.trials);
        let (now_ns, now_unix_ms) = (self.moment.now.monotonic_ns, self.moment.now.wall_unix_ms());
        let scans = engines.that_use_returns().map(|engine| trials.scans(engine, now_ns, now_unix_ms)).max();
        scans.unwrap_or(Scans::None)
    }

    /// The app in front has answered: scans an app in the background whose next return is to teach, if one has
    /// something away.
    pub(super) fn prepare_return(&mut self) {
        let now_ns = self.moment.now.monotonic_ns;
        if self.machine.apps.has_launches() {
            return self.machine.returns.prepare_later(now_ns);
        }
        if !self.machine.returns.is_to_prepare(now_ns) || self.scans() != Scans::AtRest {
            return;
        }
        let Machine { apps, returns, .. } = &self.machine;
        let in_front: BTreeSet<&str> = apps.front().map(|group| group.key.as_str()).collect();
        let names = apps.groups().map(|(_, name)| name).filter(|name| !in_front.contains(name.as_str()));
        let others = names.filter_map(|name| apps.of_key(&name).filter(|_| returns.is_to_teach(&name)));
        // The one that has most to wait for.
        let away = others.map(|group| (self.memory(group).swapped_bytes, group));
        let Some((away_bytes, group)) = away.max_by_key(|(away_bytes, _)| *away_bytes) else { return };
        if away_bytes < AWAY_MIN_BYTES {
            return;
        }
        let group = group.clone();
        let used = self.used(&group);
        if let Some(pages) = self.scan(&group) {
            self.publish("event", render::return_teaches(&group.key));
            self.machine.returns.prepare(group, pages, used, now_ns);
        }
    }

    /// Samples the return that goes on.
    pub(super) fn sample_return(&mut self) {
        let Some(group) = self.machine.returns.group().cloned() else { return };
        let used = self.used(&group);
        if self.machine.returns.sample(&used, self.moment.now.monotonic_ns) {
            self.end_return();
        }
    }

    /// Has engines learn what a return touched.
    fn end_return(&mut self) {
        let Some(group) = self.machine.returns.group().cloned() else { return };
        let used = self.used(&group);
        let Some(pages) = self.scan(&group) else { return self.machine.returns.drop_it() };
        if let Some((group, touched)) = self.machine.returns.end(&pages, &used) {
            self.push_event(EventKind::Returned { group: group.key, touched });
        }
    }

    /// Observes what engines need before they are asked again.
    pub(super) fn observe_for_engines(&mut self) {
        let needs = self.policy.engines.needs();
        self.scan_groups(needs.scans);
        self.watch_opens(&needs.opens);
        self.read_launch_files(needs.launch_files);
        self.policy.trials.expect(needs.prepares);
    }

    /// Scans these groups; where nothing would be done by it one of them, and none soon after. One that cannot be read
    /// has no pages for engines, so that others are not held up by it.
    fn scan_groups(&mut self, groups: BTreeSet<String>) {
        let now_ns = self.moment.now.monotonic_ns;
        let most = match () {
            () if groups.is_empty() || self.acts() == Acts::OnMemory => usize::MAX,
            () if self.machine.pages_scanned_ns.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) < SCANS_NS) => 0,
            () => 1,
        };
        if !groups.is_empty() && most > 0 {
            self.machine.pages_scanned_ns = Some(now_ns);
        }
        for name in groups.into_iter().take(most) {
            let Some(group) = self.machine.apps.of_key(&name).cloned() else { continue };
            let pages = self.scan(&group).unwrap_or_default();
            self.push_event(EventKind::Scanned { group: name, pages });
        }
    }

    /// Watches which files the launches of these groups open.
    fn watch_opens(&mut self, wanted: &BTreeSet<String>) {
        let opens = &mut self.machine.opens;
        opens.files.retain(|group, _| wanted.contains(group));
        for group in wanted {
            if !opens.files.contains_key(group) {
                opens.files.insert(group.clone(), Some(BTreeSet::new()));
            }
        }
        self.take_opens();
    }

    /// Takes a part of what was opened, and the next one in the next turn. The watch lives as long as a launch is
    /// watched by it.
    pub(super) fn take_opens(&mut self) {
        self.timers.set(timer::TAKE_OPENS, None);
        let (Machine { sense, apps, opens, .. }, attempts) = (&mut self.machine, &mut self.attempts);
        if opens.is_refused || opens.files.values().all(Option::is_none) {
            (opens.watch, opens.has_more) = (None, false);
            return;
        }
        let watch = match opens.watch.take() {
            Some(watch) => Ok(watch),
            None => match attempts.using(part::OPENED_FILES, || OpenedFiles::watch(sense)) {
                Ok(watch) => watch,
                // Which is shown.
                Err(_rests) => return opens.refuse(),
            },
        };
        let watched = opens.files.iter().filter(|(_, files)| files.is_some());
        let groups = watched.filter_map(|(name, _)| apps.of_key(name));
        let of: BTreeMap<u32, String> = groups
            .flat_map(|group| processes(sense, &group.dir).into_iter().map(|pid| (pid, group.key.clone())))
            .collect();
        let taken = watch.and_then(|watch| Ok((watch.take(|pid| of.contains_key(&pid))?, watch)));
        match taken {
            Ok((opened, watch)) => {
                opens.add(opened, &of);
                opens.watch = Some(watch);
                if opens.has_more {
                    self.timers.set(timer::TAKE_OPENS, Some(self.moment.now.monotonic_ns));
                }
            }
            // What was opened so far is not known: from now on no launch counts as watched.
            Err(error) => {
                opens.refuse();
                let trouble =
                    format!("files that apps read without mapping them are not known: {}", in_one_line(&error));
                self.report_trouble(trouble);
            }
        }
    }

    /// Reads what the launches of these groups used of files. One that cannot be read used nothing, so that others are
    /// not held up.
    fn read_launch_files(&mut self, groups: BTreeSet<String>) {
        for name in groups {
            let Some(group) = self.machine.apps.of_key(&name).cloned() else { continue };
            let (sense, private) = (&self.machine.sense, &self.policy.engines.uses().private);
            let pids = processes(sense, &group.dir);
            let opened = self.machine.opens.of(&name);
            let is_left_out = |path: &str| is_private(path, private);
            let found = self.attempts.using(part::LAUNCH_FILES, || sense.launch_files(&pids, opened, &is_left_out));
            let files = match found {
                Ok(Ok(files)) => files,
                // A later launch tells, once the device is less busy.
                Err(_) | Ok(Err(brisk_sense::Error::StillClosing)) => LaunchFiles::default(),
                Ok(Err(error)) => {
                    self.report_trouble(format!("the files of launches are not known: {}", in_one_line(&error)));
                    LaunchFiles::default()
                }
            };
            self.push_event(EventKind::LaunchUsed { group: name, files });
        }
    }

    /// Where the engine for swap sees the pages of each app at this moment; those of the app with that id or group are
    /// scanned for it.
    pub(super) fn survey_pages(&mut self, app: Option<&str>) -> Result<Reply, Fault> {
        self.observe_apps_when_due();
        let snapshot = self.machine.sampler.snapshot().map_err(|error| Fault::CannotSense(in_one_line(&error)))?;
        let apps = self.list_apps(self.moment.now.monotonic_ns);
        let wanted = apps.iter().filter(|one| app.is_some_and(|app| one.id == app || is_meant(&one.group, app)));
        let mut events = Vec::new();
        for group in wanted.filter_map(|one| self.machine.apps.of_key(&one.group).cloned()).collect::<Vec<_>>() {
            let pages = self.scan(&group);
            let kind = pages.map(|pages| EventKind::Scanned { group: group.key, pages });
            events.extend(kind.map(|kind| Event { at_ns: snapshot.at_ns, kind }));
        }
        let previous = self.moment.previous.as_ref();
        let observed =
            Observed { previous, now: &snapshot, events: &events, devices: &self.machine.devices, apps: &apps };
        let (active, shown) = self.policy.engines.show_or_guess(&self.policy.config, Topic::Pages(&observed));
        let survey = if let Some(Shown::Pages(survey)) = shown { survey } else { PagesSurvey::default() };
        Ok(reply_with(&[("pages", &Pages { active, survey })]))
    }

    fn scan(&mut self, group: &Group) -> Option<AppPages> {
        let sense = &self.machine.sense;
        match self.attempts.using(part::PAGE_TABLES, || sense.app_pages(&processes(sense, &group.dir))) {
            Ok(Ok(pages)) => Some(pages),
            Err(_rests) => None,
            Ok(Err(error)) => {
                self.report_trouble(format!("the pages of apps are not known: {}", in_one_line(&error)));
                None
            }
        }
    }

    /// Memory of all processes of an app, without a look at its page tables.
    fn memory(&self, group: &Group) -> ProcessMemory {
        let sense = &self.machine.sense;
        let processes = processes(sense, &group.dir).into_iter().filter_map(|pid| sense.process_memory(pid).ok()?);
        processes.fold(ProcessMemory::default(), |sum, one| ProcessMemory {
            anonymous_bytes: sum.anonymous_bytes.saturating_add(one.anonymous_bytes),
            file_bytes: sum.file_bytes.saturating_add(one.file_bytes),
            swapped_bytes: sum.swapped_bytes.saturating_add(one.swapped_bytes),
        })
    }

    /// What the processes of an app have used of storage so far; with what this process has read, since it reads on
    /// behalf of apps.
    fn used(&self, group: &Group) -> StorageUse {
        let sense = &self.machine.sense;
        let pids = processes(sense, &group.dir);
        let stats: Vec<_> = pids.iter().filter_map(|&pid| sense.process_stat(pid).ok().flatten()).collect();
        let read = |pid: u32| Some((pid, sense.process_io(pid).ok().flatten()?.read_bytes));
        let read_bytes: BTreeMap<u32, u64> = pids.into_iter().filter_map(read).collect();
        let own = (!read_bytes.is_empty()).then(|| read(std::process::id())).flatten();
        StorageUse {
            major_faults: stats.iter().map(|stat| (stat.pid, stat.major_faults)).collect(),
            read_bytes: read_bytes.into_iter().chain(own).collect(),
            waits: stats.iter().any(|stat| stat.state == 'D'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(pid: u32, files: usize) -> Opened {
        let files = (0..files).map(|at| (pid, PathBuf::from(format!("/usr/share/{at}")))).collect();
        Opened { files, ..Opened::default() }
    }

    #[test]
    fn a_launch_whose_opens_were_lost_or_are_too_many_counts_as_unwatched() {
        let of = BTreeMap::from([(1, "a".to_owned()), (2, "b".to_owned())]);
        let begun = || Opens {
            files: ["a", "b"].map(|group| (group.to_owned(), Some(BTreeSet::new()))).into_iter().collect(),
            ..Opens::default()
        };
        let mut opens = begun();
        opens.add(opened(1, 3), &of);
        opens.add(opened(9, FILES_MAX + 1), &of);
        assert_eq!((opens.of("a").map(BTreeSet::len), opens.of("b").map(BTreeSet::len)), (Some(3), Some(0)));
        opens.add(opened(2, FILES_MAX + 1), &of);
        assert_eq!((opens.of("a").map(BTreeSet::len), opens.of("b")), (Some(3), None), "a program opened too many");
        opens.add(Opened { has_more: true, ..opened(1, 4) }, &of);
        assert_eq!(opens.of("a"), None, "a part waits in the kernel's list");
        opens.add(opened(1, 5), &of);
        assert_eq!(opens.of("a").map(BTreeSet::len), Some(5));
        opens.add(Opened { has_lost: true, ..Opened::default() }, &of);
        assert!(opens.files.values().all(Option::is_none), "the kernel dropped some, of whichever launch");
    }
}
