//! Records observations, decisions and outcomes; continues without a record when the disk is full, and tries again. A
//! record with a damaged head is renamed, and a new one begins.

use std::os::unix::fs::DirBuilderExt as _;

use brisk_core::causes::in_one_line;
use brisk_core::event::{Event, EventKind};
use brisk_core::launch::LaunchFiles;
use brisk_core::pages::{AppPages, Away, Touched};
use brisk_core::snapshot::Snapshot;
use brisk_record::{Configuration, Decided, End, Error, Scene, Session, Writer};

use crate::clocks::Reading;
use crate::config;

/// Time to the next try after the record could not be written.
const RETRY_NS: u64 = 60_000_000_000;

/// Mappings (each as so many ranges) and ranges of an event that is recorded whole: a tenth of a megabyte.
const ITEMS_MAX: usize = 5_000;
const ITEMS_OF_MAPPING: usize = 8;

/// What one round leaves in the record.
#[derive(Debug)]
pub struct Round {
    pub now: Reading,
    pub events: Vec<Event>,
    /// Devices and apps, where they differ from the round before.
    pub scene: Option<Scene>,
    pub snapshot: Snapshot,
    /// The decision, where it differs from the one before.
    pub decided: Option<Decided>,
}

/// The record of this session.
#[derive(Debug)]
pub struct Recorder {
    place: config::Record,
    session: Session,
    writer: Option<Writer>,
    trouble: Option<String>,
    retry_ns: u64,
    /// The state at the beginning of a session.
    configuration: Configuration,
    scene: Scene,
    decided: Option<Decided>,
    /// Of sessions before this one.
    bytes_before: u64,
    samples: u64,
}

impl Recorder {
    /// Begins a session with the first item.
    #[must_use]
    pub fn new(place: config::Record, session: Session, configuration: Configuration) -> Self {
        Self {
            place,
            session,
            writer: None,
            trouble: None,
            retry_ns: 0,
            configuration,
            scene: Scene::default(),
            decided: None,
            bytes_before: 0,
            samples: 0,
        }
    }

    /// Why nothing is recorded, although recording is on.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes_before + self.writer.as_ref().map_or(0, |writer| writer.written().bytes)
    }

    /// Uses another configuration from now on.
    pub fn configure(&mut self, place: config::Record, configuration: Configuration, now: Reading) {
        if place != self.place {
            self.close(now);
            (self.place, self.trouble, self.retry_ns) = (place, None, 0);
        }
        if configuration != self.configuration {
            self.configuration = configuration;
            let configuration = self.configuration.clone();
            self.write(now, |writer| writer.configuration(&configuration));
        }
    }

    /// Records one round.
    pub fn round(&mut self, round: Round) {
        let Round { now, events, scene, snapshot, decided } = round;
        let scene_differs = scene.is_some();
        self.scene = scene.unwrap_or_else(|| std::mem::take(&mut self.scene));
        if let Some(decided) = &decided {
            self.decided = Some(decided.clone());
        }
        let scene = scene_differs.then(|| self.scene.clone());
        self.write(now, |writer| {
            scene.iter().try_for_each(|scene| writer.scene(scene))?;
            events.iter().try_for_each(|event| writer.event(event))?;
            writer.snapshot(&snapshot)?;
            decided.iter().try_for_each(|decided| writer.decided(decided))
        });
        self.samples += 1;
    }

    /// Ends the session, and syncs it to the disk.
    pub fn close(&mut self, now: Reading) {
        let Some(writer) = self.writer.take() else { return };
        self.bytes_before += writer.written().bytes;
        let end = End { ended_unix_ms: now.wall_unix_ms(), samples: self.samples, ..End::default() };
        if let Err(error) = writer.end(&end) {
            brisk_program::warn!("briskd: the record lacks its end: {}", in_one_line(&error));
        }
    }

    /// Removes all that was recorded; a new session begins with the next item. Says whether there was anything.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn forget(&mut self, now: Reading) -> brisk_record::Result<bool> {
        self.close(now);
        (self.scene, self.decided) = (Scene::default(), None);
        if self.place.max_bytes == 0 { Ok(false) } else { brisk_record::remove(&self.place.path) }
    }

    fn write(&mut self, now: Reading, write: impl FnOnce(&mut Writer) -> brisk_record::Result<()>) {
        if self.place.max_bytes == 0 || now.monotonic_ns < self.retry_ns {
            return;
        }
        let outcome = self.writer(now).and_then(write);
        match (outcome, &self.trouble) {
            (Ok(()), None) => {}
            (Ok(()), Some(_)) => {
                brisk_program::notice!("briskd: records again in {}", self.place.path.display());
                self.trouble = None;
            }
            (Err(error), before) => {
                let trouble = in_one_line(&error);
                if before.as_ref() != Some(&trouble) {
                    brisk_program::error!("briskd: cannot record: {trouble}; tries again every minute");
                }
                self.bytes_before = self.bytes();
                (self.writer, self.trouble) = (None, Some(trouble));
                let wait_ns = if make_room(&error) { 0 } else { RETRY_NS };
                self.retry_ns = now.monotonic_ns.saturating_add(wait_ns);
            }
        }
    }

    /// The writer; a new one begins with the current state.
    fn writer(&mut self, now: Reading) -> brisk_record::Result<&mut Writer> {
        if self.writer.is_none() {
            if let Some(dir) = self.place.path.parent() {
                // What fails here fails again, with the better message, at the file.
                let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
            }
            let session = Session { started_unix_ms: now.wall_unix_ms(), ..self.session.clone() };
            let mut writer = Writer::begin(&self.place.path, session, Some(self.place.max_bytes))?;
            writer.configuration(&self.configuration)?;
            writer.scene(&self.scene)?;
            self.decided.iter().try_for_each(|decided| writer.decided(decided))?;
            self.writer = Some(writer);
        }
        Ok(self.writer.as_mut().expect("made a moment ago"))
    }
}

/// The same event without its pages, where those would crowd out the rest of the record: an app of many processes has
/// megabytes of them. A replay decides otherwise from there on, where an engine decides by pages.
#[must_use]
pub fn without_pages(event: &Event) -> Option<Event> {
    let kind = match &event.kind {
        EventKind::Scanned { group, pages } if items_of_scan(pages) > ITEMS_MAX => EventKind::Scanned {
            group: group.clone(),
            pages: AppPages { page_bytes: pages.page_bytes, processes: Vec::new() },
        },
        EventKind::Returned { group, touched } if items_of_return(touched) > ITEMS_MAX => EventKind::Returned {
            group: group.clone(),
            touched: Touched { page_bytes: touched.page_bytes, processes: Vec::new(), read_bytes: touched.read_bytes },
        },
        EventKind::LaunchUsed { group, files } if items_of_launch(files) > ITEMS_MAX => EventKind::LaunchUsed {
            group: group.clone(),
            files: LaunchFiles { page_bytes: files.page_bytes, opens: files.opens, files: Vec::new() },
        },
        _ => return None,
    };
    Some(Event { at_ns: event.at_ns, kind })
}

/// Mappings and ranges of a scan.
fn items_of_scan(pages: &AppPages) -> usize {
    let mappings = pages.processes.iter().flat_map(|process| &process.mappings);
    mappings.map(|of| ITEMS_OF_MAPPING + of.private.len() + of.file.len() + of.swapped.len()).sum()
}

/// The same of what a return touched.
fn items_of_return(touched: &Touched) -> usize {
    let mappings = touched.processes.iter().flat_map(|process| &process.mappings);
    let ranges = |away: &Away| away.touched.len() + away.untouched.len();
    mappings.map(|of| ITEMS_OF_MAPPING + ranges(&of.swapped) + ranges(&of.file)).sum()
}

/// The same of what a launch used of files.
fn items_of_launch(files: &LaunchFiles) -> usize {
    files.files.iter().map(|file| ITEMS_OF_MAPPING + file.used.len() + file.placed.len()).sum()
}

/// Renames the damaged record that an error is about; whether a new one can begin now.
fn make_room(error: &Error) -> bool {
    let Error::NotARecord { path } = error else { return false };
    match brisk_record::set_damaged_aside(path) {
        Ok(Some(aside)) => {
            let (path, aside) = (path.display(), aside.display());
            brisk_program::warn!(
                "briskd: {path} is damaged and was renamed to {aside}; a new record begins; 'brisk replay' reads the \
                 intact part"
            );
            true
        }
        Ok(None) => false,
        Err(error) => {
            brisk_program::error!("briskd: {}", in_one_line(&error));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_record::Reader;

    fn record(path: &std::path::Path, rounds: u64) -> Recorder {
        let place = config::Record { path: path.to_owned(), max_bytes: 64 << 10 };
        let mut recorder = Recorder::new(place, Session::default(), Configuration::default());
        for round in 0..rounds {
            let snapshot = Snapshot { at_ns: round, ..Snapshot::default() };
            let (now, events) = (Reading::now(), Vec::new());
            recorder.round(Round { now, events, scene: None, snapshot, decided: None });
        }
        recorder
    }

    #[test]
    fn a_damaged_record_makes_room_for_a_new_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("daemon.brisk");
        std::fs::write(&path, "noise").expect("damaged");
        let mut recorder = record(&path, 3);
        assert_eq!(recorder.trouble(), None);
        recorder.close(Reading::now());
        assert!(Reader::open(&path).expect("a record").count() > 3);
        assert_eq!(std::fs::read(dir.path().join("daemon.brisk.damaged")).expect("kept"), b"noise");
    }

    #[test]
    fn large_scans_are_recorded_without_their_pages() {
        use brisk_core::pages::{Identity, Mapping, MappingPages, PageRange, ProcessPages};
        let scanned = |mappings: u64| {
            let mapping = |nth: u64| {
                let range = PageRange { first_page: nth, pages: 1 };
                let identity = Identity::Anonymous { name: String::new(), nth: 0 };
                let mapping = Mapping { identity, start: nth << 12, range, swappable: true };
                MappingPages { mapping, private: vec![range], file: Vec::new(), swapped: Vec::new() }
            };
            let process = ProcessPages { mappings: (0..mappings).map(mapping).collect(), ..ProcessPages::default() };
            let pages = AppPages { page_bytes: 4096, processes: vec![process] };
            Event { at_ns: 7, kind: EventKind::Scanned { group: "app-a-1.scope".to_owned(), pages } }
        };
        assert_eq!(without_pages(&scanned(500)), None);
        let pages = AppPages { page_bytes: 4096, processes: Vec::new() };
        let kind = EventKind::Scanned { group: "app-a-1.scope".to_owned(), pages };
        // Far more than one frame holds.
        assert_eq!(without_pages(&scanned(50_000)), Some(Event { at_ns: 7, kind }));
    }

    #[test]
    fn a_file_that_is_no_record_is_left_and_the_remedy_told() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("notes");
        std::fs::write(&path, "mine").expect("a file");
        let recorder = record(&path, 1);
        assert!(recorder.trouble().is_some_and(|trouble| trouble.contains("name another file")), "{recorder:?}");
        assert_eq!(std::fs::read(&path).expect("kept"), b"mine");
    }
}
