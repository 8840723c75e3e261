//! Apps that stay on a phone with little memory: evicted, filled, ended, and gone back to, under each kind of policy.

use crate::phone_bench;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use brisk_api::Client;
use brisk_daemon::daemon::Options;
use brisk_lab::launch::{Launcher, Settings};
use brisk_lab::memory::day::{OnGround, Plan, PlannedVisit, replay};
use brisk_lab::memory::{Brisk, Engine, Ground, Policy, Programs};
use brisk_lab::phone::{App, MemorySpec, NewPhone, Phone, Phones, SwapKind, WindowMark, make_image};
use brisk_lab::results::{AppState, AppVisit, DayState, DaySwitch, EndedApp, EndedBy, Ending};
use brisk_lab::screen::{VirtualX, X11};
use brisk_requires::{Capability, available};
use brisk_sense::Sense;
use phone_bench::{Bench, copy_with_libraries};
use serde_json::Value;

const MIB: u64 = 1 << 20;
const LIMIT_BYTES: u64 = 128 * MIB;

/// An app under a name that has a known key; it holds `hold` and uses `answer` of it, both in MB, for an answer.
fn app(name: &str, hold: u32, answer: u32) -> App {
    let words = ["/specimen".to_owned(), format!("hold={hold}"), "window".into(), "draw".into()];
    App {
        name: name.to_owned(),
        group: "test".to_owned(),
        packages: Vec::new(),
        prepare: Vec::new(),
        command: words.into_iter().chain([format!("answer-keys-using={answer}")]).collect(),
        env: BTreeMap::new(),
        window: WindowMark { class: String::new(), title: String::new() },
        quit: "ctrl+q".to_owned(),
        reads_mb: 1,
        animates: false,
    }
}

struct Bed {
    bench: Bench,
    phone: Phone,
    server: VirtualX,
    _one: std::sync::MutexGuard<'static, ()>,
}

impl Bed {
    fn make(swap: SwapKind) -> Option<Self> {
        available(&[Capability::MemoryV1, Capability::Zram, Capability::Program("Xvfb")])?;
        let one = crate::swap_areas::one_at_a_time();
        let mut bench = Bench::new()?;
        let tests = std::env::current_exe().expect("this program");
        let specimen = tests.ancestors().nth(2).expect("a target directory").join("examples/specimen");
        let tree = bench.lab.dir().join("tree");
        copy_with_libraries(&tree, &specimen);
        symlink(&specimen, tree.join("specimen")).expect("cargo builds the examples with the tests");
        bench.image = bench.lab.dir().join("image-with-apps");
        make_image(&tree, 128 * MIB, &bench.image).expect("an image");
        let spec = MemorySpec { limit_bytes: LIMIT_BYTES, swap, swap_bytes: 256 * MIB };
        let new = NewPhone { size_bytes: 768 * MIB, memory: Some(spec), ..bench.new_phone(false) };
        let never = AtomicBool::new(false);
        let phone = Phones::new(bench.lab.dir()).up(&new, &never, &mut |_: &str| {}).expect("a phone").0;
        Some(Self { bench, phone, server: VirtualX::start((640, 480), 24).expect("Xvfb starts"), _one: one })
    }

    /// Runs `test` on the ground, and checks that nothing is left of it.
    fn with(mut self, test: impl FnOnce(&mut Ground<'_>)) {
        let sense = Sense::default();
        let stop = AtomicBool::new(false);
        let mut screen = X11::connect(Some(self.server.display())).expect("a display");
        let launcher = Launcher { sense: &sense, settings: Settings::default(), stop: &stop };
        let balloon = [env!("CARGO_BIN_EXE_brisk-lab"), "lab", "phone", "fill"].map(Into::into).to_vec();
        let paths = brisk_act::Paths::with_run_dir(self.bench.lab.dir().to_owned());
        let before = sense.sysctl("vm.page-cluster").expect("readable");
        {
            let programs = Programs { balloon, paths, engine: Some(engine(&self.phone)) };
            let mut ground = Ground::new(&mut self.phone, launcher, &mut screen, programs).expect("a ground");
            test(&mut ground);
        }
        assert_eq!(sense.sysctl("vm.page-cluster").expect("readable"), before, "the setting is restored");
        let group = self.phone.memory_group().expect("limited");
        self.phone.down(true).expect("down");
        assert_eq!(sense.swaps().expect("readable"), Vec::new(), "swap is off");
        assert!(!group.dir().exists());
        self.bench.nothing_is_left();
    }
}

/// The daemon with its memory engine for `phone`.
fn engine(phone: &Phone) -> Engine {
    let tests = std::env::current_exe().expect("this program");
    let program = tests.ancestors().nth(2).expect("a target directory").join("examples/briskd");
    let config = phone.state_dir().join("engine.toml");
    let (run_dir, group) = (phone.daemon_dir(), phone.memory_group().expect("limited"));
    let learned = phone.state_dir().join("learned");
    let arguments: [&Path; 10] = [
        "--config".as_ref(),
        &config,
        "--run-dir".as_ref(),
        &run_dir,
        "--profiles".as_ref(),
        "/nonexistent".as_ref(),
        "--learned".as_ref(),
        &learned,
        "--memory-group".as_ref(),
        group.dir(),
    ];
    let text = "[daemon]\ndevices = []\n[engines]\norder = [\"iram\"]\ntrial = false\n";
    Engine {
        command: std::iter::once(program.as_path()).chain(arguments).map(|word| word.as_os_str().to_owned()).collect(),
        files: vec![(Brisk::Iram, config, text.to_owned())],
        forgotten: Vec::new(),
        socket: Options::socket(&run_dir),
        tell_front: |socket, group| {
            let named: Vec<_> = group.map(|group| ("group", group.into())).into_iter().collect();
            let told = Client::connect(socket).and_then(|mut daemon| daemon.answer("SetFront", &named));
            told.map(|_| ()).map_err(|error| error.to_string())
        },
    }
}

fn policy(name: &str) -> &'static Policy {
    Policy::named(name).expect("there is one")
}

fn answered(visit: &AppVisit) {
    assert_eq!(visit.run.ending, Ending::Settled, "{visit:?}");
}

#[test]
fn an_evicted_app_comes_back_from_the_flash_and_the_one_in_front_makes_room() {
    let Some(bed) = Bed::make(SwapKind::Flash) else { return };
    bed.with(|ground| {
        ground.apply(policy("default")).expect("applied");
        let (reader, player) = (app("evince", 30, 10), app("mpv", 20, 2));
        assert!(ground.launch(&reader).expect("launched") && ground.launch(&player).expect("launched"));
        ground.evict_all().expect("evicted");
        let held = ground.fill(4 * MIB).expect("filled");
        assert!(held > 64 * MIB, "{held} of {LIMIT_BYTES}: the apps are in swap");
        let census = ground.census("evince").expect("readable").expect("it runs");
        assert!(census.swapped_bytes > 30 * MIB && census.anonymous_bytes < MIB, "{census:?}");
        let visit = ground.go_to(&reader, 0).expect("visited");
        answered(&visit);
        assert_eq!((visit.run.state, visit.ended.as_slice()), (AppState::Swapped, &[][..]));
        // What it read may have been reclaimed again before it was counted, and the kernel reads some of it ahead:
        // memory is full.
        let swap_in = visit.run.storage.as_ref().map(|storage| storage.swap_in.bytes);
        assert!(swap_in.is_none_or(|bytes| bytes >= 2 * MIB) && visit.flash_read_bytes >= 5 * MIB, "{visit:?}");
        assert!(visit.flash_busy_ms > 0.0, "{visit:?}");
        ground.leave("evince").expect("left");
        ground.empty();
        let again = ground.go_to(&reader, 1).expect("visited");
        answered(&again);
        let third = ground.go_to(&reader, 2).expect("visited");
        answered(&third);
        assert!(third.run.touched.expect("it ran before").swapped_bytes < MIB, "it is in memory: {third:?}");
    });
}

#[test]
fn policies_change_areas_and_settings_and_apps_stay() {
    let Some(bed) = Bed::make(SwapKind::Flash) else { return };
    bed.with(|ground| {
        let sense = Sense::default();
        let areas = || sense.swaps().expect("readable").into_iter().map(|area| area.path).collect::<Vec<PathBuf>>();
        let cluster = || sense.sysctl("vm.page-cluster").expect("readable");
        let reader = app("evince", 30, 5);
        ground.apply(policy("page-cluster-0")).expect("applied");
        assert_eq!(cluster().as_deref(), Some("0"));
        assert!(ground.launch(&reader).expect("launched"));
        ground.evict_all().expect("evicted");
        ground.apply(policy("zram")).expect("applied");
        assert_ne!(cluster().as_deref(), Some("0"), "it is of the other policy");
        let [area] = &areas()[..] else { panic!("one area: {:?}", areas()) };
        assert!(area.starts_with("/dev/"), "{}", area.display());
        assert_eq!(ground.running(), ["evince"], "it was read back from the flash");
        ground.evict_all().expect("evicted");
        let limit_bytes = ground.limit_bytes().expect("readable");
        assert!(limit_bytes < LIMIT_BYTES, "compressed memory is deducted");
        let visit = ground.go_to(&reader, 0).expect("visited");
        answered(&visit);
        assert_eq!(visit.run.state, AppState::Swapped);
        ground.leave("evince").expect("left");
        ground.apply(policy("none")).expect("applied");
        assert_eq!((areas(), ground.running()), (Vec::new(), Vec::new()));
        assert_eq!(ground.limit_bytes().expect("readable"), LIMIT_BYTES);
    });
}

#[test]
fn without_swap_the_app_that_was_in_front_longest_ago_is_ended_and_launched_again() {
    let Some(bed) = Bed::make(SwapKind::None) else { return };
    bed.with(|ground| {
        ground.apply(policy("none")).expect("applied");
        let apps = [app("evince", 40, 1), app("mpv", 40, 1), app("gimp", 60, 1)];
        let mut visits: Vec<AppVisit> = Vec::new();
        for app in apps.iter().chain(&apps[..1]) {
            visits.push(ground.go_to(app, 0).expect("visited"));
            ground.leave(&app.name).expect("left");
        }
        visits.iter().for_each(answered);
        assert!(visits.iter().all(|visit| visit.run.state == AppState::Killed), "{visits:?}");
        // 40 + 40 + 60 MB do not fit with 128 MiB, of which a tenth stays available: the first made room for the third.
        let ended =
            |visit: &AppVisit, app: &str| visit.ended.contains(&EndedApp { app: app.to_owned(), by: EndedBy::Oldest });
        assert!(visits[1].ended.is_empty() && ended(&visits[2], "evince"), "{visits:?}");
        assert!(ended(&visits[2], "mpv") || ended(&visits[3], "mpv"), "{visits:?}");
        assert!(ground.running().contains(&"evince".to_owned()), "it was launched again");
    });
}

#[test]
fn with_less_memory_apps_stay_where_they_have_a_place() {
    let Some(bed) = Bed::make(SwapKind::Flash) else { return };
    bed.with(|ground| {
        let reader = app("evince", 50, 2);
        ground.apply(policy("default")).expect("applied");
        assert!(ground.launch(&reader).expect("launched"));
        ground.apply_within(policy("default"), 64 * MIB).expect("applied");
        assert_eq!(ground.limit_bytes().expect("readable"), 64 * MIB);
        assert_eq!(ground.running(), ["evince"], "it is in swap as far as it has no room");
        answered(&ground.go_to(&reader, 0).expect("visited"));
        ground.leave("evince").expect("left");
        // Device time, swap areas and limit change at once, and back.
        ground.apply_within(policy("zram"), LIMIT_BYTES).expect("applied");
        assert_eq!(ground.running(), ["evince"]);
        ground.apply_within(policy("none"), LIMIT_BYTES).expect("applied");
        answered(&ground.go_to(&app("mpv", 60, 1), 0).expect("visited"));
        ground.leave("mpv").expect("left");
        ground.apply_within(policy("none"), 64 * MIB).expect("applied: what does not fit is ended first");
        assert_eq!((ground.running(), ground.limit_bytes().expect("readable")), (Vec::new(), 64 * MIB));
        assert!(ground.apply_within(policy("none"), MIB).is_err(), "no app starts with that");
        assert_eq!(ground.limit_bytes().expect("readable"), 64 * MIB);
    });
}

#[test]
fn apps_that_run_in_the_background_stand_still_from_their_eviction_to_the_next_return() {
    let Some(bed) = Bed::make(SwapKind::Flash) else { return };
    bed.with(|ground| {
        ground.apply(policy("unfrozen")).expect("applied");
        let (waits, other) = (app("evince", 20, 1), app("mpv", 10, 1));
        assert!(ground.launch(&waits).expect("launched") && ground.launch(&other).expect("launched"));
        let sense = Sense::default();
        let all = ground.phone().memory_group().expect("limited").processes_by_child().expect("readable");
        let (pid, _) = all.into_iter().find(|(_, name)| name == "evince").expect("it runs");
        let groups = sense.process_cgroups(pid).expect("readable").expect("it runs");
        let of_v2 = groups.into_iter().find(|group| group.hierarchy == 0).expect("it has a scope");
        let mount = sense.cgroups().expect("Linux").v2.expect("mounted").mount_point;
        let events = mount.join(of_v2.path.strip_prefix("/").expect("absolute")).join("cgroup.events");
        let is_frozen = || fs::read_to_string(&events).expect("readable").contains("frozen 1");
        assert!(!is_frozen(), "the policy lets it run");
        ground.evict_all().expect("evicted");
        assert!(is_frozen(), "or it would read its pages back before the return, in no time");
        answered(&ground.go_to(&other, 0).expect("visited"));
        assert!(!is_frozen(), "it runs in the background again");
    });
}

#[test]
fn an_app_that_ends_by_itself_is_no_kill() {
    let Some(bed) = Bed::make(SwapKind::Flash) else { return };
    bed.with(|ground| {
        ground.apply(policy("unfrozen")).expect("applied");
        let (crashes, other) = (app("evince", 10, 1), app("mpv", 10, 1));
        assert!(ground.launch(&crashes).expect("launched"));
        let group = ground.phone().memory_group().expect("limited");
        let pids = || -> Vec<u32> {
            let all = group.processes_by_child().expect("readable");
            all.into_iter().filter(|(_, name)| name == "evince").map(|(pid, _)| pid).collect()
        };
        let found = pids();
        assert!(!found.is_empty());
        for pid in found {
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
            let held = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).expect("it runs");
            rustix::process::pidfd_send_signal(&held, rustix::process::Signal::KILL).expect("signalled");
            let ended = rustix::event::PollFd::new(&held, rustix::event::PollFlags::IN);
            let limit = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
            assert_eq!(rustix::event::poll(&mut [ended], Some(&limit)), Ok(1), "it ends");
        }
        let visit = ground.go_to(&other, 0).expect("visited");
        assert_eq!(visit.ended, [EndedApp { app: "evince".to_owned(), by: EndedBy::Itself }]);
        assert_eq!(ground.running(), ["mpv"]);
    });
}

#[test]
fn earlyoom_sees_the_phone_alone_and_is_named_for_what_it_ends() {
    if available(&[Capability::Program("earlyoom"), Capability::Program("unshare")]).is_none() {
        return;
    }
    let Some(bed) = Bed::make(SwapKind::None) else { return };
    bed.with(|ground| {
        ground.apply(policy("earlyoom")).expect("applied");
        let (large, small) = (app("evince", 75, 1), app("mpv", 50, 1));
        answered(&ground.go_to(&large, 0).expect("visited"));
        ground.leave("evince").expect("left");
        let visit = ground.go_to(&small, 0).expect("visited");
        answered(&visit);
        assert_eq!(visit.ended, [EndedApp { app: "evince".to_owned(), by: EndedBy::Earlyoom }]);
        assert_eq!(ground.running(), ["mpv"]);
    });
}

/// A day of these visits, a second each.
fn day_of(apps: &[&App]) -> Plan {
    let visit = |(n, app): (usize, &&App)| PlannedVisit {
        trace_ms: 10_000 * n as u64,
        app: app.name.clone(),
        trace_dwell_ms: 10_000,
        dwell_ms: 1_000,
    };
    Plan {
        user: "u".to_owned(),
        apps: Vec::new(),
        visits: apps.iter().enumerate().map(visit).collect(),
        span_ms: 0,
        dropped_sessions: 0,
        dropped_apps: 0,
        lengthened: 0,
        shortened: 0,
        history: Vec::new(),
    }
}

#[test]
fn a_day_begins_anew_under_each_policy_and_its_apps_are_swapped_or_ended() {
    let Some(bed) = Bed::make(SwapKind::Flash) else { return };
    bed.with(|ground| {
        let apps = ["evince", "mpv", "gimp"].map(|name| &*Box::leak(Box::new(app(name, 50, 5))));
        let plan = day_of(&[apps, apps].concat());
        let never = AtomicBool::new(false);
        let mut day = |policy: &'static Policy| -> Vec<DaySwitch> {
            let mut visitor = OnGround::begin(ground, policy, &apps).expect("begun");
            assert_eq!(visitor.ground().running(), Vec::<String>::new());
            let switches = replay(&plan, &mut visitor, &never, &mut |_, _| ()).expect("replayed");
            assert!(visitor.cpu() > std::time::Duration::ZERO, "{switches:?}");
            switches
        };
        let states = |day: &[DaySwitch]| day.iter().map(|switch| switch.state).collect::<Vec<_>>();
        let ended = |day: &[DaySwitch]| day.iter().map(|switch| switch.ended.len()).sum::<usize>();
        // 150 MB do not fit with 128 MiB.
        let swapped = day(policy("default"));
        assert_eq!(states(&swapped)[..3], [DayState::First; 3], "{swapped:?}");
        assert!(states(&swapped)[3..].contains(&DayState::Swapped) && ended(&swapped) == 0, "{swapped:?}");
        let bytes = |of: fn(&DaySwitch) -> u64| swapped.iter().map(of).sum::<u64>();
        let out_bytes = bytes(|switch| switch.swap_out_bytes);
        let written_bytes = bytes(|switch| switch.waiting.written_bytes + switch.dwelling.written_bytes);
        // What is still under way at the end is not in the flash's count.
        assert!(out_bytes > 20 * MIB && written_bytes > out_bytes / 2, "{out_bytes} {written_bytes}");
        let memory: Vec<&str> = swapped[0].memory.iter().map(|memory| memory.app.as_str()).collect();
        assert_eq!(memory, ["evince"]);
        let ending = day(policy("none"));
        assert_eq!(states(&ending)[..3], [DayState::First; 3], "nothing of the day before runs: {ending:?}");
        assert!(states(&ending)[3..].contains(&DayState::Killed) && ended(&ending) > 0, "{ending:?}");
        assert!(ending.iter().all(|switch| switch.swap_in_bytes == 0 && switch.swap_out_bytes == 0), "{ending:?}");
    });
}

#[test]
fn the_memory_engine_hears_what_is_in_front_and_ends_nothing_that_fits() {
    let Some(bed) = Bed::make(SwapKind::None) else { return };
    let learned = bed.phone.state_dir().join("learned/iram/learned.json");
    bed.with(|ground| {
        // 105 MB and what shows them fit into 128 MiB.
        let apps = ["evince", "mpv", "gimp"].map(|name| &*Box::leak(Box::new(app(name, 35, 5))));
        let plan = day_of(&[apps, apps].concat());
        let mut visitor = OnGround::begin(ground, policy("iram-none"), &apps).expect("begun");
        let day = replay(&plan, &mut visitor, &AtomicBool::new(false), &mut |_, _| ()).expect("replayed");
        assert!(day.iter().all(|switch| switch.ended.is_empty() && switch.failure.is_none()), "{day:?}");
        assert!(day[3..].iter().all(|switch| switch.state == DayState::Hot), "{day:?}");
        assert!(day.iter().all(|switch| switch.available_bytes.is_some_and(|bytes| bytes <= LIMIT_BYTES)), "{day:?}");
        // The daemon ends with its policy, and keeps what it has learned.
        ground.apply(policy("none")).expect("applied");
        let kept: Value = serde_json::from_str(&fs::read_to_string(&learned).expect("kept")).expect("JSON");
        let names: Vec<&str> =
            kept["predictor"]["names"].as_array().expect("apps").iter().filter_map(Value::as_str).collect();
        assert_eq!(names, ["evince", "mpv", "gimp"]);
        let uses: Vec<u64> =
            kept["predictor"]["uses"].as_array().expect("uses").iter().filter_map(Value::as_u64).collect();
        assert_eq!(uses, [2, 2, 2], "each launch and each return");
    });
}
