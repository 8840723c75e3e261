//! Why a setting could not be changed or put back.

use std::io;
use std::path::PathBuf;

/// Failure of an action on the machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The setting could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The file of the setting.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel refused the value.
    #[error("cannot write '{value}' to {path} ({hint})")]
    Write {
        /// The file of the setting.
        path: PathBuf,
        /// What was to be written.
        value: String,
        /// What would be accepted.
        hint: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel took the value and shows another one.
    #[error("wrote '{requested}' to {path}, but it reads '{found}'")]
    NotTaken {
        /// The file of the setting.
        path: PathBuf,
        /// What was written.
        requested: String,
        /// What stands there.
        found: String,
    },
    /// A tunable belongs to a scheduler that is not in force.
    #[error("{name} belongs to the scheduler {scheduler}, and {in_force} is in force (choose {scheduler} first)")]
    NotInForce {
        /// Whose it is.
        scheduler: String,
        /// Which is in force.
        in_force: String,
        /// The tunable.
        name: String,
    },
    /// The scheduler in force has no such tunable.
    #[error("the scheduler {scheduler} of this kernel has no '{name}' (it has {has})")]
    NoTunable {
        /// The scheduler.
        scheduler: String,
        /// What was asked for.
        name: String,
        /// Names that exist.
        has: String,
    },
    /// The number of requests that the driver accepts is unknown, so it could not be restored.
    #[error(
        "this kernel does not tell how many requests the driver accepts ({dir}/*/nr_tags is missing); use nr_requests"
    )]
    NoTags {
        /// Where it should be.
        dir: PathBuf,
    },
    /// More requests than the driver accepts.
    #[error("the driver accepts at most {full_requests} requests, not {requested_requests}")]
    TooManyTags {
        /// What was asked for.
        requested_requests: u32,
        /// What the driver has.
        full_requests: u32,
    },
    /// The first step of a resize of the driver tags failed, so they are as they were.
    #[error(transparent)]
    TagsKept(Box<Error>),
    /// Under `none` both names mean the same, and the two values differ.
    #[error("under the scheduler none, nr_requests is driver_tags, which is to be {tags}")]
    SetByDriverTags {
        /// What the other name is to be.
        tags: String,
    },
    /// The kernel does not offer the scheduler.
    #[error("this kernel offers no scheduler {name} for it, but {}", .offered.join(", "))]
    NoScheduler {
        /// What was asked for.
        name: String,
        /// What there is.
        offered: Vec<String>,
    },
    /// A number was expected.
    #[error("'{value}' is not a whole number")]
    NotANumber {
        /// What was given.
        value: String,
    },
    /// The journal could not be written, so nothing was changed.
    #[error("cannot write the journal {path}; without it nothing is changed (is the directory writable?)")]
    Journal {
        /// The journal's file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A name of a device or an owner that is not a plain file name.
    #[error("'{0}' is not a name: letters, digits, '-', '_' and '.' only")]
    Name(String),
    /// A journal was asked for a process that does not run and left none.
    #[error("there is no process {pid}, and no journal of it")]
    NoProcess {
        /// Its number.
        pid: u32,
    },
    /// Some settings could not be put back; the journal still has them.
    #[error("could not put back {}", .0.join("; "))]
    Restore(Vec<String>),
    /// A text that is no I/O priority.
    #[error("'{0}' is no I/O priority: write 'realtime N', 'best-effort N' (N from 0, first, to 7) or 'idle'")]
    NotAPriority(String),
    /// The kernel refused to give a thread a priority.
    #[error("cannot give thread {thread} of {group} the I/O priority '{value}' (realtime needs CAP_SYS_NICE)")]
    Priority {
        /// Number of the thread.
        thread: u32,
        /// The control group.
        group: String,
        /// The priority.
        value: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A text that names no control group.
    #[error("'{0}' is no name of a control group")]
    NotAGroup(String),
    /// The action would stop brisk.
    #[error("brisk itself runs in {group} and would stop with it: start brisk in a group of its own")]
    OwnGroup {
        /// The control group.
        group: String,
    },
    /// A session of processes has no files of a control group.
    #[error(
        "{group} is a session of processes and has no {file}: start the app in a control group (systemd-run --scope)"
    )]
    Session {
        /// The session.
        group: String,
        /// The file of a control group that is needed.
        file: &'static str,
    },
    /// No freezer knows the group.
    #[error(
        "{group} cannot be frozen: it has no cgroup.freeze (cgroup version 2, Linux 5.2), and the freezer of version 1 has \
         no group of this name"
    )]
    NoFreezer {
        /// The control group.
        group: String,
    },
    /// There is no process that would thaw the group if brisk died.
    #[error("nothing is frozen without a process that thaws it if brisk dies: cannot {what} one")]
    Keeper {
        /// What failed.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The app may not be stopped now.
    #[error("{group} is not {what}: {why}")]
    NotNow {
        /// The control group.
        group: String,
        /// What was to be done.
        what: &'static str,
        /// Why not.
        why: String,
    },
    /// The threads for actions that take time could not be made.
    #[error("cannot start a thread for actions that take time; they block the loop")]
    Worker {
        /// Why.
        source: io::Error,
    },
    /// No memory controller knows the group.
    #[error(
        "memory of {group} cannot be reclaimed: it has no memory.reclaim (cgroup version 2 with the memory controller, \
         Linux 5.19), and the memory controller of version 1 has no group of this name"
    )]
    NoReclaim {
        /// The control group.
        group: String,
    },
    /// The kernel has no way to leave anonymous memory out.
    #[error(
        "memory.reclaim of this kernel takes no swappiness (Linux 6.11 does), so the page cache cannot be freed alone"
    )]
    NoSwappiness {
        /// What the kernel said.
        source: io::Error,
    },
    /// Less was reclaimed than was asked for.
    #[error("{} of {} KiB of {group} were reclaimed; the rest is in use", .reclaimed_bytes >> 10, .wanted_bytes >> 10)]
    Partial {
        /// The control group.
        group: String,
        /// What was asked for.
        wanted_bytes: u64,
        /// What was reclaimed.
        reclaimed_bytes: u64,
        /// What the kernel said.
        source: io::Error,
    },
    /// A process could not be acted on.
    #[error("cannot {what} process {pid} of {group}")]
    Process {
        /// Its number.
        pid: u32,
        /// Its control group.
        group: String,
        /// What was to be done.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// Not all processes could be killed.
    #[error("not every process of {group} could be killed")]
    NotKilled {
        /// The control group.
        group: String,
        /// What the kernel said last.
        source: io::Error,
    },
    /// The kernel took no range of memory.
    #[error("the kernel took none of {ranges} ranges of {group} (swap is needed, and CAP_SYS_NICE)")]
    NotAdvised {
        /// The control group.
        group: String,
        /// How many there were.
        ranges: usize,
        /// What it said of the last.
        source: io::Error,
    },
    /// The processes are not in the group.
    #[error("{ranges} ranges are of processes that are not in {group}: they are left")]
    Strangers {
        /// The control group.
        group: String,
        /// How many there were.
        ranges: usize,
    },
    /// The kernel has no such setting of virtual memory.
    #[error("this kernel does not have the setting: {path} is missing")]
    NoVmSetting {
        /// Where it should be.
        path: PathBuf,
    },
    /// There is no cgroup file system of the second version.
    #[error("no cgroup file system of version 2 is mounted, so no group is known by its name")]
    NoGroups,
    /// Another daemon is at work.
    #[error("another briskd runs{}; stop it first (briskd holds {})", holder(*.pid), .path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
        /// Who holds it, if it says.
        pid: Option<u32>,
    },
    /// The lock could not be made.
    #[error("cannot lock {path} (is the directory writable?)")]
    Lock {
        /// The lock.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" as process {pid}"))
}

impl Error {
    /// Whether the kernel refused a write only because the queue was busy at the moment.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Write { source, .. } => source.kind() == io::ErrorKind::ResourceBusy,
            Self::TagsKept(cause) => cause.is_busy(),
            _ => false,
        }
    }
}
