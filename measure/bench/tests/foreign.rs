//! Foreign I/O on the disk that is measured: a loop device with an ext4 file system of its own.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brisk_bench::buffer::Memory;
use brisk_bench::results::Header;
use brisk_bench::storebench::{self, Budget, Options};
use brisk_bench::study::{Common, slowdown};
use brisk_bench::{Control, Sense};
use brisk_requires::{Capability, LoopDevice, available};

/// A mounted loop device of 96 MiB.
struct Disk {
    dir: tempfile::TempDir,
    device: LoopDevice,
}

fn tool(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Disk {
    fn make() -> Option<Self> {
        let tools = ["losetup", "mkfs.ext4", "mount"].map(Capability::Program);
        available(&[&[Capability::Loop, Capability::Queue, Capability::Mount][..], &tools].concat())?;
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(96 << 20).unwrap();
        let disk = Self { device: LoopDevice::attach(&image, &[]), dir };
        // Nothing is left for the kernel to initialise after the mount.
        tool("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", disk.node()]);
        std::fs::create_dir(disk.path()).unwrap();
        tool("mount", &[disk.node(), disk.path().to_str().unwrap()]);
        Some(disk)
    }

    fn node(&self) -> &str {
        self.device.node().to_str().unwrap()
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("mounted")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

/// Measures while another thread reads and writes a file on the same disk past the page cache, or alone.
fn measured(disk: &Disk, others: bool, measure: impl FnOnce(&Sense, &Control<'_>) -> Header) -> Header {
    let (over, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let file = std::fs::File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .custom_flags(libc::O_DIRECT)
        .open(disk.path().join("of another program"))
        .unwrap();
    std::thread::scope(|scope| {
        if others {
            scope.spawn(|| {
                let mut memory = Memory::new(65_536).unwrap();
                while !over.load(Ordering::Relaxed) {
                    file.write_all_at(memory.bytes(), 0).unwrap();
                    file.read_exact_at(memory.bytes_mut(), 0).unwrap();
                }
            });
        }
        let header = measure(&Sense::default(), &Control { stop: &stop, progress: &|_, _| () });
        over.store(true, Ordering::Relaxed);
        header
    })
}

fn bench(path: &Path) -> impl FnOnce(&Sense, &Control<'_>) -> Header {
    let options = Options {
        path: path.to_owned(),
        destroy_data: false,
        budget: Budget::Quick,
        time: Some(Duration::from_secs(6)),
        size_bytes: Some(16 << 20),
        written_bytes_max: None,
        block_bytes: 4096,
        depth_requests: 4,
        engine: None,
        seed: 1,
    };
    move |sense, control| storebench::run(sense, &options, control).unwrap().header
}

fn study(path: &Path) -> impl FnOnce(&Sense, &Control<'_>) -> Header {
    let common =
        Common { path: path.to_owned(), destroy_data: false, block_bytes: 4096, runs: 3, engine: None, seed: 1 };
    let options = slowdown::Options { common, stream_bytes: 2 << 20, streams: vec![1, 2] };
    move |sense, control| slowdown::run(sense, &options, control).unwrap().header
}

fn told(header: &Header) -> Option<&str> {
    header.warnings.iter().find(|warning| warning.code == "foreign_io").map(|warning| warning.text.as_str())
}

#[test]
fn requests_of_another_program_to_the_same_disk_are_a_warning() {
    let Some(disk) = Disk::make() else { return };
    for header in [measured(&disk, true, bench(&disk.path())), measured(&disk, true, study(&disk.path()))] {
        let text = told(&header).unwrap_or_else(|| panic!("no warning: {:?}", header.warnings));
        let name = disk.device.name();
        assert!(text.contains(name) && text.contains("written"), "{text}");
    }
}

#[test]
fn a_disk_of_ones_own_has_no_foreign_requests() {
    let Some(disk) = Disk::make() else { return };
    // Long enough for commits of the journal: every 5 s, and with each fsync.
    for header in [measured(&disk, false, bench(&disk.path())), measured(&disk, false, study(&disk.path()))] {
        assert_eq!(told(&header), None);
    }
}
