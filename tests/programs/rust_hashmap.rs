// SPDX-License-Identifier: MIT
//! HashMap, BTreeMap and Rc, counted by the program's own allocator (truth.rs): 20,000 keys in,
//! half of them removed, strings as values, all dropped at the end but a map of 100. A large vector
//! stands all the while, in the baseline too, so that both peaks are in main.
#[path = "truth.rs"]
mod truth;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

#[global_allocator]
static COUNTING: truth::Counting = truth::Counting;

fn fill() {
    let mut names: HashMap<u64, String> = HashMap::new();
    for i in 0..20_000u64 {
        names.insert(i, format!("name of {}", i));
    }
    for i in (0..20_000u64).step_by(2) {
        names.remove(&i);
    }
    let shared = Rc::new(names);
    let mut tree: BTreeMap<u64, Rc<HashMap<u64, String>>> = BTreeMap::new();
    for i in 0..1000 {
        tree.insert(i * 7919 % 1000, shared.clone());
    }
    let mut kept: HashMap<u32, u32> = HashMap::new();
    for i in 0..100 {
        kept.insert(i, i);
    }
    std::mem::forget(kept);
    drop(tree);
    assert!(shared.len() == 10_000);
}

fn main() {
    let marker: Vec<u8> = Vec::with_capacity(256 << 20);
    if !truth::is_baseline() {
        fill();
    }
    drop(marker);
    truth::say_counters();
}
