// SPDX-License-Identifier: MIT
//! Rust threads that hand boxes to each other: 8 workers, each makes 2,000 boxes in a vector that
//! grows, the next one drops them; every worker ends by a panic. Counted by the program's own
//! allocator (truth.rs); the baseline spawns the same threads, which make nothing, so that libc's
//! blocks per thread are the same. No channels: whether a channel makes a thread wait, and
//! registers its waiting with libc, is the scheduler's choice.
//!
//! When all have handed over, each holds 100 boxes of 80 bytes in a vector of 800 and waits at a
//! barrier; main then allocates 256 MiB, in the baseline too, which makes that moment the peak of
//! both runs: +8 * (8,000 + 800) in +808.
#[path = "truth.rs"]
mod truth;
use std::panic;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

#[global_allocator]
static COUNTING: truth::Counting = truth::Counting;

const WORKERS: usize = 8;

struct Shared {
    made: [Mutex<Vec<Box<[u8; 40]>>>; WORKERS],
    barrier: Barrier,
    baseline: bool,
}

fn work(number: usize, shared: &Shared) {
    if !shared.baseline {
        for i in 0..2000 {
            shared.made[number].lock().unwrap().push(Box::new([i as u8; 40]));
        }
    }
    shared.barrier.wait();
    let taken = std::mem::take(&mut *shared.made[(number + 1) % WORKERS].lock().unwrap());
    assert!(taken.len() == if shared.baseline { 0 } else { 2000 });
    drop(taken);
    let n_held = if shared.baseline { 0 } else { 100 };
    let mut held: Vec<Box<[u8; 80]>> = Vec::with_capacity(n_held);
    for _ in 0..n_held {
        held.push(Box::new([0; 80]));
    }
    shared.barrier.wait();
    shared.barrier.wait();
    drop(held);
    panic::panic_any(number);
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let shared = Arc::new(Shared {
        made: Default::default(),
        barrier: Barrier::new(WORKERS + 1),
        baseline: truth::is_baseline(),
    });
    let mut threads = Vec::with_capacity(WORKERS);
    for number in 0..WORKERS {
        let shared = shared.clone();
        threads.push(thread::spawn(move || work(number, &shared)));
    }
    shared.barrier.wait();
    shared.barrier.wait();
    let at_peak = (truth::LIVE_BYTES.load(SeqCst), truth::LIVE_BLOCKS.load(SeqCst));
    let marker: Vec<u8> = Vec::with_capacity(256 << 20);
    drop(marker);
    shared.barrier.wait();
    for (number, handle) in threads.into_iter().enumerate() {
        assert!(handle.join().unwrap_err().downcast::<usize>().map(|n| *n).ok() == Some(number));
    }
    drop(shared);
    truth::say("own_bytes_at_peak", at_peak.0);
    truth::say("own_blocks_at_peak", at_peak.1);
    truth::say_counters();
}
