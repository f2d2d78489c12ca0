// SPDX-License-Identifier: MIT
// A search service that is small while it serves, yet does not start on a small machine: it parses its whole input into
// a tree of owned strings before it builds the compact index it needs.
// `index_loader N` loads N thousand records; `index_loader N --stream` builds the index record by record.
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

struct Record {
    words: Vec<String>,
}

struct Index {
    counts: HashMap<u32, u32>,
}

fn input_line(number: u32) -> String {
    let mut line = String::with_capacity(160);
    for i in 0..12 {
        write!(line, "word-{} ", (number * 31 + i * 7) % 5000).unwrap();
    }
    line
}

#[inline(never)]
fn parse_record(line: &str) -> Record {
    let mut words = Vec::with_capacity(12);
    words.extend(line.split_whitespace().map(str::to_owned));
    Record { words }
}

#[inline(never)]
fn parse_all(n_records: u32) -> Vec<Record> {
    let mut records = Vec::with_capacity(n_records as usize);
    records.extend((0..n_records).map(|i| parse_record(&input_line(i))));
    records
}

impl Index {
    fn add(&mut self, record: &Record) {
        for word in &record.words {
            let key = word.bytes().fold(2166136261u32, |h, b| (h ^ u32::from(b)).wrapping_mul(16777619));
            *self.counts.entry(key).or_insert(0) += 1;
        }
    }

    fn lookup(&self, word: &str) -> u32 {
        let key = word.bytes().fold(2166136261u32, |h, b| (h ^ u32::from(b)).wrapping_mul(16777619));
        self.counts.get(&key).copied().unwrap_or(0)
    }
}

#[inline(never)]
fn load(n_records: u32, stream: bool) -> Index {
    let mut index = Index { counts: HashMap::new() };
    if stream {
        (0..n_records).for_each(|i| index.add(&parse_record(&input_line(i))));
    } else {
        parse_all(n_records).iter().for_each(|record| index.add(record));
    }
    index
}

#[inline(never)]
fn serve(index: &Index, n_queries: u32) -> u64 {
    let mut found = 0;
    for i in 0..n_queries {
        let query = format!("word-{}", i % 6000);
        found += u64::from(index.lookup(&query));
        if i % 100 == 99 {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    found
}

fn main() {
    let mut n_thousands = 60;
    let mut stream = false;
    for word in std::env::args().skip(1) {
        match word.parse() {
            Ok(n) => n_thousands = n,
            Err(_) => stream = word == "--stream",
        }
    }
    let index = load(n_thousands * 1000, stream);
    let found = serve(&index, 20_000);
    println!("{n_thousands},000 records, {} words, {found} found", index.counts.len());
}
