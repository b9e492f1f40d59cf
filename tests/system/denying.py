"""Runs a program under a system call filter of the test's: usage denying.py RULE... -- COMMAND...

RULE is CALL[:ARGUMENT=VALUE]...: such a call fails with EPERM, as under the filter of a container or a security module. Of
isod-launch, whose processes make the same calls in several steps, a rule can say which of them is meant: "pid1/RULE" or
"program/RULE", and RULE@RULE: once the second one was seen. RULE!SCRIPT denies nothing: while the first such call waits, the
script runs. A process beside it then answers for the kernel."""
import ctypes
import fcntl
import os
import select
import socket
import struct
import sys

ALLOW, ERRNO, NOTIFY, EQUAL, CTL_NNP = 0x7fff0000, 0x00050000, 0x7fc00000, 4, 3
# struct seccomp_notif: id, pid, flags; then struct seccomp_data: number, architecture, instruction, six arguments
QUESTION, ANSWER, CONTINUE = struct.Struct('QIIiIQ6Q'), struct.Struct('QqiI'), 1
RECEIVE, SEND = 0xc0502100, 0xc0182101
PIDFD_OPEN, PIDFD_GETFD = 434, 438


class Compare(ctypes.Structure):
    _fields_ = [('arg', ctypes.c_uint), ('op', ctypes.c_int), ('a', ctypes.c_uint64), ('b', ctypes.c_uint64)]


class Call:
    def __init__(self, lib, text):
        name, *conditions = text.split(':')
        self.number = lib.seccomp_syscall_resolve_name(name.encode())
        assert self.number >= 0, text
        self.conditions = [(int(a), int(v, 0)) for a, v in (c.split('=') for c in conditions)]

    def add(self, lib, f, action):
        array = (Compare * len(self.conditions))(*[Compare(a, EQUAL, v, 0) for a, v in self.conditions])
        assert lib.seccomp_rule_add_array(f, action, self.number, len(array), array) == 0

    def matches(self, number, args):
        return number == self.number and all(args[a] == v for a, v in self.conditions)


class Supervised:
    """A rule that needs to know who calls, or what was called before."""

    def __init__(self, lib, text):
        text, _, self.script = text.partition('!')
        text, _, after = text.partition('@')
        self.who, _, text = text.rpartition('/')
        self.call = Call(lib, text)
        self.after = Call(lib, after) if after else None
        self.due = not after

    def denies(self, number, args, who):
        if self.after and self.after.matches(number, args):
            self.due, self.after = True, None
        if not self.due or self.who not in ('', who) or not self.call.matches(number, args):
            return False
        if self.script:
            self.due = False
            os.system(self.script)
        return not self.script


class Supervisor:
    def __init__(self, lib, rules, outer):
        self.lib, self.rules, self.outer, self.pid1 = lib, rules, outer, None
        self.fork, self.brk = (lib.seccomp_syscall_resolve_name(name) for name in (b'clone', b'brk'))

    def who(self, pid, number):
        """The program is forked by pid 1, with clone; pid 1 is made with clone3."""
        if pid == self.outer:
            return 'outer'
        if self.pid1 is None and number == self.fork:
            self.pid1 = pid
        return 'pid1' if self.pid1 in (None, pid) else 'program'

    def serve(self, listener):
        """Until the last process under the filter has gone."""
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        while not poll.poll()[0][1] & select.POLLHUP:
            question = bytearray(QUESTION.size)
            try:
                fcntl.ioctl(listener, RECEIVE, question)
                number_id, pid, _, number, _, _, *args = QUESTION.unpack(question)
                who = self.who(pid, number)
                denied = any([r.denies(number, args, who) for r in self.rules])
                # brk has no errors: where it does nothing it tells so by an end that is too low
                error = -1 if denied and number != self.brk else 0
                fcntl.ioctl(listener, SEND, ANSWER.pack(number_id, 0, error, 0 if denied else CONTINUE))
            except FileNotFoundError:
                # who asked has gone, or was interrupted and asks again
                pass


def supervise(lib, rules, channel):
    """In a process of its own: holds nothing of the launcher's but the listener."""
    libc, outer = ctypes.CDLL(None), os.getppid()
    pidfd = libc.syscall(PIDFD_OPEN, outer, 0)
    listener = libc.syscall(PIDFD_GETFD, pidfd, int(channel.recv(16)), 0)
    assert listener >= 0
    channel.send(b'x')
    high = fcntl.fcntl(listener, fcntl.F_DUPFD, 1000)
    os.closerange(0, high)
    os.closerange(high + 1, 65536)
    Supervisor(lib, rules, outer).serve(high)


def start_supervisor(lib, f, rules):
    """The socket on which it hears the listener's number, and says that it has it."""
    Call(lib, 'clone').add(lib, f, NOTIFY)
    mine, its = socket.socketpair()
    if os.fork() == 0:
        try:
            supervise(lib, rules, its)
        finally:
            os._exit(0)
    return mine


def main():
    at = sys.argv.index('--')
    lib = ctypes.CDLL('libseccomp.so.2')
    lib.seccomp_init.restype = ctypes.c_void_p
    f = ctypes.c_void_p(lib.seccomp_init(ALLOW))
    assert lib.seccomp_attr_set(f, CTL_NNP, 0) == 0
    supervised = [Supervised(lib, r) for r in sys.argv[1:at] if {'/', '@', '!'} & set(r)]
    for rule in sys.argv[1:at]:
        if not {'/', '@', '!'} & set(rule):
            Call(lib, rule).add(lib, f, ERRNO | 1)
    for rule in supervised:
        rule.call.add(lib, f, NOTIFY)
        if rule.after:
            rule.after.add(lib, f, NOTIFY)
    channel = start_supervisor(lib, f, supervised) if supervised else None
    assert lib.seccomp_load(f) == 0
    if channel:
        channel.send(str(lib.seccomp_notify_fd(f)).encode())
        assert channel.recv(1)
    os.execv(sys.argv[at + 1], sys.argv[at + 1:])


main()
