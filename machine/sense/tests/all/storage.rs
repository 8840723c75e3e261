//! Which disks are below a path, and what uses a disk, on machines that are made up.

use crate::machine_tree;
use std::path::Path;

use brisk_sense::{Claim, DeviceNumber, Medium, Stack, Storage, Use};
use machine_tree::Machine;

const NVME: &str = "pci0000:00/nvme/nvme0";
const OTHER_NVME: &str = "pci0000:00/nvme/nvme1";
const SATA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block";
const USB: &str = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host1/target1:0:0/1:0:0:0/block";
const EMMC: &str = "platform/soc/mmc0/mmc0:0001/block";
const VIRTIO: &str = "pci0000:00/0000:00:02.0/virtio1/block";

fn storage(machine: &Machine) -> Storage {
    machine.sense().storage().expect("a tree")
}

fn disks(stack: &Stack) -> Vec<&str> {
    stack.disks.iter().map(String::as_str).collect()
}

fn below<'a>(storage: &Storage, path: &str, stack: &'a mut Stack) -> Vec<&'a str> {
    *stack = storage.below_path(Path::new(path));
    assert!(!stack.hides, "{path}: {stack:?}");
    disks(stack)
}

/// The words for each use of a device.
fn uses(storage: &Storage, name: &str) -> Vec<String> {
    storage.uses_of(name).iter().map(Use::to_string).collect()
}

#[test]
fn luks_on_a_partition_leads_to_the_disk_and_the_partition() {
    let machine = Machine::new()
        .disk(NVME, "nvme0n1", &["nvme0n1p1", "nvme0n1p3"])
        .stacked("dm-0", &["nvme0n1p3"])
        .set("dm-0", "dm/name", "luks-1")
        .mounts(&[("/dev/dm-0", "/data", "ext4", "rw,noatime")]);
    let storage = storage(&machine);
    let stack = storage.below_path(Path::new("/data/app/x"));
    let located = storage.located(&stack).expect("a single disk");
    assert_eq!(
        (located.disk.name.as_str(), located.partition.map(|it| it.name)),
        ("nvme0n1", Some("nvme0n1p3".into()))
    );
    assert_eq!(uses(&storage, "nvme0n1"), ["mounted at /data", "under dm-0 (luks-1)"]);
    assert_eq!(uses(&storage, "nvme0n1p3"), ["mounted at /data", "under dm-0 (luks-1)"]);
    assert_eq!(uses(&storage, "nvme0n1p1"), [""; 0]);
    assert_eq!(storage.name_of(Path::new("/dev/mapper/luks-1")).as_deref(), Some("dm-0"));
}

#[test]
fn stacks_of_any_height_end_at_their_disks() {
    // LVM on LUKS on RAID on partitions, and a volume over two of these.
    let machine = Machine::new()
        .disk(NVME, "nvme0n1", &["nvme0n1p1"])
        .disk(OTHER_NVME, "nvme1n1", &["nvme1n1p1"])
        .disk(SATA, "sda", &["sda1"])
        .stacked("md127", &["nvme0n1p1", "nvme1n1p1"])
        .stacked("dm-0", &["md127"])
        .stacked("dm-1", &["dm-0"])
        .stacked("bcache0", &["sda", "dm-1"])
        .stacked("dm-2", &["dm-0", "sda"])
        .mounts(&[
            ("/dev/dm-1", "/a", "ext4", "rw"),
            ("/dev/bcache0", "/b", "xfs", "rw"),
            ("/dev/dm-2", "/c", "ext4", "ro"),
        ])
        .swaps(&["/dev/dm-0"]);
    let storage = storage(&machine);
    let mut stack = Stack::default();
    assert_eq!(below(&storage, "/a", &mut stack), ["nvme0n1", "nvme1n1"]);
    assert!(stack.sole_disk().is_none() && storage.located(&stack).is_none());
    assert_eq!(below(&storage, "/b/x", &mut stack), ["nvme0n1", "nvme1n1", "sda"]);
    assert_eq!(below(&storage, "/c", &mut stack), ["nvme0n1", "nvme1n1", "sda"]);
    assert_eq!(disks(&storage.below_swap()), ["nvme0n1", "nvme1n1"]);
    let of_disk = uses(&storage, "sda");
    // What is on the whole disk is on its partition.
    assert_eq!(of_disk, uses(&storage, "sda1"));
    assert_eq!(of_disk[..2], ["mounted at /b", "mounted read-only at /c"], "{of_disk:?}");
    assert!(uses(&storage, "nvme1n1p1").contains(&"swap area /dev/dm-0".to_owned()));
    // A device that is a member of nothing yet is free.
    assert_eq!(uses(&storage, "dm-2"), ["mounted read-only at /c"]);
}

#[test]
fn a_btrfs_is_on_all_its_devices() {
    let machine = Machine::new()
        .disk(NVME, "nvme0n1", &["nvme0n1p2"])
        .disk(SATA, "sda", &[])
        .disk(SATA, "sdb", &[])
        .stacked("dm-0", &["nvme0n1p2"])
        .with("sys/fs/btrfs/5e7a/devices/dm-0/size", "1")
        .with("sys/fs/btrfs/5e7a/devices/sda/size", "1")
        .with("sys/fs/btrfs/features/raid1c34", "0")
        .mounts(&[("/dev/dm-0", "/data", "btrfs", "rw,subvol=/data")]);
    let storage = storage(&machine);
    let mut stack = Stack::default();
    assert_eq!(below(&storage, "/data", &mut stack), ["nvme0n1", "sda"]);
    // A subvolume has a number that no table has.
    let subvolume = storage.below_number(DeviceNumber { major: 0, minor: 99 });
    assert_eq!((disks(&subvolume), subvolume.hides), (vec!["nvme0n1", "sda"], false));
    assert_eq!(uses(&storage, "sda"), ["mounted at /data", "part of a btrfs"]);
    assert_eq!(uses(&storage, "sdb"), [""; 0]);
}

#[test]
fn what_was_mounted_by_several_nodes_or_with_a_journal_elsewhere_is_on_all_of_them() {
    let machine =
        Machine::new().disk(NVME, "nvme0n1", &["nvme0n1p1", "nvme0n1p2"]).disk(SATA, "sda", &["sda1"]).mounts(&[
            ("/dev/nvme0n1p1:/dev/sda1", "/b", "bcachefs", "rw"),
            ("/dev/nvme0n1p2", "/x", "xfs", "rw,logdev=/dev/sda1"),
            ("tank/home", "/z", "zfs", "rw,xattr"),
            ("host:/export", "/n", "nfs4", "rw"),
            ("sshfs", "/f", "fuse.sshfs", "rw"),
        ]);
    let storage = storage(&machine);
    let mut stack = Stack::default();
    assert_eq!(below(&storage, "/b", &mut stack), ["nvme0n1", "sda"]);
    assert_eq!(below(&storage, "/x", &mut stack), ["nvme0n1", "sda"]);
    assert_eq!(below(&storage, "/n", &mut stack), [""; 0]);
    for path in ["/z", "/f"] {
        let stack = storage.below_path(Path::new(path));
        assert!(stack.hides && stack.disks.is_empty(), "{path}: {stack:?}");
    }
}

#[test]
fn an_overlay_is_on_the_disks_of_its_layers() {
    let machine = Machine::new()
        .disk(NVME, "nvme0n1", &["nvme0n1p1"])
        .disk(SATA, "sda", &["sda1"])
        .with("lower/x", "")
        .with("upper/x", "")
        .mounts(&[
            ("/dev/sda1", "/lower", "squashfs", "ro"),
            ("/dev/nvme0n1p1", "/upper", "ext4", "rw"),
            ("overlay", "/o", "overlay", "rw,lowerdir=/lower,upperdir=/upper,workdir=/upper"),
            ("overlay", "/p", "overlay", "rw,lowerdir=/gone,upperdir=/upper"),
        ]);
    let storage = storage(&machine);
    let found = storage.below_path(Path::new("/o/x"));
    assert_eq!((disks(&found), found.hides), (vec!["nvme0n1", "sda"], false));
    assert!(storage.below_path(Path::new("/p")).hides);
}

#[test]
fn a_root_by_composefs_is_on_the_disk_of_its_data() {
    // The image with the metadata is mounted where no process sees it.
    for options in [
        "ro,lowerdir+=/run/ostree/.private/cfsroot-lower,datadir+=/sysroot/ostree/repo/objects,metacopy=on",
        "ro,lowerdir=/run/ostree/.private/cfsroot-lower::/sysroot/ostree/repo/objects,metacopy=on",
    ] {
        let machine = Machine::new()
            .disk(NVME, "nvme0n1", &["nvme0n1p3"])
            .with("sysroot/ostree/repo/objects/00", "")
            .mounts(&[("composefs", "/", "overlay", options), ("/dev/nvme0n1p3", "/sysroot", "ext4", "ro")]);
        let mut stack = Stack::default();
        assert_eq!(below(&storage(&machine), "/usr/bin", &mut stack), ["nvme0n1"], "{options}");
    }
    // Without its data nothing is known.
    let gone = Machine::new().mounts(&[("composefs", "/", "overlay", "ro,lowerdir+=/gone,datadir+=/gone2")]);
    assert!(storage(&gone).below_path(Path::new("/usr")).hides);
}

#[test]
fn a_btrfs_without_a_node_is_the_one_that_no_other_mount_names() {
    let machine = Machine::new()
        .disk(NVME, "nvme0n1", &["nvme0n1p2"])
        .disk(EMMC, "mmcblk0", &["mmcblk0p1"])
        .with("sys/fs/btrfs/aa/devices/nvme0n1p2/size", "1")
        .with("sys/fs/btrfs/bb/devices/mmcblk0p1/size", "1")
        .mounts(&[("/dev/root", "/", "btrfs", "rw,subvol=/@"), ("/dev/mmcblk0p1", "/mnt/card", "btrfs", "rw")]);
    let storage = storage(&machine);
    let mut stack = Stack::default();
    assert_eq!(below(&storage, "/usr", &mut stack), ["nvme0n1"]);
    assert_eq!(below(&storage, "/mnt/card/x", &mut stack), ["mmcblk0"]);
}

#[test]
fn a_partition_may_have_any_name() {
    let machine = Machine::new()
        .disk(EMMC, "mmcblk0", &["data"])
        .set("mmcblk0", "device/type", "MMC")
        .stacked("dm-0", &["data"])
        .set("dm-0", "dm/name", "userdata")
        .mounts(&[("/dev/dm-0", "/", "ext4", "rw")]);
    let storage = storage(&machine);
    let located = storage.located(&storage.below_path(Path::new("/usr"))).expect("one disk");
    assert_eq!((located.disk.name.as_str(), located.partition.map(|it| it.name)), ("mmcblk0", Some("data".to_owned())));
    assert_eq!(uses(&storage, "data"), ["mounted at /", "under dm-0 (userdata)"]);
}

#[test]
fn a_lesser_fact_in_odd_words_hides_no_device() {
    let odd = |attribute: &str, text: &str| {
        let machine = Machine::new()
            .disk(EMMC, "mmcblk0", &["mmcblk0p1"])
            .set("mmcblk0", "device/type", "MMC")
            .set("mmcblk0", "device/name", "MADEUP")
            .set("mmcblk0", "device/manfid", "0x000015")
            .set("mmcblk0", "device/life_time", "0x01 0x02")
            .set("mmcblk0", attribute, text)
            .mounts(&[("/dev/mmcblk0p1", "/", "ext4", "rw")]);
        let (sense, storage) = (machine.sense(), storage(&machine));
        let stack = storage.below_path(Path::new("/usr"));
        let disk = storage.device_of(stack.sole_disk().expect("found")).expect("there").clone();
        sense.identity(&disk).expect("readable").model
    };
    for attribute in ["life_time", "pre_eol_info", "fwrev", "prv", "type"] {
        for text in ["", "\n", "0x01", "unknown\n", "-"] {
            let model = odd(&format!("device/{attribute}"), text);
            assert!(model.starts_with("000015 MADEUP"), "{attribute} {text:?}: {model}");
        }
    }
    assert_eq!(odd("device/manfid", "\n"), "MADEUP");
    assert_eq!(odd("ro", "?"), "000015 MADEUP");
}

#[test]
fn a_loop_device_is_on_the_disk_of_its_file() {
    let machine = Machine::new()
        .disk(NVME, "nvme0n1", &["nvme0n1p1"])
        .disk("virtual/block", "loop0", &[])
        .disk("virtual/block", "loop1", &[])
        .set("loop0", "loop/backing_file", "/home/x.home")
        .set("loop1", "loop/backing_file", "/memory/x.img")
        .stacked("dm-0", &["loop0"])
        .mounts(&[
            ("/dev/nvme0n1p1", "/home", "ext4", "rw"),
            ("/dev/dm-0", "/home/x", "ext4", "rw"),
            ("tmpfs", "/memory", "tmpfs", "rw"),
            ("/dev/loop1", "/image", "squashfs", "ro"),
        ]);
    let storage = storage(&machine);
    let mut stack = Stack::default();
    assert_eq!(below(&storage, "/home/x/data", &mut stack), ["nvme0n1"]);
    assert!(["dm-0", "loop0", "nvme0n1p1"].iter().all(|part| stack.parts.contains(*part)), "{stack:?}");
    // In memory there is no disk below.
    assert_eq!(below(&storage, "/image", &mut stack), ["loop1"]);
    assert!(uses(&storage, "nvme0n1p1").contains(&"mounted at /home/x".to_owned()));
}

#[test]
fn memory_that_is_written_back_to_a_partition_uses_it() {
    let machine = Machine::new()
        .disk(EMMC, "mmcblk0", &["mmcblk0p9"])
        .disk("virtual/block", "zram0", &[])
        .disk("virtual/block", "zram1", &[])
        .set("zram0", "backing_dev", "/dev/mmcblk0p9")
        .set("zram1", "backing_dev", "none")
        .swaps(&["/dev/zram0", "/dev/zram1"]);
    let storage = storage(&machine);
    assert_eq!(disks(&storage.below_swap()), ["mmcblk0", "zram1"]);
    assert_eq!(uses(&storage, "mmcblk0p9"), ["swap area /dev/zram0", "under zram0"]);
}

#[test]
fn paths_of_one_disk_are_one_disk() {
    let machine = Machine::new()
        .disk(SATA, "sda", &[])
        .disk(SATA, "sdb", &[])
        .set("sda", "device/model", "ARRAY")
        .stacked("dm-0", &["sda", "sdb"])
        .set("dm-0", "dm/uuid", "mpath-3600")
        .stacked("dm-1", &["dm-0"])
        .set("dm-1", "dm/uuid", "LVM-x")
        .disk(NVME, "nvme0n1", &[])
        .disk(NVME, "nvme0c0n1", &[])
        .set("nvme0c0n1", "hidden", "1")
        .mounts(&[("/dev/dm-1", "/data", "ext4", "rw")]);
    let storage = storage(&machine);
    let mut stack = Stack::default();
    assert_eq!(below(&storage, "/data", &mut stack), ["dm-0"]);
    assert_eq!(uses(&storage, "sdb"), ["mounted at /data", "under dm-0", "under dm-1"]);
    let identity = machine.sense().identity(storage.device_of("dm-0").expect("there")).expect("read");
    assert_eq!(identity.model, "ARRAY");
    assert!(storage.device_of("nvme0c0n1").is_none(), "it serves nothing by itself");
}

#[test]
fn hardware_partitions_of_a_card_are_told_by_the_card() {
    let machine = Machine::new()
        .disk(EMMC, "mmcblk0", &["mmcblk0p1"])
        .set("mmcblk0", "device/type", "MMC")
        .set("mmcblk0", "device/name", "MADEUP")
        .set("mmcblk0", "device/manfid", "0x000015")
        .set("mmcblk0", "device/fwrev", "0x0800000000000000")
        .disk(&format!("{EMMC}/mmcblk0"), "mmcblk0boot0", &[])
        .disk(&format!("{EMMC}/mmcblk0"), "mmcblk0gp0", &[])
        .stacked("dm-0", &["mmcblk0p1"])
        .mounts(&[("/dev/dm-0", "/", "ext4", "rw"), ("/dev/mmcblk0gp0", "/gp", "ext4", "rw")]);
    let (sense, storage) = (machine.sense(), storage(&machine));
    let model = |path: &str| {
        let located = storage.located(&storage.below_path(Path::new(path))).expect("one disk");
        (located.disk.name.clone(), sense.identity(&located.disk).expect("read").model)
    };
    let card = "000015 MADEUP, firmware 0x0800000000000000";
    assert_eq!(model("/x"), ("mmcblk0".to_owned(), card.to_owned()));
    assert_eq!(model("/gp"), ("mmcblk0gp0".to_owned(), card.to_owned()));
    assert_eq!(uses(&storage, "mmcblk0boot0"), [""; 0]);
    let boot = storage.device_of("mmcblk0boot0").expect("there");
    assert_eq!(sense.card_of(boot).expect("read").map(|card| card.name).as_deref(), Some("mmcblk0"));
    assert_eq!(sense.card_of(storage.device_of("mmcblk0").expect("there")).expect("read"), None);
}

#[test]
fn mounts_that_only_other_processes_see_are_uses() {
    let machine = Machine::new().disk(SATA, "sda", &["sda1"]).disk(SATA, "sdb", &["sdb1"]);
    for (pid, namespace) in [("self", 1), ("7", 1), ("8", 2)] {
        let dir = machine.root().join("proc").join(pid).join("ns");
        std::fs::create_dir_all(&dir).expect("a directory");
        std::os::unix::fs::symlink(format!("mnt:[{namespace}]"), dir.join("mnt")).expect("a link");
    }
    let (a, b) = (machine.number("sda1"), machine.number("sdb1"));
    let machine = machine
        .with("proc/7/mountinfo", &format!("9 1 {b} / /same rw - ext4 /dev/sdb1 rw\n"))
        .with("proc/8/mountinfo", &format!("9 1 {a} / /other rw - ext4 /dev/sda1 ro\n"));
    let storage = storage(&machine);
    assert_eq!(uses(&storage, "sda"), ["mounted read-only at /other for process 8"]);
    assert_eq!(uses(&storage, "sdb"), [""; 0], "a process of the same namespace sees what this one sees");
}

#[test]
fn cycles_and_missing_devices_end() {
    let machine = Machine::new()
        .stacked("dm-0", &["dm-1"])
        .stacked("dm-1", &["dm-0", "sdz9"])
        .disk("virtual/block", "loop0", &[])
        .set("loop0", "loop/backing_file", "/x/file")
        .mounts(&[("/dev/dm-0", "/data", "ext4", "rw"), ("/dev/loop0", "/x", "ext4", "rw")]);
    let storage = storage(&machine);
    let stack = storage.below_path(Path::new("/data"));
    assert!(stack.hides && stack.disks.is_empty(), "{stack:?}");
    assert_eq!(disks(&storage.below_path(Path::new("/x"))), ["loop0"]);
}

#[test]
fn nodes_that_are_no_devices_are_not_opened() {
    let machine = Machine::new().disk(SATA, "sda", &[]);
    assert_eq!(machine.sense().claim("sda"), Claim::Unknown);
    assert_eq!(machine.sense().claim("sdz"), Claim::Unknown);
}

#[test]
fn the_flag_of_the_kernel_counts_where_the_disk_set_it() {
    let machine = Machine::new()
        .disk(SATA, "sda", &[])
        .disk(SATA, "sdb", &[])
        .set("sdb", "queue/rotational", "1")
        .disk(USB, "sdc", &[])
        .set("sdc", "queue/rotational", "1")
        .disk(USB, "sdd", &[])
        .set("sdd", "queue/rotational", "1")
        .set("sdd", "removable", "1")
        .disk(USB, "sde", &[])
        .disk(VIRTIO, "vda", &[])
        .set("vda", "queue/rotational", "1")
        .disk("vbd-51712/block", "xvda", &[])
        .set("xvda", "queue/rotational", "1")
        .disk(EMMC, "mmcblk0", &[])
        .set("mmcblk0", "queue/rotational", "1");
    let (sense, storage) = (machine.sense(), storage(&machine));
    for (name, medium) in [
        ("sda", Medium::Flash),
        ("sdb", Medium::Rotating),
        ("sdc", Medium::Unknown),
        ("sdd", Medium::Flash),
        ("sde", Medium::Flash),
        ("vda", Medium::Virtual),
        ("xvda", Medium::Virtual),
        ("mmcblk0", Medium::Flash),
    ] {
        assert_eq!(sense.medium(storage.device_of(name).expect("there")).expect("read"), medium, "{name}");
    }
}
