//! What the facts mean: a pure function from [`Facts`] to findings.
//!
//! Each part of brisk lists its needs in a file of this folder. A need is `missing` when the part does not work without
//! it, `degraded` when it works with less or would work with more rights: brisk started by another user than root is
//! degraded, not broken.
//!
//! Properties: whatever is not ok has a reason and a remedy; an unavailable fact never counts as ok; every part has
//! at least one finding.

mod daemon;
mod launch;
mod measure;
mod memory;
mod storage;

use brisk_sense::Capability;

use super::facts::{Facts, Known};
use super::finding::{Finding, Part, State, worst};
use super::probe::Answer;

/// What `facts` mean for every part, in the order of [`Part::ALL`].
pub(crate) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for part in Part::ALL {
        let needs = Needs { part, findings: &mut findings };
        match part {
            Part::Bench => measure::bench(facts, needs),
            Part::Lab => measure::lab(facts, needs),
            Part::SmartStorage => storage::smart_storage(facts, needs),
            Part::SmartIo => storage::smart_io(facts, needs),
            Part::Prefetch => launch::prefetch(facts, needs),
            Part::Iram => memory::iram(facts, needs),
            Part::Mars => memory::mars(facts, needs),
            Part::Launch => launch::launch(facts, needs),
            Part::Energy => measure::energy(facts, needs),
        }
        daemon::daemon(facts, Needs { part, findings: &mut findings });
    }
    findings
}

/// The state of brisk as a whole: of no use only where not even the benchmark can run.
pub(crate) fn overall(findings: &[Finding]) -> State {
    let of = |part: Part| worst(findings.iter().filter(|finding| finding.part == part));
    if of(Part::Bench) == State::Missing {
        return State::Missing;
    }
    worst(findings).min(State::Degraded)
}

/// The findings of one part, as they are written down.
struct Needs<'a> {
    part: Part,
    findings: &'a mut Vec<Finding>,
}

impl Needs<'_> {
    fn ok(&mut self, check: &'static str, seen: impl Into<String>) {
        self.findings.push(Finding {
            part: self.part,
            check,
            state: State::Ok,
            seen: seen.into(),
            reason: None,
            remedy: None,
        });
    }

    fn lacks(
        &mut self,
        state: State,
        check: &'static str,
        seen: impl Into<String>,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.findings.push(Finding {
            part: self.part,
            check,
            state,
            seen: seen.into(),
            reason: Some(reason.into()),
            remedy: Some(remedy.into()),
        });
    }

    /// The value, or a finding in `state` that says why it is unavailable.
    fn known<'f, T>(
        &mut self,
        state: State,
        check: &'static str,
        value: &'f Known<T>,
        reason: &'static str,
    ) -> Option<&'f T> {
        match value {
            Ok(value) => Some(value),
            Err(why) => {
                self.lacks(state, check, "unavailable", reason, why.clone());
                None
            }
        }
    }

    /// A finding for something that works or does not. Being refused without being root asks for root; being refused
    /// as root points to a container or a security policy.
    fn answer(&mut self, facts: &Facts, check: &'static str, answer: &Answer, need: &Need) {
        let root = facts.status.as_ref().is_ok_and(|status| status.effective_uid == 0);
        let (seen, remedy) = match answer {
            Answer::Works => return self.ok(check, need.works),
            Answer::Unknown => (need.lacking.to_owned(), need.remedy.to_owned()),
            Answer::Refused if root => {
                ("refused, although brisk runs as root".to_owned(), need.refused_to_root.to_owned())
            }
            Answer::Refused => ("refused".to_owned(), "run brisk as root (sudo brisk ...)".to_owned()),
            Answer::Failed(why) => (format!("failed: {why}"), need.remedy.to_owned()),
        };
        // Without rights is less than without a kernel that could.
        let state = if *answer == Answer::Refused && !root { State::Degraded } else { need.state };
        self.lacks(state, check, seen, need.reason, remedy);
    }

    /// Whether brisk may change settings of the machine; a finding either way.
    fn privilege(&mut self, facts: &Facts, capabilities: &[(Capability, &str)], purpose: &str) {
        let why = "what brisk may do depends on who runs it";
        if self.known(State::Degraded, "privilege", &facts.status, why).is_none() {
            return;
        }
        let lacking: Vec<&str> =
            capabilities.iter().filter(|(capability, _)| !facts.has(*capability)).map(|(_, name)| *name).collect();
        if lacking.is_empty() {
            return self.ok("privilege", "root, or the capabilities for it");
        }
        self.lacks(
            State::Degraded,
            "privilege",
            format!("without {}", lacking.join(", ")),
            format!("it is needed to {purpose}"),
            "run brisk as root (sudo brisk ...); in a container, grant these capabilities",
        );
    }
}

/// How a part depends on something that works or does not.
struct Need {
    /// What to say when it works.
    works: &'static str,
    /// What to say when the kernel does not know it.
    lacking: &'static str,
    /// How bad it is when it does not.
    state: State,
    /// Why it matters.
    reason: &'static str,
    /// What helps when the kernel lacks it.
    remedy: &'static str,
    /// What helps when root is refused.
    refused_to_root: &'static str,
}

const REFUSED_TO_ROOT: &str =
    "a container, seccomp or a security module refuses it: allow it there, or run brisk on the host";

#[cfg(test)]
mod tests;
