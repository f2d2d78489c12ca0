// SPDX-License-Identifier: MIT
//! Memory that Rust programs lose: cycles (Rc that hold each other), leaked (Box::leak for a name that is needed once), raw (a pointer
//! given to foreign code and never taken back). Not lost: weak (the same with Weak), interned (names made at the start).
#[path = "shape.rs"]
mod shape;
use shape::{black_box, relay, tell, tell_text, Shape};
use std::cell::RefCell;
use std::rc::{Rc, Weak};

struct Node {
    payload: Vec<u8>,
    strong: RefCell<Option<Rc<Node>>>,
    weak: RefCell<Option<Weak<Node>>>,
}

impl Node {
    #[inline(never)]
    fn link(size: usize, is_cycle: bool) -> usize {
        let node = Rc::new(Node { payload: vec![1; size], strong: RefCell::new(None), weak: RefCell::new(None) });
        let beside = vec![2u8; 30];
        black_box(&beside);
        if is_cycle {
            *node.strong.borrow_mut() = Some(node.clone());
            return node.payload.len();
        }
        *node.weak.borrow_mut() = Some(Rc::downgrade(&node));
        0
    }
}

#[inline(never)]
fn intern_name(size: usize, is_lost: bool) -> usize {
    let name = black_box("n".repeat(size)).into_boxed_str();
    let beside = vec![3u8; 50];
    black_box(&beside);
    if is_lost {
        return Box::leak(name).len();
    }
    0
}

#[inline(never)]
fn hand_over(size: usize, is_lost: bool) -> usize {
    let given = Box::into_raw(vec![0u8; size].into_boxed_slice());
    let beside = vec![4u8; 70];
    black_box(&beside);
    if is_lost {
        return size;
    }
    drop(unsafe { Box::from_raw(given) });
    0
}

fn main() {
    let mut s = Shape::start();
    let (size, per_step, one_in, depth) = (s.param("size"), s.param("per_step"), s.param("one_in"), s.param("depth"));
    let (mut bytes, mut blocks) = (0, 0);
    // a cycle keeps its node as well: two counts and the node
    let beside = if s.name == "cycles" { 2 * std::mem::size_of::<usize>() + std::mem::size_of::<Node>() } else { 0 };
    if s.name == "interned" {
        for _ in 0..s.param("slots") {
            intern_name(size, true);
        }
    }
    for i in 0..s.steps {
        s.step(i);
        relay(depth, &mut || {
            for _ in 0..per_step {
                let is_lost = s.chance.below(one_in) == 0;
                let gone = match s.name.as_str() {
                    "cycles" => Node::link(size, is_lost),
                    "leaked" => intern_name(size, is_lost),
                    "raw" => hand_over(size, is_lost),
                    "weak" => Node::link(size, false),
                    "interned" => intern_name(size, false),
                    _ => std::process::exit(96),
                };
                bytes += if gone > 0 { gone + beside } else { 0 };
                blocks += if gone == 0 { 0 } else { 1 + (beside > 0) as usize };
            }
        });
    }
    let culprit = match s.name.as_str() {
        "cycles" => "Node::link",
        "leaked" => "intern_name",
        "raw" => "hand_over",
        _ => "",
    };
    if !culprit.is_empty() {
        tell_text("culprit", culprit);
        tell("bytes", bytes);
        tell("blocks", blocks);
    }
    s.end();
}
