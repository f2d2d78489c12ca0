// SPDX-License-Identifier: MIT
// Rust's containers with a known number of elements and a known capacity.
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

static TABLE: Mutex<Option<HashMap<u64, [u64; 3]>>> = Mutex::new(None); // 600 in 1,024 slots
static EMPTY: Mutex<Option<HashMap<u64, u64>>> = Mutex::new(None); // 0 in 2,048 slots
static SETS: Mutex<Vec<HashSet<u32>>> = Mutex::new(Vec::new()); // 50, with 150 in all
static VECTORS: Mutex<Vec<Vec<u32>>> = Mutex::new(Vec::new()); // 300, 80 of 1,000 used
static STRINGS: Mutex<Vec<String>> = Mutex::new(Vec::new()); // 500, 40 of 100 used
static QUEUES: Mutex<Vec<VecDeque<u64>>> = Mutex::new(Vec::new()); // 100, 30 of 200 used
static TREE: Mutex<Option<BTreeMap<u64, u64>>> = Mutex::new(None);
static SHARED: Mutex<Vec<Arc<[u64; 8]>>> = Mutex::new(Vec::new());

#[inline(never)]
fn fill_tables() {
    let mut table = HashMap::new();
    for i in 0..700u64 {
        table.insert(i, [i; 3]);
    }
    for i in 0..100u64 {
        table.remove(&i);
    }
    *TABLE.lock().unwrap() = Some(table);
    *EMPTY.lock().unwrap() = Some(HashMap::with_capacity(1000));
    for i in 0..50u32 {
        SETS.lock().unwrap().push((0..i % 5 + 1).collect());
    }
}

#[inline(never)]
fn fill_vectors() {
    for i in 0..300u32 {
        let mut one = Vec::with_capacity(1000);
        one.resize(80, i);
        VECTORS.lock().unwrap().push(one);
    }
}

#[inline(never)]
fn fill_strings() {
    for _ in 0..500 {
        let mut one = String::with_capacity(100);
        one.push_str("forty letters, no more and no less of it");
        STRINGS.lock().unwrap().push(one);
    }
}

#[inline(never)]
fn fill_queues() {
    for i in 0..100u64 {
        let mut one = VecDeque::with_capacity(200);
        for k in 0..40 {
            one.push_back(i + k);
        }
        for _ in 0..10 {
            one.pop_front();
        }
        QUEUES.lock().unwrap().push(one);
    }
}

#[inline(never)]
fn fill_others() {
    *TREE.lock().unwrap() = Some((0..1000u64).map(|i| (i, i)).collect());
    for i in 0..400 {
        SHARED.lock().unwrap().push(Arc::new([i; 8]));
    }
}

fn main() {
    fill_tables();
    fill_vectors();
    fill_strings();
    fill_queues();
    fill_others();
    std::process::exit(0);
}
