//! `brisk sync on` and `off` with desktop entries as they are found.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ENTRY: &[u8] = b"[Desktop Entry]\n# caf\xe9\nName[de]=Gr\xfc\xdfe\nExec=reader %U\n";

fn brisk(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    command
        .args(arguments)
        .env("HOME", dir)
        .env("XDG_DATA_HOME", dir.join("own"))
        .env("XDG_DATA_DIRS", dir.join("system"));
    command.output().expect("brisk")
}

#[test]
fn an_entry_in_any_encoding_is_on_and_off_and_one_of_the_user_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    for part in ["own", "system"] {
        fs::create_dir_all(dir.path().join(part).join("applications")).expect("a directory");
    }
    let own = dir.path().join("own/applications/org.x.Reader.desktop");
    fs::write(dir.path().join("system/applications/org.x.Reader.desktop"), ENTRY).expect("written");
    let on = brisk(dir.path(), &["sync", "on", "org.x.Reader"]);
    assert!(on.status.success(), "{}", String::from_utf8_lossy(&on.stderr));
    let wrapped = fs::read(&own).expect("an entry");
    let has = |part: &[u8]| wrapped.windows(part.len()).any(|window| window == part);
    assert!(has(b"# caf\xe9\nName[de]=Gr\xfc\xdfe\nExec=/") && has(b" sync run org.x.Reader -- reader %U\n"));
    assert!(brisk(dir.path(), &["sync", "off", "org.x.Reader"]).status.success() && !own.exists());
    // The user's own, also as a link that leads nowhere now, is left.
    fs::write(&own, ENTRY).expect("written");
    assert_eq!(brisk(dir.path(), &["sync", "on", "org.x.Reader"]).status.code(), Some(2));
    assert_eq!(brisk(dir.path(), &["sync", "off", "org.x.Reader"]).status.code(), Some(1));
    assert_eq!(fs::read(&own).expect("there"), ENTRY);
    let nowhere = dir.path().join("nowhere");
    fs::remove_file(&own).and_then(|()| std::os::unix::fs::symlink(&nowhere, &own)).expect("a link");
    assert_eq!(brisk(dir.path(), &["sync", "on", "org.x.Reader"]).status.code(), Some(2));
    assert!(own.is_symlink() && !nowhere.exists());
}
