//! The server: a thread for each connection, all bounded in number, memory and time.
//!
//! | path | answer | takes |
//! |---|---|---|
//! | `/?link=TOKEN` | a cookie, then `/` | a link that was not used |
//! | `/` | the page | the cookie |
//! | `/live` | server-sent events: patches of the page | the cookie |
//! | `/moment?n=N` | of a record: the parts of the page at that decision, as JSON | the cookie |
//! | `/here` | nothing: a page is open, though not seen | the cookie |
//! | `/config`, `POST` too | the configuration, to edit | the cookie; as `/act` |
//! | `POST /act` | a change, as JSON or by going back to `/` | the cookie, origin and token of the page |
//! | `POST /link` | a new link | a Unix socket |
//! | `/page.css`, `/page.js`, `/icon.svg` | parts of the page | - |
//!
//! A slow client delays no other: what it has not taken within [`WRITES_FOR`] ends its connection, and a patch is made
//! when it has taken the last one, of the state at that moment.

use std::io::{self, Read as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use brisk_program::warn;
use brisk_sense::Sense;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;

use crate::actions::{self, Change};
use crate::door::{Door, Stream};
use crate::feed::{Feed, lock, now_unix_ms};
use crate::guard::{self, Browser, Keys};
use crate::http::{self, Method, Refused, Request, Response};
use crate::page::config::{Step, Text};
use crate::page::record::At;
use crate::page::{self, Parts, Sent, View};
use crate::record::Recorded;
use crate::texts::Language;

/// Connections at a time; a browser has up to six.
const CONNECTIONS_MAX: usize = 32;
/// How long a request may take to arrive, and a connection may stay without one.
const READS_FOR: Duration = Duration::from_secs(20);
const WRITES_FOR: Duration = Duration::from_secs(10);
/// A stream without a patch sends something that often, which finds out whether its browser is there.
const BEATS_EACH: Duration = Duration::from_secs(15);
const STACK_BYTES: usize = 1 << 20;

const SCRIPT: &str = include_str!("../assets/page.js");
const STYLE: &str = include_str!("../assets/page.css");
const ICON: &str = include_str!("../assets/icon.svg");

/// What the page shows.
#[derive(Debug)]
pub(crate) enum Source {
    /// The daemon, which may be asked for changes too.
    Daemon(Arc<Feed>),
    /// A file, of which nothing changes.
    Record(Recorded),
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Server {
    source: Source,
    keys: Mutex<Keys>,
    /// Where browsers find it.
    url: String,
    /// Its cookie: cookies of a host are sent to all its ports.
    cookie: String,
    connections: AtomicUsize,
    used: Mutex<Instant>,
}

impl Server {
    pub(crate) fn new(source: Source, url: String) -> Arc<Self> {
        let port = url.rsplit(':').next().unwrap_or_default();
        let cookie = format!("brisk_web_{port}");
        let (keys, connections, used) = (Mutex::default(), AtomicUsize::new(0), Mutex::new(Instant::now()));
        Arc::new(Self { source, keys, url, cookie, connections, used })
    }

    /// A new link for a browser.
    pub(crate) fn link(&self) -> String {
        format!("{}/?link={}", self.url, lock(&self.keys).link(guard::random))
    }

    /// Serves the doors; with `idle`, until no connection was open for that long.
    pub(crate) fn run(self: &Arc<Self>, doors: &[Door], idle: Option<Duration>) -> anyhow::Result<()> {
        let sense = Sense::default();
        // A connection may be gone before it is accepted.
        for door in doors {
            rustix::io::ioctl_fionbio(door, true).context("cannot listen without waiting")?;
        }
        loop {
            let rest = idle.map(|idle| idle.saturating_sub(lock(&self.used).elapsed()));
            let is_open = self.connections.load(Ordering::Relaxed) > 0;
            if rest.is_some_and(|rest| rest.is_zero()) && !is_open {
                return Ok(());
            }
            let rest = rest.map(|rest| rest.max(Duration::from_secs(1)));
            let limit = rest.map(Timespec::try_from).transpose().context("cannot wait for so long")?;
            let mut fds: Vec<PollFd<'_>> = doors.iter().map(|door| PollFd::new(door, PollFlags::IN)).collect();
            match poll(&mut fds, limit.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno).context("cannot wait for connections"),
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            for (door, _) in doors.iter().zip(ready).filter(|(_, is_ready)| *is_ready) {
                match door.accept(&sense) {
                    Ok(stream) => self.begin(stream),
                    Err(error) if error.kind() == io::ErrorKind::Other => warn!("brisk-web: {error}"),
                    // It was gone before it was accepted.
                    Err(_) => {}
                }
            }
        }
    }

    fn begin(self: &Arc<Self>, mut stream: Stream) {
        *lock(&self.used) = Instant::now();
        if stream.limit(READS_FOR, WRITES_FOR).is_err() {
            return;
        }
        if self.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
            self.connections.fetch_sub(1, Ordering::Relaxed);
            let _ = stream.write_all(&Response::text(503, "too many connections: close some pages").bytes(false));
            return;
        }
        let server = self.clone();
        let thread = std::thread::Builder::new().name("connection".to_owned()).stack_size(STACK_BYTES);
        let begun = thread.spawn(move || {
            // What goes wrong with a connection ends it, and is no matter of others.
            let _ = server.serve(stream);
            *lock(&server.used) = Instant::now();
            server.connections.fetch_sub(1, Ordering::Relaxed);
        });
        if begun.is_err() {
            self.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Serves requests of one connection, one after the other.
    fn serve(&self, mut stream: Stream) -> io::Result<()> {
        let mut inbox = Vec::new();
        loop {
            let request = match receive(&mut stream, &mut inbox)? {
                Ok(request) => request,
                Err(Refused(status, why)) => return stream.write_all(&Response::text(status, why).bytes(false)),
            };
            *lock(&self.used) = Instant::now();
            let language = language(&request);
            if let Err(Refused(status, why)) = guard::admit(&request) {
                return stream.write_all(&Response::text(status, why).bytes(false));
            }
            let browser = lock(&self.keys).browser(&request, &self.cookie).cloned();
            if request.path == "/live"
                && let (Some(browser), Source::Daemon(feed)) = (&browser, &self.source)
            {
                return self.stream(&mut stream, feed, browser, language);
            }
            let response = self.answer(&request, browser.as_ref(), language, stream.is_unix());
            stream.write_all(&response.bytes(request.keeps_alive))?;
            if !request.keeps_alive {
                return Ok(());
            }
        }
    }

    fn answer(&self, request: &Request, browser: Option<&Browser>, language: Language, is_unix: bool) -> Response {
        match (request.method, request.path.as_str()) {
            (Method::Get, "/page.css") => {
                Response::new(200, "text/css", [brisk_report::STYLE, STYLE].concat().into_bytes())
            }
            (Method::Get, "/page.js") => Response::new(200, "text/javascript", SCRIPT.as_bytes()),
            (Method::Get, "/icon.svg") => Response::new(200, "image/svg+xml", ICON.as_bytes()),
            (Method::Post, "/link") if is_unix => Response::text(200, &self.link()),
            (Method::Get, "/") if request.asked("link").is_some() => self.enter(request, language),
            (Method::Get, "/") if request.asked("lang").is_some() && browser.is_some() => {
                let language = Language::of(request.asked("lang").unwrap_or_default());
                let cookie =
                    format!("brisk_web_language={}; SameSite=Strict; Path=/; Max-Age=31536000", language.code());
                Response::see("/").with("Set-Cookie", cookie)
            }
            (Method::Get, "/" | "/here" | "/live" | "/moment") | (Method::Post, "/act") | (_, "/config") => {
                match (browser, &self.source) {
                    (None, _) => Response::html(403, page::denied(language)),
                    (Some(browser), Source::Daemon(feed)) => match request.path.as_str() {
                        "/" => Self::page(feed, browser, language),
                        "/act" => Self::act(feed, request, browser, language),
                        "/config" => Self::config(feed, request, browser, language),
                        _ => Response::empty(),
                    },
                    (Some(_), Source::Record(recorded)) => match request.path.as_str() {
                        "/" => Self::moment(recorded, request, language, false),
                        "/moment" => Self::moment(recorded, request, language, true),
                        "/here" => Response::empty(),
                        _ => Response::text(404, "this is the page of a record: nothing is changed by it"),
                    },
                }
            }
            _ => Response::text(404, "there is nothing of this name: go to /"),
        }
    }

    /// Lets a browser in, whose cookie its next request has. A redirect would be a part of the visit from elsewhere,
    /// with which browsers send no cookie of SameSite=Strict: the page goes on by itself.
    fn enter(&self, request: &Request, language: Language) -> Response {
        let token = request.asked("link").unwrap_or_default();
        let (entered, is_in) = {
            let mut keys = lock(&self.keys);
            (keys.enter(token, guard::random), keys.browser(request, &self.cookie).is_some())
        };
        match entered {
            Some(cookie) => {
                let cookie = format!("{}={cookie}; HttpOnly; SameSite=Strict; Path=/", self.cookie);
                Response::html(200, page::entered(language)).with("Set-Cookie", cookie)
            }
            // It was let in by this link before.
            None if is_in => Response::see("/"),
            None => Response::html(403, page::denied(language)),
        }
    }

    /// A moment of a record: the page, or its parts alone.
    fn moment(recorded: &Recorded, request: &Request, language: Language, is_patch: bool) -> Response {
        let asked = request.asked("n").and_then(|number| number.parse().ok()).unwrap_or(usize::MAX);
        let number = asked.min(recorded.moments.len().saturating_sub(1));
        let moment = recorded.moments.get(number).cloned().unwrap_or_default();
        let (seen, now_unix_ms) = (recorded.seen(&moment), moment.at_unix_ms);
        let view = View { seen: &seen, language, token: "", now_unix_ms, is_record: true };
        let at = At { recorded, number };
        match is_patch {
            true => {
                let patch = Sent::default().patch(&page::record::parts(&view, &at)).unwrap_or_else(|| "{}".to_owned());
                Response::new(200, "application/json", patch.into_bytes())
            }
            false => Response::html(200, page::record::whole(&view, &at)),
        }
    }

    fn page(feed: &Arc<Feed>, browser: &Browser, language: Language) -> Response {
        let seen = feed.look();
        let view =
            View { seen: &seen, language, token: &browser.form_token, now_unix_ms: now_unix_ms(), is_record: false };
        Response::html(200, page::whole(&view, &Parts::of(&view)))
    }

    fn act(feed: &Arc<Feed>, request: &Request, browser: &Browser, language: Language) -> Response {
        let form = http::form(&request.body);
        if let Err(Refused(status, why)) = guard::admit_change(request, &form, browser) {
            return Response::text(status, why);
        }
        let Some(change) = Change::of(&form) else { return Response::text(400, "there is no such change") };
        let (is_done, said) = change.ask(feed.connect(), language);
        feed.stir();
        match request.header("accept").is_some_and(|accept| accept.contains("application/json")) {
            true => Response::json(&json!({ "done": is_done, "said": said })),
            false if is_done => Response::see("/"),
            false => Response::text(403, &said),
        }
    }

    /// The configuration; a POST has another text checked, or saved.
    fn config(feed: &Arc<Feed>, request: &Request, browser: &Browser, language: Language) -> Response {
        let current = actions::config(feed.connect(), language);
        let show = |status: u16, text: &Result<Text, String>, step: &Step| {
            Response::html(status, page::config::whole(language, &browser.form_token, text, step))
        };
        if request.method == Method::Get {
            return show(200, &current, &Step::Edit);
        }
        let form = http::form(&request.body);
        if let Err(Refused(status, why)) = guard::admit_change(request, &form, browser) {
            return Response::text(status, why);
        }
        let text = |name: &str| http::value(&form, name).unwrap_or_default();
        // Browsers end lines with two characters.
        let mut other = text("text").replace("\r\n", "\n");
        if !other.is_empty() && !other.ends_with('\n') {
            other.push('\n');
        }
        let saves = text("do") == "save";
        let outcome = actions::set_config(feed.connect(), (&other, text("version")), saves, language);
        feed.stir();
        match outcome {
            Ok(warnings) if saves => show(200, &actions::config(feed.connect(), language), &Step::Saved { warnings }),
            Ok(warnings) => show(200, &current, &Step::Checked { other, warnings }),
            Err(why) => show(422, &current, &Step::Refused { other, why }),
        }
    }

    /// Sends what changes, until the browser is gone.
    fn stream(&self, stream: &mut Stream, feed: &Arc<Feed>, browser: &Browser, language: Language) -> io::Result<()> {
        stream.write_all(&http::stream_head())?;
        let (mut sent, mut sent_at) = (Sent::default(), Instant::now());
        loop {
            let seen = feed.look();
            let view = View {
                seen: &seen,
                language,
                token: &browser.form_token,
                now_unix_ms: now_unix_ms(),
                is_record: false,
            };
            if let Some(patch) = sent.patch(&Parts::of(&view)) {
                stream.write_all(format!("data: {patch}\n\n").as_bytes())?;
                sent_at = Instant::now();
            } else if sent_at.elapsed() >= BEATS_EACH {
                stream.write_all(b":\n\n")?;
                sent_at = Instant::now();
            }
            feed.wait();
        }
    }
}

/// The next request of a connection, which has to be whole in time.
fn receive(stream: &mut Stream, inbox: &mut Vec<u8>) -> io::Result<Result<Request, Refused>> {
    let begun = Instant::now();
    loop {
        match Request::parse(inbox) {
            Ok(Some((request, length))) => {
                inbox.drain(..length);
                stream.limit(READS_FOR, WRITES_FOR)?;
                return Ok(Ok(request));
            }
            Ok(None) => {}
            Err(refused) => return Ok(Err(refused)),
        }
        let Some(rest) = READS_FOR.checked_sub(begun.elapsed()).filter(|rest| !rest.is_zero()) else {
            return Ok(Err(Refused(408, "the request did not arrive in time")));
        };
        stream.limit(rest, WRITES_FOR)?;
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => inbox.extend_from_slice(&buffer[..length]),
        }
    }
}

/// What the person chose, or else what the browser prefers.
fn language(request: &Request) -> Language {
    Language::of(request.cookie("brisk_web_language").or(request.header("accept-language")).unwrap_or_default())
}
