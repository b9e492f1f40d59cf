"""Programs that wear their session's gateway out: it stays within bounds, idle when nothing comes, says so, and nobody
else notices."""
import json
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import BUILD, SANITIZED, Isod
from test_egress import ALLOW, curl
from waiting import wait_for

# By hand, for all of them: ISOD_ABUSE_CONNECTIONS=100000
CONNECTIONS = int(os.environ.get('ISOD_ABUSE_CONNECTIONS', '12000'))
# Memory that a gateway may have at its worst: 32 MiB of buffers, 8 KiB more for each of 4,096 connections, their records.
RSS_MAX_KIB = 110 << 10


def status(pid, key):
    with open(f'/proc/{pid}/status', encoding='ascii') as f:
        return int(re.search(rf'^{key}:\s+(\d+)', f.read(), re.M)[1])


def ticks(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as f:
        fields = f.read().rpartition(')')[2].split()
    return int(fields[11]) + int(fields[12])


def is_quiet(pid):
    """Does not run by itself: of 100 looks one after the other, 20 in a row must find no tick more. Time is the subject."""
    last, calm = ticks(pid), 0
    for _ in range(100):
        time.sleep(0.02)
        now = ticks(pid)
        calm = calm + 1 if now == last else 0
        last = now
        if calm == 20:
            return True
    return False


class Inside:
    """A program in a session that does one step a line of its stdin and answers with a line."""

    def __init__(self, isod, script, *options):
        self.process = isod.popen('run', '-q', *options, '--', '/usr/bin/python3', '-c', STEPS + script, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.expect('up')
        self.gateway = max(isod.helpers_named('isod-session'))
        self.session = isod.last_session()['id']

    def expect(self, text):
        line = self.process.stdout.readline().decode().strip()
        assert line == text, (line, self.process.poll(), self.process.stderr.read() if not line else None)

    def step(self, name):
        self.process.stdin.write(name.encode() + b'\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        return json.loads(line)

    def end(self):
        _, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, err


STEPS = r'''
import errno, json, resource, select, socket, struct, sys
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
DNS = (open("/etc/resolv.conf").read().partition("nameserver ")[2].split()[0], 53)
RESET = struct.pack("ii", 1, 0)
def dial(where):
    s = socket.socket(socket.AF_INET6 if ":" in where[0] else socket.AF_INET)
    s.settimeout(20)
    s.connect(where)
    return s
def drop(all):
    for s in all:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        s.close()
    del all[:]
def hello():
    data = b""
    try:
        s = dial(("127.0.0.1", 61080))
        s.sendall(b"GET http://ok.example/hello HTTP/1.1\r\nHost: ok.example\r\nConnection: close\r\n\r\n")
        while more := s.recv(65536): data += more
    except OSError as e: return str(e)
    return data.decode(errors="replace").split("\r\n")[0]
def serve(**steps):
    print("up", flush=True)
    for line in sys.stdin:
        print(json.dumps(steps[line.strip()]()), flush=True)
'''

CROWD = r'''
held = []
ok = socket.gethostbyname("ok.example")
# every listener: what is sent there is the beginning of something
WAYS = [(("127.0.0.1", 61080), b"GET http://ok"), (("::1", 61080), b""), (("127.0.0.1", 61080), b"\x05\x02"), ((ok, 443), b"\x16\x03\x01\x02"),
        ((ok, 80), b"GET / HTTP/1.1\r\nHost: ok"), (DNS, b"\x00"), (("::1", 61080), b"CONNECT ok.example:443 HTTP/1.1\r\n")]
def crowd():
    n = int(sys.argv[1])
    while n > 0:
        where, text = WAYS[n % len(WAYS)]
        try:
            s = dial(where)
        except OSError as e:
            if e.errno in (errno.ECONNRESET, errno.ECONNREFUSED): n -= 1; continue
            if e.errno == errno.EMFILE: break
            raise
        n -= 1
        held.append(s)
        try: s.send(text) if text else None
        except OSError: pass
    return n
def drop_all(): drop(held)
serve(crowd=crowd, hello=hello, drop=drop_all)
'''


def crowd_of(isod, n):
    return Inside(isod, CROWD.replace('sys.argv[1]', str(n)), *ALLOW)


@pytest.mark.parametrize('n', [CONNECTIONS])
def test_a_crowd(isod, web, n):
    """Slow clients at every listener, far more than are served."""
    inside = crowd_of(isod, min(n, 12000))
    for _ in range(max(1, n // 12000)):
        inside.step('crowd')
        assert curl(isod, 'http://ok.example/hello').out == b'hello from nginx\n'
        assert status(inside.gateway, 'VmHWM') < RSS_MAX_KIB or SANITIZED
        inside.step('drop')
    wait_for(lambda: len(os.listdir(f'/proc/{inside.gateway}/fd')) < 64, 'the gateway lets go of them')
    assert is_quiet(inside.gateway)
    assert inside.step('hello') == 'HTTP/1.1 200 OK'
    inside.end()
    entries = isod.audit(inside.session)
    refused = [e for e in entries if e['event'] == 'connection' and e.get('reason') == 'limit']
    assert refused and sum(e.get('count', 1) for e in refused) > 1000, refused[:3]
    assert 'too many connections at once' in isod.log()


def test_an_idle_crowd_costs_nothing(isod, web):
    """As many as are served, saying nothing: the gateway sleeps."""
    inside = crowd_of(isod, 3000)
    inside.step('crowd')
    wait_for(lambda: is_quiet(inside.gateway), 'the gateway is quiet')
    inside.step('drop')
    inside.end()


BOMBS = r'''
held = []
def bombs():
    """Heads of 60 KiB without an end."""
    head = b"GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nX: " + b"x" * 60000
    for i in range(3000):
        s = dial(("127.0.0.1", 61080))
        held.append(s)
        s.setblocking(False)
        try: s.send(head)
        except OSError: pass
    # what did not fit at once
    for s in held:
        try: s.send(head[:8])
        except OSError: pass
    return len(held)
def drop_all(): drop(held)
serve(bombs=bombs, hello=hello, drop=drop_all)
'''


def test_head_bombs(isod, web):
    inside = Inside(isod, BOMBS, *ALLOW)
    inside.step('bombs')
    wait_for(lambda: is_quiet(inside.gateway), 'the gateway is quiet')
    assert status(inside.gateway, 'VmHWM') < RSS_MAX_KIB or SANITIZED
    inside.step('drop')
    wait_for(lambda: len(os.listdir(f'/proc/{inside.gateway}/fd')) < 64, 'the gateway lets go of them')
    assert inside.step('hello') == 'HTTP/1.1 200 OK'
    inside.end()


@pytest.fixture
def few_files(root_dir, web):
    """A daemon whose sessions' gateways have few descriptors."""
    d = Isod(root_dir, 'few-files', prefix=['prlimit', '--nofile=300:300'])
    d.policy({'hosts': {'ok.example': ['127.0.0.77'], 'two.example': ['127.0.0.77']}})
    d.start()
    yield d
    d.stop()


FILES = r'''
held = []
def take():
    """Two of the gateway's descriptors for each of ours, then a question over TCP that nobody may have one for."""
    refused = 0
    for i in range(200):
        try:
            s = dial(("127.0.0.1", 61080))
            held.append(s)
            s.sendall(b"GET http://ok.example/hello HTTP/1.1\r\nHost: ok.example\r\n\r\n")
            refused += b"503" in s.recv(65536)[:13]
        except OSError: refused += 1
    for i in range(70):
        try:
            s = dial(DNS)
            held.append(s)
            s.send(b"\0")
        except OSError: pass
    return refused
def drop_all(): drop(held)
serve(take=take, hello=hello, drop=drop_all)
'''


def test_no_descriptors_left(few_files):
    """A program takes them all: it is told, the gateway sleeps, takes new rules, and serves again afterwards."""
    inside = Inside(few_files, FILES, *ALLOW)
    other = Inside(few_files, FILES, *ALLOW)
    assert inside.step('take') > 0
    wait_for(lambda: is_quiet(inside.gateway), 'the gateway is quiet')
    assert other.step('hello') == 'HTTP/1.1 200 OK'
    r = few_files.ctl('grant', inside.session, 'two.example')
    assert r.rc == 0, r
    inside.step('drop')
    wait_for(lambda: inside.step('hello') == 'HTTP/1.1 200 OK', 'it serves again')
    inside.end()
    other.end()
    assert [e for e in few_files.audit(inside.session) if e.get('reason') == 'limit']


def test_the_gateway_outside_a_session(isod, web):
    """isoctl gateway: the same from a client of the machine."""
    arguments = ['0', f'administrator={isod.config_dir}/policy.json', 'allow=ok.example']
    p = subprocess.Popen([os.path.join(BUILD, 'isod-gateway'), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE)
    port = json.loads(p.stderr.readline())['port']
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(p.stderr), daemon=True)
    reader.start()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    held = []
    try:
        for i in range(6000):
            s = socket.socket()
            held.append(s)
            s.settimeout(20)
            if s.connect_ex(('127.0.0.1', port)) == 0 and i % 2:
                try:
                    s.send(b'GET http://ok.example/ HTTP/1.1\r\nX: ' + b'x' * (60000 if i % 4 == 1 else 1))
                except OSError:
                    pass
        assert status(p.pid, 'VmHWM') < RSS_MAX_KIB or SANITIZED
        wait_for(lambda: is_quiet(p.pid), 'the gateway is quiet')
    finally:
        for s in held:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, files)

    def served():
        out = subprocess.run(['curl', '-sS', '--max-time', '15', '-x', f'http://127.0.0.1:{port}', 'http://ok.example/hello'],
                             capture_output=True, check=False)
        return out.stdout == b'hello from nginx\n'
    wait_for(served, 'it serves again')
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) == 0
    reader.join(60)
    refused = [e for e in map(json.loads, lines) if e.get('reason') == 'limit']
    assert refused, lines[-3:]


SENDERS = {
    'tunnel': 's = dial(("127.0.0.1", 61080)); s.sendall(b"CONNECT ok.example:8079 HTTP/1.1\\r\\n\\r\\n"); s.recv(99)',
    'captured': 's = dial((socket.gethostbyname("ok.example"), 8079))',
    'socks': 's = dial(("127.0.0.1", 61080)); s.sendall(b"\\x05\\x01\\0"); s.recv(2); '
             's.sendall(b"\\x05\\x01\\0\\x03\\x0aok.example" + (8079).to_bytes(2, "big")); s.recv(10)',
    'request': 's = dial(("127.0.0.1", 61080)); s.sendall(b"POST http://ok.example:8079/ HTTP/1.1\\r\\nHost: ok.example:8079\\r\\n'
               'Content-Length: 99999999999\\r\\n\\r\\n")',
}


@pytest.mark.parametrize('way', SENDERS)
def test_killed_while_bytes_flow(isod, way):
    """SIGKILL of the gateway in the middle: the server sees the end and nothing after it, the session says so."""
    server = socket.create_server(('127.0.0.77', 8079))
    server.settimeout(60)
    p = isod.popen('run', '-q', '--allow-domain', 'ok.example:8079', '--', '/usr/bin/python3', '-c',
                   STEPS + SENDERS[way] + '\ns.settimeout(None)\nwhile True:\n  try: s.sendall(b"z" * 65536)\n  except OSError: break\n'
                   'import time\nwhile True:\n  try: dial(("127.0.0.1", 61080)).send(b"GET")\n  except OSError: time.sleep(0.01)\n',
                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    c, _ = server.accept()
    with c:
        c.settimeout(60)
        got = 0
        while got < 1 << 20:
            got += len(c.recv(1 << 16))
        victims = isod.helpers_named('isod-session')
        assert len(victims) == 1
        os.kill(victims[0], signal.SIGKILL)
        try:
            while c.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass
    _, err = p.communicate(timeout=120)
    assert p.returncode == 125 and b'helper ended' in err, (p.returncode, err)
    # nobody comes afterwards
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.accept()
    server.close()
