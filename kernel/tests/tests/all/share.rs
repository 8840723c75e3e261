//! The policy with whole loads: an endless reader with concurrent endless writers, on a device that does one request at
//! a time, in simulated time.

use brisk_kernel_tests::smartio::*;

const READ_NS: u64 = 80_000;
const PAUSE_NS: u64 = 15_000;
const WRITE_NS: u64 = 400_000;
const SLICE_NS: u64 = 100_000_000;
const HOLD_MAX_NS: u64 = 1_000_000;

#[derive(Clone, Copy)]
enum Cache {
    None,
    Volatile,
}

struct Outcome {
    reads: u64,
    writes: u64,
    longest_wait_ns: u64,
    seconds: f64,
}

/// `waiting` writes are always queued; the reader reads again a pause after each read.
fn run(cache: Cache, share: u32, waiting: usize, reader: bool, seconds: u64) -> Outcome {
    let burst = match cache {
        Cache::None => 0,
        Cache::Volatile => BURST_NS,
    };
    let (mut now, end) = (1_000_000_000_u64, 1_000_000_000 + seconds * 1_000_000_000);
    let mut queued = vec![now; waiting];
    let (mut debt, mut at, mut is_spent, mut due_at) = (0, now, false, 0);
    let mut behind = false;
    let (mut hold_until, mut hits, mut pause, mut next_read) = (0, 0, 0, now);
    let mut outcome = Outcome { reads: 0, writes: 0, longest_wait_ns: 0, seconds: seconds as f64 };
    while now < end {
        let reading = reader && next_read <= now;
        let oldest = queued[0];
        let share_now = share_percent(share, now - oldest, SLICE_NS);
        debt = debt_ns(debt, now - at, share_now);
        at = now;
        is_spent = spent(is_spent, debt, share_now, WRITE_NS, burst);
        let view = View {
            now_ns: now,
            age_ns: now - oldest,
            slice_ns: SLICE_NS,
            hold_until_ns: hold_until,
            awaited_until_ns: 0,
            due_at_ns: if reading || hold_until > now { due_at } else { 0 },
            spent: is_spent,
            behind,
            few: false,
            debt_ns: debt,
            share_percent: share_now,
            reads_waiting: u32::from(reading),
            reads_in_flight: 0,
            writes_in_flight: 0,
            cap: 1,
            cap_alone: 4,
            kind: Kind::Bulk,
        };
        let verdict = judge(&view);
        behind = burst == 0 && verdict == Verdict::WaitShare && !reading;
        // A read goes first; an expired write follows it.
        if reading {
            now += READ_NS;
            outcome.reads += 1;
            if outcome.reads > 1 {
                hits = learn_hits(hits, PAUSE_NS, HOLD_MAX_NS);
                pause = mean(pause, PAUSE_NS);
            }
            hold_until = now + hold_ns(pause, hits, HOLD_MAX_NS);
            next_read = now + PAUSE_NS;
        }
        if verdict == Verdict::Go {
            if reader {
                debt += WRITE_NS;
            }
            if now >= due_at && now - oldest >= SLICE_NS {
                due_at = now + due_ns(WRITE_NS, share, SLICE_NS);
            }
            now += WRITE_NS;
            outcome.longest_wait_ns = outcome.longest_wait_ns.max(now - oldest);
            outcome.writes += 1;
            queued.remove(0);
            queued.push(now);
        } else if !reading {
            let wake = wake_ns(&view, verdict);
            now = if reader { wake.min(next_read).max(now + 1) } else { wake };
        }
    }
    outcome
}

#[test]
fn writes_get_their_share_under_endless_reads() {
    for (cache, share) in [Cache::None, Cache::Volatile].into_iter().flat_map(|c| [10, 25, 50, 75].map(|s| (c, s))) {
        // One write at a time: none expires, so that only the share matters.
        let outcome = run(cache, share, 1, true, 20);
        let got = outcome.writes as f64 * WRITE_NS as f64 / 1e9 / outcome.seconds * 100.0;
        let wanted = f64::from(share);
        assert!(got > wanted * 0.85 && got < wanted * 1.1 + 1.0, "share {share}: writes got {got:.1} percent");
        assert!(outcome.reads > 1000, "{} reads", outcome.reads);
    }
}

#[test]
fn no_write_waits_longer_than_its_slice_and_earlier_writes() {
    for (cache, waiting) in [Cache::None, Cache::Volatile].into_iter().flat_map(|c| [1, 8, 64].map(|w| (c, w))) {
        let outcome = run(cache, 1, waiting, true, 20);
        let bound = SLICE_NS + (waiting as u64 + 1) * (WRITE_NS + READ_NS);
        assert!(outcome.longest_wait_ns <= bound, "{waiting} waiting: {} ms", outcome.longest_wait_ns / 1_000_000);
        assert!(outcome.writes > 0);
    }
}

#[test]
fn more_writes_than_the_device_handles_in_a_slice_leave_half_of_it_to_reads() {
    for (cache, waiting) in [Cache::None, Cache::Volatile].into_iter().flat_map(|c| [300, 1000].map(|w| (c, w))) {
        let outcome = run(cache, 10, waiting, true, 20);
        let got = outcome.writes as f64 * WRITE_NS as f64 / 1e9 / outcome.seconds * 100.0;
        assert!((45.0..55.0).contains(&got), "{waiting} waiting: writes got {got:.1} percent");
    }
}

#[test]
fn without_reads_writes_use_the_whole_device() {
    let outcome = run(Cache::Volatile, 1, 8, false, 2);
    assert!(outcome.writes as f64 * WRITE_NS as f64 / 1e9 > 0.999 * outcome.seconds);
}

#[test]
fn a_smaller_write_share_gives_more_reads() {
    for cache in [Cache::None, Cache::Volatile] {
        let reads = [5, 20, 40, 80].map(|share| run(cache, share, 1, true, 10).reads);
        assert!(reads.windows(2).all(|pair| pair[0] > pair[1]), "{reads:?}");
    }
}
