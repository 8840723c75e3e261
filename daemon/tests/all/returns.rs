//! The engine for swap in a running daemon, with a real app and a swap area of its own: what a return touches is
//! learned, kept, and read back at the next one. Needs root.

use crate::harness;
use crate::in_daemon;
use crate::swapped;

use brisk_api::Status;
use brisk_requires::requires;
use harness::{Briskd, place, turn};
use in_daemon::{AREA_MIB, SHORT, Swapped, front, pages, read_back, written_out};
use rustix::process::Signal;
use swapped::{Kind, PAGE, PAGES, swap_of};

/// Evidence alone decides of the engine, whose trial has just begun.
const OBSERVES: &str = "[engines]\norder = [\"mars\"]\n[mars]\npage_out = false\n";
const BY_EVIDENCE: &str =
    r#"{"version":1,"seed":1,"kernel":"","base":"named","engines":{"mars":{"ladder":"auto","uses":0}}}"#;
const CONFIG: &str = "[engines]\norder = [\"mars\"]\ntrial = false\n[mars]\npage_out = false\n";

/// That the engine learned of 1,000 pages from a return, of which nothing was read back; their bytes.
fn has_taught(daemon: &Briskd, name: &str) -> u64 {
    // It hears of the return in the next round.
    let status = daemon.status_when(|_| pages(daemon, name).need_bytes.is_some());
    assert_eq!(read_back(&status, name), []);
    let known = pages(daemon, name).pages.expect("scanned");
    let bytes = 1000 * PAGE as u64;
    // The program itself touches some pages, too.
    assert!((bytes..bytes + bytes / 4).contains(&known.hot_bytes), "{known:?}");
    bytes
}

#[test]
#[ignore = "is run by another test"]
fn app_that_uses_its_pages() {
    swapped::be_the_app();
}

#[test]
fn what_returns_touch_is_learned_kept_and_read_back() {
    requires!(Groups, Mount, Loop, Swap, Nice, SwapFile, Program("mkfs.ext4"), Program("mkswap"), Program("setsid"));
    let _turn = turn();
    let own = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let Some(_swap) = swap_of(own.path(), AREA_MIB) else { return };
    let mut it = Swapped::start("returner", Kind::Plain, own.path());
    let daemon = Briskd::start(place(&[], CONFIG), &[]);
    daemon.status_when(|status| status.apps.iter().any(|app| brisk_core::group::is_meant(&app.group, &it.name)));

    // The first return teaches, and nothing of it is read back.
    it.swap_out();
    front(&daemon, Some(&it.name));
    it.app.use_pages(100, 1100);
    daemon.line(&format!("the return to {} ended", it.name));
    let bytes = has_taught(&daemon, &it.name);

    // It outlives the daemon.
    let (status, dir) = daemon.end(Signal::TERM);
    assert!(status.success());
    let daemon = Briskd::start(dir, &[]);
    daemon.status_when(|status| status.apps.iter().any(|app| brisk_core::group::is_meant(&app.group, &it.name)));
    it.swap_out();
    let known = pages(&daemon, &it.name).pages.expect("scanned");
    assert!(known.hot_swapped_bytes >= bytes * 9 / 10 && known.read_us > 0.0, "{known:?}");

    // The second return is read back: what the first one touched, as far as it is in swap, and little else.
    front(&daemon, Some(&it.name));
    let status = daemon.status_when(|status| !read_back(status, &it.name).is_empty());
    let read = read_back(&status, &it.name);
    let (from, to) = (it.range(100, 0).start, it.range(1100, 0).start);
    let hot: u64 =
        read.iter().map(|one| (one.start + one.size_bytes).min(to).saturating_sub(one.start.max(from))).sum();
    let all: u64 = read.iter().map(|range| range.size_bytes).sum();
    assert!(hot >= bytes * 9 / 10 && all < bytes + bytes / 4, "{hot} of {all} bytes are of its hot set of {bytes}");
    it.app.use_pages(100, 1100);
    daemon.line(&format!("the return to {} ended", it.name));

    // What is forgotten is not read back.
    let known: bool = daemon.client().call("Forget", &[("app", "returner".into())], "known").expect("it answers");
    assert!(known && pages(&daemon, &it.name).need_bytes.is_none());
    front(&daemon, None);
    it.swap_out();
    let before = read_back(&daemon.status(), &it.name);
    front(&daemon, Some(&it.name));
    it.app.use_pages(0, PAGES);
    daemon.line(&format!("the return to {} ended", it.name));
    // The engine hears of it in the next round.
    let status = daemon.status_when(|_| pages(&daemon, &it.name).need_bytes.is_some());
    assert_eq!(read_back(&status, &it.name), before);
    let (status, dir) = daemon.end(Signal::TERM);
    assert!(status.success());
    let text = std::fs::read_to_string(dir.path().join("learned/mars/learned.json")).expect("kept");
    assert!(text.contains("returner"), "the last return taught again: {text}");
}

#[test]
fn while_an_engine_observes_a_return_teaches_by_a_scan_before_it() {
    requires!(Groups, Mount, Loop, Swap, Nice, SwapFile, Program("mkfs.ext4"), Program("mkswap"), Program("setsid"));
    let _turn = turn();
    let own = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let Some(_swap) = swap_of(own.path(), AREA_MIB) else { return };
    let mut it = Swapped::start("learner", Kind::Plain, own.path());
    let other = Swapped::start("other", Kind::Plain, own.path());
    let dir = place(&[], OBSERVES);
    std::fs::create_dir(dir.path().join("learned")).expect("made");
    std::fs::write(dir.path().join("learned/trials.json"), BY_EVIDENCE).expect("written");
    let daemon = Briskd::start(dir, &[]);
    let is_there =
        |status: &Status, name: &str| status.apps.iter().any(|app| brisk_core::group::is_meant(&app.group, name));
    daemon.status_when(|status| is_there(status, &it.name) && is_there(status, &other.name));
    it.swap_out();
    front(&daemon, Some(&other.name));
    daemon.line(&format!("the next return to {} will teach", it.name));
    front(&daemon, Some(&it.name));
    it.app.use_pages(100, 1100);
    daemon.line(&format!("the return to {} ended", it.name));
    has_taught(&daemon, &it.name);
    let (status, _dir) = daemon.end(Signal::TERM);
    assert!(status.success());
}

#[test]
fn what_returns_leave_is_written_out_and_a_return_or_a_kill_thaws() {
    requires!(Groups, Mount, Loop, Swap, Nice, SwapFile, Program("mkfs.ext4"), Program("mkswap"), Program("setsid"));
    let _turn = turn();
    let own = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let Some(_swap) = swap_of(own.path(), AREA_MIB) else { return };
    let mut it = Swapped::start("leaver", Kind::Plain, own.path());
    let daemon = Briskd::start(place(&[], SHORT), &[]);
    daemon.status_when(|status| status.apps.iter().any(|app| brisk_core::group::is_meant(&app.group, &it.name)));
    it.swap_out();
    front(&daemon, Some(&it.name));
    it.app.use_pages(100, 1100);
    daemon.line(&format!("the return to {} ended", it.name));
    // Later on it has used all of its memory.
    it.app.use_pages(0, PAGES);
    assert_eq!(it.swapped(0, PAGES), 0);

    // What the return left in swap is written out, of the frozen app; what it touched stays.
    front(&daemon, None);
    daemon.status_when(|status| written_out(status, &it.name));
    daemon.status_when(|_| it.swapped(1200, PAGES) > (PAGES - 1200) * 9 / 10);
    assert!(it.is_frozen());
    assert_eq!(it.swapped(100, 1100), 0);
    assert_eq!(pages(&daemon, &it.name).pages.map(|pages| pages.hot_swapped_bytes), Some(0));

    // A return thaws it. So does the end of a daemon that is killed, whatever it does.
    front(&daemon, Some(&it.name));
    it.app.use_pages(0, PAGES);
    assert!(!it.is_frozen());
    let kills: u64 = std::env::var("BRISK_TEST_KILLS").map_or(3, |kills| kills.parse().expect("a number"));
    let (mut daemon, mut seen) = (Some(daemon), 0);
    for kill in 0..kills {
        let killed = daemon.take().expect("it runs");
        front(&killed, None);
        // In every second one after the freeze, else before it or in it.
        let rounds = killed.status().counts.rounds + if kill % 2 == 0 { u64::MAX / 2 } else { kill / 2 % 4 };
        killed.status_when(|status| status.counts.rounds >= rounds || it.is_frozen());
        seen += u64::from(it.is_frozen());
        let (_, dir) = killed.end(Signal::KILL);
        it.app.use_pages(0, PAGES);
        assert!(!it.is_frozen(), "kill {kill}");
        let next = Briskd::start(dir, &[]);
        front(&next, Some(&it.name));
        daemon = Some(next);
    }
    println!("killed {kills} times, frozen in {seen}");
    assert!(seen > 0 || kills == 0);
    let (status, _dir) = daemon.expect("it runs").end(Signal::TERM);
    assert!(status.success() && !it.is_frozen());
}
