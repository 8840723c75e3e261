//! A scripted app for tests: each argument is an action, executed in order.
//!
//! ```text
//! specimen window draw wait=300 draw caret=500 stay
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::{Duration, Instant};

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    AtomEnum, ChangeGCAux, ConnectionExt, CreateGCAux, CreateWindowAux, EventMask, PropMode, Rectangle, WindowClass,
};
use x11rb::rust_connection::{DefaultStream, RustConnection};
use x11rb::wrapper::ConnectionExt as _;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

struct Window {
    display: RustConnection,
    id: u32,
    gc: u32,
    drawn: u32,
}

fn main() -> Outcome<()> {
    let mut window = None;
    // Pages of its heap that an answer uses.
    let mut heap: Vec<u8> = Vec::new();
    for word in std::env::args().skip(1) {
        let (action, value) = word.split_once('=').unwrap_or((&word, ""));
        match action {
            "window" => window = Some(Window::open()?),
            "draw" => need(&mut window)?.draw(200)?,
            // An animation that never repeats.
            "animate" => {
                let (window, until) = (need(&mut window)?, Instant::now() + milliseconds(value)?);
                while Instant::now() < until {
                    window.draw(60)?;
                    std::thread::sleep(Duration::from_millis(40));
                }
            }
            "caret" => {
                let (window, half) = (need(&mut window)?, milliseconds(value)?);
                for blink in 0.. {
                    window.fill(300, 40, 2, 16, if blink % 2 == 0 { 0 } else { 0x00ff_ffff })?;
                    std::thread::sleep(half);
                }
            }
            "hold" => heap = filled(value.parse()?),
            // Paints, as a window manager or toolkit does at once, and uses the first megabytes of its heap before the
            // answer.
            "answer-keys-using" => {
                let used_bytes = value.parse::<usize>()? << 20;
                let window = need(&mut window)?;
                loop {
                    window.next_key()?;
                    window.draw(40)?;
                    let sum: u64 = heap[..used_bytes].iter().step_by(4096).map(|&byte| u64::from(byte)).sum();
                    std::hint::black_box(sum);
                    window.draw(150)?;
                }
            }
            "answer-keys" => need(&mut window)?.answer_keys(milliseconds(value)?)?,
            "wait" => std::thread::sleep(milliseconds(value)?),
            "spin" => {
                let until = Instant::now() + milliseconds(value)?;
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
            }
            "read" => {
                let mut bytes = Vec::new();
                File::open(value)?.read_to_end(&mut bytes)?;
            }
            "write" => {
                let mut file = File::create(value)?;
                file.write_all(&[1; 65_536])?;
                file.sync_all()?;
            }
            // Sends a request to a server, and waits for its answer.
            "ask" => {
                let mut server = TcpStream::connect(value)?;
                server.write_all(b"?")?;
                server.read_exact(&mut [0])?;
            }
            "say" => println!("{value}"),
            // The monotonic clock, under a name.
            "clock" => {
                let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
                println!("{value}={}", now.tv_sec * 1_000_000_000 + now.tv_nsec);
            }
            "exit" => std::process::exit(value.parse()?),
            "abort" => std::process::abort(),
            // The remaining actions run in a process that this one does not wait for.
            "leave" => {
                let rest: Vec<String> = std::env::args().skip_while(|word| word != "leave").skip(1).collect();
                std::process::Command::new(std::env::current_exe()?).args(rest).spawn()?;
                return Ok(());
            }
            "stay" => loop {
                std::thread::park();
            },
            _ => return Err(format!("specimen knows no {action}").into()),
        }
    }
    Ok(())
}

/// That many megabytes that cannot be compressed well.
fn filled(megabytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let word = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..megabytes << 20).map(word).collect()
}

fn milliseconds(value: &str) -> Outcome<Duration> {
    Ok(Duration::from_millis(value.parse()?))
}

fn need(window: &mut Option<Window>) -> Outcome<&mut Window> {
    window.as_mut().ok_or_else(|| "there is no window yet".into())
}

/// Connects by the abstract socket first, which is there in a root directory of another system as well.
fn connect() -> Outcome<(RustConnection, usize)> {
    let name = std::env::var("DISPLAY").unwrap_or_default();
    let number = name.strip_prefix(':').and_then(|rest| rest.split('.').next()).unwrap_or_default();
    let address = SocketAddr::from_abstract_name(format!("/tmp/.X11-unix/X{number}"))?;
    match UnixStream::connect_addr(&address) {
        Ok(stream) => {
            let (stream, _) = DefaultStream::from_unix_stream(stream)?;
            Ok((RustConnection::connect_to_stream(stream, 0)?, 0))
        }
        Err(_) => Ok(x11rb::connect(None)?),
    }
}

impl Window {
    fn open() -> Outcome<Self> {
        let (display, screen) = connect()?;
        let root = display.setup().roots[screen].root;
        let (id, gc) = (display.generate_id()?, display.generate_id()?);
        let options = CreateWindowAux::new().background_pixel(0x00ff_ffff).event_mask(EventMask::KEY_PRESS);
        display.create_window(0, id, root, 40, 40, 400, 300, 0, WindowClass::INPUT_OUTPUT, 0, &options)?;
        display.create_gc(gc, id, &CreateGCAux::new())?;
        display.change_property8(PropMode::REPLACE, id, AtomEnum::WM_NAME, AtomEnum::STRING, b"a specimen")?;
        display.change_property8(
            PropMode::REPLACE,
            id,
            AtomEnum::WM_CLASS,
            AtomEnum::STRING,
            b"specimen\0Specimen\0",
        )?;
        display.map_window(id)?;
        let window = Self { display, id, gc, drawn: 0 };
        window.done()?;
        Ok(window)
    }

    /// Waits until the server has processed all requests.
    fn done(&self) -> Outcome<()> {
        self.display.sync()?;
        Ok(())
    }

    fn fill(&self, x: i16, y: i16, width: u16, height: u16, colour: u32) -> Outcome<()> {
        self.display.change_gc(self.gc, &ChangeGCAux::new().foreground(colour))?;
        self.display.poly_fill_rectangle(self.id, self.gc, &[Rectangle { x, y, width, height }])?;
        self.done()
    }

    /// Draws new content.
    fn draw(&mut self, side: u16) -> Outcome<()> {
        self.drawn += 1;
        self.fill(10, 80, side, side, self.drawn.wrapping_mul(0x0012_3457) & 0x00ff_ffff)
    }

    /// Draws after each key, delayed by `after`.
    fn answer_keys(&mut self, after: Duration) -> Outcome<()> {
        loop {
            self.next_key()?;
            std::thread::sleep(after);
            self.draw(150)?;
        }
    }

    fn next_key(&self) -> Outcome<()> {
        while !matches!(self.display.wait_for_event()?, x11rb::protocol::Event::KeyPress(_)) {}
        Ok(())
    }
}
