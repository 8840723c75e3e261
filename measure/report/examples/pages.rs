//! Writes sample documents and their pages into a folder, for looking at: `cargo run --example pages -- FOLDER`.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

#[path = "../tests/samples/mod.rs"]
mod samples;

use std::path::PathBuf;

use brisk_report::results::Document;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "pages".into()));
    std::fs::create_dir_all(&folder)?;
    let compared = vec![Document::Bench(Box::new(samples::bench())), Document::Bench(Box::new(samples::other_bench()))];
    for (name, documents) in [("all", samples::all()), ("ugly", samples::ugly()), ("compared", compared)] {
        std::fs::write(folder.join(format!("{name}.html")), brisk_report::html(&documents))?;
        std::fs::write(folder.join(format!("{name}.json")), serde_json::to_vec_pretty(&documents)?)?;
    }
    for (i, document) in samples::all().into_iter().enumerate() {
        println!("{}", brisk_report::terminal(&document, Some(100)));
        std::fs::write(folder.join(format!("{i:02}.html")), brisk_report::html(&[document]))?;
    }
    Ok(())
}
