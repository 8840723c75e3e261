//! Reclaim and swap.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use brisk_probes::{Event, Kind, Operation, major_minor};

use crate::order::check_order;
use crate::role::Player;
use crate::scratch::ScratchGroup;
use crate::{disk, evicted, group, lacks, of, start, tid};

/// A limit of memory for processes, in either version of control groups; gone in the end.
struct MemoryLimit {
    group: PathBuf,
    /// What makes the group free its memory when it is written to.
    reclaim: PathBuf,
    made: bool,
}

impl MemoryLimit {
    /// Sets one on `group`, or where the memory controller is. `None` with the reason printed where there is none.
    fn set(group: &ScratchGroup, bytes: u64) -> Option<Self> {
        if fs::write(group.path().join("memory.max"), bytes.to_string()).is_ok() {
            let reclaim = group.path().join("memory.reclaim");
            return Some(Self { group: group.path().to_owned(), reclaim, made: false });
        }
        let own = Path::new("/sys/fs/cgroup/memory").join(group.path().file_name()?);
        if let Err(error) = fs::create_dir(&own) {
            eprintln!("skipped: no limit of memory can be set: {}: {error}", own.display());
            return None;
        }
        fs::write(own.join("memory.limit_in_bytes"), bytes.to_string()).unwrap();
        let reclaim = own.join("memory.force_empty");
        Some(Self { group: own, reclaim, made: true })
    }

    fn put(&self, pid: u32) {
        fs::write(self.group.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if self.made {
            let _ = fs::remove_dir(&self.group);
        }
    }
}

#[test]
fn a_process_at_the_limit_of_its_memory_reclaims() {
    let (Some(group), Some(folder)) = (group(), disk()) else { return };
    if lacks("reclaim at the limit") {
        return;
    }
    let Some(limit) = MemoryLimit::set(&group, 16 << 20) else { return };
    let path = folder.path().join("large");
    evicted(&path, 48 << 20);
    let trace = start(&group);
    let mut player = Player::start(Some(&group), "fills its cache", path.as_os_str());
    limit.put(player.child.id());
    drop(player.child.stdin.take());
    let facts = player.facts();
    let recording = trace.stop();
    check_order(&recording.events);
    let own = of(&recording.events, tid(&facts, "tid"));
    assert!(own.iter().any(|event| event.kind == Kind::ReclaimBegan));
    assert!(own.iter().any(|event| event.kind == Kind::ReclaimEnded));
}

/// Compressed memory as swap, of which this test is the only user; gone in the end.
struct Swap {
    number: String,
}

impl Swap {
    fn on() -> Option<Self> {
        let number = match fs::read_to_string("/sys/class/zram-control/hot_add") {
            Ok(number) => number.trim().to_owned(),
            Err(error) => {
                eprintln!("skipped: no zram can be made: /sys/class/zram-control/hot_add: {error}");
                return None;
            }
        };
        let swap = Self { number };
        fs::write(format!("/sys/block/zram{}/disksize", swap.number), "64M").unwrap();
        swap.run("mkswap", &[]);
        swap.run("swapon", &["-p", "32767"]);
        Some(swap)
    }

    fn run(&self, tool: &str, arguments: &[&str]) {
        let mut command = Command::new(tool);
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        command.env("PATH", path).args(arguments).arg(format!("/dev/zram{}", self.number));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        self.run("swapoff", &[]);
        fs::write("/sys/class/zram-control/hot_remove", &self.number).unwrap();
    }
}

#[test]
fn pages_that_go_to_swap_and_come_back_belong_to_no_file() {
    let Some(group) = group() else { return };
    if lacks("requests") {
        return;
    }
    let Some(limit) = MemoryLimit::set(&group, 64 << 20) else { return };
    let Some(swap) = Swap::on() else { return };
    let trace = start(&group);
    let mut player = Player::start(Some(&group), "comes back from swap", limit.reclaim.as_os_str());
    limit.put(player.child.id());
    drop(player.child.stdin.take());
    let facts = player.facts();
    let recording = trace.stop();
    check_order(&recording.events);
    let device = Path::new("/dev").join(format!("zram{}", swap.number)).metadata().unwrap().rdev();
    let device = (rustix::fs::major(device), rustix::fs::minor(device));
    let to_swap = |event: &&Event| match event.kind {
        Kind::Submitted(request) if major_minor(request.device) == device => Some(request),
        _ => None,
    };
    let own = of(&recording.events, tid(&facts, "tid"));
    let requests: Vec<_> = own.iter().filter_map(to_swap).collect();
    assert!(requests.iter().all(|request| request.file.is_none() && request.bytes >= 4096));
    let of_kind = |operation| requests.iter().filter(|request| request.operation == operation).count();
    assert!(of_kind(Operation::SwapOut) > 1000, "{}", of_kind(Operation::SwapOut));
    assert!(of_kind(Operation::SwapIn) > 0);
    assert_eq!(of_kind(Operation::SwapOut) + of_kind(Operation::SwapIn), requests.len());
}
