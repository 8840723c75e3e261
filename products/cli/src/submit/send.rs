//! Requests to a fleet: HTTPS by the certificates of this system, HTTP for a fleet of one's own network, with retries.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use brisk_command::terminal::remark;
use ureq::http::StatusCode;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, RequestBuilder};

/// Requests before it is given up.
const ATTEMPTS: u32 = 5;
/// Pause before the second; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause that a server may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// For one request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Most bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 4096;

/// A fleet.
#[derive(Debug)]
pub(super) struct Server {
    url: String,
    agent: Agent,
}

/// What came of one request.
#[derive(Debug)]
enum ServerReply {
    Done(StatusCode),
    /// Not now: why, and how long the server wants to be left alone.
    Later(String, Option<Duration>),
    /// Not ever: what became of it, for the end of a sentence that begins with the address.
    Never(String),
}

impl Server {
    /// The fleet at a URL.
    pub(super) fn at(url: &str) -> anyhow::Result<Self> {
        let url = url.trim_end_matches('/');
        let is_https = url.starts_with("https://");
        if !is_https && !url.starts_with("http://") {
            bail!("'{url}' is no address of a fleet: it begins with https:// or http://");
        }
        let mut config =
            Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false).max_redirects(0);
        if is_https {
            config = config.tls_config(tls()?);
        } else {
            remark("http:// is not encrypted: what was shown can be read on its way");
        }
        Ok(Self { url: url.to_owned(), agent: config.build().into() })
    }

    /// Sends a submission; gives whether it was stored or known.
    pub(super) fn send(&self, body: &[u8]) -> anyhow::Result<&'static str> {
        let address = format!("{}/v1/submissions", self.url);
        let done = self.repeated(|| {
            let request = self.agent.post(&address).header("content-type", "application/json");
            request.send(body)
        })?;
        Ok(if done == StatusCode::CREATED { "stored" } else { "known already" })
    }

    /// Deletes a submission.
    pub(super) fn delete(&self, id: &str, secret: &str) -> anyhow::Result<&'static str> {
        let address = format!("{}/v1/submissions/{id}", self.url);
        self.repeated(|| without_body(self.agent.delete(&address), secret).call())?;
        Ok("deleted")
    }

    fn repeated(
        &self,
        request: impl Fn() -> Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> anyhow::Result<StatusCode> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=ATTEMPTS {
            match outcome(request()) {
                ServerReply::Done(status) => return Ok(status),
                ServerReply::Never(why) => bail!("{} {why}", self.url),
                ServerReply::Later(why, _) if attempt == ATTEMPTS => {
                    bail!(
                        "{} did not take it in {ATTEMPTS} attempts: {why}; try later, the result is the same",
                        self.url
                    )
                }
                ServerReply::Later(why, wanted) => {
                    let wait = wanted.unwrap_or(pause).min(PAUSE_MAX);
                    remark(&format!("{why}; next attempt in {:.1} s", wait.as_secs_f64()));
                    std::thread::sleep(wait);
                    pause *= 2;
                }
            }
        }
        unreachable!("the last attempt returns")
    }
}

fn without_body<B>(request: RequestBuilder<B>, secret: &str) -> RequestBuilder<B> {
    request.header("authorization", format!("Bearer {secret}"))
}

/// TLS with the certificates of this system, so that those that its owner has added or removed count.
fn tls() -> anyhow::Result<TlsConfig> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map_or_else(|| "none was found".to_owned(), ToString::to_string);
        bail!(
            "this system has no certificates of authorities to verify a server by: {why}; install ca-certificates, or name their folder in SSL_CERT_DIR"
        );
    }
    let roots: Vec<Certificate<'static>> =
        found.certs.iter().map(|cert| Certificate::from_der(cert.as_ref()).to_owned()).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::new_with_certs(&roots));
    Ok(config.build())
}

fn outcome(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> ServerReply {
    let mut response = match answer {
        Ok(response) => response,
        Err(error) if is_final(&error) => return ServerReply::Never(format!("cannot be sent to: {error}")),
        Err(error) => return ServerReply::Later(error.to_string(), None),
    };
    let status = response.status();
    if status.is_success() {
        return ServerReply::Done(status);
    }
    let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let text = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string().context("unreadable");
    let why = text.ok().as_deref().and_then(error_of).unwrap_or_default();
    let why = format!("{status} {why}").trim().to_owned();
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        ServerReply::Later(why, after.map(Duration::from_secs))
    } else {
        ServerReply::Never(format!("refused: {why}"))
    }
}

/// Whether another attempt does not change it: a bad address, or a certificate that is not believed.
fn is_final(error: &ureq::Error) -> bool {
    let tls = match error {
        ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::Tls(_) => return true,
        ureq::Error::Rustls(tls) => Some(tls),
        ureq::Error::Io(io) => io.get_ref().and_then(|inner| inner.downcast_ref()),
        _ => None,
    };
    matches!(tls, Some(rustls::Error::InvalidCertificate(_)))
}

/// The sentence in an answer of a fleet, without signs that would act on a terminal.
fn error_of(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    Some(value["error"].as_str()?.chars().filter(|c| !c.is_control()).take(300).collect())
}
