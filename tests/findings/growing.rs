// SPDX-License-Identifier: MIT
//! Memory that rises in Rust: boxes (a Vec of boxed states), cache (a HashMap of strings without bound), tasks (finished futures
//! that nobody takes out of their set), channel (messages sent faster than they are received).
#[path = "shape.rs"]
mod shape;
use shape::{black_box, relay, Growth, Shape};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{channel, Receiver, Sender};

struct Handler {
    states: Vec<Box<[u8]>>,
}

impl Handler {
    #[inline(never)]
    fn accept(&mut self, size: usize) {
        self.states.push(vec![1u8; size].into_boxed_slice());
    }
}

struct Cache {
    pages: HashMap<usize, String>,
}

impl Cache {
    #[inline(never)]
    fn insert(&mut self, key: usize, size: usize) {
        self.pages.insert(key, "x".repeat(size));
    }
}

async fn answer<const N: usize>(request: usize) -> usize {
    let state = black_box([request as u8; N]);
    std::future::ready(()).await;
    black_box(&state)[request % N] as usize
}

struct TaskSet {
    tasks: Vec<Pin<Box<dyn Future<Output = usize>>>>,
}

impl TaskSet {
    #[inline(never)]
    fn spawn(&mut self, future: impl Future<Output = usize> + 'static) {
        self.tasks.push(Box::pin(future));
    }
}

struct Feed {
    sender: Sender<Vec<u8>>,
    receiver: Receiver<Vec<u8>>,
}

impl Feed {
    #[inline(never)]
    fn publish(&self, size: usize) {
        self.sender.send(vec![7u8; size]).unwrap();
    }
}

fn main() {
    let mut s = Shape::start();
    let (size, per_step, depth) = (s.param("size"), s.param("per_step"), s.param("depth"));
    let warm_steps = s.steps * s.param("warm_pct") / 100;
    let most = s.steps * per_step;
    let mut growth = Growth::default();
    let mut handler = Handler { states: Vec::with_capacity(most) };
    let mut cache = Cache { pages: HashMap::with_capacity(most) };
    let mut set = TaskSet { tasks: Vec::with_capacity(most) };
    let (sender, receiver) = channel();
    let feed = Feed { sender, receiver };
    let task_bytes = std::mem::size_of_val(&answer::<700>(1));
    let mut n = 0;

    for i in 0..s.steps {
        s.step(i);
        if i < warm_steps {
            continue;
        }
        relay(depth, &mut || {
            for _ in 0..per_step {
                n += 1;
                match s.name.as_str() {
                    "boxes" => handler.accept(size),
                    "cache" => cache.insert(n, size),
                    "tasks" => set.spawn(answer::<700>(n)),
                    "channel" => {
                        for _ in 0..black_box(2) {
                            feed.publish(size);
                        }
                        drop(feed.receiver.recv());
                    }
                    _ => std::process::exit(96),
                }
                growth.beside += if s.name == "channel" { 60 } else { 0 }; // its slots come in blocks
                growth.add(s.seconds(), if s.name == "tasks" { task_bytes } else { size }, 1);
            }
        });
    }
    growth.tell(match s.name.as_str() {
        "boxes" => "Handler::accept",
        "cache" => "Cache::insert",
        "tasks" => "TaskSet::spawn",
        _ => "Feed::publish",
    });
    if s.param("torn_down") == 0 {
        std::mem::forget((handler, cache, set, feed));
    } else {
        drop((handler, cache, set, feed));
    }
    s.end();
}
