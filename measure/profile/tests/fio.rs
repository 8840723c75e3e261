//! Job files of the wild, held against what fio itself does with them: counts of reads and writes, sizes, order,
//! requests in flight and flushes, of fio's own figures (`--output-format=json`) and its list of requests
//! (`write_iolog`). The files were written for this test, after shapes that people publish.

use std::collections::HashMap;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;

use brisk_bench::address::Region;
use brisk_bench::load::{Load, Requests};
use brisk_profile::fio;
use brisk_profile::results::{Direction, Pattern};
use brisk_profile::workload::{Action, Ask, Workload};
use brisk_requires::{Capability, requires, skip};
use serde_json::Value;

/// Requests of either side, in numbers that do not depend on time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    /// Share of requests that read.
    read_share: f64,
    /// Mean size of reads and of writes; 0 without them.
    read_bytes: f64,
    write_bytes: f64,
    /// Share of requests that follow one of the same stream.
    sequential_share: f64,
    flush_share: f64,
    /// Requests in flight of one process; `None` where a rate decides.
    depth: Option<f64>,
}

/// How far shares may differ: fio draws the mix, and of 2,000 requests or more the share lies within 0.04 of its mean
/// in all but one of a thousand runs.
const SHARE_TOLERANCE: f64 = 0.04;
/// Requests of ours that are counted.
const COUNTED: u64 = 4000;

const SHAPES: [(&str, &str); 12] = [
    ("random reads, queued", "[r]\nrw=randread ; cold\nbs=4k\nioengine=libaio\niodepth=32\ndirect=1\nsize=16m\n"),
    (
        "large reads",
        "[global]\nsize=64m\n[r]\nrw=read\nbs=1m # large\nioengine=libaio\niodepth=4\ndirect=1\ngroup_reporting\n",
    ),
    ("a mix of 70 and 30", "[global]\nrandrepeat=0\nsize=16m\n[m]\nrw=randrw\nrwmixread=70\nbs=4k\nrefill_buffers\n"),
    ("a share of writes", "[global]\n[m]\nsize=16m\nrw=randrw\nrwmixread=60\nrwmixwrite=40\nbs=4K\nthread\n"),
    ("small durable writes", "[db]\nrw=randwrite\nbs=4k\nfsync=1\nsize=1m\nunlink=1\nfallocate=none\n"),
    ("a log", "[log]\nrw=write\nbs=16kb\nfdatasync=8\ndirect=1\nioengine=libaio\nsize=16m\nunlink=1\n"),
    (
        "the card of a phone",
        "[global]\nsize=4m\ndirect=1\n[c]\nstonewall\nrw=randwrite\nbs=4k\nnumjobs=4\nunlink=1\nthread\n\
         group_reporting\nnew_group\n",
    ),
    ("several files in turn", "[f]\nrw=read\nbs=8k\nnrfiles=4\nsize=16m\ntime_based=0\n"),
    ("rates of a mix", "[a]\nrw=randrw\nbs=4k,16k\nrate_iops=20000,5000\nsize=24m\nstartdelay=0\n"),
    ("sequential after all", "[s]\nrw=randread\npercentage_random=0\nbs=8k\nbs=4k\nsize=8m\niodepth=8\n"),
    ("no limit", "[n]\nrw=randread\nbs=4k\nrate_iops=0\nthinktime=0\nzonemode=none\nsize=8m\n"),
    ("reads and writes in order", "[global]\nbs=64k\n[x]\nrw=rw\nsize=128m\nrwmixwrite=25\nend_fsync=1\n"),
];

/// What a profile issues.
fn ours(workload: &Workload) -> Shape {
    match &workload.ask {
        Ask::Closed { pattern, read_percent, block_bytes, depth_requests, streams, durable_every_writes } => {
            let load = Load {
                read_percent: *read_percent,
                streams: *streams,
                durable_every_writes: *durable_every_writes,
                ..Load::plain(*pattern, Direction::Read, *block_bytes, Region::first(1 << 40))
            };
            let requests = Requests::new(&load);
            let issued: Vec<_> = (0..COUNTED).map(|index| requests.at(index)).collect();
            let of = |way| {
                let those = issued.iter().filter(|request| request.direction == way);
                those.map(|request| (request.offset_bytes, *block_bytes)).collect::<Vec<_>>()
            };
            let (reads, writes) = (of(Direction::Read), of(Direction::Write));
            let ordered = in_order(&reads, *streams as usize) + in_order(&writes, *streams as usize);
            let bytes = |some: &[_]| if some.is_empty() { 0.0 } else { *block_bytes as f64 };
            Shape {
                read_share: reads.len() as f64 / COUNTED as f64,
                read_bytes: bytes(&reads),
                write_bytes: bytes(&writes),
                sequential_share: ordered as f64 / COUNTED as f64,
                flush_share: issued.iter().filter(|one| one.durable).count() as f64 / writes.len().max(1) as f64,
                depth: Some((*depth_requests).into()),
            }
        }
        Ask::Open(streams) => {
            let rate = |action| streams.iter().filter(|s| s.action == action).map(|s| s.requests_per_s).sum::<f64>();
            let bytes = |action| streams.iter().find(|s| s.action == action).map_or(0.0, |s| s.block_bytes as f64);
            let (reads, writes) = (rate(Action::Read), rate(Action::Write));
            let is_sequential = streams.iter().all(|stream| stream.pattern == Pattern::Sequential);
            Shape {
                read_share: reads / (reads + writes),
                read_bytes: bytes(Action::Read),
                write_bytes: bytes(Action::Write),
                sequential_share: f64::from(u8::from(is_sequential)),
                flush_share: rate(Action::Flush) / writes.max(1.0),
                depth: None,
            }
        }
        Ask::Recorded(_) => panic!("no recording was given"),
    }
}

/// Requests (offset, length) that begin where the one before in the same stream ended; streams take turns.
fn in_order(requests: &[(u64, u64)], streams: usize) -> usize {
    let pairs = requests.iter().zip(requests.iter().skip(streams));
    streams.min(requests.len()) + pairs.filter(|(before, after)| before.0 + before.1 == after.0).count()
}

fn of_fio(dir: &Path, text: &str, has_rates: bool) -> Shape {
    let job = dir.join("job.fio");
    // Where the device keeps up, the rates alone decide: one that is always done at once.
    let text = if has_rates { format!("{text}ioengine=null\n") } else { text.to_owned() };
    std::fs::write(&job, format!("{text}write_iolog=requests\n")).expect("written");
    let output =
        Command::new("fio").current_dir(dir).arg("--output-format=json").arg(&job).output().expect("fio starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}: {said} {}", String::from_utf8_lossy(&output.stderr));
    // Notes of fio stand before it.
    let json: Value = serde_json::from_str(&said[said.find('{').expect("JSON")..]).expect("JSON");
    let jobs = json["jobs"].as_array().expect("jobs");
    let number = |job: &Value, pointer: &str| job.pointer(pointer).and_then(Value::as_f64).unwrap_or(0.0);
    let sum = |pointer: &str| jobs.iter().map(|job| number(job, pointer)).sum::<f64>();
    let (reads, writes) = (sum("/read/total_ios"), sum("/write/total_ios"));
    let mean = |bytes: f64, count: f64| if count > 0.0 { bytes / count } else { 0.0 };
    let levels = jobs[0]["iodepth_level"].as_object().expect("levels");
    let used = levels.iter().filter(|(_, percent)| percent.as_f64() > Some(0.0));
    let depth = used.filter_map(|(level, _)| level.trim_start_matches(">=").parse::<f64>().ok()).fold(0.0, f64::max);
    let list = listed(dir);
    Shape {
        read_share: reads / (reads + writes),
        read_bytes: mean(sum("/read/io_bytes"), reads),
        write_bytes: mean(sum("/write/io_bytes"), writes),
        sequential_share: list.ordered / list.requests,
        flush_share: list.flushes / list.writes.max(1.0),
        depth: Some(depth),
    }
}

/// Counts of fio's list of requests.
#[derive(Default)]
struct List {
    requests: f64,
    writes: f64,
    ordered: f64,
    flushes: f64,
}

fn listed(dir: &Path) -> List {
    let mut list = List::default();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("listed").path();
        if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("requests")) {
            continue;
        }
        let mut ends: HashMap<(String, String), u64> = HashMap::new();
        for line in std::fs::read_to_string(&path).expect("a list").lines() {
            // Time, file, action, offset, length.
            match line.split(' ').collect::<Vec<_>>()[..] {
                [_, file, way @ ("read" | "write"), offset, len] => {
                    let [offset, len] = [offset, len].map(|number| number.parse::<u64>().expect("a number"));
                    let end = ends.insert((file.to_owned(), way.to_owned()), offset + len);
                    list.requests += 1.0;
                    list.writes += f64::from(u8::from(way == "write"));
                    list.ordered += f64::from(u8::from(end.is_none_or(|end| end == offset)));
                }
                [_, _, "sync" | "datasync", ..] => list.flushes += 1.0,
                _ => {}
            }
        }
    }
    list
}

fn processes(text: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix("numjobs="));
    line.map_or(1.0, |number| number.parse().expect("a number"))
}

/// Whether files in `dir` can be read past the page cache, as direct=1 has it.
fn takes_direct(dir: &Path) -> bool {
    let mut options = std::fs::File::options();
    options.write(true).create(true).truncate(true).custom_flags(libc::O_DIRECT);
    options.open(dir.join("direct")).is_ok()
}

#[test]
fn shapes_of_the_wild_have_the_requests_that_fio_issues() {
    requires!(Program("fio"));
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, text) in SHAPES {
        let dir = tempfile::tempdir_in(tmp).expect("a directory");
        if text.contains("direct=1") && !takes_direct(dir.path()) {
            skip(Capability::Disk, format!("{} takes no direct requests", tmp.display()));
            continue;
        }
        let jobs = fio::read(Path::new("job.fio"), text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let [workload] = &jobs.workloads[..] else { panic!("{name}: one job") };
        let has_rates = matches!(workload.ask, Ask::Open(_));
        let (ours, fios) = (ours(workload), of_fio(dir.path(), text, has_rates));
        println!("{name}\n  ours {ours:?}\n  fio  {fios:?}");
        let near = |a: f64, b: f64| (a - b).abs() <= SHARE_TOLERANCE;
        assert!(near(ours.read_share, fios.read_share), "{name}: reads\nours {ours:?}\nfio  {fios:?}");
        assert!(near(ours.sequential_share, fios.sequential_share), "{name}: order\nours {ours:?}\nfio  {fios:?}");
        assert!(near(ours.flush_share, fios.flush_share), "{name}: flushes\nours {ours:?}\nfio  {fios:?}");
        assert_eq!((ours.read_bytes, ours.write_bytes), (fios.read_bytes, fios.write_bytes), "{name}: sizes");
        if let Some(depth) = ours.depth {
            // fio's figure is that of one process.
            assert_eq!(Some(depth / processes(text)), fios.depth, "{name}: requests in flight");
        }
    }
}
