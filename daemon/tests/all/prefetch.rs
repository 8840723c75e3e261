//! Launch prefetch in a running daemon, with a real app: what a launch maps and what it only reads is learned, and is
//! read ahead of the next one. Needs root.

use crate::harness;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use brisk_api::{AppLaunches, Launches, Phase, Status, SubjectTrial, Trials};
use brisk_core::action::Once;
use brisk_core::arbiter::Rule;
use brisk_core::group::is_meant;
use brisk_core::outcome::Outcome;
use brisk_core::state::ActionState;
use brisk_daemon::replay::Replay;
use brisk_requires::{Capability, requires};
use brisk_sense::{OpenedFiles, Sense};
use harness::{App, Briskd, Loop, PATIENCE, place, turn};
use rustix::fs::{Advice, fadvise};
use rustix::mm::{Advice as MemoryAdvice, MapFlags, ProtFlags, madvise, mmap};
use rustix::process::Signal;

const PAGE: usize = 4096;
const MAPPED_PAGES: usize = 64;
const TOUCHED: [usize; 2] = [3, 40];
const READ_PAGES: usize = 5;
/// Directory of the files that the app uses.
const PLACE: &str = "BRISK_DAEMON_TEST_FILES";
const ID: &str = "prefetchtest";
const CONFIG: &str = "[engines]\norder = [\"prefetch\"]\ntrial = false\n[prefetch]\nprivate = []\n";
/// Nothing is read before a launch.
const FROM_THE_TAP: &str = "ready_apps = 0\n";

#[test]
#[ignore = "is run by another test"]
fn app_that_uses_files() {
    let Some(dir) = std::env::var_os(PLACE) else { return };
    let mut told = Vec::new();
    std::io::stdin().read_to_end(&mut told).expect("it is told to go on");
    let file = File::open(Path::new(&dir).join("mapped")).expect("a file");
    // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing; it is never unmapped.
    let begin =
        unsafe { mmap(std::ptr::null_mut(), MAPPED_PAGES * PAGE, ProtFlags::READ, MapFlags::PRIVATE, file.as_fd(), 0) };
    let begin = begin.expect("mapped");
    // SAFETY: the advice changes read-ahead alone, of the mapping above.
    unsafe { madvise(begin, MAPPED_PAGES * PAGE, MemoryAdvice::Random) }.expect("advised");
    for page in TOUCHED {
        // SAFETY: the byte is in the mapping, which nothing else refers to.
        assert_eq!(unsafe { begin.cast::<u8>().add(page * PAGE).read_volatile() }, 7);
    }
    assert_eq!(fs::read(Path::new(&dir).join("read")).expect("readable").len(), READ_PAGES * PAGE);
    loop {
        std::thread::park();
    }
}

fn group_of(nth: u32) -> String {
    format!("app-{ID}-{}{nth}.scope", std::process::id())
}

/// An app in a new group, which waits until it is told to use its files in `dir`.
fn app(dir: &Path, nth: u32) -> Option<App> {
    let v2 = Sense::default().cgroups().expect("Linux").v2.expect("mounted");
    let group = v2.mount_point.join(group_of(nth));
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    App::with(
        &group,
        program.args(["--ignored", "--exact", "prefetch::app_that_uses_files", "--nocapture"]).env(PLACE, dir),
    )
}

/// Writes the file, or takes it out of memory.
fn evict(path: &Path) {
    let file = File::open(path).expect("a file");
    file.sync_all().expect("on disk");
    fadvise(&file, 0, None, Advice::DontNeed).expect("evicted");
}

/// A file system on a device, unmounted when dropped.
struct Mounted {
    dir: tempfile::TempDir,
}

impl Mounted {
    fn new(device: &Loop) -> Self {
        let node = format!("/dev/{}", device.name());
        let mounted = Self { dir: tempfile::tempdir().expect("a directory") };
        for command in
            [Command::new("mkfs.ext4").args(["-q", &node]), Command::new("mount").arg(&node).arg(mounted.path())]
        {
            assert!(command.status().expect("it runs").success(), "{command:?}");
        }
        mounted
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.dir.path()).status();
    }
}

/// Limits how fast a disk is read, until it is dropped: half a second for what a launch reads here.
struct Slow {
    file: PathBuf,
    number: String,
}

impl Slow {
    fn new(device: &Loop) -> Option<Self> {
        let groups = Sense::default().cgroups().expect("Linux");
        let file = groups.v1_with("blkio").map(|of| of.mount_point.join("blkio.throttle.read_bps_device"));
        let number = fs::read_to_string(format!("/sys/block/{}/dev", device.name())).expect("a disk");
        let number = number.trim().to_owned();
        match file.map(|file| fs::write(&file, format!("{number} 6291456")).map(|()| file)) {
            Some(Ok(file)) => Some(Self { file, number }),
            refused => {
                brisk_requires::skip(Capability::Groups, format!("reads cannot be limited: {refused:?}"));
                None
            }
        }
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let _ = fs::write(&self.file, format!("{} 0", self.number));
    }
}

/// What an action reads ahead of a launch.
fn asked_bytes(state: &ActionState) -> u64 {
    match &state.resolved.what {
        Once::Prefetch { pieces, .. } => pieces.iter().map(|piece| piece.size_bytes).sum(),
        _ => 0,
    }
}

/// What is in memory of both files.
fn resident(dir: &Path) -> u64 {
    let both = ["mapped", "read"].map(|name| dir.join(name)).into();
    let found = Sense::default().launch_files(&[std::process::id()], Some(&both), &|_| false).expect("readable");
    let of_both = found.files.iter().filter(|one| both.contains(Path::new(&one.file.path)));
    of_both.flat_map(|one| &one.used).map(|range| range.pages * PAGE as u64).sum()
}

fn launches_when(daemon: &Briskd, wanted: impl Fn(&AppLaunches) -> bool) -> AppLaunches {
    let begun = Instant::now();
    let mut client = daemon.client();
    loop {
        let all: Launches = client.call("GetLaunches", &[("app", ID.into())], "launches").expect("it answers");
        if let Some(found) = all.apps.iter().find(|one| wanted(one)) {
            return found.clone();
        }
        assert!(begun.elapsed() < PATIENCE, "{all:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The trial of the app; empty before the first episode.
fn trials(daemon: &Briskd) -> Vec<SubjectTrial> {
    let all: Trials = daemon.client().call("GetTrials", &[], "trials").expect("it answers");
    let name = format!("app {ID}");
    all.engines.into_iter().flat_map(|of| of.subjects).filter(|of| of.subject == name).collect()
}

/// By which rule the reading ahead of this launch was dropped; nothing where none was requested, as while memory is
/// short.
fn dropped_by(status: &Status, group: &str) -> Option<Option<Rule>> {
    let is_it = |state: &&ActionState| {
        matches!(&state.resolved.what, Once::Prefetch { group: of, .. } if is_meant(of, group))
            && (state.outcome == Outcome::HeldOut || asked_bytes(state) > 0)
    };
    let state = status.actions.iter().find(is_it)?;
    Some((state.outcome == Outcome::HeldOut).then_some(state.resolved.rule))
}

#[test]
fn launches_are_held_out_by_turns_and_a_replay_of_the_record_decides_alike() {
    requires!(Groups, Mount, Loop, Program("mkfs.ext4"));
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    device.set("rotational", "0");
    let own = Mounted::new(&device);
    // A launch that waits for nothing tells nothing, and this disk may be as fast as memory.
    let Some(_slow) = Slow::new(&device) else { return };
    // Most of what a launch uses, so that it is cold although the shell is in memory.
    let data = own.path().join("data");
    fs::write(&data, vec![7; 3 << 20]).expect("written");
    if let Err(error) = OpenedFiles::watch(&Sense::default()) {
        return brisk_requires::skip(Capability::Mount, error);
    }
    // All engines, by their evidence.
    let daemon = Briskd::start(place(&[], &format!("[prefetch]\nprivate = []\n{FROM_THE_TAP}")), &[]);
    let launch = |nth: u32| {
        evict(&data);
        let v2 = Sense::default().cgroups().expect("Linux").v2.expect("mounted");
        let mut reads = Command::new("sh");
        reads.args(["-c", "read go; exec tail -c +1 -f \"$1\" >/dev/null", "reads"]).arg(&data);
        let mut app = App::with(&v2.mount_point.join(group_of(nth)), &mut reads).expect("root makes groups");
        app.begin();
        launches_when(&daemon, |of| of.launches == u64::from(nth));
        app.go();
        app
    };
    let first = launch(1);
    launches_when(&daemon, |of| of.learned == 1);
    drop(first);
    // What it requests is dropped, as it only observes: not shown among actions, and it has learned what it needs.
    let mut observed = None;
    let mut nth = 1;
    while observed.is_none() && nth < 20 {
        nth += 1;
        let running = launch(nth);
        let has_ended = |app: &brisk_core::app::App| is_meant(&app.group, &group_of(nth)) && !app.launching;
        let status = daemon.status_when(|status| status.apps.iter().any(has_ended));
        assert_eq!(dropped_by(&status, &group_of(nth)), None);
        observed = trials(&daemon).pop();
        drop(running);
    }
    let observed = observed.expect("one of the launches had something to request");
    assert_eq!((observed.phase, observed.learned, observed.acted.episodes), (Phase::OnTrial, 1, 0));
    let mut dropped = Vec::new();
    // A launch that waited for nothing may tell nothing: another pair begins then.
    for nth in nth + 1..60 {
        let running = launch(nth);
        let has_ended = |app: &brisk_core::app::App| is_meant(&app.group, &group_of(nth)) && !app.launching;
        let status = daemon.status_when(|status| status.apps.iter().any(has_ended));
        dropped.extend(dropped_by(&status, &group_of(nth)));
        drop(running);
        if trials(&daemon)[0].pairs >= 2 {
            break;
        }
    }
    assert!(dropped.contains(&None) && dropped.contains(&Some(Rule::HeldOut)), "{dropped:?}");
    let found = trials(&daemon).remove(0);
    assert!(found.pairs >= 2 && found.acted.episodes >= 2 && found.held_out.episodes >= 2, "{found:?}");
    assert!(dropped.iter().all(|rule| matches!(rule, None | Some(Rule::HeldOut))), "{dropped:?}");

    // A person's choice is kept, and so are the pairs.
    let to = [("engine", "prefetch".into()), ("to", "off".into())];
    let switched: Trials = daemon.client().call("SetTrial", &to, "trials").expect("root may");
    assert!(switched.engines.iter().any(|of| of.ladder == brisk_api::Ladder::Off), "{switched:?}");
    let (status, dir) = daemon.end(Signal::TERM);
    assert!(status.success(), "{status}");
    let mut replay = Replay::new(None);
    let lost = brisk_record::read_with_older_part(&dir.path().join("daemon.brisk"), |item| {
        replay.take(item);
        Ok::<(), brisk_record::Error>(())
    });
    assert!(!lost.expect("a record").is_damage());
    let replayed = replay.end();
    assert_eq!((replayed.differing_rounds, replayed.differences), (0, Vec::new()));
    assert!(replayed.rounds > 20, "{}", replayed.rounds);
    let daemon = Briskd::start(dir, &[]);
    assert_eq!(trials(&daemon), [found]);
    let all: Trials = daemon.client().call("GetTrials", &[], "trials").expect("it answers");
    let of = all.engines.iter().find(|of| of.engine == "prefetch").expect("it runs");
    assert_eq!(of.ladder, brisk_api::Ladder::Off);
    let known: bool = daemon.client().call("Forget", &[("app", ID.into())], "known").expect("it answers");
    assert!(known && trials(&daemon).is_empty(), "{:?}", trials(&daemon));
}

#[test]
fn what_a_launch_maps_and_reads_is_read_ahead_of_the_next_one() {
    requires!(Groups, Mount, Loop, Program("mkfs.ext4"));
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    // That of the machine may be one that rotates, of which nothing is learned.
    device.set("rotational", "0");
    let own = Mounted::new(&device);
    for (name, pages) in [("mapped", MAPPED_PAGES), ("read", READ_PAGES)] {
        fs::write(own.path().join(name), vec![7; pages * PAGE]).expect("written");
    }
    let watches = OpenedFiles::watch(&Sense::default()).is_ok();
    let daemon = Briskd::start(place(&[], &format!("{CONFIG}{FROM_THE_TAP}")), &[]);
    let evict_both = || ["mapped", "read"].iter().for_each(|name| evict(&own.path().join(name)));

    evict_both();
    let Some(mut first) = app(own.path(), 1) else { return };
    first.begin();
    // The daemon watches from the round on that counts the launch.
    launches_when(&daemon, |of| of.launches == 1);
    first.go();
    let learned = launches_when(&daemon, |of| of.learned == 1);
    let bytes = ((TOUCHED.len() + if watches { READ_PAGES } else { 0 }) * PAGE) as u64;
    assert!(learned.files >= 2 && learned.planned_bytes >= bytes, "{learned:?}");
    drop(first);

    evict_both();
    // The second one waits for ever: all that the device reads is read ahead.
    let Some(second) = app(own.path(), 2) else { return };
    second.begin();
    let status = daemon.status_when(|status| status.actions.iter().any(|state| asked_bytes(state) > 0));
    assert_eq!(status.actions.iter().map(asked_bytes).sum::<u64>(), learned.planned_bytes);
    let begun = Instant::now();
    while resident(own.path()) < bytes {
        assert!(begun.elapsed() < PATIENCE, "{} bytes are in memory", resident(own.path()));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(resident(own.path()) < (MAPPED_PAGES * PAGE) as u64, "no more than was used, and what lies between");
    drop(second);

    // What is forgotten is not read ahead.
    let known: bool = daemon.client().call("Forget", &[("app", ID.into())], "known").expect("it answers");
    assert!(known);
    let all: Launches = daemon.client().call("GetLaunches", &[("app", ID.into())], "launches").expect("it answers");
    assert!(all.active && all.apps.is_empty(), "{all:?}");
}

#[test]
fn an_app_is_in_memory_before_it_is_launched_again() {
    requires!(Groups, Mount, Loop, Program("mkfs.ext4"));
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    device.set("rotational", "0");
    let own = Mounted::new(&device);
    // Most of what a launch uses, so that it is cold although the shell is in memory.
    let data = own.path().join("data");
    fs::write(&data, vec![7; 3 << 20]).expect("written");
    if let Err(error) = OpenedFiles::watch(&Sense::default()) {
        return brisk_requires::skip(Capability::Mount, error);
    }
    let memory = Sense::default().mem_info().expect("Linux");
    if memory.free_bytes < 320 << 20 {
        return brisk_requires::skip(Capability::Groups, "less than 320 MiB of memory are free");
    }
    // What others do on another disk does not count.
    let daemon = Briskd::start(place(&[device.name()], CONFIG), &[]);
    let launch = |nth: u32| {
        evict(&data);
        let v2 = Sense::default().cgroups().expect("Linux").v2.expect("mounted");
        let mut reads = Command::new("sh");
        reads.args(["-c", "read go; exec tail -c +1 -f \"$1\" >/dev/null", "reads"]).arg(&data);
        let mut app = App::with(&v2.mount_point.join(group_of(nth)), &mut reads).expect("root makes groups");
        app.begin();
        launches_when(&daemon, |of| of.launches == u64::from(nth));
        app.go();
        let has_ended = |app: &brisk_core::app::App| is_meant(&app.group, &group_of(nth)) && !app.launching;
        daemon.status_when(|status| status.apps.iter().any(has_ended));
        let found = launches_when(&daemon, |_| true);
        assert!(found.ready.since_unix_ms.is_none() && found.ready.why_not.is_some(), "it runs: {found:?}");
        found.exact
    };
    // The first launches may be left alone, as the file system writes after it was made; of those that find most in
    // memory, three teach as much as a cold one.
    assert!((1..=8).any(launch), "no launch was learned");
    evict(&data);
    let resident = || {
        let of = [data.clone()].into();
        let found = Sense::default().launch_files(&[std::process::id()], Some(&of), &|_| false).expect("readable");
        let of_data = found.files.iter().filter(|one| Path::new(&one.file.path) == data);
        of_data.flat_map(|one| &one.used).map(|range| range.pages * PAGE as u64).sum::<u64>()
    };
    assert_eq!(resident(), 0);
    let ready = launches_when(&daemon, |of| of.ready.since_unix_ms.is_some()).ready;
    assert_eq!(resident(), 3 << 20, "{ready:?}");
    let status = daemon.status_when(|status| status.prefetched.as_ref().is_some_and(|of| of.ready_apps == 1));
    let is_it =
        |state: &&ActionState| matches!(&state.resolved.what, Once::MakeReady { group, .. } if group.ends_with(ID));
    assert_eq!(status.actions.iter().filter(is_it).count(), 1, "once: {:?}", status.actions);
    assert!(ready.read_bytes >= 3 << 20 && status.prefetched.expect("it runs").ready_day_bytes >= ready.read_bytes);
}
