//! What files of others have besides their content, on file systems and mounts that need rights to make.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use brisk_program::files::{InPlace, Replacement, check_directory, replace};
use brisk_requires::{Capability, requires, skip};
use rustix::fs::{IFlags, XattrFlags, getxattr, listxattr, setxattr};

/// An access control list (include/uapi/linux/posix_acl_xattr.h): version 2, then tag, permissions and number of each
/// entry: the owner reads and writes, user 7 reads, group and mask read, others do nothing.
const LIST: &[u8] = &[
    2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 7, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 4, 0,
    255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
];

fn value(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut buffer = [0; 256];
    getxattr(path, name, &mut buffer).ok().map(|length| buffer[..length].to_vec())
}

fn names(path: &Path) -> Vec<String> {
    let mut buffer = [0; 1024];
    let length = listxattr(path, &mut buffer).unwrap_or(0);
    let mut names: Vec<_> = String::from_utf8_lossy(&buffer[..length]).split('\0').map(str::to_owned).collect();
    names.sort();
    names
}

fn set_flags(path: &Path, change: impl Fn(IFlags) -> IFlags) -> rustix::io::Result<()> {
    let file = fs::File::open(path).expect("opened");
    rustix::fs::ioctl_getflags(&file).and_then(|flags| rustix::fs::ioctl_setflags(&file, change(flags)))
}

/// Takes a flag from a file when it is dropped: without that the directory of the test stays.
struct Flag<'a>(&'a Path, IFlags);

impl<'a> Flag<'a> {
    fn set(path: &'a Path, flag: IFlags) -> Option<Self> {
        match set_flags(path, |flags| flags | flag) {
            Ok(()) => Some(Self(path, flag)),
            Err(error) => {
                skip(Capability::Disk, format!("no {flag:?} on this file system: {error}"));
                None
            }
        }
    }
}

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        let _ = set_flags(self.0, |flags| flags - self.1);
    }
}

fn ground() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}

#[test]
fn a_replaced_file_keeps_its_mode_owner_and_attributes() {
    requires!(Root);
    let dir = ground();
    let file = dir.path().join("table");
    fs::write(&file, "earlier").expect("written");
    let attributes =
        [("user.note", b"of the admin".as_slice()), ("trusted.note", b"\0\xff"), ("system.posix_acl_access", LIST)];
    for (name, value) in attributes {
        if let Err(error) = setxattr(&file, name, value, XattrFlags::empty()) {
            return skip(Capability::Disk, format!("no attribute {name} on this file system: {error}"));
        }
    }
    // Mode 4640: the list gives the group's bits, and a change of the owner takes the first.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4640)).expect("changed");
    std::os::unix::fs::chown(&file, Some(1234), Some(4321)).expect("changed");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4640)).expect("changed");
    let (earlier, had) = (fs::metadata(&file).expect("there"), names(&file));
    replace(&file, b"later").expect("replaced");
    let now = fs::metadata(&file).expect("there");
    assert_ne!(now.ino(), earlier.ino(), "it is replaced as a whole");
    assert_eq!((now.mode(), now.uid(), now.gid()), (earlier.mode(), 1234, 4321));
    assert_eq!(names(&file), had);
    assert_eq!(value(&file, "user.note").as_deref(), Some(b"of the admin".as_slice()));
    assert_eq!(value(&file, "trusted.note").as_deref(), Some(b"\0\xff".as_slice()));
    assert_eq!(value(&file, "system.posix_acl_access").as_deref(), Some(LIST));
}

#[test]
fn a_list_that_the_directory_gives_to_new_files_is_not_given() {
    requires!(Root);
    let dir = ground();
    let file = dir.path().join("table");
    fs::write(&file, "earlier").expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("changed");
    if let Err(error) = setxattr(dir.path(), "system.posix_acl_default", LIST, XattrFlags::empty()) {
        return skip(Capability::Disk, format!("no access control lists on this file system: {error}"));
    }
    replace(&file, b"later").expect("replaced");
    assert_eq!(
        (value(&file, "system.posix_acl_access"), fs::metadata(&file).expect("there").mode() & 0o777),
        (None, 0o600)
    );
}

#[test]
fn an_immutable_file_is_named_as_such_and_stays() {
    requires!(Root);
    let dir = ground();
    let file = dir.path().join("table");
    fs::write(&file, "earlier").expect("written");
    for (flag, expected) in [(IFlags::IMMUTABLE, "chattr -i"), (IFlags::APPEND, "chattr -a")] {
        let Some(_flag) = Flag::set(&file, flag) else { return };
        let error = replace(&file, b"later").expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains(expected) && error.to_string().contains("table"), "{error}");
        assert_eq!(fs::read(&file).expect("there"), b"earlier");
    }
}

#[test]
fn a_directory_that_takes_no_file_has_its_files_written_in_place() {
    requires!(Root);
    let dir = ground();
    let (folder, file) = (dir.path().join("etc"), dir.path().join("etc/table"));
    fs::create_dir(&folder).expect("a directory");
    fs::write(&file, "earlier").expect("written");
    check_directory(&folder).expect("writable");
    let Some(_flag) = Flag::set(&folder, IFlags::IMMUTABLE) else { return };
    assert_eq!(check_directory(&folder).expect_err("refused").kind(), ErrorKind::PermissionDenied);
    let mut new = Replacement::begin(&file).expect("begun");
    assert_eq!(new.in_place(), Some(InPlace::Directory));
    new.write_all(b"it").expect("kept");
    assert_eq!(fs::read(&file).expect("there"), b"earlier");
    new.finish().expect("written");
    assert_eq!(fs::read(&file).expect("there"), b"it");
    assert_eq!(replace(&folder.join("new"), b"x").expect_err("refused").kind(), ErrorKind::PermissionDenied);
}

#[test]
fn a_file_that_is_mounted_is_written_in_place_and_a_read_only_mount_is_refused() {
    requires!(Root, Mount, Program("mount"));
    let dir = ground();
    let [there, of_the_host] = ["there", "of the host"].map(|name| dir.path().join(name));
    fs::write(&there, "hidden").expect("written");
    fs::write(&of_the_host, "earlier").expect("written");
    // Mounts of this thread alone, which end with it.
    // SAFETY: only the view of mounts changes, and no other thread shares it.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }.expect("mounts of its own");
    let mount = |options: &[&str]| {
        let done = std::process::Command::new("mount").args(options).status().expect("mount");
        assert!(done.success(), "{options:?}");
    };
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    mount(&["--make-rprivate", "/"]);
    mount(&["--bind", &path(&of_the_host), &path(&there)]);
    assert_eq!(Replacement::begin(&there).expect("begun").in_place(), Some(InPlace::MountPoint));
    replace(&there, b"later").expect("written");
    assert_eq!(
        (fs::read(&there).expect("there"), fs::read(&of_the_host).expect("there")),
        (b"later".into(), b"later".into())
    );
    mount(&["--bind", &path(dir.path()), &path(dir.path())]);
    mount(&["-o", "remount,bind,ro", &path(dir.path())]);
    for error in [replace(&of_the_host, b"x"), replace(&dir.path().join("new"), b"x"), check_directory(dir.path())] {
        assert_eq!(error.expect_err("refused").kind(), ErrorKind::ReadOnlyFilesystem);
    }
}
