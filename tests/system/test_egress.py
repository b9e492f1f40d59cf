"""Layer 1, network: every way out is decided by name, nothing else leaves. Real nginx, real TLS, real tools."""
import os
import socket
import subprocess
import threading

import pytest

from conftest import SANITIZED
from waiting import wait_for

ALLOW = ['--allow-domain', 'ok.example']


@pytest.fixture
def ca(web, project):
    path = os.path.join(project, 'ca.crt')
    with open(web.ca, encoding='ascii') as f, open(path, 'w', encoding='ascii') as g:
        g.write(f.read())
    os.chmod(path, 0o644)
    return path


def curl(isod, *args, options=ALLOW, **kw):
    return isod.run('curl', '-sS', '--max-time', '15', *args, options=options, **kw)


WAYS = {'proxy': [], 'capture': ['--noproxy', '*']}


@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('scheme', ['http', 'https'])
def test_allowed_host(isod, web, ca, way, scheme):
    r = curl(isod, *WAYS[way], '--cacert', ca, f'{scheme}://ok.example/hello')
    assert r.out == b'hello from nginx\n', r
    entry = [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'connection'][-1]
    assert entry['verdict'] == 'allow' and entry['name'] == 'ok.example' and entry['port'] == (443 if scheme == 'https' else 80)
    assert entry['bytesDown'] > 17 and entry['bytesUp'] > 40 and 'curl' in entry['program'], entry


@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('scheme', ['http', 'https'])
@pytest.mark.parametrize('host', ['evil.example', 'ok.example.evil.example', 'notok.example', 'sub.ok.example', 'localhost'])
def test_unlisted_host(isod, web, ca, way, scheme, host):
    before = web.requests()
    r = curl(isod, *WAYS[way], '--cacert', ca, '-f', f'{scheme}://{host}/hello')
    assert r.rc != 0 and r.out == b'', r
    assert web.requests() == before
    if host != 'localhost':
        denied = [e for e in isod.audit(isod.last_session()['id']) if e.get('verdict') == 'deny' or e['event'] == 'dns.denied']
        assert any(e['name'] == host for e in denied), denied


def test_refusal_says_why(isod, web):
    r = curl(isod, '-i', 'http://evil.example/')
    assert ' 403 ' in r.text.splitlines()[0] and 'not-listed' in r.text and 'evil.example' in r.text and '--allow-domain' in r.text, r


@pytest.mark.parametrize('way', WAYS)
def test_wildcard(isod, web, ca, way):
    options = ['--allow-domain', '*.ok.example']
    assert curl(isod, *WAYS[way], '--cacert', ca, 'https://sub.ok.example/hello', options=options).rc == 0
    assert curl(isod, *WAYS[way], '--cacert', ca, '-f', 'https://ok.example/hello', options=options).rc != 0


@pytest.mark.parametrize('way', WAYS)
def test_ports_are_part_of_the_rule(isod, web, ca, way):
    only_https = ['--allow-domain', 'ok.example:443']
    assert curl(isod, *WAYS[way], '--cacert', ca, 'https://ok.example/hello', options=only_https).rc == 0
    assert curl(isod, *WAYS[way], '-f', 'http://ok.example/hello', options=only_https).rc != 0
    assert curl(isod, *WAYS[way], '-f', 'http://ok.example:8080/hello').rc != 0


def test_ipv6(isod, web, ca):
    options = ['--allow-domain', 'six.example']
    for way in WAYS.values():
        r = curl(isod, *way, '--cacert', ca, 'https://six.example/hello', options=options)
        assert r.out == b'hello from nginx\n', r
    r = curl(isod, *WAYS['capture'], '-6', '--cacert', ca, 'https://six.example/host', options=options)
    assert r.rc == 0 and b'::1' in r.out, r


def test_deny_beats_allow(isod, web, ca):
    options = ['--allow-domain', '*.ok.example', '--allow-domain', 'ok.example', '--deny-domain', 'sub.ok.example']
    assert curl(isod, '--cacert', ca, 'https://ok.example/hello', options=options).rc == 0
    assert curl(isod, '--cacert', ca, '-f', 'https://sub.ok.example/hello', options=options).rc != 0


def test_no_rule_means_nothing(isod, web, ca):
    for way in WAYS.values():
        assert curl(isod, *way, '-f', 'http://ok.example/hello', options=[]).rc != 0


@pytest.mark.parametrize('target', ['127.0.0.77', '[::1]', '127.1', '2130706433', '0x7f.0.0.77', '0177.0.0.77', '[::ffff:127.0.0.77]'])
@pytest.mark.parametrize('way', WAYS)
def test_address_literals_of_the_host(isod, web, way, target):
    before = web.requests()
    assert curl(isod, *WAYS[way], '-f', f'http://{target}/hello').rc != 0
    assert web.requests() == before


def test_only_lo(isod):
    assert isod.sh('cat /proc/net/dev | tail -n +3 | cut -d: -f1').text.split() == ['lo']


UDP = '''
import socket
for family, host, port in ((2, "192.0.2.1", 443), (10, "2001:db8::1", 443), (2, "192.0.2.1", 123), (2, "8.8.8.8", 53)):
    s = socket.socket(family, 2); s.settimeout(60)
    try:
        s.connect((host, port)); s.send(b"\\0" * 20); s.send(b"\\0" * 20); s.recv(1); print("ANSWERED", host, port)
    except OSError as e: print(type(e).__name__, host, port)
'''


def test_other_packets_are_refused_at_once_and_logged(isod):
    r = isod.run('/usr/bin/python3', '-c', UDP)
    lines = r.text.splitlines()
    assert r.rc == 0 and len(lines) == 4, r
    for line in lines[:3]:
        assert 'ANSWERED' not in line and 'Timeout' not in line, r
    packets = [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'packet.refused']
    assert {('192.0.2.1', 443), ('2001:db8::1', 443), ('192.0.2.1', 123)} <= {(e['address'], e['port']) for e in packets}, packets


def test_dns_answers_only_what_the_policy_names(isod):
    r = isod.sh('dig +short ok.example; echo --; dig +noall +comments evil.example; echo --; dig +short AAAA ok.example; '
                'echo --; dig +short MX ok.example; dig +short HTTPS ok.example; echo --; dig +tcp +short ok.example; '
                'echo --; dig +short @8.8.8.8 ok.example', options=ALLOW)
    parts = r.text.split('--\n')
    assert parts[0].startswith('198.1') and 'NXDOMAIN' in parts[1] and parts[2].startswith('fd69:736f:6400'), r
    assert parts[3] == '' and parts[4] == parts[0] and parts[5] == parts[0], r
    denied = [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'dns.denied']
    assert [e['name'] for e in denied] == ['evil.example'], denied


def test_invented_addresses_resolve_back(isod):
    r = isod.sh('a=$(dig +short ok.example); dig +short -x $a', options=ALLOW)
    assert r.text == 'ok.example.\n', r


CONNECT = r'''
import socket, sys
s = socket.create_connection(("127.0.0.1", 61080)); s.settimeout(10)
s.sendall(sys.argv[1].encode().decode("unicode_escape").encode("latin1"))
data = b""
while True:
    try: more = s.recv(65536)
    except (TimeoutError, ConnectionResetError): break
    if not more: break
    data += more
    if b"\r\n\r\n" in data and len(sys.argv) > 2: break
print("b'" + repr(data[:2000])[2:-1] + "'")
'''


def raw(isod, text, *more, options=ALLOW):
    r = isod.run('/usr/bin/python3', '-c', CONNECT, text, *more, options=options)
    assert r.rc == 0, r
    return r.text


@pytest.mark.parametrize('target,status', [
    ('ok.example:22', 403), ('ok.example:25', 403), ('ok.example:0', 400), ('ok.example:65536', 400), ('ok.example:+443', 400),
    ('ok.example:', 400), ('ok.example', 400), (':443', 400), ('localhost:5432', 403), ('127.0.0.2:22', 403), ('[::1]:631', 403),
    ('foo.localhost:443', 403), ('[2001:db8::1]:443', 403), ('2001:db8::1:443', 400), ('[2001:db8::1]', 400), ('[::1%25lo]:443', 400),
    ('[v1.x]:443', 400), ('ok.example..:443', 400), ('u@ok.example:443', 400), ('ok%2eexample:443', 400), ('OK.example.:25', 403),
    ('169.254.169.254:80', 403)])
def test_connect_targets(isod, target, status):
    answer = raw(isod, f'CONNECT {target} HTTP/1.1\\r\\nHost: ok.example:443\\r\\n\\r\\n')
    assert answer.startswith(f"b'HTTP/1.1 {status} "), answer


@pytest.mark.parametrize('head', [
    'Content-Length: 4\\r\\nContent-Length: 0', 'Content-Length: +5', 'Content-Length: 5,5', 'Content-Length: 0x5',
    'Content-Length: 99999999999999999999', 'Transfer-Encoding: chunked\\t', 'Transfer-Encoding: identity, chunked',
    'Transfer-Encoding: xchunked', 'Transfer-Encoding: chunked\\r\\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\\r\\nContent-Length: 3', 'X: y\\r\\n folded', 'Host: evil.example', 'X : y', 'X: a\\x00b'])
def test_ambiguous_requests_are_refused(isod, web, head):
    before = web.requests()
    answer = raw(isod, f'POST http://ok.example/echo HTTP/1.1\\r\\nHost: ok.example\\r\\n{head}\\r\\n\\r\\nabcd')
    assert answer.startswith("b'HTTP/1.1 400 "), answer
    assert web.requests() == before


def test_every_pipelined_request_is_judged(isod, web):
    before = web.requests()
    one = 'GET http://{0}/hello HTTP/1.1\\r\\nHost: {0}\\r\\n\\r\\n'
    answer = raw(isod, one.format('ok.example') + one.format('two.example') + one.format('evil.example'),
                 options=[*ALLOW, '--allow-domain', 'two.example'])
    assert answer.count('hello from nginx') == 2 and answer.count(' 403 ') == 1, answer
    assert answer.rindex('403') > answer.rindex('hello from nginx')
    new = web.requests()[len(before):]
    assert new.count('GET /hello') == 2, new


def test_a_tunnel_to_443_carries_tls_only(isod, web):
    before = web.requests()
    answer = raw(isod, 'CONNECT ok.example:443 HTTP/1.1\\r\\nHost: ok.example:443\\r\\n\\r\\nGET /hello HTTP/1.1\\r\\nHost: ok.example\\r\\n\\r\\n')
    assert 'hello' not in answer and web.requests() == before
    entry = [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'connection'][-1]
    assert entry['reason'] == 'not-tls', entry


TLS = '''
import socket, ssl, sys
target, sni, record = sys.argv[1], sys.argv[2] or None, int(sys.argv[3])
ctx = ssl.create_default_context(); ctx.check_hostname = False; ctx.verify_mode = ssl.CERT_NONE
s = socket.create_connection(("127.0.0.1", 61080)); s.settimeout(10)
s.sendall(f"CONNECT {target}:443 HTTP/1.1\\r\\nHost: {target}:443\\r\\n\\r\\n".encode())
head = b""
while b"\\r\\n\\r\\n" not in head: head += s.recv(1)
print(head.split()[1].decode())
i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
t = ctx.wrap_bio(i, o, server_hostname=sni)
try: t.do_handshake()
except ssl.SSLWantReadError: pass
hello = o.read()
if record:
    body = hello[5:]; hello = b"".join(b"\\x16\\x03\\x01" + len(body[k:k+record]).to_bytes(2, "big") + body[k:k+record] for k in range(0, len(body), record))
for k in range(0, len(hello), 700): s.sendall(hello[k:k+700])
try:
    while True:
        try: t.do_handshake(); done = True
        except ssl.SSLWantReadError: done = False
        out = o.read()
        if out: s.sendall(out)
        if done: break
        more = s.recv(65536)
        if not more: raise ConnectionError("closed")
        i.write(more)
    print("handshake")
except (ssl.SSLError, OSError) as e: print("refused", type(e).__name__)
'''


@pytest.mark.parametrize('sni,good', [('ok.example', True), ('OK.example', True), ('evil.example', False), ('two.example', False), ('', False)])
@pytest.mark.parametrize('record', [0, 20])
def test_name_in_the_hello_is_the_name_asked_for(isod, web, sni, good, record):
    before = web.requests()
    r = isod.run('/usr/bin/python3', '-c', TLS, 'ok.example', sni, str(record), options=[*ALLOW, '--allow-domain', 'two.example'])
    assert r.rc == 0 and ('handshake' in r.text) == good, r
    assert web.requests() == before
    if not good:
        entry = [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'connection'][-1]
        assert entry['reason'] == ('sni-mismatch' if sni else 'sni-missing') and entry['verdict'] == 'deny', entry


def test_private_answers_are_not_dialled(web, root_dir, own_isod):
    """A name that is allowed but not pinned and resolves to a private address: /etc/hosts of the host is such a source."""
    hosts = os.path.join(root_dir, 'hosts')
    with open('/etc/hosts', encoding='utf-8') as f, open(hosts, 'w', encoding='utf-8') as g:
        g.write(f.read() + '\n127.0.0.77 rebind.example\n')
    # in the mount namespace of the tests
    subprocess.run(['mount', '--bind', hosts, '/etc/hosts'], check=True)
    try:
        before = web.requests()
        r = curl(own_isod, '-i', 'http://rebind.example/hello', options=['--allow-domain', 'rebind.example'])
        assert 'private-address' in r.text and 'hello from nginx' not in r.text, r
        assert web.requests() == before
    finally:
        subprocess.run(['umount', '/etc/hosts'], check=True)


@pytest.mark.parametrize('size', [7728, 5 << 20])
def test_answers_are_whole_when_the_server_closes_first(isod, size):
    rounds = (20 if SANITIZED else 100) // (10 if size > 100000 else 1)
    server = socket.create_server(('127.0.0.77', 8077))
    def serve():
        for _ in range(rounds):
            c, _a = server.accept()
            with c:
                c.recv(65536)
                c.sendall(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n' + b'z' * size)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    script = ('import urllib.request as u\nimport sys\nfor i in range(int(sys.argv[1])):\n'
              '  d = u.urlopen("http://ok.example:8077/").read()\n  assert len(d) == int(sys.argv[2]), len(d)\nprint("whole")')
    try:
        r = isod.run('/usr/bin/python3', '-c', script, str(rounds), str(size), options=['--allow-domain', 'ok.example:8077'])
        assert r.text == 'whole\n', r
    finally:
        server.close()


def test_what_a_program_sent_before_its_end_arrives(isod):
    server = socket.create_server(('127.0.0.77', 8078))
    got = []

    def serve():
        c, _a = server.accept()
        with c:
            while data := c.recv(1 << 16):
                got.append(data)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        r = isod.run('/usr/bin/python3', '-c', 'import os, socket; s = socket.create_connection(("ok.example", 8078)); '
                     's.sendall(b"z" * (1 << 20)); os._exit(3)', options=['--allow-domain', 'ok.example:8078'])
        assert r.rc == 3, r
        thread.join(20)
        assert sum(map(len, got)) == 1 << 20
        connection = [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'connection']
        assert [e['bytesUp'] for e in connection] == [1 << 20], connection
    finally:
        server.close()


def test_bulk(isod, web, ca):
    with open(os.path.join(web.dir, 'www/big'), 'rb') as f:
        import hashlib
        digest = hashlib.sha256(f.read()).hexdigest()
    r = isod.sh(f'for i in 1 2 3; do curl -sS --cacert {ca} https://ok.example/big | sha256sum; '
                f'curl -sS --noproxy "*" http://ok.example/big | sha256sum; done', options=ALLOW)
    assert [line.split()[0] for line in r.text.splitlines()] == [digest] * 6, r


def test_unreachable_host_is_said(isod):
    r = curl(isod, '-i', 'http://dead.example/', options=['--allow-domain', 'dead.example'])
    assert ' 502 ' in r.text and 'unreachable' in r.text, r


def test_a_dead_gateway_means_no_network_and_no_session(own_isod, web):
    """kill -9 of isod-session ends its session, fail closed."""
    p = own_isod.popen('run', '-q', *ALLOW, '--', 'sh', '-c', 'echo up; while :; do sleep 0.05; done', stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    victims = own_isod.helpers_named('isod-session')
    assert len(victims) == 1
    os.kill(victims[0], 9)
    assert p.wait(120) == 125
    wait_for(lambda: len(own_isod.helpers()) == 1, 'the session is gone')
