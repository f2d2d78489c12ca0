// SPDX-License-Identifier: MIT
// Four threads that fill and drop hash maps of strings.
use std::collections::HashMap;

fn work(seed: u64, rounds: u32) -> usize {
    let mut state = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
    let mut total = 0;
    for _ in 0..rounds {
        let mut map: HashMap<String, Vec<u64>> = HashMap::new();
        for _ in 0..200 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            map.entry(format!("key-{}", state >> 57)).or_default().push(state);
        }
        total += map.len();
    }
    total
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1000);
    let handles: Vec<_> = (0..4).map(|i| std::thread::spawn(move || work(i, rounds))).collect();
    let total: usize = handles.into_iter().map(|h| h.join().unwrap()).sum();
    println!("{total}");
}
