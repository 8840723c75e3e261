//! What Android's `dumpsys meminfo` prints, one snapshot after the other in one text.
//!
//! A snapshot begins with `Uptime: MILLISECONDS`. Of `dumpsys meminfo PID` (or a package, or `-a`) come blocks, one for
//! each process:
//!
//! ```text
//! ** MEMINFO in pid 4242 [com.example.mail] **
//!                    Pss  Private  Private     Swap     Heap     Heap     Heap
//!                  Total    Dirty    Clean    Dirty     Size    Alloc     Free
//!         TOTAL    51234    40000     5000        0    68231    28564    35613
//! ```
//!
//! The columns before those of the heap differ between versions of Android, so the heap is counted from the end; before
//! Android 4 there is a line `allocated:` whose last number is the sum. Without a process, `dumpsys meminfo` lists
//! memory by process instead: `51,234K: com.example.mail (pid 4242 / activities)`, as resident memory from Android 12
//! on, and as PSS before.

use brisk_program::files::table::TableError;

/// Memory of a process at a moment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Process {
    pub(super) name: String,
    pub(super) pid: u32,
    /// Restarts of the device before it.
    pub(super) boot: u32,
    /// Since the device started.
    pub(super) uptime_s: f64,
    pub(super) kb: u64,
}

/// What a text has of each process.
#[derive(Debug, PartialEq)]
pub(super) enum Dump {
    Heaps(Vec<Process>),
    /// Memory that is resident, or its proportional share.
    Resident(Vec<Process>),
}

/// Whether a text is such output rather than a table.
pub(super) fn is_dump(text: &str) -> bool {
    text.lines()
        .map(str::trim_start)
        .any(|line| line.starts_with("Applications Memory Usage") || block_of(line).is_some())
}

/// Reads all snapshots. A block that the text ends in is left out: who records ends the recording at any moment.
///
/// # Errors
/// With the line, when a block has no sum of its heap or no time.
pub(super) fn parse(text: &str) -> Result<Dump, TableError> {
    let mut uptime = Clock::default();
    let (mut heaps, mut resident, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    let mut block: Option<Block> = None;
    let mut list = None;
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        let wrong = |line: u64, reason: String| TableError::Line { line, column: None, reason };
        let timed = |name: &str, pid, kb| {
            let no_time = || wrong(line, "no line 'Uptime:' stands before it: record the output as it is".to_owned());
            let uptime_s = uptime.now_s.ok_or_else(no_time)?;
            Ok(Process { name: name.to_owned(), pid, boot: uptime.boot, uptime_s, kb })
        };
        if let Some(rest) = text.strip_prefix("Uptime:") {
            let ms = rest.split_whitespace().next().and_then(|ms| ms.parse::<u64>().ok());
            uptime.set(ms.ok_or_else(|| wrong(line, format!("'{text}' has no milliseconds after 'Uptime:'")))?);
            list = None;
        } else if let Some((pid, name)) = block_of(text) {
            if let Some(open) = block.replace(Block { pid, name, line, has_heap: false }) {
                let why = format!("the block of {} that begins here has no line TOTAL with its heap", open.name);
                return Err(wrong(open.line, why));
            }
        } else if let Some(open) = &mut block {
            open.has_heap |= text.ends_with("Free") && text.contains("Alloc");
            let mut words = text.split_whitespace();
            let first = words.next();
            let numbers: Option<Vec<u64>> = words.filter(|word| *word != "N/A").map(number).collect();
            let kb = match (first, numbers.as_deref()) {
                (Some("TOTAL"), Some([.., _, allocated, _])) if open.has_heap => *allocated,
                (Some("allocated:"), Some([.., sum])) => *sum,
                _ => continue,
            };
            heaps.push(timed(&open.name, open.pid, kb)?);
            block = None;
        } else if text.ends_with("by process:") {
            list = if text.contains("RSS") { Some(true) } else { text.contains("PSS").then_some(false) };
        } else if let (Some(is_resident), Some((kb, pid, name))) = (list, listed(text)) {
            (if is_resident { &mut resident } else { &mut shares }).push(timed(name, pid, kb)?);
        } else {
            list = list.filter(|_| text.is_empty() && heaps.is_empty());
        }
    }
    Ok(match (heaps.is_empty(), resident.is_empty()) {
        (false, _) => Dump::Heaps(heaps),
        (true, false) => Dump::Resident(resident),
        (true, true) => Dump::Resident(shares),
    })
}

/// The block of a process that has begun.
struct Block {
    pid: u32,
    name: String,
    line: u64,
    /// Whether its columns end with those of the heap.
    has_heap: bool,
}

/// Time since the device started.
#[derive(Default)]
struct Clock {
    now_s: Option<f64>,
    boot: u32,
}

impl Clock {
    fn set(&mut self, ms: u64) {
        let now_s = ms as f64 / 1e3;
        self.boot += u32::from(self.now_s.is_some_and(|before_s| before_s > now_s));
        self.now_s = Some(now_s);
    }
}

/// Process id and name in `** MEMINFO in pid 4242 [com.example.mail] **`.
fn block_of(line: &str) -> Option<(u32, String)> {
    let (pid, rest) = line.strip_prefix("** MEMINFO in pid ")?.split_once(' ')?;
    let name = rest.strip_prefix('[')?.split_once(']')?.0;
    Some((pid.parse().ok()?, name.to_owned()))
}

/// Kilobytes, process id and name in `51,234K: com.example.mail (pid 4242 / activities)`.
fn listed(line: &str) -> Option<(u64, u32, &str)> {
    let (size, rest) = line.split_once(": ")?;
    let kb = size.strip_suffix('K').or_else(|| size.strip_suffix(" kB"))?;
    let (name, rest) = rest.rsplit_once(" (pid ")?;
    let pid = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    Some((number(kb)?, pid.parse().ok()?, name))
}

/// A number whose thousands may have commas.
fn number(word: &str) -> Option<u64> {
    word.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ANDROID_2: &str = include_str!("dumpsys/android-2.txt");
    const ANDROID_4: &str = include_str!("dumpsys/android-4.txt");
    const ANDROID_10: &str = include_str!("dumpsys/android-10.txt");
    const ANDROID_11: &str = include_str!("dumpsys/android-11.txt");

    fn dump(uptime_ms: u64, pid: u32, name: &str, block: &str) -> String {
        format!(
            "Applications Memory Usage (in Kilobytes):\nUptime: {uptime_ms} Realtime: {uptime_ms}\n\n\
             ** MEMINFO in pid {pid} [{name}] **\n{block}"
        )
    }

    fn heaps(text: &str) -> Vec<(String, u32, u32, f64, u64)> {
        match parse(text).unwrap_or_else(|error| panic!("{text}: {error}")) {
            Dump::Heaps(all) => {
                all.into_iter().map(|one| (one.name, one.pid, one.boot, one.uptime_s, one.kb)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_heap_is_found_in_the_layout_of_each_version() {
        for (block, kb) in [(ANDROID_10, 28_564), (ANDROID_11, 28_565), (ANDROID_4, 8123), (ANDROID_2, 8023)] {
            let text = dump(277_172_845, 4242, "com.example.mail", block);
            let expected = [("com.example.mail".to_owned(), 4242, 0, 277_172.845, kb)];
            assert_eq!(heaps(&text), expected);
            assert_eq!(heaps(&text.replace('\n', "\r\n")), expected, "as adb delivers it");
            assert!(is_dump(&text));
        }
        assert!(!is_dump("run,process,uptime_s,total_heap_alloc\n"));
    }

    #[test]
    fn snapshots_and_processes_follow_each_other_and_a_restart_is_seen() {
        let second = format!("{}** MEMINFO in pid 7 [b:remote] **\n{ANDROID_10}", dump(2000, 5, "a", ANDROID_11));
        let none = "No process found for: a\n".to_owned();
        let text = [dump(1000, 5, "a", ANDROID_10), second, none, dump(500, 6, "a", ANDROID_10)].concat();
        let found: Vec<_> =
            heaps(&text).into_iter().map(|(name, pid, boot, at_s, _)| (name, pid, boot, at_s)).collect();
        let one = |name: &str, pid, boot, at_s| (name.to_owned(), pid, boot, at_s);
        assert_eq!(found, [one("a", 5, 0, 1.0), one("a", 5, 0, 2.0), one("b:remote", 7, 0, 2.0), one("a", 6, 1, 0.5)]);
    }

    #[test]
    fn a_list_of_processes_is_read_by_its_resident_memory() {
        let text = include_str!("dumpsys/processes.txt");
        let Dump::Resident(all) = parse(text).expect("a list") else { panic!("no heap") };
        let found: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.pid, one.kb)).collect();
        assert_eq!(found, [("com.example.mail", 4242, 151_234), ("com.b", 7, 9000)]);
        let old = text.replace("RSS by", "of").replace("K: ", " kB: ");
        let Dump::Resident(all) = parse(&old).expect("a list") else { panic!("no heap") };
        assert_eq!((all.len(), all[0].kb), (1, 51_234));
    }

    #[test]
    fn a_block_without_its_heap_is_named_with_its_line_unless_the_text_ends_in_it() {
        let cut = dump(1000, 5, "a", "  Native Heap    24482\n");
        assert_eq!(heaps(&[dump(900, 5, "a", ANDROID_10), cut.clone()].concat()).len(), 1);
        let said = parse(&[cut, dump(2000, 5, "a", ANDROID_10)].concat()).expect_err("cut").to_string();
        assert_eq!(said, "line 4: the block of a that begins here has no line TOTAL with its heap");
        let untimed = format!("** MEMINFO in pid 5 [a] **\n{ANDROID_4}");
        assert!(parse(&untimed).expect_err("no time").to_string().starts_with("line 6: no line 'Uptime:'"));
        assert!(parse("Uptime: soon\n").expect_err("no time").to_string().starts_with("line 1: 'Uptime: soon'"));
    }

    proptest! {
        #[test]
        fn no_text_panics(lines in prop::collection::vec(
            "(\\*\\* MEMINFO in pid [0-9]{0,11} \\[.{0,4}\\]?|Uptime: ?[0-9]{0,22}|TOTAL( [0-9,]{1,22}){0,8}|\
             Heap Alloc Free|Total [PR]SS by process:|[0-9,]{1,22}K: x \\(pid [0-9]{0,11}\\)?|\\PC{0,20})", 0..20)) {
            let text = lines.join("\n");
            let _ = (is_dump(&text), parse(&text));
        }
    }
}
