//! How much of what is swapped goes to zram, and how much to flash.
//!
//! zram reads back at the speed of a processor, but keeps its compressed data in memory: to free as much, more pages have to go out,
//! and at last hot ones. So there is a best split, from measured speeds and the measured compression. What is compared is the time that
//! a return spends on reading:
//!
//! ```text
//! free F = zram (1 - 1/ratio) + flash            out = zram + flash
//! hot pages out  = out - cold, not below 0       to zram where it is faster, else to flash, in sequence
//! cold pages out = the rest                      read with the chance `miss`, from flash at random
//! cost = sum over both of (bytes read x time per byte)
//! ```
//!
//! Cost is linear in the size of zram between points where it bends, so that the least is at one of them; zram alone and flash
//! alone are among them: the result is never worse than either (of those that can free that much).
//!
//! No command takes sizes from this yet: before there is a zram device, its compression is not measured. A kernel without changes fills zram first and flash when that is full; with
//! writeback of zram, what is idle there goes to flash.
//!
//! Properties: `the_split_is_never_worse_than_either_alone`; `no_other_split_is_better`; `incompressible_memory_goes_to_flash`.

use serde::{Deserialize, Serialize};

/// What was measured of a device and its memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Speeds {
    /// Size of data over its size in zram, that of zram's own tables included.
    pub ratio: f64,
    /// Time to read a byte from zram.
    pub zram_ns_per_byte: f64,
    /// Time to read a byte from flash in sequence.
    pub sequential_ns_per_byte: f64,
    /// Time to read a byte from flash, one random page at a time.
    pub random_ns_per_byte: f64,
}

/// What is to be freed, and from which pages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Memory that is to be freed.
    pub free_bytes: u64,
    /// Memory of background apps that returns hardly touch.
    pub cold_bytes: u64,
    /// Memory of background apps that returns touch.
    pub hot_bytes: u64,
    /// Share of the cold memory that a return touches all the same, from 0 to 1.
    pub miss: f64,
}

/// How swap is split.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// What goes to zram, before compression.
    pub zram_bytes: u64,
    /// What goes to flash.
    pub flash_bytes: u64,
    /// Time that reading all that returns touch takes.
    pub cost_ns: f64,
}

/// The split of least cost; of equal ones that with the smallest zram. `None` when there are too few pages to free that much.
#[must_use]
pub fn split(speeds: &Speeds, demand: &Demand) -> Option<Split> {
    // Share of a page in zram that is freed; of incompressible memory nothing.
    let gain = (1.0 - 1.0 / speeds.ratio).max(0.0);
    let (free, cold) = (demand.free_bytes as f64, demand.cold_bytes as f64);
    let hot = demand.hot_bytes as f64;
    // Zram alone, or as much as there are pages for; both are 0 or less where flash has to take all.
    let alone = if gain > 0.0 { free / gain } else { 0.0 };
    let all_out = (cold + hot - free) / (1.0 - gain).max(f64::EPSILON);
    let most = alone.min(all_out).max(0.0);
    // Bends: hot pages begin to go out; zram, or flash, holds just the hot pages that are out.
    let begins = (cold - free) / (1.0 - gain).max(f64::EPSILON);
    let holds_hot = if gain > 0.0 { (free - cold) / gain } else { 0.0 };
    let bends = [0.0, begins, holds_hot, cold, most];
    let candidates = bends.into_iter().filter(|zram| (0.0..=most).contains(zram));
    let costs = candidates.filter_map(|zram| Some((zram, cost_ns(speeds, demand, zram)?)));
    let best = costs.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.total_cmp(&b.0)));
    best.map(|(zram, cost_ns)| Split {
        zram_bytes: zram as u64,
        flash_bytes: (free - zram * gain).max(0.0) as u64,
        cost_ns,
    })
}

/// Cost with so much in zram; `None` when there are too few pages.
fn cost_ns(speeds: &Speeds, demand: &Demand, zram: f64) -> Option<f64> {
    let gain = (1.0 - 1.0 / speeds.ratio).max(0.0);
    let flash = (demand.free_bytes as f64 - zram * gain).max(0.0);
    let out = zram + flash;
    let (cold, hot) = (demand.cold_bytes as f64, demand.hot_bytes as f64);
    // Sums of numbers this large are exact to some bytes.
    if out > (cold + hot) * (1.0 + 1e-9) + 1.0 {
        return None;
    }
    let hot_out = (out - cold).clamp(0.0, hot);
    let zram_is_faster = speeds.zram_ns_per_byte <= speeds.sequential_ns_per_byte;
    let hot_zram = if zram_is_faster { hot_out.min(zram) } else { (hot_out - flash).max(0.0) };
    let hot_flash = hot_out - hot_zram;
    let (cold_zram, cold_flash) = (zram - hot_zram, flash - hot_flash);
    let of_cold = cold_zram * speeds.zram_ns_per_byte + cold_flash * speeds.random_ns_per_byte;
    let of_hot = hot_zram * speeds.zram_ns_per_byte + hot_flash * speeds.sequential_ns_per_byte;
    Some(of_hot + demand.miss * of_cold)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// A Nexus 4 with lz4.
    fn nexus4() -> Speeds {
        Speeds { ratio: 2.5, zram_ns_per_byte: 3.0, sequential_ns_per_byte: 15.2, random_ns_per_byte: 143.0 }
    }

    fn demand(free_mib: u64) -> Demand {
        Demand { free_bytes: free_mib * MIB, cold_bytes: 800 * MIB, hot_bytes: 100 * MIB, miss: 0.005 }
    }

    #[test]
    fn incompressible_memory_goes_to_flash() {
        let split = split(&Speeds { ratio: 1.0, ..nexus4() }, &demand(400)).expect("enough pages");
        assert_eq!((split.zram_bytes, split.flash_bytes), (0, 400 * MIB));
    }

    #[test]
    fn zram_takes_all_while_the_cold_pages_suffice_and_both_when_they_do_not() {
        let few = split(&nexus4(), &demand(400)).expect("enough pages");
        assert_eq!(few.flash_bytes, 0);
        let many = split(&nexus4(), &demand(750)).expect("enough pages");
        assert!(many.zram_bytes > 0 && many.flash_bytes > 0, "{many:?}");
        assert_eq!(split(&nexus4(), &demand(901)), None);
    }

    /// Any device: flash at random is no faster than in sequence; zram may be slower than both.
    fn any() -> impl Strategy<Value = (Speeds, Demand)> {
        let speeds = (0.8_f64..6.0, 0.1_f64..100.0, 0.5_f64..100.0, 1.0_f64..30.0);
        let demand = (0_u64..2_000, 0_u64..2_000, 0_u64..500, 0.0_f64..0.2);
        (speeds, demand).prop_map(|((ratio, zram, sequential, times), (free, cold, hot, miss))| {
            let speeds = Speeds {
                ratio,
                zram_ns_per_byte: zram,
                sequential_ns_per_byte: sequential,
                random_ns_per_byte: sequential * times,
            };
            let of = |mib: u64| mib * MIB;
            (speeds, Demand { free_bytes: of(free), cold_bytes: of(cold), hot_bytes: of(hot), miss })
        })
    }

    proptest! {
        #[test]
        fn the_split_is_never_worse_than_either_alone((speeds, demand) in any()) {
            let best = split(&speeds, &demand);
            let gain = 1.0 - 1.0 / speeds.ratio;
            let alone = (gain > 0.0).then(|| demand.free_bytes as f64 / gain);
            for zram in [Some(0.0), alone].into_iter().flatten() {
                if let Some(cost_ns) = cost_ns(&speeds, &demand, zram) {
                    prop_assert!(best.is_some_and(|best| best.cost_ns <= cost_ns * (1.0 + 1e-6) + 1.0), "{best:?} {zram} {cost_ns}");
                }
            }
        }

        #[test]
        fn no_other_split_is_better((speeds, demand) in any()) {
            let best = split(&speeds, &demand);
            let gain = (1.0 - 1.0 / speeds.ratio).max(0.0);
            let most = if gain > 0.0 { demand.free_bytes as f64 / gain } else { 0.0 };
            for step in 0..=200 {
                let zram = most * f64::from(step) / 200.0;
                if let Some(cost_ns) = cost_ns(&speeds, &demand, zram) {
                    prop_assert!(best.is_some_and(|best| best.cost_ns <= cost_ns * (1.0 + 1e-6) + 1.0), "{best:?} {zram} {cost_ns}");
                }
            }
            if let Some(best) = best {
                prop_assert!((best.zram_bytes as f64 * gain + best.flash_bytes as f64 - demand.free_bytes as f64).abs() < 16.0);
                prop_assert!(best.zram_bytes + best.flash_bytes <= demand.cold_bytes + demand.hot_bytes + 16);
            }
        }
    }
}
