//! Every reader against the machine that runs the tests: it either understands what is there or names what is missing.

#![allow(clippy::print_stderr, reason = "a test reports to its output")]

use crate::readers;
use std::os::unix::fs::MetadataExt;

use brisk_sense::{DeviceNumber, Error, Sense};

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
    let names = understood("block_device_names", sense.block_device_names()).unwrap_or_default();
    let parts = readers::Parts {
        // A device may go while it is read; one that stays must be known in full.
        devices: names.into_iter().filter(|name| sense.path(format!("/sys/block/{name}/queue")).exists()).collect(),
        numbers: Vec::new(),
        processes: understood("process_ids", sense.process_ids()).unwrap_or_default(),
        group: understood("cgroups", sense.cgroups()).and_then(|groups| groups.v2).map(|v2| v2.mount_point),
    };
    for (reader, error) in readers::read_all(&sense, &parts) {
        understood::<()>(reader, Err(error));
    }
    if let Some(memory) = understood("mem_info", sense.mem_info()) {
        assert!(memory.total_bytes > memory.free_bytes);
    }
    let stat = understood("cpu_stat", sense.cpu_stat());
    let online = understood("cpus_online", sense.cpus_online());
    if let (Some(stat), Some(online)) = (stat, online) {
        assert_eq!(stat.processors, u64::from(online));
    }
    for name in parts.devices.iter().filter(|name| sense.path(format!("/sys/block/{name}/queue")).exists()) {
        let (device, queue) = (sense.block_device(name).map(drop), sense.block_queue(name).map(drop));
        assert!(device.is_ok() && queue.is_ok(), "{name}: {device:?}, {queue:?}");
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
