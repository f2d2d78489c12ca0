# SPDX-License-Identifier: MIT
"""freed-elsewhere: blocks released by another thread than the one that allocated them, where it dominates."""

from findings._shapes import hold


def draw(chance):
    return {"size": chance.log(32, 4000), "per_step": chance.log(60, 300), "threads": chance.randint(2, 4),
            "steps": chance.randint(60, 120), "ms": chance.randint(400, 900), "seldom_in": chance.randint(30, 100),
            "churn": chance.randint(0, 15)}


def goes(t, program, shape, **fixed):
    def check(run):
        finding = run.remark("freed-elsewhere")
        run.none("growing", "leak")
        run.equal("blocks released elsewhere", run.evidence(finding, "elsewhere"), run.truth["elsewhere"])

    hold(t, program, shape, draw, fixed, check)


def stays(t, program, shape, **fixed):
    def check(run):
        run.none("freed-elsewhere", "growing", "leak")

    hold(t, program, shape, draw, fixed, check)


def test_pipeline(t):
    goes(t, "freed_elsewhere.c", "pipeline")


def test_pool_of_workers(t):
    goes(t, "freed_elsewhere.c", "pool")


def test_one_reaper_for_all(t):
    goes(t, "freed_elsewhere.c", "reaper")


def test_next_thread_releases(t):
    goes(t, "freed_elsewhere.c", "ring")


def test_jobs_in_a_queue(t):
    goes(t, "freed_elsewhere.cc", "jobs")


def test_results_of_threads(t):
    goes(t, "freed_elsewhere.cc", "futures")


def test_channel_in_rust(t):
    goes(t, "freed_elsewhere.rs", "channel")


def test_spawned_in_rust(t):
    goes(t, "freed_elsewhere.rs", "spawned")


def test_not_own_blocks(t):
    stays(t, "freed_elsewhere.c", "own")


def test_not_seldom(t):
    stays(t, "freed_elsewhere.c", "seldom")


def test_not_few(t):
    stays(t, "freed_elsewhere.c", "few")


def test_not_given_back(t):
    stays(t, "freed_elsewhere.c", "returned")


def test_not_local_jobs(t):
    stays(t, "freed_elsewhere.cc", "local")


def test_not_borrowed_in_rust(t):
    stays(t, "freed_elsewhere.rs", "scoped")
