//! Samples from another thread, while this one works.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::memory::error::Result;

/// Calls `sample` with the time since the begin, at the begin and after each `interval`, until `work` is done. A sample
/// that comes late does not delay those after it: times stay multiples of the interval, and those that have passed are
/// left out.
///
/// # Errors
/// The first of `work`, else the first of a sample; no sample is taken after one that failed.
pub(super) fn sampled<T>(
    interval: Duration,
    mut sample: impl FnMut(Duration) -> Result<()> + Send,
    work: impl FnOnce(Instant) -> Result<T>,
) -> Result<T> {
    let (working, done) = channel::<()>();
    let begin = Instant::now();
    thread::scope(|scope| {
        let sampler = scope.spawn(move || {
            let mut at = Duration::ZERO;
            loop {
                sample(begin.elapsed())?;
                at = next(at, interval, begin.elapsed());
                match done.recv_timeout(at.saturating_sub(begin.elapsed())) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return Ok(()),
                }
            }
        });
        // Dropped at the end of the work, also when that panics.
        let working = working;
        let outcome = work(begin);
        drop(working);
        let sampled = sampler.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome.and_then(|value| sampled.map(|()| value))
    })
}

/// The next multiple of the interval after the last that has not passed.
fn next(last: Duration, interval: Duration, now: Duration) -> Duration {
    let interval = interval.max(Duration::from_millis(1));
    let passed = now.as_nanos().saturating_sub(last.as_nanos()) / interval.as_nanos();
    last + interval * u32::try_from(passed + 1).unwrap_or(u32::MAX)
}

/// Does `work`, and calls `look` after `delay` since its begin, from another thread; waits for both.
///
/// # Errors
/// The first of `work`, else that of `look`.
pub(super) fn after<S: Send, T>(
    delay: Duration,
    look: impl FnOnce() -> Result<S> + Send,
    work: impl FnOnce() -> Result<T>,
) -> Result<(S, T)> {
    thread::scope(|scope| {
        let looker = scope.spawn(move || {
            thread::sleep(delay);
            look()
        });
        let outcome = work();
        let looked = looker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let value = outcome?;
        Ok((looked?, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::error::Error;
    use proptest::prelude::*;
    use std::sync::mpsc;

    #[test]
    fn samples_go_on_until_the_work_is_done() {
        let (seen, wait_for) = mpsc::channel();
        let mut times = Vec::new();
        let sample = |at| {
            times.push(at);
            seen.send(()).map_err(|_| Error::Stopped)
        };
        // The work ends after the third sample, however long that takes.
        let work = |_| (0..3).try_for_each(|_| wait_for.recv().map_err(|_| Error::Stopped)).map(|()| 7);
        assert_eq!(sampled(Duration::from_millis(1), sample, work).expect("done"), 7);
        assert!(times.len() >= 3 && times.is_sorted(), "{times:?}");
    }

    #[test]
    fn an_error_of_the_work_comes_before_that_of_a_sample() {
        let fail = |name: &str| Error::NotRunning(name.to_owned());
        let outcome: Result<()> = sampled(Duration::from_millis(1), |_| Err(fail("sample")), |_| Err(fail("work")));
        assert!(matches!(outcome, Err(Error::NotRunning(name)) if name == "work"));
        let outcome = sampled(Duration::from_millis(1), |_| Err(fail("sample")), |_| Ok(()));
        assert!(matches!(outcome, Err(Error::NotRunning(name)) if name == "sample"));
    }

    #[test]
    fn a_look_after_the_end_of_the_work_is_waited_for() {
        let begin = Instant::now();
        let delay = Duration::from_millis(20);
        let (at, worked) = after(delay, || Ok(begin.elapsed()), || Ok(3)).expect("both");
        assert!(at >= delay && worked == 3, "{at:?}");
    }

    proptest! {
        #[test]
        fn the_next_sample_is_a_multiple_and_ahead(last in 0u32..1000, interval_ms in 1u64..500,
            late_ms in 0u64..100_000) {
            let interval = Duration::from_millis(interval_ms);
            let last = interval * last;
            let now = last + Duration::from_millis(late_ms);
            let next = next(last, interval, now);
            prop_assert!(next > now && next <= now + interval);
            prop_assert_eq!(next.as_nanos() % interval.as_nanos(), 0);
        }
    }
}
