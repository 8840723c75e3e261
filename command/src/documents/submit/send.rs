//! Requests to a fleet by the program `curl`, with retries: HTTPS by the certificates of this system, HTTP for a fleet
//! of one's own network.
//!
//! A library for TLS would weigh more than two megabytes in the program of every device, for a command that few run.
//! A request succeeded only where the answer is what the fleet's interface says, for this id: a sign-in page or a proxy
//! of a network answers each request with status 200. What is secret goes to curl over its standard input, so that no
//! list of processes shows it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::terminal::remark;
use anyhow::{Context as _, bail};
use brisk_core::text::one_line;
use serde::Deserialize;

const CURL: &str = "curl";
/// Requests before it is given up.
const ATTEMPTS: u32 = 5;
/// Pause before the second; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause that a server may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(60);
const TIMEOUT_S: &str = "30";
/// Most bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 4096;
/// Exit codes of curl for what may be otherwise a moment later: no name, no connection, no time, an answer cut short.
const PASSING: [i32; 10] = [5, 6, 7, 16, 18, 28, 52, 55, 56, 92];

/// The answer of a fleet to a request that it did (`_done` in `fleet/src/brisk_fleet/openapi.py`).
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Done {
    id: String,
    status: Word,
}

/// What became of the submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Stored,
    Known,
    Deleted,
}

impl Word {
    fn words(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Known => "known already",
            Self::Deleted => "deleted",
        }
    }
}

#[derive(Debug)]
pub(super) struct Server {
    url: String,
}

/// What came of one request.
#[derive(Debug, PartialEq, Eq)]
enum ServerReply {
    Done(Done),
    /// Not now: why, and how long the server wants to be left alone.
    Later(String, Option<Duration>),
    /// Not ever: what became of it, for the end of a sentence that begins with the address.
    Never(String),
}

impl Server {
    pub(super) fn at(url: &str) -> anyhow::Result<Self> {
        let url = url.trim_end_matches('/');
        let is_https = url.starts_with("https://");
        if !is_https && !url.starts_with("http://") {
            bail!("'{url}' is no address of a fleet: it begins with https:// or http://");
        }
        if !is_https {
            remark("http:// is not encrypted: what was shown can be read on its way");
        }
        Ok(Self { url: url.to_owned() })
    }

    /// Sends a submission; returns whether it was stored or known.
    pub(super) fn send(&self, id: &str, body: &[u8]) -> anyhow::Result<&'static str> {
        let address = format!("{}/v1/submissions", self.url);
        let options = ["--header", "content-type: application/json", "--data-binary", "@-"];
        self.repeated((id, &[Word::Stored, Word::Known]), &address, &options, body)
    }

    pub(super) fn delete(&self, id: &str, secret: &str) -> anyhow::Result<&'static str> {
        let address = format!("{}/v1/submissions/{id}", self.url);
        let header = format!("authorization: Bearer {secret}\n");
        let options = ["--request", "DELETE", "--header", "@-"];
        self.repeated((id, &[Word::Deleted]), &address, &options, header.as_bytes())
    }

    /// What became of the submission `id`, which is one of `words`.
    fn repeated(
        &self,
        (id, words): (&str, &[Word]),
        address: &str,
        options: &[&str],
        input: &[u8],
    ) -> anyhow::Result<&'static str> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=ATTEMPTS {
            match request(address, options, input)? {
                ServerReply::Done(done) if done.id == id && words.contains(&done.status) => {
                    return Ok(done.status.words());
                }
                ServerReply::Done(done) => {
                    bail!("{} answers something else: '{}' of {}", self.url, done.status.words(), done.id)
                }
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

/// One request. Files of options, which a user may have for curl, and redirections are not followed.
fn request(address: &str, options: &[&str], input: &[u8]) -> anyhow::Result<ServerReply> {
    let mut command = Command::new(CURL);
    command.args(["--disable", "--silent", "--show-error", "--proto", "=http,https", "--max-time", TIMEOUT_S]);
    command.args(["--user-agent", concat!("brisk/", env!("CARGO_PKG_VERSION"))]);
    command.args(["--write-out", "%{stderr}%{http_code} %header{retry-after}\n"]);
    command.args(options).arg("--").arg(address);
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut curl = spawned.with_context(|| {
        format!("cannot run {CURL}, which sends it: install the package {CURL}, or write a file with --output")
    })?;
    if let Some(mut stdin) = curl.stdin.take() {
        match stdin.write_all(input) {
            // It ends with the reason.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(error).context("cannot write to curl"),
            _ => {}
        }
    }
    let mut answer = Vec::new();
    if let Some(mut stdout) = curl.stdout.take() {
        let read = stdout.by_ref().take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
        read.and_then(|_| std::io::copy(&mut stdout, &mut std::io::sink())).context("cannot read from curl")?;
    }
    let ended = curl.wait_with_output().context("cannot wait for curl")?;
    Ok(outcome(ended.status.code(), &String::from_utf8_lossy(&ended.stderr), &answer))
}

/// What the exit code of curl, its words, and the answer of the server mean.
fn outcome(code: Option<i32>, said: &str, answer: &[u8]) -> ServerReply {
    if code != Some(0) {
        let why = said.lines().find_map(|line| line.strip_prefix("curl: ")).unwrap_or("curl was ended");
        return match code {
            Some(code) if !PASSING.contains(&code) => ServerReply::Never(format!("cannot be sent to: {why}")),
            _ => ServerReply::Later(why.to_owned(), None),
        };
    }
    let mut words = said.split_whitespace();
    let status = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    if (200..300).contains(&status) {
        return serde_json::from_slice(answer).map_or_else(|_| of_another(status), ServerReply::Done);
    }
    let after = words.next().and_then(|word| word.parse().ok()).map(Duration::from_secs);
    match (status, error_of(answer)) {
        (429 | 500..=599, why) => {
            ServerReply::Later(format!("{status} {}", why.unwrap_or_default()).trim().to_owned(), after)
        }
        (_, Some(why)) => ServerReply::Never(format!("refused: {status} {why}")),
        (_, None) => of_another(status),
    }
}

/// The answer is none of a fleet.
fn of_another(status: u16) -> ServerReply {
    ServerReply::Never(format!(
        "did not answer as a fleet does (status {status}): the address may be wrong, or a sign-in page or proxy of \
         this network answered instead; open a page in a browser, then try again"
    ))
}

/// The sentence in a refusal of a fleet.
fn error_of(answer: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(answer).ok()?;
    let why = one_line(value["error"].as_str()?).into_owned();
    Some(why.chars().take(300).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again_and_the_rest_is_not() {
        let unknown =
            "curl: (60) SSL certificate problem: unable to get local issuer certificate\nMore details\n000 \n";
        let never = "cannot be sent to: (60) SSL certificate problem: unable to get local issuer certificate";
        assert_eq!(outcome(Some(60), unknown, b""), ServerReply::Never(never.to_owned()));
        let refused = "000 \ncurl: (7) Failed to connect\n";
        assert_eq!(outcome(Some(7), refused, b""), ServerReply::Later("(7) Failed to connect".to_owned(), None));
        let busy = ServerReply::Later("503 la\\u0007ter".to_owned(), Some(Duration::from_secs(7)));
        assert_eq!(outcome(Some(0), "503 7\n", b"{\"error\": \"la\\u0007ter\"}"), busy);
        assert_eq!(outcome(Some(0), "429 %header{retry-after}\n", b""), ServerReply::Later("429".to_owned(), None));
        let refused = ServerReply::Never("refused: 404 no such submission".to_owned());
        assert_eq!(outcome(Some(0), "404 \n", b"{\"error\": \"no such submission\"}"), refused);
    }

    #[test]
    fn only_what_the_interface_says_is_an_answer_of_a_fleet() {
        let done = outcome(Some(0), "201 \n", b"{\"id\": \"ab\", \"status\": \"stored\"}");
        assert_eq!(done, ServerReply::Done(Done { id: "ab".to_owned(), status: Word::Stored }));
        for (status, body) in [
            (200, "<html>Sign in</html>"),
            (204, ""),
            (200, "{}"),
            (200, "{\"id\": \"ab\"}"),
            (200, "{\"id\": \"ab\", \"status\": \"ok\"}"),
            (200, "{\"id\": \"ab\", \"status\": \"stored\", \"more\": 1}"),
            (302, ""),
            (404, "<html>no</html>"),
        ] {
            assert_eq!(outcome(Some(0), &format!("{status} \n"), body.as_bytes()), of_another(status), "{body}");
        }
    }
}
