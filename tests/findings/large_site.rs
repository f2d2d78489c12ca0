// SPDX-License-Identifier: MIT
//! Large state per client in Rust: state (a buffer of fixed size in every state), boxed (the array itself in a box). Not large per
//! unit: grown (every client has as much as it needs).
#[path = "shape.rs"]
mod shape;
use shape::{black_box, tell, tell_text, Shape};

struct MqttState {
    buffer: Vec<u8>,
}

impl MqttState {
    #[inline(never)]
    fn new(size: usize) -> MqttState {
        MqttState { buffer: vec![0; size] }
    }
}

struct Frame([u8; 96 * 1024]);

#[inline(never)]
fn decode_frame() -> Box<Frame> {
    Box::new(black_box(Frame([1; 96 * 1024])))
}

fn main() {
    let mut s = Shape::start();
    let (n_units, unit_bytes) = (s.param("units"), s.param("unit_bytes"));
    let up_steps = s.steps * s.param("up_pct") / 100 + 1;
    let mut states = Vec::with_capacity(n_units);
    let mut frames = Vec::with_capacity(n_units);
    let mut n = 0;
    for i in 0..s.steps {
        s.step(i);
        while n < n_units && n <= n_units * i / up_steps {
            match s.name.as_str() {
                "state" => states.push(MqttState::new(unit_bytes)),
                "boxed" => frames.push(decode_frame()),
                "grown" => states.push(MqttState::new(s.chance.between(unit_bytes / 50, unit_bytes * 2))),
                _ => std::process::exit(96),
            }
            n += 1;
        }
    }
    tell_text("culprit", if s.name == "boxed" { "decode_frame" } else { "MqttState::new" });
    tell("unit_bytes", if s.name == "boxed" { std::mem::size_of::<Frame>() } else { unit_bytes });
    tell("alive", n_units);
    black_box(states.iter().map(|x| x.buffer.len()).sum::<usize>() + frames.iter().map(|f| f.0[7] as usize).sum::<usize>());
    drop((states, frames));
    s.end();
}
