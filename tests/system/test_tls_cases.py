"""The name in the hello: cut into records, padded, many times."""
import pytest

from test_egress import ALLOW

# One hello in every shape that the arguments ask for; prints what came of it.
HELLO = r'''
import socket, ssl, struct, sys, concurrent.futures
target, sni, shape, count = sys.argv[1], sys.argv[2] or None, sys.argv[3], int(sys.argv[4])
ctx = ssl.create_default_context(); ctx.check_hostname = False; ctx.verify_mode = ssl.CERT_NONE

def client():
    i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
    t = ctx.wrap_bio(i, o, server_hostname=sni)
    try: t.do_handshake()
    except ssl.SSLWantReadError: pass
    return t, i, o, o.read()

def padded(hello, size):
    """The handshake message with an unknown extension that fills it up to size bytes; a server skips that."""
    body = bytearray(hello[5:])
    at = 4 + 2 + 32
    at += 1 + body[at]
    at += 2 + struct.unpack_from(">H", body, at)[0]
    at += 1 + body[at]
    n = struct.unpack_from(">H", body, at)[0]
    # a PSK extension must be last: there is none in a first hello
    extra = size - len(body) - 4
    body += struct.pack(">HH", 0xff5a, extra) + bytes(extra)
    struct.pack_into(">H", body, at, n + 4 + extra)
    body[1:4] = (len(body) - 4).to_bytes(3, "big")
    return bytes(body)

def records(body, sizes):
    out, at = b"", 0
    for size in sizes:
        out += b"\x16\x03\x01" + len(body[at:at + size]).to_bytes(2, "big") + body[at:at + size]
        at += size
    assert at >= len(body)
    return out

def cut(hello):
    body = hello[5:]
    kind, _, value = shape.partition(":")
    if kind == "whole": return hello
    if kind == "each": return records(body, [int(value)] * (-(-len(body) // int(value))))
    if kind == "last": return records(body, [len(body) - int(value), int(value)])
    if kind == "name":
        at = body.index(sni.encode()) + len(sni) // 2
        return records(body, [at, len(body) - at])
    if kind == "pad": return records(padded(hello, int(value)), [16384] * (-(-int(value) // 16384)))
    if kind == "long":
        body = b"\x01" + int(value).to_bytes(3, "big") + body[4:] + bytes(int(value) + 4 - len(body))
        return records(body, [16384] * (-(-len(body) // 16384)))
    raise SystemExit("shape?")

def once(_):
    s = socket.create_connection(("127.0.0.1", 61080)); s.settimeout(60)
    with s:
        s.sendall(f"CONNECT {target}:443 HTTP/1.1\r\nHost: {target}:443\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            more = s.recv(1)
            if not more: return "no answer"
            head += more
        if b" 200 " not in head: return head.split()[1].decode()
        t, i, o, hello = client()
        try:
            s.sendall(cut(hello))
            answer = s.recv(65536)
            # a handshake record, not an alert: the server has read the hello
            return "hello" if answer[:1] == b"\x16" else "alert" if answer[:1] == b"\x15" else "closed" if not answer else "?"
        except OSError: return "closed"

with concurrent.futures.ThreadPoolExecutor(50) as pool:
    results = list(pool.map(once, range(count)))
for r in sorted(set(results)): print(r, results.count(r))
'''


def hello(isod, sni, shape, count=1, target='ok.example', options=(*ALLOW, '--allow-domain', 'two.example')):
    r = isod.run('/usr/bin/python3', '-c', HELLO, target, sni, shape, str(count), options=list(options), timeout=600)
    assert r.rc == 0, r
    return dict((line.rsplit(' ', 1)[0], int(line.rsplit(' ', 1)[1])) for line in r.text.splitlines())


def last(isod):
    return [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'connection'][-1]


SHAPES = ['whole', 'each:20', 'each:64', 'name', 'last:1', 'last:2', 'pad:1500', 'pad:2100', 'pad:16384', 'pad:16640', 'pad:40000']


@pytest.mark.parametrize('shape', SHAPES)
def test_an_allowed_name_passes_in_every_shape(isod, web, shape):
    """Cases 68 and 70."""
    got = hello(isod, 'ok.example', shape)
    # what the server thinks of a very long hello is its own business: it was passed on
    assert got == {'hello': 1} or shape in ('pad:16640', 'pad:40000'), got
    assert last(isod)['verdict'] == 'allow', last(isod)


@pytest.mark.parametrize('sni,reason', [('evil.example', 'sni-mismatch'), ('', 'sni-missing'), ('two.example', 'sni-mismatch')])
@pytest.mark.parametrize('shape', [s for s in SHAPES if s != 'name'])
def test_another_name_is_closed_in_every_shape(isod, web, shape, sni, reason):
    """Cases 67 and 68: nothing goes upstream."""
    got = hello(isod, sni, shape)
    assert 'hello' not in got and '?' not in got, got
    assert last(isod)['verdict'] == 'deny' and last(isod)['reason'] == reason and last(isod)['bytesDown'] <= 7, last(isod)


@pytest.mark.parametrize('shape', ['each:1', 'each:2', 'long:70000', 'long:16000000'])
def test_too_many_records_or_bytes_are_closed(isod, web, shape):
    """Case 68: more than 64 records or 64 KiB."""
    got = hello(isod, 'ok.example', shape)
    assert 'hello' not in got, got
    assert last(isod)['verdict'] == 'deny' and last(isod)['reason'] == 'bad-tls', last(isod)


def test_two_thousand_large_hellos(isod, web):
    """Case 70: 2,000 connections with a hello of 2,100 bytes, and 200 of 16 KiB: no failure."""
    assert hello(isod, 'ok.example', 'pad:2100', 2000) == {'hello': 2000}
    assert hello(isod, 'ok.example', 'pad:16384', 200) == {'hello': 200}
