//! Memory groups on this machine's kernel, of the version that has the memory controller. `scripts/service-test memory`
//! runs them in a virtual machine with version 2.

use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::launch::{App, Launcher, Settings, Start};
use crate::results::Ending;
use brisk_requires::requires;

use super::*;

const MIB: u64 = 1 << 20;

/// The group of a phone of which all apps together have 64 MiB; removed when dropped.
struct Limited(MemoryGroup);

impl Limited {
    fn make() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let place = MemoryGroup::place(&format!("brisk-phone-test-{}-{number}", std::process::id()));
        let group = MemoryGroup::make_parent(&place.expect("mounted")).expect("made");
        group.set_limit(Some(64 * MIB)).expect("set");
        Self(group)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = self.0.remove();
    }
}

/// A folder on the disk: files of a tmpfs would need swap.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(std::env::current_dir().expect("here")).expect("temporary directory")
}

/// A process that is in the group before it executes `command`.
fn run_in(group: &MemoryGroup, command: &str) -> Child {
    let script = format!("echo $$ >'{}/cgroup.procs' && exec {command}", group.dir().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    shell.spawn().expect("sh starts")
}

/// A process with a heap of 40 MiB, which are not zero: the kernel frees zeroes instead of swapping them.
struct Heap(Child);

impl Heap {
    fn in_group(group: &MemoryGroup) -> Self {
        let mut child = run_in(group, "dd if=/dev/urandom bs=40M count=1 iflag=fullblock");
        // Then it has filled its buffer, and waits until the rest is read.
        let mut first = [0];
        child.stdout.as_mut().expect("piped").read_exact(&mut first).expect("dd writes");
        Self(child)
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn sizes_that_cannot_work_are_refused() {
    let spec = |limit_bytes, swap, swap_bytes| MemorySpec { limit_bytes, swap, swap_bytes };
    let said = |spec: MemorySpec| spec.check().expect_err("refused").to_string();
    assert!(said(spec(1 << 20, SwapKind::None, 0)).contains("the limit is too small: at least 64 MiB"));
    assert!(said(spec(1 << 30, SwapKind::Flash, 4096)).contains("the swap area is too small: at least 16 MiB"));
}

#[test]
fn the_limit_holds_for_all_apps_together_and_the_group_goes_with_its_apps() {
    requires!(MemoryController);
    let phone = Limited::make();
    assert_eq!(phone.0.limit_bytes().expect("read"), 64 * MIB);
    let dir = folder();
    let mut children = Vec::new();
    for app in ["a", "b"] {
        let group = phone.0.child(app).expect("made");
        assert!(group.limit_bytes().expect("read") > 1 << 60);
        let file = dir.path().join(app);
        // Files in the page cache are charged like heaps, and the limit has them reclaimed.
        children.push(run_in(&group, &format!("dd if=/dev/zero of='{}' bs=1M count=60", file.display())));
    }
    for child in &mut children {
        assert!(child.wait().expect("ended").success());
    }
    assert!(phone.0.limit_hits().expect("read") > 0);
    assert!(phone.0.usage_bytes().expect("read") <= 64 * MIB);
    phone.0.remove().expect("removed");
    assert!(!phone.0.dir().exists());
    phone.0.remove().expect("gone is removed");
}

#[test]
fn an_app_is_launched_into_its_group() {
    requires!(MemoryController, Cgroup2);
    let phone = Limited::make();
    let group = phone.0.child("writer").expect("made");
    let dir = folder();
    let file = format!("of={}", dir.path().join("file").display());
    let words = ["dd", "if=/dev/zero", &file, "bs=1M", "count=100"];
    let mut app = App::from_command(words.map(Into::into).to_vec());
    group.put(&mut app);
    let (sense, stop) = (Sense::default(), AtomicBool::new(false));
    let launcher = Launcher { sense: &sense, settings: Settings::default(), stop: &stop };
    let launched = launcher.launch(&app, None, Start::AsItIs).expect("launched");
    assert!(matches!(launched.run.ending, Ending::Exited { code: Some(0), .. }), "{launched:?}");
    assert!(phone.0.limit_hits().expect("read") > 0);
    for cached_bytes in [group.usage_bytes().expect("read"), phone.0.file_bytes().expect("read")] {
        assert!((16 * MIB..=64 * MIB).contains(&cached_bytes), "{cached_bytes} bytes of 100 MiB");
    }
}

#[test]
fn reclaim_frees_what_a_group_has_cached() {
    requires!(MemoryController);
    let phone = Limited::make();
    let group = phone.0.child("reader").expect("made");
    let dir = folder();
    let file = dir.path().join("file");
    let mut child = run_in(&group, &format!("dd if=/dev/zero of='{}' bs=1M count=40 conv=fsync", file.display()));
    assert!(child.wait().expect("ended").success());
    assert!(group.usage_bytes().expect("read") > 32 * MIB);
    group.reclaim_all().expect("reclaimed");
    assert!(group.usage_bytes().expect("read") < 8 * MIB);
}

#[test]
fn a_limit_below_what_is_in_use_is_refused_and_ends_no_process() {
    requires!(MemoryController);
    let phone = Limited::make();
    let group = phone.0.child("heap").expect("made");
    // Its heap cannot be swapped, of version 1 and 2, also where swap is on.
    for (file, value) in [("memory.swappiness", "0"), ("memory.swap.max", "0")] {
        let file = group.dir().join(file);
        if file.exists() {
            fs::write(file, value).expect("written");
        }
    }
    // In a group below it, as apps of version 2 are.
    let mut heap = Heap::in_group(&group.child("scope").expect("made"));
    assert_eq!(phone.0.processes_by_child().expect("read"), [(heap.0.id(), "heap".to_owned())]);
    let error = group.set_limit(Some(16 * MIB)).expect_err("refused").to_string();
    assert!(error.contains("set the memory limit of") && error.contains("16777216"), "{error}");
    assert!(group.limit_bytes().expect("read") > 1 << 60);
    assert_eq!(heap.0.try_wait().expect("a child").map(|status| status.signal()), None);
}

#[test]
#[ignore = "swaps to an area of the machine; run by scripts/service-test memory, which makes one"]
fn reclaim_swaps_a_heap_out() {
    requires!(MemoryController);
    assert_ne!(Sense::default().swaps().expect("read"), []);
    let phone = Limited::make();
    let group = phone.0.child("heap").expect("made");
    let heap = Heap::in_group(&group);
    assert!(group.usage_bytes().expect("read") > 40 * MIB);
    // What is under writeback is reclaimed by a later round.
    for _ in 0..5 {
        group.reclaim_all().expect("reclaimed");
    }
    let status = fs::read_to_string(format!("/proc/{}/status", heap.0.id())).expect("it runs");
    let swapped = status.lines().find_map(|line| line.strip_prefix("VmSwap:")?.trim().strip_suffix(" kB"));
    let swapped_kib: u64 = swapped.and_then(|kib| kib.trim().parse().ok()).expect("a number");
    assert!(swapped_kib > 32 << 10, "{status}");
    assert!(group.usage_bytes().expect("read") < 16 * MIB);
}

#[test]
fn pages_of_a_phone_without_swap_do_not_go_to_areas_of_others() {
    requires!(MemoryV1);
    let phone = Limited::make();
    let app = phone.0.child("app").expect("made");
    phone.0.allow_swap(false).expect("set");
    let later = phone.0.child("later").expect("made");
    let values = || [&phone.0, &app, &later].map(|group| group.number("memory.swappiness").expect("read"));
    assert_eq!(values(), [0; 3]);
    phone.0.allow_swap(true).expect("set");
    let machine = fs::read_to_string("/proc/sys/vm/swappiness").expect("read");
    let machine: u64 = machine.trim().parse().expect("a number");
    assert_eq!(values(), [machine; 3]);
}

#[test]
fn processes_that_the_kernel_ends_are_counted() {
    requires!(MemoryController);
    let phone = Limited::make();
    let app = phone.0.child("app").expect("made");
    phone.0.allow_swap(false).expect("set");
    assert_eq!(app.oom_kills().expect("read"), 0);
    // tail keeps a line without end in memory.
    let mut child = run_in(&app, "tail -n 1 /dev/zero");
    assert!(!child.wait().expect("ended").success());
    assert_eq!(app.oom_kills().expect("read"), 1);
}
