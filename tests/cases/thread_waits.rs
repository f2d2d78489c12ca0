// SPDX-License-Identifier: MIT
//! A thread in each of the waits that Rust's library has, named after what it waits in. Ends when its input does.
use std::io::{BufRead, Read};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread::{park, Builder};

#[inline(never)]
fn wait_condvar(pair: Arc<(Mutex<bool>, Condvar)>) {
    let mut is_set = pair.0.lock().unwrap();
    while !*is_set {
        is_set = pair.1.wait(is_set).unwrap();
    }
}

#[inline(never)]
fn wait_recv(from: mpsc::Receiver<u32>) {
    while from.recv().is_ok() {}
}

#[inline(never)]
fn wait_park() {
    loop {
        park();
    }
}

#[inline(never)]
fn wait_lock(lock: Arc<Mutex<u32>>) {
    *lock.lock().unwrap() += 1;
}

#[inline(never)]
fn wait_write(lock: Arc<RwLock<u32>>) {
    *lock.write().unwrap() += 1;
}

#[inline(never)]
fn wait_barrier(barrier: Arc<Barrier>) {
    barrier.wait();
}

#[inline(never)]
fn wait_read(mut from: std::process::ChildStdout) {
    let _ = from.read(&mut [0u8; 1]);
}

fn begin(name: &str, runs: impl FnOnce() + Send + 'static) {
    Builder::new().name(name.to_string()).spawn(runs).unwrap();
}

fn main() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let (sender, receiver) = mpsc::channel();
    let (lock, rw, barrier) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)), Arc::new(Barrier::new(2)));
    let (held, read) = (lock.clone(), rw.clone());
    let (_guard, _reader) = (held.lock().unwrap(), read.read().unwrap());
    let mut child = std::process::Command::new("sleep").arg("1000").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let output = child.stdout.take().unwrap();
    begin("condvar", move || wait_condvar(pair));
    begin("recv", move || wait_recv(receiver));
    begin("park", wait_park);
    begin("lock", move || wait_lock(lock));
    begin("write", move || wait_write(rw));
    begin("barrier", move || wait_barrier(barrier));
    begin("read", move || wait_read(output));
    println!("ready");
    let _ = std::io::stdin().lock().read_line(&mut String::new());
    drop(sender);
    let _ = child.kill();
    std::process::exit(0);
}
