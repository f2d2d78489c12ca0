// SPDX-License-Identifier: MIT
//! include/silt/silt.h from Rust, without a crate: the functions are asked for once by name. docs/pools.md.
//!     arena [REQUESTS]

mod silt {
    use std::ffi::{c_void, CString};
    use std::os::raw::c_char;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    const NOT_ASKED: usize = 0;
    const NOT_THERE: usize = 1;

    extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    /// None without silt.
    macro_rules! function {
        ($name:literal, $type:ty) => {{
            // The answer is the same whoever asks: no more order is needed.
            static FOUND: AtomicUsize = AtomicUsize::new(NOT_ASKED);
            let mut f = FOUND.load(Relaxed);
            if f == NOT_ASKED {
                // SAFETY: the name is NUL-terminated.
                f = unsafe { dlsym(std::ptr::null_mut(), concat!($name, "\0").as_ptr().cast()) } as usize;
                f = f.max(NOT_THERE);
                FOUND.store(f, Relaxed);
            }
            // SAFETY: silt.h says what the function takes.
            (f != NOT_THERE).then(|| unsafe { std::mem::transmute::<usize, $type>(f) })
        }};
    }

    /// A pool hands out a block.
    #[inline(always)]
    pub fn alloc(address: *const u8, size_bytes: usize) {
        if let Some(f) = function!("silt_api_alloc", unsafe extern "C" fn(*const u8, usize)) {
            unsafe { f(address, size_bytes) }
        }
    }

    /// A pool lets go of every block that begins in the range.
    pub fn free_range(begin: *const u8, end: *const u8) {
        if let Some(f) = function!("silt_api_free_range", unsafe extern "C" fn(*const u8, *const u8)) {
            unsafe { f(begin, end) }
        }
    }

    /// A moment, for the timeline.
    pub fn mark(text: &str) {
        if let (Some(f), Ok(text)) = (function!("silt_api_mark", unsafe extern "C" fn(*const c_char)), CString::new(text)) {
            unsafe { f(text.as_ptr()) }
        }
    }
}

struct Arena {
    memory: Box<[u8]>,
    used: usize,
}

impl Arena {
    fn new(size_bytes: usize) -> Arena {
        Arena { memory: vec![0; size_bytes].into_boxed_slice(), used: 0 }
    }

    #[inline(never)]
    fn take(&mut self, size_bytes: usize) -> &mut [u8] {
        let at = self.used;
        self.used += (size_bytes + 15) / 16 * 16;
        let block = &mut self.memory[at..at + size_bytes];
        silt::alloc(block.as_ptr(), block.len());
        block
    }

    fn reset(&mut self) {
        let memory = self.memory.as_ptr_range();
        silt::free_range(memory.start, memory.end);
        self.used = 0;
    }
}

#[inline(never)]
fn serve(arena: &mut Arena, request: usize) -> usize {
    (0..100).map(|i| { let block = arena.take(40); block[0] = (request + i) as u8; block.len() }).sum()
}

fn main() {
    let n_requests: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut arena = Arena::new(64 * 1024);
    let mut n = 0;

    for i in 0..n_requests {
        n += serve(&mut arena, i);
        if i + 1 < n_requests {
            arena.reset();
        }
        if i == n_requests / 10 {
            silt::mark("warm-up done");
        }
    }
    println!("{n} bytes");
}
