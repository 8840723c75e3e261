//! Agreement with fio: the same load on the same file or device by fio and by this crate, in turns.
//!
//! `cargo run --release -p brisk-bench --example agreement -- FILE [PAIRS] [MILLISECONDS] [CASE...]`
//!
//! FILE is overwritten: an existing file, or a block device without data. Pairs run in ABBA order, so that drift of the
//! machine cancels. Printed are the median of ours over fio's (paired), its interval, the coefficient of variation, and
//! the best of all our runs over the best of all of fio's, which is least affected by other load: the highest rate, the
//! lowest response time. A median outside 3 % is marked. Response times are fio's total latency, which begins, as ours,
//! before the submitting call.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::fs::OpenOptions;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use brisk_bench::address::Region;
use brisk_bench::engine::{Engine, EngineKind};
use brisk_bench::load::{End, Load};
use brisk_bench::results::{Direction, Pattern};
use brisk_core::stats::paired_ratio;
use brisk_core::units::three_digits;

/// Pattern, direction, bytes of a request, depth, and whether fio runs with its fast options.
type Case = (Pattern, Direction, u64, u32, bool);

const CASES: [(&str, Case); 9] = [
    ("randread-4k-1", (Pattern::Random, Direction::Read, 4096, 1, false)),
    ("randread-4k-32", (Pattern::Random, Direction::Read, 4096, 32, false)),
    ("read-4k-1", (Pattern::Sequential, Direction::Read, 4096, 1, false)),
    ("read-128k-8", (Pattern::Sequential, Direction::Read, 131_072, 8, false)),
    ("randwrite-4k-1", (Pattern::Random, Direction::Write, 4096, 1, false)),
    ("randwrite-4k-32", (Pattern::Random, Direction::Write, 4096, 32, false)),
    ("write-128k-8", (Pattern::Sequential, Direction::Write, 131_072, 8, false)),
    ("fast-randread-4k-32", (Pattern::Random, Direction::Read, 4096, 32, true)),
    ("fast-randread-4k-128", (Pattern::Random, Direction::Read, 4096, 128, true)),
];

/// How far from 1 the median of a ratio may be.
const TOLERANCE_SHARE: f64 = 0.03;

#[derive(Debug, Clone, Copy)]
struct Figures {
    requests_per_s: f64,
    bytes_per_s: f64,
    p50_us: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: agreement FILE [PAIRS] [MILLISECONDS] [CASE...]")?;
    let pairs: usize = args.next().map_or(Ok(7), |a| a.parse())?;
    let span_ms: u64 = args.next().map_or(Ok(2_000), |a| a.parse())?;
    let wanted: Vec<String> = args.collect();
    println!("{pairs} pairs of {span_ms} ms on {path}: ours over fio's, median [interval], variation");
    for (name, case) in CASES {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        let (mut fio, mut ours) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            let seed = pair as u64 + 1;
            if pair % 2 == 0 {
                fio.push(run_fio(&path, case, span_ms, seed)?);
                ours.push(run_ours(&path, case, span_ms, seed)?);
            } else {
                ours.push(run_ours(&path, case, span_ms, seed)?);
                fio.push(run_fio(&path, case, span_ms, seed)?);
            }
        }
        for (figure, best_name, of) in [
            ("requests/s", "highest", (|f| f.requests_per_s) as fn(&Figures) -> f64),
            ("bytes/s", "highest", |f| f.bytes_per_s),
            ("p50 us", "lowest", |f| f.p50_us),
        ] {
            let (a, b): (Vec<f64>, Vec<f64>) = (ours.iter().map(of).collect(), fio.iter().map(of).collect());
            let ratio = paired_ratio(&a, &b).ok_or("a run without requests")?;
            let middle = |v: &[f64]| brisk_core::stats::median(v).map_or("-".to_owned(), three_digits);
            let best = |v: &[f64]| {
                let pick = if best_name == "lowest" { f64::min } else { f64::max };
                v.iter().copied().reduce(pick).unwrap_or(f64::NAN)
            };
            let mark = if (ratio.median - 1.0).abs() > TOLERANCE_SHARE { "   << outside 3 %" } else { "" };
            println!(
                "{name:22} {figure:11} {:.3} [{:.3}, {:.3}] {:4.1} %   ours {} fio {}   {best_name} {:.3}{mark}",
                ratio.median,
                ratio.low,
                ratio.high,
                ratio.variation * 100.0,
                middle(&a),
                middle(&b),
                best(&a) / best(&b),
            );
        }
    }
    Ok(())
}

fn run_ours(path: &str, case: Case, span_ms: u64, seed: u64) -> Result<Figures, Box<dyn std::error::Error>> {
    let (pattern, direction, block_bytes, depth_requests, _) = case;
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path)?;
    let len = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))?;
    let load = Load {
        depth_requests,
        seed,
        end: End::after_time(Duration::from_millis(span_ms)),
        ..Load::plain(pattern, direction, block_bytes, Region::first(len))
    };
    let outcome = Engine::choose(Some(EngineKind::IoUring))?.run(file.as_fd(), &load, &AtomicBool::new(false))?;
    let times = if direction == Direction::Read { &outcome.reads } else { &outcome.writes };
    Ok(Figures {
        requests_per_s: outcome.requests_per_s(),
        bytes_per_s: outcome.bytes_per_s(),
        p50_us: times.quantile_us(0.5),
    })
}

fn run_fio(path: &str, case: Case, span_ms: u64, seed: u64) -> Result<Figures, Box<dyn std::error::Error>> {
    let (pattern, direction, block_bytes, depth, fast) = case;
    let (side, rw) = match (pattern, direction) {
        (Pattern::Sequential, Direction::Read) => ("read", "read"),
        (Pattern::Sequential, Direction::Write) => ("write", "write"),
        (Pattern::Random, Direction::Read) => ("read", "randread"),
        (Pattern::Random, Direction::Write) => ("write", "randwrite"),
    };
    let mut fio = Command::new("fio");
    fio.args(["--name=agreement", "--ioengine=io_uring", "--direct=1", "--time_based", "--thread"])
        .args(["--allow_file_create=0", "--output-format=json", "--lat_percentiles=1", "--clat_percentiles=0"])
        .arg(format!("--filename={path}"))
        .arg(format!("--rw={rw}"))
        .arg(format!("--bs={block_bytes}"))
        .arg(format!("--iodepth={depth}"))
        .arg(format!("--runtime={span_ms}ms"))
        .arg(format!("--randseed={seed}"));
    if fast {
        fio.args(["--fixedbufs=1", "--registerfiles=1", "--nonvectored=1", "--norandommap=1"])
            .args(["--iodepth_batch_submit=16", "--iodepth_batch_complete_max=16"]);
    }
    let output = fio.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let side = &json["jobs"][0][side];
    let number = |value: &serde_json::Value| value.as_f64().ok_or("fio's output lacks a figure");
    Ok(Figures {
        requests_per_s: number(&side["iops"])?,
        bytes_per_s: number(&side["bw_bytes"])?,
        p50_us: number(&side["lat_ns"]["percentile"]["50.000000"])? / 1e3,
    })
}
