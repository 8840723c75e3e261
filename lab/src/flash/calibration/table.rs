//! The calibration as a document.

use std::fmt::Write as _;

use super::figures::{Errors, Figure, Half, all, footprint, summarize};
use crate::flash::Preset;

/// The whole calibration as Markdown: every figure with its error, summaries by half, and figure 15.
///
/// # Errors
/// When a preset cannot be made into a device.
pub fn markdown() -> Result<String, Box<dyn std::error::Error>> {
    let figures = all()?;
    let mut text = String::from(HEAD);
    for (half, name) in [(Half::Validation, "Validation"), (Half::Fit, "Fit"), (Half::Beyond, "Beyond")] {
        let s = summarize(&figures, half);
        writeln!(
            text,
            "{name}, {} figures: {};\nbeyond rounding {}.\n",
            s.count,
            words(s.printed),
            words(s.beyond_rounding)
        )?;
    }
    text.push_str("| device | source | figure | used for | published | ours | error | beyond rounding |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for figure in &figures {
        row(&mut text, figure)?;
    }
    text.push_str(FIGURE_15);
    let ranges: Vec<u64> = (3..=11).map(|i| 1 << (20 + i)).collect();
    write!(text, "| card |")?;
    for range in &ranges {
        write!(text, " {} MB |", range >> 20)?;
    }
    writeln!(text, "\n|---|{}", "---|".repeat(ranges.len()))?;
    for name in Preset::builtin_names().into_iter().filter(|n| n.starts_with("sd-")) {
        write!(text, "| {name} |")?;
        for rate in footprint(name, &ranges)?.values() {
            write!(text, " {} |", significant(rate / 1e6))?;
        }
        text.push('\n');
    }
    Ok(text)
}

fn words(errors: Errors) -> String {
    format!(
        "median error {:.1} %, worst {:.1} %, {} above 25 %",
        100.0 * errors.median,
        100.0 * errors.worst,
        errors.above_quarter
    )
}

fn row(text: &mut String, f: &Figure) -> std::fmt::Result {
    let half = match f.half {
        Half::Fit => "fit",
        Half::Validation => "**validation**",
        Half::Beyond => "beyond",
    };
    writeln!(
        text,
        "| {} | {} | {} | {half} | {} {} | {} | {:+.1} % | {:+.1} % |",
        f.preset,
        f.source,
        f.what,
        f.published,
        f.unit,
        significant(f.ours),
        100.0 * f.error(),
        100.0 * f.error_beyond_rounding(),
    )
}

/// Three significant digits.
fn significant(value: f64) -> String {
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}

const HEAD: &str = "\
# Calibration of the flash model

Made by `cargo run --release -p brisk-lab --example calibration`; `make test` checks that it is fresh.

Model time only: no machine's speed enters. Which figures were used for fitting, and by which rule, stands in
`src/calibration.rs`; each parameter's source stands in `presets/`. Errors are relative to the printed value; *beyond
rounding* is relative to the nearest value that rounds to it (table III prints random writes as 0.01 MB/s).

What the split is worth: parameters were fit to the fit half alone. Which mechanisms the model has (turns of reads and
programs, run length, stray writes, log blocks) was decided with all published figures in view, so the validation half
tests the numbers, not the choice of mechanisms. Five rows of the validation half say little: three cards' random writes
are printed with one digit, and sequential reads on the Nexus 4 are one load whatever the record size.

*Beyond* are published figures of the Galaxy S5 that nothing was promised for: the model has no mechanism by which
several writers gain on one unit, and no CFQ.

";

const FIGURE_15: &str = "
## Figure 15 of Revisiting storage

MB/s of 2,048 random writes of 4 KB by the range that they fall into, after a sequential write of 1 GB. The paper's text
gives the shape, not the values: five cards fall far and stay low, RiData falls less, Transcend does not fall, Sandisk
falls at 32 MB and again at 1,024 MB.

";
