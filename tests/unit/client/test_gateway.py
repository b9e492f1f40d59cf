"""isoctl gateway: a plain forward proxy, asked by curl and by hand."""
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import unittest

from isoctl_case import IsoctlCase

# What an earlier gateway of this kind let through, in the policy's own words.
LIST = ["github.com", "api.github.com", "api.bitbucket.org", "pypi.org", "docs.google.com", "nvd.nist.gov", "cve.org",
        "www.cve.org", "cveawg.mitre.org", "issues.apache.org", "*.apache.org", "*.googleapis.com",
        "*.githubusercontent.com", "*.pythonhosted.org"]
EXTRA = " bedrock.example.com,.internal.corp,,*.star.example, port.example:443 "
# Let through means that the name was looked for, or the host dialled.
YES, NO, BAD = {"unresolved", "unreachable", "timeout"}, {"not-listed", "address-literal", "private-address", "port"}, {"bad-name", "bad-http"}
VECTORS = [
    ("github.com:443", YES), ("GITHUB.COM:443", YES), ("github.com.:443", YES), ("raw.githubusercontent.com:443", YES),
    ("foo.apache.org:443", YES), ("x..apache.org:443", BAD), (".apache.org:443", BAD),
    ("apache.org:443", NO), ("githubusercontent.com:443", NO), ("googleapis.com:443", NO),
    ("foo.apache.org.evil.com:443", NO), ("evilapache.org:443", NO), ("notgithub.com:443", NO), ("gist.github.com:443", NO),
    ("localhost:443", YES), ("localhost.:443", YES), ("[::1]:443", YES), ("127.0.0.1:443", YES), ("::1", BAD),
    ("localhost:5432", NO), ("127.0.0.1:6379", NO),
    ("127.0.0.2:443", NO), ("0.0.0.0:443", NO), ("2130706433:443", BAD), ("169.254.169.254:80", NO),
    ("[::ffff:127.0.0.2]:443", NO), ("0x7f.1:443", BAD), ("0177.0.0.1:443", BAD),
    ("user@github.com:443", BAD), ("github.com/evil:443", BAD), ("evil.com#github.com:443", BAD),
    ("github.com\0.evil.com:443", BAD), (":443", BAD), ("", BAD), ("github.com", BAD), ("github.com:0", BAD),
    ("github.com:65536", BAD), ("github.com:22", NO),
    ("bedrock.example.com:443", YES), ("x.bedrock.example.com:443", NO), ("internal.corp:443", NO),
    ("a.internal.corp:443", YES), ("a.star.example:443", YES), ("star.example:443", NO), ("port.example:443", YES),
    ("port.example:80", NO),
]


class Origin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"origin")

    def log_message(self, *args):
        pass


class Gateway(IsoctlCase):
    def start(self, *args, extra=None, policy=None):
        environment = dict(self.environment, XDG_CONFIG_HOME=os.path.join(self.folder, ".config"))
        if extra is not None:
            environment["EGRESS_ALLOW_EXTRA"] = extra
        if policy is not None:
            args += ("--policy", self.path("policy.json", json.dumps(policy).encode()))
        self.gateway = self.popen("gateway", "--port", "0", *args, env=environment, stderr=subprocess.PIPE)
        self.addCleanup(self.gateway.stderr.close)
        self.port = self.line()["port"]

    def line(self):
        return json.loads(self.gateway.stderr.readline())

    def ask(self, head, address="127.0.0.1"):
        with socket.create_connection((address, self.port), timeout=60) as s:
            s.sendall(head)
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while chunk := s.recv(65536):
                answer += chunk
        return answer.decode("latin-1")

    def curl(self, *args):
        r = subprocess.run(["curl", "-sS", "-m", "60", "-x", f"http://127.0.0.1:{self.port}", *args], capture_output=True,
                           env={"PATH": os.environ["PATH"], "HOME": self.folder}, text=True, timeout=120, check=False)
        return r.returncode, r.stdout, r.stderr

    def origin(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.2", 0), Origin)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def test_vectors(self):
        self.start(extra=EXTRA, policy={"sandbox": {"network": {"allowedDomains": LIST}}})
        for target, wanted in VECTORS:
            with self.subTest(target=target):
                answer = self.ask(f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                event = self.line()
                self.assertIn(event["reason"], wanted, answer)
                self.assertEqual(event["verdict"], "deny")
                # Ports 80 and 443 of an address are dialled once the client has said something: the 200 comes first.
                if event["reason"] != "timeout":
                    self.assertIn(f"X-Isod-Reason: {event['reason']}\r\n", answer)
                    self.assertEqual(answer.split()[1], "400" if wanted is BAD else "403" if wanted is NO else "502")

    def test_curl(self):
        port = self.origin()
        self.start(policy={"sandbox": {"network": {
            "allowedDomains": [f"127.0.0.2:{port}"],
            "deniedDomains": [{"host": "*.paste.example", "reason": "Use the company's snippets."}]}}})
        for through in [], ["-p"]:
            self.assertEqual(self.curl(*through, f"http://127.0.0.2:{port}/"), (0, "origin", ""))
            event = self.line()
            self.assertEqual((event["verdict"], event["via"], event["rule"], event["from"], event["name"], event["port"]),
                             ("allow", "connect" if through else "http", f"127.0.0.2:{port}", "file", "127.0.0.2", port))
        # Whose a connection was can only be seen while there is one.
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as s:
            s.sendall(f"GET http://127.0.0.2:{port}/ HTTP/1.1\r\nHost: 127.0.0.2:{port}\r\n\r\n".encode())
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
            event = self.line()
        # Root's gateway goes on as isod-net, which may not look at the processes of others.
        if os.geteuid() == 0:
            self.assertNotIn("program", event)
        else:
            self.assertEqual((event["program"], event["pid"]), (os.readlink("/proc/self/exe"), os.getpid()))
        # A refusal waits for that 200 ms at most, which a busy machine may need for itself.
        for _ in range(20):
            code, out, _ = self.curl("http://evil.example/")
            self.assertEqual(code, 0)
            self.assertIn("isod: evil.example:80: refused (not-listed)\n", out)
            self.assertIn("isoctl gateway --allow-domain evil.example\n", out)
            event = self.line()
            self.assertEqual(event["reason"], "not-listed")
            if "Asked for by" in out:
                break
        if os.geteuid() != 0:
            self.assertIn(f"Asked for by {event['program']} (pid {event['pid']})\n", out)
        code, out, err = self.curl("https://evil.example/")
        self.assertEqual((code, out), (56, ""))
        self.assertIn("403", err)
        self.assertEqual(self.line()["via"], "connect")
        _, out, _ = self.curl("-H", "Accept: application/json", "http://a.paste.example/")
        said = json.loads(out)
        self.assertEqual((said["reason"], said["rule"], said["why"], said["retry"]),
                         ("denied", "deny *.paste.example", "Use the company's snippets.", False))
        event = self.line()
        self.assertEqual((event["why"], event["rule"]), ("Use the company's snippets.", "*.paste.example"))

    def test_both_families_and_end(self):
        self.start("--allow-domain", "ok.example")
        for address in "127.0.0.1", "::1":
            self.assertIn(" 403 ", self.ask(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n", address))
        self.gateway.send_signal(signal.SIGTERM)
        self.assertEqual(self.gateway.wait(60), 0)

    def test_a_reader_that_does_not_read(self):
        """More lines than a pipe holds: the gateway goes on, and says how many were lost."""
        self.start()
        for _ in range(600):
            self.assertIn(" 403 ", self.ask(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n"))
        seen, lost = 0, 0
        while seen + lost < 600:
            event = self.line()
            if event["event"] == "events.lost":
                lost += event["count"]
            else:
                seen += 1
            if seen and not lost:
                self.ask(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
        self.assertGreater(lost, 0)

    def test_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            r = self.isoctl("gateway", "--port", str(taken.getsockname()[1]))
        self.assertEqual(r.returncode, 1)
        self.assertIn(b"Address already in use", r.stderr)
        self.assertIn(b"--port", r.stderr)

    def test_wrong_options(self):
        for args, code, text in ((["--port", "65536"], 2, b"is no port"), (["--port", "x"], 2, b"is no port"),
                                 (["--policy", "/nonexistent"], 1, b"/nonexistent"), (["x"], 2, b"usage"),
                                 (["--allow-domain", "https://x.example"], 1, b"is a URL")):
            r = self.isoctl("gateway", *(args if "--port" in args else ["--port", "0", *args]))
            self.assertEqual(r.returncode, code, r)
            self.assertIn(text, r.stderr)

    def test_default_port(self):
        self.assertIn(b"8899", self.isoctl("help", "gateway").stdout)


if __name__ == "__main__":
    assert shutil.which("curl")
    unittest.main()
