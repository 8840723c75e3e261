//! Why a setting could not be changed or put back.

use std::io;
use std::path::PathBuf;

/// Failure of an action on the machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write '{value}' to {path} ({hint})")]
    Write { path: PathBuf, value: String, hint: String, source: io::Error },
    #[error("wrote '{requested}' to {path}, but it reads '{found}'")]
    NotTaken { path: PathBuf, requested: String, found: String },
    #[error("{name} belongs to the scheduler {scheduler}, and {in_force} is in force (choose {scheduler} first)")]
    NotInForce { scheduler: String, in_force: String, name: String },
    #[error("the scheduler {scheduler} of this kernel has no '{name}' (it has {has})")]
    NoTunable { scheduler: String, name: String, has: String },
    #[error(
        "this kernel does not tell how many requests the driver accepts ({dir}/*/nr_tags is missing); use nr_requests"
    )]
    NoTags { dir: PathBuf },
    #[error("the driver accepts at most {full_requests} requests, not {requested_requests}")]
    TooManyTags { requested_requests: u32, full_requests: u32 },
    #[error(transparent)]
    TagsKept(Box<Error>),
    #[error("under the scheduler none, nr_requests is driver_tags, which is to be {tags}")]
    SetByDriverTags { tags: String },
    #[error("this kernel offers no scheduler {name} for it, but {}", .offered.join(", "))]
    NoScheduler { name: String, offered: Vec<String> },
    #[error("'{value}' is not a whole number")]
    NotANumber { value: String },
    #[error("cannot write the journal {path}; without it nothing is changed (is the directory writable?)")]
    Journal { path: PathBuf, source: io::Error },
    #[error("'{0}' is not a name: letters, digits, '-', '_' and '.' only")]
    Name(String),
    #[error("there is no process {pid}, and no journal of it")]
    NoProcess { pid: u32 },
    /// Some settings could not be put back; the journal still has them.
    #[error("could not put back {}", .0.join("; "))]
    Restore(Vec<String>),
    #[error("'{0}' is no I/O priority: write 'realtime N', 'best-effort N' (N from 0, first, to 7) or 'idle'")]
    NotAPriority(String),
    #[error("cannot give thread {thread} of {group} the I/O priority '{value}' (realtime needs CAP_SYS_NICE)")]
    Priority { thread: u32, group: String, value: String, source: io::Error },
    #[error("'{0}' is no key of a control group: brisk acts on none that goes by its name alone")]
    NotAGroup(String),
    #[error("brisk itself runs in {group} and would stop with it: start brisk in a group of its own")]
    OwnGroup { group: String },
    #[error(
        "{group} is a session of processes and has no {file}: start the app in a control group (systemd-run --scope)"
    )]
    Session { group: String, file: &'static str },
    #[error(
        "{group} cannot be frozen: it has no cgroup.freeze (cgroup version 2, Linux 5.2), and the freezer of version 1 \
         has no group of this name"
    )]
    NoFreezer { group: String },
    /// There is no process that would thaw the group if brisk died.
    #[error("nothing is frozen without a process that thaws it if brisk dies: cannot {what} one")]
    Keeper { what: &'static str, source: io::Error },
    #[error("{group} is not {what}: {why}")]
    NotNow { group: String, what: &'static str, why: String },
    #[error("cannot start a thread for actions that take time; they block the loop")]
    Worker { source: io::Error },
    #[error("the thread that makes apps ready does not run: restart brisk")]
    NoWorker,
    #[error("the root directory cannot be opened")]
    NoRoot,
    #[error(
        "memory of {group} cannot be reclaimed: it has no memory.reclaim (cgroup version 2 with the memory controller, \
         Linux 5.19), and the memory controller of version 1 has no group of this name"
    )]
    NoReclaim { group: String },
    #[error(
        "memory.reclaim of this kernel takes no swappiness (Linux 6.11 does), so the page cache cannot be freed alone"
    )]
    NoSwappiness { source: io::Error },
    #[error("{} of {} KiB of {group} were reclaimed; the rest is in use", .reclaimed_bytes >> 10, .wanted_bytes >> 10)]
    Partial { group: String, wanted_bytes: u64, reclaimed_bytes: u64, source: io::Error },
    #[error("cannot {what} process {pid} of {group}")]
    Process { pid: u32, group: String, what: &'static str, source: io::Error },
    #[error("not every process of {group} could be killed")]
    NotKilled { group: String, source: io::Error },
    #[error("the kernel took none of {ranges} ranges of {group} (swap is needed, and CAP_SYS_NICE)")]
    NotAdvised { group: String, ranges: usize, source: io::Error },
    #[error("{ranges} ranges are of processes that are not in {group}: they are left")]
    Strangers { group: String, ranges: usize },
    #[error("this kernel does not have the setting: {path} is missing")]
    NoVmSetting { path: PathBuf },
    #[error("no cgroup file system of version 2 is mounted, so no group is known by its name")]
    NoGroups,
    #[error("another briskd runs{}; stop it first (briskd holds {})", holder(*.pid), .path.display())]
    Locked {
        path: PathBuf,
        /// Who holds it, if it says.
        pid: Option<u32>,
    },
    #[error("cannot lock {path} (is the directory writable?)")]
    Lock { path: PathBuf, source: io::Error },
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
