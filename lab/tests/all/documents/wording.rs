//! What has to be true of all texts of all kinds: no words stand twice, a thing has one number, and verdicts have
//! signs.

use crate::documents::samples;
use std::collections::BTreeSet;

use brisk_lab::results::Document;
use roxmltree::{Document as Xml, Node, ParsingOptions};

/// All samples, and documents whose names coincide.
fn documents() -> Vec<Document> {
    samples::all().into_iter().chain(samples::coinciding()).collect()
}

fn with_page(document: &Document, of: impl FnOnce(&Xml<'_>)) {
    let page = brisk_report::html(std::slice::from_ref(document));
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    of(&Xml::parse_with_options(&page, options).expect("a page is well-formed"));
}

fn text(node: Node<'_, '_>) -> String {
    node.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect::<String>().replace('\u{a0}', " ")
}

fn is_text_block(node: &Node<'_, '_>) -> bool {
    const BLOCKS: [&str; 15] =
        ["h1", "h2", "h3", "h4", "p", "li", "dt", "dd", "td", "th", "text", "title", "desc", "summary", "b"];
    BLOCKS.contains(&node.tag_name().name())
}

/// The first words of a sentence that stand twice, one behind the other.
fn repeated(sentence: &str) -> Option<String> {
    let words: Vec<String> = sentence
        .split(|c: char| c.is_whitespace() || ",;:()/".contains(c))
        .filter(|word| !word.is_empty())
        .map(|word| word.trim_end_matches('.').to_lowercase())
        .collect();
    let has_letters = |words: &[String]| words.iter().any(|word| word.chars().any(char::is_alphabetic));
    (1..=4).find_map(|length| {
        let twice = |at: &usize| words[*at..at + length] == words[at + length..at + 2 * length];
        let mut places = (0..words.len().saturating_sub(2 * length - 1)).filter(twice);
        let found = places.find(|at| has_letters(&words[*at..at + length]))?;
        Some(words[found..found + 2 * length].join(" "))
    })
}

#[test]
fn words_that_stand_twice_are_found() {
    assert_eq!(repeated("Cold, galculator, galculator settles after 2 s").as_deref(), Some("galculator galculator"));
    assert_eq!(repeated("time over time over that").as_deref(), Some("time over time over"));
    assert_eq!(repeated("of 0 0 runs, 12 of 12"), None);
}

#[test]
fn no_text_of_any_kind_has_the_same_words_twice() {
    // In a description sentences follow each other, and one may begin as the other ends.
    let sentences = |text: &str| -> Vec<String> { text.split(". ").map(str::to_owned).collect() };
    let mut found = BTreeSet::new();
    for document in documents() {
        with_page(&document, |xml| {
            for block in xml.descendants().filter(is_text_block) {
                for sentence in sentences(&text(block)) {
                    found.extend(repeated(&sentence).map(|words| format!("{}: {words}: {sentence}", document.kind())));
                }
            }
        });
        for line in brisk_report::terminal(&document, Some(400)).lines().filter(|line| !line.contains("  ")) {
            found.extend(repeated(line).map(|words| format!("{}: {words}: {line}", document.kind())));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_heading_is_repeated_below_itself() {
    for document in documents() {
        with_page(&document, |xml| {
            let headings: Vec<String> = xml
                .descendants()
                .filter(|node| {
                    ["h2", "h3", "h4"].contains(&node.tag_name().name()) || node.attribute("class") == Some("title")
                })
                .map(text)
                .collect();
            for pair in headings.windows(2) {
                assert_ne!(pair[0], pair[1], "{}", document.kind());
            }
        });
    }
}

/// Numbers with a unit, as a reader compares them: `582 ms`, `1.42x`, `48 %`.
fn quantities(text: &str) -> Vec<String> {
    const UNITS: [&str; 13] = ["s", "ms", "us", "ns", "%", "B", "KiB", "MiB", "GiB", "MB/s", "J", "mJ", "uJ"];
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || "()[];".contains(c))
        .map(|word| word.trim_end_matches(['.', ',', ':']))
        .collect();
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(|c| c.is_ascii_digit() || ".,".contains(c))
    };
    let with_unit = words.windows(2).filter(|two| is_number(two[0]) && UNITS.contains(&two[1]));
    let ratios = words.iter().filter(|word| word.strip_suffix('x').is_some_and(is_number));
    with_unit.map(|two| two.join(" ")).chain(ratios.map(|word| (*word).to_owned())).collect()
}

#[test]
fn a_number_in_a_chart_is_the_one_in_its_table() {
    let mut found = BTreeSet::new();
    for document in documents() {
        with_page(&document, |xml| {
            let tables: BTreeSet<String> = xml
                .descendants()
                .filter(|node| node.has_tag_name("td") || node.has_tag_name("th"))
                .flat_map(|cell| quantities(&text(cell)))
                .collect();
            let is_value = |node: &Node<'_, '_>| {
                let class = node.attribute("class").unwrap_or_default();
                node.has_tag_name("text") && class.split(' ').any(|one| ["name", "value"].contains(&one))
            };
            for label in xml.descendants().filter(is_value) {
                let label = text(label);
                for number in quantities(&label).into_iter().filter(|number| !tables.contains(number)) {
                    found.insert(format!("{}: {number} of '{label}' is in no table", document.kind()));
                }
            }
        });
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Figures of sentences that no table has, `#` in the words around them: limits and aims, published figures, and what
/// follows from shown figures. Whatever is not listed here has to stand in a table in the same form.
const DERIVED: [&str; 29] = [
    // Limits and aims.
    "are larger than #",
    "by more than #",
    "at least # of the writes",
    "meets the aim of #",
    "with less than #",
    "come within # of",
    "within # of a write",
    "a cluster of #",
    // Published.
    "on this phone: #)",
    // Differences and sums of shown figures.
    "is final # later",
    "# less than cold",
    "# running",
    "without them 279 MiB (#)",
    "need # of the serial time",
    "takes # less modelled energy",
    "; # to ",
    " to #)",
    // Ratios of two shown figures.
    "with zram (#)",
    "with mars (whole app) (#)",
    "takes at most # as long",
    // Over apps, policies or loads, where tables have each of them.
    "launches take # less time",
    "apps settle after # at the median",
    "Warm launches take # less time",
    "waits # of its time",
    "brings back # from flash",
    "(alone #)",
    "Apps used # of it",
    "# of it was read",
    "# the rest",
];

#[test]
fn a_number_in_a_sentence_is_the_one_in_a_table() {
    let mut found = BTreeSet::new();
    for document in documents() {
        with_page(&document, |xml| {
            let cells = |node: &Node<'_, '_>| ["td", "th", "dd"].contains(&node.tag_name().name());
            let cells: Vec<String> = xml.descendants().filter(cells).map(text).collect();
            let shown: BTreeSet<String> = cells.iter().flat_map(|cell| quantities(cell)).collect();
            // A unit may stand in the head of its column.
            let bare: BTreeSet<&str> = cells.iter().filter_map(|cell| cell.split(' ').next()).collect();
            let class = |node: &Node<'_, '_>| node.attribute("class").unwrap_or_default().to_owned();
            let is_said = |node: &Node<'_, '_>| {
                class(node) == "lead"
                    || node.has_tag_name("li") && node.parent().is_some_and(|list| class(&list) == "points")
                    || node.has_tag_name("p") && node.parent().is_some_and(|section| class(&section) == "notes")
            };
            for sentence in xml.descendants().filter(is_said) {
                let sentence = text(sentence);
                let is_shown = |number: &String| {
                    shown.contains(number)
                        || number.strip_suffix(" MB/s").is_some_and(|number| bare.contains(number))
                        || DERIVED.iter().any(|words| sentence.contains(&words.replace('#', number)))
                };
                for number in quantities(&sentence).into_iter().filter(|number| !is_shown(number)) {
                    found.insert(format!("{}: {number}: {sentence}", document.kind()));
                }
            }
        });
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_launch_has_one_time_until_settled_whatever_its_parts_come_from() {
    let report = samples::apps::launch_of_two();
    let settled = report.sets[0].stage(brisk_lab::results::Stage::Settled).expect("it settled").median;
    let shown = format!("{settled:.0} ms");
    let text = brisk_report::html(&[Document::from(report)]).replace('\u{a0}', " ");
    for words in [format!("settles after {shown}"), format!("Cold, galculator: {shown}"), format!("Settled: {shown}")] {
        assert!(text.contains(&words), "'{words}' is not there");
    }
    let (_, whole) = text.split_once(">whole</th>").expect("the table of causes has the whole");
    assert!(whole.split('>').nth(1).is_some_and(|cell| cell.starts_with(&shown)), "{}", &whole[..80]);
}

#[test]
fn a_verdict_has_a_sign_and_a_colour_of_its_own() {
    let mut seen = BTreeSet::new();
    for document in documents() {
        with_page(&document, |xml| {
            let class = |node: Node<'_, '_>| node.attribute("class").unwrap_or_default().to_owned();
            for node in xml.descendants().filter(|node| node.is_element()) {
                let words = text(node);
                let is_mark = class(node).starts_with("verdict ");
                let (sign, expected) = match words.trim() {
                    "improved" | "regressed" | "no change" | "no significant difference" if node.has_tag_name("td") => {
                        panic!("{}: '{words}' has no sign", document.kind())
                    }
                    words if words.starts_with("✓ ") => ('✓', "better"),
                    words if words.starts_with("✗ ") => ('✗', "worse"),
                    words if words.starts_with("≈ ") => ('≈', "unclear"),
                    _ => continue,
                };
                if is_mark {
                    assert!(class(node).ends_with(expected), "{words}: {}", class(node));
                    seen.insert(sign);
                }
            }
        });
    }
    assert_eq!(seen.into_iter().collect::<String>(), "≈✓✗");
}
