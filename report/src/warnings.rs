//! What a warning's code means for the reader of the figures.

/// The meaning of a code in a few words; unknown codes stand for themselves.
pub(crate) fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "cpu_pressure" => "tasks, brisk's own among them, waited for a CPU, so response times may be too long",
        "foreign_io" => "other programs used the disk, so the figures are those of a shared disk",
        "few_repeats" => "some intervals are wider than they should be, so small differences mean nothing",
        "incomplete" => "parts of it were not measured",
        "cut_short" => "there was no time to measure all of it",
        "write_limit" => "writing ended early to spare the flash",
        "lab_late" => "the emulated device answered later than its model says",
        "memory" => "this is memory, not storage",
        "lying" => "something caches: the device saw fewer bytes than were asked for",
        "not_direct" => "requests went through the page cache",
        "unverified" => "no counter confirms that requests reached the device",
        "compressing_file_system" => "the file system compresses, so the kind of data matters",
        "no_io_uring" => "plain calls cost more CPU time than io_uring would",
        "no_bpf" => "the causes of waiting are sums only, and what was read is not known",
        "probes_missing" => "some causes of waiting were not seen and count as others",
        "opens_unknown" => "cold launches may have found some of their files in memory",
        "noisy_profile" => "the machine was too busy to tell settings apart",
        "saturated" => "more arrived than the device could do",
        "different_modes" => "the conditions were not measured in the same way, so ratios may come from that alone",
        "mixed_condition" => "documents of one condition were not measured alike",
        "document_warnings" => "documents that were compared have warnings of their own",
        "not_restored" => "a setting of the device could not be put back",
        _ => return None,
    })
}
