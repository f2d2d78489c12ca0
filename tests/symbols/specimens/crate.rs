// SPDX-License-Identifier: MIT
// Rust for the names test: generics, closures, traits, methods of enums, nested modules and functions, boxed futures,
// iterator chains, panics that are caught. Built in many ways, never judged by what it prints.
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::Future;
use std::pin::Pin;

mod shapes {
    pub trait Area {
        fn area(&self) -> f64;
        fn scaled(&self, by: f64) -> f64 {
            self.area() * by
        }
    }

    pub enum Shape {
        Square(f64),
        Circle { radius: f64 },
        Many(Vec<Shape>),
    }

    impl Shape {
        #[inline(never)]
        pub fn parse(text: &str) -> Result<Shape, String> {
            fn number(text: &str) -> Result<f64, String> {
                text.parse::<f64>().map_err(|e| format!("{text}: {e}"))
            }
            match text.split_once(' ') {
                Some(("square", side)) => Ok(Shape::Square(number(side)?)),
                Some(("circle", radius)) => Ok(Shape::Circle { radius: number(radius)? }),
                Some(("many", rest)) => rest.split(',').map(Shape::parse).collect::<Result<Vec<_>, _>>().map(Shape::Many),
                _ => Err(format!("what is '{text}'?")),
            }
        }
    }

    impl Area for Shape {
        fn area(&self) -> f64 {
            match self {
                Shape::Square(side) => side * side,
                Shape::Circle { radius } => 3.14 * radius * radius,
                Shape::Many(all) => all.iter().map(|s| s.area()).sum(),
            }
        }
    }

    pub mod inner {
        use super::Area;

        #[inline(never)]
        pub fn largest<'a, T: Area + ?Sized>(all: &'a [Box<T>]) -> Option<&'a T> {
            all.iter().max_by(|a, b| a.area().total_cmp(&b.area())).map(|b| &**b)
        }
    }
}

use shapes::{Area, Shape};

struct Words<'a>(&'a str);

impl<'a> fmt::Display for Words<'a> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for word in self.0.split_whitespace() {
            write!(f, "<{word}>")?;
        }
        Ok(())
    }
}

#[inline(never)]
fn count<K: std::hash::Hash + Eq + Ord + Clone, I: Iterator<Item = K>>(items: I) -> BTreeMap<K, usize> {
    let mut seen: HashMap<K, usize> = HashMap::new();
    for item in items {
        *seen.entry(item).or_insert(0) += 1;
    }
    seen.into_iter().collect()
}

async fn later(n: u64) -> String {
    let text = "x".repeat(n as usize);
    Box::pin(async move { text.to_uppercase() }).await
}

#[inline(never)]
fn block_on<T>(mut future: Pin<Box<dyn Future<Output = T>>>) -> T {
    use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
    fn clone(_: *const ()) -> RawWaker {
        RawWaker::new(std::ptr::null(), &TABLE)
    }
    fn nothing(_: *const ()) {}
    static TABLE: RawWakerVTable = RawWakerVTable::new(clone, nothing, nothing, nothing);
    let waker = unsafe { Waker::from_raw(clone(std::ptr::null())) };
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

#[inline(never)]
fn careless(n: usize) -> usize {
    let v: Vec<usize> = (0..n).filter(|x| x % 3 != 0).map(|x| x * x).collect();
    v[n]
}

fn main() {
    let n = std::env::args().count();
    let text = std::env::args().collect::<Vec<_>>().join(" ");
    let shapes: Vec<Box<dyn Area>> =
        ["square 2", "circle 1.5", "many square 1,circle 2", "none"].iter().filter_map(|s| Shape::parse(s).ok()).map(|s| Box::new(s) as Box<dyn Area>).collect();
    let largest = shapes::inner::largest(&shapes).map_or(0.0, |s| s.scaled(2.0));
    let words = count(text.chars()).len() + count(text.split(' ').map(String::from)).len();
    let caught = std::panic::catch_unwind(move || careless(n)).is_err();
    println!("{largest} {words} {caught} {} {}", Words(&text), block_on(Box::pin(later(n as u64))));
}
