//! Each file that a sample reads, damaged in each way: the snapshot has the rest.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use brisk_core::snapshot::{Part, Snapshot};
use brisk_sense::{SampleChoice, Sampler, Sense};

/// A machine with all that a sample reads.
const FILES: &[(&str, &str)] = &[
    ("proc/stat", "cpu  10 0 5 900 7 0 0 0\ncpu0 10 0 5 900 7 0 0 0\n"),
    ("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 700 kB\nDirty: 4 kB\n"),
    ("proc/vmstat", "pswpin 1\npswpout 2\npgmajfault 3\nworkingset_refault_file 4\nworkingset_refault_anon 5\n"),
    ("proc/diskstats", " 179 0 mmcblk0 10 0 80 4 3 0 24 2 0 6 6\n"),
    ("proc/net/dev", "Inter-|   Receive\n face |bytes\n  eth0: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n"),
    ("proc/pressure/cpu", PRESSURE),
    ("proc/pressure/io", PRESSURE),
    ("proc/pressure/memory", PRESSURE),
    ("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t0\t3\t1\n"),
    ("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
    ("sys/class/block/mmcblk0/stat", "10 0 80 4 3 0 24 2 0 6 6\n"),
    ("sys/class/block/mmcblk0/inflight", "       0        2\n"),
    ("sys/class/net/eth0/flags", "0x1003\n"),
    ("sys/fs/cgroup/app-a-1.scope/cpu.stat", "usage_usec 9\nuser_usec 4\nsystem_usec 5\n"),
    ("sys/fs/cgroup/app-a-1.scope/io.pressure", PRESSURE),
    ("sys/fs/cgroup/app-a-1.scope/memory.pressure", PRESSURE),
    ("sys/fs/cgroup/app-a-1.scope/memory.current", "4096\n"),
    ("sys/fs/cgroup/app-a-1.scope/io.stat", "179:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n"),
    ("sys/fs/cgroup/app-a-1.scope/cgroup.procs", "7\n"),
    ("proc/7/status", "RssAnon: 100 kB\nRssFile: 5 kB\nRssShmem: 0 kB\nVmSwap: 10 kB\n"),
    (
        "proc/7/stat",
        "7 (a) S 1 7 7 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 1 1 25 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \
         0 0\n",
    ),
];
const PRESSURE: &str =
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n";

/// What the failure of a file may cost.
fn without(path: &str, snapshot: &Snapshot) -> Snapshot {
    let mut rest = snapshot.clone();
    (rest.at_ns, rest.wall_unix_ms) = (0, 0);
    rest.unread = Default::default();
    match path {
        "proc/stat" => rest.cpu = Default::default(),
        "proc/meminfo" => rest.memory = Default::default(),
        "proc/vmstat" => rest.paging = Default::default(),
        "proc/diskstats" => rest.disks.clear(),
        "proc/net/dev" | "sys/class/net/eth0/flags" => rest.nets.clear(),
        "proc/pressure/cpu" => rest.pressure.cpu = None,
        "proc/pressure/io" => rest.pressure.io = None,
        "proc/pressure/memory" => rest.pressure.memory = None,
        // From the file of all disks then.
        "sys/class/block/mmcblk0/stat" | "sys/class/block/mmcblk0/inflight" => {
            rest.disks.iter_mut().for_each(|disk| disk.in_flight_write_requests = None);
        }
        _ => rest.apps.clear(),
    }
    rest
}

/// A way in which a file fails: its name, and what it does to a path with this text.
type Damage = (&'static str, fn(&Path, &str));

const DAMAGES: &[Damage] = &[
    ("empty", |path, _| fs::write(path, "").expect("written")),
    ("garbage", |path, _| fs::write(path, b"\xff\x00 x 1 \n\nNaN: -1\n\xfe").expect("written")),
    ("cut off", |path, text| fs::write(path, &text[..text.len() / 3]).expect("written")),
    ("missing", |_, _| ()),
    ("a directory", |path, _| fs::create_dir(path).expect("made")),
    ("unreadable", |path, _| symlink(path, path).expect("a link to itself")),
];

fn machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for (path, text) in FILES {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, text).expect("written");
    }
    root
}

/// A sampler as the daemon has it, or as `brisk monitor` has it.
fn sampler(root: &Path, as_daemon: bool) -> Sampler {
    let choice = SampleChoice { devices: vec!["mmcblk0".to_owned()], ..SampleChoice::default() };
    let mut sampler = Sampler::new(Sense::new(root), choice).expect("there is /proc");
    if as_daemon {
        let app = (PathBuf::from("/sys/fs/cgroup/app-a-1.scope"), "app-a-1.scope".to_owned());
        sampler.look_at(vec!["mmcblk0".to_owned()], [app].into_iter());
        sampler.weigh_apps(true);
    }
    sampler
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir(path).expect("removed"),
        Ok(_) => fs::remove_file(path).expect("removed"),
        Err(_) => {}
    }
}

#[test]
fn any_file_may_fail_and_the_snapshot_has_the_rest() {
    let root = machine();
    for as_daemon in [true, false] {
        let intact = sampler(root.path(), as_daemon).snapshot().expect("intact");
        let app = &intact.apps[0];
        assert!(intact.pressure.cpu.is_some() && intact.disks.len() == 1 && intact.nets.len() == 1, "{intact:?}");
        assert!(app.memory_bytes.is_some() && app.memory_pressure.is_some(), "{app:?}");
        assert_eq!(app.read_bytes.is_some(), as_daemon);
        assert!(!intact.unread.is_any());
        for (file, text) in FILES {
            for (damage, make) in DAMAGES {
                let path = root.path().join(file);
                // A sampler that begins with it, and one to which it happens while it samples.
                let mut running = sampler(root.path(), as_daemon);
                running.snapshot().expect("intact");
                // In place where the file stays, as what is open stays the same file.
                let stays = ["empty", "garbage", "cut off"].contains(damage);
                if !stays {
                    remove(&path);
                }
                make(&path, text);
                let mut begun = sampler(root.path(), as_daemon);
                for sampler in [&mut begun, &mut running] {
                    let snapshot = sampler.snapshot().unwrap_or_else(|error| panic!("{file} is {damage}: {error}"));
                    let (rest, whole) = (without(file, &snapshot), without(file, &intact));
                    assert_eq!(rest, whole, "{file} is {damage}");
                }
                let parts: Vec<Part> = begun.snapshot().expect("as before").unread.parts().collect();
                let expected: &[Part] = match *file {
                    "proc/stat" => &[Part::Cpu],
                    "proc/meminfo" => &[Part::Memory],
                    "proc/vmstat" => &[Part::Paging],
                    "proc/net/dev" => &[Part::Nets],
                    _ => &[],
                };
                // What is left of a text that is cut off may be a whole line.
                let is_cut = *damage == "cut off" && parts.is_empty();
                assert!(parts == expected || is_cut, "{file} is {damage}: {parts:?}");
                let is_named = begun.failing().any(|why| why.contains(file));
                let is_lack =
                    ["missing"].contains(damage) && !matches!(expected, [Part::Cpu | Part::Memory | Part::Paging]);
                assert!(expected.is_empty() || is_named || is_lack || is_cut, "{file} is {damage}");
                if !stays {
                    remove(&path);
                }
                fs::write(&path, text).expect("as before");
                let again = begun.snapshot().expect("it is back");
                if as_daemon || !file.contains("self") && !file.contains("cgroup") {
                    // Pressure of groups and their memory may be kept for a while.
                    assert_eq!(
                        without("proc/7/status", &again),
                        without("proc/7/status", &intact),
                        "{file} was {damage}"
                    );
                    assert!(!again.unread.is_any(), "{file} was {damage}");
                    assert_eq!(begun.failing().collect::<Vec<_>>(), [""; 0], "{file} was {damage}");
                }
            }
        }
    }
}

#[test]
fn without_any_file_of_the_machine_there_is_no_snapshot() {
    let root = machine();
    let mut sampler = sampler(root.path(), true);
    for file in ["stat", "meminfo", "vmstat", "diskstats"] {
        fs::write(root.path().join("proc").join(file), "").expect("written");
    }
    // Its own file has the chosen disk.
    assert!(sampler.snapshot().is_ok());
    for file in ["stat", "inflight"] {
        fs::write(root.path().join("sys/class/block/mmcblk0").join(file), "").expect("written");
    }
    // A machine may have no disks: an empty list is one.
    assert!(sampler.snapshot().is_ok());
    fs::write(root.path().join("proc/diskstats"), "x\n").expect("written");
    assert!(sampler.snapshot().is_err());
    let empty = tempfile::tempdir().expect("a directory");
    assert!(Sampler::new(Sense::new(empty.path()), SampleChoice::default()).is_err());
}
