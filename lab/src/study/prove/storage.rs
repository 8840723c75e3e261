//! The storage part of `brisk prove`: an app that reads concurrent with background writers, with the daemon and
//! without.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::launch::scope::Scope;
use crate::phone::{Companion, Phone};
use crate::results::{Direction, Header, ProfileMeter, ProveStorage};
use anyhow::Context as _;
use brisk_bench::study::Common;
use brisk_bench::study::jobs::{self, Options, Turns};
use brisk_bench::{Control, Error, Result};
use brisk_command::session::Session;
use brisk_profile::lab_client::Client;
use brisk_profile::meter::{self, About, Meter, Work};
use brisk_sense::Sense;

/// Readers, and as many writers: as in dissertation 4.5.2.
const STREAMS: u32 = 4;
/// The same (4.2.3).
const BLOCK_BYTES: u64 = 4096;
/// About how long the writers take without readers: a multiple of the time in which the daemon sees an app.
const LENGTH: Duration = Duration::from_secs(2);

/// Measures on `phone`, with the daemon that `command` starts and without; each `runs` times. `done` of the whole proof
/// was done before; nothing when it was stopped.
pub(super) fn measure(
    session: &Session,
    phone: &Phone,
    command: &[OsString],
    runs: u16,
    done: f64,
) -> anyhow::Result<Option<(ProveStorage, Header)>> {
    let sense = session.sense();
    let device = phone.device()?;
    let disk = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let emulated = Client::new(session.run_dir()).find(&disk);
    let emulated = emulated.with_context(|| format!("the lab does not know the phone's device {disk}"))?;
    let meter = meter::choose(&sense, Some(emulated), &disk, None)?;
    let about = in_words(&meter.about());
    let own = std::env::current_exe().context("cannot tell where this program is")?;
    let options = Options {
        common: Common {
            path: phone.home(),
            destroy_data: false,
            block_bytes: BLOCK_BYTES,
            runs: runs.into(),
            engine: None,
            seed: 1,
        },
        streams: STREAMS,
        length: LENGTH,
        program: vec![own.into(), "lab".into(), "stream-process".into()],
    };
    let socket = phone.state_dir().join("notify");
    let mut turns = OnPhone { phone, sense: sense.clone(), command, socket, meter, now: None };
    let progress = |share: f64, doing: &str| session.show(done + (1.0 - done) * share, doing);
    let control = Control { stop: session.stop_flag(), progress: &progress };
    let outcome = jobs::run(&sense, &options, &mut turns, &control);
    session.clear();
    match outcome {
        Ok(outcome) => {
            let storage = ProveStorage { block_bytes: BLOCK_BYTES, meter: about, jobs: outcome.jobs };
            Ok(Some((storage, outcome.header)))
        }
        Err(Error::Stopped) => Ok(None),
        Err(error) => Err(anyhow::Error::from(error).context("cannot measure readers and writers")),
    }
}

fn in_words(about: &About) -> ProfileMeter {
    ProfileMeter {
        name: about.kind.name().to_owned(),
        what: about.what.clone(),
        uncertainty: about.uncertainty.clone(),
    }
}

/// Turns on a phone. The readers are an app in a control group of its own, as a desktop would make it; the writers are
/// where the phone's background writer is.
struct OnPhone<'a> {
    phone: &'a Phone,
    sense: Sense,
    command: &'a [OsString],
    socket: PathBuf,
    meter: Box<dyn Meter>,
    now: Option<Turn>,
}

/// What there is during a turn. The daemon goes after the app, as it does around launches.
#[derive(Default)]
struct Turn {
    app: Option<Scope>,
    daemon: Option<Companion>,
    daemon_cpu_ns: u64,
}

impl Turns for OnPhone<'_> {
    fn enter(&mut self, with: bool) -> Result<()> {
        let daemon = with.then(|| Companion::start(self.command, self.socket.clone())).transpose();
        self.now = Some(Turn { daemon: daemon.map_err(surroundings)?, ..Turn::default() });
        Ok(())
    }

    fn place(&mut self, direction: Direction, pid: u32) -> Result<()> {
        let Some(turn) = self.now.as_mut().filter(|_| direction == Direction::Read) else {
            return self.phone.put_in_background(pid).map_err(surroundings);
        };
        let scope = Scope::create(&self.sense, "readers").map_err(surroundings)?;
        self.phone.put_in_app(&scope, pid).map_err(surroundings)?;
        turn.app = Some(scope);
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        if let Some(turn) = &mut self.now {
            turn.daemon_cpu_ns = turn.daemon.as_ref().and_then(Companion::cpu_ns).unwrap_or_default();
        }
        self.meter.begin().map_err(surroundings)
    }

    fn leave(&mut self, cpu_ns: u64, requests: u64) -> Result<f64> {
        let turn = self.now.take().unwrap_or_default();
        let daemon_ns = turn.daemon.as_ref().and_then(Companion::cpu_ns).unwrap_or(turn.daemon_cpu_ns);
        let work = Work { cpu_ns: cpu_ns + daemon_ns.saturating_sub(turn.daemon_cpu_ns), requests };
        let energy_uj = self.meter.end(&work).map_err(surroundings)?;
        drop(turn.app);
        if let Some(daemon) = turn.daemon {
            daemon.stop().map_err(surroundings)?;
        }
        Ok(energy_uj)
    }
}

fn surroundings(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Surroundings(Box::new(error))
}
