// SPDX-License-Identifier: MIT
// Tasks that are never joined: 30,000 boxed futures in a list that a static holds, each with a buffer of 300 bytes of its own.
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;

type Task = Pin<Box<dyn Future<Output = usize> + Send>>;

static RUNTIME: Mutex<Vec<Task>> = Mutex::new(Vec::new());

async fn handle(buffer: Vec<u8>) -> usize {
    std::future::pending::<()>().await;
    buffer.len()
}

#[inline(never)]
fn spawn(n: usize) {
    let buffer = vec![n as u8; 300];
    RUNTIME.lock().unwrap().push(Box::pin(handle(buffer)));
}

fn main() {
    for n in 0..30000 {
        spawn(n);
    }
    std::process::exit(if RUNTIME.lock().unwrap().len() == 30000 { 0 } else { 1 });
}
