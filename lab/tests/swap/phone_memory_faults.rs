//! Phones with swap that lose their owner or their flash: the next command takes them down, in time, and says what it
//! could not.

use crate::lab_guard;
use crate::phone_bench;
use crate::swap_areas;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use brisk_lab::launch::scope::Scope;
use brisk_lab::phone::{MemorySpec, NewPhone, Phone, Phones, SwapKind};
use brisk_requires::requires;
use brisk_sense::Sense;
use lab_guard::{Guard, eventually, run};
use phone_bench::{Bench, run_in};
use serde_json::Value;
use swap_areas::{alone_with_swap, swaps};

const MIB: u64 = 1 << 20;
/// Set for this test program when it is to own a phone until it is killed.
const OWNER: &str = "BRISK_TEST_OWNER";

/// Fills `mib` MiB of a tmpfs of the phone, which are swapped like heaps.
fn use_memory(phone: &Phone, mib: u64) {
    run_in(phone, &["sh", "-c", &format!("dd if=/dev/urandom of=/tmp/pages bs=1M count={mib} 2>/dev/null")]);
}

fn up(bench: &Bench, dir: &Path, keep: bool) -> Phone {
    let spec = MemorySpec { limit_bytes: 64 * MIB, swap: SwapKind::Flash, swap_bytes: 128 * MIB };
    let mut new = NewPhone { size_bytes: 320 * MIB, memory: Some(spec), ..bench.new_phone(keep) };
    // The lab that is named, and not the one of the bench.
    for word in new.server.iter_mut().chain(&mut new.take_down) {
        *word = word.replace(bench.lab.dir().to_str().expect("UTF-8"), dir.to_str().expect("UTF-8"));
    }
    let never = AtomicBool::new(false);
    Phones::new(dir).up(&new, &never, &mut |_: &str| {}).expect("a phone").0
}

#[test]
#[ignore = "owns a phone until another test kills it"]
fn owner_that_is_killed() {
    let dir = PathBuf::from(std::env::var_os(OWNER).expect("set by the test that starts this"));
    let bench = Bench::new().expect("it was possible a moment ago");
    let phone = up(&bench, &dir, false);
    use_memory(&phone, 80);
    // A frozen app with a process that did not start it: the kernel ends the first with its parent, and not the second.
    let scope = Scope::create(&Sense::default(), "frozen").expect("a group");
    let app = phone.command(["sh", "-c", "sleep 1000 & echo $!; wait"].map(Into::into).to_vec(), None);
    let mut command = brisk_lab::phone::command(&app).expect("a command");
    brisk_program::child::end_with_parent(&mut command, brisk_program::child::Signal::KILL);
    let mut app = command.stdout(Stdio::piped()).spawn().expect("it starts");
    phone.put_in_app(&scope, app.id()).expect("moved");
    let second = brisk_requires::next_line(&mut BufReader::new(app.stdout.take().expect("piped")), "a number");
    phone.put_in_app(&scope, second.trim().parse().expect("a number")).expect("moved");
    fs::write(scope.dir().join("cgroup.freeze"), "1").expect("frozen");
    eventually("both are frozen", || {
        fs::read_to_string(scope.dir().join("cgroup.events")).is_ok_and(|events| events.contains("frozen 1"))
    });
    println!("\nup {} {} {}", app.id(), second.trim(), scope.dir().display());
    let _ = std::io::stdin().read(&mut [0]);
    // Only where the other test has not killed this process.
    let _ = app.kill();
    let _ = app.wait();
}

#[test]
fn a_phone_with_swap_and_frozen_apps_goes_with_its_killed_owner() {
    requires!(MemoryController);
    let Some(_alone) = alone_with_swap() else { return };
    let Some(bench) = Bench::new() else { return };
    let mut owner = Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "phone_memory_faults::owner_that_is_killed", "--nocapture"])
        .env(OWNER, bench.lab.dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(owner.stdout.take().expect("a pipe")).lines().map_while(|line| line.ok());
    let _limit = brisk_requires::killed_late(owner.id(), "a phone of the owner");
    let said = lines.find_map(|line| line.strip_prefix("up ").map(str::to_owned)).expect("the owner brings up a phone");
    let words: Vec<&str> = said.split(' ').collect();
    let (pids, scope) = (&words[..2], Path::new(words[2]));
    let state = fs::read_to_string(bench.lab.dir().join("phone/1/state.json")).expect("a state");
    let state: Value = serde_json::from_str(&state).expect("JSON");
    let group = PathBuf::from(state["memory"]["group"].as_str().expect("a memory group"));
    assert!(swaps().len() == 1 && group.is_dir() && scope.is_dir());
    owner.kill().expect("killed");
    owner.wait().expect("ended");
    let repaired = bench.lab.command(&["phone", "repair"]).output().expect("brisk starts");
    let said = String::from_utf8_lossy(&repaired.stderr);
    assert!(repaired.status.success() && said.contains("the process that owned it was killed"), "{said}");
    assert_eq!(swaps(), Vec::<PathBuf>::new());
    assert!(!group.exists(), "{said}");
    assert!(!scope.exists(), "a frozen group is left: {said}");
    let alive = |pid: &&str| fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(!pids.iter().any(alive), "{said}");
    bench.nothing_is_left();
}

/// The process that serves the only flash of the lab.
fn server_of(lab: &Guard) -> rustix::process::Pid {
    let own = lab.dir().to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_server = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.contains("\0serve\0") && line.contains(&own)
    };
    let pid = pids.find(is_server).expect("a server");
    rustix::process::Pid::from_raw(pid).expect("a process id")
}

/// A phone with swap of which a part is used, without its flash.
fn without_its_flash(bench: &Bench) -> Phone {
    let phone = up(bench, bench.lab.dir(), true);
    use_memory(&phone, 80);
    rustix::process::kill_process(server_of(&bench.lab), rustix::process::Signal::KILL).expect("killed");
    // What is written now fails, and ends the journal of the file system.
    let file = phone.root().join("written");
    let _ = fs::write(&file, "text").and_then(|()| fs::File::open(&file)?.sync_all());
    phone
}

#[test]
#[ignore = "kernels differ in what they do with swap on a dead device; run by scripts/service-test phone-swap"]
fn a_phone_whose_flash_dies_is_taken_down_with_its_swap() {
    requires!(MemoryController);
    let Some(_alone) = alone_with_swap() else { return };
    let Some(bench) = Bench::new() else { return };
    for command in [&["phone", "down", "1"][..], &["phone", "down", "1", "--force"], &["phone", "repair"]] {
        let phone = without_its_flash(&bench);
        let group = phone.memory_group().expect("limited").dir().to_owned();
        let output = bench.lab.command(command).output().expect("brisk starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {said}");
        assert_eq!(swaps(), Vec::<PathBuf>::new(), "{command:?}: {said}");
        assert!(!group.exists());
        bench.lab.brisk(&["down", "--all"]);
        bench.nothing_is_left();
    }
}

#[test]
#[ignore = "would leave a swap area where it fails; run by scripts/service-test phone-swap"]
fn a_swap_file_goes_with_the_device_that_it_is_on() {
    requires!(Swap, Program("mkfs.ext4"), Program("mkswap"), Program("swapon"));
    let Some(_alone) = alone_with_swap() else { return };
    let Some(lab) = Guard::new() else { return };
    let place = tempfile::tempdir().expect("temporary directory");
    for dies in [false, true] {
        let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "64M"]);
        run("mkfs.ext4", &["-q", &device]);
        let file = place.path().join("swap");
        let (place, file) = (place.path().to_str().expect("UTF-8"), file.to_str().expect("UTF-8"));
        run("mount", &[&device, place]);
        run("dd", &["if=/dev/zero", &format!("of={file}"), "bs=1M", "count=20", "status=none"]);
        run("chmod", &["600", file]);
        run("mkswap", &["-q", file]);
        run("swapon", &[file]);
        if dies {
            rustix::process::kill_process(server_of(&lab), rustix::process::Signal::KILL).expect("killed");
        } else {
            assert!(lab.refused(&["down", &device]).contains("mounted on"));
        }
        let output = lab.command(&["down", &device, "--force"]).output().expect("brisk starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains(&format!("swap on {file} was disabled")), "{said}");
        assert_eq!(swaps(), Vec::<PathBuf>::new());
        lab.nothing_is_left();
    }
}

#[test]
#[ignore = "leaves a swap area until the machine restarts; run by scripts/service-test phone-swap"]
fn a_swap_area_that_cannot_be_opened_is_named_and_the_rest_is_removed() {
    requires!(MemoryController);
    let Some(bench) = Bench::new() else { return };
    let phone = without_its_flash(&bench);
    let group = phone.memory_group().expect("limited").dir().to_owned();
    // As Linux from 6.15 on does with a file system whose journal has failed: its files cannot be opened for writing.
    let root = fs::File::open(phone.root()).expect("there");
    let flags = NO_FLUSH;
    // SAFETY: the kernel reads a number, which outlives the call.
    let done = unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN, &raw const flags) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    drop(root);
    let output = bench.lab.command(&["phone", "down", "1"]).output().expect("brisk starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("phone 1 was removed, but") && said.contains("until this machine restarts"), "{said}");
    assert_eq!(swaps().len(), 1);
    assert!(!group.exists());
    // The next phone without swap comes up, and one with swap is refused.
    let words = ["phone", "up", "--image", bench.image(), "--size", "256M"];
    bench.lab.brisk(&words);
    bench.lab.brisk(&["phone", "down", "1"]);
    let said = bench.lab.refused(&[&words[..], &["--memory", "64M", "--swap-size", "64M"]].concat());
    assert!(said.contains("whose file is gone") && said.contains("--swap none"), "{said}");
}

/// EXT4_IOC_SHUTDOWN and EXT4_GOING_FLAGS_NOLOGFLUSH (include/uapi/linux/ext4.h).
const SHUTDOWN: libc::c_ulong = 0x8004_587d;
const NO_FLUSH: u32 = 2;
