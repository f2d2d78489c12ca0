// SPDX-License-Identifier: MIT
// A cache without bound: a map in a static, with 5,000 answers of 300 bytes, one for each question that was ever asked.
use std::collections::HashMap;
use std::sync::Mutex;

static CATALOGUE: Mutex<Option<HashMap<String, Vec<u8>>>> = Mutex::new(None);

#[inline(never)]
fn look_up(question: String) -> usize {
    let mut catalogue = CATALOGUE.lock().unwrap();
    catalogue.get_or_insert_with(HashMap::new).entry(question).or_insert_with(|| vec![b'a'; 300]).len()
}

fn main() {
    let n: usize = (0..5000).map(|i| look_up(format!("the price of article number {i}"))).sum();
    std::process::exit(if n == 5000 * 300 { 0 } else { 1 });
}
