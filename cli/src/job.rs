//! `brisk-job`, a name of this program for the daemon: runs one measurement, and passes on what it says
//! (`brisk_daemon::jobs` has the protocol). Standard input and output are the stream to the daemon.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use brisk_api::JobKind;
use brisk_core::causes::in_one_line;
use brisk_daemon::jobs::Order;
use brisk_program::child::{Signal, end_with_parent};
use brisk_sense::Sense;
use rustix::process::{Pid, kill_process_group};

use crate::tune;

/// An order is no longer.
const ORDER_BYTES_MAX: u64 = 16 << 10;
/// How long one that was asked to stop may take.
const STOPS_FOR: Duration = Duration::from_secs(90);

pub(crate) fn main() -> ExitCode {
    let (text, code) = match run() {
        Ok(code) => (String::new(), code),
        Err(error) => (format!("o {}\n", in_one_line(error.as_ref())), 2),
    };
    // Where the daemon is gone, no one asks.
    let _ = std::io::stdout().write_all(format!("{text}e {code}\n").as_bytes());
    ExitCode::SUCCESS
}

fn run() -> anyhow::Result<i32> {
    let mut line = String::new();
    let mut input = BufReader::new(std::io::stdin().take(ORDER_BYTES_MAX));
    input.read_line(&mut line).context("cannot read what is to be measured")?;
    let order: Order = serde_json::from_str(&line).context("this is no order of briskd")?;
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.arg0("brisk").args(["--verbose", "--color", "never"]).args(words(&order)?);
    command.env("BRISK_RUN_DIR", &order.run_dir).env("LC_ALL", "C.UTF-8").process_group(0);
    let (said, saying) = std::io::pipe().context("cannot make a pipe")?;
    command.stdin(Stdio::null()).stdout(saying.try_clone()?).stderr(saying);
    end_with_parent(&mut command, Signal::INT);
    let mut child = command.spawn().context("cannot start the measurement")?;
    // Its ends of the pipe.
    drop(command);
    let group = Pid::from_raw(child.id().cast_signed()).context("it has no process id")?;
    std::thread::spawn(move || {
        // The daemon says nothing more: its end is what counts.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = kill_process_group(group, Signal::INT);
        std::thread::sleep(STOPS_FOR);
        let _ = kill_process_group(group, Signal::KILL);
    });
    let mut out = std::io::stdout();
    for line in BufReader::new(said).split(b'\n') {
        let line = line.context("cannot read what the measurement says")?;
        let _ = out.write_all(&[b"o ", line.as_slice(), b"\n"].concat()).and_then(|()| out.flush());
    }
    let status = child.wait().context("cannot wait for the measurement")?;
    Ok(status.code().unwrap_or(2))
}

/// The words of the command.
fn words(order: &Order) -> anyhow::Result<Vec<String>> {
    let text = |path: &PathBuf| path.display().to_string();
    let mut words = vec![order.job.name().to_owned(), "--profiles".to_owned(), text(&order.profiles)];
    let device = order.device.clone();
    match order.job {
        JobKind::Tune => {
            if order.config.exists() {
                words.extend(["--config".to_owned(), text(&order.config)]);
            }
            words.extend(["--run-dir".to_owned(), text(&order.run_dir)]);
            words.extend(device);
        }
        JobKind::Bench | JobKind::Profile => {
            if order.job == JobKind::Bench {
                words.extend(["--quick", "--save"].map(str::to_owned));
            }
            let place = match &device {
                Some(device) => match tune::place_on(&Sense::default(), device)? {
                    Ok(place) => place,
                    Err(why) => bail!("{device} cannot be measured: {why}"),
                },
                // Where the system has its data.
                None => order.profiles.parent().unwrap_or(&order.profiles).to_owned(),
            };
            words.push(text(&place));
        }
    }
    Ok(words)
}
