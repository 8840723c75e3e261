//! Loads the programs into the kernel and attaches them to their tracepoints.

use std::fmt::Write;

use aya::maps::{Array, MapData, RingBuf};
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfLoader};
use rustix::thread::CapabilitySet;

use crate::probes::error::Error;
use crate::probes::group::Group;

#[cfg(not(brisk_no_bpf))]
static OBJECT: Option<&[u8]> = Some(aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/probes.bpf.o")));
#[cfg(brisk_no_bpf)]
static OBJECT: Option<&[u8]> = None;

/// Programs that are only useful together: name and tracepoint.
struct Part {
    /// What is not seen without it; `None` when it is essential.
    optional: Option<&'static str>,
    programs: &'static [(&'static str, &'static str)],
}

/// Alternatives for the state of the thread that leaves the processor; one is loaded.
const SWITCH: [&str; 2] = ["switch_with_state", "switch_without_state"];

const PARTS: &[Part] = &[
    Part {
        optional: None,
        programs: &[
            (SWITCH[0], "sched_switch"),
            ("woken", "sched_wakeup"),
            ("woken_new", "sched_wakeup_new"),
            ("forked", "sched_process_fork"),
            ("executed", "sched_process_exec"),
        ],
    },
    Part { optional: Some("processes that move between groups"), programs: &[("moved", "cgroup_attach_task")] },
    Part { optional: Some("names that threads give themselves"), programs: &[("renamed", "task_rename")] },
    Part {
        optional: Some("direct reclaim"),
        programs: &[
            ("reclaim_began", "mm_vmscan_direct_reclaim_begin"),
            ("reclaim_ended", "mm_vmscan_direct_reclaim_end"),
        ],
    },
    Part {
        optional: Some("reclaim at the limit of a control group"),
        programs: &[
            ("group_reclaim_began", "mm_vmscan_memcg_reclaim_begin"),
            ("group_reclaim_ended", "mm_vmscan_memcg_reclaim_end"),
        ],
    },
    Part {
        optional: Some("requests at the block layer"),
        // In this order: a request whose completion is not traced yet would stay in flight forever.
        programs: &[
            ("request_completed", "block_rq_complete"),
            ("bio_completed", "block_bio_complete"),
            ("queued", "block_bio_queue"),
        ],
    },
    Part {
        optional: Some("bytes sent and received"),
        programs: &[("sent", "sock_send_length"), ("received", "sock_recv_length")],
    },
    Part { optional: Some("connections being made"), programs: &[("connects", "inet_sock_set_state")] },
    // Since Linux 5.14. Without it a refused connection appears to wait for an answer.
    Part { optional: Some("errors of sockets"), programs: &[("failed", "inet_sk_error_report")] },
];

/// The loaded programs; unloaded on drop.
pub(crate) struct Programs {
    bpf: Ebpf,
    loaded: Vec<&'static str>,
    /// What is not seen, with reasons.
    pub(crate) missing: Vec<String>,
}

impl Programs {
    /// Loads all programs for `group`, with a buffer of `ring_bytes`, without attaching them.
    pub(crate) fn load(group: &Group, ring_bytes: u32) -> Result<Self, Error> {
        let object = OBJECT.ok_or(Error::NotBuiltIn)?;
        if !permitted() {
            return Err(Error::NotPermitted);
        }
        let btf = Btf::from_sys_fs().map_err(|error| Error::NoTypes(error.into()))?;
        let page_bytes = rustix::param::page_size() as u64;
        let bpf = EbpfLoader::new()
            .btf(Some(&btf))
            .override_global("watched_group", &group.id, true)
            .override_global("watched_level", &group.level, true)
            .override_global("page_bytes", &page_bytes, true)
            .map_max_entries("ring", ring_bytes)
            .load(object)
            .map_err(|error| Error::SetUp(error.into()))?;
        let mut programs = Self { bpf, loaded: Vec::new(), missing: Vec::new() };
        for part in PARTS {
            programs.load_part(part, &btf)?;
        }
        Ok(programs)
    }

    fn load_part(&mut self, part: &Part, btf: &Btf) -> Result<(), Error> {
        let before = self.loaded.len();
        for &(program, tracepoint) in part.programs {
            let mut result = self.load_program(program, tracepoint, btf);
            let mut name = program;
            if program == SWITCH[0] && result.is_err() {
                name = SWITCH[1];
                result = self.load_program(name, tracepoint, btf);
            }
            let reason = match result {
                Ok(()) => {
                    self.loaded.push(name);
                    continue;
                }
                Err(error) => explain(&error),
            };
            let Some(unseen) = part.optional else {
                return Err(Error::Refused { program: name, tracepoint, reason });
            };
            self.loaded.truncate(before);
            self.missing.push(format!("{unseen} (tracepoint {tracepoint}: {reason})"));
            break;
        }
        Ok(())
    }

    fn program(&mut self, name: &str) -> &mut BtfTracePoint {
        let program = self.bpf.program_mut(name).expect("the object was built with all programs");
        program.try_into().expect("all programs sit on tracepoints with types")
    }

    fn load_program(&mut self, name: &str, tracepoint: &str, btf: &Btf) -> Result<(), ProgramError> {
        self.program(name).load(tracepoint, btf)
    }

    pub(crate) fn attach(&mut self) -> Result<(), Error> {
        for name in self.loaded.clone() {
            self.program(name).attach().map_err(|error| Error::SetUp(error.into()))?;
        }
        Ok(())
    }

    /// The buffer of records; can be moved out once.
    pub(crate) fn ring(&mut self) -> Result<RingBuf<MapData>, Error> {
        let map = self.bpf.take_map("ring").expect("the object was built with its buffer");
        RingBuf::try_from(map).map_err(|error| Error::SetUp(error.into()))
    }

    /// The count of records that did not fit into the buffer; can be moved out once.
    pub(crate) fn lost(&mut self) -> Result<Array<MapData, u64>, Error> {
        let map = self.bpf.take_map("lost").expect("the object was built with its counter");
        Array::try_from(map).map_err(|error| Error::SetUp(error.into()))
    }

    /// Cost of the loaded programs, from the kernel's information on their file descriptors.
    pub(crate) fn statistics(&mut self) -> Statistics {
        let mut sum = Statistics::default();
        for name in self.loaded.clone() {
            let Ok(fd) = self.program(name).fd() else { continue };
            let fd = std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(fd));
            let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap_or_default();
            sum.add(&text);
        }
        sum
    }

    pub(crate) fn detach(&mut self) {
        for name in std::mem::take(&mut self.loaded) {
            // Fails only for a program that is not loaded.
            let _ = self.program(name).unload();
        }
    }
}

/// Sums over programs, from their /proc/self/fdinfo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// How often they ran; zero while the kernel does not count (kernel.bpf_stats_enabled).
    pub(crate) runs: u64,
    pub(crate) run_ns: u64,
    /// Number of runs skipped because the program was already running on that processor.
    pub(crate) missed: u64,
}

impl Statistics {
    fn add(&mut self, fdinfo: &str) {
        for line in fdinfo.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let Ok(value) = value.trim().parse::<u64>() else { continue };
            match key {
                "run_cnt" => self.runs += value,
                "run_time_ns" => self.run_ns += value,
                "recursion_misses" => self.missed += value,
                _ => {}
            }
        }
    }
}

/// Whether this process may load tracing programs.
pub(crate) fn permitted() -> bool {
    let Ok(sets) = rustix::thread::capabilities(None) else { return false };
    let fine = CapabilitySet::BPF | CapabilitySet::PERFMON;
    sets.effective.contains(fine) || sets.effective.contains(CapabilitySet::SYS_ADMIN)
}

/// Lines of the verifier's log in an error; the last ones have the reason.
const LOG_LINES: usize = 8;

pub(crate) fn explain(error: &ProgramError) -> String {
    match error {
        ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => "this kernel does not have it".to_owned(),
        ProgramError::LoadError { io_error, verifier_log } => {
            let log = verifier_log.to_string();
            let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
            let mut text = io_error.to_string();
            for line in &lines[lines.len().saturating_sub(LOG_LINES)..] {
                let _ = write!(text, "\n  {line}");
            }
            text
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_summed_over_programs() {
        let mut sum = Statistics::default();
        sum.add("pos:\t0\nprog_type:\t26\nrun_time_ns:\t1500\nrun_cnt:\t3\nrecursion_misses:\t1\nverified_insns:\t9\n");
        sum.add("run_time_ns:\t500\nrun_cnt:\t2\n");
        sum.add("nonsense\nrun_cnt:\tmany\n");
        assert_eq!(sum, Statistics { runs: 5, run_ns: 2000, missed: 1 });
    }
}
