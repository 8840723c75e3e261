//! Swap areas on a small file system and on loop devices: everything but swapon(2), and that with an area of 16 MiB.
//! Needs root.

use crate::swap_areas;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use brisk_act::{AtBoot, FLASH_PRIORITY, FlashArea, SwapAreaError, SwapAreas, SwapPlaces, SwapPlan, ZRAM_PRIORITY};
use brisk_requires::{Capability, requires, skip};
use rustix::fs::IFlags;
use swap_areas::{Device, Ground, MIB, path, run, set_up, undo_all};

/// Held by a test as long as it has swap on: others see it.
static SWAP_IS_ON: Mutex<()> = Mutex::new(());

/// The mark of a swap area at the end of its first page (include/linux/swap.h).
const MARK: &[u8] = b"SWAPSPACE2";

fn uuid_of(area: &Path) -> String {
    run("blkid", &["--probe", "--match-tag", "UUID", "--output", "value", path(area)])
}

/// What a test keeps of a file of the administrator.
fn kept(file: &Path) -> (Vec<u8>, u32, u32, u32) {
    let found = fs::metadata(file).expect("there");
    (fs::read(file).expect("readable"), found.mode(), found.uid(), found.gid())
}

/// Takes a flag from a file when it is dropped.
struct Immutable<'a>(&'a Path);

impl<'a> Immutable<'a> {
    fn set(path: &'a Path) -> Option<Self> {
        let file = fs::File::open(path).expect("opened");
        let set = rustix::fs::ioctl_getflags(&file)
            .and_then(|flags| rustix::fs::ioctl_setflags(&file, flags | IFlags::IMMUTABLE));
        match set {
            Ok(()) => Some(Self(path)),
            Err(error) => {
                skip(Capability::Disk, format!("no immutable files on this file system: {error}"));
                None
            }
        }
    }
}

impl Drop for Immutable<'_> {
    fn drop(&mut self) {
        let file = fs::File::open(self.0).expect("opened");
        let flags = rustix::fs::ioctl_getflags(&file).expect("flags");
        rustix::fs::ioctl_setflags(&file, flags - IFlags::IMMUTABLE).expect("changed");
    }
}

#[test]
fn what_is_made_is_undone() {
    requires!(Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    for has_systemd in [true, false] {
        let areas = ground.areas(has_systemd);
        fs::write(ground.dir.path().join("fstab"), "/dev/vda / ext4 rw 0 1").expect("written");
        let plan = ground.plan(16 * MIB);
        set_up(&areas, &plan).expect("made");
        let file = ground.file();
        let found = fs::metadata(&file).expect("made");
        assert_eq!((found.len(), found.permissions().mode() & 0o777), (16 * MIB, 0o600));
        // All blocks are allocated, as the kernel demands.
        assert!(found.blocks() * 512 >= 16 * MIB);
        assert_eq!(&fs::read(&file).expect("readable")[4086..4096], MARK);
        assert_eq!(areas.made().expect("a record"), Some(plan.clone()));
        if has_systemd {
            let unit = fs::read_to_string(ground.dir.path().join("units/multi-user.target.wants/brisk-swap.service"));
            let unit = unit.expect("enabled");
            let mount = format!("RequiresMountsFor=\"{}\"\n", file.display());
            assert!(unit.contains("ExecStart=\"/usr/bin/brisk\" swap start\n") && unit.contains(&mount), "{unit}");
        } else {
            let fstab = fs::read_to_string(ground.dir.path().join("fstab")).expect("readable");
            let escaped = path(&file).replace(' ', "\\040");
            assert_eq!(fstab, format!("/dev/vda / ext4 rw 0 1\n{escaped} none swap sw,nofail,pri=10 0 0\n"));
        }
        assert!(matches!(areas.check(plan.clone()), Err(SwapAreaError::AlreadySetUp { .. })));
        assert_eq!(undo_all(&areas).plan, Some(plan));
        assert_eq!(ground.files(), [ground.dir.path().join("fstab")]);
        assert!(!ground.dir.path().join("units").exists() && !ground.dir.path().join("lib").exists());
        let fstab = fs::read_to_string(ground.dir.path().join("fstab")).expect("readable");
        assert_eq!(fstab, "/dev/vda / ext4 rw 0 1");
        assert!(matches!(areas.undo(), Err(SwapAreaError::NothingSetUp { .. })));
        assert!(matches!(areas.start(), Err(SwapAreaError::NothingSetUp { .. })));
    }
}

#[test]
fn a_table_of_any_bytes_keeps_them_and_its_mode_owner_and_link() {
    requires!(Root, Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let (fstab, real) = (ground.dir.path().join("fstab"), ground.dir.path().join("of the host"));
    let long = [b"# ".as_slice(), &[b'x'; 70_000]].concat();
    let tables: [&[u8]; 8] = [
        b"",
        b"# caf\xe9 \xff\xfe\n/dev/vda / ext4 rw 0 1\n",
        b"/dev/vda\t/\text4\trw\t0\t1\r\n/dev/vdb /a\\040b ext4 rw 0 0\r\n",
        b"# no end",
        b"a\0b\n\n\n",
        b"/dev/vdb none swap sw 0 0\n/dev/vdb none swap sw 0 0\n",
        b"\xef\xbb\xbf# with a mark\n",
        &long,
    ];
    for (at, table) in tables.into_iter().enumerate() {
        for has_systemd in [true, false] {
            let (areas, plan) = (ground.areas(has_systemd), ground.plan(MIB));
            let named = if at % 2 == 0 { &fstab } else { &real };
            fs::write(named, table).expect("written");
            fs::set_permissions(named, fs::Permissions::from_mode(0o600)).expect("changed");
            std::os::unix::fs::chown(named, Some(17), Some(18)).expect("changed");
            if named == &real {
                symlink("of the host", &fstab).expect("a link");
            }
            let earlier = kept(&fstab);
            set_up(&areas, &plan).expect("made");
            let now = kept(&fstab);
            assert!(now.0.starts_with(table) && (now.1, now.2, now.3) == (0o100_600, 17, 18), "table {at}");
            assert_eq!(now.0.len() > table.len(), !has_systemd);
            undo_all(&areas);
            assert_eq!(kept(&fstab), earlier, "table {at}");
            assert_eq!(fstab.is_symlink(), named == &real);
            fs::remove_file(&fstab).expect("removed");
            let _ = fs::remove_file(&real);
        }
    }
    // There is none: it is made, and removed.
    let areas = ground.areas(false);
    set_up(&areas, &ground.plan(MIB)).expect("made");
    assert!(fstab.exists());
    undo_all(&areas);
    assert_eq!(ground.files(), <[PathBuf; 0]>::default());
}

#[test]
fn a_line_that_is_there_already_is_used_and_stays() {
    requires!(Root, Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let fstab = ground.dir.path().join("fstab");
    let table = format!("{} none swap defaults 0 0\n", path(&ground.file()).replace(' ', "\\040"));
    fs::write(&fstab, &table).expect("written");
    let areas = ground.areas(false);
    fs::write(&fstab, table.replace("defaults", "sw,noauto")).expect("written");
    let prepared = areas.check(ground.plan(MIB)).expect("possible");
    assert!(matches!(prepared.at_boot(), AtBoot::Nothing { why } if why.contains("noauto")), "{prepared:?}");
    fs::write(&fstab, &table).expect("written");
    let prepared = areas.check(ground.plan(MIB)).expect("possible");
    assert_eq!(prepared.at_boot(), &AtBoot::LineOfOthers { file: fstab.clone() });
    areas.set_up(&prepared, true).expect("made");
    assert_eq!(fs::read_to_string(&fstab).expect("readable"), table);
    undo_all(&areas);
    assert_eq!((fs::read_to_string(&fstab).expect("readable"), ground.files()), (table, vec![fstab]));
}

#[test]
fn a_unit_of_others_is_not_replaced() {
    requires!(Root, Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let units = ground.dir.path().join("units");
    fs::create_dir(&units).expect("a directory");
    let unit = units.join("brisk-swap.service");
    fs::write(&unit, "[Service]\nExecStart=/bin/mine\n").expect("written");
    let refused = ground.areas(true).check(ground.plan(MIB));
    assert!(matches!(refused, Err(SwapAreaError::OthersUnit { .. })), "{refused:?}");
    // Masked.
    fs::remove_file(&unit).and_then(|()| symlink("/dev/null", &unit)).expect("a link");
    let refused = ground.areas(true).check(ground.plan(MIB));
    assert!(matches!(refused, Err(SwapAreaError::OthersUnit { .. })), "{refused:?}");
    // One that comes there after the set-up stays, and so does its directory.
    fs::remove_file(&unit).expect("removed");
    let areas = ground.areas(true);
    set_up(&areas, &ground.plan(MIB)).expect("made");
    fs::write(&unit, "[Service]\nExecStart=/bin/mine\n").expect("written");
    undo_all(&areas);
    assert_eq!(ground.files(), [unit]);
}

#[test]
fn a_set_up_that_fails_leaves_nothing() {
    requires!(Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let fstab = ground.dir.path().join("fstab");
    fs::write(&fstab, b"# caf\xe9").expect("written");
    for has_systemd in [true, false] {
        let areas = ground.areas(has_systemd);
        let failed = set_up(&areas, &ground.plan(256 * MIB));
        let Err(error @ SwapAreaError::NoRoom { .. }) = failed else { panic!("{failed:?}") };
        assert!(error.to_string().contains("swap file has no room for 256 MiB"), "{error}");
        // The kernel says no: this is no file that can hold swap. A file on tmpfs of /dev/shm is made for it.
        let strange = tempfile::tempdir_in("/dev/shm").expect("a directory");
        let area = FlashArea::File { path: strange.path().join("swap"), size_bytes: MIB };
        let prepared = areas.check(SwapPlan { area, zram_bytes: None }).expect("possible so far");
        let failed = areas.set_up(&prepared, false);
        assert!(matches!(failed, Err(SwapAreaError::NotOn { .. })), "{failed:?}");
        assert_eq!(fs::read_dir(strange.path()).expect("a directory").count(), 0);
        // A file came there after the check.
        let prepared = areas.check(ground.plan(MIB)).expect("possible so far");
        fs::write(ground.file(), "precious").expect("written");
        let failed = areas.set_up(&prepared, true);
        assert!(matches!(failed, Err(SwapAreaError::Exists { .. })), "{failed:?}");
        assert_eq!(ground.files(), [fstab.clone(), ground.file()]);
        assert_eq!(
            (fs::read(ground.file()).expect("there"), fs::read(&fstab).expect("there")),
            (b"precious".into(), b"# caf\xe9".into())
        );
        fs::remove_file(ground.file()).expect("removed");
    }
}

#[test]
fn a_file_that_is_there_is_not_touched() {
    requires!(Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let file = ground.file();
    fs::write(&file, "precious").expect("written");
    let failed = ground.areas(true).check(ground.plan(MIB));
    assert!(matches!(failed, Err(SwapAreaError::Exists { .. })), "{failed:?}");
    assert_eq!((fs::read_to_string(&file).expect("there"), ground.files()), ("precious".to_owned(), vec![file]));
}

#[test]
fn an_undo_goes_on_after_a_step_that_fails() {
    requires!(Root, Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let (fstab, plan) = (ground.dir.path().join("fstab"), ground.plan(MIB));
    fs::write(&fstab, b"# caf\xe9").expect("written");
    let areas = ground.areas(false);
    set_up(&areas, &plan).expect("made");
    {
        let Some(_immutable) = Immutable::set(&fstab) else { return };
        let undone = areas.undo().expect("undone in part");
        let [left] = &undone.left[..] else { panic!("one step: {:?}", undone.left) };
        let said = left.to_string();
        for part in ["the line of", "fstab", "chattr -i", "By hand"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!ground.file().exists(), "the other steps are made");
        assert!(matches!(areas.check(plan.clone()), Err(SwapAreaError::AlreadySetUp { .. })));
        assert_eq!(areas.undo().expect("undone in part").left.len(), 1, "again");
    }
    undo_all(&areas);
    assert_eq!((fs::read(&fstab).expect("there"), ground.files()), (b"# caf\xe9".into(), vec![fstab.clone()]));
    // The area stays, and the rest goes.
    for has_systemd in [true, false] {
        let areas = ground.areas(has_systemd);
        set_up(&areas, &plan).expect("made");
        {
            let Some(_immutable) = Immutable::set(&ground.mounted) else { return };
            let undone = areas.undo().expect("undone in part");
            let [left] = &undone.left[..] else { panic!("one step: {:?}", undone.left) };
            assert!(left.what.contains("swap file") && left.by_hand.contains("rm "), "{left}");
            assert_eq!(ground.files(), [fstab.clone(), ground.dir.path().join("lib/swap.json"), ground.file()]);
        }
        assert_eq!(undo_all(&areas).plan, Some(plan.clone()));
        assert_eq!(ground.files(), std::slice::from_ref(&fstab));
    }
}

#[test]
fn what_is_at_the_name_of_the_file_now_is_left_alone() {
    requires!(Root, Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let areas = ground.areas(true);
    set_up(&areas, &ground.plan(MIB)).expect("made");
    fs::remove_file(ground.file()).and_then(|()| fs::write(ground.file(), "precious")).expect("replaced");
    let undone = areas.undo().expect("undone in part");
    let [left] = &undone.left[..] else { panic!("one step: {:?}", undone.left) };
    assert!(matches!(left.why, SwapAreaError::NotFound { is_another: true, .. }), "{left}");
    assert_eq!(fs::read(ground.file()).expect("there"), b"precious");
    assert!(matches!(areas.start(), Err(SwapAreaError::NotFound { .. })));
    fs::remove_file(ground.file()).expect("removed");
    undo_all(&areas);
    // Its file system is not mounted.
    set_up(&areas, &ground.plan(MIB)).expect("made");
    run("umount", &[path(&ground.mounted)]);
    let undone = areas.undo().expect("undone in part");
    let [left] = &undone.left[..] else { panic!("one step: {:?}", undone.left) };
    assert!(matches!(left.why, SwapAreaError::NotMounted { .. }), "{left}");
    run("mount", &["-o", "loop", path(&ground.dir.path().join("image")), path(&ground.mounted)]);
    undo_all(&areas);
    assert_eq!(ground.files(), <[PathBuf; 0]>::default());
}

#[test]
fn a_disk_that_has_the_name_now_is_left_alone() {
    requires!(Root, Mount, Loop, Program("losetup"), Program("mkfs.ext4"), Program("mkswap"), Program("blkid"));
    requires!(Program("swaplabel"));
    let ground = Ground::new();
    let (first, second) = (Device::new(), Device::new());
    let name = ground.dir.path().join("by-id");
    let fstab = ground.dir.path().join("fstab");
    fs::write(&fstab, "# mine\n").expect("written");
    run("mkfs.ext4", &["-q", path(second.node())]);
    let precious = second.bytes();
    for has_systemd in [true, false] {
        symlink(first.node(), &name).expect("a link");
        let areas = ground.areas(has_systemd);
        set_up(&areas, &first.plan(&name)).expect("made");
        let uuid = uuid_of(first.node());
        assert_eq!(areas.made().expect("a record"), Some(first.plan(&name)), "the name that stays is kept");
        assert_eq!(
            fs::read_to_string(ground.dir.path().join("lib/swap.json")).expect("a record").matches(&uuid).count(),
            1
        );
        if has_systemd {
            let unit = fs::read_to_string(ground.dir.path().join("units/brisk-swap.service")).expect("a unit");
            let device = format!("dev-disk-by\\x2duuid-{}.device", uuid.replace('-', "\\x2d"));
            assert!(unit.contains(&format!("Wants={device}\nAfter={device}\n")), "{unit}");
        } else {
            let line = format!("# mine\nUUID={uuid} none swap sw,nofail,pri=10 0 0\n");
            assert_eq!(fs::read_to_string(&fstab).expect("readable"), line);
        }
        // Names have moved: the area is found by its UUID.
        fs::remove_file(&name).and_then(|()| symlink(second.node(), &name)).expect("a link");
        undo_all(&areas);
        assert!(second.bytes() == precious, "another disk was written to");
        assert_ne!(&first.bytes()[4086..4096], MARK, "the mark is taken back");
        assert_eq!(ground.files(), [name.clone(), fstab.clone()]);
        fs::remove_file(&name).expect("removed");
        // Its disk is not there.
        symlink(first.node(), &name).expect("a link");
        set_up(&areas, &first.plan(&name)).expect("made");
        let marked = first.bytes();
        let other_uuid = "00000000-0000-4000-8000-000000000000";
        run("swaplabel", &["--uuid", other_uuid, path(first.node())]);
        fs::remove_file(&name).and_then(|()| symlink(second.node(), &name)).expect("a link");
        let undone = areas.undo().expect("undone in part");
        let [left] = &undone.left[..] else { panic!("one step: {:?}", undone.left) };
        let said = left.to_string();
        assert!(said.contains("is another one now") && said.contains("rm ") && said.contains("swap.json"), "{said}");
        assert!(second.bytes() == precious && uuid_of(first.node()) == other_uuid);
        assert!(matches!(areas.start(), Err(SwapAreaError::NotFound { is_another: true, .. })));
        assert_eq!(fs::read_to_string(&fstab).expect("readable"), "# mine\n");
        // It is there again.
        fs::write(first.node(), marked).expect("written");
        undo_all(&areas);
        fs::remove_file(&name).expect("removed");
    }
}

#[test]
fn a_device_in_use_is_refused_by_the_check() {
    requires!(Root, Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let device = Device::new();
    run("mkfs.ext4", &["-q", path(device.node())]);
    let place = ground.dir.path().join("place");
    fs::create_dir(&place).expect("a directory");
    run("mount", &[path(device.node()), path(&place)]);
    let refused = ground.areas(true).check(device.plan(device.node()));
    run("umount", &[path(&place)]);
    assert!(matches!(refused, Err(SwapAreaError::InUse { .. })), "{refused:?}");
    assert!(ground.areas(true).check(device.plan(device.node())).is_ok());
}

#[test]
fn where_etc_is_read_only_the_areas_are_for_this_boot() {
    requires!(Root, Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let _alone = SWAP_IS_ON.lock().unwrap_or_else(PoisonError::into_inner);
    let etc = ground.dir.path().join("etc");
    fs::create_dir_all(etc.join("systemd/system")).expect("a directory");
    fs::write(etc.join("fstab"), b"# caf\xe9").expect("written");
    run("mount", &["--bind", path(&etc), path(&etc)]);
    run("mount", &["-o", "remount,bind,ro", path(&etc)]);
    let outcome = std::panic::catch_unwind(|| {
        for has_systemd in [true, false] {
            let places = SwapPlaces {
                units: etc.join("systemd/system"),
                fstab: etc.join("fstab"),
                ..ground.places(has_systemd)
            };
            let areas = SwapAreas::new(places);
            let prepared = areas.check(ground.plan(MIB)).expect("possible");
            let AtBoot::Nothing { why } = prepared.at_boot() else { panic!("{:?}", prepared.at_boot()) };
            assert!(why.contains("Read-only file system"), "{why}");
            assert!(matches!(areas.set_up(&prepared, true), Err(SwapAreaError::NeverOn { .. })));
            assert_eq!(areas.made().expect("no record"), None);
            match areas.set_up(&prepared, false) {
                Err(error @ SwapAreaError::NotOn { .. }) => skip(Capability::SwapFile, error.to_string()),
                made => {
                    made.expect("made");
                    assert!(areas.made().expect("a record").is_some());
                    undo_all(&areas);
                }
            }
            assert!(!ground.file().exists() && areas.made().expect("no record").is_none());
        }
    });
    run("umount", &[path(&etc)]);
    outcome.expect("as above");
    assert_eq!(fs::read(etc.join("fstab")).expect("there"), b"# caf\xe9");
}

#[test]
fn where_the_record_cannot_be_written_nothing_is_made() {
    requires!(Root, Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let lib = ground.dir.path().join("var");
    fs::create_dir(&lib).expect("a directory");
    let places = SwapPlaces { record: lib.join("lib/brisk/swap.json"), ..ground.places(true) };
    let Some(_immutable) = Immutable::set(&lib) else { return };
    let refused = SwapAreas::new(places).check(ground.plan(MIB));
    assert!(matches!(&refused, Err(SwapAreaError::NoRecord { dir, .. }) if *dir == lib), "{refused:?}");
    assert_eq!(ground.files(), <[PathBuf; 0]>::default());
}

#[test]
fn an_area_is_switched_on_with_its_priority_and_off() {
    requires!(Mount, Loop, Swap, SwapFile, Program("mkfs.ext4"), Program("mkswap"));
    let all = || brisk_formats::parse_swaps(&fs::read("/proc/swaps").expect("swaps")).expect("understood");
    let _alone = SWAP_IS_ON.lock().unwrap_or_else(PoisonError::into_inner);
    if !all().is_empty() {
        return skip(Capability::SwapFile, format!("other swap is on: {:?}", all()));
    }
    let ground = Ground::new();
    let areas = ground.areas(true);
    match areas.set_up(&areas.check(ground.plan(16 * MIB)).expect("possible"), false) {
        Err(error @ SwapAreaError::NotOn { .. }) => return skip(Capability::SwapFile, error.to_string()),
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
    undo_all(&areas);
    assert_eq!((lines(), ground.files()), (vec![], vec![]));
    // A device is on by the name of the kernel, and is found by that of the user.
    let device = Device::new();
    let name = ground.dir.path().join("by-id");
    symlink(device.node(), &name).expect("a link");
    areas.set_up(&areas.check(device.plan(&name)).expect("possible"), false).expect("made");
    assert!(all().iter().any(|area| area.path == device.node()));
    areas.start().expect("on already");
    undo_all(&areas);
    assert!(all().iter().all(|area| area.path != device.node()));
    assert_eq!(ground.files(), [name]);
}

#[test]
fn compressed_memory_is_on_before_the_flash_and_gone_after_undo() {
    requires!(Root, Mount, Loop, SwapFile, Zram, Program("mkfs.ext4"), Program("mkswap"), Program("blkid"));
    let all = || brisk_formats::parse_swaps(&fs::read("/proc/swaps").expect("swaps")).expect("understood");
    let _alone = SWAP_IS_ON.lock().unwrap_or_else(PoisonError::into_inner);
    let ground = Ground::new();
    let areas = ground.areas(false);
    let plan = SwapPlan { zram_bytes: Some(4 * MIB), ..ground.plan(4 * MIB) };
    match areas.set_up(&areas.check(plan).expect("possible"), false) {
        Err(error @ (SwapAreaError::NotOn { .. } | SwapAreaError::File { .. })) => {
            return skip(Capability::Zram, error.to_string());
        }
        made => made.expect("made"),
    }
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(ground.dir.path().join("lib/swap.json")).expect("a record")).expect("JSON");
    let number = record["zram"]["number"].as_u64().expect("a number");
    let device = PathBuf::from(format!("/dev/zram{number}"));
    let on = all().into_iter().find(|area| area.path == device).expect("on");
    assert_eq!(
        (on.priority, uuid_of(&device)),
        (ZRAM_PRIORITY, record["zram_uuid"].as_str().expect("a UUID").to_owned())
    );
    areas.start().expect("on already");
    undo_all(&areas);
    assert!(!device.exists() && all().iter().all(|area| area.path != device));
    assert_eq!(ground.files(), <[PathBuf; 0]>::default());
}

#[test]
fn two_commands_at_once_do_not_meet() {
    requires!(Root, Mount, Loop, Program("mkfs.ext4"), Program("mkswap"));
    let ground = Ground::new();
    let areas = ground.areas(true);
    let prepared = areas.check(ground.plan(MIB)).expect("possible");
    let lib = ground.dir.path().join("lib");
    fs::create_dir(&lib).expect("a directory");
    let other = fs::File::open(&lib).expect("opened");
    other.lock().expect("locked");
    assert!(matches!(areas.set_up(&prepared, true), Err(SwapAreaError::Busy)));
    assert_eq!(ground.files(), <[PathBuf; 0]>::default());
    other.unlock().expect("unlocked");
    areas.set_up(&prepared, true).expect("made");
    // One that was checked before the other was made.
    assert!(matches!(areas.set_up(&prepared, true), Err(SwapAreaError::AlreadySetUp { .. })));
    other.lock().expect("locked");
    assert!(matches!(areas.undo(), Err(SwapAreaError::Busy)) && ground.file().exists());
    other.unlock().expect("unlocked");
    undo_all(&areas);
}
