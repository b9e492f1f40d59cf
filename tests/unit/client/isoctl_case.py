"""What the cases of isoctl against a fake daemon share."""
import os
import shutil
import subprocess
import tempfile
import unittest

from fake_daemon import FakeDaemon

ISOCTL = os.environ["ISOCTL"]


class IsoctlCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.socket = os.path.join(self.folder, "s")
        self.daemon = None
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "ISO_SOCKET": self.socket,
                            "TERM": "xterm", "PWD": self.folder}

    def serve(self, **methods):
        """serve(Run=function) answers org.isod.Run."""
        self.daemon = FakeDaemon(self.socket, {"org.isod." + name: f for name, f in methods.items()})
        self.addCleanup(self.check_daemon)

    def check_daemon(self):
        self.daemon.close()
        self.assertEqual(self.daemon.errors, [])

    def isoctl(self, *args, **more):
        options = {"capture_output": True, "timeout": 120, "env": self.environment, "cwd": self.folder, **more}
        if "stdout" in options or "stderr" in options:
            del options["capture_output"]
        if "input" not in options and "stdin" not in options:
            options["stdin"] = subprocess.DEVNULL
        return subprocess.run([ISOCTL, *args], **options)

    def popen(self, *args, **more):
        options = {"env": self.environment, "cwd": self.folder, **more}
        process = subprocess.Popen([ISOCTL, *args], **options)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, "wb") as f:
                f.write(content)
        return path

    def content(self, path):
        with open(path, "rb") as f:
            return f.read()
