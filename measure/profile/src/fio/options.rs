//! What each option of fio 3 is to a profile. The names are those of `fio --cmdhelp` and of its I/O engines.

/// Several names of one option, and the one that is used here.
const OTHER_NAMES: [(&str, &str); 12] = [
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("blockalign", "ba"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("wait_for_previous", "stonewall"),
    ("io_limit", "io_size"),
    ("ratemin", "rate_min"),
    ("fill_fs", "fill_device"),
    ("numa", "numa_cpu_nodes"),
];

/// Options without effect on the kind of requests, and those of place and length, which a profile has itself. Each
/// workload is measured alone, so priorities have nothing to compete with; data are always noise.
const IGNORED: &str = "\
    allow_file_create allow_mounted_write allrandrepeat block_error_percentiles buffer_compress_chunk \
    buffer_compress_percentage buffer_pattern bwavgtime cgroup cgroup_nodelete cgroup_weight clat_percentiles \
    clocksource continue_on_error cpumask cpus_allowed cpus_allowed_policy create_fsync create_on_open \
    create_serialize dedupe_global dedupe_mode dedupe_percentage dedupe_working_set_percentage description \
    directory disable_bw disable_bw_measurement disable_clat disable_lat disable_slat disk_util \
    end_fsync error_dump exec_postrun exec_prerun exit_what exitall exitall_on_error experimental_verify \
    fadvise_hint fallocate file_append filename_format filesize fill_device fixedbufs flow_id flow_sleep \
    fsync_on_close gid group_reporting gtod_cpu gtod_reduce hipri hipri_percentage hugepage-size ignore_error \
    ignore_zone_limits io_size io_submit_mode iodepth_batch_complete_max iomem iopsavgtime ioscheduler \
    job_max_open_zones lat_percentiles latency_percentile latency_run latency_window lockfile lockmem \
    log_alternate_epoch log_alternate_epoch_clock_id log_avg_msec log_compression log_compression_cpus \
    log_entries log_hist_coarseness log_hist_msec log_max_value log_offset log_prio log_store_compressed \
    log_unix_epoch loops max_latency max_open_zones mem name new_group nice nonvectored norandommap \
    numa_cpu_nodes numa_mem_policy number_ios offset offset_align offset_increment openfiles overwrite \
    per_job_logs percentile_list prio prioclass ramp_time random_generator randrepeat randseed rate_cycle \
    rate_ignore_thinktime rate_iops_min rate_min refill_buffers registerfiles replay_align replay_no_stall \
    replay_redirect replay_scale replay_skip replay_time_scale runtime rw_sequencer rwmixcycle scramble_buffers \
    serialize_overlap significant_figures slat_percentiles softrandommap sqthread_poll sqthread_poll_cpu \
    startdelay stats steadystate steadystate_duration steadystate_ramp_time stonewall thinktime_blocks \
    thinktime_blocks_type thinktime_iotime thinktime_spin thread time_based timeout trim_backlog \
    trim_backlog_batch trim_verify_zero uid unified_rw_reporting unique_filename unit_base unlink \
    unlink_each_loop use_os_rand userspace_reap verify_async verify_backlog verify_backlog_batch verify_dump \
    verify_fatal verify_interval verify_offset verify_pattern verify_state_load verify_state_save wait_for \
    write_bw_log write_hint write_hist_log write_iolog write_iops_log write_lat_log zero_buffers \
    zone_reset_frequency zone_reset_threshold zonecapacity zonerange";

/// Options that change the requests in a way that a profile cannot run, unless they have one of these values; and what
/// they do.
const CHANGES: [(&str, &[&str], &str); 27] = [
    ("atomic", &["0"], "writes that are atomic"),
    ("bs_unaligned", &["0"], "addresses between blocks"),
    ("cmdprio", &["0"], "requests of two priorities"),
    ("cmdprio_bssplit", &[], "requests of two priorities"),
    ("cmdprio_percentage", &["0", "0,0"], "requests of two priorities"),
    ("create_only", &["0"], "files that are made, and neither read nor written"),
    ("flow", &["0"], "a job that waits for another"),
    ("iodepth_batch", &["1"], "requests in batches"),
    ("iodepth_batch_complete_min", &["0", "1"], "requests in batches"),
    ("latency_target", &["0"], "a depth that changes with the latency"),
    ("merge_blktrace_file", &[], "a recording"),
    ("opendir", &[], "all files of a directory"),
    ("pre_read", &["0"], "files that are in memory before they are read"),
    // Requests at a rate come at random times (a Poisson process) in any case.
    ("rate_process", &["linear", "poisson"], "another process of arrivals"),
    ("profile", &[], "a test that is built into fio"),
    ("random_distribution", &["random"], "addresses of which some are more likely"),
    ("read_beyond_wp", &["0"], "zones"),
    ("read_iolog", &[], "a recording"),
    ("read_iolog_chunked", &["0"], "a recording"),
    ("sync_file_range", &[], "write-back of ranges"),
    ("thinktime", &["0"], "pauses between requests"),
    ("trim_percentage", &["0"], "discards"),
    ("verify_only", &["0"], "a check of what an earlier run wrote"),
    ("write_barrier", &["0"], "writes with a barrier"),
    ("zonemode", &["none"], "zones"),
    ("zonesize", &["0"], "zones"),
    ("zoneskip", &["0"], "zones"),
];

/// What makes a profile from a refused option.
const REMEDY: &str = "leave it out, or record the requests and give the recording";

/// One name for an option of several.
pub(super) fn one_name(key: &str) -> &str {
    OTHER_NAMES.iter().find(|(other, _)| *other == key).map_or(key, |(_, name)| name)
}

/// Whether an option that no code honours is without effect.
///
/// # Errors
/// Why it is refused.
pub(super) fn check_ignored(key: &str, value: Option<&str>) -> Result<(), String> {
    if IGNORED.split(' ').any(|name| name == key) {
        return Ok(());
    }
    let Some((_, neutral, what)) = CHANGES.iter().find(|(name, ..)| *name == key) else {
        return Err(format!(
            "'{key}' is not understood: it is no option of fio 3, or none that a profile knows; leave it out"
        ));
    };
    // A time of nothing is nothing in any unit.
    let bare = value.unwrap_or_default().trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    if value.is_some_and(|value| neutral.contains(&value)) || (bare == "0" && neutral.contains(&"0")) {
        return Ok(());
    }
    let given = value.map_or_else(|| key.to_owned(), |value| format!("{key}={value}"));
    Err(format!("{given} asks for {what}, which a profile cannot run: {REMEDY}"))
}
