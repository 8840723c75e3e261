//! What has to be true of every page, whatever is in the documents.

use crate::documents::samples;
use brisk_lab::results::{Direction, Document};
use roxmltree::{Document as Xml, Node, ParsingOptions};

fn parsed(page: &str) -> Xml<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Xml::parse_with_options(page, options).unwrap_or_else(|error| panic!("{error}\n{page}"))
}

fn elements<'a>(xml: &'a Xml<'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    xml.descendants().filter(move |n| n.has_tag_name(name))
}

fn classed<'a>(xml: &'a Xml<'a>, class: &'static str) -> Vec<Node<'a, 'a>> {
    xml.descendants().filter(|n| n.attribute("class") == Some(class)).collect()
}

#[test]
fn a_page_is_well_formed() {
    for documents in [samples::all(), samples::ugly(), Vec::new()] {
        let page = brisk_report::html(&documents);
        let xml = parsed(&page);
        assert_eq!(elements(&xml, "article").count(), documents.len());
    }
}

#[test]
fn a_page_needs_nothing_from_outside() {
    let page = brisk_report::html(&samples::all());
    for word in ["http", "//", "url(", "@import", "<script", "<link", "<img", "<iframe", " src=", "data:", "srcset"] {
        let at = page.to_lowercase().find(word).map(|at| page.get(at.saturating_sub(80)..at + 40));
        assert_eq!(at, None, "the page contains {word}");
    }
    let xml = parsed(&page);
    let ids: Vec<&str> = xml.descendants().filter_map(|n| n.attribute("id")).collect();
    for link in elements(&xml, "a") {
        let place = link.attribute("href").and_then(|to| to.strip_prefix('#'));
        assert!(place.is_some_and(|place| ids.contains(&place)), "{link:?}");
    }
}

#[test]
fn names_of_the_machine_never_become_markup() {
    let page = brisk_report::html(&samples::ugly());
    assert!(!page.contains("<script"), "a model's name opened an element");
    assert!(page.contains("&lt;script&gt;alert(1)"), "the name is shown as it is");
    let xml = parsed(&page);
    // One style sheet, and no drawing was closed early by a name.
    assert_eq!(elements(&xml, "style").count(), 1);
    assert_eq!(elements(&xml, "svg").count(), page.matches("</svg>").count());
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
    let text: String = samples::ugly().iter().map(|d| brisk_report::terminal(d, Some(80))).collect();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "an escape sequence reached the terminal");
}

#[test]
fn every_chart_has_words_for_those_who_do_not_see_it() {
    let page = brisk_report::html(&samples::all());
    let xml = parsed(&page);
    let mut charts = 0;
    for svg in elements(&xml, "svg").filter(|svg| svg.attribute("aria-hidden").is_none()) {
        // Some are drawn a second time, for a wide screen.
        charts += usize::from(svg.attribute("class") != Some("wide"));
        let named: Vec<&str> = svg.attribute("aria-labelledby").expect("labelled").split(' ').collect();
        for (id, tag) in named.iter().zip(["title", "desc"]) {
            let label = svg.children().find(|n| n.attribute("id") == Some(id)).expect("the label is there");
            assert!(label.has_tag_name(tag) && label.text().is_some_and(|t| t.len() > 10), "{id}");
        }
    }
    assert!(charts > 30, "{charts} charts");
    let mut ids: Vec<&str> = xml.descendants().filter_map(|n| n.attribute("id")).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id stands twice");
}

#[test]
fn every_measured_point_shows_its_interval_and_a_single_run_has_none() {
    let whiskers = |page: &str| {
        elements(&parsed(page), "path")
            .filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("whisker")))
            .count()
    };
    let mut slowdown = samples::slowdown();
    // Four rows with two sides of two or three bars, and as many ratios as sides.
    let page = brisk_report::html(&[Document::from(slowdown.clone())]);
    assert_eq!(whiskers(&page), 2 * 4 + 2 * 6 + 8);
    for row in &mut slowdown.rows {
        for summary in [&mut row.read_slowdown, &mut row.write_slowdown] {
            *summary = samples::summary(summary.median, 0.0, 1);
        }
    }
    let page = brisk_report::html(&[Document::from(slowdown)]);
    assert_eq!(whiskers(&page), 2 * 4 + 2 * 6);
    assert!(page.contains("±?"));
    let concurrency = samples::concurrency();
    let points = concurrency.points.len();
    assert_eq!(whiskers(&brisk_report::html(&[Document::from(concurrency)])), points);
}

#[test]
fn all_numbers_stand_in_tables_too() {
    let concurrency = samples::concurrency();
    let page = brisk_report::html(&[Document::from(concurrency.clone())]);
    let xml = parsed(&page);
    let cells: Vec<String> = elements(&xml, "td").map(|td| td.text().unwrap_or("").trim().to_owned()).collect();
    for point in &concurrency.points {
        let speedup = format!("{}x", brisk_core::units::three_digits(point.speedup.median));
        assert!(cells.contains(&speedup), "{speedup} is in no table");
    }
}

#[test]
fn published_figures_are_printed_with_those_of_a_preset_only() {
    let with = brisk_report::html(&[Document::from(samples::slowdown())]);
    assert!(with.contains("28.03x") && with.contains("6.15x") && with.contains("point published"));
    let mut other = samples::slowdown();
    other.header.environment.device.as_mut().expect("sample").lab_preset = Some("some-other-phone".into());
    let without = brisk_report::html(&[Document::from(other)]);
    assert!(!without.contains("28.03x") && !without.contains("point published"));
    // A paper's figure for 4 KiB says nothing about other sizes.
    let mut larger = samples::slowdown();
    larger.block_bytes = 65_536;
    assert!(!brisk_report::html(&[Document::from(larger)]).contains("28.03x"));
}

#[test]
fn warnings_come_before_numbers() {
    let documents = samples::ugly();
    let page = brisk_report::html(&documents);
    for (i, article) in page.split("<article").skip(1).enumerate() {
        let (warning, facts) = (article.find("<aside"), article.find("<dl"));
        assert!(i > 0 || article.contains("7 warnings"), "{article}");
        assert!(warning.is_some_and(|w| facts.is_none_or(|f| w < f)), "{article}");
    }
    let text = brisk_report::terminal(&documents[0], Some(80));
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is missing"));
    assert!(at("tmpfs lives in memory") < at("!! 5 warnings") && at("!! 5 warnings") < at("Device"));
}

/// Relative luminance and contrast after WCAG 2.
fn contrast(a: &str, b: &str) -> f64 {
    let luminance = |hex: &str| {
        let hex = if hex.len() == 4 { hex.chars().flat_map(|c| [c, c]).skip(1).collect() } else { hex.to_owned() };
        let channel = |i: usize| {
            let value = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).expect("a colour")) / 255.0;
            if value <= 0.039_28 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn words_and_lines_stand_out_from_their_ground_in_light_dark_and_print() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.01);
    let page = brisk_report::html(&[]);
    let palettes: Vec<&str> = page.split(":root {").skip(1).map(|p| p.split('}').next().expect("closed")).collect();
    assert_eq!(palettes.len(), 3);
    for palette in palettes {
        let colour = |name: &str| {
            let value = palette.split(&format!("--{name}: ")).nth(1).unwrap_or_else(|| panic!("{name} in {palette}"));
            value.split(';').next().expect("ended").to_owned()
        };
        let names = ["ink", "soft", "read", "write", "plain", "c0", "c1", "c2", "c3", "c4", "c5"];
        for (name, ground) in
            names.map(|n| (n, "paper")).into_iter().chain([("soft", "card"), ("alert", "alert-paper")])
        {
            let found = contrast(&colour(name), &colour(ground));
            assert!(found >= 4.5, "{name} on {ground} has a contrast of {found:.2} only: {palette}");
        }
    }
}

#[test]
fn schedulers_are_compared_whatever_depth_each_brings() {
    let mut report = samples::schedulers();
    report.points.retain(|x| x.depth_requests == 128);
    for point in &mut report.points {
        // As kernels do: twice the 128 of the driver under a real scheduler.
        point.queue_depth_requests = if point.scheduler == "none" { 128 } else { 256 };
        point.wanted_depth_requests = None;
    }
    let text = brisk_report::terminal(&Document::from(report.clone()), Some(160));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("of 20 mixes"), "{text}");
    assert!(words.contains("queue depth of each scheduler (none 128, mq-deadline 256, kyber 256, bfq 256)"), "{text}");
    assert!(words.contains(" sequential, load depth 128 "), "too wide for a terminal: {text}");
    assert!(words.contains("s with kyber, ") && words.contains("s with none ("), "none is not compared: {text}");

    // Documents of before the wanted depth was kept: several depths of one scheduler were asked for.
    let new = samples::schedulers();
    let mut old = new.clone();
    old.points.iter_mut().for_each(|point| point.wanted_depth_requests = None);
    let [new, old] = [new, old].map(|report| brisk_report::html(&[Document::from(report)]));
    assert_eq!(new, old);
}

#[test]
fn few_runs_are_called_few() {
    let text = |document: Document| {
        brisk_report::terminal(&document, Some(160)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut schedulers = samples::schedulers();
    for point in &mut schedulers.points {
        point.response_s = samples::summary(point.response_s.median, 1.0, 3);
    }
    let said = text(Document::from(schedulers));
    assert!(said.contains("!! The intervals of 3 runs hold the true median with 75 % only"), "{said}");
    assert!(said.contains("The runs are too few to tell which scheduler is fastest"), "{said}");
    assert!(said.contains("In these few runs the choice matters most"), "{said}");
    let mut slowdown = samples::slowdown();
    for row in &mut slowdown.rows {
        for summary in [&mut row.read_slowdown, &mut row.write_slowdown] {
            *summary = samples::summary(summary.median, 1.0, 3);
        }
    }
    let said = text(Document::from(slowdown));
    assert!(said.contains("!! The intervals of 3 runs hold the true median with 75 % only"), "{said}");
}

#[test]
fn the_worst_slowdown_is_one_whose_interval_excludes_1() {
    let mut report = samples::slowdown();
    report.rows.truncate(1);
    let row = &mut report.rows[0];
    // The interval of the larger median includes 1, that of the smaller does not.
    row.read_slowdown = brisk_core::stats::Summary { low: 0.9, ..samples::summary(3.0, 1.0, 7) };
    row.write_slowdown = samples::summary(2.0, 1.0, 7);
    let verdict = |report: &brisk_lab::results::SlowdownReport| {
        brisk_report::terminal(&Document::from(report.clone()), Some(160))
    };
    assert!(verdict(&report).contains("A sequential write concurrent with 1 reader takes"), "{}", verdict(&report));
    report.rows[0].write_slowdown.low = 0.9;
    assert!(verdict(&report).contains("Neither kind measurably slows the other"), "{}", verdict(&report));
}

#[test]
fn benchmarks_are_compared_where_they_measured_the_same() {
    let (a, mut b) = (samples::bench(), samples::other_bench());
    let documents = |b| [Document::from(samples::bench()), Document::from(b)];
    let text = brisk_report::together(&documents(b.clone()), Some(120)).join("\n");
    assert!(
        text.contains("A: galaxy-s5-emmc") && text.contains("B: ACME NV3 512GB") && text.contains("B / A"),
        "{text}"
    );
    // Reads are four times faster there; writes two percent, which is within the noise.
    for line in text.lines().filter(|l| l.contains("KiB")) {
        assert_eq!(line.contains("read"), !line.contains('('), "{line}");
    }
    assert!(brisk_report::html(&documents(b.clone())).contains("Benchmarks compared"));
    assert_eq!(brisk_report::together(&[Document::from(a)], None), [""; 0]);
    b.jobs.retain(|j| j.direction == Direction::Read && j.depth_requests == 7);
    b.block_sweep.clear();
    b.depth_sweep.clear();
    assert_eq!(brisk_report::together(&documents(b), None), [""; 0]);
}

#[test]
fn a_page_of_many_documents_says_the_machine_once() {
    let page = brisk_report::html(&samples::all());
    let machines = page.matches("<dt>Machine</dt>").count();
    let same = page.matches("Same machine, device and settings as above").count();
    assert!(machines > 4 && same > machines && machines + same < samples::all().len(), "{machines} and {same}");
    // What is a document's own stands in each of them.
    assert_eq!(page.matches("<dt>Screen</dt>").count(), 3);
    assert_eq!(page.matches("<dt>Phone</dt>").count(), 5);
}

/// A measure that a column names and no row has would leave it empty in every row.
#[test]
fn every_column_has_a_value_in_the_samples() {
    let page = brisk_report::html(&samples::all());
    let xml = parsed(&page);
    let mut columns = 0;
    let mut empty = Vec::new();
    for table in elements(&xml, "table") {
        let under = |name: &'static str| table.descendants().filter(move |node| node.has_tag_name(name));
        let heads: Vec<&str> = under("th")
            .filter(|th| th.attribute("scope") == Some("col"))
            .map(|th| th.text().unwrap_or_default())
            .collect();
        let rows: Vec<Vec<_>> = under("tr")
            .filter(|row| row.children().all(|cell| cell.attribute("scope") != Some("col")))
            .map(|row| row.children().filter(|cell| cell.is_element()).collect())
            .collect();
        let has_something = |cell: &roxmltree::Node<'_, '_>| {
            cell.descendants()
                .skip(1)
                .any(|node| node.is_element() || node.text().is_some_and(|text| !text.trim().is_empty()))
        };
        for (place, head) in heads.iter().enumerate() {
            columns += 1;
            if !rows.iter().any(|row| row.get(place).is_some_and(has_something)) {
                empty.push(format!("{head} of {heads:?}"));
            }
        }
    }
    assert!(columns > 150, "{columns} columns were found");
    assert!(empty.is_empty(), "no sample has {empty:#?}");
}

/// The rules of the stylesheet in its last `@media` block of this condition.
fn media<'a>(page: &'a str, condition: &str) -> &'a str {
    let (_, block) = page.rsplit_once(&format!("@media {condition} {{")).expect("the stylesheet has it");
    block.split("\n}").next().unwrap_or_default()
}

#[test]
fn a_chart_without_a_neighbour_is_drawn_for_the_whole_width() {
    let page = brisk_report::html(&samples::all());
    let xml = parsed(&page);
    let mut alone = 0;
    for panels in classed(&xml, "panels") {
        let of: Vec<Node<'_, '_>> = panels.children().filter(Node::is_element).collect();
        for (i, panel) in of.iter().enumerate() {
            let widths: Vec<&str> = panel
                .children()
                .filter(|n| n.has_tag_name("svg"))
                .filter_map(|svg| svg.attribute("viewBox")?.split(' ').nth(2))
                .collect();
            let is_alone = of.len() % 2 == 1 && i + 1 == of.len();
            alone += usize::from(is_alone);
            assert_eq!(widths, if is_alone { vec!["420", "860"] } else { vec!["420"] });
            assert_eq!(panel.attribute("class") == Some("panel alone"), is_alone);
        }
    }
    assert!(alone > 10, "{alone}");
    // One of the two is shown: the narrow one by default, the wide one on screens and paper that have the room.
    assert!(page.contains(".panel svg.wide { display: none; }"));
    for condition in ["(min-width: 48rem)", "print"] {
        for rule in [".panel.alone > svg { display: none; }", ".panel.alone > svg.wide { display: block; }"] {
            assert!(media(&page, condition).contains(rule), "{condition}: {rule}");
        }
    }
}

#[test]
fn paper_keeps_each_heading_with_its_charts() {
    let page = brisk_report::html(&samples::all());
    let xml = parsed(&page);
    for panels in classed(&xml, "panels") {
        let block = panels.parent().expect("it is in a figure");
        assert_eq!(block.attribute("class"), Some("drawn"));
        let heading = block.children().find(Node::is_element).expect("it has children");
        assert!(["h2", "h3"].contains(&heading.tag_name().name()), "{heading:?}");
    }
    let print = media(&page, "print");
    let rule = |declaration: &str| {
        let line = print.lines().find(|line| line.contains(declaration)).unwrap_or_default();
        line.split('{').next().unwrap_or_default().split(',').map(|one| one.trim().to_owned()).collect::<Vec<_>>()
    };
    let inside: String = print.lines().filter(|line| line.contains("break-inside: avoid")).collect();
    for part in [".drawn", ".panel", "tr"] {
        assert!(inside.contains(part), "{part} may be divided");
    }
    for part in ["h2", "h3", "h4", ".title", ".caption", ".keys", ".same"] {
        assert!(rule("break-after: avoid").contains(&part.to_owned()), "{part} may stand alone");
    }
}
