use proptest::prelude::*;

use super::*;
use crate::results::Pattern;
use crate::workload::{Action, Ask, Stream};

fn read(text: &str) -> Result<Jobs> {
    let outside = Outside {
        variable: &|name| (name == "BLOCK").then(|| "8k".to_owned()),
        include: &|path| match path.to_str() {
            Some("/jobs/more.fio") => Ok("bs=16k # of all\n".to_owned()),
            Some("/jobs/itself.fio") => Ok("include itself.fio\n".to_owned()),
            _ => Err(brisk_program::files::Error::Io {
                path: path.to_owned(),
                source: std::io::ErrorKind::NotFound.into(),
            }),
        },
    };
    parse(Path::new("/jobs/a.fio"), text, &outside)
}

/// The requests of the first job.
fn ask(text: &str) -> Ask {
    read(text).unwrap_or_else(|error| panic!("{text}: {error}")).workloads.remove(0).ask
}

/// Random reads of 4 KiB, one at a time.
fn closed() -> Ask {
    of_closed(Pattern::Random, 100, 4096, 1)
}

fn of_closed(pattern: Pattern, read_percent: u32, block_bytes: u64, depth_requests: u32) -> Ask {
    Ask::Closed { pattern, read_percent, block_bytes, depth_requests, streams: 1, durable_every_writes: 0 }
}

fn refused(text: &str) -> String {
    read(text).expect_err(text).to_string()
}

#[test]
fn jobs_inherit_from_all_global_sections_before_them() {
    let text = "# mail\n[global]\nioengine=libaio\nbs=8k\nruntime=10\n\n[mail]\nrw=randrw\nrate_iops=150,60\n\
                [global]\nbs=64k\n[copy]\nrw=write\niodepth=4\n[globals too]\nbs=16k\n[last]\nrw=randread\n";
    let workloads = read(text).expect("understood").workloads;
    assert_eq!(workloads[0].name, "mail");
    let stream =
        |action, requests_per_s| Stream { action, pattern: Pattern::Random, block_bytes: 8192, requests_per_s };
    assert_eq!(workloads[0].ask, Ask::Open(vec![stream(Action::Read, 150.0), stream(Action::Write, 60.0)]));
    assert_eq!(workloads[1].ask, of_closed(Pattern::Sequential, 0, 65_536, 4));
    assert_eq!(workloads[2].ask, of_closed(Pattern::Random, 100, 16_384, 1));
}

#[test]
fn a_comment_begins_anywhere_in_a_line() {
    for text in [
        "[a]\nrw=randread   # cold start\nbs=4k\n",
        "[a] ; of the card\nrw=randread;x\n  # y\nbs=4k\t#z\n",
        "\u{feff}[a]\r\nrw=randread\r\nbs=4k ; queue\r\n",
        "[a]\n rw = randread\nBS =\t4k\n",
    ] {
        assert_eq!(ask(text), closed(), "{text}");
    }
}

#[test]
fn what_does_not_change_the_requests_is_named_once() {
    let text = "[global]\nfilename=card-test\ndirect=1\n[a]\nstonewall\nrw=randwrite\nthread\nunlink=1\nsize=16m\n\
                [b]\nstonewall\nrw=randread\nunlink=1\nverify=0\nzonemode=none\nthinktime=0us\n";
    let jobs = read(text).expect("understood");
    assert_eq!(jobs.notes.len(), 1, "{:?}", jobs.notes);
    let note = &jobs.notes[0];
    for name in ["filename (line 2)", "stonewall (line 5)", "thread (line 7)", "unlink (line 8)", "size (line 9)"] {
        assert_eq!(note.matches(name).count(), 1, "{name}: {note}");
    }
    assert!(note.starts_with("/jobs/a.fio: ignored") && !note.contains("direct"), "{note}");
}

#[test]
fn data_are_checked_without_requests_of_their_own_where_nothing_is_read_back() {
    for lines in ["verify=0", "verify=crc32c\ndo_verify=0", "rw=randread\nverify=md5"] {
        assert!(read(&format!("[a]\nrw=randwrite\n{lines}\n")).is_ok(), "{lines}");
    }
    assert!(
        refused("[a]\nrw=randwrite\ndo_verify=0\nverify=md5\ndo_verify=1\n")
            .contains("line 4: verify=md5 asks for reads")
    );
    assert!(read("[a]\nrate_iops=9\nrate_process=poisson\n").is_ok());
}

#[test]
fn jobs_that_fio_runs_together_are_said_to_be_apart() {
    let together = read("[a]\nrw=read\n[b]\nrw=write\n").expect("understood").notes;
    assert!(together.iter().any(|note| note.contains("the jobs a, b at the same time")), "{together:?}");
    let one_by_one = read("[a]\nrw=read\n[b]\nstonewall\nrw=write\n").expect("understood").notes;
    assert!(!one_by_one.iter().any(|note| note.contains("same time")), "{one_by_one:?}");
}

#[test]
fn a_rate_of_zero_is_no_limit() {
    for rate in ["rate_iops=0", "rate=0", "rate_iops=,", "rate_iops=0,0", "rate_iops=,500"] {
        assert_eq!(ask(&format!("[a]\nrw=randread\n{rate}\n")), closed(), "{rate}");
    }
    assert!(
        refused("[a]\nrw=randrw\nrate_iops=500,0\n").contains("line 3: rate_iops=500,0 limits one of reads and writes")
    );
    let rated = |rate: &str| match ask(&format!("[a]\nrw=randread\nbs=8k\n{rate}\n")) {
        Ask::Open(streams) => streams.iter().map(|stream| stream.requests_per_s).sum::<f64>(),
        other => panic!("{rate}: {other:?}"),
    };
    assert_eq!(
        (rated("rate=1m"), rated("rate_iops=1k"), rated("rate=80k,1m"), rated("rate_iops=7\nnumjobs=3")),
        (128.0, 1024.0, 10.0, 21.0)
    );
}

#[test]
fn the_later_of_two_values_counts() {
    let share = |lines: &str| match ask(&format!("[a]\nrw=randrw\n{lines}\n")) {
        Ask::Closed { read_percent, .. } => read_percent,
        other => panic!("{other:?}"),
    };
    assert_eq!((share("rwmixread=60\nrwmixwrite=40"), share("rwmixwrite=60"), share("")), (60, 40, 50));
    assert_eq!((share("rwmixread=70\nrwmixwrite=60"), share("rwmixwrite=60\nrwmixread=70")), (40, 70));
    assert_eq!(ask("[a]\nrw=write\nbs=64k\nbs=4k\nrw=randread\n"), closed());
}

#[test]
fn a_synchronous_engine_has_one_request_in_flight() {
    let depth = |lines: &str| match ask(&format!("[a]\nrw=randread\n{lines}\n")) {
        Ask::Closed { depth_requests, .. } => depth_requests,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (depth("iodepth=8"), depth("iodepth=8\nioengine=psync"), depth("ioengine=libaio\niodepth=8")),
        (1, 1, 8)
    );
    assert_eq!((depth("numjobs=8"), depth("ioengine=io_uring\niodepth=8\nnumjobs=4")), (8, 32));
    let notes = read("[a]\nrw=randread\niodepth=8\n").expect("understood").notes;
    assert!(
        notes.iter().any(|note| note.contains("iodepth=8 (line 3) has no effect with the synchronous ioengine=psync")),
        "{notes:?}"
    );
}

#[test]
fn sequential_processes_and_files_are_streams_of_their_own() {
    let streams = |lines: &str| match ask(&format!("[a]\nrw=read\n{lines}\n")) {
        Ask::Closed { streams, .. } => streams,
        Ask::Open(streams) => streams.len() as u32,
        other @ Ask::Recorded(_) => panic!("{other:?}"),
    };
    assert_eq!((streams("numjobs=4"), streams("nrfiles=3"), streams("filename=a:b\\:c:d\nnumjobs=2")), (4, 3, 6));
    assert_eq!((streams("nrfiles=3\nfile_service_type=sequential"), streams("numjobs=4\nrate_iops=10")), (1, 4));
    assert_eq!((streams("numjobs=4\nrw=randread"), streams("rw=randread\npercentage_random=0\nnumjobs=2")), (1, 2));
}

#[test]
fn durable_writes_are_honoured() {
    let every = |lines: &str| match ask(&format!("[a]\nrw=write\ndirect=1\n{lines}\n")) {
        Ask::Closed { durable_every_writes, .. } => durable_every_writes,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (every(""), every("fsync=1"), every("fdatasync=32"), every("sync=dsync"), every("sync=1")),
        (0, 1, 32, 1, 1)
    );
    assert_eq!((every("fsync=0"), every("sync=none"), every("end_fsync=1")), (0, 0, 0));
    assert!(refused("[a]\nrw=write\nfsync=4\n").contains("line 3: fsync=4 needs direct=1"));
    let Ask::Open(streams) = ask("[a]\nrw=randwrite\nrate_iops=100\nfsync=4\nnumjobs=2\n") else { panic!("a rate") };
    assert_eq!((streams[1].action, streams[1].requests_per_s), (Action::Flush, 50.0));
}

#[test]
fn the_page_cache_is_used_as_fio_uses_it() {
    let cached = |lines: &str| read(&format!("[a]\nrw=read\n{lines}\n")).expect("understood").workloads[0].cached;
    assert!(cached("") && cached("direct=0") && cached("buffered=1"));
    assert!(!cached("direct=1") && !cached("buffered=0") && !cached("direct=1\ninvalidate=0"));
    assert!(refused("[a]\nrw=read\ninvalidate=0\n").contains("line 3: a profile empties the page cache"));
}

#[test]
fn sizes_have_the_units_of_fio() {
    for (text, base, bytes) in [
        ("4k", 1024, 4096),
        ("4kb", 1024, 4096),
        ("4Ki", 1024, 4096),
        ("4KiB", 1024, 4000),
        ("4k", 1000, 4000),
        ("4kib", 1000, 4096),
        ("1MB", 1024, 1 << 20),
        ("8192", 1024, 8192),
        ("0x1000", 1024, 4096),
        ("3b", 1024, 3),
    ] {
        assert_eq!(value::number(text, base), Some(bytes), "{text} of {base}");
    }
    for text in ["", "k", "4x", "4kk", "4*1024", "-4k", "1.5k", "99999999999999999999", "99999999p"] {
        assert_eq!(value::number(text, 1024), None, "{text}");
    }
    let said = refused("[a]\nbs=4KiB\n");
    assert!(said.contains("line 2: bs=4KiB is 4000 bytes for fio") && said.contains("write 4k"), "{said}");
    assert!(refused("[a]\nbs=4k\nkb_base=1000\n").contains("bs=4k is 4000 bytes"));
}

#[test]
fn sizes_of_reads_and_writes_may_differ_where_they_have_rates() {
    let Ask::Open(streams) = ask("[a]\nrw=randrw\nbs=4k,16k\nrate_iops=10\n") else { panic!("a rate") };
    assert_eq!(streams.iter().map(|stream| stream.block_bytes).collect::<Vec<_>>(), [4096, 16_384]);
    assert_eq!(ask("[a]\nrw=randwrite\nbs=4k,16k\n"), of_closed(Pattern::Random, 0, 16_384, 1));
    assert_eq!(ask("[a]\nrw=randrw\nbs=,4k,\n"), of_closed(Pattern::Random, 50, 4096, 1));
    assert!(refused("[a]\nrw=randrw\nbs=4k,16k\n").contains("line 3: bs=4k,16k has two sizes"));
    for one in ["bsrange=4k-4k", "bssplit=4k/100", "bssplit=4k"] {
        assert_eq!(ask(&format!("[a]\nrw=randread\nbs=8k\n{one}\n")), closed(), "{one}");
    }
}

#[test]
fn variables_and_included_files_are_replaced() {
    assert_eq!(ask("[a]\nrw=randread\nbs=${BLOCK}\nbs=4k\n"), closed());
    assert_eq!(ask("[a]\nrw=randread\nbs=${BLOCK}\n"), of_closed(Pattern::Random, 100, 8192, 1));
    assert_eq!(ask("[global]\ninclude more.fio\n[a]\nrw=randread\n"), of_closed(Pattern::Random, 100, 16_384, 1));
    assert!(refused("[a]\nbs=${MISSING}\n").contains("line 2: the variable MISSING is not set"));
    assert!(refused("[a]\nbs=${BLOCK\n").contains("line 2: '${BLOCK' begins a variable"));
    assert!(refused("[a]\ninclude gone.fio\n").contains("gone.fio"));
    assert!(refused("[a]\ninclude itself.fio\n").contains("include each other"));
}

#[test]
fn what_changes_the_requests_is_refused_by_name_and_line() {
    for (text, words) in [
        ("[a]\nrw=trim\n", "line 2: rw=trim"),
        ("[a]\nrw=randread:8\n", "line 2: rw=randread:8"),
        ("[a]\nrw=read\nzonemode=zbd\n", "line 3: zonemode=zbd asks for zones"),
        ("[a]\nbs=5k\n", "line 2: bs=5k"),
        ("[a]\nbs=0\n", "line 2: bs=0"),
        ("[a]\nbs=4k-64k\n", "line 2: bs=4k-64k asks for several sizes"),
        ("[a]\nbsrange=1k-64k\n", "line 2: bsrange=1k-64k asks for several sizes"),
        ("[a]\nbssplit=4k/60:64k/40\n", "line 2: bssplit=4k/60:64k/40 asks for several sizes"),
        ("[a]\niodepth=0\n", "line 2: iodepth=0"),
        ("[a]\niodepth\n", "line 2: iodepth needs a value"),
        ("[a]\nnumjobs=0\n", "line 2: numjobs=0"),
        ("[a]\nioengine=libaio\niodepth=64\nnumjobs=8\n", "line 4: numjobs=8 asks for 512 requests"),
        ("[a]\nrate_iops=x\n", "line 2: rate_iops=x"),
        ("[a]\nrate_iops=5\nrate=1m\n", "line 3: rate and rate_iops exclude each other"),
        ("[a]\nrwmixread=70,30\n", "line 2: rwmixread=70,30 has two numbers"),
        ("[a]\nrandom_distribution=zipf:1.2\n", "line 2: random_distribution=zipf:1.2 asks for addresses"),
        ("[a]\nrw=randread\npercentage_random=40\n", "line 3: percentage_random=40"),
        ("[a]\nthinktime=5ms\n", "line 2: thinktime=5ms asks for pauses"),
        ("[a]\niodepth_batch_submit=16\n", "line 2: iodepth_batch=16 asks for requests in batches"),
        ("[a]\nioengine=null\n", "line 2: ioengine=null"),
        ("[a]\nioengine=mmap\n", "line 2: ioengine=mmap"),
        ("[a]\nrw=write\nverify=crc32c\n", "line 3: verify=crc32c asks for reads"),
        ("[a]\nread_iolog=x\n", "line 2: read_iolog=x asks for a recording"),
        ("[a]\nsize=0\n", "line 2: size=0 leaves nothing"),
        ("[a]\ndirect\n", "line 2: direct needs a value"),
        ("[a]\nrw=read\nfrobnicate=1\n", "line 3: 'frobnicate' is not understood"),
        ("rw=read\n", "line 1: 'rw=read' stands before the first section"),
        ("[]\n", "line 1: [] names no job"),
        ("[a\n", "line 1: [a names no job"),
        ("[global]\nrw=read\n", "no job"),
        ("", "no job"),
    ] {
        let said = refused(text);
        assert!(said.contains(words), "{text}: {said}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(
        text in "(\\[[a-z]*\\]|[a-z_]{1,9}=[-a-z0-9.,$\\{\\}]{0,6}|\\PC{0,12}|\n){0,20}",
    ) {
        let _ = read(&text);
    }

    #[test]
    fn no_job_that_is_accepted_is_empty(lines in prop::collection::vec(
        prop::sample::select(vec![
            "rw=randrw", "rw=write", "rate_iops=0", "rate_iops=0,5", "rate=1", "rwmixread=0", "rwmixwrite=0", "fsync=3",
            "numjobs=3", "bs=8k,4k", "nrfiles=2", "direct=1", "percentage_random=0", "rate_iops=4", "sync=dsync",
        ]), 0..6)) {
        if let Ok(jobs) = read(&format!("[a]\n{}\n", lines.join("\n"))) {
            prop_assert!(!jobs.workloads[0].ask.is_empty(), "{:?}", jobs.workloads[0]);
        }
    }
}
