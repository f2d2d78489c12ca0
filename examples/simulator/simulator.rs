// SPDX-License-Identifier: MIT
// A simulation of agents, a task per agent and tick. The tasks end within milliseconds, yet memory climbs for as long
// as it runs: a JoinSet keeps every finished task, with its result, until somebody takes it out, and nobody does.
// `simulator --drain` is the mended program.
use std::time::Duration;
use tokio::task::JoinSet;

const AGENTS: u32 = 20;

struct World {
    distances: Vec<u32>, // loaded once, kept on purpose
}

impl World {
    fn load() -> World {
        World { distances: (0..500_000).map(|i| i % 977).collect() }
    }

    fn distance(&self, from: u32, to: u32) -> u32 {
        self.distances[((from * 709 + to) % 500_000) as usize]
    }
}

// What an agent sees lives on its stack, so in its task: that is what makes a task large.
async fn step_agent(agent: u32, tick: u32) -> u64 {
    let mut seen = [0u32; 1000];
    for (i, cell) in seen.iter_mut().enumerate() {
        *cell = agent ^ tick ^ i as u32;
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    seen.iter().map(|cell| u64::from(*cell)).sum()
}

async fn run_ticks(world: &World, n_ticks: u32, drain: bool) -> u64 {
    let mut agents = JoinSet::new();
    let mut walked = 0;

    for tick in 0..n_ticks {
        for agent in 0..AGENTS {
            walked += u64::from(world.distance(agent, tick));
            agents.spawn(step_agent(agent, tick));
        }
        tokio::time::sleep(Duration::from_millis(4)).await;
        while drain && agents.join_next().await.is_some() {}
    }
    println!("{n_ticks} ticks, {walked} walked; the set holds {} tasks", agents.len());
    walked
}

fn main() {
    let mut n_ticks = 500;
    let mut drain = false;
    for word in std::env::args().skip(1) {
        match word.parse() {
            Ok(n) => n_ticks = n,
            Err(_) => drain = word == "--drain",
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let world = World::load();
    runtime.block_on(run_ticks(&world, n_ticks, drain));
}
