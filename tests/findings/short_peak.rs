// SPDX-License-Identifier: MIT
//! A spike in Rust: collected (everything in a Vec of Vecs), sorted (a copy of one large Vec). No spike: kept (the same, kept to the end).
#[path = "shape.rs"]
mod shape;
use shape::{relay, tell, tell_text, Shape};

#[inline(never)]
fn gather_pages(n: usize, size: usize) -> Vec<Vec<u8>> {
    let mut pages = Vec::with_capacity(n);
    for _ in 0..n {
        pages.push(vec![1; size]);
    }
    pages
}

#[inline(never)]
fn sorted_copy(size: usize) -> Vec<u8> {
    vec![2; size]
}

fn main() {
    let mut s = Shape::start();
    let (spike, block, depth) = (s.param("spike_bytes"), s.param("block_bytes"), s.param("depth"));
    let from = s.steps * s.param("from_pct") / 100;
    let to = from + 1 + s.steps * s.param("length_pct") / 100;
    let mut base: Vec<Vec<u8>> = Vec::new();
    let mut left = s.param("base_bytes") as isize;
    while left > 0 {
        let size = s.chance.between(256, 6000);
        base.push(vec![0; size]);
        left -= size as isize;
    }
    let mut held: Vec<Vec<u8>> = Vec::new();
    for i in 0..s.steps {
        s.step(i);
        let at = s.chance.below(base.len());
        base[at] = vec![0; s.chance.between(256, 6000)];
        if i == from {
            relay(depth, &mut || {
                held = match s.name.as_str() {
                    "collected" | "kept" => gather_pages(spike / block, block),
                    "sorted" => vec![sorted_copy(spike)],
                    _ => std::process::exit(96),
                }
            });
        }
        if i == to && s.name != "kept" {
            held = Vec::new();
        }
    }
    drop((held, base));
    tell_text("culprit", if s.name == "sorted" { "sorted_copy" } else { "gather_pages" });
    let vec_bytes = std::mem::size_of::<Vec<u8>>();
    tell("spike_bytes", if s.name == "sorted" { spike } else { spike / block * (block + vec_bytes) });
    tell("spike_blocks", if s.name == "sorted" { 1 } else { spike / block + 1 });
    s.end();
}
