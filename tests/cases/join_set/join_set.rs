// SPDX-License-Identifier: MIT
// 3,000 tasks in a JoinSet that nobody joins: each keeps 10,240 bytes, as long as it waits or as its result ("done").
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::task::JoinSet;

static N_MADE: AtomicUsize = AtomicUsize::new(0);

async fn fetch(i: usize, done: bool) -> Vec<u8> {
    let body = vec![i as u8; 10240];
    N_MADE.fetch_add(1, Ordering::SeqCst);
    if !done {
        std::future::pending::<()>().await;
    }
    body
}

extern "C" {
    fn _exit(code: i32) -> !;
}

fn main() {
    let done = std::env::args().last().unwrap() == "done";
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async move {
        let mut set = JoinSet::new();
        for i in 0..3000 {
            set.spawn(fetch(i, done));
        }
        while N_MADE.load(Ordering::SeqCst) < 3000 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        // while the set is there
        unsafe { _exit(if set.len() == 3000 { 0 } else { 1 }) }
    });
}
