//! A return to an app, from its coming to the foreground until it has come to rest: what was away before, and what it
//! touched of that.
//!
//! The page tables are scanned before the app runs again, as far as that can be known, and when it has come to rest:
//! none of its processes has waited for storage for a second. A return that takes longer than ten seconds ends then.
//! One that is cut short by another app coming to the foreground tells what it touched, and not what it would not have
//! touched.
//!
//! One return goes on at a time. That of an app that is being launched is none: its pages were never away.
//!
//! An app that lost less than a megabyte to swap, and of what it maps of files, while it was in the background has
//! nothing away: scans, which cost tens of milliseconds of its own processor time, are left out.
//!
//! While no engine reads back, all that a scan is good for is to learn, and no user is to wait for that: nothing at all
//! is read as an app comes to the foreground. Instead an app in the background is scanned once the one in front has
//! come to rest ([`Returns::prepare`]), and its next return teaches by that: a page that was in swap then and is in
//! memory when the app rests again was touched. What was swapped out in between tells nothing. Few returns of an app
//! are prepared ([`Returns::is_to_teach`]).
//!
//! Properties: `a_return_ends_when_the_app_rests`; `an_app_that_lost_nothing_is_not_scanned`;
//! `few_returns_teach_while_nothing_is_read_back`; `a_prepared_return_reads_nothing_until_the_app_has_answered`;
//! `a_return_that_never_rests_ends`; `what_is_cut_short_tells_what_it_touched`; `what_the_daemon_read_for_it_counts`.

use std::collections::BTreeMap;

use brisk_core::pages::{AppPages, Touched};
use brisk_sense::{Group, ProcessMemory};

/// A return ends when the app has not waited for storage for this time.
const REST_NS: u64 = 1_000_000_000;
const RETURN_NS_MAX: u64 = 10_000_000_000;
/// Interval between samples.
const SAMPLE_NS: u64 = 250_000_000;
/// So many pages read from storage in one interval are rest, where no process waits for one at its end.
const FAULTS_MAX: u64 = 8;
/// The same where one waits: slow flash gives no more in that time.
const FAULTS_WAITING_MAX: u64 = 0;
/// Reading less than this costs about as much as the scans.
pub const AWAY_MIN_BYTES: u64 = 1 << 20;

/// Returns of an app that teach while nothing is read back: the first ones, and one of so many after them.
const TEACHES_FIRST: u64 = 2;
const TEACHES_EVERY: u64 = 8;
/// An app that came to the foreground answers its user for this time before anything is done that only teaches.
pub const ANSWER_NS: u64 = 3_000_000_000;
/// What was prepared for an app that stays in the background makes room for another one after this time.
const PREPARED_NS: u64 = 600_000_000_000;

/// What the processes of an app had used of storage at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageUse {
    /// Pages that each process had to wait for, by its number.
    pub major_faults: BTreeMap<u32, u64>,
    /// Bytes read from storage by each process, and by the daemon on behalf of the app; without those that do not tell.
    pub read_bytes: BTreeMap<u32, u64>,
    /// Whether any process waits for storage at this moment.
    pub waits: bool,
}

#[derive(Debug, Default)]
pub struct Returns {
    open: Option<Return>,
    /// One that is to come: its app as it was in the background.
    prepared: Option<Return>,
    /// When the app in front has answered, and the next return may be prepared.
    prepare_ns: Option<u64>,
    /// The app in front.
    front: Option<String>,
    /// Bytes of files that each app mapped when it left the foreground.
    left: BTreeMap<String, u64>,
    /// Returns of each app so far.
    returned: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct Return {
    group: Group,
    began_ns: u64,
    before: AppPages,
    used_before: StorageUse,
    sampled_ns: u64,
    faults: BTreeMap<u32, u64>,
    /// Since when the app does not wait.
    rests_since_ns: Option<u64>,
}

impl Return {
    fn new(group: Group, before: AppPages, used_before: StorageUse, at_ns: u64) -> Self {
        let faults = used_before.major_faults.clone();
        Self { group, began_ns: at_ns, before, used_before, sampled_ns: at_ns, faults, rests_since_ns: None }
    }
}

impl Returns {
    #[must_use]
    pub fn group(&self) -> Option<&Group> {
        self.open.as_ref().map(|open| &open.group)
    }

    /// An app comes to the foreground; `before` says where its pages are, and `used` what it had read so far.
    pub fn begin(&mut self, group: Group, before: AppPages, used: StorageUse, at_ns: u64) {
        self.open = Some(Return::new(group, before, used, at_ns));
    }

    /// An app comes to the foreground; says which one was there before.
    pub fn comes(&mut self, group: &str) -> Option<String> {
        let before = self.front.replace(group.to_owned()).filter(|before| before != group);
        if before.is_some() {
            *self.returned.entry(group.to_owned()).or_default() += 1;
        }
        before
    }

    /// An app comes to the foreground while nothing is read back. Gives its pages where its return was prepared: the
    /// return has begun then, and is sampled once the app has answered. One that goes on is given up.
    pub fn answers(&mut self, group: &str, at_ns: u64) -> Option<AppPages> {
        self.comes(group);
        self.prepare_ns = Some(at_ns.saturating_add(ANSWER_NS));
        let prepared = self.prepared.take_if(|prepared| prepared.group.key == group);
        self.open = prepared.map(|prepared| Return {
            began_ns: at_ns,
            sampled_ns: at_ns.saturating_add(ANSWER_NS),
            ..prepared
        });
        self.open.as_ref().map(|open| open.before.clone())
    }

    /// When the next return may be prepared.
    #[must_use]
    pub fn prepare_ns(&self) -> Option<u64> {
        self.prepare_ns
    }

    /// An app is being launched: not now.
    pub fn prepare_later(&mut self, at_ns: u64) {
        self.prepare_ns = Some(at_ns.saturating_add(ANSWER_NS));
    }

    /// Whether it may be now, and none is that may still come soon.
    pub fn is_to_prepare(&mut self, at_ns: u64) -> bool {
        self.prepare_ns = None;
        self.prepared.take_if(|prepared| at_ns.saturating_sub(prepared.began_ns) >= PREPARED_NS);
        self.prepared.is_none()
    }

    /// Prepares the next return of an app in the background; as for [`Returns::begin`].
    pub fn prepare(&mut self, group: Group, before: AppPages, used: StorageUse, at_ns: u64) {
        self.prepared = Some(Return::new(group, before, used, at_ns));
    }

    /// An app has left the foreground with this memory.
    pub fn leaves(&mut self, group: String, memory: ProcessMemory) {
        self.left.insert(group, memory.file_bytes);
    }

    /// Whether an app with this memory may wait for what it lost in the background; where that is not known, it may.
    #[must_use]
    pub fn is_away(&self, group: &str, memory: ProcessMemory) -> bool {
        let files = self.left.get(group).map(|left| left.saturating_sub(memory.file_bytes));
        memory.swapped_bytes >= AWAY_MIN_BYTES || files.is_none_or(|lost| lost >= AWAY_MIN_BYTES)
    }

    /// Whether the next return of an app is one to learn from, though nothing is read back for it.
    #[must_use]
    pub fn is_to_teach(&self, group: &str) -> bool {
        let next = self.returned.get(group).copied().unwrap_or_default() + 1;
        next <= TEACHES_FIRST || next.is_multiple_of(TEACHES_EVERY)
    }

    /// The app ended.
    pub fn gone(&mut self, group: &str) {
        self.left.remove(group);
        self.returned.remove(group);
        self.open.take_if(|open| open.group.key == group);
        self.prepared.take_if(|prepared| prepared.group.key == group);
    }

    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.sampled_ns.saturating_add(SAMPLE_NS))
    }

    /// Takes a sample. Says whether the return is over.
    pub fn sample(&mut self, used: &StorageUse, at_ns: u64) -> bool {
        let Some(open) = &mut self.open else { return false };
        let most = if used.waits { FAULTS_WAITING_MAX } else { FAULTS_MAX };
        let rests = growth(&open.faults, &used.major_faults) <= most;
        let since_ns = open.rests_since_ns.unwrap_or(open.sampled_ns);
        open.rests_since_ns = rests.then_some(since_ns);
        open.sampled_ns = at_ns;
        open.faults.clone_from(&used.major_faults);
        let has_rested = rests && at_ns.saturating_sub(since_ns) >= REST_NS;
        has_rested || at_ns.saturating_sub(open.began_ns) >= RETURN_NS_MAX
    }

    /// The scan at its end failed.
    pub fn drop_it(&mut self) {
        self.open = None;
    }

    /// Ends the return; `after` says where the pages of the app are now. Gives its group and what it touched; of one
    /// that the app still waited in at the last sample, neither what it left untouched nor how much it read.
    pub fn end(&mut self, after: &AppPages, used: &StorageUse) -> Option<(Group, Touched)> {
        let open = self.open.take()?;
        let is_over = open.rests_since_ns.is_some() || open.sampled_ns.saturating_sub(open.began_ns) >= RETURN_NS_MAX;
        let is_counted = is_over && !used.read_bytes.is_empty();
        let read_bytes = is_counted.then(|| growth(&open.used_before.read_bytes, &used.read_bytes));
        let mut touched = Touched { read_bytes, ..open.before.touched_until(after) };
        if !is_over {
            for of in touched.processes.iter_mut().flat_map(|process| &mut process.mappings) {
                of.swapped.untouched.clear();
                of.file.untouched.clear();
            }
        }
        Some((open.group, touched))
    }
}

/// By how much the values of processes grew; a process that came meanwhile counts as a whole.
fn growth(before: &BTreeMap<u32, u64>, now: &BTreeMap<u32, u64>) -> u64 {
    let grown = |(pid, value): (&u32, &u64)| value.saturating_sub(before.get(pid).copied().unwrap_or(0));
    now.iter().map(grown).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS_NS: u64 = 1_000_000;

    fn group() -> Group {
        Group { dir: "/c/app-a-1.scope".into(), key: "app-a-1.scope".to_owned(), ..Group::default() }
    }

    fn used(faults: u64, read_bytes: u64) -> StorageUse {
        let (major_faults, read_bytes) = ([(7, faults)].into(), [(7, read_bytes)].into());
        StorageUse { major_faults, read_bytes, waits: false }
    }

    fn begun() -> Returns {
        let mut returns = Returns::default();
        returns.begin(group(), AppPages::default(), used(100, 4096), 0);
        returns
    }

    /// Samples as often as it wants; gives when it was over, ms.
    fn over_ms(returns: &mut Returns, of: impl Fn(u64) -> StorageUse) -> u64 {
        loop {
            let at_ns = returns.next_ns().expect("it goes on");
            if returns.sample(&of(at_ns / MS_NS), at_ns) {
                return at_ns / MS_NS;
            }
        }
    }

    #[test]
    fn a_return_ends_when_the_app_rests() {
        let mut returns = begun();
        // It faults until 900 ms; the interval in which it stops is not rest.
        assert_eq!(over_ms(&mut returns, |ms| used(100 + ms.min(900), 0)), 2000);
        // One page after the other, slowly.
        assert_eq!(
            over_ms(&mut begun(), |ms| StorageUse { waits: ms < 600, ..used(100 + ms.min(600) / 100, 0) }),
            1500
        );
        assert_eq!(over_ms(&mut begun(), |ms| used(100 + ms / 100, 0)), 1000, "at once");
    }

    #[test]
    fn a_return_that_never_rests_ends() {
        assert_eq!(over_ms(&mut begun(), |ms| used(ms, 0)), 10_000);
        // A process that comes and goes.
        let child =
            |ms: u64| StorageUse { major_faults: [(7, 100), (8 + ms as u32, 50)].into(), ..StorageUse::default() };
        assert_eq!(over_ms(&mut begun(), child), 10_000);
    }

    /// A page in swap before, and what became of it.
    fn page(swapped: bool) -> AppPages {
        use brisk_core::pages::{Identity, Mapping, MappingPages, PageRange, Process, ProcessPages, SwappedRange};
        let (touched, untouched) = (PageRange { first_page: 0, pages: 1 }, PageRange { first_page: 1, pages: 1 });
        let slot = |range: PageRange| SwappedRange { range, area: 0, slot: 7 + range.first_page };
        let identity = Identity::Anonymous { name: "[heap]".to_owned(), nth: 0 };
        let mapping = Mapping { identity, start: 4096, range: PageRange { first_page: 0, pages: 2 }, swappable: true };
        let of = MappingPages {
            mapping,
            private: if swapped { Vec::new() } else { vec![touched] },
            file: Vec::new(),
            swapped: if swapped { vec![slot(touched), slot(untouched)] } else { vec![slot(untouched)] },
        };
        let process = Process { pid: 7, began_ticks: 1, program: "x".to_owned(), nth: 0 };
        AppPages { page_bytes: 4096, processes: vec![ProcessPages { process, mappings: vec![of] }] }
    }

    #[test]
    fn an_app_that_lost_nothing_is_not_scanned() {
        let memory = |file_mib: u64, swapped_mib: u64| ProcessMemory {
            anonymous_bytes: 0,
            file_bytes: file_mib << 20,
            swapped_bytes: swapped_mib << 20,
        };
        let mut returns = Returns::default();
        assert!(returns.is_away("a", memory(30, 0)), "what it had is not known");
        assert_eq!(returns.comes("a"), None);
        assert_eq!(returns.comes("a"), None);
        assert_eq!(returns.comes("b").as_deref(), Some("a"));
        returns.leaves("a".to_owned(), memory(30, 0));
        for (file_mib, swapped_mib, is_away) in [(30, 0, false), (31, 0, false), (29, 0, true), (30, 1, true)] {
            assert_eq!(returns.is_away("a", memory(file_mib, swapped_mib)), is_away, "{file_mib} {swapped_mib}");
        }
        returns.gone("a");
        assert!(returns.is_away("a", memory(30, 0)));
    }

    #[test]
    fn few_returns_teach_while_nothing_is_read_back() {
        let mut returns = Returns::default();
        let taught: Vec<u64> = (1..=24)
            .filter(|nth| {
                let is_to_teach = returns.is_to_teach("a");
                returns.answers("other", *nth);
                returns.answers("a", *nth);
                is_to_teach
            })
            .collect();
        assert_eq!(taught, [1, 2, 8, 16, 24]);
        assert!(returns.is_to_teach("b"), "each app for itself");
        returns.gone("a");
        assert!(returns.is_to_teach("a"), "another process");
    }

    #[test]
    fn a_prepared_return_reads_nothing_until_the_app_has_answered() {
        let name = group().key;
        let mut returns = Returns::default();
        assert_eq!(returns.answers("other", 0), None);
        assert_eq!((returns.prepare_ns(), returns.next_ns()), (Some(ANSWER_NS), None));
        assert!(returns.is_to_prepare(ANSWER_NS));
        assert_eq!(returns.prepare_ns(), None, "once");
        returns.prepare(group(), page(true), used(100, 4096), ANSWER_NS);
        assert!(!returns.is_to_prepare(ANSWER_NS + 1), "one is");

        let at_ns = 100 * ANSWER_NS;
        assert_eq!(returns.answers(&name, at_ns), Some(page(true)));
        assert_eq!(returns.next_ns(), Some(at_ns + ANSWER_NS + SAMPLE_NS), "it answers");
        // What it read by then is no rest.
        let end_ms = over_ms(&mut returns, |_| used(900, 8192));
        assert_eq!(end_ms, (at_ns + ANSWER_NS) / MS_NS + 1250);
        let (_, touched) = returns.end(&page(false), &used(900, 8192)).expect("it went on");
        assert_eq!((touched.processes.len(), touched.read_bytes), (1, Some(4096)));

        // Another app that comes gives it up, and an app that stays away makes room.
        returns.prepare(group(), page(true), used(100, 4096), at_ns);
        assert!(!returns.is_to_prepare(at_ns + PREPARED_NS - 1) && returns.is_to_prepare(at_ns + PREPARED_NS));
        returns.prepare(group(), page(true), used(100, 4096), at_ns);
        returns.answers(&name, at_ns);
        assert_eq!((returns.answers("other", at_ns), returns.group()), (None, None));
        returns.prepare(group(), page(true), used(100, 4096), at_ns);
        returns.gone(&name);
        assert_eq!(returns.answers(&name, at_ns), None, "another process");
    }

    #[test]
    fn what_is_cut_short_tells_what_it_touched() {
        let ended = |faults: u64| {
            let mut returns = Returns::default();
            returns.begin(group(), page(true), used(100, 4096), 0);
            returns.sample(&used(100 + faults, 4096), 250 * MS_NS);
            let (_, touched) = returns.end(&page(false), &used(100 + faults, 8192)).expect("it went on");
            let of = touched.processes[0].mappings[0].swapped.clone();
            let pages = |ranges: &[brisk_core::pages::PageRange]| ranges.iter().map(|range| range.pages).sum::<u64>();
            (pages(&of.touched), pages(&of.untouched), touched.read_bytes)
        };
        assert_eq!(ended(0), (1, 1, Some(4096)), "it was at rest");
        assert_eq!(ended(50), (1, 0, None));
    }

    #[test]
    fn an_app_that_ends_does_not_return() {
        let mut returns = begun();
        returns.gone("app-b-1.scope");
        assert_eq!(returns.group(), Some(&group()));
        returns.gone("app-a-1.scope");
        assert_eq!(returns.end(&AppPages::default(), &StorageUse::default()), None);
        assert_eq!((returns.group(), returns.next_ns()), (None, None));
    }

    #[test]
    fn what_the_daemon_read_for_it_counts() {
        let mut returns = Returns::default();
        let before = StorageUse { read_bytes: [(7, 4096), (1, 1000)].into(), ..StorageUse::default() };
        returns.begin(group(), AppPages::default(), before.clone(), 0);
        returns.sample(&before, 250 * MS_NS);
        let after = StorageUse { read_bytes: [(7, 8192), (1, 5000), (9, 100)].into(), ..StorageUse::default() };
        let (of, touched) = returns.end(&AppPages::default(), &after).expect("it went on");
        assert_eq!((of, touched.read_bytes), (group(), Some(4096 + 4000 + 100)));
        let mut returns = begun();
        returns.sample(&StorageUse::default(), 250 * MS_NS);
        let (_, touched) = returns.end(&AppPages::default(), &StorageUse::default()).expect("it went on");
        assert_eq!(touched.read_bytes, None, "no process tells");
    }
}
