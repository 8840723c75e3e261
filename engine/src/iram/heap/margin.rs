//! The margin above the prediction, so that the share of misses is what was asked for.
//!
//! A *miss* is a sample above the threshold that was set for it. In some situations needs hardly move and a small
//! margin covers all; in others even a large one misses. Equal coverage in all of them would waste memory, so the
//! margin is the cheapest for a *price of a miss*: it minimises margin + price x chance of a miss, with chances counted
//! in this [`Situation`]. The price is steered by the misses themselves: log price += STEP x (1 if missed, else 0, less
//! the target). That is the online quantile tracking of conformal control (Angelopoulos, Candes, Tibshirani, Conformal
//! PID Control, 2023, section 2.1; adaptive conformal inference: Gibbs and Candes 2021), on the price instead of the
//! margin.
//!
//! *Guarantee*, for any sequence of needs of an app: from HIGH on the margin is the largest of [`MARGINS`], so as long
//! as the need does not exceed three times the prediction nothing is missed there, and the log price stays below HIGH +
//! STEP. It starts at LOW or above, is raised to LOW where it falls below, and else changes by STEP x (miss - target):
//! so of n samples at most target x n + (HIGH - LOW) / STEP + 1 are missed. The second term is 14 samples here: it is
//! below the first after 2,800.

use serde::{Deserialize, Serialize};

/// Share of samples that may be missed.
pub const MISS_SHARE: f64 = 0.005;
/// Margins that can be chosen, as a share of the prediction; the chance of a miss is counted for each.
pub(crate) const MARGINS: [f64; 24] = [
    -0.75, -0.5, -0.35, -0.2, -0.1, -0.05, -0.02, 0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.045, 0.065, 0.09, 0.12, 0.17,
    0.25, 0.4, 0.6, 1.0, 1.5, 2.0,
];
/// A share for each, and one for more than the largest.
const SHARES: usize = MARGINS.len() + 1;
/// Change of the log price by a miss.
const STEP: f64 = 0.7;
const LOG_PRICE_LOW: f64 = 0.0;
const LOG_PRICE_HIGH: f64 = 9.0;
const LOG_PRICE_FIRST: f64 = 3.0;
/// So many samples of a situation are kept; older ones count half.
const COUNT_MAX: u32 = 4_000;
/// An app's own samples count as much as those of all apps when there are so many.
const OWN_SAMPLES: f64 = 60.0;

/// What is known of the moment for which a threshold is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Situation {
    /// Earlier runs grew now, and this one has not reached what they reached.
    Launch,
    /// Earlier runs grew now.
    Growth,
    /// The first half minute, and earlier runs stood still.
    Young,
    Settled,
    /// No earlier run says anything of this time.
    Unknown,
}

impl Situation {
    pub(crate) const COUNT: usize = 5;

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Growth => "growth",
            Self::Young => "young",
            Self::Settled => "settled",
            Self::Unknown => "unknown",
        }
    }

    /// What is assumed before any sample, as shares of samples by the margin that they would have needed: (up to this
    /// margin, share). The rest needs the largest.
    fn assumed(self) -> &'static [(f64, f64)] {
        match self {
            Self::Launch => &[(-0.5, 0.3), (-0.1, 0.3), (0.0, 0.3), (0.02, 0.05), (0.12, 0.03), (0.4, 0.015)],
            Self::Growth => &[(0.0, 0.85), (0.02, 0.08), (0.065, 0.04), (0.17, 0.02), (0.4, 0.008)],
            Self::Young => &[(0.0, 0.95), (0.01, 0.025), (0.03, 0.01), (0.09, 0.008), (0.25, 0.005)],
            Self::Settled => &[(0.0, 0.97), (0.005, 0.015), (0.02, 0.007), (0.065, 0.005), (0.17, 0.002)],
            Self::Unknown => &[(0.0, 0.8), (0.03, 0.08), (0.12, 0.06), (0.4, 0.04), (1.0, 0.015)],
        }
    }
}

/// How many samples needed each of [`MARGINS`], and, last, how many needed more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Counts {
    by_margin: Vec<u16>,
}

impl Counts {
    fn add(&mut self, margin: usize) {
        self.by_margin.resize(SHARES, 0);
        if self.total() >= COUNT_MAX {
            self.by_margin.iter_mut().for_each(|count| *count /= 2);
        }
        if let Some(count) = self.by_margin.get_mut(margin) {
            *count += 1;
        }
    }

    fn total(&self) -> u32 {
        self.by_margin.iter().map(|&count| u32::from(count)).sum()
    }

    fn share(&self, margin: usize) -> f64 {
        let total = self.total();
        if total == 0 { 0.0 } else { f64::from(self.by_margin.get(margin).copied().unwrap_or(0)) / f64::from(total) }
    }
}

/// The counts of all situations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Misses {
    by_situation: Vec<Counts>,
}

impl Misses {
    fn of(&self, situation: Situation) -> Option<&Counts> {
        self.by_situation.get(situation as usize)
    }

    /// Counts a sample: `margin` would have covered it.
    pub(crate) fn add(&mut self, situation: Situation, margin: f64) {
        self.by_situation.resize(Situation::COUNT, Counts::default());
        let needed = MARGINS.partition_point(|&known| known < margin);
        self.by_situation[situation as usize].add(needed);
    }

    /// Shares of samples by the margin that they need. `before` is what is assumed, by the weight of so many samples.
    fn shares(&self, situation: Situation, before: impl Fn(usize) -> f64, weight: f64) -> [f64; SHARES] {
        let counts = self.of(situation);
        let total = counts.map_or(0.0, |counts| f64::from(counts.total()));
        std::array::from_fn(|n| {
            let own = counts.map_or(0.0, |counts| counts.share(n));
            (own * total + before(n) * weight) / (total + weight)
        })
    }
}

fn assumed(situation: Situation, margin: usize) -> f64 {
    let rest = 1.0 - situation.assumed().iter().map(|(_, share)| share).sum::<f64>();
    match MARGINS.get(margin) {
        Some(margin) => situation.assumed().iter().find(|(up_to, _)| up_to == margin).map_or(0.0, |(_, share)| *share),
        None => rest,
    }
}

/// The price of a miss, steered by the misses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Price {
    log: f32,
}

impl Default for Price {
    fn default() -> Self {
        Self { log: LOG_PRICE_FIRST as f32 }
    }
}

impl Price {
    pub(crate) fn learn(&mut self, missed: bool, miss_share: f64) {
        let change = STEP * (f64::from(u8::from(missed)) - miss_share);
        self.log = (f64::from(self.log) + change).clamp(LOG_PRICE_LOW, LOG_PRICE_HIGH + STEP) as f32;
    }

    /// The cheapest margin in this situation, from what this app's samples needed and those of all apps.
    pub(crate) fn margin(&self, situation: Situation, own: &Misses, all: &Misses) -> f64 {
        let log = f64::from(self.log);
        if log.is_nan() || log >= LOG_PRICE_HIGH {
            return MARGINS[MARGINS.len() - 1];
        }
        let of_all = all.shares(situation, |n| assumed(situation, n), OWN_SAMPLES);
        let shares = own.shares(situation, |n| of_all[n], OWN_SAMPLES);
        let price = log.exp();
        // From the largest margin down: what needs more than a margin is missed with it.
        let (mut missed, mut best) = (shares[MARGINS.len()], (f64::MAX, MARGINS[MARGINS.len() - 1]));
        for (margin, share) in MARGINS.into_iter().zip(shares).rev() {
            let cost = margin + price * missed;
            if cost < best.0 {
                best = (cost, margin);
            }
            missed += share;
        }
        best.1
    }
}
