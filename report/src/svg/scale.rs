//! From a value to a place: linear and logarithmic scales with round ticks.
//!
//! Properties: every finite value gets a finite place; ticks ascend, lie inside the scale and are at most as many as
//! asked for (two at least); a linear scale over positive values begins at zero, because the length of what is drawn is
//! what the eye compares.

/// How values go over the length of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// Evenly from zero: lengths and areas.
    Linear,
    /// Evenly from the least value: lines of ratios, where only differences count.
    Window,
    /// Evenly by powers of two: sizes, depths, streams.
    Log2,
    /// Evenly by powers of ten: times and rates over several magnitudes.
    Log10,
}

impl Law {
    /// Whether equal differences are equally long.
    pub(crate) fn is_even(self) -> bool {
        matches!(self, Self::Linear | Self::Window)
    }
}

/// Values beyond this are drawn at it.
const LARGEST: f64 = 1e15;
/// Values below this are drawn at it on a logarithmic scale.
const SMALLEST: f64 = 1e-6;

/// A scale from values to a range of pixels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    law: Law,
    low: f64,
    high: f64,
    from_px: f64,
    to_px: f64,
}

impl Scale {
    /// A scale that holds all finite `values`, rounded outward to a tick.
    pub(crate) fn around(law: Law, values: impl IntoIterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            if value.is_finite() && (law.is_even() || value > 0.0) {
                let value = clamp(law, value);
                (low, high) = (low.min(value), high.max(value));
            }
        }
        if low > high {
            (low, high) = if law.is_even() { (0.0, 1.0) } else { (1.0, 10.0) };
        }
        let (low, high) = match law {
            Law::Linear | Law::Window => {
                let low = if law == Law::Linear { low.min(0.0) } else { low };
                // A range too small for the steps of a double is a single value.
                let high = if high - low > 1e-9 * high.abs().max(1.0) { high } else { low + 1.0 };
                let step = nice_step((high - low) / 5.0);
                ((low / step).floor() * step, (high / step).ceil() * step)
            }
            Law::Log2 => {
                let (low, high) = (2f64.powf(low.log2().floor()), 2f64.powf(high.log2().ceil()));
                (low, if high > low { high } else { low * 2.0 })
            }
            Law::Log10 => {
                let (low, high) = (nice_floor(low), nice_ceil(high));
                (low, if high > low { high } else { low * 10.0 })
            }
        };
        Self { law, low, high, from_px: 0.0, to_px: 1.0 }
    }

    /// A scale over exactly `low..high`, both of which must be usable by the law.
    pub(crate) fn exactly(law: Law, low: f64, high: f64) -> Self {
        let (low, high) = (clamp(law, low), clamp(law, high));
        Self { law, low, high: if high > low { high } else { low + 1.0 }, from_px: 0.0, to_px: 1.0 }
    }

    /// The same over a range of pixels; `from_px` may be the larger, as for an axis that goes up.
    pub(crate) fn over(mut self, from_px: f64, to_px: f64) -> Self {
        (self.from_px, self.to_px) = (from_px, to_px);
        self
    }

    /// Its law.
    pub(crate) fn law(&self) -> Law {
        self.law
    }

    /// Its lower end.
    pub(crate) fn low(&self) -> f64 {
        self.low
    }

    /// Its upper end.
    pub(crate) fn high(&self) -> f64 {
        self.high
    }

    /// Whether `value` can be drawn at its true place.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.law.is_even() || value > 0.0)
    }

    /// The place of `value`; outside the scale the nearer end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = if value.is_nan() { self.low } else { clamp(self.law, value).clamp(self.low, self.high) };
        let share = match self.law {
            Law::Linear | Law::Window => (value - self.low) / (self.high - self.low),
            Law::Log2 | Law::Log10 => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from_px + share * (self.to_px - self.from_px)
    }

    /// Where to put marks on the axis, at most `wanted` (and at least two).
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<f64> {
        let wanted = wanted.max(2);
        match self.law {
            Law::Linear | Law::Window => {
                let mut step = nice_step((self.high - self.low) / 5.0);
                while (self.high - self.low) / step > wanted as f64 - 0.99 {
                    step = nice_step(step * 1.01);
                }
                let first = (self.low / step - 1e-9).ceil() as i64;
                let last = (self.high / step + 1e-9).floor() as i64;
                let ticks: Vec<f64> = (first..=last).map(|i| i as f64 * step).collect();
                if ticks.len() < 2 { vec![self.low, self.high] } else { ticks }
            }
            Law::Log2 => {
                let first = self.low.log2().round() as i32;
                let steps = (self.high / self.low).log2().round().max(1.0) as usize;
                let stride = steps.div_ceil(wanted - 1).max(1);
                (0..=steps).step_by(stride).map(|i| 2f64.powi(first + i as i32)).collect()
            }
            Law::Log10 => self.decimal_ticks(wanted),
        }
    }

    /// Powers of ten with 1, 2, 5 between them as long as there is room, else every second, third, ... power.
    fn decimal_ticks(&self, wanted: usize) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let inside = |v: &f64| *v >= self.low * 0.999_999 && *v <= self.high * 1.000_001;
        for mantissas in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
            let ticks: Vec<f64> =
                (first..=last).flat_map(|e| mantissas.iter().map(move |m| m * 10f64.powi(e))).filter(inside).collect();
            if (2..=wanted).contains(&ticks.len()) {
                return ticks;
            }
        }
        let powers: Vec<f64> = (first..=last).map(|e| 10f64.powi(e)).filter(inside).collect();
        if powers.len() < 2 {
            return vec![self.low, self.high];
        }
        let stride = powers.len().div_ceil(wanted).max(1);
        powers.into_iter().step_by(stride).collect()
    }
}

/// Linear unless the values span more than a factor of `50`, where small ones would vanish.
pub fn law_for(values: impl IntoIterator<Item = f64>) -> Law {
    let (low, high) = values
        .into_iter()
        .filter(|v| v.is_finite() && *v > 0.0)
        .fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    if high / low > 50.0 { Law::Log10 } else { Law::Linear }
}

fn clamp(law: Law, value: f64) -> f64 {
    match law {
        Law::Linear | Law::Window => value.clamp(-LARGEST, LARGEST),
        Law::Log2 | Law::Log10 => value.clamp(SMALLEST, LARGEST),
    }
}

/// The next 1, 2 or 5 times a power of ten at or above `raw`.
fn nice_step(raw: f64) -> f64 {
    if raw <= 0.0 || !raw.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw * 0.999_999).unwrap_or(power * 10.0)
}

fn nice_floor(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|m| m * power).find(|s| *s <= value * 1.000_001).unwrap_or(power)
}

fn nice_ceil(value: f64) -> f64 {
    nice_step(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn scales_end_at_round_values() {
        let scale = Scale::around(Law::Linear, [3.0, 87.0]);
        assert_eq!((scale.low, scale.high), (0.0, 100.0));
        let scale = Scale::around(Law::Window, [0.93, 1.57]);
        assert_eq!((scale.low, scale.high), (0.8, 1.6));
        let scale = Scale::around(Law::Log10, [72.0, 4100.0]);
        assert_eq!((scale.low, scale.high), (50.0, 5000.0));
        let scale = Scale::around(Law::Log2, [4096.0, 1_000_000.0]);
        assert_eq!((scale.low, scale.high), (4096.0, 1_048_576.0));
    }

    #[test]
    fn places_are_proportional() {
        let scale = Scale::around(Law::Linear, [100.0]).over(200.0, 0.0);
        assert_eq!((scale.at(0.0), scale.at(50.0), scale.at(100.0)), (200.0, 100.0, 0.0));
        let scale = Scale::around(Law::Log10, [1.0, 100.0]).over(0.0, 200.0);
        assert!((scale.at(10.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(Scale::around(Law::Linear, [87.0]).ticks(6), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(Scale::around(Law::Linear, [87.0]).ticks(4), [0.0, 50.0, 100.0]);
        assert_eq!(Scale::around(Law::Linear, [7.6]).ticks(6), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(Scale::around(Law::Log10, [72.0, 4100.0]).ticks(6), [100.0, 300.0, 1000.0, 3000.0]);
        assert_eq!(Scale::around(Law::Log10, [1.1, 28.0]).ticks(6), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(Scale::around(Law::Log2, [4.0, 1024.0]).ticks(5), [4.0, 16.0, 64.0, 256.0, 1024.0]);
    }

    #[test]
    fn small_and_large_values_together_need_logarithms() {
        assert_eq!(law_for([1.0, 40.0]), Law::Linear);
        assert_eq!(law_for([0.01, 40.0, f64::NAN]), Law::Log10);
        assert_eq!(law_for([]), Law::Linear);
    }

    proptest! {
        #[test]
        fn every_value_gets_a_finite_place(values in prop::collection::vec(any::<f64>(), 0..8), probe in any::<f64>()) {
            for law in [Law::Linear, Law::Window, Law::Log2, Law::Log10] {
                let scale = Scale::around(law, values.iter().copied()).over(300.0, 10.0);
                prop_assert!((10.0..=300.0).contains(&scale.at(probe)), "{:?} {}", scale, scale.at(probe));
                for wanted in 0..9 {
                    let ticks = scale.ticks(wanted);
                    prop_assert!(ticks.len() >= 2 && ticks.len() <= wanted.max(2), "{:?} {:?}", scale, ticks);
                    prop_assert!(ticks.windows(2).all(|w| w[0] < w[1]), "{:?}", ticks);
                    let slack = (scale.high - scale.low) * 1e-6;
                    prop_assert!(ticks.iter().all(|t| *t >= scale.low - slack && *t <= scale.high + slack));
                }
            }
        }
    }
}
