//! Dimensions and measures that several kinds have.

use crate::measures::Type::{Integer, Text};
use crate::measures::unit::*;
use crate::measures::{Dimension, Measure, dimension, higher, lower, neither, shown, words};

macro_rules! compared_by {
    ($($name:ident = $dimension:expr;)+) => {
        $(pub(crate) const $name: Dimension = $dimension;)+

        /// Every dimension by which documents are compared, in the order of their columns in CSV.
        pub(crate) const DIMENSIONS: &[Dimension] = &[$($name),+];
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

pub(crate) const APP_GROUP: Dimension = dimension("app (group)");
pub(crate) const COMMAND: Dimension = dimension("command");
pub(crate) const DESCRIPTION: Dimension = dimension("description");
pub(crate) const DEVICE: Dimension = dimension("device");
pub(crate) const KIND: Dimension = dimension("kind");
pub(crate) const LAUNCH: Dimension = dimension("launch");
pub(crate) const NAME: Dimension = dimension("name");
pub(crate) const OF: Dimension = dimension("of");
pub(crate) const ORDER: Dimension = dimension("order");
pub(crate) const READS: Dimension = dimension("reads");
pub(crate) const REASON: Dimension = dimension("reason");
pub(crate) const RUN: Dimension = dimension("run");
pub(crate) const TIME: Dimension = dimension("time");

pub(crate) const AGAINST: Measure = words("against");
pub(crate) const ALONE: Measure = shown("alone", US);
pub(crate) const BACKGROUND_SYNCS: Measure = neither("background syncs", COUNT);
pub(crate) const BACKGROUND_WRITES: Measure = neither("background writes", BANDWIDTH);
pub(crate) const BOUND_MEASURE: Measure = shown("bound", MS);
pub(crate) const CHANGE: Measure = shown("change", MS);
pub(crate) const EFFECT: Measure = words("effect");
pub(crate) const ENDED: Measure = shown("ended", TALLY);
pub(crate) const ENDING: Measure = words("ending");
pub(crate) const ENERGY_COLUMN: Measure = lower("energy", ENERGY);
pub(crate) const FIRST_FRAME: Measure = lower("first frame", MS);
pub(crate) const FIRST_PROCESS: Measure = lower("first process", MS);
pub(crate) const FIRST_WINDOW: Measure = lower("first window", MS);
pub(crate) const FLASH_BUSY: Measure = shown("flash busy", MS);
pub(crate) const HEAP_TOUCHED: Measure = shown("heap touched", BYTES);
pub(crate) const HERE_OVER_PAPER: Measure = shown("here / paper", NUMBER);
pub(crate) const IDLE: Measure = lower("idle", MS);
pub(crate) const INTERVAL: Measure = words("interval");
pub(crate) const IN_SEQUENCE: Measure = shown("in sequence", BYTES);
pub(crate) const LOADS: Measure = shown("loads", TALLY);
pub(crate) const LONGEST_LATENCY: Measure = lower("longest latency", US);
pub(crate) const MARK: Measure = words("mark");
pub(crate) const MB_PER_S_COLUMN: Measure = shown("MB/s", MB_PER_S);
pub(crate) const MEAN: Measure = shown("mean", US);
pub(crate) const MEAN_LATENCY: Measure = lower("mean latency", US);
pub(crate) const P50: Measure = shown("p50", US);
pub(crate) const P99: Measure = shown("p99", US);
pub(crate) const P99_LATENCY: Measure = lower("p99 latency", US).leaves();
pub(crate) const PAPERS_SMARTIO: Measure = shown("paper's SmartIO", PRINTED);
pub(crate) const REACHED: Measure = shown("reached", BANDWIDTH);
pub(crate) const READ_FROM_STORAGE: Measure = lower("read from storage", BYTES);
pub(crate) const READ_IN: Measure = lower("read in", BYTES);
pub(crate) const READ_LATENCY: Measure = lower("read latency", US);
pub(crate) const READ_P99: Measure = shown("read p99", US);
pub(crate) const REMARK: Measure = words("remark");
pub(crate) const REQUESTS: Measure = shown("requests", TALLY);
pub(crate) const REQUESTS_PER_S: Measure = neither("requests/s", COUNT);
pub(crate) const RUNS: Measure = shown("runs", TALLY);
pub(crate) const SAID: Measure = words("said");
pub(crate) const SETTLED: Measure = lower("settled", MS);
pub(crate) const SETTLED_LESS_CPU_WAIT: Measure = lower("settled less CPU wait", MS);
pub(crate) const SLOWDOWN: Measure = lower("slowdown", TIMES).leaves();
pub(crate) const SPLIT: Measure = shown("split", MS);
pub(crate) const STATE: Measure = words("state");
pub(crate) const STORAGE: Measure = words("storage");
pub(crate) const SYNCS_PER_S: Measure = shown("syncs/s", NUMBER);
pub(crate) const TARGET: Measure = shown("target", BANDWIDTH);
pub(crate) const THROUGHPUT: Measure = higher("throughput", BANDWIDTH).leaves();
pub(crate) const VERDICT: Measure = words("verdict");
pub(crate) const WHOLE: Measure = shown("whole", MS);
pub(crate) const WRITES: Measure = shown("writes", BANDWIDTH);
pub(crate) const WRITE_LATENCY: Measure = lower("write latency", US);
pub(crate) const WRITE_THROUGHPUT: Measure = higher("write throughput", BANDWIDTH);
pub(crate) const WRITTEN_OUT: Measure = lower("written out", BYTES);
