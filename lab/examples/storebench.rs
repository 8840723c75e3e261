//! A fleet of emulated devices: StoreBench and two studies on each, in model time, as documents of brisk.
//!
//! `cargo run --release -p brisk-lab --example storebench -- DIR DEVICES SEED` draws devices from the presets and
//! writes a file of documents for each into DIR, and `devices.tsv` with a line for each: its file, and the model of its
//! machine.
//!
//! A preset is a family of models; a model has its own times of reading, programming and transfer (log-normal, 20 %),
//! and a device differs from its model (8 %). Models of a family are not equally frequent (1, 1/2, 1/3, ...). The
//! spread of published devices is not known model by model, so these are assumptions. Same seed, same fleet.

use std::collections::VecDeque;
use std::error::Error;
use std::path::Path;

use brisk_core::random::Random;
use brisk_core::stats::{Summary, paired_ratio};
use brisk_lab::flash::{Completion, Device, Kind, PAGE_BYTES, Preset, Request, SubmitError};
use serde_json::{Value, json};

const CAPACITY_BYTES: u64 = 256 << 20;
const REGION_PAGES: u64 = 4096;
const REQUESTS: usize = 256;
const REPEATS: u64 = 3;
const DEEP: u64 = 8;
const STREAM_REQUESTS: usize = 64;
const MODELS: usize = 16;

type Any<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Any<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, devices, seed] = arguments.as_slice() else {
        return Err("usage: storebench DIR DEVICES SEED".into());
    };
    let (devices, seed): (u64, u64) = (devices.parse()?, seed.parse()?);
    std::fs::create_dir_all(folder)?;
    // Devices are independent: each processor takes every so many-th.
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    let mut list = std::thread::scope(|scope| {
        let of =
            |first| scope.spawn(move || measured(Path::new(folder), (first..devices).step_by(workers as usize), seed));
        let running: Vec<_> = (0..workers).map(of).collect();
        let joined = running.into_iter().map(|one| one.join().map_err(|_| "a thread panicked")?);
        joined.collect::<Any<Vec<_>>>()
    })?
    .concat();
    list.sort_unstable();
    std::fs::write(Path::new(folder).join("devices.tsv"), list.concat())?;
    Ok(())
}

/// Draws and measures devices, and writes a file for each; gives their lines of the list.
fn measured(folder: &Path, indices: impl Iterator<Item = u64>, seed: u64) -> Any<Vec<String>> {
    let names: Vec<&str> = Preset::builtin_names().into_iter().filter(|name| *name != "pcm").collect();
    let mut lines = Vec::new();
    for index in indices {
        let mut random = Draws(Random(seed ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let family = names[random.0.below(names.len() as u64) as usize];
        let model = random.model();
        let preset = drawn(family, seed, model, &mut random)?;
        let file = format!("{index:06}.json");
        let documents = documents(&preset, family, index, &mut random)?;
        std::fs::write(folder.join(&file), serde_json::to_vec(&documents)?)?;
        lines.push(format!("{file}\t{family} v{:02}\n", model + 1));
    }
    Ok(lines)
}

struct Draws(Random);

impl Draws {
    /// Above 0 and below 1.
    fn unit(&mut self) -> f64 {
        ((self.0.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A log-normal factor with this standard deviation of its logarithm (Box and Muller).
    fn factor(&mut self, deviation: f64) -> f64 {
        let normal = (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos();
        (deviation * normal).exp()
    }

    /// A model of a family: the n-th with weight 1 / n.
    fn model(&mut self) -> usize {
        let whole: f64 = (1..=MODELS).map(|n| 1.0 / n as f64).sum();
        let mut at = self.unit() * whole;
        for n in 1..=MODELS {
            at -= 1.0 / n as f64;
            if at <= 0.0 {
                return n - 1;
            }
        }
        MODELS - 1
    }
}

/// A preset with the times of a model and of a device.
fn drawn(family: &str, seed: u64, model: usize, random: &mut Draws) -> Any<Preset> {
    let mut preset = Preset::builtin(family)?;
    let of_family = family.bytes().fold(seed, |hash, byte| hash.wrapping_mul(1_099_511_628_211) ^ u64::from(byte));
    let mut of_model = Draws(Random(of_family ^ (model as u64).wrapping_mul(0xBF58_476D_1CE4_E5B9)));
    let factors: Vec<f64> = (0..3).map(|_| of_model.factor(0.2) * random.factor(0.08)).collect();
    for parameter in preset.parameters() {
        let Ok(value) = parameter.value.parse::<f64>() else { continue };
        if !parameter.name.ends_with("_us") || value == 0.0 {
            continue;
        }
        let group = match parameter.name {
            name if name.starts_with("read") => 0,
            name if name.starts_with("bus") || name.starts_with("command") || name.starts_with("channel") => 1,
            _ => 2,
        };
        // To the nanosecond, which is the grain of the model.
        preset.set(parameter.name, &format!("{:.3}", value * factors[group]))?;
    }
    Ok(preset)
}

/// A closed loop of one process.
#[derive(Clone, Copy)]
struct Load {
    kind: Kind,
    random: bool,
    depth: u64,
    requests: usize,
}

/// What a load saw: response times in us until all loads had moved their requests, and when it had moved its own.
struct Seen {
    times_us: Vec<f64>,
    done_s: f64,
}

/// Runs the loads at once in model time; each has a region of its own.
fn run(preset: &Preset, loads: &[Load], seed: u64) -> Any<Vec<Seen>> {
    let mut device = Device::new(preset, CAPACITY_BYTES)?;
    let mut random = Random(seed);
    let mut next: Vec<u64> = loads.iter().map(|_| random.below(REGION_PAGES)).collect();
    let mut seen: Vec<Seen> = loads.iter().map(|_| Seen { times_us: Vec::new(), done_s: 0.0 }).collect();
    let mut waiting: VecDeque<(usize, u64)> = VecDeque::new();
    for (index, load) in loads.iter().enumerate() {
        waiting.extend((0..load.depth).map(|_| (index, 0)));
    }
    let mut due: Vec<u64> = Vec::new();
    let (mut now, mut done): (u64, Vec<Completion>) = (0, Vec::new());
    while seen.iter().zip(loads).any(|(seen, load)| seen.times_us.len() < load.requests) {
        while let Some((index, since)) = waiting.front().copied() {
            let load = loads[index];
            let page = if load.random { random.below(REGION_PAGES) } else { next[index] % REGION_PAGES };
            let tag = (due.len() as u64) << 8 | index as u64;
            let offset_bytes = (index as u64 * REGION_PAGES + page) % (CAPACITY_BYTES / PAGE_BYTES) * PAGE_BYTES;
            match device.submit(now, Request { tag, kind: load.kind, offset_bytes, len_bytes: PAGE_BYTES, fua: false })
            {
                Ok(()) => {
                    next[index] += 1;
                    due.push(since);
                    waiting.pop_front();
                }
                Err(SubmitError::Full) => break,
                Err(error) => return Err(error.into()),
            }
        }
        now = device.next_event_ns().ok_or("the device has nothing to do")?;
        device.advance(now, &mut done);
        for completion in done.drain(..) {
            let index = (completion.tag & 0xff) as usize;
            let since = due[(completion.tag >> 8) as usize];
            seen[index].times_us.push((completion.at_ns - since) as f64 / 1e3);
            if seen[index].times_us.len() == loads[index].requests {
                seen[index].done_s = completion.at_ns as f64 / 1e9;
            }
            waiting.push_back((index, completion.at_ns));
        }
    }
    Ok(seen)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn summary(values: &[f64]) -> Any<Summary> {
    Summary::of(values).ok_or_else(|| "no finite values".into())
}

fn latency(mut times_us: Vec<f64>) -> Value {
    times_us.sort_by(f64::total_cmp);
    let at = |percent: f64| times_us[((times_us.len() - 1) as f64 * percent / 100.0).round() as usize];
    json!({
        "count": times_us.len(), "mean_us": mean(&times_us), "latency_us_p50": at(50.0), "latency_us_p95": at(95.0),
        "latency_us_p99": at(99.0), "latency_us_max": at(100.0),
        "percentiles_us": [[0.0, at(0.0)], [50.0, at(50.0)], [99.0, at(99.0)], [100.0, at(100.0)]],
    })
}

const LOADS: [(&str, &str, bool, Kind); 4] = [
    ("sequential", "read", false, Kind::Read),
    ("sequential", "write", false, Kind::Write),
    ("random", "read", true, Kind::Read),
    ("random", "write", true, Kind::Write),
];

fn job(preset: &Preset, load: (&str, &str, bool, Kind), depth: u64, random: &mut Draws) -> Any<Value> {
    let (pattern, direction, is_random, kind) = load;
    let (mut rates, mut all) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let one = Load { kind, random: is_random, depth, requests: REQUESTS };
        let seen = run(preset, &[one], random.0.bits())?.remove(0);
        rates.push(REQUESTS as f64 / seen.done_s);
        all.extend(seen.times_us);
    }
    let bytes: Vec<f64> = rates.iter().map(|rate| rate * PAGE_BYTES as f64).collect();
    Ok(json!({
        "pattern": pattern, "direction": direction, "block_bytes": PAGE_BYTES, "depth_requests": depth,
        "bandwidth_bytes_per_s": summary(&bytes)?, "requests_per_s": summary(&rates)?, "latency": latency(all),
        // In model time the processors have nothing else to do.
        "cpu_us_per_request": 0.0, "iowait_percent": 100.0, "cpu_busy_percent": 0.0,
    }))
}

fn slowdown(preset: &Preset, is_random: bool, streams: u64, random: &mut Draws) -> Any<Value> {
    let mut columns: [Vec<f64>; 4] = Default::default();
    for _ in 0..REPEATS {
        let load = |kind| Load { kind, random: is_random, depth: 1, requests: REQUESTS };
        for (at, kind) in [Kind::Read, Kind::Write].into_iter().enumerate() {
            columns[at].push(mean(&run(preset, &[load(kind)], random.0.bits())?[0].times_us));
        }
        let both: Vec<Load> = (0..streams).flat_map(|_| [load(Kind::Read), load(Kind::Write)]).collect();
        let seen = run(preset, &both, random.0.bits())?;
        for at in 0..2 {
            let of_side: Vec<f64> = seen.iter().skip(at).step_by(2).flat_map(|one| one.times_us.clone()).collect();
            columns[2 + at].push(mean(&of_side));
        }
    }
    let ratio = |at: usize| paired_ratio(&columns[2 + at], &columns[at]).ok_or("no ratio");
    Ok(json!({
        "pattern": if is_random { "random" } else { "sequential" }, "streams": streams,
        "read_alone_us": summary(&columns[0])?, "write_alone_us": summary(&columns[1])?,
        "read_beside_us": summary(&columns[2])?, "write_beside_us": summary(&columns[3])?,
        "read_slowdown": ratio(0)?, "write_slowdown": ratio(1)?,
    }))
}

fn concurrency(preset: &Preset, load: (&str, &str, bool, Kind), streams: u64, random: &mut Draws) -> Any<Value> {
    let (pattern, direction, is_random, kind) = load;
    let one = |requests| Load { kind, random: is_random, depth: 1, requests };
    let (mut serial, mut at_once) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let all = STREAM_REQUESTS * usize::try_from(streams)?;
        serial.push(run(preset, &[one(all)], random.0.bits())?[0].done_s);
        let together: Vec<Load> = (0..streams).map(|_| one(STREAM_REQUESTS)).collect();
        let ends = run(preset, &together, random.0.bits())?.into_iter().map(|seen| seen.done_s);
        at_once.push(ends.fold(0.0, f64::max));
    }
    Ok(json!({
        "pattern": pattern, "direction": direction, "streams": streams, "serial_s": summary(&serial)?,
        "concurrent_s": summary(&at_once)?, "speedup": paired_ratio(&serial, &at_once).ok_or("no ratio")?,
    }))
}

/// Three documents of a device.
fn documents(preset: &Preset, family: &str, index: u64, random: &mut Draws) -> Any<Value> {
    let mut jobs = Vec::new();
    for depth in [1, DEEP] {
        for load in LOADS {
            jobs.push(job(preset, load, depth, random)?);
        }
    }
    let mut rows = Vec::new();
    for is_random in [false, true] {
        for streams in [1, 4] {
            rows.push(slowdown(preset, is_random, streams, random)?);
        }
    }
    let mut points = Vec::new();
    for load in LOADS {
        for streams in [2, 4, 8, 16, 32] {
            points.push(concurrency(preset, load, streams, random)?);
        }
    }
    let stream_bytes = STREAM_REQUESTS as u64 * PAGE_BYTES;
    Ok(json!([
        whole(
            "bench",
            family,
            index,
            json!({
                "budget": "model", "work_bytes": REGION_PAGES * PAGE_BYTES,
                "cache": { "verdict": "direct", "asked_bytes": 0, "device_bytes": 0, "text": "The model has no cache \
                    of a host." },
                "jobs": jobs, "block_sweep": [], "depth_sweep": [], "syncs": [], "verdict": [],
            })
        ),
        whole(
            "slowdown",
            family,
            index,
            json!({ "block_bytes": PAGE_BYTES, "stream_bytes": stream_bytes, "rows": rows })
        ),
        whole(
            "concurrency",
            family,
            index,
            json!({
                "block_bytes": PAGE_BYTES, "stream_bytes": stream_bytes, "points": points, "parameters": [],
            })
        ),
    ]))
}

/// A report with its head: an emulated device of the family.
fn whole(kind: &str, family: &str, index: u64, fields: Value) -> Value {
    let mut report = json!({
        "kind": kind, "schema_version": 1,
        // The days of the published study: nine months.
        "started": format!("2026-{:02}-{:02}T00:00:00Z", 1 + index % 9, 1 + index / 9 % 28),
        "duration_s": 0.0, "io_engine": "model", "seed": index, "written_bytes": 0, "warnings": [],
        "environment": {
            "brisk_version": env!("CARGO_PKG_VERSION"), "kernel": "6.12.0", "architecture": "model", "cpus": 1,
            "path": "/",
            "file_system": null, "mount_options": null,
            "device": {
                "name": "model", "model": null, "size_bytes": 16_000_000_000u64, "rotational": false, "scheduler": null,
                "schedulers_available": [], "queue_depth_requests": null, "read_ahead_kib": null,
                "max_request_kib": null,
                "write_cache": null, "logical_block_bytes": 4096, "lab_preset": family,
            },
        },
    });
    if let (Some(all), Value::Object(fields)) = (report.as_object_mut(), fields) {
        all.extend(fields);
    }
    report
}
