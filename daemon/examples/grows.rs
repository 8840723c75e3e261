//! An app that takes memory, for tests: `grows MIB MIB_PER_S [GRACE_MS]`. It begins at the end of its input, takes so
//! much memory at that rate, and keeps it. SIGTERM ends it after the grace time, at once without one.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;
const PAGE_BYTES: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers = std::env::args().skip(1).map(|word| word.parse());
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>()?;
    let [size_mib, mib_per_s, ref rest @ ..] = numbers[..] else {
        return Err(
            "grows MIB MIB_PER_S [GRACE_MS]: how much memory it takes, how fast, and when it ends after SIGTERM".into(),
        );
    };
    let asked = Arc::new(AtomicBool::new(false));
    if let [grace_ms, ..] = *rest {
        signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&asked))?;
        std::thread::spawn(move || {
            while !asked.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(grace_ms));
            std::process::exit(0);
        });
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let begun = Instant::now();
    let mut taken: Vec<Vec<u8>> = Vec::new();
    for mib in 0..size_mib {
        let due = Duration::from_millis(mib * 1_000 / mib_per_s.max(1));
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        let mut more = vec![0; MIB];
        more.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = 1);
        taken.push(more);
    }
    std::hint::black_box(&taken);
    loop {
        std::thread::park();
    }
}
