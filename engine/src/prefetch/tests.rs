use crate::kit::Learned as _;
use crate::kit::world::plain_app;
use brisk_core::action::{Action, Once, Setting};
use brisk_core::app::{Activity, App, Role, Tolerance};
use brisk_core::decision::Request;
use brisk_core::device::Device;
use brisk_core::event::{Event, EventKind};
use brisk_core::launch::{FileVersion, LaunchFiles, PlacedRange, UsedFile};
use brisk_core::outcome::Outcome;
use brisk_core::pages::{MappedFile, PageRange};
use brisk_core::snapshot::{AppTotals, DiskTotals, IoTotals, MemoryLevels, Snapshot, StallTotals};
use proptest::prelude::*;

use super::*;
use crate::prefetch::launches::Course;

const MS_NS: u64 = 1_000_000;
const MIB: u64 = 1 << 20;
const GROUP: &str = "app-reader-1.scope";

/// A machine with one app, which uses `used`, on one device.
struct Machine {
    config: Config,
    state: State,
    look_ns: Option<u64>,
    now_ns: u64,
    wall_unix_ms: u64,
    available_bytes: u64,
    previous: Option<Snapshot>,
    devices: Vec<Device>,
    used: LaunchFiles,
    /// What the app has read by itself, and waited for.
    read_bytes: u64,
    waited_us: u64,
    /// What others write to the device between two calls, and have written.
    writes_bytes: u64,
    written_bytes: u64,
    /// Whether its trial was to begin anew in the last launch.
    told_anew: bool,
    /// All calls, for a replay: snapshot and events, and the requests.
    calls: Vec<(Snapshot, Vec<Event>, Vec<Request>)>,
}

fn file(path: &str, pages: u64) -> UsedFile {
    let range = PageRange { first_page: 0, pages };
    UsedFile {
        opened: false,
        file: MappedFile { device: 8, inode: pages, path: path.to_owned() },
        version: FileVersion { changed_ns: 1, size_bytes: pages * 4096 },
        used: vec![range],
        placed: vec![PlacedRange { range, physical_page: pages * 7 }],
    }
}

impl Machine {
    fn new() -> Self {
        let device = Device {
            name: "mmcblk0".to_owned(),
            originals: vec![("read_ahead_kb".to_owned(), "128".to_owned())],
            ..Device::default()
        };
        Self {
            // What is read before launches has tests of its own.
            config: Config { ready_apps: 0, ..Config::default() },
            state: State::default(),
            look_ns: None,
            now_ns: 1_000 * MS_NS,
            wall_unix_ms: 1_795_000_000_000,
            available_bytes: 1_000 * MIB,
            previous: None,
            devices: vec![device],
            used: LaunchFiles {
                opens: true,
                page_bytes: 4096,
                files: vec![file("/usr/bin/reader", 2_000), file("/usr/lib/x.so", 1_000)],
            },
            read_bytes: 0,
            waited_us: 0,
            writes_bytes: 0,
            written_bytes: 0,
            told_anew: false,
            calls: Vec::new(),
        }
    }

    fn apps(id: &str) -> Vec<App> {
        let activity = Activity { role: Role::App, ..Activity::default() };
        vec![App { launching: true, activity, ..plain_app(GROUP, id, Tolerance::Interactive) }]
    }

    fn snapshot(&self) -> Snapshot {
        let app = AppTotals {
            name: GROUP.to_owned(),
            read_bytes: Some(self.read_bytes),
            io_pressure: Some(StallTotals { some_us: self.waited_us, full_us: None }),
            ..AppTotals::default()
        };
        Snapshot {
            at_ns: self.now_ns,
            wall_unix_ms: self.wall_unix_ms,
            memory: MemoryLevels {
                total_bytes: 2_000 * MIB,
                available_bytes: Some(self.available_bytes),
                ..MemoryLevels::default()
            },
            apps: vec![app],
            disks: vec![DiskTotals {
                name: "mmcblk0".to_owned(),
                write: IoTotals { bytes: self.written_bytes, ..IoTotals::default() },
                ..DiskTotals::default()
            }],
            ..Snapshot::default()
        }
    }

    fn call(&mut self, kinds: Vec<EventKind>) -> Vec<Request> {
        let at_ns = self.now_ns;
        let events: Vec<Event> = kinds.into_iter().map(|kind| Event { at_ns, kind }).collect();
        let now = self.snapshot();
        let apps = Self::apps("reader");
        let observed = Observed {
            previous: self.previous.as_ref(),
            now: &now,
            events: &events,
            devices: &self.devices,
            apps: &apps,
        };
        let Decision { state, requests, next_look_ns, .. } =
            Prefetch::decide(&self.config, std::mem::take(&mut self.state), &observed);
        (self.state, self.look_ns) = (state, next_look_ns);
        self.calls.push((now.clone(), events, requests.clone()));
        self.previous = Some(now);
        self.now_ns += 100 * MS_NS;
        self.wall_unix_ms += 100;
        self.written_bytes += self.writes_bytes;
        requests
    }

    fn begin(&mut self) -> Vec<Request> {
        (self.read_bytes, self.waited_us) = (0, 0);
        self.call(vec![EventKind::LaunchBegan { group: GROUP.to_owned() }])
    }

    fn course(&self) -> Option<Course> {
        self.state.launches.get(GROUP).map(|launch| launch.course)
    }

    fn performed(&mut self, requests: &[Request], read_bytes: u64) -> Vec<Request> {
        let is_changed = |file: &&brisk_core::launch::PrefetchFile| {
            self.used.files.iter().all(|used| used.file != file.file || used.version != file.version)
        };
        let of = |request: &Request| {
            let Action::Once(once) = &request.action else { return None };
            let changed_files = match once {
                Once::Prefetch { files, .. } => files.iter().filter(is_changed).count() as u32,
                _ => 0,
            };
            let outcome = Outcome::Prefetched { read_bytes, changed_files, complete: true };
            // As the daemon tells it: without the list of ranges.
            Some(EventKind::Performed { once: once.in_short(), outcome })
        };
        self.call(requests.iter().filter_map(of).collect())
    }

    fn end(&mut self) -> Vec<Request> {
        let requests = self.call(vec![EventKind::LaunchEnded { group: GROUP.to_owned() }]);
        let used = self.used.clone();
        if self.state.reads.contains(GROUP) {
            self.call(vec![EventKind::LaunchUsed { group: GROUP.to_owned(), files: used }]);
        }
        self.told_anew = Prefetch::told(&self.state).iter().any(|(_, told)| *told == Told::Anew);
        requests
    }

    /// A whole launch, which waits so long with reading ahead, and so long without. Says how it was treated.
    fn launch(&mut self, ahead_us: u64, without_us: u64) -> Option<Course> {
        let mut requests = self.begin();
        let course = self.course();
        let is_ahead = course == Some(Course::Ahead);
        while prefetched_bytes(&requests) > 0 {
            let read_bytes = prefetched_bytes(&requests);
            requests = self.performed(&requests, read_bytes);
        }
        self.read_bytes = if is_ahead { MIB } else { 12 * MIB };
        self.waited_us = if is_ahead { ahead_us } else { without_us };
        self.end();
        self.call(vec![EventKind::AppGone { group: GROUP.to_owned() }]);
        course
    }
}

fn prefetched_bytes(requests: &[Request]) -> u64 {
    let of = |request: &Request| match &request.action {
        Action::Once(Once::Prefetch { pieces, .. }) => pieces.iter().map(|piece| piece.size_bytes).sum(),
        _ => 0,
    };
    requests.iter().map(of).sum()
}

fn levels(requests: &[Request]) -> Vec<Setting> {
    requests.iter().filter_map(Request::setting).cloned().collect()
}

fn ends(requests: &[Request]) -> Vec<String> {
    let is_end = |request: &&Request| matches!(request.action, Action::Once(Once::EndPrefetch { .. }));
    requests.iter().filter(is_end).map(|request| request.reason.rule.to_string()).collect()
}

#[test]
fn an_unknown_app_is_learned_exactly_and_its_next_launch_is_read_ahead() {
    let mut machine = Machine::new();
    let first = machine.begin();
    assert_eq!(machine.course(), Some(Course::Exact));
    let little = Setting::new("queue/mmcblk0/read_ahead_kb".parse().expect("a knob"), "32");
    assert_eq!(levels(&first), std::slice::from_ref(&little));
    assert_eq!(levels(&machine.call(Vec::new())), [little], "as long as the launch goes on");
    machine.read_bytes = 12 * MIB;
    assert_eq!(levels(&machine.end()), []);
    assert_eq!(machine.call(Vec::new()), []);
    assert_eq!(machine.launch(100_000, 200_000), Some(Course::Ahead));
    let app = machine.state.learned.app("reader").expect("known");
    assert!(app.exact && app.files.len() == 2);
    assert_eq!((app.tally.asked_bytes, app.tally.used_bytes), (3_000 * 4096, 3_000 * 4096));
}

#[test]
fn where_read_ahead_costs_less_than_another_read_a_launch_is_learned_with_it() {
    let learned = |kind: &str, read_ahead_kib: &str| {
        let mut machine = Machine::new();
        machine.devices[0].kind = kind.to_owned();
        machine.devices[0].originals[0].1 = read_ahead_kib.to_owned();
        let set = levels(&machine.begin());
        let course = machine.course();
        machine.read_bytes = 12 * MIB;
        machine.end();
        assert_eq!(machine.launch(100_000, 200_000), Some(Course::Ahead), "{kind}");
        (course.expect("a launch"), set.len())
    };
    for kind in ["emmc", "sd", "usb", "virtual"] {
        assert_eq!(learned(kind, "128"), (Course::Exact, 1), "{kind}");
        assert_eq!(learned(kind, "32"), (Course::Exact, 0), "{kind}");
    }
    let mut machine = Machine::new();
    machine.devices[0].kind = "ufs".to_owned();
    machine.begin();
    machine.end();
    assert_eq!(machine.launch(0, 200_000), Some(Course::Alone), "all that is known was in memory");
    assert_eq!(machine.launch(100_000, 200_000), Some(Course::Ahead));
    for kind in ["ufs", "nvme"] {
        assert_eq!(learned(kind, "128"), (Course::Alone, 0), "{kind}");
        assert_eq!(learned(kind, "512"), (Course::Exact, 1), "{kind}");
    }
}

#[test]
fn what_the_first_launch_alone_used_is_not_read_ahead_of_the_third() {
    let mut machine = Machine::new();
    assert_eq!(machine.launch(0, 200_000), Some(Course::Exact));
    let of_first = machine.used.files.pop().expect("a library");
    let asked_bytes = |machine: &mut Machine| {
        assert_eq!(machine.launch(100_000, 0), Some(Course::Ahead));
        machine.state.learned.app("reader").expect("known").tally.asked_bytes
    };
    assert_eq!(asked_bytes(&mut machine), 3_000 * 4096);
    assert_eq!(asked_bytes(&mut machine), (3_000 + 2_000) * 4096);
    machine.used.files.push(of_first);
    assert_eq!(asked_bytes(&mut machine), (3_000 + 2_000 + 2_000) * 4096);
    // Now one that uses it counts 1, and the two before it that did not 1/2 and 1/3.
    assert_eq!(asked_bytes(&mut machine), (3_000 + 2_000 + 2_000 + 3_000) * 4096);
}

#[test]
fn launches_that_show_nothing_are_not_learned_for_ever() {
    let mut machine = Machine::new();
    let nothing = std::mem::take(&mut machine.used.files);
    let courses: Vec<_> = (0..160).map(|_| machine.launch(0, 200_000)).collect();
    let exact = |courses: &[Option<Course>]| courses.iter().filter(|course| **course == Some(Course::Exact)).count();
    assert_eq!((exact(&courses[..15]), exact(&courses)), (3, 3 + 160 / 16));
    // One that shows something at last is learned as it is, and read ahead.
    machine.used.files = nothing;
    machine.launch(0, 200_000);
    assert_eq!(machine.launch(100_000, 200_000), Some(Course::Ahead));
    // Pages that differ each time call for exact launches, of which no more come.
    let mut machine = Machine::new();
    let courses: Vec<_> = (0..160)
        .map(|nth| {
            machine.used.files.iter_mut().for_each(|file| file.used[0].first_page = nth * 5_000);
            machine.launch(100_000, 200_000)
        })
        .collect();
    assert!((3..=3 + 160 / 16).contains(&exact(&courses)), "{}", exact(&courses));
}

#[test]
fn where_read_ahead_cannot_be_set_what_is_mapped_has_to_do() {
    let mut machine = Machine::new();
    machine.devices.clear();
    assert_eq!(machine.launch(0, 200_000), Some(Course::Alone));
    assert_eq!(machine.launch(100_000, 200_000), Some(Course::Ahead));
}

#[test]
fn a_device_that_reads_ahead_no_more_is_left_alone() {
    for kib in ["16", "0"] {
        let mut machine = Machine::new();
        machine.devices[0].originals = vec![("read_ahead_kb".to_owned(), kib.to_owned())];
        assert_eq!((levels(&machine.begin()), machine.course()), (Vec::new(), Some(Course::Exact)));
    }
}

#[test]
fn launches_beside_writes_are_left_alone_until_one_has_to_be_learned() {
    let beside = |launches: usize| {
        let mut machine = Machine::new();
        machine.call(Vec::new());
        machine.writes_bytes = 600_000;
        machine.call(Vec::new());
        assert_eq!(levels(&machine.begin()), []);
        machine.call(vec![EventKind::AppGone { group: GROUP.to_owned() }]);
        for _ in 1..launches {
            assert_eq!(machine.launch(0, 200_000), Some(Course::Alone));
        }
        assert_eq!(machine.state.learned.app("reader").map_or(0, |app| app.files.len()), 0);
        machine
    };
    assert_eq!(beside(3).launch(0, 200_000), Some(Course::Exact), "it may write for ever");
    let mut machine = beside(2);
    machine.writes_bytes = 10_000;
    machine.call(Vec::new());
    assert_eq!(machine.launch(0, 200_000), Some(Course::Exact), "once nothing writes but a journal");
    machine.writes_bytes = 600_000;
    machine.call(Vec::new());
    assert_eq!(machine.launch(100_000, 200_000), Some(Course::Ahead), "what is known helps beside writes too");
}

#[test]
fn a_launch_that_tells_nothing_does_not_count() {
    let told = |machine: &mut Machine, own_bytes: u64, outcome: fn(u64) -> Outcome| {
        let requests = machine.begin();
        assert_eq!(machine.course(), Some(Course::Ahead));
        let Action::Once(once) = requests[0].action.clone() else { panic!("{requests:?}") };
        machine.call(vec![EventKind::Performed { once, outcome: outcome(0) }]);
        machine.read_bytes = own_bytes;
        machine.call(vec![EventKind::LaunchEnded { group: GROUP.to_owned() }]);
        let told = Prefetch::told(&machine.state);
        machine.call(vec![EventKind::AppGone { group: GROUP.to_owned() }]);
        assert!(Prefetch::told(&machine.state).is_empty(), "once");
        told.into_iter().map(|(_, told)| told).collect::<Vec<_>>()
    };
    let mut machine = Machine::new();
    machine.launch(0, 200_000);
    // 12 MiB are planned.
    assert_eq!(told(&mut machine, 12 * MIB, |_| Outcome::Dropped), [], "held out, and cold");
    assert_eq!(told(&mut machine, 2 * MIB, |_| Outcome::Dropped), [Told::Void], "it was in memory");
    let read = |read_bytes| Outcome::Prefetched { read_bytes, changed_files: 0, complete: true };
    assert_eq!(told(&mut machine, 12 * MIB, read), []);
    assert_eq!(told(&mut machine, MIB, read), [Told::Void]);
    let changed = |read_bytes| Outcome::Prefetched { read_bytes, changed_files: 1, complete: true };
    assert_eq!(told(&mut machine, 12 * MIB, changed), [Told::Void]);
}

#[test]
fn an_updated_package_is_learned_anew() {
    let mut machine = Machine::new();
    (0..20).for_each(|_| assert!(machine.launch(100_000, 0).is_some()));
    machine.used.files.iter_mut().for_each(|file| file.version.changed_ns = 2);
    let mut is_told = false;
    let mut launch = |machine: &mut Machine| {
        let course = machine.launch(100_000, 0);
        is_told |= machine.told_anew;
        course
    };
    let courses: Vec<_> = (0..3).map(|_| launch(&mut machine)).collect();
    assert!(courses.contains(&Some(Course::Exact)) && is_told, "{courses:?}");
    let known = machine.state.learned.app("reader").expect("known");
    assert!(known.files.iter().all(|file| file.version.changed_ns == 2));
}

/// A machine whose app is being launched and read ahead, with the request.
fn ahead() -> (Machine, Vec<Request>) {
    let mut machine = Machine::new();
    machine.launch(100_000, 200_000);
    let requests = machine.begin();
    assert_eq!(machine.course(), Some(Course::Ahead));
    (machine, requests)
}

#[test]
fn what_is_read_ahead_ends_with_the_launch() {
    let (mut machine, _) = ahead();
    assert!(machine.look_ns.is_some());
    assert_eq!(ends(&machine.end()), ["launch_ended"]);
    assert_eq!(machine.look_ns, None);
    let (mut machine, _) = ahead();
    assert_eq!(ends(&machine.call(vec![EventKind::AppGone { group: GROUP.to_owned() }])), ["app_ended"]);
    let (mut machine, requests) = ahead();
    machine.performed(&requests, 0);
    assert_eq!(ends(&machine.end()), [""; 0], "it was read before");
}

#[test]
fn reading_ahead_ends_when_memory_is_short_or_the_app_diverges() {
    let (mut machine, _) = ahead();
    assert_eq!(ends(&machine.call(Vec::new())), [""; 0]);
    machine.available_bytes = 90 * MIB;
    assert_eq!(ends(&machine.call(Vec::new())), ["memory_is_short"]);
    assert_eq!(ends(&machine.call(Vec::new())), [""; 0], "once");
    let (mut machine, _) = ahead();
    machine.read_bytes = 13 * MIB;
    assert_eq!(ends(&machine.call(Vec::new())), ["launch_diverges"]);
}

#[test]
fn windows_follow_each_other() {
    let mut machine = Machine::new();
    machine.config.window_mib = 4;
    machine.launch(100_000, 200_000);
    let mut requests = machine.begin();
    let mut sizes = Vec::new();
    while prefetched_bytes(&requests) > 0 {
        sizes.push(prefetched_bytes(&requests));
        assert_eq!(prefetched_bytes(&machine.call(Vec::new())), 0, "one after the other");
        requests = machine.performed(&requests, 0);
    }
    assert!(sizes.len() == 3 && sizes.iter().all(|bytes| *bytes <= 4 * MIB), "{sizes:?}");
    assert_eq!(sizes.iter().sum::<u64>(), 3_000 * 4096);
}

#[test]
fn what_was_refused_is_not_tried_again_in_this_launch() {
    let (mut machine, requests) = ahead();
    let Action::Once(once) = requests[0].action.clone() else { panic!("{requests:?}") };
    let later = machine.call(vec![EventKind::Performed { once, outcome: Outcome::Refused { why: "EIO".to_owned() } }]);
    assert!(later.is_empty() && machine.look_ns.is_none());
    machine.end();
    assert_eq!(machine.state.learned.app("reader").map(|app| app.tally.asked_bytes), Some(0));
}

#[test]
fn a_forgotten_app_is_not_read_ahead() {
    let (mut machine, _) = ahead();
    let forget = |machine: &mut Machine, app: Option<&str>| {
        Prefetch::forgotten(&mut machine.state, app);
        machine.state.learned.forget(app)
    };
    assert!(forget(&mut machine, Some("reader")) && !forget(&mut machine, Some("reader")));
    machine.end();
    machine.begin();
    assert_eq!(machine.course(), Some(Course::Exact));
    assert!(forget(&mut machine, None));
}

/// What may happen, in any order.
fn any_step() -> impl Strategy<Value = (u8, u64)> {
    (0..9_u8, prop::sample::select(&[0, 1, 40, 90, 500, 5_000][..]))
}

fn do_step(machine: &mut Machine, open: &mut Vec<Request>, (kind, number): (u8, u64)) {
    let group = || GROUP.to_owned();
    let requests = match kind {
        0 => machine.begin(),
        1 => machine.end(),
        2 => machine.call(vec![EventKind::AppGone { group: group() }]),
        3 => machine.performed(&std::mem::take(open), number * MIB),
        4 => {
            machine.read_bytes = number * MIB;
            machine.call(Vec::new())
        }
        5 => {
            machine.available_bytes = number * MIB;
            machine.call(Vec::new())
        }
        6 => {
            machine.wall_unix_ms = machine.wall_unix_ms.wrapping_sub(number * 86_400_000);
            machine.call(Vec::new())
        }
        7 => {
            machine.now_ns += number * 1_000 * MS_NS;
            machine.call(Vec::new())
        }
        _ => {
            machine.used.files[0].version.changed_ns += 1;
            machine.call(vec![EventKind::LaunchUsed { group: group(), files: machine.used.clone() }])
        }
    };
    open.extend(requests);
}

proptest! {
    #[test]
    fn the_same_inputs_give_the_same_decision(steps in prop::collection::vec(any_step(), 0..40)) {
        let mut machine = Machine::new();
        let mut open = Vec::new();
        steps.into_iter().for_each(|step| do_step(&mut machine, &mut open, step));
        let (mut state, mut previous) = (State::default(), None);
        for (now, events, requests) in &machine.calls {
            let apps = Machine::apps("reader");
            let observed = Observed { previous, now, events, devices: &machine.devices, apps: &apps };
            let decision = Prefetch::decide(&machine.config, state, &observed);
            prop_assert_eq!(&decision.requests, requests);
            // A state that was written and read decides alike.
            let text = serde_json::to_string(&decision.state).expect("JSON");
            state = serde_json::from_str(&text).expect("the same");
            previous = Some(now);
        }
        prop_assert_eq!(state, machine.state);
    }

    #[test]
    fn nothing_of_a_launch_lasts(steps in prop::collection::vec(any_step(), 0..40)) {
        let mut machine = Machine::new();
        let mut open = Vec::new();
        steps.into_iter().for_each(|step| do_step(&mut machine, &mut open, step));
        machine.call(vec![EventKind::AppGone { group: GROUP.to_owned() }]);
        prop_assert_eq!(machine.call(Vec::new()), []);
        prop_assert!(machine.state.launches.is_empty() && machine.state.reads.is_empty());
        prop_assert_eq!(machine.look_ns, None);
    }
}

/// Invalid or extreme values in place of a number.
const NUMBERS: [&str; 8] = ["0", "-1", "1e308", "4294967295", "18446744073709551615", "null", "[]", ""];

proptest! {
    #[test]
    fn a_damaged_file_of_what_was_learned_is_refused_or_used(
        place in 0..400_usize,
        number in prop::sample::select(&NUMBERS[..]),
        cut in 0..4_000_usize,
    ) {
        let mut machine = Machine::new();
        (0..4).for_each(|_| { machine.launch(100_000, 300_000); });
        let mut text = serde_json::to_string(&machine.state.learned).expect("JSON");
        let begins: Vec<usize> = (1..text.len())
            .filter(|&at| text.as_bytes()[at].is_ascii_digit() && !text.as_bytes()[at - 1].is_ascii_digit())
            .collect();
        let begin = begins[place % begins.len()];
        let length = text[begin..].bytes().take_while(u8::is_ascii_digit).count();
        text.replace_range(begin..begin + length, number);
        if cut < text.len() / 2 {
            text.truncate(cut);
        }
        if let Ok(learned) = serde_json::from_str::<Learned>(&text) {
            let mut machine = Machine { state: Prefetch::begin(&Config::default(), learned), ..Machine::new() };
            (0..4).for_each(|_| { machine.launch(100_000, 300_000); });
            assert!(survey::launches(&machine.config, &machine.state).len() <= 2);
        }
    }
}

#[test]
fn launches_without_end_give_up_the_first_of_the_same_user() {
    let mut machine = Machine::new();
    for nth in 0..40 {
        machine.now_ns += MS_NS;
        let group = format!("app-x-{nth}.scope");
        let at_ns = machine.now_ns;
        let user = Some(if nth == 0 { 1000 } else { 65534 });
        let app = App { group: group.clone(), user, ..Machine::apps("reader").remove(0) };
        let events = [Event { at_ns, kind: EventKind::LaunchBegan { group } }];
        let now = machine.snapshot();
        let (devices, apps) = (&machine.devices, &[app]);
        let observed = Observed { previous: None, now: &now, events: &events, devices, apps };
        machine.state = Prefetch::decide(&machine.config, machine.state.clone(), &observed).state;
    }
    let kept: Vec<&String> = machine.state.launches.keys().collect();
    assert_eq!((kept.len(), kept[0].as_str(), kept[1].as_str()), (16, "app-x-0.scope", "app-x-25.scope"));
}
