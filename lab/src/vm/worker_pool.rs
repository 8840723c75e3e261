//! Worker pool for virtual machines: a limited number at a time, each on a thread of its own, with messages to the
//! caller.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

/// Runs `work` for each of `items` in order, `jobs` at a time; returns the results in the same order. `work` sends
/// messages through its last argument; `receive` is called on this thread with the index of the item and the message.
///
/// # Errors
/// The first error in the order of items. After an error no other item is started; running ones complete.
pub fn each<T: Sync, Message: Send, Done: Send, Failed: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(usize, &T, &dyn Fn(Message)) -> Result<Done, Failed> + Sync,
    mut receive: impl FnMut(usize, Message),
) -> Result<Vec<Done>, Failed> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (tell, messages) = channel();
    let worker = |tell: Sender<(usize, Message)>| {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { break };
            // The receiver exists until the end of this run.
            let outcome = work(place, item, &|words| drop(tell.send((place, words))));
            failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
            done.push((place, outcome));
        }
        done
    };
    let mut ended: Vec<(usize, Result<Done, Failed>)> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..jobs.clamp(1, items.len().max(1)))
            .map(|_| {
                let (tell, worker) = (tell.clone(), &worker);
                scope.spawn(move || worker(tell))
            })
            .collect();
        drop(tell);
        messages.into_iter().for_each(|(place, words)| receive(place, words));
        let joined = started.into_iter().map(|thread| thread.join());
        joined.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    ended.sort_by_key(|(place, _)| *place);
    ended.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    use super::*;
    use crate::vm::Error;

    #[test]
    fn results_are_in_the_order_of_the_items_and_all_messages_arrive() {
        let mut received = vec![0; 20];
        let items: Vec<usize> = (0..20).collect();
        let work = |_: usize, item: &usize, tell: &dyn Fn(usize)| {
            (0..*item).for_each(tell);
            Ok::<_, std::io::Error>(item * 2)
        };
        let done = each(&items, 3, work, |place, _| received[place] += 1).expect("nothing fails");
        assert_eq!(done, (0..20).map(|item| item * 2).collect::<Vec<_>>());
        assert_eq!(received, items);
        assert!(each(&[], 3, work, |_, _| {}).expect("nothing to do").is_empty());
    }

    #[test]
    fn exactly_as_many_items_run_concurrently_as_there_are_jobs() {
        // Three items wait for each other; a fourth concurrent one would be detected. (now, most)
        let (running, changed) = (Mutex::new((0, 0)), Condvar::new());
        let work = |_: usize, _: &usize, _: &dyn Fn(())| {
            let mut counts = running.lock().expect("no panic");
            counts.0 += 1;
            counts.1 = counts.1.max(counts.0);
            changed.notify_all();
            let long = Duration::from_secs(5);
            let (mut counts, _) = changed.wait_timeout_while(counts, long, |counts| counts.1 < 3).expect("no panic");
            counts.0 -= 1;
            Ok::<_, std::io::Error>(())
        };
        each(&[0; 9], 3, work, |_, ()| {}).expect("nothing fails");
        assert_eq!(running.lock().expect("no panic").1, 3);
    }

    #[test]
    fn the_first_error_is_returned_and_no_item_is_started_after_it() {
        let begun = AtomicUsize::new(0);
        let work = |place: usize, _: &usize, _: &dyn Fn(())| {
            begun.fetch_add(1, Ordering::Relaxed);
            let what = place.to_string();
            if place < 2 { Ok(()) } else { Err(Error::Failed { what, words: String::new() }) }
        };
        let error = each(&[0; 9], 1, work, |_, ()| {}).expect_err("the third fails");
        assert!(matches!(error, Error::Failed { what, .. } if what == "2"));
        assert_eq!(begun.into_inner(), 3);
    }
}
