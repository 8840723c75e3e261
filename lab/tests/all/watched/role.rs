//! What a watched process does: one role, after which it ends. What it knows of itself it writes into a file.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::watched::scratch::ScratchGroup;

/// A name of a program as no one should give it: it ends in the middle of a longer one, and is no UTF-8.
pub(crate) const ODD_NAME: &[u8] = b"\xff) R 1 (\n0123456789";

/// What a process knows of itself when it ends.
pub(crate) type Facts = HashMap<String, u64>;

/// A process in its role, and where it writes what it knows.
pub(crate) struct Player {
    pub(crate) child: Child,
    facts: PathBuf,
    _directory: tempfile::TempDir,
}

impl Player {
    /// Starts this test's program again in `group`, as `role` with one argument.
    pub(crate) fn start(group: Option<&ScratchGroup>, role: &str, argument: &OsStr) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let facts = directory.path().join("facts");
        let program = std::env::current_exe().unwrap();
        let mut command = match group {
            Some(group) => group.command(program).unwrap(),
            None => Command::new(program),
        };
        command.args(["--ignored", "--exact", "watched::a_process_in_its_role", "--nocapture", "-q"]);
        command.env("BRISK_ROLE", role).env("BRISK_ROLE_ARGUMENT", argument).env("BRISK_ROLE_FACTS", &facts);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        let child = command.spawn().unwrap();
        Self { child, facts, _directory: directory }
    }

    /// Waits for its end; gives what it wrote.
    pub(crate) fn facts(mut self) -> Facts {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "the watched process failed: {status}");
        let text = fs::read_to_string(&self.facts).unwrap_or_default();
        let fact = |line: &str| line.split_once('=').map(|(key, value)| (key.to_owned(), value.parse().unwrap()));
        text.lines().filter_map(fact).collect()
    }
}

fn tell(key: &str, value: u64) {
    let path = std::env::var_os("BRISK_ROLE_FACTS").unwrap();
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    writeln!(file, "{key}={value}").unwrap();
}

fn own_tid() -> u64 {
    u64::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap()
}

fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

/// Runs the role that the environment names.
pub(crate) fn play() {
    let Some(role) = std::env::var_os("BRISK_ROLE") else { return };
    let argument = std::env::var_os("BRISK_ROLE_ARGUMENT").unwrap_or_default();
    tell("tid", own_tid());
    match role.to_str().unwrap() {
        "burns" => {
            let end = thread_ns() + 50_000_000;
            while thread_ns() < end {}
            tell("cpu_ns", thread_ns());
        }
        "sleeps" => std::thread::sleep(Duration::from_millis(30)),
        "reads" => reads(Path::new(&argument)),
        "writes" => writes(Path::new(&argument)),
        "asks by TCP" => {
            let mut stream = TcpStream::connect(argument.to_str().unwrap()).unwrap();
            stream.write_all(b"what?").unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, b"that!!!");
        }
        "asks by UDP" => {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(argument.to_str().unwrap()).unwrap();
            socket.send(b"what?").unwrap();
            let mut answer = [0; 16];
            assert_eq!(socket.recv(&mut answer).unwrap(), 7);
        }
        "asks by UDP in vain" => {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(argument.to_str().unwrap()).unwrap();
            socket.send(b"what?").unwrap();
            assert_eq!(socket.recv(&mut [0; 16]).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
        }
        "has offspring" => has_offspring(Path::new(&argument)),
        "waits for the end of its input" => wait_for_the_end_of_input(),
        "fills its cache" => {
            wait_for_the_end_of_input();
            let mut buffer = vec![0; 1 << 20];
            let mut file = File::open(&argument).unwrap();
            while file.read(&mut buffer).unwrap() > 0 {}
        }
        "comes back from swap" => comes_back_from_swap(Path::new(&argument)),
        other => panic!("no role '{other}'"),
    }
}

fn wait_for_the_end_of_input() {
    let mut nothing = Vec::new();
    std::io::stdin().read_to_end(&mut nothing).unwrap();
}

/// Where the pages of a file begin that [`reads`] reads by a call, and by a page fault.
pub(crate) fn places() -> (Vec<u64>, Vec<u64>) {
    let places = |from: u64| (0..8).map(|page| from + page * (64 << 10)).collect();
    (places(1 << 20), places(2 << 20))
}

/// Reads some pages of a file, without reading ahead, by calls; then others by page faults.
fn reads(path: &Path) {
    let file = File::open(path).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
    let (by_call, by_fault) = places();
    let mut buffer = [0; 4096];
    for offset in by_call {
        file.read_exact_at(&mut buffer, offset).unwrap();
        assert_eq!(buffer, [7; 4096]);
    }
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    // SAFETY: a new mapping, read only, of a file that does not change; the bytes read are inside of it.
    unsafe {
        let (protection, flags) = (rustix::mm::ProtFlags::READ, rustix::mm::MapFlags::PRIVATE);
        let address = rustix::mm::mmap(std::ptr::null_mut(), length, protection, flags, &file, 0).unwrap();
        rustix::mm::madvise(address, length, rustix::mm::Advice::Random).unwrap();
        for offset in by_fault {
            assert_eq!(address.cast::<u8>().add(usize::try_from(offset).unwrap()).read_volatile(), 7);
        }
    }
}

fn writes(path: &Path) {
    let mut file = File::create(path).unwrap();
    file.write_all(&[7; 8192]).unwrap();
    file.sync_all().unwrap();
}

/// Names itself oddly, has a thread with a name, and a process with an odd name, which is `/bin/true`.
fn has_offspring(directory: &Path) {
    rustix::thread::set_name(c"\xfe\n").unwrap();
    let thread = std::thread::Builder::new().name("a thread".to_owned()).spawn(|| tell("thread", own_tid())).unwrap();
    thread.join().unwrap();
    let program = directory.join(OsStr::from_bytes(ODD_NAME));
    let mut child = Command::new(program).spawn().unwrap();
    tell("process", u64::from(child.id()));
    assert!(child.wait().unwrap().success());
}

/// Has its memory put into swap, all of its group's by writing into `reclaim`, and reads a page of it.
fn comes_back_from_swap(reclaim: &Path) {
    const BYTES: usize = 8 << 20;
    wait_for_the_end_of_input();
    // SAFETY: a new mapping of memory of its own; what is read and written is inside of it.
    unsafe {
        let (protection, flags) = (rustix::mm::ProtFlags::all(), rustix::mm::MapFlags::PRIVATE);
        let address = rustix::mm::mmap_anonymous(std::ptr::null_mut(), BYTES, protection, flags).unwrap();
        address.cast::<u8>().write_bytes(7, BYTES);
        rustix::mm::madvise(address, BYTES, rustix::mm::Advice::LinuxPageOut).unwrap();
        // It stops short of all, and says so with EAGAIN, where version two has less to give than was asked for.
        let _ = fs::write(reclaim, BYTES.to_string());
        assert_eq!(address.cast::<u8>().add(BYTES / 2).read_volatile(), 7);
    }
}
