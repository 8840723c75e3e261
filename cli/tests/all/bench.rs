//! `brisk bench` and `brisk study` from outside: what is refused and in which words, what a stop leaves, what is
//! printed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use brisk_requires::{Capability, LoopDevice, available, skip};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};

fn brisk(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    command.args(args);
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_short_run_prints_a_table_and_writes_both_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let [json, html, csv, markdown] = ["b.json", "b.html", "b.csv", "b.md"].map(|name| dir.path().join(name));
    let output = brisk(&["bench", "--budget", "1", "--size", "2M", "--block", "64k", "--depth", "2"])
        .arg(dir.path())
        .arg(format!("--json={}", json.display()))
        .arg("--html")
        .arg(&html)
        .arg(format!("--csv={}", csv.display()))
        .arg(format!("--markdown={}", markdown.display()))
        .env("BRISK_RUN_DIR", dir.path().join("run"))
        .output()
        .expect("brisk runs");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("random read"));
    let text = std::fs::read_to_string(&json).expect("written");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&document["kind"], &document["schema_version"]), (&"bench".into(), &1.into()));
    assert!(
        document["environment"]["kernel"].is_string() && document["jobs"][0]["latency"]["latency_us_p50"].is_number()
    );
    let job = &document["jobs"][0];
    let runs = job["runs"].as_array().expect("single runs").len();
    assert_eq!(job["bandwidth_bytes_per_s"]["count"], runs);
    assert!(std::fs::read_to_string(&html).expect("written").contains("</html>"));
    let values = std::fs::read_to_string(&csv).expect("written");
    assert!(values.contains(&format!("throughput,bytes_per_s,run,{runs},{runs},")), "{values}");
    assert!(std::fs::read_to_string(&markdown).expect("written").starts_with("# Storage benchmark"));
    let left: Vec<_> = std::fs::read_dir(dir.path()).expect("listed").map(|e| e.expect("entry").file_name()).collect();
    assert!(
        left.iter().all(|name| ["b.json", "b.html", "b.csv", "b.md", "run"].contains(&name.to_str().unwrap_or(""))),
        "{left:?}"
    );
}

#[test]
fn json_without_a_file_replaces_the_table() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = brisk(&["study", "slowdown", "--stream-size", "64k", "--runs", "1", "--streams", "1"])
        .arg(dir.path())
        .arg("--json")
        .env("BRISK_RUN_DIR", dir.path())
        .output()
        .expect("brisk runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("nothing but JSON");
    assert_eq!(document["kind"], "slowdown");
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["runs"].as_array().expect("single runs").len(), 1);
        assert_eq!(row["runs"][0]["read_alone_us"], row["read_alone_us"]["median"]);
    }
}

#[test]
fn a_signal_stops_a_run_with_its_code_and_leaves_nothing() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let dir = tempfile::tempdir().expect("a directory");
        let child = brisk(&["bench", "--full", "--size", "16M"])
            .arg(dir.path())
            .env("BRISK_RUN_DIR", "/nonexistent")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("brisk runs");
        let pid = until_it_measures(&child);
        kill_process(pid, signal).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert_eq!(stderr(&output), "brisk: stopped; nothing is left behind\n");
        assert!(output.stdout.is_empty());
        assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0);
    }
}

/// Waits until the process has its work file open: by then it watches for signals.
fn until_it_measures(child: &Child) -> Pid {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process")).expect("not zero");
    let files = PathBuf::from(format!("/proc/{}/fd", child.id()));
    let measures = || {
        let open = std::fs::read_dir(&files).into_iter().flatten().flatten();
        open.filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .any(|file| file.as_os_str().to_string_lossy().ends_with("(deleted)"))
    };
    brisk_requires::until("its work file", || {
        assert!(files.exists(), "it ended before it measured");
        measures()
    });
    pid
}

/// Lets the kernel answer io_uring_setup with EPERM, as sandboxes do.
#[cfg(target_arch = "x86_64")]
fn without_io_uring(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt as _;
    let statement = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let filter = [
        // The number of the call is the first word of seccomp_data.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_io_uring_setup as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    // SAFETY: between fork and exec only two system calls are made; the filter is copied into the closure.
    unsafe {
        command.pre_exec(move || {
            let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
            let refused = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0;
            if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        })
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn plain_calls_stand_in_where_io_uring_is_refused_and_the_result_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = ["--budget", "1", "--size", "1M", "--block", "256k", "--depth", "2", "--json"];
    let run = |engine: &[&str]| {
        let mut command = brisk(&["bench"]);
        command.arg(dir.path()).args(options).args(engine).env("BRISK_RUN_DIR", "/nonexistent");
        without_io_uring(&mut command).output().expect("brisk runs")
    };
    let output = run(&[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let engine = document["io_engine"].as_str().expect("a text");
    assert!(engine.starts_with("calls (io_uring is switched off"), "{engine}");
    let warnings = document["warnings"].as_array().expect("a list");
    assert!(warnings.iter().any(|warning| warning["code"] == "no_io_uring"), "{warnings:?}");
    let output = run(&["--engine", "io_uring"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("io_uring does not work here") && stderr(&output).contains("--engine calls"));
}

/// A loop device over a file, for root; gone when dropped.
struct Loop {
    device: LoopDevice,
    mounted: Option<PathBuf>,
    _dir: tempfile::TempDir,
}

impl Loop {
    fn attach(size_mib: u64, options: &[&str]) -> Option<Self> {
        available(&[Capability::Loop, Capability::Queue, Capability::Program("losetup")])?;
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("image");
        let image = std::fs::File::create(&file).expect("made");
        image.set_len(size_mib << 20).expect("free space");
        Some(Self { device: LoopDevice::attach(&file, options), mounted: None, _dir: dir })
    }

    fn node(&self) -> &str {
        self.device.node().to_str().expect("UTF-8")
    }

    /// Makes a file system and mounts it.
    fn mount(&mut self, options: &str) -> bool {
        if available(&[Capability::Mount, Capability::Program("mkfs.ext4")]).is_none() {
            return false;
        }
        let point = self._dir.path().join("mnt");
        std::fs::create_dir(&point).expect("made");
        let ran = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let ready = ran(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(self.node()))
            && ran(Command::new("mount").args(["-o", options]).arg(self.node()).arg(&point));
        assert!(ready, "{} is formatted and mounted", self.node());
        self.mounted = Some(point);
        true
    }

    fn queue(&self, knob: &str) -> String {
        let name = self.device.name();
        std::fs::read_to_string(format!("/sys/block/{name}/queue/{knob}")).expect("a queue")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Some(point) = &self.mounted {
            let _ = Command::new("umount").arg(point).status();
        }
    }
}

#[test]
fn a_device_is_measured_only_when_it_is_unused_and_the_option_says_so() {
    let Some(mut device) = Loop::attach(32, &["--direct-io=on"]) else { return };
    let node = device.node().to_owned();
    let run_dir = tempfile::tempdir().expect("a directory");
    let refused = |args: &[&str]| {
        let output = brisk(args).env("BRISK_RUN_DIR", run_dir.path()).output().expect("brisk runs");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stderr(&output)
    };
    assert_eq!(
        refused(&["bench", &node]),
        format!(
            "brisk: {node} is a block device: measuring it destroys all data on it; use --destroy-data to confirm\n"
        )
    );
    assert!(refused(&["bench", &node, "--destroy-data", "--size", "64M"]).contains("has only 33554432 bytes"));
    assert!(
        refused(&["study", "slowdown", &node, &format!("--json={node}"), "--destroy-data"])
            .contains("is the place to measure")
    );
    // `--json DEVICE` means the device to measure, and must not write into it.
    let said = refused(&["bench", "--quick", &format!("--json={node}")]);
    assert!(said.contains("it is a block device, whose data it would destroy: name a file"), "{said}");
    assert!(refused(&["reset", &format!("--json={node}")]).contains("it is a block device"));
    let output = brisk(&["study", "concurrency", &node, "--destroy-data", "--stream-size", "64k", "--runs", "1"])
        .args(["--streams", "2", "--json"])
        .env("BRISK_RUN_DIR", run_dir.path())
        .output()
        .expect("brisk runs");
    assert!(output.status.success(), "{}", stderr(&output));
    what_a_study_keeps_is_known_to_tune(&node, run_dir.path());
    if device.mount("rw") {
        let point = device.mounted.clone().expect("mounted").display().to_string();
        assert_eq!(
            refused(&["bench", &node, "--destroy-data"]),
            format!(
                "brisk: {node} is in use (mounted at {point}): its data is not destroyed; measure a directory of a \
                 file system on it\n"
            )
        );
        // Without the option it is not advised either.
        let said = refused(&["bench", &node]);
        assert!(said.contains("is in use (mounted at") && !said.contains("--destroy-data"), "{said}");
        // Not enough space on a small file system.
        assert!(refused(&["bench", &point, "--size", "28M"]).contains("not enough space"));
    }
}

fn what_a_study_keeps_is_known_to_tune(node: &str, run_dir: &Path) {
    let profiles = tempfile::tempdir().expect("a directory");
    let name = node.trim_start_matches("/dev/");
    let tune = |more: &[&str]| {
        let output = brisk(&["tune", name, "--quick", "--json", "--profiles"])
            .arg(profiles.path())
            .args(more)
            .env("BRISK_RUN_DIR", run_dir)
            .output()
            .expect("brisk runs");
        let reply: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), reply["devices"][0].clone())
    };
    let (code, reply) = tune(&["--check"]);
    assert_eq!((code, &reply["missing"]), (Some(1), &serde_json::json!(["speeds", "settings"])));
    let why = reply["why_not"].as_str().expect("a reason");
    assert!(why.starts_with("nothing uses it") && why.contains("--destroy-data"), "{why}");
    // Held by something that no table names.
    let held = rustix::fs::open(node, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()).expect("opened");
    let why = tune(&["--check"]).1["why_not"].as_str().expect("a reason").to_owned();
    assert!(why.contains("something holds it") && !why.contains("destroy"), "{why}");
    drop(held);
    let output = brisk(&["bench", node, "--destroy-data", "--quick", "--budget", "1s", "--size", "8M"])
        .args(["--save", "--profiles"])
        .arg(profiles.path())
        .env("BRISK_RUN_DIR", run_dir)
        .output()
        .expect("brisk runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let (code, reply) = tune(&["--check"]);
    assert_eq!((code, &reply["known"]), (Some(1), &serde_json::json!(["speeds"])));
    assert_eq!(reply["missing"], serde_json::json!(["settings"]));
    // Nothing is mounted there, so nothing is measured and nothing destroyed.
    let (code, reply) = tune(&[]);
    assert_eq!((code, &reply["failed"]), (Some(1), &serde_json::json!(["settings"])));
    // A file that cannot be used is no knowledge, and is not overwritten.
    let file = profiles.path().join(format!("speeds/{name}.toml"));
    std::fs::write(&file, "speeds = 7").expect("written");
    assert_eq!(tune(&["--check"]).1["known"], serde_json::json!([]));
}

#[test]
fn a_loop_device_of_a_device_keeps_it_from_being_measured() {
    let Some(below) = Loop::attach(16, &[]) else { return };
    let above = LoopDevice::attach(below.device.node(), &[]);
    let output = brisk(&["bench", below.node(), "--destroy-data"]).env("BRISK_RUN_DIR", "/nonexistent").output();
    let output = output.expect("brisk runs");
    assert_eq!(output.status.code(), Some(2));
    let name = above.name();
    assert!(stderr(&output).contains(&format!("is in use (under {name})")), "{}", stderr(&output));
}

/// A loop device over a file in memory: a disk of its own, as it stands on no other.
fn in_memory(size_mib: u64) -> Option<Loop> {
    available(&[Capability::Root, Capability::Loop, Capability::Shm, Capability::Program("losetup")])?;
    let dir = tempfile::tempdir_in("/dev/shm").expect("a directory");
    std::fs::File::create(dir.path().join("image")).expect("made").set_len(size_mib << 20).expect("free space");
    Some(Loop { device: LoopDevice::attach(&dir.path().join("image"), &[]), mounted: None, _dir: dir })
}

#[test]
fn a_btrfs_on_two_devices_is_measured_as_such_and_neither_is_overwritten() {
    let Some(_) = available(&[Capability::Mount, Capability::Program("mkfs.btrfs")]) else { return };
    let (Some(mut a), Some(b)) = (in_memory(256), in_memory(256)) else { return };
    let ran = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let point = a._dir.path().join("mnt");
    std::fs::create_dir(&point).expect("made");
    assert!(ran(Command::new("mkfs.btrfs").args(["-q", "-f", "-d", "raid0", "-m", "raid1", a.node(), b.node()])));
    if !ran(Command::new("mount").args(["-t", "btrfs", a.node()]).arg(&point)) {
        return skip(Capability::Mount, "this kernel has no btrfs");
    }
    a.mounted = Some(point.clone());
    let run_dir = tempfile::tempdir().expect("a directory");
    let run = |args: &[&str]| brisk(args).env("BRISK_RUN_DIR", run_dir.path()).output().expect("brisk runs");
    let at = point.to_str().expect("UTF-8");
    for node in [a.node(), b.node()] {
        let output = run(&["bench", node, "--destroy-data"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(&format!("is in use (mounted at {at})")), "{}", stderr(&output));
        let check = run(&["tune", node, "--check", "--profiles", at]);
        let said = String::from_utf8_lossy(&check.stdout).into_owned();
        assert!(said.contains("together") && !said.contains("destroy"), "{said}");
    }
    let names = [a.node(), b.node()].map(|node| node.trim_start_matches("/dev/").to_owned());
    let refused = run(&["study", "schedulers", at]);
    assert!(stderr(&refused).contains("no single block device under"), "{}", stderr(&refused));
    assert!(names.iter().all(|name| stderr(&refused).contains(name)), "{}", stderr(&refused));
}

#[test]
fn read_only_places_are_refused() {
    if let Some(device) = Loop::attach(16, &["--read-only"]) {
        let output = brisk(&["bench", device.node(), "--destroy-data"]).env("BRISK_RUN_DIR", "/nonexistent").output();
        let said = stderr(&output.expect("brisk runs"));
        assert_eq!(said, format!("brisk: {} is read-only: give a path that can be written\n", device.node()));
    }
    if let Some(mut device) = Loop::attach(16, &[])
        && device.mount("ro")
    {
        let point = device.mounted.clone().expect("mounted");
        let output = brisk(&["bench"]).arg(&point).env("BRISK_RUN_DIR", "/nonexistent").output().expect("brisk runs");
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            stderr(&output),
            format!("brisk: {} is read-only: give a path that can be written\n", point.display())
        );
    }
}

#[test]
fn an_output_that_fails_costs_no_other() {
    let dir = tempfile::tempdir().expect("a directory");
    let json = dir.path().join("x.json");
    let option = format!("--json={}", json.display());
    let output = brisk(&["bench", "--budget", "1", "--size", "1M", "--depth", "2", "--html", "/dev/full", &option])
        .arg(dir.path())
        .env("BRISK_RUN_DIR", dir.path())
        .output()
        .expect("brisk runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot write /dev/full"), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).expect("read")).expect("JSON");
    assert_eq!(document["kind"], "bench");
    assert!(String::from_utf8_lossy(&output.stdout).contains("MB/s"), "the table is shown");
}

#[test]
fn the_scheduler_is_put_back_at_the_end_on_a_stop_and_after_a_kill() {
    let Some(device) = Loop::attach(64, &[]) else { return };
    let before = (device.queue("scheduler"), device.queue("nr_requests"));
    if before.0.split_whitespace().count() < 2 {
        return skip(Capability::Schedulers, format!("{} has: {}", device.node(), before.0));
    }
    let run_dir = tempfile::tempdir().expect("a directory");
    let study = |mix: &str, runs: &str| {
        let mut command = brisk(&["study", "schedulers", device.node(), "--destroy-data", "--reads", "50"]);
        command
            .args(["--depths", "4,16", "--mix-size", mix, "--runs", runs, "--json"])
            .env("BRISK_RUN_DIR", run_dir.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let output = study("256k", "1").output().expect("brisk runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["restored"], true);
    assert_eq!((device.queue("scheduler"), device.queue("nr_requests")), before, "at the end");

    for signal in [Signal::INT, Signal::KILL] {
        let mut child = study("8M", "1000").spawn().expect("brisk runs");
        brisk_requires::until("another scheduler", || {
            assert_eq!(child.try_wait().expect("waited"), None, "it ended before it changed the scheduler");
            device.queue("scheduler") != before.0
        });
        kill_process(Pid::from_raw(i32::try_from(child.id()).expect("a process")).expect("not zero"), signal)
            .expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        if signal == Signal::KILL {
            // Any measurement that starts later repairs, even one that is refused.
            let next = brisk(&["bench", "/gone"]).env("BRISK_RUN_DIR", run_dir.path()).output().expect("brisk runs");
            assert!(stderr(&next).contains("repaired: scheduler of"), "{}", stderr(&next));
        } else {
            assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        }
        assert_eq!((device.queue("scheduler"), device.queue("nr_requests")), before, "after {signal:?}");
    }
}
