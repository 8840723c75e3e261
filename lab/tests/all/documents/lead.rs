//! What a reader sees first: one sentence, one picture, at most three sentences more, and each warning once.

use crate::documents::samples;
use brisk_core::stats::Summary;
use brisk_lab::results::{Document, Warning};
use roxmltree::{Document as Xml, Node, ParsingOptions};
use samples::apps;

fn parsed(page: &str) -> Xml<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Xml::parse_with_options(page, options).unwrap_or_else(|error| panic!("{error}\n{page}"))
}

fn articles<'a>(xml: &'a Xml<'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    xml.descendants().filter(|node| node.has_tag_name("article") && node.attribute("id").is_some())
}

fn words(node: Node<'_, '_>) -> String {
    node.descendants()
        .filter_map(|n| n.text().filter(|_| n.is_text()))
        .collect::<Vec<_>>()
        .join("")
        .replace('\u{a0}', " ")
}

fn classed<'a>(node: Node<'a, 'a>, class: &str) -> Vec<Node<'a, 'a>> {
    node.descendants().filter(|n| n.attribute("class") == Some(class)).collect()
}

#[test]
fn a_proof_comes_first_then_apps_then_studies_then_benchmarks() {
    let mut documents = samples::all();
    documents.reverse();
    documents.rotate_left(4);
    let page = brisk_report::html(&documents);
    let xml = parsed(&page);
    let titles: Vec<String> = articles(&xml)
        .map(|article| words(article.descendants().find(|n| n.has_tag_name("h2")).expect("a name")))
        .collect();
    let rank = |title: &String| match title {
        title if title.starts_with("Proof") => 0,
        title if ["Launch", "Latency"].iter().any(|app| title.starts_with(app)) => 1,
        title if title.starts_with("Storage benchmark") => 3,
        _ => 2,
    };
    assert!(titles[0].starts_with("Proof"), "{titles:?}");
    assert!(titles.is_sorted_by_key(rank), "{titles:?}");
}

#[test]
fn a_page_leads_with_one_sentence_and_one_picture() {
    let page = brisk_report::html(&[Document::from(apps::prove())]);
    let xml = parsed(&page);
    let article = articles(&xml).next().expect("one");
    let lead = words(classed(article, "lead")[0]);
    assert_eq!(
        lead,
        "Opening the picture editor (gimp) while an app is installed: 1.92 s without brisk, 1.50 s with it (the middle \
         one of 3 apps)."
    );
    let order: Vec<&str> = article.children().filter_map(|child| child.attribute("class")).collect();
    assert_eq!(order, ["head", "lead", "picture", "points", "warnings"]);
    let picture = classed(article, "picture")[0];
    // One chart, which is drawn for a phone and for a screen.
    let drawings = picture.descendants().filter(|n| n.attribute("role") == Some("img"));
    assert_eq!(drawings.map(|n| n.attribute("class")).collect::<Vec<_>>(), [None, Some("wide")]);
}

#[test]
fn every_result_leads_with_one_sentence_and_has_at_most_three_points() {
    for documents in [samples::all(), samples::ugly()] {
        let page = brisk_report::html(&documents);
        let xml = parsed(&page);
        for article in articles(&xml) {
            let lead = classed(article, "lead");
            assert_eq!(lead.len(), 1);
            let lead = words(lead[0]);
            // Names in ugly documents may have full stops, and end in anything.
            let sentences = lead.trim_end_matches('.').split(". ").skip(1);
            let sentences = sentences.filter(|rest| rest.starts_with(char::is_uppercase));
            assert!(!lead.is_empty() && sentences.count() == 0 || lead.contains("<script"), "{lead}");
            // Legends and warnings are lists too.
            let other = |list: &Node<'_, '_>| {
                list.attribute("class") == Some("keys") || list.ancestors().any(|n| n.has_tag_name("aside"))
            };
            let lists = article.descendants().filter(|n| n.has_tag_name("ul") && !other(n));
            let points = lists.flat_map(|list| list.children()).filter(|n| n.has_tag_name("li")).count();
            assert!(points <= 3, "{points} points: {}", words(article));
        }
    }
}

#[test]
fn intervals_and_published_figures_stand_in_tables_and_not_in_the_first_sentences() {
    let page = brisk_report::html(&samples::all());
    let xml = parsed(&page);
    for article in articles(&xml) {
        for first in classed(article, "lead").into_iter().chain(classed(article, "points")) {
            let text = words(first);
            for word in [" pairs)", " runs)", "ublished for", "ublished in", "95 % interval"] {
                assert!(!text.contains(word), "{word} in {text}");
            }
        }
    }
}

#[test]
fn each_warning_stands_once_on_a_page() {
    let mut documents =
        [Document::from(apps::prove()), Document::from(samples::slowdown()), Document::from(samples::bench())];
    let same = Warning { code: "lab_late".into(), text: "Answers were 120 us late.".into() };
    for (i, document) in documents.iter_mut().enumerate() {
        let own =
            Warning { code: "cpu_pressure".into(), text: format!("Tasks waited during {} % of the run.", 20 + i) };
        document.header_mut().warnings = vec![same.clone(), own];
    }
    let page = brisk_report::html(&documents);
    let text = words(parsed(&page).root());
    let count = |words: &str| text.matches(words).count();
    assert_eq!(count("Answers were 120 us late."), 1, "a warning that all have");
    assert_eq!(count("The emulated device answered later than its model says"), 1, "what it means");
    assert_eq!(
        count("waited for a CPU, so response times may be too long"),
        1,
        "what one with a figure of its own means"
    );
    for i in 20..23 {
        assert_eq!(count(&format!("Tasks waited during {i} % of the run.")), 1);
    }
    assert_eq!(count("of the warnings above hold here too"), 2);
}

#[test]
fn a_spread_of_hundreds_of_percent_is_shown_as_a_range() {
    let mut report = apps::prove();
    report.gains[0].loaded_ratio = Summary::of(&[0.31, 5.12, 75.3]);
    let document = Document::from(report);
    let page = brisk_report::html(std::slice::from_ref(&document));
    assert!(!page.contains("±732 %") && page.contains("5.12x (0.310 to 75.3)"), "the page");
    let text = brisk_report::terminal(&document, Some(200));
    assert!(text.contains("5.12x (0.310 to 75.3)"), "{text}");
    // And the interval does not set the axis.
    let xml = parsed(&page);
    let chart = xml
        .descendants()
        .filter(|n| n.has_tag_name("svg"))
        .find(|svg| words(*svg).contains("With background writes: time with brisk"))
        .expect("the chart");
    assert!(chart.descendants().any(|n| n.attribute("class") == Some("clip unclear")), "no arrow at a cut interval");
    assert!(!classed(chart, "tick mid").iter().any(|tick| words(*tick).parse::<f64>().is_ok_and(|at| at > 20.0)));
}

#[test]
fn a_read_that_is_faster_with_writers_than_alone_is_refused_and_explained() {
    let mut report = samples::slowdown();
    report.rows.truncate(1);
    report.rows[0].read_slowdown = samples::summary(0.8, 2.0, 7);
    let document = Document::from;
    let text = brisk_report::terminal(&document(report.clone()), Some(160));
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("A sequential write concurrent with 1 reader takes"), "it does not lead: {said}");
    assert!(
        said.contains("No slowdown is given where a request was faster in mixed load than alone: sequential read"),
        "{said}"
    );
    assert!(said.contains("the processor sleeps after each request"), "{said}");
    assert!(!text.contains("0.80") && text.contains("refused"), "{text}");
    // An interval that includes 1 shows no slowdown, whatever the median is.
    report.rows[0].read_slowdown = Summary::of(&[0.3, 0.5, 0.9, 2.0, 6.0, 6.1]).expect("finite");
    let text = brisk_report::terminal(&document(report.clone()), Some(160));
    assert!(text.contains("reads no significant slowdown; writes"), "{text}");
    // Within a few percent it is chance, and no reason to refuse anything.
    report.rows[0].read_slowdown = samples::summary(0.99, 0.1, 7);
    assert!(!brisk_report::terminal(&document(report.clone()), Some(160)).contains("refused"));
    report.rows[0].read_slowdown = samples::summary(0.8, 2.0, 7);
    report.rows[0].write_slowdown = samples::summary(0.5, 2.0, 7);
    assert!(brisk_report::terminal(&document(report), Some(160)).contains("No slowdown is given: every request"));
}

#[test]
fn no_word_of_a_chart_is_an_abbreviation() {
    let page = brisk_report::html(&samples::all());
    let xml = parsed(&page);
    for text in xml.descendants().filter(|n| n.has_tag_name("text")) {
        let text = words(text);
        for word in ["seq.", "rand.", "…"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }
}

#[test]
fn the_first_link_skips_to_the_content_and_lists_stand_in_landmarks() {
    let page = brisk_report::html(&samples::all());
    let xml = parsed(&page);
    let body = xml.descendants().find(|n| n.has_tag_name("body")).expect("a body");
    let first = body.descendants().find(|n| n.has_tag_name("a")).expect("a link");
    assert_eq!((first.attribute("class"), first.attribute("href")), (Some("skip"), Some("#content")));
    let main = xml.descendants().find(|n| n.has_tag_name("main")).expect("a main part");
    assert_eq!(main.attribute("id"), Some("content"));
    assert_eq!(xml.descendants().filter(|n| n.has_tag_name("h1")).count(), 1, "one page, one first heading");
    // Headings descend one level at a time.
    let levels: Vec<usize> = body
        .descendants()
        .filter_map(|n| ["h1", "h2", "h3", "h4"].iter().position(|tag| n.has_tag_name(*tag)))
        .collect();
    let skips = levels.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
    assert_eq!(skips, 0, "{levels:?}");
}

#[test]
fn every_chart_has_its_numbers_in_a_table() {
    for documents in [samples::all(), samples::ugly()] {
        let page = brisk_report::html(&documents);
        let xml = parsed(&page);
        let sections = xml.descendants().filter(|n| n.has_tag_name("section"));
        let drawn = sections.filter(|n| n.descendants().any(|n| n.attribute("role") == Some("img")));
        for section in drawn {
            let has_table = |node: Node<'_, '_>| node.descendants().any(|n| n.has_tag_name("table"));
            let heading =
                |node: Node<'_, '_>| node.descendants().find(|n| n.has_tag_name("h3")).map(words).unwrap_or_default();
            let numbers = format!("{}: numbers", heading(section));
            let below = section.next_siblings().find(|node| heading(*node) == numbers);
            assert!(has_table(section) || below.is_some_and(has_table), "{}", heading(section));
        }
    }
}

#[test]
fn apps_that_open_faster_with_the_load_are_a_reason_for_doubt_and_no_share_is_above_all() {
    let mut report = apps::prove();
    report.gains[0].gone_percent = Some(347.0);
    report.gains.truncate(1);
    for stage in
        report.apps[0].sets.iter_mut().filter(|set| set.label.starts_with("writers")).flat_map(|set| &mut set.stages)
    {
        stage.at_ms.median /= 3.0;
    }
    let document = Document::from(report);
    let text = brisk_report::terminal(&document, Some(200)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("all of the added latency is removed") && !text.contains("347 %"), "{text}");
    assert!(text.contains("!! Apps opened faster while an app is installed than without load: evince ("), "{text}");
    let good = brisk_report::terminal(&Document::from(apps::prove()), Some(200));
    assert!(!good.contains("Apps opened faster"), "{good}");
}
