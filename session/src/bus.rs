//! One call on the session bus: a desktop notification. D-Bus is so small for that, and its crates bring an async
//! runtime or a C library, that it is written here (D-Bus Specification 0.41, "Message Protocol").
//!
//! A message is a header (byte order, type, flags, version, lengths, serial, fields) and a body; each value begins at a
//! multiple of its size from the beginning of the message.
//!
//! Properties: `a_call_has_the_form_of_the_specification`; `answers_are_told_apart`; `no_answer_makes_it_panic`.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

/// A service that answers later than this does not.
const PATIENCE: Duration = Duration::from_secs(10);
/// Messages that are longer are none of ours.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
const CALL: u8 = 1;
const RETURN: u8 = 2;
const ERROR: u8 = 3;

/// A connection that the bus has greeted.
#[derive(Debug)]
pub(crate) struct Bus {
    stream: UnixStream,
    serial: u32,
}

/// Values in the order of a message.
#[derive(Debug, Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    fn number(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        // A zero would end it.
        let text = text.replace('\0', "");
        self.number(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    fn signature(&mut self, signature: &str) {
        self.0.push(u8::try_from(signature.len()).unwrap_or(u8::MAX));
        self.0.extend(signature.as_bytes());
        self.0.push(0);
    }

    /// A field of the header: its code, and a variant.
    fn field(&mut self, code: u8, signature: &str, value: &str) {
        self.align(8);
        self.0.push(code);
        self.signature(signature);
        if signature == "g" { self.signature(value) } else { self.text(value) }
    }
}

/// A method, by destination, path, interface and name.
#[derive(Debug, Clone, Copy)]
struct Method {
    destination: &'static str,
    path: &'static str,
    interface: &'static str,
    name: &'static str,
}

const HELLO: Method = Method {
    destination: "org.freedesktop.DBus",
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
    name: "Hello",
};
/// Desktop Notifications Specification 1.2.
const NOTIFY: Method = Method {
    destination: "org.freedesktop.Notifications",
    path: "/org/freedesktop/Notifications",
    interface: "org.freedesktop.Notifications",
    name: "Notify",
};

/// A whole call.
fn call(method: Method, serial: u32, signature: &str, body: &[u8]) -> Vec<u8> {
    let mut fields = Writer::default();
    fields.field(1, "o", method.path);
    fields.field(2, "s", method.interface);
    fields.field(3, "s", method.name);
    fields.field(6, "s", method.destination);
    if !signature.is_empty() {
        fields.field(8, "g", signature);
    }
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut message = Writer(vec![b'l', CALL, 0, 1]);
    message.number(length(body));
    message.number(serial);
    // The fields begin at 16, a multiple of all sizes: they are aligned as by themselves.
    message.number(length(&fields.0));
    message.0.extend(&fields.0);
    message.align(8);
    message.0.extend(body);
    message.0
}

/// The body of a notification.
fn notification(head: &str, text: &str) -> Vec<u8> {
    let mut body = Writer::default();
    body.text("brisk");
    // It replaces none.
    body.number(0);
    body.text("dialog-information");
    body.text(head);
    // Servers may read it as markup.
    body.text(&text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"));
    // No actions, no hints; the server decides how long it is shown (-1).
    body.number(0);
    body.number(0);
    body.align(8);
    body.number(u32::MAX);
    body.0
}

/// What a message that came is, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    kind: u8,
    /// Of the call that it answers.
    serial: Option<u32>,
    /// Name of the error.
    error: String,
}

/// Length of the whole message by its first 16 bytes; `None` where that is none.
fn length(head: &[u8; 16]) -> Option<usize> {
    let number = |at: usize| usize::try_from(u32::from_le_bytes(head[at..at + 4].try_into().ok()?)).ok();
    // The bus sends as the sender wrote: all senders of one machine have one order.
    (head[0] == b'l').then_some(())?;
    let fields = 16usize.checked_add(number(12)?)?.checked_next_multiple_of(8)?;
    fields.checked_add(number(4)?).filter(|length| *length <= MESSAGE_BYTES_MAX)
}

fn answer(message: &[u8]) -> Option<Answer> {
    let number = |at: usize| Some(u32::from_le_bytes(message.get(at..at + 4)?.try_into().ok()?));
    let mut answer = Answer { kind: *message.get(1)?, serial: None, error: String::new() };
    let end = 16usize.checked_add(usize::try_from(number(12)?).ok()?)?.min(message.len());
    let mut at = 16;
    while at < end {
        at = usize::next_multiple_of(at, 8);
        let (code, signature_bytes) = (*message.get(at)?, usize::from(*message.get(at + 1)?));
        let signature = message.get(at + 2..at + 2 + signature_bytes)?;
        at += 2 + signature_bytes + 1;
        match signature {
            b"u" => {
                at = usize::next_multiple_of(at, 4);
                if code == 5 {
                    answer.serial = number(at);
                }
                at += 4;
            }
            b"s" | b"o" => {
                at = usize::next_multiple_of(at, 4);
                let bytes = usize::try_from(number(at)?).ok()?;
                let text = message.get(at + 4..(at + 4).checked_add(bytes)?)?;
                if code == 4 {
                    answer.error = String::from_utf8_lossy(text).into_owned();
                }
                at += 4 + bytes + 1;
            }
            b"g" => at += 1 + usize::from(*message.get(at)?) + 1,
            _ => return None,
        }
    }
    Some(answer)
}

/// Where the session bus is: the first Unix socket of an address such as `unix:path=/run/user/1000/bus,guid=1`.
fn socket(address: &str) -> Option<SocketAddr> {
    address.split(';').filter_map(|one| one.strip_prefix("unix:")).find_map(|keys| {
        keys.split(',').find_map(|key| match key.split_once('=')? {
            ("path", path) => SocketAddr::from_pathname(unescaped(path)).ok(),
            ("abstract", name) => SocketAddr::from_abstract_name(unescaped(name)).ok(),
            _ => None,
        })
    })
}

/// Without the escapes of an address: `%20` is a blank.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let hex = more.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match hex.filter(|_| *first == b'%') {
            Some(byte) => (bytes.push(byte), rest = &more[2..]),
            None => (bytes.push(*first), rest = more),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The address of this session's bus.
fn address() -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    set("DBUS_SESSION_BUS_ADDRESS").or_else(|| Some(format!("unix:path={}/bus", set("XDG_RUNTIME_DIR")?)))
}

impl Bus {
    /// Connects to the session bus.
    ///
    /// # Errors
    /// When the session has none, or it does not greet.
    pub(crate) fn connect() -> io::Result<Self> {
        let none = || io::Error::new(ErrorKind::NotFound, "this session has no bus (DBUS_SESSION_BUS_ADDRESS)");
        let stream = UnixStream::connect_addr(&address().as_deref().and_then(socket).ok_or_else(none)?)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut bus = Self { stream, serial: 0 };
        let uid: String = rustix::process::geteuid().to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
        bus.stream.write_all(format!("\0AUTH EXTERNAL {uid}\r\n").as_bytes())?;
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") && line.len() < 1024 {
            let mut byte = [0];
            bus.stream.read_exact(&mut byte)?;
            line.push(byte[0]);
        }
        if !line.starts_with(b"OK ") {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "the session bus refuses this user"));
        }
        bus.stream.write_all(b"BEGIN\r\n")?;
        bus.ask(HELLO, "", &[])?;
        Ok(bus)
    }

    /// Shows a desktop notification.
    ///
    /// # Errors
    /// When nothing shows notifications in this session.
    pub(crate) fn notify(&mut self, head: &str, text: &str) -> io::Result<()> {
        self.ask(NOTIFY, "susssasa{sv}i", &notification(head, text))
    }

    /// Waits until the bus ends, and with it the session.
    pub(crate) fn wait_for_end(mut self) {
        if self.stream.set_read_timeout(None).is_ok() {
            while self.receive().is_ok() {}
        }
    }

    fn ask(&mut self, method: Method, signature: &str, body: &[u8]) -> io::Result<()> {
        self.serial += 1;
        self.stream.write_all(&call(method, self.serial, signature, body))?;
        loop {
            // Others may come first, such as a name that was given.
            let Some(answer) = answer(&self.receive()?) else { continue };
            match answer.kind {
                RETURN if answer.serial == Some(self.serial) => return Ok(()),
                ERROR if answer.serial == Some(self.serial) => {
                    let what = format!("{} of the session bus failed: {}", method.name, answer.error);
                    return Err(io::Error::other(what));
                }
                _ => {}
            }
        }
    }

    /// The next message.
    fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head)?;
        let length = length(&head).ok_or(ErrorKind::InvalidData)?;
        let mut message = head.to_vec();
        message.resize(length.max(head.len()), 0);
        self.stream.read_exact(&mut message[head.len()..])?;
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_form_of_the_specification() {
        let message = call(HELLO, 1, "", &[]);
        assert_eq!(message[..12], [b'l', 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
        let head: [u8; 16] = message[..16].try_into().expect("16 bytes");
        assert_eq!(length(&head), Some(message.len()));
        // The path is the first field: code 1, of type o, with its length and a zero.
        assert_eq!(message[16..24], [1, 1, b'o', 0, 21, 0, 0, 0]);
        assert_eq!(&message[24..46], b"/org/freedesktop/DBus\0");
        let body = notification("a", "b <c>");
        let message = call(NOTIFY, 2, "susssasa{sv}i", &body);
        assert_eq!((message.len() - body.len()) % 8, 0);
        assert_eq!(&message[message.len() - 4..], [0xff; 4]);
        let text = String::from_utf8_lossy(&message).into_owned();
        assert!(text.contains("b &lt;c&gt;") && text.contains("susssasa{sv}i"), "{text}");
        let head: [u8; 16] = message[..16].try_into().expect("16 bytes");
        assert_eq!(length(&head), Some(message.len()));
    }

    #[test]
    fn answers_are_told_apart() {
        let mut fields = Writer::default();
        fields.field(4, "s", "org.freedesktop.DBus.Error.ServiceUnknown");
        fields.align(8);
        fields.0.extend([5, 1, b'u', 0, 7, 0, 0, 0]);
        fields.field(8, "g", "s");
        let mut message = Writer(vec![b'l', ERROR, 0, 1]);
        message.number(0);
        message.number(3);
        message.number(u32::try_from(fields.0.len()).expect("short"));
        message.0.extend(&fields.0);
        let expected =
            Answer { kind: ERROR, serial: Some(7), error: "org.freedesktop.DBus.Error.ServiceUnknown".to_owned() };
        assert_eq!(answer(&message.0), Some(expected));
    }

    #[test]
    fn no_answer_makes_it_panic() {
        let message = call(NOTIFY, 2, "susssasa{sv}i", &notification("a", "b"));
        for at in 0..message.len() {
            let _ = answer(&message[..at]);
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = message.clone();
                damaged[at] = byte;
                let _ = answer(&damaged);
                let head: [u8; 16] = damaged[..16].try_into().expect("16 bytes");
                assert!(length(&head).is_none_or(|length| length <= MESSAGE_BYTES_MAX));
            }
        }
    }

    #[test]
    fn an_address_names_a_socket() {
        let path =
            |address: &str| socket(address).and_then(|at| at.as_pathname().map(|path| path.display().to_string()));
        assert_eq!(path("unix:path=/run/user/1000/bus,guid=1"), Some("/run/user/1000/bus".to_owned()));
        assert_eq!(path("tcp:host=x;unix:path=/a%20b"), Some("/a b".to_owned()));
        assert!(socket("unix:abstract=/tmp/dbus-x").is_some_and(|at| at.as_abstract_name() == Some(b"/tmp/dbus-x")));
        assert!(socket("unix:tmpdir=/x").is_none() && socket("").is_none());
    }
}
