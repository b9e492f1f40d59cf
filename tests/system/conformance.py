"""The table of tests/conformance/egress.txt: its policy, its lines, and how each way in carries them."""
import contextlib
import ipaddress
import json
import os

from client_hello import client_hello
from conftest import TOP

PATH = os.path.join(TOP, 'tests/conformance/egress.txt')


def unescape(text):
    if text == '-':
        return b''
    return text.encode().decode('unicode_escape').encode('latin1')


class Line:
    def __init__(self, number, host, port, reason, name=None):
        self.number, self.port_text, self.reason = number, port, reason
        self.host = unescape(host)
        self.name = name or self.host.decode('latin1')
        self.port = int(port) if port.isdigit() and (port == '0' or port[0] != '0') and int(port) < 65536 else None
        self.address = None
        # ip_address() takes zones
        with contextlib.suppress(ValueError):
            self.address = None if b'%' in self.host else ipaddress.ip_address(self.host.decode('latin1'))

    @property
    def authority(self):
        return b'[%s]' % self.host if b':' in self.host and self.host[:1] != b'[' else self.host

    def event(self, malformed):
        """(name, port, reason) as it is logged; malformed: what the way in calls it."""
        reason = malformed if self.reason == 'malformed' else self.reason
        if reason == 'bad-name' or (self.reason == 'malformed' and not (self.port == 0 and malformed == 'bad-socks' and self.host)):
            return ('', 0, reason)
        return (self.name, self.port, reason)


class HelloLine(Line):
    def __init__(self, number, host, port, sni, ech, reason, denied):
        super().__init__(number, host, port, reason)
        self.denied = denied
        self.say = client_hello(None if sni == '-' else sni, ech == 'ech')


def read():
    """policy (of the administrator), lines about targets, lines about hellos"""
    allow, deny, nosni, pins, lines, hellos = [], [], [], {}, [], []
    with open(PATH, encoding='ascii') as f:
        for number, text in enumerate(f, 1):
            words = text.split()
            if not words or words[0] == '#' or text.startswith('#'):
                continue
            if words[0] == 'allow':
                allow.append(words[1])
            elif words[0] == 'deny':
                deny.append(words[1])
            elif words[0] == 'nosni':
                nosni.append(words[1])
            elif words[0] == 'pin':
                pins.setdefault(words[1], []).append(words[2])
            elif words[0] == 'hello':
                hellos.append(HelloLine(number, *words[1:]))
            else:
                lines.append(Line(number, *words[1:]))
    network = {'allowedDomains': allow, 'deniedDomains': deny, 'tls': {'noSni': nosni}}
    return {'hosts': pins, 'sandbox': {'network': network}}, lines, hellos


def as_input(items):
    return json.dumps(items).encode()


# Runs inside: items of stdin one after the other, each on a connection of its own, closed before the next.
INSIDE = r'''
import base64, json, socket, ssl, struct, sys
way, items = sys.argv[1], json.load(sys.stdin)

def hello(name):
    i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
    t = ssl.create_default_context().wrap_bio(i, o, server_hostname=name)
    try: t.do_handshake()
    except ssl.SSLWantReadError: pass
    return o.read()

def first(item):
    """What a client of that port says first."""
    name, port, literal = item["name"], item["port"], item["literal"]
    if item["say"]: return base64.b64decode(item["say"])
    if port == 443: return hello(name if not literal else "any.example")
    if port == 80: return f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()
    return b"\x01hello"

def exactly(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more: raise EOFError(data.hex())
        data += more
    return data

def finish(s, data=b""):
    """All that comes, after we have said all."""
    try:
        s.shutdown(1)
        while more := s.recv(65536): data += more
    except OSError: pass
    s.close()
    return data

def proxy():
    s = socket.create_connection(("127.0.0.1", 61080)); s.settimeout(20)
    return s

def head(s):
    data = b""
    while b"\r\n\r\n" not in data:
        more = s.recv(65536)
        if not more: break
        data += more
    return data

def connect(item, host, port):
    s = proxy()
    s.sendall(b"CONNECT " + host + b":" + port + b" HTTP/1.1\r\nHost: ok.example:443\r\n\r\n")
    got = head(s)
    if b" 200 " in got.split(b"\r\n")[0]:
        s.sendall(first(item))
    got = finish(s, got)
    return got[:12].decode("latin1")

def http(item, host, port):
    s = proxy()
    s.sendall(b"GET http://" + host + b":" + port + b"/ HTTP/1.1\r\nHost: " + host + b":" + port + b"\r\nConnection: close\r\n\r\n")
    return finish(s)[:12].decode("latin1")

def socks(item, host, port):
    s = proxy()
    s.sendall(b"\5\1\0")
    assert exactly(s, 2) == b"\5\0"
    kind = item["family"]
    packed = base64.b64decode(item["packed"])
    at = bytes([1 if kind == 4 else 4]) + packed if kind else bytes([3, len(host)]) + host
    s.sendall(b"\5\1\0" + at + struct.pack(">H", item["port"]))
    reply = exactly(s, 10)
    if reply[1] == 0: s.sendall(first(item))
    finish(s)
    return "reply %d" % reply[1]

def socks_text(item, host, port):
    """An address as a name, which some clients send."""
    return socks({**item, "family": 0}, host, port)

def captured(item, say):
    if item["literal"]:
        a = (item["host_text"], item["port"])
        family = socket.AF_INET6 if ":" in a[0] else socket.AF_INET
    else:
        family = socket.AF_INET6 if item["n"] % 2 else socket.AF_INET
        a = socket.getaddrinfo(item["name"], item["port"], family, socket.SOCK_STREAM)[0][4]
    s = socket.socket(family); s.settimeout(20)
    try:
        s.connect(a)
    except ConnectionError: return "reset"
    except OSError as e: return "no way: " + e.strerror
    try: s.sendall(say)
    except OSError: pass
    finish(s)
    return "connected"

def captured_tls(item, host, port):
    return captured(item, base64.b64decode(item["say"]) or hello(item["name"] if not item["literal"] else "any.example"))

def captured_http(item, host, port):
    at = item["name"] if not item["literal"] else "any.example"
    at += "" if item["port"] == 80 else ":%d" % item["port"]
    return captured(item, f"GET / HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n".encode())

def captured_other(item, host, port):
    return captured(item, b"\x01hello")

def query(host, kind):
    labels = b"".join(bytes([len(l)]) + l for l in host.removesuffix(b".").split(b"."))
    return struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 1) + labels + b"\0" + struct.pack(">HH", kind, 1) + b"\0\0\x29\x04\xd0" + bytes(6)

def verdict(reply, question):
    code = reply[3] & 15
    n = len(question) - 11
    if struct.unpack_from(">H", reply, 6)[0]: return "allowed"
    opt = reply[n:]
    assert opt[:3] == b"\0\0\x29" and code in (0, 3), (code, opt)
    code, size, info = struct.unpack_from(">HHH", opt, 11)
    assert code == 15 and info == 15, opt
    return opt[17:17 + size - 2].decode()

def dns_udp(item, host, port):
    q = query(host, 28 if item["n"] % 2 else 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(20)
    s.connect(("192.0.2.53", 53)); s.send(q)
    return verdict(s.recv(4096), q)

def dns_tcp(item, host, port):
    q = query(host, 1)
    s = socket.create_connection(("192.0.2.53", 53)); s.settimeout(20)
    s.sendall(struct.pack(">H", len(q)) + q)
    return verdict(exactly(s, struct.unpack(">H", exactly(s, 2))[0]), q)

for item in items:
    answer = globals()[way](item, base64.b64decode(item["authority" if way in ("connect", "http") else "host"]), item["port_text"].encode())
    print(json.dumps([item["number"], answer]))
'''
