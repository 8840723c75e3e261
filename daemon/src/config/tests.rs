use brisk_core::app::Tolerance;
use proptest::prelude::*;

use super::*;

fn complaint(text: &str) -> String {
    Config::parse(text).expect_err("not usable").to_string()
}

#[test]
fn the_file_of_defaults_says_what_the_types_say() {
    assert_eq!(Config::parse(DEFAULT_TEXT), Ok(Config::default()));
    assert_eq!(Config::parse(""), Ok(Config::default()));
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_what_was_meant() {
    let cases = [
        ("[daemon]\ndevice = \"auto\"\n", "2:1: ", "did you mean 'devices'?"),
        ("\n\n[deamon]\n", "3:2: ", "did you mean 'daemon'?"),
        ("[daemon]\nsocket_group = 7\n", "2:16: ", ""),
        ("[daemon]\ndevices = \"all\"\n", "2:11: ", "\"auto\" or a list"),
        ("[daemon]\ndevices = [\"../sda\"]\n", "2:11: '../sda' is not the name of a block device", ""),
        (
            "[daemon]\nrecord = { path = \"/x\", max_bytes = 7 }\n",
            "2:37: a record of 7 bytes",
            "or 0 to record nothing",
        ),
        ("[daemon]\nrecord = { path = \"/x\", max_byte = 7 }\n", "2:25: ", "'max_bytes'?"),
        ("[apps.class]\n\"x\" = \"batsh\"\n", "2:7: ", "did you mean 'batch'?"),
        ("[apps]\nprotekt = [\"x\"]\n", "2:1: ", "did you mean 'protect'?"),
        ("[apps]\nprotect = [\"x\"]\nend_first = [\"x\"]\n", "1:1: 'x' is in 'protect'", "take it out of one"),
        ("[fixed]\n\"queue/sda/speed\" = 1\n", "2:1: 'queue/sda/speed' names no setting", "read_ahead_kb"),
        ("[fixed]\n\"vm/drop_caches\" = 3\n", "2:1: 'vm/drop_caches' names no setting", "min_free_kbytes"),
        ("[fixed]\n\"queue/sda/scheduler\" = true\n", "2:25: ", "a text or a whole number"),
        ("[fixed]\n\"queue/sda/scheduler\" = \"\"\n", "2:25: ", "one line"),
        ("[fixed]\n\"io.weight/system.slice\" = 7\n", "1:1: 'io.weight/system.slice' is of a control group", "[apps]"),
        ("[engines]\norder = [\"turbo\"]\n", "2:9: there is no engine 'turbo'", ""),
        ("[engines]\norder = \"all\"\n", "2:9: write \"auto\", or a list", ""),
        ("[engines]\norder = [\"mars\", \"mars\"]\n", "2:9: the engine 'mars' is named twice", ""),
        ("[daemon\n", "1:8: ", ""),
    ];
    for (text, begin, rest) in cases {
        let complaint = complaint(text);
        assert!(complaint.starts_with(begin) && complaint.contains(rest), "{text:?}: {complaint}");
    }
}

#[test]
fn choices_are_read_as_people_write_them() {
    let text = "[daemon]\ndevices = [\"/dev/mmcblk0\", \"sda\"]\n[fixed]\n\"queue/mmcblk0/read_ahead_kb\" = 256\n\
                \"queue/mmcblk0/scheduler\" = \"bfq\"\n\"vm/lru_gen/min_ttl_ms\" = 1000\n\"vm/page-cluster\" = 0\n\
                [apps.class]\n\"org.x\" = \"streaming\"\n";
    let config = Config::parse(text).expect("usable");
    assert_eq!(config.daemon.devices, Devices::These(vec!["mmcblk0".to_owned(), "sda".to_owned()]));
    let fixed: Vec<(String, String)> = config.fixed_values().into_iter().map(|(k, v)| (k.to_string(), v)).collect();
    let expected = [
        ("queue/mmcblk0/scheduler", "bfq"),
        ("queue/mmcblk0/read_ahead_kb", "256"),
        ("vm/page-cluster", "0"),
        ("vm/lru_gen/min_ttl_ms", "1000"),
    ];
    assert_eq!(fixed, expected.map(|(knob, value)| (knob.to_owned(), value.to_owned())));
    assert_eq!(config.apps.class.get("org.x"), Some(&Tolerance::Streaming));
    assert_eq!(Config::parse(&config.to_text()), Ok(config));
}

#[test]
fn the_section_of_measurements_is_passed_over() {
    let config = Config::parse("[bench]\npath = \"/mnt\"\n[daemon]\nsocket_group = \"x\"\n").expect("usable");
    assert_eq!(config.daemon.socket_group, "x");
    assert!(config.to_text().contains("path = \"/mnt\""), "{}", config.to_text());
}

#[test]
fn no_file_is_the_default_where_that_is_good() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("brisk.toml");
    assert_eq!(Config::load(&path, true).expect("the default").0, Config::default());
    assert!(matches!(Config::load(&path, false), Err(Error::Read(error)) if error.is_missing()));
    assert!(matches!(Config::load(Path::new("/dev/zero"), true), Err(Error::Read(_))));
    std::fs::write(&path, "[daemon]\ndevics = 1\n").expect("a file");
    let message = Config::load(&path, true).expect_err("not usable").to_string();
    assert!(message.starts_with(&format!("{}:2:1: ", path.display())), "{message}");
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,200}") {
        let _ = Config::parse(&text).map_err(|complaint| complaint.to_string());
    }

    #[test]
    fn no_damage_to_the_defaults_makes_the_parser_panic(at in any::<prop::sample::Index>(), with in ".{0,3}") {
        let mut characters: Vec<char> = DEFAULT_TEXT.chars().collect();
        let at = at.index(characters.len());
        characters.splice(at..at + 1, with.chars());
        let text: String = characters.into_iter().collect();
        let _ = Config::parse(&text).map_err(|complaint| complaint.to_string());
    }
}

#[test]
fn a_daemon_with_a_directory_of_its_own_records_there() {
    let (own, run) = (Path::new("/tmp/own"), Path::new(dirs::RUN));
    let path =
        |path: &str, run_dir: &Path, is_named| Record { path: path.into(), max_bytes: 1 }.of(run_dir, is_named).path;
    let of_service = "/var/lib/brisk/daemon.brisk";
    assert_eq!(path(of_service, own, false), own.join("daemon.brisk"));
    assert_eq!(path(of_service, own, true), own.join("daemon.brisk"));
    // The service's configuration names the service's record.
    assert_eq!(path("/srv/day.brisk", own, false), own.join("daemon.brisk"));
    assert_eq!(path("/srv/day.brisk", own, true), Path::new("/srv/day.brisk"));
    assert_eq!(Record::default().of(run, false).path, Path::new(of_service));
    assert_eq!(path("/srv/day.brisk", run, false), Path::new("/srv/day.brisk"));
    assert_eq!(dirs::learned(own), own.join("learned"));
    assert_eq!(dirs::learned(run), Path::new("/var/lib/brisk/learned"));
    assert!(Path::new(dirs::PROFILES).starts_with(dirs::STATE));
}
