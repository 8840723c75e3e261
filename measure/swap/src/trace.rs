//! The trace of swapping: a text table that people and other programs can make.
//!
//! The first line has the version and the size of the swap area, the second the names of the columns, then one event a line in
//! the order of time:
//!
//! ```text
//! #brisk-swap-trace 1 area_slots=524288
//! time_us,action,app,page,slot
//! 0,front,browser,,
//! 1250,in,browser,1045,77
//! 1300,out,mail,12,78
//! 90000,ready,browser,,
//! 95000,free,mail,12,78
//! ```
//!
//! A recording has two more actions. `held` at its begin is a page that lay in its slot before. `ahead` is a page that was read from
//! its slot together with a neighbour, before any use; an `in` of that slot after it is the use, and reads nothing.
//!
//! `page` numbers the pages of an app: its virtual page number, or any other number that stays the same while the page lives. `slot` is
//! where it lay in the recorded system; it may be empty, since a replay allocates anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use thiserror::Error;

/// Version of the format.
const VERSION: &str = "1";
const FIRST_WORD: &str = "#brisk-swap-trace";
const COLUMNS: [&str; 5] = ["time_us", "action", "app", "page", "slot"];
/// Apps of one trace: more are a mistake, such as a process id for each launch.
const APPS_MAX: usize = u16::MAX as usize;

/// Why a text is no trace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The first line is another one.
    #[error("the first line is not '{FIRST_WORD} {VERSION} area_slots=NUMBER'")]
    NoHeader,
    /// The columns are other ones.
    #[error("line 2 has other columns than {}", COLUMNS.join(","))]
    Columns,
    /// A line that cannot be read.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// More apps than a trace may have.
    #[error("line {line}: more than {APPS_MAX} apps")]
    TooManyApps {
        /// The line.
        line: u64,
    },
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The app came to the front: its launch begins.
    Front,
    /// It answers: the launch ends.
    Ready,
    /// A page was written to its slot.
    Out,
    /// A page was read from its slot, since the app used it.
    In,
    /// A page was read from its slot together with a neighbour, and not used by then.
    Ahead,
    /// A page lay in its slot when the recording began.
    Held,
    /// The content of a slot is no longer needed: the page was released, or its process ended.
    Free,
}

impl Action {
    const ALL: [(Self, &str); 7] = [
        (Self::Front, "front"),
        (Self::Ready, "ready"),
        (Self::Out, "out"),
        (Self::In, "in"),
        (Self::Ahead, "ahead"),
        (Self::Held, "held"),
        (Self::Free, "free"),
    ];

    /// Its word in a trace.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(action, _)| *action == self).map_or("", |(_, word)| word)
    }

    /// Whether it is about a page, rather than an app.
    #[must_use]
    pub fn is_of_page(self) -> bool {
        !matches!(self, Self::Front | Self::Ready)
    }
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Time since the beginning of the trace.
    pub at_us: u64,
    /// What happened.
    pub action: Action,
    /// Index into [`Trace::apps`].
    pub app: u16,
    /// Number of the page within the app; 0 for an event of an app.
    pub page: u64,
    /// Where it lay in the recorded system, where known.
    pub slot: Option<u32>,
}

/// A recorded or synthetic session of swapping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// Size of the swap area in slots.
    pub area_slots: u32,
    /// Names of the apps.
    pub apps: Vec<String>,
    /// Events in the order of time.
    pub events: Vec<Event>,
}

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    /// With the number of the line, when the text is no trace, a time runs backwards or a slot lies outside of the area.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let mut trace = Self { area_slots: area_of(first.trim_end())?, ..Self::default() };
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(rest.as_bytes());
        let mut known: BTreeMap<String, u16> = BTreeMap::new();
        let mut record = csv::StringRecord::new();
        let mut begun = false;
        loop {
            // The first line was split off.
            let line = reader.position().line() + 1;
            match reader.read_record(&mut record) {
                Ok(false) if begun => return Ok(trace),
                Ok(false) => return Err(TraceError::Columns),
                Ok(true) if !begun => {
                    if !record.iter().map(str::trim).eq(COLUMNS) {
                        return Err(TraceError::Columns);
                    }
                    begun = true;
                }
                Ok(true) => {
                    let event = trace.event(&record, &mut known, line)?;
                    trace.events.push(event);
                }
                Err(error) => return Err(TraceError::Line { line, reason: error.to_string() }),
            }
        }
    }

    fn event(
        &mut self,
        record: &csv::StringRecord,
        known: &mut BTreeMap<String, u16>,
        line: u64,
    ) -> Result<Event, TraceError> {
        let wrong = |reason: String| TraceError::Line { line, reason };
        if record.len() != COLUMNS.len() {
            return Err(wrong(format!("{} fields instead of {}", record.len(), COLUMNS.len())));
        }
        let field = |index: usize| record.get(index).unwrap_or_default().trim();
        let number = |index: usize| {
            let text = field(index);
            text.parse::<u64>().map_err(|_| wrong(format!("{} is '{text}', which is no whole number", COLUMNS[index])))
        };
        let at_us = number(0)?;
        if self.events.last().is_some_and(|last| last.at_us > at_us) {
            return Err(wrong(format!("the time {at_us} us is before that of the line above")));
        }
        let word = field(1);
        let found = Action::ALL.iter().find(|(_, name)| *name == word);
        let words = || Action::ALL.map(|(_, name)| name).join(", ");
        let (action, _) = *found.ok_or_else(|| wrong(format!("the action '{word}' is none of {}", words())))?;
        let name = field(2);
        if name.is_empty() {
            return Err(wrong("the app has no name".to_owned()));
        }
        let app = match known.get(name) {
            Some(&app) => app,
            None => {
                let app = u16::try_from(self.apps.len()).map_err(|_| TraceError::TooManyApps { line })?;
                self.apps.push(name.to_owned());
                known.insert(name.to_owned(), app);
                app
            }
        };
        let (mut page, mut slot) = (0, None);
        if action.is_of_page() {
            page = number(3)?;
            if !field(4).is_empty() {
                let area_slots = self.area_slots;
                let at = u32::try_from(number(4)?).ok().filter(|&at| at < area_slots);
                slot =
                    Some(at.ok_or_else(|| {
                        wrong(format!("slot {} is outside of the area of {area_slots} slots", field(4)))
                    })?);
            }
        }
        Ok(Event { at_us, action, app, page, slot })
    }

    /// The trace as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{FIRST_WORD} {VERSION} area_slots={}\n{}\n", self.area_slots, COLUMNS.join(","));
        for event in &self.events {
            let app = self.apps.get(usize::from(event.app)).map_or("", String::as_str);
            // Names with commas or quotes; writing to a string cannot fail.
            let app = if app.contains([',', '"', '\n']) {
                format!("\"{}\"", app.replace('"', "\"\""))
            } else {
                app.to_owned()
            };
            let _ = write!(text, "{},{},{app},", event.at_us, event.action.word());
            if event.action.is_of_page() {
                let _ = write!(text, "{}", event.page);
            }
            text.push(',');
            if let Some(slot) = event.slot {
                let _ = write!(text, "{slot}");
            }
            text.push('\n');
        }
        text
    }
}

fn area_of(first: &str) -> Result<u32, TraceError> {
    let mut words = first.split_whitespace();
    if (words.next(), words.next()) != (Some(FIRST_WORD), Some(VERSION)) {
        return Err(TraceError::NoHeader);
    }
    let area = words.next().and_then(|word| word.strip_prefix("area_slots=")).and_then(|number| number.parse().ok());
    area.filter(|&slots| slots > 0).ok_or(TraceError::NoHeader)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "#brisk-swap-trace 1 area_slots=100\ntime_us,action,app,page,slot\n";

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = |line: &str| Trace::parse(&format!("{HEAD}0,front,a,,\n{line}\n")).expect_err(line).to_string();
        assert_eq!(wrong("5,in,a,x,"), "line 4: page is 'x', which is no whole number");
        assert_eq!(
            wrong("5,look,a,1,"),
            "line 4: the action 'look' is none of front, ready, out, in, ahead, held, free"
        );
        assert_eq!(wrong("5,in,a,1,100"), "line 4: slot 100 is outside of the area of 100 slots");
        assert_eq!(wrong("5,in,a"), "line 4: 3 fields instead of 5");
        assert_eq!(wrong("5,in,,1,"), "line 4: the app has no name");
        assert_eq!(wrong("-5,in,a,1,"), "line 4: time_us is '-5', which is no whole number");
        let backwards = Trace::parse(&format!("{HEAD}7,front,a,,\n6,ready,a,,\n")).expect_err("backwards").to_string();
        assert_eq!(backwards, "line 4: the time 6 us is before that of the line above");
    }

    #[test]
    fn another_file_is_no_trace() {
        for text in ["", "time_us\n", "#brisk-swap-trace 2 area_slots=5\n", "#brisk-swap-trace 1 area_slots=0\n"] {
            assert_eq!(Trace::parse(text), Err(TraceError::NoHeader), "{text}");
        }
        assert_eq!(Trace::parse("#brisk-swap-trace 1 area_slots=5\na,b\n"), Err(TraceError::Columns));
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let event = (0_u64..1000, 0_usize..7, 0_u16..3, 0_u64..50, proptest::option::of(0_u32..100));
        proptest::collection::vec(event, 0..40).prop_map(|mut all| {
            all.sort_by_key(|one| one.0);
            let make = |(at_us, action, app, page, slot): (u64, usize, u16, u64, Option<u32>)| {
                let (action, _) = Action::ALL[action];
                let (page, slot) = if action.is_of_page() { (page, slot) } else { (0, None) };
                Event { at_us, action, app, page, slot }
            };
            all.into_iter().map(make).collect()
        })
    }

    proptest! {
        #[test]
        fn a_trace_is_read_back_as_it_was_written(events in events()) {
            let apps = vec!["a".to_owned(), "b, the \"second\"".to_owned(), "c".to_owned()];
            let mut trace = Trace { area_slots: 100, apps, events };
            // Apps are numbered in the order of their first event.
            let read = Trace::parse(&trace.to_text()).expect("its own text");
            let name = |trace: &Trace, event: &Event| trace.apps[usize::from(event.app)].clone();
            let names: Vec<_> = trace.events.iter().map(|event| name(&trace, event)).collect();
            prop_assert_eq!(read.events.iter().map(|event| name(&read, event)).collect::<Vec<_>>(), names);
            trace.events.iter_mut().zip(&read.events).for_each(|(event, read)| event.app = read.app);
            prop_assert_eq!(trace.events, read.events);
            prop_assert_eq!(trace.area_slots, read.area_slots);
        }

        #[test]
        fn damaged_text_never_panics(text in "\\PC{0,200}", cut in 0_usize..300) {
            let _ = Trace::parse(&text);
            let damaged = format!("{HEAD}0,front,a,,\n{text}");
            let _ = Trace::parse(&damaged);
            let _ = Trace::parse(damaged.get(..cut.min(damaged.len())).unwrap_or(""));
        }
    }
}
