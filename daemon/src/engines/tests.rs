use super::*;
use brisk_core::event::EventKind;
use brisk_core::snapshot::{Snapshot, Unread};
use std::sync::{Arc, Mutex};

/// What an engine was asked: the number of its events, and whether there was a moment before.
type Asked = Arc<Mutex<Vec<(usize, bool)>>>;

struct Watching {
    memory: bool,
    asked: Asked,
}

impl AnyEngine for Watching {
    fn uses(&self) -> Uses {
        Uses { memory: self.memory, ..Uses::default() }
    }

    fn decide(&mut self, observed: &Observed<'_>) -> Decision<()> {
        self.asked.lock().expect("one thread").push((observed.events.len(), observed.previous.is_some()));
        Decision { state: (), requests: Vec::new(), notes: Vec::new(), next_look_ns: None, needs: Needs::default() }
    }

    fn trial(&self) -> Option<Plan> {
        None
    }

    fn told(&self) -> Vec<(Subject, Told)> {
        Vec::new()
    }

    fn learned(&mut self) -> Option<String> {
        None
    }

    fn forget(&mut self, _app: Option<&str>) -> bool {
        false
    }

    fn show(&self, _topic: Topic<'_>) -> Option<Shown> {
        None
    }

    fn end(&mut self) -> Vec<Once> {
        Vec::new()
    }
}

#[test]
fn engines_of_memory_wait_while_it_cannot_be_read_and_miss_no_event() {
    let (memory, storage): (Asked, Asked) = (Asked::default(), Asked::default());
    let engine =
        |memory, asked: &Asked| -> Box<dyn AnyEngine> { Box::new(Watching { memory, asked: Arc::clone(asked) }) };
    let mut engines = Engines::these(vec![
        ("iram".to_owned(), engine(true, &memory)),
        ("smartio".to_owned(), engine(false, &storage)),
    ]);
    let snapshot = |at_ns: u64, is_unread: bool| {
        let mut unread = Unread::default();
        if is_unread {
            unread.add(Part::Memory);
        }
        Snapshot { at_ns, unread, ..Snapshot::default() }
    };
    let snapshots = [snapshot(1, false), snapshot(2, true), snapshot(3, true), snapshot(4, false), snapshot(5, false)];
    let mut waits = Vec::new();
    for (index, now) in snapshots.iter().enumerate() {
        let events = [Event { at_ns: now.at_ns, kind: EventKind::Screen { on: true } }];
        let previous = index.checked_sub(1).map(|before| &snapshots[before]);
        let observed = Observed { previous, now, events: &events, devices: &[], apps: &[] };
        let round = engines.decide(&Config::default(), &observed, &[]);
        let notes: Vec<&str> = round.notes.iter().map(|note| note.engine.as_str()).collect();
        waits.push((notes == ["iram"], round.next_look_ns.is_some()));
    }
    assert_eq!(waits, [(false, false), (true, true), (true, true), (false, false), (false, false)]);
    // After the gap the moment before says nothing of memory.
    assert_eq!(*memory.lock().expect("one thread"), [(1, false), (3, false), (1, true)]);
    assert_eq!(*storage.lock().expect("one thread"), [(1, false), (1, true), (1, true), (1, true), (1, true)]);
}
