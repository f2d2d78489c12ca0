// SPDX-License-Identifier: MIT
// As lines.c, with generic functions, closures and collections.

/// std::hint's is newer than Debian 12's compiler.
fn black_box<T>(value: T) -> T {
    let copy = unsafe { std::ptr::read_volatile(&value) };
    std::mem::forget(value);
    copy
}

struct Cache<T> {
    entries: Vec<Box<T>>,
}

impl<T: Clone> Cache<T> {
    fn new() -> Self {
        Cache { entries: Vec::with_capacity(100) } // self=1600 total=1600 allocs=2
    }

    #[inline(always)]
    fn insert(&mut self, value: &T) {
        self.entries.push(Box::new(value.clone())); // self=30000 total=30000 allocs=200 end=20000
    }
}

#[inline(always)]
fn make(size: usize) -> Vec<u8> {
    vec![black_box(1u8); size] // self=5000 total=5000 allocs=5
}

#[inline(never)]
fn run(n: usize) -> [Vec<u8>; 5] {
    let one = |i: usize| make(black_box(1000 + i % n)); // total=5000 allocs=5
    let mut all: [Vec<u8>; 5] = Default::default();
    for (i, row) in all.iter_mut().enumerate() {
        *row = one(i * n); // total=5000 allocs=5
    }
    all
}

fn main() {
    let mut small: Cache<[u8; 100]> = Cache::new(); // total=800 allocs=1
    let mut large: Cache<[u8; 200]> = Cache::new(); // total=800 allocs=1
    for _ in 0..100 {
        small.insert(black_box(&[1; 100])); // total=10000 allocs=100
    }
    for _ in 0..100 {
        large.insert(black_box(&[1; 200])); // total=20000 allocs=100 end=20000
    }
    let rows = run(5); // total=5000 allocs=5
    black_box(&rows);
    while let Some(entry) = large.entries.pop() {
        std::mem::forget(entry);
    }
}
