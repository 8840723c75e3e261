//! The app to launch, and the start of its first process.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::launch::error::{Error, Result};
use crate::launch::scope::Scope;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// Launch parameters of an app.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct App {
    /// Short name, for scopes and reports.
    pub id: String,
    /// Program and arguments; the program is searched in PATH (that of `env` when it is set there).
    pub command: Vec<OsString>,
    /// Changes to the environment.
    pub env: Vec<(OsString, OsString)>,
    /// Whether to begin with an empty environment instead of brisk's own.
    pub clean_env: bool,
    /// User, if changed (needs root).
    pub user: Option<User>,
    /// Working directory, if changed.
    pub working_dir: Option<PathBuf>,
    /// Directories of control groups that it joins in addition to its scope, such as a memory group of version 1.
    pub groups: Vec<PathBuf>,
    /// Directory of the control group of version 2 in which its scope is made, such as a memory group of that version;
    /// by default the scope is made where the user may make one.
    pub parent_group: Option<PathBuf>,
}

impl App {
    /// An app from a command line; its id is the program's name.
    #[must_use]
    pub fn from_command(command: Vec<OsString>) -> Self {
        let id = command.first().map(|program| {
            let name = std::path::Path::new(program).file_name().unwrap_or(program);
            name.to_string_lossy().into_owned()
        });
        Self { id: id.unwrap_or_default(), command, ..Self::default() }
    }

    /// Starts it in `scope`, with its output to `output`.
    ///
    /// # Errors
    /// When the program does not exist or cannot be executed.
    pub(crate) fn spawn(&self, scope: &Scope, output: &File) -> Result<Child> {
        let Some(program) = self.command.first() else {
            return Err(Error::Program { program: "nothing".to_owned(), reason: "no command was given".to_owned() });
        };
        let to = |file: &File| file.try_clone().map(Stdio::from);
        let outputs = to(output).and_then(|out| to(output).map(|err| (out, err)));
        let (out, err) = outputs.map_err(|source| Error::system("opening the app's output again", source))?;
        let mut command = Command::new(program);
        command.args(&self.command[1..]).stdin(Stdio::null()).stdout(out).stderr(err);
        if self.clean_env {
            command.env_clear();
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        self.prepare(&mut command, scope)?;
        command.spawn().map_err(|error| Error::Program {
            program: program.to_string_lossy().into_owned(),
            reason: match error.kind() {
                io::ErrorKind::NotFound => "there is no such program; check the spelling and PATH".to_owned(),
                io::ErrorKind::PermissionDenied => "it is not executable".to_owned(),
                _ => error.to_string(),
            },
        })
    }

    /// Adds the steps between fork and exec: join the scope, change user and directory.
    fn prepare(&self, command: &mut Command, scope: &Scope) -> Result<()> {
        let as_c = |path: &OsStr| {
            CString::new(path.as_bytes()).map_err(|_| Error::Program {
                program: self.id.clone(),
                reason: "a path contains a NUL byte".to_owned(),
            })
        };
        let working_dir = self.working_dir.as_ref().map(|dir| as_c(dir.as_os_str())).transpose()?;
        let user = self.user.clone();
        let processes = scope.processes().as_raw_fd();
        let open = |dir: &PathBuf| {
            let file = File::options().write(true).open(dir.join("cgroup.procs"));
            file.map_err(|source| Error::Scope { action: "use", path: dir.clone(), source })
        };
        let further = self.groups.iter().map(open).collect::<Result<Vec<File>>>()?;
        let parent = rustix::process::getpid();
        // SAFETY: the closure runs in the child between fork and exec; it makes system calls on values that were made
        // before the fork, allocates nothing and takes no lock. `processes` stays open: the scope outlives this call.
        unsafe {
            command.pre_exec(move || {
                check(libc::write(processes, b"0".as_ptr().cast(), 1))?;
                for group in &further {
                    check(libc::write(group.as_raw_fd(), b"0".as_ptr().cast(), 1))?;
                }
                // An own session: Ctrl-C in the terminal is handled by brisk.
                check(libc::setsid() as isize)?;
                if let Some(user) = &user {
                    check(libc::setgroups(user.groups.len(), user.groups.as_ptr()) as isize)?;
                    check(libc::setresgid(user.gid, user.gid, user.gid) as isize)?;
                    check(libc::setresuid(user.uid, user.uid, user.uid) as isize)?;
                }
                // After the change of user, which resets it.
                brisk_program::child::end_with(parent, brisk_program::child::Signal::KILL)?;
                if let Some(dir) = &working_dir {
                    check(libc::chdir(dir.as_ptr()) as isize)?;
                }
                Ok(())
            });
        }
        Ok(())
    }
}

fn check(result: isize) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
