"""Rules about hosts that change while a session runs: isoctl policy reload."""
import contextlib
import json
import os
import pwd
import socket
import subprocess

import pytest

from conftest import USERS, write
from waiting import wait_for

PORT = 8177
KEPT = '''import http.client, sys
c = http.client.HTTPConnection('127.0.0.1', 61080)
for path in ('first', 'second'):
    c.request('GET', 'http://ok.example:%s/%s' % (sys.argv[1], path))
    r = c.getresponse()
    r.read()
    print(r.status)
    sys.stdin.readline() if path == 'first' else None
'''
TUNNEL = '''import socket, sys
s = socket.create_connection(('127.0.0.1', 61080))
s.sendall(b'CONNECT %s.example:%s HTTP/1.1\\r\\n\\r\\n' % (sys.argv[1].encode(), sys.argv[2].encode()))
s.recv(4096)
s.sendall(sys.argv[1].encode())
try:
    s.recv(1)
except ConnectionResetError:
    pass
print('closed', sys.argv[1])
'''


@pytest.fixture
def user_policy(users):
    """Writes the first user's own policy; removed afterwards."""
    path = os.path.expanduser(f'~{USERS[0]}/.config/isod/policy.json')

    def put(allow=(), deny=(), **more):
        document = {'sandbox': {'network': {'allowedDomains': list(allow), 'deniedDomains': list(deny)}}, **more}
        write(path, json.dumps(document), owner=pwd.getpwnam(USERS[0]))
    yield put
    if os.path.exists(path):
        os.unlink(path)


@pytest.fixture
def session(isod):
    """Starts a shell that takes commands from a pipe and answers each with a last line "end N"."""
    started = []

    class Session:
        def __init__(self, *options):
            self.process = isod.popen('run', *options, '--', 'sh', stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL)
            started.append(self.process)
            self.sh('true')
            self.id = isod.last_session()['id']

        def tell(self, script):
            self.process.stdin.write(script.encode() + b'\n')
            self.process.stdin.flush()

        def line(self):
            return self.process.stdout.readline().decode()

        def sh(self, script):
            self.tell(f'{script}; echo; echo end $?')
            lines = []
            while not lines or not lines[-1].startswith('end '):
                lines.append(self.line())
                assert lines[-1], lines
            return ''.join(lines[:-1]).strip()

        def curl(self, url, *options):
            return self.sh(f'curl -sS --max-time 15 -o /dev/null -w "%{{http_code}}" {" ".join(options)} {url} 2>&1')

        def events(self, name):
            return [e for e in isod.audit(self.id) if e['event'] == name]

        def reload(self, *options, **kw):
            r = isod.ctl('policy', 'reload', '--json', *options, self.id, **kw)
            assert r.rc == 0, r
            return json.loads(r.out)

    yield Session
    for process in started:
        process.stdin.close()
        process.stdout.close()
        process.wait(60)


@pytest.mark.parametrize('way', ['proxy', 'capture'])
def test_a_rule_more_opens(isod, web, user_policy, session, way):
    user_policy()
    s = session()
    options = [] if way == 'proxy' else ['--noproxy', '"*"']
    assert s.curl('http://ok.example/hello', *options)[-3:] != '200'
    user_policy(['ok.example'])
    assert s.reload() == {'session': s.id, 'digest': s.events('policy')[-1]['policy'], 'closed': 0, 'later': False}
    assert s.curl('http://ok.example/hello', *options) == '200'
    last = s.events('connection')[-1]
    assert (last['verdict'], last['rule'], last['from']) == ('allow', 'ok.example', 'user'), last
    shown = json.loads(isod.ctl('show', '--json', s.id).out)
    assert 'ok.example' in json.dumps(shown['policy']['sandbox']['network']['allowedDomains'])


def test_a_rule_less_closes_a_tunnel(isod, user_policy, session, project):
    """One that is open, at once; one to another host stays. The event has the reason of the new rules."""
    user_policy(['ok.example:%d' % PORT, 'two.example:%d' % PORT])
    program = os.path.join(project, 'tunnel.py')
    write(program, TUNNEL)
    s = session()
    with socket.create_server(('127.0.0.77', PORT)) as server:
        server.settimeout(60)
        tunnels = {}
        for host in ('ok', 'two'):
            s.tell(f'python3 -u {program} {host} {PORT} &')
            tunnels[host] = server.accept()[0]
            tunnels[host].settimeout(60)
            assert tunnels[host].recv(16) == host.encode()
        user_policy(['two.example:%d' % PORT], ['ok.example'])
        assert s.reload()['closed'] == 1
        try:
            assert tunnels['ok'].recv(1) == b''
        except ConnectionResetError:
            pass
        assert s.line() == 'closed ok\n'
        event = wait_for(lambda: s.events('connection'), 'the event of the closed one')
        assert [(e['verdict'], e['name'], e['reason'], e['rule'], e['bytesUp']) for e in event] == \
            [('deny', 'ok.example', 'denied', 'ok.example', 2)], event
        tunnels['two'].sendall(b'x')
        assert s.line() == 'closed two\n'
        for c in tunnels.values():
            c.close()
    last = wait_for(lambda: s.events('connection')[1:], 'the event of the kept one')[-1]
    assert (last['verdict'], last['name'], last['rule']) == ('allow', 'two.example', 'two.example:%d' % PORT), last
    assert s.curl(f'http://ok.example:{PORT}/') == '403'


def test_a_kept_connection_to_a_server_is_dropped(isod, user_policy, session, project):
    """The proxy's client stays; the server that was asked before sees its connection close, and the next request 403."""
    user_policy([f'ok.example:{PORT}'])
    program = os.path.join(project, 'kept.py')
    write(program, KEPT)
    s = session()
    with socket.create_server(('127.0.0.77', PORT)) as server:
        server.settimeout(60)
        s.tell(f'mkfifo go; python3 -u {program} {PORT} <go & exec 9>go')
        c = server.accept()[0]
        c.settimeout(60)
        assert c.recv(4096).startswith(b'GET /first ')
        c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')
        assert s.line() == '200\n'
        user_policy()
        assert s.reload()['closed'] == 1
        assert c.recv(1) == b''
        c.close()
        s.tell('echo >&9')
        assert s.line() == '403\n'
    assert [(e['verdict'], e['reason']) for e in s.events('connection')][0] == ('deny', 'not-listed')
    s.sh('rm go')


def test_a_dial_is_given_up(isod, user_policy, session):
    """A server whose queue is full does not answer; the client that waits for it is refused."""
    user_policy([f'ok.example:{PORT}'])
    s = session()
    with socket.socket() as server, contextlib.ExitStack() as stack:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(('127.0.0.77', PORT))
        server.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(('127.0.0.77', PORT))
        s.tell(f'curl -sS -m 60 -o /dev/null -w "%{{http_code}}\\n" http://ok.example:{PORT}/')
        # Its SYN waits in the kernel beside ours.
        dials = f'dst 127.0.0.77 and dport = {PORT}'
        wait_for(lambda: len(subprocess.run(['ss', '-Hnt', 'state', 'syn-sent', dials], capture_output=True, text=True,
                                            check=True).stdout.splitlines()) > 3, 'the gateway dials')
        user_policy([], ['ok.example'])
        assert s.reload()['closed'] == 1
        assert s.line() == '403\n'
    assert s.events('connection')[-1]['reason'] == 'denied'


def test_a_denied_address_closes_too(isod, user_policy, session, project):
    """The name is still allowed; the address that it leads to is denied now."""
    user_policy([f'ok.example:{PORT}'])
    program = os.path.join(project, 'tunnel.py')
    write(program, TUNNEL)
    s = session()
    with socket.create_server(('127.0.0.77', PORT)) as server:
        server.settimeout(60)
        s.tell(f'python3 -u {program} ok {PORT} &')
        c = server.accept()[0]
        c.settimeout(60)
        assert c.recv(16) == b'ok'
        user_policy([f'ok.example:{PORT}'], ['127.0.0.64/26'])
        assert s.reload()['closed'] == 1
        assert s.line() == 'closed ok\n'
        c.close()
    event = s.events('connection')[-1]
    assert (event['verdict'], event['rule']) == ('deny', '127.0.0.64/26'), event


def test_many_times(isod, web, user_policy, session):
    """Texts of rules that were replaced are in use nowhere: each event and `show` name those of now."""
    user_policy()
    s = session('--allow-domain', 'two.example')
    for i in range(12):
        host = 'ok.example' if i % 2 == 0 else 'sub.ok.example'
        user_policy([host] * (1 + i), [f'n{i}.example'])
        s.reload()
        assert s.curl(f'http://{host}/hello') == '200'
        assert s.curl(f'http://n{i}.example/') == '403'
        assert [e['rule'] for e in s.events('connection')[-2:]] == [host, f'n{i}.example']
        network = json.loads(isod.ctl('show', '--json', s.id).out)['policy']['sandbox']['network']
        assert [r['value'] for r in network['allowedDomains']] == [host] * (1 + i) + ['two.example'], network


def test_what_the_command_line_said_stays(isod, web, user_policy, session):
    user_policy(['two.example'])
    s = session('--allow-domain', 'ok.example')
    user_policy()
    assert s.reload()['closed'] == 0
    assert (s.curl('http://ok.example/hello'), s.curl('http://two.example/hello')) == ('200', '403')


def test_the_administrator_is_asked_again(isod, web, user_policy, session):
    from conftest import PINS
    user_policy()
    s = session('--allow-domain', 'ok.example')
    assert s.curl('http://ok.example/hello') == '200'
    isod.policy({'hosts': PINS, 'sandbox': {'network': {'deniedDomains': ['ok.example']}}})
    s.reload(user='root')
    assert s.curl('http://ok.example/hello') == '403'
    last = s.events('connection')[-1]
    assert (last['reason'], last['from']) == ('denied', 'administrator'), last


def test_what_is_not_about_hosts_comes_later(isod, user_policy, session):
    user_policy()
    s = session()
    user_policy(limits={'pids': 77})
    answer = s.reload()
    assert answer['later'] is True, answer
    shown = json.loads(isod.ctl('show', '--json', s.id).out)
    assert shown['policy']['limits']['pids']['value'] != 77
    text = isod.ctl('policy', 'reload', s.id).text
    assert 'next session' in text, text


def test_all_of_the_callers(isod, web, user_policy, session):
    user_policy()
    both = [session(), session()]
    user_policy(['ok.example'])
    r = isod.ctl('policy', 'reload')
    assert r.rc == 0 and all(s.id in r.text for s in both), r
    assert [s.curl('http://ok.example/hello') for s in both] == ['200', '200']


def test_who_may_not(isod, user_policy, session):
    """Another user's session does not exist; a policy that cannot be read, or a session that has ended, changes nothing."""
    user_policy()
    s = session()
    r = isod.ctl('policy', 'reload', s.id, user=USERS[1])
    assert r.rc == 1 and 'policy' not in [e['event'] for e in isod.audit(s.id)], r
    user_policy(['not a host'])
    r = isod.ctl('policy', 'reload', s.id)
    assert r.rc == 1 and 'allowedDomains' in r.errors and not s.events('policy'), r
    user_policy()
    s.process.stdin.close()
    s.process.wait(60)
    r = isod.ctl('policy', 'reload', s.id)
    assert r.rc == 1 and 'ended' in r.errors, r


def test_a_grant_opens_and_its_end_closes(isod, user_policy, session, project):
    """Taken back by hand, an open tunnel is closed; the name is refused again."""
    user_policy()
    program = os.path.join(project, 'tunnel.py')
    write(program, TUNNEL)
    s = session()
    assert s.curl(f'http://ok.example:{PORT}/') == '403'
    r = isod.ctl('grant', s.id, f'OK.example:{PORT}')
    assert r.rc == 0 and not r.out, r
    shown = json.loads(isod.ctl('show', '--json', s.id).out)['policy']['sandbox']['network']['allowedDomains']
    assert [(rule['value'], rule['from'].startswith('command-line grant')) for rule in shown] == [(f'ok.example:{PORT}', True)]
    with socket.create_server(('127.0.0.77', PORT)) as server:
        server.settimeout(60)
        s.tell(f'python3 -u {program} ok {PORT} &')
        c = server.accept()[0]
        c.settimeout(60)
        assert c.recv(16) == b'ok'
        r = isod.ctl('revoke', s.id, f'ok.example:{PORT}')
        assert r.out == b'connections closed: 1\n', r
        assert s.line() == 'closed ok\n'
        c.close()
    assert s.curl(f'http://ok.example:{PORT}/') == '403'
    assert [e['rule'] for name in ('grant', 'revoke') for e in s.events(name)] == [f'ok.example:{PORT}'] * 2
    r = isod.ctl('revoke', s.id, f'ok.example:{PORT}')
    assert r.rc == 1 and 'no grant' in r.errors, r


def test_a_grant_for_a_while(isod, user_policy, session, project):
    """It ends by itself, also for what is open, and a new policy does not lengthen it."""
    user_policy()
    program = os.path.join(project, 'tunnel.py')
    write(program, TUNNEL)
    s = session()
    with socket.create_server(('127.0.0.77', PORT)) as server:
        server.settimeout(60)
        assert isod.ctl('grant', '--for', '3s', s.id, f'ok.example:{PORT}').rc == 0
        s.reload()
        s.tell(f'python3 -u {program} ok {PORT} &')
        c = server.accept()[0]
        c.settimeout(60)
        assert c.recv(16) == b'ok' and not s.events('grant.expired')
        assert s.line() == 'closed ok\n'
        c.close()
    assert [e['rule'] for e in s.events('grant.expired')] == [f'ok.example:{PORT}']
    last = wait_for(lambda: s.events('connection'), 'the event of the closed one')[-1]
    assert (last['verdict'], last['reason']) == ('deny', 'not-listed'), last
    assert s.curl(f'http://ok.example:{PORT}/') == '403'


def test_what_no_grant_opens(isod, web, user_policy, session):
    """A denied host, in whatever layer; a private address of a granted name; another's session; what is no host."""
    user_policy([], ['ok.example', 'sub.ok.example'])
    s = session()
    r = isod.ctl('grant', s.id, 'ok.example')
    assert r.rc == 1 and 'denies' in r.errors, r
    assert isod.ctl('grant', s.id, '*.ok.example').rc == 0
    assert s.curl('http://sub.ok.example/hello') == '403'
    assert s.events('connection')[-1]['reason'] == 'denied'
    assert isod.ctl('grant', s.id, '0.0.0.0/0').rc == 0
    assert s.curl('http://127.0.0.77/hello') == '403'
    assert s.events('connection')[-1]['reason'] == 'private-address'
    assert isod.ctl('grant', s.id, '127.0.0.77').rc == 0
    assert s.curl('http://127.0.0.77/hello') == '200'
    for arguments in ((s.id, 'no host'), (s.id, 'http://ok.example/'), ('--for', '0s', s.id, 'two.example')):
        assert isod.ctl('grant', *arguments).rc != 0
    assert isod.ctl('grant', s.id, 'two.example', user=USERS[1]).rc == 1
    assert [e['rule'] for e in s.events('grant')] == ['*.ok.example', '0.0.0.0/0', '127.0.0.77']


def test_a_grant_ends_whatever_happens(isod, user_policy, session):
    """Its rules cannot be replaced while the administrator's file has a mistake: the session ends with the grant."""
    user_policy()
    s = session()
    assert isod.ctl('grant', '--for', '2s', s.id, 'ok.example').rc == 0
    isod.policy({'mistake': 1})
    assert s.process.wait(60) != 0
    assert s.events('grant.expired') and s.events('session.exit')[0]['cause'] == 'lost'
