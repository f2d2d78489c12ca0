// SPDX-License-Identifier: MIT
// Tasks of smol or async-std: of `answer`, `fetch`, `session` and `other` as many as the arguments say. The first ones finish and are kept in a list of main, so are
// those of `fetch`, which wait; nobody has the others' handles. A fifth argument has a task
// of `hog` run all the time: 1 says that it yields every 20 ms, 0 that it never does. Says "ready" when all have run, of which the last may not have returned, and ends with its input.
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "with_async_std")]
use async_std::task::{block_on, spawn, spawn_blocking as unblock, yield_now};
#[cfg(feature = "with_smol")]
use smol::{block_on, future::yield_now, spawn, unblock};

#[cfg(feature = "with_smol")]
macro_rules! leave {
    ($task:expr) => {
        $task.detach()
    };
}
#[cfg(feature = "with_async_std")]
macro_rules! leave {
    ($task:expr) => {
        drop($task)
    };
}

static DONE: AtomicUsize = AtomicUsize::new(0);

async fn answer(n: u64) -> [u64; 64] {
    DONE.fetch_add(1, Ordering::SeqCst);
    [n; 64]
}

async fn fetch(n: u64) -> u64 {
    DONE.fetch_add(1, Ordering::SeqCst);
    std::future::pending::<()>().await;
    n
}

async fn session(n: u64) -> u64 {
    let kept = vec![n; 10];
    DONE.fetch_add(1, Ordering::SeqCst);
    std::future::pending::<()>().await;
    kept[0]
}

async fn other(n: u64) -> u64 {
    let kept = vec![n as u32; 10];
    DONE.fetch_add(1, Ordering::SeqCst);
    std::future::pending::<()>().await;
    kept[0] as u64
}

async fn hog(yields: bool) {
    let mut sum = 0u64;
    loop {
        let begin = std::time::Instant::now();
        while begin.elapsed().as_millis() < 20 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        if yields {
            yield_now().await;
        }
    }
}

fn main() {
    let mut n: Vec<u64> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let yields = if n.len() > 4 { n.pop() } else { None };
    let all = n.iter().sum::<u64>() as usize;
    block_on(async move {
        let (mut finished, mut waiting) = (Vec::new(), Vec::new());
        for i in 0..n[0] {
            finished.push(spawn(answer(i)));
        }
        for i in 0..n[1] {
            waiting.push(spawn(fetch(i)));
        }
        for i in 0..n[2] {
            leave!(spawn(session(i)));
        }
        for i in 0..n[3] {
            leave!(spawn(other(i)));
        }
        if let Some(yields) = yields {
            leave!(spawn(hog(yields > 0)));
        }
        unblock(move || {
            while DONE.load(Ordering::SeqCst) < all {
                std::thread::yield_now();
            }
            println!("ready");
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        })
        .await;
        std::process::exit(if finished.len() + waiting.len() > 0 { 0 } else { 1 });
    })
}
