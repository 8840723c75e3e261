//! Enters a root: changes root directory and user, then runs a program.

use std::convert::Infallible;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::launch::App;
use brisk_sense::Sense;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::mount_bind;

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::mounts;
use crate::phone::phones::RIGHTS;

/// A program in a root that is being built; run in namespaces made by `unshare` of util-linux.
#[derive(Debug, Clone)]
pub struct Inside {
    pub root: PathBuf,
    /// Run as the phone's user; otherwise as root.
    pub as_user: bool,
    /// Directories of this machine that are bind-mounted in the root.
    pub binds: Vec<(PathBuf, PathBuf)>,
    pub display: Option<String>,
    /// Program and arguments.
    pub command: Vec<OsString>,
}

impl Inside {
    /// Mounts what programs need around the root, in the caller's own mount namespace, and executes the program.
    ///
    /// # Errors
    /// When a mount fails, or the program cannot be run.
    pub fn run(self) -> Result<Infallible> {
        Sense::default().require_rights("a program in the phone's root", RIGHTS)?;
        mounts::mount_all(&self.root)?;
        for (from, to) in &self.binds {
            let to = self.root.join(to.strip_prefix("/").unwrap_or(to));
            mount_bind(from, &to).map_err(failed(format!("mount {} at {}", from.display(), to.display())))?;
        }
        let mut env = mounts::environment(self.display.as_deref());
        if !self.as_user {
            env.retain(|(name, _)| name != "HOME" && name != "PATH" && name != "USER" && name != "LOGNAME");
            env.push(("HOME".into(), "/root".into()));
            env.push(("PATH".into(), "/usr/sbin:/usr/bin:/sbin:/bin".into()));
            env.extend(std::env::vars_os().filter(|(name, _)| is_proxy(name)));
        }
        // Programs of a build use no bus of the caller.
        env.retain(|(name, _)| name != "DBUS_SESSION_BUS_ADDRESS");
        become_app(&App {
            id: "build".to_owned(),
            command: self.command,
            env,
            clean_env: true,
            root: Some(self.root),
            user: self.as_user.then(mounts::user),
            working_dir: Some(if self.as_user { mounts::HOME.into() } else { "/".into() }),
            ..App::default()
        })
    }
}

fn is_proxy(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    ["http_proxy", "https_proxy", "ftp_proxy", "no_proxy"].contains(&name.as_str())
}

/// Executes the app: changes root, user and directory of this process. Returns only on errors.
///
/// # Errors
/// When the program is not in the root, may not be run, or the kernel refuses a change.
pub fn become_app(app: &App) -> Result<Infallible> {
    let error = command(app)?.exec();
    Err(refused(app, error.to_string()))
}

fn refused(app: &App, reason: String) -> Error {
    let program = app.command.first().map_or("nothing".into(), |program| program.to_string_lossy().into_owned());
    Error::Program { program, reason }
}

/// The app as a command whose child changes root, user and directory before it runs the program.
///
/// # Errors
/// When the program is not in the root, or a path holds a zero byte.
pub fn command(app: &App) -> Result<Command> {
    let as_c = |path: &Path| {
        CString::new(path.as_os_str().as_bytes()).map_err(|_| refused(app, "a path contains a NUL byte".to_owned()))
    };
    let (program, arguments) =
        app.command.split_first().ok_or_else(|| refused(app, "no command was given".to_owned()))?;
    let root = app.root.as_deref().unwrap_or(Path::new("/"));
    let Some(program) = find_program(root, app, program) else {
        return Err(refused(app, format!("there is no such program in {}", root.display())));
    };
    let root = as_c(root)?;
    let working_dir = as_c(app.working_dir.as_deref().unwrap_or(Path::new("/")))?;
    let user = app.user.clone();
    let open = |dir: &PathBuf| {
        let file = File::options().write(true).open(dir.join("cgroup.procs"));
        file.map_err(failed(format!("join the control group {}", dir.display())))
    };
    let groups = app.groups.iter().chain(&app.parent_group).map(open).collect::<Result<Vec<File>>>()?;
    let mut command = Command::new(program);
    command.args(arguments);
    if app.clean_env {
        command.env_clear();
    }
    command.envs(app.env.iter().map(|(name, value)| (name, value)));
    // SAFETY: the closure makes system calls on values that were created before the fork; it does not allocate or lock.
    unsafe {
        command.pre_exec(move || {
            for group in &groups {
                let written = libc::write(group.as_raw_fd(), b"0".as_ptr().cast(), 1);
                check(if written < 0 { -1 } else { 0 })?;
            }
            check(libc::chroot(root.as_ptr()))?;
            check(libc::chdir(c"/".as_ptr()))?;
            if let Some(user) = &user {
                check(libc::setgroups(user.groups.len(), user.groups.as_ptr()))?;
                check(libc::setresgid(user.gid, user.gid, user.gid))?;
                check(libc::setresuid(user.uid, user.uid, user.uid))?;
            }
            // A root without the user's home is allowed.
            libc::chdir(working_dir.as_ptr());
            Ok(())
        });
    }
    Ok(command)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Finds a program in `root` by the app's PATH; symbolic links are resolved within the root. The path is as seen from
/// `root`.
pub(crate) fn find_program(root: &Path, app: &App, program: &OsStr) -> Option<PathBuf> {
    let dir = rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let is_file = |path: &Path| {
        let file = openat2(&dir, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::IN_ROOT);
        let stat = file.and_then(rustix::fs::fstat);
        stat.is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() && stat.st_mode & 0o111 != 0)
    };
    if program.as_bytes().contains(&b'/') {
        let path = app.working_dir.as_deref().unwrap_or(Path::new("/")).join(program);
        return is_file(&path).then_some(path);
    }
    let path = app.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    std::env::split_paths(path.unwrap_or_default()).map(|dir| dir.join(program)).find(|path| is_file(path))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_program_is_found_in_the_root() {
        let root = tempfile::tempdir().expect("temporary directory");
        fs::create_dir_all(root.path().join("usr/bin")).expect("made");
        fs::create_dir_all(root.path().join("opt")).expect("made");
        let program = root.path().join("opt/editor");
        fs::write(&program, "#!/bin/sh\n").expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("changed");
        // Absolute links are resolved within the root.
        symlink("/opt/editor", root.path().join("usr/bin/edit")).expect("linked");
        symlink("/bin/sh", root.path().join("usr/bin/out")).expect("linked");
        fs::write(root.path().join("usr/bin/text"), "no program").expect("written");
        let app = App { env: mounts::environment(None), working_dir: Some("/opt".into()), ..App::default() };
        let found = |program: &str| find_program(root.path(), &app, OsStr::new(program));
        assert_eq!(found("edit"), Some("/usr/bin/edit".into()));
        assert_eq!(found("./editor"), Some("/opt/./editor".into()));
        for absent in ["out", "text", "sh", "/bin/sh", "opt", "../../../bin/sh", ""] {
            assert_eq!(found(absent), None, "{absent}");
        }
    }

    #[test]
    fn a_missing_program_is_named() {
        let app = App { command: vec!["/no/such".into()], clean_env: true, ..App::default() };
        let said = command(&app).expect_err("not there").to_string();
        assert!(said.contains("/no/such") && said.contains("no such program"), "{said}");
        assert!(command(&App::default()).expect_err("nothing").to_string().contains("no command was given"));
    }
}
