// SPDX-License-Identifier: MIT
//! Panics caught: 500 of them through up to 40 frames that own boxes, each with a vector as
//! payload. Counted by the program's own allocator (truth.rs); the panic hook is silent and
//! allocates nothing. A large vector stands all the while, in the baseline too, so that both peaks
//! are in main.
#[path = "truth.rs"]
mod truth;
use std::panic;

#[global_allocator]
static COUNTING: truth::Counting = truth::Counting;

#[inline(never)]
fn down(levels: usize) -> usize {
    let owned = Box::new([levels; 4]);
    if levels == 0 {
        panic::panic_any(vec![1u8; 100]);
    }
    let below = down(levels - 1);
    owned[0] + below
}

fn main() {
    let marker: Vec<u8> = Vec::with_capacity(256 << 20);
    panic::set_hook(Box::new(|_| {}));
    if !truth::is_baseline() {
        for i in 0..500 {
            let payload = panic::catch_unwind(|| down(i % 40)).unwrap_err();
            assert!(payload.downcast::<Vec<u8>>().unwrap().len() == 100);
        }
    }
    drop(marker);
    truth::say_counters();
}
