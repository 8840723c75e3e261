//! Notifications to the service manager that started the daemon (sd_notify(3)): ready, reloading, stopping, watchdog.
//! Without a service manager nothing is sent.

use sd_notify::NotifyState;

#[derive(Debug)]
pub struct ServiceManager {
    /// Interval of watchdog notifications: half of what the service manager allows.
    beat_ns: Option<u64>,
    next_ns: u64,
}

impl ServiceManager {
    #[must_use]
    pub fn of_environment(now_ns: u64) -> Self {
        let allowed = sd_notify::watchdog_enabled();
        let beat_ns = allowed.map(|allowed| u64::try_from(allowed.as_nanos() / 2).unwrap_or(u64::MAX).max(1));
        Self { beat_ns, next_ns: beat_ns.map_or(u64::MAX, |beat_ns| now_ns.saturating_add(beat_ns)) }
    }

    /// Whether there is one.
    #[must_use]
    pub fn is_there(&self) -> bool {
        std::env::var_os("NOTIFY_SOCKET").is_some_and(|socket| !socket.is_empty())
    }

    /// When the next watchdog notification is due.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.beat_ns.map(|_| self.next_ns)
    }

    pub fn ready(&self) {
        Self::say(&[NotifyState::Ready, NotifyState::Status("decides and acts")]);
    }

    /// The daemon reads its configuration.
    pub fn reloading(&self, now_ns: u64) {
        Self::say(&[NotifyState::Reloading, NotifyState::MonotonicUsec(i128::from(now_ns / 1000))]);
    }

    /// The daemon restores all settings and ends.
    pub fn stopping(&self) {
        Self::say(&[NotifyState::Stopping]);
    }

    /// Sends a watchdog notification when one is due.
    pub fn alive(&mut self, now_ns: u64) {
        if let Some(beat_ns) = self.beat_ns
            && self.next_ns <= now_ns
        {
            self.next_ns = now_ns.saturating_add(beat_ns);
            Self::say(&[NotifyState::Watchdog]);
        }
    }

    fn say(states: &[NotifyState<'_>]) {
        if let Err(error) = sd_notify::notify(states) {
            brisk_program::warn!("briskd: cannot notify the service manager: {error}");
        }
    }
}
