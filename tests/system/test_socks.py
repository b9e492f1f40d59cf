"""SOCKS5 at the proxy port, by curl: for programs that are told of a proxy by ALL_PROXY."""
import pytest

from test_egress import ALLOW, ca  # noqa: F401  (a fixture)

PROXY = 'socks5h://127.0.0.1:61080'
UNSET = 'unset HTTP_PROXY HTTPS_PROXY http_proxy https_proxy; '


def connections(isod):
    return [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'connection']


def curl(isod, ca, url, *options):
    return isod.sh(f'{UNSET} ALL_PROXY={PROXY} curl -sS --max-time 15 --cacert {ca} {url}', options=[*ALLOW, *options])


@pytest.mark.parametrize('scheme', ['http', 'https'])
def test_allowed_host(isod, web, ca, scheme):
    r = curl(isod, ca, f'{scheme}://ok.example/hello')
    assert r.out == b'hello from nginx\n', r
    entries = connections(isod)
    assert [(e['via'], e['verdict'], e['name'], e['port']) for e in entries] == \
        [('socks', 'allow', 'ok.example', 443 if scheme == 'https' else 80)], entries
    assert 'curl' in entries[0]['program'] and entries[0]['bytesDown'] > 17 and entries[0]['bytesUp'] > 40, entries


@pytest.mark.parametrize('scheme', ['http', 'https'])
@pytest.mark.parametrize('host,reason', [('evil.example', 'not-listed'), ('sub.ok.example', 'not-listed'), ('127.0.0.77', 'private-address')])
def test_refused_host(isod, web, ca, scheme, host, reason):
    before = web.requests()
    r = curl(isod, ca, f'{scheme}://{host}/hello')
    # 97: the proxy's handshake; (2): not allowed by ruleset
    assert r.rc == 97 and '(2)' in r.errors and web.requests() == before, r
    assert [(e['via'], e['verdict'], e['name'], e['reason']) for e in connections(isod)] == [('socks', 'deny', host, reason)]


def test_another_name_inside(isod, web, ca):
    """The tunnel to ok.example asks for evil.example: by SNI, by Host."""
    before = web.requests()
    for url in ('https://evil.example/', 'http://evil.example/'):
        port = 443 if url.startswith('https') else 80
        r = curl(isod, ca, f'-i --connect-to evil.example:{port}:ok.example:{port} {url}', '--allow-domain', 'evil.example')
        reason = 'sni-mismatch' if port == 443 else 'host-mismatch'
        assert ('alert' in r.errors if port == 443 else reason in r.text) and 'hello' not in r.text and web.requests() == before, r
        assert [e['reason'] for e in connections(isod)] == [reason], connections(isod)


def test_what_is_not_served(isod, web):
    """SOCKS4 is told so."""
    r = isod.sh(f'{UNSET} curl -sS --max-time 15 -x socks4a://127.0.0.1:61080 http://ok.example/', options=ALLOW)
    assert r.rc == 97 and '91' in r.errors, r
    assert [(e['via'], e['reason']) for e in connections(isod)] == [('socks', 'bad-socks')]


def test_what_a_program_sent_before_its_end_arrives(isod, web):
    """As for CONNECT: a program that writes and ends."""
    import socket
    import threading
    got = []
    with socket.create_server(('127.0.0.77', 8079)) as server:
        def serve():
            c, _ = server.accept()
            with c:
                while data := c.recv(1 << 16):
                    got.append(data)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        r = isod.run('/usr/bin/python3', '-c', 'import os, socket; s = socket.create_connection(("127.0.0.1", 61080)); '
                     's.sendall(b"\\5\\1\\0\\5\\1\\0\\3\\12ok.example" + (8079).to_bytes(2, "big") + b"z" * (1 << 20)); s.recv(12, socket.MSG_WAITALL); os._exit(3)',
                     options=['--allow-domain', 'ok.example:8079'])
        assert r.rc == 3, r
        thread.join(20)
        assert sum(map(len, got)) == 1 << 20
    assert [e['bytesUp'] for e in connections(isod)] == [1 << 20]


def test_the_session_is_not_told_of_it(isod):
    """Programs without SOCKS in them fail where ALL_PROXY names it (httpx); without, they are captured."""
    r = isod.sh('env', env={'ALL_PROXY': 'socks5h://10.0.0.1:1080', 'all_proxy': 'http://10.0.0.1:3128'})
    assert 'all_proxy' not in r.text.lower() and 'HTTPS_PROXY=http://127.0.0.1:61080' in r.text, r
