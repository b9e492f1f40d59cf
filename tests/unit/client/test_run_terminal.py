"""isoctl run with a pty: the terminal is raw, follows its size, stops, continues and is restored on every way out."""
import os
import select
import signal
import struct
import sys
import termios
import threading
import unittest

import pexpect

import fake_daemon as fake
from isoctl_case import ISOCTL, IsoctlCase


# A shell for one job: stopped, continued in the background while the shell edits a line, and again in the foreground.
SHELL = """
import os, signal, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
cooked = termios.tcgetattr(0)
editing = termios.tcgetattr(0)
editing[3] &= ~(termios.ICANON | termios.ECHO)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
for modes, foreground in ((editing, os.getpgrp()), (cooked, job)):
    assert os.WIFSTOPPED(os.waitpid(job, os.WUNTRACED)[1])
    termios.tcsetattr(0, termios.TCSANOW, modes)
    os.tcsetpgrp(0, foreground)
    os.kill(job, signal.SIGCONT)
code = os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])
os.tcsetpgrp(0, os.getpgrp())
print(f"code={code} restored={termios.tcgetattr(0) == cooked}")
"""


class Terminal(IsoctlCase):
    def spawn(self, script, *args):
        """script(connection) plays the session after its start; it runs in the daemon's thread."""

        def run(c, call):
            self.call = call
            c.reply({"event": "started", "session": fake.session()})
            script(c)

        self.call = None
        self.serve(Run=run)
        child = pexpect.spawn(os.path.abspath(ISOCTL), ["run", "-q", *args, "--", "x"], env=self.environment,
                              cwd=self.folder, dimensions=(33, 101), timeout=120, echo=True)
        self.before = termios.tcgetattr(child.child_fd)
        self.addCleanup(child.close)
        return child

    def finish(self, child, code):
        child.expect(pexpect.EOF)
        child.wait()
        self.assertEqual(child.exitstatus, code)

    def test_raw_bytes_both_ways(self):
        got, size = [], []

        def script(c):
            size.append(struct.unpack("<HH", c.expect(fake.RESIZE)))  # it may have changed since the call
            c.frame(fake.STDOUT, b"ready\n")
            while b"".join(got) != b"a\x03\x1a\r\x04\xff":
                got.append(c.expect(fake.STDIN))
            c.frame(fake.STDOUT, b"bytes \xff\x00 untouched\n")
            c.frame(fake.EXIT, struct.pack("<II", fake.EXIT_CODE, 9))

        child = self.spawn(script)
        child.expect_exact(b"ready\n")
        os.write(child.child_fd, b"a\x03\x1a\r\x04\xff")
        child.expect_exact(b"bytes \xff\x00 untouched\n")
        self.finish(child, 9)
        self.assertEqual(size, [(33, 101)])
        self.assertTrue(self.call["upgrade"])
        self.assertEqual(self.call["parameters"]["terminal"], {"rows": 33, "columns": 101})

    def test_resize(self):
        sizes = []

        def script(c):
            c.frame(fake.STDOUT, b"ready")
            while (50, 132) not in sizes:
                sizes.append(struct.unpack("<HH", c.expect(fake.RESIZE)))
            c.frame(fake.EXIT, struct.pack("<II", fake.EXIT_SIGNAL, 15))

        child = self.spawn(script)
        child.expect_exact("ready")
        child.setwinsize(50, 132)
        self.finish(child, 128 + 15)

    def test_restore_after_exit(self):
        leave = threading.Event()

        def script(c):
            c.frame(fake.STDOUT, b"\x1b[?1049h\x1b[?25l\x1b[?2004hready")
            leave.wait(20)
            c.frame(fake.EXIT, struct.pack("<II", fake.EXIT_CODE, 0))

        # The shell stays, so that the terminal can be looked at after isoctl has gone.
        self.serve(Run=lambda c, call: (c.reply({"event": "started", "session": fake.session()}), script(c)))
        shell = pexpect.spawn("/bin/sh", ["-c", f"{os.path.abspath(ISOCTL)} run -q -- x; echo code=$?; read line"],
                              env=self.environment, cwd=self.folder, timeout=120)
        self.addCleanup(shell.close)
        before = termios.tcgetattr(shell.child_fd)
        shell.expect_exact("ready")
        raw = termios.tcgetattr(shell.child_fd)
        self.assertFalse(raw[3] & (termios.ICANON | termios.ECHO | termios.ISIG))
        leave.set()
        for reset in ("\x1b[?2004l", "\x1b[?1049l", "\x1b[?25h", "code=0"):
            shell.expect_exact(reset)
        self.assertEqual(termios.tcgetattr(shell.child_fd), before)

    def test_restore_when_the_daemon_dies_and_when_killed(self):
        for name, signals, code in (("daemon", 0, 125), ("term", 2, 143), ("alarm", 0, 142)):
            with self.subTest(name):
                leave = threading.Event()
                got = []
                told = threading.Event()

                def script(c):
                    c.frame(fake.STDOUT, b"\x1b[?25lready")
                    if signals:
                        got.append(struct.unpack("<I", c.expect(fake.SIGNAL))[0])
                        told.set()
                    leave.wait(20)

                self.serve(Run=lambda c, call: (c.reply({"event": "started", "session": fake.session()}), script(c),
                                                c.sock.close()))
                shell = pexpect.spawn("/bin/sh", ["-c", f"{os.path.abspath(ISOCTL)} run -q -- x; echo code=$?; "
                                                  "read line"], env=self.environment, cwd=self.folder, timeout=120)
                before = termios.tcgetattr(shell.child_fd)
                shell.expect_exact("ready")
                with open(f"/proc/{shell.pid}/task/{shell.pid}/children") as children:
                    child = int(children.read())
                if signals:
                    os.kill(child, signal.SIGTERM)
                    self.assertTrue(told.wait(20))
                    os.kill(child, signal.SIGTERM)
                elif name == "alarm":
                    os.kill(child, signal.SIGALRM)
                else:
                    leave.set()
                if name != "alarm":  # that handler may not write
                    shell.expect_exact("\x1b[?25h")
                shell.expect_exact(f"code={code}")
                self.assertEqual(termios.tcgetattr(shell.child_fd), before)
                leave.set()
                shell.close()
                self.daemon.close()
                self.assertEqual(got, [signal.SIGTERM] if signals else [])

    def test_stop_and_continue(self):
        def script(c):
            c.frame(fake.STDOUT, b"ready")
            c.frame(fake.STOPPED, struct.pack("<I", signal.SIGTSTP))
            c.expect(fake.CONTINUE)
            c.frame(fake.STDOUT, b"back")
            c.frame(fake.EXIT, struct.pack("<II", fake.EXIT_CODE, 4))

        self.serve(Run=lambda c, call: (c.reply({"event": "started", "session": fake.session()}), script(c)))
        shell = pexpect.spawn("/bin/bash", ["--norc", "-i"], env={**self.environment, "PS1": "P>"}, cwd=self.folder,
                              timeout=120)
        self.addCleanup(shell.close)
        shell.expect_exact("P>")
        shell.sendline(f"{os.path.abspath(ISOCTL)} run -q -- x")
        shell.expect_exact("ready")
        shell.expect_exact("Stopped")
        shell.sendline("fg; echo code=$?")
        shell.expect_exact("back")
        shell.expect_exact("code=4")

    def test_continued_in_the_background(self):
        """What a shell's line editor makes of the terminal meanwhile is not what is put back at the end."""
        def script(c):
            c.frame(fake.STOPPED, struct.pack("<I", signal.SIGTSTP))
            c.expect(fake.CONTINUE)
            c.frame(fake.EXIT, struct.pack("<II", fake.EXIT_CODE, 4))

        self.serve(Run=lambda c, call: (c.reply({"event": "started", "session": fake.session()}), script(c)))
        shell = pexpect.spawn(sys.executable, ["-c", SHELL, os.path.abspath(ISOCTL), "run", "-q", "--", "x"],
                              env=self.environment, cwd=self.folder, timeout=120)
        self.addCleanup(shell.close)
        shell.expect_exact("code=4 restored=True")

    def test_end_while_output_waits_before_a_stop(self):
        sent = threading.Event()

        def script(c):
            for _ in range(4):  # more than a terminal holds that nobody reads
                c.frame(fake.STDOUT, b"x" * 50000)
            c.frame(fake.STOPPED, struct.pack("<I", signal.SIGTSTP))
            sent.set()
            number = struct.unpack("<I", c.expect(fake.SIGNAL))[0]
            c.frame(fake.EXIT, struct.pack("<II", fake.EXIT_SIGNAL, number))

        child = self.spawn(script)
        self.assertTrue(sent.wait(20))
        child.expect_exact("x")  # it writes, so it also listens to signals
        os.kill(child.pid, signal.SIGTERM)
        self.finish(child, 143)

    def test_much_output_is_complete(self):
        total = 4 << 20

        def script(c):
            for _ in range(total // 65536):
                c.frame(fake.STDOUT, b"x" * 65536)
            c.frame(fake.STDOUT, b"end")
            c.frame(fake.EXIT, struct.pack("<II", fake.EXIT_CODE, 0))

        child = self.spawn(script)
        count = 0
        while True:
            self.assertTrue(select.select([child.child_fd], [], [], 20)[0], f"nothing came after {count} bytes")
            try:
                count += len(os.read(child.child_fd, 65536))
            except OSError:
                break
        self.assertEqual(count, total + 3)

    def test_without_a_terminal_of_the_callers(self):
        def script(c):
            data = b""
            while True:
                chunk = c.expect(fake.STDIN)
                if not chunk:
                    break
                data += chunk
            c.frame(fake.STDOUT, data.upper())
            c.frame(fake.EXIT, struct.pack("<II", fake.EXIT_CODE, 0))

        self.serve(Run=lambda c, call: (c.reply({"event": "started", "session": fake.session()}), script(c)))
        result = self.isoctl("run", "-q", "-t", "--", "x", input=b"abc")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"ABC", b""))

    def test_error_at_start_leaves_the_terminal_alone(self):
        self.serve(Run=lambda c, call: c.fail("CommandNotFound", "exec", "There is no x."))
        child = pexpect.spawn(os.path.abspath(ISOCTL), ["run", "--", "x"], env=self.environment, cwd=self.folder,
                              timeout=120)
        child.expect_exact("isoctl: exec: There is no x.\r\n")  # \r: the terminal is not raw
        self.finish(child, 127)
        child.close()


if __name__ == "__main__":
    unittest.main()
