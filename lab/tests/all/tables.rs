//! One reader for all commands: what one command accepts of a table, all accept, from a file, a pipe and standard
//! input.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A command that reads a table, a table for it, and the part of its document that follows from the table alone.
struct Case {
    words: &'static [&'static str],
    /// Comments before the heading.
    comment: &'static str,
    table: String,
    part: fn(&Value) -> Value,
}

fn cases() -> [Case; 3] {
    let mut usage = "user_id,timestamp,app,duration_s\n".to_owned();
    let mut heap = "app,run,time_ms,anonymous_bytes,swapped_bytes\n".to_owned();
    let mut swap = "time_us,action,app,page,slot\n".to_owned();
    for nth in 0..60u64 {
        let app = ["mail", "maps", "news"][nth as usize % 3];
        writeln!(usage, "u,{}.5,{app},5", 1_700_000_000 + 60 * nth).expect("a string");
        writeln!(heap, "mail,{},{},{},0", nth / 20, nth % 20 * 1000, 4096 * (nth + 1)).expect("a string");
        writeln!(swap, "{},{},{app},{},{}", nth * 1000, if nth < 30 { "out" } else { "in" }, nth % 30, nth % 30)
            .expect("a string");
    }
    let users = |document: &Value| -> Value {
        document["results"].as_array().expect("results").iter().map(|one| one["users"].clone()).collect()
    };
    [
        Case { words: &["predict", "eval", "--json"], comment: "# of a phone\n", table: usage, part: users },
        Case {
            words: &["study", "heap", "--json"],
            comment: "",
            table: heap,
            part: |document| document["apps"].clone(),
        },
        Case {
            words: &["swap", "show", "--json"],
            comment: "#brisk-swap-trace 1 area_slots=100\n",
            table: swap,
            part: |document| document["layout"].clone(),
        },
    ]
}

fn form(table: &str, separator: &str, cell: impl Fn(&str) -> String, end: &str) -> String {
    table.lines().map(|line| line.split(',').map(&cell).collect::<Vec<_>>().join(separator) + end).collect()
}

fn forms(table: &str) -> Vec<(&'static str, String)> {
    let plain = |cell: &str| cell.to_owned();
    let reversed = |line: &str| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n";
    let (heading, rows) = table.split_once('\n').expect("a heading");
    vec![
        ("CR LF", form(table, ",", plain, "\r\n")),
        ("quotes", form(table, ",", |cell| format!("\"{cell}\""), "\n")),
        ("blanks", form(table, ", ", plain, "\n")),
        ("blanks and quotes", form(table, " , ", |cell| format!("\"{cell}\""), "\n")),
        ("semicolons", form(table, ";", |cell| cell.replace('.', ","), "\n")),
        ("tabs", form(table, "\t", plain, "\n")),
        ("another order", table.lines().map(reversed).collect()),
        ("capitals", format!("{}\n{rows}", heading.to_uppercase())),
        ("empty lines and comments", format!("{heading}\n\n# a, b\n{}\n\n", rows.replace('\n', "\n\n"))),
        ("further columns", table.lines().map(|line| format!("x,{line},\n")).collect()),
    ]
}

fn run(case: &Case, file: &str, input: Stdio) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.args(&case.words[..2]).arg(file).args(&case.words[2..]).stdin(input);
    command.output().expect("brisk runs")
}

fn part(case: &Case, output: &Output, what: &str) -> Value {
    assert!(output.status.success(), "{:?}, {what}: {}", case.words, String::from_utf8_lossy(&output.stderr));
    (case.part)(&serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn each_command_takes_each_form_of_its_table() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("table");
    let path = file.to_str().expect("UTF-8");
    for case in cases() {
        fs::write(&file, format!("{}{}", case.comment, case.table)).expect("written");
        let plain = part(&case, &run(&case, path, Stdio::null()), "plain");
        assert!(!plain.is_null());
        for (what, table) in forms(&case.table) {
            for mark in ["", "\u{feff}"] {
                fs::write(&file, format!("{mark}{}{table}", case.comment)).expect("written");
                let output = run(&case, path, Stdio::null());
                assert_eq!(part(&case, &output, what), plain, "{:?}, {what}", case.words);
                let note = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(note.contains("columns that are not used: x"), what == "further columns", "{what}: {note}");
            }
        }
    }
}

#[test]
fn each_command_reads_packed_tables_pipes_and_standard_input() {
    let dir = tempfile::tempdir().expect("a directory");
    let (plain, packed) = (dir.path().join("plain"), dir.path().join("packed"));
    let fifo = dir.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a FIFO");
    let name = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    for case in cases() {
        let text = format!("{}{}", case.comment, case.table);
        fs::write(&plain, &text).expect("written");
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).expect("packed");
        fs::write(&packed, packer.finish().expect("packed")).expect("written");
        let expected = part(&case, &run(&case, &name(&plain), Stdio::null()), "plain");
        assert_eq!(part(&case, &run(&case, &name(&packed), Stdio::null()), "packed"), expected);
        for source in [&plain, &packed] {
            let input = File::open(source).expect("a file").into();
            assert_eq!(part(&case, &run(&case, "-", input), "standard input"), expected);
            let bytes = fs::read(source).expect("a file");
            let end = fifo.clone();
            let writer = std::thread::spawn(move || fs::write(end, bytes));
            let output = run(&case, &name(&fifo), Stdio::null());
            writer.join().expect("ended").expect("written");
            assert_eq!(part(&case, &output, "a FIFO"), expected);
        }
    }
}

#[test]
fn each_command_names_file_line_and_column_of_what_is_wrong() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("wrong.csv");
    for case in cases() {
        let heading = case.table.lines().next().expect("a heading");
        let columns: Vec<&str> = heading.split(',').collect();
        let first = case.comment.lines().count() + 1;
        let more_cells = format!("{heading}\n{}\n", ["1"; 7].join(","));
        let no_numbers = format!("{heading}\n\n{}\n", vec!["x"; columns.len()].join(","));
        for (table, words) in [
            (heading.replacen(columns[0], "other", 1), format!("line {first} names no column '{}'", columns[0])),
            (heading.replacen(columns[1], columns[0], 1), format!("line {first} names no column '{}'", columns[1])),
            (more_cells, format!("line {}: it has 7 cells", first + 1)),
            (no_numbers, format!("line {}, column ", first + 2)),
        ] {
            fs::write(&file, format!("{}{table}\n", case.comment)).expect("written");
            let output = run(&case, file.to_str().expect("UTF-8"), Stdio::null());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{:?}: {said}", case.words);
            assert!(said.contains("wrong.csv") && said.contains(&words), "{:?}: {words}: {said}", case.words);
        }
    }
}
