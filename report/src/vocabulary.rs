//! Dimensions and measures that several kinds have.

use crate::measures::Type::{Integer, Text};
use crate::measures::unit::*;
use crate::measures::{Dimension, Measure, dimension, higher, lower, neither, shown, words};

macro_rules! compared_by {
    ($($name:ident = $dimension:expr;)+) => {
        $(pub const $name: Dimension = $dimension;)+

        /// Every dimension by which documents are compared, in the order of their columns in CSV.
        pub const DIMENSIONS: &[Dimension] = &[$($name),+];
    };
}

compared_by! {
    APP = dimension("app").column("app", Text);
    BOUND = dimension("bound").column("bound", Text);
    CALL = dimension("call").column("call", Text);
    CARD = dimension("card").column("card", Text);
    CONDITION = dimension("condition").column("condition", Text);
    DATABASE = dimension("database").column("database", Text);
    DEPTH = dimension("depth").column("depth_requests", Integer);
    JOBS = dimension("jobs").column("jobs", Text);
    LIMIT = dimension("limit").column("limit_bytes", Integer);
    LOAD = dimension("load").column("load", Text);
    LOAD_DEPTH = dimension("load depth").column("load_depth_requests", Integer);
    MIX = dimension("mix").column("mix", Text);
    MOMENT = dimension("moment").column("moment", Text);
    OPERATION = dimension("operation").column("operation", Text);
    POLICY = dimension("policy").column("policy", Text);
    PREDICTOR = dimension("predictor").column("predictor", Text);
    QUEUE_DEPTH = dimension("queue depth").column("queue_depth_requests", Integer);
    RANGE = dimension("range").column("range_bytes", Integer);
    REGIME = dimension("regime").column("regime", Text);
    RULE = dimension("rule").column("rule", Text);
    SCENARIO = dimension("scenario").column("scenario", Text);
    SCHEDULER = dimension("scheduler").column("tested_scheduler", Text);
    SCRIPT = dimension("script").column("script", Text);
    SETTING = dimension("setting").column("setting", Text);
    SIDE = dimension("side").column("side", Text);
    SIZE = dimension("size").column("size_bytes", Integer);
    SOLUTION = dimension("solution").column("solution", Text);
    START = dimension("start").column("start", Text);
    STEP = dimension("step").column("step", Text);
    STREAMS = dimension("streams").column("streams", Integer);
    SWAP_IN = dimension("swap-in").column("swap_in", Text);
    USER = dimension("user").column("user", Text);
    WAY = dimension("way").column("way", Text);
    WORKLOAD = dimension("workload").column("workload", Text);
}

pub const APP_GROUP: Dimension = dimension("app (group)");
pub const COMMAND: Dimension = dimension("command");
pub const DESCRIPTION: Dimension = dimension("description");
pub const DEVICE: Dimension = dimension("device");
pub const KIND: Dimension = dimension("kind");
pub const LAUNCH: Dimension = dimension("launch");
pub const NAME: Dimension = dimension("name");
pub const OF: Dimension = dimension("of");
pub const ORDER: Dimension = dimension("order");
pub const READS: Dimension = dimension("reads");
pub const REASON: Dimension = dimension("reason");
pub const RUN: Dimension = dimension("run");
pub const TIME: Dimension = dimension("time");

pub const AGAINST: Measure = words("against");
pub const ALONE: Measure = shown("alone", US);
pub const BACKGROUND_SYNCS: Measure = neither("background syncs", COUNT);
pub const BACKGROUND_WRITES: Measure = neither("background writes", BANDWIDTH);
pub const BOUND_MEASURE: Measure = shown("bound", MS);
pub const CHANGE: Measure = shown("change", MS);
pub const EFFECT: Measure = words("effect");
pub const ENDED: Measure = shown("ended", TALLY);
pub const ENDING: Measure = words("ending");
pub const FIRST_FRAME: Measure = lower("first frame", MS);
pub const FIRST_PROCESS: Measure = lower("first process", MS);
pub const FIRST_WINDOW: Measure = lower("first window", MS);
pub const FLASH_BUSY: Measure = shown("flash busy", MS);
pub const HEAP_TOUCHED: Measure = shown("heap touched", BYTES);
pub const HERE_OVER_PAPER: Measure = shown("here / paper", NUMBER);
pub const IDLE: Measure = lower("idle", MS);
pub const INTERVAL: Measure = words("interval");
pub const IN_SEQUENCE: Measure = shown("in sequence", BYTES);
pub const LOADS: Measure = shown("loads", TALLY);
pub const LONGEST_LATENCY: Measure = lower("longest latency", US);
pub const MARK: Measure = words("mark");
pub const MB_PER_S_COLUMN: Measure = shown("MB/s", MB_PER_S);
pub const MEAN: Measure = shown("mean", US);
pub const MEAN_LATENCY: Measure = lower("mean latency", US);
pub const P50: Measure = shown("p50", US);
pub const P99: Measure = shown("p99", US);
pub const P99_LATENCY: Measure = lower("p99 latency", US).leaves();
pub const PAPERS_SMARTIO: Measure = shown("paper's SmartIO", PRINTED);
pub const REACHED: Measure = shown("reached", BANDWIDTH);
pub const READ_FROM_STORAGE: Measure = lower("read from storage", BYTES);
pub const READ_IN: Measure = lower("read in", BYTES);
pub const READ_LATENCY: Measure = lower("read latency", US);
pub const READ_P99: Measure = shown("read p99", US);
pub const REMARK: Measure = words("remark");
pub const REQUESTS: Measure = shown("requests", TALLY);
pub const REQUESTS_PER_S: Measure = neither("requests/s", COUNT);
pub const RUNS: Measure = shown("runs", TALLY);
pub const SAID: Measure = words("said");
pub const SETTLED: Measure = lower("settled", MS).leaves();
pub const SETTLED_LESS_CPU_WAIT: Measure = lower("settled less CPU wait", MS);
pub const SLOWDOWN: Measure = lower("slowdown", TIMES).leaves();
pub const SPLIT: Measure = shown("split", MS);
pub const STATE: Measure = words("state");
pub const STORAGE: Measure = words("storage");
pub const STORAGE_TIME: Measure = shown("time in storage", MS).leaves();
pub const SYNCS_PER_S: Measure = shown("syncs/s", NUMBER);
pub const TARGET: Measure = shown("target", BANDWIDTH);
pub const THROUGHPUT: Measure = higher("throughput", BANDWIDTH).leaves();
pub const VERDICT: Measure = words("verdict");
pub const WHOLE: Measure = shown("whole", MS);
pub const WRITES: Measure = shown("writes", BANDWIDTH);
pub const WRITE_LATENCY: Measure = lower("write latency", US);
pub const WRITE_THROUGHPUT: Measure = higher("write throughput", BANDWIDTH);
pub const WRITTEN_OUT: Measure = lower("written out", BYTES);
