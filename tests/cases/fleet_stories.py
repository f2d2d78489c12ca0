# SPDX-License-Identifier: MIT
"""silt fleet, small stories that a made-up fleet of equals does not have: clocks that are wrong, call paths that end on one host and grow on
another, processes older than the time asked for, builds by their first digits. Rows are written as silt push would have sent them."""

import csv
import hashlib
import io
import re
import time

from harness.answer import parse
from harness.clickhouse import ClickHouse

HOUR, DAY = 3600, 86400


def digest(text):
    return hashlib.md5(text.encode()).hexdigest().upper()


class Story:
    """A database of its own, and its questions."""

    def __init__(self, t, server, name):
        self.t, self.server, self.name, self.url = t, server, name, server.url(name)
        self.now = int(time.time()) - 60
        r = t.silt.command("fleet", "--from", self.url, "init")
        assert r.code == 0, r.errors

    def add(self, at, host, paths, service="api", build="b0", begin=None, run="", period=HOUR, sites=None, lost=0):
        """One snapshot: bytes by call path. What began when names the process; sites: what the snapshot says of their number."""
        begin = at - HOUR if begin is None else begin
        key = f"toFixedString(unhex('{digest(f'{service} {host} {begin} {run}')}'), 16)"
        ms = (at - begin) * 1000
        for name, live in paths.items():
            path = f"toFixedString(unhex('{digest(name)}'), 16)"
            self.server.ask(f"INSERT INTO {self.name}.silt_sites (day, service, path, host, run, recording_ms, time, build, live_bytes, live_blocks) "
                            f"SELECT toDate(toDateTime({at})), '{service}', {path}, '{host}', {key}, {ms}, toDateTime({at}), '{build}', {live}, 1")
            self.server.ask(f"INSERT INTO {self.name}.silt_paths SELECT {path}, ['{name}', 'main']")
        self.server.ask(f"INSERT INTO {self.name}.silt_snapshots (day, service, host, run, recording_ms, time, period_ms, build, live_bytes, lost, sites) "
                        f"SELECT toDate(toDateTime({at})), '{service}', '{host}', {key}, {ms}, toDateTime({at}), {period * 1000}, '{build}', "
                        f"{sum(paths.values())}, {lost}, {len(paths) if sites is None else sites}")

    def ask(self, *words):
        r = self.t.silt.command("fleet", "--from", self.url, *words, "--json")
        assert r.code == 0, r.errors
        return parse(r.stdout)

    def csv(self, *words):
        """The rows, and what is said beside them."""
        r = self.t.silt.command("fleet", "--from", self.url, *words, "--csv")
        assert r.code == 0, r.errors
        return list(csv.DictReader(io.StringIO(r.text))), r.errors

    def refused(self, *words):
        r = self.t.silt.command("fleet", "--from", self.url, *words)
        assert r.code == 2 and r.errors.count("\n") == 1 and not r.stdout, (r.code, r.text)
        return r.errors


def clock_ahead(story):
    """One host is half an hour early: the others are still there, and so is what it held by then."""
    for host, ahead in (("a", 0), ("b", 0), ("early", 1800)):
        for back in (0, 600, 1200, 1800, 2400):
            story.add(story.now + ahead - back, host, {"f": 1000 + back}, begin=story.now - DAY, period=600)
    answer = story.ask("services")
    row = answer["rows"][0]
    assert row["hosts"] == 3 and row["live_bytes"] == 1000 + 1000 + 2800, (row, answer["doubts"])
    assert answer["now_s"] == story.now, (answer["now_s"], story.now)
    assert any("clock of host early is ahead" in d and re.search(r"by 2[5-9] min", d) for d in answer["doubts"]), answer["doubts"]
    assert not [d for d in story.ask("services", "--host", "a")["doubts"] if "clock" in d]
    story.add(story.now + 2 * HOUR, "other", {"f": 5})
    doubts = story.ask("services")["doubts"]
    assert any("clocks of 2 hosts are ahead" in d and "that of other by" in d for d in doubts), doubts


def all_ahead(story):
    story.add(story.now + 5 * HOUR, "a", {"f": 5})
    answer = story.ask("services")
    assert "later than the server's own clock" in answer["sentence"] and answer["rows"] == [], answer


def gone_and_grown(story):
    """What a call path no longer holds on one host counts against what it holds more on another."""
    for host, before, now in (("a", 5000, 0), ("b", 1000, 6000)):
        story.add(story.now - DAY, host, {"f": before, "other": 10})
        story.add(story.now, host, {"f": now, "other": 10} if now else {"other": 10})
    assert story.ask("services")["rows"][0]["growth_bytes"] == 0
    assert story.ask("grew")["rows"] == [], story.ask("grew")["rows"]
    story.add(story.now, "b", {"more": 300}, run="second")
    answer = story.ask("grew")
    assert [(row["growth_bytes"], row["hosts_grew"], row["build"]) for row in answer["rows"]] == [(300, 1, "b0")], answer["rows"]


def other_build(story):
    """A host that changed its build is compared with itself, also when one asks for the build."""
    for host in ("a", "b"):
        story.add(story.now - DAY, host, {"f": 1000}, build="old")
        story.add(story.now, host, {"f": 1100} if host == "a" else {"f": 1000}, build="new" if host == "a" else "old")
    for question in (["grew"], ["grew", "--build", "new"], ["paths", "--service", "api", "--build", "new"]):
        row = story.ask(*question)["rows"][0]
        assert row["growth_bytes"] == 100, (question, row)
    row = story.ask("services", "--build", "new")["rows"][0]
    assert (row["live_bytes"], row["growth_bytes"], row["hosts"]) == (1100, 100, 1), row
    assert story.ask("grew", "--build", "old")["rows"] == []


def older_than_asked(story):
    """Processes of the old build began before the time asked for: they are compared as young as those of the new one."""
    for host in ("a", "b", "c"):
        for age in (1, 2, 24, 20 * 24):  # hours: they grow
            story.add(story.now - (21 * 24 - age) * HOUR, host, {"f": 1000 * age}, build="0a" * 10, begin=story.now - 21 * DAY)
        for age in (1, 2):
            story.add(story.now - (2 - age) * HOUR, host, {"f": 1000 * age + 50}, build="0b" * 10, begin=story.now - 2 * HOUR)
    answer = story.ask("release", "--service", "api", "--old", "0a0a0a0a0a0a", "--new", "0b")
    assert [(row["change_bytes"], row["old_bytes"], row["new_bytes"]) for row in answer["rows"]] == [(50, 1500, 1550)], answer["rows"]
    assert "3 and 3 processes" in answer["sentence"] and not answer["doubts"], answer
    assert (answer["old"], answer["new"]) == ("0a" * 10, "0b" * 10), answer
    # one whose youth nobody saw is left out, and said
    story.add(story.now - DAY, "d", {"f": 7_000_000}, build="0a" * 10, begin=story.now - 40 * DAY)
    answer = story.ask("release", "--service", "api", "--old", "0a", "--new", "0b")
    assert answer["rows"][0]["change_bytes"] == 50 and any("1 process is left out" in d for d in answer["doubts"]), answer
    story.add(story.now, "e", {"f": 9}, build="0c" * 10, begin=story.now - 90 * DAY)
    assert "cannot be compared" in story.refused("release", "--service", "api", "--old", "0c", "--new", "0b")


def first_digits(story):
    for host, build in (("a", "c0ffee01aabbccdd"), ("b", "c0ffee02aabbccdd"), ("c", "c0ffee"), ("d", "dd00")):
        story.add(story.now - DAY, host, {"f": 1}, build=build)
        story.add(story.now, host, {"f": 10}, build=build)
    for given, whole in (("c0ffee01aabb", "c0ffee01aabbccdd"), ("c0ffee02", "c0ffee02aabbccdd"), ("c0ffee", "c0ffee"), ("d", "dd00")):
        answer = story.ask("grew", "--build", given)
        assert [row["build"] for row in answer["rows"]] == [whole] and answer["build"] == whole, (given, answer)
    assert story.ask("paths", "--service", "api", "--build", "c0ffee01")["rows"][0]["live_bytes"] == 10
    assert story.ask("builds", "--build", "c0ffee01")["rows"][0]["build"] == "c0ffee01aabbccdd"
    assert "more than one build begins with 'c0f'" in story.refused("grew", "--build", "c0f")
    assert "same build" in story.refused("release", "--service", "api", "--old", "dd", "--new", "dd00")
    assert story.ask("grew", "--build", "c0ffee03")["rows"] == []


def services_of_a_host(story):
    """A host with two services is one host."""
    for service in ("api", "cache"):
        story.add(story.now, "a", {"f": 10}, service=service)
    assert story.ask("services")["sentence"].startswith("2 services on 1 host hold"), story.ask("services")["sentence"]


def pushed_again(story):
    """More rows than the snapshot had: what is too much is said."""
    story.add(story.now, "a", {"f": 10, "g": 10}, sites=1)
    assert any("too high" in d for d in story.ask("paths", "--service", "api")["doubts"])


def over_time(story):
    """Parts of half an hour between snapshots of an hour hold what there was; a process that follows another is not added to it."""
    for back in range(25, -1, -1):
        story.add(story.now - back * HOUR, "a", {"f": 1000}, begin=story.now - 30 * HOUR if back > 10 else story.now - 11 * HOUR)
        story.add(story.now - back * HOUR + 600 * (back > 0), "b", {"f": 500}, begin=story.now - 30 * HOUR)
    history = story.ask("services")["rows"][0]["history"]
    assert len(history) == 48 and all(v is not None and abs(v - 1500) <= 1 for v in history[:-1]), history


def lost_earlier(story):
    """Events lost hours ago make what is live now no better known."""
    for back in (3, 2, 1, 0):
        story.add(story.now - back * HOUR, "a", {"f": 10}, begin=story.now - DAY, lost=7 * (back == 2))
    assert any("lost 7 events" in d for d in story.ask("services")["doubts"]), story.ask("services")["doubts"]


def beside_csv(story):
    """What limits the rows, and why there are none, is beside them and does not steer a terminal; a ; in a name parts no functions."""
    for host, ahead in (("a", 0), ("b", 0), ("\x1b[2Jearly", 1800)):
        story.add(story.now + ahead, host, {"<[u8; 16] as Clone>::clone": 10}, begin=story.now - DAY)
    rows, errors = story.csv("services")
    assert len(rows) == 1 and r"clock of host \x1b[2Jearly is ahead" in errors and "\x1b" not in errors, (rows, errors)
    rows, _ = story.csv("paths", "--service", "api")
    assert [row["path_frames"] for row in rows] == ["<[u8: 16] as Clone>::clone;main"], rows
    rows, errors = story.csv("services", "--service", "nobody")
    assert rows == [] and "'silt fleet builds' shows when the last were" in errors, (rows, errors)


STORIES = (clock_ahead, all_ahead, gone_and_grown, other_build, older_than_asked, first_digits, services_of_a_host, pushed_again, over_time, lost_earlier,
           beside_csv)


def test_stories(t):
    with ClickHouse(t) as server:
        for story in STORIES:
            story(Story(t, server, f"silt_{story.__name__}"))
