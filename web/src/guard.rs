//! Who may see the page, and change something by it.
//!
//! A connection is of the user whose process this is, or of root (`door.rs`). Beyond that, a browser visits pages of
//! strangers too, and these make it send requests:
//!
//! - *Host*: only names of this machine. A stranger's name that points to 127.0.0.1 (DNS rebinding) is refused.
//! - *Link*: a browser shows once a random token, and gets a cookie for it (HttpOnly, SameSite=Strict) until this
//!   process ends. A link works once.
//! - *Origin and form token*: a change comes from the page itself. Either alone would do.
//!
//! Properties: `a_link_works_once`; `only_names_of_this_machine_are_hosts`; `a_change_comes_from_the_page_itself`.

use std::collections::VecDeque;
use std::fmt::Write as _;

use crate::http::{Refused, Request, value};

/// Links that wait for a browser, and browsers that are let in: the oldest goes first.
const LINKS_MAX: usize = 8;
const BROWSERS_MAX: usize = 16;

/// The random secrets of this process.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    links: VecDeque<String>,
    browsers: VecDeque<Browser>,
}

/// A browser that was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Browser {
    cookie: String,
    /// What its forms send.
    pub(crate) form_token: String,
}

impl Keys {
    /// The token of a new link.
    pub(crate) fn link(&mut self, random: impl Fn() -> String) -> String {
        let token = random();
        self.links.push_back(token.clone());
        if self.links.len() > LINKS_MAX {
            self.links.pop_front();
        }
        token
    }

    /// Takes the token of a link for the value of a cookie; `None` where there is no such link any more.
    pub(crate) fn enter(&mut self, token: &str, random: impl Fn() -> String) -> Option<String> {
        let at = self.links.iter().position(|link| is_same(link, token))?;
        self.links.remove(at);
        let browser = Browser { cookie: random(), form_token: random() };
        let cookie = browser.cookie.clone();
        self.browsers.push_back(browser);
        if self.browsers.len() > BROWSERS_MAX {
            self.browsers.pop_front();
        }
        Some(cookie)
    }

    /// The browser whose cookie of this name the request has.
    pub(crate) fn browser(&self, request: &Request, name: &str) -> Option<&Browser> {
        let cookie = request.cookie(name)?;
        self.browsers.iter().find(|browser| is_same(&browser.cookie, cookie))
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// 256 random bits.
///
/// # Panics
/// When the kernel has no random numbers: nothing is safe then.
pub(crate) fn random() -> String {
    let mut bytes = [0_u8; 32];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert_eq!(filled, Ok(bytes.len()), "the kernel has random numbers");
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether the request is for this machine by its name, and, unless it opens a page, from a page of this server.
pub(crate) fn admit(request: &Request) -> Result<(), Refused> {
    let host = request.header("host").unwrap_or_default();
    if !is_local(host) {
        return Err(Refused(421, "this page answers to localhost and 127.0.0.1 alone, and not to other names"));
    }
    let opens_page = request.header("sec-fetch-mode").is_none_or(|mode| mode == "navigate");
    match request.header("sec-fetch-site") {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if opens_page => Ok(()),
        Some(_) => Err(Refused(403, "another page asks")),
    }
}

fn is_local(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, "0"),
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]") && port.parse::<u16>().is_ok()
}

/// Whether a change was asked for by the page that this browser has.
pub(crate) fn admit_change(request: &Request, form: &[(String, String)], browser: &Browser) -> Result<(), Refused> {
    let own = request.header("host").map(|host| format!("http://{host}"));
    if own.is_none() || request.header("origin") != own.as_deref() {
        return Err(Refused(403, "the change does not come from this page"));
    }
    if !value(form, "token").is_some_and(|token| is_same(token, &browser.form_token)) {
        return Err(Refused(403, "the page is of another start of brisk web: load it again"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::form;
    use std::cell::Cell;

    fn numbers() -> impl Fn() -> String {
        let next = Cell::new(0);
        move || {
            next.set(next.get() + 1);
            format!("secret{}", next.get())
        }
    }

    fn request(head: &str) -> Request {
        let text = format!("POST / HTTP/1.1\r\n{head}\r\n\r\n");
        Request::parse(text.as_bytes()).expect("a request").expect("a whole one").0
    }

    #[test]
    fn a_link_works_once() {
        let (mut keys, random) = (Keys::default(), numbers());
        let link = keys.link(&random);
        assert_eq!(keys.enter("secret9", &random), None);
        let cookie = keys.enter(&link, &random).expect("let in");
        assert_eq!(keys.enter(&link, &random), None);
        assert!(keys.browser(&request(&format!("Cookie: w={cookie}")), "w").is_some());
        for other in [format!("Cookie: v={cookie}"), "Cookie: w=secret1".to_owned(), "Cookie: w=".to_owned()] {
            assert!(keys.browser(&request(&other), "w").is_none(), "{other}");
        }
        for _ in 0..BROWSERS_MAX {
            let link = keys.link(&random);
            keys.enter(&link, &random).expect("let in");
        }
        assert!(keys.browser(&request(&format!("Cookie: w={cookie}")), "w").is_none());
    }

    #[test]
    fn secrets_are_long_and_differ() {
        let (one, other) = (random(), random());
        assert!(one.len() == 64 && one != other, "{one} {other}");
    }

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        for host in ["localhost", "localhost:8262", "127.0.0.1:1", "[::1]", "[::1]:80"] {
            assert_eq!(admit(&request(&format!("Host: {host}"))), Ok(()), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.", "127.0.0.1:x", "", "localhost:1:2", "[::1"]
        {
            assert_eq!(admit(&request(&format!("Host: {host}"))).map_err(|refused| refused.0), Err(421), "{host}");
        }
        let site = |site: &str, mode: &str| {
            admit(&request(&format!("Host: localhost\r\nSec-Fetch-Site: {site}\r\nSec-Fetch-Mode: {mode}"))).is_ok()
        };
        assert!(site("same-origin", "cors") && site("none", "navigate") && site("cross-site", "navigate"));
        assert!(!site("cross-site", "cors") && !site("same-site", "no-cors"));
    }

    #[test]
    fn a_change_comes_from_the_page_itself() {
        let browser = Browser { cookie: "c".to_owned(), form_token: "right".to_owned() };
        let may = |head: &str, token: &str| {
            admit_change(&request(head), &form(format!("do=x&token={token}").as_bytes()), &browser).is_ok()
        };
        let own = "Host: 127.0.0.1:5\r\nOrigin: http://127.0.0.1:5";
        assert!(may(own, "right"));
        assert!(!may(own, "wrong") && !may(own, ""));
        for other in ["http://127.0.0.1:6", "http://localhost:5", "https://127.0.0.1:5", "null", "http://evil.example"]
        {
            assert!(!may(&format!("Host: 127.0.0.1:5\r\nOrigin: {other}"), "right"), "{other}");
        }
        assert!(!may("Host: 127.0.0.1:5", "right"));
    }
}
