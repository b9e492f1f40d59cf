"""isoctl grant: for one connection, and what show and sessions say of grants."""
import json
import os
import pwd
import shutil
import socket

import pexpect
import pytest

from conftest import USERS, write
from test_reload import PORT, TUNNEL, session, user_policy  # noqa: F401
from waiting import wait_for


def become(user):
    entry = pwd.getpwnam(user)

    def change():
        os.setgroups([])
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
    return change


def shown(isod, s):
    return json.loads(isod.ctl('show', '--json', s.id).out)['session']['grants']


def open_tunnel(s, program, host, server):
    s.tell(f'python3 -u {program} {host} {PORT} &')
    c = server.accept()[0]
    c.settimeout(60)
    assert c.recv(16) == host.encode()
    return c


def test_once(isod, user_policy, session, project):
    """The first connection has it until it ends; nobody else, and nobody afterwards. New rules do not close it, a
    revocation does."""
    user_policy()
    program = os.path.join(project, 'tunnel.py')
    write(program, TUNNEL)
    s = session()
    with socket.create_server(('127.0.0.77', PORT)) as server:
        server.settimeout(60)
        assert isod.ctl('grant', '--once', '--for', '1h', s.id, f'ok.example:{PORT}').rc == 0
        (grant,) = shown(isod, s)
        assert (grant['host'], grant['scope'], grant['used']) == (f'ok.example:{PORT}', 'once', False) and grant['ends'] > '2'
        c = open_tunnel(s, program, 'ok', server)
        wait_for(lambda: s.events('grant.used'), 'its use is told')
        assert shown(isod, s)[0]['used'] is True
        assert 'for one connection, which is open, until' in isod.ctl('sessions').text
        assert s.curl(f'http://ok.example:{PORT}/') == '403'
        s.reload()
        assert s.curl(f'http://ok.example:{PORT}/') == '403'
        c.sendall(b'x')
        assert s.line() == 'closed ok\n'
        c.close()
        wait_for(lambda: not shown(isod, s), 'it is gone')
        assert s.curl(f'http://ok.example:{PORT}/') == '403'

        assert isod.ctl('grant', '--once', s.id, f'ok.example:{PORT}').rc == 0
        c = open_tunnel(s, program, 'ok', server)
        wait_for(lambda: s.events('grant.used')[1:], 'its use is told')
        r = isod.ctl('revoke', s.id, f'ok.example:{PORT}')
        assert r.out == b'connections closed: 1\n', r
        assert s.line() == 'closed ok\n'
        c.close()
    assert [e['scope'] for e in s.events('grant')] == ['once', 'once']
    assert [e['seconds'] for e in s.events('grant') if 'seconds' in e] == [3600]
    policy = json.loads(isod.ctl('show', '--json', s.id).out)['policy']['sandbox']['network']
    assert policy['allowedDomains'] == []


def test_once_ends_by_itself(isod, user_policy, session, project):
    """Used or not: with its time its connection is closed."""
    user_policy()
    program = os.path.join(project, 'tunnel.py')
    write(program, TUNNEL)
    s = session()
    with socket.create_server(('127.0.0.77', PORT)) as server:
        server.settimeout(60)
        assert isod.ctl('grant', '--once', '--for', '3s', s.id, f'ok.example:{PORT}').rc == 0
        c = open_tunnel(s, program, 'ok', server)
        assert s.line() == 'closed ok\n'
        c.close()
    assert [e['rule'] for e in s.events('grant.expired')] == [f'ok.example:{PORT}']
    assert not shown(isod, s)


@pytest.fixture
def projects():
    """Files of the first user's projects are removed afterwards."""
    path = os.path.expanduser(f'~{USERS[0]}/.config/isod/projects')
    shutil.rmtree(path, ignore_errors=True)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def test_for_the_project(isod, web, user_policy, session, projects, project):
    """Written to a file of the user's outside the project; holds in this session and in those of the same folder."""
    user_policy()
    s = session()
    r = isod.ctl('grant', '--project', s.id, 'ok.example')
    assert r.rc == 1 and '--yes' in r.errors and not os.path.exists(projects), r
    r = isod.ctl('grant', '--project', '--yes', s.id, 'OK.example')
    assert r.rc == 0 and '+ ok.example' in r.errors, r
    (name,) = os.listdir(projects)
    stat = os.stat(os.path.join(projects, name))
    assert name.startswith('proj-') and stat.st_mode & 0o777 == 0o600 and stat.st_uid == pwd.getpwnam(USERS[0]).pw_uid
    assert s.curl('http://ok.example/hello') == '200'
    last = s.events('connection')[-1]
    assert last['from'] == 'user' and last['file'].endswith(name), last
    curl = 'curl -sS -o /dev/null -w "%{http_code}" http://ok.example/hello'
    assert isod.sh(curl).out == b'200'
    assert isod.sh(curl, cwd=project).out == b'403'
    assert 'ok.example' in isod.ctl('policy', 'show').text
    # What is inside the session cannot write there, not even where the folder is granted.
    r = isod.sh('echo x >>~/.config/isod/projects/*.json; echo $?',
                options=['--allow-write', f'{os.path.dirname(os.path.dirname(projects))}'])
    assert r.out.strip() != b'0', r
    assert isod.ctl('grant', '--project', '--yes', s.id, 'ok.example').rc == 0
    os.unlink(os.path.join(projects, name))
    s.reload()
    assert s.curl('http://ok.example/hello') == '403'


def test_always(isod, web, user_policy, session, projects):
    """In the user's own policy, whose other lines stay; reviewed on the terminal."""
    path = os.path.expanduser(f'~{USERS[0]}/.config/isod/policy.json')
    user_policy()
    text = '// mine\n{ "sandbox": { "network": {\n  "deniedDomains": ["evil.example"] // why\n} } }\n'
    write(path, text, mode=0o640, owner=pwd.getpwnam(USERS[0]))
    s = session()
    for answer, code in (('n', 1), ('y', 0)):
        child = pexpect.spawn(isod.client, ['grant', '--always', s.id, 'ok.example:80'], env=isod.environment(USERS[0]),
                              preexec_fn=become(USERS[0]), timeout=60)
        child.expect_exact('+ ok.example:80')
        child.expect_exact('[y/N]')
        child.sendline(answer)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == code, child.before
    with open(path, encoding='utf-8') as f:
        assert f.read() == text.replace('{\n  "den', '{\n  "allowedDomains": ["ok.example:80"],\n  "den')
    assert os.stat(path).st_mode & 0o777 == 0o640
    assert s.curl('http://ok.example/hello') == '200'
    for arguments, said in ((['--yes', s.id, 'evil.example'], 'denies'), (['--for', '1h', s.id, 'two.example'], '--for')):
        r = isod.ctl('grant', '--always', *arguments)
        assert r.rc != 0 and said in r.errors, r
    r = isod.ctl('grant', '--always', '--yes', s.id, 'two.example', user='root')
    assert r.rc == 1 and 'another user' in r.errors, r
    write(path, text, mode=0o666, owner=pwd.getpwnam(USERS[0]))
    r = isod.ctl('grant', '--always', '--yes', s.id, 'two.example')
    assert r.rc == 1 and 'others may write' in r.errors, r
    with open(path, encoding='utf-8') as f:
        assert f.read() == text
    write(path, '{ "mistake": 1 }', owner=pwd.getpwnam(USERS[0]))
    r = isod.ctl('grant', '--always', '--yes', s.id, 'two.example')
    assert r.rc == 1 and 'mistake' in r.errors, r
