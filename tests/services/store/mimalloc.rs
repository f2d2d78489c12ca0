// SPDX-License-Identifier: MIT
//! The store on mimalloc, which keeps no statistics of its own unless it is built for debugging.
use mimalloc::MiMalloc;

#[global_allocator]
static GLOBAL: store::Counted<MiMalloc> = store::Counted(MiMalloc);

fn main() {
    store::serve(|| 0);
}
