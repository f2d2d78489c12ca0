// SPDX-License-Identifier: MIT
//! service OPERATIONS THREADS: what a Rust program does with its collections, its global allocator a jemalloc of its own, called
//! as the usual crate calls it. Counts what goes through, and prints that with what jemalloc itself says is allocated.
//! Built with `--cfg system` or `--cfg mimalloc` it uses that instead.

use std::alloc::{GlobalAlloc, Layout};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;

struct Counted;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static FREES: AtomicU64 = AtomicU64::new(0);
static REALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);
static LIVE_ROOM: AtomicU64 = AtomicU64::new(0); // what its blocks have, by jemalloc's size classes

fn count_alloc(l: Layout) {
    let bytes = l.size();
    LIVE_ROOM.fetch_add(inner::room(l), Relaxed);
    ALLOCATIONS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes as u64, Relaxed);
    LIVE_BYTES.fetch_add(bytes as u64, Relaxed);
}

fn count_free(l: Layout) {
    let bytes = l.size();
    LIVE_ROOM.fetch_sub(inner::room(l), Relaxed);
    FREES.fetch_add(1, Relaxed);
    LIVE_BYTES.fetch_sub(bytes as u64, Relaxed);
}

#[cfg(not(any(system, mimalloc)))]
mod inner {
    use super::*;
    use std::ffi::c_void;
    use std::os::raw::{c_char, c_int};

    extern "C" {
        fn _rjem_malloc(n: usize) -> *mut c_void;
        fn _rjem_calloc(a: usize, b: usize) -> *mut c_void;
        fn _rjem_realloc(p: *mut c_void, n: usize) -> *mut c_void;
        fn _rjem_mallocx(n: usize, flags: c_int) -> *mut c_void;
        fn _rjem_rallocx(p: *mut c_void, n: usize, flags: c_int) -> *mut c_void;
        fn _rjem_sdallocx(p: *mut c_void, n: usize, flags: c_int);
        fn _rjem_nallocx(n: usize, flags: c_int) -> usize;
        fn _rjem_mallctl(name: *const c_char, old: *mut c_void, old_len: *mut usize, new: *const c_void, new_len: usize) -> c_int;
    }

    fn flags(l: Layout) -> c_int {
        if l.align() <= 16 && l.align() <= l.size() { 0 } else { l.align().trailing_zeros() as c_int }
    }

    pub unsafe fn alloc(l: Layout) -> *mut u8 {
        match flags(l) {
            0 => _rjem_malloc(l.size()) as *mut u8,
            f => _rjem_mallocx(l.size(), f) as *mut u8,
        }
    }

    pub unsafe fn alloc_zeroed(l: Layout) -> *mut u8 {
        match flags(l) {
            0 => _rjem_calloc(1, l.size()) as *mut u8,
            f => _rjem_mallocx(l.size(), f | 64) as *mut u8,
        }
    }

    pub unsafe fn dealloc(p: *mut u8, l: Layout) {
        _rjem_sdallocx(p as *mut c_void, l.size(), flags(l))
    }

    pub unsafe fn realloc(p: *mut u8, l: Layout, n: usize) -> *mut u8 {
        match flags(Layout::from_size_align_unchecked(n, l.align())) {
            0 => _rjem_realloc(p as *mut c_void, n) as *mut u8,
            f => _rjem_rallocx(p as *mut c_void, n, f) as *mut u8,
        }
    }

    pub fn room(l: Layout) -> u64 {
        unsafe { _rjem_nallocx(l.size(), flags(l)) as u64 }
    }

    /// What jemalloc itself says its live blocks have.
    pub fn allocated() -> u64 {
        let (mut epoch, mut bytes) = (1u64, 0usize);
        let mut n = 8;
        unsafe {
            _rjem_mallctl(b"thread.tcache.flush\0".as_ptr() as *const c_char, std::ptr::null_mut(), std::ptr::null_mut(),
                          std::ptr::null(), 0);
            _rjem_mallctl(b"epoch\0".as_ptr() as *const c_char, std::ptr::null_mut(), std::ptr::null_mut(),
                          &mut epoch as *mut u64 as *const c_void, 8);
            _rjem_mallctl(b"stats.allocated\0".as_ptr() as *const c_char, &mut bytes as *mut usize as *mut c_void, &mut n,
                          std::ptr::null(), 0);
        }
        bytes as u64
    }
}

#[cfg(system)]
mod inner {
    use super::*;
    use std::alloc::System;

    pub unsafe fn alloc(l: Layout) -> *mut u8 { System.alloc(l) }
    pub unsafe fn alloc_zeroed(l: Layout) -> *mut u8 { System.alloc_zeroed(l) }
    pub unsafe fn dealloc(p: *mut u8, l: Layout) { System.dealloc(p, l) }
    pub unsafe fn realloc(p: *mut u8, l: Layout, n: usize) -> *mut u8 { System.realloc(p, l, n) }
    pub fn room(_: Layout) -> u64 { 0 }
    pub fn allocated() -> u64 { 0 }
}

#[cfg(mimalloc)]
mod inner {
    use super::*;
    use std::ffi::c_void;

    extern "C" {
        fn mi_malloc_aligned(n: usize, align: usize) -> *mut c_void;
        fn mi_zalloc_aligned(n: usize, align: usize) -> *mut c_void;
        fn mi_realloc_aligned(p: *mut c_void, n: usize, align: usize) -> *mut c_void;
        fn mi_free_size_aligned(p: *mut c_void, n: usize, align: usize);
    }

    pub unsafe fn alloc(l: Layout) -> *mut u8 { mi_malloc_aligned(l.size(), l.align()) as *mut u8 }
    pub unsafe fn alloc_zeroed(l: Layout) -> *mut u8 { mi_zalloc_aligned(l.size(), l.align()) as *mut u8 }
    pub unsafe fn dealloc(p: *mut u8, l: Layout) { mi_free_size_aligned(p as *mut c_void, l.size(), l.align()) }
    pub unsafe fn realloc(p: *mut u8, l: Layout, n: usize) -> *mut u8 {
        mi_realloc_aligned(p as *mut c_void, n, l.align()) as *mut u8
    }
    pub fn room(_: Layout) -> u64 { 0 }
    pub fn allocated() -> u64 { 0 }
}

unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        count_alloc(l);
        inner::alloc(l)
    }

    unsafe fn alloc_zeroed(&self, l: Layout) -> *mut u8 {
        count_alloc(l);
        inner::alloc_zeroed(l)
    }

    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        count_free(l);
        inner::dealloc(p, l)
    }

    unsafe fn realloc(&self, p: *mut u8, l: Layout, n: usize) -> *mut u8 {
        count_free(l);
        count_alloc(Layout::from_size_align_unchecked(n, l.align()));
        REALLOCATIONS.fetch_add(1, Relaxed);
        inner::realloc(p, l, n)
    }
}

#[global_allocator]
static GLOBAL: Counted = Counted;

#[allow(dead_code)]
#[repr(align(64))]
struct Wide([u8; 192]);

fn work(n: u64, seed: u64, to: mpsc::Sender<Vec<u8>>) -> (HashMap<u64, String>, BTreeMap<u64, Box<Wide>>) {
    let (mut names, mut wide, mut random) = (HashMap::new(), BTreeMap::new(), seed);
    for i in 0..n {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        match random % 8 {
            0..=3 => { names.insert(random >> 8 & 0xfff, "x".repeat((random >> 20 & 255) as usize + 1)); }
            4 => { names.remove(&(random >> 8 & 0xfff)); }
            5 => { wide.insert(random >> 8 & 255, Box::new(Wide([i as u8; 192]))); }
            6 => { wide.remove(&(random >> 8 & 255)); }
            _ => {
                let mut v = Vec::new();
                v.extend((0..random >> 20 & 63).map(|x| x as u8));
                v.extend_from_slice(&vec![0; (random >> 30 & 255) as usize]);
                to.send(v).unwrap();
            }
        }
    }
    (names, wide)
}

extern "C" {
    fn _exit(status: i32) -> !;
    fn write(fd: i32, p: *const u8, n: usize) -> isize;
}

fn say(name: &str, value: u64) {
    let (mut text, mut at, mut rest) = ([0u8; 64], 64, value);
    text[63] = b'\n';
    at -= 1;
    loop {
        at -= 1;
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    at -= 1 + name.len();
    text[at..at + name.len()].copy_from_slice(name.as_bytes());
    text[at + name.len()] = b' ';
    unsafe { write(1, text[at..].as_ptr(), 64 - at) };
}

fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let (n, n_threads) = (arguments[0], arguments[1]);
    let (to, from) = mpsc::channel();
    // Whoever waits for a message makes libc allocate, once: now, since it is chance whether this thread waits later.
    for _ in 0..3 {
        let _ = from.recv_timeout(std::time::Duration::from_millis(100));
    }
    let threads: Vec<_> = (0..n_threads)
        .map(|i| {
            let to = to.clone();
            std::thread::spawn(move || work(n / n_threads, 0x9e3779b97f4a7c15 * (i + 1), to))
        })
        .collect();
    drop(to);
    let sum: u64 = from.iter().map(|v: Vec<u8>| v.iter().map(|x| *x as u64).sum::<u64>()).sum();
    let kept: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    let names: usize = kept.iter().map(|k| k.0.len() + k.1.len()).sum();
    say("allocated", inner::allocated());
    say("allocations", ALLOCATIONS.load(Relaxed));
    say("frees", FREES.load(Relaxed));
    say("reallocations", REALLOCATIONS.load(Relaxed));
    say("bytes_allocated", BYTES.load(Relaxed));
    say("end_live_bytes", LIVE_BYTES.load(Relaxed));
    say("room", LIVE_ROOM.load(Relaxed));
    say("sum", sum);
    say("names", names as u64);
    unsafe { _exit(0) }
}
