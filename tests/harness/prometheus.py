# SPDX-License-Identifier: MIT
"""Prometheus and Alertmanager of the test's own, on free ports with folders of their own, and somebody to be told of alerts."""

import http.server
import json
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from .cases import skip
from .process import give_up

PATIENCE_S = 600


def needs_prometheus():
    for tool in ("prometheus", "prometheus-alertmanager", "promtool"):
        if not shutil.which(tool):
            skip(f"no {tool} here")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get_json(url):
    with urllib.request.urlopen(url, timeout=300) as r:
        return json.load(r)


def wait_for(what, state, patience_s=PATIENCE_S):
    """What state() returns once that is true."""
    deadline = time.monotonic() + patience_s
    while not (found := state()):
        give_up(deadline, f"{what} did not come")
        time.sleep(0.2)
    return found


class Server:
    """One of them, until the test ends."""

    def __init__(self, t, name, argv, port):
        self.port, self.log = port, t.path(name + ".log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        t.running.append(self.process)
        wait_for(f"{name}'s readiness", self.is_ready)

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def is_ready(self):
        with open(self.log) as log:
            assert self.process.poll() is None, f"it ended: {log.read()[-500:]}"
        try:
            with urllib.request.urlopen(self.url("/-/ready"), timeout=5) as r:
                return r.status == 200
        except (urllib.error.URLError, OSError):
            return False


class Alertmanager(Server):
    def __init__(self, t, webhook):
        config, port = t.path("alertmanager.yml"), free_port()
        with open(config, "w") as f:
            json.dump({"route": {"receiver": "test", "group_by": ["..."], "group_wait": "1s", "group_interval": "1s", "repeat_interval": "1h"},
                       "receivers": [{"name": "test", "webhook_configs": [{"url": webhook.url}]}]}, f)
        super().__init__(t, "alertmanager", ["prometheus-alertmanager", f"--config.file={config}", f"--storage.path={t.path('alertmanager')}",
                                             f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=", "--log.level=warn"], port)


class Prometheus(Server):
    """Scrapes every second: jobs are {name: [ports]}."""

    def __init__(self, t, jobs, rules, alertmanager):
        config, port = t.path("prometheus.yml"), free_port()
        with open(config, "w") as f:
            json.dump({"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}, "rule_files": [os.path.abspath(rules)],
                       "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager.port}"]}]}]},
                       "scrape_configs": [{"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{p}" for p in ports]}]} for name, ports in jobs.items()]}, f)
        super().__init__(t, "prometheus", ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={t.path('prometheus')}",
                                           f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"], port)

    def ask(self, query):
        """The rows of an instant query: [(labels, value)]."""
        answer = get_json(self.url("/api/v1/query?" + urllib.parse.urlencode({"query": query})))
        assert answer["status"] == "success", (query, answer)
        return [(row["metric"], float(row["value"][1])) for row in answer["data"]["result"]]


class Webhook:
    """Keeps what Alertmanager says: a list of alerts, each with labels, annotations and status."""

    def __init__(self):
        self.alerts = alerts = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                alerts.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def firing(self, name, **labels):
        return [a for a in self.alerts if a["status"] == "firing" and {"alertname": name, **labels}.items() <= a["labels"].items()]
