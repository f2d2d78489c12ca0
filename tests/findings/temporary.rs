// SPDX-License-Identifier: MIT
//! Temporaries of Rust: keys (a string made to look something up), collected (a vector made to take its length). Not temporary:
//! queued (the same strings in a queue).
#[path = "shape.rs"]
mod shape;
use shape::{black_box, relay, tell, tell_text, Shape};
use std::collections::VecDeque;

#[inline(never)]
fn key_of(size: usize) -> usize {
    black_box("k".repeat(size)).len()
}

#[inline(never)]
fn count_matching(numbers: &[u32]) -> usize {
    black_box(numbers.to_vec()).len()
}

fn main() {
    let mut s = Shape::start();
    let (size, per_step, depth) = (s.param("size"), s.param("per_step"), s.param("depth"));
    let numbers: Vec<u32> = (0..size as u32).collect();
    let mut queue: VecDeque<String> = VecDeque::with_capacity(33);
    let mut n = 0;
    for i in 0..s.steps {
        s.step(i);
        relay(depth, &mut || {
            for _ in 0..per_step {
                match s.name.as_str() {
                    "keys" => n += (key_of(size) > 0) as usize,
                    "collected" => n += (count_matching(&numbers) > 0) as usize,
                    "queued" => {
                        queue.push_back("q".repeat(size));
                        if queue.len() > 32 {
                            queue.pop_front();
                        }
                    }
                    _ => std::process::exit(96),
                }
            }
        });
    }
    tell_text("culprit", if s.name == "keys" { "key_of" } else { "count_matching" });
    tell("temporary", n);
    s.end();
}
