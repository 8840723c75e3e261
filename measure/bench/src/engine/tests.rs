use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::*;
use crate::address::Region;
use crate::load::{End, Requests};
use crate::results::{Direction, Pattern};

const FILE_BYTES: u64 = 4 << 20;

/// Both engines, or only plain calls where the kernel has no io_uring.
fn engines() -> Vec<Engine> {
    let mut engines = vec![Engine::choose(Some(EngineKind::Calls)).expect("always there")];
    match Engine::choose(Some(EngineKind::IoUring)) {
        Ok(engine) => engines.push(engine),
        Err(why) => eprintln!("only plain calls are tested: {why}"),
    }
    engines
}

fn file_of_zeros() -> File {
    let file = tempfile::tempfile().expect("a file");
    file.set_len(FILE_BYTES).expect("free space");
    file.write_all_at(&vec![0; FILE_BYTES as usize], 0).expect("free space");
    file
}

fn load(pattern: Pattern, direction: Direction, depth_requests: u32) -> Load {
    let end = End::after_requests(FILE_BYTES / 4096);
    Load { depth_requests, seed: 11, end, ..Load::plain(pattern, direction, 4096, Region::first(FILE_BYTES)) }
}

fn go() -> AtomicBool {
    AtomicBool::new(false)
}

/// The address in a sector's stamp.
fn stamped_address(sector: &[u8]) -> u64 {
    u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"))
}

#[test]
fn each_engine_writes_every_block_to_its_address() {
    for engine in engines() {
        for (pattern, depth) in
            [(Pattern::Sequential, 1), (Pattern::Random, 1), (Pattern::Random, 32), (Pattern::Sequential, 7)]
        {
            let file = file_of_zeros();
            let outcome = engine.run(file.as_fd(), &load(pattern, Direction::Write, depth), &go()).expect("written");
            assert_eq!((outcome.writes.count(), outcome.reads.count()), (FILE_BYTES / 4096, 0));
            let mut content = vec![0; FILE_BYTES as usize];
            file.read_exact_at(&mut content, 0).expect("read back");
            for (index, sector) in content.chunks(512).enumerate() {
                assert_eq!(stamped_address(sector), index as u64 * 512, "{engine:?} {pattern:?} depth {depth}");
                assert!(sector[16..].iter().any(|b| *b != 0), "a sector holds no noise");
            }
        }
    }
}

#[test]
fn both_engines_write_the_same_sectors() {
    // Stamps depend on address and number alone, so equal loads leave equal stamps with both engines.
    let stamps = |engine: &Engine| -> HashMap<u64, [u8; 16]> {
        let file = file_of_zeros();
        let load = Load { end: End::after_requests(300), ..load(Pattern::Random, Direction::Write, 8) };
        engine.run(file.as_fd(), &load, &go()).expect("written");
        let mut content = vec![0; FILE_BYTES as usize];
        file.read_exact_at(&mut content, 0).expect("read back");
        (0u64..).zip(content.chunks(512)).map(|(i, s)| (i, s[..16].try_into().expect("sixteen"))).collect()
    };
    let all: Vec<_> = engines().iter().map(stamps).collect();
    assert!(all.windows(2).all(|w| w[0] == w[1]));
}

#[test]
fn reads_and_writes_of_a_mix_keep_to_their_regions_and_share() {
    for engine in engines() {
        let file = file_of_zeros();
        let half = FILE_BYTES / 2;
        let mix = Load {
            read_percent: 30,
            reads: Region::first(half),
            writes: Region { start_bytes: half, len_bytes: half },
            ..load(Pattern::Random, Direction::Read, 16)
        };
        let mix = Load { end: End::after_requests(500), ..mix };
        let outcome = engine.run(file.as_fd(), &mix, &go()).expect("run");
        assert_eq!((outcome.reads.count(), outcome.writes.count()), (150, 350), "{engine:?}");
        let mut content = vec![0; FILE_BYTES as usize];
        file.read_exact_at(&mut content, 0).expect("read back");
        assert!(content[..half as usize].iter().all(|b| *b == 0), "a write left its region");
        assert!(content[half as usize..].iter().any(|b| *b != 0));
    }
}

#[test]
fn durable_writes_reach_their_addresses_by_each_engine() {
    for engine in engines() {
        let file = file_of_zeros();
        let load = Load { durable_every_writes: 3, streams: 2, ..load(Pattern::Sequential, Direction::Write, 4) };
        assert_eq!(engine.run(file.as_fd(), &load, &go()).expect("written").writes.count(), FILE_BYTES / 4096);
        let mut content = vec![0; FILE_BYTES as usize];
        file.read_exact_at(&mut content, 0).expect("read back");
        for (index, sector) in content.chunks(512).enumerate() {
            assert_eq!(stamped_address(sector), index as u64 * 512, "{engine:?}");
        }
    }
}

#[test]
fn a_run_ends_at_its_first_limit() {
    for engine in engines() {
        let file = file_of_zeros();
        let base = load(Pattern::Random, Direction::Read, 4);
        let by_time = Load { end: End::after_time(Duration::from_millis(5)), ..base.clone() };
        let outcome = engine.run(file.as_fd(), &by_time, &go()).expect("run");
        assert!(outcome.requests() > 0 && outcome.wall_ns >= 5_000_000, "{outcome:?}");
        let both = Load { end: End { requests: Some(3), time: Some(Duration::from_secs(3600)) }, ..base };
        assert_eq!(engine.run(file.as_fd(), &both, &go()).expect("run").requests(), 3);
    }
}

#[test]
fn a_raised_stop_flag_ends_an_endless_run() {
    for engine in engines() {
        let file = file_of_zeros();
        let endless = Load { end: End::default(), ..load(Pattern::Sequential, Direction::Read, 8) };
        let outcome = engine.run(file.as_fd(), &endless, &AtomicBool::new(true)).expect("run");
        // Requests in flight complete; no new ones are issued.
        assert!(outcome.requests() <= 8);
    }
}

#[test]
fn a_failed_request_is_named_with_its_address() {
    for engine in engines() {
        let file = File::open("/dev/null").expect("there");
        let error = engine.run(file.as_fd(), &load(Pattern::Sequential, Direction::Read, 4), &go()).expect_err("empty");
        assert!(matches!(error, Error::Short { operation: "read", moved_bytes: 0, .. }), "{engine:?}: {error}");
        let error = engine.run(file.as_fd(), &load(Pattern::Sequential, Direction::Write, 4), &go()).expect_err("ro");
        assert!(matches!(error, Error::Request { operation: "write", .. }), "{engine:?}: {error}");
    }
}

#[test]
fn impossible_loads_never_reach_the_kernel() {
    for engine in engines() {
        let file = file_of_zeros();
        for bad in [
            Load { depth_requests: 0, ..load(Pattern::Random, Direction::Read, 1) },
            Load { depth_requests: 5000, ..load(Pattern::Random, Direction::Read, 1) },
            Load { block_bytes: 0, ..load(Pattern::Random, Direction::Read, 1) },
        ] {
            assert!(matches!(engine.run(file.as_fd(), &bad, &go()), Err(Error::BadLoad(_))));
        }
    }
}

#[test]
fn the_description_shows_that_plain_calls_were_requested() {
    assert_eq!(Engine::choose(Some(EngineKind::Calls)).expect("always").description(), "calls (as asked)");
    assert!(Requests::new(&load(Pattern::Random, Direction::Read, 1)).at(0).offset_bytes < FILE_BYTES);
}
