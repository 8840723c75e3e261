//! No bytes make a parser panic: each is given any bytes, and any bytes behind a head that leads it further.

use brisk_formats::*;
use proptest::prelude::*;

/// A parser, and heads of texts that it understands.
type Case = (fn(&[u8]), &'static [&'static [u8]]);

macro_rules! case {
    ($bytes:ident => $parse:expr, $heads:expr) => {
        (
            |$bytes| {
                let _ = $parse;
            },
            $heads,
        )
    };
}

const CASES: &[Case] = &[
    case!(bytes => parse_backing_file(bytes), &[]),
    case!(bytes => parse_life_time(bytes), &[b"0x01 "]),
    case!(bytes => parse_cgroup_cpu(bytes), &[b"usage_usec "]),
    case!(bytes => parse_cgroup_processes(bytes), &[b"1\n"]),
    case!(bytes => parse_populated(bytes), &[b"populated "]),
    case!(bytes => parse_oom_kills(bytes), &[b"oom_kill "]),
    case!(bytes => parse_frozen(bytes), &[b"frozen "]),
    case!(bytes => parse_pcm_owner(bytes), &[b"state: RUNNING\nowner_pid "]),
    case!(bytes => parse_inhibitor(bytes), &[b"WHAT=idle\nMODE=block\nPID="]),
    case!(bytes => parse_io_stat(bytes), &[b"8:1 rbytes="]),
    case!(bytes => parse_process_io(bytes), &[b"read_bytes: "]),
    case!(bytes => parse_writes_in_flight(bytes), &[b"1 "]),
    case!(bytes => parse_process_cgroups(bytes), &[b"0:", b"0::/"]),
    case!(bytes => parse_controllers_v1(bytes), &[b"cpu\t1\t"]),
    case!(bytes => parse_controllers_v2(bytes), &[]),
    case!(bytes => common_value(&String::from_utf8_lossy(bytes)).len(), &[b"default "]),
    case!(bytes => parse_cpu_stat(bytes), &[b"cpu "]),
    case!(bytes => parse_cpu_list(bytes), &[b"0-"]),
    case!(bytes => parse_dalvik_heap(bytes), &[b"[dalvik.vm.heapsize]: [1"]),
    case!(bytes => parse_disk_stats(bytes), &[b"8 0 sda 1 2 3 "]),
    case!(bytes => parse_stat_of("sda", bytes), &[b"1 2 3 4 5 6 7 8 9 "]),
    case!(bytes => parse_mem_info(bytes), &[b"MemTotal: "]),
    case!(bytes => parse_paging(bytes), &[b"pswpin "]),
    case!(bytes => parse_mounts(bytes), &[b"1 2 3:4 / /x rw - ext4 "]),
    case!(bytes => parse_net_devices(bytes), &[b"eth0:"]),
    case!(bytes => parse_power_rails("m", bytes), &[b"CH0["]),
    case!(bytes => parse_process_stat(bytes), &[b"7 (", b"7 (x) S 1 7 7 "]),
    case!(bytes => parse_process_session(bytes), &[b"7 (x) "]),
    case!(bytes => parse_mapped_files(bytes), &[b"0-1 r 0 0:0 1 "]),
    case!(bytes => parse_command_line(bytes), &[]),
    case!(bytes => parse_pressure(bytes), &[b"some avg10="]),
    case!(bytes => parse_schedulers(bytes), &[b"none ["]),
    case!(bytes => parse_process_status(bytes), &[b"Uid:\t0\t0\nCapEff:\t"]),
    case!(bytes => parse_process_memory(bytes), &[b"RssAnon:\t"]),
    case!(bytes => has_unswappable(bytes), &[b"VmLck:\t"]),
    case!(bytes => parse_unswappable(bytes), &[b"1-2 rw-p 0 0:0 0\nVmFlags: "]),
    case!(bytes => parse_smaps_rollup(bytes), &[b"Rss: "]),
    case!(bytes => parse_swaps(bytes), &[b"Filename\n/x file "]),
    case!(bytes => parse_swap_uuid(bytes), &[]),
    case!(bytes => remove_fstab_swap(bytes, b"/a", true), &[b"/a none swap "]),
    case!(bytes => parse_uevent(bytes), &[b"add@/x\0SUBSYSTEM=block\0DEVTYPE=disk\0"]),
    case!(bytes => parse_mm_stat(bytes), &[b"1 "]),
    case!(bytes => KernelVersion::of(&String::from_utf8_lossy(bytes)), &[b"6."]),
    case!(bytes => proc_connector::parse_process_message(bytes), &[]),
    case!(bytes => group_name::app_id(&String::from_utf8_lossy(bytes)), &[b"app-", b"app-\\x"]),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for (parse, heads) in CASES {
            parse(&bytes);
            heads.iter().for_each(|head| parse(&[head, &bytes[..]].concat()));
        }
    }
}
