"""Ports of a session on the host's loopback: who gets in, where it leads, what is told."""
import os
import pwd
import socket
import subprocess

import pytest

from conftest import USERS
from waiting import wait_for

# Serves one connection after the other: answers what it got in capitals, then ends its side.
SERVER = '''
import socket, sys
s = socket.socket(getattr(socket, sys.argv[1]))
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[2], int(sys.argv[3])))
s.listen()
print('ready', flush=True)
while True:
    c, peer = s.accept()
    while True:
        d = c.recv(65536)
        if not d: break
        c.sendall(d.upper())
    c.close()
'''
CLIENT = '''
import socket, sys
c = socket.create_connection((sys.argv[1], int(sys.argv[2])))
try:
    c.sendall(sys.argv[3].encode())
    c.shutdown(socket.SHUT_WR)
    print(c.makefile().read(), end='')
except OSError:
    pass
'''


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def ask(user, port, text='hello', host='127.0.0.1'):
    """What a program of that user gets from the port."""
    entry = pwd.getpwnam(user)
    return subprocess.run(['/usr/bin/python3', '-c', CLIENT, host, str(port), text], user=entry.pw_uid, group=entry.pw_gid,
                          capture_output=True, text=True, timeout=60, check=True).stdout


class Serving:
    """A session in which a server listens; ended with the block."""

    def __init__(self, isod, *publish, family='AF_INET', address='127.0.0.1', port=8000, policy=None):
        options = [o for p in publish for o in ('--publish', p)]
        self.isod = isod
        self.process = isod.popen('run', *options, '--', 'python3', '-c', SERVER, family, address, str(port),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        line = self.process.stdout.readline()
        assert line == b'ready\n', self.process.communicate()
        self.session = [s for s in self.isod.sessions() if s['state'] == 'running'][0]
        return self

    def __exit__(self, *_):
        self.isod.ctl('kill', self.session['id'])
        self.process.wait(60)
        self.errors = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()

    def told(self):
        return [e for e in self.isod.audit(self.session['id']) if e.get('via') == 'publish']


@pytest.mark.parametrize('family, address', [('AF_INET', '127.0.0.1'), ('AF_INET', '0.0.0.0'), ('AF_INET6', '::1'),
                                             ('AF_INET6', '::')])
def test_a_server_inside_is_reached(isod, family, address):
    port = free_port()
    with Serving(isod, f'{port}:80', family=family, address=address, port=80) as s:
        assert s.session['published'] == [{'host': port, 'inside': 80}]
        assert ask(USERS[0], port) == 'HELLO'
        assert ask(USERS[0], port, host='::1') == 'HELLO'
        assert ask('root', port) == 'HELLO'
        assert len(ask(USERS[0], port, 'x' * 100000)) == 100000
        assert f'127.0.0.1:{port} leads to its port 80' in isod.ctl('sessions').text
        assert f'127.0.0.1:{port} leads to its port 80' in isod.ctl('show', s.session['id']).text
        wait_for(lambda: len(s.told()) == 4, 'the connections are told')
        told = s.told()
    assert f'Port {port} of this machine (127.0.0.1) leads to port 80 of the sandbox' in s.errors
    assert {(e['verdict'], e['port'], e['reason']) for e in told} == {('allow', 80, 'allowed')}
    assert {e['peerUid'] for e in told} == {0, pwd.getpwnam(USERS[0]).pw_uid}
    assert (told[0]['bytesDown'], told[0]['bytesUp']) == (5, 5)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.1', port))


def test_other_users_are_closed_out(isod):
    with Serving(isod, ':8000') as s:
        port = s.session['published'][0]['host']
        assert ask(USERS[1], port) == ''
        assert ask(USERS[1], port, host='::1') == ''
        assert ask(USERS[0], port) == 'HELLO'
        wait_for(lambda: len(s.told()) >= 2, 'both users are told')
        denied = [e for e in s.told() if e['verdict'] == 'deny']
    assert denied[0]['reason'] == 'other-user' and denied[0]['peerUid'] == pwd.getpwnam(USERS[1]).pw_uid
    assert denied[0]['port'] == 8000


def test_nobody_listens(isod):
    with Serving(isod, ':8001') as s:
        assert ask(USERS[0], s.session['published'][0]['host']) == ''
        wait_for(s.told, 'the connection is told')
        assert [(e['verdict'], e['reason'], e['port']) for e in s.told()] == [('deny', 'unreachable', 8001)]


def test_a_port_that_is_taken_ends_the_start(isod):
    for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
        with socket.socket(family) as taken:
            taken.bind((address, 0))
            taken.listen()
            port = taken.getsockname()[1]
            r = isod.run('true', options=('--publish', str(port)))
        assert r.rc == 125, r
        assert f'Port {port} of the host cannot be published: something listens on it already' in r.errors
        assert 'let isod choose (--publish :PORT)' in r.errors
    # nothing is left of the failed ones
    assert isod.run('true', options=('--publish', str(port))).rc == 0


def test_forms(isod):
    for text, words in (('80', 'below 1024'), ('0', 'is no port'), ('70000', 'is no port'), ('a:80', 'is no port'),
                        (':61080', 'belongs to isod'), ('1023:8000', 'below 1024')):
        r = isod.run('true', options=('--publish', text))
        assert r.rc == 125 and words in r.errors, (text, r)
    r = isod.run('true', options=('--publish', '8000:1', '--publish', '8000:2'))
    assert r.rc == 125 and 'Port 8000 of the host leads to port 1 already' in r.errors, r


def test_the_last_words_of_a_server_arrive(isod):
    """It answers and ends: what it has sent is handed on before the session closes its sockets."""
    script = ('import socket; s = socket.create_server(("127.0.0.1", 8000)); print("ready", flush=True);'
              'c, a = s.accept(); c.recv(9); c.sendall(b"z" * 300000)')
    port = free_port()
    p = isod.popen('run', '--publish', f'{port}:8000', '--', 'python3', '-c', script, stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert p.stdout.readline() == b'ready\n'
    assert len(ask(USERS[0], port)) == 300000
    assert p.wait(60) == 0
    p.stdout.close()


def test_more_at_a_time_than_are_served(isod):
    """Those beyond the limit wait in the kernel, and have their turn when others have ended."""
    many = ('import socket, sys; all = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(300)];'
            'sys.stdin.read()')
    entry = pwd.getpwnam(USERS[0])
    with Serving(isod, ':8000') as s:
        port = s.session['published'][0]['host']
        crowd = subprocess.Popen(['/usr/bin/python3', '-c', many, str(port)], user=entry.pw_uid, group=entry.pw_gid,
                                 stdin=subprocess.PIPE)
        session = isod.helpers_named('isod-session')[0]
        wait_for(lambda: len(os.listdir(f'/proc/{session}/fd')) > 2 * 256, 'as many as may are served')
        assert len(os.listdir(f'/proc/{session}/fd')) < 2 * 256 + 40
        waiting = CLIENT.replace('try:', "print('up', flush=True)\ntry:")
        late = subprocess.Popen(['/usr/bin/python3', '-c', waiting, '127.0.0.1', str(port), 'hello'], user=entry.pw_uid,
                                group=entry.pw_gid, stdout=subprocess.PIPE)
        assert late.stdout.readline() == b'up\n'
        crowd.communicate()
        assert late.communicate(timeout=60)[0] == b'HELLO'
