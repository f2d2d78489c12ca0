#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stories of people who look for memory: the culprit is known, or there is none (_reader.py says how a line is written).
tests/wild/stories.py SILT [REGEX] prints a table instead."""

import os
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
from harness.ninja import build_example  # noqa: E402
from wild._reader import List  # noqa: E402

TRAFFIC = "ms=4000 requests=2000 size=1500 kept_pct=100 hold_kb=40 others=0 steps=100 seed=7"

STORIES = rf"""
tasks_nobody_collects    | any | run_ticks | - | {{simulator}} 400
tasks_collected          | calm | - | growing by | {{simulator}} 400 --drain
state_per_client         | any | MqttState::MqttState | growing by | {{mqtt_server}} 300 --inflight 8000
cache_without_bound      | problem | cache_insert | nothing to worry | {{resolver}} 120
cache_with_bound         | calm | - | growing by | {{resolver}} 120 --bound
buffer_in_small_steps    | any | batch_append | - | {{log_shipper}} 60
one_block_in_a_thousand  | problem | copy_header | - | {{proxy}} 200
spike_at_start           | any | parse_record | growing by | {{index_loader}} 60
a_program_that_is_fine   | calm | - | growing by | {{thumbnails}} 9000
irregular_traffic_leaks  | problem | make_record | - | {{traffic.c}} chance is_leaky=1 {TRAFFIC}
bursts_leak              | problem | make_record | - | {{traffic.c}} bursts is_leaky=1 {TRAFFIC}
day_and_night_leak       | problem | make_record | - | {{traffic.c}} days is_leaky=1 {TRAFFIC}
leak_with_a_stall        | problem | make_record | - | {{traffic.c}} stall is_leaky=1 {TRAFFIC}
leak_on_a_stopped_machine | problem | make_record | - | {{traffic.c}} stop is_leaky=1 {TRAFFIC}
irregular_without_a_leak | calm | - | growing by | {{traffic.c}} chance is_leaky=0 {TRAFFIC}
bursts_without_a_leak    | calm | - | growing by | {{traffic.c}} bursts is_leaky=0 {TRAFFIC}
wrapper_script           | calm | held nearly all of the 138 | peaked at .* KiB | sh {{wrapper.sh}} {{which_process.c}}
preforking_server        | calm | pool: worker process | - | {{which_process.c}} prefork 200
daemon                   | calm | build_index | - | sh {{daemon.sh}} {{which_process.c}}
child_that_leaks         | problem | pid \d+\): main: 14 | - | sh {{wrapper_leak.sh}} {{which_process.c}}
redis_fills              | any | - | nothing to worry | sh {{redis.sh}} {{port}}
nginx_serves             | calm | - | growing by | sh {{nginx.sh}} {{port}}
killed_by_the_kernel     | any | hog | - | sh {{killed.sh}} {{hog.c}}
shell_pipeline           | calm | - | growing by | sh {{pipeline.sh}}
"""

QUICK = ("irregular_traffic_leaks", "wrapper_script")

INPUTS = {
    "wrapper.sh": lambda: "echo begin\n\"$1\" hold 1450\necho end\n",
    "daemon.sh": lambda: "\"$1\" daemon 500\nsleep 1\n",
    "wrapper_leak.sh": lambda: "\"$1\" leak 150\n",
    "redis.sh": lambda: "redis-server --port $1 --save '' --appendonly no --daemonize no >/dev/null &\nsleep 1\n"
                        "redis-benchmark -p $1 -n 200000 -r 1000000 -q -t set >/dev/null\nredis-cli -p $1 shutdown nosave\nwait\n",
    "nginx.sh": lambda: "d=$(mktemp -d)\nmkdir $d/logs\nprintf 'pid %s/pid; error_log /dev/null; worker_processes 2; events {} http { access_log off; "
                        "server { listen 127.0.0.1:%s; root %s; } }' $d $1 $d >$d/c\necho hello >$d/x\n/usr/sbin/nginx -p $d -c $d/c -g 'daemon off;' &\nsleep 1\n"
                        "i=0\nwhile [ $i -lt 100 ]; do curl -s 127.0.0.1:$1/x >/dev/null; i=$((i + 1)); done\nkill -QUIT $!\nwait\nrm -r $d\n",
    "killed.sh": lambda: "\"$1\" &\nsleep 2\nkill -9 $!\nwait\ntrue\n",
    "pipeline.sh": lambda: "seq 1 200000 | sort -R | uniq -c | sort -n | tail -1\n",
    "hog.c": lambda: "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n__attribute__((noinline)) void hog(void **to) { *to = memset(malloc(1000000), 1, 1000000); }\n"
                     "static void *kept[10000];\nint main(void) { for (int i = 0;; i++) { hog(&kept[i % 10000]); usleep(20000); } }\n",
}
SOURCES = {"traffic.c": "findings/traffic.c", "which_process.c": "cases/which_process.c", "hog.c": None}


def compile_one(name):
    def make(folder, silt):
        source, out = SOURCES[name] and os.path.join(TESTS, SOURCES[name]), os.path.join(folder, name[:-2])
        if not source:
            source = os.path.join(folder, name)
            with open(source, "w") as f:
                f.write(INPUTS[name]())
        if not os.path.exists(out):
            subprocess.run(["cc", "-O0", "-g", "-pthread", "-o", out, source, "-lm"], check=True)
        return out
    return make


def example(name):
    def make(_folder, silt):
        return build_example(silt, name)
    return make


def free_port(_folder, _silt):
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


EXAMPLES = ("simulator", "mqtt_server", "resolver", "log_shipper", "proxy", "index_loader", "thumbnails")
ALL = List(STORIES, INPUTS, {**{x: example(x) for x in EXAMPLES}, **{x: compile_one(x) for x in SOURCES}, "port": free_port}, QUICK)
globals().update(ALL.cases())

if __name__ == "__main__":
    ALL.main()
