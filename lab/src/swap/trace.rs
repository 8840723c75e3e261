//! The trace of swapping: a text table that people and other programs can make.
//!
//! A comment has the version and the size of the swap area; then comes a table (`brisk_program::files::table`), one
//! event a line in the order of time:
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
//! A recording has two more actions. `held` at its begin is a page that lay in its slot before. `ahead` is a page that
//! was read from its slot together with a neighbour, before any use; an `in` of that slot after it is the use, and
//! reads nothing.
//!
//! `page` numbers the pages of an app: its virtual page number, or any other number that stays the same while the page
//! lives. `slot` is where it lay in the recorded system; it may be empty, since a replay allocates anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use brisk_program::files::table::{Layout, Row, Table, TableError, quoted};
use thiserror::Error;

const VERSION: &str = "1";
const FIRST_WORD: &str = "#brisk-swap-trace";
/// Its heading as it is written.
const HEADING: &str = "time_us,action,app,page,slot";
/// Apps of one trace: more are a mistake, such as a process id for each launch.
const APPS_MAX: usize = u16::MAX as usize;

/// Why a text is no trace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TraceError {
    #[error("no line before the heading is '{FIRST_WORD} {VERSION} area_slots=NUMBER'")]
    NoHeader,
    #[error(transparent)]
    Table(#[from] TableError),
}

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Time since the beginning of the trace.
    pub at_us: u64,
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
    pub apps: Vec<String>,
    /// Events in the order of time.
    pub events: Vec<Event>,
}

impl Trace {
    pub const LAYOUT: Layout = Layout { needed: &["time_us", "action", "app", "page"], optional: &["slot"] };

    /// Reads a trace.
    ///
    /// # Errors
    /// With line and column, when the text is no trace, a time runs backwards or a slot lies outside of the area.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let (mut table, _) = match Table::begin(text, &[Self::LAYOUT]) {
            Err(TableError::Empty { .. }) => return Err(TraceError::NoHeader),
            begun => begun?,
        };
        let area_slots = table.comments().iter().find_map(|line| area_of(line)).ok_or(TraceError::NoHeader)?;
        let mut trace = Self { area_slots, ..Self::default() };
        let mut known: BTreeMap<String, u16> = BTreeMap::new();
        while let Some(row) = table.next_row()? {
            let event = trace.event(&row, &mut known)?;
            trace.events.push(event);
        }
        Ok(trace)
    }

    fn event(&mut self, row: &Row<'_>, known: &mut BTreeMap<String, u16>) -> Result<Event, TableError> {
        let at_us = row.whole("time_us")?;
        if self.events.last().is_some_and(|last| last.at_us > at_us) {
            return Err(row.wrong("time_us", format!("{at_us} us is before the line above")));
        }
        let word = row.text("action").to_ascii_lowercase();
        let found = Action::ALL.iter().find(|(_, name)| *name == word);
        let words = || Action::ALL.map(|(_, name)| name).join(", ");
        let (action, _) = *found.ok_or_else(|| row.wrong("action", format!("'{word}' is none of {}", words())))?;
        let name = row.filled("app")?;
        let app = match known.get(name) {
            Some(&app) => app,
            None => {
                let too_many = |_| row.wrong("app", format!("more than {APPS_MAX} apps"));
                let app = u16::try_from(self.apps.len()).map_err(too_many)?;
                self.apps.push(name.to_owned());
                known.insert(name.to_owned(), app);
                app
            }
        };
        let (mut page, mut slot) = (0, None);
        if action.is_of_page() {
            page = row.whole("page")?;
            if !row.text("slot").is_empty() {
                let at = row.whole("slot")?;
                let area_slots = self.area_slots;
                let outside = || row.wrong("slot", format!("{at} is outside of the area of {area_slots} slots"));
                slot = Some(u32::try_from(at).ok().filter(|at| *at < area_slots).ok_or_else(outside)?);
            }
        }
        Ok(Event { at_us, action, app, page, slot })
    }

    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{FIRST_WORD} {VERSION} area_slots={}\n{HEADING}\n", self.area_slots);
        for event in &self.events {
            let app = self.apps.get(usize::from(event.app)).map_or("", String::as_str);
            // Writing to a string cannot fail.
            let _ = write!(text, "{},{},{},", event.at_us, event.action.word(), quoted(app));
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

/// The size of the swap area in the line that has the version, too.
fn area_of(line: &str) -> Option<u32> {
    let mut words = line.split_whitespace();
    if (words.next(), words.next()) != (Some(FIRST_WORD), Some(VERSION)) {
        return None;
    }
    let area = words.next().and_then(|word| word.strip_prefix("area_slots=")).and_then(|number| number.parse().ok());
    area.filter(|&slots| slots > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "#brisk-swap-trace 1 area_slots=100\ntime_us,action,app,page,slot\n";

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_column() {
        let wrong = |line: &str| Trace::parse(&format!("{HEAD}0,front,a,,\n{line}\n")).expect_err(line).to_string();
        assert_eq!(wrong("5,in,a,x,"), "line 4, column page: 'x' is no whole number");
        assert_eq!(
            wrong("5,look,a,1,"),
            "line 4, column action: 'look' is none of front, ready, out, in, ahead, held, free"
        );
        assert_eq!(wrong("5,in,a,1,100"), "line 4, column slot: 100 is outside of the area of 100 slots");
        assert_eq!(wrong("5,in,a"), "line 4, column page: '' is no whole number");
        assert_eq!(wrong("5,in,,1,"), "line 4, column app: it is empty");
        assert_eq!(wrong("-5,in,a,1,"), "line 4, column time_us: '-5' is no whole number");
        let backwards = Trace::parse(&format!("{HEAD}7,front,a,,\n6,ready,a,,\n")).expect_err("backwards").to_string();
        assert_eq!(backwards, "line 4, column time_us: 6 us is before the line above");
    }

    #[test]
    fn each_form_of_the_table_is_the_same_trace() {
        let plain =
            Trace::parse(&format!("{HEAD}0,front,a,,\n5,out,a,1,2\n90,in,a,1,2\n100,ready,a,,\n")).expect("a trace");
        assert_eq!((plain.area_slots, plain.events.len()), (100, 4));
        for text in [
            "\u{feff}#brisk-swap-trace 1 area_slots=100\r\ntime_us,action,app,page,slot\r\n0,front,a,,\r\n\
             5,out,a,1,2\r\n90,in,a,1,2\r\n100,ready,a,,\r\n",
            "# of a phone\n\n#brisk-swap-trace 1 area_slots=100\nApp; Slot; Page; Action; Time_us\na;;;front;0\n\
             a;2;1;OUT;5\n\n#x\na;2.0;1.0;in;90\na;;;ready;100\n",
            "#brisk-swap-trace 1 area_slots=100\n\"time_us\", \"action\", \"app\", \"page\", \"slot\"\n0, \"front\", \
             a\n\
             5, out, a, 1, 2\n90, in, a, 1, 2\n100, ready, \"a\"\n",
        ] {
            assert_eq!(Trace::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}")), plain);
        }
    }

    #[test]
    fn another_file_is_no_trace() {
        for text in ["", &HEAD.replace(" 1 ", " 2 "), &HEAD.replace("=100", "=0"), HEAD.trim_start_matches('#')] {
            let error = Trace::parse(text).expect_err(text);
            assert!(matches!(&error, TraceError::NoHeader | TraceError::Table(TableError::Missing { .. })), "{error}");
        }
        let said = Trace::parse("#brisk-swap-trace 1 area_slots=5\na,b\n").expect_err("other columns").to_string();
        assert!(said.starts_with("line 2 names no column 'time_us': it has a, b"), "{said}");
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
