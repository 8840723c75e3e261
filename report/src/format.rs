//! Numbers and words as they appear in tables, charts and sentences.
//!
//! A value that is not a number prints as `-`; nothing prints `NaN`, and no number is longer than a table can bear.

use crate::results::{Direction, Pattern};
use brisk_core::stats::Summary;
use brisk_core::units;

/// A duration given in microseconds.
pub fn us(value_us: f64) -> String {
    if !value_us.is_finite() || value_us < 0.0 {
        return "-".to_owned();
    }
    if value_us > 1e12 {
        return format!("{} s", number(value_us / 1e6));
    }
    units::format_duration_ns((value_us * 1e3).round() as u64)
}

/// A duration given in seconds.
pub fn seconds(value_s: f64) -> String {
    us(value_s * 1e6)
}

/// A duration given in milliseconds.
pub fn ms(value_ms: f64) -> String {
    if value_ms == 0.0 { "0 ms".to_owned() } else { us(value_ms * 1e3) }
}

/// A duration in milliseconds as a tick.
pub fn ms_tick(value_ms: f64) -> String {
    trim(&ms(value_ms))
}

/// A size given as a number, as a median of sizes is one.
pub fn bytes(value_bytes: f64) -> String {
    if value_bytes.is_finite() && value_bytes >= 0.0 {
        units::format_bytes(value_bytes.round() as u64)
    } else {
        "-".to_owned()
    }
}

/// A rate in MB/s, without the unit.
pub fn mb_per_s(bytes_per_s: f64) -> String {
    number(bytes_per_s / 1e6)
}

/// A rate in MB/s.
pub fn bandwidth(bytes_per_s: f64) -> String {
    format!("{} MB/s", mb_per_s(bytes_per_s))
}

/// A count with thousands set apart: `25,431`; small ones with decimals.
pub fn count(value: f64) -> String {
    if !value.is_finite() || value.abs() < 1_000.0 || value.abs() >= 1e12 {
        return number(value);
    }
    units::grouped(value)
}

/// A count of whole things: `7`, `1,471`.
pub fn tally(value: f64) -> String {
    if value.is_finite() && value.abs() < 1_000.0 { format!("{:.0}", value.round() + 0.0) } else { count(value) }
}

/// About three digits, whatever the magnitude.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() {
        "-".to_owned()
    } else if magnitude >= 1e9 || (magnitude < 1e-3 && magnitude > 0.0) {
        format!("{value:.2e}")
    } else {
        units::three_digits(value)
    }
}

/// The same without zeros at the end: for ticks.
pub fn tick(value: f64) -> String {
    trim(&number(value))
}

/// A duration in microseconds as a tick.
pub fn us_tick(value_us: f64) -> String {
    trim(&us(value_us))
}

/// `text` whose number has no zeros at the end of its decimals.
fn trim(text: &str) -> String {
    let (number, unit) = text.split_at(text.find(' ').unwrap_or(text.len()));
    if !number.contains('.') || number.contains('e') {
        return text.to_owned();
    }
    format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// A ratio as a paper prints it, with at most two decimals: `28.03x`, `1.6x`.
pub fn printed(ratio: f64) -> String {
    format!("{}x", trim(&format!("{ratio:.2}")))
}

/// A ratio: `6.15x`.
pub fn times(ratio: f64) -> String {
    if ratio.is_finite() { format!("{}x", number(ratio)) } else { "-".to_owned() }
}

/// A percentage that is already one.
pub fn percent(value: f64) -> String {
    if value.is_finite() { format!("{} %", number(value)) } else { "-".to_owned() }
}

/// Half the width of a summary's interval over its median: `±2 %`; `±?` where one value gives no interval.
pub fn spread(summary: &Summary) -> String {
    let percent = summary.half_width() * 100.0;
    if summary.count < 2 {
        "±?".to_owned()
    } else if !percent.is_finite() {
        "±-".to_owned()
    } else if percent < 0.95 {
        "±<1 %".to_owned()
    } else {
        // Whole percent: the spread of a spread is larger than its decimals.
        let digits = if percent < 1e6 { format!("{percent:.0}") } else { number(percent) };
        format!("±{digits} %")
    }
}

/// Half an interval of more than this share of the median is no longer read as a `±`: it would promise a time below
/// zero.
const WIDEST_SPREAD: f64 = 0.5;

/// The spread as it stands behind a value: `±2 %`; of a wide interval its ends, as `show` gives them:
/// `(0.31 to 5.2 s)`.
pub(crate) fn spread_or_ends(summary: &Summary, show: fn(f64) -> String) -> String {
    let half = summary.half_width();
    if summary.count < 2 || !(summary.low.is_finite() && summary.high.is_finite()) || half <= WIDEST_SPREAD {
        return spread(summary);
    }
    // Behind a ratio the letter of its unit is not repeated.
    let plain = if show(1.0).ends_with('x') { number } else { show };
    format!("({})", interval(summary, plain))
}

/// `low to high` with the summary's own formatter, a common unit once: for sentences and full tables.
pub fn interval(summary: &Summary, show: fn(f64) -> String) -> String {
    if summary.count < 2 {
        return "one run".to_owned();
    }
    let (low, high) = (show(summary.low), show(summary.high));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same && !unit.contains(' ') => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// What part of `whole` this is: `48 %`; whole percent, because parts of a time scatter more than their decimals.
pub fn share(part: f64, whole: f64) -> String {
    let percent = part / whole * 100.0;
    if !percent.is_finite() {
        "-".to_owned()
    } else if percent > 0.0 && percent < 0.5 {
        "<1 %".to_owned()
    } else if percent.abs() < 1e6 {
        // Adding zero takes the sign from a negative zero.
        format!("{:.0} %", percent.round() + 0.0)
    } else {
        format!("{} %", number(percent))
    }
}

/// Standard deviation over mean, in percent; `±?`'s counterpart `?` for a single run.
pub fn variation(summary: &Summary) -> String {
    let percent = summary.variation * 100.0;
    if summary.count < 2 {
        "?".to_owned()
    } else if !percent.is_finite() {
        "-".to_owned()
    } else if percent < 9.95 {
        format!("{percent:.1} %")
    } else if percent < 1e6 {
        format!("{percent:.0} %")
    } else {
        format!("{} %", number(percent))
    }
}

/// What the intervals of these summaries promise, in a sentence; `None` without any.
pub fn interval_note<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> Option<String> {
    let (mut fewest, mut most, mut lowest) = (usize::MAX, 0, f64::INFINITY);
    for summary in summaries {
        fewest = fewest.min(summary.count);
        most = most.max(summary.count);
        if summary.confidence.is_finite() {
            lowest = lowest.min(summary.confidence);
        }
    }
    if most == 0 {
        return None;
    }
    let runs = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
    Some(if most == 1 {
        "One run each: a median of one, and no interval (±?).".to_owned()
    } else if lowest >= 0.95 {
        format!("Medians of {runs} runs; ± is half the 95 % interval of the median.")
    } else {
        format!(
            "Medians of {runs} runs; ± is half the interval of the median, which with few runs is their whole range."
        )
    })
}

/// The fewest runs of those summaries whose interval holds the true median with less than 95 %, and what it holds it
/// with.
pub(crate) fn weakest<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> Option<(usize, f64)> {
    let weak = summaries.into_iter().filter(|summary| summary.count > 0 && !sure(summary));
    weak.min_by_key(|summary| summary.count).map(|summary| (summary.count, summary.confidence))
}

/// What so few runs mean for the figures.
pub fn few_runs(count: usize, confidence: f64) -> String {
    if count == 1 {
        "Some figures are of one run: they have no interval, and differences may be chance.".to_owned()
    } else {
        format!(
            "The intervals of {count} runs hold the true median with {:.0} % only: differences of that size may be \
             chance.",
            confidence.clamp(0.0, 1.0) * 100.0
        )
    }
}

/// Whether an interval holds the true median with 95 % at least, for which it takes six runs.
pub fn sure(summary: &Summary) -> bool {
    summary.count > 1 && summary.confidence >= 0.95
}

/// Whether two 95 % intervals do not overlap.
pub fn apart(a: &Summary, b: &Summary) -> bool {
    sure(a) && sure(b) && seem_apart(a, b)
}

/// Whether two intervals do not touch, however little they promise.
pub fn seem_apart(a: &Summary, b: &Summary) -> bool {
    a.count > 1 && b.count > 1 && (a.high < b.low || b.high < a.low)
}

/// `sequential` or `random`.
pub fn pattern(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    }
}

/// `read` or `write`.
pub fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    }
}

/// `sequential read`, `random write`, ...
pub fn load(p: Pattern, d: Direction) -> String {
    format!("{} {}", pattern(p), direction(d))
}

/// `1 stream`, `4 streams`.
pub fn plural(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// The first letter large.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Places along several dimensions in one name: `cold, writers`. What a place before it says already is left out, so
/// that an app whose name is also its condition is named once.
pub fn joined<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut said: Vec<&str> = Vec::new();
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        if !said.iter().any(|known| known.eq_ignore_ascii_case(part)) {
            said.push(part);
        }
    }
    said.join(", ")
}

/// Whether `text` has the words of `part`, one behind the other.
pub fn has_words(text: &str, part: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| c.is_whitespace() || ",;:()".contains(c))
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let (text, part) = (words(text), words(part));
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

/// `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

/// The same text with no-break spaces between numbers and their units, so that no line ends between them.
pub fn tight(text: &str) -> String {
    const UNITS: [&str; 13] = ["%", "s", "ms", "us", "ns", "min", "B", "KiB", "MiB", "GiB", "TiB", "MB/s", "times"];
    let mut out = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        out.push_str(word);
        if let Some(next) = words.peek() {
            let unit = next.trim_end_matches([',', '.', ';', ':', ')', '?']);
            let number = word.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit);
            out.push(if number { '\u{a0}' } else { ' ' });
        }
    }
    out
}

/// An instant in RFC 3339 as `2026-10-05 20:28 UTC`; anything else as it is.
pub fn instant(rfc3339: &str) -> String {
    let bytes = rfc3339.as_bytes();
    let utc = rfc3339.ends_with('Z') || rfc3339.ends_with("+00:00");
    if utc && rfc3339.is_ascii() && bytes.len() >= 17 && bytes[4] == b'-' && bytes[10] == b'T' && bytes[13] == b':' {
        format!("{} {} UTC", &rfc3339[..10], &rfc3339[11..16])
    } else {
        rfc3339.to_owned()
    }
}

/// Takes out what a hostile or broken name could do to a terminal or a page: control characters (escape sequences) and
/// marks that turn the direction of writing. Everything that leaves this crate passes here.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if c != '\n' && brisk_core::text::acts(c) { '\u{fffd}' } else { c }).collect()
}

/// Where lines end when the width of the terminal is unknown.
pub(crate) const DEFAULT_WIDTH: usize = 100;

/// `text` in lines of at most `columns`, the first behind `lead`, the others indented as far.
pub fn wrap(text: &str, columns: usize, lead: &str) -> String {
    let indent = lead.chars().count();
    let width = columns.saturating_sub(indent).max(12);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        if !line.is_empty() && line.chars().count() + 1 + word.len() > width {
            lines.push(std::mem::take(&mut line));
        }
        // A word wider than the terminal, such as a path: broken where the line ends.
        while word.len() > width {
            let rest = word.split_off(width);
            lines.push(word.into_iter().collect());
            word = rest;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word);
    }
    lines.push(line);
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        let front = if i == 0 { lead.to_owned() } else { " ".repeat(indent) };
        out.push_str(format!("{front}{line}").trim_end());
        out.push('\n');
    }
    out
}

/// `text` with its middle cut out when it is longer than `most` characters.
pub fn shorten(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let (front, back) = (most * 2 / 3, most - most * 2 / 3 - 1);
    text.chars().take(front).chain(['…']).chain(text.chars().skip(count - back)).collect()
}

/// An energy, from microjoules.
pub fn energy(uj: f64) -> String {
    match uj.abs() {
        large if large >= 1e6 => format!("{} J", number(uj / 1e6)),
        middle if middle >= 1e3 => format!("{} mJ", number(uj / 1e3)),
        _ => format!("{} uJ", number(uj)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(us(187.0), "187 us");
        assert_eq!(seconds(9.04), "9.04 s");
        assert_eq!(count(25_431.2), "25,431");
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!(count(999.6), "1000");
        assert_eq!(times(6.149), "6.15x");
        assert_eq!(number(f64::NAN), "-");
        assert_eq!([tick(0.5), tick(32.0), tick(150.0), tick(0.0)], ["0.5", "32", "150", "0"]);
        assert_eq!([us_tick(30.0), us_tick(1500.0)], ["30 us", "1.5 ms"]);
        assert_eq!([printed(28.03), printed(1.6), printed(8.0), printed(1.896_6)], ["28.03x", "1.6x", "8x", "1.9x"]);
        assert_eq!(us(-1.0), "-");
        assert_eq!([ms(0.0), ms(187.4), ms(2_310.0), ms(75_000.0)], ["0 ms", "187 ms", "2.31 s", "1 min 15 s"]);
        assert_eq!([ms_tick(500.0), ms_tick(1_500.0), ms_tick(0.0)], ["500 ms", "1.5 s", "0 ms"]);
        assert_eq!(
            [share(48.0, 100.0), share(0.1, 100.0), share(0.0, 1.0), share(1.0, 0.0)],
            ["48 %", "<1 %", "0 %", "-"]
        );
        assert_eq!([bytes(4096.4), bytes(f64::NAN)], ["4 KiB", "-"]);
        assert_eq!(instant("2026-10-05T20:28:59Z"), "2026-10-05 20:28 UTC");
        assert_eq!(instant("yesterday"), "yesterday");
    }

    #[test]
    fn a_spread_is_never_better_than_the_runs_allow() {
        let of = |values: &[f64]| Summary::of(values).expect("finite");
        assert_eq!(spread(&of(&[100.0])), "±?");
        assert_eq!(spread(&of(&[98.0, 100.0, 102.0])), "±2 %");
        assert_eq!(spread(&of(&[100.0, 100.0, 100.1])), "±<1 %");
        let note = interval_note([&of(&[98.0, 100.0, 102.0])]).expect("one summary");
        assert!(note.contains("their whole range"), "{note}");
        let (count, confidence) = weakest([&of(&[98.0, 100.0, 102.0])]).expect("three are few");
        assert!(few_runs(count, confidence).contains("75 %"));
        assert_eq!(weakest([&of(&[1.0; 8])]), None);
        assert!(interval_note([&of(&[1.0; 8])]).expect("one").contains("95 %"));
    }

    #[test]
    fn the_variation_of_one_run_is_unknown() {
        let of = |values: &[f64]| Summary::of(values).expect("finite");
        assert_eq!([variation(&of(&[1.0])), variation(&of(&[98.0, 100.0, 102.0]))], ["?", "2.0 %"]);
    }

    #[test]
    fn a_wide_interval_is_given_by_its_ends() {
        let of = |values: &[f64]| Summary::of(values).expect("finite");
        assert_eq!(spread_or_ends(&of(&[5.0, 5.1, 5.2]), times), "±2 %");
        assert_eq!(spread_or_ends(&of(&[0.31, 5.1, 75.0]), times), "(0.310 to 75.0)");
        assert_eq!(spread_or_ends(&of(&[0.31, 5.1, 75.0]), seconds), "(310 ms to 1 min 15 s)");
        assert_eq!(spread_or_ends(&of(&[5.0]), times), "±?");
    }

    #[test]
    fn numbers_stay_with_their_units() {
        assert_eq!(
            tight("2.31 s (2 s to 3 s): 48 % of 6 runs"),
            "2.31\u{a0}s (2\u{a0}s to 3\u{a0}s): 48\u{a0}% of 6 runs"
        );
        assert_eq!(tight("a  b"), "a  b");
    }

    #[test]
    fn intervals_that_touch_do_not_tell_apart() {
        let of = |values: &[f64]| Summary::of(values).expect("finite");
        let six = |first: f64| of(&[0.0, 0.2, 0.4, 0.6, 0.8, 1.0].map(|x| first + x));
        assert!(apart(&six(1.0), &six(3.0)));
        assert!(!apart(&six(2.0), &six(3.0)));
        assert!(!apart(&of(&[1.0]), &six(3.0)) && !seem_apart(&of(&[1.0]), &six(3.0)));
    }

    #[test]
    fn few_runs_only_seem_apart() {
        let of = |values: &[f64]| Summary::of(values).expect("finite");
        let (a, b) = (of(&[1.0, 1.1, 1.2, 1.3, 1.4]), of(&[3.0, 3.1, 3.2, 3.3, 3.4]));
        assert!(seem_apart(&a, &b) && !apart(&a, &b));
    }

    #[test]
    fn escape_sequences_lose_their_power() {
        assert_eq!(harmless("a\u{1b}[31mb\u{202e}c\u{9b}\n"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}\n");
    }

    #[test]
    fn lines_break_between_words_and_keep_their_indent() {
        assert_eq!(wrap("one two three four", 15, "· "), "· one two three\n  four\n");
        assert_eq!(wrap("", 20, "a"), "a\n");
    }

    #[test]
    fn a_word_wider_than_the_terminal_is_broken() {
        let text = wrap(&"x".repeat(50), 20, "");
        assert!(text.lines().all(|l| l.len() <= 20), "{text}");
        assert_eq!(text.replace('\n', "").len(), 50);
    }

    #[test]
    fn long_names_keep_both_ends() {
        let short = shorten(&format!("/very{}/end", "/long".repeat(60)), 40);
        assert_eq!(short.chars().count(), 40);
        assert!(short.starts_with("/very") && short.ends_with("/end") && short.contains('…'));
        assert_eq!(shorten("short", 40), "short");
    }

    proptest! {
        #[test]
        fn no_number_is_longer_than_a_table_bears(value in any::<f64>()) {
            for text in [us(value), ms(value), seconds(value), bandwidth(value), bytes(value), count(value),
                tally(value), number(value), times(value), share(value, 3.0), share(3.0, value)] {
                prop_assert!(text.chars().count() <= 20, "{}", text);
                prop_assert!(!text.to_lowercase().contains("nan") && !text.contains("inf"), "{}", text);
            }
        }
    }
}
