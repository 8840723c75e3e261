//! Every reader against the machine that runs the tests: it either understands what is there or names what is missing.

use std::os::unix::fs::MetadataExt;

use brisk_sense::{DeviceNumber, Error, Resource, SampleChoice, Sampler, Sense};

/// Passes values and honest absences on, fails on anything that brisk did not understand.
fn understood<T>(what: &str, outcome: Result<T, Error>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error @ (Error::Missing { .. } | Error::Denied { .. })) => {
            eprintln!("absent: {what}: {error}");
            None
        }
        Err(error) => panic!("{what}: {error}: {:?}", std::error::Error::source(&error)),
    }
}

#[test]
fn every_source_is_understood() {
    let sense = Sense::default();
    understood("disk_stats", sense.disk_stats());
    understood("mounts", sense.mounts());
    understood("swaps", sense.swaps());
    understood("cgroups", sense.cgroups());
    understood("kernel_release", sense.kernel_release());
    understood("limits", sense.limits());
    understood("process_status", sense.process_status());
    understood("lru_gen", sense.lru_gen());
    understood("power_supplies", sense.power_supplies());
    understood("powercap_zones", sense.powercap_zones());
    understood("zrams", sense.zrams());
    understood("net_devices", sense.net_devices());
    let sampler = Sampler::new(sense.clone(), SampleChoice::default());
    understood("sampler", sampler.and_then(|mut sampler| sampler.snapshot()));
    for pid in understood("process_ids", sense.process_ids()).unwrap_or_default() {
        understood("process_stat", sense.process_stat(pid));
        understood("mapped_files", sense.mapped_files(pid));
        understood("process_cgroups", sense.process_cgroups(pid));
        understood("command_line", sense.command_line(pid));
    }
    if let Some(v2) = understood("cgroups", sense.cgroups()).and_then(|groups| groups.v2) {
        understood("cgroup_cpu", sense.cgroup_cpu(&v2.mount_point));
        understood("cgroup_processes", sense.cgroup_processes(&v2.mount_point));
    }
    understood("sysctl", sense.sysctl("vm.swappiness"));
    for resource in [Resource::Cpu, Resource::Io, Resource::Memory] {
        understood("pressure", sense.pressure(resource));
    }
    if let Some(memory) = understood("mem_info", sense.mem_info()) {
        assert!(memory.total_bytes > memory.free_bytes);
    }
    let stat = understood("cpu_stat", sense.cpu_stat());
    let online = understood("cpus_online", sense.cpus_online());
    if let (Some(stat), Some(online)) = (stat, online) {
        assert_eq!(stat.processors, u64::from(online));
    }
    for name in understood("block_device_names", sense.block_device_names()).unwrap_or_default() {
        let device = sense.block_device(&name).map(|_| ());
        let queue = sense.block_queue(&name).map(|_| ());
        understood(&name, sense.loop_backing(&name));
        // A device may go while it is read; one that stays must be known in full.
        if sense.path(format!("/sys/block/{name}/queue")).exists() {
            assert!(device.is_ok() && queue.is_ok(), "{name}: {device:?}, {queue:?}");
        }
    }
}

#[test]
fn the_files_of_this_crate_lie_on_a_mount_whose_device_agrees() {
    let sense = Sense::default();
    let here = std::fs::canonicalize(env!("CARGO_MANIFEST_DIR")).expect("the sources are here");
    let Some(Some(mount)) = understood("mount_of", sense.mount_of(&here)) else { return };
    let device = DeviceNumber::from_dev(std::fs::metadata(&here).expect("the sources are here").dev());
    if mount.fs_type == "btrfs" {
        return brisk_requires::skip(
            brisk_requires::Capability::Disk,
            "btrfs gives each subvolume a number of its own",
        );
    }
    assert_eq!(mount.device, device);
    if let Some(Some(located)) = understood("block_device_of", sense.block_device_of(device)) {
        assert!(located.disk.size_bytes > 0);
    }
}
