//! `brisk setup`: the one command after installation. Looks at the machine, shows a plan, asks once, does it; `--undo`
//! takes back what it did.
//!
//! ```text
//! Facts::read ─> plan (pure) ─> Step {state, commands, undo} ─> run in order, each kept in the record when it is done
//! ```
//!
//! Each step is done by commands that a person could give, which the plan shows. What takes a package manager is named
//! and left to the person. A step is in the record before it is begun, and what takes it back does nothing where there
//! is nothing: so a kill or a power cut in the middle leaves nothing that `--undo` does not know.
//!
//! Properties: `a_machine_where_all_is_done_has_nothing_to_do`; `what_a_bare_machine_lacks_is_planned_in_order`;
//! `what_takes_a_package_is_left_to_the_person`; `an_undo_leaves_the_service_as_it_was`;
//! `what_was_begun_is_taken_back_the_last_first_and_a_failure_stays`.

mod facts;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};
use brisk_api::dirs;
use brisk_api::init::Init;
use brisk_command::confirm::agrees;
use brisk_command::json::{Document, Json};
use brisk_command::output::replace;
use brisk_command::terminal::{caution, good, plain, remark};
use brisk_sense::{Capability, Sense};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::status::Socket;
use facts::{Facts, Swap};

const AFTER_HELP: &str = "\
Examples:
  brisk setup              # as root: the plan, a question, and then all of it
  brisk setup --check      # the plan alone
  brisk setup --yes        # for makers: without a question
  brisk setup --undo       # takes back what it did, and nothing else

It starts the service with the machine, makes a swap area where apps need one (on flash, with compressed memory before \
it), and has storage measured. What takes a package is named with its command, and so is a second program that ends \
apps. Engines need no choice: each shows on this device whether it gains (brisk trial). Exit codes: 0 done, 1 \
declined, or with --check something is to be done, 2 not possible: what was done before stays, and --undo takes it \
back.";

/// Arguments of `brisk setup`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Show the plan, and do nothing
    #[arg(long, conflicts_with_all = ["yes", "undo"])]
    check: bool,
    /// Agree without being asked
    #[arg(long)]
    yes: bool,
    /// Take back what was done
    #[arg(long)]
    undo: bool,
    /// Where it is kept what was done
    #[arg(long, value_name = "FILE", default_value = dirs::SETUP, hide = true)]
    record: PathBuf,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    socket: Socket,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It is so already, or not needed here.
    Fine,
    /// This command does it.
    Todo,
    /// The person may do it.
    Yours,
}

/// A step of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Step {
    name: &'static str,
    state: State,
    /// In a sentence: what is, or what will be.
    says: String,
    /// For a shell; empty where there is nothing to do.
    command: String,
    /// Takes it back.
    #[serde(skip)]
    undo: String,
}

impl Step {
    fn fine(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, state: State::Fine, says: says.into(), command: String::new(), undo: String::new() }
    }

    fn todo(name: &'static str, says: impl Into<String>, command: impl Into<String>, undo: impl Into<String>) -> Self {
        Self { name, state: State::Todo, says: says.into(), command: command.into(), undo: undo.into() }
    }

    fn yours(name: &'static str, says: impl Into<String>, command: impl Into<String>) -> Self {
        Self { name, state: State::Yours, says: says.into(), command: command.into(), undo: String::new() }
    }
}

const DISABLE_SERVICE: &str = "systemctl disable briskd";
const DISABLE_TIMER: &str = "systemctl disable --now brisk-tune.timer";

fn undo_swap() -> String {
    format!("[ ! -e '{}' ] || brisk swap undo", brisk_act::SWAP_RECORD)
}

/// Whether a command is one by which a step is taken back. The daemon can write into the folder of the record, and what
/// stands in that is run by root without the limits of the service.
fn is_an_undo(command: &str, init: Init) -> bool {
    let of_service = [init.stop("briskd"), init.disable("briskd"), DISABLE_SERVICE.to_owned()];
    of_service.iter().chain([&DISABLE_TIMER.to_owned(), &undo_swap()]).any(|undo| undo == command)
}

/// A step that was done, and how it is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Done {
    name: String,
    undo: String,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.json.check(&[])?;
    if args.undo {
        return undo(args);
    }
    let steps = plan(&Facts::read(&args.socket)?);
    let todo = steps.iter().filter(|step| step.state == State::Todo).count();
    if args.check || todo == 0 {
        show(args, &steps, &[])?;
        return Ok(ExitCode::from(u8::from(args.check && todo > 0)));
    }
    must_be_root("setting this machine up")?;
    if !args.yes {
        brisk_program::notice!("{}", plain(&text(&steps, &[])).trim_end());
        if !agrees(&format!("Do the {todo} steps marked with 'to do'?")).context("nothing was done")? {
            remark("nothing was done");
            return Ok(ExitCode::from(1));
        }
    }
    let mut done = read(&args.record)?;
    for step in steps.iter().filter(|step| step.state == State::Todo) {
        remark(&format!("{}: {}", step.name, step.command));
        begin(&mut done, step);
        keep(&args.record, &done)?;
        shell(&step.command).with_context(|| {
            format!("{}: what was done before stays; 'brisk setup --undo' takes it back", step.name)
        })?;
    }
    let names: Vec<&str> = done.iter().map(|done| done.name.as_str()).collect();
    show(args, &steps, &names)?;
    Ok(ExitCode::SUCCESS)
}

/// Adds a step that is begun now. What was recorded before stays: it knows how the machine was at first.
fn begin(done: &mut Vec<Done>, step: &Step) {
    if !done.iter().any(|done| done.name == step.name) {
        done.push(Done { name: step.name.to_owned(), undo: step.undo.clone() });
    }
}

/// What there is to do, in this order. Pure.
fn plan(facts: &Facts) -> Vec<Step> {
    let init = facts.init;
    let service = match (facts.is_running, facts.is_enabled) {
        (true, None | Some(true)) => Step::fine("service", "briskd runs, with the defaults that fit this machine"),
        // Nothing manages services here.
        (false, _) if init == Init::Other => Step::yours("service", "briskd does not run", init.enable()),
        (false, Some(true)) => {
            Step::todo("service", "briskd starts now, as it does with the machine", init.start(), init.stop("briskd"))
        }
        (true, Some(false)) => {
            let says = "briskd runs, and starts with the machine from now on";
            Step::todo("service", says, init.enable(), DISABLE_SERVICE)
        }
        (false, None | Some(false)) => {
            Step::todo("service", "briskd starts now, and with the machine", init.enable(), init.disable("briskd"))
        }
    };
    let swap = match &facts.swap {
        Swap::Made => Step::fine("swap", "brisk made the swap area of this machine"),
        Swap::Proposed(what) => Step::todo("swap", what, "brisk swap setup --yes", undo_swap()),
        Swap::Not(why) => Step::fine("swap", format!("none is made: {why}")),
    };
    let kernel = (!facts.kernel_lacks.is_empty()).then(|| {
        let words = facts.kernel_lacks.join(" ");
        let says = format!(
            "the kernel does not count {}: add {words} to what it is started with, and restart",
            facts
                .kernel_lacks
                .iter()
                .map(|word| if word.starts_with("psi") { "pressure" } else { "memory by group" })
                .collect::<Vec<_>>()
                .join(" and ")
        );
        let command = facts.command_line.map_or_else(String::new, |file| format!("editor {file}"));
        Step::yours("kernel", says, command)
    });
    let due = facts.due.as_deref().unwrap_or_default().join("; ");
    let tuning = match facts.is_timer_on {
        _ if facts.due.as_ref().is_some_and(Vec::is_empty) => {
            Step::fine("tuning", "all that engines weigh by is measured")
        }
        Some(true) => Step::fine(
            "tuning",
            format!("the service measures storage bit by bit, while nothing else uses it{}", after(&due)),
        ),
        Some(false) => Step::todo(
            "tuning",
            format!("the service measures storage bit by bit, while nothing else uses it{}", after(&due)),
            "systemctl enable --now brisk-tune.timer",
            DISABLE_TIMER,
        ),
        None => Step::yours("tuning", format!("storage is to be measured once{}", after(&due)), "brisk tune"),
    };
    let session = match (facts.has_session_program, facts.has_desktop) {
        (true, _) => Step::fine("session", "brisk-session tells which app is in front, from the next login on"),
        (false, true) => Step::yours(
            "session",
            "nothing tells which app is in front, so memory is taken from no interactive app",
            "apt install brisk-session",
        ),
        (false, false) => Step::fine("session", "no desktop is installed; other shells call 'brisk front'"),
    };
    let scheduler = match (facts.has_scheduler, facts.has_emmc) {
        (true, _) => Step::fine("scheduler", "the kernel has brisk's I/O scheduler"),
        (false, true) => Step::yours(
            "scheduler",
            "on eMMC brisk's I/O scheduler keeps reads ahead of writes better than those of the kernel",
            "apt install brisk-smartio-dkms",
        ),
        (false, false) => Step::fine("scheduler", "those of the kernel do for this storage"),
    };
    // By default brisk ends no apps, so one of these does no harm; two of them end more than is needed.
    let others = facts.other_killers.iter().enumerate().map(|(nth, name)| match nth {
        0 => Step::fine("others", format!("{name} ends apps when memory runs out; brisk leaves that to it")),
        _ => {
            let says = format!("{name} ends apps as well, and one program that does so is enough");
            Step::yours("others", says, init.disable(name))
        }
    });
    [service, swap, tuning, session, scheduler].into_iter().chain(kernel).chain(others).collect()
}

fn after(due: &str) -> String {
    if due.is_empty() { String::new() } else { format!(" ({due})") }
}

fn text(steps: &[Step], done: &[&str]) -> String {
    let mut text = String::new();
    for step in steps {
        let mark = match step.state {
            State::Todo if done.contains(&step.name) => good("done"),
            State::Fine => good("fine"),
            State::Todo => caution("to do"),
            State::Yours => caution("yours"),
        };
        let _ = writeln!(text, "{:<10} {mark}: {}", step.name, step.says);
        if !step.command.is_empty() && !done.contains(&step.name) {
            let _ = writeln!(text, "           {}", step.command);
        }
    }
    text
}

fn show(args: &Args, steps: &[Step], done: &[&str]) -> anyhow::Result<()> {
    let document = Document::new("setup", json!({ "steps": steps, "done": done }));
    args.json.show(&document, || {
        let next = match done.is_empty() {
            true => "",
            false => "\nSee 'brisk status' and 'brisk trial'; 'brisk setup --undo' takes this back.\n",
        };
        text(steps, done) + next
    })
}

/// Takes back what the record has, the last first; a step that fails stays in it, and the others are taken back.
fn undo(args: &Args) -> anyhow::Result<ExitCode> {
    must_be_root("taking back a set-up")?;
    let (mut taken, mut left) = (Vec::new(), read(&args.record)?);
    for nth in (0..left.len()).rev() {
        remark(&format!("{}: {}", left[nth].name, left[nth].undo));
        let run = match is_an_undo(&left[nth].undo, Init::of_machine()) {
            true => shell(&left[nth].undo),
            false => Err(anyhow::anyhow!(
                "no step of brisk is taken back by this command, so it is not run: see who wrote {}",
                args.record.display()
            )),
        };
        match run {
            Ok(()) => {
                taken.push(left.remove(nth).name);
                keep(&args.record, &left)?;
            }
            Err(error) => brisk_program::warn!("brisk: {}: {error:#}", left[nth].name),
        }
    }
    let names: Vec<&str> = left.iter().map(|done| done.name.as_str()).collect();
    args.json.show(&Document::new("setup_undo", json!({ "taken_back": taken, "left": names })), || {
        match taken.len() {
            0 if left.is_empty() => "nothing was set up by 'brisk setup'\n".to_owned(),
            _ => format!("taken back: {}\n", if taken.is_empty() { "nothing".to_owned() } else { taken.join(", ") }),
        }
    })?;
    if !left.is_empty() {
        bail!("{} is left: when the cause is gone, 'brisk setup --undo' goes on with it", names.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

fn read(record: &Path) -> anyhow::Result<Vec<Done>> {
    match brisk_program::files::read_text(record, 1 << 16) {
        Ok(text) => serde_json::from_str(&text)
            .with_context(|| format!("{} cannot be used: what was set up is not known", record.display())),
        Err(error) if error.is_missing() => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// No file where nothing is done.
fn keep(record: &Path, done: &[Done]) -> anyhow::Result<()> {
    if done.is_empty() {
        return match std::fs::remove_file(record) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", record.display()))
            }
            _ => Ok(()),
        };
    }
    if let Some(dir) = record.parent() {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    replace(record, serde_json::to_string_pretty(done).context("cannot write JSON")?.as_bytes())
}

fn must_be_root(what: &'static str) -> anyhow::Result<()> {
    Ok(Sense::default().require_rights(what, &[Capability::SysAdmin])?)
}

/// Runs a command of a step; `brisk` in it is this program.
fn shell(command: &str) -> anyhow::Result<()> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut sh = Command::new("sh");
    sh.args(["-c", &format!("brisk() {{ \"$0\" \"$@\"; }}; {command}")]).arg(own);
    let status = sh.status().with_context(|| format!("cannot run '{command}'"))?;
    anyhow::ensure!(status.success(), "'{command}' failed ({status})");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare() -> Facts {
        Facts {
            init: Init::Systemd,
            is_running: false,
            is_enabled: Some(false),
            swap: Swap::Proposed("/swapfile: a swap area of 1 GiB".to_owned()),
            is_timer_on: Some(false),
            due: Some(vec!["mmcblk0: speeds, settings, costs".to_owned()]),
            has_session_program: false,
            has_desktop: true,
            has_scheduler: false,
            has_emmc: true,
            kernel_lacks: Vec::new(),
            command_line: None,
            other_killers: vec!["systemd-oomd".to_owned(), "earlyoom".to_owned()],
        }
    }

    fn states(facts: &Facts) -> Vec<(&'static str, State)> {
        plan(facts).into_iter().map(|step| (step.name, step.state)).collect()
    }

    #[test]
    fn what_a_bare_machine_lacks_is_planned_in_order() {
        let steps = plan(&bare());
        let todo: Vec<_> = steps.iter().filter(|step| step.state == State::Todo).collect();
        assert_eq!(
            todo.iter().map(|step| (step.command.as_str(), step.undo.as_str())).collect::<Vec<_>>(),
            [
                ("systemctl enable --now briskd", "systemctl disable --now briskd"),
                ("brisk swap setup --yes", "[ ! -e '/var/lib/brisk/swap.json' ] || brisk swap undo"),
                ("systemctl enable --now brisk-tune.timer", "systemctl disable --now brisk-tune.timer"),
            ]
        );
        let said = plain(&text(&steps, &["service"]));
        assert!(said.starts_with("service    done: briskd starts now"), "{said}");
        assert!(said.contains("(mmcblk0: speeds, settings, costs)"), "{said}");
    }

    #[test]
    fn what_takes_a_package_is_left_to_the_person() {
        let yours: Vec<String> =
            plan(&bare()).into_iter().filter(|step| step.state == State::Yours).map(|step| step.command).collect();
        assert_eq!(
            yours,
            ["apt install brisk-session", "apt install brisk-smartio-dkms", "systemctl disable --now earlyoom"]
        );
        let container = Facts { init: Init::Other, ..bare() };
        assert_eq!(states(&container)[0], ("service", State::Yours));
        let elsewhere = Facts { init: Init::OpenRc, is_enabled: None, is_timer_on: None, has_desktop: false, ..bare() };
        assert_eq!(states(&elsewhere)[2..4], [("tuning", State::Yours), ("session", State::Fine)]);
    }

    #[test]
    fn what_the_kernel_is_started_without_is_named_with_its_file() {
        let pi = Facts {
            kernel_lacks: vec!["cgroup_enable=memory", "psi=1"],
            command_line: Some("/boot/firmware/cmdline.txt"),
            ..bare()
        };
        let steps = plan(&pi);
        let kernel = steps.iter().find(|step| step.name == "kernel").expect("there is such a step");
        assert!(kernel.says.contains("memory by group and pressure: add cgroup_enable=memory psi=1"), "{kernel:?}");
        assert_eq!(kernel.command, "editor /boot/firmware/cmdline.txt");
        assert!(plan(&bare()).iter().all(|step| step.name != "kernel"));
    }

    #[test]
    fn a_machine_where_all_is_done_has_nothing_to_do() {
        let done = Facts {
            is_running: true,
            is_enabled: Some(true),
            swap: Swap::Made,
            is_timer_on: Some(true),
            due: Some(Vec::new()),
            has_session_program: true,
            has_scheduler: true,
            other_killers: vec!["earlyoom".to_owned()],
            ..bare()
        };
        assert!(states(&done).iter().all(|(_, state)| *state == State::Fine), "{:?}", states(&done));
    }

    #[test]
    fn an_undo_leaves_the_service_as_it_was() {
        let of = |is_running, is_enabled| {
            let step = plan(&Facts { is_running, is_enabled, ..bare() }).remove(0);
            (step.command, step.undo)
        };
        let words = |command: &str, undo: &str| (command.to_owned(), undo.to_owned());
        assert_eq!(of(false, Some(true)), words("systemctl start briskd", "systemctl stop briskd"));
        assert_eq!(of(true, Some(false)), words("systemctl enable --now briskd", "systemctl disable briskd"));
        assert_eq!(of(true, None), words("", ""));
        let (mut done, steps) = (Vec::new(), plan(&bare()));
        begin(&mut done, &steps[0]);
        let again = plan(&Facts { is_running: true, ..bare() });
        begin(&mut done, &again[0]);
        assert_eq!(done.iter().map(|done| done.undo.as_str()).collect::<Vec<_>>(), ["systemctl disable --now briskd"]);
    }

    #[test]
    fn who_may_not_ask_the_daemon_is_told_nothing_wrong() {
        let facts = Facts { is_running: true, is_enabled: Some(true), is_timer_on: Some(true), due: None, ..bare() };
        assert_eq!(states(&facts)[0], ("service", State::Fine));
        assert!(plan(&facts)[2].says.starts_with("the service measures storage"), "{:?}", plan(&facts)[2]);
    }

    #[test]
    fn a_record_has_undos_of_steps_and_runs_nothing_else() {
        for facts in [bare(), Facts { is_enabled: Some(true), ..bare() }, Facts { is_running: true, ..bare() }] {
            for step in plan(&facts).iter().filter(|step| step.state == State::Todo) {
                assert!(is_an_undo(&step.undo, facts.init), "{}", step.undo);
                assert!(!is_an_undo(&format!("{}; id", step.undo), facts.init));
            }
        }
        assert!(!is_an_undo("", Init::Other) && !is_an_undo("touch /x", Init::Systemd));
    }

    #[test]
    fn what_was_begun_is_taken_back_the_last_first_and_a_failure_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let (record, log) = (dir.path().join("setup.json"), dir.path().join("log"));
        let says = |word: &str| format!("echo {word} >>{}", log.display());
        let step = |name, undo: &str| Step::todo(name, "", "true", undo);
        let mut done = Vec::new();
        for step in [step("service", &says("service")), step("swap", "false"), step("tuning", &says("tuning"))] {
            begin(&mut done, &step);
            keep(&record, &done).expect("kept");
        }
        assert_eq!(read(&record).expect("kept"), done);
        let taken: Vec<bool> = done.iter().rev().map(|done| shell(&done.undo).is_ok()).collect();
        assert_eq!(taken, [true, false, true]);
        assert_eq!(std::fs::read_to_string(log).expect("written"), "tuning\nservice\n");
        keep(&record, &[]).expect("removed");
        assert!(!record.exists() && keep(&record, &[]).is_ok());
        assert!(read(&record).expect("no record").is_empty());
        std::fs::write(&record, "{").expect("written");
        assert!(read(&record).expect_err("damaged").to_string().contains("cannot be used"));
    }
}
