//! What the daemon does at a time of its own: a table of name, due time and action.
//!
//! The loop sleeps until the first due time. A timer fires once and is then unset; its action sets it again if it
//! recurs.
//!
//! Properties: `a_timer_fires_once_when_it_is_due`; `an_earlier_time_stays`.

use std::collections::BTreeMap;

/// Name and action of a timer of `T`.
pub type Timer<T> = (&'static str, fn(&mut T));

/// A table of timers of `T`, by name.
#[derive(Debug)]
pub struct Timers<T> {
    entries: BTreeMap<&'static str, Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    due_ns: Option<u64>,
    action: fn(&mut T),
}

impl<T> Timers<T> {
    /// A table of these timers, all unset.
    #[must_use]
    pub fn new(actions: &[Timer<T>]) -> Self {
        Self { entries: actions.iter().map(|&(name, action)| (name, Entry { due_ns: None, action })).collect() }
    }

    /// Sets a timer, or unsets it.
    ///
    /// # Panics
    /// When the table has no timer of that name.
    pub fn set(&mut self, name: &'static str, due_ns: Option<u64>) {
        self.entry(name).due_ns = due_ns;
    }

    /// Sets a timer unless it is due earlier.
    ///
    /// # Panics
    /// When the table has no timer of that name.
    pub fn set_at_latest(&mut self, name: &'static str, due_ns: u64) {
        let entry = self.entry(name);
        entry.due_ns = Some(entry.due_ns.map_or(due_ns, |set_ns| set_ns.min(due_ns)));
    }

    /// When the first is due.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.entries.values().filter_map(|entry| entry.due_ns).min()
    }

    /// Unsets those that are due at `now_ns`, and gives their actions, the earliest first.
    pub fn take_due(&mut self, now_ns: u64) -> Vec<fn(&mut T)> {
        let mut due = Vec::new();
        for entry in self.entries.values_mut() {
            if let Some(due_ns) = entry.due_ns.filter(|due_ns| *due_ns <= now_ns) {
                entry.due_ns = None;
                due.push((due_ns, entry.action));
            }
        }
        due.sort_by_key(|(due_ns, _)| *due_ns);
        due.into_iter().map(|(_, action)| action).collect()
    }

    fn entry(&mut self, name: &'static str) -> &mut Entry<T> {
        self.entries.get_mut(name).expect("callers use the names that the table was made with")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Timers<Vec<&'static str>> {
        Timers::new(&[("scan", |log| log.push("scan")), ("check", |log| log.push("check"))])
    }

    fn fired(timers: &mut Timers<Vec<&'static str>>, now_ns: u64) -> Vec<&'static str> {
        let mut log = Vec::new();
        timers.take_due(now_ns).into_iter().for_each(|action| action(&mut log));
        log
    }

    #[test]
    fn a_timer_fires_once_when_it_is_due() {
        let mut timers = table();
        assert_eq!(timers.next_ns(), None);
        timers.set("scan", Some(20));
        timers.set("check", Some(10));
        assert_eq!((timers.next_ns(), fired(&mut timers, 9)), (Some(10), vec![]));
        assert_eq!(fired(&mut timers, 20), ["check", "scan"]);
        assert_eq!((timers.next_ns(), fired(&mut timers, 99)), (None, vec![]));
        timers.set("scan", Some(30));
        timers.set("scan", None);
        assert_eq!(fired(&mut timers, 99), Vec::<&str>::new());
    }

    #[test]
    fn an_earlier_time_stays() {
        let mut timers = table();
        timers.set_at_latest("scan", 20);
        timers.set_at_latest("scan", 30);
        assert_eq!(timers.next_ns(), Some(20));
        timers.set_at_latest("scan", 10);
        assert_eq!(timers.next_ns(), Some(10));
    }
}
