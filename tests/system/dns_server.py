"""A small authoritative server on 127.0.0.1:53 as the host's resolver, and /etc/resolv.conf in the tests' mount namespace."""
import contextlib
import os
import socket
import struct
import subprocess
import threading

TYPES = {1: 4, 28: 16}


def wire_name(name):
    return b''.join(bytes([len(label)]) + label.encode() for label in name.split('.')) + b'\0'


class DnsServer:
    """answers: {name: addresses or a function that gives them}; ttls: {name: seconds, else 0}; aliases: {name: the name that it is a CNAME of}. Every query is kept as (name, type)."""

    def __init__(self):
        self.answers, self.ttls, self.aliases, self.queries = {}, {}, {}, []
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(('127.0.0.53', 53))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            data, peer = self.sock.recvfrom(4096)
            if not data:
                self.sock.close()
                return
            self.sock.sendto(self.reply(data), peer)

    def reply(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind = struct.unpack_from('>H', query, at + 1)[0]
        question = query[12:at + 5]
        name = '.'.join(labels).lower()
        self.queries.append((name, kind))
        chain = b''
        while name in self.aliases:
            owner, name = wire_name(name), self.aliases[name]
            target = wire_name(name)
            chain += owner + struct.pack('>HHIH', 5, 1, 0, len(target)) + target
        found = self.answers.get(name, None)
        addresses = found(kind) if callable(found) else found or []
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        packed = [socket.inet_pton(family, a) for a in addresses if family and (':' in a) == (kind == 28)]
        records = chain + b''.join(wire_name(name) + struct.pack('>HHIH', kind, 1, self.ttls.get(name, 0), len(a)) + a for a in packed)
        code = 0 if found is not None else 3
        return query[:2] + struct.pack('>HHHHH', 0x8580 | code, 1, chain.count(b'\0\5\0\1\0\0\0\0') + len(packed), 0, 0) + question + records

    def close(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b'', ('127.0.0.53', 53))
        self.thread.join()
        self.sock.close()


@contextlib.contextmanager
def resolver(directory):
    conf = os.path.join(directory, 'resolv.conf')
    with open(conf, 'w', encoding='ascii') as f:
        f.write('nameserver 127.0.0.53\noptions timeout:2 attempts:1\n')
    os.chmod(conf, 0o644)
    subprocess.run(['mount', '--bind', conf, '/etc/resolv.conf'], check=True)
    server = DnsServer()
    try:
        yield server
    finally:
        subprocess.run(['umount', '/etc/resolv.conf'], check=True)
        server.close()
