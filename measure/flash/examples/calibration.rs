//! Prints the calibration table as Markdown: each published figure, ours, the error, and what the figure was used for.

use std::error::Error;

use brisk_flash::calibration::{Half, all, footprint, summarize};

fn main() -> Result<(), Box<dyn Error>> {
    let figures = all()?;
    println!("| device | source | figure | used for | published | ours | error | beyond rounding |");
    println!("|---|---|---|---|---|---|---|---|");
    for f in &figures {
        let half = if f.half == Half::Fit { "fit" } else { "validation" };
        println!(
            "| {} | {} | {} | {half} | {} {} | {} | {:+.1} % | {:+.1} % |",
            f.preset,
            f.source,
            f.what,
            f.published,
            f.unit,
            significant(f.ours),
            100.0 * f.error(),
            100.0 * f.error_beyond_rounding(),
        );
    }
    println!();
    for (half, name) in [(Half::Fit, "fit"), (Half::Validation, "validation")] {
        let s = summarize(&figures, half);
        println!(
            "{name}: {} figures, median error {:.1} %, worst {:.1} %, {} above 25 %",
            s.count,
            100.0 * s.median,
            100.0 * s.worst,
            s.above_quarter
        );
    }
    println!("\nFigure 15: MB/s of random writes by range\n");
    let ranges: Vec<u64> = (3..=11).map(|i| 1 << (20 + i)).collect();
    print!("| card |");
    for range in &ranges {
        print!(" {} MB |", range >> 20);
    }
    println!("\n|---|{}", "---|".repeat(ranges.len()));
    for name in brisk_flash::Preset::builtin_names().into_iter().filter(|n| n.starts_with("sd-")) {
        print!("| {name} |");
        for rate in footprint(name, &ranges)?.values() {
            print!(" {} |", significant(rate / 1e6));
        }
        println!();
    }
    Ok(())
}

/// Three significant digits.
fn significant(value: f64) -> String {
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}
