//! Sources of events on this machine. Some need root or control groups of version 2.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use brisk_core::group::GroupKey;
use brisk_requires::{Capability, available, requires, skip};
use brisk_sense::{
    BlockWatch, FrontWatch, Group, GroupChange, GroupWatch, PressureWatch, QueueWatch, Resource, Sense, SessionChange,
    SessionWatch, TableWatch,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A guard against hanging, no measure of anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// A group that goes with what is in it.
struct Made(PathBuf, Option<Child>);

impl Made {
    /// A group of this name with nothing in it; `None`, with the skip recorded, where none can be made.
    fn new(name: &str) -> Option<Self> {
        available(&[Capability::Groups])?;
        let v2 = Sense::default().cgroups().expect("Linux").v2.expect("mounted");
        let dir = v2.mount_point.join(name);
        fs::create_dir(&dir).expect("root makes groups");
        Some(Self(dir, None))
    }

    fn live(&mut self) {
        let child = Command::new("sleep").arg("600").spawn().expect("a sleep");
        fs::write(self.0.join("cgroup.procs"), child.id().to_string()).expect("moved");
        self.1 = Some(child);
    }

    fn end(&mut self) {
        if let Some(mut child) = self.1.take() {
            child.kill().expect("ended");
            child.wait().expect("waited for");
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.end();
        let begun = Instant::now();
        while fs::remove_dir(&self.0).is_err() && self.0.exists() && begun.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
    }
}

/// Whether poll says `flags` within the patience.
fn is_ready(fd: impl AsFd, flags: PollFlags) -> bool {
    let span = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
    let mut fds = [PollFd::new(&fd, flags)];
    poll(&mut fds, Some(&span)).expect("poll") > 0
}

/// Takes changes until one of `group` satisfies `wanted`; others belong to other users of this machine.
fn until(watch: &mut GroupWatch, dir: &PathBuf, wanted: fn(&GroupChange) -> bool) -> GroupChange {
    loop {
        assert!(is_ready(&*watch, PollFlags::IN), "no event of {}", dir.display());
        for change in watch.take().expect("readable") {
            let (GroupChange::Began(group) | GroupChange::Gone(group)) = &change;
            if group.dir == *dir {
                assert!(wanted(&change), "{change:?}");
                return change;
            }
        }
    }
}

#[test]
fn a_group_is_told_when_it_comes_to_life_and_when_it_goes() {
    let Some(mut group) = Made::new(&format!("app-sense\\x2dtest-{}.scope", std::process::id())) else { return };
    let sense = Sense::default();
    let mut watch = GroupWatch::new(&sense).expect("inotify").expect("mounted");
    assert!(watch.living().all(|known| known.dir != group.0), "a group without processes is alive");
    group.live();
    let change = until(&mut watch, &group.0, |change| matches!(change, GroupChange::Began(_)));
    let name = group.0.file_name().expect("a name").to_string_lossy().into_owned();
    let inode = fs::metadata(&group.0).expect("a group").ino();
    let key = GroupKey::Control { inode, path: &name }.text();
    let of_root = Group { dir: group.0.clone(), key, user: Some(0), package: None };
    assert_eq!(change, GroupChange::Began(of_root));
    assert!(watch.living().any(|known| known.dir == group.0));
    group.end();
    until(&mut watch, &group.0, |change| matches!(change, GroupChange::Gone(_)));
    assert!(watch.living().all(|known| known.dir != group.0));
}

#[test]
fn a_group_that_came_later_is_found_with_its_place_below_another() {
    requires!(Groups);
    let sense = Sense::default();
    let mut watch = GroupWatch::new(&sense).expect("inotify").expect("mounted");
    let outer = format!("sense-test-{}", std::process::id());
    let Some(_outer) = Made::new(&outer) else { return };
    let Some(mut inner) = Made::new(&format!("{outer}/writer")) else { return };
    inner.live();
    until(&mut watch, &inner.0, |change| matches!(change, GroupChange::Began(_)));
    inner.end();
    until(&mut watch, &inner.0, |change| matches!(change, GroupChange::Gone(_)));
}

#[test]
fn a_write_to_a_queue_names_its_device() {
    requires!(Loop, Queue);
    // A loop device without a file: no disk of this machine.
    let sense = Sense::default();
    let names = sense.block_device_names().expect("/sys");
    let free = names
        .iter()
        .rfind(|name| name.starts_with("loop") && sense.loop_backing(name).is_ok_and(|backing| backing.is_none()));
    let Some(name) = free else { return skip(Capability::Loop, "no loop device is free") };
    let file = format!("/sys/block/{name}/queue/read_ahead_kb");
    let mut watch = QueueWatch::new().expect("inotify");
    watch.watch(&sense, [name.as_str()].into_iter()).expect("watched");
    assert!(watch.take().expect("readable").is_empty(), "nothing was written");
    let before = fs::read_to_string(&file).expect("readable");
    fs::write(&file, &before).expect("written");
    assert!(is_ready(&watch, PollFlags::IN));
    assert_eq!(watch.take().expect("readable").into_iter().collect::<Vec<_>>(), [name.as_str()]);
    watch.watch(&sense, [].into_iter()).expect("none");
    fs::write(&file, &before).expect("written");
    assert!(watch.take().expect("readable").is_empty(), "a queue is watched no more");
}

#[test]
fn sources_open_on_this_machine() {
    let sense = Sense::default();
    let mut blocks = BlockWatch::new().expect("netlink");
    blocks.take().expect("nothing to read is no error");
    TableWatch::mounts(&sense).expect("/proc");
    TableWatch::swaps(&sense).expect("/proc");
    match PressureWatch::new(&sense, Resource::Io, Duration::from_millis(200)).expect("a trigger or none") {
        Some(watch) => assert_eq!(watch.resource(), Resource::Io),
        None => skip(Capability::Pressure, "this kernel sets no triggers on pressure for this user"),
    }
}

#[test]
fn a_mount_is_told() {
    requires!(Mount);
    let watch = TableWatch::mounts(&Sense::default()).expect("/proc");
    let dir = tempfile::tempdir().expect("a directory");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "brisk-test"]).arg(dir.path()).status().expect("mount");
    assert!(mounted.success());
    let ready = is_ready(&watch, PollFlags::PRI);
    assert!(Command::new("umount").arg(dir.path()).status().expect("umount").success());
    assert!(ready);
}

#[test]
fn a_program_in_a_session_of_its_own_is_told_when_it_begins_and_when_it_ends() {
    requires!(Program("setsid"));
    let sense = Sense::default();
    let mut watch = match SessionWatch::new(&sense) {
        Ok(watch) => watch,
        Err(error) => return skip(Capability::Connector, error),
    };
    let begun = Instant::now();
    let now_ns = || u64::try_from(begun.elapsed().as_nanos()).expect("not for centuries");
    let mut child = Command::new("setsid").args(["sleep", "600"]).spawn().expect("setsid runs");
    let id = child.id();
    let mut until = |wanted: &dyn Fn(&SessionChange) -> bool| loop {
        assert!(is_ready(&watch, PollFlags::IN), "no event of session {id}");
        if let Some(change) = watch.take(now_ns()).expect("readable").into_iter().find(wanted) {
            return change;
        }
    };
    let began = until(&|change| matches!(change, SessionChange::Began(session) if session.id == id));
    let SessionChange::Began(session) = began else { unreachable!("asked for") };
    assert_eq!((session.program.as_str(), session.of_user), ("sleep", !rustix::process::geteuid().is_root()));
    child.kill().expect("ended");
    child.wait().expect("waited for");
    // Processes of others end all the time, and this one is looked for again then.
    let mut others = std::iter::repeat_with(|| Command::new("true").status());
    loop {
        others.next().expect("endless").expect("true runs");
        assert!(begun.elapsed() < PATIENCE, "session {id} is never gone");
        if watch.take(now_ns()).expect("readable").contains(&SessionChange::Gone(id)) {
            return;
        }
    }
}

#[test]
fn another_app_in_front_is_told_where_something_says_so() {
    let root = tempfile::tempdir().expect("a directory");
    let sense = Sense::new(root.path());
    assert!(FrontWatch::new(&sense).expect("inotify").is_none());
    assert_eq!(sense.front_processes().expect("absent"), None);
    let dir = root.path().join("dev/cpuset/top-app");
    fs::create_dir_all(&dir).expect("a directory");
    fs::write(dir.join("cgroup.procs"), "400\n").expect("written");
    let mut watch = FrontWatch::new(&sense).expect("inotify").expect("there");
    assert_eq!(sense.front_processes().expect("readable"), Some(vec![400]));
    fs::write(dir.join("cgroup.procs"), "401\n500\n").expect("written");
    assert!(is_ready(&watch, PollFlags::IN));
    watch.take().expect("readable");
    assert_eq!(sense.front_processes().expect("readable"), Some(vec![401, 500]));
}
