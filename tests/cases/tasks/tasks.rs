// SPDX-License-Identifier: MIT
// Tasks whose states are known: tasks KEPT LISTED WAITING READY. One worker, which a task that runs keeps from all others, so that READY tasks stay in its
// queue, and which runs for BUSY_NS; two blocking calls. Says "ready" and ends with its input.
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Duration;
use tokio::task::JoinHandle;
#[cfg(not(feature = "without_set"))]
use tokio::task::JoinSet;

const BUSY_NS: u64 = 300_000_000;

// A list of handles, for a tokio that has no sets.
#[cfg(feature = "without_set")]
struct JoinSet<T>(Vec<JoinHandle<T>>);

#[cfg(feature = "without_set")]
impl<T: Send + 'static> JoinSet<T> {
    fn new() -> Self {
        JoinSet(Vec::new())
    }

    fn spawn<F: std::future::Future<Output = T> + Send + 'static>(&mut self, future: F) {
        self.0.push(tokio::spawn(future));
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

static DONE: AtomicUsize = AtomicUsize::new(0);
static HANDLES: Mutex<Vec<JoinHandle<usize>>> = Mutex::new(Vec::new());

async fn kept(n: usize) -> [usize; 100] {
    DONE.fetch_add(1, Ordering::SeqCst);
    [n; 100]
}

async fn listed(n: usize) -> usize {
    DONE.fetch_add(1, Ordering::SeqCst);
    n
}

async fn waits(n: usize) -> usize {
    DONE.fetch_add(1, Ordering::SeqCst);
    std::future::pending::<()>().await;
    n
}

async fn in_line(n: usize) -> usize {
    n
}

// So long the thread has run.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

async fn hogs(n_ready: usize) {
    for n in 0..n_ready {
        drop(tokio::spawn(in_line(n)));
    }
    let begin = cpu_ns();
    while cpu_ns() < begin + BUSY_NS {}
    println!("ready");
    let mut rest = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut rest);
}

fn parks() {
    DONE.fetch_add(1, Ordering::SeqCst);
    loop {
        std::thread::park();
    }
}

async fn all(n_kept: usize, n_listed: usize, n_waiting: usize, n_ready: usize) {
    let mut set = JoinSet::new();
    for n in 0..n_kept {
        set.spawn(kept(n));
    }
    for n in 0..n_listed {
        HANDLES.lock().unwrap().push(tokio::spawn(listed(n)));
    }
    for n in 0..n_waiting {
        drop(tokio::spawn(waits(n)));
    }
    for _ in 0..2 {
        drop(tokio::task::spawn_blocking(parks));
    }
    while DONE.load(Ordering::SeqCst) < n_kept + n_listed + n_waiting + 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::spawn(hogs(n_ready)).await.unwrap();
    std::process::exit(if set.len() == n_kept { 0 } else { 1 });
}

fn main() {
    let n: Vec<usize> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    runtime.block_on(all(n[0], n[1], n[2], n[3]));
}
