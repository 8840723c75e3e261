//! What the log has of what engines do to apps: one line for each end, refusal and trouble, and nothing otherwise.
//!
//! A person whose app has vanished, or does not react, finds who did it, why, and what to do: `journalctl -u briskd`.
//! Levels are those of sd-daemon(3):
//!
//! | line | level |
//! |---|---|
//! | an app or a process of it is asked to end, or what is left of it is killed | notice: it is what the daemon is for |
//! | an app has been frozen for ten minutes, or is thawed after that | notice |
//! | an app is thawed later than a second after it came to the foreground | warning |
//! | the kernel has ended a process of an app | warning |
//! | an action or a setting is refused | warning |
//! | an app stays frozen, since it cannot be thawed | error |
//!
//! Each line ends with fields as `key=value`. A line that differs in nothing but numbers comes once in ten minutes, and
//! then says how often it was left out.
//!
//! Properties, each with a test of the same name: `an_end_says_of_whom_by_whom_why_and_what_to_do`;
//! `what_goes_well_is_not_in_the_log`; `repeated_lines_are_counted_and_not_written`;
//! `an_app_that_is_thawed_late_is_named`.

use std::collections::BTreeMap;

use brisk_core::action::Once;
use brisk_core::event::EventKind;
use brisk_core::outcome::Outcome;
use brisk_core::text::shell_word;
use brisk_program::log::Level;

/// How long the same line is not written again.
const REPEAT_NS: u64 = 600_000_000_000;
/// An app that is frozen for longer is named.
const FROZEN_LONG_NS: u64 = 600_000_000_000;
/// A thaw that comes later after the app came to the foreground is named.
const THAWED_LATE_NS: u64 = 1_000_000_000;
/// Lines that are known: more say nothing new.
const KNOWN_MAX: usize = 500;
/// Processes that a line lists.
const PIDS_SHOWN: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// How much it matters.
    pub level: Level,
    pub text: String,
}

/// An action, and on what it was done.
#[derive(Debug, Clone, Copy)]
pub struct Doing<'a> {
    pub once: &'a Once,
    /// Id of the app; empty when unknown.
    pub app: &'a str,
    /// Processes of its group before that.
    pub pids: &'a [u32],
    /// The engine that requested it.
    pub engine: &'a str,
    pub reason: &'a str,
}

/// An action whose last outcome follows.
#[derive(Debug, Clone, Default)]
struct PendingAction {
    app: String,
    engine: String,
}

/// What the log knows.
#[derive(Debug, Default)]
pub struct Account {
    ends: BTreeMap<String, PendingAction>,
    frozen: BTreeMap<String, Frozen>,
    /// When a line was written last, and how often it was left out since.
    written: BTreeMap<String, (u64, u64)>,
}

#[derive(Debug, Clone, Default)]
struct Frozen {
    app: String,
    engine: String,
    since_ns: u64,
    is_told: bool,
    /// When it came to the foreground.
    front_ns: Option<u64>,
}

impl Account {
    /// What became of an action at once.
    pub fn performed(&mut self, now_ns: u64, doing: &Doing<'_>, outcome: &Outcome) -> Option<Line> {
        let Doing { once, app, pids, engine, reason } = *doing;
        let group = once.group();
        let name = if app.is_empty() { group } else { app };
        let owner =
            |more: &[(&str, &str)]| fields(&[&[("app", app), ("group", group), ("engine", engine)], more].concat());
        match (once, outcome) {
            (Once::EndApp { .. } | Once::EndProcess { .. }, Outcome::Done) => {
                self.ends.insert(group.to_owned(), PendingAction { app: app.to_owned(), engine: engine.to_owned() });
                self.frozen.remove(group);
                let pids = list(pids);
                let remedy = format!("to keep it: brisk apps protect {}", shell_word(name));
                let fields = owner(&[("pid", &pids), ("reason", reason), ("do", &remedy)]);
                let what = match once {
                    Once::EndProcess { pid, .. } => format!("process {pid} of {name} and what it started"),
                    _ => name.to_owned(),
                };
                Some(Line { level: Level::Notice, text: format!("ends {what}, as memory is short{fields}") })
            }
            (_, Outcome::Refused { why }) => self.refused(now_ns, doing, why),
            (Once::Freeze { .. }, Outcome::Done) => {
                let (app, engine) = (app.to_owned(), engine.to_owned());
                self.frozen.insert(group.to_owned(), Frozen { app, engine, since_ns: now_ns, ..Frozen::default() });
                None
            }
            (Once::Thaw { .. }, Outcome::Done | Outcome::Gone | Outcome::Unchanged) => self.thawed(now_ns, group),
            _ => None,
        }
    }

    fn refused(&mut self, now_ns: u64, doing: &Doing<'_>, why: &str) -> Option<Line> {
        let Doing { once, app, pids, engine, reason } = *doing;
        let (group, pids) = (once.group(), list(pids));
        let name = if app.is_empty() { group } else { app };
        let stays_frozen = matches!(once, Once::Thaw { .. });
        let (level, what) = match once {
            Once::Thaw { .. } => (Level::Error, "cannot thaw"),
            Once::EndApp { .. } | Once::EndProcess { .. } => (Level::Warning, "does not end"),
            Once::Freeze { .. } => (Level::Warning, "does not freeze"),
            _ => (Level::Warning, "cannot act on"),
        };
        let remedy = if stays_frozen { "'brisk reset' thaws all that brisk froze" } else { "" };
        let fields = fields(&[
            ("app", app),
            ("group", group),
            ("pid", &pids),
            ("engine", engine),
            ("action", once.name()),
            ("reason", reason),
            ("do", remedy),
        ]);
        self.once_in_a_while(now_ns, level, &format!("{what} {name}: {why}"), &fields)
    }

    /// What became of an action later.
    pub fn advanced(&mut self, now_ns: u64, once: &Once, outcome: &Outcome) -> Option<Line> {
        let group = once.group();
        let PendingAction { app, engine } = match once {
            once if once.ends() => self.ends.remove(group).unwrap_or_default(),
            _ => PendingAction::default(),
        };
        let name = if app.is_empty() { group } else { &app };
        match (once, outcome) {
            (Once::EndApp { grace_ms, .. } | Once::EndProcess { grace_ms, .. }, Outcome::Done) => {
                let text = format!("killed what was left of {name}, {grace_ms} ms after it was asked to end");
                let fields = fields(&[("app", &app), ("group", group), ("engine", &engine)]);
                Some(Line { level: Level::Notice, text: text + &fields })
            }
            (_, Outcome::Refused { why }) => {
                let doing = Doing { once, app: &app, pids: &[], engine: &engine, reason: "" };
                self.refused(now_ns, &doing, why)
            }
            _ => None,
        }
    }

    fn thawed(&mut self, now_ns: u64, group: &str) -> Option<Line> {
        let Frozen { app, engine, since_ns, is_told, front_ns } = self.frozen.remove(group)?;
        let name = if app.is_empty() { group } else { &app };
        let fields = |reason: &str| fields(&[("app", &app), ("group", group), ("engine", &engine), ("reason", reason)]);
        let late_ns =
            front_ns.map(|front_ns| now_ns.saturating_sub(front_ns)).filter(|late_ns| *late_ns > THAWED_LATE_NS);
        if let Some(late_ns) = late_ns {
            let text = format!("thawed {name} {:.1} s after it came to the foreground", late_ns as f64 / 1e9);
            return Some(Line { level: Level::Warning, text: text + &fields("thawed_late") });
        }
        let text =
            || format!("thawed {name}, which was frozen for {} min", now_ns.saturating_sub(since_ns) / 60_000_000_000);
        is_told.then(|| Line { level: Level::Notice, text: text() + &fields("frozen_for_long") })
    }

    /// Apps that have been frozen for long by now.
    pub fn frozen_for_long(&mut self, now_ns: u64) -> Vec<Line> {
        let is_long = |frozen: &Frozen| !frozen.is_told && now_ns.saturating_sub(frozen.since_ns) >= FROZEN_LONG_NS;
        let long = self.frozen.iter_mut().filter(|(_, frozen)| is_long(frozen));
        let line = |(group, frozen): (&String, &mut Frozen)| {
            frozen.is_told = true;
            let name = if frozen.app.is_empty() { group } else { &frozen.app };
            let minutes = FROZEN_LONG_NS / 60_000_000_000;
            let fields = fields(&[
                ("app", &frozen.app),
                ("group", group),
                ("engine", &frozen.engine),
                ("reason", "frozen_for_long"),
                ("do", "it goes on when it comes to the foreground; 'brisk reset' thaws all"),
            ]);
            Line { level: Level::Notice, text: format!("{name} has been frozen for {minutes} min{fields}") }
        };
        long.map(line).collect()
    }

    /// What an event says of an app, whose id this is, or of a setting.
    pub fn event(&mut self, now_ns: u64, kind: &EventKind, app: &str) -> Option<Line> {
        match kind {
            EventKind::Focused { group } => {
                if let Some(frozen) = self.frozen.get_mut(group) {
                    frozen.front_ns.get_or_insert(now_ns);
                }
                None
            }
            EventKind::AppGone { group } => {
                self.frozen.remove(group);
                None
            }
            EventKind::OutOfMemory { group } => {
                let name = if app.is_empty() { group } else { app };
                let fields = fields(&[
                    ("app", app),
                    ("group", group),
                    ("reason", "out_of_memory"),
                    ("do", "see 'brisk apps' for what takes memory, 'brisk swap setup' for more"),
                ]);
                let text = format!("the kernel ended a process of {name}, as memory had run out");
                self.once_in_a_while(now_ns, Level::Warning, &text, &fields)
            }
            EventKind::Refused { knob, why } => {
                let fields = fields(&[("setting", &knob.to_string())]);
                self.once_in_a_while(now_ns, Level::Warning, &format!("cannot set {knob}: {why}"), &fields)
            }
            _ => None,
        }
    }

    /// The line, unless one like it was written lately.
    fn once_in_a_while(&mut self, now_ns: u64, level: Level, text: &str, fields: &str) -> Option<Line> {
        let alike: String = text.chars().filter(|one| !one.is_ascii_digit()).collect();
        let left_out = match self.written.get_mut(&alike) {
            Some((then_ns, left_out)) if now_ns.saturating_sub(*then_ns) < REPEAT_NS => {
                *left_out += 1;
                return None;
            }
            Some((_, left_out)) => *left_out,
            None => 0,
        };
        if self.written.len() >= KNOWN_MAX {
            self.written.retain(|_, (then_ns, _)| now_ns.saturating_sub(*then_ns) < REPEAT_NS);
        }
        if self.written.len() < KNOWN_MAX {
            self.written.insert(alike, (now_ns, 0));
        }
        let again =
            if left_out > 0 { format!(" ({left_out} more times since it was logged last)") } else { String::new() };
        Some(Line { level, text: format!("{text}{again}{fields}") })
    }
}

fn list(pids: &[u32]) -> String {
    let shown: Vec<String> = pids.iter().take(PIDS_SHOWN).map(u32::to_string).collect();
    let more = if pids.len() > PIDS_SHOWN { ",..." } else { "" };
    shown.join(",") + more
}

/// Fields behind a sentence; those without value are left out.
fn fields(fields: &[(&str, &str)]) -> String {
    let known = fields.iter().filter(|(_, value)| !value.is_empty());
    let one = |(name, value): &(&str, &str)| {
        let is_word = value.chars().all(|one| one.is_ascii_alphanumeric() || "._-/@:,\\".contains(one));
        if is_word { format!("{name}={value}") } else { format!("{name}=\"{}\"", value.replace('"', "'")) }
    };
    let all: Vec<String> = known.map(one).collect();
    if all.is_empty() { String::new() } else { format!("; {}", all.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::knob::{Knob, QueueSetting};

    const S_NS: u64 = 1_000_000_000;

    fn doing(once: &Once) -> Doing<'_> {
        Doing { once, app: "org.example.Hog", pids: &[7, 9], engine: "iram", reason: "short of memory (need 40)" }
    }

    fn end() -> Once {
        Once::EndApp { group: "app-hog-1.scope".to_owned(), grace_ms: 5000 }
    }

    fn freeze() -> Once {
        Once::Freeze { group: "app-hog-1.scope".to_owned() }
    }

    fn thaw() -> Once {
        Once::Thaw { group: "app-hog-1.scope".to_owned() }
    }

    fn refused() -> Outcome {
        Outcome::Refused { why: "no permission".to_owned() }
    }

    #[test]
    fn an_end_says_of_whom_by_whom_why_and_what_to_do() {
        let mut account = Account::default();
        let line = account.performed(0, &doing(&end()), &Outcome::Done).expect("a line");
        assert_eq!(line.level, Level::Notice);
        assert_eq!(
            line.text,
            "ends org.example.Hog, as memory is short; app=org.example.Hog group=app-hog-1.scope engine=iram pid=7,9 \
             reason=\"short of memory (need 40)\" do=\"to keep it: brisk apps protect org.example.Hog\""
        );
        // It has ended by itself.
        assert_eq!(account.advanced(1, &end(), &Outcome::Gone), None);
        account.performed(2, &doing(&end()), &Outcome::Done);
        let killed = account.advanced(3, &end(), &Outcome::Done).expect("a line");
        assert!(killed.text.starts_with("killed what was left of org.example.Hog, 5000 ms"), "{}", killed.text);
        assert!(killed.text.contains("app=org.example.Hog") && killed.text.contains("engine=iram"), "{}", killed.text);
    }

    #[test]
    fn refusals_are_warnings_and_what_stays_frozen_is_an_error() {
        let mut account = Account::default();
        let mut level = |once: &Once| account.performed(0, &doing(once), &refused()).map(|line| line.level);
        assert_eq!(
            (level(&end()), level(&freeze()), level(&thaw())),
            (Some(Level::Warning), Some(Level::Warning), Some(Level::Error))
        );
        let reclaim = Once::Reclaim { group: "app-hog-1.scope".to_owned(), size_bytes: 1 };
        assert_eq!(level(&reclaim), Some(Level::Warning));
        // What a thread did, or could not do.
        let later = account.advanced(0, &Once::PageOut { group: "g".to_owned(), ranges: Vec::new() }, &refused());
        assert!(later.is_some_and(|line| line.level == Level::Warning && line.text.contains("no permission")));
        let knob = Knob::queue("sda", QueueSetting::Scheduler);
        let of_setting = account.event(0, &EventKind::Refused { knob, why: "busy".to_owned() }, "").expect("a line");
        assert_eq!(
            (of_setting.level, of_setting.text.as_str()),
            (Level::Warning, "cannot set queue/sda/scheduler: busy; setting=queue/sda/scheduler")
        );
        let killed =
            account.event(0, &EventKind::OutOfMemory { group: "app-x-1.scope".to_owned() }, "x").expect("a line");
        assert!(killed.level == Level::Warning && killed.text.contains("app=x group=app-x-1.scope"), "{}", killed.text);
    }

    #[test]
    fn what_goes_well_is_not_in_the_log() {
        let mut account = Account::default();
        let group = || "app-hog-1.scope".to_owned();
        let quiet = [
            (freeze(), Outcome::Done),
            (thaw(), Outcome::Done),
            (Once::Reclaim { group: group(), size_bytes: 1 }, Outcome::Done),
            (Once::PageOut { group: group(), ranges: Vec::new() }, Outcome::Begun),
            (end(), Outcome::Planned { from: None, to: None }),
            (end(), Outcome::Dropped),
            (end(), Outcome::Gone),
            (end(), Outcome::Paused),
        ];
        for (once, outcome) in &quiet {
            assert_eq!(account.performed(0, &doing(once), outcome), None, "{once}");
        }
        assert_eq!(account.advanced(0, &Once::Reclaim { group: group(), size_bytes: 1 }, &Outcome::Done), None);
        for kind in
            [EventKind::LaunchBegan { group: group() }, EventKind::AppGone { group: group() }, EventKind::Configured]
        {
            assert_eq!(account.event(0, &kind, "hog"), None);
        }
        assert_eq!(account.frozen_for_long(u64::MAX), []);
    }

    #[test]
    fn repeated_lines_are_counted_and_not_written() {
        let mut account = Account::default();
        let mut line = |at_ns: u64, number: u32| {
            let why = format!("at most 6 apps are ended in a minute, the next in {number} s");
            account.performed(at_ns, &doing(&end()), &Outcome::Refused { why }).map(|line| line.text)
        };
        assert!(line(0, 10).is_some());
        assert!((1..500).all(|second| line(second * S_NS, 9).is_none()));
        assert!(line(600 * S_NS, 8).is_some_and(|text| text.contains("(499 more times")));
        // Many different ones need no more room.
        for group in 0..5_000 {
            let once = Once::EndApp { group: "a".repeat(group), grace_ms: 1 };
            account.performed(0, &Doing { app: "", ..doing(&once) }, &refused());
        }
        assert!(account.written.len() <= KNOWN_MAX);
    }

    #[test]
    fn an_app_that_is_frozen_for_long_is_named_once_and_when_it_is_thawed() {
        let mut account = Account::default();
        account.performed(0, &doing(&freeze()), &Outcome::Done);
        assert_eq!(account.frozen_for_long(FROZEN_LONG_NS - 1), []);
        let [line] = &account.frozen_for_long(FROZEN_LONG_NS)[..] else { panic!("one line") };
        assert!(line.level == Level::Notice && line.text.contains("frozen for 10 min"), "{}", line.text);
        assert_eq!(account.frozen_for_long(2 * FROZEN_LONG_NS), []);
        let thawed = account.performed(3 * FROZEN_LONG_NS, &doing(&thaw()), &Outcome::Done).expect("a line");
        assert!(thawed.text.contains("frozen for 30 min"), "{}", thawed.text);
    }

    #[test]
    fn an_app_that_is_thawed_late_is_named() {
        let mut account = Account::default();
        let front = EventKind::Focused { group: "app-hog-1.scope".to_owned() };
        for (late_ns, is_named) in [(S_NS / 2, false), (3 * S_NS, true)] {
            account.performed(0, &doing(&freeze()), &Outcome::Done);
            assert_eq!(account.event(S_NS, &front, "hog"), None);
            let line = account.performed(S_NS + late_ns, &doing(&thaw()), &Outcome::Done);
            assert_eq!(line.is_some_and(|line| line.level == Level::Warning), is_named);
        }
    }
}
