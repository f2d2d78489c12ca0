# SPDX-License-Identifier: MIT
"""silt push to receivers of profiles: what arrives, read as others read it, has the figures of the report."""

import gzip
import http.server
import re
import struct
import threading
import urllib.parse

PROGRAM = """
import time
kept = []
for i in range(15):
    kept.append([bytearray(50000 + 100 * k) for k in range(20)])
    time.sleep(0.1)
"""


class Receiver:
    """Keeps what is posted to it, and answers with `status` and `body`."""

    def __init__(self, body=b"", statuses=()):
        taken = self.taken = []
        waiting = list(statuses)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                data = self.rfile.read(int(self.headers["Content-Length"]))
                status = waiting.pop(0) if waiting else 200
                if status == 200:
                    taken.append((self.path, dict(self.headers), data))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def recorded(t):
    trace = t.path("t.silt")
    r = t.silt.record(trace, ["/usr/bin/python3", "-c", PROGRAM])
    assert r.code == 0, r.errors
    return trace


def push(t, trace, url, *options):
    return t.silt.command("push", trace, "--to", url, "--every", "1s", "--spool", t.path("spool"), "--service", "shop", "--host", "web-1",
                          "--label", "zone=eu", *options)


def totals_at(t, trace, ms=None):
    report, why = t.silt.report(trace, "--process", "all", *(("--to", f"{ms}ms") if ms else ()))
    assert report, why
    return report["totals"]


def parts(body, content_type):
    boundary = re.search("boundary=(.*)", content_type).group(1).encode()
    found = {}
    for part in body.split(b"--" + boundary)[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        found[re.search(rb'name="([^"]*)"', head).group(1).decode()] = content[:-2]
    return found


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def message(data):
    """Fields of a message of protobuf: number → values."""
    at, fields = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            assert key & 7 == 2, key
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
            assert len(value) == n
        fields.setdefault(key >> 3, []).append(value)
    return fields


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def test_pyroscope(t):
    """The forms that /ingest wants; the profiles are what silt itself reads as pprof."""
    trace = recorded(t)
    with Receiver(statuses=[503]) as receiver:
        r = push(t, trace, f"pyroscope+http://127.0.0.1:{receiver.port}")
    assert r.code == 0 and "answers 503" in r.errors and "takes batches again" in r.errors, r.errors
    assert len(receiver.taken) >= 2
    sums = [0, 0]
    for i, (path, headers, body) in enumerate(receiver.taken):
        url = urllib.parse.urlsplit(path)
        asked = dict(urllib.parse.parse_qsl(url.query))
        assert url.path == "/ingest" and asked["format"] == "pprof" and int(asked["from"]) <= int(asked["until"]), path
        assert re.fullmatch(r"shop\{host=web-1,build=[0-9a-f]+,zone=eu\}", asked["name"]), asked
        form = parts(body, headers["Content-Type"])
        assert set(form) == {"profile", "sample_type_config"} and b"inuse_space" in form["sample_type_config"]
        with open(t.path("p.pb.gz"), "wb") as f:
            f.write(form["profile"])
        r = t.silt.command("import", t.path("p.pb.gz"), "-o", t.path(f"p{i}.silt"))
        assert r.code == 0, r.errors
        read = totals_at(t, t.path(f"p{i}.silt"))
        is_last = i == len(receiver.taken) - 1
        true = totals_at(t, trace, None if is_last else (i + 1) * 1000)
        assert read["end_live_bytes"] == true["end_live_bytes"] and read["end_live_blocks"] == true["end_live_blocks"], (i, read, true)
        # what was allocated, as it stands there: an importer needs as much as is live
        samples = [packed(message(x)[2][0]) for x in message(gzip.decompress(form["profile"]))[2]]
        sums = [sums[0] + sum(x[1] for x in samples), sums[1] + sum(x[0] for x in samples)]
        assert sums == [true["bytes_allocated"], true["allocations"]], (i, sums, true)


def read_otlp(body):
    """(resource's attributes, [(type, unit, {call path: value}, time_ns, duration_ns, id)]) by OpenTelemetry's numbers of fields."""
    request = message(gzip.decompress(body))
    d = message(request[2][0])
    texts = [x.decode() for x in d[5]]
    assert texts[0] == "" and all(d[k][0] == b"" for k in (1, 2, 3, 4, 6, 7)), "the first of each table stands for nothing"
    functions = [texts[message(f).get(1, [0])[0]] for f in d[3]]
    locations = [functions[message(message(x)[3][0]).get(1, [0])[0]] if x else "" for x in d[2]]
    stacks = [tuple(locations[k] for k in packed(message(s)[1][0])) if s else () for s in d[7]]
    of = message(request[1][0])
    attributes = {}
    for a in message(of[1][0])[1]:
        kv = message(a)
        value = message(kv[2][0])
        attributes[kv[1][0].decode()] = value[1][0].decode() if 1 in value else value[3][0]
    profiles = []
    scoped = message(of[2][0])
    assert message(scoped[1][0])[1] == [b"silt"]
    for p in map(message, scoped[2]):
        kind = message(p[1][0])
        values = {}
        for sample in map(message, p.get(2, [])):
            path = stacks[sample[1][0]]
            assert path not in values
            values[path] = packed(sample[4][0])[0]
        profiles.append((texts[kind[1][0]], texts[kind[2][0]], values, p[3][0], p[4][0], p[7][0]))
    return attributes, profiles


def test_otlp(t):
    trace = recorded(t)
    with Receiver() as receiver:
        r = push(t, trace, f"otlp+http://127.0.0.1:{receiver.port}", "--max-paths", "10")
    assert r.code == 0, r.errors
    assert len(receiver.taken) >= 2
    ids, sums = set(), [0, 0]
    for i, (path, headers, body) in enumerate(receiver.taken):
        assert path == "/v1development/profiles" and headers["Content-Type"] == "application/x-protobuf" and headers["Content-Encoding"] == "gzip"
        attributes, profiles = read_otlp(body)
        assert attributes["service.name"] == "shop" and attributes["host.name"] == "web-1" and attributes["zone"] == "eu", attributes
        assert attributes["process.pid"] > 0 and re.fullmatch("[0-9a-f]{16,}", attributes["process.executable.build_id.gnu"])
        by_type = {p[0]: p for p in profiles}
        assert [(p[0], p[1]) for p in profiles] == [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
                                                    ("inuse_space", "bytes")]
        is_last = i == len(receiver.taken) - 1
        true = totals_at(t, trace, None if is_last else (i + 1) * 1000)
        assert sum(by_type["inuse_space"][2].values()) == true["end_live_bytes"]
        assert sum(by_type["inuse_objects"][2].values()) == true["end_live_blocks"]
        sums = [sums[0] + sum(by_type["alloc_space"][2].values()), sums[1] + sum(by_type["alloc_objects"][2].values())]
        assert sums == [true["bytes_allocated"], true["allocations"]], (i, sums, true)
        ids |= {p[5] for p in profiles}
    assert len(ids) == 4 * len(receiver.taken) and all(len(x) == 16 for x in ids)


def test_profiles_that_are_rejected(t):
    """In part: that is said, and not sent again. As a whole: they are kept."""
    trace = recorded(t)
    rejected = bytes([0x0a, 9, 0x08, 2, 0x12, 5]) + b"no\x1b!!"
    with Receiver(body=rejected) as receiver:
        r = push(t, trace, f"otlp+http://127.0.0.1:{receiver.port}")
    assert r.code == 0 and "rejected 2 profiles: no" in r.errors and "\x1b" not in r.errors, r.errors
    with Receiver(statuses=[400] * 1000) as receiver:
        r = push(t, trace, f"otlp+http://127.0.0.1:{receiver.port}", "--again", "--flush", "1s")
    assert r.code == 1 and "answers 400" in r.errors and len(r.errors.splitlines()) == 2, r.errors
    for scheme in ("otlp", "pyroscope"):
        with Receiver(body=b"\n<!DOCTYPE html>") as receiver:
            r = push(t, trace, f"{scheme}+http://127.0.0.1:{receiver.port}", "--again", "--flush", "1s")
        assert r.code == 1 and "answers with a page" in r.errors and len(r.errors.splitlines()) == 2, r.errors
        with Receiver(body=b"\xff" * 1000) as receiver:
            assert push(t, trace, f"{scheme}+http://127.0.0.1:{receiver.port}", "--again").code == 0
