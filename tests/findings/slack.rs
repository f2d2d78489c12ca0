// SPDX-License-Identifier: MIT
//! Room of Rust's containers: capacity (Vec::with_capacity of which little is used), zeroed (vec![0; n], of which little is written).
//! Used: written (all of it).
#[path = "shape.rs"]
mod shape;
use shape::{tell, tell_text, Shape};

#[inline(never)]
fn open_window(size: usize) -> Vec<u8> {
    Vec::with_capacity(size)
}

#[inline(never)]
fn blank_image(size: usize) -> Vec<u8> {
    vec![0; size]
}

fn main() {
    let mut s = Shape::start();
    let (n, size) = (s.param("buffers"), s.param("buffer_bytes"));
    let used = if s.name == "written" { size } else { size / 100 * s.param("touched_pct") };
    let mut all = Vec::with_capacity(n);
    for _ in 0..n {
        let mut buffer = match s.name.as_str() {
            "capacity" | "written" => open_window(size),
            "zeroed" => blank_image(size),
            _ => std::process::exit(96),
        };
        if s.name == "zeroed" {
            buffer[..used].fill(1);
        } else {
            buffer.resize(used, 1);
        }
        all.push(buffer);
    }
    for i in 0..s.steps {
        s.step(i);
    }
    tell_text("culprit", if s.name == "zeroed" { "blank_image" } else { "open_window" });
    tell("asked", n * size);
    tell("untouched", n * ((size - used) / 4096 * 4096));
    drop(all);
    s.end();
}
