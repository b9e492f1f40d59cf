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

    DENIALS = [
        b'{"time":"T","session":"s","event":"session.start","argv":["x"]}',
        b'{"time":"T","session":"s","event":"connection","verdict":"allow","via":"connect","name":"ok.example","port":443,"reason":"allowed"}',
        b'{"time":"T","session":"s","event":"connection","verdict":"deny","via":"connect","name":"evil.example","port":22,'
        b'"program":"/usr/bin/ssh","pid":7,"reason":"not-listed","count":3}',
        b'{"time":"T","session":"s","event":"connection","verdict":"deny","via":"http","name":"bad.example","port":80,"reason":"denied",'
        b'"rule":"*.example","why":"Use the mirror.","from":"user","file":"/h/policy.json","line":4}',
        b'{"time":"T","session":"s","event":"dns.denied","verdict":"deny","via":"dns","name":"evil.example","port":53,"reason":"not-listed"}',
        b'{"time":"T","session":"s","event":"packet.refused","verdict":"deny","via":"packet","address":"192.0.2.1","port":443,'
        b'"protocol":"udp","reason":"protocol"}',
        b'{"time":"T","session":"s","event":"secret.refused","path":"/p/.env","rule":"dotenv"}',
        b'{"time":"T","session":"s","event":"connection","verdict":"deny","name":"a","port":1,"reason":"of-the-future"}',
        b'no JSON',
        b'{"time":"T","session":"s","event":"session.end"}',
    ]

    def test_log_of_denials(self):
        asked = []

        def log(c, call):
            asked.append((call["parameters"].get("session"), call["parameters"].get("denied")))
            for line in self.DENIALS:
                c.reply({"line": line.decode()}, continues=True)
            c.reply({"line": ""})

        self.serve(Log=log)
        text = self.isoctl("log", "--denied", "s").stdout.decode()
        self.assertEqual(text, """\
T evil.example:22 via connect: not-listed. No rule of the policy names this host.
  by /usr/bin/ssh (pid 7) in session s, 3 times
  To allow it: isoctl run --allow-domain evil.example:22
T bad.example:80 via http: denied. A deny rule of the policy names this host.
  by an unknown program in session s
  rule *.example  (user /h/policy.json:4)
  its owner says: Use the mirror.
  No rule can allow what a deny rule names: only its owner can take it out of its policy.
T evil.example via dns: not-listed. No rule of the policy names this host.
  by an unknown program in session s
  To allow it: isoctl run --allow-domain evil.example
T 192.0.2.1:443 via packet: protocol. Only TCP and DNS leave the sandbox.
  by an unknown program in session s
  Use TCP; for QUIC (HTTP/3) that is HTTP/2.
T secret.refused session=s path=/p/.env rule=dotenv
T connection session=s verdict=deny name=a port=1 reason=of-the-future
""")
        stored = self.isoctl("log", "--denied", "--json", "s").stdout.splitlines()
        self.assertEqual(stored, self.DENIALS[2:8])
        asked.clear()
        self.assertEqual(self.isoctl("log", "--denied").stdout.decode(), text)
        self.assertEqual(asked, [(None, True)])
        for wrong in (["log"], ["log", "--denied", "--follow"]):
            result = self.isoctl(*wrong)
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"Name a session", result.stderr)

    POLICY = {"sandbox": {"network": {
        "allowedDomains": [{"value": "*.ok.example", "from": "user /h/policy.json:3"},
                           {"value": "a.ok.example:8443", "from": "command-line"},
                           {"value": "only.example:80", "from": "command-line"}],
        "deniedDomains": [{"value": {"host": "*.paste.example", "reason": "Use \x1b[1m snippets."}, "from": "administrator /e:9"},
                          {"value": "x.ok.example", "from": "user /h/policy.json:4"}]}},
        "hosts": {"a.ok.example": [{"value": "192.0.2.7", "from": "administrator /e:2"}]}}

    def test_policy_explain_host(self):
        self.serve(PolicyShow=lambda c, call: c.reply({"policy": self.POLICY}))

        def explain(*args):
            result = self.isoctl("policy", "explain", *args)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            return result.stdout.decode()

        self.assertEqual(explain("https://a.ok.example/x"), """\
host a.ok.example, port 443: allowed (allowed)
  A rule of the policy allows it.
  decides    *.ok.example  (sandbox.network.allowedDomains, user /h/policy.json:3)
  other-port a.ok.example:8443  (sandbox.network.allowedDomains, command-line)
  address: 192.0.2.7  (administrator /e:2)
""")
        self.assertEqual(explain("x.ok.example:22").splitlines()[:4], [
            "host x.ok.example, port 22: refused (denied)", "  A deny rule of the policy names this host.",
            "  decides    x.ok.example  (sandbox.network.deniedDomains, user /h/policy.json:4)",
            "  other-port *.ok.example  (sandbox.network.allowedDomains, user /h/policy.json:3)"])
        self.assertIn("  Its owner says: Use \\x1b[1m snippets.\n", explain("a.paste.example"))
        self.assertEqual(explain("evil.example"), """\
host evil.example, ports 443 and 80: refused (not-listed)
  No rule of the policy names this host.
  To allow it: isoctl run --allow-domain evil.example
  For every session of yours, in ~/.config/isod/policy.json:
    {"sandbox": {"network": {"allowedDomains": ["evil.example"]}}}
""")
        both = explain("only.example")
        self.assertIn("host only.example, port 443: refused (port)\n", both)
        self.assertIn("host only.example, port 80: allowed (allowed)\n", both)
        self.assertIn("--allow-domain 10.0.0.1:5432\n", explain("10.0.0.1:5432"))
        answer = json.loads(explain("--json", "https://a.paste.example"))
        self.assertEqual((answer["kind"], answer["host"], len(answer["verdicts"])), ("host", "a.paste.example", 1))
        verdict = answer["verdicts"][0]
        self.assertEqual((verdict["port"], verdict["allowed"], verdict["reason"]), (443, False, "denied"))
        self.assertEqual(verdict["rules"], [{"state": "decides", "key": "sandbox.network.deniedDomains", "text": "*.paste.example",
                                             "why": "Use \x1b[1m snippets.", "from": "administrator /e:9"}])
        self.path("both.example", b"")
        result = self.isoctl("policy", "explain", "both.example")
        self.assertNotIn(b"host both.example", result.stdout) # asks for the path, which this isod does not know
        self.assertIn(b'"both.example" is a file here and is read as one; the host would be https://both.example\n', result.stderr)

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
        own = self.path("own", b'{"sandbox": {"network": {"tls": {"noSni": ["old.example"]}}}}')
        self.assertEqual(self.isoctl("policy", "check", "--user", own).stdout, own.encode() + b": ok\n")
        self.assertIn(b"tls.noSni: Only the administrator's and the user's own", self.isoctl("policy", "check", own).stdout)

    def test_unknown_command(self):
        result = self.isoctl("sesions")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"did you mean: sessions", result.stderr)


if __name__ == "__main__":
    unittest.main()
