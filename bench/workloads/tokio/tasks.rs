// SPDX-License-Identifier: MIT
// A tokio program: many short tasks on two workers, messages through channels, replies through one-shots.
//   tasks CLIENTS REQUESTS-PER-CLIENT
use std::collections::HashMap;
use tokio::sync::{mpsc, oneshot};

struct Request {
    key: String,
    body: Vec<u8>,
    reply: oneshot::Sender<usize>,
}

async fn store(mut requests: mpsc::Receiver<Request>) -> usize {
    let mut kept: HashMap<String, Vec<u8>> = HashMap::new();
    let mut bytes = 0;
    while let Some(r) = requests.recv().await {
        bytes += r.body.len();
        let n = kept.len();
        kept.insert(r.key, r.body);
        if n > 4096 {
            kept.clear();
        }
        let _ = r.reply.send(n);
    }
    bytes
}

async fn client(id: u64, n: u64, to: mpsc::Sender<Request>) -> u64 {
    let mut state = id + 1;
    for i in 0..n {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let size = 16 + (state >> 56) as usize;
        let (reply, answer) = oneshot::channel();
        let request = Request { key: format!("client-{id}-{}", i % 64), body: vec![id as u8; size], reply };
        let to = to.clone();
        // A task per request, as a server makes one per connection.
        tokio::spawn(async move {
            let _ = to.send(request).await;
        });
        let _ = answer.await;
    }
    n
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u64>().unwrap());
    let (clients, n) = (args.next().unwrap_or(64), args.next().unwrap_or(2000));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (done, bytes) = runtime.block_on(async move {
        let (to, requests) = mpsc::channel(256);
        let keeper = tokio::spawn(store(requests));
        let all: Vec<_> = (0..clients).map(|id| tokio::spawn(client(id, n, to.clone()))).collect();
        drop(to);
        let mut done = 0;
        for one in all {
            done += one.await.unwrap();
        }
        (done, keeper.await.unwrap())
    });
    println!("{done} {bytes}");
}
