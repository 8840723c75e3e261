//! A small file system, a device, and places of a set-up of swap for a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use brisk_act::{FlashArea, SwapAreaError, SwapAreas, SwapPlaces, SwapPlan, Undone};
use brisk_requires::LoopDevice;

pub(crate) const MIB: u64 = 1 << 20;

/// A file system of 64 MiB in a file, and places for what is recorded beside it.
pub(crate) struct Ground {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) mounted: PathBuf,
}

pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).output().expect("a program");
    assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

pub(crate) fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

impl Ground {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("temporary directory");
        let (image, mounted) = (dir.path().join("image"), dir.path().join("mounted"));
        fs::File::create(&image).and_then(|file| file.set_len(64 * MIB)).expect("an image");
        fs::create_dir(&mounted).expect("a directory");
        run("mkfs.ext4", &["-q", "-F", path(&image)]);
        run("mount", &["-o", "loop", path(&image), path(&mounted)]);
        Self { dir, mounted }
    }

    pub(crate) fn places(&self, has_systemd: bool) -> SwapPlaces {
        SwapPlaces {
            record: self.dir.path().join("lib/swap.json"),
            units: self.dir.path().join("units"),
            fstab: self.dir.path().join("fstab"),
            has_systemd,
            program: "/usr/bin/brisk".into(),
        }
    }

    pub(crate) fn areas(&self, has_systemd: bool) -> SwapAreas {
        SwapAreas::new(self.places(has_systemd))
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.mounted.join("swap file")
    }

    pub(crate) fn plan(&self, size_bytes: u64) -> SwapPlan {
        SwapPlan { area: FlashArea::File { path: self.file(), size_bytes }, zram_bytes: None }
    }

    /// All files that a set-up makes.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        fn below(dir: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_dir && entry.file_name() != "lost+found" {
                    below(&entry.path(), found);
                } else if !is_dir {
                    found.push(entry.path());
                }
            }
        }
        let mut found = Vec::new();
        below(self.dir.path(), &mut found);
        found.retain(|file| !file.ends_with("image"));
        found.sort();
        found
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // After a failure an area may still be on.
        let _ = self.areas(true).undo();
        let done = Command::new("umount").arg(&self.mounted).status();
        assert!(
            std::thread::panicking() || done.is_ok_and(|status| status.success()),
            "{} stays",
            self.mounted.display()
        );
    }
}

/// A device of 32 MiB.
pub(crate) struct Device {
    loop_device: LoopDevice,
    _image: tempfile::NamedTempFile,
}

impl Device {
    pub(crate) fn new() -> Self {
        let image = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).expect("an image");
        image.as_file().set_len(32 * MIB).expect("sized");
        Self { loop_device: LoopDevice::attach(image.path(), &[]), _image: image }
    }

    pub(crate) fn node(&self) -> &Path {
        self.loop_device.node()
    }

    pub(crate) fn plan(&self, name: &Path) -> SwapPlan {
        SwapPlan { area: FlashArea::Partition { path: name.to_owned() }, zram_bytes: None }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(self.node()).expect("readable")
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(self.node()).stderr(std::process::Stdio::null()).status();
    }
}

/// Makes a set-up for the next restart.
pub(crate) fn set_up(areas: &SwapAreas, plan: &SwapPlan) -> Result<(), SwapAreaError> {
    areas.set_up(&areas.check(plan.clone())?, true)
}

/// Takes it back, and nothing is left.
pub(crate) fn undo_all(areas: &SwapAreas) -> Undone {
    let undone = areas.undo().expect("undone");
    assert!(undone.left.is_empty(), "{:?}", undone.left);
    undone
}
