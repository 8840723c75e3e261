//! What the programs of brisk's command line share.
//!
//! A user sees one command, `brisk`. A device has the program `brisk`; the program `brisk-lab` has the laboratory
//! (launches, emulated phones, kernel lab), and `brisk` becomes it for its commands ([`lab`]). Here is
//! what both need: options and manners of the terminal ([`terminal`]), questions ([`confirm`]), outputs ([`output`],
//! [`json`]), durations ([`duration`]), defaults of measurements ([`defaults`]), tables that are read ([`tables`]), man
//! pages ([`man`]), completions ([`completion`]), the commit of this build ([`build`]), the session around a
//! measurement ([`session`]), and the arguments of `brisk profile` ([`profile`]), which both run.

pub mod build;
pub mod completion;
pub mod confirm;
pub mod defaults;
pub mod documents;
pub mod duration;
pub mod json;
pub mod lab;
pub mod man;
pub mod output;
pub mod profile;
pub mod session;
pub mod signals;
pub mod tables;
pub mod terminal;
pub mod web;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Context as _;
use brisk_core::units::parse_bytes;

/// Version of this build, which `brisk` and `brisk-lab` compare.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints a text for people at once, with colours and signs that the terminal has (see [`terminal`]); a reader that
/// closed the pipe, such as `head`, is no error.
///
/// # Errors
/// When standard output cannot be written.
pub fn print(text: &str) -> anyhow::Result<()> {
    written(&mut std::io::stdout().lock(), &terminal::shown(text))
}

/// Prints what programs read: JSON, pages, tables of values, configurations. What would act on a terminal is written in
/// the form that JSON has for it.
///
/// # Errors
/// As [`print()`].
pub fn print_exactly(text: &str) -> anyhow::Result<()> {
    written(&mut std::io::stdout().lock(), &brisk_core::text::harmless(text))
}

fn written(out: &mut dyn Write, text: &str) -> anyhow::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write to standard output"),
        _ => Ok(()),
    }
}

/// Columns of the terminal; `None` when standard output is none.
#[must_use]
pub fn terminal_width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

/// The exit code of a program: an error is printed, with code 2.
pub fn exit_code(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        terminal::log(brisk_program::log::Level::Error, &format!("{} {error:#}", terminal::bad("brisk:")));
        ExitCode::from(2)
    })
}

/// Does something with all of `names` even when it fails for one, and prints the sentences that it gives, or the error.
/// Gives the exit code.
pub fn for_each<E: Into<anyhow::Error>>(names: &[String], act: impl Fn(&str) -> Result<Vec<String>, E>) -> ExitCode {
    let mut exit = ExitCode::SUCCESS;
    for name in names {
        match act(name) {
            Ok(sentences) => sentences.iter().for_each(|sentence| terminal::remark(sentence)),
            Err(error) => {
                brisk_program::error!("brisk: {:#}", error.into());
                exit = ExitCode::from(2);
            }
        }
    }
    exit
}

/// Reads a size such as `4k` or `512MiB`, in bytes.
///
/// # Errors
/// When it is none, in words for clap.
pub fn size(text: &str) -> Result<u64, String> {
    parse_bytes(text).map_err(|error| error.to_string())
}
