//! What is kept on storage is written by a thread of its own, so that the daemon's loop never waits for storage.
//!
//! *Problem*: beside heavy writers a file takes seconds until it is durable, and a record until the kernel has room for
//! dirty pages. Meanwhile a person may return to an app that only the loop thaws.
//!
//! *Approach*: the loop hands over what is to be written. Of each file with what engines have learned one text waits,
//! the last one; of the record `ROUNDS_MAX` rounds wait, and further ones are left out, which the status and the log
//! say. The loop waits for the thread at the end, and where a person has an app forgotten.
//!
//! Properties: `the_loop_does_not_wait_for_storage_and_says_what_is_left_out`; `a_file_that_failed_is_told`.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use brisk_core::causes::in_one_line;
use brisk_core::event::Event;
use brisk_core::snapshot::Snapshot;
use brisk_record::{Configuration, Decided, Scene};

use crate::clocks::Reading;
use crate::config;
use crate::learned::NotWritten;
use crate::recorder::{Recorder, Round, without_pages};

/// Rounds that wait for the record at most: half a minute of them at rest.
const ROUNDS_MAX: usize = 32;
/// Buffers are on the heap; builds without optimisation need more than a quarter of this to encode a round.
const STACK_BYTES: usize = 1 << 20;

/// Hands over to the thread.
pub struct Writer {
    shared: Arc<Shared>,
    /// `None` when it was closed.
    thread: Option<JoinHandle<()>>,
    place: config::Record,
    /// The scene that was handed over last.
    scene: Scene,
    /// What was decided and not handed over yet.
    decided: Option<Decided>,
    /// Rounds that were left out since the record followed last.
    left_out: u64,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Something waits, or nothing does any more.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// Texts that wait or are being written, by folder and name.
    files: BTreeMap<String, Arc<String>>,
    items: VecDeque<Item>,
    is_busy: bool,
    ends: bool,
    /// Files that could not be written, with the reason.
    failed: Vec<(String, String)>,
    /// Of the record: bytes, and why nothing is recorded.
    bytes: u64,
    trouble: Option<String>,
    forgotten: Option<brisk_record::Result<bool>>,
}

/// What is done to the record.
enum Item {
    Configure(config::Record, Configuration, Reading),
    Round(Box<Round>),
    Forget(Reading),
    Close(Reading),
}

enum Work {
    File(String, Arc<String>),
    Item(Item),
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing is left half done under the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, item: Item) {
        self.queue().items.push_back(item);
        self.changed.notify_all();
    }

    /// Waits for something to do; `None` at the end.
    fn next(&self) -> Option<Work> {
        let mut queue = self.queue();
        loop {
            // Files first: they are few, and a record that never follows is not to keep them from being written.
            let file = queue.files.first_key_value().map(|(name, text)| Work::File(name.clone(), Arc::clone(text)));
            if let Some(work) = file.or_else(|| queue.items.pop_front().map(Work::Item)) {
                queue.is_busy = true;
                return Some(work);
            }
            queue.is_busy = false;
            self.changed.notify_all();
            if queue.ends {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until nothing is left to do.
    fn settle(&self) -> MutexGuard<'_, Queue> {
        let is_working = |queue: &mut Queue| queue.is_busy || !queue.files.is_empty() || !queue.items.is_empty();
        self.changed.wait_while(self.queue(), is_working).unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut recorder: Recorder, write: impl Fn(&str, &str) -> Result<(), NotWritten>) {
        while let Some(work) = self.next() {
            match work {
                Work::File(name, text) => {
                    let written = write(&name, &text);
                    let mut queue = self.queue();
                    // A later text may wait by now.
                    if queue.files.get(&name).is_some_and(|waiting| Arc::ptr_eq(waiting, &text)) {
                        queue.files.remove(&name);
                    }
                    queue.failed.extend(written.err().map(|error| (name, in_one_line(&error))));
                }
                Work::Item(item) => {
                    let mut forgotten = None;
                    match item {
                        Item::Configure(place, configuration, now) => recorder.configure(place, configuration, now),
                        Item::Round(round) => recorder.round(*round),
                        Item::Forget(now) => forgotten = Some(recorder.forget(now)),
                        Item::Close(now) => recorder.close(now),
                    }
                    let mut queue = self.queue();
                    (queue.bytes, queue.trouble) = (recorder.bytes(), recorder.trouble().map(str::to_owned));
                    queue.forgotten = forgotten.or_else(|| queue.forgotten.take());
                }
            }
        }
    }
}

impl Writer {
    /// Starts the thread, which writes files by `write` (folder and name, text) and the record by `recorder`, whose
    /// place is `place`.
    ///
    /// # Errors
    /// When no thread can be made.
    pub fn start(
        place: config::Record,
        recorder: Recorder,
        write: impl Fn(&str, &str) -> Result<(), NotWritten> + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let serve = {
            let shared = Arc::clone(&shared);
            move || shared.serve(recorder, write)
        };
        let thread =
            std::thread::Builder::new().name("brisk-writer".to_owned()).stack_size(STACK_BYTES).spawn(serve)?;
        Ok(Self { shared, thread: Some(thread), place, scene: Scene::default(), decided: None, left_out: 0 })
    }

    /// Has a file of what was learned written, in place of a text of the same name that still waits.
    pub fn keep(&self, name: &str, text: String) {
        self.shared.queue().files.insert(name.to_owned(), Arc::new(text));
        self.shared.changed.notify_all();
    }

    /// Texts that are not on storage yet, by folder and name.
    #[must_use]
    pub fn waiting(&self) -> BTreeMap<String, String> {
        self.shared.queue().files.iter().map(|(name, text)| (name.clone(), text.as_str().to_owned())).collect()
    }

    /// Files that could not be written since the last call: folder and name, and why.
    pub fn take_failed(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.shared.queue().failed)
    }

    /// Path of the record; `None` when recording is off.
    #[must_use]
    pub fn record_path(&self) -> Option<&Path> {
        (self.place.max_bytes > 0).then_some(&self.place.path)
    }

    /// Bytes of the record so far, and why nothing or not all is recorded.
    #[must_use]
    pub fn record(&self) -> (u64, Option<String>) {
        let queue = self.shared.queue();
        let left_out = || {
            let rounds = self.left_out;
            (rounds > 0).then(|| format!("storage does not follow: {rounds} rounds are missing so far"))
        };
        (queue.bytes, queue.trouble.clone().or_else(left_out))
    }

    /// Uses another configuration of the record from now on.
    pub fn configure(&mut self, place: config::Record, configuration: Configuration, now: Reading) {
        if place != self.place {
            (self.place, self.scene) = (place.clone(), Scene::default());
        }
        self.shared.push(Item::Configure(place, configuration, now));
    }

    /// Records one round: events, devices and apps, snapshot, and the decision if it differs from the one before.
    pub fn round(
        &mut self,
        now: Reading,
        events: Vec<Event>,
        scene: Scene,
        snapshot: &Snapshot,
        decided: Option<Decided>,
    ) {
        self.decided = decided.or_else(|| self.decided.take());
        if self.place.max_bytes == 0 {
            return;
        }
        if self.shared.queue().items.len() >= ROUNDS_MAX {
            if self.left_out == 0 {
                brisk_program::warn!("briskd: storage is slower than the record: rounds are left out");
            }
            self.left_out += 1;
            return;
        }
        if self.left_out > 0 {
            brisk_program::notice!("briskd: {} rounds are missing in the record; records again", self.left_out);
            self.left_out = 0;
        }
        let differs = scene != self.scene;
        if differs {
            self.scene = scene.clone();
        }
        let events = events.into_iter().map(|event| without_pages(&event).unwrap_or(event)).collect();
        let (scene, decided) = (differs.then_some(scene), self.decided.take());
        self.shared.push(Item::Round(Box::new(Round { now, events, scene, snapshot: snapshot.clone(), decided })));
    }

    /// Waits until all that was handed over is written, or has failed.
    pub fn settle(&self) {
        drop(self.shared.settle());
    }

    /// Removes all that was recorded, and waits for that. Says whether there was anything.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn forget_record(&mut self, now: Reading) -> brisk_record::Result<bool> {
        (self.scene, self.decided) = (Scene::default(), None);
        self.shared.push(Item::Forget(now));
        self.shared.settle().forgotten.take().unwrap_or(Ok(false))
    }

    /// Ends the record, and waits until all is written.
    pub fn close(&mut self, now: Reading) {
        self.shared.push(Item::Close(now));
        self.end();
    }

    fn end(&mut self) {
        self.shared.queue().ends = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of it was printed.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use brisk_record::{Item as Recorded, Reader, Session};

    use super::*;

    fn recorder(place: &config::Record) -> Recorder {
        Recorder::new(place.clone(), Session::default(), Configuration::default())
    }

    fn round(writer: &mut Writer, at_ns: u64) {
        let snapshot = Snapshot { at_ns, ..Snapshot::default() };
        writer.round(Reading::now(), Vec::new(), Scene::default(), &snapshot, None);
    }

    #[test]
    fn the_loop_does_not_wait_for_storage_and_says_what_is_left_out() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = config::Record { path: dir.path().join("daemon.brisk"), max_bytes: 1 << 20 };
        let (begun, begins) = channel();
        let (answers, answer): (_, Receiver<()>) = channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        // Storage that takes as long as the test says.
        let write = {
            let written = Arc::clone(&written);
            move |_: &str, text: &str| {
                begun.send(()).expect("the test waits");
                let _ = answer.recv();
                written.lock().expect("whole").push(text.to_owned());
                Ok(())
            }
        };
        let mut writer = Writer::start(place.clone(), recorder(&place), write).expect("a thread");
        writer.keep("iram/learned.json", "1".to_owned());
        begins.recv().expect("it writes");
        // All of this returns while the first write goes on.
        for text in ["2", "3"] {
            writer.keep("iram/learned.json", text.to_owned());
        }
        (0..ROUNDS_MAX as u64 + 7).for_each(|at_ns| round(&mut writer, at_ns));
        assert_eq!(writer.waiting(), BTreeMap::from([("iram/learned.json".to_owned(), "3".to_owned())]));
        assert_eq!(writer.record().1.as_deref(), Some("storage does not follow: 7 rounds are missing so far"));
        drop(answers);
        writer.settle();
        round(&mut writer, 1_000);
        writer.settle();
        assert_eq!(writer.record().1, None, "it follows again");
        writer.close(Reading::now());
        assert_eq!(*written.lock().expect("whole"), ["1", "3"], "the last text counts");
        let rounds =
            Reader::open(&place.path).expect("a record").filter(|item| matches!(item, Ok(Recorded::Snapshot(_))));
        assert_eq!(rounds.count(), ROUNDS_MAX + 1);
    }

    #[test]
    fn a_file_that_failed_is_told() {
        let place = config::Record { path: "none".into(), max_bytes: 0 };
        let write = |name: &str, text: &str| crate::learned::write(Path::new("/dev/null"), name, text);
        let mut writer = Writer::start(place.clone(), recorder(&place), write).expect("a thread");
        writer.keep("iram/learned.json", "{}".to_owned());
        writer.settle();
        let failed = writer.take_failed();
        assert!(failed[0].0 == "iram/learned.json" && failed[0].1.contains("/dev/null/iram"), "{failed:?}");
        assert!(writer.take_failed().is_empty() && writer.waiting().is_empty());
        round(&mut writer, 1);
        assert!(!writer.forget_record(Reading::now()).expect("recording is off"));
    }

    #[test]
    fn what_was_decided_in_a_round_that_was_left_out_comes_with_the_next() {
        let dir = tempfile::tempdir().expect("a directory");
        let off = config::Record { path: dir.path().join("daemon.brisk"), max_bytes: 0 };
        let mut writer = Writer::start(off.clone(), recorder(&off), |_: &str, _: &str| Ok(())).expect("a thread");
        let decided = Decided { at_ns: 7, ..Decided::default() };
        writer.round(Reading::now(), Vec::new(), Scene::default(), &Snapshot::default(), Some(decided.clone()));
        writer.configure(
            config::Record { max_bytes: 1 << 20, ..off.clone() },
            Configuration::default(),
            Reading::now(),
        );
        round(&mut writer, 8);
        writer.close(Reading::now());
        let items = Reader::open(&off.path).expect("a record").filter_map(|item| match item {
            Ok(Recorded::Decided(decided)) => Some(decided),
            _ => None,
        });
        assert_eq!(items.last(), Some(decided));
    }
}
