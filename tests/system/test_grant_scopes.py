"""isoctl grant: for one connection, and what show and sessions say of grants."""
import json
import os
import socket

from conftest import USERS, write
from test_reload import PORT, TUNNEL, session, user_policy  # noqa: F401
from waiting import wait_for


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
