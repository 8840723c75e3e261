//! The VFS in SQLite's shell, as extension and preloaded: which syncs reach the C library, and that databases stay
//! whole when several processes write to them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use brisk_requires::requires;
use brisk_sync::library::{RULES_VARIABLE, install};

struct Place {
    dir: tempfile::TempDir,
    path: PathBuf,
}

/// How the VFS gets into the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Without,
    Extension,
    Preloaded,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let path = fs::canonicalize(dir.path()).expect("a path");
        install(&path).expect("libraries");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/counter.c");
        let status =
            Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(path.join("counter.so")).arg(source).status();
        assert!(status.expect("gcc runs").success());
        fs::create_dir(path.join("db")).expect("a directory");
        Self { dir, path }
    }

    fn start(&self, way: Way, class: &str, sql: &str) -> Child {
        let library = |name: &str| self.path.join(name).display().to_string();
        let mut preload = library("counter.so");
        if way == Way::Preloaded {
            preload = format!("{}:{preload}", library("brisk_sync.so"));
        }
        let mut command = Command::new("sqlite3");
        command.args(["-batch", ":memory:"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("LD_PRELOAD", preload).env("COUNTED", self.dir.path().join("counted"));
        let rules = format!("brisk-sync 1\n{class} {}/\n", self.path.join("db").display());
        command.env(RULES_VARIABLE, rules);
        let mut child = command.spawn().expect("sqlite3 runs");
        let load =
            if way == Way::Extension { format!(".load {}\n", library("brisk_sync_sqlite.so")) } else { String::new() };
        let script = format!("{load}.open {}\n.timeout 60000\n{sql}\n", self.path.join("db/test.db").display());
        child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("written");
        child
    }

    /// Runs SQL on the database; gives what was printed and the calls that reached the C library.
    fn run(&self, way: Way, class: &str, sql: &str) -> (String, Vec<String>) {
        let counted = self.dir.path().join("counted");
        fs::write(&counted, "").expect("a file");
        let text = ended(self.start(way, class, sql));
        (text, fs::read_to_string(&counted).expect("a file").lines().map(str::to_owned).collect())
    }

    fn clear(&self) {
        fs::remove_dir_all(self.path.join("db")).and_then(|()| fs::create_dir(self.path.join("db"))).expect("cleared");
    }
}

fn ended(child: Child) -> String {
    let Output { stdout, stderr, .. } = child.wait_with_output().expect("it ends");
    let (out, error) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    format!("{out}{error}")
}

fn inserts(count: usize) -> String {
    "insert into t(x) values(randomblob(100));\n".repeat(count)
}

/// Makes the table, then 50 transactions.
fn workload(mode: &str) -> String {
    format!(
        "pragma journal_mode={mode}; create table t(id integer primary key, x);\n{}select count(*) from t;",
        inserts(50)
    )
}

#[test]
fn commits_of_ordered_databases_in_wal_mode_do_not_sync() {
    requires!(Program("gcc"), Program("sqlite3"), Disk);
    let place = Place::new();
    let mut counts = Vec::new();
    for (way, class) in [
        (Way::Without, "O60"),
        (Way::Extension, "D"),
        (Way::Extension, "O60"),
        (Way::Preloaded, "O60"),
        (Way::Extension, "C"),
        (Way::Preloaded, "C"),
    ] {
        let (text, calls) = place.run(way, class, &workload("wal"));
        assert_eq!(text, "wal\n50\n", "{way:?} {class}");
        counts.push(calls.len());
        place.clear();
    }
    let [without, durable, ordered, preloaded, cache, cache_preloaded] = counts[..] else { panic!("{counts:?}") };
    assert!(without >= 50 && durable == without, "{counts:?}");
    // The first sync of the WAL, that of the new header, those of the checkpoint at the end.
    assert!((2..12).contains(&ordered) && (2..12).contains(&preloaded), "{counts:?}");
    assert!(cache <= 2 && cache_preloaded == 0, "{counts:?}");
}

#[test]
fn a_rollback_journal_is_synced_as_ever_for_ordered_databases() {
    requires!(Program("gcc"), Program("sqlite3"), Disk);
    let place = Place::new();
    for mode in ["delete", "truncate", "persist"] {
        let of = |way, class| {
            let (text, calls) = place.run(way, class, &workload(mode));
            assert_eq!(text, format!("{mode}\n50\n"));
            place.clear();
            calls.len()
        };
        let without = of(Way::Without, "O60");
        assert!(without >= 100, "{without}");
        assert_eq!(of(Way::Extension, "O60"), without, "{mode}");
        assert!(of(Way::Extension, "C") <= 51, "{mode}");
    }
}

#[test]
fn a_checkpoint_syncs_the_log_before_it_writes_to_the_database() {
    requires!(Program("gcc"), Program("sqlite3"), Disk);
    let place = Place::new();
    let sql = format!("{} pragma wal_checkpoint; {} pragma wal_checkpoint(truncate);", workload("wal"), inserts(10));
    let (text, calls) = place.run(Way::Extension, "O60", &sql);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[2].starts_with("0|5") && lines[3] == "0|0|0", "{text}");
    // Two for each checkpoint that moved pages, the log and the database, besides those of the beginning.
    assert!((6..20).contains(&calls.len()), "{calls:?}");
}

#[test]
fn the_thread_syncs_within_the_bound() {
    requires!(Program("gcc"), Program("sqlite3"), Disk);
    let place = Place::new();
    let counted = place.dir.path().join("counted");
    let count = || fs::read_to_string(&counted).map_or(0, |text| text.lines().count());
    let mut shell = Command::new("sqlite3");
    shell.args(["-batch", ":memory:"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    shell.env("LD_PRELOAD", place.path.join("counter.so")).env("COUNTED", &counted);
    shell.env(RULES_VARIABLE, format!("brisk-sync 1\nO1 {}/\n", place.path.join("db").display()));
    let mut shell = shell.spawn().expect("sqlite3 runs");
    let mut input = shell.stdin.take().expect("a pipe");
    let mut output = std::io::BufReader::new(shell.stdout.take().expect("a pipe"));
    let load = format!(
        ".load {}\n.open {}\n",
        place.path.join("brisk_sync_sqlite.so").display(),
        place.path.join("db/test.db").display()
    );
    input.write_all(format!("{load}{}\n", workload("wal")).as_bytes()).and_then(|()| input.flush()).expect("written");
    brisk_requires::line_with(&mut output, "50", |line| line == "50\n");
    // The shell waits for input now, so that a further sync is the thread's. An hour is a limit against hangs alone.
    let before = count();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while count() == before {
        assert!(std::time::Instant::now() < deadline, "no sync within the bound");
        std::thread::yield_now();
    }
    drop(input);
    assert!(shell.wait().expect("it ends").success());
}

#[test]
fn several_processes_write_one_database() {
    requires!(Program("gcc"), Program("sqlite3"), Disk);
    let place = Place::new();
    place.run(Way::Extension, "O1", "pragma journal_mode=wal; create table t(id integer primary key, x);");
    let sql = format!("pragma wal_autocheckpoint=20;\n{}", inserts(60));
    let ways = [Way::Extension, Way::Preloaded, Way::Without, Way::Extension];
    let shells: Vec<Child> = ways.iter().map(|way| place.start(*way, "O1", &sql)).collect();
    for shell in shells {
        assert_eq!(ended(shell), "20\n");
    }
    let (text, _) = place.run(Way::Without, "O1", "select count(*) from t; pragma integrity_check;");
    assert_eq!(text, "240\nok\n");
}

#[test]
fn a_uri_names_the_class_and_a_wrong_one_is_an_error() {
    requires!(Program("gcc"), Program("sqlite3"), Disk);
    let place = Place::new();
    let elsewhere = place.path.join("other.db");
    let of = |parameters: &str| {
        let open = format!(".open file:{}?{parameters}\n{}", elsewhere.display(), workload("wal"));
        let result = place.run(Way::Extension, "O60", &open);
        let _ = fs::remove_file(&elsewhere);
        result
    };
    assert!(of("x=y").1.len() >= 50);
    assert!(of("brisk_sync=durable").1.len() >= 50);
    assert!(of("brisk_sync=ordered&brisk_seconds=60").1.len() < 12);
    for wrong in ["brisk_sync=fast", "brisk_sync=ordered&brisk_seconds=0", "brisk_sync=cache&brisk_seconds=301"] {
        let (text, calls) = of(wrong);
        assert!(text.contains("unable to open database") && calls.is_empty(), "{wrong}: {text}");
    }
}

#[test]
fn damaged_rules_are_an_error_of_the_extension() {
    requires!(Program("gcc"), Program("sqlite3"), Disk);
    let place = Place::new();
    let (text, calls) = place.run(Way::Extension, "Q", &workload("wal"));
    assert!(text.contains("damaged") && calls.len() >= 50, "{text}");
    let (text, calls) = place.run(Way::Preloaded, "Q", &workload("wal"));
    assert!(text.contains("damaged") && calls.len() >= 50, "{text}");
}
