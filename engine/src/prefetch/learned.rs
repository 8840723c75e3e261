//! What is learned of the launches of apps, for the file in which the caller keeps it.
//!
//! Of each app: the files that its launches use with the history of their pages ([`crate::prefetch::history`]), and a
//! tally of what was read ahead and used. Paths are those of files of packages; the caller leaves out private ones, and
//! [`Learned::learn`] does so again.
//!
//! Bounds: 200 apps; 64 KiB of text an app and 3 MiB in all. An app that exceeds its share gets coarser ranges, then
//! loses the files of which it uses least; beyond the sum, the app that was launched longest ago is forgotten.
//!
//! Properties: `what_is_kept_is_read_back_and_forgotten_on_request`; `the_text_of_an_app_stays_within_its_bound`;
//! `another_version_of_a_file_is_learned_anew`; `a_file_is_shared_by_the_apps_that_use_it`;
//! `private_files_are_not_learned`.

use std::collections::BTreeSet;

use crate::kit::learned::json_bytes;
use crate::kit::{Apps, Version};
use brisk_core::launch::{FileVersion, LaunchFiles, PrefetchFile, UsedFile, is_private};
use brisk_core::pages::{MappedFile, PageRange};
use serde::{Deserialize, Serialize};

use crate::prefetch::config::Config;
use crate::prefetch::history::{LAUNCHES_MAX, Spans, common_pages};
use crate::prefetch::ready::Habits;

pub const APPS_MAX: usize = 200;
/// Apps with which files are compared while a user waits.
const COMPARED_MAX: usize = 16;
pub const APP_BYTES_MAX: usize = 64 << 10;
pub const ALL_BYTES_MAX: usize = 3 << 20;
/// Pages that the kernel maps at once around one that a process asks for (fault-around, 64 KiB).
pub const WINDOW_PAGES: u32 = 16;
/// Gaps over which ranges are joined, one after the other, until an app fits.
const GAPS_PAGES: [u32; 6] = [1, 2, 4, 8, 16, 64];
/// Gaps up to here cost a device nothing.
const SMALL_GAP_PAGES: u32 = 4;
/// Exact launches in a row that found most in memory, after which what they showed is good enough.
const EXACT_TRIES: u8 = 3;
/// Exact launches of an app: so many at first, then one of so many. Nothing is read ahead of them, and those that end
/// before they can be read, or use other pages each time, would go on for ever.
const EXACT_FIRST: u64 = 3;
const EXACT_EVERY: u64 = 16;
/// An inexact launch that uses more than this part of its pages elsewhere calls for an exact one.
const OUTSIDE_PART: u64 = 4;

/// A file that launches use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub struct KnownFile {
    pub file: MappedFile,
    pub version: FileVersion,
    /// Launches that were learned since it is known.
    pub launches: u32,
    /// The pages that they used.
    pub spans: Spans,
    /// Whether they opened it and mapped nothing of it.
    pub opened: bool,
}

/// A file in the text, without names, since an app has hundreds: path, device, inode, version, launches, whether it is
/// opened alone, pages.
type Row = (String, u64, u64, FileVersion, u32, bool, Spans);

impl From<Row> for KnownFile {
    fn from((path, device, inode, version, launches, opened, spans): Row) -> Self {
        Self { file: MappedFile { device, inode, path }, version, launches, spans, opened }
    }
}

impl From<KnownFile> for Row {
    fn from(KnownFile { file, version, launches, spans, opened }: KnownFile) -> Self {
        (file.path, file.device, file.inode, version, launches, opened, spans)
    }
}

impl KnownFile {
    #[must_use]
    pub fn to_read(&self) -> PrefetchFile {
        PrefetchFile { file: self.file.clone(), version: self.version }
    }

    /// A file that no launch has used before.
    fn new(of: &UsedFile) -> Self {
        let (file, version) = (of.file.clone(), of.version);
        Self { file, version, launches: 0, spans: Spans::default(), opened: of.opened }
    }

    fn is(&self, used: &UsedFile) -> bool {
        self.file.inode == used.file.inode && self.version == used.version
    }

    /// Length of its text, about.
    fn text_bytes(&self) -> usize {
        let path = json_bytes(&self.file.path);
        let numbers =
            [self.file.device, self.file.inode, self.version.changed_ns.unsigned_abs(), self.version.size_bytes];
        let digits = |number: u64| number.checked_ilog10().map_or(1, |log| log as usize + 1);
        // The others: brackets, commas, quotes, a sign, "false" and a digit.
        24 + numbers.into_iter().map(digits).sum::<usize>() + path + String::from(self.spans.clone()).len()
    }
}

/// What was read ahead so far, and what of it launches used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Launches for which it is known.
    pub launches: u64,
    /// Bytes that were asked for.
    pub asked_bytes: u64,
    /// What of them the device read; the others were in memory.
    pub read_bytes: u64,
    /// What of those asked for the launch used.
    pub used_bytes: u64,
}

/// What is known of the launches of an app.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AppLaunches {
    pub launches: u64,
    /// Launches that were learned.
    pub learned: u64,
    /// Exact launches that found most of what they use in memory.
    exact_tries: u8,
    /// Exact launches that began.
    exact_begun: u64,
    /// Whether the ranges are known exactly.
    pub exact: bool,
    pub files: Vec<KnownFile>,
    /// What was read ahead.
    pub tally: Tally,
}

/// How a launch was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    /// Whether pages come in that were not known: all that it has mapped are near ones that it asked for.
    pub adds: bool,
    /// Most of what it used was read from the device; `None` where that is unknown.
    pub cold: Option<bool>,
}

impl AppLaunches {
    /// Whether the launch that begins is to be an exact one; then it counts as one.
    pub fn begins_exactly(&mut self) -> bool {
        let begins = !self.exact && self.exact_begun < EXACT_FIRST + self.launches / EXACT_EVERY;
        self.exact_begun += u64::from(begins);
        begins
    }

    /// Whether all launches that were learned found what they use in memory: they map all that lies around it there,
    /// and reading that ahead costs more than it gains.
    #[must_use]
    pub fn is_of_warm_launches(&self) -> bool {
        !self.exact && self.learned <= u64::from(self.exact_tries)
    }

    /// Takes in what a launch used. Says whether files were changed since the last one.
    fn learn(&mut self, config: &Config, used: &LaunchFiles, how: How) -> bool {
        let mut before = std::mem::take(&mut self.files);
        let (mut has_changed, mut outside_pages, mut all_pages) = (false, 0, 0);
        for one in used.files.iter().filter(|one| !is_private(&one.file.path, &config.private)) {
            let known = before.iter().position(|known| known.file.path == one.file.path);
            let mut file = match known.map(|at| before.swap_remove(at)) {
                Some(known) if known.is(one) => known,
                // A file that is written again and again, such as a cache, is no part of a package.
                Some(_) if one.opened => continue,
                other => {
                    has_changed |= other.is_some();
                    KnownFile::new(one)
                }
            };
            (file.file.device, file.opened) = (one.file.device, one.opened);
            if !one.opened {
                all_pages += one.used.iter().map(|range| range.pages).sum::<u64>();
                outside_pages += file.spans.outside_pages(&one.used, WINDOW_PAGES);
            }
            self.note(file, &one.used, how.adds || one.opened, Some(one));
        }
        for file in before {
            if file.opened && !used.opens {
                self.files.push(file);
            } else {
                self.note(file, &[], false, None);
            }
        }
        self.files.sort_by(|a, b| a.file.path.cmp(&b.file.path));
        self.learned = self.learned.saturating_add(1);
        if how.adds {
            self.exact_tries = if how.cold == Some(false) { self.exact_tries.saturating_add(1) } else { EXACT_TRIES };
            self.exact = self.exact_tries >= EXACT_TRIES;
        } else if has_changed || outside_pages * OUTSIDE_PART > all_pages {
            (self.exact, self.exact_tries) = (false, 0);
        }
        self.bound();
        has_changed
    }

    fn note(&mut self, mut file: KnownFile, used: &[PageRange], adds: bool, of: Option<&UsedFile>) {
        file.spans.note(used, adds);
        file.launches = file.launches.saturating_add(1).min(LAUNCHES_MAX);
        if let Some(of) = of.filter(|of| !of.placed.is_empty()) {
            file.spans.place(&of.placed);
        }
        if !file.spans.spans().is_empty() {
            self.files.push(file);
        }
    }

    /// Length of its text, about; not less than it is.
    fn text_bytes(&self) -> usize {
        400 + self.files.iter().map(KnownFile::text_bytes).sum::<usize>()
    }

    fn bound(&mut self) {
        for gap_pages in GAPS_PAGES {
            if self.text_bytes() <= APP_BYTES_MAX {
                return;
            }
            // Pages between ranges cost more time than files of a page or two gain.
            if gap_pages > SMALL_GAP_PAGES {
                self.files.retain(|file| !file.opened);
            }
            self.files.iter_mut().for_each(|file| file.spans.coarsen(gap_pages));
        }
        while self.text_bytes() > APP_BYTES_MAX {
            let least = (0..self.files.len()).min_by_key(|&at| self.files[at].spans.pages());
            let Some(least) = least else { return };
            self.files.remove(least);
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// First, so that a later form is refused for its version, not for what it has.
    version: Version<1>,
    apps: Apps<AppLaunches>,
    /// Which apps are used when.
    #[serde(default)]
    pub habits: Habits,
}

impl crate::kit::Learned for Learned {
    fn forget(&mut self, app: Option<&str>) -> bool {
        // Both are asked.
        self.apps.forget(app) | self.habits.forget(app)
    }
}

impl Learned {
    #[must_use]
    pub fn app(&self, id: &str) -> Option<&AppLaunches> {
        self.apps.get(id)
    }

    pub fn apps(&self) -> impl Iterator<Item = (&str, &AppLaunches)> {
        self.apps.iter()
    }

    /// Whether no app is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.apps.iter().next().is_none()
    }

    /// The app is launched: what is known of it, to change.
    pub fn launched(&mut self, id: &str) -> &mut AppLaunches {
        // Any user can launch apps of new ids without end. Room by bytes is made when one is learned.
        self.apps.make_room(id, APPS_MAX);
        let app = self.apps.used(id, AppLaunches::default);
        app.launches = app.launches.saturating_add(1);
        app
    }

    /// The same to change, where anything is known.
    pub fn known_mut(&mut self, id: &str) -> Option<&mut AppLaunches> {
        self.apps.get_mut(id)
    }

    /// Takes in what a launch of an app used. Says whether files were changed since the last one.
    pub fn learn(&mut self, config: &Config, id: &str, used: &LaunchFiles, how: How) -> bool {
        self.apps.make_room(id, APPS_MAX);
        let has_changed = self.apps.used(id, AppLaunches::default).learn(config, used, how);
        self.apps.bound(APPS_MAX, AppLaunches::text_bytes, ALL_BYTES_MAX);
        has_changed
    }

    /// How many of the apps that were launched last use that file.
    #[must_use]
    pub fn sharers(&self, file: &MappedFile) -> usize {
        let has =
            |app: &&AppLaunches| app.files.binary_search_by(|known| known.file.path.as_str().cmp(&file.path)).is_ok();
        self.apps.latest(COMPARED_MAX).into_iter().filter(has).count()
    }

    /// Paths of the files that several apps use.
    #[must_use]
    pub fn shared_paths(&self) -> BTreeSet<&str> {
        let (mut seen, mut shared) = (BTreeSet::new(), BTreeSet::new());
        for file in self.apps.iter().flat_map(|(_, app)| &app.files) {
            if !seen.insert(file.file.path.as_str()) {
                shared.insert(file.file.path.as_str());
            }
        }
        shared
    }
}

/// Bytes of `asked` that are in `used`, by path.
#[must_use]
pub(crate) fn used_bytes(asked: &[(String, Vec<PageRange>)], used: &LaunchFiles) -> u64 {
    let of = |(path, ranges): &(String, Vec<PageRange>)| {
        let found = used.files.iter().find(|one| one.file.path == *path);
        found.map_or(0, |one| common_pages(ranges, &one.used))
    };
    asked.iter().map(of).sum::<u64>().saturating_mul(used.page_bytes)
}

#[cfg(test)]
mod tests {
    use crate::kit::learned::assert_keeps;

    use brisk_core::launch::PlacedRange;

    use super::*;

    const EXACT: How = How { adds: true, cold: Some(true) };
    const INEXACT: How = How { adds: false, cold: Some(true) };

    fn file(path: &str, inode: u64, used: &[(u64, u64)]) -> UsedFile {
        UsedFile {
            opened: false,
            file: MappedFile { device: 0x801, inode, path: path.to_owned() },
            version: FileVersion { changed_ns: 5, size_bytes: 1 << 30 },
            used: used.iter().copied().map(PageRange::from).collect(),
            placed: vec![PlacedRange {
                range: PageRange { first_page: 0, pages: 1 << 18 },
                physical_page: inode << 18,
            }],
        }
    }

    fn files(files: Vec<UsedFile>) -> LaunchFiles {
        LaunchFiles { page_bytes: 4096, opens: true, files }
    }

    fn text(learned: &impl Serialize) -> String {
        serde_json::to_string(learned).expect("JSON")
    }

    /// So many ranges of a page each, every third page.
    fn scattered(ranges: u64) -> Vec<(u64, u64)> {
        (0..ranges).map(|at| (at * 3, 1)).collect()
    }

    #[test]
    fn what_is_kept_is_read_back_and_forgotten_on_request() {
        let (config, mut learned) = (Config::default(), Learned::default());
        let ranges = scattered(300);
        for app in ["a", "org.secret.App", "a"] {
            learned.launched(app);
            learned.learn(
                &config,
                app,
                &files(vec![file("/usr/bin/a", 3, &ranges), file("/usr/lib/b", 4, &[])]),
                EXACT,
            );
        }
        learned.known_mut("a").expect("known").tally.asked_bytes = 5;
        assert_keeps(&learned, "org.secret.App");
        assert_eq!(learned.known_mut("a").map(|app| app.files.len()), Some(1));
    }

    #[test]
    fn the_text_of_an_app_stays_within_its_bound() {
        let config = Config::default();
        for (nr_files, ranges) in [(1, 10_000), (40, 250), (2_000, 5), (1, 200)] {
            let mut learned = Learned::default();
            let many = (0..nr_files).map(|nth| file(&format!("/usr/lib/{nth:0>60}"), 7 + nth, &scattered(ranges)));
            learned.learn(&config, "a", &files(many.collect()), EXACT);
            let app = learned.app("a").expect("known");
            let bytes = text(app).len();
            assert!(
                bytes <= app.text_bytes() && bytes <= APP_BYTES_MAX,
                "{nr_files} {ranges}: {bytes} of {}",
                app.text_bytes()
            );
            assert!(app.files.iter().map(|file| file.spans.pages()).sum::<u64>() >= 200, "most of it is still known");
        }
    }

    #[test]
    fn the_text_of_all_apps_stays_within_its_bound() {
        let (config, mut learned) = (Config::default(), Learned::default());
        for nth in 0..APPS_MAX + 50 {
            let id = format!("org.example.App{nth}");
            learned.launched(&id);
            learned.learn(&config, &id, &files(vec![file("/usr/lib/x.so", 7, &scattered(1_500))]), EXACT);
        }
        assert!(text(&learned).len() <= ALL_BYTES_MAX);
        let kept = learned.apps().count();
        assert!((40..=APPS_MAX).contains(&kept), "{kept}");
        assert!(learned.app("org.example.App249").is_some() && learned.app("org.example.App0").is_none());
    }

    #[test]
    fn another_version_of_a_file_is_learned_anew() {
        let (config, mut learned) = (Config::default(), Learned::default());
        let old = file("/usr/lib/x.so", 7, &[(0, 10)]);
        learned.learn(&config, "a", &files(vec![old.clone()]), EXACT);
        assert!(!learned.learn(&config, "a", &files(vec![old.clone()]), INEXACT));
        let moved = UsedFile { file: MappedFile { device: 9, ..old.file.clone() }, ..old.clone() };
        assert!(
            !learned.learn(&config, "a", &files(vec![moved]), INEXACT),
            "the number of its device alone is another"
        );
        assert_eq!(learned.app("a").map(|app| (app.files[0].file.device, app.exact)), Some((9, true)));
        for changed in [
            UsedFile { version: FileVersion { changed_ns: 6, ..old.version }, ..old.clone() },
            UsedFile { file: MappedFile { inode: 8, ..old.file.clone() }, ..old.clone() },
        ] {
            let mut later = learned.clone();
            assert!(later.learn(&config, "a", &files(vec![changed]), INEXACT));
            let app = later.app("a").expect("known");
            assert!(!app.exact && app.files.is_empty(), "an exact launch comes next");
        }
    }

    #[test]
    fn a_file_that_was_only_opened_is_known_until_a_watched_launch_does_not_open_it_or_it_is_written() {
        let of_two =
            || vec![file("/usr/lib/a", 1, &[(0, 9)]), UsedFile { opened: true, ..file("/etc/b", 2, &[(0, 2)]) }];
        let mut learned = Learned::default();
        let config = Config::default();
        learned.learn(&config, "a", &files(of_two()), EXACT);
        let known = |learned: &Learned| {
            let app = learned.app("a").expect("known");
            (app.exact, app.files.iter().find(|file| file.opened).map(|file| (file.launches, file.spans.pages())))
        };
        assert_eq!(known(&learned), (true, Some((1, 2))));
        // Its pages in memory come in by any launch, and do not count as other pages than expected.
        let more = UsedFile { opened: true, ..file("/etc/b", 2, &[(0, 40)]) };
        learned.learn(&config, "a", &files(vec![of_two().remove(0), more]), INEXACT);
        assert_eq!(known(&learned), (true, Some((2, 40))));
        let unwatched = LaunchFiles { opens: false, ..files(of_two()[..1].to_vec()) };
        learned.learn(&config, "a", &unwatched, INEXACT);
        assert_eq!(known(&learned), (true, Some((2, 40))), "nothing is known of its opens");
        let written = UsedFile { version: FileVersion { changed_ns: 9, size_bytes: 1 }, ..of_two().remove(1) };
        let changed = learned.learn(&config, "a", &files(vec![of_two().remove(0), written]), INEXACT);
        assert_eq!((changed, known(&learned)), (false, (true, None)), "no package changed");
        for _ in 0..LAUNCHES_MAX {
            learned.learn(&config, "a", &files(of_two()[..1].to_vec()), INEXACT);
        }
        assert_eq!(known(&learned), (true, None));
    }

    #[test]
    fn a_launch_that_uses_other_pages_calls_for_an_exact_one() {
        let (config, mut learned) = (Config::default(), Learned::default());
        learned.learn(&config, "a", &files(vec![file("/usr/bin/a", 3, &[(0, 32)])]), EXACT);
        let exact = |learned: &Learned| learned.app("a").is_some_and(|app| app.exact);
        learned.learn(&config, "a", &files(vec![file("/usr/bin/a", 3, &[(0, 64), (100, 8)])]), INEXACT);
        assert!(!exact(&learned), "40 pages of 72 are elsewhere");
        learned.learn(
            &config,
            "a",
            &files(vec![file("/usr/bin/a", 3, &[(0, 32)])]),
            How { adds: true, cold: Some(false) },
        );
        assert!(!exact(&learned), "it was in memory");
        for _ in 0..2 {
            learned.learn(
                &config,
                "a",
                &files(vec![file("/usr/bin/a", 3, &[(0, 32)])]),
                How { adds: true, cold: Some(false) },
            );
        }
        assert!(exact(&learned), "good enough");
    }

    #[test]
    fn a_file_is_shared_by_the_apps_that_use_it() {
        let (config, mut learned) = (Config::default(), Learned::default());
        let (library, own) = (file("/usr/lib/x.so", 7, &[(0, 1)]), file("/usr/bin/a", 3, &[(0, 1)]));
        learned.learn(&config, "a", &files(vec![library.clone(), own.clone()]), EXACT);
        learned.learn(&config, "b", &files(vec![library.clone()]), EXACT);
        assert_eq!((learned.sharers(&library.file), learned.sharers(&own.file)), (2, 1));
        assert_eq!(learned.shared_paths().into_iter().collect::<Vec<_>>(), ["/usr/lib/x.so"]);
        let other = file("/usr/bin/c", 8, &[(0, 1)]);
        for nth in 0..COMPARED_MAX {
            learned.learn(&config, &format!("c{nth}"), &files(vec![other.clone()]), EXACT);
        }
        assert_eq!((learned.sharers(&library.file), learned.sharers(&other.file)), (0, COMPARED_MAX), "the last ones");
    }

    #[test]
    fn launches_of_ever_new_apps_are_bounded() {
        let mut learned = Learned::default();
        learned.learn(&Config::default(), "a", &files(vec![file("/usr/bin/a", 3, &[(0, 1)])]), EXACT);
        for nth in 0..1000 {
            learned.launched(&format!("{nth:\u{1}>255}"));
            if nth % 100 == 0 {
                learned.launched("a");
            }
        }
        assert_eq!(learned.apps().count(), APPS_MAX);
        assert!(learned.app("a").is_some_and(|app| !app.files.is_empty()), "it was launched lately");
        assert!(text(&learned).len() < ALL_BYTES_MAX);
    }

    #[test]
    fn private_files_are_not_learned() {
        let mut learned = Learned::default();
        let both = vec![file("/home/me/secret.so", 7, &[(0, 1)]), file("/usr/bin/a", 3, &[(0, 1)])];
        learned.learn(&Config::default(), "a", &files(both), EXACT);
        assert!(!text(&learned).contains("secret") && text(&learned).contains("/usr/bin/a"));
    }
}
