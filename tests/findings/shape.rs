// SPDX-License-Identifier: MIT
//! shape.h for Rust: parameters `name=value`, pace, truths on stdout, and memory around the culprit.
#![allow(dead_code)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

extern "C" {
    fn write(fd: i32, data: *const u8, size: usize) -> isize;
}

/// What the compiler has to make and keep; std has it since Rust 1.66.
#[inline(always)]
pub fn black_box<T>(x: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &x as *const T, options(nostack, preserves_flags)) };
    x
}

pub fn tell_text(name: &str, value: &str) {
    let line = format!("{name} {value}\n");
    assert!(unsafe { write(1, line.as_ptr(), line.len()) } == line.len() as isize);
}

pub fn tell(name: &str, value: usize) {
    tell_text(name, &value.to_string());
}

pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e3779b97f4a7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    /// low to high, both included
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }
}

/// Blocks that are replaced one by one, at a steady level.
struct Around {
    slots: Vec<Vec<u8>>,
    chance: Chance,
}

impl Around {
    fn new(seed: u64) -> Around {
        let mut chance = Chance::new(seed);
        let slots = (0..256).map(|_| Vec::with_capacity(chance.between(16, 1500))).collect();
        Around { slots, chance }
    }

    #[inline(never)]
    fn replace(&mut self, n: usize) {
        for _ in 0..n {
            let at = self.chance.below(256);
            self.slots[at] = Vec::with_capacity(self.chance.between(16, 1500));
        }
    }
}

pub struct Shape {
    pub name: String,
    params: Vec<(String, usize)>,
    pub steps: usize,
    pub chance: Chance,
    churn: usize,
    start: Instant,
    begin: Instant,
    span: Duration,
    late_ms: AtomicUsize,
    around: Around,
    held: Vec<Vec<u8>>,
    is_over: Arc<AtomicBool>,
    others: Vec<JoinHandle<()>>,
}

#[inline(never)]
fn around_hold(mut bytes: usize, chance: &mut Chance) -> Vec<Vec<u8>> {
    let mut held = Vec::with_capacity(bytes / 64 + 1);
    while bytes > 64 {
        let size = chance.between(64, 3000).min(bytes);
        held.push(Vec::with_capacity(size));
        bytes -= size;
    }
    held
}

impl Shape {
    pub fn start() -> Shape {
        let start = Instant::now();
        let mut params = Vec::new();
        let mut name = String::new();
        for word in std::env::args().skip(1) {
            match word.split_once('=') {
                Some((key, value)) => params.push((key.to_string(), value.parse().unwrap())),
                None => name = word,
            }
        }
        let get = |key: &str| params.iter().find(|p| p.0 == key).unwrap().1;
        let mut chance = Chance::new(get("seed") as u64);
        let is_over = Arc::new(AtomicBool::new(false));
        let others = (0..get("others")).map(|i| {
            let (is_over, seed) = (is_over.clone(), (get("seed") + i) as u64);
            thread::spawn(move || {
                let mut around = Around::new(seed);
                while !is_over.load(SeqCst) {
                    around.replace(20);
                    thread::sleep(Duration::from_millis(3));
                }
            })
        });
        let others: Vec<JoinHandle<()>> = others.collect();
        let held = around_hold(get("hold_kb") * 1024, &mut chance);
        let (steps, churn, ms) = (get("steps"), get("churn"), get("ms") as u64);
        Shape {
            name,
            steps,
            churn,
            is_over,
            others,
            held,
            around: Around::new(get("seed") as u64),
            start,
            begin: Instant::now(),
            late_ms: AtomicUsize::new(0),
            span: Duration::from_millis(ms),
            chance,
            params,
        }
    }

    pub fn param(&self, key: &str) -> usize {
        self.params.iter().find(|p| p.0 == key).unwrap_or_else(|| panic!("no {key}")).1
    }

    /// Waits for step i; a late step is followed by quicker ones, and how late is told: a busy machine stands still for a while.
    pub fn pace(&self, i: usize) {
        let at = self.begin + self.span.mul_f64(i as f64 / self.steps as f64);
        thread::sleep(at.saturating_duration_since(Instant::now()));
        self.late_ms.fetch_max(at.elapsed().as_millis() as usize, SeqCst);
    }

    /// What goes on beside step i.
    pub fn step(&mut self, i: usize) {
        self.pace(i);
        self.around.replace(self.churn);
    }

    pub fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    pub fn end(mut self) {
        self.pace(self.steps);
        tell("late_ms", self.late_ms.load(SeqCst));
        tell("start_ms", (self.begin - self.start).as_millis() as usize);
        self.is_over.store(true, SeqCst);
        for other in self.others.drain(..) {
            other.join().unwrap();
        }
    }
}

/// Calls `step` with `depth` frames between.
#[inline(never)]
pub fn relay(depth: usize, step: &mut dyn FnMut()) {
    if depth > 0 {
        relay(depth - 1, step);
    } else {
        step();
    }
    black_box(());
}

/// Growth as the program knows it.
#[derive(Default)]
pub struct Growth {
    pub bytes: usize,
    pub blocks: usize,
    pub beside: usize,
    from: Option<(f64, usize)>,
    to: f64,
}

impl Growth {
    pub fn add(&mut self, at: f64, bytes: usize, blocks: usize) {
        self.bytes += bytes;
        self.blocks += blocks;
        self.to = at;
        self.from.get_or_insert((at, self.bytes));
    }

    pub fn tell(&self, culprit: &str) {
        let (from, before) = self.from.unwrap();
        tell_text("culprit", culprit);
        tell("bytes", self.bytes);
        tell("beside", self.beside);
        tell("blocks", self.blocks);
        tell("per_second", ((self.bytes - before) as f64 / (self.to - from)) as usize);
    }
}
