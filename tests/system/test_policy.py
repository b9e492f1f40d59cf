"""Policy files: layers, errors with file, line and key, show and check."""
import json
import os
import pwd

import pytest

from conftest import PINS, USERS, write


@pytest.fixture
def user_policy():
    entry = pwd.getpwnam(USERS[0])
    path = os.path.join(entry.pw_dir, '.config/isod/policy.json')

    def put(text):
        write(path, text, owner=entry)
        return path
    yield put
    if os.path.exists(path):
        os.unlink(path)


def test_user_policy_applies(isod, web, user_policy):
    user_policy('{ // mine\n "sandbox": { "network": { "allowedDomains": ["ok.example"] } },\n "environment": { "pass": ["MYCORP_PAT"] } }')
    r = isod.sh('curl -sS http://ok.example/hello; echo $MYCORP_PAT')
    assert r.text == 'hello from nginx\npat\n', r


def test_policy_option(isod, web, project):
    path = os.path.join(project, 'p.json')
    write(path, '{"sandbox":{"network":{"allowedDomains":["ok.example"]}}}')
    assert isod.run('curl', '-sS', 'http://ok.example/hello', options=['--policy', path]).out == b'hello from nginx\n'


@pytest.mark.parametrize('text,where', [
    ('{\n "sandbox": {\n  "netwrk": {}\n } }', ':3: sandbox.netwrk'), ('{"x": 1}', ':1: x'),
    ('{"limits": {"pids": "many"}}', ':1: limits.pids'), ('{"limits": {},\n "limits": {}}', ':2'),
    ('{\n"sandbox": {"network": {"allowedDomains": ["https://ok.example/"]}}}', ':2: sandbox.network.allowedDomains'),
    ('{"sandbox": {"network": {"allowedDomains": "ok.example"}}}', ':1: sandbox.network.allowedDomains'),
    ('{"sandbox": {"filesystem": {"denyRead": ["x"]}}}', ':1: sandbox.filesystem.denyRead'), ('{', ':1'), ('', ':1'),
    ('{"hosts": {"a.example": ["127.0.0.1"]}}', ':1: hosts')])
def test_errors_name_file_line_and_key(isod, user_policy, text, where):
    path = user_policy(text)
    for r in (isod.run('true'), isod.ctl('policy', 'check', path)):
        assert r.rc != 0 and path + where in r.errors + r.text, r
    assert isod.run('true').rc == 125


def test_check_says_ok(isod, user_policy):
    path = user_policy('{}')
    r = isod.ctl('policy', 'check', path)
    assert r.rc == 0 and 'ok' in r.text, r


def test_show_names_origins(isod, user_policy):
    path = user_policy('{\n "sandbox": { "network": {\n "allowedDomains": ["ok.example"] } } }')
    r = isod.ctl('policy', 'show')
    assert r.rc == 0 and 'ok.example' in r.text and f'{path}:3' in r.text and 'administrator' in r.text, r


def test_broken_administrators_policy_stops_every_start(isod):
    isod.policy('{ "sandbox": { "nope": 1 } }')
    r = isod.run('true')
    assert r.rc == 125 and 'policy.json:1: sandbox.nope' in r.errors, r


def test_administrators_policy_must_be_roots(isod):
    path = os.path.join(isod.config_dir, 'policy.json')
    os.chmod(path, 0o666)
    r = isod.run('true')
    assert r.rc == 125 and 'policy.json' in r.errors, r


@pytest.mark.parametrize('empty', ['[]', '[ /* nothing */ ]'])
def test_empty_means_nothing(isod, web, user_policy, empty):
    user_policy('{"sandbox":{"network":{"allowedDomains":%s}}}' % empty)
    r = isod.sh('curl -sSf http://ok.example/hello; curl -sSf --noproxy "*" http://ok.example/hello')
    assert r.rc != 0 and r.out == b'', r


def test_administrator_denies_what_the_user_allows(isod, web):
    isod.policy({'hosts': PINS, 'sandbox': {'network': {'deniedDomains': ['ok.example']}}})
    r = isod.run('curl', '-sSf', 'http://ok.example/hello', options=['--allow-domain', 'ok.example'])
    assert r.rc != 0, r
