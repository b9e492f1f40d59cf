"""onUnlisted: learn lets public names through and records them; isoctl policy learn makes rules of it."""
import http.server
import json
import os
import pwd
import subprocess
import threading

import pytest

from conftest import PINS, USERS, write
from test_reload import session, user_policy  # noqa: F401

# An ordinary address, as far as anybody knows, of this namespace.
PUBLIC = '5.5.5.5'
FAR = {**PINS, 'far.example': [PUBLIC], 'a.far.example': [PUBLIC]}


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope='module')
def far_server():
    subprocess.run(['ip', 'addr', 'add', f'{PUBLIC}/32', 'dev', 'lo'], check=True)
    with http.server.ThreadingHTTPServer((PUBLIC, 80), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield
        server.shutdown()
        thread.join()
    subprocess.run(['ip', 'addr', 'del', f'{PUBLIC}/32', 'dev', 'lo'], check=True)


@pytest.fixture
def far(isod, web, far_server):
    """far.example and a.far.example are public, and somebody answers there."""
    isod.policy({'hosts': FAR})


@pytest.mark.parametrize('way', ['proxy', 'capture'])
def test_unlisted_names_pass_and_are_recorded(isod, far, user_policy, session, way):
    user_policy(['ok.example'], ['a.far.example'])
    s = session('--on-unlisted', 'learn')
    options = [] if way == 'proxy' else ['--noproxy', '"*"']
    assert s.curl('http://far.example/hello', *options) == '200'
    assert s.curl('http://ok.example/hello', *options) == '200'
    assert s.curl('http://a.far.example/hello', *options)[-3:] != '200'
    # Known to the administrator at a private address; no name; a literal.
    assert s.curl('http://two.example/hello', *options)[-3:] != '200'
    assert s.curl('http://printer/', *options)[-3:] != '200'
    assert s.curl(f'http://{PUBLIC}/hello', *options)[-3:] != '200'
    # Another Host than the one that is connected to, and TLS for another one.
    assert s.curl('http://far.example/hello', '-H', '"Host: ok.example"', *options)[-3:] != '200'
    told = [(e['name'], e['verdict'], e['reason']) for e in s.events('connection')]
    assert ('far.example', 'allow', 'learned') in told and ('ok.example', 'allow', 'allowed') in told, told
    assert ('two.example', 'deny', 'private-address') in told and ('far.example', 'deny', 'host-mismatch') in told, told
    session_now = isod.last_session()
    assert session_now['learning'] is True and 'onUnlisted: learn' in session_now['lacking'][0]


def test_it_is_said(isod, far):
    r = isod.sh('true', options=['--on-unlisted', 'learn'])
    assert r.rc == 0 and 'open to learn' in r.errors, r
    r = isod.sh('true')
    assert r.rc == 0 and 'learn' not in r.errors, r


def test_who_may_not(isod, far, user_policy, session, project):
    """The administrator's deny stands, and is told; a file of --policy cannot say it; a reload does not open a session."""
    policy = os.path.join(project, 'p.json')
    write(policy, json.dumps({'sandbox': {'network': {'onUnlisted': 'learn'}}}))
    r = isod.sh('true', options=['--policy', policy])
    assert r.rc == 125 and 'onUnlisted' in r.errors, r
    user_policy()
    s = session()
    write(os.path.expanduser(f'~{USERS[0]}/.config/isod/policy.json'),
          json.dumps({'sandbox': {'network': {'onUnlisted': 'learn'}}}), owner=pwd.getpwnam(USERS[0]))
    assert s.reload()['later'] is True
    assert s.curl('http://far.example/hello') == '403'
    isod.policy({'hosts': FAR, 'sandbox': {'network': {'onUnlisted': 'deny'}}})
    r = isod.sh('curl -sS -o /dev/null -w "%{http_code}" http://far.example/hello', options=['--on-unlisted', 'learn'])
    assert r.out == b'403' and 'administrator' in r.errors, r


def test_a_reload_closes_it(isod, far, user_policy, session):
    path = os.path.expanduser(f'~{USERS[0]}/.config/isod/policy.json')
    user_policy()
    write(path, json.dumps({'sandbox': {'network': {'onUnlisted': 'learn'}}}), owner=pwd.getpwnam(USERS[0]))
    s = session()
    assert s.curl('http://far.example/hello') == '200'
    user_policy()
    s.reload()
    assert s.curl('http://far.example/hello') == '403'
    assert isod.last_session()['learning'] is False


def test_rules_of_what_was_learned(isod, far, user_policy):
    """From the log of a session that has ended: one rule a host and port, wildcards where asked for; nothing that is allowed
    or denied by now, and nothing that was refused."""
    hosts = [f'{n}.cdn.far.example' for n in 'abc'] + ['far.example', 'a.far.example', 'no.far.example']
    isod.policy({'hosts': {**PINS, **{h: [PUBLIC] for h in hosts}}})
    user_policy()
    urls = ' '.join(f'http://{h}/' for h in [*hosts, 'far.example', 'two.example'])
    r = isod.sh(f'for u in {urls}; do curl -sS -o /dev/null $u; done', options=['--on-unlisted', 'learn'])
    session = isod.last_session()['id']
    user_policy(['a.far.example:80'], ['no.far.example'])
    path = os.path.expanduser(f'~{USERS[0]}/.config/isod/policy.json')
    with open(path, encoding='utf-8') as f:
        before = f.read()
    answer = json.loads(isod.ctl('policy', 'learn', '--json', session).out)
    assert [(h['rule'], h['connections']) for h in answer['hosts']] == \
        [(f'{n}.cdn.far.example:80', 1) for n in 'abc'] + [('far.example:80', 2)], answer
    assert all(h['programs'] == ['/usr/bin/curl'] for h in answer['hosts']), answer
    r = isod.ctl('policy', 'learn', session)
    assert r.rc == 0 and b'far.example:80' in r.out and '--yes' in r.errors, r
    with open(path, encoding='utf-8') as f:
        assert f.read() == before
    options = ['--wildcards'] if answer['wildcards'] else []
    r = isod.ctl('policy', 'learn', '--yes', *options, session)
    with open(path, encoding='utf-8') as f:
        rules = json.load(f)['sandbox']['network']['allowedDomains']
    names = ['*.cdn.far.example:80'] if options else [f'{n}.cdn.far.example:80' for n in 'abc']
    assert rules == [*names, 'far.example:80', 'a.far.example:80'], (rules, r)
    curl = ' '.join(f'curl -sS -o /dev/null -w "%{{http_code}} " http://{h}/;' for h in hosts)
    assert isod.sh(curl).out.split() == [b'200'] * 5 + [b'403']
    r = isod.ctl('policy', 'learn', session)
    assert b'Nothing was learned' in r.out, r
    assert isod.ctl('policy', 'learn', session, user=USERS[1]).rc == 1
