//! The rules that make a rate of two totals.

/// What has rates between two moments.
pub(super) trait Rated {
    /// The rates that these counters become.
    type Rates;

    /// What happened since `then`; `None` when it began to count anew.
    fn rates(&self, then: &Self, span: &Span) -> Option<Self::Rates>;
}

/// The time between two snapshots.
pub(super) struct Span {
    pub(super) elapsed_s: f64,
    pub(super) processors: u64,
}

/// What a total grew by; `None` when it began anew.
fn grown(now: u64, then: u64) -> Option<u64> {
    now.checked_sub(then)
}

/// As [`grown`], for sums in ms that the kernel prints with 32 bits: from the upper half to the lower half is a wrap.
fn grown_ms(now: u64, then: u64) -> Option<u64> {
    const WRAP: u64 = 1 << 32;
    let wrapped = || ((WRAP / 2..WRAP).contains(&then) && now < WRAP / 2).then(|| now + (WRAP - then));
    grown(now, then).or_else(wrapped)
}

/// Rules. Of a value that is not known at both moments none is made; one that must not begin anew gives `None` as a
/// whole.
impl Span {
    /// As it stands at the end.
    pub(super) fn level<T: Copy>(&self, now: &T, _then: &T) -> Option<T> {
        Some(*now)
    }

    pub(super) fn per_s(&self, now: &u64, then: &u64) -> Option<f64> {
        Some(grown(*now, *then)? as f64 / self.elapsed_s)
    }

    /// Also `Some(None)` when the counter was reset.
    pub(super) fn known_per_s(&self, now: &Option<u64>, then: &Option<u64>) -> Option<Option<f64>> {
        Some(now.zip(*then).and_then(|(now, then)| self.per_s(&now, &then)))
    }

    /// A time over the elapsed time, in percent. The kernel adds some of these up late, so one may seem too long.
    fn share(&self, part_s: f64) -> f64 {
        (part_s / self.elapsed_s * 100.0).min(100.0)
    }

    pub(super) fn share_us(&self, now: &u64, then: &u64) -> Option<f64> {
        Some(self.share(grown(*now, *then)? as f64 / 1e6))
    }

    /// Also `Some(None)` when the counter was reset.
    pub(super) fn known_share_us(&self, now: &Option<u64>, then: &Option<u64>) -> Option<Option<f64>> {
        Some(now.zip(*then).and_then(|(now, then)| self.share_us(&now, &then)))
    }

    pub(super) fn share_ms(&self, now: &u64, then: &u64) -> Option<f64> {
        Some(self.share(grown_ms(*now, *then)? as f64 / 1e3))
    }

    /// Of processor time: 100 is one processor in full.
    pub(super) fn processors_us(&self, now: &Option<u64>, then: &Option<u64>) -> Option<Option<f64>> {
        let Some((now, then)) = now.zip(*then) else { return Some(None) };
        let used_s = grown(now, then)? as f64 / 1e6;
        Some(Some((used_s / self.elapsed_s).min(self.processors as f64) * 100.0))
    }

    /// Mean of a sum over time; none when the sum ran backwards.
    pub(super) fn mean_over_time(&self, now: &u64, then: &u64) -> Option<Option<f64>> {
        Some(grown_ms(*now, *then).map(|ms| ms as f64 / 1e3 / self.elapsed_s))
    }

    /// Mean of a sum over requests; none without requests.
    pub(super) fn mean(&self, [requests, before]: [u64; 2], [now, then]: [u64; 2]) -> Option<Option<f64>> {
        let (requests, sum) = (grown(requests, before)?, grown(now, then)?);
        Some((requests > 0).then(|| sum as f64 / requests as f64))
    }

    /// As [`Span::mean`], of a sum in ms; none either when the sum ran backwards.
    pub(super) fn mean_ms(&self, [requests, before]: [u64; 2], [now, then]: [u64; 2]) -> Option<Option<f64>> {
        let requests = grown(requests, before)?;
        Some(grown_ms(now, then).filter(|_| requests > 0).map(|ms| ms as f64 / requests as f64))
    }

    /// What these states took of all states of the processors.
    pub(super) fn share_of_cpu<const N: usize>(&self, all_us: [u64; 8], states_us: [u64; N]) -> f64 {
        let total: f64 = all_us.into_iter().map(|us| us as f64).sum();
        let part: f64 = states_us.into_iter().map(|us| us as f64).sum();
        if total > 0.0 { (part / total * 100.0).min(100.0) } else { 0.0 }
    }

    /// The rates of a part.
    pub(super) fn part<T: Rated>(&self, now: &T, then: &T) -> Option<T::Rates> {
        now.rates(then, self)
    }

    /// The rates of a part that not every kernel has.
    pub(super) fn part_if_any<T: Rated>(&self, now: &Option<T>, then: &Option<T>) -> Option<Option<T::Rates>> {
        match now.as_ref().zip(then.as_ref()) {
            Some((now, then)) => Some(Some(now.rates(then, self)?)),
            None => Some(None),
        }
    }

    /// As [`Span::part_if_any`]; none either when it began anew.
    pub(super) fn part_if_known<T: Rated>(&self, now: &Option<T>, then: &Option<T>) -> Option<Option<T::Rates>> {
        Some(now.as_ref().zip(then.as_ref()).and_then(|(now, then)| now.rates(then, self)))
    }
}

/// The rates of what both snapshots have; usually they have the same, in the same order.
pub(super) fn both<T: Rated>(now: &[T], then: &[T], name: impl Fn(&T) -> &str, span: &Span) -> Vec<T::Rates> {
    let earlier = |index: usize, wanted: &str| {
        let there = then.get(index).filter(|one| name(one) == wanted);
        there.or_else(|| then.iter().find(|one| name(one) == wanted))
    };
    let pairs = now.iter().enumerate().filter_map(|(index, one)| Some((one, earlier(index, name(one))?)));
    pairs.filter_map(|(now, then)| now.rates(then, span)).collect()
}
