// SPDX-License-Identifier: MIT
// A tokio server: every message (four bytes of length, the rest) is answered with the same bytes, the last first.
// "ready PID PORT" when it listens; the end of its stdin is its own: "ok MESSAGES".
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

static MESSAGES: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn turn_around(body: &[u8]) -> Vec<u8> {
    body.iter().rev().copied().collect()
}

async fn serve(mut from: TcpStream) -> std::io::Result<()> {
    loop {
        let n = match from.read_u32().await {
            Ok(n) => n as usize,
            Err(_) => return Ok(()), // the client has gone
        };
        let mut body = vec![0; n];
        from.read_exact(&mut body).await?;
        // some wait for a timer, some for another task
        if n % 7 == 0 {
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
        let answer = tokio::spawn(async move { turn_around(&body) }).await.unwrap();
        let mut whole = (n as u32).to_be_bytes().to_vec();
        whole.extend_from_slice(&answer);
        from.write_all(&whole).await?;
        MESSAGES.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    println!("ready {} {}", std::process::id(), listener.local_addr().unwrap().port());
    runtime.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move { serve(stream).await.unwrap() });
        }
    });
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).unwrap();
    println!("ok {}", MESSAGES.load(Ordering::Relaxed));
}
