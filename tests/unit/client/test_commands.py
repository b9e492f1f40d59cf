"""The commands of isoctl but run: what they ask, print and return."""
import json
import os
import subprocess
import unittest

from fake_daemon import session
from isoctl_case import IsoctlCase


class Commands(IsoctlCase):
    def test_output_that_nobody_gets_is_a_failure(self):
        for arguments in (["help"], ["--help"], ["--version"], ["completion", "bash"], ["sessions", "--json"]):
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                self.serve(List=lambda c, call: c.reply({"sessions": []}))
                result = self.isoctl(*arguments, stdout=full, stderr=subprocess.PIPE)
                self.assertEqual((result.returncode, result.stderr), (1, b"isoctl: stdout: No space left on device\n"))
                self.daemon.close()

    def test_stdout_that_does_not_block(self):
        listed = [session(argv=["x" * 100000]) for _ in range(8)]
        self.serve(List=lambda c, call: c.reply({"sessions": listed}))
        r, w = os.pipe()
        os.set_blocking(w, False)
        process = self.popen("sessions", "--json", stdout=w)
        os.close(w)
        with open(r, "rb") as f:
            self.assertEqual(json.loads(f.read()), listed)
        self.assertEqual(process.wait(30), 0)

    def test_sessions(self):
        listed = [session(argv=["a b", "\x1b"], name=None)]
        self.serve(List=lambda c, call: c.reply({"sessions": listed if call["parameters"]["all"] else []}))
        self.assertEqual(json.loads(self.isoctl("sessions", "--json").stdout), [])
        self.assertEqual(json.loads(self.isoctl("sessions", "--all", "--json").stdout), listed)
        text = self.isoctl("sessions", "-a").stdout
        self.assertIn(b"'a b' '\\x1b'", text)

    def test_log(self):
        lines = [b'{"time":"T","event":"start","argv":["x"]}', b'{"event":"exit","code":0}']

        def log(c, call):
            for i, line in enumerate(lines):
                c.reply({"line": line.decode()}, continues=i + 1 < len(lines))

        self.serve(Log=log)
        self.assertEqual(self.isoctl("log", "--json", "n").stdout, b"".join(line + b"\n" for line in lines))
        self.assertEqual(self.isoctl("log", "n").stdout, b'T start argv=["x"]\n- exit code=0\n')

    def test_kill_and_unknown_session(self):
        seen = []

        def kill(c, call):
            seen.append(call["parameters"])
            if call["parameters"]["session"] == "no":
                c.fail("NoSuchSession", "session", "There is no session no.")
            else:
                c.reply({})

        self.serve(Kill=kill)
        self.assertEqual(self.isoctl("kill", "yes", "--signal", "hup").returncode, 0)
        result = self.isoctl("kill", "no")
        self.assertEqual((result.returncode, result.stderr), (1, b"isoctl: session: There is no session no.\n"))
        self.assertEqual(seen, [{"session": "yes", "signal": 1}, {"session": "no"}])
        self.assertEqual(self.isoctl("kill", "-s", "NOPE", "yes").returncode, 2)

    def test_status(self):
        self.serve(Status=lambda c, call: c.reply({"version": "1", "ready": False, "reason": "no nftables",
                                                   "sessions": 0}))
        result = self.isoctl("status")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"not ready: no nftables", result.stdout)

    def test_policy_check(self):
        good, bad = self.path("good", b"{}"), self.path("bad", b'{\n "sandbx": {}}')
        self.assertEqual(self.isoctl("policy", "check", good).stdout, good.encode() + b": ok\n")
        result = self.isoctl("policy", "check", good, bad)
        self.assertEqual(result.returncode, 1)
        self.assertIn(bad.encode() + b":2: sandbx: ", result.stdout)

    def test_unknown_command(self):
        result = self.isoctl("sesions")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"did you mean: sessions", result.stderr)


if __name__ == "__main__":
    unittest.main()
