//! The synthetic workload under each policy, beside MARS figures 9 and 10.
//!
//! usage: figures [SEED...]

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use brisk_flash::Preset;
use brisk_swap::{Policy, Settings, SwapIn, Workload, replay};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seeds: Vec<u64> = std::env::args().skip(1).map(|seed| seed.parse()).collect::<Result<_, _>>()?;
    let preset = Preset::builtin("nexus4-emmc")?;
    for seed in if seeds.is_empty() { vec![1] } else { seeds } {
        let trace = Workload::mars(seed).trace()?;
        for (policy, swap_in) in Policy::ALL
            .into_iter()
            .flat_map(|policy| [SwapIn::Window { page_cluster: 3 }, SwapIn::App].map(|swap_in| (policy, swap_in)))
        {
            let outcome = replay(&trace, &preset, &Settings::of(policy).reading(swap_in))?;
            let latencies = &outcome.read_latencies_ns;
            println!(
                "seed {seed} {:8} {swap_in:?} {:6.2} MB/s  read ms mean {:.2} min {:.2} max {:.1} device ms mean {:.2} max {:.1}  read MB {:.0} used MB {:.0} written MB {:.0}  \
                 waited s {:.1}  requests {} adjacent {}  with writes {:.0} %  strays {}  reserve MB {:.0} unknown {}",
                policy.name(),
                outcome.read_bytes_per_s() / 1e6,
                outcome.read_latency_ns_mean().unwrap_or(0.0) / 1e6,
                latencies.first().copied().unwrap_or(0) as f64 / 1e6,
                latencies.last().copied().unwrap_or(0) as f64 / 1e6,
                outcome.read_device_ns_mean().unwrap_or(0.0) / 1e6,
                outcome.read_device_ns.last().copied().unwrap_or(0) as f64 / 1e6,
                outcome.read_pages as f64 * 4096.0 / 1e6,
                outcome.used_pages as f64 * 4096.0 / 1e6,
                outcome.written_pages as f64 * 4096.0 / 1e6,
                outcome.waited_ns() as f64 / 1e9,
                latencies.len(),
                outcome.adjacent_reads,
                100.0 * outcome.reading_with_writes_ns as f64 / outcome.reading_ns.max(1) as f64,
                outcome.strays,
                outcome.reserve_pages_max as f64 * 4096.0 / 1e6,
                outcome.unknown_pages,
            );
        }
    }
    Ok(())
}
