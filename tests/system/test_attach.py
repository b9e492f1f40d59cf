"""Sessions that are left and found again: run -d, attach, watch, take, detach, wait, what is kept after the end."""
import os
import pwd
import signal

import pexpect
import pytest

from conftest import USERS, project_of
from waiting import wait_for

SPAWNED = []


@pytest.fixture(autouse=True)
def close_clients(isod):
    yield
    while SPAWNED:
        SPAWNED.pop().close(force=True)
    for s in isod.sessions():
        isod.ctl('kill', s['id'])


def spawn(isod, *args, size=(24, 80), user=USERS[0], timeout=60):
    entry = pwd.getpwnam(user)
    child = pexpect.spawn('setpriv', [f'--reuid={entry.pw_uid}', f'--regid={entry.pw_gid}', '--init-groups', isod.client, *args],
                          cwd=project_of(user), env=isod.environment(user), dimensions=size, timeout=timeout, encoding=None)
    child.delaybeforesend = None
    SPAWNED.append(child)
    return child


def finish(child):
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus


def detached(isod, *args, options=('-t',)):
    r = isod.ctl('run', '-d', '-q', *options, '--', *args)
    assert r.rc == 0, r
    return r.text.strip()


def session(isod, name):
    return next(s for s in isod.sessions('--all') if name in (s['id'], s['name']))


def test_detached_with_terminal_is_attached_left_and_ends(isod):
    s = detached(isod, 'sh', '-c', 'read a; echo "got $a"; read b; echo "then $b"; exit 7')
    assert session(isod, s)['clients'] == 0
    c = spawn(isod, 'attach', s)
    c.send(b'one\r')
    c.expect(b'got one')
    assert session(isod, s)['clients'] == 1
    c.send(b'\x10\x11')
    c.expect(b'detached')
    assert finish(c) == 0
    wait_for(lambda: session(isod, s)['clients'] == 0, 'the client is gone')
    waiter = isod.popen('wait', s)
    c = spawn(isod, 'attach', s)
    c.send(b'two\r')
    c.expect(b'then two')
    assert finish(c) == 7
    assert waiter.wait(60) == 7
    assert isod.ctl('wait', s).rc == 7


def test_foreground_is_left_by_keys(isod):
    c = spawn(isod, 'run', '-n', 'fore', '--', 'sh', '-c', 'echo up; read a; echo "got $a"; exit 3')
    c.expect(b'up')
    c.send(b'\x10\x11')
    c.expect(b'isoctl attach')
    assert finish(c) == 0
    c = spawn(isod, 'attach', 'fore')
    c.send(b'x\r')
    c.expect(b'got x')
    assert finish(c) == 3


def test_one_drives_and_others_watch(isod):
    s = detached(isod, 'cat')
    first = spawn(isod, 'attach', s)
    first.send(b'hello\r')
    first.expect(b'hello')
    busy = spawn(isod, 'attach', s)
    busy.expect(b'--take')
    assert finish(busy) == 123
    watcher = spawn(isod, 'attach', '--watch', s)
    wait_for(lambda: session(isod, s)['clients'] == 2, 'both are there')
    watcher.send(b'not this\r')
    first.send(b'seen\r')
    watcher.expect(b'seen')
    second = spawn(isod, 'attach', '--take', s)
    first.expect(b'another client drives')
    first.send(b'nor this\r')
    second.send(b'taken\r')
    watcher.expect(b'taken')
    first.expect(b'taken')
    assert b'this' not in watcher.before
    first.send(b'\x03')
    assert finish(first) == 0
    watcher.send(b'\x03')
    assert finish(watcher) == 0
    second.send(b'\x04')
    assert finish(second) == 0


def test_nobody_reads_a_detached_session(isod):
    s = detached(isod, 'sh', '-c', 'head -c 20000000 /dev/zero | tr "\\0" x; touch done; sleep 1000')
    path = os.path.join(project_of(USERS[0]), 'done')
    wait_for(lambda: os.path.exists(path), 'all is written')
    os.unlink(path)
    isod.ctl('kill', s)


def test_output_without_terminal_is_kept(isod):
    s = detached(isod, 'sh', '-c', 'seq 1 20000; echo problem >&2; exit 5', options=('-T',))
    assert isod.ctl('wait', s).rc == 5
    r = isod.ctl('attach', s)
    assert r.rc == 5 and r.text.endswith('19999\n20000\n') and 30000 < len(r.text) < 70000, r
    assert 'problem' in r.errors
    again = isod.ctl('attach', s)
    assert again.rc == 125 and 'nothing is kept' in again.errors, again


def test_another_uid_has_no_such_session(isod):
    s = detached(isod, 'sleep', '1000')
    for command in ('attach', 'wait'):
        r = isod.ctl(command, s, user=USERS[1])
        assert r.rc == 125 and 'no such session' in r.errors, r
    isod.ctl('kill', s)
    assert isod.ctl('wait', s).rc == 137
