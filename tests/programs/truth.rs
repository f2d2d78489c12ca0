// SPDX-License-Identifier: MIT
//! A global allocator that counts by silt's own rules what the Rust side of a program asks for, so
//! that the program can state its truth whatever the standard library's version allocates inside.
//! It passes everything on to libc's malloc. Not seen here: what libc allocates by itself (a
//! thread's TLS table), which the baseline run has as well.
#![allow(dead_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

pub static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
pub static FREES: AtomicUsize = AtomicUsize::new(0);
pub static REALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
pub static BYTES: AtomicUsize = AtomicUsize::new(0);
pub static TEMPORARY: AtomicUsize = AtomicUsize::new(0);
pub static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
pub static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0); // exact with one thread
pub static LIVE_BLOCKS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LAST: Cell<usize> = const { Cell::new(0) };
}

pub struct Counting;

fn note_allocation(block: *mut u8, size: usize) {
    ALLOCATIONS.fetch_add(1, SeqCst);
    BYTES.fetch_add(size, SeqCst);
    let live = LIVE_BYTES.fetch_add(size, SeqCst) + size;
    PEAK_BYTES.fetch_max(live, SeqCst);
    LIVE_BLOCKS.fetch_add(1, SeqCst);
    LAST.with(|last| last.set(block as usize));
}

fn note_release(block: *mut u8, size: usize) {
    FREES.fetch_add(1, SeqCst);
    LIVE_BYTES.fetch_sub(size, SeqCst);
    LIVE_BLOCKS.fetch_sub(1, SeqCst);
    if LAST.with(|last| last.get()) == block as usize {
        TEMPORARY.fetch_add(1, SeqCst);
        LAST.with(|last| last.set(0));
    }
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = System.alloc(layout);
        note_allocation(block, layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = System.alloc_zeroed(layout);
        note_allocation(block, layout.size());
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note_release(block, layout.size());
        System.dealloc(block, layout)
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note_release(block, layout.size());
        let moved = System.realloc(block, layout, new_size);
        note_allocation(moved, new_size);
        REALLOCATIONS.fetch_add(1, SeqCst);
        moved
    }
}

extern "C" {
    fn write(fd: i32, data: *const u8, size: usize) -> isize;
    fn getenv(name: *const u8) -> *const u8;
}

/// The runner sets TRUTH_BASELINE in the baseline run: looking at arguments would allocate.
pub fn is_baseline() -> bool {
    unsafe { !getenv(b"TRUTH_BASELINE\0".as_ptr()).is_null() }
}

/// Writes "name value\n" without allocating.
pub fn say(name: &str, mut value: usize) {
    let mut line = [0u8; 96];
    let mut at = line.len() - 1;
    line[at] = b'\n';
    loop {
        at -= 1;
        line[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    at -= 1;
    line[at] = b' ';
    at -= name.len();
    line[at..at + name.len()].copy_from_slice(name.as_bytes());
    let n = line.len() - at;
    if unsafe { write(1, line[at..].as_ptr(), n) } != n as isize {
        std::process::abort();
    }
}

/// Tells all counters; `live_*` are at this moment.
pub fn say_counters() {
    say("own_allocations", ALLOCATIONS.load(SeqCst));
    say("own_frees", FREES.load(SeqCst));
    say("own_reallocations", REALLOCATIONS.load(SeqCst));
    say("own_bytes", BYTES.load(SeqCst));
    say("own_temporary", TEMPORARY.load(SeqCst));
    say("own_peak_bytes", PEAK_BYTES.load(SeqCst));
    say("own_live_bytes", LIVE_BYTES.load(SeqCst));
    say("own_live_blocks", LIVE_BLOCKS.load(SeqCst));
}
