use brisk_sense::{DeviceNumber, Mmc, Partition};

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

#[test]
fn a_device_is_known_by_its_buses() {
    let mut card = disk("mmcblk1", 1, &[], &[]);
    let mmc = Mmc { kind: Some("SD".into()), name: None, manufacturer_id: None, life_time: None, pre_eol: None };
    card.mmc = Some(mmc.clone());
    assert_eq!(kind(&card, ""), "sd");
    card.mmc = Some(Mmc { kind: Some("MMC".into()), manufacturer_id: Some(0x15), ..mmc });
    card.model = Some("BGND3R".to_owned());
    assert_eq!((kind(&card, ""), model(&card).as_str()), ("emmc", "000015 BGND3R"));
    let sda = disk("sda", 1, &[], &[]);
    assert_eq!(kind(&sda, "devices/platform/soc/1d84000.ufshc/host0/target0:0:0/0:0:0:0/block/sda"), "ufs");
    assert_eq!(kind(&sda, "devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host1/block/sda"), "usb");
    assert_eq!(kind(&sda, "devices/pci0000:00/0000:00:17.0/ata1/host0/block/sda"), "disk");
    assert_eq!(kind(&disk("nvme0n1", 1, &[], &[]), "devices/pci/nvme/nvme0/nvme0n1"), "nvme");
    let vda = disk("vda", 1, &[], &[]);
    assert_eq!((kind(&vda, "devices/pci/virtio2/block/vda"), model(&vda).as_str()), ("virtual", "vda"));
    for (preset, kind) in [("galaxy-s5-emmc", "emmc"), ("ufs-3.1", "ufs"), ("sd-ridata", "sd"), ("pcm", "virtual")] {
        assert_eq!(kind_of_preset(preset), kind);
    }
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
    // Nobody but the person changed anything.
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
