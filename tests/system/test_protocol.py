"""The socket as a stranger and as an enemy sees it."""
import json
import os
import pwd
import resource
import socket
import subprocess
import sys

import pytest

from conftest import BUILD, TOP, SANITIZED, USERS, project_of
from waiting import wait_for
from varlink import Varlink

SERVICE = 'org.varlink.service.'


@pytest.fixture
def link(isod):
    with Varlink(isod.socket) as v:
        yield v


def run_parameters(**more):
    return {'argv': ['/bin/true'], 'cwd': '/srv', 'env': [], 'named': [], 'policies': [], **more}


def null_fds():
    return [os.open('/dev/null', os.O_RDWR) for _ in range(3)]


def test_introspection(link):
    info = link.call(SERVICE + 'GetInfo')['parameters']
    assert 'org.isod' in info['interfaces'] and SERVICE[:-1] in info['interfaces']
    text = link.call(SERVICE + 'GetInterfaceDescription', {'interface': 'org.isod'})['parameters']['description']
    with open(os.path.join(TOP, 'proto/org.isod.varlink'), encoding='utf-8') as f:
        assert text == f.read()
    assert link.call(SERVICE + 'GetInterfaceDescription', {'interface': 'no.such'})['error'] == SERVICE + 'InterfaceNotFound'


def test_run_by_a_foreign_client(isod, link):
    r, w = os.pipe()
    fds = [os.open('/dev/null', os.O_RDONLY), w, os.open('/dev/null', os.O_WRONLY)]
    link.send('org.isod.Run', run_parameters(argv=['/bin/sh', '-c', 'echo hi; exit 5']), fds, more=True)
    for fd in fds:
        os.close(fd)
    started, ended = link.receive(), link.receive()
    assert started['continues'] is True and started['parameters']['event'] == 'started', started
    assert ended['parameters']['event'] == 'exited' and ended['parameters']['session']['exit'] == 5, ended
    with os.fdopen(r, 'rb') as f:
        assert f.read() == b'hi\n'


@pytest.mark.parametrize('bad,error', [
    (b'not json\0', None), (b'[]\0', None), (b'{}\0', None), (b'{"method":5}\0', None), (b'\0', None),
    (b'{"method":"org.isod.Status","method":"org.isod.Status"}\0', None),
    (b'{"method":"org.isod.Status"} x\0', None), (b'{"method":"org.isod.Status","x":1}\0', None),
    (b'{"method":"org.isod.Status","parameters":' + b'[' * 100 + b']' * 100 + b'}\0', None),
    (b'{"method":"org.isod.\\u0000Status"}\0', None), (b'{"method":"\xff"}\0', None)])
def test_malformed_messages(link, bad, error):
    link.send_raw(bad)
    reply = link.receive()
    assert reply is None or reply['error'].startswith(('org.isod.', SERVICE)), reply


@pytest.mark.parametrize('method,error', [('org.isod.NoSuch', 'MethodNotFound'), ('nodots', 'InterfaceNotFound'),
                                          ('no.such.Method', 'InterfaceNotFound')])
def test_unknown_methods(link, method, error):
    assert link.call(method)['error'] == SERVICE + error
    assert 'version' in link.call('org.isod.Status')['parameters']


@pytest.mark.parametrize('parameters', [
    {'all': 'yes'}, {}, {'all': True, 'more': 1}, {'all': None}, {'all': 1}])
def test_wrong_parameters(link, parameters):
    reply = link.call('org.isod.List', parameters)
    assert reply['error'] in (SERVICE + 'InvalidParameter', 'org.isod.Invalid'), reply
    assert link.call('org.isod.List', {'all': True})['parameters']['sessions'] is not None


def test_descriptors_where_none_belong(link, isod):
    fds = null_fds()
    reply = link.call('org.isod.Status', {}, fds)
    assert reply['error'] == 'org.isod.Invalid', reply
    for fd in fds:
        os.close(fd)


def test_too_many_descriptors(isod):
    fds = [os.open('/dev/null', os.O_RDONLY)] * 40
    with Varlink(isod.socket) as v:
        try:
            v.send('org.isod.Status', {}, fds)
            reply = v.receive()
        except OSError:
            reply = None
        assert reply is None or reply['error'] == 'org.isod.Invalid'
    os.close(fds[0])


@pytest.mark.parametrize('kind', ['file', 'directory', 'tty', 'device'])
def test_stdio_that_would_open_the_host(isod, link, kind, root_dir):
    if kind == 'file':
        path = os.path.join(root_dir, 'a-file')
        bad = os.open(path, os.O_RDWR | os.O_CREAT)
    elif kind == 'directory':
        bad = os.open('/', os.O_RDONLY)
    elif kind == 'tty':
        master, bad = os.openpty()
    else:
        bad = os.open('/dev/zero', os.O_RDONLY)
    null = os.open('/dev/null', os.O_RDWR)
    reply = link.call('org.isod.Run', run_parameters(), [bad, null, null], more=True)
    assert reply['error'] == 'org.isod.Refused', reply
    assert isod.run('true').rc == 0


@pytest.mark.parametrize('fds', [0, 1, 2, 4])
def test_wrong_number_of_stdio(link, fds):
    null = os.open('/dev/null', os.O_RDWR)
    reply = link.call('org.isod.Run', run_parameters(), [null] * fds, more=True)
    assert reply['error'] == 'org.isod.Invalid', reply
    os.close(null)


@pytest.mark.parametrize('cwd', ['/', '', 'relative', '../..', '/proc/self/fd/7', '/proc', '/sys', '/dev', '/srv/../etc', '/srv//x',
                                 '/no/such/dir', '/srv/\x00', 'x' * 5000])
def test_working_directories_that_cannot_be_meant(link, cwd):
    reply = link.call('org.isod.Run', run_parameters(cwd=cwd), null_fds(), more=True)
    assert reply is None or reply['error'].startswith(('org.isod.', SERVICE)), reply


@pytest.mark.parametrize('env', [[{'name': 'A B', 'value': 'x'}], [{'name': '', 'value': 'x'}], [{'name': 'PATH', 'value': '/'}] * 2,
                                 [{'name': 'A=B', 'value': 'x'}], [{'name': 'A'}], [{'name': 'A', 'value': 'x\x00y'}]])
def test_variables_that_cannot_be_meant(link, env):
    reply = link.call('org.isod.Run', run_parameters(env=env), null_fds(), more=True)
    assert reply['error'] in ('org.isod.Invalid', SERVICE + 'InvalidParameter'), reply


def test_the_daemon_filters_again(link):
    r, w = os.pipe()
    null = os.open('/dev/null', os.O_RDWR)
    env = [{'name': n, 'value': 'v'} for n in ('LD_PRELOAD', 'AWS_SECRET_ACCESS_KEY', 'TERM', 'NODE_OPTIONS', 'HTTPS_PROXY')]
    link.send('org.isod.Run', run_parameters(argv=['/usr/bin/env'], env=env), [null, w, null], more=True)
    os.close(w)
    assert link.receive()['parameters']['event'] == 'started'
    with os.fdopen(r, 'rb') as f:
        text = f.read().decode()
    assert 'TERM=v' in text and 'LD_PRELOAD' not in text and 'AWS_' not in text and 'NODE_OPTIONS' not in text
    assert 'HTTPS_PROXY=v' not in text


def test_an_administrators_layer_cannot_be_sent(link):
    for layer in ('administrator', 'built-in', 'x'):
        reply = link.call('org.isod.Run', run_parameters(policies=[{'layer': layer, 'path': 'x', 'text': '{}'}]), null_fds(), more=True)
        assert reply['error'] in ('org.isod.Invalid', 'org.isod.Refused', SERVICE + 'InvalidParameter'), reply
    reply = link.call('org.isod.Run', run_parameters(policies=[
        {'layer': 'user', 'path': 'mine', 'text': '{"hosts":{"ok.example":["127.0.0.1"]}}'}]), null_fds(), more=True)
    assert reply['error'] == 'org.isod.PolicyInvalid' and 'mine:1: hosts' in reply['parameters']['step'], reply


def test_half_a_frame_then_silence(isod):
    with Varlink(isod.socket, timeout=40) as v:
        v.send_raw(b'{"method":"org.isod.St')
        assert isod.sessions() is not None
        assert v.receive() is None


def test_a_frame_too_long(isod):
    with Varlink(isod.socket, timeout=120) as v:
        reply, chunk = None, b'{"method":"' + b'x' * (1 << 20)
        try:
            for _ in range(6):
                v.send_raw(chunk)
            reply = v.receive()
        except OSError:
            pass
        assert reply is None or 'error' in reply
    assert isod.run('true').rc == 0


def test_byte_by_byte(isod):
    with Varlink(isod.socket) as v:
        for b in b'{"method":"org.isod.Status"}\0':
            v.send_raw(bytes([b]))
        assert 'version' in v.receive()['parameters']


def test_pipelined_calls_are_answered_in_order(link):
    one = b'{"method":"org.isod.Status"}\0'
    two = b'{"method":"org.isod.List","parameters":{"all":false}}\0'
    link.send_raw(one + two + one)
    answers = [link.receive()['parameters'] for _ in range(3)]
    assert ['version' in a for a in answers] == [True, False, True] and 'more' in answers[1], answers


FLOOD = '''
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
done = 0
held = []
for i in range(int(sys.argv[2])):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    try:
        s.connect(sys.argv[1]); done += 1
        held.append(s)
    except OSError: s.close()
    if len(held) > 900: held.pop(0).close()
print(done)
'''


def test_ten_thousand_connections_do_not_hurt_others(isod):
    """One user floods, another works."""
    n = 2000 if SANITIZED else 10000
    flood = subprocess.Popen([sys.executable if os.access(sys.executable, os.X_OK) and not sys.executable.startswith('/root') else
                              '/usr/bin/python3', '-c', FLOOD, isod.socket, str(n)], user=USERS[1], stdout=subprocess.PIPE)
    worked = 0
    while flood.poll() is None:
        assert isod.run('true').rc == 0
        worked += 1
    assert flood.wait() == 0 and worked > 0
    assert isod.run('true').rc == 0


def test_quota_of_sessions_is_said_and_only_its_own(isod):
    """A client may not hold more connections than its share; root's or another user's stay possible."""
    with open(os.path.join(TOP, 'base/limits.h'), encoding='utf-8') as f:
        limit = int(next(line.split()[2] for line in f if line.startswith('#define LIMIT_CONNECTIONS_PER_UID')))
    code = ('import socket,sys\nh=[]\nfor i in range(int(sys.argv[2])):\n s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); h.append(s)\n'
            's.settimeout(10); print(s.recv(1) == b"", flush=True); sys.stdin.read()')
    p = subprocess.Popen(['/usr/bin/python3', '-c', code, isod.socket, str(limit + 5)], user=USERS[1], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
    assert p.stdout.readline() == b'True\n'
    assert isod.run('true').rc == 0
    p.communicate()


def test_stalled_reader_blocks_nobody(isod):
    r, w = os.pipe()
    null = os.open('/dev/null', os.O_RDWR)
    with Varlink(isod.socket) as v:
        for _ in range(200):
            v.send_raw(b'{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"org.isod"}}\0')
        assert isod.sessions() is not None
    for fd in (r, w, null):
        os.close(fd)


def test_argument_of_two_mib_is_refused_with_a_reason(link):
    reply = link.call('org.isod.Run', run_parameters(argv=['/bin/true', 'x' * (2 << 20)]), null_fds(), more=True)
    assert reply['error'] in ('org.isod.CannotExecute', 'org.isod.Invalid', 'org.isod.LimitExceeded'), reply
    assert len(reply['parameters']['message']) > 20


def test_every_message_is_a_sentence(isod, link):
    """No placeholder ever reaches a user."""
    for parameters in (run_parameters(cwd='/'), run_parameters(cwd='/nope'), run_parameters(argv=[]), run_parameters(argv=['/nope'])):
        reply = link.call('org.isod.Run', parameters, null_fds(), more=True)
        text = json.dumps(reply)
        assert 'error' in reply
        for hole in ('%s', '%d', '(null)', '${', '%m'):
            assert hole not in text, text
