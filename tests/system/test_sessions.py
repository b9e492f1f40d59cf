"""Listing, showing, killing, and the audit log."""
import json
import os
import subprocess

import pytest

from conftest import Isod, USERS, project_of
from varlink import Varlink
from waiting import wait_for


def start(isod, *options, user=USERS[0], script='echo up; exec sleep 1000'):
    p = isod.popen('run', '-q', *options, '--', 'sh', '-c', script, user=user, stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    return p


def test_list_show_kill(isod):
    p = start(isod, '--name', 'worker')
    running = [s for s in isod.sessions() if s['state'] == 'running']
    assert len(running) == 1
    s = running[0]
    assert s['name'] == 'worker' and s['argv'][:2] == ['sh', '-c'] and s['project'] == project_of(USERS[0])
    assert s['ended'] is None and s['exit'] is None and s['started'].endswith('Z')
    shown = json.loads(isod.ctl('show', '--json', s['id']).out)
    assert shown['session']['id'] == s['id'] and 'policy' in shown
    assert isod.ctl('show', 'worker').rc == 0
    assert isod.ctl('kill', s['id']).rc == 0
    assert p.wait(120) == 137
    ended = [x for x in isod.sessions('--all') if x['id'] == s['id']][0]
    assert ended['state'] == 'ended' and ended['exit'] == 137 and ended['ended'] >= s['started']


def test_kill_with_a_signal(isod):
    p = start(isod, script='trap "exit 3" USR1; echo up; while :; do sleep 0.05; done')
    s = [s for s in isod.sessions() if s['state'] == 'running'][0]
    assert isod.ctl('kill', '--signal', 'USR1', s['id']).rc == 0
    assert p.wait(120) == 3


def test_nobody_sees_another_users_session(isod):
    p = start(isod)
    s = [s for s in isod.sessions() if s['state'] == 'running'][0]
    assert isod.sessions('--all', user=USERS[1]) == [x for x in isod.sessions('--all', user=USERS[1]) if x['uid'] != s['uid']]
    for command in ('show', 'log', 'kill'):
        r = isod.ctl(command, s['id'], user=USERS[1])
        assert r.rc != 0 and 'no such session' in r.errors.lower(), r
    assert p.poll() is None
    assert s['id'] in [x['id'] for x in isod.sessions(user='root')]
    assert isod.ctl('kill', s['id'], user='root').rc == 0
    p.wait(120)


def test_audit_of_a_run(isod):
    isod.run('sh', '-c', 'exit 3', 'a"b\n', b'\xff')
    s = isod.last_session()
    events = isod.audit(s['id'])
    begin, end = events[0], events[-1]
    assert begin['event'] == 'session.start' and begin['argv'][:2] == ['sh', '-c'] and begin['argv'][3] == 'a"b\n'
    assert os.fsencode(begin['argv'][4]) == b'\xff'
    assert len(begin['policy']) == 64 and begin['project'] == project_of(USERS[0]) and begin['uid'] == s['uid']
    assert end['event'] == 'session.exit' and end['exit'] == 3
    assert all(e['session'] == s['id'] and e['time'].endswith('Z') for e in events)


def test_audit_files_are_out_of_reach(isod):
    isod.run('true')
    s = isod.last_session()
    path = os.path.join(isod.state_dir, 'audit', s['id'] + '.jsonl')
    st = os.stat(path)
    assert st.st_mode & 0o777 == 0o600
    import pwd
    assert st.st_uid == pwd.getpwnam('isod').pw_uid
    p = subprocess.run(['cat', path], user=USERS[0], capture_output=True)
    assert p.returncode != 0


def test_failed_start_is_in_the_log_and_nothing_ran(isod, project):
    mark = os.path.join(project, 'ran')
    r = isod.run('touch', mark, cwd='/')
    assert r.rc == 125 and not os.path.exists(mark)


def test_audit_log_is_bounded(users, root_dir):
    """The oldest files go, by a daemon that otherwise can remove nothing; that they went is written down."""
    d = Isod(root_dir, 'bounded').start()
    try:
        assert d.run('true').rc == 0
        user = d.last_session()['id']
        audit = os.path.join(d.state_dir, 'audit')
        with Varlink(d.socket) as c:
            for i in range(1001):
                reply = c.call('org.isod.Run', {'argv': ['true'], 'cwd': '/', 'env': [], 'named': [], 'policies': []},
                               more=True)
                assert reply['error'] == 'org.isod.Invalid'
                if i == 0:
                    first = {name for name in os.listdir(audit) if name.endswith('.jsonl')} - {user + '.jsonl'}
        assert len(first) == 1
        kept = {name for name in os.listdir(audit) if name.endswith('.jsonl')}
        assert len(kept) == 1001 and user + '.jsonl' in kept and not first & kept, len(kept)
        r = d.ctl('log', 'verify', '--all', user='root')
        assert r.rc == 0 and r.text.startswith('1001 sessions, '), r
    finally:
        d.stop()


def test_names_are_checked_and_unknown_sessions_said(isod):
    for bad in ('../../etc/passwd', 'x/y', '0' * 12, ''):
        r = isod.ctl('show', bad)
        assert r.rc != 0 and r.out == b'', r


def test_escape_codes_do_not_reach_the_terminal(isod):
    isod.run('true', '\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m')
    s = isod.last_session()
    for args in (['sessions', '--all'], ['show', s['id']], ['log', s['id']]):
        r = isod.ctl(*args)
        assert r.rc == 0 and b'\x1b' not in r.out and b'\x07' not in r.out and b'\xc2\x9b' not in r.out, r


def test_log_lines_cannot_be_forged(isod):
    code = ('import socket; s=socket.create_connection(("127.0.0.1",61080)); '
            's.sendall(b\'CONNECT x.example\\\\n{"verdict":"allow"}:443 HTTP/1.1\\r\\n\\r\\n\'); s.recv(99)')
    isod.run('/usr/bin/python3', '-c', code)
    r = isod.ctl('log', '--json', isod.last_session()['id'])
    for line in r.out.decode().splitlines():
        e = json.loads(line)
        assert e.get('verdict') != 'allow'


def test_log_follow(isod):
    p = start(isod)
    s = [s for s in isod.sessions() if s['state'] == 'running'][0]
    follower = isod.popen('log', '--json', '--follow', s['id'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert json.loads(follower.stdout.readline())['event'] == 'session.start'
    assert isod.ctl('kill', s['id']).rc == 0
    rest = [json.loads(line)['event'] for line in follower.stdout]
    assert rest[-1] == 'session.exit'
    assert follower.wait(120) == 0
    p.wait(120)
