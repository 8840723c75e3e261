//! Real launches of an app with scripted behaviour, on a virtual screen.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brisk_lab::launch::over::Limits;
use brisk_lab::launch::{App, Error, Launched, Launcher, Settings, Start, scope, script};
use brisk_lab::results::{Cause, Ending, SplitMethod, Stage};
use brisk_lab::screen::{VirtualX, X11};
use brisk_requires::{Capability, available, requires, skip};
use brisk_sense::Sense;

const S: u64 = 1_000_000_000;
/// Questions to the server of [`a_delay_of_the_network_is_the_networks`].
const EXCHANGES: usize = 20;

fn specimen(actions: &[&str]) -> Vec<OsString> {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/specimen");
    std::iter::once(program.into_os_string()).chain(actions.iter().map(OsString::from)).collect()
}

/// A virtual screen to launch on.
struct Bed {
    server: VirtualX,
    screen: X11,
    sense: Sense,
    stop: AtomicBool,
}

impl Bed {
    fn make() -> Option<Self> {
        let sense = Sense::default();
        available(&[Capability::Groups, Capability::Program("Xvfb")])?;
        let server = VirtualX::start((640, 480), 24).unwrap();
        let screen = X11::connect(Some(server.display())).unwrap();
        Some(Self { server, screen, sense, stop: AtomicBool::new(false) })
    }

    fn app(&self, actions: &[&str]) -> App {
        let app = App::from_command(specimen(actions));
        App { env: vec![("DISPLAY".into(), self.server.display().into())], ..app }
    }

    fn launch_with(
        &mut self,
        settings: Settings,
        actions: &[&str],
        start: Start<'_>,
    ) -> brisk_lab::launch::Result<Launched> {
        let app = self.app(actions);
        let launcher = Launcher { sense: &self.sense, settings, stop: &self.stop };
        launcher.launch(&app, Some(&mut self.screen), start)
    }

    fn launch(&mut self, actions: &[&str]) -> Launched {
        self.launch_with(Settings::default(), actions, Start::AsItIs).unwrap()
    }
}

/// No control group of this process is left.
fn nothing_is_left() {
    let own = format!("-{:08x}", std::process::id());
    let root = Sense::default().cgroups().unwrap().v2.unwrap().mount_point;
    let left: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        // Other tests of this program run at the same time, with apps of other names.
        .filter(|name| name.contains(&own) && name.contains("left"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

/// Whether the split comes from eBPF; without it only the coarse parts can be checked.
fn has_bpf(launched: &Launched) -> bool {
    let found = launched.run.stages.iter().filter_map(|time| time.split.as_ref());
    let bpf = found.clone().count() > 0 && found.clone().all(|split| split.method == SplitMethod::Bpf);
    if !bpf {
        skip(Capability::Bpf, format!("{:?}", launched.warnings));
    }
    bpf
}

/// What the app said with `clock=NAME`, in ms of the clock that starts no earlier than the launch.
fn clock_ms(launched: &Launched, name: &str) -> f64 {
    let ns = |at: &str| {
        launched.output.lines().find_map(|line| line.strip_prefix(at)?.strip_prefix('=')?.parse::<u64>().ok())
    };
    (ns(name).unwrap() - ns("begin").unwrap()) as f64 / 1e6
}

#[test]
fn a_window_is_settled_at_its_last_drawing_whatever_its_caret_does() {
    let Some(mut bed) = Bed::make() else { return };
    let actions =
        ["clock=begin", "window", "draw", "wait=400", "clock=last", "draw", "wait=300", "clock=caret", "caret=500"];
    let launched = bed.launch(&actions);
    let run = &launched.run;
    assert_eq!(run.ending, Ending::Settled, "{run:?}");
    let [window, settled] = [Stage::FirstWindow, Stage::Settled].map(|stage| run.at_ms(stage).unwrap());
    // Order alone: the launch begins before the app's clock, and a change is seen after it is drawn.
    let (last, caret) = (clock_ms(&launched, "last"), clock_ms(&launched, "caret"));
    assert!(window < settled && last <= settled, "settled at {settled} ms, last drawing at {last} ms: {run:?}");
    // One-sided: the drawing is seen before the caret's third blink, which comes 1.3 s later.
    assert!(settled < caret + 1000.0, "settled at {settled} ms, caret at {caret} ms: {run:?}");
    for time in &run.stages {
        let split = time.split.as_ref().unwrap();
        let sum: f64 = split.parts.iter().map(|part| part.time_ms).sum();
        assert!((sum - time.at_ms).abs() < 0.01 * time.at_ms.max(1.0), "{sum} of {}", time.at_ms);
    }
}

#[test]
fn a_delay_of_the_network_is_the_networks() {
    let Some(mut bed) = Bed::make() else { return };
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let ask = format!("ask={address}");
    let answering = std::thread::spawn(move || {
        let answer = || {
            let (mut client, _) = server.accept().unwrap();
            client.read_exact(&mut [0]).ok()?;
            let asked = Instant::now();
            // What is measured is this delay; nothing waits for it to be over.
            std::thread::sleep(Duration::from_millis(20));
            client.write_all(b"!").unwrap();
            Some(asked.elapsed())
        };
        std::iter::from_fn(answer).sum::<Duration>().as_secs_f64() * 1e3
    });
    let before = ["clock=begin", "wait=400", "window", "draw", "clock=asked"];
    let asks = [ask.as_str()].repeat(EXCHANGES);
    let launched = bed.launch(&[&before[..], &asks, &["clock=answered", "draw", "stay"]].concat());
    // A client that asks nothing ends the server.
    drop(std::net::TcpStream::connect(address).unwrap());
    let delay = answering.join().unwrap();
    let run = &launched.run;
    assert_eq!(run.ending, Ending::Settled, "{run:?}");
    if !has_bpf(&launched) {
        return;
    }
    let split = run.split(Stage::Settled).unwrap();
    let network = split.time_ms(Cause::Network).unwrap();
    // A share of recorded events: one that a virtual machine hides (CONTRIBUTING.md) makes one exchange of twenty
    // wrong, and waits for a processor belong to no exchange. The 400 ms of sleep before them would be as much again.
    let exchanges = clock_ms(&launched, "answered") - clock_ms(&launched, "asked");
    assert!(network > 0.5 * delay && network < 1.4 * exchanges, "of {delay} to {exchanges} ms: {split:?}");
}

#[test]
fn a_cold_launch_reads_what_was_evicted() {
    let Some(mut bed) = Bed::make() else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let file = dir.path().join("data");
    std::fs::write(&file, vec![3; 8 << 20]).unwrap();
    let read = format!("read={}", file.display());
    let files = BTreeSet::from([file.clone()]);
    let launched =
        bed.launch_with(Settings::default(), &[&read, "window", "draw", "stay"], Start::Without(&files)).unwrap();
    let cold = launched.run.cold.as_ref().unwrap();
    assert_eq!((cold.files, cold.cached_after_bytes), (1, 0), "{cold:?}");
    if !has_bpf(&launched) {
        return;
    }
    let storage = launched.run.storage.as_ref().unwrap();
    let found =
        storage.files.iter().find(|read| Path::new(&read.path) == file).unwrap_or_else(|| panic!("{storage:?}"));
    assert_eq!(found.bytes, 8 << 20);
    assert!(storage.in_flight_ms > 0.0);
    let split = launched.run.split(Stage::Settled).unwrap();
    assert!(split.time_ms(Cause::StorageRead).unwrap() > 0.0, "{split:?}");
    let in_order: u64 = launched.reads.iter().filter(|step| step.path == file).map(|step| step.bytes).sum();
    assert_eq!(in_order, 8 << 20);
}

#[test]
fn what_an_app_opens_is_learned() {
    requires!(Fanotify);
    let Some(mut bed) = Bed::make() else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let (file, other) = (dir.path().join("opened"), dir.path().join("not opened"));
    std::fs::write(&file, b"x").unwrap();
    std::fs::write(&other, b"x").unwrap();
    let app = bed.app(&[&format!("read={}", file.display()), "window", "draw", "stay"]);
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let (launched, files) = launcher.learn(&app, Some(&mut bed.screen)).unwrap();
    // Opened by another process meanwhile, and not by the app.
    std::fs::read(&other).unwrap();
    assert!(launched.warnings.iter().all(|warning| warning.code != "opens_unknown"), "{:?}", launched.warnings);
    assert!(files.contains(&file), "{files:?}");
    assert!(!files.contains(&other));
    assert!(files.iter().any(|file| file.to_string_lossy().contains("libc")), "{files:?}");
}

#[test]
fn each_way_to_end_is_told_apart() {
    let Some(mut bed) = Bed::make() else { return };
    // Only what never comes is limited tightly: a busy machine makes the rest late.
    let long = Limits { window_ns: 60 * S, unsettled_ns: 60 * S, total_ns: 120 * S, ..Limits::default() };
    for (actions, limits, ending) in [
        (&["say=no", "exit=3"][..], long, Ending::Exited { code: Some(3), signal: None }),
        (&["abort"], long, Ending::Exited { code: None, signal: Some(libc::SIGABRT) }),
        (&["stay"], Limits { window_ns: S, ..long }, Ending::NoWindow),
        (&["leave", "window", "draw", "stay"], long, Ending::Settled),
        (&["window", "animate=60000"], Limits { unsettled_ns: 2 * S, ..long }, Ending::Animating),
    ] {
        let settings = Settings { limits, ..Settings::default() };
        let launched = bed.launch_with(settings, actions, Start::AsItIs).unwrap();
        assert_eq!(launched.run.ending, ending, "{actions:?}: {:?}", launched.run);
        if actions[0] == "say=no" {
            assert_eq!(launched.output, "no\n");
        }
    }
}

#[test]
fn an_app_that_left_its_parent_is_ended_too() {
    let Some(mut bed) = Bed::make() else { return };
    let app = App { id: "left".to_owned(), ..bed.app(&["leave", "window", "draw", "stay"]) };
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    launcher.launch(&app, Some(&mut bed.screen), Start::AsItIs).unwrap();
    nothing_is_left();
}

#[test]
fn a_display_that_goes_away_is_told_and_the_app_is_ended() {
    let Some(mut bed) = Bed::make() else { return };
    let server = rustix::process::Pid::from_raw(bed.server.pid().cast_signed()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ask = format!("ask={}", listener.local_addr().unwrap());
    // The app asks when its window is there; that is when the server is killed.
    let killer = std::thread::spawn(move || {
        let _client = listener.accept().unwrap();
        rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    });
    let app = App { id: "left-alone".to_owned(), ..bed.app(&["window", "draw", &ask, "stay"]) };
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let launched = launcher.launch(&app, Some(&mut bed.screen), Start::AsItIs).unwrap();
    killer.join().unwrap();
    assert_eq!(launched.run.ending, Ending::DisplayLost);
    nothing_is_left();
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let Some(mut bed) = Bed::make() else { return };
    let app = App::from_command(vec!["brisk-no-such-program".into()]);
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let error = launcher.launch(&app, Some(&mut bed.screen), Start::AsItIs).unwrap_err();
    assert!(matches!(&error, Error::Program { program, .. } if program == "brisk-no-such-program"), "{error}");
}

#[test]
fn stopping_ends_the_app() {
    let Some(mut bed) = Bed::make() else { return };
    bed.stop.store(true, Ordering::Relaxed);
    let app = App { id: "left-stopped".to_owned(), ..bed.app(&["window", "draw", "stay"]) };
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    assert!(matches!(launcher.launch(&app, Some(&mut bed.screen), Start::AsItIs), Err(Error::Stopped)));
    nothing_is_left();
}

#[test]
fn coarse_methods_work_without_ebpf() {
    let Some(mut bed) = Bed::make() else { return };
    for method in [SplitMethod::Cgroup, SplitMethod::Paper] {
        let settings = Settings { method, ..Settings::default() };
        let launched = bed.launch_with(settings, &["spin=300", "window", "draw", "stay"], Start::AsItIs).unwrap();
        let split = launched.run.split(Stage::Settled).unwrap().clone();
        assert_eq!((split.method, launched.run.storage), (method, None));
        // On a busy machine most of the 300 ms is a wait.
        assert!(split.time_ms(Cause::UserCpu).unwrap() > 10.0, "{split:?}");
    }
}

#[test]
fn a_program_without_windows_is_watched_until_its_work_is_done() {
    let Some(bed) = Bed::make() else { return };
    let app = bed.app(&["spin=300", "stay"]);
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let launched = launcher.launch(&app, None, Start::AsItIs).unwrap();
    assert_eq!(launched.run.ending, Ending::Headless);
    let idle = launched.run.at_ms(Stage::Idle).unwrap();
    assert!(idle >= 300.0, "{idle}");
}

#[test]
fn a_program_that_sleeps_first_is_watched_until_its_work_is_done() {
    let Some(bed) = Bed::make() else { return };
    let begins = ["clock=begin", "wait=1200", "spin=200", "clock=done"];
    // Longer than a screen has to be quiet, shorter than a program without one has to be idle.
    for (method, last, ending) in [
        (SplitMethod::Bpf, "exit=0", Ending::Exited { code: Some(0), signal: None }),
        (SplitMethod::Cgroup, "exit=0", Ending::Exited { code: Some(0), signal: None }),
        (SplitMethod::Bpf, "stay", Ending::Headless),
        (SplitMethod::Cgroup, "stay", Ending::Headless),
    ] {
        let limits = Limits { idle_ns: 3 * S, ..Limits::default() };
        let launcher = Launcher {
            sense: &bed.sense,
            settings: Settings { method, limits, ..Settings::default() },
            stop: &bed.stop,
        };
        let app = bed.app(&[&begins[..], &[last]].concat());
        let launched = launcher.launch(&app, None, Start::AsItIs).unwrap();
        let run = &launched.run;
        assert_eq!(run.ending, ending, "{run:?}");
        if method == SplitMethod::Bpf && !has_bpf(&launched) {
            continue;
        }
        let idle = run.stages.iter().find(|time| time.stage == Stage::Idle).unwrap();
        let first = run.at_ms(Stage::FirstProcess).unwrap();
        // By the app's own clock, which starts after the launch does.
        let done = clock_ms(&launched, "done");
        let resolution = idle.resolution_ms.unwrap();
        assert!(idle.at_ms >= first && idle.at_ms >= done - resolution, "{first}, {done} ms: {run:?}");
        let by_samples = method == SplitMethod::Cgroup && last == "stay";
        assert_eq!(resolution > 1.0, by_samples, "{method:?} {last}: {run:?}");
    }
}

#[test]
fn an_answer_is_timed_from_the_key_to_the_last_change() {
    let Some(mut bed) = Bed::make() else { return };
    let text = "app = \"specimen\"\nwindow = \"specimen\"\n[[step]]\nname = \"a key\"\ndo = { key = \"a\" }\n\
                [[step]]\ndo = { assert_window = \"a specimen\" }\n[[step]]\ndo = { text = \"b\" }\n";
    let script = script::parse(text, "test").unwrap();
    let app = bed.app(&["window", "draw", "answer-keys=250"]);
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let answers = launcher.follow(&app, &script, 2, &mut bed.screen, &mut nothing).unwrap();
    assert_eq!(answers.steps.len(), 2);
    for step in &answers.steps {
        let latency = step.latency_ms.unwrap();
        assert_eq!(latency.count, 2);
        // It answers after 250 ms at the earliest; the 500 ms without a change that show the end are no part of the
        // answer.
        assert!(latency.min >= 250.0 && latency.min < 250.0 + 500.0, "{step:?}");
        assert!(step.runs.iter().all(|run| run.ending == Ending::Settled));
    }
}

/// Nothing is shown meanwhile.
fn nothing(_: usize, _: usize, _: &str) {}

#[test]
fn an_assertion_that_fails_says_what_is_there() {
    let Some(mut bed) = Bed::make() else { return };
    let app = App { id: "left-asserting".to_owned(), ..bed.app(&["window", "draw", "stay"]) };
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    for (window, assertion, said) in [
        ("another", "", "no window holds \"another\""),
        ("specimen", "[[step]]\ndo = { assert_window = \"dialog\" }\n", "no window holds \"dialog\""),
        ("specimen", "[[step]]\ndo = { assert_no_window = \"A Specimen\" }\n", "a window holds \"a specimen\""),
    ] {
        let text = format!("app = \"x\"\nwindow = \"{window}\"\n[[step]]\ndo = {{ key = \"a\" }}\n{assertion}");
        let script = script::parse(&text, "test").unwrap();
        let error = launcher.follow(&app, &script, 1, &mut bed.screen, &mut nothing).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("there are \"a specimen\""), "{error}");
    }
    nothing_is_left();
}

#[test]
fn pseudo_random_events_are_sent_and_timed() {
    let Some(mut bed) = Bed::make() else { return };
    let app = bed.app(&["window", "draw", "answer-keys=1"]);
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let answers = launcher.monkey(&app, (10, 40), 1, &mut bed.screen, &mut nothing).unwrap();
    let delay = answers.runtime_delay.unwrap();
    assert_eq!((delay.events, delay.seed, delay.total_ms.count), (40, 10, 1));
    // The last of forty at their pace, when it is a key, is answered after 780 ms.
    assert!(delay.total_ms.median > 400.0, "{delay:?}");
}

#[test]
fn scopes_of_a_brisk_that_is_no_more_are_ended() {
    let Some(bed) = Bed::make() else { return };
    let root = bed.sense.cgroups().unwrap().v2.unwrap().mount_point;
    // No process has this number: it is beyond the kernel's largest.
    let stale = root.join("app-brisk-stale-7fffffff00000001.scope");
    std::fs::create_dir(&stale).unwrap();
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    std::fs::write(stale.join("cgroup.procs"), child.id().to_string()).unwrap();
    let ended = scope::end_leftovers(&bed.sense).unwrap();
    assert!(ended.iter().any(|name| name.contains("stale")), "{ended:?}");
    assert!(!stale.exists());
    assert!(!child.wait().unwrap().success());
}

#[test]
fn a_scope_is_made_in_the_group_that_the_app_names() {
    if available(&[Capability::Groups]).is_none() {
        return;
    }
    let sense = Sense::default();
    let name = format!("brisk-launch-test-{}", std::process::id());
    let parent = sense.cgroups().unwrap().v2.unwrap().mount_point.join(&name);
    std::fs::create_dir(&parent).unwrap();
    let stop = AtomicBool::new(false);
    let launcher = Launcher { sense: &sense, settings: Settings::default(), stop: &stop };
    let app = App::from_command(["cat", "/proc/self/cgroup"].map(Into::into).to_vec());
    let launched = launcher.launch(&App { parent_group: Some(parent.clone()), ..app.clone() }, None, Start::AsItIs);
    let gone = launcher.launch(&App { parent_group: Some(parent.join("gone")), ..app }, None, Start::AsItIs);
    // Nothing is left in it.
    std::fs::remove_dir(&parent).unwrap();
    let said = launched.unwrap().output;
    let of_v2 = said.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
    assert!(of_v2.starts_with(&format!("/{name}/app-brisk-cat-")), "{said}");
    let error = gone.unwrap_err().to_string();
    assert!(error.contains(&format!("/{name}/gone/app-brisk-cat-")), "{error}");
}
