// SPDX-License-Identifier: MIT
//! Rust's stacks under the probe of walk_probe.h: panics that unwind and are caught, destructors
//! that run meanwhile, closures, trait objects, iterators, threads.
//!
//!     walk_stress_rust [STACKS [THREADS]]

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

extern "C" {
    fn walk_probe_init(n_stacks: u64);
    fn walk_probe_thread_begin();
    fn walk_probe_thread_end();
    fn walk_probe();
    fn walk_probe_left() -> i64;
    fn walk_probe_print_all();
}

#[inline(always)]
fn probe() {
    unsafe { walk_probe() }
}

/// Probes when it is dropped, which is often while a panic passes.
struct Guard(u32);

impl Drop for Guard {
    fn drop(&mut self) {
        if self.0 % 2 == 0 {
            probe();
        }
    }
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % n
    }
}

trait Node {
    fn visit(&self, rng: &mut Rng, depth: u32) -> u64;
}

struct Leaf;
struct Sum<const N: usize>([u64; N]);
struct Sorted(Vec<u64>);
struct Fallible;

impl Node for Leaf {
    #[inline(never)]
    fn visit(&self, _: &mut Rng, depth: u32) -> u64 {
        probe();
        u64::from(depth)
    }
}

impl<const N: usize> Node for Sum<N> {
    #[inline(never)]
    fn visit(&self, rng: &mut Rng, depth: u32) -> u64 {
        let _guard = Guard(depth);
        let inner = descend(rng, depth);
        self.0.iter().fold(inner, |sum, x| {
            if x % 7 == 3 {
                probe();
            }
            sum.wrapping_add(*x)
        })
    }
}

impl Node for Sorted {
    #[inline(never)]
    fn visit(&self, rng: &mut Rng, depth: u32) -> u64 {
        let mut values = self.0.clone();
        values.sort_by(|a, b| {
            if (a ^ b) % 5 == 0 {
                probe();
            }
            b.cmp(a)
        });
        let map: BTreeMap<_, _> = values.iter().map(|v| (v % 17, *v)).collect();
        map.values().fold(0, |n, v| n ^ v) + descend(rng, depth)
    }
}

impl Node for Fallible {
    #[inline(never)]
    fn visit(&self, rng: &mut Rng, depth: u32) -> u64 {
        let _guard = Guard(depth * 2);
        let caught = panic::catch_unwind(AssertUnwindSafe(|| {
            let _inner = Guard(depth);
            if rng.below(3) == 0 {
                panic!("at depth {depth}");
            }
            descend(rng, depth)
        }));
        probe();
        caught.unwrap_or_else(|e| {
            if rng.below(4) == 0 && depth > 2 {
                panic::resume_unwind(e);
            }
            1
        })
    }
}

#[inline(never)]
fn descend(rng: &mut Rng, depth: u32) -> u64 {
    if depth == 0 {
        return Leaf.visit(rng, 0);
    }
    let node: Box<dyn Node> = match rng.below(7) {
        0 => Box::new(Sum([1; 3])),
        1 => Box::new(Sum([rng.below(100); 40])),
        2 => Box::new(Sum([3; 200])),
        3 => Box::new(Sorted((0..20).map(|i| i * 7919 % 31).collect())),
        4 | 5 => Box::new(Fallible),
        _ => Box::new(Leaf),
    };
    let times = 1 + rng.below(2);
    (0..times).map(|_| node.visit(rng, depth - 1)).sum()
}

fn run(seed: u64) {
    let mut rng = Rng(88172645463325252 + seed * 977);

    unsafe { walk_probe_thread_begin() };
    while unsafe { walk_probe_left() } > 0 {
        let depth = 2 + rng.below(24) as u32;
        let _ = panic::catch_unwind(AssertUnwindSafe(|| descend(&mut rng, depth)));
        probe();
    }
    unsafe { walk_probe_thread_end() };
}

fn main() {
    let arg = |i: usize, default: u64| {
        std::env::args().nth(i).and_then(|s| s.parse().ok()).unwrap_or(default)
    };
    let (n_stacks, n_threads) = (arg(1, 1_000_000), arg(2, 3));

    panic::set_hook(Box::new(|_| probe()));
    unsafe { walk_probe_init(n_stacks) };
    let threads: Vec<_> = (1..n_threads).map(|i| thread::spawn(move || run(i))).collect();
    run(0);
    for t in threads {
        t.join().unwrap();
    }
    unsafe { walk_probe_print_all() };
}
