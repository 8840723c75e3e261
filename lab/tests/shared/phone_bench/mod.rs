//! A lab with an image for phones, for tests.

#![allow(dead_code, reason = "each test program uses a part of it")]

use crate::lab_guard::{Guard, run};
use brisk_lab::phone::{NewPhone, Phone, Phones, make_image};
use brisk_requires::{Capability, available};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const MIB: u64 = 1 << 20;

/// A lab of its own, with an image for phones.
pub(crate) struct Bench {
    pub(crate) lab: Guard,
    pub(crate) image: PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Option<Self> {
        Self::with(|_| {})
    }

    /// With more in the image: `add` gets its tree.
    pub(crate) fn with(add: impl FnOnce(&Path)) -> Option<Self> {
        available(&["mke2fs", "resize2fs", "tune2fs", "e2fsck"].map(Capability::Program))?;
        available(&[Capability::Cgroup2])?;
        let lab = Guard::new()?;
        let tree = lab.dir().join("tree");
        fs::create_dir(&tree).expect("made");
        for program in ["sh", "id", "cat", "ls", "dd", "sleep", "env", "stat"] {
            copy_program(&tree, program);
        }
        let home = tree.join("home/user");
        fs::create_dir_all(home.join(".cache")).expect("made");
        fs::write(home.join(".cache/page"), "cached").expect("written");
        fs::write(home.join("mail.db"), b"SQLite format 3\0and more").expect("written");
        for path in [&home, &home.join(".cache"), &home.join(".cache/page"), &home.join("mail.db")] {
            chown(path, Some(10_000), Some(10_000)).expect("owned");
        }
        add(&tree);
        let image = lab.dir().join("image");
        make_image(&tree, 64 * MIB, &image).expect("an image");
        Some(Self { lab, image })
    }

    pub(crate) fn image(&self) -> &str {
        self.image.to_str().expect("UTF-8")
    }

    pub(crate) fn up(&self) -> Value {
        self.lab.json(&["phone", "up", "--image", self.image(), "--size", "256M"])
    }

    pub(crate) fn enter(&self, words: &[&str]) -> String {
        self.lab.brisk(&[&["phone", "enter", "--"], words].concat())
    }

    pub(crate) fn new_phone(&self, keep: bool) -> NewPhone {
        let words = |words: &[&str]| -> Vec<String> {
            let dir = self.lab.dir().to_str().expect("UTF-8");
            let program = [env!("CARGO_BIN_EXE_brisk-lab"), "lab", "--run-dir", dir];
            program.iter().chain(words).map(|&word| word.to_owned()).collect()
        };
        NewPhone {
            preset: "galaxy-s5-emmc".to_owned(),
            set: Vec::new(),
            size_bytes: 256 * MIB,
            scheduler: None,
            memory: None,
            image: self.image.clone(),
            apps: Vec::new(),
            server: words(&["serve"]),
            take_down: words(&["down", "--force"]),
            keep,
        }
    }

    pub(crate) fn phone(&self) -> Phone {
        let never = AtomicBool::new(false);
        let up = Phones::new(self.lab.dir()).up(&self.new_phone(false), &never, &mut |_: &str| {});
        up.expect("a phone").0
    }

    pub(crate) fn nothing_is_left(&self) {
        assert_eq!(self.lab.json(&["phone", "list"]), serde_json::json!([]));
        self.lab.nothing_is_left();
        let phones = self.lab.dir().join("phone");
        let left: Vec<_> = fs::read_dir(phones).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        assert!(left.iter().all(|path| path.ends_with("lock")), "{left:?}");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.lab.command(&["phone", "down", "--all", "--force"]).output();
    }
}

/// Copies a program of this machine and its libraries to the same places of a tree.
pub(crate) fn copy_program(tree: &Path, name: &str) {
    let which = run("sh", &["-c", &format!("command -v {name}")]);
    let program = fs::canonicalize(which.trim()).expect("it is there");
    copy_with_libraries(tree, &program);
    let link = tree.join("bin").join(name);
    fs::create_dir_all(tree.join("bin")).expect("made");
    if !link.exists() {
        symlink(program, link).expect("linked");
    }
}

/// Copies a file of this machine and the libraries that it needs to the same places of a tree.
pub(crate) fn copy_with_libraries(tree: &Path, program: &Path) {
    let listed = run("ldd", &[program.to_str().expect("UTF-8")]);
    let words = listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from);
    for from in words.chain([program.to_owned()]) {
        let to = tree.join(from.strip_prefix("/").expect("absolute"));
        fs::create_dir_all(to.parent().expect("a folder")).expect("made");
        fs::copy(fs::canonicalize(&from).expect("it is there"), &to).expect("copied");
    }
}

pub(crate) fn flushes(phone: &Phone) -> u64 {
    phone.flash().expect("the lab answers").requests.flush.requests
}

/// Runs a command in a phone that this process owns.
pub(crate) fn run_in(phone: &Phone, words: &[&str]) -> String {
    let app = phone.command(words.iter().map(Into::into).collect(), None);
    let output = brisk_lab::phone::command(&app).map(|mut command| command.output().expect("it starts"));
    let output = output.expect("it is there");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
