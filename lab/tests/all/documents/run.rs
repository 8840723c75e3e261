//! What a run of several measurements leaves: a page for each device, an index, and a verdict in three sentences.

use crate::documents::samples;
use brisk_lab::results::{ALL_KINDS, Document, ProveReport};
use samples::apps;

fn nexus() -> ProveReport {
    let mut report = apps::prove();
    report.phone.preset = "nexus4-emmc".into();
    report
}

fn documents() -> Vec<Document> {
    vec![
        Document::from(samples::other_bench()),
        Document::from(samples::slowdown()),
        Document::from(apps::prove()),
        Document::from(nexus()),
    ]
}

#[test]
fn there_is_a_page_for_each_device_and_an_index_of_them() {
    let pages = brisk_report::pages(ALL_KINDS, &documents());
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    assert_eq!(names, ["index.html", "galaxy-s5-emmc.html", "nexus4-emmc.html", "acme-nv3-512gb.html"]);
    // The study stands on the page of its device, after the proof.
    let s5 = &pages[1].html;
    assert!(s5.find(">Proof ").expect("a proof") < s5.rfind(">Slowdown ").expect("a study"));
}

#[test]
fn pages_link_to_each_other_and_to_the_index_by_name_alone() {
    let pages = brisk_report::pages(ALL_KINDS, &documents());
    for page in &pages {
        for other in pages.iter().filter(|other| other.name != page.name) {
            let link = format!("href=\"{}\"", other.name);
            assert!(page.html.contains(&link), "{} does not link to {}", page.name, other.name);
        }
        assert!(!page.html.contains("http") && !page.html.contains("href=\"/"));
    }
}

#[test]
fn the_index_has_the_first_result_with_its_picture_and_the_verdict() {
    let documents = documents();
    let index = brisk_report::pages(ALL_KINDS, &documents).remove(0).html.replace('\u{a0}', " ");
    for sentence in brisk_report::verdict(ALL_KINDS, &documents) {
        assert!(index.contains(&sentence), "{sentence} is missing in {index}");
    }
    assert!(index.contains("<p class=\"lead\">Opening the picture editor (gimp) while an app is installed"), "{index}");
    // One chart, which is drawn for a phone and for a screen.
    assert_eq!(index.matches("role=\"img\"").count(), 2);
}

#[test]
fn names_of_devices_cannot_leave_the_folder_nor_meet() {
    let mut first = samples::other_bench();
    let device = first.header.environment.device.as_mut().expect("a device");
    device.model = Some("../../index".into());
    let mut second = first.clone();
    second.header.environment.device.as_mut().expect("a device").model = Some("INDEX".into());
    let pages = brisk_report::pages(ALL_KINDS, &[Document::from(first), Document::from(second)]);
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    assert_eq!(names, ["index.html", "index-2.html", "index-3.html"]);
}

fn verdict(documents: &[Document]) -> [String; 3] {
    brisk_report::verdict(ALL_KINDS, documents).try_into().expect("three sentences")
}

#[test]
fn the_verdict_is_three_sentences_on_the_disk_the_phones_and_brisk() {
    let [disk, phones, brisk] = verdict(&documents());
    assert_eq!(
        disk,
        "The disk of this machine (ACME NV3 512GB) is good for opening apps (a cold start of 35 MB waits 34.8 ms to \
         401 ms), databases (a durable write takes 3.15 ms) and large files (1007 MB/s)."
    );
    assert_eq!(
        phones,
        "An emulated Google Nexus 4 of 2012 opens apps in 1.24 s (1.54 times as long while an app is installed) and an \
         emulated Samsung Galaxy S5 of 2014 opens apps in 1.24 s (1.54 times as long while an app is installed)."
    );
    assert_eq!(
        brisk,
        "While an app is installed, the time to open an app with brisk is 17 % less on the Google Nexus 4 of 2012 and \
         17 % less on the Samsung Galaxy S5 of 2014; without load 1 % less on the Google Nexus 4 of 2012 and 1 % less \
         on the Samsung Galaxy S5 of 2014; no app regressed."
    );
}

#[test]
fn a_phone_in_virtual_time_says_how_brisk_ran_and_returns_have_a_sentence_of_their_own() {
    let proof = Document::from(apps::prove_in_virtual_time());
    let said = brisk_report::verdict(ALL_KINDS, &[proof, Document::from(samples::memory::relaunch())]);
    let [_, _, brisk, returns @ ..] = &said[..] else { panic!("{said:?}") };
    assert!(brisk.ends_with("brisk ran as its package comes, with each engine tried first and held out in between."));
    let begin = "With 600 MiB of memory an emulated Samsung Galaxy S5 of 2014 comes back to each of ";
    assert!(returns[0].starts_with(begin) && returns[0].contains(" with no brisk, "), "{returns:?}");
}

#[test]
fn launches_after_a_start_lead_the_verdict() {
    let mut started = apps::prove_in_virtual_time();
    started.phone.virtual_time.as_mut().expect("virtual time").after_start_s = Some(30.0);
    started.gains.iter_mut().for_each(|gain| gain.loaded_ratio = None);
    let [.., brisk] = verdict(&[Document::from(apps::prove()), Document::from(started)]);
    let begin = "30 s after a start, the time to open an app with brisk is 1 % less on the Samsung Galaxy S5 of 2014; \
                 while an app is installed 17 % less on the Samsung Galaxy S5 of 2014; without load 1 % less on the ";
    assert!(brisk.starts_with(begin), "{brisk}");
}

#[test]
fn a_regression_and_warnings_are_part_of_the_verdict() {
    let mut report = apps::prove();
    report.gains[2].idle_ratio = Some(samples::summary(1.3, 1.0, 6));
    report.header.warnings = samples::ugly()[0].header().warnings.clone();
    let [.., brisk] = verdict(&[Document::from(report)]);
    assert!(brisk.contains("regressed: xterm; 5 warnings to read with it."), "{brisk}");
}

#[test]
fn what_was_not_measured_is_said() {
    let [disk, phones, brisk] = verdict(&[]);
    assert_eq!(disk, "The disk of this machine was not measured.");
    assert!(phones.contains("brisk phone launch does that") && brisk.contains("was not measured"), "{phones} {brisk}");
    // Memory is no disk, and a slow one is good for little.
    let mut bench = samples::other_bench();
    for job in bench.jobs.iter_mut().chain(&mut bench.block_sweep).chain(&mut bench.depth_sweep) {
        job.bandwidth_bytes_per_s = samples::summary(0.1e6, 1.0, 7);
    }
    let [disk, ..] = verdict(&[Document::from(bench.clone())]);
    assert!(disk.contains("is good for databases") && disk.contains("and slow for opening apps"), "{disk}");
    bench.cache.verdict = brisk_lab::results::CacheVerdict::Memory;
    let [disk, ..] = verdict(&[Document::from(bench)]);
    assert!(disk.contains("is unknown"), "{disk}");
    for documents in [samples::ugly(), samples::all()] {
        for sentence in brisk_report::verdict(ALL_KINDS, &documents) {
            assert!(sentence.ends_with('.') && !sentence.contains('\n') && !sentence.contains("NaN"), "{sentence}");
        }
    }
}
