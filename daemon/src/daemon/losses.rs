//! Apps that a user loses for want of memory, told to sessions and to the maker's hook; and the hook itself.

use std::path::Path;

use brisk_api::{Loss, LossKind, reply_with};
use brisk_core::action::Once;
use brisk_core::app::SESSION;
use brisk_core::arbiter::Resolved;
use brisk_core::event::EventKind;
use brisk_core::group::name;
use brisk_core::outcome::Outcome;
use brisk_core::text::shell_word;
use brisk_sense::Sense;
use serde_json::json;

use super::people::processes;
use super::{Daemon, timer};

impl Daemon {
    /// An engine has ended an app, or a process of it, of this user.
    pub(super) fn note_end(&mut self, resolved: &Resolved<Once>, owner: Option<u32>, outcome: &Outcome) {
        if resolved.what.ends() && *outcome == Outcome::Done {
            let reason = resolved.reason.to_string();
            self.tell_loss(LossKind::Ended, resolved.what.group(), &resolved.engine, &reason, owner);
        }
    }

    /// The kernel has ended a process of an app.
    pub(super) fn note_kill(&mut self, kind: &EventKind) {
        let EventKind::OutOfMemory { group } = kind else { return };
        let owner = self.owner_of(group);
        let why = "the kernel ended a process of it, as memory had run out";
        self.tell_loss(LossKind::NotKept, group, "kernel", why, owner);
    }

    /// The user whose app a group is; `None` when neither it nor its processes tell.
    pub(super) fn owner_of(&self, group: &str) -> Option<u32> {
        let group = self.machine.apps.of_key(group)?;
        group.user.or_else(|| by_processes(&self.machine.sense, &group.dir))
    }

    fn tell_loss(&mut self, kind: LossKind, group: &str, by: &str, reason: &str, owner: Option<u32>) {
        let id = self.machine.apps.id_in(group);
        let app = if id.is_empty() { name(group).to_owned() } else { id };
        let is_program = group.starts_with(SESSION);
        let is_protected = self.policy.config.apps.protects(&app, is_program).is_some();
        let loss = Loss {
            at_unix_ms: self.moment.now.wall_unix_ms(),
            kind,
            group: name(group).to_owned(),
            by: by.to_owned(),
            reason: reason.to_owned(),
            protect: if is_protected { String::new() } else { format!("brisk apps protect {}", shell_word(&app)) },
            app,
        };
        if let Some(server) = &mut self.server {
            server.tell_loss(&reply_with(&[("loss", &loss)]), owner, self.moment.now.monotonic_ns);
        }
        let mut event = json!(loss);
        event["event"] = "loss".into();
        event["user"] = json!(owner);
        self.run_hook(&event);
    }

    /// Has the hook run for an event.
    pub(super) fn run_hook(&mut self, event: &serde_json::Value) {
        self.hook.push(event);
        self.tend_hook();
    }

    /// Takes in the end of the hook, and runs it for what waits.
    pub(super) fn tend_hook(&mut self) {
        let now_ns = self.moment.now.monotonic_ns;
        for complaint in self.hook.tend(now_ns) {
            self.report_trouble(complaint);
        }
        self.timers.set(timer::HOOK, self.hook.next_ns(now_ns));
    }
}

fn by_processes(sense: &Sense, dir: &Path) -> Option<u32> {
    let of = |pid: u32| sense.status_of(pid).ok().flatten().map(|status| status.effective_uid);
    processes(sense, dir).into_iter().find_map(of)
}
