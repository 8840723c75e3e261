//! When apps return: after how many launches, and after what time.
//!
//! For each app, and for all apps pooled, intervals between two uses are counted in bins. From the counts follows the
//! *hazard* of a bin: the chance that an app which has stayed away until the begin of the bin returns within it. It is
//! the estimate of Kaplan and Meier (J. Am. Stat. Assoc. 53, 1958), which takes an interval that still lasts for what
//! it is; the hazard of one app is drawn to the pooled one as by [`PRIOR`] further observations, so that an app with
//! few returns is predicted as others are.

/// Bins of launches between two uses: first of each. 1 is a repeat.
pub(super) const LAUNCHES: [u64; 15] = [1, 2, 3, 4, 5, 6, 7, 9, 12, 17, 25, 41, 71, 131, 301];
/// Bins of time between two uses: begin of each, s.
pub(super) const TIMES_S: [u64; 19] = [
    0, 5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 20_480, 40_960, 81_920, 163_840, 327_680,
    1_310_720,
];
/// How many observations the pooled hazard stands for.
const PRIOR: f32 = 3.0;
/// Count of an app's intervals at which all its counts are halved, so that habits may change.
const INTERVALS_MAX: u32 = 255;
const POOLED_MAX: u32 = 1 << 20;
/// What the pooled hazard of a bin is before anything was seen, and how many observations that stands for.
const FIRST_HAZARD: f32 = 0.2;
const FIRST_WEIGHT: f32 = 5.0;

/// Intervals between uses of an app.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Returns {
    /// By [`LAUNCHES`].
    pub(super) launches: [u8; LAUNCHES.len()],
    /// By [`TIMES_S`].
    pub(super) times: [u8; TIMES_S.len()],
}

/// Intervals between uses of all apps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pooled {
    /// By [`LAUNCHES`].
    pub(super) launches: [u32; LAUNCHES.len()],
    /// By [`TIMES_S`].
    pub(super) times: [u32; TIMES_S.len()],
}

/// The bin of a value: the last that begins at or before it.
pub(super) fn bin(begins: &[u64], value: u64) -> usize {
    begins.partition_point(|begin| *begin <= value).saturating_sub(1)
}

/// How long a bin is; of the last, which has no end, as long as up to its begin.
fn width(begins: &[u64], bin: usize) -> f32 {
    let begin = begins[bin];
    begins.get(bin + 1).map_or(begin, |end| end - begin).max(1) as f32
}

impl Returns {
    /// Counts an interval.
    pub(super) fn add(&mut self, launches: u64, time_s: u64) {
        count(&mut self.launches, bin(&LAUNCHES, launches));
        count(&mut self.times, bin(&TIMES_S, time_s));
    }
}

fn count<const N: usize>(counts: &mut [u8; N], bin: usize) {
    if counts.iter().map(|count| u32::from(*count)).sum::<u32>() >= INTERVALS_MAX {
        counts.iter_mut().for_each(|count| *count /= 2);
    }
    counts[bin] += 1;
}

impl Pooled {
    /// Counts an interval.
    pub(super) fn add(&mut self, launches: u64, time_s: u64) {
        for (counts, bin) in
            [(&mut self.launches[..], bin(&LAUNCHES, launches)), (&mut self.times[..], bin(&TIMES_S, time_s))]
        {
            if counts[bin] >= POOLED_MAX {
                counts.iter_mut().for_each(|count| *count /= 2);
            }
            counts[bin] += 1;
        }
    }
}

/// Pooled hazards of all bins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hazards<const N: usize> {
    begins: [u64; N],
    pooled: [f32; N],
}

impl<const N: usize> Hazards<N> {
    /// From intervals that ended, by bin, and the bins in which intervals are that still last.
    pub(super) fn new(begins: [u64; N], ended: &[u32; N], open: impl Iterator<Item = usize>) -> Self {
        let mut exposed = ended.map(|count| count as f32);
        for bin in open {
            exposed[bin] += 0.5;
        }
        let mut pooled = [0.0; N];
        let mut at_risk = 0.0;
        for bin in (0..N).rev() {
            at_risk += exposed[bin];
            pooled[bin] = (ended[bin] as f32 + FIRST_HAZARD * FIRST_WEIGHT) / (at_risk + FIRST_WEIGHT);
        }
        Self { begins, pooled }
    }

    /// Chance that the app returns in a bin once it has stayed away until then.
    fn of(&self, ended: &[u8; N], bin: usize) -> f32 {
        let at_risk = ended[bin..].iter().map(|count| u32::from(*count)).sum::<u32>() as f32;
        (f32::from(ended[bin]) + PRIOR * self.pooled[bin]) / (at_risk + PRIOR)
    }

    /// The rate at which an app returns that has stayed away for `value`: for each launch, or for each second.
    pub(super) fn rate(&self, ended: &[u8; N], value: u64) -> f32 {
        let bin = bin(&self.begins, value);
        self.of(ended, bin) / width(&self.begins, bin)
    }

    /// Chance that an app returns within `horizon` that has stayed away for `value`.
    pub(super) fn within(&self, ended: &[u8; N], value: f64, horizon: f64) -> f64 {
        let end = value + horizon;
        let first = bin(&self.begins, value as u64);
        let mut away = 1.0;
        for nth in first..N {
            let from = (self.begins[nth] as f64).max(value);
            let to = self.begins.get(nth + 1).map_or(f64::INFINITY, |end| *end as f64).min(end);
            if to <= from {
                break;
            }
            let share = (to - from) / f64::from(width(&self.begins, nth));
            away *= (1.0 - f64::from(self.of(ended, nth))).powf(share);
        }
        1.0 - away
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_in_the_last_bin_that_begins_before_it() {
        assert_eq!([1, 2, 6, 8, 9, 300, 301, 9_999].map(|n| bin(&LAUNCHES, n)), [0, 1, 5, 6, 7, 13, 14, 14]);
        assert_eq!([0, 4, 5, 81_919, u64::MAX].map(|s| bin(&TIMES_S, s)), [0, 0, 1, 14, 18]);
        for begins in [&LAUNCHES[..], &TIMES_S[..]] {
            assert!(begins.is_sorted(), "{begins:?}");
        }
    }

    /// Six intervals of 10 s and four of 100 s, and none that lasts: by Kaplan and Meier 0.6 return in the bin of 10 s,
    /// and all others in that of 100 s.
    #[test]
    fn a_hazard_is_the_share_of_those_still_away() {
        let mut returns = Returns::default();
        let mut pooled = Pooled::default();
        for _ in 0..1_000 {
            (0..6).for_each(|_| pooled.add(3, 10));
            (0..4).for_each(|_| pooled.add(30, 100));
        }
        (0..6).for_each(|_| returns.add(3, 10));
        (0..4).for_each(|_| returns.add(30, 100));
        let hazards = Hazards::new(TIMES_S, &pooled.times, std::iter::empty());
        assert!((hazards.of(&returns.times, 2) - 0.6).abs() < 0.01);
        assert!((hazards.of(&returns.times, 5) - 1.0).abs() < 0.01);
        let within = |horizon: f64| hazards.within(&returns.times, 0.0, horizon);
        assert!(within(5.0) < 0.01 && (within(21.0) - 0.6).abs() < 0.02 && within(200.0) > 0.99);
        // One that has stayed away for 20 s returns in the later bin.
        assert!(hazards.within(&returns.times, 20.0, 20.0) < 0.02);
    }

    #[test]
    fn intervals_that_last_lower_the_hazard() {
        let ended = [0, 10, 0];
        let begins = [0, 10, 100];
        let none = Hazards::new(begins, &ended, std::iter::empty());
        let open = Hazards::new(begins, &ended, [2; 40].into_iter());
        assert!(open.pooled[1] < 0.6 * none.pooled[1]);
    }

    #[test]
    fn counts_are_halved_and_never_overflow() {
        let mut returns = Returns::default();
        (0..1_000).for_each(|_| returns.add(1, 7));
        (0..200).for_each(|_| returns.add(2, 7));
        let sum: u32 = returns.launches.iter().map(|count| u32::from(*count)).sum();
        assert!(sum <= INTERVALS_MAX && returns.launches[1] > returns.launches[0], "{returns:?}");
    }
}
