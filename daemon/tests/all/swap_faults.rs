//! Faults of a running daemon with the engine for swap, each with a real app and a swap area of its own. After each of
//! them nothing is frozen, the app has all its bytes, the settings are as before, and the daemon lives. Needs root;
//! skipped with the reason elsewhere.

use crate::harness;
use crate::in_daemon;
use crate::swapped;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use brisk_api::{AppPages, ClientError, Status};
use brisk_core::action::{AddressRange, Once};
use brisk_core::outcome::Outcome;
use brisk_core::reason::Value;
use brisk_daemon::replay::{Replay, Replayed};
use brisk_requires::{Capability, available};
use harness::{App, Briskd, configure, place, run, turn};
use in_daemon::{AREA_MIB, SHORT, Swapped, front, pages};
use rustix::process::Signal;
use swapped::{Kind, PAGE, PAGES, SHARED_PAGES, Swap, swap_of};

const MIB: u64 = 1 << 20;
/// What a return uses, and what it leaves in swap.
const HOT: (u64, u64) = (100, 1100);
const COLD: (u64, u64) = (1200, PAGES);
const NO_ENGINE: &str = "[engines]\norder = []\n";

#[test]
#[ignore = "is run by another test"]
fn app_that_uses_its_pages() {
    swapped::be_the_app();
}

/// A daemon for which memory is short, with an app in front. It knows what a return to it touches ([`HOT`]); the rest
/// was left in swap, and is in memory again.
struct Running<'a> {
    daemon: Briskd,
    it: Swapped,
    /// Another app, to which the user goes.
    other: App,
    other_name: String,
    /// Last, since apps may have memory in it.
    swap: Option<Swap<'a>>,
}

/// Settings that the engine changes.
fn settings() -> BTreeMap<&'static str, String> {
    let names =
        ["swappiness", "watermark_scale_factor", "min_free_kbytes", "dirty_writeback_centisecs", "page-cluster"];
    let value = |name| std::fs::read_to_string(Path::new("/proc/sys/vm").join(name)).expect("a setting");
    names.map(|name| (name, value(name))).into()
}

/// Runs `fault`, and checks what holds after each. Gives the directory of the daemon, with its record.
fn with(
    id: &str,
    (kind, area_mib, config): (Kind, u64, &str),
    fault: impl FnOnce(&mut Running<'_>),
) -> Option<tempfile::TempDir> {
    use Capability::{Groups, Loop, Mount, Nice, Program, Swap, SwapFile};
    available(&[
        Groups,
        Mount,
        Loop,
        Nice,
        Swap,
        SwapFile,
        Program("mkfs.ext4"),
        Program("mkswap"),
        Program("setsid"),
    ])?;
    let _turn = turn();
    let own = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let swap = Some(swap_of(own.path(), area_mib)?);
    let before = settings();
    let it = Swapped::start(id, kind, own.path());
    let (other, other_name) = another("other")?;
    let daemon = Briskd::start(place(&[], config), &[]);
    let mut running = Running { daemon, it, other, other_name, swap };
    running.teach();
    let trouble = running.daemon.status().trouble;
    fault(&mut running);
    let Running { daemon, it, other, swap, .. } = running;
    assert_eq!(daemon.status().trouble, trouble);
    let (status, dir) = daemon.end(Signal::TERM);
    assert!(status.success(), "{status}");
    assert_eq!(settings(), before);
    let left: Vec<_> = std::fs::read_dir(dir.path().join("run/journal")).expect("a directory").collect();
    assert!(left.is_empty(), "{left:?}");
    if Path::new("/proc").join(it.app.pid().to_string()).exists() {
        assert!(!it.is_frozen());
        let mut it = it;
        it.app.use_pages(0, PAGES);
    }
    drop((other, swap));
    Some(dir)
}

/// An app that does nothing, and its group.
fn another(id: &str) -> Option<(App, String)> {
    let v2 = brisk_sense::Sense::default().cgroups().expect("Linux").v2.expect("mounted");
    let name = format!("app-{id}-{}.scope", std::process::id());
    let app = App::new(&v2.mount_point.join(&name))?;
    app.begin();
    Some((app, name))
}

impl Running<'_> {
    fn teach(&mut self) {
        let Self { daemon, it, .. } = self;
        daemon.status_when(|status| status.apps.iter().any(|app| brisk_core::group::is_meant(&app.group, &it.name)));
        it.swap_out();
        self.comes_back();
    }

    fn pages(&self) -> AppPages {
        pages(&self.daemon, &self.it.name)
    }

    /// The user goes to the other app.
    fn goes(&self) {
        front(&self.daemon, Some(&self.other_name));
    }

    /// The same, and what a return leaves of the app is written out.
    fn leave(&self) {
        self.goes();
        let (from, to) = COLD;
        self.daemon.status_when(|_| self.it.swapped(from, to) > (to - from) * 9 / 10);
        assert!(self.it.is_frozen());
    }

    /// The app comes back with all its bytes, and uses the others when its return has ended: they stay cold.
    fn comes_back(&mut self) {
        front(&self.daemon, Some(&self.it.name));
        self.it.app.use_pages(HOT.0, HOT.1);
        self.daemon.line(&format!("the return to {} ended", self.it.name));
        self.it.app.use_pages(0, PAGES);
        assert!(!self.it.is_frozen());
    }
}

/// What was asked to be written of an app.
fn asked(status: &Status, it: &Swapped) -> Vec<AddressRange> {
    let of = |state: &brisk_core::state::ActionState| match &state.resolved.what {
        Once::PageOut { ranges, .. } if state.outcome != Outcome::Dropped => ranges.clone(),
        _ => Vec::new(),
    };
    // An app before it may have had its name.
    status.actions.iter().flat_map(of).filter(|range| range.pid == it.app.pid()).collect()
}

fn has_note(status: &Status, rule: &str) -> bool {
    status.notes.iter().any(|note| note.reason.rule == rule)
}

fn replayed(dir: &Path) -> Replayed {
    let mut replay = Replay::new(None);
    let lost = brisk_record::read_with_older_part(&dir.join("daemon.brisk"), |item| {
        replay.take(item);
        Ok::<(), brisk_record::Error>(())
    });
    assert!(!lost.expect("a record").is_damage());
    replay.end()
}

#[test]
fn a_full_area_takes_no_more_and_the_app_runs_on() {
    with("full", (Kind::Plain, 8, SHORT), |running| {
        let own = tempfile::tempdir().expect("a directory");
        let mut other = Swapped::start("ballast", Kind::Plain, own.path());
        let free_bytes = || {
            let swaps = brisk_sense::Sense::default().swaps().expect("readable");
            swaps.iter().map(|area| area.size_bytes - area.used_bytes).sum::<u64>()
        };
        // Slots of what the first app has read back are free only when they are needed.
        for _ in 0..8 {
            other.swap_out();
        }
        assert!(free_bytes() < 2 * MIB, "{} bytes are free", free_bytes());
        running.goes();
        let status = running.daemon.status_when(|status| has_note(status, "nothing_may_be_written"));
        let note = status.notes.iter().find(|note| note.reason.rule == "nothing_may_be_written").expect("a note");
        let free = note.reason.facts.iter().find(|fact| fact.name == "swap_free_mib").map(|fact| fact.value.clone());
        assert!(matches!(free, Some(Value::Number(free)) if free < 2.0), "{note:?}");
        running.comes_back();
        other.app.use_pages(0, PAGES);
    });
}

#[test]
fn an_app_that_is_killed_while_it_is_out_is_forgotten() {
    with("killed", (Kind::Plain, AREA_MIB, SHORT), |running| {
        let own = tempfile::tempdir().expect("a directory");
        running.leave();
        for round in 0..4 {
            let name = running.it.name.clone();
            running.it.app.kill();
            running.daemon.line(&format!("{name} ended"));
            assert!(running.daemon.status().apps.iter().all(|app| !brisk_core::group::is_meant(&app.group, &name)));
            running.it.app.end();
            // Another app begins under the same name.
            running.it = Swapped::start("killed", Kind::Plain, own.path());
            assert!(!running.it.is_frozen());
            running.daemon.line(&format!("launch of {name} ended"));
            running.teach();
            running.goes();
            // The next kill comes as soon as pages are being written, or it is frozen, or before either; the last one
            // has time.
            let Running { daemon, it, .. } = &running;
            match round {
                0 => drop(daemon.status_when(|status| !asked(status, it).is_empty())),
                1 => drop(daemon.status_when(|_| it.is_frozen())),
                2 => {}
                _ => running.leave(),
            }
        }
        running.comes_back();
    });
}

#[test]
fn memory_of_a_child_made_after_the_scan_is_left() {
    with("parent", (Kind::Plain, AREA_MIB, SHORT), |running| {
        running.goes();
        // It is frozen soon.
        running.it.app.fork();
        let Running { daemon, it, .. } = &running;
        daemon.status_when(|_| it.is_frozen());
        let status = daemon.status_when(|status| has_note(status, "page_out_left_its_pages"));
        assert!(!asked(&status, it).is_empty());
        assert!(it.swapped(0, PAGES) < (PAGES - COLD.0) / 2);
        running.comes_back();
    });
}

#[test]
fn locked_and_shared_memory_is_neither_cold_nor_written() {
    with("locker", (Kind::Plain, AREA_MIB, SHORT), |running| {
        let locked = (2000, 3000);
        running.it.app.lock(locked.0, locked.1);
        let shared = running.it.app.share();
        running.goes();
        let Running { daemon, it, .. } = &running;
        daemon.status_when(|_| {
            let out = it.swapped(COLD.0, locked.0) + it.swapped(locked.1, PAGES);
            out > (PAGES - COLD.0 - (locked.1 - locked.0)) * 9 / 10
        });
        assert_eq!(it.swapped(locked.0, locked.1), 0);
        // Nothing of it is left to be written, so locked and shared pages are not counted.
        daemon.status_when(|_| running.pages().pages.is_some_and(|pages| pages.cold_bytes < MIB));
        let shared = AddressRange { pid: it.app.pid(), start: shared, size_bytes: SHARED_PAGES * PAGE as u64 };
        let kept = [it.range(locked.0, locked.1 - locked.0), shared];
        let meets =
            |a: &AddressRange, b: &AddressRange| a.start < b.start + b.size_bytes && b.start < a.start + a.size_bytes;
        let asked = asked(&daemon.status(), it);
        assert!(
            !asked.is_empty() && asked.iter().all(|range| kept.iter().all(|kept| !meets(range, kept))),
            "{asked:?}"
        );
        running.comes_back();
    });
}

#[test]
fn ten_thousand_mappings_delay_no_answer() {
    let dir = with("mappings", (Kind::Mappings, AREA_MIB, SHORT), |running| {
        running.goes();
        let (mut slowest, mut client) = (Duration::ZERO, running.daemon.client());
        while running.it.swapped(COLD.0, COLD.1) < (COLD.1 - COLD.0) * 9 / 10 {
            let begun = Instant::now();
            let _: Status = client.call("GetStatus", &[], "status").expect("it answers");
            slowest = slowest.max(begun.elapsed());
        }
        let begun = Instant::now();
        running.comes_back();
        println!("slowest answer {slowest:?}, return {:?}", begun.elapsed());
        assert!(slowest < Duration::from_secs(2), "{slowest:?}");
        let status = running.daemon.status();
        assert!(status.cost.rss_bytes < 64 << 20, "{} bytes", status.cost.rss_bytes);
        println!("rss {} MiB, record {:?}", status.cost.rss_bytes >> 20, status.record);
    });
    let Some(dir) = dir else { return };
    let learned = std::fs::metadata(dir.path().join("learned/mars/learned.json")).expect("kept").len();
    assert!(learned < MIB, "{learned} bytes");
    // Scans of so many mappings are not recorded, so that a replay cannot decide by them.
    let found = replayed(dir.path());
    assert!(found.complaints.is_empty() && (1..found.rounds).contains(&found.differing_rounds), "{found:?}");
}

#[test]
fn huge_pages_are_written_and_come_back() {
    with("huge", (Kind::Huge, AREA_MIB, SHORT), |running| {
        // The return has split them.
        running.it.app.join_pages();
        let smaps = || std::fs::read_to_string(format!("/proc/{}/smaps", running.it.app.pid())).expect("it runs");
        let huge_kib = |text: String| -> u64 {
            let of = |line: &str| line.strip_prefix("AnonHugePages:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok();
            text.lines().filter_map(of).sum()
        };
        assert!(huge_kib(smaps()) >= 15 << 10, "{} KiB of huge pages", huge_kib(smaps()));
        running.leave();
        running.comes_back();
    });
}

#[test]
fn a_launch_thaws_the_app_at_once() {
    with("second", (Kind::Plain, AREA_MIB, SHORT), |running| {
        running.leave();
        // A second process joins the frozen group, and the launch is told.
        let v2 = brisk_sense::Sense::default().cgroups().expect("Linux").v2.expect("mounted");
        let dir = v2.mount_point.join(&running.it.name);
        let mut second = std::process::Command::new("sleep").arg("600").spawn().expect("it starts");
        std::fs::write(dir.join("cgroup.procs"), second.id().to_string()).expect("moved");
        // The group is frozen again once the second process is.
        running.daemon.status_when(|_| running.it.is_frozen());
        let begun = Instant::now();
        let pid = [("pid", running.it.app.pid().into())];
        running.daemon.client().answer("LaunchBegins", &pid).expect("it runs");
        running.daemon.status_when(|_| !running.it.is_frozen());
        println!("told: thawed after {:?}", begun.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(1));
        second.kill().and_then(|()| second.wait()).expect("it ends");
        running.comes_back();

        // A second group of the app is seen.
        running.leave();
        let dir = v2.mount_point.join(format!("app-second-{}.scope", running.it.app.pid()));
        let Some(second) = App::new(&dir) else { return };
        let begun = Instant::now();
        second.begin();
        running.daemon.status_when(|_| !running.it.is_frozen());
        println!("seen: thawed after {:?}", begun.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(1));
        running.it.app.use_pages(0, PAGES);
        drop(second);
        running.comes_back();
    });
}

#[test]
fn swap_that_is_switched_off_meanwhile_loses_nothing() {
    with("swapoff", (Kind::Plain, AREA_MIB, SHORT), |running| {
        running.goes();
        running.daemon.status_when(|status| !asked(status, &running.it).is_empty());
        drop(running.swap.take());
        let status = running.daemon.status_when(|status| has_note(status, "nothing_may_be_written"));
        assert_eq!((status.paused, running.it.swapped(0, PAGES)), (false, 0));
        running.comes_back();
    });
}

/// Waits until the app is known to rest: what works is not frozen, and one that is refused is not asked for again soon.
fn rests(running: &Running<'_>) {
    /// What was observed before this is not current any more: an observation holds for two seconds.
    const LATER_MS: u64 = 5_000;
    let later_unix_ms = running.daemon.status().at_unix_ms + LATER_MS;
    let name = running.it.name.clone();
    let rests = |app: &brisk_core::app::App| {
        brisk_core::group::is_meant(&app.group, &name) && app.activity.works == Some(false)
    };
    let is_later = |status: &Status| status.at_unix_ms >= later_unix_ms;
    running.daemon.status_when(|status| is_later(status) && status.apps.iter().any(rests));
}

#[test]
fn reset_and_another_configuration_thaw_the_app() {
    with("reset", (Kind::Plain, AREA_MIB, SHORT), |running| {
        let freezes = |running: &Running<'_>| {
            let status = running.daemon.status();
            let is_freeze = |state: &&brisk_core::state::ActionState| {
                matches!(state.resolved.what, Once::Freeze { .. }) && state.outcome == Outcome::Done
            };
            status.actions.iter().filter(is_freeze).count()
        };
        running.leave();
        let answer = running.daemon.client().answer("Reset", &[]).expect("restored");
        assert!(answer["restored"].to_string().contains(&running.it.name), "{answer:?}");
        assert!(!running.it.is_frozen());
        running.it.app.use_pages(0, PAGES);
        assert!(running.daemon.status().paused && !running.it.is_frozen());

        // The same configuration: it is frozen again before anything is written.
        let before = freezes(running);
        rests(running);
        running.daemon.client().answer("Reload", &[]).expect("usable");
        let (from, to) = COLD;
        running.daemon.status_when(|_| running.it.swapped(from, to) > (to - from) * 9 / 10);
        assert!(running.it.is_frozen() && freezes(running) > before);

        // Without the engine.
        configure(running.daemon.dir.path(), &[], NO_ENGINE);
        running.daemon.client().answer("Reload", &[]).expect("usable");
        assert!(!running.it.is_frozen());
        running.it.app.use_pages(0, PAGES);
        let status = running.daemon.status();
        assert!(status.engines.is_empty() && !running.it.is_frozen());
        // What was written today stays in the budget of the machine.
        assert!(status.swap_writes.is_some_and(|writes| writes.written_bytes > 0));

        // With it again: it knows what returns touch, and not any more what they left.
        configure(running.daemon.dir.path(), &[], SHORT);
        rests(running);
        running.daemon.client().answer("Reload", &[]).expect("usable");
        running.daemon.status_when(|_| running.it.is_frozen());
        let known = pages(&running.daemon, &running.it.name).pages.expect("scanned");
        assert!(known.hot_bytes > 0 && known.cold_bytes == 0, "{known:?}");
        running.comes_back();
    });
}

#[test]
fn wrong_values_are_refused_and_what_is_frozen_stays_held() {
    let wrong = [
        ("hot_min_percent = 101", "hot_min_percent = 101: write a number from 0 to 100"),
        ("reserve_min_percent = 50", "reserve_min_percent = 50: write no more than reserve_max_percent = 25"),
        ("window_max_s = 0", "write a number from 1 to 60"),
        (
            "flash = { random_read_us = 1, read_mib_per_s = 1, write_mib_per_s = 0, parallel_reads = 1 }",
            "flash = { write_mib_per_s = 0 }",
        ),
        ("mode = \"fast\"", "unknown variant `fast`, expected `adaptive` or `paper`"),
        ("grace_s = -1", "invalid value: integer `-1`, expected u64"),
        ("grace = 1", "unknown field `grace`"),
    ];
    for (line, why) in wrong {
        let dir = place(&[], &format!("[engines]\norder = [\"mars\"]\ntrial = false\n[mars]\n{line}\n"));
        let (status, said) = run(dir.path(), &["--once"]);
        assert!(status.code() == Some(2) && said.contains(why) && said.contains("brisk.toml"), "{status}: {said}");
    }
    with("wrong", (Kind::Plain, AREA_MIB, SHORT), |running| {
        running.leave();
        configure(running.daemon.dir.path(), &[], &SHORT.replace("grace_s = 0", "grace_s = -1"));
        let refused = running.daemon.client().answer("Reload", &[]).expect_err("not usable");
        assert!(matches!(&refused, ClientError::Refused { name, .. } if name == "BadConfig"), "{refused}");
        assert!(running.it.is_frozen());
        running.comes_back();
    });
}

#[test]
fn a_session_with_swap_is_decided_again_as_it_was() {
    let dir = with("replayed", (Kind::Plain, AREA_MIB, SHORT), |running| {
        running.leave();
        running.comes_back();
        running.leave();
        running.comes_back();
    });
    let Some(dir) = dir else { return };
    let found = replayed(dir.path());
    assert!(found.rounds >= 20 && found.sessions == 1, "{found:?}");
    assert_eq!((found.differing_rounds, found.complaints.len()), (0, 0), "{found:?}");
}

#[test]
fn two_engines_for_memory_do_not_act_on_one_app_at_once() {
    let config = SHORT.replace("[\"mars\"]", "[\"mars\", \"iram\"]")
        + "[iram]\nfreeze = true\nreserve_min_percent = 99.99\nreserve_max_percent = 100\nends = \"never\"\n";
    let dir = with("both", (Kind::Plain, AREA_MIB, &config), |running| {
        let span_s = std::env::var("BRISK_TEST_SECONDS").map_or(10, |text| text.parse().expect("a number"));
        let begun = Instant::now();
        let mut returns = 0;
        while begun.elapsed() < Duration::from_secs(span_s) {
            running.leave();
            running.comes_back();
            returns += 1;
        }
        println!("{returns} returns");
    });
    let Some(dir) = dir else { return };
    let found = replayed(dir.path());
    assert_eq!((found.differing_rounds, found.complaints.len()), (0, 0), "{found:?}");
    // One engine takes memory from apps in each round.
    let (mut rounds, mut by) = (0, BTreeMap::<String, u64>::new());
    let lost = brisk_record::read_with_older_part(&dir.path().join("daemon.brisk"), |item| {
        if let brisk_record::Item::Decided(decided) = item {
            let takes = |state: &&brisk_core::state::ActionState| {
                let is_of_it = state.resolved.what.swaps_out() || matches!(state.resolved.what, Once::EndApp { .. });
                is_of_it && state.outcome != Outcome::Dropped
            };
            let engines: std::collections::BTreeSet<&str> =
                decided.actions.iter().filter(takes).map(|state| state.resolved.engine.as_str()).collect();
            assert!(engines.len() <= 1, "{:?}", decided.actions);
            rounds += 1;
            engines.iter().for_each(|engine| *by.entry((*engine).to_owned()).or_default() += 1);
        }
        Ok::<(), brisk_record::Error>(())
    });
    assert!(!lost.expect("a record").is_damage());
    println!("{rounds} decisions; of them with memory taken: {by:?}");
    assert!(by.contains_key("mars"), "{by:?}");
}
