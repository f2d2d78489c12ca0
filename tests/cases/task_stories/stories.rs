// SPDX-License-Identifier: MIT
// What goes wrong with tasks, one story a run: "ready" when it has, and the end of its stdin is its own.
use std::io::Read;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const EVER: Duration = Duration::from_secs(100_000);
static DONE: AtomicU64 = AtomicU64::new(0);
static SINK: AtomicU64 = AtomicU64::new(0); // what nobody needs

fn ready() {
    println!("ready");
}

async fn done(n: u64) {
    while DONE.load(Ordering::SeqCst) < n {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

// ---- a JoinSet that nobody empties: each result stays

async fn answer(n: u64) -> [u64; 64] {
    DONE.fetch_add(1, Ordering::SeqCst);
    [n; 64]
}

async fn joinset(n: u64) {
    let mut set = JoinSet::new();
    for i in 0..n {
        set.spawn(answer(i)); // spawned here: joinset
    }
    done(n).await;
    ready();
    tokio::time::sleep(EVER).await;
    drop(set);
}

// ---- a list of handles that nobody awaits, in a task: all it allocates is allocated below the runtime

async fn handles(n: u64) {
    let mut all = Vec::new();
    for i in 0..n {
        all.push(tokio::spawn(answer(i))); // spawned here: handles
    }
    done(n).await;
    ready();
    tokio::time::sleep(EVER).await;
    drop(all);
}

// ---- a task that never gives way: its worker can do nothing else

extern "C" {
    fn clock_gettime(id: i32, to: *mut [i64; 2]) -> i32;
}

fn own_cpu_ms() -> i64 {
    let mut t = [0i64; 2];
    unsafe { clock_gettime(3, &mut t) }; // of this thread
    t[0] * 1000 + t[1] / 1_000_000
}

#[inline(never)]
fn crunch(ms: i64) -> u64 {
    let (mut x, until) = (1u64, own_cpu_ms() + ms);
    while own_cpu_ms() < until {
        for i in 0..10_000u64 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(i);
        }
    }
    x
}

async fn greedy(seconds: u64) -> u64 {
    tokio::task::yield_now().await;
    let x = crunch(seconds as i64 * 1000);
    DONE.fetch_add(1, Ordering::SeqCst);
    x
}

async fn polite() {
    loop {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn busy(seconds: u64) {
    for _ in 0..10 {
        tokio::spawn(polite()); // spawned here: polite
    }
    let x = tokio::spawn(greedy(seconds)); // spawned here: busy
    done(1).await;
    ready();
    println!("{}", x.await.unwrap());
}

// the same for ever, beside one that has its turn often

async fn hog() {
    tokio::task::yield_now().await;
    SINK.fetch_add(crunch(300), Ordering::Relaxed);
    ready();
    SINK.fetch_add(crunch(1_000_000_000), Ordering::Relaxed);
}

async fn hogged(n: u64) {
    for _ in 0..n {
        tokio::spawn(polite());
    }
    tokio::spawn(hog());
}

async fn yields() {
    while DONE.fetch_add(1, Ordering::SeqCst) < 300 {
        SINK.fetch_add(crunch(1), Ordering::Relaxed);
        tokio::task::yield_now().await;
    }
    ready();
    loop {
        SINK.fetch_add(crunch(1), Ordering::Relaxed);
        tokio::task::yield_now().await;
    }
}

async fn yielding(n: u64) {
    for _ in 0..n {
        tokio::spawn(polite());
    }
    tokio::spawn(yields());
}

// ---- tasks that give way, often: together they are busy all the time

async fn brief() {
    loop {
        SINK.fetch_add(crunch(1), Ordering::Relaxed);
        tokio::task::yield_now().await;
        DONE.fetch_add(1, Ordering::SeqCst);
    }
}

async fn fair(n: u64) {
    for _ in 0..40 {
        tokio::spawn(brief());
    }
    let _ = tokio::task::spawn_blocking(move || {
        SINK.fetch_add(crunch(n as i64), Ordering::Relaxed);
        while DONE.load(Ordering::SeqCst) < n {
            std::thread::sleep(Duration::from_millis(2));
        }
        ready();
        std::thread::sleep(EVER);
    });
}

// ---- many channels that somebody empties, and many tasks that wait for what comes

async fn take(mut from: mpsc::Receiver<Vec<u8>>) {
    while let Some(x) = from.recv().await {
        SINK.fetch_add(x.len() as u64, Ordering::Relaxed);
        DONE.fetch_add(1, Ordering::SeqCst);
    }
}

async fn serve(n: u64) {
    let mut all = Vec::new();
    for _ in 0..n {
        let (to, from) = mpsc::channel(100);
        tokio::spawn(take(from)); // spawned here: serve
        for _ in 0..50 {
            to.send(vec![7; 100]).await.unwrap();
        }
        all.push(to);
    }
    done(n * 50).await;
    ready();
    tokio::time::sleep(EVER).await;
    drop(all);
}

// ---- two in one function: one is never emptied, the other at once

async fn two(n: u64) {
    let mut kept = JoinSet::new();
    let mut emptied = JoinSet::new();
    for i in 0..n {
        kept.spawn(answer(i));
        emptied.spawn(answer(i));
        emptied.join_next().await;
    }
    done(2 * n).await;
    ready();
    tokio::time::sleep(EVER).await;
    drop(kept);
}

// ---- a JoinSet that is emptied, but not at once

async fn fill(set: &mut JoinSet<[u64; 64]>, from: u64, n: u64) {
    for i in from..from + n {
        set.spawn(answer(i)); // spawned here: emptied
    }
    done(from + n).await;
}

async fn emptied(n: u64) {
    let mut set = JoinSet::new();
    for round in 0..3 {
        fill(&mut set, round * n, n).await;
        while set.join_next().await.is_some() {}
    }
    fill(&mut set, 3 * n, n).await; // by another call path than those that are gone
    ready();
    tokio::time::sleep(EVER).await;
    drop(set);
}

// ---- a channel that fills: who sends does not wait for who receives

async fn receive(mut from: mpsc::UnboundedReceiver<Vec<u8>>) {
    while from.recv().await.is_some() {
        tokio::time::sleep(EVER).await;
    }
}

async fn send(to: mpsc::UnboundedSender<Vec<u8>>, n: u64) {
    for _ in 0..n {
        to.send(vec![7; 300]).unwrap(); // sent here
        DONE.fetch_add(1, Ordering::SeqCst);
    }
    tokio::time::sleep(EVER).await;
}

async fn channel(n: u64) {
    let (to, from) = mpsc::unbounded_channel();
    tokio::spawn(receive(from));
    tokio::spawn(send(to, n));
    done(n).await;
    ready();
    tokio::time::sleep(EVER).await;
}

// ---- a branch of select! that loses: the handle goes, its task does not

async fn fetch(n: u64) -> [u64; 32] {
    let kept = [n; 32];
    tokio::time::sleep(EVER).await;
    kept
}

async fn select(n: u64) {
    for i in 0..n {
        tokio::select! {
            _ = tokio::spawn(fetch(i)) => (), // spawned here: select
            _ = tokio::task::yield_now() => (),
        }
    }
    ready();
    tokio::time::sleep(EVER).await;
}

// ---- tasks that nobody ever awaited, and that wait for their timers, as they shall

async fn alone(n: u64) {
    for i in 0..n {
        tokio::spawn(fetch(i)); // spawned here: alone
        tokio::task::yield_now().await;
    }
    ready();
    tokio::time::sleep(EVER).await;
}

// ---- connections that nobody writes to

extern "C" {
    fn getrlimit(what: i32, to: *mut [u64; 2]) -> i32;
    fn setrlimit(what: i32, to: *const [u64; 2]) -> i32;
}

fn allow_descriptors() {
    let mut x = [0u64; 2];
    unsafe { getrlimit(7, &mut x) };
    x[0] = x[1];
    unsafe { setrlimit(7, &x) };
}

async fn connection(from: TcpStream) {
    from.readable().await.unwrap();
}

// The other ends, for as long as the program runs: as a client where there is an address, else as a server, whose address it tells.
fn others(to: Option<SocketAddr>, n: u64) -> SocketAddr {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = server.local_addr().unwrap();
    std::thread::spawn(move || {
        let connect = |_| to.map_or_else(|| server.accept().unwrap().0, |to| std::net::TcpStream::connect(to).unwrap());
        let all: Vec<_> = (0..n).map(connect).collect();
        std::thread::sleep(EVER);
        drop(all);
    });
    at
}

async fn connections(n: u64) {
    allow_descriptors();
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    others(Some(server.local_addr().unwrap()), n);
    for _ in 0..n {
        let (one, _) = server.accept().await.unwrap();
        tokio::spawn(connection(one)); // spawned here: connections
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    ready();
    tokio::time::sleep(EVER).await;
}

// ---- requests that are given up, whose tasks wait for the answer all the same

async fn request(to: SocketAddr) {
    let one = TcpStream::connect(to).await.unwrap();
    DONE.fetch_add(1, Ordering::SeqCst);
    one.readable().await.unwrap();
}

async fn requests(n: u64) {
    allow_descriptors();
    let to = others(None, n);
    for i in 1..=n {
        tokio::select! {
            _ = tokio::spawn(request(to)) => (), // spawned here: requests
            _ = done(i) => (),
        }
    }
    ready();
    tokio::time::sleep(EVER).await;
}

// ---- tasks that nothing can wake

async fn never() {
    std::future::pending::<()>().await;
}

async fn unwakeable(n: u64) {
    for _ in 0..n {
        tokio::select! {
            _ = tokio::spawn(never()) => (), // spawned here: never
            _ = tokio::task::yield_now() => (),
        }
    }
    ready();
    tokio::time::sleep(EVER).await;
}

// ---- a channel with a bound, and nobody takes

async fn send_one(to: mpsc::Sender<[u64; 8]>, n: u64) {
    DONE.fetch_add(1, Ordering::SeqCst);
    to.send([n; 8]).await.unwrap();
}

async fn bounded(n: u64) {
    let (to, from) = mpsc::channel(10); // made here: bounded
    for i in 0..n {
        tokio::spawn(send_one(to.clone(), i)); // spawned here: bounded
    }
    done(n).await;
    ready();
    tokio::time::sleep(EVER).await;
    drop(from);
}

// ---- a channel for many, of whom one does not take

async fn broadcast(n: u64) {
    let (to, from) = tokio::sync::broadcast::channel(n as usize); // made here: broadcast
    for _ in 0..n {
        to.send(vec![7u8; 300]).unwrap();
    }
    ready();
    tokio::time::sleep(EVER).await;
    drop(from);
}

async fn tell(story: &str, n: u64) {
    match story {
        "joinset" => joinset(n).await,
        "handles" => handles(n).await,
        "busy" => busy(n).await,
        "fair" => fair(n).await,
        "hogged" => hogged(n).await,
        "yielding" => yielding(n).await,
        "serve" => serve(n).await,
        "two" => two(n).await,
        "emptied" => emptied(n).await,
        "channel" => channel(n).await,
        "select" => select(n).await,
        "alone" => alone(n).await,
        "connections" => connections(n).await,
        "requests" => requests(n).await,
        "never" => unwakeable(n).await,
        "bounded" => bounded(n).await,
        "broadcast" => broadcast(n).await,
        _ => panic!("no such story"),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (story, n) = (words[1].clone(), words[2].parse().unwrap());

    if words.len() > 3 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.spawn(async move { tell(&story, n).await });
        std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    } else {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.spawn(async move { tell(&story, n).await });
        std::mem::forget(runtime);
    }
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    std::process::exit(0);
}
