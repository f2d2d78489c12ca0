// SPDX-License-Identifier: MIT
//! The store on the C library's malloc, which Rust calls System.
use std::alloc::System;

#[global_allocator]
static GLOBAL: store::Counted<System> = store::Counted(System);

fn main() {
    store::serve(|| 0);
}
