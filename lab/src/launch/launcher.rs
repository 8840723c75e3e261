//! A single launch of an app, watched until it is done.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::probes::{Event, Inode, Kind, Trace, major_minor};
use crate::results::{ColdCheck, LaunchRun, SplitMethod, Warning};
use crate::screen::Screen;
use brisk_sense::{DeviceNumber, Mount, OpenedFiles, Sense};

use crate::launch::app::App;
use crate::launch::clock::{self, now_ns};
use crate::launch::cold;
use crate::launch::error::{Error, Result};
use crate::launch::observation::Traced;
use crate::launch::over::Limits;
use crate::launch::scope::Scope;
use crate::launch::storage_use::{ReadStep, reads_in_order};
use crate::launch::view::View;
use crate::launch::watch::{Subject, Watch};

/// The buffer is drained four times a second: it holds about a million events a second, and each drain costs a wake-up.
pub(crate) const TRACE: crate::probes::Options = crate::probes::Options {
    ring_bytes: 16 << 20,
    interval: Duration::from_millis(250),
    most_events: 10_000_000,
    count_cost: false,
};

/// Most bytes kept of an app's output.
const OUTPUT_MAX: u64 = 4_096;

#[derive(Debug, Clone)]
pub struct Settings {
    /// Split method; eBPF is replaced by the control group, with a warning, where the kernel refuses it.
    pub method: SplitMethod,
    pub limits: Limits,
    /// Whether to drop all caches of the machine before a cold launch, or each repetition of a script.
    pub drop_caches: bool,
    /// How long an app runs on after its launch was measured.
    pub stay: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { method: SplitMethod::Bpf, limits: Limits::default(), drop_caches: false, stay: Duration::ZERO }
    }
}

/// State of the page cache at a launch.
#[derive(Debug, Clone, Copy)]
pub enum Start<'a> {
    AsItIs,
    /// These files are evicted.
    Without(&'a BTreeSet<PathBuf>),
}

#[derive(Debug, Clone)]
pub struct Launched {
    /// Stages, split and storage.
    pub run: LaunchRun,
    pub reads: Vec<ReadStep>,
    /// End of the app's output.
    pub output: String,
    pub warnings: Vec<Warning>,
}

#[derive(Debug)]
pub struct Launcher<'a> {
    pub sense: &'a Sense,
    pub settings: Settings,
    /// Set to cancel.
    pub stop: &'a AtomicBool,
}

pub(crate) struct Running {
    pub(crate) scope: Scope,
    pub(crate) child: std::process::Child,
    pub(crate) trace: Option<Trace>,
    pub(crate) disk: Option<String>,
    pub(crate) begin_ns: u64,
    pub(crate) started_ns: u64,
    pub(crate) warnings: Vec<Warning>,
    output: File,
}

impl Launcher<'_> {
    /// Launches `app`, watches it until it is done or a limit is reached, and ends it.
    ///
    /// # Errors
    /// When it cannot be started or watched; an app that ends, hangs or shows nothing is a result.
    pub fn launch(&self, app: &App, screen: Option<&mut dyn Screen>, start: Start<'_>) -> Result<Launched> {
        self.launch_and(app, screen, start, |_| ()).map(|(launched, ..)| launched)
    }

    /// Launches `app` once to learn its files: those that it opens, and those mapped at the end. Without eBPF, files
    /// that other processes open meanwhile are included.
    ///
    /// # Errors
    /// As [`Launcher::launch`]. Without the right to watch opens, only mapped files are returned.
    pub fn learn(&self, app: &App, screen: Option<&mut dyn Screen>) -> Result<(Launched, BTreeSet<PathBuf>)> {
        let opened = OpenedFiles::watch(self.sense);
        let mapped = |running: &Running| {
            let pids = self.sense.cgroup_processes(running.scope.dir()).ok().flatten().unwrap_or_default();
            cold::mapped_by(self.sense, &pids)
        };
        let (mut launched, mut files, traced) = self.launch_and(app, screen, Start::AsItIs, mapped)?;
        let processes = traced.map(|traced| processes(&traced.events));
        let is_of_app = |pid: u32| processes.as_ref().is_none_or(|processes| processes.contains(&pid));
        match opened.and_then(|opened| all_of(&opened, is_of_app)) {
            Ok((opened, has_lost)) => {
                files.extend(opened);
                launched.warnings.extend(has_lost.then(|| {
                    Warning {
                    code: "opens_lost".to_owned(),
                    text: "Other programs opened so many files meanwhile that some of the app's may be unknown, and a \
                           cold launch may find them in memory; end what indexes or copies files."
                        .to_owned(),
                }
                }));
            }
            Err(error) => launched.warnings.push(Warning {
                code: "opens_unknown".to_owned(),
                text: format!(
                    "Files that the app reads without mapping them are unknown ({error}), so a cold launch may find \
                     them in memory; run as root to have them evicted too."
                ),
            }),
        }
        Ok((launched, files))
    }

    fn launch_and<T>(
        &self,
        app: &App,
        screen: Option<&mut dyn Screen>,
        start: Start<'_>,
        before_the_end: impl FnOnce(&Running) -> T,
    ) -> Result<(Launched, T, Option<Arc<Traced>>)> {
        let cold = match start {
            Start::AsItIs => None,
            Start::Without(files) => Some(self.evict(files)?),
        };
        let mut view = screen.map(View::open).transpose()?;
        let mut running = self.start(app)?;
        let mut watch = Watch::begin(self.subject(&running), running.begin_ns, false)?;
        let ending = watch.until_over(view.as_mut(), Some(&mut running.child), running.trace.as_ref())?;
        let extra = before_the_end(&running);
        let (traced, trace_cpu_ns) = self.traced(&mut running);
        let tiles = view.as_ref().map_or(0, View::tiles);
        let seen = watch.finish(ending, Some(running.started_ns), tiles, traced, trace_cpu_ns);
        clock::wait(self.settings.stay);
        running.scope.close()?;
        let _ = running.child.wait();
        let method = self.method(&running);
        let run = seen.launch_run(method, cold);
        let reads = seen.traced.as_ref().map_or_else(Vec::new, |traced| {
            reads_in_order(&traced.events, &traced.files, &(seen.begin_ns..seen.end_ns))
        });
        let launched = Launched { run, reads, output: running.printed(), warnings: running.warnings };
        Ok((launched, extra, seen.traced))
    }

    /// Evicts `files`, after writing back dirty pages of the previous app.
    pub(crate) fn evict(&self, files: &BTreeSet<PathBuf>) -> Result<ColdCheck> {
        if let Ok(dir) = File::open("/") {
            // On failure, dirty pages stay and are counted.
            let _ = rustix::fs::syncfs(&dir);
        }
        cold::evict(self.sense, files, self.settings.drop_caches)
    }

    /// Starts the app in a scope of its own, traced by eBPF.
    pub(crate) fn start(&self, app: &App) -> Result<Running> {
        let scope = match &app.parent_group {
            Some(parent) => Scope::create_in(self.sense, &app.id, std::slice::from_ref(parent))?,
            None => Scope::create(self.sense, &app.id)?,
        };
        let mut warnings = Vec::new();
        let trace = match self.settings.method {
            SplitMethod::Bpf => match Trace::start(scope.dir(), &TRACE) {
                Ok(trace) => Some(trace),
                Err(error) => {
                    warnings.push(Warning { code: "no_bpf".to_owned(), text: without_bpf(&error) });
                    None
                }
            },
            SplitMethod::Cgroup | SplitMethod::Paper => None,
        };
        let memory = rustix::fs::memfd_create("app-output", rustix::fs::MemfdFlags::CLOEXEC);
        let output = File::from(memory.map_err(|errno| Error::system("making room for the app's output", errno))?);
        let disk = self.disk_of(Path::new("/"));
        let begin_ns = now_ns();
        let child = app.spawn(&scope, &output)?;
        Ok(Running { scope, child, trace, disk, begin_ns, started_ns: now_ns(), warnings, output })
    }

    pub(crate) fn subject(&self, running: &Running) -> Subject<'_> {
        Subject {
            sense: self.sense,
            group: running.scope.dir().to_owned(),
            // Reading the machine's list of disks is expensive, and no other method needs it.
            disk: running.disk.clone().filter(|_| self.settings.method == SplitMethod::Paper),
            limits: self.settings.limits,
            stop: self.stop,
        }
    }

    /// The method that the kernel allows.
    pub(crate) fn method(&self, running: &Running) -> SplitMethod {
        match self.settings.method {
            SplitMethod::Bpf if running.warnings.iter().any(|warning| warning.code == "no_bpf") => SplitMethod::Cgroup,
            method => method,
        }
    }

    /// Ends the trace; returns its events, with files by their names, and its cost in ns.
    pub(crate) fn traced(&self, running: &mut Running) -> (Option<Arc<Traced>>, u64) {
        let Some(trace) = running.trace.take() else { return (None, 0) };
        let recording = trace.stop();
        if !recording.missing.is_empty() {
            let text = format!(
                "This kernel does not show {}: that part of the split is included in others.",
                recording.missing.join(", ")
            );
            running.warnings.push(Warning { code: "probes_missing".to_owned(), text });
        }
        let files = self.named(recording.files);
        let traced = Traced { events: recording.events, files, lost: recording.lost };
        (Some(Arc::new(traced)), recording.cost.total_ns())
    }

    /// Converts paths relative to a file system into paths of the machine, by the mounts of that file system.
    pub(crate) fn named(&self, files: HashMap<Inode, Vec<u8>>) -> HashMap<Inode, PathBuf> {
        let mounts = self.sense.mounts().unwrap_or_default();
        let outside = |inode: &Inode, path: Vec<u8>| {
            let path = PathBuf::from(OsString::from_vec(path));
            let (major, minor) = major_minor(inode.device);
            let device = DeviceNumber { major, minor };
            // Of a bind mount, such as a container's root, only files below its root can be reached.
            let shown = mounts.iter().filter(|mount| mount.device == device && path.starts_with(&mount.root));
            let best = shown.max_by_key(|mount| (mount.root == Path::new("/"), mount.root.components().count()));
            let below = |mount: &Mount| path.strip_prefix(&mount.root).map(|below| mount.mount_point.join(below)).ok();
            best.and_then(below).unwrap_or(path.clone())
        };
        files.into_iter().map(|(inode, path)| (inode, outside(&inode, path))).collect()
    }

    /// The single disk of the files below `path`.
    fn disk_of(&self, path: &Path) -> Option<String> {
        self.sense.storage().ok()?.below_path(path).sole_disk().map(str::to_owned)
    }
}

impl Running {
    /// The end of the app's output so far.
    pub(crate) fn printed(&mut self) -> String {
        let mut text = Vec::new();
        let length = self.output.metadata().map_or(0, |metadata| metadata.len());
        let from = length.saturating_sub(OUTPUT_MAX);
        // A memory file; when it cannot be read there is nothing to show.
        let _ = self.output.seek(SeekFrom::Start(from)).and_then(|_| self.output.read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// All process ids in the events; includes some thread ids.
fn processes(events: &[Event]) -> HashSet<u32> {
    let born = |event: &Event| match event.kind {
        Kind::Born { pid, .. } => Some(pid),
        _ => None,
    };
    events.iter().flat_map(|event| [Some(event.tid), born(event)]).flatten().collect()
}

pub(crate) fn without_bpf(error: &dyn std::error::Error) -> String {
    format!(
        "The kernel's events are unavailable ({error}), so the split comes from the control group: reads, swap and \
         writes are \
         one part, and waits for a processor, the network and locks another; reads of single files are unknown."
    )
}

/// All that was opened, and whether the kernel had to drop some.
fn all_of(watch: &OpenedFiles, is_of_app: impl Fn(u32) -> bool) -> brisk_sense::Result<(BTreeSet<PathBuf>, bool)> {
    let (mut files, mut has_lost) = (BTreeSet::new(), false);
    loop {
        let opened = watch.take(&is_of_app)?;
        files.extend(opened.files.into_iter().map(|(_, path)| path));
        has_lost |= opened.has_lost;
        if !opened.has_more {
            return Ok((files, has_lost));
        }
    }
}
