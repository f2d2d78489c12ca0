// SPDX-License-Identifier: MIT
//! Growth of Rust's Vec, String and Box, with the figures known from their documented growth;
//! everything Rust's runtime allocates before main is in the baseline.
//!
//! - Vec<u64>, 1,000 pushes: capacities 4, 8 .. 1,024: 9 allocations, 8 of them reallocations, 8 *
//!   2,044 = 16,352 bytes; each buffer is the last allocation when it goes: 9 temporary.
//! - Vec<u8>::with_capacity(100), shrink_to_fit at 10 elements: 2 allocations, 1 of them a
//!   reallocation, 110 bytes, 2 temporary.
//! - String from "silt" (4 bytes), push_str of 60 characters: grows to 64: 2 allocations, 1 of them
//! a
//!   reallocation, 68 bytes, 2 temporary.
//! - 100 boxes of [u8; 33] in a vector of capacity 100 (800 bytes), dropped in order, vector last:
//!   101 allocations, 4,100 bytes; the last box is temporary: 1.
//! - vec![0u64; 1000] by calloc: 8,000 bytes, dropped: temporary; a leaked box of 24.
//!
//! allocations 9 + 2 + 2 + 101 + 1 + 1 = 116   frees 115   reallocations 10
//! bytes 16,352 + 110 + 68 + 4,100 + 8,000 + 24 = 28,654   temporary 9 + 2 + 2 + 1 + 1 = 15
//!
//! A vector of 1 MiB stands all the while, in the baseline too (where it is temporary: one less
//! here), so both peaks are in main: +8,192 while the first vector is whole (a reallocation
//! releases first), in +1 block. End +24 in +1.
extern "C" {
    fn getenv(name: *const u8) -> *const u8;
}

fn keep<T>(value: &T) {
    unsafe { std::arch::asm!("/* {0} */", in(reg) value) };
}

fn grow() {
    let mut numbers: Vec<u64> = Vec::new();
    for i in 0..1000 {
        numbers.push(i);
        keep(&numbers);
    }
    drop(numbers);

    let mut bytes: Vec<u8> = Vec::with_capacity(100);
    bytes.extend_from_slice(&[7; 10]);
    keep(&bytes);
    bytes.shrink_to_fit();
    keep(&bytes);
    drop(bytes);

    let mut text = String::from("silt");
    keep(&text);
    text.push_str("012345678901234567890123456789012345678901234567890123456789");
    keep(&text);
    drop(text);

    let mut boxes: Vec<Box<[u8; 33]>> = Vec::with_capacity(100);
    for _ in 0..100 {
        boxes.push(Box::new([1; 33]));
    }
    keep(&boxes);
    drop(boxes);

    let zeroed = vec![0u64; 1000];
    keep(&zeroed);
    drop(zeroed);
    keep(&Box::leak(Box::new([0u64; 3])));
}

fn main() {
    let marker: Vec<u8> = Vec::with_capacity(1 << 20);
    if unsafe { getenv(b"TRUTH_BASELINE\0".as_ptr()) }.is_null() {
        grow();
    }
    keep(&marker);
}
