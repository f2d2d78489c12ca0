# SPDX-License-Identifier: MIT
"""Debug files from a debuginfod server, on loopback: asked only when DEBUGINFOD_URLS is set, and never for long."""

import importlib.util
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

from harness.process import in_time

_spec = importlib.util.spec_from_file_location("_probe", os.path.join(os.path.dirname(__file__), "_probe.py"))
_probe = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_probe)
Shapes, need, sh = _probe.Shapes, _probe.need, _probe.sh


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def environment(t, port):
    return {"DEBUGINFOD_URLS": f"http://127.0.0.1:{port}", "DEBUGINFOD_CACHE_PATH": t.path("cache"), "no_proxy": "*"}


def wait_until_served(port, build_id, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/buildid/{build_id}/debuginfo", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"debuginfod did not serve {build_id} within {seconds} s")


def test_a_server_has_the_debug_file(t):
    need("debuginfod", "dwz")
    pair = [Shapes(t, "-g", name=f"served{n}", folder=t.path("programs")) for n in range(2)]
    os.makedirs(t.path("served"))
    debugs = [p.file(p.name + ".debug") for p in pair]
    for p, debug in zip(pair, debugs):
        p.split_debug(debug, link=False)
    sh("dwz", "-m", p.file("common.dwz"), *debugs)
    shutil.move(p.file("common.dwz"), t.path("served/renamed.dwz"))  # so the path in the file is of no use
    for debug in debugs:
        shutil.move(debug, t.path("served"))
    port = free_port()
    server = subprocess.Popen(["debuginfod", "-F", "-p", str(port), "-d", t.path("index"), t.path("served")],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"})
    try:
        for path in (pair[0].build_id, pair[1].build_id, pair[0].read_build_id(t.path("served/renamed.dwz"))):
            wait_until_served(port, path)
        env = environment(t, port)
        # without the variable nobody is asked, nor is the library loaded that would ask
        frames, origin = pair[0].probe(env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": t.path("ld"),
                                            "DEBUGINFOD_CACHE_PATH": t.path("cache")})
        assert frames == pair[0].only_nameless() and not os.path.exists(t.path("cache")), (frames, origin)
        loaded = "".join(open(t.path(f)).read() for f in os.listdir(t.dir) if f.startswith("ld."))
        assert "libdw.so" in loaded and "debuginfod" not in loaded
        origin = pair[0].expect_full(env=env)
        assert origin[1].startswith(t.path("cache")), origin
        os.unlink(pair[1].path)  # and when the program itself is gone
        pair[1].expect_full(env=env)
    finally:
        server.terminate()
        server.wait()


def test_no_server(t):
    p = Shapes(t)
    begin = time.monotonic()
    sh("strip", p.path)
    _, origin = p.probe(env=environment(t, free_port()))
    assert "cannot reach the server" in origin[2], origin
    in_time(time.monotonic() - begin, 10, "a server that is not there")


def ask_a_silent_server(t, first):
    """It takes the connection, says at most `first`, and then nothing."""
    p = Shapes(t)
    sh("strip", p.path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        kept = []

        def accept():
            try:
                while True:
                    kept.append(listener.accept()[0])
                    kept[-1].sendall(first)
            except OSError:
                pass

        threading.Thread(target=accept, daemon=True).start()
        begin = time.monotonic()
        _, origin = p.probe(env=environment(t, listener.getsockname()[1]))
        seconds = time.monotonic() - begin
        assert kept, "nobody asked"
        listener.shutdown(socket.SHUT_RDWR)
    assert "sent nothing for 8 s" in origin[2], origin
    assert seconds > 7, seconds
    in_time(seconds, 20, "a server that says nothing")
    # and it is not remembered as a no: a server that comes back is asked
    assert not os.path.exists(t.path(f"cache/{p.build_id}/debuginfo"))
    t.notes.append(f"given up after {seconds:.1f} s")


def test_a_server_that_is_silent(t):
    ask_a_silent_server(t, b"")


test_a_server_that_is_silent.waits = True


def test_a_server_that_falls_silent(t):
    ask_a_silent_server(t, b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n\x7fELF")


test_a_server_that_falls_silent.waits = True


def test_a_server_that_lies(t):
    """Another program's debug file, and something that is none."""
    p, other = Shapes(t), Shapes(t, "-g", name="other")
    sh("strip", p.path)
    other.split_debug(t.path("other.debug"), link=False)
    for n, body in enumerate((open(t.path("other.debug"), "rb").read(), b"<html>sign in first</html>" * 100)):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def answer():
                try:
                    while True:
                        c = listener.accept()[0]
                        c.recv(65536)
                        c.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                        c.close()
                except OSError:
                    pass

            threading.Thread(target=answer, daemon=True).start()
            env = environment(t, listener.getsockname()[1])
            frames, origin = p.probe(env={**env, "DEBUGINFOD_CACHE_PATH": t.path(f"cache{n}")})
            listener.shutdown(socket.SHUT_RDWR)
        assert os.path.exists(t.path(f"cache{n}/{p.build_id}/debuginfo")), "it was not asked"
        assert frames == p.only_nameless() and origin[0] == _probe.NOTHING and origin[1] == "", (frames, origin)
