#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures of every view of the page, light and dark, at three widths; and those of docs/.

  tools/screenshots.py --build build --out FOLDER            records mqtt_server, cc1plus and redis-server, and makes all pictures
  tools/screenshots.py --build build --out FOLDER --docs     and puts three of them into docs/

Of redis-server nothing is recorded where it is not installed; a tokio program is recorded with --tokio PROGRAM."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from harness import browser  # noqa: E402

WIDTHS = ((1280, 800), (1920, 1080), (400, 800))
VIEWS = ("overview", "flame", "tree", "sites", "source", "blocks", "threads", "compare")
DOCS = (("page-overview.png", "overview"), ("page-flame.png", "flame"), ("page-sites.png", "sites"))
CXX = """#include <map>
#include <regex>
#include <string>
#include <vector>
template <int N> struct Deep { static std::map<std::string, std::vector<Deep<N - 1>>> make() { return {}; } };
template <> struct Deep<0> {};
int main() { std::regex r("a+b*"); auto m = Deep<24>::make(); return std::regex_match("aab", r) + (int)m.size(); }
"""


def record(silt, trace, argv, **how):
    subprocess.run([silt, "run", "-q", "-f", "-o", trace, "--", *argv], check=False, stdout=subprocess.DEVNULL, **how)


def record_redis(silt, trace):
    """A server that is filled, then stopped."""
    port = "16399"
    server = subprocess.Popen([silt, "run", "-q", "-f", "-o", trace, "--", "redis-server", "--port", port, "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL)
    for _ in range(100):
        if subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True, check=False).stdout == b"PONG\n":
            break
        time.sleep(0.1)
    subprocess.run(["redis-benchmark", "-p", port, "-n", "30000", "-r", "20000", "-d", "200", "-t", "set,lpush,hset,get", "-q"], check=False, stdout=subprocess.DEVNULL)
    subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], check=False, capture_output=True)
    server.wait()


def recordings(silt, build, out, tokio):
    """Names and traces of what can be recorded here."""
    made = {}
    made["mqtt"] = os.path.join(out, "mqtt.silt")
    record(silt, made["mqtt"], [os.path.join(build, "examples/mqtt_server")])
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=False).stdout.strip()
    if os.path.exists(compiler):
        source = os.path.join(out, "deep.cc")
        with open(source, "w", encoding="ascii") as f:
            f.write(CXX)
        whole = os.path.join(out, "deep.ii")
        subprocess.run(["g++", "-E", source, "-o", whole], check=True)
        made["cc1plus"] = os.path.join(out, "cc1plus.silt")
        record(silt, made["cc1plus"], [compiler, "-quiet", "-fpreprocessed", "-O2", whole, "-o", os.devnull])
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        made["redis"] = os.path.join(out, "redis.silt")
        record_redis(silt, made["redis"])
    if tokio:
        made["tokio"] = os.path.join(out, "tokio.silt")
        record(silt, made["tokio"], tokio.split())
    return made


def shots(silt, scripts, trace, wanted):
    """Takes pictures of the page of a trace: (path, fragment, width, height, is dark)."""
    view = subprocess.Popen([silt, "view", trace, "--no-browser"], stderr=subprocess.PIPE, text=True)
    try:
        line = view.stderr.readline()
        while "http://" not in line:
            assert line, "silt view ended"
            line = view.stderr.readline()
        request = {"url": line[line.index("http://"):].split()[0], "browser": browser.find(), "shots": wanted}
        done = subprocess.run(["node", os.path.join(scripts, "browse.main.mjs"), "pictures"], input=json.dumps(request), capture_output=True, text=True,
                              check=False, env={**os.environ, "SILT_WEB": os.path.join(ROOT, "web")})
        said = json.loads(done.stdout) if done.returncode == 0 else {"failure": done.stderr, "errors": []}
        for problem in [said["failure"], *said["errors"]]:
            if problem:
                print(f"{trace}: {problem}", file=sys.stderr)
    finally:
        view.terminate()
        view.wait()
        view.stderr.close()


def shrink(path):
    """With fewer colours a picture of a page is a third as large, and looks the same."""
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--skip-if-larger", "--output", path, "256", path], check=False)
    elif shutil.which("convert"):
        subprocess.run(["convert", path, "-strip", "+dither", "-colors", "128", f"PNG8:{path}"], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--out", required=True)
    parser.add_argument("--docs", action="store_true", help="put three of them into docs/")
    parser.add_argument("--tokio", help="command of a tokio program")
    options = parser.parse_args()
    build, out = os.path.abspath(options.build), os.path.abspath(options.out)
    silt, scripts = os.path.join(build, "silt"), os.path.join(out, "scripts")
    os.makedirs(out, exist_ok=True)
    subprocess.run([os.path.join(ROOT, "tools/web.sh"), "--out", scripts, "--tools"], check=True)
    for name, trace in recordings(silt, build, out, options.tokio).items():
        wanted = [[os.path.join(out, f"{name}-{view}-{width}-{'dark' if dark else 'light'}.png"), f"#{view}", width, height, dark]
                  for view in VIEWS for width, height in WIDTHS for dark in (False, True)]
        shots(silt, scripts, trace, wanted)
        print(f"{name}: {len(wanted)} pictures")
        if options.docs and name == "mqtt":
            for file, view in DOCS:
                path = os.path.join(ROOT, "docs", file)
                shutil.copyfile(os.path.join(out, f"{name}-{view}-1280-light.png"), path)
                shrink(path)
                print(f"docs/{file}: {os.path.getsize(path) // 1000} kB")


if __name__ == "__main__":
    main()
