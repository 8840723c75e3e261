//! Creates the presets of the eight SD cards from Revisiting storage, table III, and writes them to a directory.
//!
//! The rule (see `brisk_lab::flash::calibration`): a card of the fit half meets its figures on the phone. A card of the
//! validation half meets the prediction from its figures on the *desktop* and the phone's typical difference; its own
//! figures on the phone are not used. The phone's differences are medians over the fit half: more time per page in
//! sequence (host controller and page cache), less time per random read (no USB reader in between).

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

use brisk_lab::flash::calibration::{Load, Order, simulate};
use brisk_lab::flash::{Device, Kind, Preset};

const MIB: u64 = 1 << 20;
const PAGE: f64 = 4096.0;

/// Mapping of a card, from the shape of figure 15.
enum Shape {
    /// Random writes stay fast over any range.
    Pages,
    /// They drop to one merge of a whole block each. The extra time of a random write inside the log, in us.
    Blocks { stray_us: f64 },
    /// Two drops: beyond small log blocks of 32 MB in all, and beyond the mapping tables of 1,024 MB.
    SmallBlocks,
}

struct Card {
    name: &'static str,
    title: &'static str,
    class: u32,
    fit: bool,
    /// MB/s: sequential write and read, random write and read.
    desktop: [f64; 4],
    /// Used only where `fit`.
    phone: [f64; 4],
    shape: Shape,
}

fn cards() -> Vec<Card> {
    let card = |name, title, class, fit, desktop, phone, shape| Card { name, title, class, fit, desktop, phone, shape };
    let blocks = || Shape::Blocks { stray_us: 0.0 };
    vec![
        card("sd-transcend", "Transcend", 2, true, [4.16, 18.03, 1.18, 2.57], [4.35, 13.52, 1.38, 2.92], Shape::Pages),
        card(
            "sd-ridata",
            "RiData",
            2,
            false,
            [7.93, 16.29, 0.02, 2.15],
            [5.86, 11.51, 0.03, 2.76],
            Shape::Blocks { stray_us: 8_000.0 },
        ),
        card("sd-sandisk", "Sandisk", 4, true, [5.48, 12.94, 0.68, 1.06], [4.93, 8.44, 0.67, 0.73], Shape::SmallBlocks),
        card("sd-kingston", "Kingston", 4, false, [4.92, 16.93, 0.01, 1.68], [4.56, 9.84, 0.01, 1.94], blocks()),
        card("sd-wintec", "Wintec", 6, true, [15.05, 16.34, 0.01, 3.15], [9.91, 13.38, 0.01, 3.82], blocks()),
        card("sd-adata", "A-Data", 6, false, [10.78, 17.77, 0.01, 2.97], [8.93, 13.49, 0.01, 3.64], blocks()),
        card("sd-patriot", "Patriot", 10, true, [10.54, 17.67, 0.01, 2.96], [8.83, 13.38, 0.01, 3.72], blocks()),
        card("sd-pny", "PNY", 10, false, [15.31, 17.90, 0.01, 3.56], [10.28, 14.02, 0.01, 3.95], blocks()),
    ]
}

/// Microseconds per page at so many MB/s.
fn page_us(mb_per_s: f64) -> f64 {
    PAGE / mb_per_s
}

/// Additional time of the phone for a page of each kind, in us: medians over the fit half.
fn phone_adds(cards: &[Card]) -> [f64; 4] {
    std::array::from_fn(|kind| {
        let mut added: Vec<f64> =
            cards.iter().filter(|c| c.fit).map(|c| page_us(c.phone[kind]) - page_us(c.desktop[kind])).collect();
        added.sort_by(f64::total_cmp);
        f64::midpoint(added[added.len() / 2 - 1], added[added.len() / 2])
    })
}

/// The target figures of the preset, in MB/s.
fn target(card: &Card, adds: &[f64; 4]) -> [f64; 4] {
    if card.fit {
        return card.phone;
    }
    // A random write takes a merge; what the phone adds to it is lost in the rounding of 0.01 MB/s.
    std::array::from_fn(|kind| match kind {
        2 => card.desktop[kind],
        _ => PAGE / (page_us(card.desktop[kind]) + adds[kind]),
    })
}

fn load(kind: Kind, order: Order, record_bytes: u64, total_bytes: u64) -> Load {
    let region_bytes = 128 * MIB;
    Load { kind, order, record_bytes, outstanding: 1, region_start: 0, region_bytes, total_bytes }
}

/// MB/s of the load on a new device.
fn measure(preset: &Preset, load: Load) -> Result<f64, Box<dyn Error>> {
    let mut device = Device::new(preset, 256 * MIB)?;
    Ok(simulate(&mut device, &[load], 4)[0].bytes_per_s() / 1e6)
}

/// Adjusts one parameter until the load runs at the target; times fall as rates rise, so bisection finds it.
fn solve(preset: &mut Preset, parameter: &str, load: Load, target: f64) -> Result<(), Box<dyn Error>> {
    let (mut low, mut high) = (0.0f64, 3e6f64);
    for _ in 0..36 {
        let middle = f64::midpoint(low, high);
        preset.set(parameter, &format!("{middle:.3}"))?;
        if measure(preset, load)? > target {
            low = middle;
        } else {
            high = middle;
        }
    }
    preset.set(parameter, &format!("{:.1}", f64::midpoint(low, high)))?;
    Ok(())
}

type Entries = Vec<(&'static str, String, String)>;

fn entries(card: &Card) -> Entries {
    let mut list: Entries = Vec::new();
    let mut put =
        |name: &'static str, value: &str, source: &str| list.push((name, value.to_owned(), source.to_owned()));
    put("command_us", "200", "assumed: SD command, response and firmware");
    put("bus_page_us", "300", "fit: sequential read");
    put("read_us", "300", "fit: random read");
    put("read_next_us", "150", "assumed: below the bus time");
    put("read_floor_us", "100", "assumed: below the bus time");
    put("read_ramp_pages", "8", "assumed");
    put("program_us", "1500", "fit: sequential write");
    put("queue_depth_requests", "1", "SD 2.0: one command at a time");
    put("buffer_pages", "32", "assumed: 128 KiB");
    put("flush_us", "0", "SD 2.0 has no cache to flush");
    put("discard_us", "1000", "assumed: SD erase command");
    put("erase_us", "2000", "assumed: low end of MLC data sheets");
    match card.shape {
        Shape::Pages => {
            put("mapping", "\"page\"", "figure 15: throughput does not depend on the range");
            put("program_pages", "8", "assumed: 32 KiB over the planes");
            put("program_any", "false", "random writes are slower than sequential ones");
            put("channel_page_us", "600", "fit: sequential write");
            put("spare_percent", "7", "assumed");
            put("block_pages", "512", "assumed: 2 MiB");
            put("gc_low_blocks", "4", "assumed");
        }
        Shape::Blocks { stray_us } => {
            put("mapping", "\"log_block\"", "figure 15: throughput falls to a low level beyond a range");
            put("program_pages", "4", "assumed: 16 KiB");
            put("program_any", "false", "a log block is written in order of arrival");
            put("block_pages", "1024", "the 4 MiB allocation unit of the SD specification (2.0, SDHC)");
            put("log_blocks", "4", "assumed: figure 15 shows the fall, its text gives no range");
            put("copy_page_us", "400", "fit: random write");
            if stray_us > 0.0 {
                put("stray_us", &format!("{stray_us}"), "figure 15: falls less sharply than the others");
            }
        }
        Shape::SmallBlocks => {
            put("mapping", "\"log_block\"", "figure 15: throughput falls first at 32 MB");
            put("program_pages", "4", "assumed: 16 KiB");
            put("program_any", "false", "a log block is written in order of arrival");
            put("block_pages", "32", "assumed: small blocks, since random writes cost only 6 ms (table III)");
            put("log_blocks", "256", "figure 15: 32 MB in all");
            put("copy_page_us", "150", "fit: random write");
            put("map_zone_pages", "262144", "figure 15: the second fall is at 1,024 MB");
            put("map_zones", "1", "the same");
            put("map_load_us", "20000", "assumed: figure 15 gives no level");
            list.retain(|e| e.0 != "erase_us");
            list.push(("erase_us", "0".into(), "a block is a part of an erase block".into()));
        }
    }
    let mut put = |name: &'static str, value: &str, source: &str| list.push((name, value.into(), source.into()));
    let energy = "assumed: 100 mW (card data sheets: 30 to 60 mA at 3.3 V) times its time";
    put("command_nj", "20000", energy);
    put("bus_page_nj", "30000", energy);
    put("read_page_nj", "30000", energy);
    put("program_page_nj", "40000", energy);
    put("erase_nj", "200000", energy);
    list
}

fn toml(card: &Card, entries: &Entries) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let how = if card.fit {
        "Fit to its figures on the phone."
    } else {
        "Fit to its figures on the desktop and the phone's typical difference; its\nfigures on the phone validate it."
    };
    writeln!(
        text,
        "# Made by `cargo run --release -p brisk-lab --example fit_sd_cards lab/src/flash/presets`: change that, not \
         this."
    )?;
    writeln!(text, "name = \"{}\"", card.name)?;
    writeln!(text, "title = \"{} 16 GB microSDHC, class {} (2011), in a phone\"", card.title, card.class)?;
    writeln!(text, "note = \"\"\"\nRevisiting storage, table III and figure 15. {how}\n\"\"\"\n\n[parameters]")?;
    for (name, value, source) in entries {
        writeln!(text, "{name} = {{ value = {value}, source = \"{source}\" }}")?;
    }
    Ok(text)
}

/// Name and text of each card's preset.
pub(crate) fn presets() -> Result<Vec<(&'static str, String)>, Box<dyn Error>> {
    let cards = cards();
    let adds = phone_adds(&cards);
    let mut presets = Vec::new();
    for card in &cards {
        let target = target(card, &adds);
        let mut entries = entries(card);
        let mut preset = Preset::from_toml(&toml(card, &entries)?)?;
        let sequential = |kind| load(kind, Order::Sequential, 128 * 1024, 16 * MIB);
        let random = |kind, mib| load(kind, Order::Scattered, 4096, mib * MIB);
        let pages = matches!(card.shape, Shape::Pages);
        let (write, random_write) =
            if pages { ("channel_page_us", "program_us") } else { ("program_us", "copy_page_us") };
        // Each figure has its parameter; they hardly touch each other, so a few rounds settle them.
        for _ in 0..3 {
            solve(&mut preset, "bus_page_us", sequential(Kind::Read), target[1])?;
            solve(&mut preset, "read_us", random(Kind::Read, 4), target[3])?;
            solve(&mut preset, write, sequential(Kind::Write), target[0])?;
            solve(&mut preset, random_write, random(Kind::Write, 8), target[2])?;
        }
        let solved = preset.parameters();
        for (name, value, _) in &mut entries {
            if ["bus_page_us", "read_us", write, random_write].contains(name) {
                *value = solved.iter().find(|p| p.name == *name).ok_or("parameter went missing")?.value.clone();
            }
        }
        presets.push((card.name, toml(card, &entries)?));
    }
    Ok(presets)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("usage: fit_sd_cards FOLDER")?.into();
    for (name, text) in presets()? {
        std::fs::write(folder.join(format!("{name}.toml")), text)?;
    }
    Ok(())
}
