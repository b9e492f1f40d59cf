"""isoctl run without a pty: descriptors, relays, exit codes, errors, signals."""
import array
import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import termios
import threading
import time
import unittest

from fake_daemon import ID, session
from isoctl_case import ISOCTL, IsoctlCase


class Request(IsoctlCase):
    def run_and_see(self, *args, **more):
        """The parameters of the call that these arguments make."""
        seen = []

        def run(c, call):
            seen.append(call)
            c.started()
            c.close_fds()
            c.exited(0)

        self.serve(Run=run)
        result = self.isoctl("run", "-q", *args, **more)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue(seen[0].get("more"))
        return seen[0]["parameters"]

    def test_arguments_are_bytes(self):
        got = self.run_and_see("--", b"a\xff\xc3\xa4", "", "--", "-x")
        self.assertEqual(got["argv"], ["a\udcff\u00e4", "", "--", "-x"])

    def test_nul_free_environment_and_named(self):
        self.environment.update({"GH_TOKEN": "t", "SECRET": "s", "OTHER": "o", "ISO_ALLOW": "GH_TOKEN,UNSET"})
        got = self.run_and_see("--env", "SET=x=y", "--", "true")
        variables = {v["name"]: v["value"] for v in got["env"]}
        self.assertEqual(variables["GH_TOKEN"], "t")
        self.assertEqual(variables["SET"], "x=y")
        self.assertEqual(variables["HOME"], self.folder)
        self.assertNotIn("SECRET", variables)
        self.assertNotIn("OTHER", variables)
        self.assertEqual(got["named"], ["GH_TOKEN", "UNSET", "SET"])

    def test_policy_passes_variables(self):
        self.environment["LATER"] = "x"
        policy = self.path("p.json", b'{"environment": {"pass": ["LATER"]}}')
        got = self.run_and_see("--policy", policy, "--", "true")
        self.assertIn({"name": "LATER", "value": "x"}, got["env"])

    def test_policies_in_order(self):
        os.makedirs(os.path.join(self.folder, ".config/isod"))
        self.path(".config/isod/policy.json", b"{}")
        file = self.path("p.json", b"{ }")
        got = self.run_and_see("--policy", file, "--allow-read", "sub", "--memory=1G", "--", "true")
        self.assertEqual([p["layer"] for p in got["policies"]], ["user", "file", "command-line"])
        self.assertEqual(got["policies"][1]["text"], "{ }")
        self.assertEqual(json.loads(got["policies"][2]["text"]),
                         {"sandbox": {"filesystem": {"allowRead": ["./sub"]}}, "limits": {"memory": "1G"}})

    def test_links_on_the_way(self):
        os.mkdir(os.path.join(self.folder, "real"))
        os.symlink("real", os.path.join(self.folder, "link"))
        self.environment["PWD"] = os.path.join(self.folder, "link")
        got = self.run_and_see("--", "true", cwd=os.path.join(self.folder, "real"))
        self.assertEqual(got["cwd"], os.path.join(self.folder, "real"))
        self.assertEqual(got["pwd"], os.path.join(self.folder, "link"))
        self.assertEqual(got["links"], [{"path": os.path.join(self.folder, "link"), "target": "real"}])

    def test_lying_pwd_is_ignored(self):
        self.environment["PWD"] = "/usr"
        self.assertNotIn("pwd", self.run_and_see("--", "true"))

    def test_symlinked_name(self):
        link = os.path.join(self.folder, "codex-iso")
        os.symlink(os.path.abspath(ISOCTL), link)
        seen = []

        def run(c, call):
            seen.append(call["parameters"]["argv"])
            c.started()
            c.close_fds()
            c.exited(3)

        self.serve(Run=run)
        result = subprocess.run([link, "--help", "-q"], env=self.environment, cwd=self.folder, capture_output=True,
                                stdin=subprocess.DEVNULL, timeout=120)
        self.assertEqual((result.returncode, seen), (3, [["codex", "--help", "-q"]]))


class Descriptors(IsoctlCase):
    def test_pipes_are_handed_over(self):
        seen = []

        def run(c, call):
            seen.extend(os.fstat(fd) for fd in c.fds)
            c.started()
            data = os.read(c.fds[0], 100)
            os.write(c.fds[1], b"out:" + data)
            os.write(c.fds[2], b"err")
            c.close_fds()
            c.exited(7)

        self.serve(Run=run)
        r, w = os.pipe()
        process = self.popen("run", "-q", "--", "x", stdin=subprocess.PIPE, stdout=w, stderr=subprocess.PIPE)
        os.close(w)
        expected = os.fstat(r)
        process.stdin.write(b"in")
        process.stdin.close()
        self.assertEqual(os.read(r, 100), b"out:in")
        self.assertEqual(process.stderr.read(), b"err")
        self.assertEqual(process.wait(30), 7)
        self.assertEqual(seen[1].st_ino, expected.st_ino)
        os.close(r)
        process.stderr.close()

    def test_null_is_handed_over_and_closed_ones_are_null(self):
        seen = []

        def run(c, call):
            seen.extend(os.fstat(fd) for fd in c.fds)
            c.started()
            c.close_fds()
            c.exited(0)

        self.serve(Run=run)
        process = self.popen("run", "-q", "--", "x", preexec_fn=lambda: (os.close(0), os.close(1), os.close(2)))
        self.assertEqual(process.wait(30), 0)
        null = os.stat("/dev/null").st_rdev
        self.assertEqual([s.st_rdev for s in seen], [null] * 3)

    def test_socket_is_relayed(self):
        ours, theirs = socket.socketpair()
        seen = []

        def run(c, call):
            seen.append([stat.S_ISFIFO(os.fstat(fd).st_mode) for fd in c.fds[:2]])
            c.started()
            os.write(c.fds[1], os.read(c.fds[0], 10))
            c.close_fds()
            c.exited(0)

        self.serve(Run=run)
        process = self.popen("run", "-q", "--", "x", stdin=theirs, stdout=theirs)
        theirs.close()
        ours.sendall(b"hello")
        self.assertEqual(ours.recv(10), b"hello")
        self.assertEqual((process.wait(30), seen), (0, [[True, True]]))
        ours.close()

    def test_files_become_pipes(self):
        data = os.urandom(3 << 20)
        seen = []

        def run(c, call):
            seen.extend(stat.S_ISFIFO(os.fstat(fd).st_mode) for fd in c.fds)
            c.started()
            while chunk := os.read(c.fds[0], 65536):
                os.write(c.fds[1], chunk)
            c.close_fds()
            c.exited(0)

        self.serve(Run=run)
        source, target = self.path("in", data), self.path("out")
        with open(source, "rb") as i, open(target, "wb") as o:
            self.assertEqual(self.isoctl("run", "-q", "--", "x", stdin=i, stdout=o).returncode, 0)
        self.assertEqual(seen[:2], [True, True])
        with open(target, "rb") as f:
            self.assertTrue(f.read() == data)

    def test_position_and_append_are_kept(self):
        def run(c, call):
            c.started()
            os.write(c.fds[1], b"out;")
            os.write(c.fds[2], b"err;")
            c.close_fds()
            c.exited(0)

        self.serve(Run=run)
        appended, positioned = self.path("a", b"old;"), self.path("b", b"0123456789")
        with open(appended, "ab") as a, open(positioned, "r+b") as b:
            b.seek(4)
            self.isoctl("run", "-q", "--", "x", stdout=a, stderr=b)
            os.write(a.fileno(), b"after;")
            os.write(b.fileno(), b"!")
        self.assertEqual(self.content(appended), b"old;out;after;")
        self.assertEqual(self.content(positioned), b"0123err;!9")

    def test_one_file_for_both_keeps_the_order(self):
        def run(c, call):
            c.started()
            for i in range(100):
                os.write(c.fds[1 + i % 2], b"%d;" % i)
            c.close_fds()
            c.exited(0)

        self.serve(Run=run)
        with open(self.path("o"), "wb") as o:
            self.isoctl("run", "-q", "--", "x", stdout=o, stderr=subprocess.STDOUT)
        self.assertEqual(self.content(self.path("o")), b"".join(b"%d;" % i for i in range(100)))

    def test_unread_input_goes_back_to_the_file(self):
        def run(c, call):
            c.started()
            os.read(c.fds[0], 3)
            c.close_fds()
            c.exited(0)

        self.serve(Run=run)
        with open(self.path("i", b"abcdef" * 1000), "rb", buffering=0) as i:
            self.isoctl("run", "-q", "--", "x", stdin=i)
            self.assertEqual(i.tell(), 3)

    def test_full_target_ends_the_pipe(self):
        broken = []

        def run(c, call):
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])
            c.started()
            try:
                while True:
                    os.write(c.fds[1], b"x" * 65536)
            except BrokenPipeError:
                broken.append(True)
            c.close_fds()
            c.exited(141)

        self.serve(Run=run)
        with open("/dev/full", "wb", buffering=0) as full:
            result = self.isoctl("run", "-q", "--", "x", stdout=full, stderr=subprocess.PIPE)
        self.assertEqual((result.returncode, broken), (141, [True]))
        self.assertIn(b"stdout: No space left", result.stderr)


class Ends(IsoctlCase):
    def answer(self, *steps):
        def run(c, call):
            for step in steps:
                step(c)
            c.close_fds()

        self.serve(Run=run)

    def test_exit_codes(self):
        for code in (0, 1, 124, 130, 255):
            with self.subTest(code):
                self.answer(lambda c: c.started(), lambda c: c.exited(code))
                self.assertEqual(self.isoctl("run", "--", "x").returncode, code)
                self.daemon.close()

    def test_errors(self):
        for name, code in (("SandboxUnavailable", 125), ("CannotExecute", 126), ("CommandNotFound", 127),
                           ("Refused", 125), ("PolicyInvalid", 125)):
            with self.subTest(name):
                self.answer(lambda c: c.fail(name, "mount /x", "It\x1b[2J did not work.", "Do this."))
                result = self.isoctl("run", "--", "x")
                self.assertEqual(result.returncode, code)
                self.assertEqual(result.stderr,
                                 b"isoctl: mount /x: It\\x1b[2J did not work.\n  remedy: Do this.\n")
                self.assertEqual(result.stdout, b"")
                self.daemon.close()

    def test_daemon_goes_away(self):
        self.answer(lambda c: c.started(), lambda c: c.sock.shutdown(socket.SHUT_RDWR))
        result = self.isoctl("run", "-q", "--", "x")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"closed the connection", result.stderr)

    def test_daemon_talks_nonsense(self):
        self.answer(lambda c: c.sock.sendall(b"{]\0"))
        self.assertEqual(self.isoctl("run", "-q", "--", "x").returncode, 125)

    def test_other_version(self):
        self.serve()
        result = self.isoctl("run", "--", "x")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"different versions", result.stderr)

    def test_no_daemon(self):
        result = self.isoctl("run", "--", "x")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"No isod listens on", result.stderr)
        self.assertIn(b"remedy:", result.stderr)

    def test_long_socket_path(self):
        folder = os.path.join(self.folder, "x" * 100, "y" * 100)
        os.makedirs(folder)
        self.socket = self.environment["ISO_SOCKET"] = os.path.join(folder, "socket")
        self.answer(lambda c: c.started(), lambda c: c.exited(5))
        self.assertEqual(self.isoctl("run", "-q", "--", "x").returncode, 5)

    def test_banner(self):
        self.answer(lambda c: c.started(notes=["one\x1b[1m"], network=["ok.example", "*.x.example"]),
                    lambda c: c.exited(0))
        self.environment["GH_TOKEN"] = "t"
        result = self.isoctl("run", "--env", "GH_TOKEN", "--", "x")
        self.assertEqual(result.stdout, b"")
        self.assertEqual(result.stderr.decode(),
                         f"isod: session {ID} in /p · network: ok.example, *.x.example (2 rules) · "
                         "variables: GH_TOKEN · 1 note\nisod: note: one\\x1b[1m\n")

    def test_granted_paths_where_nothing_is(self):
        self.answer(lambda c: c.started(), lambda c: c.exited(0))
        missing = "/no/such/place"
        result = self.isoctl("run", "--allow-read", missing, "--allow-write", self.folder, "--", "x")
        self.assertEqual(result.stderr.decode().splitlines()[1:],
                         [f'isod: note: allowRead "{missing}": nothing is there, so it grants nothing'])

    def test_usage_is_125(self):
        self.assertEqual(self.isoctl("run").returncode, 125)
        self.assertEqual(self.isoctl("run", "--nonsense", "--", "x").returncode, 125)
        result = self.isoctl("run", "--env", "A-B", "--", "x")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b'"A-B"', result.stderr)

    def test_working_directory_is_gone(self):
        gone = os.path.join(self.folder, "gone")
        os.mkdir(gone)
        result = subprocess.run(["sh", "-c", f'cd {gone} && rmdir {gone} && exec {os.path.abspath(ISOCTL)} run -- x'],
                                env=self.environment, capture_output=True, timeout=120)
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"working directory", result.stderr)


class Signals(IsoctlCase):
    def test_signals_are_forwarded(self):
        killed = threading.Event()
        calls = []

        def run(c, call):
            c.started()
            self.assertTrue(killed.wait(20))
            c.close_fds()
            c.exited(130)

        def kill(c, call):
            calls.append(call["parameters"])
            c.reply({})
            killed.set()

        self.serve(Run=run, Kill=kill)
        process = self.popen("run", "--", "x", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        process.stderr.readline()  # the banner: it runs
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), 130)
        self.assertEqual(calls, [{"session": ID, "signal": signal.SIGINT}])
        process.stderr.close()

    def test_second_term_ends_isoctl(self):
        gone = threading.Event()

        def run(c, call):
            c.started()
            if c.receive() is None:
                gone.set()

        killed = threading.Event()

        def kill(c, call):
            c.reply({})
            killed.set()

        self.serve(Run=run, Kill=kill)
        process = self.popen("run", "--", "x", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        self.assertTrue(killed.wait(20))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), -signal.SIGTERM)
        self.assertTrue(gone.wait(20))
        process.stderr.close()


    def test_end_while_the_terminal_takes_no_output(self):
        """The command has ended, its output waits for a terminal that stands still: that can take long, until a signal."""
        taken = threading.Event()

        def run(c, call):
            c.started()
            os.write(c.fds[1], b"x" * 400000)
            c.close_fds()
            c.exited(3)
            unread = array.array("i", [1])
            while unread[0]:  # isoctl knows of the end once it has read this
                fcntl.ioctl(c.sock, termios.TIOCOUTQ, unread)
                time.sleep(0.01)
            taken.set()

        self.serve(Run=run)
        master, slave = os.openpty()
        process = self.popen("run", "-q", "--", "x", stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE)
        self.assertTrue(taken.wait(20))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 3)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        os.close(master)
        os.close(slave)

    def test_a_signal_that_cannot_be_passed_on_is_told(self):
        told = threading.Event()

        def run(c, call):
            self.daemon.listener.close()
            os.unlink(self.socket)
            c.started()
            self.assertTrue(told.wait(20))
            c.close_fds()
            c.exited(0)

        self.serve(Run=run)
        process = self.popen("run", "--", "x", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        self.assertIn(b"No isod listens on", process.stderr.readline())
        told.set()
        self.assertEqual(process.wait(30), 0)
        process.stderr.close()


if __name__ == "__main__":
    unittest.main()
