//! `brisk submit` from outside: what it shows, writes and sends, against a server of these tests that speaks HTTP.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// A slowdown study of an emulated device: the shortest document that can be submitted.
fn document(path: &str) -> Value {
    let summary = json!({
        "count": 3, "median": 2.0, "low": 1.9, "high": 2.1, "confidence": 0.75, "min": 1.9, "max": 2.1,
        "variation": 0.01,
    });
    let row = json!({
        "pattern": "random", "streams": 1, "read_alone_us": summary, "read_beside_us": summary,
        "write_alone_us": summary,
        "write_beside_us": summary, "read_slowdown": summary, "write_slowdown": summary,
    });
    json!({
        "kind": "slowdown", "schema_version": 1, "started": "2026-10-05T20:28:59Z", "duration_s": 12.5, "seed": 42,
        "warnings": [{ "code": "few_repeats", "text": "in /home/ann" }], "block_bytes": 4096, "stream_bytes": 65536,
        "rows": [row],
        "environment": {
            "brisk_version": "0.1.0", "kernel": "6.18.4-annslaptop", "architecture": "x86_64", "cpus": 2, "path": path,
            "file_system": null, "mount_options": null, "device": {
                "name": "loop3", "model": null, "size_bytes": 1u64 << 30, "rotational": false, "scheduler": null,
                "schedulers_available": [], "queue_depth_requests": null, "read_ahead_kib": null,
                "max_request_kib": null,
                "write_cache": null, "logical_block_bytes": 4096, "lab_preset": "galaxy-s5-emmc",
            },
        },
    })
}

fn brisk(args: &[&str], folder: &Path) -> Output {
    fs::write(folder.join("a.json"), document("/home/ann/x").to_string()).expect("written");
    let mut command = Command::new(snapbox::cmd::cargo_bin("brisk"));
    command.env("XDG_STATE_HOME", folder.join("state")).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command.arg("submit").args(args).current_dir(folder).output().expect("brisk starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The head and the body of a request.
type Received = (String, Vec<u8>);

/// Answers one request after the other, each on a connection of its own, with the id of the submission for `ID`; gives
/// their heads and bodies.
fn server(answers: Vec<(&'static str, &'static str)>) -> (String, JoinHandle<Vec<Received>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let handle = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut reader = BufReader::new(stream.try_clone().expect("the same"));
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a line");
                if line.trim().is_empty() {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a number");
                }
                head += &line;
            }
            let mut content = vec![0; length];
            reader.read_exact(&mut content).expect("the body");
            let id =
                serde_json::from_slice::<Value>(&content).ok().and_then(|sent| Some(sent["id"].as_str()?.to_owned()));
            let of_path = || head.split([' ', '/']).find(|word| word.len() == 64).map(str::to_owned);
            let body = body.replace("ID", &id.or_else(of_path).unwrap_or_default());
            seen.push((head, content));
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nretry-after: 0\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).expect("answered");
        }
        seen
    });
    (url, handle)
}

#[test]
fn every_field_that_leaves_is_shown_and_the_file_is_the_same_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = brisk(&["a.json", "--output", "one.json", "--yes"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).starts_with("written to one.json: "), "{output:?}");
    let shown = text(&output.stderr);
    let (shown, _) = shown.split_once("\nThis is all that leaves").expect("said");
    let written = fs::read(folder.path().join("one.json")).expect("written");
    let same: Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!(serde_json::from_str::<Value>(shown).expect("JSON"), same);
    assert!(!text(&written).contains("ann"), "{}", text(&written));
    assert_eq!(same["submission"]["day"], "2026-10-05");
    brisk(&["a.json", "--output", "two.json", "--yes"], folder.path());
    assert_eq!(fs::read(folder.path().join("two.json")).expect("written"), written);
}

#[test]
fn nothing_leaves_without_agreement() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = brisk(&["a.json", "--output", "one.json"], folder.path());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("give --yes to agree"), "{output:?}");
    assert!(!folder.path().join("one.json").exists());
    assert!(!folder.path().join("state").exists());
}

#[test]
fn a_busy_server_is_asked_again_and_a_known_submission_is_no_failure() {
    brisk_requires::requires!(Program("curl"));
    let folder = tempfile::tempdir().expect("a folder");
    let (url, handle) = server(vec![
        ("503 Busy", "{\"error\": \"later\"}"),
        ("429 Too Many", "{}"),
        ("201 Created", "{\"id\": \"ID\", \"status\": \"stored\"}"),
        ("200 OK", "{\"id\": \"ID\", \"status\": \"known\"}"),
    ]);
    let first = brisk(&["a.json", "--server", &url, "--yes"], folder.path());
    let second = brisk(&["a.json", "--server", &url, "--yes", "--json"], folder.path());
    assert_eq!((first.status.code(), second.status.code()), (Some(0), Some(0)), "{first:?} {second:?}");
    assert!(text(&first.stderr).contains("503 later; next attempt"), "{first:?}");
    let facts: Value = serde_json::from_slice(&second.stdout).expect("JSON");
    assert_eq!((&facts["kind"], &facts["status"]), (&json!("submit"), &json!("known already")));
    let seen = handle.join().expect("served");
    assert!(seen[0].0.starts_with("POST /v1/submissions HTTP/1.1\r\n"), "{}", seen[0].0);
    assert!(seen.iter().all(|(_, body)| *body == seen[0].1), "the same each time");
}

#[test]
fn a_refusal_is_said_and_not_repeated() {
    brisk_requires::requires!(Program("curl"));
    let folder = tempfile::tempdir().expect("a folder");
    let (url, handle) = server(vec![("422 No", "{\"error\": \"it has\\u0007 no results\"}")]);
    let output = brisk(&["a.json", "--server", &url, "--yes"], folder.path());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("refused: 422 it has\\u0007 no results"), "{output:?}");
    assert_eq!(handle.join().expect("served").len(), 1);
}

#[test]
fn a_submission_is_deleted_by_its_receipt() {
    brisk_requires::requires!(Program("curl"));
    let folder = tempfile::tempdir().expect("a folder");
    let (url, handle) = server(vec![
        ("201 Created", "{\"id\": \"ID\", \"status\": \"stored\"}"),
        ("200 OK", "{\"id\": \"ID\", \"status\": \"deleted\"}"),
    ]);
    let sent = brisk(&["a.json", "--server", &url, "--yes", "--json"], folder.path());
    let facts: Value = serde_json::from_slice(&sent.stdout).expect("JSON");
    let id = facts["id"].as_str().expect("an id");
    let deleted = brisk(&["--delete", id, "--server", &url], folder.path());
    assert_eq!(deleted.status.code(), Some(0), "{deleted:?}");
    let receipt = fs::read(facts["receipt"].as_str().expect("a path")).expect("kept");
    let receipt: Value = serde_json::from_slice(&receipt).expect("JSON");
    let seen = handle.join().expect("served");
    assert!(seen[1].0.starts_with(&format!("DELETE /v1/submissions/{id} HTTP/1.1")), "{}", seen[1].0);
    let secret = receipt["secret"].as_str().expect("a secret");
    assert!(seen[1].0.contains(&format!("Bearer {secret}")), "{}", seen[1].0);
    assert!(!text(&seen[0].1).contains(secret), "the secret stays here");
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = "ab".repeat(32);
    for (args, why) in [
        (&["a.json", "--server", "ftp://x", "--yes"][..], "begins with https:// or http://"),
        (&["a.json", "--yes"], "required"),
        (&["--delete", &id, "--server", "http://127.0.0.1:1"], "without the receipt"),
        (&["--delete", "7", "--server", "http://127.0.0.1:1"], "no id of a submission"),
        (&["none.json", "--output", "x", "--yes"], "none.json"),
    ] {
        let output = brisk(args, folder.path());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
        assert!(text(&output.stderr).contains(why), "{args:?}: {output:?}");
    }
}

#[test]
fn a_page_of_the_network_is_no_answer_of_a_fleet() {
    brisk_requires::requires!(Program("curl"));
    let folder = tempfile::tempdir().expect("a folder");
    let page = "<html><title>Sign in</title>Welcome to the network</html>";
    let other =
        "{\"id\": \"0000000000000000000000000000000000000000000000000000000000000000\", \"status\": \"stored\"}";
    let (url, handle) = server(vec![
        ("200 OK", page),
        ("201 Created", other),
        ("201 Created", "{\"id\": \"ID\", \"status\": \"stored\"}"),
        ("200 OK", page),
        ("204 No Content", ""),
        ("200 OK", "{\"id\": \"ID\", \"status\": \"known\"}"),
    ]);
    let send = || brisk(&["a.json", "--server", &url, "--yes", "--json"], folder.path());
    for why in ["did not answer as a fleet does (status 200)", "answers something else: 'stored' of 0000"] {
        let output = send();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
        assert!(text(&output.stderr).contains(why), "{output:?}");
    }
    let facts: Value = serde_json::from_slice(&send().stdout).expect("JSON");
    let id = facts["id"].as_str().expect("an id");
    for why in ["(status 200)", "(status 204)", "answers something else: 'known already'"] {
        let output = brisk(&["--delete", id, "--server", &url], folder.path());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
        assert!(text(&output.stderr).contains(why), "{output:?}");
    }
    assert_eq!(handle.join().expect("served").len(), 6);
}
