//! Swap areas on a small file system: everything but swapon(2), and that with an area of 16 MiB. Needs root.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use brisk_act::{FLASH_PRIORITY, FlashArea, SwapAreaError, SwapAreas, SwapPlaces, SwapPlan};
use brisk_requires::requires;

const MIB: u64 = 1 << 20;

/// A file system of 64 MiB in a file, and places for what is recorded beside it.
struct Ground {
    dir: tempfile::TempDir,
    mounted: PathBuf,
}

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().expect("a program");
    assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Ground {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("temporary directory");
        let (image, mounted) = (dir.path().join("image"), dir.path().join("mounted"));
        fs::File::create(&image).and_then(|file| file.set_len(64 * MIB)).expect("an image");
        fs::create_dir(&mounted).expect("a directory");
        run("mkfs.ext4", &["-q", "-F", path(&image)]);
        run("mount", &["-o", "loop", path(&image), path(&mounted)]);
        Self { dir, mounted }
    }

    fn places(&self, has_systemd: bool) -> SwapPlaces {
        SwapPlaces {
            record: self.dir.path().join("lib/swap.json"),
            units: self.dir.path().join("units"),
            fstab: self.dir.path().join("fstab"),
            has_systemd,
            program: "/usr/bin/brisk".into(),
        }
    }

    fn areas(&self, has_systemd: bool) -> SwapAreas {
        SwapAreas::new(self.places(has_systemd))
    }

    fn plan(&self, size_bytes: u64) -> SwapPlan {
        SwapPlan { area: FlashArea::File { path: self.mounted.join("swap file"), size_bytes }, zram_bytes: None }
    }

    /// All files that a set-up makes.
    fn files(&self) -> Vec<PathBuf> {
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

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn what_is_made_is_undone() {
    requires!(Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    for has_systemd in [true, false] {
        let areas = ground.areas(has_systemd);
        fs::write(ground.dir.path().join("fstab"), "/dev/vda / ext4 rw 0 1").expect("written");
        let plan = ground.plan(16 * MIB);
        areas.set_up(&plan, true).expect("made");
        let file = ground.mounted.join("swap file");
        let found = fs::metadata(&file).expect("made");
        assert_eq!((found.len(), found.permissions().mode() & 0o777), (16 * MIB, 0o600));
        // All blocks are allocated, as the kernel demands.
        assert!(std::os::unix::fs::MetadataExt::blocks(&found) * 512 >= 16 * MIB);
        // The mark of a swap area at the end of its first page (include/linux/swap.h).
        assert_eq!(&fs::read(&file).expect("readable")[4086..4096], b"SWAPSPACE2");
        assert_eq!(areas.made().expect("a record"), Some(plan.clone()));
        if has_systemd {
            let unit = fs::read_to_string(ground.dir.path().join("units/multi-user.target.wants/brisk-swap.service"));
            assert!(unit.expect("enabled").contains("ExecStart=\"/usr/bin/brisk\" swap start\n"));
        } else {
            let fstab = fs::read_to_string(ground.dir.path().join("fstab")).expect("readable");
            let escaped = path(&file).replace(' ', "\\040");
            assert_eq!(fstab, format!("/dev/vda / ext4 rw 0 1\n{escaped} none swap sw,nofail,pri=10 0 0\n"));
        }
        assert!(matches!(areas.set_up(&plan, true), Err(SwapAreaError::AlreadySetUp { .. })));
        assert_eq!(areas.undo().expect("removed"), plan);
        assert_eq!(ground.files(), [ground.dir.path().join("fstab")]);
        let fstab = fs::read_to_string(ground.dir.path().join("fstab")).expect("readable");
        assert_eq!(fstab.trim_end(), "/dev/vda / ext4 rw 0 1");
        assert!(matches!(areas.undo(), Err(SwapAreaError::NothingSetUp { .. })));
        assert!(matches!(areas.start(), Err(SwapAreaError::NothingSetUp { .. })));
    }
}

#[test]
fn a_set_up_that_fails_leaves_nothing() {
    requires!(Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let failed = ground.areas(true).set_up(&ground.plan(256 * MIB), true);
    let Err(error @ SwapAreaError::NoRoom { .. }) = failed else { panic!("{failed:?}") };
    assert!(error.to_string().contains("has no room for 256 MiB"), "{error}");
    assert_eq!(ground.files(), <[PathBuf; 0]>::default());
    // The kernel says no: this is no file that can hold swap. A file on tmpfs of /dev/shm is made for it.
    let strange = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let plan =
        SwapPlan { area: FlashArea::File { path: strange.path().join("swap"), size_bytes: MIB }, zram_bytes: None };
    let failed = ground.areas(true).set_up(&plan, false);
    assert!(matches!(failed, Err(SwapAreaError::NotOn { .. })), "{failed:?}");
    assert_eq!(ground.files(), <[PathBuf; 0]>::default());
    assert_eq!(fs::read_dir(strange.path()).expect("a directory").count(), 0);
}

#[test]
fn a_file_that_is_there_is_not_touched() {
    requires!(Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let file = ground.mounted.join("swap file");
    fs::write(&file, "precious").expect("written");
    let failed = ground.areas(true).set_up(&ground.plan(MIB), true);
    assert!(matches!(failed, Err(SwapAreaError::Exists { .. })), "{failed:?}");
    assert_eq!((fs::read_to_string(&file).expect("there"), ground.files()), ("precious".to_owned(), vec![file]));
}

#[test]
fn a_damaged_record_is_reported_and_nothing_is_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let record = dir.path().join("swap.json");
    fs::write(&record, "{").expect("written");
    let places = SwapPlaces { record: record.clone(), ..SwapPlaces::of_this_machine("/usr/bin/brisk".into()) };
    let areas = SwapAreas::new(places);
    assert!(matches!(areas.undo(), Err(SwapAreaError::Damaged { .. })));
    assert!(matches!(areas.made(), Err(SwapAreaError::Damaged { .. })) && record.exists());
}

#[test]
fn an_area_is_switched_on_with_its_priority_and_off() {
    requires!(Mount, Loop, Swap, SwapFile, Program("mkfs.ext4"), Program("mkswap"));
    let all = || brisk_formats::parse_swaps(&fs::read("/proc/swaps").expect("swaps")).expect("understood");
    if !all().is_empty() {
        return brisk_requires::skip(brisk_requires::Capability::SwapFile, format!("other swap is on: {:?}", all()));
    }
    let ground = Ground::new();
    let areas = ground.areas(true);
    match areas.set_up(&ground.plan(16 * MIB), false) {
        Err(error @ SwapAreaError::NotOn { .. }) => {
            return brisk_requires::skip(brisk_requires::Capability::SwapFile, error.to_string());
        }
        made => made.expect("made"),
    }
    let lines = || {
        let own = all().into_iter().filter(|area| area.path.starts_with(&ground.mounted));
        own.map(|area| (area.priority, area.size_bytes)).collect::<Vec<_>>()
    };
    let [(priority, size_bytes)] = lines()[..] else { panic!("one area: {:?}", lines()) };
    // Without the header, and pages that do not lie in whole blocks of the file.
    assert!(priority == FLASH_PRIORITY && (15 * MIB..16 * MIB).contains(&size_bytes), "{priority} {size_bytes}");
    areas.start().expect("on already");
    areas.undo().expect("off and removed");
    assert_eq!((lines(), ground.files()), (vec![], vec![]));
}
