"""onUnlisted: ask: connections to hosts that no rule names are held until the session's owner answers."""
import json
import os

import pytest

from conftest import USERS
from test_reload import session, user_policy  # noqa: F401
from waiting import wait_for

WAYS = {
    'http': 'curl -sS {}http://{}/hello',
    'connect': 'curl -skS -p {}https://{}/hello',
    'capture': "curl -sS --noproxy '*' {}http://{}/hello",
    'tls': "curl -skS --noproxy '*' {}https://{}/hello",
    'socks': "curl -sS --noproxy '' -x socks5h://127.0.0.1:61080 {}http://{}/hello",
}
CODE = '--max-time 60 -o /dev/null -w "%{http_code}\\n" '


def pending(isod, **how):
    return json.loads(isod.ctl('pending', '--json', **how).out)


def asked(isod, n=1):
    wait_for(lambda: len(pending(isod)) == n, 'it is asked')
    return pending(isod)


@pytest.mark.parametrize('way', WAYS)
def test_held_until_allowed(isod, web, user_policy, session, way):
    """By every way in: held, named with its program, let through by the answer, told."""
    user_policy()
    s = session('--on-unlisted', 'ask')
    s.tell(WAYS[way].format(CODE, 'two.example') + ' 2>&1')
    q, = asked(isod)
    assert (q['host'], q['session'], q['program']) == ('two.example', s.id, '/usr/bin/curl') and q['pid'] > 1, q
    assert q['id'] in (shown := isod.ctl('pending').text) and 'two.example' in shown
    assert isod.ctl('approve', q['id']).rc == 0
    assert s.line() == '200\n'
    assert pending(isod) == []
    (e,), (a,) = s.events('asked'), s.events('answered')
    assert (e['rule'], e['program']) == ('two.example', '/usr/bin/curl'), e
    assert (a['answer'], a['scope'], a['by'], a['question']) == ('yes', 'session', os.stat(os.path.expanduser(f'~{USERS[0]}')).st_uid, e['question']), a
    # it is a grant like any other
    assert [g['host'] for g in isod.last_session()['grants']] == ['two.example']
    assert s.curl('http://two.example/hello') == '200'


@pytest.mark.parametrize('way', WAYS)
def test_refused(isod, web, user_policy, session, way):
    """In the form of each way; asked once, refused from then on."""
    user_policy()
    s = session('--on-unlisted', 'ask')
    before = web.requests()
    command = WAYS[way].format('--max-time 60 -w "%{http_code} " -o body -D - ', 'two.example') + ' 2>&1; echo; cat body; echo done'
    for turn in range(2):
        s.tell('rm -f body; ' + command)
        if turn == 0:
            assert isod.ctl('deny', asked(isod)[0]['id']).rc == 0
        said = ''
        while not said.endswith('done\n'):
            said += s.line()
        assert '200 OK' not in said and ('owner-refused' in said or way in ('tls', 'connect', 'socks')), said
    assert web.requests() == before and pending(isod) == []
    assert [a['answer'] for a in s.events('answered')] == ['no']
    refused = [e for e in isod.audit(s.id) if e.get('name') == 'two.example' and e.get('verdict') == 'deny']
    assert [e['reason'] for e in refused if e['via'] != 'dns'] == ['owner-refused'] * 2, refused


def test_one_question_a_host(isod, web, user_policy, session):
    """Others wait for the same answer; once is for one of them, and the next is asked about anew. Another user sees nothing."""
    user_policy()
    s = session('--on-unlisted', 'ask')
    for _ in range(3):
        s.tell(f"curl -sS {CODE}http://two.example/hello & ")
    q, = asked(isod)
    s.tell(f"curl -sS {CODE}http://git.example/hello &")
    asked(isod, 2)
    assert pending(isod, user=USERS[1]) == []
    for command in ('approve', 'deny'):
        r = isod.ctl(command, q['id'], user=USERS[1])
        assert r.rc == 1 and 'No question of that id' in r.errors, r
    assert isod.ctl('approve', '--once', q['id']).rc == 0
    assert s.line() == '200\n'
    wait_for(lambda: [x for x in pending(isod) if x['host'] == 'two.example' and x['id'] != q['id']], 'it is asked anew')
    r = isod.ctl('approve', q['id'])
    assert r.rc == 1 and 'No question of that id' in r.errors, r
    # a rule of the policy answers, too
    user_policy(['two.example'])
    s.reload()
    assert [s.line(), s.line()] == ['200\n'] * 2
    assert [x['host'] for x in pending(isod)] == ['git.example']
    assert isod.ctl('deny', pending(isod)[0]['id']).rc == 0
    assert s.line() == '403\n'
    assert [a['answer'] for a in s.events('answered')] == ['yes', 'rules', 'no']


@pytest.mark.parametrize('scope', ['--project', '--always'])
def test_written_down(isod, web, user_policy, session, scope):
    user_policy()
    s = session('--on-unlisted', 'ask')
    s.tell(f'curl -sS {CODE}http://two.example/hello')
    q, = asked(isod)
    r = isod.ctl('approve', scope, '--yes', q['id'])
    assert r.rc == 0, r
    try:
        assert s.line() == '200\n'
        assert s.events('answered')[0]['scope'] == scope[2:]
        assert isod.sh('curl -sS -o /dev/null -w "%{http_code}" http://two.example/hello').text == '200'
    finally:
        folder = os.path.expanduser(f'~{USERS[0]}/.config/isod/projects')
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            os.unlink(os.path.join(folder, name))


def test_private_names_and_addresses_are_not_asked_about(isod, user_policy, session):
    user_policy()
    s = session('--on-unlisted', 'ask')
    for url in ('http://127.0.0.77/', 'http://buildbox/', 'http://printer.local/'):
        assert s.curl(url, "--noproxy ''") == '403'
    assert pending(isod) == [] and s.events('asked') == []


def test_the_program_cannot_answer(isod, web, user_policy, session):
    """Its view has no isod, even where its client is readable."""
    user_policy()
    s = session('--on-unlisted', 'ask', '--allow-read', isod.client)
    s.tell(f'curl -sS {CODE}http://two.example/hello &')
    q, = asked(isod)
    said = s.sh(f'ISO_SOCKET={isod.socket} {isod.client} approve {q["id"]} 2>&1')
    assert 'isod' in said and len(pending(isod)) == 1, said
    r = isod.run('true', options=('--unix-socket', '/run/isod/isod.sock'))
    assert r.rc == 125, r
    isod.ctl('deny', q['id'])
    assert s.line() == '403\n'


def test_bounded(isod, user_policy, session):
    """Sixteen questions wait at most; the next host is refused at once. What ends with the session is not asked any more."""
    user_policy()
    s = session('--on-unlisted', 'ask')
    for i in range(16):
        s.tell(f'curl -sS -o /dev/null http://h{i}.example/ &')
    asked(isod, 16)
    assert s.curl('http://more.example/') == '503'
    s.process.stdin.close()
    s.process.kill()
    wait_for(lambda: pending(isod) == [], 'they are gone with the session')
