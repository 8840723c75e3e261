//! Whether a program takes a preloaded library.
//!
//! The loader of the C library does that, in a new process of a dynamic program. A static program has none; one of
//! another C library or architecture cannot use this library; one that runs with more rights than who starts it
//! (set-user-ID, file capabilities) ignores it. None of them says so: all their files stay durable.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Bytes of a program that are read: its headers are at its beginning.
const HEAD_BYTES: u64 = 64 << 10;
/// Interpreters of interpreters that are followed.
const DEPTH_MAX: u32 = 4;
const PT_INTERP: u32 = 3;

/// Why a program does not take the library: a part of a sentence; `None` when it does, or when that cannot be told.
#[must_use]
pub fn ignores_preloading(program: &Path, path: Option<&std::ffi::OsStr>) -> Option<String> {
    let program = resolve(program, path)?;
    ignores(&program, 0)
}

/// The file of a program: as execvp(3) finds it.
fn resolve(program: &Path, path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    let is_program =
        |file: &PathBuf| file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0);
    if program.as_os_str().as_encoded_bytes().contains(&b'/') {
        return Some(program.to_owned());
    }
    std::env::split_paths(path?).map(|dir| dir.join(program)).find(is_program)
}

fn ignores(program: &Path, depth: u32) -> Option<String> {
    let name = program.display();
    let file = File::open(program).ok()?;
    let about = file.metadata().ok()?;
    let gets_rights = |bit: u32, own: bool| about.mode() & bit != 0 && !own;
    let is_own_user = about.uid() == rustix::process::geteuid().as_raw();
    let is_own_group = about.gid() == rustix::process::getegid().as_raw();
    if gets_rights(libc_mode::SET_UID, is_own_user) || gets_rights(libc_mode::SET_GID, is_own_group) {
        return Some(format!("{name} runs with the rights of another user (set-user-ID), and takes no library"));
    }
    let has_capabilities =
        rustix::fs::getxattr(program, "security.capability", &mut [0; 64]).is_ok_and(|bytes| bytes > 0);
    if has_capabilities && !rustix::process::geteuid().is_root() {
        return Some(format!("{name} runs with more rights (file capabilities), and takes no library"));
    }
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next()?;
        let words = String::from_utf8_lossy(line).trim().to_owned();
        let interpreter = PathBuf::from(words.split([' ', '\t']).next()?);
        return if depth < DEPTH_MAX { ignores(&interpreter, depth + 1) } else { None };
    }
    ignores_as_elf(&head).map(|why| format!("{name} {why}"))
}

/// Modes of files that give rights (inode(7)).
mod libc_mode {
    pub(super) const SET_UID: u32 = 0o4000;
    pub(super) const SET_GID: u32 = 0o2000;
}

/// The same of the headers of an ELF file (elf(5)), against those of the library.
fn ignores_as_elf(head: &[u8]) -> Option<String> {
    let ours = super::library::PRELOAD;
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    // Class, byte order; machine.
    if head.get(4..6)? != ours.get(4..6)? || head.get(18..20)? != ours.get(18..20)? {
        return Some("is of another architecture than brisk's library, and takes none".to_owned());
    }
    let interpreter = match interpreter(head)? {
        Some(interpreter) => interpreter,
        None => return Some("is linked statically, and takes no library".to_owned()),
    };
    let is_musl = |loader: &str| loader.contains("musl");
    if is_musl(&interpreter) != cfg!(target_env = "musl") {
        return Some(format!("uses another C library ({interpreter}) than brisk's library, and cannot take it"));
    }
    None
}

/// The loader that a program of this machine's byte order names; `Some(None)` for one without, `None` where that cannot
/// be told.
fn interpreter(head: &[u8]) -> Option<Option<String>> {
    let is_64 = head.get(4)? == &2;
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let mut value = [0; 8];
        let read = head.get(at..at + bytes)?;
        if cfg!(target_endian = "little") {
            value[..bytes].copy_from_slice(read);
        } else {
            value[8 - bytes..].copy_from_slice(read);
        }
        usize::try_from(u64::from_ne_bytes(value)).ok()
    };
    let (table, size, count) = if is_64 {
        (number(32, 8)?, number(54, 2)?, number(56, 2)?)
    } else {
        (number(28, 4)?, number(42, 2)?, number(44, 2)?)
    };
    for index in 0..count {
        let entry = table.checked_add(index.checked_mul(size)?)?;
        if u32::try_from(number(entry, 4)?).ok()? != PT_INTERP {
            continue;
        }
        let (offset, length) = if is_64 {
            (number(entry.checked_add(8)?, 8)?, number(entry.checked_add(32)?, 8)?)
        } else {
            (number(entry.checked_add(4)?, 4)?, number(entry.checked_add(16)?, 4)?)
        };
        let path = head.get(offset..offset.checked_add(length)?)?;
        return Some(Some(String::from_utf8_lossy(path).trim_end_matches('\0').to_owned()));
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_requires::requires;
    use std::fs::{self, Permissions};
    use std::process::Command;

    fn of(program: &Path) -> Option<String> {
        ignores_preloading(program, Some("/usr/bin:/bin".as_ref()))
    }

    #[test]
    fn dynamic_programs_and_scripts_take_the_library_and_static_ones_do_not() {
        requires!(Program("gcc"));
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("main.c"), "int main(void) { return 0; }\n").expect("written");
        let build = |name: &str, arguments: &[&str]| {
            let program = dir.path().join(name);
            let built =
                Command::new("gcc").args(arguments).arg("-o").arg(&program).arg(dir.path().join("main.c")).status();
            assert!(built.expect("gcc runs").success());
            program
        };
        let (dynamic, fixed) = (build("dynamic", &[]), build("fixed", &["-static"]));
        assert_eq!((of(&dynamic), of(Path::new("sh"))), (None, None));
        assert!(of(&fixed).is_some_and(|why| why.contains("statically")));
        let script = |name: &str, interpreter: &Path| {
            let path = dir.path().join(name);
            fs::write(&path, format!("#! {} -x\n", interpreter.display())).expect("written");
            path
        };
        assert_eq!(of(&script("good", &dynamic)), None);
        assert!(of(&script("bad", &fixed)).is_some_and(|why| why.contains("statically")));
        // A script that is its own interpreter ends.
        let own = dir.path().join("own");
        assert_eq!(of(&script("own", &own)), None);
        assert_eq!(of(&dir.path().join("gone")), None);
        // Another C library, by name of the loader, and another architecture.
        let mut bytes = fs::read(&dynamic).expect("read");
        let at = bytes.windows(5).position(|part| part == b"/ld-l").expect("a loader");
        bytes[at..at + 8].copy_from_slice(b"/ld-musl");
        assert!(ignores_as_elf(&bytes).is_some_and(|why| why.contains("C library")));
        bytes[18] ^= 0xff;
        assert!(ignores_as_elf(&bytes).is_some_and(|why| why.contains("architecture")));
        // Damaged headers tell nothing, and end nothing.
        for length in 0..bytes.len().min(400) {
            let _ = ignores_as_elf(&bytes[..length]);
        }
    }

    #[test]
    fn a_program_with_the_rights_of_another_user_takes_none() {
        requires!(Root, Program("gcc"));
        let dir = tempfile::tempdir().expect("a directory");
        let program = dir.path().join("true");
        fs::copy("/bin/true", &program).expect("copied");
        std::os::unix::fs::chown(&program, Some(1), None).expect("given away");
        fs::set_permissions(&program, Permissions::from_mode(0o4755)).expect("a mode");
        assert!(of(&program).is_some_and(|why| why.contains("set-user-ID")));
        fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("a mode");
        assert_eq!(of(&program), None);
    }
}
