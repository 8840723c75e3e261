//! What of documents leaves the device.

use brisk_lab::results::{ALL_KINDS as ALL, BlockDevice, Document};
use brisk_report::submission::{Kind, Known, Submission, SubmissionError, schema, text};
use proptest::prelude::*;
use serde_json::Value;

use super::samples;

/// Kinds of documents that can be submitted.
const KINDS: [&str; 7] = ["bench", "slowdown", "concurrency", "frontier", "profile", "launch", "prove"];

fn submission(documents: &[Document], known: &Known<'_>) -> Result<Submission, SubmissionError> {
    Submission::of(ALL, documents, known)
}

fn document(kind: &str) -> Document {
    let all = [
        Document::from(samples::bench()),
        Document::from(samples::slowdown()),
        Document::from(samples::concurrency()),
        Document::from(samples::frontier()),
        Document::from(samples::profile()),
        Document::from(samples::apps::launch()),
        Document::from(samples::apps::prove()),
    ];
    all.into_iter().find(|one| one.kind() == kind).expect("a sample of each kind")
}

/// A document whose device is the emulated phone's.
fn on_phone(kind: &str) -> Document {
    let mut document = document(kind);
    document.header_mut().environment.device = Some(samples::s5_device());
    document
}

fn all_kinds() -> Vec<Document> {
    KINDS.map(on_phone).into()
}

fn of_all() -> Submission {
    submission(&all_kinds(), &Known::default()).expect("samples can be submitted")
}

#[test]
fn each_kind_can_be_submitted_and_no_other() {
    let all = of_all();
    assert_eq!(all.results.len(), KINDS.len());
    assert_eq!((all.storage.kind, all.storage.emulated), (Kind::Emmc, true));
    assert_eq!(all.day.as_str(), "2026-10-05");
    let refused = submission(&[Document::from(samples::footprint())], &Known::default());
    assert!(refused.expect_err("no form").to_string().contains("\"footprint\" cannot be submitted"));
}

#[test]
fn documents_without_a_device_or_of_two_devices_are_refused() {
    let mut none = document("bench");
    none.header_mut().environment.device = None;
    let fails = |documents: &[Document]| submission(documents, &Known::default()).expect_err("refused").to_string();
    assert!(fails(&[none.clone()]).contains("names no single block device:"));
    none.header_mut().environment.disks = vec!["sda".into(), "sdb".into()];
    assert!(fails(&[none]).contains("no single block device but several: sda, sdb"));
    let mut other = document("slowdown");
    other.header_mut().environment.device =
        Some(BlockDevice { lab_preset: Some("sd-sandisk".into()), ..samples::s5_device() });
    assert!(fails(&[on_phone("bench"), other]).contains("of different devices (galaxy-s5-emmc and sd-sandisk)"));
    let mut card = document("bench");
    card.header_mut().environment.device =
        Some(BlockDevice { lab_preset: None, name: "mmcblk1".into(), ..samples::s5_device() });
    assert!(fails(&[card]).contains("--kind"));
    assert!(fails(&[]).contains("0 results"));
}

#[test]
fn a_document_tells_sort_and_firmware_of_its_disk() {
    let with = |partition: Option<&str>| {
        let mut card = document("bench");
        card.header_mut().environment.device = Some(BlockDevice {
            lab_preset: None,
            name: "mmcblk1".into(),
            partition: partition.map(str::to_owned),
            kind: Some("sd".into()),
            firmware: Some("0x9".into()),
            ..samples::s5_device()
        });
        submission(&[card], &Known::default()).expect("submitted").storage
    };
    let storage = with(None);
    assert_eq!((storage.kind, storage.firmware.as_ref().map(text::Name::as_str)), (Kind::Sd, Some("0x9")));
    assert_eq!(with(Some("mmcblk1p2")), storage, "a partition is its disk");
}

#[test]
fn the_same_results_have_the_same_id_whatever_their_order() {
    let mut documents = all_kinds();
    let id = of_all().id();
    documents.reverse();
    assert_eq!(submission(&documents, &Known::default()).expect("submitted").id(), id);
    documents.pop();
    assert_ne!(submission(&documents, &Known::default()).expect("submitted").id(), id);
}

#[test]
fn an_envelope_has_the_digests_of_its_content_and_of_the_secret() {
    let all = of_all();
    let envelope = all.clone().into_envelope("secret");
    assert_eq!(envelope.id, all.id());
    // printf secret | sha256sum
    let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    assert_eq!(envelope.deletion_key_sha256.as_str(), digest);
}

/// Every text of a value, keys included.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|one| texts(one, found)),
        Value::Object(map) => map.iter().for_each(|(key, one)| {
            found.push(key.clone());
            texts(one, found);
        }),
        _ => {}
    }
}

/// Replaces every text of a document by a secret with a number, but for those that its form needs.
fn plant(value: &mut Value, key: &str, secret: &str) {
    let needed = [
        "kind",
        "pattern",
        "direction",
        "verdict",
        "temperature",
        "cause",
        "stage",
        "method",
        "ending",
        "started",
        "architecture",
        "kernel",
        "brisk_version",
        "budget",
        "call",
        "scheduler",
        "label",
        "base",
        "found",
        "chosen",
        "name",
        "protocol",
    ];
    match value {
        Value::String(text) if !needed.contains(&key) => *text = format!("{text} {secret}"),
        Value::String(text) if key == "label" || key == "found" || key == "chosen" => {
            *text = format!("{text} {secret}")
        }
        Value::Array(list) => list.iter_mut().for_each(|one| plant(one, key, secret)),
        Value::Object(map) if key == "settings" => map.values_mut().for_each(|one| plant(one, "scheduler", secret)),
        Value::Object(map) => map.iter_mut().for_each(|(key, one)| plant(one, &key.clone(), secret)),
        _ => {}
    }
}

#[test]
fn no_path_host_serial_or_address_leaves() {
    let secrets = [
        "/home/ann/thesis.pdf",
        "annslaptop.example.org",
        "SN:S4EVNF0M7123456",
        "s/n X0815007",
        "192.168.17.23",
        "fe80::1ff:fe23:4567:890a",
        "00:1b:44:11:3a:b7",
        "ann@example.org",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    ];
    let private = ["annslaptop".to_owned(), "ann".to_owned()];
    for kind in KINDS {
        for secret in secrets {
            let mut value = serde_json::to_value(on_phone(kind)).expect("JSON");
            plant(&mut value, "", secret);
            // The name of an emulated device is its preset's; a real one is what it says it is.
            value["environment"]["device"]["lab_preset"] = Value::Null;
            value["environment"]["device"]["model"] = format!("BGND3R {secret}").into();
            value["environment"]["device"]["firmware"] = secret.into();
            value["environment"]["kernel"] = format!("6.12.3-{secret}").into();
            let planted = brisk_report::parse(ALL, value.to_string().as_bytes()).expect("still a document");
            let known = Known {
                machine: Some(&format!("Maker X1 {secret}")),
                kind: Some(Kind::Emmc),
                firmware: Some(secret),
                private: &private,
            };
            let submission = self::submission(&planted, &known).expect("submitted");
            let mut found = Vec::new();
            texts(&serde_json::to_value(&submission).expect("JSON"), &mut found);
            let marks =
                ["ann", "thesis", "S4EVNF0M7123456", "X0815007", "192.168", "890a", "3a:b7", "3f2504e0", "example"];
            for text in &found {
                assert!(!marks.iter().any(|mark| text.contains(mark)), "{kind} leaks {text:?} of {secret}");
            }
            assert!(found.iter().any(|text| text == "BGND3R"), "{kind}: the model stays: {found:?}");
        }
    }
}

#[test]
fn hardware_keeps_its_name_whatever_host_and_user_are_called() {
    let private = ["sam".to_owned(), "king".to_owned(), "tab-4".to_owned()];
    for (machine, expected) in [
        ("SAMSUNG Kingston Tab", "SAMSUNG Kingston Tab"),
        ("Sam's Kong Tab", "Kong Tab"),
        ("Kong Tab (tab-4)", "Kong Tab"),
    ] {
        let mut value = serde_json::to_value(on_phone("bench")).expect("JSON");
        value["environment"]["device"]["lab_preset"] = Value::Null;
        value["environment"]["device"]["model"] = "SAM King MZVL2 king".into();
        let document = brisk_report::parse(ALL, value.to_string().as_bytes()).expect("a document");
        let known =
            Known { machine: Some(machine), kind: Some(Kind::Nvme), firmware: Some("Sam.1"), private: &private };
        let value = serde_json::to_value(submission(&document, &known).expect("submitted")).expect("JSON");
        assert_eq!(value["storage"]["model"], "SAM King MZVL2 king");
        assert_eq!(value["storage"]["firmware"], "Sam.1");
        assert_eq!(value["machine"]["model"], expected, "{machine}");
    }
}

#[test]
fn names_keep_what_names_a_model() {
    let of = |text: &str| text::Name::of(text, &[]).map(|name| name.as_str().to_owned());
    for (text, expected) in [
        ("Samsung SM-G900F", Some("Samsung SM-G900F")),
        ("000015 BGND3R", Some("000015 BGND3R")),
        ("SanDisk Ultra® Fit", Some("SanDisk Ultra Fit")),
        ("ACME NV3 serial 12345678 512GB", Some("ACME NV3 512GB")),
        ("QEMU HARDDISK", Some("QEMU HARDDISK")),
        ("SNV3S 1TB", Some("SNV3S 1TB")),
        ("/dev/disk/by-id/x", None),
        ("<b>x</b>", None),
        ("", None),
        ("_-x", Some("x")),
    ] {
        assert_eq!(of(text), expected.map(str::to_owned), "{text}");
    }
    assert_eq!(of(&"x".repeat(100)), Some("x".repeat(64)));
}

#[test]
fn other_texts_have_their_form() {
    assert_eq!(text::Release::of("6.12.1-annslaptop").map(|r| r.as_str().to_owned()), Some("6.12".into()));
    assert_eq!(text::Release::of("linux"), None);
    assert_eq!(text::Day::of("2026-10-05T20:28:59Z").map(|d| d.as_str().to_owned()), Some("2026-10-05".into()));
    assert_eq!(text::Day::of("yesterday at noon"), None);
    assert_eq!(text::Day::of("2026-13-05T"), None);
    assert_eq!(text::Day::of("2026-1ä-05"), None);
    for (day, is_day) in [("2026-02-28", true), ("2026-02-29", false), ("2028-02-29", true), ("2026-04-31", false)] {
        assert_eq!(text::Day::of(day).is_some(), is_day, "{day}");
    }
    for (text, is_word) in [
        ("mq-deadline/fifo_batch", true),
        ("nr_requests", true),
        ("-5", false),
        ("/etc/passwd", false),
        ("a/b/c", false),
        ("Ann", false),
        ("", false),
        ("x/", false),
        ("10.0.0.1", false),
    ] {
        assert_eq!(text::Word::of(text).is_some(), is_word, "{text}");
    }
}

#[test]
fn ugly_documents_are_submitted_or_refused_with_a_reason() {
    let mut submitted = 0;
    for mut document in samples::ugly() {
        // What stands in the way of all of them.
        let head = document.header_mut();
        head.started = samples::header(None).started;
        head.environment.device.get_or_insert_with(samples::s5_device);
        let known = Known { kind: Some(Kind::Disk), ..Known::default() };
        match submission(&[document], &known) {
            Ok(submission) => {
                submitted += 1;
                let mut found = Vec::new();
                texts(&serde_json::to_value(&submission).expect("JSON"), &mut found);
                assert!(!found.iter().any(|text| text.contains(['<', '\u{202e}'])), "{found:?}");
            }
            Err(error) => assert!(error.to_string().len() > 20, "{error}"),
        }
    }
    assert!(submitted > 0);
}

#[test]
fn the_schema_file_is_fresh() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../fleet/src/brisk_fleet/submission.schema.json");
    snapbox::assert_data_eq!(schema(ALL), snapbox::Data::read_from(file.as_ref(), None).raw());
}

#[test]
fn a_sample_of_each_kind_is_fresh() {
    // Read by the tests of the receiver.
    let lines: String = KINDS
        .iter()
        .map(|kind| {
            let submission = submission(&[on_phone(kind)], &Known::default()).expect("submitted");
            serde_json::to_string(&submission.into_envelope("secret")).expect("JSON") + "\n"
        })
        .collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../fleet/tests/samples.jsonl");
    snapbox::assert_data_eq!(lines, snapbox::Data::read_from(file.as_ref(), None).raw());
}

proptest! {
    #[test]
    fn no_text_makes_a_name_of_another_form(text in any::<String>()) {
        if let Some(name) = text::Name::of(&text, &[]) {
            let name = name.as_str();
            prop_assert!((1..=64).contains(&name.len()) && name.as_bytes()[0].is_ascii_alphanumeric());
            prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b" .,()+_-".contains(&b)));
        }
        let _ = (text::Word::of(&text), text::Release::of(&text), text::Day::of(&text));
    }
}
