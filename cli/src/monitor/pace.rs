//! When to take the next sample: a timer of the kernel, or a signal that ends the session. Between them brisk sleeps.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Why brisk woke up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// It is time for a sample; so many before were missed, as the machine was busy or asleep.
    Sample { missed: u64 },
    /// A signal that ends the session.
    Signal(u8),
}

/// The beat of a session.
#[derive(Debug)]
pub(super) struct Pace {
    timer: OwnedFd,
    signals: UnixStream,
    signal: Arc<AtomicUsize>,
}

impl Pace {
    /// Begins the beat, and handles the signals. The second signal ends at once.
    pub(super) fn begin(interval: Duration) -> anyhow::Result<Self> {
        let (signals, raise) = UnixStream::pair().context("cannot watch for signals")?;
        let (ended, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let watch = || {
                signal_hook::flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&ended))?;
                signal_hook::flag::register(number, Arc::clone(&ended))?;
                let value = usize::try_from(number).unwrap_or_default();
                signal_hook::flag::register_usize(number, Arc::clone(&signal), value)?;
                signal_hook::low_level::pipe::register(number, raise.try_clone()?)
            };
            watch().context("cannot watch for signals")?;
        }
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).context("cannot make a timer")?;
        let span = Timespec {
            tv_sec: i64::try_from(interval.as_secs()).context("the interval is too long")?,
            tv_nsec: interval.subsec_nanos().into(),
        };
        let beat = Itimerspec { it_interval: span, it_value: span };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &beat).context("cannot set a timer")?;
        Ok(Self { timer, signals, signal })
    }

    /// Sleeps until there is something to do. A signal comes before a sample.
    pub(super) fn wait(&mut self) -> anyhow::Result<Wake> {
        loop {
            let mut fds = [PollFd::new(&self.signals, PollFlags::IN), PollFd::new(&self.timer, PollFlags::IN)];
            match poll(&mut fds, None) {
                Err(Errno::INTR) => continue,
                outcome => outcome.context("cannot wait for the next sample")?,
            };
            let (signalled, due) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if signalled {
                let _ = self.signals.read(&mut [0; 16]);
                return Ok(Wake::Signal(u8::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or(SIGTERM as u8)));
            }
            if due {
                let mut beats = [0; 8];
                rustix::io::read(&self.timer, &mut beats).context("cannot read the timer")?;
                return Ok(Wake::Sample { missed: u64::from_ne_bytes(beats).saturating_sub(1) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_beats_are_counted() {
        let mut pace = Pace::begin(Duration::from_millis(10)).expect("a timer");
        let Wake::Sample { .. } = pace.wait().expect("a beat") else { panic!("no signal was sent") };
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_millis(35) {
            std::hint::spin_loop();
        }
        let Wake::Sample { missed } = pace.wait().expect("a beat") else { panic!("no signal was sent") };
        assert!(missed >= 2, "{missed}");
    }
}
