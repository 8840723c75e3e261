//! Output of the guest's console: lines of JSON after `@ `, and kernel messages between them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Prefixes of kernel messages that report a problem.
const COMPLAINTS: [&str; 17] = [
    "WARNING:",
    "BUG:",
    "BUG ",
    "KASAN:",
    "INFO: task",
    "INFO: possible",
    "INFO: rcu",
    "rcu: INFO:",
    "Oops",
    "Kernel panic",
    "general protection fault",
    "kmemleak:",
    "unreferenced object",
    "blocked for more than",
    "DEBUG_LOCKS_WARN_ON",
    "refcount_t:",
    "soft lockup",
];

/// Response times of a job.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyNs {
    pub mean: f64,
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    pub max: f64,
}

/// Result of a job of the probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobLine {
    /// Name of the job in the plan.
    pub job: String,
    pub requests: u64,
    pub bytes: u64,
    /// Time over which they were counted.
    pub seconds: f64,
    pub latency_ns: LatencyNs,
    /// Requests that failed.
    #[serde(default)]
    pub errors: u64,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CaseOutput {
    pub index: usize,
    pub jobs: Vec<JobLine>,
    /// Counters of the device, and its timer's lateness.
    pub counters: BTreeMap<String, f64>,
    pub failed: Option<String>,
    pub ended: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Console {
    pub cases: Vec<CaseOutput>,
    /// Kernel messages that report a problem.
    pub complaints: Vec<String>,
    /// Failures outside of cases, and lines with invalid JSON.
    pub failed: Vec<String>,
    /// Whether the plan is complete.
    pub ended: bool,
}

/// Progress in a line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Case(usize),
    /// The plan is complete.
    End,
}

/// The progress reported by a line.
#[must_use]
pub fn progress(line: &str) -> Option<Progress> {
    let value = json(line)?.ok()?;
    if value.get("end").is_some() {
        return Some(Progress::End);
    }
    usize::try_from(value.get("case")?.as_u64()?).ok().map(Progress::Case)
}

/// The JSON of a line from the plan.
fn json(line: &str) -> Option<serde_json::Result<Value>> {
    // The firmware's output shares the first line.
    let at = line.find("@ {")?;
    Some(serde_json::from_str(line[at + 2..].trim()))
}

#[must_use]
pub fn parse(text: &str) -> Console {
    let mut console = Console::default();
    for line in text.lines() {
        let line = line.trim_end_matches('\r');
        if COMPLAINTS.iter().any(|word| line.contains(word)) && !line.contains("@ {\"job\"") {
            console.complaints.push(line.trim().to_owned());
        }
        match json(line) {
            None => {}
            Some(Err(error)) => console.failed.push(format!("a line of the guest is damaged ({error}): {line}")),
            Some(Ok(value)) => take(&mut console, &value),
        }
    }
    console
}

fn take(console: &mut Console, value: &Value) {
    if value.get("end").is_some() {
        console.ended = true;
        return;
    }
    if let Some(index) = value.get("case").and_then(Value::as_u64) {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        console.cases.push(CaseOutput { index, ..CaseOutput::default() });
        return;
    }
    // The guest counts suspicious lines of its log and prints them before.
    if let Some(count) = value.get("dmesg") {
        if count.as_u64() != Some(0) && console.complaints.is_empty() {
            console.complaints.push(format!("{count} lines of its log"));
        }
        return;
    }
    let words = |why: &Value| why.as_str().map_or_else(|| why.to_string(), str::to_owned);
    let Some(case) = console.cases.last_mut().filter(|case| !case.ended) else {
        console.failed.extend(value.get("failed").map(words));
        return;
    };
    if value.get("case_end").is_some() {
        case.ended = true;
    } else if let Some(why) = value.get("failed") {
        case.failed.get_or_insert(words(why));
    } else if value.get("counters").is_some() {
        let all = value.as_object().into_iter().flatten();
        case.counters.extend(all.filter_map(|(name, count)| Some((name.clone(), count.as_f64()?))));
    } else if value.get("job").is_some() {
        match JobLine::deserialize(value) {
            Ok(job) => case.jobs.push(job),
            Err(error) => {
                case.failed.get_or_insert(format!("a job's line cannot be read: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "SeaBIOS (version 1)\u{1b}[2J@ {\"case\":0}\r\n\
        @ {\"job\":\"reader.0\",\"requests\":10,\"bytes\":40960,\"seconds\":1.0,\
        \"latency_ns\":{\"mean\":100,\"p50\":90,\"p90\":120,\"p99\":200,\"p999\":210,\"max\":220},\"errors\":0}\r\n\
        @ {\"counters\":\"case\",\"device\":\"flash0\",\"reads\":10,\"lateness_mean_ns\":600}\r\n@ {\"case_end\":0}\r\n\
        @ {\"case\":1}\n@ {\"failed\":\"no scheduler\"}\n@ {\"case_end\":1}\n@ {\"end\":true}\n";

    #[test]
    fn a_boot_is_parsed_case_by_case() {
        let console = parse(GOOD);
        assert!(console.ended && console.complaints.is_empty() && console.failed.is_empty());
        assert_eq!(console.cases.len(), 2);
        let case = &console.cases[0];
        assert_eq!((case.jobs[0].requests, case.jobs[0].latency_ns.p99), (10, 200.0));
        assert_eq!((case.counters["reads"], case.counters["lateness_mean_ns"]), (10.0, 600.0));
        assert_eq!(console.cases[1].failed.as_deref(), Some("no scheduler"));
        assert_eq!(progress("x @ {\"case\":7}"), Some(Progress::Case(7)));
    }

    #[test]
    fn kernel_problems_are_collected() {
        for line in [
            "[    4.1] WARNING: CPU: 0 PID: 1 at block/blk-mq.c:1",
            "[    4.1] BUG: KASAN: slab-out-of-bounds in x",
            "[  130.0] INFO: task sh:1 blocked for more than 120 seconds.",
            "@ {\"dmesg\":2}",
        ] {
            assert_eq!(parse(line).complaints.len(), 1, "{line}");
        }
        assert!(parse("[    0.0] Booting paravirtualized kernel\n@ {\"dmesg\":0}").complaints.is_empty());
    }

    #[test]
    fn a_damaged_line_is_reported_and_the_rest_is_parsed() {
        let console = parse("@ {\"case\":0}\n@ {\"job\":\"a\n@ {\"case_end\":0}\n@ {\"end\":true}\n");
        assert!(console.ended && console.cases[0].ended);
        assert_eq!(console.failed.len(), 1);
    }

    proptest! {
        #[test]
        fn no_console_makes_the_reader_panic(text in "\\PC{0,200}", cut in 0usize..GOOD.len()) {
            let _ = parse(&text);
            let _ = parse(GOOD.get(cut..).unwrap_or_default());
            let _ = parse(GOOD.get(..cut).unwrap_or_default());
        }
    }
}
