//! Which streams a sound server plays and records: a client of PulseAudio's native protocol, which PipeWire serves as
//! well (pipewire-pulse). It is small for these calls, and its crates bring an async runtime, so it is written here
//! (PulseAudio: PROTOCOL, src/pulsecore/native-common.h, tagstruct.h).
//!
//! A packet is a descriptor of five numbers (length, channel, two of an offset, flags) and a command: number, tag,
//! values. Numbers are big-endian; each value begins with a letter for its type.
//!
//! Properties: `streams_that_run_are_told_with_their_processes`; `no_bytes_make_it_panic`.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server that answers later than this does not.
const PATIENCE: Duration = Duration::from_secs(10);
/// The first version that tells whether a stream stands still. Later ones have more in each entry.
const VERSION: u32 = 19;
/// Packets that are longer are none of ours.
const PACKET_BYTES_MAX: u32 = 1 << 20;
const COOKIE_BYTES: usize = 256;
/// Channel of commands, and tag of what was not asked.
const NONE: u32 = u32::MAX;

const ERROR: u32 = 0;
const REPLY: u32 = 2;
const AUTH: u32 = 8;
const SET_CLIENT_NAME: u32 = 9;
const CLIENTS: u32 = 28;
const SINK_INPUTS: u32 = 30;
const SOURCE_OUTPUTS: u32 = 32;
const SUBSCRIBE: u32 = 35;
/// Streams that play (4) and that record (8).
const STREAMS: u32 = 0x4 | 0x8;

/// A connection to a sound server.
#[derive(Debug)]
pub(crate) struct Pulse {
    stream: UnixStream,
    tag: u32,
}

/// A stream that runs, by what its program or the server says of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    /// The process as it knows itself: within a sandbox by another number.
    pub(crate) pid: Option<u32>,
    /// Name of its program's file.
    pub(crate) binary: Option<String>,
    /// The process at the other end of the connection to PipeWire.
    pub(crate) peer_pid: Option<u32>,
}

/// A value of a packet; of most types only their length matters.
#[derive(Debug, PartialEq)]
enum Value {
    Number(u32),
    Flag(bool),
    Properties(BTreeMap<String, String>),
    Other,
}

/// Where the sound server of this user listens; `None` where that is no socket of this machine.
pub(crate) fn socket() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(server) = variable("PULSE_SERVER") {
        let path = server.split_whitespace().next()?;
        let path = path.strip_prefix("unix:").unwrap_or(path);
        return path.starts_with('/').then(|| path.into());
    }
    let dir = variable("PULSE_RUNTIME_PATH").map(PathBuf::from);
    let dir = dir.or_else(|| variable("XDG_RUNTIME_DIR").map(|dir| Path::new(&dir).join("pulse")));
    dir.map(|dir| dir.join("native"))
}

/// What proves that the client is of this user, where the socket itself does not.
fn cookie() -> Vec<u8> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let paths = [home.join(".config/pulse/cookie"), home.join(".pulse-cookie")];
    let found = paths.iter().find_map(|path| std::fs::read(path).ok().filter(|bytes| bytes.len() == COOKIE_BYTES));
    found.unwrap_or_else(|| vec![0; COOKIE_BYTES])
}

fn number(value: u32) -> Vec<u8> {
    let mut bytes = vec![b'L'];
    bytes.extend(value.to_be_bytes());
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [&[b't'][..], text.as_bytes(), &[0]].concat()
}

fn arbitrary(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(0);
    [&[b'x'][..], &length.to_be_bytes(), bytes].concat()
}

/// One property, and the end of properties.
fn property(key: &str, value: &str) -> Vec<u8> {
    let value = [value.as_bytes(), &[0]].concat();
    let length = number(u32::try_from(value.len()).unwrap_or(0));
    [&[b'P'][..], &text(key), &length, &arbitrary(&value), b"N"].concat()
}

impl Pulse {
    /// Connects to the server at `path`, and asks it to tell when a stream begins, ends or changes.
    ///
    /// # Errors
    /// When there is none, or it does not take this client.
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        Self::greet(UnixStream::connect(path)?)
    }

    fn greet(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut pulse = Self { stream, tag: 0 };
        let answer = pulse.call(AUTH, &[number(VERSION), arbitrary(&cookie())].concat())?;
        match value(&mut &answer[..]) {
            Some(Value::Number(version)) if version & 0xffff >= VERSION => {}
            _ => {
                return Err(io::Error::new(ErrorKind::Unsupported, "it is too old to say which streams run"));
            }
        }
        pulse.call(SET_CLIENT_NAME, &property("application.name", "brisk-session"))?;
        pulse.call(SUBSCRIBE, &number(STREAMS))?;
        Ok(pulse)
    }

    /// The streams that run now.
    ///
    /// # Errors
    /// When the server has ended, or answers what is not understood.
    pub(crate) fn streams(&mut self) -> io::Result<Vec<Stream>> {
        let not_understood = || io::Error::new(ErrorKind::InvalidData, "the sound server's answer is not understood");
        let clients = self.call(CLIENTS, &[])?;
        let clients = parse_clients(&clients).ok_or_else(not_understood)?;
        let mut streams = Vec::new();
        for command in [SINK_INPUTS, SOURCE_OUTPUTS] {
            let answer = self.call(command, &[])?;
            streams.extend(parse_streams(&answer, &clients).ok_or_else(not_understood)?);
        }
        Ok(streams)
    }

    /// Takes in what the server said by itself: streams may have changed.
    ///
    /// # Errors
    /// When the server has ended.
    pub(crate) fn take(&mut self) -> io::Result<()> {
        self.packet().map(drop)
    }

    /// What the server answers to a command.
    fn call(&mut self, command: u32, values: &[u8]) -> io::Result<Vec<u8>> {
        self.tag = self.tag.wrapping_add(1) & 0xffff;
        let body = [&number(command)[..], &number(self.tag), values].concat();
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let descriptor: Vec<u8> = [length, NONE, 0, 0, 0].into_iter().flat_map(u32::to_be_bytes).collect();
        self.stream.write_all(&[descriptor, body].concat())?;
        loop {
            let packet = self.packet()?;
            let mut rest = &packet[..];
            let (Some(Value::Number(kind)), Some(Value::Number(tag))) = (value(&mut rest), value(&mut rest)) else {
                continue;
            };
            match kind {
                REPLY if tag == self.tag => return Ok(rest.to_vec()),
                ERROR if tag == self.tag => return Err(io::Error::other("the sound server refuses this client")),
                // Told by itself; what it is about is listed anew.
                _ => {}
            }
        }
    }

    /// The next packet; of channels with sound none comes.
    fn packet(&mut self) -> io::Result<Vec<u8>> {
        let mut descriptor = [0; 20];
        self.stream.read_exact(&mut descriptor)?;
        let length = u32::from_be_bytes([descriptor[0], descriptor[1], descriptor[2], descriptor[3]]);
        if length > PACKET_BYTES_MAX {
            return Err(io::Error::new(ErrorKind::InvalidData, "the sound server's packet is too long"));
        }
        let mut packet = vec![0; length as usize];
        self.stream.read_exact(&mut packet)?;
        Ok(packet)
    }
}

impl AsFd for Pulse {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Properties of clients, by their number.
fn parse_clients(mut bytes: &[u8]) -> Option<BTreeMap<u32, BTreeMap<String, String>>> {
    let mut clients = BTreeMap::new();
    while !bytes.is_empty() {
        let Value::Number(client) = value(&mut bytes)? else { return None };
        // Name, module, driver.
        let properties = loop {
            if let Value::Properties(properties) = value(&mut bytes)? {
                break properties;
            }
        };
        clients.insert(client, properties);
    }
    Some(clients)
}

/// Streams that run, of a list of sink inputs or source outputs: an entry ends with its properties and whether it
/// stands still.
fn parse_streams(mut bytes: &[u8], clients: &BTreeMap<u32, BTreeMap<String, String>>) -> Option<Vec<Stream>> {
    let mut streams = Vec::new();
    while !bytes.is_empty() {
        let mut values = Vec::new();
        let own = loop {
            match value(&mut bytes)? {
                Value::Properties(properties) => break properties,
                value => values.push(value),
            }
        };
        let Value::Flag(stands_still) = value(&mut bytes)? else { return None };
        if stands_still {
            continue;
        }
        // Index, name, module, client, ...
        let client = match values.get(3)? {
            Value::Number(client) => clients.get(client),
            _ => return None,
        };
        let of = |key: &str| own.get(key).or_else(|| client?.get(key));
        let pid = |key: &str| of(key)?.parse().ok().filter(|pid: &u32| *pid > 0);
        streams.push(Stream {
            pid: pid("application.process.id"),
            binary: of("application.process.binary").cloned(),
            peer_pid: pid("pipewire.sec.pid"),
        });
    }
    Some(streams)
}

/// Takes the next value off; `None` when there is none that is understood.
fn value(bytes: &mut &[u8]) -> Option<Value> {
    let value = match take(bytes, 1)?[0] {
        b'L' => Value::Number(u32::from_be_bytes(take(bytes, 4)?.try_into().ok()?)),
        b'1' => Value::Flag(true),
        b'0' => Value::Flag(false),
        b't' => {
            take_text(bytes)?;
            Value::Other
        }
        b'P' => Value::Properties(properties(bytes)?),
        kind => {
            let length = match kind {
                b'N' => 0,
                b'B' => 1,
                // A time in two ways, a volume, 64 bits with and without a sign.
                b'U' | b'T' | b'R' | b'r' => 8,
                b'V' => 4,
                // Format, channels, rate.
                b'a' => 6,
                b'x' => u32::from_be_bytes(take(bytes, 4)?.try_into().ok()?) as usize,
                // Of each channel a place, or a volume.
                b'm' => usize::from(take(bytes, 1)?[0]),
                b'v' => 4 * usize::from(take(bytes, 1)?[0]),
                _ => return None,
            };
            take(bytes, length)?;
            Value::Other
        }
    };
    Some(value)
}

fn properties(bytes: &mut &[u8]) -> Option<BTreeMap<String, String>> {
    let mut properties = BTreeMap::new();
    loop {
        match take(bytes, 1)?[0] {
            b'N' => return Some(properties),
            b't' => {}
            _ => return None,
        }
        let key = take_text(bytes)?;
        let Value::Number(_) = value(bytes)? else { return None };
        let b'x' = take(bytes, 1)?[0] else { return None };
        let length = u32::from_be_bytes(take(bytes, 4)?.try_into().ok()?) as usize;
        let data = take(bytes, length)?;
        // A text ends with a zero.
        if let Some(text) = data.strip_suffix(&[0]).and_then(|text| std::str::from_utf8(text).ok()) {
            properties.insert(key, text.to_owned());
        }
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let text = take(bytes, end)?;
    take(bytes, 1)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(values: &[u8]) -> Vec<u8> {
        let length = u32::try_from(values.len()).expect("short");
        let descriptor: Vec<u8> = [length, NONE, 0, 0, 0].into_iter().flat_map(u32::to_be_bytes).collect();
        [descriptor, values.to_vec()].concat()
    }

    fn client(number_of: u32, properties: &[u8]) -> Vec<u8> {
        [&number(number_of)[..], &text("a"), &number(NONE), &text("protocol-native.c"), properties].concat()
    }

    /// A stream as version 19 has it; one that plays has a volume, and whether it is muted.
    fn stream(client: u32, plays: bool, properties: &[u8], stands_still: bool) -> Vec<u8> {
        let flag = |is: bool| vec![if is { b'1' } else { b'0' }];
        let mut bytes = [&number(9)[..], &text("music"), &number(NONE), &number(client), &number(0)].concat();
        // 44.1 kHz, 16 bits, two channels.
        bytes.extend([b'a', 3, 2, 0, 0, 0xac, 0x44, b'm', 2, 1, 2]);
        if plays {
            bytes.extend([b'v', 2, 0, 1, 0, 0, 0, 1, 0, 0]);
        }
        bytes.extend([b'U', 0, 0, 0, 0, 0, 0, 0, 1, b'U', 0, 0, 0, 0, 0, 0, 0, 2]);
        bytes.extend([text("speex-float-1"), text("protocol-native.c")].concat());
        if plays {
            bytes.extend(flag(false));
        }
        [&bytes[..], properties, &flag(stands_still)].concat()
    }

    /// Serves one client as a server would, with these lists; events come in between.
    fn serve(mut stream: UnixStream, lists: &BTreeMap<u32, Vec<u8>>) -> io::Result<()> {
        loop {
            let mut descriptor = [0; 20];
            stream.read_exact(&mut descriptor)?;
            let mut body = vec![0; u32::from_be_bytes(descriptor[..4].try_into().expect("four")) as usize];
            stream.read_exact(&mut body)?;
            let mut rest = &body[..];
            let (Some(Value::Number(command)), Some(Value::Number(tag))) = (value(&mut rest), value(&mut rest)) else {
                panic!("{body:?}");
            };
            stream.write_all(&packet(&[number(66), number(NONE), number(4), number(9)].concat()))?;
            let values = match command {
                AUTH => number(35),
                SET_CLIENT_NAME => number(7),
                SUBSCRIBE => Vec::new(),
                list => lists[&list].clone(),
            };
            stream.write_all(&packet(&[number(REPLY), number(tag), values].concat()))?;
        }
    }

    #[test]
    fn streams_that_run_are_told_with_their_processes() {
        let empty = b"PN".to_vec();
        let clients =
            [client(3, &property("application.process.id", "4711")), client(4, &property("pipewire.sec.pid", "77"))];
        let plays = [stream(3, true, &empty, false), stream(3, true, &empty, true), stream(NONE, true, &empty, false)];
        let records = stream(4, false, &property("application.process.binary", "obs"), false);
        let lists = [(CLIENTS, clients.concat()), (SINK_INPUTS, plays.concat()), (SOURCE_OUTPUTS, records)]
            .into_iter()
            .collect();
        let (own, other) = UnixStream::pair().expect("sockets");
        std::thread::spawn(move || serve(other, &lists));
        let mut pulse = Pulse::greet(own).expect("a server");
        let expected = [
            Stream { pid: Some(4711), ..Stream::default() },
            Stream::default(),
            Stream { peer_pid: Some(77), binary: Some("obs".to_owned()), ..Stream::default() },
        ];
        assert_eq!(pulse.streams().expect("understood"), expected);
        assert_eq!(pulse.streams().expect("again").len(), 3);
    }

    /// A program that is ended when dropped.
    struct Program(std::process::Child);

    impl Drop for Program {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_real_server_tells_who_plays_and_who_records() {
        brisk_requires::requires!(Program("pulseaudio"), Program("pacat"));
        let dir = tempfile::tempdir().expect("a directory");
        let start = |program: &str, arguments: &[&str]| {
            let mut command = std::process::Command::new(program);
            command
                .args(arguments)
                .env("XDG_RUNTIME_DIR", dir.path())
                .env("HOME", dir.path())
                .env_remove("PULSE_SERVER");
            let null = std::process::Stdio::null;
            Program(command.stdin(null()).stdout(null()).stderr(null()).spawn().expect("it starts"))
        };
        std::fs::create_dir(dir.path().join("pulse")).expect("made");
        let _server = start(
            "pulseaudio",
            &[
                "-n",
                "--daemonize=no",
                "--exit-idle-time=-1",
                "-L",
                "module-null-sink",
                "-L",
                "module-native-protocol-unix",
            ],
        );
        let begun = std::time::Instant::now();
        let mut pulse = loop {
            match Pulse::connect(&dir.path().join("pulse/native")) {
                Ok(pulse) => break pulse,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
        };
        assert_eq!(pulse.streams().expect("understood"), []);
        // Each change is told: nothing is asked before.
        let mut wait_for = |pids: &[u32]| {
            loop {
                let streams = pulse.streams().expect("understood");
                let mut found: Vec<u32> = streams.iter().filter_map(|stream| stream.pid).collect();
                found.sort_unstable();
                if found == pids {
                    return streams;
                }
                pulse.take().expect("an event within the patience");
            }
        };
        let player = start("pacat", &["--playback", "/dev/zero"]);
        let streams = wait_for(&[player.0.id()]);
        assert_eq!(streams[0].binary.as_deref(), Some("pacat"));
        let recorder = start("pacat", &["--record", "/dev/null"]);
        let mut both = [player.0.id(), recorder.0.id()];
        both.sort_unstable();
        wait_for(&both);
        drop(player);
        wait_for(&[recorder.0.id()]);
    }

    #[test]
    fn an_old_server_is_none() {
        let (own, mut other) = UnixStream::pair().expect("sockets");
        other.write_all(&packet(&[number(REPLY), number(1), number(15)].concat())).expect("written");
        assert_eq!(Pulse::greet(own).expect_err("too old").kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = [stream(3, true, &property("k", "v"), false), client(3, b"PN")].concat();
        for end in 0..whole.len() {
            for at in 0..end {
                let mut bytes = whole[..end].to_vec();
                bytes[at] ^= 0x55;
                let _ = (parse_clients(&bytes), parse_streams(&bytes, &BTreeMap::new()));
            }
        }
        assert_eq!(parse_streams(b"x\xff\xff\xff\xff", &BTreeMap::new()), None);
    }
}
