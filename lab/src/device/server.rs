//! The server: one real-time thread that receives requests from the kernel and replies at the model's times.
//!
//! Between two events it sleeps until shortly before the next one is due and spins for the rest, because a timer alone
//! is 12 to 23 us late. It never waits for anything that could wait for it: no write to a disk, no access to its own
//! device. Operations on the device (attach, settings, detach) run in other processes, `up` and `down`.
//!
//! It ends on command. When the process that sets it up dies before the device is complete, and on SIGTERM, it starts
//! `down` for itself, because a device can be detached in order only while it is served.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::flash::{Device, Fault, Preset};
use brisk_core::causes::in_one_line;
use brisk_profile::lab_client::control::{Commit, FaultOrder, ServerCommand, ServerReply, Status};
use brisk_profile::lab_client::state::{Record, StateDir, Transport};
use brisk_profile::lab_client::{CpuPressure, Requests};
use brisk_sense::{Resource, Sense};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::device::emulated::{Emulated, Reply, Timing};
use crate::device::error::{Result, io as failed, refused};
use crate::device::fidelity::{Evidence, judge};
use crate::device::front::Front;
use crate::device::lateness::LatenessHistogram;
use crate::device::log::log;
use crate::device::peer::Peer;
use crate::device::request::{Call, Received, Request};
use crate::device::store::Store;
use crate::device::{fuse, preset, realtime, ublk};

/// Time before a due reply at which sleep ends and spinning begins: 1.5 times the recent lateness of timers.
const SPIN_NS: std::ops::RangeInclusive<u64> = 20_000..=100_000;
/// Assumed lateness of a timer before the first measurement.
const OVERSLEEP_NS: u64 = 20_000;
/// Messages received in a row before replies are checked again.
const BURST: usize = 64;
/// The kernel updates pressure every two seconds, so the sum over a shorter time is imprecise.
const PRESSURE_WINDOW_MIN: Duration = Duration::from_secs(6);

/// Runs the server of the device whose state is in `dir`, until it gets the command to end.
///
/// The caller passes three descriptors as the standard ones: the device's lock as input, one end of a socket as output,
/// and the log as error output. The first reply on the socket, before any command, is the result of the start.
///
/// # Errors
/// When the device cannot be created; the reason is also sent through the socket.
pub fn serve(dir: &Path) -> Result<()> {
    brisk_program::log::serve();
    if StateDir::at(dir).is_none_or(|dir| dir.load().is_none()) {
        return Err(refused(format!("{} is not the directory of a lab device", dir.display())));
    }
    let (lock, stream) = take_descriptors()?;
    let mut up = Peer::new(stream, true);
    match Server::start(dir, lock) {
        Ok(mut server) => {
            up.say(&ServerReply::Done);
            server.clients.push(up);
            server.run()
        }
        Err(error) => {
            up.say(&ServerReply::Refused { reason: in_one_line(&error) });
            Err(error)
        }
    }
}

/// Moves lock and socket away from the standard descriptors, and leaves the session of the shell.
fn take_descriptors() -> Result<(File, UnixStream)> {
    let taken = (|| {
        let lock = io::stdin().as_fd().try_clone_to_owned()?;
        let stream = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
        stream.set_nonblocking(true)?;
        let null = File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        std::env::set_current_dir("/")?;
        // It may be a session leader already.
        let _ = rustix::process::setsid();
        Ok((File::from(lock), stream))
    })();
    taken.map_err(|error: io::Error| failed("leave the session of the shell")(error))
}

struct Server {
    dir: StateDir,
    record: Record,
    preset: Preset,
    emulated: Emulated,
    front: Front,
    listener: UnixListener,
    clients: Vec<Peer>,
    signals: UnixStream,
    commit: Option<Commit>,
    lateness: LatenessHistogram,
    pressure_at_reset: Option<(Instant, u64)>,
    refused: Vec<String>,
    epoch: Instant,
    /// Lateness of timers: a moving average.
    oversleep_ns: u64,
    /// Whether the kernel has released the device.
    gone: bool,
    /// Held as long as the server lives.
    _lock: File,
}

enum Next {
    Continue,
    End,
}

impl Server {
    fn start(dir: &Path, lock: File) -> Result<Self> {
        let no_state = || refused(format!("{} is not the directory of a lab device", dir.display()));
        let dir = StateDir::at(dir).ok_or_else(no_state)?;
        let record = dir.load().ok_or_else(no_state)?;
        let preset = preset::load(&record.preset, &record.set)?;
        let model = Device::new(&preset, record.size_bytes)?;
        let store = Store::new(record.size_bytes).map_err(failed("reserve memory for the data"))?;
        let refused = realtime::prepare();
        refused.iter().for_each(|what| log(&format!("refused by this machine: {what}")));
        let (signals, writer) = UnixStream::pair().map_err(failed("make a pipe for signals"))?;
        signals.set_nonblocking(true).map_err(failed("make a pipe for signals"))?;
        signal_hook::low_level::pipe::register(libc::SIGTERM, writer).map_err(failed("listen to SIGTERM"))?;
        let listener = UnixListener::bind(dir.socket())
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(failed(format!("listen on {}", dir.socket().display())))?;
        let front = match record.way {
            Transport::Fuse => Front::Fuse(fuse::Front::new(&dir.mount_point(), record.size_bytes)?),
            Transport::Ublk { mark } => {
                let (depth_requests, write_cache) = (preset.queue_depth_requests(), preset.write_cache());
                Front::Ublk(Box::new(ublk::Front::new(mark, record.size_bytes, depth_requests, write_cache)?))
            }
        };
        let mut server = Self {
            emulated: Emulated::new(store, model),
            dir,
            record,
            preset,
            front,
            listener,
            clients: Vec::new(),
            signals,
            commit: None,
            lateness: LatenessHistogram::default(),
            pressure_at_reset: None,
            refused,
            epoch: Instant::now(),
            oversleep_ns: OVERSLEEP_NS,
            gone: false,
            _lock: lock,
        };
        server.reset_counters();
        Ok(server)
    }

    fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    fn run(mut self) -> Result<()> {
        let mut replies = Vec::with_capacity(1024);
        loop {
            let mut busy = false;
            for _ in 0..BURST {
                match self.front.receive().map_err(failed("take a request of the kernel"))? {
                    Received::Request(request) => {
                        let now_ns = self.epoch.elapsed().as_nanos() as u64;
                        arrive(&mut self.emulated, now_ns, request);
                    }
                    Received::Own => {}
                    Received::Nothing => break,
                    Received::Gone => {
                        // The process that detached it also sends the command to end; nothing else is left to do.
                        self.gone = true;
                        break;
                    }
                }
                busy = true;
            }
            self.emulated.poll(self.now_ns(), &mut replies);
            for reply in replies.drain(..) {
                self.send(reply)?;
                busy = true;
            }
            if busy {
                continue;
            }
            let now_ns = self.now_ns();
            let sleep_ns = match self.emulated.next_due_ns() {
                Some(due_ns) if due_ns <= now_ns + self.spin_ns() => continue,
                Some(due_ns) => Some(due_ns - now_ns - self.spin_ns()),
                None => None,
            };
            if self.wait(sleep_ns)?
                && let Next::End = self.talk()?
            {
                return Ok(());
            }
        }
    }

    fn spin_ns(&self) -> u64 {
        (self.oversleep_ns * 3 / 2).clamp(*SPIN_NS.start(), *SPIN_NS.end())
    }

    /// Sleeps until an event or the end of the time; returns whether anything but a request happened.
    fn wait(&mut self, sleep_ns: Option<u64>) -> Result<bool> {
        let start_ns = self.now_ns();
        let timeout = sleep_ns.map(|ns| Timespec {
            tv_sec: (ns / 1_000_000_000).cast_signed(),
            tv_nsec: (ns % 1_000_000_000).cast_signed(),
        });
        let mut fds = Vec::with_capacity(3 + self.clients.len());
        let others: [BorrowedFd<'_>; 2] = [self.listener.as_fd(), self.signals.as_fd()];
        let clients = self.clients.iter().map(|client| client.as_fd());
        fds.extend(others.into_iter().chain(clients).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        if !self.gone {
            fds.push(PollFd::new(&self.front, PollFlags::IN));
        }
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(0) => {
                let late_ns = self.now_ns().saturating_sub(start_ns + sleep_ns.unwrap_or_default());
                // A single reply delayed by milliseconds by the host is not representative.
                self.oversleep_ns = (7 * self.oversleep_ns + late_ns.min(*SPIN_NS.end())) / 8;
                return Ok(false);
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Err(errno) => return Err(failed("wait for requests")(errno)),
        }
        Ok(fds[..2 + self.clients.len()].iter().any(|fd| !fd.revents().is_empty()))
    }

    fn send(&mut self, reply: Reply) -> Result<()> {
        let sent = self.front.reply(reply.unique, reply.outcome, &self.emulated.store);
        if let Some(due_ns) = reply.due_ns {
            self.lateness.record(self.now_ns().saturating_sub(due_ns), reply.service_ns);
        }
        sent.map_err(failed("reply to a request"))
    }

    /// Handles signals, new connections and commands.
    fn talk(&mut self) -> Result<Next> {
        if matches!((&self.signals).read(&mut [0; 64]), Ok(1..)) {
            log("SIGTERM: taking the device down");
            self.start_take_down();
        }
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push(Peer::new(stream, false));
            }
        }
        let mut next = Next::Continue;
        let mut orphaned = false;
        for mut peer in std::mem::take(&mut self.clients) {
            let open = peer.fill();
            while let Some(line) = peer.next_line() {
                let answer = match serde_json::from_slice(&line) {
                    Ok(ServerCommand::Exit) => {
                        next = Next::End;
                        ServerReply::Done
                    }
                    Ok(order) => self.execute(order),
                    Err(error) => ServerReply::Refused { reason: format!("this is not a command: {error}") },
                };
                peer.say(&answer);
            }
            if open {
                self.clients.push(peer);
            } else {
                orphaned |= peer.sets_up && self.commit.is_none();
            }
        }
        if orphaned {
            log("the process that set the device up is gone: taking the device down");
            self.start_take_down();
        }
        Ok(next)
    }

    fn execute(&mut self, order: ServerCommand) -> ServerReply {
        let refuse = |error: &dyn std::error::Error| ServerReply::Refused { reason: in_one_line(error) };
        match order {
            ServerCommand::Status => ServerReply::Status(Box::new(self.status())),
            ServerCommand::Fixed { service_ns } => {
                self.emulated.set_timing(self.now_ns(), Timing::Fixed { service_ns });
                self.reset_counters();
                ServerReply::Done
            }
            ServerCommand::Commit(commit) => {
                self.emulated.set_overhead_ns((commit.overhead.overhead_us_p50 * 1e3).max(0.0) as u64);
                self.set_timed(commit.timed);
                self.commit = Some(commit);
                self.reset_counters();
                ServerReply::Done
            }
            ServerCommand::Set { parameters, timed, reset_counters } => {
                match self.set_parameters(&parameters) {
                    Ok(()) => {}
                    Err(error) => return refuse(&error),
                }
                if let Some(timed) = timed {
                    self.set_timed(timed);
                }
                if reset_counters {
                    self.reset_counters();
                }
                ServerReply::Done
            }
            ServerCommand::Fault(fault) => self.fault(fault),
            ServerCommand::Exit => ServerReply::Done,
        }
    }

    fn set_parameters(&mut self, parameters: &[(String, String)]) -> Result<()> {
        if parameters.is_empty() {
            return Ok(());
        }
        let mut changed = self.preset.clone();
        for (name, value) in parameters {
            changed.set(name, value)?;
        }
        if changed.queue_depth_requests() != self.preset.queue_depth_requests() {
            return Err(refused(
                "the queue depth belongs to the block device: make a new one with brisk lab up --set".to_owned(),
            ));
        }
        if changed.write_cache() != self.preset.write_cache() && matches!(self.front, Front::Ublk(_)) {
            return Err(refused(
                "the write cache belongs to the block device, which flushes because of it: make a new one with brisk \
                 lab up --set"
                    .to_owned(),
            ));
        }
        self.emulated.reconfigure(self.now_ns(), &changed)?;
        self.preset = changed;
        self.record.set.extend_from_slice(parameters);
        Ok(())
    }

    fn set_timed(&mut self, timed: bool) {
        self.emulated.set_timing(self.now_ns(), if timed { Timing::Model } else { Timing::Off });
        if let Some(commit) = &mut self.commit {
            commit.timed = timed;
        }
        self.lateness.reset();
    }

    fn fault(&mut self, order: FaultOrder) -> ServerReply {
        let now_ns = self.now_ns();
        let (fault, until_ns) = match order {
            FaultOrder::PowerCut { seed } => {
                return ServerReply::PowerCut { lost_pages: self.emulated.power_cut(now_ns, seed) };
            }
            FaultOrder::PowerOn => {
                self.emulated.power_on();
                return ServerReply::Done;
            }
            FaultOrder::Clear => {
                self.emulated.clear_faults(now_ns);
                return ServerReply::Done;
            }
            FaultOrder::ReadError { offset_bytes, len_bytes } => (Fault::ReadError { offset_bytes, len_bytes }, None),
            FaultOrder::Timeout { offset_bytes, len_bytes, for_ms } => {
                let until_ns = for_ms.map(|ms| now_ns.saturating_add(ms.saturating_mul(1_000_000)));
                (Fault::Timeout { offset_bytes, len_bytes }, until_ns)
            }
        };
        match self.emulated.inject(fault, until_ns) {
            Ok(()) => ServerReply::Done,
            Err(crate::flash::SubmitError::Full) => {
                ServerReply::Refused { reason: "too many faults at a time".to_owned() }
            }
            Err(error) => ServerReply::Refused { reason: error.to_string() },
        }
    }

    fn status(&mut self) -> Status {
        let now_ns = self.now_ns();
        self.emulated.catch_up(now_ns);
        let requests = self.emulated.requests.clone();
        let lateness = self.lateness.summary();
        let timed = self.emulated.timing() == Timing::Model;
        let cpu_pressure = self.cpu_pressure();
        let depth_requests = self.commit.as_ref().map_or((0, 0), |commit| commit.depth_requests);
        let overhead = self.commit.as_ref().map(|commit| commit.overhead);
        let evidence = Evidence {
            overhead,
            lateness: &lateness,
            pressure: cpu_pressure,
            requests: &requests,
            depth_requests,
            timed,
            refused: &self.refused,
        };
        let fidelity = judge(evidence);
        let changed = if self.record.set.is_empty() { "" } else { " (changed)" };
        Status {
            id: self.dir.id,
            device: self.commit.as_ref().map_or_else(String::new, |commit| commit.device.clone()),
            preset: format!("{}{changed}", self.preset.name),
            size_bytes: self.record.size_bytes,
            seed: self.record.seed,
            server_pid: std::process::id(),
            timed,
            powered: self.emulated.is_powered(),
            depth_requests: depth_requests.0,
            parameters: self.preset.parameters().into_iter().map(|p| (p.name.to_owned(), p.value)).collect(),
            data_bytes: self.emulated.store.present_bytes(),
            undo_pages: self.emulated.undo_pages() as u64,
            overhead,
            requests,
            lateness,
            cpu_pressure,
            model: serde_json::to_value(self.emulated.model().counters()).unwrap_or_default(),
            fidelity,
        }
    }

    fn reset_counters(&mut self) {
        self.emulated.requests = Requests::default();
        self.emulated.reset_model_counters();
        self.lateness.reset();
        let waited = Sense::default().pressure(Resource::Cpu).ok().map(|p| p.some.total_us);
        self.pressure_at_reset = waited.map(|total_us| (Instant::now(), total_us));
    }

    fn cpu_pressure(&self) -> Option<CpuPressure> {
        let now = Sense::default().pressure(Resource::Cpu).ok()?;
        let (since, total_us) = self.pressure_at_reset?;
        let elapsed = since.elapsed();
        let waited_us = now.some.total_us.saturating_sub(total_us) as f64;
        let percent_since_reset = if elapsed < PRESSURE_WINDOW_MIN {
            now.some.avg10_percent
        } else {
            (100.0 * waited_us / elapsed.as_micros() as f64).min(100.0)
        };
        Some(CpuPressure { percent_since_reset, percent_avg10: now.some.avg10_percent })
    }

    /// Starts `down` for this device, which will end the server.
    fn start_take_down(&self) {
        let Some((program, arguments)) = self.record.take_down.split_first() else { return };
        let log_file = File::options().append(true).open(self.dir.log());
        let output = log_file.map_or_else(|_| Stdio::null(), Stdio::from);
        let mut down = Command::new(program);
        down.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
        if let Err(error) = down.spawn() {
            log(&format!("cannot start {program}: {error}"));
        }
    }
}

/// Passes a request of the kernel to the device.
fn arrive(emulated: &mut Emulated, now_ns: u64, Request { unique, call }: Request<'_>) {
    match call {
        Call::Read { offset_bytes, len_bytes } => emulated.read(now_ns, unique, offset_bytes, len_bytes),
        Call::Write { offset_bytes, data } => emulated.write(now_ns, unique, offset_bytes, data),
        Call::Flush => emulated.flush(now_ns, unique),
        Call::Discard { offset_bytes, len_bytes } => emulated.discard(now_ns, unique, offset_bytes, len_bytes),
    }
}
