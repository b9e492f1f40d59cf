"""What a refusal says: one vocabulary in HTTP, in the log, in `policy explain`, and what real tools show of it."""
import json
import os
import pwd
import shutil
import subprocess

import pytest

from conftest import BUILD, USERS, write

WHY = "Use the company's snippets."
POLICY = {'sandbox': {'network': {'allowedDomains': ['ok.example', '*.sub.example', 'two.example:8443', 'evil.example'],
                                  'deniedDomains': [{'host': 'evil.example', 'reason': WHY}]}}}


@pytest.fixture
def policy(project):
    path = os.path.join(project, 'refusals.json')
    write(path, json.dumps(POLICY), owner=pwd.getpwnam(USERS[0]))
    yield ['--policy', path]
    os.unlink(path)


def refusals(isod):
    return [e for e in isod.audit(isod.last_session()['id']) if e.get('verdict') == 'deny']


def test_one_refusal_everywhere(isod, web, policy, project):
    """Reason, rule, its owner's text and who asked: the same in the answer, as JSON, in the log and in `policy explain`."""
    r = isod.run('curl', '-sSi', 'http://evil.example/', options=policy, cwd=project)
    session = isod.last_session()['id']
    lines = r.text.replace('\r', '').splitlines()
    assert lines[0] == 'HTTP/1.1 403 Forbidden (isod: denied)', r
    assert {'X-Isod-Reason: denied', 'X-Isod-Rule: deny evil.example', 'X-Isod-Retry: no', f'Its owner says: {WHY}',
            'Rule: deny evil.example'} <= set(lines), r
    event = refusals(isod)[-1]
    assert lines[-1] == f'Asked for by {event["program"]} (pid {event["pid"]}) in session {session}', (r, event)
    assert event['program'].endswith('/curl') and event['why'] == WHY and event['rule'] == 'evil.example', event
    assert event['file'].endswith('refusals.json') and event['from'] == 'file', event
    r = isod.run('curl', '-sS', '-H', 'Accept: application/json', 'http://evil.example/', options=policy, cwd=project)
    said = json.loads(r.out)
    assert (said['reason'], said['why'], said['retry'], said['session']) == ('denied', WHY, False, isod.last_session()['id']), said
    for session_or_none in [session], []:
        text = isod.ctl('log', '--denied', *session_or_none).text
        assert 'evil.example:80 via http: denied. ' in text and f'  its owner says: {WHY}\n' in text, text
        assert f'/curl (pid {event["pid"]}) in session {session}' in text, text
    text = isod.ctl('policy', 'explain', 'http://evil.example/', *policy, cwd=project).text
    assert 'host evil.example, port 80: refused (denied)\n' in text and f'  Its owner says: {WHY}\n' in text, text
    assert '  decides    evil.example  (sandbox.network.deniedDomains, file ' in text and 'refusals.json:1)' in text, text
    shown = isod.ctl('policy', 'show', *policy, cwd=project).text
    assert f'sandbox.network.deniedDomains: {{"host":"evil.example","reason":"{WHY}"}}  (file ' in shown, shown


@pytest.mark.parametrize('host', ['ok.example', 'ok.example:22', 'evil.example', 'sub.example', 'a.sub.example', 'two.example',
                                  'two.example:8443', '127.0.0.77', '[::1]:443', '93.184.216.34', 'localhost', 'nowhere.example'])
def test_explain_agrees_with_the_gateway(isod, web, policy, project, host):
    asked = json.loads(isod.ctl('policy', 'explain', '--json', f'https://{host}/', *policy, cwd=project).out)['verdicts'][0]
    authority = host if host.rpartition(':')[2].isdigit() else f'{host}:443'
    # By hand: tools do not ask the proxy for localhost.
    script = (f'exec 3<>/dev/tcp/127.0.0.1/$(echo $https_proxy | sed "s/.*://; s:/::g"); '
              f'printf "CONNECT {authority} HTTP/1.1\\r\\n\\r\\n" >&3; head -1 <&3')
    line = isod.run('bash', '-c', script, options=policy, cwd=project).text
    if asked['allowed']:
        assert ' 200 ' in line or ' 502 ' in line, (line, asked)
    else:
        assert line == f'HTTP/1.1 403 Forbidden (isod: {asked["reason"]})\r\n', (line, asked)


def test_explain_knows_paths_from_hosts(isod, web, policy, project):
    def explain(what):
        return isod.ctl('policy', 'explain', what, *policy, cwd=project)

    assert explain('./ok.example').text.startswith(project + '/ok.example: '), explain('./ok.example')
    assert explain('ok.example').text.startswith('host ok.example, ports 443 and 80: allowed')
    write(os.path.join(project, 'ok.example'), '')
    try:
        r = explain('ok.example')
        assert r.rc == 0 and r.text.startswith(project + '/ok.example: '), r
        assert b'"ok.example" is a file here and is read as one; the host would be https://ok.example\n' in r.err, r
        assert explain('https://ok.example').text.startswith('host ok.example, port 443: allowed')
        assert explain('ok.example:443').text.startswith('host ok.example, port 443: allowed')
    finally:
        os.unlink(os.path.join(project, 'ok.example'))


FORBIDDEN = '403 Forbidden (isod: not-listed)'
NO_NAME = 'Name or service not known'
APT = ('mkdir -p a/lists/partial a/cache/archives/partial; echo "deb [trusted=yes] http://evil.example/debian x main" > a/sources; '
       'apt-get update -o Dir::State=$PWD/a -o Dir::State::lists=$PWD/a/lists -o Dir::Cache=$PWD/a/cache '
       '-o Dir::Etc::sourcelist=$PWD/a/sources -o Dir::Etc::sourceparts=/dev/null; rm -rf a')
# docs/EGRESS.md has the same rows.
TOOLS = {
    'curl-http': ('curl -sS http://evil.example/', 'isod: evil.example:80: refused (not-listed)'),
    'curl-https': ('curl -sS https://evil.example/', 'CONNECT tunnel failed, response 403'),
    'curl-https-v': ('curl -sSv https://evil.example/', 'X-Isod-Hint: To allow it: isoctl run --allow-domain evil.example'),
    'wget-http': ('wget -O- http://evil.example/', 'ERROR 403: Forbidden (isod: not-listed).'),
    'wget-https': ('wget -O- https://evil.example/', 'Proxy tunneling failed: Forbidden (isod: not-listed)'),
    'git-https': ('git ls-remote https://evil.example/x.git', 'CONNECT tunnel failed, response 403'),
    'git-http': ('git ls-remote http://evil.example/x.git', 'remote: isod: evil.example:80: refused (not-listed)'),
    'git-ssh': ('git ls-remote git@evil.example:x.git', NO_NAME),
    'ssh': ('ssh -o BatchMode=yes evil.example', NO_NAME),
    'ssh-port': ('ssh -o BatchMode=yes ok.example', 'Connection reset'),
    'npm': ('npm view left-pad --registry=https://evil.example/', '403 ' + FORBIDDEN),
    'node-fetch': ('node -e "fetch(\'https://evil.example/\')"', 'getaddrinfo ENOTFOUND evil.example'),
    'urllib': ('/usr/bin/python3 -c "import urllib.request as u; u.urlopen(\'https://evil.example/\')"', 'Tunnel connection failed: ' + FORBIDDEN),
    'urllib-http': ('/usr/bin/python3 -c "import urllib.request as u; u.urlopen(\'http://evil.example/\')"',
                    'HTTP Error 403: Forbidden (isod: not-listed)'),
    'apt': (APT, '403  Forbidden (isod: not-listed)'),
    'psql': ('psql -h evil.example -U x', NO_NAME),
    'openssl': ('openssl s_client -connect evil.example:443', NO_NAME),
}


@pytest.mark.parametrize('tool', TOOLS)
def test_what_tools_show(isod, web, tool, project):
    command, text = TOOLS[tool]
    before = web.requests()
    r = isod.sh(f'exec 2>&1 </dev/null; {command}', options=['--allow-domain', 'ok.example'], cwd=project)
    assert text in r.text, r
    assert web.requests() == before
    assert any(e['name'] in ('evil.example', 'ok.example') and e['reason'] in ('not-listed', 'port') for e in refusals(isod)), refusals(isod)


def test_the_gateway_of_a_user_names_programs(isod, root_dir):
    """isoctl gateway, started by an ordinary user, says which program of that user was refused."""
    program = shutil.copy(os.path.join(BUILD, 'isod-gateway'), root_dir)
    user = pwd.getpwnam(USERS[0])
    ids = {'user': user.pw_uid, 'group': user.pw_gid, 'extra_groups': []}
    with subprocess.Popen([program, '0', 'allow=ok.example'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, **ids) as gateway:
        try:
            port = json.loads(gateway.stderr.readline())['port']
            # A refusal waits 200 ms at most for the name, which a busy machine may need for itself.
            for _ in range(20):
                r = subprocess.run(['curl', '-sS', '-x', f'http://127.0.0.1:{port}', 'http://evil.example/'], capture_output=True,
                                   check=True, **ids)
                if b'Asked for by' in r.stdout:
                    break
            assert b'Asked for by /usr/bin/curl (pid ' in r.stdout, r
        finally:
            gateway.terminate()
