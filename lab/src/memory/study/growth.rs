//! Memory of each app after its launch (dissertation 5.2.2 with figure 5.2, 5.4.1 with figure 5.5).

use std::time::{Duration, Instant};

use crate::phone::App;
use crate::results::{AppGrowth, Ending, GrowthRun, GrowthSample, MemoryPart};
use brisk_core::stats::Summary;

use super::sampling::sampled;
use super::{Bed, memory_of};
use crate::memory::answers::Answer;
use crate::memory::error::Result;

/// Over this time two launches are correlated, as in the dissertation.
const CORRELATED: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy)]
pub struct GrowthOptions {
    /// Runs of each app, interleaved over the apps.
    pub runs: u32,
    /// Length of a run, the launch included.
    pub length: Duration,
    /// Between two samples.
    pub interval: Duration,
}

/// Does it: each app alone, launched with nothing of its files in memory, and used with an input a second.
///
/// # Errors
/// When the phone or the display fails, or the user stops it.
pub fn growth(bed: &mut Bed<'_>, options: &GrowthOptions) -> Result<Vec<AppGrowth>> {
    let apps = bed.apps.clone();
    let mut runs: Vec<Vec<GrowthRun>> = vec![Vec::new(); apps.len()];
    let mut failed = vec![false; apps.len()];
    for nth in 0..options.runs {
        for (place, app) in apps.iter().enumerate() {
            if failed[place] {
                continue;
            }
            let done = nth as usize * apps.len() + place;
            let share = done as f64 / (options.runs as usize * apps.len()) as f64;
            (bed.progress)(share, &format!("growth: {} ({}/{})", app.name, nth + 1, options.runs));
            match run(bed, app, options) {
                Ok(run) => runs[place].push(run),
                Err(error) => {
                    failed[place] = true;
                    bed.note(MemoryPart::Growth, app, error)?;
                }
            }
        }
    }
    let of = |(app, runs): (&&App, Vec<GrowthRun>)| summed_up(&app.name, runs, options.interval);
    Ok(apps.iter().zip(runs).filter_map(of).collect())
}

fn run(bed: &mut Bed<'_>, app: &App, options: &GrowthOptions) -> Result<GrowthRun> {
    bed.clear()?;
    let (sense, group, answer) = (bed.sense().clone(), bed.group.clone(), Answer::of(&app.name)?);
    let mut samples = Vec::new();
    let sample = |at: Duration| {
        let memory = memory_of(&sense, &group, &app.name)?;
        samples.push(GrowthSample {
            at_ms: at.as_secs_f64() * 1e3,
            anonymous_bytes: memory.anonymous_bytes,
            file_bytes: memory.file_bytes,
            swapped_bytes: memory.swapped_bytes,
        });
        Ok(())
    };
    let (settled_ms, inputs) = sampled(options.interval, sample, |begin: Instant| {
        let (resident, launched) = bed.launch(app)?;
        let settled_ms = (launched.ending == Ending::Settled).then_some(launched.end_ms);
        let inputs = bed.use_until(&resident, answer, begin + options.length)?;
        Ok((settled_ms, inputs))
    })?;
    let end_ms = options.length.as_secs_f64() * 1e3;
    samples.retain(|sample| sample.at_ms <= end_ms);
    Ok(GrowthRun { settled_ms, inputs, samples })
}

/// The runs of an app; `None` without any.
fn summed_up(app: &str, runs: Vec<GrowthRun>, interval: Duration) -> Option<AppGrowth> {
    let most: Vec<f64> = runs.iter().filter_map(GrowthRun::heap_bytes_max).map(|bytes| bytes as f64).collect();
    let heap_bytes_max = Summary::of(&most)?;
    Some(AppGrowth { app: app.to_owned(), correlation: mean_correlation(&runs, interval), runs, heap_bytes_max })
}

/// Mean correlation of the heaps of two runs over the first [`CORRELATED`], on a common grid of times.
fn mean_correlation(runs: &[GrowthRun], interval: Duration) -> Option<f64> {
    let interval_ms = interval.as_secs_f64().max(1e-3) * 1e3;
    let points = (CORRELATED.as_secs_f64() * 1e3 / interval_ms) as u32;
    let heap = |run: &GrowthRun| -> Option<Vec<f64>> {
        let at =
            |n: u32| run.at(f64::from(n) * interval_ms + interval_ms / 2.0).map(|sample| sample.heap_bytes() as f64);
        (0..=points).map(at).collect()
    };
    let heaps: Vec<Vec<f64>> = runs.iter().filter_map(heap).collect();
    let mut found = Vec::new();
    for (n, a) in heaps.iter().enumerate() {
        found.extend(heaps[n + 1..].iter().filter_map(|b| correlation(a, b)));
    }
    (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
}

/// Pearson's coefficient; `None` for values that do not vary.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut both, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        both += a * b;
        of_a += a * a;
        of_b += b * b;
    }
    (of_a > 0.0 && of_b > 0.0).then(|| (both / (of_a * of_b).sqrt()).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run_of(heap: impl Fn(f64) -> f64) -> GrowthRun {
        let sample = |n: u32| {
            let at_ms = f64::from(n) * 250.0 + 3.0;
            GrowthSample { at_ms, anonymous_bytes: heap(at_ms) as u64, file_bytes: 7, swapped_bytes: 0 }
        };
        GrowthRun { settled_ms: None, inputs: 0, samples: (0..240).map(sample).collect() }
    }

    #[test]
    fn launches_that_grow_alike_are_correlated_whatever_their_size() {
        let every = Duration::from_millis(250);
        let grows = |times: f64| run_of(move |ms| (ms / 100.0).min(80.0) * times * 1e6);
        let of = |runs: &[GrowthRun]| mean_correlation(runs, every);
        assert!(of(&[grows(1.0), grows(3.0)]).expect("two runs") > 0.999);
        let shrinks = run_of(|ms| 1e9 - ms * 1e4);
        assert!(of(&[grows(1.0), shrinks]).expect("two runs") < -0.8);
        assert_eq!(of(&[grows(1.0)]), None);
        assert_eq!(of(&[grows(1.0), run_of(|_| 5.0)]), None, "a heap that stays");
        // After the first ten seconds nothing counts.
        let early = run_of(|ms| if ms < 10_500.0 { ms * 1e3 } else { 0.0 });
        assert!(of(&[early, run_of(|ms| ms * 1e3)]).expect("two runs") > 0.999);
    }

    #[test]
    fn an_app_without_runs_has_no_figures_and_swapped_pages_are_heap() {
        let every = Duration::from_millis(250);
        assert!(summed_up("xterm", Vec::new(), every).is_none());
        let sample = |at_ms, anonymous_bytes, swapped_bytes| GrowthSample {
            at_ms,
            anonymous_bytes,
            swapped_bytes,
            file_bytes: 9,
        };
        let run = GrowthRun {
            samples: vec![sample(0.0, 0, 0), sample(250.0, 50, 0), sample(500.0, 30, 40)],
            ..GrowthRun::default()
        };
        let growth = summed_up("xterm", vec![run], every).expect("a run");
        assert_eq!((growth.heap_bytes_max.median, growth.correlation), (70.0, None));
    }

    proptest! {
        #[test]
        fn a_correlation_lies_between_its_ends_and_is_symmetric(
            pairs in prop::collection::vec((0.0f64..1e9, 0.0f64..1e9), 1..60),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let there = correlation(&a, &b);
            prop_assert!(there.is_none_or(|r| (-1.0..=1.0).contains(&r)));
            prop_assert_eq!(there.map(|r| (r * 1e9).round()), correlation(&b, &a).map(|r| (r * 1e9).round()));
            if let Some(r) = correlation(&a, &a) {
                prop_assert!((r - 1.0).abs() < 1e-9);
            }
        }
    }
}
