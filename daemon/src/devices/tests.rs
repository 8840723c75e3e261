use brisk_core::device::Device;

use super::*;
use crate::machine_tree::Machine;

const NVME: &str = "pci0000:00/nvme/nvme0";
const SATA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block";
const USB: &str = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host1/target1:0:0/1:0:0:0/block";
const EMMC: &str = "platform/soc/mmc0/mmc0:0001/block";
const VIRTIO: &str = "pci0000:00/0000:00:02.0/virtio1/block";

fn these(names: &[&str]) -> Devices {
    Devices::These(names.iter().map(|&name| name.to_owned()).collect())
}

/// Names of the managed disks, and the others with the reasons.
fn found(machine: &Machine, choice: &Devices) -> (Vec<String>, Vec<(String, Why)>) {
    let found = disks(&machine.sense(), choice).expect("a tree");
    let left_alone = found.left_alone.into_iter().map(|one| (one.name, one.why));
    (found.managed.into_iter().map(|device| device.name).collect(), left_alone.collect())
}

fn left(pairs: &[(&str, Why)]) -> Vec<(String, Why)> {
    pairs.iter().map(|&(name, why)| (name.to_owned(), why)).collect()
}

#[test]
fn devices_that_are_not_there_are_named() {
    let machine = Machine::new().disk(SATA, "sda", &["sda1"]).disk("pci0000:00", "cciss!c0d0", &[]);
    let storage = machine.sense().storage().expect("a tree");
    let absent = |text: &str| absent_of(&storage, &Config::parse(text).expect("usable"));
    assert_eq!(absent("[daemon]\ndevices = [\"/dev/sda\", \"cciss/c0d0\", \"sda1\"]\n"), Vec::<String>::new());
    assert_eq!(absent("[daemon]\ndevices = \"auto\"\n"), Vec::<String>::new());
    let text = "[daemon]\ndevices = [\"mmcblk9\"]\n[fixed]\n\"queue/mmcblk8/read_ahead_kb\" = 64\n\
                \"queue/mmcblk8/scheduler\" = \"none\"\n\"queue/sda1/read_ahead_kb\" = 64\n";
    let said = absent(text);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("devices: there is no block device 'mmcblk9'"), "{said:?}");
    assert!(said[1].starts_with("fixed: there is no block device 'mmcblk8'"), "{said:?}");
    assert!(said[2].contains("'sda1' is a partition") && said[2].ends_with("name sda"), "{said:?}");
    assert_eq!(found(&machine, &these(&["mmcblk9"])).1[0], ("mmcblk9".to_owned(), Why::Missing));
}

#[test]
fn the_disks_below_what_is_mounted_are_managed_whatever_is_between() {
    let machine = Machine::new()
        .disk(NVME, "nvme0n1", &["nvme0n1p1", "nvme0n1p2"])
        .disk("pci0000:00/nvme/nvme1", "nvme1n1", &["nvme1n1p1"])
        .disk(EMMC, "mmcblk0", &["mmcblk0p1"])
        .disk(&format!("{EMMC}/mmcblk0"), "mmcblk0boot0", &[])
        .disk(SATA, "sda", &[])
        .stacked("md0", &["nvme0n1p1", "nvme1n1p1"])
        .stacked("dm-0", &["md0"])
        .stacked("dm-1", &["mmcblk0p1"])
        .disk("virtual/block", "loop0", &[])
        .set("loop0", "loop/backing_file", "/data/image")
        .mounts(&[("/dev/dm-0", "/data", "ext4", "rw"), ("/dev/loop0", "/snap", "squashfs", "ro")])
        .swaps(&["/dev/dm-1"]);
    let managed = ["mmcblk0", "nvme0n1", "nvme1n1"].map(str::to_owned);
    assert_eq!(found(&machine, &Devices::Auto), (managed.to_vec(), left(&[("sda", Why::NotUsed)])));
    // What is listed by a partition, a volume or a node is its disks.
    let listed = found(&machine, &these(&["/dev/nvme0n1p2", "dm-1"]));
    assert_eq!(listed.0, ["mmcblk0", "nvme0n1"]);
    assert!(listed.1.contains(&("sda".to_owned(), Why::NotListed)), "{listed:?}");
    // A loop device that is listed is meant itself.
    assert_eq!(found(&machine, &these(&["loop0"])).0, ["loop0"]);
}

#[test]
fn disks_that_are_left_alone_have_a_reason() {
    let machine = Machine::new()
        .disk(VIRTIO, "vda", &["vda1"])
        .set("vda", "queue/rotational", "1")
        .disk(SATA, "sda", &[])
        .set("sda", "queue/rotational", "1")
        .disk(SATA, "sdb", &[])
        .disk(USB, "sdc", &["sdc1"])
        .set("sdc", "queue/rotational", "1")
        .disk(USB, "sdd", &["sdd1"])
        .set("sdd", "queue/rotational", "1")
        .set("sdd", "removable", "1")
        .disk(SATA, "sr0", &[])
        .set("sr0", "size", "0")
        .disk("virtual/block", "nbd0", &[])
        .disk("virtual/block", "zram0", &[])
        .disk(NVME, "nvme0n1", &[])
        .set("nvme0n1", "queue/scheduler", "none [x]");
    let machine = machine
        .mounts(&[
            ("/dev/vda1", "/", "ext4", "rw"),
            ("/dev/sda", "/a", "ext4", "rw"),
            ("/dev/sdc1", "/c", "ext4", "rw"),
            ("/dev/sdd1", "/d", "vfat", "rw"),
            ("/dev/nbd0", "/n", "ext4", "rw"),
        ])
        .swaps(&["/dev/zram0"]);
    let (managed, others) = found(&machine, &Devices::Auto);
    assert_eq!(managed, ["sdd", "vda"]);
    let expected = [
        ("nbd0", Why::NotLocal),
        ("nvme0n1", Why::NotUsed),
        ("sda", Why::Rotating),
        ("sdb", Why::NotUsed),
        ("sdc", Why::UnknownMedium),
    ];
    assert_eq!(others, left(&expected));
    let listed = found(&machine, &these(&["sda", "sdc1", "sr0", "sdz"]));
    assert_eq!(listed.0, ["sda", "sdc"]);
    assert_eq!(listed.1[0], ("sdz".to_owned(), Why::Missing));
    assert!(listed.1.contains(&("sr0".to_owned(), Why::Empty)), "{listed:?}");
}

/// A machine with a lab device on loop3, mounted here.
fn machine_with_a_lab(mounted_at: Option<&str>) -> Machine {
    let identity = r#"{"identity": {"model": "galaxy-s5-emmc", "kind": "emmc", "is_lab": true}}"#;
    let machine = Machine::new()
        .disk("virtual/block", "loop3", &[])
        .set("loop3", "loop/backing_file", "/run/brisk/lab/1/mnt/device")
        .with("run/brisk/lab/1/state.json", identity);
    let mounts: Vec<_> = mounted_at.into_iter().map(|at| ("/dev/loop3", at, "ext4", "rw")).collect();
    machine.mounts(&mounts)
}

#[test]
fn a_lab_device_is_managed_where_something_is_mounted_and_no_phone_is_measured() {
    let it = || vec!["loop3".to_owned()];
    let of = |mounted_at, choice: &Devices| found(&machine_with_a_lab(mounted_at), choice);
    assert_eq!(of(None, &Devices::Auto), (vec![], left(&[("loop3", Why::NotUsed)])));
    assert_eq!(of(Some("/run/brisk/phone/1/root"), &Devices::Auto), (vec![], left(&[("loop3", Why::Phone)])));
    assert_eq!(of(Some("/mnt/data"), &Devices::Auto), (it(), vec![]));
    assert_eq!(of(None, &these(&["loop3"])), (it(), vec![]));
    let model = managed(&machine_with_a_lab(None).sense(), &these(&["loop3"])).expect("a tree");
    assert_eq!(model[0].model, "galaxy-s5-emmc");
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
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/sense/tests/fixtures/made-up-phone");
    let found = managed(&Sense::new(fixture), &Devices::Auto).expect("a tree");
    // /data is on a partition, / on a volume on another one, and swap is in zram.
    assert_eq!(found.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["mmcblk0"]);
    assert_eq!((found[0].model.as_str(), found[0].kind.as_str()), ("000015 MADEUP", "emmc"));
    assert_eq!(found[0].schedulers, ["mq-deadline", "kyber", "bfq", "none"]);
    assert_eq!(found[0].original(&QueueSetting::NrRequests), Some("64"));
}

#[test]
fn phones_of_android_are_managed_through_the_volume_of_their_data() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/sense/tests/fixtures");
    for (phone, name, kind) in [("android-10-linux-4.14", "mmcblk0", "emmc"), ("android-14-linux-5.15", "sda", "ufs")] {
        let found = managed(&Sense::new(fixtures.join(phone)), &Devices::Auto).expect("a tree");
        let found: Vec<(&str, &str)> = found.iter().map(|disk| (disk.name.as_str(), disk.kind.as_str())).collect();
        assert_eq!(found, [(name, kind)], "units of UFS without a file system are left alone");
    }
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

#[test]
fn a_device_that_cannot_be_read_hides_no_other() {
    let machine = Machine::new()
        .disk(EMMC, "mmcblk0", &["mmcblk0p1"])
        .set("mmcblk0", "device/life_time", "")
        .disk(SATA, "sda", &["sda1"])
        .set("sda", "queue/nr_requests", "odd")
        .mounts(&[("/dev/mmcblk0p1", "/", "ext4", "rw"), ("/dev/sda1", "/data", "ext4", "rw")]);
    let expected = (vec!["mmcblk0".to_owned()], left(&[("sda", Why::Unreadable)]));
    assert_eq!(found(&machine, &Devices::Auto), expected);
}
