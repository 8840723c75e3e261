//! Actions that take time, on threads of their own, so that a loop which performs them never waits for storage.
//!
//! The kernel writes and reads back memory within the call that asks for it: 4 MiB take a quarter of a second on flash
//! that writes 16 MB/s. Four threads do that, so that a page-in never waits behind a page-out, nor behind a launch:
//! - out: `PageOut`, `Reclaim`, `DropPageCache`, and `MapIn`, which prepares a page-out, in the order of requests;
//! - in: `PageIn`, `ReadAhead`;
//! - ahead: `Prefetch`, with threads of its own; `EndPrefetch` ends that of the same group between two ranges;
//! - ready: `MakeReady`, which ends between two requests by `EndPrefetch`, and when anyone may want the device
//!   ([`Worker::end_ready`]).
//!
//! Work is done in pieces of [`CHUNK_BYTES`]. Between two of them a thread ends when the worker is dropped. A page-in
//! ends when its app is left again ([`Worker::end_read_backs`]), so that the app in front comes first; a page-out ends
//! when an app returns ([`Worker::cancel_page_outs`]; `MapIn` as well); those that have not begun as well. Reclaim
//! continues then: the app that returns needs the memory. An action that is under way for the same group is not begun
//! twice, unless a return has ended the first.
//!
//! The outcome of an action is [`Outcome::Begun`], and the final one comes from [`Worker::take`]; the descriptor of
//! [`Worker::as_fd`] can be read when there is one. What the out thread changes for a moment (limit and swappiness of
//! version 1) has a journal of its own.
//!
//! Properties: `a_return_ends_a_page_out_between_two_pieces`; `an_action_that_is_under_way_is_not_begun_twice`;
//! `a_page_in_does_not_wait_for_a_page_out`; `the_end_of_a_launch_ends_no_other_reading_ahead`;
//! `what_is_read_back_for_an_app_that_was_left_again_ends`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use brisk_core::action::Once;
use brisk_core::outcome::Outcome;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::actuator::refused;
use crate::{Error, Journal, Paths, once};

/// Memory that one call to the kernel writes or reads at most.
pub(crate) const CHUNK_BYTES: u64 = 4 << 20;
/// A thread needs little: its buffers are on the heap.
const STACK_BYTES: usize = 256 << 10;

/// Whether an action is to end before it is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cancel<'a> {
    shared: Option<(&'a Shared, &'a Begun)>,
}

/// What had happened when an action was requested, and what ends this one alone.
#[derive(Debug, Clone)]
struct Begun {
    returns: u64,
    /// What it was for is over: a launch, or the return of an app that was left again; or anyone may want the device
    /// for which an app is made ready.
    is_over: Arc<AtomicBool>,
}

impl Cancel<'_> {
    pub(crate) const NEVER: Self = Self { shared: None };

    /// Whether a return, or the end of the worker, ends a page-out now.
    pub(crate) fn is_due(self) -> bool {
        self.shared
            .is_some_and(|(shared, begun)| shared.returns.load(Ordering::SeqCst) != begun.returns || self.is_last())
    }

    /// Whether what it reads is not needed any more: `EndPrefetch` says so, the app was left again, or the worker ends.
    pub(crate) fn is_over(self) -> bool {
        self.shared.is_some_and(|(_, begun)| begun.is_over.load(Ordering::SeqCst)) || self.is_last()
    }

    /// Whether the worker ends, which ends every action.
    pub(crate) fn is_last(self) -> bool {
        self.shared.is_some_and(|(shared, _)| shared.ends.load(Ordering::SeqCst))
    }
}

#[derive(Debug)]
struct Shared {
    /// Returns of apps so far: a page-out that was requested before the last one is cancelled.
    returns: AtomicU64,
    ends: AtomicBool,
    /// Readable when an action has ended.
    wakes: OwnedFd,
}

/// An action, and what had happened when it was requested.
type Job = (Once, Begun);

#[derive(Debug)]
pub(crate) struct Worker {
    shared: Arc<Shared>,
    /// `None` while it is dropped.
    lanes: Option<[Sender<Job>; 4]>,
    threads: Vec<JoinHandle<()>>,
    ended: Receiver<(Once, Outcome)>,
    under_way: Vec<Job>,
}

impl Worker {
    /// Starts the threads; `name` is that of the actuator's journal.
    ///
    /// # Errors
    /// When a thread or a journal cannot be made.
    pub(crate) fn start(name: &str, paths: &Paths) -> Result<Self, Error> {
        let failed = |source| Error::Worker { source };
        let wakes = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|errno| failed(errno.into()))?;
        let shared = Arc::new(Shared { returns: AtomicU64::new(0), ends: AtomicBool::new(false), wakes });
        let (tells, ended) = channel();
        let mut threads = Vec::new();
        let mut lane = |lane: &str| -> Result<Sender<Job>, Error> {
            let mut journal = Journal::open(&format!("{name}-{lane}"), paths)?;
            let (sender, jobs) = channel::<Job>();
            let (shared, paths, tells) = (Arc::clone(&shared), paths.clone(), tells.clone());
            let serve = move || {
                for (once, begun) in jobs {
                    let cancel = Cancel { shared: Some((&shared, &begun)) };
                    let outcome = once::take_time(&paths, &mut journal, &once, cancel);
                    let outcome = outcome.unwrap_or_else(|error| refused(&error));
                    // It is not taken any more while the worker is dropped.
                    let _ = tells.send((once, outcome));
                    let _ = rustix::io::write(&shared.wakes, &1_u64.to_ne_bytes());
                }
            };
            let thread = std::thread::Builder::new().name(format!("brisk-{lane}")).stack_size(STACK_BYTES);
            threads.push(thread.spawn(serve).map_err(failed)?);
            Ok(sender)
        };
        let lanes = [lane("out")?, lane("in")?, lane("ahead")?, lane("ready")?];
        Ok(Self { shared, lanes: Some(lanes), threads, ended, under_way: Vec::new() })
    }

    /// Begins an action of those that [`once::takes_time`]; `Unchanged` when one like it is under way, which no return
    /// has ended.
    pub(crate) fn begin(&mut self, once: &Once) -> Outcome {
        let begun =
            Begun { returns: self.shared.returns.load(Ordering::SeqCst), is_over: Arc::new(AtomicBool::new(false)) };
        // A return has ended the one that it is like: this one is done after it.
        let is_cancelled = |before: &Begun| before.returns != begun.returns && once::ends_at_a_return(once);
        let is_like = |(other, before): &Job| {
            other.name() == once.name() && other.group() == once.group() && !is_cancelled(before)
        };
        if once::reads_back(once) {
            self.end_read_backs(Some(once.group()));
        }
        // Another page-in is about other ranges.
        let is_in = once::is_of_a_return(once);
        if !is_in && self.under_way.iter().any(is_like) {
            return Outcome::Unchanged;
        }
        let lane = match once {
            Once::Prefetch { .. } => 2,
            Once::MakeReady { .. } => 3,
            _ => usize::from(is_in),
        };
        let sent = self.lanes.as_ref().map(|lanes| lanes[lane].send((once.clone(), begun.clone())));
        match sent {
            Some(Ok(())) => {
                self.under_way.push((once.clone(), begun));
                Outcome::Begun
            }
            _ => Outcome::Refused { why: "its thread has ended: restart brisk".to_owned() },
        }
    }

    /// Ends the page-outs that were requested so far: an app returns, and its reads are not to wait behind them.
    pub(crate) fn cancel_page_outs(&self) {
        self.shared.returns.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends what is read back for all groups but `front`: their apps were left again, and nothing of the app in front
    /// is to wait behind it.
    pub(crate) fn end_read_backs(&self, front: Option<&str>) {
        let is_left = |(once, _): &&Job| once::reads_back(once) && Some(once.group()) != front;
        self.under_way.iter().filter(is_left).for_each(|(_, begun)| begun.is_over.store(true, Ordering::SeqCst));
    }

    /// Ends what is read ahead of the launch of that group. Says whether there was anything.
    pub(crate) fn end_prefetch(&self, group: &str) -> bool {
        self.end_ahead(|once| matches!(once, Once::Prefetch { .. } | Once::MakeReady { .. }) && once.group() == group)
    }

    /// Ends what is read to make apps ready. Says whether there was anything.
    pub(crate) fn end_ready(&self) -> bool {
        self.end_ahead(|once| matches!(once, Once::MakeReady { .. }))
    }

    fn end_ahead(&self, is_it: impl Fn(&Once) -> bool) -> bool {
        let of_it = self.under_way.iter().filter(|(once, _)| is_it(once));
        of_it.map(|(_, begun)| begun.is_over.store(true, Ordering::SeqCst)).count() > 0
    }

    /// The actions that have ended since the last call.
    pub(crate) fn take(&mut self) -> Vec<(Once, Outcome)> {
        // It is 0 afterwards; what ends from here on makes it readable again.
        let _ = rustix::io::read(&self.shared.wakes, &mut [0; 8]);
        let ended: Vec<_> = self.ended.try_iter().collect();
        for (once, _) in &ended {
            if let Some(place) = self.under_way.iter().position(|(other, _)| other == once) {
                // The first of two that are alike: a thread takes them in their order.
                self.under_way.remove(place);
            }
        }
        ended
    }

    /// Whether an action has ended.
    pub(crate) fn has_ended_some(&self) -> bool {
        let mut watched = [PollFd::new(&self.shared.wakes, PollFlags::IN)];
        poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// Can be read when an action has ended.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.wakes.as_fd()
    }
}

impl Drop for Worker {
    /// Ends after the pieces that the kernel has at the moment.
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        self.lanes = None;
        for thread in self.threads.drain(..) {
            // A panic of a thread was printed, and its journal undone.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::action::AddressRange;
    use brisk_core::group::GroupKey;
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    /// A tree with two groups of this process, whose group is read from a pipe: a page-out of it stands still until the
    /// test writes.
    struct Tree {
        dir: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let tree = Self { dir: tempfile::tempdir().expect("temporary directory") };
            let mounts = format!("1 0 0:1 / {} rw - cgroup2 cgroup2 rw\n", tree.at("two").display());
            for (name, text) in [
                ("proc/self/mountinfo", mounts.as_str()),
                ("two/app-a-1.scope/cgroup.procs", "7\n"),
                ("two/app-b-1.scope/cgroup.procs", "7\n"),
            ] {
                fs::create_dir_all(tree.at(name).parent().expect("a directory")).expect("fixture");
                fs::write(tree.at(name), text).expect("fixture");
            }
            fs::create_dir_all(tree.pipe().parent().expect("a directory")).expect("fixture");
            let (of, rights) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
            rustix::fs::mknodat(rustix::fs::CWD, tree.pipe(), of, rights, 0).expect("a pipe");
            tree
        }

        fn at(&self, name: &str) -> std::path::PathBuf {
            self.dir.path().join(name)
        }

        fn pipe(&self) -> std::path::PathBuf {
            self.at(&format!("proc/{}/cgroup", std::process::id()))
        }

        /// The pipe, when a page-out reads it, and stands still until this is closed.
        fn opened(&self) -> fs::File {
            fs::OpenOptions::new().write(true).open(self.pipe()).expect("a pipe")
        }

        fn paths(&self) -> Paths {
            Paths { sysfs: self.at("sys"), proc: self.at("proc"), journal: self.at("run/journal") }
        }

        fn worker(&self) -> Worker {
            Worker::start("test", &self.paths()).expect("threads")
        }
    }

    impl Tree {
        /// The key of a group of this name.
        fn of(&self, name: &str) -> String {
            let inode = fs::metadata(self.at("two").join(name)).expect("a group").ino();
            GroupKey::Control { inode, path: name }.text()
        }

        fn page_out(&self, name: &str) -> Once {
            let ranges = vec![AddressRange { pid: std::process::id(), start: 0, size_bytes: 4096 }];
            Once::PageOut { group: self.of(name), ranges }
        }
    }

    fn say(mut pipe: fs::File, group: &str) {
        std::io::Write::write_all(&mut pipe, format!("0::/{group}\n").as_bytes()).expect("read by the worker");
    }

    fn prefetch(group: &str) -> Once {
        Once::Prefetch {
            group: group.to_owned(),
            streams: 2,
            priority: "best-effort 5".to_owned(),
            files: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// The next outcomes, in their order.
    fn wait(worker: &mut Worker, count: usize) -> Vec<(&'static str, Outcome)> {
        let mut ended = Vec::new();
        while ended.len() < count {
            let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
            let ready = poll(&mut [PollFd::from_borrowed_fd(worker.as_fd(), PollFlags::IN)], Some(&limit));
            assert_eq!(ready, Ok(1), "nothing ended within a minute");
            ended.extend(worker.take().into_iter().map(|(once, outcome)| (once.name(), outcome)));
        }
        ended
    }

    #[test]
    fn a_return_ends_a_page_out_between_two_pieces() {
        let tree = Tree::new();
        let mut worker = tree.worker();
        assert_eq!(worker.begin(&tree.page_out("app-a-1.scope")), Outcome::Begun);
        let pipe = tree.opened();
        // Has not begun when the return comes.
        assert_eq!(worker.begin(&tree.page_out("app-b-1.scope")), Outcome::Begun);
        worker.cancel_page_outs();
        // One that is requested after the return is done although the one before is under way: this group has no
        // memory.
        let all = Once::PageOut { group: tree.of("app-b-1.scope"), ranges: Vec::new() };
        assert_eq!(worker.begin(&all), Outcome::Begun);
        assert_eq!(worker.begin(&all), Outcome::Unchanged, "it is under way");
        say(pipe, "app-a-1.scope");
        let cancelled = ("page_out", Outcome::Cancelled { done_bytes: 0 });
        assert_eq!(wait(&mut worker, 3), [cancelled.clone(), cancelled, ("page_out", Outcome::Unchanged)]);
        assert!(!worker.has_ended_some());
    }

    #[test]
    fn a_restore_ends_a_page_out() {
        let tree = Tree::new();
        let mut actuator = crate::Actuator::new(&tree.paths(), "test", false).expect("a journal");
        actuator.start_worker("test").expect("threads");
        let begun = actuator.perform(&tree.page_out("app-a-1.scope"), &crate::Sensed::default(), 0);
        assert_eq!(begun, Outcome::Begun);
        let pipe = tree.opened();
        actuator.restore().expect("nothing was changed");
        say(pipe, "app-a-1.scope");
        let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
        let fd = actuator.worker_fd().expect("a worker");
        assert_eq!(poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&limit)), Ok(1));
        assert_eq!(actuator.advance(0).pop().map(|(_, outcome)| outcome), Some(Outcome::Cancelled { done_bytes: 0 }));
    }

    #[test]
    fn an_action_that_is_under_way_is_not_begun_twice() {
        let tree = Tree::new();
        let mut worker = tree.worker();
        assert_eq!(worker.begin(&tree.page_out("app-a-1.scope")), Outcome::Begun);
        assert_eq!(worker.begin(&tree.page_out("app-a-1.scope")), Outcome::Unchanged);
        // Of another group's process: it is left.
        say(tree.opened(), "app-b-1.scope");
        // The kernel has the process; the tree has a directory of it.
        assert!(
            matches!(&wait(&mut worker, 1)[..], [("page_out", Outcome::Refused { why })] if why.contains("not in"))
        );
        assert_eq!(worker.begin(&tree.page_out("app-a-1.scope")), Outcome::Begun);
        let pipe = tree.opened();
        worker.cancel_page_outs();
        say(pipe, "app-a-1.scope");
        assert_eq!(wait(&mut worker, 1), [("page_out", Outcome::Cancelled { done_bytes: 0 })]);
    }

    #[test]
    fn a_page_in_does_not_wait_for_a_page_out() {
        let tree = Tree::new();
        let mut worker = tree.worker();
        assert_eq!(worker.begin(&tree.page_out("app-a-1.scope")), Outcome::Begun);
        let page_in = Once::PageIn { group: tree.of("app-a-1.scope"), ranges: Vec::new() };
        assert_eq!(worker.begin(&page_in), Outcome::Begun);
        assert_eq!(wait(&mut worker, 1), [("page_in", Outcome::Unchanged)]);
        let pipe = tree.opened();
        worker.cancel_page_outs();
        say(pipe, "app-a-1.scope");
        assert_eq!(wait(&mut worker, 1), [("page_out", Outcome::Cancelled { done_bytes: 0 })]);
    }

    #[test]
    fn what_is_read_back_for_an_app_that_was_left_again_ends() {
        let tree = Tree::new();
        let mut worker = tree.worker();
        let [a, b] = ["app-a-1.scope", "app-b-1.scope"].map(|name| tree.of(name));
        let page_in = |group: &str| {
            let ranges = vec![AddressRange { pid: std::process::id(), start: 0, size_bytes: 4096 }];
            Once::PageIn { group: group.to_owned(), ranges }
        };
        let cancelled = ("page_in", Outcome::Cancelled { done_bytes: 0 });
        // One stands still in the lane; the next app comes to the front, and is left again for a third.
        assert_eq!(worker.begin(&page_in(&a)), Outcome::Begun);
        let pipe = tree.opened();
        assert_eq!(worker.begin(&page_in(&b)), Outcome::Begun);
        worker.end_read_backs(Some("app-c-1.scope"));
        say(pipe, "app-a-1.scope");
        assert_eq!(wait(&mut worker, 2), [cancelled.clone(), cancelled.clone()], "the second has not begun");
        // A read-back that begins is of the app in front: the one before ends.
        assert_eq!(worker.begin(&page_in(&a)), Outcome::Begun);
        let pipe = tree.opened();
        assert_eq!(worker.begin(&page_in(&a)), Outcome::Begun);
        assert_eq!(worker.begin(&page_in(&b)), Outcome::Begun);
        say(pipe, "app-a-1.scope");
        assert_eq!(wait(&mut worker, 2), [cancelled.clone(), cancelled.clone()]);
        say(tree.opened(), "app-b-1.scope");
        assert_ne!(wait(&mut worker, 1), [cancelled], "the app in front");
    }

    #[test]
    fn reading_ahead_of_a_launch_waits_for_nothing_and_ends_on_request() {
        let tree = Tree::new();
        let mut worker = tree.worker();
        assert_eq!(worker.begin(&tree.page_out("app-a-1.scope")), Outcome::Begun);
        let prefetch = prefetch(&tree.of("app-a-1.scope"));
        assert!(!worker.end_prefetch(&tree.of("app-a-1.scope")), "nothing is read yet");
        assert_eq!(worker.begin(&prefetch), Outcome::Begun);
        assert!(worker.end_prefetch(&tree.of("app-a-1.scope")) && !worker.end_prefetch(&tree.of("app-b-1.scope")));
        let none = Outcome::Prefetched { read_bytes: 0, changed_files: 0, complete: false };
        assert_eq!(wait(&mut worker, 1), [("prefetch", none)], "no file of it is anywhere");
        assert!(!worker.end_prefetch(&tree.of("app-a-1.scope")));
        let pipe = tree.opened();
        worker.cancel_page_outs();
        say(pipe, "app-a-1.scope");
        assert_eq!(wait(&mut worker, 1), [("page_out", Outcome::Cancelled { done_bytes: 0 })]);
    }

    #[test]
    fn the_end_of_a_launch_ends_no_other_reading_ahead() {
        let tree = Tree::new();
        let mut worker = tree.worker();
        let [a, b] = ["app-a-1.scope", "app-b-1.scope"].map(|name| tree.of(name));
        for group in [&a, &b] {
            assert_eq!(worker.begin(&prefetch(group)), Outcome::Begun);
        }
        assert!(worker.end_prefetch(&a));
        assert_eq!(worker.begin(&prefetch(&a)), Outcome::Begun, "it is launched again");
        let is_over = |(_, begun): &Job| Cancel { shared: Some((&worker.shared, begun)) }.is_over();
        let found: Vec<_> = worker.under_way.iter().map(|job| (job.0.group(), is_over(job))).collect();
        assert_eq!(found, [(a.as_str(), true), (b.as_str(), false), (a.as_str(), false)]);
    }

    #[test]
    fn what_makes_an_app_ready_ends_when_anyone_may_want_the_device() {
        let tree = Tree::new();
        let mut worker = tree.worker();
        let file = brisk_core::launch::PrefetchFile {
            file: brisk_core::pages::MappedFile { device: 1, inode: 2, path: "/no/such/file".to_owned() },
            version: (1, 4096).into(),
        };
        let pieces = vec![brisk_core::launch::Piece { file: 0, offset_bytes: 0, size_bytes: 4096 }];
        let once = |id: &str| Once::MakeReady {
            group: id.to_owned(),
            most_bytes: 1 << 20,
            files: vec![file.clone()],
            pieces: pieces.clone(),
        };
        assert!(!worker.end_ready(), "nothing is read yet");
        let of = |id: &str, worker: &mut Worker| {
            assert_eq!(worker.begin(&once(id)), Outcome::Begun);
            let changed = Outcome::Prefetched { read_bytes: 0, changed_files: 1, complete: true };
            assert_eq!(wait(worker, 1), [("make_ready", changed)]);
        };
        of("org.example.A", &mut worker);
        // As if these were being read.
        for id in ["org.example.A", "org.example.B"] {
            let begun = Begun { returns: 0, is_over: Arc::new(AtomicBool::new(false)) };
            worker.under_way.push((once(id), begun));
        }
        let over = |worker: &Worker| {
            let is_over = |(_, begun): &Job| Cancel { shared: Some((&worker.shared, begun)) }.is_over();
            worker.under_way.iter().map(is_over).collect::<Vec<_>>()
        };
        assert!(!worker.end_prefetch("org.example.C") && worker.end_prefetch("org.example.A"));
        assert_eq!(over(&worker), [true, false]);
        assert!(worker.end_ready());
        assert_eq!(over(&worker), [true, true]);
        worker.under_way.clear();
        of("org.example.A", &mut worker);
    }

    #[test]
    fn the_end_of_the_worker_ends_what_it_does() {
        let tree = Tree::new();
        let mut worker = tree.worker();
        assert_eq!(worker.begin(&tree.page_out("app-a-1.scope")), Outcome::Begun);
        let pipe = tree.opened();
        std::thread::scope(|scope| {
            scope.spawn(move || say(pipe, "app-a-1.scope"));
            drop(worker);
        });
    }
}
