// SPDX-License-Identifier: MIT
// The same with a jemalloc of its own as the global allocator, called as the usual crate calls it.
use std::alloc::{GlobalAlloc, Layout};
use std::os::raw::{c_int, c_void};

include!("threads.rs");

extern "C" {
    fn _rjem_malloc(n: usize) -> *mut c_void;
    fn _rjem_calloc(a: usize, b: usize) -> *mut c_void;
    fn _rjem_realloc(p: *mut c_void, n: usize) -> *mut c_void;
    fn _rjem_mallocx(n: usize, flags: c_int) -> *mut c_void;
    fn _rjem_rallocx(p: *mut c_void, n: usize, flags: c_int) -> *mut c_void;
    fn _rjem_sdallocx(p: *mut c_void, n: usize, flags: c_int);
}

struct Jemalloc;

fn flags(align: usize, n: usize) -> c_int {
    if align <= 16 && align <= n { 0 } else { align.trailing_zeros() as c_int }
}

unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        match flags(l.align(), l.size()) {
            0 => _rjem_malloc(l.size()) as *mut u8,
            f => _rjem_mallocx(l.size(), f) as *mut u8,
        }
    }

    unsafe fn alloc_zeroed(&self, l: Layout) -> *mut u8 {
        match flags(l.align(), l.size()) {
            0 => _rjem_calloc(1, l.size()) as *mut u8,
            f => _rjem_mallocx(l.size(), f | 64) as *mut u8,
        }
    }

    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        _rjem_sdallocx(p as *mut c_void, l.size(), flags(l.align(), l.size()))
    }

    unsafe fn realloc(&self, p: *mut u8, l: Layout, n: usize) -> *mut u8 {
        match flags(l.align(), n) {
            0 => _rjem_realloc(p as *mut c_void, n) as *mut u8,
            f => _rjem_rallocx(p as *mut c_void, n, f) as *mut u8,
        }
    }
}

#[global_allocator]
static GLOBAL: Jemalloc = Jemalloc;
