use std::fs;

use crate::machine_tree::Machine;

use super::*;

const NVME: &str = "pci0000:00/nvme/nvme0";
const OTHER_NVME: &str = "pci0000:00/nvme/nvme1";

/// A directory of this machine that the made-up one has mounts in.
struct Point(tempfile::TempDir);

impl Point {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self) -> PathBuf {
        fs::canonicalize(self.0.path()).expect("there")
    }

    fn text(&self) -> String {
        self.path().to_str().expect("UTF-8").to_owned()
    }
}

/// Why the disk cannot be measured; never that it may be overwritten.
fn why_not(machine: &Machine, disk: &str) -> String {
    let why = place_on(&machine.sense(), disk).expect("a tree").expect_err("no place");
    assert!(!why.contains("destroy"), "{why}");
    why
}

#[test]
fn a_disk_is_measured_where_a_volume_on_it_is_mounted() {
    let point = Point::new();
    // LVM on LUKS on a partition of an eMMC with its boot areas.
    let machine = Machine::new()
        .disk("platform/mmc0/mmc0:0001/block", "mmcblk0", &["mmcblk0p1", "mmcblk0p2"])
        .disk("platform/mmc0/mmc0:0001/block/mmcblk0", "mmcblk0boot0", &[])
        .stacked("dm-0", &["mmcblk0p2"])
        .stacked("dm-1", &["dm-0"])
        .mounts(&[("/dev/dm-1", &point.text(), "ext4", "rw,noatime")]);
    assert_eq!(place_on(&machine.sense(), "mmcblk0").expect("a tree"), Ok(point.path()));
}

#[test]
fn a_disk_in_any_use_is_never_to_be_overwritten() {
    let (point, other) = (Point::new(), Point::new());
    let two = || Machine::new().disk(NVME, "nvme0n1", &["nvme0n1p1"]).disk(OTHER_NVME, "nvme1n1", &[]);
    let read_only = two().mounts(&[("/dev/nvme0n1p1", &point.text(), "squashfs", "ro")]);
    let said = why_not(&read_only, "nvme0n1");
    assert!(said.contains(&format!("mounted read-only at {}", point.text())), "{said}");

    let machine = two().stacked("md0", &["nvme0n1p1", "nvme1n1"]).mounts(&[("/dev/md0", &point.text(), "ext4", "rw")]);
    for disk in ["nvme0n1", "nvme1n1"] {
        let said = why_not(&machine, disk);
        assert!(said.contains("is on nvme0n1, nvme1n1 together"), "{said}");
    }

    let machine = two().with("sys/fs/btrfs/5e/devices/nvme0n1p1/x", "").with("sys/fs/btrfs/5e/devices/nvme1n1/x", "");
    let machine = machine.mounts(&[("/dev/nvme0n1p1", &point.text(), "btrfs", "rw")]);
    assert!(why_not(&machine, "nvme1n1").contains("together"));
    // Mounted for another process alone.
    assert!(why_not(&machine.mounts(&[]), "nvme1n1").contains("in use (part of a btrfs)"));

    let said = why_not(&two().swaps(&["/dev/nvme1n1"]), "nvme1n1");
    assert!(said.contains("in use (swap area /dev/nvme1n1)"), "{said}");

    // Opened and not mounted.
    let machine = two().stacked("dm-0", &["nvme1n1"]).set("dm-0", "dm/name", "luks-7");
    assert!(why_not(&machine, "nvme1n1").contains("in use (under dm-0 (luks-7))"));

    let machine = two().stacked("bcache0", &["nvme0n1p1", "nvme1n1"]);
    let machine = machine.mounts(&[("/dev/bcache0", &other.text(), "xfs", "ro")]);
    assert!(why_not(&machine, "nvme1n1").contains("mounted read-only at"));
}

#[test]
fn a_disk_of_which_little_is_known_is_not_to_be_overwritten() {
    let machine = Machine::new().disk(NVME, "nvme0n1", &["nvme0n1p1"]).disk(OTHER_NVME, "nvme1n1", &[]);
    let said = why_not(&machine, "nvme0n1");
    assert!(said.contains("mount one of its partitions (nvme0n1p1)"), "{said}");
    // Its node is none, so that it cannot be opened exclusively.
    let said = why_not(&machine, "nvme1n1");
    assert!(said.contains("only root can see whether something else uses it"), "{said}");
}

#[test]
fn where_no_disk_is_managed_each_has_its_reason() {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }
    let args = <Line as clap::Parser>::parse_from(["tune", "--check"]).args;
    let left_alone = |name: &str, why| LeftAlone::new(name.to_owned(), why);
    let left = [left_alone("sda", brisk_api::Why::Rotating), left_alone("mmcblk1", brisk_api::Why::Missing)];
    let said = summary(&[], &left, &args);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "no device: briskd manages none here");
    assert!(
        lines[1].starts_with("sda: left alone: a rotating disk") && lines[2].starts_with("mmcblk1: left alone: listed")
    );
    assert!(!summary(&[], &[], &args).contains("left alone"));
}

#[test]
fn the_daemon_continues_also_after_a_measurement_that_outlives_its_connection() {
    use std::io::{BufRead as _, BufReader, Write as _};

    let dir = tempfile::tempdir().expect("a directory");
    let listener = std::os::unix::net::UnixListener::bind(dir.path().join(brisk_api::SOCKET)).expect("bound");
    // A daemon that closes each connection after one answer, as it does with silent ones.
    let daemon = std::thread::spawn(move || {
        ["GetStatus", "Reset", "Reload"].map(|method| {
            let mut stream = listener.accept().expect("a client").0;
            let mut call = Vec::new();
            BufReader::new(&stream).read_until(0, &mut call).expect("a call");
            let _ = stream.write_all(b"{\"parameters\":{}}\0");
            String::from_utf8_lossy(&call).contains(method)
        })
    });
    let socket = Socket::of(dir.path().to_owned());
    drop(Stillness::begin(&socket).expect("suspended"));
    // Where there was no second call, the daemon takes this one, and says so.
    let _ends = std::os::unix::net::UnixStream::connect(dir.path().join(brisk_api::SOCKET));
    assert_eq!(daemon.join().expect("it ends"), [true; 3]);
}

#[test]
fn a_daemon_that_its_owner_suspended_stays_so() {
    use std::io::{BufRead as _, BufReader, Write as _};

    let dir = tempfile::tempdir().expect("a directory");
    let listener = std::os::unix::net::UnixListener::bind(dir.path().join(brisk_api::SOCKET)).expect("bound");
    let daemon = std::thread::spawn(move || {
        let status = Status { paused: true, ..Status::default() };
        let answer = json!({ "parameters": { "status": status } }).to_string() + "\0";
        for _ in 0..2 {
            let mut stream = listener.accept().expect("a client").0;
            BufReader::new(&stream).read_until(0, &mut Vec::new()).expect("a call");
            stream.write_all(answer.as_bytes()).expect("answered");
        }
    });
    let socket = Socket::of(dir.path().to_owned());
    assert!(is_paused(&socket));
    assert!(Stillness::begin(&socket).expect("still").0.is_none(), "it would be told to continue");
    daemon.join().expect("it ends");
}

#[test]
fn a_step_takes_what_is_due_first_of_the_first_device_that_can_be_measured() {
    const DAY_MS: u64 = 86_400_000;

    let plan = |device: &str, place: Option<&str>, missing: &[Measurement], tried: &[(&str, Ended)]| {
        let mut tries = Tries::default();
        tried.iter().for_each(|(part, ended)| tries.end(part, DAY_MS, 0, Some((*ended, "so".to_owned()))));
        DevicePlan {
            device: device.to_owned(),
            model: "X".to_owned(),
            known: Vec::new(),
            missing: missing.to_vec(),
            place: place.map(PathBuf::from),
            why_not: None,
            failed: Vec::new(),
            tried: Vec::new(),
            tries,
        }
    };
    let first = |mut all: Vec<DevicePlan>, now_ms| {
        keep_first(&mut all, now_ms);
        all.first().map(|one| (one.device.clone(), one.missing.clone()))
    };
    let of = |device: &str, part| Some((device.to_owned(), vec![part]));
    let all = Measurement::ALL;
    let nowhere = || plan("sda", None, &all, &[]);
    assert_eq!(first(vec![nowhere(), plan("sdb", Some("/"), &all, &[])], DAY_MS), of("sdb", Measurement::Speeds));
    // What failed waits a day; what was measured in part goes on; another device is not held up.
    let failed = || plan("sda", Some("/"), &[Measurement::Settings], &[("settings", Ended::Failed)]);
    let partly = || plan("sdb", Some("/"), &[Measurement::Costs], &[("costs", Ended::Partly)]);
    assert_eq!(first(vec![failed(), partly()], DAY_MS), of("sdb", Measurement::Costs));
    assert_eq!(first(vec![failed(), partly()], 2 * DAY_MS), of("sda", Measurement::Settings));
    assert_eq!(first(vec![failed()], DAY_MS), None);
    assert_eq!(all.map(Measurement::part), brisk_api::PARTS);
}

#[test]
fn a_tune_that_is_stopped_ends_its_measurement_and_says_what_is_not_measured() {
    use std::sync::atomic::AtomicBool;

    let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("it starts");
    let (status, why) = budget::until(&mut child, &AtomicBool::new(true), || None::<()>).expect("waited for");
    assert!(!status.success() && why.is_none());
    let plan = DevicePlan {
        device: "sda".to_owned(),
        model: "X".to_owned(),
        known: Vec::new(),
        missing: Measurement::ALL.to_vec(),
        place: Some("/".into()),
        why_not: None,
        failed: vec![Measurement::Settings, Measurement::Costs],
        tried: Vec::new(),
        tries: Tries::default(),
    };
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }
    let args = <Line as clap::Parser>::parse_from(["tune"]).args;
    let said = summary(&[plan], &[], &args);
    let [speeds, settings, costs] = Measurement::ALL.map(Measurement::of);
    assert_eq!(said, format!("sda (X): measured: {speeds}\nsda (X): not measured: {settings}; {costs}\n"));
}
