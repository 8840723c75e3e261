//! Prints the visible changes of a display: `cargo run -p brisk-screen --example watch -- DISPLAY [SECONDS]`, where the display
//! is an X11 display such as `:99`, or a Wayland display such as `wayland-1` or the path of its socket.
//!
//! A blinking caret appears as one tile with two alternating hashes. The last line shows the cost of watching.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::time::Duration;

use brisk_screen::{Kind, Result, Screen, Seen, Watcher, Wayland, X11, monotonic_ns};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let display = arguments.next().unwrap_or_default();
    let seconds: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10.0);
    let mut screen: Box<dyn Screen> = match display.starts_with('/') || display.starts_with("wayland") {
        true => Box::new(Wayland::connect(Some(&display))?),
        false => Box::new(X11::connect(Some(&display))?),
    };
    let mut watcher = Watcher::new(&mut *screen)?;
    let (begin_ns, begin_cpu_ns) = (monotonic_ns(), watcher.own_cpu_ns());
    let at = |ns: u64| ns.saturating_sub(begin_ns) as f64 / 1e6;
    for window in watcher.windows()? {
        println!("existing  {window:?}");
    }
    let end_ns = begin_ns + (seconds * 1e9) as u64;
    let mut tiles = 0;
    while monotonic_ns() < end_ns {
        for seen in watcher.watch(Duration::from_nanos(end_ns.saturating_sub(monotonic_ns())))? {
            match seen {
                Seen::Window(change) => match change.kind {
                    Kind::WindowShown(info) => println!("{:9.1} ms  window {info:?}", at(change.at_ns)),
                    kind => println!("{:9.1} ms  {kind:?}", at(change.at_ns)),
                },
                Seen::Visible(visible) => {
                    tiles += visible.tiles.len();
                    let first = visible.tiles.first();
                    println!(
                        "{:9.1} .. {:9.1} ms  {:4} tiles, the first is {:?} with {:016x}",
                        at(visible.first_ns),
                        at(visible.at_ns),
                        visible.tiles.len(),
                        first.map(|tile| (tile.rect.x, tile.rect.y)).unwrap_or_default(),
                        first.and_then(|tile| tile.hash).unwrap_or_default(),
                    );
                }
            }
        }
    }
    let cost_ns = watcher.own_cpu_ns() - begin_cpu_ns;
    println!(
        "{} looks, {tiles} tiles changed, {:.3} ms to begin, {:.3} % of a processor since",
        watcher.looks(),
        begin_cpu_ns as f64 / 1e6,
        cost_ns as f64 / (monotonic_ns() - begin_ns) as f64 * 100.0,
    );
    Ok(())
}
