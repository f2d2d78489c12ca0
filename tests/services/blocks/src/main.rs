// SPDX-License-Identifier: MIT
//! A program that counts what is alive. "ready PID BLOCKS BYTES", when nothing changes any more.
use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};

#[cfg(any(feature = "jemalloc", feature = "jemalloc_stats"))]
use tikv_jemallocator::Jemalloc as Inner;
#[cfg(any(feature = "mimalloc2", feature = "mimalloc3"))]
use mimalloc::MiMalloc as Inner;

struct Counting(Inner);
static BLOCKS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        BLOCKS.fetch_add(1, Relaxed);
        BYTES.fetch_add(l.size(), Relaxed);
        self.0.alloc(l)
    }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        BLOCKS.fetch_sub(1, Relaxed);
        BYTES.fetch_sub(l.size(), Relaxed);
        self.0.dealloc(p, l)
    }
    unsafe fn realloc(&self, p: *mut u8, l: Layout, n: usize) -> *mut u8 {
        BYTES.fetch_add(n, Relaxed);
        BYTES.fetch_sub(l.size(), Relaxed);
        self.0.realloc(p, l, n)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting(Inner {});

fn main() {
    let mut map = HashMap::new();
    for i in 0..40_000u64 {
        map.insert(i, vec![7u8; (i % 97 * 30) as usize]);
    }
    map.retain(|i, _| i % 5 != 0);
    let large: Vec<Vec<u8>> = (1..20).map(|i| vec![1u8; i * 100_001]).collect();
    let there = Arc::new(Barrier::new(4));
    for n in 0..3usize {
        let there = there.clone();
        std::thread::spawn(move || {
            let mut kept: Vec<Vec<u8>> = (0..3000).map(|i| vec![n as u8; 16 + i * 7 % 5000]).collect();
            kept.truncate(2000);
            there.wait();
            loop {
                std::thread::park();
                black_box(&kept);
            }
        });
    }
    for _ in 0..5 {
        std::mem::forget(black_box(vec![1u8; 7777]));
    }
    there.wait();
    println!("ready {} {} {}", std::process::id(), BLOCKS.load(Relaxed), BYTES.load(Relaxed));
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    black_box((map, large));
}
