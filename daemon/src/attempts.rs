//! First uses of kernel features that may kill the daemon: it does not repeat what has killed it twice.
//!
//! A *part* is a place where the daemon asks the kernel for something that a filter of system calls, a security module
//! or a fault of the kernel may answer by its death: a source of events, the watch of opened files, each kind of action
//! and of settings. Before the first use of a part since the start, a *mark* is made (a small file in the run
//! directory), and removed after it. A mark that a start finds was left by a daemon that died there: a *crash* of that
//! part, which is counted in a file with what was learned, since it has to outlive the next start. After
//! [`CRASHES_MAX`] crashes the part *rests*: the daemon does without it, says so, and tries it again when it is told to
//! (`brisk config reload --retry`). A part that has a crash is marked at every use, not at the first alone.
//!
//! The run directory is in memory: a power cut in the middle of a part is no crash of it, and marks do not wear flash.
//!
//! Properties: `a_part_with_two_crashes_rests_until_it_is_told`; `what_ended_or_was_closed_is_no_crash`;
//! `of_several_parts_the_one_that_began_last_has_crashed`; `a_mark_that_cannot_be_made_is_no_obstacle`;
//! with a daemon that is killed for real (`tests/attempts.rs`):
//! `a_daemon_that_was_killed_twice_in_one_place_does_without_it`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use brisk_api::Resting;

/// A part with so many crashes rests.
pub const CRASHES_MAX: u32 = 2;
/// Directory of the marks, in the run directory.
const MARKS: &str = "attempts";
/// File of the crashes, beside what engines have learned.
const CRASHES: &str = "crashes.json";
/// Larger files are none of ours.
const FILE_BYTES_MAX: u64 = 64 << 10;
/// A number.
const MARK_BYTES_MAX: u64 = 64;
/// Parts of a damaged or foreign file are not kept without end.
const PARTS_MAX: usize = 64;

/// The parts that were tried, and those that rest.
#[derive(Debug, Default)]
pub struct Attempts {
    marks: PathBuf,
    crashes_path: PathBuf,
    /// Whether marks are made: a dry run makes none.
    marks_parts: bool,
    crashes: BTreeMap<String, u32>,
    /// Parts whose first use since the start has ended.
    tried: BTreeSet<String>,
    under_way: BTreeSet<String>,
    /// Number of marks so far, which tells their order.
    begun: u64,
}

impl Attempts {
    /// Counts the marks of a daemon that died. Complaints say what cannot be read or written; they are no obstacle.
    #[must_use]
    pub fn open(run_dir: &Path, learned_dir: &Path, dry_run: bool) -> (Self, Vec<String>) {
        let (marks, crashes_path) = (run_dir.join(MARKS), learned_dir.join(CRASHES));
        let mut complaints = Vec::new();
        let mut attempts = Self { marks, crashes_path, marks_parts: !dry_run, ..Self::default() };
        match brisk_program::files::read_text(&attempts.crashes_path, FILE_BYTES_MAX) {
            Ok(text) => match serde_json::from_str(&text) {
                Ok(crashes) => attempts.crashes = crashes,
                Err(error) => {
                    complaints.push(format!("{} cannot be understood: {error}", attempts.crashes_path.display()));
                }
            },
            Err(error) if error.is_missing() => {}
            Err(error) => complaints.push(format!("earlier crashes are unknown: {error}")),
        }
        let left: Vec<PathBuf> =
            fs::read_dir(&attempts.marks).into_iter().flatten().flatten().map(|mark| mark.path()).collect();
        if dry_run || left.is_empty() {
            return (attempts, complaints);
        }
        // An action may go on in a thread while another part begins: of several marks, the last one is that of the
        // crash. Where it was another part after all, that one is the last as soon as those after it rest.
        let text = |mark: &PathBuf| brisk_program::files::read_text(mark, MARK_BYTES_MAX).ok();
        let order = |mark: &PathBuf| text(mark).and_then(|text| text.parse::<u64>().ok());
        if let Some(mark) = left.iter().max_by_key(|mark| order(mark)) {
            let part = mark.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if attempts.crashes.len() < PARTS_MAX || attempts.crashes.contains_key(part) {
                *attempts.crashes.entry(part.to_owned()).or_default() += 1;
            }
        }
        // Counted first: a mark is removed only when the count will be known.
        match attempts.save() {
            Ok(()) => left.iter().for_each(|mark| drop(fs::remove_file(mark))),
            Err(error) => {
                complaints.push(format!("cannot write {}: {error}", attempts.crashes_path.display()));
            }
        }
        (attempts, complaints)
    }

    pub fn resting(&self) -> impl Iterator<Item = Resting> + '_ {
        self.crashes
            .iter()
            .filter(|(_, crashes)| **crashes >= CRASHES_MAX)
            .map(|(part, crashes)| Resting { part: part.clone(), crashes: *crashes })
    }

    /// Whether a part was used since the start.
    #[must_use]
    pub fn is_tried(&self, part: &str) -> bool {
        self.tried.contains(part)
    }

    /// A part is used now, until [`Self::end`].
    ///
    /// # Errors
    /// When it rests.
    pub fn begin(&mut self, part: &str) -> Result<(), Resting> {
        let crashes = self.crashes.get(part).copied().unwrap_or(0);
        if crashes >= CRASHES_MAX {
            return Err(Resting { part: part.to_owned(), crashes });
        }
        let is_marked = crashes > 0 || !self.is_tried(part);
        if is_marked && self.under_way.insert(part.to_owned()) && self.marks_parts {
            // Without space a part is used without a mark.
            self.begun += 1;
            let number = self.begun.to_string();
            let mark = self.marks.join(part);
            // What lies there by its name may be no file.
            let _ = fs::create_dir_all(&self.marks).and_then(|()| fs::remove_file(&mark));
            let _ = File::create_new(&mark).and_then(|mut file| file.write_all(number.as_bytes()));
        }
        Ok(())
    }

    /// The daemon has lived through a use of the part.
    pub fn end(&mut self, part: &str) {
        if self.under_way.remove(part) {
            let _ = fs::remove_file(self.marks.join(part));
            self.tried.insert(part.to_owned());
        }
    }

    /// Uses a part.
    ///
    /// # Errors
    /// When it rests.
    pub fn using<T>(&mut self, part: &str, act: impl FnOnce() -> T) -> Result<T, Resting> {
        self.begin(part)?;
        let outcome = act();
        self.end(part);
        Ok(outcome)
    }

    /// Forgets all crashes: every part is tried again.
    ///
    /// # Errors
    /// When their file cannot be removed; they are forgotten until the next start.
    pub fn retry(&mut self) -> std::io::Result<()> {
        self.crashes.clear();
        self.tried.clear();
        match fs::remove_file(&self.crashes_path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The daemon ends in order: what is under way is no crash.
    pub fn close(&mut self) {
        for part in std::mem::take(&mut self.under_way) {
            let _ = fs::remove_file(self.marks.join(part));
        }
        let _ = fs::remove_dir(&self.marks);
    }

    fn save(&self) -> std::io::Result<()> {
        let text = serde_json::to_string(&self.crashes).expect("a map with texts as keys is JSON");
        if let Some(dir) = self.crashes_path.parent() {
            fs::create_dir_all(dir)?;
        }
        brisk_program::files::replace_regular(&self.crashes_path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct RunDirs(tempfile::TempDir);

    impl RunDirs {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("a directory"))
        }

        /// A daemon that starts here.
        fn open(&self) -> Attempts {
            let (attempts, complaints) =
                Attempts::open(&self.0.path().join("run"), &self.0.path().join("learned"), false);
            assert_eq!(complaints, Vec::<String>::new());
            attempts
        }
    }

    #[test]
    fn a_part_with_two_crashes_rests_until_it_is_told() {
        let place = RunDirs::new();
        for crashes in 0..CRASHES_MAX {
            let mut attempts = place.open();
            assert_eq!(attempts.resting().count(), 0, "after {crashes}");
            attempts.begin("page_out").expect("it does not rest");
            assert_eq!(attempts.using("page_in", || 7), Ok(7), "another part");
            // It dies here.
        }
        let resting = Resting { part: "page_out".to_owned(), crashes: CRASHES_MAX };
        for _ in 0..2 {
            let mut attempts = place.open();
            assert_eq!(attempts.resting().collect::<Vec<_>>(), std::slice::from_ref(&resting));
            assert_eq!(attempts.using("page_out", || panic!("it acts")), Err::<(), _>(resting.clone()));
            assert_eq!(attempts.begin("page_in"), Ok(()), "another part");
            attempts.close();
        }
        let mut told = place.open();
        told.retry().expect("removed");
        assert_eq!((told.begin("page_out"), told.resting().count()), (Ok(()), 0));
        told.close();
        assert_eq!(place.open().resting().count(), 0);
    }

    #[test]
    fn what_ended_or_was_closed_is_no_crash() {
        let place = RunDirs::new();
        let mark = place.0.path().join("run/attempts/freeze");
        for _ in 0..3 {
            let mut attempts = place.open();
            attempts.begin("freeze").expect("it does not rest");
            assert!(mark.exists());
            attempts.end("freeze");
            assert!(!mark.exists());
            attempts.begin("freeze").expect("it does not rest");
            assert!(!mark.exists(), "only the first use is marked");
            attempts.begin("reclaim").expect("it does not rest");
            attempts.close();
        }
        // One that has died there once is marked at each use.
        place.open().begin("freeze").expect("it does not rest");
        let mut attempts = place.open();
        for _ in 0..2 {
            attempts.begin("freeze").expect("it does not rest");
            assert!(mark.exists());
            attempts.end("freeze");
        }
    }

    #[test]
    fn of_several_parts_the_one_that_began_last_has_crashed() {
        let place = RunDirs::new();
        for _ in 0..CRASHES_MAX {
            let mut attempts = place.open();
            // One that goes on in a thread, and would be the last by its name.
            attempts.begin("prefetch").expect("it does not rest");
            attempts.begin("opened_files").expect("it does not rest");
        }
        let resting: Vec<String> = place.open().resting().map(|one| one.part).collect();
        assert_eq!(resting, ["opened_files"]);
    }

    #[test]
    fn a_mark_that_cannot_be_made_is_no_obstacle() {
        let place = RunDirs::new();
        fs::write(place.0.path().join("run"), "no directory").expect("written");
        let mut attempts = place.open();
        assert_eq!(attempts.using("page_out", || 1), Ok(1));
        attempts.close();
    }

    #[test]
    fn a_dry_run_marks_and_counts_nothing_and_lets_rest_what_rests() {
        let place = RunDirs::new();
        place.open().begin("freeze").expect("it does not rest");
        let dry = || Attempts::open(&place.0.path().join("run"), &place.0.path().join("learned"), true).0;
        assert!(dry().begin("freeze").is_ok() && dry().begin("reclaim").is_ok());
        assert!(!place.0.path().join("learned").exists() && !place.0.path().join("run/attempts/reclaim").exists());
        place.open().begin("freeze").expect("it does not rest");
        assert_eq!(place.open().resting().count(), 1);
        assert!(dry().begin("freeze").is_err());
    }

    #[test]
    fn a_file_of_noise_is_a_complaint_and_no_part_rests() {
        let place = RunDirs::new();
        let learned = place.0.path().join("learned");
        fs::create_dir(&learned).expect("made");
        fs::write(learned.join(CRASHES), "{\"a\":-1}").expect("written");
        let (attempts, complaints) = Attempts::open(&place.0.path().join("run"), &learned, false);
        assert!(attempts.resting().count() == 0 && complaints[0].contains("crashes.json"), "{complaints:?}");
    }

    #[test]
    fn a_part_that_rests_is_named_with_the_way_out() {
        let said = Resting { part: "page_out".to_owned(), crashes: 2 }.to_string();
        assert_eq!(
            said,
            "page out rests: briskd has died in it 2 times ('brisk config reload --retry' tries it again)"
        );
    }
}
