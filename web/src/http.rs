//! HTTP/1.1 as far as the page needs it: a request with bounded head and body, and a response that is known in full.
//! `httparse` reads the head, as in hyper; a server around it needs no runtime. Pure: bytes in, bytes out.
//!
//! Properties: `no_bytes_make_it_panic`; `what_two_servers_may_read_differently_is_refused`;
//! `a_request_is_whole_only_with_its_body`.

use std::borrow::Cow;

/// The longest head of a request.
pub(crate) const HEAD_BYTES_MAX: usize = 16 << 10;
/// The longest body: a configuration, of which each byte may be written as three.
pub(crate) const BODY_BYTES_MAX: usize = 192 << 10;
const HEADERS_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

/// A request that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// What follows the path, decoded.
    pub(crate) query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) keeps_alive: bool,
}

/// A status by which a request is refused, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) u16, pub(crate) &'static str);

impl Request {
    /// The request at the beginning of `bytes` with its length; `None` where more has to come.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Refused> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Request::new(&mut headers);
        let head_bytes = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() <= HEAD_BYTES_MAX => return Ok(None),
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Err(Refused(431, "the head of the request is too long"));
            }
            Err(_) => return Err(Refused(400, "this is no HTTP/1.1 request")),
        };
        let method = match head.method {
            Some("GET") => Method::Get,
            Some("POST") => Method::Post,
            _ => return Err(Refused(405, "the method is neither GET nor POST")),
        };
        let target = head.path.filter(|target| target.starts_with('/'));
        let target = target.ok_or(Refused(400, "the target of the request is no path"))?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = head.headers.iter().map(|header| {
            let value = std::str::from_utf8(header.value).map_err(|_| Refused(400, "a header is no text"))?;
            Ok((header.name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        let mut request = Self {
            method,
            path: path.to_owned(),
            query: form(query.as_bytes()),
            headers: headers.collect::<Result<_, _>>()?,
            body: Vec::new(),
            keeps_alive: head.version == Some(1),
        };
        for name in ["host", "content-length", "cookie", "origin"] {
            if request.headers.iter().filter(|(known, _)| known == name).count() > 1 {
                return Err(Refused(400, "a header is there twice"));
            }
        }
        if request.header("transfer-encoding").is_some() {
            return Err(Refused(501, "bodies in pieces are not taken"));
        }
        request.keeps_alive &= !request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let body_bytes = match request.header("content-length") {
            None => 0,
            Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|length| *length <= BODY_BYTES_MAX).ok_or(Refused(413, "too long a body"))?
            }
            Some(_) => return Err(Refused(400, "the length of the body is no number")),
        };
        let whole_bytes = head_bytes + body_bytes;
        let Some(body) = bytes.get(head_bytes..whole_bytes) else { return Ok(None) };
        request.body = body.to_vec();
        Ok(Some((request, whole_bytes)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The cookie of this name.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        let mut pairs = self.header("cookie")?.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The value of this name after the path.
    pub(crate) fn asked(&self, name: &str) -> Option<&str> {
        value(&self.query, name)
    }
}

/// The value of this name in a form.
pub(crate) fn value<'a>(form: &'a [(String, String)], name: &str) -> Option<&'a str> {
    form.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Pairs of `application/x-www-form-urlencoded`; what is no text is left out.
pub(crate) fn form(bytes: &[u8]) -> Vec<(String, String)> {
    let pairs = bytes.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
    let decoded = pairs.filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        let (name, value) = pair.split_at(at);
        Some((decode(name)?, decode(value.get(1..).unwrap_or_default())?))
    });
    decoded.collect()
}

fn decode(bytes: &[u8]) -> Option<String> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, others @ ..] = rest {
        rest = others;
        decoded.push(match first {
            b'+' => b' ',
            b'%' => {
                let (digits, others) = rest.split_at_checked(2)?;
                rest = others;
                u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            other => *other,
        });
    }
    String::from_utf8(decoded).ok()
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(&'static str, String)>,
    body: Cow<'static, [u8]>,
}

/// Of every response. No script, style, picture or connection but this server's own; no frame around the page; nothing
/// is kept by the browser.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src \
                       'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n\
                       X-Content-Type-Options: nosniff\r\nReferrer-Policy: same-origin\r\n\
                       Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n\
                       Cache-Control: no-store\r\n";

impl Response {
    pub(crate) fn new(status: u16, kind: &'static str, body: impl Into<Cow<'static, [u8]>>) -> Self {
        Self { status, headers: vec![("Content-Type", format!("{kind}; charset=utf-8"))], body: body.into() }
    }

    pub(crate) fn html(status: u16, page: String) -> Self {
        Self::new(status, "text/html", page.into_bytes())
    }

    pub(crate) fn text(status: u16, text: &str) -> Self {
        Self::new(status, "text/plain", format!("{text}\n").into_bytes())
    }

    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self::new(200, "application/json", value.to_string().into_bytes())
    }

    /// Without a body.
    pub(crate) fn empty() -> Self {
        Self { status: 204, headers: Vec::new(), body: Cow::Borrowed(&[]) }
    }

    /// To another path of this server.
    pub(crate) fn see(path: &str) -> Self {
        Self { status: 303, headers: vec![("Location", path.to_owned())], body: Cow::Borrowed(&[]) }
    }

    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// As it is sent; the connection stays where `keeps_alive`.
    pub(crate) fn bytes(&self, keeps_alive: bool) -> Vec<u8> {
        let mut head = head(self.status, if keeps_alive { "keep-alive" } else { "close" });
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if self.status != 204 {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        let mut bytes = (head + "\r\n").into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// The head of a stream of server-sent events, which ends with the connection.
pub(crate) fn stream_head() -> Vec<u8> {
    (head(200, "close") + "Content-Type: text/event-stream; charset=utf-8\r\n\r\n").into_bytes()
}

fn head(status: u16, connection: &str) -> String {
    let reason = match status {
        200 => "OK",
        204 => "No Content",
        303 => "See Other",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Error",
    };
    format!("HTTP/1.1 {status} {reason}\r\nConnection: {connection}\r\n{HEADERS}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str) -> Request {
        Request::parse(text.as_bytes()).expect("a request").expect("a whole one").0
    }

    fn status(text: &str) -> u16 {
        Request::parse(text.as_bytes()).expect_err("refused").0
    }

    #[test]
    fn a_request_is_whole_only_with_its_body() {
        let text = "POST /act?x=1&y=a%20b+c HTTP/1.1\r\nHost: localhost\r\nCookie: a=1; b=2\r\n\
                    Content-Length: 7\r\n\r\ndo=stopGET";
        let (request, length) = Request::parse(text.as_bytes()).expect("a request").expect("whole");
        assert_eq!(length, text.len() - 3);
        assert_eq!((request.method, request.path.as_str()), (Method::Post, "/act"));
        assert_eq!((request.asked("y"), request.cookie("b")), (Some("a b c"), Some("2")));
        assert_eq!((request.header("host"), form(&request.body)), (Some("localhost"), form(b"do=stop")));
        assert!(request.keeps_alive);
        for end in 0..length {
            assert_eq!(Request::parse(&text.as_bytes()[..end]), Ok(None), "{end}");
        }
        assert!(!whole("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n").keeps_alive);
        assert!(!whole("GET / HTTP/1.0\r\n\r\n").keeps_alive);
    }

    #[test]
    fn what_two_servers_may_read_differently_is_refused() {
        for (text, expected) in [
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc", 501),
            ("POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400),
            ("POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc", 400),
            ("POST / HTTP/1.1\r\nContent-Length: 200000\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400),
            ("GET http://localhost/ HTTP/1.1\r\n\r\n", 400),
            ("DELETE / HTTP/1.1\r\n\r\n", 405),
            ("GET / HTTP/1.1\r\nbad header\r\n\r\n", 400),
            ("\u{1}\u{2}\u{3}\r\n\r\n", 400),
        ] {
            assert_eq!(status(text), expected, "{text}");
        }
        assert_eq!(status(&format!("GET /{} HTTP/1.1\r\n", "a".repeat(HEAD_BYTES_MAX))), 431);
    }

    #[test]
    fn every_response_has_the_policy_and_its_length() {
        let bytes = Response::text(404, "not here").with("X", "y".to_owned()).bytes(true);
        let text = String::from_utf8(bytes).expect("text");
        assert!(text.starts_with("HTTP/1.1 404 Not Found\r\nConnection: keep-alive\r\n"), "{text}");
        assert!(text.contains("default-src 'none'") && text.contains("\r\nX: y\r\n"), "{text}");
        assert!(text.ends_with("Content-Length: 9\r\n\r\nnot here\n"), "{text}");
        let empty = String::from_utf8(Response::empty().bytes(false)).expect("text");
        assert!(empty.ends_with("Cache-Control: no-store\r\n\r\n") && empty.contains("Connection: close"), "{empty}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), query in "[%+&=a0]{0,20}") {
            let _ = Request::parse(&bytes);
            let _ = Request::parse(format!("GET /?{query} HTTP/1.1\r\n\r\n").as_bytes());
            let _ = form(&bytes);
        }
    }
}
