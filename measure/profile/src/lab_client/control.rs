//! Protocol of the server's socket: one JSON document a line, a reply to each command.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::lab_client::error::{Error, Result, io as failed};
use crate::lab_client::fidelity::{CpuPressure, Fidelity, Overhead};
use crate::lab_client::statistics::{Lateness, Requests};

/// Time limit of a reply; the server replies between two requests.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);

/// A fault to inject, or the end of faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum FaultOrder {
    /// All requests fail, and what was not flushed is lost in part.
    PowerCut {
        /// Seed of the choice of lost pages.
        seed: u64,
    },
    /// The end of the power cut.
    PowerOn,
    /// Reads of the range fail.
    ReadError { offset_bytes: u64, len_bytes: u64 },
    /// Requests to the range hang until the time is over or faults are cleared, then fail as timed out.
    Timeout {
        offset_bytes: u64,
        len_bytes: u64,
        /// Time; absent: until cleared.
        for_ms: Option<u64>,
    },
    /// The end of all read errors and time-outs.
    Clear,
}

/// What the server learns once the device is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    /// The block device, such as `/dev/loop3`.
    pub device: String,
    /// What the lab itself costs.
    pub overhead: Overhead,
    /// Driver tags that were set, and requests in flight when they were tried.
    pub depth_requests: (u32, u32),
    /// Whether replies come at the model's instants.
    pub timed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum ServerCommand {
    Status,
    /// Change parameters of the model, switch time, reset the counters.
    Set {
        parameters: Vec<(String, String)>,
        /// Whether replies come at the model's instants; absent: as before.
        timed: Option<bool>,
        /// Whether all counters start anew.
        reset_counters: bool,
    },
    /// Each request takes a fixed time, for calibration.
    Fixed {
        service_ns: u64,
    },
    /// The device is complete. Until then the server does not outlive the connection over which it was set up.
    Commit(Commit),
    Fault(FaultOrder),
    Exit,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum ServerReply {
    Done,
    Status(Box<Status>),
    PowerCut {
        /// Pages that lost what was written to them.
        lost_pages: u64,
    },
    Refused {
        reason: String,
    },
}

/// Status of a lab device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Number of the lab device.
    pub id: u32,
    /// The block device, such as `/dev/loop3`.
    pub device: String,
    /// Name of the preset, marked when parameters were changed.
    pub preset: String,
    pub size_bytes: u64,
    pub seed: u64,
    /// The server's process.
    pub server_pid: u32,
    /// Whether replies are timed by the model.
    pub timed: bool,
    /// Whether the emulated device has power.
    pub powered: bool,
    /// Most requests in flight of the block layer: the driver tags.
    pub depth_requests: u32,
    /// Parameters of the model by name.
    pub parameters: Vec<(String, String)>,
    /// Bytes of the device in memory.
    pub data_bytes: u64,
    /// Pages whose earlier content is kept for a power cut.
    pub undo_pages: u64,
    /// The lab's own overhead.
    pub overhead: Option<Overhead>,
    /// Requests since the reset.
    pub requests: Requests,
    /// Lateness since the reset.
    pub lateness: Lateness,
    pub cpu_pressure: Option<CpuPressure>,
    /// The model's counters since the device was made: operations, energy, wear.
    pub model: serde_json::Value,
    /// Whether its times can be trusted.
    pub fidelity: Fidelity,
}

#[derive(Debug)]
pub struct Connection {
    stream: BufReader<UnixStream>,
}

impl Connection {
    /// Connects to the socket of a server.
    ///
    /// # Errors
    /// When nothing listens there.
    pub fn open(socket: &Path) -> Result<Self> {
        Self::over(UnixStream::connect(socket).map_err(failed("talk to the lab server"))?)
    }

    /// Talks over a socket that is connected already.
    ///
    /// # Errors
    /// When the socket takes no time limits.
    pub fn over(stream: UnixStream) -> Result<Self> {
        stream
            .set_read_timeout(Some(REPLY_TIMEOUT))
            .and_then(|()| stream.set_write_timeout(Some(REPLY_TIMEOUT)))
            .map_err(failed("talk to the lab server"))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Gives an order and waits for the answer.
    ///
    /// # Errors
    /// When the server refuses it, or does not answer in time.
    pub fn order(&mut self, order: &ServerCommand) -> Result<ServerReply> {
        let mut line = serde_json::to_vec(order).map_err(failed("write an order"))?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(failed("give an order to the lab server"))?;
        self.answer()
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// When it is a refusal, or does not come in time.
    pub fn answer(&mut self) -> Result<ServerReply> {
        let mut answer = String::new();
        match self.stream.read_line(&mut answer) {
            Ok(0) => Err(Error::Refused("the lab server ended without an answer".to_owned())),
            Ok(_) => match serde_json::from_str(&answer).map_err(failed("read the lab server's answer"))? {
                ServerReply::Refused { reason } => Err(Error::Refused(reason)),
                answer => Ok(answer),
            },
            Err(error) => Err(failed("get an answer from the lab server (is it stopped?)")(error)),
        }
    }

    /// Asks for the status.
    ///
    /// # Errors
    /// When the server does not give it.
    pub fn status(&mut self) -> Result<Status> {
        match self.order(&ServerCommand::Status)? {
            ServerReply::Status(status) => Ok(*status),
            other => Err(Error::Refused(format!("the lab server answered something else: {other:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commands_round_trip() {
        for order in [
            ServerCommand::Status,
            ServerCommand::Set { parameters: vec![("a".into(), "1".into())], timed: Some(false), reset_counters: true },
            ServerCommand::Fault(FaultOrder::Timeout { offset_bytes: 0, len_bytes: 4096, for_ms: None }),
            ServerCommand::Exit,
        ] {
            let text = serde_json::to_string(&order).expect("JSON");
            assert!(!text.contains('\n'));
            assert_eq!(serde_json::from_str::<ServerCommand>(&text).expect("the same"), order);
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_the_parser_panic(text in ".*") {
            let _ = serde_json::from_str::<ServerCommand>(&text);
        }
    }
}
