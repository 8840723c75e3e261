use super::*;

const TEXT: &str = r#"
title = "One reader beside a writer"
question = "What does a read wait for?"
[device]
preset = "galaxy-s5-emmc"
size = "256MiB"
[[load]]
name = "beside"
seconds = 2
[[load.job]]
name = "reader"
side = "read"
probe = "op=randread bytes=4KiB depth=1"
[[load.job]]
name = "writer"
side = "write"
count = 4
probe = "op=randwrite bytes=16384 depth=16 stop_bytes=1MiB"
"#;

fn parse(text: &str) -> std::result::Result<Scenario, String> {
    Scenario::parse("it", text, Path::new("/nowhere"))
}

#[test]
fn a_scenario_is_parsed() {
    let scenario = parse(TEXT).expect("valid");
    let load = &scenario.loads[0];
    assert_eq!(load.sides(), [Side::Read, Side::Write]);
    assert_eq!(load.jobs[0].argument("bytes").as_deref(), Some("4096"));
    assert!(!load.jobs[0].is_finite() && load.jobs[1].is_finite());
    assert_eq!(scenario.device().depth_requests, 4, "the preset's");
    assert_eq!(scenario.memory_bytes(), 384 << 20);
    assert!(load.words().contains("4 x writer"), "{}", load.words());
}

#[test]
fn mistakes_in_a_scenario_are_named() {
    for (from, to, word) in [
        ("title = ", "titel = ", "titel"),
        ("galaxy-s5-emmc", "galaxy-s5", "device"),
        ("seconds = 2", "seconds = 0", "needs seconds"),
        ("seconds = 2", "seconds = 2000", "0 to 600"),
        ("side = \"read\"", "side = \"reed\"", "reed"),
        ("name = \"writer\"", "name = \"reader\"", "not unique"),
        ("name = \"writer\"", "name = \"a b\"", "plain word"),
        ("count = 4", "count = 0", "count 0"),
        ("depth=16", "depht=16", "'depht' cannot be given"),
        ("depth=16", "seed=16", "'seed' cannot be given"),
        ("depth=16", "depth=$(reboot)", "is not a value"),
        ("depth=16", "depth", "not key=value"),
        ("depth=16", "offset=128MiB size=33MiB", "end at 260 MiB, behind the device's 256 MiB"),
        ("depth=16", "bytes=1", "given twice"),
        ("bytes=16384", "bytes=lots", "bytes: "),
        ("op=randread ", "", "'op' is missing"),
        ("[device]", "memory = \"much\"\n[device]", "memory"),
        ("[device]", "repeat_percent_max = 50\n[device]", "repeat_percent_max"),
        ("[device]", "write_min_percent = 0\n[device]", "write_min_percent"),
    ] {
        assert!(TEXT.contains(from), "{from}");
        let error = parse(&TEXT.replacen(from, to, 1)).expect_err(to);
        assert!(error.contains(word), "{to}: {error}");
    }
}

#[test]
fn every_scenario_of_the_tree_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/scenarios");
    let all = Scenario::all(&folder).expect("readable");
    assert!(all.len() >= 10, "only {} scenarios", all.len());
    for scenario in &all {
        assert!(scenario.title.len() < 60 && scenario.question.ends_with('?'), "{}", scenario.name);
    }
}

#[test]
fn a_file_with_a_base_overrides_keys_loads_and_jobs_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("written");
        Scenario::read(&path, dir.path())
    };
    let base = file("base.toml", TEXT).expect("a scenario");
    let over = "base = \"base\"\ntitle = \"other\"\ndevice = { depth_requests = 2 }\n\
                load = [{ name = \"beside\", seconds = 4, job = [{ name = \"writer\", count = 2 }] }]\n";
    let other = file("other.toml", over).expect("a scenario");
    assert_eq!((other.title.as_str(), &other.question), ("other", &base.question));
    assert_eq!((other.device().size_bytes, other.device().depth_requests), (base.device().size_bytes, 2));
    assert_eq!((other.loads.len(), other.loads[0].seconds, other.loads[0].jobs[1].count), (1, 4.0, 2));
    assert_eq!(other.loads[0].jobs[0], base.loads[0].jobs[0]);
    assert!(file("chain.toml", "base = \"other\"").expect_err("a base of a base").to_string().contains("base"));
    assert!(file("gone.toml", "base = \"none\"").is_err());
}

#[test]
fn a_similar_name_is_suggested() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/scenarios");
    let error = Scenario::find(&folder, "one-reader-four-writer").expect_err("no such").to_string();
    assert!(error.contains("did you mean 'one-reader-four-writers'"), "{error}");
}
