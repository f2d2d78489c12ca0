// SPDX-License-Identifier: MIT
//! Buffers of Rust that grow: vector (push), text (push_str), exact (reserve_exact of a little more each time). Not growing: reserved
//! (with_capacity).
#[path = "shape.rs"]
mod shape;
use shape::{black_box, relay, tell, tell_text, Shape};

#[derive(Default)]
struct Growths {
    copied: usize,
    n: usize,
}

impl Growths {
    fn note(&mut self, before: usize, after: usize) {
        if before > 0 && after != before {
            self.copied += before;
            self.n += 1;
        }
    }
}

#[inline(never)]
fn collect_samples(last: usize, growths: &mut Growths) {
    let mut samples: Vec<u8> = Vec::new();
    while samples.len() < last {
        let before = samples.capacity();
        samples.push(1);
        growths.note(before, samples.capacity());
    }
    black_box(&samples);
}

#[inline(never)]
fn render_page(last: usize, growths: &mut Growths) {
    let mut page = String::new();
    while page.len() < last {
        let before = page.capacity();
        page.push_str("<tr><td>");
        growths.note(before, page.capacity());
    }
    black_box(&page);
}

#[inline(never)]
fn extend_exactly(last: usize, step: usize, growths: &mut Growths) {
    let mut frame: Vec<u8> = Vec::with_capacity(step);
    while frame.len() < last {
        let before = frame.capacity();
        frame.reserve_exact(step);
        growths.note(before, frame.capacity());
        frame.resize(frame.len() + step, 0);
    }
    black_box(&frame);
}

#[inline(never)]
fn collect_reserved(last: usize) {
    let mut samples: Vec<u8> = Vec::with_capacity(last);
    while samples.len() < last {
        samples.push(1);
    }
    black_box(&samples);
}

fn main() {
    let mut s = Shape::start();
    let (last, grow_bytes, depth) = (s.param("last"), s.param("grow_bytes"), s.param("depth"));
    let mut growths = Growths::default();
    for i in 0..s.steps {
        s.step(i);
        relay(depth, &mut || match s.name.as_str() {
            "vector" => collect_samples(last, &mut growths),
            "text" => render_page(last, &mut growths),
            "exact" => extend_exactly(last, grow_bytes, &mut growths),
            "reserved" => collect_reserved(last),
            _ => std::process::exit(96),
        });
    }
    tell_text("culprit", match s.name.as_str() {
        "vector" => "collect_samples",
        "text" => "render_page",
        _ => "extend_exactly",
    });
    tell("copied", growths.copied);
    tell("growths", growths.n);
    s.end();
}
