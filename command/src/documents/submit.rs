//! `brisk submit`: results of this device for a fleet, once its owner has seen every field and agreed.
//!
//! What leaves is decided by the form of each kind (`brisk_report::submission`). Here: what this machine adds (sort and
//! firmware of the device), the question, the file or the request, and the receipt with the secret that deletes the
//! submission later. Nothing in brisk calls this by itself.

mod receipt;
mod send;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::confirm::agrees;
use crate::json::{Document, Json};
use crate::output::replace;
use crate::terminal::remark;
use anyhow::{Context as _, bail};
use brisk_report::submission::{Envelope, Kind, Known, Submission};
use brisk_report::{Document as Results, Kinds};
use brisk_sense::Sense;
use serde_json::json;

use super::read;
use receipt::{Receipt, Receipts};
use send::Server;

const AFTER_HELP: &str = "\
Only the fields that are shown leave: figures with four digits, models of machine and storage, versions of kernel and \
brisk, the day. Names of hosts, users, files and apps of your own, serial numbers, addresses and times of day stay.

The id of a submission comes from its content: sent twice, it is stored once. A receipt with the secret that deletes \
it stays in \
--receipts (by default $XDG_STATE_HOME/brisk/submissions, ~/.local/state/brisk/submissions). The program curl sends it.

Examples:
  brisk bench --json=bench.json && brisk study slowdown --json=slowdown.json
  brisk submit bench.json slowdown.json --server https://fleet.example.org
  brisk submit bench.json --output submission.json      # to look at, or to hand over
  brisk submit --delete ID --server https://fleet.example.org

Exit codes: 0 sent, written, deleted or known already; 1 not agreed to; 2 not possible.";

/// Arguments of `brisk submit`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Documents written with --json, of one storage device: bench, slowdown, concurrency, frontier, profile, launch,
    /// prove
    #[arg(required_unless_present = "delete", conflicts_with = "delete", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Send to this fleet
    #[arg(long, value_name = "URL", required_unless_present = "output")]
    server: Option<String>,
    /// Write the submission into this file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "delete"])]
    output: Option<PathBuf>,
    /// Agree without being asked
    #[arg(long)]
    yes: bool,
    /// Model of the machine, such as 'Samsung SM-G900F'; not sent unless given
    #[arg(long, value_name = "MODEL")]
    machine: Option<String>,
    /// Sort of the storage device, where neither documents nor this machine tell it
    #[arg(long, value_name = "KIND", value_parser = ["emmc", "sd", "ufs", "nvme", "usb", "virtual", "disk"])]
    kind: Option<String>,
    /// Delete this submission from the fleet, by its receipt
    #[arg(long, value_name = "ID")]
    delete: Option<String>,
    /// Folder of receipts
    #[arg(long, value_name = "DIR")]
    receipts: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

pub fn run(args: &Args, kinds: Kinds) -> anyhow::Result<ExitCode> {
    args.json.check(&args.files)?;
    let receipts = Receipts::at(args.receipts.clone())?;
    let server = args.server.as_deref().map(Server::at).transpose()?;
    if let (Some(id), Some(server)) = (&args.delete, &server) {
        return delete(args, id, server, &receipts);
    }
    let envelope = envelope(args, kinds, &receipts)?;
    show(&envelope)?;
    let question = if args.output.is_some() { "Write it?" } else { "Send it?" };
    if !args.yes && !agrees(question)? {
        remark("nothing was sent or written");
        return Ok(ExitCode::from(1));
    }
    let id = envelope.0.id.as_str().to_owned();
    // The receipt stands before anything leaves, so that all that leaves can be deleted.
    receipts.keep(&envelope.1)?;
    let body = serde_json::to_vec(&envelope.0).context("cannot write JSON")?;
    let status = match (&args.output, &server) {
        (Some(file), _) => {
            replace(file, &body)?;
            "written"
        }
        (None, Some(server)) => server.send(&id, &body)?,
        (None, None) => bail!("name a fleet with --server, or a file with --output"),
    };
    let receipt = receipts.file(&id);
    let facts = json!({ "id": id, "status": status, "receipt": receipt });
    args.json.show(&Document::new("submit", facts), || {
        let what = args.output.as_ref().map_or_else(String::new, |file| format!(" to {}", file.display()));
        format!(
            "{status}{what}: {id}\nReceipt: {} (with it, brisk submit --delete {id} deletes it)\n",
            receipt.display()
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The submission of the files and the receipt for it.
fn envelope(args: &Args, kinds: Kinds, receipts: &Receipts) -> anyhow::Result<(Envelope, Receipt)> {
    let mut documents = Vec::new();
    for file in &args.files {
        documents.extend(read(kinds, file)?);
    }
    let here = Here::of(&documents);
    let kind = args.kind.as_deref().and_then(Kind::named).or(here.kind);
    let private = private_words();
    let known = Known { machine: args.machine.as_deref(), kind, firmware: here.firmware.as_deref(), private: &private };
    let submission = Submission::of(kinds, &documents, &known)?;
    let receipt = receipts.of(submission.id().as_str())?;
    let envelope = submission.into_envelope(&receipt.secret);
    Ok((envelope, receipt))
}

/// What this machine tells of the device, where it is in this machine: a device of the same name and size.
#[derive(Debug, Default)]
struct Here {
    kind: Option<Kind>,
    firmware: Option<String>,
}

impl Here {
    fn of(documents: &[Results]) -> Self {
        let device = documents.iter().find_map(|one| one.header().environment.device.as_ref());
        let Some(device) = device.filter(|device| device.lab_preset.is_none()) else { return Self::default() };
        let sense = Sense::default();
        let Ok(storage) = sense.storage() else { return Self::default() };
        let disk = storage.device_of(&device.name).filter(|disk| disk.size_bytes == device.size_bytes);
        let identity = disk.and_then(|disk| sense.identity(disk).ok());
        identity.map_or_else(Self::default, |it| Self { kind: Kind::named(&it.kind), firmware: it.firmware })
    }
}

/// The name of this host, and that without its domain.
fn private_words() -> Vec<String> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let short = host.split('.').next().unwrap_or_default().to_owned();
    vec![host, short]
}

/// Shows every field that would leave, as it would. On standard error where standard output is for programs.
fn show(envelope: &(Envelope, Receipt)) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&envelope.0).context("cannot write JSON")?;
    let text = brisk_core::text::harmless(&text);
    let mut err = std::io::stderr().lock();
    writeln!(err, "{text}\nThis is all that leaves this device, {} bytes.", text.len()).context("cannot show it")
}

fn delete(args: &Args, id: &str, server: &Server, receipts: &Receipts) -> anyhow::Result<ExitCode> {
    let receipt = receipts.read(id)?;
    let status = server.delete(id, &receipt.secret)?;
    args.json.show(&Document::new("submit", json!({ "id": id, "status": status })), || format!("{status}: {id}\n"))?;
    Ok(ExitCode::SUCCESS)
}
