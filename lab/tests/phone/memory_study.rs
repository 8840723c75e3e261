//! `brisk study memory`: what is refused and in which words, and each part on a phone with scripted apps.

use crate::lab_guard;
use crate::phone_bench;
use crate::swap_areas;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brisk_lab::launch::{Launcher, Settings};
use brisk_lab::memory::study::{self, Bed, FreeOptions, GrowthOptions, LimitOptions, SetOptions};
use brisk_lab::memory::{Error, Result};
use brisk_lab::phone::{App, Catalogue, MemorySpec, NewPhone, Phone, Phones, SwapKind};
use brisk_lab::results::{LimitCell, MemoryPart, SplitMethod};
use brisk_lab::screen::{VirtualX, X11};
use brisk_requires::{Capability, available, requires};
use brisk_sense::Sense;
use lab_guard::eventually;
use phone_bench::{Bench, copy_with_libraries};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use swap_areas::alone_with_swap;

const MIB: u64 = 1 << 20;
/// The heap of the scripted app, in MiB.
const HEAP_MIB: u64 = 24;

/// A phone with two apps: `xterm` has a heap, shows a window and uses some of the heap for each key; `galculator` never
/// shows one.
struct Stage {
    bench: Bench,
    /// Ends when it is dropped.
    _server: VirtualX,
    screen: X11,
    stop: AtomicBool,
}

impl Stage {
    fn new() -> Option<Self> {
        Self::with(|_| {})
    }

    /// With changes to the tree of the image.
    fn with(change: impl FnOnce(&Path)) -> Option<Self> {
        available(&[Capability::MemoryController])?;
        available(&["Xvfb", "matchbox-window-manager"].map(Capability::Program))?;
        let bench = Bench::with(|tree| {
            let tests = std::env::current_exe().expect("this program");
            let specimen = tests.ancestors().nth(2).expect("a folder").join("examples/specimen");
            assert!(specimen.exists(), "cargo test --test leaves it out: cargo build -p brisk-lab --examples");
            copy_with_libraries(tree, &specimen);
            symlink(&specimen, tree.join("bin/specimen")).expect("linked");
            app(tree, "xterm", &format!("hold={HEAP_MIB} window draw answer-keys-using=6"));
            app(tree, "galculator", "stay");
            change(tree);
        })?;
        let server = VirtualX::start_as_phone((640, 480), 24).expect("a screen");
        let screen = X11::connect(Some(server.display())).expect("connected");
        Some(Self { bench, _server: server, screen, stop: AtomicBool::new(false) })
    }

    fn phone(&self, swap: SwapKind) -> Phone {
        let memory = MemorySpec { limit_bytes: 96 * MIB, swap, swap_bytes: 128 * MIB };
        let new = NewPhone { size_bytes: 512 * MIB, memory: Some(memory), ..self.bench.new_phone(false) };
        Phones::new(self.bench.lab.dir()).up(&new, &self.stop, &mut |_: &str| {}).expect("a phone").0
    }

    /// Does a part with these apps; a launch without work and without a window is given up after two seconds.
    fn on<T>(&mut self, phone: &Phone, apps: &[&str], part: impl FnOnce(&mut Bed<'_>) -> Result<T>) -> Result<T> {
        let apps: Vec<&'static App> =
            apps.iter().map(|name| Catalogue::builtin().app(name).expect("in the catalogue")).collect();
        let sense = Sense::default();
        let mut settings = Settings { method: SplitMethod::Cgroup, ..Settings::default() };
        settings.limits.window_ns = 2_000_000_000;
        let launcher = Launcher { sense: &sense, settings, stop: &self.stop };
        let mut progress = |_: f64, _: &str| {};
        let mut bed = Bed::new(phone, launcher, &mut self.screen, &apps, &mut progress)?;
        part(&mut bed)
    }
}

/// Writes an app that runs the specimen.
fn app(tree: &Path, name: &str, actions: &str) {
    let file = tree.join("bin").join(name);
    brisk_requires::executable(&file, format!("#!/bin/sh\nexec /bin/specimen {actions}\n"));
}

#[test]
fn growth_is_sampled_from_the_launch_on() {
    let Some(mut stage) = Stage::new() else { return };
    let phone = stage.phone(SwapKind::None);
    let options = GrowthOptions { runs: 2, length: Duration::from_secs(3), interval: Duration::from_millis(50) };
    let growth = stage.on(&phone, &["xterm"], |bed| study::growth(bed, &options)).expect("measured");
    let [app] = &growth[..] else { panic!("{growth:?}") };
    assert_eq!((app.app.as_str(), app.runs.len()), ("xterm", 2));
    for run in &app.runs {
        let first = run.samples.first().expect("samples");
        assert!(first.at_ms < 1_000.0 && first.heap_bytes() < MIB, "it begins before the program: {first:?}");
        assert!(run.samples.windows(2).all(|pair| pair[0].at_ms < pair[1].at_ms));
        assert!(run.samples.iter().all(|sample| sample.at_ms <= 3_000.0 && sample.swapped_bytes == 0));
        assert!(run.settled_ms.is_some() && run.inputs > 0, "{run:?}");
        let most = run.heap_bytes_max().expect("samples");
        assert!((HEAP_MIB..HEAP_MIB + 8).contains(&(most / MIB)), "{most} bytes of heap");
        assert!(run.samples.iter().any(|sample| sample.file_bytes > 0));
    }
    let table = study::traces(&growth).expect("written");
    assert_eq!(table.lines().count(), 1 + app.runs.iter().map(|run| run.samples.len()).sum::<usize>());
    phone.down(true).expect("down");
    stage.bench.nothing_is_left();
}

#[test]
fn an_app_starts_with_enough_memory_and_not_with_less_than_its_heap() {
    let Some(mut stage) = Stage::new() else { return };
    let phone = stage.phone(SwapKind::None);
    let limits_bytes = vec![64 * MIB, HEAP_MIB / 2 * MIB];
    let options = LimitOptions { limits_bytes, tries: 2, timeout: Duration::from_secs(20) };
    let limits = stage.on(&phone, &["xterm"], |bed| study::limits(bed, &options)).expect("measured");
    let [little, enough] = &limits.cells[..] else { panic!("{limits:?}") };
    assert_eq!((little.limit_bytes, enough.limit_bytes), (HEAP_MIB / 2 * MIB, 64 * MIB), "ascending");
    // Without swap its heap cannot be anywhere else.
    assert_eq!((little.killed, little.tries()), (2, 2), "{little:?}");
    assert_eq!((enough.started, enough.tries()), (2, 2), "{enough:?}");
    assert!(little.settled_ms.is_none() && enough.settled_ms.is_some());
    let group = phone.memory_group().expect("limited").child("xterm").expect("there");
    let left = group.limit_bytes().expect("read");
    assert!(left > 1 << 40, "the limit was taken back: {left}");
    phone.down(true).expect("down");
    stage.bench.nothing_is_left();
}

#[test]
fn free_memory_falls_with_a_launch_and_stays_when_the_app_comes_back() {
    let Some(mut stage) = Stage::new() else { return };
    let phone = stage.phone(SwapKind::None);
    let options = FreeOptions { dwell: Duration::from_secs(2), rounds: 2, interval: Duration::from_millis(50) };
    let (free, failures) = stage
        .on(&phone, &["xterm", "galculator"], |bed| Ok((study::free(bed, &options)?, bed.take_failures())))
        .expect("measured");
    let steps: Vec<_> = free.steps.iter().map(|step| (step.app.as_str(), step.round, step.launched)).collect();
    // What does not run is launched again.
    assert_eq!(steps, [("xterm", 1, true), ("galculator", 1, true), ("xterm", 2, false), ("galculator", 2, true)]);
    assert_eq!((free.alive.as_slice(), free.oom_kills), (["xterm".to_owned()].as_slice(), 0));
    let until = |at_s: f64| free.samples.iter().rev().find(|sample| sample.at_s <= at_s).expect("a sample");
    let (before, after) = (until(free.steps[0].at_s), until(free.steps[1].at_s));
    let fell = before.available_bytes - after.available_bytes;
    assert!((HEAP_MIB..HEAP_MIB + 12).contains(&(fell / MIB)), "{fell} bytes");
    let last = free.samples.last().expect("a sample");
    assert!(last.available_bytes.abs_diff(after.available_bytes) < 6 * MIB, "{last:?} {after:?}");
    assert!(free.samples.iter().all(|sample| sample.free_bytes <= sample.available_bytes));
    // An app that never starts is named, and the other one was measured.
    let said: Vec<_> = failures.iter().map(|failure| (failure.part, failure.app.as_str())).collect();
    assert_eq!(said, [(MemoryPart::Free, "galculator"); 2]);
    assert!(failures[0].reason.contains("it shows no window"), "{failures:?}");
    phone.down(true).expect("down");
    stage.bench.nothing_is_left();
}

#[test]
fn an_app_that_never_shows_a_window_is_slow_under_every_limit() {
    let Some(mut stage) = Stage::new() else { return };
    let phone = stage.phone(SwapKind::None);
    let options = LimitOptions { limits_bytes: vec![64 * MIB], tries: 1, timeout: Duration::from_secs(2) };
    let limits = stage.on(&phone, &["galculator"], |bed| study::limits(bed, &options)).expect("measured");
    let cells: Vec<_> = limits.cells.iter().map(|cell: &LimitCell| (cell.slow, cell.tries())).collect();
    assert_eq!(cells, [(1, 1)]);
    phone.down(true).expect("down");
    stage.bench.nothing_is_left();
}

#[test]
fn a_return_uses_part_of_the_heap_and_brings_back_that_part_from_swap() {
    let Some(mut stage) = Stage::new() else { return };
    let Some(_alone) = alone_with_swap() else { return };
    let phone = stage.phone(SwapKind::Flash);
    let sets = stage.on(&phone, &["xterm"], |bed| study::sets(bed, &SetOptions { runs: 2 })).expect("measured");
    let [app] = &sets[..] else { panic!("{sets:?}") };
    let mib = |bytes: f64| bytes / MIB as f64;
    assert!(mib(app.resident_bytes.min) > HEAP_MIB as f64, "each round begins with all of it in memory: {app:?}");
    assert!(app.proportional_bytes.median <= app.resident_bytes.median);
    // A key uses six megabytes of the heap, whether they are in memory or in swap.
    assert!((6.0..HEAP_MIB as f64).contains(&mib(app.working_bytes.median)), "{app:?}");
    assert!((6.0..HEAP_MIB as f64).contains(&mib(app.swapped_touched_bytes.median)), "{app:?}");
    assert!(mib(app.swapped_bytes.median) > 0.8 * HEAP_MIB as f64, "it was evicted: {app:?}");
    assert_eq!(app.working_bytes.count, 2);
    phone.down(true).expect("down");
    stage.bench.nothing_is_left();
}

#[test]
fn phones_that_cannot_do_it_and_wishes_to_stop_end_it_at_once() {
    let Some(mut stage) = Stage::new() else { return };
    let phone = stage.phone(SwapKind::None);
    let error = stage.on(&phone, &["xterm"], |bed| study::sets(bed, &SetOptions { runs: 1 })).expect_err("no swap");
    assert!(error.to_string().contains("--swap flash"), "{error}");
    let error = stage.on(&phone, &["evince"], |_| Ok(())).expect_err("not in the image").to_string();
    assert!(error.contains("has no evince"), "{error}");
    stage.stop.store(true, Ordering::Relaxed);
    let options = LimitOptions { limits_bytes: vec![64 * MIB], tries: 1, timeout: Duration::from_secs(2) };
    let error = stage.on(&phone, &["xterm"], |bed| study::limits(bed, &options)).expect_err("stopped");
    assert!(matches!(error, Error::Stopped), "{error}");
    phone.down(true).expect("down");
    let unlimited = stage.bench.phone();
    let error = stage.on(&unlimited, &["xterm"], |_| Ok(())).expect_err("no limit").to_string();
    assert!(error.contains("has no memory limit"), "{error}");
    unlimited.down(true).expect("down");
    stage.bench.nothing_is_left();
}

#[test]
fn a_signal_ends_the_apps_and_leaves_the_phone_as_it_was() {
    let Some(stage) = Stage::new() else { return };
    let image = stage.bench.image();
    let up = ["phone", "up", "--image", image, "--size", "512M", "--memory", "96M", "--swap", "none"];
    let made = stage.bench.lab.json(&up);
    let id = made["id"].to_string();
    let page = stage.bench.lab.dir().join("page.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.args(["study", "memory", "--phone", &id, "--apps", "xterm", "--parts", "growth", "--html"]).arg(&page);
    command.env("BRISK_RUN_DIR", stage.bench.lab.dir()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let processes = || {
        let listed = stage.bench.lab.json(&["phone", "list"]);
        listed[0]["processes"].as_u64().unwrap_or_default()
    };
    eventually("the app runs", || processes() > 0);
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ended");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(processes(), 0, "no app is left");
    assert!(!page.exists(), "nothing was measured");
    stage.bench.lab.brisk(&["phone", "down", &id]);
    stage.bench.nothing_is_left();
}

#[test]
fn each_part_begins_with_the_home_as_it_was_before_the_first() {
    // An app that was ended while it ran asks at its next start; this one shows no window then.
    let asks = |tree: &Path| {
        let file = tree.join("bin/xterm");
        let text = fs::read_to_string(&file).expect("written");
        let text = text.replace("exec", "test -e $HOME/.draft && exec /bin/specimen stay\n>$HOME/.draft\nexec");
        fs::write(&file, text).expect("written");
    };
    let Some(stage) = Stage::with(asks) else { return };
    let image = stage.bench.image();
    let up = ["phone", "up", "--image", image, "--size", "512M", "--memory", "96M", "--swap", "none"];
    let id = stage.bench.lab.json(&up)["id"].to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.args(["study", "memory", "--phone", &id, "--apps", "xterm", "--parts", "free,growth", "--dwell", "1s"]);
    command.args(["--rounds", "1", "--runs", "2", "--length", "2s", "--json"]);
    let output = command.env("BRISK_RUN_DIR", stage.bench.lab.dir()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let study: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(study["failures"], serde_json::json!([]));
    assert_eq!(study["growth"][0]["runs"].as_array().map(Vec::len), Some(2));
    // And so it is left.
    assert!(stage.bench.enter(&["ls", "-a", "/home/user"]).contains(".cache"));
    assert!(!stage.bench.enter(&["ls", "-a", "/home/user"]).contains(".draft"));
    stage.bench.lab.brisk(&["phone", "down", &id]);
    stage.bench.nothing_is_left();
}

#[test]
fn what_is_complete_is_shown_when_a_later_part_is_stopped() {
    let Some(stage) = Stage::new() else { return };
    let image = stage.bench.image();
    let up = ["phone", "up", "--image", image, "--size", "512M", "--memory", "96M", "--swap", "none"];
    let id = stage.bench.lab.json(&up)["id"].to_string();
    let file = stage.bench.lab.dir().join("study.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.args(["study", "memory", "--phone", &id, "--apps", "xterm", "--parts", "free,growth", "--dwell", "1s"]);
    command.arg("--verbose").arg(format!("--json={}", file.display())).env("BRISK_RUN_DIR", stage.bench.lab.dir());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let said = BufReader::new(child.stderr.take().expect("piped")).lines();
    let _limit = brisk_requires::killed_late(child.id(), "the second part of the study");
    let is_second_part =
        |line: &std::io::Result<String>| line.as_ref().is_ok_and(|line| line.contains("growth: xterm"));
    let mut said = said.skip_while(|line| !is_second_part(line));
    assert!(said.next().is_some(), "it came to the second part");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    said.for_each(drop);
    let output = child.wait_with_output().expect("it ended");
    assert_eq!(output.status.code(), Some(130));
    let study: Value = serde_json::from_slice(&fs::read(&file).expect("written")).expect("JSON");
    assert!(study["free"]["samples"].as_array().is_some_and(|samples| !samples.is_empty()), "{study}");
    assert_eq!(study["growth"], serde_json::json!([]));
    let warnings = study["warnings"].to_string();
    assert!(
        warnings.contains("incomplete") && warnings.contains("Not done: growth, since it was stopped."),
        "{warnings}"
    );
    stage.bench.lab.brisk(&["phone", "down", &id]);
    stage.bench.nothing_is_left();
}

#[test]
fn a_phone_that_goes_meanwhile_and_one_that_cannot_swap_are_named() {
    let Some(stage) = Stage::new() else { return };
    let image = stage.bench.image();
    let up = ["phone", "up", "--image", image, "--size", "512M", "--memory", "96M", "--swap", "none"];
    let id = stage.bench.lab.json(&up)["id"].to_string();
    let command = |parts: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
        command.args(["study", "memory", "--phone", &id, "--apps", "xterm,galculator", "--parts", parts, "--verbose"]);
        command.env("BRISK_RUN_DIR", stage.bench.lab.dir()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let output = command("free,sets").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("name the other parts in --parts") && said.contains("--swap flash"), "{said}");
    let mut child = command("growth").spawn().expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("piped")).lines();
    let _limit = brisk_requires::killed_late(child.id(), "the part growth of the study");
    let began = said.any(|line| line.expect("UTF-8").contains("growth: xterm"));
    assert!(began, "it came to the part");
    stage.bench.lab.brisk(&["phone", "down", &id, "--force"]);
    let said: Vec<String> = said.map(|line| line.expect("UTF-8")).collect();
    assert_eq!(child.wait().expect("it ended").code(), Some(2));
    assert!(said.iter().any(|line| line.contains(&format!("phone {id} was taken down meanwhile"))), "{said:?}");
    stage.bench.nothing_is_left();
}

#[test]
fn each_invalid_command_line_is_refused_with_a_reason_and_code_2_before_anything_is_made() {
    let cases: &[(&[&str], &str)] = &[
        (&["--apps", "solitaire"], "'solitaire' is not an app of the phone"),
        (&["--apps", "xterm,evince,xterm"], "--apps names xterm twice"),
        (&["--apps", "xterm"], "the part sets needs two apps or more"),
        (&["--parts", "speed"], "free, growth, limits, sets"),
        (&["--parts", "limits", "--tries", "0"], "1..=1000"),
        (&["--parts", "growth", "--runs", "0"], "1..=1000"),
        (&["--parts", "limits", "--limits", "16M,1G"], "--limits 1 GiB is more than the phone has (600 MiB)"),
        (&["--parts", "limits", "--limits", "64k"], "--limits 64 KiB is too small for any program"),
        (&["--parts", "free", "--traces", "/tmp/x.csv"], "--traces has the samples of the part growth"),
        (&["--traces", "/no/such/folder/x.csv"], "there is no directory /no/such/folder"),
        (&["--preset", "nexus4-emmc", "--phone", "1"], "cannot be used with"),
        (&["--memory", "1G", "--phone", "1"], "cannot be used with"),
        (&["--interval", "1ms"], "give 20ms to 1m"),
        (&["--no-screen"], "this needs a screen: leave --no-screen out"),
    ];
    for (args, words) in cases {
        let dir = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
        command.args(["study", "memory"]).args(*args).env("BRISK_RUN_DIR", dir.path().join("run"));
        let output = command.env("BRISK_CACHE_DIR", dir.path().join("cache")).output().expect("brisk runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert!(!dir.path().join("run").exists() && !dir.path().join("cache").exists(), "{args:?}");
    }
}

#[test]
fn memory_that_a_phone_cannot_have_is_refused_before_an_image_is_built() {
    requires!(Mount, MemoryController, Program("Xvfb"), Program("matchbox-window-manager"));
    let dir = tempfile::tempdir().expect("a folder");
    let cases: &[(&[&str], &str)] = &[
        (&["--memory", "32M"], "the limit is too small: at least 64 MiB"),
        (&["--preset", "no-such-preset"], "no-such-preset"),
        (&["--phone", "7"], "'7' is not a phone"),
    ];
    for (args, words) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
        command.args(["study", "memory"]).args(*args).env("BRISK_RUN_DIR", dir.path().join("run"));
        let output = command.env("BRISK_CACHE_DIR", dir.path().join("cache")).output().expect("brisk runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert!(!dir.path().join("cache").exists(), "{args:?}");
    }
}
