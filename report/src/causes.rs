//! What launch and response time went to, in words, colours and parts: the same for launches, steps and suites.
//!
//! Each cause has one colour and one texture on every page. Greys are the processor, blue and orange the storage (as
//! reads and writes are everywhere in these pages), green the network, an outline is sleep. Causes that took no time
//! anywhere in a figure are left out of it.

use crate::results::{Cause, Part, Split, SplitMethod};
use crate::vocabulary::{SPLIT, WHOLE};

use crate::format;
use crate::measures::{self, Column, Measure, unit};
use crate::rows::{Row, Value};
use crate::svg::Tone;
use crate::svg::stacks::{StackPart, Texture};

/// All causes in the order in which they are drawn: of equal kinds side by side.
pub const ORDER: [Cause; 11] = [
    Cause::UserCpu,
    Cause::SystemCpu,
    Cause::CpuWait,
    Cause::Reclaim,
    Cause::StorageRead,
    Cause::SwapIn,
    Cause::StorageWrite,
    Cause::Storage,
    Cause::Network,
    Cause::Sleep,
    Cause::Other,
];

/// The causes that are the storage's.
pub const STORAGE: [Cause; 4] = [Cause::StorageRead, Cause::SwapIn, Cause::StorageWrite, Cause::Storage];

/// How a cause is named and drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// In a table or a bar.
    pub word: &'static str,
    /// In a legend and a sentence: `48 % waiting for storage reads`.
    pub phrase: &'static str,
    /// Colour.
    pub tone: Tone,
    /// Texture.
    pub texture: Texture,
    /// In a bar of letters.
    pub letter: char,
}

/// How `cause` is named and drawn.
pub fn look(cause: Cause) -> Look {
    let (word, phrase, tone, texture, letter) = match cause {
        Cause::UserCpu => ("user", "running its own code", Tone::Nth(5), Texture::Full, 'u'),
        Cause::SystemCpu => ("system", "running in the kernel", Tone::Nth(5), Texture::Half, 's'),
        Cause::CpuWait => ("CPU wait", "waiting for a processor", Tone::Nth(5), Texture::Rising, 'c'),
        Cause::Reclaim => ("reclaim", "freeing memory", Tone::Nth(3), Texture::Crossed, 'm'),
        Cause::StorageRead => ("read", "waiting for storage reads", Tone::Read, Texture::Full, 'R'),
        Cause::SwapIn => ("swap-in", "waiting for pages from swap", Tone::Read, Texture::Half, 'P'),
        Cause::StorageWrite => ("write", "waiting for storage writes", Tone::Write, Texture::Full, 'W'),
        Cause::Storage => ("storage", "waiting for storage", Tone::Read, Texture::Crossed, 'S'),
        Cause::Network => ("network", "waiting for the network", Tone::Nth(2), Texture::Falling, 'N'),
        Cause::Sleep => ("sleep", "asleep", Tone::Plain, Texture::Hollow, '.'),
        Cause::Other => ("other", "what cannot be told apart", Tone::Plain, Texture::Crossed, '?'),
    };
    Look { word, phrase, tone, texture, letter }
}

/// Time of a cause, where the method knows it and it is a number.
fn time_ms(split: &Split, cause: Cause) -> Option<f64> {
    split.time_ms(cause).filter(|ms| ms.is_finite())
}

/// Time in which the storage was waited for, swap included; `None` when the method knows none of its parts.
pub fn storage_ms(split: &Split) -> Option<f64> {
    STORAGE.into_iter().filter_map(|cause| time_ms(split, cause)).reduce(|a, b| a + b)
}

/// The storage's share of the time, in words.
pub fn storage_share(split: Option<&Split>) -> Option<String> {
    split.and_then(|split| storage_ms(split).map(|ms| format::share(ms, split.wall_ms)))
}

/// Those causes that took any time in one of the rows, in their order.
pub fn present(rows: &[Row]) -> Vec<Cause> {
    let took = |row: &Row, cause: Cause| match row.get(SPLIT) {
        Some((_, Value::Split(split, _))) => time_ms(split, cause).is_some_and(|ms| ms > 0.0),
        _ => false,
    };
    ORDER.into_iter().filter(|cause| rows.iter().any(|row| took(row, *cause))).collect()
}

/// The row with a split: as a bar (a bar of full length stands for `full_ms`), and each part as a measure by its word.
pub fn put(row: Row, split: Option<&Split>, whole_ms: f64, full_ms: f64) -> Row {
    let Some(split) = &split.map(|split| of_whole(split, whole_ms)) else { return row };
    let row = row.put(SPLIT, Value::Split(split.clone(), full_ms)).put(WHOLE, split.wall_ms);
    ORDER.into_iter().filter_map(|cause| Some((cause, time_ms(split, cause)?))).fold(row, |row, (cause, ms)| {
        let share = if ms == 0.0 { String::new() } else { format::share(ms, split.wall_ms) };
        row.put(measure(cause), Value::Shown(format::ms(ms), share))
    })
}

/// The same shares of another whole. The parts may come from fewer runs than the time that they are parts of, and a
/// figure has one number for that time.
pub(crate) fn of_whole(split: &Split, whole_ms: f64) -> Split {
    let factor = whole_ms / split.wall_ms;
    if !(factor.is_finite() && factor > 0.0) {
        return split.clone();
    }
    let parts = split.parts.iter().map(|part| Part { time_ms: part.time_ms * factor, ..*part }).collect();
    Split { wall_ms: whole_ms, parts, ..split.clone() }
}

/// The median of each part over runs, scaled to add up to the median of the whole; `None` without splits of a common
/// method.
pub fn median(splits: &[&Split], whole_ms: f64) -> Option<Split> {
    let first = splits.first()?;
    let same: Vec<&&Split> = splits.iter().filter(|split| split.method == first.method).collect();
    let part = |cause: Cause| {
        let times: Vec<f64> = same.iter().map(|split| split.time_ms(cause).unwrap_or_default()).collect();
        Some(Part { cause, time_ms: brisk_core::stats::median(&times)? })
    };
    let parts: Vec<Part> = first.parts.iter().filter_map(|known| part(known.cause)).collect();
    let wall_ms = parts.iter().map(|part| part.time_ms).sum();
    let lost_events = same.iter().map(|split| split.lost_events).max().unwrap_or_default();
    Some(of_whole(&Split { method: first.method, wall_ms, parts, lost_events }, whole_ms))
}

/// The columns of a table of splits: the causes that took time.
pub fn columns(rows: &[Row]) -> Vec<Column> {
    present(rows).into_iter().map(|cause| measure(cause).into()).collect()
}

/// The time of a cause.
fn measure(cause: Cause) -> Measure {
    measures::shown(look(cause).word, unit::MS)
}

/// The parts of a bar.
pub fn parts(split: &Split) -> Vec<StackPart> {
    ORDER
        .into_iter()
        .filter_map(|cause| Some((cause, time_ms(split, cause)?)))
        .map(|(cause, ms)| {
            let look = look(cause);
            StackPart {
                value: ms,
                tone: look.tone,
                texture: look.texture,
                word: look.word,
                words: format!("{}: {} ({})", look.phrase, format::ms(ms), format::share(ms, split.wall_ms)),
            }
        })
        .collect()
}

/// The parts of a bar of letters.
pub fn letters(split: &Split) -> Vec<(char, f64)> {
    ORDER.into_iter().filter_map(|cause| Some((look(cause).letter, time_ms(split, cause)?))).collect()
}

/// What the letters of such bars mean.
pub fn letters_note(rows: &[Row]) -> String {
    let words: Vec<String> =
        present(rows).into_iter().map(|cause| format!("{} {}", look(cause).letter, look(cause).word)).collect();
    if words.is_empty() { String::new() } else { format!("{}.", words.join(", ")) }
}

/// What feels immediate, what keeps the flow of thought, what holds attention (user-perceived latency paper, section
/// 2).
pub const HCI_LIMITS_MS: [f64; 3] = [100.0, 1_000.0, 10_000.0];

/// `48 % waiting for storage reads, 35 % running, 12 % asleep`: parts of at least 5 %, largest first, and the rest.
pub fn sentence(split: &Split) -> Option<String> {
    let time = |causes: &[Cause]| causes.iter().filter_map(|c| time_ms(split, *c)).sum::<f64>();
    // People ask how much of it is computing; which half of it is the kernel's stands in the table.
    let mut parts = vec![("running", time(&[Cause::UserCpu, Cause::SystemCpu]))];
    parts.extend(ORDER.into_iter().skip(2).map(|cause| (look(cause).phrase, time(&[cause]))));
    parts.retain(|(_, ms)| ms / split.wall_ms >= 0.045);
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    parts.truncate(4);
    if parts.is_empty() {
        return None;
    }
    let said: f64 = parts.iter().map(|p| p.1).sum();
    let mut words: Vec<String> =
        parts.iter().map(|(phrase, ms)| format!("{} {phrase}", format::share(*ms, split.wall_ms))).collect();
    if (split.wall_ms - said) / split.wall_ms >= 0.045 {
        words.push(format!("{} the rest", format::share(split.wall_ms - said, split.wall_ms)));
    }
    Some(words.join(", "))
}

/// What the method could not see, and whether events were lost; `None` for a whole split by eBPF.
pub fn lost(split: &Split) -> Option<String> {
    let by = match split.method {
        SplitMethod::Bpf => {
            return (split.lost_events > 0).then(|| {
                format!(
                    "{} kernel events were lost on the way: the parts of the time are estimates.",
                    format::count(split.lost_events as f64)
                )
            });
        }
        SplitMethod::Cgroup => "The split is by the control group's counters, without eBPF",
        SplitMethod::Paper => {
            "The split is by formulas 4.1 and 4.2 of the dissertation (storage is bytes over rates, network is the \
             rest)"
        }
    };
    let unknown = |cause: &Cause| split.time_ms(*cause).is_none();
    let lacking: Vec<String> = [Cause::CpuWait, Cause::Reclaim, Cause::Network, Cause::Sleep]
        .into_iter()
        .filter(unknown)
        .map(|cause| look(cause).word.to_owned())
        .collect();
    let apart = unknown(&Cause::StorageRead)
        .then(|| "it cannot tell reads, swap-in and writes of the storage apart".to_owned());
    let lacking = (!lacking.is_empty()).then(|| format!("it does not show {}", format::list(&lacking)));
    let lost: Vec<String> = [apart, lacking].into_iter().flatten().collect();
    Some(if lost.is_empty() { format!("{by}.") } else { format!("{by}: {}.", format::list(&lost)) })
}

/// What the methods of several splits could not see, each once; lost events of many together where `sets` names them.
pub fn all_lost<'a>(splits: impl Iterator<Item = &'a Split>, sets: &str) -> Vec<String> {
    let mut said: Vec<String> = splits.filter_map(lost).collect();
    let lossy = said.iter().filter(|words| words.contains("events were lost")).count();
    if !sets.is_empty() && lossy > 0 {
        said.retain(|words| !words.contains("events were lost"));
        said.push(format!("Kernel events were lost in {lossy} {sets}: their parts of the time are estimates."));
    }
    said.sort_unstable();
    said.dedup();
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(method: SplitMethod, parts: &[(Cause, f64)]) -> Split {
        Split {
            method,
            wall_ms: parts.iter().map(|p| p.1).sum(),
            parts: parts.iter().map(|(cause, time_ms)| Part { cause: *cause, time_ms: *time_ms }).collect(),
            lost_events: 0,
        }
    }

    #[test]
    fn no_two_causes_look_alike() {
        for (i, a) in ORDER.into_iter().enumerate() {
            for b in ORDER.into_iter().skip(i + 1) {
                let (a, b) = (look(a), look(b));
                assert!((a.tone, a.texture) != (b.tone, b.texture), "{a:?} {b:?}");
                assert!(a.letter != b.letter && a.word != b.word && a.phrase != b.phrase, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn neighbours_differ_without_colour_where_they_can_stand_side_by_side() {
        // What a method knows of storage is either its parts or the sum.
        for pair in ORDER.windows(2).filter(|pair| pair[1] != Cause::Storage && pair[0] != Cause::Storage) {
            let (a, b) = (look(pair[0]), look(pair[1]));
            assert!(a.texture != b.texture, "{a:?} {b:?}");
        }
    }

    #[test]
    fn the_sentence_names_large_parts_first_and_the_rest_once() {
        let split = split(
            SplitMethod::Bpf,
            &[
                (Cause::UserCpu, 250.0),
                (Cause::SystemCpu, 100.0),
                (Cause::CpuWait, 40.0),
                (Cause::StorageRead, 480.0),
                (Cause::StorageWrite, 30.0),
                (Cause::Sleep, 100.0),
            ],
        );
        assert_eq!(
            sentence(&split).as_deref(),
            Some("48 % waiting for storage reads, 35 % running, 10 % asleep, 7 % the rest")
        );
        assert_eq!(storage_ms(&split), Some(510.0));
        assert_eq!(lost(&split), None);
    }

    #[test]
    fn a_method_without_ebpf_says_what_it_does_not_show() {
        let cgroup = split(
            SplitMethod::Cgroup,
            &[(Cause::UserCpu, 1.0), (Cause::SystemCpu, 1.0), (Cause::Storage, 1.0), (Cause::Other, 1.0)],
        );
        let said = lost(&cgroup).expect("something is lost");
        assert!(
            said.contains("without eBPF") && said.contains("reads, swap-in and writes of the storage apart"),
            "{said}"
        );
        assert!(said.contains("CPU wait, reclaim, network and sleep"), "{said}");
        let paper = split(SplitMethod::Paper, &[(Cause::UserCpu, 1.0), (Cause::Storage, 1.0), (Cause::Network, 1.0)]);
        let said = lost(&paper).expect("something is lost");
        assert!(said.contains("4.1") && said.contains("CPU wait, reclaim and sleep"), "{said}");
        let lossy = Split { lost_events: 1200, ..split(SplitMethod::Bpf, &[(Cause::UserCpu, 1.0)]) };
        assert!(lost(&lossy).is_some_and(|said| said.contains("1,200")));
    }

    #[test]
    fn causes_without_time_are_not_drawn() {
        let split = split(SplitMethod::Bpf, &[(Cause::UserCpu, 1.0), (Cause::SwapIn, 0.0), (Cause::Network, f64::NAN)]);
        let row = put(Row::at(crate::vocabulary::LAUNCH, "cold"), Some(&split), 1.0, 1.0);
        assert_eq!(present(std::slice::from_ref(&row)), [Cause::UserCpu]);
        assert_eq!(letters_note(&[row]), "u user.");
    }
}
