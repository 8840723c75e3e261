//! An app that does what a test tells it: it fills memory, and uses pages of it. The test's program runs it in a phone.

#![allow(clippy::print_stdout, reason = "a test reports to its output")]

use std::io::{BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use brisk_core::random::Random;

use crate::phone_bench;
use brisk_lab::phone::Phone;
use std::path::{Path, PathBuf};

/// Name of the test function that plays.
pub(crate) const ROLE: &str = "swap_record::an_app_that_does_what_it_is_told";

/// Plays: reads a command a line, and answers each with a line that begins with `player`.
pub(crate) fn play() {
    if std::env::var_os("BRISK_PLAYER").is_none() {
        return;
    }
    let mut memory: &mut [u8] = &mut [];
    for line in std::io::stdin().lines() {
        let line = line.expect("readable");
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "fill" => {
                memory = mapped(rest.parse::<usize>().expect("a number of pages") * PAGE);
                memory.chunks_mut(PAGE).enumerate().for_each(|(n, page)| fill(page, n));
                println!("\nplayer {}", memory.as_ptr() as usize / PAGE);
            }
            "use" => {
                let page = |word: &str| word.parse::<usize>().expect("a page") * PAGE;
                let before = major_faults();
                for at in rest.split(',') {
                    // SAFETY: the byte is in the mapping; the compiler must not leave the read out.
                    unsafe { std::ptr::read_volatile(&raw const memory[page(at)]) };
                }
                println!("\nplayer {}", major_faults() - before);
            }
            other => panic!("no such command: {other}"),
        }
    }
}

const PAGE: usize = 4096;

/// Major faults of this process, of its code among them.
fn major_faults() -> i64 {
    // SAFETY: a struct of numbers, for which zeroes are valid, and which the call fills in.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for the call.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_majflt
}

fn mapped(bytes: usize) -> &'static mut [u8] {
    let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new anonymous mapping at an address that the kernel chooses overlaps nothing, and is never unmapped.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, flags, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED);
    // SAFETY: the advice changes the size of pages alone, of the mapping above.
    unsafe { libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE) };
    // SAFETY: the mapping has that length and is zeroed; nothing else refers to it.
    unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), bytes) }
}

/// Content that is not the same in any two pages, and cannot be compressed.
fn fill(page: &mut [u8], number: usize) {
    Random::stream(1, number as u64).fill(page);
}

/// A player in a phone, in the memory group of an app.
pub(crate) struct Player {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Player {
    /// Puts the program into the phone.
    pub(crate) fn install(phone: &Phone) -> PathBuf {
        let program = std::env::current_exe().expect("this program");
        phone_bench::copy_program(&phone.root(), program.to_str().expect("UTF-8"));
        program
    }

    pub(crate) fn start(phone: &Phone, program: &Path, app: &str) -> Self {
        let words = [program.to_str().expect("UTF-8"), "--ignored", "--exact", ROLE, "--nocapture", "-q"];
        let mut launch = phone.command(words.iter().map(Into::into).collect(), None);
        launch.groups = vec![phone.memory_group().expect("limited").child(app).expect("a group").dir().to_owned()];
        launch.env.push(("BRISK_PLAYER".into(), "1".into()));
        let mut command = brisk_lab::phone::command(&launch).expect("it is there");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (commands, answers) = (child.stdin.take(), BufReader::new(child.stdout.take().expect("piped")));
        Self { child, commands, answers }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn ask(&mut self, command: &str) -> u64 {
        let to = self.commands.as_mut().expect("it plays");
        writeln!(to, "{command}").and_then(|()| to.flush()).expect("it listens");
        loop {
            let line = brisk_requires::next_line(&mut self.answers, command);
            assert!(!line.is_empty(), "the player ended at {command}");
            if let Some(answer) = line.strip_prefix("player ") {
                return answer.trim().parse().expect("a number");
            }
        }
    }

    /// Has it fill new memory; gives the virtual page number of the first page.
    pub(crate) fn fill(&mut self, pages: u64) -> u64 {
        self.ask(&format!("fill {pages}"))
    }

    /// Has it use these pages, in this order; gives how many major faults that took.
    pub(crate) fn use_pages(&mut self, pages: impl Iterator<Item = u64>) -> u64 {
        let pages: Vec<String> = pages.map(|page| page.to_string()).collect();
        self.ask(&format!("use {}", pages.join(",")))
    }

    pub(crate) fn end(mut self) {
        drop(self.commands.take());
        assert!(self.child.wait().expect("it ends").success());
    }
}
