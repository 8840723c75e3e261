//! `brisk swap record`: what apps of a phone swap, against their own page tables; and what cannot be recorded.

use crate::lab_guard;
use crate::phone_bench;
use crate::player;
use crate::swap_areas;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::BufReader;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use brisk_lab::phone::{MemorySpec, NewPhone, Phone, Phones, SwapKind};
use brisk_lab::swap::{Action, Event, Trace};
use brisk_lab::swap_io::{Options, Recorder, Source};
use brisk_requires::{Capability, requires, skip};
use brisk_sense::{PageState, Sense};
use phone_bench::Bench;
use player::Player;
use serde_json::Value;

const MIB: u64 = 1 << 20;

#[test]
#[ignore = "what the other tests run in a phone"]
fn an_app_that_does_what_it_is_told() {
    player::play();
}

fn up(bench: &Bench, swap: SwapKind) -> Phone {
    let spec = MemorySpec { limit_bytes: 64 * MIB, swap, swap_bytes: 128 * MIB };
    let new = NewPhone { size_bytes: 512 * MIB, memory: Some(spec), ..bench.new_phone(false) };
    let never = AtomicBool::new(false);
    let mut phone = None;
    // Swap areas are the machine's: another measurement may have one for some minutes.
    let is_free = || Sense::default().swaps().expect("the kernel has swap").is_empty();
    lab_guard::eventually_within(Duration::from_secs(300), "no swap area of others is in use", || {
        if !is_free() {
            return false;
        }
        match Phones::new(bench.lab.dir()).up(&new, &never, &mut |_: &str| {}) {
            // One that came meanwhile.
            Err(brisk_lab::phone::Error::Memory { .. }) if !is_free() => return false,
            up => phone = Some(up.expect("a phone").0),
        }
        true
    });
    phone.expect("it is up")
}

fn source(phone: &Phone, area: usize) -> Source {
    let groups = phone.memory_group().map(|group| group.dir().to_owned());
    Source { area: phone.swap_areas()[area].clone(), groups }
}

/// Slots of a process's swapped pages, by virtual page.
fn slots(pid: u32) -> HashMap<u64, u64> {
    let pages = Sense::default().process_pages(pid).expect("readable").expect("it lives");
    let swapped = pages.runs.iter().filter_map(|run| match run.state {
        PageState::Swapped { slot, .. } => Some((run, slot)),
        _ => None,
    });
    swapped.flat_map(|(run, slot)| (0..run.pages).map(move |n| (run.first_page + n, slot + n))).collect()
}

fn of<'a>(trace: &'a Trace, app: &str, action: Action) -> Vec<&'a Event> {
    let is_it = |event: &&Event| event.action == action && trace.apps[usize::from(event.app)] == app;
    trace.events.iter().filter(is_it).collect()
}

/// A share of at least 80 %: some virtual machines hide events of some milliseconds (CONTRIBUTING.md). A join that is
/// wrong about owners or slots has next to none.
fn most(part: usize, whole: usize, what: &str) {
    assert!(whole > 0 && part * 5 >= whole * 4, "{part} of {whole} {what}");
}

/// Two apps that do not fit, on an area: what the trace has of each page, against the page tables.
fn two_apps(swap: SwapKind, area: usize) {
    let _one = swap_areas::one_at_a_time();
    let Some(bench) = Bench::new() else { return };
    let phone = up(&bench, swap);
    let program = Player::install(&phone);
    let (mut mail, mut maps) = (Player::start(&phone, &program, "mail"), Player::start(&phone, &program, "maps"));
    let options = Options { scan_interval: Duration::from_millis(300), ..Options::default() };
    let recorder = match Recorder::start(&source(&phone, area), &options) {
        Err(brisk_lab::swap_io::Error::Probes(error)) => return skip(Capability::Bpf, error.to_string()),
        started => started.expect("it records"),
    };
    let flash_bytes = phone.flash().expect("the lab answers").requests.write.bytes;
    let first = mail.fill(10_000);
    let maps_first = maps.fill(10_000);
    // What was written a moment ago is still in memory otherwise, and its use reads nothing.
    for app in ["mail", "maps"] {
        phone
            .memory_group()
            .and_then(|group| group.child(app).ok())
            .expect("its group")
            .reclaim_all()
            .expect("reclaimed");
    }
    let before = slots(mail.pid());
    let swapped: Vec<u64> = (0..10_000).filter(|page| before.contains_key(&(first + page))).collect();
    assert!(swapped.len() > 1000, "{} pages are swapped out", swapped.len());
    // Every 40th page: neighbours are read with them, and are not used.
    let used: Vec<u64> = swapped.iter().copied().step_by(40).collect();
    recorder.mark(Action::Front, "mail");
    let major_faults = mail.use_pages(used.iter().copied());
    recorder.mark(Action::Ready, "mail");
    maps.end();
    let recorded = recorder.finish().expect("recorded");
    let trace = &recorded.trace;
    // A trace numbers apps as they come first in its text; the recorder, as they were found.
    let text = trace.to_text();
    assert_eq!(Trace::parse(&text).map(|parsed| parsed.to_text()), Ok(text));
    assert_eq!((recorded.lost, recorded.counts.beyond), (0, 0));
    // Each page was written to the slot that the page table had, and its writer is known.
    let out: HashMap<u64, u64> = of(trace, "mail", Action::Out)
        .iter()
        .map(|event| (event.page, u64::from(event.slot.expect("a slot"))))
        .collect();
    // A page may be in the page table as swapped before it is written, and is not in the trace then.
    let written: Vec<u64> = swapped.iter().map(|page| first + page).filter(|page| out.contains_key(page)).collect();
    let right = written.iter().filter(|page| out.get(page) == before.get(page)).count();
    most(right, written.len(), "pages were written to the slot of the page table");
    assert!(written.len() > 1000, "{} pages were written", written.len());
    if area == 0 {
        let bytes = phone.flash().expect("the lab answers").requests.write.bytes - flash_bytes;
        // The file system writes a little, too.
        most(
            (recorded.counts.out_pages * 4096).min(bytes) as usize,
            bytes as usize,
            "bytes of the flash are in the trace",
        );
    }
    let of_maps = of(trace, "maps", Action::Out);
    let own = of_maps.iter().filter(|event| (maps_first..maps_first + 10_000).contains(&event.page)).count();
    most(own, of_maps.len(), "pages of the other app have its addresses");
    // Used are the pages that the app used, in their order, and hardly others: the app's own code and data.
    let ins = of(trace, "mail", Action::In);
    let own: Vec<u64> = ins
        .iter()
        .filter(|event| (first..first + 10_000).contains(&event.page))
        .map(|event| event.page - first)
        .collect();
    most(own.iter().filter(|page| used.contains(page)).count(), own.len(), "pages in the trace were used");
    assert!(own.is_sorted(), "{own:?}");
    // What was used was read, or was still in memory; of what had been written, all of it is known.
    let known = |page: &&u64| own.contains(page) && out.contains_key(&(first + **page));
    let should = used.iter().filter(|page| out.contains_key(&(first + **page))).count();
    let in_memory = recorded.counts.in_memory_faults as usize;
    most((used.iter().filter(known).count() + in_memory).min(should), should, "pages that were used are known");
    // The kernel counts a major fault for each use that had to read, and for files.
    let mut ahead = HashSet::new();
    let mut reads = 0;
    for event in trace.events.iter().filter(|event| trace.apps[usize::from(event.app)] == "mail") {
        match event.action {
            Action::Ahead => drop(ahead.insert(event.slot)),
            Action::In if !ahead.remove(&event.slot) => reads += 1,
            _ => {}
        }
    }
    assert!((10..=major_faults + major_faults / 4).contains(&reads), "{reads} reads and {major_faults} major faults");
    // Its launch is around them.
    let [front] = of(trace, "mail", Action::Front)[..] else { panic!("one launch") };
    let [ready] = of(trace, "mail", Action::Ready)[..] else { panic!("one launch") };
    let during = ins.iter().filter(|event| (front.at_us..=ready.at_us).contains(&event.at_us)).count();
    most(during, ins.len(), "uses are in the launch");
    // The other app has ended, and needs no slot any more.
    most(of(trace, "maps", Action::Free).len(), of_maps.len(), "slots of the app that ended are free");
    mail.end();
    phone.down(false).expect("down");
    bench.nothing_is_left();
}

#[test]
fn each_page_that_a_phone_swaps_has_its_app_address_and_slot() {
    requires!(MemoryV1);
    two_apps(SwapKind::Flash, 0);
}

#[test]
fn compressed_memory_is_recorded_as_the_flash_is() {
    requires!(MemoryV1, Zram);
    two_apps(SwapKind::ZramFlash, 1);
}

#[test]
fn without_groups_processes_are_apps_by_their_names() {
    requires!(MemoryV1, Zram, Bpf);
    let _one = swap_areas::one_at_a_time();
    let Some(bench) = Bench::new() else { return };
    let phone = up(&bench, SwapKind::Zram);
    let program = Player::install(&phone);
    let mut app = Player::start(&phone, &program, "mail");
    let machine = Source { groups: None, ..source(&phone, 0) };
    let recorder = Recorder::start(&machine, &Options::default()).expect("it records");
    let first = app.fill(24_000);
    app.use_pages(0..500);
    let recorded = recorder.finish().expect("recorded");
    let name = fs::read_to_string(format!("/proc/{}/comm", app.pid())).expect("it lives");
    let of_app = |action| {
        let events = of(&recorded.trace, name.trim_end(), action);
        events.iter().filter(|event| (first..first + 24_000).contains(&event.page)).count()
    };
    assert!(of_app(Action::Out) > 1000 && of_app(Action::In) > 100, "{:?} {:?}", recorded.counts, recorded.trace.apps);
    app.end();
    phone.down(false).expect("down");
    bench.nothing_is_left();
}

#[test]
fn a_mark_just_before_the_end_is_in_the_trace() {
    requires!(MemoryV1, Bpf);
    let _one = swap_areas::one_at_a_time();
    let Some(bench) = Bench::new() else { return };
    let phone = up(&bench, SwapKind::Flash);
    for _ in 0..5 {
        let recorder = Recorder::start(&source(&phone, 0), &Options::default()).expect("it records");
        recorder.mark(Action::Front, "mail");
        let recorded = recorder.finish().expect("recorded");
        assert_eq!(of(&recorded.trace, "mail", Action::Front).len(), 1);
    }
    phone.down(false).expect("down");
    bench.nothing_is_left();
}

/// `brisk swap WORDS` in a lab.
fn swap(bench: &Bench, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.arg("swap").args(words).current_dir(bench.lab.dir()).env("BRISK_RUN_DIR", bench.lab.dir());
    command.env("LC_ALL", "C.UTF-8").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A recording that has begun.
fn recording(bench: &Bench, words: &[&str]) -> Child {
    let mut child = swap(bench, &[&["record"], words].concat()).spawn().expect("brisk starts");
    let said = brisk_requires::next_line(&mut BufReader::new(child.stderr.as_mut().expect("piped")), "a recording");
    assert!(said.starts_with("recording what is swapped"), "{said}");
    child
}

#[test]
fn ctrl_c_ends_a_recording_that_is_shown_and_replayed() {
    requires!(MemoryV1, Bpf);
    let _one = swap_areas::one_at_a_time();
    let Some(bench) = Bench::new() else { return };
    let phone = up(&bench, SwapKind::Flash);
    let program = Player::install(&phone);
    let mut app = Player::start(&phone, &program, "mail");
    let child = recording(&bench, &["--output", "day.swap", "--scan", "500ms"]);
    app.fill(24_000);
    app.use_pages(0..2_000);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("not zero");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it lives");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains(" apps in "), "{said}");
    let trace =
        Trace::parse(&fs::read_to_string(bench.lab.dir().join("day.swap")).expect("readable")).expect("a trace");
    // A machine that is short of memory can swap pages of others to the phone's area, and some hide who an event
    // belongs to.
    let apps: Vec<_> = trace.apps.iter().filter(|app| !["outside", "unknown"].contains(&app.as_str())).collect();
    assert_eq!(apps, ["mail"], "{said}{}", String::from_utf8_lossy(&output.stderr));
    let show = swap(&bench, &["show", "day.swap", "--json"]).output().expect("brisk starts");
    let shown: Value = serde_json::from_slice(&show.stdout).expect("JSON");
    let layout = &shown["layout"];
    // All pages in order: the app used nearly all that was read for it.
    assert!(layout["used_percent"].as_f64().expect("known") > 60.0, "{layout}");
    assert!(layout["in_run_bytes"].as_f64().expect("known") > 8192.0, "{layout}");
    let replay = swap(&bench, &["replay", "day.swap", "--json"]).output().expect("brisk starts");
    let replayed: Value = serde_json::from_slice(&replay.stdout).expect("JSON");
    let unknown = replayed["replays"][0]["unknown_pages"]["median"].as_f64().expect("known");
    assert!(unknown < 100.0, "{unknown} pages were read that had not been written");
    app.end();
    phone.down(false).expect("down");
    bench.nothing_is_left();
}

#[test]
fn a_recording_ends_when_its_phone_is_taken_down() {
    requires!(MemoryV1, Bpf);
    let _one = swap_areas::one_at_a_time();
    let Some(bench) = Bench::new() else { return };
    let phone = up(&bench, SwapKind::Flash);
    let program = Player::install(&phone);
    let mut app = Player::start(&phone, &program, "mail");
    let child = recording(&bench, &["--output", "day.swap"]);
    app.fill(24_000);
    app.end();
    phone.down(true).expect("down");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("the swap area was switched off"), "{said}");
    let trace = fs::read_to_string(bench.lab.dir().join("day.swap")).expect("written");
    assert!(of(&Trace::parse(&trace).expect("a trace"), "mail", Action::Out).len() > 1000);
    bench.nothing_is_left();
}

#[test]
fn what_cannot_be_recorded_is_named_and_leaves_no_file() {
    requires!(MemoryV1);
    let _one = swap_areas::one_at_a_time();
    let Some(bench) = Bench::new() else { return };
    let refused = |words: &[&str], part: &str| {
        let output = swap(&bench, &[&["record"], words].concat()).output().expect("brisk starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(part), "{words:?}: {said}");
        assert!(!bench.lab.dir().join("day.swap").exists());
    };
    let out = ["--output", "day.swap"];
    refused(&[], "--output");
    refused(&out, "no phone");
    refused(&[&out[..], &["--area", "/dev/null"]].concat(), "/dev/null is not a swap area in use");
    refused(&[&out[..], &["--duration", "0"]].concat(), "the duration is zero");
    refused(&["--output", "/no/such/dir/day.swap"], "/no/such/dir");
    let phone = up(&bench, SwapKind::None);
    refused(&out, "has no swap: bring one up with limited memory");
    refused(&[&out[..], &["--phone", "77"]].concat(), "77");
    phone.down(false).expect("down");
    let phone = up(&bench, SwapKind::Flash);
    refused(&[&out[..], &["--duration", "300ms"]].concat(), "is out of range");
    refused(&[&out[..], &["--duration", "1s"]].concat(), "nothing of an app was swapped to or from");
    // Without the right to trace. Another user does not see the lab's state, but may name the area.
    let area = phone.swap_areas()[0].display().to_string();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_brisk-lab"), "swap", "record"]);
    let output =
        command.args(["--area", &area]).args(out).current_dir(bench.lab.dir()).output().expect("setpriv starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("run as root"), "{said}");
    phone.down(false).expect("down");
    bench.nothing_is_left();
}
