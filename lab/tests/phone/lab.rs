//! The lab on this machine: needs root, FUSE and loop devices.
//!
//! Each test has its own run directory, so that none repairs the other's, and a guard that clears up when it fails.

use crate::lab_guard;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

use brisk_requires::{LoopDevice, requires};
use lab_guard::{Guard, eventually, run};

const PAGE: usize = 4096;

/// A page for O_DIRECT.
#[repr(align(4096))]
struct Page([u8; PAGE]);

fn direct(device: &str) -> File {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(device).expect("the device opens")
}

fn page(file: &File, number: u64) -> std::io::Result<[u8; PAGE]> {
    let mut page = Box::new(Page([0; PAGE]));
    file.read_exact_at(&mut page.0, number * PAGE as u64)?;
    Ok(page.0)
}

fn set_page(file: &File, number: u64, byte: u8) -> std::io::Result<()> {
    file.write_all_at(&Box::new(Page([byte; PAGE])).0, number * PAGE as u64)
}

#[test]
fn ext4_keeps_what_was_written() {
    requires!(Program("mkfs.ext4"));
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "64M", "--time", "off"]);
    let mount_point = lab.dir().join("file system");
    fs::create_dir(&mount_point).expect("mount point");
    run("mkfs.ext4", &["-q", &device]);
    run("mount", &[&device, mount_point.to_str().expect("UTF-8")]);
    let written: Vec<u8> = (0..3_000_000u32).map(|n| ((n * 7) >> 3) as u8).collect();
    fs::write(mount_point.join("file"), &written).expect("written");
    lab.brisk(&["ctl", &device, "--time", "on"]);
    fs::write(mount_point.join("small"), b"timed").expect("written");

    let refused = lab.refused(&["down", &device]);
    assert!(refused.contains("in use (mounted on") && refused.contains("--force"), "{refused}");

    run("umount", &[mount_point.to_str().expect("UTF-8")]);
    run("mount", &[&device, mount_point.to_str().expect("UTF-8")]);
    assert!(fs::read(mount_point.join("file")).expect("read") == written);
    assert_eq!(fs::read(mount_point.join("small")).expect("read"), b"timed");
    run("umount", &[mount_point.to_str().expect("UTF-8")]);
    let status = lab.json(&["ctl", &device]);
    assert!(status["requests"]["flush"]["requests"].as_u64() > Some(0), "ext4 flushes reach the device");
    lab.brisk(&["down", &device]);
    lab.nothing_is_left();
}

#[test]
fn a_mounted_device_goes_by_force() {
    requires!(Program("mkfs.ext4"));
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "ufs-3.1", "--size", "32M", "--time", "off"]);
    let mount_point = lab.dir().join("mnt");
    fs::create_dir(&mount_point).expect("mount point");
    run("mkfs.ext4", &["-q", &device]);
    run("mount", &[&device, mount_point.to_str().expect("UTF-8")]);
    lab.brisk(&["down", "--force", &device]);
    lab.nothing_is_left();
}

#[test]
fn swap_goes_on_and_off() {
    requires!(Swap, Program("mkswap"), Program("swapon"));
    let _alone = crate::swap_areas::one_at_a_time();
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "32M"]);
    run("mkswap", &[&device]);
    run("swapon", &[&device]);
    assert!(fs::read_to_string("/proc/swaps").expect("swaps").contains(&device));
    let refused = lab.refused(&["down", &device]);
    assert!(refused.contains("in use (as swap)"), "{refused}");
    lab.brisk(&["down", "--force", &device]);
    assert!(!fs::read_to_string("/proc/swaps").expect("swaps").contains(&device));
    lab.nothing_is_left();
}

#[test]
fn a_killed_server_is_cleared_up_by_the_next_up() {
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "64M"]);
    let status = lab.json(&["ctl", &device]);
    let queue = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("queue");
    assert_eq!(lab_guard::knob(&queue, "max_sectors_kb"), "512");
    let of = format!("of={device}");
    let mut load = Command::new("dd")
        .args(["if=/dev/zero", &of, "bs=64k", "oflag=direct"])
        .stderr(Stdio::null())
        .spawn()
        .expect("dd starts");
    eventually("the load reaches the device", || {
        lab.json(&["ctl", &device])["requests"]["write"]["requests"].as_u64() > Some(20)
    });
    let pid = status["server_pid"].as_u64().expect("pid").to_string();
    run("kill", &["-9", &pid]);
    assert!(!load.wait().expect("dd ends").success(), "its writes failed");
    eventually("the server is gone", || !Path::new("/proc").join(&pid).join("fd").exists());
    assert!(lab.json(&["list"])[0]["trouble"].as_str().expect("trouble").contains("dead"));

    let again = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M"]);
    assert_eq!(lab.carriers(), [again.as_str()], "only the new device is left");
    assert_eq!(lab.mounts().len(), 1);
    lab.brisk(&["down", &again]);
    assert!(matches!(lab_guard::knob_at_rest(&queue, "max_sectors_kb").as_deref(), None | Some("1280")));
    lab.nothing_is_left();
}

#[test]
fn a_killed_server_under_a_file_system_is_cleared_up() {
    requires!(Program("mkfs.ext4"));
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "32M", "--time", "off"]);
    let mount_point = lab.dir().join("mnt");
    fs::create_dir(&mount_point).expect("mount point");
    run("mkfs.ext4", &["-q", &device]);
    run("mount", &[&device, mount_point.to_str().expect("UTF-8")]);
    let pid = lab.json(&["ctl", &device])["server_pid"].as_u64().expect("pid").to_string();
    run("kill", &["-9", &pid]);
    lab.brisk(&["down", "--all"]);
    lab.nothing_is_left();
}

#[test]
fn a_device_whose_maker_dies_does_not_stay() {
    let Some(lab) = Guard::new() else { return };
    let mut up = lab
        .command(&["up", "--backend", "fuse", "--preset", "galaxy-s5-emmc", "--size", "16M"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("up starts");
    eventually("the server is there", || lab.dir().join("lab/1/control").exists());
    up.kill().and_then(|()| up.wait().map(drop)).expect("up ends");
    // Whatever up had made by then, unless it was through already.
    if lab.json(&["list"]).as_array().is_some_and(|all| all.iter().any(|d| d["status"]["device"] != "")) {
        lab.brisk(&["down", "--all"]);
    }
    eventually("the server took itself down", || !lab.dir().join("lab/1").exists());
    lab.nothing_is_left();
}

#[test]
fn a_device_whose_mount_was_removed_can_be_removed() {
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M"]);
    let queue = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("queue");
    run("umount", &["-l", lab.dir().join("lab/1/mnt").to_str().expect("UTF-8")]);
    assert!(lab.json(&["list"])[0]["trouble"].as_str().expect("trouble").contains("was removed externally"));
    // By the name that it had, which nothing else tells.
    let down = lab.command(&["down", &device]).output().expect("down starts");
    assert!(down.status.success() && down.stderr.is_empty(), "{}", String::from_utf8_lossy(&down.stderr));
    let carried = fs::read_to_string(queue.with_file_name("loop/backing_file")).unwrap_or_default();
    assert_ne!(carried.trim_end(), "/flash", "{device} is detached");
    assert!(matches!(lab_guard::knob_at_rest(&queue, "max_sectors_kb").as_deref(), None | Some("1280")));
    lab.nothing_is_left();
}

#[test]
fn a_device_that_is_open_is_refused_as_often_as_asked_and_stays_as_it_was() {
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M", "--time", "off"]);
    let queue = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("queue");
    let knobs =
        || ["scheduler", "nr_requests", "max_sectors_kb", "read_ahead_kb"].map(|file| lab_guard::knob(&queue, file));
    let before = knobs();
    let open = File::open(&device).expect("the device opens");
    for _ in 0..2 {
        let refused = lab.refused(&["down", &device]);
        let this = format!("({})", std::process::id());
        assert!(refused.contains("is in use") && refused.contains(&this) && refused.contains("--force"), "{refused}");
        assert_eq!(knobs(), before);
        assert_eq!(lab.carriers(), [device.as_str()]);
        let autoclear = queue.with_file_name("loop/autoclear");
        assert_eq!(fs::read_to_string(autoclear).expect("sysfs").trim(), "0", "it would go when it is closed");
        assert!(lab.json(&["list"])[0]["trouble"].is_null());
    }
    drop(open);
    let again = direct(&device);
    set_page(&again, 3, 9).expect("it works as before");
    drop(again);
    lab.brisk(&["down", &device]);
    lab.nothing_is_left();
}

#[test]
fn a_run_folder_that_the_lab_makes_lets_everybody_pass_to_the_sockets() {
    let Some(lab) = Guard::new() else { return };
    let run_dir = lab.dir().join("made/run");
    let words = ["lab", "--run-dir", run_dir.to_str().expect("UTF-8"), "up", "--backend", "fuse"];
    let mut shell = Command::new("sh");
    // With the mask of a careful administrator, and of the service.
    shell.args(["-c", "umask 077 && exec \"$@\"", "sh"]).arg(snapbox::cmd::cargo_bin("brisk-lab")).args(words);
    let output = shell.args(["--preset", "galaxy-s5-emmc", "--size", "16M"]).output().expect("sh starts");
    let mode = |dir: &Path| fs::metadata(dir).map(|metadata| metadata.permissions().mode() & 0o7777).ok();
    let modes = [&run_dir, run_dir.parent().expect("a parent"), &run_dir.join("lab")].map(mode);
    let down = lab.command(&["--run-dir", run_dir.to_str().expect("UTF-8"), "down", "--all"]).status();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(modes, [Some(0o755), Some(0o755), Some(0o700)], "the lab itself is root's");
    assert!(down.expect("brisk starts").success());
}

#[test]
fn two_downs_at_once_do_not_meet() {
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M"]);
    let downs: Vec<_> =
        (0..3).map(|_| lab.command(&["down", &device]).stderr(Stdio::piped()).spawn().expect("down starts")).collect();
    let said: Vec<_> = downs.into_iter().map(|down| down.wait_with_output().expect("down ends")).collect();
    assert!(said.iter().any(|output| output.status.success()));
    for output in said.iter().filter(|output| !output.status.success()) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("not a lab device"), "{said}");
    }
    lab.nothing_is_left();
}

#[test]
fn a_terminated_server_takes_its_device_down() {
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M"]);
    let pid = lab.json(&["ctl", &device])["server_pid"].as_u64().expect("pid").to_string();
    run("kill", &["-TERM", &pid]);
    eventually("the server took itself down", || !lab.dir().join("lab/1").exists());
    lab.nothing_is_left();
}

#[test]
fn a_power_cut_keeps_what_was_flushed() {
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M"]);
    const PAGES: u64 = 64;
    let file = direct(&device);
    (0..PAGES).for_each(|n| set_page(&file, n, 1).expect("written"));
    file.sync_all().expect("flushed");
    (0..PAGES).for_each(|n| set_page(&file, n, 2).expect("written"));
    let said = lab.brisk(&["fault", &device, "--power-cut", "--seed", "3"]);
    assert!(said.starts_with("power cut:"), "{said}");
    assert_eq!(page(&file, 0).expect_err("no power").raw_os_error(), Some(libc::EIO));
    assert_eq!(set_page(&file, 0, 9).expect_err("no power").raw_os_error(), Some(libc::EIO));
    lab.brisk(&["fault", &device, "--power-on"]);
    let found: Vec<u8> = (0..PAGES).map(|n| page(&file, n).expect("read")[0]).collect();
    assert!(found.iter().all(|&byte| byte == 1 || byte == 2), "{found:?}");
    let lost = found.iter().filter(|&&byte| byte == 1).count();
    assert!(said.contains(&format!("{lost} page")), "{said}: {found:?}");
    drop(file);
    lab.brisk(&["down", &device]);
    lab.nothing_is_left();
}

#[test]
fn read_errors_and_time_outs_come_and_go() {
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M"]);
    let file = direct(&device);
    set_page(&file, 300, 7).expect("written");
    lab.brisk(&["fault", &device, "--read-error", "1M+1M"]);
    assert_eq!(page(&file, 300).expect_err("a fault").raw_os_error(), Some(libc::EIO));
    assert!(page(&file, 0).is_ok());
    lab.brisk(&["fault", &device, "--clear"]);
    assert_eq!(page(&file, 300).expect("read")[0], 7);
    lab.brisk(&["fault", &device, "--timeout", "0+4k", "--for", "1"]);
    assert_eq!(page(&file, 0).expect_err("a fault").raw_os_error(), Some(libc::ETIMEDOUT));
    assert!(page(&file, 0).is_ok(), "its time is over");
    assert!(lab.refused(&["fault", &device, "--read-error", "16M+4k"]).contains("outside"));
    drop(file);
    lab.brisk(&["down", &device]);
    lab.nothing_is_left();
}

#[test]
fn a_discard_frees_memory() {
    requires!(Program("blkdiscard"));
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "64M", "--time", "off"]);
    let pid = lab.json(&["ctl", &device])["server_pid"].as_u64().expect("pid");
    let file = direct(&device);
    (0..8192).for_each(|n| set_page(&file, n, 5).expect("written"));
    let (data, resident) = (lab.json(&["ctl", &device])["data_bytes"].as_u64(), lab_guard::resident_bytes(pid));
    assert!(data >= Some(32 << 20));
    run("blkdiscard", &["-o", "0", "-l", "32M", &device]);
    assert!(lab.json(&["ctl", &device])["data_bytes"].as_u64() <= Some(1 << 20));
    assert!(lab_guard::resident_bytes(pid) + (30 << 20) < resident);
    assert_eq!(page(&file, 77).expect("read"), [0; PAGE]);
    drop(file);
    lab.brisk(&["down", &device]);
    lab.nothing_is_left();
}

/// What a loop device carries and how it is set.
fn settings(device: &LoopDevice) -> Vec<String> {
    let dir = Path::new("/sys/block").join(device.name());
    ["loop/backing_file", "queue/scheduler", "queue/nr_requests", "queue/max_sectors_kb", "queue/read_ahead_kb"]
        .map(|file| fs::read_to_string(dir.join(file)).expect("it is still attached"))
        .to_vec()
}

#[test]
fn a_loop_device_of_someone_else_is_not_touched() {
    requires!(Program("losetup"));
    let Some(lab) = Guard::new() else { return };
    let image = lab.dir().join("image");
    File::create(&image).and_then(|file| file.set_len(8 << 20)).expect("image");
    let foreign = LoopDevice::attach(&image, &[]);
    let (node, before) = (foreign.node().to_str().expect("UTF-8"), settings(&foreign));
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M"]);
    assert_ne!(device, node);
    assert!(lab.refused(&["down", node]).contains("not a lab device"));
    let pid = lab.json(&["ctl", &device])["server_pid"].as_u64().expect("pid").to_string();
    run("kill", &["-9", &pid]);
    lab.brisk(&["down", "--all", "--force"]);
    assert_eq!(settings(&foreign), before);
    lab.nothing_is_left();
}

#[test]
fn the_device_shows_the_queue_depth_of_the_preset() {
    let Some(lab) = Guard::new() else { return };
    for (set, depth) in [("queue_depth_requests=1", 4), ("queue_depth_requests=8", 8), ("queue_depth_requests=32", 32)]
    {
        let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M", "--set", set]);
        let status = lab.json(&["ctl", &device]);
        assert_eq!(status["depth_requests"], depth);
        // On a machine that is short of processors the depth shown is what they left of it, and another reason says so.
        let reasons = status["fidelity"]["reasons"].to_string();
        assert!(!reasons.contains("queue depth") || reasons.contains("waited for a processor"), "{reasons}");
        lab.brisk(&["down", &device]);
    }
    lab.nothing_is_left();
}

#[test]
fn parameters_change_while_it_runs() {
    let Some(lab) = Guard::new() else { return };
    let device = lab.up(&["--preset", "galaxy-s5-emmc", "--size", "16M"]);
    let parameter = |name: &str| {
        let status = lab.json(&["ctl", &device]);
        let all = status["parameters"].as_array().expect("parameters").clone();
        all.into_iter().find(|p| p[0] == name).map(|p| p[1].as_str().expect("text").to_owned())
    };
    lab.brisk(&["ctl", &device, "--set", "read_us=300", "--set", "program_us=500"]);
    assert_eq!((parameter("read_us"), parameter("program_us")), (Some("300".into()), Some("500".into())));
    assert!(lab.refused(&["ctl", &device, "--set", "reed_us=1"]).contains("did you mean 'read_us'"));
    assert!(lab.refused(&["ctl", &device, "--set", "read_us=400", "--set", "units=7"]).contains("new device"));
    assert!(lab.refused(&["ctl", &device, "--set", "queue_depth_requests=2"]).contains("queue depth"));
    assert_eq!(parameter("read_us"), Some("300".into()), "a refused change changes nothing");
    lab.brisk(&["down", &device]);
    lab.nothing_is_left();
}
