//! What has to be true of documents about apps, on the page and in the terminal.

use crate::documents::samples;
use brisk_core::stats::Bootstrapped;
use brisk_lab::results::{
    Cause, Document, Ending, LaunchReport, LaunchSet, Part, RelaunchReport, Split, SplitMethod, Stage, Temperature,
};
use roxmltree::{Document as Xml, Node, ParsingOptions};
use samples::apps::{self, comparison, parts, set};

fn parsed(page: &str) -> Xml<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Xml::parse_with_options(page, options).unwrap_or_else(|error| panic!("{error}\n{page}"))
}

fn classed<'a>(xml: &'a Xml<'a>, class: &'static str) -> Vec<Node<'a, 'a>> {
    let has = move |n: &Node<'_, '_>| n.attribute("class").is_some_and(|c| c.split(' ').any(|one| one == class));
    xml.descendants().filter(|n| n.has_tag_name("path") && has(n)).collect()
}

fn launch(report: &LaunchReport) -> Document {
    Document::from(report.clone())
}

/// The text of a terminal in one line.
fn said(document: &Document) -> String {
    brisk_report::terminal(document, Some(160)).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_run_is_a_dot_and_outliers_are_marked() {
    let report = apps::launch();
    let page = brisk_report::html(&[launch(&report)]);
    let xml = parsed(&page);
    let runs: usize = report.sets.iter().map(|s| s.runs.len()).sum();
    // Five stages, and settled less the wait for a processor; the legend shows one of each kind.
    assert_eq!(classed(&xml, "run").len(), runs * 6 + 2);
    assert_eq!(classed(&xml, "outlier").len(), 6 + 1);
    assert!(said(&launch(&report)).contains("1 of 6 launches (cold) is an outlier (2.75 s)"));
}

#[test]
fn the_parts_of_a_bar_are_as_long_as_their_shares() {
    let report = apps::launch();
    let page = brisk_report::html(&[launch(&report)]);
    let xml = parsed(&page);
    let chart = xml
        .descendants()
        .find(|n| {
            n.has_tag_name("svg") && n.descendants().any(|t| t.text() == Some("What the time until settled went to"))
        })
        .expect("the chart of causes");
    let width = |part: &Node<'_, '_>| -> f64 {
        let path = part.attribute("d").expect("drawn");
        path.split(['h', 'v']).nth(1).expect("a width").parse().expect("a number")
    };
    let bars: Vec<(String, f64)> = chart
        .descendants()
        .filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("part ")))
        .map(|n| {
            (
                n.descendants().find(|t| t.has_tag_name("title")).and_then(|t| t.text()).unwrap_or("").to_owned(),
                width(&n),
            )
        })
        .collect();
    let of =
        |phrase: &str, nth: usize| bars.iter().filter(|(words, _)| words.starts_with(phrase)).nth(nth).expect(phrase).1;
    let split = report.sets[0].split.as_ref().expect("a split");
    let wanted = split.time_ms(Cause::StorageRead).expect("known") / split.time_ms(Cause::UserCpu).expect("known");
    let drawn = (of("waiting for storage reads", 0) + 1.0) / (of("running its own code", 0) + 1.0);
    assert!((drawn / wanted - 1.0).abs() < 0.02, "{drawn} instead of {wanted}");
    // The second bar is of the same scale.
    let warm = report.sets[1].split.as_ref().expect("a split");
    let wanted = split.time_ms(Cause::UserCpu).expect("known") / warm.time_ms(Cause::UserCpu).expect("known");
    let drawn = (of("running its own code", 0) + 1.0) / (of("running its own code", 1) + 1.0);
    assert!((drawn / wanted - 1.0).abs() < 0.02, "{drawn} instead of {wanted}");
}

#[test]
fn causes_that_took_no_time_are_in_no_legend() {
    let legend = |report: &LaunchReport| {
        let page = brisk_report::html(&[launch(report)]);
        let xml = parsed(&page);
        let list = xml.descendants().find(|n| n.attribute("class") == Some("keys")).expect("a legend");
        list.descendants().filter_map(|n| n.text()).collect::<Vec<_>>().join("|")
    };
    let quiet = legend(&apps::launch());
    assert!(
        quiet.contains("waiting for storage reads") && !quiet.contains("swap") && !quiet.contains("network"),
        "{quiet}"
    );
    let busy = legend(&apps::launch_vs());
    for cause in
        ["freeing memory", "waiting for pages from swap", "waiting for the network", "waiting for storage writes"]
    {
        assert!(busy.contains(cause), "{cause} is missing in {busy}");
    }
}

#[test]
fn an_interval_that_includes_1_is_no_significant_difference() {
    let text = said(&launch(&apps::launch_vs()));
    assert!(text.contains("Cold, writers takes 1.90 times as long as idle."), "{text}");
    assert!(text.contains("Warm, writers against idle: no significant difference"), "{text}");
}

#[test]
fn warm_is_less_than_cold_only_where_the_interval_shows_it() {
    let mut report = apps::launch();
    // Pair by pair where the document has pairs, and then not twice; else by the medians.
    let text = said(&launch(&report));
    assert!(text.contains("60 % less than cold") && !text.contains("as long as cold"), "{text}");
    report.comparisons[0].settled_ratio.high = 1.2;
    assert!(said(&launch(&report)).contains("no significant difference to cold"));
    report.comparisons.clear();
    assert!(said(&launch(&report)).contains("59 % less than cold"));
    report.sets[1] = set("evince", Temperature::Warm, &parts(820.0, 1_100.0, 30.0), 6, None);
    assert!(said(&launch(&report)).contains("no significant difference to cold"));
}

#[test]
fn endings_other_than_settled_come_before_all_other_doubts() {
    let mut report = apps::launch();
    for run in report.sets[0].runs.iter_mut().take(2) {
        run.ending = Ending::Animating;
    }
    report.sets[1].runs[0].ending = Ending::Exited { code: None, signal: Some(11) };
    let text = said(&launch(&report));
    assert!(text.contains("2 of 6 launches (cold) never settled"), "{text}");
    assert!(text.contains("1 of 6 launches (warm) was ended by signal 11."), "{text}");
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is missing in {text}"));
    assert!(at("!! 3 warnings") < at("never settled") && at("never settled") < at("is an outlier"));
}

#[test]
fn a_launch_that_never_settles_has_no_settled_time() {
    let mut report = apps::launch();
    report.sets.truncate(1);
    let set: &mut LaunchSet = &mut report.sets[0];
    set.stages.retain(|s| s.stage <= Stage::FirstFrame);
    for run in &mut set.runs {
        run.ending = Ending::Animating;
        run.stages.retain(|s| s.stage <= Stage::FirstFrame);
        run.outlier = false;
    }
    (set.split, set.settled_less_cpu_wait_ms) = (None, None);
    let text = said(&launch(&report));
    assert!(text.contains("never settles; it draws first after") && !text.contains("evince settles"), "{text}");
    assert!(text.contains("All 6 launches (cold) never settled"), "{text}");
    assert!(text.contains("no split of the time"), "{text}");
}

#[test]
fn a_split_without_ebpf_names_what_is_lost_and_shows_storage_as_one() {
    let mut report = apps::launch();
    report.sets.truncate(1);
    report.sets[0].split = Some(Split {
        method: SplitMethod::Cgroup,
        wall_ms: 2_200.0,
        parts: [(Cause::UserCpu, 600.0), (Cause::SystemCpu, 260.0), (Cause::Storage, 1_100.0), (Cause::Other, 240.0)]
            .map(|(cause, time_ms)| Part { cause, time_ms })
            .into(),
        lost_events: 0,
    });
    let text = said(&launch(&report));
    assert!(text.contains("50 % waiting for storage, 39 % running"), "{text}");
    assert!(text.contains("without eBPF: it cannot tell reads, swap-in and writes of the storage apart"), "{text}");
}

#[test]
fn one_launch_or_none_is_never_more_than_that() {
    let mut report = apps::launch();
    report.sets = vec![set("evince", Temperature::Cold, &parts(400.0, 500.0, 0.0), 1, None)];
    report.comparisons = vec![comparison(&report.sets[0], &report.sets[0])];
    let text = said(&launch(&report));
    assert!(text.contains("settles after 987 ms:") && text.contains("!! Some figures are of one run"), "{text}");
    assert!(text.contains("one pair has no interval"), "{text}");
    report.sets[0] = set("evince", Temperature::Cold, &parts(400.0, 500.0, 0.0), 0, None);
    report.comparisons.clear();
    assert!(said(&launch(&report)).contains("Nothing was measured"));
    report.sets.clear();
    assert!(said(&launch(&report)).contains("Nothing was measured"));
}

#[test]
fn what_stayed_in_memory_is_named_with_its_reason() {
    let mut report = apps::launch();
    let text = said(&launch(&report));
    assert!(text.contains("Cold is verified: of 61 MiB") && text.contains("mapped by Xvfb (812)"), "{text}");
    for run in &mut report.sets[0].runs {
        run.cold.as_mut().expect("cold").cached_after_bytes = 20 << 20;
    }
    assert!(said(&launch(&report)).contains("Not wholly cold: of 61 MiB"));
    report.sets[0].runs[3].cold = None;
    assert!(
        said(&launch(&report)).contains("Cold is not verified: for 1 of 6 launches it is unknown what was in memory")
    );
}

#[test]
fn steps_stand_against_the_three_limits() {
    let document = Document::from(apps::latency());
    let text = said(&document);
    for words in [
        "The slowest of 6 steps, play, is not stable within 11.0 s",
        "2 immediate (within 0.1 s), 2 within the flow of thought (1 s), 1 slow, but hold attention (10 s) and 1 \
         beyond",
        "1 step changed nothing on the screen: press a dead key.",
        "500 pseudo-random events with seed 10 take 41.1 s",
        "All 6 repetitions of play never settled",
    ] {
        assert!(text.contains(words), "{words} is missing in {text}");
    }
    let page = brisk_report::html(&[document]);
    assert!(page.contains(">&gt; 11.0 s ±"), "the time of the cap is not drawn as a bound");
    let xml = parsed(&page);
    let chart = xml.descendants().find(|n| n.has_tag_name("svg") && n.attribute("role").is_some()).expect("a chart");
    let limits: Vec<&str> =
        chart.descendants().filter(|n| n.attribute("class") == Some("mid note")).filter_map(|n| n.text()).collect();
    assert_eq!(limits, ["100 ms", "1 s", "10 s"]);
    assert_eq!(chart.descendants().filter(|n| n.attribute("class") == Some("level")).count(), 3);
}

#[test]
fn apps_on_a_phone_are_headed_by_the_phone_and_not_by_the_block_device_below() {
    let (mut proof, mut latency) = (apps::loads(), apps::latency());
    latency.phone = Some(proof.phone.clone());
    for header in [&mut proof.header, &mut latency.header] {
        let device = header.environment.device.as_mut().expect("a device");
        (device.lab_preset, device.model, device.name) = (None, None, "loop0".to_owned());
    }
    for (document, title) in [
        (Document::from(proof), "Proof · galaxy-s5-emmc (emulated)"),
        (Document::from(latency), "Latency of mousepad · galaxy-s5-emmc (emulated)"),
    ] {
        assert!(said(&document).starts_with(title), "{}", said(&document));
        assert!(brisk_report::html(&[document]).contains(&format!("<title>{title}")), "{title}");
    }
}

#[test]
fn the_cost_of_monitoring_is_shown_and_reported_when_it_is_large() {
    let mut report = apps::launch();
    let text = said(&launch(&report));
    assert!(
        text.contains("Monitoring 0.430 % of one core, at most 0.499 %") && !text.contains("Monitoring took"),
        "{text}"
    );
    report.sets[0].runs[0].watch_cpu_percent = 2.5;
    assert!(said(&launch(&report)).contains("Monitoring took up to 2.50 % of one core"));
}

#[test]
fn a_policy_is_called_faster_only_where_that_is_no_chance() {
    let mut report = samples::memory::relaunch();
    let verdict = |report: &RelaunchReport| said(&Document::from(report.clone()));
    let faster = verdict(&report);
    assert!(
        faster.contains("in all with no brisk, and ") && !faster.contains("no other policy takes less"),
        "{faster}"
    );
    for policy in &mut report.policies {
        policy.ratio = policy.ratio.map(|ratio| Bootstrapped { high: ratio.high.max(1.1), ..ratio });
    }
    let unsure = verdict(&report);
    assert!(unsure.contains("no other policy takes less"), "{unsure}");
}

/// As without a screen, where the end of work comes from samples.
fn headless(ending: Ending, resolution_ms: f64) -> LaunchReport {
    let mut report = LaunchReport { idle_limit_ms: Some(5_000.0), ..apps::launch() };
    report.screen.protocol = "none".to_owned();
    let is_screenless = |stage: Stage| matches!(stage, Stage::FirstProcess | Stage::Idle);
    for set in &mut report.sets {
        set.stages.retain(|one| is_screenless(one.stage));
        for run in &mut set.runs {
            run.ending = ending.clone();
            run.stages.retain(|one| is_screenless(one.stage));
            run.stages.iter_mut().for_each(|one| one.resolution_ms = Some(resolution_ms));
        }
    }
    report
}

#[test]
fn without_a_screen_the_end_of_work_is_defined_and_its_resolution_stated() {
    let ended = Ending::Exited { code: Some(0), signal: None };
    let text = said(&launch(&headless(ended.clone(), 0.001)));
    assert!(text.contains("Cold, evince ends after"), "{text}");
    let fact = "End of work the program's end, or its last work before 5.00 s without any; resolution 1.00 us";
    assert!(text.contains(fact), "{text}");
    assert!(!text.contains("earlier: it comes from samples") && !text.contains("exited with status 0)."), "{text}");
    let text = said(&launch(&headless(Ending::Headless, 100.0)));
    assert!(text.contains("Cold, evince has done its work after"), "{text}");
    assert!(text.contains("The end of work may be up to 100 ms earlier: it comes from samples."), "{text}");
    // A failure is no expected end.
    let failed = Ending::Exited { code: Some(3), signal: None };
    assert!(said(&launch(&headless(failed, 0.001))).contains("(exited with status 3)"));
    // With a screen, neither is stated.
    assert!(!said(&launch(&apps::launch())).contains("End of work"));
}

#[test]
fn a_day_with_failed_launches_is_not_the_shorter_one() {
    let mut report = samples::day::day();
    let lead = |report: &brisk_lab::results::DayReport| {
        let text = brisk_report::terminal(&Document::from(report.clone()), Some(200));
        text.lines().nth(2).unwrap_or_default().to_owned()
    };
    assert!(lead(&report).contains("and 7.32 s with zram (0.213x)"), "{}", lead(&report));
    // Without swap the last launch fails; the others wait hardly at all.
    let without_swap = report.policies.last_mut().expect("three policies");
    for switch in without_swap.runs.iter_mut().flat_map(|run| &mut run.switches) {
        switch.wait_ms /= 100.0;
    }
    assert!(lead(&report).contains("and 7.32 s with zram (0.213x)"), "{}", lead(&report));
    // Where the base has failures, nothing is compared with it.
    report.policies.rotate_right(1);
    let said = lead(&report);
    assert!(said.ends_with("with none, and 1 launch failed."), "{said}");
}
