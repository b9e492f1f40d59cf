"""Hours of use in little: the same work again and again, after which no descriptor and no memory may have come to stay.

Not a part of the ordinary tests (its name says so to pytest): ./setup test soak, for ISOD_SOAK_SECONDS (half an hour).
"""
import json
import os
import time

from conftest import SANITIZED
from test_egress import ALLOW
from test_egress_abuse import Inside, status
from waiting import wait_for

SECONDS = float(os.environ.get('ISOD_SOAK_SECONDS', '1800'))

WORK = r"""
import random
def http(path, n=20):
    s = dial(("127.0.0.1", 61080))
    for i in range(n):
        s.sendall(b"GET http://ok.example%s HTTP/1.1\r\nHost: ok.example\r\n\r\n" % path)
        head = b""
        while b"\r\n\r\n" not in head: head += s.recv(65536)
        body = head.partition(b"\r\n\r\n")[2]
        left = int(head.lower().partition(b"content-length: ")[2].split()[0]) - len(body)
        while left > 0: left -= len(s.recv(min(left, 1 << 18)))
    s.close()
def crowd(n=300):
    held = []
    firsts = [b"", b"G", b"\x05", b"GET http://ok.example/ HTTP/1.1\r\nX: " + b"x" * 30000, b"CONNECT ok.example:443 HTTP/1.1\r\n\r\n",
              b"\x16\x03\x01", b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n", b"POST http://ok.example/echo HTTP/1.1\r\nHost: ok.example\r\n"
              b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"]
    for i in range(n):
        s = dial(random.choice([("127.0.0.1", 61080), ("::1", 61080)]))
        held.append(s)
        s.setblocking(False)
        try: s.send(random.choice(firsts))
        except OSError: pass
    random.shuffle(held)
    for s in held[:n // 2]: s.close()
    drop(held[n // 2:])
def unread():
    # large answers that nobody takes
    held = [dial(("127.0.0.1", 61080)) for i in range(20)]
    for s in held: s.sendall(b"GET http://ok.example/big HTTP/1.1\r\nHost: ok.example\r\n\r\n")
    for s in held: s.recv(1)
    drop(held)
def names():
    for name in ("ok.example", "evil.example", "two.example", "x%d.evil.example" % random.randrange(50)):
        try: socket.getaddrinfo(name, 80)
        except OSError: pass
    held = [dial(DNS) for i in range(80)]
    for s in held: s.send(b"\0\x20half")
    drop(held)
def work():
    for i in range(5): random.choice([lambda: http(b"/hello"), lambda: http(b"/big", 2), crowd, unread, names])()
    return hello()
serve(work=work)
"""


def sample(pid):
    return {'fds': len(os.listdir(f'/proc/{pid}/fd')), 'kib': status(pid, 'RssAnon')}


def plateau(samples, key, slack):
    """What the last third shows at most is not above the third before it."""
    third = len(samples) // 3
    before, after = (max(s[key] for s in part) for part in (samples[third:-third], samples[-third:]))
    return after <= before + slack(before), (before, after)


def test_soak(own_isod, web):
    sessions = [Inside(own_isod, WORK, *ALLOW) for _ in range(2)]
    gateways = [s.gateway for s in sessions]
    control = own_isod.helpers_named('isod-control')[0]
    watched = {'isod': own_isod.process.pid, 'isod-control': control, **{f'isod-session {i}': g for i, g in enumerate(gateways)}}
    samples = {name: [] for name in watched}
    empty = {g: len(os.listdir(f'/proc/{g}/fd')) for g in gateways}
    end, rounds = time.monotonic() + SECONDS, 0
    while time.monotonic() < end or rounds < 30:
        for s in sessions:
            assert s.step('work') == 'HTTP/1.1 200 OK'
        assert own_isod.run('true').rc == 0
        for g in gateways:
            # 16 more: pipes and idle clients of the resolver have seconds left
            wait_for(lambda g=g: len(os.listdir(f'/proc/{g}/fd')) <= empty[g] + 16, 'descriptors are given back', 120)
        wait_for(lambda: len(own_isod.helpers_named('isod-session')) == len(gateways), 'the short session is gone')
        for name, pid in watched.items():
            samples[name].append(sample(pid))
        rounds += 1
    for s in sessions:
        s.end()
    figures, bad = {'rounds': rounds}, []
    for name, taken in samples.items():
        for key, slack in (('fds', lambda n: 16), ('kib', lambda n: n // 10 + 2048)):
            flat, seen = plateau(taken, key, slack)
            figures[f'{name} {key}'] = seen
            if not flat and not (SANITIZED and key == 'kib'):
                bad.append((name, key, seen))
    print(json.dumps(figures))
    assert not bad, (bad, figures)
