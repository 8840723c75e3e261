//! The two streams of the background writer: files, writes and syncs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use brisk_core::random::Random;

use super::{PAGE_BYTES, Pace, WRITE_BYTES, WriterSpec};

/// Sizes of the packages of AppInstall in MB (Revisiting storage, table IV, left).
const PACKAGES_MB: [f64; 10] = [1.95, 6.65, 2.96, 1.22, 2.16, 18.65, 0.70, 17.44, 3.75, 0.10];
/// Size of the unpacked data relative to the package: with the package 123.1 MB for 55.6 MB (table V).
const UNPACKED: f64 = 1.2;
/// Number of databases, and the size of each: some apps' tables and indices in the paper.
const DATABASES: u32 = 4;
const DATABASE_BYTES: u64 = 4 << 20;

/// When the streams began, after the preparation, and what they have written.
#[derive(Debug, Default)]
pub(super) struct Progress {
    begun: OnceLock<Instant>,
    install_bytes: AtomicU64,
    sync_bytes: AtomicU64,
}

impl Progress {
    fn elapsed_s(&self) -> f64 {
        self.begun.get().map_or(0.0, |begun| begun.elapsed().as_secs_f64())
    }
}

#[derive(Debug, Default)]
pub(super) struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub(super) fn raise(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits; returns whether the streams must stop.
    fn wait(&self, time: Duration) -> bool {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(stopped, time, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Writes into `dir` until stopped. The first stream that fails stops both.
pub(super) fn run(spec: &WriterSpec, dir: &Path, progress: &Progress, stop: &Stop) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut of_sync = random(spec, 2);
    let databases = (0..DATABASES).map(|number| database(&dir.join(format!("database-{number}")), &mut of_sync));
    let databases = databases.collect::<io::Result<Vec<_>>>()?;
    progress.begun.get_or_init(Instant::now);
    let ended = |outcome: io::Result<()>| outcome.inspect_err(|_| stop.raise());
    std::thread::scope(|scope| {
        let install = scope.spawn(|| ended(install(spec, dir, progress, stop)));
        let sync = scope.spawn(|| ended(sync(spec, &databases, of_sync, progress, stop)));
        let joined = |thread: std::thread::ScopedJoinHandle<'_, io::Result<()>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        joined(install).and(joined(sync))
    })
}

fn random(spec: &WriterSpec, stream: u64) -> Random {
    Random::stream(spec.seed, stream)
}

/// Installs one app after the other, repeatedly under the same ten names, so that the disk does not fill.
fn install(spec: &WriterSpec, dir: &Path, progress: &Progress, stop: &Stop) -> io::Result<()> {
    if spec.install_bytes_per_s() <= 0.0 {
        return Ok(());
    }
    let mut random = random(spec, 1);
    let mut content = vec![0; WRITE_BYTES as usize];
    random.fill(&mut content);
    let mut pace = Pace::new(spec.install_bytes_per_s() / WRITE_BYTES as f64);
    loop {
        let app = random.place(PACKAGES_MB.len());
        for (name, share) in [("package", 1.0), ("unpacked", UNPACKED)] {
            let len_bytes = (PACKAGES_MB[app] * share * 1e6) as u64;
            let (fresh, place) = (dir.join(format!("{name}-{app}.part")), dir.join(format!("{name}-{app}")));
            let mut file = File::create(&fresh)?;
            let mut left_bytes = len_bytes;
            while left_bytes > 0 {
                if stop.wait(pace.next(progress.elapsed_s()).0) {
                    return Ok(());
                }
                let count = left_bytes.min(WRITE_BYTES);
                // Every package has different content, in case the device deduplicates.
                content[..8].copy_from_slice(&random.bits().to_le_bytes());
                file.write_all(&content[..count as usize])?;
                progress.install_bytes.fetch_add(count, Ordering::Relaxed);
                left_bytes -= count;
            }
            file.sync_all()?;
            fs::rename(&fresh, &place)?;
        }
    }
}

/// Overwrites pages of databases.
fn sync(spec: &WriterSpec, databases: &[File], mut random: Random, progress: &Progress, stop: &Stop) -> io::Result<()> {
    if spec.syncs_per_s() <= 0.0 {
        return Ok(());
    }
    let mut page = vec![0; PAGE_BYTES as usize];
    let mut pace = Pace::new(spec.syncs_per_s());
    let bytes_per_sync = u64::from(spec.pages_per_sync) * PAGE_BYTES;
    loop {
        if stop.wait(pace.next(progress.elapsed_s()).0) {
            return Ok(());
        }
        let database = &databases[random.place(databases.len())];
        for _ in 0..spec.pages_per_sync {
            random.fill(&mut page);
            let place = random.below(DATABASE_BYTES / PAGE_BYTES) * PAGE_BYTES;
            database.write_all_at(&page, place)?;
        }
        progress.sync_bytes.fetch_add(bytes_per_sync, Ordering::Relaxed);
        database.sync_all()?;
    }
}

/// A database of full size, whose pages are then overwritten.
fn database(path: &Path, random: &mut Random) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    if file.metadata()?.len() < DATABASE_BYTES {
        let mut content = vec![0; DATABASE_BYTES as usize];
        random.fill(&mut content);
        file.write_all_at(&content, 0)?;
        file.sync_all()?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_of_the_paper() {
        let total_mb: f64 = PACKAGES_MB.iter().sum();
        assert!((total_mb - 55.6).abs() < 0.1, "{total_mb}");
        assert!((total_mb * (1.0 + UNPACKED) - 123.1).abs() < 1.5);
    }

    #[test]
    fn both_streams_write_until_stopped_and_keep_to_their_files() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let spec = WriterSpec { target_bytes_per_s: 100e6, ..WriterSpec::default() };
        let (progress, stop) = (Progress::default(), Stop::default());
        let of = |bytes: &AtomicU64| bytes.load(Ordering::Relaxed);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&spec, dir.path(), &progress, &stop));
            let deadline = Instant::now() + Duration::from_secs(100);
            // More than the largest package and its unpacked data.
            let enough = || of(&progress.install_bytes) > 45_000_000 && of(&progress.sync_bytes) > 40 * PAGE_BYTES;
            while !enough() && Instant::now() < deadline && !running.is_finished() {
                std::thread::yield_now();
            }
            stop.raise();
            running.join().expect("no panic").expect("no error");
        });
        let written = (of(&progress.install_bytes), of(&progress.sync_bytes));
        assert!(written.0 > 45_000_000 && written.1 > 40 * PAGE_BYTES, "{written:?}");
        let names: Vec<String> = fs::read_dir(dir.path())
            .expect("readable")
            .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        let known = |name: &&String| ["package-", "unpacked-", "database-"].iter().any(|kind| name.starts_with(kind));
        assert!(names.iter().all(|name| known(&name)), "{names:?}");
        assert!(names.iter().any(|name| name.starts_with("package-") && !name.ends_with(".part")), "{names:?}");
    }

    #[test]
    fn an_unwritable_directory_stops_both_streams() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let file = dir.path().join("file");
        fs::write(&file, "").expect("written");
        let (progress, stop) = (Progress::default(), Stop::default());
        run(&WriterSpec::default(), &file.join("below"), &progress, &stop).expect_err("no directory");
        // A directory under the name of a file fails one stream, which stops the other.
        for app in 0..PACKAGES_MB.len() {
            fs::create_dir(dir.path().join(format!("unpacked-{app}.part"))).expect("made");
        }
        run(&WriterSpec::default(), dir.path(), &progress, &stop).expect_err("a stream failed");
    }
}
