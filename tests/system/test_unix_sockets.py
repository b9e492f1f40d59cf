"""Unix sockets of the host's services that a session is lent: these alone, with the caller's rights, and told."""
import json
import os
import pwd
import shutil
import socket
import struct
import subprocess
import threading

import pytest

from conftest import Isod, SANITIZED, USERS, write
from waiting import wait_for

GROUP = 61234  # nobody's
FOLDER = '/run/isod-test-services'
CLIENT = '''
import socket, struct, sys
for path in sys.argv[1:]:
    c = socket.socket(socket.AF_UNIX)
    try:
        c.connect(path)
        c.sendall(b'hello'); c.shutdown(socket.SHUT_WR)
        print(*struct.unpack('3i', c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)), file=sys.stderr)
        print(c.makefile().read())
    except OSError as e:
        print(type(e).__name__)
'''
# Closes its end before anybody can have answered.
SENDER = '''
import socket, sys
c = socket.socket(socket.AF_UNIX)
c.connect(sys.argv[1])
c.sendall(b'gone')
c.close()
sys.stdin.readline()
'''
# Sends more than all buffers on the way hold, and reads as much.
BIG = '''
import hashlib, socket, sys, threading
c = socket.socket(socket.AF_UNIX)
c.connect(sys.argv[1])
data = bytes(range(256)) * 65536
def send():
    c.sendall(data)
    c.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
got = b''
while d := c.recv(1 << 20):
    got += d
print(got == data)
'''

MANY = '''
import socket, sys, threading
wrong = []
def one():
    c = socket.socket(socket.AF_UNIX)
    c.connect(sys.argv[1])
    c.sendall(b"hello")
    c.shutdown(socket.SHUT_WR)
    if (d := c.makefile().read()) != 'HELLO':
        wrong.append(d)
threads = [threading.Thread(target=one) for _ in range(300)]
for t in threads: t.start()
for t in threads: t.join()
print(wrong)
'''
HOLDER = '''
import socket, sys
c = socket.socket(socket.AF_UNIX)
c.connect(sys.argv[1])
c.sendall(b'x')
c.recv(1)
open('up', 'w')
sys.stdin.readline()
'''


class Service:
    """Answers what it was sent, once that has ended, in upper case; or sends it back as it comes."""

    def __init__(self, path, owner=USERS[0], mode=0o600, echo=False):
        self.path, self.echo, self.peers, self.status, self.got = path, echo, [], {}, []
        self.socket = socket.socket(socket.AF_UNIX)
        if os.path.lexists(path):
            os.unlink(path)
        self.socket.bind(path)
        entry = pwd.getpwnam(owner)
        os.chown(path, entry.pw_uid, entry.pw_gid)
        os.chmod(path, mode)
        self.socket.listen()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            with c:
                self.peers.append(struct.unpack('3i', c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)))
                try:
                    with open(f'/proc/{self.peers[-1][0]}/status', encoding='ascii') as f:
                        self.status = dict(line.rstrip('\n').split(':\t', 1) for line in f if ':\t' in line)
                    self.status['fds'] = len(os.listdir(f'/proc/{self.peers[-1][0]}/fd'))
                except (FileNotFoundError, ProcessLookupError):
                    pass
                data = b''
                while d := c.recv(1 << 20):
                    data += d
                    if self.echo:
                        c.sendall(d)
                self.got.append(data)
                if not self.echo:
                    try:
                        c.sendall(data.upper())
                    except BrokenPipeError:
                        pass

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


@pytest.fixture
def services(users):
    """A folder that no session sees, and what makes services in it."""
    os.makedirs(FOLDER)
    started = []

    def start(name, **how):
        started.append(Service(os.path.join(FOLDER, name), **how))
        return started[-1]

    yield start
    for s in started:
        if s.socket.fileno() >= 0:
            s.stop()
    shutil.rmtree(FOLDER)


@pytest.fixture
def own(root_dir, users):
    d = Isod(root_dir, 'unix-sockets')
    d.start()
    yield d
    if d.process.poll() is None:
        d.stop()


def lend(isod, project, sockets, *argv, **how):
    path = os.path.join(project, 'policy.json')
    write(path, json.dumps({'sandbox': {'network': {'allowUnixSockets': sockets}, **how.pop('sandbox', {})}}))
    return isod.run(*argv, options=('-q', *isod.trust(path)), cwd=project, **how)


def begin(isod, project, *argv):
    """Under the policy that is there already."""
    isod.trust(os.path.join(project, 'policy.json'))
    return isod.popen('run', '-q', '--policy', 'policy.json', '--', *argv, cwd=project, stdin=subprocess.PIPE,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def client(*paths):
    return ['/usr/bin/python3', '-c', CLIENT, *paths]


def told(isod):
    return [e for e in isod.audit(isod.last_session()['id']) if e.get('via') == 'unix-socket']


def test_a_lent_socket(isod, project, services):
    """The service meets the caller's own ids; another socket of the folder is not there."""
    s, other = services('lent.sock'), services('other.sock', mode=0o666)
    r = lend(isod, project, [s.path], *client(s.path, other.path))
    assert r.text == 'HELLO\nFileNotFoundError\n', r
    assert r.errors == '1 0 0\n', r  # inside, the peer is the session's own pid 1, as it was
    entry = pwd.getpwnam(USERS[0])
    (pid, *ids), = s.peers
    assert pid > 1 and ids == [entry.pw_uid, entry.pw_gid] and not other.peers
    # which is a process without any right of its own: stdio, its way to isod-session, and what it is connecting just now
    assert s.status['Uid'].split() == [str(entry.pw_uid)] * 4 and s.status['Gid'].split() == [str(entry.pw_gid)] * 4, s.status
    assert {int(s.status[f'Cap{c}'], 16) for c in ('Inh', 'Prm', 'Eff', 'Bnd', 'Amb')} == {0} and s.status['NoNewPrivs'] == '1'
    assert s.status['fds'] <= 6 and (SANITIZED or s.status['Seccomp'] == '2'), s.status
    wait_for(lambda: told(isod), 'it is told')
    e, = told(isod)
    assert (e['verdict'], e['name'], e['bytesUp'], e['bytesDown']) == ('allow', s.path, 5, 5) and 'port' not in e, e
    assert 'python3' in e['program'] and e['pid'] > 1, e
    # the process that connected has gone with the session
    wait_for(lambda: not os.path.exists(f'/proc/{pid}'), 'the connector has ended')


def test_with_the_callers_rights(isod, project, services):
    """What the caller may not connect to, the session may not: isod is root, and its helpers another user."""
    s = services('root.sock', owner='root')
    r = lend(isod, project, [s.path], *client(s.path))
    assert 'HELLO' not in r.text and not s.peers, r
    wait_for(lambda: [e for e in told(isod) if e['reason'] == 'unreachable' and e['verdict'] == 'deny'], 'it is told')
    # by a group of the caller's, though
    os.chown(s.path, 0, GROUP)
    os.chmod(s.path, 0o660)
    for groups, text in (([], ''), ([GROUP], 'HELLO')):
        entry = pwd.getpwnam(USERS[0])
        r = subprocess.run([isod.client, 'run', '-q', '--policy', 'policy.json', '--', *client(s.path)], cwd=project,
                           user=entry.pw_uid, group=entry.pw_gid, extra_groups=groups, env=isod.environment(USERS[0], None),
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        assert (text == 'HELLO') == (r.stdout == b'HELLO\n'), r


def test_by_an_option(isod, project, services):
    s = services('option.sock')
    r = isod.run(*client(s.path), options=('-q', '--unix-socket', s.path), cwd=project)
    assert r.text == 'HELLO\n', r


def test_bytes(isod, project, services):
    s = services('echo.sock', echo=True)
    r = lend(isod, project, [s.path], '/usr/bin/python3', '-c', BIG, s.path)
    assert r.text == 'True\n', r
    quiet = services('quiet.sock')
    write(os.path.join(project, 'policy.json'), json.dumps({'sandbox': {'network': {'allowUnixSockets': [quiet.path]}}}))
    p = begin(isod, project, '/usr/bin/python3', '-c', SENDER, quiet.path)
    wait_for(lambda: quiet.got == [b'gone'], 'what was sent before the end arrives')
    p.communicate(b'\n', timeout=60)
    assert p.returncode == 0


def test_a_service_that_starts_anew(isod, project, services):
    """Its socket is another file at the same path; before it is there, connections are closed."""
    path = os.path.join(FOLDER, 'late.sock')
    ask = '; '.join(['import subprocess, sys', 'run = lambda: subprocess.run([sys.executable, "-c", *sys.argv[1:]])', 'run()',
                     'open("asked", "w")', 'sys.stdin.readline()', 'run()'])
    write(os.path.join(project, 'policy.json'), json.dumps({'sandbox': {'network': {'allowUnixSockets': [path]}}}))
    p = begin(isod, project, '/usr/bin/python3', '-c', ask, CLIENT, path)
    wait_for(lambda: os.path.exists(os.path.join(project, 'asked')), 'nobody was there')
    os.rmdir(FOLDER)
    os.mkdir(FOLDER)
    services('late.sock')
    out, _ = p.communicate(b'\n', timeout=60)
    assert out.decode().split('\n')[-2] == 'HELLO', out


def test_more_than_wait_anywhere(isod, project, services):
    """More than are served at a time, for a service that takes two at a time."""
    s = services('slow.sock')
    s.socket.listen(2)
    assert lend(isod, project, [s.path], '/usr/bin/python3', '-c', MANY, s.path).text == '[]\n'


def test_the_connector_is_nobodys(own, project, services):
    """Its user cannot look into it; it does not outlive a killed isod."""
    s = services('held.sock', echo=True)
    write(os.path.join(project, 'policy.json'), json.dumps({'sandbox': {'network': {'allowUnixSockets': [s.path]}}}))
    p = begin(own, project, '/usr/bin/python3', '-c', HOLDER, s.path)
    wait_for(lambda: os.path.exists(os.path.join(project, 'up')), 'it is connected')
    fds = f'/proc/{s.peers[0][0]}/fd'
    assert len(os.listdir(fds)) == 4
    entry = pwd.getpwnam(USERS[0])
    r = subprocess.run(['ls', fds], user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], capture_output=True, check=False)
    assert b'Permission denied' in r.stderr, r
    own.process.kill()
    own.process.wait()
    wait_for(lambda: not os.path.exists(fds), 'the connector has ended')
    p.communicate(timeout=60)


# The rest is in tests/unit/control/test_plan_build.c.
REFUSED = {
    '/var/run/docker.sock': ('container engine', 'start containers outside'),
    '/tmp/ssh-abc/agent.12': ('ssh-agent', 'sandbox.sshAgent'),
    '/usr/x.sock': ('one of the system', 'a path in /run'),
    '/etc/hostname': ('is no socket', 'Take it out'),
}


@pytest.mark.parametrize('path', REFUSED)
def test_what_is_refused(isod, project, path):
    r = lend(isod, project, [path], 'true')
    message, remedy = REFUSED[path]
    assert r.rc == 125 and message in r.errors and remedy in r.errors, r


def test_links(isod, project, services):
    """The socket itself is no link; a folder on the way is no link of others."""
    s = services('lent.sock', mode=0o666)
    link, folder = os.path.join(FOLDER, 'link.sock'), FOLDER + '-link'
    os.symlink(s.path, link)
    r = lend(isod, project, [link], 'true')
    assert r.rc == 125 and 'is a link' in r.errors and 'Name the path that it leads to' in r.errors, r
    os.symlink(FOLDER, folder)
    try:
        through = os.path.join(folder, 'lent.sock')
        assert lend(isod, project, [through], *client(through)).text == 'HELLO\n'  # root's
        os.lchown(folder, pwd.getpwnam(USERS[1]).pw_uid, -1)
        r = lend(isod, project, [through], 'true')
        assert r.rc == 125 and 'belongs to uid' in r.errors, r
    finally:
        os.unlink(folder)


def test_in_a_granted_folder(isod, project):
    """Nothing is made in a folder of the host's: there the socket stands as it is, unless a rule denies it."""
    path = os.path.join(project, 's.sock')
    s = Service(path)
    try:
        before = sorted(os.listdir(project))
        assert lend(isod, project, [path, os.path.join(project, 'none.sock')], *client(path)).text == 'HELLO\n'
        assert [n for n in os.listdir(project) if n not in before] == ['policy.json']
        r = lend(isod, project, [path], *client(path), sandbox={'filesystem': {'denyRead': [path]}})
        assert 'HELLO' not in r.text and len(s.peers) == 1, r
    finally:
        s.stop()
