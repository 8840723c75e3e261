//! The session bus of a phone, which many apps need.
//!
//! It runs as long as the phone is up. If it ran from the phone's files, the pages of the C library that it maps would
//! stay in memory, and no launch could be cold. Its program and libraries are therefore copied into the phone's /run,
//! which is in memory. Services that it starts for apps run from the phone's files.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::launch::App;

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::group::Group;
use crate::phone::{inside, mounts};

const PROGRAM: &str = "/usr/bin/dbus-daemon";
/// Path of its copy in the phone.
const COPY: &str = "/run/brisk/bus";

/// Starts the bus in `root` and returns its process; `None` where the root has no such program. The bus of a phone that
/// is not kept is killed when the calling thread ends.
///
/// # Errors
/// When it cannot be copied or does not come up.
pub(crate) fn start(root: &Path, group: &Group, log: &Path, keep: bool) -> Result<Option<u32>> {
    if !mounts::inside(root, PROGRAM).is_file() {
        return Ok(None);
    }
    let loader = copy_into_memory(root)?;
    let words = [
        loader.to_string_lossy().into_owned(),
        "--library-path".to_owned(),
        COPY.to_owned(),
        format!("{COPY}/dbus-daemon"),
        "--session".to_owned(),
        "--nofork".to_owned(),
        "--nopidfile".to_owned(),
        format!("--address={}", mounts::BUS_ADDRESS),
        "--print-address=1".to_owned(),
    ];
    let mut env = mounts::environment(None);
    env.retain(|(name, _)| name != "DBUS_SESSION_BUS_ADDRESS");
    let app = App { command: words.map(Into::into).to_vec(), user: Some(mounts::user()), ..in_root(root, env) };
    let errors =
        fs::File::options().create(true).append(true).open(log).map_err(failed(format!("open {}", log.display())))?;
    let mut command = inside::command(&app)?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).process_group(0);
    if !keep {
        // After the change of user in `command`.
        brisk_program::child::end_with_parent(&mut command, brisk_program::child::Signal::KILL);
    }
    let mut child = command.spawn().map_err(failed("start the phone's session bus"))?;
    group.add(child.id())?;
    // It prints its address when it accepts connections, and nothing when it ends before.
    let mut first = [0];
    let said = child.stdout.take().map_or(Ok(0), |mut output| output.read(&mut first));
    if said.map_err(failed("wait for the phone's session bus"))? == 0 {
        let _ = child.kill();
        let _ = child.wait();
        let words = fs::read_to_string(log).unwrap_or_default();
        let reason = words.lines().next_back().unwrap_or("it ended at once").to_owned();
        return Err(Error::Program { program: PROGRAM.to_owned(), reason });
    }
    Ok(Some(child.id()))
}

fn in_root(root: &Path, env: Vec<(std::ffi::OsString, std::ffi::OsString)>) -> App {
    App {
        id: "bus".to_owned(),
        env,
        clean_env: true,
        root: Some(root.to_owned()),
        working_dir: Some("/".into()),
        ..App::default()
    }
}

/// Copies program and libraries; returns the copy of the dynamic loader as a path in the phone.
fn copy_into_memory(root: &Path) -> Result<PathBuf> {
    let listing = App { command: vec!["ldd".into(), PROGRAM.into()], ..in_root(root, mounts::environment(None)) };
    let output =
        inside::command(&listing)?.stdin(Stdio::null()).output().map_err(failed("ask for the bus's libraries"))?;
    let libraries = libraries_in(&String::from_utf8_lossy(&output.stdout));
    let Some(loader) = libraries.iter().find(|path| is_loader(path)) else {
        let reason = format!("its libraries cannot be listed: {}", String::from_utf8_lossy(&output.stderr).trim());
        return Err(Error::Program { program: PROGRAM.to_owned(), reason });
    };
    let place = mounts::inside(root, COPY);
    fs::create_dir_all(&place).map_err(failed(format!("make {}", place.display())))?;
    for file in libraries.iter().map(String::as_str).chain([PROGRAM]) {
        let (from, name) = (mounts::inside(root, file), Path::new(file).file_name().unwrap_or_default());
        // The links of a Debian root are relative, so they resolve from outside as well.
        fs::copy(&from, place.join(name)).map_err(failed(format!("copy {} into memory", from.display())))?;
    }
    Ok(Path::new(COPY).join(Path::new(loader).file_name().unwrap_or_default()))
}

fn is_loader(path: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld"))
}

/// Paths in the text of ldd: `libc.so.6 => /lib/x/libc.so.6 (0x7f...)` and `/lib64/ld-linux-x86-64.so.2 (0x7f...)`.
fn libraries_in(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| {
            let line = line.trim();
            let path = line.split_once(" => ").map_or(line, |(_, path)| path);
            let path = path.split_once(" (").map_or(path, |(path, _)| path);
            path.starts_with('/').then(|| path.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_parsed_from_the_output_of_ldd() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibdbus-1.so.3 => /lib/x86_64-linux-gnu/libdbus-1.so.3 \
                    (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n\tlibno.so => not found\n";
        let libraries = libraries_in(text);
        assert_eq!(libraries, ["/lib/x86_64-linux-gnu/libdbus-1.so.3", "/lib64/ld-linux-x86-64.so.2"]);
        assert!(is_loader(&libraries[1]) && !is_loader(&libraries[0]));
        assert!(is_loader("/lib/ld-linux-aarch64.so.1"));
        assert!(libraries_in("not a dynamic executable").is_empty());
    }
}
