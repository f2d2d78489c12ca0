// SPDX-License-Identifier: MIT
//! A store of values over HTTP, whose global allocator counts what goes through it.
//!
//!   PUT, GET, DELETE /v/KEY    a value
//!   POST /words                a JSON array of strings: how often each is there, sorted
//!   GET /stats                 what the allocator was asked for, and what it says itself
//!
//! Says "ready PID PORT". The end of its stdin is its own: "ok REQUESTS".

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use std::alloc::{GlobalAlloc, Layout};
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static FREES: AtomicU64 = AtomicU64::new(0);
static REALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);
static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Counts, and leaves the work to the crate's own allocator.
pub struct Counted<A>(pub A);

fn count_alloc(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes as u64, Relaxed);
    LIVE_BYTES.fetch_add(bytes as u64, Relaxed);
}

fn count_free(bytes: usize) {
    FREES.fetch_add(1, Relaxed);
    LIVE_BYTES.fetch_sub(bytes as u64, Relaxed);
}

unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        count_alloc(l.size());
        self.0.alloc(l)
    }

    unsafe fn alloc_zeroed(&self, l: Layout) -> *mut u8 {
        count_alloc(l.size());
        self.0.alloc_zeroed(l)
    }

    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        count_free(l.size());
        self.0.dealloc(p, l)
    }

    unsafe fn realloc(&self, p: *mut u8, l: Layout, n: usize) -> *mut u8 {
        count_free(l.size());
        count_alloc(n);
        REALLOCATIONS.fetch_add(1, Relaxed);
        self.0.realloc(p, l, n)
    }
}

const N_SHELVES: usize = 16;

struct Store {
    shelves: [Mutex<HashMap<String, Vec<u8>>>; N_SHELVES],
    allocated: fn() -> u64,
}

impl Store {
    fn shelf(&self, key: &str) -> &Mutex<HashMap<String, Vec<u8>>> {
        let mut hasher = std::collections::hash_map::DefaultHasher::new();
        key.hash(&mut hasher);
        &self.shelves[hasher.finish() as usize % N_SHELVES]
    }
}

async fn put(State(store): State<Arc<Store>>, Path(key): Path<String>, body: Bytes) -> String {
    REQUESTS.fetch_add(1, Relaxed);
    let value = keep(&body);
    let old = store.shelf(&key).lock().unwrap().insert(key, value);
    old.map_or(0, |v| v.len()).to_string()
}

#[inline(never)]
fn keep(body: &[u8]) -> Vec<u8> {
    body.to_vec()
}

async fn fetch(State(store): State<Arc<Store>>, Path(key): Path<String>) -> Result<Vec<u8>, StatusCode> {
    REQUESTS.fetch_add(1, Relaxed);
    let found = store.shelf(&key).lock().unwrap().get(&key).cloned();
    found.ok_or(StatusCode::NOT_FOUND)
}

async fn remove(State(store): State<Arc<Store>>, Path(key): Path<String>) -> Result<String, StatusCode> {
    REQUESTS.fetch_add(1, Relaxed);
    let old = store.shelf(&key).lock().unwrap().remove(&key);
    old.map(|v| v.len().to_string()).ok_or(StatusCode::NOT_FOUND)
}

/// In a task of its own, some of them after a timer.
async fn words(Json(words): Json<Vec<String>>) -> Json<BTreeMap<String, u64>> {
    REQUESTS.fetch_add(1, Relaxed);
    if words.len() % 7 == 0 {
        tokio::time::sleep(Duration::from_micros(300)).await;
    }
    let counts = tokio::spawn(async move {
        let mut counts = BTreeMap::new();
        for word in words {
            *counts.entry(word).or_insert(0) += 1;
        }
        counts
    });
    Json(counts.await.unwrap())
}

/// Always of the same length: what one answer takes is what the next takes.
async fn stats(State(store): State<Arc<Store>>) -> String {
    let own = (store.allocated)();
    let figures = [("allocated", own), ("allocations", ALLOCATIONS.load(Relaxed)), ("frees", FREES.load(Relaxed)),
                   ("reallocations", REALLOCATIONS.load(Relaxed)), ("bytes_allocated", BYTES.load(Relaxed)),
                   ("live_bytes", LIVE_BYTES.load(Relaxed))];
    figures.iter().map(|(name, n)| format!("{name} {n:020}\n")).collect()
}

/// `allocated` is what the allocator says of itself.
pub fn serve(allocated: fn() -> u64) {
    let store = Arc::new(Store { shelves: Default::default(), allocated });
    let app = Router::new()
        .route("/v/{key}", get(fetch).put(put).delete(remove))
        .route("/words", post(words))
        .route("/stats", get(stats))
        .layer(DefaultBodyLimit::max(16 << 20))
        .with_state(store);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    println!("ready {} {}", std::process::id(), listener.local_addr().unwrap().port());
    runtime.spawn(async move { axum::serve(listener, app).await.unwrap() });
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).unwrap();
    println!("ok {}", REQUESTS.load(Relaxed));
}
