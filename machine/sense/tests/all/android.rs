//! Phones as AOSP sets them up: one with control groups of version 1 alone and no PSI, one of today.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use brisk_core::group::name;
use brisk_sense::{FrontWatch, GroupChange, GroupWatch, Hierarchies, Resource, SampleChoice, Sampler, Sense};

fn phone(name: &str) -> Sense {
    Sense::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
}

fn old() -> Sense {
    phone("android-10-linux-4.14")
}

fn new() -> Sense {
    phone("android-14-linux-5.15")
}

/// Packages of living groups, by directory; those of the system have none.
fn living(watch: &GroupWatch) -> BTreeMap<PathBuf, Option<String>> {
    watch.living().map(|group| (group.dir.clone(), group.package.clone())).collect()
}

#[test]
fn apps_of_each_version_are_found_with_their_packages() {
    let expected = |root: &str, more: &[(&str, Option<&str>)]| {
        let apps = [
            ("uid_10123/pid_400", Some("org.example.mail")),
            ("uid_10123/pid_401", Some("org.example.mail")),
            ("uid_10124/pid_500", Some("org.example.maps")),
            // Two packages share this user, and one of them names its process so.
            ("uid_10110/pid_600", None),
            ("uid_10110/pid_601", Some("com.google.android.gsf")),
            ("uid_10088/pid_88", Some("com.android.systemui")),
        ];
        let all = apps.iter().chain(more);
        all.map(|(dir, name)| (Path::new(root).join(dir), name.map(str::to_owned))).collect::<BTreeMap<_, _>>()
    };
    let watch = GroupWatch::new(&old()).expect("inotify").expect("groups");
    assert_eq!(living(&watch), expected("/dev/memcg/apps", &[]));
    let watch = GroupWatch::new(&new()).expect("inotify").expect("groups");
    // A renderer that runs isolated is the browser's; lmkd is the system's.
    let more = [("uid_99007/pid_990", Some("org.example.mail")), ("uid_1069/pid_310", None)];
    assert_eq!(living(&watch), expected("/sys/fs/cgroup", &more));
}

#[test]
fn which_app_is_in_front_and_how_android_rates_it_is_read() {
    for (sense, front) in [(old(), vec![400]), (new(), vec![400, 990])] {
        assert!(sense.is_android());
        assert_eq!(sense.package_count().expect("a list"), Some(6));
        assert_eq!(sense.front_processes().expect("a list"), Some(front));
        let scores = [400, 401, 500, 88].map(|pid| sense.oom_score_adj(pid).expect("readable"));
        assert_eq!(scores, [Some(0), Some(500), Some(700), Some(-800)]);
        let heap = sense.dalvik_heap().expect("a list").expect("it has getprop");
        assert_eq!(heap.size_bytes, Some(512 << 20));
        assert_eq!(
            sense.front_processes().expect("a list"),
            sense.cgroup_processes(Path::new("/dev/cpuset/top-app")).expect("a list")
        );
    }
    assert!(!phone("virtual-machine-6.18").is_android());
}

#[test]
fn a_process_is_found_in_the_hierarchy_that_has_apps() {
    for (sense, dir) in [(old(), "/dev/memcg/apps/uid_10124/pid_500"), (new(), "/sys/fs/cgroup/uid_10124/pid_500")] {
        let hierarchies = Hierarchies::of(&sense).expect("mounted");
        let groups = sense.process_cgroups(500).expect("readable").expect("runs");
        assert_eq!(hierarchies.group(&groups), Some(PathBuf::from(dir)));
    }
    // What Android has frozen is known, where its freezer is in that hierarchy.
    let frozen = |sense: &Sense, dir: &str| {
        Hierarchies::of(sense).expect("mounted").is_frozen(sense, Path::new(dir)).expect("readable")
    };
    assert_eq!(frozen(&new(), "/sys/fs/cgroup/uid_10110/pid_601"), Some(true));
    assert_eq!(frozen(&new(), "/sys/fs/cgroup/uid_10123/pid_400"), Some(false));
    assert_eq!(frozen(&old(), "/dev/memcg/apps/uid_10123/pid_400"), None);
}

#[test]
fn memory_of_an_app_is_charged_to_its_group_of_version_1_too() {
    let group = PathBuf::from("/dev/memcg/apps/uid_10123/pid_400");
    let choice = SampleChoice { groups: vec![group], ..SampleChoice::default() };
    let snapshot = Sampler::new(old(), choice).and_then(|mut sampler| sampler.snapshot()).expect("a sample");
    let app = &snapshot.apps[0];
    assert_eq!((app.name.as_str(), app.cpu_us, app.memory_bytes), ("pid_400", None, Some(520 << 20)));
    assert!(snapshot.pressure.io.is_none(), "this kernel has no PSI");
    assert!(old().pressure(Resource::Io).is_err());
    let found =
        Sampler::new(new(), SampleChoice::default()).and_then(|mut sampler| sampler.snapshot()).expect("a sample");
    assert!(found.apps.iter().any(|app| app.name == "pid_400" && app.cpu_us == Some(900_000)), "{:?}", found.apps);
}

#[test]
fn storage_below_a_volume_is_found_on_emmc_and_on_ufs() {
    for (sense, disk, scheduler) in [(old(), "mmcblk0", "cfq"), (new(), "sda", "mq-deadline")] {
        let stack = sense.storage().expect("a tree").below_path(Path::new("/data/app/base.apk"));
        assert_eq!(stack.sole_disk(), Some(disk));
        let queue = sense.block_queue(disk).expect("a queue");
        assert_eq!(queue.schedulers.current.as_deref(), Some(scheduler));
    }
}

/// A tree in which groups come and go, of version 1.
struct Made(tempfile::TempDir);

impl Made {
    fn new() -> Self {
        let made = Self(tempfile::tempdir().expect("a directory"));
        made.write("proc/self/mountinfo", "1 0 0:1 / /acct rw - cgroup none rw,cpuacct\n");
        made.write(
            "data/system/packages.list",
            "org.example.mail 10123 0 /data/user/0/org.example.mail default none\n",
        );
        made.write("acct/uid_10123/pid_7/cgroup.procs", "7\n");
        made
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, text).expect("written");
    }
}

#[test]
fn without_version_2_a_group_lives_from_its_first_process_until_it_is_removed() {
    let made = Made::new();
    let sense = Sense::new(made.0.path());
    let mut watch = GroupWatch::new(&sense).expect("inotify").expect("groups");
    assert_eq!(living(&watch).len(), 1);
    made.write("acct/uid_10123/pid_8/cgroup.procs", "");
    assert_eq!(watch.take().expect("readable"), [], "no process is in it");
    made.write("acct/uid_10123/pid_8/cgroup.procs", "8\n");
    let changes = watch.take().expect("readable");
    let [GroupChange::Began(group)] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!((name(&group.key), group.package.as_deref()), ("pid_8", Some("org.example.mail")));
    // A package that is installed later has its name from its first process on.
    made.write(
        "data/system/packages.list.new",
        "org.example.maps 10124 0 /data/user/0/org.example.maps default none\n",
    );
    let new = made.0.path().join("data/system/packages.list.new");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
    fs::File::options().write(true).open(&new).and_then(|file| file.set_modified(later)).expect("dated");
    fs::rename(new, made.0.path().join("data/system/packages.list")).expect("replaced");
    made.write("acct/uid_10124/pid_9/cgroup.procs", "9\n");
    let changes = watch.take().expect("readable");
    assert!(
        matches!(&changes[..], [GroupChange::Began(group)] if group.package.as_deref() == Some("org.example.maps"))
    );
    let dir = made.0.path().join("acct/uid_10123/pid_8");
    fs::remove_dir_all(dir).expect("removed");
    assert_eq!(watch.take().expect("readable"), [GroupChange::Gone(group.clone())]);
}

#[test]
fn a_thread_that_is_moved_alone_is_seen_at_the_front() {
    let made = Made::new();
    made.write("dev/cpuset/top-app/cgroup.procs", "400\n");
    made.write("dev/cpuset/top-app/tasks", "400\n");
    made.write("dev/cpuset/background/tasks", "");
    let mut watch = FrontWatch::new(&Sense::new(made.0.path())).expect("inotify").expect("groups");
    let woken = |watch: &FrontWatch| {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(watch, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("poll") > 0
    };
    assert!(!woken(&watch));
    made.write("dev/cpuset/background/tasks", "500\n");
    assert!(!woken(&watch), "apps that are cached come and go all the time");
    made.write("dev/cpuset/top-app/tasks", "400\n401\n");
    assert!(woken(&watch));
    watch.take().expect("readable");
    assert!(!woken(&watch));
}
