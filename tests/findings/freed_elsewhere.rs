// SPDX-License-Identifier: MIT
//! Ownership that goes from thread to thread in Rust: channel (vectors sent to a worker), spawned (each thread gets its own input).
//! It stays in: scoped (threads only borrow).
#[path = "shape.rs"]
mod shape;
use shape::{black_box, relay, tell, tell_text, Shape};
use std::sync::mpsc::{sync_channel, TryRecvError};
use std::thread;
use std::time::Duration;

#[inline(never)]
fn read_packet(size: usize) -> Vec<u8> {
    vec![1; size]
}

fn main() {
    let mut s = Shape::start();
    let (size, per_step, depth) = (s.param("size"), s.param("per_step"), s.param("depth"));
    let mut n = 0;
    match s.name.as_str() {
        "channel" => {
            // who has to wait in a channel allocates, as often as the machine is busy: nobody has to
            let (sender, receiver) = sync_channel::<Vec<u8>>(s.steps * per_step);
            let worker = thread::spawn(move || {
                let mut n_bytes = 0;
                loop {
                    match receiver.try_recv() {
                        Ok(packet) => n_bytes += packet.len(),
                        Err(TryRecvError::Empty) => thread::sleep(Duration::from_micros(200)),
                        Err(TryRecvError::Disconnected) => return n_bytes,
                    }
                }
            });
            for i in 0..s.steps {
                s.step(i);
                relay(depth, &mut || {
                    for _ in 0..per_step {
                        sender.send(read_packet(size)).unwrap();
                        n += 1;
                    }
                });
            }
            drop(sender);
            assert!(worker.join().unwrap() == n * size);
        }
        "spawned" => {
            for i in 0..s.steps {
                s.step(i);
                let packets: Vec<Vec<u8>> = (0..200).map(|_| read_packet(size)).collect();
                n += 200;
                thread::spawn(move || drop(black_box(packets))).join().unwrap();
            }
        }
        "scoped" => {
            for i in 0..s.steps {
                s.step(i);
                let packets: Vec<Vec<u8>> = (0..200).map(|_| read_packet(size)).collect();
                thread::scope(|scope| {
                    scope.spawn(|| black_box(packets.len()));
                });
            }
        }
        _ => std::process::exit(96),
    }
    tell_text("culprit", "read_packet");
    tell("blocks", n);
    tell("elsewhere", n);
    s.end();
}
