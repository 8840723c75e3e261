//! The preload library in real processes: what reaches the C library, counted by a library behind it, and what the
//! program sees.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use brisk_requires::requires;
use brisk_sync::library::{RULES_VARIABLE, install};
use brisk_sync::policy::{Class, Homes, Policy};

/// A directory with the libraries, the program, a loosened directory and one that is not.
struct Place {
    dir: tempfile::TempDir,
    files: PathBuf,
}

fn compile(source: &str, to: &Path, arguments: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
    let status = Command::new("gcc").args(["-O1", "-Wall", "-o"]).arg(to).arg(source).args(arguments).status();
    assert!(status.expect("gcc runs").success());
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let path = fs::canonicalize(dir.path()).expect("a path");
        install(&path).expect("libraries");
        compile("counter.c", &path.join("counter.so"), &["-shared", "-fPIC"]);
        compile("calls.c", &path.join("calls"), &[]);
        let place = Self { dir, files: path };
        place.make_directories();
        place
    }

    fn make_directories(&self) {
        for name in ["loose", "kept"] {
            fs::create_dir_all(self.files.join(name)).expect("a directory");
        }
    }

    fn rules(&self, class: &str, seconds: u32) -> String {
        let text = format!(
            "seconds = {seconds}\ncache_directory = false\n[[directory]]\npath = \"{}\"\nclass = \"{class}\"\n",
            self.files.join("loose").display()
        );
        let home = PathBuf::from("/nowhere/ann");
        let homes = Homes {
            data: home.join("data"),
            config: home.join("config"),
            state: home.join("state"),
            cache: home.join("cache"),
            home,
        };
        Policy::parse(&text).expect("a policy").rules(&homes).expect("rules").encode()
    }

    /// Plays a scene; gives what the program printed, and the calls that reached the C library.
    fn play(&self, rules: Option<&str>, scene: &str) -> (String, Vec<String>) {
        let counted = self.dir.path().join("counted");
        fs::write(&counted, "").expect("a file");
        let library = |name: &str| self.dir.path().join(name).display().to_string();
        let preload = match rules {
            Some(_) => format!("{}:{}", library("brisk_sync.so"), library("counter.so")),
            None => library("counter.so"),
        };
        let mut command = Command::new(self.dir.path().join("calls"));
        command.arg(self.files.join("loose")).arg(self.files.join("kept")).arg(scene);
        command.env("LD_PRELOAD", preload).env("COUNTED", &counted).env_remove(RULES_VARIABLE);
        if let Some(rules) = rules {
            command.env(RULES_VARIABLE, rules);
        }
        let output = command.output().expect("the program runs");
        assert!(output.status.success(), "{scene}: {}", String::from_utf8_lossy(&output.stderr));
        for name in ["loose", "kept"] {
            fs::remove_dir_all(self.files.join(name)).expect("removed");
        }
        self.make_directories();
        let calls = fs::read_to_string(&counted).expect("a file").lines().map(str::to_owned).collect();
        (String::from_utf8(output.stdout).expect("text"), calls)
    }

    fn calls(&self, rules: &str, scene: &str) -> Vec<String> {
        self.play(Some(rules), scene).1
    }
}

const ALL: [&str; 3] = ["fsync", "fdatasync", "sync_file_range"];

#[test]
fn cache_files_are_not_synced_and_all_others_are() {
    requires!(Program("gcc"), Disk);
    let place = Place::new();
    let cache = place.rules("cache", 5);
    assert_eq!(place.calls(&cache, "plain"), [""; 0]);
    assert_eq!(place.calls(&cache, "kept"), ALL);
    // No rules, durable rules, damaged rules.
    assert_eq!(place.calls("", "plain"), ALL);
    assert_eq!(place.calls(&place.rules("durable", 5), "plain"), ALL);
    for damaged in
        [cache.trim_end().to_owned(), cache.replace("C ", "X "), format!("{cache}C /\n"), cache.replace('1', "2")]
    {
        assert_eq!(place.calls(&damaged, "plain"), ALL, "{damaged}");
    }
}

#[test]
fn another_file_with_the_same_inode_or_descriptor_is_synced() {
    requires!(Program("gcc"), Disk);
    let place = Place::new();
    let cache = place.rules("cache", 5);
    for scene in ["inode", "dup"] {
        let (printed, calls) = place.play(Some(&cache), scene);
        assert_eq!(calls, ["fdatasync"], "{scene}: {printed}");
    }
    assert_eq!(place.calls(&cache, "fork"), ["fdatasync"]);
}

#[test]
fn a_file_that_gets_a_stricter_name_is_made_durable_first() {
    requires!(Program("gcc"), Disk);
    let place = Place::new();
    let cache = place.rules("cache", 5);
    for (scene, after) in [("rename", "fdatasync"), ("link", "fdatasync")] {
        let calls = place.calls(&cache, scene);
        assert_eq!(calls, ["syncfs", after], "{scene}");
    }
    assert_eq!(place.calls(&cache, "rename-within"), [""; 0]);
}

#[test]
fn no_link_or_path_leads_out_of_a_loosened_directory() {
    requires!(Program("gcc"), Disk);
    let place = Place::new();
    let cache = place.rules("cache", 5);
    for scene in ["symlink", "dots", "removed"] {
        assert_eq!(place.calls(&cache, scene), ["fsync"], "{scene}");
    }
}

#[test]
fn synchronous_flags_are_removed_for_cache_files_alone() {
    requires!(Program("gcc"), Disk);
    let place = Place::new();
    let (printed, _) = place.play(Some(&place.rules("cache", 5)), "open");
    // A file that does not exist yet keeps the flag.
    assert_eq!(printed, "loose: 0\nkept: 1\nnew: 1\n");
    assert_eq!(place.play(None, "open").0, "loose: 1\nkept: 1\nnew: 1\n");
}

#[test]
fn locks_of_the_process_stay() {
    requires!(Program("gcc"), Disk);
    let place = Place::new();
    assert_eq!(place.play(Some(&place.rules("cache", 5)), "lock").0, "still locked: 1\n");
}

#[test]
fn a_mapping_is_synced_unless_all_of_it_is_cache() {
    requires!(Program("gcc"), Disk);
    let place = Place::new();
    let calls = place.calls(&place.rules("cache", 5), "map");
    assert_eq!(calls, ["msync-async", "msync", "msync-async", "msync", "msync"]);
}

#[test]
fn a_program_sees_the_same_results_and_errors() {
    requires!(Program("gcc"), Disk);
    let place = Place::new();
    for rules in [place.rules("cache", 5), place.rules("durable", 5), place.rules("ordered", 5)] {
        for scene in ["plain", "kept", "errors", "dup", "fork", "rename", "link", "symlink", "removed", "map", "order"]
        {
            assert_eq!(place.play(Some(&rules), scene).0, place.play(None, scene).0, "{scene} with {rules}");
        }
    }
}

/// Every path of one to four names.
fn paths() -> Vec<String> {
    let names = ["a", "b", "ab", ".", "..", ""];
    let mut all = vec![String::new()];
    let mut longest = all.clone();
    for _ in 0..4 {
        longest = longest.iter().flat_map(|path| names.map(|name| format!("{path}/{name}"))).collect();
        all.extend(longest.iter().cloned());
    }
    all.push("a/b".to_owned());
    all
}

#[test]
fn the_library_and_the_policy_find_the_same_class_for_every_path() {
    requires!(Program("gcc"), Disk);
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let program = dir.path().join("match");
    compile("match.c", &program, &[]);
    let text = "cache_directory = false
        [[directory]]\npath = \"/a/b\"\nclass = \"ordered\"\nseconds = 9
        [[directory]]\npath = \"/b/a/*/b\"\nclass = \"cache\"
        [[directory]]\npath = \"/b/a/a\"\nclass = \"ordered\"
        [[file]]\npath = \"/a/b/ab\"\nclass = \"durable\"
        [[file]]\npath = \"/a/b/*/a\"\nclass = \"ordered\"\nseconds = 2
        [[database]]\npath = \"/ab/a\"\nclass = \"cache\"";
    let home = PathBuf::from("/nowhere/ann");
    let homes = Homes {
        data: home.join("data"),
        config: home.join("config"),
        state: home.join("state"),
        cache: home.join("cache"),
        home,
    };
    let rules = Policy::parse(text).expect("a policy").rules(&homes).expect("rules");
    let mut child = Command::new(program)
        .env(RULES_VARIABLE, rules.encode())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it runs");
    let paths = paths();
    let mut input = child.stdin.take().expect("a pipe");
    let all = paths.join("\n") + "\n";
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, all.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("written");
    let found = String::from_utf8(output.stdout).expect("text");
    assert_eq!(found.lines().count(), paths.len());
    let mut loosened = 0;
    for (path, found) in paths.iter().zip(found.lines()) {
        let rule = rules.rule_for(path);
        let class = rule.map_or(Class::Durable, |rule| rule.class);
        loosened += usize::from(class != Class::Durable);
        assert_eq!(found, format!("{} {}", class as u8, rule.map_or(0, |rule| rule.seconds)), "{path}");
    }
    assert!(loosened > 12, "{loosened}");
}

/// A place on an ext4 file system of its own.
fn on_ext4(options: &str, attribute: bool) -> (Place, Mounted) {
    let mut place = Place::new();
    let (image, at) = (place.dir.path().join("image"), place.dir.path().join("mnt"));
    fs::create_dir(&at).expect("a directory");
    fs::File::create(&image).and_then(|file| file.set_len(32 << 20)).expect("an image");
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let (image, at_text) = (image.to_str().expect("text"), at.to_str().expect("text"));
    run("mkfs.ext4", &["-q", "-F", image]);
    if attribute {
        // As chattr +j, which takes CAP_SYS_RESOURCE.
        run("debugfs", &["-w", "-R", "mkdir loose", image]);
        run("debugfs", &["-w", "-R", "set_inode_field loose flags 0x84000", image]);
    }
    run("mount", &["-o", &format!("loop,{options}"), image, at_text]);
    place.files = fs::canonicalize(&at).expect("a path");
    place.make_directories();
    (place, Mounted(at))
}

struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn ordered_files_are_left_to_a_journal_that_holds_their_data() {
    requires!(Mount, Loop, Program("gcc"), Program("mkfs.ext4"));
    let (place, _mounted) = on_ext4("data=journal,commit=3", false);
    assert_eq!(place.calls(&place.rules("ordered", 3), "plain"), [""; 0]);
    // The bound is shorter than the journal's interval.
    assert_eq!(place.calls(&place.rules("ordered", 2), "plain"), ALL);
    assert_eq!(place.calls(&place.rules("ordered", 3), "kept"), ALL);
    // Pages of mappings are not in the journal's order: the sync after mapping is done, and before it the one that was
    // left out.
    assert_eq!(place.calls(&place.rules("ordered", 3), "map-fsync"), ["fsync", "fsync"]);
    // What was left out is synced before a durable file; one of the two files is closed by then.
    let calls = place.calls(&place.rules("ordered", 3), "order");
    assert_eq!(calls, ["fsync", "syncfs", "fdatasync", "fdatasync"]);
    assert_eq!(place.calls(&place.rules("ordered", 3), "dup"), ["syncfs", "fdatasync"]);
}

#[test]
fn without_that_order_ordered_files_are_durable() {
    requires!(Mount, Loop, Program("gcc"), Program("mkfs.ext4"));
    for options in ["data=ordered,commit=1", "data=journal,commit=1,nobarrier"] {
        let (place, _mounted) = on_ext4(options, false);
        assert_eq!(place.calls(&place.rules("ordered", 300), "plain"), ALL, "{options}");
    }
}

#[test]
fn the_attribute_of_a_file_counts_where_ext4_heeds_it() {
    requires!(Mount, Loop, Program("gcc"), Program("mkfs.ext4"), Program("debugfs"));
    for (options, expected) in [("nodelalloc,commit=1", &[][..]), ("commit=1", &ALL)] {
        let (place, _mounted) = on_ext4(options, true);
        // Each scene ends with new directories, which have no attribute: the first scene counts.
        assert_eq!(place.calls(&place.rules("ordered", 1), "plain"), expected, "{options}");
        assert_eq!(place.calls(&place.rules("ordered", 1), "plain"), ALL, "{options}");
    }
}
