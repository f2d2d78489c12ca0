# SPDX-License-Identifier: MIT
"""The Firefox Profiler's own command line, which keeps a profile open and answers.

    with FirefoxReader(t, path) as reader:
        reader.ask("thread", "functions")
"""

import os
import shutil
import subprocess
import time

from harness.peers import peers
from harness.process import give_up


class FirefoxReader:
    def __init__(self, t, profile):
        self.cli = os.path.join(peers(t), "node_modules/.bin/profiler-cli")
        self.home, self.profile = t.path("home"), profile
        if not profile.endswith(".json"):
            self.profile += ".json"
            os.rename(profile, self.profile)

    def __enter__(self):
        shutil.rmtree(self.home, ignore_errors=True)  # what the one before logged there is not about this profile
        os.makedirs(self.home)
        self.env = {**os.environ, "HOME": self.home}
        # its command `load` gives the server half a second to start; on a busy machine it needs more
        self.server = subprocess.Popen([self.cli, "--daemon", self.profile, "--session", "silt"], env=self.env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            # whoever asks while it starts takes its session for a dead one, and removes it for good
            while "Profile loaded successfully" not in self.log():
                give_up(end, "the reader does not open the profile: " + self.log()[-500:])
                assert self.server.poll() is None, self.log()[-1000:]
                time.sleep(0.1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()

    def log(self):
        try:
            with open(os.path.join(self.home, ".profiler-cli/silt.log")) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def ask(self, *argv):
        return subprocess.run([self.cli, *argv, "--session", "silt"], capture_output=True, text=True, timeout=600, env=self.env,
                              check=False).stdout
