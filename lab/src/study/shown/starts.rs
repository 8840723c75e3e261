//! Starts of a phone in virtual time: what each counted, and what brisk's trials had found by its end.

use brisk_report::declare::*;
use brisk_report::format::shorten;
use brisk_report::measures::{self, Dimension, dimension};

use crate::results::{PhoneFacts, VirtualStart, VirtualTrial};

const SEED: Dimension = dimension("seed");
const SUBJECT: Dimension = dimension("tried on");
const TRIED: Dimension = dimension("tried engine");
const DRIVER_LATE: Measure = measures::shown("flash late", unit::US);
const PAIRS: Measure = measures::shown("pairs", unit::TALLY);
const PHASE: Measure = measures::words("phase");
const RATIO: Measure = measures::shown("with / held out", unit::TIMES);
const RATIO_HIGH: Measure = measures::shown("at most", unit::TIMES);
const RATIO_LOW: Measure = measures::shown("at least", unit::TIMES);
const REFAULTED: Measure = measures::shown("refaulted", unit::BYTES);
const SERVICE_CPU: Measure = measures::shown("processor of briskd", unit::MS);
const SERVICE_PEAK: Measure = measures::shown("memory of briskd", unit::BYTES);
const SWAPPED_OUT: Measure = measures::shown("swapped out", unit::BYTES);
const UP: Measure = measures::shown("virtual time", unit::S);
const WAITED_IO: Measure = measures::shown("waited for storage", unit::MS);
const WAITED_MEMORY: Measure = measures::shown("waited for memory", unit::MS);

/// Bytes of a page of memory.
const PAGE_BYTES: f64 = 4_096.0;

/// Nothing for a phone that is a part of this machine.
pub(crate) fn figure(phone: &PhoneFacts) -> Figure {
    let starts = phone.virtual_time.as_ref().map(|of| of.starts.as_slice()).unwrap_or_default();
    let rows: Vec<Row> = starts.iter().map(start).collect();
    let trials = |of: &VirtualStart| -> Vec<Row> {
        let name = name(of);
        of.trials.iter().map(|one| trial(&name, of.seed, one)).collect()
    };
    let trials: Vec<Row> = starts.iter().flat_map(trials).collect();
    Figure::new(
        "Starts of the phone",
        "What each start counted from boot to end: waiting is the time in which any task waited (PSI), lateness that \
         of the flash's model.",
    )
    .table(
        Table::of(
            "Starts",
            &rows,
            columns![
                CONDITION,
                SEED,
                UP,
                WAITED_IO,
                WAITED_MEMORY,
                SWAPPED_OUT,
                REFAULTED,
                SERVICE_CPU,
                SERVICE_PEAK,
                DRIVER_LATE
            ],
        )
        .dispensable(columns![SEED, REFAULTED, SERVICE_PEAK, DRIVER_LATE]),
    )
    .table(
        Table::of(
            "Trials",
            &trials,
            columns![CONDITION, SEED, TRIED, SUBJECT, PHASE, PAIRS, RATIO, RATIO_LOW, RATIO_HIGH],
        )
        .dispensable(columns![SEED])
        .noted("What brisk trial told at the end of each start."),
    )
}

fn name(of: &VirtualStart) -> String {
    shorten(&super::sets::label_words(of.name.trim()), 60)
}

fn start(of: &VirtualStart) -> Row {
    let counted = |name: &str| of.counters.get(name).copied();
    let refaulted = ["workingset_refault_anon", "workingset_refault_file"].map(counted);
    Row::at(CONDITION, name(of))
        .by(SEED, of.seed.to_string())
        .put(UP, counted("uptime_s"))
        .put(WAITED_IO, counted("waited_io_us").map(|us| us / 1e3))
        .put(WAITED_MEMORY, counted("waited_memory_us").map(|us| us / 1e3))
        .put(SWAPPED_OUT, counted("pswpout").map(|pages| pages * PAGE_BYTES))
        .put(REFAULTED, refaulted[0].zip(refaulted[1]).map(|(a, b)| (a + b) * PAGE_BYTES))
        .put(SERVICE_CPU, counted("briskd_cpu_ns").map(|ns| ns / 1e6))
        .put(SERVICE_PEAK, counted("briskd_peak_kib").map(|kib| kib * 1024.0))
        .put(DRIVER_LATE, counted("flash_lateness_mean_ns").map(|ns| ns / 1e3))
}

fn trial(start: &str, seed: u64, of: &VirtualTrial) -> Row {
    Row::at(CONDITION, start)
        .by(SEED, seed.to_string())
        .by(TRIED, shorten(of.engine.trim(), 40))
        .by(SUBJECT, shorten(of.subject.trim(), 60))
        .put(PHASE, shorten(of.phase.trim(), 40))
        .put(PAIRS, of.pairs)
        .put(RATIO, of.ratio)
        .put(RATIO_LOW, of.ratio_low)
        .put(RATIO_HIGH, of.ratio_high)
}
