"""Programs inside, and local clients, that try to get more than theirs."""
import os
import socket
import stat
import subprocess

import pytest

from conftest import USERS, project_of
from varlink import Varlink


@pytest.mark.parametrize('user', [USERS[0], 'root'])
def test_null_device_of_the_host_is_not_lent(isod, user):
    """Its owner could take its mode away from the whole machine, through the descriptor alone."""
    before = os.stat('/dev/null')
    script = '''
import os
for fd in (0, 1, 2):
    assert os.fstat(fd).st_rdev == os.makedev(1, 3)
    for attempt in (lambda: os.fchmod(fd, 0o600), lambda: os.utime(fd, (1, 1)), lambda: os.utime(fd),
                    lambda: os.chmod(f"/proc/self/fd/{fd}", 0o600)):
        try:
            attempt()
        except OSError:
            continue
        os._exit(9)
os._exit(7)
'''
    r = isod.run('python3', '-c', script, user=user, cwd='/srv' if user == 'root' else None, stdin=subprocess.DEVNULL,
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.stat('/dev/null')
    os.chmod('/dev/null', stat.S_IMODE(before.st_mode))
    assert (after.st_mode, after.st_ctime_ns) == (before.st_mode, before.st_ctime_ns)
    assert r.rc == 7


def test_fifos_and_sockets_are_relayed(isod, project):
    """Neither passes: a fifo is a file of the host, over a socket come descriptors. Both work all the same."""
    path = os.path.join(project, 'fifo')
    os.mkfifo(path)
    fifo = os.open(path, os.O_RDWR)
    ours, theirs = socket.socketpair()
    os.write(fifo, b'from the fifo\n')
    p = isod.popen('run', '-q', '--', 'sh', '-c', 'for i in 0 1 2; do readlink /proc/self/fd/$i; done; head -n 1',
                   stdin=fifo, stdout=theirs, stderr=theirs)
    theirs.close()
    out = b''
    while chunk := ours.recv(4096):
        out += chunk
    os.close(fifo)
    assert p.wait(120) == 0, out
    lines = out.decode().splitlines()
    assert len(lines) == 4 and all(line.startswith('pipe:[') for line in lines[:3]) and lines[3] == 'from the fifo', out


@pytest.mark.parametrize('kind', ['fifo', 'stream', 'seqpacket', 'listener'])
def test_fifos_and_sockets_do_not_pass(isod, root_dir, kind):
    keep = []
    if kind == 'fifo':
        path = os.path.join(root_dir, 'a-fifo')
        if not os.path.exists(path):
            os.mkfifo(path)
        bad = os.open(path, os.O_RDWR)
    elif kind == 'listener':
        keep.append(socket.socket(socket.AF_UNIX))
        keep[0].bind('\0isod-test-listener')
        keep[0].listen()
        bad = os.dup(keep[0].fileno())
    else:
        keep += socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM if kind == 'stream' else socket.SOCK_SEQPACKET)
        bad = os.dup(keep[0].fileno())
    null = os.open('/dev/null', os.O_RDWR)
    with Varlink(isod.socket) as v:
        for at in range(3):
            fds = [null] * 3
            fds[at] = bad
            reply = v.call('org.isod.Run', {'argv': ['true'], 'cwd': '/srv', 'env': [], 'named': [], 'policies': []}, fds, more=True)
            assert reply['error'] == 'org.isod.Refused', reply
    os.close(bad)
    os.close(null)


CALL_ISOD = '''
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print(s.recv(4096).decode())
'''


@pytest.mark.parametrize('user', [USERS[0], 'root'])
@pytest.mark.parametrize('how', [[], ['--nesting']])
def test_isod_serves_nobody_in_a_session(isod, user, how):
    """Whoever reaches isod could start a session with other rules; its socket may lie in any folder that is granted."""
    r = isod.run('python3', '-c', CALL_ISOD, isod.socket, options=['--allow-read', isod.run_dir, *how], user=user,
                 cwd='/srv' if user == 'root' else None)
    assert r.rc == 0 and '"error":"org.isod.Refused"' in r.text and 'sandbox' in r.text, r
    # A forked child that has ended when isod looks is nobody, whatever became of its connection.
    r = isod.run('python3', '-c', 'import os, sys\nif os.fork() == 0:\n import socket\n s = socket.socket(socket.AF_UNIX)\n'
                 ' s.connect(sys.argv[1]); s.send(b"{}\\0"); os._exit(0)\nos.wait()', isod.socket,
                 options=['--allow-read', isod.run_dir, *how], user=user, cwd='/srv' if user == 'root' else None)
    assert r.rc == 0 and isod.run('true').rc == 0, r


def test_isod_serves_nobody_of_another_user_namespace(isod):
    r = subprocess.run(['unshare', '-Ur', 'python3', '-c', CALL_ISOD, isod.socket], capture_output=True, timeout=120)
    assert b'org.isod.Refused' in r.stdout, r


@pytest.mark.parametrize('sizes, fits', [([200_000], True), ([262_145], False), ([131_072, 131_073], False), ([20_000] * 14, False)])
@pytest.mark.parametrize('method', ['Run', 'PolicyShow'])
def test_policies_of_a_call_are_bounded_together(isod, sizes, fits, method):
    policies = [{'layer': 'file', 'path': f'/p{i}', 'text': '{}' + ' ' * (size - 2)} for i, size in enumerate(sizes)]
    null = os.open('/dev/null', os.O_RDWR)
    with Varlink(isod.socket) as v:
        if method == 'Run':
            reply = v.call('org.isod.Run', {'argv': ['true'], 'cwd': '/srv', 'env': [], 'named': [], 'policies': policies}, [null] * 3,
                           more=True)
        else:
            reply = v.call('org.isod.PolicyShow', {'policies': policies})
    os.close(null)
    assert reply.get('error') == (None if fits else 'org.isod.LimitExceeded'), reply
