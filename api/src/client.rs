//! The other end of the socket, for the command.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brisk_core::text::one_line;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::init::Init;
use crate::loss::Loss;
use crate::message::{Call, INTERFACE, Reply};

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// A connection to the daemon.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.get_ref().as_fd()
    }
}

/// Why the daemon did not answer, or not with what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The daemon does not run.
    #[error(
        "briskd does not run (no socket at {}): start it as root with '{}'",
        .path.display(), Init::of_machine().start()
    )]
    NotRunning {
        /// The socket.
        path: PathBuf,
    },
    /// This user may not ask.
    #[error(
        "no permission to ask briskd at {}: be root, or in the group that {} names",
        .path.display(), crate::dirs::config().display()
    )]
    NotAllowed {
        /// The socket.
        path: PathBuf,
    },
    /// The conversation broke.
    #[error("cannot talk to briskd at {}", .path.display())]
    Broken {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The daemon's answer is none to this call.
    #[error("briskd at {} answers what this brisk does not understand: are both of one version?", .path.display())]
    NotUnderstood {
        /// The socket.
        path: PathBuf,
        /// Where.
        source: serde_json::Error,
    },
    /// The daemon refused the call.
    #[error("briskd refuses: {what}")]
    Refused {
        /// Name of the error, without its interface.
        name: String,
        /// Why.
        what: String,
    },
}

impl Client {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// When no daemon listens there, or this user may not connect.
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                ClientError::NotRunning { path: path.to_owned() }
            }
            io::ErrorKind::PermissionDenied => ClientError::NotAllowed { path: path.to_owned() },
            _ => ClientError::Broken { path: path.to_owned(), source },
        })?;
        let client = Self { path: path.to_owned(), stream: BufReader::new(stream) };
        let stream = client.stream.get_ref();
        let set = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
        set.map_err(|source| client.broken(source))?;
        Ok(client)
    }

    /// Calls a method of brisk's interface with `parameters`; the value of that name in the answer.
    ///
    /// # Errors
    /// When the daemon refuses, does not answer in time, or answers something else.
    pub fn call<T: DeserializeOwned>(
        &mut self,
        method: &str,
        parameters: &[(&str, Value)],
        name: &str,
    ) -> Result<T, ClientError> {
        let answer = self.answer(method, parameters)?;
        let value = answer.get(name).cloned().unwrap_or(Value::Null);
        serde_json::from_value(value).map_err(|source| ClientError::NotUnderstood { path: self.path.clone(), source })
    }

    /// Calls a method of brisk's interface; all values of the answer.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn answer(&mut self, method: &str, parameters: &[(&str, Value)]) -> Result<Map<String, Value>, ClientError> {
        self.send(method, parameters, None)?;
        self.receive()
    }

    /// Subscribes to events; `receive` gets each, until it returns false.
    ///
    /// # Errors
    /// As [`Self::call`]; also when the daemon ends.
    pub fn monitor<T: DeserializeOwned>(&mut self, receive: impl FnMut(T) -> bool) -> Result<(), ClientError> {
        self.subscribe("Monitor", "happening", receive)
    }

    /// Subscribes to the apps of this user that are lost for want of memory; `receive` gets each, until it returns
    /// false, and `None` first, when the daemon listens.
    ///
    /// # Errors
    /// As [`Self::call`]; also when the daemon ends.
    pub fn watch_losses(&mut self, receive: impl FnMut(Option<Loss>) -> bool) -> Result<(), ClientError> {
        self.subscribe("WatchLosses", "loss", receive)
    }

    fn subscribe<T: DeserializeOwned>(
        &mut self,
        method: &str,
        name: &str,
        mut receive: impl FnMut(T) -> bool,
    ) -> Result<(), ClientError> {
        self.send(method, &[], Some(true))?;
        self.stream.get_ref().set_read_timeout(None).map_err(|source| self.broken(source))?;
        loop {
            let mut answer = self.receive()?;
            let value = answer.remove(name).unwrap_or(Value::Null);
            let happening = serde_json::from_value(value)
                .map_err(|source| ClientError::NotUnderstood { path: self.path.clone(), source })?;
            if !receive(happening) {
                return Ok(());
            }
        }
    }

    fn send(&mut self, method: &str, parameters: &[(&str, Value)], more: Option<bool>) -> Result<(), ClientError> {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let call =
            Call { method: format!("{INTERFACE}.{method}"), parameters: Some(parameters), more, ..Call::default() };
        let mut bytes = serde_json::to_vec(&call).map_err(|source| self.not_understood(source))?;
        bytes.push(0);
        self.stream.get_mut().write_all(&bytes).map_err(|source| self.broken(source))
    }

    fn receive(&mut self) -> Result<Map<String, Value>, ClientError> {
        let mut bytes = Vec::new();
        let outcome = io::Read::take(&mut self.stream, ANSWER_BYTES_MAX).read_until(0, &mut bytes);
        outcome.map_err(|source| self.broken(source))?;
        if bytes.pop() != Some(0) {
            return Err(self.broken(io::ErrorKind::UnexpectedEof.into()));
        }
        let reply: Reply = serde_json::from_slice(&bytes).map_err(|source| self.not_understood(source))?;
        let parameters = reply.parameters.unwrap_or_default();
        let Some(error) = reply.error else { return Ok(parameters) };
        let name = error.rsplit('.').next().unwrap_or_default().to_owned();
        let why = parameters.values().next().and_then(Value::as_str).unwrap_or_default();
        let app = one_line(why);
        let what = match name.as_str() {
            "NoSuchApp" => {
                format!(
                    "{app} is no app that runs: name its control group or a process of it ('brisk status --json' lists \
                     apps)"
                )
            }
            "NoSuchEngine" => {
                format!("the engine '{why}' does not run: [engines] order of the configuration may name it")
            }
            "NoSuchSetting" => format!("no setting named '{why}' is requested"),
            _ if why.is_empty() => error,
            "NotAllowed" | "BadConfig" | "CannotRestore" => why.to_owned(),
            _ => format!("{error} ({why})"),
        };
        Err(ClientError::Refused { name, what })
    }

    fn broken(&self, source: io::Error) -> ClientError {
        ClientError::Broken { path: self.path.clone(), source }
    }

    fn not_understood(&self, source: serde_json::Error) -> ClientError {
        ClientError::NotUnderstood { path: self.path.clone(), source }
    }
}
