use brisk_sense::{DeviceNumber, Partition};

use super::*;

fn disk(name: &str, minor: u32, slaves: &[&str], partitions: &[&str]) -> BlockDevice {
    let partition = |name: &&str| Partition { name: (*name).to_owned(), number: 1, start_bytes: 0, size_bytes: 1 };
    BlockDevice {
        name: name.to_owned(),
        device: DeviceNumber { major: 8, minor },
        size_bytes: 1,
        read_only: false,
        vendor: None,
        model: None,
        mmc: None,
        holders: Vec::new(),
        slaves: slaves.iter().map(|&slave| slave.to_owned()).collect(),
        partitions: partitions.iter().map(partition).collect(),
    }
}

fn mount(minor: u32, source: &str) -> Mount {
    let major = if minor == 0 { 0 } else { 8 };
    Mount {
        id: 1,
        parent: 0,
        device: DeviceNumber { major, minor },
        root: "/".into(),
        mount_point: "/".into(),
        options: Vec::new(),
        fs_type: "ext4".to_owned(),
        source: source.into(),
        super_options: Vec::new(),
    }
}

#[test]
fn devices_that_are_not_there_are_named() {
    let all = [disk("sda", 1, &[], &["sda1"]), disk("cciss!c0d0", 2, &[], &[])];
    let absent = |text: &str| absent_of(&all, &Config::parse(text).expect("usable"));
    assert_eq!(absent("[daemon]\ndevices = [\"/dev/sda\", \"cciss/c0d0\"]\n"), Vec::<String>::new());
    assert_eq!(absent("[daemon]\ndevices = \"auto\"\n"), Vec::<String>::new());
    let text = "[daemon]\ndevices = [\"sda1\", \"mmcblk9\"]\n[fixed]\n\"queue/mmcblk8/read_ahead_kb\" = 64\n\
                \"queue/mmcblk8/scheduler\" = \"none\"\n";
    let said = absent(text);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("'sda1' is a partition") && said[0].ends_with("name sda"), "{said:?}");
    assert!(said[1].starts_with("devices: there is no block device 'mmcblk9'"), "{said:?}");
    assert!(said[2].starts_with("fixed: there is no block device 'mmcblk8'"), "{said:?}");
}

#[test]
fn what_is_mounted_leads_down_to_its_disks() {
    let all = [
        disk("sda", 1, &[], &["sda1"]),
        disk("sdb", 2, &[], &["sdb1"]),
        disk("sdc", 3, &[], &[]),
        disk("sdd", 4, &[], &[]),
        disk("dm-0", 5, &["sda1", "dm-1"], &[]),
        disk("dm-1", 6, &["sdb1"], &[]),
    ];
    let names = |mounts: &[Mount], swaps: &[&str]| {
        let swaps: Vec<PathBuf> = swaps.iter().map(PathBuf::from).collect();
        let disk_of = |number| all.iter().find(|disk| disk.device == number).map(|disk| disk.name.clone());
        disks_below(&all, used(&all, mounts, &swaps, disk_of)).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(names(&[mount(5, "/dev/mapper/root")], &[]), ["sda", "sdb"]);
    assert_eq!(names(&[mount(3, "/dev/sdc")], &[]), ["sdc"]);
    // A file system with a number of its own is found by what was mounted, swap by its node.
    assert_eq!(names(&[mount(0, "/dev/sdb1"), mount(0, "tmpfs")], &["/dev/block/sdd", "/swap"]), ["sdb", "sdd"]);
    assert_eq!(names(&[], &[]), Vec::<String>::new());
}

/// A machine with a lab device on loop3, and these lines more in its table of mounts.
fn machine_with_a_lab(mounts: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("written");
    };
    let queue = [
        ("scheduler", "none [mq-deadline]"),
        ("nr_requests", "8"),
        ("rotational", "0"),
        ("read_ahead_kb", "128"),
        ("max_sectors_kb", "512"),
        ("max_hw_sectors_kb", "512"),
        ("nr_zones", "0"),
        ("logical_block_size", "4096"),
        ("physical_block_size", "4096"),
        ("discard_granularity", "4096"),
        ("discard_max_bytes", "4096"),
        ("nomerges", "0"),
        ("rq_affinity", "1"),
        ("zoned", "none"),
        ("wbt_lat_usec", "0"),
        ("write_cache", "write back"),
        ("fua", "0"),
        ("minimum_io_size", "4096"),
        ("optimal_io_size", "0"),
        ("iostats", "1"),
    ];
    queue.iter().for_each(|(name, value)| write(&format!("sys/block/loop3/queue/{name}"), &format!("{value}\n")));
    [("size", "8"), ("dev", "7:3"), ("ro", "0"), ("loop/backing_file", "/run/brisk/lab/1/mnt/device")]
        .iter()
        .for_each(|(name, value)| write(&format!("sys/block/loop3/{name}"), &format!("{value}\n")));
    std::fs::create_dir_all(root.path().join("sys/dev/block")).expect("a directory");
    std::os::unix::fs::symlink("../../block/loop3", root.path().join("sys/dev/block/7:3")).expect("a link");
    let identity = r#"{"identity": {"model": "galaxy-s5-emmc", "kind": "emmc", "is_lab": true}}"#;
    write("run/brisk/lab/1/state.json", identity);
    write("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
    write("proc/self/mountinfo", &format!("1 0 0:1 / / rw - tmpfs tmpfs rw\n{mounts}"));
    root
}

#[test]
fn a_lab_device_is_managed_where_something_is_mounted_and_no_phone_is_measured() {
    let names = |mounts: &str, choice: &Devices| {
        let root = machine_with_a_lab(mounts);
        let found = managed(&Sense::new(root.path()), choice).expect("a tree");
        found.into_iter().map(|device| (device.name, device.model)).collect::<Vec<_>>()
    };
    let it = || vec![("loop3".to_owned(), "galaxy-s5-emmc".to_owned())];
    let mount = |place: &str| format!("2 1 7:3 / {place} rw - ext4 /dev/loop3 rw\n");
    assert_eq!(names("", &Devices::Auto), []);
    assert_eq!(names(&mount("/run/brisk/phone/1/root"), &Devices::Auto), []);
    assert_eq!(names(&mount("/mnt/data"), &Devices::Auto), it());
    assert_eq!(names("", &Devices::These(vec!["loop3".to_owned()])), it());
}

#[test]
fn the_value_from_before_brisk_outlives_what_brisk_wrote() {
    let device = |settings: &[(&str, &str)]| Device {
        name: "sda".to_owned(),
        originals: settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        ..Device::default()
    };
    let held = |names: &[&str]| BTreeMap::from([("sda".to_owned(), names.iter().map(|&n| n.to_owned()).collect())]);
    let before =
        [device(&[("scheduler", "bfq"), ("nr_requests", "64"), ("read_ahead_kb", "128"), ("bfq/low_latency", "1")])];
    let now =
        || vec![device(&[("scheduler", "kyber"), ("nr_requests", "256"), ("read_ahead_kb", "512"), ("kyber/x", "1")])];
    assert_eq!(
        with_originals(&before, now(), &held(&["scheduler"])),
        [device(&[("scheduler", "bfq"), ("nr_requests", "64"), ("read_ahead_kb", "512"), ("bfq/low_latency", "1")])]
    );
    // Only the person changed settings.
    assert_eq!(with_originals(&before, now(), &BTreeMap::new()), now());
    let mut other = now();
    other[0].model = "another card".to_owned();
    assert_eq!(with_originals(&before, other.clone(), &held(&["scheduler"])), other);
}

#[test]
fn a_phone_is_managed_through_its_volumes_and_its_memory_is_not() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platform/sense/tests/fixtures/made-up-phone");
    let found = managed(&Sense::new(fixture), &Devices::Auto).expect("a tree");
    // /data is on a partition, / on a volume on another one, and swap is in zram.
    assert_eq!(found.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["mmcblk0"]);
    assert_eq!((found[0].model.as_str(), found[0].kind.as_str()), ("000015 MADEUP", "emmc"));
    assert_eq!(found[0].schedulers, ["mq-deadline", "kyber", "bfq", "none"]);
    assert_eq!(found[0].original(&QueueSetting::NrRequests), Some("64"));
}

#[test]
fn this_machine_has_settings_for_each_managed_device() {
    let sense = Sense::default();
    for device in managed(&sense, &Devices::Auto).expect("Linux") {
        assert!(device.original(&QueueSetting::Scheduler).is_some(), "{device:?}");
        assert!(!device.kind.is_empty() && !device.name.starts_with("zram"), "{device:?}");
    }
    assert_eq!(managed(&sense, &Devices::These(vec!["no such".to_owned()])).expect("Linux"), []);
}
