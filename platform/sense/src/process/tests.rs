use super::*;
use proptest::prelude::*;
use std::path::Path;

const TAIL: &str = "S 1 7 7 0 -1 4194304 99 5 3 0 12 34 0 0 20 0 2 0 1166638 3133440 413 18446744073709551615 1 1 0 0 0 0 \
                    0 0 0 0 0 0 17 1 0 0 9 0 0 1 1 1 1 1 1 1 0\n";

#[test]
fn the_name_ends_at_the_last_parenthesis() {
    for name in ["cat", "a b", "(sd-pam)", "a) R 1 (b", "x\ny", ")", "", "tail\\"] {
        let stat = parse_process_stat(format!("7 ({name}) {TAIL}").as_bytes()).expect(name);
        assert_eq!((stat.pid, stat.comm.to_str(), stat.state), (7, Some(name), 'S'));
        assert_eq!((stat.parent, stat.process_group, stat.session), (1, 7, 7));
        assert_eq!((stat.minor_faults, stat.major_faults), (99, 3));
        assert_eq!((stat.user_ticks, stat.system_ticks, stat.threads), (12, 34, 2));
        assert_eq!((stat.start_ticks, stat.resident_pages), (1_166_638, 413));
        assert_eq!(stat.block_io_delay_ticks, Some(9));
    }
}

#[test]
fn an_old_kernel_counts_no_delay() {
    let words: Vec<&str> = TAIL.split_ascii_whitespace().collect();
    let old = format!("7 (init) {}\n", words[..39].join(" "));
    assert_eq!(parse_process_stat(old.as_bytes()).expect("2.6.17").block_io_delay_ticks, None);
    let cut = format!("7 (init) {}\n", words[..21].join(" "));
    assert_eq!(parse_process_stat(cut.as_bytes()), Err(ParseError::MissingField { line: 1, field: "rss" }));
}

#[test]
fn what_is_no_stat_is_refused() {
    for bad in ["", "7", "7 (init", "7 )init( S", "x (init) S 1", "7 (init) SS 1", "7 (init) 5 1"] {
        assert!(parse_process_stat(bad.as_bytes()).is_err(), "{bad:?}");
    }
}

#[test]
fn a_file_is_listed_once_and_its_parts_are_summed() {
    let text = b"55e0-66f0 r--p 00000000 fe:01 131 /usr/lib/a b.so\n\
        66f0-66f8 r-xp 00001000 fe:01 131                        /usr/lib/a b.so\n\
        7000-7010 rw-p 00000000 00:00 0 \n\
        7010-7020 rw-p 00000000 00:00 0                          [heap]\n\
        8000-8001 rw-s 00000000 00:01 1028                       /memfd:x (deleted)\n\
        9000-9004 r--p 00000000 b3:0102 9                        /data/new\\012line\\040\n";
    let files = parse_mapped_files(text).expect("five");
    let file = |major, minor, inode, path: &str, deleted, mapped_bytes| MappedFile {
        device: DeviceNumber { major, minor },
        inode,
        path: path.into(),
        deleted,
        mapped_bytes,
    };
    assert_eq!(
        files,
        [
            file(254, 1, 131, "/usr/lib/a b.so", false, 0x1118),
            file(0, 1, 1028, "/memfd:x", true, 1),
            file(0xb3, 0x102, 9, "/data/new\nline\\040", false, 4),
        ]
    );
    assert!(parse_mapped_files(b"66f0-55e0 r--p 0 fe:01 1 /a\n").is_err());
    assert!(parse_mapped_files(b"55e0-66f0 r--p 0 fe01 1 /a\n").is_err());
    assert!(parse_mapped_files(b"55e0-66f0 r--p 0 fe:01\n").is_err());
}

#[test]
fn both_versions_of_control_groups_name_the_process() {
    let text = b"4:memory:/a:b\n2:cpu,cpuacct:/\n1:name=systemd:/x (deleted)\n0::/app.slice/app-x.scope\n";
    let groups = parse_process_cgroups(text).expect("four");
    assert_eq!(groups[0].path, Path::new("/a:b"));
    assert_eq!(groups[1].controllers, ["cpu", "cpuacct"]);
    assert!(groups[2].deleted && groups[2].path == Path::new("/x"));
    assert_eq!((groups[3].hierarchy, groups[3].controllers.len()), (0, 0));
    assert_eq!(parse_process_cgroups(b"0:\n"), Err(ParseError::MissingField { line: 1, field: "path" }));
    assert!(parse_process_cgroups(b"x::/\n").is_err());
}

#[test]
fn arguments_may_be_empty_and_titles_have_no_end() {
    let line = |bytes: &[u8]| -> Vec<String> {
        parse_command_line(bytes).into_iter().map(|one| one.to_string_lossy().into_owned()).collect()
    };
    assert_eq!(line(b"sh\0-c\0\0"), ["sh", "-c", ""]);
    assert_eq!(line(b"nginx: master"), ["nginx: master"]);
    assert_eq!(line(b"\0"), [""]);
    assert!(line(b"").is_empty());
}

#[test]
fn this_process_is_found_and_one_that_ended_is_not() {
    let sense = Sense::default();
    let own = std::process::id();
    let stat = sense.process_stat(own).expect("readable").expect("runs");
    assert_eq!((stat.pid, stat.parent), (own, std::os::unix::process::parent_id()));
    assert!(stat.resident_pages > 0 && stat.threads >= 1);
    let program = std::env::current_exe().expect("a path");
    let files = sense.mapped_files(own).expect("readable").expect("runs");
    assert!(files.iter().any(|file| file.path == program), "{files:?}");
    assert!(sense.process_ids().expect("a list").contains(&own));
    assert_eq!(sense.command_line(own).expect("readable").expect("runs"), std::env::args_os().collect::<Vec<_>>());
    assert!(!sense.process_cgroups(own).expect("readable").expect("runs").is_empty());

    let mut child = std::process::Command::new("true").spawn().expect("starts");
    let pid = child.id();
    child.wait().expect("ends");
    assert_eq!(sense.process_stat(pid).expect("no error"), None);
    assert_eq!(sense.mapped_files(pid).expect("no error"), None);
}

proptest! {
    #[test]
    fn no_bytes_make_the_parsers_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_process_stat(&bytes);
        let _ = parse_mapped_files(&bytes);
        let _ = parse_process_cgroups(&bytes);
        let _ = parse_command_line(&bytes);
        let mut with_head = b"7 (".to_vec();
        with_head.extend(&bytes);
        let _ = parse_process_stat(&with_head);
        let mut with_head = b"0-1 r 0 0:0 1 ".to_vec();
        with_head.extend(&bytes);
        let _ = parse_mapped_files(&with_head);
    }

    #[test]
    fn any_name_comes_back(name in prop::collection::vec(1u8..=255, 0..16), pid in any::<u32>()) {
        let mut text = format!("{pid} (").into_bytes();
        text.extend(&name);
        text.extend(b") ");
        text.extend(TAIL.as_bytes());
        let stat = parse_process_stat(&text).expect("rendered");
        prop_assert_eq!((stat.pid, stat.comm.into_vec(), stat.parent), (pid, name, 1));
    }

    #[test]
    fn odd_paths_come_back(tail in prop::collection::vec(1u8..=255, 0..30)) {
        let mut name = b"/".to_vec();
        name.extend(tail);
        // What the kernel writes alike for two different names.
        let windows = |pattern: &[u8]| name.windows(pattern.len()).any(|window| window == pattern);
        prop_assume!(!windows(br"\012") && !name.ends_with(b" (deleted)"));
        let mut line = b"10-20 r--p 00000000 08:01 5                  ".to_vec();
        for &byte in &name {
            if byte == b'\n' { line.extend(br"\012") } else { line.push(byte) }
        }
        line.push(b'\n');
        let files = parse_mapped_files(&line).expect("rendered");
        prop_assert_eq!(files[0].path.as_os_str().as_encoded_bytes(), &name[..]);
    }
}
