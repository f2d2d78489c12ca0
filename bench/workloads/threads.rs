// SPDX-License-Identifier: MIT
// Threads that fill and drop hash maps of strings.
//   threads ROUNDS-PER-THREAD [THREADS, else 4]
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
    let arg = |i, other| std::env::args().nth(i).and_then(|a| a.parse().ok()).unwrap_or(other);
    let (rounds, threads): (u32, u64) = (arg(1, 1000) as u32, arg(2, 4));
    let handles: Vec<_> = (0..threads).map(|i| std::thread::spawn(move || work(i, rounds))).collect();
    let total: usize = handles.into_iter().map(|h| h.join().unwrap()).sum();
    println!("{total}");
}
