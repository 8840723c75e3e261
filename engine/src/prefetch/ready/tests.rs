mod full;

use brisk_core::action::Action;
use brisk_core::app::{Activity, App, Role, Tolerance};
use brisk_core::device::Device;
use brisk_core::event::Event;
use brisk_core::launch::{FileVersion, LaunchFiles, PlacedRange, UsedFile};
use brisk_core::pages::{MappedFile, PageRange};
use brisk_core::snapshot::{AppTotals, DiskTotals, IoTotals, MemoryLevels, PagingTotals, PressureTotals, StallTotals};
use brisk_core::survey::{Shown, Topic};

use super::*;
use crate::kit::Engine as _;
use crate::kit::world::plain_app;
use crate::prefetch::Prefetch;
use crate::prefetch::learned::How;

const MIB: u64 = 1 << 20;
/// What the kernel leaves free.
const FULL_BYTES: u64 = 20 * MIB;

/// A machine of 1 GiB with one device, which knows some apps.
struct Machine {
    config: Config,
    state: State,
    look_ns: Option<u64>,
    now: Snapshot,
    previous: Option<Snapshot>,
    devices: Vec<Device>,
    apps: Vec<App>,
    /// The set that was requested last, and not looked at.
    requested: Option<Once>,
}

fn group(id: &str) -> String {
    format!("app-{id}-1.scope")
}

fn used(id: &str, pages: u64) -> LaunchFiles {
    let range = PageRange { first_page: 0, pages };
    let file = UsedFile {
        opened: false,
        file: MappedFile { device: 8, inode: pages, path: format!("/usr/bin/{id}") },
        version: FileVersion { changed_ns: 1, size_bytes: pages * 4096 },
        used: vec![range],
        placed: vec![PlacedRange { range, physical_page: pages * 7 }],
    };
    LaunchFiles { page_bytes: 4096, opens: true, files: vec![file] }
}

impl Machine {
    /// These apps were launched in this order, each of which reads so many pages.
    fn new(apps: &[(&str, u64)]) -> Self {
        let device = Device { name: "mmcblk0".to_owned(), ..Device::default() };
        let disk = DiskTotals { name: "mmcblk0".to_owned(), ..DiskTotals::default() };
        let now = Snapshot {
            at_ns: 1_000 * S_NS,
            wall_unix_ms: 1_795_000_000_000,
            memory: MemoryLevels {
                total_bytes: 1024 * MIB,
                free_bytes: 600 * MIB,
                available_bytes: Some(800 * MIB),
                ..MemoryLevels::default()
            },
            paging: PagingTotals {
                steal_kswapd_pages: Some(0),
                refault_file_pages: Some(0),
                ..PagingTotals::default()
            },
            pressure: PressureTotals { memory: Some(StallTotals::default()), ..PressureTotals::default() },
            disks: vec![disk],
            ..Snapshot::default()
        };
        let mut machine = Self {
            config: Config::default(),
            state: State::default(),
            look_ns: None,
            now,
            previous: None,
            devices: vec![device],
            apps: Vec::new(),
            requested: None,
        };
        for (id, pages) in apps {
            machine.launch(id, *pages);
        }
        machine
    }

    fn call(&mut self, after_s: f64, kinds: Vec<EventKind>) -> Vec<Request> {
        self.now.at_ns += (after_s * 1e9) as u64;
        self.now.wall_unix_ms += (after_s * 1e3) as u64;
        let at_ns = self.now.at_ns;
        let events: Vec<Event> = kinds.into_iter().map(|kind| Event { at_ns, kind }).collect();
        let observed = Observed {
            previous: self.previous.as_ref(),
            now: &self.now,
            events: &events,
            devices: &self.devices,
            apps: &self.apps,
        };
        let decide = || Prefetch::decide(&self.config, self.state.clone(), &observed);
        let decision = decide();
        assert_eq!(decision, decide(), "the same inputs");
        let Decision { state, requests, next_look_ns, .. } = decision;
        (self.state, self.look_ns) = (state, next_look_ns);
        self.previous = Some(self.now.clone());
        self.requested = sets(&requests).pop();
        requests
    }

    fn begin(&mut self, id: &str) -> Vec<Request> {
        let activity = Activity { role: Role::App, ..Activity::default() };
        self.apps.push(App { activity, ..plain_app(&group(id), id, Tolerance::Interactive) });
        self.call(1.0, vec![EventKind::LaunchBegan { group: group(id) }])
    }

    /// A launch that teaches, and the end of the app.
    fn launch(&mut self, id: &str, pages: u64) {
        self.begin(id);
        self.call(1.0, vec![EventKind::LaunchEnded { group: group(id) }]);
        let how = How { adds: true, cold: Some(true) };
        self.state.learned.learn(&self.config, id, &used(id, pages), how);
        self.gone(id);
    }

    fn gone(&mut self, id: &str) -> Vec<Request> {
        self.apps.retain(|app| app.id != id);
        self.call(1.0, vec![EventKind::AppGone { group: group(id) }])
    }

    /// Goes on, as the engine asks, until it requests a set; `None` where it asks for nothing within `s`.
    fn next_set(&mut self, s: f64) -> Option<Once> {
        let end_ns = self.now.at_ns + (s * 1e9) as u64;
        loop {
            if let Some(once) = self.requested.take() {
                return Some(once);
            }
            let Some(look_ns) = self.look_ns.filter(|look_ns| *look_ns <= end_ns) else {
                self.now.wall_unix_ms += (end_ns - self.now.at_ns) / 1_000_000;
                self.now.at_ns = end_ns;
                return None;
            };
            let after_s = look_ns.saturating_sub(self.now.at_ns).max(1_000_000) as f64 / 1e9;
            self.call(after_s, Vec::new());
        }
    }

    fn performed(&mut self, once: &Once, outcome: Outcome) -> Vec<Request> {
        if let Outcome::Prefetched { read_bytes, .. } = outcome {
            self.now.disks[0].read.bytes += read_bytes;
            // What has no room in free memory has the kernel drop as much.
            let free_bytes = &mut self.now.memory.free_bytes;
            let into_free_bytes = read_bytes.min(free_bytes.saturating_sub(FULL_BYTES));
            *free_bytes -= into_free_bytes;
            if let Some(inactive_bytes) = &mut self.now.memory.inactive_file_bytes {
                *inactive_bytes += into_free_bytes;
            }
        }
        self.call(0.5, vec![EventKind::Performed { once: once.in_short(), outcome }])
    }

    /// Reads all sets that are requested within a minute. Gives their ids.
    fn make_ready(&mut self) -> Vec<String> {
        let mut ids = Vec::new();
        while let Some(once) = self.next_set(60.0) {
            ids.push(once.group().to_owned());
            let read_bytes = size_bytes(&once);
            self.performed(&once, read(read_bytes));
        }
        ids
    }

    fn readiness(&self, id: &str) -> Readiness {
        let shown = Prefetch::show(&self.config, &self.state, Topic::Launches);
        let Some(Shown::Launches(apps)) = shown else { panic!("it is asked for launches") };
        apps.into_iter().find(|app| app.id == id).expect("known").ready
    }

    fn why_not(&self, id: &str) -> String {
        self.readiness(id).why_not.expect("not ready").rule.to_string()
    }
}

fn read(read_bytes: u64) -> Outcome {
    Outcome::Prefetched { read_bytes, changed_files: 0, complete: true }
}

fn size_bytes(once: &Once) -> u64 {
    let Once::MakeReady { pieces, .. } = once else { panic!("{once}") };
    pieces.iter().map(|piece| piece.size_bytes).sum()
}

fn sets(requests: &[Request]) -> Vec<Once> {
    let of = |request: &Request| match &request.action {
        Action::Once(once @ Once::MakeReady { .. }) => Some(once.clone()),
        _ => None,
    };
    requests.iter().filter_map(of).collect()
}

fn ends(requests: &[Request]) -> Vec<String> {
    let is_end = |request: &&Request| matches!(&request.action, Action::Once(Once::EndPrefetch { .. }));
    requests.iter().filter(is_end).map(|request| request.reason.rule.to_string()).collect()
}

#[test]
fn likely_apps_are_made_ready_when_storage_is_quiet() {
    let mut machine = Machine::new(&[("a", 1_000), ("b", 1_000), ("a", 1_000), ("b", 1_000), ("a", 1_000)]);
    // The last launch ended a second ago.
    assert_eq!(machine.next_set(3.9), None);
    let once = machine.next_set(0.2).expect("a set, when it was quiet for long enough");
    let (first, other) = if once.group() == "a" { ("a", "b") } else { ("b", "a") };
    assert_eq!(size_bytes(&once), 1_000 * 4096, "the set that a launch reads");
    assert!(machine.state.ready.likely.len() == 2, "trials know both before: {:?}", machine.state.ready.likely);
    machine.performed(&once, read(4 * MIB));
    assert!(machine.readiness(first).since_unix_ms.is_some() && machine.readiness(other).since_unix_ms.is_none());
    assert_eq!(machine.make_ready(), [other]);
    assert!(machine.next_set(600.0).is_none(), "all are ready");
}

#[test]
fn what_saves_most_waiting_for_each_byte_comes_first() {
    let mut machine = Machine::new(&[("often", 500), ("often", 500), ("often", 500), ("seldom", 500), ("often", 500)]);
    assert_eq!(machine.make_ready(), ["seldom", "often"], "the predictor has learned that it comes back");
    let mut machine = Machine::new(&[("often", 500), ("seldom", 500), ("often", 500)]);
    machine.config.ready_apps = 1;
    assert_eq!(machine.make_ready().len(), 1);
    machine.config.ready_apps = 0;
    machine.launch("often", 500);
    assert_eq!(machine.make_ready(), Vec::<String>::new());
}

#[test]
fn a_launch_ends_it_and_the_app_that_runs_is_not_read() {
    let mut machine = Machine::new(&[("a", 1_000), ("b", 1_000), ("a", 1_000)]);
    let once = machine.next_set(60.0).expect("a set");
    assert_eq!(ends(&machine.begin("b")), ["an_app_is_launched"]);
    let cut = Outcome::Prefetched { read_bytes: MIB, changed_files: 0, complete: false };
    machine.performed(&once, cut);
    assert_eq!(machine.why_not("a"), "an_app_is_launched");
    machine.call(1.0, vec![EventKind::LaunchEnded { group: group("b") }]);
    assert_eq!(machine.make_ready(), ["a"]);
    assert_eq!(machine.why_not("b"), "it_runs");
    machine.gone("b");
    assert_eq!(machine.make_ready(), ["b"], "a is ready");
    machine.begin("a");
    machine.call(1.0, vec![EventKind::LaunchEnded { group: group("a") }]);
    machine.gone("a");
    assert_eq!(machine.make_ready(), ["a"], "another period of it");
}

#[test]
fn writes_and_apps_that_wait_for_storage_end_it() {
    let began = || {
        let mut machine = Machine::new(&[("a", 1_000), ("a", 1_000)]);
        machine.next_set(60.0).expect("a set");
        machine
    };
    let mut machine = began();
    assert_eq!(ends(&machine.call(0.25, Vec::new())), Vec::<String>::new());
    machine.now.disks[0].read.bytes += 4 * MIB;
    assert_eq!(ends(&machine.call(0.25, Vec::new())), Vec::<String>::new(), "its own reads");
    machine.now.disks[0].write.bytes += MIB;
    assert_eq!(ends(&machine.call(0.25, Vec::new())), ["storage_is_busy"]);
    assert_eq!(machine.next_set(4.9), None);
    assert!(machine.next_set(5.0).is_some(), "when it is quiet again");
    let mut machine = began();
    let waits = |us| {
        let io_pressure = Some(StallTotals { some_us: us, full_us: None });
        AppTotals { name: "player".to_owned(), io_pressure, ..AppTotals::default() }
    };
    machine.now.apps = vec![waits(0)];
    machine.call(0.25, Vec::new());
    machine.now.apps = vec![waits(100_000)];
    assert_eq!(ends(&machine.call(0.25, Vec::new())), ["an_app_waits_for_storage"]);
    let mut machine = began();
    let short = EventKind::Pressure { resource: "memory".to_owned() };
    assert_eq!(ends(&machine.call(0.25, vec![short])), ["memory_is_short"]);
    let mut machine = began();
    machine.now.memory.available_bytes = Some(20 * MIB);
    assert_eq!(ends(&machine.call(0.25, Vec::new())), ["memory_is_short"]);
    // What others read before counts as well.
    let mut machine = Machine::new(&[("a", 1_000), ("a", 1_000)]);
    machine.now.disks[0].read = IoTotals { bytes: 100 * MIB, ..IoTotals::default() };
    machine.call(4.0, Vec::new());
    assert_eq!(machine.next_set(4.9), None);
    assert!(machine.next_set(5.0).is_some());
}

#[test]
fn no_more_is_read_than_memory_and_the_day_allow() {
    let most = |machine: &mut Machine| match machine.next_set(120.0) {
        Some(Once::MakeReady { most_bytes, .. }) => Some(most_bytes),
        _ => None,
    };
    let large = [("a", 10_240), ("b", 10_239), ("a", 10_240), ("b", 10_239), ("a", 10_240)];
    let mut machine = Machine::new(&large);
    machine.now.memory.free_bytes = machine.now.memory.total_bytes / 10 + 100 * MIB;
    let once = machine.next_set(60.0).expect("a set");
    let Once::MakeReady { most_bytes, .. } = once else { panic!("{once}") };
    assert_eq!(most_bytes, 50 * MIB, "half of what is free beyond the reserve");
    machine.performed(&once, read(size_bytes(&once)));
    let other = if once.group() == "a" { "b" } else { "a" };
    assert_eq!(most(&mut machine).map(|bytes| bytes / MIB), Some(10), "of what was free at first");
    let once = Once::MakeReady { group: other.to_owned(), most_bytes: 0, files: Vec::new(), pieces: Vec::new() };
    machine.performed(&once, Outcome::Prefetched { read_bytes: 10 * MIB, changed_files: 0, complete: false });
    assert_eq!(most(&mut machine), None);
    assert_eq!(machine.readiness(other).read_bytes, 10 * MIB);
    let waits = machine.state.ready.waits.clone().expect("it waits");
    assert_eq!(waits.rule, "little_memory_is_free");
    machine.now.memory.free_bytes = FULL_BYTES;
    machine.begin("c");
    machine.gone("c");
    assert_eq!(most(&mut machine), None, "the reserve is free for others");
    let mut machine = Machine::new(&[("a", 1_000), ("b", 1_000), ("a", 1_000), ("b", 1_000)]);
    machine.config.ready_mib_per_day = 8;
    let once = machine.next_set(60.0).expect("a set");
    machine.performed(&once, read(8 * MIB));
    assert_eq!(machine.next_set(3_600.0), None);
    let Some(Shown::Prefetched(of)) = Prefetch::show(&machine.config, &machine.state, Topic::Totals) else { panic!() };
    assert_eq!((of.ready_apps, of.ready_day_bytes, of.ready_day_max_bytes), (1, 8 * MIB, 8 * MIB));
    assert_eq!(of.ready_waits.expect("it waits").rule, "enough_was_read_today");
    machine.call(86_400.0, Vec::new());
    assert!(machine.next_set(60.0).is_some(), "another day");
}

#[test]
fn what_is_ready_is_read_again_after_reclaim_and_not_before() {
    let mut machine = Machine::new(&[("a", 1_000), ("a", 1_000)]);
    assert_eq!(machine.make_ready(), ["a"]);
    assert_eq!(machine.next_set(1_700.0), None);
    assert!(machine.next_set(300.0).is_some(), "a check after half an hour");
    let mut machine = Machine::new(&[("a", 1_000), ("a", 1_000)]);
    assert_eq!(machine.make_ready(), ["a"]);
    let since_unix_ms = machine.readiness("a").since_unix_ms;
    machine.now.paging.steal_kswapd_pages = Some(STALE_PAGES + 1);
    machine.call(10.0, Vec::new());
    let once = machine.next_set(600.0).expect("a check");
    machine.performed(&once, read(0));
    assert_eq!(machine.readiness("a").since_unix_ms, since_unix_ms, "it was in memory all the time");
}

#[test]
fn what_is_held_out_or_refused_is_not_requested_again_and_again() {
    let mut machine = Machine::new(&[("a", 1_000), ("b", 900), ("a", 1_000), ("b", 900)]);
    let first = machine.next_set(60.0).expect("a set");
    machine.performed(&first, Outcome::HeldOut);
    assert_eq!(machine.why_not(first.group()), "held_out_until_its_next_launch");
    let second = machine.next_set(60.0).expect("the other");
    assert_ne!(first.group(), second.group());
    machine.performed(&second, Outcome::Refused { why: "the battery is at 7 %".to_owned() });
    let why = machine.readiness(second.group()).why_not.expect("not ready").to_string();
    assert_eq!(why, "not done (why the battery is at 7 %)");
    assert_eq!(machine.next_set(590.0), None);
    let third = machine.next_set(700.0).expect("later");
    assert_eq!(third.group(), second.group(), "what is held out stays so");
    machine.performed(&third, read(MIB));
    machine.begin(first.group());
    machine.call(1.0, vec![EventKind::LaunchEnded { group: group(first.group()) }]);
    machine.gone(first.group());
    assert_eq!(machine.make_ready(), [first.group()], "after its launch");
}

#[test]
fn what_is_shown_says_since_when_and_why_not() {
    let mut machine = Machine::new(&[("a", 1_000), ("b", 1_000), ("a", 1_000), ("b", 1_000)]);
    machine.config.ready_apps = 1;
    machine.state.learned.launched("new");
    let ids = machine.make_ready();
    let other = if ids == ["a"] { "b" } else { "a" };
    let ready = machine.readiness(&ids[0]);
    assert!(ready.since_unix_ms.is_some_and(|at| at <= machine.now.wall_unix_ms) && ready.why_not.is_none());
    assert_eq!(ready.read_bytes, 1_000 * 4096);
    assert_eq!(machine.why_not(other), "not_among_the_likely_next_apps");
    assert_eq!(machine.why_not("new"), "a_cold_launch_has_to_teach_what_it_uses");
    machine.state.ready.forget(Some(&ids[0]));
    assert_eq!(machine.why_not(&ids[0]), "not_among_the_likely_next_apps");
}

#[test]
fn a_set_of_which_no_end_is_heard_is_given_up() {
    let mut machine = Machine::new(&[("a", 1_000), ("a", 1_000)]);
    machine.next_set(60.0).expect("a set");
    machine.call(119.0, Vec::new());
    assert_eq!(machine.why_not("a"), "it_is_being_read");
    assert_eq!(ends(&machine.call(2.0, Vec::new())), ["reading_takes_too_long"]);
    assert_eq!((machine.next_set(590.0), machine.why_not("a").as_str()), (None, "reading_takes_too_long"));
    assert!(machine.next_set(700.0).is_some());
}

#[test]
fn the_mode_of_the_paper_reads_nothing_before_a_launch() {
    let mut machine = Machine::new(&[("a", 1_000), ("a", 1_000)]);
    machine.config.mode = Mode::Paper;
    machine.call(1.0, Vec::new());
    assert_eq!(machine.make_ready(), Vec::<String>::new());
}
