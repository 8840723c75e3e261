//! Results as tables of other programs: CSV with one value a line, and Markdown.

use crate::documents::samples;
use std::collections::HashSet;

use brisk_lab::results::{ALL_KINDS, Document, JobRun, SlowdownRun};

fn read(text: &str) -> (Vec<String>, Vec<csv::StringRecord>) {
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let heads = table.headers().expect("a line of heads").iter().map(str::to_owned).collect();
    (heads, table.records().map(|record| record.expect("as many fields as heads")).collect())
}

#[test]
fn each_value_has_a_line_of_its_own_and_its_columns_hold_one_type_each() {
    for document in samples::all() {
        let (heads, lines) = read(&brisk_report::csv(std::slice::from_ref(&document)));
        assert!(!lines.is_empty(), "{} has no values", document.kind());
        let column = |name: &str| heads.iter().position(|head| head == name).expect("there is such a column");
        let integers = ["document", "run", "runs"].map(column).into_iter().chain(
            heads
                .iter()
                .enumerate()
                .filter(|(_, head)| head.ends_with("_bytes") || head.ends_with("_requests"))
                .map(|x| x.0),
        );
        let integers: Vec<usize> = integers.chain([column("streams")]).collect();
        let value = column("value");
        let mut places = HashSet::new();
        for line in &lines {
            for at in integers.iter().filter(|at| !line[**at].is_empty()) {
                assert!(line[*at].parse::<u64>().is_ok(), "{}: {} = {}", document.kind(), heads[*at], &line[*at]);
            }
            assert!(line[value].parse::<f64>().is_ok(), "{}: {line:?}", document.kind());
            assert!(!line[column("unit")].is_empty() && !line[column("measure")].is_empty(), "{line:?}");
            let key: Vec<&str> = line.iter().enumerate().filter(|(at, _)| *at != value).map(|(_, text)| text).collect();
            assert!(places.insert(key.join("\u{0}")), "{} has two values for {line:?}", document.kind());
        }
    }
}

#[test]
fn columns_are_the_same_for_all_documents() {
    let (all, lines) = read(&brisk_report::csv(&samples::all()));
    for documents in [samples::ugly(), Vec::new(), samples::all()[3..4].to_vec()] {
        assert_eq!(read(&brisk_report::csv(&documents)).0, all);
    }
    let kinds: HashSet<&str> = lines.iter().map(|line| &line[1]).collect();
    assert_eq!(kinds.len(), ALL_KINDS.names().len());
    assert!(lines.iter().all(|line| line[2].ends_with('Z') && line[2].as_bytes()[10] == b'T'), "times are RFC 3339");
}

#[test]
fn single_runs_of_a_benchmark_and_of_the_slowdown_study_are_there_one_by_one() {
    let mut bench = samples::bench();
    bench.jobs.truncate(1);
    (bench.block_sweep, bench.depth_sweep) = (Vec::new(), Vec::new());
    bench.jobs[0].runs =
        [5.0e7, 6.25e7].map(|rate| JobRun { bandwidth_bytes_per_s: rate, requests_per_s: rate / 4096.0 }).into();
    let mut slowdown = samples::slowdown();
    slowdown.rows.truncate(1);
    let run = |us: f64| SlowdownRun {
        read_alone_us: us,
        read_beside_us: us * 2.0,
        write_alone_us: us * 3.0,
        write_beside_us: us * 4.0,
        read_peers_us: None,
        write_peers_us: None,
    };
    slowdown.rows[0].runs = vec![run(70.5), run(72.0), run(71.0)];
    let documents = [Document::from(bench), Document::from(slowdown)];
    let text = brisk_report::csv(&documents);
    for line in [
        "throughput,bytes_per_s,run,2,2,62500000",
        "latency alone,us,run,1,3,70.5",
        "latency in mixed load,us,run,3,3,284",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
}

#[test]
fn markdown_has_the_tables_of_the_page_with_as_many_cells_in_each_line() {
    for document in samples::all().into_iter().chain(samples::ugly()) {
        let text = brisk_report::markdown(std::slice::from_ref(&document));
        assert!(text.starts_with("# ") && text.contains("\n## Device and run\n"), "{text}");
        let mut columns = None;
        for line in text.lines() {
            if !line.starts_with('|') {
                columns = None;
                continue;
            }
            let cells = line.replace("\\|", "").matches('|').count();
            assert_eq!(*columns.get_or_insert(cells), cells, "{}: {line}", document.kind());
        }
        let page = brisk_report::html(std::slice::from_ref(&document));
        let tables = text.lines().filter(|line| line.starts_with("|-")).count();
        assert_eq!(tables, page.matches("<table>").count() + 1, "{}: and the one of facts", document.kind());
        let bare = text.match_indices('<').find(|(at, _)| !text[..*at].ends_with('\\'));
        assert!(bare.is_none() && text.chars().all(|c| c == '\n' || !c.is_control()), "{bare:?} in {text}");
    }
}
