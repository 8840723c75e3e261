//! `brisk report` from outside: what it reads, what it refuses and how it says so.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use snapbox::assert_data_eq;

fn brisk(args: &[&str], folder: &Path) -> Output {
    // Without a `brisk-lab`, to which some options would hand over.
    let alone = crate::hand_over::alone();
    let mut command = crate::hand_over::brisk(alone.path(), &[]);
    // The snapshots have the signs of a locale with UTF-8.
    command.env("LC_ALL", "C.UTF-8");
    command.arg("report").args(args).current_dir(folder).stdin(Stdio::null()).output().expect("brisk starts")
}

/// A footprint study: the shortest document there is.
fn document(version: u32, kind: &str) -> String {
    let summary = |median: f64| {
        format!(
            "{{\"count\": 3, \"median\": {median}, \"low\": {}, \"high\": {}, \"confidence\": 0.75, \"min\": {median}, \
             \"max\": {median}, \"variation\": 0.01}}",
            median * 0.98,
            median * 1.02
        )
    };
    format!(
        "{{\"kind\": \"{kind}\", \"schema_version\": {version}, \"started\": \"2026-10-05T20:28:59Z\", \"duration_s\": \
         12.5, \"environment\": {{\"brisk_version\": \"0.1.0\", \"kernel\": \"6.18.4\", \"architecture\": \"x86_64\", \
         \"cpus\": 2, \"path\": \"/data\", \"file_system\": \"ext4\", \"mount_options\": null, \"device\": null}}, \
         \"io_engine\": \"io_uring\", \"seed\": 42, \"warnings\": [], \"block_bytes\": 4096, \"requests\": 2048, \
         \"precondition_bytes\": 1073741824, \"points\": [{{\"range_bytes\": 8388608, \"bandwidth_bytes_per_s\": {}}}, \
         {{\"range_bytes\": 67108864, \"bandwidth_bytes_per_s\": {}}}], \"drops\": [{{\"after_range_bytes\": 8388608, \
         \"factor\": 4.0}}]}}",
        summary(2.4e6),
        summary(0.6e6)
    )
}

/// What brisk says on the way out with code 2.
fn refusal(args: &[&str], folder: &Path) -> String {
    let output = brisk(args, folder);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{args:?} printed: {output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn a_document_is_shown_in_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.json"), document(1, "footprint")).expect("written");
    let output = brisk(&["a.json"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_data_eq!(
        String::from_utf8(output.stdout).expect("UTF-8"),
        snapbox::str![[r#"
Footprint · /data
━━━━━━━━━━━━━━━━━
Random writes run at 2.40 MB/s while they stay within 8 MiB, then drop by a factor of 4.00 beyond 8
MiB.
· Random writes of an app should stay within the range before the first drop.

!! 1 warning before you believe these numbers:
!! The intervals of 3 runs hold the true median with 75 % only: differences of that size may be
   chance.

Random-write throughput by address range
  range        MB/s        interval                remark
──────────────────────────────────────────────────────────────
  8 MiB   2.40 ±2 %    2.35 to 2.45  ████████████  then ÷4.00
 64 MiB  0.600 ±2 %  0.588 to 0.612  ███
 Medians of 3 runs; ± is half the interval of the median, which with few runs is their whole range.

Device      unknown: no single block device below the path
File system ext4
Path        /data
Machine     x86_64, 2 CPUs, kernel 6.18.4
I/O engine  io_uring
Run         2026-10-05 20:28 UTC, took 12.5 s, brisk 0.1.0, seed 42

"#]]
    );
}

#[test]
fn one_page_holds_documents_of_several_files_and_of_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let two = format!("[{0}, {0}]", document(1, "footprint"));
    fs::write(folder.path().join("two.json"), &two).expect("written");
    fs::write(folder.path().join("one.json"), document(1, "footprint")).expect("written");
    let stdin = fs::File::open(folder.path().join("one.json")).expect("opens");
    let output = Command::new(snapbox::cmd::cargo_bin("brisk"))
        .args(["report", "two.json", "-", "--html", "page.html"])
        .current_dir(folder.path())
        .stdin(stdin)
        .output()
        .expect("brisk starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "page.html\n");
    let page = fs::read_to_string(folder.path().join("page.html")).expect("the page is there");
    assert_eq!(page.matches("<article").count(), 3);

    let output = brisk(&["one.json", "--html", "-"], folder.path());
    assert!(output.stdout.starts_with(b"<!DOCTYPE html>"), "{output:?}");
}

#[test]
fn json_is_a_list_that_report_reads_again() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.json"), document(1, "footprint")).expect("written");
    let first = brisk(&["a.json", "a.json", "--json"], folder.path());
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    fs::write(folder.path().join("b.json"), &first.stdout).expect("written");
    let second = brisk(&["b.json", "--json"], folder.path());
    assert_eq!(first.stdout, second.stdout);
    let list: serde_json::Value = serde_json::from_slice(&second.stdout).expect("JSON");
    assert_eq!(list.as_array().map(Vec::len), Some(2));
}

#[test]
fn what_cannot_be_shown_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases: [(&str, &str, &str); 10] = [
        ("empty.json", "", "there is nothing in it"),
        ("list.json", "[]", "the list of documents is empty"),
        ("text.json", "hello", "it is not JSON"),
        ("other.json", "{\"a\": 1}", "there is no \"kind\""),
        ("newer.json", &document(2, "footprint"), "update brisk"),
        ("older.json", &document(0, "footprint"), "measure again"),
        ("poem.json", &document(1, "poem"), "of kind \"poem\""),
        ("wrong.json", &document(1, "slowdown"), "the slowdown document is damaged: "),
        ("cut.json", &document(1, "footprint")[..200], "it is not JSON"),
        ("bytes.json", "\u{0}\u{1}", "it is not JSON"),
    ];
    for (name, text, reason) in cases {
        fs::write(folder.path().join(name), text).expect("written");
        let said = refusal(&[name], folder.path());
        assert!(said.contains(reason) && said.contains(name), "{name}: {said}");
    }
    assert!(refusal(&["missing.json"], folder.path()).contains("cannot read missing.json"));
    assert!(refusal(&["."], folder.path()).contains(". is a directory: name a regular file"));
    assert!(refusal(&["-"], folder.path()).contains("cannot show standard input: there is nothing in it"));
    assert!(refusal(&[], folder.path()).contains("<FILE>..."));
    // One bad document among good ones: nothing is shown, and it is named.
    fs::write(folder.path().join("good.json"), document(1, "footprint")).expect("written");
    assert!(refusal(&["good.json", "poem.json"], folder.path()).contains("poem.json"));
}

#[test]
fn a_page_that_cannot_be_written_is_an_error_and_costs_no_document() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = document(1, "footprint");
    fs::write(folder.path().join("a.json"), &text).expect("written");
    let html = |to: &str| refusal(&["a.json", "--html", to], folder.path());
    assert!(html("no/such/folder/page.html").contains("cannot write no/such/folder/page.html"));
    assert!(html(".").contains("cannot write ."));
    assert!(html("./a.json").contains("is one of the documents"));
    assert_eq!(fs::read_to_string(folder.path().join("a.json")).expect("still there"), text);
    assert!(refusal(&["a.json", "--html", "x", "--json"], folder.path()).contains("--json"));
}

#[test]
fn pages_of_a_run_go_into_a_folder_with_an_index_and_their_paths_are_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = document(1, "footprint").replace("\"/data\"", "\"/mnt/card\"");
    fs::write(folder.path().join("two.json"), format!("[{}, {other}]", document(1, "footprint"))).expect("written");
    let output = brisk(&["two.json", "--pages", "new/pages", "--verdict"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(said.starts_with("The disk of this machine was not measured.\n"), "{said}");
    let pages = folder.path().canonicalize().expect("there").join("new/pages");
    let paths: Vec<&str> = said.lines().filter(|line| line.ends_with(".html")).collect();
    assert_eq!(paths, ["index.html", "data.html", "mnt-card.html"].map(|name| pages.join(name).display().to_string()));
    for path in paths {
        assert!(fs::read_to_string(path).expect("a page").starts_with("<!DOCTYPE html>"));
    }
    // Pages of an earlier run are replaced.
    assert_eq!(brisk(&["two.json", "--pages", "new/pages"], folder.path()).status.code(), Some(0));
}

#[test]
fn pages_replace_no_file_of_others() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.json"), document(1, "footprint")).expect("written");
    fs::create_dir(folder.path().join("site")).expect("made");
    fs::write(folder.path().join("site/index.html"), "<!DOCTYPE html><title>mine</title>").expect("written");
    let said = refusal(&["a.json", "--pages", "site"], folder.path());
    assert!(said.contains("site/index.html is not a page of brisk and stays: give --pages another folder"), "{said}");
    assert_eq!(fs::read_dir(folder.path().join("site")).expect("there").count(), 1, "no page was written");
    let said = refusal(&["a.json", "--verdict", "--pages", "a.json"], folder.path());
    assert!(said.contains("a.json is no folder: give --pages the name of one"), "{said}");
    assert!(refusal(&["a.json", "--pages", "x", "--html", "y"], folder.path()).contains("--html"));
    assert!(refusal(&["a.json", "--verdict", "--json"], folder.path()).contains("--json"));
    let said = refusal(&["a.json", "--verdict", "--html", "-"], folder.path());
    assert!(said.contains("--verdict and --html - both write to standard output"), "{said}");
    assert!(refusal(&["missing.json", "--pages", "x"], folder.path()).contains("cannot read missing.json"));
    assert!(!folder.path().join("x").exists(), "a folder was made for nothing");
}

#[test]
fn the_verdict_of_a_device_is_a_sentence_on_its_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.json"), document(1, "footprint")).expect("written");
    let output = brisk(&["a.json", "--verdict"], folder.path());
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(said, "The disk of this machine was not measured.\n");
}

#[test]
fn a_file_without_end_or_beyond_the_limit_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    // Reading it would take minutes and more memory than this machine has.
    fs::File::create(folder.path().join("sparse.json")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    let said = refusal(&["sparse.json"], folder.path());
    assert!(said.contains("sparse.json has 1 TiB, and at most 64 MiB are read"), "{said}");
    let said = refusal(&["/dev/zero"], folder.path());
    assert!(said.contains("/dev/zero is a character device: name a regular file"), "{said}");
    rustix::fs::mknodat(rustix::fs::CWD, folder.path().join("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a FIFO");
    assert!(refusal(&["fifo"], folder.path()).contains("fifo is a pipe (FIFO)"));
    let endless = fs::File::open("/dev/zero").expect("opens");
    let output = Command::new(snapbox::cmd::cargo_bin("brisk")).args(["report", "-"]).stdin(endless).output();
    let output = output.expect("brisk starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("standard input has more than 64 MiB"), "{said}");
}

#[test]
fn a_file_of_another_program_takes_no_memory_beyond_its_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let zeros = "0,".repeat(30 << 20) + "0";
    for (name, text, reason) in [
        ("list.json", format!("[{zeros}]"), "no \"kind\""),
        ("object.json", format!("{{\"a\": [{zeros}]}}"), "no \"kind\""),
        ("kind.json", format!("{{\"kind\": \"x\", \"schema_version\": 1, \"a\": [{zeros}]}}"), "of kind \"x\""),
    ] {
        fs::write(folder.path().join(name), text).expect("written");
        // 256 MiB of addresses, of which the file takes a quarter.
        let limited = format!("ulimit -v 262144 && exec \"$0\" report {name}");
        let mut command = Command::new("sh");
        command.arg("-c").arg(limited).arg(snapbox::cmd::cargo_bin("brisk")).current_dir(folder.path());
        let output = command.output().expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(reason), "{name}: {said}");
    }
}

#[test]
fn a_page_that_does_not_fit_leaves_the_earlier_one() {
    brisk_requires::requires!(Mount);
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.json"), document(1, "footprint")).expect("written");
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).expect("made");
    // A page takes more than 8 KiB.
    rustix::mount::mount("tmpfs", &disk, "tmpfs", rustix::mount::MountFlags::empty(), Some(c"size=8k"))
        .expect("a tmpfs");
    fs::write(disk.join("page.html"), "earlier").expect("written");
    let said = refusal(&["a.json", "--html", "disk/page.html"], folder.path());
    let (left, page) = (fs::read_dir(&disk).map(Iterator::count), fs::read_to_string(disk.join("page.html")));
    rustix::mount::unmount(&disk, rustix::mount::UnmountFlags::DETACH).expect("unmounted");
    assert!(said.contains("cannot write disk/page.html") && said.contains("No space left"), "{said}");
    assert_eq!((left.expect("listed"), page.expect("there").as_str()), (1, "earlier"));
}

#[test]
fn values_go_to_standard_output_or_into_a_file_as_csv_and_markdown() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.json"), document(1, "footprint")).expect("written");
    let printed = brisk(&["--csv", "a.json"], folder.path());
    let text = String::from_utf8_lossy(&printed.stdout);
    assert!(printed.status.success() && text.starts_with("document,kind,started,brisk_version,commit,"), "{text}");
    assert!(text.contains(",throughput,bytes_per_s,median,"), "{text}");
    let into = brisk(&["a.json", "--csv=a.csv", "--markdown=a.md"], folder.path());
    assert!(into.status.success() && !into.stdout.is_empty(), "the table is printed as well");
    assert_eq!(fs::read_to_string(folder.path().join("a.csv")).expect("written"), text);
    assert!(fs::read_to_string(folder.path().join("a.md")).expect("written").starts_with("# Footprint"));
    let said = refusal(&["a.json", "--csv", "--markdown"], folder.path());
    assert!(said.contains("--csv and --markdown both write to standard output"), "{said}");
    let said = refusal(&["a.json", "--csv=a.json"], folder.path());
    assert!(said.contains("a.json is one of the documents: give --csv another name"), "{said}");
    let said = refusal(&["a.json", "--markdown=gone/a.md"], folder.path());
    assert!(said.contains("there is no directory gone"), "{said}");
}

#[test]
fn the_long_version_names_the_commit_that_results_name_too() {
    let version = |option: &str| {
        let output = Command::new(snapbox::cmd::cargo_bin("brisk")).arg(option).output().expect("brisk starts");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let short = concat!("brisk ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(version("-V"), short);
    let long = version("--version");
    let commit = long.strip_prefix(short).expect("it begins with the version");
    // As the build script sees it: a tree of git, or a tarball.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let git = Command::new("git").arg("-C").arg(&root).args(["rev-parse", "HEAD"]).output();
    let is_tree = root.join(".git").exists() && git.is_ok_and(|git| git.status.success());
    let given = option_env!("BRISK_COMMIT").is_some();
    assert!(given || is_tree == commit.starts_with("commit "), "{long}");
    if let Some(commit) = commit.strip_prefix("commit ").filter(|_| !given) {
        let (hash, day) = commit.trim_end().split_once(' ').expect("commit and day");
        assert!(hash.len() == 12 && hash.chars().all(|c| c.is_ascii_hexdigit()) && day.len() == 10, "{long}");
        let dir = tempfile::tempdir().expect("a directory");
        let mut bench = Command::new(snapbox::cmd::cargo_bin("brisk"));
        bench.args(["bench", "--budget", "1", "--size", "2M", "--block", "64k", "--depth", "2"]);
        let output = bench.arg(dir.path()).arg("--json").env("BRISK_RUN_DIR", dir.path()).output().expect("brisk runs");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(document["environment"]["commit"], hash);
    }
}
