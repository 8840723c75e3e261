//! Whole trees: one captured from a virtual machine with Linux 6.18, one made up to have what phones have.

use std::path::{Path, PathBuf};

use brisk_sense::{
    Capability, DeviceNumber, Error, KernelVersion, LoopBacking, Mmc, Resource, SampleChoice, Sampler, Sense,
    WearTenths,
};

fn tree(name: &str) -> Sense {
    Sense::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
}

fn virtual_machine() -> Sense {
    tree("virtual-machine-6.18")
}

fn phone() -> Sense {
    tree("made-up-phone")
}

fn number(major: u32, minor: u32) -> DeviceNumber {
    DeviceNumber { major, minor }
}

#[test]
fn a_virtual_disk_has_a_queue_and_no_maker() {
    let sense = virtual_machine();
    let disk = sense.block_device("vda").expect("captured");
    assert_eq!(disk.device, number(254, 0));
    assert_eq!((disk.model.as_deref(), disk.vendor.as_deref()), (None, Some("0x1af4")));
    assert_eq!(disk.node(), PathBuf::from("/dev/vda"));
    assert!(disk.partitions.is_empty() && disk.mmc.is_none());
    let queue = sense.block_queue("vda").expect("captured");
    assert_eq!(queue.schedulers.current.as_deref(), Some("mq-deadline"));
    assert_eq!(queue.schedulers.available, ["none", "mq-deadline", "kyber", "bfq"]);
    assert_eq!((queue.depth_requests, queue.read_ahead_kib), (Some(256), 8192));
    assert_eq!(queue.write_cache.as_deref(), Some("write back"));
    assert_eq!((queue.writeback_throttle_us, queue.discard_max_bytes), (Some(75_000), 1 << 30));
    assert!(queue.rotational);
}

#[test]
fn a_device_has_a_place_on_its_buses() {
    let place = virtual_machine().block_device_place("vda").expect("captured").expect("is there");
    assert_eq!(place, Path::new("devices/pci0000:00/0000:00:02.0/virtio1/block/vda"));
    assert_eq!(virtual_machine().block_device_place("vdz").expect("no error"), None);
    assert!(virtual_machine().block_device_place("../vda").is_err());
}

#[test]
fn devices_without_requests_to_queue_have_no_depth() {
    let queue = virtual_machine().block_queue("zram0").expect("captured");
    assert_eq!((queue.depth_requests, queue.completion_affinity), (None, None));
    assert_eq!(queue.schedulers.current, None);
}

#[test]
fn the_root_file_system_leads_to_its_disk() {
    let sense = virtual_machine();
    let mount = sense.mount_of(Path::new("/var/lib")).expect("captured").expect("the root is mounted");
    assert_eq!((mount.fs_type.as_str(), mount.device), ("ext4", number(254, 0)));
    let located = sense.block_device_of(mount.device).expect("captured").expect("a block device");
    assert_eq!((located.disk.name.as_str(), located.partition), ("vda", None));
    let stats = sense.disk_stats_of("vda").expect("captured").expect("a line");
    assert!(stats.read.bytes > 0 && stats.flush.is_some_and(|flush| flush.requests > 0));
    assert_eq!(sense.disk_stats_of("vdz").expect("captured"), None);
}

#[test]
fn both_versions_of_control_groups_are_told_apart() {
    let groups = virtual_machine().cgroups().expect("captured");
    assert_eq!(groups.v1_with("memory").map(|v1| v1.mount_point.as_path()), Some(Path::new("/sys/fs/cgroup/memory")));
    assert_eq!(groups.v1.len(), 9);
    let v2 = groups.v2.expect("mounted");
    assert_eq!((v2.controllers, v2.group_files), (vec!["hugetlb".to_owned()], None));

    let groups = phone().cgroups().expect("written");
    assert!(groups.v2_with("memory").is_some() && groups.v2_with("cpu").is_none());
    assert_eq!(groups.v1_with("cpuset").map(|v1| v1.controllers.clone()), Some(vec!["cpuset".to_owned()]));
    let files = groups.v2.and_then(|v2| v2.group_files).expect("a group");
    assert!(files.contains(&"cgroup.freeze".to_owned()) && !files.contains(&"cgroup.kill".to_owned()));
}

#[test]
fn a_captured_machine_is_known_in_full() {
    let sense = virtual_machine();
    let names: Vec<_> = sense.block_devices().expect("captured").into_iter().map(|device| device.name).collect();
    assert_eq!(names, ["loop0", "vda", "zram0"]);
    assert_eq!(sense.cpus_online().expect("captured"), 2);
    assert_eq!(sense.cpu_stat().expect("captured").processors, 2);
    let release = sense.kernel_release().expect("captured");
    assert_eq!(KernelVersion::of(&release), Some(KernelVersion { major: 6, minor: 18 }));
    let status = sense.process_status().expect("captured");
    assert!(status.effective_uid == 0 && !status.has(Capability::SysResource) && status.has(Capability::SysNice));
    assert_eq!(sense.lru_gen().expect("captured"), None);
    assert_eq!(sense.powercap_zones().expect("captured"), []);
    assert_eq!(sense.power_supplies().expect("captured"), []);
    assert_eq!(sense.swaps().expect("captured"), []);
    assert!(sense.pressure(Resource::Io).expect("captured").full.is_some());
    assert_eq!(sense.loop_backing("loop0").expect("captured"), None);
    assert_eq!(sense.sysctl("vm.page-cluster").expect("captured").as_deref(), Some("3"));
}

#[test]
fn a_partition_leads_to_its_disk() {
    let sense = phone();
    let mount = sense.mount_of(Path::new("/data/app/x")).expect("written").expect("mounted");
    let located = sense.block_device_of(mount.device).expect("written").expect("a block device");
    let partition = located.partition.expect("a partition");
    assert_eq!((located.disk.name.as_str(), partition.name.as_str(), partition.number), ("mmcblk0", "mmcblk0p3", 3));
    assert_eq!((partition.start_bytes, partition.size_bytes), (5_390_336 * 512, 25_145_344 * 512));
    assert_eq!(located.disk.partitions.len(), 3);
    assert_eq!(sense.block_device_of(number(0, 50)).expect("written"), None);
}

#[test]
fn an_emmc_tells_its_wear() {
    let disk = phone().block_device("mmcblk0").expect("written");
    assert_eq!((disk.size_bytes, disk.model.as_deref()), (30_535_680 * 512, Some("MADEUP")));
    assert_eq!(
        disk.mmc,
        Some(Mmc {
            kind: Some("MMC".into()),
            name: Some("MADEUP".into()),
            manufacturer_id: Some(0x15),
            life_time: Some((WearTenths::Begun(3), WearTenths::Begun(2))),
            pre_eol: Some(1),
        })
    );
}

#[test]
fn stacked_devices_name_what_they_stand_on() {
    let sense = phone();
    let root = sense.mount_of(Path::new("/system")).expect("written").expect("mounted");
    let located = sense.block_device_of(root.device).expect("written").expect("a block device");
    assert_eq!((located.disk.name.as_str(), located.disk.slaves), ("dm-0", vec!["mmcblk0p2".to_owned()]));
    assert!(located.disk.read_only && root.is_read_only());
}

#[test]
fn no_link_of_a_tree_leads_nowhere() {
    fn check(dir: &Path) {
        for entry in std::fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            assert!(path.exists(), "{} leads nowhere", path.display());
            if path.is_dir() && !path.is_symlink() {
                check(&path);
            }
        }
    }
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"));
}

#[test]
fn mount_points_with_spaces_and_mounts_on_mounts_are_found() {
    let sense = phone();
    let card = sense.mount_of(Path::new("/storage/emulated card/dcim")).expect("written").expect("mounted");
    assert_eq!((card.fs_type.as_str(), card.root.as_path()), ("fuse.sdcardfs", Path::new("/media")));
    let music = sense.mount_of(Path::new("/data/music/a")).expect("written").expect("mounted");
    assert!(music.is_read_only());
}

#[test]
fn a_loop_device_names_its_file() {
    let backing = phone().loop_backing("loop7").expect("written");
    let expected = LoopBacking {
        file: "/data/app images/one".into(),
        deleted: true,
        offset_bytes: 4096,
        size_limit_bytes: 0,
        autoclear: true,
        direct_io: true,
    };
    assert_eq!(backing, Some(expected));
}

#[test]
fn a_phone_is_known_in_full() {
    let sense = phone();
    assert_eq!(sense.cpus_online().expect("written"), 6);
    assert_eq!(sense.pressure(Resource::Cpu).expect("written").full, None);
    assert_eq!(sense.pressure(Resource::Memory).expect("written").full.map(|full| full.total_us), Some(11_111_111));
    assert_eq!(sense.swaps().expect("written")[0].priority, 32_758);
    let zram = &sense.zrams().expect("written")[0];
    assert_eq!((zram.disk_bytes, zram.compressed_bytes, zram.backing_device.as_deref()), (2 << 30, 357_913_941, None));
    let supplies = sense.power_supplies().expect("written");
    assert_eq!(supplies.len(), 2);
    assert_eq!((supplies[0].capacity_percent, supplies[0].power_uw()), (Some(73), Some(1_570_544)));
    assert!(!supplies[1].measures_power());
    let stats = sense.disk_stats_of("mmcblk0p3").expect("written").expect("a line");
    assert!(stats.discard.is_some() && stats.flush.is_none());
    assert!(!sense.process_status().expect("written").has(Capability::SysAdmin));
    assert_eq!(sense.mem_info().expect("written").swap_free_bytes, 1_048_572 << 10);
}

#[test]
fn a_battery_that_is_nearly_empty_or_hot_is_spared() {
    let spared = |files: &[(&str, &str)]| {
        let dir = tempfile::tempdir().expect("a directory");
        let of = dir.path().join("sys/class/power_supply/BAT0");
        std::fs::create_dir_all(&of).expect("made");
        files.iter().for_each(|(name, text)| std::fs::write(of.join(name), format!("{text}\n")).expect("written"));
        Sense::new(dir.path()).spares_battery()
    };
    let battery = ("type", "Battery");
    assert_eq!(spared(&[]), None);
    assert_eq!(spared(&[battery, ("capacity", "16"), ("status", "Discharging")]), None);
    let low = spared(&[battery, ("capacity", "15"), ("status", "Discharging")]);
    assert_eq!(low.as_deref(), Some("the battery BAT0 is at 15 %"));
    assert_eq!(spared(&[battery, ("capacity", "5"), ("status", "Charging")]), None);
    assert_eq!(spared(&[("type", "Mains"), ("capacity", "5"), ("status", "Discharging")]), None);
    assert_eq!(spared(&[battery, ("scope", "Device"), ("capacity", "5"), ("status", "Discharging")]), None);
    let hot = Some("the battery BAT0 is hot".to_owned());
    assert_eq!(spared(&[battery, ("temp", "450")]), hot);
    assert_eq!(spared(&[battery, ("health", "Overheat"), ("capacity", "80")]), hot);
    assert_eq!(spared(&[battery, ("temp", "cold"), ("capacity", "80")]), None);
}

#[test]
fn nothing_there_is_said_with_a_remedy() {
    let empty = tempfile::tempdir().expect("a directory");
    let sense = Sense::new(empty.path());
    let missing = [
        sense.disk_stats().err(),
        sense.cpu_stat().err(),
        sense.mounts().err(),
        sense.block_devices().err(),
        sense.block_device("vda").err(),
        sense.block_queue("vda").err(),
        sense.block_device_of(number(8, 0)).err(),
        sense.pressure(Resource::Io).err(),
        sense.mem_info().err(),
        sense.cgroups().err(),
        sense.kernel_release().err(),
        sense.process_status().err(),
        sense.zrams().err(),
    ];
    for (index, error) in missing.into_iter().enumerate() {
        let error = error.unwrap_or_else(|| panic!("reader {index} found something in an empty directory"));
        assert!(matches!(error, Error::Missing { .. }) && error.to_string().contains(": "), "{error}");
    }
    assert_eq!(sense.powercap_zones().expect("none is no error"), []);
    assert_eq!(sense.loop_backing("loop0").expect("none is no error"), None);
}

#[test]
fn nonsense_is_an_error_with_path_and_line() {
    let root = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(root.path().join("proc")).expect("a directory");
    std::fs::write(root.path().join("proc/diskstats"), b"   8       0 sda 1 2 \xff\n").expect("a file");
    let error = Sense::new(root.path()).disk_stats().expect_err("not diskstats");
    assert!(error.to_string().contains("proc/diskstats"), "{error}");
    let source = std::error::Error::source(&error).expect("a cause").to_string();
    assert_eq!(source, "line 1: '\u{fffd}' is not a value of the field 'sectors'");
}

#[test]
fn an_app_and_its_group_are_read() {
    let sense = phone();
    let dir = Path::new("/sys/fs/cgroup/uid_10100");
    let cpu = sense.cgroup_cpu(dir).expect("written").expect("there");
    assert_eq!((cpu.usage_us, cpu.user_us, cpu.system_us), (5_120_033, 3_900_012, 1_220_021));
    assert_eq!(sense.cgroup_pressure(dir, Resource::Cpu).expect("no error"), None);
    let stall = sense.cgroup_pressure(dir, Resource::Io).expect("written").and_then(|pressure| pressure.full);
    assert_eq!(stall.map(|full| full.total_us), Some(640_118));
    assert_eq!(sense.cgroup_memory_bytes(dir).expect("written"), Some(187_695_104));
    assert_eq!(sense.cgroup_processes(dir).expect("written"), Some(vec![4711, 4712]));
    assert_eq!(sense.cgroup_processes(Path::new("/sys/fs/cgroup/gone")).expect("no error"), None);

    let process = sense.process_stat(4711).expect("written").expect("runs");
    assert_eq!((process.comm.to_str(), process.state, process.parent), (Some("ample) app (2)"), 'S', 310));
    let files = sense.mapped_files(4711).expect("written").expect("runs");
    let paths: Vec<_> = files.iter().map(|file| (file.path.to_str().expect("text"), file.mapped_bytes)).collect();
    assert_eq!(
        paths,
        [
            ("/system/framework/arm64/boot.art", 0x28_c000),
            ("/data/app/com.example.app/base file.apk", 0x9000),
            ("/memfd:jit-cache", 0x1000),
        ]
    );
    assert_eq!(files[1].device, number(179, 3));
    let groups = sense.process_cgroups(4711).expect("written").expect("runs");
    assert_eq!((groups[2].hierarchy, groups[2].path.as_path()), (0, Path::new("/uid_10100")));
    let arguments = sense.command_line(4711).expect("written").expect("runs");
    assert_eq!(arguments, ["com.example.app", ""]);
    assert_eq!(sense.process_ids().expect("written"), [4711]);
    assert_eq!(sense.process_stat(4712).expect("no error"), None);
}

#[test]
fn interfaces_are_read_and_loopback_is_told_apart() {
    let devices = virtual_machine().net_devices().expect("captured");
    assert!(devices.iter().any(|device| device.name == "eth0" && device.receive_bytes > 0), "{devices:?}");
    let sense = phone();
    let names: Vec<_> = sense.net_devices().expect("written").into_iter().map(|device| device.name).collect();
    assert_eq!(names, ["lo", "rmnet_data0"]);
    assert_eq!(sense.is_loopback("lo").expect("written"), Some(true));
    assert_eq!(sense.is_loopback("rmnet_data0").expect("written"), Some(false));
    assert_eq!(sense.is_loopback("wlan0").expect("no error"), None);
}

#[test]
fn who_is_in_front_is_known_where_something_says_so() {
    assert_eq!(phone().front_processes().expect("readable"), Some(vec![2150, 4711]));
    assert_eq!(virtual_machine().front_processes().expect("absent"), None);
}

#[test]
fn a_sample_of_a_phone_has_its_disks_interfaces_and_groups() {
    let group = PathBuf::from("/sys/fs/cgroup/uid_10100");
    let choice = SampleChoice { groups: vec![group.clone()], ..SampleChoice::default() };
    let mut sampler = Sampler::new(phone(), choice).expect("written");
    let snapshot = sampler.snapshot().expect("written");
    let disks: Vec<_> = snapshot.disks.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(disks, ["mmcblk0", "mmcblk0boot0", "dm-0", "zram0"]);
    let stats = phone().disk_stats_of("mmcblk0").expect("written").expect("a line");
    assert_eq!(snapshot.disks[0], stats);
    assert_eq!(snapshot.nets.iter().map(|net| net.name.as_str()).collect::<Vec<_>>(), ["rmnet_data0"]);
    assert_eq!(snapshot.pressure.cpu.map(|stall| stall.full_us), Some(None));
    assert_eq!(snapshot.memory.swap_free_bytes, 1_048_572 << 10);
    let app = &snapshot.apps[0];
    assert_eq!((app.name.as_str(), app.cpu_us, app.memory_bytes), ("uid_10100", Some(5_120_033), Some(187_695_104)));
    assert_eq!(app.rss_bytes, None);

    // Without the memory controller the processes are asked.
    let root = tempfile::tempdir().expect("a directory");
    for part in ["proc", "sys"] {
        std::os::unix::fs::symlink(phone().path(part), root.path().join(part)).expect("a link");
    }
    std::fs::create_dir_all(root.path().join("groups/a/app-x.scope/below")).expect("a directory");
    std::fs::write(root.path().join("groups/a/app-x.scope/cpu.stat"), "usage_usec 9\nuser_usec 4\nsystem_usec 5\n")
        .expect("a file");
    std::fs::write(root.path().join("groups/a/app-x.scope/below/cgroup.procs"), "4711\n4712\n").expect("a file");
    let choice = SampleChoice { devices: vec!["mmcblk0p3".into()], groups: vec!["/groups/a/app-x.scope".into()] };
    let snapshot = Sampler::new(Sense::new(root.path()), choice).and_then(|mut one| one.snapshot()).expect("written");
    assert_eq!(snapshot.disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>(), ["mmcblk0p3"]);
    let page_bytes = rustix::param::page_size() as u64;
    assert_eq!(snapshot.apps[0].rss_bytes, Some(38_911 * page_bytes));
    assert_eq!((snapshot.apps[0].cpu_us, snapshot.apps[0].memory_bytes), (Some(9), None));
}

#[test]
fn heaps_of_apps_have_limits_on_android_alone() {
    let heap = phone().dalvik_heap().expect("a list").expect("it has getprop");
    assert_eq!((heap.size_bytes, heap.growth_limit_bytes), (Some(512 << 20), Some(192 << 20)));
    assert_eq!(virtual_machine().dalvik_heap().expect("no error"), None);
}
