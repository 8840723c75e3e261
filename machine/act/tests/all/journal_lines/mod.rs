//! Journals as other processes leave them: the lines of a file changed, and their checksums made right again.

use serde_json::Value;

/// The file with `change` made to the value of each of its lines, of the kind given (`journal`, `entry`, `priority`,
/// `file`).
pub(crate) fn with(text: &str, change: impl Fn(&str, &mut Value)) -> String {
    let file: Value = serde_json::from_str(text).expect("a journal is JSON");
    let lines = file["lines"].as_array().expect("lines").iter().map(|line| {
        let (kind, value) = line.as_object().expect("a line").iter().find(|(key, _)| *key != "crc32").expect("a value");
        let mut value = value.clone();
        change(kind, &mut value);
        let body = format!("\"{kind}\":{value}");
        format!("{{\"crc32\":\"{:08x}\",{body}}}", crc32fast::hash(body.as_bytes()))
    });
    let lines: Vec<String> = lines.collect();
    format!("{{\"schema_version\":1,\"lines\":[\n{}\n]}}\n", lines.join(",\n"))
}

/// The file as if its owner had died.
pub(crate) fn of_a_dead_owner(text: &str) -> String {
    with(text, |kind, value| {
        if kind == "journal" {
            value["owner"]["start_ticks"] = 1.into();
        }
    })
}
