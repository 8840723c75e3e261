//! `brisk monitor` as a person or a program meets it: sessions, records, exports, and what it says to bad input.

use std::fs::{self, OpenOptions};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use brisk_core::snapshot::{DiskTotals, IoTotals, Snapshot};
use brisk_record::{End, Session, Writer, older_part};
use brisk_requires::{next_line, requires};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn monitor(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    command.arg("monitor").args(words);
    command
}

fn run(words: &[&str]) -> Output {
    monitor(words).output().expect("brisk runs")
}

/// Standard output of a run that must succeed.
fn done(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

fn place() -> (tempfile::TempDir, PathBuf, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("day.brisk");
    let name = path.to_str().expect("UTF-8").to_owned();
    (dir, path, name)
}

/// A session that runs until it is stopped; so many lines of its output were read.
fn running(words: &[&str], lines: usize) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = monitor(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("brisk runs");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    for _ in 0..lines {
        assert_ne!(next_line(&mut output, "a line of the session"), "", "the session ended early");
    }
    (child, output)
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().expect("a pid")).expect("not zero");
    kill_process(pid, signal).expect("it runs");
}

#[test]
fn a_pipe_gets_one_line_a_sample_and_a_summary() {
    let text = done(&["--interval", "50ms", "--duration", "200ms"]);
    assert!(!text.contains('\x1b') && text.lines().all(|line| line.chars().count() <= 140), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("processors") && lines[1].starts_with("time"), "{text}");
    let samples = lines.iter().take_while(|line| !line.contains("samples")).count() - 2;
    assert!((1..=4).contains(&samples), "{text}");
    let head = lines[samples + 2];
    assert!(head.ends_with(&format!("in {} samples", samples + 1)), "{head}");
    assert!(text.contains("least") && text.contains("median") && text.contains("brisk itself: "), "{text}");
    let quiet = done(&["--interval", "50ms", "--duration", "100ms", "--quiet"]);
    assert!(quiet.lines().next().is_some_and(|line| line.contains("samples")), "{quiet}");
}

#[test]
fn programs_get_one_object_a_line() {
    let all = objects(&done(&["--interval", "50ms", "--duration", "200ms", "--json"]));
    let (summary, samples) = all.split_last().expect("a summary");
    assert!(!samples.is_empty());
    for sample in samples {
        assert_eq!((&sample["kind"], &sample["schema_version"]), (&"monitor_sample".into(), &1.into()));
        let shares = &sample["cpu"];
        assert!(shares["busy_percent"].as_f64().is_some_and(|share| (0.0..=100.0).contains(&share)), "{sample}");
        assert!(sample["memory"]["total_bytes"].as_u64() > sample["memory"]["free_bytes"].as_u64());
        assert!(sample["nets"].as_array().expect("a list").iter().all(|net| net["name"] != "lo"), "{sample}");
    }
    assert_eq!(summary["kind"], "monitor_summary");
    assert_eq!(summary["samples"], samples.len() + 1);
    assert!(summary["own"]["cpu_us"].as_u64() > Some(0) && summary["own"]["rss_bytes"].as_u64() > Some(0));
    let busy = summary["spreads"].as_array().expect("a list").iter().find(|one| one["name"] == "busy_percent");
    assert_eq!(busy.map(|busy| &busy["count"]), Some(&samples.len().into()));
}

#[test]
fn a_record_is_shown_and_exported_as_it_was_seen() {
    let (dir, _, record) = place();
    let seen = objects(&done(&["--interval", "50ms", "--duration", "300ms", "--json", "--output", &record]));
    let (summary, samples) = seen.split_last().expect("a summary");
    assert_eq!(summary["record_bytes"].as_u64(), Some(fs::metadata(&record).expect("a file").len()));

    let shown = objects(&done(&["show", &record, "--json"]));
    assert_eq!(shown.len(), 2);
    for same in ["samples", "elapsed_s", "spreads", "disks", "nets"] {
        assert_eq!(shown[0][same], summary[same], "{same}");
    }
    assert_eq!(shown[0]["end"]["samples"], summary["samples"]);
    assert_eq!((&shown[1]["kind"], &shown[1]["damaged_frames"]), (&"monitor_lost".into(), &0.into()));
    let text = done(&["show", &record]);
    assert!(text.contains("Session 1") && text.contains("histogram of sizes"), "{text}");

    let table = dir.path().join("day.csv");
    done(&["export", &record, "--format", "csv", "--output", table.to_str().expect("UTF-8")]);
    let rows: Vec<csv::StringRecord> = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_path(&table)
        .expect("a file")
        .records()
        .collect::<Result<_, _>>()
        .expect("all rows are of one length");
    assert_eq!(rows.len(), samples.len() + 1);
    let column = |name: &str| rows[0].iter().position(|title| title == name).expect("a column");
    let busy = column("cpu.busy_percent");
    for (row, sample) in rows[1..].iter().zip(samples) {
        assert_eq!(row[busy].parse::<f64>().ok(), sample["cpu"]["busy_percent"].as_f64());
        assert_eq!(&row[column("session")], "1");
    }

    let trace = dir.path().join("day.pftrace");
    done(&["export", &record, "--format", "perfetto", "--output", trace.to_str().expect("UTF-8")]);
    let values = counter_values(&fs::read(&trace).expect("a file"), "cpu", "busy_percent");
    let in_table: Vec<f64> = rows[1..].iter().map(|row| row[busy].parse().expect("a number")).collect();
    assert_eq!(values[..values.len() - 1], in_table);
    assert_eq!(values.last(), Some(&0.0), "the last interval ends");
    let metrics = done(&["export", &record, "--format", "openmetrics", "--output", "-"]);
    let shares = metrics.lines().filter_map(|line| line.strip_prefix("brisk_cpu_busy_ratio{session=\"1\"} "));
    let shares: Vec<f64> =
        shares.map(|line| line.split(' ').next().expect("a value").parse().expect("a number")).collect();
    let as_shares: Vec<f64> = in_table.iter().map(|percent| percent / 100.0).collect();
    assert_eq!(shares, as_shares);
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let printed = run(&["export", &record, "--format", "csv", "--output", "-"]).stdout;
    assert_eq!(printed, fs::read(&table).expect("a file"));
}

/// The fields of a protobuf message, read by nothing but the rules of its wire format.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().expect("a whole varint");
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let length = match tag & 7 {
            0 => {
                let value = varint(&mut bytes);
                fields.push((tag >> 3, value.to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut bytes)).expect("a length"),
            other => panic!("wire type {other}"),
        };
        let (value, rest) = bytes.split_at(length);
        fields.push((tag >> 3, value.to_vec()));
        bytes = rest;
    }
    fields
}

/// The values of the counter `name` in the group `group`, in their order, with the field numbers of
/// perfetto_trace.proto.
fn counter_values(trace: &[u8], group: &str, name: &str) -> Vec<f64> {
    const PACKET: u64 = 1;
    const TRACK_EVENT: u64 = 11;
    const TRACK_DESCRIPTOR: u64 = 60;
    let packets: Vec<_> = fields(trace).into_iter().map(|(number, packet)| (number, fields(&packet))).collect();
    assert!(packets.iter().all(|(number, _)| *number == PACKET));
    let inner = |wanted: u64| {
        let all = packets.iter().flat_map(|(_, packet)| packet).filter(move |(number, _)| *number == wanted);
        all.map(|(_, message)| fields(message)).collect::<Vec<_>>()
    };
    let get = |message: &[(u64, Vec<u8>)], wanted: u64| {
        message.iter().find(|(number, _)| *number == wanted).map(|(_, value)| value.clone())
    };
    let tracks = inner(TRACK_DESCRIPTOR);
    let find = |wanted: &str, parent: Option<&Vec<u8>>| {
        let found = tracks
            .iter()
            .find(|track| get(track, 2).as_deref() == Some(wanted.as_bytes()) && get(track, 5).as_ref() == parent);
        found.and_then(|track| get(track, 1)).expect("a track")
    };
    let track = find(name, Some(&find(group, None)));
    let events = inner(TRACK_EVENT);
    let own = events.iter().filter(|event| get(event, 11).as_ref() == Some(&track));
    own.map(|event| f64::from_le_bytes(get(event, 44).expect("a value").try_into().expect("8 bytes"))).collect()
}

#[test]
fn ctrl_c_ends_with_a_summary_and_a_whole_record() {
    let (_dir, _, record) = place();
    let (mut child, mut output) = running(&["--interval", "50ms", "--output", &record], 4);
    send(&child, Signal::INT);
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("ends").code(), Some(130), "{rest}");
    assert!(rest.contains("brisk itself: ") && rest.contains("bytes a sample"), "{rest}");
    let shown = objects(&done(&["show", &record, "--json"]));
    assert!(shown[0]["end"]["samples"].as_u64() >= Some(3), "{shown:?}");
}

#[test]
fn a_signal_ends_a_long_interval() {
    let (_dir, path, record) = place();
    let (mut child, mut output) = running(&["--interval", "1h", "--output", &record, "--quiet"], 0);
    // The signals are watched before the first sample is in the record.
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while fs::metadata(&path).map_or(0, |metadata| metadata.len()) < 400 {
        assert!(std::time::Instant::now() < limit, "no sample came");
        std::thread::yield_now();
    }
    send(&child, Signal::TERM);
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("ends").code(), Some(143), "{rest}");
    assert!(rest.contains("in 1 samples"), "{rest}");
}

#[test]
fn a_killed_session_keeps_its_samples_and_is_continued() {
    let (_dir, _, record) = place();
    let (mut child, _output) = running(&["--interval", "50ms", "--output", &record], 5);
    let busy = run(&["--duration", "1s", "--output", &record]);
    assert_eq!(busy.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&busy.stderr).contains("another brisk"), "{busy:?}");
    send(&child, Signal::KILL);
    child.wait().expect("ends");
    let text = done(&["show", &record]);
    assert!(text.contains("Session 1") && text.contains("runs still, or was killed"), "{text}");
    done(&["--interval", "50ms", "--duration", "100ms", "--quiet", "--output", &record]);
    let shown = objects(&done(&["show", &record, "--json"]));
    assert_eq!(shown.iter().filter(|one| one["kind"] == "monitor_session").count(), 2);
    assert!(shown[0]["samples"].as_u64() >= Some(3) && shown[0]["end"].is_null() && !shown[1]["end"].is_null());
}

#[test]
fn what_is_lost_of_a_record_is_said() {
    let (dir, path, record) = place();
    done(&["--interval", "50ms", "--duration", "300ms", "--quiet", "--output", &record]);
    let length = fs::metadata(&path).expect("a file").len();
    OpenOptions::new().write(true).open(&path).expect("a file").set_len(length - 20).expect("cut");
    let table = dir.path().join("cut.csv");
    let words = ["export", &record, "--format", "csv", "--output", table.to_str().expect("UTF-8")];
    let output = run(&words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("is lost") && said.contains("cut off"), "{said}");
    assert!(fs::read_to_string(&table).expect("a file").lines().count() >= 2);
    let shown = run(&["show", &record, "--json"]);
    assert_eq!(shown.status.code(), Some(1));
    let last = objects(&String::from_utf8(shown.stdout).expect("text")).pop().expect("what is lost");
    assert!(last["cut_off_bytes"].as_u64() > Some(0), "{last}");
}

/// A record with an older part, as a long session leaves it.
fn long_record(path: &Path, samples: u64) {
    let session = Session { started_unix_ms: 1_700_000_000_000, interval_ms: 1000, ..Session::default() };
    let mut writer = Writer::begin(path, session, Some(6_000)).expect("a record");
    for second in 0..samples {
        let io = IoTotals { requests: second * second, bytes: second * second * 4096, time_ms: second };
        let disk = DiskTotals { name: "vda".into(), read: io, ..DiskTotals::default() };
        let (at_ns, wall_unix_ms) = (second * 1_000_000_000, 1_700_000_000_000 + second * 1000);
        let snapshot = Snapshot { at_ns, wall_unix_ms, disks: vec![disk], ..Snapshot::default() };
        writer.snapshot(&snapshot).expect("written");
    }
    assert!(writer.end(&End::default()).expect("written").parts >= 1);
}

#[test]
fn the_older_part_of_a_long_session_belongs_to_it() {
    let (_dir, path, record) = place();
    long_record(&path, 150);
    assert!(older_part(&path).exists());
    let shown = objects(&done(&["show", &record, "--json"]));
    assert_eq!(shown.iter().filter(|one| one["kind"] == "monitor_session").count(), 1);
    let samples = shown[0]["samples"].as_u64().expect("a count");
    let table = done(&["export", &record, "--format", "csv", "--output", "-"]);
    assert_eq!(table.lines().count() as u64, samples, "a heading, and one row less than samples");
    assert!(table.lines().last().is_some_and(|line| line.starts_with("1,1700000148000000000,1700000149000000000,1,")));
    // A file of that name that is no record is left alone.
    fs::write(older_part(&path), "letter").expect("a file");
    let alone = objects(&done(&["show", &record, "--json"]));
    assert!(alone[0]["samples"].as_u64() < Some(samples));
}

#[test]
fn a_control_group_is_watched_as_an_app() {
    requires!(Groups);
    let root = brisk_sense::Sense::default().cgroups().expect("Linux").v2.expect("mounted").mount_point;
    let group = root.join(format!("app-brisk-monitor-{}.scope", std::process::id()));
    fs::create_dir(&group).expect("root makes groups");
    let spin = format!("echo $$ > {}/cgroup.procs && echo in && while :; do :; done", group.display());
    let mut child = Command::new("sh").args(["-c", &spin]).stdout(Stdio::piped()).spawn().expect("a shell");
    let inside = next_line(&mut BufReader::new(child.stdout.take().expect("piped")), "the shell in its group");
    let given =
        run(&["--interval", "200ms", "--duration", "600ms", "--json", "--cgroup", group.to_str().expect("UTF-8")]);
    let found = run(&["--interval", "200ms", "--duration", "400ms", "--json"]);
    child.kill().expect("it runs");
    child.wait().expect("ends");
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while fs::remove_dir(&group).is_err() {
        assert!(std::time::Instant::now() < limit, "{} cannot be removed", group.display());
        std::thread::yield_now();
    }
    assert_eq!(inside, "in\n", "the shell could not enter the group");
    for output in [given, found] {
        let all = objects(std::str::from_utf8(&output.stdout).expect("text"));
        let name = group.file_name().expect("a name").to_str().expect("UTF-8");
        let app = all[0]["apps"].as_array().expect("a list").iter().find(|app| app["name"] == name).expect("the app");
        assert!(app["cpu_percent"].as_f64() > Some(0.0), "{app}");
        assert!(app["memory_bytes"].as_u64().or(app["rss_bytes"].as_u64()) > Some(4096), "{app}");
        let summary = all.last().expect("a summary");
        assert!(summary["apps"][name]["cpu_s"].as_f64() > Some(0.0), "{summary}");
    }
}

#[test]
fn a_full_disk_is_named_and_what_was_written_stays() {
    let (dir, _, _) = place();
    requires!(Mount);
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(dir.path()).output();
    assert!(mounted.expect("mount runs").status.success());
    fs::write(dir.path().join("ballast"), vec![1; 60 << 10]).expect("free space");
    let record = dir.path().join("day.brisk");
    let name = record.to_str().expect("UTF-8");
    let output = run(&["--interval", "10ms", "--duration", "5m", "--quiet", "--output", name]);
    let shown = run(&["show", name, "--json"]);
    assert!(Command::new("umount").arg(dir.path()).status().expect("umount runs").success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let full = std::io::Error::from(rustix::io::Errno::NOSPC).to_string();
    assert!(said.contains("cannot write") && said.contains("day.brisk") && said.contains(&full), "{said}");
    assert!(said.lines().count() == 1, "{said}");
    assert_eq!(shown.status.code(), Some(0), "{}", String::from_utf8_lossy(&shown.stderr));
    let session = objects(std::str::from_utf8(&shown.stdout).expect("text")).remove(0);
    let kept = session["samples"].as_u64().expect("a count");
    assert!(kept > 0 && said.contains(&format!("the {kept} samples before are kept")), "{said} {kept}");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    for more in [&[][..], &["--json"]] {
        let words = [&["--interval", "20ms", "--duration", "5m"][..], more].concat();
        let (mut child, output) = running(&words, 3);
        drop(output);
        let mut said = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        assert_eq!((child.wait().expect("ends").code(), said.as_str()), (Some(0), ""));
    }
}

#[test]
fn bad_input_is_named_with_a_remedy() {
    let (dir, path, record) = place();
    long_record(&path, 150);
    let garbage = dir.path().join("garbage");
    fs::write(&garbage, (0..100_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect::<Vec<_>>())
        .expect("a file");
    let empty = dir.path().join("empty");
    fs::write(&empty, "brisk record 1\0").expect("a file");
    let newer = dir.path().join("newer");
    fs::write(&newer, "brisk record 2\0").expect("a file");
    let name = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (garbage, empty, newer, folder) = (name(&garbage), name(&empty), name(&newer), name(dir.path()));
    let new = format!("{folder}/new");
    let csv = |file: &str, out: &str| ["export", file, "--format", "csv", "--output", out].map(str::to_owned).to_vec();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let cases: &[(Vec<String>, &str)] = &[
        (words(&["--interval", "0"]), "the duration is zero"),
        (words(&["--interval", "-1s"]), "cannot be negative"),
        (words(&["--interval", "-1"]), "cannot be negative"),
        (words(&["--interval", "1ms"]), "give at least 10ms"),
        (words(&["--interval", "soon"]), "'soon' is not a duration"),
        (words(&["--interval", "99999999999999999999s"]), "is not a duration"),
        (words(&["--interval", "9000h"]), "more than a year"),
        (words(&["--duration", "1s", "--interval", "2s"]), "ends before the first interval"),
        (words(&["--device", "nope"]), "'nope' is not a block device of this machine: there are"),
        (words(&["--device", "/dev/null"]), "is not a block device"),
        (words(&["--cgroup", "/no/such/group"]), "there is no control group /no/such/group"),
        (words(&["--cgroup", &folder]), "is not a control group of the second version"),
        (words(&["--output", "/no/such/file"]), "cannot record: cannot open /no/such/file"),
        (words(&["--output", "/dev/full"]), "is not a regular file"),
        (words(&["--output", &folder]), "is not a regular file"),
        (words(&["--output", &garbage]), "is not a record of brisk"),
        (words(&["--output", &newer]), "is a record of format 2; this brisk knows 1"),
        (words(&["--max-size", "1M"]), "--output <FILE>"),
        (words(&["--max-size", "1k", "--output", &new]), "give at least 64 KiB"),
        (words(&["--max-size", "big", "--output", &new]), "is not a size"),
        (words(&["show", "/no/such/file"]), "cannot read /no/such/file"),
        (words(&["show", &garbage]), "is not a record of brisk"),
        (words(&["show", &empty]), "holds no session"),
        (words(&["show", &newer]), "use a newer one"),
        (words(&["show", &folder]), "is a directory: name a regular file"),
        (words(&["export", &record, "--output", &new]), "--format"),
        (words(&["export", &record, "--format", "excel", "--output", &new]), "csv"),
        (csv(&garbage, &new), "is not a record of brisk"),
        (csv(&empty, &new), "holds no session"),
        (csv(&record, &record), "is the record itself"),
        (csv(&record, "/no/such/file"), "cannot write /no/such/file"),
        (csv(&record, &folder), "cannot write"),
        (csv(&record, "/dev/full"), "cannot write /dev/full: "),
    ];
    for (words, expected) in cases {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = run(&words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
        assert!(output.stdout.is_empty(), "{words:?} printed something");
    }
    let mut left: Vec<_> = fs::read_dir(&dir).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
    left.sort();
    assert_eq!(left, ["day.brisk", "day.brisk.1", "empty", "garbage", "newer"], "nothing was made");
}
