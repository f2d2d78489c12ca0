// SPDX-License-Identifier: MIT
//! Vec and String of Rust that grow, and boxes dropped in another thread; moves.py knows by how much.

fn keep<T>(value: &T) {
    unsafe { std::arch::asm!("/* {0} */", in(reg) value) };
}

/// Capacities 4, 8 .. 1,024 of eight bytes: eight steps.
#[inline(never)]
fn vec_of_u64() {
    let mut v: Vec<u64> = Vec::new();
    for i in 0..1000 {
        v.push(i);
        keep(&v);
    }
}

/// Capacities 8, 16 .. 1,024: seven steps.
#[inline(never)]
fn string_of_chars() {
    let mut s = String::new();
    for _ in 0..1000 {
        s.push('x');
        keep(&s);
    }
}

#[inline(never)]
fn boxes() -> Vec<Box<[u8; 40]>> {
    let mut v = Vec::with_capacity(50);
    for _ in 0..50 {
        v.push(Box::new([1u8; 40]));
    }
    keep(&v);
    v
}

fn main() {
    vec_of_u64();
    string_of_chars();
    let v = boxes();
    std::thread::spawn(move || drop(v)).join().unwrap();
}
