//! Reclaim and swap.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use brisk_lab::probes::{Kind, Operation};
use brisk_requires::{Capability, skip};

use crate::watched::order::check_order;
use crate::watched::role::Player;
use crate::watched::scratch::ScratchGroup;
use crate::watched::{disk, evicted, group, lacks, of, start, tid};

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
        if group.path().join("memory.max").exists() {
            fs::write(group.path().join("memory.max"), bytes.to_string()).unwrap();
            let reclaim = group.path().join("memory.reclaim");
            return Some(Self { group: group.path().to_owned(), reclaim, made: false });
        }
        let root = Path::new("/sys/fs/cgroup/memory");
        if !root.join("memory.limit_in_bytes").exists() {
            let reason = format!("neither {} nor {} has it", group.path().display(), root.display());
            skip(Capability::MemoryController, reason);
            return None;
        }
        let own = root.join(group.path().file_name()?);
        fs::create_dir(&own).unwrap();
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
    let Some(group) = group() else { return };
    let Some(folder) = disk() else { return };
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

/// A file as swap, of which this test is the only user; off in the end.
struct Swap {
    file: PathBuf,
}

impl Swap {
    /// `None` where the file system does not do that; then the tool said why.
    fn on(file: PathBuf) -> Option<Self> {
        fs::write(&file, vec![0; 64 << 20]).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        File::open(&file).unwrap().sync_all().unwrap();
        assert!(run("mkswap", &[], &file));
        if !run("swapon", &["-p", "32767"], &file) {
            skip(Capability::SwapFile, format!("{} cannot be swap", file.display()));
            return None;
        }
        Some(Self { file })
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        run("swapoff", &[], &self.file);
    }
}

/// Whether `tool` did it; if not, it said why.
fn run(tool: &str, arguments: &[&str], file: &Path) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(tool);
    command.env("PATH", path).args(arguments).arg(file).stdout(Stdio::null());
    command.status().unwrap().success()
}

#[test]
fn pages_that_go_to_swap_and_come_back_belong_to_no_file() {
    let Some(group) = group() else { return };
    let Some(folder) = disk() else { return };
    if lacks("requests") {
        return;
    }
    let Some(limit) = MemoryLimit::set(&group, 64 << 20) else { return };
    let Some(_swap) = Swap::on(folder.path().join("swap")) else { return };
    let trace = start(&group);
    let mut player = Player::start(Some(&group), "comes back from swap", limit.reclaim.as_os_str());
    limit.put(player.child.id());
    drop(player.child.stdin.take());
    let facts = player.facts();
    let recording = trace.stop();
    check_order(&recording.events);
    let own = of(&recording.events, tid(&facts, "tid"));
    let of_kind = |operation| {
        own.iter().filter_map(move |event| match event.kind {
            Kind::Submitted(request) if request.operation == operation => Some(request),
            _ => None,
        })
    };
    let bytes = |operation| of_kind(operation).map(|request| u64::from(request.bytes)).sum::<u64>();
    assert!(bytes(Operation::SwapOut) >= 8 << 20, "{}", bytes(Operation::SwapOut));
    assert!(bytes(Operation::SwapIn) >= 4096);
    let swapped = of_kind(Operation::SwapOut).chain(of_kind(Operation::SwapIn));
    assert!(swapped.into_iter().all(|request| request.file.is_none()));
}
