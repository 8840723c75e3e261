//! The published figures and the model's results.

use std::collections::BTreeMap;

use super::load::{Load, Order, simulate};
use crate::flash::{Device, Kind, Preset};

const MIB: u64 = 1 << 20;

/// Use of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    Fit,
    /// The preset was fit without it.
    Validation,
    /// Published, but beyond the model.
    Beyond,
}

/// A published figure and the model's.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Figure {
    pub preset: &'static str,
    pub source: &'static str,
    pub what: String,
    pub unit: &'static str,
    pub half: Half,
    pub published: f64,
    /// Half of the last printed digit: the rounding error of the published value.
    pub rounding: f64,
    /// The model's value.
    pub ours: f64,
}

impl Figure {
    /// Relative error against the printed value.
    #[must_use]
    pub fn error(&self) -> f64 {
        (self.ours - self.published) / self.published
    }

    /// Relative error against the nearest value that rounds to the printed one.
    #[must_use]
    pub fn error_beyond_rounding(&self) -> f64 {
        let nearest = self.ours.clamp(self.published - self.rounding, self.published + self.rounding);
        (self.ours - nearest) / nearest
    }
}

/// Absolute errors of some figures.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Errors {
    pub median: f64,
    pub worst: f64,
    /// How many exceed a quarter.
    pub above_quarter: usize,
}

/// Summary of the figures with one use.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Summary {
    pub count: usize,
    /// Errors against the printed values.
    pub printed: Errors,
    /// Errors against the nearest values that round to the printed ones.
    pub beyond_rounding: Errors,
}

/// Summarises the figures with one use.
#[must_use]
pub fn summarize(figures: &[Figure], half: Half) -> Summary {
    let errors = |error: fn(&Figure) -> f64| {
        let mut errors: Vec<f64> = figures.iter().filter(|f| f.half == half).map(|f| error(f).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let middle = errors.len() / 2;
        Errors {
            median: match errors.len() {
                0 => 0.0,
                n if n % 2 == 0 => f64::midpoint(errors[middle - 1], errors[middle]),
                _ => errors[middle],
            },
            worst: errors.last().copied().unwrap_or(0.0),
            above_quarter: errors.iter().filter(|e| **e > 0.25).count(),
        }
    };
    Summary {
        count: figures.iter().filter(|f| f.half == half).count(),
        printed: errors(Figure::error),
        beyond_rounding: errors(Figure::error_beyond_rounding),
    }
}

/// All figures, in the order of the sources.
///
/// # Errors
/// When a preset is invalid, which the presets' own tests exclude.
pub fn all() -> Result<Vec<Figure>, Box<dyn std::error::Error>> {
    let mut figures = galaxy_s5()?;
    figures.extend(galaxy_s5_many()?);
    figures.extend(nexus4_table_1()?);
    figures.extend(nexus4_table_2()?);
    figures.extend(sd_cards()?);
    figures.extend(maker_table()?);
    Ok(figures)
}

fn device(preset: &str, size_bytes: u64) -> Result<Device, Box<dyn std::error::Error>> {
    Ok(Device::new(&Preset::builtin(preset)?, size_bytes)?)
}

fn load(kind: Kind, order: Order, record_bytes: u64, region: u64) -> Load {
    Load {
        kind,
        order,
        record_bytes,
        outstanding: 1,
        region_start: region * 512 * MIB,
        region_bytes: 512 * MIB,
        total_bytes: 128 * MIB,
    }
}

/// Dissertation 4.2.3 and 4.2.4: 128 MB in requests of 4 KB, one reader, one writer of twice the size.
fn galaxy_s5() -> Result<Vec<Figure>, Box<dyn std::error::Error>> {
    const SOURCE: &str = "dissertation 4.2.3, 4.2.4";
    let mut figures = Vec::new();
    for (order, name, [read, write, read_slowdown, write_slowdown]) in [
        (Order::Sequential, "sequential", [0.072, 0.19, 6.15, 1.13]),
        (Order::Scattered, "random", [0.187, 0.41, 3.18, 1.6]),
    ] {
        let region = 128 * MIB;
        let reader = Load { region_bytes: region, ..load(Kind::Read, order, 4096, 0) };
        let writer = Load { region_bytes: 2 * region, ..load(Kind::Write, order, 4096, 1) };
        let alone = |l: Load| -> Result<f64, Box<dyn std::error::Error>> {
            Ok(simulate(&mut device("galaxy-s5-emmc", 1024 * MIB)?, &[l], 1)[0].mean_ms())
        };
        let (read_alone, write_alone) = (alone(reader)?, alone(writer)?);
        let mixed = simulate(&mut device("galaxy-s5-emmc", 1024 * MIB)?, &[reader, writer], 1);
        let ours = [read_alone, write_alone, mixed[0].mean_ms() / read_alone, mixed[1].mean_ms() / write_alone];
        let rows = [
            ("read alone", "ms", Half::Fit, read, 0.0005, ours[0]),
            ("write alone", "ms", Half::Fit, write, 0.005, ours[1]),
            ("read beside write over alone", "x", Half::Validation, read_slowdown, 0.005, ours[2]),
            ("write beside read over alone", "x", Half::Validation, write_slowdown, 0.005, ours[3]),
        ];
        for (what, unit, half, published, rounding, ours) in rows {
            let what = format!("{name} {what}");
            figures.push(Figure {
                preset: "galaxy-s5-emmc",
                source: SOURCE,
                what,
                unit,
                half,
                published,
                rounding,
                ours,
            });
        }
    }
    Ok(figures)
}

/// Dissertation 4.2.5 and 4.5.2: several concurrent streams of 32 MB, and four readers with four writers (with CFQ).
fn galaxy_s5_many() -> Result<Vec<Figure>, Box<dyn std::error::Error>> {
    let mut figures = Vec::new();
    let mut push = |source, what, published, ours| {
        let (unit, half, rounding) = ("x", Half::Beyond, 0.005);
        figures.push(Figure { preset: "galaxy-s5-emmc", source, what, unit, half, published, rounding, ours });
    };
    let stream = |kind, order, region: u64| Load {
        region_start: region * 128 * MIB,
        region_bytes: 128 * MIB,
        total_bytes: 32 * MIB,
        ..load(kind, order, 4096, 0)
    };
    let run = |loads: &[Load]| -> Result<Vec<super::load::Outcome>, Box<dyn std::error::Error>> {
        Ok(simulate(&mut device("galaxy-s5-emmc", 1024 * MIB)?, loads, 7))
    };
    for (order, name, [read_slowdown, write_slowdown], speedups) in [
        (
            Order::Sequential,
            "sequential",
            [28.03, 4.21],
            [(Kind::Read, "reads", 2, 1.45), (Kind::Write, "writes", 4, 1.29)],
        ),
        (Order::Scattered, "random", [19.22, 8.01], [(Kind::Read, "reads", 4, 1.55), (Kind::Write, "writes", 2, 1.41)]),
    ] {
        for (kind, kinds, streams, published) in speedups {
            let loads: Vec<Load> = (0..streams).map(|i| stream(kind, order, i)).collect();
            let serial = run(&loads[..1])?[0].elapsed_ns * streams;
            let concurrent = run(&loads)?.iter().map(|o| o.elapsed_ns).max().unwrap_or(1);
            let what = format!("{streams} concurrent {name} {kinds} over serial");
            push("dissertation 4.2.5", what, published, serial as f64 / concurrent as f64);
        }
        let loads: Vec<Load> =
            (0..8).map(|i| stream(if i % 2 == 0 { Kind::Read } else { Kind::Write }, order, i)).collect();
        let mixed = run(&loads)?;
        for (index, what, published) in [(0, "read", read_slowdown), (1, "write", write_slowdown)] {
            let alone = run(&loads[index..=index])?[0].mean_ms();
            let what = format!("4 + 4 {name}: {what} over alone");
            push("dissertation 4.5.2 (CFQ)", what, published, mixed[index].mean_ms() / alone);
        }
    }
    Ok(figures)
}

/// A sequential reader through the page cache keeps one read-ahead window of 128 KiB ahead.
fn buffered_sequential_read(region: u64) -> Load {
    Load { outstanding: 2, ..load(Kind::Read, Order::Sequential, 128 * 1024, region) }
}

/// MARS table 1: bandwidth of sequential and scattered reads by record size.
fn nexus4_table_1() -> Result<Vec<Figure>, Box<dyn std::error::Error>> {
    let rows: [(u64, f64, f64, Half); 5] = [
        (4, 63_071.0, 6_839.0, Half::Fit),
        (16, 61_105.0, 11_676.0, Half::Validation),
        (64, 64_619.0, 18_658.0, Half::Fit),
        (256, 61_648.0, 29_330.0, Half::Validation),
        (1024, 63_957.0, 55_352.0, Half::Fit),
    ];
    let mut figures = Vec::new();
    for (record_kib, sequential, scattered, half) in rows {
        let scattered_load = load(Kind::Read, Order::Scattered, record_kib * 1024, 0);
        for (name, published, load) in
            [("sequential", sequential, buffered_sequential_read(0)), ("scattered", scattered, scattered_load)]
        {
            figures.push(Figure {
                preset: "nexus4-emmc",
                source: "MARS table 1",
                what: format!("{name} read, {record_kib} KB records"),
                unit: "KB/s",
                half,
                published,
                rounding: 0.5,
                ours: simulate(&mut device("nexus4-emmc", 1024 * MIB)?, &[load], 2)[0].bytes_per_s() / 1024.0,
            });
        }
    }
    Ok(figures)
}

/// MARS table 2: concurrent 64 KB reads and writes.
fn nexus4_table_2() -> Result<Vec<Figure>, Box<dyn std::error::Error>> {
    use Order::{Scattered, Sequential};
    let mut figures = Vec::new();
    let mut push = |what: String, half, published, ours: f64| {
        figures.push(Figure {
            preset: "nexus4-emmc",
            source: "MARS table 2",
            what,
            unit: "KB/s",
            half,
            published,
            rounding: 0.5,
            ours: ours / 1024.0,
        });
    };
    let writer = |order| load(Kind::Write, order, 64 * 1024, 1);
    for (order, name, published) in [(Sequential, "sequential", 16_386.0), (Scattered, "scattered", 5_758.0)] {
        let ours = simulate(&mut device("nexus4-emmc", 1024 * MIB)?, &[writer(order)], 3)[0].bytes_per_s();
        push(format!("{name} write alone"), Half::Fit, published, ours);
    }
    let pairs = [
        (Sequential, Sequential, Half::Fit, 34_071.0, 14_153.0),
        (Sequential, Scattered, Half::Validation, 37_084.0, 3_866.0),
        (Scattered, Sequential, Half::Validation, 11_624.0, 4_420.0),
        (Scattered, Scattered, Half::Fit, 4_503.0, 4_359.0),
    ];
    for (read_order, write_order, half, read, write) in pairs {
        let reader = match read_order {
            Sequential => buffered_sequential_read(0),
            Scattered => load(Kind::Read, Scattered, 64 * 1024, 0),
        };
        let outcome = simulate(&mut device("nexus4-emmc", 1024 * MIB)?, &[reader, writer(write_order)], 3);
        let (r, w) = (order_name(read_order), order_name(write_order));
        push(format!("{r} read beside {w} write: read"), half, read, outcome[0].bytes_per_s());
        push(format!("{r} read beside {w} write: write"), half, write, outcome[1].bytes_per_s());
    }
    Ok(figures)
}

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Sequential => "sequential",
        Order::Scattered => "scattered",
    }
}

/// Revisiting storage, table III, on the phone: MB/s of sequential write and read, random write and read.
pub(crate) const TABLE_3_PHONE: [(&str, Half, [f64; 4]); 8] = [
    ("sd-transcend", Half::Fit, [4.35, 13.52, 1.38, 2.92]),
    ("sd-ridata", Half::Validation, [5.86, 11.51, 0.03, 2.76]),
    ("sd-sandisk", Half::Fit, [4.93, 8.44, 0.67, 0.73]),
    ("sd-kingston", Half::Validation, [4.56, 9.84, 0.01, 1.94]),
    ("sd-wintec", Half::Fit, [9.91, 13.38, 0.01, 3.82]),
    ("sd-adata", Half::Validation, [8.93, 13.49, 0.01, 3.64]),
    ("sd-patriot", Half::Fit, [8.83, 13.38, 0.01, 3.72]),
    ("sd-pny", Half::Validation, [10.28, 14.02, 0.01, 3.95]),
];

/// The loads of table III: 128 MB in sequence, 4 KB at random in as much.
pub(crate) fn table_3_loads() -> [(&'static str, Load); 4] {
    let region_bytes = 128 * MIB;
    let sequential = |kind| Load { region_bytes, ..load(kind, Order::Sequential, 128 * 1024, 0) };
    let random = |kind, total_bytes| Load { region_bytes, total_bytes, ..load(kind, Order::Scattered, 4096, 0) };
    [
        ("sequential write", sequential(Kind::Write)),
        ("sequential read", sequential(Kind::Read)),
        ("random write", random(Kind::Write, 8 * MIB)),
        ("random read", random(Kind::Read, 8 * MIB)),
    ]
}

fn sd_cards() -> Result<Vec<Figure>, Box<dyn std::error::Error>> {
    let mut figures = Vec::new();
    for (preset, half, published) in TABLE_3_PHONE {
        for ((what, load), published) in table_3_loads().into_iter().zip(published) {
            figures.push(Figure {
                preset,
                source: "Revisiting storage table III",
                what: what.to_owned(),
                unit: "MB/s",
                half,
                published,
                rounding: 0.005,
                ours: simulate(&mut device(preset, 256 * MIB)?, &[load], 4)[0].bytes_per_s() / 1e6,
            });
        }
    }
    Ok(figures)
}

/// The maker's table for its embedded storage (published March 2020): MB/s in sequence, requests per second at random.
fn maker_table() -> Result<Vec<Figure>, Box<dyn std::error::Error>> {
    let mut figures = Vec::new();
    for (preset, published) in
        [("emmc-5.1", [250.0, 125.0, 11_000.0, 13_000.0]), ("ufs-3.1", [2_100.0, 1_200.0, 100_000.0, 70_000.0])]
    {
        let deep = |l: Load| Load { outstanding: 32, ..l };
        let rows = [
            ("sequential read", "MB/s", deep(load(Kind::Read, Order::Sequential, 128 * 1024, 0)), 1e6),
            ("sequential write", "MB/s", deep(load(Kind::Write, Order::Sequential, 128 * 1024, 0)), 1e6),
            ("random read", "requests/s", deep(load(Kind::Read, Order::Scattered, 4096, 0)), 4096.0),
            ("random write", "requests/s", deep(load(Kind::Write, Order::Scattered, 4096, 0)), 4096.0),
        ];
        for ((what, unit, load, scale), published) in rows.into_iter().zip(published) {
            figures.push(Figure {
                preset,
                source: "maker's table, 2020",
                what: what.to_owned(),
                unit,
                half: Half::Fit,
                published,
                rounding: 0.0,
                ours: simulate(&mut device(preset, 1024 * MIB)?, &[load], 5)[0].bytes_per_s() / scale,
            });
        }
    }
    Ok(figures)
}

/// Revisiting storage, figure 15: throughput (bytes per second) of 2,048 random writes of 4 KB by the range that they
/// fall into, each after a sequential write of 1 GB.
///
/// # Errors
/// When the preset cannot be made into a device.
pub fn footprint(preset: &str, ranges_bytes: &[u64]) -> Result<BTreeMap<u64, f64>, Box<dyn std::error::Error>> {
    let mut points = BTreeMap::new();
    for &range in ranges_bytes {
        let mut device = device(preset, 4096 * MIB)?;
        let region_bytes = 1024 * MIB;
        let fill =
            Load { region_bytes, total_bytes: region_bytes, ..load(Kind::Write, Order::Sequential, 128 * 1024, 0) };
        let _ = simulate(&mut device, &[fill], 6);
        let writes = Load { region_bytes: range, total_bytes: 8 * MIB, ..load(Kind::Write, Order::Scattered, 4096, 0) };
        points.insert(range, simulate(&mut device, &[writes], 6)[0].bytes_per_s());
    }
    Ok(points)
}
