//! Properties of the whole model, over the presets and over arbitrary devices.

mod limits;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use crate::flash::calibration::{Load, Order, simulate};
use crate::flash::raw::{Params, RawRequest};
use crate::flash::{Completion, Device, Fault, Kind, PAGE_BYTES, Preset, Request, Status, SubmitError};

const MIB: u64 = 1 << 20;

/// A request and its arrival.
#[derive(Debug, Clone, Copy)]
struct Step {
    at_ns: u64,
    request: Request,
}

fn device(preset: &str, mib: u64) -> Device {
    Device::new(&Preset::builtin(preset).expect("built in"), mib * MIB).expect("a valid size")
}

fn request(kind: Kind, page: u64, pages: u64) -> Request {
    Request { tag: 0, kind, offset_bytes: page * PAGE_BYTES, len_bytes: pages * PAGE_BYTES, fua: false }
}

/// Submits the steps in order, waiting while the queue is full, and runs the device until it is idle.
fn drive(device: &mut Device, steps: &[Step]) -> Vec<Completion> {
    let mut done = Vec::new();
    for step in steps {
        let mut now = step.at_ns;
        while let Err(error) = device.submit(now, step.request) {
            assert_eq!(error, SubmitError::Full);
            now = now.max(device.next_event_ns().expect("a full device has something to do"));
            device.advance(now, &mut done);
        }
        device.advance(now, &mut done);
    }
    while let Some(next) = device.next_event_ns() {
        device.advance(next, &mut done);
    }
    done
}

/// Steps from a seed: all kinds, short and long, near and far, in bursts and with gaps.
fn steps(seed: u64, count: u64, pages: u64) -> Vec<Step> {
    let mut random = brisk_core::random::Random(seed);
    let mut draw = |n: u64| random.below(n);
    let mut at_ns = 0;
    let mut page = 0;
    (0..count)
        .map(|tag| {
            at_ns += [0, 1_000, 300_000, 20_000_000][draw(4) as usize] + draw(1_000);
            let longest = if draw(4) == 0 { 64 } else { 4 };
            let len = 1 + draw(longest).min(pages - 1);
            page = if draw(2) == 0 && page + len < pages { page } else { draw(pages - len + 1) };
            let kind = [Kind::Read, Kind::Read, Kind::Write, Kind::Write, Kind::Write, Kind::Flush, Kind::Discard]
                [draw(7) as usize];
            let request = Request { tag, fua: draw(8) == 0, ..request(kind, page, len) };
            page += len;
            Step { at_ns, request }
        })
        .collect()
}

/// Any valid device, small enough for garbage collection, merges and full buffers to occur.
fn any_preset() -> impl Strategy<Value = Preset> {
    let shape = (1u32..9, 1u32..9, 0u32..2, 1u32..33, 0u32..2, 0u32..3, 1u32..33);
    let limits = (1u32..5, 1u32..20, 0u32..4, 0u32..40, 2u32..5, 1u32..6, 0u32..101);
    let times = prop::collection::vec(0u64..200_000, 12);
    (shape, limits, times).prop_map(|(shape, limits, times)| {
        let (units, program_pages, program_any, depth, write_cache, mapping, block) = shape;
        let (turn, chunk, suspends, slc, gc, logs, filled) = limits;
        let mut preset = Preset::builtin("galaxy-s5-emmc").expect("built in");
        let counts = [
            ("units", units),
            ("program_pages", program_pages),
            ("queue_depth_requests", depth),
            ("block_pages", program_pages.max(block)),
            ("reads_per_turn", turn),
            ("read_chunk_pages", chunk),
            ("suspends_max", suspends),
            ("slc_pages", slc),
            ("gc_low_blocks", gc),
            ("log_blocks", logs),
            ("filled_percent", filled),
        ];
        // The buffer must be able to hold a whole program.
        preset.set("buffer_pages", &(program_pages + block).to_string()).expect("valid");
        preset.set("block_pages", "64").expect("valid");
        for (name, value) in counts {
            preset.set(name, &value.to_string()).expect("valid");
        }
        preset.set("program_any", &(program_any == 1).to_string()).expect("valid");
        preset.set("write_cache", &(write_cache == 1).to_string()).expect("valid");
        preset.set("mapping", ["page", "log_block", "in_place"][mapping as usize]).expect("valid");
        let names = [
            "command_us",
            "read_lookup_us",
            "bus_page_us",
            "flush_us",
            "read_us",
            "read_next_us",
            "program_us",
            "channel_page_us",
            "stray_us",
            "stray_slice_us",
            "suspend_us",
            "slc_program_us",
        ];
        for (name, ns) in names.iter().zip(times) {
            preset.set(name, &format!("{}", ns as f64 / 1e3)).expect("valid");
        }
        preset
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_request_finishes_once_and_not_before_it_arrived(preset in any_preset(), seed: u64) {
        let mut device = Device::new(&preset, MIB).expect("valid");
        let steps = steps(seed, 300, 256);
        let done = drive(&mut device, &steps);
        let arrived: BTreeMap<u64, u64> = steps.iter().map(|s| (s.request.tag, s.at_ns)).collect();
        let mut seen = BTreeSet::new();
        for completion in &done {
            prop_assert!(seen.insert(completion.tag), "{completion:?} came twice");
            prop_assert!(completion.at_ns >= arrived[&completion.tag]);
            prop_assert_eq!(completion.status, Status::Ok);
        }
        prop_assert_eq!(done.len(), steps.len());
        prop_assert!(done.is_sorted_by_key(|c| c.at_ns));
        prop_assert_eq!(device.in_flight(), 0);
        prop_assert_eq!(device.next_event_ns(), None);
        // Idle: all writes have been programmed, so nothing is at risk.
        prop_assert!((0..256).all(|page| !device.is_volatile(page)));
    }

    #[test]
    fn the_same_requests_give_the_same_times(preset in any_preset(), seed: u64) {
        let steps = steps(seed, 200, 256);
        let mut first = Device::new(&preset, MIB).expect("valid");
        let mut second = Device::new(&preset, MIB).expect("valid");
        prop_assert_eq!(drive(&mut first, &steps), drive(&mut second, &steps));
        prop_assert_eq!(first.counters(), second.counters());
    }

    #[test]
    fn what_was_flushed_is_never_at_risk(preset in any_preset(), seed: u64, cut_seed: u64, count in 1u64..200) {
        let mut device = Device::new(&preset, MIB).expect("valid");
        let mut done = Vec::new();
        let steps = steps(seed, count, 256);
        let mut arrived_ns = BTreeMap::new();
        for step in &steps {
            let mut now = step.at_ns.max(device.now_ns());
            while device.submit(now, step.request).is_err() {
                now = now.max(device.next_event_ns().expect("busy"));
                device.advance(now, &mut done);
            }
            arrived_ns.insert(step.request.tag, now);
            device.advance(now, &mut done);
        }
        // The power fails in the middle of the last requests.
        let lost = device.power_cut(device.now_ns() + seed % 400_000, cut_seed);
        let finished_ns: BTreeMap<u64, u64> = done.iter().map(|c| (c.tag, c.at_ns)).collect();
        let finished = |s: &&Step| finished_ns.contains_key(&s.request.tag);
        let flushes = steps.iter().filter(|s| s.request.kind == Kind::Flush);
        let last_flush_ns = flushes.filter(finished).map(|s| arrived_ns[&s.request.tag]).max();
        for page in lost {
            let touches = |s: &&Step| {
                let first = s.request.offset_bytes / PAGE_BYTES;
                s.request.kind == Kind::Write && (first..first + s.request.len_bytes / PAGE_BYTES).contains(&page)
            };
            let last = steps.iter().rfind(touches).expect("only what was written can be lost");
            let Some(&at_ns) = finished_ns.get(&last.request.tag) else { continue };
            prop_assert!(!last.request.fua && preset.write_cache(), "page {page} was durable when its write finished");
            prop_assert!(last_flush_ns.is_none_or(|flush_ns| at_ns > flush_ns), "page {page} was flushed");
        }
        prop_assert_eq!(device.in_flight(), 0);
        prop_assert_eq!(device.next_event_ns(), None);
    }

    #[test]
    fn times_may_change_at_any_instant(preset in any_preset(), seed: u64) {
        let mut device = Device::new(&preset, MIB).expect("valid");
        let mut finished = Vec::new();
        let mut changed = preset.clone();
        for (i, step) in steps(seed, 120, 256).iter().enumerate() {
            let mut now = step.at_ns.max(device.now_ns());
            while device.submit(now, step.request).is_err() {
                now = now.max(device.next_event_ns().expect("busy"));
                device.advance(now, &mut finished);
            }
            let name = ["stray_slice_us", "stray_us", "program_us", "suspend_us", "read_chunk_pages"][i % 5];
            changed.set(name, if i % 2 == 0 { "1" } else { "7" }).expect("valid");
            if name != "read_chunk_pages" && i % 3 == 0 {
                changed.set(name, "0").expect("valid");
            }
            device.reconfigure(&changed).expect("times only");
        }
        while let Some(next) = device.next_event_ns() {
            device.advance(next, &mut finished);
        }
        prop_assert_eq!(finished.len(), 120);
    }
}

#[test]
fn rust_and_c_give_the_same_times_byte_for_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let harness = folder.path().join("harness");
    let built = Command::new("cc")
        .args(["-std=c11", "-O1", "-I"])
        .arg(here.join("src/flash/c"))
        .args(["core.c", "setup.c", "buffer.c", "mapping.c"].map(|file| here.join("src/flash/c").join(file)))
        .arg(here.join("tests/harness.c"))
        .arg("-o")
        .arg(&harness)
        .status()
        .expect("a C compiler, which the crate needs anyway");
    assert!(built.success());
    for (i, name) in Preset::builtin_names().into_iter().enumerate() {
        let preset = Preset::builtin(name).expect("built in");
        let params = preset.raw(4096).expect("valid");
        let steps = steps(i as u64, 3_000, 4096);
        let mut bytes = as_bytes(&params).to_vec();
        for step in &steps {
            let raw = RawRequest {
                tag: step.request.tag,
                page: if step.request.kind == Kind::Flush { 0 } else { step.request.offset_bytes / PAGE_BYTES },
                pages: if step.request.kind == Kind::Flush { 0 } else { (step.request.len_bytes / PAGE_BYTES) as u32 },
                op: step.request.kind as u32,
                fua: u32::from(step.request.fua),
                reserved: 0,
            };
            bytes.extend_from_slice(&step.at_ns.to_ne_bytes());
            bytes.extend_from_slice(as_bytes(&raw));
        }
        let script = folder.path().join(name);
        std::fs::write(&script, bytes).expect("a script");
        let c = Command::new(&harness).arg(&script).output().expect("the harness runs");
        assert!(c.status.success(), "{name}: {:?}", c.status);

        let mut device = Device::new(&preset, 4096 * PAGE_BYTES).expect("valid");
        let mut rust = String::new();
        for completion in drive(&mut device, &steps) {
            writeln!(rust, "{} {} {}", completion.tag, completion.at_ns, completion.status as u32).expect("a string");
        }
        writeln!(rust, "energy {}", device.counters().energy_nj).expect("a string");
        assert_eq!(String::from_utf8_lossy(&c.stdout), rust, "{name}");
    }
}

#[test]
fn the_core_needs_no_library_and_compiles_without_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/flash/c");
    for name in ["core", "setup", "buffer", "mapping"] {
        let object = folder.path().join(name);
        let built = Command::new("cc")
            .args(["-std=c11", "-ffreestanding", "-O2", "-Werror", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion"])
            .args(["-Wno-sign-conversion", "-c"])
            .arg(here.join(format!("{name}.c")))
            .arg("-o")
            .arg(&object)
            .output()
            .expect("a C compiler, which the crate needs anyway");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let symbols = Command::new("nm").arg("-u").arg(&object).output().expect("nm comes with the compiler");
        let foreign: Vec<String> = String::from_utf8_lossy(&symbols.stdout)
            .split_whitespace()
            .filter(|word| *word != "U" && !word.starts_with("bf_") && *word != "_GLOBAL_OFFSET_TABLE_")
            .map(str::to_owned)
            .collect();
        // The compiler may generate calls of these two functions, which kernels have.
        assert!(foreign.iter().all(|f| f == "memcpy" || f == "memset"), "{name}.c needs {foreign:?}");
    }
}

fn as_bytes<T>(value: &T) -> &[u8] {
    // SAFETY: both types handed in are plain integers without padding but at the end, which was zeroed or is not read.
    unsafe { std::slice::from_raw_parts((&raw const *value).cast(), size_of::<T>()) }
}

#[test]
fn params_have_no_hidden_padding_but_the_last_word() {
    assert_eq!(size_of::<Params>() % 8, 0);
    assert_eq!(size_of::<RawRequest>(), 32);
}

fn sync(kind: Kind, order: Order, total_mib: u64) -> Load {
    Load {
        kind,
        order,
        record_bytes: 4096,
        outstanding: 1,
        region_start: 0,
        region_bytes: 64 * MIB,
        total_bytes: total_mib * MIB,
    }
}

#[test]
fn rewriting_a_full_device_collects_garbage_and_amplifies_writes() {
    let mut preset = Preset::builtin("emmc-5.1").expect("built in");
    preset.set("filled_percent", "100").expect("valid");
    preset.set("block_pages", "64").expect("valid");
    let mut device = Device::new(&preset, 64 * MIB).expect("valid");
    let _ = simulate(&mut device, &[sync(Kind::Write, Order::Scattered, 256)], 1);
    let counters = device.counters();
    assert!(counters.erases > 0 && counters.pages_moved > 0, "{counters:?}");

    // With sequential rewrites a block is entirely stale when it is collected: nothing to move.
    let mut device = Device::new(&preset, 64 * MIB).expect("valid");
    let sequential = Load { record_bytes: 128 * 1024, ..sync(Kind::Write, Order::Sequential, 256) };
    let _ = simulate(&mut device, &[sequential], 1);
    assert!(device.counters().pages_moved * 20 < counters.pages_moved, "{:?}", device.counters());
}

#[test]
fn discarded_pages_need_no_moving() {
    let mut preset = Preset::builtin("emmc-5.1").expect("built in");
    preset.set("filled_percent", "100").expect("valid");
    preset.set("block_pages", "64").expect("valid");
    let moved = |discard: bool| {
        let mut device = Device::new(&preset, 64 * MIB).expect("valid");
        if discard {
            let half = request(Kind::Discard, 8192, 8192);
            drive(&mut device, &[Step { at_ns: 0, request: half }]);
        }
        let load = Load { region_bytes: 32 * MIB, ..sync(Kind::Write, Order::Scattered, 128) };
        let _ = simulate(&mut device, &[load], 1);
        device.counters().pages_moved
    };
    assert!(moved(true) * 4 < moved(false), "{} against {}", moved(true), moved(false));
}

#[test]
fn the_fast_cache_fills_and_empties_in_quiet_times() {
    let mut preset = Preset::builtin("ufs-3.1").expect("built in");
    preset.set("slc_pages", "4096").expect("valid");
    let mut device = Device::new(&preset, 256 * MIB).expect("valid");
    let write = |mib| Load { record_bytes: 128 * 1024, ..sync(Kind::Write, Order::Sequential, mib) };
    let fresh = simulate(&mut device, &[write(12)], 1)[0].bytes_per_s();
    let full = simulate(&mut device, &[write(64)], 1)[0].bytes_per_s();
    // Ten quiet seconds.
    let later = device.now_ns() + 10_000_000_000;
    device.advance(later, &mut Vec::new());
    let rested = simulate(&mut device, &[write(12)], 1)[0].bytes_per_s();
    assert!(fresh > 1.8 * full && rested > 1.8 * full, "{fresh} {full} {rested}");
}

#[test]
fn a_read_passes_a_suspended_program() {
    let slowest_read = |suspends: &str| {
        let mut preset = Preset::builtin("ufs-3.1").expect("built in");
        preset.set("suspends_max", suspends).expect("valid");
        preset.set("units", "1").expect("valid");
        let mut device = Device::new(&preset, 64 * MIB).expect("valid");
        let reader = sync(Kind::Read, Order::Scattered, 1);
        let writer = Load { outstanding: 4, ..sync(Kind::Write, Order::Scattered, 1) };
        simulate(&mut device, &[reader, writer], 1)[0].mean_ms()
    };
    assert!(slowest_read("4") * 2.0 < slowest_read("0"), "{} {}", slowest_read("4"), slowest_read("0"));
}

#[test]
fn without_a_cache_a_write_completes_when_it_is_durable() {
    let mut preset = Preset::builtin("galaxy-s5-emmc").expect("built in");
    let one_write = |preset: &Preset, fua: bool| {
        let mut device = Device::new(preset, MIB).expect("valid");
        let request = Request { fua, ..request(Kind::Write, 0, 1) };
        device.submit(0, request).expect("a free queue slot");
        let mut done = Vec::new();
        while done.is_empty() {
            let next = device.next_event_ns().expect("busy");
            device.advance(next, &mut done);
        }
        (done[0].at_ns, device.is_volatile(0))
    };
    let (cached_ns, at_risk) = one_write(&preset, false);
    let (fua_ns, fua_at_risk) = one_write(&preset, true);
    assert!(at_risk && !fua_at_risk && fua_ns >= cached_ns + 380_000, "{cached_ns} {fua_ns}");
    preset.set("write_cache", "false").expect("valid");
    assert_eq!(one_write(&preset, false), (fua_ns, false));
}

#[test]
fn a_flush_waits_for_what_was_written_before_it() {
    let mut device = device("galaxy-s5-emmc", 1);
    let write = Step { at_ns: 0, request: request(Kind::Write, 0, 8) };
    // The write completes in the buffer after 142 us.
    let flush = Step { at_ns: 150_000, request: Request { tag: 9, ..request(Kind::Flush, 0, 0) } };
    let done = drive(&mut device, &[write, flush]);
    // Four programs of two pages, then the commit.
    assert_eq!(done[1].tag, 9);
    assert!(done[1].at_ns > 4 * 380_000 + 1_000_000, "{done:?}");
}
