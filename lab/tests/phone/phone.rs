//! Phones on this machine, with a root of some megabytes that is made up from this machine's own shell: needs root,
//! FUSE, loop devices and control groups.
//!
//! What a real image is like is not tested here: building one takes minutes and a network.

use crate::lab_guard;
use crate::phone_bench;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use brisk_lab::launch::{App, Launcher, Settings, Start};
use brisk_lab::phone::{NewPhone, Phone, Phones, SqliteSpec, Variant, WriterSpec};
use brisk_lab::results::{Cause, SplitMethod, Stage};
use brisk_requires::{Capability, requires, skip};
use lab_guard::{Guard, eventually, run};
use phone_bench::{Bench, flushes, run_in};
use serde_json::Value;

const MIB: u64 = 1 << 20;

#[test]
fn a_phone_comes_up_runs_programs_as_its_user_and_goes() {
    let Some(bench) = Bench::new() else { return };
    let listed = bench.up();
    let root = PathBuf::from(listed["root"].as_str().expect("a root"));
    assert_eq!(listed["trouble"], Value::Null);
    assert_eq!(bench.enter(&["id", "-u"]).trim(), "10000");
    assert_eq!(bench.enter(&["id", "-G"]).trim(), "10000");
    assert_eq!(
        bench.enter(&["sh", "-c", "cat .cache/page; echo $HOME; echo >/dev/null; cat /proc/self/comm"]),
        "cached/home/user\ncat\n"
    );
    assert_eq!(
        bench.enter(&["ls", "/dev"]),
        "fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n"
    );
    let variables = bench.enter(&["env"]);
    assert!(variables.contains("XDG_RUNTIME_DIR=/run/user/10000\n") && !variables.contains("BRISK"), "{variables}");
    bench.enter(&["sh", "-c", "echo hello >note; echo tmp >/tmp/file; echo run >$XDG_RUNTIME_DIR/file"]);
    assert_eq!(fs::metadata(root.join("home/user/note")).expect("brisk sees it").uid(), 10_000);
    // The file system is as large as the flash.
    let blocks: u64 = bench.enter(&["stat", "-f", "-c", "%b", "/"]).trim().parse().expect("a number");
    assert!(blocks * 4096 > 200 * MIB, "{blocks}");
    let table = bench.lab.brisk(&["phone", "list"]);
    assert!(table.contains("galaxy-s5-emmc") && table.contains("baseline") && table.contains("up"), "{table}");
    let refused = bench.lab.refused(&["phone", "enter", "--", "evince"]);
    assert!(refused.contains("cannot run evince in the phone: there is no such program"), "{refused}");
    bench.lab.brisk(&["phone", "down", "1"]);
    bench.nothing_is_left();
}

#[test]
fn two_phones_do_not_meet() {
    let Some(bench) = Bench::new() else { return };
    let (one, two) = (bench.up(), bench.up());
    assert_ne!(one["device"], two["device"]);
    let refused = bench.lab.refused(&["phone", "enter", "--", "id"]);
    assert!(refused.contains("there are 2 phones; name one"), "{refused}");
    bench.lab.brisk(&["phone", "enter", "1", "--", "sh", "-c", "echo one >who"]);
    assert!(!PathBuf::from(two["root"].as_str().expect("a root")).join("home/user/who").exists());
    bench.lab.brisk(&["phone", "down", "1"]);
    assert_eq!(bench.enter(&["id", "-u"]).trim(), "10000", "the other one stands");
    bench.lab.brisk(&["phone", "down", "--all"]);
    bench.nothing_is_left();
}

#[test]
fn processes_in_a_phone_end_with_it_and_users_of_its_files_are_named() {
    let Some(bench) = Bench::new() else { return };
    let root = PathBuf::from(bench.up()["root"].as_str().expect("a root"));
    let mut inside = bench.lab.command(&["phone", "enter", "--", "sleep", "1000"]).spawn().expect("brisk starts");
    eventually("it runs in the phone", || {
        fs::read_link(format!("/proc/{}/root", inside.id())).is_ok_and(|link| link == root)
    });
    let mut outside = Command::new("sleep").arg("1000").current_dir(root.join("home")).spawn().expect("sleep starts");
    let refused = bench.lab.refused(&["phone", "down", "1"]);
    assert!(
        refused.contains(&format!("in use by sleep ({})", outside.id())) && refused.contains("--force"),
        "{refused}"
    );
    assert!(inside.try_wait().expect("readable").is_none(), "a refusal changes nothing");
    outside.kill().expect("ended");
    outside.wait().expect("ended");
    let device = fs::File::open(bench.lab.carriers().first().expect("a device")).expect("it opens");
    let refused = bench.lab.refused(&["phone", "down", "1"]);
    assert!(refused.contains(&format!("({})", std::process::id())) && inside.try_wait().expect("readable").is_none());
    drop(device);
    bench.lab.brisk(&["phone", "down", "1"]);
    assert!(!inside.wait().expect("ended").success());
    bench.nothing_is_left();

    let root = PathBuf::from(bench.up()["root"].as_str().expect("a root"));
    let mut outside = Command::new("sleep").arg("1000").current_dir(root.join("home")).spawn().expect("sleep starts");
    let output = bench.lab.command(&["phone", "down", "1", "--force"]).output().expect("brisk starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    outside.kill().expect("ended");
    outside.wait().expect("ended");
    eventually("the device goes when its last user does", || bench.lab.carriers().is_empty());
    bench.nothing_is_left();
}

#[test]
fn a_phone_without_its_flash_is_named_and_cleared_up() {
    let Some(bench) = Bench::new() else { return };
    bench.up();
    let server = bench.lab.json(&["list"])[0]["server_pid"].as_u64().expect("a process");
    run("kill", &["-9", &server.to_string()]);
    eventually("it is noticed", || bench.lab.json(&["phone", "list"])[0]["trouble"].is_string());
    let refused = bench.lab.refused(&["phone", "enter", "--", "id"]);
    assert!(
        refused.contains("cannot be used: its flash device") && refused.contains("brisk lab phone down 1"),
        "{refused}"
    );
    bench.lab.brisk(&["phone", "down", "--all"]);
    bench.nothing_is_left();
}

#[test]
fn sync_off_keeps_flushes_from_the_flash() {
    let Some(bench) = Bench::new() else { return };
    let mut phone = bench.phone();
    let write = |phone: &Phone, how: &str| {
        let before = flushes(phone);
        run_in(phone, &["dd", "if=/dev/zero", "of=file", "bs=4096", "count=4", "status=none", how]);
        flushes(phone) - before
    };
    assert!(write(&phone, "conv=fsync") > 0);
    assert!(write(&phone, "conv=fdatasync") > 0);
    assert!(write(&phone, "oflag=dsync") > 0);
    phone.set_variant(Variant::SyncOff, &mut |_: &str| {}).expect("set");
    for how in ["conv=fsync", "conv=fdatasync", "oflag=dsync", "oflag=sync"] {
        assert_eq!(write(&phone, how), 0, "{how}");
    }
    // Programs that ask for nothing are as before.
    assert_eq!(run_in(&phone, &["cat", "/home/user/.cache/page"]), "cached");
    phone.set_variant(Variant::Baseline, &mut |_: &str| {}).expect("undone");
    assert!(write(&phone, "conv=fsync") > 0);
    phone.down(false).expect("down");
    bench.nothing_is_left();
}

#[test]
fn each_variant_does_what_it_says_and_is_undone() {
    let Some(bench) = Bench::new() else { return };
    let mut phone = bench.phone();
    let flash_root = phone.root();
    let has_journal = |phone: &Phone| {
        run("dumpe2fs", &["-h", phone.device().expect("a device").to_str().expect("UTF-8")]).contains("has_journal")
    };
    let kind_of = |path: &Path| run("stat", &["-f", "-c", "%T", path.to_str().expect("UTF-8")]).trim().to_owned();
    for variant in Variant::ALL.into_iter().cycle().skip(1).take(Variant::ALL.len()) {
        phone.set_variant(variant, &mut |_: &str| {}).expect("set");
        let home = phone.home();
        let database = fs::symlink_metadata(home.join("mail.db")).expect("there");
        assert_eq!(phone.root() != flash_root, variant == Variant::AllInRam, "{variant:?}");
        assert_eq!(kind_of(&home) == "tmpfs", variant == Variant::AllInRam, "{variant:?}");
        let cached = matches!(variant, Variant::CacheInRam | Variant::AllInRam);
        assert_eq!(kind_of(&home.join(".cache")) == "tmpfs", cached, "{variant:?}");
        assert_eq!(database.is_symlink(), variant == Variant::DatabasesInRam, "{variant:?}");
        assert_eq!(!has_journal(&phone), variant == Variant::NoJournal, "{variant:?}");
        // Whatever the variant, apps see the same.
        assert_eq!(run_in(&phone, &["sh", "-c", "cat /home/user/.cache/page"]), "cached", "{variant:?}");
        assert!(run_in(&phone, &["cat", "/home/user/mail.db"]).starts_with("SQLite format 3"), "{variant:?}");
        run_in(&phone, &["sh", "-c", "echo more >>/home/user/.cache/page; echo x >/home/user/.cache/fresh"]);
        assert!(run_in(&phone, &["cat", "/home/user/.cache/page"]).ends_with("more\n"), "{variant:?}");
        assert!(phone.flash().expect("the lab answers").timed);
        if !matches!(variant, Variant::CacheInRam | Variant::AllInRam) {
            fs::write(home.join(".cache/page"), "cached").expect("put back");
        }
    }
    assert_eq!(phone.variant(), Variant::Baseline);
    phone.down(false).expect("down");
    bench.nothing_is_left();
}

#[test]
fn a_phone_in_any_variant_goes_whole() {
    let Some(bench) = Bench::new() else { return };
    for variant in [Variant::AllInRam, Variant::CacheInRam, Variant::NoJournal] {
        let mut phone = bench.phone();
        phone.set_variant(variant, &mut |_: &str| {}).expect("set");
        drop(phone);
        bench.nothing_is_left();
    }
}

#[test]
fn the_writer_keeps_to_its_rate_and_stops_when_told() {
    let Some(bench) = Bench::new() else { return };
    let new = NewPhone { size_bytes: 512 * MIB, ..bench.new_phone(false) };
    let never = AtomicBool::new(false);
    let (phone, _) = Phones::new(bench.lab.dir()).up(&new, &never, &mut |_: &str| {}).expect("a phone");
    let program = [env!("CARGO_BIN_EXE_brisk-lab"), "lab", "phone", "write"].map(Into::into);
    let spec = WriterSpec { target_bytes_per_s: 2e6, sync_share: 0.5, ..WriterSpec::default() };
    let before = phone.flash().expect("the lab answers").requests;
    let mut writer = phone.start_writer(&program, &spec).expect("it starts");
    let pid = writer.pid();
    assert!(fs::read_to_string(writer.group().join("cgroup.procs")).expect("a group").contains(&pid.to_string()));
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    assert!(status.contains("Uid:\t10000\t10000\t10000\t10000"), "{status}");
    eventually("it writes", || writer.written().expect("it answers").syncs > 30);
    let written = writer.stop().expect("it had not failed");
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    // Never more than its rate, with one write and one transaction ahead in each stream.
    let most = spec.target_bytes_per_s * written.elapsed_s + f64::from(512 << 10) + f64::from(16 << 10);
    let all = written.install_bytes + written.sync_bytes;
    assert!(all as f64 <= most, "{written:?}");
    assert!(
        (written.install_bytes + written.sync_bytes + written.skipped_bytes) as f64
            > 0.5 * spec.target_bytes_per_s * written.elapsed_s - 2e6,
        "{written:?}"
    );
    let after = phone.flash().expect("the lab answers").requests;
    assert!(after.write.bytes - before.write.bytes >= written.sync_bytes, "what was synced is on the flash");
    // Several syncs may share one flush, and each has one.
    assert!(after.flush.requests - before.flush.requests >= written.syncs / 2, "{written:?}");
    let name = phone.home().join(".local/share/brisk-writer");
    let size: u64 =
        fs::read_dir(name).expect("its files").map(|e| e.expect("readable").metadata().expect("there").len()).sum();
    assert!(size < 140_000_000, "{size}");

    let error = phone.start_writer(&program, &WriterSpec { sync_share: 2.0, ..spec }).expect_err("no share");
    assert!(error.to_string().contains("not between 0 and 1"), "{error}");
    // A writer that is in the way of a phone that goes is ended with it.
    let writer = phone.start_writer(&program, &spec).expect("it starts");
    phone.down(false).expect("down");
    drop(writer);
    bench.nothing_is_left();
}

/// An app that does nothing but read, one request after the other: its waits for storage are the device's time.
///
/// The median of seven launches decides. A busy machine answers late, and a virtual one may hide events
/// (CONTRIBUTING.md): of 40 launches under other load none was off by a factor of 1.25, so that with 95 % confidence
/// fewer than 7 % are. Four of seven are then off with a probability below 35 * 0.07^4 = 0.08 %.
#[test]
fn waits_for_storage_are_what_the_device_counted() {
    const LAUNCHES: usize = 7;
    let Some(bench) = Bench::new() else { return };
    let phone = bench.phone();
    let (sense, stop) = (brisk_sense::Sense::default(), AtomicBool::new(false));
    let launcher = Launcher { sense: &sense, settings: Settings::default(), stop: &stop };
    let from = format!("if={}", phone.device().expect("a device").display());
    let words = ["dd", from.as_str(), "of=/dev/null", "iflag=direct", "bs=16k", "count=800"];
    let app = App::from_command(words.map(Into::into).into());
    // Each launch gives the waits and the requests in flight over the device's own time.
    let mut ratios = [Vec::new(), Vec::new()];
    for _ in 0..LAUNCHES {
        let mut busy_ns = || phone.flash().ok().map(|flash| flash.requests.busy_ns);
        let launched = launcher.launch_beside(&app, None, Start::AsItIs, &mut busy_ns).expect("a launch");
        let Some(split) = launched.run.split(Stage::Idle).filter(|split| split.method == SplitMethod::Bpf) else {
            return skip(Capability::Bpf, format!("{:?}", launched.warnings));
        };
        let device = launched.run.device.expect("the device counts");
        assert!(device.busy_ms > 10.0, "{device:?}");
        ratios[0].push(split.time_ms(Cause::StorageRead).expect("it reads") / device.busy_ms);
        ratios[1].push(device.in_flight_ms / device.busy_ms);
    }
    for ratios in &mut ratios {
        ratios.sort_by(f64::total_cmp);
        assert!((0.8..1.25).contains(&ratios[LAUNCHES / 2]), "{ratios:?}");
    }
}

#[test]
fn a_writer_that_may_not_write_says_why() {
    let Some(bench) = Bench::new() else { return };
    let phone = bench.phone();
    // Root's, where the phone's user may make nothing.
    fs::create_dir_all(phone.home().join(".local/share")).expect("made");
    let program = [env!("CARGO_BIN_EXE_brisk-lab"), "lab", "phone", "write"].map(Into::into);
    let mut reason = String::new();
    match phone.start_writer(&program, &WriterSpec::default()) {
        Err(error) => reason = error.to_string(),
        // It was asked before it tried.
        Ok(mut writer) => eventually("it says why", || {
            reason = writer.written().err().map(|error| error.to_string()).unwrap_or_default();
            !reason.is_empty()
        }),
    }
    let denied = std::io::Error::from(rustix::io::Errno::ACCESS).to_string();
    assert!(reason.contains(&denied), "{reason}");
    phone.down(false).expect("down");
    bench.nothing_is_left();
}

#[test]
fn sqlite_is_faster_when_nothing_is_synced() {
    let Some(bench) = Bench::new() else { return };
    let mut phone = bench.phone();
    let never = AtomicBool::new(false);
    let spec = SqliteSpec { span: Duration::from_millis(500), ..SqliteSpec::default() };
    let before = flushes(&phone);
    let synced = phone.sqlite(&spec, &never).expect("measured");
    let with_sync = flushes(&phone) - before;
    assert!(with_sync > 10, "{with_sync}");
    phone.set_variant(Variant::SyncOff, &mut |_: &str| {}).expect("set");
    let before = flushes(&phone);
    let free = phone.sqlite(&spec, &never).expect("measured");
    // The file system flushes by itself now and then.
    let without = flushes(&phone) - before;
    assert!(without < with_sync / 2, "{without} of {with_sync}");
    assert!(free.insert_per_s > synced.insert_per_s, "{free:?} {synced:?}");
    phone.down(false).expect("down");
}

#[test]
fn a_cache_that_is_too_small_is_told_before_anything_is_done() {
    requires!(Program("debootstrap"), Program("Xvfb"));
    let Some(lab) = Guard::new() else { return };
    let cache = lab.dir().join("cache");
    fs::create_dir(&cache).expect("made");
    run("mount", &["-t", "tmpfs", "-o", "size=8m", "none", cache.to_str().expect("UTF-8")]);
    let output = lab.command(&["phone", "--cache-dir", cache.to_str().expect("UTF-8"), "build"]).output();
    let left: Vec<_> = fs::read_dir(cache.join("phone")).expect("there").flatten().map(|e| e.file_name()).collect();
    run("umount", &[cache.to_str().expect("UTF-8")]);
    let output = output.expect("brisk starts");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("building the image takes about") && said.contains("BRISK_CACHE_DIR"), "{said}");
    assert_eq!(left, ["lock"], "nothing is left");
}

#[test]
fn bad_input_is_named_with_a_remedy() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let text = dir.path().join("text");
    fs::write(&text, "no image").expect("written");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("changed");
    let text = text.to_str().expect("UTF-8");
    let mounts = Capability::Mount.detect().is_ok();
    let as_root = |said: &'static str| if mounts { said } else { "needs CAP_SYS_ADMIN" };
    let cases: &[(&[&str], &str)] = &[
        (&["up", "--preset", "galaxy-s5"], as_root("did you mean 'galaxy-s5-emmc'")),
        (&["up", "--size", "1M"], as_root("at least 256 MiB")),
        (&["up", "--size", "big"], "is not a size"),
        (&["up", "--size", "900T"], as_root("the lab keeps its data in memory")),
        (&["up", "--apps", "netscape"], as_root("'netscape' is not an app of the phone")),
        (&["up", "--apps", "evinc"], as_root("did you mean 'evince'")),
        (&["up", "--image", "/no/such"], as_root("/no/such is not an image of a phone")),
        (&["up", "--image", text], as_root("it is too short")),
        (&["up", "--image", text, "--apps", "evince"], "--apps"),
        (&["up", "--set", "read_us"], "write KEY=VALUE"),
        (&["build", "--apps", "netscape"], "'netscape' is not an app of the phone"),
        (&["enter"], "there is no phone; bring one up with: brisk lab phone up"),
        (&["enter", "7"], "'7' is not a phone"),
        (&["enter", "../../etc"], "is not a phone"),
        (&["variant", "fast"], "there are baseline, cache_in_ram"),
        (&["variant", "sync_off"], "there is no phone"),
        (&["down"], "<IDS>"),
        (&["down", "1", "--all"], "--all"),
        (&["down", "7"], "'7' is not a phone"),
        (&["inside", "--bind", "x", "/", "--", "sh"], "write two absolute paths"),
    ];
    for (words, sentence) in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_brisk-lab"))
            .args(["lab", "phone"])
            .args(*words)
            .env("BRISK_RUN_DIR", dir.path().join("run"))
            .env("BRISK_CACHE_DIR", dir.path().join("cache"))
            .output()
            .expect("brisk starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(sentence), "{words:?}: {said}");
        assert!(!dir.path().join("run/phone/1").exists() && !dir.path().join("run/lab/1").exists(), "{words:?}");
    }
}

#[test]
fn the_catalogue_is_a_table_and_a_document() {
    let show = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_brisk-lab")).args(["lab", "phone", "apps"]).args(words).output();
        let output = output.expect("brisk starts");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(show(&[]).lines().any(|line| line.starts_with("chromium") && line.contains("browser")));
    let document: Value = serde_json::from_str(&show(&["--json"])).expect("JSON");
    assert_eq!((&document["kind"], &document["schema_version"]), (&"phone_apps".into(), &1.into()));
    assert!(
        document["apps"]
            .as_array()
            .is_some_and(|apps| apps.len() >= 10 && apps.iter().all(|app| app["command"].is_array()))
    );
}
