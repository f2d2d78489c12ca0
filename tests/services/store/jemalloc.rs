// SPDX-License-Identifier: MIT
//! The store on tikv-jemallocator.
use tikv_jemalloc_ctl::{epoch, raw, stats};
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static GLOBAL: store::Counted<Jemalloc> = store::Counted(Jemalloc);

/// Of all arenas; blocks that threads keep for later are among those that jemalloc calls allocated.
const CACHED: &[u8] = b"stats.arenas.4096.tcache_bytes\0";

fn main() {
    store::serve(|| {
        epoch::advance().unwrap();
        let cached: usize = unsafe { raw::read(CACHED).unwrap() };
        (stats::allocated::read().unwrap() - cached) as u64
    });
}
