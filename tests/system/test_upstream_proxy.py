"""Where only a proxy leads out: every way goes through it by name, and its password stays with the daemon."""
import base64
import os
import pwd
import socket
import subprocess
import threading

import pytest

from conftest import BUILD, PINS, USERS, write
from connect_proxy import ConnectProxy
from servers import listening
from waiting import wait_for

PASSWORD = 'me:p4ss:wörd-of-the-proxy'
# Nobody here can resolve them: that a connection comes through shows who did.
NAMES = {'git.example': '127.0.0.77', 'npm.example': '127.0.0.77', '192.0.2.7': '127.0.0.77', 'ssh.example': '127.0.0.90',
         '192.0.2.8': '127.0.0.77'}
ALLOW = ['--allow-domain', 'git.example', '--allow-domain', 'npm.example', '--allow-domain', 'ssh.example:22',
         '--allow-domain', 'pinned.example']
ANSWERS = {'refused.example': b'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n',
           'away.example': b'HTTP/1.0 504 Gateway Timeout\r\n\r\n', 'closed.example': b'', 'half.example': b'HTTP/1.1 200 O',
           'garbage.example': b'220 smtp.example ready\r\n'}


def proxy_value():
    return base64.b64encode(PASSWORD.encode()).decode()


@pytest.fixture
def proxy():
    p = ConnectProxy('127.0.0.88', 3128, PASSWORD, NAMES, ANSWERS)
    yield p
    p.stop()


def upstream(isod, denied=(), **members):
    """The administrator's policy with the proxy, and its password file as it should be."""
    write(os.path.join(isod.config_dir, 'proxy-auth'), PASSWORD + '\n', 0o600)
    way = {'url': 'http://127.0.0.88:3128', 'authFile': '/etc/isod/proxy-auth', **members}
    hosts = {'pinned.example': ['192.0.2.8'], 'near.example': ['192.0.2.9'], 'ok.example': PINS['ok.example']}
    isod.policy({'hosts': hosts, 'sandbox': {'network': {'upstreamProxy': {k: v for k, v in way.items() if v},
                                                         'deniedDomains': list(denied)}}})


@pytest.fixture
def ca(web, project):
    path = os.path.join(project, 'ca.crt')
    with open(web.ca, encoding='ascii') as f:
        write(path, f.read())
    return path


def connections(isod):
    return [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'connection']


WAYS = {
    'connect': (['https://git.example/hello'], 'git.example:443'),
    'absolute': (['http://git.example/hello'], 'git.example:80'),
    'connect-80': (['-p', 'http://git.example/hello'], 'git.example:80'),
    'captured-tls': (['--noproxy', '*', 'https://git.example/hello'], 'git.example:443'),
    'captured-http': (['--noproxy', '*', 'http://npm.example/hello'], 'npm.example:80'),
    'socks': (['-x', 'socks5h://127.0.0.1:61080', 'https://git.example/hello'], 'git.example:443'),
    'address': (['http://192.0.2.7/hello'], '192.0.2.7:80'),
    'pinned': (['http://pinned.example/hello'], '192.0.2.8:80'),
}


def test_every_way_goes_through_it(isod, web, ca, proxy):
    upstream(isod)
    before = web.requests()
    script = '\n'.join(f'curl -sS --max-time 60 --cacert {ca} {" ".join(repr(a) for a in arguments)} || echo FAILED {way}'
                       for way, (arguments, _) in WAYS.items())
    r = isod.sh(script, options=[*ALLOW, '--allow-domain', '192.0.2.7'])
    assert r.out == b'hello from nginx\n' * len(WAYS), r
    assert proxy.asked == [authority for _, authority in WAYS.values()]
    assert web.requests().count('/hello') - before.count('/hello') == len(WAYS)
    assert {h.count('Proxy-Authorization') for h in proxy.headers} == {1}
    events = connections(isod)
    assert len(events) == len(WAYS) and all(e['verdict'] == 'allow' and e['bytesDown'] > 17 for e in events), events
    # The address of the proxy is none of the host's.
    assert not [e for e in events if 'address' in e or e['proxy'] is not True], events


def greet(listener):
    client, _ = listener.accept()
    with client:
        client.sendall(b'SSH-2.0-first')
        client.sendall(b'got ' + client.recv(64))


def test_the_host_speaks_first(isod, proxy):
    upstream(isod)
    with socket.create_server(('127.0.0.90', 22)) as listener:
        threading.Thread(target=greet, args=(listener,), daemon=True).start()
        r = isod.run('/usr/bin/python3', '-c', 'import socket\ns = socket.create_connection(("ssh.example", 22))\n'
                     'print(s.recv(64))\ns.sendall(b"hello")\nprint(s.recv(64))', options=ALLOW)
    assert r.text.splitlines() == ["b'SSH-2.0-first'", "b'got hello'"], r
    assert proxy.asked == ['ssh.example:22']


TUNNEL = '''
import socket
s = socket.create_connection(("ssh.example", 22))
print(s.recv(64), flush=True)
try: print(s.recv(64), flush=True)
except ConnectionResetError: print("reset", flush=True)
'''


TINYPROXY = '''
Port 3129
Listen 127.0.0.88
Timeout 60
BasicAuth me secret
ConnectPort 443
'''


def test_tinyproxy(isod, web, ca, root_dir):
    """One that others wrote: its login, and its own opinion about ports."""
    conf, hosts = os.path.join(root_dir, 'tinyproxy.conf'), os.path.join(root_dir, 'hosts')
    write(conf, TINYPROXY)
    write(hosts, '127.0.0.77 git.example\n')
    upstream(isod, url='http://127.0.0.88:3129')
    write(os.path.join(isod.config_dir, 'proxy-auth'), 'me:secret\n', 0o600)
    curl = (f'curl -s --cacert {ca} https://git.example/hello || echo failed; '
            'curl -s -o /dev/null -w "%header{x-isod-reason}\\n" http://git.example/')
    with subprocess.Popen(['unshare', '--mount', 'sh', '-c', f'mount --bind {hosts} /etc/hosts && exec tinyproxy -d -c {conf}'],
                          stdout=subprocess.DEVNULL) as tinyproxy:
        try:
            wait_for(lambda: listening('127.0.0.88', 3129), 'tinyproxy listens')
            good = isod.sh(curl, options=ALLOW)
            write(os.path.join(isod.config_dir, 'proxy-auth'), 'me:wrong\n', 0o600)
            bad = isod.sh(curl, options=ALLOW)
        finally:
            tinyproxy.terminate()
    assert good.text.splitlines() == ['hello from nginx', 'proxy-refused'], good
    assert bad.text.splitlines() == ['failed', 'proxy-auth'], bad


def test_new_rules_hold_for_it_and_a_new_proxy_for_the_next_session(isod, proxy):
    upstream(isod)
    with socket.create_server(('127.0.0.90', 22)) as listener:
        run = isod.popen('run', *ALLOW, '--', '/usr/bin/python3', '-c', TUNNEL, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        client, _ = listener.accept()
        with run, client:
            client.sendall(b'first')
            assert run.stdout.readline() == b"b'first'\n"
            upstream(isod, url='http://127.0.0.89:1')
            told = isod.ctl('policy', 'reload')
            assert told.rc == 0 and 'next session' in told.text + told.errors, told
            shown = isod.ctl('show', isod.last_session()['id'], '--json').text
            assert '127.0.0.88:3128' in shown and '127.0.0.89' not in shown, shown
            upstream(isod, denied=['ssh.example'])
            assert isod.ctl('policy', 'reload').rc == 0
            assert run.stdout.readline() in (b"b''\n", b'reset\n')
    assert [e['reason'] for e in connections(isod)] == ['denied']


def test_what_the_policy_refuses_does_not_reach_it(isod, web, ca, proxy):
    upstream(isod)
    r = isod.sh(f'for u in http://evil.example/ https://evil.example/ http://10.0.0.1/ http://169.254.169.254/ http://127.0.0.77/; do '
                f'curl -sf -o /dev/null --max-time 60 $u && echo THROUGH $u; done; '
                f'curl -s --max-time 60 --cacert {ca} --connect-to git.example:443:npm.example:443 https://git.example/; true',
                options=[*ALLOW, '--deny-domain', '192.0.2.7'])
    assert 'THROUGH' not in r.text, r
    # Only the tunnel that was allowed; what was said in it was not what it was for.
    assert set(proxy.asked) <= {'npm.example:443'}, proxy.asked
    assert {e['reason'] for e in connections(isod)} >= {'not-listed', 'private-address', 'sni-mismatch'}


def test_bypass(isod, web, proxy):
    """What is bypassed, and what means this machine, is connected to from here: by our resolver and our checks."""
    upstream(isod, bypass=['git.example', '192.0.2.0/24'])
    r = isod.sh('curl -s -o /dev/null -w "%{http_code}\\n" http://git.example/; curl -s http://ok.example/hello; '
                'curl -s -o /dev/null -w "%{http_code}\\n" http://near.example/',
                options=[*ALLOW, '--allow-domain', 'ok.example', '--allow-domain', 'near.example'])
    assert r.text.splitlines() == ['502', 'hello from nginx', '502'], r
    assert proxy.asked == []
    assert [e['reason'] for e in connections(isod)] == ['unresolved', 'allowed', 'unreachable']
    assert not [e for e in connections(isod) if 'proxy' in e]


@pytest.mark.parametrize('host, reason', [
    ('refused.example', 'proxy-refused'), ('away.example', 'unreachable'), ('closed.example', 'proxy-unreachable'),
    ('half.example', 'proxy-unreachable'), ('garbage.example', 'proxy-unreachable')])
def test_its_failures_are_told(isod, proxy, host, reason):
    upstream(isod)
    r = isod.sh(f'curl -s -i http://{host}/; curl -s -v https://{host}/ 2>&1 | grep -i x-isod-reason; '
                f'curl -sS -x socks5h://127.0.0.1:61080 http://{host}/ 2>&1; true', options=['--allow-domain', host])
    assert r.text.startswith(f'HTTP/1.1 502 Bad Gateway (isod: {reason})'), r
    assert f'X-Isod-Reason: {reason}' in r.text.split('\n\n')[-1], r
    assert [e['reason'] for e in connections(isod)] == [reason] * 3
    assert proxy.asked == [f'{host}:80', f'{host}:443', f'{host}:80']


def test_a_wrong_password_and_no_proxy(isod, proxy):
    upstream(isod, authFile=None)
    r = isod.sh('curl -s -i http://git.example/', options=ALLOW)
    assert '502 Bad Gateway (isod: proxy-auth)' in r.text and 'The upstream proxy answered 407.' in r.text, r
    proxy.stop()
    r = isod.sh('curl -s -i http://git.example/', options=ALLOW)
    assert '502 Bad Gateway (isod: proxy-unreachable)' in r.text and 'X-Isod-Retry: later' in r.text, r


def test_the_password_is_nowhere(isod, web, ca, proxy):
    upstream(isod)
    secrets = [PASSWORD.partition(':')[2], proxy_value()]
    user = USERS[0]
    r = isod.sh(f'curl -sS --cacert {ca} https://git.example/hello; curl -sv http://refused.example/; env; cat /proc/*/environ '
                '/proc/*/cmdline | tr "\\0" "\\n"; ls /etc/isod /proc/*/fd; true',
                options=[*ALLOW, '--allow-domain', 'refused.example'])
    assert 'hello from nginx' in r.text, r
    assert any(proxy_value() in h for h in proxy.headers)
    shown = [r.text, r.errors, isod.log(), str(isod.audit(isod.last_session()['id']))]
    for command in (['show', isod.last_session()['id']], ['policy', 'show'], ['status'], ['log', '--denied']):
        done = isod.ctl(*command, user=user)
        shown += [done.text, done.errors]
    for folder, _, files in os.walk(isod.state_dir):
        for path in (os.path.join(folder, name) for name in files):
            # layers hold devices, too: what was deleted
            if os.path.isfile(path):
                with open(path, encoding='utf-8', errors='replace') as f:
                    shown.append(f.read())
    for text in shown:
        assert not [s for s in secrets if s in text], text[:2000]


@pytest.mark.parametrize('spoil, message', [
    (lambda path: os.chmod(path, 0o640), 'can be read or written by others than root'),
    (lambda path: os.chown(path, 1, 0), 'can be read or written by others than root'),
    (lambda path: (os.rename(path, path + '.real'), os.symlink(path + '.real', path)), 'is a link'),
    (lambda path: (os.unlink(path), os.mkdir(path, 0o700)), 'is no regular file'),
    (lambda path: os.unlink(path), 'is not there'),
    (lambda path: write(path, 'nocolon\n', 0o600), 'does not hold one line'),
    (lambda path: write(path, 'a:b\r\nX-Evil: 1\n', 0o600), 'does not hold one line'),
    (lambda path: write(path, 'a:' + 'b' * 1100, 0o600), 'does not hold one line'),
])
def test_a_file_that_cannot_be_trusted_starts_nothing(isod, spoil, message):
    upstream(isod)
    path = os.path.join(isod.config_dir, 'proxy-auth')
    spoil(path)
    try:
        r = isod.sh('echo RAN')
        assert r.rc != 0 and 'RAN' not in r.text and message in r.errors and 'remedy' in r.errors, r
    finally:
        subprocess.run(['rm', '-rf', path, path + '.real'], check=True)


def test_the_gateway_outside_a_session_uses_it(isod, web, proxy):
    upstream(isod)
    arguments = [os.path.join(BUILD, 'isod-gateway'), '0', f'administrator={isod.config_dir}/policy.json', 'allow=git.example']
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as gateway:
        try:
            port = gateway.stderr.readline().partition('"port":')[2].partition(',')[0].strip()
            # What root alone may read has been read: nothing of root's is left.
            with open(f'/proc/{gateway.pid}/status', encoding='ascii') as f:
                status = dict(line.rstrip('\n').split(':\t', 1) for line in f if ':\t' in line)
            helper = pwd.getpwnam('isod-net')
            assert status['Uid'].split() == [str(helper.pw_uid)] * 4 and status['Gid'].split() == [str(helper.pw_gid)] * 4, status
            assert status['Groups'].strip() == '' and all(int(status[c], 16) == 0 for c in ('CapPrm', 'CapEff', 'CapInh', 'CapAmb')), status
            r = subprocess.run(['curl', '-sS', '-x', f'http://127.0.0.1:{port}', 'http://git.example/hello'], capture_output=True,
                               timeout=60, check=False)
        finally:
            gateway.terminate()
    assert r.stdout == b'hello from nginx\n' and proxy.asked == ['git.example:80'], r
