# SPDX-License-Identifier: MIT
"""What the figures were taken on."""
import os
import platform
import re
import shutil
import subprocess
import time


def said(*argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True)
        return done.stdout + done.stderr
    except OSError:
        return ""


def cpu_name():
    found = re.search(r"^Model name:\s*(.+)$", said("lscpu"), re.M)
    return found[1].strip() if found and found[1].strip() != "-" else platform.machine()


def distribution():
    try:
        with open("/etc/os-release", encoding="utf-8") as f:
            return re.search(r'^PRETTY_NAME="?([^"\n]+)', f.read(), re.M)[1]
    except (OSError, TypeError):
        return platform.system()


def describe(silt):
    heaptrack = re.search(r"([0-9]+\.[0-9.]+)", said("heaptrack", "--version")) if shutil.which("heaptrack") else None
    return {
        "machine": platform.machine(),
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": ".".join(platform.release().split("-")[0].split(".")[:3]),
        "system": distribution(),
        "libc": " ".join(platform.libc_ver()),
        "heaptrack": heaptrack[1] if heaptrack else "",
        "silt": said(silt, "--version").strip(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "load_before": round(os.getloadavg()[0], 2),
    }


def in_words(m):
    peer = f"heaptrack {m['heaptrack']}" if m["heaptrack"] else "no heaptrack"
    return f"{m['cpu']} ({m['machine']}), {m['cores']} cores, Linux {m['kernel']}, {m['system']}, {m['libc']}, {peer}"
