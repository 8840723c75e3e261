//! What is learned of apps, over returns, days and restarts: the only part of the state that is worth keeping in a
//! file.
//!
//! Addresses change with each process, so that pages are kept by what their mapping is: pages of files by file and
//! place in it, private pages by program, mapping and place in it ([`brisk_core::pages`]). What a new process finds
//! again there counts as one return, so that it decays soon where it is wrong. Apps are known by user and id; the one
//! that returned longest ago makes room.
//!
//! Bounds: 100 apps; 4096 ranges and 256 KiB of text an app, 4 MiB in all. Names of mappings are of any length and
//! number.
//!
//! Properties: `what_is_kept_is_read_back_and_forgotten_on_request`; `the_text_stays_small`;
//! `long_names_of_mappings_do_not_exceed_what_the_next_start_reads`.

use crate::kit::learned::json_bytes;
use crate::kit::{Apps, Version};
use brisk_core::pages::{Identity, MappedFile};
use serde::{Deserialize, Serialize};

use crate::mars::hot_set::{Heats, Repeated};

/// Weight of the newest return in means.
const NEWEST: f64 = 0.3;
/// Repeat share that is presumed (measured: hot sets of six apps are stable).
const REPEAT: f64 = 0.7;
/// Apps that are kept; ranges and bytes of text of one, and bytes of all.
const APPS_MAX: usize = 100;
pub(crate) const RANGES_MAX: usize = 4_096;
const APP_BYTES_MAX: usize = 256 << 10;
const ALL_BYTES_MAX: usize = 4 << 20;
/// Text of a range, of a mapping or file without its name, and of a process or app, at most.
const RANGE_BYTES: usize = 52;
const MAPPING_BYTES: usize = 160;
const PROCESS_BYTES: usize = 256;
/// Hot sets written out before it is seen again whether the kernel takes them.
const FORCED_MAX: u32 = 3;

/// Histories of the private pages of a process, by mapping.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessHeats {
    pub program: String,
    /// Place among the app's processes of that program.
    pub nth: u32,
    pub mappings: Vec<(Identity, Heats)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppMemory {
    /// Private pages that returns touched.
    pub processes: Vec<ProcessHeats>,
    /// Pages of files that returns touched.
    pub files: Vec<(MappedFile, Heats)>,
    /// Share of the touched pages that the next return touches again.
    pub repeat: f64,
    /// What the last return read from storage.
    pub read_bytes: Option<u64>,
    /// Share of the hot set that a return finds in swap when the kernel alone has decided; `None`: not seen yet, or too
    /// long ago.
    pub lost: Option<f64>,
    /// Returns since the kernel alone has decided.
    forced: u32,
}

impl Default for AppMemory {
    fn default() -> Self {
        Self { processes: Vec::new(), files: Vec::new(), repeat: REPEAT, read_bytes: None, lost: None, forced: 0 }
    }
}

impl AppMemory {
    /// The histories of a file's pages.
    #[must_use]
    pub fn file(&self, file: &MappedFile) -> Option<&Heats> {
        let at = self.files.binary_search_by(|(known, _)| known.cmp(file)).ok()?;
        Some(&self.files[at].1)
    }

    pub fn file_mut(&mut self, file: &MappedFile) -> &mut Heats {
        let at = match self.files.binary_search_by(|(known, _)| known.cmp(file)) {
            Ok(at) => at,
            Err(at) => {
                self.files.insert(at, (file.clone(), Heats::default()));
                at
            }
        };
        &mut self.files[at].1
    }

    /// The histories of a mapping, as a former process had it.
    #[must_use]
    pub fn mapping(&self, program: &str, nth: u32, identity: &Identity) -> Option<&Heats> {
        let process = self.processes.iter().find(|known| known.program == program && known.nth == nth)?;
        process.mappings.iter().find(|(known, _)| known == identity).map(|(_, heats)| heats)
    }

    /// Keeps these mappings of a process; others of it stay as they were.
    pub fn keep(&mut self, of: ProcessHeats) {
        let Some(known) = self.processes.iter_mut().find(|known| known.program == of.program && known.nth == of.nth)
        else {
            self.processes.push(of);
            return;
        };
        for (identity, heats) in of.mappings {
            match known.mappings.iter_mut().find(|(known, _)| *known == identity) {
                Some((_, before)) => *before = heats,
                None => known.mappings.push((identity, heats)),
            }
        }
    }

    /// Learns how stable its hot set is.
    pub fn repeated(&mut self, repeated: Repeated) {
        if repeated.before_pages > 0 {
            let share = repeated.again_pages as f64 / repeated.before_pages as f64;
            self.repeat += NEWEST * (share - self.repeat);
        }
    }

    /// A return found this share of the hot set in swap; `forced`: this engine had written it out.
    pub fn found(&mut self, lost: f64, forced: bool) {
        if !forced {
            self.lost = Some(self.lost.map_or(lost, |before| before + 0.5 * (lost - before)));
            self.forced = 0;
            return;
        }
        self.forced += 1;
        if self.forced >= FORCED_MAX {
            (self.lost, self.forced) = (None, 0);
        }
    }

    /// Length of its text, about; not less than it is.
    fn text_bytes(&self) -> usize {
        let of_process = |of: &ProcessHeats| {
            let mappings = of.mappings.iter().map(|(identity, heats)| text_bytes(identity_name(identity), heats));
            PROCESS_BYTES + json_bytes(&of.program) + mappings.sum::<usize>()
        };
        let files = self.files.iter().map(|(file, heats)| text_bytes(&file.path, heats));
        PROCESS_BYTES + self.processes.iter().map(of_process).sum::<usize>() + files.sum::<usize>()
    }
}

fn identity_name(identity: &Identity) -> &str {
    match identity {
        Identity::File(file) => &file.path,
        Identity::Anonymous { name, .. } => name,
    }
}

/// The mappings of a process: what comes before one in the text, its name, and its histories.
fn of_process(process: &mut ProcessHeats) -> impl Iterator<Item = (usize, &str, &mut Heats)> {
    let mut own_bytes = PROCESS_BYTES + json_bytes(&process.program);
    let mappings = process.mappings.iter_mut();
    mappings.map(move |(identity, heats)| (std::mem::take(&mut own_bytes), identity_name(identity), heats))
}

/// Length of the text of a mapping or a file.
fn text_bytes(name: &str, heats: &Heats) -> usize {
    MAPPING_BYTES + json_bytes(name) + RANGE_BYTES * heats.ranges().len()
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// First, so that a later form is refused for its version, not for what it has.
    version: Version<1>,
    apps: Apps<AppMemory>,
}

impl crate::kit::Learned for Learned {
    fn forget(&mut self, app: Option<&str>) -> bool {
        self.apps.forget(app)
    }
}

impl Learned {
    #[must_use]
    pub fn app(&self, id: &str) -> Option<&AppMemory> {
        self.apps.get(id)
    }

    /// The same to change, where anything is known.
    pub fn known_mut(&mut self, id: &str) -> Option<&mut AppMemory> {
        self.apps.get_mut(id)
    }

    /// The app returned: what is known of it, to change.
    pub fn returned(&mut self, id: &str) -> &mut AppMemory {
        self.apps.used(id, AppMemory::default)
    }

    /// Keeps within its bounds: ranges and text of one app, text of all, and their number. The app that returned last
    /// stays.
    pub fn bound(&mut self) {
        for app in self.apps.iter_mut() {
            let repeat = app.repeat;
            let of_files = app.files.iter_mut().map(|(file, heats)| (0, file.path.as_str(), heats));
            let all = app.processes.iter_mut().flat_map(of_process);
            let (mut rest, mut rest_bytes) = (RANGES_MAX, APP_BYTES_MAX - PROCESS_BYTES);
            for (own_bytes, name, heats) in all.chain(of_files) {
                rest_bytes = rest_bytes.saturating_sub(own_bytes);
                let fit = rest_bytes.saturating_sub(text_bytes(name, &Heats::default())) / RANGE_BYTES;
                heats.bound(rest.min(fit), repeat);
                if !heats.ranges().is_empty() {
                    rest -= heats.ranges().len();
                    rest_bytes -= text_bytes(name, heats);
                }
            }
            app.processes
                .iter_mut()
                .for_each(|process| process.mappings.retain(|(_, heats)| !heats.ranges().is_empty()));
            app.processes.retain(|process| !process.mappings.is_empty());
            app.files.retain(|(_, heats)| !heats.ranges().is_empty());
        }
        self.apps.bound(APPS_MAX, AppMemory::text_bytes, ALL_BYTES_MAX);
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::learned::assert_keeps;
    use brisk_core::pages::PageRange;

    use super::*;

    fn heats(ranges: usize) -> Heats {
        let mut heats = Heats::default();
        let touched = (0..ranges as u64).map(|at| PageRange { first_page: at * 3, pages: 1 });
        heats.note(&touched.collect::<Vec<_>>(), &[]);
        heats
    }

    fn learned(apps: usize, ranges: usize) -> Learned {
        let mut learned = Learned::default();
        for app in 0..apps {
            let heap = Identity::Anonymous { name: "[heap]".to_owned(), nth: 0 };
            let of = ProcessHeats { program: "x".to_owned(), nth: 0, mappings: vec![(heap, heats(ranges))] };
            let memory = learned.returned(&format!("org.example.App{app}"));
            memory.keep(of);
            *memory.file_mut(&MappedFile { device: 1, inode: 2, path: "/usr/bin/x".to_owned() }) = heats(3);
            learned.bound();
        }
        learned
    }

    #[test]
    fn what_is_kept_is_read_back_and_forgotten_on_request() {
        let learned = learned(3, 40);
        assert_keeps(&learned, "org.example.App1");
        let heap = Identity::Anonymous { name: "[heap]".to_owned(), nth: 0 };
        assert_eq!(learned.app("org.example.App1").and_then(|app| app.mapping("x", 0, &heap)), Some(&heats(40)));
    }

    #[test]
    fn the_text_stays_small() {
        let few = learned(300, 10);
        assert_eq!(few.apps.iter().count(), APPS_MAX);
        assert!(few.app("org.example.App199").is_none() && few.app("org.example.App200").is_some());
        let large = learned(30, 10_000);
        let about: usize = large.apps.iter().map(|(_, app)| app.text_bytes()).sum();
        assert!((ALL_BYTES_MAX - APP_BYTES_MAX..=ALL_BYTES_MAX).contains(&about), "{about}");
        let text = serde_json::to_string(&large).expect("JSON");
        assert!(text.len() < ALL_BYTES_MAX, "{}", text.len());
    }

    #[test]
    fn long_names_of_mappings_do_not_exceed_what_the_next_start_reads() {
        let mut learned = Learned::default();
        for app in 0..40 {
            let name = |nth: usize| format!("/{}{nth}", "\u{1}\"é".repeat(500));
            let mapping = |nth: usize| (Identity::Anonymous { name: name(nth), nth: u32::MAX }, heats(1));
            let memory = learned.returned(&format!("{app}{}", "\\".repeat(250)));
            memory.keep(ProcessHeats { program: "x".repeat(15), nth: 0, mappings: (0..400).map(mapping).collect() });
            for nth in 0..400 {
                *memory.file_mut(&MappedFile { device: u64::MAX, inode: u64::MAX, path: name(nth) }) = heats(1);
            }
            learned.bound();
        }
        let (about, text) = learned.apps.iter().fold((0, 0), |(about, text), (_, app)| {
            (about + app.text_bytes(), text + serde_json::to_string(app).expect("JSON").len())
        });
        assert!(text <= about && about <= ALL_BYTES_MAX, "{text} of about {about}");
        assert!(about > ALL_BYTES_MAX / 2 && learned.apps.iter().count() > 10, "{about}");
    }

    #[test]
    fn evidence_that_this_engine_made_itself_does_not_last() {
        let mut app = AppMemory::default();
        app.found(0.8, false);
        app.found(0.4, false);
        assert!(app.lost.is_some_and(|lost| (lost - 0.6).abs() < 1e-9));
        (0..2).for_each(|_| app.found(1.0, true));
        assert!(app.lost.is_some_and(|lost| (lost - 0.6).abs() < 1e-9));
        app.found(1.0, true);
        assert_eq!(app.lost, None);
    }
}
