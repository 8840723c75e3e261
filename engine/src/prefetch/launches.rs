//! Launches that go on, from event to request.
//!
//! ```text
//! LaunchBegan ─> course: exact | ahead | alone ─> Prefetch, window by window; or a small read_ahead_kb
//! LaunchEnded ─> whether it counts for the trial; the files that it used are asked for
//! LaunchUsed  ─> learned, and what was read ahead is counted against it
//! ```

use std::collections::VecDeque;

use brisk_core::action::Once;
use brisk_core::app::{Role, id_of, user_of};
use brisk_core::decision::{Decision, Needs, Objective, Observed, Request};
use brisk_core::device::Device;
use brisk_core::event::{Event, EventKind};
use brisk_core::knob::{Knob, QueueSetting};
use brisk_core::launch::{LaunchFiles, Piece, PrefetchFile};
use brisk_core::outcome::Outcome;
use brisk_core::pages::PageRange;
use brisk_core::reason::Reason;
use brisk_core::snapshot::Snapshot;
use brisk_core::trial::Told;
use serde::{Deserialize, Serialize};

use crate::kit::learned::to_make_room;
use crate::prefetch::State;
use crate::prefetch::config::{Config, Mode};
use crate::prefetch::history::LAUNCHES_MAX;
use crate::prefetch::learned::{How, used_bytes};
use crate::prefetch::plan;

/// A launch that is read ahead is checked so often.
const LOOK_NS: u64 = 250_000_000;
/// So many launches of an app that is not known exactly are left alone beside writes, before one is learned all the
/// same.
const LEFT_ALONE: u64 = 3;
/// Writes of an installation or a download: more than this, in rate and since the last sample (a journal commits less,
/// and so does a launch that keeps its settings), or so many in flight.
const WRITES_MIN_BYTES_PER_S: f64 = 1e6;
const WRITES_MIN_BYTES: f64 = 256e3;
const QUEUED_MIN: u64 = 2;
/// Launches at the same time that are kept: each may hold a plan. Of the user who has most, the one that began first
/// makes room.
const LAUNCHES_AT_ONCE_MAX: usize = 16;
/// A launch of which no end is heard for this time is given up.
const LOST_NS: u64 = 120_000_000_000;
/// Size of a page, until a launch tells another.
const PAGE_BYTES: u64 = 4096;
/// Memory is short when less than this part of it is available, or tasks stalled on it for this share of the time.
const SHORT_PART: u64 = 20;
const STALL_PERCENT: f64 = 10.0;
/// A launch counts for the comparison when it had to read at least this part of what is planned for it.
const COLD_PART: u64 = 4;
/// Once its ranges are settled, one of so many launches of an app is learned, also of one that is not read ahead: its
/// package may change.
const LEARN_EVERY: u64 = 8;

/// How a launch is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// Its pages are learned, with little read-ahead.
    Exact,
    Ahead,
    /// It goes without, since too little is known of it, or since something writes.
    Alone,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    pub id: String,
    pub began_ns: u64,
    pub course: Course,
    /// Whether what it uses will be learned.
    pub learns: bool,
    /// Whether new pages come in by that.
    pub adds: bool,
    pub ended_ns: Option<u64>,
    /// Sum of what is planned for it.
    pub planned_bytes: u64,
    /// What is planned, by path.
    pub pages: Vec<(String, Vec<PageRange>)>,
    pub files: Vec<PrefetchFile>,
    pub streams: u8,
    /// Windows that were not requested yet.
    pub waiting: VecDeque<Vec<Piece>>,
    /// Whether a window is being read.
    pub is_under_way: bool,
    /// Whether reading ahead was ended.
    pub is_stopped: bool,
    /// What was asked for, and read by the device for it.
    pub asked_bytes: u64,
    /// What the device read for it.
    pub read_bytes: u64,
    /// Whether files were changed since they were learned.
    pub has_changed: bool,
    /// What the app itself read from the device.
    pub own_bytes: Option<u64>,
}

pub(crate) fn decide(config: &Config, mut next: State, observed: &Observed<'_>) -> Decision<State> {
    let mut requests = Vec::new();
    let mut notes = Vec::new();
    next.told.clear();
    for event in observed.events {
        take(config, &mut next, observed, event, &mut requests, &mut notes);
    }
    let now_ns = observed.now.at_ns;
    next.launches.retain(|_, launch| now_ns.saturating_sub(launch.began_ns) < LOST_NS);
    let stop = shortage(observed);
    for (group, launch) in &mut next.launches {
        go_on_reading(config, group, launch, observed.now, stop.as_ref(), &mut requests);
    }
    requests.extend(little_read_ahead(config, &next, observed));
    let is_busy = next.launches.values().any(|launch| launch.ended_ns.is_none() && launch.reads_on());
    let next_look_ns = is_busy.then(|| now_ns.saturating_add(LOOK_NS));
    let learned = next.launches.iter().filter(|(_, launch)| launch.learns).map(|(group, _)| group.clone());
    let needs = Needs { opens: learned.collect(), launch_files: next.reads.clone(), ..Needs::default() };
    Decision { state: next, requests, notes, next_look_ns, needs }
}

fn take(
    config: &Config,
    next: &mut State,
    observed: &Observed<'_>,
    event: &Event,
    requests: &mut Vec<Request>,
    notes: &mut Vec<Reason>,
) {
    match &event.kind {
        EventKind::LaunchBegan { group } => {
            requests.extend(make_room(next, group));
            begin(config, next, observed, group, event.at_ns);
        }
        EventKind::LaunchEnded { group } => {
            if let Some(launch) = next.launches.get_mut(group) {
                requests.extend(launch.stop(group, Reason::rule("launch_ended")));
                end(next, observed.now, group);
            }
        }
        EventKind::LaunchUsed { group, files } => {
            next.reads.remove(group);
            if let Some(launch) = next.launches.remove(group) {
                notes.extend(learn(config, next, &launch, files));
            }
        }
        EventKind::AppGone { group } => {
            next.reads.remove(group);
            if let Some(mut launch) = next.launches.remove(group) {
                requests.extend(launch.stop(group, Reason::rule("app_ended")));
            }
        }
        EventKind::Performed { once: Once::Prefetch { group, .. }, outcome } => {
            if let Some(launch) = next.launches.get_mut(group) {
                launch.performed(outcome);
            }
        }
        _ => {}
    }
}

/// Any user can launch apps without end: of the user who has most launches, the one that began first is given up.
fn make_room(next: &mut State, group: &str) -> Option<Request> {
    if next.launches.len() < LAUNCHES_AT_ONCE_MAX || next.launches.contains_key(group) {
        return None;
    }
    let all = next.launches.iter().map(|(group, launch)| (user_of(&launch.id), group, launch.began_ns, 1));
    // The one of all that began last stays, though no room was made for it yet.
    let first = to_make_room(all)?.clone();
    next.reads.remove(&first);
    next.launches.remove(&first)?.stop(&first, Reason::rule("too_many_launches"))
}

fn begin(config: &Config, next: &mut State, observed: &Observed<'_>, group: &str, at_ns: u64) {
    let Some(app) = observed.apps.iter().find(|app| app.group == group && app.activity.role == Role::App) else {
        return;
    };
    let (now, owned_id) = (observed.now, app.owned_id());
    let known = next.learned.launched(&owned_id);
    let is_due = known.learned < u64::from(LAUNCHES_MAX) || known.launches.is_multiple_of(LEARN_EVERY);
    let can_be_exact = can_be_exact(config, observed);
    // Each of the smaller reads would wait for the writes.
    let is_left_alone = can_be_exact && !known.exact && known.launches <= LEFT_ALONE && writes_compete(observed);
    // Where no device is known, what a launch read from it is not, either.
    let tells_warm = config.mode == Mode::Adaptive && !observed.devices.is_empty();
    let is_too_little = known.files.is_empty() || tells_warm && known.is_of_warm_launches() || is_left_alone;
    let course = if !is_left_alone && can_be_exact && known.begins_exactly() {
        Course::Exact
    } else if is_too_little {
        Course::Alone
    } else {
        Course::Ahead
    };
    let learns = !is_left_alone && (is_due || course == Course::Exact);
    // Where read-ahead cannot be set, or was so often enough, what is mapped has to do.
    let adds = !known.exact || !can_be_exact;
    let mut launch = Launch::new(owned_id.clone(), at_ns, course, learns, adds);
    if let Some(known) = next.learned.app(&owned_id).filter(|_| course == Course::Ahead) {
        let available_bytes = now.memory.available_bytes.unwrap_or(now.memory.free_bytes);
        launch.plan(plan::plan(config, &next.learned, known, PAGE_BYTES, available_bytes));
    }
    next.launches.insert(group.to_owned(), launch);
}

/// Whether a device is known that reads little ahead, or is to in a launch that is learned.
fn can_be_exact(config: &Config, observed: &Observed<'_>) -> bool {
    let reads_little = |device| too_much_kib(config, device) == Some(0) || wastes_read_ahead(config, device);
    config.mode == Mode::Adaptive && observed.devices.iter().any(reads_little)
}

/// Whether something writes to the devices.
fn writes_compete(observed: &Observed<'_>) -> bool {
    let interval = observed.previous.and_then(|previous| observed.now.since(previous));
    observed.devices.iter().any(|device| {
        let totals = observed.now.disks.iter().find(|disk| disk.name == device.name);
        let written = interval.as_ref().is_some_and(|interval| {
            let disk = interval.disks.iter().find(|disk| disk.name == device.name);
            let rate = disk.map_or(0.0, |disk| disk.write.bytes_per_s);
            rate >= WRITES_MIN_BYTES_PER_S && rate * interval.elapsed_ns as f64 / 1e9 >= WRITES_MIN_BYTES
        });
        written || totals.and_then(|totals| totals.in_flight_write_requests) >= Some(QUEUED_MIN)
    })
}

/// How much more than in a launch that is learned a device reads ahead without brisk, in KiB.
fn too_much_kib(config: &Config, device: &Device) -> Option<u64> {
    let original: u64 = device.original(&QueueSetting::ReadAheadKb)?.parse().ok()?;
    Some(original.saturating_sub(config.learn_read_ahead_kib))
}

/// Whether the device reads what is too much for longer than another small read takes. Others, such as UFS, read more
/// for a launch sooner than they begin the smaller reads that a little read-ahead makes of it.
fn wastes_read_ahead(config: &Config, device: &Device) -> bool {
    let speeds = config.flash.unwrap_or_else(|| device.speeds());
    let read_us = |kib: u64| kib as f64 / 1024.0 / speeds.read_mib_per_s * 1e6;
    too_much_kib(config, device).is_some_and(|kib| read_us(kib) > speeds.random_read_us)
}

/// The levels of launches that are learned exactly.
fn little_read_ahead(config: &Config, next: &State, observed: &Observed<'_>) -> Vec<Request> {
    let is_learned = |launch: &&Launch| launch.course == Course::Exact && launch.ended_ns.is_none();
    let Some(launch) = next.launches.values().find(is_learned) else { return Vec::new() };
    let kib = config.learn_read_ahead_kib;
    let set = |device: &Device| {
        let reason = Reason::rule("learn_which_pages_a_launch_uses").word("app", id_of(&launch.id));
        Request::set(Knob::queue(&device.name, QueueSetting::ReadAheadKb), kib.to_string(), Objective::Delay, reason)
    };
    observed.devices.iter().filter(|device| wastes_read_ahead(config, device)).map(set).collect()
}

/// The launch ended: whether it counts is told, and what it used is asked for.
fn end(next: &mut State, now: &Snapshot, group: &str) {
    let Some(launch) = next.launches.get_mut(group) else { return };
    launch.ended_ns = Some(now.at_ns);
    launch.own_bytes = now.apps.iter().find(|app| app.name == group).and_then(|app| app.read_bytes);
    let is_cold = launch.read_at_least(launch.planned_bytes / COLD_PART) != Some(false);
    if !is_cold || launch.has_changed {
        next.told.insert(launch.id.clone(), Told::Void);
    }
    if launch.learns || launch.has_changed {
        next.reads.insert(group.to_owned());
    } else {
        next.launches.remove(group);
    }
}

/// Learns what a launch used.
fn learn(config: &Config, next: &mut State, launch: &Launch, used: &LaunchFiles) -> Option<Reason> {
    if used.files.is_empty() {
        // It had ended, or cannot be read.
        return None;
    }
    let pages: u64 = used.files.iter().flat_map(|file| &file.used).map(|range| range.pages).sum();
    let cold = launch.read_at_least(pages.saturating_mul(used.page_bytes) / 2);
    let has_changed = next.learned.learn(config, &launch.id, used, How { adds: launch.adds, cold });
    if has_changed {
        next.told.insert(launch.id.clone(), Told::Anew);
    }
    let app = next.learned.known_mut(&launch.id)?;
    if launch.asked_bytes > 0 {
        let used_bytes = used_bytes(&launch.pages, used).min(launch.asked_bytes);
        app.tally.launches = app.tally.launches.saturating_add(1);
        app.tally.asked_bytes = app.tally.asked_bytes.saturating_add(launch.asked_bytes);
        app.tally.read_bytes = app.tally.read_bytes.saturating_add(launch.read_bytes);
        app.tally.used_bytes = app.tally.used_bytes.saturating_add(used_bytes);
    }
    has_changed.then(|| Reason::rule("package_changed").word("app", id_of(&launch.id)))
}

/// Why all reading ahead is to end now.
pub(super) fn shortage(observed: &Observed<'_>) -> Option<Reason> {
    let memory = &observed.now.memory;
    if let Some(available_bytes) = memory.available_bytes.filter(|bytes| *bytes < memory.total_bytes / SHORT_PART) {
        return Some(Reason::rule("memory_is_short").number("available_mib", (available_bytes >> 20) as f64));
    }
    let interval = observed.previous.and_then(|previous| observed.now.since(previous))?;
    let stalled = interval.pressure.memory?.some_percent;
    (stalled > STALL_PERCENT).then(|| Reason::rule("memory_is_short").number("stall_percent", stalled))
}

/// Requests the next window, or the end.
fn go_on_reading(
    config: &Config,
    group: &str,
    launch: &mut Launch,
    now: &Snapshot,
    shortage: Option<&Reason>,
    requests: &mut Vec<Request>,
) {
    if launch.ended_ns.is_some() || !launch.reads_on() {
        return;
    }
    let own_bytes = now.apps.iter().find(|app| app.name == group).and_then(|app| app.read_bytes).unwrap_or(0);
    let diverges = (own_bytes > launch.planned_bytes && launch.asked_bytes > 0).then(|| {
        let mib = |bytes: u64| (bytes >> 20) as f64;
        Reason::rule("launch_diverges")
            .number("read_mib", mib(own_bytes))
            .number("planned_mib", mib(launch.planned_bytes))
    });
    let limits = config.mode == Mode::Adaptive;
    if let Some(reason) = diverges.or_else(|| shortage.cloned()).filter(|_| limits) {
        requests.extend(launch.stop(group, reason));
        return;
    }
    if launch.is_under_way {
        return;
    }
    let Some(pieces) = launch.waiting.pop_front() else { return };
    let size_bytes: u64 = pieces.iter().map(|piece| piece.size_bytes).sum();
    launch.is_under_way = true;
    launch.asked_bytes += size_bytes;
    let reason = Reason::rule("launch_uses_these_pages")
        .word("app", id_of(&launch.id))
        .number("kib", (size_bytes >> 10) as f64)
        .number("waiting_windows", launch.waiting.len() as f64);
    let once = Once::Prefetch {
        group: group.to_owned(),
        streams: launch.streams,
        priority: config.priority.clone(),
        files: launch.files.clone(),
        pieces,
    };
    requests.push(Request::once(once, Objective::Delay, reason));
}

impl Launch {
    fn new(id: String, began_ns: u64, course: Course, learns: bool, adds: bool) -> Self {
        Self {
            id,
            began_ns,
            course,
            learns,
            adds,
            ended_ns: None,
            planned_bytes: 0,
            pages: Vec::new(),
            files: Vec::new(),
            streams: 1,
            waiting: VecDeque::new(),
            is_under_way: false,
            is_stopped: false,
            asked_bytes: 0,
            read_bytes: 0,
            has_changed: false,
            own_bytes: None,
        }
    }

    /// Takes in what is planned.
    fn plan(&mut self, plan: plan::Plan) {
        self.planned_bytes = plan.size_bytes;
        self.pages = plan.files.iter().map(|file| file.file.path.clone()).zip(plan.pages).collect();
        (self.files, self.streams, self.waiting) = (plan.files, plan.streams, plan.windows.into());
    }

    /// Whether something is being read, or waits for that.
    fn reads_on(&self) -> bool {
        !self.is_stopped && (self.is_under_way || !self.waiting.is_empty())
    }

    /// Ends reading ahead; the request where something is being read.
    fn stop(&mut self, group: &str, reason: Reason) -> Option<Request> {
        let is_needed = self.is_under_way && !self.is_stopped;
        self.is_stopped = true;
        self.waiting.clear();
        let end = || Request::once(Once::EndPrefetch { group: group.to_owned() }, Objective::Delay, reason);
        is_needed.then(end)
    }

    fn performed(&mut self, outcome: &Outcome) {
        self.is_under_way = false;
        match outcome {
            Outcome::Begun => self.is_under_way = true,
            Outcome::Prefetched { read_bytes, changed_files, complete } => {
                self.read_bytes = self.read_bytes.saturating_add(*read_bytes);
                self.has_changed |= *changed_files > 0;
                if !complete {
                    (self.is_stopped, self.waiting) = (true, VecDeque::new());
                }
            }
            // Refused, dropped, or no files: nothing was read, so that nothing is counted.
            _ => (self.is_stopped, self.waiting, self.asked_bytes) = (true, VecDeque::new(), 0),
        }
    }

    /// Whether so much was read from the device, by the app or ahead of it; `None` where that is not counted.
    fn read_at_least(&self, bytes: u64) -> Option<bool> {
        self.own_bytes.map(|own_bytes| own_bytes.saturating_add(self.read_bytes) >= bytes.max(1))
    }
}
